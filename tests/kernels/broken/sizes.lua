-- SPDX-License-Identifier: MIT
-- Broken kernels: sizes and shapes. See broken.lua for the fields.

local rows <const> = {}
local function row(r) rows[#rows + 1] = r end

row { code = "partition-exceeds-limit", name = "whole tensor as one tile", case = "x=float32[300,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=tile, src=x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.exp, data=tile)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=y)
return out
]], fixed = "nl.tile_size.pmax" }

row { code = "partition-exceeds-limit", name = "whole tensor loaded at once", case = "x=float32[300,64], b=float32[300,1]", repairs = 1,
  reference = "numpy.tanh(x + b)", body = [[
"""Adds a column
and squashes."""
xt = nl.load(x)
bt = nl.load(b)
y = nl.tanh(nl.add(xt, bt))
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nl.load(x[row:row + rows])" }

row { code = "partition-exceeds-limit", name = "a slice of 256 rows", case = "x=float32[256,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
out = nl.ndarray((256, 64), dtype=x.dtype, buffer=nl.shared_hbm)
xt = nl.load(x[0:256, 0:64])
nl.store(out[0:256, 0:64], value=nl.exp(xt))
return out
]] }

row { code = "partition-exceeds-limit", name = "tile constant of 256", case = "x=float32[512,64]", repairs = 1, reference = "x", body = [[
TILE = 256
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
for i in range(x.shape[0] // TILE):
    tile = nl.ndarray((TILE, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[i * TILE:(i + 1) * TILE, :])
    nisa.dma_copy(dst=out[i * TILE:(i + 1) * TILE, :], src=tile)
return out
]], fixed = "TILE = nl.tile_size.pmax" }

row { code = "partition-mismatch", name = "one row for all partitions", case = "x=float32[128,64], w=float32[1,64]", repairs = 1,
  reference = "x * w", body = [[
t = nl.load(x)
r = nl.load(w)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=r, op=nl.multiply)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nl.broadcast_to(r, t.shape)" }

row { code = "free-size-mismatch", name = "a reduction result as if it broadcast", case = "x=float32[128,64]", repairs = 1,
  reference = "x - x.max(axis=1, keepdims=True)", body = [[
t = nl.load(x)
m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=m, op=nl.subtract)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nisa.tensor_scalar(dst=y, data=t, op0=nl.subtract, operand0=m)" }

row { code = "free-size-mismatch", name = "per-row operand first", case = "x=float32[128,64]", repairs = 1,
  reference = "x.max(axis=1, keepdims=True) - x", body = [[
t = nl.load(x)
m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=m, data2=t, op=nl.subtract)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "reverse0=True" }

row { code = "free-size-mismatch", name = "per-row operand that is not fp32", case = "x=bfloat16[128,64]", repairs = 1,
  reference = "x - x.max(axis=1, keepdims=True)", body = [[
t = nl.load(x)
m = nl.ndarray((128, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=m, op=nl.subtract)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "m.broadcast(1, 64)" }

-- .ap addresses the storage: the result of a reduction that lies inside a wider tile keeps its own column and row length.
row { code = "free-size-mismatch", name = "per-row operand sliced from a wider tile, before .broadcast existed", case = "x=bfloat16[128,64]",
  version = "0.4", repairs = 1, reference = "x - x.max(axis=1, keepdims=True)", body = [[
t = nl.load(x)
stats = nl.ndarray((128, 4), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.memset(dst=stats, value=7.0)
nisa.tensor_reduce(dst=stats[:, 2:3], op=nl.maximum, data=t, axis=1)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=stats[:, 2:3], op=nl.subtract)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "stats[:, 2:3].ap(pattern=[[4, 128], [0, 64]])" }

row { code = "free-size-mismatch", name = "copy into a tile of another size", case = "x=float32[128,64]", repairs = 1, reference = "x", body = [[
t = nl.load(x)
y = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]] }

row { code = "shape-mismatch", name = "DMA of another number of elements", case = "x=float32[128,64]", repairs = 1, reference = "x", body = [[
t = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=t)
return out
]] }

row { code = "out-of-bounds", name = "last tile of a ragged size", case = "x=float32[200,64]", repairs = 4, reference = "x", body = [[
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
for i in range(2):
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[i * 128:(i + 1) * 128, :])
    nisa.dma_copy(dst=out[i * 128:(i + 1) * 128, :], src=tile)
return out
]], fixed = "min((i + 1) * 128, x.shape[0])" }

return rows
