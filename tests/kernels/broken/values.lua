-- SPDX-License-Identifier: MIT
-- Broken kernels: types, operators, values. See broken.lua for the fields.

local rows <const> = {}
local function row(r) rows[#rows + 1] = r end

row { code = "operand-not-vector", name = "two tiles in tensor_scalar", case = "x=float32[128,64]", repairs = 1, reference = "x * x", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_scalar(dst=y, data=t, op0=nl.multiply, operand0=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nisa.tensor_tensor(dst=y, data1=t, data2=t, op=nl.multiply)" }
row { code = "operand-dtype", name = "bf16 per-row operand", case = "x=bfloat16[128,64]", repairs = 1, body = [[
t = nl.load(x)
m = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_scalar(dst=y, data=t, op0=nl.subtract, operand0=m)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "dtype=nl.float32" }
row { code = "scale-not-vector", name = "a tile as scale", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x * x)", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=t, scale=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]] }
row { code = "bias-not-vector", name = "a tile as bias", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x + x)", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=t, bias=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]] }
row { code = "dtype-unsupported", name = "a type that is none", case = "x=float32[128,64]", body = "t = nl.ndarray((128, 64), dtype=7)\nreturn t\n" }
row { code = "dtype-unsupported", name = "integers in a matmul", case = "x=int32[128,64]", body = [[
t = nl.load(x)
ps = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps, stationary=t, moving=t)
return ps
]] }
row { code = "operand-dtype", name = "a bf16 scale", case = "x=bfloat16[128,64]", repairs = 1, body = [[
t = nl.load(x)
m = nl.ndarray((128, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=t, scale=m)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "dtype=nl.float32" }
row { code = "accumulator-undefined", name = "a running sum that is never reset", case = "x=float32[128,64]", repairs = 1,
  reference = "x.sum(axis=1, keepdims=True)", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.copy, data=t, reduce_op=nl.add, reduce_res=s, reduce_cmd=nisa.reduce_cmd.reduce)
out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, value=s)
return out
]], fixed = "reset_reduce" }
row { code = "pattern-size", name = "iota of another length", case = "x=float32[128,64]", body = [==[
y = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.sbuf)
nisa.iota(dst=y, pattern=[[1, 32]])
return y
]==] }
row { code = "free-exceeds-limit", name = "bn_stats of 1024 columns", case = "x=float32[128,1024]", body = [[
t = nl.load(x)
y = nl.ndarray((128, 6), dtype=nl.float32, buffer=nl.sbuf)
nisa.bn_stats(dst=y, data=t)
return y
]] }
row { code = "integer-overflow", name = "an integer beyond 64 bits", case = "x=float32[128,64]", body = "n = 2 ** 70\nreturn x\n" }
row { code = "op-unsupported", name = "an activation in tensor_tensor", case = "x=float32[128,64]", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=t, op=nl.tanh)
return y
]] }
row { code = "op-unsupported", name = "nl.max as an operator", case = "x=float32[128,64]", repairs = 1, reference = "x.max(axis=1, keepdims=True)", body = [[
t = nl.load(x)
y = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_reduce(dst=y, op=nl.max, data=t, axis=1)
out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "op=nl.maximum" }
row { code = "axis-not-free", name = "reduction over partitions", case = "x=float32[128,64]", repairs = 1,
  reference = "x.sum(axis=1, keepdims=True)", body = [[
t = nl.load(x)
s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=s, op=nl.add, data=t, axis=0)
out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
nl.store(out, value=s)
return out
]], fixed = "axis=1" }
row { code = "axis-not-trailing", name = "reduction over a middle axis", case = "x=float32[128,4,16]", body = [[
t = nl.load(x)
s = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=s, op=nl.add, data=t, axis=1)
return s
]] }
row { code = "memset-type", name = "a float into an integer tile", case = "x=int32[128,64]", repairs = 1, reference = "x * 0 + 2", body = [[
y = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.sbuf)
nisa.memset(dst=y, value=2.0)
out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "value=2)" }
row { code = "uninitialized-read", name = "accumulator not cleared", case = "x=float32[128,64]", repairs = 1, reference = "x + x", body = [[
t = nl.load(x)
acc = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
for i in range(2):
    nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=acc)
return out
]], fixed = "nisa.memset(dst=acc, value=0.0)" }
row { code = "uninitialized-read", name = "a tile nobody wrote", case = "x=float32[128,64]", body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=t)
return out
]] }
row { code = "value-type", name = "a shape that is none", case = "x=float32[128,64]", body = [[
t = nl.ndarray("128", dtype=x.dtype, buffer=nl.sbuf)
return t
]] }

return rows
