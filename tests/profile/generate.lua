-- SPDX-License-Identifier: MIT
-- Generated profiles whose answers are known by construction. small() is checked by hand in the tests; big() repeats a loop
-- body with planted costs.
local array <const> = require "rt.array"
local schema <const> = require "profile.schema"
local trace <const> = require "rt.trace"

local generate <const> = {}

generate.meta = {
  profile_schema_version = "7.4.0", num_physical_cores = 1, dma_ddr_bandwidth = 435e9, hbm_ddr_bandwidth = 750e9, tensor_engine_num_rows = 128,
  tensor_engine_num_cols = 128, tensor_engine_clock_freq = 2.4, vector_engine_clock_freq = 0.96, scalar_engine_clock_freq = 1.2,
  gpsimd_engine_clock_freq = 1.2, neuroncore_clock_freq = 1.2, is_simulation = 1,
}

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
    Metadata = { generate.meta },
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

function generate.array(dtype, values) return array.from(dtype, #values, values) end

return generate
