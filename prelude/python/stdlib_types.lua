-- SPDX-License-Identifier: MIT
-- typing, abc, dataclasses, enum and collections.

local R <const> = require "python.support"

local ops <const>, None <const> = R.ops, R.None
local list <const>, tuple <const>, kind <const> = R.list, R.tuple, R.kind
local S <const> = R.stdlib

local function module(...) return R.stdlib_module(...) end

-- typing: names that annotations use. They can be subscripted and inherited from, and do nothing.
function S.typing()
  local made <const> = {}
  local function inert(name)
    if not made[name] then
      made[name] = R.new_class(name, {}, "typing")
      made[name].typing = true
      made[name][5] = R.define(name, "**kwargs *args", function() return made[name] end)
    end
    return made[name]
  end
  local typing <const> = module("typing", {
    cast = { "type value", function(_, value) return value end },
    overload = { "fn", function(fn) return fn end },
    final = { "fn", function(fn) return fn end },
    no_type_check = { "fn", function(fn) return fn end },
    runtime_checkable = { "cls", function(class) return class end },
    get_type_hints = { "object", function() return ops.DICT {} end },
  }, { TYPE_CHECKING = false })
  typing[3] = function(name) return name:find "^%u" and inert(name) or nil end
  for word in ("Generic Protocol"):gmatch "%a+" do
    typing[word] = R.new_class(word, {}, "typing")
  end
  typing.NamedTuple = R.new_class("NamedTuple", {}, "typing")
  typing.NamedTuple.on_subclass = function(class)
    local names <const>, defaults <const> = {}, {}
    for _, pair in ipairs(class[9]) do
      names[#names + 1] = pair[1]
      defaults[pair[1]] = class[1][pair[1]]
      class[1][pair[1]] = nil
    end
    return R.named_tuple(class[3], names, defaults, class)
  end
  return typing
end
S.typing_extensions = function() return R.IMPORT(ops.site(), setmetatable({ "typing_extensions", false, false, {} }, R.Module), "typing", 0, false) end

function S.abc()
  local base <const> = R.new_class("ABC", {}, "abc")
  return module("abc", { abstractmethod = { "fn", function(fn) return fn end } }, { ABC = base, ABCMeta = R.types.type })
end

S["collections.abc"] = function() return S.typing() end

-- dataclasses -----------------------------------------------------------------------------------------------------------------

local MISSING <const> = setmetatable({}, { __pytype = "_MISSING_TYPE", __pyrepr = function() return "MISSING" end })
local Field <const> = { __pytype = "Field", __pygetattr = function(field, name) return rawget(field, name) end }

local function option(kwargs, name, default)
  local value <const> = kwargs and ops.dict_get(kwargs, name)
  if value == nil then return default end
  return R.truth(value)
end

local function dataclass_fields(class)
  local fields <const>, place <const> = {}, {}
  local function add(field)
    if place[field.name] then
      fields[place[field.name]] = field
    else
      fields[#fields + 1] = field
      place[field.name] = #fields
    end
  end
  for i = #class[2], 2, -1 do
    for _, field in ipairs(class[2][i].dataclass_fields or {}) do add(field) end
  end
  for _, pair in ipairs(class[9]) do
    local name <const>, annotation <const> = pair[1], pair[2]
    if annotation ~= "ClassVar" then
      local value <const> = class[1][name]
      local field = setmetatable({ name = name, default = value == nil and MISSING or value, default_factory = MISSING, init = true, ["repr"] = true,
        compare = true }, Field)
      if type(value) == "table" and getmetatable(value) == Field then
        field = value
        field.name = name
        class[1][name] = field.default ~= MISSING and field.default or nil
      elseif R.kind(value) == "list" or R.kind(value) == "dict" or R.kind(value) == "set" then
        R.raise("ValueError", "mutable default <class '%s'> for field %s is not allowed: use default_factory", R.type_name(value), name)
      end
      add(field)
    end
  end
  return fields
end

local function field_values(object, fields)
  local out <const> = {}
  for i, field in ipairs(fields) do out[i] = ops.getattr(object, field.name) end
  return tuple(out)
end

local function make_dataclass(class, kwargs)
  local fields <const> = dataclass_fields(class)
  class.dataclass_fields = fields
  local frozen <const> = option(kwargs, "frozen", false)
  local ns <const> = class[1]
  local kw_only <const> = option(kwargs, "kw_only", false)
  local params <const>, required <const>, init_fields <const> = { "self" }, { true }, {}
  local defaulted
  for _, field in ipairs(fields) do
    if field.init then
      params[#params + 1] = field.name
      required[#params] = field.default == MISSING and field.default_factory == MISSING
      if required[#params] and defaulted and not kw_only then
        R.raise("TypeError", "non-default argument '%s' follows default argument", field.name)
      end
      defaulted = defaulted or not required[#params]
      init_fields[#init_fields + 1] = field
    end
  end
  if ns.__init__ == nil and option(kwargs, "init", true) then
    local signature <const> = ops.signature {
      name = class[10] .. ".__init__", params = params, required = required, positional = kw_only and 1 or #params, posonly = 0,
      varargs = false, kwargs = false, python = true,
    }
    ns.__init__ = ops.callable(signature, function(object, ...)
      local given <const> = { ... }
      for i, field in ipairs(init_fields) do
        local value = given[i]
        if value == nil then
          if field.default_factory ~= MISSING then value = R.call(field.default_factory) else value = field.default end
        end
        rawset(object, field.name, value)
      end
      for _, field in ipairs(fields) do
        if not field.init then
          if field.default_factory ~= MISSING then
            rawset(object, field.name, R.call(field.default_factory))
          elseif field.default ~= MISSING then
            rawset(object, field.name, field.default)
          end
        end
      end
      local post <const> = R.class_lookup(class, "__post_init__")
      if post then R.call(post, object) end
      return None
    end, nil, { name = "__init__", qualname = class[10] .. ".__init__", params = params })
  end
  if ns.__repr__ == nil and option(kwargs, "repr", true) then
    ns.__repr__ = R.define("__repr__", "self", function(object)
      local parts <const> = {}
      for _, field in ipairs(fields) do
        if field["repr"] then parts[#parts + 1] = field.name .. "=" .. R.repr(ops.getattr(object, field.name)) end
      end
      return R.class_of(object)[10] .. "(" .. table.concat(parts, ", ") .. ")"
    end)
  end
  local compared <const> = {}
  for _, field in ipairs(fields) do
    if field.compare then compared[#compared + 1] = field end
  end
  if ns.__eq__ == nil and option(kwargs, "eq", true) then
    ns.__eq__ = R.define("__eq__", "self other", function(a, b)
      if R.class_of(a) ~= R.class_of(b) then return R.NotImplemented end
      return R.equal(field_values(a, compared), field_values(b, compared))
    end)
    if frozen or option(kwargs, "unsafe_hash", false) then
      ns.__hash__ = R.define("__hash__", "self", function(object) return tuple { class, field_values(object, compared) } end)
    end
  end
  if option(kwargs, "order", false) then
    for name, op in pairs { __lt__ = "Lt", __le__ = "LtE", __gt__ = "Gt", __ge__ = "GtE" } do
      ns[name] = R.define(name, "self other", function(a, b)
        if R.class_of(a) ~= R.class_of(b) then return R.NotImplemented end
        return ops[op](ops.site(), field_values(a, compared), field_values(b, compared))
      end)
    end
  end
  if frozen then
    ns.__setattr__ = R.define("__setattr__", "self name value", function(_, name)
      R.raise("FrozenInstanceError", "cannot assign to field '%s'", name)
    end)
  end
  R.refresh_class(class)
  return class
end

function S.dataclasses()
  if not R.exceptions.FrozenInstanceError then R.define_exception("FrozenInstanceError", "AttributeError") end
  local function fields_of(object)
    local class <const> = R.kind(object) == "class" and object or R.instance_class(object)
    for _, c in ipairs(class and class[2] or {}) do
      if c.dataclass_fields then return c.dataclass_fields end
    end
    R.raise("TypeError", "must be called with a dataclass type or instance")
  end
  local function plain(value, as_dict)
    local k <const> = kind(value)
    local class <const> = R.instance_class(value)
    if class and class.dataclass_fields then
      local out <const> = as_dict and ops.DICT {} or {}
      for i, field in ipairs(fields_of(value)) do
        local item <const> = plain(ops.getattr(value, field.name), as_dict)
        if as_dict then ops.dict_set(out, field.name, item) else out[i] = item end
      end
      return as_dict and out or tuple(out)
    elseif k == "list" or k == "tuple" then
      local out <const> = {}
      for i = 1, #value do out[i] = plain(value[i], as_dict) end
      return setmetatable(out, getmetatable(value))
    end
    return value
  end
  return module("dataclasses", {
    dataclass = { "cls= / **kwargs", function(class, kwargs)
      if kind(class) == "class" then return make_dataclass(class, kwargs) end
      return R.define("dataclass", "cls", function(inner) return make_dataclass(inner, kwargs) end)
    end },
    field = { "* default= default_factory= init= repr= compare= hash= metadata= kw_only=", function(default, factory, init, show, compare)
      return setmetatable({ default = default, default_factory = factory, init = init, ["repr"] = show, compare = compare }, Field)
    end, { default = MISSING, default_factory = MISSING, init = true, ["repr"] = true, compare = true } },
    fields = { "object", function(object) return tuple(table.move(fields_of(object), 1, #fields_of(object), 1, {})) end },
    asdict = { "object", function(object) return plain(object, true) end },
    astuple = { "object", function(object) return plain(object, false) end },
    is_dataclass = { "object", function(object)
      local class <const> = kind(object) == "class" and object or R.instance_class(object)
      return class ~= nil and class.dataclass_fields ~= nil
    end },
    replace = { "object / **changes", function(object, changes)
      local arguments <const> = ops.DICT {}
      for _, field in ipairs(fields_of(object)) do
        if field.init then ops.dict_set(arguments, field.name, ops.getattr(object, field.name)) end
      end
      return R.call_spread(R.instance_class(object), {}, R.dict_update(arguments, changes))
    end },
  }, { MISSING = MISSING, FrozenInstanceError = R.exceptions.FrozenInstanceError, Field = R.types.object, InitVar = R.types.object,
    KW_ONLY = R.types.object })
end

-- enum ------------------------------------------------------------------------------------------------------------------------

local Auto <const> = { __pytype = "auto" }

local function member_value(member) return rawget(member, "value") end

local function make_enum(class, base)
  local members <const> = {}
  class.members, class.enum = members, base
  local last = 0
  for _, name in ipairs(class[8]) do
    local value = class[1][name]
    local is_member = name:sub(1, 1) ~= "_" and type(value) ~= "function" and kind(value) ~= "callable"
    if type(value) == "table" and (getmetatable(value) == R.Property or getmetatable(value) == R.StaticMethod or getmetatable(value) == R.ClassMethod) then
      is_member = false
    end
    if is_member then
      if type(value) == "table" and getmetatable(value) == Auto then
        if base.flag then value = last == 0 and 1 or last * 2 elseif base.text then value = name:lower() else value = last + 1 end
      end
      if math.type(value) == "integer" then last = value end
      local member
      for _, other in ipairs(members) do
        if R.equal(member_value(other), value) then member = other end
      end
      if not member then
        member = setmetatable({}, class[4])
        rawset(member, "name", name)
        rawset(member, "value", value)
        rawset(member, "_value_", value)
        rawset(member, "_name_", name)
        members[#members + 1] = member
        local init <const> = class[1].__init__
        if init then R.call_spread(init, { member, table.unpack(kind(value) == "tuple" and value or { value }) }, nil) end
      end
      class[1][name] = member
    end
  end
  class.make_with_class = true
  class.immutable = true
  class[5] = R.define(class[3], "cls value", function(cls, value)
    for _, member in ipairs(cls.members) do
      if R.equal(member_value(member), value) or rawequal(member, value) then return member end
    end
    if base.flag and math.type(value) == "integer" then
      local member <const> = setmetatable({}, cls[4])
      rawset(member, "value", value)
      rawset(member, "name", None)
      return member
    end
    R.raise("ValueError", "%s is not a valid %s", R.repr(value), cls[10])
  end)
  class.subscript = function(_, name)
    local member <const> = class[1][name]
    if member == nil or R.instance_class(member) ~= class then R.key_error(name) end
    return member
  end
  class.iterate = function() return R.iterate(list(members)) end
  return class
end

R.Class.__pylen = function(class)
  if class.members then return #class.members end
  R.raise("TypeError", "object of type 'type' has no len()")
end
R.Class.__pycontains = function(class, value)
  for _, member in ipairs(class.members or {}) do
    if rawequal(member, value) then return true end
  end
  return false
end

function S.enum()
  local Enum <const> = R.define_class {
    name = "Enum", module = "enum",
    attrs = {
      __str__ = R.define("__str__", "self", function(m) return R.class_of(m)[3] .. "." .. R.str(rawget(m, "name")) end),
      __repr__ = R.define("__repr__", "self", function(m)
        return ("<%s.%s: %s>"):format(R.class_of(m)[3], R.str(rawget(m, "name")), R.repr(member_value(m)))
      end),
    },
  }
  Enum.on_subclass = function(class) return make_enum(class, Enum) end
  local function derived(name, extra)
    local class <const> = R.new_class(name, { Enum }, "enum")
    class.on_subclass = function(inner) return make_enum(inner, class) end
    for k, v in pairs(extra) do class[k] = v end
    return class
  end
  local function value_of(x)
    local class <const> = R.instance_class(x)
    if class and class.enum then return member_value(x) end
    return x
  end
  -- Enums that behave as their value does.
  local function transparent(class)
    local mt <const> = class[4]
    mt.__pybinop = function(op, a, b)
      local x <const>, y <const> = value_of(a), value_of(b)
      local result <const> = ops[op](ops.site(), x, y)
      local owner <const> = R.instance_class(a)
      if owner and owner.enum and owner.enum.flag then return R.call(owner, result) end
      return result
    end
    mt.__pycompare = function(op, a, b) return ops[op](ops.site(), value_of(a), value_of(b)) end
    mt.__pyhash = value_of
    mt.__pyindex = value_of
    mt.__pyint = value_of
    mt.__pytruth = function(a) return R.truth(value_of(a)) end
    mt.__pyformat = function(a, spec) return R.format(value_of(a), spec) end
    return class
  end
  local IntEnum <const> = transparent(derived("IntEnum", {}))
  R.class_setattr(IntEnum, "__str__", R.define("__str__", "self", function(m) return R.str(member_value(m)) end))
  transparent(IntEnum)
  local StrEnum <const> = transparent(derived("StrEnum", { text = true }))
  R.class_setattr(StrEnum, "__str__", R.define("__str__", "self", function(m) return R.str(member_value(m)) end))
  transparent(StrEnum)
  local Flag <const>, IntFlag <const> = transparent(derived("Flag", { flag = true })), transparent(derived("IntFlag", { flag = true }))
  return module("enum", {
    auto = { "", function() return setmetatable({}, Auto) end },
    unique = { "cls", function(class) return class end },
  }, { Enum = Enum, IntEnum = IntEnum, StrEnum = StrEnum, Flag = Flag, IntFlag = IntFlag })
end

-- collections -----------------------------------------------------------------------------------------------------------------

function R.named_tuple(name, names, defaults, class)
  class = class or R.new_class(name, {}, "collections")
  local function values(object)
    local out <const> = {}
    for i, field in ipairs(names) do out[i] = rawget(object, field) end
    return tuple(out)
  end
  local params <const>, required <const> = { "self" }, { true }
  for i, field in ipairs(names) do
    params[i + 1] = field
    required[i + 1] = defaults[field] == nil
  end
  local signature <const> = ops.signature { name = name, params = params, required = required, positional = #params, python = true }
  local attrs <const> = {
    __init__ = ops.callable(signature, function(object, ...)
      local given <const> = { ... }
      for i, field in ipairs(names) do
        local value = given[i]
        if value == nil then value = defaults[field] end
        rawset(object, field, value)
      end
      return None
    end, nil, { name = "__init__", qualname = name, params = params }),
    __iter__ = R.define("__iter__", "self", function(object) return R.iterator(R.iterate(values(object))) end),
    __len__ = R.define("__len__", "self", function() return #names end),
    __getitem__ = R.define("__getitem__", "self index", function(object, index) return ops.GETITEM(ops.site(), values(object), index) end),
    __eq__ = R.define("__eq__", "self other", function(a, b)
      local other <const> = R.instance_class(b) == class and values(b) or b
      return R.equal(values(a), other)
    end),
    __lt__ = R.define("__lt__", "self other", function(a, b) return ops.less(values(a), R.instance_class(b) == class and values(b) or b) end),
    __hash__ = R.define("__hash__", "self", values),
    __repr__ = R.define("__repr__", "self", function(object)
      local parts <const> = {}
      for i, field in ipairs(names) do parts[i] = field .. "=" .. R.repr(rawget(object, field)) end
      return name .. "(" .. table.concat(parts, ", ") .. ")"
    end),
    _asdict = R.define("_asdict", "self", function(object)
      local out <const> = ops.DICT {}
      for _, field in ipairs(names) do ops.dict_set(out, field, rawget(object, field)) end
      return out
    end),
    _replace = R.define("_replace", "self **changes", function(object, changes)
      local out <const> = setmetatable({}, class[4])
      for _, field in ipairs(names) do
        local changed <const> = ops.dict_get(changes, field)
        if changed ~= nil then rawset(out, field, changed) else rawset(out, field, rawget(object, field)) end
      end
      return out
    end),
    _fields = tuple(table.move(names, 1, #names, 1, {})),
  }
  for key, value in pairs(attrs) do
    if class[1][key] == nil then class[1][key] = value end
  end
  R.refresh_class(class)
  return class
end

function S.collections()
  -- A deque is a list that also has these.
  local function deque_method(name, params, fn)
    R.List.__methods[name] = R.define(name, "self " .. params, function(self, ...)
      if not self.deque then R.raise("AttributeError", "'list' object has no attribute '%s'", name) end
      return fn(self, ...)
    end)
  end
  deque_method("appendleft", "value", function(self, value) table.insert(self, 1, value) end)
  deque_method("popleft", "", function(self)
    if #self == 0 then R.raise("IndexError", "pop from an empty deque") end
    return table.remove(self, 1)
  end)
  return module("collections", {
    defaultdict = { "factory= source= / **kwargs", function(factory, source, kwargs)
      local out <const> = ops.DICT {}
      out.default_factory = factory
      if source ~= None then R.dict_update(out, source) end
      R.dict_update(out, kwargs)
      out.shown_as = "defaultdict"
      return out
    end },
    OrderedDict = { "source= / **kwargs", function(source, kwargs)
      local out <const> = ops.DICT {}
      if source ~= None then R.dict_update(out, source) end
      return R.dict_update(out, kwargs)
    end },
    Counter = { "items= /", function(items)
      local out <const> = ops.DICT {}
      out.counter, out.missing, out.shown_as = true, 0, "Counter"
      if kind(items) == "dict" then return R.dict_update(out, items) end
      if items ~= None then
        for item in R.iterate(items) do ops.dict_set(out, item, (ops.dict_get(out, item) or 0) + 1) end
      end
      return out
    end },
    deque = { "items= maxlen=", function(items)
      local out <const> = list(items == None and {} or R.collect(items))
      out.deque = true
      return out
    end },
    namedtuple = { "typename field_names * defaults=", function(name, field_names, default_values)
      local names <const> = {}
      if type(field_names) == "string" then
        for word in field_names:gmatch "[^%s,]+" do names[#names + 1] = word end
      else
        for i, word in ipairs(R.collect(field_names)) do names[i] = word end
      end
      local defaults <const> = {}
      if default_values ~= None then
        local values <const> = R.collect(default_values)
        for i, value in ipairs(values) do defaults[names[#names - #values + i]] = value end
      end
      return R.named_tuple(name, names, defaults)
    end },
  })
end

return S
