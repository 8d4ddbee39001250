-- SPDX-License-Identifier: MIT
-- invoke: run a skill or agent, from the command line or from another one.
--
-- What is built in or lies in the home folder runs here, in an environment of its own; what a trusted workspace brings
-- runs in a worker process. A call ends as a result table, or nil and a failure; a script's own error becomes a failure
-- with its file and line. Cancellation is passed on, never turned into a result.

local ctx <const> = require "ctx"
local fault <const> = require "fault"
local loader <const> = require "loader"
local params <const> = require "params"
local report <const> = require "report"
local rights <const> = require "rights"

local invoke <const> = {}

local WORKER_MEMORY <const> = 1 << 30 -- bytes for a workspace's skill

-- What run() returned, as a result table or nil, err.
function invoke.result(value, err)
  if value == nil and err ~= nil then return nil, fault.of(err) end
  if value == nil or value == true then return { ok = true } end
  if value == false then return { ok = false } end
  if type(value) == "string" then return { ok = true, text = value } end
  if math.type(value) == "integer" then return { ok = value == 0, exit_status = value } end
  if type(value) == "table" then
    setmetatable(value, nil) -- a script's metamethods must not run here
    if value.ok == nil then value.ok = true end
    return value
  end
  return nil, fault.new("failed", ("the skill returned a %s; a table is expected"):format(type(value)))
end

-- Run fn(...) and turn its error into a failure with a place. Cancellation, spent budgets and exits are raised again.
function invoke.guarded(host, name, fn, ...)
  local results <const> = table.pack(xpcall(fn, function(e)
    if type(e) == "table" then
      if e.message and not e.traceback then e.traceback = host.traceback_text() end
      return e
    end
    if type(e) == "string" then return { plain = e, traceback = host.traceback_text() } end
    return e
  end, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local e <const> = results[2]
  if host.must_raise(e) then error(e, 0) end
  if type(e) == "string" then -- no handler sees the end of memory
    return nil, fault.new("memory", ("%s stopped: %s"):format(name, e), { hint = "it may use 1 GiB" })
  end
  if type(e) == "table" and e.plain then
    local where <const>, message <const> = loader.place_of(e.plain)
    return nil, fault.new("failed", ("%s stopped: %s"):format(name, message), { where = where and host.short(where), traceback = e.traceback })
  end
  if not fault.is(e) then return nil, fault.new("failed", ("%s stopped: %s"):format(name, fault.of(e).message)) end
  return nil, e
end

-- May a caller hand this path on? What a link leads to has to be in its reach as well: the callee follows links.
local function in_reach(host, caller, kind, path)
  local absolute <const> = host.absolute(path)
  if not caller:check(kind, absolute) then return false end
  return caller:contains(kind, absolute)
end

-- What rights.new gets, all plain data but the two functions at the end.
local function rights_options(host, entry, decl, args, caller)
  local policy <const> = host.policy() or {}
  local paths <const>, outputs <const> = rights.named_paths(decl.params, args)
  if caller then
    -- A caller cannot hand on what it may not do itself: paths it names count only as far as its own rights reach.
    for i = #paths, 1, -1 do
      if not in_reach(host, caller, "read", paths[i]) then table.remove(paths, i) end
    end
    for i = #outputs, 1, -1 do
      if not in_reach(host, caller, "write", outputs[i]) then table.remove(outputs, i) end
    end
  end
  return {
    name = decl.alias or decl.name, scope = entry.scope, permits = decl.permits, workspace = host.workspace(), cwd = host.cwd, home = host.home,
    paths = paths, outputs = outputs, user_rules = policy.user_rules, workspace_rules = policy.workspace_rules,
    skill_rights = policy.skills and policy.skills[decl.name],
  }
end

local function rights_of(host, entry, decl, args, caller)
  local options <const> = rights_options(host, entry, decl, args, caller)
  options.ask, options.realpath, options.caller = host.can_ask() and host.ask or nil, host.disk.realpath, caller
  return rights.new(options)
end

-- The ctx of one call: public, close, bind_budget, may (for the driver of an agent).
function invoke.context(host, entry, decl, args, options)
  return ctx.new {
    host = host, declaration = decl, entry = entry, rights = rights_of(host, entry, decl, args, options.caller), budget = options.account,
    depth = options.depth, caller = options.caller, args = args, task = options.common and options.common.task or nil, holder = options.holder,
  }
end

-- Run a declaration in this process, from a fresh instance of its script. options: {budget, depth, caller, common}.
local function here(host, entry, _, args, options)
  local decl <const>, holder <const> = host.catalogue().instance(entry)
  if not decl then return nil, holder end
  local agent <const> = decl.kind == "agent"
  local budget <const> = not agent and host.budget_for(decl, options) or nil
  options.account, options.holder = budget, holder
  local public <const>, close <const>, bind <const>, may <const> = invoke.context(host, entry, decl, args, options)
  options.may = function(kind, path)
    local caller <const> = options.caller
    if caller and not in_reach(host, caller, kind, path) then
      return nil, fault.new("not-permitted", ("%s is not in reach of the skill that asked for it"):format(path))
    end
    return may(kind, path)
  end
  local value <const>, err <const> = invoke.guarded(host, decl.alias or decl.name, function()
    if agent then return require("agentrun").run(host, decl, public, bind, args, options) end
    return host.within(budget, function() return decl.run(public, args) end)
  end)
  close()
  return invoke.result(value, err)
end

-- What a worker may ask of the host, each checked against the host's copy of the rights.
local function answers(host, mine, budget, options)
  local calls <const> = {}
  function calls.log(words) host.log(report.clean(tostring(words[1]), true)) end
  function calls.out(words) host.out(report.clean(tostring(words[1]), true)) end
  function calls.err(words) host.err(report.clean(tostring(words[1]), true)) end
  function calls.which(words) return host.which(tostring(words[1])) end
  function calls.make_state_folder() return host.make_state_folder() end
  function calls.ask(words) return host.ask(tostring(words[1])) end
  function calls.capture(words)
    local argv <const>, given <const> = words[1], words[2] or {}
    local ok <const>, err <const> = mine:check("run", argv[1])
    if not ok then
      local short_ok <const> = mine:check("run", argv[1]:match("[^/]*$"))
      if not short_ok then return nil, fault.data(err) end
    end
    return host.capture(argv, {
      cwd = given.cwd, env = given.env, input = given.input, limit = given.limit, seconds = given.seconds,
      jail = { read = mine.roots.read, write = mine.roots.write, net = #mine.words.net > 0 }, pass = mine.words.env,
    })
  end
  local jobs <const> = { ["work.check"] = true, ["work.sim"] = true }
  function calls.job(what)
    if not jobs[what.module] then return nil, fault.data(fault.new("not-permitted", tostring(what.module) .. " is not open to a workspace's skill")) end
    local result <const>, err <const> = host.job(what.module, what.request, { rights = mine, budget = budget })
    if result == nil then return nil, fault.data(err) end
    return result
  end
  function calls.call(what)
    local depth <const> = (options.depth or 0) + 1
    if depth >= ctx.MAX_DEPTH then return nil, fault.data(fault.new("failed", "skills call each other too deep")) end
    local ok <const>, refused <const> = mine:check("skill", what.name)
    if not ok then return nil, fault.data(refused) end
    local result <const>, err <const> = invoke.by_name(host, what.kind, what.name, what.args or {}, { budget = budget, depth = depth, caller = mine })
    if result == nil then return nil, fault.data(err) end
    return result
  end
  return function(name, value)
    local answer <const> = calls[name]
    if not answer then error(("the host answers no call %s"):format(tostring(name)), 0) end
    return answer(value)
  end
end

-- Run a workspace's declaration in a worker, from the sources of its newest good generation.
local function away(host, entry, decl, args, options)
  local budget <const> = host.budget_for(decl, options)
  local given <const> = rights_options(host, entry, decl, args, options.caller)
  given.interactive = host.can_ask()
  local mine <const> = rights_of(host, entry, decl, args, options.caller)
  -- The worker's folders are opened when it confines itself, so what it may write has to be there.
  local made <const>, unwritable <const> = host.make_state_folder()
  if not made then return nil, fault.of(unwritable) end
  budget:start()
  local value <const>, err <const> = host.job("work.skill", {
    entry = { name = entry.name, path = entry.path, script = entry.script, kind = entry.kind, scope = entry.scope },
    sources = host.catalogue().sources(entry), args = args, cwd = host.cwd, workspace = host.workspace(), home = host.home, depth = options.depth or 0,
    json = host.json, rights = given, budget = options.budget_flags,
    resume = options.resume,
  }, { rights = mine, budget = budget, calls = answers(host, mine, budget, options), memory = WORKER_MEMORY, steps = 0 })
  budget:stop()
  return invoke.result(value, err)
end

-- Run an entry with checked arguments; options.resume: the run of a workspace's agent to go on with. Returns a result table, or
-- nil, err.
function invoke.run(host, entry, decl, args, options)
  options = options or {}
  if entry.scope == "workspace" then return away(host, entry, decl, args, options) end
  return here(host, entry, decl, args, options)
end

-- A call by name from ctx.skill or ctx.agent.
function invoke.by_name(host, kind, name, args, options)
  local catalogue <const> = host.catalogue()
  local entry <const>, err <const> = catalogue.find(name)
  if err then return nil, err end
  if not entry or (kind == "skill") == (entry.kind == "agent") then
    local near <const> = fault.nearest(name, catalogue.names(kind .. "s"))
    return nil, fault.new("not-found", ("no %s called %s"):format(kind, name), { hint = near and "did you mean " .. near .. "?" or nil })
  end
  local decl <const>, why <const> = catalogue.declaration(entry)
  if not decl then return nil, why end
  local checked <const>, wrong <const> = params.check(decl.params or {}, args)
  if not checked then return nil, wrong end
  return invoke.run(host, entry, decl, checked, options)
end

-- nkiln NAME ...: returns a status, or nil, err.
function invoke.from_command_line(host, entry, words)
  local cli <const> = require "cli"
  local decl <const>, err <const> = host.catalogue().declaration(entry)
  if not decl then return nil, err end
  local args <const>, common <const> = cli.arguments(host, decl, words)
  if not args then
    if common == "help" then return cli.help(host, decl) end
    return nil, common
  end
  local shown <const> = decl.kind == "agent" and not decl.text and { text = require("agentrun").text } or decl
  return cli.settle(host, shown, invoke.run(host, entry, decl, args, { common = common, budget_flags = common.budget }))
end

return invoke
