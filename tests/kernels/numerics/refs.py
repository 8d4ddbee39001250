# SPDX-License-Identifier: MIT
"""References for the candidates of candidates.lua: what each one claims to compute."""
import numpy as np


def matmul(a_t, b):
    return np.matmul(np.transpose(a_t), b)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def silu(x):
    return x / (1.0 + np.exp(-x))


def rmsnorm(x, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def adamw(theta, g, lr, decay):
    return theta - lr * g - lr * decay * theta


def attention(q_t, k_t, v):
    d = q_t.shape[0]
    s = np.matmul(np.transpose(q_t), k_t) / np.sqrt(d)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return np.matmul(e / np.sum(e, axis=-1, keepdims=True), v)


def selective(delta, a, u):
    return np.exp(delta * a) * u
