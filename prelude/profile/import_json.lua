-- SPDX-License-Identifier: MIT
-- profile.import_json: the JSON that neuron-explorer and its predecessor write. See profile.import.
--
-- summary-json is one line { "n_HASH": { metric = value, ... } } among log lines; several profiles are possible, the first in the
-- text counts. The older full JSON is { "instruction": [ {...}, ... ], "dma": [ ... ], "summary": [ {...} ], ... } with names of
-- its own, numbers that are texts in places, and times in ns or ps, told apart by the summary's total time.
-- Sources: tools/neuron-explorer and the archived neuron-profile guide of the AWS Neuron SDK documentation; field names as in
-- public captures of tools 2.28 and 2.29.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local import <const> = require "profile.import"
local json <const> = require "rt.json"
local schema <const> = require "profile.schema"
local trace <const> = require "rt.trace"

local import_json <const> = {}

import_json.SUMMARY_BYTES, import_json.ROWS = 64 << 20, 4096

-- Old tools wrote NaN and Infinity, which JSON does not have: they are no values.
local function decode(text)
  local value, err = json.decode(text)
  if value == nil and err and (err.message or ""):find("NaN", 1, true) then
    local repaired <const> = text:gsub("([:,%[]%s*)%-?NaN", "%1null"):gsub("([:,%[]%s*)%-?Infinity", "%1null")
    value, err = json.decode(repaired)
  end
  return value, err
end

-- Metrics of older tools that are now facts of the run.
local metadata_of <const> = {
  instance_type = "instance_type", compiler_version = "compiler_version", runtime_version = "runtime_version", driver_version = "driver_version",
  collectives_version = "collectives_version", profiler_version = "explorer_version", nc_idx = "neuroncore_idx", nd_idx = "neuron_device_idx",
}

local function is_numeric(column) return schema.storage(column.type) ~= "TEXT" end

-- A value as a column takes it, or nil. Lists and objects become text.
local function value_for(column, value)
  if value == nil or value == json.null then return nil end
  if type(value) == "table" then return json.encode(value) end
  if type(value) == "string" and column and is_numeric(column) then return math.tointeger(tonumber(value)) or tonumber(value) end
  return value
end

-- Rows of Summary and Metadata from metrics; metrics the schema does not know become further columns.
local function split_metrics(metrics)
  local summary <const>, metadata <const>, columns <const>, extra <const>, names <const> = {}, {}, {}, {}, {}
  for i, column in ipairs(schema.tables.Summary) do columns[i] = column end
  for name in pairs(metrics) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local value <const> = value_for(schema.tables.Summary[name], metrics[name])
    if schema.tables.Summary[name] then summary[name] = value
    elseif metadata_of[name] then metadata[metadata_of[name]] = value_for(schema.tables.Metadata[metadata_of[name]], metrics[name])
    elseif value ~= nil then
      local kind <const> = math.type(value) == "integer" and "i64" or type(value) == "number" and "f64" or type(value) == "boolean" and "bool" or "str"
      columns[#columns + 1] = { name = name, type = kind }
      extra[#extra + 1] = name
      summary[name] = value
    end
  end
  return summary, metadata, columns, extra
end

local function bad(path, message, hint) return nil, fault.new("bad-input", message, { where = path, hint = hint }) end

-- The object with the metrics in what the tool printed: the first line that is one, else the text from its first "{" on.
local function find_object(text)
  for line in text:gmatch("[^\r\n]+") do
    if line:find("^%s*{") then
      local value <const> = decode(line)
      if type(value) == "table" then return value, line end
    end
  end
  local at <const> = text:find("%f[^%z\n]%s*{")
  if not at then return nil, nil, "there is no JSON object in it" end
  local rest <const> = text:sub(at)
  local value <const>, err <const> = decode(rest)
  if type(value) == "table" then return value, rest end
  return nil, nil,
    ("its JSON is damaged: %s (line %d)"):format(err.message:gsub("^.-: ", ""), err.line or 1)
end

local function is_metrics(value)
  return type(value) == "table" and (value.total_time ~= nil or value.total_active_time ~= nil or value.hardware_flops ~= nil)
end

-- metrics, how many profiles there were
local function pick(object, text)
  if is_metrics(object) then return object, 1 end
  if type(object.summary) == "table" then
    local first <const> = object.summary[1] or object.summary
    if is_metrics(first) then return first, math.max(1, #object.summary) end
  end
  local first, least, count = nil, math.huge, 0
  for name, value in pairs(object) do
    if is_metrics(value) then
      count = count + 1
      local at <const> = text:find(json.encode(name), 1, true) or math.huge
      if at < least or not first then first, least = value, at end
    end
  end
  return first, count
end

-- Both tables of metrics into the store.
local function put_metrics(store, metrics, note)
  local summary <const>, metadata <const>, columns <const>, extra <const> = split_metrics(metrics)
  if #columns > 1900 then return nil, { code = "unsupported", message = "there are too many metrics" } end
  local ok, err = store:table(schema.table("Summary", columns))
  if ok then ok, err = store:rows("Summary", { summary }) end
  if ok and next(metadata) and not store:has("Metadata") then
    ok, err = store:table(schema.table("Metadata"))
    if ok then ok, err = store:rows("Metadata", { metadata }) end
  end
  if not ok then return nil, err end
  if #extra > 0 then note("info", "columns-unknown", "Summary has metrics that schema %s does not know, kept: %s.", schema.version, import.some(extra)) end
  return true
end

function import_json.summary(file, path, options)
  options = options or {}
  local text <const>, err <const> = fs.read(file, import_json.SUMMARY_BYTES)
  if not text then return nil, fault.new(err.code, "the summary cannot be read: " .. fault.why(err), { where = file }) end
  local object <const>, found <const>, why <const> = find_object(text)
  if not object then return bad(file, "this is no summary-json: " .. why, "neuron-explorer view --output-format summary-json prints one") end
  local metrics <const>, count <const> = pick(object, found)
  if not metrics then return bad(file, "there are no metrics in this JSON", "neuron-explorer view --output-format summary-json prints them") end
  local notes <const>, note <const> = import.noter(options)
  if count > 1 then note("warning", "several-profiles", "The summary holds %d profiles; the first one is here.", count) end
  note("info", "summary-only", "Only metrics were imported: there is no timeline, no instruction and no source line.")
  local store <close>, unmade <const> = trace.store_create(path)
  if not store then return import.failed(unmade) end
  local ok, failure = put_metrics(store, metrics, note)
  if not ok then return import.failed(failure) end
  local tables <const> = { Summary = 1, Metadata = store:has("Metadata") and 1 or nil }
  ok, failure = import.finish(store, options, { source = file }, notes)
  if not ok then return nil, failure end
  return { tables = tables, notes = notes, bytes = #text }
end

-- The full JSON -------------------------------------------------------------------------------------------------------

local sections <const> = {
  dma = "DmaPacket", trace_events = "SystemProfileEvents", mem_usage = "HostMemUsage", cpu_util = "CpuUsage", warnings = "Warning",
}

local renamed <const> = {
  timestamp = "start_ts", duration = "duration_ns", evt_wait_time = "evt_wait_time_ns", label = "timeline_track", transfer_size = "transfer_bytes",
  read_size = "read_bytes", write_size = "write_bytes", transfer_rate = "throughput", dma_queue = "queue_name", dma_engine = "engine_idx",
  usage = "used_bytes", percent_usage = "used_percent", util = "util_percent", lnc_idx = "pcore_idx",
}

-- Prefixes of timeline labels, old and new, and the engine they speak of.
local engines <const> = {
  { "tensor", "Tensor" }, { "vector", "Vector" }, { "scalar", "Scalar" }, { "gpsimd", "GpSimd" }, { "sync", "Sync" },
  { "pe", "Tensor" }, { "dve", "Vector" }, { "act", "Scalar" }, { "pool", "GpSimd" }, { "sp", "Sync" },
}

local function engine_of(label)
  local lower <const> = label:lower()
  for _, one in ipairs(engines) do
    if lower:sub(1, #one[1]) == one[1] then return one[2] end
  end
  return label
end

-- Where a section's records go: "dma_queues_info" is DmaQueuesInfo.
local function table_of(section)
  local name <const> = sections[section] or section:gsub("_?(%w)(%w*)", function(a, b) return a:upper() .. b end)
  return schema.tables[name] and not name:find("^nkiln") and name or nil
end

local loader <const> = {}
loader.__index = loader

local function new_loader(store, note)
  return setmetatable({ store = store, note = note, rows = {}, targets = {}, dropped = {}, skipped = {}, ids = 0 }, loader)
end

function loader:target(name, key)
  local targets = self.targets[name]
  if not targets then
    targets = {}
    self.targets[name] = targets
  end
  if targets[key] == nil then
    local columns <const> = schema.tables[name]
    local to <const> = columns[key] or columns[renamed[key] or ""]
    targets[key] = to or false
  end
  return targets[key]
end

function loader:flush(name)
  local rows <const> = self.rows[name]
  if #rows == 0 then return true end
  self.rows[name] = {}
  local ok <const>, err <const> = self.store:rows(name, rows)
  return ok, err
end

function loader:add(name, record)
  if not self.rows[name] then
    local ok <const>, err <const> = self.store:table(schema.table(name))
    if not ok then return nil, err end
    self.rows[name] = {}
  end
  local row <const> = {}
  for key, value in pairs(record) do
    local column <const> = self:target(name, key)
    if column then
      local kept <const> = value_for(column, value)
      if kept ~= nil and (row[column.name] == nil or column.name == key) then row[column.name] = kept end
    else
      local dropped <const> = self.dropped[name] or {}
      self.dropped[name] = dropped
      dropped[key] = true
    end
  end
  local columns <const> = schema.tables[name]
  if columns.end_ts and row.end_ts == nil and math.type(row.start_ts) and math.type(row.duration_ns) then row.end_ts = row.start_ts + row.duration_ns end
  if name == "Instruction" then
    if row.engine == nil and type(row.timeline_track) == "string" then row.engine = engine_of(row.timeline_track) end
    if row.id == nil then row.id = self.ids end
    self.ids = self.ids + 1
  elseif name == "Warning" and row.message == nil and type(record.warning) == "string" then
    row.message = record.warning
  end
  local rows <const> = self.rows[name]
  rows[#rows + 1] = row
  return #rows < import_json.ROWS or self:flush(name)
end

-- One record of the file.
function loader:record(section, value)
  if section == "summary" then
    self.metrics = self.metrics or value
    return true
  end
  local name <const> = table_of(section)
  if not name or type(value) ~= "table" then
    if not (type(value) == "table" and next(value) == nil) then self.skipped[section] = (self.skipped[section] or 0) + 1 end
    return true
  end
  return self:add(name, value)
end

function loader:finish()
  for name in pairs(self.rows) do
    local ok <const>, err <const> = self:flush(name)
    if not ok then return nil, err end
  end
  for name, keys in pairs(self.dropped) do
    local list <const> = {}
    for key in pairs(keys) do list[#list + 1] = key end
    self.note("info", "columns-unknown", "%s: fields that schema %s does not know were not kept: %s.", name, schema.version, import.some(list))
  end
  local list <const> = {}
  for section, count in pairs(self.skipped) do list[#list + 1] = ("%s (%d)"):format(section, count) end
  if #list > 0 then self.note("info", "tables-unknown", "Sections without a table were not kept: %s.", import.some(list)) end
  return not self.metrics or put_metrics(self.store, self.metrics, self.note)
end

-- Times in the file are ns or ps; the summary's seconds tell which.
function loader:judge_units()
  if not self.store:has("Instruction") then return true end
  local span <const> = import.value(self.store, "SELECT max(end_ts) - min(start_ts) FROM Instruction")
  local total <const> = self.metrics and value_for(schema.tables.Summary.total_time, self.metrics.total_time)
  if type(span) ~= "number" or span <= 0 then return true end
  if type(total) ~= "number" or total <= 0 then
    self.note("warning", "unit-unknown", "The file has no total time to judge the unit of its times by; they are taken as ns.")
    return true
  end
  local ratio <const> = span / (total * 1e9)
  if ratio < 50 then
    if ratio > 1.5 or ratio < 0.002 then
      self.note("warning", "unit-unclear", "The instructions span %.4g times the total time; their times are taken as ns.", ratio)
    end
    return true
  end
  if ratio < 200 or ratio > 2000 then
    self.note("warning", "unit-unclear", "The instructions span %.4g times the total time; their times are taken as ns.", ratio)
    return true
  end
  for name in pairs(self.rows) do
    local columns <const> = {}
    for _, column in ipairs(schema.tables[name]) do
      if column.unit == "ns" and schema.storage(column.type) == "INTEGER" then columns[#columns + 1] = column.name end
    end
    if #columns > 0 and not name:find("^System") then
      local ok <const>, err <const> = import.scale(self.store, name, columns, 1e-3)
      if not ok then return nil, err end
    end
  end
  self.note("info", "unit", "Times came in ps and are kept in ns.")
  return true
end

function import_json.json(file, path, options)
  options = options or {}
  local st <const> = fs.stat(file)
  local stream <close>, err <const> = trace.json_open(file)
  if not stream then return import.failed(err) end
  local notes <const>, note <const> = import.noter(options)
  local store <close>, unmade <const> = trace.store_create(path)
  if not store then return import.failed(unmade) end
  local load <const>, progress <const> = new_loader(store, note), options.progress
  local count = 0
  while true do
    local section <const>, text <const>, _, offset <const> = stream:next()
    if not section then
      if text then return import.failed(text, "neuron-explorer view --output-format json writes such a file") end
      break
    end
    local value <const>, wrong <const> = decode(text)
    if value == nil then
      return bad(file, ("the record of %s at offset %d is damaged: %s"):format(section, offset, tostring(wrong.message)))
    end
    local ok <const>, failure <const> = load:record(section, value)
    if not ok then return import.failed(failure) end
    count = count + 1
    if progress and count % 4096 == 0 then progress { text = "importing " .. section, fraction = st and st.size > 0 and offset / st.size or nil } end
  end
  local ok, failure = load:finish()
  if ok then ok, failure = load:judge_units() end
  if not ok then return import.failed(failure) end
  local tables <const>, any = {}, false
  for _, name in ipairs(schema.order) do
    if store:has(name) then
      tables[name] = store:count(name)
      any = true
    end
  end
  if not any then return bad(file, "there is nothing of a profile in this JSON", "neuron-explorer view --output-format json writes one") end
  ok, failure = import.finish(store, options, { source = file }, notes)
  if not ok then return nil, failure end
  return { tables = tables, notes = notes, bytes = st and st.size or 0 }
end

return import_json
