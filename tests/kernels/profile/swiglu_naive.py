# SPDX-License-Identifier: MIT
"""The SwiGLU layer of a transformer, (silu(x Wg) * (x Wu)) Wd, written the way one writes it first: for each block of
hidden columns load what the block needs, a tile at a time, and multiply. Activations and result are stored transposed:
x_t is (model, tokens), the result (tokens, model). tokens is at most 512."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def swiglu_mlp(x_t, w_gate, w_up, w_down):
    model, tokens = x_t.shape
    hidden = w_gate.shape[1]
    p = nl.tile_size.pmax
    wide = nl.tile_size.gemm_moving_fmax
    assert model % wide == 0 and hidden % wide == 0 and tokens % p == 0 and tokens <= wide, "sizes must be multiples of the tiles"
    out = nl.ndarray((tokens, model), dtype=x_t.dtype, buffer=nl.shared_hbm)

    mixed = []
    for h in range(hidden // wide):
        gate = [nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.psum) for _ in range(wide // p)]
        up = [nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.psum) for _ in range(wide // p)]
        for k in range(model // p):
            x_tile = nl.ndarray((p, tokens), dtype=x_t.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=x_tile, src=x_t[k * p:(k + 1) * p, :])
            gate_tile = nl.ndarray((p, wide), dtype=w_gate.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=gate_tile, src=w_gate[k * p:(k + 1) * p, h * wide:(h + 1) * wide])
            up_tile = nl.ndarray((p, wide), dtype=w_up.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=up_tile, src=w_up[k * p:(k + 1) * p, h * wide:(h + 1) * wide])
            for c in range(wide // p):
                nisa.nc_matmul(dst=gate[c], stationary=gate_tile[:, c * p:(c + 1) * p], moving=x_tile)
                nisa.nc_matmul(dst=up[c], stationary=up_tile[:, c * p:(c + 1) * p], moving=x_tile)
        for c in range(wide // p):
            silu = nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=silu, op=nl.silu, data=gate[c])
            block = nl.ndarray((p, tokens), dtype=x_t.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=block, data1=silu, data2=up[c], op=nl.multiply)
            mixed.append(block)

    down = []
    for h in range(hidden // p):
        down_tile = nl.ndarray((p, model), dtype=w_down.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=down_tile, src=w_down[h * p:(h + 1) * p, :])
        down.append(down_tile)
    for t in range(tokens // p):
        rows = nl.ndarray((p, model), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, model, wide):
            result = nl.ndarray((p, wide), dtype=nl.float32, buffer=nl.psum)
            for h in range(hidden // p):
                nisa.nc_matmul(dst=result, stationary=mixed[h][:, t * p:(t + 1) * p], moving=down[h][:, n:n + wide])
            nisa.tensor_copy(dst=rows[:, n:n + wide], src=result)
        nisa.dma_copy(dst=out[t * p:(t + 1) * p, :], src=rows)
    return out
