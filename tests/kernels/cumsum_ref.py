# SPDX-License-Identifier: MIT
import numpy as np


def cumsum(x):
    return np.cumsum(x, axis=-1)
