-- SPDX-License-Identifier: MIT
-- work.debug: one step of debugging, in a worker: look at a kernel's text, say what is wrong first, propose one edit, and
-- say what the edited text does. Nothing is written here.
--
-- request: { path=, source=text, cases={texts}, entry=, target=, nki_version=, reference=, reference_function=, roots=, cwd=,
--   seen={[sha256]="path" (a text on the way here) or "dead"}: texts not to return to, step_seconds=, distributions= }
-- result:  { status="clean"|"fixed"|"stuck", stage="build"|"algorithm"|"rounding"|nil, diagnostic=, pattern=, message=, fix={title, edits},
--   text=new text, hash=, after={rank="proved"|"checks"|"better"|"builds"|"further", reach=, wrong=, count=, was=, error=,
--   standing=, refuted=a shape that nobody named and that the repaired kernel gets wrong}, verification=the proof of the new text where it is proved,
--   else what the verifier says of the old one,
--   standing=how far the old text is (debugging/search.lua), as after.standing of the new one,
--   tried=, kinds={[kind]=n}, repeated=how many edits would lead to a text seen before, returns=how many of the diagnostic's own lead to
--   one on the way, limit="candidates"|"seconds"|nil, limit_value= }
-- err: {code=, message=, status=2} for input that cannot be worked on, a reference that fails among them.

local diagnostics <const> = require "nki.diagnostics"
local inputs <const> = require "verify.inputs"
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

local function bad_input(err)
  err.status = err.status or 2
  return nil, err
end

-- Fill the result with what a search found and what it cost.
local function conclude(result, candidate, trial, request, reference, text)
  result.tried, result.kinds, result.repeated, result.returns, result.limit = trial.tried, trial.kinds, trial.repeated, trial.returns, trial.limit
  if trial.limit then result.limit_value = trial.limit == "seconds" and (request.step_seconds or search.SECONDS) or search.LIMIT end
  if not candidate then return result end
  result.status, result.fix, result.text, result.hash = "fixed", candidate.fix, candidate.text, candidate.hash
  local m <const>, base <const> = candidate.measure, trial.base
  if candidate.rank == "proved" then result.verification = candidate.verdict end
  local over <const> = candidate.rank == "proved" or candidate.rank == "checks" -- nothing is better, so nothing is compared
  result.standing = not over and search.standing(request, text, reference) or nil
  result.after = {
    rank = candidate.rank, reach = candidate.reach, error = short(candidate.left), wrong = m and m.wrong, count = m and m.count,
    standing = not over and search.standing(request, candidate.text, reference) or nil,
    was = base and base.wrong, refuted = candidate.held == "refuted" and candidate.held_shape or nil,
  }
  return result
end

-- What the first failing case says.
local function failing_case(verdict)
  for _, case in ipairs(verdict.cases) do
    if not case.ok then return case end
  end
  return verdict.cases[1]
end

local function numbers(request, text, report, reference, verdict, progress)
  local case <const> = failing_case(verdict)
  local result <const> = { status = "stuck", stage = verdict.verdict, verification = verdict, pattern = case.algorithm.pattern }
  local lines <const> = verify.describe({ cases = { case } })
  result.message = case.text or (lines[2] or lines[1]):gsub("^%s+", "")
  local a <const> = case.algorithm
  if not a.ok and a.distribution and a.distribution ~= "normal" then -- normal inputs come first, so those were right
    for _, d in ipairs(inputs.distributions) do
      if d.name == a.distribution and d.why then
        result.message, result.pattern = ("right on normal inputs, wrong on %s ones (%s): %s"):format(d.name, d.why, result.message), nil
        break
      end
    end
  end
  if case.diagnostics then -- it builds, and fails on data
    for _, d in ipairs(case.diagnostics) do
      if d.severity == "error" then
        result.diagnostic, result.message = diagnostics.json(d), d.message
        break
      end
    end
  end
  local trial <const> = search.trial(request, progress)
  local candidate <const>, failed <const> = search.numbers_repair(request, text, report, reference, verdict, trial)
  if failed then return bad_input(failed) end
  return conclude(result, candidate, trial, request, reference, text)
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
  if request.reference and not reference then return bad_input(wrong) end
  local problem <const> = search.first_error(report)
  if problem then
    local result <const> = { status = "stuck", stage = "build", diagnostic = diagnostics.json(problem) }
    local trial <const> = search.trial(request, progress)
    local candidate <const>, failed <const> = search.build_repair(request, text, report, reference, trial)
    if failed then return bad_input(failed) end
    if candidate then result.diagnostic = diagnostics.json(candidate.diagnostic) end
    return conclude(result, candidate, trial, request, reference, text)
  end
  if not reference then return { status = "clean", checked = true } end
  progress("proving")
  local verdict <const>, failed <const> = search.prove(request, text, report.entry, reference)
  if not verdict then return bad_input(failed) end
  if verdict.ok then return { status = "clean", checked = true, verification = verdict } end
  progress("trying small changes")
  return numbers(request, text, report, reference, verdict, progress)
end

return work
