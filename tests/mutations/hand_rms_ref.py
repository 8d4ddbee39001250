# SPDX-License-Identifier: MIT
import numpy as np


def rms(x, w, eps=1e-6):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * w
