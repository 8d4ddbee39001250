-- SPDX-License-Identifier: MIT
-- Runs of an agent that stop at a step of the test's choice: the built binary with a home of its own whose driver waits at the
-- boundary before step `number`, until the test kills it or lets it go. Nothing depends on a clock.
--
--   held.start(w, words, number) -> h     run `nkiln words` in folder w until it stands before that step
--   h:kill()                              kill -9, and wait for the end
--   h:release() -> status, stdout         let it go on, and wait for the end

local t <const> = require "tests.lib"
local nkiln <const> = require "tests.e2e.nkiln"

local held <const> = {}
local methods <const> = {}
methods.__index = methods

local PLACE <const> = "  if m.on_step then m.on_step(name, m.run.number + 1, m.account) end\n"
local HOLD <const> = [[
  if m.run.number + 1 == %d then
    local fs <const>, task <const> = require "rt.fs", require "rt.task"
    assert(fs.write(%q, name))
    while fs.stat(%q) do task.sleep(0.005) end
  end
]]

function held.start(w, words, number)
  w:ready()
  local home <const>, flag <const> = w:full("../held"), w:full("../standing")
  local driver <const> = t.read("prelude/agent.lua")
  local from <const>, to <const> = driver:find(PLACE, 1, true)
  t.ok(from, "prelude/agent.lua has no place to wait at")
  local made <const> = [[mkdir -p "$1/prelude" && ln -s "$2"/prelude/* "$1/prelude/" && rm "$1/prelude/agent.lua" &&
    ln -s "$2/skills" "$1/skills" && ln -s "$2/agents" "$1/agents"]]
  assert(os.execute(("sh -c %s sh %s %s"):format(t.quote(made), t.quote(home), t.quote(nkiln.root))))
  t.write(home .. "/prelude/agent.lua", driver:sub(1, to) .. HOLD:format(number, flag, flag) .. driver:sub(to + 1))
  local h <const> = setmetatable({ w = w, flag = flag, out = w:full("../held.out"), status = w:full("../held.status"), pid = w:full("../held.pid") }, methods)
  -- A run that ends by itself before that step, or stands still for minutes, fails the test.
  local code <const>, said <const> = w:sh(([[
    rm -f %s %s
    ( NKILN_HOME=%s %s %s >%s 2>&1 & pid=$!; echo $pid >%s; wait $pid; echo $? >%s ) >/dev/null 2>&1 </dev/null &
    i=0
    until [ -e %s ]; do
      [ -e %s ] && { cat %s; exit 98; }
      i=$((i + 1)); [ $i -gt 6000 ] && exit 99
      sleep 0.02
    done]]):format(t.quote(h.flag), t.quote(h.status), t.quote(home), nkiln.quoted, words, t.quote(h.out), t.quote(h.pid), t.quote(h.status),
      t.quote(h.flag), t.quote(h.status), t.quote(h.out)))
  t.eq(code, 0, "the run did not come to step " .. number .. ": " .. tostring(said))
  return h
end

local function ended(h) h.w:sh(("until [ -s %s ]; do sleep 0.02; done"):format(t.quote(h.status))) end

function methods:kill()
  self.w:sh(("kill -9 $(cat %s)"):format(t.quote(self.pid)))
  ended(self)
  os.remove(self.flag)
end

function methods:release()
  os.remove(self.flag)
  ended(self)
  return tonumber(t.read(self.status)), t.read(self.out)
end

return held
