# SPDX-License-Identifier: MIT
"""Cases for the NKI machine's instructions, with what NumPy makes of them.

Usage: nki_ops.py OUTPUT_FOLDER. Writes cases.json and data.bin (float64 values). A case names tiles (type, shape, memory,
values), destinations, calls, and for each destination the values expected in chip mode (float32 arithmetic, one rounding
to the destination's type) and in exact mode (float64), with a tolerance: 0 means equal.
Rounding to the narrow types is done here from their definition, apart from the code under test.
"""
import json
import sys

import numpy as np

rng = np.random.default_rng(20240611)
blob = bytearray()
cases = []

FORMATS = {  # fraction bits, smallest normal exponent, largest finite, overflow gives
    "bfloat16": (7, -126, float.fromhex("0x1.fep127"), np.inf),
    "float16": (10, -14, 65504.0, np.inf),
    "tfloat32": (10, -126, float.fromhex("0x1.ffcp127"), np.inf),
    "float32": (23, -126, float(np.finfo(np.float32).max), np.inf),
    "float8_e4m3": (3, -6, 240.0, np.inf),
    "float8_e4m3fn": (3, -6, 448.0, np.nan),
    "float8_e5m2": (2, -14, 57344.0, np.inf),
}
INTS = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767), "uint32": (0, 2**32 - 1),
        "int32": (-2**31, 2**31 - 1)}
FLOATS = ["float32", "bfloat16", "float16"]


def to_type(x, dtype):
    """x rounded to dtype, as float64."""
    x = np.asarray(x, dtype=np.float64)
    if dtype in INTS:
        low, high = INTS[dtype]
        return np.where(np.isnan(x), 0.0, np.clip(np.rint(x), low, high))
    if dtype == "bool_":
        return (x != 0).astype(np.float64)
    bits, emin, top, overflow = FORMATS[dtype]
    finite = np.isfinite(x)
    safe = np.where(finite, x, 0.0)
    _, e = np.frexp(safe)
    quantum = np.ldexp(1.0, np.maximum(e - 1, emin) - bits)
    r = np.rint(safe / quantum) * quantum
    r = np.where(np.abs(r) > top, np.copysign(overflow, r) if overflow == np.inf else overflow, r)
    r = np.where(r == 0, np.copysign(0.0, x), r)
    return np.where(finite, r, np.where(np.isnan(x), np.nan, x if overflow == np.inf else np.nan))


def put(x):
    x = np.ascontiguousarray(x, dtype=np.float64)
    at = len(blob)
    blob.extend(x.tobytes())
    return {"offset": at, "count": int(x.size)}


class Case:
    def __init__(self, name, target="trn2"):
        self.row = {"name": name, "target": target, "tiles": [], "dst": [], "calls": [], "expect": []}
        cases.append(self.row)

    def tile(self, name, values, dtype, buffer="sbuf"):
        x = to_type(values, dtype)
        self.row["tiles"].append({"name": name, "dtype": dtype, "shape": list(x.shape), "buffer": buffer, "data": put(x)})
        return x

    def dst(self, name, shape, dtype, buffer="sbuf"):
        self.row["dst"].append({"name": name, "dtype": dtype, "shape": list(shape), "buffer": buffer})

    def call(self, fn, *args):
        self.row["calls"].append([fn] + list(args))

    def expect(self, name, chip, exact, rtol=0.0, atol=0.0, exact_rtol=1e-13, exact_atol=1e-300):
        dtype = next(t["dtype"] for t in self.row["dst"] + self.row["tiles"] if t["name"] == name)
        rounded = to_type(chip, dtype)
        unrounded = np.asarray(exact, np.float64)
        if dtype in INTS or dtype == "bool_":
            unrounded = to_type(unrounded, dtype)
        if rtol and dtype in FORMATS and FORMATS[dtype][0] < 23:
            rtol = max(rtol, 2.0 ** -FORMATS[dtype][0])  # a value near a tie may round the other way
            atol = max(atol, 2.0 ** (FORMATS[dtype][1] - FORMATS[dtype][0]))
        self.row["expect"].append({"name": name, "chip": put(rounded), "exact": put(unrounded), "rtol": rtol, "atol": atol,
                                   "exact_rtol": exact_rtol, "exact_atol": exact_atol})


def T(name, *index):
    return {"tile": name, "index": list(index)} if index else {"tile": name}


def OP(name):
    return {"op": name}


def E(kind, name):
    return {"enum": [kind, name]}


def draw(shape, dtype="float32", scale=4.0):
    if dtype in INTS:
        low, high = INTS[dtype]
        return rng.integers(max(low, -90), min(high, 90) + 1, shape).astype(np.float64)
    if dtype == "bool_":
        return rng.integers(0, 2, shape).astype(np.float64)
    return rng.normal(0, scale, shape)


f32 = np.float32
SHAPES = [(128, 48), (5, 7), (33, 1), (64, 3, 5)]

ARITH = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "equal": lambda a, b: (a == b) * a.dtype.type(1), "not_equal": lambda a, b: (a != b) * a.dtype.type(1),
    "less": lambda a, b: (a < b) * a.dtype.type(1), "less_equal": lambda a, b: (a <= b) * a.dtype.type(1),
    "greater": lambda a, b: (a > b) * a.dtype.type(1), "greater_equal": lambda a, b: (a >= b) * a.dtype.type(1),
    "logical_and": lambda a, b: ((a != 0) & (b != 0)) * a.dtype.type(1), "logical_or": lambda a, b: ((a != 0) | (b != 0)) * a.dtype.type(1),
    "logical_xor": lambda a, b: ((a != 0) ^ (b != 0)) * a.dtype.type(1),
}
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
WIDTH = {"uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "uint32": 32, "int32": 32}


def bits_of(x, dtype):
    return np.asarray(x, np.int64) & ((1 << WIDTH[dtype]) - 1)


def from_bits(b, dtype):
    w = WIDTH[dtype]
    b = np.asarray(b, np.int64) & ((1 << w) - 1)
    return (np.where(b >= 1 << (w - 1), b - (1 << w), b) if dtype[0] == "i" else b).astype(np.float64)


def tensor_tensor():
    for op, fn in ARITH.items():
        for shape in SHAPES if op in ("add", "less") else SHAPES[:2]:
            for da, db, dd in [("float32", "float32", "float32"), ("bfloat16", "bfloat16", "bfloat16"), ("float16", "float32", "bfloat16"),
                               ("int8", "float32", "float32"), ("float8_e4m3", "float8_e5m2", "float16"), ("float32", "bfloat16", "int16"),
                               ("uint16", "int32", "float32")]:
                c = Case(f"tensor_tensor {op} {shape} {da},{db}->{dd}")
                a, b = c.tile("a", draw(shape, da), da), c.tile("b", draw(shape, db), db)
                c.dst("d", shape, dd)
                c.call("tensor_tensor", T("d"), T("a"), T("b"), OP(op))
                c.expect("d", fn(a.astype(f32), b.astype(f32)), fn(a, b))
    for dtype in WIDTH:
        for op, fn in BITS.items():
            c = Case(f"tensor_tensor {op} {dtype}")
            a = c.tile("a", rng.integers(INTS[dtype][0], INTS[dtype][1] + 1, (9, 40)), dtype)
            b = c.tile("b", rng.integers(INTS[dtype][0], INTS[dtype][1] + 1, (9, 40)), dtype)
            c.dst("d", (9, 40), dtype)
            c.call("tensor_tensor", T("d"), T("a"), T("b"), OP(op))
            want = from_bits(fn(bits_of(a, dtype), bits_of(b, dtype)), dtype)
            c.expect("d", want, want)
        for op in ("left_shift", "right_shift"):
            c = Case(f"tensor_tensor {op} {dtype}")
            a = c.tile("a", rng.integers(INTS[dtype][0], INTS[dtype][1] + 1, (9, 40)), dtype)
            b = c.tile("b", rng.integers(0, WIDTH[dtype], (9, 40)), dtype)
            c.dst("d", (9, 40), dtype)
            c.call("tensor_tensor", T("d"), T("a"), T("b"), OP(op))
            k = b.astype(np.int64)
            want = from_bits(bits_of(a, dtype) << k if op == "left_shift" else bits_of(a, dtype) >> k, dtype)
            c.expect("d", want, want)
    for dtype in ("int32", "uint32"):  # GpSimd: exact integers, beyond 2^24
        for op, fn in (("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("maximum", np.maximum)):
            c = Case(f"tensor_tensor exact {op} {dtype}")
            a = c.tile("a", rng.integers(2**24, 2**30, (4, 33)), dtype)
            b = c.tile("b", rng.integers(0, 2**15 if op == "multiply" else 2**24, (4, 33)), dtype)
            c.dst("d", (4, 33), dtype)
            c.call("tensor_tensor", T("d"), T("a"), T("b"), OP(op))
            want = from_bits(fn(a.astype(np.int64), b.astype(np.int64)), dtype)
            c.expect("d", want, want)
    c = Case("tensor_tensor int32 add on the Vector Engine goes through float32")
    a, b = c.tile("a", rng.integers(2**24, 2**28, (4, 33)), "int32"), c.tile("b", rng.integers(0, 99, (4, 33)), "int32")
    c.dst("d", (4, 33), "int32")
    c.call("tensor_tensor", T("d"), T("a"), T("b"), OP("add"), E("engine", "vector"))
    c.expect("d", a.astype(f32) + b.astype(f32), a + b)
    c = Case("tensor_tensor power")
    a, b = c.tile("a", np.abs(draw((6, 50))) + 0.1, "float32"), c.tile("b", draw((6, 50), scale=1.0), "float32")
    c.dst("d", (6, 50), "float32")
    c.call("tensor_tensor", T("d"), T("a"), T("b"), OP("power"))
    c.expect("d", a ** b, a ** b, rtol=1e-6)
    for op in ("abs_max", "abs_min"):
        c = Case(f"tensor_tensor {op}", target="trn3")
        a, b = c.tile("a", draw((6, 50)), "float32"), c.tile("b", draw((6, 50)), "float32")
        c.dst("d", (6, 50), "float32")
        c.call("tensor_tensor", T("d"), T("a"), T("b"), OP(op))
        pick = np.abs(a) > np.abs(b) if op == "abs_max" else np.abs(a) < np.abs(b)
        c.expect("d", np.where(pick, a, b), np.where(pick, a, b))
    c = Case("tensor_tensor in place, one operand in PSUM")
    a, b = c.tile("a", draw((40, 70)), "float32"), c.tile("b", draw((40, 70)), "float32", "psum")
    c.call("tensor_tensor", T("a"), T("a"), T("b"), OP("add"))
    c.expect("a", a.astype(f32) + b.astype(f32), a + b)
    c = Case("tensor_tensor overlapping shifted views")
    a = c.tile("a", draw((8, 64)), "float32")
    c.call("tensor_tensor", T("a", [0, 8], [1, 64]), T("a", [0, 8], [0, 63]), T("a", [0, 8], [0, 63]), OP("add"))
    want = a.copy()
    want[:, 1:] = (a[:, :-1].astype(f32) + a[:, :-1].astype(f32))
    c.expect("a", want, want)


def tensor_scalar():
    vec = [("number", None), ("vector", None)]
    for op0, op1 in [("add", None), ("subtract", None), ("multiply", "add"), ("maximum", "subtract"), ("subtract", "multiply"), ("greater", "multiply"),
                     ("minimum", "less_equal")]:
        for shape in [(128, 20), (7, 13), (32, 4, 9)]:
            for dd in ("float32", "bfloat16"):
                for how in (0, 1):
                    for reverse in (False, True):
                        c = Case(f"tensor_scalar {op0} {op1} {shape} {dd} {vec[how][0]} reverse={reverse}")
                        x = c.tile("x", draw(shape, dd), dd)
                        s0, s1 = f32(0.7), f32(-1.3)
                        k0, k1, a0, a1 = np.float64(0.7), np.float64(-1.3), 0.7, -1.3
                        if how:
                            k0 = c.tile("s0", draw((shape[0], 1)), "float32").reshape((-1,) + (1,) * (len(shape) - 1))
                            k1 = c.tile("s1", draw((shape[0], 1)), "float32").reshape(k0.shape)
                            s0, s1, a0, a1 = k0.astype(f32), k1.astype(f32), T("s0"), T("s1")
                        c.dst("d", shape, dd)
                        c.call("tensor_scalar", T("d"), T("x"), OP(op0), a0, reverse, OP(op1) if op1 else None, a1 if op1 else None, reverse)

                        def apply(x, p, q):
                            r = ARITH[op0](p + 0 * x, x) if reverse else ARITH[op0](x, p + 0 * x)
                            if op1:
                                r = ARITH[op1](q + 0 * r, r) if reverse else ARITH[op1](r, q + 0 * r)
                            return r
                        c.expect("d", apply(x.astype(f32), s0, s1), apply(x, k0, k1))
    for dtype in ("uint8", "int32", "int16"):
        c = Case(f"tensor_scalar bitwise {dtype}")
        x = c.tile("x", rng.integers(INTS[dtype][0], INTS[dtype][1] + 1, (9, 40)), dtype)
        c.dst("d", (9, 40), dtype)
        c.call("tensor_scalar", T("d"), T("x"), OP("bitwise_and"), 0x3C, False, OP("left_shift"), 1)
        want = from_bits((bits_of(x, dtype) & 0x3C) << 1, dtype)
        c.expect("d", want, want)
        c = Case(f"tensor_scalar invert {dtype}")
        x = c.tile("x", rng.integers(INTS[dtype][0], INTS[dtype][1] + 1, (9, 40)), dtype)
        c.dst("d", (9, 40), dtype)
        c.call("tensor_scalar", T("d"), T("x"), OP("invert"), None)
        want = from_bits(~bits_of(x, dtype), dtype)
        c.expect("d", want, want)
    for op, fn in (("abs", np.abs), ("square", np.square), ("relu", lambda x: np.maximum(x, 0)), ("rsqrt", lambda x: 1 / np.sqrt(x)),
                   ("reciprocal", lambda x: 1 / x)):
        c = Case(f"tensor_scalar unary {op}")
        x = c.tile("x", np.abs(draw((20, 30))) + 0.1 if op == "rsqrt" else draw((20, 30)), "float32")
        c.dst("d", (20, 30), "float32")
        c.call("tensor_scalar", T("d"), T("x"), OP(op), 0.0)
        c.expect("d", fn(x), fn(x), rtol=3e-7)
    for reverse in (False, True):
        c = Case(f"scalar_tensor_tensor reverse={reverse}")
        x, y = c.tile("x", draw((50, 60), "bfloat16"), "bfloat16"), c.tile("y", draw((50, 60)), "float32", "psum")
        s = c.tile("s", draw((50, 1)), "float32")
        c.dst("d", (50, 60), "bfloat16")
        c.call("scalar_tensor_tensor", T("d"), T("x"), OP("multiply"), T("s"), OP("subtract"), T("y"), False, reverse)
        r32 = x.astype(f32) * s.astype(f32)
        c.expect("d", y.astype(f32) - r32 if reverse else r32 - y.astype(f32), y - x * s if reverse else x * s - y)


def erf(x):
    from math import erf as e
    return np.vectorize(e)(x)


def phi(x):
    return 0.5 * (1 + erf(x / np.sqrt(2)))


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


ACT = {
    "copy": lambda x: x, "square": np.square, "sigmoid": sigmoid, "relu": lambda x: np.maximum(x, 0), "gelu": lambda x: x * phi(x),
    "gelu_dx": lambda x: phi(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
    "gelu_apprx_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x), "silu": lambda x: x * sigmoid(x),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), "tanh": np.tanh, "softplus": lambda x: np.logaddexp(0, x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)), "erf": erf, "erf_dx": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), "exp": np.exp,
    "log": np.log, "sin": np.sin, "arctan": np.arctan, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
    "sign": np.sign, "abs": np.abs,
}


def activation():
    for op, fn in ACT.items():
        for dtype in FLOATS:
            for shape in [(128, 33), (3, 2, 5)]:
                c = Case(f"activation {op} {dtype} {shape}")
                x = draw(shape, scale=1.0)
                if op in ("log", "sqrt", "rsqrt", "reciprocal"):
                    x = np.abs(x) + 0.05
                if op in ("sin", "arctan"):
                    x = np.clip(x, -1.5, 1.5)
                x = c.tile("x", x, dtype)
                c.dst("d", shape, dtype)
                c.call("activation", T("d"), OP(op), T("x"))
                c.expect("d", fn(x), fn(x), rtol=0 if op in ("copy", "relu", "abs", "sign") else 1e-6, atol=1e-7 if "dx" in op or op == "gelu" else 0,
                         exact_rtol=4e-15, exact_atol=2e-16)
    for scale, bias in [(0.5, None), (None, None), ("v", None), ("v", "v"), (2.0, "v"), (0.25, 0.75)]:
        for dtype in ("float32", "bfloat16"):
            c = Case(f"activation exp scale={scale} bias={bias} {dtype}")
            x = c.tile("x", draw((60, 45), scale=1.0), dtype)
            s = c.tile("s", draw((60, 1), scale=0.5), "float32") if scale == "v" else (1.0 if scale is None else scale)
            b = c.tile("b", draw((60, 1), scale=0.5), "bfloat16") if bias == "v" else (0.0 if bias is None else bias)
            c.dst("d", (60, 45), dtype)
            c.call("activation", T("d"), OP("exp"), T("x"), T("b") if bias == "v" else bias, T("s") if scale == "v" else (1.0 if scale is None else scale))
            z = (x.astype(f32) * np.asarray(s, f32) + np.asarray(b, f32)).astype(np.float64)
            c.expect("d", np.exp(z), np.exp(x * s + b), rtol=1e-6, exact_rtol=1e-14)
    c = Case("activation accumulates over two tiles, read at the end")
    x, y = c.tile("x", draw((60, 45), scale=1.0), "float32"), c.tile("y", draw((60, 20), scale=1.0), "bfloat16")
    c.dst("d", (60, 45), "float32")
    c.dst("e", (60, 20), "bfloat16")
    c.dst("r", (60, 1), "float32")
    c.call("activation", T("d"), OP("exp"), T("x"), None, 1.0, OP("add"), None, E("reduce_cmd", "reset_reduce"))
    c.call("activation", T("e"), OP("exp"), T("y"), None, 1.0, OP("add"), T("r"), E("reduce_cmd", "reduce"))
    total = np.exp(x).sum(1, keepdims=True) + np.exp(y).sum(1, keepdims=True)
    c.expect("d", np.exp(x), np.exp(x), rtol=1e-6)
    c.expect("r", total, total, rtol=2e-6)
    c = Case("activation_reduce")
    x, b = c.tile("x", draw((60, 3000), scale=1.0), "bfloat16"), c.tile("b", draw((60, 1)), "float32")
    c.dst("d", (60, 3000), "bfloat16")
    c.dst("r", (60, 1), "float32")
    c.call("activation_reduce", T("d"), OP("exp"), T("x"), OP("add"), T("r"), T("b"), 0.5)
    z = np.exp((x.astype(f32) * f32(0.5) + b.astype(f32)).astype(np.float64))
    c.expect("d", z, np.exp(x * 0.5 + b), rtol=1e-6)
    c.expect("r", z.sum(1, keepdims=True), np.exp(x * 0.5 + b).sum(1, keepdims=True), rtol=5e-6, exact_rtol=1e-12)
    for red, fn in (("add", np.sum), ("multiply", np.prod), ("max", np.max), ("min", np.min)):
        c = Case(f"tensor_scalar_reduce {red}")
        x, s = c.tile("x", draw((30, 24), scale=1.0), "float32"), c.tile("s", draw((30, 1)), "float32")
        c.dst("d", (30, 24), "bfloat16")
        c.dst("r", (30, 1), "float32")
        c.call("tensor_scalar_reduce", T("d"), T("x"), OP("add"), T("s"), OP(red), T("r"), False, E("reduce_cmd", "reset_reduce"), None, red == "max")
        z = x.astype(f32) + s.astype(f32)
        sign = -1 if red == "max" else 1
        c.expect("d", z, x + s)
        c.expect("r", sign * fn(z.astype(np.float64), axis=1, keepdims=True), sign * fn(x + s, axis=1, keepdims=True), rtol=0 if red in ("max", "min") else 4e-6,
                 atol=0 if red in ("max", "min") else 1e-5, exact_rtol=1e-12)
    c = Case("exponential", target="trn3")
    x, m = c.tile("x", draw((30, 2500), scale=1.0), "bfloat16"), c.tile("m", draw((30, 1)), "float32")
    c.dst("d", (30, 2500), "float32")
    c.dst("r", (30, 1), "float32")
    c.call("exponential", T("d"), T("x"), T("m"), T("r"), E("reduce_cmd", "reset_reduce"), 0.0)
    z = np.exp((x.astype(f32) - m.astype(f32)).astype(np.float64))
    c.expect("d", z, np.exp(x - m), rtol=1e-6)
    c.expect("r", z.sum(1, keepdims=True), np.exp(x - m).sum(1, keepdims=True), rtol=5e-6, exact_rtol=1e-12)
    for dtype in FLOATS:
        c = Case(f"reciprocal {dtype}")
        x = c.tile("x", draw((9, 2100)), dtype)
        c.dst("d", (9, 2100), dtype)
        c.call("reciprocal", T("d"), T("x"))
        c.expect("d", f32(1) / x.astype(f32), 1 / x)


def reduce():
    ops = {"add": np.sum, "maximum": np.max, "minimum": np.min, "multiply": np.prod}
    for op, fn in ops.items():
        for shape, axes in [((128, 50), [1]), ((3, 4500), [1]), ((33, 4, 6), [2]), ((33, 4, 6), [1, 2]), ((10, 2, 3, 4), [2, 3])]:
            for dtype in ("float32", "bfloat16", "int16"):
                if op == "multiply" and (dtype == "int16" or shape[-1] > 100):
                    continue
                for negate in (False, True):
                    c = Case(f"tensor_reduce {op} {shape} {axes} {dtype} negate={negate}")
                    x = c.tile("x", draw(shape, dtype, 1.0), dtype)
                    out = fn(x, axis=tuple(axes)).reshape(shape[0], -1) * (-1 if negate else 1)
                    c.dst("d", out.shape, "float32")
                    c.call("tensor_reduce", T("d"), OP(op), T("x"), axes if len(axes) > 1 else axes[0], negate, False)
                    close = op in ("add", "multiply") and dtype != "int16"
                    c.expect("d", out, out, rtol=2e-6 if close else 0, atol=2e-5 if close else 0, exact_rtol=1e-12, exact_atol=1e-12)
    for op, fn in BITS.items():
        c = Case(f"tensor_reduce {op}")
        x = c.tile("x", rng.integers(0, 256, (12, 9, 5)), "uint8")
        c.dst("d", (12, 9), "uint8")
        c.call("tensor_reduce", T("d"), OP(op), T("x"), [2])
        want = fn.reduce(x.astype(np.int64), axis=2)
        c.expect("d", want, want)
    c = Case("tensor_reduce subtract over several chunks")
    x = c.tile("x", draw((3, 5001), "int8"), "int8")
    c.dst("d", (3, 1), "float32")
    c.call("tensor_reduce", T("d"), OP("subtract"), T("x"), [1])
    want = (x[:, :1] - x[:, 1:].sum(1, keepdims=True))
    c.expect("d", want, want)
    c = Case("tensor_reduce over a permuted 5-D view: pooling")
    x = c.tile("x", draw((16, 12, 8)), "float32")
    c.dst("d", (16, 4, 4), "float32")
    c.call("tensor_reduce", T("d"), OP("maximum"), {"tile": "x", "methods": [["reshape_dim", 1, [4, 3]], ["reshape_dim", 3, [4, 2]], ["permute", [0, 1, 3, 2, 4]]]}, [3, 4])
    want = x.reshape(16, 4, 3, 4, 2).max(axis=(2, 4))
    c.expect("d", want, want)
    for op in ("add", "average", "maximum"):
        c = Case(f"tensor_partition_reduce {op}")
        x = c.tile("x", draw((50, 70)), "float32")
        c.dst("d", (1, 70), "float32")
        c.call("tensor_partition_reduce", T("d"), OP(op), T("x"))
        want = {"add": x.sum(0), "average": x.mean(0), "maximum": x.max(0)}[op][None]
        c.expect("d", want, want, rtol=2e-6, atol=1e-5, exact_rtol=1e-12, exact_atol=1e-12)
    for op0, op1, r0, r1 in [("multiply", "add", False, False), ("add", "maximum", False, False), ("subtract", "multiply", True, True), ("maximum", "add", False, True)]:
        for n in (1, 40, 5000):
            c = Case(f"scan {op0} {op1} {r0} {r1} {n}")
            a = c.tile("a", rng.uniform(-0.9, 0.9, (20, n)), "float32")
            b = c.tile("b", draw((20, n), scale=0.5), "bfloat16", "psum" if n == 40 else "sbuf")
            i = c.tile("i", draw((20, 1)), "float32")
            if op0 == "subtract":
                a, b = a, b
            c.dst("d", (20, n), "float32")
            c.call("tensor_tensor_scan", T("d"), T("a"), T("b"), T("i"), OP(op0), OP(op1), r0, r1)

            def scan(a, b, i):
                out = np.empty_like(a)
                s = i[:, 0]
                for k in range(a.shape[1]):
                    t = ARITH[op0](s, a[:, k]) if r0 else ARITH[op0](a[:, k], s)
                    s = ARITH[op1](b[:, k], t) if r1 else ARITH[op1](t, b[:, k])
                    out[:, k] = s
                return out
            c.expect("d", scan(a.astype(f32), b.astype(f32), i.astype(f32)), scan(a, b, i), exact_rtol=1e-12, exact_atol=1e-12)
    for n in (1, 2, 77, 512):
        c = Case(f"bn_stats {n}")
        x = c.tile("x", draw((30, n)), "bfloat16")
        c.dst("d", (30, 6), "float32")
        c.call("bn_stats", T("d"), T("x"))
        want = np.zeros((30, 6))
        for h in (0, 1):
            part = x[:, h::2]
            if part.shape[1]:
                want[:, 3 * h] = part.shape[1]
                want[:, 3 * h + 1] = part.mean(1)
                want[:, 3 * h + 2] = part.var(1) * part.shape[1]
        c.expect("d", want, want, rtol=2e-6, atol=1e-6, exact_rtol=1e-11, exact_atol=1e-11)
    c = Case("bn_stats and bn_aggr give mean and variance")
    x = c.tile("x", draw((30, 900)), "float32")
    c.dst("s", (30, 2, 6), "float32")
    c.dst("d", (30, 2), "float32")
    c.call("bn_stats", T("s", [0, 30], 0, [0, 6]), T("x", [0, 30], [0, 500]))
    c.call("bn_stats", T("s", [0, 30], 1, [0, 6]), T("x", [0, 30], [500, 900]))
    c.call("bn_aggr", T("d"), T("s"))
    want = np.stack([x.mean(1), x.var(1)], 1)
    c.expect("d", want, want, rtol=2e-6, atol=1e-6, exact_rtol=1e-11, exact_atol=1e-11)
    for cmd in ("reset_reduce", "load_reduce"):
        c = Case(f"tensor_scalar_cumulative {cmd}")
        x, s, i = c.tile("x", draw((20, 2500), scale=0.1), "bfloat16"), c.tile("s", draw((20, 1)), "float32"), c.tile("i", draw((20, 1)), "float32")
        c.dst("d", (20, 2500), "float32")
        load = cmd == "load_reduce"
        c.call("tensor_scalar_cumulative", T("d"), T("x"), OP("multiply"), OP("add"), T("s"), T("i") if load else None, E("reduce_cmd", cmd))
        want = np.cumsum(x * s, 1) + (i if load else 0)
        c.expect("d", want, want, rtol=1e-5, atol=2e-4, exact_rtol=1e-11, exact_atol=1e-11)
    c = Case("nc_find_index8")
    x = c.tile("x", np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8], [5, 5, 1, 0, 5, 2, 7, 7, 7, 9, 3]]), "float32")
    c.tile("v", np.array([[3, 8, 8, 8, 8, 8, 8, 8], [5, 5, 5, 5, 6, 9, 7, 0]]), "float32")
    c.dst("d", (2, 8), "uint32")
    c.call("nc_find_index8", T("d"), T("x"), T("v"))
    want = np.array([[2, 4, 5, 6, 7, 8, 9, 10], [0, 1, 4, 2**32 - 1, 2**32 - 1, 9, 6, 3]])
    c.expect("d", want, want)
    c = Case("nc_match_replace8")  # the documented example of duplicates
    x = c.tile("x", np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]]), "float32")
    c.tile("v", np.array([[3, 8, 8, 8, 8, 8, 8, 8]]), "float32")
    c.dst("d", (1, 11), "float32")
    c.dst("i", (1, 8), "uint32")
    c.call("nc_match_replace8", T("d"), T("x"), T("v"), -1.0, T("i"))
    want = np.array([[1, 2, -1, 4, -1, -1, -1, -1, -1, -1, -1]])
    c.expect("d", want, want)
    c.expect("i", [[2, 10, 9, 8, 7, 6, 5, 4]], [[2, 10, 9, 8, 7, 6, 5, 4]])
    c = Case("max8")
    x = c.tile("x", draw((30, 100)), "bfloat16")
    c.dst("d", (30, 8), "float32")
    c.call("max8", T("d"), T("x"))
    want = -np.sort(-x, axis=1)[:, :8]
    c.expect("d", want, want)


def moves():
    kinds = list(FORMATS) + list(INTS) + ["bool_"]
    specials = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 126.5, 127.5, 128.0, -128.5, 254.5, 255.5, 300.0, -7.0, 70000.0, -70000.0, 3e9, -3e9, 1e-5,
                         6e-8, 1e-40, 1e30, 3e38, 449.0, 464.0, 465.0, 241.0, 248.0, 57344.0, 61440.0, 61441.0, 0.0625, 0.001953125, 65519.0, 65520.0,
                         2**24 + 1.0, 33333.0, -0.4])
    for ds in kinds:
        for dd in kinds:
            if "e4m3fn" in ds + dd:
                continue
            for op in ("tensor_copy", "dma_copy"):
                c = Case(f"{op} {ds}->{dd}")
                x = c.tile("x", np.tile(specials, (3, 1)) if ds not in INTS else np.tile(np.clip(specials, *INTS[ds]), (3, 1)), ds)
                c.dst("d", x.shape, dd)
                c.call(op, T("d"), T("x"))
                through = x if ds == dd else x.astype(f32).astype(np.float64)
                c.expect("d", through, x)
    for dtype, value in [("float32", 1.5), ("bfloat16", -0.1), ("int32", 7), ("uint8", 255), ("float8_e5m2", 0.3), ("bool_", 1), ("float16", -0.0)]:
        for index in ([], [[0, 4], [2, 9, 3]]):
            c = Case(f"memset {dtype} {index}")
            x = c.tile("x", np.ones((6, 12)), dtype)
            c.call("memset", T("x", *index), value)
            want = x.copy()
            if index:
                want[0:4, 2:9:3] = value
            else:
                want[:] = value
            c.expect("x", want, want)
    c = Case("dma_copy reshapes in pattern order")
    x = c.tile("x", draw((12, 10)), "float32")
    c.dst("d", (4, 5, 6), "float32")
    c.call("dma_copy", T("d"), T("x"))
    c.expect("d", x.reshape(4, 5, 6), x.reshape(4, 5, 6))
    c = Case("dma_copy of a permuted and strided view")
    x = c.tile("x", draw((12, 10, 4)), "bfloat16")
    c.dst("d", (12, 4, 5), "float32")
    c.call("dma_copy", T("d"), {"tile": "x", "methods": [["slice", 1, 0, 10, 2], ["permute", [0, 2, 1]]]})
    want = x[:, ::2, :].transpose(0, 2, 1)
    c.expect("d", want, want)
    for shape, perm in (((16, 24), (1, 0)), ((3, 4, 20), (2, 1, 0)), ((2, 3, 4, 9), (3, 1, 2, 0))):
        c = Case(f"dma_transpose {shape}")
        x = c.tile("x", draw(shape, "bfloat16"), "bfloat16")
        c.dst("d", [shape[p] for p in perm], "bfloat16")
        c.call("dma_transpose", T("d"), T("x"))
        c.expect("d", x.transpose(perm), x.transpose(perm))
    c = Case("dma_compute adds")
    x, y, z = (c.tile(n, draw((40, 30)), "float32") for n in "xyz")
    c.dst("d", (40, 30), "bfloat16")
    c.call("dma_compute", T("d"), {"list": [T("x"), T("y"), T("z")]}, OP("add"))
    c.expect("d", (x.astype(f32) + y.astype(f32)) + z.astype(f32), x + y + z)
    for dtype in ("float32", "bfloat16", "int32", "uint8"):
        for shape, engine in (((128, 128), None), ((70, 33), None), ((32, 17), None), ((32, 32), "tensor"), ((20, 3, 5), None)):
            n = int(np.prod(shape[1:]))
            small = shape[0] <= 32 and n <= 32 and engine is None
            c = Case(f"nc_transpose {dtype} {shape} {engine}")
            x = c.tile("x", draw(shape, dtype), dtype)
            c.dst("d", (n, shape[0]), dtype, "sbuf" if small else "psum")
            c.call("nc_transpose", T("d"), T("x"), E("engine", engine) if engine else None)
            c.expect("d", x.reshape(shape[0], n).T, x.reshape(shape[0], n).T)
    c = Case("gather and scatter rows by run-time indices")
    x = c.tile("x", draw((40, 12)), "float32", "hbm")
    i = c.tile("i", rng.permutation(40)[:10].reshape(10, 1), "uint32")
    y = c.tile("y", draw((30, 12)), "float32", "hbm")
    c.dst("d", (10, 12), "float32")
    c.call("dma_copy", T("d"), {"tile": "x", "ap": [[[12, 10], [1, 12]], None, None, "i", 0]})
    c.call("dma_copy", {"tile": "x", "ap": [[[12, 10], [1, 12]], None, None, "i", 0]}, T("y", [0, 10], [0, 12]))
    at = i[:, 0].astype(int)
    after = x.copy()
    after[at] = y[:10]
    c.expect("d", x[at], x[at])
    c.expect("x", after, after)
    c = Case("scalar run-time index")
    x, i = c.tile("x", draw((6, 8, 12)), "float32", "hbm"), c.tile("i", [[4]], "int32")
    c.dst("d", (8, 12), "float32")
    c.call("dma_copy", T("d"), {"tile": "x", "select": ["i", 0]})
    c.expect("d", x[4], x[4])
    c = Case("tensor_copy_predicated")
    x, y, p = c.tile("x", draw((20, 30)), "bfloat16"), c.tile("y", draw((20, 30)), "bfloat16"), c.tile("p", rng.integers(0, 2, (20, 30)), "uint8")
    c.call("tensor_copy_predicated", T("x"), T("y"), T("p"))
    c.expect("x", np.where(p != 0, y, x), np.where(p != 0, y, x))
    c = Case("nc_n_gather")
    x, i = c.tile("x", draw((20, 5, 6)), "bfloat16"), c.tile("i", rng.integers(0, 30, (20, 44)), "uint32")
    c.dst("d", (20, 44), "bfloat16")
    c.call("nc_n_gather", T("d"), T("x"), T("i"))
    want = np.take_along_axis(x.reshape(20, 30), i.astype(int), axis=1)
    c.expect("d", want, want)
    c = Case("nc_stream_shuffle")
    x, d = c.tile("x", draw((64, 9)), "float32"), c.tile("d", draw((64, 9)), "float32")
    mask = [int(v) for v in rng.permutation(32)]
    mask[3] = mask[17] = 255
    c.call("nc_stream_shuffle", T("d"), T("x"), mask)
    want = d.copy()
    for q in (0, 32):
        for k in range(32):
            if mask[k] != 255:
                want[q + k] = x[q + mask[k]]
    c.expect("d", want, want)


def positions():
    for dtype in ("int32", "float32", "bfloat16", "uint8"):
        c = Case(f"iota {dtype}")
        c.dst("d", (20, 3, 4), dtype)
        c.call("iota", T("d"), [[4, 3], [1, 4]], 2, 5)
        want = 2 + 5 * np.arange(20)[:, None, None] + 4 * np.arange(3)[:, None] + np.arange(4)
        c.expect("d", want, want)
    for cmp in ("equal", "greater_equal", "less"):
        c = Case(f"affine_select {cmp}")
        x = c.tile("x", draw((40, 50)), "bfloat16")
        c.dst("d", (40, 50), "float32")
        c.call("affine_select", T("d"), [[-1, 50]], 1, T("x"), -9984.0, OP(cmp), 3)
        v = 3 + np.arange(40)[:, None] - np.arange(50)
        keep = {"equal": v == 0, "greater_equal": v >= 0, "less": v < 0}[cmp]
        c.expect("d", np.where(keep, x, -9984.0), np.where(keep, x, -9984.0))
    c = Case("range_select")
    x, lo, hi = c.tile("x", draw((16, 40)), "bfloat16"), c.tile("lo", rng.integers(5, 20, (16, 1)), "float32"), c.tile("hi", rng.integers(20, 45, (16, 1)), "float32")
    c.dst("d", (16, 40), "float32")
    c.dst("r", (16, 1), "float32")
    low = -3.4028234663852886e38
    c.call("range_select", T("d"), T("x"), OP("greater_equal"), OP("less"), T("lo"), T("hi"), E("reduce_cmd", "reset_reduce"), T("r"), OP("maximum"), 4, low)
    at = 4 + np.arange(40)
    want = np.where((at >= lo) & (at < hi), x, low)
    c.expect("d", want, want)
    c.expect("r", want.max(1, keepdims=True), want.max(1, keepdims=True))
    c = Case("select_reduce")
    x, p, v = c.tile("x", draw((16, 40)), "bfloat16"), c.tile("p", rng.integers(0, 2, (16, 40)), "uint8"), c.tile("v", draw((16, 1)), "float32")
    c.dst("d", (16, 40), "float32")
    c.dst("r", (16, 1), "float32")
    c.call("select_reduce", T("d"), T("p"), T("x"), T("v"), T("r"), E("reduce_cmd", "reset_reduce"), OP("maximum"), True)
    want = np.where(p == 0, x, v)
    c.expect("d", want, want)
    c.expect("r", want.max(1, keepdims=True), want.max(1, keepdims=True))


def matmul():
    for ds, dv in [("float32", "float32"), ("bfloat16", "bfloat16"), ("float16", "bfloat16"), ("tfloat32", "float32"), ("float8_e4m3", "float8_e5m2")]:
        for k, m, n in [(128, 128, 512), (100, 33, 77), (1, 1, 1), (128, 5, 300)]:
            c = Case(f"nc_matmul {ds} {dv} {k}x{m}x{n}")
            s, v = c.tile("s", draw((k, m), scale=1.0), ds), c.tile("v", draw((k, n), scale=1.0), dv)
            c.dst("d", (m, n), "float32", "psum")
            c.call("nc_matmul", T("d"), T("s"), T("v"))
            c.expect("d", s.T @ v, s.T @ v, rtol=2e-6, atol=2e-5, exact_rtol=1e-12, exact_atol=1e-12)
    c = Case("nc_matmul accumulates over blocks of K, sliced operands")
    s, v = c.tile("s", draw((64, 3, 40), scale=1.0), "bfloat16"), c.tile("v", draw((64, 3, 90), scale=1.0), "bfloat16")
    c.dst("d", (40, 90), "float32", "psum")
    for i in range(3):
        c.call("nc_matmul", T("d"), T("s", [0, 64], i, [0, 40]), T("v", [0, 64], i, [0, 90]))
    want = np.einsum("kim,kin->mn", s, v)
    c.expect("d", want, want, rtol=2e-6, atol=2e-5, exact_rtol=1e-12, exact_atol=1e-12)
    c = Case("nc_matmul accumulate=False starts again, True goes on")
    s, v = c.tile("s", draw((64, 40), scale=1.0), "float32"), c.tile("v", draw((64, 90), scale=1.0), "float32")
    c.dst("d", (40, 90), "float32", "psum")
    for flag in (False, True, False, True, True):
        c.call("nc_matmul", T("d"), T("s"), T("v"), False, False, False, flag)
    c.expect("d", 3 * (s.T @ v), 3 * (s.T @ v), rtol=2e-6, atol=4e-5, exact_rtol=1e-12, exact_atol=1e-12)
    c = Case("nc_matmul accumulates only where a matmul wrote before")
    s, v = c.tile("s", draw((64, 40), scale=1.0), "float32"), c.tile("v", draw((64, 90), scale=1.0), "float32")
    c.dst("d", (40, 90), "float32", "psum")
    c.call("nc_matmul", T("d", [0, 40], [0, 30]), T("s"), T("v", [0, 64], [0, 30]))
    c.call("nc_matmul", T("d"), T("s"), T("v"))
    want = s.T @ v
    want[:, :30] *= 2
    c.expect("d", want, want, rtol=2e-6, atol=4e-5, exact_rtol=1e-12, exact_atol=1e-12)
    c = Case("nc_matmul of a three-dimensional moving tile")
    s, v = c.tile("s", draw((64, 40), scale=1.0), "bfloat16"), c.tile("v", draw((64, 6, 10), scale=1.0), "bfloat16")
    c.dst("d", (40, 6, 10), "float32", "psum")
    c.call("nc_matmul", T("d"), T("s"), {"tile": "v", "methods": [["permute", [0, 2, 1]]]})
    want = (s.T @ v.transpose(0, 2, 1).reshape(64, 60)).reshape(40, 6, 10)
    c.expect("d", want, want, rtol=2e-6, atol=2e-5, exact_rtol=1e-12, exact_atol=1e-12)
    c = Case("nc_matmul is_transpose moves bits, NaN included")
    x = c.tile("x", draw((48, 30), "bfloat16"), "bfloat16")
    x[5, 6] = np.nan
    c.row["tiles"].pop()
    x = c.tile("x", x, "bfloat16")
    c.tile("i", np.eye(48), "bfloat16")
    c.dst("d", (30, 48), "bfloat16", "psum")
    c.call("nc_matmul", T("d"), T("x"), T("i"), False, False, True)
    c.expect("d", x.T, x.T)
    c = Case("nc_matmul row tile")
    s, v = c.tile("s", draw((64, 40), scale=1.0), "bfloat16"), c.tile("v", draw((64, 60), scale=1.0), "bfloat16")
    c.dst("d", (40, 60), "float32", "psum")
    c.call("nc_matmul", T("d"), T("s"), T("v"), False, False, False, None, [64, 0], [64, 128])
    c.expect("d", s.T @ v, s.T @ v, rtol=2e-6, atol=2e-5, exact_rtol=1e-12, exact_atol=1e-12)
    c = Case("nc_matmul double_row")
    s, v = c.tile("s", draw((64, 2, 40), scale=1.0), "float8_e4m3"), c.tile("v", draw((64, 2, 60), scale=1.0), "float8_e4m3")
    c.dst("d", (40, 60), "float32", "psum")
    c.call("nc_matmul", T("d"), T("s"), T("v"), False, False, False, None, [], [], E("matmul_perf_mode", "double_row"))
    want = np.einsum("kim,kin->mn", s, v)
    c.expect("d", want, want, rtol=2e-6, atol=2e-5, exact_rtol=1e-12, exact_atol=1e-12)


with np.errstate(all="ignore"):
    for group in (tensor_tensor, tensor_scalar, activation, reduce, moves, positions, matmul):
        first = len(cases)
        group()
        for row in cases[first:]:
            row["group"] = group.__name__

folder = sys.argv[1]
with open(folder + "/cases.json", "w") as f:
    json.dump(cases, f)
with open(folder + "/data.bin", "wb") as f:
    f.write(bytes(blob))
