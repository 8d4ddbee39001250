-- SPDX-License-Identifier: MIT
-- jobs: a prelude module at work in a worker process, from the host's side.
--
-- jobs.run waits for the result; progress goes to the terminal, questions of the worker to `calls`. A worker that ends
-- another way is a failure with one clear line: time, memory, CPU, a crash, an interrupt. A budget's seconds limit the wall
-- clock; what the user may not read the worker cannot either (its folders come from the request's rights).

local fault <const> = require "fault"
local task <const> = require "rt.task"
local worker <const> = require "rt.worker"

local jobs <const> = {}

jobs.MEMORY = 8 << 30  -- bytes of Lua and array memory in one worker
jobs.STEPS = 2000000000 -- lowered Python operations

local words <const> = {
  timeout = { "the work did not end within its time limit", "--budget seconds=N gives it more" },
  cpu = { "the work used up its CPU time", "--budget seconds=N gives it more" },
  memory = { "the work needs more memory than its limit", "use smaller shapes, or NKILN_WORKER_MEMORY_MB" },
  steps = { "the step limit was reached", "is there a loop that never ends?" },
  output = { "the result is larger than its limit", "write it to files with --out" },
  crashed = { "the worker process crashed", "this is a fault of nkiln, not of the kernel" },
}

-- What an abnormal end means to the user.
local function translate(err, module)
  if fault.is(err) and getmetatable(err) ~= nil then return err end
  if err.code == "cancelled" then return fault.new("interrupted", "interrupted") end
  local known <const> = words[err.code]
  if not known then
    if err.code == "error" then
      local message <const> = tostring(err.message):match("^[^\n]*")
      return fault.new("failed", ("an error inside %s: %s"):format(module, message), { traceback = err.traceback, hint = "NKILN_DEBUG=1 shows where" })
    end
    return fault.of(err)
  end
  local message = known[1]
  if err.code == "crashed" then message = err.message or message end
  local tail <const> = err.info and err.info.output and err.info.output:match("([^\n]+)%s*$")
  local info <const> = err.info and { seconds = err.info.seconds, instructions = err.info.instructions }
  return fault.new(err.code, message, { hint = known[2], output = tail, info = info })
end

local function unique(list)
  local out <const>, seen <const> = {}, {}
  for _, path in ipairs(list or {}) do
    if not seen[path] then
      seen[path] = true
      out[#out + 1] = path
    end
  end
  return out
end

-- options: {read, write = folders, net = sockets (whoever says so has checked the right), rights = rights object (its
-- folders), seconds, budget, memory, steps, progress = function,
-- calls = function(name, value)}. Returns result, info; or nil, err.
function jobs.run(host, module, request, options)
  local seconds = options.seconds
  local left <const> = options.budget and options.budget:left("seconds")
  if left and (not seconds or left < seconds) then seconds = left end
  local read, write = options.read, options.write
  if options.rights then
    read, write = {}, {}
    local ceiling <const> = options.rights.ceiling
    for _, path in ipairs(options.rights.roots.read) do
      if not ceiling or ceiling:check("read", path) then read[#read + 1] = path end
    end
    for _, path in ipairs(options.rights.roots.write) do
      if not ceiling or ceiling:check("write", path) then write[#write + 1] = path end
    end
    for _, path in ipairs(options.read or {}) do
      if options.rights:check("read", path) then read[#read + 1] = path end
    end
    for _, path in ipairs(options.write or {}) do
      if options.rights:check("write", path) then write[#write + 1] = path end
    end
  end
  local megabytes <const> = tonumber(host.env("NKILN_WORKER_MEMORY_MB") or "")
  local shown = options.progress
  if shown == nil then shown = host.progress end
  local said -- what the worker last said it is doing; reports between are counters only
  local handle <const>, why <const> = worker.start {
    module = module, request = request, home = options.home, rights = { read = unique(read), write = unique(write), net = options.net or nil },
    limits = {
      memory = options.memory or (megabytes and megabytes * 1048576) or jobs.MEMORY, steps = options.steps or jobs.STEPS,
      wall = seconds, cpu = options.cpu, output = options.output,
    },
    on_progress = shown and function(p)
      said = p.text or said
      if p.instructions and p.instructions > 0 then p.text = ("%s%d instructions"):format(said and said .. "  " or "", p.instructions) end
      if p.text then shown(p) end
    end or nil,
    on_call = options.calls or nil,
  }
  if not handle then return nil, fault.of(why) end
  if options.on_start then options.on_start(handle) end
  local closing <close> = handle
  local result <const>, info <const> = closing:wait()
  if result == nil then
    if task.is_cancelled(info) then error(info, 0) end
    local err <const> = translate(info or {}, module)
    if err.code == "timeout" and options.budget then options.budget:check() end
    return nil, err
  end
  return result, info
end

return jobs
