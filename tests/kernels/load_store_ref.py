# SPDX-License-Identifier: MIT
import numpy as np


def load_store(a, b):
    return np.maximum((a + b) * 0.5, 0.0)
