# SPDX-License-Identifier: MIT
"""Counterpart of tests/unit/array_npy_test.lua: array_npy.py FOLDER.

Loads every FOLDER/ours_*.npy with NumPy and says what is in it; writes files of NumPy's own making and, beside each, what
a reader should see. Both lists go to FOLDER/report.lua.
"""
import glob
import os
import sys

import numpy as np
from numpy.lib import format as npy


def main():
    folder = sys.argv[1]
    out = ["-- SPDX-License-Identifier: MIT", "return { ours = {"]
    for path in sorted(glob.glob(folder + "/ours_*.npy")):
        a = np.load(path)
        raw = path + ".raw"
        with open(raw, "wb") as f:
            f.write(np.ascontiguousarray(a).tobytes())
        out.append('["%s"] = { dtype = "%s", shape = {%s}, raw = "%s" },' % (
            os.path.basename(path), a.dtype.str, ",".join(map(str, a.shape)), raw))
    out.append("}, theirs = {")
    rng = np.random.default_rng(5)

    def good(name, a, dtype, version=None, **hints):
        path = "%s/theirs_%s.npy" % (folder, name)
        with open(path, "wb") as f:
            npy.write_array(f, a, version=version)
        raw = path + ".raw"
        with open(raw, "wb") as f:
            f.write(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes())
        extra = "".join(', %s = "%s"' % kv for kv in hints.items())
        out.append('{ file = "%s", dtype = "%s", shape = {%s}, raw = "%s"%s },' % (
            path, dtype, ",".join(map(str, a.shape)), raw, extra))

    def bad(name, a, message, allow_pickle=False):
        path = "%s/bad_%s.npy" % (folder, name)
        np.save(path, a, allow_pickle=allow_pickle)
        out.append('{ file = "%s", message = "%s" },' % (path, message))

    for t, name in (("f8", "float64"), ("f4", "float32"), ("f2", "float16"), ("i1", "int8"), ("i2", "int16"),
                    ("i4", "int32"), ("i8", "int64"), ("u1", "uint8"), ("u2", "uint16"), ("u4", "uint32"), ("?", "bool")):
        a = (rng.standard_normal((3, 4, 5)) * 50).astype(t)
        good("c_" + name, a, name)
        good("f_" + name, np.asfortranarray(a), name, version=(2, 0))
        good("v3_" + name, a[0], name, version=(3, 0))
        if a.dtype.itemsize > 1:
            good("big_" + name, a.astype(a.dtype.newbyteorder(">")), name)
    good("u8", np.array([1, 2, 2**63 - 1], dtype="u8"), "int64")
    good("scalar", np.array(2.5), "float64")
    good("empty", np.zeros((0, 3), dtype="f4"), "float32")
    good("v2", rng.integers(0, 65536, 9).astype("u2").view("V2"), "bfloat16")
    good("v1", rng.integers(0, 256, 9).astype("u1").view("V1"), "float8_e5m2", hint="float8_e5m2")
    good("u2_as_bf16", rng.integers(0, 65536, 9).astype("u2"), "bfloat16", hint="bfloat16")
    bad("object", np.array([{}, 1], dtype=object), "object arrays", allow_pickle=True)
    bad("complex", np.zeros(3, dtype="c8"), "not supported")
    bad("text", np.array(["ab", "c"]), "not supported")
    bad("time", np.zeros(3, dtype="M8[s]"), "not supported")
    bad("record", np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]), "record arrays")
    bad("wide", np.zeros((1,) * 9), "dimensions")
    bad("u8", np.array([2**63], dtype="u8"), "uint64")
    bad("f16", np.zeros(3, dtype=np.longdouble), "not supported")
    bad("v1", np.zeros(3, dtype="V1"), "float8")
    out.append("} }")
    with open(folder + "/report.lua", "w") as f:
        f.write("\n".join(out) + "\n")


main()
