# SPDX-License-Identifier: MIT
"""Slow for one reason: the result is stored eight columns at a time."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tiny_stores(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=tile, op0=nl.add, operand0=1.0)
        for c in range(0, columns, 8):
            nisa.dma_copy(dst=out[r:r + 128, c:c + 8], src=result[:, c:c + 8])  # slow
    return out
