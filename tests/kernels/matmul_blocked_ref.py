# SPDX-License-Identifier: MIT
import numpy as np


def matmul_blocked(a_t, b, block_m=2, block_n=1):
    return np.transpose(a_t) @ b
