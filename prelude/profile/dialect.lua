-- SPDX-License-Identifier: MIT
-- profile.dialect: SQL as people write it for neuron-explorer, which is DuckDB's, turned into what SQLite understands.
--
-- translate(sql) -> sql | nil, err. What becomes something else, token by token, strings and comments left alone:
--   a / b            a * 1.0 / b     DuckDB divides integers to fractions; SQLite would cut them off
--   a // b           a / b           that is DuckDB's whole division
--   x::TYPE          CAST(x AS TYPE)
--   a ILIKE b        a MATCH b       match() of sqlfn.h; LIKE itself minds the case, as there
--   1_000_000        1000000
--   FROM 'dir/T.parquet', read_parquet('dir/T*.parquet')     FROM T
-- What SQLite has nothing for (QUALIFY, PIVOT, UNNEST, lists, EXCLUDE, DISTINCT ON ...) ends with an error that names it.

local fault <const> = require "fault"

local dialect <const> = {}

-- Words that only DuckDB knows, with what to do instead.
local lacking <const> = {
  QUALIFY = "put the window function in a subquery and filter it with WHERE", PIVOT = "use sum(CASE WHEN ... END) per column",
  UNPIVOT = "use UNION ALL", UNNEST = "lists are JSON text here: json_each() takes them apart", ASOF = "join on the greatest earlier time",
  POSITIONAL = "join on row_number()", SUMMARIZE = "use --schema TABLE and aggregates", DESCRIBE = "use --schema TABLE", SHOW = "use --tables",
  EXCLUDE = "name the columns", TABLESAMPLE = "use WHERE random() % n = 0", LATERAL = "use a subquery", STRUCT_PACK = "SQLite has no structures",
  STRUCT_EXTRACT = "SQLite has no structures", GENERATE_SERIES = "use WITH RECURSIVE", ARRAY = "SQLite has no lists", COPY = "use --format csv",
  INSTALL = "extensions are not loaded", LOAD = "extensions are not loaded", EPOCH_MS = "times here are integers in ns",
}
-- Functions on lists: list_sum, array_length, list_transform ...
local function list_function(word) return word:find("^list_") or word:find("^array_[^a]") or word:find("^struct_") or word:find("^map_") end

-- Tokens: { kind = "space" | "string" | "name" | "word" | "number" | "op", text = }.
local function tokens(sql)
  local out <const>, at = {}, 1
  local function take(kind, stop)
    out[#out + 1] = { kind = kind, text = sql:sub(at, stop), at = at }
    at = stop + 1
  end
  while at <= #sql do
    local c <const>, two <const> = sql:sub(at, at), sql:sub(at, at + 1)
    if c:find("%s") then
      take("space", select(2, sql:find("^%s+", at)))
    elseif two == "--" then
      take("space", (sql:find("\n", at, true) or #sql + 1) - 1)
    elseif two == "/*" then
      local _, stop <const> = sql:find("*/", at + 2, true)
      if not stop then return nil, "a comment is not closed" end
      take("space", stop)
    elseif c == "'" or c == '"' or c == "`" then
      local stop = at + 1
      while true do
        stop = sql:find(c, stop, true)
        if not stop then return nil, ("the quotation that begins with %s is not closed"):format(sql:sub(at, at + 20)) end
        if sql:sub(stop + 1, stop + 1) ~= c then break end
        stop = stop + 2
      end
      take(c == "'" and "string" or "name", stop)
    elseif sql:find("^[%a_\x80-\xff]", at) then
      take("word", select(2, sql:find("^[%w_$\x80-\xff]+", at)))
    elseif sql:find("^%.?%d", at) then
      local _, stop = sql:find("^[%d_]*%.?[%d_]*", at)
      local _, exponent <const> = sql:find("^[eE][+-]?%d+", stop + 1)
      take("number", exponent or stop)
    elseif two == "::" or two == "//" or two == "||" or two == "<>" or two == "!=" or two == "<=" or two == ">=" or two == "->" or two == "==" then
      take("op", at + 1)
    else
      take("op", at)
    end
  end
  return out
end

local function significant(list, from, step)
  local i = from + step
  while list[i] and (list[i].kind == "space" or list[i].text == "") do i = i + step end
  return list[i], i
end

-- Where the operand that ends at token `i` begins: a literal, a name with its dots, or parentheses with a function's name.
local function operand_start(list, i)
  local first = i
  if list[i].text == ")" then
    local depth = 0
    while first >= 1 do
      if list[first].text == ")" and list[first].kind == "op" then depth = depth + 1 end
      if list[first].text == "(" and list[first].kind == "op" then
        depth = depth - 1
        if depth == 0 then break end
      end
      first = first - 1
    end
    if first < 1 then return nil end
    local before <const> = list[first - 1]
    if before and before.kind == "word" then first = first - 1 end
  end
  while list[first - 1] and list[first - 1].text == "." and list[first - 2] and (list[first - 2].kind == "word" or list[first - 2].kind == "name") do
    first = first - 2
  end
  return first
end

-- "x :: TYPE(p, s)" at token i: rewritten in place.
local function rewrite_cast(list, i)
  local _, last <const> = significant(list, i, -1)
  local type_token <const>, type_at <const> = significant(list, i, 1)
  if not list[last] or not type_token or type_token.kind ~= "word" then return nil, ":: must stand between a value and a type" end
  local first <const> = operand_start(list, last)
  if not first then return nil, ":: follows a parenthesis that is not opened" end
  local stop = type_at
  if list[type_at + 1] and list[type_at + 1].text == "(" then
    while list[stop] and list[stop].text ~= ")" do stop = stop + 1 end
    if not list[stop] then return nil, "the type after :: is not closed" end
  end
  if list[stop + 1] and list[stop + 1].text == "[" then return nil, "SQLite has no lists", true end
  local name <const> = type_token.text:upper()
  local affinity = "NUMERIC"
  if name:find("INT") or name:find("^BOOL") then affinity = "INTEGER" end
  if name:find("CHAR") or name == "TEXT" or name == "STRING" then affinity = "TEXT" end
  if name == "DOUBLE" or name:find("FLOAT") or name == "REAL" or name == "DECIMAL" then affinity = "REAL" end
  local parts <const> = {}
  for k = first, last do parts[#parts + 1] = list[k].text end
  for k = first + 1, stop do list[k].text, list[k].kind = "", "space" end
  -- One token from here on, so that a cast may follow a cast.
  list[first].text, list[first].kind = ("CAST(%s AS %s)"):format(table.concat(parts), affinity), "cast"
  return true
end

local function lacks(word, hint)
  return nil, fault.new("usage", ("SQLite, which holds the profile, has no %s"):format(word), { hint = hint .. ", or --via duckdb over the Parquet folder" })
end

-- Whether a word of `lacking` stands where DuckDB's grammar has it, rather than as somebody's name for a column.
local function is_used(upper, before, after)
  if not after or before and before.text:upper() == "AS" then return false end
  if upper == "ARRAY" then return after.text == "[" end
  if before and (upper == "SHOW" or upper == "COPY" or upper == "LOAD" or upper == "INSTALL" or upper == "DESCRIBE") then return false end
  return after.text == "(" or after.kind == "word" or after.kind == "string" or after.kind == "number" or after.kind == "name"
end

function dialect.translate(sql)
  local list <const>, err <const> = tokens(sql)
  if not list then return nil, fault.new("usage", err) end
  for i, token in ipairs(list) do
    if token.kind == "word" then
      local upper <const> = token.text:upper()
      local before <const>, after <const>, after_at = significant(list, i, -1), significant(list, i, 1)
      local call <const> = after and after.text == "("
      local qualified <const> = before and before.text == "."
      if not qualified and lacking[upper] and is_used(upper, before, after) then
        return lacks(token.text, lacking[upper])
      elseif call and list_function(token.text:lower()) then
        return lacks(token.text .. "()", "lists are JSON text here: json_each() takes them apart")
      elseif upper == "ALL" and before and before.text:upper() == "BY" then
        return lacks("BY ALL", "name the columns")
      elseif upper == "ON" and before and before.text:upper() == "DISTINCT" and call then
        return lacks("DISTINCT ON", "use row_number() in a subquery")
      elseif (upper == "LEFT" or upper == "RIGHT") and call then
        token.text = '"' .. token.text:lower() .. '"' -- joins have taken the word
      elseif upper == "ILIKE" then
        token.text = "MATCH"
      elseif upper == "READ_PARQUET" and call then
        local file <const>, file_at <const> = significant(list, after_at, 1)
        local close <const>, close_at <const> = significant(list, file_at, 1)
        local name <const> = file and file.kind == "string" and file.text:match("([%w]+)_?[%d*]*%.parquet'$")
        if not name or not close or close.text ~= ")" then
          return nil, fault.new("usage", "read_parquet() reads one table's files here, as in read_parquet('dir/Instruction.parquet')",
            { hint = "or --via duckdb" })
        end
        for k = i, close_at do list[k].text = "" end
        token.text = name
      end
    elseif token.kind == "string" then
      local before <const> = significant(list, i, -1)
      local name <const> = before and (before.text:upper() == "FROM" or before.text:upper() == "JOIN") and token.text:match("([%w]+)_?[%d*]*%.parquet'$")
      if name then token.text = name end
    elseif token.kind == "number" then
      token.text = token.text:gsub("_", "")
    elseif token.kind == "op" then
      if token.text == "/" then
        token.text = "*1.0/"
      elseif token.text == "//" then
        token.text = "/"
      elseif token.text == "::" then
        local done <const>, why <const>, no_lists <const> = rewrite_cast(list, i)
        if no_lists then return lacks("lists", "cast to another type") end
        if not done then return nil, fault.new("usage", why) end
      elseif token.text == "[" then
        local before <const> = significant(list, i, -1)
        return lacks("lists ([...])", before and (before.text == "," or before.text == "(") and "ask for one value at a time" or "use json_extract()")
      elseif token.text == "->" then
        return lacks("lambdas (x -> ...)", "write the expression out")
      end
    end
  end
  local out <const> = {}
  for i, token in ipairs(list) do out[i] = token.text end
  return table.concat(out)
end

return dialect
