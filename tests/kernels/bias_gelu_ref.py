# SPDX-License-Identifier: MIT
import numpy as np


def bias_gelu(x_t, bias):
    y = x_t + bias
    return 0.5 * y * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (y + 0.044715 * y ** 3)))
