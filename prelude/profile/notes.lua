-- SPDX-License-Identifier: MIT
-- What a modelled profile cannot know, and how sure it is: rows of nkiln_notes, { level = "info"|"warning", code, message }.
-- A warning stands where the program shows that a doubt applies to it.

local array <const> = require "rt.array"

local notes <const> = {}

local function count_of(totals, test)
  local n = 0
  for _, op in ipairs(totals.opcodes) do
    if test(op) then n = n + op.count end
  end
  return n
end

function notes.of(timeline, totals, busy, facts)
  local list <const> = {}
  local function note(level, code, text, ...) list[#list + 1] = { level = level, code = code, message = text:format(...) } end
  for _, one in ipairs(facts.notes or {}) do list[#list + 1] = one end
  note("info", "modelled", "Times are modelled (model %s, %s), not measured; bytes, descriptors, instructions and operations are counted exactly.",
    timeline.model_version, facts.target)
  note("info", "accuracy", "Public totals lie between 0.7 and 1.5 times the modelled ones, most within 15 %%; the far ones are of kernels that the compiler "
    .. "rewrote. make bench lists them.")
  note("info", "order", "The compiler may reorder operations without data dependences: the model starts the first ready one of a window per engine.")
  note("info", "rewriting", "The compiler may merge narrow iterations into wide instructions, take repeated work out of loops and spill tiles; "
    .. "the model runs the program as written.")
  local moved <const> = totals.hbm_read + totals.hbm_write
  if totals.repeated_load_bytes > 0.2 * moved then
    local least <const> = facts.kept_ns and facts.kept_ns < 0.99 * timeline.total_ns
      and (": %.1f us if half of SBUF kept what fits"):format(facts.kept_ns / 1e3) or ""
    note("warning", "reuse", "%d loads (%.1f MB of %.1f MB moved) bring data that was loaded before; a compiler may keep some of it on chip%s.",
      totals.repeated_loads, totals.repeated_load_bytes / 1e6, moved / 1e6, least)
  end
  if facts.target == "trn1" or facts.target == "inf2" then
    note("info", "generation", "Current NKI does not support %s; its constants come from older documents and measurements.", facts.target)
  end
  local total <const> = timeline.total_ns
  if timeline.overcommits > 0 then
    note("warning", "spill", "%d tiles did not fit when they were needed; a compiler would spill them to HBM, which is not counted.", timeline.overcommits)
  end
  local longest, name = 0, nil
  for _, one in ipairs(busy) do
    if one.ns > longest then longest, name = one.ns, one.engine end
  end
  if total > 0 and longest < 0.6 * total then
    note("warning", "latency-bound", "No engine is busy over 60 %% of the time (%s: %.0f %%): the total rests on latencies, of which less is public.",
      tostring(name), 100 * longest / total)
  end
  if (name == "Vector" or name == "Scalar") and totals.movable_ns > 0.2 * longest then
    note("warning", "engine", "%d instructions (%.1f us) leave Vector or Scalar to the compiler; the model takes the engine that ends sooner.",
      totals.movable, totals.movable_ns / 1e3)
  end
  local throttle <const> = timeline:throttle()
  if throttle.start.size > 0 then
    local ns <const> = (array.reduce("sum", throttle.finish):item() - array.reduce("sum", throttle.start):item())
    if ns > 0.1 * total then
      note("warning", "throttle", "The Tensor engine runs %.0f %% of the time at half its clock (utilisation under 50 %% in 3 us); "
        .. "a kernel near that edge can take either.", 100 * ns / total)
    end
  end
  local count <const>, dge <const> = totals.dma_count, facts.hwdge_ns
  if count > 100 and dge and dge / 2 * count > 0.5 * total then
    note("warning", "dge", "%d DMA instructions, one every %.0f ns; where the compiler leaves descriptors to hardware DGE, two of which take %.0f ns each, "
      .. "they may limit the kernel.", count, total / count, dge)
  end
  local narrow <const> = count_of(totals, function(op) return op.engine ~= "Sync" and op.engine ~= "Tensor" and op.ns / op.count < 150 end)
  if narrow > 1000 then
    note("warning", "narrow", "%d short instructions: a compiler may merge such iterations into wider ones.", narrow)
  end
  if count_of(totals, function(op) return op.engine == "GpSimd" end) > 0 then
    note("info", "gpsimd", "GpSimd costs are rough: few are documented.")
  end
  if count_of(totals, function(op) return op.opcode == "DMA_TRANSPOSE" end) > 0 then
    note("warning", "dma-transpose", "DMA transposes run at %s of the DMA rate at best; shapes that suit the hardware less are slower than modelled.",
      facts.target == "trn1" and "a small share" or "90 %")
  end
  return list
end

return notes
