-- SPDX-License-Identifier: MIT
-- Names people write in kernels that are not NKI's, and NKI's names that came and went: what each should be. Data
-- first, then the three questions the rules and the fixes ask:
--
--   names.foreign(full, node, ctx)   numpy/torch/jax names inside a kernel -> finding
--   names.removed(full, node, ctx)   names of other NKI versions           -> finding or nil
--   names.call(node, ctx)            removed keywords, text buffers, integer enums in a call -> finding or nil
--   names.suggest(module, name, catalogue, ctx) -> {full=, text=, shape=?, why=}  for an unknown nl./nisa. name
--
-- ctx is the lint context of rules.lua, or a fix context with the same fields (source, imports, parents, minor).

local ast <const> = require "nki.ast"
local nearest <const> = require "nki.nearest"

local names <const> = {}

local MIGRATION <const> = "NKI Migration Guides"

-- numpy and torch names whose nki.language name is another one; the same name is the default.
local RENAMED <const> = {
  absolute = "abs", fabs = "abs", amax = "max", amin = "min", true_divide = "divide", div = "divide", mul = "multiply",
  sub = "subtract", pow = "power", neg = "negative", empty = "ndarray", empty_like = "empty_like", concatenate = false,
  dot = false, matmul = false, einsum = false, reshape = false, asarray = false, array = false, arange = false, bool_ = "bool_",
  bool = "bool_", float64 = "float32", double = "float32", single = "float32", half = "float16", float = "float32", int64 = "int32",
  long = "int32", mod = "mod", remainder = "mod", fix = "trunc", atan = "arctan", clip = false, clamp = false, expand_dims = "expand_dims",
  unsqueeze = "expand_dims", identity = false, eye = false, random = false, linspace = false, std = false, median = false, ge = "greater_equal",
  gt = "greater", le = "less_equal", lt = "less", eq = "equal", ne = "not_equal", rsqrt = "rsqrt",
}
-- The same in the place of an operator (op=np.max): ALU operators have their own names.
local AS_OPERATOR <const> = { max = "maximum", min = "minimum", amax = "maximum", amin = "minimum", sum = "add", prod = "multiply", mul = "multiply" }
local CONSTANTS <const> = { pi = "3.141592653589793", e = "2.718281828459045", inf = 'float("inf")', nan = 'float("nan")', newaxis = "None" }
local SAME <const> = {}
for word in ([[
  add subtract multiply divide maximum minimum abs square power equal not_equal less less_equal greater greater_equal bitwise_and
  bitwise_or bitwise_xor invert left_shift right_shift logical_and logical_or logical_xor logical_not exp log sqrt rsqrt tanh sigmoid
  relu gelu silu softplus mish erf reciprocal copy sin cos tan arctan ceil floor trunc negative sign fmod mod sum max min mean prod var
  all softmax where ones full zeros zeros_like empty_like ndarray expand_dims broadcast_to transpose
  float32 float16 bfloat16 int8 int16 int32 uint8 uint16 uint32 bool_]]):gmatch("%S+") do
  SAME[word] = word
end
names.language_names = SAME

local OPERATOR_KEYWORDS <const> = { op = true, op0 = true, op1 = true, reduce_op = true, cmp_op = true, comp_op0 = true, comp_op1 = true }

names.operator_keywords = OPERATOR_KEYWORDS

-- The name an import gave to a module ("nl" for nki.language), or nil.
function names.alias(ctx, module)
  local best
  for bound, full in pairs(ctx.imports) do
    if full == module and (not best or #bound < #best) then best = bound end
  end
  if best then return best end
  local head <const>, rest <const> = module:match("^(nki)(%..+)$")
  if head then
    for bound, full in pairs(ctx.imports) do
      if full == "nki" then return bound .. rest end
    end
  end
  return nil
end

-- The prefix to write for a module, and the edit that imports it when nothing does yet.
function names.prefix(ctx, module)
  local alias <const> = names.alias(ctx, module)
  if alias then return alias, nil end
  local usual <const> = ({ ["nki.language"] = "nl", ["nki.isa"] = "nisa" })[module] or module:match("[^.]+$")
  local line = 1
  for _, statement in ipairs(ctx.tree.body) do
    if statement.type == "Import" or statement.type == "ImportFrom" then line = (statement.end_lineno or statement.lineno) + 1 end
  end
  return usual, ctx.source.insert(line, 1, ("import %s as %s\n"):format(module, usual))
end

-- Is this node the value of an operator argument of a call?
local function is_operator(node, ctx)
  local parent <const> = ctx.parents[node]
  return parent and parent.type == "keyword" and OPERATOR_KEYWORDS[parent.arg] or false
end

local function fix_of(ctx, title, node, text, import)
  local edits <const> = { ctx.source:replace(node, text) }
  if import then table.insert(edits, 1, import) end
  return { title = title, edits = edits }
end

-- Is this expression surely a number while the kernel is specialised (shape arithmetic, literals)?
local function is_number(node, ctx)
  if not node then return false end
  if node.type == "Constant" then return true end
  if node.type == "BinOp" then return is_number(node.left, ctx) and is_number(node.right, ctx) end
  if node.type == "UnaryOp" then return is_number(node.operand, ctx) end
  if node.type == "Subscript" then return node.value.type == "Attribute" and node.value.attr == "shape" end
  if node.type == "Attribute" then
    return node.attr == "size" or node.attr == "ndim" or (ast.dotted(node) or ""):find("tile_size", 1, true) ~= nil
  end
  if node.type == "Call" then return ast.dotted(node.func) == "len" or ast.dotted(node.func) == "float" or ast.dotted(node.func) == "int" end
  if node.type ~= "Name" then return false end
  ctx.numbers = ctx.numbers or {}
  if ctx.numbers[node.id] ~= nil then return ctx.numbers[node.id] end
  ctx.numbers[node.id] = false
  local number = false
  ast.walk(ctx.tree, function(child)
    if child.type == "Assign" then
      for _, target in ipairs(child.targets) do
        local unpacks_shape <const> = child.value.type == "Attribute" and child.value.attr == "shape"
        if target.type == "Tuple" and ast.targets(target)[node.id] and unpacks_shape then number = true end
        if target.type == "Name" and target.id == node.id and is_number(child.value, ctx) then number = true end
      end
    end
  end)
  ctx.numbers[node.id] = number
  return number
end
names.is_number = is_number

function names.foreign(full, node, ctx)
  local package <const> = full:match("^[^.]+")
  local name <const> = full:match("[^.]+$")
  local finding <const> = {
    code = "numpy-in-kernel", node = node, doc = "NKI Language Guide", whole = true,
    message = ("`%s` does not exist inside a kernel"):format(ast.dotted(node) or full),
    reason = ("a kernel is compiled for the chip; %s runs on the host"):format(package),
  }
  local call <const> = ctx.parents[node]
  local is_call <const> = call and call.type == "Call" and call.func == node
  if CONSTANTS[name] then
    finding.fix = fix_of(ctx, ("write `%s`"):format(CONSTANTS[name]), node, CONSTANTS[name])
    return finding
  end
  if is_call and name == "sqrt" and is_number(call.args[1], ctx) then
    local argument <const> = ctx.source:slice(call.args[1])
    local text <const> = call.args[1].type == "Name" and argument .. " ** 0.5" or "(" .. argument .. ") ** 0.5"
    local outer <const> = ctx.parents[call]
    finding.fix = fix_of(ctx, ("write `%s`: the value is known while the kernel is built"):format(text), call,
      outer and outer.type == "BinOp" and "(" .. text .. ")" or text)
    return finding
  end
  if is_call and (name == "max" or name == "min") and #call.args == 2 then
    finding.fix = fix_of(ctx, ("use Python's `%s`"):format(name), node, name)
    return finding
  end
  local target = RENAMED[name]
  if target == nil then target = SAME[name] end
  if is_operator(node, ctx) then target = AS_OPERATOR[name] or target end
  if target then
    local prefix <const>, import <const> = names.prefix(ctx, "nki.language")
    finding.message = finding.message .. ("; nki.language has `%s.%s`"):format(prefix, target)
    finding.fix = fix_of(ctx, ("write `%s.%s`"):format(prefix, target), node, prefix .. "." .. target, import)
  end
  return finding
end

-- NKI names of other versions. gone: the first minor version without it; old: the first where it is deprecated.
local HISTORY <const> = {
  ["nki.language.arange"] = { gone = 2, say = "index tensors are gone; slice the tensor instead", guide = "0.1 to 0.2" },
  ["nki.language.mgrid"] = { gone = 2, say = "index tensors are gone; slice the tensor instead", guide = "0.1 to 0.2" },
  ["nki.language.par_dim"] = { gone = 2, unwrap = true, guide = "0.1 to 0.2",
    say = "the first dimension is the partition dimension; write its size alone" },
  ["nki.language.static_cast"] = { gone = 2, say = "nisa.tensor_copy casts to the dtype of its dst", guide = "0.1 to 0.2" },
  ["nki.language.loop_reduce"] = { gone = 2, say = "accumulate into a tile in the loop", guide = "0.1 to 0.2" },
  ["nki.language.spmd_dim"] = { gone = 2, say = "a kernel is launched with kernel[n](...)", guide = "0.1 to 0.2" },
  ["nki.language.nc"] = { gone = 2, say = "a kernel is launched with kernel[n](...)", guide = "0.1 to 0.2" },
  ["nki.language.fp32.min"] = { gone = 2, say = "write the number", text = "-3.4028234663852886e+38", guide = "0.1 to 0.2" },
  ["nki.language.fp32.max"] = { gone = 2, say = "write the number", text = "3.4028234663852886e+38", guide = "0.1 to 0.2" },
  ["nki.isa.tensor_copy_dynamic_src"] = { gone = 4, old = 3, say = "use nisa.tensor_copy with src.ap(..., scalar_offset=)", guide = "0.3 to 0.4" },
  ["nki.isa.tensor_copy_dynamic_dst"] = { gone = 4, old = 3, say = "use nisa.tensor_copy with dst.ap(..., scalar_offset=)", guide = "0.3 to 0.4" },
  ["nki.language.tile_size.total_available_sbuf_size"] = { old = 4, last = "sbuf_fmax_bytes", guide = "0.3 to 0.4",
    say = "it always was the size per partition" },
  ["nki.language.tile_size.psum_fmax"] = { old = 4, last = "psum_bank_fmax", say = "it counts fp32 elements of one bank", guide = "0.3 to 0.4" },
  ["nki.language.dynamic_range"] = { old = 6, say = "use nl.fori_loop(lower, upper, body)", guide = "0.5 to 0.6" },
  ["nki.isa.tensor_engine"] = { old = 3, last = "engine.tensor", say = "engines are members of nisa.engine", guide = "0.2 to 0.3" },
  ["nki.isa.vector_engine"] = { old = 3, last = "engine.vector", say = "engines are members of nisa.engine", guide = "0.2 to 0.3" },
  ["nki.isa.scalar_engine"] = { old = 3, last = "engine.scalar", say = "engines are members of nisa.engine", guide = "0.2 to 0.3" },
  ["nki.isa.gpsimd_engine"] = { old = 3, last = "engine.gpsimd", say = "engines are members of nisa.engine", guide = "0.2 to 0.3" },
  ["nki.isa.unknown_engine"] = { old = 3, last = "engine.unknown", say = "engines are members of nisa.engine", guide = "0.2 to 0.3" },
}

function names.removed(full, node, ctx)
  -- nisa.constants.engine.vector and the like: the enums moved up one level.
  if full:match("^nki%.isa%.constants%.%w+") then
    local text <const> = (ast.dotted(node) or full):gsub("%.constants%.", ".", 1)
    return {
      code = "deprecated-api", severity = "warning", node = node, doc = MIGRATION .. ", 0.2 to 0.3", whole = true,
      message = ("`%s` is an old spelling of `%s`"):format(ast.dotted(node), text),
      fix = fix_of(ctx, ("write `%s`"):format(text), node, text),
    }
  end
  local row <const> = HISTORY[full]
  if not row then return nil end
  local gone <const> = row.gone and ctx.minor >= row.gone
  if not gone and not (row.old and ctx.minor >= row.old) then return nil end
  local written <const> = ast.dotted(node)
  local finding <const> = {
    code = gone and "removed-api" or "deprecated-api", severity = gone and "error" or "warning", node = node, whole = true,
    doc = MIGRATION .. ", " .. row.guide,
    message = gone and ("`%s` is not part of NKI 0.%d: %s"):format(written, ctx.minor, row.say)
      or ("`%s` is deprecated: %s"):format(written, row.say),
  }
  if row.last then
    local text <const> = written:gsub("[^.]+$", "") .. row.last
    finding.fix = fix_of(ctx, ("write `%s`"):format(text), node, text)
  elseif row.text then
    finding.fix = fix_of(ctx, ("write `%s`"):format(row.text), node, row.text)
  elseif row.unwrap then
    local call <const> = ctx.parents[node]
    if call and call.type == "Call" and call.func == node and #call.args == 1 then
      local inner <const> = ctx.source:slice(call.args[1])
      finding.node = call
      finding.fix = fix_of(ctx, ("write `%s`"):format(inner), call, inner)
    end
  end
  return finding
end

-- Keywords that came later than their function.
local NEW_KEYWORDS <const> = { ["nki.isa.nc_matmul"] = { accumulate = 3 }, ["nki.isa.nc_matmul_mx"] = { accumulate = 3 } }

-- A name that the version asked for does not have yet.
function names.too_new(full, node, ctx)
  local row <const> = require("nki.signatures").row(full)
  local since <const> = row and row.since and math.tointeger(tonumber(row.since:match("^0%.(%d+)")))
  if not since or since <= ctx.minor then return nil end
  -- As an operator (op=nl.exp) the name is older than the function.
  local parent <const> = ctx.parents[node]
  if full:match("^nki%.language%.") and not (parent and parent.type == "Call" and parent.func == node) then return nil end
  return {
    code = "version-api", node = node, doc = row.doc, whole = true,
    message = ("`%s` came with NKI %s; this check is for 0.%d"):format(ast.dotted(node), row.since, ctx.minor),
  }
end

-- An edit that takes keyword number `index` of a call away, with the comma before or after it.
function names.without_argument(ctx, call, index)
  local keyword <const> = call.keywords[index]
  local source <const> = ctx.source
  local span <const> = source:span(keyword)
  local from <const>, to <const> = source:offset(span.line, span.column), source:offset(span.end_line, span.end_column)
  local text <const> = source.text
  local before <const> = text:sub(1, from - 1):match("()%s*,%s*$")
  local start, stop = from, to
  if before then
    -- Take the comma before it, and a comma after it stays for what follows.
    local comma <const> = text:find(",", before, true)
    start = comma
  else
    stop = text:match("^%s*,%s*()", to) or to
  end
  local function position(offset)
    local line = 1
    for i = 1, #source.starts do
      if source.starts[i] <= offset then line = i else break end
    end
    return line, offset - source.starts[line] + 1
  end
  local line <const>, column <const> = position(start)
  local end_line <const>, end_column <const> = position(stop)
  return { line = line, column = column, end_line = end_line, end_column = end_column, text = "" }
end

names.enums = {
  engine = { [0] = "unknown", "tensor", "scalar", "gpsimd", "dma", "vector", "sync" },
  dge_mode = { [0] = "unknown", "swdge", "hwdge", "none" },
  oob_mode = { [0] = "error", "skip" },
  reduce_cmd = { [0] = "idle", "reset", "reduce", "reset_reduce", "load_reduce" },
}
-- Keywords that functions of the new namespace once took and that change nothing: accepted with a warning, and taken out
-- of the call before it runs.
local LEGACY <const> = { ["nki.isa.tensor_copy"] = { dtype = "the dtype of dst decides" } }
names.legacy = LEGACY

local BUFFERS <const> = { sbuf = true, psum = true, hbm = true, private_hbm = true, shared_hbm = true }

function names.call(node, ctx)
  local full <const> = ast.resolve(node.func, ctx.imports)
  if not full or not full:match("^nki%.") then return nil end
  for i, keyword in ipairs(node.keywords or {}) do
    local value <const> = keyword.value
    local old <const> = LEGACY[full] and LEGACY[full][keyword.arg or ""]
    if old and ctx.minor >= 3 then
      return {
        code = "deprecated-api", severity = "warning", node = keyword, doc = "NKI API reference",
        message = ("`%s` has no parameter `%s` any more: %s"):format(ast.dotted(node.func), keyword.arg, old),
        fix = { title = ("remove `%s=`"):format(keyword.arg), edits = { names.without_argument(ctx, node, i) } },
      }
    end
    local came <const> = NEW_KEYWORDS[full] and NEW_KEYWORDS[full][keyword.arg or ""]
    if came and came > ctx.minor then
      return {
        code = "version-api", node = keyword, doc = "NKI Migration Guides",
        message = ("`%s=` of `%s` came with NKI 0.%d; this check is for 0.%d"):format(keyword.arg, ast.dotted(node.func), came, ctx.minor),
      }
    end
    if keyword.arg == "mask" and ctx.minor >= 2 then
      return {
        code = "removed-api", node = keyword, doc = MIGRATION .. ", 0.1 to 0.2",
        message = ("`%s` takes no mask; clamp the slice with min() so that it stays inside the tensor"):format(ast.dotted(node.func)),
        reason = "an access pattern is a rectangle: the hardware has no mask",
        fix = { title = "remove `mask=`; a slice that leaves its tensor is then named and clamped", edits = { names.without_argument(ctx, node, i) } },
      }
    end
    if keyword.arg == "buffer" and value.type == "Constant" and value.kind_of == "str" and ctx.minor >= 3 then
      local prefix <const>, import <const> = names.prefix(ctx, "nki.language")
      local known <const> = BUFFERS[value.value] and value.value or nearest.find(value.value, { "sbuf", "psum", "hbm", "private_hbm", "shared_hbm" })
      return {
        code = "removed-api", node = value, doc = MIGRATION .. ", 0.2 to 0.3",
        message = "a buffer is an object of nki.language, not a text",
        fix = known and fix_of(ctx, ("write `%s.%s`"):format(prefix, known), value, prefix .. "." .. known, import) or nil,
      }
    end
    local enum <const> = names.enums[keyword.arg or ""]
    if enum and value.type == "Constant" and value.kind_of == "int" and full:match("^nki%.isa%.") and ctx.minor >= 3 then
      local member <const> = enum[value.value]
      local prefix <const>, import <const> = names.prefix(ctx, "nki.isa")
      local text <const> = member and ("%s.%s.%s"):format(prefix, keyword.arg, member)
      return {
        code = "removed-api", node = value, doc = MIGRATION .. ", 0.2 to 0.3",
        message = ("`%s` takes a member of nisa.%s, not a number"):format(keyword.arg, keyword.arg),
        fix = text and fix_of(ctx, ("write `%s`"):format(text), value, text, import) or nil,
      }
    end
  end
  return nil
end

-- Names models invent, and what they stand for. `to` is a full name; `op` says that it is an operator of another call.
local INVENTED <const> = {
  ["nki.isa.matmul"] = { to = "nki.isa.nc_matmul" }, ["nki.isa.mm"] = { to = "nki.isa.nc_matmul" },
  ["nki.isa.dot"] = { to = "nki.isa.nc_matmul" }, ["nki.isa.transpose"] = { to = "nki.isa.nc_transpose" },
  ["nki.isa.copy"] = { to = "nki.isa.tensor_copy" }, ["nki.isa.load"] = { to = "nki.language.load" },
  ["nki.isa.store"] = { to = "nki.language.store" }, ["nki.isa.dma"] = { to = "nki.isa.dma_copy" },
  ["nki.isa.dma_start"] = { to = "nki.isa.dma_copy" }, ["nki.isa.dma_load"] = { to = "nki.isa.dma_copy" },
  ["nki.isa.dma_store"] = { to = "nki.isa.dma_copy" }, ["nki.isa.reduce"] = { to = "nki.isa.tensor_reduce" },
  ["nki.isa.reduce_sum"] = { to = "nki.isa.tensor_reduce" }, ["nki.isa.act"] = { to = "nki.isa.activation" },
  ["nki.isa.activate"] = { to = "nki.isa.activation" }, ["nki.isa.scan"] = { to = "nki.isa.tensor_tensor_scan" },
  ["nki.isa.fill"] = { to = "nki.isa.memset" }, ["nki.isa.zeros"] = { to = "nki.language.zeros" },
  ["nki.isa.ndarray"] = { to = "nki.language.ndarray" }, ["nki.isa.select"] = { to = "nki.isa.affine_select" },
  ["nki.isa.elementwise"] = { to = "nki.isa.tensor_tensor" }, ["nki.isa.tensor_vector"] = { to = "nki.isa.tensor_scalar" },
  ["nki.isa.tensor_add"] = { to = "nki.isa.tensor_tensor", op = "add" }, ["nki.isa.tensor_mul"] = { to = "nki.isa.tensor_tensor", op = "multiply" },
  ["nki.language.dma_copy"] = { to = "nki.isa.dma_copy" }, ["nki.language.fp32"] = { to = "nki.language.float32" },
  ["nki.language.fp16"] = { to = "nki.language.float16" }, ["nki.language.bf16"] = { to = "nki.language.bfloat16" },
  ["nki.language.float64"] = { to = "nki.language.float32" }, ["nki.language.int64"] = { to = "nki.language.int32" },
  ["nki.language.bool"] = { to = "nki.language.bool_" }, ["nki.language.empty"] = { to = "nki.language.ndarray" },
  ["nki.language.array"] = { to = "nki.language.ndarray" }, ["nki.language.tensor"] = { to = "nki.language.ndarray" },
  ["nki.language.alloc"] = { to = "nki.language.ndarray" }, ["nki.language.div"] = { to = "nki.language.divide" },
  ["nki.language.mul"] = { to = "nki.language.multiply" }, ["nki.language.sub"] = { to = "nki.language.subtract" },
  ["nki.language.pow"] = { to = "nki.language.power" }, ["nki.language.neg"] = { to = "nki.language.negative" },
  ["nki.language.dot"] = { to = "nki.language.matmul" }, ["nki.language.reduce_sum"] = { to = "nki.language.sum" },
  ["nki.language.reduce_max"] = { to = "nki.language.max" }, ["nki.language.dram"] = { to = "nki.language.shared_hbm" },
  ["nki.language.sram"] = { to = "nki.language.sbuf" }, ["nki.language.PSUM"] = { to = "nki.language.psum" },
  ["nki.language.range"] = { to = "nki.language.affine_range" }, ["nki.language.max8"] = { to = "nki.isa.max8" },
  ["nki.language.identity"] = { to = "nki.language.shared_identity_matrix" },
}
names.invented = INVENTED

-- What an unknown name of nki.language or nki.isa most likely stands for. `catalogue` gives the real names:
-- {["nki.isa"]={names}, ["nki.language"]={names}}. Returns {full=, op=?, exact=bool} or nil.
function names.suggest(module, name, catalogue)
  local full <const> = module .. "." .. name
  local row <const> = INVENTED[full]
  if row then return { full = row.to, op = row.op, exact = true } end
  local history <const> = HISTORY[full]
  if history and history.last then return { full = module .. "." .. history.last, exact = true } end
  for _, other in ipairs { "nki.isa", "nki.language" } do
    if other ~= module then
      for _, known in ipairs(catalogue[other] or {}) do
        if known == name then
          -- nisa.add is an operator of nisa.tensor_tensor, not a function of another module.
          return { full = other .. "." .. name, exact = true }
        end
      end
    end
  end
  local near <const>, distance <const> = nearest.find(name, catalogue[module] or {})
  local other <const> = module == "nki.isa" and "nki.language" or "nki.isa"
  local far <const>, far_distance <const> = nearest.find(name, catalogue[other] or {})
  if near and (not far or distance <= far_distance + 0.5) then return { full = module .. "." .. near, exact = false } end
  if far then return { full = other .. "." .. far, exact = false } end
  return nil
end

return names
