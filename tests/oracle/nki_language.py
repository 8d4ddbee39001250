# SPDX-License-Identifier: MIT
"""Expressions of nki.language and what NumPy makes of them.

Usage: nki_language.py OUTPUT_FOLDER. Writes cases.json and data.bin (float64). A case is an expression over tiles a, b, c
(float32 unless stated), their values, and the result in float64 with tolerances for chip mode.
"""
import json
import sys
from math import erf

import numpy as np

rng = np.random.default_rng(7)
blob, cases = bytearray(), []


def put(x):
    x = np.ascontiguousarray(x, dtype=np.float64)
    at = len(blob)
    blob.extend(x.tobytes())
    return {"offset": at, "count": int(x.size), "shape": list(x.shape)}


def case(expr, want, rtol=2e-6, atol=2e-6, exact=1e-12, dtypes=None, **tiles):
    dtypes = dtypes or {}
    cases.append({"expr": expr, "want": put(want), "rtol": rtol, "atol": atol, "exact": exact,
                  "tiles": [{"name": n, "dtype": dtypes.get(n, "float32"), "data": put(v)} for n, v in tiles.items()]})


def f(*shape, scale=1.5):
    return rng.normal(0, scale, shape).astype(np.float32).astype(np.float64)


phi = np.vectorize(lambda v: 0.5 * (1 + erf(v / np.sqrt(2))))
sig = lambda v: 1 / (1 + np.exp(-v))
a, b, row = f(100, 60), f(100, 60), f(100, 1)
pos = (np.abs(a) + 0.1).astype(np.float32).astype(np.float64)
for name, fn in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "divide": np.divide}.items():
    case(f"nl.{name}(a, b)", fn(a, b), a=a, b=b)
    case(f"nl.{name}(a, 2.5)", fn(a, 2.5), a=a)
    case(f"nl.{name}(2.5, a)", fn(2.5, a), a=a)
    case(f"nl.{name}(a, b)", fn(a, row), a=a, b=row)
    case(f"nl.{name}(b, a)", fn(row, a), a=a, b=row)
    case(f"nl.{name}(a, b)", fn(f3 := f(20, 4, 6), g3 := f(20, 1, 6)), a=f3, b=g3)
case("nl.power(a, b)", pos ** b, a=pos, b=b, rtol=4e-6)
case("nl.power(a, 3.0)", pos ** 3, a=pos, rtol=4e-6)
for name, fn in {"less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal}.items():
    ints = rng.integers(-3, 4, (30, 40)).astype(float)
    case(f"nl.{name}(a, b)", fn(ints, ints.T.reshape(30, 40)), a=ints, b=ints.T.reshape(30, 40), rtol=0, atol=0)
    case(f"nl.{name}(a, 1, dtype=nl.uint8)", fn(ints, 1), a=ints, rtol=0, atol=0)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
    x, y = rng.integers(0, 2**20, (9, 30)), rng.integers(0, 8, (9, 30))
    case(f"nl.{name}(a, b)", getattr(np, name)(x, y), a=x, b=y, rtol=0, atol=0, dtypes={"a": "int32", "b": "int32"})
    case(f"nl.{name}(a, 3)", getattr(np, name)(x, 3), a=x, rtol=0, atol=0, dtypes={"a": "uint32"})
case("nl.invert(a)", ~x, a=x, rtol=0, atol=0, dtypes={"a": "int32"})
case("nl.logical_not(a)", 1 - (x & 1), a=x & 1, rtol=0, atol=0, dtypes={"a": "uint8"})
for name, fn in {"exp": np.exp, "tanh": np.tanh, "sigmoid": sig, "relu": lambda v: np.maximum(v, 0), "gelu": lambda v: v * phi(v), "silu": lambda v: v * sig(v),
                 "square": np.square, "abs": np.abs, "sign": np.sign, "negative": np.negative, "softplus": lambda v: np.logaddexp(0, v), "floor": np.floor,
                 "ceil": np.ceil, "trunc": np.trunc, "copy": lambda v: v, "reciprocal": lambda v: 1 / v, "arctan": np.arctan,
                 "erf": np.vectorize(erf)}.items():
    case(f"nl.{name}(a)", fn(a), a=a, rtol=4e-6)
    case(f"nl.{name}(a, dtype=nl.bfloat16)", fn(a), a=a, rtol=2.0**-8, atol=1e-30, exact=1e-12)
for name, fn in {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v)}.items():
    case(f"nl.{name}(a)", fn(pos), a=pos)
wide = f(20, 50, scale=20.0)
case("nl.sin(a)", np.sin(wide), a=wide, rtol=1e-5, atol=1e-5)
case("nl.cos(a)", np.cos(wide), a=wide, rtol=1e-5, atol=1e-5)
slim = np.clip(f(20, 50), -1.25, 1.25)
case("nl.tan(a)", np.tan(slim), a=slim, rtol=1e-5, atol=1e-5)
case("nl.mod(a, 1.5)", np.mod(a, 1.5), a=a, atol=1e-5)
case("nl.fmod(a, 1.5)", np.fmod(a, 1.5), a=a, atol=1e-5)
for name, fn in {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean}.items():
    case(f"nl.{name}(a, axis=1)", fn(a, 1, keepdims=True), a=a, atol=2e-5)
    case(f"nl.{name}(a, axis=[1, 2], keepdims=True)", fn(f3, (1, 2), keepdims=True), a=f3, atol=2e-5)
    case(f"nl.{name}(a, axis=2)", fn(f3, 2), a=f3, atol=2e-5)
case("nl.prod(a, axis=1)", np.prod(b[:, :9], 1, keepdims=True), a=b[:, :9], rtol=1e-5)
case("nl.var(a, axis=1)", np.var(a, 1, keepdims=True), a=a, atol=2e-5)
flags = (rng.random((30, 4)) < 0.7).astype(float)
case("nl.all(a, axis=1)", flags.all(1, keepdims=True), a=flags, rtol=0, atol=0)


def softmax(v, axis):
    e = np.exp(v - v.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


case("nl.softmax(a)", softmax(a, 1), a=a)
case("nl.softmax(a, axis=-1)", softmax(f3, 2), a=f3)
case("nl.softmax(a, axis=[1, 2])", softmax(f3.reshape(20, 24), 1).reshape(20, 4, 6), a=f3)
case("nl.rms_norm(a, b, axis=1, n=60)", a / np.sqrt((a * a).sum(1, keepdims=True) / 60 + 1e-6) * b, a=a, b=b)
case("nl.where(c, a, b)", np.where(flags[:, :1] * np.ones((30, 4)) > 0, a[:30, :4], b[:30, :4]), a=a[:30, :4], b=b[:30, :4], c=flags[:, :1] * np.ones((30, 4)), rtol=0, atol=0)
case("nl.where(c, a, 0.5)", np.where(flags > 0, a[:30, :4], 0.5), a=a[:30, :4], c=flags, rtol=0, atol=0)
case("nl.where(c, 2.0, a)", np.where(flags > 0, 2.0, a[:30, :4]), a=a[:30, :4], c=flags, rtol=0, atol=0)
case("nl.broadcast_to(a, (100, 60))", np.broadcast_to(row, (100, 60)), a=row, rtol=0, atol=0)
case("nl.broadcast_to(a, (64, 60))", np.broadcast_to(a[:1], (64, 60)), a=a[:1], rtol=0, atol=0)
case("nl.copy(nl.transpose(a))", a.T, a=a, rtol=0, atol=0)
case("nl.copy(nl.matmul(a, b, transpose_x=True))", a.T @ b, a=a, b=b, atol=2e-5)
case("nl.copy(nl.matmul(a, b))", a @ b[:60, :], a=a, b=b[:60, :], atol=2e-5)
case("nl.expand_dims(a, 1)", a[:, None, :], a=a, rtol=0, atol=0)
case("nl.add(nl.zeros((5, 8), nl.float32), nl.full((5, 8), 3, nl.bfloat16))", np.full((5, 8), 3.0), a=a)
case("nl.add(nl.zeros_like(a), nl.ones(a.shape, nl.float32))", np.ones(a.shape), a=a)
case("nl.copy(nl.shared_identity_matrix(50, dtype=nl.float32))", np.eye(50), a=a, rtol=0, atol=0)
index = rng.integers(0, 60, (100, 7))
case("nl.gather_flattened(a, b)", np.take_along_axis(a, index, 1), a=a, b=index, rtol=0, atol=0, dtypes={"b": "uint32"})
case("nl.load_transpose2d(x)", a[:50].T, a=a[:50], rtol=0, atol=0)
case("nl.copy(a.rearrange(('p', ('h', 'w')), ('p', 'w', 'h'), {'h': 4}))", a.reshape(100, 4, 15).transpose(0, 2, 1), a=a, rtol=0, atol=0)

folder = sys.argv[1]
with open(folder + "/cases.json", "w") as out:
    json.dump(cases, out)
with open(folder + "/data.bin", "wb") as out:
    out.write(bytes(blob))
