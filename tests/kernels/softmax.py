# SPDX-License-Identifier: MIT
"""Row softmax of x * scale: one pass for the maximum, one fused exponential with its row sum, one scaling."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scaled_softmax(x, scale=1.0):
    rows, cols = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        tile = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + p, :])

        scaled = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=tile, op0=nl.multiply, operand0=scale)
        neg_max = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=neg_max, op=nl.maximum, data=scaled, axis=1, negate=True)

        total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        exps = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=exps, op=nl.exp, data=scaled, bias=neg_max, reduce_op=nl.add, reduce_res=total)

        inverse = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        result = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=exps, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[r:r + p, :], src=result)
    return out
