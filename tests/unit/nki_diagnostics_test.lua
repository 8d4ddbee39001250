-- SPDX-License-Identifier: MIT
-- Every diagnostic from a real kernel: its code, its place, and, where it carries a repair, that following it gives a
-- kernel that checks and computes what was meant. The kernels are in tests/kernels/broken.

local t <const> = require "tests.lib"
local broken <const> = require "tests.kernels.broken"
local catalogue <const> = require "nki.catalogue"
local check <const> = require "nki.check"
local judge <const> = require "tests.kernels.judge"
local parser <const> = require "rt.python"

local function run(row, text)
  return check.run {
    path = "k.py", source = text, cases = { row.case }, target = row.target, version = row.version, step_limit = row.steps,
  }
end

local function describe(report)
  local lines <const> = {}
  for _, d in ipairs(report.diagnostics) do lines[#lines + 1] = ("%s:%s [%s] %s"):format(d.line, d.column, d.code, d.message) end
  return table.concat(lines, "\n      ")
end

local function first(report, row)
  for _, d in ipairs(report.diagnostics) do
    if row.warning or d.severity == "error" then return d end
  end
  return nil
end

local seen <const> = {}

for _, row in ipairs(broken) do
  seen[row.code] = true
  local function examine()
    local text = broken.text(row)
    local report, err <const> = run(row, text)
    if not report then
      t.eq(err.code, row.code)
      if row.has then t.has(err.message, row.has) end
      return
    end
    local d <const> = first(report, row)
    t.ok(d, "no diagnostic; " .. describe(report))
    t.eq(d.code, row.code, describe(report))
    t.ok(not d.fix_error, d.fix_error)
    t.ok(catalogue[d.code], "the catalogue lacks " .. d.code)
    t.ok(math.type(d.line) == "integer" and d.line >= 1, "no line")
    if row.has then t.has(d.message, row.has) end
    if row.line then t.eq(d.line, row.line) end
    if row.unrepaired then t.eq(d.fix, nil) end
    if not row.repairs then
      if d.fix and not d.from_lint then t.ok(d.fix_checked, "an untried fix is shown: " .. d.fix.title) end
      return
    end
    local titles <const> = {}
    for step = 1, row.repairs do
      local at <const> = first(report, row)
      if not at then break end
      t.ok(at.fix, ("step %d: no fix for [%s] %s"):format(step, at.code, at.message))
      titles[#titles + 1] = at.fix.title
      text = assert(check.repair(text, at))
      local why
      report, why = run(row, text)
      t.ok(report, why and why.message)
    end
    t.eq(first(report, row) and describe(report) or "clean", "clean", table.concat(titles, "; ") .. "\n" .. text)
    if row.fixed then t.has(text, row.fixed) end
    t.ok(parser.parse(text, "k.py"))
    if row.reference and judge.available() then
      local answer <const> = judge.run {
        path = "k.py", source = text, case = row.case, expression = row.reference, version = row.version, target = row.target,
      }
      t.ok(answer.exact <= 1e-9, ("the repaired kernel differs by %g:\n%s"):format(answer.exact, text))
    end
  end
  if not row.worker then t.test(("%s: %s"):format(row.code, row.name), examine) end
end

t.test("every code of the catalogue has a kernel that raises it, or says why not", function()
  -- Codes whose cause is not in a kernel's text, or that other tests raise.
  local elsewhere <const> = {}
  for code in ([[file-missing file-unreadable file-too-large file-empty file-binary file-not-utf8 bad-case case-file bad-version bad-target entry-missing
    internal activation-range import-ignored]]):gmatch("%S+") do
    elsewhere[code] = true
  end
  local missing <const> = {}
  for code in pairs(catalogue) do
    if not seen[code] and not elsewhere[code] then missing[#missing + 1] = code end
  end
  table.sort(missing)
  t.eq(missing, {})
end)

-- A fault of our own, injected where the machine is asked for its figures and where an instruction's Lua half runs.
t.test("internal: a fault of nkiln is one diagnostic that says so, not the kernel's error and no traceback", function()
  local session <const> = require "nki.session"
  local nki <const> = require "rt.nki"
  local case <const> = assert(require("nki.case").parse("x=float32[8,8]"))
  local text <const> = broken.head .. "@nki.jit\ndef k(x):\n    t = nl.load(x)\n    return t\n"
  local machine <const> = nki.machine
  local function with(fault)
    nki.machine = function(options) -- luacheck: ignore
      local made <const> = machine(options)
      return setmetatable({}, { __index = function(_, name)
        local value <const> = made[name]
        if type(value) ~= "function" then return value end
        return function(_, ...)
          if name == "input" then fault() end
          return value(made, ...)
        end
      end })
    end
    local ok <const>, result <const> = pcall(session.run, { path = "k.py", source = text, case = case, execute = false })
    nki.machine = machine
    return ok, result
  end
  for _, raised in ipairs { { code = "internal-error", message = "internal error: a gear broke" }, { code = "internal", message = "a gear broke" } } do
    local ok <const>, result <const> = with(function() error(raised, 0) end)
    t.ok(ok, "raised instead of reported")
    t.eq(result.ok, false)
    t.eq(#result.diagnostics, 1)
    local d <const> = result.diagnostics[1]
    t.eq({ d.code, d.severity }, { "internal", "error" })
    t.has(d.message, "a gear broke")
    t.ok(d.line, "no line")
    t.eq(d.fix, nil)
  end
  local opened <const> = session.open { path = "k.py", source = text }
  local d <const> = session.add_error(opened, "prelude/x.lua:1: a gear broke").diagnostics[1]
  t.eq(d.code, "internal")
  t.has(d.message, "a fault inside nkiln: prelude/x.lua:1: a gear broke")
end)
