-- SPDX-License-Identifier: MIT
-- Small changes of a kernel's text, each one thing a person gets wrong: an operator, a sign, a constant where a parameter
-- belongs, a missing clamp, a loop bound, another tile. They are hypotheses, not repairs: whoever asks tries them on the machine and
-- keeps what is proved.
--
--   edits.all(tree, source, entry_node[, kinds]) -> list of {title, edits, kind}; likeliest kinds first
--   edits.causes(...)                   -> only the kinds that explain a kernel that does not build

local ast <const> = require "nki.ast"

local M <const> = {}

local families <const> = {
  { "add", "subtract", "multiply", "maximum", "minimum" },
  { "less", "less_equal", "greater", "greater_equal", "equal", "not_equal" },
  { "exp", "square", "sigmoid", "tanh", "rsqrt", "sqrt", "silu", "gelu", "gelu_apprx_tanh", "relu", "log", "reciprocal", "abs", "copy",
    "softplus", "erf", "sin" },
}
local family_of <const> = {}
for _, family in ipairs(families) do for _, name in ipairs(family) do family_of[name] = family end end

local OPERANDS <const> = { operand0 = true, operand1 = true, scale = true, bias = true, imm0 = true, imm1 = true, initial = true, value = true }
local TILES <const> = { data = true, data1 = true, data2 = true, src = true, bias = true, operand0 = true, operand1 = true, data0 = true,
  moving = true, stationary = true, scale = true }

local Finder <const> = {}
Finder.__index = Finder

local function span_edit(source, node, text)
  local s <const> = source:span(node)
  return { line = s.line, column = s.column, end_line = s.end_line, end_column = s.end_column, text = text }
end

function Finder:propose(kind, node, text, title)
  self.list[#self.list + 1] = { kind = kind, title = title or ("write `%s` here"):format(text), edits = { span_edit(self.source, node,
    text) }, order = #self.list }
end

-- Add or drop a keyword of a call.
function Finder:keyword(kind, call, name, value)
  local known <const> = ast.argument(call, name)
  if known then
    self:propose(kind, known, value, ("%s=%s"):format(name, value))
  else
    local s <const> = self.source:span(call)
    self.list[#self.list + 1] = {
      kind = kind, title = ("add %s=%s"):format(name, value), order = #self.list,
      edits = { { line = s.end_line, column = s.end_column - 1, end_line = s.end_line, end_column = s.end_column - 1,
        text = (", %s=%s"):format(name, value) } },
    }
  end
end

local function operation(call)
  return call.func and call.func.type == "Attribute" and call.func.attr or nil
end

local function is_number(node) return node.type == "Constant" and (node.kind_of == "int" or node.kind_of == "float") end

function Finder:visit_attribute(node)
  if node.value.type ~= "Name" then return end
  local root <const> = node.value.id
  if root == "np" or root == "numpy" or root == "torch" then
    if not self.imported[root] or root ~= self.nl then self:propose("namespace", node.value, self.nl, ("%s.%s is %s.%s"):format(root,
      node.attr, self.nl, node.attr)) end
    return
  end
  if root ~= self.nl then return end
  local family <const> = family_of[node.attr]
  for _, other in ipairs(family or {}) do
    if other ~= node.attr then self:propose("operator", node, self.nl .. "." .. other) end
  end
end

-- A call without its dst: every tile of the function, and for a DMA every region that another DMA names, of every tensor.
function Finder:missing_destination(call)
  local s <const> = self.source:span(call.func)
  local function add(text)
    self.list[#self.list + 1] = {
      kind = "destination", title = "write to `" .. text .. "`", order = #self.list,
      edits = { { line = s.end_line, column = s.end_column + 1, end_line = s.end_line, end_column = s.end_column + 1, text = "dst=" .. text .. ", " } },
    }
  end
  for i = #self.tile_names, 1, -1 do
    if operation(call) == "dma_copy" then
      for _, region in ipairs(self.regions) do add(self.tile_names[i] .. region) end
    end
    add(self.tile_names[i])
  end
end

function Finder:visit_call(call)
  local name <const> = operation(call)
  if call.func.type == "Attribute" and call.func.value.type == "Name" and call.func.value.id == self.nisa and #call.args == 0
    and not ast.argument(call, "dst") then
    self:missing_destination(call)
  end
  if name == "tensor_reduce" then
    local negate <const> = ast.argument(call, "negate")
    self:keyword("sign", call, "negate", negate and negate.value == true and "False" or "True")
  end
  if name == "tensor_scalar" or name == "scalar_tensor_tensor" then
    for _, flag in ipairs({ "reverse0", "reverse1" }) do
      local known <const> = ast.argument(call, flag)
      if known or (flag == "reverse0" or ast.argument(call, "op1")) then self:keyword("reverse", call, flag, known and known.value == true
        and "False" or "True") end
    end
  end
  if name == "nc_matmul" then
    for _, var in ipairs(self.loop_variables) do self:keyword("accumulate", call, "accumulate", ("(%s > 0)"):format(var.name)) end
  end
  if name == "activation" or name == "activation_reduce" then
    for _, param in ipairs(self.unused) do
      if not ast.argument(call, "scale") then self:keyword("parameter", call, "scale", param) end
      if not ast.argument(call, "bias") then self:keyword("parameter", call, "bias", param) end
    end
  end
  if call.func.type == "Name" and call.func.id == "max" then self:propose("bound", call.func, "min") end
  if call.func.type == "Name" and call.func.id == "min" then self:propose("bound", call.func, "max") end
  for _, keyword in ipairs(call.keywords or {}) do
    local value <const> = keyword.value
    if OPERANDS[keyword.arg] then
      if is_number(value) then
        for _, param in ipairs(self.unused) do self:propose("parameter", value, param, ("%s=%s"):format(keyword.arg, param)) end
        for _, param in ipairs(self.scalars) do self:propose("constant", value, param, ("%s=%s"):format(keyword.arg, param)) end
        self:propose("constant", value, keyword.arg == "bias" and "0.0" or "1.0")
        self:propose("sign", value, "-" .. self.source:slice(value))
      elseif value.type == "UnaryOp" and value.op == "USub" then
        self:propose("sign", value, self.source:slice(value.operand))
      elseif value.type == "Name" and self.params[value.id] then
        self:propose("sign", value, "-" .. value.id)
        self:propose("constant", value, "1.0 / " .. value.id)
      end
    end
    if TILES[keyword.arg] and value.type == "Name" and self.tiles[value.id] then
      for _, tile in ipairs(self.tile_names) do
        if tile ~= value.id then self:propose("tile", value, tile, ("%s=%s"):format(keyword.arg, tile)) end
      end
    end
    if keyword.arg == "axis" and is_number(value) then
      for axis = 1, 3 do if axis ~= value.value then self:propose("axis", value, tostring(axis)) end end
    end
  end
end

function Finder:visit_binary(node)
  local swap <const> = ({ Mult = "/", Div = "*", Add = "-", Sub = "+" })[node.op]
  local left <const>, right <const> = self.source:slice(node.left), self.source:slice(node.right)
  if is_number(node.right) and node.right.value == 1 and (node.op == "Add" or node.op == "Sub") then self:propose("bound", node, left,
    "without the " .. (node.op == "Add" and "+ 1" or "- 1")) end
  if swap and not self.in_slice[node] then self:propose("arithmetic", node, ("%s %s %s"):format(left, swap, right)) end
end

-- `rows - r` and the like: what is left of a loop's range, for clamping a tile's extent.
function Finder:visit_clamp(node)
  if node.type ~= "Assign" or #node.targets ~= 1 or node.targets[1].type ~= "Name" then return end
  local value <const> = node.value
  if value.type ~= "Name" and value.type ~= "Attribute" and not is_number(value) then return end
  for _, loop in ipairs(self.loop_variables) do
    if loop.stop and node.lineno > loop.line and node.lineno <= loop.last then
      self:propose("clamp", value, ("min(%s, %s - %s)"):format(self.source:slice(value), loop.stop, loop.name))
    end
  end
end

-- `0:p` in a loop over r: the first tile again and again, where `r:r + p` was meant.
function Finder:visit_offset(node)
  if not node.lower or not node.upper or node.step or not is_number(node.lower) or node.lower.value ~= 0 then return end
  local upper <const> = self.source:slice(node.upper)
  for _, loop in ipairs(self.loop_variables) do
    if node.lineno > loop.line and node.lineno <= loop.last then self:propose("offset", node, ("%s:%s + %s"):format(loop.name, loop.name, upper)) end
  end
end

function Finder:visit_slice(node)
  self:visit_offset(node)
  for _, part in ipairs({ "lower", "upper" }) do
    local bound <const> = node[part]
    if bound then
      ast.walk(bound, function(inner) self.in_slice[inner] = true end)
      if is_number(bound) and bound.kind_of == "int" then
        self:propose("bound", bound, tostring(bound.value + 1))
        if bound.value > 0 then self:propose("bound", bound, tostring(bound.value - 1)) end
      elseif part == "upper" then
        for _, loop in ipairs(self.loop_variables) do
          if loop.stop and node.lineno > loop.line and node.lineno <= loop.last then self:propose("bound", bound,
            ("min(%s, %s)"):format(self.source:slice(bound), loop.stop)) end
        end
      end
    end
  end
end

function Finder:visit_range(call)
  if call.func.type ~= "Name" or call.func.id ~= "range" then return end
  for i, arg in ipairs(call.args) do
    if arg.type == "BinOp" and (arg.op == "Sub" or arg.op == "Add") then self:propose("bound", arg, self.source:slice(arg.left)) end
    if i == 1 and #call.args > 1 and is_number(arg) and arg.value ~= 0 then self:propose("bound", arg, "0") end
  end
end

-- A module-level or local constant that is larger than what hardware allows, or half of it.
function Finder:visit_constant(node)
  if node.type == "Call" and node.func.type == "Name" and (node.func.id == "range" or node.func.id == "min") then
    for _, arg in ipairs(node.args) do
      if is_number(arg) and arg.kind_of == "int" and arg.value > 128 then self:propose("limit", arg, "128") end
    end
  end
  if node.type == "Assign" and is_number(node.value) and node.value.kind_of == "int" then
    for _, limit in ipairs({ 128, 512 }) do
      if node.value.value ~= limit then self:propose("limit", node.value, tostring(limit)) end
    end
  end
end

-- Tiles on the chip in a type narrower than float32: each one wider, and all of them.
function Finder:precision()
  local every <const> = {}
  for _, call in ipairs(self.allocations) do
    local dtype <const>, buffer <const> = ast.argument(call, "dtype", 2), ast.argument(call, "buffer", 3)
    local wide <const> = self.nl .. ".float32"
    if dtype and not (buffer and self.source:slice(buffer):find("hbm", 1, true)) and self.source:slice(dtype) ~= wide then
      self:propose("precision", dtype, wide, "keep this tile in float32")
      every[#every + 1] = span_edit(self.source, dtype, wide)
    end
  end
  if #every > 1 then
    self.list[#self.list + 1] = { kind = "precision", title = "keep every tile on the chip in float32", order = #self.list, edits = every }
  end
end

local function context(tree, source, entry)
  local self <const> = setmetatable({
    source = source, list = {}, params = {}, unused = {}, scalars = {}, loop_variables = {}, tiles = {}, tile_names = {}, in_slice = {},
      imported = {}, nl = "nl", nisa = "nisa", regions = {}, allocations = {},
  }, Finder)
  ast.walk(tree, function(node)
    if node.type == "Import" then
      for _, item in ipairs(node.names) do
        self.imported[item.asname or item.name] = true
        if item.name == "nki.language" and item.asname then self.nl = item.asname end
        if item.name == "nki.isa" and item.asname then self.nisa = item.asname end
      end
    end
  end)
  local loaded <const> = {}
  local arguments <const> = entry.args
  for _, group in ipairs({ arguments.posonlyargs or {}, arguments.args, arguments.kwonlyargs or {} }) do
    for _, arg in ipairs(group) do self.params[arg.arg] = true end
  end
  local shaped <const> = {}
  for _, statement in ipairs(entry.body) do
    ast.walk(statement, function(node)
      if node.type == "Name" and node.ctx == "Load" then loaded[node.id] = true end
      if node.type == "Attribute" and node.value.type == "Name" then shaped[node.value.id] = true end
      if node.type == "Subscript" and node.value.type == "Name" then shaped[node.value.id] = true end
      if node.type == "Call" and operation(node) == "dma_copy" then
        for _, keyword in ipairs(node.keywords) do
          if keyword.value.type == "Subscript" then
            local region <const> = source:slice(keyword.value):match("(%b[])$")
            if region and not self.regions[region] then
              self.regions[region] = true
              self.regions[#self.regions + 1] = region
            end
          end
        end
      end
      if node.type == "For" and node.target.type == "Name" and node.iter.type == "Call" then
        local args <const> = node.iter.args
        local stop <const> = #args >= 2 and args[2] or args[1]
        self.loop_variables[#self.loop_variables + 1] = { name = node.target.id, stop = stop and source:slice(stop), line = node.lineno,
          last = node.end_lineno }
      end
      if node.type == "Assign" and #node.targets == 1 and node.targets[1].type == "Name" and node.value.type == "Call" then
        local made <const> = operation(node.value)
        if made == "ndarray" or made == "zeros" then self.allocations[#self.allocations + 1] = node.value end
        if (made == "ndarray" or made == "zeros" or made == "load") and not self.tiles[node.targets[1].id] then
          self.tiles[node.targets[1].id] = true
          self.tile_names[#self.tile_names + 1] = node.targets[1].id
        end
      end
    end)
  end
  for _, arg in ipairs(arguments.args) do
    if not loaded[arg.arg] then self.unused[#self.unused + 1] = arg.arg elseif not shaped[arg.arg] then self.scalars[#self.scalars + 1] = arg.arg end
  end
  return self
end

-- Likeliest first.
local rank <const> = { destination = 0, namespace = 1, limit = 2, clamp = 3, offset = 3.5, parameter = 4, sign = 5, bound = 6, operator = 7, reverse = 8,
  accumulate = 9, constant = 10, arithmetic = 11, axis = 12, tile = 13, precision = 14 }

local function gather(tree, source, entry, wanted)
  local self <const> = context(tree, source, entry)
  ast.walk(tree, function(node)
    if node.type == "Attribute" then self:visit_attribute(node) end
    if node.type == "Call" then
      self:visit_range(node)
      self:visit_call(node)
    end
    if node.type == "Slice" then self:visit_slice(node) end
    if node.type == "BinOp" then self:visit_binary(node) end
    self:visit_clamp(node)
    self:visit_constant(node)
  end)
  local out <const> = {}
  self:precision()
  for _, item in ipairs(self.list) do if wanted[item.kind] then out[#out + 1] = item end end
  table.sort(out, function(a, b)
    if rank[a.kind] ~= rank[b.kind] then return rank[a.kind] < rank[b.kind] end
    return a.order < b.order
  end)
  return out
end

-- The kinds that mend what a text loses in precision; nothing else tries them.
local PRECISION <const> = { precision = true }
local EVERY <const> = {}
for kind in pairs(rank) do if not PRECISION[kind] then EVERY[kind] = true end end

function M.all(tree, source, entry, kinds) return gather(tree, source, entry, kinds or EVERY) end

function M.causes(tree, source, entry) return gather(tree, source, entry, { destination = true, namespace = true, limit = true,
  clamp = true, offset = true, bound = true, accumulate = true }) end

return M
