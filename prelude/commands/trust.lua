-- SPDX-License-Identifier: MIT
-- nkiln trust [DIR] [--revoke | --list]: which workspaces may run their own Lua.

local fault <const> = require "fault"
local params <const> = require "params"
local report <const> = require "report"
local h <const> = params.helpers

return {
  params = {
    h.path("dir", "the workspace folder; the one you are in unless given", { optional = true, positional = true }),
    h.flag("revoke", "take the trust back"),
    h.flag("list", "list the trusted folders"),
  },
  examples = { "nkiln trust", "nkiln trust --list", "nkiln trust --revoke" },
  run = function(host, args)
    local store <const> = host.trust_store()
    if args.list then
      local list <const>, err <const> = store:list()
      if not list then return nil, err end
      if host.json then
        local out <const> = {}
        for i, item in ipairs(list) do out[i] = { path = item.path, since = item.since } end
        host.out_json { ok = true, workspaces = host.array(out) }
      else
        local rows <const> = {}
        for i, item in ipairs(list) do rows[i] = { report.clean(item.path), item.since or "" } end
        host.out(#rows == 0 and "no trusted workspace\n" or report.table({ { title = "workspace" }, { title = "since" } }, rows, host.style))
      end
      return 0
    end
    local folder <const> = args.dir and host.absolute(args.dir) or host.workspace()
    local real, err = host.disk.realpath(folder)
    local gone = false -- a folder that is gone can be taken off the list, or what is made there later would be trusted
    if not real and args.revoke then
      local list <const>, why <const> = store:list()
      if not list then return nil, why end
      for _, item in ipairs(list) do gone = gone or item.path == folder end
      if gone then real = folder end
    end
    if not real then return nil, fault.new("not-found", "no such folder", { where = folder, reason = err and fault.why(err) }) end
    if not gone then
      local st <const> = host.disk.stat(real)
      if not st or st.kind ~= "dir" then return nil, fault.new("bad-input", "not a folder", { where = real }) end
      real = host.workspace_of(real)
    end
    if real == "/" or real == host.home then
      return nil, fault.new("usage", "the home folder and / are no workspaces", { where = real, hint = "name a project folder" })
    end
    local ok, note
    if args.revoke then ok, note = store:remove(real) else ok, note = store:add(real) end
    if not ok then return nil, note end
    if host.json then
      host.out_json { ok = true, workspace = real, trusted = not args.revoke, changed = note == nil }
    elseif args.revoke then
      host.out(("%s: %s\n"):format(report.clean(real), note == "absent" and "was not trusted" or "no longer trusted"))
    else
      local what <const> = note == "already" and "already trusted" or "trusted; its skills and agents may run, in a sandboxed worker"
      host.out(("%s: %s\n"):format(report.clean(real), what))
    end
    return 0
  end,
}
