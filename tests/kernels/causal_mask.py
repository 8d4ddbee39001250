# SPDX-License-Identifier: MIT
"""Scores with everything above the diagonal replaced by a large negative number, by an affine predicate on GpSimd."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def causal_mask(scores):
    rows, cols = scores.shape
    out = nl.ndarray(scores.shape, dtype=scores.dtype, buffer=nl.shared_hbm)
    for r in range(0, rows, nl.tile_size.pmax):
        p = min(nl.tile_size.pmax, rows - r)
        tile = nl.ndarray((p, cols), dtype=scores.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=scores[r:r + p, :])
        masked = nl.ndarray((p, cols), dtype=scores.dtype, buffer=nl.sbuf)
        # Kept where r + partition - column >= 0.
        nisa.affine_select(dst=masked, pattern=[[-1, cols]], channel_multiplier=1, on_true_tile=tile,
                           on_false_value=-30000.0, cmp_op=nl.greater_equal, offset=r)
        nisa.dma_copy(dst=out[r:r + p, :], src=masked)
    return out
