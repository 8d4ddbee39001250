# SPDX-License-Identifier: MIT
import numpy as np


def matmul_tiled(a_t, b):
    return np.transpose(a_t) @ b
