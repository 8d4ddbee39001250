-- SPDX-License-Identifier: MIT
-- Fixes for shapes that do not fit each other: a per-row or per-column operand where a whole tile is needed, a tile of
-- another size than what is copied into it, a slice that leaves its tensor, operands of a matmul in the wrong layout.

local ast <const> = require "nki.ast"
local common <const> = require "nki.fixes.common"

local shapes <const> = {}

local function add(list, fix)
  if fix then list[#list + 1] = fix end
end

local COMMUTATIVE <const> = {
  add = true, multiply = true, maximum = true, minimum = true, equal = true, not_equal = true, logical_and = true, logical_or = true,
  logical_xor = true, abs_max = true, abs_min = true,
}
local BITVEC <const> = { bitwise_and = true, bitwise_or = true, bitwise_xor = true, left_shift = true, right_shift = true, invert = true }

local function operator_of(c, node)
  local full <const> = node and ast.resolve(node, c.imports)
  return full and full:match("^nki%.language%.(.+)$")
end

-- Keywords of a call that survive a rewrite into another instruction.
local function kept(c, call)
  local parts <const> = {}
  local name <const> = c:arg("name", call)
  if name then parts[#parts + 1] = ", name=" .. c:text(name) end
  return table.concat(parts)
end

-- tensor_tensor with a (P, 1) operand is tensor_scalar.
local function as_tensor_scalar(c, big, small)
  local call <const> = c.call
  local dst <const>, data <const>, operand <const> = c:arg("dst", call), c:arg(big, call), c:arg(small, call)
  local op <const> = c:arg("op", call)
  if not dst or not data or not operand or not op then return nil end
  local name <const> = operator_of(c, op)
  if not name or BITVEC[name] or name == "divide" then return nil end
  local reverse <const> = small == "data1" and not COMMUTATIVE[name]
  return c:fix("apply the per-row operand with tensor_scalar", {
    c:replace(call, ("%s(dst=%s, data=%s, op0=%s, operand0=%s%s%s)"):format(c:nisa("tensor_scalar"), c:text(dst), c:text(data),
      c:text(op), c:text(operand), reverse and ", reverse0=True" or "", kept(c, call))),
  })
end

-- x / r for a per-row r: multiply by the reciprocal.
local function divide_by_row(c, big, small)
  local call <const>, statement <const> = c.call, c.statement
  local dst <const>, data <const>, operand <const> = c:arg("dst", call), c:arg(big, call), c:arg(small, call)
  local op <const> = c:arg("op", call)
  if operator_of(c, op) ~= "divide" or small ~= "data2" or not dst or not data or not statement or not c:alone(statement) then return nil end
  local fresh <const> = c:fresh(c:base_name(operand) .. "_inv")
  local text <const> = c:text(operand)
  return c:fix("multiply by the row's reciprocal", {
    c:before(statement, {
      ("%s = %s(%s.shape, dtype=%s, buffer=%s)"):format(fresh, c:nl("ndarray"), text, c:nl("float32"), c:nl("sbuf")),
      ("%s(dst=%s, data=%s)"):format(c:nisa("reciprocal"), fresh, text),
    }),
    c:replace(call, ("%s(dst=%s, data=%s, op0=%s, operand0=%s%s)"):format(c:nisa("tensor_scalar"), c:text(dst), c:text(data),
      c:nl("multiply"), fresh, kept(c, call))),
  })
end

-- The view that repeats an operand's size-1 dimensions without moving data. NKI 0.5 has .broadcast; before that .ap,
-- which addresses the storage: the first stride is the storage's own row length, whatever was sliced, and without an
-- offset the view's own is kept.
local function broadcast_view(c, small, want)
  local node <const>, operand <const> = c:arg(small), c:operand(small)
  local have <const> = operand and operand.shape
  if not node or not have or not want then return nil end
  local text <const> = c:text(node)
  if #have == #want and c.minor >= 5 then
    local view = text
    for d = 2, #have do
      if have[d] ~= want[d] then
        if have[d] ~= 1 then return nil end
        view = ("%s.broadcast(%d, %d)"):format(view, d - 1, want[d])
      end
    end
    return view
  end
  if common.count(have, 2) ~= 1 or have[1] ~= want[1] then return nil end
  if c.minor >= 5 and #have == 2 then
    local view = text
    for d = 2, #want - 1 do view = ("%s.expand_dim(%d)"):format(view, d) end
    for d = 2, #want do
      if want[d] > 1 then view = ("%s.broadcast(%d, %d)"):format(view, d - 1, want[d]) end
    end
    return view
  end
  local row <const> = operand.storage_free or operand.row
  if not row then return nil end
  local pairs_text <const> = { ("[%d, %d]"):format(row, want[1]) }
  for d = 2, #want do pairs_text[#pairs_text + 1] = ("[0, %d]"):format(want[d]) end
  return ("%s.ap(pattern=[%s])"):format(text, table.concat(pairs_text, ", "))
end

local function view_candidate(c, small, want)
  local view <const> = broadcast_view(c, small, want)
  if not view then return nil end
  return c:fix(("repeat `%s` along the row with a stride of 0"):format(c:text(c:arg(small))), { c:replace(c:arg(small), view) })
end

-- One row for all partitions: no view can do that (a partition is a memory of its own), so copy it across.
local function across_partitions(c, small, big)
  local node <const>, statement <const> = c:arg(small), c.statement
  local other <const> = c:arg(big)
  if not node or not other or not statement or not c:alone(statement) or c.minor < 3 then return nil end
  local fresh <const> = c:fresh(c:base_name(node) .. "_all")
  return c:fix(("copy the row `%s` to every partition first"):format(c:text(node)), {
    c:before(statement, { ("%s = %s(%s, %s.shape)"):format(fresh, c:nl("broadcast_to"), c:text(node), c:text(other)) }),
    c:replace(node, fresh),
  })
end

-- Make the tile behind an operand as large as another one. `other`: the operand whose sizes it takes, or for each dimension
-- { operand's name, its dimension from 1 }; where neither says so, the size is written as a number.
local function resize(c, name, want, why, other)
  local node <const>, operand <const> = c:arg(name), c:operand(name)
  if not node or not operand or not operand.shape or node.type ~= "Name" then return nil end
  local made <const> = c:allocation(node, operand)
  if not made then return nil end
  local texts <const> = {}
  local model <const> = type(other) == "string" and c:arg(other)
  for d = 1, #want do
    if model then
      texts[d] = c:size_text(model, d, made.lineno)
    elseif type(other) == "table" and other[d] then
      texts[d] = c:size_text(c:arg(other[d][1]), other[d][2], made.lineno)
    end
  end
  local edits <const> = c:reshape(made, operand.shape, want, texts)
  if not edits or #edits == 0 then return nil end
  return c:fix(why or ("allocate `%s` as %s"):format(node.id, common.shape_text(want)), edits)
end

-- Use only the first rows and columns of a larger tile: name[0:other.shape[0], 0:other.shape[1]].
local function slice_to(c, name, other)
  local node <const>, operand <const> = c:arg(name), c:operand(name)
  local target <const>, limit <const> = c:arg(other), c:operand(other)
  if not node or not target or not operand or not limit or not operand.shape or not limit.shape or #operand.shape ~= #limit.shape then return nil end
  local parts, changed = {}, false
  for d, extent in ipairs(operand.shape) do
    if extent == limit.shape[d] then
      parts[d] = ":"
    elseif extent > limit.shape[d] then
      parts[d] = ("0:%s.shape[%d]"):format(c:text(target), d - 1)
      changed = true
    else
      return nil
    end
  end
  if not changed then return nil end
  return c:fix(("use the part of `%s` that `%s` fills"):format(c:text(node), c:text(target)),
    { c:replace(node, ("%s[%s]"):format(c:text(node), table.concat(parts, ", "))) })
end

-- A slice written with its own bounds, of another length than the other side: keep its start, take the other's size.
local function reslice(c, name, other)
  local node <const>, operand <const> = c:arg(name), c:operand(name)
  local target <const>, limit <const> = c:arg(other), c:operand(other)
  if not node or node.type ~= "Subscript" or not target or not operand or not limit or not operand.shape or not limit.shape then return nil end
  if #operand.shape ~= #limit.shape then return nil end
  local keys <const> = node.slice.type == "Tuple" and node.slice.elts or { node.slice }
  if #keys ~= #operand.shape then return nil end
  local edits <const> = {}
  for d, extent in ipairs(operand.shape) do
    if extent ~= limit.shape[d] then
      local key <const> = keys[d]
      if key.type ~= "Slice" or key.step then return nil end
      local size <const> = target.type == "Name" and ("%s.shape[%d]"):format(c:text(target), d - 1) or tostring(limit.shape[d])
      local low <const> = key.lower and c:text(key.lower)
      local span
      if key.lineno then
        span = c.source:span(key)
      else
        return nil
      end
      span.text = low and ("%s:%s + %s"):format(low, low, size) or ":" .. size
      edits[#edits + 1] = span
    end
  end
  if #edits == 0 then return nil end
  return c:fix(("take as much of `%s` as `%s` holds"):format(c:text(node.value), c:text(target)), edits)
end

-- Which of the error's two operands is the small one?
local function pair(c)
  local a <const>, b <const> = c.err.operands and c.err.operands[1], c.err.operands and c.err.operands[2]
  if not a or not b or not a.shape or not b.shape then return nil end
  return a, b
end

local function is_copy(op) return op:match("dma_copy$") or op:match("tensor_copy$") or op:match("dma_transpose$") or op:match("%.store$") end

local function copies(c, dst, src)
  local fixes <const> = {}
  local d <const>, s <const> = c:operand(dst), c:operand(src)
  if not d or not s or not d.shape or not s.shape then return fixes end
  local d_on_chip <const>, s_on_chip <const> = d.buffer == "sbuf" or d.buffer == "psum", s.buffer == "sbuf" or s.buffer == "psum"
  add(fixes, reslice(c, src, dst))
  add(fixes, reslice(c, dst, src))
  if d_on_chip then add(fixes, resize(c, dst, s.shape, nil, src)) end
  if s_on_chip then add(fixes, resize(c, src, d.shape, nil, dst)) end
  add(fixes, slice_to(c, dst, src))
  add(fixes, slice_to(c, src, dst))
  if not d_on_chip then add(fixes, resize(c, dst, s.shape, nil, src)) end
  return fixes
end

-- Operands of one instruction that differ in free size or in partitions.
function shapes.operands(c)
  local fixes <const> = {}
  if not c.call then return fixes end
  local op <const> = c:op_of(c.call) or c.err.op or ""
  local a <const>, b <const> = pair(c)
  if not a then return fixes end
  if is_copy(op) then return copies(c, c:operand("dst") and "dst" or a.name, c:operand("src") and "src" or c:operand("value") and "value" or b.name) end
  if op:match("tensor_tensor$") and not op:match("scalar_tensor_tensor$") then
    for _, order in ipairs { { a, b }, { b, a } } do
      local big <const>, small <const> = order[1], order[2]
      if big.name ~= "dst" and small.name ~= "dst" then
        local per_row <const> = small.shape[1] == big.shape[1] and common.count(small.shape, 2) == 1 and common.count(big.shape, 2) > 1
        if per_row and (small.dtype == "float32" or not small.dtype) then
          add(fixes, divide_by_row(c, big.name, small.name))
          add(fixes, as_tensor_scalar(c, big.name, small.name))
        end
        if small.shape[1] == big.shape[1] and common.count(small.shape, 2) < common.count(big.shape, 2) then
          add(fixes, view_candidate(c, small.name, big.shape))
        end
        if small.shape[1] == 1 and big.shape[1] > 1 and common.count(small.shape, 2) == common.count(big.shape, 2) then
          add(fixes, across_partitions(c, small.name, big.name))
        end
      end
    end
  else
    for _, order in ipairs { { a, b }, { b, a } } do
      local big <const>, small <const> = order[1], order[2]
      if big.name ~= "dst" and small.name ~= "dst" then
        if small.shape[1] == big.shape[1] and common.count(small.shape, 2) < common.count(big.shape, 2) then
          add(fixes, view_candidate(c, small.name, big.shape))
        end
        if small.shape[1] == 1 and big.shape[1] > 1 then add(fixes, across_partitions(c, small.name, big.name)) end
      end
    end
  end
  -- The destination does not fit its inputs, or one input does not fit the other: the tile has the wrong size.
  for _, order in ipairs { { a, b }, { b, a } } do
    local wrong <const>, right <const> = order[1], order[2]
    if wrong.name == "dst" then
      add(fixes, resize(c, "dst", right.shape, nil, right.name))
      add(fixes, slice_to(c, "dst", right.name))
    end
  end
  for _, order in ipairs { { a, b }, { b, a } } do
    local wrong <const>, right <const> = order[1], order[2]
    if wrong.name ~= "dst" then
      add(fixes, reslice(c, wrong.name, right.name))
      add(fixes, slice_to(c, wrong.name, right.name))
      add(fixes, resize(c, wrong.name, right.shape, nil, right.name))
    end
  end
  return fixes
end

-- A tile whose sizes other operands of the call have in other places (a transpose's result): their expressions.
local function resize_like(c, name, want)
  local node <const>, operand <const> = c:arg(name), c:operand(name)
  if not node or not operand or not operand.shape or node.type ~= "Name" then return nil end
  local made <const> = c:allocation(node, operand)
  if not made then return nil end
  local shape <const> = c:allocation_arg(made, "shape")
  if shape and (shape.type == "Tuple" or shape.type == "List") and #shape.elts == 2 and #want == 2 and operand.shape[1] == want[2]
    and operand.shape[2] == want[1] then
    return c:fix(("allocate `%s` the other way round"):format(node.id),
      { c:replace(shape.elts[1], c:text(shape.elts[2])), c:replace(shape.elts[2], c:text(shape.elts[1])) })
  end
  local texts <const> = {}
  for d, extent in ipairs(want) do
    for _, keyword in ipairs(c.call.keywords) do
      local root <const> = keyword.arg ~= name and keyword.value and ast.root(keyword.value)
      local other <const> = root and c:allocation(keyword.value)
      local sizes <const> = other and c:allocation_arg(other, "shape")
      if not texts[d] and sizes and sizes.type == "Tuple" then
        for _, size in ipairs(sizes.elts) do
          if not texts[d] and operand.shape[d] ~= extent and size.type ~= "Constant" and c:bound_before(size, made.lineno)
            and c:text(size) ~= (shape and shape.elts and shape.elts[d] and c:text(shape.elts[d])) then
            texts[d] = c:text(size)
          end
        end
      end
    end
  end
  if not next(texts) then return nil end
  local edits <const> = c:reshape(made, operand.shape, want, texts)
  return edits and #edits > 0 and c:fix(("allocate `%s` as large as what goes into it"):format(node.id), edits) or nil
end

-- A wanted shape is stated by the machine: "[128,1]".
local function wanted(text)
  local inner <const> = text and text:match("^%[([%d,]+)%]$")
  if not inner then return nil end
  local shape <const> = {}
  for extent in inner:gmatch("%d+") do shape[#shape + 1] = math.tointeger(tonumber(extent)) end
  return shape
end

-- shape-mismatch: one operand must have a shape the others fix.
function shapes.wrong_shape(c)
  if c.call and (c:op_of(c.call) or ""):match("nc_matmul$") and not c.matmul_seen then
    c.matmul_seen = true
    return shapes.matmul_dst(c)
  end
  local fixes <const> = {}
  local want <const> = wanted(c.err.want)
  if c.call then
    for _, operand in ipairs(c.err.operands or {}) do
      if want and operand.shape and not common.same(operand.shape, want) then
        add(fixes, resize_like(c, operand.name, want))
        add(fixes, resize(c, operand.name, want))
        local node <const> = c:arg(operand.name)
        if node and node.type == "Name" and #operand.shape == #want then
          local fits, parts = true, {}
          for d, extent in ipairs(operand.shape) do
            if extent < want[d] then fits = false end
            parts[d] = extent == want[d] and ":" or "0:" .. want[d]
          end
          if fits then
            add(fixes, c:fix(("use the part of `%s` that is filled"):format(node.id),
              { c:replace(node, ("%s[%s]"):format(node.id, table.concat(parts, ", "))) }))
          end
        end
      end
    end
  end
  for _, fix in ipairs(shapes.operands(c)) do fixes[#fixes + 1] = fix end
  return fixes
end

-- tensor_scalar's operand is a whole tile: that is tensor_tensor.
function shapes.operand_not_vector(c)
  local fixes <const> = {}
  local call <const> = c.call
  if not call then return fixes end
  local which <const> = c:operand("operand1") and "operand1" or "operand0"
  local operand <const>, data <const> = c:operand(which), c:operand("data")
  local op0 <const>, node <const> = c:arg("op0", call), c:arg("operand0", call)
  local dst <const>, input <const> = c:arg("dst", call), c:arg("data", call)
  local second <const> = c:arg("op1", call)
  if operand and data and operand.shape and data.shape and which == "operand0" and not second and dst and input and op0 and node
    and (c:op_of(call) or ""):match("%.tensor_scalar$") then
    if operand.shape[1] == data.shape[1] and common.count(operand.shape, 2) == common.count(data.shape, 2) then
      local reverse <const> = c:arg("reverse0", call)
      local swapped <const> = reverse and reverse.type == "Constant" and reverse.value == true
      add(fixes, c:fix("combine two tiles with tensor_tensor", {
        c:replace(call, ("%s(dst=%s, data1=%s, data2=%s, op=%s%s)"):format(c:nisa("tensor_tensor"), c:text(dst),
          c:text(swapped and node or input), c:text(swapped and input or node), c:text(op0), kept(c, call))),
      }))
    end
    if operand.shape[1] == 1 and data.shape[1] > 1 then
      -- One value or one row for all partitions.
      if c:alone(c.statement) and c.minor >= 3 then
        local fresh <const> = c:fresh(c:base_name(node) .. "_all")
        if common.count(operand.shape, 2) == 1 then
          add(fixes, c:fix("copy the value to every partition first", {
            c:before(c.statement, { ("%s = %s(%s, (%s.shape[0], 1))"):format(fresh, c:nl("broadcast_to"), c:text(node), c:text(input)) }),
            c:replace(node, fresh),
          }))
        else
          add(fixes, c:fix("copy the row to every partition and combine with tensor_tensor", {
            c:before(c.statement, { ("%s = %s(%s, %s.shape)"):format(fresh, c:nl("broadcast_to"), c:text(node), c:text(input)) }),
            c:replace(call, ("%s(dst=%s, data1=%s, data2=%s, op=%s%s)"):format(c:nisa("tensor_tensor"), c:text(dst), c:text(input), fresh,
              c:text(op0), kept(c, call))),
          }))
        end
      end
    end
  end
  if operand and data and data.shape then
    add(fixes, resize(c, which, { data.shape[1], 1 }, nil, { { "data", 1 } }))
    local given <const> = c:arg(which, call)
    if given and operand.shape and #operand.shape == 2 and operand.shape[1] == data.shape[1] and operand.shape[2] > 1 then
      add(fixes, c:fix("use one column", { c:replace(given, c:text(given) .. "[:, 0:1]") }))
    end
  end
  return fixes
end

-- matmul: the contraction sizes differ. Swapped operands, or an operand that was not transposed.
function shapes.contraction(c)
  local fixes <const> = {}
  local call <const>, statement <const> = c.call, c.statement
  local stationary <const>, moving <const> = c:arg("stationary", call), c:arg("moving", call)
  local s <const>, m <const>, d <const> = c:operand("stationary"), c:operand("moving"), c:operand("dst")
  if not stationary or not moving or not s or not m or not s.shape or not m.shape then return fixes end
  if #s.shape == 2 and #m.shape == 2 and s.shape[2] == m.shape[1] and statement and c:alone(statement) and s.shape[1] <= 128 and s.shape[2] <= 128 then
    local text <const> = c:text(stationary)
    local base <const> = c:base_name(stationary)
    local in_psum <const>, in_sbuf <const> = c:fresh(base .. "_t_psum"), c:fresh(base .. "_t")
    add(fixes, c:fix(("transpose `%s`: the contraction goes along the partitions"):format(text), {
      c:before(statement, {
        ("%s = %s((%s.shape[1], %s.shape[0]), dtype=%s.dtype, buffer=%s)"):format(in_psum, c:nl("ndarray"), text, text, text, c:nl("psum")),
        ("%s(dst=%s, data=%s)"):format(c:nisa("nc_transpose"), in_psum, text),
        ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(in_sbuf, c:nl("ndarray"), in_psum, text, c:nl("sbuf")),
        ("%s(dst=%s, src=%s)"):format(c:nisa("tensor_copy"), in_sbuf, in_psum),
      }),
      c:replace(stationary, in_sbuf),
    }))
  end
  add(fixes, reslice(c, "stationary", "moving"))
  add(fixes, reslice(c, "moving", "stationary"))
  add(fixes, slice_to(c, "stationary", "moving"))
  add(fixes, slice_to(c, "moving", "stationary"))
  if d then add(fixes, resize(c, "stationary", { m.shape[1], s.shape[2] }, nil, { { "moving", 1 } })) end
  if d then add(fixes, resize(c, "moving", { s.shape[1], m.shape[2] }, nil, { { "stationary", 1 } })) end
  return fixes
end

-- matmul: the destination's shape is not [stationary columns, moving columns]; swapped operands give its transpose.
function shapes.matmul_dst(c)
  local fixes <const> = {}
  local call <const> = c.call
  local stationary <const>, moving <const> = call and c:arg("stationary", call), call and c:arg("moving", call)
  local s <const>, m <const>, d <const> = c:operand("stationary"), c:operand("moving"), c:operand("dst")
  if s and m and d and s.shape and m.shape and d.shape and #s.shape == 2 and #m.shape == 2 and #d.shape == 2 then
    if d.shape[1] == m.shape[2] and d.shape[2] == s.shape[2] and stationary and moving then
      add(fixes, c:fix("swap stationary and moving: the stationary tile's columns are the result's rows", {
        c:replace(stationary, c:text(moving)), c:replace(moving, c:text(stationary)),
      }))
    end
    add(fixes, resize(c, "dst", { s.shape[2], m.shape[2] }, nil, { { "stationary", 2 }, { "moving", 2 } }))
  end
  for _, fix in ipairs(shapes.wrong_shape(c)) do fixes[#fixes + 1] = fix end
  return fixes
end

-- A slice beyond its tensor: the last tile of a ragged size. Clamp the end.
function shapes.out_of_bounds(c)
  local fixes <const> = {}
  local node = c.node
  if not node or node.type ~= "Subscript" then node = node and ast.enclosing(node, c.parents, { Subscript = true }) end
  if not node or node.type ~= "Subscript" then return fixes end
  local dim = c.err.dim or tonumber((c.err.message or ""):match("dimension (%d+)"))
  local keys <const> = node.slice.type == "Tuple" and node.slice.elts or { node.slice }
  local offset = 0
  for i, key in ipairs(keys) do
    if key.type == "Constant" and key.kind_of == "ellipsis" and dim and i <= dim then offset = 1 end
  end
  local key <const> = dim and keys[dim + 1 + offset] or nil
  if not key then return fixes end
  local base <const> = c:text(node.value)
  if key.type == "Slice" and key.upper then
    local edit <const> = c:replace(key.upper, ("min(%s, %s.shape[%d])"):format(c:text(key.upper), base, dim))
    add(fixes, c:fix(("stop at the end of `%s`"):format(base), { edit }))
  elseif key.type == "Call" and (ast.resolve(key.func, c.imports) or ""):match("%.ds$") and #key.args == 2 then
    local start <const>, size <const> = c:text(key.args[1]), key.args[2]
    add(fixes, c:fix(("stop at the end of `%s`"):format(base),
      { c:replace(size, ("min(%s, %s.shape[%d] - %s)"):format(c:text(size), base, dim, start)) }))
  end
  return fixes
end

return shapes
