-- SPDX-License-Identifier: MIT
-- Lowering of functions, lambdas and classes. A Python function becomes a Lua function whose locals are all declared at
-- its top (so closures see later bindings, as in Python); absent arguments are nil and get their defaults there.

local E <const> = require "python.lower_call"

local kinds <const>, quote <const> = E.kinds, E.quote

local LOCALS_MAX <const> = 100
local PARAMS_MAX <const> = 80

-- Code that counts a step at the start of a function or a turn of a loop; every 500 are reported.
function E:step() return "N = N + 1; if N > 500 then N = " .. self:h "STEP" .. "(N); end " end

-- Open a state for the function of `node` inside this one.
function E:open(node)
  local scope <const> = self.module.scopes[node]
  self.module:number_scope(scope)
  return setmetatable({
    module = self.module,
    scope = scope,
    owner = scope,
    id = self.module:next_id(),
    parent = self,
    out = {},
    pre = {},
    temps = 0,
    live_temps = 0,
    nesting = self.nesting,
    line = self.line,
    control = {},
    assigned = {},
    unstable = {},
  }, getmetatable(self))
end

-- Declarations of the locals that are not parameters.
function E:declare_locals()
  local names <const> = {}
  local count = 0
  for _, var in ipairs(self.scope.order) do
    if var.param then
      self.assigned[var] = true
      count = count + 1
    end
  end
  for _, var in ipairs(self.scope.order) do
    if not var.param then
      count = count + 1
      if count > LOCALS_MAX then
        var.spilled = true
        self.spills = true
      else
        names[#names + 1] = self:variable(var)
      end
    end
    if var.rebound then self.unstable[self:variable(var)] = true end
  end
  local text = #names > 0 and "local " .. table.concat(names, ", ") .. ";" or ""
  if self.spills then text = text .. (" local S%d = {};"):format(self.scope.id) end
  return text
end

local function is_static(node)
  return node.type == "Constant" and (node.kind_of == "int" or node.kind_of == "str" or node.kind_of == "bool" or node.kind_of == "None"
    or node.kind_of == "float")
end

-- Names of the class around, for qualified names.
function E:qualname(name)
  local parts <const> = { name }
  local scope = self.scope
  while scope and scope.kind ~= "module" do
    if scope.kind == "class" then
      table.insert(parts, 1, scope.node.name)
    elseif scope.kind == "function" then
      table.insert(parts, 1, "<locals>")
      table.insert(parts, 1, scope.node.name or "<lambda>")
    end
    scope = scope.parent
  end
  return table.concat(parts, ".")
end

local function docstring(body)
  local first <const> = type(body) == "table" and body[1]
  if first and first.type == "Expr" and first.value.type == "Constant" and first.value.kind_of == "str" then return first.value.value end
end

-- The function's code `function(...) ... end`, from what `fill(inner)` puts out.
function E:inner_function(node, fill, parameters)
  local inner <const> = self:open(node)
  local locals <const> = inner:declare_locals()
  fill(inner)
  local body <const> = table.concat(inner.out, " ")
  return ("function(%s) %s %s %s end"):format(parameters, inner.temp_table and "" or "", locals, body)
end

-- A def or lambda: code of the function value. Defaults are evaluated where the def stands.
function E:function_value(node, name)
  local args <const> = node.args
  local params <const>, required <const>, defaults <const> = {}, {}, {}
  local positional <const> = {}
  for _, a in ipairs(args.posonlyargs) do positional[#positional + 1] = a end
  for _, a in ipairs(args.args) do positional[#positional + 1] = a end
  local first_default <const> = #positional - #args.defaults
  for i, a in ipairs(positional) do
    params[i] = a.arg
    required[i] = i <= first_default
    defaults[i] = args.defaults[i - first_default] or false
  end
  for i, a in ipairs(args.kwonlyargs) do
    params[#params + 1] = a.arg
    local default <const> = args.kw_defaults[i]
    required[#params] = not default
    defaults[#params] = default or false
  end
  if #params > PARAMS_MAX then return self:refuse(node, ("a function with more than %d parameters"):format(PARAMS_MAX)) end

  -- Defaults that are not constants live in variables outside the function.
  local default_codes <const> = {}
  local nodes <const>, places <const> = {}, {}
  for i = 1, #params do
    local default <const> = defaults[i]
    if default and is_static(default) then
      default_codes[i] = kinds.Constant(self, default)
    elseif default then
      nodes[#nodes + 1] = default
      places[#places + 1] = i
    end
  end
  if #nodes > 0 then
    local codes <const> = self:operands(nodes)
    if #nodes <= 20 then
      for k, code in ipairs(codes) do default_codes[places[k]] = self:hoist(code) end
    else
      local box <const> = self:hoist("{" .. table.concat(codes, ", ") .. "}")
      for k in ipairs(codes) do default_codes[places[k]] = ("%s[%d]"):format(box, k) end
    end
  end

  local simple <const> = E.is_simple(args)
  local proto <const> = {
    name = name,
    qualname = self:qualname(name),
    params = params,
    required = required,
    positional = #positional,
    posonly = #args.posonlyargs,
    varargs = args.vararg and args.vararg.arg or false,
    kwargs = args.kwarg and args.kwarg.arg or false,
    python = true,
    node = node,
    default_nodes = defaults,
    doc = docstring(node.body),
    simple = simple,
  }
  local place <const> = self.module:prototype(proto)

  local inner <const> = self:open(node)
  if self.scope.kind == "class" and positional[1] then
    inner.method_self = "v_" .. E.mangle(positional[1].arg)
    inner.class_name = self.class_variable
  end
  local locals <const> = inner:declare_locals()
  local names <const> = {}
  for i, p in ipairs(params) do names[i] = "v_" .. E.mangle(p) end
  if args.vararg then names[#names + 1] = "v_" .. E.mangle(args.vararg.arg) end
  if args.kwarg then names[#names + 1] = "v_" .. E.mangle(args.kwarg.arg) end
  local head <const> = {}
  local parameters <const> = function() return table.concat(names, ", ") end
  if simple then
    local check = ""
    if first_default > 0 then check = (" or %s == nil"):format(names[first_default]) end
    names[#names + 1] = "X"
    head[#head + 1] = ("if X ~= nil%s then %s(P[%d]); end"):format(check, self:h "ARITY", place)
  end
  for i = 1, #params do
    if default_codes[i] then head[#head + 1] = ("if %s == nil then %s = %s; end"):format(names[i], names[i], default_codes[i]) end
  end
  if node.type == "Lambda" then
    local text <const>, code <const> = inner:apart(inner.expr, inner, node.body)
    inner.out[1] = inner:temp_declaration() .. text .. " return (" .. code .. ");"
  else
    inner:block(node.body)
    if not inner.dead then inner.out[#inner.out + 1] = "return None;" end
  end
  local body = table.concat(inner.out, " ")
  if inner.scope.generator then body = ("return %s(P[%d], function() %s end);"):format(self:h "GENERATOR", place, body) end
  -- A function that calls no Python function cannot be part of a recursion, so its calls need not be counted.
  if inner.calls then head[#head + 1] = self:step() end
  head[#head + 1] = locals
  local maker <const> = simple and "FUNC" or "FUNCX"
  return ("%s(P[%d], function(%s) %s %s end)"):format(self:h(maker), place, parameters(), table.concat(head, " "), body)
end

function kinds.Lambda(self, node)
  return self:function_value(node, "<lambda>"), 3
end

-- The loops of a generator expression, inside its coroutine.
function E:generator_body(node, source)
  local text <const> = self:apart(function()
    local ends = 0
    for i, gen in ipairs(node.generators) do
      local from <const> = i == 1 and source or self:expr(gen.iter)
      self.items = (self.items or 0) + 1
      local item <const> = "x" .. self.items
      self:before(("for _, %s in %s do"):format(item, self:call("ITER", self:site(gen.iter), from)))
      ends = ends + 1
      self:assign(gen.target, item)
      for _, test in ipairs(gen.ifs) do
        local code <const> = self:cond(test)
        self:before("if " .. code .. " then")
        ends = ends + 1
      end
    end
    local code <const> = self:expr(node.elt)
    self:before(self:call("YIELD", code) .. ";" .. (" end"):rep(ends))
  end)
  self.out[1] = self:temp_declaration() .. text
end

-- classes ---------------------------------------------------------------------------------------------------------------

-- Code that binds the class; its body runs in a Lua function over the namespace `ns`.
function E:class_value(node)
  if node.keywords[1] then
    for _, k in ipairs(node.keywords) do
      if k.arg ~= "metaclass" then return self:refuse(node, "a class keyword") end
    end
  end
  local bases <const> = self:elements(node.bases)
  local holder <const> = self:hoist(self:call("NEWCLASS", self:site(node), quote(node.name), quote(self:qualname(node.name)), bases, "G"))
  local inner <const> = self:open(node)
  inner.class_variable = holder
  inner.annotations = {}
  inner:block(node.body)
  local doc <const> = docstring(node.body)
  if doc then self:before(self:call("CLASSSET", self:call("NAMESPACE", holder), '"__doc__"', quote(doc)) .. ";") end
  self:before(("(function(ns) %s end)(%s);"):format(table.concat(inner.out, " "), self:call("NAMESPACE", holder)))
  return self:call("ENDCLASS", self:site(node), holder)
end

function E:decorated(node, make)
  local decorators <const> = {}
  for _, d in ipairs(node.decorator_list) do decorators[#decorators + 1] = self:hoist((self:expr(d))) end
  local code = make()
  for i = #decorators, 1, -1 do
    code = "A(" .. self:call("BIND", self:site(node.decorator_list[i]), decorators[i], code) .. ")"
  end
  return code
end

-- Whether a Python variable certainly has a value here.
function E:is_assigned(var)
  if var.always then return true end
  if var.deleted then return false end
  local fn = self
  while fn do
    if fn.owner == var.scope then return fn.dead or fn.assigned[var] == true or fn.defining == var end
    fn = fn.parent
  end
  return false
end

return E
