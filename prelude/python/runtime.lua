-- SPDX-License-Identifier: MIT
-- Python values in Lua: the metatables, the singletons, errors, native functions and calls from Lua. The hot paths are in
-- rt.pyops (C); this file hands it the metatables and the Lua functions for everything that has no fast path.
--
-- A Python error is the Lua error {kind="python", etype=, message=, site=, value=<exception object>}; an error of the
-- machine is {kind="nki", code=, message=, site=} and no `except` catches it.

--
-- Objects of native code take part through fields of their metatable, Lua or C functions all:
--   __pytype (a name, or function(obj) -> name), __pyclass (a class, for type() and isinstance()), __methods = {name = native
--   function taking self first}, __pygetattr(obj, name) -> value or nil, __pysetattr(obj, name, value),
--   __subscript(obj, format, ...), __setsubscript(obj, value, format, ...): one character per index in the format, `i` one
--   value, `s` three (start, stop, step), `e` an ellipsis and `n` None without one,
--   __pybinop(op, a, b), __pyibinop(op, a, b) for `a op= b`, __pyunop(op, a), __pycompare(op, a, b): nil declines,
--   __pytruth(obj), __pylen(obj), __pycontains(obj, item), __pyiter(obj) -> Lua function giving items until nil,
--   __pycall(obj, args, kwargs), __pyhash(obj) -> a value to hash in its place, __pyenter(obj), __pyexit(obj, error or nil),
--   __pyindex, __pyint, __pyfloat, __pyabs(obj), __pyround(obj, digits), __pyrepr, __pystr(obj), __pyformat(obj, spec),
--   __pycopy(obj), __pyinstancecheck(obj, value).

local ops <const> = require "rt.pyops"

local R <const> = { ops = ops }

local function metatable(pytype) return { __pytype = pytype, __name = pytype } end

R.List, R.Tuple, R.Dict, R.Set = metatable "list", metatable "tuple", metatable "dict", metatable "set"
R.FrozenSet, R.Range, R.Slice = metatable "frozenset", metatable "range", metatable "slice"
R.Module, R.Callable, R.Iterator = metatable "module", metatable "builtin_function_or_method", metatable "iterator"
R.Method, R.Class, R.Bytes = metatable "method", metatable "type", metatable "bytes"
R.NoneMeta, R.EllipsisMeta = metatable "NoneType", metatable "ellipsis"
R.NotImplementedMeta = metatable "NotImplementedType"

R.None = setmetatable({}, R.NoneMeta)
R.Ellipsis = setmetatable({}, R.EllipsisMeta)
R.NotImplemented = setmetatable({}, R.NotImplementedMeta)
R.NoneMeta.__tostring = function() return "None" end
R.EllipsisMeta.__tostring = function() return "Ellipsis" end

local List <const>, Tuple <const>, None <const> = R.List, R.Tuple, R.None

-- Lua function -> signature (rt.pyops userdata), and the description the lowering made of it.
R.info = setmetatable({}, { __mode = "k" })
R.prototypes = setmetatable({}, { __mode = "k" })
-- Attributes set on functions (`jit`, names given by programs).
R.function_attrs = setmetatable({}, { __mode = "k" })

R.builtins = {}

-- The methods of str and of numbers; strings.lua fills them.
R.str_methods, R.num_methods = {}, {}

local function init(fn, object, ...)
  fn(object, ...)
  return object
end

ops.setup {
  metatables = {
    list = R.List, tuple = R.Tuple, dict = R.Dict, set = R.Set, frozenset = R.FrozenSet, range = R.Range, slice = R.Slice,
    module = R.Module, callable = R.Callable, iterator = R.Iterator, method = R.Method, class = R.Class, none = R.NoneMeta,
    ellipsis = R.EllipsisMeta, bytes = R.Bytes,
  },
  none = R.None,
  ellipsis = R.Ellipsis,
  info = R.info,
  str_methods = R.str_methods,
  num_methods = R.num_methods,
  slow = {
    binop = function(op, a, b, inplace) return R.binop(op, a, b, inplace) end,
    compare = function(op, a, b) return R.compare(op, a, b) end,
    attr = function(object, name) return R.attr(object, name) end,
    setattr = function(object, name, value) return R.setattr(object, name, value) end,
    getitem = function(object, index) return R.getitem(object, index) end,
    setitem = function(object, index, value) return R.setitem(object, index, value) end,
    iter = function(value) return R.iterate(value) end,
    callee = function(value) return R.callee(value) end,
    str_index = function(s, i) return ops.str_points(s)[i + 1] end,
    name = function(value) return R.name_of(value) end,
    init = init,
    format = function(value, conversion, spec) return R.format_field(value, conversion, spec) end,
    identity = function(value) return value end,
  },
}
R.Callable.__call = ops.callable_call

function R.list(t) return setmetatable(t or {}, List) end
function R.tuple(t) return setmetatable(t or {}, Tuple) end
function R.iterator(next_value) return setmetatable({ next_value }, R.Iterator) end
R.dict_get, R.dict_set, R.dict_delete, R.dict_entries = ops.dict_get, ops.dict_set, ops.dict_delete, ops.dict_entries
R.equal, R.truth, R.kind, R.type_name, R.collect, R.getattr = ops.equal, ops.TRUE, ops.kind, ops.type_name, ops.collect, ops.getattr

-- A dict from alternating keys and values.
function R.dict(pairs_list) return ops.DICT(pairs_list or {}) end

-- Raise a Python error.
function R.raise(etype, format, ...)
  error({ kind = "python", etype = etype, message = select("#", ...) > 0 and format:format(...) or format, site = ops.site() })
end

-- Stop with a machine error, which Python code cannot catch.
function R.stop(code, format, ...)
  error({ kind = "nki", code = code, message = select("#", ...) > 0 and format:format(...) or format, site = ops.site() })
end

local function apply(f, ...) return f(...) end
R.apply = apply

-- Call any Python value from Lua.
function R.call(f, ...) return apply(ops.bind(f, ...)) end

-- The same with a plain table of arguments and a Python dict (or nil) of keywords.
function R.call_spread(f, args, kwargs) return apply(ops.bind_spread(f, args, kwargs)) end

-- A function of Lua or C with a Python signature:
--   name, params = {names}, required = how many of the first must be given, defaults = {name = value},
--   posonly, kwonly = how many of the first / last are positional-only / keyword-only,
--   varargs = true (further positional arguments come after the parameters), kwargs = true (a dict of further keywords
--   comes after the parameters, before them), fn.
function R.native(spec)
  local params <const> = spec.params or {}
  local required <const> = {}
  local defaults <const> = {}
  for i, name in ipairs(params) do
    required[i] = i <= (spec.required or 0)
    local value <const> = spec.defaults and spec.defaults[name]
    if value ~= nil then
      defaults[i] = value
    end
  end
  local signature <const> = ops.signature {
    name = spec.name,
    params = params,
    required = required,
    positional = #params - (spec.kwonly or 0),
    posonly = spec.posonly or 0,
    varargs = spec.varargs and true or false,
    kwargs = spec.kwargs and true or false,
    python = false,
  }
  return ops.callable(signature, spec.fn, defaults, spec)
end

-- Native functions by one line each: N("name", "a b c=", fn). `=` marks an optional parameter (None when absent), `*`
-- starts the keyword-only ones, `*name` takes the rest, `**name` further keywords, `/` ends the positional-only ones.
function R.define(name, params_text, fn, defaults)
  local spec <const> = { name = name, params = {}, required = 0, defaults = defaults, fn = fn }
  local keyword_only
  for word in params_text:gmatch "%S+" do
    if word == "/" then
      spec.posonly = #spec.params
    elseif word == "*" then
      keyword_only = #spec.params
    elseif word:sub(1, 2) == "**" then
      spec.kwargs = true
    elseif word:sub(1, 1) == "*" then
      spec.varargs, keyword_only = true, keyword_only or #spec.params
    else
      local plain <const> = word:gsub("=$", "")
      spec.params[#spec.params + 1] = plain
      if plain == word then spec.required = #spec.params end
    end
  end
  if keyword_only then spec.kwonly = #spec.params - keyword_only end
  return R.native(spec)
end

-- A table of methods from {name = {params, fn, defaults}}; fn gets self first. Messages call them type.name().
function R.methods(type_name, rows)
  local out <const> = {}
  for name, row in pairs(rows) do out[name] = R.define(type_name .. "." .. name, "self " .. row[1], row[2], row[3]) end
  return out
end

-- A module that native code provides. Its attributes never change once lowered code runs; `getattr(name)` answers for
-- names it does not hold.
function R.module(spec)
  local module <const> = setmetatable({ [1] = spec.name, [2] = true, [3] = spec.getattr or nil, [4] = spec }, R.Module)
  for name, value in pairs(spec.attrs or {}) do
    if name == "__pygetattr" then module[3] = value else module[name] = value end
  end
  if rawget(module, "__name__") == nil then module.__name__ = spec.name end
  return module
end

-- type name -----------------------------------------------------------------------------------------------------------

function R.name_of(value)
  local mt <const> = getmetatable(value)
  if mt == nil then return "object" end
  if mt == R.Callable then
    local _, signature = ops.callable_parts(value)
    return signature.python and "function" or "builtin_function_or_method"
  end
  local pytype <const> = mt.__pytype
  if type(pytype) == "function" then return pytype(value) end
  return pytype or "object"
end

-- attributes ----------------------------------------------------------------------------------------------------------

local internals <const> = {}
for word in ([[__class__ __globals__ __subclasses__ __bases__ __base__ __mro__ __dict__ __code__ __closure__ __func__ __self__
  __builtins__ __import__ __loader__ __spec__ __getattribute__ __reduce__ __reduce_ex__ __defaults__ __kwdefaults__
  __init_subclass__ __subclasshook__ __weakref__ __module__ __wrapped__ gi_frame gi_code f_globals f_locals f_builtins
  tb_frame cr_frame]]):gmatch "%S+" do internals[word] = true end
R.internals = internals

function R.refuse_internal(name)
  R.stop("not-allowed", "`%s` reaches into Python's internals, which kernels and references may not", name)
end

local function bound(self, method) return setmetatable({ self, method }, R.Method) end
R.bound = bound

function R.function_name(fn)
  if type(fn) == "function" then
    local proto <const> = R.prototypes[fn]
    return proto and proto.name or "function", proto and proto.qualname or "function"
  end
  local _, signature <const>, _, info <const> = ops.callable_parts(fn)
  if type(info) == "table" and info.qualname then return info.name, info.qualname end
  return signature.name:match "[^.]*$", signature.name
end

-- Attributes that have no fast path: nil when there is none.
function R.attr(object, name)
  if internals[name] then R.refuse_internal(name) end
  local kind <const> = ops.kind(object)
  if kind == "module" then
    local getattr <const> = rawget(object, 3)
    if getattr then return getattr(name) end
    return nil
  end
  if type(object) == "function" or kind == "callable" then
    local attrs <const> = R.function_attrs[object]
    if attrs and attrs[name] ~= nil then return attrs[name] end
    if name == "__name__" then return (R.function_name(object)) end
    if name == "__qualname__" then return (select(2, R.function_name(object))) end
    if name == "__doc__" then
      local proto <const> = R.prototype(object)
      return proto and proto.doc or None
    end
    return nil
  end
  if kind == "class" then return R.class_getattr(object, name) end
  if kind == "method" then return ops.getattr(object[2], name) end
  if kind == "slice" then
    local place <const> = ({ start = 1, stop = 2, step = 3 })[name]
    return place and object[place]
  end
  if kind == "range" then
    local place <const> = ({ start = 1, stop = 2, step = 3 })[name]
    if place then return object[place] end
  end
  local methods
  if type(object) == "string" then
    methods = R.str_methods
  elseif type(object) == "number" or type(object) == "boolean" then
    methods = R.num_methods
    if name == "real" then return type(object) == "boolean" and (object and 1 or 0) or object end
    if name == "imag" then return math.type(object) == "float" and 0.0 or 0 end
  else
    local mt <const> = getmetatable(object)
    methods = mt and mt.__methods
    local attrs <const> = mt and mt.__attrs
    if attrs and attrs[name] ~= nil then return attrs[name](object) end
  end
  local method <const> = methods and methods[name]
  if method ~= nil then return bound(object, method) end
  return nil
end

-- The lowering's description of a Python function, or nil.
function R.prototype(fn)
  if type(fn) == "function" then return R.prototypes[fn] end
  if ops.kind(fn) == "callable" then
    local _, signature <const>, _, info <const> = ops.callable_parts(fn)
    return signature.python and info or nil
  end
end

function R.setattr(object, name, value)
  if internals[name] then R.refuse_internal(name) end
  local kind <const> = ops.kind(object)
  if type(object) == "function" or (kind == "callable" and R.prototype(object)) then
    local attrs <const> = R.function_attrs[object] or {}
    R.function_attrs[object] = attrs
    attrs[name] = value
    return
  end
  if kind == "class" then return R.class_setattr(object, name, value) end
  local mt <const> = getmetatable(object)
  if kind == "other" and mt.__class then return R.instance_setattr(object, mt.__class, name, value) end
  if kind == "other" and mt.__pysetattr then return mt.__pysetattr(object, name, value) end
  if kind == "module" then
    R.stop("python-unsupported", "assigning to an attribute of module '%s' is not supported", object[1])
  end
  if ops.getattr(object, name) ~= nil then
    R.raise("AttributeError", "'%s' object attribute '%s' is read-only", ops.type_name(object), name)
  end
  R.raise("AttributeError", "'%s' object has no attribute '%s'", ops.type_name(object), name)
end

-- what a callable value calls: function, self (or nil), true when self is a new object to return ------------------------

local pycall

function R.callee(object)
  local kind <const> = ops.kind(object)
  if kind == "class" then return R.class_callee(object) end
  local mt <const> = getmetatable(object)
  if mt.__class then
    local method <const> = R.class_lookup(mt.__class, "__call__")
    if method ~= nil then return method, object end
  end
  if mt.__pycall then
    pycall = pycall or R.define("call", "self / **kwargs *args", function(self, kwargs, ...)
      return getmetatable(self).__pycall(self, { ... }, kwargs)
    end)
    return pycall, object
  end
  return nil
end

-- name lookup of a module's globals ---------------------------------------------------------------------------------------

-- A module's globals raise NameError for what is neither there nor a builtin.
R.Module.__index = function(module, name)
  if type(name) ~= "string" then return nil end
  local value <const> = R.builtins[name]
  if value ~= nil then return value end
  error({ kind = "python", etype = "NameError", code = "unknown-name", message = ("name '%s' is not defined"):format(name), site = false,
    name = name, module = rawget(module, 1) })
end

return R
