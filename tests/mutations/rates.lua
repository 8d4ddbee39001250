-- SPDX-License-Identifier: MIT
-- Print the repair rate per class of seeded bugs: build/nkiln-lua tests/mutations/rates.lua [SEED] [PER_CLASS] [TWO_BUG_KERNELS]
-- or, for the rates without luck, of every mutant that so many draws give: build/nkiln-lua tests/mutations/rates.lua every DRAWS [CLASS]

local trial <const> = require "tests.mutations.trial"

local began <const> = os.clock()
if arg[1] == "every" then
  local texts <const> = trial.texts()
  for _, operator in ipairs(require("tests.mutations.operators").list) do
    local repaired, tried, equivalent = 0, 0, 0
    if not arg[3] or arg[3] == operator.class then
      local misses <const> = {}
      trial.every(operator, texts, tonumber(arg[2]), function(kernel, line, outcome, last, text)
        if outcome == "equivalent" then
          equivalent = equivalent + 1
        else
          tried = tried + 1
          if outcome == "repaired" then repaired = repaired + 1 end
        end
        if outcome == "stuck" then
          local d <const> = last and (last.diagnostic or last) or {}
          local n = 0
          for written in (text .. "\n"):gmatch("([^\n]*)\n") do
            n = n + 1
            if n == line then misses[#misses + 1] = ("%s:%d %s -> %s"):format(kernel.name, line, written, d.message or d.pattern or "?") end
          end
        end
      end)
      print(("%-28s %d of %d repaired, %d equivalent  (%.1f s)"):format(operator.class, repaired, tried, equivalent, os.clock() - began))
      for _, miss in ipairs(misses) do print("    " .. miss) end
      io.stdout:flush()
    end
  end
  return
end
trial.rates({
  seed = tonumber(arg[1] or 1), per_class = tonumber(arg[2] or 3), two = tonumber(arg[3] or 4),
  on_row = function(row)
    print(("%-28s %-8s %d of %d repaired, %d equivalent  (%.1f s)"):format(row.class, row.kind, row.repaired, row.tried, row.equivalent, os.clock() - began))
    for _, miss in ipairs(row.misses) do print("    " .. miss) end
    io.stdout:flush()
  end,
})
