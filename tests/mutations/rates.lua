-- SPDX-License-Identifier: MIT
-- Print the repair rate per class of seeded bugs: build/nkiln-lua tests/mutations/rates.lua [SEED] [PER_CLASS] [TWO_BUG_KERNELS]

local trial <const> = require "tests.mutations.trial"

local began <const> = os.clock()
trial.rates({
  seed = tonumber(arg[1] or 1), per_class = tonumber(arg[2] or 3), two = tonumber(arg[3] or 4),
  on_row = function(row)
    print(("%-28s %-8s %d of %d repaired, %d equivalent  (%.1f s)"):format(row.class, row.kind, row.repaired, row.tried, row.equivalent, os.clock() - began))
    for _, miss in ipairs(row.misses) do print("    " .. miss) end
    io.stdout:flush()
  end,
})
