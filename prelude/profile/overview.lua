-- SPDX-License-Identifier: MIT
-- What a person wants to know first of a profile database, whoever made it.
--
--   overview.read(ctx, path) -> facts | nil, err     facts is plain data (also the JSON of `nkiln profile`):
--     { db=, kind="modelled"|"captured"|"imported", provenance={key=value}, total_s=, bottleneck={engine=, active_fraction=},
--       engines={ {engine=, active_s=, active_fraction=, instructions=}, ... }, dma={bytes=, transfers=, average_bytes=, active_s=,
--       bytes_per_s=, peak_bytes_per_s=}, hbm={read_bytes=, write_bytes=}, hfu=, mfu=, notes={ {level=, code=, message=} } }
--     A figure that the profile does not hold is absent; it is never taken for zero.
--   overview.lines(facts, style, short) -> lines of text
-- Fractions are 0..1, as neuron-explorer stores what it calls percent (Summary); times are seconds, sizes bytes.

local fault <const> = require "fault"
local report <const> = require "report"
local show <const> = require "profile.show"

local overview <const> = {}

-- Display name, prefix of Summary's columns.
local ENGINES <const> = { { "Tensor", "tensor" }, { "Vector", "vector" }, { "Scalar", "scalar" }, { "GpSimd", "gpsimd" }, { "Sync", "sync" } }

local function share(part, whole) return part and whole and whole > 0 and part / whole or nil end

local function engines_of(s)
  local list <const> = {}
  for _, row in ipairs(ENGINES) do
    local active <const>, fraction <const> = s[row[2] .. "_engine_active_time"], s[row[2] .. "_engine_active_time_percent"]
    local count <const> = s[row[2] .. "_engine_instruction_count"]
    if active or fraction or count then
      list[#list + 1] = { engine = row[1], active_s = active, active_fraction = fraction or share(active, s.total_time), instructions = count }
    end
  end
  if s.dma_active_time or s.dma_active_time_percent then
    list[#list + 1] = { engine = "DMA", active_s = s.dma_active_time, active_fraction = s.dma_active_time_percent or share(s.dma_active_time, s.total_time),
      transfers = s.dma_transfer_count }
  end
  return list
end

local function bottleneck_of(engines)
  local best
  for _, row in ipairs(engines) do
    if row.active_fraction and row.active_fraction > 0 and (not best or row.active_fraction > best.active_fraction) then
      best = { engine = row.engine, active_fraction = row.active_fraction }
    end
  end
  return best
end

local function first_row(d, sql)
  local row <const> = d:row(sql)
  return type(row) == "table" and row or {}
end

function overview.read(ctx, path)
  local d <const>, err <const> = ctx.db.open(path, { readonly = true, create = false, busy = 5 })
  if not d then return nil, fault.new(err.code, "the profile cannot be read: " .. fault.why(err), { where = path }) end
  local _ <close> = setmetatable({}, { __close = function() d:close() end })
  local provenance <const> = {}
  local rows <const>, why <const> = d:query("select key, value from nkiln")
  if not rows then return nil, fault.new("bad-input", "this is no profile of nkiln", { where = path, reason = why.message }) end
  for _, row in ipairs(rows) do provenance[row.key] = row.value end
  local s <const>, meta <const> = first_row(d, "select * from Summary limit 1"), first_row(d, "select * from Metadata limit 1")
  local facts <const> = {
    db = path, kind = provenance.kind, provenance = provenance, total_s = s.total_time, engines = engines_of(s),
    hfu = s.hfu_estimated_percent, mfu = s.mfu_inst_estimated_percent or s.mfu_estimated_percent, notes = {},
  }
  facts.bottleneck = bottleneck_of(facts.engines)
  if s.dma_transfer_total_bytes then
    facts.dma = {
      bytes = s.dma_transfer_total_bytes, transfers = s.dma_transfer_count, average_bytes = s.dma_transfer_average_bytes, active_s = s.dma_active_time,
      bytes_per_s = s.dma_active_time and s.dma_active_time > 0 and s.dma_transfer_total_bytes / s.dma_active_time or nil,
      peak_bytes_per_s = meta.dma_ddr_bandwidth,
    }
  end
  if s.hbm_read_bytes or s.hbm_write_bytes then facts.hbm = { read_bytes = s.hbm_read_bytes, write_bytes = s.hbm_write_bytes } end
  for i, row in ipairs(d:query("select level, code, message from nkiln_notes") or {}) do
    facts.notes[i] = { level = row.level, code = row.code, message = row.message }
  end
  -- A profile without source lines cannot name the line that is slow: said here, whoever made it.
  local placed <const> = first_row(d, "select count(*) as n, count(coalesce(bir_debug_info_source_location, nki_source_location)) as placed from Instruction")
  if placed.n and placed.n > 0 and placed.placed == 0 then
    facts.notes[#facts.notes + 1] = { level = "warning", code = "no-source-lines", message = "no instruction names its source line: the kernel was compiled "
      .. "without NKI_DEBUG_INFO=True, or came from a compile cache" }
  elseif placed.placed and placed.placed > 0 and provenance.kernel_file then
    local base <const> = provenance.kernel_file:match("[^/]*$")
    local mine <const> = d:value("select 1 from Instruction where instr('/' || coalesce(bir_debug_info_source_location, nki_source_location), ?) > 0 limit 1",
      "/" .. base .. ":")
    if not mine then
      facts.notes[#facts.notes + 1] = { level = "warning", code = "other-kernel", message = ("no instruction is of %s: this may be the profile of another "
        .. "graph"):format(base) }
    end
  end
  return facts
end

local function time_text(seconds)
  if not seconds then return "?" end
  if seconds < 1e-6 then return ("%.0f ns"):format(seconds * 1e9) end
  if seconds < 1e-3 then return ("%.2f us"):format(seconds * 1e6) end
  if seconds < 1 then return ("%.3f ms"):format(seconds * 1e3) end
  return ("%.3f s"):format(seconds)
end
overview.time_text = time_text

local function percent(fraction) return fraction and ("%.1f %%"):format(100 * fraction) or "?" end

local function whole(value)
  if value == nil then return "" end
  return ("%.0f"):format(value)
end

-- What the times of a database are: said with every one of them.
local words <const> = {
  modelled = "modelled; no device was used",
  captured = "captured on a Neuron device",
  imported = "imported from neuron-explorer's files",
}

local function dma_text(dma)
  local parts <const> = { show.bytes(dma.bytes) }
  if dma.transfers then parts[#parts + 1] = ("%s transfers"):format(whole(dma.transfers)) end
  if dma.average_bytes then parts[#parts + 1] = show.bytes(math.floor(dma.average_bytes)) .. " each" end
  if dma.bytes_per_s then
    local peak <const> = dma.peak_bytes_per_s and (" of %.0f GB/s peak"):format(dma.peak_bytes_per_s / 1e9) or ""
    parts[#parts + 1] = ("%.1f GB/s while active%s"):format(dma.bytes_per_s / 1e9, peak)
  end
  return table.concat(parts, ", ")
end

function overview.lines(facts, style, short)
  short = short or function(path) return path end
  local out <const> = {}
  local function say(...) out[#out + 1] = (...):format(select(2, ...)) end
  local p <const> = facts.provenance
  local function title(label, text) say("%-10s %s", label, text) end
  if p.entry or p.case then title("kernel", report.clean(table.concat({ p.entry or "?", p.case and p.case ~= "" and "  " .. p.case or "" }))) end
  local place <const> = { p.target or nil }
  if p.lnc then place[#place + 1] = "LNC " .. p.lnc end
  title("total", ("%s  %s%s"):format(style.bold(time_text(facts.total_s)), words[facts.kind] or facts.kind or "of unknown origin",
    #place > 0 and "; " .. table.concat(place, ", ") or ""))
  if facts.bottleneck then
    local idle <const> = facts.bottleneck.active_fraction < 0.5 and "; no engine is active half of it: waiting and fixed costs dominate" or ""
    title("bottleneck", ("%s, active %s of the time%s"):format(style.bold(facts.bottleneck.engine), percent(facts.bottleneck.active_fraction), idle))
  end
  local rows <const> = {}
  for i, row in ipairs(facts.engines) do
    rows[i] = { row.engine, percent(row.active_fraction), row.active_s and time_text(row.active_s) or "", whole(row.instructions or row.transfers),
      row.transfers and "transfers" or row.instructions and "instructions" or "" }
  end
  if #rows > 0 then
    local text <const> = report.table({ { title = "engine" }, { title = "active", align = "right" }, { title = "time", align = "right" },
      { title = "count", align = "right" }, {} }, rows, style, "  ")
    out[#out + 1] = (text:gsub("\n$", ""))
  end
  if facts.dma then title("DMA", dma_text(facts.dma)) end
  if facts.hbm then
    title("HBM", ("%s read, %s written"):format(facts.hbm.read_bytes and show.bytes(facts.hbm.read_bytes) or "?",
      facts.hbm.write_bytes and show.bytes(facts.hbm.write_bytes) or "?"))
  end
  if facts.mfu or facts.hfu then
    title("MFU", ("%s useful matrix work of the Tensor engine's peak%s"):format(percent(facts.mfu),
      facts.hfu and (" (with transposes %s)"):format(percent(facts.hfu)) or ""))
  end
  for _, note in ipairs(facts.notes) do
    local mark <const> = note.level == "warning" and style.yellow("warning") or "note"
    out[#out + 1] = ("%s  %s"):format(mark, report.clean(note.message or note.code or ""))
  end
  title("profile", short(facts.db))
  return out
end

return overview
