-- SPDX-License-Identifier: MIT
-- investigate.engine: kernels that the Vector, Scalar or GpSimd engine bounds: which lines, and why they take that long.
--
-- It looks when the engine is the longest of all, or active for at least 30 % of the time; otherwise it finds nothing. For each
-- line: time (union of its instructions), instructions, elements a partition (product of src's counts in the operands). What an
-- instruction takes beyond one element a cycle is its fixed cost (about 60 cycles of SRAM access). Causes, worst first: small
-- instructions; a performance mode that is not used (copies of 16-bit data in SBUF run two or four times as fast); activation
-- functions that alternate (each change loads a table); one engine does all while another one idles.

local bounds <const> = require "profile.bounds"
local common <const> = require "profile.investigate.common"
local isa <const> = require("nki.isa").functions
local pipeline <const> = require "profile.investigate.pipeline"

local engine <const> = {}

local clocks <const> = { Vector = "vector_engine_clock_freq", Scalar = "scalar_engine_clock_freq", GpSimd = "gpsimd_engine_clock_freq" }
engine.SMALL = 128 -- elements a partition below which the fixed cost is the larger part

-- Another engine that has room: the idlest, Scalar before GpSimd where both are mostly idle (it is faster, and reaches PSUM).
local function idlest(b, name)
  local best
  for _, e in ipairs(b.engines) do
    if clocks[e.name] and e.name ~= name and e.ns and (not best or e.ns < best.ns) then best = e end
  end
  for _, e in ipairs(b.engines) do
    if best and best.name == "GpSimd" and e.name ~= name and clocks[e.name] and e.ns and e.ns < 0.25 * b.window.total_ns then return e end
  end
  return best
end

local function is_copy(opcode)
  opcode = (opcode or ""):upper()
  return opcode:find("COPY", 1, true) ~= nil or opcode == "TENSOR_SCALAR" or opcode == "CAST"
end

-- Functions of ACTIVATE that need no table of the Scalar engine: others compute them as well.
local plain_functions <const> = { copy = true, identity = true, square = true, abs = true, relu = true }

-- Can an instruction of this kind run on that engine instead? The API says so of its own instructions (nki.isa); other names may.
local function can_move(g, other)
  local opcode <const> = (g.opcode or ""):lower()
  if opcode:find("^activat") then return plain_functions[(g.fn or "none"):lower()] or false end
  local known <const> = isa[opcode]
  if not known or not known.engines then return true end
  for _, one in ipairs(known.engines) do
    if one == other:lower() then return true end
  end
  return false
end

-- The engine to give work to, and the ns that this can win: half of what the busier one has more, of instructions that can move;
-- the idlest where another would win no more than twice as much.
local function relief(b, name, row, groups)
  local first <const> = idlest(b, name)
  local best, most, win = nil, 0, 0
  for _, e in ipairs(b.engines) do
    if clocks[e.name] and e.name ~= name and e.ns then
      local could = 0
      for _, g in ipairs(groups) do could = could + (can_move(g, e.name) and g.busy or 0) end
      local ns <const> = math.max(0, math.min((row.ns - e.ns) / 2, could))
      local worth <const> = e == first and 2 * ns or ns
      if worth > most then best, most, win = e, worth, ns end
    end
  end
  return best, win
end

-- How often the activation function changes from one instruction to the next.
local function table_changes(p, frame, rows, core)
  if not (p.tables.Instruction.scalar_activation_fn) then return 0 end
  local with <close> = frame:present(rows, "scalar_activation_fn")
  if with:count() < 2 then return 0 end
  local ordered <close> = frame:order(with, "start_ts")
  local column <const> = "turn" .. core
  frame:step(column, ordered, "scalar_activation_fn")
  local changed <close> = frame:where(ordered, column, "<>", 0)
  local n <const> = changed:count()
  frame:drop(column)
  return n
end

local function run(name, p, b)
  local label <const> = name:lower()
  local out <const> = { name = label, core = #p.cores > 1 and b.core or nil, lines = {}, notes = {} }
  local frame <const>, why <const> = p:instructions()
  local row
  for _, e in ipairs(b.engines) do
    if e.name == name then row = e end
  end
  if not frame or not row.ns then
    out.title, out.unknown, out.text = name .. " engine: not known", true, why or row.from
    return out
  end
  local w <const>, total <const> = p.window, b.window.total_ns
  local share <const> = total > 0 and row.ns / total or 0
  local longest <const> = b.bottleneck.name == name
  if not (longest and share >= 0.1) and share < 0.3 then
    out.title = name .. " engine: found nothing"
    out.text = ("it is active %s of the time; %s is longest (%s)"):format(common.percent(share), b.bottleneck.name, common.percent(b.bottleneck.share))
    return out
  end
  p:more { "performance_mode", "scalar_activation_fn", { name = "dtype", needs = "operands", sql = "matmul_dtype(operands)" } }
  local mine <close> = frame:where(nil, "core", "=", b.core)
  local same <close> = frame:pick(mine, "engine", function(text) return text:lower() == label end)
  local working <close> = frame:pick(same, "opcode", function(code) return not pipeline.setup[code:upper()] end, true)
  local chosen <const> = bounds.starting(frame, working, w)
  local clock <const> = tonumber(p.meta[clocks[name]]) or 1
  local groups <const> = frame:group(chosen, { "location", "opcode" }, {
    { "n", "count" }, { "busy", "union", "start_ts", "end_ts", w.t0, w.t1 }, { "sum", "total", "duration" }, { "elements", "quantile", "n", 0.5 },
    { "moved", "sum", "n" }, { "mode", "mode", "performance_mode" }, { "dtype", "mode", "dtype" },
    { "fn", "mode", "scalar_activation_fn" },
  })
  local turns <const> = name == "Scalar" and table_changes(p, frame, chosen, b.core) or 0
  local fixed, modes = 0, 0
  for _, g in ipairs(groups) do
    g.fixed = g.moved and g.moved > 0 and math.max(0, (g.sum or 0) - g.moved / clock) or 0
    g.small = g.elements and g.elements < engine.SMALL
    if g.small then fixed = fixed + g.fixed end
    local narrow <const> = g.dtype and (g.dtype:find("bf16", 1, true) or g.dtype:find("bfloat16", 1, true) or g.dtype:find("fp16", 1, true)
      or g.dtype:find("float16", 1, true))
    g.slow_copy = name == "Vector" and not g.mode and narrow and is_copy(g.opcode) and not g.small
    if g.slow_copy then modes = modes + g.busy / 2 end
  end
  local other, movable = relief(b, name, row, groups)
  if not longest then movable = 0 end
  out.elements_cause = fixed
  local turning <const> = turns * 1300 -- ns for a table [NKI performance guide: about 1.3 us]
  local causes <const> = {
    { ns = fixed, what = "small", title = "small instructions: the fixed cost is the larger part" },
    { ns = modes, what = "mode", title = "copies that run in no performance mode" },
    { ns = turning, what = "tables", title = ("the activation function changes %d times"):format(turns) },
    { ns = movable * 0.9, what = "move", title = other and ("it does all, %s is active %s of the time"):format(other.name,
      common.percent(other.ns / total)) or "" },
  }
  table.sort(causes, function(x, y) return x.ns > y.ns end)
  local cause <const> = causes[1]
  out.gap_ns, out.share = cause.ns, cause.ns / total
  out.cause = cause.what
  out.gain_ns = common.gain(b, { [name] = true }, cause.ns)
  out.found = cause.ns >= 0.05 * total
  local summary <const> = ("%s is active %s us, %s of the time"):format(name, common.us(row.ns), common.percent(share))
  if not out.found then
    out.title = name .. " engine: found nothing"
    out.text = summary .. "; its instructions are long enough" .. (longest and not other and ", and no other engine can do them" or " and the work is spread")
    return out
  end
  out.title = ("%s engine: %s"):format(name, cause.title)
  out.text = ("%s, in %d instructions"):format(summary, chosen:count())
  local list <const> = {}
  for _, g in ipairs(groups) do
    local fits <const> = cause.what == "small" and g.small or cause.what == "mode" and g.slow_copy or cause.what == "tables"
      or cause.what == "move" and can_move(g, other.name)
    g.weight = cause.what == "small" and g.fixed or g.busy
    if fits then list[#list + 1] = g end
  end
  for _, g in ipairs(common.top(list, "weight", 6)) do
    if g.busy >= 0.02 * row.ns then
      out.lines[#out.lines + 1] = common.line(p, g.location, {
        amount = common.us(g.busy) .. " us", share = g.busy / row.ns, ns = g.busy, opcode = g.opcode,
        detail = ("%d x %s%s, %.0f ns each"):format(g.n, g.opcode or "?", g.elements and (" of %d elements a partition"):format(g.elements) or "",
          (g.sum or 0) / math.max(1, g.n)),
      })
    end
  end
  local first <const> = out.lines[1]
  local line <const> = common.short(first and first.location)
  if cause.what == "small" then
    out.change = ("%s: let one instruction work on more elements a partition (512 or more): a wider tile, or several tiles in one access pattern"):format(line)
  elseif cause.what == "mode" then
    out.change = ("%s: copy contiguous 16-bit data from SBUF to SBUF, which runs two or four times as fast; from PSUM let the Scalar engine copy"):format(line)
  elseif cause.what == "tables" then
    out.change = ("%s: do all activations of one function together before the next function's: each change loads a table (about 1.3 us)"):format(line)
  else
    out.change = ("%s: give part of it to the %s engine (engine=nisa.engine.%s, or an instruction that does the same there)"):format(line, other.name,
      other.name:lower())
  end
  return out
end

for _, name in ipairs { "Vector", "Scalar", "GpSimd" } do
  engine[name:lower()] = { name = name:lower(), needs = { "Instruction" }, run = function(p, b) return run(name, p, b) end }
end

return engine
