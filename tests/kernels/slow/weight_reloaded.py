# SPDX-License-Identifier: MIT
"""Slow for one reason: the weights are loaded for every block of rows, and they never change."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def weight_reloaded(x, weight):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
        scale = nl.ndarray((128, columns), dtype=weight.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=scale, src=weight[:, :])  # slow
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=tile, data2=scale, op=nl.multiply)
        nisa.dma_copy(dst=out[r:r + 128, :], src=result)
    return out
