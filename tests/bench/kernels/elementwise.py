# SPDX-License-Identifier: MIT
"""Kernels bound by Vector engine and DMA, for the calibration of the schedule model: the loops of public benchmarks
(tile sizes, order of operations) written anew."""
import nki
import nki.isa as nisa
import nki.language as nl


def tile(shape):
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def silu(x):
    """x / (1 + exp(-x)); 1,024 columns a load, 512 an instruction."""
    rows, cols = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, 128):
        for c in range(0, cols, 1024):
            source = tile((128, 1024))
            nisa.dma_copy(dst=source, src=x[r:r + 128, c:c + 1024])
            result = tile((128, 1024))
            for part in range(0, 1024, 512):
                e, plus, inverse = tile((128, 512)), tile((128, 512)), tile((128, 512))
                nisa.activation(dst=e, op=nl.exp, data=source[:, part:part + 512], scale=-1.0)
                nisa.tensor_scalar(dst=plus, data=e, op0=nl.add, operand0=1.0)
                nisa.reciprocal(dst=inverse, data=plus)
                nisa.tensor_tensor(dst=result[:, part:part + 512], data1=source[:, part:part + 512], data2=inverse, op=nl.multiply)
            nisa.dma_copy(dst=out[r:r + 128, c:c + 1024], src=result)
    return out


@nki.jit
def rope(x, cos, sin):
    """Rotary embedding: halves of the head on the partitions, 512 positions at a time."""
    head, length = x.shape
    half = head // 2
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for s in range(0, length, 512):
        both = tile((head, 512))
        nisa.dma_copy(dst=both, src=x[:, s:s + 512])
        cos_tile, sin_tile = tile((half, 512)), tile((half, 512))
        nisa.dma_copy(dst=cos_tile, src=cos[:, s:s + 512])
        nisa.dma_copy(dst=sin_tile, src=sin[:, s:s + 512])
        odd = tile((half, 512))
        nisa.activation(dst=odd, op=nl.copy, data=both[half:head, :])
        products = []
        for factor in (cos_tile, sin_tile):
            for part in (both[0:half, :], odd):
                product = tile((half, 512))
                nisa.tensor_tensor(dst=product, data1=part, data2=factor, op=nl.multiply)
                products.append(product)
        result = tile((head, 512))
        nisa.tensor_tensor(dst=result[0:half, :], data1=products[0], data2=products[3], op=nl.subtract)
        nisa.tensor_tensor(dst=result[half:head, :], data1=products[1], data2=products[2], op=nl.add)
        nisa.dma_copy(dst=out[:, s:s + 512], src=result)
    return out


@nki.jit
def matmul_fp32(a_t, b):
    """a_t transposed times b in float32: 1,024-column blocks of a_t resident, b's streamed."""
    k_size, m_size = a_t.shape
    n_size = b.shape[1]
    tiles_k = k_size // 128
    out = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, m_size, 1024):
        left = []
        for k in range(tiles_k):
            one = tile((128, 1024))
            nisa.dma_copy(dst=one, src=a_t[k * 128:k * 128 + 128, m:m + 1024])
            left.append(one)
        for n in range(0, n_size, 1024):
            width = min(1024, n_size - n)
            right = []
            for k in range(tiles_k):
                one = tile((128, width))
                nisa.dma_copy(dst=one, src=b[k * 128:k * 128 + 128, n:n + width])
                right.append(one)
            for i in range(8):
                result = tile((128, width))
                for j in range(0, width, 512):
                    size = min(512, width - j)
                    acc = nl.ndarray((128, size), dtype=nl.float32, buffer=nl.psum)
                    for k in range(tiles_k):
                        nisa.nc_matmul(dst=acc, stationary=left[k][:, i * 128:i * 128 + 128], moving=right[k][:, j:j + size], accumulate=(k > 0))
                    nisa.activation(dst=result[:, j:j + size], op=nl.copy, data=acc)
                nisa.dma_copy(dst=out[m + i * 128:m + i * 128 + 128, n:n + width], src=result)
    return out
