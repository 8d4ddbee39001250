-- SPDX-License-Identifier: MIT
-- Run a kernel through the session in both modes and let NumPy judge it (oracle.py). Returns the largest error of each
-- mode relative to its row, or raises with the diagnostics.
--
--   judge.run{ path= | source=, entry=, case=text, reference=path of REF.py, fn=, expression=, signs=, version=, target= }
--     -> { chip = error, exact = error, results = {chip=, exact=} }

local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local case <const> = require "nki.case"
local json <const> = require "rt.json"
local session <const> = require "nki.session"

local judge <const> = {}

local ORACLE <const> = "/usr/bin/python3"
function judge.available() return t.read(ORACLE) ~= nil end

local function explain(result)
  local lines <const> = {}
  for _, d in ipairs(result.diagnostics) do
    lines[#lines + 1] = ("%s:%s %s [%s]"):format(tostring(d.line), tostring(d.column), d.message, d.code)
    for _, operand in ipairs(d.operands or {}) do
      lines[#lines + 1] = "    " .. t.show(operand)
    end
  end
  return table.concat(lines, "\n      ")
end
judge.explain = explain

-- A number that depends on the text alone, so that every run draws the same inputs.
local function seed_of(text)
  local h = 2166136261
  for i = 1, #text do h = ((h ~ text:byte(i)) * 16777619) & 0x7fffffff end
  return h
end

-- signs: name -> 1 or -1 for inputs that must have one sign (a decay that grows has no finite answer).
function judge.inputs(parsed, signs)
  local inputs <const> = {}
  for _, arg in ipairs(parsed.args) do
    if arg.kind == "tensor" then
      local a = array.random { dtype = arg.dtype, shape = arg.shape, seed = seed_of(arg.name), dist = "normal" }
      local sign <const> = signs and signs[arg.name]
      if sign then a = array.binary("multiply", array.unary("abs", a), sign):cast(arg.dtype) end
      inputs[arg.name] = a
    end
  end
  return inputs
end

local function oracle(folder, options)
  local command = ORACLE .. " tests/kernels/oracle.py " .. folder
  if options.reference then
    command = command .. " " .. t.quote(options.reference) .. " " .. options.fn
  else
    t.write(folder .. "/expression.txt", options.expression)
  end
  local status <const>, out <const>, err <const> = t.sh(command)
  if status ~= 0 then error("oracle failed: " .. err) end
  local worst = 0.0
  for line in out:gmatch("[^\n]+") do
    local relative <const> = line:match("^error (%S+)")
    if not relative then error(line) end
    worst = math.max(worst, relative == "inf" and math.huge or tonumber(relative))
  end
  return worst
end

function judge.run(options)
  local parsed <const> = assert(case.parse(options.case))
  local inputs <const> = judge.inputs(parsed, options.signs)
  local folder <const> = t.tmpdir()
  local answer <const> = { results = {} }
  local args <const> = {}
  for _, arg in ipairs(parsed.args) do
    if arg.kind == "tensor" then
      args[arg.name] = json.null
      t.write(("%s/in_%s.npy"):format(folder, arg.name), array.write_npy(inputs[arg.name]:cast("float64")))
    elseif type(arg.value) == "table" then
      args[arg.name] = json.array { table.unpack(arg.value, 1, arg.value.n) }
    else
      args[arg.name] = arg.value
    end
  end
  t.write(folder .. "/args.json", json.encode(args))
  for _, mode in ipairs { "chip", "exact" } do
    local result <const> = session.run {
      path = options.path, source = options.source, entry = options.entry, case = parsed, target = options.target or "trn2",
      version = options.version, mode = mode, execute = true, inputs = inputs, poison = mode == "chip" and 1 or 2,
    }
    if not result.ok then error({ test_failure = true, message = mode .. ":\n      " .. explain(result) }) end
    for i, output in ipairs(result.outputs) do
      t.write(("%s/out_%d.npy"):format(folder, i - 1), array.write_npy(output.array:cast("float64")))
    end
    answer.results[mode] = result
    answer[mode] = oracle(folder, options)
  end
  return answer
end

return judge
