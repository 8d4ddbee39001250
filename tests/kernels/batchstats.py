# SPDX-License-Identifier: MIT
"""Mean and variance of each row by bn_stats over chunks of 512 and bn_aggr over the chunks."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def batchstats(x):
    rows, cols = x.shape
    out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    chunk = nl.tile_size.bn_stats_fmax
    chunks = (cols + chunk - 1) // chunk
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        tile = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + p, :])
        stats = nl.ndarray((p, 6 * chunks), dtype=nl.float32, buffer=nl.sbuf)
        for i in range(chunks):
            end = min((i + 1) * chunk, cols)
            nisa.bn_stats(dst=stats[:, 6 * i:6 * (i + 1)], data=tile[:, i * chunk:end])
        result = nl.ndarray((p, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=result, data=stats)
        nisa.dma_copy(dst=out[r:r + p, :], src=result)
    return out
