-- SPDX-License-Identifier: MIT
-- The verifier against candidates that public gates judge wrongly: every wrong one must be rejected by the verdict that names
-- its kind, every correct one accepted.

local t <const> = require "tests.lib"
local case <const> = require "nki.case"
local reference <const> = require "reference"
local verify <const> = require "verify"

local candidates <const> = require "tests.kernels.numerics.candidates"

local function judge(row, seed)
  local ref <const>, err <const> = reference.load({ path = "tests/kernels/numerics/refs.py", fn = row[2] })
  t.ok(ref, err and err.message)
  local result <const>, why <const> = verify.run({ path = row[2] .. ".py", source = row[3], cases = { assert(case.parse(row[4])) },
    reference = ref, private_seed = seed or 12345 })
  t.ok(result, why and why.message)
  return result
end

-- Under sanitizers every fourth candidate: they go through the same C code, ten times slower.
local every <const> = os.getenv("NKILN_SANITIZED") and 4 or 1

for number, row in ipairs(candidates) do
  if number % every == 0 then t.test(row[1], function()
    local result <const> = judge(row)
    local wanted <const> = type(row[5]) == "table" and row[5] or { row[5] }
    local found = false
    for _, verdict in ipairs(wanted) do found = found or verdict == result.verdict end
    local first <const> = result.cases[1]
    local diagnostics <const> = {}
    for _, d in ipairs(first.diagnostics or {}) do diagnostics[#diagnostics + 1] = ("%s: %s"):format(tostring(d.line), d.message) end
    t.ok(found, ("verdict %s, want %s\n%s\n%s"):format(result.verdict, table.concat(wanted, " or "), verify.describe(result)[1] or "",
      table.concat(diagnostics, "\n")))
    t.eq(result.ok, result.verdict == "proved")
  end) end
end

t.test("a wrong tile is named with its tile and partition, and the pattern says what is missing", function()
  local text <const> = candidates[8][3]:gsub("range%(0, rows, 128%)", "range(0, rows - 127, 128)")
  local result <const> = judge({ "", "softmax", text:gsub("return out",
    "nisa.dma_copy(dst=out[128:130, 0:n], src=out_t[0:2, 0:n])\n    return out"), "x=float32[130,64]" })
  t.eq(result.verdict, "algorithm")
  local a <const> = result.cases[1].algorithm
  t.eq(a.worst.tile, 1)
  t.match(a.pattern, "last")
end)

t.test("a scale that is off is called a scale", function()
  local result <const> = judge({ "", "silu", candidates[11][3]:gsub("nisa%.dma_copy%(dst=out%[",
    "nisa.tensor_scalar(dst=out_t, data=out_t, op0=nl.multiply, operand0=2.0)\n        nisa.dma_copy(dst=out["), "x=float32[64,64]" })
  t.eq(result.verdict, "algorithm")
  t.match(result.cases[1].algorithm.pattern, "2 times the expected")
end)

t.test("a missing K block is named", function()
  local text <const> = candidates[1][3]:gsub("src=b%[k:k %+ 128, 0:n%]%)",
    "src=b[k:k + 128, 0:n])\n        if k == 256:\n            nisa.memset(dst=b_tile, value=0.0)")
  local result <const> = judge({ "", "matmul", text, "a_t=float32[512,64], b=float32[512,32]" })
  t.eq(result.verdict, "algorithm")
end)

t.test("the private seed is part of the answer, and another one gives the same verdict", function()
  for _, seed in ipairs({ 7, 991 }) do
    local result <const> = judge(candidates[8], seed)
    t.eq(result.private_seed, seed)
    t.ok(result.ok)
  end
end)

t.test("a kernel that returns another shape is told so", function()
  local result <const> = judge({ "", "matmul", candidates[1][3], "a_t=float32[128,64], b=float32[128,32]" })
  t.ok(result.ok)
  local ref <const> = assert(reference.load({ path = "x.py", source = "def f(a_t, b):\n    return a_t.T @ b[:, :16]\n" }))
  local other <const> = assert(verify.run({ path = "m.py", source = candidates[1][3],
    cases = { assert(case.parse("a_t=float32[128,64], b=float32[128,32]")) }, reference = ref }))
  t.eq(other.verdict, "algorithm")
  t.match(other.cases[1].text, "shape %[64,32%]")
end)

-- A kernel over one tile `x` (f32), whose steps write `t`.
local function elementwise(steps, params)
  return ([[
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def k(a%s):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
%s
    nisa.dma_copy(dst=out, src=t)
    return out
]]):format(params or "", (steps:gsub("[^\n]+", "    %0")))
end

local function judged(steps, expression, text, params)
  local text_of <const> = ("import numpy as np\ndef f(a%s):\n    return %s\n"):format(params or "", expression)
  local ref <const> = assert(reference.load({ path = "r.py", source = text_of }))
  local cases <const> = { assert(case.parse(text or "a=float32[8,96]")) }
  local result <const>, err <const> = verify.run({ path = "k.py", source = elementwise(steps, params), cases = cases, reference = ref, private_seed = 5 })
  t.ok(result, err and err.message)
  return result.verdict, result.text
end

t.test("wrong for rare values only: a clip far out, a flush to zero, another domain", function()
  local twice <const> = "nisa.tensor_scalar(dst=t, data=x, op0=nl.multiply, operand0=2.0"
  t.eq((judged(twice .. ")", "a * 2")), "proved")
  t.eq((judged(twice .. ", op1=nl.minimum, operand1=1e6)", "a * 2")), "algorithm")
  t.eq((judged(twice .. ", op1=nl.maximum, operand1=-3e5)", "a * 2")), "algorithm")
  local root <const> = "nisa.activation(dst=t, op=nl.sqrt, data=%s)"
  t.eq((judged(root:format "x", "np.sqrt(a)")), "proved")
  local verdict <const>, words <const> = judged("nisa.activation(dst=t, op=nl.relu, data=x)\n" .. root:format "t", "np.sqrt(a)")
  t.eq(verdict, "algorithm")
  t.has(words, "the reference gives NaN on ordinary inputs")
end)

t.test("an argument held as a constant", function()
  local step <const> = "nisa.tensor_scalar(dst=t, data=x, op0=nl.multiply, operand0=%s)"
  t.eq((judged(step:format "scale", "a * scale", "a=float32[8,96], scale=0.125", ", scale")), "proved")
  local verdict <const>, words <const> = judged(step:format "0.125", "a * scale", "a=float32[8,96], scale=0.125", ", scale")
  t.eq(verdict, "algorithm")
  t.has(words, "does not follow this argument")
end)

t.test("a variance as a difference of squares is a loss where the reference takes deviations, and none where it does the same", function()
  local steps <const> = [[
s = nl.ndarray((8, 1), nl.float32, buffer=nl.sbuf)
s2 = nl.ndarray((8, 1), nl.float32, buffer=nl.sbuf)
m2 = nl.ndarray((8, 1), nl.float32, buffer=nl.sbuf)
q = nl.ndarray(a.shape, nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=s, op=nl.add, data=x, axis=1)
nisa.tensor_scalar(dst=s, data=s, op0=nl.multiply, operand0=1.0 / 96)
nisa.activation(dst=q, op=nl.square, data=x)
nisa.tensor_reduce(dst=s2, op=nl.add, data=q, axis=1)
nisa.tensor_scalar(dst=s2, data=s2, op0=nl.multiply, operand0=1.0 / 96)
nisa.tensor_tensor(dst=m2, data1=s, data2=s, op=nl.multiply)
nisa.tensor_tensor(dst=s2, data1=s2, data2=m2, op=nl.subtract)
nisa.tensor_scalar(dst=t, data=x, op0=nl.multiply, operand0=0.0, op1=nl.add, operand1=s2)]]
  t.eq((judged(steps, "a * 0 + a.var(-1, keepdims=True)")), "rounding")
  t.eq((judged(steps, "a * 0 + ((a * a).mean(-1, keepdims=True) - a.mean(-1, keepdims=True) ** 2)")), "proved")
end)

t.test("an output narrower than the inputs is said", function()
  local source <const> = elementwise("nisa.tensor_copy(dst=t, src=x)"):gsub("dtype=a.dtype, buffer=nl.shared", "dtype=nl.bfloat16, buffer=nl.shared")
  local ref <const> = assert(reference.load({ path = "r.py", source = "def f(a):\n    return a * 1\n" }))
  local cases <const> = { assert(case.parse "a=float32[8,96]") }
  local result <const> = assert(verify.run({ path = "k.py", source = source, cases = cases, reference = ref, private_seed = 5 }))
  t.eq(result.verdict, "proved")
  t.has(result.text, "output out is bfloat16, narrower than the inputs")
end)
