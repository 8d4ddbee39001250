-- SPDX-License-Identifier: MIT
-- reload: generations of things made from files. A change is loaded aside, checked, and swapped in one step.
--
-- A store keeps, per key, the newest good generation: {id=, value=, files={path = signature}}. Whoever got a value keeps
-- it: a call in flight finishes on the old one. A change that does not load leaves the old generation in place and is
-- reported once per change. `load(key)` returns value, {paths it was made from}; or nil, err, {paths}. `signature(path)`
-- returns a string that differs when the file does, or nil when it is gone. Nothing here raises unless `load` does.

local fault <const> = require "fault"

local reload <const> = {}
local methods <const> = {}
methods.__index = methods

-- options: {load=, signature=, on_event = function({kind = "loaded"|"reloaded"|"broken"|"mended", key=, id=, error=})}.
function reload.new(options)
  return setmetatable({ load = options.load, signature = options.signature, on_event = options.on_event or function() end, kept = {} }, methods)
end

-- A signature from what the file system says: renames, rewrites and touches all change it.
function reload.file_signature(disk)
  return function(path)
    local st <const> = disk.stat(path)
    if not st then return nil end
    return ("%s:%s:%s:%s"):format(st.kind, st.inode or 0, st.size or 0, st.mtime_ns or 0)
  end
end

local function signatures(self, files)
  local out <const> = {}
  for _, path in ipairs(files or {}) do out[path] = self.signature(path) or "gone" end
  return out
end

local function same(self, files)
  for path, before in pairs(files) do
    if (self.signature(path) or "gone") ~= before then return false end
  end
  return true
end

-- Load the key aside and swap it in if it is good. Signatures are taken before loading, so a save in between is seen next time.
local function refresh(self, key, slot)
  local before <const> = signatures(self, slot.watched)
  local ok, value, err_or_files, err_files = pcall(self.load, key)
  local files, err
  if not ok then
    value, err, files = nil, fault.of(value), nil
  elseif value == nil then
    err, files = fault.of(err_or_files), err_files
  else
    files = err_or_files
  end
  local now <const> = signatures(self, files or slot.watched)
  for path, signature in pairs(before) do
    if now[path] and now[path] ~= signature then now[path] = signature end
  end
  slot.watched = files or slot.watched
  slot.seen = now
  if value == nil then
    slot.error = err
    self.on_event { kind = "broken", key = key, id = slot.id, error = err }
    return
  end
  local was_broken <const>, first <const> = slot.error ~= nil, slot.id == 0
  slot.error = nil
  slot.id = slot.id + 1
  slot.value = value
  self.on_event { kind = first and "loaded" or was_broken and "mended" or "reloaded", key = key, id = slot.id }
end

-- The newest good value of a key: value, generation id, and the error of a newer file that does not load. nil, err when
-- there never was a good one.
function methods:get(key)
  local slot = self.kept[key]
  if not slot then
    slot = { id = 0, watched = {}, seen = {} }
    self.kept[key] = slot
    refresh(self, key, slot)
  elseif not same(self, slot.seen) then
    refresh(self, key, slot)
  end
  if slot.value == nil then return nil, slot.error end
  return slot.value, slot.id, slot.error
end

-- Look at every key already loaded. Returns how many were swapped.
function methods:poll()
  local swapped = 0
  local keys <const> = {}
  for key in pairs(self.kept) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local before <const> = self.kept[key].id
    self:get(key)
    if self.kept[key].id ~= before then swapped = swapped + 1 end
  end
  return swapped
end

function methods:forget(key) self.kept[key] = nil end

return reload
