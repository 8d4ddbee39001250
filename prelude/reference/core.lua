-- SPDX-License-Identifier: MIT
-- The array operations that NumPy- and PyTorch-shaped references are made of: about twenty, each with two meanings.
-- On a concrete tensor an operation computes (in float64, int64 or bool, through rt.array); on a symbolic one it adds a
-- node to the trace, so that the writer sees the same graph however the reference was spelled. Everything above this
-- file (numpy.lua, torch.lua) is a composition of these operations; everything below is rt.array.
--
-- A tensor is {shape = {ints}, dtype = "float64"|"int64"|"bool", declared = the dtype the reference's framework would
-- give it, value = rt.array | node = trace node}. A symbolic scalar (a shape element or a scalar parameter of a traced
-- reference) is {value = number, node = trace node}: it computes like its number and remembers where it came from.
-- Axes and indices are 0-based, as in NumPy. Wrong use raises {kind = "python", etype, message}.

local array <const> = require "rt.array"

local core <const> = {}

core.trace = nil -- the trace under construction, or nil while references run on numbers

local Tensor <const> = {}
local Scalar <const> = {}
core.Tensor, core.Scalar = Tensor, Scalar

function core.raise(etype, message, ...)
  error({ kind = "python", etype = etype, message = select("#", ...) > 0 and message:format(...) or message }, 0)
end
local raise <const> = core.raise

-- A tensor of a traced reference that was written to in part, or whose memory is another's, makes its node when it is asked
-- for one (reference/writes.lua).
function core.lazy(meta)
  meta.__index = function(t, key)
    if key == "node" and (rawget(t, "pending") or rawget(t, "stale")) then return core.settle(t) end
    return nil
  end
end
core.lazy(Tensor)

function core.is_tensor(x) return type(x) == "table" and x.is_tensor == true end
function core.is_scalar(x) return type(x) == "number" or type(x) == "boolean" or (type(x) == "table" and x.is_scalar == true) end
function core.is_symbolic(x) return type(x) == "table" and x.node ~= nil end
local is_tensor <const>, is_symbolic <const> = core.is_tensor, core.is_symbolic

-- The number behind a scalar; a symbolic one is thereby fixed for the traced case, which the trace records.
function core.number(x, why)
  if type(x) == "table" and x.is_scalar then
    if core.trace and x.node.op ~= "const" then core.trace:guard(x.node, x.value, why) end
    return x.value
  end
  return x
end

-- Promotion of declared dtypes, as the frameworks do it for arrays: the wider of two floats, bfloat16 with float16
-- meeting at float32, floats over integers over bool.
local float_rank <const> = { float8_e5m2 = 1, float8_e4m3 = 1, float8_e4m3fn = 1, bfloat16 = 2, float16 = 2, float32 = 4, float64 = 5 }
local int_rank <const> = { bool = 1, uint8 = 2, int8 = 2, uint16 = 3, int16 = 3, uint32 = 4, int32 = 4, int64 = 5 }

function core.promote(a, b)
  if a == nil or a == b then return b end
  if b == nil then return a end
  local fa <const>, fb <const> = float_rank[a], float_rank[b]
  if fa and fb then
    if fa == fb then return "float32" end
    return fa > fb and a or b
  end
  if fa then return a end
  if fb then return b end
  return (int_rank[a] or 0) >= (int_rank[b] or 0) and a or b
end

-- What floats are computed in: float64, or float32 when a reference is run a second time to see what rounding alone does.
core.real = "float64"

-- To see what the roundings of a reference itself may cost (1 + tanh(x) near -1, a difference of near equals), every inexact
-- result is moved by up to one part in 2^52: core.noise = { seed = integer } while such a run lasts, else nil.
core.noise = nil
local function inexact(value)
  local noise <const> = core.noise
  if not noise or value.dtype ~= "float64" or value.size == 0 then return value end
  noise.count = (noise.count or 0) + 1
  local eps <const> = 2.0 ^ -52
  return array.binary("multiply", value, array.random { dtype = "float64", shape = value.shape, seed = noise.seed * 1000003 + noise.count,
    dist = "uniform", low = 1.0 - eps, high = 1.0 + eps })
end
local exact_binary <const> = { maximum = true, minimum = true, copysign = true, fmod = true, mod = true, remainder = true, floor_divide = true }

-- The array dtype of a kind ("float64" | "int64" | "bool").
local function stored(kind) return kind == "float64" and core.real or kind end

local function storage_dtype(declared)
  if float_rank[declared] then return "float64" end
  if declared == "bool" then return "bool" end
  return "int64"
end
core.storage_dtype = storage_dtype

local function count(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end
core.count = count

function core.shape_text(shape) return "(" .. table.concat(shape, ", ") .. (#shape == 1 and ",)" or ")") end

local function new(fields, family)
  fields.is_tensor = true
  fields.family = family
  return setmetatable(fields, family and family.meta or Tensor)
end

-- A tensor over numbers; `declared` defaults to the array's own dtype.
function core.wrap(value, family, declared)
  declared = declared or value.dtype
  local kind <const> = storage_dtype(declared)
  local wanted <const> = stored(kind)
  if value.dtype ~= wanted then value = value:cast(wanted) end
  return new({ shape = value.shape, dtype = kind, declared = declared, value = value }, family)
end

local function symbolic(node, family, declared) return new({ shape = node.shape, dtype = node.dtype, declared = declared, node = node }, family) end
core.symbolic = symbolic

local function family_of(a, b, c)
  return (is_tensor(a) and a.family) or (is_tensor(b) and b.family) or (is_tensor(c) and c.family) or nil
end

local function declared_of(x, other)
  if is_tensor(x) then return x.declared end
  -- A Python scalar is weak: it never widens a tensor of its own kind.
  local value <const> = type(x) == "table" and x.value or x
  if type(value) == "boolean" then return is_tensor(other) and other.declared or "bool" end
  if is_tensor(other) then
    if math.type(value) == "float" and not float_rank[other.declared] then return other.family and other.family.default_float or "float64" end
    if other.declared == "bool" then return "int64" end
    return other.declared
  end
  return math.type(value) == "float" and "float64" or "int64"
end

local function broadcast_shapes(what, ...)
  local shapes <const> = { ... }
  local rank = 0
  for _, s in ipairs(shapes) do rank = math.max(rank, #s) end
  local out <const> = {}
  for i = 1, rank do
    local extent = 1
    for _, s in ipairs(shapes) do
      local e <const> = s[i - rank + #s]
      if e and e ~= 1 then
        if extent ~= 1 and extent ~= e then
          local texts <const> = {}
          for j, shape in ipairs(shapes) do texts[j] = core.shape_text(shape) end
          raise("ValueError", "%s: operands could not be broadcast together with shapes %s", what, table.concat(texts, " "))
        end
        extent = e
      end
    end
    out[i] = extent
  end
  return out
end
core.broadcast_shapes = broadcast_shapes

-- The trace node of an operand: a tensor's own, a constant's, a symbolic scalar's.
local function node_of(x)
  local trace <const> = core.trace
  if is_tensor(x) then
    if x.node then return x.node end
    return trace:constant_tensor(x)
  end
  if type(x) == "table" and x.is_scalar then return x.node end
  return trace:const(x)
end
core.node_of = node_of

local function operand(x)
  if is_tensor(x) then return x.value end
  if type(x) == "table" and x.is_scalar then return x.value end
  return x
end

local function kind_of(x)
  if is_tensor(x) then return x.dtype end
  local value <const> = type(x) == "table" and x.value or x
  if type(value) == "boolean" then return "bool" end
  return math.type(value) == "float" and "float64" or "int64"
end

local kind_rank <const> = { bool = 1, int64 = 2, float64 = 3 }
local function wider(a, b) return kind_rank[a] >= kind_rank[b] and a or b end

local function shape_of(x) return is_tensor(x) and x.shape or {} end

-- Turn a 0-d result of scalar operands back into a plain number, as NumPy's scalars behave.
local function result(value, family, declared, scalar)
  if scalar and #value.shape == 0 then return value:item() end
  return core.wrap(value, family, declared)
end

local float_result <const> = {
  exp = true, exp2 = true, log = true, log2 = true, log10 = true, log1p = true, expm1 = true, sqrt = true, rsqrt = true, cbrt = true,
  sin = true, cos = true, tan = true, arcsin = true, arccos = true, arctan = true, sinh = true, cosh = true, tanh = true, sigmoid = true,
  erf = true, reciprocal = true,
} -- functions whose result is a float whatever they are given
local bool_result <const> = { isnan = true, isinf = true, isfinite = true, logical_not = true }

-- Elementwise function of one operand. `name` is an rt.array unary name.
function core.unary(name, a)
  if not is_tensor(a) and not core.is_scalar(a) then raise("TypeError", "%s: expected an array or a number", name) end
  local family <const> = family_of(a)
  local declared = declared_of(a)
  if bool_result[name] then
    declared = "bool"
  elseif float_result[name] and not float_rank[declared] then
    declared = family and family.default_float or "float64"
  end
  if is_symbolic(a) then
    local dtype <const> = bool_result[name] and "bool" or (float_result[name] and "float64" or kind_of(a))
    local node <const> = core.trace:add({ op = "unary", name = name, inputs = { node_of(a) }, shape = shape_of(a), dtype = dtype })
    if is_tensor(a) then return symbolic(node, family, declared) end
    return core.scalar(core.unary(name, a.value), node)
  end
  if not is_tensor(a) then return array.unary(name, array.new(stored(storage_dtype(declared)), {}, a)):item() end
  local value = a.value
  if float_result[name] and value.dtype ~= core.real then value = value:cast(core.real) end
  local found <const> = array.unary(name, value)
  return core.wrap(float_result[name] and inexact(found) or found, family, declared)
end

local float_binary <const> = { divide = true, arctan2 = true, hypot = true, logaddexp = true }

local function binary_any(op, name, a, b, dtype, declared)
  local family <const> = family_of(a, b)
  local scalar <const> = not is_tensor(a) and not is_tensor(b)
  if is_symbolic(a) or is_symbolic(b) then
    local node <const> = core.trace:add({
      op = op, name = name, inputs = { node_of(a), node_of(b) }, shape = broadcast_shapes(name, shape_of(a), shape_of(b)), dtype = dtype,
    })
    if scalar then
      local plain_a <const>, plain_b <const> = operand(a), operand(b)
      return core.scalar(core[op](name, plain_a, plain_b), node)
    end
    return symbolic(node, family, declared)
  end
  local va, vb = operand(a), operand(b)
  if scalar then va = array.new(stored(kind_of(a)), {}, va) end
  if op == "compare" then return result(array.compare_op(name, va, vb), family, "bool", scalar) end
  -- Integer operands of a float operation, and integer operands beside a float scalar, compute in float64.
  if dtype == "float64" then
    if type(va) ~= "number" and type(va) ~= "boolean" and va.dtype ~= core.real then va = va:cast(core.real) end
    if type(vb) ~= "number" and type(vb) ~= "boolean" and vb.dtype ~= core.real then vb = vb:cast(core.real) end
  end
  broadcast_shapes(name, shape_of(a), shape_of(b))
  local found <const> = array.binary(name, va, vb)
  return result(scalar and found or exact_binary[name] and found or inexact(found), family, declared, scalar)
end

-- Elementwise function of two operands with broadcasting. `name` is an rt.array binary name.
function core.binary(name, a, b)
  local dtype = wider(kind_of(a), kind_of(b))
  local declared = core.promote(declared_of(a, b), declared_of(b, a))
  if float_binary[name] or (name == "power" and dtype ~= "float64" and type(operand(b)) == "number" and operand(b) < 0) then
    if dtype ~= "float64" then declared = (family_of(a, b) or {}).default_float or "float64" end
    dtype = "float64"
  end
  if dtype == "bool" and (name == "add" or name == "subtract" or name == "multiply") then
    if name == "subtract" then raise("TypeError", "subtract of two boolean arrays; use logical_xor") end
    name = name == "add" and "logical_or" or "logical_and"
  end
  return binary_any("binary", name, a, b, dtype, declared)
end

-- equal not_equal less less_equal greater greater_equal: a bool tensor.
function core.compare(name, a, b) return binary_any("compare", name, a, b, "bool", "bool") end

function core.where(condition, a, b)
  local family <const> = family_of(condition, a, b)
  local declared <const> = core.promote(declared_of(a, b), declared_of(b, a))
  local dtype <const> = wider(kind_of(a), kind_of(b))
  if is_symbolic(condition) or is_symbolic(a) or is_symbolic(b) then
    local node <const> = core.trace:add({
      op = "where", inputs = { node_of(condition), node_of(a), node_of(b) },
      shape = broadcast_shapes("where", shape_of(condition), shape_of(a), shape_of(b)), dtype = dtype,
    })
    return symbolic(node, family, declared)
  end
  broadcast_shapes("where", shape_of(condition), shape_of(a), shape_of(b))
  local function as(x)
    if is_tensor(x) then return x.value.dtype == stored(dtype) and x.value or x.value:cast(stored(dtype)) end
    return array.new(stored(dtype), {}, operand(x))
  end
  local c <const> = is_tensor(condition) and condition.value or array.new("bool", {}, operand(condition))
  return core.wrap(array.where(c.dtype == "bool" and c or c:cast("bool"), as(a), as(b)), family, declared)
end

-- Axes as a sorted list of distinct 0-based axes; nil means all.
function core.axes(axis, rank, what)
  if axis == nil then return nil end
  local list <const> = type(axis) == "table" and not axis.is_scalar and axis or { axis }
  local out <const>, seen <const> = {}, {}
  for i, entry in ipairs(list) do
    local a = core.number(entry, "an axis")
    if math.type(a) ~= "integer" then raise("TypeError", "%s: axis must be an integer", what) end
    if a < -rank or a >= rank then raise("IndexError", "%s: axis %d is out of bounds for array of dimension %d", what, a, rank) end
    if a < 0 then a = a + rank end
    if seen[a] then raise("ValueError", "%s: duplicate axis %d", what, a) end
    seen[a] = true
    out[i] = a
  end
  table.sort(out)
  return out
end

local function reduced_shape(shape, axes, keepdims)
  local gone <const> = {}
  if axes then for _, a in ipairs(axes) do gone[a] = true end end
  local out <const> = {}
  for i, extent in ipairs(shape) do
    if axes == nil or gone[i - 1] then
      if keepdims then out[#out + 1] = 1 end
    else
      out[#out + 1] = extent
    end
  end
  return out
end

-- sum prod max min all any over axes (nil = every axis).
function core.reduce(name, a, axes, keepdims)
  local family <const> = family_of(a)
  local declared, dtype = a.declared, a.dtype
  if name == "all" or name == "any" then
    declared, dtype = "bool", "bool"
  elseif (name == "sum" or name == "prod") and dtype ~= "float64" then
    declared, dtype = "int64", "int64"
  end
  if (name == "max" or name == "min") then
    for i, extent in ipairs(a.shape) do
      local reduced = axes == nil
      for _, axis in ipairs(axes or {}) do reduced = reduced or axis == i - 1 end
      if reduced and extent == 0 then raise("ValueError", "%s: zero-size array to reduction operation which has no identity", name) end
    end
  end
  if is_symbolic(a) then
    local all <const> = {}
    for i = 1, #a.shape do all[i] = i - 1 end
    local node <const> = core.trace:add({
      op = "reduce", name = name, inputs = { a.node }, axes = axes or all, keepdims = keepdims or false,
      shape = reduced_shape(a.shape, axes, keepdims), dtype = dtype,
    })
    return symbolic(node, family, declared)
  end
  local value = a.value
  if value.dtype ~= stored(dtype) and dtype ~= "bool" then value = value:cast(stored(dtype)) end
  if dtype == "bool" and value.dtype ~= "bool" then value = value:cast("bool") end
  local found <const> = array.reduce(name, value, axes, keepdims or false)
  return core.wrap((name == "sum" or name == "prod") and inexact(found) or found, family, declared)
end

-- argmax argmin over one axis (nil = the flattened array).
function core.arg_reduce(name, a, axis, keepdims)
  if axis == nil then
    a = core.reshape(a, { count(a.shape) })
    axis = 0
  end
  if is_symbolic(a) then
    local node <const> = core.trace:add({
      op = "arg_reduce", name = name, inputs = { a.node }, axes = { axis }, keepdims = keepdims or false,
      shape = reduced_shape(a.shape, { axis }, keepdims), dtype = "int64",
    })
    return symbolic(node, a.family, "int64")
  end
  return core.wrap(array.reduce(name, a.value, axis, keepdims or false), a.family, "int64")
end

-- Running add or multiply along one axis.
function core.cumulative(name, a, axis)
  local declared <const> = a.dtype == "float64" and a.declared or "int64"
  if is_symbolic(a) then
    local node <const> = core.trace:add({
      op = "cumulative", name = name, inputs = { a.node }, axes = { axis }, shape = a.shape, dtype = storage_dtype(declared),
    })
    return symbolic(node, a.family, declared)
  end
  local value = a.value
  if value.dtype == "bool" then value = value:cast("int64") end
  return core.wrap(array.cumulative(name == "add" and "sum" or "prod", value, axis), a.family, declared)
end

function core.matmul(a, b)
  if #a.shape == 0 or #b.shape == 0 then raise("ValueError", "matmul: operands must have at least one dimension") end
  if #a.shape == 1 and #b.shape == 1 and a.shape[1] == b.shape[1] and (is_symbolic(a) or is_symbolic(b)) then
    return core.reduce("sum", core.binary("multiply", a, b), { 0 }, false)
  end
  -- Each row with one vector: a product and a sum of every row.
  local last <const> = #a.shape - 1
  if is_symbolic(a) and last > 0 and a.shape[last + 1] == b.shape[1] then
    if #b.shape == 1 then return core.reduce("sum", core.binary("multiply", a, b), { last }, false) end
    if #b.shape == 2 and b.shape[2] == 1 then return core.reduce("sum", core.binary("multiply", a, core.reshape(b, { b.shape[1] })), { last }, true) end
  end
  local drop_first <const>, drop_last <const> = #a.shape == 1, #b.shape == 1
  if drop_first then a = core.expand(a, 0) end
  if drop_last then b = core.expand(b, 1) end
  local ra <const>, rb <const> = #a.shape, #b.shape
  if a.shape[ra] ~= b.shape[rb - 1] then
    raise("ValueError", "matmul: inner dimensions differ: %s and %s", core.shape_text(a.shape), core.shape_text(b.shape))
  end
  local lead <const> = broadcast_shapes("matmul", { table.unpack(a.shape, 1, ra - 2) }, { table.unpack(b.shape, 1, rb - 2) })
  local declared <const> = core.promote(a.declared, b.declared)
  local out
  if is_symbolic(a) or is_symbolic(b) then
    lead[#lead + 1] = a.shape[ra - 1]
    lead[#lead + 1] = b.shape[rb]
    local node <const> = core.trace:add({ op = "matmul", inputs = { node_of(a), node_of(b) }, shape = lead, dtype = wider(a.dtype, b.dtype) })
    out = symbolic(node, a.family, declared)
  else
    local dtype <const> = wider(a.dtype, b.dtype)
    local va <const> = a.value.dtype == stored(dtype) and a.value or a.value:cast(stored(dtype))
    local vb <const> = b.value.dtype == stored(dtype) and b.value or b.value:cast(stored(dtype))
    out = core.wrap(array.matmul(va, vb), a.family, declared)
  end
  if drop_first then out = core.squeeze(out, #out.shape - 2) end
  if drop_last then out = core.squeeze(out, #out.shape - 1) end
  return out
end

-- A change of declared dtype. Floats stay float64 underneath: the reference judges the algorithm, not its own rounding.
function core.cast(a, declared)
  if not is_tensor(a) then
    local value <const> = core.number(a, "a cast")
    local kind <const> = storage_dtype(declared)
    if kind == "float64" then return (value == true and 1.0) or (value == false and 0.0) or value + 0.0 end
    if kind == "bool" then return value ~= 0 and value ~= false end
    if type(value) == "boolean" then return value and 1 or 0 end
    return math.tointeger(value >= 0 and math.floor(value) or math.ceil(value)) or raise("OverflowError", "cannot convert %s to an integer", value)
  end
  if a.declared == declared then return a end
  local kind <const> = storage_dtype(declared)
  if is_symbolic(a) then
    local node = a.node
    if kind ~= a.dtype then node = core.trace:add({ op = "cast", name = kind, inputs = { node }, shape = a.shape, dtype = kind }) end
    return symbolic(node, a.family, declared)
  end
  return core.wrap(a.value.dtype == stored(kind) and a.value or a.value:cast(stored(kind)), a.family, declared)
end

-- Views and rearrangements ------------------------------------------------------------------------------------------

local function moved(a, op, attributes, shape, compute)
  if is_symbolic(a) then
    if op == "reshape" and a.node.op == "full" then
      return symbolic(core.trace:add({ op = "full", inputs = a.node.inputs, shape = shape, dtype = a.node.dtype }), a.family, a.declared)
    end
    attributes.op, attributes.inputs, attributes.shape, attributes.dtype = op, { a.node }, shape, a.dtype
    return symbolic(core.trace:add(attributes), a.family, a.declared)
  end
  return core.wrap(compute(a.value), a.family, a.declared)
end

-- `shape` may hold one -1 and symbolic scalars.
function core.reshape(a, shape)
  local out <const>, total, hole = {}, 1, nil
  for i, entry in ipairs(shape) do
    local extent <const> = core.number(entry, nil)
    if math.type(extent) ~= "integer" then raise("TypeError", "reshape: sizes must be integers") end
    if extent == -1 then
      if hole then raise("ValueError", "reshape: only one dimension can be -1") end
      hole = i
    elseif extent < 0 then
      raise("ValueError", "reshape: negative dimension %d", extent)
    else
      total = total * extent
    end
    out[i] = extent
  end
  local size <const> = count(a.shape)
  if hole then
    if total == 0 or size % total ~= 0 then raise("ValueError", "cannot reshape array of size %d into shape %s", size, core.shape_text(out)) end
    out[hole] = size // total
  elseif total ~= size then
    raise("ValueError", "cannot reshape array of size %d into shape %s", size, core.shape_text(out))
  end
  local equal = #out == #a.shape
  for i, extent in ipairs(out) do equal = equal and extent == a.shape[i] end
  if equal then return a end
  return moved(a, "reshape", {}, out, function(v) return v:reshape(out) end)
end

function core.transpose(a, axes)
  local rank <const> = #a.shape
  local order <const>, seen <const>, shape <const> = {}, {}, {}
  local same = true
  for i = 1, rank do
    local axis = axes and core.number(axes[i], "an axis") or rank - i
    if axis == nil or axis < -rank or axis >= rank then raise("ValueError", "transpose: axes do not match the array's rank %d", rank) end
    if axis < 0 then axis = axis + rank end
    if seen[axis] then raise("ValueError", "transpose: repeated axis %d", axis) end
    seen[axis] = true
    order[i], shape[i] = axis, a.shape[axis + 1]
    same = same and axis == i - 1
  end
  if axes and #axes ~= rank then raise("ValueError", "transpose: axes do not match the array's rank %d", rank) end
  if same then return a end
  return moved(a, "transpose", { axes = order }, shape, function(v) return v:transpose(order) end)
end

-- A part of a joined or constant array is a part of its pieces.
local function sliced(a, axis, start, extent, shape)
  local node <const> = a.node
  if node.op == "full" then
    return symbolic(core.trace:add({ op = "full", inputs = node.inputs, shape = shape, dtype = node.dtype }), a.family, a.declared)
  end
  if node.op ~= "concat" or node.axis ~= axis then return nil end
  local at, pieces <const> = 0, {}
  for _, input in ipairs(node.inputs) do
    local n <const> = input.shape[axis + 1]
    local from <const>, to <const> = math.max(start, at), math.min(start + extent, at + n)
    if from < to then pieces[#pieces + 1] = core.slice(symbolic(input, a.family, a.declared), axis, from - at, to - from, 1) end
    at = at + n
    if at >= start + extent then break end
  end
  if #pieces == 0 then return nil end
  return #pieces == 1 and pieces[1] or core.concat(pieces, axis)
end

-- start, stop, step already normalised (step may be negative) to yield `extent` elements.
function core.slice(a, axis, start, extent, step)
  if start == 0 and step == 1 and extent == a.shape[axis + 1] then return a end
  local shape <const> = { table.unpack(a.shape) }
  shape[axis + 1] = extent
  if step == 1 and is_symbolic(a) then
    local part <const> = sliced(a, axis, start, extent, shape)
    if part then return part end
  end
  return moved(a, "slice", { axis = axis, start = start, extent = extent, step = step }, shape, function(v)
    if step > 0 then return v:slice(axis, start, math.min(start + (extent - 1) * step + 1, v.shape[axis + 1]), step) end
    local picks <const> = {}
    for i = 0, extent - 1 do picks[i + 1] = v:slice(axis, start + i * step, start + i * step + 1, 1) end
    if #picks == 0 then return v:slice(axis, 0, 0, 1) end
    return array.concat(picks, axis)
  end)
end

function core.select(a, axis, index)
  local shape <const> = { table.unpack(a.shape) }
  if is_symbolic(a) and a.node.op == "full" then
    table.remove(shape, axis + 1)
    return symbolic(core.trace:add({ op = "full", inputs = a.node.inputs, shape = shape, dtype = a.node.dtype }), a.family, a.declared)
  end
  if is_symbolic(a) and a.node.op == "concat" and a.node.axis == axis then
    local at = 0
    for _, input in ipairs(a.node.inputs) do
      local n <const> = input.shape[axis + 1]
      if index < at + n then
        local piece <const> = symbolic(input, a.family, a.declared)
        if n == 1 then return core.squeeze(piece, axis) end
        return core.select(piece, axis, index - at)
      end
      at = at + n
    end
  end
  table.remove(shape, axis + 1)
  return moved(a, "select", { axis = axis, index = index }, shape, function(v) return v:select(axis, index) end)
end

function core.expand(a, axis)
  local rank <const> = #a.shape
  if axis < -rank - 1 or axis > rank then raise("IndexError", "expand_dims: axis %d is out of bounds for array of dimension %d", axis, rank + 1) end
  if axis < 0 then axis = axis + rank + 1 end
  local shape <const> = { table.unpack(a.shape) }
  table.insert(shape, axis + 1, 1)
  return moved(a, "reshape", {}, shape, function(v) return v:expand(axis) end)
end

function core.squeeze(a, axis)
  local shape <const> = { table.unpack(a.shape) }
  if shape[axis + 1] ~= 1 then raise("ValueError", "cannot squeeze axis %d of size %d", axis, shape[axis + 1]) end
  table.remove(shape, axis + 1)
  if is_symbolic(a) and a.node.op == "slice" and a.node.axis == axis then -- one entry of the axis
    return core.select(symbolic(a.node.inputs[1], a.family, a.declared), axis, a.node.start)
  end
  return moved(a, "reshape", {}, shape, function(v) return v:squeeze(axis) end)
end

-- Elements that a view may repeat: they cost no memory, but every reduction walks them.
local MOST_ELEMENTS <const> = 1 << 36

function core.broadcast_to(a, shape)
  local full <const> = broadcast_shapes("broadcast_to", a.shape, shape)
  local elements = 1.0
  for _, extent in ipairs(shape) do elements = elements * extent end
  if elements > MOST_ELEMENTS then raise("MemoryError", "broadcast_to: %s has more elements than a reference can walk", core.shape_text(shape)) end
  for i, extent in ipairs(shape) do
    if full[i] ~= extent then raise("ValueError", "cannot broadcast shape %s to %s", core.shape_text(a.shape), core.shape_text(shape)) end
  end
  if #full == #a.shape then
    local same = true
    for i, extent in ipairs(full) do same = same and extent == a.shape[i] end
    if same then return a end
  end
  return moved(a, "broadcast", {}, shape, function(v) return v:broadcast_to(shape) end)
end

function core.concat(list, axis)
  if #list == 0 then raise("ValueError", "need at least one array to concatenate") end
  local rank <const> = #list[1].shape
  axis = core.axes(axis, rank, "concatenate")[1]
  local shape <const> = { table.unpack(list[1].shape) }
  local declared, any, dtype = list[1].declared, is_symbolic(list[1]), list[1].dtype
  for i = 2, #list do
    local t <const> = list[i]
    if #t.shape ~= rank then raise("ValueError", "concatenate: arrays must have the same number of dimensions") end
    for d = 1, rank do
      if d == axis + 1 then
        shape[d] = shape[d] + t.shape[d]
      elseif t.shape[d] ~= shape[d] then
        raise("ValueError", "concatenate: shapes %s and %s differ outside axis %d", core.shape_text(list[1].shape), core.shape_text(t.shape), axis)
      end
    end
    declared, any, dtype = core.promote(declared, t.declared), any or is_symbolic(t), wider(dtype, t.dtype)
  end
  local values <const> = {}
  if any then
    if #list == 1 then return core.copy(list[1]) end
    for _, t in ipairs(list) do
      local node <const> = node_of(t)
      if node.op == "concat" and node.axis == axis then table.move(node.inputs, 1, #node.inputs, #values + 1, values) else values[#values + 1] = node end
    end
    return symbolic(core.trace:add({ op = "concat", inputs = values, axis = axis, shape = shape, dtype = dtype }), list[1].family, declared)
  end
  for i, t in ipairs(list) do values[i] = t.value.dtype == stored(dtype) and t.value or t.value:cast(stored(dtype)) end
  return core.wrap(array.concat(values, axis), list[1].family, declared)
end

-- Arrays of one shape whose elements alternate along an axis: the first of each, the second of each, ...
function core.interleave(list, axis)
  local shape <const>, dtype = { table.unpack(list[1].shape) }, list[1].dtype
  local nodes <const> = {}
  for i, t in ipairs(list) do
    nodes[i] = node_of(t)
    dtype = wider(dtype, t.dtype)
  end
  shape[axis + 1] = shape[axis + 1] * #list
  return symbolic(core.trace:add({ op = "interleave", inputs = nodes, axis = axis, shape = shape, dtype = dtype }), list[1].family, list[1].declared)
end

-- Creation ------------------------------------------------------------------------------------------------------------

function core.full(shape, value, declared, family)
  local extents <const> = {}
  for i, entry in ipairs(shape) do
    extents[i] = core.number(entry, nil)
    if math.type(extents[i]) ~= "integer" or extents[i] < 0 then raise("ValueError", "sizes must be non-negative integers") end
  end
  local kind <const> = storage_dtype(declared)
  if core.trace then
    return symbolic(core.trace:add({ op = "full", inputs = { node_of(value) }, shape = extents, dtype = kind }), family, declared)
  end
  return core.wrap(array.new(stored(kind), extents, operand(value)), family, declared)
end

function core.arange(start, stop, step, declared, family)
  local first <const>, last <const>, by <const> = core.number(start, nil), core.number(stop, nil), core.number(step, nil)
  if by == 0 then raise("ZeroDivisionError", "arange: step must not be zero") end
  local extent <const> = math.max(0, math.ceil((last - first) / by))
  local kind <const> = storage_dtype(declared)
  if core.trace then
    local node <const> = core.trace:add({
      op = "arange", start = first, step = by, inputs = {}, shape = { math.tointeger(extent) }, dtype = kind,
    })
    return symbolic(node, family, declared)
  end
  local out <const> = {}
  for i = 0, extent - 1 do
    local v <const> = first + i * by
    out[i + 1] = kind == "float64" and v + 0.0 or v
  end
  return core.wrap(array.from(stored(kind), { #out }, out), family, declared)
end

-- A tensor from nested Lua sequences of numbers or tensors (what a Python list of lists becomes).
function core.from_nested(value, declared, family)
  if is_tensor(value) then return declared and core.cast(value, declared) or value end
  if type(value) ~= "table" or value.is_scalar then
    local plain <const> = operand(value)
    if declared == nil then declared = (type(plain) == "boolean" and "bool") or (math.type(plain) == "float" and (family.default_float
      or "float64")) or "int64" end
    if is_symbolic(value) then return core.full({}, value, declared, family) end
    return core.wrap(array.new(stored(storage_dtype(declared)), {}, core.cast(plain, declared)), family, declared)
  end
  local rows <const> = {}
  for i, entry in ipairs(value) do rows[i] = core.expand(core.from_nested(entry, declared, family), 0) end
  if #rows == 0 then return core.full({ 0 }, 0, declared or family.default_float or "float64", family) end
  return core.concat(rows, 0)
end

-- The same tensor under another framework's methods.
function core.retag(t, family)
  return new({ shape = t.shape, dtype = t.dtype, declared = t.declared, value = t.value, node = t.node }, family)
end

function core.copy(t)
  return new({ shape = t.shape, dtype = t.dtype, declared = t.declared, value = t.value and t.value:copy(), node = t.node }, t.family)
end

-- Concrete data, or an error that says why there is none.
function core.need_value(t, what)
  if not t.value then raise("TypeError", "%s needs the data of an array, which is not known while the reference is traced", what) end
  return t
end

-- The one element of a tensor as a scalar; symbolic while tracing.
function core.item(t)
  if count(t.shape) ~= 1 then raise("ValueError", "can only convert an array of size 1 to a Python scalar") end
  return core.need_value(t, "item()").value:item()
end

-- Symbolic scalars ------------------------------------------------------------------------------------------------------

function core.scalar(value, node) return setmetatable({ value = value, node = node, is_scalar = true }, Scalar) end

local binary_names <const> = {
  Add = "add", Sub = "subtract", Mult = "multiply", Div = "divide", FloorDiv = "floor_divide", Mod = "remainder", Pow = "power",
  BitAnd = "bitwise_and", BitOr = "bitwise_or", BitXor = "bitwise_xor", LShift = "left_shift", RShift = "right_shift", MatMult = "matmul",
}
core.binary_names = binary_names
local compare_names <const> = { Eq = "equal", NotEq = "not_equal", Lt = "less", LtE = "less_equal", Gt = "greater", GtE = "greater_equal" }
core.compare_names = compare_names

Scalar.__pytype = "float"
Scalar.__index = function(self, key) if key == "is_symbolic_scalar" then return true end return rawget(self, key) end

function Scalar.__pybinop(op, a, b)
  if is_tensor(a) or is_tensor(b) then return nil end
  if not (core.is_scalar(a) and core.is_scalar(b)) then return nil end
  local name <const> = binary_names[op]
  if name == nil or name == "matmul" then return nil end
  if name == "divide" or name == "floor_divide" or name == "remainder" then
    if operand(b) == 0 then raise("ZeroDivisionError", "division by zero") end
  end
  return core.binary(name, a, b)
end

function Scalar.__pyunop(op, a)
  if op == "USub" then return core.unary("negative", a) end
  if op == "UAdd" then return a end
  if op == "Not" then return not Scalar.__pytruth(a) end
  return nil
end

-- A comparison of symbolic scalars decides a branch, so it is settled with the traced case's numbers.
function Scalar.__pycompare(op, a, b)
  if is_tensor(a) or is_tensor(b) then return nil end
  local x <const>, y <const> = core.number(a, "a comparison"), core.number(b, "a comparison")
  if op == "Eq" then return x == y end
  if op == "NotEq" then return x ~= y end
  if type(x) ~= "number" or type(y) ~= "number" then return nil end
  if op == "Lt" then return x < y end
  if op == "LtE" then return x <= y end
  if op == "Gt" then return x > y end
  if op == "GtE" then return x >= y end
  return nil
end

function Scalar.__pytruth(a)
  local v <const> = core.number(a, "a condition")
  return v ~= 0 and v ~= false
end
function Scalar.__pyindex(a) return core.number(a, "an index") end
function Scalar.__pyfloat(a) return core.number(a, "float()") + 0.0 end
function Scalar.__pyrepr(a) return tostring(a.value) end
Scalar.__tostring = Scalar.__pyrepr

return core
