-- SPDX-License-Identifier: MIT
-- One repair for a kernel, found by trying: candidates come from the diagnostics (which know what the rule wants) and from
-- edits.lua (which guesses causes). What may come of a step, best first:
--
--   proved    the kernel builds for every case and is proved against the reference
--   checks    it builds for every case; there is no reference
--   better    it builds and computes fewer wrong elements than before (one of several bugs is gone)
--   builds    it builds now, but its numbers are wrong: the next step works on them
--   further   it does not build yet, but the machine gets further
--
-- The last three are steps on a way that may lead nowhere; the agent goes back when it does.
-- Everything is bounded: at most LIMIT candidates and `step_seconds` of the request per step. What ended a search is named in
-- trial.limit: "candidates" or "seconds".

local check <const> = require "nki.check"
local edits <const> = require "debugging.edits"
local fs <const> = require "rt.fs"
local held <const> = require "debugging.held"
local measure <const> = require "debugging.measure"
local session <const> = require "nki.session"
local source <const> = require "nki.source"
local task <const> = require "rt.task"
local verify <const> = require "verify"

local M <const> = {}

M.LIMIT = 1500  -- candidates of one step
M.SECONDS = 120 -- of one step, where the request says nothing
M.BEAM = 6      -- how many partial repairs a second edit is tried on

-- Counting what was tried -------------------------------------------------------------------------------------------------

local Trial <const> = {}
Trial.__index = Trial

-- request.step_seconds bounds it; `progress(text)` is told now and then.
function M.trial(request, progress)
  local deadline <const> = task.now() + (request.step_seconds or M.SECONDS)
  return setmetatable({ tried = 0, repeated = 0, returns = 0, kinds = {}, deadline = deadline, progress = progress }, Trial)
end

-- May another candidate be tried?
function Trial:more()
  if self.tried >= M.LIMIT then self.limit = "candidates" end
  if task.now() >= self.deadline then self.limit = "seconds" end
  return not self.limit
end

function Trial:count(kind)
  self.tried = self.tried + 1
  self.kinds[kind] = (self.kinds[kind] or 0) + 1
  if self.progress and self.tried % 10 == 0 then self.progress(("trying small changes: %d"):format(self.tried)) end
end

-- Checks and verdicts -------------------------------------------------------------------------------------------------------

local function opened(request, text)
  return session.open({ path = request.path, source = text, entry = request.entry, target = request.target, version = request.nki_version })
end

function M.check(request, text, fixes)
  return check.run({
    path = request.path, source = text, cases = request.cases, entry = request.entry, target = request.target,
    version = request.nki_version, roots = request.roots, cwd = request.cwd, fixes = fixes,
  })
end

function M.first_error(report)
  for _, d in ipairs(report.diagnostics) do if d.severity == "error" then return d end end
  return nil
end

function M.reach_of(report)
  local ok, reached = 0, 0
  for _, case in ipairs(report.cases) do
    if case.ok then ok = ok + 1 end
    reached = reached + (case.stats and case.stats.instructions or 0)
  end
  return ok * 1e9 + reached
end

local function errors_of(report)
  local n = 0
  for _, d in ipairs(report.diagnostics) do if d.severity == "error" then n = n + 1 end end
  return n
end

local NO_KERNEL <const> = { syntax = true, internal = true, ["internal-error"] = true }

-- The whole proof of a text: every case, every set of inputs.
function M.prove(request, text, entry, reference, cases)
  return verify.run({
    path = request.path, source = text, entry = entry, cases = cases or check.cases(request.cases, request.cwd), reference = reference,
    target = request.target, version = request.nki_version, roots = request.roots, cwd = request.cwd, distributions = request.distributions,
  })
end

-- The cases of a quick look: the smallest, and the one whose extents are the least round (edges show there).
local function quick_cases(request)
  local cases <const> = check.cases(request.cases, request.cwd)
  local first, least, ragged, odd = nil, nil, nil, -1
  for _, case in ipairs(cases) do
    local arguments <const>, elements <const> = verify.arguments_of(case)
    if not least or elements < least then first, least = case, elements end
    local n = 0
    for _, arg in ipairs(arguments) do
      for _, e in ipairs(arg.shape or {}) do if e % 128 ~= 0 then n = n + 1 end end
    end
    if n > odd then ragged, odd = case, n end
  end
  return ragged ~= first and odd > 0 and { first, ragged } or { first }
end

local function meter_of(request, reference, first)
  local sets <const> = {}
  if first then sets[1] = first end
  for _, case in ipairs(quick_cases(request)) do
    if not (first and first.case.text == case.text and (first.distribution or "normal") == "normal") then sets[#sets + 1] = { case = case } end
  end
  return measure.new({ request = request, reference = reference, sets = sets })
end

-- Proved candidates that are not confirmed on shapes nobody named. The search goes on for a while in case a better one comes.
local PATIENCE <const> = { unknown = 60, refuted = 300 }
local Shelf <const> = {}
Shelf.__index = Shelf

local function shelf(request, reference, trial)
  return setmetatable({ held = reference and held.new(request, reference, quick_cases(request)[1]), trial = trial }, Shelf)
end

-- A proved candidate: true when it is the one to take now, else it is put aside.
function Shelf:offer(candidate, entry)
  if not self.held then return true end
  local verdict <const>, shape <const> = self.held:judge(candidate.text, entry)
  if verdict == "confirmed" then return true end
  candidate.held, candidate.held_shape = verdict, shape
  if not self.best or self.best.held == "refuted" and verdict == "unknown" then
    self.best = candidate
    self.until_tried = self.trial.tried + PATIENCE[verdict]
  end
  return false
end

function Shelf:patient() return not self.best or self.trial.tried < self.until_tried end

-- How far a text is, in terms that all texts of a run share: {built=, ran=, wrong=, count=, score=}, and for one that does not build {read=
-- is it a kernel at all, line= of its error where it is none, reach=, errors=}. The sets of inputs are always the same, unlike those of a
-- search, which begin with the one that the proof failed on; `wrong` and `score` are measure.lua's.
-- Without a reference a kernel that builds counts as right. debugging/way.lua compares them.
function M.standing(request, text, reference)
  local report <const> = M.check(request, text, false)
  local problem <const> = report and M.first_error(report)
  if not report then return { read = false, built = false, ran = false, line = 0 } end
  if problem then
    local read <const> = not NO_KERNEL[problem.code]
    return { read = read, built = false, ran = false, reach = M.reach_of(report), errors = errors_of(report), line = not read and problem.line or 0 }
  end
  if not reference then return { read = true, built = true, ran = true, wrong = 0, score = 0 } end
  local meter <const> = meter_of(request, reference)
  local m <const> = meter and meter:of(text, report.entry)
  if not m or m.score >= measure.NOT_RUN then return { read = true, built = true, ran = false } end
  return { read = true, built = true, ran = true, wrong = m.wrong, count = m.count, score = m.score }
end

-- Candidates ------------------------------------------------------------------------------------------------------------------

-- Turn fixes into texts, each once and none that was seen before. `fill(candidate, fix)` is given for the diagnostics' own
-- repairs; those among them that lead back to a text on the way here are counted in trial.returns.
local function texts_of(fixes, text, seen, trial, fill)
  local out <const>, known <const> = {}, {}
  for _, item in ipairs(fixes) do
    local ok <const>, changed <const> = pcall(source.apply, text, item.edits)
    if ok and changed and changed ~= text then
      local hash <const> = fs.sha256(changed)
      if seen[hash] then
        trial.repeated = trial.repeated + 1
        if fill and seen[hash] == "path" then trial.returns = trial.returns + 1 end
      elseif not known[hash] then
        known[hash] = true
        local candidate <const> = {
          fix = { title = item.title, edits = item.edits }, text = changed, hash = hash, kind = item.kind or "repair of the diagnostic",
        }
        if fill then fill(candidate, item) end
        out[#out + 1] = candidate
      end
    end
  end
  return out
end

local function diagnostic_candidates(report, text, seen, trial)
  local fixes <const>, of <const> = {}, {}
  local function add(d, fix)
    fixes[#fixes + 1] = fix
    of[fix] = d
  end
  for _, d in ipairs(report.diagnostics) do if d.severity == "error" and d.fix then add(d, d.fix) end end
  for _, d in ipairs(report.diagnostics) do
    if d.severity == "error" then for _, fix in ipairs(d.fixes or {}) do add(d, fix) end end
  end
  return texts_of(fixes, text, seen, trial, function(candidate, fix) candidate.diagnostic = of[fix] end)
end

-- A kernel that does not build ------------------------------------------------------------------------------------------------

-- Returns the candidate to apply, or nil; nil, err for a reference that fails. candidate.verdict is its proof; candidate.rank: "proved", "checks", "builds" or
-- "further";
-- candidate.measure; candidate.left is the error that remains.
function M.build_repair(request, text, report, reference, trial)
  local seen <const> = request.seen or {}
  local base <const> = M.reach_of(report)
  local problem <const> = M.first_error(report)
  local builds, furthest, furthest_score = nil, nil, -1
  local guess, guess_score = nil, base -- a guess must get further than the text as it is
  local meter, why
  if reference then
    meter, why = meter_of(request, reference)
    if not meter then return nil, why end
  end
  local aside <const> = shelf(request, reference, trial)

  local function numbers(candidate, after)
    if not meter then return true end
    candidate.measure = meter:of(candidate.text, after.entry)
    if not candidate.measure.ok then return false end
    candidate.verdict = M.prove(request, candidate.text, after.entry, reference)
    return candidate.verdict ~= nil and candidate.verdict.ok
  end

  -- Is this the repair? Otherwise remember it as something to fall back to.
  local function try(candidate)
    trial:count(candidate.kind)
    local after <const> = M.check(request, candidate.text, false)
    if not after then return false end
    local left <const> = M.first_error(after)
    candidate.left, candidate.reach = left, M.reach_of(after)
    if not left then
      if numbers(candidate, after) then
        candidate.rank = meter and "proved" or "checks"
        return aside:offer(candidate, after.entry)
      end
      candidate.rank = "builds"
      if not builds or candidate.measure and builds.measure and measure.better(candidate.measure, builds.measure) then builds = candidate end
    elseif candidate.diagnostic == nil then
      if candidate.reach > guess_score and not NO_KERNEL[left.code] then
        candidate.rank = "further"
        guess, guess_score = candidate, candidate.reach
      end
    elseif (not NO_KERNEL[left.code] or problem.code == "syntax" and (left.line or 0) > (problem.line or 0)) then
      -- The same complaint again is no progress.
      local same <const> = left.code == problem.code and left.message == problem.message and candidate.reach <= base
        and errors_of(after) >= errors_of(report)
      if not same and candidate.reach > furthest_score then
        candidate.rank = "further"
        furthest, furthest_score = candidate, candidate.reach
      end
    end
    return false
  end

  for _, candidate in ipairs(diagnostic_candidates(report, text, seen, trial)) do
    if not trial:more() then break end
    if try(candidate) then return candidate end
  end
  if aside.best and aside.best.held == "unknown" then return aside.best end
  trial.from_diagnostic = trial.tried
  local kernel <const> = opened(request, text)
  if kernel.tree and kernel.node and trial:more() then
    if trial.progress then trial.progress("looking for the cause") end
    for _, candidate in ipairs(texts_of(edits.causes(kernel.tree, kernel.file, kernel.node, problem, reference ~= nil), text, seen, trial)) do
      if not trial:more() or not aside:patient() then break end
      if try(candidate) then
        candidate.diagnostic = problem
        return candidate
      end
    end
  end
  local best <const> = aside.best or builds or furthest or guess
  if best then best.diagnostic = best.diagnostic or problem end
  return best
end

-- A kernel that builds and computes something else ----------------------------------------------------------------------------

-- The set of inputs that the proof failed on.
local function failing_set(request, verdict)
  for i, case in ipairs(check.cases(request.cases, request.cwd)) do
    local result <const> = verdict.cases[i]
    if result and not result.ok then return { case = case, distribution = result.algorithm.distribution } end
  end
  return nil
end

local function guesses(request, text, seen, trial, kinds)
  local kernel <const> = opened(request, text)
  if not kernel.tree or not kernel.node then return {} end
  return texts_of(edits.all(kernel.tree, kernel.file, kernel.node, kinds), text, seen, trial)
end

-- Rounding: the algorithm is right, so only the types of tiles are in question.
local function precision(request, text, entry, reference, verdict, trial)
  local failing <const> = failing_set(request, verdict)
  local first <const> = failing and { failing.case } or nil
  for _, candidate in ipairs(guesses(request, text, request.seen or {}, trial, { precision = true })) do
    if not trial:more() then return nil end
    trial:count(candidate.kind)
    local report <const> = M.check(request, candidate.text, false)
    if report and not M.first_error(report) then
      local quick <const> = first and M.prove(request, candidate.text, entry, reference, first)
      if not first or quick and quick.ok then
        candidate.verdict = M.prove(request, candidate.text, entry, reference)
        if candidate.verdict and candidate.verdict.ok then
          candidate.rank = "proved"
          return candidate
        end
      end
    end
  end
  return nil
end

-- Returns the candidate to apply, or nil; or nil, err. candidate.rank: "proved" or "better"; candidate.measure and trial.base are its
-- numbers and those of the text as it is.
function M.numbers_repair(request, text, report, reference, verdict, trial)
  local seen <const> = request.seen or {}
  if verdict.verdict == "rounding" then return precision(request, text, report.entry, reference, verdict, trial) end
  local meter <const>, why <const> = meter_of(request, reference, failing_set(request, verdict))
  if not meter then return nil, why end
  local base <const> = meter:of(text, report.entry)
  trial.base = base

  local function proved(candidate)
    local after <const> = M.check(request, candidate.text, false)
    if not after or M.first_error(after) then return false end
    local full <const> = M.prove(request, candidate.text, report.entry, reference)
    candidate.verdict = full
    return full ~= nil and full.ok
  end

  local partial <const> = {}
  local aside <const> = shelf(request, reference, trial)
  for _, candidate in ipairs(guesses(request, text, seen, trial)) do
    if not trial:more() or not aside:patient() then break end
    trial:count(candidate.kind)
    candidate.measure = meter:of(candidate.text, report.entry, base)
    candidate.order = #partial
    if candidate.measure.ok and proved(candidate) then
      candidate.rank = "proved"
      if aside:offer(candidate, report.entry) then return candidate end
    elseif measure.better(candidate.measure, base) then
      partial[#partial + 1] = candidate
    end
  end
  if aside.best then return aside.best end
  if #partial == 0 then return nil end
  table.sort(partial, function(a, b)
    if a.measure.score ~= b.measure.score then return a.measure.score < b.measure.score end
    return a.order < b.order
  end)
  -- Two bugs: a second edit on the most promising. What it finds is applied one edit at a time.
  for i = 1, math.min(M.BEAM, #partial) do
    local first <const> = partial[i]
    if not trial:more() then break end
    if trial.progress then trial.progress("trying a second change") end
    for _, candidate in ipairs(guesses(request, first.text, seen, trial)) do
      if not trial:more() then break end
      trial:count("second change")
      candidate.measure = meter:of(candidate.text, report.entry, first.measure)
      if candidate.measure.ok and proved(candidate) then
        first.rank = "better"
        return first
      end
    end
  end
  -- More than two: the best only where it mends a fair part of what is wrong.
  local best <const> = partial[1]
  if best.measure.wrong > 0.8 * base.wrong then return nil end
  best.rank = "better"
  return best
end

return M
