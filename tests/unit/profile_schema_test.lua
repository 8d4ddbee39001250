-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local schema <const> = require "profile.schema"

t.test("profile schema: all tables and columns of version 7.4.0 with types, units and what is required", function()
  local tables, columns, required = 0, 0, 0
  for _, name in ipairs(schema.order) do
    if not name:find("^nkiln") then
      tables = tables + 1
      columns = columns + #schema.tables[name]
      for _, column in ipairs(schema.tables[name]) do
        if column.required then required = required + 1 end
      end
    end
  end
  t.eq({ tables, columns, required }, { 52, 656, 308 })
  t.eq(#schema.tables.Instruction, 55)
  t.eq(schema.tables.Instruction.evt_wait_time_ns.unit, "ns")
  t.eq(schema.tables.Instruction[4].name, "engine")
  t.eq(schema.tables.DmaPacket.throughput.type, "f32")
  t.eq(schema.tables.DmaPacket.throughput.unit, "Bps")
  t.eq(schema.tables.DmaPacket.queue_type.type, "DmaQueueType")
  t.eq(schema.tables.BirInstruction.element_count_per_interval.type, "[i64]")
  t.eq(schema.tables.Summary.total_time, schema.tables.Summary[1])
  t.eq(#schema.tables.Summary, 101)
end)

t.test("profile schema: SQLite takes every table, with the storage classes of the types", function()
  local d <close> = assert(db.open(":memory:"))
  for _, name in ipairs(schema.order) do t.eq(d:exec(schema.sql(name)), 0, name) end
  local kinds <const> = {}
  for row in d:rows("select name, type, pk from pragma_table_info('Metadata')") do kinds[row.name] = row.type end
  t.eq({ kinds.vnc_enabled, kinds.dma_ddr_bandwidth, kinds.first_ts, kinds.ntff_version }, { "INTEGER", "REAL", "TEXT", "INTEGER" })
  t.eq(d:value("select pk from pragma_table_info('nkiln') where name = 'key'"), 1)
  t.eq(d:value("select type from pragma_table_info('BirInstruction') where name = 'element_count_per_interval'"), "TEXT")
  t.raises(function() schema.sql("Nonsense") end, "no table Nonsense")
  t.eq(schema.sql("X", { { name = 'a"b', type = "f32" } }), 'CREATE TABLE "X" (\n  "a""b" REAL\n)')
end)
