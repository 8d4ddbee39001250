# SPDX-License-Identifier: MIT
import numpy as np


def rmsnorm(x, weight, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight
