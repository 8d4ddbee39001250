# SPDX-License-Identifier: MIT
"""SwiGLU of a transformer's feed-forward: (silu(x Wg) * (x Wu)) Wd, written the plain way: every product is tiled on its
own and the hidden values stay in SBUF. x is (tokens, model), the weights are (model, hidden) twice and (hidden, model)."""
import nki
import nki.isa as nisa
import nki.language as nl


def project(x_tiles, weight, p, column, width):
    """x (p rows, kept as transposed tiles) times weight[:, column:column + width], into PSUM."""
    acc = nl.ndarray((p, width), dtype=nl.float32, buffer=nl.psum)
    size = nl.tile_size.pmax
    for k in range(len(x_tiles)):
        w_tile = nl.ndarray((x_tiles[k].shape[0], width), dtype=weight.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=w_tile, src=weight[k * size:k * size + x_tiles[k].shape[0], column:column + width])
        nisa.nc_matmul(dst=acc, stationary=x_tiles[k], moving=w_tile, accumulate=(k > 0))
    return acc


def transposed_tiles(tile, dtype):
    p, width = tile.shape
    size = nl.tile_size.pmax
    tiles = []
    for c in range(0, width, size):
        f = min(size, width - c)
        turned = nl.ndarray((f, p), dtype=dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=tile[:, c:c + f])
        kept = nl.ndarray((f, p), dtype=dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=kept, src=turned)
        tiles.append(kept)
    return tiles


@nki.jit
def swiglu(x, w_gate, w_up, w_down):
    tokens, model = x.shape
    hidden = w_gate.shape[1]
    out = nl.ndarray((tokens, model), dtype=x.dtype, buffer=nl.shared_hbm)
    size = nl.tile_size.pmax
    wide = nl.tile_size.gemm_moving_fmax
    for t in range(0, tokens, size):
        p = min(size, tokens - t)
        x_tile = nl.ndarray((p, model), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[t:t + p, :])
        x_tiles = transposed_tiles(x_tile, x.dtype)

        mixed = nl.ndarray((p, hidden), dtype=x.dtype, buffer=nl.sbuf)
        for h in range(0, hidden, wide):
            f = min(wide, hidden - h)
            gate_psum = project(x_tiles, w_gate, p, h, f)
            gate = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=gate, op=nl.silu, data=gate_psum)
            up_psum = project(x_tiles, w_up, p, h, f)
            nisa.tensor_tensor(dst=mixed[:, h:h + f], data1=gate, data2=up_psum, op=nl.multiply)

        mixed_tiles = transposed_tiles(mixed, x.dtype)
        for c in range(0, model, wide):
            f = min(wide, model - c)
            down = project(mixed_tiles, w_down, p, c, f)
            result = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=down)
            nisa.dma_copy(dst=out[t:t + p, c:c + f], src=result)
    return out
