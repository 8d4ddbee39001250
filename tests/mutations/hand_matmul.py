# SPDX-License-Identifier: MIT
"""lhs @ rhs, the left side transposed tile by tile on the Tensor Engine."""
import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def mm(lhs, rhs):
    M, K = lhs.shape
    K_, N = rhs.shape
    out = nl.ndarray((M, N), dtype=lhs.dtype, buffer=nl.shared_hbm)
    TILE_M = 128
    TILE_K = 128
    TILE_N = 512
    for m in range(0, M, TILE_M):
        mm_ = min(TILE_M, M - m)
        for n in range(0, N, TILE_N):
            nn = min(TILE_N, N - n)
            acc = nl.ndarray((mm_, nn), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, TILE_K):
                kk = min(TILE_K, K - k)
                l_tile = nl.ndarray((mm_, kk), dtype=lhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=l_tile, src=lhs[m:m + mm_, k:k + kk])
                lt_ps = nl.ndarray((kk, mm_), dtype=lhs.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=lt_ps, data=l_tile)
                lt = nl.ndarray((kk, mm_), dtype=lhs.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=lt, src=lt_ps)
                r_tile = nl.ndarray((kk, nn), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=r_tile, src=rhs[k:k + kk, n:n + nn])
                nisa.nc_matmul(dst=acc, stationary=lt, moving=r_tile)
            o = nl.ndarray((mm_, nn), dtype=lhs.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=o, src=acc)
            nisa.dma_copy(dst=out[m:m + mm_, n:n + nn], src=o)
    return out
