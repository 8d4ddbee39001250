-- SPDX-License-Identifier: MIT
-- The repair rate on seeded bugs: operators of tests/mutations break kernels at sites drawn by seed, work.debug repairs them
-- step by step, and a repair counts only when the kernel is proved. The seed is drawn anew in every run and printed;
-- NKILN_SEED=n draws the same again. `build/nkiln-lua tests/mutations/rates.lua every 25` gives the rates without luck.

local t <const> = require "tests.lib"
local debug_step <const> = require "work.debug"
local edits <const> = require "debugging.edits"
local operators <const> = require "tests.mutations.operators"
local trial <const> = require "tests.mutations.trial"
local source <const> = require "nki.source"
local way <const> = require "debugging.way"

-- Draws per class, and how many classes are drawn (nil: all); under sanitizers everything is an order slower, so few classes get
-- as many draws. A class fails when it misses more than one of its draws, and all together may miss one draw in ten.
local SANITIZED <const> = os.getenv("NKILN_SANITIZED") ~= nil
local DRAWS <const>, CLASSES <const>, TWO <const> = 3, SANITIZED and 3 or nil, SANITIZED and 1 or 4
local PER_CLASS <const> = 1 -- misses
local FLOOR <const>, FLOOR_TWO <const> = 0.9, 0.5
local SEED <const> = math.tointeger(tonumber(os.getenv("NKILN_SEED") or "")) or math.random(1, 1 << 30)

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

-- What a list of rows says against the floors: sentences, none when all hold.
local function complaints(rows)
  local out <const>, sums <const> = {}, {}
  for _, row in ipairs(rows) do
    local kind <const> = row.kind == "two" and "two" or "one"
    local sum <const> = sums[kind] or { repaired = 0, tried = 0, misses = {} }
    sums[kind] = sum
    sum.repaired, sum.tried = sum.repaired + row.repaired, sum.tried + row.tried
    for _, miss in ipairs(row.misses) do sum.misses[#sum.misses + 1] = row.class .. ": " .. miss end
    if row.tried + row.equivalent == 0 then out[#out + 1] = row.class .. " was not tried" end
    if kind == "one" and row.tried - row.repaired > PER_CLASS then
      out[#out + 1] = ("%s: %d of %d\n%s"):format(row.class, row.repaired, row.tried, table.concat(row.misses, "\n"))
    end
  end
  for kind, sum in pairs(sums) do
    local floor <const> = kind == "two" and FLOOR_TWO or FLOOR
    if sum.repaired < floor * sum.tried and sum.tried - sum.repaired > 1 then
      out[#out + 1] = ("%s: %d of %d\n%s"):format(kind == "two" and "two bugs at once" or "all classes", sum.repaired, sum.tried,
        table.concat(sum.misses, "\n"))
    end
  end
  return out
end

t.test("the floors can fail: two misses in a class, one in eight over all", function()
  local function row(class, kind, repaired, tried)
    return { class = class, kind = kind, repaired = repaired, tried = tried, equivalent = 0, misses = {} }
  end
  t.eq(#complaints { row("a", "build", 3, 3), row("b", "numbers", 2, 3), row("two bugs", "two", 3, 4) }, 0)
  t.eq(#complaints { row("a", "build", 1, 3), row("b", "numbers", 30, 30) }, 1)
  t.eq(#complaints { row("a", "build", 2, 3), row("b", "numbers", 2, 3), row("c", "numbers", 2, 3) }, 1)
  t.eq(#complaints { row("a", "build", 3, 3), row("two bugs", "two", 1, 4) }, 1)
  t.eq(#complaints { row("a", "build", 0, 0) }, 1)
end)

t.test("seeded bugs are repaired and proved, class by class", function()
  print(("      mutations are drawn with NKILN_SEED=%d"):format(SEED))
  local rows <const> = trial.rates { seed = SEED, per_class = DRAWS, two = TWO, classes = CLASSES }
  local rates <const> = {}
  for _, row in ipairs(rows) do rates[#rates + 1] = ("%s %d/%d"):format(row.class, row.repaired, row.tried) end
  print("      " .. table.concat(rates, ", "))
  local wrong <const> = complaints(rows)
  t.ok(#wrong == 0, ("NKILN_SEED=%d\n%s"):format(SEED, table.concat(wrong, "\n")))
end)

t.test("what people break by hand is repaired and proved, or said to be beyond a small change", function()
  local wrong <const> = {}
  for i, row in ipairs(require "tests.mutations.by_hand") do
    if not SANITIZED or i % 6 == 0 then
      local good <const> = t.read(trial.path(row[1]))
      local from <const>, to <const> = good:find(row[3], 1, true)
      t.ok(from, row[2] .. ": its text is not in the kernel")
      local outcome <const>, _, last <const> = trial.debug(row[1], good:sub(1, from - 1) .. row[4] .. good:sub(to + 1))
      if outcome ~= (row.blocked and "stuck" or "repaired") then
        wrong[#wrong + 1] = ("%s, %s: %s, %s"):format(row[1].name, row[2], outcome, last and tostring(last.message) or "?")
      end
    end
  end
  t.eq(wrong, {})
end)

t.test("a loop over whole tiles only gets its last, partial tile, in every usual spelling", function()
  local wrong <const> = {}
  for i, row in ipairs(require "tests.mutations.whole_tiles") do
    if not SANITIZED or i % 3 == 0 then
      local kernel <const> = { name = "whole_tiles", folder = "tests/mutations", cases = row[2] }
      local outcome <const>, repairs <const>, last <const> = trial.debug(kernel, row[3])
      if outcome ~= "repaired" or repairs > 2 or not (last.fix and last.fix.title:find("last, partial tile", 1, true)) or last.after.refuted then
        wrong[#wrong + 1] = ("%s: %s after %d, %s"):format(row[1], outcome, repairs, last and last.fix and last.fix.title or "?")
      end
    end
  end
  t.eq(wrong, {})
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

t.test("every kind of change has words for the report", function()
  local seen <const> = {}
  for _, text in pairs(trial.texts()) do
    local opened <const> = require("nki.session").open({ path = "k.py", source = text, target = "trn2", version = "0.6" })
    for _, kinds in ipairs { false, { precision = true, limit = true, destination = true, integer = true, unpack = true } } do
      for _, item in ipairs(edits.all(opened.tree, opened.file, opened.node, kinds or nil)) do seen[item.kind] = true end
    end
  end
  local n = 0
  for kind in pairs(seen) do
    n = n + 1
    t.ok(edits.words[kind], kind)
  end
  t.ok(n >= 15, n .. " kinds")
end)

t.test("the best text of a way is kept: never a worse one, nor one that is no better", function()
  local function built(wrong, score) return { read = true, built = true, ran = true, wrong = wrong, score = score } end
  local function fixed(name, before, after, rank)
    return { status = "fixed", text = name, hash = name, standing = before, after = { rank = rank or "better", standing = after } }
  end
  local w <const> = way.begin("a", "a")
  local broken <const> = { read = true, built = false, ran = false, reach = 10, errors = 2, line = 0 }
  t.eq(way.take(w, fixed("b", broken, { read = true, built = false, ran = false, reach = 10, errors = 2, line = 0 })), false)
  t.eq(way.take(w, fixed("c", broken, built(100, 2.0))), true)
  t.eq(way.take(w, fixed("d", built(100, 2.0), built(100, 2.0))), false, "no better")
  t.eq(way.take(w, fixed("e", built(100, 2.0), built(40, 1.0))), true)
  t.eq({ way.kept(w, 1), way.kept(w, 4) }, { true, true })
  t.eq(way.take(w, fixed("f", built(40, 1.0), built(41, 0.5))), false)
  for _ = 1, 5 do way.back(w, {}) end
  t.eq({ w.text, w.best.text }, { "a", "e" })
  t.eq(way.take(w, fixed("g", broken, built(90, 1.0))), false)
  t.eq({ way.kept(w, 5), way.kept(w, 6), way.kept(w, 2) }, { false, false, true })
  t.eq(way.take(w, fixed("h", built(90, 1.0), nil, "proved")), true)
end)
