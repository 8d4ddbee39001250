-- SPDX-License-Identifier: MIT
-- The Python parser against CPython's ast.parse over the standard library, both in one process and in the same run: best of
-- several, processor time; the ratio is CPython's over ours. Usage: nkiln-lua tests/bench/parse_bench.lua

local python <const> = require "rt.python"
local oracle <const> = require "tests.oracle.python"

local REPEAT <const> = 5

local peer <const> = oracle.find({ os.getenv("NKILN_TEST_PYTHON") or "/usr/bin/python3", "python3.11" }, 11)
if not peer then
  print("no Python 3.11 to compare with")
  return 0
end

local sources <const>, names <const> = {}, oracle.files(peer.library)
local bytes = 0
for i, name in ipairs(names) do
  local file <const> = assert(io.open(name, "rb"))
  sources[i] = file:read("a")
  file:close()
  bytes = bytes + #sources[i]
end

local program <const> = ([[
import ast, sys, time, warnings
warnings.simplefilter("ignore")
sources = [open(name.rstrip("\n"), "rb").read() for name in sys.stdin]
best = 1e9
for _ in range(%d):
    began = time.process_time()
    for source in sources:
        ast.parse(source)
    best = min(best, time.process_time() - began)
print(best)
]]):format(REPEAT)

local list <const>, script <const> = os.tmpname(), os.tmpname()
for path, text in pairs { [list] = table.concat(names, "\n") .. "\n", [script] = program } do
  local file <const> = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end
local pipe <const> = assert(io.popen(("%s %s <%s"):format(peer.command, script, list)))
local theirs <const> = tonumber(pipe:read("a"))
pipe:close()
os.remove(list)
os.remove(script)

print(("%d files, %.1f MB; CPython's ast.parse %.0f ms"):format(#sources, bytes / 1e6, theirs * 1e3))
for _, case in ipairs { { "parse_only", "the C tree" }, { "check", "and the checks of names and scopes" }, { "parse", "and Lua tables" } } do
  local least = math.huge
  for _ = 1, REPEAT do
    collectgarbage()
    local began <const> = os.clock()
    for _, source in ipairs(sources) do python[case[1]](source) end
    least = math.min(least, os.clock() - began)
  end
  print(("%-10s %7.0f ms %8.1f MB/s %6.1fx   %s"):format(case[1], least * 1e3, bytes / least / 1e6, theirs / least, case[2]))
end
