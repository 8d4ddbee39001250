-- SPDX-License-Identifier: MIT
-- Lowering of control flow. Loops use labels for break and continue. The body of a `try` or `with` is a Lua function run
-- by PCALL; a return, break or continue inside it comes back as a signal (1 with the value, 2, 3) and is taken outside.

local scopes <const> = require "python.lower_scope"
local E <const> = require "python.lower_stmt"

local statements <const>, meet <const> = E.statements, E.meet

-- leaving ---------------------------------------------------------------------------------------------------------------

-- Code that leaves: "return" with a value, "break" or "continue" of the innermost loop.
function E:leave(how, value)
  local control <const> = self.control
  for i = #control, 1, -1 do
    local entry <const> = control[i]
    if entry.closure then
      entry[how] = true
      if how == "return" then return ("do return 1, %s; end;"):format(value) end
      return ("do return %d; end;"):format(how == "break" and 2 or 3)
    elseif how ~= "return" then
      if how == "break" then
        entry.breaks[#entry.breaks + 1] = self:copy_assigned()
        entry.used_break = true
        return ("goto b%d;"):format(entry.id)
      end
      entry.used_continue = true
      return ("goto c%d;"):format(entry.id)
    end
  end
  return ("do return (%s); end;"):format(value)
end

-- Run `emit` as the body of a function whose signals are taken by `take_signals`.
function E:closure(emit)
  local entry <const> = { closure = true }
  self.control[#self.control + 1] = entry
  emit()
  self.control[#self.control] = nil
  return entry
end

function E:take_signals(entry, signal, value)
  if entry["return"] then self:put(("if %s == 1 then %s end;"):format(signal, self:leave("return", value))) end
  if entry["break"] then self:put(("if %s == 2 then %s end;"):format(signal, self:leave "break")) end
  if entry["continue"] then self:put(("if %s == 3 then %s end;"):format(signal, self:leave "continue")) end
end

function statements.Break(self)
  self:put(self:leave "break")
  self.dead = true
end

function statements.Continue(self)
  self:put(self:leave "continue")
  self.dead = true
end

-- if --------------------------------------------------------------------------------------------------------------------

function statements.If(self, node)
  local test <const> = self:cond(node.test)
  self:with_pre(function()
    local base <const> = self.assigned
    local closers = 1
    self:put("if " .. test .. " then")
    local state = self:branch(node.body, base)
    local orelse = node.orelse
    while #orelse == 1 and orelse[1].type == "If" do
      local inner <const> = orelse[1]
      self.line = inner.lineno
      local text <const>, code <const> = self:apart(self.cond, self, inner.test)
      local mark <const> = "\1" .. inner.lineno .. "\2"
      if text == "" then
        self:put(mark .. "elseif " .. code .. " then")
      else
        self:put(mark .. "else " .. self:temp_declaration() .. text .. " if " .. code .. " then")
        closers = closers + 1
      end
      state = meet(state, self:branch(inner.body, base))
      orelse = inner.orelse
    end
    if #orelse > 0 then
      self:put "else"
      state = meet(state, self:branch(orelse, base))
    else
      state = meet(state, base)
    end
    self:put(("end;"):rep(closers))
    self:arrive(state)
  end)
end

-- loops -----------------------------------------------------------------------------------------------------------------

-- open: code up to the body; settle: code after the loop; targets and the items they get at each turn.
function E:loop(node, open, target, item, settle, target2, item2)
  local id <const> = self.module:next_id()
  local entry <const> = { id = id, breaks = {} }
  local base <const> = self.assigned
  self:put(open)
  self.control[#self.control + 1] = entry
  self.assigned = self:copy_assigned()
  if target then
    self:assign(target, item)
    if target2 then self:assign(target2, item2) end
    self:flush ""
  end
  self:put "do"
  self:branch(node.body, self.assigned)
  self:put "end;"
  if entry.used_continue then self:put(("::c%d::"):format(id)) end
  self:put "end;"
  self.control[#self.control] = nil
  self.assigned = base
  local endless <const> = entry.endless or (node.type == "While" and node.test.type == "Constant" and E.truth_of(node.test))
  local state = not endless and base or nil
  if #node.orelse > 0 and not endless then state = self:branch(node.orelse, base) end
  if entry.used_break then self:put(("::b%d::"):format(id)) end
  if settle then self:put(settle) end
  for _, broken in ipairs(entry.breaks) do state = meet(state, broken) end
  self:put "end;"
  self:arrive(state)
end

function E.truth_of(constant)
  return constant.value == true or (constant.kind_of == "int" and constant.value ~= 0)
end

-- Whether a loop's body may leave the loop before its end (or hand the turn to someone else).
local function may_leave(body)
  for _, node in ipairs(body) do
    local kind <const> = node.type
    if kind == "Break" or kind == "Return" then return true end
    if kind ~= "FunctionDef" and kind ~= "ClassDef" then
      for _, field in ipairs { "body", "orelse", "finalbody" } do
        if type(node[field]) == "table" and node[field][1] and may_leave(node[field]) then return true end
      end
      for _, handler in ipairs(node.handlers or {}) do
        if may_leave(handler.body) then return true end
      end
    end
  end
  return false
end

-- Counting the turns of a loop in a variable of its own: code to declare it, to count, and to settle at the end.
function E:counter(id)
  local step <const> = self:h "STEP"
  return ("local n%d = 0;"):format(id), ("n%d = n%d + 1; if n%d > 500 then n%d = %s(n%d); end "):format(id, id, id, id, step, id),
    ("N = N + n%d; if N > 500 then N = %s(N); end "):format(id, step)
end

function statements.For(self, node)
  local iter <const> = node.iter
  if E.is_range_call(self, iter) then
    local codes <const> = self:operands(iter.args)
    local site <const> = self:site(iter)
    self:with_pre(function()
      local id <const> = self.module:next_id()
      local counted <const> = not may_leave(node.body) and not self.scope.generator
      local declare, count, settle = "", "", nil
      if not counted then declare, count, settle = self:counter(id) end
      local open <const> = ("do local f%d, l%d, s%d = %s; %s for x%d = f%d, l%d, s%d do %s"):format(id, id, id,
        self:call(counted and "RANGEALL" or "RANGE", site, table.unpack(codes)), declare, id, id, id, id, count)
      self:loop(node, open, node.target, "x" .. id, settle)
    end)
    return
  end
  -- for i, x in enumerate(y): no tuples
  local target <const> = node.target
  if iter.type == "Call" and E.is_builtin_name(self, iter.func, "enumerate") and #iter.args == 1 and #iter.keywords == 0
    and not E.has_star(iter.args) and target.type == "Tuple" and #target.elts == 2 and not E.has_star(target.elts) then
    local code <const> = self:expr(iter.args[1])
    self:with_pre(function()
      local id <const> = self.module:next_id()
      local open <const> = ("do local e%d = -1; for _, x%d in %s do e%d = e%d + 1;"):format(id, id, self:call("ITER", self:site(iter), code), id, id)
      self:loop(node, open, target.elts[1], "e" .. id, nil, target.elts[2], "x" .. id)
    end)
    return
  end
  local code <const> = self:expr(iter)
  self:with_pre(function()
    local id <const> = self.module:next_id()
    self:loop(node, ("do for _, x%d in %s do"):format(id, self:call("ITER", self:site(iter), code)), node.target, "x" .. id)
  end)
end

function statements.While(self, node)
  local text <const>, test <const> = self:apart(self.cond, self, node.test)
  local declare <const>, count <const>, settle <const> = self:counter(self.module:next_id())
  local open
  if text == "" then
    open = "do " .. declare .. " while " .. test .. " do " .. count
  else
    open = "do " .. declare .. " while true do " .. count .. self:temp_declaration() .. text .. " if not (" .. test .. ") then break; end;"
  end
  self.live_temps = 0
  self:loop(node, open, nil, nil, settle)
end

-- try -------------------------------------------------------------------------------------------------------------------

function E:try_except(node)
  if #node.handlers == 0 then
    local state <const> = self:branch(node.body, self.assigned)
    self:arrive(state)
    return
  end
  local id <const> = self.module:next_id()
  local ok <const>, signal <const>, value <const> = "o" .. id, "r" .. id, "w" .. id
  local base <const> = self.assigned
  local was_try <const> = self.in_try
  self.in_try = true
  self:put(("do local %s, %s, %s = %s(function()"):format(ok, signal, value, self:h "PCALL"))
  local state
  local entry <const> = self:closure(function() state = self:branch(node.body, base) end)
  self.in_try = was_try
  self:put(("end, %s);"):format(self:h "HANDLER"))
  self:put(("if not %s then local e%d = %s;"):format(ok, id, self:call("CATCH", signal)))
  local closers = 0
  local result = nil
  local bare = false
  for _, handler in ipairs(node.handlers) do
    self:put("\1" .. handler.lineno .. "\2")
    self.line = handler.lineno
    local class <const> = scopes.handler_class(handler)
    if class then
      local text <const>, code <const> = self:apart(self.expr, self, class)
      self:put(("%s if %s then"):format(text, self:call("MATCH", self:site(class), "e" .. id, code)))
      closers = closers + 1
    else
      bare = true
    end
    local saved <const> = self.caught
    self.caught = signal
    local body = handler.body
    if handler.name then
      self:assign({ type = "Name", id = handler.name, ctx = "Store" }, "e" .. id)
      self:flush ""
    end
    self:put "do"
    local after <const> = self:branch(body, base)
    self:put "end;"
    if handler.name and after then
      local how <const>, var <const> = scopes.resolve(self.scope, handler.name)
      if how == "local" or how == "free" then
        self:put(self:variable(var) .. " = nil;")
      elseif how == "global" then
        self:put(self:global_name(handler.name) .. " = nil;")
      end
    end
    result = meet(result, after)
    self.caught = saved
    if class then self:put "else" end
  end
  if not bare then self:put(("%s(%s);"):format(self:h "RETHROW", signal)) end
  self:put(("end "):rep(closers))
  self:put "else"
  self:take_signals(entry, signal, value)
  if state and #node.orelse > 0 then state = self:branch(node.orelse, state) end
  self:put "end; end;"
  self:arrive(meet(state, result))
end

function statements.Try(self, node)
  if #node.finalbody == 0 then return self:try_except(node) end
  local id <const> = self.module:next_id()
  local ok <const>, signal <const>, value <const> = "o" .. id, "r" .. id, "w" .. id
  local base <const> = self.assigned
  self:put(("do local %s, %s, %s = %s(function()"):format(ok, signal, value, self:h "PCALL"))
  local state
  local entry <const> = self:closure(function()
    self.assigned = self:copy_assigned()
    self:try_except(node)
    state = not self.dead and self.assigned or nil
    self.assigned, self.dead = base, false
  end)
  self:put(("end, %s); %s;"):format(self:h "HANDLER", self:call("FINALLY", ok, signal)))
  self:put "do"
  local final <const> = self:branch(node.finalbody, base)
  self:put "end;"
  if final then
    self:put(("if not %s then %s(%s); end;"):format(ok, self:h "RETHROW", signal))
    self:take_signals(entry, signal, value)
  end
  self:put "end;"
  if not final then
    self.dead = true
  else
    if state then
      for k in pairs(final) do state[k] = true end
    end
    self:arrive(state)
  end
end

statements.TryStar = nil

-- with ------------------------------------------------------------------------------------------------------------------

local function with_item(self, node, index)
  local item <const> = node.items[index]
  if not item then
    self:arrive((self:branch(node.body, self.assigned)))
    return
  end
  local code <const> = self:expr(item.context_expr)
  self:with_pre(function()
    local id <const> = self.module:next_id()
    local ok <const>, signal <const>, value <const> = "o" .. id, "r" .. id, "w" .. id
    self:put(("do local m%d = %s; local y%d = %s;"):format(id, code, id, self:call("ENTER", self:site(item.context_expr), "m" .. id)))
    if item.optional_vars then
      self:assign(item.optional_vars, "y" .. id)
      self:flush ""
    end
    local base <const> = self:copy_assigned()
    self:put(("local %s, %s, %s = %s(function()"):format(ok, signal, value, self:h "PCALL"))
    local state
    local entry <const> = self:closure(function()
      with_item(self, node, index + 1)
      state = not self.dead and self.assigned or nil
      self.assigned, self.dead = base, false
    end)
    self:put(("end, %s); %s;"):format(self:h "HANDLER", self:call("EXIT", self:site(item.context_expr), "m" .. id, ok, signal)))
    self:put(("if %s then"):format(ok))
    self:take_signals(entry, signal, value)
    self:put "end; end;"
    self:arrive(meet(state, base))
  end)
end

function statements.With(self, node) with_item(self, node, 1) end

return E
