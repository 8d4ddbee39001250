-- SPDX-License-Identifier: MIT
-- From the nodes of a traced reference to terms: one rule per array operation. Leaves are the kernel's inputs (seen as
-- lead x tail, layout.lua), row and column indices, and Python scalars.

local layout_module <const> = require "writer.layout"
local terms_module <const> = require "writer.terms"

local M <const> = {}

local refuse <const> = layout_module.refuse
local is_scalar <const> = terms_module.is_scalar

local activations <const> = {
  exp = "exp", log = "log", sqrt = "sqrt", rsqrt = "rsqrt", tanh = "tanh", sigmoid = "sigmoid", erf = "erf", abs = "abs", square = "square", sign = "sign",
}

local Lower <const> = {}
Lower.__index = Lower

function Lower:const(v) return self.terms:scalar(v) end

-- Nearest integer, ties to even, through the engines' conversion to int32.
function Lower:round(x)
  return self.terms:make({ op = "round", args = { x } })
end

function Lower:floor(x)
  local t <const> = self.terms
  local r <const> = self:round(x)
  return t:sub(r, t:alu("greater", r, x))
end

function Lower:trunc(x)
  local t <const> = self.terms
  return t:mul(t:act("sign", x), self:floor(t:act("abs", x)))
end

-- sin(x + quarter * pi/2). The argument is reduced to [-pi, pi], where the engine's sine is defined, before the quarter turn
-- is added, and 2 pi is taken off in two parts of which the first is exact: a large x loses nothing more.
function Lower:sine(x, quarter)
  local t <const> = self.terms
  local turns <const> = self:round(t:shift(t:scale(x, self:const(1 / (2 * math.pi))), self:const(quarter / 4)))
  local high <const> = 6.28125
  local low <const> = 2 * math.pi - high
  local reduced <const> = t:sub(t:sub(x, t:scale(turns, self:const(high))), t:scale(turns, self:const(low)))
  return t:act("sin", quarter == 0 and reduced or t:shift(reduced, self:const(quarter * math.pi / 2)))
end

function Lower:expm1(x)
  local t <const> = self.terms
  local h <const> = t:act("tanh", t:scale(x, self:const(0.5)))
  local small <const> = t:div(t:scale(h, self:const(2.0)), t:sub(self:const(1.0), h))
  return t:select(t:alu("less", t:act("abs", x), self:const(0.5)), small, t:shift(t:act("exp", x), self:const(-1.0)))
end

local unary <const> = {}
for name, f in pairs(activations) do unary[name] = function(self, x) return self.terms:act(f, x) end end
function unary:negative(x) return self.terms:negate(x) end
function unary:reciprocal(x) return self.terms:recip(x) end
function unary:exp2(x) return self.terms:act("exp", self.terms:scale(x, self:const(math.log(2)))) end
function unary:log2(x) return self.terms:scale(self.terms:act("log", x), self:const(1 / math.log(2))) end
function unary:log10(x) return self.terms:scale(self.terms:act("log", x), self:const(1 / math.log(10))) end
function unary:log1p(x) return self.terms:log1p(x) end
function unary:expm1(x) return self:expm1(x) end
function unary:cbrt(x)
  local t <const> = self.terms
  return t:mul(t:act("sign", x), t:make({ op = "power", args = { t:act("abs", x), self:const(1 / 3) } }))
end
unary["round"] = function(self, x) return self:round(x) end
unary["floor"] = function(self, x) return self:floor(x) end
unary["trunc"] = function(self, x) return self:trunc(x) end
unary["ceil"] = function(self, x)
  local t <const> = self.terms
  local r <const> = self:round(x)
  return t:add(r, t:alu("less", r, x))
end
unary["sin"] = function(self, x) return self:sine(x, 0) end
unary["cos"] = function(self, x) return self:sine(x, 1) end
unary["tan"] = function(self, x) return self.terms:div(self:sine(x, 0), self:sine(x, 1)) end
function unary:sinh(x)
  local t <const> = self.terms
  local h <const> = t:act("tanh", t:scale(x, self:const(0.5)))
  local small <const> = t:div(t:scale(h, self:const(2.0)), t:sub(self:const(1.0), t:act("square", h)))
  local large <const> = t:scale(t:sub(t:act("exp", x), t:act("exp", t:negate(x))), self:const(0.5))
  return t:select(t:alu("less", t:act("abs", x), self:const(1.0)), small, large)
end
function unary:cosh(x)
  local t <const> = self.terms
  return t:scale(t:add(t:act("exp", x), t:act("exp", t:negate(x))), self:const(0.5))
end
function unary:arctan(x)
  local t <const> = self.terms
  local inside <const> = t:alu("less_equal", t:act("abs", x), self:const(1.0))
  local outside <const> = t:sub(t:scale(t:act("sign", x), self:const(math.pi / 2)), t:act("arctan", t:recip(x)))
  return t:select(inside, t:act("arctan", t:alu("min", t:alu("max", x, self:const(-1.0)), self:const(1.0))), outside)
end
function unary:isnan(x) return self.terms:alu("not_equal", x, x) end
function unary:isinf(x) return self.terms:alu("equal", self.terms:act("abs", x), self:const(math.huge)) end
function unary:isfinite(x) return self.terms:alu("less", self.terms:act("abs", x), self:const(math.huge)) end
function unary:logical_not(x) return self.terms:alu("equal", x, self:const(0.0)) end

local scalar_unary <const> = {
  sqrt = function(x) return x.value ^ 0.5, "(" .. x.text .. ") ** 0.5" end,
  rsqrt = function(x) return x.value ^ -0.5, "(" .. x.text .. ") ** -0.5" end,
  square = function(x) return x.value * x.value, "(" .. x.text .. ") ** 2" end,
  abs = function(x) return math.abs(x.value), "abs(" .. x.text .. ")" end,
}
local scalar_value <const> = {
  exp = math.exp, log = math.log, sin = math.sin, cos = math.cos, tan = math.tan, floor = math.floor, ceil = math.ceil,
  exp2 = function(v) return 2.0 ^ v end, log2 = function(v) return math.log(v, 2) end, log10 = function(v) return math.log(v, 10) end,
  log1p = function(v) return math.log(1 + v) end, expm1 = function(v) return math.exp(v) - 1 end,
  sigmoid = function(v) return 1 / (1 + math.exp(-v)) end, tanh = function(v) local e <const> = math.exp(-2 * math.abs(v)) return (v < 0
    and -1 or 1) * (1 - e) / (1 + e) end,
  sign = function(v) return v > 0 and 1.0 or v < 0 and -1.0 or 0.0 end,
  logical_not = function(v) return v == 0 and 1.0 or 0.0 end,
}

-- What Python's math has under the same name.
local in_math <const> = { exp = true, log = true, log2 = true, log10 = true, log1p = true, expm1 = true, sin = true, cos = true, tan = true,
  tanh = true, floor = true, ceil = true }

function Lower:apply_unary(node, x)
  if is_scalar(x) then
    if node.name == "negative" then return self.terms:negate(x) end
    if node.name == "reciprocal" then return self.terms:recip(x) end
    local keep <const> = scalar_unary[node.name]
    if keep and not x.constant then return self.terms:scalar(keep(x)) end
    if keep then return self.terms:scalar((keep(x))) end
    local compute <const> = scalar_value[node.name]
    if not compute then refuse(node, "%s of a scalar", node.name) end
    if not x.constant and in_math[node.name] then
      self.math = true
      return self.terms:scalar(compute(x.value) + 0.0, ("math.%s(%s)"):format(node.name, x.text))
    end
    if not x.constant then self.fixed[#self.fixed + 1] = x end
    return self.terms:scalar(compute(x.value) + 0.0)
  end
  local rule <const> = unary[node.name]
  if not rule then refuse(node, "%s has no counterpart on the engines", node.name) end
  return rule(self, x)
end

local binary <const> = {}
function binary:add(a, b) return self.terms:add(a, b) end
function binary:subtract(a, b) return self.terms:sub(a, b) end
function binary:multiply(a, b) return self.terms:mul(a, b) end
function binary:divide(a, b) return self.terms:div(a, b) end
function binary:maximum(a, b) return self.terms:alu("max", a, b) end
function binary:minimum(a, b) return self.terms:alu("min", a, b) end
binary.fmax, binary.fmin = binary.maximum, binary.minimum
function binary:power(a, b) return self.terms:power(a, b) end
-- a = b * quotient + rest, the quotient the nearest integer; and 1 where the floor is one less than that. The rest is exact where
-- a / b is not, so that it tells the floor.
function Lower:divided(a, b)
  local t <const> = self.terms
  local quotient <const> = self:round(t:div(a, b))
  local rest <const> = t:sub(a, t:mul(quotient, b))
  local zero <const> = self:const(0.0)
  if is_scalar(b) then
    if not b.constant then self.fixed[#self.fixed + 1] = b end
    return quotient, rest, t:alu(b.value > 0 and "less" or "greater", rest, zero)
  end
  local apart <const> = t:alu("not_equal", t:alu("less", rest, zero), t:alu("less", b, zero))
  return quotient, rest, t:mul(apart, t:alu("not_equal", rest, zero))
end
function binary:floor_divide(a, b)
  if is_scalar(a) and is_scalar(b) then return self.terms:scalar(a.value // b.value + 0.0, "(" .. a.text .. ") // (" .. b.text .. ")") end
  local quotient <const>, _, over <const> = self:divided(a, b)
  return self.terms:sub(quotient, over)
end
function binary:remainder(a, b)
  local t <const> = self.terms
  if is_scalar(a) and is_scalar(b) then return t:scalar(a.value % b.value + 0.0, "(" .. a.text .. ") % (" .. b.text .. ")") end
  local _, rest <const>, over <const> = self:divided(a, b)
  return t:add(rest, t:mul(over, b))
end
function binary:fmod(a, b)
  local t <const> = self.terms
  if is_scalar(a) then return t:sub(a, t:mul(self:trunc(t:div(a, b)), b)) end
  local size <const> = is_scalar(b) and self:const(math.abs(b.value)) or t:act("abs", b)
  if is_scalar(b) and not b.constant then self.fixed[#self.fixed + 1] = b end
  return t:mul(t:act("sign", a), binary.remainder(self, t:act("abs", a), size))
end
function binary:hypot(a, b)
  local t <const> = self.terms
  if is_scalar(a) or is_scalar(b) then return t:act("sqrt", t:add(t:mul(a, a), t:mul(b, b))) end
  -- Squares of small values vanish.
  local lift <const> = t:lift(t:alu("max", t:act("abs", a), t:act("abs", b)), 40, 100)
  local function up(x) return t:act("square", t:mul(x, lift)) end
  return t:mul(t:act("sqrt", t:add(up(a), up(b))), t:recip(lift))
end
function binary:logaddexp(a, b)
  local t <const> = self.terms
  return t:add(t:alu("max", a, b), t:act("softplus", t:negate(t:act("abs", t:sub(a, b)))))
end
local function logical(name)
  return function(self, a, b)
    if is_scalar(a) then a, b = b, a end
    return self.terms:make({ op = name, args = { a, b }, truth = true })
  end
end
binary.logical_and, binary.logical_or, binary.logical_xor = logical("logical_and"), logical("logical_or"), logical("logical_xor")
binary.bitwise_and, binary.bitwise_or, binary.bitwise_xor = binary.logical_and, binary.logical_or, binary.logical_xor

local reductions <const> = { sum = "add", max = "max", min = "min", prod = "mul", all = "min", any = "max" }

-- The term of a leaf: an input seen with a shape, or an index range.
function Lower:leaf(node, info)
  local source <const> = info.source
  local leaf <const> = self.leaf_of[node.id]
  if source.op == "arange" then
    local key <const> = (info.row_index and "row" or "column") .. "|" .. source.start .. "|" .. source.step .. "|" .. table.concat(info.view or {}, ",")
    return self.terms:make({ op = "iota", key = key, row = info.row_index, start = source.start, step = source.step, tail = info.tail,
      n = info.n, deps = leaf.deps, leaf = leaf })
  end
  local key <const> = source.name .. "|" .. table.concat(info.view or source.shape, ",")
  return self.terms:make({ op = "input", key = key, name = source.name, tail = info.tail, n = info.n, deps = leaf.deps, leaf = leaf })
end

function Lower:scalar_leaf(node)
  if node.op == "const" then return self.terms:scalar(node.value, self.const_text[node.id]) end
  if node.op == "param" then return self.terms:scalar(node.value, node.name) end
  return self.terms:scalar(node.value, self.dim_text(node.name, node.axis))
end

function Lower:term(node)
  local known <const> = self.done[node.id]
  if known then return known end
  local t <const> = self.terms
  local info <const> = self.layout.of[node.id]
  local args <const> = {}
  for i, input in ipairs(node.inputs) do args[i] = self:term(input) end
  t.site = node.site
  local op <const> = node.op
  local out
  if op == "const" or op == "param" or op == "dim" then
    out = self:scalar_leaf(node)
  elseif op == "full" then
    out = args[1]
  elseif op == "input" or op == "arange" then
    out = self:leaf(node, info)
  elseif op == "reshape" or op == "broadcast" then
    if info.source then out = self:leaf(node, info) else out = args[1] end
    if info.scalar then out = args[1] end
  elseif op == "unary" then
    if node.inputs[1].dtype == "bool" and node.name == "invert" then
      out = t:alu("equal", args[1], self:const(0.0))
    else
      out = self:apply_unary(node, args[1])
    end
  elseif op == "binary" then
    local rule <const> = binary[node.name]
    if not rule then refuse(node, "%s has no counterpart on the engines", node.name) end
    if node.name:find("^bitwise") and node.dtype ~= "bool" then refuse(node, "bitwise arithmetic on integers") end
    out = rule(self, args[1], args[2])
  elseif op == "compare" then
    if is_scalar(args[1]) and is_scalar(args[2]) then refuse(node, "a comparison of constants") end
    out = t:alu(node.name, args[1], args[2])
  elseif op == "where" then
    if is_scalar(args[1]) then out = args[1].value ~= 0 and args[2] or args[3] else out = t:select(args[1], args[2], args[3]) end
  elseif op == "cast" then
    local from <const> = node.inputs[1].dtype
    if node.name == "bool" and from ~= "bool" then
      out = t:alu("not_equal", args[1], self:const(0.0))
    elseif node.name == "int64" and from == "float64" then
      out = is_scalar(args[1]) and args[1] or self:trunc(args[1])
    else
      out = args[1]
    end
  elseif op == "reduce" then
    if info.identity then out = args[1] else out = t:reduce(reductions[node.name], args[1]) end
  elseif op == "cumulative" then
    out = t:make({ op = "scan", f = node.name, args = { args[1] } })
  elseif op == "slice" then
    out = t:make({ op = "view", key = node.start .. "," .. node.step, start = node.start, step = node.step, args = { args[1] },
      tail = info.tail, n = node.extent, deps = args[1].deps })
  elseif op == "select" and info.identity then
    out = args[1]
  elseif op == "select" then
    out = t:make({ op = "view", key = tostring(node.index), start = node.index, step = 1, args = { args[1] }, tail = "one", n = 1, deps = args[1].deps })
  elseif op == "concat" then
    local sizes <const> = {}
    for i, input in ipairs(node.inputs) do sizes[i] = input.shape[#input.shape] end
    out = t:make({ op = "concat", key = table.concat(sizes, ","), sizes = sizes, args = args, tail = "n", n = info.n })
  elseif op == "interleave" then
    out = t:make({ op = "concat", key = "by turns", step = #args, args = args, tail = "n", n = info.n })
  else
    refuse(node, "this operation (%s) is outside elementwise chains and row-wise reductions", op)
  end
  if not is_scalar(out) and not out.hint then out.hint = self.name_of(node) end
  self.done[node.id] = out
  return out
end

-- graph: {outputs = {nodes}, trace}. dim_text(input_name, axis) -> Python expression; name_of(node) -> name or nil;
-- const_text[id] -> Python expression of a whole number that changes with the case.
-- Returns {terms, outputs = {terms}, layout, merged, fixed = {scalars whose value the kernel assumes}}.
function M.lower(outputs, dim_text, name_of, const_text)
  local layout <const> = layout_module.analyse(outputs)
  local rows_free = true -- no operand has rows of its own
  for _, extent in ipairs(layout.space) do rows_free = rows_free and extent == 1 end
  local leaves <const>, leaf_of <const> = {}, {}
  for _, node in ipairs(layout.nodes) do
    local info <const> = layout.of[node.id]
    if info.source then
      local leaf <const> = { info = info, node = node, source = info.source }
      leaf_of[node.id] = leaf
    end
  end
  for id, leaf in pairs(leaf_of) do
    if layout.used[id] then leaves[#leaves + 1] = leaf end
  end
  table.sort(leaves, function(a, b) return a.node.id < b.node.id end)
  local merged, to = layout_module.merge(layout, leaves)
  local folded = false
  if rows_free then
    -- One row only. Purely elementwise work is spread over the partitions: the row is folded into (rows, n / rows).
    folded = layout.k == 1
    for _, node in ipairs(layout.nodes) do
      local op <const> = node.op
      if op == "reduce" or op == "cumulative" or op == "slice" or op == "select" or op == "concat" or op == "interleave"
        or op == "arange" then folded = false end
    end
    for _, node in ipairs(outputs) do folded = folded and layout.of[node.id].tail == "n" end
    merged, to = { { extent = 1, first = 1, last = 0 } }, {}
    for _, leaf in ipairs(leaves) do leaf.deps = (leaf.info.tail == "n" or not folded) and { [1] = true } or {} end
  end
  local self <const> = setmetatable({
    layout = layout, terms = terms_module.new(), done = {}, leaf_of = leaf_of, fixed = {}, dim_text = dim_text, name_of = name_of,
    const_text = const_text or {},
  }, Lower)
  local out <const> = {}
  for i, node in ipairs(outputs) do out[i] = self:term(node) end
  return { terms = self.terms, outputs = out, layout = layout, merged = merged, axis_of = to, folded = folded, single_row = rows_free,
    leaves = leaves, fixed = self.fixed, math = self.math }
end

return M
