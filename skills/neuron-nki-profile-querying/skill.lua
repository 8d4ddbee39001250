-- SPDX-License-Identifier: MIT
-- The profile-querying skill: SQL and analysis on a profile database, in a worker process.

local show <const> = require "profile.show"

local investigations <const> = { "dma", "reloads", "transposes", "tensor", "pipeline", "vector", "scalar", "gpsimd", "all" }

local lists <const> = {
  bounds = true, gaps = true, engines = true, notes = true, findings = true, lines = true, tensors = true, differences = true, explained = true,
  columns = true, rows = true,
}

-- Lists stay lists when they are empty, and NULL, which is false in the rows of a worker's answer, is null.
local function for_json(ctx, value)
  for key, item in pairs(value) do
    if type(item) == "table" then
      if lists[key] then ctx.json.array(item) end
      for_json(ctx, item)
    end
  end
  return value
end

local function rows_for_json(ctx, result)
  for _, row in ipairs(result.rows) do
    for i = 1, #result.columns do
      if row[i] == false then row[i] = ctx.json.null end
    end
    ctx.json.array(row)
  end
end

-- --format json: a list of objects, as DuckDB's command writes it.
local function objects(ctx, result)
  local out <const> = ctx.json.array {}
  for k, row in ipairs(result.rows) do
    out[k] = {}
    for i, name in ipairs(result.columns) do
      local value = row[i]
      if value == false then value = ctx.json.null end
      out[k][name] = value
    end
  end
  return ctx.json.encode(out, { indent = 2, nonfinite = "null", utf8 = "replace" }) .. "\n"
end

local function finish(ctx, args, result)
  result.ok, result.format = true, args.format
  if result.sql and result.sql.more then ctx.log(("stopped after %d rows; --limit 0 gives all"):format(#result.sql.rows)) end
  if result.raw then
    result.text = result.raw
  elseif result.sql and args.format == "json" and not ctx.json_output then
    result.text = objects(ctx, result.sql)
  elseif ctx.json_output then
    if result.sql then rows_for_json(ctx, result.sql) end
    for_json(ctx, result)
  end
  return result
end

-- DuckDB's own command, where its library is not here. It is given the same settings, and runs confined to the folder.
local function ask_duckdb_command(ctx, request, err, seconds)
  local work <const> = require "work.query_duckdb"
  if err.code ~= "missing" or not ctx.proc.which("duckdb") then return nil, err end
  local script <const>, why <const> = work.script(request, ctx.fs.list)
  if not script then return nil, why end
  local answer <const>, failed <const> = ctx.proc.run({ "duckdb", "-json", ":memory:" }, { cwd = request.folder, input = script,
    seconds = seconds, limit = 256 << 20 })
  if not answer then return nil, failed end
  if answer.status ~= 0 or answer.stderr:find("Error", 1, true) then
    local line <const> = (answer.stderr:match("[^\n]*Error[^\n]*") or "duckdb failed"):gsub("%s+", " ")
    return ctx.fail("usage", line)
  end
  return work.answer(answer.stdout, request)
end

-- The other ways in: neuron-explorer's Parquet files, its API, a script with pandas. Returns the worker's answer or nil, err.
local function ask_elsewhere(ctx, args)
  local limit <const> = args.limit > 0 and args.limit or nil
  local path <const> = ctx.fs.absolute(args.profile)
  for _, key in ipairs { "bounds", "investigate", "lines", "compare", "window", "core", "explain" } do
    if args[key] then
      return ctx.fail("usage", ("--%s needs a profile database, --via %s asks something else"):format(key, args.via),
        { hint = "nkiln profile --import FOLDER -o p.db makes one of Parquet files" })
    end
  end
  if not args.sql and (args.via == "pandas" or not (args.tables or args.schema)) then
    return ctx.fail("usage", args.via == "pandas" and "--via pandas needs a script: nkiln query P.db SCRIPT.py --via pandas"
      or "SQL, --tables or --schema is needed")
  end
  if args.via == "duckdb" then
    local st <const>, err <const> = ctx.fs.stat(path)
    if not st then return nil, err end
    if st.type ~= "directory" then
      return ctx.fail("bad-input", "--via duckdb asks a folder of Parquet files", { where = args.profile, hint = "a profile database answers without --via" })
    end
    local library <const> = args.library and ctx.fs.absolute(args.library)
    local request <const> = { folder = path, sql = args.sql, tables = args.tables, schema = args.schema, limit = limit, library = library }
    local answer <const>, missing <const> = ctx.job("work.query_duckdb", request,
      { read = { path, library and library:match("^(.*)/[^/]*$") or nil }, memory = 4 << 30, steps = 0, seconds = args.seconds })
    if answer or library then return answer, missing end
    return ask_duckdb_command(ctx, request, missing, args.seconds)
  elseif args.via == "server" then
    local host <const> = args.url:match("^%a+://%[?([^/:%]]+)") or args.url
    return ctx.job("work.query_server", {
      url = args.url, name = args.profile, sql = args.sql, tables = args.tables, schema = args.schema, limit = limit, seconds = args.seconds,
    }, { net = { host }, memory = 2 << 30, steps = 0, seconds = args.seconds + 15 })
  end
  local script <const> = ctx.fs.absolute(args.sql)
  return ctx.job("work.query_pandas", { path = path, script = script, limit = limit, seconds = args.seconds, python = args.python },
    { read = { path:match("^(.*)/[^/]*$"), script:match("^(.*)/[^/]*$") }, memory = 2 << 30, steps = 0, seconds = args.seconds + 15 })
end

return skill {
  name = "neuron-nki-profile-querying",
  alias = "query",
  description = "Ask a profile of an NKI kernel questions: SQL on neuron-explorer's tables, performance bounds with the bottleneck engine, investigations that "
    .. "name the source lines that cost time, time and bytes per source line, and a comparison of two profiles. Use it after nkiln profile, or on an imported "
    .. "capture, to find out why a kernel is slow.",
  params = {
    path("profile", "the profile database", { metavar = "P.db" }),
    text("sql", "a SELECT, in the SQL that is written for neuron-explorer (DuckDB's)", { optional = true, positional = true }),
    flag("bounds", "performance bounds, gaps, bottleneck engine"),
    choice("investigate", investigations, nil, "look for one cause, or for all", { optional = true }),
    flag("lines", "time per engine, bytes, descriptors and instructions of each source line"),
    path("compare", "a second profile, of the changed kernel: every bound and line that moved", { optional = true, metavar = "AFTER.db" }),
    flag("anyway", "compare profiles of unlike runs, too"),
    flag("tables", "list the tables"),
    text("schema", "list a table's columns with their units", { optional = true, metavar = "TABLE" }),
    flag("explain", "also print SQL that gives the same figures"),
    text("window", "only this part, from the profile's start, in ns unless us or ms is said", { optional = true, metavar = "T0:T1" }),
    integer("core", "only this physical core", { optional = true, min = 0 }),
    choice("format", { "table", "csv", "json" }, "table", "how rows are printed"),
    integer("limit", "rows at most, 0 for all", { default = 10000, min = 0 }),
    number("seconds", "time the answer may take", { default = 120, min = 0.01, max = 86400 }),
    choice("via", { "duckdb", "server", "pandas" }, nil,
      "ask a folder of Parquet files, neuron-explorer's API (PROFILE is the display name), or a script (SQL is its file)", { optional = true }),
    text("url", "where neuron-explorer answers", { default = "http://localhost:3002" }),
    path("library", "libduckdb.so, where it is not among the system's libraries", { optional = true }),
    text("python", "the Python for --via pandas", { optional = true }),
    choice("dialect", { "duckdb", "sqlite" }, "duckdb", "sqlite takes the SQL as it is"),
  },
  permits = { read = { "." }, run = { "duckdb" }, net = { "localhost", "127.0.0.1", "::1" } },
  examples = {
    "nkiln query p.db --bounds --investigate all", "nkiln query p.db \"SELECT engine, opcode, count(*), sum(duration_ns) FROM Instruction GROUP BY 1, 2\"",
    "nkiln query before.db --compare after.db",
  },
  run = function(ctx, args)
    local asked <const> = args.sql or args.investigate or args.lines or args.compare or args.tables or args.schema
    if not asked and not args.via then args.bounds = true end
    local questions = 0
    for _, key in ipairs { "sql", "tables", "schema", "compare" } do questions = questions + (args[key] and 1 or 0) end
    if questions > 1 or questions == 1 and not args.compare and (args.bounds or args.investigate or args.lines) then
      return ctx.fail("usage", "one question at a time: SQL, --tables, --schema, --compare, or --bounds, --investigate and --lines together")
    end
    if args.compare and args.window then return ctx.fail("usage", "--window belongs to one profile: a comparison is of whole kernels") end
    if args.sql and not args.sql:find("%S") then return ctx.fail("usage", "the SQL is empty") end
    if args.via then
      local answer <const>, failed <const> = ask_elsewhere(ctx, args)
      if not answer then return nil, failed end
      if answer.printed then ctx.log((answer.printed:gsub("%s+$", ""))) end
      return finish(ctx, args, answer)
    end
    local path <const> = ctx.fs.absolute(args.profile)
    local folders <const> = { path:match("^(.*)/[^/]*$") }
    local other <const> = args.compare and ctx.fs.absolute(args.compare)
    if other then folders[#folders + 1] = other:match("^(.*)/[^/]*$") end
    local result <const>, err <const> = ctx.job("work.query", {
      path = path, sql = args.sql, bounds = args.bounds, investigate = args.investigate, lines = args.lines, compare = other, anyway = args.anyway,
      tables = args.tables, schema = args.schema, explain = args.explain, window = args.window, core = args.core,
      limit = args.limit > 0 and args.limit or nil, seconds = args.seconds, dialect = args.dialect,
    }, { read = folders, memory = 4 << 30, steps = 0, seconds = args.seconds * 3 + 10 })
    if not result then return nil, err end
    return finish(ctx, args, result)
  end,
  text = function(result, style)
    if result.text then return result.text end
    if result.sql then return show.rows(result.sql, result.format, style) end
    local out <const> = {}
    if result.identity and not result.comparison then out[#out + 1] = show.identity(result.identity, style) end
    for _, b in ipairs(result.bounds or {}) do out[#out + 1] = show.bounds(b, style, #result.bounds > 1) end
    for _, f in ipairs(result.findings or {}) do out[#out + 1] = show.finding(f, style) end
    if result.lines_core then out[#out + 1] = ("core %d (--core N for another)"):format(result.lines_core) end
    if result.lines then out[#out + 1] = show.lines(result.lines, style) end
    if result.comparison then out[#out + 1] = show.comparison(result.comparison, style) end
    for _, q in ipairs(result.explained or {}) do out[#out + 1] = style.dim("-- " .. q.name) .. "\n" .. q.sql .. ";" end
    return table.concat(out, "\n\n")
  end,
}
