-- SPDX-License-Identifier: MIT
-- investigate.transposes: the Tensor engine's time and work that only transposes, and transposing DMA, by source line.
--
-- Transposes are the MATMULs whose tensor_instruction_type is TRANSPOSE. Their stake is the union of their intervals: time in
-- which the array does nothing useful. Less than 1 % of the engine's work and time is no finding.

local bounds <const> = require "profile.bounds"
local common <const> = require "profile.investigate.common"

local transposes <const> = { name = "transposes", needs = { "Instruction" } }

function transposes.run(p, b)
  local out <const> = { name = "transposes", core = #p.cores > 1 and b.core or nil, lines = {}, notes = {} }
  local frame <const>, rows <const> = bounds.matmuls(p, b.core)
  if not frame then
    out.title, out.text, out.unknown = "Transposes: not known", rows, true
    return out
  end
  local chosen <close> = frame:pick(rows, "tensor_instruction_type", { "TRANSPOSE" })
  local w <const> = p.window
  local busy <const> = frame:union(chosen, "start_ts", "end_ts", w.t0, w.t1)
  local active <const> = b.quantities.tensor_active_ns or 0
  local flops <const>, all <const> = b.quantities.transpose_flops or 0, b.quantities.flops or 0
  -- DMA that transposes on its way runs at half rate or less.
  local by_dma = 0
  local transfers <const>, moved <const> = common.transfers(p, b.core)
  local turned
  if transfers then
    turned = transfers:where(moved, "is_transpose_mode", "=", 1)
    by_dma = transfers:group(turned, {}, { { "bytes", "total", "transfer_bytes" } })[1]
    by_dma = by_dma and by_dma.bytes or 0
  end
  if by_dma > 0 then out.notes[1] = ("DMA transposes %s on its way, at 90 %% of its rate at best"):format(common.bytes(by_dma)) end
  if busy < 0.01 * math.max(active, 1) and flops < 0.01 * math.max(all, 1) then
    out.title = "Transposes: found nothing"
    out.text = chosen:count() > 0 and ("%d transposes take %s us"):format(chosen:count(), common.us(busy)) or "the Tensor engine does not transpose"
    if turned then turned:close() end
    return out
  end
  if turned then turned:close() end
  out.found, out.gap_ns, out.share = true, busy, busy / b.window.total_ns
  out.gain_ns = common.gain(b, { Tensor = true }, busy)
  out.title = "Transposes: the Tensor engine is used to transpose"
  out.text = ("%d of %d matmuls only transpose: %s us, %s of the Tensor engine's active time, %s of its FLOPs"):format(chosen:count(), rows:count(),
    common.us(busy), common.percent(busy / math.max(active, 1)), common.percent(flops / math.max(all, 1)))
  local groups <const> = frame:group(chosen, { "location" }, {
    { "n", "count" }, { "flops", "total", "adjusted_flops" }, { "ns", "union", "start_ts", "end_ts", w.t0, w.t1 },
  })
  for _, g in ipairs(common.top(groups, "ns")) do
    out.lines[#out.lines + 1] = common.line(p, g.location, {
      amount = common.us(g.ns) .. " us", share = busy > 0 and g.ns / busy or 0, ns = g.ns, flops = g.flops,
      detail = ("%d transposes, %.2f GFLOP"):format(g.n, (g.flops or 0) / 1e9),
    })
  end
  local first <const> = out.lines[1]
  out.change = ("%s: transpose each tile once, outside the loop that repeats it; or let the operand arrive transposed (given so, or by "
    .. "nisa.dma_transpose); or swap stationary and moving so that the product comes out the way it is needed"):format(common.short(first and first.location))
  return out
end

return transposes
