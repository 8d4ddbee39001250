-- SPDX-License-Identifier: MIT
-- Tables that the store writes directly against the same rows inserted by SQLite.
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local db <const> = require "rt.db"
local trace <const> = require "rt.trace"
local schema <const> = require "profile.schema"

local function arr(dtype, values) return array.from(dtype, { #values }, values) end

local function plain(name, types)
  local columns <const> = {}
  for i, kind in ipairs(types) do columns[i] = { name = "c" .. i, type = kind } end
  return schema.table(name, columns)
end

-- Write with `fill(store)`, once directly, once after SQLite has the file; every value and its type must agree.
local function both(tables, fill, query)
  local dir <const> = t.tmpdir()
  local dumps <const> = {}
  for _, way in ipairs { "bulk", "insert" } do
    local path <const> = ("%s/%s.db"):format(dir, way)
    local store <close> = assert(trace.store_create(path, tables))
    if way == "insert" then assert(store:exec("select 1")) end
    fill(store)
    assert(store:index())
    t.eq(store:commit(), true)
    local d <close> = assert(db.open(path, { readonly = true }))
    t.eq(d:value("pragma integrity_check"), "ok", way)
    dumps[way] = {}
    for i, sql in ipairs(query) do dumps[way][i] = assert(d:query(sql)) end
  end
  for i, sql in ipairs(query) do t.ok(#t.show(dumps.bulk[i]) > 2, sql) end
  for i, sql in ipairs(query) do
    for r = 1, math.max(#dumps.bulk[i], #dumps.insert[i]) do
      local a <const>, b <const> = t.show(dumps.bulk[i][r]), t.show(dumps.insert[i][r])
      if a ~= b then t.eq(a:sub(1, 300), b:sub(1, 300), ("row %d of %s"):format(r, sql)) end
    end
  end
  return dumps.bulk
end

local numbers <const> = {
  0, 1, 2, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 8388607, 8388608, -8388608, -8388609, 2147483647, 2147483648, -2147483648,
  -2147483649, 140737488355327, 140737488355328, -140737488355328, -140737488355329, math.maxinteger, math.mininteger, 9007199254740993,
}
local reals <const> = { 0.0, -0.0, 1.0, 0.5, -2.0, 1e15, 1e16, 9.2e18, 1e19, -1e300, 5e-324, 123456.789, 1 / 3, 0 / 0, math.huge, -math.huge }
local texts <const> = {
  "", "text", "é\0x", "0", "1", "-7", "+8", " 42 ", "4.5", "5.0", "1e3", ".5", "5.", ".", "-", "1e", "0x10", "9223372036854775807", "9223372036854775808",
  "1 2", "12abc", "nan", "inf", "1e400", "00012", "\t3\n",
}

t.test("bulk: every type in every affinity is stored as INSERT would", function()
  local kinds <const> = { "i64", "f64", "str" }
  local columns <const>, names <const>, rows = {}, {}, 0
  local words <const>, codes <const> = {}, {}
  for i, word in ipairs(texts) do words[i], codes[i] = word, i - 1 end
  local sources <const> = {
    int64 = arr("int64", numbers), float64 = arr("float64", reals), float32 = arr("float32", { 0.5, 1, 16777216, 0.1, -3 }),
    bool = arr("bool", { true, false }),
    int8 = arr("int8", { -128, 127, 0, 1 }),
    uint8 = arr("uint8", { 0, 255 }), int16 = arr("int16", { -32768, 32767 }), uint16 = arr("uint16", { 0, 65535 }),
    int32 = arr("int32", { -2147483648, 2147483647 }), uint32 = arr("uint32", { 0, 4294967295 }), text = { codes = arr("int32", codes), values = words },
    holes = { arr("int64", { 5, 6, 7 }), valid = arr("bool", { true, false, true }) },
  }
  local tables <const>, queries <const> = {}, {}
  for name in pairs(sources) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    tables[#tables + 1] = plain("T_" .. name, kinds)
    queries[#queries + 1] = ("select c1, typeof(c1) t1, c2, typeof(c2) t2, quote(c2) q2, c3, typeof(c3) t3 from T_%s"):format(name)
    columns[name] = { c1 = sources[name], c2 = sources[name], c3 = sources[name] }
  end
  both(tables, function(store)
    for _, name in ipairs(names) do rows = rows + assert(store:append("T_" .. name, columns[name])) end
    assert(store:append("T_int8", { c1 = "7", c2 = "7", c3 = 7 }))
    assert(store:append("T_int8", { c1 = 2.0, c3 = 2.0 }))
  end, queries)
  t.ok(rows > 150)
end)

t.test("bulk: rows of any length, over pages and overflow pages", function()
  local lengths <const>, values <const> = {}, {}
  for n = 8100, 8240 do lengths[#lengths + 1] = n end
  for _, n in ipairs { 0, 1, 100, 4000, 16300, 16340, 16350, 16370, 24500, 100000, 3000000, 2, 70000 } do lengths[#lengths + 1] = n end
  for i, n in ipairs(lengths) do values[i] = (string.char(97 + i % 26)):rep(n) end
  local sql <const> = "select rowid, c1, n, substr(c2, 1, 1) as a, substr(c2, -1) as z, hex(substr(c2, n / 2, 3)) as m "
    .. "from (select rowid, *, length(c2) as n from T)"
  both({ plain("T", { "i64", "str" }) }, function(store)
    local codes <const> = {}
    for i = 1, #lengths do codes[i] = i - 1 end
    assert(store:append("T", { c1 = arr("int64", lengths), c2 = { codes = arr("int32", codes), values = values } }))
  end, { sql })
end)

t.test("bulk: trees of several levels, many tables, empty ones, tables with keys", function()
  local tables <const>, queries <const> = schema.create { "nkiln" }, {}
  for i = 1, 60 do
    tables[#tables + 1] = plain(("Table_%02d"):format(i), { "i64", "str", "f64", "i64", "i64", "i64", "i64", "i64" })
    queries[i] = ("select count(*) as n, sum(c1) as s, max(c2) as m, min(rowid) as a, max(rowid) as z from Table_%02d"):format(i)
  end
  queries[#queries + 1] = "select * from nkiln"
  queries[#queries + 1] = "select c1, c2 from Table_07 where rowid in (1, 2, 777, 15000, 19999, 20000)"
  queries[#queries + 1] = "select type, name, tbl_name from sqlite_schema order by name"
  local function range(n) return array.arange(0, n, 1, "int64") end
  both(tables, function(store)
    for k = 1, 4 do -- interleaved
      for i = 1, 30 do assert(store:append(("Table_%02d"):format(i), { c1 = range(i * k), c2 = ("t"):rep(i) })) end
      assert(store:append("Table_07", { c1 = range(5000), c2 = ("wide"):rep(1000) }))
    end
    assert(store:rows("nkiln", { { key = "k", value = "v" } }))
    assert(store:append("Table_60", { c1 = range(10) }))
  end, queries)
end)

t.test("bulk: an interior page that would leave a single child over", function()
  local tables <const>, queries <const> = {}, {}
  -- One row per page; an interior page has room for 1039 children with rowids of this size.
  for n = 1037, 1042 do
    tables[#tables + 1] = plain("T" .. n, { "i64", "str" })
    queries[#queries + 1] = ("select count(*) as n, sum(c1) as s, max(rowid) as m from T%d"):format(n)
  end
  both(tables, function(store)
    for n = 1037, 1042 do assert(store:append("T" .. n, { c1 = array.arange(0, n, 1, "int64"), c2 = ("w"):rep(5000) })) end
  end, queries)
end)

t.test("bulk: what a CREATE TABLE means is asked of SQLite", function()
  local dir <const> = t.tmpdir()
  local store <close> = assert(trace.store_create(dir .. "/p.db"))
  t.raises(function() store:table { name = "A", columns = { { name = "x" } }, sql = "create table A (y INTEGER)" } end, "its columns are not those")
  t.raises(function() store:table { name = "A", columns = { { name = "x" } }, sql = "create table B (x INTEGER)" } end, "its columns are not those")
  local ok <const>, err <const> = store:table { name = "C", columns = { { name = "x" } }, sql = "create table C (x INTEGER" }
  t.eq({ ok, err.code }, { nil, "sql" })
  assert(store:table { name = "D", columns = { { name = "x" }, { name = "y" } }, sql = "create table D (x INTEGER PRIMARY KEY, y NUMERIC UNIQUE)" })
  assert(store:append("D", { x = 5, y = "6" }))
  t.eq(select(2, store:append("D", { x = 5, y = "7" })).code, "sql")
  t.eq(store:commit(), true)
  local d <close> = assert(db.open(dir .. "/p.db"))
  t.eq(d:query("select rowid, * from D"), { { x = 5, y = 6 } })
end)

t.test("bulk: a full disk is one line, and nothing is left", function()
  if not os.getenv("PATH") or t.sh("test -w /dev/full") ~= 0 then t.skip("no /dev/full here") end
  local host <const>, dir <const> = arg[-1] or "build/nkiln-lua", t.tmpdir()
  t.write(dir .. "/old.db", "old")
  t.write(dir .. "/fill.lua", ([[
    local trace, schema, array = require "rt.trace", require "profile.schema", require "rt.array"
    local store = assert(trace.store_create(%q, schema.create { "Flow" }))
    local many = array.arange(0, 1000000, 1, "int64")
    local ok, err = store:append("Flow", { in_id = many, out_id = many, in_table = ("x"):rep(50) })
    if ok then ok, err = store:commit() end
    print(ok, err and err.code, err and err.message)]]):format(dir .. "/old.db"))
  -- SIGXFSZ is ignored so that the limit is an error of the write, as a full disk is.
  local code <const>, out <const> = t.sh(("trap '' XFSZ; ulimit -f 4000; %s %s"):format(t.quote(host), t.quote(dir .. "/fill.lua")))
  t.eq(code, 0)
  t.match(out, "^nil\tno_space\t[^\n]*old.db: File too large\n$")
  t.eq(t.read(dir .. "/old.db"), "old")
  t.eq(#assert(require("rt.fs").list(dir)), 2)
end)
