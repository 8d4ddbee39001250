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
local reference_module <const> = require "reference"
local search <const> = require "debugging.search"
local source <const> = require "nki.source"
local verify <const> = require "verify"

local work <const> = {}

local function short(d) return d and { code = d.code, line = d.line, column = d.column, message = d.message } or nil end

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
  local text = request.source
  if not text then
    local file <const>, why <const> = source.read(request.path)
    if not file then return nil, { code = why.code, message = why.message, status = 2 } end
    text = file.text
  end
  progress("checking")
  local report <const>, err <const> = search.check(request, text, true)
  if not report then return nil, err end
  local reference <const>, wrong <const> = load_reference(request)
  if request.reference and not reference then
    wrong.status = wrong.status or 2
    return nil, wrong
  end
  local problem <const> = search.first_error(report)
  if problem then
    local result <const> = { status = "stuck", stage = "build", diagnostic = diagnostics.json(problem) }
    local candidate <const>, tried <const>, kinds <const> = search.build_repair(request, text, report, reference, request.seen or {}, progress)
    result.tried, result.kinds = tried, kinds
    if candidate then
      result.status, result.fix, result.text, result.hash = "fixed", candidate.fix, candidate.text, candidate.hash
      result.diagnostic = diagnostics.json(candidate.diagnostic)
      result.after = { ok = candidate.left == nil, stage = candidate.left and "build" or nil, error = short(candidate.left) }
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
  local result <const> = { status = "stuck", stage = verdict.verdict, verification = verdict, tried = 0 }
  for _, case in ipairs(verdict.cases) do
    if not case.ok then
      result.pattern = case.algorithm.pattern
      result.message = verify.describe(verdict)[1]
      break
    end
  end
  progress("trying small changes")
  return search.search(request, text, report, reference, verdict, result, job)
end

return work
