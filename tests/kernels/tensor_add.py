# SPDX-License-Identifier: MIT
"""Elementwise sum of two tensors of any number of rows and columns."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tensor_add(a, b):
    rows, cols = a.shape
    out = nl.ndarray((rows, cols), dtype=a.dtype, buffer=nl.shared_hbm)
    width = min(cols, 2048)
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        for c in range(0, cols, width):
            f = min(width, cols - c)
            a_tile = nl.ndarray((p, f), dtype=a.dtype, buffer=nl.sbuf)
            b_tile = nl.ndarray((p, f), dtype=b.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=a_tile, src=a[r:r + p, c:c + f])
            nisa.dma_copy(dst=b_tile, src=b[r:r + p, c:c + f])
            nisa.tensor_tensor(dst=a_tile, data1=a_tile, data2=b_tile, op=nl.add)
            nisa.dma_copy(dst=out[r:r + p, c:c + f], src=a_tile)
    return out
