-- SPDX-License-Identifier: MIT
-- check: a kernel against cases, shape-only, as a report of diagnostics. Each machine error may come with several
-- repairs; they are tried here on the kernel's text, and the first that makes the error go away is the one that is
-- shown. A repair that leaves the error where it was is not shown at all.
--
--   check.run{ path=, source=(text), cases={texts}, entry=, target=, version=, roots=, cwd=, step_limit=, fixes=bool }
--     -> report | nil, err
--   report: {ok=, entry=, path=, cases={{case=, ok=, diagnostics=, stats=, printed=}}, diagnostics={each once}, functions=}
--   err: {code=, message=, where=, hint=, status=2}: the input is not what a kernel check needs
--   check.better_fix(d, run)  choose among d.fixes by running the repaired text
--   check.repair(text, d)     the text with d's fix applied

local case <const> = require "nki.case"
local session <const> = require "nki.session"
local source <const> = require "nki.source"

local check <const> = {}

function check.repair(text, d)
  if not d.fix then return nil end
  return source.apply(text, d.fix.edits)
end

local function first_error(result)
  for _, d in ipairs(result.diagnostics) do
    if d.severity == "error" then return d end
  end
  return nil
end
check.first_error = first_error

local function newlines(text) return select(2, text:gsub("\n", "")) end

-- Lines a fix adds before a line.
local function shift_of(fix, line)
  local shift = 0
  for _, edit in ipairs(fix.edits) do
    if edit.line <= line then shift = shift + newlines(edit.text) - (edit.end_line - edit.line) end
  end
  return shift
end

-- How far did a repaired kernel get? 0: the same error, or no kernel any more; 1: another error, but earlier or in the
-- same statement; 2: another error, further on; 3: no error.
local function score(before, d, after, fix)
  local e <const> = first_error(after)
  if not e then return 3 end
  if d.code == "syntax" and e.code == "syntax" then return (e.line or 0) > (d.line or 0) + shift_of(fix, d.line or 0) and 1 or 0 end
  if e.code == "syntax" or e.code == "internal" then return 0 end
  local same_text <const> = e.message == d.message and e.text == d.text
  if e.code == d.code and same_text then return 0 end
  local reached <const>, was <const> = after.stats and after.stats.instructions or 0, before.stats and before.stats.instructions or 0
  if e.from_lint and not d.from_lint then return 0 end
  if e.code == d.code and e.message == d.message and reached <= was then return 0 end
  if reached < was then return 1 end
  local shift <const> = shift_of(fix, d.line or 0)
  local same_statement <const> = e.line and d.line and e.line >= d.line + shift and e.line <= (d.end_line or d.line) + shift
  return reached == was and same_statement and 1 or 2
end

local CANDIDATES <const>, WORK <const> = 6, 2000000 -- repairs tried; instructions all trials together may record

-- Keep the first fix with the best score; drop the fix when none helps. `run(text)` runs a repaired text shape-only.
function check.better_fix(result, d, text, run)
  if not d.fixes or #d.fixes == 0 then return end
  local best, best_score = nil, 0
  local each <const> = math.max(1, result.stats and result.stats.instructions or 1)
  for i, fix in ipairs(d.fixes) do
    if i > CANDIDATES or i > 2 and i * each > WORK then break end
    local repaired <const> = source.apply(text, fix.edits)
    if repaired and repaired ~= text then
      local points <const> = score(result, d, run(repaired), fix)
      if points > best_score then
        best, best_score = fix, points
        if points == 3 then break end
      end
    end
  end
  d.fix = best
  d.fix_checked = best ~= nil and (best_score == 3 and "clean" or "further") or nil
end

local function input_error(code, message, fields)
  local err <const> = { code = code, message = message, status = 2 }
  for key, value in pairs(fields or {}) do err[key] = value end
  return nil, err
end
check.input_error = input_error

-- The case a kernel could be checked with, from its signature.
function check.example_case(params, text)
  local parts <const> = {}
  -- What the text indexes, asks for an attribute (x[...], x.shape) or moves is an array; a name that it only uses may be a number.
  local function is_array(name)
    if not text or text:find("%f[%w_]" .. name .. "%s*[%[%.]") then return true end
    for keyword in text:gmatch("([%a]+)%d?%s*=%s*" .. name .. "%f[^%w_]") do
      if keyword == "src" or keyword == "data" or keyword == "stationary" or keyword == "moving" then return true end
    end
    return false
  end
  local any = false
  for _, param in ipairs(params) do any = any or is_array(param.name) end
  for _, param in ipairs(params) do
    if not param.default then parts[#parts + 1] = param.name .. ((is_array(param.name) or not any) and "=float32[128,512]" or "=0.5") end
  end
  return table.concat(parts, ", ")
end

-- Parse the texts of cases; nil, err with the first that is wrong.
function check.cases(texts, cwd)
  local list <const> = {}
  for i, text in ipairs(texts or {}) do
    local parsed <const>, err <const> = case.parse(text)
    if not parsed then
      return input_error("bad-case", case.line(err), {
        column = err.column, text = err.text, pointer = case.render(err), hint = err.accepted and "accepted: " .. err.accepted,
      })
    end
    for _, arg in ipairs(parsed.args) do
      if arg.kind == "file" and cwd and arg.path:sub(1, 1) ~= "/" then arg.file = cwd .. "/" .. arg.path end
    end
    list[i] = parsed
  end
  return list
end

local function add_unique(list, seen, d)
  local key <const> = table.concat({ d.code, d.file or "", d.line or 0, d.column or 0, d.message }, "\1")
  if seen[key] then return end
  seen[key] = true
  list[#list + 1] = d
end

-- Codes that are about what was given, not about the kernel.
local INPUT <const> = {
  ["file-missing"] = true, ["file-unreadable"] = true, ["file-too-large"] = true, ["file-empty"] = true, ["file-binary"] = true,
  ["file-not-utf8"] = true, ["case-missing-parameter"] = true, ["case-unknown-parameter"] = true, ["bad-case"] = true,
  ["case-file"] = true, ["bad-version"] = true, ["bad-target"] = true, ["entry-missing"] = true,
}
check.input_codes = INPUT

function check.run(options)
  local cases <const>, bad <const> = check.cases(options.cases, options.cwd)
  if not cases then return nil, bad end
  local file = options.source and source.new(options.path or "kernel.py", options.source)
  local why
  if not file then
    if options.source then
      file, why = source.new(options.path or "kernel.py", options.source)
    else
      file, why = source.read(options.path)
    end
  end
  if not file then return input_error(why.code, why.message, { line = why.line, column = why.column }) end

  local report <const> = { ok = true, path = options.path, cases = {}, diagnostics = {} }
  local seen <const> = {}
  local function base(text)
    return {
      path = file.path, source = text, entry = options.entry, target = options.target, version = options.version, mode = "chip",
      execute = false, roots = options.roots, step_limit = options.step_limit, cwd = options.cwd,
    }
  end

  if #cases == 0 then
    -- Without a case only the text can be judged: syntax, entry, rules.
    local result <const> = session.open(base(file.text))
    for _, d in ipairs(result.diagnostics) do add_unique(report.diagnostics, seen, d) end
    report.entry, report.functions, report.ok = result.entry, result.functions, result.ok
    if result.ok then
      return input_error("bad-case", ("a case is needed: it gives the shapes that `%s` is called with"):format(case.signature(result.entry, result.params)),
        { hint = ('--case "%s"'):format(check.example_case(result.params, file.text)) })
    end
    return report
  end

  for i, parsed in ipairs(cases) do
    local request <const> = base(file.text)
    request.case = parsed
    if options.progress then options.progress({ text = ("case %d of %d"):format(i, #cases), fraction = (i - 1) / #cases }) end
    local result <const> = session.run(request)
    report.entry = report.entry or result.entry
    report.functions = report.functions or result.functions
    local first <const> = first_error(result)
    if first and INPUT[first.code] then
      return input_error(first.code, first.message, { hint = first.hint, line = first.line, pointer = first.pointer })
    end
    if options.fixes ~= false then
      for _, d in ipairs(result.diagnostics) do
        if d.fixes and d.severity == "error" and not d.from_lint then
          check.better_fix(result, d, file.text, function(text)
            local again <const> = base(text)
            again.case = parsed
            return session.run(again)
          end)
        end
      end
    end
    for _, d in ipairs(result.diagnostics) do
      d.case = d.case or parsed.text
      add_unique(report.diagnostics, seen, d)
    end
    report.cases[i] = { case = parsed.text, ok = result.ok, diagnostics = result.diagnostics, stats = result.stats, printed = result.printed }
    report.ok = report.ok and result.ok
    if first and first.code == "entry-ambiguous" then report.exit_status = 2 end -- a choice is missing, nothing is wrong yet
    if first and (first.from_lint or first.code == "syntax" or first.code:match("^entry")) then break end -- every case would say the same
  end
  return report
end

return check
