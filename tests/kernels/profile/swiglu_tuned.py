# SPDX-License-Identifier: MIT
"""swiglu_naive.py with what its profile suggests: x is loaded once and stays in SBUF, and weights come in rows twice as long,
all of a block's before its products begin to need them. Rows of 4 KiB would be moved faster still, but the first products
would wait for them: two blocks no longer fit SBUF side by side."""
import nki
import nki.isa as nisa
import nki.language as nl


def load(source, first, column, width):
    tile = nl.ndarray((nl.tile_size.pmax, width), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source[nl.ds(first, nl.tile_size.pmax), nl.ds(column, width)])
    return tile


@nki.jit
def swiglu_mlp(x_t, w_gate, w_up, w_down):
    model, tokens = x_t.shape
    hidden = w_gate.shape[1]
    p = nl.tile_size.pmax
    wide = nl.tile_size.gemm_moving_fmax
    row = min(hidden, 1024)
    assert model % wide == 0 and hidden % row == 0 and tokens % p == 0 and tokens <= wide, "sizes must be multiples of the tiles"
    out = nl.ndarray((tokens, model), dtype=x_t.dtype, buffer=nl.shared_hbm)

    x_tiles = [load(x_t, k * p, 0, tokens) for k in range(model // p)]
    mixed = []
    for h in range(0, hidden, row):
        gate_tiles, up_tiles = [], []
        for k in range(model // p):
            gate_tiles.append(load(w_gate, k * p, h, row))
            up_tiles.append(load(w_up, k * p, h, row))
        for b in range(0, row, wide):
            gate = [nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.psum) for _ in range(wide // p)]
            up = [nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.psum) for _ in range(wide // p)]
            for k in range(model // p):
                for c in range(wide // p):
                    nisa.nc_matmul(dst=gate[c], stationary=gate_tiles[k][:, b + c * p:b + (c + 1) * p], moving=x_tiles[k])
                    nisa.nc_matmul(dst=up[c], stationary=up_tiles[k][:, b + c * p:b + (c + 1) * p], moving=x_tiles[k])
            for c in range(wide // p):
                silu = nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.sbuf)
                nisa.activation(dst=silu, op=nl.silu, data=gate[c])
                block = nl.ndarray((p, tokens), dtype=x_t.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=block, data1=silu, data2=up[c], op=nl.multiply)
                mixed.append(block)

    down_tiles = [load(w_down, h * p, 0, model) for h in range(hidden // p)]
    for t in range(tokens // p):
        rows = nl.ndarray((p, model), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, model, wide):
            result = nl.ndarray((p, wide), dtype=nl.float32, buffer=nl.psum)
            for h in range(hidden // p):
                nisa.nc_matmul(dst=result, stationary=mixed[h][:, t * p:(t + 1) * p], moving=down_tiles[h][:, n:n + wide])
            nisa.tensor_copy(dst=rows[:, n:n + wide], src=result)
        nisa.dma_copy(dst=out[t * p:(t + 1) * p, :], src=rows)
    return out
