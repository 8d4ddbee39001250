-- SPDX-License-Identifier: MIT
-- How wrong a kernel's numbers are, cheaply and the same way for every candidate of a search. Inputs and the reference's
-- answers are made once; each text then costs one run per set in exact mode, so only the algorithm is measured.
--
--   measure.new{ request=, reference=, sets={{case=parsed, distribution=name?, seed=?}} } -> meter | nil, err (a reference that fails)
--   meter:of(text, entry[, base]) -> { ok=bool, score=, wrong=, count=, error=diagnostic or nil }
--
-- `wrong` of `count` elements are outside their allowance. `score` runs from 0 (right) to 2: the share of wrong elements, plus
-- the mean of |got - want| / (|got| + |want|) with 1 for what is not finite; averaged over the sets. A kernel that does not
-- run, or whose outputs have other shapes, has score 3. With `base`, a measure already taken, the sets end as soon as the text cannot
-- be better any more. measure.better(a, b): does a improve on b by more than chance?

local array <const> = require "rt.array"
local inputs_module <const> = require "verify.inputs"
local session <const> = require "nki.session"
local verify <const> = require "verify"

local M <const> = {}
local meter <const> = {}
meter.__index = meter

M.NOT_RUN = 3.0

local function find_distribution(name)
  for _, distribution in ipairs(inputs_module.distributions) do
    if distribution.name == name and not distribution.private then return distribution end
  end
  return inputs_module.distributions[1]
end

function M.new(options)
  local self <const> = setmetatable({ request = options.request, sets = {} }, meter)
  for i, wanted in ipairs(options.sets) do
    local arguments <const>, elements <const> = verify.arguments_of(wanted.case)
    local distribution <const> = find_distribution(wanted.distribution or "normal")
    local inputs <const> = inputs_module.make(arguments, distribution, wanted.seed or 4242)
    local expected <const>, err <const> = verify.expected_of(options.reference, arguments, inputs)
    if not expected then return nil, err end
    self.sets[i] = {
      case = wanted.case, inputs = inputs, expected = expected, special = distribution.special,
      spread = verify.spread_of(options.reference, arguments, inputs, expected, elements),
    }
  end
  return self
end

-- The mean over elements of |a - b| / (|a| + |b|), 1 where either is not finite, 0 where both are equal.
local function distance(got, want)
  local finite <const> = array.binary("logical_and", array.unary("isfinite", got), array.unary("isfinite", want))
  local zero <const>, one <const> = array.new("float64", {}, 0.0), array.new("float64", {}, 1.0)
  local a <const>, b <const> = array.where(finite, got, zero), array.where(finite, want, zero)
  local gap <const> = array.unary("abs", array.binary("subtract", a, b))
  local size <const> = array.binary("add", array.binary("add", array.unary("abs", a), array.unary("abs", b)), 1e-300)
  return array.reduce("mean", array.where(finite, array.binary("divide", gap, size), one)):item()
end

local function judge(set, outputs)
  if #outputs ~= #set.expected then return nil end
  local wrong, count, apart = 0, 0, 0.0
  for i, output in ipairs(outputs) do
    local want <const> = set.expected[i].array
    local got <const> = output.array:cast("float64")
    if not verify.same_shape(got.shape, want.shape) then return nil end
    local judged <const> = verify.judge_algorithm(got, want, set.spread[i], set.special)
    wrong = wrong + math.min(judged.count or want.size, (judged.over or 0) + (judged.mismatches or 0))
    count = count + want.size
    if not judged.ok and want.size > 0 then apart = apart + distance(got, want) end
  end
  return wrong, count, apart / math.max(1, #outputs)
end

function meter:of(text, entry, base)
  local request <const> = self.request
  local out <const> = { ok = true, score = 0.0, wrong = 0, count = 0 }
  for _, set in ipairs(self.sets) do
    local run <const> = session.run({
      path = request.path, source = text, entry = entry, case = set.case, target = request.target, version = request.nki_version, mode = "exact",
      execute = true, inputs = set.inputs, poison = 1, roots = request.roots, cwd = request.cwd, step_limit = request.step_limit,
    })
    local wrong, count, apart
    if run.ok then wrong, count, apart = judge(set, run.outputs) end
    if not wrong then
      out.ok, out.score = false, M.NOT_RUN
      for _, d in ipairs(run.diagnostics) do if d.severity == "error" then out.error = d end end
      return out
    end
    if wrong > 0 then out.ok = false end
    out.wrong, out.count = out.wrong + wrong, out.count + count
    out.score = out.score + ((count > 0 and wrong / count or 0) + apart) / #self.sets
    if base and out.score > base.score then break end
  end
  return out
end

function M.better(a, b)
  if a.score >= M.NOT_RUN then return false end
  if b.score >= M.NOT_RUN then return true end
  return a.wrong < b.wrong - b.wrong // 100 and a.score < b.score or a.wrong <= b.wrong and a.score < 0.9 * b.score
end

return M
