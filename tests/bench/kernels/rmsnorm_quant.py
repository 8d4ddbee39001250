# SPDX-License-Identifier: MIT
"""RMS normalisation and quantisation to float8 by rows, for the calibration of the schedule model: the steps that
the vendor's design document of such a kernel describes, in one set of buffers, normalised in place; one core's share of the rows."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm_quant(x, gamma, eps=1e-6, largest=240.0):
    rows, width = x.shape
    out = nl.ndarray(x.shape, dtype=nl.float8_e4m3, buffer=nl.shared_hbm)
    scales = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    ones = nl.ndarray((1, 128), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    gamma_row = nl.ndarray((1, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=gamma_row, src=gamma)
    tile = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.sbuf)
    squares = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.sbuf)
    quantised = nl.ndarray((128, width), dtype=nl.float8_e4m3, buffer=nl.sbuf)
    for r in range(0, rows, 128):
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)
        inverse = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)
        for c in range(0, width, 512):
            spread = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=spread, stationary=ones, moving=gamma_row[:, c:c + 512])
            nisa.scalar_tensor_tensor(dst=tile[:, c:c + 512], data=tile[:, c:c + 512], op0=nl.multiply, operand0=inverse, op1=nl.multiply,
                                      operand1=spread)
        most = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=most, op=nl.maximum, data=tile, axis=1)
        scale = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.copy, data=most, scale=1.0 / largest)
        floor = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=floor, data=scale, op0=nl.maximum, operand0=1e-6)
        factor = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=factor, data=floor)
        nisa.tensor_scalar(dst=quantised, data=tile, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=out[r:r + 128, :], src=quantised)
        nisa.dma_copy(dst=scales[r:r + 128, :], src=scale)
    return out, scales
