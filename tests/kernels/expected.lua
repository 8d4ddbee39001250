-- SPDX-License-Identifier: MIT
-- The kernels of this folder and what is expected of them. NAME.py holds the kernel, NAME_ref.py its NumPy reference (a
-- function of the kernel's name). `checks = false` rows state the code of the diagnostic they must raise.
-- `small` keeps the sizes that run in a fraction of a second; sizes are chosen ragged where the kernel allows it.

return {
  { name = "tensor_add", entry = "tensor_add", cases = { "a=float32[128,512], b=float32[128,512]", "a=bfloat16[200,777], b=bfloat16[200,777]" } },
  { name = "softmax", entry = "scaled_softmax", cases = { "x=bfloat16[256,1024], scale=0.125", "x=float32[77,301], scale=0.5" } },
  { name = "rmsnorm", entry = "rmsnorm", cases = { "x=bfloat16[256,512], weight=bfloat16[1,512]", "x=float32[130,129], weight=float32[1,129], eps=1e-6" } },
  { name = "layernorm", entry = "layernorm", cases = { "x=bfloat16[128,1024], gamma=float32[1,1024], beta=float32[1,1024]",
    "x=float32[33,65], gamma=float32[1,65], beta=float32[1,65]" } },
  { name = "batchstats", entry = "batchstats", cases = { "x=float32[128,1536]", "x=bfloat16[64,768]" } },
  { name = "matmul_tiled", entry = "matmul_tiled", cases = { "a_t=bfloat16[256,128], b=bfloat16[256,512]", "a_t=float32[200,77], b=float32[200,519]" } },
  { name = "matmul_blocked", entry = "matmul_blocked", cases = { "a_t=bfloat16[256,512], b=bfloat16[256,1024], block_n=2" } },
  { name = "transpose", entry = "transpose", cases = { "x=float32[128,256]", "x=bfloat16[130,67]" } },
  { name = "average_pool", entry = "average_pool", cases = { "x=float32[64,12,18], window=3", "x=bfloat16[128,8,8]" } },
  { name = "cumsum", entry = "cumsum", cases = { "x=float32[128,2048]", "x=bfloat16[50,1100]" } },
  { name = "recurrence", entry = "recurrence", cases = { "decay=float32[96,33], x=float32[96,33], h0=float32[96,1]" } },
  { name = "attention", entry = "attention", cases = { "q_t=bfloat16[64,256], k_t=bfloat16[64,384], v=bfloat16[384,64]",
    "q_t=float32[32,100], k_t=float32[32,600], v=float32[600,32]" } },
  { name = "swiglu", entry = "swiglu", cases = { "x=bfloat16[128,256], w_gate=bfloat16[256,640], w_up=bfloat16[256,640], w_down=bfloat16[640,256]" } },
  { name = "bias_gelu", entry = "bias_gelu", cases = { "x_t=bfloat16[192,256], bias=float32[192,1]" } },
  { name = "load_store", entry = "load_store", cases = { "a=float32[128,512], b=float32[128,512]" } },
  { name = "causal_mask", entry = "causal_mask", cases = { "scores=float32[200,256]" } },
}
