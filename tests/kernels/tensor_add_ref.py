# SPDX-License-Identifier: MIT
import numpy as np


def tensor_add(a, b):
    return a + b
