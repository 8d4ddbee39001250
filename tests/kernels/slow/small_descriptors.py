# SPDX-License-Identifier: MIT
"""Slow for one reason: x is loaded in tiles of 64 columns, 128 bytes a descriptor."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def small_descriptors(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        whole = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        for c in range(0, columns, 64):
            nisa.dma_copy(dst=whole[:, c:c + 64], src=x[r:r + 128, c:c + 64])  # slow
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=whole, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[r:r + 128, :], src=result)
    return out
