-- SPDX-License-Identifier: MIT
-- Kernels broken by hand, one edit each, the way people break them, in a spelling that no mutation operator knows.
--   { kernel, what is wrong, old text, new text }; the repair must be proved. `blocked`: no small change mends it, and the run must
-- say so rather than find one.

local softmax <const> = { name = "hand_softmax", folder = "tests/mutations", cases = { "a=float32[200,50]" } }
local matmul <const> = { name = "hand_matmul", folder = "tests/mutations", cases = { "lhs=bfloat16[200,300], rhs=bfloat16[300,70]" } }
local rms <const> = { name = "hand_rms", folder = "tests/mutations", cases = { "x=float32[200,48], w=float32[1,48], eps=0.01" } }

return {
  { softmax, "the last tile is not counted", "(M + P_MAX - 1) // P_MAX", "M // P_MAX" },
  { softmax, "the end is not clamped", "min(start + P_MAX, M)", "start + P_MAX" },
  { softmax, "the maximum computed and not subtracted", "data=shifted[0:size, :]", "data=a_sb[0:size, :]" },
  { softmax, "the sum taken of another tile", "op=nl.add, data=e[0:size, :]", "op=nl.add, data=shifted[0:size, :]" },
  { softmax, "multiplied by the sum", "operand0=inv[0:size, :]", "operand0=s[0:size, :]" },
  { softmax, "another tile stored", "src=o[0:size, :]", "src=e[0:size, :]" },
  { softmax, "a statistic in bfloat16", "s = nl.ndarray((P_MAX, 1), dtype=nl.float32", "s = nl.ndarray((P_MAX, 1), dtype=nl.bfloat16" },
  { softmax, "a bracket not closed", "size = end - start", "size = (end - start" },
  { softmax, "a true division", "(M + P_MAX - 1) // P_MAX", "(M + P_MAX - 1) / P_MAX" },
  { softmax, "the return forgotten", "    return res\n", "" },
  { matmul, "one K tile only", "for k in range(0, K, TILE_K):", "for k in range(1):" },
  { matmul, "a stale column of tiles", "rhs[k:k + kk, n:n + nn]", "rhs[0:kk, n:n + nn]" },
  { matmul, "the output's starts exchanged", "out[m:m + mm_, n:n + nn]", "out[n:n + mm_, m:m + nn]" },
  { matmul, "the transposed tile allocated the wrong way round", "lt_ps = nl.ndarray((kk, mm_)", "lt_ps = nl.ndarray((mm_, kk)" },
  { rms, "the mean is a sum", "operand0=1.0 / d, op1", "operand0=1.0, op1" },
  { rms, "the weight not applied", "value=res", "value=normed" },
  { rms, "a literal in place of the row's factor, which is then never read", "operand0=r)", "operand0=1.0)" },
  { softmax, "a literal in place of the row's factor, which is then never read", "operand0=inv[0:size, :]", "operand0=1.0" },
  { rms, "rows stored at the top", "nl.store(y[lo:hi, :], value=res)", "nl.store(y[0:p, :], value=res)" },
  { rms, "no instruction for the weight", "nisa.tensor_tensor(dst=res, data1=normed, data2=w_all[0:p, :], op=nl.multiply)",
    "nisa.tensor_copy(dst=res, src=normed)" },
  { rms, "an instruction that no small change gives back", "nisa.activation(dst=r, op=nl.rsqrt, data=mean)", "nisa.tensor_copy(dst=r, src=ms)",
    blocked = true },
}
