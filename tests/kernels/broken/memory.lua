-- SPDX-License-Identifier: MIT
-- Broken kernels: memories, engines, outputs, views. See broken.lua for the fields.

local rows <const> = {}
local AB <const> = "a=float32[128,64], b=float32[128,256]"
local function row(r) rows[#rows + 1] = r end

row { code = "psum-dma", name = "product stored from PSUM", case = AB, repairs = 1, reference = "a.T @ b", body = [[
at = nl.load(a)
bt = nl.load(b)
ps = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps, stationary=at, moving=bt)
out = nl.ndarray((64, 256), dtype=a.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=ps)
return out
]], fixed = "nisa.tensor_copy(dst=ps_sb, src=ps)" }
row { code = "hbm-operand", name = "computing on HBM", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "x_sb" }
row { code = "hbm-operand", name = "computing into HBM", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
t = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.activation(dst=out, op=nl.exp, data=t)
return out
]] }
row { code = "two-psum-operands", name = "both operands in PSUM", case = "a=float32[128,64], b=float32[128,256]", repairs = 1,
  reference = "a.T @ b + a.T @ b", body = [[
at = nl.load(a)
bt = nl.load(b)
p1 = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p1, stationary=at, moving=bt)
p2 = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p2, stationary=at, moving=bt)
sb = nl.ndarray((64, 256), dtype=a.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=sb, data1=p1, data2=p2, op=nl.add)
out = nl.ndarray((64, 256), dtype=a.dtype, buffer=nl.shared_hbm)
nl.store(out, value=sb)
return out
]] }
row { code = "buffer-not-allowed", name = "GpSimd on PSUM", case = AB, repairs = 1, body = [[
at = nl.load(a)
bt = nl.load(b)
ps = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps, stationary=at, moving=bt)
sb = nl.ndarray((64, 256), dtype=a.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps, engine=nisa.engine.gpsimd)
out = nl.ndarray((64, 256), dtype=a.dtype, buffer=nl.shared_hbm)
nl.store(out, value=sb)
return out
]] }
row { code = "engine-unsupported", name = "iota on the Vector Engine", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=t, op=nl.add, engine=nisa.engine.scalar)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]] }
row { code = "hwdge-dtype", name = "hardware descriptors between types", case = "x=float32[128,64]", body = [[
t = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x, dge_mode=nisa.dge_mode.hwdge)
return t
]] }
row { code = "target-unsupported", name = "a trn3 instruction on trn2", case = "x=float32[128,64]", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.exponential(dst=y, src=t)
return y
]] }


row { code = "output-not-shared-hbm", name = "output in private HBM", case = "x=float32[128,64]", repairs = 1, reference = "x", body = [[
t = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
nisa.dma_copy(dst=out, src=t)
return out
]], fixed = "buffer=nl.shared_hbm" }
row { code = "output-not-shared-hbm", name = "a tile returned", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=t)
return y
]], fixed = "nl.shared_hbm" }
row { code = "immutable-input", name = "an input written and not returned", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.load(x)
nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
nl.store(x, value=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]] }
row { code = "output-not-written", name = "half an output", case = "x=float32[128,64]", body = [[
t = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out[0:64, :], src=t[0:64, :])
return out
]] }


row { code = "ap-out-of-range", name = "a pattern outside the tile", case = "x=float32[128,64]", body = [==[
t = nl.load(x)
y = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=t.ap(pattern=[[64, 128], [2, 64]]))
return y
]==] }
row { code = "ap-partition-step", name = "a pattern over every other partition", case = "x=float32[128,64]", body = [==[
t = nl.load(x)
y = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=t.ap(pattern=[[128, 64], [1, 64]]))
return y
]==] }
row { code = "reshape-mismatch", name = "another number of elements", case = "x=float32[128,64]", body = [[
t = nl.load(x)
y = t.reshape((128, 63))
return y
]] }
row { code = "negative-step", name = "backwards", case = "x=float32[128,64]", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=t[:, ::-1])
return y
]] }
row { code = "index-type", name = "more indices than dimensions", case = "x=float32[128,64]", body = "t = nl.load(x)\ny = t[:, 0:1, 0:1]\nreturn y\n" }
row { code = "indirect-index", name = "a float index", case = "x=float32[128,64]", body = [==[
idx = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.memset(dst=idx, value=0.0)
t = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x.ap(pattern=[[64, 64], [1, 64]], vector_offset=idx, indirect_dim=0))
return t
]==] }
row { code = "indirect-view", name = "a compute instruction on a run-time index", case = "x=float32[128,64]", body = [==[
t = nl.load(x)
idx = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
nisa.memset(dst=idx, value=0)
y = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=t.ap(pattern=[[64, 128], [1, 1]], scalar_offset=idx, indirect_dim=1))
return y
]==] }
row { code = "pattern-dims", name = "a view of five free dimensions", case = "x=float32[128,1024]", body = [[
t = nl.load(x)
v = t.reshape((128, 4, 4, 4, 4, 4)).permute((0, 5, 4, 3, 2, 1))
y = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=v)
return y
]] }
row { code = "address-invalid", name = "a partition beyond the memory", case = "x=float32[128,64]", body = [[
t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(64, 0))
return t
]] }
row { code = "dst-repeats", name = "writing through a broadcast view", case = "x=float32[128,64]", body = [[
t = nl.load(x)
y = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y.broadcast(1, 64), src=t)
return y
]] }

return rows
