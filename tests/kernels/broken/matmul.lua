-- SPDX-License-Identifier: MIT
-- Broken kernels: matrix products. See broken.lua for the fields.

local rows <const> = {}
local function row(r) rows[#rows + 1] = r end

local MATMUL <const> = [[
at = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
bt = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=at, src=a)
nisa.dma_copy(dst=bt, src=b)
ps = nl.ndarray((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps, stationary=at, moving=bt)
sb = nl.ndarray(ps.shape, dtype=a.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps)
out = nl.ndarray(ps.shape, dtype=a.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=sb)
return out
]]
local function matmul(from, to)
  local start <const>, stop <const> = MATMUL:find(from, 1, true)
  assert(start, from)
  return MATMUL:sub(1, start - 1) .. to .. MATMUL:sub(stop + 1)
end
local AB <const> = "a=float32[128,64], b=float32[128,256]"

row { code = "matmul-dst-buffer", name = "result in SBUF", case = AB, repairs = 1, reference = "a.T @ b",
  body = matmul("dtype=nl.float32, buffer=nl.psum", "dtype=nl.float32, buffer=nl.sbuf"), fixed = "dtype=nl.float32, buffer=nl.psum" }
row { code = "matmul-operand-buffer", name = "operand left in HBM", case = AB, repairs = 1, reference = "a.T @ b",
  body = matmul("stationary=at", "stationary=a") }
row { code = "psum-dma", name = "operand loaded into PSUM", case = AB, repairs = 1, reference = "a.T @ b",
  body = matmul("bt = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)", "bt = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.psum)") }
row { code = "matmul-operand-buffer", name = "a product's result used as operand", case = "a=float32[128,128]", repairs = 1,
  reference = "(a.T @ a).T @ a", body = [[
at = nl.load(a)
ps = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps, stationary=at, moving=at)
ps2 = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps2, stationary=ps, moving=at)
sb = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps2)
out = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.shared_hbm)
nl.store(out, value=sb)
return out
]] }
row { code = "matmul-k-mismatch", name = "operand not transposed", case = "a=float32[64,128], b=float32[128,256]", repairs = 1, reference = "a @ b",
  body = matmul("(a.shape[1], b.shape[1])", "(a.shape[0], b.shape[1])"), fixed = "nisa.nc_transpose" }
row { code = "matmul-moving-free", name = "moving tile of 1024", case = "a=float32[128,64], b=float32[128,1024]", repairs = 1,
  reference = "a.T @ b", body = MATMUL }
row { code = "matmul-stationary-free", name = "stationary tile constant of 256", case = "a=float32[128,256], b=float32[128,512]", repairs = 2,
  reference = "a.T @ b", body = [[
TILE_M = 256
out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
bt = nl.load(b)
for m in range(a.shape[1] // TILE_M):
    at = nl.load(a[:, m * TILE_M:(m + 1) * TILE_M])
    ps = nl.ndarray((128, b.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=ps, stationary=at, moving=bt)
    sb = nl.ndarray(ps.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=sb, src=ps)
    nisa.dma_copy(dst=out[m * TILE_M:(m + 1) * TILE_M, :], src=sb)
return out
]], fixed = "gemm_stationary_fmax" }
row { code = "matmul-dst-dtype", name = "bf16 accumulator", case = AB, repairs = 1, reference = "a.T @ b",
  body = matmul("dtype=nl.float32, buffer=nl.psum", "dtype=nl.bfloat16, buffer=nl.psum") }
row { code = "matmul-dtype-mix", name = "fp32 with bf16", case = "a=float32[128,64], b=bfloat16[128,256]", repairs = 1, reference = "a.T @ b", body = MATMUL,
  fixed = "_f32" }
row { code = "accumulate-uninitialized", name = "accumulate on a fresh bank", case = AB, repairs = 1, reference = "a.T @ b",
  body = matmul("moving=bt)", "moving=bt, accumulate=True)") }
row { code = "accumulate-uninitialized", name = "accumulate on a memset bank", case = AB, repairs = 2, reference = "a.T @ b",
  body = matmul("nisa.nc_matmul(dst=ps, stationary=at, moving=bt)",
    "nisa.memset(dst=ps, value=0.0)\nnisa.nc_matmul(dst=ps, stationary=at, moving=bt, accumulate=True)") }
row { code = "shape-mismatch", name = "stationary and moving swapped", case = "a=float32[128,64], b=float32[128,96]", repairs = 1, reference = "a.T @ b",
  body = matmul("stationary=at, moving=bt", "stationary=bt, moving=at") }
row { code = "psum-bank-overflow", name = "accumulator of two banks", case = "a=float32[128,64], b=float32[128,512]", body = [[
at = nl.load(a)
bt = nl.load(b)
ps = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=ps[:, 256:768], stationary=at, moving=bt)
sb = nl.ndarray((64, 512), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=sb, src=ps[:, 256:768])
out = nl.ndarray((64, 512), dtype=a.dtype, buffer=nl.shared_hbm)
nl.store(out, value=sb)
return out
]] }
row { code = "matmul-overwrites", name = "a memset before the first matmul", case = AB, warning = true, repairs = 1, reference = "a.T @ b",
  body = matmul("nisa.nc_matmul(dst=ps, stationary=at, moving=bt)", "nisa.memset(dst=ps, value=0.0)\nnisa.nc_matmul(dst=ps, stationary=at, moving=bt)") }
row { code = "tile-position", name = "a third of the array", case = AB,
  body = matmul("moving=bt)", "moving=bt, tile_position=(0, 0), tile_size=(48, 128))") }
row { code = "transpose-axes", name = "axes that DMA does not do", case = "x=bfloat16[16,128]", body = [[
t = nl.ndarray((16, 128), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_transpose(dst=t, src=x, axes=(0, 1))
return t
]] }
row { code = "transpose-limit", name = "transpose of 128 by 256", case = "x=float32[128,256]", body = [[
t = nl.load(x)
ps = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
nisa.nc_transpose(dst=ps, data=t)
return ps
]] }
row { code = "psum-capacity", name = "nine banks at once", case = "a=float32[128,128], b=float32[128,512]", body = [[
at = nl.load(a)
bt = nl.load(b)
out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
banks = []
for i in range(9):
    ps = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=ps, stationary=at, moving=bt)
    banks.append(ps)
for i in range(9):
    sb = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=sb, src=banks[i])
    nisa.dma_copy(dst=out, src=sb)
return out
]] }

return rows
