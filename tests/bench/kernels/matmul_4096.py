# SPDX-License-Identifier: MIT
"""Three ways through one large matmul (a transposed times b), for the calibration of the schedule model."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul_v0(a_t, b):
    """Both operands loaded in the innermost loop: 128 x 512 x 128 tiles."""
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    for m in range(0, m_size, 128):
        for n in range(0, n_size, 512):
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, k_size, 128):
                a_tile = nl.ndarray((128, 128), dtype=a_t.dtype, buffer=nl.sbuf)
                b_tile = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a_tile, src=a_t[k:k + 128, m:m + 128])
                nisa.dma_copy(dst=b_tile, src=b[k:k + 128, n:n + 512])
                nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile, accumulate=(k > 0))
            result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc, engine=nisa.engine.vector)
            nisa.dma_copy(dst=out[m:m + 128, n:n + 512], src=result)
    return out


@nki.jit
def matmul_v0_reused(a_t, b, keep=3):
    """v0 with each tile of a_t loaded `keep` times for the eight column blocks, as the compiler left it."""
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    n_tiles = n_size // 512
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    for m in range(0, m_size, 128):
        loaded = []
        last = -1
        for j in range(n_tiles):
            turn = j * keep // n_tiles
            if turn != last:
                loaded = []
                for k in range(0, k_size, 128):
                    a_tile = nl.ndarray((128, 128), dtype=a_t.dtype, buffer=nl.sbuf)
                    nisa.dma_copy(dst=a_tile, src=a_t[k:k + 128, m:m + 128])
                    loaded.append(a_tile)
                last = turn
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, k_size, 128):
                b_tile = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=b_tile, src=b[k:k + 128, j * 512:j * 512 + 512])
                nisa.nc_matmul(dst=acc, stationary=loaded[k // 128], moving=b_tile, accumulate=(k > 0))
            result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc, engine=nisa.engine.vector)
            nisa.dma_copy(dst=out[m:m + 128, j * 512:j * 512 + 512], src=result)
    return out


@nki.jit
def matmul_v1(a_t, b, block_m=8, block_n=2):
    """Blocks of 8 x 2 tiles: a_t's block resident, b streamed; tiles loaded one by one."""
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    tiles_k = k_size // 128
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    for m in range(0, m_size, 128 * block_m):
        a_tiles = []
        for i in range(block_m):
            row = []
            for k in range(tiles_k):
                a_tile = nl.ndarray((128, 128), dtype=a_t.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a_tile, src=a_t[k * 128:k * 128 + 128, m + i * 128:m + i * 128 + 128])
                row.append(a_tile)
            a_tiles.append(row)
        for n in range(0, n_size, 512 * block_n):
            b_tiles = []
            for j in range(block_n):
                row = []
                for k in range(tiles_k):
                    b_tile = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
                    nisa.dma_copy(dst=b_tile, src=b[k * 128:k * 128 + 128, n + j * 512:n + j * 512 + 512])
                    row.append(b_tile)
                b_tiles.append(row)
            for i in range(block_m):
                for j in range(block_n):
                    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
                    for k in range(tiles_k):
                        nisa.nc_matmul(dst=acc, stationary=a_tiles[i][k], moving=b_tiles[j][k], accumulate=(k > 0))
                    result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
                    nisa.tensor_copy(dst=result, src=acc, engine=nisa.engine.vector)
                    nisa.dma_copy(dst=out[m + i * 128:m + i * 128 + 128, n + j * 512:n + j * 512 + 512], src=result)
    return out


@nki.jit
def matmul_v2(a_t, b, block_m=8, block_n=2):
    """v1 with whole rows of a block in one transfer: 128 x 1024."""
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    tiles_k = k_size // 128
    wide_m = 128 * block_m
    wide_n = 512 * block_n
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    for m in range(0, m_size, wide_m):
        a_tiles = []
        for k in range(tiles_k):
            a_tile = nl.ndarray((128, wide_m), dtype=a_t.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=a_tile, src=a_t[k * 128:k * 128 + 128, m:m + wide_m])
            a_tiles.append(a_tile)
        for n in range(0, n_size, wide_n):
            b_tiles = []
            for k in range(tiles_k):
                b_tile = nl.ndarray((128, wide_n), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=b_tile, src=b[k * 128:k * 128 + 128, n:n + wide_n])
                b_tiles.append(b_tile)
            for i in range(block_m):
                for j in range(block_n):
                    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
                    for k in range(tiles_k):
                        nisa.nc_matmul(dst=acc, stationary=a_tiles[k][:, i * 128:i * 128 + 128],
                                       moving=b_tiles[k][:, j * 512:j * 512 + 512], accumulate=(k > 0))
                    result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
                    nisa.tensor_copy(dst=result, src=acc, engine=nisa.engine.vector)
                    nisa.dma_copy(dst=out[m + i * 128:m + i * 128 + 128, n + j * 512:n + j * 512 + 512], src=result)
    return out


@nki.jit
def matmul_transposing(a, b):
    """v0 from an a that is not transposed: every tile of a is transposed by the Tensor engine where it is used."""
    m_size, k_size = a.shape
    n_size = b.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in range(0, m_size, 128):
        for n in range(0, n_size, 512):
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, k_size, 128):
                a_tile = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
                b_tile = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a_tile, src=a[m:m + 128, k:k + 128])
                nisa.dma_copy(dst=b_tile, src=b[k:k + 128, n:n + 512])
                turned = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=turned, data=a_tile, engine=nisa.engine.tensor)
                left = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=left, src=turned, engine=nisa.engine.vector)
                nisa.nc_matmul(dst=acc, stationary=left, moving=b_tile, accumulate=(k > 0))
            result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc, engine=nisa.engine.vector)
            nisa.dma_copy(dst=out[m:m + 128, n:n + 512], src=result)
    return out
