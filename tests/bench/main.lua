-- SPDX-License-Identifier: MIT
-- make bench: nkiln beside its peers, measured in one run, as ratios. Nothing passes or fails here. Run on an idle machine; both
-- sides take turns and the best of each counts. The number of BLAS threads is the same on both (OPENBLAS_NUM_THREADS, or all
-- cores); everything else is one thread on either side.

local array <const> = require "rt.array"
local case <const> = require "nki.case"
local json <const> = require "rt.json"
local parser <const> = require "rt.python"
local session <const> = require "nki.session"
local task <const> = require "rt.task"

local PYTHON <const> = os.getenv("NKILN_ORACLE_PYTHON") or "/usr/bin/python3"

local function read(path)
  local file <const> = assert(io.open(path, "rb"))
  local text <const> = file:read("a")
  file:close()
  return text
end

local function peer(what, input)
  local in_path <const> = os.tmpname()
  local file <const> = assert(io.open(in_path, "wb"))
  file:write(input or "")
  file:close()
  local pipe <const> = assert(io.popen(("%s tests/bench/peer.py %s <%s 2>/dev/null"):format(PYTHON, what, in_path)))
  local text <const> = pipe:read("a")
  pipe:close()
  os.remove(in_path)
  return text
end

local function peer_seconds(what, input)
  local value <const> = json.decode(peer(what, input))
  return value and value.seconds
end

local function best(runs, fn)
  local least
  for _ = 1, runs do
    local began <const> = task.now()
    fn()
    local took <const> = task.now() - began
    if not least or took < least then least = took end
  end
  return least
end

local ROUNDS <const> = 3

-- Best seconds of each side, taking turns. theirs may be nil.
local function turns(ours, theirs)
  local mine, other
  for _ = 1, ROUNDS do
    local a <const>, b <const> = ours(), theirs()
    mine = mine and math.min(mine, a) or a
    other = b and (other and math.min(other, b) or b)
  end
  return mine, other
end

local function line(name, ours, theirs, goal)
  local ratio <const> = theirs and ("%.2fx"):format(ours / theirs) or "-"
  print(("%-46s %10.3f s %10s %8s   %s"):format(name, ours, theirs and ("%.3f s"):format(theirs) or "-", ratio, goal))
end

print(("%-46s %12s %10s %8s   %s"):format("", "nkiln", "peer", "ratio", "goal"))

-- Parsing: the C tree, no Lua tables; CPython builds its own tree.
local names <const>, sources <const>, bytes = peer("sources"), {}, 0
for name in names:gmatch("[^\n]+") do
  sources[#sources + 1] = read(name)
  bytes = bytes + #sources[#sources]
end
if #sources > 0 then
  local ours <const> = best(3, function() for _, text in ipairs(sources) do parser.parse_only(text) end end)
  line(("parse the standard library (%.1f MB)"):format(bytes / 1e6), ours, peer_seconds("parse", names), "0.20x of CPython's ast.parse")
end

local function run(path, text, execute, runs)
  local parsed <const> = assert(case.parse(text))
  local inputs <const> = {}
  if execute then
    for _, arg in ipairs(parsed.args) do
      if arg.kind == "tensor" then inputs[arg.name] = array.random({ dtype = arg.dtype, shape = arg.shape, seed = 1, dist = "normal" }) end
    end
  end
  local result
  local seconds <const> = best(runs, function()
    result = session.run({ path = path, case = parsed, execute = execute, inputs = execute and inputs or nil })
    assert(result.ok, result.diagnostics[1] and result.diagnostics[1].message)
  end)
  return seconds, result
end

local traced <const>, record <const> = run("tests/kernels/matmul_tiled.py", "a_t=bf16[8192,4096], b=bf16[8192,4096]", false, 2 * ROUNDS)
local spent = math.huge -- processor time: what remains of the figure when the machine is not idle
for _ = 1, ROUNDS do
  local before <const> = os.clock()
  run("tests/kernels/matmul_tiled.py", "a_t=bf16[8192,4096], b=bf16[8192,4096]", false, 1)
  spent = math.min(spent, os.clock() - before)
end
print(("%-46s %10.0f instructions/s (%d; %.0f per second of processor time)   goal 300,000/s"):format("trace a tiled matmul, shape-only",
  record.stats.instructions / traced, record.stats.instructions, record.stats.instructions / spent))

local function against(name, path, text, what, goal)
  local ours <const>, theirs <const> = turns(function() return (run(path, text, true, 3)) end, function() return peer_seconds(what) end)
  line(name, ours, theirs, goal)
end
against("simulate a 2048^3 bf16 tiled matmul", "tests/kernels/matmul_tiled.py", "a_t=bf16[2048,2048], b=bf16[2048,2048]", "matmul",
  "2x of NumPy's fp32 matmul")
against("simulate a [8192, 4096] scaled softmax", "tests/bench/softmax.py", "x=bf16[8192,4096], scale=0.125", "softmax",
  "1.5x of the NumPy reference in fp32")

-- Peak memory of one simulation in a fresh process, against the arrays it involves (input and output in bf16).
local function peak_megabytes(command)
  local script <const> = table.concat({
    command .. " >/dev/null 2>&1 & p=$!; m=0",
    "while kill -0 $p 2>/dev/null; do for q in $p $(cat /proc/$p/task/$p/children 2>/dev/null); do",
    'v=$(grep VmHWM /proc/$q/status 2>/dev/null | tr -dc 0-9); [ "${v:-0}" -gt "$m" ] && m=$v; done; sleep 0.02; done; echo $m',
  }, "\n")
  local pipe <const> = assert(io.popen(script))
  local text <const> = pipe:read("a")
  pipe:close()
  return tonumber(text) and tonumber(text) / 1024
end
local megabytes <const> = peak_megabytes("build/nkiln sim tests/bench/softmax.py --case \"x=bf16[8192,4096], scale=0.125\"")
if megabytes then
  local involved <const> = 2 * 8192 * 4096 * 2 / 1048576
  print(("%-46s %10.0f MB %11.0f MB %8.2fx   4x the arrays involved"):format("peak memory of that softmax (nkiln sim)", megabytes,
    involved, megabytes / involved))
end
require "tests.bench.schedule_bench"()
local started <const> = best(5, function() os.execute("build/nkiln version >/dev/null") end)
print(("%-46s %10.1f ms %32s"):format("nkiln version", 1000 * started, "goal under 10 ms"))
print("kernels are simulated on the CPU; nothing here is a device's time")
require "tests.bench.calibration"
