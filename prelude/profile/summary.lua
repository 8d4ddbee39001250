-- SPDX-License-Identifier: MIT
-- The row of Summary for a modelled profile: the metrics of neuron-explorer that a schedule defines, by its formulas
-- (profile schema reference, summary metrics). Times are seconds, `_percent` fractions 0..1, sizes bytes. A metric that the
-- model has no word on is absent.

local array <const> = require "rt.array"

local summary <const> = {}

local function sum(column) return array.reduce("sum", column):item() end
local function whole(column) return math.tointeger(sum(column)) end

-- Length of the union of intervals given by two columns, and of those the mask selects.
local function union(start, finish, mask)
  local rows <const> = {}
  for i = 0, start.size - 1 do
    if not mask or mask[i] then rows[#rows + 1] = { start:at(i), finish:at(i) } end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  local total, to = 0, -1
  for _, row in ipairs(rows) do
    if row[2] > to then
      total = total + row[2] - math.max(row[1], to)
      to = row[2]
    end
  end
  return total
end

-- Bytes, packets and active time of the DMA by how descriptors were made.
local function kinds(row, packets, total)
  local n <const> = packets.start.size
  local groups <const> = { static = {}, software_dynamic = {}, hardware_dynamic = {} }
  local of <const> = {}
  for i, value in ipairs(packets.queue_type.values) do of[i - 1] = groups[value] and value or "static" end
  local codes <const> = packets.queue_type.codes
  local seen <const> = {}
  for _, value in pairs(of) do seen[value] = true end
  local alone
  for value in pairs(seen) do alone = alone == nil and value or false end
  local bytes <const> = whole(packets.bytes)
  if alone then -- one kind only, as nearly always
    groups[alone] = { count = n, bytes = bytes, time = row.dma_active_time }
  elseif n > 0 then
    local list <const> = codes:totable()
    for value in pairs(seen) do
      local mask <const>, group <const> = {}, { count = 0, bytes = 0 }
      for i = 1, n do
        if of[list[i]] == value then
          mask[i - 1] = true
          group.count, group.bytes = group.count + 1, group.bytes + packets.bytes:at(i - 1)
        end
      end
      group.time = union(packets.start, packets.finish, mask) / 1e9
      groups[value] = group
    end
  end
  local function share(part, all) return all > 0 and part / all or 0 end
  local dynamic <const> = { count = 0, bytes = 0, time = 0 }
  for name, group in pairs(groups) do
    local count <const>, size <const>, time <const> = group.count or 0, group.bytes or 0, group.time or 0
    row[name .. "_dma_packet_count"], row[name .. "_dma_size"] = count, size
    row[name .. "_dma_packet_percent"], row[name .. "_dma_size_percent"] = share(count, n), share(size, bytes)
    row[name .. "_dma_active_time"], row[name .. "_dma_active_time_percent"] = time, share(time, total)
    if name ~= "static" then
      dynamic.count, dynamic.bytes, dynamic.time = dynamic.count + count, dynamic.bytes + size, dynamic.time + time
    end
  end
  row.dynamic_dma_packet_percent, row.dynamic_dma_size_percent = share(dynamic.count, n), share(dynamic.bytes, bytes)
  row.dynamic_dma_active_time_percent = share(dynamic.time, total)
end

function summary.of(timeline, totals, busy, target)
  local s <const> = target.schedule
  local total <const> = timeline.total_ns / 1e9
  local row <const> = {
    total_time = total, total_exec_time = (timeline.last_ns - timeline.first_ns) / 1e9, neuroncore_cycle_count = math.floor(timeline.total_ns * s.sync_ghz),
    hardware_flops = totals.flops, adjusted_hardware_flops = totals.adjusted_flops, hbm_read_bytes = totals.hbm_read, hbm_write_bytes = totals.hbm_write,
    sbuf_read_bytes = totals.sbuf_read, sbuf_write_bytes = totals.sbuf_write, psum_read_bytes = totals.psum_read, psum_write_bytes = totals.psum_write,
    psum_read_sbuf_write_count = totals.psum_read_sbuf_write_count, psum_read_sbuf_write_bytes = totals.psum_read_sbuf_write_bytes,
    spill_save_bytes = 0, spill_reload_bytes = 0, event_count = timeline.rows + timeline.packet_count, trace_count = timeline.rows,
    total_row_count = timeline.rows + timeline.packet_count, cc_op_count = 0, matmul_instruction_count = 0, activate_instruction_count = 0,
    activate_instruction_time = 0,
  }
  if totals.transposes > 0 then
    row.transpose_flops, row.adjusted_transpose_flops = totals.transpose_flops, totals.adjusted_transpose_flops
  end
  for _, one in ipairs(busy) do
    if one.engine ~= "DMA" then
      local name <const> = one.engine:lower()
      local count, time = 0, 0
      for _, op in ipairs(totals.opcodes) do
        if op.engine == one.engine then count, time = count + op.count, time + op.ns / 1e9 end
        if op.engine == one.engine and op.opcode == "MATMUL" then row.matmul_instruction_count = op.count end
        if op.engine == one.engine and op.opcode == "ACTIVATE" then
          row.activate_instruction_count, row.activate_instruction_time = op.count, op.ns / 1e9
        end
      end
      row[name .. "_engine_instruction_count"], row[name .. "_engine_instruction_time"] = count, time
      row[name .. "_engine_active_time"], row[name .. "_engine_active_time_percent"] = one.ns / 1e9, one.ns / 1e9 / total
    else
      row.dma_active_time, row.dma_active_time_percent = one.ns / 1e9, one.ns / 1e9 / total
      row.dma_active_cycles = math.floor(one.ns * s.sync_ghz)
    end
  end
  local packets <const> = timeline:packets()
  local transfers <const> = timeline:transfers()
  local n <const> = transfers.start.size
  row.dma_transfer_count, row.dma_transfer_total_bytes = n, whole(transfers.bytes)
  row.dma_transfer_average_bytes = n > 0 and row.dma_transfer_total_bytes / n or 0
  row.dma_packet_time = (sum(packets.finish) - sum(packets.start)) / 1e9
  row.dma_transfer_time = (sum(transfers.finish) - sum(transfers.start)) / 1e9
  row.dma_queue_count = #packets.queue_name.values
  kinds(row, packets, total)
  local input, output = 0, 0
  for _, one in ipairs(timeline:tensors()) do
    if one.role == "IN" then input = input + one.bytes elseif one.role == "OUT" then output = output + one.bytes end
  end
  row.inputs_and_weights_size_bytes, row.inputs_outputs_weights_size_bytes, row.weight_size_bytes = input, input + output, 0
  row.input_queue_bytes, row.output_queue_bytes, row.weight_queue_bytes = totals.hbm_read, totals.hbm_write, 0
  -- Roofline: PE peak for bfloat16, bandwidth of one HBM stack.
  local peak <const> = 2 * 128 * 128 * s.tensor_ghz * 1e9
  local hbm <const> = s.hbm_bytes_per_ns * 1e9
  local traffic <const> = totals.hbm_read + totals.hbm_write
  local useful <const> = totals.flops - totals.transpose_flops
  row.peak_flops_bandwidth_ratio = peak / hbm
  row.mm_arithmetic_intensity = traffic > 0 and useful / traffic or 0
  row.hfu_estimated_percent = totals.adjusted_flops / (peak * total)
  row.mfu_inst_estimated_percent = (totals.adjusted_flops - totals.adjusted_transpose_flops) / (peak * total)
  row.mfu_inst_max_achievable_estimated_percent = math.min(1, row.mm_arithmetic_intensity / row.peak_flops_bandwidth_ratio)
  row.mbu_estimated_percent = traffic / total / hbm
  row.mbu_min_read_util_percent = (input + output) / total / hbm
  local lists <const> = {}
  for _, one in ipairs(busy) do
    if one.start.size > 0 then lists[#lists + 1] = one end
  end
  row.total_active_time = summary.union_of(lists) / 1e9
  row.total_active_time_percent = row.total_active_time / total
  return row
end

-- Length of the union of several lists of intervals, each sorted and merged.
function summary.union_of(lists)
  if #lists == 0 then return 0 end
  local at <const>, total, to = {}, 0, -1
  for i = 1, #lists do at[i] = 0 end
  while true do
    local best, start
    for i, one in ipairs(lists) do
      if at[i] < one.start.size then
        local s <const> = one.start:at(at[i])
        if not start or s < start then best, start = i, s end
      end
    end
    if not best then return total end
    local finish <const> = lists[best].finish:at(at[best])
    at[best] = at[best] + 1
    if finish > to then
      total = total + finish - math.max(start, to)
      to = finish
    end
  end
end

return summary
