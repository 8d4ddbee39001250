-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local json <const> = require "rt.json"

local function memory() return assert(db.open(":memory:")) end

t.test("values come back exactly as they went in", function()
  local d <close> = memory()
  t.eq(d:exec("create table v (a, b)"), 0)
  local every_byte <const> = {}
  for i = 0, 255 do every_byte[i + 1] = string.char(i) end
  local values <const> = {
    0, -1, math.maxinteger, math.mininteger, 0.1, -0.0, 1e308, 5e-324, math.huge, 3.0, "", "text", "a\0b", "é", table.concat(every_byte),
  }
  for _, value in ipairs(values) do
    t.eq(d:value("select ?", value), value)
    t.eq(d:value("select :x", { x = value }), value)
  end
  t.eq(d:value("select ?", db.blob("a\0b")), "a\0b")
  t.eq(d:value("select typeof(?)", db.blob("")), "blob")
  t.eq(d:value("select typeof(?)", ""), "text")
  t.eq(d:value("select typeof(?)", 3.0), "real")
  t.eq(d:row("select ? as a, ? as b, ? as c, ? as d", nil, json.null, true, false), { c = 1, d = 0 })
  t.raises(function() d:value("select ?", 0 / 0) end, "NaN")
  t.raises(function() d:value("select ?", print) end, "a function")
end)

t.test("parameters are checked by number and by name", function()
  local d <close> = memory()
  t.raises(function() d:query("select ?, ?", 1) end, "2 parameters, 1 were given")
  t.raises(function() d:query("select 1", 1) end, "0 parameters, 1 were given")
  t.raises(function() d:query("select :name", { nmae = 1 }) end, "no parameter nmae")
  t.raises(function() d:query("select 1; select 2", 1) end, "one statement")
  t.raises(function() d:query("  -- nothing") end, "no statement")
  t.eq(d:query("select @b as b, :a as a, ?3 as c", { a = 1, b = "x", [3] = 2.5 }), { { a = 1, b = "x", c = 2.5 } })
end)

t.test("query gives rows and the order of the columns, rows iterates and closes", function()
  local d <close> = memory()
  d:exec [[create table n (i integer, s text); insert into n values (1,'a'),(2,null),(3,'c'); -- end]]
  local rows <const>, columns <const> = d:query("select s, i from n order by i")
  t.eq(rows, { { s = "a", i = 1 }, { i = 2 }, { s = "c", i = 3 } })
  t.eq(columns, { "s", "i" })
  local sum = 0
  for row in d:rows("select i from n where i > ?", 1) do
    sum = sum + row.i
    if row.i == 3 then break end
  end
  t.eq(sum, 5)
  for row in d:rows("select i from n") do
    if row.i == 1 then break end
  end
  t.eq(d:exec("drop table n"), 0, "a loop that was left holds no lock")
  local err <const> = select(2, d:query("select * from n"))
  t.eq(err.code, "sql")
  t.match(err.message, "no such table: n")
  t.raises(function() d:rows("selec 1") end, "syntax error")
end)

t.test("prepared statements run many times and die with their database", function()
  local d <close> = memory()
  d:exec("create table n (i integer primary key)")
  local insert <const> = assert(d:prepare("insert into n values (?)"))
  for i = 1, 100 do t.eq(insert:exec(i), 1) end
  local _, err <const> = insert:exec(50)
  t.eq(err.code, "constraint")
  t.eq(insert:exec(101), 1, "usable after a failure")
  t.eq(d:value("select count(*) from n"), 101)
  local open_rows <const> = d:rows("select i from n")
  t.eq(open_rows().i, 1)
  d:close()
  d:close()
  t.eq(open_rows(), nil)
  t.raises(function() insert:exec(1) end, "statement is closed")
  t.raises(function() d:exec("select 1") end, "database is closed")
  insert:close()
end)

t.test("a transaction is undone by an error and by nil, err; nesting works", function()
  local d <close> = memory()
  d:exec("create table n (i)")
  t.eq({ d:transaction(function() d:exec("insert into n values (1)") return "kept", 2 end) }, { "kept", 2 })
  local err <const> = t.raises(function()
    d:transaction(function()
      d:exec("insert into n values (2)")
      error({ message = "boom", mark = 7 })
    end)
  end, "boom")
  t.eq(err.mark, 7)
  t.eq({ d:transaction(function() d:exec("insert into n values (3)") return nil, "no" end) }, { nil, "no" })
  d:transaction(function()
    d:exec("insert into n values (4)")
    pcall(d.transaction, d, function() d:exec("insert into n values (5)") error("inner") end)
    d:transaction(function() d:exec("insert into n values (6)") end)
  end)
  t.eq(d:in_transaction(), false)
  t.eq(d:query("select group_concat(i) as s from n")[1].s, "1,4,6")
end)

t.test("a transaction may yield", function()
  local d <close> = memory()
  d:exec("create table n (i)")
  local co <const> = coroutine.wrap(function()
    return d:transaction(function()
      d:exec("insert into n values (?)", coroutine.yield("first"))
      return "done"
    end)
  end)
  t.eq(co(), "first")
  t.eq(d:in_transaction(), true)
  t.eq(co(9), "done")
  t.eq(d:value("select i from n"), 9)
end)

t.test("a statement stops at its deadline and the connection lives on", function()
  local d <close> = memory()
  d:timeout(0.05)
  local endless <const> = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
  local value <const>, err <const> = d:value(endless)
  t.eq({ value, err.code }, { nil, "timeout" })
  d:timeout(nil)
  t.eq(d:value("select 1"), 1)
end)

t.test("files: read-only, wrong file, missing folder, second writer", function()
  local dir <const> = t.tmpdir()
  local path <const> = dir .. "/a.db"
  do
    local d <close> = assert(db.open(path))
    d:exec("create table n (i); insert into n values (1)")
    local r <close> = assert(db.open(path, { readonly = true }))
    t.eq(r:value("select i from n"), 1)
    t.eq(select(2, r:exec("insert into n values (2)")).code, "read_only")
    local second <close> = assert(db.open(path, { busy = 0 }))
    d:transaction(function()
      d:exec("insert into n values (2)")
      local _, err <const> = second:exec("insert into n values (3)")
      t.eq(err.code, "busy")
      t.match(err.message, "in use by another run")
      t.eq(second:value("select count(*) from n"), 1, "readers see the state before")
    end)
  end
  t.write(dir .. "/text", ("not a database "):rep(100))
  t.eq(select(2, db.open(dir .. "/text")).code, "not_a_database")
  t.eq(t.read(dir .. "/text"), ("not a database "):rep(100))
  t.eq(select(2, db.open(dir .. "/none/x.db")).code, "cannot_open")
  t.eq(select(2, db.open(dir .. "/none.db", { readonly = true })).code, "cannot_open")
  t.eq(t.read(dir .. "/none.db"), nil)
end)

t.test("SQL cannot reach another file", function()
  local dir <const> = t.tmpdir()
  local d <close> = assert(db.open(dir .. "/a.db"))
  d:exec("create table n (i)")
  for _, sql in ipairs {
    "attach '" .. dir .. "/b.db' as b", "vacuum into '" .. dir .. "/c.db'", "select load_extension('x')", "attach 'file:" .. dir .. "/d.db' as d",
  } do
    local ok <const>, err <const> = d:exec(sql)
    t.eq(ok, nil, sql)
    t.ok(err.code == "denied" or err.code == "sql", err.code)
  end
  t.ok(d:exec("vacuum"))
  t.eq(select(2, t.sh("ls " .. dir .. " | grep -v '^a.db'")), "")
  t.eq(select(2, db.open("file::memory:", { create = false })).code, "cannot_open", "a path is never read as a URI")
end)

t.test("connections and statements left to the collector release their descriptors", function()
  local dir <const> = t.tmpdir()
  for i = 1, 20 do
    local d <const> = assert(db.open(dir .. "/" .. i .. ".db"))
    local s <const> = assert(d:prepare("select 1"))
    t.eq(s:value(), 1)
  end
end)
