# SPDX-License-Identifier: MIT
"""The peers of tests/bench/main.lua: NumPy and CPython, best of several runs, as one JSON line."""
import ast
import json
import os
import sys
import sysconfig
import time

import numpy as np


def best(fn, runs):
    times = []
    for _ in range(runs):
        t = time.perf_counter()
        fn()
        times.append(time.perf_counter() - t)
    return min(times)


def softmax(x, scale):
    z = x * scale
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def main():
    what = sys.argv[1]
    rng = np.random.default_rng(0)
    if what == "sources":
        root = sysconfig.get_paths()["stdlib"]
        names = sorted(os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs if f.endswith(".py") and "site-packages" not in d and "dist-packages" not in d)
        kept = []
        for name in names:
            try:
                with open(name, encoding="utf-8") as file:
                    ast.parse(file.read())
                kept.append(name)
            except (SyntaxError, UnicodeDecodeError, ValueError):
                pass
        print("\n".join(kept))
        return
    if what == "parse":
        sources = []
        for name in sys.stdin.read().split("\n"):
            if name:
                with open(name, encoding="utf-8") as file:
                    sources.append(file.read())
        seconds = best(lambda: [ast.parse(s) for s in sources], 2)
    elif what == "matmul":
        a = rng.standard_normal((2048, 2048), dtype=np.float32)
        b = rng.standard_normal((2048, 2048), dtype=np.float32)
        seconds = best(lambda: a.T @ b, 5)
    elif what == "softmax":
        x = rng.standard_normal((8192, 4096), dtype=np.float32)
        seconds = best(lambda: softmax(x, np.float32(0.125)), 5)
    print(json.dumps({"seconds": seconds}))


main()
