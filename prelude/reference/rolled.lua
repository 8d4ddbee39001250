-- SPDX-License-Identifier: MIT
-- Loops of a traced reference, rolled up again. A loop over rows or over column chunks leaves one copy of its body per turn;
-- here copies that differ only in which row or chunk they read become one expression over the whole array:
--
--   concat(f(x[0]), f(x[1]), ...)            -> f(x)                 rows, one at a time or in blocks
--   sum(f(x[:, 0:c])) + sum(f(x[:, c:2c]))   -> sum(f(x[:, 0:2c]))   running sums, products, maxima, minima
--   sum(exp(x - a)) * exp(a - b)             -> sum(exp(x - b))      the running softmax
--
-- Every rule is an identity of exact arithmetic, and the kernel that comes of it is judged against the reference as it was
-- written. What no rule covers stays as it was.

local M <const> = {}

local function product(list, from, to)
  local n = 1
  for i = from or 1, to or #list do n = n * list[i] end
  return n
end

local function all_same(list)
  for i = 2, #list do if list[i] ~= list[1] then return false end end
  return true
end

local attributes <const> = { "op", "name", "axis", "axes", "start", "extent", "step", "index", "keepdims", "tensor", "value_key", "value", "declared" }

-- A node like `node` with other inputs and, where given, other fields.
local function remake(trace, node, inputs, fields)
  local made <const> = { inputs = inputs, dtype = node.dtype, shape = node.shape }
  for _, key in ipairs(attributes) do made[key] = node[key] end
  for key, value in pairs(fields or {}) do made[key] = value end
  return trace:add(made, node.site)
end

-- The same operation with the same attributes; those named in `free` may differ.
local function alike(list, free)
  local first <const> = list[1]
  for i = 2, #list do
    local node <const> = list[i]
    if node.op ~= first.op or #node.inputs ~= #first.inputs or #node.shape ~= #first.shape then return false end
    for _, key in ipairs({ "name", "axis", "start", "extent", "step", "index", "keepdims", "tensor", "value_key" }) do
      if not free[key] and node[key] ~= first[key] then return false end
    end
    if first.axes and table.concat(first.axes, ",") ~= table.concat(node.axes, ",") then return false end
  end
  return true
end

local function inputs_at(list, i)
  local out <const> = {}
  for k, node in ipairs(list) do out[k] = node.inputs[i] end
  return out
end

local function with(list, at, value)
  local out <const> = { table.unpack(list) }
  out[at] = value
  return out
end

local elementwise <const> = { unary = true, binary = true, compare = true, where = true, cast = true }

local Roll <const> = {}
Roll.__index = Roll

local function memo_key(list, what)
  local ids <const> = { what }
  for i, node in ipairs(list) do ids[i + 1] = node.id end
  return table.concat(ids, ",")
end

-- One node whose slices along `axis`, in order, are the nodes of the list; nil where there is none.
function Roll:join(list, axis)
  local key <const> = memo_key(list, "j" .. axis)
  local known <const> = self.memo[key]
  if known ~= nil then return known or nil end
  local made <const> = self:joined(list, axis)
  self.memo[key] = made or false
  return made
end

function Roll:joined(list, axis)
  local first <const> = list[1]
  if axis < 0 or axis >= #first.shape then return nil end
  local total = 0
  for _, node in ipairs(list) do total = total + (node.shape[axis + 1] or 0) end
  local op <const> = first.op
  local trace <const> = self.trace
  local shape <const> = with(first.shape, axis + 1, total)
  local along <const> = (op == "slice" and first.axis == axis)
  if not alike(list, { start = along or op == "arange", extent = along }) then return nil end
  if along then
    if first.step ~= 1 or not all_same(inputs_at(list, 1)) then return nil end
    local at = first.start
    for _, node in ipairs(list) do
      if node.start ~= at then return nil end
      at = at + node.extent
    end
    local source <const> = first.inputs[1]
    if first.start == 0 and total == source.shape[axis + 1] then return source end
    return remake(trace, first, { source }, { extent = total, shape = shape })
  end
  if op == "full" then
    if not all_same(inputs_at(list, 1)) then return nil end
    return remake(trace, first, first.inputs, { shape = shape })
  end
  if all_same(list) then return nil end -- a repetition
  if op == "arange" then
    local at = first.start
    for _, node in ipairs(list) do
      if node.start ~= at then return nil end
      at = at + node.step * node.shape[1]
    end
    return remake(trace, first, {}, { shape = shape })
  elseif elementwise[op] then
    local inputs <const> = {}
    for i = 1, #first.inputs do
      local part <const> = inputs_at(list, i)
      local at <const> = axis - (#first.shape - #part[1].shape)
      if all_same(part) and (at < 0 or part[1].shape[at + 1] == 1) then
        inputs[i] = part[1]
      else
        inputs[i] = self:join(part, at)
        if not inputs[i] then return nil end
      end
    end
    return remake(trace, first, inputs, { shape = shape })
  elseif op == "reduce" or op == "cumulative" or op == "arg_reduce" then
    local gone <const> = {}
    for _, a in ipairs(first.axes) do gone[a] = true end
    local at = axis
    if op ~= "cumulative" and not first.keepdims then
      local seen = -1
      for a = 0, #first.inputs[1].shape - 1 do
        if not gone[a] then seen = seen + 1 end
        if seen == axis then
          at = a
          break
        end
      end
    end
    if gone[at] then return nil end
    local inner <const> = self:join(inputs_at(list, 1), at)
    return inner and remake(trace, first, { inner }, { shape = shape })
  elseif op == "reshape" then
    local from <const> = first.inputs[1].shape
    local before <const> = product(first.shape, 1, axis)
    for at = 0, #from - 1 do
      local fits = product(from, 1, at) == before
      for _, node in ipairs(list) do fits = fits and node.inputs[1].shape[at + 1] == node.shape[axis + 1] end
      local inner <const> = fits and self:join(inputs_at(list, 1), at)
      if inner then return remake(trace, first, { inner }, { shape = shape }) end
    end
    -- A row that got an axis of size 1 here.
    if before == 1 and first.shape[axis + 1] == 1 then
      local inner <const> = self:lift(inputs_at(list, 1))
      if inner then return self:reshaped(inner, shape, first.site) end
    end
    return nil
  elseif op == "transpose" then
    local inner <const> = self:join(inputs_at(list, 1), first.axes[axis + 1])
    return inner and remake(trace, first, { inner }, { shape = shape })
  elseif op == "broadcast" then
    local part <const> = inputs_at(list, 1)
    local at <const> = axis - (#first.shape - #part[1].shape)
    if all_same(part) and (at < 0 or part[1].shape[at + 1] == 1) then return remake(trace, first, { part[1] }, { shape = shape }) end
    local inner <const> = self:join(part, at)
    return inner and remake(trace, first, { inner }, { shape = shape })
  elseif op == "slice" then
    local inner <const> = self:join(inputs_at(list, 1), axis)
    return inner and remake(trace, first, { inner }, { shape = shape })
  elseif op == "select" then
    local inner <const> = self:join(inputs_at(list, 1), axis >= first.axis and axis + 1 or axis)
    return inner and remake(trace, first, { inner }, { shape = shape })
  elseif (op == "concat" or op == "interleave") and first.axis ~= axis then
    local inputs <const> = {}
    for i = 1, #first.inputs do
      local part <const> = inputs_at(list, i)
      for _, node in ipairs(part) do if node.shape[first.axis + 1] ~= part[1].shape[first.axis + 1] then return nil end end
      inputs[i] = self:join(part, axis)
      if not inputs[i] then return nil end
    end
    return remake(trace, first, inputs, { shape = shape })
  end
  return nil
end

function Roll:reshaped(node, shape, site)
  if table.concat(node.shape, ",") == table.concat(shape, ",") then return node end
  local from = node
  while from.op == "reshape" do from = from.inputs[1] end
  if table.concat(from.shape, ",") == table.concat(shape, ",") then return from end
  return self.trace:add({ op = "reshape", inputs = { node }, shape = shape, dtype = node.dtype }, site)
end

-- One node with a new first axis whose entries, in order, are the nodes of the list; nil where there is none, and
-- node, true for a node that is the same in each turn (no new axis).
function Roll:lift(list)
  if all_same(list) then return list[1], true end
  local key <const> = memo_key(list, "l")
  local known <const> = self.memo[key]
  if known ~= nil then return known or nil end
  local made <const> = self:lifted(list)
  self.memo[key] = made or false
  return made
end

function Roll:lifted(list)
  local first <const>, n <const> = list[1], #list
  local op <const> = first.op
  local trace <const> = self.trace
  if not alike(list, { index = op == "select", value_key = op == "const", start = op == "slice" }) then return nil end
  for _, node in ipairs(list) do
    for i, e in ipairs(node.shape) do if e ~= first.shape[i] then return nil end end
  end
  local shape <const> = { n, table.unpack(first.shape) }
  if op == "const" then
    if math.type(first.value) ~= "integer" then return nil end
    local step <const> = list[2].value - first.value
    for k, node in ipairs(list) do if node.value ~= first.value + (k - 1) * step then return nil end end
    if step == 0 then return nil end
    return trace:add({ op = "arange", start = first.value, step = step, inputs = {}, shape = { n }, dtype = "int64" }, first.site)
  elseif op == "select" then
    local part <const> = inputs_at(list, 1)
    if all_same(part) then
      local step <const> = list[2].index - first.index
      for k, node in ipairs(list) do if node.index ~= first.index + (k - 1) * step then return nil end end
      if first.axis ~= 0 or step < 1 then return nil end
      local source <const> = part[1]
      if step == 1 and first.index == 0 and n == source.shape[1] then return source end
      return trace:add({ op = "slice", inputs = { source }, axis = 0, start = first.index, extent = n, step = step,
        shape = with(source.shape, 1, n), dtype = source.dtype }, first.site)
    end
    for _, node in ipairs(list) do if node.index ~= first.index then return nil end end
    local inner <const>, same <const> = self:lift(part)
    if not inner or same then return nil end
    return remake(trace, first, { inner }, { axis = first.axis + 1, shape = shape })
  elseif elementwise[op] then
    local inputs <const> = {}
    for i = 1, #first.inputs do
      local inner, same = self:lift(inputs_at(list, i))
      if not inner then return nil end
      local rank <const> = #first.inputs[i].shape
      if not same and rank < #first.shape then
        local wide <const> = { n }
        for _ = 1, #first.shape - rank do wide[#wide + 1] = 1 end
        for _, e in ipairs(first.inputs[i].shape) do wide[#wide + 1] = e end
        inner = self:reshaped(inner, wide, first.site)
      end
      inputs[i] = inner
    end
    return remake(trace, first, inputs, { shape = shape })
  end
  if op == "full" then return nil end
  if #first.inputs ~= 1 and op ~= "concat" and op ~= "interleave" then return nil end
  local fields <const> = { shape = shape }
  if op == "reduce" or op == "cumulative" or op == "arg_reduce" then
    fields.axes = {}
    for i, a in ipairs(first.axes) do fields.axes[i] = a + 1 end
  elseif op == "transpose" then
    fields.axes = { 0 }
    for i, a in ipairs(first.axes) do fields.axes[i + 1] = a + 1 end
  elseif op == "slice" or op == "concat" or op == "interleave" then
    for _, node in ipairs(list) do if node.start ~= first.start then return nil end end
    fields.axis = first.axis + 1
  elseif op ~= "reshape" and op ~= "broadcast" then
    return nil
  end
  local inputs <const> = {}
  for i = 1, #first.inputs do
    local inner, same = self:lift(inputs_at(list, i))
    if not inner then return nil end
    if same then
      -- The same in every turn beside parts that are not: spread it.
      inner = trace:add({ op = "broadcast", inputs = { inner }, shape = { n, table.unpack(inner.shape) }, dtype = inner.dtype }, first.site)
    elseif op == "broadcast" and #first.inputs[1].shape < #first.shape then
      local wide <const> = { n }
      for _ = 1, #first.shape - #first.inputs[1].shape do wide[#wide + 1] = 1 end
      for _, e in ipairs(first.inputs[1].shape) do wide[#wide + 1] = e end
      inner = self:reshaped(inner, wide, first.site)
    end
    inputs[i] = inner
  end
  if op == "reshape" then return self:reshaped(inputs[1], shape, first.site) end
  return remake(trace, first, inputs, fields)
end

-- Running forms -------------------------------------------------------------------------------------------------------------

local function constant(node)
  if node.op == "full" then node = node.inputs[1] end
  if node.op ~= "const" then return nil end
  return node.value
end

local neutral <const> = { add = 0, maximum = -math.huge, minimum = math.huge, multiply = 1 }
local reduction_of <const> = { add = "sum", maximum = "max", minimum = "min", multiply = "prod" }

local function same_shape(a, b) return table.concat(a.shape, ",") == table.concat(b.shape, ",") end

-- Two reductions of neighbouring columns as one.
function Roll:merge(name, a, b)
  if a.op ~= "reduce" or b.op ~= "reduce" or a.name ~= name or b.name ~= name or a.keepdims ~= b.keepdims then return nil end
  if #a.axes ~= 1 or #b.axes ~= 1 or a.axes[1] ~= b.axes[1] or not same_shape(a, b) then return nil end
  local x <const>, y <const> = a.inputs[1], b.inputs[1]
  if x.op == "input" or y.op == "input" or #x.shape ~= #y.shape then return nil end
  local joined <const> = self:join({ x, y }, a.axes[1]) or self:join({ y, x }, a.axes[1])
  return joined and remake(self.trace, a, { joined })
end

local function stripped(node)
  while node.op == "reshape" do node = node.inputs[1] end
  return node
end

-- sum(exp(x - a)) * exp(a - b), in either order, as sum(exp(x - b)).
function Roll:rescaled(total, factor)
  if total.op ~= "reduce" or total.name ~= "sum" or factor.op ~= "unary" or factor.name ~= "exp" then return nil end
  local gap <const> = factor.inputs[1]
  local e <const> = total.inputs[1]
  if gap.op ~= "binary" or gap.name ~= "subtract" or e.op ~= "unary" or e.name ~= "exp" then return nil end
  local shifted <const> = e.inputs[1]
  if shifted.op ~= "binary" or shifted.name ~= "subtract" then return nil end
  local a <const>, b <const> = gap.inputs[1], gap.inputs[2]
  if stripped(shifted.inputs[2]) ~= stripped(a) or not same_shape(a, b) then return nil end
  local moved <const> = self:reshaped(b, shifted.inputs[2].shape, b.site)
  local inner <const> = remake(self.trace, shifted, { shifted.inputs[1], moved })
  return remake(self.trace, total, { remake(self.trace, e, { inner }) })
end

-- 0 * exp(-inf - b): nothing has been summed yet.
local function nothing_yet(total, factor)
  if constant(total) ~= 0 or factor.op ~= "unary" or factor.name ~= "exp" then return false end
  local gap <const> = factor.inputs[1]
  return gap.op == "binary" and gap.name == "subtract" and constant(gap.inputs[1]) == -math.huge
end

function Roll:running(node)
  if node.op ~= "binary" then return nil end
  local a <const>, b <const> = node.inputs[1], node.inputs[2]
  local name <const> = node.name
  if name == "multiply" then
    for i = 1, 2 do
      local x <const>, y <const> = node.inputs[i], node.inputs[3 - i]
      if nothing_yet(x, y) and same_shape(x, node) then return x end
      local moved <const> = self:rescaled(x, y)
      if moved and same_shape(moved, node) then return moved end
    end
  end
  if not neutral[name] then return nil end
  for i = 1, 2 do
    local x <const>, y <const> = node.inputs[i], node.inputs[3 - i]
    if constant(x) == neutral[name] and y.op == "reduce" and same_shape(y, node) and y.dtype == node.dtype then return y end
  end
  local reduction <const> = reduction_of[name]
  local merged <const> = self:merge(reduction, a, b)
  if merged then return merged end
  -- (c + sum) + sum, where c has no part in it.
  if a.op == "binary" and a.name == name then
    for i = 1, 2 do
      local inner <const> = self:merge(reduction, a.inputs[i], b)
      if inner then return remake(self.trace, node, { a.inputs[3 - i], inner }) end
    end
  end
  return nil
end

-- Rearrangements that cancel -------------------------------------------------------------------------------------------------

-- The node transposed, without a transpose: nil where one would be left.
function Roll:turned(node, axes)
  if node.op == "transpose" then
    for i, a in ipairs(axes) do if node.axes[a + 1] ~= i - 1 then return nil end end
    return node.inputs[1]
  end
  -- Axes of size 1 may go anywhere.
  local shape <const>, before = {}, -1
  local ordered = true
  for i, a in ipairs(axes) do
    shape[i] = node.shape[a + 1]
    if shape[i] ~= 1 then
      ordered = ordered and a > before
      before = a
    end
  end
  if ordered then return self:reshaped(node, shape, node.site) end
  if not elementwise[node.op] then return nil end
  local inputs <const> = {}
  for i, input in ipairs(node.inputs) do
    local wide = input
    if #input.shape > 0 then
      local full <const> = {}
      for _ = 1, #node.shape - #input.shape do full[#full + 1] = 1 end
      for _, e in ipairs(input.shape) do full[#full + 1] = e end
      wide = self:turned(self:reshaped(input, full, input.site), axes)
      if not wide then return nil end
    end
    inputs[i] = wide
  end
  return remake(self.trace, node, inputs, { shape = shape })
end

local function last_of(node) return node.shape[#node.shape] end

function Roll:rearranged(node)
  local first <const> = node.inputs[1]
  if node.op == "transpose" then return self:turned(first, node.axes) end
  if node.op == "reduce" and first.op == "transpose" and #node.axes == 1 then
    -- A reduction of a transposed array is one of the array, where the other axes keep their order.
    local gone <const> = first.axes[node.axes[1] + 1]
    local before = -1
    for i, a in ipairs(first.axes) do
      if i - 1 ~= node.axes[1] then
        if a < before then return nil end
        before = a
      end
    end
    local shape <const> = {}
    for i, e in ipairs(first.inputs[1].shape) do
      if i - 1 ~= gone then shape[#shape + 1] = e elseif node.keepdims then shape[#shape + 1] = 1 end
    end
    return self:reshaped(remake(self.trace, node, { first.inputs[1] }, { axes = { gone }, shape = shape }), node.shape, node.site)
  end
  if node.op == "reshape" and first.op == "concat" and first.axis == #first.shape - 1 and last_of(first) == #first.inputs
    and #node.shape == #first.shape - 1 and product(node.shape, 1, #node.shape - 1) == product(first.shape, 1, #first.shape - 2) then
    -- stack(parts, -1) laid out flat: the parts by turns.
    local parts <const> = {}
    local shape <const> = { table.unpack(first.shape, 1, #first.shape - 1) }
    for i, input in ipairs(first.inputs) do parts[i] = self:reshaped(input, shape, input.site) end
    return self.trace:add({ op = "interleave", inputs = parts, axis = #node.shape - 1, shape = node.shape, dtype = node.dtype }, node.site)
  end
  if node.op == "reshape" and first.op == "broadcast" and #first.inputs[1].shape == #first.shape and last_of(first.inputs[1]) == 1
    and #node.shape == #first.shape - 1 and last_of(node) == last_of(first) * first.shape[#first.shape - 1] and last_of(first) <= 16 then
    -- Each column several times over.
    local shape <const>, given <const> = { table.unpack(first.shape, 1, #first.shape - 1) }, { table.unpack(first.inputs[1].shape, 1, #first.shape - 1) }
    if table.concat(shape, ",") == table.concat(given, ",") and product(node.shape, 1, #node.shape - 1) == product(shape, 1, #shape - 1) then
      local parts <const> = {}
      for i = 1, last_of(first) do parts[i] = self:reshaped(first.inputs[1], shape, first.site) end
      return self.trace:add({ op = "interleave", inputs = parts, axis = #node.shape - 1, shape = node.shape, dtype = node.dtype }, node.site)
    end
  end
  if node.op == "select" and first.op == "reshape" and node.axis == #first.shape - 1 then
    -- x.reshape(..., m, k)[..., i] is every k-th column of x.
    local source <const>, k <const> = first.inputs[1], last_of(first)
    if #source.shape == #first.shape - 1 and last_of(source) == k * first.shape[#first.shape - 1] and k > 1 and #source.shape > 0 then
      return self.trace:add({ op = "slice", inputs = { source }, axis = #source.shape - 1, start = node.index, extent = last_of(source) // k, step = k,
        shape = node.shape, dtype = node.dtype }, node.site)
    end
  end
  return nil
end

-- Roll up what the outputs (a list of nodes) are made of; returns the list of nodes that take their places.
function M.roll(trace, outputs)
  local looped = false
  local seen <const>, list <const>, stack <const> = {}, {}, { table.unpack(outputs) }
  while #stack > 0 do
    local node <const> = table.remove(stack)
    if not seen[node.id] then
      seen[node.id] = true
      list[#list + 1] = node
      looped = looped or node.op == "concat" or node.op == "slice" or node.op == "select" or node.op == "transpose"
        or node.op == "broadcast"
      for _, input in ipairs(node.inputs) do stack[#stack + 1] = input end
    end
  end
  if not looped then return outputs end
  table.sort(list, function(a, b) return a.id < b.id end)
  local self <const> = setmetatable({ trace = trace, memo = {} }, Roll)
  local now <const> = {}
  for _, node in ipairs(list) do
    local inputs <const>, changed = {}, false
    for i, input in ipairs(node.inputs) do
      inputs[i] = now[input.id]
      changed = changed or inputs[i] ~= input
    end
    local made = changed and remake(trace, node, inputs) or node
    if made.op == "concat" and #made.inputs > 1 then
      local rolled <const> = self:join(made.inputs, made.axis)
      if rolled and same_shape(rolled, made) then made = rolled end
    else
      made = self:rearranged(made) or self:running(made) or made
    end
    now[node.id] = made
  end
  local out <const> = {}
  for i, node in ipairs(outputs) do out[i] = now[node.id] end
  return out
end


return M
