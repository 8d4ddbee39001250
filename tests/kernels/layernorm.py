# SPDX-License-Identifier: MIT
"""Layer normalisation over the last axis: mean and variance in two passes over a row that stays in SBUF."""
import nki
import nki.isa as nisa
import nki.language as nl


def load_row(row, cols):
    tile = nl.ndarray((nl.tile_size.pmax, cols), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=row.ap(pattern=[[0, nl.tile_size.pmax], [1, cols]]))
    return tile


@nki.jit
def layernorm(x, gamma, beta, eps=1e-5):
    rows, cols = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    gamma_tile = load_row(gamma, cols)
    beta_tile = load_row(beta, cols)

    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        tile = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + p, :])

        total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        mean = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / cols)

        centred = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=mean)
        squares = nl.ndarray((p, cols), dtype=nl.float32, buffer=nl.sbuf)
        square_sum = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=squares, op=nl.square, data=centred, reduce_op=nl.add, reduce_res=square_sum)

        variance = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=variance, data=square_sum, op0=nl.multiply, operand0=1.0 / cols, op1=nl.add, operand1=eps)
        inverse = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=variance)

        nisa.scalar_tensor_tensor(dst=centred, data=centred, op0=nl.multiply, operand0=inverse,
                                  op1=nl.multiply, operand1=gamma_tile[0:p, :])
        result = nl.ndarray((p, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=centred, data2=beta_tile[0:p, :], op=nl.add)
        nisa.dma_copy(dst=out[r:r + p, :], src=result)
    return out
