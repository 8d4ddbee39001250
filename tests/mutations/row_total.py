# SPDX-License-Identifier: MIT
"""The sum of every row times its weight, accumulated chunk by chunk in a tile that starts from zero."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def row_total(x, weight):
    rows, cols = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        for c in range(0, cols, 32):
            f = min(32, cols - c)
            tile = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[r:r + p, c:c + f])
            part = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=part, op=nl.add, data=tile, axis=1)
            nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
        w_tile = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=w_tile, src=weight[r:r + p, 0:1])
        nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=w_tile)
        nisa.dma_copy(dst=out[r:r + p, 0:1], src=total)
    return out
