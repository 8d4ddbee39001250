# SPDX-License-Identifier: MIT
"""Slow for one reason: the running sum is stored after every step, not once at the end."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def partial_stores(x):
    steps, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        total = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        for s in range(steps):
            tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[s, r:r + 128, :])
            nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
            nisa.dma_copy(dst=out[r:r + 128, :], src=total)  # slow
    return out
