-- SPDX-License-Identifier: MIT
-- Generated profiles whose answers are known by construction. small() is checked by hand in the tests; big() repeats a loop
-- body with planted costs.
local array <const> = require "rt.array"
local schema <const> = require "profile.schema"
local trace <const> = require "rt.trace"

local generate <const> = {}

local meta <const> = {
  profile_schema_version = "7.4.0", num_physical_cores = 1, dma_ddr_bandwidth = 435e9, hbm_ddr_bandwidth = 750e9, tensor_engine_num_rows = 128,
  tensor_engine_num_cols = 128, tensor_engine_clock_freq = 2.4, vector_engine_clock_freq = 0.96, scalar_engine_clock_freq = 1.2,
  gpsimd_engine_clock_freq = 1.2, neuroncore_clock_freq = 1.2, is_simulation = 1,
}

-- A row of Metadata of its own for every profile: tests change what they get.
function generate.metadata()
  local row <const> = {}
  for name, value in pairs(meta) do row[name] = value end
  return row
end

-- Write a database: content = { TABLE = { {col = value}, ... } } of schema tables.
function generate.write(path, content)
  local names <const> = {}
  for name in pairs(content) do names[#names + 1] = name end
  table.sort(names)
  local store <close> = assert(trace.store_create(path, schema.create(names)))
  for _, name in ipairs(names) do
    if #content[name] > 0 then assert(store:rows(name, content[name])) end
  end
  assert(store:index())
  assert(store:commit())
  return path
end

-- One core; every number here is worked out in tests/unit/profile_bounds_test.lua.
function generate.small()
  local function instruction(row)
    row.pcore_idx, row.duration_ns = row.pcore_idx or 0, row.end_ts - row.start_ts
    row.operands, row.bir_id, row.pc = row.operands or "", tostring(row.id), row.id
    return row
  end
  local function packet(row)
    row.pcore_idx, row.duration_ns, row.crc = row.pcore_idx or 0, row.end_ts - row.start_ts, 0
    row.read_bytes, row.write_bytes, row.queue_type = row.transfer_bytes, row.transfer_bytes, row.queue_type or "hardware_dynamic"
    row.queue_name, row.throughput = row.queue_name or "q0", row.transfer_bytes / row.duration_ns * 1e9
    return row
  end
  local k <const>, m <const> = "/src/k.py:%d", "acc_flags=3 src=bfloat16@0x100[1][512] dst=float32@0x0[1][512] 128*128"
  return {
    Metadata = { generate.metadata() },
    Summary = { { total_time = 20000e-9 } },
    nkiln = { { key = "kind", value = "modelled" }, { key = "target", value = "trn2" }, { key = "entry", value = "k" }, { key = "case",
      value = "x=bf16[128,512]" } },
    nkiln_source = { { file = "/src/k.py", line = 10, text = "  nisa.dma_copy(dst=t, src=x)" }, { file = "/src/k.py", line = 12,
      text = "  nisa.nc_matmul(dst=acc, stationary=w, moving=t)" } },
    Instruction = {
      instruction { id = 1, engine = "Sync", opcode = "DMA_DIRECT2D", start_ts = 1000, end_ts = 1100, hbm_read_bytes = 262144,
        nki_source_location = k:format(10), bir_debug_info_source_location = k:format(10) },
      instruction { id = 2, engine = "Sync", opcode = "DMA_DIRECT2D", start_ts = 1100, end_ts = 1200, hbm_read_bytes = 262144,
        nki_source_location = k:format(10) },
      instruction { id = 3, engine = "Tensor", opcode = "MATMUL", start_ts = 6000, end_ts = 6400, operands = m,
        tensor_instruction_type = "REGULAR", adjusted_flops = 16777216, bir_debug_info_source_location = k:format(12) },
      instruction { id = 4, engine = "Tensor", opcode = "MATMUL", start_ts = 6400, end_ts = 6800, operands = m,
        tensor_instruction_type = "TRANSPOSE", adjusted_flops = 8388608, bir_debug_info_source_location = k:format(13) },
      instruction { id = 5, engine = "Tensor", opcode = "MATMUL", start_ts = 12000, end_ts = 12400, operands = m,
        tensor_instruction_type = "REGULAR", adjusted_flops = 16777216, bir_debug_info_source_location = k:format(12) },
      instruction { id = 6, engine = "Vector", opcode = "TENSOR_COPY", start_ts = 12500, end_ts = 13500, bir_debug_info_source_location = k:format(14) },
      instruction { id = 7, engine = "Sync", opcode = "DMA_DIRECT2D", start_ts = 14000, end_ts = 14100, hbm_write_bytes = 131072,
        bir_debug_info_source_location = k:format(15) },
    },
    ActiveTime = {
      { start_ts = 6000, end_ts = 6800, engine = "tensor", pcore_idx = 0, duration_ns = 800 },
      { start_ts = 12000, end_ts = 12400, engine = "tensor", pcore_idx = 0, duration_ns = 400 },
      { start_ts = 12500, end_ts = 13500, engine = "vector", pcore_idx = 0, duration_ns = 1000 },
    },
    DmaPacket = {
      packet { id = 1, start_ts = 2000, end_ts = 5000, transfer_bytes = 131072, packet_aggregation_id = 101, packet_idx = 0, engine_idx = 0 },
      packet { id = 2, start_ts = 2500, end_ts = 4000, transfer_bytes = 131072, packet_aggregation_id = 101, packet_idx = 1, engine_idx = 1 },
      packet { id = 2, start_ts = 2500, end_ts = 4000, transfer_bytes = 131072, packet_aggregation_id = 101, packet_idx = 1, engine_idx = 1 }, -- twice
      packet { id = 3, start_ts = 7000, end_ts = 11000, transfer_bytes = 262144, packet_aggregation_id = 102, packet_idx = 0, engine_idx = 0 },
      packet { id = 4, start_ts = 11000, end_ts = 11100, transfer_bytes = 4, packet_aggregation_id = 103, packet_idx = 0, engine_idx = 0 },
      packet { id = 5, start_ts = 500, end_ts = 600, transfer_bytes = 4096, packet_aggregation_id = 104, packet_idx = 0, engine_idx = 2,
        queue_type = "instruction" },
      packet { id = 6, start_ts = 15000, end_ts = 18000, transfer_bytes = 131072, packet_aggregation_id = 105, packet_idx = 0, engine_idx = 0 },
    },
    DmaPacketAggregated = {
      { id = 101, start_ts = 2000, end_ts = 5000, pcore_idx = 0, variable = "x", transfer_bytes = 262144, source = "[[INPUT]]",
        dest = "[[SB]]", read_num_sbuf_partitions = 0, write_num_sbuf_partitions = 128, queue_type = "hardware_dynamic" },
      { id = 102, start_ts = 7000, end_ts = 11000, pcore_idx = 0, variable = "x", transfer_bytes = 262144, source = "[[INPUT]]",
        dest = "[[SB]]", read_num_sbuf_partitions = 0, write_num_sbuf_partitions = 128, queue_type = "hardware_dynamic" },
      { id = 105, start_ts = 15000, end_ts = 18000, pcore_idx = 0, variable = "y", transfer_bytes = 131072, source = "[[SB]]",
        dest = "[OUTPUT]", read_num_sbuf_partitions = 128, write_num_sbuf_partitions = 0, queue_type = "hardware_dynamic" },
    },
    Flow = {
      { in_table = "Instruction", in_id = 1, out_table = "DmaPacketAggregated", out_id = 101, dependency_type = "DGE_TRIGGER" },
      { in_table = "Instruction", in_id = 2, out_table = "DmaPacketAggregated", out_id = 102, dependency_type = "DGE_TRIGGER" },
      { in_table = "Instruction", in_id = 7, out_table = "DmaPacketAggregated", out_id = 105, dependency_type = "DGE_TRIGGER" },
      { in_table = "DmaPacketAggregated", in_id = 101, out_table = "Instruction", out_id = 3, dependency_type = "FLOW_DEPENDENCE" },
      { in_table = "Instruction", in_id = 3, out_table = "Instruction", out_id = 4, dependency_type = "FLOW_DEPENDENCE" },
      { in_table = "DmaPacketAggregated", in_id = 102, out_table = "Instruction", out_id = 5, dependency_type = "FLOW_DEPENDENCE" },
      { in_table = "Instruction", in_id = 4, out_table = "Instruction", out_id = 5, dependency_type = "FLOW_DEPENDENCE" },
      { in_table = "Instruction", in_id = 5, out_table = "Instruction", out_id = 6, dependency_type = "FLOW_DEPENDENCE" },
    },
    TensorInfo = {
      { variable_name = "x", type = "IN", size = 262144, shape = "[1024,128]", format = "bfloat16" },
      { variable_name = "y", type = "OUT", size = 131072, shape = "[512,128]", format = "bfloat16" },
    },
  }
end

-- A loop of `steps` iterations: 8 instructions, 2 transfers of 4 packets, 6 edges each. Every second column of a row has text
-- of its own, as operands have in a capture.
function generate.big(path, steps)
  local store <close> = assert(trace.store_create(path, schema.create {
    "Metadata", "Summary", "Instruction", "ActiveTime", "DmaPacket", "DmaPacketAggregated", "Flow", "TensorInfo", "nkiln",
  }))
  local PERIOD <const>, T <const> = 2000, 8
  assert(store:rows("Metadata", { generate.metadata() }))
  assert(store:rows("Summary", { { total_time = (steps * PERIOD + 1000) * 1e-9, spill_save_bytes = 0, spill_reload_bytes = 0 } }))
  assert(store:rows("nkiln", { { key = "kind", value = "modelled" }, { key = "target", value = "trn2" } }))
  assert(store:rows("TensorInfo", {
    { variable_name = "a", type = "IN", size = 131072 }, { variable_name = "b", type = "IN", size = steps * 131072 // 4 },
    { variable_name = "c", type = "OUT", size = 131072 },
  }))
  local function spread(n, per) -- 0 .. n - 1 as (step, place within the step)
    local all <const> = array.arange(0, n, 1, "int64")
    local step <const> = array.binary("floor_divide", all, per)
    return all, step, array.binary("subtract", all, array.binary("multiply", step, per))
  end
  local function pick(place, values) -- a value for each place
    local out <const> = array.new("int64", place.size)
    for i, v in ipairs(values) do
      if v ~= 0 then out:assign(array.where(array.compare_op("equal", place, i - 1), v, out)) end
    end
    return out
  end
  local function plus(a, b) return array.binary("add", a, b) end
  local function codes(place, values)
    local index <const>, seen <const>, words <const> = {}, {}, {}
    for i, v in ipairs(values) do
      if v and not seen[v] then
        words[#words + 1] = v
        seen[v] = #words - 1
      end
      index[i] = v and seen[v] or -1
    end
    return { codes = pick(place, index):cast("int32"), values = words }
  end

  local n <const> = steps * T
  local id <const>, step <const>, place <const> = spread(n, T)
  local base <const> = array.binary("multiply", step, PERIOD)
  local length <const> = pick(place, { 50, 50, 30, 220, 30, 220, 500, 300 })
  local start <const> = plus(base, pick(place, { 0, 50, 900, 930, 1150, 1180, 1420, 1700 }))
  local operands <const> = {}
  for k = 0, steps - 1 do operands[k + 1] = ("acc_flags=3 src=bf16@0x%x[1][512] dst=fp32@0x%x[1][512] 128*128"):format(k * 64, k * 32) end
  local is_matmul <const> = array.binary("logical_or", array.compare_op("equal", place, 3), array.compare_op("equal", place, 5))
  local names <const> = { "k.py:10", "k.py:11", "k.py:12", "k.py:12", "k.py:13", "k.py:13", "k.py:14", "k.py:15" }
  for i, name in ipairs(names) do names[i] = "/home/someone/kernels/" .. name end
  assert(store:append("Instruction", {
    id = id, pc = id, start_ts = start, end_ts = plus(start, length), duration_ns = length, pcore_idx = 0, evt_wait_time_ns = pick(place, { 0, 0,
      0, 10, 0, 10, 0, 0 }),
    engine = codes(place, { "Sync", "Sync", "Tensor", "Tensor", "Tensor", "Tensor", "Vector", "Scalar" }),
    opcode = codes(place, { "DMA_DIRECT2D", "DMA_DIRECT2D", "LDWEIGHTS", "MATMUL", "LDWEIGHTS", "MATMUL", "TENSOR_COPY", "ACTIVATE" }),
    operands = { codes = array.where(is_matmul, step, -1):cast("int32"), values = operands }, bir_id = { codes = step:cast("int32"), values = operands },
    tensor_instruction_type = codes(place, { false, false, "REGULAR", "REGULAR", "TRANSPOSE", "TRANSPOSE", false, false }),
    adjusted_flops = pick(place, { 0, 0, 0, 16777216, 0, 8388608, 0, 0 }), raw_flops = pick(place, { 0, 0, 0, 16777216, 0, 8388608, 0, 0 }),
    hbm_read_bytes = pick(place, { 131072, 131072, 0, 0, 0, 0, 0, 0 }), hbm_write_bytes = 0, spill_save_bytes = 0, spill_reload_bytes = 0,
    bir_debug_info_source_location = codes(place, names), nki_source_location = codes(place, names),
    sbuf_read_bytes = pick(place, { 0, 0, 32768, 131072, 32768, 131072, 65536, 65536 }), psum_write_bytes = pick(place, { 0, 0, 0, 262144, 0, 65536, 0, 0 }),
  }))
  local ends <const> = array.arange(0, steps, 1, "int64")
  for _, engine in ipairs { { "tensor", 900, 500 }, { "vector", 1420, 500 }, { "scalar", 1700, 300 } } do
    local from <const> = plus(array.binary("multiply", ends, PERIOD), engine[2])
    assert(store:append("ActiveTime", { start_ts = from, end_ts = plus(from, engine[3]), duration_ns = engine[3], engine = engine[1], pcore_idx = 0 }))
  end
  local d_id <const>, d_step <const>, d_place <const> = spread(steps * 2, 2)
  local d_start <const> = plus(array.binary("multiply", d_step, PERIOD), pick(d_place, { 200, 500 }))
  assert(store:append("DmaPacketAggregated", {
    id = d_id, start_ts = d_start, end_ts = plus(d_start, 380), duration_ns = 380, pcore_idx = 0, transfer_bytes = 131072,
      variable = codes(d_place, { "a", "b" }),
    source = "[[INPUT]]", dest = "[[SB]]", read_num_sbuf_partitions = 0, write_num_sbuf_partitions = 128, queue_type = "hardware_dynamic",
      is_transpose_mode = false,
  }))
  local p_id <const>, p_group <const>, p_place <const> = spread(steps * 8, 4)
  local p_start <const> = plus(plus(array.binary("multiply", array.binary("floor_divide", p_group, 2), PERIOD), pick(p_place, { 200, 210, 220, 230 })),
    array.binary("multiply", array.binary("subtract", p_group, array.binary("multiply", array.binary("floor_divide", p_group, 2), 2)), 300))
  assert(store:append("DmaPacket", {
    id = p_id, packet_aggregation_id = p_group, packet_idx = p_place, engine_idx = p_place, start_ts = p_start, end_ts = plus(p_start, 350), duration_ns = 350,
    transfer_bytes = 32768, read_bytes = 32768, write_bytes = 32768, queue_type = "hardware_dynamic", queue_name = "q0", pcore_idx = 0, crc = 0,
    throughput = 93.6e9,
  }))
  local f_id <const>, f_step <const>, f_place <const> = spread(steps * 6, 6)
  local first <const>, second <const> = array.binary("multiply", f_step, T), array.binary("multiply", f_step, 2)
  local in_dma <const> = array.binary("logical_or", array.compare_op("equal", f_place, 2), array.compare_op("equal", f_place, 3))
  local to_dma <const> = array.compare_op("less", f_place, 2)
  assert(store:append("Flow", {
    in_id = array.where(in_dma, plus(second, pick(f_place, { 0, 0, 0, 1, 0, 0 })), plus(first, pick(f_place, { 0, 1, 0, 0, 5, 6 }))),
    out_id = array.where(to_dma, plus(second, pick(f_place, { 0, 1, 0, 0, 0, 0 })), plus(first, pick(f_place, { 0, 0, 3, 5, 6, 7 }))),
    in_table = codes(f_place, { "Instruction", "Instruction", "DmaPacketAggregated", "DmaPacketAggregated", "Instruction", "Instruction" }),
    out_table = codes(f_place, { "DmaPacketAggregated", "DmaPacketAggregated", "Instruction", "Instruction", "Instruction", "Instruction" }),
    dependency_type = "FLOW_DEPENDENCE",
  }))
  assert(store:index())
  assert(store:commit())
  return f_id.size
end

return generate
