-- SPDX-License-Identifier: MIT
-- nkiln report PROFILE.db [-o report.html] [--perfetto FILE]: a profile as pictures.

local fault <const> = require "fault"
local params <const> = require "params"
local clean <const> = require("report").clean
local show <const> = require "profile.show"
local h <const> = params.helpers

-- How a file of ours begins: another file is never overwritten.
local begins <const> = { html = "<!doctype html>", perfetto = '{"displayTimeUnit"' }

-- The absolute path to write to; nil, err where it would destroy something or has no folder.
local function target(host, given, kind, profile)
  local named <const> = host.absolute(given)
  local path <const> = host.disk.realpath(named) or named -- the file that a link names is written, the link stays
  if path == (host.disk.realpath(profile) or profile) then
    return nil, fault.new("usage", "is the profile itself", { where = given, hint = "give another name" })
  end
  local folder <const> = path:match("^(.*)/[^/]*$")
  local st <const> = host.disk.stat(folder == "" and "/" or folder)
  if not st or st.kind ~= "dir" then return nil, fault.new("not-found", "its folder is not there", { where = given, hint = "make the folder first" }) end
  local there <const> = host.disk.stat(path)
  if there then
    local text <const> = there.kind == "file" and host.disk.read(path, 1 << 30)
    if not text or (text ~= "" and text:sub(1, #begins[kind]) ~= begins[kind]) then
      return nil, fault.new("exists", "is there already and was not written by nkiln report", { where = given, hint = "give another name, or remove it" })
    end
  end
  return path
end

return {
  params = {
    h.path("profile", "a profile database, as nkiln profile writes it"),
    h.path("out", "the page to write (default: report.html in this folder)", { short = "o", optional = true }),
    h.path("perfetto", "also, or only, a trace for ui.perfetto.dev or chrome://tracing", { optional = true }),
  },
  examples = { "nkiln report p.db -o report.html", "nkiln report p.db --perfetto p.trace.json" },
  run = function(host, args)
    local path <const> = host.absolute(args.profile)
    local st <const> = host.disk.stat(path)
    if not st then return nil, fault.new("not-found", "no such file", { where = args.profile,
      hint = "nkiln profile KERNEL.py --case ... -o p.db makes one" }) end
    if st.kind ~= "file" then return nil, fault.new("not-a-file", "is not a file", { where = args.profile }) end
    local request <const> = { path = path, shown = args.profile }
    local write <const> = {}
    for kind, given in pairs { html = args.out or (not args.perfetto and "report.html" or nil), perfetto = args.perfetto } do
      local file <const>, err <const> = target(host, given, kind, path)
      if not file then return nil, err end
      request[kind] = file
      write[#write + 1] = file:match("^(.*)/[^/]*$")
    end
    if request.html and request.html == request.perfetto then return nil, fault.new("usage", "--out and --perfetto name the same file") end
    local result <const>, err <const> = host.job("work.report", request, { read = { path:match("^(.*)/[^/]*$") }, write = write, progress = host.progress })
    if not result then return nil, err end
    if host.json then
      host.out_json(result)
      return 0
    end
    for _, kind in ipairs { "html", "perfetto" } do
      local file <const> = result[kind]
      if file then
        host.out(("%s  %s  (%s, %s)\n"):format(kind == "html" and "page " or "trace", file.path, show.bytes(file.bytes), clean(result.kind)))
      end
    end
    return 0
  end,
}
