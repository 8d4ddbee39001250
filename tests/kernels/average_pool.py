# SPDX-License-Identifier: MIT
"""Average over square windows of a (channels, height, width) tensor: the windows are a 5-D view, reduced in place."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def average_pool(x, window=2):
    channels, height, width = x.shape
    rows, cols = height // window, width // window
    out = nl.ndarray((channels, rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((channels, height, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)

    windows = tile.ap(pattern=[[height * width, channels], [window * width, rows], [window, cols], [width, window], [1, window]])
    total = nl.ndarray((channels, rows, cols), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=windows, axis=(3, 4))

    mean = nl.ndarray((channels, rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / (window * window))
    nisa.dma_copy(dst=out, src=mean)
    return out
