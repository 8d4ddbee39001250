-- SPDX-License-Identifier: MIT
-- Lowering of statements, and of assignment to every kind of target.

local scopes <const> = require "python.lower_scope"
local E <const> = require "python.lower_func"

local quote <const> = E.quote
local statements <const> = {}

-- output ----------------------------------------------------------------------------------------------------------------

function E:put(code) self.out[#self.out + 1] = code end

function E:temp_declaration()
  if not self.temp_table then return "" end
  self.temp_table = false
  return ("local T%d = {}; "):format(self.id)
end

-- End a simple statement: what was to run before it, then the code.
function E:flush(code)
  if #self.pre == 0 then
    self:put(code)
  else
    local text <const> = table.concat(self.pre, " ")
    self.pre = {}
    self:put("do " .. self:temp_declaration() .. text .. " " .. code .. " end;")
  end
  self.live_temps = 0
end

-- A compound statement whose head may need statements before it; `emit` puts the rest out.
function E:with_pre(emit)
  local opened <const> = #self.pre > 0
  if opened then
    local text <const> = table.concat(self.pre, " ")
    self.pre = {}
    self:put("do " .. self:temp_declaration() .. text)
  end
  local live <const> = self.live_temps
  self.live_temps = 0
  emit()
  self.live_temps = live
  if opened then self:put("end;") end
  self.live_temps = 0
end

function E:copy_assigned()
  local copy <const> = {}
  for k in pairs(self.assigned) do copy[k] = true end
  return copy
end

-- What is certain after two ways met: nil stands for a way that does not arrive.
local function meet(a, b)
  if not a then return b end
  if not b then return a end
  local both <const> = {}
  for k in pairs(a) do
    if b[k] then both[k] = true end
  end
  return both
end

-- Statements of a block; returns what is assigned at its end, nil when the end is not reached.
function E:block(body)
  for _, node in ipairs(body) do
    if self.dead then break end
    self:statement(node)
  end
  if self.dead then return nil end
  return self.assigned
end

-- A branch: runs from `from`, leaves the state of the caller alone, returns the state at its end.
function E:branch(body, from)
  local saved <const>, dead <const> = self.assigned, self.dead
  self.assigned, self.dead = {}, false
  for k in pairs(from) do self.assigned[k] = true end
  local result <const> = self:block(body)
  self.assigned, self.dead = saved, dead
  return result
end

function E:arrive(state)
  if state then
    self.assigned = state
  else
    self.dead = true
  end
end

function E:statement(node)
  local lower <const> = statements[node.type]
  self.line = node.lineno
  self:put("\1" .. node.lineno .. "\2")
  if not lower then
    self:flush(self:refuse(node, node.type) .. ";")
    return
  end
  lower(self, node)
end

-- assignment ------------------------------------------------------------------------------------------------------------

-- Append to `before` what assigns the value (code that may be evaluated once) to the target.
function E:assign(target, value)
  local kind <const> = target.type
  if kind == "Name" then
    local how <const>, var <const> = scopes.resolve(self.scope, target.id)
    if how == "global" then
      self:before(self:global_name(target.id) .. " = " .. value .. ";")
    elseif how == "class" then
      self:before(self:call("CLASSSET", "ns", quote(target.id), value) .. ";")
    else
      self:before(self:variable(var) .. " = " .. value .. ";")
      if how == "local" then self.assigned[var] = true end
    end
  elseif kind == "Attribute" then
    local held <const> = self:stable(value) and value or self:hoist(value)
    local object <const> = self:expr(target.value)
    self:before(self:call("SETATTR", self:site(target), object, quote(self:private(target.attr)), held) .. ";")
  elseif kind == "Subscript" then
    local held <const> = self:stable(value) and value or self:hoist(value)
    local format <const>, parts <const> = self:index_parts(target.slice)
    if format then
      local codes <const> = self:operands { target.value, table.unpack(parts) }
      local object <const> = table.remove(codes, 1)
      self:before(self:call("SETSUBSCRIPT", self:site(target), object, held, quote(format), table.unpack(codes)) .. ";")
    else
      local codes <const> = self:operands { target.value, target.slice }
      self:before(self:call("SETITEM", self:site(target), codes[1], codes[2], held) .. ";")
    end
  elseif kind == "Tuple" or kind == "List" then
    self:unpack(target, value)
  elseif kind == "Starred" then
    self:assign(target.value, value)
  else
    self:before(self:refuse(target, "assignment to " .. kind) .. ";")
  end
end

function E:unpack(target, value)
  local elts <const> = target.elts
  if #elts > 100 then
    self:before(self:refuse(target, "unpacking into more than 100 targets") .. ";")
    return
  end
  local star
  for i, e in ipairs(elts) do
    if e.type == "Starred" then star = i end
  end
  local names <const> = {}
  local plain = true
  for i, e in ipairs(elts) do
    local how, var
    if e.type == "Name" then how, var = scopes.resolve(self.scope, e.id) end
    plain = plain and how == "local" and not var.spilled
    names[i] = plain and self:variable(var)
  end
  local source
  if star then
    source = self:call("UNPACKX", self:site(target), value, star - 1, #elts - star)
  else
    source = self:call("UNPACK", self:site(target), value, #elts)
  end
  if #elts == 0 then
    self:before(source .. ";")
  elseif plain then
    self:before(table.concat(names, ", ") .. " = " .. source .. ";")
    for _, e in ipairs(elts) do
      local _, var <const> = scopes.resolve(self.scope, e.id)
      self.assigned[var] = true
    end
  else
    local temps <const>, declared <const> = {}, {}
    for i in ipairs(elts) do
      local name <const>, code <const> = self:fresh()
      temps[i] = name
      if code:find "^local" then declared[#declared + 1] = name end
    end
    if #declared > 0 then self:before("local " .. table.concat(declared, ", ") .. ";") end
    self:before(table.concat(temps, ", ") .. " = " .. source .. ";")
    for i, e in ipairs(elts) do self:assign(e, temps[i]) end
  end
end

function statements.Assign(self, node)
  local targets <const>, value <const> = node.targets, node.value
  local first <const> = targets[1]
  -- a, b = x, y without a tuple between
  if #targets == 1 and first.type == "Tuple" and value.type == "Tuple" and #first.elts == #value.elts and not E.has_star(first.elts)
    and not E.has_star(value.elts) and #first.elts <= 20 then
    local codes <const> = self:operands(value.elts)
    local temps <const> = {}
    for i, code in ipairs(codes) do temps[i] = self:hoist(code) end
    for i, target in ipairs(first.elts) do self:assign(target, temps[i]) end
    self:flush ""
    return
  end
  local code = self:expr(value)
  if #targets > 1 and not self:stable(code) then code = self:hoist(code) end
  if #targets > 1 and code:find "^v_" then code = self:hoist(code) end
  for _, target in ipairs(targets) do self:assign(target, code) end
  local last <const> = table.remove(self.pre)
  self:flush(last)
end

function statements.AnnAssign(self, node)
  if self.scope.kind == "class" and node.target.type == "Name" then
    self:put(self:call("ANNOTATE", "ns", quote(node.target.id), quote(self:annotation(node.annotation))) .. ";")
  end
  if not node.value then return end
  self:assign(node.target, (self:expr(node.value)))
  self:flush ""
end

-- An annotation as text, for what reads it (dataclass looks for ClassVar and InitVar).
function E:annotation(node)
  if node.type == "Name" then return node.id end
  if node.type == "Attribute" then return node.attr end
  if node.type == "Subscript" then return self:annotation(node.value) end
  if node.type == "Constant" and node.kind_of == "str" then return node.value end
  return ""
end

function statements.AugAssign(self, node)
  local target <const> = node.target
  local helper <const> = E.inplace_names[node.op]
  if target.type == "Name" then
    local load <const> = { type = "Name", id = target.id, ctx = "Load", lineno = target.lineno, col_offset = target.col_offset,
      end_lineno = target.end_lineno, end_col_offset = target.end_col_offset }
    local codes <const> = self:operands { load, node.value }
    self:assign(target, self:call(helper, self:site(node), codes[1], codes[2]))
  elseif target.type == "Attribute" then
    local object = self:expr(target.value)
    if not self:stable(object) then object = self:hoist(object) end
    local name <const> = quote(self:private(target.attr))
    local old <const> = self:hoist(self:call("ATTR", self:site(target), object, name))
    local value <const> = self:expr(node.value)
    self:before(self:call("SETATTR", self:site(target), object, name, self:call(helper, self:site(node), old, value)) .. ";")
  elseif target.type == "Subscript" then
    local format <const>, parts <const> = self:index_parts(target.slice)
    local nodes <const> = { target.value, table.unpack(parts or { target.slice }) }
    local codes <const> = self:operands(nodes)
    for i, code in ipairs(codes) do
      if not self:stable(code) then codes[i] = self:hoist(code) end
    end
    local object <const> = table.remove(codes, 1)
    local old
    if format then
      old = self:hoist(self:call("SUBSCRIPT", self:site(target), object, quote(format), table.unpack(codes)))
    else
      old = self:hoist(self:call("GETITEM", self:site(target), object, codes[1]))
    end
    local value <const> = self:expr(node.value)
    local result <const> = self:hoist(self:call(helper, self:site(node), old, value))
    if format then
      self:before(self:call("SETSUBSCRIPT", self:site(target), object, result, quote(format), table.unpack(codes)) .. ";")
    else
      self:before(self:call("SETITEM", self:site(target), object, codes[1], result) .. ";")
    end
  end
  self:flush ""
end

function statements.Delete(self, node)
  local function delete(target)
    if target.type == "Name" then
      local how <const>, var <const> = scopes.resolve(self.scope, target.id)
      local old <const> = self:expr { type = "Name", id = target.id, ctx = "Load", lineno = target.lineno, col_offset = target.col_offset,
        end_lineno = target.end_lineno, end_col_offset = target.end_col_offset }
      if how == "global" then
        self:before("local _ = " .. old .. "; " .. self:global_name(target.id) .. " = nil;")
      elseif how == "class" then
        self:before(self:call("CLASSSET", "ns", quote(target.id), "nil") .. ";")
      else
        self:before("local _ = " .. old .. "; " .. self:variable(var) .. " = nil;")
      end
    elseif target.type == "Attribute" then
      local code <const> = self:expr(target.value)
      self:before(self:call("DELATTR", self:site(target), code, quote(self:private(target.attr))) .. ";")
    elseif target.type == "Subscript" then
      local codes <const> = self:operands { target.value, target.slice }
      self:before(self:call("DELITEM", self:site(target), codes[1], codes[2]) .. ";")
    else
      for _, e in ipairs(target.elts) do delete(e) end
    end
  end
  for _, target in ipairs(node.targets) do delete(target) end
  self:flush ""
end

-- simple statements -----------------------------------------------------------------------------------------------------

function statements.Expr(self, node)
  local value <const> = node.value
  if value.type == "Constant" then return end
  local code <const> = self:expr(value)
  if code:find "%)$" and not code:find "^[%(%[{\"]" and not code:find "^\1%d+\2%(" then
    self:flush(code .. ";")
  else
    self:flush("do local _ = " .. code .. "; end;")
  end
end

function statements.Pass() end

function statements.Return(self, node)
  local code <const> = node.value and self:expr(node.value) or "None"
  self:flush(self:leave("return", code))
  self.dead = true
end

function statements.Raise(self, node)
  if not node.exc then
    self:flush(self:call("RERAISE", self:site(node), self.caught or "nil") .. ";")
  else
    local codes <const> = self:operands { node.exc, node.cause or "nil" }
    self:flush(self:call("RAISE", self:site(node), codes[1], codes[2]) .. ";")
  end
  self.dead = true
end

function statements.Assert(self, node)
  local test <const> = self:cond(node.test)
  self:with_pre(function()
    self:put("if not (" .. test .. ") then")
    local text <const>, message <const> = self:apart(function() return node.msg and self:expr(node.msg) or "nil" end)
    self:put(text .. " " .. self:call("ASSERT", self:site(node), message) .. "; end;")
  end)
end

function statements.Global() end
statements.Nonlocal = statements.Global

function statements.FunctionDef(self, node)
  local how <const>, var <const> = scopes.resolve(self.scope, node.name)
  local code <const> = self:decorated(node, function()
    if how == "local" and #node.decorator_list == 0 then self.defining = var end
    local made <const> = self:function_value(node, node.name)
    self.defining = nil
    return made
  end)
  self:assign({ type = "Name", id = node.name, ctx = "Store" }, code)
  self:flush ""
end

function statements.ClassDef(self, node)
  local code <const> = self:decorated(node, function() return self:class_value(node) end)
  self:assign({ type = "Name", id = node.name, ctx = "Store" }, code)
  self:flush ""
end

function statements.Import(self, node)
  for _, alias in ipairs(node.names) do
    local code
    if alias.asname then
      code = self:call("IMPORT", self:site(node), "G", quote(alias.name), 0, self.in_try and "true" or "false")
      self:assign({ type = "Name", id = alias.asname, ctx = "Store" }, code)
    else
      code = self:call("IMPORTTOP", self:site(node), "G", quote(alias.name), self.in_try and "true" or "false")
      self:assign({ type = "Name", id = alias.name:match "^[^.]+", ctx = "Store" }, code)
    end
  end
  self:flush ""
end

function statements.ImportFrom(self, node)
  local name <const> = node.module or ""
  if name == "__future__" then return end
  local module <const> = self:hoist(self:call("IMPORT", self:site(node), "G", quote(name), node.level or 0, self.in_try and "true" or "false"))
  for _, alias in ipairs(node.names) do
    if alias.name == "*" then
      self:before(self:call("IMPORTALL", self:site(node), "G", module) .. ";")
    else
      self:assign({ type = "Name", id = alias.asname or alias.name, ctx = "Store" },
        self:call("IMPORTNAME", self:site(node), "G", module, quote(alias.name), self.in_try and "true" or "false"))
    end
  end
  self:flush ""
end

E.statements, E.meet = statements, meet

return E
