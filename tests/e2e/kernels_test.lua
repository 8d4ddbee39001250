-- SPDX-License-Identifier: MIT
-- Every kernel of tests/kernels in both modes against NumPy in float64 on the same inputs. Exact mode must agree to the
-- last digits; chip mode within what its dtypes allow.

local t <const> = require "tests.lib"
local expected <const> = require "tests.kernels.expected"
local judge <const> = require "tests.kernels.judge"

local CHIP <const> = { bfloat16 = 3e-2, float16 = 4e-3, float32 = 2e-5, int8 = 1e-6 }

for _, row in ipairs(expected) do
  for _, text in ipairs(row.cases) do
    t.test(("%s %s"):format(row.name, text), function()
      if not judge.available() then t.skip("no /usr/bin/python3 with NumPy") end
      local answer <const> = judge.run {
        path = ("tests/kernels/%s.py"):format(row.name), entry = row.entry, case = text,
        reference = ("tests/kernels/%s_ref.py"):format(row.name), fn = row.entry,
      }
      local limit <const> = row.chip or text:find("bfloat16") and CHIP.bfloat16 or CHIP.float32
      t.ok(answer.exact <= (row.exact or 1e-9), ("exact mode differs by %g"):format(answer.exact))
      t.ok(answer.chip <= limit, ("chip mode differs by %g"):format(answer.chip))
      t.ok(answer.results.chip.stats.instructions > 0, "no instruction was recorded")
    end)
  end
end

-- The verifier's own verdict on the same kernels: each of them is right, and those that keep an operand of a matmul in the
-- declared 16-bit type are right too; a 16-bit value that no matmul asks for is a loss.
local function verdict(row, text, change)
  local reference <const>, err <const> = require("reference").load {
    path = ("tests/kernels/%s_ref.py"):format(row.reference or row.name), fn = row.entry,
  }
  t.ok(reference, err and err.message)
  local source = t.read(("tests/kernels/%s.py"):format(row.name))
  if change then
    local n
    source, n = source:gsub(change[1], change[2])
    t.ok(n > 0, "nothing was changed")
  end
  local result <const>, why <const> = require("verify").run {
    path = row.name .. ".py", source = source, entry = row.entry, cases = { assert(require("nki.case").parse(text)) }, reference = reference,
    private_seed = 77,
  }
  t.ok(result, why and why.message)
  return result
end

local every <const> = os.getenv("NKILN_SANITIZED") and 4 or 1
local rows <const> = table.move(expected, 1, #expected, 1, {})
rows[#rows + 1] = { name = "profile/swiglu_naive", reference = "profile/swiglu_mlp", entry = "swiglu_mlp",
  cases = { "x_t=bf16[512,128], w_gate=bf16[512,512], w_up=bf16[512,512], w_down=bf16[512,512]" } }
for i, row in ipairs(rows) do
  if i % every == 0 then
    t.test(row.name .. " is proved by the verifier", function()
      local result <const> = verdict(row, row.cases[1])
      t.eq(result.verdict, "proved", result.text)
    end)
  end
end

t.test("attention with its scores in bfloat16, or bfloat16 weights between float32 tensors, loses more than is declared", function()
  local row <const> = { name = "attention", entry = "attention" }
  t.eq(verdict(row, "q_t=bfloat16[64,128], k_t=bfloat16[64,256], v=bfloat16[256,64]", { "scores = nl.ndarray%(%(p, k_len%), dtype=nl.float32",
    "scores = nl.ndarray((p, k_len), dtype=nl.bfloat16" }).verdict, "rounding")
  t.eq(verdict(row, "q_t=float32[64,128], k_t=float32[64,256], v=float32[256,64]",
    { "(%w+) = nl.ndarray%((%b()), dtype=v.dtype, buffer=nl.psum", "%1 = nl.ndarray(%2, dtype=nl.bfloat16, buffer=nl.psum" }).verdict ~= "proved", true)
end)
