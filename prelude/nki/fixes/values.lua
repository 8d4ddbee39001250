-- SPDX-License-Identifier: MIT
-- Fixes for values and types: operands of the wrong dtype, accumulators nobody cleared, memset values, scale and bias
-- of activation, the axis of a reduction.

local ast <const> = require "nki.ast"
local common <const> = require "nki.fixes.common"

local values <const> = {}

local function add(list, fix)
  if fix then list[#list + 1] = fix end
end

-- Cast an operand into a new tile just before the call.
local function cast(c, name, dtype_text, dtype_name)
  local node <const>, statement <const> = c:arg(name), c.statement
  if not node or not statement or not c:alone(statement) then return nil end
  local suffix <const> = ({ float32 = "_f32", bfloat16 = "_bf16", float16 = "_f16" })[dtype_name] or "_cast"
  local fresh <const> = c:fresh(c:base_name(node) .. suffix)
  return c:fix(("cast `%s` to %s first"):format(c:text(node), dtype_name), {
    c:before(statement, c:copy_lines(fresh, c:text(node), dtype_text)), c:replace(node, fresh),
  })
end

-- Allocate the operand's tile in another dtype.
local function allocate_as(c, name, dtype_text, dtype_name)
  local node <const>, operand <const> = c:arg(name), c:operand(name)
  local made <const> = c:allocation(node, operand)
  if not made or (operand and operand.buffer and operand.buffer:match("hbm")) then return nil end
  return c:fix(("allocate `%s` as %s"):format(c:base_name(node), dtype_name), { c:set_allocation(made, "dtype", dtype_text) })
end

local function target_dtype(c)
  local want <const> = c.err.want or ""
  for word in want:gmatch("[%w_]+") do
    if word:match("^float%d") or word:match("^bfloat") or word:match("^u?int%d") then return word end
  end
  return nil
end

-- A per-partition operand or scale must be fp32: statistics belong in fp32 anyway, so make the tile fp32.
function values.operand_dtype(c)
  local fixes <const> = {}
  local want <const> = target_dtype(c) or "float32"
  for _, operand in ipairs(c.err.operands or {}) do
    if operand.dtype and operand.dtype ~= want and c:arg(operand.name or "") then
      add(fixes, allocate_as(c, operand.name, c:nl(want), want))
      if operand.name ~= "dst" then add(fixes, cast(c, operand.name, c:nl(want), want)) end
    end
  end
  return fixes
end

local RANK <const> = { float8_e4m3 = 1, float8_e5m2 = 1, float8_e4m3fn = 1, float16 = 2, bfloat16 = 2, tfloat32 = 3, float32 = 4 }

-- matmul operands fp32 with 16-bit: widen the narrow one (nothing is lost), else narrow the wide one.
function values.matmul_mix(c)
  local fixes <const> = {}
  local s <const>, m <const> = c:operand("stationary"), c:operand("moving")
  if not s or not m then return fixes end
  local wide <const> = (RANK[s.dtype] or 0) > (RANK[m.dtype] or 0) and s or m
  local narrow <const> = wide == s and m or s
  local wide_dtype <const>, narrow_dtype <const> = c:nl(wide.dtype), c:nl(narrow.dtype)
  add(fixes, cast(c, narrow.name, wide_dtype, wide.dtype))
  add(fixes, allocate_as(c, wide.name, narrow_dtype, narrow.dtype))
  add(fixes, allocate_as(c, narrow.name, wide_dtype, wide.dtype))
  return fixes
end

-- matmul accumulates in fp32.
function values.matmul_dst_dtype(c)
  local fixes <const> = {}
  add(fixes, allocate_as(c, "dst", c:nl("float32"), "float32"))
  return fixes
end

-- memset's value must be written in the dtype of dst.
function values.memset(c)
  local fixes <const> = {}
  local value <const>, operand <const> = c.call and c:arg("value"), c:operand("dst")
  if not value then return fixes end
  local dtype <const> = operand and operand.dtype or ""
  local number <const> = value.type == "Constant" and value.value or nil
  local negative <const> = value.type == "UnaryOp" and value.op == "USub" and value.operand.type == "Constant" and value.operand.value or nil
  local known <const> = number or negative and -negative
  if dtype:match("_x4$") then
    add(fixes, c:fix("fill with 0: packed types take no other value", { c:replace(value, "0") }))
  elseif dtype:match("^u?int") or dtype == "bool" then
    if type(known) == "number" and math.tointeger(known) then
      add(fixes, c:fix(("write %d: `%s` is %s"):format(math.tointeger(known), c:text(c:arg("dst")), dtype),
        { c:replace(value, tostring(math.tointeger(known))) }))
    elseif type(known) == "number" then
      local made <const> = c:allocation(c:arg("dst"), operand)
      if made then add(fixes, c:fix("allocate the tile as float32", { c:set_allocation(made, "dtype", c:nl("float32")) })) end
    else
      add(fixes, c:fix("convert the value", { c:replace(value, ("int(%s)"):format(c:text(value))) }))
    end
  elseif type(known) == "number" then
    add(fixes, c:fix("write a float", { c:replace(value, ("%.17g"):format(known):find("[%.e]") and ("%.17g"):format(known) or ("%.17g.0"):format(known)) }))
  end
  return fixes
end

-- accumulate=True onto nothing: leave it out, so that the first write overwrites and later ones add.
function values.accumulate(c)
  local fixes <const> = {}
  local call <const> = c.call
  if not call then return fixes end
  local edit <const> = c:drop_keyword(call, "accumulate")
  if edit then add(fixes, c:fix("leave accumulate out: the first multiply overwrites, later ones add", { edit })) end
  -- A memset before the first matmul is not needed and not allowed: take it away.
  local dst <const> = c:arg("dst")
  local root <const> = dst and ast.root(dst)
  if root and c.fn then
    ast.walk(c.fn, function(node)
      if node.type == "Call" and (c:op_of(node) or ""):match("nki%.isa%.memset$") then
        local target <const> = c:arg("dst", node)
        local statement <const> = ast.statement(node, c.parents)
        if target and ast.root(target) == root and statement.type == "Expr" then
          local block <const> = ast.block(statement, c.parents)
          if block and #block > 1 then
            add(fixes, c:fix("remove the memset: a matmul's first write overwrites", {
              { line = statement.lineno, column = 1, end_line = statement.end_lineno + 1, end_column = 1, text = "" },
            }))
          end
        end
      end
    end)
    -- nl.zeros in PSUM as an accumulator: a plain ndarray.
    local made <const> = c:allocation(dst, c:operand("dst"))
    if made and (c:op_of(made) or ""):match("%.zeros$") then
      add(fixes, c:fix("allocate the accumulator without filling it", { c:replace(made.func, c:nl("ndarray")) }))
    end
  end
  return fixes
end

local NEUTRAL <const> = { add = "0.0", subtract = "0.0", multiply = "1.0", maximum = "-3.4028234663852886e+38", minimum = "3.4028234663852886e+38",
  logical_or = "0.0", logical_and = "1.0" }

-- A tile is read before it is written. When the instruction reads and writes the same tile it is an accumulator and
-- wants the operator's neutral value; otherwise a write is missing, and only a person knows of what.
function values.uninitialized(c)
  local fixes <const> = {}
  local call <const> = c.call
  local operand <const> = c.err.operands and c.err.operands[1]
  if not call or not operand or not operand.name then return fixes end
  local node <const> = c:arg(operand.name)
  local dst <const> = c:arg("dst")
  if not node then return fixes end
  local root <const> = ast.root(node)
  local made <const>, statement <const> = c:allocation(node, operand)
  if not made or not statement or not root then return fixes end
  local accumulates <const> = dst and ast.root(dst) == root
  local op <const> = c:arg("op") or c:arg("op1") or c:arg("op0")
  local name <const> = op and (ast.resolve(op, c.imports) or ""):match("[^.]+$")
  local integer <const> = (operand.dtype or ""):match("^u?int") ~= nil
  local value = NEUTRAL[name or ""]
  if integer and value then value = name == "multiply" and "1" or name == "add" and "0" or nil end
  if (operand.dtype or "") == "float16" and value and value:match("e%+38$") then value = value:match("^%-") and "-65504.0" or "65504.0" end
  if operand.buffer == "psum" and (c:op_of(call) or ""):match("nc_matmul$") then return values.accumulate(c) end
  if accumulates and value and c:alone(statement) then
    local target <const> = c:text(statement.targets[1])
    add(fixes, c:fix(("clear the accumulator `%s` first"):format(root), {
      c:after(statement, { ("%s(dst=%s, value=%s)"):format(c:nisa("memset"), target, value) }),
    }))
  end
  -- A scan or a running state starts from zeros.
  if not accumulates and operand.name == "initial" and c:alone(statement) then
    add(fixes, c:fix(("start `%s` from 0"):format(root), {
      c:after(statement, { ("%s(dst=%s, value=0.0)"):format(c:nisa("memset"), c:text(statement.targets[1])) }),
    }))
  end
  -- Partly written: the valid part of a ragged tile, as written by an earlier slice of the same tile.
  if c.err.got == "partly written" and c.fn then
    local key
    ast.walk(c.fn, function(child)
      if child.type == "Call" and child.lineno < call.lineno then
        local written <const> = c:arg("dst", child)
        if written and written.type == "Subscript" and ast.root(written) == root then key = written end
      end
    end)
    if key and node.type == "Name" then
      add(fixes, c:fix(("use only the part of `%s` that was written"):format(root), { c:replace(node, c:text(key)) }))
    end
  end
  return fixes
end

-- bias and scale of activation: (P, 1) vectors; a number as bias where the target takes vectors only.
function values.activation_vector(c)
  local fixes <const> = {}
  local name <const> = c:operand("bias") and "bias" or c:operand("scale") and "scale" or (c.err.code or ""):match("^(%a+)")
  local operand <const>, data <const> = c:operand(name), c:operand("data")
  local node <const>, input <const> = c:arg(name), c:arg("data")
  if not node or not input or not c.statement or not c:alone(c.statement) then return fixes end
  if operand and operand.value and not operand.shape then
    local fresh <const> = c:fresh(name .. "_col")
    add(fixes, c:fix(("put the %s into a (P, 1) tile"):format(name), {
      c:before(c.statement, {
        ("%s = %s((%s.shape[0], 1), dtype=%s, buffer=%s)"):format(fresh, c:nl("ndarray"), c:text(input), c:nl("float32"), c:nl("sbuf")),
        ("%s(dst=%s, value=%s)"):format(c:nisa("memset"), fresh, c:text(node)),
      }),
      c:replace(node, fresh),
    }))
    return fixes
  end
  if operand and operand.shape and data and data.shape then
    if common.count(operand.shape, 2) == 1 and operand.shape[1] == 1 and data.shape[1] > 1 and c.minor >= 3 then
      local fresh <const> = c:fresh(c:base_name(node) .. "_all")
      add(fixes, c:fix(("copy the %s to every partition first"):format(name), {
        c:before(c.statement, { ("%s = %s(%s, (%s.shape[0], 1))"):format(fresh, c:nl("broadcast_to"), c:text(node), c:text(input)) }),
        c:replace(node, fresh),
      }))
    end
    -- A whole tile as bias or scale: combine with tensor_tensor first.
    if operand.shape[1] == data.shape[1] and common.count(operand.shape, 2) == common.count(data.shape, 2) and common.count(data.shape, 2) > 1 then
      local fresh <const> = c:fresh(c:base_name(input) .. (name == "bias" and "_biased" or "_scaled"))
      local edit <const> = c:drop_keyword(c.call, name)
      local alone <const> = not c:arg(name == "bias" and "scale" or "bias")
      if edit and alone then
        add(fixes, c:fix(("apply the whole-tile %s with tensor_tensor first"):format(name), {
          c:before(c.statement, {
            ("%s = %s(%s.shape, dtype=%s, buffer=%s)"):format(fresh, c:nl("ndarray"), c:text(input), c:nl("float32"), c:nl("sbuf")),
            ("%s(dst=%s, data1=%s, data2=%s, op=%s)"):format(c:nisa("tensor_tensor"), fresh, c:text(input), c:text(node),
              c:nl(name == "bias" and "add" or "multiply")),
          }),
          c:replace(input, fresh), edit,
        }))
      end
    end
    if #operand.shape == 2 and operand.shape[1] == data.shape[1] and operand.shape[2] > 1 then
      add(fixes, c:fix("use one column", { c:replace(node, c:text(node) .. "[:, 0:1]") }))
    end
  end
  return fixes
end

-- A reduction over the partition axis. A (P, 1) destination means that the rows were meant.
function values.axis(c)
  local fixes <const> = {}
  local call <const> = c.call
  local axis <const> = call and c:arg("axis")
  local data <const>, dst <const> = c:operand("data") or c:operand("x"), c:operand("dst")
  if not axis then return fixes end
  local rank <const> = data and data.shape and #data.shape or 2
  local target <const> = c:arg("dst")
  local made <const> = target and c:allocation(target, dst)
  local shape <const> = made and c:allocation_arg(made, "shape")
  local first_is_one <const> = dst and dst.shape and dst.shape[1] == 1 and data and data.shape and data.shape[1] > 1
    or shape and shape.type == "Tuple" and shape.elts[1].type == "Constant" and shape.elts[1].value == 1
  local op <const> = c:arg("op")
  if first_is_one and op and target and (c:op_of(call) or ""):match("tensor_reduce$") then
    add(fixes, c:fix("reduce across partitions with tensor_partition_reduce", {
      c:replace(call, ("%s(dst=%s, op=%s, data=%s)"):format(c:nisa("tensor_partition_reduce"), c:text(target), c:text(op), c:text(c:arg("data")))),
    }))
  end
  local text
  if rank <= 2 then
    text = "1"
  else
    -- All free dimensions that the destination does not keep: the trailing ones.
    local keep = 1
    if dst and dst.shape and data and data.shape then
      while keep < rank and dst.shape[keep + 1] == data.shape[keep + 1] and (data.shape[keep + 1] or 1) > 1 do keep = keep + 1 end
    end
    local axes <const> = {}
    for d = keep, rank - 1 do axes[#axes + 1] = tostring(d) end
    text = #axes == 1 and axes[1] or "(" .. table.concat(axes, ", ") .. ")"
  end
  if c:text(axis) ~= text then
    add(fixes, c:fix(("reduce along the row: axis %s"):format(text), { c:replace(axis, text) }))
  end
  return fixes
end

-- t[::-1], t[::0]: no access pattern goes backwards through a slice.
function values.step(c)
  local fixes <const> = {}
  local node <const> = c.node and (c.node.type == "Subscript" and c.node or ast.enclosing(c.node, c.parents, { Subscript = true }))
  if not node then return fixes end
  local keys <const> = node.slice.type == "Tuple" and node.slice.elts or { node.slice }
  for _, key in ipairs(keys) do
    if key.type == "Slice" and key.step and key.step.type == "Constant" and key.step.value == 0 then
      add(fixes, c:fix("use a step of 1", { c:replace(key.step, "1") }))
    end
  end
  return fixes
end

-- An operator an instruction does not have: divide is a multiplication by the reciprocal.
function values.operator(c)
  local fixes <const> = {}
  local call <const>, statement <const> = c.call, c.statement
  if not call then return fixes end
  local op <const> = c.op_of(c, call) or ""
  local name <const> = c:arg("op0") and "op0" or "op"
  local node <const> = c:arg(name)
  local operator <const> = node and (ast.resolve(node, c.imports) or ""):match("[^.]+$")
  if operator == "divide" and statement and c:alone(statement) then
    local other <const> = op:match("tensor_tensor$") and "data2" or "operand0"
    local value <const> = c:arg(other)
    local operand <const> = c:operand(other)
    if value and value.type == "Constant" and type(value.value) == "number" then
      add(fixes, c:fix("multiply by the inverse", { c:replace(node, c:nl("multiply")), c:replace(value, ("1.0 / %s"):format(c:text(value))) }))
    elseif value and (op:match("tensor_tensor$") or operand and operand.shape) then
      local fresh <const> = c:fresh(c:base_name(value) .. "_inv")
      local text <const> = c:text(value)
      add(fixes, c:fix("multiply by the reciprocal", {
        c:before(statement, {
          ("%s = %s(%s.shape, dtype=%s, buffer=%s)"):format(fresh, c:nl("ndarray"), text, c:nl("float32"), c:nl("sbuf")),
          ("%s(dst=%s, data=%s)"):format(c:nisa("reciprocal"), fresh, text),
        }),
        c:replace(node, c:nl("multiply")), c:replace(value, fresh),
      }))
    elseif value then
      add(fixes, c:fix("multiply by the inverse", { c:replace(node, c:nl("multiply")), c:replace(value, ("1.0 / (%s)"):format(c:text(value))) }))
    end
  end
  -- nl.max and nl.sum name reductions of tiles; as operators they are nl.maximum and nl.add.
  local better <const> = ({ max = "maximum", min = "minimum", sum = "add", prod = "multiply", mean = "add" })[operator or ""]
  if better and node then add(fixes, c:fix(("write `%s`"):format(c:nl(better)), { c:replace(node, c:nl(better)) })) end
  return fixes
end

-- A reduction that starts from registers nobody reset.
function values.reduce_cmd(c)
  if not c.call then return nil end
  return { c:fix("reset the registers with the first reduction", { c:set_argument(c.call, "reduce_cmd", c:nisa("reduce_cmd.reset_reduce")) }) }
end

-- a + b on tensors: the function of nki.language.
local BINARY <const> = {
  Add = "add", Sub = "subtract", Mult = "multiply", Div = "divide", Pow = "power", Mod = "mod", BitAnd = "bitwise_and", BitOr = "bitwise_or",
  BitXor = "bitwise_xor", LShift = "left_shift", RShift = "right_shift",
}
local UNARY <const> = { USub = "negative", Invert = "invert", Not = "logical_not" }
local COMPARE <const> = { Eq = "equal", NotEq = "not_equal", Lt = "less", LtE = "less_equal", Gt = "greater", GtE = "greater_equal" }

function values.tensor_operator(c)
  local fixes <const> = {}
  local node <const> = c.node
  if node.type == "BinOp" and BINARY[node.op] then
    local name <const> = c:nl(BINARY[node.op])
    add(fixes, c:fix(("write `%s`"):format(name), { c:replace(node, ("%s(%s, %s)"):format(name, c:text(node.left), c:text(node.right))) }))
  elseif node.type == "BinOp" and node.op == "MatMult" then
    return require("nki.fixes.views").matmul(c)
  elseif node.type == "UnaryOp" and UNARY[node.op] then
    local name <const> = c:nl(UNARY[node.op])
    add(fixes, c:fix(("write `%s`"):format(name), { c:replace(node, ("%s(%s)"):format(name, c:text(node.operand))) }))
  elseif node.type == "Compare" and #node.ops == 1 and COMPARE[node.ops[1]] then
    local name <const> = c:nl(COMPARE[node.ops[1]])
    add(fixes, c:fix(("write `%s`"):format(name),
      { c:replace(node, ("%s(%s, %s)"):format(name, c:text(node.left), c:text(node.comparators[1]))) }))
  elseif node.type == "AugAssign" and BINARY[node.op] then
    local name <const> = c:nl(BINARY[node.op])
    local target <const> = c:text(node.target)
    add(fixes, c:fix(("write `%s`"):format(name), { c:replace(node, ("%s = %s(%s, %s)"):format(target, name, target, c:text(node.value))) }))
  end
  return fixes
end

-- The engine that was asked for does not have this instruction.
function values.engine(c)
  local fixes <const> = {}
  if not c.call then return fixes end
  local edit <const> = c:drop_keyword(c.call, "engine")
  if edit then add(fixes, c:fix("leave the choice of the engine to the compiler", { edit })) end
  return fixes
end

return values
