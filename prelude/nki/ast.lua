-- SPDX-License-Identifier: MIT
-- Reading a Python syntax tree (the tables of rt.python.parse): walks, parents, names. No state, nothing fails.

local ast <const> = {}

-- Children of a node in source order are in these fields, whatever the node's type.
local SKIP <const> = { type = true, lineno = true, col_offset = true, end_lineno = true, end_col_offset = true, parent = true }

local function is_node(value) return type(value) == "table" and type(value.type) == "string" end

-- Call visit(child, field) for each direct child node.
function ast.children(node, visit)
  for field, value in pairs(node) do
    if not SKIP[field] and type(value) == "table" then
      if is_node(value) then
        visit(value, field)
      else
        for _, item in ipairs(value) do
          if is_node(item) then visit(item, field) end
        end
      end
    end
  end
end

-- Depth first, in source order; visit(node, parent, field) returns false to skip what is below a node.
function ast.walk(node, visit, parent, field)
  if visit(node, parent, field) == false then return end
  local below <const> = {}
  ast.children(node, function(child, name) below[#below + 1] = { child, name } end)
  table.sort(below, function(a, b)
    local x <const>, y <const> = a[1], b[1]
    local lx <const>, ly <const> = x.lineno or 0, y.lineno or 0
    if lx ~= ly then return lx < ly end
    return (x.col_offset or 0) < (y.col_offset or 0)
  end)
  for _, item in ipairs(below) do ast.walk(item[1], visit, node, item[2]) end
end

-- A table from every node to its parent.
function ast.parents(tree)
  local parents <const> = {}
  local function down(node)
    ast.children(node, function(child)
      parents[child] = node
      down(child)
    end)
  end
  down(tree)
  return parents
end

local STATEMENTS <const> = {
  FunctionDef = true, AsyncFunctionDef = true, ClassDef = true, Return = true, Delete = true, Assign = true, AugAssign = true,
  AnnAssign = true, For = true, AsyncFor = true, While = true, If = true, With = true, AsyncWith = true, Match = true,
  Raise = true, Try = true, TryStar = true, Assert = true, Import = true, ImportFrom = true, Global = true,
  Nonlocal = true, Expr = true, Pass = true, Break = true, Continue = true, TypeAlias = true,
}
function ast.is_statement(node) return STATEMENTS[node.type] == true end

-- The statement a node belongs to, and the nearest enclosing node of one of the given types.
function ast.statement(node, parents)
  while node and not STATEMENTS[node.type] do node = parents[node] end
  return node
end

function ast.enclosing(node, parents, types)
  node = parents[node]
  while node and not types[node.type] do node = parents[node] end
  return node
end

-- The statement list a statement is in and its place there.
function ast.block(statement, parents)
  local parent <const> = parents[statement]
  if not parent then return nil end
  for _, field in ipairs { "body", "orelse", "finalbody", "handlers" } do
    local list <const> = parent[field]
    if type(list) == "table" then
      for i, item in ipairs(list) do
        if item == statement then return list, i, parent end
      end
    end
  end
  return nil
end

-- A dotted name as text ("nl.tile_size.pmax"), or nil for anything else.
function ast.dotted(node)
  if not node then return nil end
  if node.type == "Name" then return node.id end
  if node.type == "Attribute" then
    local base <const> = ast.dotted(node.value)
    return base and base .. "." .. node.attr
  end
  return nil
end

-- The name at the root of `a`, `a[...]`, `a.f(...)[...]`; nil when there is none.
function ast.root(node)
  while node do
    if node.type == "Name" then return node.id, node end
    if node.type == "Attribute" or node.type == "Subscript" or node.type == "Starred" then
      node = node.value
    elseif node.type == "Call" then
      node = node.func
    else
      return nil
    end
  end
  return nil
end

-- The argument of a call: by keyword, else by position (1-based). Returns its value node, its keyword node if any.
function ast.argument(call, name, position)
  for _, keyword in ipairs(call.keywords or {}) do
    if keyword.arg == name then return keyword.value, keyword end
  end
  local value <const> = position and call.args and call.args[position]
  if value and value.type ~= "Starred" then return value, nil, position end
  return nil
end

-- Names used (loaded) anywhere below a node, as a set.
function ast.loads(node)
  local set <const> = {}
  ast.walk(node, function(child)
    if child.type == "Name" and child.ctx ~= "Store" then set[child.id] = true end
  end)
  return set
end

-- Names bound by an assignment target.
function ast.targets(node, set)
  set = set or {}
  if node.type == "Name" then
    set[node.id] = true
  elseif node.type == "Tuple" or node.type == "List" then
    for _, item in ipairs(node.elts) do ast.targets(item, set) end
  elseif node.type == "Starred" then
    ast.targets(node.value, set)
  end
  return set
end

-- What the module's imports call things: {nl="nki.language", nisa="nki.isa", np="numpy", add="nki.language.add"}.
-- Imports inside functions count too.
function ast.imports(tree)
  local names <const>, nodes <const> = {}, {}
  ast.walk(tree, function(node)
    if node.type == "Import" then
      for _, alias in ipairs(node.names) do
        local bound <const> = alias.asname or alias.name:match("^[^.]+")
        names[bound] = alias.asname and alias.name or alias.name:match("^[^.]+")
        nodes[bound] = node
      end
    elseif node.type == "ImportFrom" then
      local module <const> = ("."):rep(node.level or 0) .. (node.module or "")
      for _, alias in ipairs(node.names) do
        local bound <const> = alias.asname or alias.name
        names[bound] = module:match("%.$") and module .. alias.name or module .. "." .. alias.name
        nodes[bound] = node
      end
    end
  end)
  return names, nodes
end

-- The full name of a dotted expression through the imports: nl.exp -> nki.language.exp; nil when it is no import's.
function ast.resolve(node, imports)
  local text <const> = ast.dotted(node)
  if not text then return nil end
  local head <const>, rest <const> = text:match("^([^.]+)(.*)$")
  local full <const> = imports[head]
  return full and full .. rest or nil
end

return ast
