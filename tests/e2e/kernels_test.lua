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
