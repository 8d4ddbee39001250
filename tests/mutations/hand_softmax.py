# SPDX-License-Identifier: MIT
"""Softmax over rows, spelt as its author would: whole tiles, the valid rows sliced out of each."""
import nki
import nki.language as nl
import nki.isa as nisa

P_MAX = 128


@nki.jit
def softmax_kernel(a):
    M, N = a.shape
    res = nl.ndarray((M, N), dtype=a.dtype, buffer=nl.shared_hbm)
    n_tiles = (M + P_MAX - 1) // P_MAX
    for i in range(n_tiles):
        start = i * P_MAX
        end = min(start + P_MAX, M)
        size = end - start
        a_sb = nl.ndarray((P_MAX, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=a_sb[0:size, :], src=a[start:end, :])
        row_max = nl.ndarray((P_MAX, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=row_max[0:size, :], op=nl.maximum, data=a_sb[0:size, :], axis=1)
        shifted = nl.ndarray((P_MAX, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shifted[0:size, :], data=a_sb[0:size, :], op0=nl.subtract, operand0=row_max[0:size, :])
        e = nl.ndarray((P_MAX, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=e[0:size, :], op=nl.exp, data=shifted[0:size, :])
        s = nl.ndarray((P_MAX, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=s[0:size, :], op=nl.add, data=e[0:size, :], axis=1)
        inv = nl.ndarray((P_MAX, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inv[0:size, :], data=s[0:size, :])
        o = nl.ndarray((P_MAX, N), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=o[0:size, :], data=e[0:size, :], op0=nl.multiply, operand0=inv[0:size, :])
        nisa.dma_copy(dst=res[start:end, :], src=o[0:size, :])
    return res
