# SPDX-License-Identifier: MIT
"""RMS normalisation over the last axis with a weight per column."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, weight, eps=1e-5):
    rows, cols = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

    # The weight's one row, loaded into every partition by a stride of 0 over the partitions.
    w_tile = nl.ndarray((nl.tile_size.pmax, cols), dtype=weight.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=w_tile, src=weight.ap(pattern=[[0, nl.tile_size.pmax], [1, cols]]))

    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        tile = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + p, :])

        squares = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)

        mean_eps = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean_eps, data=total, op0=nl.multiply, operand0=1.0 / cols, op1=nl.add, operand1=eps)
        inverse = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=mean_eps)

        result = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(dst=result, data=tile, op0=nl.multiply, operand0=inverse,
                                  op1=nl.multiply, operand1=w_tile[0:p, :])
        nisa.dma_copy(dst=out[r:r + p, :], src=result)
    return out
