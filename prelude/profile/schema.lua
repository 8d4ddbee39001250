-- SPDX-License-Identifier: MIT
-- The tables of a profile database: names, columns, types and units of neuron-explorer's profile schema, and three
-- tables of our own. A profile that was captured and one that was modelled have the same tables.
-- Source: tools/neuron-explorer/profile-schema-reference of the AWS Neuron SDK documentation, schema version 7.4.0.
--
--   schema.tables[NAME]      columns in order: { name =, type =, unit =, required = }; the same by position 1..4
--   schema.order             names of all tables, ours last
--   schema.sql(NAME[, columns])  CREATE TABLE text; columns are the schema's unless given
--   schema.create(NAMES)     what store_create takes; schema.table(NAME[, columns]) is one of them
--   schema.quote(name)       a name quoted for SQL
-- Types: i64 i32 bool -> INTEGER; f32 f64 -> REAL; str, enumerations and lists (as JSON text) -> TEXT.
-- A required column is one that neuron-explorer always writes; the tables here take NULL everywhere, because older
-- profiles lack columns. Wrong names raise.
-- Units: ns, s, B (bytes), Bps (bytes a second), pct (of Summary: fractions 0..1), cyc, flop, GHz.

local schema <const> = { version = "7.4.0", tables = {}, order = {}, enums = {} }

-- Values of the enumerated types. Compare engines and these without regard to case.
schema.enums.DmaQueueType = { "instruction", "input", "output", "data", "software_dynamic", "hardware_dynamic", "unknown" }
schema.enums.ErrorType = { "Custom Notification", "Errors", "Warnings" }
schema.enums.PerformanceMode = { "2x", "4x" }
schema.enums.MemoryBandwidthDirection = { "host_to_device", "device_to_host", "bidirectional" }

-- TABLE: column type[/unit][!], ... where ! is required. MemoryBandwidth* exist only in answers of the vendor's server.
local text <const> = [[
ActiveTime: start_ts i64/ns!, end_ts i64/ns!, engine str!, pcore_idx i64!, duration_ns i64/ns!
AssemblyInstruction: instruction_id i64!, compiler_opcode str!, compiler_operands str!, compiler_pc i64!
BirInstruction: id i64!, raw_bir_id i64!, raw_penguin_id i64!, raw_hlo_id i64!, raw_framework_id i64!, bir_name str!,
  modular_flow_invocation_idx i64!, pcore_idx i64, start_ts i64/ns!, end_ts i64/ns!, time_intervals str!, element_count_per_interval [i64]!,
  transpose_element_count_per_interval [i64]!, hbm_transfer_size_per_interval [i64]/B!, hbm_read_bytes i64/B!, hbm_write_bytes i64/B!,
  sbuf_read_bytes i64/B, sbuf_write_bytes i64/B, load_weight_bytes i64/B
CcInstruction: start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, core_idx i64!, description str!, trigger_engine str, trigger_start_ts i64/ns
CcOp: start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, operation str!, algorithm str!, num_elements i64!, dtype str!, op_id i64!,
  stream_id i64!, stream_index i64!, trigger_engine str!, input_size i64/B, output_size i64/B, algorithm_bandwidth f32/Bps, bus_bandwidth f32/Bps,
  trigger_start_ts i64/ns, cc_trigger_start_delay i64/ns, replica_group_id i64, replica_group str
CcStream: stream_id i64!, stream_index i64!, cc_core_ids str!
CoreBarriers: start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, engine_name str!, id i64!, semaphore i64!, compiler_pc i64!,
  compiler_opcode str!, compiler_operands str!, pcore_idx i64
CpuUsage: timestamp i64/ns!, util_percent f32/pct!, cpu_id str!, instance_id str!, ultraserver_id i64, ultraserver_instance_index i64
DeviceProfileList: device_profile_name str!, instance_id str!, process_id i64!, nc_id i64!, session_id i64, model_id i64
DmaPacket: start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, pcore_idx i64, id i64!, packet_idx i32!, packet_aggregation_id i64!, engine_idx i64,
  read_bytes i64/B!, write_bytes i64/B!, transfer_bytes i64/B!, throughput f32/Bps!, queue_type DmaQueueType!, variable str, queue_name str,
  queue_idx i64, crc i64!
DmaPacketAggregated: start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, id i64!, pcore_idx i64, block_id i32!, queue_idx i64!, queue_name str!,
  queue_type DmaQueueType, op str!, variable str!, read_bytes i64/B!, write_bytes i64/B!, transfer_bytes i64/B!, throughput f32/Bps!, source str!,
  dest str!, semaphore_id str!, modular_flow_function str, read_sbuf_partitions str!, read_num_sbuf_partitions i32!, read_shape str!,
  read_offset str!, read_steps str!, write_sbuf_partitions str!, write_num_sbuf_partitions i32!, write_shape str!, write_offset str!,
  write_steps str!, is_transpose_mode bool, transpose_element_size str, transpose_shape str, transpose_from_shape str, transpose_to_shape str,
  transpose_unroll_factor str, trigger i64, completion i64
DmaQueuesInfo: name str!, type str!, pcore_idx i64!, idx i64!, engine_idx i64!, axi_port i64!, dram_channel i64!
DmaUsage: timestamp i64/ns!, current_throughput f32/Bps!, total_transfer_bytes i64/B!, pcore_idx i64
DmaUsageSummary: timestamp i64/ns!, pcore_idx i64!, sum_current_throughput f64!, sum_total_transfer_bytes i64!, max_total_transfer_bytes i64!,
  count i64!, bucket_resolution_ns i64/ns!
Error: description str!, error_type_id i32!, metadata str, metadata_hex str, pcore_idx i64, timestamp i64/ns!, type ErrorType!
ExecutionInfo: execution_index i32!, neff_name str, execution_start_ts i64/ns, execution_end_ts i64/ns, num_subgraphs i32, row_count i64
Flow: in_id i64!, out_id i64!, in_table str!, out_table str!, dependency_type str, gap_time i64/ns
FrameworkInstruction: id i64!, raw_bir_id i64!, raw_penguin_id i64!, raw_hlo_id i64!, raw_framework_id i64!, modular_flow_invocation_idx i64,
  framework_name str, start_ts i64/ns!, end_ts i64/ns!, time_intervals str!, element_count_per_interval [i64]!,
  transpose_element_count_per_interval [i64]!, hbm_transfer_size_per_interval [i64]/B!, hbm_read_bytes i64/B!, hbm_write_bytes i64/B!,
  sbuf_read_bytes i64/B, sbuf_write_bytes i64/B, load_weight_bytes i64/B, tensor_engine_instruction_count i64, scalar_engine_instruction_count i64,
  sync_engine_instruction_count i64, gpsimd_engine_instruction_count i64, vector_engine_instruction_count i64
FrameworkNode: node_name str!, children_names str!, parent_name str!, children_ids str!, start_ts i64/ns!, end_ts i64/ns!, time_intervals str!,
  element_count_per_interval str, transpose_element_count_per_interval str, hbm_transfer_size_per_interval str/B, hfu f32/pct, mfu f32/pct,
  hfu_per_interval str, mfu_per_interval str, mbu_per_interval str, hbm_read_bytes i64/B, hbm_write_bytes i64/B, sbuf_read_bytes i64/B,
  sbuf_write_bytes i64/B, tensor_engine_instruction_count i64, scalar_engine_instruction_count i64, sync_engine_instruction_count i64,
  gpsimd_engine_instruction_count i64, vector_engine_instruction_count i64, total_time_tensor str/ns, total_time_scalar str/ns,
  total_time_sync str/ns, total_time_gpsimd str/ns, total_time_vector str/ns, load_weight_bytes i64/B, total_channels_scalar i64,
  total_channels_vector i64
HbmUsage: timestamp i64/ns!, current_throughput f32/Bps!, total_transfer_bytes i64/B!, pcore_idx i64
HbmUsageSummaryByType: neuron_device_idx i64!, neuroncore_idx i64!, usage_type str!, usage_bytes i64/B!
HloInstruction: id i64!, raw_bir_id i64!, raw_penguin_id i64!, raw_hlo_id i64!, raw_framework_id i64!, hlo_name str!, modular_flow_invocation_idx i64,
  start_ts i64/ns!, end_ts i64/ns!, time_intervals str!, element_count_per_interval [i64]!, transpose_element_count_per_interval [i64]!,
  hbm_transfer_size_per_interval [i64]/B!, hbm_read_bytes i64/B!, hbm_write_bytes i64/B!, sbuf_read_bytes i64/B, sbuf_write_bytes i64/B,
  load_weight_bytes i64/B
HostMemUsage: timestamp i64/ns!, used_bytes i64/B!, used_percent f32/pct!, instance_id str!, ultraserver_id i64, ultraserver_instance_index i64
Instruction: start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, engine str!, timeline_track str, pcore_idx i64, opcode str!, operands str!,
  compiler_opcode str, compiler_operands str, id i64!, pc i64!, compiler_pc i64, penguin_id str, raw_penguin_id i64, bir_id str!, raw_bir_id i64,
  bir_instruction_name str, kernel_instruction_name str, crc_in i64, crc_out i64, evt_wait_time_ns i64/ns, hlo_attrs str, hlo_name str,
  raw_hlo_id i64, raw_framework_id i64, layer str, stack_frame_ids str, nki_source_location str, bir_debug_info_source_location str,
  dma_trigger_start_ts i64, dma_trigger_end_ts i64, dma_wait_time_ns i64/ns, instruction_chain str, hbm_read_bytes i64, hbm_write_bytes i64,
  sbuf_read_bytes i64, sbuf_write_bytes i64, spill_save_bytes i64, spill_reload_bytes i64, psum_read_bytes i64, psum_write_bytes i64,
  psum_read_sbuf_write_bytes i64, input_queue_bytes i64, output_queue_bytes i64, weight_queue_bytes i64, performance_mode PerformanceMode,
  tensor_instruction_type str, tensor_elements i64, raw_flops i64, adjusted_flops i64, tensor_elements_transpose i64, flops_transpose i64,
  adjusted_flops_transpose i64, scalar_activation_fn str
KernelInstructions: kernel_instruction_name str!, stack_frame_id i64, stack_frame_depth i64, iteration_variables_id i64, iteration_variable_depth i64,
  pcore_idx i64, file_path str, line_number i64
KernelIterationVariables: iteration_variable_id i64!, variable_name str, variable_value i64, parent_iteration_variable_id i64, pcore_idx i64,
  file_path str, line_number i64
KernelStackFrames: stack_frame_id i64!, fully_qualified_function_name str, parent_stack_frame_id i64, pcore_idx i64, file_path str, line_number i64
MemoryBandwidthPoint: timestamp i64/ns!, bandwidth_bytes_per_sec f64/Bps!
MemoryBandwidthResponse: series [MemoryBandwidthSeries]!
MemoryBandwidthSeries: instance_id str!, worker_gid i64, nc_idx i64, direction MemoryBandwidthDirection!, points [MemoryBandwidthPoint]!
Metadata: profile_schema_version str!, ntff_version i32!, num_physical_cores i32!, vnc_enabled bool!, first_hw_timestamp i64/ns!,
  last_hw_timestamp i64/ns!, first_ts str!, last_ts str!, dma_ddr_bandwidth f32/Bps!, num_dma_engines_per_neuroncore i32!, hbm_ddr_bandwidth f32/Bps!,
  tensor_engine_num_rows i64!, tensor_engine_num_cols i64!, tensor_engine_clock_freq f32/GHz!, vector_engine_clock_freq f32/GHz!,
  vector_engine_num_channels i64!, scalar_engine_clock_freq f32/GHz!, scalar_engine_num_channels i64!, gpsimd_engine_clock_freq f32/GHz!,
  gpsimd_engine_num_channels i64!, neuroncore_clock_freq f32/GHz!, ticks_per_nanosec i64!, instance_type str, runtime_version str,
  collectives_version str, driver_version str, explorer_version str, compiler_version str, neuroncore_idx i64, neuron_device_idx i64,
  ultraserver_id i64, ultraserver_type str, ultraserver_size i32, ultraserver_instance_index i32, s3_bucket_path str, profile_name str,
  explorer_build_time str, is_simulation bool
NeffHeader: network_name str, uuid str, hash str, enabled_features str, header_size i64/B, data_size i64/B, major_version i64, minor_version i64,
  package_version str, build_version str, cc_participant_count i64, neuroncore_count i64, logical_neuroncore_count i64, pcore_count_per_lnc i64
OpcodeSummary: engine str!, opcode str!, instruction_count i64!, instruction_time_ns i64/ns!, active_time_ns i64/ns!, active_time_percent f32!
PendingDma: timestamp i64/ns!, value i32!, pcore_idx i64
PenguinInstruction: id i64!, raw_bir_id i64!, raw_penguin_id i64!, raw_hlo_id i64!, raw_framework_id i64!, penguin_name str!,
  modular_flow_invocation_idx i64, start_ts i64/ns!, end_ts i64/ns!, time_intervals str!, element_count_per_interval [i64]!,
  transpose_element_count_per_interval [i64]!, hbm_transfer_size_per_interval [i64]/B!, hbm_read_bytes i64/B!, hbm_write_bytes i64/B!,
  sbuf_read_bytes i64/B, sbuf_write_bytes i64/B, load_weight_bytes i64/B
PsumUsage: timestamp i64/ns!, avg_util_percent f32/pct, bank_0_util_percent f32/pct, bank_1_util_percent f32/pct, bank_2_util_percent f32/pct,
  bank_3_util_percent f32/pct, bank_4_util_percent f32/pct, bank_5_util_percent f32/pct, bank_6_util_percent f32/pct, bank_7_util_percent f32/pct,
  pcore_idx i64
SbufAllocation: start_ts i64/ns!, end_ts i64/ns!, start_address i64/B!, end_address i64/B!, partition i64!, op_source_type str, opcode str,
  operands str, queue_name str, block_id i64, tensor_name str, hlo_name str, pcore_idx i64
SbufUsage: timestamp i64/ns!, avg_util_percent f32/pct, partition_0_util_percent f32/pct, partition_32_util_percent f32/pct,
  partition_64_util_percent f32/pct, partition_96_util_percent f32/pct, pcore_idx i64
SchemaFields: table_name str!, table_description str!, field_name str!, field_description str!, field_example str, field_type str!,
  field_required bool!, field_format str, field_unit str, field_minimum f32, field_maximum f32, field_enum_values str
SemaphoreUpdate: timestamp i64/ns!, id str!, value i32!, update_source str, double_set_or_clear bool, update_mode i32, update_operation_type str,
  update_trigger_timing str, pcore_idx i64
StackFrame: id str!, file_location_id i32!, parent_frame_id str!
StackFrameFileLocation: id str!, file_name_id i32!, function_name_id i32!, line_number i32!
StackFrameFileName: id str!, name str!
StackFrameFunctionName: id str!, name str!
Summary: total_time f32/s, neuroncore_cycle_count i64/cyc, model_flops i64/flop, hardware_flops i64/flop, transpose_flops i64/flop,
  adjusted_hardware_flops i64/flop, adjusted_transpose_flops i64/flop, mm_arithmetic_intensity f32, peak_flops_bandwidth_ratio f32, trace_count i64,
  event_count i64, total_row_count i64, dma_active_cycles i64/cyc, dma_active_time f32/s, dma_active_time_percent f32/pct,
  static_dma_active_time f32/s, dynamic_dma_active_time_percent f32/pct, static_dma_active_time_percent f32/pct, dma_transfer_average_bytes f32/B,
  dma_packet_time f32/s, dma_transfer_time f32/s, dma_transfer_count i64, dma_transfer_total_bytes i64/B, dma_queue_count i64,
  inputs_and_weights_size_bytes i64/B, inputs_outputs_weights_size_bytes i64/B, weight_size_bytes i64/B, static_dma_packet_count i64,
  static_dma_size i64/B, dynamic_dma_packet_percent f32/pct, static_dma_packet_percent f32/pct, dynamic_dma_size_percent f32/pct,
  static_dma_size_percent f32/pct, mbu_estimated_percent f32/pct, mbu_min_read_util_percent f32/pct, hbm_write_bytes i64/B, hbm_read_bytes i64/B,
  sbuf_write_bytes i64/B, sbuf_read_bytes i64/B, spill_save_bytes i64/B, spill_reload_bytes i64/B, psum_write_bytes i64/B, psum_read_bytes i64/B,
  psum_read_sbuf_write_count i64, psum_read_sbuf_write_bytes i64/B, input_queue_bytes i64/B, output_queue_bytes i64/B, weight_queue_bytes i64/B,
  software_dynamic_dma_active_time f32/s, software_dynamic_dma_active_time_percent f32/pct, software_dynamic_dma_packet_count i64,
  software_dynamic_dma_size i64/B, software_dynamic_dma_packet_percent f32/pct, software_dynamic_dma_size_percent f32/pct,
  hardware_dynamic_dma_active_time f32/s, hardware_dynamic_dma_active_time_percent f32/pct, hardware_dynamic_dma_packet_count i64,
  hardware_dynamic_dma_size i64/B, hardware_dynamic_dma_packet_percent f32/pct, hardware_dynamic_dma_size_percent f32/pct,
  tensor_engine_instruction_time f32/s, tensor_engine_active_time f32/s, tensor_engine_active_time_percent f32/pct,
  tensor_engine_instruction_count i64, matmul_instruction_count i64, mfu_estimated_percent f32/pct, mfu_max_achievable_estimated_percent f32/pct,
  mfu_hlo_estimated_percent f32/pct, mfu_hlo_max_achievable_estimated_percent f32/pct, mfu_inst_estimated_percent f32/pct,
  mfu_inst_max_achievable_estimated_percent f32/pct, hfu_estimated_percent f32/pct, vector_engine_instruction_time f32/s,
  vector_engine_active_time f32/s, vector_engine_active_time_percent f32/pct, vector_engine_instruction_count i64,
  scalar_engine_instruction_time f32/s, scalar_engine_active_time f32/s, scalar_engine_active_time_percent f32/pct,
  scalar_engine_instruction_count i64, activate_instruction_time f32/s, activate_instruction_count i64, sync_engine_instruction_time f32/s,
  sync_engine_active_time f32/s, sync_engine_active_time_percent f32/pct, sync_engine_instruction_count i64, gpsimd_engine_instruction_time f32/s,
  gpsimd_engine_active_time f32/s, gpsimd_engine_active_time_percent f32/pct, gpsimd_engine_instruction_count i64, cc_op_time f32/s,
  cc_op_active_time f32/s, cc_op_active_time_percent f32/pct, cc_op_count i64, cc_cores_instruction_time f32/s,
  cc_cores_instruction_active_time f32/s, cc_cores_instruction_active_time_percent f32/pct, cc_cores_instruction_count i64, total_exec_time f32/s,
  total_active_time f32/s, total_active_time_percent f32/pct
SystemProfileEvents: id i64!, name str!, start_ts i64/ns!, end_ts i64/ns!, duration_ns i64/ns!, trace_event_source str!, instance_id str!,
  process_id i64!, thread_id i64!, nc_idx i64, pcore_idx i64, worker_gid i64, flow_id [str], framework_stream_id str, extra_attributes_json str
SystemProfileHbmUsage: timestamp i64/ns!, total_bytes i64/B!, generic_bytes i64/B!, tensor_instructions_bytes i64/B!,
  scalar_instructions_bytes i64/B!, gpsimd_instructions_bytes i64/B!, io_bytes i64/B!, dram_spill_bytes i64/B!, weights_bytes i64/B!,
  profiler_buffers_bytes i64/B!, scalar_table_bytes i64/B!, vector_instructions_bytes i64/B!, sync_instructions_bytes i64/B!,
  shared_scratchpad_bytes i64/B!, tensors_bytes i64/B!, ucode_lib_bytes i64/B!, gpsimd_stdio_bytes i64/B!, collectives_bytes i64/B!,
  scratchpad_bytes i64/B!, dma_rings_runtime_bytes i64/B!, dma_rings_spill_bytes i64/B!, dma_rings_io_bytes i64/B!,
  dma_rings_collectives_bytes i64/B!, unknown_bytes i64/B!, device_idx i64!, hbm_idx i64!, instance_id str!
SystemProfileMetadata: first_ts str!, last_ts str!, first_ts_ns str!, last_ts_ns str!, ntff_version i64!, hbm_capacity_bytes i64/B!
TensorInfo: variable_name str, type str, format str, shape str, size i64/B, node i64, pcore_idx i64, load_to_sbuf_avg_size_bytes i64,
  load_to_sbuf_total_size_bytes i64, load_to_sbuf_dma_count i64, load_to_sbuf_repeat_factor f32
Throttle: duration i64/ns!, k i32!, n i32!, timestamp i64/ns!, type str!, pcore_idx i64
ThrottleSummary: nc_idx i32!, throttle_type str, throttle_active_time_ns i64/ns, throttle_active_time_percent f32/pct,
  max_achievable_util_with_throttling_percent f32/pct
Warning: message str!, category str!]]

-- Ours. nkiln holds provenance: format_version, kind (modelled, captured, imported), model_version, target, lnc,
-- kernel_file, kernel_sha256, entry, case, nkiln_version, tool_versions, created. nkiln_source holds the text of the
-- source lines that the profile names; nkiln_notes what the profile cannot know and warnings about its quality.
local ours <const> = [[
nkiln: key str!, value str
nkiln_source: file str!, line i64!, text str
nkiln_notes: level str!, code str, message str!]]

schema.format_version = "1" -- of the database as a whole: of our three tables and of what is stored how

local storage <const> = { i64 = "INTEGER", i32 = "INTEGER", bool = "INTEGER", f32 = "REAL", f64 = "REAL" }
local keys <const> = { nkiln = "key" }

-- SQL storage class of a column type.
function schema.storage(type) return storage[type] or "TEXT" end

local function read(lines)
  local columns
  for line in lines:gmatch("[^\n]+") do
    local name <const>, rest <const> = line:match("^([%w_]+):(.*)$")
    if name then
      columns = {}
      schema.tables[name] = columns
      schema.order[#schema.order + 1] = name
    end
    for column, kind, unit, required in (rest or line):gmatch("([%w_]+) ([%w_%[%]]+)/?(%w*)(!?)") do
      local row <const> = { column, kind, unit ~= "" and unit or nil, required == "!" }
      row.name, row.type, row.unit, row.required = row[1], row[2], row[3], row[4]
      columns[#columns + 1] = row
      columns[column] = row
    end
  end
end
read(text)
read(ours)

function schema.quote(name) return '"' .. name:gsub('"', '""') .. '"' end

function schema.sql(name, columns)
  columns = columns or schema.tables[name]
  if not columns then error(("the profile schema has no table %s"):format(tostring(name)), 2) end
  local parts <const> = {}
  for i, column in ipairs(columns) do
    local key <const> = keys[name] == column.name and " PRIMARY KEY" or ""
    parts[i] = ("  %s %s%s"):format(schema.quote(column.name), schema.storage(column.type), key)
  end
  return ("CREATE TABLE %s (\n%s\n)"):format(schema.quote(name), table.concat(parts, ",\n"))
end

-- What the analysis' joins look things up by. An index costs about as much as three columns, so there are few.
local indices <const> = {
  Instruction = { "id", "bir_id" }, Flow = { "in_id", "out_id" }, DmaPacketAggregated = { "id" }, DmaPacket = { "packet_aggregation_id" },
  KernelInstructions = { "kernel_instruction_name" }, nkiln_source = { "file" },
}

-- One table as store_create takes it: { name =, columns =, sql =, indices = { SQL, ... } }.
function schema.table(name, columns)
  columns = columns or schema.tables[name]
  local one <const> = { name = name, columns = columns, sql = schema.sql(name, columns), indices = {} }
  for _, wanted in ipairs(indices[name] or {}) do
    for _, column in ipairs(columns) do
      if column.name == wanted then
        local sql <const> = ("CREATE INDEX %s ON %s (%s)"):format(schema.quote(name .. "_" .. wanted), schema.quote(name), schema.quote(wanted))
        one.indices[#one.indices + 1] = sql
      end
    end
  end
  return one
end

function schema.create(names)
  local list <const> = {}
  for i, name in ipairs(names) do list[i] = schema.table(name) end
  return list
end

return schema
