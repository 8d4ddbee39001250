-- SPDX-License-Identifier: MIT
-- What the functions of nki.language do: each expands into recorded instructions, as the documents of nki.language say.
-- Results are new SBUF tiles unless a document says PSUM.

local M <const> = {}

function M.make(env)
  local machine <const>, f <const>, nl <const>, py <const> = env.machine, env.f, env.nl, env.py
  local None <const> = py.None
  local view <const> = machine:methods()
  local engine <const> = env.enums.engine
  local W <const> = {}

  local function is_tile(x) return type(x) == "userdata" and (getmetatable(x) or {}).__pytype == "NkiTensor" end
  local function attr(x, name) return getmetatable(x).__pygetattr(x, name) end
  local function given(x) return x ~= nil and x ~= None end

  local function refuse(code, op, message, fields)
    local e <const> = fields or {}
    e.kind, e.code, e.op, e.message, e.site, e.severity = "nki", code, "nl." .. op, message, py.site(), "error"
    e.doc, e.operands = "nki.language." .. op, e.operands or {}
    error(e)
  end

  local function need_tile(op, name, x)
    if is_tile(x) then return x end
    refuse("not-a-tensor", op, ("%s must be a tensor"):format(name), { want = "a tensor", got = type(x) })
  end

  local function fresh(shape, dtype, buffer) return f.ndarray(shape, dtype, buffer, nil, nil) end
  local function dtype_of(x, dtype) return given(dtype) and dtype or attr(x, "dtype") end
  local function on_chip(x) return attr(x, "buffer") == nl.sbuf or attr(x, "buffer") == nl.psum end
  local function free_size(x)
    local shape <const> = attr(x, "shape")
    return attr(x, "size") // shape[1], shape
  end

  -- In SBUF: a PSUM tile is copied.
  local function in_sbuf(x)
    if attr(x, "buffer") ~= nl.psum then return x end
    local tile <const> = fresh(attr(x, "shape"), attr(x, "dtype"))
    f.tensor_copy(tile, x)
    return tile
  end

  local function same_shape(a, b)
    if #a ~= #b then return false end
    for i = 1, #a do
      if a[i] ~= b[i] then return false end
    end
    return true
  end

  -- NumPy's broadcast of two shapes over the free dimensions.
  local function common_shape(op, x, y)
    local a <const>, b <const> = attr(x, "shape"), attr(y, "shape")
    local out <const> = {}
    local fits = #a == #b
    for i = 1, fits and #a or 0 do
      if a[i] == b[i] or b[i] == 1 and i > 1 then out[i] = a[i]
      elseif a[i] == 1 and i > 1 then out[i] = b[i]
      else fits = false end
    end
    if fits then return out end
    refuse("shape-mismatch", op, ("shapes [%s] and [%s] do not broadcast"):format(table.concat(a, ","), table.concat(b, ",")),
      { want = table.concat(a, ","), got = table.concat(b, ","),
        operands = { { name = "x", shape = a, dtype = attr(x, "dtype") }, { name = "y", shape = b, dtype = attr(y, "dtype") } } })
  end

  local function stretched(x, shape) return same_shape(attr(x, "shape"), shape) and x or view.broadcast_to(x, shape) end

  -- x op y by name of an operator; tiles or numbers, at least one tile.
  local function apply(op, x, y, dtype, dst)
    local o <const> = nl[op]
    if is_tile(x) and is_tile(y) then
      local shape <const> = common_shape(op, x, y)
      local out <const> = dst or fresh(shape, dtype_of(x, dtype))
      if attr(x, "buffer") == nl.psum and attr(y, "buffer") == nl.psum then y = in_sbuf(y) end
      if op == "power" then x, y = in_sbuf(x), in_sbuf(y) end
      local vector <const> = free_size(y) == 1 and free_size(x) > 1 and attr(y, "dtype") == "float32" and op ~= "power"
      if vector then
        f.tensor_scalar(out, x, o, y)
      else
        f.tensor_tensor(out, stretched(x, shape), stretched(y, shape), o)
      end
      return out
    end
    local tile <const> = is_tile(x) and x or need_tile(op, "x", y)
    local number <const> = is_tile(x) and y or x
    if math.type(number) == nil and type(number) ~= "boolean" then
      refuse("value-type", op, "an operand must be a tensor or a number", { want = "a tensor or a number", got = type(number) })
    end
    local source <const> = op == "power" and in_sbuf(tile) or tile
    local out <const> = dst or fresh(attr(tile, "shape"), dtype_of(tile, dtype))
    f.tensor_scalar(out, source, o, number, not is_tile(x))
    return out
  end

  for _, op in ipairs { "add", "subtract", "multiply", "maximum", "minimum", "abs_max", "abs_min", "power", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "logical_and",
    "logical_or", "logical_xor" } do
    W[op] = function(x, y, dtype) return apply(op, x, y, dtype) end
  end

  local function reciprocal(x)
    local out <const> = fresh(attr(x, "shape"), "float32")
    f.reciprocal(out, x)
    return out
  end

  function W.divide(x, y, dtype)
    if not is_tile(y) then
      if y == 0 then refuse("value-type", "divide", "division by zero", { want = "a nonzero number", got = "0" }) end
      return apply("multiply", x, 1.0 / y, dtype)
    end
    return apply("multiply", is_tile(x) and x or x + 0.0, reciprocal(y), given(dtype) and dtype or attr(is_tile(x) and x or y, "dtype"))
  end

  local function activate(op, x, dtype, scale, bias)
    local out <const> = fresh(attr(x, "shape"), dtype_of(x, dtype))
    f.activation(out, nl[op], x, bias, scale)
    return out
  end

  for _, op in ipairs { "abs", "square", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "gelu", "gelu_apprx_sigmoid",
    "gelu_apprx_tanh", "gelu_dx", "gelu_apprx_sigmoid_dx", "silu", "silu_dx", "softplus", "mish", "erf", "erf_dx", "arctan", "sign" } do
    W[op] = function(x, dtype) return activate(op, need_tile(op, "x", x), dtype) end
  end

  function W.reciprocal(x, dtype)
    local out <const> = fresh(attr(need_tile("reciprocal", "x", x), "shape"), dtype_of(x, dtype))
    f.reciprocal(out, x)
    return out
  end

  function W.negative(x, dtype) return apply("multiply", need_tile("negative", "x", x), -1.0, dtype) end

  function W.invert(x, dtype)
    local out <const> = fresh(attr(need_tile("invert", "x", x), "shape"), dtype_of(x, dtype))
    f.tensor_scalar(out, x, nl.invert, None)
    return out
  end

  function W.logical_not(x, dtype)
    need_tile("logical_not", "x", x)
    if attr(x, "dtype"):find "^[ub]?o?o?l?_?u?int" or attr(x, "dtype") == "bool_" then return apply("bitwise_xor", x, 1, dtype) end
    return apply("equal", x, 0.0, dtype)
  end

  function W.copy(x, dtype)
    local out <const> = fresh(attr(need_tile("copy", "x", x), "shape"), dtype_of(x, dtype))
    f.tensor_copy(out, x)
    return out
  end

  -- Nearest integer through int32, then moved to the side wanted: `over` compares the rounded value with x.
  local function rounded(x, dtype, over, step)
    local shape <const> = attr(x, "shape")
    local int <const>, near <const> = fresh(shape, "int32"), fresh(shape, "float32")
    f.tensor_copy(int, x)
    f.tensor_copy(near, int)
    local off <const> = fresh(shape, "float32")
    f.tensor_tensor(off, near, in_sbuf(x), nl[over])
    return apply(step, near, off, given(dtype) and dtype or attr(x, "dtype"))
  end

  function W.floor(x, dtype) return rounded(need_tile("floor", "x", x), dtype, "greater", "subtract") end
  function W.ceil(x, dtype) return rounded(need_tile("ceil", "x", x), dtype, "less", "add") end
  function W.trunc(x, dtype)
    need_tile("trunc", "x", x)
    local size <const> = rounded(activate("abs", x, "float32"), "float32", "greater", "subtract")
    return apply("multiply", size, activate("sign", x, "float32"), given(dtype) and dtype or attr(x, "dtype"))
  end

  local function remainder(op, round)
    W[op] = function(x, y, dtype)
      local kept <const> = given(dtype) and dtype or attr(is_tile(x) and x or y, "dtype")
      local ratio <const> = W.divide(x, y, "float32")
      local whole <const> = apply("multiply", round(ratio, "float32"), y, "float32")
      return apply("subtract", x, whole, kept)
    end
  end
  remainder("mod", W.floor)
  remainder("fmod", W.trunc)

  -- sin with its argument brought into [-pi, pi] first: x - 2 pi round(x / 2 pi).
  local function sine(x, dtype, shift)
    local shape <const> = attr(x, "shape")
    local turns <const>, int <const>, near <const> = fresh(shape, "float32"), fresh(shape, "int32"), fresh(shape, "float32")
    f.tensor_scalar(turns, x, nl.multiply, 1 / (2 * math.pi), false, nl.add, shift / (2 * math.pi))
    f.tensor_copy(int, turns)
    f.tensor_copy(near, int)
    local part <const> = fresh(shape, "float32")
    f.tensor_tensor(part, turns, near, nl.subtract)
    return activate("sin", part, given(dtype) and dtype or attr(x, "dtype"), 2 * math.pi)
  end

  function W.sin(x, dtype) return sine(need_tile("sin", "x", x), dtype, 0.0) end
  function W.cos(x, dtype) return sine(need_tile("cos", "x", x), dtype, math.pi / 2) end
  function W.tan(x, dtype)
    need_tile("tan", "x", x)
    return apply("multiply", sine(x, "float32", 0.0), reciprocal(sine(x, "float32", math.pi / 2)), dtype_of(x, dtype))
  end

  -- Reductions ----------------------------------------------------------------------------------------------------------

  local function axes_of(x, axis)
    local list <const> = type(axis) == "number" and { axis } or axis
    local out <const>, ndim <const> = {}, attr(x, "ndim")
    for i, a in ipairs(list) do out[i] = a < 0 and a + ndim or a end
    return out
  end

  local function reduced_shape(x, axes, keepdims)
    local shape <const>, gone <const>, out = attr(x, "shape"), {}, {}
    for _, a in ipairs(axes) do gone[a + 1] = true end
    for i = 1, #shape do
      if not gone[i] then out[#out + 1] = shape[i] elseif keepdims then out[#out + 1] = 1 end
    end
    if #out == 1 then out[2] = 1 end
    return out
  end

  local function count_of(x, axes)
    local shape <const>, n = attr(x, "shape"), 1
    for _, a in ipairs(axes) do n = n * (shape[a + 1] or 1) end
    return n
  end

  local function reduce(op, name, x, axis, dtype, keepdims)
    need_tile(name, "x", x)
    local axes <const> = axes_of(x, axis)
    local out <const> = fresh(reduced_shape(x, axes, keepdims), dtype_of(x, dtype))
    f.tensor_reduce(out, nl[op], x, axes, false, keepdims)
    return out, axes
  end

  function W.sum(x, axis, dtype, keepdims) return (reduce("add", "sum", x, axis, dtype, keepdims)) end
  function W.max(x, axis, dtype, keepdims) return (reduce("maximum", "max", x, axis, dtype, keepdims)) end
  function W.min(x, axis, dtype, keepdims) return (reduce("minimum", "min", x, axis, dtype, keepdims)) end
  function W.prod(x, axis, dtype, keepdims) return (reduce("multiply", "prod", x, axis, dtype, keepdims)) end

  function W.mean(x, axis, dtype, keepdims)
    local total <const>, axes <const> = reduce("add", "mean", x, axis, "float32", keepdims)
    return apply("multiply", total, 1.0 / count_of(x, axes), dtype_of(x, dtype))
  end

  function W.all(x, axis, dtype)
    return (reduce("minimum", "all", apply("not_equal", need_tile("all", "x", x), 0.0, "float32"), axis, dtype_of(x, dtype), false))
  end

  function W.var(x, axis, dtype)
    local mean <const> = W.mean(x, axis, "float32", true)
    local centred <const> = apply("subtract", x, mean, "float32")
    return W.mean(activate("square", centred, "float32"), axis, dtype_of(x, dtype), true)
  end

  -- Per-row statistic over all reduced axes, as (P, 1).
  local function row_vector(x) return view.reshape(x, { attr(x, "shape")[1], 1 }) end

  function W.softmax(x, axis, dtype)
    local axes <const> = axes_of(need_tile("softmax", "x", x), axis)
    local shape <const> = attr(x, "shape")
    local top <const> = reduce("maximum", "softmax", x, axes, "float32", true)
    if #axes < #shape - 1 then
      local e <const> = activate("exp", apply("subtract", x, top, "float32"), "float32")
      return apply("multiply", e, reciprocal((reduce("add", "softmax", e, axes, "float32", true))), dtype_of(x, dtype))
    end
    local low <const> = apply("multiply", top, -1.0, "float32")
    local e <const>, total <const> = fresh(shape, "float32"), fresh({ shape[1], 1 }, "float32")
    f.activation_reduce(e, nl.exp, x, nl.add, total, row_vector(low), 1.0)
    local out <const> = fresh(shape, dtype_of(x, dtype))
    f.tensor_scalar(out, e, nl.multiply, reciprocal(total))
    return out
  end

  function W.rms_norm(x, w, axis, n, epsilon, dtype, compute_dtype)
    local kept <const> = given(compute_dtype) and compute_dtype or "float32"
    local squares <const> = activate("square", need_tile("rms_norm", "x", x), kept)
    local total <const> = reduce("add", "rms_norm", squares, axis, "float32", true)
    local mean <const> = fresh(attr(total, "shape"), "float32")
    f.tensor_scalar(mean, total, nl.multiply, 1.0 / n, false, nl.add, epsilon + 0.0)
    local scaled <const> = apply("multiply", x, activate("rsqrt", mean, "float32"), kept)
    return apply("multiply", scaled, w, dtype_of(x, dtype))
  end

  function W.where(condition, x, y, dtype)
    local model <const> = is_tile(x) and x or is_tile(y) and y or need_tile("where", "condition", condition)
    local shape <const> = is_tile(x) and is_tile(y) and common_shape("where", x, y) or attr(model, "shape")
    local out <const> = fresh(shape, dtype_of(model, dtype))
    if is_tile(y) then f.tensor_copy(out, stretched(y, shape)) else f.memset(out, y) end
    local mask <const> = apply("not_equal", need_tile("where", "condition", condition), 0.0, "uint8")
    local chosen = x
    if is_tile(x) and attr(x, "dtype") ~= attr(out, "dtype") then chosen = W.copy(x, attr(out, "dtype")) end
    f.tensor_copy_predicated(out, is_tile(chosen) and stretched(chosen, shape) or chosen, stretched(mask, shape))
    return out
  end

  -- Creation ------------------------------------------------------------------------------------------------------------

  W.ndarray = f.ndarray

  -- HBM cannot be filled by an engine: a row of SBUF is, and DMA copies it.
  local function fill(x, value)
    if on_chip(x) then
      f.memset(x, value)
      return x
    end
    local flat <const> = view.reshape(x, { attr(x, "size") })
    local size <const>, width <const> = attr(x, "size"), 8192
    local unit <const> = fresh({ 1, math.min(size, width) }, attr(x, "dtype"))
    f.memset(unit, value)
    for at = 0, size - 1, width do
      local n <const> = math.min(width, size - at)
      f.dma_copy(view.slice(flat, 0, at, at + n), view.slice(unit, 1, 0, n))
    end
    return x
  end

  local function typed(value, dtype)
    if dtype:find "int" and math.type(value) == "float" then return math.tointeger(value) or value end
    return value
  end

  function W.zeros(shape, dtype, buffer, name) return fill(f.ndarray(shape, dtype, buffer, name), 0) end
  function W.ones(shape, dtype, buffer, name) return fill(f.ndarray(shape, dtype, buffer, name), 1) end
  function W.full(shape, value, dtype, buffer, name) return fill(f.ndarray(shape, dtype, buffer, name), typed(value, dtype)) end
  function W.empty_like(x, dtype, buffer, name)
    return f.ndarray(attr(need_tile("empty_like", "x", x), "shape"), dtype_of(x, dtype), given(buffer) and buffer or attr(x, "buffer"), name)
  end
  function W.zeros_like(x, dtype, buffer, name) return fill(W.empty_like(x, dtype, buffer, name), 0) end

  function W.shared_identity_matrix(n, dtype, dst)
    local out <const> = given(dst) and dst or fresh({ n, n }, dtype)
    f.constant(out, true)
    return out
  end

  -- Views and movement --------------------------------------------------------------------------------------------------

  function W.expand_dims(x, axis) return view.expand_dim(need_tile("expand_dims", "x", x), axis) end

  function W.broadcast_to(x, shape, dtype)
    local old <const> = attr(need_tile("broadcast_to", "x", x), "shape")
    if same_shape(old, shape) then return given(dtype) and dtype ~= attr(x, "dtype") and W.copy(x, dtype) or x end
    local out <const> = fresh(shape, dtype_of(x, dtype))
    if old[1] == shape[1] then
      f.tensor_copy(out, view.broadcast_to(x, shape))
    else -- across partitions: DMA repeats the one partition
      f.dma_copy(out, view.broadcast_to(in_sbuf(x), shape))
    end
    return out
  end

  function W.transpose(x, dtype)
    local shape <const> = attr(need_tile("transpose", "x", x), "shape")
    local source <const> = given(dtype) and dtype ~= attr(x, "dtype") and W.copy(x, dtype) or in_sbuf(x)
    local out <const> = fresh({ (free_size(x)), shape[1] }, attr(source, "dtype"), nl.psum)
    f.nc_transpose(out, source, engine.tensor)
    return out
  end

  function W.matmul(x, y, transpose_x)
    need_tile("matmul", "x", x)
    need_tile("matmul", "y", y)
    local stationary <const> = transpose_x and x or in_sbuf(W.transpose(x))
    local out <const> = fresh({ (free_size(stationary)), (free_size(y)) }, "float32", nl.psum)
    f.nc_matmul(out, stationary, y)
    return out
  end

  function W.load(src, dtype)
    local out <const> = fresh(attr(need_tile("load", "src", src), "shape"), dtype_of(src, dtype))
    f.dma_copy(out, src)
    return out
  end

  function W.store(dst, value)
    need_tile("store", "value", value)
    f.dma_copy(need_tile("store", "dst", dst), in_sbuf(value))
    return None
  end

  function W.load_transpose2d(src, dtype)
    local shape <const> = attr(need_tile("load_transpose2d", "src", src), "shape")
    local out <const> = fresh({ shape[2], shape[1] }, attr(src, "dtype"))
    f.dma_transpose(out, src)
    return given(dtype) and dtype ~= attr(src, "dtype") and W.copy(out, dtype) or out
  end

  function W.gather_flattened(data, indices, _, dtype)
    local out <const> = fresh(attr(indices, "shape"), attr(data, "dtype"))
    f.nc_n_gather(out, data, indices)
    return given(dtype) and dtype ~= attr(data, "dtype") and W.copy(out, dtype) or out
  end

  -- Loops, grid, predicates ---------------------------------------------------------------------------------------------

  W.ds = view.ds

  for _, name in ipairs { "affine_range", "sequential_range", "static_range", "dynamic_range" } do
    W[name] = function(start, stop, step)
      if not given(stop) then start, stop = 0, start end
      for _, bound in ipairs { start, stop, step } do
        if math.type(bound) ~= "integer" then
          refuse("value-type", name, "the bounds of a range must be integers known when the kernel is traced",
            { want = "an integer", got = tostring(bound) })
        end
      end
      return py.ops.range(start, stop, step)
    end
  end

  function W.fori_loop(lower, upper, body, step)
    for i = lower, upper - 1, step do py.call(body, i) end
    return None
  end

  function W.program_id() return 0 end
  function W.num_programs() return 1 end
  function W.program_ndim() return 0 end

  function W.is_sbuf(buffer) return buffer == nl.sbuf end
  function W.is_psum(buffer) return buffer == nl.psum end
  function W.is_on_chip(buffer) return buffer == nl.sbuf or buffer == nl.psum end
  function W.is_hbm(buffer) return buffer == nl.hbm or buffer == nl.shared_hbm end

  function W.device_print(prefix, x)
    local print_line <const> = env.options.print
    if print_line then print_line(("%s %s"):format(prefix, tostring(x))) end
    return None
  end

  local block <const> = setmetatable({}, {
    __pytype = "no_reorder",
    __pyenter = function(self)
      machine:keep_order(true)
      return self
    end,
    __pyexit = function()
      machine:keep_order(false)
      return false
    end,
  })
  function W.no_reorder() return block end

  return W
end

-- rearrange: split, reorder and merge dimensions by name.
local function rearrange(env, view)
  local py <const> = env.py
  return function(self, source, target, sizes)
    local function names_of(pattern)
      local flat <const>, groups <const> = {}, {}
      for i = 1, #pattern do
        local entry <const> = pattern[i]
        local group <const> = type(entry) == "string" and { entry } or entry
        groups[i] = #group
        for k = 1, #group do flat[#flat + 1] = group[k] end
      end
      return flat, groups
    end
    local from <const>, from_groups <const> = names_of(source)
    local to <const>, to_groups <const> = names_of(target)
    local known <const> = {}
    if sizes ~= py.None and sizes ~= nil then
      for _, name in ipairs(from) do known[name] = py.dict_get(sizes, name) end
    end
    local x, dim = self, 0
    local at = 0
    for _, count in ipairs(from_groups) do
      if count > 1 then
        local shape <const> = {}
        for k = 1, count do shape[k] = known[from[at + k]] or -1 end
        x = view.reshape_dim(x, dim, shape)
      end
      at, dim = at + count, dim + count
    end
    local place <const>, dims <const> = {}, {}
    for i, name in ipairs(from) do place[name] = i - 1 end
    for i, name in ipairs(to) do dims[i] = place[name] or -1 end
    x = view.permute(x, dims)
    dim = 0
    for _, count in ipairs(to_groups) do
      if count > 1 then x = view.flatten_dims(x, dim, dim + count - 1) end
      dim = dim + 1
    end
    return x
  end
end

-- Give tensors their Python methods, and refuse Python's operators on them.
function M.tensor_methods(env, rows, native)
  local view <const>, meta <const> = env.machine:methods()
  local py <const> = env.py
  local plain <const> = {}
  for name, fn in pairs(view) do plain[name] = fn end
  plain.rearrange = rearrange(env, view)
  plain.reinterpret_cast = view.view
  plain.get_pattern = function(x)
    local pairs_of <const> = view.get_pattern(x)
    for i, pair in ipairs(pairs_of) do pairs_of[i] = py.list { pair[1], pair[2] } end
    return py.list(pairs_of)
  end
  plain.indirect = function()
    error({ kind = "nki", code = "op-not-simulated", op = "NkiTensor.indirect", site = py.site(), operands = {}, severity = "error",
      message = "NkiTensor.indirect is an NKI function that the machine does not execute" })
  end
  local methods <const> = {}
  for name, signature in pairs(rows) do
    local entry <const> = { name = name, params = { { name = "self", required = true } } }
    for word in signature:gmatch "%S+" do
      local key <const>, default <const> = word:match "^([%w_]+)=?(.*)$"
      entry.params[#entry.params + 1] = { name = key, required = default == "", default = default ~= "" and default or nil }
    end
    methods[name] = native(env, "NkiTensor", entry, plain[name])
  end
  meta.__methods = methods
  local written <const> = { Add = "+", Sub = "-", Mult = "*", Div = "/", FloorDiv = "//", Mod = "%", Pow = "**", MatMult = "@", BitAnd = "&", BitOr = "|",
    BitXor = "^", LShift = "<<", RShift = ">>", UAdd = "+", USub = "-", Invert = "~", Not = "not" }
  local function refuse(kind)
    return function(op, a, b)
      local x <const> = getmetatable(a) == meta and a or b
      error({ kind = "nki", code = "tensor-operator", op = ("%s `%s`"):format(kind, written[op] or op), site = py.site(), severity = "error", got = op,
        want = "a function of nki.language, such as nl.add", doc = "nki-language-guide",
        operands = { { name = "tensor", shape = meta.__pygetattr(x, "shape"), dtype = meta.__pygetattr(x, "dtype") } },
        message = "Python's operators do not work on tensors" })
    end
  end
  meta.__pybinop, meta.__pyunop = refuse "binary", refuse "unary"
  meta.__setsubscript = function(x, value, ...)
    local dst <const> = meta.__subscript(x, ...)
    local on_chip <const> = function(t)
      local buffer <const> = meta.__pygetattr(t, "buffer")
      return buffer == env.nl.sbuf or buffer == env.nl.psum
    end
    if getmetatable(value) ~= meta then
      env.f.memset(dst, value)
    elseif on_chip(dst) and on_chip(value) then
      env.f.tensor_copy(dst, value)
    else
      env.f.dma_copy(dst, value)
    end
  end
end

return M
