-- SPDX-License-Identifier: MIT
-- nki.isa as data: one row per function and enum. The binder takes parameters and defaults from here, the machine takes
-- engines, memories, types and limits, help and diagnostics take the rest.
--
-- A row: params (list of {name=, required=, default=}; a default is None, True, False, a number, () or a dotted name),
-- engines it can run on, tiles (operands in memory: buffers and element types; no types = all with arithmetic),
-- limits (figures with the name of a field of targets.lua or a number), since (first NKI version), first_generation
-- (NeuronCore version), executes (the machine runs it), summary, doc.

local CHIP <const> = { "sbuf", "psum" }
local SBUF <const>, PSUM <const>, DMA <const> = { "sbuf" }, { "psum" }, { "hbm", "sbuf" }
local INT32 <const>, UINT32 <const> = { "int32" }, { "uint32" }
local MATMUL <const> = { "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "tfloat32", "float32" }
local FLOATS <const> = MATMUL

local function params(text)
  local list <const> = {}
  for word in text:gmatch "%S+" do
    local name <const>, default <const> = word:match "^([%w_]+)=?(.*)$"
    list[#list + 1] = { name = name, required = not word:find("=", 1, true), default = default ~= "" and default or nil }
  end
  return list
end

local function tile(name, buffers, dtypes) return { name = name, buffers = buffers, dtypes = dtypes } end

local functions <const> = {}

local function row(name, signature, fields)
  fields.name = name
  fields.params = params(signature)
  fields.doc = "nki.isa." .. name
  fields.since = fields.since or "0.2"
  if fields.executes == nil then fields.executes = true end
  functions[name] = fields
end

-- Data movement -------------------------------------------------------------------------------------------------------

row("dma_copy", "dst src priority=None oob_mode=oob_mode.error dge_mode=dge_mode.unknown engine=engine.unknown name=None", {
  engines = { "dma", "sync", "scalar" }, tiles = { tile("dst", DMA, "any"), tile("src", DMA, "any") },
  summary = "Copies src to dst with the DMA engines, between HBM and SBUF. Element counts must agree; types convert through float32.",
})
row("dma_transpose", "dst src axes=None priority=None dge_mode=dge_mode.unknown oob_mode=oob_mode.error name=None", {
  engines = { "dma" }, tiles = { tile("dst", SBUF, "any"), tile("src", DMA, "any") },
  summary = "Transposes src into SBUF with the DMA engines: axes (1,0), (2,1,0) or (3,1,2,0).",
})
row("dma_compute", "dst srcs reduce_op scales=None unique_indices=True oob_mode=oob_mode.error name=None", {
  engines = { "dma" }, tiles = { tile("dst", DMA), tile("srcs", DMA) }, limits = { sources = 16 },
  summary = "Adds up to 16 tensors element by element inside the DMA engines, in float32.",
})
row("tensor_copy", "dst src engine=engine.unknown name=None", {
  engines = { "vector", "scalar", "gpsimd" }, tiles = { tile("dst", CHIP, "any"), tile("src", CHIP, "any") },
  summary = "Copies a tile on chip; bit by bit when the types are equal, through float32 otherwise.",
})
row("memset", "dst value engine=engine.unknown name=None", {
  engines = { "vector", "gpsimd" }, tiles = { tile("dst", CHIP, "any") },
  summary = "Fills a tile with a constant of the tile's type.",
})
row("tensor_copy_predicated", "dst src predicate reverse_pred=False name=None", {
  engines = { "vector" },
  tiles = { tile("dst", CHIP), tile("src", CHIP), tile("predicate", CHIP, { "uint8", "uint16", "uint32" }) },
  summary = "Copies the elements of src where the predicate is not zero and leaves the others of dst as they are.",
})
row("iota", "dst pattern offset=0 channel_multiplier=0 name=None", {
  engines = { "gpsimd" }, tiles = { tile("dst", SBUF) }, limits = { pattern = 4 },
  summary = "Writes an affine function of partition and position, computed in 32-bit integers.",
})
row("affine_select", "dst pattern channel_multiplier on_true_tile on_false_value cmp_op=equal offset=0 name=None", {
  engines = { "gpsimd" }, tiles = { tile("dst", SBUF), tile("on_true_tile", SBUF) }, limits = { pattern = 4 },
  summary = "Keeps an element where an affine function of its place compares true with 0, else writes a constant: causal masks.",
})
row("nc_stream_shuffle", "dst src shuffle_mask name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP, "any"), tile("src", CHIP, "any") }, limits = { mask = 32 },
  summary = "Moves partitions within each group of 32 as a mask of 32 numbers says; 255 keeps the old contents.",
})
row("local_gather", "dst src_buffer index num_elem_per_idx=1 num_valid_indices=None name=None", {
  engines = { "gpsimd" }, tiles = { tile("dst", SBUF), tile("src_buffer", SBUF), tile("index", SBUF, { "uint16" }) }, executes = false,
  summary = "Gathers along the free dimension, with indices shared by each group of 16 partitions.",
})
row("nc_n_gather", "dst data indices name=None", {
  engines = { "gpsimd" }, tiles = { tile("dst", SBUF), tile("data", SBUF), tile("indices", SBUF, UINT32) },
  summary = "Gathers within each partition: dst[p, i] = data[p, indices[p, i]].",
})
row("sendrecv", "src dst send_to_rank recv_from_rank pipe_id dma_engine=dma_engine.dma name=None", {
  engines = { "dma" }, tiles = { tile("src", SBUF), tile("dst", SBUF) }, executes = false, first_generation = 3,
  summary = "Exchanges tiles between the two cores of a logical core.",
})
row("core_barrier", "data cores engine=engine.gpsimd name=None", {
  engines = { "gpsimd", "vector", "scalar", "tensor", "sync" }, tiles = { tile("data", { "hbm" }) }, executes = false, first_generation = 3,
  summary = "Waits until both cores of a logical core have arrived.",
})

-- Tensor Engine -------------------------------------------------------------------------------------------------------

row("nc_matmul", "dst stationary moving is_stationary_onezero=False is_moving_onezero=False is_transpose=False accumulate=None "
  .. "tile_position=() tile_size=() perf_mode=matmul_perf_mode.none name=None", {
  engines = { "tensor" }, tiles = { tile("dst", PSUM), tile("stationary", SBUF, MATMUL), tile("moving", SBUF, MATMUL) },
  limits = { k = "partitions", m = "stationary_free", n = "moving_free", bank_bytes = "psum_bank_bytes" },
  summary = "dst[M,N] = stationary[K,M].T @ moving[K,N], accumulated in float32 in PSUM.",
})
row("nc_matmul_mx", "dst stationary moving stationary_scale moving_scale tile_position=None tile_size=None accumulate=None name=None", {
  engines = { "tensor" }, first_generation = 4, executes = false,
  tiles = { tile("dst", PSUM), tile("stationary", SBUF, "any"), tile("moving", SBUF, "any"), tile("stationary_scale", SBUF, "any"),
    tile("moving_scale", SBUF, "any") },
  summary = "Matrix product of MXFP8 or MXFP4 operands with their block scales.",
})
row("nc_transpose", "dst data engine=engine.unknown name=None", {
  engines = { "tensor", "vector" }, tiles = { tile("dst", CHIP, "any"), tile("data", CHIP, "any") },
  limits = { tensor = "transpose_tensor", vector = "transpose_vector" },
  summary = "Swaps partition and free dimension: up to 128x128 SBUF to PSUM on the Tensor Engine, up to 32x32 on the Vector Engine.",
})
row("quantize_mx", "dst src dst_scale name=None", {
  engines = { "vector" }, first_generation = 4, executes = false,
  tiles = { tile("dst", SBUF, "any"), tile("src", SBUF), tile("dst_scale", SBUF, "any") },
  summary = "Quantises 16-bit floats to MXFP8 with one scale per 32 elements.",
})

-- Arithmetic ----------------------------------------------------------------------------------------------------------

row("tensor_tensor", "dst data1 data2 op engine=engine.unknown name=None", {
  engines = { "vector", "gpsimd" }, tiles = { tile("dst", CHIP), tile("data1", CHIP), tile("data2", CHIP) },
  summary = "Combines two tiles of one size element by element. Nothing is broadcast.",
})
row("tensor_scalar", "dst data op0 operand0 reverse0=False op1=None operand1=None reverse1=False engine=engine.unknown name=None", {
  engines = { "vector", "scalar", "gpsimd" },
  tiles = { tile("dst", CHIP), tile("data", CHIP), tile("operand0", CHIP), tile("operand1", CHIP) },
  summary = "(data op0 operand0) op1 operand1, where an operand is a number or one float32 value per partition, shape (P, 1).",
})
row("scalar_tensor_tensor", "dst data op0 operand0 op1 operand1 reverse0=False reverse1=False name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP), tile("operand0", CHIP), tile("operand1", CHIP) },
  summary = "(data op0 operand0) op1 operand1, where operand0 is a number or one value per partition and operand1 a tile.",
})
row("tensor_reduce", "dst op data axis negate=False keepdims=False name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP) },
  summary = "Reduces the trailing free dimensions of a tile. The partition dimension cannot be reduced.",
})
row("tensor_partition_reduce", "dst op data name=None", {
  engines = { "gpsimd" }, tiles = { tile("dst", SBUF), tile("data", SBUF) },
  summary = "Reduces across partitions on the GpSimd Engine.",
})
row("tensor_scalar_cumulative", "dst src op0 op1 imm0 imm1=None reduce_cmd=reduce_cmd.reset_reduce name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("src", CHIP), tile("imm0", CHIP), tile("imm1", CHIP) },
  summary = "Running op1 over (src op0 imm0) along the free dimension.",
})
row("activation", "dst op data bias=None scale=1.0 reduce_op=None reduce_res=None reduce_cmd=reduce_cmd.idle name=None", {
  engines = { "scalar" },
  tiles = { tile("dst", CHIP), tile("data", CHIP), tile("bias", CHIP), tile("scale", CHIP, { "float32" }), tile("reduce_res", CHIP) },
  summary = "op(data * scale + bias); can also add the results along the free dimension.",
})
row("activation_reduce", "dst op data reduce_op reduce_res bias=None scale=1.0 name=None", {
  engines = { "scalar" },
  tiles = { tile("dst", CHIP), tile("data", CHIP), tile("bias", CHIP), tile("scale", CHIP, { "float32" }), tile("reduce_res", CHIP) },
  summary = "activation, and the sum of its results along the free dimension into reduce_res.",
})
row("activate2", "dst op data imm0 imm1 op0 op1 relu_param=0.0 reverse0=False reverse1=False reduce_op=None reduce_res=None "
  .. "reduce_cmd=reduce_cmd.idle name=None", {
  engines = { "scalar" }, first_generation = 4, since = "0.4", executes = false, tiles = { tile("dst", CHIP), tile("data", CHIP) },
  summary = "op((data op0 imm0) op1 imm1) with a choice of operators before the activation.",
})
row("tensor_scalar_reduce", "dst data op0 operand0 reduce_op reduce_res=None reverse0=False reduce_cmd=reduce_cmd.reset_reduce "
  .. "reduce_init=None reduce_res_negate=False name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP), tile("operand0", CHIP), tile("reduce_res", CHIP) },
  summary = "data op0 operand0, and the reduction of the results along the free dimension.",
})
row("reciprocal", "dst data name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP) },
  summary = "1 / data on the Vector Engine.",
})
row("exponential", "dst src max_value=0.0 reduce_res=None reduce_cmd=reduce_cmd.idle reduce_init=0.0 name=None", {
  engines = { "vector" }, first_generation = 4, since = "0.4",
  tiles = {
    tile("dst", CHIP, { "float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32", "tfloat32", "int8", "int16", "int32", "uint8", "uint16" }),
    tile("src", CHIP, { "float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32" }),
    tile("max_value", CHIP, { "float32" }), tile("reduce_res", CHIP, { "float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32", "tfloat32" }),
  },
  summary = "exp(src - max_value) on the Vector Engine, with an optional running sum.",
})
row("tensor_tensor_scan", "dst data0 data1 initial op0 op1 reverse0=False reverse1=False name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data0", CHIP), tile("data1", CHIP), tile("initial", CHIP) },
  summary = "r[i] = (data0[i] op0 r[i-1]) op1 data1[i] along the free dimension, with float32 state.",
})
row("bn_stats", "dst data name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP) }, limits = { free = "bn_stats_free", result = 6 },
  summary = "Count, mean and variance x count of the even and the odd elements of each partition.",
})
row("bn_aggr", "dst data name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP) }, limits = { result = 2 },
  summary = "Mean and variance of each partition from the results of bn_stats.",
})
row("range_select", "dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd=reduce_cmd.reset_reduce reduce_res=None "
  .. "reduce_op=maximum range_start=0 on_false_value=-3.4028235e+38 name=None", {
  engines = { "vector" }, first_generation = 3,
  tiles = { tile("dst", CHIP), tile("on_true_tile", CHIP, FLOATS), tile("bound0", CHIP, { "float32" }), tile("bound1", CHIP, { "float32" }),
    tile("reduce_res", CHIP) },
  summary = "Keeps the elements whose position lies between two bounds per partition, and can take the maximum of the result.",
})
row("select_reduce", "dst predicate on_true on_false reduce_res=None reduce_cmd=reduce_cmd.idle reduce_op=maximum reverse_pred=False name=None", {
  engines = { "vector" },
  tiles = { tile("dst", CHIP), tile("predicate", CHIP, { "int8", "uint8", "int16", "uint16" }), tile("on_true", CHIP), tile("on_false", CHIP),
    tile("reduce_res", CHIP, FLOATS) },
  summary = "Chooses between a tile and a number (or one value per partition) by a predicate, and can take the maximum.",
})
row("dropout", "dst data prob name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP), tile("prob", CHIP) }, executes = false,
  summary = "Replaces elements with zero at random.",
})
row("max8", "dst src name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("src", CHIP) }, free_min = 8, free_max = 16384,
  summary = "The 8 largest values of each partition, largest first.",
})
row("nc_find_index8", "dst data vals name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP, { "uint16", "uint32" }), tile("data", CHIP), tile("vals", CHIP) },
  free_min = 8, free_max = 16384,
  summary = "The position of each of 8 values in each partition.",
})
row("nc_match_replace8", "dst data vals imm dst_idx=None name=None", {
  engines = { "vector" }, tiles = { tile("dst", CHIP), tile("data", CHIP), tile("vals", CHIP), tile("dst_idx", CHIP, { "uint16", "uint32" }) },
  free_min = 8, free_max = 16384,
  summary = "Replaces the first match of each of 8 values by a number.",
})
row("nonzero_with_count", "dst src index_offset=0 padding_val=-1 name=None", {
  engines = { "gpsimd" }, first_generation = 3, executes = false, tiles = { tile("dst", SBUF, INT32), tile("src", SBUF) },
  summary = "Positions of the nonzero elements, and how many there are.",
})
row("sequence_bounds", "dst segment_ids name=None", {
  engines = { "gpsimd" }, executes = false, tiles = { tile("dst", SBUF), tile("segment_ids", SBUF) },
  summary = "First and last position of each element's segment.",
})
row("topk", "val_dst idx_dst src n name=None", {
  engines = { "gpsimd" }, since = "0.6", executes = false,
  tiles = { tile("val_dst", SBUF, { "bfloat16" }), tile("idx_dst", SBUF, UINT32), tile("src", SBUF, { "bfloat16" }) },
  summary = "The K largest values of n and where they were.",
})

-- Random numbers ------------------------------------------------------------------------------------------------------

row("rng", "dst engine=engine.vector name=None", {
  engines = { "vector", "gpsimd" }, executes = false, tiles = { tile("dst", CHIP) },
  summary = "Fills an integer tile with random bits.",
})
row("rand2", "dst min max name=None", {
  engines = { "vector" }, first_generation = 4, executes = false, tiles = { tile("dst", CHIP) },
  summary = "Uniform random numbers between two bounds.",
})
row("set_rng_seed", "src_seeds name=None", {
  engines = { "vector" }, executes = false, tiles = { tile("src_seeds", CHIP) }, summary = "Seeds the Vector Engine's generator.",
})
row("rand_set_state", "src_seeds engine=engine.gpsimd name=None", {
  engines = { "gpsimd", "vector" }, first_generation = 3, executes = false, tiles = { tile("src_seeds", SBUF, UINT32) },
  summary = "Sets the state of an engine's generator.",
})
row("rand_get_state", "dst engine=engine.gpsimd name=None", {
  engines = { "gpsimd", "vector" }, first_generation = 3, executes = false, tiles = { tile("dst", CHIP, UINT32) },
  summary = "Reads the state of an engine's generator.",
})

-- Registers and target ------------------------------------------------------------------------------------------------

row("register_alloc", "x=None", { executes = false, summary = "A scalar register, empty or holding a number." })
row("register_move", "dst src", { executes = false, summary = "Puts a number or another register's value into a register." })
row("register_load", "dst src", { executes = false, tiles = { tile("src", DMA) }, summary = "Loads a register from a tensor of one element." })
row("register_store", "dst src", { executes = false, tiles = { tile("dst", DMA) }, summary = "Stores a register to a tensor of one element." })
row("get_nc_version", "", { result = "nc_version", summary = "The NeuronCore version of the target." })
row("get_nc_sub_version", "", { result = "int", summary = "The silicon revision within the version." })

-- Enums: members in NKI's order with NKI's values.
local enums <const> = {
  engine = { { "tensor", 1 }, { "vector", 5 }, { "scalar", 2 }, { "gpsimd", 3 }, { "dma", 4 }, { "sync", 6 }, { "unknown", 0 } },
  reduce_cmd = { { "idle", 0 }, { "reset", 1 }, { "reduce", 2 }, { "reset_reduce", 3 }, { "load_reduce", 4 } },
  dge_mode = { { "unknown", 0 }, { "swdge", 1 }, { "hwdge", 2 }, { "none", 3 } },
  oob_mode = { { "error", 0 }, { "skip", 1 } },
  matmul_perf_mode = { { "none", "none" }, { "double_row", "double_row" } },
  nc_version = { { "gen2", 2 }, { "gen3", 3 }, { "gen4", 4 } },
  dma_engine = { { "dma", 1 }, { "gpsimd_dma", 2 } },
}

return {
  functions = functions,
  enums = enums,
  -- Older spellings still found in kernels, and what they name.
  aliases = {
    tensor_engine = "engine.tensor", vector_engine = "engine.vector", scalar_engine = "engine.scalar",
    gpsimd_engine = "engine.gpsimd", unknown_engine = "engine.unknown",
  },
  constants = { "oob_mode", "dge_mode", "matmul_perf_mode", "engine", "reduce_cmd" }, -- nisa.constants.NAME
}
