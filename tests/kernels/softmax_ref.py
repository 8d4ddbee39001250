# SPDX-License-Identifier: MIT
import numpy as np


def scaled_softmax(x, scale=1.0):
    s = x * scale
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)
