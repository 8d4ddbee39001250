-- SPDX-License-Identifier: MIT
-- Fixes for wrong names: functions that do not exist, keywords that are not parameters, arguments given twice or too
-- many. The real names come from the signature tables; `c.catalogue` and `c.signature` read them.

local ast <const> = require "nki.ast"
local names <const> = require "nki.names"
local nearest <const> = require "nki.nearest"

local fixes <const> = {}

-- nisa.exp(...) and nisa.add(...): an operator of another instruction, called as if it were one itself. Rewrites the
-- whole call when its arguments can be told apart.
local UNARY <const>, BINARY <const> = {}, {}
for word in ("exp log sqrt rsqrt tanh sigmoid relu gelu silu softplus mish erf square abs sin arctan sign copy"):gmatch("%S+") do UNARY[word] = true end
for word in ([[add subtract multiply divide maximum minimum power equal not_equal less less_equal greater greater_equal
  logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor]]):gmatch("%S+") do
  BINARY[word] = true
end

-- What others call the operator that changes nothing.
local SAME_VALUE <const> = { identity = true, linear = true, none = true, id = true, noop = true, pass_through = true }

local function is_tensor_text(c, node) return not names.is_number(node, c) end

local function as_instruction(c, op)
  local call <const> = c.parents[c.node]
  if not call or call.type ~= "Call" or call.func ~= c.node then return nil end
  local dst = ast.argument(call, "dst") or ast.argument(call, "out")
  local inputs <const>, extra <const> = {}, {}
  for _, argument in ipairs(call.args) do inputs[#inputs + 1] = argument end
  for _, keyword in ipairs(call.keywords) do
    if keyword.arg == "bias" or keyword.arg == "scale" or keyword.arg == "engine" or keyword.arg == "name" then
      extra[#extra + 1] = (", %s=%s"):format(keyword.arg, c:text(keyword.value))
    elseif keyword.arg ~= "dst" and keyword.arg ~= "out" and keyword.arg ~= "op" and keyword.arg ~= "dtype" then
      inputs[#inputs + 1] = keyword.value
    end
  end
  local arity <const> = UNARY[op] and 1 or BINARY[op] and 2
  if not arity then return nil end
  if not dst and #inputs == arity + 1 then dst = table.remove(inputs, 1) end
  if #inputs ~= arity then return nil end
  local operator <const> = c:nl(op)
  local head <const> = dst and ("dst=%s, "):format(c:text(dst)) or ""
  local text
  if arity == 1 then
    text = ("%s(%sop=%s, data=%s%s)"):format(c:nisa("activation"), head, operator, c:text(inputs[1]), table.concat(extra))
  elseif is_tensor_text(c, inputs[2]) then
    text = ("%s(%sdata1=%s, data2=%s, op=%s%s)"):format(c:nisa("tensor_tensor"), head, c:text(inputs[1]), c:text(inputs[2]), operator, table.concat(extra))
  else
    text = ("%s(%sdata=%s, op0=%s, operand0=%s%s)"):format(c:nisa("tensor_scalar"), head, c:text(inputs[1]), operator, c:text(inputs[2]), table.concat(extra))
  end
  return c:fix(("write %s with op=%s"):format(text:match("^[^(]+"), operator), { c:replace(call, text) })
end

-- An unknown attribute of nki.language or nki.isa.
function fixes.unknown_name(c)
  local node = c.node
  if node.type == "Call" then node = node.func end
  c.node = node
  if node.type == "Name" then
    -- A bare unknown name: the nearest name this function can see, or one of nki.language.
    local seen <const>, list <const> = {}, {}
    ast.walk(c.fn or c.tree, function(child)
      local name <const> = child.type == "Name" and child.ctx == "Store" and child.id or child.type == "arg" and child.arg
      if name and name ~= node.id and not seen[name] then
        seen[name] = true
        list[#list + 1] = name
      end
    end)
    local near <const> = nearest.find(node.id, list)
    local result <const> = {}
    if near then result[1] = c:fix(("write `%s`"):format(near), { c:replace(node, near) }) end
    for _, name in ipairs(c.catalogue and c.catalogue["nki.language"] or {}) do
      if name == node.id then
        result[#result + 1] = c:fix(("write `%s`"):format(c:nl(name)), { c:replace(node, c:nl(name)) })
      end
    end
    return result
  end
  if node.type ~= "Attribute" then return nil end
  local full <const> = ast.resolve(node, c.imports)
  if not full then
    -- A method or attribute of a tensor: x.to(...), x.T, x.sum(...). `a.T @ b` is what one matmul does.
    local product <const> = c.parents[node]
    if node.attr == "T" and product and product.type == "BinOp" and product.op == "MatMult" and product.left == node then
      c.node = product
      return require("nki.fixes.views").matmul(c)
    end
    local near <const> = c.err.suggestion or nearest.find(node.attr, c.err.known or {})
    if not near then return nil end
    local stop <const> = node.end_col_offset + 1
    local at <const> = { line = node.end_lineno, column = stop - #node.attr, end_line = node.end_lineno, end_column = stop, text = near }
    return { c:fix(("write `.%s`"):format(near), { at }) }
  end
  local module <const>, name <const> = full:match("^(nki%.%a+)%.(.+)$")
  if not module then return nil end
  local result <const> = {}
  local above <const> = c.parents[node]
  if above and above.type == "keyword" and names.operator_keywords[above.arg or ""] and SAME_VALUE[name:lower()] then
    return { c:fix(("write `%s`, which leaves the value as it is"):format(c:nl("copy")), { c:replace(node, c:nl("copy")) }) }
  end
  if module == "nki.isa" and (UNARY[name] or BINARY[name]) then
    local whole <const> = as_instruction(c, name)
    if whole then result[#result + 1] = whole end
  end
  local found <const> = names.suggest(module, name, c.catalogue or {})
  if found then
    local to_module <const>, to_name <const> = found.full:match("^(nki%.%a+)%.(.+)$")
    local text <const> = to_module == "nki.isa" and c:nisa(to_name) or c:nl(to_name)
    result[#result + 1] = c:fix(("write `%s`"):format(text), { c:replace(node, text) })
  end
  return result
end

-- Keywords people write for other parameters.
local KEYWORDS <const> = {
  out = "dst", output = "dst", dest = "dst", destination = "dst", result = "dst", input = "data", x = "data", tensor = "data", input_tile = "data",
  operand = "operand0", scalar = "operand0", operand_0 = "operand0", op = "op0", op_0 = "op0", reverse = "reverse0", axes = "axis", dim = "axis",
  keepdim = "keepdims", keep_dims = "keepdims", lhs = "stationary", rhs = "moving", lhsT = "stationary", lhs_T = "stationary", a = "data1",
  b = "data2", src1 = "data1", src2 = "data2", in0 = "data1", in1 = "data2", src = "data", data = "src", operator = "op", func = "op",
  activation = "op", shift = "bias", multiplier = "scale", alpha = "scale", val = "value", fill = "value", fill_value = "value", init = "initial",
  operand1 = "data2", reduction_op = "reduce_op", acc = "accumulate", buf = "buffer", memory = "buffer", data0 = "data1", mul = "scale",
}
-- Keywords of other versions that only go away.
local DROPPED <const> = { dtype = true, mask = true, out_dtype = true, name_hint = true }

function fixes.unexpected_keyword(c)
  local call <const> = c.call
  if not call then return nil end
  local wrong, index = c.err.keyword or c.err.got, nil
  local params <const> = c.signature and c.signature(c:op_of(call)) or c.err.params or {}
  local known <const>, given <const> = {}, {}
  for _, name in ipairs(params) do known[name] = true end
  for i, keyword in ipairs(call.keywords) do
    if keyword.arg then given[keyword.arg] = true end
    if keyword.arg and not known[keyword.arg] and (not wrong or keyword.arg == wrong) and not index then
      wrong, index = keyword.arg, i
    end
  end
  if not index then return nil end
  for i = 1, #call.args do
    if params[i] then given[params[i]] = true end
  end
  local free <const> = {}
  for _, name in ipairs(params) do
    if not given[name] then free[#free + 1] = name end
  end
  local keyword <const> = call.keywords[index]
  local result <const> = {}
  local function rename(name)
    local edit <const> = {
      line = keyword.lineno, column = keyword.col_offset + 1, end_line = keyword.lineno, end_column = keyword.col_offset + 1 + #wrong, text = name,
    }
    result[#result + 1] = c:fix(("write `%s=`"):format(name), { edit })
  end
  local listed <const> = KEYWORDS[wrong]
  local offered <const> = {}
  local function offer(name)
    if name and not offered[name] and not given[name] and known[name] then
      offered[name] = true
      rename(name)
    end
  end
  offer(listed)
  offer((nearest.find(wrong, free)))
  offer(({ lhs = "data1", rhs = "data2" })[wrong])
  if #result == 0 and not DROPPED[wrong] then -- no name is near: any that is still free may be meant
    for i, name in ipairs(free) do
      if i <= 4 and name ~= "name" and name ~= "engine" then offer(name) end
    end
  end
  -- op= and operand= of tensor_scalar come together.
  if known.op0 and (wrong == "op" or wrong == "operand") then
    local edits <const> = {}
    for _, other in ipairs(call.keywords) do
      if other.arg == "op" or other.arg == "operand" then
        edits[#edits + 1] = {
          line = other.lineno, column = other.col_offset + 1, end_line = other.lineno, end_column = other.col_offset + 1 + #other.arg,
          text = other.arg .. "0",
        }
      end
    end
    if #edits > 1 then table.insert(result, 1, c:fix("write `op0=` and `operand0=`", edits)) end
  end
  if DROPPED[wrong] and not listed or #result == 0 then
    if DROPPED[wrong] or #free == 0 or c.err.droppable then
      local edit <const> = names.without_argument(c, call, index)
      local why <const> = wrong == "dtype" and "the dtype of dst decides" or "the function has no such parameter"
      result[#result + 1] = c:fix(("remove `%s=`: %s"):format(wrong, why), { edit })
    end
  end
  -- One required parameter is open: this is it.
  if #result == 0 and c.err.required and #c.err.required == 1 then offer(c.err.required[1]) end
  return result
end

-- The same parameter by position and by keyword: the keyword says what was meant.
function fixes.duplicate_argument(c)
  local call <const> = c.call
  local name <const> = c.err.param or c.err.keyword
  if not call or not name then return nil end
  local edit <const> = c:drop_keyword(call, name)
  return edit and { c:fix(("give `%s` once"):format(name), { edit }) } or nil
end

return fixes
