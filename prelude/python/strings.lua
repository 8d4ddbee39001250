-- SPDX-License-Identifier: MIT
-- Methods of str, bytes and numbers. Positions are in code points; strings of ASCII alone take the short way.

local R <const> = require "python.runtime"

local ops <const>, None <const> = R.ops, R.None
local list <const>, tuple <const> = R.list, R.tuple
local integer <const> = require "python.containers" and R.integer

local function text(value, what)
  if type(value) == "string" then return value end
  R.raise("TypeError", what or "must be str, not %s", R.type_name(value))
end

local function ascii(s) return not s:find "[\128-\255]" end

-- Byte range (from, to; 1-based, inclusive) of s[start:stop].
local function byte_range(s, start, stop)
  local n <const> = ops.str_length(s)
  local from = start == None and 0 or integer(start)
  local to = stop == None and n or integer(stop)
  if from < 0 then from = math.max(0, from + n) end
  if to < 0 then to = math.max(0, to + n) end
  if to > n then to = n end
  if from > n then return nil end
  if ascii(s) then return from + 1, to end
  return utf8.offset(s, from + 1), utf8.offset(s, to + 1) - 1
end

local function point_of(s, byte) return (ops.str_length(s:sub(1, byte - 1))) end

local function find(s, what, start, stop)
  local from <const>, to <const> = byte_range(s, start, stop)
  if not from then return -1 end
  local at <const>, last <const> = s:find(what, from, true)
  if not at or last > to then return -1 end
  return point_of(s, at)
end

local function rfind(s, what, start, stop)
  local from <const>, to <const> = byte_range(s, start, stop)
  if not from then return -1 end
  for at = to - #what + 1, from, -1 do
    if s:sub(at, at + #what - 1) == what then return point_of(s, at) end
  end
  return -1
end

local spaces <const> = " \t\n\r\v\f\28\29\30\31"

local function strip(s, chars, left, right)
  local set <const> = {}
  for _, c in ipairs(ops.str_points(chars == None and spaces or text(chars, "strip arg must be None or str"))) do set[c] = true end
  local points <const> = ops.str_points(s)
  local from, to = 1, #points
  while left and from <= to and set[points[from]] do from = from + 1 end
  while right and to >= from and set[points[to]] do to = to - 1 end
  return table.concat(points, "", from, to)
end

local function split_space(s, limit)
  local out <const> = {}
  local at = 1
  while true do
    local from <const> = s:find("[^%s\28-\31]", at)
    if not from then break end
    if limit >= 0 and #out == limit then
      out[#out + 1] = (s:sub(from):gsub("[%s\28-\31]+$", ""))
      break
    end
    local to <const> = s:find("[%s\28-\31]", from)
    out[#out + 1] = s:sub(from, (to or #s + 1) - 1)
    if not to then break end
    at = to
  end
  return out
end

local function rsplit_space(s, limit)
  local out <const> = {}
  local rest = s
  while true do
    rest = rest:gsub("[%s\28-\31]+$", "")
    if rest == "" then break end
    if #out == limit then
      table.insert(out, 1, (rest:gsub("^[%s\28-\31]+", "")))
      break
    end
    local word <const> = rest:match "[^%s\28-\31]+$"
    table.insert(out, 1, word)
    rest = rest:sub(1, #rest - #word)
  end
  return out
end

local function split(s, sep, maxsplit)
  local limit <const> = integer(maxsplit)
  if sep == None then return list(split_space(s, limit)) end
  text(sep, "must be str or None, not %s")
  if sep == "" then R.raise("ValueError", "empty separator") end
  local out <const> = {}
  local at = 1
  while limit < 0 or #out < limit do
    local from <const>, to <const> = s:find(sep, at, true)
    if not from then break end
    out[#out + 1] = s:sub(at, from - 1)
    at = to + 1
  end
  out[#out + 1] = s:sub(at)
  return list(out)
end

local function rsplit(s, sep, maxsplit)
  local limit <const> = integer(maxsplit)
  if limit < 0 then return split(s, sep, -1) end
  if sep == None then return list(rsplit_space(s, limit)) end
  local parts <const> = split(s, sep, -1)
  while #parts > limit + 1 do
    parts[1] = parts[1] .. sep .. parts[2]
    table.remove(parts, 2)
  end
  return parts
end

local function replace(s, old, new, count)
  local limit <const> = integer(count)
  text(old, "replace() argument 1 must be str, not %s")
  text(new, "replace() argument 2 must be str, not %s")
  local out <const> = {}
  if old == "" then
    local points <const> = ops.str_points(s)
    for i = 0, #points do
      if i > 0 then out[#out + 1] = points[i] end
      if limit < 0 or i < limit then out[#out + 1] = new end
    end
    return table.concat(out)
  end
  local at, done = 1, 0
  while limit < 0 or done < limit do
    local from <const>, to <const> = s:find(old, at, true)
    if not from then break end
    out[#out + 1] = s:sub(at, from - 1)
    out[#out + 1] = new
    at, done = to + 1, done + 1
  end
  out[#out + 1] = s:sub(at)
  return table.concat(out)
end

local function affix(test)
  return function(s, what, start, stop)
    local from <const>, to <const> = byte_range(s, start, stop)
    if not from then return false end
    local part <const> = s:sub(from, to)
    if R.kind(what) == "tuple" then
      for _, w in ipairs(what) do
        if test(part, text(w)) then return true end
      end
      return false
    end
    return test(part, text(what, "startswith first arg must be str or a tuple of str, not %s"))
  end
end

local function pad(s, width, fill, how)
  local n <const> = ops.str_length(s)
  local missing <const> = integer(width) - n
  if missing <= 0 then return s end
  R.check_size(missing)
  if how == "left" then return s .. fill:rep(missing) end
  if how == "right" then return fill:rep(missing) .. s end
  local left <const> = missing // 2 + (missing & integer(width) & 1)
  return fill:rep(left) .. s .. fill:rep(missing - left)
end

local function padded(how)
  return function(s, width, fill)
    if type(fill) ~= "string" or ops.str_length(fill) ~= 1 then
      R.raise("TypeError", "The fill character must be exactly one character long")
    end
    return pad(s, width, fill, how)
  end
end

local function all_match(pattern) return function(s) return s ~= "" and not s:find(pattern) end end

local function join(s, items)
  local parts <const> = R.collect(items)
  local size = 0
  for i, part in ipairs(parts) do
    if type(part) ~= "string" then
      R.raise("TypeError", "sequence item %d: expected str instance, %s found", i - 1, R.type_name(part))
    end
    size = size + #part + #s
  end
  R.check_size(size)
  return table.concat(parts, s)
end

local title

local function splitlines(s, keep)
  local out <const> = {}
  local at = 1
  while at <= #s do
    local from = s:find("[\r\n\v\f\28-\30]", at)
    if not from then
      out[#out + 1] = s:sub(at)
      break
    end
    local to = from
    if s:sub(from, from + 1) == "\r\n" then to = from + 1 end
    out[#out + 1] = s:sub(at, R.truth(keep) and to or from - 1)
    at = to + 1
  end
  return list(out)
end

local function partition(s, sep)
  local from <const>, to <const> = s:find(text(sep), 1, true)
  if not from then return tuple { s, "", "" } end
  return tuple { s:sub(1, from - 1), sep, s:sub(to + 1) }
end

local function rpartition(s, sep)
  local parts <const> = rsplit(s, sep, 1)
  if #parts == 1 then return tuple { "", "", s } end
  return tuple { parts[1], sep, parts[2] }
end

local function index_error(value)
  if value == -1 then R.raise("ValueError", "substring not found") end
  return value
end

local function count(s, what, start, stop)
  local from <const>, to <const> = byte_range(s, start, stop)
  if not from then return 0 end
  local part <const> = s:sub(from, to)
  if what == "" then return (ops.str_length(part)) + 1 end
  local n, at = 0, 1
  while true do
    local a <const>, b <const> = part:find(what, at, true)
    if not a then return n end
    n, at = n + 1, b + 1
  end
end

-- Upper and lower case of the alphabets of Europe; other letters stay as they are.
local function upper_point(c)
  if c == 0xFF then return 0x178 end
  if c == 0xB5 or c == 0x3C2 then return c == 0xB5 and 0x39C or 0x3A3 end
  if (c >= 0xE0 and c <= 0xFE and c ~= 0xF7) or (c >= 0x3B1 and c <= 0x3C9) or (c >= 0x430 and c <= 0x44F) then return c - 32 end
  if c >= 0x450 and c <= 0x45F then return c - 80 end
  if (c >= 0x100 and c <= 0x137 and c ~= 0x131) or (c >= 0x14A and c <= 0x177) then return c - c % 2 end
  if (c >= 0x139 and c <= 0x148) or (c >= 0x179 and c <= 0x17E) then return c - (c + 1) % 2 end
  return c
end

local function lower_point(c)
  if (c >= 0xC0 and c <= 0xDE and c ~= 0xD7) or (c >= 0x391 and c <= 0x3A9 and c ~= 0x3A2) or (c >= 0x410 and c <= 0x42F) then return c + 32 end
  if c >= 0x400 and c <= 0x40F then return c + 80 end
  if c == 0x178 then return 0xFF end
  if (c >= 0x100 and c <= 0x137 and c ~= 0x130) or (c >= 0x14A and c <= 0x177) then return c + (c + 1) % 2 end
  if (c >= 0x139 and c <= 0x148) or (c >= 0x179 and c <= 0x17E) then return c + c % 2 end
  return c
end

local function cased(ascii_case, point)
  return function(s)
    if not s:find "[\128-\255]" then return ascii_case(s) end
    return (ascii_case(s):gsub("[\194-\244][\128-\191]+", function(c)
      if c == "ß" and point == upper_point then return "SS" end
      return utf8.char(point(utf8.codepoint(c)))
    end))
  end
end
local to_upper <const>, to_lower <const> = cased(string.upper, upper_point), cased(string.lower, lower_point)

-- Change each run of letters: its first one by `first`, the rest by `rest`.
local letter <const> = "[%a\194-\244][\128-\191]*"
local function words(s, first, rest)
  local inside = false
  return (s:gsub("[\1-\127\194-\244][\128-\191]*", function(c)
    local is_letter <const> = c:find("^" .. letter) ~= nil
    local out <const> = is_letter and (inside and rest(c) or first(c)) or c
    inside = is_letter
    return out
  end))
end

function title(s) return words(s, to_upper, to_lower) end

local function capitalize(s)
  local rest <const> = utf8.offset(s, 2) or #s + 1
  return to_upper(s:sub(1, rest - 1)) .. to_lower(s:sub(rest))
end

local function swapcase(s)
  return (s:gsub("[\1-\127\194-\244][\128-\191]*", function(c)
    local up <const> = to_upper(c)
    return up == c and to_lower(c) or up
  end))
end

local ends <const> = { start = None, ["end"] = None }

local str_methods <const> = R.methods("str", {
  upper = { "", to_upper },
  lower = { "", to_lower },
  casefold = { "", to_lower },
  title = { "", title },
  capitalize = { "", capitalize },
  swapcase = { "", swapcase },
  strip = { "chars=", function(s, chars) return strip(s, chars, true, true) end },
  lstrip = { "chars=", function(s, chars) return strip(s, chars, true, false) end },
  rstrip = { "chars=", function(s, chars) return strip(s, chars, false, true) end },
  split = { "sep= maxsplit=", split, { maxsplit = -1 } },
  rsplit = { "sep= maxsplit=", rsplit, { maxsplit = -1 } },
  splitlines = { "keepends=", splitlines },
  join = { "iterable", join },
  replace = { "old new count=", replace, { count = -1 } },
  find = { "sub start= end=", function(s, what, a, b) return find(s, text(what), a, b) end, ends },
  rfind = { "sub start= end=", function(s, what, a, b) return rfind(s, text(what), a, b) end, ends },
  index = { "sub start= end=", function(s, what, a, b) return index_error(find(s, text(what), a, b)) end, ends },
  rindex = { "sub start= end=", function(s, what, a, b) return index_error(rfind(s, text(what), a, b)) end, ends },
  count = { "sub start= end=", function(s, what, a, b) return count(s, text(what), a, b) end, ends },
  startswith = { "prefix start= end=", affix(function(part, what) return part:sub(1, #what) == what end), ends },
  endswith = { "suffix start= end=", affix(function(part, what) return what == "" or part:sub(-#what) == what end), ends },
  removeprefix = { "prefix", function(s, p) return s:sub(1, #p) == p and s:sub(#p + 1) or s end },
  removesuffix = { "suffix", function(s, p) return p ~= "" and s:sub(-#p) == p and s:sub(1, #s - #p) or s end },
  ljust = { "width fill=", padded "left", { fill = " " } },
  rjust = { "width fill=", padded "right", { fill = " " } },
  center = { "width fill=", padded "center", { fill = " " } },
  zfill = { "width", function(s, width)
    local sign <const> = s:match "^[+-]" or ""
    return sign .. pad(s:sub(#sign + 1), integer(width) - #sign, "0", "right")
  end },
  partition = { "sep", partition },
  rpartition = { "sep", rpartition },
  isdigit = { "", all_match "[^0-9]" },
  isdecimal = { "", all_match "[^0-9]" },
  isnumeric = { "", all_match "[^0-9]" },
  isalpha = { "", all_match "[^%a\128-\255]" },
  isalnum = { "", all_match "[^%w\128-\255]" },
  isspace = { "", all_match "[^%s]" },
  isupper = { "", function(s) return to_lower(s) ~= s and to_upper(s) == s end },
  islower = { "", function(s) return to_upper(s) ~= s and to_lower(s) == s end },
  isidentifier = { "", function(s) return s:find "^[%a_\128-\255][%w_\128-\255]*$" ~= nil end },
  istitle = { "", function(s) return s:find "%a" ~= nil and title(s) == s end },
  expandtabs = { "tabsize=", function(s, size)
    local column = 0
    return (s:gsub(".", function(c)
      if c == "\t" then
        local n <const> = size == 0 and 0 or size - column % size
        column = column + n
        return (" "):rep(n)
      end
      column = (c == "\n" or c == "\r") and 0 or column + 1
    end))
  end, { tabsize = 8 } },
  format = { "**kwargs *args", function(s, kwargs, ...) return R.str_format(s, { ... }, kwargs) end },
  encode = { "encoding= errors=", function(s) return setmetatable({ s }, R.Bytes) end },
})

local num_methods <const> = R.methods("int", {
  bit_length = { "", function(n)
    n = integer(n)
    local bits = 0
    if n == math.mininteger then return 64 end
    n = math.abs(n)
    while n > 0 do
      n, bits = n >> 1, bits + 1
    end
    return bits
  end },
  is_integer = { "", function(x) return type(x) == "number" and x == math.floor(x) and x - x == 0 end },
  item = { "", function(x) return x end },
  conjugate = { "", function(x) return x end },
  as_integer_ratio = { "", function(x)
    if math.type(x) ~= "float" then return tuple { integer(x), 1 } end
    local denominator = 1
    while x ~= math.floor(x) and denominator < 1 << 61 do
      x, denominator = x * 2, denominator * 2
    end
    return tuple { math.tointeger(x), denominator }
  end },
})

for name, method in pairs(str_methods) do R.str_methods[name] = method end
for name, method in pairs(num_methods) do R.num_methods[name] = method end

R.Bytes.__pylen = function(bytes) return #bytes[1] end
R.Bytes.__pyrepr = function(bytes)
  local quote <const> = bytes[1]:find("'", 1, true) and not bytes[1]:find('"', 1, true) and '"' or "'"
  return "b" .. quote .. bytes[1]:gsub("\\", "\\\\"):gsub("[^\32-\126]", function(c)
    local short <const> = ({ ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" })[c]
    return short or ("\\x%02x"):format(c:byte())
  end):gsub(quote, "\\" .. quote) .. quote
end
R.Bytes.__pycompare = function(op, a, b)
  if getmetatable(a) ~= R.Bytes or getmetatable(b) ~= R.Bytes then return nil end
  if op == "Eq" then return a[1] == b[1] end
  if op == "NotEq" then return a[1] ~= b[1] end
end
R.Bytes.__pyhash = function(bytes) return "\xffbytes" .. bytes[1] end
R.Bytes.__methods = R.methods("bytes", { decode = { "encoding= errors=", function(bytes) return bytes[1] end } })

return {}
