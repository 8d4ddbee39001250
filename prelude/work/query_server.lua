-- SPDX-License-Identifier: MIT
-- work.query_server: the worker job behind `nkiln query NAME SQL --via server`: neuron-explorer's own API answers.
--
-- request: { url=, name=display name of the profile, sql= | tables=bool | schema=TABLE, limit=, seconds= }
-- result: { sql = {columns, rows, more} }, or { raw = JSON text } when the answer has a shape that is not known.
-- GET /api/v1/health must say "healthy"; POST /api/v1/db/NAME/_search asks. Its requests are documented in AWS's own skill, its
-- answers are not: lists of objects, {columns, rows} and {data = ...} are understood. nil, err otherwise.

local fault <const> = require "fault"
local http <const> = require "rt.http"
local json <const> = require "rt.json"

local work <const> = {}

local function percent(text) return (text:gsub("[^%w%-%._~]", function(c) return ("%%%02X"):format(c:byte()) end)) end

local function reach(request, what)
  local answer <const>, err <const> = http.request(what)
  if answer then return answer end
  local hint = "neuron-explorer view -n N.neff -s P.ntff --display-name NAME --disable-ui starts it"
  local message = ("no answer from %s (%s)"):format(request.url, err.message)
  if err.code == "missing" then message, hint = "libcurl is not on this machine", "install it, or use --via duckdb over the Parquet folder" end
  if err.code == "timeout" then message, hint = ("%s did not answer within %g seconds"):format(request.url, request.seconds), "--seconds N gives it more" end
  if err.code == "too_large" then message, hint = "the answer is too large", "select less, or use --via duckdb over the Parquet folder" end
  if err.code == "usage" then message, hint = err.message, "as in --url http://localhost:3002" end
  return nil, fault.new(err.code == "missing" and "missing" or err.code == "usage" and "usage" or "unavailable", message, { hint = hint })
end

-- A value as it goes into a row: NULL is false, what is nested is its JSON text.
local function cell(value)
  if value == nil or value == json.null then return false end
  if type(value) == "table" then return json.encode(value, { sort = true, nonfinite = "null" }) end
  return value
end

-- Rows of an answer, whatever its shape; nil when it is none that is known.
function work.rows(value, limit)
  if type(value) ~= "table" then return nil end
  for _, key in ipairs { "data", "results", "result", "rows" } do
    if type(value[key]) == "table" and not (key == "rows" and value.columns) then
      if type(value.columns) == "table" and key == "data" then return work.rows({ columns = value.columns, rows = value.data }, limit) end
      return work.rows(value[key], limit)
    end
  end
  local out <const> = { columns = {}, rows = {}, more = false }
  local list = value
  if type(value.columns) == "table" and type(value.rows) == "table" then
    for i, column in ipairs(value.columns) do out.columns[i] = tostring(type(column) == "table" and (column.name or column.column_name) or column) end
    list = value.rows
  elseif #value == 0 and next(value) ~= nil then
    return nil
  end
  local known <const> = #out.columns > 0
  local index <const> = {}
  for i, name in ipairs(out.columns) do index[name] = i end
  for k, row in ipairs(list) do
    if limit and k > limit then
      out.more = true
      break
    end
    if type(row) ~= "table" then row = { value = row } end
    local made <const> = {}
    if known and #row > 0 then
      for i = 1, #out.columns do made[i] = cell(row[i]) end
    else
      local keys <const> = {}
      for key in pairs(row) do keys[#keys + 1] = tostring(key) end
      table.sort(keys)
      for _, key in ipairs(keys) do
        if not index[key] and not known then
          out.columns[#out.columns + 1] = key
          index[key] = #out.columns
        end
      end
      for key, i in pairs(index) do made[i] = cell(row[key]) end
    end
    out.rows[k] = made
  end
  for _, row in ipairs(out.rows) do
    for i = 1, #out.columns do
      if row[i] == nil then row[i] = false end
    end
  end
  return out
end

function work.run(request)
  local url <const> = request.url:gsub("/+$", "")
  local health <const>, dead <const> = reach(request, { url = url .. "/api/v1/health", seconds = math.min(request.seconds, 10), limit = 65536 })
  if not health then return nil, dead end
  if not health.body:find("healthy", 1, true) then
    return nil, fault.new("unavailable", ("%s is no neuron-explorer that is healthy (status %d)"):format(url, health.status))
  end
  local body = { type = "databaseExplorerQuery", tableName = request.sql and request.sql:match("[Ff][Rr][Oo][Mm]%s+\"?([%w_]+)") or "Summary",
    query = request.sql }
  if request.tables then body = { type = "listDbFiles" } end
  if request.schema then body = { type = "tableSchema", tableName = request.schema } end
  local answer <const>, err <const> = reach(request, {
    url = ("%s/api/v1/db/%s/_search"):format(url, percent(request.name)), method = "POST", body = json.encode(body, { sort = true }),
    headers = { "Content-Type: application/json", "Accept: application/json" }, seconds = request.seconds, limit = 256 << 20,
  })
  if not answer then return nil, err end
  local value <const> = json.decode(answer.body)
  if answer.status >= 400 then
    local words = type(value) == "table" and (value.error or value.message) or answer.body:sub(1, 200)
    if type(words) == "table" then words = words.message or json.encode(words) end
    return nil, fault.new(answer.status >= 500 and "failed" or "usage", ("neuron-explorer answers %d: %s"):format(answer.status, tostring(words)),
      { hint = answer.status == 404 and ("is %s the profile's display name?"):format(request.name) or nil })
  end
  if value == nil then return nil, fault.new("failed", "neuron-explorer's answer is no JSON: " .. answer.body:sub(1, 100)) end
  local rows <const> = work.rows(value, request.limit)
  if not rows then return { raw = answer.body } end
  return { sql = rows }
end

return work
