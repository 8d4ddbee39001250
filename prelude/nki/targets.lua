-- SPDX-License-Identifier: MIT
-- Hardware figures per target: the one place for them. The machine checks against these, nl.tile_size reads them, help
-- prints them. Sizes are bytes or elements as the comment says; sources name the public document that states the number.

local KIB <const> = 1024

-- What all NeuronCores share. [trainium_inferentia2_arch, nki.language.tile_size]
local common <const> = {
  partitions = 128, -- of SBUF and PSUM
  psum_bytes = 16 * KIB, -- of one partition
  psum_bank_bytes = 2 * KIB, -- of one partition; 8 banks
  stationary_free = 128, -- columns of the stationary matrix
  moving_free = 512, -- columns of the moving matrix for a float32 result
  moving_free_bf16 = 512, -- the same for a bfloat16 result
  transpose_tensor = 128, -- nc_transpose on the Tensor Engine, both sides
  transpose_vector = 32, -- on the Vector Engine
  pattern_dims = 4, -- free dimensions of an instruction's access pattern
  bn_stats_free = 512,
  sbuf_min_align = 4, psum_min_align = 4,
}

local function target(row)
  for key, value in pairs(common) do
    if row[key] == nil then row[key] = value end
  end
  return row
end

local targets <const> = {}

targets.trn1 = target {
  name = "trn1", generation = 2, core = "NeuronCore-v2", supported = false,
  sbuf_partition_bytes = 192 * KIB, sbuf_bytes = 176 * KIB, -- whole partition; usable by kernels
  psum_bank_span = false, psum_bf16 = false,
  bias_scalar = false, -- activation's bias must be a vector
  scalar_copy = false, -- no tensor_copy on the Scalar Engine
  scalar_tensor_scalar_any = false,
  accumulate_any = false, -- matmul cannot accumulate on what another engine wrote
  hwdge = false, float8 = false, float8_e4m3fn_matmul = false, double_row = false, psum_dma = false,
  source = "trainium_inferentia2_arch",
}

targets.inf2 = target {
  name = "inf2", generation = 2, core = "NeuronCore-v2", supported = false,
  sbuf_partition_bytes = 192 * KIB, sbuf_bytes = 176 * KIB,
  psum_bank_span = false, psum_bf16 = false, bias_scalar = false, scalar_copy = false, scalar_tensor_scalar_any = false,
  accumulate_any = false, hwdge = false, float8 = false, float8_e4m3fn_matmul = false, double_row = false, psum_dma = false,
  source = "trainium_inferentia2_arch",
}

targets.trn2 = target {
  name = "trn2", generation = 3, core = "NeuronCore-v3", supported = true,
  sbuf_partition_bytes = 224 * KIB, sbuf_bytes = 208 * KIB,
  psum_bank_span = false, psum_bf16 = false,
  bias_scalar = true, scalar_copy = true,
  scalar_tensor_scalar_any = false, -- multiply-add, multiply, add only
  accumulate_any = false,
  hwdge = true, float8 = true, float8_e4m3fn_matmul = false, double_row = true, psum_dma = false,
  source = "trainium2_arch",
}

targets.trn3 = target {
  name = "trn3", generation = 4, core = "NeuronCore-v4", supported = true,
  sbuf_partition_bytes = 256 * KIB, sbuf_bytes = 240 * KIB,
  moving_free = 4096, moving_free_bf16 = 8192, -- a matmul may fill all banks
  psum_bank_span = true, psum_bf16 = true, bias_scalar = true, scalar_copy = true, scalar_tensor_scalar_any = true,
  accumulate_any = true, hwdge = true, float8 = true, float8_e4m3fn_matmul = true, double_row = true, psum_dma = false,
  source = "trainium3_arch",
}

-- The rows by name (targets.trn2 ...), and:
return setmetatable(targets, { __index = {
  default = "trn2",
  get = function(name) return rawget(targets, name) end, -- the row, or nil
  names = function() return { "trn2", "trn3", "trn1", "inf2" } end, -- in the order to show them
} })
