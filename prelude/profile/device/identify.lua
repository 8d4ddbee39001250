-- SPDX-License-Identifier: MIT
-- Which NEFF is the kernel's, and which NTFF belongs to it. Never "the newest file".
--
--   identify.read(path)            -> a NEFF's header (trace.neff) | nil, err
--   identify.neffs(folder)         -> every readable NEFF below the folder, one per UUID: its header and paths={...}
--   identify.choose(list, o)       -> one of them | nil, err    o: { artifacts=folder, entry=, lnc=, inspect=folder }
--   identify.paired(header)        -> the NTFF that the runtime wrote beside a copy of this NEFF while it ran, {path=, size=} | nil
--   identify.tables(folder)        -> folders beneath (or it itself) that hold Parquet files, sorted
--   identify.holds_tables(folder)  -> true when Parquet files lie in it
--   identify.traces(folder, base)  -> NTFFs that `capture -s base.ntff` wrote there: { {path=, size=, rank=, exec=}, ... }, best first
-- A NEFF is told by what it says of itself and by where it was put: in NKI_ARTIFACTS_DIR lies the kernel alone
-- (neuron-runtime/nrtpy/nrtpy-troubleshooting); the runtime's own copies (neff_HASH_vnc_N.neff) have the same UUID; a
-- reference that ran on the device would be another UUID elsewhere.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local trace <const> = require "rt.trace"

local identify <const> = {}

local MAX_FILES <const> = 20000

local function walk(folder, visit, state, depth)
  if depth > 12 then return end
  for _, item in ipairs(fs.entries(folder) or {}) do
    state.n = state.n + 1
    if state.n > MAX_FILES then return end
    local path <const> = folder .. "/" .. item.name
    if item.type == "directory" then
      walk(path, visit, state, depth + 1)
    else
      visit(path, item.name)
    end
  end
end

function identify.read(path)
  local st <const>, missing <const> = fs.stat(path)
  if not st then return nil, fault.new(missing.code, "the NEFF cannot be read: " .. fault.why(missing), { where = path }) end
  local header <const>, err <const> = trace.neff(path, { members = false })
  if header then return header end
  return nil, fault.new(err.code == "bad_data" and "bad-input" or err.code, err.message, { where = path })
end

function identify.neffs(folder)
  local by_uuid <const>, list <const> = {}, {}
  walk(folder, function(path, name)
    if not name:find("%.neff$") then return end
    local one <const> = identify.read(path)
    if not one then return end
    -- Two compilations without a UUID are told apart by their hash.
    local key <const> = one.uuid:find("[^0]") and one.uuid or one.hash
    local known <const> = by_uuid[key]
    if known then
      known.paths[#known.paths + 1] = path
    else
      one.paths = { path }
      by_uuid[key] = one
      list[#list + 1] = one
    end
  end, { n = 0 }, 0)
  table.sort(list, function(a, b) return a.path < b.path end)
  return list
end

local function beneath(one, folder)
  for _, path in ipairs(one.paths) do
    if path:sub(1, #folder + 1) == folder .. "/" then return true end
  end
  return false
end

-- The runtime writes HASH_vnc_N.ntff or HASH_instid_K_vnc_N.ntff beside neff_HASH when that NEFF is executed.
function identify.paired(one)
  for _, path in ipairs(one.paths) do
    local place <const>, hash <const> = path:match("^(.*)/neff_(%d+)[^/]*%.neff$")
    for _, name in ipairs(hash and fs.list(place) or {}) do
      local st <const> = name:match("^(%d+)[_%w]*%.ntff$") == hash and fs.stat(place .. "/" .. name)
      if st then return { path = place .. "/" .. name, size = st.size } end
    end
  end
end

-- Kernel sources are in the NEFF of an NKI kernel that was compiled with NKI_DEBUG_INFO=True, and in no other graph's.
local function has_kernel_info(one)
  for _, member in ipairs((trace.neff(one.path) or {}).members or {}) do
    if member.name:find("kernel_debug_info%.json$") then return true end
  end
  return false
end

local function word_in(name, entry)
  return (" " .. name .. " "):find("[^%w_]" .. entry:gsub("%W", "%%%0") .. "[^%w_]") ~= nil
end

local function describe(one) return ("%s (UUID %s, name %s)"):format(one.path, one.uuid:sub(1, 8), one.name ~= "" and one.name or "none") end

function identify.choose(list, o)
  if #list == 0 then
    return nil, fault.new("failed", "the run left no NEFF: the kernel was not compiled for the device", { where = o.log,
      hint = "is NKI_ARTIFACTS_DIR honoured by this NKI version? give the file itself with --neff" })
  end
  local rest = list
  local function narrow(test)
    if #rest == 1 then return end
    local kept <const> = {}
    for _, one in ipairs(rest) do
      if test(one) then kept[#kept + 1] = one end
    end
    if #kept > 0 then rest = kept end
  end
  narrow(function(one) return beneath(one, o.artifacts) end)
  narrow(function(one) return word_in(one.name, o.entry) end)
  narrow(has_kernel_info)
  narrow(function(one) return identify.paired(one) ~= nil end)
  if #rest > 1 then
    local names <const> = {}
    for i, one in ipairs(rest) do names[i] = describe(one) end
    return nil, fault.new("failed", ("%d compilations are left and nothing tells which is the kernel's: %s"):format(#rest, table.concat(names, "; ")),
      { hint = "capture the right one with --neff FILE" })
  end
  local one <const> = rest[1]
  if one.lnc ~= 0 and one.lnc ~= o.lnc then
    return nil, fault.new("usage", ("the kernel was compiled for LNC %d, this run is for LNC %d"):format(one.lnc, o.lnc), { where = one.path,
      hint = ("give --lnc %d"):format(one.lnc) })
  end
  return one
end

function identify.holds_tables(folder)
  for _, file in ipairs(fs.list(folder) or {}) do
    if file:find("%.parquet$") then return true end
  end
  return false
end

function identify.tables(folder)
  local list <const> = {}
  local function look(at, depth)
    if identify.holds_tables(at) then
      list[#list + 1] = at
      return
    end
    for _, item in ipairs(depth < 6 and fs.entries(at) or {}) do
      if item.type == "directory" then look(at .. "/" .. item.name, depth + 1) end
    end
  end
  look(folder, 0)
  table.sort(list)
  return list
end

function identify.traces(folder, base)
  local list <const> = {}
  for _, name in ipairs(fs.list(folder) or {}) do
    local tail <const> = name:sub(1, #base) == base and name:sub(#base + 1):match("^(.*)%.ntff$")
    if tail then
      local rank <const>, exec = tail:match("^_rank_(%d+)(.*)$")
      exec = (exec or tail):match("^_exec_(%d+)$") or ((exec or tail) == "" and "1" or nil)
      local st <const> = exec and fs.stat(folder .. "/" .. name)
      if st then
        list[#list + 1] = { path = folder .. "/" .. name, size = st.size, rank = math.tointeger(tonumber(rank or 0)), exec = math.tointeger(tonumber(exec)) }
      end
    end
  end
  -- The last execution is the warm one; of several workers the first.
  table.sort(list, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.exec > b.exec
  end)
  return list
end

return identify
