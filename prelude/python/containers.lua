-- SPDX-License-Identifier: MIT
-- Lists, tuples, dicts, sets, ranges and slices: operators and subscripts without a fast path in rt.pyops, and methods.

local R <const> = require "python.runtime"

local ops <const>, None <const> = R.ops, R.None
local List <const>, Tuple <const> = R.List, R.Tuple
local list <const>, tuple <const>, kind <const> = R.list, R.tuple, R.kind
local X <const> = {}

-- Elements that one operation may make; more ends in a memory diagnostic before memory does.
local SIZE_MAX <const> = 1 << 27

local function check_size(n)
  if n > SIZE_MAX then R.stop("memory-limit", "a sequence of %d elements is more than a program may make", n) end
end
R.check_size = check_size

local function integer(value, what)
  if math.type(value) == "integer" then return value end
  if type(value) == "boolean" then return value and 1 or 0 end
  local mt <const> = getmetatable(value)
  if type(mt) == "table" and mt.__pyindex then return mt.__pyindex(value) end
  R.raise("TypeError", what or "'%s' object cannot be interpreted as an integer", R.type_name(value))
end
R.integer = integer

local function is_set(value)
  local k <const> = kind(value)
  return k == "set" or k == "frozenset"
end

-- iteration -----------------------------------------------------------------------------------------------------------------

-- A Lua function that gives the next item of a Python iterator, or nil.
function R.next_function(iterator)
  if kind(iterator) == "iterator" then return iterator[1] end
  local class <const> = R.instance_class(iterator)
  local method <const> = class and R.class_lookup(class, "__next__")
  if method then
    return function()
      local ok <const>, value <const> = xpcall(R.call, R.handler, method, iterator)
      if ok then return value end
      if value.kind == "python" and value.etype == "StopIteration" then return nil end
      error(value, 0)
    end
  end
  return R.iterate(iterator)
end

-- A Lua function that gives the items of any iterable.
function R.iterate(value)
  local k <const> = kind(value)
  if k == "iterator" then return value[1] end
  if k == "list" or k == "tuple" then
    local i = 0
    return function()
      i = i + 1
      return value[i]
    end
  elseif k == "range" then
    local i = 0
    return function()
      if i >= value[4] then return nil end
      i = i + 1
      return value[1] + (i - 1) * value[3]
    end
  elseif k == "dict" or is_set(value) then
    local next_key <const>, state <const> = ops.ITER(ops.site(), value)
    return function()
      local _, key <const> = next_key(state, 0)
      return key
    end
  elseif type(value) == "string" then
    local points <const> = ops.str_points(value)
    local i = 0
    return function()
      i = i + 1
      return points[i]
    end
  end
  local mt <const> = getmetatable(value)
  if type(mt) == "table" and type(value) ~= "string" then
    if mt.__pyiter then return mt.__pyiter(value) end
    if k == "class" and value.iterate then return value.iterate(value) end
    local class <const> = mt.__class
    local getitem <const> = class and R.class_lookup(class, "__getitem__")
    if getitem then
      local i = -1
      return function()
        i = i + 1
        local ok <const>, item <const> = xpcall(R.call, R.handler, getitem, value, i)
        if ok then return item end
        if item.kind == "python" and item.etype == "IndexError" then return nil end
        error(item, 0)
      end
    end
  end
  R.raise("TypeError", "'%s' object is not iterable", R.type_name(value))
end

-- subscripts ----------------------------------------------------------------------------------------------------------------

local function sliced(value, slice, n)
  local start <const>, count <const>, step <const> = ops.slice_bounds(slice, n)
  if step == 1 then return table.move(value, start + 1, start + count, 1, {}) end
  local out <const> = {}
  for i = 1, count do out[i] = value[start + (i - 1) * step + 1] end
  return out
end

function R.str_slice(s, slice)
  local n <const>, bytes <const> = ops.str_length(s)
  local start <const>, count <const>, step <const> = ops.slice_bounds(slice, n)
  if n == bytes and step == 1 then return s:sub(start + 1, start + count) end
  local points <const> = ops.str_points(s)
  local out <const> = {}
  for i = 1, count do out[i] = points[start + (i - 1) * step + 1] end
  return table.concat(out)
end

function R.key_error(key)
  error({ kind = "python", etype = "KeyError", message = R.repr(key), argument = key, site = ops.site() })
end

function X.getitem(object, index)
  local k <const> = kind(object)
  if k == "list" or k == "tuple" then
    if kind(index) == "slice" then
      return setmetatable(sliced(object, index, #object), getmetatable(object))
    end
    local mt <const> = getmetatable(index)
    if type(mt) == "table" and mt.__pyindex then return ops.GETITEM(ops.site(), object, mt.__pyindex(index)) end
    R.raise("TypeError", "%s indices must be integers or slices, not %s", k, R.type_name(index))
  elseif k == "dict" then
    if object.default_factory and object.default_factory ~= None then
      local value <const> = R.call(object.default_factory)
      ops.dict_set(object, index, value)
      return value
    end
    if object.missing ~= nil then return object.missing end
    R.key_error(index)
  elseif type(object) == "string" then
    if kind(index) == "slice" then return R.str_slice(object, index) end
    R.raise("TypeError", "string indices must be integers, not '%s'", R.type_name(index))
  elseif k == "range" then
    local start <const>, step <const>, n <const> = object[1], object[3], object[4]
    if kind(index) == "slice" then
      local from <const>, count <const>, by <const> = ops.slice_bounds(index, n)
      return ops.range(start + from * step, start + (from + count * by) * step, step * by)
    end
    local i = integer(index, "range indices must be integers or slices, not %s")
    if i < 0 then i = i + n end
    if i < 0 or i >= n then R.raise("IndexError", "range object index out of range") end
    return start + i * step
  end
  local mt <const> = getmetatable(object)
  if type(mt) == "table" and type(object) ~= "string" then
    local class <const> = mt.__class
    local method <const> = class and R.class_lookup(class, "__getitem__")
    if method then return R.call(method, object, index) end
    if mt.__subscript then return ops.GETITEM(ops.site(), object, index) end
    if k == "class" then
      if object.subscript then return object.subscript(object, index) end
      return object -- list[int] and the like, in annotations that are evaluated
    end
  end
  if type(object) == "function" or k == "callable" then
    local attrs <const> = R.function_attrs[object]
    if attrs and attrs.subscript then return attrs.subscript(object, index) end
  end
  R.raise("TypeError", "'%s' object is not subscriptable", R.type_name(object))
end

local function assign_slice(object, slice, value)
  local items <const> = R.collect(value)
  local n <const> = #object
  local start <const>, count <const>, step <const> = ops.slice_bounds(slice, n)
  if step ~= 1 then
    if #items ~= count then
      R.raise("ValueError", "attempt to assign sequence of size %d to extended slice of size %d", #items, count)
    end
    for i = 1, count do object[start + (i - 1) * step + 1] = items[i] end
    return
  end
  table.move(object, start + count + 1, n, start + #items + 1)
  table.move(items, 1, #items, start + 1, object)
  for i = n, n + #items - count + 1, -1 do object[i] = nil end
end

function X.setitem(object, index, value)
  local k <const> = kind(object)
  if k == "list" then
    if kind(index) == "slice" then return assign_slice(object, index, value) end
    local mt <const> = getmetatable(index)
    if type(mt) == "table" and mt.__pyindex then return ops.SETITEM(ops.site(), object, mt.__pyindex(index), value) end
    R.raise("TypeError", "list indices must be integers or slices, not %s", R.type_name(index))
  elseif k == "dict" then
    return ops.dict_set(object, index, value)
  end
  local mt <const> = getmetatable(object)
  if type(mt) == "table" and type(object) ~= "string" then
    local class <const> = mt.__class
    local method <const> = class and R.class_lookup(class, "__setitem__")
    if method then return R.call(method, object, index, value) end
    if mt.__setsubscript then return ops.SETITEM(ops.site(), object, index, value) end
  end
  R.raise("TypeError", "'%s' object does not support item assignment", R.type_name(object))
end

function X.DELITEM(site, object, index)
  ops.site(site)
  local k <const> = kind(object)
  if k == "list" then
    local n <const> = #object
    if kind(index) == "slice" then
      local start, count <const>, step = ops.slice_bounds(index, n)
      if step < 0 then start, step = start + (count - 1) * step, -step end
      local gone <const> = {}
      for i = 0, count - 1 do gone[start + i * step + 1] = true end
      local to = 0
      for i = 1, n do
        if not gone[i] then
          to = to + 1
          object[to] = object[i]
        end
      end
      for i = n, to + 1, -1 do object[i] = nil end
      return
    end
    local i = integer(index, "list indices must be integers or slices, not %s")
    if i < 0 then i = i + n end
    if i < 0 or i >= n then R.raise("IndexError", "list assignment index out of range") end
    table.remove(object, i + 1)
  elseif k == "dict" then
    if not ops.dict_delete(object, index) then R.key_error(index) end
  else
    local class <const> = R.instance_class(object)
    local method <const> = class and R.class_lookup(class, "__delitem__")
    if not method then R.raise("TypeError", "'%s' object doesn't support item deletion", R.type_name(object)) end
    R.call(method, object, index)
  end
end

function X.DELATTR(site, object, name)
  ops.site(site)
  if R.internals[name] then R.refuse_internal(name) end
  if R.instance_class(object) and rawget(object, name) ~= nil then
    rawset(object, name, nil)
    return
  end
  R.raise("AttributeError", "'%s' object has no attribute '%s'", R.type_name(object), name)
end

-- operators -----------------------------------------------------------------------------------------------------------------

local function concat(a, b)
  local n <const> = #a
  check_size(n + #b)
  local out <const> = table.move(a, 1, n, 1, {})
  return setmetatable(table.move(b, 1, #b, n + 1, out), getmetatable(a))
end

local function repeated(seq, count)
  local times <const> = math.max(0, count)
  if type(seq) == "string" then
    check_size(#seq * times)
    return seq:rep(times)
  end
  local n <const> = #seq
  check_size(n * times)
  local out <const> = {}
  for i = 0, times - 1 do table.move(seq, 1, n, i * n + 1, out) end
  return setmetatable(out, getmetatable(seq))
end

local function is_int(value) return math.type(value) == "integer" or type(value) == "boolean" end

local function is_sequence(value) return type(value) == "string" or kind(value) == "list" or kind(value) == "tuple" end

local set_operations <const> = {}

local function copy_of(a)
  local out <const> = a and getmetatable(a) == R.FrozenSet and ops.FROZENSET {} or ops.SET {}
  for _, key in ops.dict_entries(a) do ops.dict_set(out, key, true) end
  return out
end

function set_operations.BitOr(a, b)
  local out <const> = copy_of(a)
  for _, key in ops.dict_entries(b) do ops.dict_set(out, key, true) end
  return out
end

local function filtered(a, b, wanted)
  local out <const> = getmetatable(a) == R.FrozenSet and ops.FROZENSET {} or ops.SET {}
  for _, key in ops.dict_entries(a) do
    if (ops.dict_get(b, key) ~= nil) == wanted then ops.dict_set(out, key, true) end
  end
  return out
end

function set_operations.BitAnd(a, b) return filtered(a, b, true) end
function set_operations.Sub(a, b) return filtered(a, b, false) end
function set_operations.BitXor(a, b) return set_operations.BitOr(filtered(a, b, false), filtered(b, a, false)) end

-- Make `target` hold exactly what `source` holds.
local function replace_contents(target, source)
  for i = 1, 5 do target[i] = source[i] end
  return target
end

function R.dict_update(target, source)
  if kind(source) == "dict" then
    for _, key, value in ops.dict_entries(source) do ops.dict_set(target, key, value) end
  elseif R.getattr(source, "keys") ~= nil then
    for _, key in ipairs(R.collect(R.call(R.getattr(source, "keys")))) do
      ops.dict_set(target, key, ops.GETITEM(ops.site(), source, key))
    end
  else
    for i, pair in ipairs(R.collect(source)) do
      local items <const> = R.collect(pair)
      if #items ~= 2 then
        R.raise("ValueError", "dictionary update sequence element #%d has length %d; 2 is required", i - 1, #items)
      end
      ops.dict_set(target, items[1], items[2])
    end
  end
  return target
end

local signs <const> = {
  Add = "+", Sub = "-", Mult = "*", Div = "/", FloorDiv = "//", Mod = "%", Pow = "** or pow()", MatMult = "@", LShift = "<<", RShift = ">>",
  BitAnd = "&", BitOr = "|", BitXor = "^",
}

local function try_hook(owner, name, op, a, b)
  local mt <const> = type(owner) ~= "string" and getmetatable(owner)
  if type(mt) == "table" and mt[name] then return mt[name](op, a, b) end
end

function X.binop(op, a, b, inplace)
  local ka <const>, kb <const> = kind(a), kind(b)
  if inplace then
    if ka == "list" and op == "Add" then
      ops.EXTEND(ops.site(), a, b)
      return a
    elseif ka == "list" and op == "Mult" and is_int(b) then
      local made <const> = repeated(a, integer(b))
      for i = 1, math.max(#a, #made) do a[i] = made[i] end
      return a
    elseif ka == "set" and is_set(b) and set_operations[op] then
      return replace_contents(a, set_operations[op](a, b))
    elseif ka == "dict" and op == "BitOr" then
      return R.dict_update(a, b)
    end
    local value <const> = try_hook(a, "__pyibinop", op, a, b)
    if value ~= nil then return value end
  end
  if op == "Add" then
    if type(a) == "string" and type(b) == "string" then
      check_size(#a + #b)
      return a .. b
    end
    if ka == kb and (ka == "list" or ka == "tuple") then return concat(a, b) end
  elseif op == "Mult" then
    if is_sequence(a) and is_int(b) then return repeated(a, integer(b)) end
    if is_int(a) and is_sequence(b) then return repeated(b, integer(a)) end
  elseif op == "Mod" and type(a) == "string" then
    return R.percent_format(a, b)
  elseif set_operations[op] and is_set(a) and is_set(b) then
    return set_operations[op](a, b)
  elseif op == "BitOr" and ka == "dict" and kb == "dict" then
    return R.dict_update(R.dict_update(ops.DICT {}, a), b)
  elseif op == "BitOr" and (ka == "class" or ka == "none") and (kb == "class" or kb == "none") then
    return tuple { a, b } -- int | None in an annotation that is evaluated
  end
  local value = try_hook(a, "__pybinop", op, a, b)
  if value == nil then value = try_hook(b, "__pybinop", op, a, b) end
  if value ~= nil then return value end
  if op == "Add" and is_sequence(a) then
    local name <const> = R.type_name(a)
    if type(a) == "string" then R.raise("TypeError", 'can only concatenate str (not "%s") to str', R.type_name(b)) end
    R.raise("TypeError", 'can only concatenate %s (not "%s") to %s', name, R.type_name(b), name)
  elseif op == "Mult" and (is_sequence(a) or is_sequence(b)) then
    R.raise("TypeError", "can't multiply sequence by non-int of type '%s'", R.type_name(is_sequence(a) and b or a))
  end
  local sign <const> = inplace and signs[op]:gsub(" or pow%(%)", "") .. "=" or signs[op]
  R.raise("TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", sign, R.type_name(a), R.type_name(b))
end

-- Order of sets; nil for what cannot be ordered.
function X.compare(op, a, b)
  if not (is_set(a) and is_set(b)) then return nil end
  if op == "Gt" or op == "GtE" then a, b = b, a end
  local strict <const> = op == "Lt" or op == "Gt"
  if strict and ops.LEN(ops.site(), a) >= ops.LEN(ops.site(), b) then return false end
  for _, key in ops.dict_entries(a) do
    if ops.dict_get(b, key) == nil then return false end
  end
  return true
end

function X.UPDATE(site, dict, source)
  ops.site(site)
  if kind(source) ~= "dict" and R.getattr(source, "keys") == nil then
    R.raise("TypeError", "'%s' object is not a mapping", R.type_name(source))
  end
  R.dict_update(dict, source)
end

function X.KEYWORD(site, dict, name, value)
  ops.site(site)
  if ops.dict_get(dict, name) ~= nil then R.raise("TypeError", "got multiple values for keyword argument '%s'", name) end
  ops.dict_set(dict, name, value)
end

function X.KEYWORDS(site, dict, source)
  ops.site(site)
  if kind(source) ~= "dict" then R.raise("TypeError", "argument after ** must be a mapping, not %s", R.type_name(source)) end
  for _, key, value in ops.dict_entries(source) do X.KEYWORD(site, dict, key, value) end
end

-- sorting -------------------------------------------------------------------------------------------------------------------

-- Stable merge sort of a plain table by Python's `<`.
function R.sort(items, key, reverse)
  local n <const> = #items
  local keys <const> = {}
  for i = 1, n do
    if key == nil or key == None then keys[i] = items[i] else keys[i] = R.call(key, items[i]) end
  end
  local order, other = {}, {}
  for i = 1, n do order[i] = reverse and n - i + 1 or i end
  local less <const> = ops.less
  local width = 1
  while width < n do
    for from = 1, n, width * 2 do
      local middle <const>, to <const> = math.min(from + width, n + 1), math.min(from + width * 2, n + 1)
      local i, j = from, middle
      for k = from, to - 1 do
        if i < middle and (j >= to or not less(keys[order[j]], keys[order[i]])) then
          other[k] = order[i]
          i = i + 1
        else
          other[k] = order[j]
          j = j + 1
        end
      end
    end
    order, other = other, order
    width = width * 2
  end
  local out <const> = {}
  for i = 1, n do out[i] = items[order[reverse and n - i + 1 or i]] end
  return out
end

-- methods -------------------------------------------------------------------------------------------------------------------

local function index_of(self, value, start, stop, what)
  local n <const> = #self
  local from = start == None and 0 or integer(start)
  local to = stop == None and n or integer(stop)
  if from < 0 then from = math.max(0, from + n) end
  if to < 0 then to = to + n end
  for i = from + 1, math.min(to, n) do
    if R.equal(self[i], value) then return i - 1 end
  end
  R.raise("ValueError", what, R.repr(value))
end

local function count_of(self, value)
  local n = 0
  for i = 1, #self do
    if R.equal(self[i], value) then n = n + 1 end
  end
  return n
end

List.__methods = R.methods("list", {
  append = { "object", function(self, value) self[#self + 1] = value end },
  extend = { "iterable", function(self, values) ops.EXTEND(ops.site(), self, values) end },
  insert = { "index object", function(self, index, value)
    local n <const> = #self
    local i = integer(index)
    if i < 0 then i = math.max(0, i + n) end
    table.insert(self, math.min(i, n) + 1, value)
  end },
  pop = { "index=", function(self, index)
    local n <const> = #self
    if n == 0 then R.raise("IndexError", "pop from empty list") end
    local i = index == None and n - 1 or integer(index)
    if i < 0 then i = i + n end
    if i < 0 or i >= n then R.raise("IndexError", "pop index out of range") end
    return table.remove(self, i + 1)
  end },
  remove = { "value", function(self, value)
    for i = 1, #self do
      if R.equal(self[i], value) then
        table.remove(self, i)
        return
      end
    end
    R.raise("ValueError", "list.remove(x): x not in list")
  end },
  clear = { "", function(self) for i = #self, 1, -1 do self[i] = nil end end },
  copy = { "", function(self) return list(table.move(self, 1, #self, 1, {})) end },
  index = { "value start= stop=", function(self, value, start, stop) return index_of(self, value, start, stop, "%s is not in list") end },
  count = { "value", count_of },
  reverse = { "", function(self)
    local n <const> = #self
    for i = 1, n // 2 do self[i], self[n - i + 1] = self[n - i + 1], self[i] end
  end },
  sort = { "* key= reverse=", function(self, key, reverse)
    table.move(R.sort(self, key, R.truth(reverse)), 1, #self, 1, self)
  end },
})

Tuple.__methods = R.methods("tuple", {
  index = { "value start= stop=", function(self, value, start, stop) return index_of(self, value, start, stop, "tuple.index(x): x not in tuple") end },
  count = { "value", count_of },
})

R.Range.__methods = R.methods("range", {
  index = { "value", function(self, value) return index_of(R.collect(self), value, None, None, "%s is not in range") end },
  count = { "value", function(self, value) return count_of(R.collect(self), value) end },
})
R.Range.__pycompare = function(op, a, b)
  if kind(a) ~= "range" or kind(b) ~= "range" or (op ~= "Eq" and op ~= "NotEq") then return nil end
  local same <const> = a[4] == b[4] and (a[4] == 0 or (a[1] == b[1] and (a[4] == 1 or a[3] == b[3])))
  return same == (op == "Eq")
end
R.Range.__pyhash = function(range) return tuple { range[4], range[1], range[3] } end
R.Range.__pycontains = function(range, value)
  if math.type(value) == "float" and value == math.floor(value) then value = math.floor(value) end
  if type(value) == "boolean" then value = value and 1 or 0 end
  if math.type(value) ~= "integer" or range[4] == 0 then return false end
  local offset <const> = value - range[1]
  return offset % range[3] == 0 and offset // range[3] >= 0 and offset // range[3] < range[4]
end

return X
