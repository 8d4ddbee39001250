-- SPDX-License-Identifier: MIT
-- Broken kernels: partitions, capacity, transposes, views, products, returns, and text that is not Python yet. See broken.lua.

local rows <const> = {}
local function row(r) rows[#rows + 1] = r end
local X <const> = "x=float32[128,64]"

row { code = "start-partition", name = "a copy between partitions 16 and 80", case = X, repairs = 1,
  reference = "numpy.concatenate([numpy.zeros((16, 64)), x[16:80], numpy.zeros((48, 64))])", body = [[
t = nl.load(x)
y = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
nisa.memset(dst=y, value=0.0)
nisa.tensor_copy(dst=y[16:80, :], src=t[16:80, :])
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nisa.dma_copy(dst=y[16:80, :], src=t[16:80, :])" }

row { code = "start-partition", name = "computing from partition 16 on", case = X, repairs = 2,
  reference = "numpy.concatenate([x[:16], numpy.exp(x[16:48]), x[48:]])", body = [[
t = nl.load(x)
nisa.activation(dst=t[16:48, :], op=nl.exp, data=t[16:48, :])
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "t_p0" }

row { code = "sbuf-capacity", name = "rows longer than SBUF", case = "x=float32[128,65536]", repairs = 1, reference = "x", body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=t)
return out
]], has = "the largest is `t` float32[128,65536] of line 9: work on at most 16384 of its 65536 columns at a time",
  fixed = "for col in range(0, x.shape[1], 16384):" }

row { code = "sbuf-capacity", name = "long rows in blocks of rows", case = "x=float32[130,60001], b=float32[130,1]", repairs = 1,
  reference = "numpy.tanh(x * b)", body = [[
rows, cols = x.shape
out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
for r in range(0, rows, 128):
    p = min(128, rows - r)
    scale = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=scale, src=b[r:r + p, :])
    tile = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[r:r + p, 0:cols])
    y = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=y, data=tile, op0=nl.multiply, operand0=scale)
    nisa.activation(dst=y, op=nl.tanh, data=y)
    nisa.dma_copy(dst=out[r:r + p, :], src=y)
return out
]], fixed = "cols2 = min(16384, cols - col)" }

-- A reduction needs the whole row: no edit, and the message says what to cut.
row { code = "sbuf-capacity", name = "a reduction over a row that does not fit", case = "x=float32[128,65536]", body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
m = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=m, op=nl.maximum, data=t, axis=1)
out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=m)
return out
]], has = "work on at most 16384 of its 65536 columns at a time", unrepaired = true }

row { code = "transpose-limit", name = "the Vector Engine asked for more than 32 by 32", case = X, repairs = 1, reference = "x.T", body = [[
t = nl.load(x)
ps = nl.ndarray((64, 128), dtype=x.dtype, buffer=nl.psum)
nisa.nc_transpose(dst=ps, data=t, engine=nisa.engine.vector)
sb = nl.ndarray((64, 128), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps)
out = nl.ndarray((64, 128), dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=sb)
return out
]] }

row { code = "transpose-limit", name = "two blocks of columns side by side", case = "x=float32[64,256]", repairs = 1,
  reference = "numpy.concatenate([x[:, :128].T, x[:, 128:].T], axis=1)", body = [[
t = nl.load(x)
ps = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
nisa.nc_transpose(dst=ps, data=t)
sb = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps)
out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=sb)
return out
]], fixed = "for block in range(t.shape[1] // nl.tile_size.pmax):" }

row { code = "reshape-mismatch", name = "one size too large", case = X, repairs = 1, reference = "x", body = [[
rows, cols = x.shape
flat = x.reshape((rows, cols + 1))
t = nl.load(flat)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "x.reshape((rows, cols))" }

row { code = "tensor-operator", name = "a product written with @", case = "a=bfloat16[64,128], b=bfloat16[128,256]", repairs = 2, reference = "a @ b", body = [[
at = nl.load(a)
bt = nl.load(b)
product = at @ bt
out = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=product)
return out
]], has = "nisa.nc_matmul", fixed = "nisa.nc_matmul(dst=product, stationary=at_t, moving=bt)" }

row { code = "unknown-name", name = "a sum of products written with .T and @", case = "a=float32[256,64], b=float32[256,32]", repairs = 1,
  reference = "a.T @ b", body = [[
acc = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.psum)
for k in range(0, 256, 128):
    at = nl.load(a[k:k + 128, :])
    bt = nl.load(b[k:k + 128, :])
    acc = at.T @ bt
sb = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=acc)
out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=sb)
return out
]], fixed = "nisa.nc_matmul(dst=acc, stationary=at, moving=bt)" }

row { code = "nothing-returned", name = "the return forgotten", case = X, repairs = 1, reference = "x", body = [[
t = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
]], fixed = "return out" }

row { code = "output-not-shared-hbm", name = "the tile returned instead of the output", case = X, repairs = 1, reference = "numpy.exp(x)", body = [[
t = nl.load(x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
y = nl.exp(t)
nl.store(out, value=y)
return y
]], fixed = "return out" }

row { code = "removed-api", name = "a load with a mask", case = "x=float32[200,64]", repairs = 2, reference = "x", body = [[
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
for r in range(0, 200, 128):
    p = min(128, 200 - r)
    t = nl.load(x[r:r + p, :], mask=(r < 200))
    nl.store(out[r:r + p, :], value=t)
return out
]] }

row { code = "unknown-name", name = "the operator that changes nothing", case = X, repairs = 1, reference = "x", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.activation(dst=y, op=nl.identity, data=t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "op=nl.copy" }

local function text_of(lines) return "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef k(x):\n" .. lines end
local OUT <const> = "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
for name, lines in pairs {
  ["a bracket not closed"] = "    t = nl.load(x\n" .. OUT .. "    nl.store(out, value=t)\n    return out\n",
  ["a line indented as no other"] = "    t = nl.load(x)\n" .. OUT .. "  nl.store(out, value=t)\n    return out\n",
  ["a colon missing"] = OUT .. "    for i in range(1)\n        nl.store(out, value=nl.load(x))\n    return out\n",
  ["a block not indented"] = OUT .. "    for i in range(1):\n    nl.store(out, value=nl.load(x))\n    return out\n",
  ["a bracket too many"] = "    t = nl.load(x))\n" .. OUT .. "    nl.store(out, value=t)\n    return out\n",
} do
  row { code = "syntax", name = name, case = X, repairs = 1, reference = "x", text = text_of(lines) }
end

return rows
