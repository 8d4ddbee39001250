-- SPDX-License-Identifier: MIT
-- work.query_duckdb: the worker job behind `nkiln query FOLDER SQL --via duckdb`: neuron-explorer's Parquet files, asked as they are.
--
-- request: { folder=, sql= | tables=bool | schema=TABLE, limit=, library=path of libduckdb or nil, memory= }
-- result: { sql = {columns, rows, more} }. Each TABLE.parquet (or TABLE_0.parquet, TABLE_1.parquet ...) is a view. DuckDB may read
-- the folder and nothing else. nil, err: code "missing" where there is no DuckDB.

local duckdb <const> = require "rt.duckdb"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local work <const> = {}

local function quote(text) return "'" .. text:gsub("'", "''") .. "'" end

-- { TABLE = { files } } of a folder.
function work.files(folder)
  local names <const>, err <const> = fs.list(folder)
  if not names then return nil, fault.new(err.code or "not-found", "the folder cannot be read", { where = folder }) end
  local out <const> = {}
  for _, name in ipairs(names) do
    local stem <const> = name:match("^(%a[%w]*)%.parquet$") or name:match("^(%a[%w]*)_%d+%.parquet$")
    if stem then
      out[stem] = out[stem] or {}
      table.insert(out[stem], folder .. "/" .. name)
    end
  end
  if not next(out) then
    return nil, fault.new("bad-input", "this folder has no Parquet files of a profile", {
      where = folder, hint = "neuron-explorer writes them to DATA-PATH/profiles/global/NAME@latest/",
    })
  end
  return out
end

function work.run(request)
  local files <const>, none <const> = work.files(request.folder)
  if not files then return nil, none end
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
  local names <const>, broken <const> = {}, {}
  for name in pairs(files) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    table.sort(files[name])
    local list <const> = {}
    for i, path in ipairs(files[name]) do list[i] = quote(path) end
    local made <const>, why <const> = d:exec(('CREATE VIEW "%s" AS SELECT * FROM read_parquet([%s])'):format(name, table.concat(list, ", ")))
    if not made then broken[name] = why.message end
  end
  local sql = request.sql
  if request.tables then
    local parts <const> = {}
    for _, name in ipairs(names) do
      if not broken[name] then
        parts[#parts + 1] = ('SELECT %s AS "table", (SELECT count(*) FROM "%s") AS rows, (SELECT count(*) FROM pragma_table_info(%s)) AS columns')
          :format(quote(name), name, quote(name))
      end
    end
    if #parts == 0 then
      local name <const>, why <const> = next(broken)
      return nil, fault.new("bad-input", why, { where = request.folder .. "/" .. name .. ".parquet" })
    end
    sql = table.concat(parts, " UNION ALL ") .. " ORDER BY 1"
  elseif request.schema then
    sql = ('SELECT name AS "column", type FROM pragma_table_info(%s)'):format(quote(request.schema))
  end
  local rows <const>, failed <const> = d:select(sql, request.limit or 0)
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
