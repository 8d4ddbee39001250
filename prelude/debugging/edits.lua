-- SPDX-License-Identifier: MIT
-- Small changes of a kernel's text, each one thing a person gets wrong: an operator, a sign, a constant where a parameter
-- belongs, a missing clamp, a loop bound, another tile. They are hypotheses, not repairs: whoever asks tries them on the machine and
-- keeps what is proved.
--
--   edits.all(tree, source, entry_node[, kinds])         -> list of {title, edits, kind}; likeliest kinds first
--   edits.words[kind]                                    -> the kind in a reader's words, for "tried and rejected: 7 ..."
--   edits.causes(tree, source, entry_node, diagnostic, judged)
--       -> the kinds that explain a kernel that does not build; others only in the lines of the diagnostic. When nothing will
--          judge the numbers (`judged` is false), only kinds that cannot change what a kernel means, were it to build.

local ast <const> = require "nki.ast"
local missing <const> = require "debugging.missing"
local places <const> = require "debugging.places"
local ragged <const> = require "debugging.ragged"

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
local TAKES_TILE <const> = { operand0 = true, operand1 = true, scale = true, bias = true }
local TILES <const> = { data = true, data1 = true, data2 = true, src = true, bias = true, operand0 = true, operand1 = true, data0 = true,
  moving = true, stationary = true, scale = true, value = true, on_true = true, on_false = true, predicate = true, initial = true, x = true, y = true }
-- Keywords that are taken for each other, and pairs of operands.
local TAKEN_FOR <const> = { scale = "bias", bias = "scale" }
local PAIRS <const> = { { "data1", "data2" }, { "stationary", "moving" }, { "on_true", "on_false" } }

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

function Finder:propose_span(kind, first, last, text, title)
  local a <const>, b <const> = self.source:span(first), self.source:span(last)
  self.list[#self.list + 1] = { kind = kind, title = title or ("write `%s` here"):format(text), order = #self.list,
    edits = { { line = a.line, column = a.column, end_line = b.end_line, end_column = b.end_column, text = text } } }
end

-- Two nodes for each other.
function Finder:exchange(kind, a, b, title)
  local one <const>, other <const> = self.source:slice(a), self.source:slice(b)
  if one == other then return end
  self.list[#self.list + 1] = { kind = kind, title = title, order = #self.list,
    edits = { span_edit(self.source, a, other), span_edit(self.source, b, one) } }
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
  if name == "ndarray" or name == "zeros" then
    local shape <const> = ast.argument(call, "shape", 1)
    for _, size in ipairs(shape and (shape.type == "Tuple" or shape.type == "List") and shape.elts or {}) do
      if size.type == "BinOp" then self:propose("size", size, self.source:slice(size.left)) end
      if is_number(size) and size.value == 0 then self:propose("size", size, "1") end
    end
  end
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
  if call.func.type == "Name" and call.func.id == "max" then self:propose("minmax", call.func, "min") end
  if call.func.type == "Name" and call.func.id == "min" then self:propose("minmax", call.func, "max") end
  for _, pair in ipairs(PAIRS) do
    local one <const>, other <const> = ast.argument(call, pair[1]), ast.argument(call, pair[2])
    if one and other then self:exchange("swap", one, other, ("exchange %s and %s"):format(pair[1], pair[2])) end
  end
  if name == "tensor_scalar" and not ast.argument(call, "op1") then
    for _, param in ipairs(self.unused) do
      for _, op in ipairs({ "add", "multiply" }) do
        self:keyword("parameter", call, "op1", ("%s.%s, operand1=%s"):format(self.nl, op, param))
      end
    end
  end
  local module <const> = call.func.type == "Attribute" and call.func.value.type == "Name" and call.func.value.id
  if module == self.nl or module == self.nisa then
    if #call.args >= 2 then self:exchange("swap", call.args[1], call.args[2], "exchange the two arguments") end
    for i, arg in ipairs(call.args) do places.operand(self, arg, "argument " .. i) end
  end
  for _, keyword in ipairs(call.keywords or {}) do
    local value <const> = keyword.value
    if OPERANDS[keyword.arg] then
      if is_number(value) then
        for i = TAKES_TILE[keyword.arg] and #self.tile_names or 0, 1, -1 do -- computed before and never read: the nearest first
          local tile <const> = self.tile_names[i]
          if self.unread[tile] and self.tile_line[tile] < call.lineno then
            local part <const> = self.written_as[tile] or tile
            self:propose("unread", value, part, ("%s=%s, which is computed and never read"):format(keyword.arg, part))
          end
        end
        for _, param in ipairs(self.unused) do self:propose("parameter", value, param, ("%s=%s"):format(keyword.arg, param)) end
        for _, param in ipairs(self.scalars) do self:propose("constant", value, param, ("%s=%s"):format(keyword.arg, param)) end
        for _, extent in ipairs(self.dims) do
          self:propose("constant", value, "1.0 / " .. extent)
          if value.value ~= 1 then self:propose("constant", value, ("%s / %s"):format(self.source:slice(value), extent)) end
        end
        self:propose("constant", value, keyword.arg == "bias" and "0.0" or "1.0")
        self:propose("sign", value, "-" .. self.source:slice(value))
      elseif value.type == "UnaryOp" and value.op == "USub" then
        self:propose("sign", value, self.source:slice(value.operand))
      elseif value.type == "Name" and self.params[value.id] then
        self:propose("sign", value, "-" .. value.id)
        self:propose("constant", value, "1.0 / " .. value.id)
      end
    end
    if TILES[keyword.arg] then places.operand(self, value, keyword.arg) end
    if TAKEN_FOR[keyword.arg] and not ast.argument(call, TAKEN_FOR[keyword.arg]) then
      local at <const> = { line = keyword.lineno, column = keyword.col_offset + 1, end_line = keyword.lineno,
        end_column = keyword.col_offset + 1 + #keyword.arg, text = TAKEN_FOR[keyword.arg] }
      self.list[#self.list + 1] = { kind = "swap", title = ("%s= instead of %s="):format(TAKEN_FOR[keyword.arg], keyword.arg), edits = { at },
        order = #self.list }
    end
    if keyword.arg == "axis" and is_number(value) then
      for axis = 1, 3 do if axis ~= value.value then self:propose("axis", value, tostring(axis)) end end
    end
  end
end

-- The text of a binary operation with another operator; brackets around its operands stay.
local SPELT <const> = { Mult = "*", Div = "/", Add = "+", Sub = "-" }
local function with_operator(source, node, new)
  local whole <const>, left <const>, right <const> = source:span(node), source:span(node.left), source:span(node.right)
  local text <const> = source.text
  local from <const>, to <const> = source:offset(left.end_line, left.end_column), source:offset(right.line, right.column)
  local between <const> = text:sub(from, to - 1)
  local at <const> = between:find(SPELT[node.op], 1, true)
  if not at then return nil end
  return text:sub(source:offset(whole.line, whole.column), from - 1) .. between:sub(1, at - 1) .. new .. between:sub(at + 1)
    .. text:sub(to, source:offset(whole.end_line, whole.end_column) - 1)
end

function Finder:visit_binary(node)
  local swap <const> = ({ Mult = "/", Div = "*", Add = "-", Sub = "+" })[node.op]
  local left <const> = self.source:slice(node.left)
  if is_number(node.right) and node.right.value == 1 and (node.op == "Add" or node.op == "Sub") then self:propose("bound", node, left,
    "without the " .. (node.op == "Add" and "+ 1" or "- 1")) end
  places.ceiling(self, node)
  local integer <const> = node.op == "Div" and with_operator(self.source, node, "//")
  if integer then self:propose("integer", node, integer, "divide integers with `//`") end
  local other <const> = swap and not self.in_slice[node] and with_operator(self.source, node, swap)
  if other then self:propose("arithmetic", node, other) end
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

-- `m, n = x.shape[0]`: the whole shape was meant.
function Finder:visit_unpack(node)
  local value <const> = node.value
  if node.type ~= "Assign" or node.targets[1].type ~= "Tuple" or value.type ~= "Subscript" then return end
  if value.value.type == "Attribute" and value.value.attr == "shape" then self:propose("unpack", value, self.source:slice(value.value)) end
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

-- A tensor in HBM, and an expression for an extent, each once.
function Finder:tensor(name)
  if self.hbm[name] then return end
  self.hbm[name] = true
  self.hbm_names[#self.hbm_names + 1] = name
end

function Finder:dim(text)
  for _, known in ipairs(self.dims) do if known == text then return end end
  self.dims[#self.dims + 1] = text
end

local function context(tree, source, entry)
  local self <const> = setmetatable({
    tree = tree, source = source, list = {}, params = {}, unused = {}, scalars = {}, loop_variables = {}, tiles = {}, tile_names = {}, tile_line = {},
      written_as = {}, in_slice = {}, imported = {}, nl = "nl", nisa = "nisa", regions = {}, allocations = {}, hbm = {}, hbm_names = {},
      unread = {}, dims = {}, ends = {}, accumulators = {},
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
  local shaped <const>, written <const>, reads <const> = {}, {}, {}
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
      if node.type == "Call" then
        local dst <const> = ast.argument(node, "dst")
        local root <const> = dst and ast.root(dst)
        if root then self.written_as[root] = source:slice(dst) end
        if root and operation(node) == "nc_matmul" then self.accumulators[root] = true end
        local other <const> = ast.argument(node, "data1")
        if root and other and ast.root(other) == root then self.accumulators[root] = true end
        if dst then
          ast.walk(dst, function(child) if child.type == "Name" and child.id == root then written[child] = true end end)
        end
      end
      if node.type == "Name" and node.ctx == "Load" and not written[node] then reads[node.id] = (reads[node.id] or 0) + 1 end
      if node.type == "Slice" and node.upper and node.upper.type == "Name" then self.ends[node.upper.id] = true end
      if node.type == "Assign" and node.value.type == "Attribute" and node.value.attr == "shape" and node.targets[1].type == "Tuple" then
        for _, item in ipairs(node.targets[1].elts) do if item.type == "Name" then self:dim(item.id) end end
      end
      if node.type == "Subscript" and node.value.type == "Attribute" and node.value.attr == "shape" then self:dim(source:slice(node)) end
      if node.type == "For" and node.target.type == "Name" and node.iter.type == "Call" then
        local args <const> = node.iter.args
        local stop <const> = #args >= 2 and args[2] or args[1]
        self.loop_variables[#self.loop_variables + 1] = { name = node.target.id, stop = stop and source:slice(stop), line = node.lineno,
          last = node.end_lineno }
      end
      if node.type == "Assign" and #node.targets == 1 and node.targets[1].type == "Name" and node.value.type == "Call" then
        local made <const> = operation(node.value)
        if made == "ndarray" or made == "zeros" then self.allocations[#self.allocations + 1] = node.value end
        local name <const> = node.targets[1].id
        local buffer <const> = ast.argument(node.value, "buffer", 3)
        local root <const> = made and ast.root(node.value.func)
        if buffer and source:slice(buffer):find("hbm", 1, true) then
          self:tensor(name)
        elseif (root == self.nl or root == self.nisa) and not self.tiles[name] then
          self.tiles[name] = true
          self.tile_names[#self.tile_names + 1] = name
          self.tile_line[name] = node.lineno
        end
      end
    end)
  end
  for _, arg in ipairs(arguments.args) do
    if not loaded[arg.arg] then self.unused[#self.unused + 1] = arg.arg elseif not shaped[arg.arg] then self.scalars[#self.scalars + 1] = arg.arg end
  end
  for _, arg in ipairs(arguments.args) do
    if shaped[arg.arg] or not loaded[arg.arg] then self:tensor(arg.arg) end
    if not loaded[arg.arg] then self.unread[arg.arg] = true end
  end
  for _, name in ipairs(self.tile_names) do if not reads[name] then self.unread[name] = true end end
  return self
end

-- Likeliest first.
local rank <const> = {}
for i, kind in ipairs { "destination", "namespace", "unpack", "integer", "ragged", "limit", "clamp", "size", "ceiling", "offset", "unread",
  "parameter", "missing", "sign", "bound", "operator", "reverse", "accumulate", "swap", "move", "constant", "region", "arithmetic", "axis", "source",
  "tile", "minmax", "precision" } do
  rank[kind] = i
end

M.words = {
  destination = "destinations where `dst=` is missing", namespace = "names taken from nl instead of NumPy", unpack = "other ways to unpack a shape",
  integer = "integer divisions", ragged = "loops given a last, partial tile", limit = "tile sizes at a hardware limit",
  clamp = "ends cut off at the tensor's end",
  size = "other sizes of a tile",
  ceiling = "loop counts rounded up", offset = "slices moved along with the loop",
  unread = "uses of a tile or tensor that nothing reads", parameter = "uses of a parameter that nothing reads", sign = "other signs",
  bound = "other bounds of loops and slices", operator = "other operators", reverse = "operands in reverse order", accumulate = "conditions of accumulate=",
  swap = "arguments exchanged", move = "statements moved into or out of a loop", constant = "other constants", region = "other regions of a tensor",
  arithmetic = "other arithmetic on sizes and numbers", axis = "other axes", source = "other tensors as a source", tile = "other tiles as an operand",
  missing = "uses of a weight or bias that nothing reads",
  minmax = "min and max exchanged", precision = "tiles kept in float32", ["repair of the diagnostic"] = "repairs that the message suggests",
  ["second change"] = "second changes on top of a promising first",
}

local function gather(tree, source, entry, wanted)
  local self <const> = context(tree, source, entry)
  places.collect(self, entry)
  ast.walk(tree, function(node)
    if node.type == "Attribute" then self:visit_attribute(node) end
    if node.type == "Call" then
      places.range(self, node)
      self:visit_call(node)
    end
    if node.type == "Slice" then self:visit_slice(node) end
    if node.type == "BinOp" then self:visit_binary(node) end
    if node.type == "Subscript" then places.subscript(self, node) end
    if node.type == "For" then
      places.loop(self, node)
      ragged.loop(self, node, entry)
      places.movable(self, node.body, node)
    end
    if node.type == "Expr" and node.value.type == "Call" then missing.apply(self, node.value, node) end
    self:visit_unpack(node)
    self:visit_clamp(node)
    places.clamp_end(self, node)
    self:visit_constant(node)
  end)
  places.movable(self, entry.body, nil)
  self:precision()
  local out <const> = {}
  for _, item in ipairs(self.list) do if wanted(item) then out[#out + 1] = item end end
  table.sort(out, function(a, b)
    if rank[a.kind] ~= rank[b.kind] then return rank[a.kind] < rank[b.kind] end
    return a.order < b.order
  end)
  return out
end

-- Kinds that only one question asks for: types (rounding), hardware limits and Python's own mistakes (building). A tile constant
-- changed to a limit can make a wrong kernel right for one shape, so numbers are never mended by it.
local SPECIAL <const> = { precision = true, limit = true, destination = true, integer = true, unpack = true }

function M.all(tree, source, entry, kinds)
  return gather(tree, source, entry, function(item)
    if kinds then return kinds[item.kind] end
    return not SPECIAL[item.kind]
  end)
end

local EVERYWHERE <const> = { destination = true, namespace = true, limit = true, clamp = true, offset = true, bound = true, accumulate = true,
  ragged = true, ceiling = true, move = true, size = true }
local PYTHON <const> = { integer = true, unpack = true }

local HARMLESS <const> = { namespace = true, limit = true, clamp = true, ceiling = true, ragged = true, integer = true, unpack = true }

function M.causes(tree, source, entry, diagnostic, judged)
  local d <const> = diagnostic or {}
  local python <const> = d.code == "python-error" or d.code == "value-type"
  local anywhere <const> = d.code == "output-not-written" -- the diagnostic's line is the return
  return gather(tree, source, entry, function(item)
    if not judged and not HARMLESS[item.kind] then return false end
    if item.kind == "limit" and (anywhere or python) then return false end
    if EVERYWHERE[item.kind] then return true end
    if PYTHON[item.kind] then return python end
    if item.kind == "precision" or item.kind == "minmax" then return false end
    if anywhere then return item.kind == "region" or item.kind == "source" end
    local line <const> = item.edits[1].line
    return d.line ~= nil and line >= d.line and line <= (d.end_line or d.line)
  end)
end

return M
