-- SPDX-License-Identifier: MIT
-- The program itself: a prelude of our own in place of the real one, so that the host is seen without the rest.
local t <const> = require "tests.lib"
local vm <const> = require "rt.vm"

local PROGRAM <const> = vm.executable():gsub("nkiln%-lua$", "nkiln")

-- A home whose cli.main has this body (with `args`, task, proc, term, vm, worker in reach); jobs = { name = text }.
local function home_with(body, jobs)
  local dir <const> = t.tmpdir()
  os.execute("mkdir -p " .. dir .. "/prelude/work")
  t.write(dir .. "/prelude/cli.lua", [[
    local task, proc, term, vm, worker = require "rt.task", require "rt.proc", require "rt.term", require "rt.vm", require "rt.worker"
    return { main = function(args)
    ]] .. body .. "\nend }")
  for name, text in pairs(jobs or {}) do t.write(dir .. "/prelude/work/" .. name .. ".lua", text) end
  return dir
end

local function command(home) return "NKILN_HOME=" .. home .. " " .. t.quote(PROGRAM) end

local function run(body, how)
  how = how or {}
  return t.sh((how.before or "") .. command(home_with(body, how.jobs)) .. " " .. (how.args or "") .. (how.after or ""), how.input)
end

-- Processes that were started with this home, whoever is their parent now; a killed one may need a moment to go.
local function running(home, tries)
  local _, out <const> = t.sh("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -cxF NKILN_HOME=" .. home)
  local n <const> = math.tointeger(tonumber(out))
  if n == 0 or tries == 0 then return n end
  os.execute("sleep 0.05")
  return running(home, (tries or 40) - 1)
end

t.test("arguments in, exit status out, errors with a traceback", function()
  t.eq({ run("term.write(table.concat(args, '|')) return 3", { args = "a 'b c' ''" }) }, { 3, "a|b c|", "" })
  t.eq({ run("") }, { 0, "", "" })
  local code <const>, out <const>, err <const> = run("error('boom')")
  t.eq({ code, out }, { 1, "" })
  t.match(err, "^nkiln: prelude/cli.lua:%d+: boom\nstack traceback:")
  local bad <const>, _, syntax <const> = run("x = = 1")
  t.eq(bad, 1)
  t.has(syntax, "prelude/cli.lua:3:")
end)

t.test("the prelude has no io, debug, package and the like", function()
  local names <const> = "io debug package dofile loadfile print warn"
  t.eq({ run("for n in ('" .. names .. "'):gmatch('%a+') do if _G[n] ~= nil then term.write(n) end end") }, { 0, "", "" })
  local members <const> = "os.execute os.remove os.rename os.exit os.tmpname os.setlocale string.dump"
  t.eq({ run("for a, b in ('" .. members .. "'):gmatch('(%a+)%.(%a+)') do if _G[a][b] ~= nil then term.write(a .. b) end end") }, { 0, "", "" })
  t.eq({ run("term.write(tostring(load('\\27Lua', 'x', 'b')), tostring(getmetatable('')))") }, { 0, "nil", "" })
end)

t.test("waiting inside coroutines, nested, and cancellation through them", function()
  t.eq({ run [[
    local log = {}
    local gen = coroutine.wrap(function()
      for i = 1, 3 do
        coroutine.wrap(function() task.sleep(0.001) end)()
        coroutine.yield(i)
      end
    end)
    task.scope(function(s)
      local other = s:spawn(function() for _ = 1, 3 do task.sleep(0.0001) log[#log + 1] = "x" end end)
      local n = 0
      for i in gen do n = n + i end
      other:wait()
      log[#log + 1] = n
    end)
    local _, err = task.deadline(0.01, function()
      coroutine.wrap(function()
        local _ <close> = setmetatable({}, { __close = function() log[#log + 1] = "closed" end })
        coroutine.wrap(function() pcall(task.sleep, 1000) task.sleep(1000) end)()
      end)()
    end)
    log[#log + 1] = err.code
    -- a coroutine dropped with a scope open inside does not stay behind
    task.scope(function()
      coroutine.wrap(function() task.scope(function(s) s:spawn(task.sleep, 1000) coroutine.yield() end) end)()
    end)
    local ok, why = pcall(table.sort, { 2, 1 }, function() coroutine.wrap(task.sleep)(0) end)
    log[#log + 1] = why:match("cannot wait here")
    task.sleep(0)
    term.write(table.concat(log, " "))]] }, { 0, "x x x 6 closed timeout cannot wait here", "" })
end)

-- Start in the background, wait until it says it is ready, send signals, collect.
local function signalled(body, signals, jobs)
  local home <const> = home_with(body, jobs)
  local script <const> = ([[
    out=%s/out; mkfifo %s/ready
    %s >$out 2>%s/err & pid=$!
    until grep -q ready $out; do sleep 0.01; done; sleep 0.05
    start=$(date +%%s%%N)
    for s in %s; do kill -$s $pid; done
    wait $pid; echo "$?"; echo $((($(date +%%s%%N) - start) / 1000000)); cat $out]]):format(home, home, command(home), home, signals)
  local code <const>, out <const> = t.sh(script)
  t.eq(code, 0)
  local status <const>, ms <const>, text <const> = out:match("^(%d+)\n(%d+)\n(.*)$")
  return tonumber(status), text, t.read(home .. "/err"), tonumber(ms), running(home)
end

for name, case in pairs {
  ["a sleeping task, which cleans up"] = { [[
    local _ <close> = setmetatable({}, { __close = function() term.write("cleaned\n") end })
    term.write("ready\n") task.sleep(1000)]], "ready\ncleaned\n" },
  ["a busy loop"] = { [[
    local _ <close> = setmetatable({}, { __close = function() term.write("cleaned\n") end })
    term.write("ready\n") while true do end]], "ready\ncleaned\n" },
  ["a busy loop that catches everything"] = { "term.write('ready\\n') while true do pcall(function() while true do end end) end", "ready\n" },
  ["a busy loop in a coroutine of a child task"] = { [[
    task.scope(function(s)
      s:spawn(function() term.write("ready\n") coroutine.wrap(function() while true do end end)() end)
      s:wait()
    end)]], "ready\n" },
  ["a C call that never returns"] = { "term.write('ready\\n') return ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40) .. 'b')", "ready\n" },
  ["a program that ignores signals"] = { [[
    proc.run {
      argv = { "sh", "-c", "trap '' TERM INT HUP; echo; while :; do sleep 1237.1 & wait; done" },
      on_stdout = function() term.write("ready\n") end,
    }]], "ready\n" },
  ["a worker that computes"] = { [[
    local function ready(p) if p.go then term.write("ready\n") end end
    worker.start { module = "work.busy", on_progress = ready }:wait()]], "ready\n",
    { busy = "return { run = function(_, ctx) ctx.progress { go = true } while true do end end }" } },
} do
  t.test("SIGINT ends " .. name .. " with 130 and leaves nothing behind", function()
    for _, signal in ipairs { "INT", "TERM" } do
      local status <const>, out <const>, err <const>, ms <const>, left <const> = signalled(case[1], signal, case[3])
      t.eq({ status, out, err, left }, { 130, case[2], "", 0 })
      t.ok(ms < 5000, "it took " .. ms .. " ms")
    end
  end)
end

t.test("a second SIGINT ends at once, children included", function()
  local status <const>, _, _, _, left <const> = signalled([[
    local h = proc.start { argv = { "sleep", "1237.2" } }
    term.write("ready\n")
    while true do pcall(task.sleep, 1000) end]], "INT INT")
  t.eq({ status, left }, { 130, 0 })
end)

t.test("children and workers die with a host that is killed", function()
  local status <const>, _, _, _, left <const> = signalled([[
    local h, w = proc.start { argv = { "sleep", "1237.3" } }, worker.start { module = "work.idle" }
    term.write("ready\n")
    task.sleep(1000)]], "KILL", { idle = "return { run = function() require('rt.task').sleep(1000) end }" })
  t.eq({ status, left }, { 137, 0 })
end)

t.test("a reader that goes away ends the run quietly", function()
  local code <const>, out <const>, err <const> = run("for i = 1, 1e6 do term.write('line ' .. i .. '\\n') end term.error('too late')",
    { before = "{ ", after = "; echo $? >&3; } 3>&2 | head -2" })
  t.eq({ code, out, err }, { 0, "line 1\nline 2\n", "1\n" })
end)

t.test("a slow reader stalls one task and not the others; nothing is lost or mixed up", function()
  local code <const>, out <const>, err <const> = run([[
    local ticks = 0
    task.scope(function(s)
      local ticker = s:spawn(function() while true do task.sleep(0.005) ticks = ticks + 1 end end)
      local writers = {}
      for w = 1, 3 do
        writers[w] = s:spawn(function() for i = 1, 400 do term.write(w .. (":" .. i .. ("."):rep(2000)) .. "\n") end end)
      end
      for _, w in ipairs(writers) do w:wait() end
      ticker:cancel()
    end)
    return ticks > 3 and 0 or 9]], { after = " | { sleep 0.2; cat; }" })
  t.eq({ code, err }, { 0, "" })
  local count, bad = 0, 0
  for line in out:gmatch("([^\n]*)\n") do
    count = count + 1
    if not line:find("^[123]:%d+%.+$") or #line < 2003 then bad = bad + 1 end
  end
  t.eq({ count, bad }, { 1200, 0 })
end)

t.test("standard input: lines, pieces, the end, and lines over the limit", function()
  local body <const> = [[
    local out = {}
    while true do
      local line, err = term.read_line(10)
      if line == nil and not err then break end
      out[#out + 1] = line or err.code
    end
    term.write(table.concat(out, "|"))]]
  t.eq({ run(body, { input = "one\n\n" .. ("x"):rep(100000) .. "\nexactly10!\neleven 1234\nlast" }) }, { 0, "one||too_long|exactly10!|too_long|last", "" })
  t.eq({ run(body, { input = "" }) }, { 0, "", "" })
  t.eq({ run(body, { before = "(printf a; sleep 0.05; printf 'b\\nc') | " }) }, { 0, "ab|c", "" })
  local count <const> = "local n = 0 while true do local s = term.read() if not s then break end n = n + #s end term.write(n .. '')"
  t.eq({ run(count, { input = ("y"):rep(300000) }) }, { 0, "300000", "" })
  t.eq({ run("term.write(tostring(term.isatty('stdin')) .. tostring(term.columns()))", { input = "" }) }, { 0, "falsenil", "" })
end)

t.test("closed standard descriptors do no harm", function()
  t.eq({ run("local r = proc.run { argv = { 'echo', 'x' } } return r.stdout == 'x\\n' and 4 or 5", { after = " <&- >&- 2>&-" }) }, { 4, "", "" })
end)

t.test("a lone binary works from the copy inside it", function()
  local dir <const> = t.tmpdir()
  os.execute(("cp %s %s/nkiln"):format(t.quote(PROGRAM), dir))
  local code <const>, out <const>, err <const> = t.sh(("cd / && env -u NKILN_HOME %s/nkiln version"):format(dir))
  t.eq({ code, err }, { 0, "" })
  t.match(out, "^nkiln %d")
  t.eq({ t.sh("NKILN_HOME=/nowhere " .. t.quote(PROGRAM) .. " version") }, { 0, out, "" })
end)

t.test("a generation of modules loads aside; a broken one leaves the old", function()
  local dir <const> = t.tmpdir()
  t.eq({ run(([[
    local fs = require "rt.fs"
    local home = vm.home()
    local function save(text) assert(fs.write(home .. "/prelude/mod.lua", text)) end
    save("return { n = 1, dep = require('dep') }")
    assert(fs.write(home .. "/prelude/dep.lua", "return { count = 0 }"))
    local old = require "mod"
    old.dep.count = 5
    save("return { n = 2, dep = require('dep') }")
    local fresh = vm.generation()("mod")
    save("return {")
    local ok, err = pcall(vm.generation(), "mod")
    term.write(table.concat({ old.n, require("mod").n, fresh.n, old.dep.count, fresh.dep.count, tostring(ok), tostring(err:match("mod.lua:1")) }, " "))]])) },
    { 0, "1 1 2 5 0 false mod.lua:1", "" })
  t.ok(dir)
end)

t.test("modules that require themselves, or do not exist, say so", function()
  local code <const>, _, err <const> = run("require('loop')")
  t.eq(code, 1)
  t.has(err, "module 'loop' not found")
  t.has(select(3, run("local fs = require 'rt.fs' fs.write(vm.home() .. '/prelude/loop.lua', 'return require(\"loop\")') require('loop')")), "requires itself")
end)
