-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local agent <const> = require "agent"
local fs <const> = require "rt.fs"
local ledger <const> = require "ledger"

local function declare(extra)
  local decl <const> = {
    name = "test-agent", description = "Counts.", budget = { iterations = 10 },
    steps = {
      { name = "count", spend = { iterations = 1 }, run = function(ctx, state, args)
        state.n = (state.n or 0) + 1
        ctx.note("n is " .. state.n)
        return state.n < (args.upto or 3) and "count" or "check"
      end },
      { name = "check", run = function(_, state)
        state.result = { n = state.n }
        return "done", "checked"
      end },
    },
  }
  for key, value in pairs(extra or {}) do decl[key] = value end
  return agent(decl)
end

local function open() return assert(ledger.open(fs.realpath(t.tmpdir()))) end

t.test("a declaration is checked, and every problem is told", function()
  t.eq(agent.is(declare()), true)
  local err <const> = t.raises(function()
    agent { name = "Bad Name", description = "", steps = { { name = "a" }, { name = "done", run = print } }, start = "x", colour = 1, skills = { "No" } }
  end, "unknown field colour")
  t.eq(err.code, "bad-skill")
  for _, part in ipairs { "description is missing", "steps[1]", "steps[2]: the name done is taken", "there is no step x", "skills: name" } do
    t.has(err.message, part)
  end
  t.raises(function() declare { budget = { iteration = 1 } } end, "budget.iteration is unknown")
  t.raises(function() agent { name = "a", description = "b", steps = {} } end, "steps must be a list")
end)

t.test("a run goes through its steps and records each of them", function()
  local l <close> = open()
  local seen <const> = {}
  local out <const> = assert(agent.run(declare(), { ledger = l, args = { upto = 2 }, on_step = function(name, number) seen[number] = name end }))
  t.eq({ out.ok, out.status, out.exit_status, out.result, out.message }, { true, "done", 0, { n = 2 }, "checked" })
  t.eq(seen, { "count", "count", "check" })
  local run <const> = l:run(out.run)
  t.eq({ run.status, run.args, #run.steps, run.steps[1].note, run.steps[2].next }, { "done", { upto = 2 }, 3, "n is 1", "check" })
  t.eq(run.budget.spent.iterations, 2)
  t.eq(l:state(out.run, 1).state, { n = 1 })
end)

t.test("the budget stops before the step that does not fit, with its own status and exit status 4", function()
  local l <close> = open()
  local warned <const>, finished <const> = {}, {}
  local decl <const> = declare { budget = { iterations = 4 }, finish = function(_, state, outcome)
    finished[#finished + 1] = outcome.status
    return { reached = state.n }
  end }
  local out <const> = assert(agent.run(decl, { ledger = l, args = { upto = 9 }, on_warn = function(_, kind, share) warned[#warned + 1] = kind .. share end }))
  t.eq({ out.ok, out.status, out.exit_status, out.state.n, out.result }, { false, "budget-iterations", 4, 4, { reached = 4 } })
  t.has(out.message, "budget of 4 iterations is spent")
  t.eq(#l:run(out.run).steps, 4, "a step that was not begun is not recorded")
  t.eq({ warned, finished }, { { "iterations0.5", "iterations0.8" }, { "budget-iterations" } })

  local function find(name) return name == "test-agent" and decl or nil end
  local again <const> = assert(agent.resume(find, out.run, { ledger = l }))
  t.eq({ again.status, again.exit_status, again.state.n }, { "budget-iterations", 4, 4 }, "a resumed run has no fresh budget")
  local more <const> = assert(agent.resume(find, "last", { ledger = l, budget = { iterations = 9 } }))
  t.eq({ more.status, more.exit_status, more.state.n, more.budget.spent.iterations }, { "done", 0, 9, 9 })
  t.eq(select(2, agent.resume(find, out.run, { ledger = l })).code, "finished")
end)

t.test("a budget that runs out inside a step, even behind a pcall", function()
  local l <close> = open()
  local out <const> = assert(agent.run(declare { budget = { tokens = 10 }, steps = { { name = "talk", run = function(ctx, state)
    for i = 1, 100 do
      state.i = i
      if not pcall(ctx.budget.spend, ctx.budget, { tokens = 4 }) then state.refused = (state.refused or 0) + 1 end
    end
    ctx.budget:check()
  end } } }, { ledger = l }))
  t.eq({ out.status, out.exit_status, out.budget.spent.tokens, out.state }, { "budget-tokens", 4, 8, {} })
end)

t.test("an error ends the run, keeps the last good state, and the step can be run again", function()
  local l <close> = open()
  local broken = true
  local decl <const> = declare { steps = {
    { name = "one", run = function(_, state) state.a = 1 end },
    { name = "two", run = function(_, state)
      state.a = state.a + 1
      if broken then error("boom") end
      return "blocked", "no repair is known"
    end },
  } }
  local out <const> = assert(agent.run(decl, { ledger = l }))
  t.eq({ out.ok, out.status, out.exit_status, out.state }, { false, "error", 1, { a = 1 } })
  t.has(out.message, "boom")
  broken = false
  local again <const> = assert(agent.resume(function() return decl end, out.run, { ledger = l }))
  t.eq({ again.status, again.exit_status, again.state, again.message }, { "blocked", 1, { a = 2 }, "no repair is known" })
  local names <const> = {}
  for i, step in ipairs(l:run(out.run).steps) do names[i] = step.name .. " " .. step.outcome end
  t.eq(names, { "one two", "two error", "two blocked" })
end)

t.test("errors keep their exit status; nonsense from a step is an error", function()
  local l <close> = open()
  local function with(run) return assert(agent.run(declare { steps = { { name = "s", run = run } } }, { ledger = l })) end
  t.eq(with(function() error({ code = "missing", message = "no python here", hint = "apt-get install python3" }) end).exit_status, 3)
  t.eq(with(function() error({ code = "not-permitted", message = "no" }) end).exit_status, 5)
  t.has(with(function() return "elsewhere" end).message, "neither a step nor an outcome")
  t.eq(with(function() return "failed", "wrong" end).exit_status, 1)
  t.eq(with(function() end).status, "done", "after the last step a run is done")
end)

t.test("cancellation is recorded and raised again", function()
  local l <close> = open()
  local first = true
  local decl <const> = declare { steps = { { name = "wait", run = function(_, state)
    if first then error({ kind = "cancelled", code = "cancelled", message = "cancelled" }) end
    state.woke = true
  end } } }
  local err <const> = t.raises(function() agent.run(decl, { ledger = l }) end, "cancelled")
  t.eq(err.code, "cancelled")
  local run <const> = l:run("last")
  t.eq({ run.status, run.exit_status }, { "interrupted", 130 })
  first = false
  t.eq(assert(agent.resume(function() return decl end, run.id, { ledger = l })).state, { woke = true })
end)

t.test("state that cannot be stored ends the run clearly, with the last good state", function()
  local l <close> = open()
  local out <const> = assert(agent.run(declare { steps = {
    { name = "good", run = function(_, state) state.a = 1 end },
    { name = "bad", run = function(_, state) state.f = print end },
  } }, { ledger = l }))
  t.eq({ out.status, out.exit_status }, { "error", 1 })
  t.has(out.message, "the state after step bad")
  t.eq(l:run(out.run).status, "error")
  t.eq(l:state(out.run).state, { a = 1 })
end)

t.test("steps call only the skills declared, and see the host's context", function()
  local l <close> = open()
  local calls <const> = {}
  local ctx <const> = { skill = function(name, args) calls[#calls + 1] = name .. args.x return "answer" end, colour = "blue" }
  local out <const> = assert(agent.run(declare { skills = { "good-skill" }, steps = { { name = "s", run = function(c, state)
    state.answer, state.colour = c.skill("good-skill", { x = 1 }), c.colour
    local ok <const>, err <const> = pcall(c.skill, "other-skill", {})
    state.refused = not ok and err.code
  end } } }, { ledger = l, ctx = ctx }))
  t.eq(out.state, { answer = "answer", colour = "blue", refused = "not-permitted" })
  t.eq(calls, { "good-skill1" })
  t.eq(rawget(ctx, "budget"), nil, "the host's context is untouched")
end)

t.test("files are changed through snapshots and restored by run", function()
  local l <close> = open()
  local path <const> = l.workspace .. "/k.py"
  t.write(path, "broken")
  local decl <const> = declare { steps = { { name = "fix", run = function(ctx) assert(ctx.snapshots:write(path, "fixed")) end } } }
  local out <const> = assert(agent.run(decl, { ledger = l }))
  t.eq(t.read(path), "fixed")
  t.has(l:explain(out.run), "nkiln restore " .. out.run)
  require("snapshots").restore(l, out.run)
  t.eq(t.read(path), "broken")
end)

t.test("a process killed in the middle of a step has paid for it and is resumed from the state before", function()
  local dir <const> = fs.realpath(t.tmpdir())
  t.write(dir .. "/child.lua", ([[
    local agent <const> = require "agent"
    local ledger <const> = require "ledger"
    local decl <const> = agent { name = "test-agent", description = "x", budget = { iterations = 5 }, steps = {
      { name = "work", spend = { iterations = 1 }, run = function(_, state)
        state.n = (state.n or 0) + 1
        if state.n == 3 and arg[1] then
          io.stdout:write("ready\n")
          io.stdout:flush()
          for _ = 1, 400 do os.execute("sleep 0.05") end -- killed long before
        end
        return state.n < 4 and "work" or "done"
      end } } }
    local l <close> = assert(ledger.open(%q))
    local options <const> = { ledger = l }
    local out <const> = assert(arg[1] and agent.run(decl, options) or agent.resume(function() return decl end, "last", options))
    print(out.status, out.state.n, out.budget.spent.iterations)]]):format(dir))
  local host <const> = arg[-1] or "build/nkiln-lua"
  local pipe <const> = assert(io.popen("exec 2>/dev/null; sh -c 'echo $$; exec " .. host .. " " .. dir .. "/child.lua hang'"))
  local pid <const> = pipe:read("l")
  t.eq(pipe:read("l"), "ready")
  os.execute("kill -KILL " .. pid)
  pipe:close()
  t.eq({ t.sh(host .. " " .. dir .. "/child.lua") }, { 0, "done\t4\t5\n", "" })
  local l <close> = assert(ledger.open(dir))
  t.eq(#l:run("last").steps, 4)
end)

t.test("steps may yield: the driver runs inside a task", function()
  local l <close> = open()
  local decl <const> = declare { steps = { { name = "wait", run = function(_, state) state.got = coroutine.yield("waiting") end } } }
  local co <const> = coroutine.create(function() return agent.run(decl, { ledger = l }) end)
  t.eq({ coroutine.resume(co) }, { true, "waiting" })
  local ok <const>, out <const> = coroutine.resume(co, "value")
  t.eq({ ok, out.state }, { true, { got = "value" } })
end)
