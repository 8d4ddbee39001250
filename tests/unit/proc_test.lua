-- SPDX-License-Identifier: MIT
-- Child processes: output, input, limits, ends, what is left behind.
local t <const> = require "tests.lib"
local task <const> = require "rt.task"
local proc <const> = require "rt.proc"

-- Programs to look for afterwards carry a number that only this process uses.
local function sleeper(n) return ("sleep 1234.%d%d"):format(proc.pid(), n) end

local function run(options)
  if type(options) == "string" then options = { argv = { "sh", "-c", options } } end
  return task.run(function() return proc.run(options) end)
end

local function running(marker)
  local _, out <const> = t.sh("ps -eo args= | grep -F " .. t.quote(marker) .. " | grep -vc grep")
  return math.tointeger(tonumber(out))
end

local function zombies()
  local pipe <const> = assert(io.popen("ps -o stat= --ppid $PPID | grep -c Z"))
  local n <const> = tonumber(pipe:read("a"))
  pipe:close()
  return n
end

t.test("status, both streams, arguments as they are", function()
  local r <const> = run { argv = { "sh", "-c", "printf '%s|' \"$@\"; echo oops >&2; exit 7", "x", "a b", "", "*", "'\"$HOME" } }
  t.eq({ r.status, r.stdout, r.stderr, r.truncated }, { 7, "a b||*|'\"$HOME|", "oops\n", false })
  t.eq(run("echo a; echo b >&2; exit 0").signal, nil)
  local merged <const> = run { argv = { "sh", "-c", "echo a; echo b >&2; echo c" }, merge = true }
  t.eq({ merged.stdout, merged.stderr }, { "a\nb\nc\n", "" })
end)

t.test("a signal is told apart from a status", function()
  local r <const> = run "kill -9 $$"
  t.eq({ r.signal, r.status }, { 9, 137 })
end)

t.test("what cannot be started is an error of the world", function()
  local function code(options) return select(2, run(options)).code end
  t.eq(code { argv = { "no-such-program-here" } }, "not_found")
  t.eq(code { argv = { "/no/such/program" } }, "not_found")
  t.eq(code { argv = { "true" }, cwd = "/no/such/folder" }, "not_found")
  local dir <const> = t.tmpdir()
  t.write(dir .. "/data", "x")
  t.eq(code { argv = { dir .. "/data" } }, "not_permitted")
  os.execute("chmod +x " .. dir .. "/data")
  t.eq(code { argv = { dir .. "/data" } }, "not_executable")
  t.eq(code { argv = { "data" }, env = { PATH = "/nowhere" } }, "not_found")
  t.eq(zombies(), 0)
  t.raises(function() run { argv = {} } end, "program expected")
  t.raises(function() run { argv = { "a\0b" } } end, "zero byte")
end)

t.test("environment and folder", function()
  t.eq(run { argv = { "/usr/bin/env" }, env = { A = "1" } }.stdout, "A=1\n")
  t.eq(run { argv = { "sh", "-c", "echo $B${HOME:+home}" }, setenv = { B = "2", HOME = false } }.stdout, "2\n")
  t.eq(run { argv = { "pwd" }, cwd = "/usr" }.stdout, "/usr\n")
end)

t.test("input larger than a pipe, while output is larger than a pipe", function()
  local text <const> = ("0123456789abcdef"):rep(200000)
  local r <const> = run { argv = { "cat" }, input = text }
  t.eq(#r.stdout, #text)
  t.ok(r.stdout == text)
  t.eq(run { argv = { "true" }, input = text }.status, 0) -- it does not read: no error, no signal
  t.eq(run { argv = { "cat" } }.stdout, "")
end)

t.test("output is capped, and the child is not stopped by that", function()
  local r <const> = run { argv = { "sh", "-c", "head -c 3000000 /dev/zero; echo end >&2" }, stdout_limit = 1000 }
  t.eq({ #r.stdout, r.truncated, r.stderr, r.status }, { 1000, true, "end\n", 0 })
end)

t.test("streamed output arrives in pieces, in order, and may be slow to take", function()
  local got <const>, err <const> = {}, {}
  local r <const> = run {
    argv = { "sh", "-c", "for i in 1 2 3; do echo $i; done; echo e >&2; head -c 5000000 /dev/zero" },
    on_stdout = function(chunk) task.sleep(0) got[#got + 1] = chunk end,
    on_stderr = function(chunk) err[#err + 1] = chunk end,
  }
  local all <const> = table.concat(got)
  t.eq({ r.status, all:sub(1, 6), #all, table.concat(err), r.stdout }, { 0, "1\n2\n3\n", 5000006, "e\n", "" })
  t.raises(function() run { argv = { "echo" }, on_stdout = function() error("in the callback") end } end, "in the callback")
end)

t.test("a deadline ends the whole group, also one that ignores TERM", function()
  local marker <const> = sleeper(5)
  local r, err = run { argv = { "sh", "-c", marker .. " & " .. marker }, deadline = 0.1 }
  t.eq({ r, err.code, err.signal }, { nil, "timeout", 15 })
  r, err = run { argv = { "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done" }, deadline = 0.1, grace = 0.1 }
  t.eq({ r, err.code, err.signal, err.stdout }, { nil, "timeout", 9, "ready\n" })
  t.eq(running(marker), 0)
end)

t.test("what a program leaves running in its group is killed, and does not hold the pipes", function()
  local marker <const> = sleeper(6)
  local r <const> = run("echo out; " .. marker .. " & exit 3")
  t.eq({ r.status, r.stdout }, { 3, "out\n" })
  t.eq(running(marker), 0)
  -- one that left the group keeps the pipe, but not us
  local away <const> = run "setsid sleep 3 & exit 4"
  t.eq(away.status, 4)
  t.ok(away.seconds < 2.5)
end)

t.test("a cancelled run kills its child", function()
  local marker <const> = sleeper(7)
  task.run(function()
    local _, err <const> = task.deadline(0.05, function() return proc.run { argv = { "sh", "-c", marker .. " & " .. marker } } end)
    t.eq(err.code, "timeout")
    task.sleep(0.05)
    t.eq(running(marker), 0)
  end)
end)

t.test("handles: read, write, wait, kill, and closing early", function()
  task.run(function()
    local h <close> = assert(proc.start { argv = { "cat" }, interactive = true })
    t.eq(h:write("one\n"), true)
    t.eq(h:read(), "one\n")
    t.eq(h:write("two\n"), true)
    t.eq(h:read(), "two\n")
    t.ok(h:running() and h:pid() > 1)
    h:close_stdin()
    t.eq(h:read(), nil)
    t.eq(h:wait().status, 0)
    t.eq({ h:running(), h:pid() }, { false, nil })
    t.eq(h:wait().status, 0) -- again
    t.eq(select(2, h:write("x")).code, "closed")

    local slow <close> = assert(proc.start { argv = { "sh", "-c", "exec " .. sleeper(8) } })
    slow:kill(9)
    t.eq(slow:wait().signal, 9)

    local left <const> = assert(proc.start { argv = { "sh", "-c", "exec " .. sleeper(8) }, grace = 0 })
    left:close()
    left:close()
    t.eq(select(2, left:wait()).code, "closed")
    t.eq(running(sleeper(8)), 0)

    local both <close> = assert(proc.start { argv = { "sh", "-c", "echo out; echo err >&2" }, stream = true })
    t.eq({ both:read("stderr"), both:read("stdout") }, { "err\n", "out\n" })
    both:wait()
  end)
end)

t.test("a scope takes its children along; so does the end of the root task", function()
  task.run(function()
    task.scope(function() proc.start { argv = { "sh", "-c", "exec " .. sleeper(9) }, grace = 0 } end)
    t.eq(running(sleeper(9)), 0)
    proc.start { argv = { "sh", "-c", "exec " .. sleeper(9) }, grace = 0 }
  end)
  t.eq(running(sleeper(9)), 0)
end)

t.test("many children at once", function()
  local sum = 0
  task.run(function()
    task.scope(function(s)
      for i = 1, 40 do
        s:spawn(function()
          local r <const> = proc.run { argv = { "sh", "-c", "echo $1; sleep 0.0" .. i % 3, "x", tostring(i) } }
          sum = sum + tonumber(r.stdout)
        end)
      end
      s:wait()
    end)
  end)
  t.eq(sum, 820)
  t.eq(zombies(), 0)
end)

t.test("a child gets nothing but its three descriptors, default signals and its own group", function()
  local r <const> = run [[
    ls /proc/self/fd | tr '\n' ' '
    grep -E 'SigBlk|SigIgn' /proc/self/status | tr -s '\t\n' ' '
    [ $(ps -o pgid= -p $$) = $$ ] && echo group]]
  -- 3 is ls reading the folder. Signal 32 belongs to the C library, which lets nobody reset it when it was inherited ignored.
  local text <const> = r.stdout:gsub("SigIgn: 0000000080000000", "SigIgn: 0000000000000000")
  t.eq(text, "0 1 2 3 SigBlk: 0000000000000000 SigIgn: 0000000000000000 group\n")
end)

t.test("find looks at PATH", function()
  t.match(proc.find("sh"), "/sh$")
  t.eq(proc.find("no-such-program-here"), nil)
  t.eq(proc.find("sh", "/nowhere"), nil)
end)
