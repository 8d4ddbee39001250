# SPDX-License-Identifier: MIT
"""Cases for tests/unit/array_test.lua: random arrays, views and operations with the results NumPy gives.

usage: array_cases.py FOLDER SEED. Writes FOLDER/data.bin (the elements of every array) and FOLDER/cases.lua (what to
do with them). Types that NumPy lacks are modelled here by searching the table of all their values.
"""
import math
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

NUMPY = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "int8": np.int8, "int16": np.int16,
         "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
         "bool": np.bool_}
FLOATS = ["float64", "float32", "float16"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
NAME = {np.dtype(v): k for k, v in NUMPY.items()}


def lua(value):
    """A Python value as a Lua literal."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return "math.mininteger" if int(value) == -2**63 else str(int(value))
    if isinstance(value, float):
        if value != value:
            return "(0/0)"
        if math.isinf(value):
            return "(1/0)" if value > 0 else "(-1/0)"
        return value.hex()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "{" + ",".join(lua(v) if v is not None else "false" for v in value) + "}"
    return "{" + ",".join("%s=%s" % (k, lua(v)) for k, v in value.items() if v is not None) + "}"


class Writer:
    def __init__(self, folder):
        self.data = open(folder + "/data.bin", "wb")
        self.cases = open(folder + "/cases.lua", "w")
        self.cases.write("-- SPDX-License-Identifier: MIT\nreturn {\n")
        self.offset = 0

    def array(self, a, dtype=None):
        """Store a; dtype names the element type when NumPy has only its bits."""
        raw = np.ascontiguousarray(a).tobytes()
        spec = {"dtype": dtype or NAME[a.dtype], "shape": list(a.shape), "offset": self.offset, "bytes": len(raw)}
        self.data.write(raw)
        self.offset += len(raw)
        return spec

    def case(self, **fields):
        self.cases.write(lua(fields) + ",\n")

    def close(self):
        self.cases.write("}\n")
        self.cases.close()
        self.data.close()


class Maker:
    """Random arrays seen through random views."""

    def __init__(self, writer, seed):
        self.w = writer
        self.rng = np.random.default_rng(seed)

    def values(self, dtype, shape, plain=False):
        rng, n = self.rng, int(np.prod(shape))
        if dtype == "bool":
            return rng.integers(0, 2, n).astype(bool).reshape(shape)
        if dtype in INTEGERS:
            info = np.iinfo(dtype)
            small = rng.integers(max(info.min, -9), 10, n)
            wide = rng.integers(info.min, info.max, n, dtype=np.int64, endpoint=True)
            edge = rng.choice(np.array([info.min, info.max, 0, 1], dtype=np.int64), n)
            pick = rng.integers(0, 4, n)
            return np.where(pick < 2, small, np.where(pick == 2, wide, edge)).astype(NUMPY[dtype]).reshape(shape)
        a = rng.standard_normal(n) * rng.choice([1e-3, 1, 1, 30], n)
        if not plain:
            info = np.finfo(NUMPY[dtype])
            special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, float(info.max), float(info.tiny) / 4, 1, -1, 2.5, 3.5])
            a = np.where(rng.random(n) < 0.15, rng.choice(special, n), a)
            a = np.where(rng.random(n) < 0.2, rng.integers(-6, 7, n).astype(float), a)
        return a.astype(NUMPY[dtype]).reshape(shape)

    def shape(self, ndim=None, most=7):
        ndim = self.rng.integers(1, 5) if ndim is None else ndim
        return tuple(int(v) for v in self.rng.integers(1, most + 1, ndim))

    def view(self, dtype, shape, plain=False):
        """An array of this shape that is a view of a larger, turned or repeated one; returns (array, spec)."""
        rng, ndim = self.rng, len(shape)
        order = [int(v) for v in rng.permutation(ndim)] if rng.random() < 0.6 else list(range(ndim))
        base, steps = [], []
        for axis in range(ndim):
            n = shape[axis]
            kind = rng.integers(0, 5)
            if kind == 0:
                base.append(n + 3)
                steps.append((1, n + 1, 1))
            elif kind == 1:
                base.append(2 * n)
                steps.append((None, None, 2))
            elif kind == 2:
                base.append(n)
                steps.append((None, None, -1))
            elif kind == 3 and n > 1 and rng.random() < 0.3:
                base.append(1)
                steps.append("repeat")
            else:
                base.append(n)
                steps.append(None)
        stored = [0] * ndim
        for axis, place in enumerate(order):
            stored[place] = base[axis]
        a = self.values(dtype, tuple(stored), plain)
        spec = self.w.array(a)
        views = [["transpose", order]]
        v = a.transpose(order)
        for axis, step in enumerate(steps):
            if isinstance(step, tuple):
                index = [slice(None)] * ndim
                index[axis] = slice(*step)
                v = v[tuple(index)]
                views.append(["slice", axis, *step])
        v = np.broadcast_to(v, shape)
        views.append(["broadcast_to", list(shape)])
        spec["views"] = views
        return v, spec


def pair_shapes(m):
    """Two shapes that broadcast together; one in twelve is long, so that it takes several blocks."""
    full = m.shape(int(m.rng.integers(5, 7)), 6) if m.rng.random() < 0.08 else m.shape()
    a = [1 if m.rng.random() < 0.2 else n for n in full]
    b = [1 if m.rng.random() < 0.2 else n for n in full][int(m.rng.integers(0, len(full))):]
    return tuple(a), tuple(b) or (1,)


BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.true_divide,
          "floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod, "maximum": np.maximum,
          "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign,
          "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
BITWISE = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
           "left_shift": np.left_shift, "right_shift": np.right_shift, "power": np.power}
COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
           "greater": np.greater, "greater_equal": np.greater_equal}


def binary_cases(w, m, count):
    types = list(NUMPY)
    for i in range(count):
        table = COMPARE if i % 4 == 0 else BINARY
        op = m.rng.choice(list(table))
        ta, tb = m.rng.choice(types, 2)
        if op == "subtract" and ta == tb == "bool":
            continue
        sa, sb = pair_shapes(m)
        a, spec_a = m.view(ta, sa)
        b, spec_b = m.view(tb, sb)
        want = table[op](a, b)
        # fmod and remainder of a type's smallest value by -1 trap or differ between processors
        zero = op in ("maximum", "minimum", "fmax", "fmin")
        w.case(kind="compare" if table is COMPARE else "binary", op=op, args=[spec_a, spec_b], want=w.array(want),
               any_zero=zero or None)


def bitwise_cases(w, m, count):
    for _ in range(count):
        op = m.rng.choice(list(BITWISE))
        t = m.rng.choice(INTEGERS)
        sa, sb = pair_shapes(m)
        a, spec_a = m.view(t, sa)
        if op in ("left_shift", "right_shift", "power"):
            b = m.rng.integers(0, 12 if op == "power" else 70, sb).astype(NUMPY[t])
            spec_b = w.array(b)
        else:
            b, spec_b = m.view(t, sb)
        w.case(kind="binary", op=op, args=[spec_a, spec_b], want=w.array(BITWISE[op](a, b)))


def scalar_cases(w, m, count):
    for _ in range(count):
        op = m.rng.choice(["add", "subtract", "multiply", "divide", "maximum", "floor_divide", "less", "equal"])
        table = COMPARE if op in COMPARE else BINARY
        t = m.rng.choice(FLOATS + INTEGERS)
        a, spec = m.view(t, m.shape())
        number = float(np.round(m.rng.standard_normal() * 10, 3)) if m.rng.random() < 0.5 else int(m.rng.integers(1, 100))
        # NumPy 1.x looks at a scalar's value; its type is ours for scalars that fit
        s = NUMPY[t](number) if t in FLOATS else (number if isinstance(number, float) else NUMPY[t](number))
        args, order = ([spec, number], (a, s)) if m.rng.random() < 0.7 else ([number, spec], (s, a))
        want = table[op](*[np.asarray(v) if np.ndim(v) else v for v in order])
        if t in INTEGERS and isinstance(number, float):
            want = table[op](*[np.float64(v) if not np.ndim(v) else v.astype(np.float64) for v in order])
        w.case(kind="compare" if table is COMPARE else "binary", op=op, args=args, want=w.array(want),
               any_zero=(op == "maximum") or None)


EXACT_UNARY = {"negative": np.negative, "abs": np.abs, "square": np.square, "sqrt": np.sqrt, "floor": np.floor,
               "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "sign": np.sign, "isnan": np.isnan,
               "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit, "logical_not": np.logical_not,
               "reciprocal": np.reciprocal, "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0))}


def unary_cases(w, m, count):
    for _ in range(count):
        op = m.rng.choice(list(EXACT_UNARY))
        t = m.rng.choice(FLOATS)
        a, spec = m.view(t, m.shape())
        want = EXACT_UNARY[op](a)
        w.case(kind="unary", op=op, args=[spec], want=w.array(want.astype(a.dtype) if want.dtype != bool else want),
               any_zero=(op in ("relu", "sign")) or None)
    for t in INTEGERS:
        a, spec = m.view(t, m.shape(2))
        for op, f in (("negative", np.negative), ("abs", np.abs), ("square", np.square), ("invert", np.invert),
                      ("sign", np.sign), ("sqrt", np.sqrt)):
            w.case(kind="unary", op=op, args=[spec], want=w.array(f(a)))


def _vector(f):
    return lambda x: np.vectorize(f, otypes=[float])(x) if x.size else x


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


SMOOTH = {"exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
          "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos,
          "arctan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh,
          "arccosh": np.arccosh, "arctanh": np.arctanh, "cbrt": np.cbrt, "rsqrt": lambda x: 1 / np.sqrt(x),
          "sigmoid": _sigmoid, "softplus": _softplus, "silu": lambda x: np.where(np.isneginf(x), -0.0, x * _sigmoid(x)),
          "mish": lambda x: np.where(x < -800, -0.0, x * np.tanh(_softplus(x))), "erf": _vector(math.erf),
          "erfc": _vector(math.erfc), "erf_dx": lambda x: np.exp(-x * x) * 1.1283791670955126,
          "gelu": lambda x: np.where(np.isneginf(x), -0.0, 0.5 * x * _vector(math.erfc)(x * -math.sqrt(0.5))),
          "gelu_tanh": lambda x: np.where(np.isneginf(x), -0.0, x * _sigmoid(1.5957691216057308 * (x + 0.044715 * x**3))),
          "gelu_sigmoid": lambda x: np.where(np.isneginf(x), -0.0, x * _sigmoid(1.702 * x))}


def smooth_cases(w, m):
    """float32 against float64 NumPy within 2 ulp, over random bit patterns and the usual ranges."""
    rng = m.rng
    bits = rng.integers(0, 2**32, 3000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    parts = [bits] + [(rng.standard_normal(700) * s).astype(np.float32) for s in (1e-3, 0.1, 1, 10, 60)]
    edge = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 88.7, 88.73, -87.4, -103.9, -104.5, 1e-45, -1e-45, 1e6, 2e6, -3e9]
    x = np.concatenate(parts + [np.array(edge, dtype=np.float32)])
    spec, spec64 = w.array(x), w.array(x.astype(np.float64))
    for op, f in SMOOTH.items():
        with np.errstate(all="ignore"):
            want = f(x.astype(np.float64))
        want32 = want.astype(np.float32)
        # where float32 overflows, the float64 reference must say so too
        want = np.where(np.isinf(want32), want32.astype(np.float64), want)
        w.case(kind="unary", op=op, args=[spec], want=w.array(want), ulp="float32", most=2.0)
        # float64: libm's own last place is not ours to test; relative error is
        want64 = f(x.astype(np.float64))
        w.case(kind="unary", op=op, args=[spec64], want=w.array(want64), relative=1e-12)
    y = (rng.standard_normal(x.size) * 3).astype(np.float32)
    y[:400] = rng.integers(-4, 5, 400)
    want = np.power(x.astype(np.float64), y.astype(np.float64))
    want32 = want.astype(np.float32)
    want = np.where(np.isinf(want32), want32.astype(np.float64), want)
    w.case(kind="binary", op="power", args=[spec, w.array(y)], want=w.array(want), ulp="float32", most=2.0)
    for op, f in (("arctan2", np.arctan2), ("hypot", np.hypot), ("logaddexp", np.logaddexp)):
        want = f(x.astype(np.float64), y.astype(np.float64))
        want32 = want.astype(np.float32)
        want = np.where(np.isinf(want32), want32.astype(np.float64), want)
        w.case(kind="binary", op=op, args=[spec, w.array(y)], want=w.array(want), ulp="float32", most=2.0)


# name: (bits, all values by code)
def table_of(exponent, mantissa, bias, fn=False):
    values = []
    for code in range(1 << (1 + exponent + mantissa)):
        sign = -1.0 if code >> (exponent + mantissa) else 1.0
        e, f = code >> mantissa & ((1 << exponent) - 1), code & ((1 << mantissa) - 1)
        last = e == (1 << exponent) - 1
        if fn and last and f == (1 << mantissa) - 1 or not fn and last and f:
            v = math.nan
        elif not fn and last:
            v = math.inf
        elif e == 0:
            v = math.ldexp(f, 1 - bias - mantissa)
        else:
            v = math.ldexp((1 << mantissa) + f, e - bias - mantissa)
        values.append(sign * v)
    return np.array(values)


NARROW = {"bfloat16": (2, table_of(8, 7, 127)), "float16": (2, table_of(5, 10, 15)),
          "float8_e4m3": (1, table_of(4, 3, 7)), "float8_e4m3fn": (1, table_of(4, 3, 7, fn=True)),
          "float8_e5m2": (1, table_of(5, 2, 15))}


def nearest(name, x):
    """Codes of the values nearest to x (float64), ties to the even code."""
    size, values = NARROW[name]
    half = len(values) // 2
    positive = values[:half]
    finite = positive[np.isfinite(positive)]
    fn = not np.any(np.isinf(positive))
    a = np.abs(x)
    # one step past the largest finite value decides overflow
    step = finite[-1] - finite[-2]
    grid = np.append(finite, finite[-1] + step)
    high = np.clip(np.searchsorted(grid, np.where(np.isnan(a), 0, a)), 0, len(grid) - 1)
    low = np.maximum(high - 1, 0)
    below = a - grid[low]
    above = grid[high] - a
    code = np.where(above < below, high, np.where(below < above, low, np.where(low % 2 == 0, low, high)))
    code = np.where(a >= grid[-1], len(grid) - 1, code)
    nan_code = half - 1 if fn else None
    if fn:
        code = np.where(np.isnan(x) | np.isinf(x) | (code == len(grid) - 1), nan_code, code)
    else:
        inf_code = int(np.flatnonzero(np.isinf(positive))[0])
        code = np.where(np.isinf(x), inf_code, code)
        code = np.where(np.isnan(x), inf_code + (half - inf_code) // 2, code)
    return (code + np.where(np.signbit(x), half, 0)).astype(np.uint16 if size == 2 else np.uint8)


def narrow_cases(w, m):
    rng = m.rng
    for name, (size, values) in NARROW.items():
        codes = np.arange(len(values)).astype(np.uint16 if size == 2 else np.uint8)
        spec = w.array(codes, name)
        for t in ("float64", "float32"):
            w.case(kind="cast", op=t, args=[spec], want=w.array(values.astype(NUMPY[t])))
        # every midpoint between neighbours, and a little to either side, in float64
        finite = np.sort(np.unique(values[np.isfinite(values)]))
        middle = (finite[1:] + finite[:-1]) / 2
        x = np.concatenate([finite, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf),
                            rng.standard_normal(2000) * rng.choice([1e-6, 1, 300, 1e5], 2000),
                            np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, 464, 465, 240, 247, 248, 249, 65519, 65520, 0, -0.0]),
                            finite[-1] + (finite[-1] - finite[-2]) * np.array([0.25, 0.5, 0.75, 1, 1.5])])
        w.case(kind="cast", op=name, args=[w.array(x)], want=w.array(nearest(name, x), name))
        x32 = x.astype(np.float32)
        w.case(kind="cast", op=name, args=[w.array(x32)], want=w.array(nearest(name, x32.astype(np.float64)), name))
    # 32-bit floats of every kind, through NumPy's own float16
    bits = rng.integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    bits = np.where(np.isnan(bits), np.float32(np.nan), bits)
    w.case(kind="cast", op="float16", args=[w.array(bits)], want=w.array(bits.astype(np.float16)))
    w.case(kind="cast", op="bfloat16", args=[w.array(bits)], want=w.array(nearest("bfloat16", bits.astype(np.float64)), "bfloat16"))
    tf = bits[np.isfinite(bits)]
    u = tf.view(np.uint32).astype(np.uint64)
    rounded = ((u + 0xFFF + (u >> 13 & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32)
    w.case(kind="cast", op="tfloat32", args=[w.array(tf)], want=w.array(rounded, "tfloat32"))
    # arithmetic in bfloat16 is float32 arithmetic rounded once
    a = nearest("bfloat16", rng.standard_normal(500))
    b = nearest("bfloat16", rng.standard_normal(500))
    wide = (lambda c: NARROW["bfloat16"][1][c].astype(np.float32))
    for op in ("add", "multiply", "divide", "subtract"):
        want = nearest("bfloat16", BINARY[op](wide(a), wide(b)).astype(np.float64))
        w.case(kind="binary", op=op, args=[w.array(a, "bfloat16"), w.array(b, "bfloat16")], want=w.array(want, "bfloat16"))


def cast_cases(w, m, count):
    for _ in range(count):
        src, dst = m.rng.choice(list(NUMPY), 2)
        a, spec = m.view(src, m.shape())
        if src in FLOATS and dst in INTEGERS:  # out of range is undefined in C: only the part both define
            info = np.iinfo(dst)
            ok = np.isfinite(a) & (a > max(info.min, -2**31)) & (a < min(info.max, 2**31 - 1))
            a = np.where(ok, a, 0).astype(a.dtype)
            spec = w.array(a)
        w.case(kind="cast", op=dst, args=[spec], want=w.array(a.astype(NUMPY[dst])))


REDUCE = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "var": np.var, "std": np.std,
          "any": np.any, "all": np.all, "count_nonzero": lambda a, axis, keepdims: np.count_nonzero(a, axis=axis, keepdims=keepdims)}


def reduce_cases(w, m, count):
    for i in range(count):
        op = m.rng.choice(list(REDUCE))
        t = m.rng.choice(list(NUMPY))
        shape = m.shape() if i % 3 else m.shape(int(m.rng.integers(1, 3)), 300)
        plain = op in ("sum", "prod", "mean", "var", "std")
        a, spec = m.view(t, shape, plain)
        axes = None if m.rng.random() < 0.2 else tuple(int(v) for v in m.rng.permutation(len(shape))[:int(m.rng.integers(1, len(shape) + 1))])
        keep = bool(m.rng.random() < 0.5)
        if op == "prod" and a.size > 400:
            continue  # leaves the range of the type on the way
        exact = a.astype(np.float64) if t in FLOATS and plain else a
        want = np.asarray(REDUCE[op](exact, axis=axes, keepdims=keep))
        fields = {}
        if plain and t in FLOATS:
            n = a.size // max(want.size, 1)
            u = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}[t]
            sizes = np.abs(exact)
            total = np.asarray(np.sum(sizes, axis=axes, keepdims=keep))
            wide = 2.0**-23 if t == "float16" else u
            steps = 4 * (math.log2(n + 1) + 20)
            if op in ("sum", "mean"):
                bound = wide * steps * total / (n if op == "mean" else 1) + u * np.abs(want)
            elif op == "prod":
                bound = (wide * (n + 4) + u) * np.abs(want) + (6e-8 if t == "float16" else 1e-45 if t == "float32" else 0)
            else:
                # the deviation is against the rounded mean
                spread = np.asarray(np.var(exact, axis=axes, keepdims=keep))
                shift = wide * steps * total / n
                bound = u * steps * spread + shift * shift + 2 * shift * np.sqrt(spread) + 1e-300
                if op == "std":
                    bound = np.where(spread > 0, bound / np.sqrt(np.where(spread > 0, spread, 1)), np.sqrt(bound)) + u * np.abs(want)
                if t == "float16":
                    bound = bound + 6e-8
            fields["bound"] = w.array(np.asarray(bound, dtype=np.float64))
            top = float(np.finfo(NUMPY[t]).max)
            if np.any(np.abs(want) > top / 2):
                continue
        elif plain and op in ("mean", "var", "std"):
            fields["relative"] = 1e-12
            if t in ("int64", "uint32", "int32"):
                fields["relative"] = 1e-9
        elif op in ("sum", "prod"):
            want = np.asarray(REDUCE[op](a.astype(np.int64), axis=axes, keepdims=keep, dtype=np.int64))
        if op == "count_nonzero":
            want = want.astype(np.int64)
        w.case(kind="reduce", op=op, args=[spec, list(axes) if axes is not None else False, keep], want=w.array(want),
               any_zero=(op in ("max", "min")) or None, **fields)


def arg_cases(w, m, count):
    for _ in range(count):
        t = m.rng.choice(list(NUMPY))
        a, spec = m.view(t, m.shape())
        op = m.rng.choice(["argmax", "argmin"])
        axis = None if m.rng.random() < 0.2 else int(m.rng.integers(0, a.ndim))
        want = np.asarray(getattr(np, op)(a, axis=axis)).astype(np.int64)
        w.case(kind="reduce", op=op, args=[spec, axis if axis is not None else False, False], want=w.array(want))
    for _ in range(count):
        t = m.rng.choice(["float64", "float32", "int32", "int64", "uint8", "bool"])
        a, spec = m.view(t, m.shape(), plain=True)
        axis = int(m.rng.integers(0, a.ndim))
        for op, f in (("sum", np.cumsum), ("prod", np.cumprod), ("max", np.maximum.accumulate), ("min", np.minimum.accumulate)):
            if op in ("sum", "prod"):
                want = f(a, axis=axis, dtype=a.dtype if t in FLOATS else np.int64)
            else:
                want = f(a, axis=axis)
            w.case(kind="cumulative", op=op, args=[spec, axis], want=w.array(want))


def matmul_cases(w, m, count):
    for i in range(count):
        t = m.rng.choice(["float64", "float32", "float16", "int32", "int8", "int64"])
        big = i % 6 == 0
        n, k, p = (int(v) for v in m.rng.integers(1, 140 if big else 9, 3))
        lead = [int(v) for v in m.rng.integers(1, 4, int(m.rng.integers(0, 3)))]
        la = [1 if m.rng.random() < 0.3 else v for v in lead]
        lb = [1 if m.rng.random() < 0.3 else v for v in lead][int(m.rng.integers(0, len(lead) + 1)):]
        sa, sb = tuple(la) + (n, k), tuple(lb) + (k, p)
        if m.rng.random() < 0.15:
            sa = (k,)
        if m.rng.random() < 0.15:
            sb = (k,)
        a, spec_a = m.view(t, sa, plain=True)
        b, spec_b = m.view(t, sb, plain=True)
        if t in FLOATS:
            x, y = a.astype(np.float64), b.astype(np.float64)
            want = np.asarray(np.matmul(x, y))
            u = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}[t]
            wide = 2.0**-23 if t == "float16" else u
            bound = np.asarray(wide * (k + 2) * np.matmul(np.abs(x), np.abs(y)) + u * np.abs(want) + 1e-300)
            if t == "float16":
                bound = bound + 6e-8
            w.case(kind="matmul", op="matmul", args=[spec_a, spec_b], want=w.array(want), bound=w.array(bound))
        else:
            w.case(kind="matmul", op="matmul", args=[spec_a, spec_b], want=w.array(np.asarray(np.matmul(a, b))))


def large_cases(w, m):
    """Sizes at which operands are straightened, copied in tiles, or contracted as one tall product."""
    for t in ("float32", "float64", "int16"):
        a = m.values(t, (310, 457), plain=True)
        b = m.values(t, (457, 310), plain=True)
        turned = dict(w.array(b), views=[["transpose", [1, 0]]])
        w.case(kind="binary", op="add", args=[w.array(a), turned], want=w.array(a + b.T))
        w.case(kind="cast", op="float64", args=[turned], want=w.array(b.T.astype(np.float64)))
        cube = m.values(t, (40, 50, 60), plain=True)
        for order in ([2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1]):
            spec = dict(w.array(cube), views=[["transpose", order], ["slice", 1, None, None, -1]])
            w.case(kind="reshape", op="reshape", args=[spec, [-1]], want=w.array(cube.transpose(order)[:, ::-1].reshape(-1)))
    # axes too short to be a block each, too long to be one together, in an order that does not join
    for t in ("float32", "int64"):
        a, b = m.values(t, (5, 60, 50), plain=True), m.values(t, (60, 5, 50), plain=True)
        turned = dict(w.array(b), views=[["transpose", [1, 0, 2]]])
        w.case(kind="binary", op="multiply", args=[w.array(a), turned], want=w.array(a * b.transpose(1, 0, 2)))
    # rows joined across memory: around the sizes of a group and a section; small integers, so that any order is exact
    for rows in (63, 64, 65, 4095, 4096, 4097, 8200):
        a = m.rng.integers(-8, 9, (rows, 9)).astype(np.float32)
        for op, want in (("sum", a.sum(0)), ("max", a.max(0)), ("abs_max", np.abs(a).max(0)), ("sum_square", (a * a).sum(0))):
            w.case(kind="reduce", op=op, args=[w.array(a), [0], False], want=w.array(want), any_zero=True)
    for t in ("float32", "float64", "int32", "int64"):
        for n in (1, 7, 8, 31, 32, 33, 511, 513, 5000):
            a = m.rng.integers(-9, 8, n).astype(NUMPY[t])
            want = np.abs(a).max()
            total = np.sum(a * a, dtype=a.dtype if t in FLOATS else np.int64)
            w.case(kind="reduce", op="abs_max", args=[w.array(a), False, False], want=w.array(np.asarray(want)), any_zero=True)
            w.case(kind="reduce", op="sum_square", args=[w.array(a), False, False], want=w.array(np.asarray(total)))
    a = m.rng.integers(-8, 9, (3, 8, 8)).astype(np.float32)
    b = m.rng.integers(-8, 9, (8, 5)).astype(np.float32)
    for views, x in (([], a), ([["transpose", [0, 2, 1]]], a.transpose(0, 2, 1)), ([["slice", 0, None, None, -1]], a[::-1]),
                     ([["transpose", [1, 0, 2]]], a.transpose(1, 0, 2)[:, :, :])):
        w.case(kind="matmul", op="matmul", args=[dict(w.array(a), views=views), w.array(b)], want=w.array(x @ b))


def chip_cases(w, m):
    """The chip's float to integer: nearest even, saturated, NaN to 0."""
    x = np.concatenate([m.values("float64", (400,)) * 60, np.arange(-300, 300) / 2, m.values("float64", (200,)) * 1e8,
                        np.array([np.inf, -np.inf, np.nan, 2.0**31 - 0.5, -2.0**31 - 0.5, 2.0**63, -2.0**63, 1e300, -0.5, 0.5, 255.5])])
    for src in ("float64", "float32"):
        s = x.astype(NUMPY[src])
        for t in INTEGERS:
            info = np.iinfo(t)
            r = np.rint(s.astype(np.float64))
            want = np.array([0 if v != v else info.max if v >= info.max else info.min if v <= info.min else int(v) for v in r], dtype=NUMPY[t])
            w.case(kind="chip", op=t, args=[w.array(s)], want=w.array(want))


def other_cases(w, m, count):
    for _ in range(count):
        ta, tb = m.rng.choice(list(NUMPY), 2)
        sa, sb = pair_shapes(m)
        a, spec_a = m.view(ta, sa)
        b, spec_b = m.view(tb, sb)
        shape = np.broadcast_shapes(sa, sb)
        c, spec_c = m.view(m.rng.choice(["bool", "float32", "int8"]), shape)
        w.case(kind="where", op="where", args=[spec_c, spec_a, spec_b], want=w.array(np.where(c != 0, a, b)))
        t = m.rng.choice(FLOATS + INTEGERS)
        base = list(m.shape())
        axis = int(m.rng.integers(0, len(base)))
        parts, specs = [], []
        for _ in range(int(m.rng.integers(1, 4))):
            base[axis] = int(m.rng.integers(1, 5))
            p, s = m.view(t if m.rng.random() < 0.7 else "int8", tuple(base))
            parts.append(p)
            specs.append(s)
        w.case(kind="concat", op="concat", args=[axis] + specs, want=w.array(np.concatenate(parts, axis=axis)))
        x, spec_x = m.view(m.rng.choice(list(NUMPY)), m.shape())
        factors = [f for f in range(1, x.size + 1) if x.size % f == 0]
        f = int(m.rng.choice(factors))
        w.case(kind="reshape", op="reshape", args=[spec_x, [f, -1]], want=w.array(x.reshape(f, -1)))
    for args in ((5,), (2, 9), (0.0, 1.0, 0.125), (10, 0, -3), (0.5, 4.25, 0.7), (3, 3), (0.1, 50.0, 0.1)):
        w.case(kind="arange", op="arange", args=list(args), want=w.array(np.arange(*args)))
    w.case(kind="arange", op="arange", args=[0.1, 30.0, 0.1, "float32"], want=w.array(np.arange(0.1, 30.0, 0.1, dtype=np.float32)))


def main():
    folder, seed = sys.argv[1], int(sys.argv[2])
    w = Writer(folder)
    m = Maker(w, seed)
    binary_cases(w, m, 500)
    bitwise_cases(w, m, 150)
    scalar_cases(w, m, 150)
    unary_cases(w, m, 150)
    smooth_cases(w, m)
    narrow_cases(w, m)
    cast_cases(w, m, 200)
    reduce_cases(w, m, 400)
    arg_cases(w, m, 60)
    matmul_cases(w, m, 120)
    other_cases(w, m, 80)
    large_cases(w, m)
    chip_cases(w, m)
    w.close()


main()
