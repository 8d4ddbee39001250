-- SPDX-License-Identifier: MIT
-- frontmatter: the YAML block between two "---" lines at the head of a SKILL.md or agent file.
--
-- A small, tolerant reader: mappings, lists, block scalars, quoted and plain scalars, flow lists and maps; every scalar is
-- a string. It keeps whatever it can and reports every problem as {line=, column=, severity=, message=}; it never raises.
-- One bad field does not cost the good ones.

local frontmatter <const> = {}

frontmatter.LIMIT = 65536 -- bytes between the two markers

local function reader(lines, first_line)
  local state <const> = { lines = lines, at = 1, first = first_line, problems = {} }
  function state.problem(index, column, severity, message)
    state.problems[#state.problems + 1] = { line = state.first + index - 1, column = column, severity = severity, message = message }
  end
  return state
end

local function indent_of(line) return #line:match("^ *") end
local function blank(line) return not line:find("%S") or line:find("^%s*#") ~= nil end

local escapes <const> = {
  n = "\n", t = "\t", r = "\r", ["0"] = "\0", a = "\a", b = "\b", e = "\27", f = "\f", v = "\v", ['"'] = '"', ["/"] = "/", ["\\"] = "\\", [" "] = " ",
  N = "\u{85}", _ = "\u{a0}", L = "\u{2028}", P = "\u{2029}",
}

local function unescape(text, bad)
  local out <const> = {}
  local i = 1
  while i <= #text do
    local c <const> = text:sub(i, i)
    if c ~= "\\" then
      local stop <const> = text:find("\\", i, true) or #text + 1
      out[#out + 1] = text:sub(i, stop - 1)
      i = stop
    else
      local e <const> = text:sub(i + 1, i + 1)
      local digits <const> = ({ x = 2, u = 4, U = 8 })[e]
      local hex <const> = digits and text:sub(i + 2, i + 1 + digits)
      if hex and #hex == digits and hex:find("^%x+$") and tonumber(hex, 16) <= 0x10FFFF then
        out[#out + 1] = utf8.char(tonumber(hex, 16))
        i = i + 2 + digits
      elseif escapes[e] then
        out[#out + 1] = escapes[e]
        i = i + 2
      else
        bad("unknown escape \\" .. e .. " in a quoted text; kept as it stands")
        out[#out + 1] = "\\" .. e
        i = i + 2
      end
    end
  end
  return table.concat(out)
end

-- Where the closing quote of text (which starts with a quote) is, or nil.
local function closing_quote(text)
  local quote <const> = text:sub(1, 1)
  local i = 2
  while i <= #text do
    local c <const> = text:sub(i, i)
    if quote == '"' and c == "\\" then
      i = i + 2
    elseif c == quote then
      if quote == "'" and text:sub(i + 1, i + 1) == "'" then i = i + 2 else return i end
    else
      i = i + 1
    end
  end
end

local function quoted_value(text, stop, bad)
  local inner <const> = text:sub(2, stop - 1)
  if text:sub(1, 1) == "'" then return (inner:gsub("''", "'")) end
  return unescape(inner, bad)
end

-- Join the lines of a plain or quoted scalar: one line end is a space, an empty line a line end.
local function fold(parts)
  local out = parts[1] or ""
  local empty = 0
  for i = 2, #parts do
    if parts[i] == "" then
      empty = empty + 1
    else
      out = out .. (empty > 0 and ("\n"):rep(empty) or " ") .. parts[i]
      empty = 0
    end
  end
  return out
end

local parse_flow

-- A flow value starting at text[i]; returns value, next position, or nil, reason.
function parse_flow(text, i, bad, depth)
  if depth > 20 then return nil, "nested too deeply" end
  i = text:find("%S", i) or #text + 1
  local c <const> = text:sub(i, i)
  if c == "[" or c == "{" then
    local out <const> = {}
    local close <const> = c == "[" and "]" or "}"
    i = text:find("%S", i + 1) or #text + 1
    while text:sub(i, i) ~= close do
      if i > #text then return nil, "the closing " .. close .. " is missing" end
      local value, after = parse_flow(text, i, bad, depth + 1)
      if value == nil then return nil, after end
      if c == "{" then
        after = text:find("%S", after) or #text + 1
        if text:sub(after, after) ~= ":" then return nil, "a ':' is missing in { }" end
        local item, rest = parse_flow(text, after + 1, bad, depth + 1)
        if item == nil then return nil, rest end
        out[tostring(value)] = item
        after = rest
      else
        out[#out + 1] = value
      end
      i = text:find("%S", after) or #text + 1
      if text:sub(i, i) == "," then
        i = text:find("%S", i + 1) or #text + 1
      elseif text:sub(i, i) ~= close then
        return nil, "the closing " .. close .. " is missing"
      end
    end
    return out, i + 1
  elseif c == '"' or c == "'" then
    local rest <const> = text:sub(i)
    local stop <const> = closing_quote(rest)
    if not stop then return nil, "the closing quote is missing" end
    return quoted_value(rest, stop, bad), i + stop
  end
  local stop = i
  while stop <= #text do
    local ch <const> = text:sub(stop, stop)
    if ch == "," or ch == "]" or ch == "}" or ch == "[" or ch == "{" then break end
    if ch == ":" and (text:sub(stop + 1, stop + 1):find("[%s,%]}]") or stop == #text) then break end
    stop = stop + 1
  end
  local word <const> = text:sub(i, stop - 1):gsub("%s+$", "")
  if word == "" then return nil, "a value is missing" end
  return word, stop
end

-- Lines after `state.at` that continue a scalar of a key at `indent` (deeper indented, or empty before such a line).
local function continuation(state, indent)
  local parts <const> = {}
  while state.at <= #state.lines do
    local line <const> = state.lines[state.at]
    if line:find("^%s*$") then
      local ahead = state.at + 1
      while state.lines[ahead] and state.lines[ahead]:find("^%s*$") do ahead = ahead + 1 end
      if not state.lines[ahead] or indent_of(state.lines[ahead]) <= indent then break end
      parts[#parts + 1] = ""
    elseif indent_of(line) > indent then
      parts[#parts + 1] = (line:gsub("^%s+", ""):gsub("%s+$", ""))
    else
      break
    end
    state.at = state.at + 1
  end
  return parts
end

local function block_scalar(state, header, indent, index)
  local style <const>, flags = header:match("^([|>])([^#]*)")
  flags = flags:gsub("%s+$", "")
  local chomp <const> = flags:match("[-+]")
  local explicit <const> = tonumber(flags:match("%d"))
  if flags:gsub("[-+%d]", "") ~= "" then state.problem(index, 1, "warning", "unknown words after " .. style .. " are ignored: " .. flags) end
  local raw <const> = {}
  local width = explicit and indent + explicit or nil
  while state.at <= #state.lines do
    local line <const> = state.lines[state.at]
    if line:find("^%s*$") then
      raw[#raw + 1] = width and line:sub(width + 1) or ""
    else
      local depth <const> = indent_of(line)
      width = width or depth
      if depth < width or depth <= indent then break end
      raw[#raw + 1] = line:sub(width + 1)
    end
    state.at = state.at + 1
  end
  local trailing = 0
  while #raw > 0 and raw[#raw] == "" do
    raw[#raw] = nil
    trailing = trailing + 1
  end
  local text
  if style == "|" then
    text = table.concat(raw, "\n")
  else
    local pieces <const> = {}
    for i, line in ipairs(raw) do
      if i == 1 then
        pieces[1] = line
      else
        local before <const> = raw[i - 1]
        local more <const> = line:find("^%s") or before:find("^%s")
        if line == "" then
          pieces[#pieces + 1] = "\n"
        elseif before == "" then
          pieces[#pieces + 1] = line
        else
          pieces[#pieces + 1] = (more and "\n" or " ") .. line
        end
      end
    end
    text = table.concat(pieces)
  end
  if #raw == 0 then return "" end
  if chomp == "-" then return text end
  if chomp == "+" then return text .. "\n" .. ("\n"):rep(trailing) end
  return text .. "\n"
end

-- The value written after "key:" (or "- "), which may go on in the following lines.
local function scalar(state, text, indent, index, column)
  local function bad(message) state.problem(index, column, "warning", message) end
  local first <const> = text:sub(1, 1)
  if first == "|" or first == ">" then return block_scalar(state, text, indent, index) end
  if first == '"' or first == "'" then
    local parts <const> = { (text:gsub("%s+$", "")) }
    local whole = parts[1]
    local stop = closing_quote(whole)
    while not stop and state.at <= #state.lines and (indent_of(state.lines[state.at]) > indent or state.lines[state.at]:find("^%s*$")) do
      parts[#parts + 1] = (state.lines[state.at]:gsub("^%s+", ""):gsub("%s+$", ""))
      state.at = state.at + 1
      whole = fold(parts)
      stop = closing_quote(whole)
    end
    if not stop then
      state.problem(index, column, "error", "the closing quote is missing; the text is kept as it stands")
      return whole:sub(2)
    end
    local rest <const> = whole:sub(stop + 1):gsub("^%s+#.*$", "")
    if rest:find("%S") then
      bad("text after the closing quote; the whole is taken as plain text")
      return whole
    end
    return quoted_value(whole, stop, bad)
  end
  if first == "[" or first == "{" then
    local parts <const> = { text }
    local value, after = parse_flow(text, 1, function() end, 1)
    while value == nil and state.at <= #state.lines and indent_of(state.lines[state.at]) > indent do
      parts[#parts + 1] = state.lines[state.at]
      state.at = state.at + 1
      value, after = parse_flow(table.concat(parts, " "), 1, function() end, 1)
    end
    local whole <const> = table.concat(parts, " ")
    if value ~= nil then
      local rest <const> = whole:sub(after):gsub("^%s*#.*$", "")
      if not rest:find("%S") then return value end
      bad("text after the closing bracket; the whole is taken as plain text")
    else
      bad(after .. "; the whole is taken as plain text")
    end
    return fold(parts)
  end
  if first:find("[@`*&!%%]") then bad(("a plain value may not start with %s; put it in quotes"):format(first)) end
  local parts <const> = { (text:gsub("%s+#.*$", ""):gsub("%s+$", "")) }
  for _, part in ipairs(continuation(state, indent)) do parts[#parts + 1] = part end
  local value <const> = fold(parts)
  if value:find(":%s") or value:find(":$") then
    bad("a plain value contains \": \"; other readers drop the whole block, put the value in quotes")
  end
  return value
end

local parse_map, parse_list

-- What follows "key:" on the next lines when nothing stands on its own line.
local function nested(state, indent, depth)
  local ahead = state.at
  while state.lines[ahead] and blank(state.lines[ahead]) do ahead = ahead + 1 end
  local line <const> = state.lines[ahead]
  if not line then return "" end
  local is_item <const> = line:find("^%s*%-%s") or line:find("^%s*%-$")
  if indent_of(line) > indent or (is_item and indent_of(line) == indent) then
    state.at = ahead
    if depth > 20 then
      state.problem(ahead, 1, "error", "nested too deeply; ignored")
      while state.at <= #state.lines and (blank(state.lines[state.at]) or indent_of(state.lines[state.at]) > indent) do state.at = state.at + 1 end
      return ""
    end
    if is_item then return parse_list(state, indent_of(line), depth + 1) end
    if line:find("^%s*[^%s#\"'][^:]*:%s") or line:find("^%s*[^%s#][^:]*:$") then return parse_map(state, indent_of(line), depth + 1) end
    return fold(continuation(state, indent))
  end
  return ""
end

function parse_list(state, indent, depth)
  local out <const> = {}
  while state.at <= #state.lines do
    local line <const> = state.lines[state.at]
    if blank(line) then
      state.at = state.at + 1
    elseif indent_of(line) == indent and (line:find("^ *%-%s") or line:find("^ *%-$")) then
      local text <const> = line:match("^ *%-%s*(.*)$")
      local index <const> = state.at
      state.at = index + 1
      if text == "" or text:find("^#") then
        out[#out + 1] = nested(state, indent, depth)
      else
        out[#out + 1] = scalar(state, text, indent, index, indent + 3)
      end
    else
      break
    end
  end
  return out
end

function parse_map(state, indent, depth)
  local out <const> = {}
  while state.at <= #state.lines do
    local line <const> = state.lines[state.at]
    local index <const> = state.at
    if blank(line) then
      state.at = index + 1
    elseif indent_of(line) < indent then
      break
    else
      local key, rest = line:match("^ *(\"[^\"]*\")%s*:(.*)$")
      if not key then key, rest = line:match("^ *('[^']*')%s*:(.*)$") end
      if key then key = key:sub(2, -2) end
      if not key then
        key, rest = line:match("^ *([^%s:#][^:]-)%s*:(%s.*)$")
        if not key then key, rest = line:match("^ *([^%s:#][^:]-)%s*:()$") end
        if not key then key, rest = line:match("^ *([^%s:#])%s*:(%s.*)$") end
        if not key then key, rest = line:match("^ *([^%s:#])%s*:()$") end
        if type(rest) == "number" then rest = "" end
      end
      state.at = index + 1
      if not key then
        state.problem(index, 1, "error", "expected \"name: value\"; the line is ignored: " .. line:match("^%s*(.-)%s*$"):sub(1, 60))
      else
        if indent_of(line) > indent then state.problem(index, 1, "warning", "the line is indented deeper than its neighbours") end
        local column <const> = #line - #rest:gsub("^%s+", "") + 1
        local text <const> = rest:gsub("^%s+", ""):gsub("%s+$", "")
        local value
        if text == "" or text:find("^#") then
          value = nested(state, indent, depth)
        else
          value = scalar(state, text, indent, index, column)
        end
        if out[key] ~= nil then state.problem(index, 1, "warning", ("%s is given twice; the last one counts"):format(key)) end
        out[key] = value
      end
    end
  end
  return out
end

-- Parse a file's text. Returns {fields=, body=, body_line=, problems=, found=}: `found` tells whether there is a block.
function frontmatter.parse(text)
  local result <const> = { fields = {}, body = text, body_line = 1, problems = {}, found = false }
  local function problem(line, column, severity, message)
    result.problems[#result.problems + 1] = { line = line, column = column, severity = severity, message = message }
  end
  if text:sub(1, 3) == "\u{FEFF}" then text = text:sub(4) end
  local head <const> = text:sub(1, frontmatter.LIMIT + 4096)
  if not head:find("^%-%-%-[ \t]*\r?\n") and not head:find("^%-%-%-[ \t]*$") then
    problem(1, 1, "error", text == "" and "the file is empty" or "the first line is not \"---\": no front matter")
    return result
  end
  local lines <const> = {}
  local position = head:find("\n", 1, true)
  position = position and position + 1 or #head + 1
  local closed = false
  local number = 1
  while position <= #head do
    local stop <const> = head:find("\n", position, true)
    local line <const> = head:sub(position, (stop or #head + 1) - 1):gsub("\r$", "")
    number = number + 1
    position = (stop or #head) + 1
    if line:find("^%-%-%-%s*$") or line:find("^%.%.%.%s*$") then
      closed = true
      break
    end
    lines[#lines + 1] = line
  end
  if not closed then
    if #text > frontmatter.LIMIT then
      problem(1, 1, "error", ("no closing \"---\" in the first %d bytes"):format(frontmatter.LIMIT))
      return result
    end
    problem(1, 1, "error", "the closing \"---\" is missing; everything is taken as front matter")
  end
  result.found = true
  result.body = closed and text:sub(position) or ""
  result.body_line = number + 1
  local block <const> = table.concat(lines, "\n")
  local ok <const>, bad_at <const> = utf8.len(block)
  if not ok then
    local before <const> = block:sub(1, bad_at)
    local _, ends <const> = before:gsub("\n", "")
    problem(ends + 2, 1, "error", "not UTF-8; the front matter is not used")
    return result
  end
  for i, line in ipairs(lines) do
    local white <const> = line:match("^[ \t]*")
    if white:find("\t", 1, true) and line:find("%S") then
      problem(i + 1, 1, "error", "a tab in the indentation; it is taken as two spaces")
      lines[i] = white:gsub("\t", "  ") .. line:sub(#white + 1)
    end
  end
  local state <const> = reader(lines, 2)
  result.fields = parse_map(state, 0, 1)
  for _, p in ipairs(state.problems) do result.problems[#result.problems + 1] = p end
  table.sort(result.problems, function(a, b) return a.line < b.line end)
  return result
end

return frontmatter
