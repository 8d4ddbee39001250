# SPDX-License-Identifier: MIT
"""Slow for one reason: all products go to the same PSUM tile, so the Tensor engine waits for the copy out of it."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def one_bank(a_t, b):
    m_size = a_t.shape[1]
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((128, m_size), dtype=a_t.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a_t[:, :])
    right = nl.ndarray((128, n_size), dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b[:, :])
    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    for m in range(0, m_size, 128):
        result = nl.ndarray((128, n_size), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, n_size, 512):
            nisa.nc_matmul(dst=acc, stationary=left[:, m:m + 128], moving=right[:, n:n + 512])  # slow
            nisa.tensor_copy(dst=result[:, n:n + 512], src=acc, engine=nisa.engine.vector)  # slow
        nisa.dma_copy(dst=out[m:m + 128, :], src=result)
    return out
