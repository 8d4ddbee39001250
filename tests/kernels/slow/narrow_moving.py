# SPDX-License-Identifier: MIT
"""Slow for one reason: only 32 columns move for each stationary tile."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def narrow_moving(a_t, b):
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    left = []
    right = []
    for k in range(0, k_size, 128):
        tile = nl.ndarray((128, m_size), dtype=a_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a_t[k:k + 128, :])
        left.append(tile)
        tile = nl.ndarray((128, n_size), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=b[k:k + 128, :])
        right.append(tile)
    for m in range(0, m_size, 128):
        result = nl.ndarray((128, n_size), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, n_size, 32):
            acc = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.psum)
            for k in range(len(left)):
                nisa.nc_matmul(dst=acc, stationary=left[k][:, m:m + 128], moving=right[k][:, n:n + 32], accumulate=(k > 0))  # slow
            nisa.tensor_copy(dst=result[:, n:n + 32], src=acc, engine=nisa.engine.vector)
        nisa.dma_copy(dst=out[m:m + 128, :], src=result)
    return out
