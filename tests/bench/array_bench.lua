-- SPDX-License-Identifier: MIT
-- Arrays against NumPy on the same machine in the same run: best of several, processor time (of all threads) of NumPy over
-- ours; above 1 is faster than NumPy. Usage: nkiln-lua tests/bench/array_bench.lua

local array <const> = require "rt.array"

local PYTHON <const> = "/usr/bin/python3"
local REPEAT <const> = 15

local function x(name) return name == "x" and array.random{ shape = { 1024, 1024 }, seed = 1 } or array.random{ shape = { 1024, 1024 }, seed = 2 } end
local a <const>, b <const> = x "x", x "y"
local rows <const> = array.random{ shape = { 8192, 4096 }, seed = 3 }
local wide <const> = a:cast("float64")

local function softmax(v, scale)
  local s <const> = array.binary("multiply", v, scale)
  local m <const> = array.reduce("max", s, 1, true)
  local d <const> = array.binary("subtract", s, m)
  s:close()
  local e <const> = array.unary("exp", d)
  d:close()
  local n <const> = array.reduce("sum", e, 1, true)
  local y <const> = array.binary("divide", e, n)
  e:close()
  return y
end

-- name, ours, NumPy's expression over x, y (1024 x 1024 float32), w (x in float64), r (8192 x 4096 float32)
local cases <const> = {
  { "add", function() return array.binary("add", a, b) end, "x + y" },
  { "add, turned", function() return array.binary("add", a, b:transpose()) end, "x + y.T" },
  { "multiply by a number", function() return array.binary("multiply", a, 0.5) end, "x * np.float32(0.5)" },
  { "sqrt", function() return array.unary("sqrt", a) end, "np.sqrt(x)" },
  { "exp", function() return array.unary("exp", a) end, "np.exp(x)" },
  { "log", function() return array.unary("log", a) end, "np.log(x)" },
  { "tanh", function() return array.unary("tanh", a) end, "np.tanh(x)" },
  { "exp, float64", function() return array.unary("exp", wide) end, "np.exp(w)" },
  { "sum of rows", function() return array.reduce("sum", a, 1) end, "x.sum(1)" },
  { "sum of columns", function() return array.reduce("sum", a, 0) end, "x.sum(0)" },
  { "max of rows", function() return array.reduce("max", a, 1) end, "x.max(1)" },
  { "to float16", function() return a:cast("float16") end, "x.astype(np.float16)" },
  { "transpose", function() return a:transpose():copy() end, "x.T.copy()" },
  { "matmul 1024", function() return array.matmul(a, b) end, "x @ y" },
  { "softmax [8192,4096]", function() return softmax(rows, 0.125) end, "softmax(r)" },
}

local program <const> = { [[
import time, warnings
import numpy as np
warnings.simplefilter("ignore")
g = np.random.default_rng(1)
x, y = (g.standard_normal((1024, 1024)).astype(np.float32) for _ in range(2))
w, r = x.astype(np.float64), g.standard_normal((8192, 4096)).astype(np.float32)
def softmax(v):
    s = v * np.float32(0.125)
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
def best(f):
    t = 1e9
    for _ in range(]] .. REPEAT .. [[):
        s = time.process_time_ns()
        f()
        t = min(t, time.process_time_ns() - s)
    print(t)
]] }
for _, case in ipairs(cases) do program[#program + 1] = ("best(lambda: %s)\n"):format(case[3]) end
local path <const> = os.tmpname()
local file <const> = assert(io.open(path, "w"))
file:write(table.concat(program))
file:close()
local pipe <const> = assert(io.popen(PYTHON .. " " .. path))
local theirs <const> = {}
for line in pipe:lines() do theirs[#theirs + 1] = tonumber(line) / 1e9 end
pipe:close()
os.remove(path)

local backend <const>, variant <const> = array.backend()
print(("arrays against NumPy (%s, kernels %s)"):format(backend, variant))
for i, case in ipairs(cases) do
  local best = math.huge
  case[2]():close()
  for _ = 1, REPEAT do
    local start <const> = os.clock()
    local out <const> = case[2]()
    best = math.min(best, os.clock() - start)
    out:close()
  end
  local ratio <const> = theirs[i] and ("%6.2f x NumPy"):format(theirs[i] / best) or "no NumPy here"
  print(("  %-22s %9.3f ms   %s"):format(case[1], best * 1e3, ratio))
end
