-- SPDX-License-Identifier: MIT
-- The repair rate on seeded bugs: operators of tests/mutations break kernels at sites drawn by seed, work.debug repairs them
-- step by step, and a repair counts only when the kernel is proved. The floors are measured rates less a margin.

local t <const> = require "tests.lib"
local debug_step <const> = require "work.debug"
local operators <const> = require "tests.mutations.operators"
local trial <const> = require "tests.mutations.trial"
local source <const> = require "nki.source"

local FLOORS <const> = { build = 0.9, numbers = 0.85, two = 0.5 }
local WEAK <const> = { ["copy shape"] = true } -- no floor of its own: it counts towards its kind's only
local SEED <const> = math.tointeger(tonumber(os.getenv("NKILN_SEED") or "1")) or 1 -- fixed by default, so that a failure can be seen again

t.test("mutations are drawn by seed, change one place, and every class has a site", function()
  local texts <const> = trial.texts()
  for _, operator in ipairs(operators.list) do
    local sites = 0
    for name, text in pairs(texts) do
      sites = sites + operators.sites(operator, text)
      local one <const>, line <const> = operators.apply(operator, text, operators.random(7))
      local again <const> = operators.apply(operator, text, operators.random(7))
      t.eq(one, again, operator.class)
      t.ok(one ~= text and (one == nil or line > 0), operator.class .. " changes nothing in " .. name)
    end
    t.ok(sites > 0, operator.class .. " has no site")
  end
  t.ok(#operators.list >= 15)
end)

t.test("what is not broken is clean, and proved", function()
  local outcome <const>, steps <const>, last <const> = trial.debug(require("tests.mutations.kernels")[1], trial.texts().row_total)
  t.eq({ outcome, steps, last.verification.ok }, { "equivalent", 0, true })
end)

t.test("seeded bugs are repaired and proved, class by class", function()
  local sums <const> = {}
  local misses <const> = {}
  for _, row in ipairs(trial.rates { seed = SEED, per_class = os.getenv("NKILN_SANITIZED") and 1 or 2, two = 5 }) do
    local sum <const> = sums[row.kind] or { repaired = 0, tried = 0 }
    sums[row.kind] = sum
    sum.repaired, sum.tried = sum.repaired + row.repaired, sum.tried + row.tried
    for _, miss in ipairs(row.misses) do misses[#misses + 1] = row.class .. ": " .. miss end
    t.ok(row.tried + row.equivalent > 0, row.class .. " was not tried")
    if not WEAK[row.class] and row.kind ~= "two" then
      t.ok(row.repaired >= row.tried - 1, ("%s: %d of %d\n%s"):format(row.class, row.repaired, row.tried, table.concat(row.misses, "\n")))
    end
  end
  for kind, sum in pairs(sums) do
    t.ok(sum.repaired >= FLOORS[kind] * sum.tried,
      ("seed %d, %s: %d of %d repaired\n%s"):format(SEED, kind, sum.repaired, sum.tried, table.concat(misses, "\n")))
  end
end)

local function step(text, seen)
  return debug_step.run({
    path = "tests/kernels/softmax.py", source = text, cases = { "x=bfloat16[130,65], scale=0.5" }, reference = "tests/kernels/softmax_ref.py",
    target = "trn2", nki_version = "0.6", roots = { "tests/kernels" }, seen = seen or {}, distributions = 2,
  })
end

t.test("a step says what it tried, gives edits that make its text, and never a text it has seen", function()
  local broken <const> = trial.texts().softmax:gsub("operand0=scale", "operand0=1.0")
  local first <const> = step(broken)
  t.eq({ first.status, first.stage }, { "fixed", "algorithm" })
  t.ok(first.tried >= 1)
  t.eq(source.apply(broken, first.fix.edits), first.text)
  local second <const> = step(broken, { [first.hash] = true })
  t.ok(second.hash ~= first.hash, "the same text again")
end)

t.test("what no small change repairs is stuck, and says how much was tried", function()
  local result <const> = step((trial.texts().softmax:gsub("    return out", "    assert scale < 0.0\n    return out")))
  t.eq({ result.status, result.stage, result.text }, { "stuck", "build", nil })
  t.ok(result.tried > 0)
end)
