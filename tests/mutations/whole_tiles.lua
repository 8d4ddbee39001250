-- SPDX-License-Identifier: MIT
-- Kernels that work on whole tiles only, in the usual spellings; the reference is whole_tiles_ref.py. Each is right where the extents
-- are multiples of its tile, and the cases are not: { how it is spelt, cases, text }.

local HEAD <const> = [[
import nki
import nki.isa as nisa
import nki.language as nl

]]

return {
  { "the number spelt out, starts and ends computed in place", { "a=float32[130,20], b=float32[130,20]" }, HEAD .. [[
@nki.jit
def k(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in range(a.shape[0] // 128):
        x = nl.ndarray((128, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=a[i*128:(i+1)*128, :])
        y = nl.ndarray((128, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=y, src=b[i*128:(i+1)*128, :])
        e = nl.ndarray((128, a.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=e, op=nl.exp, data=x)
        o = nl.ndarray((128, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=o, data1=e, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[i*128:(i+1)*128, :], src=o)
    return out
]] },
  { "a named tile, a named count, nl.ds", { "a=float32[130,20], b=float32[130,20]" }, HEAD .. [[
@nki.jit
def k(a, b):
    P = 128
    rows, cols = a.shape
    out = nl.ndarray((rows, cols), dtype=a.dtype, buffer=nl.shared_hbm)
    n = rows // P
    for i in nl.affine_range(n):
        x = nl.load(a[nl.ds(i * P, P), :])
        y = nl.load(b[nl.ds(i * P, P), :])
        e = nl.ndarray((P, cols), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=e, op=nl.exp, data=x)
        o = nl.ndarray((P, cols), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=o, data1=e, data2=y, op=nl.add)
        nl.store(out[nl.ds(i * P, P), :], value=o)
    return out
]] },
  { "nl.tile_size.pmax, a named start, tiles made before the loop", { "a=float32[130,20], b=float32[130,20]" }, HEAD .. [[
@nki.jit
def k(a, b):
    rows, cols = a.shape
    out = nl.ndarray((rows, cols), dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray((nl.tile_size.pmax, cols), dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray((nl.tile_size.pmax, cols), dtype=a.dtype, buffer=nl.sbuf)
    for t in range(rows // nl.tile_size.pmax):
        start = t * nl.tile_size.pmax
        nisa.dma_copy(dst=x[0:nl.tile_size.pmax, :], src=a[start:start + nl.tile_size.pmax, :])
        nisa.dma_copy(dst=y[0:nl.tile_size.pmax, :], src=b[start:start + nl.tile_size.pmax, :])
        nisa.activation(dst=x[0:nl.tile_size.pmax, :], op=nl.exp, data=x[0:nl.tile_size.pmax, :])
        nisa.tensor_tensor(dst=x[0:nl.tile_size.pmax, :], data1=x[0:nl.tile_size.pmax, :], data2=y[0:nl.tile_size.pmax, :], op=nl.add)
        nisa.dma_copy(dst=out[start:start + nl.tile_size.pmax, :], src=x[0:nl.tile_size.pmax, :])
    return out
]] },
  { "columns", { "a=float32[128,700], b=float32[128,700]" }, HEAD .. [[
@nki.jit
def k(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for j in range(a.shape[1] // 512):
        x = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=a[:, j * 512:(j + 1) * 512])
        y = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=y, src=b[:, j * 512:(j + 1) * 512])
        e = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=e, op=nl.exp, data=x)
        nisa.tensor_tensor(dst=e, data1=e, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[:, j * 512:(j + 1) * 512], src=e)
    return out
]] },
  { "rows and columns, a named start and end, a tile made before the loops", { "a=float32[130,300], b=float32[130,300]" }, HEAD .. [[
TILE = 128
F = 256


@nki.jit
def k(a, b):
    m, n = a.shape
    size = 1
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    w = nl.ndarray((TILE, F), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(m // TILE):
        lo = TILE * i
        hi = lo + TILE
        for j in range(0, n // F):
            nisa.dma_copy(dst=w, src=a[lo:hi, j * F:(j + 1) * F])
            e = nl.ndarray((TILE, F), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=e, op=nl.exp, data=w)
            y = nl.ndarray((TILE, F), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=y, src=b[lo:hi, j * F:(j + 1) * F])
            nisa.tensor_tensor(dst=e, data1=e, data2=y, op=nl.add)
            nisa.dma_copy(dst=out[lo:hi, j * F:(j + 1) * F], src=e)
    return out
]] },
  { "a loop in steps of a tile", { "a=float32[130,20], b=float32[130,20]" }, HEAD .. [[
@nki.jit
def k(a, b):
    m, n = a.shape
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    for r in range(0, m, 128):
        x = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=a[r:r + 128, :])
        y = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=y, src=b[r:r + 128, :])
        e = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=e, op=nl.exp, data=x)
        nisa.tensor_tensor(dst=e, data1=e, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[r:r + 128, :], src=e)
    return out
]] },
}
