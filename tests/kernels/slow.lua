-- SPDX-License-Identifier: MIT
-- Kernels that are slow for one reason each, and which finding must come first. A line of the kernel that is to blame ends in
-- "# slow"; the finding's first line must be one of them.

return {
  { name = "small_descriptors", case = "x=bf16[1024,4096]", finding = "dma" },
  { name = "tiny_stores", case = "x=bf16[512,2048]", finding = "dma" },
  { name = "weight_reloaded", case = "x=bf16[2048,2048], weight=f32[128,2048]", finding = "reloads" },
  { name = "rhs_reloaded", case = "a_t=bf16[512,2048], b=bf16[512,2048]", finding = "reloads" },
  { name = "transposed_again", case = "a=bf16[1024,1024], b=bf16[1024,2048]", finding = "transposes" },
  { name = "narrow_contraction", case = "a_t=bf16[1024,1024], b=bf16[1024,2048]", finding = "tensor" },
  { name = "narrow_moving", case = "a_t=bf16[1024,1024], b=bf16[1024,1024]", finding = "tensor" },
  { name = "fp32_matmul", case = "a_t=f32[1024,1024], b=f32[1024,1024]", finding = "tensor" },
  { name = "one_buffer", case = "x=bf16[2048,4096]", finding = "pipeline" },
  { name = "one_bank", case = "a_t=bf16[128,1024], b=bf16[128,2048]", finding = "pipeline" },
  { name = "small_vector", case = "x=bf16[512,4096]", finding = "vector" },
  { name = "vector_alone", case = "x=bf16[1024,2048]", finding = "vector" },
  { name = "small_scalar", case = "x=bf16[512,4096]", finding = "scalar" },
  { name = "partial_stores", case = "x=bf16[8,512,2048]", finding = "reloads" },
}
