# SPDX-License-Identifier: MIT
"""Slow for one reason: the Vector engine works on 16 columns at a time."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def small_vector(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        for c in range(0, columns, 16):
            nisa.tensor_scalar(dst=result[:, c:c + 16], data=tile[:, c:c + 16], op0=nl.multiply, operand0=2.0)  # slow
        nisa.dma_copy(dst=out[r:r + 128, :], src=result)
    return out
