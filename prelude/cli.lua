-- SPDX-License-Identifier: MIT
-- cli: from the words of the command line to an exit status.
--
-- A command is a built-in (prelude/commands/NAME.lua), or a skill or an agent by name or alias. main() never raises for
-- reasons of the world: every failure becomes one line on stderr ("nkiln: what: where: what to do"), or with --json one
-- JSON value {"ok": false, "error": {...}} on stdout, and the exit status that its code means. `host` is the outside
-- (host.lua); tests pass their own.

local fault <const> = require "fault"
local params <const> = require "params"
local report <const> = require "report"

local cli <const> = {}

-- Built-in commands in the order of the overview. A name is a module prelude/commands/NAME.lua, loaded when it is used.
cli.groups = {
  { title = "Work on a kernel", names = { "check", "sim", "watch", "report", "explain" } },
  { title = "Skills and agents", names = { "skills", "skill", "agents", "trust" } },
  { title = "Scripts and runs", names = { "run", "ledger", "resume", "restore" } },
  { title = "This machine", names = { "doctor", "version", "help" } },
}

-- What the overview says of built-in skills and agents, and where: before the commands of their group, in this order. Their
-- descriptions are for choosing among skills and too long for one line.
cli.work = {
  { "write", "a kernel from a NumPy or PyTorch function, written only when it is proved" },
  { "check" }, { "sim" },
  { "debug", "repair a kernel: one tried edit at a time, until it is proved" },
  { "debug-step", "one step of debug; nothing is written" },
  { "watch" },
  { "profile", "how long a kernel takes and where: modelled, captured or imported" },
  { "query", "ask a profile: SQL, performance bounds, source lines, a comparison" },
  { "analyse", "why a kernel is slow: profile, bounds and investigations in one report" },
  { "report" }, { "explain" },
}

cli.summary = {
  check = "check a kernel's legality without running it",
  sim = "run a kernel on the NKI machine, and judge it against a reference",
  watch = "check, run and judge again at every save",
  report = "a profile as one page of pictures, or as a trace for Perfetto",
  explain = "explain an error code, or a recorded run",
  skills = "list skills: where they are, trusted or not, what they shadow",
  skill = "run a skill by name",
  agents = "list agents",
  trust = "let a workspace run its own skills",
  run = "run a Lua script without a terminal",
  ledger = "list recorded runs of agents (debug, analyse)",
  resume = "go on with a run that was stopped",
  restore = "put a file back as it was before a run",
  doctor = "what is here, what is missing, how to get it",
  version = "versions",
  help = "this overview, or the help of one command",
}

function cli.is_command(name) return cli.summary[name] ~= nil end

function cli.reserved()
  local out <const> = {}
  for name in pairs(cli.summary) do out[name] = true end
  return out
end

function cli.command(name)
  local decl <const> = require("commands." .. name)
  decl.name = name
  decl.description = decl.description or cli.summary[name]
  return decl
end

-- Flags of every command may also stand before the command: nkiln --json skills.
local function split(words)
  local before <const>, i = {}, 1
  while words[i] and words[i]:find("^%-") do
    local name <const> = words[i]:match("^%-%-([^=]+)")
    local p <const> = name and params.common[name]
    before[#before + 1] = words[i]
    if p and p.kind ~= "flag" and not words[i]:find("=", 1, true) and words[i + 1] then
      i = i + 1
      before[#before + 1] = words[i]
    end
    i = i + 1
  end
  local name <const> = words[i]
  local rest <const> = table.move(words, i + 1, #words, 1, {})
  return name, rest, before
end

-- Is a flag of every command among the words? What follows "--", or the script of `run`, is not ours.
local function has_flag(words, flag)
  local plain = 0
  local command
  for _, word in ipairs(words) do
    if word == "--" then return false end
    if word == flag then return true end
    if not word:find("^%-") then
      plain = plain + 1
      command = command or word
      if command == "run" and plain == 2 then return false end
    end
  end
  return false
end

-- Tell a failure and give its exit status.
function cli.fail(host, err)
  err = fault.of(err)
  if host.json then
    host.out_json({ ok = false, error = fault.data(err) })
  else
    host.err("nkiln: " .. fault.text(err, host.short) .. "\n")
    if err.traceback and host.env("NKILN_DEBUG") then host.err(err.traceback .. "\n") end
  end
  return fault.status(err)
end

local function unknown(host, name)
  local names <const> = {}
  for command in pairs(cli.summary) do names[#names + 1] = command end
  local catalogue <const> = host.catalogue()
  for _, kind in ipairs { "skills", "agents" } do
    for _, other in ipairs(catalogue.names(kind)) do names[#names + 1] = other end
  end
  local near <const> = fault.nearest(name, names)
  return nil, fault.new("usage", ("unknown command %s"):format(name), {
    hint = near and ("did you mean %s?"):format(near) or "nkiln help lists the commands", nearest = near,
  })
end

-- Parse the words of a declaration's command line: flags, then the task file, then defaults. nil, nil when help was asked.
function cli.arguments(host, decl, words, options)
  local args <const>, common <const> = params.parse(decl.params or {}, words, options)
  if not args then return nil, common end
  if common.json then host.set_json(true) end
  if common.quiet then host.quiet = true end
  if common.trust then host.trust_all = true end
  if common.help then return nil, "help" end
  if common.task then
    local task <const>, err <const> = host.task(common.task)
    if not task then return nil, err end
    params.from_task(decl.params or {}, args, task)
    common.task = task
    common.budget = common.budget or task.budget
  end
  for _, p in ipairs(decl.params or {}) do
    if args[p.name] ~= nil and common.task then
      local checked <const>, err <const> = params.check_value(p, args[p.name])
      if checked == nil then
        err.where = common.task.file
        return nil, err
      end
    end
  end
  if decl.lenient then return args, common end
  local checked <const>, err <const> = params.check(decl.params or {}, args)
  if not checked then
    if err.parameter then err.hint = (err.hint and err.hint .. "; " or "") .. ("see nkiln help %s"):format(decl.alias or decl.name) end
    return nil, err
  end
  return checked, common
end

local function help(host, decl)
  local skill <const> = require "skill"
  if host.json then
    host.out_json({ name = decl.name, alias = decl.alias, description = decl.description, parameters = skill.schema(decl) })
  else
    host.out(report.tame(skill.help(decl, "nkiln " .. (decl.alias or decl.name))))
  end
  return 0
end
cli.help = help

-- What a command returns: a status; or true / a result table; or nil, err.
local function settle(host, decl, result, err)
  if math.type(result) == "integer" then return result end
  if result == nil and err ~= nil then return nil, err end
  if type(result) == "table" then return host.print_result(result, decl) end
  return 0
end
cli.settle = settle

local function run_command(host, name, rest)
  local decl <const> = cli.command(name)
  local args <const>, common <const> = cli.arguments(host, decl, rest, { pass = decl.pass })
  if not args then
    if common == "help" then return help(host, decl) end
    return nil, common
  end
  return settle(host, decl, decl.run(host, args, common))
end

local function dispatch(host, words)
  local name, rest <const>, before <const> = split(words)
  local asks <const>, flags <const> = {}, {}
  for _, word in ipairs(before) do
    if word == "--help" or word == "-h" then
      asks.help = true
    elseif word == "--version" or word == "-V" then
      asks.version = true
    else
      flags[#flags + 1] = word
    end
  end
  -- In front: what follows a script's name belongs to the script.
  table.move(rest, 1, #rest, #flags + 1)
  table.move(flags, 1, #flags, 1, rest)
  if asks.version and not name then return run_command(host, "version", rest) end
  if asks.help then
    if name then table.insert(rest, 1, name) end
    return run_command(host, "help", rest)
  end
  name = name or "help"
  if cli.is_command(name) then return run_command(host, name, rest) end
  local entry <const>, err <const> = host.catalogue().find(name)
  if err then return nil, err end
  if not entry then return unknown(host, name) end
  return require("invoke").from_command_line(host, entry, rest)
end

-- The whole program. Returns the exit status.
function cli.main(words, host)
  host = host or require("host").new()
  host.set_json(has_flag(words, "--json"))
  host.trust_all = host.trust_all or has_flag(words, "--trust")
  local ok, status, err = xpcall(dispatch, host.traceback, host, words)
  if not ok then
    if type(status) == "table" and status.exit then return status.exit end
    err = host.error_of(status)
    status = nil
  end
  if status == nil then status = cli.fail(host, err or fault.new("failed", "no result")) end
  return host.finish(status)
end


return cli
