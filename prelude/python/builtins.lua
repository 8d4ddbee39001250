-- SPDX-License-Identifier: MIT
-- The builtins: functions, and the types as callables. What reaches outside (open, eval, exec, __import__ ...) exists only
-- to be refused with its line.

local R <const> = require "python.runtime"
require "python.classes"
require "python.containers"
require "python.mappings"
require "python.strings"
require "python.format"
require "python.errors"

local ops <const>, None <const> = R.ops, R.None
local list <const>, tuple <const>, kind <const>, integer <const> = R.list, R.tuple, R.kind, R.integer
local B <const> = R.builtins
local types <const> = R.types

local function builtin(name, params, fn, defaults) B[name] = R.define(name, params, fn, defaults) end

-- types -----------------------------------------------------------------------------------------------------------------------

local function make(name, params, fn, defaults)
  types[name][5] = R.define(name, params, fn, defaults)
  B[name] = types[name]
end

local function parse_int(text, base)
  local digits <const> = text:gsub("^%s+", ""):gsub("%s+$", "")
  local sign <const>, body = digits:match "^([+-]?)(.*)$"
  body = body:lower():gsub("(%w)_(%w)", "%1%2"):gsub("(%w)_(%w)", "%1%2")
  local prefix <const> = ({ ["0x"] = 16, ["0o"] = 8, ["0b"] = 2 })[body:sub(1, 2)]
  if prefix and (base == prefix or base == 0) then
    body, base = body:sub(3), prefix
  end
  local value, asked = 0, base
  local good = body ~= "" and not body:find "[^%w]"
  if base == 0 then
    base = 10
    good = good and not body:find "^0+[1-9]" -- 010 could be meant as octal
  end
  for i = 1, good and #body or 0 do
    local digit <const> = tonumber(body:sub(i, i), 36)
    if not digit or digit >= base then
      good = false
      break
    end
    value = ops.arith("Add", ops.arith("Mult", value, base), digit)
  end
  if not good then R.raise("ValueError", "invalid literal for int() with base %d: %s", asked, R.repr(text)) end
  return sign == "-" and -value or value
end

make("int", "x= / base=", function(x, base)
  if type(x) == "string" then
    local radix <const> = base == None and 10 or integer(base)
    if radix ~= 0 and (radix < 2 or radix > 36) then R.raise("ValueError", "int() base must be >= 2 and <= 36, or 0") end
    return parse_int(x, radix)
  end
  if base ~= None then R.raise("TypeError", "int() can't convert non-string with explicit base") end
  if x == None then R.raise("TypeError", "int() argument must be a string, a bytes-like object or a real number, not 'NoneType'") end
  if type(x) == "boolean" then return x and 1 or 0 end
  if type(x) == "number" then
    if math.type(x) == "integer" then return x end
    if x ~= x then R.raise("ValueError", "cannot convert float NaN to integer") end
    if x == math.huge or x == -math.huge then R.raise("OverflowError", "cannot convert float infinity to integer") end
    local whole <const> = math.tointeger(x < 0 and math.ceil(x) or math.floor(x))
    if not whole then R.stop("integer-overflow", "int(%s) does not fit in 64 bits, the size of nkiln's integers", R.repr(x)) end
    return whole
  end
  local mt <const> = getmetatable(x)
  if type(mt) == "table" then
    if mt.__pyint then return mt.__pyint(x) end
    local method <const> = mt.__class and R.class_lookup(mt.__class, "__int__")
    if method then return R.call(method, x) end
    if mt.__pyindex then return mt.__pyindex(x) end
  end
  R.raise("TypeError", "int() argument must be a string, a bytes-like object or a real number, not '%s'", R.type_name(x))
end, { x = 0 })

local special_floats <const> = { inf = math.huge, infinity = math.huge, nan = 0.0 / 0.0 }

make("float", "x= /", function(x)
  if type(x) == "number" then return x * 1.0 end
  if type(x) == "boolean" then return x and 1.0 or 0.0 end
  if type(x) == "string" then
    local body = x:gsub("^%s+", ""):gsub("%s+$", ""):gsub("(%d)_(%d)", "%1%2")
    local sign <const> = body:match "^[+-]" or ""
    local special <const> = special_floats[body:sub(#sign + 1):lower()]
    if special then return sign == "-" and -special or special end
    if not body:find "^[+-]?[%d.]+[eE]?[+-]?%d*$" then
      R.raise("ValueError", "could not convert string to float: %s", R.repr(x))
    end
    local value <const> = tonumber((body:gsub("^%+", "")))
    if not value then R.raise("ValueError", "could not convert string to float: %s", R.repr(x)) end
    return value == 0 and sign == "-" and -0.0 or value * 1.0
  end
  local mt <const> = getmetatable(x)
  if type(mt) == "table" then
    if mt.__pyfloat then return mt.__pyfloat(x) * 1.0 end
    local method <const> = mt.__class and R.class_lookup(mt.__class, "__float__")
    if method then return R.call(method, x) end
    if mt.__pyindex then return mt.__pyindex(x) * 1.0 end
  end
  R.raise("TypeError", "float() argument must be a string or a real number, not '%s'", R.type_name(x))
end, { x = 0.0 })

make("bool", "x= /", function(x) return R.truth(x) end, { x = false })
make("str", "object= encoding= errors=", function(x)
  return R.str(x)
end, { object = "" })
make("list", "iterable= /", function(x) return list(x == nil and {} or R.collect(x)) end, { iterable = tuple {} })
make("tuple", "iterable= /", function(x)
  if kind(x) == "tuple" then return x end
  return tuple(R.collect(x))
end, { iterable = tuple {} })
make("dict", "source= / **kwargs", function(source, kwargs)
  local out <const> = ops.DICT {}
  R.dict_update(out, source)
  return R.dict_update(out, kwargs)
end, { source = tuple {} })
make("set", "iterable= /", function(x) return ops.SET(R.collect(x)) end, { iterable = tuple {} })
make("frozenset", "iterable= /", function(x) return ops.FROZENSET(R.collect(x)) end, { iterable = tuple {} })
make("slice", "start stop= step= /", function(a, b, c)
  return b == nil and ops.SLICE(None, a, None) or ops.SLICE(a, b, c == nil and None or c)
end)
make("object", "", function() return setmetatable({}, types.object[4]) end)
make("range", "start stop= step= /", function(a, b, c)
  a = integer(a)
  if b == None then return ops.range(0, a, 1) end
  local step <const> = c == None and 1 or integer(c)
  if step == 0 then R.raise("ValueError", "range() arg 3 must not be zero") end
  return ops.range(a, integer(b), step)
end)
types.slice[5] = R.define("slice", "start *rest", function(a, b, c)
  if b == nil then return ops.SLICE(None, a, None) end
  return ops.SLICE(a, b, c == nil and None or c)
end)

make("type", "object *rest", function(x, more)
  if more ~= nil then R.stop("python-unsupported", "type() with three arguments is not supported") end
  return R.class_of(x) or R.raise("TypeError", "type() of a '%s' is not supported", R.type_name(x))
end)

make("property", "fget= fset=", function(getter, setter) return setmetatable({ getter = getter, setter = setter }, R.Property) end)
B.staticmethod = R.define("staticmethod", "fn", function(fn) return setmetatable({ fn = fn }, R.StaticMethod) end)
B.classmethod = R.define("classmethod", "fn", function(fn) return setmetatable({ fn = fn }, R.ClassMethod) end)
types.bytes[5] = R.define("bytes", "x=", function(x)
  if x ~= None and getmetatable(x) ~= R.Bytes then R.raise("TypeError", "bytes() of a %s is not supported", R.type_name(x)) end
  return setmetatable({ x == None and "" or x[1] }, R.Bytes)
end)
B.bytes = types.bytes
types.dict[1].fromkeys = setmetatable({ fn = R.Dict.__methods.fromkeys }, R.ClassMethod)
for name, metatable in pairs { list = R.List, tuple = R.Tuple, dict = R.Dict, set = R.Set, frozenset = R.FrozenSet } do
  for method, value in pairs(metatable.__methods) do
    if types[name][1][method] == nil then types[name][1][method] = value end
  end
end
for method, value in pairs(R.str_methods) do types.str[1][method] = value end
types.str[1].maketrans = nil

-- numbers ---------------------------------------------------------------------------------------------------------------------

local function absolute(x)
  if type(x) == "number" then
    if x == math.mininteger and math.type(x) == "integer" then return ops.USub(ops.site(), x) end
    return math.abs(x)
  end
  if type(x) == "boolean" then return x and 1 or 0 end
  local mt <const> = getmetatable(x)
  if type(mt) == "table" then
    if mt.__pyabs then return mt.__pyabs(x) end
    local method <const> = mt.__class and R.class_lookup(mt.__class, "__abs__")
    if method then return R.call(method, x) end
  end
  R.raise("TypeError", "bad operand type for abs(): '%s'", R.type_name(x))
end
builtin("abs", "x /", absolute)

local function round_half_even(x)
  local down <const> = math.floor(x)
  local rest <const> = x - down
  if rest > 0.5 or (rest == 0.5 and down % 2 == 1) then return down + 1 end
  return down
end

builtin("round", "number ndigits=", function(x, digits)
  if type(x) == "boolean" then x = x and 1 or 0 end
  if type(x) ~= "number" then
    local mt <const> = getmetatable(x)
    if type(mt) == "table" and mt.__pyround then return mt.__pyround(x, digits) end
    R.raise("TypeError", "type %s doesn't define __round__ method", R.type_name(x))
  end
  if math.type(x) == "integer" then
    if digits == None or integer(digits) >= 0 then return x end
    local unit <const> = ops.arith("Pow", 10, -integer(digits))
    local low <const> = x // unit * unit
    local rest <const> = x - low
    if rest * 2 > unit or (rest * 2 == unit and (low // unit) % 2 == 1) then return low + unit end
    return low
  end
  if digits == None then
    if x ~= x then R.raise("ValueError", "cannot convert float NaN to integer") end
    if x == math.huge or x == -math.huge then R.raise("OverflowError", "cannot convert float infinity to integer") end
    local whole <const> = math.tointeger(round_half_even(x))
    if not whole then R.stop("integer-overflow", "round(%s) does not fit in 64 bits", R.repr(x)) end
    return whole
  end
  local n <const> = integer(digits)
  if x ~= x or x == math.huge or x == -math.huge then return x end
  if n >= 0 then
    local text <const> = ops.number_text("f", math.min(n, 400), false, x)
    return text:find "^-0%.?0*$" and -0.0 or tonumber(text) * 1.0
  end
  local unit <const> = 10.0 ^ -n
  local rounded <const> = round_half_even(x / unit) * unit
  return rounded == 0 and x < 0 and -0.0 or rounded
end)

builtin("divmod", "a b /", function(a, b)
  local site <const> = ops.site()
  if type(a) == "string" or kind(a) == "list" or kind(a) == "tuple" then
    R.raise("TypeError", "unsupported operand type(s) for divmod(): '%s' and '%s'", R.type_name(a), R.type_name(b))
  end
  return tuple { ops.FloorDiv(site, a, b), ops.Mod(site, a, b) }
end)

builtin("pow", "base exp mod=", function(base, exponent, modulus)
  if modulus == None then return ops.Pow(ops.site(), base, exponent) end
  for _, value in ipairs { base, exponent, modulus } do
    if math.type(value) == "float" then R.raise("TypeError", "pow() 3rd argument not allowed unless all arguments are integers") end
  end
  modulus = integer(modulus)
  if modulus == 0 then R.raise("ValueError", "pow() 3rd argument cannot be 0") end
  local result, b, rest = 1 % modulus, integer(base) % modulus, integer(exponent)
  if rest < 0 then -- the inverse of the base, by Euclid's algorithm
    local old, new, a, c = 1, 0, b, modulus
    while c ~= 0 do
      local q <const> = a // c
      a, c, old, new = c, a - q * c, new, old - q * new
    end
    if a ~= 1 and a ~= -1 then R.raise("ValueError", "base is not invertible for the given modulus") end
    b, rest = old * a % modulus, -rest
  end
  while rest > 0 do
    if rest & 1 == 1 then result = ops.arith("Mult", result, b) % modulus end
    b = ops.arith("Mult", b, b) % modulus
    rest = rest >> 1
  end
  return result
end)

builtin("sum", "iterable / start=", function(items, start)
  local total = start
  local site <const> = ops.site()
  if type(start) == "string" then R.raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]") end
  for _, item in ops.ITER(site, items) do total = ops.Add(site, total, item) end
  return total
end, { start = 0 })

local function extreme(name, better)
  builtin(name, "* key= default= *items", function(key, default, ...)
    local items
    if select("#", ...) == 1 then
      items = R.collect((...))
      if #items == 0 then
        if default ~= R.NotImplemented then return default end
        R.raise("ValueError", "%s() arg is an empty sequence", name)
      end
    elseif select("#", ...) == 0 then
      R.raise("TypeError", "%s expected at least 1 argument, got 0", name)
    else
      items = { ... }
    end
    local function key_of(item)
      if key == None then return item end
      return R.call(key, item)
    end
    local best = items[1]
    local best_key = key_of(best)
    for i = 2, #items do
      local item_key <const> = key_of(items[i])
      if better(item_key, best_key) then best, best_key = items[i], item_key end
    end
    return best
  end, { default = R.NotImplemented })
end
extreme("min", function(a, b) return ops.less(a, b) end)
extreme("max", function(a, b) return ops.TGt(ops.site(), a, b) end)

-- iteration -------------------------------------------------------------------------------------------------------------------

builtin("len", "object /", function(x) return ops.LEN(ops.site(), x) end)

builtin("any", "iterable /", function(items)
  for _, item in ops.ITER(ops.site(), items) do
    if R.truth(item) then return true end
  end
  return false
end)

builtin("all", "iterable /", function(items)
  for _, item in ops.ITER(ops.site(), items) do
    if not R.truth(item) then return false end
  end
  return true
end)

builtin("enumerate", "iterable start=", function(items, start)
  local next_item <const> = R.iterate(items)
  local i = integer(start) - 1
  return R.iterator(function()
    local item <const> = next_item()
    if item == nil then return nil end
    i = i + 1
    return tuple { i, item }
  end)
end, { start = 0 })

builtin("zip", "* strict= *iterables", function(strict, ...)
  local sources <const> = {}
  for i = 1, select("#", ...) do sources[i] = R.iterate((select(i, ...))) end
  local n <const> = #sources
  return R.iterator(function()
    local row <const> = {}
    for i = 1, n do
      local item <const> = sources[i]()
      if item == nil then
        local function uneven(k, word)
          R.raise("ValueError", "zip() argument %d is %s than argument%s 1%s", k, word, k > 2 and "s" or "", k > 2 and "-" .. k - 1 or "")
        end
        if R.truth(strict) then
          if i > 1 then uneven(i, "shorter") end
          for k = 2, n do
            if sources[k]() ~= nil then uneven(k, "longer") end
          end
        end
        return nil
      end
      row[i] = item
    end
    if n == 0 then return nil end
    return tuple(row)
  end)
end)

builtin("map", "fn *iterables", function(fn, ...)
  local sources <const> = {}
  for i = 1, select("#", ...) do sources[i] = R.iterate((select(i, ...))) end
  if #sources == 1 then
    local source <const> = sources[1]
    return R.iterator(function()
      local item <const> = source()
      if item == nil then return nil end
      return R.call(fn, item)
    end)
  end
  return R.iterator(function()
    local row <const> = {}
    for i = 1, #sources do
      row[i] = sources[i]()
      if row[i] == nil then return nil end
    end
    return R.call(fn, table.unpack(row))
  end)
end)

builtin("filter", "fn iterable /", function(fn, items)
  local source <const> = R.iterate(items)
  return R.iterator(function()
    for item in source do
      local keep
      if fn == None then keep = item else keep = R.call(fn, item) end
      if R.truth(keep) then return item end
    end
  end)
end)

builtin("sorted", "iterable / * key= reverse=", function(items, key, reverse)
  return list(R.sort(R.collect(items), key, R.truth(reverse)))
end)

builtin("reversed", "sequence /", function(items)
  local k <const> = kind(items)
  if k == "set" or k == "iterator" or type(items) == "number" then
    R.raise("TypeError", "'%s' object is not reversible", R.type_name(items))
  end
  local class <const> = R.instance_class(items)
  local method <const> = class and R.class_lookup(class, "__reversed__")
  if method then return R.call(method, items) end
  local all <const> = R.collect(items)
  local i = #all + 1
  return R.iterator(function()
    i = i - 1
    return all[i]
  end)
end)

builtin("iter", "object sentinel= /", function(x, sentinel)
  if sentinel == None then return kind(x) == "iterator" and x or R.iterator(R.iterate(x)) end
  return R.iterator(function()
    local item <const> = R.call(x)
    if not R.equal(item, sentinel) then return item end
  end)
end)

builtin("next", "iterator *default", function(x, default)
  local class <const> = R.instance_class(x)
  local value
  if kind(x) == "iterator" then
    value = x[1]()
  elseif class and R.class_lookup(class, "__next__") then
    if default == nil then return R.call(R.class_lookup(class, "__next__"), x) end
    value = R.next_function(x)()
  else
    R.raise("TypeError", "'%s' object is not an iterator", R.type_name(x))
  end
  if value == nil then
    if default ~= nil then return default end
    local stop <const> = R.call(R.exceptions.StopIteration)
    rawset(stop, "value", R.RETURNED(x))
    error({ kind = "python", etype = "StopIteration", message = "", site = ops.site(), value = stop }, 0)
  end
  return value
end)

-- objects ---------------------------------------------------------------------------------------------------------------------

builtin("isinstance", "object class_or_tuple /", R.is_instance)
builtin("issubclass", "cls class_or_tuple /", function(class, of)
  if kind(class) ~= "class" then R.raise("TypeError", "issubclass() arg 1 must be a class") end
  for _, c in ipairs(kind(of) == "tuple" and of or { of }) do
    if R.is_subclass(class, c) then return true end
  end
  return false
end)
builtin("callable", "object /", function(x)
  local k <const> = kind(x)
  if type(x) == "function" or k == "callable" or k == "class" or k == "method" then return true end
  local class <const> = R.instance_class(x)
  if class then return R.class_lookup(class, "__call__") ~= nil end
  local mt <const> = type(x) ~= "string" and getmetatable(x)
  return type(mt) == "table" and mt.__pycall ~= nil
end)

-- super() without arguments is lowered; this is super(Class, object).
builtin("super", "cls object /", function(class, object) return setmetatable({ class, object }, R.Super) end)

local function attribute_name(name)
  if type(name) ~= "string" then R.raise("TypeError", "attribute name must be string, not '%s'", R.type_name(name)) end
  if R.internals[name] then R.refuse_internal(name) end
  return name
end

-- An attribute, or nil where reading it raises AttributeError.
local function attribute_or_nil(object, name)
  local ok <const>, value <const> = xpcall(R.getattr, R.handler, object, attribute_name(name))
  if ok then return value end
  if value.kind == "python" and value.etype == "AttributeError" then return nil end
  error(value, 0)
end

builtin("getattr", "object name *default", function(object, name, default)
  if default == nil then return ops.ATTR(ops.site(), object, attribute_name(name)) end
  local value <const> = attribute_or_nil(object, name)
  if value ~= nil then return value end
  return default
end)
builtin("hasattr", "object name /", function(object, name) return attribute_or_nil(object, name) ~= nil end)
builtin("setattr", "object name value /", function(object, name, value) ops.SETATTR(ops.site(), object, attribute_name(name), value) end)

local ids <const> = setmetatable({}, { __mode = "k" })
local last_id = 0x10000
builtin("id", "object /", function(x)
  if type(x) == "number" or type(x) == "string" or type(x) == "boolean" then x = ops.dict_key(x) end
  if type(x) == "number" then return math.tointeger(x) or 1 end
  if not ids[x] then
    last_id = last_id + 16
    ids[x] = last_id
  end
  return ids[x]
end)
builtin("hash", "object /", function(x)
  local key <const> = ops.dict_key(x)
  if math.type(key) == "integer" then return key end
  local h = 5381
  local text <const> = type(key) == "string" and key or tostring(key)
  for i = 1, #text do h = (h * 33 + text:byte(i)) & 0xFFFFFFFFFFFF end
  return h
end)

builtin("repr", "object /", function(x) return R.repr(x) end)
builtin("ascii", "object /", function(x) return type(x) == "string" and R.str_repr(x, true) or R.repr(x) end)
builtin("format", "value spec= /", function(value, spec) return R.format(value, spec) end, { spec = "" })
builtin("chr", "i /", function(i)
  if integer(i) < 0 or i > 0x10FFFF then R.raise("ValueError", "chr() arg not in range(0x110000)") end
  return utf8.char(i)
end)
builtin("ord", "c /", function(c)
  if type(c) ~= "string" then R.raise("TypeError", "ord() expected string of length 1, but %s found", R.type_name(c)) end
  local n <const> = ops.str_length(c)
  if n ~= 1 then R.raise("TypeError", "ord() expected a character, but string of length %d found", n) end
  return utf8.codepoint(c)
end)
local function radix(name, letter) builtin(name, "number /", function(x) return R.format(integer(x), "#" .. letter) end) end
radix("hex", "x")
radix("oct", "o")
radix("bin", "b")

-- Where print goes: a function of one text. Set by python.set_print.
R.print_to = function(text) if io and io.write then io.write(text) end end

builtin("print", "* sep= end= file= flush= *objects", function(sep, finish, _, _, ...)
  local parts <const> = {}
  for i = 1, select("#", ...) do parts[i] = R.str((select(i, ...))) end
  R.print_to(table.concat(parts, sep == None and " " or sep) .. (finish == None and "\n" or finish))
end)

builtin("vars", "object", function() R.stop("not-allowed", "`vars` reaches into Python's internals, which kernels and references may not") end)

-- What is refused ---------------------------------------------------------------------------------------------------------------

for name in ("open eval exec compile __import__ input globals locals dir breakpoint memoryview exit quit help delattr"):gmatch "%S+" do
  builtin(name, "**kwargs *args", function()
    R.stop("not-allowed", "`%s` is not available to kernels and references", name)
  end)
end

B.NotImplemented, B.Ellipsis = R.NotImplemented, R.Ellipsis
B.__debug__ = true
for name, class in pairs(R.exceptions) do B[name] = class end

return B
