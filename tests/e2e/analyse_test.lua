-- SPDX-License-Identifier: MIT
-- nkiln analyse: the profile-analysis agent on a kernel and on a profile, its quality gate, and a comparison.
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local CASE <const> = '--case "a_t=bf16[512,512], b=bf16[512,1024], block_n=2"'

local function folder()
  local w <const> = nkiln.folder()
  w:write("k.py", t.read "tests/kernels/matmul_blocked.py")
  return w
end

t.test("analyse: a kernel becomes a report with bounds, reasons and lines; what found nothing is said", function()
  local w <const> = folder()
  local status <const>, out <const>, err <const> = w:run("analyse k.py " .. CASE .. " -o report.md")
  t.eq({ status, err }, { 0, "" })
  for _, part in ipairs { "# Where the time goes", "modelled", "## Bounds", "memory_bound", "## Investigations", "because", "## Findings",
    "Looked for and not found" } do
    t.has(out, part)
  end
  local text <const>, named <const> = out:match "^(.-)\n*(report  report%.md)\n$"
  t.ok(named, "the report says where it is")
  t.eq(w:read "report.md", (text:gsub("\n*$", "\n")))
  local seen <const> = {} -- a warning that stands in two tables of the profile is said once
  t.ok(not out:find "measured%s+%d", "a modelled time is called measured")
  for line in out:match("## Can this profile be believed%?\n(.-)\n## "):gmatch "[^\n]+" do
    local plain <const> = line:gsub("the profiler says: ", "")
    t.ok(not seen[plain], "said twice: " .. line)
    seen[plain] = true
  end
end)

t.test("analyse: --out replaces a report of its own, and no other file", function()
  local w <const> = folder()
  t.eq(w:run("profile k.py " .. CASE .. " -o p.db"), 0)
  local before <const>, kernel <const> = w:read "p.db", w:read "k.py"
  for _, row in ipairs { { "p.db", "p.db" }, { "p.db", "k.py" }, { "k.py " .. CASE, "k.py" }, { "p.db", "none/r.md" } } do
    local status <const>, out <const>, err <const> = w:run(("analyse %s -o %s"):format(row[1], row[2]))
    t.eq({ status, out }, { 2, "" })
    t.match(err, "^nkiln: [^\n]*" .. (row[2]:find "/" and "make the folder first" or "name") .. "[^\n]*\n$")
    t.ok(not select(2, w:run "explain last"):find("gate", 1, true), "said before the work, not after it")
  end
  t.ok(w:read "p.db" == before and w:read "k.py" == kernel, "the report went over a file that it had not written")
  t.eq(w:run "analyse p.db -o r.md", 0)
  t.eq(w:run "analyse p.db -o r.md", 0)
end)

t.test("analyse: the state of every step is kept, and a changed kernel is set beside the earlier profile", function()
  local w <const> = folder()
  t.eq(w:run("profile k.py " .. CASE .. " -o before.db"), 0)
  local status <const>, out <const> = w:run("analyse k.py " .. CASE .. " --before before.db --json")
  t.eq(status, 0)
  local answer <const> = json.decode(out)
  t.eq(answer.result.comparison.bounds[1].moved, false)
  t.has(answer.result.text, "Against the profile before")
  local _, told <const> = w:run "explain last"
  for _, step in ipairs { "profile", "gate", "choose", "investigate", "report" } do t.has(told, step) end
end)

t.test("analyse: a profile that cannot be believed is refused or marked", function()
  local w <const> = folder()
  t.eq(w:run("profile k.py " .. CASE .. " -o p.db"), 0)
  local d <close> = assert(db.open(w:full "p.db"))
  d:exec "UPDATE Instruction SET bir_debug_info_source_location = NULL, nki_source_location = NULL"
  d:exec "DELETE FROM DmaPacketAggregated WHERE id % 2 = 0"
  local status <const>, out <const> = w:run "analyse p.db"
  t.eq(status, 0)
  t.has(out, "no instruction names its source line")
  t.match(out, "only [%d.]+ %% of the bytes moved are tied to an instruction")
  d:exec "DELETE FROM Instruction"
  local failed <const>, text <const>, words <const> = w:run "analyse p.db"
  t.eq(failed, 1)
  t.has(text .. words, "no instructions")
end)

t.test("analyse: bad input is one line", function()
  local w <const> = folder()
  w:write("broken.py", "def k(:\n")
  w:write("notes.db", "not a database at all, just a text that is long enough to be one")
  for _, row in ipairs {
    { "analyse none.py " .. CASE, 2, "none.py" }, { "analyse none.db", 2, "none.db" }, { "analyse notes.db", 2, "not a SQLite database" },
    { "analyse k.py", 2, "case" }, { "analyse broken.py --case x=1", nil, "broken.py" }, { "analyse notes.db " .. CASE, 2, "belong to a kernel" },
    { "analyse k.py " .. CASE .. " --case x=1", 2, "one case at a time" }, { "analyse k.py " .. CASE .. " --before none.db", 2, "none.db" },
  } do
    local status <const>, out <const>, err <const> = w:run(row[1])
    t.ok(row[2] and status == row[2] or not row[2] and status > 0, ("%s: status %s, out %s, err %s"):format(row[1], status, out, err))
    t.has(out .. err, row[3], row[1])
    t.ok(not (out .. err):find "traceback", row[1])
  end
end)
