-- SPDX-License-Identifier: MIT
-- Kernels that public numeric gates accept although they are wrong, and correct ones that gates reject. Each row says what
-- the verifier must answer: "proved", "algorithm" (the maths is wrong) or "rounding" (the maths is right, undeclared precision is lost).

local HEAD <const> = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"

-- One 128-row tile in, one out; `body` computes out_t from x_t.
local function rowwise(name, params, body)
  return HEAD .. ("def %s(%s):\n"):format(name, params) .. [[
    rows, n = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        p = min(128, rows - r)
        x_t = nl.ndarray((p, n), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_t, src=x[r:r + p, 0:n])
        out_t = nl.ndarray((p, n), dtype=x.dtype, buffer=nl.sbuf)
]] .. body:gsub("([^\n]+)", "        %1") .. [[
        nisa.dma_copy(dst=out[r:r + p, 0:n], src=out_t)
    return out
]]
end

-- a_t (K, M) and b (K, N) with M <= 128, N <= 512: K tiles of 128. `k_last`: how many K rows are summed; `inputs`: dtype the operands are cast to;
-- `sums`: dtype in which the K blocks are added up.
local function matmul(options)
  local lines <const> = {
    "def matmul(a_t, b):", "    k_size, m = a_t.shape", "    n = b.shape[1]", "    out = nl.ndarray((m, n), dtype=a_t.dtype, buffer=nl.shared_hbm)",
  }
  local function add(text) lines[#lines + 1] = text end
  if options.sums then
    add("    total = nl.ndarray((m, n), dtype=nl." .. options.sums .. ", buffer=nl.sbuf)")
    add("    nisa.memset(dst=total, value=0.0)")
  end
  add("    acc = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)")
  add("    for k in range(0, k_size, 128):")
  add("        a_tile = nl.ndarray((128, m), dtype=a_t.dtype, buffer=nl.sbuf)")
  add("        b_tile = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)")
  if options.drop_last then
    add("        nisa.memset(dst=b_tile, value=0.0)")
    add("        keep = 127 if k + 128 >= k_size else 128")
    add("        nisa.dma_copy(dst=a_tile, src=a_t[k:k + 128, 0:m])")
    add("        nisa.dma_copy(dst=b_tile[0:keep, 0:n], src=b[k:k + keep, 0:n])")
  else
    add("        nisa.dma_copy(dst=a_tile, src=a_t[k:k + 128, 0:m])")
    add("        nisa.dma_copy(dst=b_tile, src=b[k:k + 128, 0:n])")
  end
  if options.inputs then
    add("        a_low = nl.ndarray((128, m), dtype=nl." .. options.inputs .. ", buffer=nl.sbuf)")
    add("        b_low = nl.ndarray((128, n), dtype=nl." .. options.inputs .. ", buffer=nl.sbuf)")
    add("        nisa.tensor_copy(dst=a_low, src=a_tile)")
    add("        nisa.tensor_copy(dst=b_low, src=b_tile)")
  end
  local a <const>, b <const> = options.inputs and "a_low" or "a_tile", options.inputs and "b_low" or "b_tile"
  if options.first_block_only then
    add("        if k == 0:")
    add(("            nisa.nc_matmul(dst=acc, stationary=%s, moving=%s, accumulate=False)"):format(a, b))
  elseif options.sums then
    add(("        nisa.nc_matmul(dst=acc, stationary=%s, moving=%s, accumulate=False)"):format(a, b))
    add("        nisa.tensor_tensor(dst=total, data1=total, data2=acc, op=nl.add)")
  else
    add(("        nisa.nc_matmul(dst=acc, stationary=%s, moving=%s, accumulate=(k > 0))"):format(a, b))
  end
  add("    res = nl.ndarray((m, n), dtype=out.dtype, buffer=nl.sbuf)")
  if options.factor then
    add(("    nisa.tensor_copy(dst=res, src=acc)"))
    add(("    nisa.tensor_scalar(dst=res[32:33, 7:8], data=acc[32:33, 7:8], op0=nl.multiply, operand0=%s)"):format(options.factor))
  else
    add("    nisa.tensor_copy(dst=res, src=" .. (options.sums and "total" or "acc") .. ")")
  end
  add("    nisa.dma_copy(dst=out, src=res)")
  add("    return out")
  return HEAD .. table.concat(lines, "\n") .. "\n"
end

local SOFTMAX_NO_MAX <const> = [[
e_t = nl.ndarray((p, n), dtype=nl.float32, buffer=nl.sbuf)
total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.activation_reduce(dst=e_t, op=nl.exp, data=x_t, reduce_op=nl.add, reduce_res=total)
inv = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.reciprocal(dst=inv, data=total)
nisa.tensor_scalar(dst=out_t, data=e_t, op0=nl.multiply, operand0=inv)
]]

local SOFTMAX <const> = [[
neg = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=neg, op=nl.maximum, data=x_t, axis=1, negate=True)
e_t = nl.ndarray((p, n), dtype=nl.float32, buffer=nl.sbuf)
total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.activation_reduce(dst=e_t, op=nl.exp, data=x_t, bias=neg, reduce_op=nl.add, reduce_res=total)
inv = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.reciprocal(dst=inv, data=total)
nisa.tensor_scalar(dst=out_t, data=e_t, op0=nl.multiply, operand0=inv)
]]

-- Small probabilities cut to zero.
local SOFTMAX_TAILS <const> = SOFTMAX:gsub("dst=out_t, data=e_t", "dst=e_t, data=e_t") .. [[
keep = nl.ndarray((p, n), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_scalar(dst=keep, data=e_t, op0=nl.greater, operand0=3e-6)
nisa.tensor_tensor(dst=out_t, data1=e_t, data2=keep, op=nl.multiply)
]]

local SILU <const> = "nisa.activation(dst=out_t, op=nl.silu, data=x_t)\n"
local SILU_BF16 <const> = [[
low = nl.ndarray((p, n), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.activation(dst=low, op=nl.silu, data=x_t)
nisa.tensor_copy(dst=out_t, src=low)
]]

local function rmsnorm(eps, normalise)
  return ([[
sq = nl.ndarray((p, n), dtype=nl.float32, buffer=nl.sbuf)
ms = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.activation_reduce(dst=sq, op=nl.square, data=x_t, reduce_op=nl.add, reduce_res=ms)
nisa.tensor_scalar(dst=ms, data=ms, op0=nl.multiply, operand0=1.0 / n, op1=nl.add, operand1=%s)
inv = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.activation(dst=inv, op=nl.rsqrt, data=ms)
]]):format(eps) .. (normalise and "nisa.tensor_scalar(dst=out_t, data=x_t, op0=nl.multiply, operand0=inv)\n" or "nisa.tensor_copy(dst=out_t, src=x_t)\n")
end

-- theta - lr g - lr decay theta; `decayed` keeps the last term, `step` is a factor of the gradient's.
local function adamw(decayed, updated)
  local lines <const> = {
    "def adamw(theta, g, lr, decay):", "    p, n = theta.shape", "    out = nl.ndarray(theta.shape, dtype=theta.dtype, buffer=nl.shared_hbm)",
    "    t = nl.ndarray((p, n), dtype=theta.dtype, buffer=nl.sbuf)", "    g_t = nl.ndarray((p, n), dtype=g.dtype, buffer=nl.sbuf)",
      "    nisa.dma_copy(dst=t, src=theta)",
    "    nisa.dma_copy(dst=g_t, src=g)", "    res = nl.ndarray((p, n), dtype=theta.dtype, buffer=nl.sbuf)",
  }
  if decayed then
    lines[#lines + 1] = "    nisa.tensor_scalar(dst=res, data=t, op0=nl.multiply, operand0=1.0 - lr * decay)"
  else
    lines[#lines + 1] = "    nisa.tensor_copy(dst=res, src=t)"
  end
  if updated then lines[#lines + 1] = "    nisa.scalar_tensor_tensor(dst=res, data=g_t, op0=nl.multiply, operand0=-lr, op1=nl.add, operand1=res)" end
  lines[#lines + 1] = "    nisa.dma_copy(dst=out, src=res)"
  lines[#lines + 1] = "    return out"
  return HEAD .. table.concat(lines, "\n") .. "\n"
end

-- Attention over one tile: d and sequence at most 128. `scores`: how the scores become weights.
local function attention(kind)
  local scale <const> = kind == "unscaled" and "1.0" or "d ** -0.5"
  local body <const> = {
    "def attention(q_t, k_t, v):", "    d, s = q_t.shape", "    out = nl.ndarray((s, d), dtype=v.dtype, buffer=nl.shared_hbm)",
    "    v_s = nl.ndarray((s, d), dtype=v.dtype, buffer=nl.sbuf)", "    nisa.dma_copy(dst=v_s, src=v)",
    "    w = nl.ndarray((s, s), dtype=nl.float32, buffer=nl.sbuf)", "    inv = nl.ndarray((s, 1), dtype=nl.float32, buffer=nl.sbuf)",
  }
  local function add(text) body[#body + 1] = "    " .. text end
  if kind == "mean" then
    add("nisa.memset(dst=w, value=1.0)")
    add("nisa.memset(dst=inv, value=1.0 / s)")
  else
    add("q_s = nl.ndarray((d, s), dtype=q_t.dtype, buffer=nl.sbuf)")
    add("k_s = nl.ndarray((d, s), dtype=k_t.dtype, buffer=nl.sbuf)")
    add("nisa.dma_copy(dst=q_s, src=q_t)")
    add("nisa.dma_copy(dst=k_s, src=k_t)")
    add("scores = nl.ndarray((s, s), dtype=nl.float32, buffer=nl.psum)")
    add("nisa.nc_matmul(dst=scores, stationary=q_s, moving=k_s)")
    add("scaled = nl.ndarray((s, s), dtype=nl.float32, buffer=nl.sbuf)")
    add("nisa.tensor_scalar(dst=scaled, data=scores, op0=nl.multiply, operand0=" .. scale .. ")")
    add("total = nl.ndarray((s, 1), dtype=nl.float32, buffer=nl.sbuf)")
    if kind == "no max" then
      add("nisa.activation_reduce(dst=w, op=nl.exp, data=scaled, reduce_op=nl.add, reduce_res=total)")
    else
      add("neg = nl.ndarray((s, 1), dtype=nl.float32, buffer=nl.sbuf)")
      add("nisa.tensor_reduce(dst=neg, op=nl.maximum, data=scaled, axis=1, negate=True)")
      add("nisa.activation_reduce(dst=w, op=nl.exp, data=scaled, bias=neg, reduce_op=nl.add, reduce_res=total)")
    end
    add("nisa.reciprocal(dst=inv, data=total)")
  end
  add("w_t = nl.ndarray((s, s), dtype=nl.float32, buffer=nl.psum)")
  add("nisa.nc_transpose(dst=w_t, data=w)")
  add("w_s = nl.ndarray((s, s), dtype=nl.float32, buffer=nl.sbuf)")
  add("nisa.tensor_copy(dst=w_s, src=w_t)")
  add("o = nl.ndarray((s, d), dtype=nl.float32, buffer=nl.psum)")
  add("nisa.nc_matmul(dst=o, stationary=w_s, moving=v_s)")
  add("res = nl.ndarray((s, d), dtype=v.dtype, buffer=nl.sbuf)")
  if kind == "not normalised" then add("nisa.tensor_copy(dst=res, src=o)") else add("nisa.tensor_scalar(dst=res, data=o, op0=nl.multiply, operand0=inv)") end
  add("nisa.dma_copy(dst=out, src=res)")
  add("return out")
  return HEAD .. table.concat(body, "\n") .. "\n"
end

local function selective(kind)
  local body = "def selective(delta, a, u):\n    p, n = delta.shape\n    out = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)\n"
  for _, name in ipairs({ "delta", "a", "u" }) do
    body = body .. ("    %s_t = nl.ndarray((p, n), dtype=%s.dtype, buffer=nl.sbuf)\n    nisa.dma_copy(dst=%s_t, src=%s)\n"):format(name, name, name, name)
  end
  body = body .. "    res = nl.ndarray((p, n), dtype=delta.dtype, buffer=nl.sbuf)\n"
  if kind == "zeros" then
    body = body .. "    nisa.memset(dst=res, value=0.0)\n"
  elseif kind == "exp taken as 1" then
    body = body .. "    nisa.tensor_copy(dst=res, src=u_t)\n"
  else
    body = body .. "    nisa.tensor_tensor(dst=res, data1=delta_t, data2=a_t, op=nl.multiply)\n    nisa.activation(dst=res, op=nl.exp, data=res)\n"
      .. "    nisa.tensor_tensor(dst=res, data1=res, data2=u_t, op=nl.multiply)\n"
  end
  return HEAD .. body .. "    nisa.dma_copy(dst=out, src=res)\n    return out\n"
end

local F32 <const>, BF16 <const> = "a_t=float32[1024,128], b=float32[1024,256]", "a_t=bfloat16[4096,128], b=bfloat16[4096,256]"
local ROWS <const> = "x=float32[130,384]"
local ATTENTION <const> = "q_t=float32[64,128], k_t=float32[64,128], v=float32[128,64]"
local ADAMW <const> = "theta=float32[128,256], g=float32[128,256], lr=0.001, decay=0.01"
local SELECTIVE <const> = "delta=float32[128,64], a=float32[128,64], u=float32[128,64]"

return {
  { "matmul: correct, fp32", "matmul", matmul({}), F32, "proved" },
  { "matmul: correct, bf16 inputs declared", "matmul", matmul({}), BF16, "proved" },
  { "matmul: bf16 inputs, undeclared", "matmul", matmul({ inputs = "bfloat16" }), F32, "rounding" },
  { "matmul: K blocks summed in bf16, undeclared", "matmul", matmul({ sums = "bfloat16" }), F32, "rounding" },
  { "matmul: one of K terms dropped", "matmul", matmul({ drop_last = true }), F32, "algorithm" },
  { "matmul: first K tile only", "matmul", matmul({ first_block_only = true }), F32, "algorithm" },
  { "matmul: one output x 1.0001", "matmul", matmul({ factor = "1.0001" }), F32, "algorithm" },
  { "softmax: correct", "softmax", rowwise("softmax", "x", SOFTMAX), ROWS, "proved" },
  { "softmax: without the maximum", "softmax", rowwise("softmax", "x", SOFTMAX_NO_MAX), ROWS, { "algorithm", "rounding" } },
  { "softmax: every p < 3e-6 set to 0", "softmax", rowwise("softmax", "x", SOFTMAX_TAILS), ROWS, "algorithm" },
  { "silu: correct", "silu", rowwise("silu", "x", SILU), ROWS, "proved" },
  { "silu: output rounded to bf16", "silu", rowwise("silu", "x", SILU_BF16), ROWS, "rounding" },
  { "rmsnorm: correct", "rmsnorm", rowwise("rmsnorm", "x, eps", rmsnorm("eps", true)), ROWS .. ", eps=1e-06", "proved" },
  { "rmsnorm: eps 1e-5 for 1e-6", "rmsnorm", rowwise("rmsnorm", "x, eps", rmsnorm("1e-05", true)), ROWS .. ", eps=1e-06", "algorithm" },
  { "rmsnorm: eps dropped", "rmsnorm", rowwise("rmsnorm", "x, eps", rmsnorm("0.0", true)), ROWS .. ", eps=1e-06", "algorithm" },
  { "rmsnorm: normalisation skipped", "rmsnorm", rowwise("rmsnorm", "x, eps", rmsnorm("eps", false)), ROWS .. ", eps=1e-06", "algorithm" },
  { "adamw: correct", "adamw", adamw(true, true), ADAMW, "proved" },
  { "adamw: weight decay dropped", "adamw", adamw(false, true), ADAMW, "algorithm" },
  { "adamw: whole update dropped", "adamw", adamw(false, false), ADAMW, "algorithm" },
  { "attention: correct", "attention", attention("right"), ATTENTION, "proved" },
  { "attention: mean(V), Q and K ignored", "attention", attention("mean"), ATTENTION, "algorithm" },
  { "attention: softmax not normalised", "attention", attention("not normalised"), ATTENTION, "algorithm" },
  { "attention: without 1/sqrt(d)", "attention", attention("unscaled"), ATTENTION, "algorithm" },
  { "attention: without the maximum", "attention", attention("no max"), ATTENTION, { "algorithm", "rounding" } },
  { "selective scan term: correct", "selective", selective("right"), SELECTIVE, "proved" },
  { "selective scan term: zeros", "selective", selective("zeros"), SELECTIVE, "algorithm" },
  { "selective scan term: exp(delta*a) taken as 1", "selective", selective("exp taken as 1"), SELECTIVE, "algorithm" },
}
