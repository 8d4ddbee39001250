-- SPDX-License-Identifier: MIT
-- Lowering of calls and comprehensions. A call goes the shortest way its callee allows: a Lua call when the callee is
-- known to be a plain Python function of this module and the arguments fit; CALL for what is likely native (builtins,
-- imported names), which runs it inside C; else BIND or METHOD, which return the Lua function and its arguments for `A`
-- to call outside C.

local scopes <const> = require "python.lower_scope"
local E <const> = require "python.lower_expr"

local kinds <const>, quote <const> = E.kinds, E.quote

-- A function that takes plain positional parameters only and checks their number itself.
function E.is_simple(args) return not args.vararg and not args.kwarg and #args.kwonlyargs == 0 end

-- The FunctionDef that a name certainly stands for, if any.
function E:known_function(node)
  if node.type ~= "Name" or self.module.star_import then return nil end
  local kind <const>, var <const> = scopes.resolve(self.scope, node.id)
  local def <const> = var and var.def
  if not def or def.type ~= "FunctionDef" or #def.decorator_list > 0 or not E.is_simple(def.args) then return nil end
  if kind == "global" or ((kind == "local" or kind == "free") and self:is_assigned(var)) then return def end
  return nil
end

local function is_builtin(self, node, name)
  if node.type ~= "Name" or (name and node.id ~= name) then return false end
  local kind <const>, var <const> = scopes.resolve(self.scope, node.id)
  return kind == "global" and not var and not self.module.star_import and self.module.builtin(node.id)
end
E.is_builtin_name = is_builtin

local function starred(node)
  if E.has_star(node.args) then return true end
  for _, k in ipairs(node.keywords) do
    if not k.arg then return true end
  end
  return #node.args + #node.keywords > 100
end

-- f(*a, **k): the arguments as a list and a dict.
local function spread_call(self, node, callee)
  local parts <const> = { callee, { type = "List", elts = node.args, ctx = "Load", args_only = true } }
  if #node.keywords == 0 then
    local codes <const> = self:operands(parts, function(s, n)
      if n.args_only then return s:elements(n.elts) end
      return s:expr(n)
    end)
    return "A(" .. self:call("BINDV", self:site(node), codes[1], codes[2], "nil") .. ")", 3
  end
  local codes <const> = self:operands(parts, function(s, n)
    if n.args_only then return s:elements(n.elts) end
    return s:expr(n)
  end)
  local list <const> = self:hoist(codes[2])
  local f = codes[1]
  if not self:stable(f) then f = self:hoist(f) end
  local dict <const> = self:hoist(self:call("DICT", "{}", 0))
  for _, k in ipairs(node.keywords) do
    local code <const> = self:expr(k.value)
    if k.arg then
      self:before(self:call("KEYWORD", self:site(node), dict, quote(k.arg), code) .. ";")
    else
      self:before(self:call("KEYWORDS", self:site(node), dict, code) .. ";")
    end
  end
  return "A(" .. self:call("BINDV", self:site(node), f, list, dict) .. ")", 3
end

-- Builtins with a helper of their own.
local direct <const> = { len = "LEN" }

-- Consumers that take all of a generator at once: its items can be a list.
local eager <const> = { sum = true, list = true, tuple = true, set = true, sorted = true, min = true, max = true, frozenset = true, dict = true }

-- Arguments of a call to a known function, in the order of its parameters; nil when they do not fit.
local function arrange(def, node)
  local args <const> = def.args
  local place <const> = {}
  local n = 0
  for _, list in ipairs { args.posonlyargs, args.args } do
    for _, a in ipairs(list) do
      n = n + 1
      if list == args.args then place[a.arg] = n end
    end
  end
  local least <const> = n - #args.defaults
  if #node.args > n then return nil end
  local order <const>, last = {}, #node.args
  for i = 1, #node.args do order[i] = i end
  for i, k in ipairs(node.keywords) do
    local at <const> = place[k.arg]
    if not at or order[at] then return nil end
    order[at] = #node.args + i
    if at > last then last = at end
  end
  for i = 1, least do
    if not order[i] then return nil end
  end
  return order, last
end

local function plain(self, codes, first)
  for i = first, #codes do
    if not self:stable(codes[i]) then return false end
  end
  return true
end

local function arguments(self, node, first)
  local nodes <const>, names <const> = { first }, {}
  for _, a in ipairs(node.args) do nodes[#nodes + 1] = a end
  for _, k in ipairs(node.keywords) do
    nodes[#nodes + 1] = k.value
    names[#names + 1] = k.arg
  end
  local codes <const>, depth <const> = self:operands(nodes)
  return codes, names, depth
end

function kinds.Call(self, node)
  local func <const> = node.func
  if func.type == "Name" and func.id == "super" and is_builtin(self, func) and #node.args == 0 then return self:super_object(node), 1 end
  if starred(node) then
    self.calls = true
    return spread_call(self, node, func)
  end

  local one <const> = #node.args == 1 and #node.keywords == 0
  if one and func.type == "Name" and direct[func.id] and is_builtin(self, func) then
    local codes <const>, depth <const> = self:operands(node.args)
    return self:call(direct[func.id], self:site(node), codes[1]), depth + 1
  end
  if #node.args >= 1 and node.args[1].type == "GeneratorExp" and func.type == "Name" and eager[func.id] and is_builtin(self, func) then
    local generator <const> = node.args[1]
    if self:inline_generator(generator) then node.args[1] = generator.as_list end
  end

  local native <const> = is_builtin(self, func) or self:is_imported(func)
  if not native then self.calls = true end
  local def <const> = self:known_function(func)
  local order, last
  if def then order, last = arrange(def, node) end
  if order then
    local codes <const>, _, depth <const> = arguments(self, node, func)
    local arranged <const> = {}
    local in_order = true
    for i = 1, last do
      arranged[i] = order[i] and codes[order[i] + 1] or "nil"
      in_order = in_order and (not order[i] or i == 1 or not order[i - 1] or order[i] > order[i - 1])
    end
    if in_order or plain(self, codes, 2) then return codes[1] .. "(" .. table.concat(arranged, ", ") .. ")", depth + 1 end
    for i = 2, #codes do
      if not self:stable(codes[i]) then codes[i] = self:hoist(codes[i]) end
    end
    for i = 1, last do arranged[i] = order[i] and codes[order[i] + 1] or "nil" end
    return codes[1] .. "(" .. table.concat(arranged, ", ") .. ")", depth + 1
  end

  if func.type == "Attribute" and not self:is_imported(func.value) then
    local codes <const>, names <const>, depth <const> = arguments(self, node, func.value)
    local object <const> = table.remove(codes, 1)
    local name <const> = quote(self:private(func.attr))
    if #names == 0 and func.attr ~= "append" and self:stable(object) and object:find "^[vct]" and plain(self, codes, 1) then
      -- Nothing happens between finding the method and calling it, so Lua can call it directly.
      return self:call("METH", self:site(node), object, name, #codes + 1) .. "(" .. table.concat({ object, table.unpack(codes) }, ", ") .. ")", depth + 1
    end
    if #names == 0 then return "A(" .. self:call("METHOD", self:site(node), object, name, table.unpack(codes)) .. ")", depth + 2 end
    return "A(" .. self:call("METHODK", self:site(node), self:keywords(names), object, name, table.unpack(codes)) .. ")", depth + 2
  end

  local codes <const>, names <const>, depth <const> = arguments(self, node, func)
  if native then
    if #names == 0 then return self:call("CALL", self:site(node), table.unpack(codes)), depth + 1 end
    return self:call("CALLK", self:site(node), self:keywords(names), table.unpack(codes)), depth + 1
  end
  if #names == 0 and func.type == "Name" and not func.id:find "^%u" and plain(self, codes, 2) then
    return self:call("CALLEE", self:site(node), codes[1], #codes - 1) .. "(" .. table.concat(codes, ", ", 2) .. ")", depth + 1
  end
  if #names == 0 then return "A(" .. self:call("BIND", self:site(node), table.unpack(codes)) .. ")", depth + 2 end
  return "A(" .. self:call("BINDK", self:site(node), self:keywords(names), table.unpack(codes)) .. ")", depth + 2
end

-- super() inside a method: the class being defined and the method's first parameter.
function E:super_object(node)
  local fn = self
  while fn and not fn.method_self do fn = fn.parent end
  if not fn then return self:call("UNDEFINED", self:site(node), '"super(): no arguments"') end
  return self:call("SUPER", fn.class_name, fn.method_self)
end

-- comprehensions --------------------------------------------------------------------------------------------------------

-- A generator expression that names nothing of its own function but through comprehensions can be a list comprehension.
function E:inline_generator(node)
  local scope <const> = self.module.scopes[node]
  if scope.generator or scope.inlined then return scope.inlined end
  scope.kind, scope.inlined = "comp", true
  local copy <const> = {}
  for k, v in pairs(node) do copy[k] = v end
  copy.type = "ListComp"
  node.as_list = copy
  self.module.scopes[copy] = scope
  return true
end

-- range(...) by its builtin name, with plain arguments.
function E.is_range_call(self, node)
  return node.type == "Call" and is_builtin(self, node.func, "range") and #node.keywords == 0 and not E.has_star(node.args) and #node.args >= 1
    and #node.args <= 3
end

-- Emit the loops of a comprehension around what `inner` adds; everything goes to `before`.
function E:comprehension(node, inner)
  local outer_scope <const> = self.scope
  local scope <const> = self.module.scopes[node]
  self.module:number_scope(scope)
  local ends = 0
  for i, gen in ipairs(node.generators) do
    if gen.is_async == 1 then self:refuse(node, "an asynchronous comprehension") end
    if i == 2 then self.scope = scope end
    local head
    if E.is_range_call(self, gen.iter) then
      local codes <const> = self:operands(gen.iter.args)
      local bounds <const> = self:call("RANGEALL", self:site(gen.iter), table.unpack(codes))
      head = function(item)
        self:before(("local f%s, l%s, s%s = %s;"):format(item, item, item, bounds))
        return ("for %s = f%s, l%s, s%s do"):format(item, item, item, item)
      end
    else
      local source <const> = self:expr(gen.iter)
      head = function(item) return ("for _, %s in %s do"):format(item, self:call("ITER", self:site(gen.iter), source)) end
    end
    self.scope = scope
    if i == 1 then
      for _, var in ipairs(scope.order) do
        var.always = true
        self:before("local " .. self:variable(var) .. ";")
      end
    end
    self.items = (self.items or 0) + 1
    local item <const> = "x" .. self.items
    self:before(head(item))
    ends = ends + 1
    self:assign(gen.target, item)
    for _, test in ipairs(gen.ifs) do
      local code <const> = self:cond(test)
      self:before("if " .. code .. " then")
      ends = ends + 1
    end
    if i == 1 then self.scope = scope end
  end
  inner()
  self.scope = outer_scope
  self:before(("end "):rep(ends))
end

function kinds.ListComp(self, node)
  local result <const>, count <const> = self:hoist "{}", self:hoist "0"
  self:comprehension(node, function()
    local code <const> = self:expr(node.elt)
    self:before(("%s = %s + 1; %s[%s] = %s;"):format(count, count, result, count, code))
  end)
  return self:call("LIST", result), 1
end

function kinds.SetComp(self, node)
  local result <const>, count <const> = self:hoist "{}", self:hoist "0"
  self:comprehension(node, function()
    local code <const> = self:expr(node.elt)
    self:before(("%s = %s + 1; %s[%s] = %s;"):format(count, count, result, count, code))
  end)
  return self:call("SET", result, self:site(node)), 1
end

function kinds.DictComp(self, node)
  local result <const> = self:hoist(self:call("DICT", "{}", 0))
  self:comprehension(node, function()
    local codes <const> = self:operands { node.key, node.value }
    self:before(self:call("SETITEM", self:site(node), result, codes[1], codes[2]) .. ";")
  end)
  return result
end

-- A generator expression is a coroutine; its first iterable is evaluated at once.
function kinds.GeneratorExp(self, node)
  if self.module.scopes[node].inlined then return kinds.ListComp(self, node.as_list) end
  local source <const> = self:hoist((self:expr(node.generators[1].iter)))
  local code <const> = self:inner_function(node, function(inner)
    inner:generator_body(node, source)
  end, "")
  return self:call("GENERATOR", "nil", code), 2
end

return E
