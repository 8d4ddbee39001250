-- SPDX-License-Identifier: MIT
-- agent: the declaration of an agent, and the driver of its state machine.
--
--   return agent {
--     name = "neuron-nki-debugging-agent", alias = "debug", description = "...", params = { ... },
--     skills = { "neuron-nki-debugging" },               -- the only skills its steps may call
--     budget = { iterations = 10, seconds = 600 },
--     steps = {                                          -- a list; the first is where a run begins
--       { name = "examine", run = function(ctx, state, args) ... return "propose" end },
--       { name = "propose", spend = { iterations = 1 }, run = function(ctx, state, args) ... return "examine", "why" end },
--     },
--     finish = function(ctx, state, outcome) ... return result end,   -- once, however the run ends
--   }
--
-- A step gets the state (plain data that it changes), and returns the name of the next step, or "done", "failed", "blocked" or
-- "oscillation" (its work goes in circles), and a note that says why; without a name the next step of the list follows, after
-- the last one "done". After every step its name, note, the whole state and the budget are stored in one transaction, so a run
-- can be stopped or killed anywhere and resumed from the last stored state: the step that was under way runs again, so a step
-- must be able to run twice from one state. What a step spends is asked for before it runs.
-- A run never raises for what happens in a step, except for cancellation, which is recorded and raised again. Its statuses:
-- done, failed, blocked, oscillation, error, interrupted, and budget-iterations, budget-seconds ... (exit status 4).

local budget <const> = require "budget"
local fault <const> = require "fault"
local ledger_module <const> = require "ledger"
local skill <const> = require "skill"
local snapshots <const> = require "snapshots"

local agent <const> = {}
local mt <const> = { __name = "agent" }

-- Names a step can return that end the run, and their exit statuses.
agent.outcomes = { done = fault.DONE, failed = fault.FAILED, blocked = fault.FAILED, oscillation = fault.FAILED }

local fields <const> = {
  name = true, alias = true, description = true, version = true, params = true, permits = true, budget = true, examples = true,
  skills = true, steps = true, start = true, finish = true, text = true,
}

-- Every problem of a declaration, as a list of sentences.
function agent.problems(decl)
  local out <const> = skill.problems(decl, "agent")
  if type(decl) ~= "table" then return out end
  local function bad(...) out[#out + 1] = (...):format(select(2, ...)) end
  for key in pairs(decl) do
    if not fields[key] then bad("unknown field %s", tostring(key)) end
  end
  for _, key in ipairs { "params", "permits", "budget", "examples" } do
    if decl[key] ~= nil and type(decl[key]) ~= "table" then bad("%s must be a table", key) end
  end
  for _, key in ipairs { "finish", "text" } do
    if decl[key] ~= nil and type(decl[key]) ~= "function" then bad("%s must be a function", key) end
  end
  if decl.skills ~= nil and type(decl.skills) ~= "table" then bad("skills must be a list of names") end
  for _, name in ipairs(type(decl.skills) == "table" and decl.skills or {}) do
    local problem <const> = skill.name_problem(name)
    if problem then bad("skills: %s", problem) end
  end
  if type(decl.steps) ~= "table" or #decl.steps == 0 then
    bad("steps must be a list of { name=, run= }")
    return out
  end
  local names <const> = {}
  for i, step in ipairs(decl.steps) do
    if type(step) ~= "table" or type(step.name) ~= "string" or type(step.run) ~= "function" then
      bad("steps[%d] must be { name=, run=function }", i)
    elseif names[step.name] or agent.outcomes[step.name] then
      bad("steps[%d]: the name %s is taken", i, step.name)
    else
      names[step.name] = true
      if step.spend ~= nil and not pcall(budget.new, step.spend) then bad("steps[%d]: spend is a budget such as { iterations = 1 }", i) end
    end
  end
  if decl.start ~= nil and not names[decl.start] then bad("start: there is no step %s", tostring(decl.start)) end
  return out
end

-- Declare. Raises a table {code="bad-skill", message=, problems={...}} when the declaration is wrong.
function agent.declare(decl)
  local problems <const> = agent.problems(decl)
  if #problems > 0 then error({ code = "bad-skill", message = table.concat(problems, "; "), problems = problems }, 0) end
  local made <const> = { kind = "agent", by_name = {}, after = {} }
  for key, value in pairs(decl) do made[key] = value end
  made.params, made.permits, made.budget, made.skills = decl.params or {}, decl.permits or {}, decl.budget or {}, decl.skills or {}
  for i, step in ipairs(decl.steps) do
    made.by_name[step.name] = step
    made.after[step.name] = decl.steps[i + 1] and decl.steps[i + 1].name or "done"
  end
  made.start = decl.start or decl.steps[1].name
  return setmetatable(made, mt)
end

function agent.is(value) return getmetatable(value) == mt end

local function is_cancelled(err)
  local ok <const>, task <const> = pcall(require, "rt.task")
  if ok and task.is_cancelled(err) then return true end
  return type(err) == "table" and (err.code == "cancelled" or err.code == "interrupted")
end

-- The context a step sees: the host's, and budget, snapshots, run_id, note(text); skill() only for the skills declared.
local function step_context(decl, base, run, account, files)
  local ctx <const> = setmetatable({ budget = account, snapshots = files, run_id = run.id, notes = {} }, { __index = base })
  local allowed <const> = {}
  for _, name in ipairs(decl.skills) do allowed[name] = true end
  function ctx.note(text) ctx.notes[#ctx.notes + 1] = tostring(text) end
  function ctx.skill(name, args, ...)
    if not allowed[name] then
      error(fault.new("not-permitted", ("agent %s does not declare the skill %s"):format(decl.name, tostring(name))), 0)
    end
    account:check()
    return base.skill(name, args, ...)
  end
  return ctx
end

-- The status, exit status and message that an error means.
local function outcome_of(err)
  if budget.is_exhausted(err) then return { status = err.name, exit_status = fault.BUDGET, message = err.message, err = err } end
  local cleaned <const> = fault.of(err, "error")
  return { status = "error", exit_status = fault.status(cleaned), message = fault.text(cleaned), err = cleaned }
end

-- What the caller of a run gets.
local function result_of(m, outcome)
  return {
    ok = outcome.exit_status == fault.DONE, status = outcome.status, exit_status = outcome.exit_status, message = outcome.message,
    error = outcome.err, run = m.run.id, agent = m.decl.name, result = outcome.result, state = m.state, steps = m.steps,
    budget = m.account:state(),
  }
end

local function conclude(m, outcome)
  if m.decl.finish then
    local ok <const>, result <const> = pcall(m.decl.finish, m.ctx, m.state, outcome)
    if ok then
      outcome.result = result
    elseif is_cancelled(result) then
      outcome.cancelled = result
    else
      outcome.message = (outcome.message and outcome.message .. "; " or "") .. "finish: " .. fault.text(fault.of(result))
    end
  end
  m.account:stop()
  if outcome.result == nil then outcome.result = m.state.result end
  local ok, err, why = pcall(m.run.finish, m.run, {
    status = outcome.status, exit_status = outcome.exit_status, message = outcome.message, result = outcome.result, budget = m.account:state(),
  })
  if not ok then -- a result that cannot be stored must not lose the run's end
    why = { code = "error", message = tostring(err) }
    m.run:finish { status = outcome.status, exit_status = outcome.exit_status, message = outcome.message, budget = m.account:state() }
  end
  if not ok or not err then
    outcome.message = (outcome.message and outcome.message .. "; " or "") .. "the ledger could not record the end: " .. tostring(why and why.message)
  end
  return result_of(m, outcome)
end

-- Run one step's function. Returns the name of what follows and a note, or nil, nil and the error.
local function run_step(m, step)
  local ok <const>, target, note = pcall(function()
    m.account:spend(step.spend or {})
    m.account:check()
    return step.run(m.ctx, m.state, m.args)
  end)
  if not ok then return nil, nil, target end
  target = target or m.decl.after[step.name]
  if not m.decl.by_name[target] and not agent.outcomes[target] then
    return nil, nil, fault.new("error", ("step %s returned %s, which is neither a step nor an outcome"):format(step.name, tostring(target)))
  end
  return target, note
end

local function failure(message, err)
  return { status = "error", exit_status = fault.status(err), message = message, err = err }
end

-- Store a step. After one that failed the state is not to be relied on, so the one before it is stored again.
local function store_step(m, name, target, outcome, seconds)
  local notes <const> = m.ctx.notes
  local row <const> = {
    name = name, outcome = outcome and outcome.status or target, seconds = seconds, budget = m.account:state(), next = outcome and name or target,
    note = #notes > 0 and table.concat(notes, "; ") or outcome and outcome.message or nil,
  }
  if outcome then row.state = m.stored else row.state = m.state end
  local ok <const>, number <const>, err <const> = pcall(m.run.step, m.run, row)
  if not ok then return failure(("the state after step %s: %s"):format(name, tostring(number))) end
  if not number then return failure(("step %s could not be recorded: %s"):format(name, err.message), err) end
  m.steps[#m.steps + 1] = { number = number, name = name, outcome = row.outcome, note = row.note, seconds = seconds }
end

-- One step: ask the budget, run, store. Returns the outcome that ends the run, or nil and the name of the next step.
local function take_step(m, name)
  local step <const> = m.decl.by_name[name]
  if not step then return failure(("agent %s has no step %s"):format(m.decl.name, tostring(name))) end
  local refused <const> = m.account:refusal(step.spend or {})
  if refused then return outcome_of(refused) end
  local began <const> = m.account.clock()
  m.ctx.notes = {}
  if m.on_step then m.on_step(name, m.run.number + 1, m.account) end
  local target <const>, note <const>, err <const> = run_step(m, step)
  if note then m.ctx.notes[#m.ctx.notes + 1] = tostring(note) end
  local outcome
  if err and is_cancelled(err) then
    outcome = { status = "interrupted", exit_status = fault.INTERRUPTED, cancelled = err }
  elseif err then
    outcome = outcome_of(err)
  end
  local lost <const> = store_step(m, name, target, outcome, m.account.clock() - began)
  if outcome then
    m.state = ledger_module.decode(ledger_module.encode(m.stored))
    return outcome
  elseif lost then
    return lost
  end
  m.stored = ledger_module.decode(ledger_module.encode(m.state)) -- a copy that the next step cannot reach
  if agent.outcomes[target] then return { status = target, exit_status = agent.outcomes[target], message = m.ctx.notes[#m.ctx.notes] } end
  return nil, target
end

local function drive(m, name)
  m.account:start()
  while true do
    local outcome <const>, following <const> = take_step(m, name)
    if outcome then
      local result <const> = conclude(m, outcome)
      if outcome.cancelled then error(outcome.cancelled, 0) end
      return result
    end
    name = following
  end
end

local function machine(decl, run, account, options, args, state)
  local m <const> = {
    decl = decl, run = run, account = account, args = args, state = state, steps = {}, on_step = options.on_step,
    stored = ledger_module.decode(ledger_module.encode(state)) or {},
  }
  m.ctx = step_context(decl, options.ctx or {}, run, account, snapshots.of(run, options.may))
  -- Each spend is recorded at once: a run that is killed in the middle of a step has still paid for it.
  account.on_spend = function(spent) run:account(spent:state()) end
  return m
end

local function account_options(options)
  return { name = options.name, clock = options.clock, on_warn = options.on_warn, parent = options.parent_budget, limits = options.budget }
end

-- Run an agent from the beginning. options: ledger (open), ctx (what steps see), args, state (initial), budget (limits that
-- replace declared ones), may(kind, path) (what its snapshots may reach: true, or nil, err), parent (run id), parent_budget,
-- on_step(name, number, budget), on_warn, clock, version, source.
-- Returns { ok=, status=, exit_status=, message=, run=, result=, state=, steps=, budget= } or nil, err when it could not begin.
function agent.run(decl, options)
  if not agent.is(decl) then error("agent.run expects a declaration made with agent { ... }", 2) end
  local limits <const> = {}
  for kind, value in pairs(decl.budget) do limits[kind] = value end
  for kind, value in pairs(options.budget or {}) do limits[kind] = value end
  local account <const> = budget.new(limits, account_options(options))
  local args <const> = options.args or {}
  local run <const>, err <const> = options.ledger:begin {
    kind = "agent", name = decl.name, args = args, budget = account:state(), parent = options.parent, version = options.version or decl.version,
    source = options.source,
  }
  if not run then return nil, err end
  return drive(machine(decl, run, account, options, args, options.state or {}), decl.start)
end

-- Go on with a run that ended early, by its id. `find(name)` gives the declaration for the agent's name, or nil, err.
-- options as for run; budget raises limits, what was spent stays spent.
function agent.resume(find, id, options)
  local run <const>, info = options.ledger:resume(id)
  if not run then return nil, info end
  local function give_up(err)
    run:release()
    return nil, err
  end
  if info.kind ~= "agent" then return give_up(fault.new("usage", ("run %s is not an agent's; only agents can be resumed"):format(run.id))) end
  local decl <const>, err <const> = find(info.name)
  if not decl then return give_up(err or fault.new("not_found", "there is no agent " .. info.name)) end
  local account <const> = budget.restore(info.budget or { limits = decl.budget }, account_options(options))
  local last <const> = options.ledger:state(run.id)
  return drive(machine(decl, run, account, options, info.args or {}, last and last.state or options.state or {}), last and last.next or decl.start)
end

return setmetatable(agent, { __call = function(_, decl) return agent.declare(decl) end })
