-- SPDX-License-Identifier: MIT
-- The report page of a profile of more than 100,000 instructions: its size, and how long headless Chromium takes until the timeline
-- can be used (the page notes the time itself; best of three). Part of make bench.

local task <const> = require "rt.task"

local KERNEL <const> = "tests/bench/kernels/matmul_4096.py --entry matmul_v0 --case 'a_t=bf16[4096,8192], b=bf16[4096,8192]'"
local SIZE_GOAL <const>, READY_GOAL <const> = 3e6, 2000

local function run(command)
  local pipe <const> = assert(io.popen(command .. " 2>/dev/null"))
  local text <const> = pipe:read "a"
  return pipe:close(), text
end

local folder <const> = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder))
local database <const>, page <const> = folder .. "/p.db", folder .. "/r.html"
assert(run(("build/nkiln profile %s -o %s"):format(KERNEL, database)), "the profile was not made")
local _, counted <const> = run(("build/nkiln query %s 'SELECT count(*) FROM Instruction' --format csv"):format(database))
local began <const> = task.now()
assert(run(("build/nkiln report %s -o %s"):format(database, page)), "the page was not made")
local took <const> = task.now() - began
local file <const> = assert(io.open(page, "rb"))
local bytes <const> = file:seek "end"
file:close()

print(("\nReport page of %s instructions (modelled): written in %.1f s"):format(counted:match "(%d+)%s*$", took))
print(("  size               %8.2f MB  %8.2fx of the goal of 3 MB"):format(bytes / 1e6, bytes / SIZE_GOAL))
local _, browser <const> = run "command -v chromium || command -v chromium-browser || command -v google-chrome"
local name <const> = browser:match "%S+"
if name then
  local best
  for _ = 1, 3 do
    local _, dom <const> = run(("%s --headless=new --no-sandbox --disable-gpu --dump-dom file://%s"):format(name, page))
    local ready <const> = tonumber(dom:match 'data%-ready="(%d+)"')
    if ready and (not best or ready < best) then best = ready end
  end
  if best then
    print(("  usable in Chromium %8d ms  %8.2fx of the goal of 2 s"):format(best, best / READY_GOAL))
  else
    print "  Chromium did not draw the page"
  end
else
  print "  Chromium is not here: how soon the page can be used was not measured"
end
os.execute("rm -rf " .. folder)
