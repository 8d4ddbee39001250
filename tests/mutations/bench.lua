-- SPDX-License-Identifier: MIT
-- Break kernels, debug them within the budget, count. Used by rates.lua (a table for people) and by the test (floors per class).

local case <const> = require "nki.case"
local operators <const> = require "tests.mutations.operators"
local reference_module <const> = require "reference"
local verify <const> = require "verify"
local work <const> = require "work.debug"
local write <const> = require "work.write"

local M <const> = {}

M.ITERATIONS = 10

local function read(path)
  local file <const> = assert(io.open(path, "rb"))
  local text <const> = file:read("a")
  file:close()
  return text
end

local function written(fn, cases)
  local result <const>, err <const> = write.run({ cases = cases, reference = "tests/mutations/references.py", reference_function = fn,
    distributions = 1, private_seed = 5 })
  assert(result and result.ok, err and err.message or result.verdict)
  return result.text
end

-- Correct kernels with their references and small cases: some written by hand, some by the writer.
function M.kernels()
  local list <const> = {
    { name = "softmax", cases = { "x=f32[130,65], scale=0.5", "x=f32[128,32], scale=0.25" }, reference = "tests/mutations/references.py", fn = "softmax" },
    { name = "rmsnorm", cases = { "x=f32[130,65], eps=0.001", "x=f32[64,32], eps=0.001" }, reference = "tests/mutations/references.py", fn = "rmsnorm" },
    { name = "gate", cases = { "x=f32[130,65], y=f32[130,65]" }, reference = "tests/mutations/references.py", fn = "gate" },
    { name = "matmul", cases = { "a_t=bf16[256,130], b=bf16[256,520]", "a_t=bf16[128,64], b=bf16[128,64]" },
      reference = "tests/kernels/matmul_tiled_ref.py", fn = "matmul_tiled", text = read("tests/kernels/matmul_tiled.py") },
  }
  for _, kernel in ipairs(list) do kernel.text = kernel.text or written(kernel.fn, kernel.cases) end
  return list
end

-- Debug one text. Returns "repaired", "equivalent" (nothing wrong was ever seen), "blocked" or "budget", and the iterations.
function M.debug(kernel, text)
  local seen <const> = {}
  for iteration = 0, M.ITERATIONS do
    local step <const>, err <const> = work.run({
      path = kernel.name .. ".py", source = text, cases = kernel.cases, reference = kernel.reference, reference_function = kernel.fn,
        seen = seen, target = "trn2",
      nki_version = "0.6", distributions = 4,
    })
    if not step then return "error: " .. tostring(err.message), iteration end
    if step.status == "clean" then return iteration == 0 and "equivalent" or "repaired", iteration end
    if step.status == "stuck" then return "blocked", iteration, step end
    if iteration == M.ITERATIONS then break end
    text = step.text
    seen[step.hash] = true
  end
  return "budget", M.ITERATIONS
end

-- Is the final text right for inputs the debugger did not use?
function M.proved(kernel, text)
  local reference <const> = assert(reference_module.load({ path = kernel.reference, fn = kernel.fn }))
  local cases <const> = {}
  for i, one in ipairs(kernel.cases) do cases[i] = assert(case.parse(one)) end
  return verify.run({ path = kernel.name .. ".py", source = text, cases = cases, reference = reference, private_seed = 777, distributions = 4 }).ok
end

-- A small generator of its own, so that a seed means the same everywhere.
function M.random(seed)
  local state = (seed * 2654435761 + 12345) & 0x7fffffff
  return function(n)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % n + 1
  end
end

-- Mutants per operator and kernel. Returns {[class] = {repaired, tried, equivalent, semantic}}, and the list of what was not repaired.
function M.rates(seed, per_site, pairs_wanted, report)
  local random <const> = M.random(seed)
  local classes <const>, order <const>, missed <const> = {}, {}, {}
  local function count(class, outcome, semantic)
    if not classes[class] then
      classes[class] = { repaired = 0, tried = 0, equivalent = 0, semantic = semantic }
      order[#order + 1] = class
    end
    local row <const> = classes[class]
    if outcome == "equivalent" then
      row.equivalent = row.equivalent + 1
    else
      row.tried = row.tried + 1
      if outcome == "repaired" then row.repaired = row.repaired + 1 end
    end
  end
  local kernels <const> = M.kernels()
  for _, operator in ipairs(operators.list) do
    for _, kernel in ipairs(kernels) do
      local known <const> = {}
      for _ = 1, per_site do
        local mutant <const> = operators.mutate(operator, kernel.text, random)
        if mutant and not known[mutant] and mutant ~= kernel.text then
          known[mutant] = true
          local outcome <const>, iterations <const> = M.debug(kernel, mutant)
          count(operator.class, outcome, operator.semantic)
          if outcome ~= "repaired" and outcome ~= "equivalent" then missed[#missed + 1] = { operator = operator.name, kernel = kernel.name,
            outcome = outcome, text = mutant } end
          if report then report(operator, kernel, outcome, iterations) end
        end
      end
    end
  end
  local made, tries = 0, 0
  while made < pairs_wanted and tries < 50 * pairs_wanted do
    tries = tries + 1
    local kernel <const> = kernels[random(#kernels)]
    local first <const>, second <const> = operators.list[random(#operators.list)], operators.list[random(#operators.list)]
    if first ~= second and not (first.semantic and second.semantic) then
      local once <const> = operators.mutate(first, kernel.text, random)
      local twice <const> = once and operators.mutate(second, once, random)
      if twice then
        made = made + 1
        local outcome <const>, iterations <const> = M.debug(kernel, twice)
        count("two bugs", outcome, true)
        if outcome ~= "repaired" and outcome ~= "equivalent" then
          missed[#missed + 1] = { operator = first.name .. " + " .. second.name, kernel = kernel.name, outcome = outcome, text = twice }
        end
        if report then report({ name = first.name .. " + " .. second.name }, kernel, outcome, iterations) end
      end
    end
  end
  return classes, order, missed
end

return M
