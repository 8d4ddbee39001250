-- SPDX-License-Identifier: MIT
-- work.debug: one step of debugging, in a worker: look at a kernel's text, say what is wrong first, propose one edit, and
-- say what the edited text does. Nothing is written here.
--
-- request: { path=, source=text, cases={texts}, entry=, target=, nki_version=, reference=, reference_function=, roots=, cwd=,
--   seen={[sha256]=true: texts not to return to}, distributions= }
-- result:  { status="clean"|"fixed"|"stuck", stage="build"|"algorithm"|"rounding"|nil, diagnostic=, pattern=, fix={title, edits}, text=new text,
--   after={ok=, stage=, code=, line=, message=}, verification=, tried= }

local check <const> = require "nki.check"
local diagnostics <const> = require "nki.diagnostics"
local fs <const> = require "rt.fs"
local reference_module <const> = require "reference"
local source <const> = require "nki.source"
local verify <const> = require "verify"

local work <const> = {}

local function check_text(request, text, fixes)
  return check.run({
    path = request.path, source = text, cases = request.cases, entry = request.entry, target = request.target, version = request.nki_version, roots = request.roots,
    cwd = request.cwd, fixes = fixes,
  })
end

-- Every repair of a report that changes the text into one not seen before, the checked ones first.
local function candidates(report, text, seen)
  local list <const>, known <const> = {}, {}
  local function add(d, fix)
    if not fix then return end
    local repaired <const> = source.apply(text, fix.edits)
    if not repaired or repaired == text then return end
    local hash <const> = fs.sha256(repaired)
    if seen[hash] or known[hash] then return end
    known[hash] = true
    list[#list + 1] = { diagnostic = d, fix = fix, text = repaired, hash = hash }
  end
  for _, d in ipairs(report.diagnostics) do if d.severity == "error" then add(d, d.fix) end end
  for _, d in ipairs(report.diagnostics) do
    if d.severity == "error" then for _, fix in ipairs(d.fixes or {}) do add(d, fix) end end
  end
  return list
end

local function short(d) return d and { code = d.code, line = d.line, column = d.column, message = d.message } or nil end

local function first_error(report)
  for _, d in ipairs(report.diagnostics) do if d.severity == "error" then return d end end
  return nil
end

local function load_reference(request)
  if not request.reference then return nil end
  return reference_module.load({ path = request.reference, fn = request.reference_function, roots = request.roots })
end

local function prove(request, text, report, reference, distributions)
  return verify.run({
    path = request.path, source = text, entry = report.entry, cases = check.cases(request.cases, request.cwd), reference = reference, target = request.target,
    version = request.nki_version, roots = request.roots, distributions = distributions,
  })
end

function work.run(request, job)
  local function progress(text) if job and job.progress then job.progress({ text = text }) end end
  local text, path_error = request.source, nil
  if not text then
    local file
    file, path_error = source.read(request.path)
    if not file then return nil, { code = path_error.code, message = path_error.message, status = 2 } end
    text = file.text
  end
  local seen <const> = request.seen or {}
  progress("checking")
  local report <const>, err <const> = check_text(request, text, true)
  if not report then return nil, err end
  local reference <const>, why <const> = load_reference(request)
  if request.reference and not reference then
    why.status = why.status or 2
    return nil, why
  end
  local problem <const> = first_error(report)
  if problem then
    local result <const> = { status = "stuck", stage = "build", diagnostic = diagnostics.json(problem), tried = 0 }
    for _, candidate in ipairs(candidates(report, text, seen)) do
      result.tried = result.tried + 1
      result.status, result.fix, result.text, result.hash = "fixed", candidate.fix, candidate.text, candidate.hash
      result.diagnostic = diagnostics.json(candidate.diagnostic)
      local after <const> = check_text(request, candidate.text, false)
      local left <const> = after and first_error(after)
      result.after = { ok = after ~= nil and left == nil, stage = left and "build" or nil, error = short(left) }
      break
    end
    return result
  end
  if not reference then return { status = "clean", checked = true } end
  progress("proving")
  local verdict <const>, failed <const> = prove(request, text, report, reference, request.distributions)
  if not verdict then
    failed.status = failed.status or 2
    return nil, failed
  end
  if verdict.ok then return { status = "clean", checked = true, verification = verdict } end
  local found <const>, repairs <const> = pcall(require, "debugging.search")
  local result <const> = { status = "stuck", stage = verdict.verdict, verification = verdict, tried = 0 }
  for _, case in ipairs(verdict.cases) do
    if not case.ok then
      result.pattern = case.algorithm.pattern
      result.message = verify.describe(verdict)[1]
      break
    end
  end
  if found then return repairs.search(request, text, report, reference, verdict, result, job) end
  return result
end

return work
