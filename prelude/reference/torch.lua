-- SPDX-License-Identifier: MIT
-- The part of PyTorch that references use, over reference.core: torch functions, Tensor methods, torch.nn.functional,
-- and enough of torch.nn for a module's forward. Names and argument names follow PyTorch 2; arithmetic is float64.

local core <const> = require "reference.core"
local compose <const> = require "reference.compose"
local define <const> = require "reference.define"
local index <const> = require "reference.index"
local objects <const> = require "reference.objects"

local raise <const> = core.raise
local is_none <const> = objects.is_none

local M <const> = {}

local Tensor <const> = { __pytype = "torch.Tensor" }
local family <const> = { name = "torch", default_float = "float32", meta = Tensor }
M.family = family

local dtypes <const> = define.dtypes("torch", {
  "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
  "bool", double = "float64", float = "float32", half = "float16", long = "int64", int = "int32", short = "int16",
  float8_e4m3fn = "float8_e4m3fn", float8_e5m2 = "float8_e5m2",
}, family)

local function ten(x)
  if core.is_tensor(x) then return x.family == family and x or core.retag(x, family) end
  return core.from_nested(objects.nested(x), nil, family)
end
local function op(x)
  if core.is_scalar(x) then return x end
  return ten(x)
end
local function axes_of(axis, t, what) return core.axes(objects.axis(axis), #t.shape, what) end
local function declared_of(dtype) if is_none(dtype) then return nil end return define.dtype_name(dtype) end
local function cast_if(t, dtype) if is_none(dtype) then return t end return core.cast(t, declared_of(dtype)) end

local functions <const>, methods <const> = {}, {}
-- Define a function; unless `only` says otherwise it is a Tensor method too.
local function def(name, signature, fn, only)
  -- PyTorch takes NumPy's names too: axis for dim, keepdims for keepdim.
  local words <const>, dim, keep = {}, nil, nil
  for word in signature:gmatch("%S+") do
    words[#words + 1] = word
    if word:find("^dim=?") then dim = #words end
    if word:find("^keepdim=") then keep = #words end
  end
  if dim and not signature:find("*", 1, true) then
    local plain <const>, n <const> = fn, #words
    signature = signature:gsub("%f[%w]dim%f[%s]", "dim=None"):gsub("%f[%w]dim$", "dim=None") .. " axis=None" .. (keep and " keepdims=None" or "")
    fn = function(...)
      local args <const> = table.pack(...)
      if not is_none(args[n + 1]) then args[dim] = args[n + 1] end
      if keep and not is_none(args[n + 2]) then args[keep] = args[n + 2] end
      return plain(table.unpack(args, 1, n))
    end
  end
  local entry <const> = { signature = signature, fn = fn }
  if only ~= "method" then functions[name] = entry end
  if only ~= "function" then methods[name] = entry end
end

for name, core_name in pairs({
  exp = "exp", exp2 = "exp2", expm1 = "expm1", log = "log", log2 = "log2", log10 = "log10", log1p = "log1p", sqrt = "sqrt", rsqrt = "rsqrt",
  square = "square", abs = "abs", absolute = "abs", neg = "negative", negative = "negative", sign = "sign", floor = "floor", ceil = "ceil",
  trunc = "trunc", round = "round", sin = "sin", cos = "cos", tan = "tan", asin = "arcsin", acos = "arccos", atan = "arctan", sinh = "sinh",
  cosh = "cosh", tanh = "tanh", reciprocal = "reciprocal", isnan = "isnan", isinf = "isinf", isfinite = "isfinite", logical_not = "logical_not",
  erf = "erf", bitwise_not = "invert",
}) do
  def(name, "input", function(x) return core.unary(core_name, ten(x)) end)
end
def("sigmoid", "input", function(x) return compose.sigmoid(ten(x)) end)
def("relu", "input", function(x) return compose.relu(ten(x)) end)

-- alpha scales the second operand of add and sub.
for name, core_name in pairs({ add = "add", sub = "subtract", subtract = "subtract" }) do
  def(name, "input other alpha=1", function(a, b, alpha)
    b = op(b)
    if core.number(alpha) ~= 1 then b = core.binary("multiply", b, alpha) end
    return core.binary(core_name, op(a), b)
  end)
end
def("rsub", "input other", function(a, b) return core.binary("subtract", op(b), op(a)) end)
for name, core_name in pairs({
  mul = "multiply", multiply = "multiply", true_divide = "divide", floor_divide = "floor_divide", remainder = "remainder", fmod = "fmod",
    pow = "power", maximum = "maximum",
  minimum = "minimum", fmax = "fmax", fmin = "fmin", atan2 = "arctan2", hypot = "hypot", logaddexp = "logaddexp", logical_and = "logical_and",
  logical_or = "logical_or", logical_xor = "logical_xor", bitwise_and = "bitwise_and", bitwise_or = "bitwise_or", bitwise_xor = "bitwise_xor",
}) do
  def(name, "input other", function(a, b) return core.binary(core_name, op(a), op(b)) end)
end
for _, name in ipairs({ "div", "divide" }) do
  def(name, "input other rounding_mode=None", function(a, b, mode)
    local q <const> = core.binary(mode == "floor" and "floor_divide" or "divide", op(a), op(b))
    return mode == "trunc" and core.unary("trunc", q) or q
  end)
end
for name, core_name in pairs({
  eq = "equal", ne = "not_equal", not_equal = "not_equal", lt = "less", less = "less", le = "less_equal", less_equal = "less_equal", gt = "greater",
  greater = "greater", ge = "greater_equal", greater_equal = "greater_equal",
}) do
  def(name, "input other", function(a, b) return core.compare(core_name, op(a), op(b)) end)
end

for name, core_name in pairs({ sum = "sum", prod = "prod", amax = "max", amin = "min", all = "all", any = "any" }) do
  def(name, "input dim=None keepdim=False dtype=None", function(x, dim, keepdim, dtype)
    local t <const> = ten(x)
    return cast_if(core.reduce(core_name, t, axes_of(dim, t, name), keepdim), dtype)
  end)
end
-- max and min: over everything, along one dimension (values and indices), or of two tensors.
for name, pair in pairs({ max = { "maximum", "argmax" }, min = { "minimum", "argmin" } }) do
  def(name, "input dim=None keepdim=False", function(x, dim, keepdim)
    local t <const> = ten(x)
    if core.is_tensor(dim) then return core.binary(pair[1], t, ten(dim)) end
    if is_none(dim) then return core.reduce(name, t, nil, false) end
    local axes <const> = axes_of(dim, t, name)
    local values <const> = core.reduce(name, t, axes, keepdim)
    return objects.named_pair("values", values, "indices", function() return core.arg_reduce(pair[2], t, axes[1], keepdim) end)
  end)
end
for _, name in ipairs({ "argmax", "argmin" }) do
  def(name, "input dim=None keepdim=False", function(x, dim, keepdim)
    local t <const> = ten(x)
    local axes <const> = axes_of(dim, t, name)
    return core.arg_reduce(name, t, axes and axes[1], keepdim)
  end)
end
def("mean", "input dim=None keepdim=False dtype=None", function(x, dim, keepdim, dtype)
  local t <const> = ten(x)
  return cast_if(compose.mean(t, axes_of(dim, t, "mean"), keepdim), dtype)
end)
for name, fn in pairs({ var = compose.variance, std = compose.deviation }) do
  def(name, "input dim=None unbiased=None keepdim=False correction=None", function(x, dim, unbiased, keepdim, correction)
    local t <const> = ten(x)
    -- torch.var(x, False): the second positional argument may be `unbiased`.
    if type(dim) == "boolean" then dim, unbiased = objects.none, dim end
    local drop = 1
    if unbiased == false then drop = 0 end
    if not is_none(correction) then drop = correction end
    return fn(t, axes_of(dim, t, name), keepdim, drop)
  end)
end
for name, core_name in pairs({ cumsum = "add", cumprod = "multiply" }) do
  def(name, "input dim dtype=None", function(x, dim, dtype)
    local t <const> = ten(x)
    return cast_if(core.cumulative(core_name, t, axes_of(dim, t, name)[1]), dtype)
  end)
end
def("logsumexp", "input dim keepdim=False", function(x, dim, keepdim)
  local t <const> = ten(x)
  return compose.logsumexp(t, axes_of(dim, t, "logsumexp"), keepdim)
end)
def("softmax", "input dim=-1 dtype=None", function(x, dim, dtype)
  local t <const> = cast_if(ten(x), dtype)
  return compose.softmax(t, axes_of(dim, t, "softmax"))
end)
def("log_softmax", "input dim=-1 dtype=None", function(x, dim, dtype)
  local t <const> = cast_if(ten(x), dtype)
  return compose.log_softmax(t, axes_of(dim, t, "log_softmax"))
end)
def("norm", "input p=2 dim=None keepdim=False", function(x, p, dim, keepdim)
  local t <const> = ten(x)
  return compose.norm(t, axes_of(dim, t, "norm"), keepdim, not is_none(p) and p or 2)
end)
for name, fn in pairs({ var_mean = compose.variance, std_mean = compose.deviation }) do
  def(name, "input dim=None unbiased=None keepdim=False correction=None", function(x, dim, unbiased, keepdim, correction)
    local t <const> = ten(x)
    local axes <const> = axes_of(dim, t, name)
    local drop <const> = not is_none(correction) and correction or (unbiased == false and 0 or 1)
    return objects.py_tuple({ fn(t, axes, keepdim, drop), compose.mean(t, axes, keepdim) })
  end, "function")
end
def("clamp_min", "input min", function(x, low) return compose.clip(ten(x), op(low), nil) end)
def("clamp_max", "input max", function(x, high) return compose.clip(ten(x), nil, op(high)) end)
def("aminmax", "input dim=None keepdim=False", function(x, dim, keepdim)
  local t <const> = ten(x)
  local axes <const> = axes_of(dim, t, "aminmax")
  local high <const> = core.reduce("max", t, axes, keepdim)
  return objects.named_pair("min", core.reduce("min", t, axes, keepdim), "max", function() return high end)
end)
def("count_nonzero", "input dim=None", function(x, dim)
  local t <const> = ten(x)
  return core.reduce("sum", t.dtype == "bool" and t or core.compare("not_equal", t, 0), axes_of(dim, t, "count_nonzero"), false)
end)
def("logit", "input eps=None", function(x, eps)
  local t = ten(x)
  if not is_none(eps) then t = compose.clip(t, eps, core.binary("subtract", 1.0, eps)) end
  return core.unary("log", core.binary("divide", t, core.binary("subtract", 1.0, t)))
end)
for _, name in ipairs({ "clamp", "clip" }) do
  def(name, "input min=None max=None", function(x, low, high)
    return compose.clip(ten(x), not is_none(low) and op(low) or nil, not is_none(high) and op(high) or nil)
  end)
end
def("where", "condition input other", function(c, x, y) return core.where(op(c), op(x), op(y)) end, "function")
def("where", "self condition other", function(x, c, y) return core.where(op(c), ten(x), op(y)) end, "method")
def("masked_fill", "input mask value", function(x, mask, value) return core.cast(core.where(ten(mask), op(value), ten(x)), x.declared) end)
def("nan_to_num", "input nan=0.0", function(x, value)
  local t <const> = ten(x)
  return core.where(core.unary("isnan", t), value, t)
end)
def("lerp", "input end weight", function(x, y, w) return core.binary("add", ten(x), core.binary("multiply", op(w), core.binary("subtract",
  ten(y), ten(x)))) end)
def("addcmul", "input tensor1 tensor2 value=1", function(x, a, b, value)
  return core.binary("add", ten(x), core.binary("multiply", value, core.binary("multiply", ten(a), ten(b))))
end)
def("addcdiv", "input tensor1 tensor2 value=1", function(x, a, b, value)
  return core.binary("add", ten(x), core.binary("multiply", value, core.binary("divide", ten(a), ten(b))))
end)

for _, name in ipairs({ "matmul", "mm", "bmm", "dot", "mv" }) do
  def(name, "input other", function(a, b) return core.matmul(ten(a), ten(b)) end)
end
def("outer", "input vec2", function(a, b) return core.binary("multiply", core.expand(ten(a), 1), core.expand(ten(b), 0)) end)
def("einsum", "equation *operands", function(spec, operands)
  local list <const> = {}
  for i, x in ipairs(objects.spread(operands)) do list[i] = ten(x) end
  return compose.einsum(spec, list)
end, "function")
def("addmm", "input mat1 mat2", function(c, a, b) return core.binary("add", ten(c), core.matmul(ten(a), ten(b))) end)

def("transpose", "input dim0 dim1", function(x, a, b) return compose.swap(ten(x), a, b) end)
methods.swapaxes, functions.swapaxes = methods.transpose, functions.transpose
def("t", "input", function(x) return core.transpose(ten(x), nil) end)
def("permute", "input *dims", function(x, dims) return core.transpose(ten(x), objects.spread(dims)) end)
def("reshape", "input *shape", function(x, shape) return core.reshape(ten(x), objects.spread(shape)) end)
def("view", "input *shape", function(x, shape)
  local list <const> = objects.spread(shape)
  if list[1] ~= nil and define.is_dtype(list[1]) then raise("NotImplementedError", "Tensor.view(dtype) reinterprets bits; a reference computes on values") end
  return core.reshape(ten(x), list)
end, "method")
def("flatten", "input start_dim=0 end_dim=-1", function(x, first, last)
  local t <const> = ten(x)
  local rank <const> = #t.shape
  if rank == 0 then return core.reshape(t, { 1 }) end
  first, last = core.axes(first, rank, "flatten")[1], core.axes(last, rank, "flatten")[1]
  local shape <const> = { table.unpack(t.shape, 1, first) }
  local product = 1
  for i = first + 1, last + 1 do product = product * t.shape[i] end
  shape[#shape + 1] = product
  for i = last + 2, rank do shape[#shape + 1] = t.shape[i] end
  return core.reshape(t, shape)
end)
def("unsqueeze", "input dim", function(x, dim) return core.expand(ten(x), dim) end)
def("squeeze", "input dim=None", function(x, dim)
  local t = ten(x)
  if is_none(dim) then
    for i = #t.shape, 1, -1 do if t.shape[i] == 1 then t = core.squeeze(t, i - 1) end end
    return t
  end
  local axis <const> = axes_of(dim, t, "squeeze")[1]
  return t.shape[axis + 1] == 1 and core.squeeze(t, axis) or t
end)
for _, name in ipairs({ "cat", "concat", "concatenate" }) do
  def(name, "tensors dim=0", function(list, dim)
    local all <const> = {}
    for i, x in ipairs(objects.list(list)) do all[i] = ten(x) end
    return core.concat(all, dim)
  end, "function")
end
def("stack", "tensors dim=0", function(list, dim)
  local all <const> = {}
  for i, x in ipairs(objects.list(list)) do all[i] = ten(x) end
  return compose.stack(all, dim)
end, "function")
def("chunk", "input chunks dim=0", function(x, n, dim)
  local t <const> = ten(x)
  local axis <const> = axes_of(dim, t, "chunk")[1]
  local extent <const>, sizes <const> = t.shape[axis + 1], {}
  local size <const> = (extent + core.number(n) - 1) // core.number(n)
  local left = extent
  while left > 0 do
    sizes[#sizes + 1] = math.min(size, left)
    left = left - size
  end
  return objects.py_tuple(compose.split_sizes(t, sizes, axis))
end)
def("split", "input split_size_or_sections dim=0", function(x, size, dim)
  local t <const> = ten(x)
  local axis <const> = axes_of(dim, t, "split")[1]
  local sizes = {}
  if core.is_scalar(size) then
    local left, step <const> = t.shape[axis + 1], core.number(size)
    while left > 0 do
      sizes[#sizes + 1] = math.min(step, left)
      left = left - step
    end
  else
    for i, s in ipairs(objects.list(size)) do sizes[i] = core.number(s) end
  end
  return objects.py_tuple(compose.split_sizes(t, sizes, axis))
end)
def("tensor_split", "input indices_or_sections dim=0", function(x, sections, dim)
  local t <const> = ten(x)
  local axis <const> = axes_of(dim, t, "tensor_split")[1]
  return objects.py_tuple(compose.split_sizes(t, compose.sections(t.shape[axis + 1], core.is_scalar(sections) and core.number(sections)
    or objects.list(sections)), axis))
end)
def("unbind", "input dim=0", function(x, dim)
  local t <const> = ten(x)
  local axis <const>, out <const> = axes_of(dim, t, "unbind")[1], {}
  for i = 1, t.shape[axis + 1] do out[i] = core.select(t, axis, i - 1) end
  return objects.py_tuple(out)
end)
for _, name in ipairs({ "gather", "index_select", "sort", "topk", "scatter", "take_along_dim" }) do
  def(name, "input *args dim=None", function() raise("NotImplementedError", "%s moves elements by data, which cannot be traced", name) end)
end
def("narrow", "input dim start length", function(x, dim, start, length)
  local t <const> = ten(x)
  return core.slice(t, axes_of(dim, t, "narrow")[1], core.number(start), core.number(length), 1)
end)
def("select", "input dim index", function(x, dim, i)
  local t <const> = ten(x)
  local axis <const> = axes_of(dim, t, "select")[1]
  i = core.number(i)
  return core.select(t, axis, i < 0 and i + t.shape[axis + 1] or i)
end)
local function expand_to(t, sizes)
  local out <const> = {}
  local lead <const> = #sizes - #t.shape
  for i, s in ipairs(sizes) do
    s = core.number(s, nil)
    out[i] = s == -1 and t.shape[i - lead] or s
  end
  return core.broadcast_to(t, out)
end
def("expand", "self *sizes", function(t, sizes) return expand_to(t, objects.spread(sizes)) end, "method")
def("expand_as", "self other", function(t, other) return core.broadcast_to(t, other.shape) end, "method")
def("view_as", "self other", function(t, other) return core.reshape(t, { table.unpack(other.shape) }) end, "method")
def("reshape_as", "self other", function(t, other) return core.reshape(t, { table.unpack(other.shape) }) end, "method")
def("broadcast_to", "input shape", function(x, shape) return expand_to(ten(x), objects.shape(shape)) end)
def("repeat", "self *repeats", function(t, repeats)
  local list <const> = objects.spread(repeats)
  while #list > #t.shape do t = core.expand(t, 0) end
  for axis, n in ipairs(list) do
    local copies <const> = {}
    for i = 1, core.number(n) do copies[i] = t end
    if #copies > 1 then t = core.concat(copies, axis - 1) end
  end
  return t
end, "method")
def("repeat_interleave", "input repeats dim", function(x, n, dim)
  local t <const> = ten(x)
  local axis <const> = axes_of(dim, t, "repeat_interleave")[1]
  local wide <const> = core.expand(t, axis + 1)
  local shape <const>, merged <const> = { table.unpack(wide.shape) }, { table.unpack(t.shape) }
  shape[axis + 2], merged[axis + 1] = core.number(n), merged[axis + 1] * core.number(n)
  return core.reshape(core.broadcast_to(wide, shape), merged)
end)
def("flip", "input *dims", function(x, dims)
  local t = ten(x)
  for _, axis in ipairs(core.axes(objects.spread(dims), #t.shape, "flip")) do t = core.slice(t, axis, t.shape[axis + 1] - 1, t.shape[axis + 1], -1) end
  return t
end)
def("tril", "input diagonal=0", function(x, k) return compose.triangle(ten(x), k, true) end)
def("triu", "input diagonal=0", function(x, k) return compose.triangle(ten(x), k, false) end)

-- Casts, copies and the like.
for _, name in ipairs({ "contiguous", "detach", "cpu", "clone", "requires_grad_", "cuda" }) do
  def(name, "self *args", function(t) return name == "clone" and core.copy(t) or t end, "method")
end
functions.clone = { signature = "input", fn = function(x) return core.copy(ten(x)) end }
for name, dtype in pairs({ float = "float32", double = "float64", half = "float16", bfloat16 = "bfloat16", long = "int64", int = "int32", bool = "bool" }) do
  def(name, "self", function(t) return core.cast(t, dtype) end, "method")
end
def("to", "self *args dtype=None device=None", function(t, args, dtype)
  for _, a in ipairs(args) do
    if define.is_dtype(a) then dtype = a elseif core.is_tensor(a) then return core.cast(t, a.declared) end
  end
  return cast_if(t, dtype)
end, "method")
def("type", "self dtype", function(t, dtype) return core.cast(t, define.dtype_name(dtype)) end, "method")
def("type_as", "self other", function(t, other) return core.cast(t, other.declared) end, "method")
def("size", "self dim=None", function(t, dim)
  local shape <const> = objects.shape_tuple(t)
  if is_none(dim) then return shape end
  return objects.sequence(shape)[core.axes(dim, #t.shape, "size")[1] + 1]
end, "method")
def("dim", "self", function(t) return #t.shape end, "method")
def("ndimension", "self", function(t) return #t.shape end, "method")
def("numel", "self", function(t) return compose.extent(t, nil) end, "method")
functions.numel = methods.numel
def("item", "self", function(t) return core.item(t) end, "method")
def("tolist", "self", function(t) return objects.to_list(core.need_value(t, "tolist")) end, "method")
def("numpy", "self", function(t) return core.retag(t, require("reference.numpy").family) end, "method")
def("fill_", "self value", function(t, value) index.set(t, value, "e") return t end, "method")
def("copy_", "self src", function(t, value) index.set(t, core.is_scalar(value) and value or ten(value), "e") return t end, "method")
def("zero_", "self", function(t) index.set(t, 0, "e") return t end, "method")
def("is_floating_point", "self", function(t) return t.dtype == "float64" end, "method")
def("new_zeros", "self *size", function(t, size) return core.full(objects.spread(size), 0, t.declared, family) end, "method")
def("new_ones", "self *size", function(t, size) return core.full(objects.spread(size), 1, t.declared, family) end, "method")

-- In-place forms compute and store back.
for _, name in ipairs({
  "add", "sub", "mul", "div", "pow", "exp", "log", "sqrt", "rsqrt", "neg", "abs", "clamp", "sigmoid", "tanh", "relu", "masked_fill", "reciprocal", "square",
}) do
  local entry <const> = methods[name]
  methods[name .. "_"] = { signature = entry.signature, fn = function(t, ...)
    local out <const> = entry.fn(t, ...)
    index.set(t, core.cast(out, t.declared), "e")
    return t
  end }
end

-- Creation.
local function creation(name, value)
  def(name, "*size dtype=None device=None requires_grad=False", function(size, dtype)
    return core.full(objects.spread(size), value, declared_of(dtype) or "float32", family)
  end, "function")
  def(name .. "_like", "input dtype=None", function(x, dtype)
    return core.full(x.shape, value, declared_of(dtype) or x.declared, family)
  end, "function")
end
creation("zeros", 0)
creation("ones", 1)
creation("empty", 0)
def("full", "size fill_value dtype=None device=None", function(size, value, dtype)
  local plain <const> = core.number(value)
  return core.full(objects.shape(size), value, declared_of(dtype) or (math.type(plain) == "integer" and "int64")
    or (type(plain) == "boolean" and "bool") or "float32", family)
end, "function")
def("full_like", "input fill_value dtype=None", function(x, value, dtype) return core.full(x.shape, value, declared_of(dtype)
  or x.declared, family) end, "function")
def("arange", "start end=None step=1 dtype=None device=None", function(start, stop, step, dtype)
  if is_none(stop) then start, stop = 0, start end
  local float <const> = math.type(core.number(start)) == "float" or math.type(core.number(stop)) == "float" or math.type(core.number(step)) == "float"
  return core.arange(start, stop, step, declared_of(dtype) or (float and "float32" or "int64"), family)
end, "function")
def("eye", "n m=None dtype=None", function(n, m, dtype) return compose.eye(n, is_none(m) and n or m, 0, declared_of(dtype) or "float32",
  family) end, "function")
for _, name in ipairs({ "tensor", "as_tensor", "asarray", "from_numpy" }) do
  def(name, "data dtype=None device=None requires_grad=False", function(x, dtype)
    local value <const> = objects.nested(x)
    if core.is_tensor(value) then return cast_if(core.retag(value, family), dtype) end
    return cast_if(core.from_nested(value, nil, family), dtype)
  end, "function")
end
def("is_tensor", "obj", function(x) return core.is_tensor(x) end, "function")
def("allclose", "input other rtol=1e-05 atol=1e-08", function(a, b, rtol, atol)
  local gap <const> = core.unary("abs", core.binary("subtract", ten(a), ten(b)))
  local room <const> = core.binary("add", atol, core.binary("multiply", rtol, core.unary("abs", ten(b))))
  return core.reduce("all", core.compare("less_equal", gap, room), nil, false)
end, "function")

local functional <const> = require("reference.functional")({ functions = functions, family = family, ten = ten, op = op, axes_of = axes_of })

local attributes <const> = {
  shape = objects.shape_tuple,
  ndim = function(t) return #t.shape end,
  dtype = function(t) return dtypes[t.declared] end,
  device = function() return "cpu" end,
  T = function(t) return core.transpose(t, nil) end,
  mT = function(t) return compose.swap(t, -1, -2) end,
  data = function(t) return t end,
  requires_grad = function() return false end,
}

define.protocol(Tensor, { methods = methods, attributes = attributes, index = index, operand = op })

M.functions, M.functional = functions, functional

-- The module objects for torch, torch.nn and torch.nn.functional.
function M.modules()
  local attrs <const> = define.natives("torch", functions)
  for name, value in pairs(dtypes.names) do attrs[name] = value end
  attrs.pi, attrs.e, attrs.inf, attrs.nan = math.pi, math.exp(1), math.huge, 0.0 / 0.0 * -1.0
  attrs.Tensor = define.type_marker("torch.Tensor", Tensor)
  attrs.finfo = define.native("torch.finfo", "dtype=None", function(dtype) return define.finfo(is_none(dtype) and "float32" or define.dtype_name(dtype)) end)
  attrs.iinfo = define.native("torch.iinfo", "dtype", function(dtype) return define.iinfo(define.dtype_name(dtype)) end)
  attrs.no_grad = define.native("torch.no_grad", "", function() return objects.decorator_context() end)
  attrs.inference_mode = define.native("torch.inference_mode", "mode=True", function() return objects.decorator_context() end)
  attrs.manual_seed = define.native("torch.manual_seed", "seed", function() return objects.none end)
  attrs.Size = define.native("torch.Size", "sizes", function(sizes) return objects.py_tuple(objects.list(sizes)) end)
  local special <const> = {}
  for _, name in ipairs({ "softmax", "log_softmax", "logsumexp", "erf", "exp2", "expm1", "log1p" }) do special[name] = functions[name] end
  special.expit = functions.sigmoid
  attrs.special = define.module("torch.special", define.natives("torch.special", special))
  attrs.linalg = define.module("torch.linalg", define.natives("torch.linalg", {
    norm = { signature = "A ord=None dim=None keepdim=False", fn = function(x, ord, dim, keepdim) return functions.norm.fn(x, is_none(ord)
      and 2 or ord, dim, keepdim) end },
    vector_norm = { signature = "x ord=2 dim=None keepdim=False", fn = function(x, ord, dim, keepdim) return functions.norm.fn(x, ord, dim, keepdim) end },
  }))
  local f <const> = define.module("torch.nn.functional", define.natives("torch.nn.functional", functional))
  for _, name in ipairs({ "rms_norm", "layer_norm", "silu", "gelu" }) do
    if attrs[name] == nil then attrs[name] = define.native("torch." .. name, functional[name].signature, functional[name].fn) end
  end
  local nn <const> = require("reference.nn").module(M, f)
  attrs.nn = nn
  return { torch = define.module("torch", attrs), ["torch.nn"] = nn, ["torch.nn.functional"] = f }
end

return M
