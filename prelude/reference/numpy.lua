-- SPDX-License-Identifier: MIT
-- The part of NumPy that references use, over reference.core. Names, argument names and results follow NumPy 1.24;
-- arithmetic is float64 whatever the declared dtype (a reference judges the algorithm, not its own rounding).

local core <const> = require "reference.core"
local compose <const> = require "reference.compose"
local define <const> = require "reference.define"
local index <const> = require "reference.index"
local objects <const> = require "reference.objects"

local R <const> = require "python.runtime"

local raise <const> = core.raise
local is_none <const> = objects.is_none

local M <const> = {}

local Array <const> = { __pytype = "numpy.ndarray" }
local family <const> = { name = "numpy", default_float = "float64", meta = Array }
M.family = family

local dtypes <const> = define.dtypes("numpy", {
  "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint32", "uint16", "uint8",
  bool_ = "bool", float_ = "float64", double = "float64", single = "float32", half = "float16", int_ = "int64", intp = "int64", uint64 = "int64",
  float = "float64", int = "int64", bool = "bool",
}, family)

-- A tensor from anything array-like.
local function ten(x)
  if core.is_tensor(x) then return x.family == family and x or core.retag(x, family) end
  return core.from_nested(objects.nested(x), nil, family)
end

-- An operand of an elementwise function: scalars stay scalars (weak), sequences become arrays.
local function op(x)
  if core.is_scalar(x) then return x end
  return ten(x)
end

local function axes_of(axis, t, what) return core.axes(objects.axis(axis), #t.shape, what) end
local function declared_of(dtype) if is_none(dtype) then return nil end return define.dtype_name(dtype) end
local function cast_if(t, dtype) if is_none(dtype) then return t end return core.cast(t, declared_of(dtype)) end

-- out=: the result is left in the caller's array, which is returned.
local function into(out, value)
  if is_none(out) then return value end
  local t <const> = objects.is_tuple(out) and objects.sequence(out)[1] or out
  if not core.is_tensor(t) then raise("TypeError", "return arrays must be of ArrayType") end
  index.set(t, core.is_tensor(value) and core.cast(value, t.declared) or value, "e")
  return t
end

local functions <const> = {}
local function def(name, signature, fn) functions[name] = { signature = signature, fn = fn } end
local function alias(name, of) functions[name] = functions[of] end

for name, core_name in pairs({
  exp = "exp", exp2 = "exp2", expm1 = "expm1", log = "log", log2 = "log2", log10 = "log10", log1p = "log1p", sqrt = "sqrt", cbrt = "cbrt",
  square = "square", abs = "abs", absolute = "abs", fabs = "abs", negative = "negative", sign = "sign", floor = "floor", ceil = "ceil",
  trunc = "trunc", rint = "round", sin = "sin", cos = "cos", tan = "tan", arcsin = "arcsin", arccos = "arccos", arctan = "arctan",
  sinh = "sinh", cosh = "cosh", tanh = "tanh", reciprocal = "reciprocal", isnan = "isnan", isinf = "isinf", isfinite = "isfinite",
  logical_not = "logical_not", invert = "invert", bitwise_not = "invert",
}) do
  def(name, "x out=None *rest dtype=None", function(x, out, _, dtype) return into(out, cast_if(core.unary(core_name, op(x)), dtype)) end)
end
def("positive", "x", function(x) return op(x) end)

for name, core_name in pairs({
  add = "add", subtract = "subtract", multiply = "multiply", divide = "divide", true_divide = "divide", floor_divide = "floor_divide",
  remainder = "remainder", mod = "remainder", fmod = "fmod", power = "power", float_power = "power", maximum = "maximum", minimum = "minimum", fmax = "fmax",
  fmin = "fmin", arctan2 = "arctan2", hypot = "hypot", logaddexp = "logaddexp", logical_and = "logical_and", logical_or = "logical_or",
  logical_xor = "logical_xor", bitwise_and = "bitwise_and", bitwise_or = "bitwise_or", bitwise_xor = "bitwise_xor",
  left_shift = "left_shift", right_shift = "right_shift",
}) do
  def(name, "x1 x2 out=None *rest dtype=None", function(a, b, out, _, dtype)
    return into(out, cast_if(core.binary(core_name, op(a), op(b)), dtype))
  end)
end

for name, core_name in pairs({
  equal = "equal", not_equal = "not_equal", less = "less", less_equal = "less_equal", greater = "greater", greater_equal = "greater_equal",
}) do
  def(name, "x1 x2 out=None", function(a, b, out) return into(out, core.compare(core_name, op(a), op(b))) end)
end

for name, core_name in pairs({ sum = "sum", prod = "prod", max = "max", amax = "max", min = "min", amin = "min", all = "all", any = "any" }) do
  def(name, "a axis=None dtype=None out=None keepdims=False", function(a, axis, dtype, out, keepdims)
    local t <const> = ten(a)
    return into(out, cast_if(core.reduce(core_name, t, axes_of(axis, t, name), keepdims), dtype))
  end)
end
def("mean", "a axis=None dtype=None out=None keepdims=False", function(a, axis, dtype, out, keepdims)
  local t <const> = ten(a)
  return into(out, cast_if(compose.mean(t, axes_of(axis, t, "mean"), keepdims), dtype))
end)
def("average", "a axis=None weights=None keepdims=False", function(a, axis, weights, keepdims)
  local t <const> = ten(a)
  local axes <const> = axes_of(axis, t, "average")
  if is_none(weights) then return compose.mean(t, axes, keepdims) end
  local w = ten(weights)
  if #w.shape == 1 and #t.shape > 1 then
    if not axes or #axes ~= 1 then raise("TypeError", "axis must be specified when shapes of a and weights differ") end
    for _ = axes[1] + 1, #t.shape - 1 do w = core.expand(w, #w.shape) end
    w = core.broadcast_to(w, t.shape)
  end
  return core.binary("divide", core.reduce("sum", core.binary("multiply", t, w), axes, keepdims), core.reduce("sum", w, axes, keepdims))
end)
def("ptp", "a axis=None out=None keepdims=False", function(a, axis, out, keepdims)
  local t <const> = ten(a)
  local axes <const> = axes_of(axis, t, "ptp")
  return into(out, core.binary("subtract", core.reduce("max", t, axes, keepdims), core.reduce("min", t, axes, keepdims)))
end)
def("count_nonzero", "a axis=None keepdims=False", function(a, axis, keepdims)
  local t = ten(a)
  if t.dtype ~= "bool" then t = core.compare("not_equal", t, 0) end
  return core.reduce("sum", t, axes_of(axis, t, "count_nonzero"), keepdims)
end)
for name, fn in pairs({ var = compose.variance, std = compose.deviation }) do
  def(name, "a axis=None dtype=None out=None ddof=0 keepdims=False", function(a, axis, dtype, out, ddof, keepdims)
    local t <const> = ten(a)
    return into(out, cast_if(fn(t, axes_of(axis, t, name), keepdims, ddof), dtype))
  end)
end
for _, name in ipairs({ "argmax", "argmin" }) do
  def(name, "a axis=None out=None keepdims=False", function(a, axis, _, keepdims)
    local t <const> = ten(a)
    local axes <const> = axes_of(axis, t, name)
    return core.arg_reduce(name, t, axes and axes[1], keepdims)
  end)
end
for name, core_name in pairs({ cumsum = "add", cumprod = "multiply" }) do
  def(name, "a axis=None dtype=None", function(a, axis, dtype)
    local t = ten(a)
    local axes = axes_of(axis, t, name)
    if axes == nil then
      t = core.reshape(t, { core.count(t.shape) })
      axes = { 0 }
    end
    return cast_if(core.cumulative(core_name, t, axes[1]), dtype)
  end)
end

def("clip", "a a_min=None a_max=None out=None *rest min=None max=None", function(a, low, high, out, _, least, most)
  if is_none(low) then low = least end
  if is_none(high) then high = most end
  return into(out, compose.clip(op(a), not is_none(low) and op(low) or nil, not is_none(high) and op(high) or nil))
end)
def("heaviside", "x1 x2", function(x, at_zero)
  local t <const> = op(x)
  return core.where(core.compare("equal", t, 0), op(at_zero), core.where(core.compare("greater", t, 0), 1.0, 0.0))
end)
def("diff", "a n=1 axis=-1", function(a, n, axis)
  local t = ten(a)
  local at <const> = core.axes(axis, #t.shape, "diff")[1]
  for _ = 1, core.number(n, "an order") do
    local extent <const> = t.shape[at + 1]
    if extent == 0 then break end
    t = core.binary("subtract", core.slice(t, at, 1, extent - 1, 1), core.slice(t, at, 0, extent - 1, 1))
  end
  return t
end)
def("sinc", "x", function(x)
  local t <const> = core.binary("multiply", op(x), math.pi)
  local zero <const> = core.compare("equal", t, 0.0)
  return core.where(zero, 1.0, core.binary("divide", core.unary("sin", t), core.where(zero, 1.0, t)))
end)
def("deg2rad", "x", function(x) return core.binary("multiply", op(x), math.pi / 180) end)
alias("radians", "deg2rad")
def("rad2deg", "x", function(x) return core.binary("multiply", op(x), 180 / math.pi) end)
alias("degrees", "rad2deg")
def("copysign", "x1 x2", function(a, b)
  return core.binary("multiply", core.unary("abs", op(a)), core.where(core.compare("less", op(b), 0), -1.0, 1.0))
end)
def("copyto", "dst src", function(t, value) index.set(t, core.is_scalar(value) and value or ten(value), "e") return objects.none end)
def("where", "condition x=None y=None", function(c, x, y)
  if is_none(x) then raise("NotImplementedError", "where with one argument has a shape that depends on data") end
  return core.where(op(c), op(x), op(y))
end)
for _, name in ipairs({ "round", "around", "round_" }) do
  def(name, "a decimals=0", function(x, decimals)
    local places <const> = core.number(decimals)
    if places == 0 then return core.unary("round", op(x)) end
    return core.binary("divide", core.unary("round", core.binary("multiply", op(x), 10.0 ^ places)), 10.0 ^ places)
  end)
end
def("nan_to_num", "x nan=0.0", function(x, value)
  local t <const> = op(x)
  return core.where(core.unary("isnan", t), value, t)
end)

def("matmul", "x1 x2", function(a, b) return core.matmul(ten(a), ten(b)) end)
def("dot", "a b", function(a, b)
  local x <const>, y <const> = op(a), op(b)
  if core.is_scalar(x) or core.is_scalar(y) or #x.shape == 0 or #y.shape == 0 then return core.binary("multiply", x, y) end
  if #y.shape > 2 then raise("NotImplementedError", "dot with an operand of more than two dimensions; use matmul") end
  local out <const> = core.matmul(x, y)
  return out
end)
def("outer", "a b", function(a, b)
  local x <const>, y <const> = ten(a), ten(b)
  return core.binary("multiply", core.reshape(x, { core.count(x.shape), 1 }), core.reshape(y, { 1, core.count(y.shape) }))
end)
def("einsum", "subscripts *operands", function(spec, operands)
  local list <const> = {}
  for i, x in ipairs(operands) do list[i] = ten(x) end
  return compose.einsum(spec, list)
end)

def("transpose", "a axes=None", function(a, axes) return core.transpose(ten(a), objects.axis(axes)) end)
alias("permute_dims", "transpose")
def("swapaxes", "a axis1 axis2", function(a, x, y) return compose.swap(ten(a), x, y) end)
def("moveaxis", "a source destination", function(a, source, destination)
  local t <const> = ten(a)
  local rank <const> = #t.shape
  source, destination = core.axes(source, rank, "moveaxis")[1], core.axes(destination, rank, "moveaxis")[1]
  local order <const> = {}
  for i = 0, rank - 1 do if i ~= source then order[#order + 1] = i end end
  table.insert(order, destination + 1, source)
  return core.transpose(t, order)
end)
def("reshape", "a newshape", function(a, shape) return core.reshape(ten(a), objects.shape(shape)) end)
def("ravel", "a", function(a) return core.reshape(ten(a), { -1 }) end)
def("expand_dims", "a axis", function(a, axis)
  local t = ten(a)
  for _, x in ipairs(objects.list(axis)) do t = core.expand(t, x) end
  return t
end)
def("squeeze", "a axis=None", function(a, axis)
  local t = ten(a)
  local axes <const> = axes_of(axis, t, "squeeze")
  for i = #t.shape, 1, -1 do
    local wanted = axes == nil and t.shape[i] == 1
    for _, x in ipairs(axes or {}) do wanted = wanted or x == i - 1 end
    if wanted then t = core.squeeze(t, i - 1) end
  end
  return t
end)
local function tensors(list)
  local out <const> = {}
  for i, x in ipairs(objects.list(list)) do out[i] = ten(x) end
  return out
end
def("concatenate", "arrays axis=0", function(list, axis) return core.concat(tensors(list), axis) end)
alias("concat", "concatenate")
def("stack", "arrays axis=0", function(list, axis) return compose.stack(tensors(list), axis) end)
def("hstack", "tup", function(list)
  local all <const> = tensors(list)
  return core.concat(all, #all[1].shape == 1 and 0 or 1)
end)
def("vstack", "tup", function(list)
  local all <const> = tensors(list)
  for i, t in ipairs(all) do if #t.shape == 1 then all[i] = core.expand(t, 0) end end
  return core.concat(all, 0)
end)
def("split", "ary indices_or_sections axis=0", function(a, sections, axis)
  local t <const> = ten(a)
  axis = core.axes(axis, #t.shape, "split")[1]
  local extent <const>, sizes <const> = t.shape[axis + 1], {}
  if core.is_scalar(sections) then
    local n <const> = core.number(sections)
    if n <= 0 or extent % n ~= 0 then raise("ValueError", "array split does not result in an equal division") end
    for i = 1, n do sizes[i] = extent // n end
  else
    local last = 0
    for _, at in ipairs(objects.list(sections)) do
      sizes[#sizes + 1] = at - last
      last = at
    end
    sizes[#sizes + 1] = extent - last
  end
  return objects.py_list(compose.split_sizes(t, sizes, axis))
end)
def("array_split", "ary indices_or_sections axis=0", function(a, sections, axis)
  local t <const> = ten(a)
  axis = core.axes(axis, #t.shape, "array_split")[1]
  return objects.py_list(compose.split_sizes(t, compose.sections(t.shape[axis + 1], core.is_scalar(sections) and core.number(sections)
    or objects.list(sections)), axis))
end)
def("broadcast_to", "array shape", function(a, shape)
  local sizes <const> = objects.shape(shape)
  for i, s in ipairs(sizes) do sizes[i] = core.number(s, nil) end
  return core.broadcast_to(ten(a), sizes)
end)
def("repeat", "a repeats axis=None", function(a, repeats, axis)
  local t = ten(a)
  if is_none(axis) then t, axis = core.reshape(t, { -1 }), 0 end
  axis = core.axes(axis, #t.shape, "repeat")[1]
  local wide <const> = core.expand(t, axis + 1)
  local shape <const>, merged <const> = { table.unpack(wide.shape) }, { table.unpack(t.shape) }
  shape[axis + 2] = core.number(repeats)
  merged[axis + 1] = merged[axis + 1] * core.number(repeats)
  return core.reshape(core.broadcast_to(wide, shape), merged)
end)
def("tile", "A reps", function(a, reps)
  local t = ten(a)
  local list <const> = objects.list(reps)
  while #list > #t.shape do t = core.expand(t, 0) end
  while #list < #t.shape do table.insert(list, 1, 1) end
  for axis, n in ipairs(list) do
    local copies <const> = {}
    for i = 1, core.number(n) do copies[i] = t end
    t = core.concat(copies, axis - 1)
  end
  return t
end)
def("flip", "m axis=None", function(a, axis)
  local t = ten(a)
  for _, x in ipairs(axes_of(axis, t, "flip") or (function() local all <const> = {} for i = 1, #t.shape do all[i] = i - 1 end return all end)()) do
    t = core.slice(t, x, t.shape[x + 1] - 1, t.shape[x + 1], -1)
  end
  return t
end)
def("roll", "a shift axis", function(a, shift, axis)
  local t <const> = ten(a)
  axis = core.axes(axis, #t.shape, "roll")[1]
  local extent <const> = t.shape[axis + 1]
  local k <const> = core.number(shift) % math.max(extent, 1)
  if k == 0 then return t end
  return core.concat({ core.slice(t, axis, extent - k, k, 1), core.slice(t, axis, 0, extent - k, 1) }, axis)
end)
def("pad", "array pad_width mode='constant' constant_values=0", function(a, width, mode, value)
  if mode ~= "constant" then raise("NotImplementedError", "pad with mode %q", tostring(mode)) end
  local t = ten(a)
  local pairs_of <const> = {}
  local list <const> = objects.nested(width)
  for i = 1, #t.shape do
    local entry <const> = type(list) == "table" and (type(list[1]) == "table" and (list[i] or list[1]) or list) or list
    pairs_of[i] = type(entry) == "table" and { entry[1], entry[2] or entry[1] } or { entry, entry }
  end
  for i, both in ipairs(pairs_of) do
    local pieces <const> = {}
    local function edge(n)
      if n == 0 then return end
      local shape <const> = { table.unpack(t.shape) }
      shape[i] = n
      pieces[#pieces + 1] = core.cast(core.full(shape, value, t.declared, family), t.declared)
    end
    edge(both[1])
    pieces[#pieces + 1] = t
    edge(both[2])
    if #pieces > 1 then t = core.concat(pieces, i - 1) end
  end
  return t
end)
def("tril", "m k=0", function(a, k) return compose.triangle(ten(a), k, true) end)
def("triu", "m k=0", function(a, k) return compose.triangle(ten(a), k, false) end)
def("take", "a indices axis=None", function(a, indices, axis)
  local t = ten(a)
  if is_none(axis) then t, axis = core.reshape(t, { -1 }), 0 end
  axis = core.axes(axis, #t.shape, "take")[1]
  local fmt = {}
  for i = 1, axis do fmt[i] = "s" end
  local values <const> = {}
  for i = 1, 3 * axis do values[i] = objects.none end
  values[#values + 1] = core.is_scalar(indices) and indices or ten(indices)
  return index.get(t, table.concat(fmt) .. "i", table.unpack(values))
end)

local function creation(name, value)
  def(name, "shape dtype=None", function(shape, dtype) return core.full(objects.shape(shape), value, declared_of(dtype) or "float64", family) end)
  def(name .. "_like", "a dtype=None", function(a, dtype)
    local t <const> = ten(a)
    return core.full(t.shape, value, declared_of(dtype) or t.declared, family)
  end)
end
creation("zeros", 0)
creation("ones", 1)
creation("empty", 0)
def("full", "shape fill_value dtype=None", function(shape, value, dtype)
  local filler <const> = op(value)
  local declared <const> = declared_of(dtype) or (core.is_tensor(filler) and filler.declared)
    or (math.type(core.number(filler)) == "integer" and "int64") or (type(core.number(filler)) == "boolean" and "bool") or "float64"
  if core.is_tensor(filler) then return core.broadcast_to(core.cast(filler, declared), objects.shape(shape)) end
  return core.full(objects.shape(shape), filler, declared, family)
end)
def("full_like", "a fill_value dtype=None", function(a, value, dtype)
  local t <const> = ten(a)
  return core.full(t.shape, value, declared_of(dtype) or t.declared, family)
end)
def("arange", "start stop=None step=1 dtype=None", function(start, stop, step, dtype)
  if is_none(stop) then start, stop = 0, start end
  local float <const> = math.type(core.number(start)) == "float" or math.type(core.number(stop)) == "float" or math.type(core.number(step)) == "float"
  return core.arange(start, stop, step, declared_of(dtype) or (float and "float64" or "int64"), family)
end)
def("linspace", "start stop num=50", function(start, stop, n)
  local steps <const> = core.arange(0, n, 1, "float64", family)
  return core.binary("add", core.binary("multiply", steps, (core.number(stop) - core.number(start)) / math.max(1, core.number(n) - 1)), core.number(start))
end)
def("eye", "N M=None k=0 dtype=None", function(n, m, k, dtype) return compose.eye(n, is_none(m) and n or m, k, declared_of(dtype) or "float64", family) end)
def("identity", "n dtype=None", function(n, dtype) return compose.eye(n, n, 0, declared_of(dtype) or "float64", family) end)
def("tri", "N M=None k=0", function(n, m, k)
  return compose.triangle(core.full({ n, is_none(m) and n or m }, 1.0, "float64", family), k, true)
end)
for _, name in ipairs({ "array", "asarray", "ascontiguousarray", "asanyarray" }) do
  def(name, "object dtype=None", function(x, dtype)
    local t <const> = core.from_nested(objects.nested(x), nil, family)
    local made <const> = cast_if(t, dtype)
    if name == "array" and made == x then return core.copy(made) end
    return made
  end)
end
-- fn on each row along the axis, and the results joined.
def("apply_along_axis", "func1d axis arr *args", function(fn, axis, a, args)
  local t = ten(a)
  axis = core.axes(axis, #t.shape, "apply_along_axis")[1]
  local rank <const> = #t.shape
  if axis ~= rank - 1 then
    local order <const> = {}
    for i = 0, rank - 1 do if i ~= axis then order[#order + 1] = i end end
    order[#order + 1] = axis
    t = core.transpose(t, order)
  end
  local lead <const> = { table.unpack(t.shape, 1, rank - 1) }
  local rows <const>, results <const> = core.reshape(t, { core.count(lead), t.shape[rank] }), {}
  for i = 0, rows.shape[1] - 1 do
    results[i + 1] = ten(R.call(fn, core.select(rows, 0, i), table.unpack(args)))
  end
  local joined <const> = compose.stack(results, 0)
  local shape <const> = { table.unpack(lead) }
  for i = 2, #joined.shape do shape[#shape + 1] = joined.shape[i] end
  local out <const> = core.reshape(joined, shape)
  if axis == rank - 1 or #out.shape ~= rank then return out end
  local back <const> = {}
  for i = 0, rank - 2 do back[#back + 1] = i end
  table.insert(back, axis + 1, rank - 1)
  return core.transpose(out, back)
end)
def("copy", "a", function(a) return core.copy(ten(a)) end)
def("shape", "a", function(a) return objects.shape_tuple(ten(a)) end)
def("ndim", "a", function(a) return #ten(a).shape end)
def("size", "a", function(a) return core.count(ten(a).shape) end)
def("isscalar", "element", function(x) return core.is_scalar(x) end)
def("astype", "x dtype", function(x, dtype) return cast_if(ten(x), dtype) end)
def("allclose", "a b rtol=1e-05 atol=1e-08", function(a, b, rtol, atol)
  local x <const>, y <const> = op(a), op(b)
  local gap <const> = core.unary("abs", core.binary("subtract", x, y))
  local room <const> = core.binary("add", atol, core.binary("multiply", rtol, core.unary("abs", y)))
  local inside <const> = core.compare("less_equal", gap, room)
  if core.is_tensor(inside) then return core.reduce("all", inside, nil, false) end
  return inside
end)

-- Methods: the function of the same name with the array first, and a few of their own.
local methods <const> = {}
for _, name in ipairs({
  "sum", "prod", "max", "min", "all", "any", "mean", "var", "std", "argmax", "argmin", "cumsum", "cumprod", "clip", "dot", "swapaxes",
    "squeeze", "ravel", "copy", "repeat", "take", "ptp",
}) do
  methods[name] = functions[name]
end
methods.flatten = functions.ravel
methods.astype = { signature = "self dtype order='K' casting='unsafe' subok=True copy=True", fn = function(t, dtype, _, _, _, copy)
  local made <const> = core.cast(t, define.dtype_name(dtype))
  return made == t and copy and core.copy(t) or made
end }
methods.reshape = { signature = "self *shape", fn = function(t, shape) return core.reshape(t, objects.spread(shape)) end }
methods.transpose = { signature = "self *axes", fn = function(t, axes)
  local list <const> = objects.spread(axes)
  return core.transpose(t, #list > 0 and list or nil)
end }
methods.item = { signature = "self", fn = function(t) return core.item(t) end }
methods.fill = { signature = "self value", fn = function(t, value) index.set(t, value, "e") return objects.none end }
methods.tolist = { signature = "self", fn = function(t) return objects.to_list(core.need_value(t, "tolist")) end }
methods.round = functions.round
methods.view = { signature = "self dtype=None", fn = function() raise("NotImplementedError",
  "ndarray.view(dtype) reinterprets bits; a reference computes on values") end }

local attributes <const> = {
  shape = objects.shape_tuple,
  ndim = function(t) return #t.shape end,
  size = function(t) return core.count(t.shape) end,
  dtype = function(t) return dtypes[t.declared] end,
  T = function(t) return core.transpose(t, nil) end,
  real = function(t) return t end,
}

define.protocol(Array, { methods = methods, attributes = attributes, index = index, operand = op })

-- The module object the resolver hands out for `numpy` (and `import numpy as np`).
function M.module()
  local attrs <const> = define.natives("numpy", functions)
  for name, reduction in pairs({ add = "sum", multiply = "prod", maximum = "max", minimum = "min", logical_and = "all", logical_or = "any" }) do
    attrs[name] = define.ufunc(attrs[name], name, define.native("numpy." .. name .. ".reduce", "array axis=0 dtype=None out=None keepdims=False",
      functions[reduction].fn), (name == "add" or name == "multiply") and define.native("numpy." .. name .. ".accumulate", "array axis=0",
      functions[name == "add" and "cumsum" or "cumprod"].fn) or nil)
  end
  for name, value in pairs(dtypes.names) do attrs[name] = value end
  attrs.pi, attrs.e, attrs.inf, attrs.nan, attrs.euler_gamma = math.pi, math.exp(1), math.huge, 0.0 / 0.0 * -1.0, 0.57721566490153286
  attrs.newaxis = objects.none
  attrs.ndarray = define.type_marker("numpy.ndarray", Array)
  attrs.finfo = define.native("numpy.finfo", "dtype", function(dtype) return define.finfo(define.dtype_name(dtype)) end)
  attrs.iinfo = define.native("numpy.iinfo", "dtype", function(dtype) return define.iinfo(define.dtype_name(dtype)) end)
  attrs.linalg = define.module("numpy.linalg", define.natives("numpy.linalg", {
    norm = { signature = "x ord=None axis=None keepdims=False", fn = function(x, ord, axis, keepdims)
      local t <const> = ten(x)
      return compose.norm(t, axes_of(axis, t, "norm"), keepdims, not is_none(ord) and ord or 2)
    end },
  }))
  return define.module("numpy", attrs)
end

-- scipy.special: the few functions that references take from it.
function M.special_module()
  return define.module("scipy.special", define.natives("scipy.special", {
    erf = { signature = "x", fn = function(x) return core.unary("erf", op(x)) end },
    expit = { signature = "x", fn = function(x) return compose.sigmoid(op(x)) end },
    softmax = { signature = "x axis=None", fn = function(x, axis)
      local t <const> = ten(x)
      return compose.softmax(t, axes_of(axis, t, "softmax"))
    end },
    log_softmax = { signature = "x axis=None", fn = function(x, axis)
      local t <const> = ten(x)
      return compose.log_softmax(t, axes_of(axis, t, "log_softmax"))
    end },
    logsumexp = { signature = "a axis=None keepdims=False", fn = function(x, axis, keepdims)
      local t <const> = ten(x)
      local axes = axes_of(axis, t, "logsumexp")
      if axes == nil then axes = {} for i = 1, #t.shape do axes[i] = i - 1 end end
      return compose.logsumexp(t, axes, keepdims)
    end },
  }))
end

return M
