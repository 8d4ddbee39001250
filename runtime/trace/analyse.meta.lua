-- SPDX-License-Identifier: MIT
---@meta
-- luacheck: ignore 212 241
-- The contract of `require "rt.analyse"`: tables in columns and the operations an analysis is made of, and SQL with DuckDB's
-- functions. A selection (rt.analyse.rows) is a list of rows; nil in its place means every row. Rows count from 0. NULL fulfils no
-- condition, is added to no sum, and equals NULL in groups. What the data forbids (text where numbers belong, no memory)
-- raises { code = "bad-profile", message = }; wrong use raises a message.

---@class rt.analyse.rows
local Rows = {}
---@return integer
function Rows:count() end
---@param n integer
---@return rt.analyse.rows the first n
function Rows:first(n) end
function Rows:close() end

---@alias aggregate table { as, "count" | "sum" | "total" | "min" | "max" | "mean" | "any" | "mode" | "distinct", column? }, { as, "quantile", column, q },
--- { as, "union", start, end, t0?, t1? }: length of the union of intervals. A total is a sum that is 0 where there is nothing to add.

---@class rt.analyse.table
local Table = {}
---@return integer rows of the table, or of the selection
function Table:rows(selection) end
---@return string[]
function Table:names() end
---@return integer
function Table:bytes() end
---@return number|string|nil
function Table:value(row, column) end
---@return table values of the selection, NULL as false
function Table:list(selection, column) end
function Table:drop(column) end
---@param test "="|"<>"|"<"|"<="|">"|">="
---@return rt.analyse.rows
function Table:where(selection, column, test, value) end
-- Rows of a text column: `accept` is a list of texts, or a function called once for each distinct text.
---@return rt.analyse.rows
function Table:pick(selection, column, accept, also_null) end
---@return rt.analyse.rows
function Table:null(selection, column) end
---@return rt.analyse.rows
function Table:present(selection, column) end
---@return rt.analyse.rows ordered by a numeric column, NULL first, equal values as they were
function Table:order(selection, column) end
---@return rt.analyse.rows the first row of each combination
function Table:distinct(selection, columns) end
---@return rt.analyse.rows for each combination of keys the first row with the greatest value
function Table:best(selection, keys, value) end
---@param aggregates aggregate[]
---@return table[] one for each combination of keys, in the order they first appear
function Table:group(selection, keys, aggregates) end
---@return integer ns
function Table:union(selection, start, finish, t0, t1) end
---@return integer ns that both unions cover
function Table:common(selection, start, finish, other, other_selection, other_start, other_finish, t0, t1) end

-- New columns; the first argument is the name.
-- The row of `other` whose key equals `column`, NULL where there is none, of several the first.
function Table:lookup(name, column, other, key, other_selection) end
-- What `column` of `other` holds at the rows that `at` (made by lookup) names.
function Table:fetch(name, at, other, column) end
-- How many of other's rows have this key, or the sum of their values.
function Table:tally(name, key, other, other_selection, other_key, value) end
---@param op "+"|"-"|"*"|"/"|"min"|"max"
function Table:compute(name, a, op, b) end
-- A text for each distinct text.
function Table:derive(name, column, fn) end
function Table:bits(name, column, shift, width) end
-- In the order of the selection: the value less the one before; the one before; the greatest so far.
function Table:step(name, selection, column, key) end
function Table:shift(name, selection, column) end
function Table:running(name, selection, column, initial) end
-- Take over the columns of a table with as many rows.
function Table:adopt(other) end
function Table:close() end

---@class rt.analyse
local analyse = {}
-- Register the functions of sqlfn.h on a database of rt.db.
---@return true? ok, table? err
function analyse.sql_functions(db) end
---@return rt.analyse.table? table, table? err
function analyse.load(db, sql) end
-- SELECT `list` FROM `table`, by several threads where the table is large.
---@return rt.analyse.table? table, table? err
function analyse.load_table(db, list, table) end
-- One statement that reads: { columns =, rows = lists of values with NULL as false, more = }.
---@return table? result, table? err
function analyse.select(db, sql, limit) end

return analyse
