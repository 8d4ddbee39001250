# SPDX-License-Identifier: MIT
"""References for the writer, in the ways that people write them: ranks, types, shapes of operands, masks, integers, long rows."""
import math
from typing import Optional

import numpy as np
from scipy.special import erf

EPS = 1e-5


def add_bias(x, b):
    return x + b


def typed_rms(x: np.ndarray, gamma: np.ndarray, eps: float = EPS) -> np.ndarray:
    """Root-mean-square norm with a gain."""
    mean_sq: np.ndarray = (x ** 2).mean(axis=-1, keepdims=True)
    return (x / np.sqrt(mean_sq + eps)) * (1 + gamma)


def gelu_erf(x):
    return x * 0.5 * (1.0 + erf(x / math.sqrt(2.0)))


def clipped_score(x, lo=-2.0, hi=2.0):
    z = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True, ddof=1)
    return z.clip(lo, hi)


def centre_two_axes(x):
    return x - x.mean(axis=(-2, -1), keepdims=True)


def norm_one(x):
    return x / np.linalg.norm(x, ord=1, axis=-1, keepdims=True)


def row_share(x):
    return x / x.sum(axis=-1, keepdims=True)


def quantise(x):
    s = np.max(np.abs(x), axis=-1, keepdims=True) / 127.0
    return np.clip(np.round(x / s), -127, 127) * s


def hypotenuse(x, y):
    return np.hypot(x, y) + np.mod(x, 2.0)


def whole_part(x, y):
    return np.floor_divide(x, np.abs(y) + 1.0)


def group_norm(x, groups=2):
    n, c, l = x.shape
    g = x.reshape(n, groups, c // groups * l)
    m = g.mean(-1, keepdims=True)
    return ((g - m) / np.sqrt(g.var(-1, keepdims=True) + EPS)).reshape(n, c, l)


def per_row(x, r):
    return x * r[:, None]


def by_transposes(x, s):
    return (x.T * s - x.mean(axis=-1)).T


def repeated_operands(x, y, z):
    return x * y + z


def weight_norm(x, w):
    return x * (w / np.sqrt((w ** 2).sum()))


def share_of_all(x):
    return x / np.sum(np.exp(x))


def matvec(x, w):
    return x @ w + np.einsum("bd,bd->b", x, x)


def dequantise(q, s, zero_point=0.0):
    return (q.astype(np.float32) - zero_point) * s


def masked_mean(x, m):
    return np.where(m, x, 0.0).sum(-1) / np.maximum(m.sum(-1), 1)


def masks_assigned(x):
    y = x.copy()
    y[y < 0] = 0
    y[x > 2] = 2.0
    return y


def rope_by_turns(x, c, s):
    x1, x2 = x[..., ::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., ::2] = x1 * c - x2 * s
    out[..., 1::2] = x1 * s + x2 * c
    return out


def rope_stacked(x, c, s):
    x1, x2 = x[..., 0::2], x[..., 1::2]
    return np.stack([x1 * c - x2 * s, x1 * s + x2 * c], axis=-1).reshape(x.shape)


def rope_halves(x, c, s):
    h = x.shape[-1] // 2
    rotated = np.concatenate([-x[..., h:], x[..., :h]], axis=-1)
    return x * c + rotated * s


def swiglu(x):
    a, b = np.split(x, 2, axis=-1)
    return a / (1 + np.exp(-a)) * b


def differences(x):
    y = np.zeros_like(x)
    y[:, 1:] = x[:, 1:] - x[:, :-1]
    return y


def pooled(x):
    return x.reshape(x.shape[0], -1, 4).mean(-1)


def joined_norm(a, b, c):
    x = np.concatenate([a, b, c], axis=-1)
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def causal_softmax(s):
    q, k = s.shape[-2], s.shape[-1]
    z = s + np.triu(np.full((q, k), -1e9), k=1)
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def optional_gain(x, w: Optional[np.ndarray] = None):
    y = x / (np.abs(x).max(-1, keepdims=True) + 1e-6)
    return y if w is None else y * w


def moded(x, centre=True):
    if centre:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt(np.mean(x ** 2, -1, keepdims=True) + EPS)


def averaged(*xs):
    return sum(xs) / len(xs)


def ufuncs(x):
    out = np.empty_like(x)
    np.multiply(x, 2.0, out=out)
    np.add(out, 1.0, out=out)
    return out + np.maximum.reduce(x, axis=-1, keepdims=True) - np.ptp(x, axis=-1)[:, None]


def single(x):
    return np.sum(x)


def ordered(x):
    return np.sort(x, axis=-1)


def gathered(x, t):
    return x[np.arange(x.shape[0]), t]


def clamp_named(x, min=-1.0, max=1.0):
    return np.minimum(np.maximum(x, min), max)


def shape_numbers(x):
    d = x.shape[-1]
    return x * (d ** -0.5) + np.log(d)


def named_nl(x, nl):
    return x + nl
