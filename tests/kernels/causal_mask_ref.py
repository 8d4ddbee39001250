# SPDX-License-Identifier: MIT
import numpy as np


def causal_mask(scores):
    rows, cols = scores.shape
    keep = np.arange(rows).reshape((rows, 1)) >= np.arange(cols).reshape((1, cols))
    return np.where(keep, scores, -30000.0)
