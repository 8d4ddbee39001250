-- SPDX-License-Identifier: MIT
-- Terms: what a value is, in operations the engines have. Built bottom-up through constructors that keep a normal form
-- (constant factors outermost, scalars on the right, shared subterms shared) and recognise what an engine computes in
-- one step: x*sigmoid(x) is silu, 0.5x(1+erf(x/sqrt 2)) is gelu, and so on, whatever it was called in the reference.
--
-- A term is {id, op, tail = "n"|"one"|nil (a Python scalar), n, deps = set of merged leading axes, args...}. Scalars are
-- {op = "text", text, value, atom}: Python expressions over the kernel's arguments and shapes.

local M <const> = {}

local Terms <const> = {}
Terms.__index = Terms

function M.new() return setmetatable({ list = {}, by_key = {}, peepholes = {} }, Terms) end

-- Scalars -------------------------------------------------------------------------------------------------------------

local function number_text(v)
  if type(v) == "boolean" then return v and "1.0" or "0.0" end
  if math.type(v) == "integer" then return tostring(v) end
  if v ~= v then return "float('nan')" end
  if v == math.huge then return "float('inf')" end
  if v == -math.huge then return "float('-inf')" end
  local mantissa <const>, exponent <const> = ("%a"):format(v):match("^(0x1)p([+-]%d+)$")
  if mantissa and math.abs(tonumber(exponent)) > 20 then return ("2.0 ** %d"):format(tonumber(exponent)) end
  for digits = 1, 17 do
    local text <const> = ("%%.%dg"):format(digits):format(v)
    if tonumber(text) == v then
      if not text:find("[%.e]") then return text .. ".0" end
      return text
    end
  end
  return ("%.17g"):format(v)
end
M.number_text = number_text

function Terms:scalar(value, text)
  if type(value) == "boolean" then value = value and 1.0 or 0.0 end
  local constant <const> = text == nil
  text = text or number_text(value)
  local key <const> = "text|" .. text
  local known <const> = self.by_key[key]
  if known then return known end
  local term <const> = { op = "text", text = text, value = value, constant = constant, atom = text:find("^[%w_%.]+$") ~= nil
    and not text:find("^%-"), id = #self.list + 1 }
  self.list[term.id] = term
  self.by_key[key] = term
  return term
end

local function wrap(t) return t.atom and t.text or "(" .. t.text .. ")" end

local folds <const> = {
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  div = function(a, b) return a / b end,
  pow = function(a, b) return a ^ b end,
  max = math.max,
  min = math.min,
}
local signs <const> = { add = "+", sub = "-", mul = "*", div = "/", pow = "**" }

function Terms:scalar_op(name, a, b)
  local value <const> = folds[name](a.value, b.value)
  if a.constant and b.constant then return self:scalar(value + 0.0) end
  if name == "mul" then
    if a.constant and a.value == 1 then return b end
    if b.constant and b.value == 1 then return a end
  elseif name == "add" or name == "sub" then
    if b.constant and b.value == 0 then return a end
  elseif name == "div" and b.constant and b.value == 1 then
    return a
  end
  if name == "sub" and a.constant and a.value == 0 then return self:scalar(value, "-" .. wrap(b)) end
  if signs[name] then return self:scalar(value, wrap(a) .. " " .. signs[name] .. " " .. wrap(b)) end
  return self:scalar(value, ("%s if %s %s %s else %s"):format(wrap(a), wrap(a), name == "max" and ">=" or "<=", wrap(b), wrap(b)))
end

local function is_scalar(t) return t.op == "text" end
M.is_scalar = is_scalar
local function is_const(t, value) return t.op == "text" and t.constant and t.value == value end
local function near(t, value) return t.op == "text" and math.abs(t.value - value) <= 1e-6 * math.abs(value) end

-- Interning -------------------------------------------------------------------------------------------------------------

local function union(...)
  local out <const> = {}
  for _, t in ipairs({ ... }) do
    for axis in pairs(t.deps or {}) do out[axis] = true end
  end
  return out
end

function Terms:make(fields)
  local parts <const> = { fields.op, fields.f or "", fields.key or "", fields.tail or "", tostring(fields.n or "") }
  local args <const> = fields.args or {}
  for _, arg in ipairs(args) do parts[#parts + 1] = "#" .. arg.id end
  local key <const> = table.concat(parts, "|")
  local known <const> = self.by_key[key]
  if known then return known end
  fields.args = args
  if not fields.tail then
    fields.tail, fields.n = "one", 1
    for _, arg in ipairs(args) do
      if arg.tail == "n" then fields.tail, fields.n = "n", arg.n end
    end
  end
  fields.deps = fields.deps or union(table.unpack(args))
  fields.id = #self.list + 1
  fields.site = self.site
  self.list[fields.id] = fields
  self.by_key[key] = fields
  return fields
end

-- Constructors ------------------------------------------------------------------------------------------------------------

function Terms:act(f, x)
  if f == "abs" and x.op == "act" and x.f == "abs" then return x end
  if f == "sqrt" and x.op == "recip" then return self:act("rsqrt", x.args[1]) end
  -- 1/sqrt is one function; log(1+exp(x)) is softplus.
  if f == "log" and x.op == "shift" and is_const(x.args[2], 1.0) and x.args[1].op == "act" and x.args[1].f == "exp" then
    return self:act("softplus", x.args[1].args[1])
  end
  return self:make({ op = "act", f = f, args = { x } })
end

function Terms:scale(x, s)
  if is_scalar(x) then return self:scalar_op("mul", x, s) end
  if is_const(s, 1.0) or is_const(s, 1) then return x end
  if x.op == "scale" then return self:scale(x.args[1], self:scalar_op("mul", x.args[2], s)) end
  return self:make({ op = "scale", args = { x, s } })
end

function Terms:shift(x, s)
  if is_scalar(x) then return self:scalar_op("add", x, s) end
  if s.constant and s.value == 0 then return x end
  if x.op == "shift" and x.args[2].constant and s.constant then return self:shift(x.args[1], self:scalar_op("add", x.args[2], s)) end
  return self:make({ op = "shift", args = { x, s } })
end

function Terms:negate(x) return self:scale(x, self:scalar(-1.0)) end

local function unscaled(t)
  if t.op == "scale" then return t.args[1], t.args[2] end
  return t, nil
end

-- x with u = 1 + g(x) giving a known gate: returns function name and factor so that x*u = factor * f(x).
local function gate(x, u)
  if u.op ~= "shift" or not is_const(u.args[2], 1.0) then return nil end
  local g <const> = u.args[1]
  if g.op ~= "act" then return nil end
  local inner <const>, c <const> = unscaled(g.args[1])
  if g.f == "erf" and inner == x and c and near(c, 0.7071067811865476) then return "gelu", 2.0 end
  if g.f == "tanh" and c and near(c, 0.7978845608028654) and inner.op == "add" then
    for i = 1, 2 do
      local cubic <const>, d <const> = unscaled(inner.args[3 - i])
      if inner.args[i] == x and d and near(d, 0.044715) then
        if cubic.op == "mul" then
          for j = 1, 2 do
            local square <const> = cubic.args[3 - j]
            if cubic.args[j] == x and square.op == "act" and square.f == "square" and square.args[1] == x then return "gelu_apprx_tanh", 2.0 end
          end
        end
      end
    end
  end
  -- 1 + tanh(x/2) = 2 sigmoid(x).
  if g.f == "tanh" and c and near(c, 0.5) and inner == x then return "silu", 2.0 end
  return nil
end

function Terms:mul(a, b)
  if is_scalar(a) and is_scalar(b) then return self:scalar_op("mul", a, b) end
  if is_scalar(a) then a, b = b, a end
  if is_scalar(b) then return self:scale(a, b) end
  local ua <const>, sa <const> = unscaled(a)
  local ub <const>, sb <const> = unscaled(b)
  if sa or sb then
    local product <const> = self:mul(ua, ub)
    local factor <const> = sa and sb and self:scalar_op("mul", sa, sb) or sa or sb
    return self:scale(product, factor)
  end
  if a == b then return self:act("square", a) end
  for i = 1, 2 do
    local x <const>, y <const> = i == 1 and a or b, i == 1 and b or a
    if y.op == "act" and y.f == "sigmoid" and y.args[1] == x then return self:act("silu", x) end
    if y.op == "act" and y.f == "tanh" and y.args[1].op == "act" and y.args[1].f == "softplus" and y.args[1].args[1] == x then return self:act("mish", x) end
    local f <const>, factor <const> = gate(x, y)
    if f then return self:scale(self:act(f, x), self:scalar(factor)) end
    -- x/(sqrt(v)) arrives as x * recip(sqrt(v)): recip handles it.
  end
  -- Rows before whole rows, so that per-row factors multiply once: (x * r1) * r2 = x * (r1 * r2).
  if a.tail == "one" and b.tail == "n" then a, b = b, a end
  if a.tail == "n" and b.tail == "one" and a.op == "mul" and a.args[2].tail == "one" and a.key ~= "lifted" then
    return self:mul(a.args[1], self:mul(a.args[2], b))
  end
  if a.id > b.id and a.tail == b.tail then a, b = b, a end
  return self:make({ op = "mul", args = { a, b } })
end

function Terms:recip(x)
  if is_scalar(x) then return self:scalar_op("div", self:scalar(1.0), x) end
  if x.op == "scale" then return self:scale(self:recip(x.args[1]), self:scalar_op("div", self:scalar(1.0), x.args[2])) end
  if x.op == "act" and x.f == "sqrt" then return self:act("rsqrt", x.args[1]) end
  if x.op == "act" and x.f == "rsqrt" then return self:act("sqrt", x.args[1]) end
  if x.op == "recip" then return x.args[1] end
  -- 1/(1+exp(-x)) is sigmoid(x).
  if x.op == "shift" and is_const(x.args[2], 1.0) and x.args[1].op == "act" and x.args[1].f == "exp" then
    return self:act("sigmoid", self:negate(x.args[1].args[1]))
  end
  return self:make({ op = "recip", args = { x } })
end

-- Is a term known to be zero, or at least as large as its reciprocal needs to stay finite in float32?
local bounded_acts <const> = { exp = true, sqrt = true, rsqrt = true, sigmoid = true, softplus = true, sign = true }
local function bounded(t)
  if is_scalar(t) or t.compare or t.truth then return true end
  local op <const> = t.op
  if op == "act" then return bounded_acts[t.f] or t.f == "abs" and bounded(t.args[1]) end
  if op == "shift" then return math.abs(t.args[2].value) >= 1e-20 end
  if op == "scale" then return bounded(t.args[1]) end
  if op == "max" then
    local c <const> = t.args[2]
    return is_scalar(c) and c.value >= 1e-30 or bounded(t.args[1]) and bounded(c)
  end
  if op == "reduce" then return bounded(t.args[1]) and (t.f == "max" or t.f == "min" or t.f == "add") end
  if op == "mul" or op == "add" then return bounded(t.args[1]) and bounded(t.args[2]) end
  if op == "select" then return bounded(t.args[2]) and bounded(t.args[3]) end
  return op == "recip" or op == "iota" or op == "round"
end

-- A factor that brings a small value up: 2^raise where size < 2^-below, else 1.
function Terms:lift(size, below, raise)
  local small <const> = self:alu("less", size, self:scalar(2.0 ^ -below))
  return self:make({ op = "max", args = { self:scale(small, self:scalar(2.0 ^ raise)), self:scalar(1.0) }, hint = "lift" })
end

-- The engines have reciprocals, no division. The reciprocal of a value below 2^-126 is infinite, so that a denominator that may be
-- that small is brought up first, and the numerator with it.
function Terms:div(a, b)
  if is_scalar(b) then
    if is_scalar(a) then return self:scalar_op("div", a, b) end
    return self:scale(a, self:scalar_op("div", self:scalar(1.0), b))
  end
  if is_scalar(a) or bounded(b) then return self:mul(a, self:recip(b)) end
  local lift <const> = self:lift(self:act("abs", b), 100, 100)
  return self:mul(self:make({ op = "mul", key = "lifted", args = { a, lift } }), self:recip(self:mul(b, lift)))
end

function Terms:add(a, b)
  if is_scalar(a) and is_scalar(b) then return self:scalar_op("add", a, b) end
  if is_scalar(a) then a, b = b, a end
  if is_scalar(b) then return self:shift(a, b) end
  -- max(x,0) + softplus(-|x|) is softplus(x), written so that it does not overflow.
  for i = 1, 2 do
    local m <const>, l <const> = i == 1 and a or b, i == 1 and b or a
    if m.op == "max" and is_scalar(m.args[2]) and m.args[2].constant and m.args[2].value == 0 and l.op == "act" and l.f == "softplus" then
      local inner <const>, s <const> = unscaled(l.args[1])
      if s and is_const(s, -1.0) and inner.op == "act" and inner.f == "abs" and inner.args[1] == m.args[1] then return self:act("softplus", m.args[1]) end
    end
  end
  if a == b then return self:scale(a, self:scalar(2.0)) end
  if a.tail == "one" and b.tail == "n" then a, b = b, a end
  if a.id > b.id and a.tail == b.tail then a, b = b, a end
  return self:make({ op = "add", args = { a, b } })
end

function Terms:sub(a, b)
  if is_scalar(b) then
    if is_scalar(a) then return self:scalar_op("sub", a, b) end
    return self:shift(a, self:scalar_op("sub", self:scalar(0.0), b))
  end
  if is_scalar(a) then
    return self:shift(self:negate(b), a)
  end
  return self:make({ op = "sub", args = { a, b } })
end

-- max min power and the comparisons; `name` is the nl operation.
local swapped <const> = { equal = "equal", not_equal = "not_equal", less = "greater", less_equal = "greater_equal", greater = "less",
  greater_equal = "less_equal" }
function Terms:alu(name, a, b)
  if name == "max" or name == "min" then
    if is_scalar(a) and is_scalar(b) then return self:scalar_op(name, a, b) end
    if is_scalar(a) or (a.tail == "one" and b.tail == "n") then a, b = b, a end
    if a == b then return a end
    return self:make({ op = name, args = { a, b } })
  end
  if swapped[name] and (is_scalar(a) or (a.tail == "one" and b.tail == "n")) then a, b, name = b, a, swapped[name] end
  return self:make({ op = name, args = { a, b }, compare = swapped[name] ~= nil })
end

function Terms:power(a, b)
  if is_scalar(a) and is_scalar(b) then return self:scalar_op("pow", a, b) end
  if is_scalar(b) and b.constant then
    local e <const> = b.value
    if e == 0 then return self:scalar(1.0) end
    if e == 1 then return a end
    if e == 2 then return self:act("square", a) end
    if e == 0.5 then return self:act("sqrt", a) end
    if e == -0.5 then return self:act("rsqrt", a) end
    if e == -1 then return self:recip(a) end
    if e == math.floor(e) and math.abs(e) <= 64 then
      local n = math.tointeger(math.abs(e))
      local out, base = nil, a
      while n > 0 do
        if n % 2 == 1 then out = out and self:mul(out, base) or base end
        n = n // 2
        if n > 0 then base = self:act("square", base) end
      end
      return e < 0 and self:recip(out) or out
    end
    if e * 2 == math.floor(e * 2) and math.abs(e) <= 8 then
      local whole <const> = math.floor(e)
      return self:mul(self:power(a, self:scalar(whole + 0.0)), self:act("sqrt", a))
    end
  end
  if is_scalar(a) and a.constant and a.value > 0 then
    return self:act("exp", self:mul(b, self:scalar(math.log(a.value))))
  end
  return self:make({ op = "power", args = { a, b } })
end

function Terms:reduce(f, x, n)
  -- A factor common to the row leaves the sum.
  if f == "add" then
    if x.op == "scale" then return self:scale(self:reduce("add", x.args[1], n), x.args[2]) end
    if x.op == "mul" and x.args[2].tail == "one" then return self:mul(self:reduce("add", x.args[1], n), x.args[2]) end
  end
  return self:make({ op = "reduce", f = f, args = { x }, tail = "one", n = 1, deps = union(x) })
end

function Terms:select(c, a, b)
  if a == b then return a end
  return self:make({ op = "select", args = { c, a, b }, tail = (c.tail == "n" or a.tail == "n" or b.tail == "n") and "n" or "one",
    n = math.max(c.n or 1, a.n or 1, b.n or 1) })
end

-- log(1 + u) without losing a small u: with y = 1 + u, log(y) * u / (y - 1), and u itself where y is 1.
function Terms:log1p(u)
  if is_scalar(u) then return self:act("log", self:shift(u, self:scalar(1.0))) end
  if u.op == "act" and u.f == "exp" then return self:act("softplus", u.args[1]) end
  local y <const> = self:make({ op = "shift", args = { u, self:scalar(1.0) } })
  local d <const> = self:make({ op = "shift", args = { y, self:scalar(-1.0) } })
  local tiny <const> = self:alu("equal", d, self:scalar(0.0))
  return self:mul(self:add(self:make({ op = "act", f = "log", args = { y } }), tiny), self:mul(u, self:recip(self:add(d, tiny))))
end

return M
