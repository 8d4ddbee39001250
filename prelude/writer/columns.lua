-- SPDX-License-Identifier: MIT
-- Column slices and joins of rows that are too long to keep whole. A slice is moved to where the row is read (x[:, a:b] of
-- f(x, y) is f of the slices), a join to where the row is written, so that what remains is chains over columns of one width
-- each, which can be worked on in chunks.

local terms_module <const> = require "writer.terms"

local M <const> = {}

local is_scalar <const> = terms_module.is_scalar

local Sink <const> = {}
Sink.__index = Sink

local function refuse(message) error({ kind = "refused", message = message }, 0) end

-- The same operation on other arguments.
local function remake(self, t, args, n)
  local fields <const> = { op = t.op, f = t.f, key = t.key, args = args, compare = t.compare, truth = t.truth, hint = t.hint, sizes = t.sizes, step = t.step }
  if n then fields.tail, fields.n = n == 1 and "one" or "n", n end
  return self.terms:make(fields)
end

local leaf <const> = { input = true, iota = true }

-- Columns start, start + step, ... (n of them) of a term.
function Sink:restrict(t, start, n, step)
  if is_scalar(t) or t.tail ~= "n" then return t end
  if start == 0 and step == 1 and n == t.n then return t end
  if t.op == "iota" then
    return self.terms:make({ op = "iota", key = table.concat({ t.key, start, n, step }, "|"), row = t.row, start = t.start + start * t.step,
      step = t.step * step, tail = n == 1 and "one" or "n", n = n, deps = t.deps, leaf = t.leaf })
  elseif t.op == "input" then
    return self.terms:make({ op = "view", key = start .. "," .. step, start = start, step = step, args = { t }, tail = n == 1 and "one" or "n", n = n,
      deps = t.deps, hint = t.hint })
  elseif t.op == "view" then
    return self:restrict(t.args[1], t.start + start * t.step, n, t.step * step)
  elseif t.op == "concat" then
    local last <const> = start + (n - 1) * step
    if t.step then
      if step % t.step ~= 0 and n > 1 then refuse("columns are picked from columns that were put by turns") end
      return self:restrict(t.args[start % t.step + 1], start // t.step, n, math.max(1, step // t.step))
    end
    local at = 0
    for i, part in ipairs(t.args) do
      if start >= at and last < at + t.sizes[i] then return self:restrict(part, start - at, n, step) end
      at = at + t.sizes[i]
    end
    refuse("columns are picked across the parts of a join")
  elseif t.op == "scan" then
    refuse("columns are picked from a running sum")
  end
  local args <const> = {}
  for i, arg in ipairs(t.args) do args[i] = self:restrict(arg, start, n, step) end
  return remake(self, t, args, n)
end

-- The columns at which a join inside a term changes over, as a set; `by` tells parts that are put by turns.
function Sink:cuts(t, out)
  if is_scalar(t) or t.tail ~= "n" or leaf[t.op] or t.op == "view" then return end
  if t.op == "concat" then
    if t.step then
      out.by = out.by and out.by ~= t.step and refuse("columns put by turns in two ways") or t.step
    else
      local at = 0
      for _, size in ipairs(t.sizes) do
        at = at + size
        if at < t.n then out[at] = true end
      end
    end
    return
  end
  if t.op == "scan" then return end
  for _, arg in ipairs(t.args) do self:cuts(arg, out) end
end

-- A term as parts without joins: list of {term, start, n, step}.
function Sink:parts(t)
  if is_scalar(t) or t.tail ~= "n" then return { { term = t, start = 0, n = t.n, step = 1 } } end
  local cuts <const> = {}
  self:cuts(t, cuts)
  local list <const> = {}
  if cuts.by then
    for _ in pairs(cuts) do list[#list + 1] = true end
    if #list > 1 then refuse("columns are put by turns beside a join") end
    for i = 0, cuts.by - 1 do
      local n <const> = t.n // cuts.by
      list[i + 1] = { term = self:clear(self:restrict(t, i, n, cuts.by)), start = i, n = n, step = cuts.by }
    end
    return list
  end
  local points <const> = { 0 }
  for at in pairs(cuts) do points[#points + 1] = at end
  points[#points + 1] = t.n
  table.sort(points)
  for i = 1, #points - 1 do
    local n <const> = points[i + 1] - points[i]
    list[i] = { term = self:clear(self:restrict(t, points[i], n, 1)), start = points[i], n = n, step = 1 }
  end
  return list
end

local join <const> = { add = function(t, a, b) return t:add(a, b) end, mul = function(t, a, b) return t:mul(a, b) end,
  max = function(t, a, b) return t:alu("max", a, b) end, min = function(t, a, b) return t:alu("min", a, b) end }

-- A term with its slices at the inputs, and no join inside a reduction.
function Sink:clear(t)
  if is_scalar(t) or leaf[t.op] then return t end
  local known <const> = self.memo[t.id]
  if known then return known end
  local made
  if t.op == "view" then
    local whole <const> = self:clear(t.args[1])
    made = self:restrict(whole, t.start, t.n, t.step)
    if made.op ~= "view" then made = self:clear(made) end
  elseif t.op == "reduce" then
    for _, part in ipairs(self:parts(t.args[1])) do
      local one <const> = part.term
      -- A part of one value per row, or of a number.
      if is_scalar(one) or one.tail ~= "n" then
        if part.n ~= 1 and t.f ~= "max" and t.f ~= "min" then refuse("a join of one value repeated") end
        made = made and join[t.f](self.terms, made, one) or one
      else
        local share <const> = self.terms:make({ op = "reduce", f = t.f, args = { one }, tail = "one", n = 1, hint = not made and t.hint or nil })
        made = made and join[t.f](self.terms, made, share) or share
      end
    end
  else
    local args <const> = {}
    for i, arg in ipairs(t.args) do args[i] = self:clear(arg) end
    made = remake(self, t, args, t.tail == "n" and t.n or nil)
  end
  self.memo[t.id] = made
  return made
end

-- Outputs ({term, tail, n, ...}) as parts: each a copy of its output with the term, the first column, their number and step.
function M.sink(terms, outputs)
  local self <const> = setmetatable({ terms = terms, memo = {} }, Sink)
  local list <const> = {}
  for _, output in ipairs(outputs) do
    local term <const> = self:clear(output.term)
    local split <const> = output.tail == "n" and not is_scalar(term) and term.tail == "n"
    for _, part in ipairs(split and self:parts(term) or { { term = term, start = 0, n = output.n, step = 1 } }) do
      local copy <const> = {}
      for k, v in pairs(output) do copy[k] = v end
      copy.of, copy.term, copy.start, copy.n, copy.step = output, part.term, part.start, part.n, part.step
      copy.part = part.start ~= 0 or part.step ~= 1 or part.n ~= output.n
      list[#list + 1] = copy
    end
  end
  return list
end

return M
