-- SPDX-License-Identifier: MIT
-- investigate.reloads: bytes that are moved more than once, by tensor and source line: loads of the same input again and again,
-- outputs written in pieces more than once, and spills.
--
-- repeat = bytes moved / size of the tensor; above 1.5 it is a finding. Spilled bytes are those that come back from VIRTUAL
-- memory, counted twice (out and in), because the way out is often not recorded; Instruction's and Summary's own spill bytes are
-- taken where they are larger. The stake is the part of the DMA time that the excess bytes have.

local common <const> = require "profile.investigate.common"

local reloads <const> = { name = "reloads", needs = { "DmaPacketAggregated", "TensorInfo", "Flow" } }
reloads.REPEAT = 1.5

local function by_variable(frame, rows)
  local out <const> = {}
  for _, g in ipairs(frame:group(rows, { "variable" }, { { "bytes", "total", "transfer_bytes" } })) do
    if g.variable then out[g.variable] = g.bytes end
  end
  return out
end

function reloads.run(p, b)
  local q <const>, core <const> = b.quantities, b.core
  local out <const> = { name = "reloads", core = #p.cores > 1 and core or nil, lines = {}, notes = {}, tensors = {} }
  local frame <const>, rows <const>, unknown <const> = common.transfers(p, core)
  if not frame then
    out.title, out.text, out.unknown = "Reloads: not known", rows, true
    return out
  end
  out.notes[#out.notes + 1] = unknown
  local tensors <const>, no_tensors <const> = p:tensors()
  if not tensors then out.notes[#out.notes + 1] = no_tensors .. ": sizes are not known, so neither is how often a tensor is moved" end
  local loads <close> = common.of_kind(frame, rows, "load")
  local stores <close> = common.of_kind(frame, rows, "store")
  local spills <close> = common.of_kind(frame, rows, "spill")
  local loaded <const>, stored <const> = by_variable(frame, loads), by_variable(frame, stores)
  local excess = 0
  local repeated <const> = {}
  if tensors then
    local once <close> = tensors:distinct(nil, { "variable_name" })
    for _, t in ipairs(tensors:group(once, { "variable_name", "type" }, { { "size", "max", "size" } })) do
      local moved <const> = (t.type == "OUT" and stored or loaded)[t.variable_name]
      if moved and t.size and t.size > 0 then
        local times <const> = moved / t.size
        out.tensors[#out.tensors + 1] = { name = t.variable_name, type = t.type, size = t.size, moved = moved, times = times }
        if times > reloads.REPEAT then
          repeated[t.variable_name] = out.tensors[#out.tensors]
          excess = excess + moved - t.size
        end
      end
    end
  end
  local spilled = 2 * (frame:group(spills, {}, { { "bytes", "total", "transfer_bytes" } })[1] or { bytes = 0 }).bytes
  local instructions <const> = p:instructions()
  local summed <const> = p.summary.spill_save_bytes or p.summary.spill_reload_bytes
  if p.window.whole and #p.cores == 1 and type(summed) == "number" then
    spilled = math.max(spilled, (p.summary.spill_save_bytes or 0) + (p.summary.spill_reload_bytes or 0))
  elseif instructions then
    p:more { "spill_save_bytes", "spill_reload_bytes" }
    local mine <close> = instructions:where(nil, "core", "=", core)
    local own <const> = instructions:group(mine, {}, { { "a", "total", "spill_save_bytes" }, { "b", "total", "spill_reload_bytes" } })[1]
    if own then spilled = math.max(spilled, (own.a or 0) + (own.b or 0)) end
  end
  out.excess_bytes, out.spill_bytes = excess, spilled
  local total <const> = q.bytes or 0
  table.sort(out.tensors, function(x, y) return x.moved > y.moved end)
  local named <const> = {}
  for i, t in ipairs(out.tensors) do
    if i <= 6 then named[i] = ("%s %.1fx"):format(t.name, t.times) end
  end
  if excess + spilled < 0.02 * total or total == 0 then
    out.title = "Reloads: found nothing"
    out.text = #named > 0 and ("bytes moved over size: %s; no spills"):format(table.concat(named, ", "))
      or "no tensor is moved more often than once, and nothing spills"
    return out
  end
  local per_byte <const> = (q.dma_active_ns or 0) / total
  local stake <const> = (excess + spilled) * per_byte
  out.found, out.gap_ns, out.share, out.gain_ns = true, stake, stake / b.window.total_ns, common.gain(b, { DMA = true }, stake)
  out.title = excess >= spilled and "Reloads: the same bytes are moved again and again" or "Reloads: SBUF overflows into spills"
  out.text = ("%s of %s moved are needed once; %s more are repetition (%s), %s are spills; bytes moved over size: %s"):format(
    common.bytes(math.max(0, total - excess - spilled)), common.bytes(total), common.bytes(excess), common.percent(excess / total), common.bytes(spilled),
    table.concat(named, ", "))
  local list <const> = {}
  for kind, chosen in pairs { load = loads, store = stores, spill = spills } do
    for _, g in ipairs(frame:group(chosen, { "location", "variable" }, { { "n", "count" }, { "bytes", "total", "transfer_bytes" }, { "most",
      "max", "transfer_bytes" } })) do
      local tensor <const> = repeated[g.variable or ""]
      if kind == "spill" or tensor and (tensor.type == "OUT") == (kind == "store") then
        -- A line's excess is its part of the tensor's.
        g.excess = kind == "spill" and 2 * g.bytes or g.bytes * (1 - 1 / tensor.times)
        g.kind, g.tensor = kind, tensor
        if kind == "load" and (g.most or 0) > tensor.size then g.kind = "broadcast" end -- one transfer brings it to many partitions
        list[#list + 1] = g
      end
    end
  end
  for _, g in ipairs(common.top(list, "excess")) do
    local detail = g.kind == "spill" and ("%d reloads of spilled %s"):format(g.n, g.variable or "data")
      or ("%s %s %d times in pieces: %s, %.1f times its %s"):format(g.kind == "load" and "loads" or "stores", g.variable, g.n,
        common.bytes(g.bytes), g.tensor.times,
        common.bytes(g.tensor.size))
    if g.kind == "broadcast" then
      detail = ("%d transfers bring %s to many partitions: %s, %.1f times its %s"):format(g.n, g.variable, common.bytes(g.bytes), g.tensor.times,
        common.bytes(g.tensor.size))
    end
    if g.kind ~= "spill" and g.bytes < 0.99 * g.tensor.moved then detail = detail .. " (all lines together)" end
    out.lines[#out.lines + 1] = common.line(p, g.location, {
      amount = common.bytes(g.excess), share = g.excess / math.max(1, excess + spilled), bytes = g.excess, ns = g.excess * per_byte, detail = detail,
      variable = g.variable, kind = g.kind, times = g.tensor and g.tensor.times, size = g.tensor and g.tensor.size,
    })
  end
  local first <const> = out.lines[1]
  if not first then
    out.change = "keep tiles in SBUF for a shorter time: free what is not used, or use smaller tiles, so that nothing spills"
  elseif first.kind == "spill" then
    out.change = ("%s: free SBUF before this line (smaller tiles, or fewer of them alive at once), so that %s stays on the chip"):format(
      common.short(first.location), first.variable or "the tile")
  elseif first.kind == "broadcast" then
    out.change = ("%s: load %s once, to one partition, and spread it on the chip (a matmul with a column of ones, or nl.broadcast_to)"):format(
      common.short(first.location), first.variable)
  elseif first.kind == "store" then
    out.change = ("%s: keep the result in SBUF or PSUM until it is complete and store %s once"):format(common.short(first.location), first.variable)
  else
    local fits <const> = first.size <= 20e6
    out.change = ("%s: load %s %s: the loop around it does not change what is loaded"):format(common.short(first.location), first.variable,
      fits and ("before the loop and keep it in SBUF (%s)"):format(common.bytes(first.size))
        or ("in blocks that are kept for several iterations (it has %s, more than SBUF holds)"):format(common.bytes(first.size)))
  end
  return out
end

return reloads
