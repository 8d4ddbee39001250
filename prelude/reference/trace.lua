-- SPDX-License-Identifier: MIT
-- The expression graph of a traced reference. Nodes are interned: the same operation on the same operands is one node,
-- so common subexpressions are shared and a loop or helper function leaves no mark. A node is
--   {id, op, name, inputs = {nodes}, shape = {ints}, dtype = "float64"|"int64"|"bool", site, ...attributes of the op}
-- with op one of: input dim param const constant unary binary compare where reduce arg_reduce cumulative matmul cast
-- reshape transpose slice select broadcast concat interleave full arange. Ids rise in order of creation: a topological order.

local core <const> = require "reference.core"

local NODE_LIMIT <const> = 200000

local Trace <const> = {}
Trace.__index = Trace

local M <const> = {}

-- `site` is a function that returns the current source location {file, line, column, ...} or nil.
function M.new(site)
  return setmetatable({ nodes = {}, by_key = {}, guards = {}, edges = 0, inputs = {}, params = {}, site = site or function() end }, Trace)
end

local attribute_names <const> = { "name", "axis", "start", "extent", "step", "index", "keepdims", "tensor", "value_key" }

local function key_of(node)
  local parts <const> = { node.op }
  for _, attribute in ipairs(attribute_names) do
    if node[attribute] ~= nil then parts[#parts + 1] = attribute .. "=" .. tostring(node[attribute]) end
  end
  if node.axes then parts[#parts + 1] = "axes=" .. table.concat(node.axes, ",") end
  parts[#parts + 1] = "shape=" .. table.concat(node.shape, ",")
  for _, input in ipairs(node.inputs) do parts[#parts + 1] = "#" .. input.id end
  return table.concat(parts, "|")
end

-- The node, or the one that is already there. `site` is given for a node that takes another's place.
function Trace:add(node, site)
  local key <const> = key_of(node)
  local known <const> = self.by_key[key]
  if known then return known end
  self.edges = self.edges + #node.inputs
  if #self.nodes >= NODE_LIMIT or self.edges > 4 * NODE_LIMIT then
    core.raise("MemoryError", "the reference's expression graph has more than %d nodes (a loop over single elements?)", NODE_LIMIT)
  end
  node.id = #self.nodes + 1
  node.site = site or self.site()
  self.nodes[node.id] = node
  self.by_key[key] = node
  return node
end

function Trace:const(value)
  local dtype <const> = (type(value) == "boolean" and "bool") or (math.type(value) == "float" and "float64") or "int64"
  return self:add({ op = "const", value = value, value_key = math.type(value) == "float" and ("%a"):format(value) or tostring(value),
    inputs = {}, shape = {}, dtype = dtype })
end

-- A concrete tensor used beside symbolic ones (an array literal).
function Trace:constant_tensor(tensor)
  if #tensor.shape == 0 then return self:const(tensor.value:item()) end
  return self:add({ op = "constant", tensor = tensor.value:hash(), value = tensor.value, inputs = {}, shape = tensor.shape, dtype = tensor.dtype })
end

function Trace:input(name, shape, declared, family)
  local node <const> = self:add({ op = "input", name = name, inputs = {}, shape = shape, dtype = core.storage_dtype(declared) })
  node.declared = declared
  self.inputs[#self.inputs + 1] = node
  return core.symbolic(node, family, declared)
end

-- A scalar argument of the reference: computes as `value`, remembered as the parameter.
function Trace:param(name, value)
  local dtype <const> = (type(value) == "boolean" and "bool") or (math.type(value) == "float" and "float64") or "int64"
  local node <const> = self:add({ op = "param", name = name, inputs = {}, shape = {}, dtype = dtype })
  node.value = value
  self.params[#self.params + 1] = node
  return core.scalar(value, node)
end

-- The node of one extent of a tensor, traced back to an extent of an input where that is certain.
function Trace:dim(node, axis)
  local extent <const> = node.shape[axis + 1]
  while true do
    if node.op == "input" then return self:add({ op = "dim", name = node.name, axis = axis, inputs = {}, shape = {}, dtype = "int64", value = extent }) end
    local from = nil
    if node.op == "unary" or node.op == "cast" or node.op == "cumulative" then
      from = node.inputs[1]
    elseif (node.op == "binary" or node.op == "compare" or node.op == "where") and extent == 1 then
      -- Rows of length 1: the extent is the first operand's whose own it is.
      for _, input in ipairs(node.inputs) do
        local shifted <const> = axis - #node.shape + #input.shape
        local found <const> = shifted >= 0 and #input.shape > 0 and self:dim(input, shifted)
        if found and found.op == "dim" then return found end
      end
    elseif node.op == "binary" or node.op == "compare" or node.op == "where" then
      for _, input in ipairs(node.inputs) do
        local shifted <const> = axis - #node.shape + #input.shape
        if shifted >= 0 and input.shape[shifted + 1] == extent and extent ~= 1 then
          from, axis = input, shifted
          break
        end
      end
    elseif node.op == "reduce" and node.keepdims then
      local reduced = false
      for _, a in ipairs(node.axes) do reduced = reduced or a == axis end
      if not reduced then from = node.inputs[1] end
    elseif node.op == "reduce" then
      -- Axes that remain keep their order: find the axis of the operand that became this one.
      local gone <const> = {}
      for _, a in ipairs(node.axes) do gone[a] = true end
      local seen = -1
      for a = 0, #node.inputs[1].shape - 1 do
        if not gone[a] then seen = seen + 1 end
        if seen == axis then
          from, axis = node.inputs[1], a
          break
        end
      end
    elseif node.op == "transpose" then
      from, axis = node.inputs[1], node.axes[axis + 1]
    elseif (node.op == "slice" or node.op == "concat" or node.op == "interleave") and node.axis ~= axis then
      from = node.inputs[1]
    elseif node.op == "select" then
      from = node.inputs[1]
      if axis >= node.axis then axis = axis + 1 end
    elseif node.op == "reshape" and extent ~= 1 then
      -- The axis of the operand with as many elements before it and the same extent.
      local before = 1
      for i = 1, axis do before = before * node.shape[i] end
      local passed = 1
      for i, e in ipairs(node.inputs[1].shape) do
        if passed == before and e == extent then
          from, axis = node.inputs[1], i - 1
          break
        end
        passed = passed * e
      end
    end
    if from == nil then return self:const(extent) end
    node = from
  end
end

-- The traced case's number was used where a program must decide: the graph holds for that number only.
function Trace:guard(node, value, why)
  if why == nil then return end
  self.guards[#self.guards + 1] = { node = node, value = value, why = why, site = self.site() }
end

return M
