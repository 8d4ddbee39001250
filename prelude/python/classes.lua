-- SPDX-License-Identifier: MIT
-- Classes: user classes, the types of built-in values, properties and super().
--
-- A class is a table with the metatable R.Class: [1] namespace, [2] method resolution order (itself first), [3] name,
-- [4] metatable of its instances, [5] what a call makes an instance with (nil: a new object and __init__), [6] whether
-- assignment to instances must look for properties, [7] bases, [8] names in order of definition, [9] annotated names,
-- [10] qualified name, [11] check(value) for types of values that native code makes, [12] module name.
-- An instance is a table of its own attributes whose metatable holds __class and the hooks of rt.pyops.

local R <const> = require "python.runtime"

local ops <const>, None <const> = R.ops, R.None
local NS <const>, MRO <const>, NAME <const>, INSTANCE <const>, MAKE <const>, GUARD <const> = 1, 2, 3, 4, 5, 6
local BASES <const>, ORDER <const>, ANNOTATED <const>, QUALNAME <const>, CHECK <const> = 7, 8, 9, 10, 11

local C <const> = {}

-- method resolution order ---------------------------------------------------------------------------------------------------

local function merge(lists)
  local result <const> = {}
  while true do
    local any, pick = false, nil
    for _, list in ipairs(lists) do
      local head <const> = list[1]
      if head then
        any = true
        local good = true
        for _, other in ipairs(lists) do
          for i = 2, #other do good = good and other[i] ~= head end
        end
        if good then
          pick = head
          break
        end
      end
    end
    if not any then return result end
    if not pick then R.raise("TypeError", "Cannot create a consistent method resolution order (MRO) for bases") end
    result[#result + 1] = pick
    for _, list in ipairs(lists) do
      if list[1] == pick then table.remove(list, 1) end
    end
  end
end

local function linearise(class)
  local lists <const>, own <const> = {}, {}
  for i, base in ipairs(class[BASES]) do
    lists[i] = table.move(base[MRO], 1, #base[MRO], 1, {})
    own[i] = base
  end
  lists[#lists + 1] = own
  local order <const> = merge(lists)
  table.insert(order, 1, class)
  return order
end

-- The attribute a class has by itself or inherits, unbound; nil when it has none. Also the class it was found in.
function R.class_lookup(class, name)
  for _, c in ipairs(class[MRO]) do
    local value <const> = c[NS][name]
    if value ~= nil then return value, c end
  end
  return nil
end
local lookup <const> = R.class_lookup

-- hooks of instances --------------------------------------------------------------------------------------------------------

local binary_names <const> = {
  Add = "add", Sub = "sub", Mult = "mul", Div = "truediv", FloorDiv = "floordiv", Mod = "mod", Pow = "pow", MatMult = "matmul",
  LShift = "lshift", RShift = "rshift", BitAnd = "and", BitOr = "or", BitXor = "xor",
}
local compare_names <const> = { Lt = "__lt__", LtE = "__le__", Gt = "__gt__", GtE = "__ge__", Eq = "__eq__", NotEq = "__ne__" }
local unary_names <const> = { USub = "__neg__", UAdd = "__pos__", Invert = "__invert__" }

local function declined(value)
  if value == R.NotImplemented then return nil end
  return value
end

local function class_of_instance(value)
  local mt <const> = getmetatable(value)
  return type(mt) == "table" and mt.__class or nil
end
R.instance_class = class_of_instance

local function hook_binop(op, a, b)
  local name <const> = binary_names[op]
  local class_a <const> = class_of_instance(a)
  local method = class_a and lookup(class_a, "__" .. name .. "__")
  if method then
    local value <const> = declined(R.call(method, a, b))
    if value ~= nil then return value end
  end
  local class_b <const> = class_of_instance(b)
  method = class_b and lookup(class_b, "__r" .. name .. "__")
  if method then return declined(R.call(method, b, a)) end
end

local function hook_ibinop(op, a, b)
  local class <const> = class_of_instance(a)
  local method <const> = class and lookup(class, "__i" .. binary_names[op] .. "__")
  if method then return declined(R.call(method, a, b)) end
end

local function hook_compare(op, a, b)
  local class <const> = class_of_instance(a)
  local method <const> = class and lookup(class, compare_names[op])
  if method then return declined(R.call(method, a, b)) end
  if op == "NotEq" then
    local equal <const> = class and lookup(class, "__eq__")
    local value <const> = equal and declined(R.call(equal, a, b))
    if value ~= nil then return not R.truth(value) end
  end
end

local function hook_unary(op, a)
  local method <const> = lookup(class_of_instance(a), unary_names[op])
  if method then return R.call(method, a) end
end

local function calls(name)
  return function(object, ...) return R.call(lookup(class_of_instance(object), name), object, ...) end
end

local function hook_iter(object)
  local made <const> = R.call(lookup(class_of_instance(object), "__iter__"), object)
  return R.next_function(made)
end

-- Set the hooks that the class's special methods ask for.
local function set_hooks(class)
  local mt <const> = class[INSTANCE]
  for _, name in pairs(binary_names) do
    if lookup(class, "__" .. name .. "__") or lookup(class, "__r" .. name .. "__") then mt.__pybinop = hook_binop end
    if lookup(class, "__i" .. name .. "__") then mt.__pyibinop = hook_ibinop end
  end
  for _, name in pairs(compare_names) do
    if lookup(class, name) then mt.__pycompare = hook_compare end
  end
  for _, name in pairs(unary_names) do
    if lookup(class, name) then mt.__pyunop = hook_unary end
  end
  for hook, name in pairs { __pylen = "__len__", __pytruth = "__bool__", __pyrepr = "__repr__", __pystr = "__str__", __pyindex = "__index__",
    __pycontains = "__contains__", __pyformat = "__format__", __pyhash = "__hash__", __pygetattr = "__getattr__", __pyenter = "__enter__" } do
    if lookup(class, name) then mt[hook] = calls(name) end
  end
  if lookup(class, "__iter__") then mt.__pyiter = hook_iter end
  if class[NS].__eq__ and not class[NS].__hash__ then
    mt.__pyhash = function(object) R.raise("TypeError", "unhashable type: '%s'", R.type_name(object)) end
  end
  class[GUARD] = false
  for _, c in ipairs(class[MRO]) do
    if c[NS].__setattr__ then class[GUARD] = true end
    for _, value in pairs(c[NS]) do
      if type(value) == "table" and getmetatable(value) == R.Property then class[GUARD] = true end
    end
  end
end

-- making classes ------------------------------------------------------------------------------------------------------------

function R.new_class(name, bases, home, qualname)
  if #bases == 0 and R.types.object then bases = { R.types.object } end
  for _, base in ipairs(bases) do
    if R.kind(base) ~= "class" then
      R.raise("TypeError", "a class cannot inherit from a '%s' object", R.type_name(base))
    end
  end
  local class <const> = setmetatable({ {}, false, name, { __pytype = name }, nil, false, bases, {}, {}, qualname or name, nil, home or "" }, R.Class)
  class[INSTANCE].__class = class
  class[INSTANCE][1] = class
  class[INSTANCE].__name = name
  class[MRO] = linearise(class)
  for _, base in ipairs(bases) do
    if base[MAKE] and base ~= R.types.object then class[MAKE] = base[MAKE] end
    for k, v in pairs(base[INSTANCE] or {}) do
      if class[INSTANCE][k] == nil then class[INSTANCE][k] = v end
    end
  end
  return class
end

function C.NEWCLASS(site, name, qualname, bases, home)
  ops.site(site)
  return R.new_class(name, bases, rawget(home, 1), qualname)
end

function C.NAMESPACE(class) return class end

function C.CLASSSET(class, name, value)
  if value ~= nil and class[NS][name] == nil then class[ORDER][#class[ORDER] + 1] = name end
  class[NS][name] = value
end

function C.CLASSNAME(class, globals, name)
  local value <const> = class[NS][name]
  if value ~= nil then return value end
  return globals[name]
end

function C.ANNOTATE(class, name, annotation) table.insert(class[ANNOTATED], { name, annotation }) end

function C.ENDCLASS(site, class)
  ops.site(site)
  for name, value in pairs(class[NS]) do
    if type(value) == "table" and value.__set_name then value.__set_name(value, class, name) end
  end
  set_hooks(class)
  for i = 2, #class[MRO] do
    local on_subclass <const> = class[MRO][i].on_subclass
    if on_subclass then return on_subclass(class) end
  end
  return class
end

-- Recompute what depends on a class's names after native code has added some.
function R.refresh_class(class) set_hooks(class) end

function C.SUPER(class, object) return setmetatable({ class, object }, R.Super) end

R.Super = { __pytype = "super" }
function R.Super.__pygetattr(super, name)
  local class <const>, object <const> = super[1], super[2]
  local start <const> = R.kind(object) == "class" and object or class_of_instance(object)
  local passed = false
  for _, c in ipairs(start[MRO]) do
    if passed then
      local value <const> = c[NS][name]
      if value ~= nil then return R.bind_found(value, object, start) end
    end
    passed = passed or c == class
  end
  return nil
end

-- What a value found in a class gives when it is read from an instance.
function R.bind_found(value, object, class)
  if type(value) == "function" or R.kind(value) == "callable" then return R.bound(object, value) end
  local mt <const> = type(value) == "table" and getmetatable(value)
  if mt and mt.__pyget then return mt.__pyget(value, object, class) end
  return value
end

-- attributes of classes -----------------------------------------------------------------------------------------------------

function R.class_getattr(class, name)
  if name == "__name__" then return class[NAME] end
  if name == "__qualname__" then return class[QUALNAME] end
  local value <const> = lookup(class, name)
  if value == nil then
    if class.getattr then return class.getattr(class, name) end
    if name == "__doc__" then return None end
    return nil
  end
  local mt <const> = type(value) == "table" and getmetatable(value)
  if mt and mt.__pyclassget then return mt.__pyclassget(value, class) end
  return value
end

function R.class_setattr(class, name, value)
  C.CLASSSET(class, name, value)
  set_hooks(class)
end

function R.instance_setattr(object, class, name, value)
  local found <const> = lookup(class, name)
  if type(found) == "table" and getmetatable(found) == R.Property then
    if found.setter == None then
      R.raise("AttributeError", "property '%s' of '%s' object has no setter", name, class[NAME])
    end
    R.call(found.setter, object, value)
    return
  end
  local guard <const> = lookup(class, "__setattr__")
  if guard then
    R.call(guard, object, name, value)
  else
    rawset(object, name, value)
  end
end

-- calls ---------------------------------------------------------------------------------------------------------------------

local no_arguments <const> = setmetatable({}, { __mode = "k" })

function R.class_callee(class)
  local make <const> = class[MAKE]
  if make then return make, class.make_with_class and class or nil, false end
  local object <const> = setmetatable({}, class[INSTANCE])
  local init <const> = lookup(class, "__init__")
  if init then return init, object, true end
  no_arguments[class] = no_arguments[class] or R.define(class[NAME], "self", function(self) return self end)
  return no_arguments[class], object, true
end

-- types of built-in values ----------------------------------------------------------------------------------------------------

R.types = {}

-- A type native code provides: name, make (a callable) or nil, base type or nil, check(value) or nil.
function R.new_type(name, make, base, check)
  local class <const> = R.new_class(name, base and { base } or {}, "builtins")
  class[MAKE], class[CHECK] = make, check
  R.types[name] = class
  return class
end

R.new_type "object"
for name, base in pairs { int = false, float = false, str = false, list = false, tuple = false, dict = false, set = false, frozenset = false,
  range = false, slice = false, type = false, NoneType = false, ellipsis = false, ["function"] = false, method = false, module = false,
  builtin_function_or_method = false, iterator = false, bytes = false, complex = false, generator = false, property = false } do
  R.new_type(name, nil, base or nil)
end
R.new_type("bool", nil, R.types.int)

-- The class of any value; nil for an object of native code that names none.
function R.class_of(value)
  if value == nil then return R.types.NoneType end
  local class <const> = class_of_instance(value)
  if class then return class end
  local mt <const> = getmetatable(value)
  if type(mt) == "table" and mt.__pyclass then return mt.__pyclass end
  local name <const> = R.type_name(value)
  return R.types[name] or R.new_type(name)
end

function R.is_subclass(class, of)
  for _, c in ipairs(class[MRO]) do
    if c == of then return true end
  end
  return false
end

function R.is_instance(value, class)
  local kind <const> = R.kind(class)
  if kind == "tuple" then
    for _, c in ipairs(class) do
      if R.is_instance(value, c) then return true end
    end
    return false
  end
  if kind ~= "class" then
    local mt <const> = getmetatable(class)
    if type(mt) == "table" and mt.__pyinstancecheck then return mt.__pyinstancecheck(class, value) end
    R.raise("TypeError", "isinstance() arg 2 must be a type, a tuple of types, or a union")
  end
  if class[CHECK] then return class[CHECK](value) end
  local own <const> = R.class_of(value)
  if class == R.types.object then return true end
  return own ~= nil and R.is_subclass(own, class)
end

-- A class that native code defines: methods are native functions or Lua functions that take self.
function R.define_class(spec)
  local class <const> = R.new_class(spec.name, spec.bases or {}, spec.module or "builtins")
  for name, value in pairs(spec.attrs or {}) do C.CLASSSET(class, name, value) end
  class[MAKE], class[CHECK] = spec.make, spec.check
  for k, v in pairs(spec.instance or {}) do class[INSTANCE][k] = v end
  set_hooks(class)
  return class
end

-- property, staticmethod, classmethod -----------------------------------------------------------------------------------------

R.Property = { __pytype = "property" }
function R.Property.__pyget(property, object) return R.call(property.getter, object) end
R.Property.__pygetattr = function(property, name)
  if name == "setter" then
    return R.define("setter", "fn", function(fn) return setmetatable({ getter = property.getter, setter = fn }, R.Property) end)
  end
end

R.StaticMethod = { __pytype = "staticmethod" }
function R.StaticMethod.__pyget(method) return method.fn end
function R.StaticMethod.__pyclassget(method) return method.fn end
function R.StaticMethod.__pycall(method, args, kwargs) return R.call_spread(method.fn, args, kwargs) end

R.ClassMethod = { __pytype = "classmethod" }
function R.ClassMethod.__pyget(method, _, class) return R.bound(class, method.fn) end
function R.ClassMethod.__pyclassget(method, class) return R.bound(class, method.fn) end

return C
