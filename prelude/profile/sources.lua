-- SPDX-License-Identifier: MIT
-- profile.sources: the text of the source lines that a profile names, for table nkiln_source.
--
--   sources.collect(store, roots) -> { { file =, line =, text = }, ... } | nil, err
-- Locations are "FILE:LINE" as written where the kernel was compiled, often on another machine. A file is read at its own path,
-- or at the longest end of its path that exists beneath one of the roots, and only where it lies beneath a root. A line whose
-- text is not found is left out. At most LINES lines and FILES files.

local fs <const> = require "rt.fs"

local sources <const> = {}

sources.LINES, sources.FILES, sources.BYTES = 20000, 200, 8 << 20

-- "path/k.py:12" -> file, line; a column behind it ("k.py:12:5") is dropped.
function sources.split(location)
  local file, line = location:match("^(.-):(%d+):%d+$")
  if not file then file, line = location:match("^(.*):(%d+)$") end
  line = math.tointeger(tonumber(line))
  if not file or file == "" or not line then return nil end
  return file, line
end

local function text_of(column, i)
  if type(column) ~= "table" or not column.codes then return nil end
  return column.values[column.codes:at(i) + 1]
end

local function number_of(column, i)
  if type(column) == "userdata" then return column:at(i) end
  if column.codes then return tonumber(text_of(column, i)) end
  return column.valid:at(i) and column[1]:at(i) or nil
end

-- Distinct locations: { [file] = { [line] = true } }, in all at most LINES.
local function locations(store)
  local found <const>, count = {}, 0
  local function add(file, line)
    if not file or not line or count >= sources.LINES then return end
    found[file] = found[file] or {}
    if not found[file][line] then
      found[file][line] = true
      count = count + 1
    end
  end
  for _, column in ipairs { "nki_source_location", "bir_debug_info_source_location" } do
    if store:has("Instruction") then
      local r <const>, err <const> = store:columns(("SELECT DISTINCT %s AS l FROM Instruction WHERE l IS NOT NULL LIMIT %d"):format(column, sources.LINES))
      if not r then return nil, err end
      for i = 0, r.rows - 1 do
        local text <const> = text_of(r.columns.l, i)
        if text then add(sources.split(text)) end
      end
    end
  end
  for _, name in ipairs { "KernelInstructions", "KernelStackFrames", "KernelIterationVariables" } do
    if store:has(name) then
      local sql <const> = "SELECT DISTINCT file_path AS f, line_number AS l FROM %s WHERE f IS NOT NULL AND l IS NOT NULL LIMIT %d"
      local r <const>, err <const> = store:columns(sql:format(name, sources.LINES))
      if not r then return nil, err end
      for i = 0, r.rows - 1 do add(text_of(r.columns.f, i), math.tointeger(number_of(r.columns.l, i))) end
    end
  end
  return found
end

local function beneath(path, roots)
  local real <const> = fs.realpath(path)
  for _, root in ipairs(roots) do
    local base <const> = fs.realpath(root)
    if real and base and (real == base or real:sub(1, #base + 1) == (base == "/" and "/" or base .. "/")) then return real end
  end
end

-- Where a file of the compile machine lies here, or nil.
local function find_file(file, roots)
  local here <const> = beneath(file, roots)
  if here then return here end
  local tail = file:gsub("^/+", "")
  while tail ~= "" do
    for _, root in ipairs(roots) do
      local path <const> = root .. "/" .. tail
      local st <const> = fs.stat(path)
      if st and st.type == "file" then return beneath(path, roots) end
    end
    tail = tail:match("^[^/]*/+(.*)$") or ""
  end
end

function sources.collect(store, roots)
  local found <const>, err <const> = locations(store)
  if not found then return nil, err end
  local names <const>, rows <const> = {}, {}
  for name in pairs(found) do names[#names + 1] = name end
  table.sort(names)
  for k = 1, math.min(#names, sources.FILES) do
    local path <const> = #roots > 0 and find_file(names[k], roots)
    local text <const> = path and fs.read(path, sources.BYTES)
    local number = 0
    for line in ((text or ""):gsub("\n$", "") .. "\n"):gmatch("(.-)\r?\n") do
      number = number + 1
      if found[names[k]][number] and text and text ~= "" then rows[#rows + 1] = { file = names[k], line = number, text = line } end
    end
  end
  return rows
end

return sources
