# SPDX-License-Identifier: MIT
"""References for the writer that loop: over rows, over blocks of rows, over column chunks; and that assign in place."""
import numpy as np


def softmax_rows(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        e = np.exp(x[i] - x[i].max())
        out[i] = e / e.sum()
    return out


def square_sums(x):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = np.dot(x[i], x[i])
    return out


def rms_rows(x, w):
    n, d = x.shape
    out = np.zeros((n, d), dtype=x.dtype)
    for i in range(n):
        rms = np.sqrt(np.mean(x[i, :] * x[i, :]) + 1e-6)
        out[i, :] = x[i, :] / rms * w
    return out


def centre_batch(x):
    out = np.empty(x.shape)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            out[b, i] = x[b, i] - x[b, i].mean()
    return out


def appended(x):
    rows = []
    for row in x:
        rows.append(np.tanh(row) * 2)
    return np.stack(rows)


def zipped(x, y):
    out = np.zeros_like(x)
    for i, (a, b) in enumerate(zip(x, y)):
        out[i] = np.maximum(a, b)
    return out


def along_axis(x):
    return np.apply_along_axis(lambda r: r - r.min(), -1, x)


def row_blocks(x):
    out = np.empty_like(x)
    for i in range(0, x.shape[0], 128):
        t = x[i:i + 128]
        out[i:i + 128] = t - t.max(axis=-1, keepdims=True)
    return out


def running_sum(x):
    s = np.zeros((x.shape[0], 1))
    for j in range(0, x.shape[1], 32):
        s += np.sum(x[:, j:j + 32] ** 2, axis=1, keepdims=True)
    return x / np.sqrt(s + 1e-6)


def online_softmax(x):
    m = np.full((x.shape[0], 1), -np.inf)
    l = np.zeros((x.shape[0], 1))
    for j in range(0, x.shape[1], 25):
        c = x[:, j:j + 25]
        new = np.maximum(m, c.max(-1, keepdims=True))
        l = l * np.exp(m - new) + np.exp(c - new).sum(-1, keepdims=True)
        m = new
    return np.exp(x - m) / l


def aliased(x):
    y = x
    y -= y.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return y


def view_written(x):
    out = x.copy()
    first = out[:, :1]
    first += 1.0
    row_half = out[:, out.shape[1] // 2:]
    row_half *= 2.0
    return out


def recurrence(x):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = 0.5 * out[i - 1] + x[i]
    return out


def rows_in_place(x):
    out = x.copy()
    for i in range(out.shape[0]):
        out[i] -= out[i].mean()
        out[i] /= np.sqrt((out[i] ** 2).mean() + 1e-5)
    return out


def blocks_joined(x):
    outs = []
    for s in range(0, x.shape[0], 128):
        t = x[s:min(s + 128, x.shape[0])]
        outs.append(t / (1 + np.abs(t)))
    return np.concatenate(outs, axis=0)
