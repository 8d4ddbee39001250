# SPDX-License-Identifier: MIT
"""gelu(x + bias) with a bias per column, in the tanh form. Columns are put on the partitions, so that the bias is one
value per partition and the Scalar Engine adds it on the way."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def bias_gelu(x_t, bias):
    cols, rows = x_t.shape
    out = nl.ndarray((cols, rows), dtype=x_t.dtype, buffer=nl.shared_hbm)
    for c in range(0, cols, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, cols - c)
        bias_tile = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=bias_tile, src=bias[c:c + p, :])
        tile = nl.ndarray((p, rows), dtype=x_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x_t[c:c + p, :])
        result = nl.ndarray((p, rows), dtype=x_t.dtype, buffer=nl.sbuf)
        nisa.activation(dst=result, op=nl.gelu_apprx_tanh, data=tile, bias=bias_tile)
        nisa.dma_copy(dst=out[c:c + p, :], src=result)
    return out
