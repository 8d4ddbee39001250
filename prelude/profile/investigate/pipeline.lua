-- SPDX-License-Identifier: MIT
-- investigate.pipeline: what the longest compute engine waits for, by source line.
--
-- For each instruction of that engine, in the order of their starts: the gap since the engine last was busy. Of the instruction's
-- predecessors (Flow) the one that ends last explains the gap up to its end: a DMA transfer, another engine, or the engine
-- itself. What is left is latency (semaphores, start-up). Waiting is summed by what was waited for and by its line. Without Flow
-- only the overlap is told: how much of the idle time the DMA engines and the others were busy.
-- For matmuls the interval between two starts is compared with the least that their size allows, max(N, 64) cycles (four times
-- that in fp32). The stake is the waiting for other engines; less than 5 % of the total is no finding.

local bounds <const> = require "profile.bounds"
local common <const> = require "profile.investigate.common"

local pipeline <const> = { name = "pipeline", needs = { "Instruction", "Flow" } }

local setup <const> = { -- instructions that compute nothing [Summary.total_exec_time in the profile schema]
  NOP = true, SET_ORDERING_MODE = true, EVENT_SEMAPHORE = true, EVENT_SEMAPHORE_RANGE_CLEAR = true, NOTIFY = true, COMPARE_BRANCH = true, DRAIN = true,
  WRITE = true, TENSOR_LOAD = true, MODIFY_POOL_CONFIG = true,
}
pipeline.setup = setup

-- Columns `end_of`, `class` (code of a text) and `by` (row) of the last-finishing predecessor of each instruction.
local function predecessors(p, frame)
  if p.predecessors ~= nil then return p.predecessors end
  p.predecessors = false
  local flow <const> = p:flow()
  if not flow then return false end
  local into <close> = flow:pick(nil, "out_table", common.is_instruction)
  if into:count() == 0 then return false end
  local transfers <const> = common.transfers(p, p.cores[1])
  -- The end of each edge's source: an instruction's or a transfer's.
  local from_instruction <close> = flow:pick(into, "in_table", common.is_instruction)
  local from_transfer <close> = flow:pick(into, "in_table", common.is_transfer)
  flow:lookup("source_row", "in_id", frame, "id")
  flow:fetch("source_end", "source_row", frame, "end_ts")
  local best_instruction <close> = flow:best(from_instruction, { "out_id" }, "source_end")
  frame:lookup("edge", "id", flow, "out_id", best_instruction)
  frame:fetch("before_row", "edge", flow, "source_row")
  frame:fetch("before_end", "before_row", frame, "end_ts")
  frame:fetch("before_engine", "before_row", frame, "engine")
  frame:fetch("before_location", "before_row", frame, "location")
  frame:fetch("before_dependency", "edge", flow, "dependency_type")
  if transfers then
    flow:lookup("transfer_row", "in_id", transfers, "id")
    flow:fetch("transfer_end", "transfer_row", transfers, "end_ts")
    local best_transfer <close> = flow:best(from_transfer, { "out_id" }, "transfer_end")
    frame:lookup("dma_edge", "id", flow, "out_id", best_transfer)
    frame:fetch("dma_row", "dma_edge", flow, "transfer_row")
    frame:fetch("dma_end", "dma_row", transfers, "end_ts")
    frame:fetch("dma_location", "dma_row", transfers, "location")
    frame:fetch("dma_variable", "dma_row", transfers, "variable")
    frame:fetch("dma_dependency", "dma_edge", flow, "dependency_type")
  else
    for _, name in ipairs { "dma_end", "dma_row" } do frame:compute(name, "core", "/", 0) end
    for _, name in ipairs { "dma_location", "dma_variable", "dma_dependency" } do frame:derive(name, "opcode", function() return nil end) end
  end
  p.predecessors = true
  return true
end

-- The longest compute engine.
local function engine_of(b)
  local best
  for _, e in ipairs(b.engines) do
    if e.name ~= "DMA" and e.ns and e.ns > 0 and (not best or e.ns > best.ns) then best = e end
  end
  return best
end

-- Interval between the starts of matmuls against the least their size allows.
local function initiation(p, b, frame)
  local clock <const> = b.peaks.clock
  local _, rows <const> = bounds.matmuls(p, b.core)
  if not clock or rows:count() < 2 then return nil end
  local regular <close> = frame:pick(rows, "tensor_instruction_type", function(kind) return kind ~= "TRANSPOSE" end, true)
  local ordered <close> = frame:order(regular, "start_ts")
  local column <const> = "interval" .. b.core
  frame:step(column, ordered, "start_ts")
  local groups <const> = frame:group(ordered, { "n" }, { { "count", "count", column }, { "sum", "total", column }, { "median", "quantile", column, 0.5 } })
  local excess, least, count = 0, 0, 0
  for _, g in ipairs(groups) do
    if g.n and g.sum then
      local nominal <const> = math.max(g.n, 64) / clock
      excess, least, count = excess + math.max(0, g.sum - g.count * nominal), least + g.count * nominal, count + g.count
    end
  end
  frame:drop(column)
  return count > 0 and { excess = excess, least = least, count = count } or nil
end

-- Why one waits for the other, by the edge's type. The capacity types are the schedule model's: memory that came free.
local function reason_of(dependency)
  local upper <const> = (dependency or ""):upper()
  if upper:find("PSUM_CAPACITY", 1, true) then return "psum" end
  if upper:find("SBUF_CAPACITY", 1, true) then return "sbuf" end
  if upper:find("ANTI", 1, true) then return "anti" end
  return "flow"
end

local said <const> = { start = " (before its first instruction)", flow = "", anti = " (it still reads the buffer)",
  psum = " (PSUM is full until it is done)", sbuf = " (SBUF is full until it is done)" }

-- Calls add{kind=, location=, own=, ns=, n=, variable=, reason=} for what the instructions in `ordered` waited for. A weight load
-- and the matmul after it are one unit: it begins with the load, and its predecessors are those that the matmul has.
local function measure(p, b, frame, ordered, add)
  local w <const> = p.window
  local made <const> = {}
  local function column(name)
    made[#made + 1] = name .. "_" .. b.core
    return made[#made]
  end
  local reach <const>, last_start <const>, last_reach <const>, last_code <const> = column "reach", column "last_start", column "last_reach", column "last_code"
  frame:running(reach, ordered, "end_ts", w.t0)
  frame:shift(last_start, ordered, "start_ts")
  frame:shift(last_reach, ordered, reach)
  frame:shift(last_code, ordered, "opcode")
  local function is_load(code) return code:upper():find("LDWEIGHTS", 1, true) ~= nil end
  local no_loads <close> = frame:pick(ordered, "opcode", function(code) return not is_load(code) end, true)
  local paired <close> = frame:pick(no_loads, last_code, is_load)
  local alone <close> = frame:pick(no_loads, last_code, function(code) return not is_load(code) end, true)
  for _, unit in ipairs {
    { rows = alone, start = "start_ts", reach = reach, tag = "" }, { rows = paired, start = last_start, reach = last_reach, tag = "_unit" },
  } do
    local gap <const>, by_dma <const>, by_other <const> = column("gap" .. unit.tag), column("by_dma" .. unit.tag), column("by_other" .. unit.tag)
    local dma_part <const>, other_part <const>, after <const> = column("dma_part" .. unit.tag), column("other_part" .. unit.tag), column("after" .. unit.tag)
    frame:compute(gap, unit.start, "-", unit.reach)
    frame:compute(by_dma, "dma_end", "-", unit.reach)
    frame:compute(by_other, "before_end", "-", unit.reach)
    frame:compute(dma_part, by_dma, "min", gap)
    frame:compute(other_part, by_other, "min", gap)
    frame:compute(after, by_dma, "-", by_other)
    local late <close> = frame:where(unit.rows, gap, ">", 0)
    local inside <const> = bounds.starting(frame, late, w)
    local first <close> = frame:where(inside, unit.reach, "=", w.t0) -- nothing ran on the engine before
    local rest <close> = frame:where(inside, unit.reach, "<>", w.t0)
    for reason, chosen in pairs { start = first, [""] = rest } do
      -- Which of the two ended later explains the gap.
      local has_dma <close> = frame:present(chosen, by_dma)
      local no_dma <close> = frame:null(chosen, by_dma)
      local has_other <close> = frame:present(has_dma, by_other)
      local dma_alone <close> = frame:null(has_dma, by_other)
      local dma_later <close> = frame:where(has_other, after, ">", 0)
      local other_later <close> = frame:where(has_other, after, "<=", 0)
      local other_alone <close> = frame:present(no_dma, by_other)
      local function sum(rows, part, location, extra)
        local positive <close> = frame:where(rows, part, ">", 0)
        local dependency <const> = extra == "dma_variable" and "dma_dependency" or "before_dependency"
        for _, g in ipairs(frame:group(positive, { location, "location", extra, dependency }, { { "ns", "total", part }, { "n", "count" } })) do
          add {
            kind = extra == "dma_variable" and "DMA" or g.before_engine or "?", location = g[location], own = g.location, ns = g.ns, n = g.n,
            variable = g.dma_variable, reason = reason ~= "" and reason or reason_of(g[dependency]),
          }
        end
      end
      for _, rows in ipairs { dma_later, dma_alone } do sum(rows, dma_part, "dma_location", "dma_variable") end
      for _, rows in ipairs { other_later, other_alone } do sum(rows, other_part, "before_location", "before_engine") end
    end
  end
  for _, name in ipairs(made) do frame:drop(name) end
end

local function change_of(kind, wait, own)
  local line <const> = common.short(wait.location)
  if kind == "latency" then
    return "let each instruction do more (larger tiles), so that the fixed latency between dependent instructions is paid less often"
  elseif kind == "start" then
    return ("%s: nothing can begin before this; let the first transfer bring only what the first instruction needs (a part of the tile), or "
      .. "give the kernel more work, which hides it"):format(line)
  elseif wait.reason == "psum" then
    return ("%s (%s): PSUM is full until it has taken its result out: keep fewer accumulators alive at once, or copy each out as soon as it is complete")
      :format(line, kind)
  elseif wait.reason == "sbuf" then
    return ("%s (%s): SBUF is full until it is done with its tile: smaller tiles, or fewer of them alive at once"):format(line, kind)
  elseif kind == "DMA" and wait.reason == "anti" then
    return ("%s: the buffer that %s writes is still being stored: two buffers in turn (allocated outside the loop)"):format(line, common.short(own))
  elseif kind == "DMA" then
    return ("%s: start the next tile's transfer before this one is used, with two buffers in turn (allocated outside the loop), so that it runs "
      .. "during %s"):format(line, common.short(own))
  end
  return ("%s (%s engine): let it work on one tile while the next is computed: two PSUM banks or SBUF buffers in turn"):format(line, kind)
end

function pipeline.run(p, b)
  local out <const> = { name = "pipeline", core = #p.cores > 1 and b.core or nil, lines = {}, notes = {} }
  local frame <const>, why <const> = p:instructions()
  local engine <const> = engine_of(b)
  if not frame or not engine then
    out.title, out.unknown, out.text = "Pipelining: not known", true, why or "no compute engine is active"
    return out
  end
  local w <const>, total <const> = p.window, b.window.total_ns
  out.engine = engine.name
  local idle <const> = total - engine.ns
  local serial <const> = total - b.bottleneck.ns
  local summary <const> = ("%s is active %s of the time, %s longest (%s)"):format(engine.name, common.percent(engine.ns / total), b.bottleneck.name,
    common.percent(b.bottleneck.share))
  if serial < 0.05 * total then
    out.title, out.text = "Pipelining: found nothing", summary .. ": the engines overlap well"
    return out
  end
  local mine <close> = frame:where(nil, "core", "=", b.core)
  local same <close> = frame:pick(mine, "engine", function(name) return name:lower() == engine.name:lower() end)
  local working <close> = frame:pick(same, "opcode", function(code) return not setup[code:upper()] end, true)
  local ordered <close> = frame:order(working, "start_ts")
  local waits <const>, by_kind = {}, {}
  local known <const> = predecessors(p, frame)
  if known then
    measure(p, b, frame, ordered, function(wait)
      by_kind[wait.kind] = (by_kind[wait.kind] or 0) + wait.ns
      waits[#waits + 1] = wait
    end)
  else
    out.notes[#out.notes + 1] = "the profile has no Flow between instructions: what the engine waited for is told by overlap only"
  end
  -- The engine's own dependences are no waiting for others.
  local explained, foreign = 0, 0
  for kind, ns in pairs(by_kind) do
    explained = explained + ns
    if kind:lower() ~= engine.name:lower() then foreign = foreign + ns end
  end
  local last <const> = frame:group(ordered, {}, { { "at", "max", "end_ts" } })[1]
  local tail <const> = last and last.at and math.max(0, math.min(total, total - (last.at - w.t0))) or 0 -- after its last instruction
  local latency <const> = math.max(0, idle - explained - tail)
  out.tail_ns = tail
  out.waits, out.latency_ns, out.idle_ns = by_kind, latency, idle
  local ii <const> = engine.name == "Tensor" and initiation(p, b, frame) or nil
  if ii then
    out.initiation = ii
    out.notes[#out.notes + 1] = ("%d matmuls start %s us later in all than their size allows (%s us)"):format(ii.count, common.us(ii.excess),
      common.us(ii.least))
  end
  local parts <const>, kinds <const> = {}, {}
  for kind in pairs(by_kind) do kinds[#kinds + 1] = kind end
  table.sort(kinds, function(x, y) return by_kind[x] > by_kind[y] end)
  for i, kind in ipairs(kinds) do parts[i] = ("%s us for %s"):format(common.us(by_kind[kind]), kind) end
  if latency > 0 then parts[#parts + 1] = ("%s us latency"):format(common.us(latency)) end
  if tail > 0 then parts[#parts + 1] = ("%s us after its last instruction"):format(common.us(tail)) end
  out.gap_ns, out.share = serial, serial / total
  out.title = ("Pipelining: %s waits"):format(engine.name)
  out.text = ("%s; of its %s us idle: %s"):format(summary, common.us(idle), #parts > 0 and known and table.concat(parts, ", ") or "not known")
  if not known then
    local active <const> = p:active()
    if active then
      local core <close> = active:where(nil, "core", "=", b.core)
      local its <close> = active:pick(core, "engine", { engine.name:lower() })
      local packets <const>, rows <const> = bounds.packets(p, b.core)
      if packets then
        local both <const> = packets:common(rows, "start_ts", "end_ts", active, its, "start_ts", "end_ts", w.t0, w.t1)
        local alone <const> = (b.quantities.dma_active_ns or 0) - both
        out.text = ("%s; DMA moves data for %s us while %s does nothing"):format(summary, common.us(alone), engine.name)
      end
    end
    out.found, out.gain_ns, out.change = true, serial, "start the next tile's transfers before this tile is computed: two buffers in turn"
    return out
  end
  -- A line may be waited for at several places.
  local merged <const>, list <const> = {}, {}
  for _, wait in ipairs(waits) do
    if wait.kind:lower() ~= engine.name:lower() then
      local key <const> = wait.kind .. "\0" .. wait.reason .. "\0" .. (wait.location or "")
      local m = merged[key]
      if not m then
        m = { kind = wait.kind, location = wait.location, reason = wait.reason, ns = 0, n = 0, own_ns = 0 }
        merged[key] = m
        list[#list + 1] = m
      end
      m.ns, m.n = m.ns + wait.ns, m.n + wait.n
      m.variable = m.variable or wait.variable
      if wait.ns > m.own_ns then m.own, m.own_ns = wait.own, wait.ns end
    end
  end
  local starting = 0
  for _, wait in ipairs(list) do
    if wait.reason == "start" then starting = starting + wait.ns end
  end
  out.start_ns = starting
  local stake <const> = math.min(serial, foreign - starting)
  out.gain_ns = common.gain(b, {}, stake)
  out.found = stake >= 0.05 * total
  for _, wait in ipairs(common.top(list, "ns", 6)) do
    if wait.ns >= 0.02 * idle then
      out.lines[#out.lines + 1] = common.line(p, wait.location, {
        amount = common.us(wait.ns) .. " us", share = wait.ns / idle, ns = wait.ns, kind = wait.kind, reason = wait.reason,
        detail = ("%s%s: %s waits for it %s, at %s%s"):format(wait.kind, wait.variable and " of " .. wait.variable or "", engine.name,
          wait.n == 1 and "once" or wait.n .. " times", common.short(wait.own), said[wait.reason]),
      })
    end
  end
  local first
  for _, wait in ipairs(common.top(list, "ns", #list)) do first = first or wait.reason ~= "start" and wait or nil end
  if out.found then
    out.change = change_of(first.kind, first, first.own)
  elseif latency >= 0.05 * total then
    out.found, out.gain_ns = true, common.gain(b, {}, math.min(latency, serial))
    out.title = ("Pipelining: fixed latencies between instructions of %s"):format(engine.name)
    out.change = change_of("latency", {})
  elseif starting >= 0.05 * total then
    out.title = ("Pipelining: found nothing but the start: %s us before %s can begin"):format(common.us(starting), engine.name)
    out.change = change_of("start", list[1] and common.top(list, "ns", 1)[1] or {})
  else
    out.title = "Pipelining: found nothing"
  end
  return out
end

return pipeline
