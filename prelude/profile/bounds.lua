-- SPDX-License-Identifier: MIT
-- profile.bounds: how short the kernel could be if one kind of cost were gone, and what is lost between two such bounds.
--
-- compute(p[, core]) -> {
--   core=, window=, engines = { {name=, ns=, share=} ... }, bottleneck = {name=, ns=, share=}, sentence=,
--   bounds = { {family=, name=, ns=, from=, note=, speedup=} ... }, gaps = { {family=, name=, ns=, share=, means=, not_means=} ... },
--   quantities = { bytes=, necessary_bytes=, flops=, transpose_flops=, peak_flops=, bandwidth=, practical_bandwidth= ... }, notes = {...} }
-- A bound that cannot be computed has ns = nil and says why in `from`. ns are floats, shares fractions of the window's total.
--
-- Definitions (AWS Neuron's performance bounds, with these differences: duplicate packets count once, one window for all, the
-- practical DMA rate beside the theoretical, weights among the necessary bytes, cores one by one):
--   memory_bound                 union of the DMA packets' intervals
--   memory_bound_practical       bytes / the highest DMA rate seen in practice
--   memory_bound_ideal           bytes / Metadata.dma_ddr_bandwidth; bytes are those of packets that start in the window, without
--                                descriptor fetches (queue_type 'instruction') and semaphore writes (4 bytes)
--   memory_bound_ideal_no_reloads  bytes of inputs, outputs and weights, each once / the same rate
--   compute_bound                union of the Tensor engine's active intervals
--   compute_bound_ideal_flops    adjusted FLOPs of its MATMULs / (rows x columns x 2 x clock)
--   compute_bound_ideal_useful_flops  the same without transposes
--   perfect_pipeline             the longest of Tensor, Vector, Scalar, GpSimd and DMA
--   speedup of a bound           total / max(bound, the longest engine that the bound does not improve)

local formulas <const> = require "profile.formulas"

local bounds <const> = {}

bounds.engines = { "Tensor", "Vector", "Scalar", "GpSimd" }
-- Highest rate of one DMA engine in practice, bytes per ns, by generation: 17, 23, 33 of 27.2, 27.2, 38.4 in theory; sixteen
-- engines a core. [Neuron architecture guides; NKI performance guide: 32 KiB on one engine took 1,416 ns]
bounds.practical = { trn1 = 17e9 * 16, inf2 = 17e9 * 16, trn2 = 23e9 * 16, trn3 = 33e9 * 16 }
-- Two rows that agree in these are one packet: an engine cannot move the same packet of the same transfer twice at once.
bounds.packet_keys = { "start_ts", "packet_aggregation_id", "packet_idx", "engine_idx", "core", "end_ts", "transfer_bytes", "queue_type" }

-- Rows of a table on this core.
local function on_core(frame, core) return frame:where(nil, "core", "=", core) end

-- The packets of a core, each once; how many rows were duplicates.
function bounds.packets(p, core)
  local frame <const>, why <const> = p:packets()
  if not frame then return nil, why end
  p.distinct = p.distinct or {}
  local kept = p.distinct[core]
  if not kept then
    local mine <close> = on_core(frame, core)
    kept = frame:distinct(mine, bounds.packet_keys)
    p.distinct[core] = kept
    p.duplicates = (p.duplicates or 0) + mine:count() - kept:count()
  end
  return frame, kept
end

-- Of these the ones that move the kernel's data.
function bounds.kernel_packets(p, core)
  local frame <const>, all <const> = bounds.packets(p, core)
  if not frame then return nil, all end
  p.kernel = p.kernel or {}
  if not p.kernel[core] then
    local big <close> = frame:where(all, "transfer_bytes", ">", 4)
    p.kernel[core] = frame:pick(big, "queue_type", function(kind) return kind ~= "instruction" end, true)
  end
  return frame, p.kernel[core]
end

-- Rows whose start lies in the window.
function bounds.starting(frame, rows, window)
  if window.whole then return rows end
  local from <close> = frame:where(rows, "start_ts", ">=", window.t0)
  return frame:where(from, "start_ts", "<", window.t1)
end

local function sum(frame, rows, column)
  local groups <const> = frame:group(rows, {}, { { "total", "total", column } })
  return groups[1] and groups[1].total or 0
end
bounds.sum = sum

-- MATMULs of a core that start in the window.
function bounds.matmuls(p, core)
  local frame <const>, why <const> = p:instructions()
  if not frame then return nil, why end
  p.matmul = p.matmul or {}
  if not p.matmul[core] then
    local mine <close> = on_core(frame, core)
    local tensor <close> = frame:pick(mine, "engine", function(engine) return engine:lower() == "tensor" end)
    local matmul <close> = frame:pick(tensor, "opcode", { "MATMUL" })
    local inside <const> = bounds.starting(frame, matmul, p.window)
    p.matmul[core] = inside == matmul and frame:present(matmul, "start_ts") or inside
  end
  return frame, p.matmul[core]
end

-- Active time of an engine: ns, where it comes from. nil and why when nothing tells.
function bounds.engine_time(p, core, engine)
  local name <const>, w <const> = engine:lower(), p.window
  local active <const>, why <const> = p:active()
  if active then
    local mine <close> = on_core(active, core)
    local rows <close> = active:pick(mine, "engine", { name })
    return active:union(rows, "start_ts", "end_ts", w.t0, w.t1), "ActiveTime"
  end
  local share <const> = p.summary[name .. "_engine_active_time"]
  if w.whole and type(share) == "number" and #p.cores == 1 then return share * 1e9, "Summary" end
  local frame <const> = p:instructions()
  if frame then
    local mine <close> = on_core(frame, core)
    local rows <close> = frame:pick(mine, "engine", function(text) return text:lower() == name end)
    return frame:union(rows, "start_ts", "end_ts", w.t0, w.t1), "Instruction (no ActiveTime: waiting may be counted)"
  end
  return nil, why
end

local function dma_time(p, core)
  local w <const> = p.window
  local frame <const>, rows <const> = bounds.packets(p, core)
  if frame then return frame:union(rows, "start_ts", "end_ts", w.t0, w.t1), "DmaPacket" end
  local share <const> = p.summary.dma_active_time
  if w.whole and type(share) == "number" and #p.cores == 1 then return share * 1e9, "Summary (no DmaPacket rows)" end
  local transfers <const> = p:transfers()
  if transfers then
    local mine <close> = on_core(transfers, core)
    return transfers:union(mine, "start_ts", "end_ts", w.t0, w.t1), "DmaPacketAggregated (no DmaPacket rows: gaps inside a transfer are counted)"
  end
  return nil, rows
end

local function moved_bytes(p, core)
  local frame <const>, rows <const> = bounds.kernel_packets(p, core)
  if frame then
    local inside <const> = bounds.starting(frame, rows, p.window)
    return sum(frame, inside, "transfer_bytes"), "DmaPacket"
  end
  local transfers <const> = p:transfers()
  if transfers then
    local mine <close> = on_core(transfers, core)
    return sum(transfers, bounds.starting(transfers, mine, p.window), "transfer_bytes"), "DmaPacketAggregated"
  end
  local total <const> = p.summary.dma_transfer_total_bytes
  if p.window.whole and type(total) == "number" and #p.cores == 1 then return total, "Summary" end
  return nil, rows
end

-- Bytes of inputs, outputs and weights, each tensor once, of all cores together.
function bounds.necessary_bytes(p)
  local frame <const>, why <const> = p:tensors()
  if frame then
    local kinds <close> = frame:pick(nil, "type", { "IN", "OUT", "WEIGHT" })
    local once <close> = frame:distinct(kinds, { "variable_name" })
    if once:count() > 0 then return sum(frame, once, "size"), "TensorInfo" end
  end
  local total <const> = p.summary.inputs_outputs_weights_size_bytes
  if type(total) == "number" then return total, "Summary" end
  return nil, why or "TensorInfo names no inputs and outputs"
end

local function positive(value) return type(value) == "number" and value > 0 and value < math.huge and value or nil end

-- Peaks from Metadata: { flops=, bandwidth=, practical= }, absent where Metadata does not say.
function bounds.peaks(p)
  local m <const> = p.meta
  local rows <const>, columns <const> = positive(m.tensor_engine_num_rows), positive(m.tensor_engine_num_cols)
  local clock <const> = positive(m.tensor_engine_clock_freq)
  local target <const> = p:identity().target
  return {
    flops = rows and columns and clock and rows * columns * 2 * clock * 1e9, bandwidth = positive(m.dma_ddr_bandwidth),
    practical = target and bounds.practical[target], clock = clock, rows = rows or 128, columns = columns or 128, target = target,
  }
end

local means <const> = {
  ["DMA idle"] = { "no DMA engine moves data for this long", "a fault by itself: a kernel that computes has pauses in its transfers by right" },
  ["DMA inefficiency"] = { "transfers take longer than their bytes need at the theoretical rate",
    "what can be gained: the rate in practice is lower than the theoretical one" },
  ["excess traffic"] = { "bytes are moved more often than once (reloads, spills)",
    "a time but a proportion: in practice the same bytes take longer than at the ideal rate" },
  ["TE idle"] = { "the Tensor engine does nothing", "a cause: --investigate pipeline says what it waits for" },
  ["TE underutilisation"] = { "the Tensor engine is active below its peak rate: small tiles, fp32, start-up, throttling, late operands",
    "the tiles' fault alone: matmuls that wait for data count as active" },
  transposes = { "matmuls that only transpose", "a time but a proportion of the Tensor engine's work" },
  serialisation = { "engines wait for each other", "a promise: not every kernel can overlap all its engines" },
}

local function row_of(list, name)
  for _, row in ipairs(list) do
    if row.name == name then return row end
  end
end

-- Everything about one core.
function bounds.compute(p, core)
  core = core or p.cores[1]
  local w <const>, peaks <const> = p.window, bounds.peaks(p)
  local total <const> = w.total_ns + 0.0
  local out <const> = { core = core, window = w, engines = {}, bounds = {}, gaps = {}, notes = {}, peaks = peaks }
  local function note(text) out.notes[#out.notes + 1] = text end

  local active <const> = {}
  for _, name in ipairs(bounds.engines) do
    local ns <const>, from <const> = bounds.engine_time(p, core, name)
    active[name] = ns
    out.engines[#out.engines + 1] = { name = name, ns = ns, share = ns and total > 0 and ns / total or nil, from = from }
  end
  local dma <const>, dma_from <const> = dma_time(p, core)
  active.DMA = dma
  out.engines[#out.engines + 1] = { name = "DMA", ns = dma, share = dma and total > 0 and dma / total or nil, from = dma_from }
  for _, engine in ipairs(out.engines) do
    if engine.ns and (not out.bottleneck or engine.ns > out.bottleneck.ns) then out.bottleneck = engine end
  end

  local bytes <const>, bytes_from <const> = moved_bytes(p, core)
  local necessary, necessary_from = bounds.necessary_bytes(p)
  if necessary and #p.cores > 1 then
    necessary = necessary / #p.cores
    necessary_from = necessary_from .. (", an equal part for each of %d cores"):format(#p.cores)
  end
  local frame <const>, matmuls <const> = bounds.matmuls(p, core)
  local flops, transpose_flops, flops_from = nil, nil, matmuls
  if frame then
    local transposes <close> = frame:pick(matmuls, "tensor_instruction_type", { "TRANSPOSE" })
    flops, transpose_flops, flops_from = sum(frame, matmuls, "adjusted_flops"), sum(frame, transposes, "adjusted_flops"), "Instruction"
  elseif w.whole and positive(p.summary.adjusted_hardware_flops or p.summary.hardware_flops) then
    flops, flops_from = p.summary.adjusted_hardware_flops or p.summary.hardware_flops, "Summary"
    transpose_flops = p.summary.adjusted_transpose_flops or p.summary.transpose_flops or 0
  end
  out.quantities = {
    total_ns = total, bytes = bytes, necessary_bytes = necessary, flops = flops, transpose_flops = transpose_flops, peak_flops = peaks.flops,
    bandwidth = peaks.bandwidth, practical_bandwidth = peaks.practical, dma_active_ns = dma, tensor_active_ns = active.Tensor,
  }

  local no_rate <const>, no_peak <const> = "Metadata has no dma_ddr_bandwidth", "Metadata has no Tensor engine rows, columns and clock"
  local function add(family, name, ns, from, text)
    out.bounds[#out.bounds + 1] = { family = family, name = name, ns = ns, from = from, note = text }
  end
  local function rate(amount, per_second) return amount and per_second and amount / per_second * 1e9 or nil end
  add("memory", "memory_bound", dma, dma_from, "all transfers as they are, everything else hidden behind them")
  add("memory", "memory_bound_practical", rate(bytes, peaks.practical),
    (not bytes or peaks.practical) and bytes_from or "no practical DMA rate is known for this chip",
    peaks.practical and ("the same bytes at %.0f GB/s, the highest rate seen in practice"):format(peaks.practical / 1e9) or nil)
  add("memory", "memory_bound_ideal", rate(bytes, peaks.bandwidth), peaks.bandwidth and bytes_from or no_rate,
    peaks.bandwidth and ("the same bytes at %.0f GB/s, the theoretical rate"):format(peaks.bandwidth / 1e9) or nil)
  add("memory", "memory_bound_ideal_no_reloads", rate(necessary, peaks.bandwidth), peaks.bandwidth and necessary_from or no_rate,
    "each input, output and weight once, at the theoretical rate")
  local tensor <const> = out.engines[1]
  add("compute", "compute_bound", tensor.ns, tensor.from, "the Tensor engine as it is, everything else hidden behind it")
  add("compute", "compute_bound_ideal_flops", rate(flops, peaks.flops), peaks.flops and flops_from or no_peak,
    peaks.flops and ("its FLOPs at %.2f TFLOP/s"):format(peaks.flops / 1e12) or nil)
  add("compute", "compute_bound_ideal_useful_flops", flops and rate(flops - transpose_flops, peaks.flops), peaks.flops and flops_from or no_peak,
    "the same without transposes")
  add("pipeline", "perfect_pipeline", out.bottleneck and out.bottleneck.ns, out.bottleneck and out.bottleneck.name or "no engine's time is known",
    "every engine runs all the time that the longest one needs")

  -- What a bound does not improve stays as it is.
  for _, bound in ipairs(out.bounds) do
    local others = 0
    for name, ns in pairs(active) do
      local improved <const> = bound.family == "pipeline" or bound.family == (name == "DMA" and "memory" or name == "Tensor" and "compute")
      if not improved and ns > others then others = ns end
    end
    local floor <const> = bound.ns and math.max(bound.ns, others)
    bound.speedup = floor and floor > 0 and total / floor or nil
  end

  local function gap(family, name, upper, lower)
    if not upper or not lower then return end
    local text <const> = means[name]
    local ns <const> = upper - lower
    out.gaps[#out.gaps + 1] = { family = family, name = name, ns = ns, share = total > 0 and ns / total or 0, means = text[1], not_means = text[2] }
  end
  local function ns_of(name) return row_of(out.bounds, name).ns end
  gap("memory", "DMA idle", total, dma)
  gap("memory", "DMA inefficiency", dma, ns_of "memory_bound_ideal")
  gap("memory", "excess traffic", ns_of "memory_bound_ideal", ns_of "memory_bound_ideal_no_reloads")
  gap("compute", "TE idle", total, tensor.ns)
  gap("compute", "TE underutilisation", tensor.ns, ns_of "compute_bound_ideal_flops")
  gap("compute", "transposes", ns_of "compute_bound_ideal_flops", ns_of "compute_bound_ideal_useful_flops")
  gap("pipeline", "serialisation", total, out.bottleneck and out.bottleneck.ns)

  if out.bottleneck and total > 0 then
    out.sentence = ("%s is active longest: %.1f %% of %s"):format(out.bottleneck.name, 100 * out.bottleneck.ns / total,
      w.whole and "the kernel's time" or "the window")
  else
    out.sentence = "no engine's active time is known"
  end

  if p.duplicates and p.duplicates > 0 then note(("%d duplicate DMA packet rows were left out"):format(p.duplicates)) end
  if w.idle_ns and w.idle_ns > 0.05 * total then
    note(("%.1f us of the total lie before the first event and after the last: start-up, not the kernel"):format(w.idle_ns / 1e3))
  elseif w.idle_ns and w.idle_ns < -0.001 * total then
    note(("Summary.total_time is %.1f us shorter than the span of the events"):format(-w.idle_ns / 1e3))
  end
  local claimed <const> = p.summary.dma_transfer_total_bytes
  if w.whole and #p.cores == 1 and bytes and positive(claimed) and math.abs(bytes - claimed) > 0.01 * claimed then
    note(("DMA packets add up to %.0f bytes, Summary.dma_transfer_total_bytes says %.0f"):format(bytes, claimed))
  end
  -- Summary's own metrics against its own counters: a percent where a fraction belongs, or another chip's peaks.
  local hardware <const> = formulas.hardware[peaks.target or ""]
  for _, row in ipairs(hardware and w.whole and formulas.check(p.summary, {
    peak_flops = peaks.flops, hbm_bandwidth = positive(p.meta.hbm_ddr_bandwidth), clock = hardware.clock,
  }) or {}) do
    if row.metric:find("active_time_percent", 1, true) then
      note(("Summary.%s is %.4g, its counters give %.4g"):format(row.metric, row.stored, row.computed))
    end
  end
  if frame and flops == 0 and matmuls:count() > 0 then note "the MATMUL rows carry no adjusted_flops: the ideal compute bounds are 0" end
  if necessary and bytes and bytes < necessary * 0.98 then
    note(("the packets hold fewer bytes (%.0f) than inputs, outputs and weights (%.0f): the profile is not complete, or tensors are used in part"):format(
      bytes, necessary))
  end
  return out
end

-- One result for each core, the core whose bottleneck is longest first.
function bounds.all(p)
  local list <const> = {}
  for _, core in ipairs(p.cores) do list[#list + 1] = bounds.compute(p, core) end
  table.sort(list, function(a, b)
    local x <const>, y <const> = a.bottleneck and a.bottleneck.ns or 0, b.bottleneck and b.bottleneck.ns or 0
    if x ~= y then return x > y end
    return a.core < b.core
  end)
  return list
end

return bounds
