# SPDX-License-Identifier: MIT
"""The convenience wrappers of nki.language: load, elementwise functions, store."""
import nki
import nki.language as nl


@nki.jit
def load_store(a, b):
    x = nl.load(a)
    y = nl.load(b)
    z = nl.multiply(nl.add(x, y), 0.5)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.maximum(z, 0.0))
    return out
