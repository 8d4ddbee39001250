-- SPDX-License-Identifier: MIT
-- nki.language as data (operators, types, functions), and build(), which makes the Python modules nki, nki.language and
-- nki.isa over a machine. What the nl functions do is in wrappers.lua.
--
-- An operator row says where `op=nl.NAME` may stand: alu (binary, Vector Engine), bitvec (acts on bits), unary (op0 and
-- op1 of tensor_scalar), reduce, activation (Scalar Engine), gpsimd (GpSimd only), gen4 (NeuronCore-v4 only), and the
-- range outside which an activation is not valid. [nki.api.shared]

local isa <const> = require "nki.isa"

local ops <const> = {
  add = { alu = true, reduce = true }, subtract = { alu = true, reduce = true }, multiply = { alu = true, reduce = true },
  maximum = { alu = true, reduce = true }, minimum = { alu = true, reduce = true },
  equal = { alu = true }, not_equal = { alu = true }, greater = { alu = true }, greater_equal = { alu = true },
  less = { alu = true }, less_equal = { alu = true },
  logical_and = { alu = true, reduce = true }, logical_or = { alu = true, reduce = true }, logical_xor = { alu = true, reduce = true },
  power = { alu = true, gpsimd = true },
  abs_max = { alu = true, gen4 = true }, abs_min = { alu = true, gen4 = true },
  bitwise_and = { bitvec = true, reduce = true }, bitwise_or = { bitvec = true, reduce = true },
  bitwise_xor = { bitvec = true, reduce = true },
  left_shift = { bitvec = true }, right_shift = { bitvec = true }, invert = { bitvec = true, unary = true },
  abs = { unary = true, activation = true }, square = { unary = true, activation = true },
  relu = { unary = true, activation = true }, rsqrt = { unary = true, activation = true, gpsimd = true, range = "[2^-87, 2^97]" },
  reciprocal = { unary = true, activation = true, range = "+-[2^-42, 2^42]" },
  copy = { activation = true }, sigmoid = { activation = true }, prelu = { activation = true },
  gelu = { activation = true }, gelu_dx = { activation = true }, gelu_apprx_tanh = { activation = true },
  gelu_apprx_sigmoid = { activation = true }, gelu_apprx_sigmoid_dx = { activation = true },
  silu = { activation = true }, silu_dx = { activation = true }, tanh = { activation = true }, softplus = { activation = true },
  mish = { activation = true }, erf = { activation = true }, erf_dx = { activation = true }, exp = { activation = true },
  log = { activation = true, range = "[2^-64, 2^64]" }, sin = { activation = true, range = "[-pi, pi]" },
  arctan = { activation = true, range = "[-pi/2, pi/2]" }, sqrt = { activation = true, range = "[2^-116, 2^118]" },
  sign = { activation = true },
  -- Names that are functions of nl and no operators of an instruction, except where a document takes them.
  divide = {}, mod = {}, fmod = {}, logical_not = {}, negative = {}, cos = {}, tan = {}, floor = {}, ceil = {}, trunc = {},
  max = {}, min = {}, sum = {}, bypass = {}, average = {},
}

local dtypes <const> = {
  "bool_", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "bfloat16", "tfloat32", "float8_e4m3",
  "float8_e4m3fn", "float8_e5m2", "float8_e5m2_x4", "float8_e4m3fn_x4", "float8_e8m0fnu", "float4_e2m1fn_x4",
}

local functions <const> = {}

local function row(names, signature, summary, fields)
  for name in names:gmatch "%S+" do
    local entry <const> = { name = name, params = {}, doc = "nki.language." .. name, since = fields and fields.since or "0.3",
      summary = summary:gsub("%$", name), executes = not (fields and fields.executes == false), result = fields and fields.result or "tile",
      last = fields and fields.last }
    for word in signature:gmatch "%S+" do
      local key <const>, default <const> = word:match "^([%w_]+)=?(.*)$"
      entry.params[#entry.params + 1] = { name = key, required = not word:find("=", 1, true), default = default ~= "" and default or nil }
    end
    functions[name] = entry
  end
end

row("add subtract multiply divide maximum minimum abs_max abs_min power mod fmod", "x y dtype=None", "$ of two tiles, or a tile and a number.")
row("equal not_equal less less_equal greater greater_equal", "x y dtype=None", "1 where x is $ to y, else 0.")
row("bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor", "x y dtype=None",
  "$ of two tiles, or a tile and a number.")
row("abs square exp log sqrt rsqrt tanh sigmoid relu gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx gelu_apprx_sigmoid_dx silu silu_dx "
  .. "softplus mish erf erf_dx reciprocal sin cos tan arctan ceil floor trunc negative sign invert logical_not", "x dtype=None",
  "$ of a tile, element by element.")
row("copy", "x dtype=None", "A copy of a tile in SBUF.")
row("sum max min mean prod var", "x axis dtype=None keepdims=False", "$ over the trailing free dimensions of a tile.")
row("all", "x axis dtype=None", "Whether every element along the axes is nonzero.")
row("softmax", "x axis=-1 dtype=None", "Softmax over the trailing free dimensions.")
row("rms_norm", "x w axis n epsilon=1e-06 dtype=None compute_dtype=None", "x / sqrt(sum(x^2) / n + epsilon) * w.")
row("where", "condition x y dtype=None", "x where the condition is nonzero, else y.")
row("dropout", "x rate dtype=None", "Zeroes elements at random.", { executes = false })
row("ndarray", "shape dtype buffer=sbuf name='' address=None", "A new tensor; its contents are undefined.", { since = "0.2" })
row("zeros ones", "shape dtype buffer=sbuf name=''", "A new tensor filled with $.", { since = "0.2" })
row("full", "shape fill_value dtype buffer=sbuf name=''", "A new tensor filled with a number.")
row("zeros_like empty_like", "x dtype=None buffer=None name=''", "A new tensor of x's shape and type.")
row("rand", "shape dtype buffer=sbuf name=''", "A new tensor of random numbers.", { executes = false })
row("random_seed", "seed", "Seeds nl.rand.", { executes = false, result = "none" })
row("expand_dims", "x axis", "A view with one more dimension.", { result = "view" })
row("broadcast_to", "x shape dtype=None", "x repeated to a shape of the same rank.")
row("transpose", "x dtype=None", "Partition and free dimension swapped; the result is in PSUM.")
row("matmul", "x y transpose_x=False", "x @ y in PSUM; with transpose_x, x.T @ y and no transposition of x.")
row("no_reorder", "", "A block whose instructions keep their order.", { result = "context" })
row("load", "src dtype=None", "A tensor of HBM in a new SBUF tile.")
row("store", "dst value", "Stores a tile into a tensor of HBM.", { result = "none" })
row("load_transpose2d", "src dtype=None", "A 2-D tensor of HBM, transposed, in a new SBUF tile.")
row("gather_flattened", "data indices axis=0 dtype=None", "Elements of each partition chosen by indices.")
row("ds", "start size", "The slice start : start + size.", { since = "0.2", result = "slice" })
row("affine_range sequential_range static_range", "start stop=None step=1", "range(), unrolled.", { since = "0.2", result = "range" })
row("dynamic_range", "start stop=None step=1", "A loop on the device.", { since = "0.2", result = "range", last = "0.6" })
row("fori_loop", "lower upper body_fun step=1", "A counted loop on the device.", { since = "0.6", result = "none" })
row("while_loop", "init body_fun", "A loop on the device while a register is not zero.", { since = "0.6", executes = false, result = "none" })
row("program_id", "axis=0", "Index of this program in the launch grid.", { since = "0.2", result = "int" })
row("num_programs", "axes=0", "Programs in the launch grid.", { since = "0.2", result = "int" })
row("program_ndim", "", "Dimensions of the launch grid.", { since = "0.2", result = "int" })
row("shared_constant", "constant", "A constant tensor in shared HBM.", { since = "0.2", executes = false })
row("shared_identity_matrix", "n dtype=uint8 dst=None", "The identity matrix in SBUF.", { since = "0.2" })
row("device_print", "print_prefix tensor", "Prints a tensor when the kernel runs.", { since = "0.2", result = "none" })
row("is_hbm is_on_chip is_psum is_sbuf", "buffer", "Whether a buffer is of that kind.", { since = "0.5", result = "bool" })

-- View methods of a tensor: parameters after self. [NkiTensor]
local methods <const> = {
  slice = "dim start end step=1", select = "dim index", vector_select = "dim vector_offset", permute = "dims",
  broadcast = "dim size", expand_dim = "dim", squeeze_dim = "dim", reshape_dim = "dim shape", flatten_dims = "start_dim end_dim",
  reshape = "shape", rearrange = "src_pattern dst_pattern fixed_sizes=None", view = "dtype", reinterpret_cast = "dtype",
  ap = "pattern offset=None scalar_offset=None vector_offset=None indirect_dim=0 dtype=None",
  get_pattern = "", is_contiguous = "", is_indirect = "", indirect = "index num_elem=None",
}

-- nl.tile_size for a target: figures of targets.lua under NKI's names. [nki.language.tile_size]
local function tile_size(target)
  return {
    pmax = target.partitions,
    psum_bank_fmax = target.psum_bank_bytes // 4, psum_fmax = target.psum_bank_bytes // 4,
    psum_bank_fmax_bytes = target.psum_bank_bytes, psum_num_banks = target.psum_bytes // target.psum_bank_bytes,
    gemm_stationary_fmax = target.stationary_free, gemm_moving_fmax = target.psum_bank_bytes // 4,
    bn_stats_fmax = target.bn_stats_free,
    sbuf_size_bytes = target.sbuf_partition_bytes * target.partitions,
    sbuf_fmax = target.sbuf_bytes // 4, sbuf_fmax_bytes = target.sbuf_bytes, total_available_sbuf_size = target.sbuf_bytes,
    psum_min_align = target.psum_min_align, sbuf_min_align = target.sbuf_min_align,
  }
end

local M <const> = { ops = ops, dtypes = dtypes, functions = functions, methods = methods, tile_size = tile_size }

local function enum_class(py, type_name, shown, ordered)
  local meta <const> = { __pytype = type_name, __name = type_name }
  meta.__pyrepr = function(e) return ("%s.%s"):format(shown, e.name) end
  meta.__tostring = meta.__pyrepr
  meta.__pygetattr = function(e, name) return (name == "name" or name == "value") and e[name] or nil end
  meta.__pycompare = function(op, a, b)
    local same <const> = rawequal(a, b)
    if op == "Eq" then return same elseif op == "NotEq" then return not same end
    if not ordered or getmetatable(a) ~= getmetatable(b) then return nil end
    if op == "Lt" then return a.value < b.value elseif op == "LtE" then return a.value <= b.value end
    if op == "Gt" then return a.value > b.value elseif op == "GtE" then return a.value >= b.value end
    return nil
  end
  meta.__pyhash = function(e) return e.name end
  return function(name, value) return setmetatable({ name = name, value = value }, meta) end, meta, py
end

-- A default of a row as a Python value.
local function default_value(env, text)
  local py <const> = env.py
  if text == "None" then return py.None elseif text == "True" then return true elseif text == "False" then return false end
  if text == "()" then return py.tuple {} elseif text == "''" then return "" end
  local n <const> = math.tointeger(text) or tonumber(text)
  if n then return text:find "[%.e]" and n + 0.0 or n end
  local class <const>, member <const> = text:match "^([%w_]+)%.([%w_]+)$"
  if class then return env.enums[class][member] end
  return assert(env.nl[text], text)
end

local function native(env, prefix, entry, fn)
  local names <const>, defaults <const>, required = {}, {}, 0
  for i, p in ipairs(entry.params) do
    names[i] = p.name
    if p.required then required = i else defaults[p.name] = default_value(env, p.default) end
  end
  return env.py.native { name = prefix .. "." .. entry.name, params = names, required = required, defaults = defaults, fn = fn }
end

local function not_simulated(env, prefix, entry)
  return function()
    error({ kind = "nki", code = "op-not-simulated", op = prefix .. "." .. entry.name, site = env.py.site(), doc = entry.doc,
      operands = {}, severity = "error",
      message = ("%s.%s is an NKI function that the machine does not execute"):format(prefix, entry.name) })
  end
end

local function define_enums(env)
  env.enums = {}
  local symbols <const> = { engine = true, reduce_cmd = true, dge_mode = true, oob_mode = true, matmul_perf_mode = true }
  local modules <const> = {}
  for class, members in pairs(isa.enums) do
    local make <const> = enum_class(env.py, class, class, class == "nc_version")
    local attrs <const> = {}
    for _, pair in ipairs(members) do
      attrs[pair[1]] = make(pair[1], pair[2])
      if symbols[class] then env.machine:define(class, pair[1], attrs[pair[1]]) end
    end
    env.enums[class] = attrs
    modules[class] = env.py.module { name = "nki.isa." .. class, attrs = attrs }
  end
  return modules
end

-- build(machine, py, options) -> { ["nki"]=, ["nki.language"]=, ["nki.isa"]= }
--   machine: of rt.nki; py: prelude/python's runtime (native, module, tuple, None, ...)
--   options: target (row of targets.lua), attrs (further attributes of module nki), print (function of a line)
function M.build(machine, py, options)
  local target <const> = options.target
  local env <const> = { machine = machine, py = setmetatable({}, { __index = py }), options = options, target = target, f = machine:functions() }
  env.py.site = py.site or (py.ops and py.ops.site) or function() return 0 end
  local nl <const> = {}
  env.nl = nl
  for _, name in ipairs(dtypes) do nl[name] = name end
  local region <const> = enum_class(py, "MemoryRegion", "MemoryRegion")
  for _, name in ipairs { "sbuf", "psum", "private_hbm", "shared_hbm" } do
    nl[name] = region(name, name)
    machine:define("buffer", name, nl[name])
  end
  nl.hbm = nl.private_hbm
  nl.MemoryRegion = py.module { name = "nki.language.MemoryRegion",
    attrs = { sbuf = nl.sbuf, psum = nl.psum, private_hbm = nl.private_hbm, shared_hbm = nl.shared_hbm } }
  nl.tile_size = py.module { name = "nki.language.tile_size", attrs = tile_size(target) }
  local operator <const> = enum_class(py, "operator", "nl")
  for _, name in ipairs { "bypass", "average", "prelu" } do nl[name] = operator(name, name) end

  local nisa <const> = define_enums(env)
  env.nisa = nisa
  local wrappers <const> = require("nki.wrappers").make(env)
  for name, entry in pairs(functions) do
    nl[name] = native(env, "nl", entry, entry.executes and assert(wrappers[name], name) or not_simulated(env, "nl", entry))
  end
  for name in pairs(ops) do
    if nl[name] ~= nil then machine:define("op", name, nl[name]) end
  end
  if options.object_class then nl.NKIObject = options.object_class end

  for name, entry in pairs(isa.functions) do
    local fn = env.f[name]
    if name == "get_nc_version" then
      fn = function() return env.enums.nc_version["gen" .. target.generation] end
    elseif name == "get_nc_sub_version" then
      fn = function() return 0 end
    end
    nisa[name] = native(env, "nisa", entry, entry.executes and assert(fn, name) or not_simulated(env, "nisa", entry))
  end
  for name, path in pairs(isa.aliases) do
    local class <const>, member <const> = path:match "^(.-)%.(.+)$"
    nisa[name] = env.enums[class][member]
  end
  local constants <const> = {}
  for _, class in ipairs(isa.constants) do constants[class] = nisa[class] end
  nisa.constants = py.module { name = "nki.isa.constants", attrs = constants }

  require("nki.wrappers").tensor_methods(env, methods, native)
  local language_module <const> = py.module { name = "nki.language", attrs = nl }
  local isa_module <const> = py.module { name = "nki.isa", attrs = nisa }
  local attrs <const> = { language = language_module, isa = isa_module }
  for name, value in pairs(options.attrs or {}) do attrs[name] = value end
  return { ["nki"] = py.module { name = "nki", attrs = attrs }, ["nki.language"] = language_module, ["nki.isa"] = isa_module }
end

return M
