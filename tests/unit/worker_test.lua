-- SPDX-License-Identifier: MIT
-- Workers: every way a worker can end, what it may touch, what comes back. The jobs are written to a folder that the
-- worker takes for the program's own.
local t <const> = require "tests.lib"
local task <const> = require "rt.task"
local worker <const> = require "rt.worker"
local pack <const> = require "rt.pack"
local vm <const> = require "rt.vm"

local function home_with(body)
  local dir <const> = t.tmpdir()
  os.execute("mkdir -p " .. dir .. "/prelude/work")
  t.write(dir .. "/prelude/work/job.lua", body)
  return dir
end

-- Run `body` (the text of a function body with `request` and `ctx`) in a worker; returns what wait returns.
local function run(body, options)
  options = options or {}
  local head <const> = "local vm, task, pack = require 'rt.vm', require 'rt.task', require 'rt.pack'\n"
  options.home = home_with(head .. "return { run = function(request, ctx)\n" .. body .. "\nend }")
  options.module = "work.job"
  return task.run(function()
    local handle <close> = assert(worker.start(options))
    return handle:wait()
  end)
end

local function children()
  local pipe <const> = assert(io.popen("ps -o pid= --ppid $PPID | wc -l"))
  local n <const> = tonumber(pipe:read("a"))
  pipe:close()
  return n
end

t.test("a result comes back as it was, with what the run took", function()
  local value <const> = { 1, 2.0, "three", { x = true, y = false }, [10] = "ten", z = 0 / 0, big = math.maxinteger, text = "\0\255" }
  local result <const>, info <const> = run("return request", { request = value })
  t.eq(result, value)
  t.ok(info.seconds >= 0 and info.lua_bytes > 0)
  t.eq(type(info.jail), "string")
  t.eq(select("#", run("return nil")), 2)
end)

t.test("nil, err of the job and errors it raises", function()
  local value <const>, err <const> = run("return nil, { code = 'not_found', message = 'no such thing', n = 3 }")
  t.eq({ value, err }, { nil, { code = "not_found", message = "no such thing", n = 3 } })
  local _, raised <const> = run("error('boom')")
  t.eq(raised.code, "error")
  t.match(raised.message, "^prelude/work/job.lua:%d+: boom$")
  t.has(raised.traceback, "prelude/work/job.lua")
  local _, own <const> = run("error { code = 'mine', message = 'own', list = { 1 } }")
  t.eq(own, { code = "mine", message = "own", list = { 1 } })
  local _, unsendable <const> = run("return { f = print or function() end }")
  t.has(unsendable.message, "cannot send a function")
  local _, missing <const> = task.run(function() return worker.start { module = "work.none" }:wait() end)
  t.has(missing.message, "module 'work.none' not found")
end)

t.test("progress arrives in order, with the counters", function()
  local seen <const> = {}
  local result <const> = run("for i = 1, 500 do ctx.progress { i = i } end return #request", {
    request = "abc",
    on_progress = function(p)
      if p.i then seen[#seen + 1] = p.i end
      t.eq(math.type(p.instructions), "integer")
      task.sleep(0)
    end,
  })
  t.eq(result, 3)
  t.eq(#seen, 500)
  t.eq({ seen[1], seen[500] }, { 1, 500 })
end)

t.test("a worker inside one long C call still shows progress, and is cancelled", function()
  local home <const> = home_with("return { run = function() return ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40) .. 'b') end }")
  task.run(function()
    local beats = 0
    local handle
    handle = worker.start {
      home = home, module = "work.job",
      on_progress = function(p)
        beats = beats + 1
        t.ok(p.seconds > 0)
        if beats == 2 then handle:cancel() end
      end,
    }
    local value <const>, err <const> = handle:wait()
    t.eq({ value, err.code }, { nil, "cancelled" })
    t.eq(handle:pid(), nil)
    t.eq(select(2, handle:wait()).code, "cancelled")
  end)
end)

t.test("limits: memory, CPU time, wall time, size of the result", function()
  local _, memory <const> = run("local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", { limits = { memory = 32 << 20 } })
  t.eq(memory.code, "memory")
  local _, cpu <const> = run("while true do pcall(function() while true do end end) end", { limits = { cpu = 0.2 } })
  t.eq(cpu.code, "cpu")
  local _, wall <const> = run("task.sleep(1000)", { limits = { wall = 0.1 } })
  t.eq(wall.code, "timeout")
  local _, output <const> = run("return ('x'):rep(1 << 20)", { limits = { output = 1000 } })
  t.eq(output.code, "output")
end)

t.test("arrays and Lua share one limit of memory", function()
  local MB <const> = 1 << 20
  local head <const> = [[
    local array = require "rt.array"
    local MB, keep, text = 1 << 20, {}, {}
    local function arrays(n) for i = 1, n do keep[#keep + 1] = array.new("int8", { MB }) end return true end
    local function strings(n) for i = 1, n do text[#text + 1] = ("x"):rep(MB - 100) .. i end return true end
    local function count(fn) local n = 0 while pcall(fn, 1) do n = n + 1 end return n end
  ]]
  local function result(body) return run(head .. body, { limits = { memory = 64 * MB } }) end
  -- Neither gets the whole when the other has a part; together they stay within it, a sixteenth of slack included.
  local first <const> = result [[
    arrays(40)
    local more = count(strings)
    local used, _, limit = array.memory()
    return { more = more, all = used + vm.memory(), limit = limit }
  ]]
  t.ok(first.more >= 10 and first.more < 30, "strings beside 40 MB of arrays: " .. first.more)
  t.ok(first.limit == 64 * MB and first.all <= 68 * MB, "in all: " .. first.all)
  local second <const> = result "strings(40) local n = count(arrays) return n + 0 * #text"
  t.ok(second >= 10 and second < 24, "arrays beside 40 MB of strings: " .. second)
  -- What was dropped makes room on either side; blocks kept for reuse do not stand in the way.
  local third <const> = result [[
    for i = 1, 5 do
      arrays(45)
      keep = {}
      strings(40)
      text = {}
    end
    return "done"
  ]]
  t.eq(third, "done")
end)

t.test("an error about memory can be caught and told, and the state goes on", function()
  local value <const> = run([[
    local seen = {}
    for i = 1, 20 do
      local t = {}
      local ok, err = pcall(function() while true do t[#t + 1] = ("x"):rep(1000) .. #t end end)
      t = nil
      seen[i] = tostring(err):sub(1, 17)
    end
    return seen
  ]], { limits = { memory = 32 << 20 } })
  t.eq(#value, 20)
  for i = 1, 20 do t.eq(value[i], "not enough memory") end
end)

t.test("a CPU limit holds in a coroutine, in __close, in a sort, after it was caught", function()
  for _, body in ipairs {
    "coroutine.wrap(function() while true do end end)()",
    "while true do coroutine.wrap(function() pcall(function() while true do end end) end)() end",
    "local x <close> = setmetatable({}, { __close = function() while true do end end }) while true do end",
    "coroutine.wrap(function() local x <close> = setmetatable({}, { __close = function() while true do end end }) while true do end end)()",
    "table.sort({ 1, 2, 3 }, function() while true do end end)",
    "while true do xpcall(error, function() while true do end end) end",
  } do
    local _, err <const> = run(body, { limits = { cpu = 0.1 } })
    t.eq(err.code, "cpu", body)
  end
end)

t.test("a CPU limit ends a C call that never returns", function()
  local _, err <const> = run("return ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40) .. 'b')", { limits = { cpu = 0.1 } })
  t.eq(err.code, "cpu")
end)

t.test("a crash is a result, with what the worker wrote", function()
  task.run(function()
    local handle <const> = worker.start { home = home_with("return { run = function() require('rt.task').sleep(1000) end }"), module = "work.job" }
    os.execute("kill -SEGV " .. handle:pid())
    local value <const>, err <const> = handle:wait()
    t.eq({ value, err.code }, { nil, "crashed" })
    t.has(err.message, "crashed")
    t.eq(type(err.info.site), "number")
  end)
end)

t.test("questions to the host: answers, errors, and none answered", function()
  local result <const> = run([[
    local a, b = ctx.call("add", { 2, 3 })
    local ok, err = pcall(ctx.call, "fail", 1)
    local ok2, err2 = pcall(ctx.call, "table", 1)
    return { a, b, ok, err:match("no such number"), err2.code }]], {
    on_call = function(name, value)
      task.sleep(0)
      if name == "add" then return value[1] + value[2], "second" end
      if name == "table" then error { code = "denied", message = "no" } end
      error("no such number")
    end,
  })
  t.eq(result, { 5, "second", false, "no such number", "denied" })
  local _, err <const> = run("return ctx.call('x')")
  t.has(err.message, "answers no calls")
end)

t.test("large values and descriptors travel both ways", function()
  local big <const> = ("0123456789"):rep(500000)
  local result <const> = run([[
    ctx.progress { n = #request.big }
    local bytes = request.fd:bytes()
    return { big = request.big .. "!", bytes = bytes, fd = pack.memfd("from the worker") }]], {
    request = { big = big, fd = pack.memfd("from the host") },
    on_progress = function(p) if p.n then t.eq(p.n, #big) end end,
  })
  t.eq(#result.big, #big + 1)
  t.eq(result.bytes, "from the host")
  t.eq(result.fd:bytes(), "from the worker")
  result.fd:close()
end)

t.test("two workers run at the same time, and one that is left behind is killed", function()
  local home <const> = home_with("return { run = function(r) require('rt.task').sleep(r) return r end }")
  task.run(function()
    task.scope(function(s)
      local a <const> = worker.start { home = home, module = "work.job", request = 0.02 }
      local b <const> = worker.start { home = home, module = "work.job", request = 0.01 }
      local ta <const>, tb <const> = s:spawn(function() return (a:wait()) end), s:spawn(function() return (b:wait()) end)
      t.eq({ ta:wait(), tb:wait() }, { 0.02, 0.01 })
      worker.start { home = home, module = "work.job", request = 1000 }
    end)
  end)
  t.eq(children(), 1) -- the shell of this very question
end)

t.test("cancelling the waiting task ends its worker with the scope", function()
  local home <const> = home_with("return { run = function(r) require('rt.task').sleep(r) end }")
  task.run(function()
    local _, err <const> = task.deadline(0.05, function() return worker.start { home = home, module = "work.job", request = 1000 }:wait() end)
    t.eq(err.code, "timeout")
  end)
  t.eq(children(), 1)
end)

t.test("what a worker prints does not reach our output", function()
  local exe <const> = vm.executable()
  local script <const> = t.tmpdir() .. "/s.lua"
  local home <const> = home_with([[local term = require 'rt.term'
    return { run = function() for _ = 1, 3000 do term.write('noise\n') term.error('noise\n') end return 1 end }]])
  t.write(script, ("require('rt.task').run(function() print((require('rt.worker').start{home=%q, module='work.job'}:wait())) end)"):format(home))
  t.eq({ t.sh(exe .. " " .. script) }, { 0, "1\n", "" })
end)

-- The walls. Each line is one try to get out; the job says how it went.

local function probe(body, rights)
  local result <const>, info <const> = run("local fs, proc = require 'rt.fs', require 'rt.proc'\n" .. body, { rights = rights })
  if result == nil then error(info.message) end
  return result, info
end

t.test("a worker starts no program", function()
  local result <const> = probe("local r, e = proc.run { argv = { '/bin/true' } } return { r ~= nil, e and e.code }")
  t.eq(result[1], false)
end)

t.test("a worker reads and writes only its roots", function()
  local _, info <const> = run("return 1")
  if not info.jail:find("landlock", 1, true) then t.skip("no Landlock here: " .. info.jail) end
  local dir <const> = t.tmpdir()
  os.execute(("mkdir -p %s/in %s/out %s/other"):format(dir, dir, dir))
  t.write(dir .. "/in/a", "readable")
  t.write(dir .. "/other/b", "secret")
  os.execute(("ln -s %s/other/b %s/out/link"):format(dir, dir))
  local result <const> = run([[
    local fs = require 'rt.fs'
    local function reads(path) return (pcall(function() return assert(fs.read(path)) end)) end
    local function writes(path) return (pcall(function() return assert(fs.write(path, 'x')) end)) end
    return {
      reads(request .. "/in/a"), writes(request .. "/in/new"), writes(request .. "/in/a"), writes(request .. "/out/new"),
      reads(request .. "/other/b"), writes(request .. "/other/new"), reads("/etc/hostname"), reads(request .. "/out/link"),
      writes(request .. "/out/link"), reads(request .. "/in/../other/b"), reads("/proc/" .. require("rt.proc").pid() .. "/environ"),
    }]], { request = dir, rights = { read = { dir .. "/in" }, write = { dir .. "/out" } } })
  t.eq(t.read(dir .. "/other/b"), "secret")
  table.remove(result) -- its own environment: no matter
  t.eq(result, { true, false, false, true, false, false, false, false, false, false })
end)
