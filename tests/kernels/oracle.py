# SPDX-License-Identifier: MIT
"""The independent judge of kernel outputs: NumPy in float64 on the kernel's own inputs.

usage: oracle.py FOLDER [REF.py FUNCTION]
FOLDER holds args.json (name -> value, or null for arrays), in_NAME.npy, out_N.npy, and expression.txt when no reference
file is given. Prints one line per output: shape, the largest error relative to the largest magnitude of its row, and the
largest absolute error; or "shape A B" where shapes differ.
"""
import importlib.util
import json
import os
import sys

import numpy


def mamba(delta, u, a, b, c):
    """The selective scan of the fused mamba tutorial, one step at a time."""
    batch, channels, length = delta.shape
    state = numpy.zeros((batch, channels, a.shape[1]))
    out = numpy.zeros((batch, channels, length))
    for t in range(length):
        decay = numpy.exp(delta[:, :, t, None] * a[None])
        state = decay * state + (delta[:, :, t] * u[:, :, t])[:, :, None] * b[:, None, :, t]
        out[:, :, t] = (state * c[:, None, :, t]).sum(axis=2)
    return out


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "args.json"), encoding="utf-8") as file:
        args = json.load(file)
    for name in list(args):
        path = os.path.join(folder, f"in_{name}.npy")
        if os.path.exists(path):
            args[name] = numpy.load(path)
    if len(sys.argv) > 3:
        spec = importlib.util.spec_from_file_location("reference", sys.argv[2])
        module = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode = True
        spec.loader.exec_module(module)
        want = getattr(module, sys.argv[3])(**args)
    else:
        with open(os.path.join(folder, "expression.txt"), encoding="utf-8") as file:
            expression = file.read()
        want = eval(expression, {"numpy": numpy, "mamba": mamba, **args})
    wants = list(want) if isinstance(want, (tuple, list)) else [want]
    for i, value in enumerate(wants):
        value = numpy.asarray(value, dtype=numpy.float64)
        got = numpy.load(os.path.join(folder, f"out_{i}.npy")).astype(numpy.float64)
        if got.shape != value.shape:
            print("shape", got.shape, value.shape)
            continue
        scale = numpy.maximum(numpy.abs(value).max(axis=-1, keepdims=True), 1e-30) if value.ndim else 1.0
        error = numpy.abs(got - value)
        bad = not numpy.isfinite(got).all()
        print("error", float("inf") if bad else float((error / scale).max()), float(error.max()))


main()
