-- SPDX-License-Identifier: MIT
-- report: how results read. Tables, diagnostics with source line and fix, durations and sizes, all as strings.
--
-- A style is made once per output with report.style(colour); without colour its functions return their text as it is.
-- Nothing here writes anywhere and nothing fails: a field that is missing is left out.

local source_text <const> = require "nki.source"

local report <const> = {}

local codes <const> = { bold = "1", dim = "2", red = "31", green = "32", yellow = "33", blue = "34", cyan = "36" }

-- Functions that mark a text: style.red("x"), ... `colour` false gives plain text.
function report.style(colour)
  local style <const> = { colour = colour and true or false }
  for name, code in pairs(codes) do
    style[name] = function(text)
      if not colour or text == "" then return tostring(text) end
      return "\27[" .. code .. "m" .. tostring(text) .. "\27[0m"
    end
  end
  return style
end

report.plain = report.style(false)

-- Width on a terminal: characters, without colour codes; wide East Asian characters count as two.
function report.width(text)
  text = text:gsub("\27%[[%d;]*m", "")
  local n = 0
  local ok <const> = utf8.len(text)
  if not ok then return #text end
  for _, c in utf8.codes(text) do
    if c >= 0x1100 and (c <= 0x115F or (c >= 0x2E80 and c <= 0xA4CF) or (c >= 0xAC00 and c <= 0xD7A3) or (c >= 0xF900 and c <= 0xFAFF)
      or (c >= 0xFE30 and c <= 0xFE6F) or (c >= 0xFF00 and c <= 0xFF60) or (c >= 0x1F300 and c <= 0x1FAFF)) then
      n = n + 2
    elseif c >= 0x0300 and c <= 0x036F then
      n = n + 0
    else
      n = n + 1
    end
  end
  return n
end

-- Make text from outside safe to show: control characters (a terminal would obey them) become escapes.
function report.clean(text, keep_lines)
  text = tostring(text)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", function(c) return ("\\x%02x"):format(c:byte()) end) end
  return (text:gsub("[%z\1-\31\127]", function(c)
    if c == "\t" then return "  " end
    if c == "\n" and keep_lines then return c end
    return ("\\x%02x"):format(c:byte())
  end))
end

-- Text as a terminal may have it: colours stay, every other control character becomes an escape, and so do the characters
-- that turn the direction of writing.
function report.tame(text)
  if not text:find("[%z\1-\8\11-\31\127\xC2\xE2]") then return text end
  text = text:gsub("[%z\1-\8\11-\31\127]%[?[%d;]*m?", function(piece)
    if piece:find("^\27%[[%d;]*m$") then return piece end
    return ("\\x%02x"):format(piece:byte()) .. piece:sub(2)
  end)
  text = text:gsub("\xC2([\x80-\x9F])", function(c) return ("\\x%02x"):format(c:byte()) end)
  text = text:gsub("\xE2\x80([\xAA-\xAE])", function(c) return ("\\u20%02x"):format(c:byte() - 0x80) end)
  return (text:gsub("\xE2\x81([\xA6-\xA9])", function(c) return ("\\u20%02x"):format(c:byte() - 0x40) end))
end

-- Rows (lists of strings) as aligned columns under a heading. columns: { {title=, align="right"}, ... }.
function report.table(columns, rows, style, indent)
  style = style or report.plain
  indent = indent or ""
  local widths <const> = {}
  for i, column in ipairs(columns) do widths[i] = report.width(column.title or "") end
  for _, row in ipairs(rows) do
    for i = 1, #columns do widths[i] = math.max(widths[i], report.width(tostring(row[i] or ""))) end
  end
  local lines <const> = {}
  local function line(cells, mark)
    local out <const> = {}
    for i, column in ipairs(columns) do
      local cell <const> = tostring(cells[i] or "")
      local pad <const> = (" "):rep(widths[i] - report.width(cell))
      out[i] = column.align == "right" and pad .. mark(cell) or mark(cell) .. (i < #columns and pad or "")
    end
    lines[#lines + 1] = indent .. (table.concat(out, "  "):match("^(.*%S)") or "") -- gsub of %s+$ takes the square of a long run of spaces
  end
  local titles <const> = {}
  for i, column in ipairs(columns) do titles[i] = column.title or "" end
  if table.concat(titles) ~= "" then line(titles, style.dim) end
  for _, row in ipairs(rows) do line(row, function(cell) return cell end) end
  return table.concat(lines, "\n") .. (#lines > 0 and "\n" or "")
end

function report.seconds(s)
  if not s then return "" end
  if s < 1e-3 then return ("%.0f us"):format(s * 1e6) end
  if s < 1 then return ("%.0f ms"):format(s * 1e3) end
  if s < 120 then return ("%.1f s"):format(s) end
  return ("%d min %02d s"):format(s // 60, math.floor(s % 60))
end

function report.count(n, one, many) return ("%d %s"):format(n, n == 1 and one or many or one .. "s") end

-- A file name as short as possible: relative to the folder given when it is beneath it.
function report.relative(path, cwd)
  if cwd and path:sub(1, #cwd + 1) == cwd .. "/" then return path:sub(#cwd + 2) end
  return path
end

local function lines_of(text)
  local out <const> = {}
  for line in (text .. "\n"):gmatch("(.-)\r?\n") do out[#out + 1] = line end
  return out
end

-- The fix as code: lines that go (-) and lines that come (+).
function report.fix_lines(fix, source, style)
  style = style or report.plain
  local out <const> = {}
  local after <const> = source and source_text.apply(source, fix.edits or {})
  if not after then
    for _, edit in ipairs(fix.edits or {}) do
      for _, line in ipairs(lines_of(edit.text or "")) do out[#out + 1] = style.green("+ " .. report.clean(line)) end
    end
    return out
  end
  local old <const>, new <const> = lines_of(source), lines_of(after)
  local head = 0
  while head < #old and head < #new and old[head + 1] == new[head + 1] do head = head + 1 end
  local tail = 0
  while tail < #old - head and tail < #new - head and old[#old - tail] == new[#new - tail] do tail = tail + 1 end
  -- Edits far apart: lines between them that did not change are shown once, the middle of a long stretch left out.
  if #old == #new then
    local left = false
    for i = head + 1, #old - tail do
      if old[i] ~= new[i] then
        out[#out + 1] = style.red("- " .. report.clean(old[i]))
        out[#out + 1] = style.green("+ " .. report.clean(new[i]))
        left = false
      elseif not left then
        out[#out + 1] = style.dim("  ...")
        left = true
      end
    end
    return out
  end
  for i = head + 1, #old - tail do out[#out + 1] = style.red("- " .. report.clean(old[i])) end
  for i = head + 1, #new - tail do out[#out + 1] = style.green("+ " .. report.clean(new[i])) end
  return out
end

local mark_of <const> = { error = "red", warning = "yellow", note = "cyan" }

local function operand_text(operand)
  local parts <const> = {}
  if operand.shape then parts[#parts + 1] = "[" .. table.concat(operand.shape, ", ") .. "]" end
  if operand.dtype then parts[#parts + 1] = operand.dtype end
  if operand.buffer then parts[#parts + 1] = operand.buffer end
  if operand.value ~= nil and operand.expr and tostring(operand.value) ~= operand.expr then parts[#parts + 1] = tostring(operand.value) end
  local text = ("%s = %s"):format(operand.name or "operand", operand.expr or operand.value or "?")
  if #parts > 0 then text = text .. "   " .. table.concat(parts, " ") end
  if operand.line then text = text .. "   (line " .. operand.line .. ")" end
  return text
end

-- One diagnostic as text. options: { source = text of the file, style =, cwd = }.
function report.diagnostic(d, options)
  options = options or {}
  local style <const> = options.style or report.plain
  local mark <const> = style[mark_of[d.severity] or "red"]
  local place = d.file and report.relative(d.file, options.cwd) or nil
  if place and d.line then place = place .. ":" .. d.line .. (d.column and ":" .. d.column or "") end
  local out <const> = {
    (place and style.bold(report.clean(place)) .. ": " or "") .. mark(d.severity or "error") .. ": " .. report.clean(d.message or "")
      .. (d.code and style.dim(" [" .. d.code .. "]") or ""),
  }
  local text <const> = options.source and d.line and lines_of(options.source)[d.line]
  if text and #text <= 400 then
    local number <const> = tostring(d.line)
    local gutter <const> = (" "):rep(#number)
    out[#out + 1] = ("  %s | %s"):format(number, report.clean(text))
    if d.column then
      local from <const> = math.min(d.column, #text + 1)
      local to = #text + 1
      if d.end_column and (d.end_line or d.line) == d.line then to = math.max(from + 1, math.min(d.end_column, #text + 1)) end
      local before <const> = (" "):rep(report.width(report.clean(text:sub(1, from - 1))))
      local under <const> = ("^"):rep(math.max(1, report.width(report.clean(text:sub(from, to - 1)))))
      out[#out + 1] = ("  %s | %s%s"):format(gutter, before, mark(under))
    end
  end
  for _, operand in ipairs(d.operands or {}) do out[#out + 1] = "    " .. report.clean(operand_text(operand)) end
  if d.reason then out[#out + 1] = "    why: " .. report.clean(d.reason) end
  if type(d.source) == "table" and d.source.doc then
    out[#out + 1] = style.dim("    see: " .. report.clean(d.source.doc) .. (d.source.text and " (" .. report.clean(d.source.text) .. ")" or ""))
  end
  if d.fix then
    out[#out + 1] = "    fix: " .. report.clean(d.fix.title or "")
    local shown <const> = report.fix_lines(d.fix, options.source, style)
    for i, line in ipairs(shown) do
      if i > 24 then
        out[#out + 1] = ("      (%d more lines)"):format(#shown - 24)
        break
      end
      out[#out + 1] = "      " .. line
    end
  end
  for _, frame in ipairs(d.traceback or {}) do
    if type(frame) == "table" then
      local at <const> = report.relative(frame.file or "?", options.cwd)
      out[#out + 1] = style.dim(("    at %s:%s in %s"):format(report.clean(at), frame.line or "?", report.clean(frame["function"] or frame.name or "?")))
    end
  end
  return table.concat(out, "\n") .. "\n"
end

-- All diagnostics, worst first by place in the list they came in, and the closing count.
function report.diagnostics(list, options)
  local out <const>, counts <const> = {}, { error = 0, warning = 0, note = 0 }
  for _, d in ipairs(list) do
    counts[d.severity or "error"] = (counts[d.severity or "error"] or 0) + 1
    local source = options and options.source
    if options and options.sources and d.file then source = options.sources(d.file) end
    out[#out + 1] = report.diagnostic(d, { source = source, style = options and options.style, cwd = options and options.cwd })
  end
  return table.concat(out), counts
end

return report
