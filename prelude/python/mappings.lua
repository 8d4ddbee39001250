-- SPDX-License-Identifier: MIT
-- Methods of dicts and sets.

local R <const> = require "python.runtime"
local containers <const> = require "python.containers"

local ops <const>, None <const> = R.ops, R.None
local list <const>, tuple <const>, kind <const> = R.list, R.tuple, R.kind

-- views ---------------------------------------------------------------------------------------------------------------------

local function items_of(dict, what)
  local out <const> = {}
  local n = 0
  for _, key, value in ops.dict_entries(dict) do
    n = n + 1
    if what == "keys" then
      out[n] = key
    elseif what == "values" then
      out[n] = value
    else
      out[n] = tuple { key, value }
    end
  end
  return out
end

local View <const> = {}
R.View = View
View.__pytype = function(view) return "dict_" .. view.what end
View.__pylen = function(view) return view.dict[4] end
View.__pyiter = function(view)
  local dict <const>, what <const> = view.dict, view.what
  local next_key <const>, state <const> = ops.ITER(ops.site(), dict)
  return function()
    local _, key <const> = next_key(state, 0)
    if key == nil or what == "keys" then return key end
    local value <const> = ops.dict_get(dict, key)
    if what == "values" then return value end
    return tuple { key, value }
  end
end
View.__pyrepr = function(view) return "dict_" .. view.what .. "(" .. R.repr(list(items_of(view.dict, view.what))) .. ")" end
View.__pycontains = function(view, value)
  if view.what == "keys" then return ops.dict_get(view.dict, value) ~= nil end
  for _, item in ipairs(items_of(view.dict, view.what)) do
    if R.equal(item, value) then return true end
  end
  return false
end
View.__pybinop = function(op, a, b)
  local function as_set(v)
    if getmetatable(v) == View then return ops.SET(items_of(v.dict, v.what)) end
    return ops.SET(R.collect(v))
  end
  return containers.binop(op, as_set(a), as_set(b), false)
end
View.__pycompare = function(op, a, b)
  if op ~= "Eq" and op ~= "NotEq" then return nil end
  local function as_set(v)
    if getmetatable(v) == View then return ops.SET(items_of(v.dict, v.what)) end
    return v
  end
  return R.equal(as_set(a), as_set(b)) == (op == "Eq")
end

local function view(what) return function(self) return setmetatable({ dict = self, what = what }, View) end end

local function pop_item(self, key, default)
  local value <const> = ops.dict_get(self, key)
  if value == nil then
    if default == nil then R.key_error(key) end
    return default
  end
  ops.dict_delete(self, key)
  return value
end

local function copy_dict(self)
  local out <const> = R.dict_update(ops.DICT {}, self)
  out.default_factory, out.missing = self.default_factory, self.missing
  return out
end

R.Dict.__methods = R.methods("dict", {
  get = { "key default= /", function(self, key, default)
    local value <const> = ops.dict_get(self, key)
    if value == nil then return default end
    return value
  end },
  keys = { "", view "keys" },
  values = { "", view "values" },
  items = { "", view "items" },
  pop = { "key *default", pop_item },
  popitem = { "", function(self)
    for place = self[5], 1, -1 do
      local key <const> = self[3][place]
      if key ~= nil then
        local value <const> = ops.dict_get(self, key)
        ops.dict_delete(self, key)
        return tuple { key, value }
      end
    end
    R.raise("KeyError", "popitem(): dictionary is empty")
  end },
  setdefault = { "key default=", function(self, key, default)
    local value <const> = ops.dict_get(self, key)
    if value ~= nil then return value end
    ops.dict_set(self, key, default)
    return default
  end },
  update = { "**kwargs *sources", function(self, kwargs, source)
    if source ~= nil then R.dict_update(self, source) end
    R.dict_update(self, kwargs)
  end },
  clear = { "", function(self)
    local empty <const> = ops.DICT {}
    for i = 1, 5 do self[i] = empty[i] end
  end },
  copy = { "", copy_dict },
  fromkeys = { "keys value=", function(_, keys, value)
    local out <const> = ops.DICT {}
    for _, key in ipairs(R.collect(keys)) do ops.dict_set(out, key, value) end
    return out
  end },
  most_common = { "n=", function(self, n)
    if not self.counter then R.raise("AttributeError", "'dict' object has no attribute 'most_common'") end
    local pairs_list <const> = R.sort(items_of(self, "items"), function(item) return item[2] end, true)
    local out <const> = {}
    for i = 1, n == None and #pairs_list or math.min(n, #pairs_list) do out[i] = pairs_list[i] end
    return list(out)
  end },
})

-- sets ----------------------------------------------------------------------------------------------------------------------

local function as_set(value)
  local k <const> = kind(value)
  if k == "set" or k == "frozenset" then return value end
  return ops.SET(R.collect(value))
end

local function combine(op)
  return function(self, ...)
    local out = self
    for i = 1, select("#", ...) do out = containers.binop(op, out, as_set((select(i, ...))), false) end
    if select("#", ...) == 0 then out = containers.binop("BitOr", self, ops.SET {}, false) end
    return out
  end
end

local function combine_into(op)
  return function(self, ...)
    for i = 1, select("#", ...) do containers.binop(op, self, as_set((select(i, ...))), true) end
  end
end

local shared <const> = {
  union = { "*others", combine "BitOr" },
  intersection = { "*others", combine "BitAnd" },
  difference = { "*others", combine "Sub" },
  symmetric_difference = { "other", combine "BitXor" },
  issubset = { "other", function(self, other) return containers.compare("LtE", self, as_set(other)) end },
  issuperset = { "other", function(self, other) return containers.compare("GtE", self, as_set(other)) end },
  isdisjoint = { "other", function(self, other) return containers.binop("BitAnd", self, as_set(other), false)[4] == 0 end },
  copy = { "", function(self) return containers.binop("BitOr", self, ops.SET {}, false) end },
}

local mutable <const> = {
  add = { "item", function(self, item) ops.dict_set(self, item, true) end },
  remove = { "item", function(self, item) if not ops.dict_delete(self, item) then R.key_error(item) end end },
  discard = { "item", function(self, item) ops.dict_delete(self, item) end },
  pop = { "", function(self)
    local _, key <const> = ops.dict_next(self, 0)
    if key == nil then R.raise("KeyError", "pop from an empty set") end
    ops.dict_delete(self, key)
    return key
  end },
  clear = { "", function(self)
    local empty <const> = ops.SET {}
    for i = 1, 5 do self[i] = empty[i] end
  end },
  update = { "*others", combine_into "BitOr" },
  intersection_update = { "*others", combine_into "BitAnd" },
  difference_update = { "*others", combine_into "Sub" },
  symmetric_difference_update = { "other", combine_into "BitXor" },
}
for name, row in pairs(shared) do mutable[name] = row end
R.Set.__methods = R.methods("set", mutable)
R.FrozenSet.__methods = R.methods("frozenset", shared)
R.FrozenSet.__pyhash = function(set)
  local parts <const> = {}
  for _, key in ops.dict_entries(set) do parts[#parts + 1] = R.repr(key) end
  table.sort(parts)
  return "\xfffrozenset" .. table.concat(parts, ",")
end

return {}
