-- SPDX-License-Identifier: MIT
-- Small changes of where a kernel works: which region of a tensor, which of several tensors and tiles, how far a loop runs,
-- where a statement stands. The other half of edits.lua, with the same Finder: each function adds hypotheses to its list.

local ast <const> = require "nki.ast"

local places <const> = {}

local function number_of(node) return node.type == "Constant" and (node.kind_of == "int" or node.kind_of == "float") and node.value or nil end

local function slices_of(subscript) return subscript.slice.type == "Tuple" and subscript.slice.elts or { subscript.slice } end

-- The name node at the root of `a` or `a[...]`.
local function root_of(node)
  if node.type == "Name" or node.type == "Subscript" then return ast.root(node) end
  return nil
end

-- Facts about regions: every slice by its place, every whole region, and which start goes with which length.
function places.collect(self, body)
  self.slices_at, self.starts_of, self.lengths_of = {}, {}, {}
  ast.walk(body, function(node)
    if node.type ~= "Subscript" then return end
    local root <const> = ast.root(node)
    for d, key in ipairs(slices_of(node)) do
      local text <const> = self.source:slice(key)
      if key.type == "Slice" then
        if self.hbm[root] then
          self.slices_at[d] = self.slices_at[d] or {}
          if not self.slices_at[d][text] then
            self.slices_at[d][text] = true
            table.insert(self.slices_at[d], text)
          end
        end
        local low <const>, length = key.lower and self.source:slice(key.lower), nil
        local high <const> = key.upper and self.source:slice(key.upper)
        if low and high and high:sub(1, #low + 3) == low .. " + " then length = high:sub(#low + 4) end
        if length then
          self.starts_of[length] = self.starts_of[length] or {}
          self.starts_of[length][low] = true
        end
      end
    end
  end)
end

-- Another slice of the same place, and the start that elsewhere goes with a length.
function places.subscript(self, node)
  local root <const> = ast.root(node)
  if not self.hbm[root] then return end
  local repaired, changed = {}, false
  for d, key in ipairs(slices_of(node)) do
    local text <const> = self.source:slice(key)
    repaired[d] = text
    if key.type == "Slice" then
      for _, other in ipairs(self.slices_at[d] or {}) do
        if other ~= text then self:propose("region", key, other, ("take `%s` of `%s`"):format(other, root)) end
      end
      for length, starts in pairs(self.starts_of) do
        local low <const> = text:sub(-#length - 3) == " + " .. length and key.lower and self.source:slice(key.lower)
        if low then
          local only
          for start in pairs(starts) do
            if start ~= low then only = only == nil and start or false end
          end
          if only then
            repaired[d], changed = ("%s:%s + %s"):format(only, only, length), true
          end
        end
      end
    end
  end
  if changed then
    local first <const>, last <const> = slices_of(node)[1], slices_of(node)[#repaired]
    self:propose_span("region", first, last, table.concat(repaired, ", "), "start where this length starts elsewhere")
  end
end

local WHOLE <const> = { data = true, data1 = true, data2 = true, src = true, moving = true, stationary = true }

-- Another tile or another tensor in a place. `role`: the keyword or position, for the title.
function places.operand(self, node, role)
  local root <const>, at <const> = root_of(node)
  if not root then return end
  local names = self.tiles[root] and self.tile_names or self.hbm[root] and self.hbm_names
  if not names and WHOLE[role] and node.type == "Name" then names = self.tile_names end -- what is no tensor cannot be meant
  for _, name in ipairs(names or {}) do
    if name ~= root then
      self:propose(self.unread[name] and "unread" or self.hbm[root] and "source" or "tile", at, name, ("%s=%s"):format(role, name))
    end
  end
end

-- range(...): without a correction of its end, from zero, with another step, and over what its body clamps to.
function places.range(self, call)
  if call.func.type ~= "Name" or not call.func.id:match("range$") then return end
  local args <const> = call.args
  for i, arg in ipairs(args) do
    local inner = arg
    while inner.type == "BinOp" do
      inner = inner.left
      if arg.op == "Sub" or arg.op == "Add" or i == 3 then self:propose("bound", arg, self.source:slice(inner)) end
    end
    if i == 3 and arg.type == "BinOp" then self:propose("bound", arg, self.source:slice(arg.right)) end
    if i == 1 and #args > 1 and number_of(arg) and arg.value ~= 0 then self:propose("bound", arg, "0") end
  end
end

-- for k in range(1): ... min(T, E - k): the loop that the clamp was written for.
function places.loop(self, node)
  if node.target.type ~= "Name" or node.iter.type ~= "Call" then return end
  local variable <const> = node.target.id
  for _, statement in ipairs(node.body) do
    ast.walk(statement, function(child)
      if child.type == "Call" and child.func.type == "Name" and child.func.id == "min" and #child.args == 2 then
        for i = 1, 2 do
          local rest <const>, step <const> = child.args[i], child.args[3 - i]
          if rest.type == "BinOp" and rest.op == "Sub" and rest.right.type == "Name" and rest.right.id == variable then
            local text <const> = ("%s(0, %s, %s)"):format(ast.dotted(node.iter.func) or "range", self.source:slice(rest.left), self.source:slice(step))
            if self.source:slice(node.iter) ~= text then self:propose("bound", node.iter, text, "go over everything in steps of a tile") end
          end
        end
      end
    end)
  end
end

-- a // b counts whole tiles only; the last, partial one needs (a + b - 1) // b.
function places.ceiling(self, node)
  if node.op ~= "FloorDiv" then return end
  local left <const>, right <const> = self.source:slice(node.left), self.source:slice(node.right)
  if left:find("%- 1%)?$") or node.left.type == "Constant" then return end
  local inner <const> = left:match("^%((.*)%)$") or left
  if inner:sub(-#right - 3) == " + " .. right then
    self:propose("ceiling", node, ("(%s - 1) // %s"):format(inner, right), "count the last, partial tile once")
  else
    self:propose("ceiling", node, ("(%s + %s - 1) // %s"):format(inner, right, right), "count the last, partial tile too")
  end
end

-- Clamp an end that is computed before it is used: end = start + P -> min(start + P, rows).
function places.clamp_end(self, node)
  if node.type ~= "Assign" or #node.targets ~= 1 or node.targets[1].type ~= "Name" then return end
  local value <const> = node.value
  if value.type ~= "BinOp" or value.op ~= "Add" and value.op ~= "Mult" then return end
  if not self.ends[node.targets[1].id] then return end
  for _, extent in ipairs(self.dims) do self:propose("clamp", value, ("min(%s, %s)"):format(self.source:slice(value), extent)) end
end

-- Moving a statement: an accumulator made anew in the loop that sums into it, or cleared before the loop that should clear it.
local function whole_lines(self, statement)
  local lines <const> = {}
  for line = statement.lineno, statement.end_lineno or statement.lineno do lines[#lines + 1] = self.source:line(line) end
  return lines
end

local function move(self, kind, statement, line, indent, title)
  local lines <const>, old <const> = whole_lines(self, statement), self.source:indent(statement.lineno)
  for i, text in ipairs(lines) do
    if text:sub(1, #old) ~= old then return end
    lines[i] = indent .. text:sub(#old + 1) .. "\n"
  end
  self.list[#self.list + 1] = {
    kind = kind, title = title, order = #self.list,
    edits = {
      self.source.insert(line, 1, table.concat(lines)),
      { line = statement.lineno, column = 1, end_line = (statement.end_lineno or statement.lineno) + 1, end_column = 1, text = "" },
    },
  }
end

local function called(statement)
  local call <const> = statement.type == "Assign" and statement.value or statement.type == "Expr" and statement.value
  if not call or call.type ~= "Call" or call.func.type ~= "Attribute" then return nil end
  return call.func.attr, call
end

function places.movable(self, block, loop)
  for i, statement in ipairs(block) do
    local name <const>, call <const> = called(statement)
    if loop and (name == "ndarray" or name == "memset" or name == "zeros") then
      local target <const> = statement.type == "Assign" and statement.targets[1].type == "Name" and statement.targets[1].id
      if name == "memset" or target and self.accumulators[target] then
        move(self, "move", statement, loop.lineno, self.source:indent(loop.lineno), "before the loop: once for all its turns")
        -- An allocation that is cleared right after it goes with its memset.
        local next_name <const> = block[i + 1] and called(block[i + 1])
        if target and next_name == "memset" then
          local both <const> = { lineno = statement.lineno, end_lineno = block[i + 1].end_lineno }
          move(self, "move", both, loop.lineno, self.source:indent(loop.lineno), "before the loop: once for all its turns")
        end
      end
    end
    if name == "memset" and call then
      for j = i + 1, #block do
        local after <const> = block[j]
        if after.type == "For" then
          move(self, "move", statement, after.body[1].lineno, self.source:indent(after.body[1].lineno), "into the loop: anew for every turn")
          break
        end
      end
    end
  end
end

return places
