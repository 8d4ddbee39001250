# SPDX-License-Identifier: MIT
import numpy as np


def batchstats(x):
    return np.concatenate([np.mean(x, axis=-1, keepdims=True), np.var(x, axis=-1, keepdims=True)], axis=-1)
