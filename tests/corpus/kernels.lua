-- SPDX-License-Identifier: MIT
-- Facts about public kernels: where they are, their hash when these facts were taken, entry, shapes, and what must come
-- out. Their code is not ours and is not here. `repo` and `path` say where a checkout holds the file; `reference` is a
-- NumPy expression over the arguments; `code` the diagnostic expected instead of a run.

local SDK <const>, SAMPLES <const> = "aws-neuron-sdk", "nki-samples"
local MATMUL <const> = "nki/examples/matrix_multiplication/matrix_multiplication_nki_kernels.py"
local MATMUL_HASH <const> = "033dec767d298df112b9f3d797fe815cae34815571ff375f2a9c6fde3adc5589"
local SAMPLES_MATMUL <const> = "src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
local SAMPLES_HASH <const> = "be317703f8ef4f804fb692a15f1f4aebd8e00fc2f773c5135651ff2efd0b95ca"
local MAMBA <const> = "nki/examples/fused_mamba/mamba_nki_kernels.py"
local MAMBA_HASH <const> = "0706c035c173eccc6e3042a15a22ea7b20abccca9db252a7132c83a605d128e6"
local PRODUCT <const> = "lhsT.T @ rhs"
local SCAN <const> = "mamba(delta, u, A, B, C)"

local rows <const> = {
  { repo = SDK, path = "nki/examples/tensor_addition/tensor_addition_nki_kernels.py", entry = "nki_tensor_add",
    sha256 = "bf19e295d296b275afe0ab9e270ebdad78882eb0942888575925e208dbc4c4e6",
    case = "a_input=float32[256,1024], b_input=float32[256,1024]", reference = "a_input + b_input" },
  { repo = SDK, path = "nki/examples/transpose2d/transpose2d_nki_kernels.py", entry = "tensor_transpose2D_kernel_",
    sha256 = "7db370cbfa3d050e27ed574e784c120a68a0ef32af5aae33cdc0da39c859a134",
    case = "in_tensor=int8[5,12], shape2D=(3,4)", reference = "in_tensor.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12)" },
  { repo = SDK, path = "nki/examples/average_pool2d/average_pool2d_nki_kernels.py", entry = "tensor_avgpool_kernel",
    sha256 = "522980d4d6a17717659897e28cc3058bb3123c093f46636549b1eadff3084129",
    case = "in_tensor=float16[2,6,6], pool_size=2", reference = "in_tensor.reshape(2, 3, 2, 3, 2).mean(axis=(2, 4))" },
  { repo = SDK, path = "nki/examples/simulate/nki_simulate_example.py", entry = "add_kernel",
    sha256 = "2bc50c47689fd42066ece59fd3891cfea6c94a4b2409ed94b4342fe91b200bad",
    case = "a_ptr=float32[128,512], b_ptr=float32[128,512]", reference = "a_ptr + b_ptr" },
  { repo = SDK, path = "nki/examples/index-case-1.py", entry = "tensor_split_kernel_",
    sha256 = "8b042033a4c90ff5ab173bf96ffaa62a4747ffe54c01ddfdfc3171b495a109be",
    case = "in_tensor=bfloat16[4,5]", reference = "(in_tensor[:, 0::2], in_tensor[:, 1::2])" },
  { repo = SAMPLES, path = "contributed/matmul.py", sha256 = false, case = "A_DRAM=float32[128,128], B_DRAM=float32[128,512]", code = "old-dialect" },
}

local MATMULS <const> = {
  { "nki_matmul_basic_", "lhsT=bfloat16[128,64], rhs=bfloat16[128,512]" },
  { "nki_matmul_tiled_", "lhsT=bfloat16[256,256], rhs=bfloat16[256,1024]" },
  { "nki_matmul_hoist_load_", "lhsT=bfloat16[256,256], rhs=bfloat16[256,1024]" },
  { "nki_matmul_block_free_dimension_", "lhsT=bfloat16[256,512], rhs=bfloat16[256,1024]" },
  { "nki_matmul_fully_optimized_",
    "lhsT=float32[512,256], rhs=float32[512,1024], TILES_IN_BLOCK_M=2, TILES_IN_BLOCK_N=2, TILES_IN_BLOCK_K=2" },
}
for _, row in ipairs(MATMULS) do
  rows[#rows + 1] = { repo = SDK, path = MATMUL, sha256 = MATMUL_HASH, entry = row[1], case = row[2], reference = PRODUCT }
  rows[#rows + 1] = { repo = SAMPLES, path = SAMPLES_MATMUL, sha256 = SAMPLES_HASH, entry = row[1], case = row[2], reference = PRODUCT }
end
for _, entry in ipairs { "mamba_v1", "mamba_v2", "mamba_v3" } do
  rows[#rows + 1] = { repo = SDK, path = MAMBA, sha256 = MAMBA_HASH, entry = entry, reference = SCAN, signs = { delta = 1, A = -1 },
    case = "delta=float32[1,128,512], u=float32[1,128,512], A=float32[128,4], B=float32[1,4,512], C=float32[1,4,512]" }
end

return rows
