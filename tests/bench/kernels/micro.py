# SPDX-License-Identifier: MIT
"""Single rates of the hardware, for the calibration of the schedule model: matmuls back to back, DMA by row size."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmuls(a_t, b, count=2048):
    """`count` matmuls of one resident 128 x 128 and one 128 x 512 tile, accumulated in chains of 32."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    a_tile = nl.load(a_t)
    b_tile = nl.load(b)
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    for i in range(count // 32):
        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
        for k in range(32):
            nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile, accumulate=(k > 0))
        nisa.tensor_copy(dst=result, src=acc, engine=nisa.engine.vector)
    nisa.dma_copy(dst=out, src=result)
    return out


@nki.jit
def mixed_matmuls(a_t, b, count=2048):
    """Four tile shapes in turn: quarters and an eighth of the array beside full ones, 40 % of the array on average."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    a_tile = nl.load(a_t)
    b_tile = nl.load(b)
    shapes = [(64, 64), (32, 64), (32, 128), (128, 128)]
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    for i in range(count // 32):
        k_rows, m_cols = shapes[i % 4]
        acc = nl.ndarray((m_cols, 512), dtype=nl.float32, buffer=nl.psum)
        for k in range(32):
            nisa.nc_matmul(dst=acc, stationary=a_tile[0:k_rows, 0:m_cols], moving=b_tile[0:k_rows, :], accumulate=(k > 0))
        nisa.tensor_copy(dst=result[0:m_cols, :], src=acc, engine=nisa.engine.vector)
    nisa.dma_copy(dst=out, src=result)
    return out


@nki.jit
def rows(x):
    """Loads of 128 rows each into 128 partitions."""
    count, width = x.shape
    out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    last = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    for r in range(0, count, 128):
        tile = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
        if r + 128 >= count:
            nisa.tensor_copy(dst=last, src=tile[:, 0:1])
    nisa.dma_copy(dst=out, src=last)
    return out


@nki.jit
def few_partitions(x):
    """A load that reaches one DMA engine: its rows lie on fewer than eight partitions."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nisa.dma_copy(dst=out, src=tile)
    return out
