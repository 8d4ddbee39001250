-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local analyse <const> = require "rt.analyse"
local database <const> = require "rt.db"
local dialect <const> = require "profile.dialect"

local function memory()
  local d <const> = assert(database.open(":memory:"))
  assert(analyse.sql_functions(d))
  return d
end

-- The value of an expression over the rows (v) given as SQL text.
local function over(d, values, expression)
  local value <const>, err <const> = d:value(("WITH t(v, w) AS (VALUES %s) SELECT %s FROM t"):format(values, expression))
  if err then error(err.message, 2) end
  return value
end

t.test("aggregates have DuckDB's meaning", function()
  local d <close> = memory()
  local five <const> = "(3, 1), (1, 2), (NULL, 9), (4, 3), (1, 4), (5, 5)"
  t.eq(over(d, five, "median(v)"), 3.0)
  t.eq(over(d, "(1, 0), (2, 0), (3, 0), (10, 0)", "median(v)"), 2.5)
  t.eq(over(d, "(1, 0), (2, 0), (3, 0), (10, 0)", "quantile_cont(v, 0.9)"), 3 + 7 * 0.7000000000000002)
  t.eq(over(d, "(1, 0), (2, 0), (3, 0), (10, 0)", "quantile(v, 0.5)"), 2)
  t.eq(over(d, "(1, 0), (2, 0), (3, 0), (10, 0)", "quantile_disc(v, 0.51)"), 3)
  t.eq(over(d, five, "quantile(v, 0)"), 1)
  t.eq(over(d, five, "quantile(v, 1)"), 5)
  t.eq(over(d, five, "mode(v)"), 1)
  t.eq(over(d, "('b', 0), ('a', 0), ('a', 0), ('b', 0)", "mode(v)"), "b", "of equally frequent values the first")
  t.eq(over(d, "('b', 0), ('a', 0), ('c', 0)", "median(v)"), "b", "text has a middle, too")
  t.eq(over(d, five, "any_value(v)"), 3)
  t.eq(over(d, "(NULL, 0), (7, 0)", "any_value(v)"), 7)
  t.eq(over(d, "(NULL, 0), (7, 0)", "first(v) IS NULL"), 1)
  t.eq(over(d, five, "last(v)"), 5)
  t.eq(over(d, five, "arg_max(w, v)"), 5)
  t.eq(over(d, five, "arg_min(w, v)"), 2, "the first of equals")
  t.eq(over(d, five, "max_by(w, v) || min_by(w, v)"), "52")
  t.eq(over(d, five, "list(v)"), "[3,1,null,4,1,5]")
  t.eq(over(d, "('a\"b', 0), (1.5, 0)", "list(v)"), '["a\\"b",1.5]')
  t.eq(over(d, "('a', 0), ('b', 0)", "string_agg(v, ' + ')"), "a + b")
  t.eq(over(d, five, "approx_count_distinct(v)"), 4)
  t.eq(over(d, five, "count_if(v > 2)"), 3)
  t.eq(over(d, five, "bool_and(v > 0) || bool_or(v > 4) || bool_or(v > 5)"), "110")
  t.eq(over(d, "(2, 0), (4, 0), (4, 0), (4, 0), (5, 0), (5, 0), (7, 0), (9, 0)", "stddev_pop(v)"), 2.0)
  t.eq(over(d, "(1, 0), (3, 0)", "var_samp(v)"), 2.0)
  t.eq(over(d, "(2, 0), (3, 0)", "product(v)"), 6.0)
  for _, name in ipairs { "median", "mode", "any_value", "stddev", "quantile_cont" } do
    local call <const> = name:find("quantile") and name .. "(v, 0.5)" or name .. "(v)"
    t.eq(over(d, "(NULL, 0)", call .. " IS NULL"), 1, name .. " of nothing")
  end
  t.eq(d:value("WITH t(v) AS (VALUES (1)) SELECT median(v) IS NULL FROM t WHERE v > 1"), 1)
  t.eq(d:value("WITH t(v) AS (VALUES (1)) SELECT approx_count_distinct(v) FROM t WHERE v > 1"), 0)
  local _, err <const> = d:value("WITH t(v) AS (VALUES (1)) SELECT quantile(v, 2) FROM t")
  t.has(err.message, "q must be one number from 0 to 1")
end)

t.test("aggregates as window functions, frames that move included", function()
  local d <close> = memory()
  local function column(expression)
    local rows <const>, err <const> = d:query(
      ("WITH t(i, v) AS (VALUES (1, 5), (2, 1), (3, NULL), (4, 4), (5, 4)) SELECT %s AS x FROM t ORDER BY i"):format(expression))
    if not rows then error(err.message, 2) end
    local out <const> = {}
    for k, row in ipairs(rows) do out[k] = row.x == nil and "-" or row.x end
    return out
  end
  t.eq(column "median(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", { 5.0, 3.0, 1.0, 4.0, 4.0 })
  t.eq(column "mode(v) OVER ()", { 4, 4, 4, 4, 4 })
  t.eq(column "list(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)", { "[5,1]", "[5,1,null]", "[1,null,4]", "[null,4,4]", "[4,4]" })
  t.eq(column "count_if(v > 3) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", { 1, 1, 0, 1, 2 })
  t.eq(column "any_value(v) OVER ()", { 5, 5, 5, 5, 5 })
  t.eq(column "arg_max(i, v) OVER (ORDER BY i)", { 1, 1, 1, 1, 1 })
  local _, err <const> = d:query("WITH t(i) AS (VALUES (1), (2), (3)) SELECT any_value(i) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t")
  t.has(err.message, "no frame that moves")
end)

t.test("a quantile against sorting, on many groups", function()
  local d <close> = memory()
  d:exec("CREATE TABLE t (g, v)")
  local groups <const> = {}
  local seed = 12345
  d:transaction(function()
    local s <close> = d:prepare("INSERT INTO t VALUES (?, ?)")
    for _ = 1, 5000 do
      seed = (seed * 1103515245 + 12345) % 2147483648
      local g <const>, v <const> = seed % 37, (seed // 64) % 1000 / 8
      groups[g] = groups[g] or {}
      table.insert(groups[g], v)
      s:exec(g, v)
    end
    return true
  end)
  local checked = 0
  for row in d:rows("SELECT g, median(v) AS m, quantile_disc(v, 0.95) AS q, count(*) AS n FROM t GROUP BY g") do
    local list <const> = groups[row.g]
    table.sort(list)
    local n <const> = #list
    t.eq(row.m, (list[(n + 1) // 2] + list[n // 2 + 1]) / 2)
    t.eq(row.q, list[math.ceil(0.95 * n - 1e-9)])
    checked = checked + 1
  end
  t.eq(checked, 37)
end)

t.test("scalars", function()
  local d <close> = memory()
  local function is(expression, want)
    local value <const>, err <const> = d:value("SELECT " .. expression)
    t.eq(value, want, expression .. " " .. tostring(err and err.message))
  end
  is("greatest(1, 3, 2)", 3)
  is("least(1, NULL, 0.5)", 0.5)
  is("greatest(NULL, NULL)", nil)
  is("'MatMul' MATCH 'mat%'", 1)
  is("'MatMul' MATCH 'm_t%l'", 1)
  is("'MatMul' MATCH 'mat'", 0)
  is("starts_with('abc', 'ab')", 1)
  is("ends_with('abc', 'ab')", 0)
  is("contains('a.b', '.')", 1)
  is("strpos('héllo', 'l')", 3)
  is("split_part('a/b/c', '/', 2)", "b")
  is("split_part('a/b/c', '/', -1)", "c")
  is("split_part('a/b/c', '/', 9)", "")
  is("parse_filename('/x/y/k.py:12')", "k.py:12")
  is("concat('a', NULL, 1)", "a1")
  is("concat_ws('-', 'a', NULL, 'b')", "a-b")
  is("\"left\"('héllo', 2)", "hé")
  is("\"right\"('héllo', 2)", "lo")
  is("\"left\"('abc', -1)", "ab")
  is("regexp_matches('k.py:12', ':\\d+$')", 1)
  is("regexp_extract('k.py:12', '([a-z]+)\\.py:(\\d+)', 2)", "12")
  is("regexp_extract('x', 'y')", "")
  is("if(1 > 2, 'a', 'b')", "b")
  is("floor(2.7) + ceil(2.1) + sqrt(16) + pow(2, 3) + log10(100)", 2.0 + 3 + 4 + 8 + 2)
  is("round(1e9 / 3, 2)", 333333333.33)
  is("matmul_k('S[5] (Tensor)++@complete acc_flags=3 row_grp=q0 src=fp16@0x5600[1,0,0][3,1,1] dst=0x2000000[1,0,0][3,1,1] 3*128 ')", 3)
  is("matmul_m('acc_flags=3 src=fp16@0x5600[1,0,0][3,1,1] 3*128 ')", 128)
  is("matmul_n('src=bf16@0x0[512,1][64,8] 128*96 acc_flags=1 psum_zero=1')", 512)
  is("matmul_n('src=bf16@0x0[1][512] 128*96')", 512)
  is("matmul_dtype('src=bf16@0x0[1][512] 128*96')", "bf16")
  is("matmul_k('data=0x1,0x1 size=4,4')", nil)
  is("matmul_k('src=[ 5* *5 99999999999*3')", nil)
  local _, err <const> = d:value("SELECT regexp_matches('a', '(')")
  t.has(err.message, "the pattern is wrong")
end)

t.test("DuckDB's SQL becomes SQLite's", function()
  local d <close> = memory()
  d:exec("CREATE TABLE Instruction (id, engine, duration_ns); INSERT INTO Instruction VALUES (1, 'Tensor', 7), (2, 'Vector', 2)")
  local function is(sql, want)
    local translated <const>, err <const> = dialect.translate(sql)
    t.ok(translated, err and err.message)
    local value <const>, bad <const> = d:value(translated)
    t.eq(value, want, translated .. " " .. tostring(bad and bad.message))
  end
  is("SELECT 7 / 2", 3.5)
  is("SELECT 7 // 2", 3)
  is("SELECT 8 / 2 / 2 * 3", 6.0)
  is("SELECT sum(duration_ns) / count(*) FROM Instruction", 4.5)
  is("SELECT '1/2' || ' -- no comment' -- a comment / with a slash", "1/2 -- no comment")
  is("SELECT /* a / b */ 1", 1)
  is("SELECT (7.9)::INTEGER", 7)
  is("SELECT sum(duration_ns)::DOUBLE / 2 FROM Instruction", 4.5)
  is("SELECT i.id::VARCHAR || 'x' FROM Instruction i", "1x")
  is("SELECT '12'::DECIMAL(10, 2)::INT + 1", 13)
  is("SELECT count(*) FROM Instruction WHERE engine ILIKE 'TEN%'", 1)
  is("SELECT count(*) FROM Instruction WHERE engine NOT ILIKE 'TEN%'", 1)
  is("SELECT left('abc', 2) || right('abc', 1)", "abc")
  is("SELECT 1_000_000 + 1", 1000001)
  is("SELECT count(*) FROM '/data/p@latest/Instruction.parquet'", 2)
  is("SELECT count(*) FROM read_parquet('/data/p@latest/Instruction_*.parquet') AS i", 2)
  is("SELECT count(*) FROM Instruction WHERE (engine = 'Tensor') IS NOT TRUE", 1)
  is("SELECT sum(CASE WHEN engine = 'Tensor' THEN duration_ns ELSE 0 END) / 1e9 FROM Instruction", 7e-9)
  local function refused(sql, words)
    local translated <const>, err <const> = dialect.translate(sql)
    t.eq(translated, nil, sql)
    t.has(err.message, words)
    t.eq(err.code, "usage")
  end
  refused("SELECT * FROM Instruction QUALIFY row_number() OVER () = 1", "QUALIFY")
  refused("SELECT quantile(v, [0.5, 0.9]) FROM t", "lists")
  refused("SELECT list_sum(list(v)) FROM t", "list_sum()")
  refused("SELECT * EXCLUDE (id) FROM Instruction", "EXCLUDE")
  refused("SELECT engine, sum(id) FROM Instruction GROUP BY ALL", "BY ALL")
  refused("SELECT DISTINCT ON (engine) * FROM Instruction", "DISTINCT ON")
  refused("SELECT 'open", "not closed")
  refused("DESCRIBE Instruction", "DESCRIBE")
  refused("SELECT unnest(x) FROM t", "unnest")
end)

t.test("select: order and doubled names of columns, NULL, blobs, limit; what is no SELECT is refused", function()
  local d <close> = memory()
  local r <const> = assert(analyse.select(d, "SELECT 1 AS a, NULL AS b, 2.5 AS a, x'00ff' AS c, '' AS d", 10))
  t.eq(r.columns, { "a", "b", "a", "c", "d" })
  t.eq(r.rows, { { 1, false, 2.5, "x'00ff'", "" } })
  t.eq(r.more, false)
  local cut <const> = assert(analyse.select(d, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", 3))
  t.eq(#cut.rows, 3)
  t.eq(cut.more, true)
  for sql, words in pairs {
    ["CREATE TABLE x (a)"] = "only SELECT", ["SELECT 1; SELECT 2"] = "one statement", [""] = "no statement", ["SELECT ?"] = "parameters",
  } do
    local _, err <const> = analyse.select(d, sql)
    t.eq(err.code, "usage")
    t.has(err.message, words)
  end
  local _, err <const> = analyse.select(d, "SELECT nope")
  t.has(err.message, "no such column")
  d:timeout(0.05)
  local _, slow <const> = analyse.select(d, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
  t.eq(slow.code, "timeout")
end)
