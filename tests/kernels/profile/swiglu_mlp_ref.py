# SPDX-License-Identifier: MIT
import numpy as np


def swiglu_mlp(x_t, w_gate, w_up, w_down):
    x = np.transpose(x_t)
    gate = x @ w_gate
    return (gate / (1.0 + np.exp(-gate)) * (x @ w_up)) @ w_down
