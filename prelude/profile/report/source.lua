-- SPDX-License-Identifier: MIT
-- profile.report.source: the kernel's text with what each line cost beside it. A line's heat is its share of the busiest
-- engine's time, so the hottest line is the one to look at whichever engine that is.

local html <const> = require "profile.report.html"

local source <const> = {}

local CONTEXT <const> = 2 -- untouched lines kept around those that cost something
local WHOLE <const> = 400 -- files up to this many lines are shown whole

local esc <const> = html.escape

-- Which lines of a file to show: a set.
local function shown(file)
  local keep <const> = {}
  if #file.text > 0 and file.last - file.first < WHOLE then
    for n = file.first, file.last do keep[n] = true end
    return keep
  end
  for n in pairs(file.lines) do
    for k = n - CONTEXT, n + CONTEXT do keep[k] = true end
  end
  return keep
end

local function cells(line, engines, whole)
  local out <const> = {}
  for _, engine in ipairs(engines) do
    local ns <const> = line and line.ns[engine.key]
    if ns and ns > 0 then
      out[#out + 1] = ('<td class="v" title="%s of the %s engine\'s busy time" style="background:rgba(var(--heat),%.3f)">%s</td>'):format(
        html.percent(ns / math.max(1, whole[engine.key])), engine.title, 0.75 * math.min(1, ns / math.max(1, whole.most)), html.duration(ns))
    else
      out[#out + 1] = "<td></td>"
    end
  end
  return table.concat(out)
end

-- The dearest engine of a line and its time: what a reader looks for first.
local function cost(line)
  if not line or (line.top or 0) == 0 then return "<td></td>" end
  for _, engine in ipairs(html.engines) do
    if line.ns[engine.key] == line.top then
      return ('<td class="v %s" title="%s engine"><span class="key"></span>%s</td>'):format(engine.class, engine.title, html.duration(line.top))
    end
  end
  return "<td></td>"
end

-- files: { { name, first, last, text = { [n] = string }, lines = { [n] = { ns = {engine = ns}, bytes, instructions, index } } } };
-- whole: busy ns per engine, and `most`, the greatest of them.
function source.table(files, whole)
  local engines <const> = {}
  for _, engine in ipairs(html.engines) do
    local used = false
    for _, file in ipairs(files) do
      for _, line in pairs(file.lines) do used = used or (line.ns[engine.key] or 0) > 0 end
    end
    if used then engines[#engines + 1] = engine end
  end
  local out <const> = {}
  for _, file in ipairs(files) do
    out[#out + 1] = ('<p class="code">%s</p><div class="scroll"><table class="source"><thead><tr>'):format(esc(file.name))
    out[#out + 1] = '<th>cost</th><th>line</th><th class="left">source</th>'
    for _, engine in ipairs(engines) do out[#out + 1] = ('<th class="%s"><span class="key"></span>%s</th>'):format(engine.class, engine.title) end
    out[#out + 1] = "<th>HBM bytes</th><th>instructions</th></tr></thead><tbody>"
    local keep <const> = shown(file)
    local numbers <const> = {}
    for n in pairs(keep) do
      if n >= 1 and (n <= file.last or file.lines[n]) then numbers[#numbers + 1] = n end
    end
    table.sort(numbers)
    for i, n in ipairs(numbers) do
      if i > 1 and numbers[i - 1] < n - 1 then out[#out + 1] = '<tr><td></td><td class="n">⋮</td></tr>' end
      local line <const> = file.lines[n]
      local heat <const> = line and math.max(0, (line.top or 0) / math.max(1, whole.most)) or 0
      local shade <const> = heat > 0 and (' style="background:rgba(var(--heat),%.3f)"'):format(0.45 * math.min(1, heat)) or ""
      out[#out + 1] = ('<tr%s>%s<td class="n">%d</td><td class="code"%s>%s</td>%s<td class="v">%s</td><td class="v">%s</td></tr>'):format(
        line and (' class="hot" id="line-%d" data-line="%d"'):format(line.index, line.index) or "", cost(line), n, shade, esc(file.text[n] or ""),
        cells(line, engines, whole), line and line.bytes > 0 and html.bytes(line.bytes) or "", line and html.count(line.instructions) or "")
    end
    out[#out + 1] = "</tbody></table></div>"
  end
  if #files == 0 then out[1] = "<p>This profile names no source lines.</p>" end
  return table.concat(out)
end

return source
