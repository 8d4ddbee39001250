-- SPDX-License-Identifier: MIT
-- Functions that NumPy and PyTorch share, as compositions of the core operations. Axes are Lua lists or nil (= all);
-- operands are tensors or scalars. Nothing here knows a framework's argument names.

local core <const> = require "reference.core"

local M <const> = {}

local unary <const>, binary <const>, compare <const>, where <const> = core.unary, core.binary, core.compare, core.where

function M.extent(x, axes)
  -- Number of elements reduced; symbolic while tracing, so that 1/N stays tied to the shape.
  if core.trace and core.is_symbolic(x) then
    local product = nil
    local list <const> = axes or {}
    if axes == nil then for i = 1, #x.shape do list[i] = i - 1 end end
    for _, axis in ipairs(list) do
      local node <const> = core.trace:dim(x.node, axis)
      local extent <const> = core.scalar(x.shape[axis + 1], node)
      product = product and binary("multiply", product, extent) or extent
    end
    return product or 1
  end
  local n = 1
  if axes == nil then return core.count(x.shape) end
  for _, axis in ipairs(axes) do n = n * x.shape[axis + 1] end
  return n
end

local function as_float(x)
  if core.is_tensor(x) and x.dtype ~= "float64" then return core.cast(x, x.family.default_float) end
  return x
end

function M.mean(x, axes, keepdims)
  x = as_float(x)
  return binary("divide", core.reduce("sum", x, axes, keepdims), M.extent(x, axes))
end

function M.variance(x, axes, keepdims, correction)
  x = as_float(x)
  local centred <const> = binary("subtract", x, M.mean(x, axes, true))
  local total <const> = core.reduce("sum", unary("square", centred), axes, keepdims)
  local n = M.extent(x, axes)
  if core.number(correction) ~= 0 then n = binary("subtract", n, correction) end
  return binary("divide", total, n)
end

function M.deviation(x, axes, keepdims, correction) return unary("sqrt", M.variance(x, axes, keepdims, correction)) end

function M.clip(x, low, high)
  if low ~= nil then x = binary("maximum", x, low) end
  if high ~= nil then x = binary("minimum", x, high) end
  return x
end

function M.softmax(x, axes)
  x = as_float(x)
  local e <const> = unary("exp", binary("subtract", x, core.reduce("max", x, axes, true)))
  return binary("divide", e, core.reduce("sum", e, axes, true))
end

function M.logsumexp(x, axes, keepdims)
  local m <const> = core.reduce("max", x, axes, true)
  local total <const> = unary("log", core.reduce("sum", unary("exp", binary("subtract", x, m)), axes, true))
  local out = binary("add", total, m)
  if not keepdims then
    for i = #axes, 1, -1 do out = core.squeeze(out, axes[i]) end
  end
  return out
end

function M.log_softmax(x, axes)
  x = as_float(x)
  local shifted <const> = binary("subtract", x, core.reduce("max", x, axes, true))
  return binary("subtract", shifted, unary("log", core.reduce("sum", unary("exp", shifted), axes, true)))
end

function M.sigmoid(x) return unary("sigmoid", as_float(x)) end
function M.silu(x) return binary("multiply", x, M.sigmoid(x)) end
function M.relu(x) return binary("maximum", x, 0) end

function M.gelu(x, approximate)
  if approximate == "tanh" then
    local inner <const> = binary("multiply", math.sqrt(2 / math.pi), binary("add", x, binary("multiply", 0.044715, binary("power", x, 3))))
    return binary("multiply", binary("multiply", 0.5, x), binary("add", 1.0, unary("tanh", inner)))
  end
  local inner <const> = unary("erf", binary("multiply", x, 1 / math.sqrt(2)))
  return binary("multiply", binary("multiply", 0.5, x), binary("add", 1.0, inner))
end

function M.softplus(x, beta, threshold)
  local scaled <const> = beta == 1 and x or binary("multiply", x, beta)
  -- log(1 + e^s) = max(s, 0) + log1p(e^-|s|), which does not overflow.
  local soft = binary("add", binary("maximum", scaled, 0.0), unary("log1p", unary("exp", unary("negative", unary("abs", scaled)))))
  if beta ~= 1 then soft = binary("divide", soft, beta) end
  if threshold == nil then return soft end
  return where(compare("greater", scaled, threshold), x, soft)
end

function M.rms_norm(x, axes, weight, eps)
  local mean_square <const> = M.mean(unary("square", x), axes, true)
  local scale <const> = unary("rsqrt", binary("add", mean_square, eps))
  local out <const> = binary("multiply", x, scale)
  return weight and binary("multiply", out, weight) or out
end

function M.layer_norm(x, axes, weight, bias, eps)
  local centred <const> = binary("subtract", x, M.mean(x, axes, true))
  local variance <const> = M.mean(unary("square", centred), axes, true)
  local out = binary("multiply", centred, unary("rsqrt", binary("add", variance, eps)))
  if weight then out = binary("multiply", out, weight) end
  if bias then out = binary("add", out, bias) end
  return out
end

-- The p-norm over axes: p a number (1, 2, inf, -inf or another) or "fro".
function M.norm(x, axes, keepdims, p)
  x = as_float(x)
  p = p == "fro" and 2 or p or 2
  local order <const> = core.number(p, "an order")
  if type(order) ~= "number" then core.raise("NotImplementedError", "a norm of order %s", tostring(order)) end
  if order == 2 then return unary("sqrt", core.reduce("sum", unary("square", x), axes, keepdims)) end
  local size <const> = unary("abs", x)
  if order == math.huge or order == -math.huge then return core.reduce(order > 0 and "max" or "min", size, axes, keepdims) end
  if order == 1 then return core.reduce("sum", size, axes, keepdims) end
  if order == 0 then core.raise("NotImplementedError", "a norm of order 0") end
  return binary("power", core.reduce("sum", binary("power", size, order), axes, keepdims), 1.0 / order)
end

-- (x - mean) / sqrt(variance + eps) over groups of channels: x is (batch, channels, ...), weight and bias have one value per channel.
function M.group_norm(x, groups, weight, bias, eps)
  local n <const>, c <const> = x.shape[1], x.shape[2]
  if c % groups ~= 0 then core.raise("ValueError", "%d channels do not divide into %d groups", c, groups) end
  local out = core.reshape(M.layer_norm(core.reshape(x, { n, groups, core.count(x.shape) // (n * groups) }), { 2 }, nil, nil, eps), x.shape)
  local shape <const> = { c }
  for _ = 3, #x.shape do shape[#shape + 1] = 1 end
  if weight then out = binary("multiply", out, core.reshape(weight, shape)) end
  if bias then out = binary("add", out, core.reshape(bias, shape)) end
  return out
end

function M.swap(x, a, b)
  local rank <const> = #x.shape
  a, b = core.axes(a, rank, "swapaxes")[1], core.axes(b, rank, "swapaxes")[1]
  local order <const> = {}
  for i = 1, rank do order[i] = i - 1 end
  order[a + 1], order[b + 1] = b, a
  return core.transpose(x, order)
end

function M.stack(list, axis)
  local wide <const> = {}
  for i, t in ipairs(list) do wide[i] = core.expand(t, axis) end
  local rank <const> = #wide[1].shape
  return core.concat(wide, axis < 0 and axis + rank or axis)
end

-- Pieces of x along an axis: `sections` is a count or a list of sizes.
function M.split_sizes(x, sizes, axis)
  local out <const>, start = {}, 0
  for i, size in ipairs(sizes) do
    out[i] = core.slice(x, axis, start, size, 1)
    start = start + size
  end
  return out
end

-- Sizes of `sections` nearly equal parts, or of the parts between a list of places.
function M.sections(extent, sections)
  local sizes <const> = {}
  if type(sections) == "table" then
    local last = 0
    for i, at in ipairs(sections) do
      at = math.min(core.number(at, nil), extent)
      sizes[i] = math.max(0, at - last)
      last = at
    end
    sizes[#sizes + 1] = extent - last
    return sizes
  end
  for i = 1, sections do sizes[i] = extent // sections + (i <= extent % sections and 1 or 0) end
  return sizes
end

-- Lower (keep_lower) or upper triangle of the last two axes; the rest becomes 0.
function M.triangle(x, k, keep_lower)
  local rank <const> = #x.shape
  local rows <const> = core.expand(core.arange(0, x.shape[rank - 1], 1, "int64", x.family), 1)
  local cols <const> = core.arange(0, x.shape[rank], 1, "int64", x.family)
  local keep <const> = keep_lower and compare("less_equal", cols, binary("add", rows, k)) or compare("greater_equal", cols, binary("add", rows, k))
  return core.cast(where(keep, x, 0), x.declared)
end

function M.eye(n, m, k, declared, family)
  local rows <const> = core.expand(core.arange(0, n, 1, "int64", family), 1)
  local cols <const> = core.arange(0, m, 1, "int64", family)
  return core.cast(compare("equal", cols, binary("add", rows, k)), declared)
end

function M.linear(x, weight, bias)
  local out <const> = core.matmul(x, core.transpose(weight, nil))
  return bias and binary("add", out, bias) or out
end

-- einsum over two operands or one, through transpose, reshape and matmul.
function M.einsum(spec, operands)
  spec = spec:gsub("%s", "")
  if spec:find("%.") then core.raise("NotImplementedError", "einsum with '...'") end
  local left, out <const> = spec:match("^([a-zA-Z,]+)%->([a-zA-Z]*)$")
  if not left then core.raise("ValueError", "einsum: write the output explicitly, as in 'ij,jk->ik'") end
  local names <const> = {}
  for part in (left .. ","):gmatch("([a-zA-Z]*),") do names[#names + 1] = part end
  if #names ~= #operands or #names > 2 then core.raise("NotImplementedError", "einsum of %d operands with %d subscripts", #operands, #names) end
  local function reduce_to(t, labels, keep)
    local axes <const>, kept <const> = {}, {}
    for i = 1, #labels do
      local label <const> = labels:sub(i, i)
      if labels:find(label, i + 1, true) then core.raise("NotImplementedError", "einsum with a repeated label in one operand") end
      if keep:find(label, 1, true) then kept[#kept + 1] = label else axes[#axes + 1] = i - 1 end
    end
    if #axes > 0 then t = core.reduce("sum", t, axes, false) end
    return t, table.concat(kept)
  end
  local function arrange(t, labels, order)
    local axes <const> = {}
    for i = 1, #order do axes[i] = labels:find(order:sub(i, i), 1, true) - 1 end
    return core.transpose(t, axes)
  end
  if #names == 1 then
    local t <const>, labels <const> = reduce_to(operands[1], names[1], out)
    return arrange(t, labels, out)
  end
  local a, la = reduce_to(operands[1], names[1], out .. names[2])
  local b, lb = reduce_to(operands[2], names[2], out .. names[1])
  local batch, rows, cols, inner = "", "", "", ""
  for i = 1, #la do
    local label <const> = la:sub(i, i)
    if lb:find(label, 1, true) then
      if out:find(label, 1, true) then batch = batch .. label else inner = inner .. label end
    else
      rows = rows .. label
    end
  end
  for i = 1, #lb do
    local label <const> = lb:sub(i, i)
    if not la:find(label, 1, true) then cols = cols .. label end
  end
  if rows == "" and cols == "" then
    -- Row by row: a product and a sum.
    local both <const> = batch .. inner
    local total = binary("multiply", arrange(a, la, both), arrange(b, lb, both))
    local axes <const> = {}
    for i = 1, #inner do axes[i] = #batch + i - 1 end
    if #axes > 0 then total = core.reduce("sum", total, axes, false) end
    return arrange(total, batch, out)
  end
  a, b = arrange(a, la, batch .. rows .. inner), arrange(b, lb, batch .. inner .. cols)
  local function sizes(t, from, n)
    local list <const>, product = {}, 1
    for i = from, from + n - 1 do
      list[#list + 1] = t.shape[i]
      product = product * t.shape[i]
    end
    return list, product
  end
  local lead <const> = sizes(a, 1, #batch)
  local row_shape <const>, m <const> = sizes(a, #batch + 1, #rows)
  local _, k <const> = sizes(a, #batch + #rows + 1, #inner)
  local col_shape <const>, n <const> = sizes(b, #batch + #inner + 1, #cols)
  local sa <const>, sb <const>, so <const> = { table.unpack(lead) }, { table.unpack(lead) }, { table.unpack(lead) }
  sa[#sa + 1], sb[#sb + 1] = m, k
  sa[#sa + 1], sb[#sb + 1] = k, n
  for _, e in ipairs(row_shape) do so[#so + 1] = e end
  for _, e in ipairs(col_shape) do so[#so + 1] = e end
  local product <const> = core.reshape(core.matmul(core.reshape(a, sa), core.reshape(b, sb)), so)
  return arrange(product, batch .. rows .. cols, out)
end

return M
