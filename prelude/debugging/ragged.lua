-- SPDX-License-Identifier: MIT
-- The last, ragged tile of a loop that counts whole tiles only: `for i in range(rows // 128)`, whose body works on tiles of
-- exactly 128. One hypothesis mends the whole loop: the count is rounded up, the body begins with the size of this turn's tile,
-- min(128, rows - i * 128), and its slices, its tile shapes and the tiles it takes from outside use that size.
--
--   ragged.loop(self, node, body)    add the hypothesis for one For to a Finder of edits.lua; `body`: the entry function. Nothing fails.
--
-- Understood: `E // T`, int(E / T), a count that is already rounded up, each as the argument of a range or as a name assigned
-- once, and range(0, E, T); starts `i * T`, `T * i` or a name for it; ends `(i + 1) * T`, start + T or a name for it; nl.ds(start, T).
-- T may be a number, a name for one, or nl.tile_size.pmax. Which dimension of a tile is meant is the one the starts stand in.

local ast <const> = require "nki.ast"

local ragged <const> = {}

local function call_name(call) return (ast.dotted(call.func) or ""):match("[^.]+$") or "" end

local function edit(source, node, text)
  local s <const> = source:span(node)
  return { line = s.line, column = s.column, end_line = s.end_line, end_column = s.end_column, text = text }
end

-- What names are assigned: {[name]={value nodes}}.
local function assignments(body)
  local out <const> = {}
  ast.walk(body, function(node)
    if node.type == "Assign" and #node.targets == 1 and node.targets[1].type == "Name" then
      local name <const> = node.targets[1].id
      out[name] = out[name] or {}
      table.insert(out[name], node)
    end
  end)
  return out
end

local Loop <const> = {}
Loop.__index = Loop

-- The value of a name that is assigned once; any other node as it is.
function Loop:meaning(node)
  local made <const> = node.type == "Name" and self.assigned[node.id]
  return made and #made == 1 and made[1].value or node
end

-- An integer where one can be read off.
function Loop:value(node)
  node = self:meaning(node)
  if node.type == "Constant" and node.kind_of == "int" then return node.value end
  if node.type == "Attribute" and node.attr == "pmax" then return 128 end
  return nil
end

function Loop:same(a, b)
  if self.source:slice(a) == self.source:slice(b) then return true end
  local one <const> = self:value(a)
  return one ~= nil and one == self:value(b)
end

function Loop:is_tile(node) return self:same(node, self.tile) end
local function is_name(node, name) return node.type == "Name" and node.id == name end
local function is_one(node) return node.type == "Constant" and node.value == 1 end

-- V + 1
function Loop:is_next(node) return node.type == "BinOp" and node.op == "Add" and is_name(node.left, self.variable) and is_one(node.right) end

local function product(node, one, other)
  return node.type == "BinOp" and node.op == "Mult" and (one(node.left) and other(node.right) or other(node.left) and one(node.right))
end

-- Is a node the place where this turn's tile begins, or where it ends?
function Loop:is_start(node)
  if self.stepped then return is_name(node, self.variable) end
  node = self:meaning(node)
  return product(node, function(n) return is_name(n, self.variable) end, function(n) return self:is_tile(n) end)
end

function Loop:is_end(node)
  if not self.stepped and product(node, function(n) return self:is_next(n) end, function(n) return self:is_tile(n) end) then return true end
  return node.type == "BinOp" and node.op == "Add" and (self:is_start(node.left) and self:is_tile(node.right))
end

-- E and T of a count, and the edit that rounds it up (none where it is rounded up already).
function Loop:read_count(node)
  local count <const> = self:meaning(node)
  local division = count
  if count.type == "Call" and call_name(count) == "int" and #count.args == 1 and count.args[1].type == "BinOp" and count.args[1].op == "Div" then
    division = count.args[1]
  elseif count.type ~= "BinOp" or count.op ~= "FloorDiv" then
    return false
  end
  self.tile = division.right
  local left <const>, tile <const> = division.left, self.source:slice(self.tile)
  if left.type == "BinOp" and left.op == "Sub" and is_one(left.right) and left.left.type == "BinOp" and left.left.op == "Add"
    and self:is_tile(left.left.right) then
    self.extent = self.source:slice(left.left.left)
    return true
  end
  local tall <const> = self:value(self.tile)
  if tall and left.type == "BinOp" and left.op == "Add" and left.right.type == "Constant" and left.right.value == tall - 1 then
    self.extent = self.source:slice(left.left)
    return true
  end
  if left.type ~= "Name" and left.type ~= "Attribute" and left.type ~= "Subscript" and left.type ~= "Constant" then return false end
  self.extent = self.source:slice(left)
  self.edits[1] = edit(self.source, count, ("(%s + %s - 1) // %s"):format(self.extent, tile, tile))
  return true
end

function Loop:read_range(call)
  if not call_name(call):match("range$") or #(call.keywords or {}) > 0 then return false end
  local args <const> = call.args
  if #args == 3 then
    self.stepped, self.tile, self.extent = true, args[3], self.source:slice(args[2])
    return args[1].type == "Constant" and args[1].value == 0
  end
  if #args == 2 and not (args[1].type == "Constant" and args[1].value == 0) or #args == 0 or #args > 2 then return false end
  return self:read_count(args[#args])
end

local function keys_of(subscript) return subscript.slice.type == "Tuple" and subscript.slice.elts or { subscript.slice } end

-- Slices that begin at a start: their ends and lengths, and the dimension they stand in.
function Loop:regions(statement)
  local ends <const> = {}
  ast.walk(statement, function(node)
    if node.type ~= "Subscript" then return end
    for d, key in ipairs(keys_of(node)) do
      local start, tall
      if key.type == "Slice" and key.lower and key.upper and not key.step and self:is_start(key.lower) then
        start, tall = key.lower, key.upper
        local named <const> = self:meaning(tall)
        if self:is_end(tall) then
          self.edits[#self.edits + 1] = edit(self.source, tall, ("%s + %s"):format(self.source:slice(start), self.size))
        elseif named ~= tall and self:is_end(named) then
          ends[named] = self.source:slice(start)
        else
          start = nil
        end
      elseif key.type == "Call" and call_name(key) == "ds" and #key.args == 2 and self:is_start(key.args[1]) and self:is_tile(key.args[2]) then
        start = key.args[1]
        self.edits[#self.edits + 1] = edit(self.source, key.args[2], self.size)
      end
      if start then
        self.found = true
        if self.dim and self.dim ~= d then self.mixed = true end
        self.dim = self.dim or d
      end
    end
  end)
  for named, start in pairs(ends) do
    if not self.ended[named] then
      self.ended[named] = true
      self.edits[#self.edits + 1] = edit(self.source, named, ("%s + %s"):format(start, self.size))
    end
  end
end

-- A shape whose size in the loop's dimension is the tile's.
function Loop:tall(shape)
  local size <const> = (shape.type == "Tuple" or shape.type == "List") and #shape.elts > 1 and shape.elts[self.dim]
  return size and self:is_tile(size) and size or nil
end

local function each_argument(call, visit)
  for _, arg in ipairs(call.args) do visit(arg) end
  for _, keyword in ipairs(call.keywords or {}) do if keyword.arg then visit(keyword.value, keyword.arg) end end
end

-- Tiles made outside the loop as tall as T.
function Loop:outer_tiles(node)
  local tiles <const> = {}
  for name, made in pairs(self.assigned) do
    for _, statement in ipairs(made) do
      if statement.lineno < node.lineno and statement.value.type == "Call" then
        each_argument(statement.value, function(arg) if self:tall(arg) and #arg.elts == 2 then tiles[name] = true end end)
      end
    end
  end
  return tiles
end

-- Shapes, parts of tiles, and whole tiles from outside.
function Loop:sizes(statement, outer)
  ast.walk(statement, function(node)
    if node.type == "Call" then
      each_argument(node, function(arg)
        local size <const> = self:tall(arg)
        if size then self.edits[#self.edits + 1] = edit(self.source, size, self.size) end
        if arg.type == "Name" and outer[arg.id] then
          self.edits[#self.edits + 1] = edit(self.source, arg, ("%s[%s]"):format(arg.id, self.dim == 1 and "0:" .. self.size .. ", :" or ":, 0:" .. self.size))
        end
      end)
    elseif node.type == "Subscript" then
      local key <const> = keys_of(node)[self.dim]
      if key and key.type == "Slice" and not key.lower and not key.upper and not key.step and node.value.type == "Name" and outer[node.value.id] then
        self.edits[#self.edits + 1] = edit(self.source, key, "0:" .. self.size)
      elseif key and key.type == "Slice" and key.upper and not key.step and self:is_tile(key.upper)
        and (not key.lower or key.lower.type == "Constant" and key.lower.value == 0) then
        self.edits[#self.edits + 1] = edit(self.source, key.upper, self.size)
      elseif key and key.type == "Call" and call_name(key) == "ds" and #key.args == 2 and self:is_tile(key.args[2]) and key.args[1].type == "Constant" then
        self.edits[#self.edits + 1] = edit(self.source, key.args[2], self.size)
      end
    end
  end)
end

local function fresh(body, base)
  local taken <const> = {}
  ast.walk(body, function(node) if node.type == "Name" then taken[node.id] = true elseif node.type == "arg" then taken[node.arg] = true end end)
  local name, n = base, 1
  while taken[name] do
    n = n + 1
    name = base .. n
  end
  return name
end

function ragged.loop(self, node, body)
  local first <const> = node.body[1]
  if node.target.type ~= "Name" or node.iter.type ~= "Call" or not first or first.lineno == node.lineno then return end
  local loop <const> = setmetatable({ source = self.source, variable = node.target.id, edits = {}, ended = {}, assigned = assignments(self.tree) }, Loop)
  if not loop:read_range(node.iter) then return end
  loop.size = fresh(body, "size")
  for _, statement in ipairs(node.body) do loop:regions(statement) end
  if not loop.found or loop.mixed or loop.dim > 2 then return end
  local outer <const> = loop:outer_tiles(node)
  for _, statement in ipairs(node.body) do loop:sizes(statement, outer) end
  local tile <const> = self.source:slice(loop.tile)
  local start <const> = loop.stepped and loop.variable or ("%s * %s"):format(loop.variable, tile)
  local edits <const> = loop.edits
  edits[#edits + 1] = self.source.insert(first.lineno, 1,
    ("%s%s = min(%s, %s - %s)\n"):format(self.source:indent(first.lineno), loop.size, tile, loop.extent, start))
  self.list[#self.list + 1] = {
    kind = "ragged", title = ("work on the last, partial tile too: `%s` of this turn, instead of always %s"):format(loop.size, tile),
    order = #self.list, edits = edits,
  }
end

return ragged
