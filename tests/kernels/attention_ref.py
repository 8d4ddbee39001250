# SPDX-License-Identifier: MIT
import numpy as np


def attention(q_t, k_t, v):
    scores = np.transpose(q_t) @ k_t / np.sqrt(q_t.shape[0])
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return (e / np.sum(e, axis=-1, keepdims=True)) @ v
