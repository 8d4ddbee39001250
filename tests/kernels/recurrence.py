# SPDX-License-Identifier: MIT
"""Linear recurrence h[t] = decay[t] * h[t - 1] + x[t] along each row, from an initial state per row."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def recurrence(decay, x, h0):
    rows, cols = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        decay_tile = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        x_tile = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        state = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=decay_tile, src=decay[r:r + p, :])
        nisa.dma_copy(dst=x_tile, src=x[r:r + p, :])
        nisa.dma_copy(dst=state, src=h0[r:r + p, :])
        result = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor_scan(dst=result, data0=decay_tile, data1=x_tile, initial=state, op0=nl.multiply, op1=nl.add)
        nisa.dma_copy(dst=out[r:r + p, :], src=result)
    return out
