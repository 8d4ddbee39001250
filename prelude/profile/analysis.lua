-- SPDX-License-Identifier: MIT
-- profile.analysis: what the profile-analysis agent decides by rule: can the profile be believed, which investigations do its
-- bounds ask for, how does the report read. Pure functions over the answers of the querying skill.

local show <const> = require "profile.show"

local report <const> = require "report"
local plain <const> = report.plain
local analysis <const> = {}

-- Least share of the kernel's time that makes a gap worth an investigation.
analysis.WORTH = 0.05

-- Quality of a profile: { { level = "fatal"|"warning"|"info", message = } ... }. `ask(sql)` gives the rows of a query as lists.
function analysis.quality(ask, bounds)
  local out <const> = {}
  local function say(level, ...) out[#out + 1] = { level = level, message = (...):format(select(2, ...)) } end
  local tables <const> = {}
  for _, row in ipairs(ask "SELECT name FROM sqlite_schema WHERE type = 'table'") do tables[row[1]] = true end
  local function one(sql)
    local rows <const> = ask(sql)
    return rows[1] and rows[1][1] or nil
  end
  if not tables.Instruction or (one "SELECT count(*) FROM Instruction" or 0) == 0 then
    say("fatal", "the profile has no instructions: it holds metrics only, or the capture was empty; nothing can be traced to a line")
    return out
  end
  local columns <const> = {}
  for _, row in ipairs(ask "SELECT name FROM pragma_table_info('Instruction')") do columns[row[1]] = true end
  local place <const> = columns.bir_debug_info_source_location and "bir_debug_info_source_location" or columns.nki_source_location and "nki_source_location"
  local placed <const> = place and one(("SELECT avg(nullif(%s, '') IS NOT NULL) FROM Instruction"):format(place)) or 0
  if placed == 0 then
    say("warning", "no instruction names its source line: compile with NKI_DEBUG_INFO=True and capture again")
  elseif placed < 0.5 then
    say("warning", "%s of the instructions name a source line; findings cover only those", show.percent(placed))
  end
  if not tables.DmaPacket or (one "SELECT count(*) FROM DmaPacket" or 0) == 0 then
    say("warning", "no DMA packets: capture with DGE notifications, or bounds of memory are not known")
  elseif tables.DmaPacketAggregated then
    local packets <const> = one "SELECT total(transfer_bytes) FROM DmaPacket WHERE transfer_bytes > 4" or 0
    local transfers <const> = one "SELECT total(transfer_bytes) FROM DmaPacketAggregated" or 0
    if packets > 0 and transfers < 0.95 * packets then
      say("warning", "only %s of the bytes moved are tied to an instruction; amounts per line are too small", show.percent(transfers / packets))
    end
  end
  local noted <const> = {}
  if tables.nkiln_notes then
    for _, row in ipairs(ask "SELECT level, message FROM nkiln_notes LIMIT 20") do
      noted[tostring(row[2])] = true
      say(row[1] == "warning" and "warning" or "info", "%s", tostring(row[2]))
    end
  end
  if tables.Warning then -- a modelled profile has its own warnings in both tables
    for _, row in ipairs(ask "SELECT message FROM Warning LIMIT 5") do
      if not noted[tostring(row[1])] then say("warning", "the profiler says: %s", tostring(row[1])) end
    end
  end
  if #bounds > 1 then say("info", "%d physical cores; the report is about the one that takes longest", #bounds) end
  return out
end

local by_gap <const> = {
  ["DMA inefficiency"] = "dma", ["excess traffic"] = "reloads", transposes = "transposes", ["TE underutilisation"] = "tensor", ["TE idle"] = "pipeline",
  serialisation = "pipeline", ["DMA idle"] = "pipeline",
}
local by_engine <const> = {
  Tensor = { "tensor", "transposes" }, Vector = { "vector" }, Scalar = { "scalar" }, GpSimd = { "pipeline" }, DMA = { "dma", "reloads" },
}

-- Investigations for these bounds, each once, with the metric that asks for it: { { name =, why = } ... }.
function analysis.choose(bounds)
  local out <const>, seen <const> = {}, {}
  local function add(name, ...)
    if seen[name] then return end
    seen[name] = true
    out[#out + 1] = { name = name, why = (...):format(select(2, ...)) }
  end
  local top <const> = bounds.bottleneck
  for _, name in ipairs(top and by_engine[top.name] or {}) do
    add(name, "%s is active longest, %s of the time", top.name, top.share and show.percent(top.share) or show.us(top.ns))
  end
  local gaps <const> = table.move(bounds.gaps, 1, #bounds.gaps, 1, {})
  table.sort(gaps, function(a, b) return (a.ns or 0) > (b.ns or 0) end)
  for _, gap in ipairs(gaps) do
    local name <const> = by_gap[gap.name]
    if name and gap.share and gap.share >= analysis.WORTH then add(name, "the gap %s is %s of the time", gap.name, show.percent(gap.share)) end
  end
  if #out == 0 then add("pipeline", "no gap is larger than %s of the time", show.percent(analysis.WORTH)) end
  return out
end

-- The report as Markdown-flavoured text from the agent's state.
function analysis.report(state)
  local out <const> = {}
  local function say(...) out[#out + 1] = (...):format(select(2, ...)) end
  local identity <const> = state.identity or {}
  say("# Where the time goes: %s", report.clean(identity.entry or state.shown))
  out[#out + 1] = show.identity(identity, plain)
  say("\n## Can this profile be believed?")
  if #state.quality == 0 then say("Nothing speaks against it.") end
  for _, item in ipairs(state.quality) do say("* %s%s", item.level == "warning" and "warning: " or "", report.clean(item.message)) end
  say("\n## Bounds")
  out[#out + 1] = show.bounds(state.bounds[1], plain, #state.bounds > 1)
  say("\n## Investigations")
  local found <const>, nothing <const> = {}, {}
  for _, item in ipairs(state.findings) do
    say("* %s, because %s", item.name, item.why)
    for _, finding in ipairs(item.list or {}) do
      local list <const> = finding.found and found or nothing
      list[#list + 1] = finding
    end
  end
  table.sort(found, function(a, b) return (a.gain_ns or 0) > (b.gain_ns or 0) end)
  say("\n## Findings")
  if #found == 0 then say("None: every investigation that the bounds ask for found nothing.") end
  for _, finding in ipairs(found) do
    out[#out + 1] = show.finding(finding, plain)
    out[#out + 1] = ""
  end
  if #nothing > 0 then
    say("## Looked for and not found")
    for _, finding in ipairs(nothing) do say("* %s: %s", finding.name, finding.text or finding.title or "found nothing") end
  end
  if state.comparison then
    say("\n## Against the profile before")
    out[#out + 1] = show.comparison(state.comparison, plain)
  end
  return table.concat(out, "\n")
end

return analysis
