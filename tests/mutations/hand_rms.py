# SPDX-License-Identifier: MIT
"""Root mean square normalisation with the short functions of nki.language for loads and stores."""
import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def rms(x, w, eps=1e-6):
    rows, d = x.shape
    y = nl.ndarray((rows, d), dtype=x.dtype, buffer=nl.shared_hbm)
    w_row = nl.load(w)
    w_all = nl.broadcast_to(w_row, (128, d))
    for t in range((rows + 127) // 128):
        lo = t * 128
        hi = min(lo + 128, rows)
        p = hi - lo
        xt = nl.load(x[lo:hi, :])
        sq = nl.ndarray((p, d), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=sq, data1=xt, data2=xt, op=nl.multiply)
        ms = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=ms, op=nl.add, data=sq, axis=1)
        mean = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=ms, op0=nl.multiply, operand0=1.0 / d, op1=nl.add, operand1=eps)
        r = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=r, op=nl.rsqrt, data=mean)
        normed = nl.ndarray((p, d), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normed, data=xt, op0=nl.multiply, operand0=r)
        res = nl.ndarray((p, d), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=res, data1=normed, data2=w_all[0:p, :], op=nl.multiply)
        nl.store(y[lo:hi, :], value=res)
    return y
