-- SPDX-License-Identifier: MIT
-- One NeuronCore, held while a profile is taken: which one, and a lock so that two runs of nkiln do not meet on it.
--
--   core.candidates(devices, visible) -> ids in the order to be tried | nil, err     visible: NEURON_RT_VISIBLE_CORES, or nil
--   core.hold(id) -> { id=, path=, release=function } | nil, err                     err.code "locked": another run holds it
--   core.note(held, text)    what the lock file says about its holder
-- The lock is flock on a file per core and user: it ends with the process that holds it, so a file that is left over is
-- never taken for a held lock; held.previous then tells who left it (a run that was killed). What other users and programs
-- hold is seen by the runtime itself ("not available").

local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local core <const> = {}

-- "0", "0,2", "4-7", "0,4-5" -> { 0, ... } (neuron-runtime/guides/configuration-guide, NEURON_RT_VISIBLE_CORES); nil when it is none of these.
function core.parse(text)
  local ids <const> = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local from <const>, to <const> = part:match("^%s*(%d+)%s*%-%s*(%d+)%s*$")
    local one <const> = part:match("^%s*(%d+)%s*$")
    if from then
      local a <const>, b <const> = math.tointeger(tonumber(from)), math.tointeger(tonumber(to))
      if not a or not b or b < a or b - a > 1024 then return nil end
      for id = a, b do ids[#ids + 1] = id end
    elseif one and math.tointeger(tonumber(one)) then
      ids[#ids + 1] = math.tointeger(tonumber(one))
    else
      return nil
    end
  end
  return #ids > 0 and ids or nil
end

function core.candidates(devices, visible)
  if visible and visible:find("%S") then
    local ids <const> = core.parse(visible)
    if not ids then
      return nil, fault.new("usage", ("NEURON_RT_VISIBLE_CORES=%s is no core, list or range of cores"):format(visible),
        { hint = "as in NEURON_RT_VISIBLE_CORES=2" })
    end
    return ids
  end
  -- Cores of devices that nobody uses first.
  local free <const>, used <const> = {}, {}
  for _, row in ipairs(devices.cores) do
    local list <const> = #row.busy == 0 and free or used
    list[#list + 1] = row.id
  end
  return table.move(used, 1, #used, #free + 1, free)
end

local function folder()
  local base = os.getenv("XDG_RUNTIME_DIR")
  if not base or base:sub(1, 1) ~= "/" or not fs.exists(base) then
    local home <const> = fs.home()
    base = home and home .. "/.cache" or fs.tmpdir()
  end
  return base .. "/nkiln-cores"
end

function core.hold(id)
  local place <const> = folder()
  local made <const>, err <const> = fs.mkdir(place, true)
  if not made and err.code ~= "exists" then
    return nil, fault.new(err.code, "the folder of core locks cannot be made: " .. fault.why(err), { where = place })
  end
  local path <const> = ("%s/core-%d.lock"):format(place, id)
  local lock <const>, why <const> = fs.lock(path)
  if not lock then
    if why.code == "locked" then
      local holder <const> = (fs.read(path, 65536) or ""):match("([^\n]+)\n*$")
      return nil, fault.new("locked", ("NeuronCore %d is held by another run of nkiln%s"):format(id, holder and " (" .. holder .. ")" or ""),
        { hint = "wait for it, or choose another core with NEURON_RT_VISIBLE_CORES=N" })
    end
    return nil, fault.new(why.code, "the core's lock cannot be taken: " .. fault.why(why), { where = path })
  end
  local held <const> = { id = id, path = path, released = false, previous = (fs.read(path, 65536) or ""):match("([^\n]+)\n*$") }
  function held.release()
    if held.released then return end
    held.released = true
    fs.remove(path) -- while it is still held: who waits for it looks again (fs_lock)
    lock:release()
  end
  return setmetatable(held, { __close = function() held.release() end, __gc = function() held.release() end })
end

function core.note(held, text) fs.append(held.path, text .. "\n") end

return core
