-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local budget <const> = require "budget"
local json <const> = require "rt.json"

-- A clock that the test moves.
local function clock()
  local at = 1000
  return function() return at end, function(seconds) at = at + seconds end
end

t.test("a spend that does not fit raises before anything is counted", function()
  local b <const> = budget.new { iterations = 2, tokens = 100 }
  b:spend { iterations = 1, tokens = 60 }
  b:spend { iterations = 1 }
  local err <const> = t.raises(function() b:spend { iterations = 1 } end, "budget of 2 iterations is spent")
  t.eq({ err.kind, err.code, err.status, err.name, err.what, err.limit, err.spent }, { "budget", "budget", 4, "budget-iterations", "iterations", 2, 2 })
  t.has(err.hint, "--budget iterations=N")
  t.eq(b:used("iterations"), 2)
  t.eq(budget.is_exhausted(err), true)
  t.eq(budget.is_exhausted "budget", false)
  t.raises(function() b:require {} end, "is spent") -- a swallowed error comes back
end)

t.test("what was spent without asking is counted and stops the next check", function()
  local b <const> = budget.new { tokens = 100 }
  b:require { tokens = 50 }
  b:record { tokens = 130 }
  t.eq(b:used("tokens"), 130)
  t.raises(function() b:require { tokens = 1 } end, "100 model tokens")
end)

t.test("a limit of nothing allows nothing, no limit allows all", function()
  t.raises(function() budget.new({ dollars = 0 }):spend { dollars = 0.01 } end, "budget of 0 dollars")
  budget.new({ dollars = 0 }):require {}
  local b <const> = budget.new {}
  b:spend { iterations = 1000000 }
  t.eq(b:left("iterations"), nil)
end)

t.test("seconds run between start and stop", function()
  local now <const>, move <const> = clock()
  local b <const> = budget.new({ seconds = 10 }, { clock = now })
  move(100)
  t.eq(b:used("seconds"), 0)
  b:start()
  move(4)
  t.eq(b:left("seconds"), 6)
  b:stop()
  move(100)
  b:start()
  move(5)
  b:check()
  move(1)
  t.raises(function() b:check() end, "budget of 10 seconds is spent")
end)

t.test("a clock that jumps back costs nothing", function()
  local now <const>, move <const> = clock()
  local b <const> = budget.new({ seconds = 10 }, { clock = now }):start()
  move(-50)
  t.eq(b:used("seconds"), 0)
end)

t.test("sub-budgets count in all budgets above and never allow more", function()
  local top <const> = budget.new { iterations = 5, dollars = 1 }
  local middle <const> = top:sub { iterations = 4 }
  local low <const> = middle:sub({ iterations = 100 }, { name = "low" })
  t.eq(low:left("iterations"), 4)
  low:spend { iterations = 3, dollars = 0.25 }
  t.eq({ top:used("iterations"), middle:used("iterations"), top:used("dollars") }, { 3, 3, 0.25 })
  top:spend { iterations = 1 }
  t.eq(low:left("iterations"), 1)
  t.raises(function() low:spend { iterations = 2 } end, "budget of 4 iterations")
  local other <const> = top:sub {}
  other:spend { iterations = 1 }
  t.raises(function() other:spend { iterations = 1 } end, "budget of 5 iterations")
end)

t.test("warnings at half and at four fifths, once each", function()
  local seen <const> = {}
  local b <const> = budget.new({ iterations = 10 }, { on_warn = function(_, kind, share, spent, limit)
    seen[#seen + 1] = ("%s %g %g/%g"):format(kind, share, spent, limit)
  end })
  for _ = 1, 10 do b:spend { iterations = 1 } end
  t.eq(seen, { "iterations 0.5 5/10", "iterations 0.8 8/10" })
  b:sub({ tokens = 10 }):spend { tokens = 9 }
  t.eq(seen[3], "tokens 0.8 9/10", "a jump over both warns once, and below the root too")
end)

t.test("a state survives storage and goes on, limits can be raised", function()
  local now <const>, move <const> = clock()
  local b <const> = budget.new({ iterations = 3, seconds = 10, dollars = 0.5 }, { clock = now, name = "run" }):start()
  b:spend { iterations = 2, dollars = 0.25 }
  move(4.5)
  local stored <const> = json.decode(json.encode(b:state()))
  move(1000)
  local again <const> = budget.restore(stored, { clock = now }):start()
  t.eq({ again:used("iterations"), again:used("seconds"), again:left("dollars"), again.name }, { 2, 4.5, 0.25, "run" })
  t.raises(function() again:spend { iterations = 2 } end, "3 iterations")
  local warned <const> = {}
  local raised <const> = budget.restore(stored, { clock = now, limits = { iterations = 4 }, on_warn = function(_, kind) warned[#warned + 1] = kind end })
  raised:spend { iterations = 2 }
  t.eq(warned, { "iterations" }, "half of a raised limit warns again, other kinds do not")
end)

t.test("wrong use raises", function()
  t.raises(function() budget.new { iteration = 1 } end, "unknown kind iteration")
  t.raises(function() budget.new { iterations = -1 } end, "0 or more")
  t.raises(function() budget.new { seconds = 0 / 0 } end, "0 or more")
  t.raises(function() budget.new({}):spend { tokens = "1" } end, "must be a number")
end)

t.test("text", function()
  local b <const> = budget.new({ iterations = 10, dollars = 2.5 }, { clock = clock() })
  b:spend { iterations = 3, dollars = 0.125, tokens = 7 }
  t.eq(b:text(), "3 of 10 iterations, 7 model tokens, 0.12 of 2.5 dollars")
end)
