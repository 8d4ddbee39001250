# SPDX-License-Identifier: MIT
"""a transposed (K, M) times b (K, N), tile by tile; any sizes, ragged edges included."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul_tiled(a_t, b):
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    tile_k = nl.tile_size.pmax
    tile_m = nl.tile_size.gemm_stationary_fmax
    tile_n = nl.tile_size.gemm_moving_fmax
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    for m in range(0, m_size, tile_m):
        mm = min(tile_m, m_size - m)
        for n in range(0, n_size, tile_n):
            nn = min(tile_n, n_size - n)
            acc = nl.ndarray((mm, nn), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, k_size, tile_k):
                kk = min(tile_k, k_size - k)
                a_tile = nl.ndarray((kk, mm), dtype=a_t.dtype, buffer=nl.sbuf)
                b_tile = nl.ndarray((kk, nn), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a_tile, src=a_t[k:k + kk, m:m + mm])
                nisa.dma_copy(dst=b_tile, src=b[k:k + kk, n:n + nn])
                nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile, accumulate=(k > 0))
            result = nl.ndarray((mm, nn), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc)
            nisa.dma_copy(dst=out[m:m + mm, n:n + nn], src=result)
    return out
