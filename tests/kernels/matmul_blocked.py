# SPDX-License-Identifier: MIT
"""a transposed (K, M) times b (K, N) with operands kept in SBUF per block: each block of b is loaded once per column
block, each block of a once. Sizes are multiples of the tiles."""
import nki
import nki.isa as nisa
import nki.language as nl


def load_tiles(source, row_tiles, col, width):
    tiles = []
    for k in range(row_tiles):
        tile = nl.ndarray((nl.tile_size.pmax, width), dtype=source.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=source[nl.ds(k * nl.tile_size.pmax, nl.tile_size.pmax), nl.ds(col, width)])
        tiles.append(tile)
    return tiles


@nki.jit
def matmul_blocked(a_t, b, block_m=2, block_n=1):
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    tile = nl.tile_size.pmax
    wide = nl.tile_size.gemm_moving_fmax
    assert k_size % tile == 0 and m_size % (block_m * tile) == 0 and n_size % (block_n * wide) == 0, "sizes must be multiples of the blocks"
    out = nl.ndarray((m_size, n_size), dtype=a_t.dtype, buffer=nl.shared_hbm)
    k_tiles = k_size // tile
    for nb in range(n_size // (block_n * wide)):
        b_block = load_tiles(b, k_tiles, nb * block_n * wide, block_n * wide)
        for mb in range(m_size // (block_m * tile)):
            a_block = load_tiles(a_t, k_tiles, mb * block_m * tile, block_m * tile)
            for i in range(block_m):
                row = (mb * block_m + i) * tile
                result = nl.ndarray((tile, block_n * wide), dtype=out.dtype, buffer=nl.sbuf)
                for j in range(block_n):
                    acc = nl.ndarray((tile, wide), dtype=nl.float32, buffer=nl.psum)
                    for k in range(k_tiles):
                        nisa.nc_matmul(dst=acc, stationary=a_block[k][:, i * tile:(i + 1) * tile],
                                       moving=b_block[k][:, j * wide:(j + 1) * wide])
                    nisa.tensor_copy(dst=result[:, j * wide:(j + 1) * wide], src=acc)
                nisa.dma_copy(dst=out[row:row + tile, nb * block_n * wide:(nb + 1) * block_n * wide], src=result)
    return out
