-- SPDX-License-Identifier: MIT
-- Profiles with holes: every column that the analysis reads NULL everywhere, every table missing or empty, on a modelled profile
-- and on a made one: always words, never an error of Lua.
local t <const> = require "tests.lib"
local bounds <const> = require "profile.bounds"
local compare <const> = require "profile.compare"
local database <const> = require "rt.db"
local explain <const> = require "profile.explain"
local explain_lines <const> = require "profile.explain_lines"
local generate <const> = require "tests.profile.generate"
local investigate <const> = require "profile.investigate"
local lines <const> = require "profile.lines"
local nkiln <const> = require "tests.e2e.nkiln"
local open <const> = require "profile.open"
local show <const> = require "profile.show"
local style <const> = require("report").plain

-- Everything that can be asked, shown as text, too.
local function everything(path, what)
  local ok <const>, err <const> = xpcall(function()
    local p <const>, refused <const> = open.open(path)
    if not p then
      t.ok(type(refused.message) == "string", what)
      return
    end
    local _ <close> = p
    for _, b in ipairs(bounds.all(p)) do t.ok(#show.bounds(b, style, false) > 0) end
    for _, f in ipairs(investigate.run(p, "all")) do
      t.ok(type(f.title) == "string" and type(f.found) == "boolean", what)
      t.ok(#show.finding(f, style) > 0)
    end
    local list <const>, missing <const> = lines.compute(p)
    t.ok(list and show.lines(list, style) or type(missing) == "string", what)
    local c <const>, unlike <const> = compare.run(p, p, {})
    t.ok(c and show.comparison(c, style) or unlike.message, what)
    explain.bounds(p)
    explain_lines.all(p, p.cores[1], "Tensor")
  end, function(e) return type(e) == "table" and (e.message or t.show(e)) or debug.traceback(tostring(e)) end)
  t.ok(ok, what .. ": " .. tostring(err))
end

local reads <const> = {
  Instruction = { "id", "start_ts", "end_ts", "engine", "opcode", "tensor_instruction_type", "adjusted_flops", "raw_flops", "pcore_idx", "operands",
    "bir_debug_info_source_location", "nki_source_location", "hbm_read_bytes", "hbm_write_bytes", "performance_mode", "scalar_activation_fn" },
  DmaPacket = { "start_ts", "end_ts", "transfer_bytes", "queue_type", "engine_idx", "packet_idx", "packet_aggregation_id", "pcore_idx" },
  DmaPacketAggregated = { "id", "start_ts", "end_ts", "variable", "transfer_bytes", "source", "dest", "queue_type", "is_transpose_mode", "pcore_idx",
    "read_num_sbuf_partitions", "write_num_sbuf_partitions" },
  ActiveTime = { "start_ts", "end_ts", "engine", "pcore_idx" },
  Flow = { "in_id", "out_id", "in_table", "out_table", "dependency_type" },
  TensorInfo = { "variable_name", "type", "size" },
  Metadata = { "dma_ddr_bandwidth", "tensor_engine_num_rows", "tensor_engine_clock_freq", "vector_engine_clock_freq", "num_physical_cores" },
  Summary = { "total_time", "spill_save_bytes", "dma_active_time" },
}

local function with_holes(path)
  local copy <const> = path .. ".copy"
  local function damaged(what, ...)
    os.execute(("cp %s %s"):format(t.quote(path), t.quote(copy)))
    local d <close> = assert(database.open(copy))
    for _, sql in ipairs { ... } do
      local done <const>, err <const> = d:exec(sql)
      t.ok(done, err and err.message)
    end
    d:exec("PRAGMA journal_mode = delete")
    d:close()
    everything(copy, what)
  end
  everything(path, "whole")
  local tables <const> = {}
  for name in pairs(reads) do tables[#tables + 1] = name end
  table.sort(tables)
  for _, name in ipairs(tables) do
    for _, column in ipairs(reads[name]) do
      damaged(("%s.%s is NULL"):format(name, column), ("UPDATE %s SET %s = NULL"):format(name, column))
    end
    damaged(name .. " is empty", "DELETE FROM " .. name)
    damaged(name .. " is missing", "DROP TABLE " .. name)
    damaged(name .. " has one row", ("DELETE FROM %s WHERE rowid > (SELECT min(rowid) FROM %s)"):format(name, name))
  end
  damaged("times run backwards", "UPDATE Instruction SET start_ts = end_ts, end_ts = start_ts", "UPDATE DmaPacket SET start_ts = end_ts, end_ts = start_ts")
  damaged("all at once", "UPDATE Instruction SET start_ts = 5, end_ts = 5", "UPDATE DmaPacket SET start_ts = 5, end_ts = 5",
    "UPDATE ActiveTime SET start_ts = 5, end_ts = 5")
  damaged("floats for integers", "UPDATE Instruction SET start_ts = start_ts + 0.5, id = id + 0.5", "UPDATE Flow SET in_id = in_id + 0.5")
  damaged("one id for all", "UPDATE Instruction SET id = 7", "UPDATE DmaPacketAggregated SET id = 7")
  damaged("ids far apart", "UPDATE Instruction SET id = id * 1000000007", "UPDATE Flow SET in_id = in_id * 1000000007")
end

t.test("a made profile with holes", function()
  local path <const> = t.tmpdir() .. "/p.db"
  generate.write(path, generate.small())
  with_holes(path)
end)

t.test("a modelled profile with holes", function()
  local f <const> = nkiln.folder()
  f:write("k.py", t.read("tests/kernels/slow/transposed_again.py"))
  local status <const>, _, err <const> = f:run [[profile k.py --case "a=bf16[128,256], b=bf16[256,512]" -o p.db]]
  t.eq(status, 0, err)
  with_holes(f:full("p.db"))
end)
