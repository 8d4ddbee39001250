-- SPDX-License-Identifier: MIT
-- Broken kernels: calls and names. See broken.lua for the fields.

local rows <const> = {}
local function row(r) rows[#rows + 1] = r end

row { code = "missing-argument", name = "result assigned, dst missing", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
y = nisa.activation(op=nl.exp, data=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=y)
return out
]], fixed = "dst=y, op=nl.exp" }

row { code = "missing-argument", name = "positional call of the old dialect", case = "x=float32[128,64]", repairs = 1, reference = "x + x", body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
y = nisa.tensor_tensor(t, t, nl.add)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=y)
return out
]], fixed = "nisa.tensor_tensor(y, t, t, nl.add)" }

row { code = "missing-argument", name = "dst forgotten, its tile waits", case = "x=float32[128,64]", repairs = 1, reference = "x * 2.0", body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_scalar(data=t, op0=nl.multiply, operand0=2.0)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=y)
return out
]], fixed = "nisa.tensor_scalar(dst=y, data=t" }

row { code = "missing-argument", name = "matmul without dst", case = "a=float32[128,64], b=float32[128,256]", repairs = 1, reference = "a.T @ b", body = [[
at = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
bt = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=at, src=a)
nisa.dma_copy(dst=bt, src=b)
ps = nisa.nc_matmul(stationary=at, moving=bt)
sb = nl.ndarray(ps.shape, dtype=a.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps)
out = nl.ndarray(ps.shape, dtype=a.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=sb)
return out
]], fixed = "buffer=nl.psum" }

row { code = "missing-argument", name = "call inside an expression", case = "x=float32[128,64]", repairs = 1, reference = "1.0 / x", body = [[
t = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=nisa.reciprocal(data=t))
return out
]], fixed = "reciprocal_out" }

row { code = "missing-argument", name = "reduction without dst", case = "x=float32[128,64]", repairs = 1,
  reference = "x.sum(axis=1, keepdims=True)", body = [[
t = nl.load(x)
s = nisa.tensor_reduce(op=nl.add, data=t, axis=1)
out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=s)
return out
]] }

row { code = "unexpected-keyword", name = "wrong keyword", case = "x=float32[128,64]", repairs = 1, reference = "x * 3.0", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_scalar(dst=y, data=t, op0=nl.multiply, scalar=3.0)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "operand0=3.0", has = "scalar" }

row { code = "unexpected-keyword", name = "op= and operand= of tensor_scalar", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_scalar(dst=y, data=t, op=nl.multiply, operand=3.0)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "op0=nl.multiply, operand0=3.0" }

row { code = "unexpected-keyword", name = "dtype= of the old dialect", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=t, dtype=nl.float32)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "data=t)" }

row { code = "duplicate-argument", name = "dst by position and by name", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(y, t, dst=y)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]] }

row { code = "too-many-arguments", name = "one argument too many", case = "x=float32[128,64]", body = [[
t = nl.load(x, nl.float32, 3)
return t
]] }

row { code = "unknown-name", name = "misspelt instruction", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tenser(dst=y, data1=t, data2=t, op=nl.add)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nisa.tensor_tensor", has = "tensor_tenser" }

row { code = "unknown-name", name = "invented instruction for an operator", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.exp(dst=y, data=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nisa.activation(dst=y, op=nl.exp, data=t)" }

row { code = "unknown-name", name = "invented nisa.rsqrt", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.rsqrt(y, t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "op=nl.rsqrt" }

row { code = "unknown-name", name = "function of the other module", case = "x=float32[128,64]", repairs = 2, body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nl.dma_copy(dst=t, src=x)
out = nl.ndarray(x.shape, dtype=nl.fp32, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "nisa.dma_copy" }

row { code = "unknown-name", name = "misspelt local name", case = "x=float32[128,64]", repairs = 1, body = [[
tile = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=tilee)
return out
]], fixed = "value=tile)" }

row { code = "tensor-operator", name = "Python's + on tiles", case = "x=float32[128,64]", repairs = 2, reference = "(x + x) * 0.5", body = [[
t = nl.load(x)
y = (t + t) * 0.5
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nl.multiply(" }

row { code = "tensor-in-condition", name = "a tensor as a condition", case = "x=float32[128,64]", body = [[
t = nl.load(x)
if t:
    return x
return t
]] }

row { code = "op-not-simulated", name = "an instruction the machine does not execute", case = "x=float32[128,64]", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dropout(dst=y, data=t, prob=0.5)
return y
]] }

row { code = "not-a-tensor", name = "a number where a tensor is needed", case = "x=float32[128,64]", body = [[
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=1.0)
return y
]] }

return rows
