# SPDX-License-Identifier: MIT
"""The selective scan of a Mamba layer three ways, for the calibration of the schedule model. Channels lie on partitions,
the sequence along the free dimension; rows of b and c reach all partitions through a matmul with ones.

The loops are those of the published series: state outside channels (v1), channels outside state (v2), and the
sequence in pieces of one PSUM bank (v3). Profiles of that series show, by their Vector engine times, how the compiler
left them: v1 with the repeated rows copied to SBUF and every product in the loop, v2 and v3 with delta * u taken out
of the state loop and, where a row fits one PSUM bank, used from there.
"""
import nki
import nki.isa as nisa
import nki.language as nl


def repeated(ones, row, length, dtype, keep_in_psum):
    """A row on all 128 partitions; in PSUM, or copied to SBUF by the Scalar engine."""
    tiles = nl.ndarray((128, length), dtype=dtype, buffer=nl.sbuf) if not keep_in_psum else None
    last = None
    for start in range(0, length, 512):
        size = min(512, length - start)
        acc = nl.ndarray((128, size), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=acc, stationary=ones, moving=row[:, start:start + size])
        last = acc
        if not keep_in_psum:
            nisa.activation(dst=tiles[:, start:start + size], op=nl.copy, data=acc)
    return last if keep_in_psum else tiles


def step(delta_tile, product, a_col, b_all, c_all, initial, accum, dtype, length):
    """One state of one tile of channels: decay, scan, and the output's share; returns the scan."""
    decay = nl.ndarray((128, length), dtype=dtype, buffer=nl.sbuf)
    nisa.activation(dst=decay, op=nl.exp, data=delta_tile, scale=a_col)
    driven = nl.ndarray((128, length), dtype=dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=driven, data1=product, data2=b_all, op=nl.multiply)
    scanned = nl.ndarray((128, length), dtype=dtype, buffer=nl.sbuf)
    nisa.tensor_tensor_scan(dst=scanned, data0=decay, data1=driven, initial=initial, op0=nl.multiply, op1=nl.add)
    share = nl.ndarray((128, length), dtype=dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=share, data1=scanned, data2=c_all, op=nl.multiply)
    nisa.tensor_tensor(dst=accum, data1=accum, data2=share, op=nl.add)
    return scanned


def loaded(x, shape):
    tile = nl.ndarray(shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile


@nki.jit
def mamba_v1(delta, u, a, b, c):
    channels, length = delta.shape
    states = a.shape[1]
    out = nl.ndarray((channels, length), dtype=delta.dtype, buffer=nl.shared_hbm)
    ones = nl.ndarray((1, 128), dtype=delta.dtype, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    accums = []
    for t in range(channels // 128):
        accum = nl.ndarray((128, length), dtype=delta.dtype, buffer=nl.sbuf)
        nisa.memset(dst=accum, value=0.0)
        accums.append(accum)
    for s in range(states):
        for t in range(channels // 128):
            rows = nl.ds(t * 128, 128)
            delta_tile = loaded(delta[rows, :], (128, length))
            u_tile = loaded(u[rows, :], (128, length))
            a_col = loaded(a[rows, s:s + 1], (128, 1))
            b_all = repeated(ones, loaded(b[s:s + 1, :], (1, length)), length, delta.dtype, False)
            product = nl.ndarray((128, length), dtype=delta.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=product, data1=delta_tile, data2=u_tile, op=nl.multiply)
            c_all = repeated(ones, loaded(c[s:s + 1, :], (1, length)), length, delta.dtype, False)
            step(delta_tile, product, a_col, b_all, c_all, 0.0, accums[t], delta.dtype, length)
    for t in range(channels // 128):
        nisa.dma_copy(dst=out[t * 128:t * 128 + 128, :], src=accums[t])
    return out


@nki.jit
def mamba_v2(delta, u, a, b, c):
    channels, length = delta.shape
    states = a.shape[1]
    out = nl.ndarray((channels, length), dtype=delta.dtype, buffer=nl.shared_hbm)
    ones = nl.ndarray((1, 128), dtype=delta.dtype, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    for t in range(channels // 128):
        rows = nl.ds(t * 128, 128)
        accum = nl.ndarray((128, length), dtype=delta.dtype, buffer=nl.sbuf)
        nisa.memset(dst=accum, value=0.0)
        delta_tile = loaded(delta[rows, :], (128, length))
        u_tile = loaded(u[rows, :], (128, length))
        product = nl.ndarray((128, length), dtype=delta.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=product, data1=delta_tile, data2=u_tile, op=nl.multiply)
        for s in range(states):
            a_col = loaded(a[rows, s:s + 1], (128, 1))
            b_all = repeated(ones, loaded(b[s:s + 1, :], (1, length)), length, delta.dtype, length <= 512)
            c_all = repeated(ones, loaded(c[s:s + 1, :], (1, length)), length, delta.dtype, length <= 512)
            step(delta_tile, product, a_col, b_all, c_all, 0.0, accum, delta.dtype, length)
        nisa.dma_copy(dst=out[rows, :], src=accum)
    return out


@nki.jit
def mamba_v3(delta, u, a, b, c, piece=512):
    channels, length = delta.shape
    states = a.shape[1]
    out = nl.ndarray((channels, length), dtype=delta.dtype, buffer=nl.shared_hbm)
    ones = nl.ndarray((1, 128), dtype=delta.dtype, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    for t in range(channels // 128):
        rows = nl.ds(t * 128, 128)
        accum = nl.ndarray((128, length), dtype=delta.dtype, buffer=nl.sbuf)
        nisa.memset(dst=accum, value=0.0)
        delta_tile = loaded(delta[rows, :], (128, length))
        u_tile = loaded(u[rows, :], (128, length))
        product = nl.ndarray((128, length), dtype=delta.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=product, data1=delta_tile, data2=u_tile, op=nl.multiply)
        for s in range(states):
            a_col = loaded(a[rows, s:s + 1], (128, 1))
            initial = nl.ndarray((128, 1), dtype=delta.dtype, buffer=nl.sbuf)
            nisa.memset(dst=initial, value=0.0)
            for start in range(0, length, piece):
                part = nl.ds(start, piece)
                b_all = repeated(ones, loaded(b[s:s + 1, part], (1, piece)), piece, delta.dtype, True)
                c_all = repeated(ones, loaded(c[s:s + 1, part], (1, piece)), piece, delta.dtype, True)
                scanned = step(delta_tile[:, part], product[:, part], a_col, b_all, c_all, initial, accum[:, part], delta.dtype, piece)
                nisa.tensor_copy(dst=initial, src=scanned[:, piece - 1:piece], engine=nisa.engine.vector)
        nisa.dma_copy(dst=out[rows, :], src=accum)
    return out
