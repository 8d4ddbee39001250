-- SPDX-License-Identifier: MIT
-- listing: the table of skills or agents, as text and as data. Nothing here runs a script of a workspace.

local report <const> = require "report"

local listing <const> = {}

-- What state an entry is in, as one word.
local function state_of(entry, trusted)
  if entry.refused then return "refused" end
  if entry.shadowed_by then return "shadowed" end
  if entry.unusable or entry.load_error then return "broken" end
  if entry.kind == "prompt" then return "documents" end
  return trusted and "trusted" or "not trusted"
end

function listing.data(host, kind)
  local catalogue <const> = host.catalogue()
  local found <const> = catalogue.scan(kind)
  local out <const> = {}
  for i, entry in ipairs(found.entries) do
    local trusted <const> = catalogue.trusted(entry)
    local problems <const> = {}
    for k, p in ipairs(entry.problems) do
      problems[k] = { severity = p.severity, message = p.message, file = p.file, line = p.line, column = p.column }
    end
    out[i] = {
      name = entry.name, alias = not entry.alias_refused and entry.alias or nil, description = entry.description, kind = entry.kind,
      scope = entry.scope, path = entry.path, script = entry.script, document = entry.document, trusted = trusted,
      state = state_of(entry, trusted), shadows = host.array(entry.shadows or {}), shadowed_by = entry.shadowed_by, problems = host.array(problems),
    }
  end
  local problems <const> = {}
  for k, p in ipairs(found.problems) do problems[k] = { severity = p.severity, message = p.message, file = p.file } end
  return { ok = true, workspace = host.workspace(), [kind] = host.array(out), problems = host.array(problems) }
end

function listing.show(host, kind)
  host.catalogue().load_trusted(kind)
  local data <const> = listing.data(host, kind)
  if host.json then
    host.out_json(data)
    return 0
  end
  local style <const> = host.style
  local rows <const> = {}
  local mark <const> = { trusted = "green", ["not trusted"] = "yellow", broken = "red", refused = "red", shadowed = "dim", documents = "cyan" }
  local untrusted = false
  for i, item in ipairs(data[kind]) do
    if item.state == "not trusted" then untrusted = true end
    local command <const> = item.alias or item.state ~= "documents" and item.state ~= "shadowed" and item.name or ""
    rows[i] = { report.clean(item.name), report.clean(command), style[mark[item.state]](item.state), report.clean(host.short(item.path)) }
  end
  if #rows == 0 then
    host.out("no " .. kind .. "\n")
  else
    host.out(report.table({ { title = kind == "skills" and "skill" or "agent" }, { title = "command" }, { title = "state" }, { title = "path" } }, rows, style))
  end
  local lines <const> = {}
  for _, item in ipairs(data[kind]) do
    for _, other in ipairs(item.shadows) do
      lines[#lines + 1] = ("%s shadows %s"):format(report.clean(host.short(item.path)), report.clean(host.short(other)))
    end
  end
  local function tell(p)
    if p.severity == "note" then return end
    local place = host.short(p.file or "")
    if p.line then place = place .. ":" .. p.line .. (p.column and ":" .. p.column or "") end
    lines[#lines + 1] = ("%s: %s: %s"):format(report.clean(place), p.severity, report.clean(p.message))
  end
  for _, item in ipairs(data[kind]) do
    for _, p in ipairs(item.problems) do tell(p) end
  end
  for _, p in ipairs(data.problems) do tell(p) end
  if untrusted then lines[#lines + 1] = ("nkiln trust lets %s run its own skills"):format(report.clean(host.short(data.workspace))) end
  if #lines > 0 then host.out("\n" .. table.concat(lines, "\n") .. "\n") end
  return 0
end

return listing
