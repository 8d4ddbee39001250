-- SPDX-License-Identifier: MIT
---@meta
-- luacheck: ignore 212 241
-- The contract of `require "rt.trace"`: profile files. Wrong use raises; a failure of the world returns nil, err with
-- err = { code =, message = }: bad_data (damaged or cut off), unsupported, missing (a library is not here), not_found, io,
-- no_space, no_memory, busy, sql, timeout, interrupted.

---@alias trace.Column rt.array|trace.Masked|trace.Text

---@class trace.Masked numbers with gaps: { array, valid = bool array }
---@field valid rt.array

---@class trace.Text dictionary-coded text: code k is values[k + 1], -1 is NULL
---@field codes rt.array int32
---@field values string[]

---@class trace.Table what prelude/profile/schema.lua makes: schema.table(name[, columns])
---@field name string
---@field columns { name: string }[]
---@field sql string CREATE TABLE
---@field indices string[]? CREATE INDEX, run by Store:index

---@class trace.Store a database being written beside its target; nothing under the target's name changes before commit
local Store = {}
---@param table trace.Table
---@return true? ok, table? err
function Store:table(table) end
-- Append rows. A column that is not given is NULL. A value may be a column, or one number, boolean or string for every row
-- (only such: one row). Arrays have rank 1 and the same length; NaN is stored as NULL. Raises on unknown tables and columns.
---@param table string
---@param columns table<string, trace.Column|number|boolean|string>
---@return integer? rows, table? err
function Store:append(table, columns) end
-- Append rows given one by one, for short tables.
---@param table string
---@param rows table<string, number|boolean|string>[]
---@return integer? rows, table? err
function Store:rows(table, rows) end
---@return integer rows appended so far
function Store:count(table) end
---@return boolean
function Store:has(table) end
---@param sql string without parameters and results
---@return true? ok, table? err
function Store:exec(sql) end
-- A query over what has been appended so far, as trace.columns gives it.
---@param sql string
---@param limit integer?
---@return { names: string[], columns: table<string, trace.Column>, rows: integer }? result, table? err
function Store:columns(sql, limit) end
-- Make the indices of all tables: after the rows, which is faster.
---@return true? ok, table? err
function Store:index() end
-- Sync, and take the target's name. The store is closed afterwards, also when this fails.
---@return true? ok, table? err
function Store:commit() end
-- Leave nothing. Also what collection and a <close> variable do when there was no commit.
function Store:abort() end

---@class rt.trace
local trace = {}

---@param path string
---@param tables trace.Table[]? more may be added with Store:table
---@return trace.Store? store, table? err
function trace.store_create(path, tables) end

-- The result of a query that only reads, as columns. Integers are int64, other numbers float64, text is dictionary-coded; a
-- column without values is int64 with nothing valid. `params` is a list, a table by name, or one value.
---@param db string|userdata path, or a database of rt.db
---@param sql string
---@param params any?
---@param options { seconds: number?, limit: integer? }? more rows than the limit are an error
---@return { names: string[], columns: table<string, trace.Column>, rows: integer }? result, table? err
function trace.columns(db, sql, params, options) end

---@class trace.Parquet one batch of rows after the other
local Parquet = {}
---@return { rows: integer, groups: integer, created_by: string, metadata: table<string, string>, fields: { name: string, type: string,
---required: boolean, list: boolean }[] } info types are those of the profile schema: i64 i32 f32 f64 bool str; lists come as JSON text
function Parquet:info() end
---@param wanted boolean[] a flag for each field; before the first row
function Parquet:select(wanted) end
---@param limit integer? rows, 65536
---@return table<string, trace.Column>? columns, integer|table|nil rows nothing at the end; nil, err
function Parquet:read(limit) end
-- Rows straight into a table of a store: targets[k] is the name of field k's column, or false. The columns of the table that
-- no field goes to are NULL.
---@param store trace.Store
---@param table string
---@param targets (string|false)[]
---@param limit integer? about how many rows; all
---@return integer? rows 0 at the end, table? err
function Parquet:into(store, table, targets, limit) end
-- Read what is left and keep nothing: checks a file.
---@return integer? rows, table? err
function Parquet:skim() end
function Parquet:close() end

---@param path string
---@param folder string? where pages that do not fit `memory` are put, /var/tmp
---@param memory integer? bytes for pages and dictionaries, 96 MiB
---@return trace.Parquet? file, table? err
function trace.parquet_open(path, folder, memory) end

-- The header of a NEFF and what is in its archive. A wrong or unfinished file is bad_data.
---@param path string
---@param options { members: boolean? }? members = false: the header only
---@return { path: string, size: integer, pkg_version: integer, major: integer, minor: integer, build: string, tpb: integer, hash: string,
---uuid: string, name: string, features: integer, lnc: integer, gzipped: boolean, members: { name: string, size: integer }[]? }? neff, table? err
function trace.neff(path, options) end

---@class trace.Json an object of any size, { "section": [ record, ... ], "other": value, ... }
local Json = {}
---@return string? section, string|table|nil text, boolean? element, integer? offset nothing at the end; nil, err
function Json:next() end
function Json:close() end

---@param path string
---@return trace.Json? file, table? err
function trace.json_open(path) end

---@return table<string, true|string> codecs what Parquet pages may be compressed by: true, or why it cannot be read here
function trace.codecs() end

return trace
