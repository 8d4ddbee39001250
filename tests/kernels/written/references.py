# SPDX-License-Identifier: MIT
"""References for the writer: elementwise chains and row-wise reductions in many spellings."""
import numpy as np
import math

def rmsnorm(x, w, eps=1e-6):
    ms = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(ms + eps) * w

def layernorm(x, g, b):
    mu = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mu) / np.sqrt(var + 1e-5) * g + b

def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))

def silu_mul(a, b):
    return a / (1 + np.exp(-a)) * b

def logsumexp(x):
    m = x.max(-1, keepdims=True)
    return (np.log(np.exp(x - m).sum(-1, keepdims=True)) + m)[..., 0]

def two_out(x):
    m = x.max(axis=-1)
    return x - m[..., None], m

def col_scale(x, s):
    return x * s[:, None] + 1.0

def l2norm(x):
    return x / np.maximum(np.sqrt((x ** 2).sum(axis=-1, keepdims=True)), 1e-12)

def where_(x, y):
    return np.where(x > y, x * 2, -y)

def glu(x):
    h = x.shape[-1] // 2
    return x[..., :h] * (1 / (1 + np.exp(-x[..., h:])))

def rope(x, c, s):
    h = x.shape[-1] // 2
    x1, x2 = x[..., :h], x[..., h:]
    return np.concatenate([x1 * c - x2 * s, x2 * c + x1 * s], axis=-1)

def cumsum(x):
    return np.cumsum(x, axis=-1)

def poly(x):
    y = 0
    for c in [1.0, -0.5, 0.25, 3.0]:
        y = y * x + c
    return y

def minmax(x):
    lo = np.min(x, axis=-1, keepdims=True); hi = np.max(x, axis=-1, keepdims=True)
    return (x - lo) / (hi - lo + 1e-6)

def bias_b(x, m):
    return np.exp(x + m)

def outer(a, b):
    return a * b

def std(x):
    return x.std(axis=-1, ddof=1)

def clip_(x, lo=-1.0, hi=2.0):
    return np.clip(x, lo, hi)

def log1p_(x):
    return np.log1p(np.abs(x))

def sin_(x):
    return np.sin(x) + np.cos(x * 0.5)

def floor_(x):
    return np.floor(x) + np.round(x * 3)

def tri(x):
    n = x.shape[-1]
    i = np.arange(n)
    return np.where(i[None, :] <= i[:, None], x, 0.0)

def last2(x):
    return (x - x.mean(axis=(-2, -1), keepdims=True)) * 2

def softcap(x, cap=30.0):
    return np.tanh(x / cap) * cap

def mm(a, b):
    return a @ b

def colsum(x):
    return x.sum(axis=0)

def huber(x, y, delta=1.0):
    d = np.abs(x - y)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))

def ent(x):
    p = np.exp(x - x.max(-1, keepdims=True)); p = p / p.sum(-1, keepdims=True)
    return -(p * np.log(p + 1e-9)).sum(-1)

def pw(x):
    return np.abs(x) ** 1.7

def pw2(x, y):
    return np.power(np.abs(x) + 0.5, y)

def flat(x, w):
    b, s, h = x.shape
    y = x.reshape(b * s, h) * w
    return y.reshape(b, s, h)

def div(x, y):
    return x / (y * y + 1)

def scalar_p(x, a, b):
    return x * (a + b) / math.sqrt(a)

def masked(x, m):
    return np.where(m, x, -1e9)

def absmax_q(x):
    s = np.max(np.abs(x), axis=-1, keepdims=True) / 127.0
    return np.round(x / s), s


def rms_by_loop(x):
    total = 0.0
    for k in range(1):
        total = total + np.sum(x ** 2, axis=-1, keepdims=True)
    return x * (total / x.shape[-1] + 1e-5) ** -0.5


def row_position(x, table):
    return x + table


def argpick(x):
    return np.argmax(x, axis=-1)


def gather(x):
    return x[:, [0, 2]]


def flipped(x):
    return x[..., ::-1]


def transposed(x):
    return x.T * 2


def prod_(x):
    return np.prod(x * 0.5, axis=-1)


def any_(x):
    return np.any(x > 1.0, axis=-1)


def stride2(x):
    return x[..., ::2] - x[..., 1::2]


def pad_(x):
    return np.concatenate([x, np.zeros_like(x)], axis=-1)


def mixed(x, w):
    y = np.tanh(x) * w
    return y.astype(np.float32), (y > 0).sum(axis=-1)
