-- SPDX-License-Identifier: MIT
-- Which function of a file is the kernel, and which part of the file it reaches. Only that part is ever run: host code
-- around a kernel (test calls, argument parsing, environment variables) is read, never executed.
--
--   entry.find(tree, source, wanted)  -> {name=, node=, jit=bool, candidates={...}} | nil, diagnostic
--   entry.reach(tree, node)           -> {statements={kept}, functions={[node]=true}, classes={[node]=true}, dropped={...}}
--   entry.params(node)                -> {{name=, default=bool, annotation=node?, node=arg}}, {vararg=, kwarg=, keyword_only=}

local ast <const> = require "nki.ast"
local kernel_names <const> = require "nki.names"
local nearest <const> = require "nki.nearest"

local entry <const> = {}

local FUNCTION <const> = { FunctionDef = true, AsyncFunctionDef = true }

-- Is this decorator (or callee) nki.jit, in any spelling, called or not?
local function is_jit(node, imports)
  if node.type == "Call" then node = node.func end
  local full <const> = ast.resolve(node, imports) or ast.dotted(node)
  if not full then return false end
  return full == "nki.jit" or full == "nki.compiler.jit" or full:match("^neuronxcc%.nki%.jit$") ~= nil
    or full:match("^neuronxcc%.nki%.%w+$") ~= nil and (full:match("baremetal$") or full:match("benchmark$") or full:match("profile$")) ~= nil
end
entry.is_jit = is_jit

function entry.decorator(node, imports)
  for _, decorator in ipairs(node.decorator_list or {}) do
    if is_jit(decorator, imports) then return decorator end
  end
  return nil
end

-- Functions of the module's top level, in order, and names bound to nki.jit(function).
local function top_functions(tree, imports)
  local functions <const>, by_name <const>, wrapped <const> = {}, {}, {}
  local function scan(body)
    for _, statement in ipairs(body) do
      if FUNCTION[statement.type] then
        functions[#functions + 1] = statement
        by_name[statement.name] = statement
      elseif statement.type == "If" then
        scan(statement.body)
        scan(statement.orelse or {})
      elseif statement.type == "Try" then
        scan(statement.body)
      end
    end
  end
  scan(tree.body)
  for _, statement in ipairs(tree.body) do
    if statement.type == "Assign" and statement.value.type == "Call" and is_jit(statement.value.func, imports) then
      local inner <const> = statement.value.args[1]
      local target <const> = statement.targets[1]
      if inner and inner.type == "Name" and by_name[inner.id] and target.type == "Name" then
        wrapped[target.id] = by_name[inner.id]
      end
    end
  end
  return functions, by_name, wrapped
end

-- Which jit functions does another jit function of this file call? Those are helpers, not entries.
local function called_by_others(functions)
  local called <const> = {}
  for _, fn in ipairs(functions) do
    ast.walk(fn, function(node)
      if node.type == "Call" and node.func.type == "Name" and node.func.id ~= fn.name then called[node.func.id] = true end
    end)
  end
  return called
end

local function names_of(list)
  local names <const> = {}
  for _, fn in ipairs(list) do names[#names + 1] = fn.name end
  return names
end

function entry.find(tree, source, wanted)
  local imports <const> = ast.imports(tree)
  local functions <const>, by_name <const>, wrapped <const> = top_functions(tree, imports)
  local jit <const> = {}
  for _, fn in ipairs(functions) do
    if entry.decorator(fn, imports) then jit[#jit + 1] = fn end
  end
  for name, fn in pairs(wrapped) do
    if not entry.decorator(fn, imports) then jit[#jit + 1] = fn end
    by_name[name] = fn
  end
  table.sort(jit, function(a, b) return a.lineno < b.lineno end)
  local candidates <const> = names_of(jit)
  if wanted then
    local node <const> = by_name[wanted]
    if node then
      return { name = node.name, node = node, jit = entry.decorator(node, imports) ~= nil, candidates = candidates, imports = imports }
    end
    local all <const> = names_of(functions)
    local near <const> = nearest.find(wanted, all)
    return nil, {
      code = "entry-missing", severity = "error", file = source.path, line = 1, column = 1, end_line = 1, end_column = 1,
      message = ("there is no function `%s` in this file%s%s"):format(wanted, near and (" (did you mean `%s`?)"):format(near) or "",
        #all > 0 and "; it has " .. table.concat(all, ", ") or ""),
    }
  end
  if #jit > 1 then
    local called <const>, tops <const> = called_by_others(jit), {}
    for _, fn in ipairs(jit) do
      if not called[fn.name] then tops[#tops + 1] = fn end
    end
    if #tops == 1 then
      return { name = tops[1].name, node = tops[1], jit = true, candidates = candidates, imports = imports }
    end
    return nil, {
      code = "entry-ambiguous", severity = "error", file = source.path, line = jit[1].lineno, column = 1,
      end_line = jit[1].lineno, end_column = 1,
      message = ("this file has %d kernels (%s); choose one with --entry %s"):format(#jit, table.concat(candidates, ", "), candidates[1]),
      candidates = candidates,
    }
  end
  if #jit == 1 then return { name = jit[1].name, node = jit[1], jit = true, candidates = candidates, imports = imports } end
  local diagnostic <const> = {
    code = "entry-none", severity = "error", file = source.path, line = 1, column = 1, end_line = 1, end_column = 1,
  }
  if #functions == 0 then
    diagnostic.message = "this file defines no function, so there is no kernel to check"
    return nil, diagnostic
  end
  local names <const> = names_of(functions)
  diagnostic.message = ("no function of this file is decorated with @nki.jit; it has %s"):format(table.concat(names, ", "))
  diagnostic.line = functions[1].lineno
  if #functions == 1 then
    local fn <const> = functions[1]
    local alias
    for bound, full in pairs(imports) do
      if full == "nki" then alias = bound end
    end
    local first <const> = fn.decorator_list and fn.decorator_list[1] and fn.decorator_list[1].lineno or fn.lineno
    local edits <const> = { source.insert(first, 1, source:indent(first) .. "@" .. (alias or "nki") .. ".jit\n") }
    if not alias then table.insert(edits, 1, source.insert(1, 1, "import nki\n")) end
    diagnostic.fix = { title = ("decorate `%s`"):format(fn.name), edits = edits }
  end
  return nil, diagnostic
end

-- Parameters of a function definition, positional ones first.
function entry.params(node)
  local args <const>, params <const> = node.args, {}
  local positional <const> = {}
  for _, arg in ipairs(args.posonlyargs or {}) do positional[#positional + 1] = arg end
  for _, arg in ipairs(args.args or {}) do positional[#positional + 1] = arg end
  local defaults <const> = args.defaults or {}
  for i, arg in ipairs(positional) do
    local at <const> = i - (#positional - #defaults)
    params[i] = { name = arg.arg, default = at >= 1, default_node = defaults[at], annotation = arg.annotation, node = arg }
  end
  for i, arg in ipairs(args.kwonlyargs or {}) do
    local default <const> = args.kw_defaults and args.kw_defaults[i]
    params[#params + 1] = {
      name = arg.arg, default = default and true or false, default_node = default or nil, annotation = arg.annotation, node = arg,
      keyword_only = true,
    }
  end
  return params, { vararg = args.vararg, kwarg = args.kwarg }
end

-- Names a function reads that are not its own, nested functions and classes included. Annotations do not count.
local function free_names(fn)
  local own <const>, loads <const>, free <const> = {}, {}, {}
  local args <const> = fn.args
  for _, list in ipairs { args.posonlyargs or {}, args.args or {}, args.kwonlyargs or {} } do
    for _, arg in ipairs(list) do own[arg.arg] = true end
  end
  if args.vararg then own[args.vararg.arg] = true end
  if args.kwarg then own[args.kwarg.arg] = true end
  local globals <const> = {}
  local function visit(node, _, field)
    if field == "annotation" or field == "returns" then return false end
    if node.type == "Name" then
      if node.ctx == "Store" or node.ctx == "Del" then own[node.id] = true else loads[node.id] = true end
    elseif node.type == "Global" then
      for _, name in ipairs(node.names) do globals[name] = true end
    elseif node.type == "Import" or node.type == "ImportFrom" then
      for _, alias in ipairs(node.names) do own[alias.asname or alias.name:match("^[^.]+")] = true end
    elseif FUNCTION[node.type] or node.type == "Lambda" then
      if node.name then own[node.name] = true end
      for name in pairs(free_names(node)) do loads[name] = true end
      return false
    elseif node.type == "ClassDef" then
      own[node.name] = true
    end
  end
  if fn.type == "Lambda" then
    ast.walk(fn.body, visit)
  else
    for _, statement in ipairs(fn.body) do ast.walk(statement, visit) end
  end
  for _, node in ipairs(args.defaults or {}) do
    for name in pairs(ast.loads(node)) do free[name] = true end
  end
  for _, node in ipairs(args.kw_defaults or {}) do
    if node then
      for name in pairs(ast.loads(node)) do free[name] = true end
    end
  end
  for _, node in ipairs(fn.decorator_list or {}) do
    for name in pairs(ast.loads(node)) do free[name] = true end
  end
  for name in pairs(loads) do
    if not own[name] or globals[name] then free[name] = true end
  end
  return free
end

-- Names a top-level statement binds, and names it reads.
local function statement_names(statement)
  local binds, reads <const> = {}, {}
  if FUNCTION[statement.type] then
    binds[statement.name] = true
    return binds, free_names(statement)
  end
  ast.walk(statement, function(node, _, field)
    if field == "annotation" or field == "returns" then return false end
    if FUNCTION[node.type] then
      binds[node.name] = true
      for name in pairs(free_names(node)) do reads[name] = true end
      return false
    elseif node.type == "Lambda" then
      for name in pairs(free_names(node)) do reads[name] = true end
      return false
    elseif node.type == "ClassDef" then
      binds[node.name] = true
    elseif node.type == "Name" then
      if node.ctx == "Store" then binds[node.id] = true else reads[node.id] = true end
    elseif node.type == "Import" or node.type == "ImportFrom" then
      for _, alias in ipairs(node.names) do binds[alias.asname or alias.name:match("^[^.]+")] = true end
    elseif (node.type == "Subscript" or node.type == "Attribute") and node.ctx == "Store" then
      local name <const> = ast.root(node)
      if name then binds[name] = true end
    end
  end)
  if statement.type == "ClassDef" then binds = { [statement.name] = true } end
  -- `names.append(x)` at top level changes `names`.
  if statement.type == "Expr" and statement.value.type == "Call" and statement.value.func.type == "Attribute" then
    local name <const> = ast.root(statement.value.func)
    if name then binds[name] = true end
  end
  return binds, reads
end

-- `if __name__ == "__main__":`
function entry.is_main_guard(statement)
  if statement.type ~= "If" or statement.test.type ~= "Compare" then return false end
  local left <const>, right <const> = statement.test.left, statement.test.comparators[1]
  return left.type == "Name" and left.id == "__name__" or right.type == "Name" and right.id == "__name__"
end

function entry.reach(tree, node)
  local rows <const> = {}
  for i, statement in ipairs(tree.body) do
    local binds <const>, reads <const> = statement_names(statement)
    rows[i] = { statement = statement, binds = binds, reads = reads, guard = entry.is_main_guard(statement) }
  end
  local needed <const>, queue <const> = {}, {}
  local function need(name)
    if not needed[name] then
      needed[name] = true
      queue[#queue + 1] = name
    end
  end
  need(node.name)
  while #queue > 0 do
    local name <const> = table.remove(queue)
    for _, row in ipairs(rows) do
      if not row.guard and row.binds[name] and not row.kept then
        -- A bare call on an imported module (`np.random.seed(0)`) changes no name of ours.
        local is_import <const> = row.statement.type == "Import" or row.statement.type == "ImportFrom"
        local touches_import = false
        if row.statement.type == "Expr" or row.statement.type == "Assign" and row.statement.targets[1].type ~= "Name" then
          for _, other in ipairs(rows) do
            local kind <const> = other.statement.type
            if (kind == "Import" or kind == "ImportFrom") and other.binds[name] then touches_import = true end
          end
        end
        if is_import or not touches_import then
          row.kept = true
          for read in pairs(row.reads) do need(read) end
        end
      end
    end
  end
  local result <const> = { statements = {}, functions = {}, classes = {}, dropped = {}, names = needed }
  for _, row in ipairs(rows) do
    local statement <const> = row.statement
    if row.kept then
      result.statements[#result.statements + 1] = statement
      ast.walk(statement, function(child)
        if FUNCTION[child.type] then result.functions[child] = true end
        if child.type == "ClassDef" then result.classes[child] = true end
      end)
    else
      result.dropped[#result.dropped + 1] = { statement = statement, guard = row.guard }
    end
  end
  return result
end

-- The module with only what the kernel reaches, and calls without keywords that no longer mean anything.
function entry.prune(tree, reach)
  local imports <const> = ast.imports(tree)
  for _, statement in ipairs(reach.statements) do
    ast.walk(statement, function(node)
      local old <const> = node.type == "Call" and kernel_names.legacy[ast.resolve(node.func, imports) or ""]
      if not old then return end
      for i = #node.keywords, 1, -1 do
        if old[node.keywords[i].arg or ""] then table.remove(node.keywords, i) end
      end
    end)
  end
  local pruned <const> = {}
  for key, value in pairs(tree) do pruned[key] = value end
  pruned.body = reach.statements
  return pruned
end

return entry
