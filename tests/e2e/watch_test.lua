-- SPDX-License-Identifier: MIT
-- nkiln watch: every way of saving starts a run, a newer save cancels the one under way, edited preludes and skills are
-- taken up or kept out. The kernel jobs are replaced by a stub in a copy of the program's Lua files, so that the tests are
-- about watching; the last one uses the real thing. Waiting is for events, with a generous end.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local stub <const> = [[
local fs = require "rt.fs"
local work = {}
function work.run(request)
  local text, err = fs.read(request.path)
  if not text then return nil, { code = "file-missing", message = "cannot be read", where = request.path } end
  if text:find("slow", 1, true) then require("rt.task").sleep(30) end
  local ref = request.reference and fs.read(request.reference)
  return { ok = not text:find("bad", 1, true), diagnostics = {}, cases = {}, seen = text, ref = ref, stub = "STUB" }
end
return work
]]

-- A folder with a kernel, a copy of the Lua files with stubbed jobs, and a watcher that writes JSON lines to out.log.
local function watcher(words, setup)
  local w <const> = nkiln.folder()
  w:write("k.py", "one")
  w:sh(("mkdir -p ../lua && cp -r %s/prelude %s/skills %s/agents ../lua/"):format(nkiln.root, nkiln.root, nkiln.root))
  w:write("../lua/prelude/work/check.lua", stub)
  w:write("../lua/prelude/work/sim.lua", stub)
  if setup then setup(w) end
  w:sh(("NKILN_HOME=$PWD/../lua %s watch k.py --json %s >out.log 2>err.log & echo $! >pid"):format(nkiln.quoted, words or ""))
  function w:lines()
    local out <const> = {}
    for line in (self:read "out.log" or ""):gmatch("[^\n]+\n") do out[#out + 1] = json.decode(line) end
    return out
  end
  -- Wait until a line satisfies the test; returns it.
  function w:until_line(wanted, what)
    for _ = 1, 200 do
      for _, line in ipairs(self:lines()) do
        if wanted(line) then return line end
      end
      os.execute "sleep 0.05"
    end
    error({ test_failure = true, message = "never came: " .. what .. "\n" .. (self:read "out.log" or "") .. (self:read "err.log" or "") }, 2)
  end
  function w:saw(text) return self:until_line(function(line) return line.seen == text end, "a run on " .. text) end
  function w:stop()
    -- A process that ended may stay as a zombie where nobody collects it.
    local status <const> = self:sh [[
      p=$(cat pid); kill -INT $p 2>/dev/null
      for i in 1 2 3 4 5 6 7 8 9 10; do
        [ -d /proc/$p ] && ! grep -q '^State:.Z' /proc/$p/status || exit 0
        sleep 0.1
      done
      kill -9 $p; exit 9]]
    t.eq(status, 0, "still there a second after Ctrl-C")
  end
  w:saw "one"
  return w
end

t.test("every way of saving starts a run", function()
  local w <const> = watcher()
  local ways <const> = {
    truncate = "printf truncate > k.py",
    rename = "printf rename > .k.py.swp; mv .k.py.swp k.py",
    away = "mv k.py k.py~; printf away > k.py; rm k.py~",
    delete = "rm k.py; sleep 0.05; printf delete > k.py",
    copy = "printf copy > other; cp other k.py",
    pieces = "printf pie > k.py; sleep 0.01; printf ces >> k.py",
  }
  for _, name in ipairs { "truncate", "rename", "away", "delete", "copy", "pieces" } do
    w:sh(ways[name])
    w:saw(name)
  end
  w:stop()
end)

t.test("a symbolic link that is turned, and a folder behind a link", function()
  local w <const> = watcher(nil, function(w) w:sh "mkdir -p a b; printf one > a/k.py; printf two > b/k.py; rm -f k.py; ln -s a here; ln -s here/k.py k.py" end)
  w:sh "ln -sfn b here"
  w:saw "two"
  w:sh "printf three > b/k.py"
  w:saw "three"
  w:stop()
end)

t.test("the reference, its neighbours and the task file count too", function()
  local w <const> = watcher("--reference ref.py:f", function(w) w:write("ref.py", "r1") end)
  w:sh "printf 'import helper' > k.py"
  w:saw "import helper"
  w:sh "printf r2 > ref.py"
  w:until_line(function(line) return line.ref == "r2" end, "the new reference")
  local runs <const> = #w:lines()
  w:sh "printf x > helper.py"
  w:until_line(function() return #w:lines() > runs end, "a run for a new module")
  w:stop()
end)

t.test("a newer save cancels the run under way", function()
  local w <const> = watcher()
  w:sh "printf slow > k.py; sleep 0.4; printf quick > k.py"
  w:saw "quick"
  for _, line in ipairs(w:lines()) do t.ok(line.seen ~= "slow", "the slow run was reported") end
  t.eq(select(2, w:sh "pgrep -P $(cat pid) | wc -l"):match("%d+"), "0", "a worker is left")
  w:stop()
end)

t.test("with --json the interrupt at the end is a line like the others", function()
  local w <const> = watcher()
  w:saw "one"
  w:stop()
  local lines <const> = w:lines()
  t.eq(lines[#lines].error.code, "interrupted")
end)

t.test("a kernel that goes away is one line, and no end", function()
  local w <const> = watcher()
  w:sh "rm k.py"
  local gone <const> = w:until_line(function(line) return line.ok == false end, "the failure")
  t.eq(gone.error.code, "not-found")
  w:sh "printf back > k.py"
  w:saw "back"
  w:stop()
end)

t.test("an edited prelude is taken up; a broken one is told and kept out", function()
  local w <const> = watcher()
  local path <const> = "../lua/prelude/work/check.lua"
  w:write(path, (stub:gsub("STUB", "NEW")))
  w:until_line(function(line) return line.stub == "NEW" end, "a run on the new prelude")
  w:write(path, "return {")
  local broken <const> = w:until_line(function(line) return line.event == "broken" end, "the news of a broken prelude")
  t.has(broken.error.where, "prelude/work/check.lua:1")
  w:sh "printf while-broken > k.py"
  t.eq(w:saw("while-broken").stub, "NEW", "the last sound one runs")
  w:write(path, "error('at load')")
  w:until_line(function(line) return line.event == "broken" and line.error.message:find("at load", 1, true) end, "the news of a module that raises")
  w:write(path, (stub:gsub("STUB", "MENDED")))
  w:until_line(function(line) return line.stub == "MENDED" end, "a run on the mended prelude")
  w:sh "printf again > k.py"
  t.eq(w:saw("again").stub, "MENDED")
  w:write(path, "broken again")
  w:until_line(function(line) return line.event == "broken" and line.generation == 3 end, "the news of another broken prelude")
  w:sh "printf still > k.py"
  t.eq(w:saw("still").stub, "MENDED", "the copy of an older generation is used")
  w:stop()
  t.eq(select(2, w:sh "ls -d /tmp/nkiln-prelude* 2>/dev/null | wc -l"):match("%d+"), "0", "a copy of the prelude is left")
end)

t.test("edited and broken skills are told", function()
  local text <const> = 'return skill { name = "say", description = "d.", run = function() end }'
  local w <const> = watcher(nil, function(w) w:write("../home/.kiro/skills/say/skill.lua", text) end)
  w:write("../home/.kiro/skills/say/skill.lua", "return skill {")
  local broken <const> = w:until_line(function(line) return line.event == "broken" and line.name == "say" end, "the news of a broken skill")
  t.eq(broken.generation, 1)
  w:write("../home/.kiro/skills/say/skill.lua", text .. " -- mended")
  w:until_line(function(line) return line.event == "reloaded" and line.name == "say" and line.generation == 2 end, "the reload")
  w:stop()
end)

t.test("Ctrl-C while a run is under way: 130, and nothing left behind", function()
  local w <const> = watcher()
  w:sh "printf slow > k.py; sleep 0.5"
  local status <const> = w:sh(("NKILN_HOME=$PWD/../lua %s watch k.py & p=$!; sleep 0.5; kill -INT $p; wait $p"):format(nkiln.quoted))
  t.eq(status, 130)
  w:stop()
end)

t.test("what cannot begin ends at once", function()
  local w <const> = nkiln.folder()
  local status, _, err = w:run "watch nope.py"
  t.eq(status, 2)
  t.match(err, "^nkiln: [^\n]*nope%.py\n$")
  w:write("k.py", "")
  status, _, err = w:run "watch k.py --case 'x=float31[2]'"
  t.eq(status, 2, err)
end)

t.test("the real thing: a kernel that is mended while it is watched", function()
  local w <const> = nkiln.folder()
  local good <const> = t.read(nkiln.root .. "/tests/kernels/softmax.py")
  w:write("k.py", (good:gsub("op=nl%.exp", "op=nl.exq", 1)))
  w:write("ref.py", t.read(nkiln.root .. "/tests/kernels/softmax_ref.py"))
  w:sh(("%s watch k.py --case 'x=f32[64,32], scale=0.5' --reference ref.py --json >out.log 2>err.log & echo $! >pid"):format(nkiln.quoted))
  local function until_line(wanted, what)
    for _ = 1, 400 do
      for line in (w:read "out.log" or ""):gmatch("[^\n]+\n") do
        if wanted(json.decode(line)) then return end
      end
      os.execute "sleep 0.05"
    end
    error({ test_failure = true, message = "never came: " .. what .. "\n" .. (w:read "out.log" or "") .. (w:read "err.log" or "") }, 2)
  end
  until_line(function(line) return line.ok == false and line.diagnostics[1] ~= nil end, "the diagnostic")
  w:write("k.py", good)
  until_line(function(line) return line.ok == true and line.verdict == "proved" end, "the proof")
  w:sh "kill -INT $(cat pid)"
end)
