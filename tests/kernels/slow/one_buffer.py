# SPDX-License-Identifier: MIT
"""Slow for one reason: every tile goes through the same two buffers, so nothing overlaps."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def one_buffer(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
    result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
    for r in range(0, rows, 128):
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])  # slow
        nisa.activation(dst=result, op=nl.exp, data=tile)
        nisa.dma_copy(dst=out[r:r + 128, :], src=result)  # slow
    return out
