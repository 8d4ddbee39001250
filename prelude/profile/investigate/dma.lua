-- SPDX-License-Identifier: MIT
-- investigate.dma: transfers that run below the rate DMA reaches in practice, by source line: descriptors that are too small.
--
-- The gap is memory_bound - memory_bound_practical; less than 5 % of memory_bound is no finding. A line's descriptor is its
-- transfer over the partitions (or packets) it is cut into; below 4 KiB the fixed cost of a descriptor shows. A line's stake
-- is its part of the gap: the time its transfers are busy beyond their bytes at the practical rate, scaled to the gap.

local common <const> = require "profile.investigate.common"

local dma <const> = { name = "dma", needs = { "DmaPacket", "DmaPacketAggregated", "Flow" } }

local function direction(row)
  local source <const>, dest <const> = (row.source or ""):upper(), (row.dest or ""):upper()
  if source:find("VIRTUAL", 1, true) or dest:find("VIRTUAL", 1, true) then return "spill" end
  if dest:find("OUTPUT", 1, true) then return "store" end
  return source:find("INPUT", 1, true) and "load" or "copy"
end

function dma.run(p, b)
  local q <const>, core <const> = b.quantities, b.core
  local out <const> = { name = "dma", core = #p.cores > 1 and core or nil, lines = {}, notes = {} }
  if not q.dma_active_ns or not q.bytes then
    out.title, out.unknown = "DMA efficiency: not known", true
    out.text = "needs DmaPacket rows: capture with DGE notifications on"
    return out
  end
  local rate <const> = q.practical_bandwidth or q.bandwidth
  if not rate then
    out.title, out.unknown, out.text = "DMA efficiency: not known", true, "Metadata has no dma_ddr_bandwidth"
    return out
  end
  local ideal <const> = q.bytes / rate * 1e9
  local gap <const> = q.dma_active_ns - ideal
  local reached <const> = q.dma_active_ns > 0 and q.bytes / q.dma_active_ns * 1e9 or 0
  out.achieved_bandwidth, out.practical_bandwidth = reached, rate
  local summary <const> = ("%s moved in %s us of DMA time: %.0f GB/s of %.0f that DMA reaches in practice"):format(
    common.bytes(q.bytes), common.us(q.dma_active_ns), reached / 1e9, rate / 1e9)
  if q.bytes == 0 or gap < 0.05 * q.dma_active_ns then
    out.title, out.text = "DMA efficiency: found nothing", q.bytes == 0 and "no data is moved" or summary
    return out
  end
  local frame <const>, rows <const>, unknown = common.transfers(p, core)
  if not frame then
    out.title, out.text, out.unknown, out.gap_ns = "DMA efficiency: transfers are slow, their lines are not known", summary .. "; " .. rows, true, gap
    return out
  end
  out.notes[#out.notes + 1] = unknown
  local groups <const> = frame:group(rows, { "location", "variable", "source", "dest" }, {
    { "n", "count" }, { "bytes", "total", "transfer_bytes" }, { "descriptor", "quantile", "descriptor", 0.5 }, { "parts", "quantile", "partitions", 0.5 },
    { "busy", "union", "start_ts", "end_ts", p.window.t0, p.window.t1 },
  })
  local known, excess = 0, 0
  for _, g in ipairs(groups) do
    known = known + g.bytes
    g.excess = math.max(0, g.busy - g.bytes / rate * 1e9)
    g.small = g.descriptor ~= nil and g.descriptor < common.DESCRIPTOR
    excess = excess + g.excess
  end
  if known < 0.95 * q.bytes then
    out.notes[#out.notes + 1] = ("DmaPacketAggregated covers %s of the bytes: the lines are not complete"):format(common.percent(known / q.bytes))
  end
  local slow <const> = {}
  for _, g in ipairs(groups) do
    g.stake = excess > 0 and gap * g.excess / excess or 0
    if g.small and g.stake >= 0.02 * gap then slow[#slow + 1] = g end
  end
  local share = 0
  for _, g in ipairs(slow) do share = share + g.bytes end
  out.gap_ns, out.share = gap, gap / b.window.total_ns
  if #slow == 0 then
    out.title = "DMA efficiency: no small descriptors"
    out.text = summary .. ("; the median descriptor of every line has %d bytes or more, so the gap has another cause (start-up, few transfers in flight)")
      :format(common.DESCRIPTOR)
    out.found, out.gain_ns = false, 0
    return out
  end
  local stake = 0
  for _, g in ipairs(slow) do stake = stake + g.stake end
  out.found, out.gain_ns = true, common.gain(b, { DMA = true }, stake)
  out.title = ("DMA efficiency: descriptors below %d bytes"):format(common.DESCRIPTOR)
  out.text = ("%s; %s of the bytes go in small descriptors"):format(summary, common.percent(share / q.bytes))
  for _, g in ipairs(common.top(slow, "stake")) do
    out.lines[#out.lines + 1] = common.line(p, g.location, {
      amount = ("%s us"):format(common.us(g.stake)), share = g.stake / gap, ns = g.stake, bytes = g.bytes, descriptor = g.descriptor,
      detail = ("%s %s of %s: %d transfers, %s, %d partitions x %d B a descriptor"):format(common.percent(g.bytes / q.bytes),
        "of the bytes, a " .. direction(g),
        g.variable or "?", g.n, common.bytes(g.bytes), math.floor(g.parts), math.floor(g.descriptor + 0.5)),
      variable = g.variable, direction = direction(g),
    })
  end
  local first <const> = out.lines[1]
  local factor <const> = math.max(2, math.ceil(common.DESCRIPTOR / math.max(1, first.descriptor)))
  if first.descriptor < 64 then
    out.change = ("%s: %s moves %d bytes a descriptor: let the last axis of the transfer be contiguous in HBM (transpose on the chip instead)")
      :format(common.short(first.location), first.variable or "the transfer", math.floor(first.descriptor))
  else
    out.change = ("%s: make each row of the %s of %s %d times as long (%d bytes or more a partition): one dma_copy for %d neighbouring tiles, sliced in SBUF")
      :format(common.short(first.location), first.direction, first.variable or "the tensor", factor, common.DESCRIPTOR, factor)
  end
  return out
end

return dma
