-- SPDX-License-Identifier: MIT
-- nkiln-lua tests/bench/analysis_bench.lua [STEPS]: bounds and all investigations on a generated profile of two million
-- instructions and two million DMA packets (250,000 steps), and DuckDB beside it where its library is here: the same bounds by the
-- SQL that --explain prints, over the same tables. Nothing passes or fails here. Best of three; the goal is 5 s on an idle machine.

local bounds <const> = require "profile.bounds"
local duckdb <const> = require "rt.duckdb"
local explain <const> = require "profile.explain"
local fs <const> = require "rt.fs"
local generate <const> = require "tests.profile.generate"
local investigate <const> = require "profile.investigate"
local open <const> = require "profile.open"
local task <const> = require "rt.task"

local steps <const> = math.tointeger(tonumber(arg and arg[1] or "") or 250000)
local folder <const> = os.tmpname()
os.remove(folder)
assert(fs.mkdir(folder, true))
local path <const> = folder .. "/big.db"

local function timed(fn)
  local began <const> = task.now()
  local result <const> = fn()
  return task.now() - began, result
end

local function row(name, seconds, note) print(("%-60s %8.2f s   %s"):format(name, seconds, note or "")) end

local function analyse(of)
  local p <close> = assert(open.open(of))
  local result <const> = bounds.all(p)
  return { bounds = result, findings = investigate.run(p, "all") }
end

local function bounds_alone(of)
  local best
  for _ = 1, 3 do
    local seconds <const> = timed(function()
      local p <close> = assert(open.open(of))
      return bounds.all(p)
    end)
    if not best or seconds < best then best = seconds end
  end
  return best
end

local function duckdb_bounds(library, of)
  local d <close> = assert(duckdb.open { library = library, folders = { folder }, memory = 4 << 30 })
  local p <close> = assert(open.open(of))
  for _, name in ipairs { "Metadata", "DmaPacket", "ActiveTime", "Instruction", "TensorInfo" } do
    assert(d:exec(("CREATE VIEW \"%s\" AS SELECT * FROM read_parquet('%s/%s.parquet')"):format(name, folder, name)))
  end
  local began <const> = task.now()
  local n = 0
  for _, q in ipairs(explain.bounds(p)) do
    assert(d:select(q.sql))
    n = n + 1
  end
  return task.now() - began, n
end

local ok <const>, err <const> = xpcall(function()
  local made <const> = timed(function() return generate.big(path, steps) end)
  row(("store: %d instructions, %d packets"):format(steps * 8, steps * 8), made, "(columns made in Lua included)")
  local best, result
  for _ = 1, 3 do
    local seconds <const>, answer <const> = timed(function() return analyse(path) end)
    if not best or seconds < best then best, result = seconds, answer end
  end
  local found = 0
  for _, f in ipairs(result.findings) do found = found + (f.found and 1 or 0) end
  row("--bounds and --investigate all", best, ("goal 5 s; bottleneck %s, %d findings"):format(result.bounds[1].bottleneck.name, found))
  row("--bounds alone", bounds_alone(path))
  local pipe <const> = assert(io.popen("ls build/npm/node_modules/@duckdb/node-bindings-linux-*/libduckdb.so 2>/dev/null"))
  local library <const> = pipe:read("l")
  pipe:close()
  -- The peer reads Parquet that a plain writer makes row by row: a smaller profile.
  local few <const>, small <const> = math.min(steps, 20000), folder .. "/small.db"
  generate.big(small, few)
  local python <const> = os.execute(("python3 tests/oracle/to_parquet.py %s %s >/dev/null 2>&1"):format(small, folder))
  if library and python then
    local fastest, n
    for _ = 1, 3 do
      local seconds, count = duckdb_bounds(library, small)
      if not fastest or seconds < fastest then fastest, n = seconds, count end
    end
    local ours <const> = bounds_alone(small)
    row(("--bounds alone, %d instructions"):format(few * 8), ours)
    row(("DuckDB on the same tables, the SQL of --explain (%d queries)"):format(n), fastest, ("nkiln takes %.2fx"):format(ours / fastest))
  else
    print("no libduckdb here: no peer")
  end
end, debug.traceback)
os.execute("rm -rf " .. folder)
if not ok then print(err) end
return ok and 0 or 1
