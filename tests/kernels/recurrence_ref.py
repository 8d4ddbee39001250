# SPDX-License-Identifier: MIT
import numpy as np


def recurrence(decay, x, h0):
    columns = []
    state = h0[:, 0]
    for t in range(x.shape[1]):
        state = decay[:, t] * state + x[:, t]
        columns.append(state)
    return np.stack(columns, axis=1)
