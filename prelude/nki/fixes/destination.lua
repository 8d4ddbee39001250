-- SPDX-License-Identifier: MIT
-- Fixes for calls that lack what they need: `y = nisa.op(x)` without dst=, above all. The result's tile is allocated
-- with the shape the operation gives it; where the call stands alone, the tile that is made before and read after it
-- but never written is the one that was meant.

local ast <const> = require "nki.ast"

local destination <const> = {}

-- The shape and dtype of an operation's result, as text, from its operands' expressions. Elementwise is the default.
local RESULT <const> = {}

function RESULT.nc_matmul(c, call)
  local stationary <const>, moving <const> = c:arg("stationary", call), c:arg("moving", call)
  if not stationary or not moving then return nil end
  return ("(%s.shape[1], %s.shape[1])"):format(c:text(stationary), c:text(moving)), c:nl("float32"), "psum"
end

function RESULT.nc_transpose(c, call)
  local data <const> = c:arg("data", call)
  if not data then return nil end
  local text <const> = c:text(data)
  return ("(%s.shape[1], %s.shape[0])"):format(text, text), text .. ".dtype", "psum"
end

function RESULT.tensor_reduce(c, call)
  local data <const>, axis <const> = c:arg("data", call), c:arg("axis", call)
  local operand <const> = c:operand("data")
  if not data then return nil end
  local text <const> = c:text(data)
  local rank <const> = operand and operand.shape and #operand.shape
  local keep <const> = c:arg("keepdims", call)
  if rank == nil or rank <= 2 then return ("(%s.shape[0], 1)"):format(text), c:nl("float32"), "sbuf" end
  if axis and axis.type == "Constant" and axis.kind_of == "int" and not keep then
    local parts <const> = {}
    for i = 0, rank - 1 do
      if i ~= axis.value and i ~= rank + axis.value then parts[#parts + 1] = ("%s.shape[%d]"):format(text, i) end
    end
    return "(" .. table.concat(parts, ", ") .. ")", c:nl("float32"), "sbuf"
  end
  return nil
end

local SOURCES <const> = { "data", "data1", "src", "data0", "on_true_tile", "on_true", "stationary" }

local function result_of(c, call, op)
  local short <const> = op:match("[^.]+$")
  if RESULT[short] then return RESULT[short](c, call) end
  for _, name in ipairs(SOURCES) do
    local node <const> = c:arg(name, call)
    if node then
      local text <const> = c:text(node)
      local dtype = text .. ".dtype"
      -- A tile never takes the dtype of a value that is about to be multiplied into wider ones; the input's own is right.
      return text .. ".shape", dtype, "sbuf"
    end
  end
  return nil
end

-- B1-style positional calls lack dst in front: their arguments are all one place too early.
local function insert_dst(c, call, name)
  if #call.args > 0 then
    local first <const> = call.args[1]
    return c.source.insert(first.lineno, first.col_offset + 1, name .. ", ")
  end
  local keyword <const> = call.keywords[1]
  if keyword then return c.source.insert(keyword.lineno, keyword.col_offset + 1, "dst=" .. name .. ", ") end
  return c:set_argument(call, "dst", name)
end

-- With dst put in front, positional arguments name the parameters they were meant for.
local function shifted(c, call)
  local params <const> = c.signature and c.signature(c:op_of(call))
  if not params or #call.args == 0 then return call end
  local copy <const> = {}
  for key, value in pairs(call) do copy[key] = value end
  copy.args = { call.args[1] }
  table.move(call.args, 1, #call.args, 2, copy.args)
  return copy
end

-- Tiles allocated before the call in its function, never written before it, and read after it: the nearest first.
local function waiting_tiles(c)
  local candidates <const>, written <const>, read_later <const> = {}, {}, {}
  local at <const> = c.call
  local function after(node) return node.lineno > (at.end_lineno or at.lineno) end
  ast.walk(c.fn, function(node)
    if node.type == "Assign" and node.targets[1].type == "Name" and node.value.type == "Call" and not after(node) and node ~= c.statement then
      local made <const> = c:op_of(node.value)
      if made == "nki.language.ndarray" or made == "nki.language.empty_like" then
        candidates[#candidates + 1] = { name = node.targets[1].id, line = node.lineno }
      end
    elseif node.type == "Call" and node ~= at then
      local dst <const> = c:arg("dst", node)
      local root <const> = dst and ast.root(dst)
      if root and not after(node) then written[root] = true end
      ast.walk(node, function(child)
        if child.type == "Name" and after(child) then read_later[child.id] = true end
      end)
    elseif node.type == "Return" and node.value then
      ast.walk(node.value, function(child)
        if child.type == "Name" then read_later[child.id] = true end
      end)
    end
  end)
  local used <const> = {}
  for _, keyword in ipairs(at.keywords) do
    ast.walk(keyword, function(child)
      if child.type == "Name" then used[child.id] = true end
    end)
  end
  local result <const> = {}
  for i = #candidates, 1, -1 do
    local name <const> = candidates[i].name
    if not written[name] and read_later[name] and not used[name] then result[#result + 1] = name end
  end
  return result
end

local function standing_alone(c)
  local fixes <const> = {}
  for i, name in ipairs(waiting_tiles(c)) do
    if i > 3 then break end
    fixes[#fixes + 1] = c:fix(("write the result to `%s`"):format(name), { insert_dst(c, c.call, name) })
  end
  return fixes
end

-- memset(shape=, value=, dtype=) of the old dialect made the tile.
local function old_memset(c)
  local target <const> = c.statement.type == "Assign" and c.statement.targets[1]
  local shape <const>, dtype <const> = ast.argument(c.call, "shape"), ast.argument(c.call, "dtype")
  local value <const> = ast.argument(c.call, "value")
  if not target or target.type ~= "Name" or not shape or not value then return nil end
  local made <const> = ("%s = %s(%s, dtype=%s, buffer=%s)"):format(target.id, c:nl("ndarray"), c:text(shape),
    dtype and c:text(dtype) or c:nl("float32"), c:nl("sbuf"))
  return c:fix("allocate the tile, then fill it", {
    c:before(c.statement, { made }),
    c:replace(c.statement, ("%s(dst=%s, value=%s)"):format(c:text(c.call.func), target.id, c:text(value))),
  })
end

function destination.missing_argument(c)
  local call <const>, statement <const> = c.call, c.statement
  if not call or not statement then return nil end
  local op <const> = c:op_of(call) or c.err.op or ""
  if not op:match("^nki%.isa%.") and not (c.err.op or ""):match("^nisa%.") then return nil end
  if op:match("memset$") and ast.argument(call, "shape") then return { old_memset(c) } end
  if c:arg("dst", call) and #call.args == 0 then return nil end
  for _, keyword in ipairs(call.keywords) do
    if keyword.arg == "dst" then return nil end
  end
  local wants_value <const> = statement.type ~= "Expr" or statement.value ~= call
  if not wants_value then return standing_alone(c) end
  if not c:alone(statement) then return nil end
  local view <const> = shifted(c, call)
  local shape <const>, dtype <const>, buffer <const> = result_of(c, view, op)
  local target <const> = statement.type == "Assign" and statement.value == call and #statement.targets == 1 and statement.targets[1]
  -- tile[...] = nisa.op(...): the tile is there already.
  if target and target.type == "Subscript" then
    local cut <const> = {
      line = statement.lineno, column = statement.col_offset + 1, end_line = call.lineno, end_column = call.col_offset + 1, text = "",
    }
    return { c:fix("pass the destination as dst=", { cut, insert_dst(c, call, c:text(target)) }) }
  end
  if not shape then return nil end
  if target and target.type == "Name" then
    local name <const> = target.id
    -- y = nisa.op(data=y): the old tile is still read, so the new one needs its own name while it is filled.
    local reads_itself <const> = ast.loads(call)[name]
    local cut <const> = {
      line = statement.lineno, column = statement.col_offset + 1, end_line = call.lineno, end_column = call.col_offset + 1, text = "",
    }
    if reads_itself then
      local fresh <const> = c:fresh(name .. "_new")
      return { c:fix("allocate the result and pass it as dst=", {
        c:before(statement, { ("%s = %s(%s, dtype=%s, buffer=%s)"):format(fresh, c:nl("ndarray"), shape, dtype, c:nl(buffer)) }),
        cut, insert_dst(c, call, fresh), c:after(statement, { name .. " = " .. fresh }),
      }) }
    end
    return { c:fix("allocate the result and pass it as dst=", {
      c:before(statement, { ("%s = %s(%s, dtype=%s, buffer=%s)"):format(name, c:nl("ndarray"), shape, dtype, c:nl(buffer)) }),
      cut, insert_dst(c, call, name),
    }) }
  end
  -- The call is part of a larger expression: give its result a name first.
  local name <const> = c:fresh((op:match("[^.]+$") or "result") .. "_out")
  local inserted <const> = insert_dst(c, call, name)
  local text <const> = c.source:slice(call)
  local from <const> = c.source:offset(call.lineno, call.col_offset + 1)
  local at <const> = c.source:offset(inserted.line, inserted.column) - from
  local moved <const> = text:sub(1, at) .. inserted.text .. text:sub(at + 1)
  return { c:fix("compute the result into a tile first", {
    c:before(statement, {
      ("%s = %s(%s, dtype=%s, buffer=%s)"):format(name, c:nl("ndarray"), shape, dtype, c:nl(buffer)),
      moved,
    }),
    c:replace(call, name),
  }) }
end

return destination
