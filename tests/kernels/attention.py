# SPDX-License-Identifier: MIT
"""Attention of one head: softmax(q k^T / sqrt(d)) v. q and k arrive transposed, (d, sequence); v is (sequence, d).
The whole row of scores of 128 queries stays in SBUF."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def attention(q_t, k_t, v):
    d, q_len = q_t.shape
    k_len = k_t.shape[1]
    assert d <= nl.tile_size.pmax, f"head size {d} is larger than a partition block"
    scale = 1.0 / d ** 0.5
    out = nl.ndarray((q_len, d), dtype=v.dtype, buffer=nl.shared_hbm)
    size = nl.tile_size.pmax
    wide = nl.tile_size.gemm_moving_fmax

    k_tile = nl.ndarray((d, k_len), dtype=k_t.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=k_tile, src=k_t)
    v_tiles = []
    for j in range(0, k_len, size):
        v_tile = nl.ndarray((min(size, k_len - j), d), dtype=v.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=v_tile, src=v[j:j + min(size, k_len - j), :])
        v_tiles.append(v_tile)

    for i in range(0, q_len, size):
        p = min(size, q_len - i)
        q_tile = nl.ndarray((d, p), dtype=q_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=q_tile, src=q_t[:, i:i + p])

        scores = nl.ndarray((p, k_len), dtype=nl.float32, buffer=nl.sbuf)
        for j in range(0, k_len, wide):
            f = min(wide, k_len - j)
            scores_psum = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=scores_psum, stationary=q_tile, moving=k_tile[:, j:j + f])
            nisa.activation(dst=scores[:, j:j + f], op=nl.copy, data=scores_psum, scale=scale)

        neg_max = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=neg_max, op=nl.maximum, data=scores, axis=1, negate=True)
        total = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        weights = nl.ndarray((p, k_len), dtype=v.dtype, buffer=nl.sbuf)
        nisa.activation_reduce(dst=weights, op=nl.exp, data=scores, bias=neg_max, reduce_op=nl.add, reduce_res=total)
        inverse = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)

        acc = nl.ndarray((p, d), dtype=nl.float32, buffer=nl.psum)
        for j in range(0, k_len, size):
            f = min(size, k_len - j)
            turned_psum = nl.ndarray((f, p), dtype=v.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=turned_psum, data=weights[:, j:j + f])
            turned = nl.ndarray((f, p), dtype=v.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=turned_psum)
            nisa.nc_matmul(dst=acc, stationary=turned, moving=v_tiles[j // size], accumulate=(j > 0))
        result = nl.ndarray((p, d), dtype=v.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=acc, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[i:i + p, :], src=result)
    return out
