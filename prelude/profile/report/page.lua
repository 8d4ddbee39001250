-- SPDX-License-Identifier: MIT
-- profile.report.page: one self-contained page from what collect.lua gathered: no network, readable without a script.

local charts <const> = require "profile.report.charts"
local html <const> = require "profile.report.html"
local json <const> = require "rt.json"
local source <const> = require "profile.report.source"
local timeline <const> = require "profile.report.timeline"

local esc <const> = html.escape

local BUCKETS <const> = 400

local function section(title, body, id)
  return ('<section%s><h2>%s</h2>%s</section>'):format(id and (' id="%s"'):format(id) or "", title, body)
end

local function tiles(list)
  local out <const> = { '<div class="tiles">' }
  for _, tile in ipairs(list) do
    out[#out + 1] = ('<div class="tile"><small>%s</small><b>%s</b><small>%s</small></div>'):format(esc(tile[1]), esc(tile[2]), esc(tile[3] or ""))
  end
  out[#out + 1] = "</div>"
  return table.concat(out)
end

local function findings(list)
  local out <const>, nothing <const> = {}, {}
  for _, finding in ipairs(list) do
    if not finding.found then
      nothing[#nothing + 1] = ("<li>%s%s</li>"):format(esc(finding.title), finding.text and ": " .. esc(finding.text) or "")
      goto next
    end
    local body <const> = {}
    for _, line in ipairs(finding.lines or {}) do
      body[#body + 1] = ("<li><b>%s</b> · %s%s%s%s</li>"):format(esc(line.place), esc(line.amount or ""),
        line.share and (" · %s"):format(html.percent(line.share)) or "", line.detail and (" · %s"):format(esc(line.detail)) or "",
        line.text and line.text ~= "" and ("<br><code>%s</code>"):format(esc((line.text:gsub("^%s+", "")))) or "")
    end
    out[#out + 1] = ('<div class="finding"><h3>%s</h3>%s%s%s</div>'):format(esc(finding.title),
      finding.text and ("<p>%s</p>"):format(esc(finding.text)) or "", #body > 0 and ("<ul>%s</ul>"):format(table.concat(body)) or "",
      finding.change and ('<div class="change">%s</div>'):format(esc(finding.change)) or "")
    ::next::
  end
  if #out == 0 then out[1] = "<p>The investigations found nothing.</p>" end
  if #nothing > 0 then out[#out + 1] = ('<div class="soft"><p>Looked for and not found:</p><ul>%s</ul></div>'):format(table.concat(nothing)) end
  return table.concat(out)
end

local function timeline_part(page)
  local rows <const>, by_engine <const> = {}, {}
  for _, track in ipairs(page.tracks) do
    by_engine[track.engine] = by_engine[track.engine] or {}
    table.insert(by_engine[track.engine], track)
  end
  for _, engine in ipairs(html.engines) do
    local own <const> = by_engine[engine.key]
    if own then rows[#rows + 1] = { title = engine.title, class = engine.class, share = timeline.utilisation(own, page.t0, page.t1, BUCKETS) } end
  end
  if #rows == 0 then return "<p>This profile holds no timeline.</p>" end
  local tracks <const>, quantum <const> = timeline.shrink(page.tracks)
  local packed <const> = {}
  for i, track in ipairs(tracks) do packed[i] = { name = track.name, engine = track.engine, items = timeline.pack(track, page.t0) } end
  local data <const> = json.encode { t0 = page.t0, t1 = page.t1, labels = json.array(page.labels), lines = json.array(page.places),
    tracks = json.array(packed) }
  local hint <const> = quantum and (" What is shorter than %s is drawn together."):format(html.duration(quantum)) or ""
  return table.concat {
    '<div id="timeline"><div class="tools"><button id="zoom-in" type="button">zoom in</button><button id="zoom-out" type="button">zoom out</button>',
    '<button id="zoom-all" type="button">whole run</button><small>',
    'Drag to move; wheel or pinch to zoom after a click; arrow keys work too. A click shows the source line.',
    esc(hint), '</small></div><canvas tabindex="0" aria-label="timeline of the engines"></canvas><div id="tip"></div></div>', charts.strip(rows),
    '<script type="application/json" id="data">', (data:gsub("<", "\\u003c")), "</script>",
  }
end

local function memory_part(memory)
  local out <const> = {}
  for _, kind in ipairs { "sbuf", "psum" } do
    local samples <const> = memory[kind]
    if samples and #samples.at > 0 then
      local svg <const>, most <const> = charts.area({ at = samples.position, share = samples.share }, kind, kind:upper() .. " in use")
      out[#out + 1] = ("<p><b>%s</b> <small>at most %s of it in use</small></p>%s"):format(kind:upper(), html.percent(most), svg)
    end
  end
  if #out == 0 then return "<p>This profile holds no memory samples.</p>" end
  out[#out + 1] = ("<p><small>%s</small></p>"):format("over program order: instructions from the first to the last to start")
  return table.concat(out)
end

local function provenance(list)
  local out <const> = { '<table class="plain">' }
  for _, row in ipairs(list) do out[#out + 1] = ("<tr><th>%s</th><td>%s</td></tr>"):format(esc(row[1]), esc(row[2])) end
  out[#out + 1] = "</table>"
  return table.concat(out)
end

local function notes(list)
  local out <const> = {}
  for _, note in ipairs(list) do out[#out + 1] = ("<li>%s%s</li>"):format(note.level == "warning" and "<b>Warning:</b> " or "", esc(note.message)) end
  return #out > 0 and ("<ul>%s</ul>"):format(table.concat(out)) or "<p>Nothing to add.</p>"
end

local bounds_words <const> = "A bound is the shortest time one part alone would need. The distance between a bound and the next shows where time may be; "
  .. "it is not a promise of what a change will save."

-- The page as a list of texts to be written one after another.
local function build(page)
  local modelled <const> = page.kind == "modelled"
  local out <const> = {}
  local function add(text) out[#out + 1] = text end
  add('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>')
  add(esc(page.title))
  add(" – nkiln profile</title><style>")
  add(require "profile.report.style")
  add("</style></head><body><main>")
  add(("<h1>%s <span class=\"badge\">%s</span></h1><p class=\"soft\">%s</p>"):format(esc(page.title), esc(page.kind), esc(page.subtitle)))
  add(tiles(page.tiles))
  add(section("What bounds it", (page.verdict and ("<p>%s</p>"):format(esc(page.verdict)) or "") .. charts.bars(page.bounds, page.total_ns)
    .. ("<p><small>%s</small></p>"):format(bounds_words), "bounds"))
  add(section("Findings", findings(page.findings), "findings"))
  add(section("Timeline", timeline_part(page), "time"))
  local roof <const> = page.roof and section("Roofline", charts.roofline(page.roof) .. ("<p><small>%s</small></p>"):format(esc(page.roof.words)), "roofline")
  local memory <const> = section("On-chip memory", memory_part(page.memory), "memory")
  add(roof and '<div class="two">' .. roof .. memory .. "</div>"
    or memory .. "<p><small>There is no roofline: the kernel has no matrix products, or no HBM traffic is known.</small></p>")
  add(section("Source, with what each line cost", source.table(page.files, page.whole)
    .. "<p><small>Times per line are added up, so lines whose instructions overlap on one engine may add to more than its busy time.</small></p>", "source"))
  add(section(modelled and "What the model cannot know" or "Quality of this profile", notes(page.notes), "notes"))
  add(section("Where this comes from", provenance(page.provenance), "provenance"))
  add("</main><script>")
  add(require "profile.report.script")
  add("</script></body></html>\n")
  return out
end

return { build = build }
