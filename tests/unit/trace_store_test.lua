-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local db <const> = require "rt.db"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"
local trace <const> = require "rt.trace"
local schema <const> = require "profile.schema"

local HOST <const> = arg[-1] or "build/nkiln-lua"

local function arr(dtype, values) return array.from(dtype, #values, values) end

-- A table of any columns: "name type, ..." as in the schema.
local function table_of(name, text)
  local columns <const> = {}
  for column, kind in text:gmatch("(%w+) (%w+)") do columns[#columns + 1] = { name = column, type = kind } end
  return schema.table(name, columns)
end

local function path_in(folder) return folder .. "/p.db" end

local function contents(path, sql)
  local d <close> = assert(db.open(path, { readonly = true }))
  return (assert(d:query(sql)))
end

local function files(folder)
  local names <const> = {}
  for _, entry in ipairs(assert(fs.list(folder))) do names[#names + 1] = type(entry) == "table" and entry.name or entry end
  table.sort(names)
  return names
end

t.test("store: every kind of column comes back from SQLite as it went in", function()
  local path <const> = path_in(t.tmpdir())
  local store <close> = assert(trace.store_create(path, {
    table_of("T", "a i64, b i32, c f64, d f32, e bool, f str, g str, h i64, i f64, j str, k i64, l i64, m i64"),
  }))
  local i64 <const> = arr("int64", { math.mininteger, 0, math.maxinteger })
  t.eq(store:append("T", {
    a = i64, b = arr("int32", { -2147483648, 5, 2147483647 }), c = arr("float64", { 0.1, 0 / 0, -1e300 }),
    d = arr("float32", { 0.5, 2, -1 }), e = arr("bool", { true, false, true }),
    f = { codes = arr("int32", { 1, -1, 0 }), values = { "", "é\0x" } },
    g = "same", h = 7, i = 2.5, j = json.null, k = true,
    l = { i64, valid = arr("bool", { true, false, true }) },
    m = arr("int64", { 1, 99, 2, 99, 3, 99 }):slice(0, 0, 6, 2),
  }), 3)
  t.eq(store:append("T", { a = arr("uint8", { 250, 1 }), c = arr("float16", { 1.5, 2 }) }), 2)
  t.eq(store:append("T", { a = 1 }), 1)
  t.eq(store:count("T"), 6)
  t.eq({ store:has("T"), store:has("U") }, { true, false })
  t.eq(store:commit(), true)
  local base <const> = { g = "same", h = 7, i = 2.5, k = 1 }
  local function row(more)
    for key, value in pairs(base) do more[key] = value end
    return more
  end
  t.eq(contents(path, "select * from T"), {
    row { a = math.mininteger, b = -2147483648, c = 0.1, d = 0.5, e = 1, f = "é\0x", l = math.mininteger, m = 1 },
    row { a = 0, b = 5, d = 2.0, e = 0, m = 2 },
    row { a = math.maxinteger, b = 2147483647, c = -1e300, d = -1.0, e = 1, f = "", l = math.maxinteger, m = 3 },
    { a = 250, c = 1.5 }, { a = 1, c = 2.0 }, { a = 1 },
  })
  t.eq(contents(path, "pragma integrity_check"), { { integrity_check = "ok" } })
end)

t.test("store: rows one by one, indices, tables added late, SQL", function()
  local path <const> = path_in(t.tmpdir())
  local store <close> = assert(trace.store_create(path, schema.create { "nkiln", "Instruction" }))
  t.eq(store:rows("nkiln", { { key = "kind", value = "modelled" }, { key = "lnc", value = 2 }, { key = "x", value = json.null } }), 3)
  t.eq(store:rows("Instruction", { { id = 3, opcode = "MATMUL", engine = "Tensor" }, { id = 4, start_ts = 5.0 } }), 2)
  t.eq(store:table(table_of("Late", "x i64")), true)
  t.eq(store:append("Late", { x = arr("int64", { 1, 2 }) }), 2)
  t.eq(store:exec("create view twice as select x * 2 as y from Late"), true)
  t.eq(store:index(), true)
  t.eq(store:index(), true, "a second time does nothing")
  t.eq(store:commit(), true)
  t.eq(contents(path, "select key, value from nkiln order by key"), { { key = "kind", value = "modelled" }, { key = "lnc", value = "2" }, { key = "x" } })
  t.eq(contents(path, "select id, opcode, start_ts from Instruction"), { { id = 3, opcode = "MATMUL" }, { id = 4, start_ts = 5 } })
  t.eq(contents(path, "select y from twice"), { { y = 2 }, { y = 4 } })
  t.has(contents(path, "explain query plan select * from Instruction where id = 3")[1].detail, "Instruction_id")
  t.raises(function() store:count("Late") end, "this store is closed")
end)

t.test("store: wrong use raises with the names", function()
  local store <close> = assert(trace.store_create(path_in(t.tmpdir()), { table_of("T", "a i64, b str") }))
  local two <const> = arr("int64", { 1, 2 })
  t.raises(function() store:append("U", {}) end, "no table U")
  t.raises(function() store:append("T", { c = 1 }) end, "table T has no column c")
  t.raises(function() store:append("T", { a = two, b = arr("int64", { 1 }) }) end, "table T: column . has . rows, the others .")
  t.raises(function() store:append("T", { a = array.from("int64", { 1, 2 }, { 1, 2 }) }) end, "rank 1")
  t.raises(function() store:append("T", { b = { codes = arr("int32", { 0, 1 }), values = { "x" } } }) end, "T.b: code 1 in row 1, there are 1 values")
  t.raises(function() store:append("T", { b = { codes = arr("int32", { -2 }), values = { "x" } } }) end, "code %-2")
  t.raises(function() store:append("T", { b = { codes = two, values = { 5 } } }) end, "value 1 is no text")
  t.raises(function() store:append("T", { a = { two, valid = arr("bool", { true }) } }) end, "valid has 1")
  t.raises(function() store:append("T", { a = print }) end, "column a is a function")
  t.raises(function() store:append("T", { a = {} }) end, "an array, or codes and values")
  t.raises(function() store:rows("T", { { a = 1 }, { z = 1 } }) end, "no column z")
  t.raises(function() store:rows("T", { 5 }) end, "row 1 is a number")
  t.raises(function() store:table(table_of("T", "a i64")) end, "T is there already")
  t.raises(function() trace.store_create("x", { { name = "T" } }) end, "a table is")
  local ok <const>, err <const> = store:exec("selec")
  t.eq({ ok, err.code }, { nil, "sql" })
  t.eq(store:count("T"), 0)
end)

t.test("store: nothing under the target's name changes before the commit, and nothing is left without one", function()
  local folder <const> = t.tmpdir()
  local path <const> = path_in(folder)
  t.write(path, "old")
  do
    local store <close> = assert(trace.store_create(path, { table_of("T", "a i64") }))
    assert(store:append("T", { a = 1 }))
    t.eq(t.read(path), "old")
    t.eq(#files(folder), 2)
  end
  t.eq(files(folder), { "p.db" })
  t.eq(t.read(path), "old")
  os.remove(path)
  t.write(folder .. "/plain", "x")
  local first <close> = assert(trace.store_create(path, { table_of("T", "a i64") }))
  local second <close> = assert(trace.store_create(path, { table_of("T", "a i64") }))
  assert(first:append("T", { a = 1 }))
  assert(second:append("T", { a = 2 }))
  t.eq(first:commit(), true)
  t.eq(contents(path, "select a from T"), { { a = 1 } })
  t.eq(second:commit(), true)
  t.eq(assert(fs.stat(path)).mode & 511, assert(fs.stat(folder .. "/plain")).mode & 511, "the mode of any new file")
  os.remove(folder .. "/plain")
  t.eq(contents(path, "select a from T"), { { a = 2 } })
  t.eq(files(folder), { "p.db" })
end)

t.test("store: a killed run leaves the old database, and the next run removes its temporary", function()
  local folder <const> = t.tmpdir()
  local path <const>, script <const> = path_in(folder), folder .. "/script.lua"
  t.write(path, "old")
  t.write(script, ([[
    local trace, schema = require "rt.trace", require "profile.schema"
    local store = assert(trace.store_create(%q, schema.create { "nkiln" }))
    assert(store:rows("nkiln", { { key = "a", value = "b" } }))
    os.execute("kill -9 $PPID")]]):format(path))
  t.eq(t.sh(t.quote(HOST) .. " " .. t.quote(script)) > 0, true)
  t.eq(t.read(path), "old")
  t.eq(#files(folder), 3)
  local store <close> = assert(trace.store_create(path, schema.create { "nkiln" }))
  t.eq(#files(folder), 3, "the leftover is gone, a new temporary is there")
  t.eq(store:commit(), true)
  t.eq(files(folder), { "p.db", "script.lua" })
end)

t.test("store: what belongs to the database that is replaced is not applied to the new one", function()
  local folder <const> = t.tmpdir()
  local path <const> = path_in(folder)
  local old <close> = assert(db.open(path))
  assert(old:exec("create table Old (x); insert into Old values (1)"))
  t.eq(#files(folder), 3, "a log is there")
  do
    local reader <close> = assert(db.open(path))
    local rows <const> = reader:rows("select x from Old")
    rows()
    local store <close> = assert(trace.store_create(path, { table_of("T", "a i64") }))
    assert(store:append("T", { a = 1 }))
    local ok <const>, err <const> = store:commit()
    t.eq({ ok, err and err.code }, { nil, "busy" })
    t.has(err.message, "in use by another run")
  end
  old:close()
  t.write(path .. "-wal", "not a log at all")
  local store <close> = assert(trace.store_create(path, { table_of("T", "a i64") }))
  assert(store:append("T", { a = 1 }))
  t.eq(store:commit(), true)
  t.eq(contents(path, "select a from T"), { { a = 1 } })
  t.eq(files(folder), { "p.db" })
end)

t.test("store: a bad target is one line", function()
  local folder <const> = t.tmpdir()
  local function fails(path, code, words)
    local store <const>, err <const> = trace.store_create(path, {})
    t.eq({ store, err and err.code }, { nil, code }, path)
    t.has(err.message, words)
    t.ok(not err.message:find("\n"))
  end
  fails(folder, "io", "this is a folder")
  fails(folder .. "/none/p.db", "not_found", "No such file")
  fails("/dev/null", "io", "not a regular file")
  fails("/proc/p.db", "not_found", "/proc/p.db")
  fails(folder .. "/", "io", "a file name is needed")
end)

t.test("columns: types follow the values, text is coded, NULL is marked", function()
  local d <close> = assert(db.open(":memory:"))
  assert(d:exec [[
    create table v (i, f, x, s, n, m);
    insert into v values (1, 0.5, 1, 'b', null, 7), (-9223372036854775808, 2, 2.5, 'a', null, 'seven'), (null, null, 3, null, null, 1.5),
      (4, 1e300, -1, 'b', null, null)]])
  local r <const> = assert(trace.columns(d, "select * from v"))
  t.eq(r.names, { "i", "f", "x", "s", "n", "m" })
  t.eq(r.rows, 4)
  local c <const> = r.columns
  t.eq(c.i[1].dtype, "int64")
  t.eq(c.i[1]:totable(), { 1, math.mininteger, 0, 4 })
  t.eq(c.i.valid:totable(), { true, true, false, true })
  t.eq(c.f[1]:totable(), { 0.5, 2.0, 0.0, 1e300 })
  t.eq({ c.x.dtype, c.x:totable() }, { "float64", { 1.0, 2.5, 3.0, -1.0 } })
  t.eq({ c.s.codes.dtype, c.s.codes:totable(), c.s.values }, { "int32", { 0, 1, -1, 0 }, { "b", "a" } })
  t.eq({ c.n[1]:totable(), c.n.valid:totable() }, { { 0, 0, 0, 0 }, { false, false, false, false } })
  t.eq({ c.m.codes:totable(), c.m.values }, { { 0, 1, 2, -1 }, { "7", "seven", "1.5" } })
  t.eq(trace.columns(d, "select i from v where i = ?", { 4 }).columns.i:totable(), { 4 })
  t.eq(trace.columns(d, "select i from v where i = :i", { i = 4 }).rows, 1)
  t.eq(trace.columns(d, "select count(*) as n from v where s = ?", "b").columns.n:totable(), { 2 })
  local empty <const> = trace.columns(d, "select i, s from v where 0")
  t.eq({ empty.rows, empty.columns.i.size, empty.names }, { 0, 0, { "i", "s" } })
end)

t.test("columns: many rows and words, a round trip through the store", function()
  local path <const> = path_in(t.tmpdir())
  local d <close> = assert(db.open(":memory:"))
  local sql <const> = [[with recursive n(i) as (select 0 union all select i + 1 from n where i < 49999)
    select i, i * 0.5 as f, 'word ' || (i % 20011) as s, iif(i % 3, i, null) as g, printf('%.*c', i % 700, 'x') as l from n]]
  local r <const> = assert(trace.columns(d, sql))
  t.eq(r.rows, 50000)
  t.eq(#r.columns.s.values, 20011)
  local store <close> = assert(trace.store_create(path, { table_of("T", "i i64, f f64, s str, g i64, l str") }))
  t.eq(store:append("T", r.columns), 50000)
  t.eq(store:commit(), true)
  local back <const> = assert(trace.columns(path, "select * from T"))
  t.eq(back.columns.i:hash(), r.columns.i:hash())
  t.eq(back.columns.f:hash(), r.columns.f:hash())
  t.eq(back.columns.s.codes:hash(), r.columns.s.codes:hash())
  t.eq(back.columns.s.values, r.columns.s.values)
  t.eq(back.columns.g.valid:hash(), r.columns.g.valid:hash())
  t.eq(back.columns.l.values, r.columns.l.values)
end)

t.test("columns: failures", function()
  local d <close> = assert(db.open(":memory:"))
  assert(d:exec("create table v (i)"))
  t.raises(function() trace.columns(d, "insert into v values (1)") end, "only reads")
  t.raises(function() trace.columns(d, "select ?") end, "1 parameters, 0 were given")
  t.raises(function() trace.columns(5, "select 1") end, "nkiln.db expected")
  local function fails(code, words, ...)
    local result <const>, err <const> = trace.columns(...)
    t.eq({ result, err and err.code }, { nil, code })
    t.has(err.message, words)
  end
  fails("sql", "no such column: nope", d, "select nope from v")
  local endless <const> = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
  fails("timeout", "longer than allowed", d, endless .. " where i < 0", nil, { seconds = 0.05 })
  fails("no_memory", "more than 10 rows", d, endless, nil, { limit = 10 })
  local folder <const> = t.tmpdir()
  fails("cannot_open", "cannot be opened", folder .. "/none.db", "select 1")
  t.write(folder .. "/bad.db", ("x"):rep(5000))
  fails("not_a_database", "not a database", folder .. "/bad.db", "select * from v")
end)
