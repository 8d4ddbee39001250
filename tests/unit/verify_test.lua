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
