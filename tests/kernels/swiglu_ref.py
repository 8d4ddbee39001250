# SPDX-License-Identifier: MIT
import numpy as np


def swiglu(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate / (1.0 + np.exp(-gate)) * (x @ w_up)) @ w_down
