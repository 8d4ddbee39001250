-- SPDX-License-Identifier: MIT
-- kernelreport: what check, sim and watch print about a kernel. A result of a worker job in, text or JSON out.
--
-- A job's own `text`, if it has one, closes the report. Source lines are read once per file; a file that is gone or
-- changed meanwhile only costs the excerpt. Returns exit statuses: 0 right, 1 the kernel is wrong.

local diagnostics <const> = require "nki.diagnostics"
local report <const> = require "report"

local kernelreport <const> = {}

-- The text of a file for excerpts; nil when it cannot be read or is no text.
local function sources(host)
  local kept <const> = {}
  return function(path)
    if kept[path] == nil then
      local text <const> = host.disk.read(path, 4 << 20)
      kept[path] = text and utf8.len(text) and text or false
    end
    return kept[path] or nil
  end
end

local function shape_text(output)
  local dims <const> = {}
  for i, n in ipairs(output.shape or {}) do dims[i] = tostring(n) end
  return ("%s[%s]"):format(output.dtype or "?", table.concat(dims, ","))
end

local function number(value)
  if type(value) ~= "number" then return "" end
  return ("%.6g"):format(value)
end

local function case_lines(host, item, out)
  local style <const> = host.style
  local mark <const> = item.ok and style.green("ok") or style.red("FAILED")
  local facts <const> = {}
  if item.stats and item.stats.instructions then facts[#facts + 1] = report.count(item.stats.instructions, "instruction") end
  if item.seconds then facts[#facts + 1] = report.seconds(item.seconds) end
  out[#out + 1] = ("%s  %s%s"):format(mark, report.clean(item.case or ""), #facts > 0 and style.dim("  (" .. table.concat(facts, ", ") .. ")") or "")
  for _, line in ipairs(item.printed or {}) do out[#out + 1] = "    | " .. report.clean(tostring(line)) end
  for _, output in ipairs(item.outputs or {}) do
    local words <const> = { report.clean(output.name or "output"), shape_text(output) }
    if output.min then words[#words + 1] = ("min %s  mean %s  max %s"):format(number(output.min), number(output.mean), number(output.max)) end
    if output.path then words[#words + 1] = host.short(output.path) end
    out[#out + 1] = "    " .. table.concat(words, "  ")
  end
  local verdict <const> = item.verdict
  if type(verdict) == "string" then
    out[#out + 1] = "    " .. report.clean(verdict)
  elseif type(verdict) == "table" and type(verdict.text) == "string" then
    for line in verdict.text:gmatch("[^\n]+") do out[#out + 1] = "    " .. report.clean(line) end
  end
end

-- The report as text.
function kernelreport.text(host, result)
  local out <const> = {}
  local text <const>, counts <const> = report.diagnostics(result.diagnostics or {}, { sources = sources(host), style = host.style, cwd = host.cwd })
  if text ~= "" then out[#out + 1] = (text:gsub("\n$", "")) end
  for _, item in ipairs(result.cases or {}) do case_lines(host, item, out) end
  if result.text then out[#out + 1] = (tostring(result.text):gsub("\n+$", "")) end
  local words <const> = {}
  for _, kind in ipairs { "error", "warning" } do
    if counts[kind] and counts[kind] > 0 then words[#words + 1] = report.count(counts[kind], kind) end
  end
  if #words > 0 then out[#out + 1] = table.concat(words, ", ") end
  if #out == 0 then out[1] = result.ok and "ok" or "failed" end
  return table.concat(out, "\n") .. "\n"
end

local function plain(list)
  local out <const> = {}
  for i, d in ipairs(list or {}) do out[i] = diagnostics.json(d) end
  return out
end

-- The report as one JSON value: lists stay lists, internal fields of diagnostics are left out.
function kernelreport.data(host, result)
  local copy <const> = {}
  for k, v in pairs(result) do copy[k] = v end
  copy.diagnostics = host.array(plain(result.diagnostics))
  if result.cases then
    local cases <const> = {}
    for i, item in ipairs(result.cases) do
      local one <const> = {}
      for k, v in pairs(item) do one[k] = v end
      one.diagnostics = item.diagnostics and host.array(plain(item.diagnostics)) or nil
      cases[i] = one
    end
    copy.cases = host.array(cases)
  end
  return copy
end

-- Print, and give the exit status.
function kernelreport.show(host, result)
  if host.json then host.out_json(kernelreport.data(host, result)) else host.out(kernelreport.text(host, result)) end
  return math.type(result.exit_status) == "integer" and result.exit_status or (result.ok and 0 or 1)
end

return kernelreport
