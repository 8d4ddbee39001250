-- SPDX-License-Identifier: MIT
-- Part of make bench: an Instruction table of 55 columns from Parquet into a profile database, indices included; DuckDB with the
-- same file beside it, in the same run. ROWS=n asks for another size.

local import <const> = require "profile.import"
local json <const> = require "rt.json"
local schema <const> = require "profile.schema"
local task <const> = require "rt.task"
local trace <const> = require "rt.trace"
local fixtures <const> = require "tests.oracle.parquet.fixtures"

local ROWS <const> = tonumber(os.getenv("ROWS") or "") or 500000
local RUNS <const> = 3

local ready <const>, why <const> = fixtures.node()
if not ready then
  print("import of Parquet: skipped, " .. why)
  return
end

local function shell(command) return assert(os.execute(command), command) end

local folder <const> = ("%s/bench-%d"):format(fixtures.HOME, ROWS)
shell(("cp tests/oracle/parquet/bench.mjs %s/"):format(fixtures.HOME))
if not io.open(folder .. "/Instruction.parquet") then
  local pipe <const> = assert(io.popen(("node %s/bench.mjs make %s %d"):format(fixtures.HOME, folder, ROWS), "w"))
  for _, column in ipairs(schema.tables.Instruction) do pipe:write(column.name, " ", column.type, "\n") end
  assert(pipe:close())
end

local pipe <const> = assert(io.popen(("node %s/bench.mjs time %s"):format(fixtures.HOME, folder)))
local duck <const> = assert(json.decode(pipe:read("a")))
pipe:close()

local function best(fn)
  local least = math.huge
  for _ = 1, RUNS do
    local began <const> = task.now()
    fn()
    least = math.min(least, task.now() - began)
  end
  return least
end

-- Decoding alone: every column of every row, nothing stored.
local decode <const> = best(function()
  local file <close> = assert(trace.parquet_open(folder .. "/Instruction.parquet"))
  assert(file:skim() == ROWS)
end)
local whole <const> = best(function()
  local only <const> = folder .. "/only"
  shell(("mkdir -p %s && ln -sf ../Instruction.parquet %s/"):format(only, only))
  assert(import.parquet(only, folder .. "/p.db", {}))
end)
local function size(path)
  local file <const> = assert(io.open(path, "rb"))
  local bytes <const> = file:seek("end")
  file:close()
  return bytes / 1e6
end
print(("import %d Instruction rows, 55 columns, indices:  %.2f s, %.0f rows/s (goal 200,000); DuckDB %.2f s, ratio %.2f"):format(
  ROWS, whole, ROWS / whole, duck.store, whole / duck.store))
print(("  decoding alone %.2f s, DuckDB %.2f s, ratio %.2f; Parquet %.1f MB, database %.1f MB"):format(
  decode, duck.read, decode / duck.read, size(folder .. "/Instruction.parquet"), size(folder .. "/p.db")))

-- Peak memory of an import in a fresh process; the bound holds whatever the size of the file.
local script <const> = folder .. "/memory.lua"
local out <const> = assert(io.open(script, "w"))
out:write(([[assert(require("profile.import").parquet(%q, %q, {}))
  for line in io.lines("/proc/self/status") do local kb = line:match("VmHWM:%%s*(%%d+)") if kb then print(kb) end end]]):format(
  folder .. "/only", folder .. "/p.db"))
out:close()
local child <const> = assert(io.popen(arg[-1] .. " " .. script))
print(("  peak memory %.0f MB (bound 256)"):format(tonumber(child:read("a")) / 1024))
child:close()
os.remove(folder .. "/p.db")
os.remove(folder .. "/duck.db")
