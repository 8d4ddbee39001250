-- SPDX-License-Identifier: MIT
-- agentrun: an agent's run between the command line and the driver (agent.lua): ledger, budget, progress, result.
--
-- The driver owns the account; the limits given with --budget or in a task replace the declared ones, and a caller's
-- budget stands above them. Functions return a result table for the report, or nil, err.

local agent <const> = require "agent"
local fault <const> = require "fault"
local ledger_module <const> = require "ledger"

local agentrun <const> = {}

local function driver_options(host, ledger, public, bind, options)
  return {
    may = options.may, ledger = ledger, ctx = public, parent_budget = options.budget, parent = options.parent_run, version = host.version,
    budget = options.common and options.common.budget or nil,
    on_step = function(name, number, account)
      bind(account)
      host.progress { text = ("step %d: %s"):format(number, name) }
    end,
    on_warn = function(_, what, share)
      if not host.quiet then host.log(("nkiln: %d%% of the budget's %s are spent"):format(100 * share, what)) end
    end,
  }
end

local function known_limits(limits)
  local budget <const> = require "budget"
  local out
  for _, kind in ipairs(budget.kinds) do
    if limits and limits[kind] ~= nil then
      out = out or {}
      out[kind] = limits[kind]
    end
  end
  return out
end

-- What the command line and callers get of a run.
function agentrun.result(outcome)
  local out <const> = {
    ok = outcome.ok, status = outcome.status, exit_status = outcome.exit_status, message = outcome.message, run = outcome.run, agent = outcome.agent,
    steps = outcome.steps, budget = outcome.budget, error = outcome.error and fault.data(outcome.error) or nil,
  }
  if type(outcome.result) == "table" then
    out.result = outcome.result
    out.text = outcome.result.text
  end
  return out
end

-- The text of a run whose declaration has none of its own.
function agentrun.text(result)
  if result.text then return result.text end
  local lines <const> = {}
  for _, step in ipairs(result.steps or {}) do
    lines[#lines + 1] = ("%3d  %s%s%s"):format(step.number, step.name, step.outcome and " -> " .. step.outcome or "", step.note and "  " .. step.note or "")
  end
  lines[#lines + 1] = ("%s: %s%s"):format(result.agent, result.status, result.message and ": " .. result.message or "")
  lines[#lines + 1] = ("run %s; nkiln explain %s tells more"):format(result.run, result.run)
  return table.concat(lines, "\n") .. "\n"
end

-- Run from the beginning. make_ctx(bind) -> public ctx; see invoke.lua.
function agentrun.run(host, decl, public, bind, args, options)
  local ledger <const>, err <const> = ledger_module.open(host.workspace())
  if not ledger then return nil, fault.of(err) end
  local closing <close> = ledger
  local given <const> = driver_options(host, closing, public, bind, options)
  given.args, given.budget = args, known_limits(given.budget)
  local outcome <const>, why <const> = agent.run(decl, given)
  if not outcome then return nil, fault.of(why) end
  -- What was given cannot be worked on: that is a failure to say in one line, not a report of a run.
  if outcome.status == "error" and outcome.exit_status == fault.USAGE and outcome.error then return nil, fault.of(outcome.error) end
  return agentrun.result(outcome)
end

-- Go on with run `id` of an agent that is loaded here: where a workspace's agent runs, in its worker. As run().
function agentrun.go_on(host, decl, public, bind, id, options)
  local ledger <const>, err <const> = ledger_module.open(host.workspace())
  if not ledger then return nil, fault.of(err) end
  local closing <close> = ledger
  local given <const> = driver_options(host, closing, public, bind, options)
  given.budget = known_limits(given.budget)
  local outcome <const>, why <const> = agent.resume(function() return decl end, id, given)
  if not outcome then return nil, fault.of(why) end
  return agentrun.result(outcome)
end

-- nkiln resume RUN: a status, or nil, err.
function agentrun.resume(host, id, common)
  local ledger <const>, err <const> = ledger_module.open(host.workspace(), nil)
  if not ledger then return nil, fault.of(err) end
  local closing <close> = ledger
  local catalogue <const> = host.catalogue()
  local found, closer
  local public <const>, bind <const> = {}, {}
  local given <const> = driver_options(host, closing, public, function(account) if bind.set then bind.set(account) end end, { common = common,
    may = function(...) return bind.may(...) end })
  given.budget = known_limits(given.budget)
  local full <const>, unknown <const> = closing:find(id)
  if not full then return nil, fault.of(unknown) end
  local stored <const> = closing:run(full)
  local script <const> = stored and stored.kind == "agent" and catalogue.find(stored.name) or nil
  if script and script.scope == "workspace" then
    local decl <const>, distrusted <const> = catalogue.declaration(script)
    if not decl then return nil, distrusted end
    local invoke <const> = require "invoke"
    local result <const>, failed <const> = invoke.run(host, script, decl, stored.args or {}, {
      common = common, budget_flags = common and common.budget, resume = full,
    })
    if not result then return nil, failed end
    return host.print_result(result, { text = decl.text or agentrun.text })
  end
  local outcome <const>, why <const> = agent.resume(function(name)
    local entry <const>, wrong <const> = catalogue.find(name)
    if not entry then return nil, wrong or fault.new("not-found", "there is no agent " .. name) end
    local decl <const>, holder <const> = catalogue.instance(entry)
    if not decl then return nil, holder end
    found = decl
    local real <const>, close <const>, set <const>, may <const> = require("invoke").context(host, entry, decl, stored.args or {}, { holder = holder })
    closer, bind.set, bind.may = close, set, may
    setmetatable(public, { __index = real })
    return decl
  end, full, given)
  if closer then closer() end
  if not outcome then return nil, fault.of(why) end
  return host.print_result(agentrun.result(outcome), found and { text = found.text or agentrun.text } or nil)
end

return agentrun
