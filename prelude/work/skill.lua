-- SPDX-License-Identifier: MIT
-- work.skill: a workspace's skill or agent script, run in a worker.
--
-- The worker is confined by the kernel to the granted folders before any Lua of the workspace is read. The script gets a
-- ctx whose files are reached here; everything else (programs, jobs, other skills, questions, output) is asked of the host,
-- which checks it again against its own copy of the rights.

local ctx <const> = require "ctx"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local invoke <const> = require "invoke"
local json <const> = require "rt.json"
local loader <const> = require "loader"
local report <const> = require "report"
local rights <const> = require "rights"
local task <const> = require "rt.task"
local vm <const> = require "rt.vm"
local workspace <const> = require "workspace"

local work <const> = {}

-- The outside as the script's ctx sees it: files are here, the rest is a call to the host.
local function facade(request, job)
  local self <const> = {
    cwd = request.cwd, home = request.home, json = request.json, disk = workspace.disk, style = report.plain, quiet = false, version = request.version,
  }
  function self.workspace() return request.workspace end
  function self.check() task.check() end
  function self.now() return task.now() end
  function self.sleep(seconds) return task.sleep(seconds) end
  function self.progress(what) job.progress(type(what) == "table" and { text = what.text, fraction = what.fraction } or { text = tostring(what) }) end
  function self.array(list) return json.array(list) end
  for _, name in ipairs { "log", "out", "err", "which", "capture", "make_state_folder" } do
    self[name] = function(...) return job.call(name, table.pack(...)) end
  end
  function self.job(module, what) return job.call("job", { module = module, request = what }) end
  function self.call(kind, name, args) return job.call("call", { kind = kind, name = name, args = args }) end
  function self.traceback_text() return vm.traceback("") or "" end
  function self.must_raise(e) return task.is_cancelled(e) end
  function self.short(path) return report.relative(path, request.cwd) end
  return self
end

local function load_script(request)
  local entry <const> = request.entry
  entry.disk = workspace.disk
  local agent <const> = require "agent"
  return loader.load(entry, {
    disk = workspace.disk, vm = vm, agent = agent.declare, is_agent = agent.is, sources = request.sources,
  })
end

-- Why a value cannot go to the host (plain data only), or nil.
local function not_data(value, what, depth)
  local kind <const> = type(value)
  if kind == "function" or kind == "thread" then return ("%s is a %s; only data can be returned"):format(what, kind) end
  if kind ~= "table" then return nil end
  if depth > 60 then return "the result nests too deeply, or holds itself" end
  for k, v in next, value do
    local odd <const> = not_data(v, depth == 0 and ("%s's field %s"):format(what, tostring(k)) or what, depth + 1)
    if odd then return odd end
  end
  return nil
end

-- What of a declaration is data.
local data_fields <const> = { "name", "alias", "description", "version", "params", "permits", "budget", "examples", "kind", "skills" }

local function declare(request)
  local made <const>, files <const>, more <const> = load_script(request)
  if not made then return { error = fault.data(files), files = more } end
  local declaration <const> = {}
  for _, field in ipairs(data_fields) do
    declaration[field] = made[field]
    local odd <const> = not_data(made[field], field, 0)
    if odd then return { error = fault.data(fault.new("bad-skill", odd, { where = request.entry.script })), files = files } end
  end
  return { declaration = declaration, files = files, sources = more.sources }
end

-- request: {entry, sources, args, cwd, workspace, home, depth, json, rights, budget, resume=run of an agent to go on with}; or {entry, declare = true}.
function work.run(request, job)
  if request.declare then return declare(request) end
  local host <const> = facade(request, job)
  local made <const>, why <const>, prepared <const> = load_script(request)
  if not made then return nil, fault.data(why) end
  local options <const> = request.rights
  options.realpath = function(path) return fs.realpath(path) end
  options.ask = options.interactive and function(question) return job.call("ask", { question }) end or nil
  local mine <const> = rights.new(options)
  local public <const>, close <const>, bind <const>, may <const> = ctx.new {
    host = host, declaration = made, entry = request.entry, rights = mine, depth = request.depth, args = request.args,
    holder = prepared.holder,
  }
  local value <const>, err <const> = invoke.guarded(host, request.entry.name, function()
    if made.kind == "agent" and request.resume then
      return require("agentrun").go_on(host, made, public, bind, request.resume, { common = { budget = request.budget } })
    elseif made.kind == "agent" then
      return require("agentrun").run(host, made, public, bind, request.args, { common = { budget = request.budget }, may = may })
    end
    return made.run(public, request.args)
  end)
  close()
  local result <const>, wrong <const> = invoke.result(value, err)
  if not result then return nil, fault.data(wrong) end
  if made.text and not request.json then
    local text <const>, failed <const> = invoke.guarded(host, request.entry.name, made.text, result, report.plain)
    if failed then return nil, fault.data(failed) end
    if text ~= nil then result.text = tostring(text) end
  end
  local odd <const> = not_data(result, "the result", 0)
  if odd then return nil, fault.data(fault.new("failed", ("%s: %s"):format(request.entry.name, odd), { where = request.entry.script })) end
  return result
end

return work
