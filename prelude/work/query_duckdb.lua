-- SPDX-License-Identifier: MIT
-- work.query_duckdb: the worker job behind `nkiln query FOLDER SQL --via duckdb`: neuron-explorer's Parquet files, asked as they are.
--
-- request: { folder=, sql= | tables=bool | schema=TABLE, limit=, library=path of libduckdb or nil, memory= }
-- result: { sql = {columns, rows, more} }. Each TABLE.parquet (or TABLE_0.parquet, TABLE_1.parquet ...) is a view. DuckDB may read
-- the folder and nothing else. nil, err: code "missing" where there is no DuckDB.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local work <const> = {}

local function quote(text) return "'" .. text:gsub("'", "''") .. "'" end

-- { TABLE = { files } } of a folder, and its names in order.
function work.files(folder, list)
  local names <const>, err <const> = (list or fs.list)(folder)
  if not names then return nil, fault.new(err.code or "not-found", "the folder cannot be read", { where = folder }) end
  local out <const>, order <const> = {}, {}
  for _, name in ipairs(names) do
    local stem <const> = name:match("^(%a[%w]*)%.parquet$") or name:match("^(%a[%w]*)_%d+%.parquet$")
    if stem then
      if not out[stem] then order[#order + 1] = stem end
      out[stem] = out[stem] or {}
      table.insert(out[stem], folder .. "/" .. name)
    end
  end
  if #order == 0 then
    return nil, fault.new("bad-input", "this folder has no Parquet files of a profile", {
      where = folder, hint = "neuron-explorer writes them to DATA-PATH/profiles/global/NAME@latest/",
    })
  end
  table.sort(order)
  for _, files in pairs(out) do table.sort(files) end
  return out, order
end

local function view(name, files)
  local list <const> = {}
  for i, path in ipairs(files) do list[i] = quote(path) end
  return ('CREATE VIEW "%s" AS SELECT * FROM read_parquet([%s])'):format(name, table.concat(list, ", "))
end

-- The statement that answers a request over these tables.
local function statement(request, names)
  if request.tables then
    local parts <const> = {}
    for i, name in ipairs(names) do
      parts[i] = ('SELECT %s AS "table", (SELECT count(*) FROM "%s") AS rows, (SELECT count(*) FROM pragma_table_info(%s)) AS columns'):format(
        quote(name), name, quote(name))
    end
    return table.concat(parts, " UNION ALL ") .. " ORDER BY 1"
  elseif request.schema then
    return ('SELECT name AS "column", type FROM pragma_table_info(%s)'):format(quote(request.schema))
  end
  return request.sql
end

-- Everything for DuckDB's command: settings, views, the question.
function work.script(request, list)
  local files <const>, names = work.files(request.folder, list)
  if not files then return nil, names end
  local out <const> = {
    "SET autoinstall_known_extensions = false", "SET autoload_known_extensions = false", ("SET allowed_directories = [%s]"):format(quote(request.folder)),
    "SET enable_external_access = false", "SET lock_configuration = true",
  }
  for _, name in ipairs(names) do out[#out + 1] = view(name, files[name]) end
  local sql <const> = statement(request, names):gsub("[;%s]+$", "")
  out[#out + 1] = request.limit and sql:upper():find("^%s*[SWF]") and ("SELECT * FROM (%s\n) LIMIT %d"):format(sql, request.limit + 1) or sql
  return table.concat(out, ";\n") .. ";\n"
end

-- What the command printed: a JSON list of objects, whose keys are in the order of the columns in the first.
function work.answer(text, request)
  local json <const> = require "rt.json"
  local list <const> = json.decode(text:find("%S") and text or "[]")
  if type(list) ~= "table" then return nil, fault.new("failed", "duckdb's answer could not be read") end
  local columns <const>, rows <const> = {}, {}
  for key in (text:match("{(.-)}") or ""):gmatch('"([^"]*)":') do columns[#columns + 1] = key end
  for k, object in ipairs(list) do
    if request.limit and k > request.limit then break end
    rows[k] = {}
    for i, name in ipairs(columns) do
      local value = object[name]
      if value == nil or value == json.null then value = false end
      if type(value) == "table" then value = json.encode(value) end
      rows[k][i] = value
    end
  end
  return { sql = { columns = columns, rows = rows, more = request.limit ~= nil and #list > request.limit }, path = request.folder }
end

function work.run(request)
  local files <const>, names <const> = work.files(request.folder)
  if not files then return nil, names end
  local duckdb <const> = require "rt.duckdb"
  local d <const>, err <const> = duckdb.open { library = request.library, folders = { request.folder }, memory = request.memory or 2 << 30 }
  if not d then
    if err.code == "missing" then
      return nil, fault.new("missing", "DuckDB is not on this machine", {
        reason = err.message, hint = "--library /path/libduckdb.so names it; or nkiln profile --import FOLDER -o p.db and ask that",
      })
    end
    return nil, fault.new("failed", err.message)
  end
  local _ <close> = d
  local broken <const>, good <const> = {}, {}
  for _, name in ipairs(names) do
    local made <const>, why <const> = d:exec(view(name, files[name]))
    if made then good[#good + 1] = name else broken[name] = why.message end
  end
  if request.tables and #good == 0 then
    return nil, fault.new("bad-input", broken[names[1]], { where = request.folder .. "/" .. names[1] .. ".parquet" })
  end
  local rows <const>, failed <const> = d:select(statement(request, good), request.limit or 0)
  if not rows then
    local message <const> = failed.message:gsub("%s+LINE %d+:.*$", ""):gsub("%s+", " ")
    for name, why in pairs(broken) do
      if message:find(name, 1, true) then return nil, fault.new("bad-input", why, { where = ("%s/%s.parquet"):format(request.folder, name) }) end
    end
    return nil, fault.new("usage", message)
  end
  return { sql = rows, path = request.folder }
end

return work
