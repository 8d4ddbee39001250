-- SPDX-License-Identifier: MIT
-- Scopes of a Python module: which names each module, function, class and comprehension binds, and what a name means
-- where it is used. `analyse(tree)` returns the module's scope; every node that opens a scope is a key of `scopes`.
--
-- A scope: { kind = "module"|"function"|"class"|"comp", parent, node, names = {name -> variable}, order = {variables},
--   globals = {name}, nonlocals = {name}, children }
-- A variable: { name, scope, param, bindings = how many places bind it, def = the FunctionDef that is its only binding,
--   import = bound by import statements alone, deleted, rebound = changed by an inner function or a walrus, captured }

local scopes <const> = {}

local function new_scope(kind, parent, node)
  local scope <const> = { kind = kind, parent = parent, node = node, names = {}, order = {}, globals = {}, nonlocals = {}, children = {} }
  if parent then parent.children[#parent.children + 1] = scope end
  return scope
end

local function variable(scope, name)
  local var = scope.names[name]
  if not var then
    var = { name = name, scope = scope, bindings = 0 }
    scope.names[name] = var
    scope.order[#scope.order + 1] = var
  end
  return var
end

local function module_of(scope)
  while scope.parent do scope = scope.parent end
  return scope
end

-- Bind a name; `how` is the node that binds it (a FunctionDef or an import) or nil.
local function bind(scope, name, how)
  local target = scope
  if scope.globals[name] then
    target = module_of(scope)
  elseif scope.nonlocals[name] then
    return -- counted by `settle`
  end
  local var <const> = variable(target, name)
  var.bindings = var.bindings + 1
  var.def = how and how.type == "FunctionDef" and var.bindings == 1 and target == scope and how or nil
  local is_import <const> = how and (how.type == "Import" or how.type == "ImportFrom")
  var.import = is_import and (var.bindings == 1 or var.import) or false
  return var
end

local visit

local function visit_list(list, scope, state)
  for _, node in ipairs(list or {}) do
    if node then visit(node, scope, state) end
  end
end

-- The scope in which a walrus inside comprehensions binds.
function scopes.walrus_scope(scope)
  while scope.kind == "comp" or (scope.node and scope.node.type == "GeneratorExp") do scope = scope.parent end
  return scope
end

local function parameters(args)
  local out <const> = {}
  for _, list in ipairs { args.posonlyargs, args.args } do
    for _, a in ipairs(list) do out[#out + 1] = a end
  end
  if args.vararg then out[#out + 1] = args.vararg end
  for _, a in ipairs(args.kwonlyargs) do out[#out + 1] = a end
  if args.kwarg then out[#out + 1] = args.kwarg end
  return out
end
scopes.parameters = parameters

-- The class expression of an `except` clause (CPython calls the field `type`, which names the kind of node here).
function scopes.handler_class(node) return node.exception end

-- global and nonlocal hold for the whole function, so they are found before its body is visited.
local function declarations(list, scope)
  for _, node in ipairs(list or {}) do
    if node.type == "Global" then
      for _, name in ipairs(node.names) do scope.globals[name] = true end
    elseif node.type == "Nonlocal" then
      for _, name in ipairs(node.names) do scope.nonlocals[name] = true end
    elseif node.type ~= "FunctionDef" and node.type ~= "ClassDef" and node.type ~= "AsyncFunctionDef" then
      for _, field in ipairs { "body", "orelse", "finalbody" } do
        if type(node[field]) == "table" and node[field][1] then declarations(node[field], scope) end
      end
      for _, handler in ipairs(node.handlers or {}) do declarations(handler.body, scope) end
    end
  end
end

local function function_scope(node, scope, state)
  local args <const> = node.args
  visit_list(args.defaults, scope, state)
  visit_list(args.kw_defaults, scope, state)
  local inner <const> = new_scope("function", scope, node)
  state.scopes[node] = inner
  for _, a in ipairs(parameters(args)) do
    local var <const> = variable(inner, a.arg)
    var.param, var.bindings = true, var.bindings + 1
  end
  if node.type == "Lambda" then
    visit(node.body, inner, state)
  else
    declarations(node.body, inner)
    visit_list(node.body, inner, state)
  end
end

local function comprehension(node, scope, state)
  local generator <const> = node.type == "GeneratorExp"
  visit(node.generators[1].iter, scope, state)
  local inner <const> = new_scope(generator and "function" or "comp", scope, node)
  state.scopes[node] = inner
  for i, gen in ipairs(node.generators) do
    if i > 1 then visit(gen.iter, inner, state) end
    visit(gen.target, inner, state)
    visit_list(gen.ifs, inner, state)
  end
  for _, field in ipairs { "elt", "key", "value" } do
    if node[field] then visit(node[field], inner, state) end
  end
end

local visitors <const> = {}

function visitors.Name(node, scope, state)
  if node.ctx == "Load" then
    state.uses[#state.uses + 1] = { scope, node.id }
  else
    local var <const> = bind(scope, node.id)
    if var and node.ctx == "Del" then var.deleted = true end
  end
end

function visitors.FunctionDef(node, scope, state)
  bind(scope, node.name, node)
  visit_list(node.decorator_list, scope, state)
  function_scope(node, scope, state)
end
visitors.AsyncFunctionDef = visitors.FunctionDef

function visitors.Lambda(node, scope, state) function_scope(node, scope, state) end

function visitors.ClassDef(node, scope, state)
  bind(scope, node.name)
  visit_list(node.decorator_list, scope, state)
  visit_list(node.bases, scope, state)
  for _, k in ipairs(node.keywords) do visit(k.value, scope, state) end
  local inner <const> = new_scope("class", scope, node)
  state.scopes[node] = inner
  declarations(node.body, inner)
  visit_list(node.body, inner, state)
end

visitors.ListComp, visitors.SetComp, visitors.DictComp, visitors.GeneratorExp = comprehension, comprehension, comprehension, comprehension

function visitors.NamedExpr(node, scope, state)
  local var <const> = bind(scopes.walrus_scope(scope), node.target.id)
  if var then var.rebound = true end
  visit(node.value, scope, state)
end

function visitors.Import(node, scope)
  for _, alias in ipairs(node.names) do bind(scope, alias.asname or alias.name:match "^[^.]+", node) end
end

function visitors.ImportFrom(node, scope, state)
  for _, alias in ipairs(node.names) do
    if alias.name == "*" then state.star_import = true else bind(scope, alias.asname or alias.name, node) end
  end
end

local function except_handler(node, scope, state)
  local class <const> = scopes.handler_class(node)
  if class then visit(class, scope, state) end
  if node.name then
    local var <const> = bind(scope, node.name)
    if var then var.deleted = true end
  end
  visit_list(node.body, scope, state)
end

function visitors.Try(node, scope, state)
  visit_list(node.body, scope, state)
  for _, handler in ipairs(node.handlers) do except_handler(handler, scope, state) end
  visit_list(node.orelse, scope, state)
  visit_list(node.finalbody, scope, state)
end
visitors.TryStar = visitors.Try

function visitors.AnnAssign(node, scope, state)
  visit(node.target, scope, state)
  if node.value then visit(node.value, scope, state) end
end

function visitors.Global() end
visitors.Nonlocal = visitors.Global

function visitors.Yield(node, scope, state)
  local fn = scope
  while fn.kind == "comp" do fn = fn.parent end
  fn.generator = true
  if node.value then visit(node.value, scope, state) end
end
visitors.YieldFrom = visitors.Yield

function visit(node, scope, state)
  local visitor <const> = visitors[node.type]
  if visitor then return visitor(node, scope, state) end
  for key, child in pairs(node) do
    if type(child) == "table" and key ~= "parent" then
      if child.type then
        visit(child, scope, state)
      elseif child[1] ~= nil then
        for _, item in ipairs(child) do
          if type(item) == "table" and (item.type or item.arg or item.value or item.context_expr) then visit(item, scope, state) end
        end
      end
    end
  end
end

-- What `name` means in `scope`: "local", variable · "free", variable · "class", variable · "global"
function scopes.resolve(scope, name)
  if scope.globals[name] then return "global", module_of(scope).names[name] end
  local var <const> = scope.names[name]
  if var then
    if scope.kind == "module" then return "global", var end
    return scope.kind == "class" and "class" or "local", var
  end
  local outer = scope.parent
  local inline = scope.kind == "comp" -- still in the same Lua function
  while outer do
    if outer.kind ~= "class" and outer.kind ~= "module" then
      if outer.globals[name] then return "global", module_of(outer).names[name] end
      local found <const> = outer.names[name]
      if found then return inline and "local" or "free", found end
    end
    if outer.kind ~= "comp" then inline = false end
    outer = outer.parent
  end
  return "global", module_of(scope).names[name]
end

-- Variables that inner functions capture or change.
local function settle(scope)
  for name in pairs(scope.nonlocals) do
    local _, var <const> = scopes.resolve(scope, name)
    if var then var.rebound, var.captured, var.def, var.bindings = true, true, nil, var.bindings + 1 end
  end
  for _, child in ipairs(scope.children) do settle(child) end
end

function scopes.analyse(tree)
  local root <const> = new_scope("module", nil, tree)
  local state <const> = { scopes = { [tree] = root }, uses = {}, star_import = false }
  visit_list(tree.body, root, state)
  settle(root)
  for _, use in ipairs(state.uses) do
    local kind <const>, var <const> = scopes.resolve(use[1], use[2])
    if kind == "free" then var.captured = true end
  end
  return root, state.scopes, state.star_import
end

return scopes
