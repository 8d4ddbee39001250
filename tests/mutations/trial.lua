-- SPDX-License-Identifier: MIT
-- Break a kernel, debug it in this process, and say what became of it: "repaired", "equivalent" (the mutant is proved as it
-- is), or "stuck". Also the loop that counts them per class.
--
--   trial.debug(kernel, text[, options]) -> outcome, repairs, last result, the way taken
--   trial.every(operator, texts, draws, on)                  every distinct mutant that so many draws give
--   trial.rates{ seed=, per_class=, two=number of two-bug kernels, classes=how many are drawn (all) }
--     -> {{class=, kind=, repaired=, tried=, equivalent=, misses={texts}}}

local t <const> = require "tests.lib"
local debug_step <const> = require "work.debug"
local kernels <const> = require "tests.mutations.kernels"
local operators <const> = require "tests.mutations.operators"
local fs <const> = require "rt.fs"
local way <const> = require "debugging.way"

local M <const> = {}

local WRITTEN <const> = "tests/kernels/written"

function M.path(kernel, suffix)
  if kernel.writes then return suffix and WRITTEN .. "/references.py" or ("%s/%s.py"):format(WRITTEN, kernel.name) end
  return ("%s/%s%s.py"):format(kernel.folder or "tests/kernels", kernel.name, suffix or "")
end

local function folder(kernel) return kernel.writes and WRITTEN or kernel.folder or "tests/kernels" end

-- The kernel's text: from its file, or made by the writer.
local function text_of(kernel)
  if not kernel.writes then return t.read(M.path(kernel)) end
  local made <const> = assert(require("work.write").run({
    reference = WRITTEN .. "/references.py", reference_function = kernel.writes, cases = kernel.cases, roots = { WRITTEN }, target = "trn2",
    nki_version = "0.6", distributions = 2,
  }))
  assert(made.ok, kernel.name .. " could not be written")
  return made.text
end

-- Options: limit (iterations, 10), step_seconds. The loop is the agent's, without its files.
function M.debug(kernel, text, options)
  options = options or {}
  local w <const> = way.begin(text, fs.sha256(text))
  local repairs, stuck = 0, nil
  while true do
    local result <const>, err <const> = debug_step.run({
      path = M.path(kernel), source = w.text, cases = kernel.cases, reference = M.path(kernel, "_ref"), reference_function = kernel.writes,
      target = "trn2", nki_version = "0.6", roots = { folder(kernel) }, seen = way.seen(w), distributions = 3, step_seconds = options.step_seconds or 600,
    })
    if not result then return "stuck", repairs, err end
    if result.status == "clean" then return repairs == 0 and "equivalent" or "repaired", repairs, result, w end
    if result.status == "fixed" then
      repairs = repairs + 1
      if repairs > (options.limit or 10) then return "stuck", repairs, stuck or { message = "budget" }, w end
      if result.after.rank == "proved" then return "repaired", repairs, result, w end
      way.take(w, result)
    else
      stuck = stuck or result
      if not way.back(w, result) then return "stuck", repairs, stuck, w end
    end
  end
end

local function count(row, kernel, text, why)
  local outcome <const>, _, last <const> = M.debug(kernel, text)
  if outcome == "equivalent" then
    row.equivalent = row.equivalent + 1
    return
  end
  row.tried = row.tried + 1
  if outcome == "repaired" then
    row.repaired = row.repaired + 1
  else
    local d <const> = last and (last.diagnostic or last)
    row.misses[#row.misses + 1] = ("%s %s: %s"):format(kernel.name, why, d and (d.message or d.pattern or d.stage) or "?")
  end
end

local function new_row(class, kind) return { class = class, kind = kind, repaired = 0, tried = 0, equivalent = 0, misses = {} } end

-- The kernels an operator has a site in.
local function breakable(operator, texts)
  local out <const> = {}
  for _, kernel in ipairs(kernels) do
    if operators.sites(operator, texts[kernel.name]) > 0 then out[#out + 1] = kernel end
  end
  return out
end

function M.texts()
  local texts <const> = {}
  for _, kernel in ipairs(kernels) do texts[kernel.name] = text_of(kernel) end
  return texts
end

-- So many of a list, drawn; all where no number is given.
function M.draw(list, n, random)
  local rest <const>, out <const> = table.move(list, 1, #list, 1, {}), {}
  while #rest > 0 and #out < (n or #list) do out[#out + 1] = table.remove(rest, n and random(#rest) or 1) end
  return out
end

-- Every mutant there is of one operator: the rate without luck. `on(kernel, line, outcome, last)`.
function M.every(operator, texts, draws, on)
  for _, kernel in ipairs(kernels) do
    local seen <const> = {}
    for seed = 1, operators.sites(operator, texts[kernel.name]) > 0 and draws or 0 do
      local text <const>, line <const> = operators.apply(operator, texts[kernel.name], operators.random(seed))
      if text and not seen[text] then
        seen[text] = true
        local outcome <const>, _, last <const> = M.debug(kernel, text)
        on(kernel, line, outcome, last, text)
      end
    end
  end
end

function M.rates(options)
  local texts <const> = M.texts()
  local rows <const> = {}
  local random <const> = operators.random(options.seed)
  for _, operator in ipairs(M.draw(operators.list, options.classes, random)) do
    local row <const> = new_row(operator.class, operator.kind)
    rows[#rows + 1] = row
    local among <const> = breakable(operator, texts)
    for _ = 1, #among > 0 and options.per_class or 0 do
      local kernel <const> = among[random(#among)]
      local text <const>, line <const> = operators.apply(operator, texts[kernel.name], random)
      if text then count(row, kernel, text, "line " .. line) end
    end
    if options.on_row then options.on_row(row) end
  end
  local both <const> = new_row("two bugs", "two")
  for _ = 1, 20 * (options.two or 0) do
    if both.tried + both.equivalent >= options.two then break end
    local first <const>, second <const> = operators.list[random(#operators.list)], operators.list[random(#operators.list)]
    local among <const> = breakable(first, texts)
    local kernel <const> = among[1] and among[random(#among)]
    local once <const> = kernel and operators.apply(first, texts[kernel.name], random)
    local twice <const> = once and operators.apply(second, once, random)
    if twice then count(both, kernel, twice, first.class .. " + " .. second.class) end
  end
  rows[#rows + 1] = both
  if options.on_row then options.on_row(both) end
  return rows
end

return M
