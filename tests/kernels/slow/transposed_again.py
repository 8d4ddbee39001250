# SPDX-License-Identifier: MIT
"""Slow for one reason: the left operand's tiles are transposed anew for every block of columns."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transposed_again(a, b):
    m_size, k_size = a.shape
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=a.dtype, buffer=nl.shared_hbm)
    right = []
    for k in range(0, k_size, 128):
        tile = nl.ndarray((128, n_size), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=b[k:k + 128, :])
        right.append(tile)
    for m in range(0, m_size, 128):
        left = nl.ndarray((128, k_size), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[m:m + 128, :])
        result = nl.ndarray((128, n_size), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, n_size, 512):
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(k_size // 128):
                turned = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=turned, data=left[:, k * 128:k * 128 + 128], engine=nisa.engine.tensor)  # slow
                kept = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=kept, src=turned, engine=nisa.engine.scalar)
                nisa.nc_matmul(dst=acc, stationary=kept, moving=right[k][:, n:n + 512], accumulate=(k > 0))
            nisa.tensor_copy(dst=result[:, n:n + 512], src=acc, engine=nisa.engine.vector)
        nisa.dma_copy(dst=out[m:m + 128, :], src=result)
    return out
