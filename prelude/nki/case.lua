-- SPDX-License-Identifier: MIT
-- One call of a kernel, as text: `x=bfloat16[256,1024], scale=0.125, y=@y.npy, flag=true, name="s", t=(1,2)`.
--
--   case.parse(text)            -> {text=, args={...}} | nil, err
--   case.bind(parsed, params)   -> {by name} | nil, err     params: list of {name=, default=bool}
--   case.format(parsed)         -> canonical text
--   case.line(err)              -> the error on one line
--   case.render(err)            -> the error as lines, with the character pointed at
--
-- args: {name=, column=, kind="tensor", dtype=, shape={}} | {kind="value", value=} | {kind="file", path=} |
-- {kind="dtype", dtype=}. A value is a Lua number, boolean, string, case.None, or {tuple=true, n=, ...}.
-- err: {code="bad-case", message=, text=, column=, end_column=, accepted=}; columns are 1-based bytes of `text`.

local nearest <const> = require "nki.nearest"

local case <const> = {}

case.None = setmetatable({}, { __tostring = function() return "None" end })

-- NKI's dtype names in the order help prints them; `bytes` sizes the case before anything is allocated.
case.dtypes = {
  { name = "float32", bytes = 4 }, { name = "float16", bytes = 2 }, { name = "bfloat16", bytes = 2 },
  { name = "tfloat32", bytes = 4 }, { name = "float8_e4m3", bytes = 1 }, { name = "float8_e4m3fn", bytes = 1 },
  { name = "float8_e5m2", bytes = 1 }, { name = "int8", bytes = 1 }, { name = "int16", bytes = 2 },
  { name = "int32", bytes = 4 }, { name = "uint8", bytes = 1 }, { name = "uint16", bytes = 2 },
  { name = "uint32", bytes = 4 }, { name = "bool", bytes = 1 },
}
case.aliases = {
  f32 = "float32", fp32 = "float32", f16 = "float16", fp16 = "float16", half = "float16", bf16 = "bfloat16",
  tf32 = "tfloat32", i8 = "int8", i16 = "int16", i32 = "int32", u8 = "uint8", u16 = "uint16", u32 = "uint32",
  bool_ = "bool", fp8_e4m3 = "float8_e4m3", fp8_e4m3fn = "float8_e4m3fn", fp8_e5m2 = "float8_e5m2",
}
-- Names people write that no alias should hide: what they should write and why.
local REFUSED <const> = {
  float64 = "NKI has no 64-bit floats; use float32",
  double = "NKI has no 64-bit floats; use float32",
  f64 = "NKI has no 64-bit floats; use float32",
  int64 = "NKI has no 64-bit integers; use int32",
  uint64 = "NKI has no 64-bit integers; use uint32",
  float = "say how wide: float32, float16 or bfloat16",
  int = "say how wide: int32, int16 or int8",
  fp8 = "say which: float8_e4m3, float8_e4m3fn or float8_e5m2",
  float8 = "say which: float8_e4m3, float8_e4m3fn or float8_e5m2",
}

local BYTES <const>, NAMES <const> = {}, {}
for _, row in ipairs(case.dtypes) do
  BYTES[row.name] = row.bytes
  NAMES[#NAMES + 1] = row.name
end
local ALL_NAMES <const> = table.move(NAMES, 1, #NAMES, 1, {})
for alias in pairs(case.aliases) do ALL_NAMES[#ALL_NAMES + 1] = alias end

function case.dtype_bytes(name) return BYTES[name] end

-- The canonical dtype name, or nil and what to say about it.
function case.dtype(name)
  local plain <const> = name:gsub("^nl%.", "")
  if BYTES[plain] then return plain end
  if case.aliases[plain] then return case.aliases[plain] end
  if REFUSED[plain] then return nil, ("unknown dtype `%s`: %s"):format(name, REFUSED[plain]) end
  local near = nearest.find(plain, ALL_NAMES)
  near = case.aliases[near] or near
  return nil, ("unknown dtype `%s`%s"):format(name, near and (": did you mean `%s`?"):format(near) or "")
end

local VALUES <const> = 'a tensor `float32[128,512]`, a file `@x.npy`, a number, true, false, None, "text", a tuple `(1,2)` or a dtype'
local LIMIT <const> = { text = 65536, args = 256, dims = 8, depth = 16, size = 1 << 48 }

local reader <const> = {}
reader.__index = reader

local function fail(self, column, end_column, message, accepted)
  error({
    case_error = true, code = "bad-case", message = message, accepted = accepted, text = self.text,
    column = column, end_column = math.max(end_column or column, column + 1),
  }, 0)
end

function reader:space() self.at = self.text:match("^%s*()", self.at) end
function reader:peek() return self.text:sub(self.at, self.at) end

function reader:shown()
  if self.at > #self.text then return "the end" end
  local char <const> = self.text:match("^[%z\1-\127\194-\244][\128-\191]*", self.at) or self:peek()
  return "`" .. char .. "`"
end

function reader:word() return self.text:match("^[%a_][%w_.]*", self.at) end

function reader:number()
  local start <const> = self.at
  local token <const> = self.text:match("^[+-]?[%w_.]*[eE][+-]%d[%d_]*", start) or self.text:match("^[+-]?[%w_.]+", start)
  if not token then fail(self, start, start + 1, "a number is expected, got " .. self:shown(), "digits") end
  local sign <const>, body <const> = token:match("^([+-]?)(.*)$")
  local digits <const> = body:gsub("_", "")
  local lower <const> = digits:lower()
  local value
  if lower == "inf" then
    value = math.huge
  elseif lower == "nan" then
    value = 0.0 / 0.0
  elseif digits:match("^%d+$") then
    value = math.tointeger(tonumber(digits)) or tonumber(digits .. ".0")
    if math.type(value) == "float" then
      fail(self, start, start + #token, ("`%s` does not fit 64 bits"):format(token), "an integer below 2^63")
    end
  elseif digits:match("^%d*%.?%d*[eE]?[+-]?%d*$") then
    value = tonumber(digits)
    if value then value = value + 0.0 end
  elseif lower:match("^0x%x+$") then
    value = math.tointeger(tonumber(lower))
  end
  if not value then fail(self, start, start + #token, ("`%s` is not a number"):format(token), "1, -2, 0.125, 1e-5, inf or nan") end
  self.at = start + #token
  if sign == "-" then return -value end
  return value
end

local ESCAPES <const> = { n = "\n", t = "\t", ["\\"] = "\\", ['"'] = '"', ["'"] = "'" }
function reader:string()
  local start <const>, quote <const> = self.at, self:peek()
  local parts <const> = {}
  local at = start + 1
  while true do
    local char <const> = self.text:sub(at, at)
    if char == "" then fail(self, start, start + 1, "this text has no closing " .. quote, quote) end
    if char == quote then break end
    if char == "\\" then
      local escape <const> = ESCAPES[self.text:sub(at + 1, at + 1)]
      if not escape then fail(self, at, at + 2, "unknown escape in a text", [[\n \t \\ \" or \']]) end
      parts[#parts + 1] = escape
      at = at + 2
    else
      parts[#parts + 1] = char
      at = at + 1
    end
  end
  self.at = at + 1
  return table.concat(parts)
end

function reader:tuple(depth)
  local start <const> = self.at
  if depth > LIMIT.depth then fail(self, start, start + 1, "tuples nest too deeply", "at most 16 levels") end
  self.at = start + 1
  local items <const> = { tuple = true, n = 0 }
  while true do
    self:space()
    if self:peek() == ")" then break end
    if self.at > #self.text then fail(self, start, start + 1, "this tuple has no closing )", ")") end
    items.n = items.n + 1
    items[items.n] = self:scalar(depth + 1)
    self:space()
    if self:peek() == "," then
      self.at = self.at + 1
    elseif self:peek() ~= ")" then
      fail(self, self.at, self.at + 1, ("`,` or `)` is expected in a tuple, got %s"):format(self:shown()), ", or )")
    end
  end
  self.at = self.at + 1
  return items
end

local WORDS <const> = { ["true"] = true, ["True"] = true, ["false"] = false, ["False"] = false }

-- The files that a case names (x=@data/x.npy, x=@"a b.npy"), without reading the rest of it.
function case.files(text)
  local out <const> = {}
  for start, quote in text:gmatch("@()([\"']?)") do
    local name <const> = quote ~= "" and text:match("^[^" .. quote .. "]*", start + 1) or text:match("^[^,%s]*", start)
    if name ~= "" then out[#out + 1] = name end
  end
  return out
end

-- A value that is not a tensor, a file or a dtype.
function reader:scalar(depth)
  self:space()
  local start <const>, char <const> = self.at, self:peek()
  if char == "(" then return self:tuple(depth) end
  if char == '"' or char == "'" then return self:string() end
  if char == "[" then
    fail(self, start, start + 1, "a kernel takes no list arguments (NKI 0.3); write a tuple", "(1,2)")
  end
  if char == "{" then fail(self, start, start + 1, "a case holds no dictionaries", VALUES) end
  local word <const> = self:word()
  if word then
    if WORDS[word] ~= nil then
      self.at = start + #word
      return WORDS[word]
    end
    if word == "None" or word == "none" or word == "null" then
      self.at = start + #word
      return case.None
    end
    if word ~= "inf" and word ~= "nan" then
      fail(self, start, start + #word, ("`%s` is not a value; a text needs quotes: \"%s\""):format(word, word), VALUES)
    end
  end
  if char == "" or not char:match("[%w+.-]") then
    fail(self, start, start + 1, "a value is expected, got " .. self:shown(), VALUES)
  end
  return self:number()
end

function reader:shape()
  local open <const> = self.at
  self.at = open + 1
  local shape, size = {}, 1
  while true do
    self:space()
    if self:peek() == "]" and #shape > 0 then break end
    local start <const> = self.at
    local digits <const> = self.text:match("^[%d_]+", start)
    local based <const> = self.text:match("^0[xXoObB]%w*", start)
    if not digits or based then
      local got <const> = based and "`" .. based .. "`" or self:shown()
      fail(self, start, start + 1, ("a size is expected in the shape, got %s"):format(got), "a whole number, as in float32[128,512]")
    end
    local extent <const> = math.tointeger(tonumber((digits:gsub("_", "")))) or LIMIT.size + 1
    if extent < 1 then
      fail(self, start, start + #digits, ("a size must be at least 1, got %s"):format(digits), "a whole number from 1")
    end
    shape[#shape + 1] = extent
    if #shape > LIMIT.dims then fail(self, open, start + #digits, "a tensor has at most 8 dimensions", "fewer sizes") end
    if extent > LIMIT.size or size > LIMIT.size // extent then
      fail(self, open, start + #digits, "this tensor is larger than any machine's memory", "smaller sizes")
    end
    size = size * extent
    self.at = start + #digits
    self:space()
    local char <const> = self:peek()
    if char == "," then
      self.at = self.at + 1
    elseif char ~= "]" then
      fail(self, self.at, self.at + 1, ("`,` or `]` is expected in the shape, got %s"):format(self:shown()), ", or ]")
    end
  end
  self.at = self.at + 1
  return shape
end

function reader:file()
  self.at = self.at + 1
  local start <const>, char <const> = self.at, self:peek()
  local path
  if char == '"' or char == "'" then
    path = self:string()
  else
    path = self.text:match("^[^,%s]+", start)
    if path then self.at = start + #path end
  end
  if not path or path == "" then fail(self, start, start + 1, "a file name is expected after @", "@x.npy") end
  return path
end

function reader:argument()
  self:space()
  local start <const> = self.at
  local name <const> = self.text:match("^[%a_][%w_]*", start)
  if not name then
    fail(self, start, start + 1, "a parameter name is expected, got " .. self:shown(), "name=value, as in x=float32[128,512]")
  end
  self.at = start + #name
  self:space()
  if self:peek() ~= "=" then
    local what <const> = self:peek() == "[" and ("`%s[...]` needs the parameter's name before it"):format(name)
      or ("`=` is expected after `%s`, got %s"):format(name, self:shown())
    fail(self, self.at, self.at + 1, what, "name=value, as in x=float32[128,512]")
  end
  self.at = self.at + 1
  self:space()
  local arg <const> = { name = name, column = start }
  local value_start <const> = self.at
  local word <const> = self:word()
  if self:peek() == "@" then
    arg.kind, arg.path = "file", self:file()
  elseif word and self.text:match("^%s*%[", value_start + #word) then
    local dtype <const>, why <const> = case.dtype(word)
    if not dtype then fail(self, value_start, value_start + #word, why, table.concat(NAMES, " ")) end
    self.at = value_start + #word
    self:space()
    arg.kind, arg.dtype, arg.shape = "tensor", dtype, self:shape()
  elseif word and (case.dtype(word) or word:match("^nl%.")) then
    local dtype <const>, why <const> = case.dtype(word)
    if not dtype then fail(self, value_start, value_start + #word, why, table.concat(NAMES, " ")) end
    arg.kind, arg.dtype = "dtype", dtype
    self.at = value_start + #word
  else
    arg.kind, arg.value = "value", self:scalar(1)
  end
  arg.end_column = self.at
  return arg
end

-- Parse the text of one case. An empty text is a case without arguments.
function case.parse(text)
  assert(type(text) == "string", "case.parse: text must be a string")
  local self <const> = setmetatable({ text = text, at = 1 }, reader)
  local ok <const>, result <const> = pcall(function()
    if #text > LIMIT.text then fail(self, 1, 2, "this case is longer than 64 KiB", "a shorter case") end
    if text:find("%z") then fail(self, text:find("%z"), nil, "a case is text: no NUL bytes", "text") end
    local args <const>, seen <const> = {}, {}
    self:space()
    while self.at <= #text do
      local arg <const> = self:argument()
      if seen[arg.name] then
        fail(self, arg.column, arg.column + #arg.name, ("`%s` is given twice"):format(arg.name), "each name once")
      end
      seen[arg.name] = true
      args[#args + 1] = arg
      if #args > LIMIT.args then fail(self, arg.column, nil, "a case has at most 256 arguments", "fewer arguments") end
      self:space()
      if self:peek() == "," then
        self.at = self.at + 1
        self:space()
      elseif self.at <= #text then
        fail(self, self.at, self.at + 1, ("`,` is expected after `%s`, got %s"):format(arg.name, self:shown()), ", or the end")
      end
    end
    return { text = text, args = args }
  end)
  if ok then return result end
  if type(result) == "table" and result.case_error then
    result.case_error = nil
    return nil, result
  end
  error(result, 0)
end

local function quote(text)
  return '"' .. text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\t", "\\t") .. '"'
end

local function show(value)
  if value == case.None then return "None" end
  if type(value) == "string" then return quote(value) end
  if type(value) == "table" then
    local parts <const> = {}
    for i = 1, value.n do parts[i] = show(value[i]) end
    return "(" .. table.concat(parts, ",") .. (value.n == 1 and "," or "") .. ")"
  end
  if value == math.huge then return "inf" end
  if value == -math.huge then return "-inf" end
  if value ~= value then return "nan" end
  if math.type(value) == "float" then
    local text <const> = ("%.17g"):format(value)
    local short <const> = ("%.15g"):format(value)
    local best <const> = tonumber(short) == value and short or text
    return best:find("[%.eEn]") and best or best .. ".0"
  end
  return tostring(value)
end
case.show_value = show

local function show_argument(arg)
  if arg.kind == "tensor" then return ("%s[%s]"):format(arg.dtype, table.concat(arg.shape, ",")) end
  if arg.kind == "file" then return "@" .. (arg.path:find("[,%s\"']") and quote(arg.path) or arg.path) end
  if arg.kind == "dtype" then return arg.dtype end
  return show(arg.value)
end

function case.format(parsed)
  local parts <const> = {}
  for i, arg in ipairs(parsed.args) do parts[i] = arg.name .. "=" .. show_argument(arg) end
  return table.concat(parts, ", ")
end

-- Bytes that the case's own tensors need.
function case.bytes(parsed)
  local total = 0
  for _, arg in ipairs(parsed.args) do
    if arg.kind == "tensor" then
      local size = BYTES[arg.dtype]
      for _, extent in ipairs(arg.shape) do size = size * extent end
      total = total + size
    end
  end
  return total
end

-- The signature as a person would write it: name(x, scale=...).
function case.signature(name, params)
  local parts <const> = {}
  for i, param in ipairs(params) do parts[i] = param.default and param.name .. "=..." or param.name end
  return ("%s(%s)"):format(name or "kernel", table.concat(parts, ", "))
end

-- Match a parsed case to the entry's parameters. Returns a table from name to argument.
function case.bind(parsed, params, name)
  local by_name <const>, names <const>, known <const> = {}, {}, {}
  for _, param in ipairs(params) do
    names[#names + 1] = param.name
    known[param.name] = true
  end
  local signature <const> = case.signature(name, params)
  for _, arg in ipairs(parsed.args) do
    if not known[arg.name] then
      local near <const> = nearest.find(arg.name, names)
      return nil, {
        code = "case-unknown-parameter", text = parsed.text, column = arg.column, end_column = arg.column + #arg.name,
        message = ("the kernel has no parameter `%s`%s; it is %s"):format(
          arg.name, near and (" (did you mean `%s`?)"):format(near) or "", signature),
        accepted = table.concat(names, ", "),
      }
    end
    by_name[arg.name] = arg
  end
  local missing <const> = {}
  for _, param in ipairs(params) do
    if not by_name[param.name] and not param.default then missing[#missing + 1] = param.name end
  end
  if #missing > 0 then
    local example <const> = missing[1] .. "=float32[128,512]"
    return nil, {
      code = "case-missing-parameter", text = parsed.text, column = #parsed.text + 1, end_column = #parsed.text + 2,
      message = ("the case gives no value for %s; the kernel is %s"):format("`" .. table.concat(missing, "`, `") .. "`", signature),
      accepted = #parsed.args > 0 and "..., " .. example or example,
    }
  end
  return by_name
end

-- The error on one line: which character of which case, what is wrong. What is accepted goes beside it, as a hint.
function case.line(err)
  local text <const>, column <const> = err.text or "", err.column or 1
  local shown <const> = #text > 80 and text:sub(1, 77) .. "..." or text
  if column > #text then return ('case "%s": %s'):format(shown, err.message) end
  local word = text:sub(column, math.max(column, (err.end_column or column + 1) - 1))
  if #word > 24 then word = word:sub(1, 24) .. "..." end
  return ('case "%s", character %d (%s): %s'):format(shown, utf8.len(text, 1, column) or column, word, err.message)
end

-- The error as lines: what, then the text with a caret under the character, then what is accepted.
function case.render(err)
  local text = err.text or ""
  local start, stop = err.column or 1, err.end_column or (err.column or 1) + 1
  local head <const> = ('case "%s": %s'):format(#text > 60 and text:sub(1, 57) .. "..." or text, err.message)
  if #text > 100 then
    local from <const> = math.max(1, start - 50)
    text = text:sub(from, from + 99)
    start, stop = start - from + 1, stop - from + 1
  end
  local before <const> = text:sub(1, start - 1):gsub("[^\t]", " ")
  local width <const> = math.max(1, math.min(stop, #text + 1) - start)
  local lines <const> = { head, "    " .. text, "    " .. before .. ("^"):rep(width) }
  if err.accepted then lines[#lines + 1] = "    accepted: " .. err.accepted end
  return table.concat(lines, "\n")
end

return case
