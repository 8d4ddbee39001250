-- SPDX-License-Identifier: MIT
-- Broken kernels, at least one for every diagnostic that a kernel's text can raise; the rows are in broken/.
--   code       the diagnostic they must raise first
--   name       what is wrong, in words
--   case       the case they are checked with; version, target, steps where not the usual ones
--   worker     only where a worker's limits hold: run through the command line (tests/e2e/bad_input_test.lua)
--   body       the body of a kernel `k` with the case's parameters; or `text`, a whole file
--   repairs    following the offered fixes one after the other must end in a kernel that checks, in at most so many steps;
--              without it the diagnostic must carry no fix, or one that helps
--   has        text the message must hold
--   unrepaired no repair may be shown: only a person can choose one
--   fixed      text the repaired kernel must hold
--   reference  what the repaired kernel must compute: a Python expression over its arguments

local rows <const> = {}
rows.head = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\nimport numpy as np\n\n\n"
for _, group in ipairs { "calls", "sizes", "matmul", "memory", "values", "language", "mended" } do
  for _, row in ipairs(require("tests.kernels.broken." .. group)) do rows[#rows + 1] = row end
end

-- The whole text of a row.
function rows.text(row)
  if row.text then return row.text end
  local names <const> = {}
  for name in (", " .. row.case):gmatch(", ([%a_][%w_]*)=") do names[#names + 1] = name end
  local body <const> = row.body:gsub("([^\n]+)", "    %1")
  return ("%s@nki.jit\ndef k(%s):\n%s"):format(rows.head, table.concat(names, ", "), body)
end

return rows
