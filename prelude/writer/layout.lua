-- SPDX-License-Identifier: MIT
-- How a traced reference maps onto rows and columns. Every value is seen as lead x tail: the tail is what the reductions
-- cover (the last k axes, merged into n columns; k = 1 where nothing is reduced), the lead is everything before it.
-- Leading axes are merged where all operands either have both or broadcast both; the last merged one is tiled over the
-- 128 partitions, the others become Python loops.
--
-- A reference that does not fit (a reduction over another axis, a matmul, a gather) is refused with the node that says so:
-- the functions here raise {kind = "refused", message, node}.

local M <const> = {}

local function refuse(node, message, ...)
  error({ kind = "refused", message = select("#", ...) > 0 and message:format(...) or message, node = node }, 0)
end
M.refuse = refuse

local function product(list, from, to)
  local n = 1
  for i = from or 1, to or #list do n = n * list[i] end
  return n
end

-- The nodes that the outputs need, operands before what is made of them, in an order that depends on the graph alone.
local function reachable(outputs)
  local state <const>, list <const> = {}, {} -- 1: on the stack, 2: listed
  for _, output in ipairs(outputs) do
    local stack <const> = { output }
    while #stack > 0 do
      local node <const> = stack[#stack]
      if state[node.id] == 2 then
        stack[#stack] = nil
      elseif state[node.id] == 1 then
        state[node.id] = 2
        list[#list + 1] = node
        stack[#stack] = nil
      else
        state[node.id] = 1
        for i = #node.inputs, 1, -1 do
          if not state[node.inputs[i].id] then stack[#stack + 1] = node.inputs[i] end
        end
      end
    end
  end
  return list
end

-- The number of trailing axes that reductions cover.
local function tail_rank(nodes)
  local k = nil
  for _, node in ipairs(nodes) do
    if node.op == "reduce" and product(node.inputs[1].shape) ~= product(node.shape) then
      local rank <const> = #node.inputs[1].shape
      local n <const> = #node.axes
      for i, axis in ipairs(node.axes) do
        if axis ~= rank - n + i - 1 then
          refuse(node, "this reduction runs over axis %d of an array of shape (%s); a row-wise kernel reduces trailing axes only",
            axis, table.concat(node.inputs[1].shape, ", "))
        end
      end
      if k and k ~= n then refuse(node, "this reduction covers %d trailing axes, an earlier one %d; one kernel reduces the same axes throughout", n, k) end
      k = n
    end
  end
  return k or 1
end

local refused_ops <const> = {
  matmul = "a matrix product; the writer derives elementwise chains and row-wise reductions",
  arg_reduce = "an index of a maximum or minimum; the writer derives elementwise chains and row-wise reductions",
  transpose = "a transpose; the kernel reads and writes rows as they lie in memory",
  constant = "an array literal; pass it as an input of the kernel",
}

-- View an input (or an arange) as lead and tail by its shape alone.
local function split_shape(shape, k, columns)
  local rank <const> = #shape
  if rank < k then
    if product(shape) == 1 then return {}, "one", 1 end
    if rank > 0 and columns and product(shape) == columns then return {}, "n", columns end
    return nil
  end
  local lead <const> = { table.unpack(shape, 1, rank - k) }
  local n <const> = product(shape, rank - k + 1, rank)
  if n == 1 then return lead, "one", 1 end
  return lead, "n", n
end

-- Analyse a traced graph.
--   outputs: list of nodes.
-- Returns {nodes, k, lead = extents of the leading space, flat, of = {[id] = {lead, tail, n}}}. tail is "n" (columns),
-- "one" (a size-1 tail) or "none" (the tail axes are gone).
function M.analyse(outputs)
  local nodes <const> = reachable(outputs)
  for _, node in ipairs(nodes) do
    if refused_ops[node.op] then refuse(node, "this is %s", refused_ops[node.op]) end
  end
  local k <const> = tail_rank(nodes)
  local columns = nil
  for _, node in ipairs(nodes) do
    if node.op == "reduce" then columns = math.max(columns or 1, product(node.inputs[1].shape, #node.inputs[1].shape - k + 1)) end
  end
  -- Leaves that are used as such, not only to make another view of the same memory.
  local used <const>, memory <const> = {}, {}
  for _, node in ipairs(nodes) do
    local first <const> = node.inputs[1]
    memory[node.id] = node.op == "input" or node.op == "arange" or node.op == "reshape" and memory[first.id]
    for _, input in ipairs(node.inputs) do used[input.id] = used[input.id] or not (node.op == "reshape" and memory[input.id]) end
  end
  for _, node in ipairs(outputs) do used[node.id] = true end
  local of <const> = {}
  local space = {}
  local flat = false

  local function extend(lead, node)
    local rank <const> = math.max(#space, #lead)
    local out <const> = {}
    for i = 1, rank do
      local a <const>, b <const> = space[i - rank + #space] or 1, lead[i - rank + #lead] or 1
      if a ~= 1 and b ~= 1 and a ~= b then
        if not flat then flat = "conflict" end
        M.conflict = node
        out[i] = math.max(a, b)
      else
        out[i] = math.max(a, b)
      end
    end
    space = out
  end

  for _, node in ipairs(nodes) do
    local info = nil
    local op <const> = node.op
    local first <const> = node.inputs[1] and of[node.inputs[1].id]
    if op == "const" or op == "param" or op == "dim" then
      info = { scalar = true }
    elseif #node.shape == 0 and (op == "unary" or op == "binary" or op == "compare" or op == "cast" or op == "full") and (function()
      for _, input in ipairs(node.inputs) do if not of[input.id].scalar then return false end end
      return true
    end)() then
      info = { scalar = true }
    elseif op == "full" then
      info = { scalar = true, shape = node.shape }
    elseif op == "input" then
      local lead <const>, tail <const>, n <const> = split_shape(node.shape, k, columns)
      if not lead then refuse(node, "input %s has shape (%s), which has fewer axes than the reductions cover", node.name, table.concat(node.shape, ", ")) end
      info = { lead = lead, tail = tail, n = n, source = node }
    elseif op == "arange" then
      info = { lead = {}, tail = "n", n = node.shape[1], source = node }
      if k > 1 then refuse(node, "an index range beside reductions over %d axes", k) end
    elseif op == "reshape" then
      local from <const> = node.inputs[1]
      if first.scalar then
        info = { scalar = true, shape = node.shape }
      elseif first.source then
        -- A new view of memory that is still an input: look at it afresh.
        local lead <const>, tail <const>, n <const> = split_shape(node.shape, k, columns)
        if not lead then refuse(node, "this reshape leaves fewer axes than the reductions cover") end
        info = { lead = lead, tail = tail, n = n, source = first.source, view = node.shape }
        if first.source.op == "arange" and tail == "one" then info.row_index = true end
      else
        local rank <const> = #node.shape
        if first.tail == "n" then
          local lead <const>, tail <const>, n <const> = split_shape(node.shape, k, columns)
          if not lead or tail ~= "n" or n ~= first.n then
            refuse(node, "this reshape from (%s) to (%s) mixes rows and columns", table.concat(from.shape, ", "), table.concat(node.shape, ", "))
          end
          info = { lead = lead, tail = "n", n = n }
        else
          -- Rows only: the tail is size one or absent, before and after.
          local size <const> = product(node.shape)
          local tail = "none"
          if rank >= k and product(node.shape, rank - k + 1) == 1 and product(node.shape, 1, rank - k) == size then tail = "one" end
          info = { lead = tail == "one" and { table.unpack(node.shape, 1, rank - k) } or { table.unpack(node.shape) }, tail = tail, n = 1 }
        end
        local before <const>, after <const> = {}, {}
        for _, e in ipairs(first.lead) do if e ~= 1 then before[#before + 1] = e end end
        for _, e in ipairs(info.lead) do if e ~= 1 then after[#after + 1] = e end end
        if table.concat(before, ",") ~= table.concat(after, ",") then flat = flat or "reshaped" end
      end
    elseif op == "broadcast" then
      if first.scalar then
        info = { scalar = true, shape = node.shape }
      else
        local lead <const>, tail <const>, n <const> = split_shape(node.shape, k, columns)
        if not lead then refuse(node, "this broadcast leaves fewer axes than the reductions cover") end
        if first.tail == "none" then refuse(node, "this broadcast spreads a reduced value along columns; keep the reduced axis (keepdims)") end
        info = { lead = lead, tail = tail, n = n }
      end
    elseif op == "reduce" then
      if first.scalar then refuse(node, "this reduces a constant") end
      local operand <const> = node.inputs[1]
      if product(operand.shape) == product(node.shape) then
        info = { lead = first.lead, tail = (node.keepdims or #node.shape == 0) and first.tail or "none", n = first.n, identity = true }
      elseif first.tail ~= "n" then
        refuse(node, "this reduces values that are already one per row, that is across rows")
      else
        -- A single number stands beside everything, as an array of one row and one column does.
        info = { lead = first.lead, tail = (node.keepdims or #node.shape == 0) and "one" or "none", n = 1 }
      end
    elseif op == "cumulative" then
      if k ~= 1 or node.axes[1] ~= #node.shape - 1 or first.tail ~= "n" then refuse(node,
        "a running %s along axis %d; only the last axis can be scanned row-wise", node.name, node.axes[1]) end
      info = { lead = first.lead, tail = "n", n = first.n }
    elseif op == "slice" then
      if node.axis ~= #node.shape - 1 or k ~= 1 or first.tail ~= "n" then refuse(node,
        "a slice along axis %d; only columns can be sliced in a row-wise kernel", node.axis) end
      if node.step < 1 then refuse(node, "a slice with a negative step") end
      info = { lead = first.lead, tail = node.extent == 1 and "one" or "n", n = node.extent }
    elseif op == "select" and first.tail == "one" and k == 1 and node.axis == #node.inputs[1].shape - 1 then
      info = { lead = first.lead, tail = "none", n = 1, identity = true }
    elseif op == "select" then
      if node.axis ~= #node.inputs[1].shape - 1 or k ~= 1 or first.tail ~= "n" then refuse(node,
        "an index along axis %d; only columns can be picked in a row-wise kernel", node.axis) end
      info = { lead = first.lead, tail = #node.shape == 0 and "one" or "none", n = 1 }
    elseif op == "interleave" or op == "concat" then
      if node.axis ~= #node.shape - 1 or k ~= 1 then refuse(node,
        "a concatenation along axis %d; only columns can be joined in a row-wise kernel", node.axis) end
      local lead = {}
      for _, input in ipairs(node.inputs) do
        local i <const> = of[input.id]
        if not i.scalar and #i.lead >= #lead and product(i.lead) >= product(lead) then lead = i.lead end
      end
      info = { lead = lead, tail = "n", n = node.shape[#node.shape] }
    else
      -- Elementwise: unary binary compare where cast.
      local lead, tail, n, none = {}, "one", 1, false
      for _, input in ipairs(node.inputs) do
        local i <const> = of[input.id]
        if not i.scalar then
          if i.tail == "none" then none = true end
          if i.tail == "n" then
            if tail == "n" and n ~= i.n then refuse(node, "operands with %d and %d columns", n, i.n) end
            tail, n = "n", i.n
          end
          local rank <const> = math.max(#lead, #i.lead)
          local merged <const> = {}
          for a = 1, rank do merged[a] = math.max(lead[a - rank + #lead] or 1, i.lead[a - rank + #i.lead] or 1) end
          lead = merged
        end
      end
      if none then
        if tail == "n" then refuse(node, "a value per row meets whole rows without an axis of size 1; keep the reduced axis (keepdims) or add one") end
        for _, input in ipairs(node.inputs) do
          local i <const> = of[input.id]
          if not i.scalar and i.tail == "one" and #input.shape > 0 and product(input.shape) > 1 then refuse(node,
            "values per row with and without the reduced axis") end
        end
        tail = "none"
      end
      if lead == nil then refuse(node, "an operation on constants only") end
      info = { lead = lead, tail = tail, n = n }
      local only_scalars = true
      for _, input in ipairs(node.inputs) do only_scalars = only_scalars and of[input.id].scalar end
      if only_scalars then info = { scalar = true, shape = node.shape } end
    end
    of[node.id] = info
    if info.lead and used[node.id] then extend(info.lead, node) end
  end

  if flat then
    -- Rows are counted linearly: every value has all rows or none.
    local rows = 1
    for _, node in ipairs(nodes) do
      local info <const> = of[node.id]
      if info.lead and used[node.id] then rows = math.max(rows, product(info.lead)) end
    end
    for _, node in ipairs(nodes) do
      local info <const> = of[node.id]
      if info.lead and used[node.id] then
        local mine <const> = product(info.lead)
        if mine ~= 1 and mine ~= rows then refuse(node, "rows are reshaped here beside an operand that repeats over some of them") end
        info.lead = mine == 1 and {} or { rows }
        if info.row_index and rows ~= mine then refuse(node, "a row index beside reshaped rows") end
      end
    end
    space = { rows }
  end
  return { nodes = nodes, k = k, space = space, flat = flat and true or false, of = of, used = used }
end

-- Merge neighbouring leading axes where no operand tells them apart. Returns the merged extents, for each axis of the
-- space its merged axis, and for every leaf (input, row index) the set of merged axes it depends on.
function M.merge(layout, leaves)
  local space <const> = layout.space
  local rank <const> = #space
  local function has(info, axis)
    local e <const> = info.lead[axis - rank + #info.lead]
    return e ~= nil and e ~= 1
  end
  local merged <const>, to <const> = {}, {}
  for axis = 1, rank do
    local joins = axis > 1
    if joins then
      for _, leaf in ipairs(leaves) do
        local a <const>, b <const> = has(leaf.info, axis - 1), has(leaf.info, axis)
        -- An extent of 1 in the space belongs to whatever its neighbour is.
        if space[axis - 1] ~= 1 and space[axis] ~= 1 and a ~= b then joins = false end
        if leaf.info.row_index and (a or b) and space[axis - 1] ~= 1 and space[axis] ~= 1 then joins = false end
      end
    end
    if joins then
      merged[#merged].extent = merged[#merged].extent * space[axis]
      merged[#merged].last = axis
    else
      merged[#merged + 1] = { extent = space[axis], first = axis, last = axis }
    end
    to[axis] = #merged
  end
  for _, leaf in ipairs(leaves) do
    leaf.deps = {}
    for axis = 1, rank do if has(leaf.info, axis) then leaf.deps[to[axis]] = true end end
  end
  return merged, to
end

return M
