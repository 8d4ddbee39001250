-- SPDX-License-Identifier: MIT
-- trust: which workspace folders may run their own Lua, kept in the user's configuration, never in the workspace.
--
-- The list is $XDG_CONFIG_HOME/nkiln/trust.json: {"version": 1, "workspaces": [{"path": "/abs", "since": "2026-01-31"}]}.
-- A folder is named by its real path; folders inside it are not included. A list that cannot be read trusts nobody.
-- Functions return nil, err when the list cannot be read or written.

local fault <const> = require "fault"
local json <const> = require "rt.json"

local trust <const> = {}
local methods <const> = {}
methods.__index = methods

-- options: {path = file, disk = {read, write_atomic, make_dirs}, today = function() -> "YYYY-MM-DD"}.
function trust.open(options) return setmetatable({ path = options.path, disk = options.disk, today = options.today }, methods) end

function methods:read()
  local text <const>, err <const> = self.disk.read(self.path, 1 << 20)
  if not text then
    if err and err.code == "not_found" then return { version = 1, workspaces = {} } end
    return nil, fault.of(err)
  end
  local data <const> = json.decode(text)
  local good = type(data) == "table" and type(data.workspaces) == "table"
  for _, item in ipairs(good and data.workspaces or {}) do good = good and type(item) == "table" and type(item.path) == "string" end
  if not good then
    return nil, fault.new("bad-trust", "the list of trusted folders is damaged", { where = self.path, hint = "mend or delete the file", status = 2 })
  end
  if data.version ~= 1 then
    return nil, fault.new("bad-trust", "the list of trusted folders has an unknown version", { where = self.path, hint = "a newer nkiln wrote it", status = 2 })
  end
  return data
end

local function write(self, data)
  local workspaces <const> = {}
  for i, item in ipairs(data.workspaces) do workspaces[i] = { path = item.path, since = item.since } end
  local ok <const>, err <const> = self.disk.make_dirs(self.path:match("^(.*)/[^/]*$"))
  if not ok then
    return nil, fault.new(err.code, "the list of trusted folders cannot be kept: " .. fault.why(err), { where = self.path,
      hint = "name a folder of yours with XDG_CONFIG_HOME, or trust one run with --trust" })
  end
  local text <const> = json.encode({ version = 1, workspaces = json.array(workspaces) }, { indent = 2, sort = true }) .. "\n"
  return self.disk.write_atomic(self.path, text)
end

-- Is this folder (a real path) trusted? Returns true, false, or false and the reason the list could not be read.
function methods:has(folder)
  local data <const>, err <const> = self:read()
  if not data then return false, err end
  for _, item in ipairs(data.workspaces) do
    if item.path == folder then return true end
  end
  return false
end

function methods:add(folder)
  local data <const>, err <const> = self:read()
  if not data then return nil, err end
  for _, item in ipairs(data.workspaces) do
    if item.path == folder then return true, "already" end
  end
  table.insert(data.workspaces, { path = folder, since = self.today and self.today() or nil })
  table.sort(data.workspaces, function(a, b) return a.path < b.path end)
  return write(self, data)
end

function methods:remove(folder)
  local data <const>, err <const> = self:read()
  if not data then return nil, err end
  local kept <const> = {}
  for _, item in ipairs(data.workspaces) do
    if item.path ~= folder then kept[#kept + 1] = item end
  end
  if #kept == #data.workspaces then return true, "absent" end
  data.workspaces = kept
  return write(self, data)
end

function methods:list()
  local data <const>, err <const> = self:read()
  if not data then return nil, err end
  return data.workspaces
end

return trust
