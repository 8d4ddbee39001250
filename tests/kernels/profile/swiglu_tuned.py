# SPDX-License-Identifier: MIT
"""swiglu_naive.py with what its profile suggests: x is loaded once and stays in SBUF, weights come in rows of 4 KiB, and a
pair of PSUM banks is finished before the next begins, so that Scalar and Vector work while the Tensor engine goes on."""
import nki
import nki.isa as nisa
import nki.language as nl


def load_rows(source, rows, column, width):
    tiles = []
    for k in range(rows // nl.tile_size.pmax):
        tile = nl.ndarray((nl.tile_size.pmax, width), dtype=source.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=source[nl.ds(k * nl.tile_size.pmax, nl.tile_size.pmax), nl.ds(column, width)])
        tiles.append(tile)
    return tiles


@nki.jit
def swiglu_mlp(x_t, w_gate, w_up, w_down):
    model, tokens = x_t.shape
    hidden = w_gate.shape[1]
    p = nl.tile_size.pmax
    wide = nl.tile_size.gemm_moving_fmax
    row = min(hidden, 2048)
    assert model % wide == 0 and hidden % row == 0 and tokens % p == 0 and tokens <= wide, "sizes must be multiples of the tiles"
    out = nl.ndarray((tokens, model), dtype=x_t.dtype, buffer=nl.shared_hbm)

    x_tiles = load_rows(x_t, model, 0, tokens)
    mixed = []
    for h in range(0, hidden, row):
        gate_tiles = load_rows(w_gate, model, h, row)
        up_tiles = load_rows(w_up, model, h, row)
        for c in range(0, row, p):
            gate = nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.psum)
            up = nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.psum)
            for k in range(model // p):
                nisa.nc_matmul(dst=gate, stationary=gate_tiles[k][:, c:c + p], moving=x_tiles[k])
            for k in range(model // p):
                nisa.nc_matmul(dst=up, stationary=up_tiles[k][:, c:c + p], moving=x_tiles[k])
            silu = nl.ndarray((p, tokens), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=silu, op=nl.silu, data=gate)
            block = nl.ndarray((p, tokens), dtype=x_t.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=block, data1=silu, data2=up, op=nl.multiply)
            mixed.append(block)

    down_tiles = load_rows(w_down, hidden, 0, model)
    for t in range(tokens // p):
        rows = nl.ndarray((p, model), dtype=out.dtype, buffer=nl.sbuf)
        for n in range(0, model, wide):
            result = nl.ndarray((p, wide), dtype=nl.float32, buffer=nl.psum)
            for h in range(hidden // p):
                nisa.nc_matmul(dst=result, stationary=mixed[h][:, t * p:(t + 1) * p], moving=down_tiles[h][:, n:n + wide])
            nisa.tensor_copy(dst=rows[:, n:n + wide], src=result)
        nisa.dma_copy(dst=out[t * p:(t + 1) * p, :], src=rows)
    return out
