-- SPDX-License-Identifier: MIT
-- The text of one Python file and positions in it. Lines and columns are 1-based, columns count bytes, an end column
-- is exclusive (the first byte after). Syntax-tree positions (0-based columns, exclusive ends) convert by +1.
--
--   source.read(path[, limits])   -> source | nil, err    reads a file within limits
--   source.new(path, text)        -> source | nil, err    the same checks on a text at hand
--   source.apply(text, edits)     -> text | nil, err      edits: {{line,column,end_line,end_column,text}}
--
-- err: {code=, message=, path=, line=, column=}: file-missing, file-unreadable, file-too-large, file-empty,
-- file-binary, file-not-utf8.

local fs <const> = require "rt.fs"

local source <const> = {}
source.__index = source

source.limits = { bytes = 4 << 20 } -- the largest public kernel file is 160 KB

local function failure(code, path, message, more)
  local err <const> = more or {}
  err.code, err.path, err.message = code, path, message
  return nil, err
end

local WORDS <const> = {
  not_found = "no such file", not_directory = "no such file", is_directory = "this is a folder, not a Python file", denied = "permission denied",
  not_a_file = "not a regular file",
}

function source.read(path, limits)
  local most <const> = limits and limits.bytes or source.limits.bytes
  local text <const>, err <const> = fs.read(path, most)
  if not text then
    if err.code == "too_large" then
      return failure("file-too-large", path, ("%s: larger than %d MiB, which no kernel is; is this the right file?"):format(path, most >> 20))
    end
    local missing <const> = err.code == "not_found" or err.code == "not_directory"
    return failure(missing and "file-missing" or "file-unreadable", path,
      WORDS[err.code] and ("%s: %s"):format(path, WORDS[err.code]) or err.message)
  end
  return source.new(path, text, limits)
end

function source.new(path, text, limits)
  local most <const> = limits and limits.bytes or source.limits.bytes
  if #text > most then
    return failure("file-too-large", path, ("%s: larger than %d MiB, which no kernel is"):format(path, most >> 20))
  end
  if text:sub(1, 3) == "\xEF\xBB\xBF" then text = text:sub(4) end
  local zero <const> = text:find("\0", 1, true)
  if zero then
    return failure("file-binary", path, ("%s: not a text file (NUL byte at offset %d)"):format(path, zero - 1))
  end
  local length <const>, bad <const> = utf8.len(text)
  if not length then
    local _, lines <const> = text:sub(1, bad - 1):gsub("\n", "")
    local start <const> = text:sub(1, bad - 1):match(".*()\n") or 0
    return failure("file-not-utf8", path,
      ("%s:%d: not UTF-8 (byte 0x%02X at column %d); save the file as UTF-8"):format(path, lines + 1, text:byte(bad), bad - start),
      { line = lines + 1, column = bad - start, byte = text:byte(bad) })
  end
  if not text:find("%S") then return failure("file-empty", path, ("%s: the file is empty"):format(path)) end
  local self <const> = setmetatable({ path = path, text = text }, source)
  self.starts = source.line_starts(text)
  return self
end

function source.line_starts(text)
  local starts <const> = { 1 }
  local at = 1
  while true do
    local stop <const> = text:find("[\r\n]", at)
    if not stop then return starts end
    if text:byte(stop) == 13 and text:byte(stop + 1) == 10 then at = stop + 2 else at = stop + 1 end
    starts[#starts + 1] = at
  end
end

-- The byte offset of a position; positions past the end of a line stay at its end.
function source:offset(line, column)
  local start <const> = self.starts[line]
  if not start then return #self.text + 1 end
  local stop <const> = self.starts[line + 1] or #self.text + 1
  return math.min(start + column - 1, math.max(start, stop))
end

function source:line(number)
  local start <const> = self.starts[number]
  if not start then return nil end
  local stop <const> = self.starts[number + 1] or #self.text + 1
  return (self.text:sub(start, stop - 1):gsub("[\r\n]+$", ""))
end

function source:lines() return #self.starts end

-- The span of a syntax-tree node.
function source:span(node)
  return {
    line = node.lineno, column = node.col_offset + 1, end_line = node.end_lineno or node.lineno,
    end_column = (node.end_col_offset or node.col_offset) + 1,
  }
end

-- The text of a syntax-tree node.
function source:slice(node)
  local span <const> = self:span(node)
  return self.text:sub(self:offset(span.line, span.column), self:offset(span.end_line, span.end_column) - 1)
end

-- The same on one line, runs of white space (line breaks in brackets) made one blank.
function source:expression(node, most)
  local text <const> = self:slice(node):gsub("%s*\\?[\r\n]%s*", " "):gsub("%s+", " ")
  if most and #text > most then return text:sub(1, most - 3) .. "..." end
  return text
end

function source:indent(number) return (self:line(number) or ""):match("^[ \t]*") end

-- An edit that replaces a node, one that inserts before a line, one that inserts at a position.
function source:replace(node, text)
  local edit <const> = self:span(node)
  edit.text = text
  return edit
end

function source.insert(line, column, text)
  return { line = line, column = column, end_line = line, end_column = column, text = text }
end

-- Apply edits to a text. Edits may come in any order and must not overlap; two insertions at one place keep their order.
function source.apply(text, edits)
  local self <const> = setmetatable({ text = text, starts = source.line_starts(text) }, source)
  local spans <const> = {}
  for i, edit in ipairs(edits) do
    local from <const>, to <const> = self:offset(edit.line, edit.column), self:offset(edit.end_line, edit.end_column)
    if to < from then return nil, { code = "bad-edit", message = "an edit ends before it starts" } end
    spans[i] = { from = from, to = to, text = edit.text, order = i }
  end
  table.sort(spans, function(a, b)
    if a.from ~= b.from then return a.from < b.from end
    if a.to ~= b.to then return a.to < b.to end
    return a.order < b.order
  end)
  local parts <const>, at = {}, 1
  for _, span in ipairs(spans) do
    if span.from < at then return nil, { code = "bad-edit", message = "two edits overlap" } end
    parts[#parts + 1] = text:sub(at, span.from - 1)
    parts[#parts + 1] = span.text
    at = span.to
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

return source
