-- SPDX-License-Identifier: MIT
-- Lowering of expressions. `expr(node)` gives Lua code for a value; what must run before it goes to `self.pre` (the
-- statements in front of the current one), and `operands` keeps Python's order of evaluation by moving earlier operands
-- into temporaries when a later one needs statements of its own. So `and`, conditional expressions and comprehensions
-- need no closures, and no expression nests deeper than Lua's parser allows.
--
-- Code is text in which "\1<line>\2" asks that what follows stands on that line.

local scopes <const> = require "python.lower_scope"

local E <const> = {}

local DEPTH_MAX <const> = 40
local TEMPS_MAX <const> = 60

local inplace_names <const> = {}
for op in ("Add Sub Mult Div FloorDiv Mod Pow MatMult LShift RShift BitAnd BitOr BitXor"):gmatch "%a+" do inplace_names[op] = "I" .. op end
E.inplace_names = inplace_names

function E.quote(text)
  return '"' .. text:gsub('[%c"\\\127-\255]', function(c) return ("\\%03d"):format(c:byte()) end) .. '"'
end
local quote <const> = E.quote

function E.mangle(name)
  return (name:gsub("[\128-\255]", function(c) return ("_x%02X"):format(c:byte()) end))
end

-- temporaries -----------------------------------------------------------------------------------------------------------

function E:before(code) self.pre[#self.pre + 1] = code end

-- A fresh temporary and the code that sets it (to nil when there is no value).
function E:fresh(value)
  self.temps = self.temps + 1
  self.live_temps = self.live_temps + 1
  if self.live_temps > TEMPS_MAX then
    self.temp_table = true
    local name <const> = ("T%d[%d]"):format(self.id, self.live_temps - TEMPS_MAX)
    return name, name .. " = " .. (value or "nil") .. ";"
  end
  local name <const> = "t" .. self.temps
  return name, "local " .. name .. (value and " = " .. value or "") .. ";"
end

function E:hoist(value)
  local name <const>, code <const> = self:fresh(value)
  self:before(code)
  return name
end

-- Run fn with an empty list of statements; returns their text and what fn gave.
function E:apart(fn, ...)
  local saved <const> = self.pre
  self.pre = {}
  local a <const>, b <const> = fn(...)
  local text <const> = table.concat(self.pre, " ")
  self.pre = saved
  return text, a, b
end

-- Whether code gives the same value when it is evaluated later.
function E:stable(code)
  if code:find "^t%d+$" or code:find "^%-?[%d.]+$" or code:find "^T%d+%[%d+%]$" or code:find '^"[^"]*"$' then return true end
  if code == "true" or code == "false" or code == "None" then return true end
  local name <const> = code:match "^v_(.*)$"
  return name ~= nil and code:find "^v_[%w_]+$" ~= nil and not self.unstable[code]
end

-- Code of several operands in Python's order. An entry is a node or ready code. Returns the list and its largest depth.
function E:operands(nodes, lower)
  local codes <const>, pre <const> = {}, self.pre
  local depth = 0
  for i, node in ipairs(nodes) do
    local mark <const> = #pre
    local code, d
    if type(node) == "string" then
      code, d = node, 0
    elseif lower then
      code, d = lower(self, node)
    else
      code, d = self:expr(node)
    end
    d = d or 0
    if d > DEPTH_MAX then code, d = self:hoist(code), 0 end
    codes[i] = code
    if d > depth then depth = d end
    if #pre > mark then
      local at = mark
      for j = 1, i - 1 do
        if not self:stable(codes[j]) then
          local name <const>, text <const> = self:fresh(codes[j])
          at = at + 1
          table.insert(pre, at, text)
          codes[j] = name
        end
      end
    end
  end
  return codes, depth
end

-- entry points ----------------------------------------------------------------------------------------------------------

local kinds <const> = {}
E.kinds = kinds

-- Code and depth of an expression.
function E:expr(node)
  local lower <const> = kinds[node.type]
  if not lower then return self:refuse(node, node.type) end
  self.nesting = self.nesting + 1
  if self.nesting > 4000 then self:too_deep(node) end
  local mark = ""
  if node.lineno and node.lineno ~= self.line then
    self.line = node.lineno
    mark = "\1" .. node.lineno .. "\2"
  end
  local code <const>, depth <const> = lower(self, node)
  self.nesting = self.nesting - 1
  return mark .. code, depth or 0
end

function E:call(helper, ...) return self:h(helper) .. "(" .. table.concat({ ... }, ", ") .. ")" end

-- names -----------------------------------------------------------------------------------------------------------------

function E:global_name(name)
  if self.module.lua_name(name) then return "G." .. name end
  return "G[" .. quote(name) .. "]"
end

-- The Lua variable of a Python variable.
function E:variable(var)
  if var.lua then return var.lua end
  local mangled <const> = E.mangle(var.name)
  if var.scope.kind == "comp" then
    var.lua = ("c%d_%s"):format(var.scope.id, mangled)
  elseif var.spilled then
    var.lua = ("S%d[%s]"):format(var.scope.id, quote(var.name))
  else
    var.lua = "v_" .. mangled
  end
  return var.lua
end

function kinds.Name(self, node)
  local name <const> = node.id
  local kind <const>, var <const> = scopes.resolve(self.scope, name)
  if kind == "global" then
    if not var and not self.module.star_import then
      if self.module.builtin(name) then return "B." .. name end
      if name == "__name__" or name == "__file__" or name == "__doc__" then return "G." .. name end
      return self:call("UNDEFINED", self:site(node), quote(name)), 1
    end
    return self:global_name(name)
  elseif kind == "class" then
    return self:call("CLASSNAME", "ns", "G", quote(name)), 1
  end
  local lua <const> = self:variable(var)
  if self:is_assigned(var) then return lua end
  return self:call(kind == "local" and "UNBOUND" or "FREE", self:site(node), lua, quote(name)), 1
end

-- constants -------------------------------------------------------------------------------------------------------------

function kinds.Constant(self, node)
  local kind <const>, value <const> = node.kind_of, node.value
  if kind == "None" then return "None" end
  if kind == "bool" then return value and "true" or "false" end
  if kind == "int" then
    if value == math.mininteger then return "0x8000000000000000" end
    return ("%d"):format(value)
  end
  if kind == "float" then
    if value ~= value then return self:h "NAN" end
    if value == math.huge then return self:h "INF" end
    return ("%.17g"):format(value):find "[%.e]" and ("%.17g"):format(value) or ("%.17g.0"):format(value)
  end
  if kind == "str" then return quote(value) end
  if kind == "ellipsis" then return self:h "Ellipsis" end
  if kind == "bytes" then return self:call("BYTES", quote(value)), 1 end
  if kind == "bigint" then return self:call("BIGINT", self:site(node), quote(value)), 1 end
  return self:refuse(node, kind .. " constants")
end

-- operators -------------------------------------------------------------------------------------------------------------

function kinds.BinOp(self, node)
  -- Left-leaning chains can be thousands of operators long: walk their spine instead of recursing.
  local spine <const> = { node }
  while spine[#spine].left.type == "BinOp" do spine[#spine + 1] = spine[#spine].left end
  local code, depth = self:expr(spine[#spine].left)
  for i = #spine, 1, -1 do
    local op <const> = spine[i]
    if depth > DEPTH_MAX then code, depth = self:hoist(code), 0 end
    local codes <const>, d <const> = self:operands { code, op.right }
    if d > depth then depth = d end
    code = self:call(op.op, self:site(op), codes[1], codes[2])
    depth = depth + 1
  end
  return code, depth
end

function kinds.UnaryOp(self, node)
  if node.op == "Not" then
    local code, depth = self:cond(node.operand)
    if depth > DEPTH_MAX then code, depth = self:hoist(code), 0 end
    return "(not " .. code .. ")", depth + 1
  end
  local operand <const> = node.operand
  if operand.type == "Constant" and node.op == "USub" then
    if operand.kind_of == "int" then return ("%d"):format(-operand.value) end
    if operand.kind_of == "bigint" and operand.value == "9223372036854775808" then return "0x8000000000000000" end
    if operand.kind_of == "float" then return "-" .. kinds.Constant(self, operand) end
  end
  local code, depth = self:expr(operand)
  if depth > DEPTH_MAX then code, depth = self:hoist(code), 0 end
  return self:call(node.op, self:site(node), code), depth + 1
end

local constant_is <const> = { None = "None", bool = true, ellipsis = "Ellipsis" }

-- One comparison as code; `truth` asks for a Lua boolean.
function E:comparison(node, op, left, right, right_node, truth)
  if op == "Is" or op == "IsNot" then
    local plain <const> = right_node.type == "Constant" and constant_is[right_node.kind_of]
    local code <const> = plain and ("(%s == %s)"):format(left, right) or self:call("IS", left, right)
    return op == "Is" and code or "(not " .. code .. ")"
  end
  if op == "In" or op == "NotIn" then return self:call(op, self:site(node), left, right) end
  return self:call(truth and "T" .. op or op, self:site(node), left, right)
end

function E:compare(node, truth)
  if #node.ops == 1 then
    local codes <const>, depth <const> = self:operands { node.left, node.comparators[1] }
    return self:comparison(node, node.ops[1], codes[1], codes[2], node.comparators[1], truth), depth + 1
  end
  local left = self:expr(node.left)
  if not self:stable(left) then left = self:hoist(left) end
  local result
  local closers = 0
  for i, op in ipairs(node.ops) do
    local codes <const> = self:operands { left, node.comparators[i] }
    local right = codes[2]
    if i < #node.ops and not self:stable(right) then right = self:hoist(right) end
    local code <const> = self:comparison(node, op, codes[1], right, node.comparators[i], truth)
    if not result then
      result = self:hoist(code)
    else
      self:before(result .. " = " .. code .. ";")
    end
    if i < #node.ops then
      self:before(("if %s then"):format(truth and result or self:call("TRUE", result, self:site(node))))
      closers = closers + 1
    end
    left = right
  end
  self:before(("end "):rep(closers))
  return result, 0
end

function kinds.Compare(self, node) return self:compare(node, false) end

function kinds.BoolOp(self, node)
  local is_and <const> = node.op == "And"
  local result <const> = self:hoist((self:expr(node.values[1])))
  -- `go` says whether the next value is wanted; the values stand one after another, however many there are.
  local go <const> = #node.values > 2 and self:hoist((is_and and "" or "not ") .. self:call("TRUE", result, self:site(node.values[1]))) or nil
  for i = 2, #node.values do
    local text <const>, code <const> = self:apart(self.expr, self, node.values[i])
    local test <const> = go or (is_and and "" or "not ") .. self:call("TRUE", result, self:site(node.values[1]))
    local again <const> = i < #node.values and ("%s = %s%s;"):format(go, is_and and "" or "not ", self:call("TRUE", result, self:site(node.values[i]))) or ""
    self:before(("if %s then %s %s = %s; %s end"):format(test, text, result, code, again))
  end
  return result
end

function kinds.IfExp(self, node)
  local test <const> = self:cond(node.test)
  local result <const>, declare <const> = self:fresh()
  local yes_text <const>, yes <const> = self:apart(self.expr, self, node.body)
  local no_text <const>, no <const> = self:apart(self.expr, self, node.orelse)
  self:before(declare)
  self:before(("if %s then %s %s = %s; else %s %s = %s; end"):format(test, yes_text, result, yes, no_text, result, no))
  return result
end

-- A condition: code of a Lua boolean.
function E:cond(node)
  if node.lineno and node.lineno ~= self.line then
    self.line = node.lineno
    local code <const>, depth <const> = self:cond(node)
    return "\1" .. node.lineno .. "\2" .. code, depth
  end
  if node.type == "Compare" then
    if #node.ops == 1 or self.nesting < 2000 then return self:compare(node, true) end
  elseif node.type == "UnaryOp" and node.op == "Not" then
    local code <const>, depth <const> = self:cond(node.operand)
    return "(not " .. code .. ")", depth + 1
  elseif node.type == "Constant" and (node.kind_of == "bool" or node.kind_of == "None") then
    return node.value == true and "true" or "false", 0
  elseif node.type == "BoolOp" then
    local is_and <const> = node.op == "And"
    local result
    local plain, depth = self:cond(node.values[1])
    for i = 2, #node.values do
      local text <const>, code <const>, d <const> = self:apart(self.cond, self, node.values[i])
      if text == "" and not result and depth < DEPTH_MAX and i < 30 then
        plain = ("(%s %s %s)"):format(plain, is_and and "and" or "or", code)
        depth = math.max(depth, d or 0) + 1
      else
        if not result then
          result = self:hoist(plain)
        end
        self:before(("if %s%s then %s %s = %s; end"):format(is_and and "" or "not ", result, text, result, code))
      end
    end
    if not result then return plain, depth end
    return result, 0
  end
  local code <const>, depth <const> = self:expr(node)
  return self:call("TRUE", code, self:site(node)), depth + 1
end

function kinds.NamedExpr(self, node)
  local code <const> = self:expr(node.value)
  local value <const> = self:hoist(code)
  local kind <const>, var <const> = scopes.resolve(scopes.walrus_scope(self.scope), node.target.id)
  if kind == "global" then
    self:before(self:global_name(node.target.id) .. " = " .. value .. ";")
  elseif kind == "class" then
    self:before(self:call("CLASSSET", "ns", quote(node.target.id), value) .. ";")
  else
    self:before(self:variable(var) .. " = " .. value .. ";")
  end
  return value
end

-- displays --------------------------------------------------------------------------------------------------------------

local function has_star(elts)
  for _, e in ipairs(elts) do
    if e.type == "Starred" then return true end
  end
  return false
end
E.has_star = has_star

-- A plain Lua table of the elements; starred ones are spread.
function E:elements(elts)
  if not has_star(elts) then
    local codes <const>, depth <const> = self:operands(elts)
    return "{" .. table.concat(codes, ", ") .. "}", depth + 1
  end
  local result <const> = self:hoist "{}"
  local count <const> = self:hoist "0"
  for _, e in ipairs(elts) do
    if e.type == "Starred" then
      local code <const> = self:expr(e.value)
      self:before(("%s; %s = #%s;"):format(self:call("EXTEND", self:site(e.value), result, code, "true"), count, result))
    else
      local code <const> = self:expr(e)
      self:before(("%s = %s + 1; %s[%s] = %s;"):format(count, count, result, count, code))
    end
  end
  return result
end

function kinds.List(self, node)
  local code <const>, depth <const> = self:elements(node.elts)
  return self:call("LIST", code), (depth or 0) + 1
end

function kinds.Tuple(self, node)
  local code <const>, depth <const> = self:elements(node.elts)
  return self:call("TUPLE", code), (depth or 0) + 1
end

function kinds.Set(self, node)
  local code <const>, depth <const> = self:elements(node.elts)
  return self:call("SET", code, self:site(node)), (depth or 0) + 1
end

function kinds.Dict(self, node)
  local flat <const> = {}
  for i, value in ipairs(node.values) do
    if not node.keys[i] then
      local result <const> = self:hoist(self:call("DICT", "{}", 0))
      for j, v in ipairs(node.values) do
        if node.keys[j] then
          local codes <const> = self:operands { node.keys[j], v }
          self:before(self:call("SETITEM", self:site(node), result, codes[1], codes[2]) .. ";")
        else
          local code <const> = self:expr(v)
          self:before(self:call("UPDATE", self:site(v), result, code) .. ";")
        end
      end
      return result
    end
    flat[#flat + 1] = node.keys[i]
    flat[#flat + 1] = value
  end
  local codes <const>, depth <const> = self:operands(flat)
  return self:call("DICT", "{" .. table.concat(codes, ", ") .. "}", self:site(node)), depth + 2
end

-- f-strings -------------------------------------------------------------------------------------------------------------

local conversions <const> = { [115] = '"s"', [114] = '"r"', [97] = '"a"' }

function kinds.FormattedValue(self, node)
  local spec <const> = node.format_spec or { type = "Constant", kind_of = "str", value = "" }
  local codes <const>, depth <const> = self:operands { node.value, spec }
  return self:call("FORMAT", self:site(node), codes[1], conversions[node.conversion] or '""', codes[2]), depth + 1
end

function kinds.JoinedStr(self, node)
  if #node.values == 0 then return '""' end
  local codes <const>, depth <const> = self:operands(node.values)
  if #codes == 1 then return codes[1], depth end
  if #codes > 20 then return self:call("CONCAT", "{" .. table.concat(codes, ", ") .. "}"), depth + 2 end
  return "(" .. table.concat(codes, " .. ") .. ")", depth + #codes
end

-- attributes and subscripts ---------------------------------------------------------------------------------------------

-- Whether the expression is a name (or an attribute of one) that only a module-level import binds.
function E:is_imported(node)
  while node.type == "Attribute" do node = node.value end
  if node.type ~= "Name" then return false end
  local kind <const>, var <const> = scopes.resolve(self.scope, node.id)
  return kind == "global" and var ~= nil and var.import == true
end

function kinds.Attribute(self, node)
  local code, depth = self:expr(node.value)
  if depth > DEPTH_MAX then code, depth = self:hoist(code), 0 end
  if self:is_imported(node.value) then
    local place <const> = self:cache_place()
    return ("(K[%d] or %s)"):format(place, self:call("KATTR", "K", place, self:site(node), code, quote(node.attr))), depth + 1
  end
  return self:call("ATTR", self:site(node), code, quote(self:private(node.attr))), depth + 1
end

local function none_or(part) return part or "None" end

-- A subscript's index as format and operands, or nil when it is one plain value.
function E:index_parts(slice)
  local list
  if slice.type == "Tuple" and #slice.elts > 1 and #slice.elts <= 30 and not has_star(slice.elts) then
    list = slice.elts
  elseif slice.type == "Slice" then
    list = { slice }
  elseif slice.type == "Constant" and (slice.kind_of == "ellipsis" or slice.kind_of == "None") then
    list = { slice }
  else
    return nil
  end
  local format <const>, parts <const> = {}, {}
  for _, item in ipairs(list) do
    if item.type == "Slice" then
      format[#format + 1] = "s"
      parts[#parts + 1] = none_or(item.lower)
      parts[#parts + 1] = none_or(item.upper)
      parts[#parts + 1] = none_or(item.step)
    elseif item.type == "Constant" and item.kind_of == "ellipsis" then
      format[#format + 1] = "e"
    elseif item.type == "Constant" and item.kind_of == "None" then
      format[#format + 1] = "n"
    else
      format[#format + 1] = "i"
      parts[#parts + 1] = item
    end
  end
  return table.concat(format), parts
end

function kinds.Slice(self, node)
  local codes <const>, depth <const> = self:operands { none_or(node.lower), none_or(node.upper), none_or(node.step) }
  return self:call("SLICE", table.unpack(codes)), depth + 1
end

function kinds.Subscript(self, node)
  local format <const>, parts <const> = self:index_parts(node.slice)
  if not format then
    local codes <const>, depth <const> = self:operands { node.value, node.slice }
    return self:call("GETITEM", self:site(node), codes[1], codes[2]), depth + 1
  end
  local codes <const>, depth <const> = self:operands { node.value, table.unpack(parts) }
  local object <const> = table.remove(codes, 1)
  return self:call("SUBSCRIPT", self:site(node), object, quote(format), table.unpack(codes)), depth + 1
end

function kinds.Starred(self, node) return self:refuse(node, "a starred expression here") end

function kinds.Yield(self, node)
  local code <const> = node.value and self:expr(node.value) or "None"
  return self:hoist(self:call("YIELD", code))
end

function kinds.YieldFrom(self, node)
  local code <const> = self:hoist((self:expr(node.value)))
  local item <const> = self:fresh()
  self:before(("for _, %s in %s do %s; end"):format(item:gsub("[%[%]]", "_"), self:call("ITER", self:site(node), code),
    self:call("YIELD", (item:gsub("[%[%]]", "_")))))
  return self:call("RETURNED", code), 1
end

return E
