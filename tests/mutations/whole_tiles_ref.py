# SPDX-License-Identifier: MIT
import numpy as np


def ref(a, b):
    return np.exp(a) + b
