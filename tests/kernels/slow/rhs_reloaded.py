# SPDX-License-Identifier: MIT
"""Slow for one reason: the right-hand side is loaded again for every block of rows of the product."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rhs_reloaded(a_t, b):
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    left = []
    for k in range(0, k_size, 128):
        tile = nl.ndarray((128, m_size), dtype=a_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a_t[k:k + 128, :])
        left.append(tile)
    for m in range(0, m_size, 128):
        right = []
        for k in range(0, k_size, 128):
            tile = nl.ndarray((128, n_size), dtype=b.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=b[k:k + 128, :])  # slow
            right.append(tile)
        result = nl.ndarray((128, n_size), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, n_size, 512):
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(k_size // 128):
                nisa.nc_matmul(dst=acc, stationary=left[k][:, m:m + 128], moving=right[k][:, n:n + 512], accumulate=(k > 0))
            nisa.tensor_copy(dst=result[:, n:n + 512], src=acc, engine=nisa.engine.vector)
        nisa.dma_copy(dst=out[m:m + 128, :], src=result)
    return out
