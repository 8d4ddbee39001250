-- SPDX-License-Identifier: MIT
-- Run the tests: nkiln-lua tests/run.lua [-v] [FILE_PATTERN [TEST_SUBSTRING]]. The last line is "N passed, N failed".
-- SHARD=K/N runs every N-th file, beginning with the K-th, so that N processes together run all of them.

local lib <const> = require "tests.lib"

local args <const> = {}
for _, value in ipairs(arg) do
  if value == "-v" then lib.verbose = true else args[#args + 1] = value end
end
local pattern <const> = args[1] or ""
lib.filter = args[2]

local pipe <const> = assert(io.popen("ls tests/unit/*_test.lua tests/e2e/*_test.lua tests/corpus/*_test.lua 2>/dev/null"))
local files <const> = {}
for path in pipe:lines() do files[#files + 1] = path end
pipe:close()

local shard <const>, shards <const> = (os.getenv "SHARD" or "1/1"):match "^(%d+)/(%d+)$"
local number = 0

for _, path in ipairs(files) do
  local mine = path:find(pattern, 1, true) ~= nil
  if mine then
    number = number + 1
    mine = number % shards == shard % shards
  end
  if mine then
    lib.file = path:match("tests/(.*)_test%.lua$")
    local chunk <const>, err <const> = loadfile(path)
    local ok, message = false, err
    if chunk then ok, message = xpcall(chunk, debug.traceback) end
    if not ok then
      lib.failed = lib.failed + 1
      print("FAIL  " .. path .. " did not load or run\n      " .. tostring(message))
    end
  end
end
local tail <const> = lib.skipped > 0 and (", %d skipped"):format(lib.skipped) or ""
print(("%d passed, %d failed%s"):format(lib.passed, lib.failed, tail))
return lib.failed == 0 and 0 or 1
