-- SPDX-License-Identifier: MIT
-- profile.import: what neuron-explorer wrote becomes a profile database of ours.
--
--   import.parquet(folder, path, options)   a folder of its Parquet files, TABLE.parquet or TABLE_0.parquet, TABLE_1.parquet ...
--   import.summary(file, path, options)     what `view --output-format summary-json` printed: log lines, then one line of JSON
--   import.json(file, path, options)        what `--output-format json` wrote: older, with other names, up to gigabytes
-- options: { provenance = { key = text }, notes = { { level, code, message } }, roots = { folders where sources may be read },
--   progress = function({ text =, fraction = }) }
-- Each gives { tables = { NAME = rows }, notes = { ... }, bytes = read } or nil, err; what was at `path` before is then as it
-- was. Tables and columns that the schema does not know are kept, or a note says that they are not; missing ones are NULL, and a
-- note says so. Memory stays bounded whatever the size of the files.
-- Source: tools/neuron-explorer (guides and profile-schema-reference) of the AWS Neuron SDK documentation.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local schema <const> = require "profile.schema"
local sources <const> = require "profile.sources"
local trace <const> = require "rt.trace"

local import <const> = {}

import.BATCH = 65536 -- rows between two looks at progress

-- Failures of readers and stores as faults; a library that is not here is exit status 3.
local function failed(err, hint)
  local code <const> = err.code == "bad_data" and "bad-input" or (err.code:gsub("_", "-"))
  return nil, fault.new(code, err.message, { status = err.code == "missing" and fault.MISSING or nil, hint = hint })
end
import.failed = failed

local function plural(n, word) return ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

-- A few of many names.
local function some(names)
  table.sort(names)
  local shown <const> = table.concat(names, ", ", 1, math.min(#names, 6))
  return #names > 6 and ("%s and %d more"):format(shown, #names - 6) or shown
end
import.some = some

-- What all importers share ---------------------------------------------------------------------------------------------

-- Collects notes: note(level, code, message).
function import.noter(options)
  local notes <const> = {}
  for _, one in ipairs(options.notes or {}) do notes[#notes + 1] = { level = one.level, code = one.code, message = one.message } end
  return notes, function(level, code, text, ...) notes[#notes + 1] = { level = level, code = code, message = text:format(...) } end
end

-- Our three tables, indices, commit. `known` are facts that options.provenance may override.
function import.finish(store, options, known, notes)
  local rows <const> = {}
  local all <const> = { format_version = schema.format_version, kind = "imported", schema_version = schema.version }
  for key, value in pairs(known) do all[key] = value end
  for key, value in pairs(options.provenance or {}) do all[key] = value end
  for key, value in pairs(all) do rows[#rows + 1] = { key = key, value = tostring(value) } end
  table.sort(rows, function(a, b) return a.key < b.key end)
  for _, name in ipairs { "nkiln", "nkiln_source", "nkiln_notes" } do
    local ok <const>, err <const> = store:table(schema.table(name))
    if not ok then return failed(err) end
  end
  local text <const>, err <const> = sources.collect(store, options.roots or {})
  if not text then return failed(err) end
  local steps <const> = {
    function() return store:rows("nkiln", rows) end,
    function() return store:rows("nkiln_source", text) end,
    function() return store:rows("nkiln_notes", notes) end,
    function() return store:index() end,
    function() return store:commit() end,
  }
  for _, step in ipairs(steps) do
    local ok <const>, why <const> = step()
    if not ok then return failed(why) end
  end
  return true
end

-- The first value of a column of a query, or nil.
function import.value(store, sql)
  local result <const> = store:columns(sql, 1)
  if not result or result.rows == 0 then return nil end
  local column <const> = result.columns[result.names[1]]
  if type(column) == "table" then
    if column.codes then return column.values[column.codes:at(0) + 1] end
    if not column.valid:at(0) then return nil end
    return column[1]:at(0)
  end
  return column:at(0)
end

-- Units ---------------------------------------------------------------------------------------------------------------

-- SchemaFields repeats the schema inside a profile. Times that a profile keeps in another unit than the schema's
-- nanoseconds are converted, so that every question gets the same unit.
local to_ns <const> = { ps = 1e-3, us = 1e3, ms = 1e6, s = 1e9 }
local unit_names <const> = {
  ns = "ns", nanosecond = "ns", nanoseconds = "ns", ps = "ps", picosecond = "ps", picoseconds = "ps", us = "us", microsecond = "us",
  microseconds = "us", ms = "ms", millisecond = "ms", milliseconds = "ms", s = "s", sec = "s", second = "s", seconds = "s",
}

-- Multiply columns of a table by a factor (a power of ten), rounded to integers.
function import.scale(store, name, columns, factor)
  local parts <const> = {}
  for i, column in ipairs(columns) do
    local quoted <const> = schema.quote(column)
    local by <const> = factor < 1 and (" / %.1f"):format(1 / factor) or (" * %d"):format(factor)
    parts[i] = ("%s = CAST(round(%s%s) AS INTEGER)"):format(quoted, quoted, by)
  end
  return store:exec(("UPDATE %s SET %s"):format(schema.quote(name), table.concat(parts, ", ")))
end

local function convert_units(store, note)
  if not store:has("SchemaFields") then return true end
  local result <const>, err <const> = store:columns("SELECT table_name, field_name, field_unit FROM SchemaFields WHERE field_unit IS NOT NULL", 100000)
  if not result then return nil, err end
  local by_table <const> = {}
  local function text_at(name, i)
    local column <const> = result.columns[name]
    return column.codes and column.values[column.codes:at(i) + 1] or nil
  end
  for i = 0, result.rows - 1 do
    local name <const>, field <const>, unit <const> = text_at("table_name", i), text_at("field_name", i), text_at("field_unit", i)
    local known <const> = name and field and schema.tables[name] and schema.tables[name][field]
    local is <const> = unit and unit_names[unit:lower()]
    if known and known.unit == "ns" and is and is ~= "ns" and schema.storage(known.type) == "INTEGER" and store:has(name) then
      local key <const> = name .. "\0" .. is
      by_table[key] = by_table[key] or { name = name, unit = is, columns = {} }
      table.insert(by_table[key].columns, field)
    end
  end
  for _, one in pairs(by_table) do
    local ok <const>, why <const> = import.scale(store, one.name, one.columns, to_ns[one.unit])
    if not ok then return nil, why end
    note("info", "unit", "%s: %s came in %s and is kept in ns.", one.name, some(one.columns), one.unit)
  end
  return true
end

-- Parquet -------------------------------------------------------------------------------------------------------------

-- Files of a folder by table: { { name =, files = { path, ... } }, ... } in the schema's order, unknown tables last.
local function find_tables(folder)
  local entries <const>, err <const> = fs.list(folder)
  if not entries then
    return nil, fault.new(err.code, "the folder of Parquet files cannot be read: " .. fault.why(err), { where = folder })
  end
  local by_name <const>, list <const>, folders = {}, {}, {}
  for _, entry in ipairs(entries) do
    local stem <const> = entry:match("^(.+)%.parquet$")
    if stem then
      local name, part = stem:match("^(.+)_(%d+)$")
      if not name then name, part = stem, "-1" end
      if not by_name[name] then
        by_name[name] = { name = name, parts = {} }
        list[#list + 1] = by_name[name]
      end
      table.insert(by_name[name].parts, { path = folder .. "/" .. entry, part = tonumber(part) })
    else
      folders[#folders + 1] = entry
    end
  end
  if #list == 0 then
    local hint = "a folder written by neuron-explorer view --output-format parquet is expected"
    for _, name in ipairs(folders) do
      local inner <const> = fs.list(folder .. "/" .. name)
      for _, entry in ipairs(inner or {}) do
        if entry:find("%.parquet$") then hint = ("is it %s/%s?"):format(folder, name) end
      end
    end
    return nil, fault.new("not-found", "there are no Parquet files in this folder", { where = folder, hint = hint })
  end
  local place <const> = {}
  for i, name in ipairs(schema.order) do place[name] = i end
  table.sort(list, function(a, b)
    local x <const>, y <const> = place[a.name] or math.huge, place[b.name] or math.huge
    if x ~= y then return x < y end
    return a.name < b.name
  end)
  for _, one in ipairs(list) do
    table.sort(one.parts, function(a, b)
      if a.part ~= b.part then return a.part < b.part end
      return a.path < b.path
    end)
  end
  return list
end

-- The columns of a table: the schema's, then what its files have beyond. fields_of[path][k] is the column of field k, or false.
local function plan_columns(name, parts, note)
  local known <const> = schema.tables[name]
  local columns <const>, by_lower <const>, fields_of <const>, seen <const> = {}, {}, {}, {}
  for i, column in ipairs(known or {}) do
    columns[i] = column
    by_lower[column.name:lower()] = column.name
  end
  local extra <const>, twice <const> = {}, {}
  for _, part in ipairs(parts) do
    local targets <const>, taken <const> = {}, {}
    -- A column with the schema's spelling comes before one that only SQLite takes for the same.
    for k, field in ipairs(part.info.fields) do
      targets[k] = known and known[field.name] and field.name or false
      if targets[k] then taken[targets[k]] = true end
    end
    for k, field in ipairs(part.info.fields) do
      local lower <const> = field.name:lower()
      if not targets[k] then
        if not by_lower[lower] then
          by_lower[lower] = field.name
          columns[#columns + 1] = { name = field.name, type = field.type }
          extra[#extra + 1] = field.name
        end
        if taken[by_lower[lower]] then twice[#twice + 1] = field.name
        else
          targets[k] = by_lower[lower]
          taken[targets[k]] = true
        end
      end
      if targets[k] then seen[targets[k]] = true end
    end
    fields_of[part.path] = targets
  end
  if known then
    local lost <const> = {}
    for _, column in ipairs(known) do
      if column.required and not seen[column.name] then lost[#lost + 1] = column.name end
    end
    if #lost > 0 then note("warning", "columns-missing", "%s lacks %s: NULL in every row.", name, some(lost)) end
    if #extra > 0 then note("info", "columns-unknown", "%s has columns that schema %s does not know, kept: %s.", name, schema.version, some(extra)) end
  end
  if #twice > 0 then note("warning", "columns-twice", "%s has columns whose names differ in letter case only, not kept: %s.", name, some(twice)) end
  return columns, fields_of
end

local function load_table(store, one, state)
  for _, part in ipairs(one.parts) do
    local file <close>, err <const> = trace.parquet_open(part.path, state.folder)
    if not file then return nil, err end
    part.info = file:info()
  end
  local columns <const>, targets <const> = plan_columns(one.name, one.parts, state.note)
  if #columns == 0 then return 0 end
  if #columns > 2000 then
    return nil, { code = "unsupported", message = ("%s: %d columns are more than a database takes"):format(one.parts[1].path, #columns) }
  end
  local ok, err = store:table(schema.table(one.name, columns))
  if not ok then return nil, err end
  for _, part in ipairs(one.parts) do
    local file <close>, unopened <const> = trace.parquet_open(part.path, state.folder)
    if not file then return nil, unopened end
    local unwanted <const> = {}
    for k, target in ipairs(targets[part.path]) do unwanted[k] = target ~= false end
    file:select(unwanted)
    repeat
      local rows <const>, why <const> = file:into(store, one.name, targets[part.path], import.BATCH)
      if not rows then return nil, why end
      state.done = state.done + rows
      state.progress { text = ("importing %s"):format(one.name), fraction = state.total > 0 and state.done / state.total or nil }
    until rows == 0
  end
  return store:count(one.name)
end

-- Names that SQLite keeps for itself or that are ours.
local function may_keep(name) return not name:lower():find("^sqlite_") and not name:lower():find("^nkiln") end

local function judge(tables, store, note)
  local version <const> = tables.Metadata and import.value(store, "SELECT profile_schema_version FROM Metadata")
  local major <const> = type(version) == "string" and version:match("^(%d+)%.")
  if major and major ~= schema.version:match("^%d+") then
    note("warning", "schema-version", "The profile has schema %s; names here are those of %s.", version, schema.version)
  end
  for _, name in ipairs { "Instruction", "Summary", "Metadata" } do
    if not tables[name] then note("warning", "table-missing", "There is no table %s in this profile.", name) end
  end
  return version
end

-- What the profile says of its own making: tools, chip, physical cores of a logical one.
local function facts_of(tables, store)
  local facts <const> = {}
  if not tables.Metadata then return facts end
  local function value(column) return import.value(store, ("SELECT %s FROM Metadata"):format(column)) end
  local tools <const> = {}
  for _, name in ipairs { "explorer", "compiler", "runtime", "driver", "collectives" } do
    local version <const> = value(name .. "_version")
    if version then tools[#tools + 1] = ("%s %s"):format(name, version) end
  end
  if #tools > 0 then facts.tool_versions = table.concat(tools, ", ") end
  local instance <const> = value "instance_type"
  facts.target = type(instance) == "string" and instance:lower():match("^(trn%d)") or type(instance) == "string" and instance:lower():match("^(inf%d)") or nil
  local cores <const> = value "num_physical_cores"
  if cores == 1 or cores == 2 then facts.lnc = cores end
  return facts
end

-- Size and number of rows of all files, which also finds damaged footers before anything is written.
local function survey(list, folder)
  local rows, bytes = 0, 0
  for _, one in ipairs(list) do
    for _, part in ipairs(one.parts) do
      local file <close>, err <const> = trace.parquet_open(part.path, folder)
      if not file then return nil, err end
      rows = rows + file:info().rows
      local st <const> = fs.stat(part.path)
      bytes = bytes + (st and st.size or 0)
    end
  end
  return rows, bytes
end

function import.parquet(folder, path, options)
  options = options or {}
  folder = #folder > 1 and folder:gsub("/+$", "") or folder
  local list <const>, err <const> = find_tables(folder)
  if not list then return nil, err end
  local notes <const>, note <const> = import.noter(options)
  local beside <const> = path:match("^(.+)/[^/]*$") or (path:find("^/") and "/" or ".")
  local total <const>, bytes <const> = survey(list, beside)
  if not total then return failed(bytes) end
  local store <close>, why <const> = trace.store_create(path)
  if not store then return failed(why) end
  local state <const> = { folder = beside, total = total, done = 0, note = note, progress = options.progress or function() end }
  local tables <const>, unknown <const>, refused <const>, lower <const> = {}, {}, {}, {}
  for _, one in ipairs(list) do
    if not may_keep(one.name) or lower[one.name:lower()] then
      refused[#refused + 1] = one.name
    else
      lower[one.name:lower()] = true
      if not schema.tables[one.name] then unknown[#unknown + 1] = one.name end
      local rows <const>, failure <const> = load_table(store, one, state)
      if not rows then return failed(failure) end
      tables[one.name] = rows
    end
  end
  if #unknown > 0 then note("info", "tables-unknown", "Schema %s does not know %s, kept: %s.", schema.version, plural(#unknown, "table"), some(unknown)) end
  if #refused > 0 then note("warning", "tables-refused", "Not kept, because of their names: %s.", some(refused)) end
  local ok, failure = convert_units(store, note)
  if not ok then return failed(failure) end
  local version <const> = judge(tables, store, note)
  state.progress { text = "indexing", fraction = 1 }
  local known <const> = facts_of(tables, store)
  known.source, known.schema_version = folder, version
  ok, failure = import.finish(store, options, known, notes)
  if not ok then return nil, failure end
  return { tables = tables, notes = notes, bytes = bytes }
end

function import.summary(...) return require("profile.import_json").summary(...) end
function import.json(...) return require("profile.import_json").json(...) end

return import
