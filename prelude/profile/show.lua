-- SPDX-License-Identifier: MIT
-- profile.show: answers about a profile as text: rows as a table or CSV, bounds, findings, lines, comparisons. Plain functions
-- of what work.query returns; nothing here reads anything.

local report <const> = require "report"

local show <const> = {}

-- 1234567 -> "1,234,567"
function show.count(n)
  local whole <const> = ("%.0f"):format(math.floor(n + 0.5)) -- %.0f: a hostile profile has numbers beyond 64 bits
  return (whole:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^(%-?),", "%1"))
end

-- Nanoseconds as microseconds, the unit of every table here.
function show.us(ns)
  if not ns then return "-" end
  local us <const> = ns / 1e3
  if math.abs(us) >= 1000 then return show.count(us) end
  return (math.abs(us) >= 100 and "%.1f" or math.abs(us) >= 1 and "%.2f" or "%.3f"):format(us)
end

function show.percent(share)
  if not share or share ~= share or math.abs(share) == math.huge then return "-" end
  return ("%.1f %%"):format(100 * share)
end

-- Decimal units, as in the vendor's figures.
function show.bytes(n)
  if not n then return "-" end
  if n < 1e4 then return show.count(n) .. " B" end
  for _, unit in ipairs { "kB", "MB", "GB", "TB" } do
    n = n / 1e3
    if n < 1e3 or unit == "TB" then return (n < 100 and "%.1f %s" or "%.0f %s"):format(n, unit) end
  end
end

local function number(value)
  if math.type(value) == "integer" then return tostring(value) end
  if value == math.floor(value) and math.abs(value) < 1e15 then return ("%.1f"):format(value) end
  return ("%.10g"):format(value)
end

show.CELL = 2000 -- bytes of a cell that a table shows; CSV and JSON have all

-- A value of a result row: false is NULL.
local function cell(value)
  if value == false or value == nil then return "NULL" end
  if type(value) == "number" then return number(value) end
  if #value <= show.CELL then return report.clean(value) end
  local last <const> = utf8.len(value) and utf8.offset(value, 0, show.CELL + 1) - 1 or show.CELL
  return ("%s... (%d bytes; --format csv has all)"):format(report.clean(value:sub(1, last)), #value)
end

local function csv_cell(value)
  if value == false or value == nil then return "" end
  if type(value) == "number" then return math.type(value) == "integer" and tostring(value) or ("%.17g"):format(value) end
  if value == "" or value:find('[",\r\n]') then return '"' .. value:gsub('"', '""') .. '"' end
  return value
end

-- Rows of a query. format: "table" or "csv".
function show.rows(result, format, style)
  local lines <const> = {}
  if format == "csv" then
    local names <const> = {}
    for i, name in ipairs(result.columns) do names[i] = csv_cell(name) end
    lines[1] = table.concat(names, ",")
    for _, row in ipairs(result.rows) do
      local cells <const> = {}
      for i = 1, #result.columns do cells[i] = csv_cell(row[i]) end
      lines[#lines + 1] = table.concat(cells, ",")
    end
    return table.concat(lines, "\n") .. "\n"
  end
  local columns <const>, rows <const> = {}, {}
  for i, name in ipairs(result.columns) do
    local numeric = #result.rows > 0
    for _, row in ipairs(result.rows) do numeric = numeric and (row[i] == false or type(row[i]) == "number") end
    columns[i] = { title = report.clean(name), align = numeric and "right" or nil }
  end
  for k, row in ipairs(result.rows) do
    rows[k] = {}
    for i = 1, #columns do rows[k][i] = cell(row[i]) end
  end
  return report.table(columns, rows, style) .. ("(%s)\n"):format(report.count(#rows, "row"))
end

-- "modelled  swiglu_kernel  x=bf16[...]  trn2": what the profile is.
function show.identity(id, style)
  local parts <const> = { style.bold(report.clean(id.kind .. (id.model_version and " (model " .. id.model_version .. ")" or ""))) }
  for _, key in ipairs { "entry", "case", "target" } do parts[#parts + 1] = id[key] and report.clean(id[key]) or nil end
  return table.concat(parts, "  ")
end

local right <const> = "right"

function show.bounds(b, style, many)
  local out <const> = {}
  local w <const> = b.window
  out[#out + 1] = ("%s%s us  (%s)"):format(many and ("core %d, total "):format(b.core) or "total ", style.bold(show.us(w.total_ns)),
    w.whole and "whole kernel, " .. w.from or ("window %d to %d ns"):format(w.t0, w.t1))
  local rows = {}
  for _, e in ipairs(b.engines) do
    rows[#rows + 1] = { e.name, show.us(e.ns), show.percent(e.share), b.bottleneck == e and "longest" or e.ns and "" or e.from }
  end
  out[#out + 1] = report.table({
    { title = "engine" }, { title = "active us", align = right }, { title = "share", align = right }, { title = "" },
  }, rows, style)
  rows = {}
  for _, bound in ipairs(b.bounds) do
    local speedup <const> = bound.speedup and ("%.2fx"):format(bound.speedup) or "-"
    rows[#rows + 1] = { bound.name, show.us(bound.ns), speedup, bound.ns and (bound.note or "") or "not known: " .. tostring(bound.from) }
  end
  out[#out + 1] = report.table({ { title = "bound" }, { title = "us", align = right }, { title = "speedup", align = right }, { title = "" } }, rows, style)
    .. style.dim "speedup: the total over the bound, or over the busiest engine that the bound does not shorten, where that takes longer" .. "\n"
  rows = {}
  for _, g in ipairs(b.gaps) do rows[#rows + 1] = { g.name, show.us(g.ns), show.percent(g.share), g.means } end
  out[#out + 1] = report.table({ { title = "gap" }, { title = "us", align = right }, { title = "of total", align = right }, { title = "" } }, rows, style)
  for _, g in ipairs(b.gaps) do
    if g.share >= 0.05 then out[#out + 1] = style.dim(("%s is not %s"):format(g.name, g.not_means)) end
  end
  out[#out + 1] = style.bold(b.sentence)
  for _, note in ipairs(b.notes) do out[#out + 1] = "note: " .. note end
  return table.concat(out, "\n")
end

-- A finding of an investigation.
function show.finding(f, style)
  local out <const> = { (f.found and style.yellow(f.title) or style.green(f.title)) .. (f.core and ("  (core %d)"):format(f.core) or "") }
  if f.text then out[#out + 1] = "  " .. report.clean(f.text) end
  for _, line in ipairs(f.lines or {}) do
    local place <const> = line.file and ("%s:%d"):format(line.file:match("[^/]*$"), line.line) or line.location
    out[#out + 1] = ("  %s  %s  %s"):format(style.bold(report.clean(place)), line.amount, show.percent(line.share))
      .. (line.detail and "  " .. report.clean(line.detail) or "")
    if line.text then out[#out + 1] = "      " .. report.clean((line.text:gsub("^%s+", ""))) end
  end
  if f.change then out[#out + 1] = "  change: " .. report.clean(f.change) end
  for _, note in ipairs(f.notes or {}) do out[#out + 1] = "  note: " .. report.clean(note) end
  return table.concat(out, "\n")
end

function show.lines(list, style)
  local rows <const> = {}
  for _, row in ipairs(list) do
    local place <const> = row.file and ("%s:%d"):format(row.file:match("[^/]*$"), row.line) or row.location
    rows[#rows + 1] = {
      report.clean(place), show.us(row.Tensor), show.us(row.Vector), show.us(row.Scalar), show.us(row.GpSimd), show.us(row.DMA), show.bytes(row.bytes),
      row.descriptors and show.count(row.descriptors) or "-", show.count(row.instructions), row.text and report.clean((row.text:gsub("^%s+", ""))) or "",
    }
  end
  local columns <const> = { { title = "line" } }
  for _, title in ipairs { "Tensor us", "Vector us", "Scalar us", "GpSimd us", "DMA us", "moved", "descriptors", "instructions" } do
    columns[#columns + 1] = { title = title, align = right }
  end
  columns[#columns + 1] = { title = "" }
  return report.table(columns, rows, style)
end

function show.comparison(c, style)
  local out <const> = {}
  out[#out + 1] = "before  " .. show.identity(c.before, style)
  out[#out + 1] = "after   " .. show.identity(c.after, style)
  for _, note in ipairs(c.differences or {}) do out[#out + 1] = "differs: " .. report.clean(note) end
  local rows = {}
  for _, row in ipairs(c.bounds) do
    rows[#rows + 1] = { row.name, show.us(row.before), show.us(row.after), row.ratio and ("%.2fx"):format(row.ratio) or "-", row.moved and "" or "same" }
  end
  out[#out + 1] = report.table({
    { title = "" }, { title = "before us", align = right }, { title = "after us", align = right }, { title = "after/before", align = right },
    { title = "" },
  }, rows, style)
  rows = {}
  for _, row in ipairs(c.lines) do
    rows[#rows + 1] = {
      report.clean(row.place), show.us(row.before), show.us(row.after), show.us((row.after or 0) - (row.before or 0)),
      row.text and report.clean((row.text:gsub("^%s+", ""))) or "",
    }
  end
  if #rows > 0 then
    out[#out + 1] = report.table({
      { title = "line" }, { title = "before us", align = right }, { title = "after us", align = right }, { title = "difference", align = right },
      { title = "" },
    }, rows, style)
  else
    out[#out + 1] = "no line moved"
  end
  out[#out + 1] = style.bold(c.sentence)
  return table.concat(out, "\n")
end

return show
