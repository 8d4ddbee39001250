-- SPDX-License-Identifier: MIT
-- The kernels that mutations break, each with small ragged cases. `folder`: where NAME.py and NAME_ref.py are. `writes`: a function
-- of tests/kernels/written/references.py; the writer makes the kernel from it when the test runs.

return {
  { name = "row_total", folder = "tests/mutations", cases = { "x=float32[130,65], weight=float32[130,1]" } },
  { name = "softmax", cases = { "x=bfloat16[256,40], scale=0.125", "x=bfloat16[130,65], scale=0.5" } },
  { name = "rmsnorm", cases = { "x=float32[256,32], weight=float32[1,32], eps=0.5", "x=float32[130,65], weight=float32[1,65], eps=0.5" } },
  { name = "layernorm", cases = { "x=float32[256,32], gamma=float32[1,32], beta=float32[1,32], eps=0.5",
    "x=float32[130,65], gamma=float32[1,65], beta=float32[1,65], eps=0.5" } },
  { name = "tensor_add", cases = { "a=float32[130,65], b=float32[130,65]" } },
  { name = "written_rmsnorm", writes = "rmsnorm", cases = { "x=float32[130,65], w=float32[65], eps=0.5" } },
  { name = "written_silu_mul", writes = "silu_mul", cases = { "a=bfloat16[130,33], b=bfloat16[130,33]" } },
  { name = "written_logsumexp", writes = "logsumexp", cases = { "x=float32[200,65]" } },
  { name = "matmul_tiled", cases = { "a_t=bfloat16[256,64], b=bfloat16[256,40]", "a_t=bfloat16[200,77], b=bfloat16[200,600]" } },
}
