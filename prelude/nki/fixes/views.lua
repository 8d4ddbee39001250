-- SPDX-License-Identifier: MIT
-- Fixes for views and products that are spelt as Python spells them: a reshape to another number of elements, `a @ b`.

local ast <const> = require "nki.ast"
local common <const> = require "nki.fixes.common"

local views <const> = {}

-- One size of the new shape is wrong when exactly one of them can be what the others leave over.
function views.reshape(c)
  local call <const>, operand <const> = c.call, c.err.operands and c.err.operands[1]
  if not call or call.func.type ~= "Attribute" or call.func.attr ~= "reshape" or not operand or not operand.shape then return nil end
  local asked <const> = {}
  for extent in tostring(c.err.got or ""):gmatch("%d+") do asked[#asked + 1] = math.tointeger(tonumber(extent)) end
  local shape = call.args[1] or ast.argument(call, "shape")
  local sizes <const> = shape and (shape.type == "Tuple" or shape.type == "List") and shape.elts or call.args
  if #asked == 0 or not sizes or #sizes ~= #asked then return nil end
  local total <const>, wanted <const> = common.count(operand.shape), common.count(asked)
  if total == wanted or wanted == 0 then return nil end
  local fixes <const> = {}
  for d, extent in ipairs(asked) do
    local others <const> = wanted // extent
    if total % others == 0 then
      local left <const>, text = total // others, nil
      local size <const> = sizes[d]
      -- n + 1 where n is what is left over; else a dimension of that size; else the number.
      if size.type == "BinOp" then
        local named <const> = size.left.type ~= "Constant" and size.left or nil
        if named then fixes[#fixes + 1] = c:fix(("write `%s` here"):format(c:text(named)), { c:replace(size, c:text(named)) }) end
      end
      for k, have in ipairs(operand.shape) do
        if have == left and not text then text = ("%s.shape[%d]"):format(c:text(call.func.value), k - 1) end
      end
      fixes[#fixes + 1] = c:fix(("%d elements are there: %d here"):format(total, left), { c:replace(size, text or tostring(left)) })
    end
  end
  return fixes
end

-- a @ b on tiles. The Tensor Engine contracts over partitions, so the left side is transposed first; `a.T @ b` is what it does.
function views.matmul(c)
  local node <const>, statement <const> = c.node, c.statement
  if not statement or not c:alone(statement) then return nil end
  local left <const>, right <const> = node.left, c:text(node.right)
  local target <const> = statement.type == "Assign" and #statement.targets == 1 and statement.targets[1].type == "Name" and statement.value == node
    and statement.targets[1].id
  local lines <const> = {}
  local function line(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local stationary, rows
  if left.type == "Attribute" and left.attr == "T" then
    stationary = c:text(left.value)
    rows = stationary .. ".shape[1]"
  else
    local text <const>, base <const> = c:text(left), c:base_name(left)
    local in_psum <const> = c:fresh(base .. "_t_psum")
    stationary, rows = c:fresh(base .. "_t"), text .. ".shape[0]"
    line("%s = %s((%s.shape[1], %s.shape[0]), dtype=%s.dtype, buffer=%s)", in_psum, c:nl("ndarray"), text, text, text, c:nl("psum"))
    line("%s(dst=%s, data=%s)", c:nisa("nc_transpose"), in_psum, text)
    line("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)", stationary, c:nl("ndarray"), in_psum, text, c:nl("sbuf"))
    line("%s(dst=%s, src=%s)", c:nisa("tensor_copy"), stationary, in_psum)
  end
  local fixes <const> = {}
  local function finish(name, allocate)
    local all <const> = table.move(lines, 1, #lines, 1, {})
    if allocate then
      all[#all + 1] = ("%s = %s((%s, %s.shape[1]), dtype=%s, buffer=%s)"):format(name, c:nl("ndarray"), rows, right, c:nl("float32"), c:nl("psum"))
    end
    all[#all + 1] = ("%s(dst=%s, stationary=%s, moving=%s)"):format(c:nisa("nc_matmul"), name, stationary, right)
    return all
  end
  if target then
    -- Sums into an accumulator that was made for it; else a new PSUM tile of that name.
    local made <const> = c:allocation(statement.targets[1])
    local buffer <const> = made and made.lineno < statement.lineno and c:allocation_arg(made, "buffer")
    local span <const> = c:replace(statement, "")
    local function whole(name, allocate)
      local all <const> = finish(name, allocate)
      local edit <const> = { line = span.line, column = span.column, end_line = span.end_line, end_column = span.end_column }
      edit.text = table.concat(all, "\n" .. c.source:indent(statement.lineno))
      return edit
    end
    if buffer and c:text(buffer):find("psum", 1, true) then fixes[#fixes + 1] = c:fix("multiply with nc_matmul", { whole(target, false) }) end
    fixes[#fixes + 1] = c:fix("multiply with nc_matmul into PSUM", { whole(target, true) })
  else
    local fresh <const> = c:fresh("product")
    fixes[#fixes + 1] = c:fix("multiply with nc_matmul into PSUM", { c:before(statement, finish(fresh, true)), c:replace(node, fresh) })
  end
  return fixes
end

return views
