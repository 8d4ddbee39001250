-- SPDX-License-Identifier: MIT
-- Fixes for sizes over the hardware's limits: partitions over 128, matmul operands over 128 and 512, a PSUM tile over a
-- bank. Three readings, in order: a tile constant that is too large gets the limit; a matmul is cut into columns; a
-- kernel that treats a whole tensor as one tile gets a loop over its rows.

local ast <const> = require "nki.ast"

local limits <const> = {}

-- Replace the constant behind a size by the limit's own name.
local function constant_candidate(c, node, limit, spelled)
  if not node then return nil end
  local at, value = c:constant(node)
  if not at then
    -- n * 128, pmax * 2: the product's constant factor is what is too much.
    if node.type == "BinOp" and node.op == "Mult" then return c:fix(("use %s"):format(spelled), { c:replace(node, spelled) }) end
    return nil
  end
  if value and value <= limit then return nil end
  if not value and not (at.type == "BinOp" or at.type == "Call" or at.type == "Attribute") then return nil end
  return c:fix(("use %s (%d) here"):format(spelled, limit), { c:replace(at, spelled) })
end

-- The tile constants a function's slices and shapes are written with and that are over the limit: TILE_M = 256.
local function tile_constants(c, limit, extent, spelled)
  local list <const> = {}
  local function look(scope)
    for _, statement in ipairs(scope.body) do
      if statement.type == "Assign" and statement.targets[1].type == "Name" and statement.value.type == "Constant"
        and statement.value.kind_of == "int" and statement.value.value == extent and extent > limit then
        list[#list + 1] = c:fix(("use %s (%d) for %s"):format(spelled, limit, statement.targets[1].id), { c:replace(statement.value, spelled) })
      end
    end
  end
  if c.fn then look(c.fn) end
  look(c.tree)
  return list
end

local function add(list, fix)
  if fix then list[#list + 1] = fix end
end

-- Is this expression a tensor in HBM: a parameter of the entry, or allocated in HBM?
local function hbm_names(c)
  local set <const> = {}
  for _, arg in ipairs(c.fn.args.args) do set[arg.arg] = true end
  ast.walk(c.fn, function(node)
    if node.type == "Assign" and node.targets[1].type == "Name" and node.value.type == "Call" then
      local op <const> = c:op_of(node.value)
      if op == "nki.language.ndarray" or op == "nki.language.zeros" then
        local buffer <const> = c:allocation_arg(node.value, "buffer")
        local where <const> = buffer and (ast.resolve(buffer, c.imports) or "")
        if where and where:match("hbm$") then set[node.targets[1].id] = true end
      end
    end
  end)
  return set
end

-- The whole-tensor kernel: put everything from the first oversized tile to the end of its block into a loop over row
-- blocks. Tiles whose first size is the tensor's take the block's rows; HBM tensors are sliced by rows.
local function row_loop(c, limit)
  local statement <const> = c.statement
  if not statement or not c.fn then return nil end
  local block <const>, index <const>, parent <const> = ast.block(statement, c.parents)
  if not block or parent ~= c.fn then return nil end
  local shape <const> = c:allocation_arg(c.call, "shape")
  if not shape then return nil end
  local size_text, rank
  local operand <const> = c.err.operands and c.err.operands[1]
  local whole -- `x.shape`
  if (c:op_of(c.call) or ""):match("^nki%.language%.load") then
    -- nl.load(x), nl.load(x[0:256, :]): the size is the tensor's, or the slice's end.
    if shape.type == "Name" then
      size_text = shape.id .. ".shape[0]"
    elseif shape.type == "Subscript" and shape.value.type == "Name" then
      local first <const> = shape.slice.type == "Tuple" and shape.slice.elts[1] or shape.slice
      if first.type == "Slice" and first.upper and (not first.lower or c:text(first.lower) == "0") then
        size_text = c:text(first.upper)
      elseif first.type == "Slice" and not first.lower and not first.upper then
        size_text = shape.value.id .. ".shape[0]"
      end
    end
    rank = operand and operand.shape and #operand.shape or 2
    if not size_text then return nil end
  elseif shape.type == "Tuple" and #shape.elts >= 2 then
    size_text, rank = c:text(shape.elts[1]), #shape.elts
  elseif shape.type == "Attribute" and shape.attr == "shape" then
    whole = c:text(shape)
    size_text = whole .. "[0]"
    rank = operand and operand.shape and #operand.shape or 2
  else
    return nil
  end
  -- Names for the same number of rows: `P, F = x.shape` makes P and x.shape[0] one size.
  local same <const> = { [size_text] = true }
  ast.walk(c.fn, function(node)
    if node.type == "Assign" and node.value.type == "Attribute" and node.value.attr == "shape" and node.targets[1].type == "Tuple" then
      local first <const> = node.targets[1].elts[1]
      if first and first.type == "Name" then
        local text <const> = c:text(node.value) .. "[0]"
        if same[first.id] or same[text] then
          same[first.id], same[text] = true, true
        end
      end
    end
  end)
  local start = index
  local hbm <const> = hbm_names(c)
  local function is_hbm_allocation(item)
    return item.type == "Assign" and item.value.type == "Call" and item.targets[1].type == "Name" and hbm[item.targets[1].id]
  end
  local last = #block
  if block[last].type == "Return" then last = last - 1 end
  if last < index then return nil end
  -- On-chip tiles already allocated above are part of the block only if nothing but allocations lies between.
  while start > 1 do
    local item <const> = block[start - 1]
    local made <const> = item.type == "Assign" and item.value.type == "Call" and c:op_of(item.value) == "nki.language.ndarray"
    if made and not is_hbm_allocation(item) then start = start - 1 else break end
  end
  local row, rows = c:fresh("row"), c:fresh("rows")
  local pmax <const> = c:nl("tile_size.pmax")
  local edits <const> = {}
  local indent <const> = c.source:indent(block[start].lineno)
  local step <const> = indent:find("\t") and "\t" or (#indent % 4 == 0 and "    " or "  ")
  edits[1] = c.source.insert(block[start].lineno, 1, table.concat({
    ("%sfor %s in range(0, %s, %s):\n"):format(indent, row, size_text, pmax),
    ("%s%s%s = min(%s, %s - %s)\n"):format(indent, step, rows, pmax, size_text, row),
  }))
  local strings <const> = {} -- lines inside a text that spans lines keep their indentation
  local ok = true
  local outputs <const> = {}
  for i = start, last do
    local item <const> = block[i]
    if not c:alone(item) then return nil end
    if is_hbm_allocation(item) then
      outputs[#outputs + 1] = i
    end
    ast.walk(item, function(node)
      if node.type == "Constant" and node.kind_of == "str" and node.end_lineno > node.lineno then
        for line = node.lineno + 1, node.end_lineno do strings[line] = true end
      elseif node.type == "JoinedStr" and node.end_lineno > node.lineno then
        ok = false
      end
    end)
  end
  if not ok then return nil end
  -- An output made inside the region moves out of the loop: it is one tensor, not one per block.
  local hoisted <const> = {}
  for _, i in ipairs(outputs) do
    local item <const> = block[i]
    hoisted[i] = true
    table.insert(edits, 1, c.source.insert(block[start].lineno, 1, indent .. c.source:slice(item):gsub("^%s+", "") .. "\n"))
    edits[#edits + 1] = { line = item.lineno, column = 1, end_line = item.end_lineno + 1, end_column = 1, text = "" }
  end
  for i = start, last do
    local item <const> = block[i]
    if not hoisted[i] then
      for line = item.lineno, item.end_lineno do
        if not strings[line] and c.source:line(line):find("%S") then edits[#edits + 1] = c.source.insert(line, 1, step) end
      end
      ast.walk(item, function(node, above, field)
        if node.type == "Call" and c:op_of(node) == "nki.language.ndarray" or node.type == "Call" and c:op_of(node) == "nki.language.zeros" then
          local made <const> = c:allocation_arg(node, "shape")
          if made and made.type == "Tuple" and same[c:text(made.elts[1])] then
            edits[#edits + 1] = c:replace(made.elts[1], rows)
          elseif made and made.type == "Attribute" and made.attr == "shape" and same[c:text(made) .. "[0]"] then
            local parts <const> = { rows }
            for d = 1, rank - 1 do parts[#parts + 1] = ("%s[%d]"):format(c:text(made), d) end
            edits[#edits + 1] = c:replace(made, "(" .. table.concat(parts, ", ") .. ")")
          end
        elseif node.type == "Name" and hbm[node.id] and node.ctx ~= "Store" then
          if above.type == "keyword" or above.type == "Call" and field == "args" then
            edits[#edits + 1] = c:replace(node, ("%s[%s:%s + %s]"):format(node.id, row, row, rows))
          end
        elseif node.type == "Subscript" and node.value.type == "Name" and hbm[node.value.id] then
          -- x[:, a:b] and x[0:P, a:b]: only the first index changes.
          local key <const> = node.slice
          local first <const> = key.type == "Tuple" and key.elts[1] or key
          if first.type == "Slice" then
            local low <const> = first.lower and c:text(first.lower) or "0"
            local high <const> = first.upper and c:text(first.upper) or size_text
            if low == "0" and same[high] then edits[#edits + 1] = c:replace(first, ("%s:%s + %s"):format(row, row, rows)) end
          elseif first.type == "Constant" and first.kind_of == "ellipsis" then
            edits[#edits + 1] = c:replace(first, ("%s:%s + %s"):format(row, row, rows))
          end
        elseif node.type == "Subscript" and node.value.type == "Name" and not hbm[node.value.id] then
          local key <const> = node.slice
          local first <const> = key.type == "Tuple" and key.elts[1] or key
          if first.type == "Slice" and first.upper and same[c:text(first.upper)] then edits[#edits + 1] = c:replace(first.upper, rows) end
        end
      end)
    end
  end
  return c:fix(("work on blocks of %d rows"):format(limit), edits)
end

function limits.partition(c)
  local fixes <const> = {}
  local call = c.call
  local limit <const> = c.err.limit or 128
  if not call then return nil end
  local op <const> = c:op_of(call) or ""
  local pmax <const> = c:nl("tile_size.pmax")
  if op:match("^nki%.language%.") and not op:match("load") and c:allocation_arg(call, "shape") then
    local shape <const> = c:allocation_arg(call, "shape")
    if shape.type == "Tuple" or shape.type == "List" then add(fixes, constant_candidate(c, shape.elts[1], limit, pmax)) end
    local extent <const> = c.err.extent or c.err.operands and c.err.operands[1] and c.err.operands[1].shape and c.err.operands[1].shape[1]
    for _, fix in ipairs(tile_constants(c, limit, extent or 0, pmax)) do fixes[#fixes + 1] = fix end
    add(fixes, row_loop(c, limit))
  else
    -- An instruction or nl.load on a slice of more than 128 rows.
    for _, name in ipairs { "src", "data", "data1", "dst", "value" } do
      local operand <const> = c:operand(name)
      if operand and operand.shape and operand.shape[1] > limit then
        for _, fix in ipairs(tile_constants(c, limit, operand.shape[1], pmax)) do fixes[#fixes + 1] = fix end
      end
    end
    add(fixes, row_loop(c, limit))
  end
  return fixes
end

-- Cut a matmul whose moving tile or destination is too wide into columns.
local function column_loop(c, width)
  local call <const>, statement <const> = c.call, c.statement
  if not statement or statement.type ~= "Expr" or statement.value ~= call or not c:alone(statement) then return nil end
  local dst <const>, moving <const> = c:arg("dst", call), c:arg("moving", call)
  local operand <const> = c:operand("moving")
  if not dst or not moving or not operand or not operand.shape or #operand.shape ~= 2 then return nil end
  local col, stop = c:fresh("col"), c:fresh("col_end")
  local indent <const> = c.source:indent(statement.lineno)
  local step <const> = indent:find("\t") and "\t" or (#indent % 4 == 0 and "    " or "  ")
  local limit <const> = c:nl("tile_size.gemm_moving_fmax")
  local size <const> = c:text(moving) .. ".shape[1]"
  local function sliced(node)
    return c:replace(node, ("%s[:, %s:%s]"):format(c:text(node), col, stop))
  end
  local edits <const> = {
    c:before(statement, {
      ("for %s in range(0, %s, %s):"):format(col, size, limit),
      ("%s%s = min(%s + %s, %s)"):format(step, stop, col, limit, size),
    }),
  }
  for line = statement.lineno, statement.end_lineno do
    if c.source:line(line):find("%S") then edits[#edits + 1] = c.source.insert(line, 1, step) end
  end
  edits[#edits + 1] = sliced(dst)
  edits[#edits + 1] = sliced(moving)
  return c:fix(("multiply %d columns at a time"):format(width), edits)
end

function limits.moving(c)
  local fixes <const> = {}
  local operand <const> = c:operand("moving")
  local extent <const> = operand and operand.shape and operand.shape[#operand.shape]
  local spelled <const> = c:nl("tile_size.gemm_moving_fmax")
  if extent then
    for _, fix in ipairs(tile_constants(c, 512, extent, spelled)) do fixes[#fixes + 1] = fix end
  end
  add(fixes, column_loop(c, 512))
  return fixes
end

function limits.stationary(c)
  local operand <const> = c:operand("stationary")
  local extent <const> = operand and operand.shape and operand.shape[#operand.shape]
  if not extent then return nil end
  return tile_constants(c, 128, extent, c:nl("tile_size.gemm_stationary_fmax"))
end

-- A transpose larger than the engine does: leave the engine to the compiler when the Tensor Engine would do, else go through
-- the data in blocks of 128 columns, which needs a destination that is cut the same way.
function limits.transpose(c)
  local fixes <const> = {}
  local call <const>, statement <const> = c.call, c.statement
  local data <const>, operand <const> = call and c:arg("data", call), c:operand("data")
  if not call or not data or not operand or not operand.shape then return fixes end
  if c:has_keyword("engine", call) then add(fixes, c:fix("leave the choice of the engine to the compiler", { c:drop_keyword(call, "engine") })) end
  for _, fix in ipairs(tile_constants(c, 128, operand.shape[2] or 0, c:nl("tile_size.pmax"))) do fixes[#fixes + 1] = fix end
  local dst <const> = c:arg("dst", call)
  if statement and statement.type == "Expr" and dst and data.type == "Name" and dst.type == "Name" and #operand.shape == 2 and operand.shape[1] <= 128
    and c:alone(statement) then
    -- [p, n * 128] -> n transposes side by side: dst[:, block's columns] of a [128, n * p] tile.
    local block <const> = c:fresh("block")
    local indent <const> = c.source:indent(statement.lineno)
    local step <const> = indent:find("\t") and "\t" or "    "
    local text <const>, pmax <const> = c:text(data), c:nl("tile_size.pmax")
    add(fixes, c:fix("transpose 128 columns at a time, the blocks side by side", {
      c:before(statement, { ("for %s in range(%s.shape[1] // %s):"):format(block, text, pmax) }),
      c.source.insert(statement.lineno, 1, step),
      c:replace(data, ("%s[:, %s * %s:(%s + 1) * %s]"):format(text, block, pmax, block, pmax)),
      c:replace(dst, ("%s[:, %s * %s.shape[0]:(%s + 1) * %s.shape[0]]"):format(c:text(dst), block, text, block, text)),
    }))
  end
  return fixes
end

-- A PSUM tile wider than a bank: at its allocation, or as the destination of a matmul.
function limits.bank(c)
  local fixes <const> = {}
  local operand <const> = c:operand("dst") or c.err.operands and c.err.operands[1]
  local call <const> = c.call
  local op <const> = call and c:op_of(call) or ""
  local spelled <const> = c:nl("tile_size.psum_bank_fmax")
  local extent <const> = operand and operand.shape and operand.shape[#operand.shape]
  local made = call
  if not op:match("^nki%.language%.") and call then
    made = c:allocation(c:arg("dst", call), operand)
  end
  local shape <const> = made and c:allocation_arg(made, "shape")
  if shape and shape.type == "Tuple" then add(fixes, constant_candidate(c, shape.elts[#shape.elts], 512, spelled)) end
  if extent then
    for _, fix in ipairs(tile_constants(c, 512, extent, spelled)) do fixes[#fixes + 1] = fix end
  end
  if op:match("nc_matmul$") then add(fixes, column_loop(c, 512)) end
  -- fp32 accumulators only: a wider dtype is never needed, a narrower one halves the bytes but not the bank's limit.
  return fixes
end

return limits
