-- SPDX-License-Identifier: MIT
-- work.query_pandas: the worker job behind `nkiln query P.db SCRIPT.py --via pandas`: a script of one's own over the profile.
--
-- request: { path=profile, script=, limit=, seconds=, python= }
-- result: { sql = {columns, rows, more}, printed = what the script printed }. nil, err: no Python with pandas (code "missing"), or
-- the script failed: the last line of its traceback, with the script's line.
-- The script runs in a confined Python child that may read the profile's folder and its own, and write nothing. It finds:
--   table(NAME)    a DataFrame of a table           tables    their names
--   query(SQL)     a DataFrame of a query           profile   the sqlite3 connection, read-only
-- and leaves its answer in `result`: a DataFrame, a Series, a dictionary, a list, or one value.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"

local work <const> = {}

-- The script's own prints go to stderr, so that stdout holds the answer alone.
work.harness = [==[
import json, os, sqlite3, sys
path, script, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path[:] = [p for p in sys.path if p not in ("", ".")] + [os.path.dirname(script)]
import pandas
profile = sqlite3.connect("file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro&immutable=1", uri=True)
tables = [row[0] for row in profile.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
def query(sql, params=None):
    return pandas.read_sql_query(sql, profile, params=params)
def table(name):
    if name not in tables:
        raise KeyError("the profile has no table %s; it has %s" % (name, ", ".join(tables)))
    return query('SELECT * FROM "%s"' % name.replace('"', '""'))
space = {"__name__": "__main__", "__file__": script, "pd": pandas, "profile": profile, "tables": tables, "table": table, "query": query}
with open(script, "rb") as file:
    exec(compile(file.read(), script, "exec"), space)
value = space.get("result")
if value is None:
    sys.exit("nkiln: the script left nothing in `result`")
if isinstance(value, pandas.Series):
    value = value.to_frame().reset_index()
if isinstance(value, dict):
    value = [value]
if not isinstance(value, pandas.DataFrame):
    value = pandas.DataFrame(value if isinstance(value, (list, tuple)) else [{"result": value}])
elif value.index.names != [None]:
    value = value.reset_index()
more = bool(limit) and len(value) > limit
if more:
    value = value.head(limit)
body = json.loads(value.to_json(orient="split", double_precision=15, date_format="iso"))
answer.write(json.dumps({"columns": [str(c) for c in body["columns"]], "rows": body["data"], "more": more}))
answer.close()
]==]

local function missing_file(path, what)
  local st <const> = fs.stat(path)
  if st and st.type == "file" then return nil end
  return fault.new("not-found", ("there is no %s"):format(what), { where = path })
end

-- The last line of a traceback, with the line of the script.
local function failure(result, script)
  local text <const> = result.stderr or ""
  local last <const> = text:match("([^\n]+)%s*$") or ("the script ended with status " .. tostring(result.status))
  local plain <const> = last:match("^nkiln: (.*)$")
  if plain then return fault.new("bad-input", plain, { where = script, hint = "result = table(\"Summary\") would do" }) end
  local line
  for at in text:gmatch('File "' .. script:gsub("%p", "%%%0") .. '", line (%d+)') do line = at end
  return fault.new("bad-input", last, { where = line and ("%s:%s"):format(script, line) or script })
end

function work.run(request, job)
  local bad <const> = missing_file(request.script, "script") or missing_file(request.path, "profile")
  if bad then return nil, bad end
  local result <const>, err <const> = job.call("run_python", {
    modules = { "pandas" }, seconds = request.seconds,
    arguments = { "-B", "-c", work.harness, request.path, request.script, tostring(request.limit or 0) },
  })
  if not result then
    if err.code == "timeout" then return nil, fault.new("failed", ("the script did not end within %g seconds"):format(request.seconds),
      { hint = "--seconds N gives it more" }) end
    return nil, err
  end
  if result.status ~= 0 then return nil, failure(result, request.script) end
  local value <const> = json.decode(result.stdout)
  if type(value) ~= "table" or type(value.columns) ~= "table" then
    return nil, fault.new("failed", "the script's answer could not be read", { where = request.script })
  end
  for _, row in ipairs(value.rows) do
    for i = 1, #value.columns do
      local v <const> = row[i]
      if v == nil or v == json.null then
        row[i] = false
      elseif type(v) == "table" then
        row[i] = json.encode(v)
      elseif type(v) == "boolean" then
        row[i] = v and "true" or "false"
      end
    end
  end
  local printed <const> = result.stderr ~= "" and result.stderr or nil
  return { sql = { columns = value.columns, rows = value.rows, more = value.more }, path = request.path, printed = printed }
end

return work
