-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local fs <const> = require "rt.fs"
local import <const> = require "profile.import"
local fixtures <const> = require "tests.oracle.parquet.fixtures"

local folder <const>, why <const> = fixtures.make()

local function test(name, fn) t.test(name, folder and fn or function() t.skip(why) end) end

local function note_of(notes, code)
  for _, note in ipairs(notes) do
    if note.code == code then return note.message end
  end
end

test("import: a folder of Parquet files becomes one database", function()
  local dir <const> = t.tmpdir()
  assert(fs.mkdir(dir .. "/src/kernels", true))
  t.write(dir .. "/src/kernels/k.py", "first line\nsecond line\n")
  local seen <const> = {}
  local made <const> = assert(import.parquet(folder .. "/profile/", dir .. "/p.db", {
    provenance = { kind = "captured", lnc = 1 }, notes = { { level = "info", code = "given", message = "100 % given" } },
    roots = { dir .. "/src" }, progress = function(p) seen[#seen + 1] = p.text end,
  }))
  t.eq(made.tables, { Instruction = 1000, Summary = 1, Metadata = 1, Throttle = 3, CoreBarriers = 1, SchemaFields = 4, BirInstruction = 1, Brand_New = 2 })
  t.ok(made.bytes > 1000)
  t.eq({ seen[1], seen[#seen] }, { "importing BirInstruction", "indexing" })
  local d <close> = assert(db.open(dir .. "/p.db", { readonly = true }))
  t.eq(d:value("pragma integrity_check"), "ok")
  t.eq(d:row("select * from Instruction where id = 701"), {
    start_ts = 70100, end_ts = 70160, duration_ns = 60, engine = "Vector", opcode = "TENSOR_TENSOR", operands = "src=bf16@0x701 128*128", id = 701,
    pc = 701, bir_id = "b350", raw_flops = 5608, pcore_idx = 1, bir_debug_info_source_location = "/compile/host/kernels/k.py:3", brand_new = "new701",
  })
  t.eq(d:value("select count(*) from pragma_table_info('Instruction')"), 56, "all of the schema's columns and the new one")
  t.eq(d:row("select * from Summary"), { total_time = string.unpack("f", string.pack("f", 0.0001)), hardware_flops = 16777217, hfu_estimated_percent = 0.5 })
  t.eq(d:value("select typeof(hardware_flops) from Summary"), "integer", "a whole number in a column of integers")
  t.eq(d:row("select vnc_enabled, dma_ddr_bandwidth from Metadata"), { vnc_enabled = 1, dma_ddr_bandwidth = 4.35e11 })
  t.eq(d:row("select element_count_per_interval as e, time_intervals as t from BirInstruction"), { e = "[1,2,null]", t = "[[1, 2]]" })
  t.eq(d:query('select "s.a" as a, "s.b" as b, n from Brand_New'), { { a = 1, b = '["x"]', n = 0 }, { a = 1, b = '["x"]', n = 1 } })
  t.eq(d:row("select * from CoreBarriers"), { start_ts = 1000, end_ts = 3, duration_ns = 3 }, "us and ps became ns")
  t.eq(d:query("select key, value from nkiln where key in ('kind', 'target', 'lnc', 'format_version', 'schema_version', 'tool_versions') order by key"), {
    { key = "format_version", value = "1" }, { key = "kind", value = "captured" }, { key = "lnc", value = "1" },
    { key = "schema_version", value = "6.2.0" }, { key = "target", value = "trn1" }, { key = "tool_versions", value = "explorer 2.32.0, runtime 2.30" },
  })
  t.eq(d:query("select * from nkiln_source"), {
    { file = "/compile/host/kernels/k.py", line = 1, text = "first line" }, { file = "/compile/host/kernels/k.py", line = 2, text = "second line" },
  })
  local notes <const> = d:query("select code, message from nkiln_notes")
  t.eq(note_of(notes, "given"), "100 % given")
  t.match(note_of(notes, "columns-unknown"), "Instruction has columns that schema 7.4.0 does not know, kept: brand_new")
  t.match(note_of(notes, "tables-unknown"), "1 table, kept: Brand_New")
  t.match(note_of(notes, "tables-refused"), "nkiln_notes")
  t.match(note_of(notes, "schema-version"), "6.2.0")
  t.match(note_of(notes, "unit"), "CoreBarriers")
  t.has(d:query("explain query plan select * from Instruction where id = 5")[1].detail, "Instruction_id")
end)

test("import: what cannot be read leaves the database that was there, in one line", function()
  local dir <const> = t.tmpdir()
  local path <const> = dir .. "/p.db"
  t.write(path, "old")
  local function fails(from, code, words)
    local made <const>, err <const> = import.parquet(from, path, {})
    t.eq({ made, err and err.code }, { nil, code }, from)
    t.has(err.message .. " " .. tostring(err.hint or ""), words)
    t.ok(not err.message:find("\n"))
    t.eq(t.read(path), "old")
    t.eq(#assert(fs.list(dir)) <= 3, true, "no temporary is left")
  end
  fails(dir .. "/none", "not_found", "cannot be read")
  assert(fs.mkdir(dir .. "/up/profile@latest", true))
  fails(dir .. "/up", "not-found", "there are no Parquet files")
  local bytes <const> = t.read(folder .. "/profile/Instruction_1.parquet")
  t.write(dir .. "/up/profile@latest/Instruction_0.parquet", t.read(folder .. "/profile/Instruction_0.parquet"))
  fails(dir .. "/up", "not-found", "is it " .. dir .. "/up/profile@latest?")
  t.write(dir .. "/up/profile@latest/Instruction_1.parquet", bytes:sub(1, 500))
  fails(dir .. "/up/profile@latest", "bad-input", "Instruction_1.parquet: it does not end with PAR1")
  t.write(dir .. "/up/profile@latest/Instruction_1.parquet", bytes:sub(1, 200) .. ("\0"):rep(400) .. bytes:sub(601))
  fails(dir .. "/up/profile@latest", "bad-input", "Instruction_1.parquet: column ")
end)
