-- SPDX-License-Identifier: MIT
-- The schedule model's timeline as a profile database: the tables neuron-explorer writes, marked as modelled.
--
--   model.make{ machine=, outputs={{name=, tensor=}}, target=, location=function(site), progress=function(done, total) } -> timeline | nil, err
--   model.store(timeline, path, facts) -> { rows = {table = count}, summary = {...}, engines = {...}, notes = {...} } | nil, err
--     facts: { target=, location=, provenance={key=text}, notes={{level=, code=, message=}}, source=function(file, line) -> text }
-- Times count from the start of the execution on the device, in ns. Counts (bytes, descriptors, instructions, operations) are
-- those of the program as written. `path` is replaced only when everything has been written.

local array <const> = require "rt.array"
local ast <const> = require "nki.ast"
local notes_module <const> = require "profile.notes"
local schema <const> = require "profile.schema"
local summary_module <const> = require "profile.summary"
local targets <const> = require "nki.targets"
local trace <const> = require "rt.trace"

local SOURCE_LINES <const> = 20000 -- of one file are kept

local model <const> = {}

-- What neuron-explorer would have written, as far as a program says it.
model.tables = {
  "Instruction", "DmaPacket", "DmaPacketAggregated", "ActiveTime", "Flow", "TensorInfo", "Metadata", "Summary", "OpcodeSummary", "Throttle",
  "ThrottleSummary", "SbufUsage", "PsumUsage", "KernelInstructions", "KernelStackFrames", "Warning", "ExecutionInfo", "SchemaFields", "DmaQueuesInfo",
  "nkiln", "nkiln_source", "nkiln_notes",
}

function model.make(options)
  for _, output in ipairs(options.outputs or {}) do options.machine:label(output.tensor, output.name) end
  return options.machine:schedule(targets.get(options.target).schedule, { progress = options.progress })
end

-- Total if loads that repeat within half of SBUF were kept on chip, as a compiler may; nil where nothing repeats.
function model.kept_ns(machine, target, timeline)
  if timeline:totals().repeated_loads == 0 then return nil end
  local figures <const> = {}
  for key, value in pairs(targets.get(target).schedule) do figures[key] = value end
  figures.keep_share = 0.5
  local other <const>, err <const> = machine:schedule(figures)
  if not other then return nil, err end
  return other.total_ns
end

local function ids(n) return array.arange(0, n, 1, "int64") end

-- Bytes per second of a row; a row without length has none.
local function throughput(bytes, duration)
  local ns <const> = array.binary("maximum", duration, 1):cast("float64")
  return array.binary("multiply", array.binary("divide", bytes:cast("float64"), ns), 1e9)
end

-- Text by code where `from` is set, or another text.
local function choice(flags, yes, no)
  return { codes = array.where(flags, array.new("int32", flags.shape, 1), array.new("int32", flags.shape, 0)), values = { no, yes } }
end

local function as_text(column) -- decimal, each once
  local values <const> = {}
  local n <const> = column.size
  for i = 1, n do values[i] = tostring(math.tointeger(column:at(i - 1))) end
  return { codes = array.arange(0, n, 1, "int32"), values = values }
end

-- The function of a module that a line lies in, innermost.
local function enclosing(module, line, known)
  if not module or not module.tree then return nil end
  if not known[module] then
    local list <const> = {}
    ast.walk(module.tree, function(node)
      if node.type == "FunctionDef" then list[#list + 1] = node end
    end)
    known[module] = list
  end
  local best
  for _, node in ipairs(known[module]) do
    if node.lineno <= line and line <= (node.end_lineno or node.lineno) and (not best or node.lineno >= best.lineno) then best = node end
  end
  return best and best.name
end

-- Sites of the program: where each is, and a name for it.
local function places(timeline, location)
  local found <const>, known <const> = { location = {}, name = {}, list = {} }, {}
  for _, site in ipairs(timeline:sites()) do
    local place <const> = site ~= 0 and location and location(site) or nil
    if place and place.line then
      local file <const> = place.file or "?"
      found.location[site] = ("%s:%d"):format(file, place.line)
      found.name[site] = ("inst.%d"):format(site)
      found.list[#found.list + 1] = {
        site = site, file = file, line = place.line, name = found.name[site], fn = enclosing(place.module, place.line, known),
      }
    end
  end
  return found
end

local function instructions(store, timeline, at)
  local c <const> = timeline:instructions { location = at.location, name = at.name }
  local n <const> = timeline.rows
  local dma <const> = array.compare_op("greater", c.bytes, 0)
  local raw_bir <const> = c.entry
  local wait <const> = array.unary("round", c.wait_ns):cast("int64")
  local transposed <const> = array.where(c.transpose, c.flops, array.new("int64", { n }, 0))
  local adjusted <const> = array.where(c.transpose, c.adjusted_flops, array.new("int64", { n }, 0))
  local function masked(column, mask) return { column, valid = mask } end
  local start_dma <const> = array.unary("round", c.moved):cast("int64")
  local end_dma <const> = array.unary("round", c.moved_end):cast("int64")
  local matmul <const> = array.compare_op("greater", c.k, 0)
  return store:append("Instruction", {
    start_ts = c.start_ts, end_ts = c.end_ts, duration_ns = c.duration_ns, engine = c.engine, timeline_track = c.engine, pcore_idx = 0,
    opcode = c.opcode, operands = c.operands, compiler_opcode = c.op, id = ids(n), pc = ids(n), bir_id = as_text(raw_bir), raw_bir_id = raw_bir,
    kernel_instruction_name = c.name, evt_wait_time_ns = wait, nki_source_location = c.location, bir_debug_info_source_location = c.location,
    dma_trigger_start_ts = masked(start_dma, dma), dma_trigger_end_ts = masked(end_dma, dma),
    hbm_read_bytes = c.hbm_read, hbm_write_bytes = c.hbm_write, sbuf_read_bytes = c.sbuf_read, sbuf_write_bytes = c.sbuf_write,
    psum_read_bytes = c.psum_read, psum_write_bytes = c.psum_write, spill_save_bytes = 0, spill_reload_bytes = 0,
    performance_mode = c.mode, tensor_instruction_type = c.type, tensor_elements = c.elements, raw_flops = masked(c.flops, matmul),
    adjusted_flops = masked(c.adjusted_flops, matmul), flops_transpose = masked(transposed, matmul),
    adjusted_flops_transpose = masked(adjusted, matmul), scalar_activation_fn = c["function"],
  })
end

local function transfers(store, timeline)
  local c <const> = timeline:transfers()
  local n <const> = c.start.size
  local trigger <const> = array.unary("round", c.trigger):cast("int64")
  local completion <const> = array.unary("round", c.completion):cast("int64")
  local ok, err = store:append("DmaPacketAggregated", {
    start_ts = c.start_ts, end_ts = c.end_ts, duration_ns = c.duration_ns, id = ids(n), pcore_idx = 0, block_id = ids(n), queue_idx = c.queue,
    queue_name = c.queue_name, queue_type = c.queue_type, op = c.op, variable = c.variable, read_bytes = c.read_bytes, write_bytes = c.write_bytes,
    transfer_bytes = c.bytes, throughput = throughput(c.bytes, c.duration_ns), source = c.source, dest = c.dest, semaphore_id = "",
    read_sbuf_partitions = c.read_partitions, read_num_sbuf_partitions = c.read_parts, read_shape = c.read_shape, read_offset = c.read_offset,
    read_steps = c.read_steps, write_sbuf_partitions = c.write_partitions, write_num_sbuf_partitions = c.write_parts, write_shape = c.write_shape,
    write_offset = c.write_offset, write_steps = c.write_steps, is_transpose_mode = c.transpose, trigger = trigger, completion = completion,
  })
  if not ok then return nil, err end
  local p <const> = timeline:packets()
  ok, err = store:append("DmaPacket", {
    start_ts = p.start_ts, end_ts = p.end_ts, duration_ns = p.duration_ns, pcore_idx = 0, id = ids(p.start.size), packet_idx = p.index,
    packet_aggregation_id = p.transfer, engine_idx = p.engine, read_bytes = p.bytes, write_bytes = p.bytes, transfer_bytes = p.bytes,
    throughput = throughput(p.bytes, p.duration_ns), queue_type = p.queue_type, variable = p.variable, queue_name = p.queue_name,
    queue_idx = p.queue, crc = 0,
  })
  return ok, err
end

local function flows(store, timeline)
  local c <const> = timeline:flows()
  return store:append("Flow", {
    in_id = c.in_id, out_id = c.out_id, in_table = choice(c.in_transfer, "DmaPacketAggregated", "Instruction"),
    out_table = choice(c.out_transfer, "DmaPacketAggregated", "Instruction"), dependency_type = c.kind,
    gap_time = array.unary("round", c.gap_ns):cast("int64"),
  })
end

local function active(store, list)
  for _, one in ipairs(list) do
    local from <const> = array.unary("round", one.start):cast("int64")
    local to <const> = array.unary("round", one.finish):cast("int64")
    if one.engine ~= "DMA" and from.size > 0 then
      local ok <const>, err <const> = store:append("ActiveTime", {
        start_ts = from, end_ts = to, engine = one.engine:lower(), pcore_idx = 0, duration_ns = array.binary("subtract", to, from),
      })
      if not ok then return nil, err end
    end
  end
  return true
end

local function memory(store, timeline, target)
  local c <const> = timeline:memory()
  if c.time.size == 0 then return true end
  local at <const> = array.unary("round", c.time):cast("int64")
  local function share(column, whole) return array.binary("divide", column:cast("float64"), whole) end
  local quarters <const> = {}
  for q = 0, 3 do quarters[q] = share(c["sbuf_" .. q], target.sbuf_partition_bytes) end
  local sum <const> = array.binary("add", array.binary("add", quarters[0], quarters[1]), array.binary("add", quarters[2], quarters[3]))
  local ok, err = store:append("SbufUsage", {
    timestamp = at, avg_util_percent = array.binary("divide", sum, 4), partition_0_util_percent = quarters[0], partition_32_util_percent = quarters[1],
    partition_64_util_percent = quarters[2], partition_96_util_percent = quarters[3], pcore_idx = 0,
  })
  if not ok then return nil, err end
  local banks <const> = { timestamp = at, avg_util_percent = share(c.psum, target.psum_bytes), pcore_idx = 0 }
  for b = 0, 7 do -- filled from the first bank on: the model counts bytes, it does not place them
    local rest <const> = array.binary("subtract", share(c.psum, target.psum_bank_bytes), b)
    banks[("bank_%d_util_percent"):format(b)] = array.clip(rest, 0, 1)
  end
  ok, err = store:append("PsumUsage", banks)
  return ok, err
end

local function tensors(store, timeline)
  local rows <const> = {}
  for i, one in ipairs(timeline:tensors()) do
    rows[i] = {
      variable_name = one.name, type = one.role, format = one.dtype, shape = "[" .. table.concat(one.shape, ", ") .. "]", size = one.bytes, node = 0,
      pcore_idx = 0, load_to_sbuf_total_size_bytes = one.bytes_read, load_to_sbuf_dma_count = one.loads,
      load_to_sbuf_avg_size_bytes = one.loads > 0 and one.bytes_read // one.loads or 0,
      load_to_sbuf_repeat_factor = one.bytes > 0 and one.bytes_read / one.bytes or 0,
    }
  end
  return store:rows("TensorInfo", rows)
end

local function throttle(store, timeline)
  local c <const> = timeline:throttle()
  local ns = 0
  if c.start.size > 0 then
    local from <const> = array.unary("round", c.start):cast("int64")
    local length <const> = array.binary("subtract", array.unary("round", c.finish):cast("int64"), from)
    ns = math.tointeger(array.reduce("sum", length):item())
    local ok <const>, err <const> = store:append("Throttle", { duration = length, k = 1, n = 2, timestamp = from, type = "activity", pcore_idx = 0 })
    if not ok then return nil, err end
  end
  local share <const> = ns / timeline.total_ns
  return store:rows("ThrottleSummary", { {
    nc_idx = 0, throttle_type = "activity", throttle_active_time_ns = ns, throttle_active_time_percent = share,
    max_achievable_util_with_throttling_percent = 1 - share / 2,
  } })
end

local function metadata(target, timeline)
  local s <const> = target.schedule
  return {
    profile_schema_version = schema.version, ntff_version = 0, num_physical_cores = 1, vnc_enabled = false, first_hw_timestamp = 0,
    last_hw_timestamp = math.floor(timeline.total_ns + 0.5), first_ts = "", last_ts = "", dma_ddr_bandwidth = target.dma_peak_bytes_per_s,
    num_dma_engines_per_neuroncore = 16, hbm_ddr_bandwidth = s.hbm_bytes_per_ns * 1e9, tensor_engine_num_rows = 128, tensor_engine_num_cols = 128,
    tensor_engine_clock_freq = s.tensor_ghz, vector_engine_clock_freq = s.vector_ghz, vector_engine_num_channels = 128,
    scalar_engine_clock_freq = s.scalar_ghz, scalar_engine_num_channels = 128, gpsimd_engine_clock_freq = s.gpsimd_ghz,
    gpsimd_engine_num_channels = 128, neuroncore_clock_freq = s.sync_ghz, ticks_per_nanosec = 1, instance_type = target.name, neuroncore_idx = 0,
    neuron_device_idx = 0, is_simulation = true,
  }
end

local function queues()
  local rows <const> = {}
  for index, one in ipairs { { "qSyncIO0", "input" }, { "qSyncOut0", "output" }, { "qScalarIO0", "data" }, { "qGpSimdDynamic0", "software_dynamic" } } do
    for engine = 0, 15 do
      rows[#rows + 1] = { name = one[1], type = one[2], pcore_idx = 0, idx = index - 1, engine_idx = engine, axi_port = 0, dram_channel = 0 }
    end
  end
  return rows
end

local function fields()
  local rows <const> = {}
  for _, name in ipairs(model.tables) do
    for _, column in ipairs(schema.tables[name]) do
      rows[#rows + 1] = {
        table_name = name, table_description = "", field_name = column.name, field_description = "", field_type = column.type,
        field_required = column.required, field_unit = column.unit,
      }
    end
  end
  return rows
end

-- Opcodes by engine, and how much of the total each took.
local function opcodes(totals, total_ns)
  local rows <const> = {}
  for i, one in ipairs(totals.opcodes) do
    local ns <const> = math.floor(one.ns + 0.5)
    rows[i] = {
      engine = one.engine:lower(), opcode = one.opcode, instruction_count = one.count, instruction_time_ns = ns, active_time_ns = ns,
      active_time_percent = one.ns / total_ns,
    }
  end
  return rows
end

function model.store(timeline, path, facts)
  local target <const> = targets.get(facts.target)
  local store <const>, err <const> = trace.store_create(path, schema.create(model.tables))
  if not store then return nil, err end
  local _ <close> = setmetatable({}, { __close = function() store:abort() end })
  local at <const> = places(timeline, facts.location)
  local totals <const>, busy <const> = timeline:totals(), timeline:active()
  totals.dma_count = timeline:transfers().start.size
  facts.hwdge_ns = target.hwdge and target.schedule.dma_hwdge_ns or nil
  local notes <const> = notes_module.of(timeline, totals, busy, facts)
  local summary <const> = summary_module.of(timeline, totals, busy, target)
  local frames <const>, kernel <const>, source <const>, seen <const> = {}, {}, {}, {}
  for _, one in ipairs(at.list) do
    kernel[#kernel + 1] = {
      kernel_instruction_name = one.name, stack_frame_id = one.site, stack_frame_depth = 0, pcore_idx = 0, file_path = one.file, line_number = one.line,
    }
    frames[#frames + 1] = {
      stack_frame_id = one.site, fully_qualified_function_name = one.fn or facts.provenance and facts.provenance.entry or "", pcore_idx = 0,
      file_path = one.file, line_number = one.line,
    }
    for line = 1, not seen[one.file] and facts.source and SOURCE_LINES or 0 do -- the whole file: a line is read in its place
      local text <const> = facts.source(one.file, line)
      if not text then break end
      source[#source + 1] = { file = one.file, line = line, text = text }
    end
    seen[one.file] = true
  end
  local provenance <const> = { { key = "format_version", value = schema.format_version }, { key = "kind", value = "modelled" },
    { key = "model_version", value = timeline.model_version }, { key = "target", value = facts.target } }
  for key, value in pairs(facts.provenance or {}) do provenance[#provenance + 1] = { key = key, value = tostring(value) } end
  table.sort(provenance, function(a, b) return a.key < b.key end)
  local warnings <const> = {}
  for _, note in ipairs(notes) do
    if note.level == "warning" then warnings[#warnings + 1] = { message = note.message, category = note.code } end
  end
  -- In this order; the first failure ends it.
  local steps <const> = {
    function() return instructions(store, timeline, at) end,
    function() return transfers(store, timeline) end,
    function() return flows(store, timeline) end,
    function() return active(store, busy) end,
    function() return memory(store, timeline, target) end,
    function() return tensors(store, timeline) end,
    function() return throttle(store, timeline) end,
    function() return store:rows("Metadata", { metadata(target, timeline) }) end,
    function() return store:rows("OpcodeSummary", opcodes(totals, timeline.total_ns)) end,
    function() return store:rows("KernelInstructions", kernel) end,
    function() return store:rows("KernelStackFrames", frames) end,
    function() return store:rows("DmaQueuesInfo", queues()) end,
    function() return store:rows("SchemaFields", fields()) end,
    function() return store:rows("ExecutionInfo", { { execution_index = 0, execution_start_ts = 0,
      execution_end_ts = math.floor(timeline.total_ns + 0.5), num_subgraphs = 1, row_count = timeline.rows } }) end,
    function() return store:rows("Summary", { summary }) end,
    function() return store:rows("Warning", warnings) end,
    function() return store:rows("nkiln", provenance) end,
    function() return store:rows("nkiln_source", source) end,
    function() return store:rows("nkiln_notes", notes) end,
    function() return store:index() end,
    function() return store:commit() end,
  }
  for i, step in ipairs(steps) do
    local ok <const>, why <const> = step()
    if not ok then return nil, why end
    if facts.progress then facts.progress(i, #steps) end
  end
  local engines <const> = {}
  for i, one in ipairs(busy) do
    local count = 0
    for _, row in ipairs(totals.opcodes) do
      if row.engine == one.engine then count = count + row.count end
    end
    engines[i] = { name = one.engine, active_ns = one.ns }
    if one.engine == "DMA" then engines[i].transfers = summary.dma_transfer_count else engines[i].instructions = count end
  end
  return { summary = summary, engines = engines, notes = notes }
end

return model
