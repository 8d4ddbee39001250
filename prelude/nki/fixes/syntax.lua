-- SPDX-License-Identifier: MIT
-- Repairs of text that is not Python yet: a bracket, a colon or a quote that is missing, a line indented as no other. They work
-- on the text alone (there is no tree); each is a candidate that whoever shows it tries first.
--
--   syntax.repairs(err, source) -> list of {title=, edits=}     err: {message=, line=, column= in bytes, end_column=}

local syntax <const> = {}

local CLOSER <const> = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- Where a line's code ends: before a comment and the blanks in front of it. Returns the code and the column after it.
local function code_of(text)
  local quote, at = nil, 1
  while at <= #text do
    local c <const> = text:sub(at, at)
    if quote then
      if c == "\\" then at = at + 1 elseif c == quote then quote = nil end
    elseif c == '"' or c == "'" then
      quote = c
    elseif c == "#" then
      break
    end
    at = at + 1
  end
  local code <const> = text:sub(1, at - 1):gsub("%s+$", "")
  return code, #code + 1
end

local function add(list, title, edits) list[#list + 1] = { title = title, edits = edits } end

local function never_closed(list, err, source, opener)
  local closer <const> = CLOSER[opener]
  for line = err.line, math.min(err.line + 6, source:lines()) do
    local text <const> = source:line(line) or ""
    local code, column = code_of(text)
    if code:find("%S") then
      local colon <const> = code:match("^%s*(%a+)")
      if code:sub(-1) == ":" and (colon == "def" or colon == "if" or colon == "for" or colon == "while" or colon == "with" or colon == "elif") then
        column = column - 1
      end
      add(list, ("close the `%s` with `%s`"):format(opener, closer), { source.insert(line, column, closer) })
      -- f(a, g(b) -> both ends of a call are open where one bracket more is: the next lines are tried as well.
    end
  end
end

local function indentation(list, err, source)
  local text <const> = source:line(err.line) or ""
  local have <const> = text:match("^[ \t]*")
  local tried <const> = { [have] = true }
  local function offer(indent)
    if tried[indent] then return end
    tried[indent] = true
    add(list, "indent this line as the one above", { { line = err.line, column = 1, end_line = err.line, end_column = #have + 1, text = indent } })
  end
  for line = err.line - 1, math.max(1, err.line - 60), -1 do
    local above <const> = source:line(line) or ""
    if above:find("%S") then
      local indent <const> = source:indent(line)
      if code_of(above):sub(-1) == ":" then offer(indent .. (indent:find("\t") and "\t" or "    ")) end
      offer(indent)
    end
  end
end

local function missing_block(list, err, source)
  local header <const> = tonumber(err.message:match("on line (%d+)"))
  if not header then return end
  local outer <const> = source:indent(header)
  local step <const> = outer:find("\t") and "\t" or "    "
  local edits <const> = {}
  for line = err.line, source:lines() do
    local text <const> = source:line(line) or ""
    if not text:find("%S") or #source:indent(line) < #outer then break end
    edits[#edits + 1] = source.insert(line, 1, step)
    if #edits == 1 then add(list, "indent the line", { edits[1] }) end
  end
  if #edits > 1 then table.insert(list, 1, { title = "indent the block", edits = edits }) end
end

function syntax.repairs(err, source)
  local list <const> = {}
  local message <const>, line <const>, column <const> = err.message or "", err.line, err.column
  if not line or not column then return list end
  local text <const> = source:line(line) or ""
  local opener <const> = message:match("^'([%(%[{])' was never closed")
  if opener then
    never_closed(list, err, source, opener)
  elseif message:find("^expected ':'") then
    local _, after <const> = code_of(text)
    add(list, "put the `:` there", { source.insert(line, after, ":") })
  elseif message:find("^unmatched") then
    add(list, "take the bracket away", { { line = line, column = column, end_line = line, end_column = column + 1, text = "" } })
  elseif message:find("unindent does not match", 1, true) or message:find("^unexpected indent") then
    indentation(list, err, source)
  elseif message:find("^expected an indented block") then
    missing_block(list, err, source)
  elseif message:find("Maybe you meant '=='", 1, true) then
    local at <const> = text:find("[^=!<>:]=[^=]", column)
    if at then add(list, "compare with `==`", { { line = line, column = at + 1, end_line = line, end_column = at + 2, text = "==" } }) end
  elseif message:find("^unterminated string literal") or message:find("^unterminated f%-string") then
    add(list, "close the text", { source.insert(line, #text + 1, text:sub(column):match("^%a*(['\"])") or '"') })
  end
  return list
end

return syntax
