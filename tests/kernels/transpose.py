# SPDX-License-Identifier: MIT
"""Transpose of a matrix through the Tensor Engine, 128 by 128 at a time."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    rows, cols = x.shape
    out = nl.ndarray((cols, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    size = nl.tile_size.pmax
    for r in range(0, rows, size):
        p = min(size, rows - r)
        for c in range(0, cols, size):
            f = min(size, cols - c)
            tile = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[r:r + p, c:c + f])
            turned = nl.ndarray((f, p), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=tile)
            result = nl.ndarray((f, p), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[c:c + f, r:r + p], src=result)
    return out
