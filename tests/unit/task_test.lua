-- SPDX-License-Identifier: MIT
-- Tasks, scopes, cancellation. Nothing here depends on how long something takes: times only bound what must not happen.
local t <const> = require "tests.lib"
local task <const> = require "rt.task"

local LONG <const> = 1000 -- seconds: a wait that only cancellation ends

t.test("tasks of a scope run side by side and give their results", function()
  local order <const> = {}
  task.run(function()
    task.scope(function(s)
      local a <const> = s:spawn(function(x) task.sleep(0.02) order[#order + 1] = "a" return x, nil, 3 end, 7)
      local b <const> = s:spawn(function() task.sleep(0.01) order[#order + 1] = "b" return "b" end)
      t.eq(table.pack(a:wait()), { 7, nil, 3, n = 3 })
      t.eq(b:wait(), "b")
      t.eq({ a:wait() }, { 7, nil, 3 }) -- again
    end)
  end)
  t.eq(order, { "b", "a" })
end)

t.test("run returns the root's results and raises its error with a traceback", function()
  t.eq(table.pack(task.run(function(a, b) return b, a, nil end, 1, 2)), { 2, 1, nil, n = 3 })
  local err <const> = t.raises(function() task.run(function() error("boom") end) end, "boom")
  t.has(err, "stack traceback")
  local value <const> = {}
  local ok <const>, same <const> = pcall(task.run, function() error(value) end)
  t.eq({ ok, same == value }, { false, true })
end)

t.test("leaving a scope cancels and joins what it started, innermost first", function()
  local log <const> = {}
  task.run(function()
    task.scope(function(s)
      s:spawn(function()
        task.scope(function(inner)
          inner:spawn(function()
            local _ <close> = setmetatable({}, { __close = function() log[#log + 1] = "grandchild" end })
            task.sleep(LONG)
          end)
          task.sleep(LONG)
        end)
      end)
      s:spawn(function()
        local _ <close> = setmetatable({}, { __close = function() log[#log + 1] = "child" end })
        task.sleep(LONG)
      end)
      task.sleep(0)
      task.sleep(0)
    end)
    log[#log + 1] = "left"
  end)
  t.eq(#log, 3)
  t.eq(log[3], "left")
end)

t.test("scope:wait waits for the children instead", function()
  local n = 0
  task.run(function()
    task.scope(function(s)
      for _ = 1, 5 do s:spawn(function() task.sleep(0.001) n = n + 1 end) end
      s:wait()
    end)
  end)
  t.eq(n, 5)
end)

t.test("a failing child fails its scope and ends its siblings and the body", function()
  local log <const> = {}
  task.run(function()
    local ok <const>, err <const> = pcall(task.scope, function(s)
      s:spawn(function()
        local _ <close> = setmetatable({}, { __close = function() log[#log + 1] = "sibling" end })
        task.sleep(LONG)
      end)
      s:spawn(function() task.sleep(0.001) error({ code = "x", message = "broken" }) end)
      task.sleep(LONG)
      log[#log + 1] = "never"
    end)
    t.eq(ok, false)
    t.eq(err.message, "broken")
    task.sleep(0) -- the task itself goes on
  end)
  t.eq(log, { "sibling" })
end)

t.test("cancel ends a task; waiting for it reports that", function()
  task.run(function()
    task.scope(function(s)
      local a <const> = s:spawn(function() task.sleep(LONG) end)
      local never <const> = s:spawn(function() error("must not begin") end)
      never:cancel()
      task.sleep(0)
      a:cancel()
      local value <const>, err <const> = a:wait()
      t.eq({ value, err.code }, { nil, "cancelled" })
      t.eq(a:status(), "failed")
      t.eq(select(2, never:wait()).code, "cancelled")
    end)
  end)
end)

t.test("a pcall that swallows the end gets it again at every wait", function()
  local caught = 0
  task.run(function()
    task.scope(function(s)
      s:spawn(function()
        for _ = 1, 3 do
          local ok <const>, err <const> = pcall(task.sleep, LONG)
          t.eq(ok, false)
          t.ok(task.is_cancelled(err))
          caught = caught + 1
        end
      end)
      task.sleep(0)
    end)
  end)
  t.eq(caught, 3)
end)

t.test("a task that never stops catching is stopped by force", function()
  local caught, after = 0, false
  task.run(function()
    task.scope(function(s)
      s:spawn(function()
        while true do
          pcall(task.sleep, LONG)
          caught = caught + 1
        end
      end)
      task.sleep(0)
    end)
    after = true
    local sum = 0
    for i = 1, 100000 do sum = sum + i end -- the hook is gone again
    t.eq(sum, 5000050000)
  end)
  t.ok(after)
  t.ok(caught < 1000, "it was asked " .. caught .. " times")
end)

t.test("a deadline ends its body and nothing else", function()
  task.run(function()
    local value <const>, err <const> = task.deadline(0.005, function() task.sleep(LONG) end)
    t.eq({ value, err.code }, { nil, "timeout" })
    t.eq(table.pack(task.deadline(LONG, function() return 1, 2 end)), { 1, 2, n = 2 })
    t.raises(function() task.deadline(LONG, function() error("own") end) end, "own")
    -- the outer one ends first: the inner body ends, the outer reports
    local _, outer <const> = task.deadline(0.005, function()
      task.deadline(LONG, function() task.sleep(LONG) end)
      error("must not come here")
    end)
    t.eq(outer.code, "timeout")
    local n = 0
    for _ = 1, 300 do -- many deadlines are not one stubborn task
      task.deadline(0, function()
        pcall(task.sleep, LONG)
        n = n + 1
      end)
    end
    t.eq(n, 300)
  end)
end)

t.test("queues hand values over in order, wake one waiter per value, close", function()
  task.run(function()
    local q <const> = task.queue()
    local got <const> = {}
    task.scope(function(s)
      for i = 1, 3 do
        s:spawn(function()
          while true do
            local v <const>, err <const> = q:take()
            if v == nil then
              t.eq(err.code, "closed")
              return
            end
            got[#got + 1] = v
            task.sleep(0)
            if i == 0 then return end
          end
        end)
      end
      for i = 1, 20 do
        q:put(i)
        if i % 5 == 0 then task.sleep(0) end
      end
      q:close()
      s:wait()
    end)
    t.eq(#got, 20)
    table.sort(got)
    t.eq({ got[1], got[20] }, { 1, 20 })
    t.eq(select(2, task.queue():take(0.001)).code, "timeout")
    t.raises(function() q:put(1) end, "closed")
  end)
end)

t.test("waiting outside a task, or where a C function is in between, is an error that leaves the loop usable", function()
  t.raises(function() task.sleep(0) end, "inside a task")
  task.run(function()
    local list <const> = { 3, 1, 2 }
    t.raises(function() table.sort(list, function(a, b) task.sleep(0) return a < b end) end, "cannot wait here")
    task.sleep(0)
    local ok <const> = pcall(string.gsub, "x", "x", function() task.sleep(0) end)
    t.eq(ok, false)
    task.sleep(0)
  end)
end)

t.test("pcall, iterators, metamethods and __close around a wait", function()
  task.run(function()
    t.eq({ pcall(function() task.sleep(0) return 1 end) }, { true, 1 })
    local n = 0
    for i in (function(_, i) task.sleep(0) i = (i or 0) + 1 if i < 4 then return i end end) do n = n + i end
    t.eq(n, 6)
    local object <const> = setmetatable({}, { __index = function(_, k) task.sleep(0) return k .. "!" end, __add = function() task.sleep(0) return 5 end })
    t.eq(object.a, "a!")
    t.eq(object + 1, 5)
  end)
end)

t.test("a thousand tasks", function()
  local sum = 0
  task.run(function()
    task.scope(function(s)
      for i = 1, 1000 do s:spawn(function() task.sleep((i * 7919 % 13) / 1000) sum = sum + i end) end
      s:wait()
    end)
  end)
  t.eq(sum, 500500)
end)

t.test("an error in a task leaves no task running and the loop can run again", function()
  for _ = 1, 3 do
    t.raises(function()
      task.run(function()
        task.scope(function(s)
          s:spawn(function() task.sleep(LONG) end)
          error("stop")
        end)
      end)
    end, "stop")
  end
  t.eq(task.run(function() return task.inside() end), true)
  t.eq(task.inside(), false)
end)
