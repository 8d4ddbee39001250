-- SPDX-License-Identifier: MIT
-- script: run a Lua file that the user named (nkiln run).
--
-- The script sees the safe libraries, `ctx` and `arg`, may require files beside it, cjson and lfs. Naming it is trusting
-- it with the workspace: it reads and writes there; programs and the network need the user's policy or a yes on the
-- terminal. Errors of the script become a failure with its line.

local ctx <const> = require "ctx"
local fault <const> = require "fault"
local invoke <const> = require "invoke"
local loader <const> = require "loader"
local rights <const> = require "rights"

local script <const> = {}

function script.run(host, path, words, common)
  local file <const> = host.absolute(path)
  local st <const>, missing <const> = host.disk.stat(file)
  if not st then return nil, fault.new("not-found", "the script cannot be read: " .. fault.why(missing), { where = path }) end
  if st.kind ~= "file" then return nil, fault.new("bad-input", "the script is not a file", { where = path }) end
  local text, err = host.disk.read(file, loader.MAX_SCRIPT)
  if not text then return nil, fault.new(err.code, "the script cannot be read: " .. fault.why(err), { where = path }) end
  if text:sub(1, 2) == "#!" then text = "--" .. text end
  local folder <const> = file:match("^(.*)/[^/]*$")
  local name <const> = path:match("[^/]*$")
  local policy <const> = host.policy()
  local mine <const> = rights.new {
    name = name, scope = "script", permits = { read = { "." }, write = { "." } }, workspace = host.workspace(), cwd = host.cwd, home = host.home,
    paths = { folder, "." }, outputs = { "." }, user_rules = policy.user_rules, workspace_rules = policy.workspace_rules,
    ask = host.can_ask() and host.ask or nil, realpath = host.disk.realpath,
  }
  local budget <const> = host.budget_for({ name = name }, { common = common })
  local holder <const> = {}
  local public <const>, close <const> = ctx.new {
    host = host, rights = mine, budget = budget, args = words, script = true, task = common and common.task or nil, holder = holder,
  }
  local entry <const> = { name = name, kind = "executable", scope = "home", path = folder, script = file, disk = host.disk }
  local function body()
    return loader.run_script(entry, text, host.loader_options(entry), public, words, holder)
  end
  local value <const>, why <const> = invoke.guarded(host, name, function() return host.within(budget, body) end)
  close()
  return invoke.result(value, why)
end

return script
