-- SPDX-License-Identifier: MIT
-- The column operations against plain Lua over the same random rows: overlapping intervals, ties, NULLs, several types.
local t <const> = require "tests.lib"
local analyse <const> = require "rt.analyse"
local database <const> = require "rt.db"

local seed = 20251130
local function random(n)
  seed = (seed * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
  return (seed >> 20) % n
end

-- A table of random rows as a frame and as Lua rows; `columns` are functions that make a value.
local function made(d, name, n, columns)
  local rows <const>, names <const> = {}, {}
  for column in pairs(columns) do names[#names + 1] = column end
  table.sort(names)
  d:exec(("CREATE TABLE %s (%s)"):format(name, table.concat(names, ", ")))
  d:transaction(function()
    local s <close> = d:prepare(("INSERT INTO %s VALUES (%s)"):format(name, ("?, "):rep(#names - 1) .. "?"))
    for i = 1, n do
      local row <const>, values <const> = {}, {}
      for k, column in ipairs(names) do
        row[column] = columns[column](i)
        values[k] = row[column]
      end
      rows[i] = row
      s:exec(table.unpack(values, 1, #names))
    end
    return true
  end)
  return assert(analyse.load(d, ("SELECT * FROM %s ORDER BY rowid"):format(name))), rows
end

local function maybe(value) return random(10) > 0 and value or nil end

local function union_of(rows, t0, t1)
  local list <const> = {}
  for _, row in ipairs(rows) do
    if row.s and row.e then
      local s <const>, e <const> = math.max(row.s, t0), math.min(row.e, t1)
      for i = s, e - 1 do list[i] = true end
    end
  end
  local n = 0
  for _ in pairs(list) do n = n + 1 end
  return n, list
end

t.test("unions of overlapping intervals, whole, clipped, by group, and what two have in common", function()
  local d <close> = assert(database.open(":memory:"))
  for round = 1, 8 do
    local spread <const> = 30 * round
    local f <close>, rows <const> = made(d, "a" .. round, 60, {
      s = function() return maybe(random(spread)) end, e = function() return maybe(random(spread) + 3) end, g = function() return maybe("g" .. random(4)) end,
    })
    local g <close>, others <const> = made(d, "b" .. round, 25, { s = function() return random(spread) end, e = function() return random(spread) end })
    t.eq(f:union(nil, "s", "e"), (union_of(rows, 0, 1000)))
    t.eq(f:union(nil, "s", "e", 7, 21), (union_of(rows, 7, 21)))
    local by_group <const> = {}
    for _, row in ipairs(rows) do
      local key <const> = row.g or false
      by_group[key] = by_group[key] or {}
      table.insert(by_group[key], row)
    end
    for _, row in ipairs(f:group(nil, { "g" }, { { "ns", "union", "s", "e", 3, 50 } })) do
      t.eq(row.ns, (union_of(by_group[row.g or false], 3, 50)))
    end
    local _, mine <const> = union_of(rows, 0, 1000)
    local _, theirs <const> = union_of(others, 0, 1000)
    local both = 0
    for i in pairs(mine) do both = both + (theirs[i] and 1 or 0) end
    t.eq(f:common(nil, "s", "e", g, nil, "s", "e"), both)
  end
end)

t.test("groups: count, sum, total, extremes, mean, median, mode, any, distinct", function()
  local d <close> = assert(database.open(":memory:"))
  local f <close>, rows <const> = made(d, "t", 500, {
    k = function() return maybe(random(7)) end, w = function() return maybe("w" .. random(3)) end, v = function() return maybe(random(50) - 25) end,
    x = function() return maybe(random(1000) / 8) end,
  })
  local want <const>, order <const> = {}, {}
  for _, row in ipairs(rows) do
    local key <const> = tostring(row.k) .. "|" .. tostring(row.w)
    if not want[key] then
      want[key] = { n = 0, v = {}, x = {}, first = row }
      order[#order + 1] = key
    end
    want[key].n = want[key].n + 1
    if row.v then table.insert(want[key].v, row.v) end
    if row.x then table.insert(want[key].x, row.x) end
  end
  local got <const> = f:group(nil, { "k", "w" }, {
    { "n", "count" }, { "nv", "count", "v" }, { "sum", "sum", "v" }, { "total", "total", "v" }, { "low", "min", "x" }, { "high", "max", "v" },
    { "mean", "mean", "x" }, { "median", "quantile", "x" }, { "q", "quantile", "v", 0.9 }, { "mode", "mode", "v" }, { "any", "any", "v" },
    { "distinct", "distinct", "v" },
  })
  t.eq(#got, #order)
  for i, row in ipairs(got) do
    local w <const> = want[tostring(row.k) .. "|" .. tostring(row.w)]
    t.eq(tostring(row.k) .. "|" .. tostring(row.w), order[i], "groups come in the order they appear")
    local sum, seen, distinct, most, frequent = 0, {}, 0, 0, nil
    for _, v in ipairs(w.v) do
      sum = sum + v
      if not seen[v] then distinct = distinct + 1 end
      seen[v] = (seen[v] or 0) + 1
      most = math.max(most, seen[v])
    end
    for _, v in ipairs(w.v) do
      if seen[v] == most then
        frequent = v
        break
      end
    end
    t.eq({ row.n, row.nv, row.total, row.distinct, row.any, row.mode }, { w.n, #w.v, sum, distinct, w.v[1], frequent })
    t.eq(row.sum, #w.v > 0 and sum or nil)
    local x <const>, v <const> = table.move(w.x, 1, #w.x, 1, {}), table.move(w.v, 1, #w.v, 1, {})
    table.sort(x)
    table.sort(v)
    t.eq({ row.low, row.high }, { x[1], v[#v] })
    if #x > 0 then
      t.eq(row.median, (x[(#x + 1) // 2] + x[#x // 2 + 1]) / 2)
      local mean = 0
      for _, one in ipairs(x) do mean = mean + one end
      t.ok(math.abs(row.mean - mean / #x) < 1e-9)
    end
    if #v > 0 then
      local place <const> = 0.9 * (#v - 1)
      local a <const>, b <const> = v[math.floor(place) + 1], v[math.ceil(place) + 1]
      t.ok(math.abs(row.q - (a + (b - a) * (place - math.floor(place)))) < 1e-9)
    end
  end
end)

t.test("choosing, ordering, the best, the first of each", function()
  local d <close> = assert(database.open(":memory:"))
  local f <close>, rows <const> = made(d, "t", 400, {
    k = function() return random(20) end, v = function() return maybe(random(30)) end, w = function() return maybe("w" .. random(5)) end,
    x = function() return maybe(random(64) / 4 - 8) end, id = function(i) return i end,
  })
  local function ids(rows_of) return f:list(rows_of, "id") end
  local function filter(fn)
    local out <const> = {}
    for _, row in ipairs(rows) do
      if fn(row) then out[#out + 1] = row.id end
    end
    return out
  end
  t.eq(ids(f:where(nil, "v", "<", 7)), filter(function(r) return r.v and r.v < 7 end))
  t.eq(ids(f:where(nil, "x", ">=", -0.5)), filter(function(r) return r.x and r.x >= -0.5 end))
  t.eq(ids(f:where(nil, "v", "<>", 3)), filter(function(r) return r.v and r.v ~= 3 end))
  t.eq(ids(f:pick(nil, "w", { "w1", "w4", "nothing" })), filter(function(r) return r.w == "w1" or r.w == "w4" end))
  t.eq(ids(f:pick(nil, "w", function(text) return text > "w2" end, true)), filter(function(r) return not r.w or r.w > "w2" end))
  t.eq(ids(f:null(nil, "x")), filter(function(r) return not r.x end))
  local some <close> = f:where(nil, "k", ">", 10)
  t.eq(ids(f:present(some, "v")), filter(function(r) return r.k > 10 and r.v end))
  for _, column in ipairs { "v", "x" } do
    local sorted <const> = table.move(rows, 1, #rows, 1, {})
    table.sort(sorted, function(a, b)
      local p <const>, q <const> = a[column] or -math.huge, b[column] or -math.huge
      if p ~= q then return p < q end
      return a.id < b.id
    end)
    local want <const> = {}
    for i, row in ipairs(sorted) do want[i] = row.id end
    t.eq(ids(f:order(nil, column)), want)
  end
  local best <const>, first <const> = {}, {}
  for _, row in ipairs(rows) do
    local b <const> = best[row.k]
    if not b or (row.v or -1) > (b.v or -1) then best[row.k] = row end
    first[row.k] = first[row.k] or row.id
  end
  for _, id in ipairs(ids(f:best(nil, { "k" }, "v"))) do t.eq(id, best[rows[id].k].id) end
  for _, id in ipairs(ids(f:distinct(nil, { "k" }))) do t.eq(id, first[rows[id].k]) end
end)

t.test("joins and sequences: dense ids, ids far apart, texts; the first of equal keys", function()
  local d <close> = assert(database.open(":memory:"))
  for name, spread in pairs { dense = 1, sparse = 1000003 } do
    local f <close>, rows <const> = made(d, "f_" .. name, 200, { id = function() return maybe(random(80) * spread) end,
      s = function() return random(1000) end })
    local g <close>, others <const> = made(d, "g_" .. name, 90, {
      id = function() return maybe(random(80) * spread) end, v = function() return maybe(random(100)) end, w = function() return maybe("w" .. random(9)) end,
      x = function() return random(16) / 4 end,
    })
    f:lookup("at", "id", g, "id")
    f:fetch("v", "at", g, "v")
    f:fetch("w", "at", g, "w")
    f:fetch("x", "at", g, "x")
    local half <close> = g:where(nil, "v", ">", 50)
    f:lookup("at_half", "id", g, "id", half)
    f:fetch("v_half", "at_half", g, "v")
    g:tally("n", "id", f, nil, "id")
    g:tally("sum", "id", f, nil, "id", "s")
    local first <const>, first_half <const> = {}, {}
    for _, other in ipairs(others) do
      if other.id then
        first[other.id] = first[other.id] or other
        if (other.v or 0) > 50 then first_half[other.id] = first_half[other.id] or other end
      end
    end
    local n <const>, sum <const> = {}, {}
    for i, row in ipairs(rows) do
      local other <const>, upper <const> = row.id and first[row.id] or {}, row.id and first_half[row.id] or {}
      t.eq({ f:value(i - 1, "v"), f:value(i - 1, "w"), f:value(i - 1, "x"), f:value(i - 1, "v_half") }, { other.v, other.w, other.x, upper.v })
      if row.id then n[row.id], sum[row.id] = (n[row.id] or 0) + 1, (sum[row.id] or 0) + row.s end
    end
    for i, other in ipairs(others) do
      local mine <const> = other.id and first[other.id] == other
      t.eq({ g:value(i - 1, "n"), g:value(i - 1, "sum") }, { mine and n[other.id] or 0, mine and sum[other.id] or 0 })
    end
    f:lookup("by_text", "w", g, "w")
    local ordered <close> = f:order(nil, "s")
    f:running("most", ordered, "v", 20)
    f:shift("before", ordered, "w")
    f:step("gap", ordered, "s")
    local sequence <const> = f:list(ordered, "v")
    local most, last, last_s = 20, nil, nil
    for i, v in ipairs(sequence) do
      t.eq(f:list(ordered, "most")[i], most)
      t.eq(f:list(ordered, "before")[i] or nil, last)
      local s <const> = f:list(ordered, "s")[i]
      t.eq(f:list(ordered, "gap")[i] or nil, last_s and s - last_s)
      last, last_s = f:list(ordered, "w")[i] or nil, s
      if v and v > most then most = v end
      if i > 40 then break end
    end
  end
end)

t.test("arithmetic keeps integers whole, floats where they are needed, NULL where a side is", function()
  local d <close> = assert(database.open(":memory:"))
  d:exec("CREATE TABLE t (a, b, c, w); INSERT INTO t VALUES (7, 2, 0.5, 'x'), (NULL, 2, 1, NULL), (9007199254740993, 1, 2, 'y'), (-3, 0, 4, 'x')")
  local f <close> = assert(analyse.load(d, "SELECT * FROM t"))
  f:compute("sum", "a", "+", "b")
  f:compute("half", "a", "/", "b")
  f:compute("scaled", "a", "*", "c")
  f:compute("least", "a", "min", 5)
  f:compute("less", "a", "-", 1)
  t.eq(f:list(nil, "sum"), { 9, false, 9007199254740994, -3 })
  t.eq(f:list(nil, "half"), { 3.5, false, 9007199254740992.0, false })
  t.eq(f:list(nil, "scaled"), { 3.5, false, 18014398509481984.0, -12.0 })
  t.eq(f:list(nil, "least"), { 5, false, 5, -3 })
  t.eq(f:list(nil, "less"), { 6, false, 9007199254740992, -4 })
  f:derive("upper", "w", function(text) return text ~= "y" and text:upper() or nil end)
  t.eq(f:list(nil, "upper"), { "X", false, false, "X" })
  f:bits("low", "a", 1, 2)
  t.eq(f:list(nil, "low"), { 3, false, false, 2 })
  local err = t.raises(function() f:compute("bad", "w", "+", 1) end)
  t.eq(err.code, "bad-profile")
  t.has(err.message, "w holds text")
  t.raises(function() f:where(nil, "nope", "=", 1) end, "no column nope")
  t.raises(function() f:fetch("z", "a", f, "b") end, "names")
  d:exec("CREATE TABLE o (a); INSERT INTO o VALUES (9223372036854775807), (1)")
  local o <close> = assert(analyse.load(d, "SELECT a FROM o"))
  err = t.raises(function() o:compute("over", "a", "+", 1) end)
  t.has(err.message, "leaves 64 bits")
  t.eq(o:group(nil, {}, { { "s", "sum", "a" } })[1].s, 9223372036854775808.0)
end)

t.test("loading: types grow as values come, texts and numbers mixed are texts, a table by threads is the same", function()
  local d <close> = assert(database.open(":memory:"))
  d:exec("CREATE TABLE m (a, b, c, e); INSERT INTO m VALUES (1, 1, NULL, NULL), (5000000000, 2.5, NULL, NULL), (NULL, 3, 'x', NULL), (2, 4, 7, NULL)")
  local f <close> = assert(analyse.load(d, "SELECT * FROM m"))
  t.eq(f:list(nil, "a"), { 1, 5000000000, false, 2 })
  t.eq(f:list(nil, "b"), { 1.0, 2.5, 3.0, 4.0 })
  t.eq(f:list(nil, "c"), { false, false, "x", "7" })
  t.eq(f:list(nil, "e"), { false, false, false, false })
  local path <const> = t.tmpdir() .. "/big.db"
  local big <close> = assert(database.open(path))
  big:exec("CREATE TABLE n (i, w, x)")
  big:exec([[INSERT INTO n SELECT i, CASE WHEN i % 3 THEN 'w' || (i % 1000) END, CASE WHEN i > 250000 THEN i * 0.5 ELSE i END FROM
    (WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 300000) SELECT i FROM s)]])
  local one <close> = assert(analyse.load(big, "SELECT i, w, x FROM n"))
  local shared <close> = assert(analyse.load_table(big, "i, w, x", "n"))
  t.eq(shared:rows(), one:rows())
  for _, row in ipairs { 0, 1, 99999, 150000, 249999, 250000, 299999 } do
    for _, column in ipairs { "i", "w", "x" } do t.eq(shared:value(row, column), one:value(row, column), column .. row) end
  end
  t.eq(shared:group(nil, { "w" }, { { "n", "count" }, { "s", "sum", "x" } }), one:group(nil, { "w" }, { { "n", "count" }, { "s", "sum", "x" } }))
  local _, err <const> = analyse.load_table(big, "nope", "n")
  t.has(err.message, "no such column: nope")
  big:timeout(0.001)
  local _, slow <const> = analyse.load_table(big, "i, (SELECT count(*) FROM n AS m WHERE m.i < n.i)", "n")
  t.eq(slow.code, "timeout")
end)
