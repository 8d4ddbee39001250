-- SPDX-License-Identifier: MIT
-- One repair for a kernel, found by trying: candidates come from the diagnostics (which know what the rule wants) and from
-- edits.lua (which guesses causes). A candidate is kept when the kernel then builds for every case and, with a reference, when a
-- quick verdict on the smallest case holds; failing that, the diagnostic's candidate after which the kernel gets furthest.
--
-- Everything is bounded: at most LIMIT candidates are tried per step.

local check <const> = require "nki.check"
local edits <const> = require "debugging.edits"
local fs <const> = require "rt.fs"
local session <const> = require "nki.session"
local source <const> = require "nki.source"
local verify <const> = require "verify"

local M <const> = {}

M.LIMIT = 400
M.QUICK_SETS = 2 -- input sets of a quick verdict

local function opened(request, text)
  return session.open({ path = request.path, source = text, entry = request.entry, target = request.target, version = request.nki_version })
end

function M.check(request, text, fixes)
  return check.run({
    path = request.path, source = text, cases = request.cases, entry = request.entry, target = request.target,
      version = request.nki_version, roots = request.roots,
    cwd = request.cwd, fixes = fixes,
  })
end

function M.first_error(report)
  for _, d in ipairs(report.diagnostics) do if d.severity == "error" then return d end end
  return nil
end

-- The case with the fewest elements.
local function smallest(cases)
  local best, least = nil, nil
  for _, case in ipairs(cases) do
    local _, elements <const> = verify.arguments_of(case)
    if not least or elements < least then best, least = case, elements end
  end
  return best
end

-- The cases of a quick verdict: the smallest, and the one whose extents are the least round (edges show there).
local function quick_cases(request)
  local cases <const> = check.cases(request.cases, request.cwd)
  local first <const> = smallest(cases)
  local ragged, odd = nil, -1
  for _, case in ipairs(cases) do
    local n = 0
    for _, arg in ipairs(case.args) do
      for _, e in ipairs(arg.shape or {}) do if e % 128 ~= 0 then n = n + 1 end end
    end
    if n > odd then ragged, odd = case, n end
  end
  return ragged ~= first and odd > 0 and { first, ragged } or { first }
end

function M.quick(request, text, entry, reference, cases, sets)
  local verdict <const> = verify.run({
    path = request.path, source = text, entry = entry, cases = cases, reference = reference, target = request.target,
      version = request.nki_version, roots = request.roots,
    distributions = sets or M.QUICK_SETS, private_seed = 4242,
  })
  return verdict and verdict.ok, verdict
end

local function score_of(report)
  local ok, reached = 0, 0
  for _, case in ipairs(report.cases) do
    if case.ok then ok = ok + 1 end
    reached = reached + (case.stats and case.stats.instructions or 0)
  end
  return ok * 1e9 + reached
end

local function diagnostic_candidates(report, text, seen)
  local list <const>, known <const> = {}, {}
  local function add(d, fix)
    local repaired <const> = fix and source.apply(text, fix.edits)
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

local function guessed(list, text, seen)
  local out <const>, known <const> = {}, {}
  for _, item in ipairs(list) do
    local ok <const>, changed <const> = pcall(source.apply, text, item.edits)
    if ok and changed and changed ~= text then
      local hash <const> = fs.sha256(changed)
      if not seen[hash] and not known[hash] then
        known[hash] = true
        out[#out + 1] = { fix = { title = item.title, edits = item.edits }, text = changed, hash = hash, kind = item.kind }
      end
    end
  end
  return out
end

-- How many candidates of each kind were tried, for the report.
local function count_kind(kinds, kind) kinds[kind] = (kinds[kind] or 0) + 1 end

-- A kernel that does not build. Returns the candidate to apply, how many were tried; candidate.clean when it then builds.
function M.build_repair(request, text, report, reference, seen, progress)
  local tried = 0
  local kinds <const> = {}
  local first, best, best_score = nil, nil, -1
  local base <const> = score_of(report)
  local error_now <const> = M.first_error(report)
  local cases <const> = reference and quick_cases(request)
  local function try(candidate, fallback)
    tried = tried + 1
    count_kind(kinds, candidate.kind or "repair of the diagnostic")
    local after <const> = M.check(request, candidate.text, false)
    if not after then return false end
    candidate.report = after
    local left <const> = M.first_error(after)
    candidate.left = left
    if not left then
      if not reference or M.quick(request, candidate.text, after.entry, reference, cases, 1) then
        candidate.clean = true
        return true
      end
      first = first or candidate
    elseif fallback then
      local score = score_of(after)
      -- The same complaint again is no progress.
      if left.code == error_now.code and left.message == error_now.message and score <= base then score = -1 end
      if left.code == "syntax" or left.code == "internal" or left.code == "internal-error" then score = -1 end
      if score > best_score then best, best_score = candidate, score end
    end
    return false
  end
  local known <const> = diagnostic_candidates(report, text, seen)
  for _, candidate in ipairs(known) do
    if try(candidate, true) then return candidate, tried, kinds end
  end
  local kernel <const> = opened(request, text)
  if kernel.tree and kernel.node then
    if progress then progress("looking for the cause") end
    for _, candidate in ipairs(guessed(edits.causes(kernel.tree, kernel.file, kernel.node), text, seen)) do
      if tried >= M.LIMIT then break end
      candidate.diagnostic = error_now
      if try(candidate, false) then return candidate, tried, kinds end
    end
  end
  if first then return first, tried, kinds end
  if best and best_score >= 0 then return best, tried, kinds end
  return nil, tried, kinds
end

-- A kernel that builds and computes something else. Fills the step's result.
function M.search(request, text, report, reference, _, result, job)
  local kernel <const> = opened(request, text)
  if not kernel.tree or not kernel.node then return result end
  local seen <const> = request.seen or {}
  local cases <const> = quick_cases(request)
  local list <const> = guessed(edits.all(kernel.tree, kernel.file, kernel.node), text, seen)
  result.kinds = {}
  for i, candidate in ipairs(list) do
    if result.tried >= M.LIMIT then break end
    result.tried = result.tried + 1
    count_kind(result.kinds, candidate.kind)
    if job and job.progress and i % 10 == 0 then job.progress({ text = ("trying small changes: %d of %d"):format(i, #list) }) end
    local quick_report <const> = M.check(request, candidate.text, false)
    if quick_report and not M.first_error(quick_report) and M.quick(request, candidate.text, report.entry, reference, { cases[1] }, 1)
      and M.quick(request, candidate.text, report.entry, reference, cases, 6) then
      result.status, result.fix, result.text, result.hash = "fixed", candidate.fix, candidate.text, candidate.hash
      result.after = { ok = true, proved = true }
      return result
    end
  end
  return result
end

return M
