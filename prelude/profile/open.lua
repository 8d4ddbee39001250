-- SPDX-License-Identifier: MIT
-- profile.open: a profile database opened for questions.
--
-- open(path[, {seconds=, core=, window=}]) -> p | nil, err. p reads the file and nothing else; every statement ends at its time
-- limit. Tables are loaded as columns (rt.analyse) when they are first asked for, with the columns the analysis reads; a column
-- or table that a profile lacks is NULL there, and p.missing says which. p:close() gives everything back.
--
--   p.db                the rt.db handle, SQL functions of sqlfn.h registered
--   p.tables            { NAME = { column = true } } of ordinary tables
--   p.meta              first row of Metadata ({} when there is none); p.summary of Summary; p.provenance of table nkiln
--   p.window            { t0=, t1=, total_ns=, whole=bool, from=what the total is taken from }; p.cores list of pcore_idx
--   p:instructions() p:packets() p:transfers() p:active() p:flow() p:tensors()   tables as columns, or nil, why
-- Times are integers in ns on the profile's own clock.

local analyse <const> = require "rt.analyse"
local database <const> = require "rt.db"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local schema <const> = require "profile.schema"

local open <const> = {}

open.SECONDS = 120 -- time one statement may take
open.known = { "Summary", "Instruction", "DmaPacket", "DmaPacketAggregated", "ActiveTime", "OpcodeSummary" }

local methods <const> = {}
local mt <const> = { __index = methods, __name = "profile" }

local function quote(name) return '"' .. name:gsub('"', '""') .. '"' end

-- What a file that is no profile is, in one line.
local function refuse(path, code, message, hint) return nil, fault.new(code, message, { where = path, hint = hint }) end

local function check_file(path)
  local st <const> = fs.stat(path)
  if not st then return refuse(path, "not-found", "there is no such profile", "nkiln profile KERNEL.py -o p.db makes one") end
  if st.type == "directory" then
    return refuse(path, "is-directory", "this is a folder, a profile database is expected",
      "nkiln profile --import FOLDER -o p.db reads a folder of Parquet files; nkiln query FOLDER --via duckdb asks it directly")
  end
  if st.type ~= "file" then return refuse(path, "not-a-file", "this is no file", nil) end
  if st.size == 0 then return refuse(path, "bad-input", "the file is empty", "a profile is what nkiln profile writes") end
  return true
end

-- The words SQLite has for a damaged file, as a person would say them.
local function damaged(path, err)
  local message <const> = tostring(err.message)
  if err.code == "not_a_database" and message:find("malformed", 1, true) then
    return refuse(path, "bad-input", "the database is damaged or cut off", "make or import the profile again")
  elseif err.code == "not_a_database" then
    return refuse(path, "bad-input", "this is not a SQLite database", "a profile is what nkiln profile writes")
  elseif err.code == "busy" then
    return refuse(path, "locked", "another process is writing this database", "try again when it is done")
  elseif err.code == "timeout" then
    return refuse(path, "timeout", "the database did not answer within its time limit", "--seconds N gives it more")
  end
  if err.code == "cannot_open" and fs.stat(path .. "-wal") then -- to read it SQLite would have to write beside it
    return refuse(path, "bad-input", "a program that stopped half-way left its changes beside this database, in " .. path:match("[^/]*$") .. "-wal",
      "let its program open and close it once, or sqlite3 DB 'PRAGMA journal_mode = delete'")
  end
  return refuse(path, err.code == "cannot_open" and "cannot-open" or "bad-input", message:gsub("^open [^:]*: ", ""), nil)
end

local function read_tables(self)
  local rows <const>, err <const> = self.db:query(
    "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
  if not rows then return nil, err end
  local tables <const>, views <const> = {}, {}
  for _, row in ipairs(rows) do
    if row.type == "view" then
      views[row.name] = true
    else
      local columns <const>, why <const> = self.db:query(("SELECT name FROM pragma_table_info(%s)"):format("'" .. row.name:gsub("'", "''") .. "'"))
      if not columns then return nil, why end
      tables[row.name] = {}
      for _, column in ipairs(columns) do tables[row.name][column.name] = true end
    end
  end
  self.tables, self.views = tables, views
  return true
end

local function first_row(self, name)
  if not self.tables[name] then return {} end
  local row <const>, err <const> = self.db:row(("SELECT * FROM %s LIMIT 1"):format(quote(name)))
  if err then error(err, 0) end
  for column, value in pairs(row or {}) do -- an infinity, or a number far beyond any unit, is damage: as if it were not there
    if math.type(value) == "float" and not (value > -1e24 and value < 1e24) then row[column] = nil end
  end
  return row or {}
end

local FAR <const> = 1 << 62 -- ns; no clock has such times, and differences of what is nearer fit 64 bits

-- First start and last end of a table that is loaded. Raises on times that are no nanoseconds.
local function span(frame, name)
  local row <const> = frame and frame:group(nil, {}, { { "a", "min", "start_ts" }, { "b", "max", "end_ts" } })[1]
  if not row or not row.a or not row.b then return end
  for column, time in pairs { start_ts = row.a, end_ts = row.b } do
    if not (time > -FAR and time < FAR) then
      error({ code = "bad-profile", message = ("%s.%s holds %s, which is no time in nanoseconds: the profile is damaged"):format(name, column, time) }, 0)
    end
  end
  return math.tointeger(row.a) or math.floor(row.a), math.tointeger(row.b) or math.ceil(row.b)
end

-- "10:5000us": both sides a number with ns, us, ms or s, from the start of the profile. An empty side is the profile's own.
function open.parse_window(text)
  local scale <const> = { [""] = 1, ns = 1, us = 1e3, ms = 1e6, s = 1e9 }
  local function side(word, fallback)
    if word == "" then return nil end
    local number <const>, unit <const> = word:match("^([%d.]+[eE]?[+-]?%d*)%s*(%a*)$")
    local value <const> = number and tonumber(number)
    if not value or not scale[unit == "" and fallback or unit] then return false end
    local ns <const> = value * scale[unit == "" and fallback or unit]
    if ns > 2 ^ 60 then return false end
    return math.tointeger(math.floor(ns + 0.5))
  end
  local from <const>, to <const> = text:match("^%s*(.-)%s*:%s*(.-)%s*$")
  if not from then return nil end
  local unit <const> = to:match("(%a+)$")
  local a <const>, b <const> = side(from, unit and scale[unit] and unit or "ns"), side(to, "ns")
  if a == false or b == false or (a == nil and b == nil) or (a and b and a >= b) then return nil end
  return a, b
end

-- The window asked for, or the whole profile.
local function find_window(self, text)
  local first, last
  local function take(a, b)
    if not a or not b then return end
    first, last = math.min(first or a, a), math.max(last or b, b)
  end
  take(span((self:instructions()), "Instruction"))
  local packets <const> = self:packets()
  take(span(packets or self:transfers() or nil, packets and "DmaPacket" or "DmaPacketAggregated"))
  take(span((self:active()), "ActiveTime"))
  self.first, self.last = first, last
  local total <const> = self.summary.total_time
  if text then
    if not first then return nil, fault.new("bad-input", "the profile has no events to cut a window from", { where = self.path }) end
    local a <const>, b <const> = open.parse_window(text)
    if a == nil and b == nil then
      return nil, fault.new("usage", ("--window %s: two times are expected, the first before the second"):format(text), { hint = "as in --window 0:5000us" })
    end
    local t0 <const>, t1 <const> = first + (a or 0), b and first + b or last
    if t0 >= last or t1 <= t0 then
      return nil, fault.new("usage", ("--window %s lies outside the profile, which has %d ns of events"):format(text, last - first))
    end
    self.window = { t0 = t0, t1 = t1, total_ns = t1 - t0, whole = false, from = "--window" }
    return true
  end
  local w <const> = { t0 = first or 0, t1 = last or 0, whole = true, from = "the span of its events" }
  w.total_ns = w.t1 - w.t0
  if type(total) == "number" and total > 0 and total < 1e6 then
    w.total_ns, w.from = math.floor(total * 1e9 + 0.5), "Summary.total_time"
    w.idle_ns = w.total_ns - (w.t1 - w.t0) -- before the first event and after the last
  end
  self.window = w
  return true
end

local function find_cores(self)
  local seen <const> = {}
  for _, name in ipairs { "active", "instructions", "packets" } do
    local frame <const> = self[name](self)
    for _, row in ipairs(frame and frame:group(nil, { "core" }, {}) or {}) do
      if math.type(row.core) == "integer" then seen[row.core] = true end
    end
    if next(seen) then break end
  end
  self.cores = {}
  for core in pairs(seen) do self.cores[#self.cores + 1] = core end
  table.sort(self.cores)
  if #self.cores == 0 then self.cores[1] = 0 end
end

function open.open(path, options)
  options = options or {}
  local ok <const>, refused <const> = check_file(path)
  if not ok then return nil, refused end
  local handle <const>, err <const> = database.open(path, { readonly = true, create = false, timeout = options.seconds or open.SECONDS, busy = 3 })
  if not handle then return damaged(path, err) end
  local self <const> = setmetatable({ path = path, db = handle, frames = {}, missing = {}, notes = {} }, mt)
  local function fail(why)
    handle:close()
    return damaged(path, why)
  end
  local registered <const>, why <const> = analyse.sql_functions(handle)
  if not registered then return fail(why) end
  local read <const>, unread <const> = read_tables(self)
  if not read then return fail(unread) end
  if options.any then return self end -- any database, for SQL
  local found = false
  for _, name in ipairs(open.known) do found = found or self.tables[name] ~= nil end
  if not found then
    local names <const> = {}
    for name in pairs(self.tables) do names[#names + 1] = name end
    table.sort(names)
    handle:close()
    local shown <const> = table.concat(names, ", ", 1, math.min(#names, 6)) .. (#names > 6 and ", ..." or "")
    return refuse(path, "bad-input", ("this database holds no profile (its tables: %s)"):format(#names > 0 and shown or "none"),
      "a profile has Instruction, DmaPacket, Summary and others of neuron-explorer's tables")
  end
  local good <const>, caught <const> = pcall(function()
    self.meta, self.summary = first_row(self, "Metadata"), first_row(self, "Summary")
    self.provenance = {}
    if self.tables.nkiln then
      local rows <const>, bad <const> = handle:query("SELECT key, value FROM nkiln LIMIT 1000")
      if not rows then error(bad, 0) end
      for _, row in ipairs(rows) do
        if row.key then self.provenance[tostring(row.key)] = row.value and tostring(row.value) or nil end
      end
    end
    find_cores(self)
  end)
  if not good then
    if type(caught) ~= "table" then error(caught, 0) end
    return fail(caught)
  end
  local done, reason
  local safe <const>, raised <const> = pcall(function() done, reason = find_window(self, options.window) end)
  if not safe then
    if type(raised) ~= "table" then error(raised, 0) end
    return fail(raised)
  end
  if not done then
    handle:close()
    return nil, reason
  end
  if options.core then
    local known = false
    for _, core in ipairs(self.cores) do known = known or core == options.core end
    if not known then
      handle:close()
      return nil, fault.new("usage", ("--core %d: the profile has core %s"):format(options.core, table.concat(self.cores, ", ")))
    end
    self.cores = { options.core }
  end
  return self
end

function methods:close()
  for _, frame in pairs(self.frames) do frame:close() end
  self.frames = {}
  self.db:close()
end
mt.__close = methods.close

-- A table with these columns, loaded once; a column that is not there is NULL and noted. `derived` are expressions.
-- Returns nil and why when the profile has no such table or it has no rows.
function methods:frame(name, columns, derived)
  if self.frames[name] then return self.frames[name] end
  local have <const> = self.tables[name]
  if not have then return nil, ("the profile has no table %s"):format(name) end
  local list <const> = {}
  for _, column in ipairs(columns) do
    if have[column] then
      list[#list + 1] = column
    else
      list[#list + 1] = "NULL AS " .. column
      self.missing[#self.missing + 1] = name .. "." .. column
    end
  end
  for _, d in ipairs(derived or {}) do
    local ok = true
    for _, column in ipairs(d.needs) do ok = ok and have[column] end
    list[#list + 1] = (ok and d.sql or d.otherwise or "NULL") .. " AS " .. d.name
  end
  local frame <const>, err <const> = analyse.load_table(self.db, table.concat(list, ", "), name)
  if not frame then error(select(2, damaged(self.path, err)), 0) end
  if frame:rows() == 0 then
    frame:close()
    return nil, ("the table %s is empty"):format(name)
  end
  self.frames[name] = frame
  return frame
end

-- The source line of an instruction: the compiler's denser column first. The same text stands in the printed SQL.
function open.location(have)
  if have.bir_debug_info_source_location and have.nki_source_location then
    return "coalesce(nullif(bir_debug_info_source_location, ''), nullif(nki_source_location, ''))"
  end
  local only <const> = have.bir_debug_info_source_location and "bir_debug_info_source_location" or have.nki_source_location and "nki_source_location"
  return only and ("nullif(%s, '')"):format(only) or "NULL"
end

-- Columns that every question reads; more(...) loads others when they are asked for.
function methods:instructions()
  if self.frames.Instruction then return self.frames.Instruction end
  local frame <const>, why <const> = self:frame("Instruction", {
    "id", "start_ts", "end_ts", "engine", "opcode", "tensor_instruction_type", "adjusted_flops", "raw_flops",
  }, {
    { name = "core", needs = { "pcore_idx" }, sql = "coalesce(pcore_idx, 0)", otherwise = "0" },
    { name = "location", needs = {}, sql = open.location(self.tables.Instruction or {}) },
    { name = "tile", needs = { "operands" }, sql = "matmul_tile(operands)" },
  })
  if not frame then return nil, why end
  -- n is of any instruction that has a src: elements a partition. k and m only matmuls have.
  frame:bits("k", "tile", 40, 20)
  frame:bits("m", "tile", 20, 20)
  frame:bits("n", "tile", 0, 20)
  frame:drop "tile"
  frame:compute("duration", "end_ts", "-", "start_ts")
  return frame
end

-- More columns of Instruction: names of columns, or { name, needs, sql }.
function methods:more(columns)
  local frame <const> = self.frames.Instruction
  self.loaded = self.loaded or {}
  local list <const>, have <const> = {}, self.tables.Instruction
  for _, c in ipairs(columns) do
    local name <const>, needs <const>, sql <const> = c.name or c, c.needs or c, c.sql or c
    if not self.loaded[name] then
      self.loaded[name] = true
      if not have[needs] then self.missing[#self.missing + 1] = "Instruction." .. needs end
      list[#list + 1] = (have[needs] and sql or "NULL") .. " AS " .. name
    end
  end
  if #list == 0 then return frame end
  local more <const>, err <const> = analyse.load_table(self.db, table.concat(list, ", "), "Instruction")
  if not more then error(select(2, damaged(self.path, err)), 0) end
  frame:adopt(more)
  return frame
end

function methods:packets()
  return self:frame("DmaPacket", {
    "start_ts", "end_ts", "transfer_bytes", "queue_type", "engine_idx", "packet_idx", "packet_aggregation_id",
  }, { { name = "core", needs = { "pcore_idx" }, sql = "coalesce(pcore_idx, 0)", otherwise = "0" } })
end

function methods:transfers()
  return self:frame("DmaPacketAggregated", {
    "id", "start_ts", "end_ts", "variable", "transfer_bytes", "source", "dest", "queue_type", "is_transpose_mode",
  }, {
    { name = "read_parts", needs = { "read_num_sbuf_partitions" }, sql = "coalesce(read_num_sbuf_partitions, 0)", otherwise = "0" },
    { name = "write_parts", needs = { "write_num_sbuf_partitions" }, sql = "coalesce(write_num_sbuf_partitions, 0)", otherwise = "0" },
    { name = "core", needs = { "pcore_idx" }, sql = "coalesce(pcore_idx, 0)", otherwise = "0" },
  })
end

function methods:active()
  return self:frame("ActiveTime", { "start_ts", "end_ts" }, {
    { name = "core", needs = { "pcore_idx" }, sql = "coalesce(pcore_idx, 0)", otherwise = "0" },
    { name = "engine", needs = { "engine" }, sql = "lower(engine)" },
  })
end

function methods:flow()
  return self:frame("Flow", { "in_id", "out_id", "in_table", "out_table", "dependency_type" })
end

function methods:tensors()
  return self:frame("TensorInfo", { "variable_name", "size" }, {
    { name = "type", needs = { "type" }, sql = "upper(type)" },
  })
end

-- Text of the source lines that the profile carries: text_of(file, line) -> text or nil.
function methods:source(file, line)
  if not self.source_lines then
    self.source_lines = {}
    if self.tables.nkiln_source then
      for _, row in ipairs(self.db:query("SELECT file, line, text FROM nkiln_source LIMIT 200000") or {}) do
        if row.file and row.line then self.source_lines[row.file .. ":" .. row.line] = row.text end
      end
    end
  end
  return self.source_lines[file .. ":" .. line]
end

-- "file:line" taken apart: { location=, file=, line=, text= }.
function methods:place(location)
  if not location then return { location = "(no source line)" } end
  local file <const>, line <const> = location:match("^(.*):(%d+)$")
  local number <const> = file and math.tointeger(tonumber(line))
  if not number then return { location = location } end
  return { location = location, file = file, line = number, text = self:source(file, line) }
end

-- What the profile is, for headings and comparisons.
function methods:identity()
  local from <const>, meta <const> = self.provenance, self.meta
  local kind = from.kind
  if not kind then kind = (meta.is_simulation == 1 and "simulated by the vendor's tool") or "captured" end
  return {
    kind = kind, model_version = from.model_version, target = from.target or open.target_of(meta), lnc = tonumber(from.lnc) or meta.num_physical_cores,
    kernel = from.kernel_file, sha256 = from.kernel_sha256, entry = from.entry, case = from.case, nkiln_version = from.nkiln_version,
    tools = from.tool_versions or meta.explorer_version, schema_version = meta.profile_schema_version, instance = meta.instance_type,
  }
end

-- The generation by its clocks and rates: trn1 2.8 GHz; trn3's DMA 614 GB/s; trn2 435 GB/s. nil when the numbers fit none.
function open.target_of(meta)
  local instance <const> = type(meta.instance_type) == "string" and meta.instance_type:lower():match("trn%d") or nil
  if instance then return instance end
  local clock <const>, rate <const> = meta.tensor_engine_clock_freq, meta.dma_ddr_bandwidth
  if type(clock) ~= "number" or type(rate) ~= "number" then return nil end
  if clock > 2.6 then return "trn1" end
  return rate > 520e9 and "trn3" or "trn2"
end

open.quote, open.schema, open.damaged = quote, schema, damaged
return open
