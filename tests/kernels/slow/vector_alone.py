# SPDX-License-Identifier: MIT
"""Slow for one reason: the Vector engine does every step, while the others have nothing to do."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def vector_alone(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
        total = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=total, data1=tile, data2=tile, op=nl.add)
        for i in range(6):
            nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)  # slow
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result, src=total, engine=nisa.engine.vector)
        nisa.dma_copy(dst=out[r:r + 128, :], src=result)
    return out
