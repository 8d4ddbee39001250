-- SPDX-License-Identifier: MIT
-- profile.report.collect: everything a picture needs, read from a profile database once.
--
--   local page, err = collect.page(path, shown)       -- what page.build takes
-- Fields: title, subtitle, kind, t0, t1, total_ns, tracks, labels, places, files, whole, memory, roof, tiles, bounds,
-- verdict, findings, notes, provenance. Times are nanoseconds, sizes bytes, rates per second.

local fault <const> = require "fault"
local html <const> = require "profile.report.html"
local open <const> = require "profile.open"

local collect <const> = {}

local function short(path) return tostring(path):match("([^/]+)$") or tostring(path) end

-- Microseconds as the rest of the page writes them.
local function micro(text) return text and (tostring(text):gsub("(%d) us%f[^%w_]", "%1 µs")) end

-- What this file asks of an open profile (profile.open): is a column there; rows one by one; all rows; the first.
local reader <const> = {}
reader.__index = reader
function reader:has(name, column)
  local columns <const> = self.p.tables[name]
  return columns ~= nil and (column == nil or columns[column] == true)
end
function reader:each(sql) return self.p.db:rows(sql) end
function reader:all(sql)
  local rows <const>, err <const> = self.p.db:query(sql)
  if not rows then error(err, 0) end
  return rows
end
function reader:first(sql) return self:all(sql)[1] or {} end

-- A table of texts that numbers each once, from 0.
local function numbering()
  local index <const>, list <const> = {}, {}
  return list, function(text)
    local known = index[text]
    if not known then
      known = #list
      index[text], list[known + 1] = known, text
    end
    return known
  end
end

-- What names the source of an instruction, "file:line" or NULL: the denser column first.
local function place_column(t)
  local dense <const>, sparse <const> = t:has("Instruction", "bir_debug_info_source_location"), t:has("Instruction", "nki_source_location")
  if dense and sparse then return "coalesce(nullif(bir_debug_info_source_location, ''), nki_source_location)" end
  return dense and "bir_debug_info_source_location" or sparse and "nki_source_location" or "NULL"
end

local known_engines <const> = {}
for _, engine in ipairs(html.engines) do known_engines[engine.key] = engine end

local function new_track(name, engine) return { name = name, engine = engine, start = {}, finish = {}, label = {}, line = {} } end

local function push(track, start, finish, label, line)
  local n <const> = #track.start + 1
  track.start[n], track.finish[n], track.label[n], track.line[n] = start, finish, label, line
end

-- Tracks: one for each engine (and physical core, where there are several), one for each DMA engine.
local function read_tracks(t, page)
  local labels <const>, label_of = numbering()
  local by_name <const>, order <const> = {}, {}
  local function track_of(name, engine)
    local track = by_name[name]
    if not track then
      track = new_track(name, engine)
      by_name[name], order[#order + 1] = track, track
    end
    return track
  end
  local first, last = math.huge, -math.huge
  local function seen(start, finish)
    if start < first then first = start end
    if finish > last then last = finish end
  end
  local line_of_instruction <const> = {}
  if t:has("Instruction", "start_ts") and t:has("Instruction", "end_ts") then
    local function column(name) return t:has("Instruction", name) and name or "NULL" end
    local core <const> = t:has("Instruction", "pcore_idx") and "coalesce(pcore_idx, 0)" or "0"
    local cores <const> = t:first("SELECT count(DISTINCT " .. core .. ") AS n FROM Instruction").n or 1
    for row in t:each(("SELECT CAST(start_ts AS INTEGER) AS a, CAST(end_ts AS INTEGER) AS z, lower(%s) AS engine, %s AS opcode, %s AS id,"
      .. " %s AS place, CAST(%s AS INTEGER) AS core"
      .. " FROM Instruction WHERE start_ts IS NOT NULL AND end_ts >= start_ts ORDER BY start_ts"):format(
      column "engine", column "opcode", column "id", page.place, core)) do
      local engine <const> = known_engines[row.engine]
      local line <const> = row.place and page.line_of(row.place) or 0
      if row.id then line_of_instruction[row.id] = line end
      if engine then
        push(track_of(cores > 1 and ("%s %d"):format(engine.title, row.core or 0) or engine.title, engine.key), row.a, row.z,
          label_of(tostring(row.opcode)), line)
        seen(row.a, row.z)
      end
    end
  end
  local lines_of_transfer <const> = {}
  if t:has("Flow", "out_table") then
    for row in t:each("SELECT in_id, out_id FROM Flow WHERE in_table = 'Instruction' AND out_table = 'DmaPacketAggregated'") do
      if row.in_id and row.out_id then lines_of_transfer[row.out_id] = line_of_instruction[row.in_id] end
    end
  end
  if t:has("DmaPacket", "engine_idx") and t:has("DmaPacket", "start_ts") and t:has("DmaPacket", "end_ts") then
    local transfer <const> = t:has("DmaPacket", "packet_aggregation_id") and "packet_aggregation_id" or "NULL"
    local variable <const> = t:has("DmaPacket", "variable") and "variable" or "NULL"
    for row in t:each(("SELECT CAST(start_ts AS INTEGER) AS a, CAST(end_ts AS INTEGER) AS z,"
      .. " CAST(coalesce(engine_idx, 0) AS INTEGER) AS engine, %s AS variable, %s AS transfer"
      .. " FROM DmaPacket WHERE start_ts IS NOT NULL AND end_ts >= start_ts ORDER BY start_ts"):format(variable, transfer)) do
      push(track_of(("DMA %d"):format(row.engine), "dma"), row.a, row.z, label_of("DMA " .. tostring(row.variable or "")),
        lines_of_transfer[row.transfer] or 0)
      seen(row.a, row.z)
    end
  end
  local rank <const> = {}
  for i, engine in ipairs(html.engines) do rank[engine.key] = i end
  table.sort(order, function(a, b)
    if rank[a.engine] ~= rank[b.engine] then return rank[a.engine] < rank[b.engine] end
    local x <const>, y <const> = tonumber(a.name:match("%d+$")) or 0, tonumber(b.name:match("%d+$")) or 0
    return x < y
  end)
  page.labels, page.tracks = labels, order
  page.t0, page.t1 = first < math.huge and first or 0, last > -math.huge and last or 0
end

-- Busy time of each engine: the union of its intervals, DMA the union over its engines.
local function busy(tracks)
  local whole <const> = { most = 0 }
  local marks <const> = {}
  for _, track in ipairs(tracks) do
    local list = marks[track.engine]
    if not list then
      list = {}
      marks[track.engine] = list
    end
    local till = -math.huge
    for i = 1, #track.start do -- spans of one track first: far fewer than items
      local a <const>, z <const> = track.start[i], track.finish[i]
      if a > till then
        list[#list + 1] = { a, z }
        till = z
      elseif z > till then
        list[#list][2] = z
        till = z
      end
    end
  end
  for engine, list in pairs(marks) do
    table.sort(list, function(p, q) return p[1] < q[1] end)
    local sum, till = 0, -math.huge
    for _, span in ipairs(list) do
      if span[2] > till then
        sum = sum + span[2] - math.max(span[1], till)
        till = span[2]
      end
    end
    whole[engine] = sum
    if engine ~= "sync" then whole.most = math.max(whole.most, sum) end
  end
  return whole
end

-- Per source line: busy time of each engine, HBM bytes, instructions.
local function read_lines(t, page)
  local files <const>, order <const> = {}, {}
  local function line_at(index)
    local place <const> = page.places[index]
    local file = files[place.file]
    if not file then
      file = { name = place.file, lines = {}, text = {}, first = place.line, last = place.line }
      files[place.file], order[#order + 1] = file, file
    end
    local line = file.lines[place.line]
    if not line then
      line = { ns = {}, bytes = 0, instructions = 0, index = index - 1 }
      file.lines[place.line] = line
      file.first, file.last = math.min(file.first, place.line), math.max(file.last, place.line)
    end
    return line
  end
  local per <const> = {}
  for _, track in ipairs(page.tracks) do
    local engine <const> = track.engine
    for i = 1, #track.start do
      local index <const> = track.line[i]
      if index > 0 then
        local line <const> = per[index] or line_at(index)
        per[index] = line
        line.ns[engine] = (line.ns[engine] or 0) + (track.finish[i] - track.start[i])
        if engine ~= "dma" then line.instructions = line.instructions + 1 end
      end
    end
  end
  local dma_engines = 0
  for _, track in ipairs(page.tracks) do
    if track.engine == "dma" then dma_engines = dma_engines + 1 end
  end
  for _, line in pairs(per) do
    if line.ns.dma and dma_engines > 0 then line.ns.dma = math.floor(line.ns.dma / dma_engines) end -- sixteen work side by side
    line.top = 0
    for engine, ns in pairs(line.ns) do
      if engine ~= "sync" then line.top = math.max(line.top, ns) end
    end
  end
  if t:has("Instruction", "hbm_read_bytes") and t:has("Instruction", "hbm_write_bytes") then
    for _, row in ipairs(t:all(("SELECT %s AS place, total(hbm_read_bytes) + total(hbm_write_bytes) AS bytes "
      .. "FROM Instruction GROUP BY 1"):format(
      page.place))) do
      local line <const> = row.place and per[page.line_of(row.place)]
      if line and math.type(row.bytes) then line.bytes = row.bytes end
    end
  end
  if t:has("nkiln_source", "text") then
    for _, row in ipairs(t:all "SELECT file, line, text FROM nkiln_source") do
      local file <const> = files[short(row.file)] or files[row.file]
      if file and math.type(row.line) == "integer" then
        file.text[row.line] = tostring(row.text or "")
        file.first, file.last = math.min(file.first, row.line), math.max(file.last, row.line)
      end
    end
  end
  for index, place in ipairs(page.places) do
    local file <const> = files[place.file]
    page.places[index] = { at = ("%s:%d"):format(place.file, place.line), text = file and file.text[place.line] or "" }
  end
  table.sort(order, function(a, b) return a.name < b.name end)
  page.files = order
end

-- Fractions or percents: which of both a profile means is not documented, so its own greatest value decides.
local function read_memory(t)
  local memory <const> = {}
  for key, name in pairs { sbuf = "SbufUsage", psum = "PsumUsage" } do
    if t:has(name, "avg_util_percent") then
      local at <const>, share <const>, top = {}, {}, 0
      for row in t:each(("SELECT timestamp AS at, avg_util_percent AS share "
      .. "FROM %s WHERE timestamp IS NOT NULL AND avg_util_percent IS NOT NULL ORDER BY timestamp"):format(name)) do
        if math.type(row.at) and math.abs(row.at) < 1 << 62 and math.type(row.share) and math.abs(row.share) < 1e6 then
          at[#at + 1], share[#share + 1] = row.at, row.share
          top = math.max(top, row.share)
        end
      end
      if top > 1.0001 then
        for i = 1, #share do share[i] = share[i] / 100 end
      end
      memory[key] = { at = at, share = share }
    end
  end
  return memory
end

-- Where in the program each sample falls: how many of the core's instructions had started. That axis does not shrink what
-- happens in a burst, and is the same for a fast and a slow run of one program.
local function in_program_order(memory, tracks)
  local starts <const> = {}
  for _, track in ipairs(tracks) do
    if track.engine ~= "dma" then table.move(track.start, 1, #track.start, #starts + 1, starts) end
  end
  table.sort(starts)
  for _, samples in pairs(memory) do
    local position <const>, i = {}, 0
    for k, at in ipairs(samples.at) do
      while i < #starts and starts[i + 1] <= at do i = i + 1 end
      position[k] = i
    end
    samples.position = position
  end
end

local titles <const> = { { "kernel_file", "kernel" }, { "entry", "function" }, { "case", "case" }, { "target", "target" }, { "lnc", "logical core size" },
  { "kind", "kind" }, { "model_version", "model" }, { "kernel_sha256", "SHA-256 of the kernel" }, { "nkiln_version", "nkiln" }, { "tool_versions", "tools" },
  { "created", "made" } }

local function read_provenance(t, page)
  local own <const> = t.p.provenance
  page.own = own
  page.kind = t.p:identity().kind
  page.title = own.entry or (own.kernel_file and short(own.kernel_file)) or short(t.p.path)
  local parts <const> = {}
  for _, key in ipairs { "case", "target", "model_version" } do
    if own[key] then parts[#parts + 1] = key == "model_version" and "model " .. own[key] or own[key] end
  end
  page.subtitle = table.concat(parts, " · ")
  page.provenance = {}
  for _, pair in ipairs(titles) do
    if own[pair[1]] then table.insert(page.provenance, { pair[2], own[pair[1]] }) end
  end
  page.notes = {}
  local said <const> = {} -- a modelled profile has its own warnings in both tables
  local function note(level, message)
    if not said[message] then table.insert(page.notes, { level = level, message = micro(message) }) end
    said[message] = true
  end
  if t:has("nkiln_notes", "message") then
    for _, row in ipairs(t:all "SELECT level, message FROM nkiln_notes WHERE message IS NOT NULL") do note(row.level, row.message) end
  end
  if t:has("Warning", "message") then
    for _, row in ipairs(t:all "SELECT message FROM Warning WHERE message IS NOT NULL LIMIT 100") do note("warning", row.message) end
  end
end

local function number(value) return math.type(value) and value or nil end

local function read_roof(page, summary, metadata)
  local rows <const>, columns <const>, clock <const> = number(metadata.tensor_engine_num_rows), number(metadata.tensor_engine_num_cols),
    number(metadata.tensor_engine_clock_freq)
  local traffic <const> = (number(summary.hbm_read_bytes) or 0) + (number(summary.hbm_write_bytes) or 0)
  local flops <const> = (number(summary.hardware_flops) or 0) - (number(summary.transpose_flops) or 0)
  if not (rows and columns and clock and number(metadata.dma_ddr_bandwidth)) or traffic <= 0 or flops <= 0 or page.total_ns <= 0 then return nil end
  local practical <const> = page.own.target and require("profile.bounds").practical[page.own.target]
  return {
    peak = rows * columns * 2 * clock * 1e9, bandwidth = metadata.dma_ddr_bandwidth, practical = practical, intensity = flops / traffic,
    flops = flops / (page.total_ns / 1e9),
    words = ("The solid roof is the peak of the Tensor engine in bf16 and of the DMA engines together (%s/s)%s."):format(html.bytes(metadata.dma_ddr_bandwidth),
      practical and ("; the dashed one is the rate that DMA reaches in practice (%s/s)"):format(html.bytes(practical)) or ""),
  }
end

local function read_tiles(page, summary)
  local whole <const> = page.whole
  local top, most
  for _, engine in ipairs(html.engines) do
    if engine.key ~= "sync" and (whole[engine.key] or 0) > (most or 0) then top, most = engine.title, whole[engine.key] end
  end
  local modelled <const> = page.kind == "modelled" and "modelled" or "measured"
  local list <const> = { { "time", html.duration(page.total_ns), modelled } }
  if top then list[#list + 1] = { "busiest engine", top, html.percent(most / math.max(1, page.total_ns)) .. " of the time" } end
  local bytes <const> = number(summary.dma_transfer_total_bytes)
  if bytes then
    local dma <const> = whole.dma
    list[#list + 1] = { "moved by DMA", html.bytes(bytes), dma and dma > 0 and html.bytes(bytes / (dma / 1e9)) .. "/s while busy" or "" }
  end
  if number(summary.mfu_inst_estimated_percent) and summary.mfu_inst_estimated_percent > 0 then
    list[#list + 1] = { "Tensor engine peak used", html.percent(summary.mfu_inst_estimated_percent), "matmul flop, transposes left out" }
  end
  local necessary <const> = number(summary.inputs_outputs_weights_size_bytes)
  if bytes and necessary and necessary > 0 then
    list[#list + 1] = { "traffic", ("%s×"):format(html.digits(bytes / necessary)), "of the inputs and outputs" }
  end
  local instructions = 0
  for _, track in ipairs(page.tracks) do
    if track.engine ~= "dma" then instructions = instructions + #track.start end
  end
  list[#list + 1] = { "instructions", html.count(instructions), "" }
  return list
end

local families <const> = { memory = "Memory: moving the data", compute = "Compute: the Tensor engine", pipeline = "Pipeline: engines side by side" }
local names <const> = {
  memory_bound = { "memory_bound", "DMA busy" }, memory_bound_practical = { "memory_bound_practical", "its bytes at the rate DMA reaches in practice" },
  memory_bound_ideal = { "memory_bound_ideal", "its bytes at the theoretical rate" },
  memory_bound_ideal_no_reloads = { "memory_bound_ideal_no_reloads", "inputs and outputs once" },
  compute_bound = { "compute_bound", "Tensor engine busy" }, compute_bound_ideal_flops = { "compute_bound_ideal_flops", "its matmuls at peak rate" },
  compute_bound_ideal_useful_flops = { "compute_bound_ideal_useful_flops", "the same without transposes" },
  perfect_pipeline = { "perfect_pipeline", "the busiest engine" },
}
local engine_class <const> = {}
for _, engine in ipairs(html.engines) do engine_class[engine.title] = engine.class end

-- Bars of the engines and of every bound, of the busiest core where there are several.
local function read_bounds(p, page)
  local found <const> = require("profile.bounds").all(p)[1]
  page.bounds, page.findings = {}, {}
  if not found then return end
  page.verdict = found.sentence
  table.insert(page.bounds, { title = "Engines" })
  for _, engine in ipairs(found.engines) do
    if engine.ns then table.insert(page.bounds, { name = engine.name, ns = engine.ns, class = engine_class[engine.name] }) end
  end
  local family
  for _, bound in ipairs(found.bounds) do
    if bound.family ~= family then
      family = bound.family
      table.insert(page.bounds, { title = families[family] or family })
    end
    local words <const> = names[bound.name]
    if bound.ns and bound.name ~= "total_time" then
      table.insert(page.bounds, { name = words and words[2] or bound.name, ns = bound.ns, note = words and words[1] or bound.note,
        class = bound.family == "memory" and "e-dma" or bound.family == "compute" and "e-tensor" or nil })
    end
  end
  for _, note in ipairs(found.notes or {}) do table.insert(page.notes, { level = "info", message = micro(note) }) end
end

-- What the investigations say, most important first, as page.lua shows it.
local function read_findings(p, page)
  for _, finding in ipairs(require("profile.investigate").run(p, "all")) do
    local lines <const> = {}
    for i, line in ipairs(finding.lines or {}) do
      local place <const> = line.file and ("%s:%d"):format(short(line.file), line.line) or line.location
      lines[i] = { place = place or "no line", text = line.text, amount = micro(line.amount), share = line.share, detail = micro(line.detail) }
    end
    table.insert(page.findings, { found = finding.found, title = micro(finding.title), text = micro(finding.text), lines = lines,
      change = micro(finding.change) })
  end
end

-- Everything that is read with t open.
local function gather(t)
  local page <const> = { places = {}, place = place_column(t) }
  local place_index <const> = {}
  function page.line_of(text) -- "path/file.py:12" -> index from 1, 0 where it is no place
    local known = place_index[text]
    if known then return known end
    local file <const>, line <const> = tostring(text):match("^(.*):(%d+)$")
    known = 0
    if file and #line < 10 then
      local key <const> = short(file) .. ":" .. line
      known = place_index[key]
      if not known then
        known = #page.places + 1
        page.places[known] = { file = short(file), line = math.tointeger(tonumber(line)) }
        place_index[key] = known
      end
    end
    place_index[text] = known
    return known
  end
  read_provenance(t, page)
  read_tracks(t, page)
  page.whole = busy(page.tracks)
  read_lines(t, page)
  page.memory = read_memory(t)
  in_program_order(page.memory, page.tracks)
  page.total_ns = t.p.window.total_ns
  page.roof = read_roof(page, t.p.summary, t.p.meta)
  page.tiles = read_tiles(page, t.p.summary)
  read_bounds(t.p, page)
  read_findings(t.p, page)
  return page
end

-- `shown` is the profile's name for messages.
function collect.page(path, shown)
  local p <const>, err <const> = open.open(path)
  if not p then
    err.where = shown or path
    return nil, err
  end
  local closing <close> = p
  local ok <const>, page <const> = pcall(gather, setmetatable({ p = closing }, reader))
  if ok then return page end
  local message <const> = fault.is(page) and fault.why(page) or tostring(page):match "[^\n]*"
  if message:find("malformed", 1, true) then
    return nil, fault.new("bad-input", "the database is damaged or cut off", { where = shown or path, hint = "make or import the profile again" })
  end
  return nil, fault.new("bad-input", "cannot be read: " .. message, { where = shown or path })
end

return collect
