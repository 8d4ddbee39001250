-- SPDX-License-Identifier: MIT
-- Python programs run under CPython and here: what they print must be the same, and an uncaught error must have the same
-- type, message and line.

local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local python <const> = require "python"

local function oracle(arguments)
  local code <const>, out <const>, err <const> = t.sh("/usr/bin/python3 tests/oracle/semantics.py " .. arguments)
  if code == 127 then t.skip "no /usr/bin/python3" end
  t.eq(code, 0, err)
  return json.decode(out)
end

local function run(source)
  local out <const> = {}
  python.set_print(function(text) out[#out + 1] = text end)
  python.limit(200000000)
  local module, err = python.load { source = source, filename = "program.py", name = "program" }
  python.limit(0)
  if not module then
    local top <const> = err.traceback and err.traceback[#err.traceback]
    out[#out + 1] = ("!%s: %s @%s\n"):format(err.etype or err.code, err.message, top and top.line or err.line)
  end
  return table.concat(out), err
end

local function first_difference(a, b)
  local line = 0
  local rest_b <const> = {}
  for text in (b .. "\n"):gmatch "([^\n]*)\n" do rest_b[#rest_b + 1] = text end
  for text in (a .. "\n"):gmatch "([^\n]*)\n" do
    line = line + 1
    if text ~= rest_b[line] then return ("line %d of the output\n      here:    %s\n      CPython: %s"):format(line, text, tostring(rest_b[line])) end
  end
  return "output ends early; CPython: " .. tostring(rest_b[line + 1])
end

-- The wording of an arity error of a builtin is CPython's own affair for each of its functions.
local function plain(text) return (text:gsub("(TypeError[: ])[^\n]-argument[^\n]*", "%1")) end

local function agree(program)
  local got <const> = plain(run(program.source))
  local wanted <const> = plain(program.expected)
  if got ~= wanted then t.ok(false, program.name .. ": " .. first_difference(got, wanted) .. "\n" .. program.source) end
end

for seed = 1, 2 do
  t.test("generated programs, seed " .. seed, function()
    for _, program in ipairs(oracle(("random %d 300"):format(seed))) do agree(program) end
  end)
end

local ok <const>, programs <const> = pcall(oracle, "traps")
if ok then
  for _, program in ipairs(programs) do
    t.test("trap: " .. program.name, function() agree(program) end)
  end
else
  t.test("traps", function() error(programs, 0) end)
end
