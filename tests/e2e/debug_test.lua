-- SPDX-License-Identifier: MIT
-- nkiln debug: the loop, its budget, its files, and what it says.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local GOOD <const> = t.read("tests/kernels/softmax.py")
local REFERENCE <const> = t.read("tests/kernels/softmax_ref.py")
local TWO_BUGS <const> = GOOD:gsub("nisa%.reciprocal%(dst=inverse, ", "nisa.reciprocal("):gsub("data=scaled, axis", "input=scaled, axis")
local HOPELESS <const> = GOOD:gsub("    return out", "    assert scale < 0.0\n    return out")
local WORDS <const> = "debug k.py --case 'x=float32[130,20], scale=0.5' --reference ref.py "

local function folder(text)
  local w <const> = nkiln.folder()
  w:write("k.py", text)
  w:write("ref.py", REFERENCE)
  return w
end

t.test("two bugs are repaired, proved, and the original comes back with one command", function()
  local w <const> = folder(TWO_BUGS)
  local status <const>, out <const> = w:run(WORDS)
  t.eq(status, 0, out)
  t.has(out, "RESOLVED")
  t.has(out, "iteration 2")
  t.has(out, "proved  x=float32[130,20], scale=0.5")
  t.has(out, "simulated")
  t.ok(w:read("k.py") ~= TWO_BUGS)
  t.eq((w:run(out:match("nkiln (restore %S+)"))), 0)
  t.eq(w:read("k.py"), TWO_BUGS)
end)

t.test("--out leaves the kernel alone, --json is one document", function()
  local w <const> = folder(TWO_BUGS)
  local status <const>, out <const> = w:run(WORDS .. "--out fixed.py --json")
  t.eq(status, 0, out)
  local result <const> = json.decode(out)
  t.eq({ result.ok, result.status }, { true, "done" })
  t.eq(w:read("k.py"), TWO_BUGS)
  t.has(w:read("fixed.py"), "data=scaled, axis")
end)

t.test("BLOCKED is exit 1 and leaves the file as it was", function()
  local w <const> = folder(HOPELESS)
  local status <const>, out <const> = w:run(WORDS)
  t.eq(status, 1, out)
  t.has(out, "BLOCKED")
  t.match(out, "no repair found among %d+ tried")
  t.eq(w:read("k.py"), HOPELESS)
end)

t.test("a spent budget is exit 4, and the run goes on from there", function()
  local w <const> = folder(TWO_BUGS)
  local status, out = w:run(WORDS .. "--budget iterations=1")
  t.eq(status, 4, out)
  t.ok(w:read("k.py") ~= TWO_BUGS)
  status, out = w:run("resume --budget iterations=10")
  t.eq(status, 0, out)
  t.has(out, "RESOLVED")
end)

t.test("a run that is killed is resumed to the end", function()
  local w <const> = folder(TWO_BUGS)
  w:sh("timeout -s KILL 0.25 " .. nkiln.quoted .. " " .. WORDS)
  local status, out = w:run("resume")
  -- Killed before its first record, or after its end: then there is nothing to resume, and a new run does it all.
  if status ~= 0 then status, out = w:run(WORDS) end
  t.eq(status, 0, out)
  t.eq((w:run("check k.py --case 'x=float32[130,20], scale=0.5'")), 0)
end)

t.test("what the user saves meanwhile is never lost", function()
  local w <const> = folder(TWO_BUGS)
  t.eq((w:run(WORDS .. "--budget iterations=1")), 4)
  local theirs <const> = w:read("k.py") .. "# mine\n"
  w:write("k.py", theirs)
  local status <const>, out <const> = w:run("resume --budget iterations=10")
  t.eq(status, 1, out)
  t.has(out, "BLOCKED")
  t.eq(w:read("k.py"), theirs)
end)

t.test("a kernel that is right is left alone", function()
  local w <const> = folder(GOOD)
  local status <const>, out <const> = w:run(WORDS)
  t.eq(status, 0, out)
  t.has(out, "proved  x=float32[130,20]")
  t.eq(out:find("iteration", 1, true), nil)
  t.eq(out:find("restore", 1, true), nil)
  t.eq(w:read("k.py"), GOOD)
end)

t.test("a missing kernel or a bad case is exit 2, named, and the kernel stays", function()
  local w <const> = folder(GOOD)
  local function refused(words, part)
    local status <const>, out <const>, err <const> = w:run(words)
    t.eq({ status, out }, { 2, "" })
    t.has(err, part)
    t.eq(select(2, err:gsub("\n", "")), 1, "one line: " .. err)
  end
  refused("debug no.py --case 'x=float32[8,8]'", "no such file")
  refused("debug k.py --case 'x=floaty[8,8]'", "unknown dtype `floaty`")
  t.eq(w:read("k.py"), GOOD)
end)
