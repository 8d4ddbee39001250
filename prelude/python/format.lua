-- SPDX-License-Identifier: MIT
-- Text of values: repr, str, format specifications, str.format and the % operator.

local R <const> = require "python.runtime"

local ops <const> = R.ops
local kind <const> = R.kind
local X <const> = {}

local repr

-- repr ----------------------------------------------------------------------------------------------------------------------

local escapes <const> = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\\"] = "\\\\" }

function R.str_repr(s, ascii_only)
  local quote <const> = s:find("'", 1, true) and not s:find('"', 1, true) and '"' or "'"
  local out = s:gsub('[%c\\\127]', function(c) return escapes[c] or ("\\x%02x"):format(c:byte()) end)
  if quote == "'" then out = out:gsub("'", "\\'") end
  if s:find "[\128-\255]" then
    out = out:gsub("[\194-\244][\128-\191]*", function(c)
      local ok <const>, code <const> = pcall(utf8.codepoint, c)
      if not ok then return c end
      if code >= 128 and code < 161 or code == 173 then return ("\\x%02x"):format(code) end
      if not ascii_only then return c end
      if code < 256 then return ("\\x%02x"):format(code) end
      if code < 65536 then return ("\\u%04x"):format(code) end
      return ("\\U%08x"):format(code)
    end)
  end
  return quote .. out .. quote
end

-- Containers being shown, so that one that holds itself ends.
local showing <const> = {}
local depth = 0

local function nested(value, open, close, parts_of)
  if showing[value] then return open .. "..." .. close end
  if depth > 60 then R.raise("RecursionError", "maximum recursion depth exceeded while getting the repr of an object") end
  showing[value] = true
  depth = depth + 1
  local ok <const>, parts <const> = pcall(parts_of)
  showing[value] = nil
  depth = depth - 1
  if not ok then error(parts, 0) end
  return open .. parts .. close
end

local function sequence(value)
  return function()
    local parts <const> = {}
    for i = 1, #value do parts[i] = repr(value[i]) end
    return table.concat(parts, ", ")
  end
end

local function entries(value, with_values)
  return function()
    local parts <const>, numbers = {}, not with_values and {} or nil
    for _, key, item in ops.dict_entries(value) do
      parts[#parts + 1] = with_values and repr(key) .. ": " .. repr(item) or repr(key)
      if numbers and math.type(key) == "integer" then numbers[#numbers + 1] = key else numbers = nil end
    end
    if numbers then -- CPython, too, shows sets of small ints in order
      table.sort(numbers)
      for i, n in ipairs(numbers) do parts[i] = repr(n) end
    end
    return table.concat(parts, ", ")
  end
end

local shown <const> = {
  list = function(v) return nested(v, "[", "]", sequence(v)) end,
  tuple = function(v) return nested(v, "(", #v == 1 and ",)" or ")", sequence(v)) end,
  dict = function(v)
    local text <const> = nested(v, "{", "}", entries(v, true))
    if v.shown_as then return v.shown_as .. "(" .. (v[4] > 0 and text or "") .. ")" end
    return text
  end,
  set = function(v) return v[4] == 0 and "set()" or nested(v, "{", "}", entries(v)) end,
  frozenset = function(v) return v[4] == 0 and "frozenset()" or "frozenset(" .. nested(v, "{", "}", entries(v)) .. ")" end,
  range = function(v)
    return v[3] == 1 and ("range(%d, %d)"):format(v[1], v[2]) or ("range(%d, %d, %d)"):format(v[1], v[2], v[3])
  end,
  slice = function(v) return ("slice(%s, %s, %s)"):format(repr(v[1]), repr(v[2]), repr(v[3])) end,
  none = function() return "None" end,
  ellipsis = function() return "Ellipsis" end,
  module = function(v) return ("<module '%s'>"):format(v[1]) end,
  class = function(v)
    local home <const> = v[12]
    return ("<class '%s'>"):format(home and home ~= "builtins" and home ~= "" and home .. "." .. v[10] or v[10])
  end,
  method = function(v) return ("<bound method %s>"):format(select(2, R.function_name(v[2]))) end,
  callable = function(v)
    local _, qualname <const> = R.function_name(v)
    return R.prototype(v) and ("<function %s>"):format(qualname) or ("<built-in function %s>"):format(qualname)
  end,
  iterator = function() return "<iterator object>" end,
}

function repr(value)
  local t <const> = type(value)
  if t == "string" then return R.str_repr(value) end
  if t == "number" then
    if math.type(value) == "integer" then return ("%d"):format(value) end
    return ops.float_repr(value)
  end
  if t == "boolean" then return value and "True" or "False" end
  if t == "nil" then return "<unbound>" end
  if t == "function" then return ("<function %s>"):format(select(2, R.function_name(value))) end
  local show <const> = shown[kind(value)]
  if show then return show(value) end
  local mt <const> = getmetatable(value)
  if type(mt) == "table" and mt.__pyrepr then return mt.__pyrepr(value) end
  return ("<%s object>"):format(R.type_name(value))
end
R.repr = repr

function R.str(value)
  if type(value) == "string" then return value end
  local mt <const> = getmetatable(value)
  if type(mt) == "table" and type(value) ~= "string" and mt.__pystr then
    local text <const> = mt.__pystr(value)
    if type(text) ~= "string" then R.raise("TypeError", "__str__ returned non-string (type %s)", R.type_name(text)) end
    return text
  end
  return repr(value)
end

-- format specifications -------------------------------------------------------------------------------------------------------

local function parse_spec(spec, value)
  local out <const> = { fill = " " }
  local rest = spec
  local first <const>, align <const> = rest:match "^([^\128-\255])([<>=^])"
  if first then
    out.fill, out.align, rest = first, align, rest:sub(3)
  else
    local wide <const>, wide_align <const> = rest:match "^([\194-\244][\128-\191]+)([<>=^])"
    if wide then
      out.fill, out.align, rest = wide, wide_align, rest:sub(#wide + 2)
    elseif rest:find "^[<>=^]" then
      out.align, rest = rest:sub(1, 1), rest:sub(2)
    end
  end
  if rest:find "^[+%- ]" then out.sign, rest = rest:sub(1, 1), rest:sub(2) end
  if rest:find "^z" then out.no_negative_zero, rest = true, rest:sub(2) end
  if rest:find "^#" then out.alternate, rest = true, rest:sub(2) end
  if rest:find "^0" then
    if not out.align then out.align, out.fill, out.zero = "=", "0", true end
    rest = rest:sub(2)
  end
  local width <const> = rest:match "^%d+"
  if width then
    out.width = math.tointeger(tonumber(width))
    rest = rest:sub(#width + 1)
  end
  if rest:find "^[,_]" then out.group, rest = rest:sub(1, 1), rest:sub(2) end
  local precision <const> = rest:match "^%.(%d+)"
  if precision then
    out.precision = math.tointeger(tonumber(precision))
    rest = rest:sub(#precision + 2)
  elseif rest:find "^%." then
    R.raise("ValueError", "Format specifier missing precision")
  end
  if #rest > 1 then R.raise("ValueError", "Invalid format specifier '%s' for object of type '%s'", spec, R.type_name(value)) end
  out.kind = rest
  if (out.width or 0) > 100000 or (out.precision or 0) > 1000 then R.raise("ValueError", "width or precision too large") end
  return out
end

local function pad(text, spec, default)
  local missing <const> = (spec.width or 0) - (ops.str_length(text))
  if missing <= 0 then return text end
  local align <const> = spec.align or default
  if align == "<" then return text .. spec.fill:rep(missing) end
  if align == "^" then return spec.fill:rep(missing // 2) .. text .. spec.fill:rep(missing - missing // 2) end
  return spec.fill:rep(missing) .. text
end

local function grouped(digits, mark, every)
  local out = ""
  while #digits > every do
    out = mark .. digits:sub(-every) .. out
    digits = digits:sub(1, -every - 1)
  end
  return digits .. out
end

-- Sign, prefix and digits of a number, padded; zeros go between sign and digits, grouped too.
local function number_field(negative, prefix, whole, rest, spec, every)
  local sign <const> = negative and "-" or (spec.sign == "+" and "+" or spec.sign == " " and " " or "")
  local head <const> = sign .. prefix
  if spec.group then
    if spec.align == "=" and spec.fill == "0" and spec.width then
      local room <const> = spec.width - #head - #rest
      while #grouped(whole, spec.group, every) < room do whole = "0" .. whole end
    end
    whole = grouped(whole, spec.group, every)
  end
  local body <const> = whole .. rest
  if spec.align == "=" then
    local missing <const> = (spec.width or 0) - #head - #body
    return missing > 0 and head .. spec.fill:rep(missing) .. body or head .. body
  end
  return pad(head .. body, spec, ">")
end

local function binary(n, base_bits)
  if n == 0 then return "0" end
  local digits <const> = {}
  local mask <const> = (1 << base_bits) - 1
  while n ~= 0 do
    table.insert(digits, 1, ("%x"):format(n & mask))
    n = n >> base_bits
  end
  return table.concat(digits)
end

local format_float

local function character(value)
  if value < 0 or value > 0x10FFFF then R.raise("OverflowError", "%c arg not in range(0x110000)") end
  return utf8.char(value)
end

local function format_int(value, spec)
  local k <const> = spec.kind
  if k ~= "" and ("eEfFgG%"):find(k, 1, true) then return format_float(value * 1.0, spec) end
  if spec.precision then R.raise("ValueError", "Precision not allowed in integer format specifier") end
  if k == "c" then return pad(character(value), spec, "<") end
  local digits, prefix, every = nil, "", 3
  local magnitude <const> = value < 0 and -value or value
  if k == "" or k == "d" or k == "n" then
    digits = ("%d"):format(magnitude):gsub("^-", "")
  elseif k == "x" or k == "X" then
    digits, prefix, every = ("%x"):format(magnitude), "0x", 4
  elseif k == "o" then
    digits, prefix, every = ("%o"):format(magnitude), "0o", 4
  elseif k == "b" then
    digits, prefix, every = binary(magnitude, 1), "0b", 4
  else
    R.raise("ValueError", "Unknown format code '%s' for object of type 'int'", k)
  end
  if not spec.alternate then prefix = "" end
  if k == "X" then digits, prefix = digits:upper(), prefix:upper() end
  return number_field(value < 0, prefix, digits, "", spec, every)
end

function format_float(value, spec)
  local k <const> = spec.kind
  local negative <const> = value < 0 or (value == 0 and 1 / value < 0)
  local magnitude <const> = math.abs(value)
  local text
  if value ~= value or magnitude == math.huge then
    text = value ~= value and "nan" or "inf"
    if k == "E" or k == "F" or k == "G" then text = text:upper() end
    if k == "%" then text = text .. "%" end
    return number_field(value == -math.huge, "", text, "", { width = spec.width, fill = spec.fill, align = spec.align, sign = spec.sign }, 3)
  elseif k == "" then
    if spec.precision then
      text = ops.number_text("g", math.max(spec.precision, 1), false, magnitude)
      local exponent <const> = tonumber(ops.number_text("e", math.max(spec.precision, 1) - 1, false, magnitude):match "e([+-]%d+)$")
      if exponent >= spec.precision and not text:find "e" then
        text = ops.number_text("e", math.max(spec.precision, 1) - 1, false, magnitude)
        text = text:gsub("%.?0+e", "e")
      end
      if not text:find "[%.e]" then text = text .. ".0" end
    else
      text = ops.float_repr(magnitude)
    end
  elseif k == "%" then
    text = ops.number_text("f", spec.precision or 6, spec.alternate, magnitude * 100) .. "%"
  elseif ("eEfFgG"):find(k, 1, true) then
    local precision = spec.precision or 6
    if (k == "g" or k == "G") and precision == 0 then precision = 1 end
    text = ops.number_text(k, precision, spec.alternate, magnitude)
  elseif k == "n" then
    text = ops.number_text("g", spec.precision or 6, spec.alternate, magnitude)
  else
    R.raise("ValueError", "Unknown format code '%s' for object of type 'float'", k)
  end
  local whole <const>, rest <const> = text:match "^(%d*)(.*)$"
  local zero <const> = spec.no_negative_zero and not text:find "[1-9]"
  return number_field(negative and not zero, "", whole, rest, spec, 3)
end

local function format_str(value, spec)
  if spec.kind ~= "" and spec.kind ~= "s" then R.raise("ValueError", "Unknown format code '%s' for object of type 'str'", spec.kind) end
  if spec.sign then R.raise("ValueError", "Sign not allowed in string format specifier") end
  if spec.group then R.raise("ValueError", "Cannot specify '%s' with 's'.", spec.group) end
  if spec.align == "=" and not spec.zero then R.raise("ValueError", "'=' alignment not allowed in string format specifier") end
  if spec.zero then spec.align = "<" end
  if spec.precision then
    local points <const> = ops.str_points(value)
    value = table.concat(points, "", 1, math.min(spec.precision, #points))
  end
  return pad(value, spec, "<")
end

function R.format(value, spec)
  local t <const> = type(value)
  if spec == "" then
    if t == "string" then return value end
    local mt <const> = t ~= "number" and t ~= "boolean" and getmetatable(value)
    if type(mt) == "table" and mt.__pyformat then return mt.__pyformat(value, "") end
    return R.str(value)
  end
  if t == "string" then return format_str(value, parse_spec(spec, value)) end
  if t == "boolean" then
    local parsed <const> = parse_spec(spec, value)
    if parsed.kind == "s" or (parsed.kind == "" and not parsed.precision) then
      if parsed.kind == "s" then R.raise("ValueError", "Unknown format code 's' for object of type 'bool'") end
    end
    return format_int(value and 1 or 0, parsed)
  end
  if t == "number" then
    local parsed <const> = parse_spec(spec, value)
    if math.type(value) == "integer" then return format_int(value, parsed) end
    return format_float(value, parsed)
  end
  local mt <const> = getmetatable(value)
  if type(mt) == "table" and mt.__pyformat then return mt.__pyformat(value, spec) end
  R.raise("TypeError", "unsupported format string passed to %s.__format__", R.type_name(value))
end

-- A field of an f-string.
function R.format_field(value, conversion, spec)
  if conversion == "r" then
    value = repr(value)
  elseif conversion == "s" then
    value = R.str(value)
  elseif conversion == "a" then
    value = R.call(R.builtins.ascii, value)
  end
  return R.format(value, spec)
end

X.CONCAT = table.concat

-- str.format ------------------------------------------------------------------------------------------------------------------

function R.str_format(text, args, kwargs)
  local automatic, manual = 0, false
  local function switched(from, to) R.raise("ValueError", "cannot switch from %s to %s", from, to) end
  local function field_value(name)
    local head <const>, rest <const> = name:match "^([^%.%[]*)(.*)$"
    local value
    if head == "" then
      if manual then switched("manual field specification", "automatic field numbering") end
      automatic = automatic + 1
      value = args[automatic]
      if value == nil then R.raise("IndexError", "Replacement index %d out of range for positional args tuple", automatic - 1) end
    elseif head:find "^%d+$" then
      if automatic > 0 then switched("automatic field numbering", "manual field specification") end
      manual = true
      value = args[tonumber(head) + 1]
      if value == nil then R.raise("IndexError", "Replacement index %s out of range for positional args tuple", head) end
    else
      value = kwargs and ops.dict_get(kwargs, head)
      if value == nil then R.key_error(head) end
    end
    for dot, attr, index in rest:gmatch "(%.?)([%w_]*)%[?([^%]%.%[]*)%]?" do
      if dot == "." then
        if R.internals[attr] then R.refuse_internal(attr) end
        value = ops.ATTR(ops.site(), value, attr)
      elseif index ~= "" then
        value = ops.GETITEM(ops.site(), value, math.tointeger(tonumber(index)) or index)
      end
    end
    return value
  end
  local function fill(template, level)
    if level > 2 then R.raise("ValueError", "Max string recursion exceeded") end
    local out <const> = {}
    local at = 1
    while at <= #template do
      local brace <const> = template:find("[{}]", at)
      if not brace then
        out[#out + 1] = template:sub(at)
        break
      end
      out[#out + 1] = template:sub(at, brace - 1)
      local c <const> = template:sub(brace, brace)
      if template:sub(brace + 1, brace + 1) == c then
        out[#out + 1] = c
        at = brace + 2
      elseif c == "}" then
        R.raise("ValueError", "Single '}' encountered in format string")
      else
        local close, open = brace + 1, 1
        while open > 0 do
          local next_brace <const> = template:find("[{}]", close)
          if not next_brace then
            R.raise("ValueError", brace == #template and "Single '{' encountered in format string" or "expected '}' before end of string")
          end
          open = open + (template:sub(next_brace, next_brace) == "{" and 1 or -1)
          close = next_brace + 1
        end
        local body <const> = template:sub(brace + 1, close - 2)
        local name <const>, mark <const>, conversion, spec = body:match "^([^!:]*)(!?)([^:]?):?(.*)$"
        if mark == "" then conversion, spec = "", body:sub(#name + 2) end
        if mark ~= "" and not conversion:find "^[rsa]$" then
          R.raise("ValueError", conversion == "" and "unmatched '{' in format spec" or "Unknown conversion specifier %s", conversion)
        end
        local value = field_value(name)
        if conversion == "r" then value = repr(value) elseif conversion ~= "" then value = R.str(value) end
        out[#out + 1] = R.format(value, spec:find("[{}]") and fill(spec, level + 1) or spec)
        at = close
      end
    end
    return table.concat(out)
  end
  return fill(text, 1)
end

-- % -----------------------------------------------------------------------------------------------------------------------------

function R.percent_format(text, args)
  local values <const> = kind(args) == "tuple" and args or { args }
  local mapping <const> = kind(args) == "dict" and args or nil
  local used = 0
  local function take()
    used = used + 1
    if values[used] == nil then R.raise("TypeError", "not enough arguments for format string") end
    return values[used]
  end
  local out <const> = {}
  local at = 1
  while true do
    local from <const> = text:find("%", at, true)
    if not from then break end
    out[#out + 1] = text:sub(at, from - 1)
    local key, i = nil, from + 1
    if text:sub(i, i) == "(" then
      local close <const> = text:find(")", i, true)
      if not close or not mapping then R.raise("TypeError", "format requires a mapping") end
      key, i = text:sub(i + 1, close - 1), close + 1
    end
    local flags <const> = text:match("^[#0%- +]*", i)
    i = i + #flags
    local width = text:match("^%*", i) or text:match("^%d*", i)
    i = i + #width
    if width == "*" then width = tostring(take()) end
    local precision = text:match("^%.(%*)", i) or text:match("^%.(%d*)", i)
    if precision then i = i + 1 + #precision end
    if precision == "*" then precision = tostring(take()) end
    local k <const> = text:sub(i, i)
    if k == "" then R.raise("ValueError", "incomplete format") end
    at = i + 1
    if k == "%" then
      out[#out + 1] = "%"
    else
      local value
      if key then
        value = ops.dict_get(mapping, key)
        if value == nil then R.key_error(key) end
      else
        value = take()
      end
      local spec <const> = {
        fill = " ", width = width ~= "" and tonumber(width) or nil, sign = flags:match "[+]" or flags:match " ",
        alternate = flags:find("#", 1, true) ~= nil, precision = precision and (math.tointeger(tonumber(precision)) or 0) or nil,
      }
      local left <const> = flags:find("-", 1, true)
      if k == "s" or k == "r" or k == "a" then
        spec.sign, spec.kind, spec.align = nil, "s", left and "<" or ">"
        out[#out + 1] = format_str(k == "s" and R.str(value) or k == "r" and repr(value) or R.call(R.builtins.ascii, value), spec)
      else
        if type(value) ~= "number" and type(value) ~= "boolean" then
          if k == "c" and type(value) == "string" then
            out[#out + 1] = value
            goto continue
          end
          local mt <const> = getmetatable(value)
          if type(mt) == "table" and type(value) ~= "string" and mt.__pyfloat then
            value = mt.__pyfloat(value)
          else
            if ("eEfFgG"):find(k, 1, true) then R.raise("TypeError", "must be real number, not %s", R.type_name(value)) end
            local wanted <const> = ("xXoc"):find(k, 1, true) and "an integer is required" or "a real number is required"
            R.raise("TypeError", "%%%s format: %s, not %s", k, wanted, R.type_name(value))
          end
        end
        if type(value) == "boolean" then value = value and 1 or 0 end
        if left then
          spec.align = "<"
        elseif flags:find("0", 1, true) then
          spec.align, spec.fill, spec.zero = "=", "0", true
        end
        if k == "d" or k == "i" or k == "u" then
          local digits = spec.precision
          spec.kind, spec.precision, spec.alternate = "d", nil, false
          if math.type(value) == "float" then
            value = R.call(R.builtins.int, value)
          end
          if digits and #("%d"):format(math.abs(value)) < digits then
            out[#out + 1] = pad((value < 0 and "-" or "") .. ("0"):rep(digits - #("%d"):format(math.abs(value))) .. ("%d"):format(math.abs(value)), spec, ">")
          else
            out[#out + 1] = format_int(value, spec)
          end
        elseif k == "x" or k == "X" or k == "o" then
          spec.kind, spec.precision = k, nil
          if math.type(value) ~= "integer" then R.raise("TypeError", "%%%s format: an integer is required, not float", k) end
          out[#out + 1] = format_int(value, spec)
        elseif k == "c" then
          if math.type(value) ~= "integer" then R.raise("TypeError", "%c requires int or char") end
          out[#out + 1] = pad(character(value), spec, ">")
        elseif ("eEfFgG"):find(k, 1, true) then
          spec.kind = k
          out[#out + 1] = format_float(math.type(value) == "integer" and value * 1.0 or value, spec)
        else
          R.raise("ValueError", "unsupported format character '%s' (0x%x) at index %d", k, k:byte(), i - 1)
        end
      end
    end
    ::continue::
  end
  if not mapping and used < #values then
    R.raise("TypeError", "not all arguments converted during string formatting")
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

return X
