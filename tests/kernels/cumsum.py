# SPDX-License-Identifier: MIT
"""Running sum along each row, 1024 columns at a time; the state between chunks is the last column."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cumsum(x):
    rows, cols = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    chunk = min(cols, 1024)
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        ones = nl.ndarray((p, chunk), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=ones, value=1.0)
        state = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=state, value=0.0)
        for c in range(0, cols, chunk):
            f = min(chunk, cols - c)
            tile = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[r:r + p, c:c + f])
            sums = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(dst=sums, data0=ones[:, 0:f], data1=tile, initial=state, op0=nl.multiply, op1=nl.add)
            nisa.tensor_copy(dst=state, src=sums[:, f - 1:f])
            result = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=sums)
            nisa.dma_copy(dst=out[r:r + p, c:c + f], src=result)
    return out
