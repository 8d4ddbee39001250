-- SPDX-License-Identifier: MIT
-- How the reference library presents itself to Python: functions from one-line signatures, dtype objects, and the
-- protocol (operators, attributes, subscripts) of its arrays.

local R <const> = require "python.runtime"
local core <const> = require "reference.core"
local objects <const> = require "reference.objects"

local M <const> = {}

local function literal(text)
  if text == "None" then return R.None end
  if text == "True" then return true end
  if text == "False" then return false end
  local quoted <const> = text:match("^'(.*)'$")
  if quoted then return quoted end
  return math.tointeger(tonumber(text)) and not text:find("[%.e]") and math.tointeger(tonumber(text)) or tonumber(text)
end

-- A native function from "a b=0 *rest c=None". The Lua function gets its arguments in that order, *rest as a list.
function M.native(name, signature, fn)
  local params <const>, defaults <const> = {}, {}
  local required, star_at, keyword_only = 0, nil, 0
  for word in signature:gmatch("%S+") do
    local rest <const> = word:match("^%*(.+)$")
    if rest then
      star_at = #params
    else
      local plain <const>, default <const> = word:match("^([^=]+)=?(.*)$")
      params[#params + 1] = plain
      if default ~= "" then defaults[plain] = literal(default) elseif not star_at then required = #params end
      if star_at then keyword_only = keyword_only + 1 end
    end
  end
  local total <const> = #params
  local call = fn
  if star_at then
    call = function(...)
      local args <const> = table.pack(...)
      local rest <const> = {}
      for i = total + 1, args.n do rest[#rest + 1] = args[i] end
      local ordered <const> = {}
      for i = 1, star_at do ordered[i] = args[i] end
      ordered[star_at + 1] = rest
      for i = star_at + 1, total do ordered[i + 1] = args[i] end
      return fn(table.unpack(ordered, 1, total + 1))
    end
  end
  return R.native({ name = name, params = params, required = required, defaults = defaults, varargs = star_at ~= nil, kwonly = keyword_only, fn = call })
end

function M.natives(prefix, functions)
  local out <const> = {}
  for name, entry in pairs(functions) do out[name] = M.native(prefix .. "." .. name, entry.signature, entry.fn) end
  return out
end

-- A module; a name it lacks is an AttributeError that names the module.
function M.module(name, attrs)
  if attrs.__name__ == nil then attrs.__name__ = name end
  return R.module({ name = name, attrs = attrs })
end

-- A function that has methods of its own, as np.add.reduce.
local Ufunc <const> = { __pytype = "numpy.ufunc" }
function Ufunc.__pycall(self, args, kwargs) return R.call_spread(self.fn, args, kwargs) end
function Ufunc.__pygetattr(self, name)
  if name == "reduce" then return self.reduce end
  if name == "accumulate" then return self.accumulate end
  if name == "__name__" then return self.name end
  return nil
end
function Ufunc.__pyrepr(self) return "<ufunc '" .. self.name .. "'>" end
function M.ufunc(fn, name, reduce, accumulate) return setmetatable({ fn = fn, name = name, reduce = reduce, accumulate = accumulate }, Ufunc) end

-- Dtypes ------------------------------------------------------------------------------------------------------------------

local Dtype <const> = { __pytype = "dtype" }
Dtype.__tostring = function(self) return self.shown end
function Dtype.__pyrepr(self) return self.shown end
function Dtype.__pycompare(op, a, b)
  local function name_of(x)
    if type(x) == "table" and x.dtype_name then return x.dtype_name end
    if type(x) == "string" then return x end
    return nil
  end
  local same <const> = name_of(a) ~= nil and name_of(a) == name_of(b)
  if op == "Eq" then return same end
  if op == "NotEq" then return not same end
  return nil
end
function Dtype.__pygetattr(self, name)
  if name == "name" then return self.dtype_name end
  if name == "itemsize" then return ({ float64 = 8, int64 = 8, float32 = 4, int32 = 4, uint32 = 4, float16 = 2, bfloat16 = 2, int16 = 2,
    uint16 = 2 })[self.dtype_name] or 1 end
  if name == "is_floating_point" then return core.storage_dtype(self.dtype_name) == "float64" end
  return nil
end
-- np.float32(x) converts.
function Dtype.__pycall(self, args)
  local x <const> = objects.nested(args[1])
  if core.is_tensor(x) then return core.cast(x, self.dtype_name) end
  if type(x) == "table" and not x.is_scalar then return core.from_nested(x, self.dtype_name, self.family) end
  if core.is_symbolic(x) and core.storage_dtype(self.dtype_name) == "float64" then return x end
  return core.cast(x, self.dtype_name)
end

-- rows: list of names (each its own dtype) and name = dtype aliases. The result indexes by dtype and has `names`.
function M.dtypes(prefix, rows, family)
  local out <const> = { names = {} }
  local function get(dtype)
    if not out[dtype] then
      out[dtype] = setmetatable({ dtype_name = dtype, shown = prefix .. "." .. dtype, family = family }, Dtype)
    end
    return out[dtype]
  end
  for key, dtype in pairs(rows) do out.names[type(key) == "number" and dtype or key] = get(dtype) end
  return out
end

function M.is_dtype(x) return type(x) == "table" and getmetatable(x) == Dtype end

local spelled <const> = {
  float = "float64", int = "int64", bool = "bool", f4 = "float32", f2 = "float16", f8 = "float64", i4 = "int32", i8 = "int64",
}
local known <const> = {}
local KNOWN <const> = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint32 uint16 uint8 bool float8_e4m3 float8_e4m3fn float8_e5m2"
for name in KNOWN:gmatch("%S+") do known[name] = true end

-- The NKI name of a dtype argument: a dtype object, a string, or Python's float, int, bool.
function M.dtype_name(x)
  if M.is_dtype(x) then return x.dtype_name end
  local name = x
  if type(x) ~= "string" then
    local ok <const>, got <const> = pcall(R.getattr, x, "__name__")
    name = ok and got or R.type_name(x)
  end
  if type(name) == "string" then
    name = name:gsub("^torch%.", ""):gsub("^numpy%.", "")
    if known[name] then return name end
    if spelled[name] then return spelled[name] end
  end
  core.raise("TypeError", "%s is not a dtype this reference can use", tostring(name))
end

-- Limits ------------------------------------------------------------------------------------------------------------------

local float_limits <const> = { -- eps, max, smallest normal (IEEE 754; bfloat16: 8 exponent bits, 7 fraction bits)
  float64 = { 2.0 ^ -52, 1.7976931348623157e308, 2.0 ^ -1022 },
  float32 = { 2.0 ^ -23, (2 - 2.0 ^ -23) * 2.0 ^ 127, 2.0 ^ -126 },
  float16 = { 2.0 ^ -10, 65504.0, 2.0 ^ -14 },
  bfloat16 = { 2.0 ^ -7, (2 - 2.0 ^ -7) * 2.0 ^ 127, 2.0 ^ -126 },
}
local Info <const> = { __pytype = "finfo" }
function Info.__pygetattr(self, name) return self.values[name] end

function M.epsilon(dtype) return (float_limits[dtype] or float_limits.float32)[1] end

function M.finfo(dtype)
  local row <const> = float_limits[dtype]
  if not row then core.raise("ValueError", "finfo of %s", dtype) end
  return setmetatable({ values = { eps = row[1], max = row[2], min = -row[2], tiny = row[3], smallest_normal = row[3], resolution = row[1] } }, Info)
end

function M.iinfo(dtype)
  local bits <const> = tonumber(dtype:match("(%d+)$")) or 8
  local signed <const> = dtype:sub(1, 1) ~= "u"
  if bits == 64 then return setmetatable({ values = { max = math.maxinteger, min = math.mininteger, bits = 64 } }, Info) end
  local high <const> = signed and (1 << (bits - 1)) - 1 or (1 << bits) - 1
  return setmetatable({ values = { max = high, min = signed and -(1 << (bits - 1)) or 0, bits = bits } }, Info)
end

-- A class object that only serves isinstance and annotations.
function M.type_marker(name, meta)
  return setmetatable({ marker = meta }, { __pytype = "type", __pyrepr = function() return "<class '" .. name .. "'>" end,
    __pyinstancecheck = function(_, x) return type(x) == "table" and getmetatable(x) == meta end,
    __pygetattr = function(_, attr) if attr == "__name__" then return name:match("[^.]+$") end return nil end })
end

-- Protocol of an array class ------------------------------------------------------------------------------------------------

local binary_names <const>, compare_names <const> = core.binary_names, core.compare_names

-- spec: {methods = {name = {signature, fn}}, attributes = {name = fn(t)}, index = {get, set}, operand = fn}
function M.protocol(meta, spec)
  local natives <const> = {}
  core.lazy(meta)
  function meta.__pygetattr(t, name)
    local attribute <const> = spec.attributes[name]
    if attribute then return attribute(t) end
    local entry <const> = spec.methods[name]
    if not entry then return nil end
    natives[name] = natives[name] or M.native(meta.__pytype .. "." .. name, entry.signature, entry.fn)
    return R.bound(t, natives[name])
  end
  -- x.data = y writes into x.
  function meta.__pysetattr(t, name, value)
    if name ~= "data" then core.raise("AttributeError", "attribute '%s' of '%s' objects cannot be set here", name, meta.__pytype) end
    spec.index.set(t, core.is_tensor(value) and core.cast(value, t.declared) or value, "e")
  end
  function meta.__subscript(t, fmt, ...) return spec.index.get(t, fmt, ...) end
  function meta.__setsubscript(t, value, fmt, ...) return spec.index.set(t, value, fmt, ...) end
  function meta.__pybinop(op, a, b)
    local ok_a <const> = core.is_scalar(a) or core.is_tensor(a) or objects.sequence(a)
    local ok_b <const> = core.is_scalar(b) or core.is_tensor(b) or objects.sequence(b)
    if not ok_a or not ok_b then return nil end
    local name = binary_names[op]
    if name == nil then return nil end
    a, b = spec.operand(a), spec.operand(b)
    if name == "matmul" then return core.matmul(a, b) end
    local boolean <const> = core.is_tensor(a) and a.dtype == "bool" or (core.is_tensor(b) and b.dtype == "bool")
    if boolean and name:find("^bitwise_") then name = name:gsub("^bitwise_", "logical_") end
    return core.binary(name, a, b)
  end
  -- `a op= b` changes the array, and so everything that shares its memory.
  function meta.__pyibinop(op, a, b)
    if not core.is_tensor(a) then return nil end
    local made <const> = meta.__pybinop(op, a, b)
    if made == nil then return nil end
    if core.shape_text(made.shape) ~= core.shape_text(a.shape) then
      core.raise("ValueError", "non-broadcastable output operand with shape %s doesn't match the broadcast shape %s", core.shape_text(a.shape),
        core.shape_text(made.shape))
    end
    if made.dtype == "float64" and a.dtype ~= "float64" then
      core.raise("TypeError", "the result of an in-place operation on %s is %s; use astype", a.declared, made.declared)
    end
    spec.index.set(a, core.cast(made, a.declared), "e")
    return a
  end
  function meta.__pycompare(op, a, b)
    local name <const> = compare_names[op]
    if name == nil then return nil end
    if not ((core.is_scalar(a) or core.is_tensor(a)) and (core.is_scalar(b) or core.is_tensor(b))) then
      if op == "Eq" then return false end
      if op == "NotEq" then return true end
      return nil
    end
    return core.compare(name, spec.operand(a), spec.operand(b))
  end
  function meta.__pyunop(op, t)
    if op == "USub" then return core.unary("negative", t) end
    if op == "UAdd" then return t end
    if op == "Invert" then return core.unary(t.dtype == "bool" and "logical_not" or "invert", t) end
    return nil
  end
  local function lone(t, what)
    if core.count(t.shape) ~= 1 then
      core.raise("ValueError", "the truth value of an array with more than one element is ambiguous; use any() or all()")
    end
    if not t.value then core.raise("TypeError", "%s depends on the data of an array, which is not known while the reference is traced; use where()", what) end
    return t.value:item()
  end
  function meta.__pytruth(t)
    local v <const> = lone(t, "this condition")
    return v ~= 0 and v ~= false
  end
  function meta.__pylen(t)
    if #t.shape == 0 then core.raise("TypeError", "len() of unsized object") end
    return t.shape[1]
  end
  function meta.__pyiter(t)
    if #t.shape == 0 then core.raise("TypeError", "iteration over a 0-d array") end
    local i = -1
    return function()
      i = i + 1
      if i >= t.shape[1] then return nil end
      return core.select(t, 0, i)
    end
  end
  function meta.__pyfloat(t) return lone(t, "float()") + 0.0 end
  function meta.__pyint(t) return math.tointeger(lone(t, "int()") // 1) end
  function meta.__pyindex(t)
    local v <const> = lone(t, "an index")
    if math.type(v) ~= "integer" then core.raise("TypeError", "only integer arrays can be an index") end
    return v
  end
  function meta.__pyabs(t) return core.unary("abs", t) end
  function meta.__pyrepr(t) return ("<%s of shape %s, %s>"):format(meta.__pytype, core.shape_text(t.shape), t.declared) end
  meta.__tostring = meta.__pyrepr
end

return M
