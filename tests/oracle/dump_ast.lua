-- SPDX-License-Identifier: MIT
-- The canonical text of a tree from rt.python, as dump_ast.py writes it for CPython's.

local fields <const> = {
  Module = "body type_ignores", FunctionDef = "name args body decorator_list returns type_params",
  AsyncFunctionDef = "name args body decorator_list returns type_params",
  ClassDef = "name bases keywords body decorator_list type_params", Return = "value", Delete = "targets",
  Assign = "targets value", TypeAlias = "name type_params value", AugAssign = "target op value",
  AnnAssign = "target annotation value simple", For = "target iter body orelse", AsyncFor = "target iter body orelse",
  While = "test body orelse", If = "test body orelse", With = "items body", AsyncWith = "items body",
  Match = "subject cases", Raise = "exc cause", Try = "body handlers orelse finalbody",
  TryStar = "body handlers orelse finalbody", Assert = "test msg", Import = "names", ImportFrom = "module names level",
  Global = "names", Nonlocal = "names", Expr = "value", Pass = "", Break = "", Continue = "", BoolOp = "op values",
  NamedExpr = "target value", BinOp = "left op right", UnaryOp = "op operand", Lambda = "args body",
  IfExp = "test body orelse", Dict = "keys values", Set = "elts", ListComp = "elt generators", SetComp = "elt generators",
  DictComp = "key value generators", GeneratorExp = "elt generators", Await = "value", Yield = "value",
  YieldFrom = "value", Compare = "left ops comparators", Call = "func args keywords",
  FormattedValue = "value conversion format_spec", JoinedStr = "values", Constant = "value kind",
  Attribute = "value attr ctx", Subscript = "value slice ctx", Starred = "value ctx", Name = "id ctx",
  List = "elts ctx", Tuple = "elts ctx", Slice = "lower upper step", comprehension = "target iter ifs is_async",
  ExceptHandler = "exception name body", arguments = "posonlyargs args vararg kwonlyargs kw_defaults kwarg defaults",
  arg = "arg annotation", keyword = "arg value", alias = "name asname", withitem = "context_expr optional_vars",
  match_case = "pattern guard body", MatchValue = "value", MatchSingleton = "value", MatchSequence = "patterns",
  MatchMapping = "keys patterns rest", MatchClass = "cls patterns kwd_attrs kwd_patterns", MatchStar = "name",
  MatchAs = "pattern name", MatchOr = "patterns", TypeVar = "name bound default_value",
  ParamSpec = "name default_value", TypeVarTuple = "name default_value",
}
-- Absent when empty, or unknown to CPython 3.11.
local quiet <const> = { type_params = true, kind = true }
-- Strings that are operators or contexts, written bare.
local bare <const> = { op = true, ctx = true, ops = true }

local split <const> = {}
for kind, names in pairs(fields) do
  local list <const> = {}
  for name in names:gmatch("%S+") do list[#list + 1] = name end
  split[kind] = list
end

local function quote(text)
  return '"' .. text:gsub('[%c"\\\127-\255]', function(c) return ("\\%02x"):format(c:byte()) end) .. '"'
end

local function constant(node)
  local kind <const>, value <const> = node.kind_of, node.value
  if kind == "None" or kind == "ellipsis" then return kind end
  if kind == "bool" then return value and "bool:1" or "bool:0" end
  if kind == "int" or kind == "bigint" then return "int:" .. value end
  if kind == "float" or kind == "complex" then return ("%s:%.17g"):format(kind, value) end
  return kind .. ":" .. quote(value)
end

-- `fstring_positions`: also the positions inside f-strings.
local function dump(tree, fstring_positions)
  local out <const> = {}
  local size = 0
  local function put(text)
    size = size + 1
    out[size] = text
  end
  local write

  local function node(value, located)
    local kind <const> = value.type
    local inner <const> = located and (fstring_positions or kind ~= "JoinedStr")
    put("(" .. kind .. " ")
    for _, name in ipairs(split[kind]) do
      local field <const> = value[name]
      if name == "value" and (kind == "Constant" or kind == "MatchSingleton") then
        put(constant(value) .. " ")
      elseif field ~= nil or not (quiet[name] or kind == "TypeVar" or kind == "ParamSpec" or kind == "TypeVarTuple") then
        write(field, inner, bare[name])
      end
    end
    if located and value.lineno then
      put(("@%d:%d-%d:%d"):format(value.lineno, value.col_offset, value.end_lineno, value.end_col_offset))
    end
    put(")")
  end

  function write(value, located, is_bare)
    if not value then
      put("~ ")
    elseif type(value) == "string" then
      put((is_bare and value or quote(value)) .. " ")
    elseif type(value) == "number" then
      put(("%d "):format(value))
    elseif value.type then
      node(value, located)
      put(" ")
    else
      put("[")
      for _, item in ipairs(value) do write(item, located, is_bare) end
      put("] ")
    end
  end

  write(tree, true)
  return table.concat(out)
end

return { dump = dump }
