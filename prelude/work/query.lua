-- SPDX-License-Identifier: MIT
-- work.query: the worker job behind `nkiln query`: one profile database, one or more questions. Request and result are plain data.
--
-- request: { path=, seconds=, window=, core=, limit=, explain=bool, dialect="duckdb"|"sqlite",
--            sql=text | tables=bool | schema=TABLE | bounds=bool | investigate=name | lines=bool | compare=path, anyway=bool }
-- result:  { identity= or kind=, sql = {columns, rows, more}, tables = {...}, bounds = {one for each core}, findings = {...}, lines = {...},
--            comparison = {...}, explained = { {name, sql} ... } }, what was asked for
-- nil, {code, message, where, hint} when the file or the question is no good.

local analyse <const> = require "rt.analyse"
local dialect <const> = require "profile.dialect"
local fault <const> = require "fault"
local open <const> = require "profile.open"
local task <const> = require "rt.task"

local work <const> = {}

-- Why a statement failed, and what to do about it.
local function sql_failure(p, err, request)
  local message <const> = tostring(err.message):gsub("^prepare: ", ""):gsub("^SQL: ", "")
  if err.code == "usage" then return fault.new("usage", message) end
  if err.code == "timeout" then
    return fault.new("failed", ("the query did not end within %g seconds"):format(request.seconds or open.SECONDS), { hint = "--seconds N gives it more" })
  end
  if err.code == "denied" then return fault.new("usage", message) end
  local missing <const> = message:match("no such table: ([%w_.]+)")
  if missing then
    local names <const> = {}
    for name in pairs(p.tables) do names[#names + 1] = name end
    table.sort(names)
    local near <const> = fault.nearest(missing, names)
    local known <const> = open.schema.tables[missing] ~= nil
    return fault.new("bad-input", known and ("this profile has no table %s"):format(missing) or ("there is no table %s"):format(missing), {
      where = p.path, hint = near and near ~= missing and ("did you mean %s?"):format(near)
        or known and "whoever made it did not record that; --tables lists what there is" or "--tables lists the tables",
    })
  end
  local column <const> = message:match("no such column: ([%w_.]+)")
  if column then
    local names <const> = {}
    for _, columns in pairs(p.tables) do
      for name in pairs(columns) do names[#names + 1] = name end
    end
    local near <const> = fault.nearest(column:match("[^.]*$"), names)
    return fault.new("usage", message, { hint = near and ("did you mean %s?"):format(near) or "--schema TABLE lists the columns" })
  end
  local lacking <const> = message:match("no such function: ([%w_]+)")
  if lacking then return fault.new("usage", message, { hint = "--via duckdb has DuckDB's own functions" }) end
  if err.code == "sql" then return fault.new("usage", message) end
  return select(2, open.damaged(p.path, err))
end

local function run_sql(p, request)
  local sql = request.sql
  if request.dialect ~= "sqlite" then
    local translated <const>, err <const> = dialect.translate(sql)
    if not translated then return nil, err end
    sql = translated
  end
  if request.dialect ~= "sqlite" then p.db:exec("PRAGMA case_sensitive_like = on") end
  local rows <const>, failed <const> = analyse.select(p.db, sql, request.limit or 0)
  if not rows then return nil, sql_failure(p, failed, request) end
  return rows
end

-- Tables with their rows; units come from the schema.
local function list_tables(p)
  local names <const>, rows <const> = {}, {}
  for name in pairs(p.tables) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local count <const>, err <const> = p.db:value(("SELECT count(*) FROM %s"):format(open.quote(name)))
    if not count then return nil, sql_failure(p, err, {}) end
    local columns = 0
    for _ in pairs(p.tables[name]) do columns = columns + 1 end
    rows[#rows + 1] = { name, count, columns }
  end
  return { columns = { "table", "rows", "columns" }, rows = rows, more = false }
end

local function describe(p, name)
  if not p.tables[name] then return nil, sql_failure(p, { code = "sql", message = "no such table: " .. name }, {}) end
  local known <const>, rows <const> = open.schema.tables[name] or {}, {}
  local units <const> = {}
  for _, column in ipairs(known) do units[column.name] = column end
  local list <const>, err <const> = p.db:query(("SELECT name, type FROM pragma_table_info('%s')"):format(name:gsub("'", "''")))
  if not list then return nil, sql_failure(p, err, {}) end
  for _, column in ipairs(list) do
    local row <const>, failed <const> = p.db:row(("SELECT count(%s) AS n, min(%s) AS a, max(%s) AS b FROM %s"):format(
      open.quote(column.name), open.quote(column.name), open.quote(column.name), open.quote(name)))
    if not row then return nil, sql_failure(p, failed, {}) end
    local unit <const> = units[column.name] and units[column.name].unit
    local function or_null(value) return value ~= nil and value ~= "" and value or false end
    rows[#rows + 1] = { column.name, column.type, unit or "", row.n, or_null(row.a), or_null(row.b) }
  end
  return { columns = { "column", "type", "unit", "not null", "min", "max" }, rows = rows, more = false }
end

-- The query behind an investigation, where it has another name.
local queries_of <const> = { vector = "lines", scalar = "lines", gpsimd = "lines" }

local function answer(request)
  local any <const> = request.sql or request.tables or request.schema
  local p <const>, err <const> = open.open(request.path, { seconds = request.seconds, window = request.window, core = request.core, any = any and true or nil })
  if not p then return nil, err end
  local _ <close> = p
  local out <const> = { path = request.path }
  local function put(key, value, failed)
    if value == nil then return nil, failed end
    out[key] = value
    return true
  end
  local done, why = true, nil
  if request.sql then done, why = put("sql", run_sql(p, request)) end
  if done and request.tables then done, why = put("sql", list_tables(p)) end
  if done and request.schema then done, why = put("sql", describe(p, request.schema)) end
  if not done then return nil, why end
  if any then -- rows of a model's profile are marked, too
    local named <const> = p.tables.nkiln and p.tables.nkiln.key and p.tables.nkiln.value
    local kind <const> = named and p.db:value("SELECT value FROM nkiln WHERE key = 'kind'")
    out.kind = type(kind) == "string" and kind or nil
    return out
  end
  out.identity = p:identity()
  if request.bounds then out.bounds = require("profile.bounds").all(p) end
  if request.lines then
    -- Of several cores the one whose longest engine is longest.
    local core <const> = #p.cores > 1 and require("profile.bounds").all(p)[1].core or p.cores[1]
    local list <const>, missing <const> = require("profile.lines").compute(p, core)
    out.lines_core = #p.cores > 1 and core or nil
    if not list then return nil, fault.new("bad-input", missing, { where = request.path, hint = "lines need the table Instruction" }) end
    out.lines = list
  end
  if request.compare then
    local other <const>, unopened <const> = open.open(request.compare, { seconds = request.seconds, core = request.core })
    if not other then return nil, unopened end
    local _ <close> = other
    local c <const>, refused <const> = require("profile.compare").run(p, other, { anyway = request.anyway })
    if not c then return nil, refused end
    out.comparison = c
  end
  if request.investigate then out.findings = require("profile.investigate").run(p, request.investigate) end
  if request.explain then
    out.explained = {}
    if request.bounds then table.move(require("profile.explain").bounds(p), 1, 100, 1, out.explained) end
    if request.investigate or request.lines then
      local engine = "Tensor"
      for _, f in ipairs(out.findings or {}) do engine = f.engine or engine end
      for _, q in ipairs(require("profile.explain_lines").all(p, p.cores[1], engine)) do
        local asked <const> = request.investigate == "all" or request.lines and (q.name == "lines" or q.name == "transfers")
        if asked or queries_of[request.investigate or ""] == q.name or request.investigate == q.name then table.insert(out.explained, q) end
      end
    end
  end
  if request.notes ~= false then out.notes = p.notes end
  return out
end

function work.run(request)
  local caught <const> = table.pack(xpcall(answer, function(e)
    if type(e) == "table" then return e end
    return { traced = require("rt.vm").traceback(tostring(e)) or tostring(e), message = tostring(e) }
  end, request))
  if caught[1] then return table.unpack(caught, 2, caught.n) end
  local e <const> = caught[2]
  if task.is_cancelled(e) or not (type(e) == "table" and e.code) then error(type(e) == "table" and e.traced or e, 0) end
  if e.code == "bad-profile" then return nil, fault.new("bad-input", e.message, { where = request.path, hint = "the profile is damaged, or no profile" }) end
  return nil, fault.of(e)
end

return work
