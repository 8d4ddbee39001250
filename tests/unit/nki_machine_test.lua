-- SPDX-License-Identifier: MIT
-- The NKI machine: views, initialised memory, accumulation, capacity, the record, and one refusal per documented limit.
-- Numbers of the instructions are in nki_ops_test.lua.

local t <const> = require "tests.lib"
local kit <const> = require "tests.unit.nki_kit"
local targets <const> = require "nki.targets"

local function refused(code, fn, ...)
  local err <const> = kit.error(fn, ...)
  t.ok(err, "expected " .. code .. ", nothing was refused")
  t.eq(err.code, code, err.message)
  t.ok(err.message and #err.message > 0)
  t.ok(err.op, "no op in " .. code)
  return err
end

local function pattern_of(k, x)
  local rows <const> = {}
  for i, pair in ipairs(k.v.get_pattern(x)) do rows[i] = pair[1] .. "x" .. pair[2] end
  return table.concat(rows, " ")
end

-- Views ---------------------------------------------------------------------------------------------------------------

t.test("subscripts of tensors on chip keep the partition dimension and two dimensions", function()
  local k <const> = kit.machine { execute = false }
  local x <const> = k.new({ 128, 4, 64 })
  t.eq(k.attr(k.at(x, 3), "shape"), { 1, 4, 64 })
  t.eq(k.attr(k.at(x, 3), "offset"), 3 * 256)
  t.eq(k.attr(k.at(x, { 0, 32 }, 2), "shape"), { 32, 64 })
  t.eq(k.attr(k.at(x, { 0, 32 }, 2, 5), "shape"), { 32, 1 })
  t.eq(k.attr(k.at(x, "...", -1), "shape"), { 128, 4 })
  t.eq(k.attr(k.at(x, "...", -1), "offset"), 63)
  t.eq(k.attr(k.at(x, { 0, 128 }, { 0, 4, 3 }, { 8, -8 }), "shape"), { 128, 2, 48 })
  t.eq(pattern_of(k, k.at(x, { 0, 128 }, { 0, 4, 3 }, { 8, -8 })), "256x128 192x2 1x48")
  t.eq(k.attr(k.at(k.at(x, { 32, 64 }), { 1, 3 }, 1, { 4, 8 }), "offset"), 33 * 256 + 64 + 4)
  local ds <const> = k.v.ds(16, 8)
  t.eq(k.attr(k.meta.__subscript(x, "sii", k.None, k.None, k.None, 1, ds), "shape"), { 128, 8 })
end)

t.test("subscripts of tensors in HBM drop dimensions", function()
  local k <const> = kit.machine { execute = false }
  local x <const> = k.new({ 4, 300, 64 }, "bfloat16", "hbm")
  t.eq(k.attr(k.at(x, 2), "shape"), { 300, 64 })
  t.eq(k.attr(k.at(x, 2, { 0, 10 }, 7), "shape"), { 10 })
  t.eq(k.attr(k.at(x, 2, 3, 7), "shape"), { 1 })
  t.eq(k.attr(k.at(x, 2, 3, 7), "offset"), 2 * 300 * 64 + 3 * 64 + 7)
  t.eq(k.attr(k.at(x, { 0, 4, 2 }), "strides"), { 2 * 300 * 64, 64, 1 })
end)

t.test("view methods", function()
  local k <const> = kit.machine { execute = false }
  local v <const>, x <const> = k.v, k.new({ 128, 4, 6 })
  t.eq(k.attr(v.permute(x, { 0, 2, 1 }), "shape"), { 128, 6, 4 })
  t.eq(pattern_of(k, v.permute(x, { 0, 2, 1 })), "24x128 1x6 6x4")
  t.eq(k.attr(v.reshape(x, { 128, 24 }), "shape"), { 128, 24 })
  t.eq(k.attr(v.reshape(x, { 128, 2, 12 }), "strides"), { 24, 12, 1 })
  t.eq(k.attr(v.reshape_dim(x, 2, { 3, -1 }), "shape"), { 128, 4, 3, 2 })
  t.eq(k.attr(v.flatten_dims(x, 1, 2), "shape"), { 128, 24 })
  t.eq(k.attr(v.expand_dim(x, 1), "shape"), { 128, 1, 4, 6 })
  t.eq(k.attr(v.squeeze_dim(v.expand_dim(x, 1), 1), "shape"), { 128, 4, 6 })
  t.eq(pattern_of(k, v.broadcast(v.expand_dim(x, 1), 1, 8)), "24x128 0x8 6x4 1x6")
  t.eq(k.attr(v.select(x, 1, 3), "shape"), { 128, 6 })
  t.eq(k.attr(v.slice(x, 2, 1, 6, 2), "shape"), { 128, 4, 3 })
  t.eq(k.attr(v.view(k.new({ 128, 64 }), "uint8"), "shape"), { 128, 256 })
  t.eq(k.attr(v.view(k.new({ 128, 64 }, "uint8"), "float32"), "shape"), { 128, 16 })
  t.eq(k.attr(v.view(x, "int32"), "dtype"), "int32")
  t.ok(v.is_contiguous(x) and not v.is_contiguous(v.permute(x, { 0, 2, 1 })))
  t.ok(v.is_contiguous(v.reshape(v.permute(x, { 0, 1, 2 }), { 128, 24 })))
  refused("reshape-mismatch", v.reshape, v.permute(x, { 0, 2, 1 }), { 128, 24 })
  refused("reshape-mismatch", v.reshape, x, { 128, 25 })
  refused("reshape-mismatch", v.reshape, x, { 64, 48 })
  refused("reshape-mismatch", v.flatten_dims, v.permute(x, { 0, 2, 1 }), 1, 2)
  refused("ap-partition-step", v.permute, x, { 1, 0, 2 })
  refused("ap-partition-step", v.expand_dim, x, 0)
  refused("ap-partition-step", v.broadcast, k.new({ 1, 8 }), 0, 8)
  refused("ap-partition-step", v.reshape_dim, x, 0, { 64, 2 })
  refused("shape-mismatch", v.broadcast, x, 1, 8)
  refused("shape-mismatch", v.squeeze_dim, x, 1)
  refused("reshape-mismatch", v.view, v.slice(x, 2, 0, 6, 2), "uint8")
end)

t.test("ap addresses the storage, not the view", function()
  local k <const> = kit.machine { execute = false }
  local x <const> = k.new({ 128, 256 })
  local inner <const> = k.v.ap(x, { { 256, 128 }, { 2, 128 } })
  local outer <const> = k.v.ap(inner, { { 256, 128 }, { 1, 64 } })
  t.eq(pattern_of(k, outer), "256x128 1x64")
  t.eq(k.attr(outer, "offset"), 0)
  local right <const> = k.at(x, { 32, 64 }, { 10, 20 })
  t.eq(k.attr(k.v.ap(right, { { 256, 8 }, { 1, 4 } }), "offset"), 32 * 256 + 10) -- no offset given: the view's own
  t.eq(k.attr(k.v.ap(right, { { 256, 8 }, { 1, 4 } }, 0), "offset"), 32 * 256 + 10)
  t.eq(k.attr(k.v.ap(right, { { 256, 8 }, { 1, 4 } }, 3), "offset"), 32 * 256 + 13)
  t.eq(k.attr(k.v.ap(x, { { 512, 128 }, { 1, 512 } }, 0, k.None, k.None, 0, "bfloat16"), "shape"), { 128, 512 })
  local bad <const> = refused("ap-partition-step", k.v.ap, x, { { 512, 8 }, { 1, 32 } })
  t.eq(bad.limit, 256)
  refused("ap-out-of-range", k.v.ap, x, { { 256, 128 }, { 1, 257 } })
  refused("ap-out-of-range", k.v.ap, x, { { 256, 128 }, { 1, 200 } }, 57)
  refused("ap-out-of-range", k.v.ap, x, { { 256, 100 }, { 1, 8 } }, 64 * 256)
  refused("ap-out-of-range", k.v.ap, k.new({ 4, 8 }, "float32", "hbm"), { { 8, 5 }, { 1, 8 } })
end)

t.test("numbers beyond any memory are refused before they overflow", function()
  local k <const> = kit.machine()
  local v <const>, huge <const> = k.v, 1 << 62
  local x <const>, h <const> = k.full({ 8, 16 }), k.m:input("h", nil, "float32", { 8, 16 })
  refused("ap-out-of-range", v.ap, x, { { 16, 8 }, { huge, 3 } })
  refused("ap-out-of-range", v.ap, x, { { 16, 8 }, { -huge, 5 } })
  refused("ap-out-of-range", v.ap, x, { { 16, 8 }, { 1, 2 } }, huge)
  refused("ap-out-of-range", v.ap, x, { { 16, 8 }, { 1, 2 } }, -huge)
  refused("value-type", v.ap, x, { { 16, 8 }, { 0, huge }, { 0, huge } })
  refused("value-type", function()
    local y = v.expand_dim(v.expand_dim(v.expand_dim(x, 1), 1), 1)
    for d = 1, 3 do y = v.broadcast(y, d, 1 << 30) end
  end)
  refused("reshape-mismatch", v.reshape, x, { 8, 1 << 32, 1 << 32 })
  refused("reshape-mismatch", v.reshape, h, { 1 << 32, 1 << 32, 128 })
  refused("reshape-mismatch", v.reshape_dim, x, 1, { 1 << 32, 1 << 32, 16 })
  refused("out-of-bounds", k.meta.__subscript, x, "ii", 0, v.ds(math.maxinteger, math.maxinteger))
  refused("out-of-bounds", k.at, x, math.mininteger)
  refused("out-of-bounds", k.at, x, { math.mininteger, math.maxinteger })
  refused("value-type", k.f.iota, k.new({ 8, 16 }, "int32"), { { 1, 16 } }, huge)
  refused("value-type", k.f.iota, k.new({ 8, 16 }, "int32"), { { huge, 16 } })
  refused("pattern-size", k.f.iota, k.new({ 8, 16 }, "int32"), { { 1, 1 << 30 }, { 1, 1 << 30 }, { 1, 1 << 30 }, { 1, 1 << 30 } })
  refused("memory-limit", k.new, { 1 << 40, 1 << 40 }, "float32", "hbm")
  refused("address-invalid", k.f.ndarray, { 8, 8 }, "float32", k.buffer.sbuf, nil, { 0, math.maxinteger })
  -- A gather whose rows are longer than the tensor's: the last row leaves it.
  local rows <const> = k.v.ap(h, { { 16, 2 }, { 1, 40 } }, k.None, k.None, k.full({ 2, 1 }, "uint32", "sbuf", 7), 0)
  refused("out-of-bounds", k.f.dma_copy, k.new({ 2, 40 }), rows)
  refused("out-of-bounds", k.f.dma_copy, k.new({ 1, 16 }), k.v.ap(h, { { 16, 1 }, { 1, 16 } }, k.None, huge))
end)

t.test("subscripts that are refused", function()
  local k <const> = kit.machine { execute = false }
  local x <const> = k.new({ 128, 64 })
  local err <const> = refused("out-of-bounds", k.at, x, { 0, 128 }, { 32, 96 })
  t.eq(err.limit, 64)
  t.eq(err.operands[1].shape, { 128, 64 })
  refused("out-of-bounds", k.at, x, 128)
  refused("out-of-bounds", k.at, x, { 0, 128 }, { 8, 8 })
  refused("negative-step", k.at, x, { 0, 128 }, { 0, 64, -1 })
  refused("ap-partition-step", k.at, x, { 0, 128, 2 })
  refused("index-type", k.at, x, 0, 0, 0)
  refused("index-type", k.at, x, "...", "...")
  refused("index-type", k.meta.__subscript, x, "n")
  refused("index-type", k.meta.__subscript, x, "i", 1.5)
  refused("index-type", k.meta.__subscript, x, "i", x)
end)

-- Memory --------------------------------------------------------------------------------------------------------------

t.test("allocation limits", function()
  local k <const> = kit.machine { execute = false }
  local err <const> = refused("partition-exceeds-limit", k.new, { 129, 8 })
  t.eq(err.limit, 128)
  refused("sbuf-capacity", k.new, { 128, 208 * 1024 // 4 + 1 })
  t.ok(k.new({ 128, 208 * 1024 // 4 }))
  refused("psum-capacity", k.new, { 128, 4097 }, "float32", "psum")
  t.ok(k.new({ 128, 4096 }, "float32", "psum"))
  refused("dtype-unsupported", k.new, { 128, 8 }, "float64")
  refused("dtype-unsupported", k.new, { 128, 8 }, "float9")
  refused("value-type", k.new, { 128, 0 })
  refused("value-type", k.f.ndarray, "shape", "float32", k.buffer.sbuf)
  refused("value-type", k.f.ndarray, { 8, 8 }, "float32", "sbuf")
  refused("address-invalid", k.f.ndarray, { 8, 8 }, "float32", k.buffer.psum, nil, { 0, 100 })
  refused("address-invalid", k.f.ndarray, { 100, 8 }, "float32", k.buffer.sbuf, nil, { 64, 0 })
  local old <const> = kit.machine { target = "trn1", execute = false }
  refused("dtype-unsupported", old.new, { 8, 8 }, "float8_e4m3")
  refused("dtype-unsupported", k.new, { 8, 8 }, "float8_e5m2_x4")
  t.eq(k.attr(k.f.ndarray({ 5 }, "float32", k.buffer.sbuf), "shape"), { 5, 1 })
end)

t.test("reads of memory that was never written are refused, by element", function()
  for _, execute in ipairs { true, false } do
    local k <const> = kit.machine { execute = execute }
    local f <const>, x <const>, d <const> = k.f, k.new({ 64, 96 }), k.new({ 64, 96 })
    local err <const> = refused("uninitialized-read", f.tensor_copy, d, x)
    t.eq(err.operands[1].name, "src")
    t.eq(err.got, "nothing written")
    f.memset(k.at(x, { 0, 64 }, { 0, 48 }), 1.0)
    t.eq(refused("uninitialized-read", f.tensor_copy, d, x).got, "partly written")
    f.tensor_copy(k.at(d, { 0, 64 }, { 0, 48 }), k.at(x, { 0, 64 }, { 0, 48 }))
    f.memset(k.at(x, { 0, 32 }, { 48, 96 }), 2.0)
    refused("uninitialized-read", f.tensor_copy, d, x)
    f.memset(k.at(x, { 32, 64 }, { 48, 96 }), 3.0)
    f.tensor_copy(d, x)
    -- Even and odd columns separately: no rectangle describes them.
    local y <const> = k.new({ 64, 96 })
    f.memset(k.at(y, { 0, 64 }, { 0, 96, 2 }), 1.0)
    refused("uninitialized-read", f.tensor_copy, d, y)
    f.tensor_copy(k.at(d, { 0, 64 }, { 0, 96, 2 }), k.at(y, { 0, 64 }, { 0, 96, 2 }))
    refused("uninitialized-read", f.tensor_copy, k.at(d, { 0, 64 }, { 0, 48 }), k.at(y, { 0, 64 }, { 1, 96, 2 }))
    f.memset(k.at(y, { 0, 64 }, { 1, 96, 2 }), 1.0)
    f.tensor_copy(d, y)
    -- Many scattered writes in HBM, then the whole.
    local h <const> = k.new({ 40, 60 }, "float32", "hbm")
    for r = 0, 39, 8 do
      for c = 55, 0, -5 do f.dma_copy(k.at(h, { r, r + 8 }, { c, c + 5 }), k.at(x, { 0, 8 }, { 0, 5 })) end
    end
    f.dma_copy(k.at(d, { 0, 40 }, { 0, 60 }), h)
  end
end)

t.test("a broadcast view sliced back to one of its copies can be written", function()
  local k <const> = kit.machine { execute = false }
  local wide <const> = k.v.broadcast(k.v.expand_dim(k.new({ 64, 8 }), 1), 1, 4)
  refused("dst-repeats", k.f.memset, wide, 0.0)
  t.ok(k.f.memset(k.at(wide, { 0, 64 }, 2), 0.0))
end)

t.test("patterns in HBM that run over the end of a row", function()
  local k <const> = kit.machine { execute = false }
  local h <const>, x <const> = k.new({ 4, 8 }, "float32", "hbm"), k.full({ 3, 4 })
  k.f.dma_copy(k.v.ap(h, { { 8, 3 }, { 1, 4 } }, 6), x) -- 6..9, 14..17, 22..25
  k.f.dma_copy(k.new({ 1, 4 }), k.at(k.v.reshape(h, { 32 }), { 14, 18 }))
  refused("uninitialized-read", k.f.dma_copy, k.new({ 1, 2 }), k.at(h, 1, { 2, 4 }))
  refused("uninitialized-read", k.f.dma_copy, k.new({ 1, 8 }), k.at(h, 0))
end)

t.test("uninitialised reads can be warnings, and the memory is poisoned", function()
  for poison, expect in pairs { function(v) return v ~= v end, function(v) return v == -11000 end } do
    local k <const> = kit.machine { uninitialized = "warning", poison = poison }
    local x <const>, d <const> = k.new({ 4, 6 }), k.new({ 4, 6 })
    k.f.memset(k.at(x, { 0, 4 }, { 0, 3 }), 7.0)
    k.f.tensor_copy(d, x)
    local got <const> = k.m:read(d)
    t.eq(got[1], 7.0)
    t.ok(expect(got[4]), tostring(got[4]))
    t.eq(k.m:warnings()[1].code, "uninitialized-read")
    t.eq(k.m:warnings()[1].severity, "warning")
    t.eq(#k.m:warnings(), 1)
  end
end)

t.test("bit views keep the chip's bits in both modes", function()
  for _, mode in ipairs { "chip", "exact" } do
    local k <const> = kit.machine { mode = mode }
    local x <const> = k.full({ 3, 4 }, "float32", "sbuf", 1.0)
    local i <const> = k.new({ 3, 4 }, "int32")
    k.f.tensor_copy(i, k.v.view(x, "int32"))
    t.eq(k.m:read(i)[5], 0x3f800000)
    k.f.tensor_scalar(k.v.view(x, "int32"), k.v.view(x, "int32"), k.op.bitwise_or, 0x00400000)
    t.eq(k.m:read(x)[12], 1.5)
    local b <const> = k.new({ 3, 8 }, "uint16")
    k.f.tensor_copy(b, k.v.view(x, "uint16"))
    t.eq(k.m:read(b)[2], 0x3fc0)
  end
end)

t.test("exact mode does not round, chip mode rounds once", function()
  local third <const> = 1 / 3
  for _, mode in ipairs { "chip", "exact" } do
    local k <const> = kit.machine { mode = mode }
    local x <const>, y <const> = k.full({ 2, 2 }, "bfloat16", "sbuf", 1.0), k.new({ 2, 2 }, "bfloat16")
    k.f.tensor_scalar(y, x, k.op.multiply, third)
    local z <const> = k.new({ 2, 2 }, "float32")
    k.f.tensor_scalar(z, y, k.op.multiply, 3.0)
    t.eq(k.m:read(z)[1], mode == "exact" and third * 3 or 0.333984375 * 3)
  end
end)

-- PSUM and matmul -------------------------------------------------------------------------------------------------------

local function matmul_tiles(k, kk, m, n, dtype)
  return k.full({ kk, m }, dtype or "bfloat16"), k.full({ kk, n }, dtype or "bfloat16")
end

t.test("matmul limits", function()
  local k <const> = kit.machine { execute = false }
  local f <const> = k.f
  local s <const>, v <const> = matmul_tiles(k, 128, 128, 512)
  local d <const> = k.new({ 128, 512 }, "float32", "psum")
  f.nc_matmul(d, s, v)
  t.eq(refused("matmul-dst-buffer", f.nc_matmul, k.new({ 128, 512 }), s, v).operands[1].buffer, "sbuf")
  refused("matmul-operand-buffer", f.nc_matmul, d, k.full({ 128, 128 }, "float32", "psum"), k.full({ 128, 512 }, "float32"))
  refused("matmul-operand-buffer", f.nc_matmul, d, k.m:input("s", nil, "bfloat16", { 128, 128 }), v)
  local err <const> = refused("matmul-k-mismatch", f.nc_matmul, d, s, k.full({ 64, 512 }, "bfloat16"))
  t.eq({ err.operands[1].name, err.operands[2].name }, { "stationary", "moving" })
  t.eq(refused("matmul-stationary-free", f.nc_matmul, d, k.full({ 128, 129 }, "bfloat16"), v).limit, 128)
  t.eq(refused("matmul-moving-free", f.nc_matmul, k.new({ 128, 1024 }, "float32", "psum"), s, k.full({ 128, 513 }, "bfloat16")).limit, 512)
  refused("shape-mismatch", f.nc_matmul, k.new({ 64, 512 }, "float32", "psum"), s, v)
  refused("matmul-dst-dtype", f.nc_matmul, k.new({ 128, 512 }, "bfloat16", "psum"), s, v)
  refused("matmul-dtype-mix", f.nc_matmul, d, k.full({ 128, 128 }, "float32"), v)
  refused("dtype-unsupported", f.nc_matmul, d, k.full({ 128, 128 }, "int32"), v)
  refused("target-unsupported", f.nc_matmul, d, k.full({ 128, 128 }, "float8_e4m3fn"), v)
  refused("tile-position", f.nc_matmul, d, s, v, false, false, false, nil, { 16, 0 }, { 64, 128 })
  refused("matmul-k-mismatch", f.nc_matmul, d, s, v, false, false, false, nil, { 64, 0 }, { 64, 128 })
  local t3 <const> = kit.machine { target = "trn3", execute = false }
  local s3 <const>, v3 <const> = matmul_tiles(t3, 128, 128, 1024)
  t3.f.nc_matmul(t3.new({ 128, 1024 }, "float32", "psum"), s3, v3)
  t3.f.nc_matmul(t3.new({ 128, 1024 }, "bfloat16", "psum"), s3, v3)
  refused("matmul-dtype-mix", t3.f.nc_matmul, t3.new({ 128, 1024 }, "float32", "psum"), t3.full({ 128, 128 }, "float8_e4m3"),
    t3.full({ 128, 1024 }, "float8_e4m3fn"))
end)

t.test("a matmul's result lies in one bank", function()
  local k <const> = kit.machine { execute = false }
  local s <const>, v <const> = matmul_tiles(k, 128, 128, 512)
  local wide <const> = k.new({ 128, 1024 }, "float32", "psum")
  k.f.nc_matmul(k.at(wide, { 0, 128 }, { 512, 1024 }), s, v)
  local err <const> = refused("psum-bank-overflow", k.f.nc_matmul, k.at(wide, { 0, 128 }, { 256, 768 }), s, v)
  t.eq(err.limit, 512)
  t.eq(err.doc, "trainium_inferentia2_arch")
end)

t.test("accumulation follows what wrote the bank before", function()
  local k <const> = kit.machine()
  local f <const> = k.f
  local s <const>, v <const> = matmul_tiles(k, 4, 3, 5)
  local d <const> = k.new({ 3, 5 }, "float32", "psum")
  refused("accumulate-uninitialized", f.nc_matmul, d, s, v, false, false, false, true)
  f.nc_matmul(d, s, v)
  f.nc_matmul(d, s, v)
  t.eq(k.m:read(d)[1], 8.0)
  f.nc_matmul(d, s, v, false, false, false, false)
  t.eq(k.m:read(d)[1], 4.0)
  f.tensor_scalar(d, d, k.op.add, 100.0) -- another engine writes: the next matmul starts again
  f.nc_matmul(d, s, v)
  t.eq(k.m:read(d)[1], 4.0)
  t.eq(k.m:warnings()[1].code, "matmul-overwrites")
  f.memset(d, 0.0)
  t.eq(refused("accumulate-uninitialized", f.nc_matmul, d, s, v, false, false, false, true).got, "written by another instruction")
  local t3 <const> = kit.machine { target = "trn3" }
  local s3 <const>, v3 <const> = matmul_tiles(t3, 4, 3, 5)
  local d3 <const> = t3.new({ 3, 5 }, "float32", "psum")
  t3.f.memset(d3, 10.0)
  t3.f.nc_matmul(d3, s3, v3, false, false, false, true)
  t.eq(t3.m:read(d3)[1], 14.0)
end)

t.test("a matmul sees what was written to its operands since the last one", function()
  local k <const> = kit.machine()
  local s <const>, v <const> = matmul_tiles(k, 4, 3, 5)
  local d <const> = k.new({ 3, 5 }, "float32", "psum")
  k.f.nc_matmul(d, s, v)
  k.f.memset(v, 2.0)
  k.f.nc_matmul(d, s, v, false, false, false, false)
  t.eq(k.m:read(d)[1], 8.0)
  k.f.memset(k.at(s, { 0, 4 }, { 0, 1 }), 3.0)
  k.f.nc_matmul(d, s, v, false, false, false, false)
  t.eq({ k.m:read(d)[1], k.m:read(d)[6] }, { 24.0, 8.0 })
end)

t.test("transposes", function()
  local k <const> = kit.machine { execute = false }
  local f <const> = k.f
  local x <const> = k.full({ 128, 129 })
  t.eq(refused("transpose-limit", f.nc_transpose, k.new({ 128, 128 }, "float32", "psum"), x).limit, 128)
  local y <const> = k.full({ 64, 64 })
  refused("matmul-dst-buffer", f.nc_transpose, k.new({ 64, 64 }), y)
  refused("transpose-limit", f.nc_transpose, k.new({ 64, 64 }), y, k.enum.engine.vector)
  refused("operand-dtype", f.nc_transpose, k.new({ 64, 64 }, "bfloat16", "psum"), y)
  refused("shape-mismatch", f.nc_transpose, k.new({ 64, 32 }, "float32", "psum"), y)
  refused("engine-unsupported", f.nc_transpose, k.new({ 64, 64 }, "float32", "psum"), y, k.enum.engine.scalar)
  f.nc_transpose(k.new({ 20, 30 }), k.full({ 30, 20 })) -- small: the Vector Engine, any memory
  refused("transpose-axes", f.dma_transpose, k.new({ 64, 64 }), y, { 0, 1 })
  refused("shape-mismatch", f.dma_transpose, k.new({ 64, 32 }), y)
  refused("transpose-limit", f.dma_transpose, k.new({ 64, 64 }), y, nil, nil, k.enum.dge_mode.hwdge)
end)

-- Engines and operands ----------------------------------------------------------------------------------------------------

t.test("tensor_tensor rules", function()
  local k <const> = kit.machine { execute = false }
  local f <const>, add <const> = k.f, k.op.add
  local a <const>, d <const> = k.full({ 128, 512 }), k.new({ 128, 512 })
  local err <const> = refused("free-size-mismatch", f.tensor_tensor, d, a, k.full({ 128, 1 }), add)
  t.eq({ err.operands[1].name, err.operands[2].name, err.want, err.got }, { "data1", "data2", "512", "1" })
  t.eq(err.operands[2].shape, { 128, 1 })
  refused("partition-mismatch", f.tensor_tensor, d, a, k.full({ 1, 512 }), add)
  refused("free-size-mismatch", f.tensor_tensor, k.new({ 128, 256 }), a, a, add)
  refused("hbm-operand", f.tensor_tensor, d, a, k.m:input("h", nil, "float32", { 128, 512 }), add)
  refused("hbm-operand", f.tensor_tensor, k.new({ 128, 512 }, "float32", "hbm"), a, a, add)
  local p <const>, q <const> = k.full({ 128, 512 }, "float32", "psum"), k.full({ 128, 512 }, "float32", "psum")
  refused("two-psum-operands", f.tensor_tensor, d, p, q, add)
  f.tensor_tensor(d, p, a, add)
  refused("buffer-not-allowed", f.tensor_tensor, d, p, a, k.op.power)
  refused("buffer-not-allowed", f.tensor_tensor, d, p, a, add, k.enum.engine.gpsimd)
  refused("engine-unsupported", f.tensor_tensor, d, a, a, add, k.enum.engine.scalar)
  refused("engine-unsupported", f.tensor_tensor, d, a, a, k.op.power, k.enum.engine.vector)
  refused("op-unsupported", f.tensor_tensor, d, a, a, k.op.divide)
  refused("op-unsupported", f.tensor_tensor, d, a, a, k.op.exp)
  refused("op-unsupported", f.tensor_tensor, d, a, a, "add")
  refused("target-unsupported", f.tensor_tensor, d, a, a, k.op.abs_max)
  refused("operand-dtype", f.tensor_tensor, d, a, a, k.op.bitwise_and)
  refused("not-a-tensor", f.tensor_tensor, d, a, 2.0, add)
  refused("value-type", f.tensor_tensor, d, a, a, add, "vector")
  refused("dst-repeats", f.tensor_tensor, k.v.broadcast(k.v.expand_dim(k.new({ 128, 64 }), 1), 1, 8), a, a, add)
  local seven <const> = k.full({ 8, 2, 2, 2, 2, 2 })
  refused("pattern-dims", f.tensor_copy, k.new({ 8, 32 }), k.v.permute(seven, { 0, 5, 4, 3, 2, 1 }))
end)

t.test("partition starts", function()
  local k <const> = kit.machine { execute = false }
  local x <const>, d <const> = k.full({ 128, 8 }), k.new({ 128, 8 })
  local copy <const> = k.f.tensor_copy
  for _, row in ipairs { { 0, 128 }, { 0, 65 }, { 64, 128 }, { 0, 64 }, { 64, 97 }, { 32, 64 }, { 96, 128 }, { 32, 33 } } do
    copy(k.at(d, row), k.at(x, row))
  end
  for _, row in ipairs { { 32, 128 }, { 1, 128 }, { 32, 96 }, { 96, 128 + 0 - 1 + 0 } } do
    if row[2] - row[1] > 32 then
      local err <const> = refused("start-partition", copy, k.at(d, { 0, row[2] - row[1] }), k.at(x, row))
      t.eq(err.operands[1].partition_start, row[1])
    end
  end
  refused("start-partition", copy, k.at(d, { 16, 32 }), k.at(x, { 0, 16 }))
  t.ok(k.f.dma_copy(k.at(d, { 5, 128 }), k.at(x, { 5, 128 }))) -- DMA reaches any partition
end)

t.test("tensor_scalar rules", function()
  local k <const> = kit.machine { execute = false }
  local f <const>, add <const>, mul <const> = k.f, k.op.add, k.op.multiply
  local x <const>, d <const> = k.full({ 128, 64 }), k.new({ 128, 64 })
  local err <const> = refused("operand-not-vector", f.tensor_scalar, d, x, add, k.full({ 128, 64 }))
  t.eq({ err.operands[2].name, err.want }, { "operand0", "[128,1]" })
  refused("operand-not-vector", f.tensor_scalar, d, x, add, k.full({ 1, 1 }))
  refused("operand-dtype", f.tensor_scalar, d, x, add, k.full({ 128, 1 }, "bfloat16"))
  refused("operand-dtype", f.tensor_scalar, d, x, mul, 1.0, false, add, k.full({ 128, 1 }, "int32"))
  refused("missing-argument", f.tensor_scalar, d, x, add, nil)
  refused("value-type", f.tensor_scalar, d, x, add, 1.0, false, nil, 2.0)
  refused("value-type", f.tensor_scalar, d, x, k.op.abs, 2.0)
  refused("op-unsupported", f.tensor_scalar, d, x, k.op.exp, 0.0)
  refused("engine-unsupported", f.tensor_scalar, d, x, add, 1.0, false, mul, 2.0, false, k.enum.engine.scalar)
  f.tensor_scalar(d, x, mul, 1.0, false, add, 2.0, false, k.enum.engine.scalar)
  refused("engine-unsupported", f.tensor_scalar, d, x, k.op.rsqrt, 0.0, false, nil, nil, false, k.enum.engine.vector)
  refused("buffer-not-allowed", f.tensor_scalar, d, k.full({ 128, 64 }, "float32", "psum"), k.op.rsqrt, 0.0)
  local i <const>, j <const> = k.full({ 128, 64 }, "int32"), k.new({ 128, 64 }, "int32")
  refused("op-unsupported", f.tensor_scalar, j, i, k.op.bitwise_and, 1, false, add, 1)
  refused("value-type", f.tensor_scalar, j, i, k.op.bitwise_and, 1.5)
  refused("operand-dtype", f.tensor_scalar, d, x, k.op.bitwise_and, 1)
  refused("engine-unsupported", f.tensor_scalar, j, i, k.op.bitwise_and, 1, false, nil, nil, false, k.enum.engine.gpsimd)
  refused("op-unsupported", f.scalar_tensor_tensor, j, i, k.op.bitwise_and, 1, add, i)
  refused("two-psum-operands", f.scalar_tensor_tensor, d, k.full({ 128, 64 }, "float32", "psum"), add, 1.0, add, k.full({ 128, 64 }, "float32", "psum"))
end)

t.test("activation rules", function()
  local k <const> = kit.machine { execute = false }
  local f <const>, exp <const> = k.f, k.op.exp
  local x <const>, d <const> = k.full({ 64, 32 }), k.new({ 64, 32 })
  refused("op-unsupported", f.activation, d, k.op.add, x)
  refused("op-unsupported", f.activation, d, k.op.floor, x)
  refused("bias-not-vector", f.activation, d, exp, x, k.full({ 64, 32 }))
  refused("bias-not-vector", f.activation, d, exp, x, k.full({ 1, 1 }))
  refused("scale-not-vector", f.activation, d, exp, x, nil, k.full({ 64, 32 }))
  refused("operand-dtype", f.activation, d, exp, x, nil, k.full({ 64, 1 }, "bfloat16"))
  refused("operand-dtype", f.activation, d, exp, x, k.full({ 64, 1 }, "tfloat32"))
  refused("op-unsupported", f.activation, d, exp, x, nil, 1.0, k.op.maximum, k.new({ 64, 1 }), k.enum.reduce_cmd.reset_reduce)
  refused("accumulator-undefined", f.activation, d, exp, x, nil, 1.0, k.op.add, k.new({ 64, 1 }))
  refused("accumulator-undefined", f.activation, d, exp, x, nil, 1.0, k.op.add, nil, k.enum.reduce_cmd.reduce)
  refused("value-type", f.activation, d, exp, x, nil, 1.0, nil, nil, k.enum.reduce_cmd.reset_reduce)
  refused("operand-not-vector", f.activation, d, exp, x, nil, 1.0, k.op.add, k.new({ 64, 2 }), k.enum.reduce_cmd.reset_reduce)
  refused("free-size-mismatch", f.activation, k.new({ 64, 31 }), exp, x)
  f.activation(d, exp, x, 0.5, 2.0)
  local old <const> = kit.machine { target = "trn1", execute = false }
  refused("bias-not-vector", old.f.activation, old.new({ 64, 32 }), old.op.exp, old.full({ 64, 32 }), 0.5)
  refused("engine-unsupported", old.f.tensor_copy, old.new({ 64, 32 }), old.full({ 64, 32 }), old.enum.engine.scalar)
  refused("target-unsupported", f.exponential, d, x)
end)

t.test("activations outside their range are warned about", function()
  local k <const> = kit.machine()
  local x <const>, d <const> = k.full({ 4, 8 }, "float32", "sbuf", 9.0), k.new({ 4, 8 })
  k.f.activation(d, k.op.sin, x)
  local warning <const> = k.m:warnings()[1]
  t.eq({ warning.code, warning.severity }, { "activation-range", "warning" })
  k.f.activation(d, k.op.sqrt, x)
  t.eq(#k.m:warnings(), 1)
end)

t.test("reduction rules", function()
  local k <const> = kit.machine { execute = false }
  local f <const>, add <const> = k.f, k.op.add
  local x <const> = k.full({ 64, 4, 8 })
  refused("axis-not-free", f.tensor_reduce, k.new({ 1, 32 }), add, x, 0)
  refused("axis-not-trailing", f.tensor_reduce, k.new({ 64, 8 }), add, x, 1)
  refused("axis-not-trailing", f.tensor_reduce, k.new({ 64, 8 }), add, x, { 2, 2 })
  refused("axis-not-trailing", f.tensor_reduce, k.new({ 64, 8 }), add, x, 3)
  refused("free-size-mismatch", f.tensor_reduce, k.new({ 64, 8 }), add, x, 2)
  refused("op-unsupported", f.tensor_reduce, k.new({ 64, 4 }), k.op.equal, x, 2)
  refused("op-unsupported", f.tensor_reduce, k.new({ 64, 4 }), k.op.max, x, 2)
  refused("operand-dtype", f.tensor_reduce, k.new({ 64, 4 }), k.op.bitwise_or, x, 2)
  f.tensor_reduce(k.new({ 64, 4 }), add, x, -1)
  f.tensor_reduce(k.new({ 64, 1 }), add, x, { 1, 2 })
  t.eq(refused("free-exceeds-limit", f.bn_stats, k.new({ 64, 6 }), k.full({ 64, 513 })).limit, 512)
  refused("free-size-mismatch", f.bn_stats, k.new({ 64, 5 }), k.full({ 64, 512 }))
  refused("free-size-mismatch", f.bn_aggr, k.new({ 64, 2 }), k.full({ 64, 7 }))
  refused("free-exceeds-limit", f.max8, k.new({ 64, 8 }), k.full({ 64, 7 }))
  local psum <const> = k.full({ 64, 32 }, "float32", "psum")
  refused("two-psum-operands", f.tensor_tensor_scan, k.new({ 64, 32 }), psum, psum, 0.0, k.op.multiply, add)
  refused("operand-not-vector", f.tensor_tensor_scan, k.new({ 64, 4, 8 }), x, x, k.full({ 64, 4 }), k.op.multiply, add)
  refused("op-unsupported", f.tensor_tensor_scan, k.new({ 64, 4, 8 }), x, x, 0.0, k.op.bitwise_and, add)
  refused("op-unsupported", f.tensor_scalar_reduce, k.new({ 64, 4, 8 }), x, add, 1.0, k.op.subtract)
  refused("value-type", f.tensor_scalar_reduce, k.new({ 64, 4, 8 }), x, add, 1.0, add, nil, false, k.enum.reduce_cmd.load_reduce)
end)

t.test("rules of copies, fills and patterns", function()
  local k <const> = kit.machine { execute = false }
  local f <const> = k.f
  local x <const>, i <const> = k.new({ 64, 32 }), k.new({ 64, 32 }, "int32")
  refused("memset-type", f.memset, i, 1.5)
  refused("memset-type", f.memset, i, 1.0)
  refused("memset-type", f.memset, k.new({ 64, 32 }, "uint8"), 256)
  refused("memset-type", f.memset, x, x)
  refused("engine-unsupported", f.memset, x, 1.0, k.enum.engine.scalar)
  refused("hbm-operand", f.memset, k.new({ 64, 32 }, "float32", "hbm"), 1.0)
  refused("buffer-not-allowed", f.iota, k.new({ 64, 32 }, "int32", "psum"), { { 1, 32 } })
  refused("pattern-size", f.iota, i, { { 1, 31 } })
  refused("value-type", f.iota, i, { { 1, 2 }, { 1, 2 }, { 1, 2 }, { 1, 2 }, { 1, 2 } })
  f.memset(x, 1.0)
  refused("op-unsupported", f.affine_select, k.new({ 64, 32 }), { { 1, 32 } }, 1, x, 0.0, k.op.add)
  refused("buffer-not-allowed", f.affine_select, k.new({ 64, 32 }, "float32", "psum"), { { 1, 32 } }, 1, x, 0.0, k.op.equal)
  refused("operand-dtype", f.tensor_copy_predicated, x, x, k.full({ 64, 32 }, "int32"))
  refused("operand-dtype", f.tensor_copy_predicated, x, k.full({ 64, 32 }, "bfloat16"), k.full({ 64, 32 }, "uint8"))
  refused("value-type", f.range_select, k.new({ 64, 32 }), x, k.op.less, k.op.less, k.full({ 64, 1 }), k.full({ 64, 1 }), nil, nil, nil, 0, 0.0)
  refused("operand-dtype", f.select_reduce, k.new({ 64, 32 }), k.full({ 64, 32 }, "uint8"), k.full({ 64, 32 }, "int32"), 0.0)
  refused("operand-dtype", f.nc_n_gather, k.new({ 64, 32 }), x, k.full({ 64, 32 }, "int32"))
  refused("value-type", f.nc_stream_shuffle, k.new({ 64, 32 }), x, { 1, 2, 3 })
end)

t.test("DMA rules", function()
  local k <const> = kit.machine { execute = false }
  local f <const>, dge <const> = k.f, k.enum.dge_mode
  local h <const>, x <const> = k.m:input("h", nil, "float32", { 64, 32 }), k.new({ 64, 32 })
  local err <const> = refused("shape-mismatch", f.dma_copy, k.new({ 64, 31 }), h)
  t.eq({ err.operands[1].name, err.operands[2].name, err.operands[2].input }, { "dst", "src", true })
  refused("psum-dma", f.dma_copy, k.new({ 64, 32 }, "float32", "psum"), h)
  refused("psum-dma", f.dma_copy, k.new({ 64, 32 }, "float32", "hbm"), k.full({ 64, 32 }, "float32", "psum"))
  refused("hwdge-dtype", f.dma_copy, k.new({ 64, 32 }, "bfloat16"), h, nil, nil, dge.hwdge)
  refused("engine-unsupported", f.dma_copy, x, h, nil, nil, dge.unknown, k.enum.engine.sync)
  refused("engine-unsupported", f.dma_copy, x, h, nil, nil, dge.hwdge, k.enum.engine.vector)
  f.dma_copy(x, h, nil, nil, dge.hwdge, k.enum.engine.sync)
  local index <const> = k.full({ 64, 1 }, "uint32")
  refused("indirect-view", f.dma_copy, x, k.v.vector_select(h, 0, index), nil, nil, dge.hwdge)
  refused("indirect-view", f.tensor_copy, k.new({ 1, 32 }), k.v.select(k.full({ 1, 4, 32 }), 1, k.full({ 1, 1 }, "int32")))
  refused("indirect-view", k.v.select, k.v.vector_select(h, 0, index), 0, k.full({ 1, 1 }, "int32"))
  refused("indirect-index", k.v.vector_select, x, 0, index)
  refused("indirect-index", k.v.vector_select, h, 0, k.full({ 64, 1 }, "float32"))
  refused("indirect-index", k.v.vector_select, h, 1, index)
  refused("op-unsupported", f.dma_compute, x, { h, h }, k.op.multiply)
  local old <const> = kit.machine { target = "trn1", execute = false }
  refused("target-unsupported", old.f.dma_copy, old.new({ 64, 32 }), old.m:input("h", nil, "float32", { 64, 32 }), nil, nil, old.enum.dge_mode.hwdge)
end)

t.test("run-time indices out of range", function()
  local k <const> = kit.machine()
  local h <const>, x <const> = k.m:input("h", { 1, 2, 3, 4, 5, 6 }, "float32", { 3, 2 }), k.new({ 2, 2 })
  local index <const> = k.full({ 2, 1 }, "int32", "sbuf", 3)
  t.eq(refused("out-of-bounds", k.f.dma_copy, x, k.v.vector_select(h, 0, index)).limit, 3)
  k.f.memset(x, 9.0)
  k.f.dma_copy(x, k.v.vector_select(h, 0, index), nil, k.enum.oob_mode.skip)
  t.eq(k.m:read(x), { 9.0, 9.0, 9.0, 9.0 })
  refused("out-of-bounds", k.f.dma_copy, k.new({ 1, 2 }), k.v.select(h, 0, k.full({ 1, 1 }, "int32", "sbuf", -1)))
end)

-- The end of a kernel -----------------------------------------------------------------------------------------------------

t.test("outputs must be shared, written, and not an argument", function()
  local k <const> = kit.machine { execute = false }
  local tile <const> = k.full({ 4, 8 })
  local out <const> = k.new({ 8, 8 }, "float32", "shared_hbm")
  k.f.dma_copy(k.at(out, { 0, 4 }), tile)
  local err <const> = refused("output-not-written", k.m.finish, k.m, { out })
  t.eq(err.limit, 32)
  t.has(err.message, "[4,0]")
  k.f.dma_copy(k.at(out, { 4, 8 }), tile)
  k.m:finish { out }
  local private <const> = k.new({ 4, 8 }, "float32", "private_hbm")
  k.f.dma_copy(private, tile)
  refused("output-not-shared-hbm", k.m.finish, k.m, { private })
  refused("output-not-shared-hbm", k.m.finish, k.m, { tile })
  local input <const> = k.m:input("given", nil, "float32", { 4, 8 })
  k.f.dma_copy(input, tile)
  t.eq(refused("immutable-input", k.m.finish, k.m, { out }).operands[1].tensor, "given")
  k.m:finish({ out }, true)
  k.m:finish { out, input }
end)

t.test("capacity is checked over live ranges", function()
  local k <const> = kit.machine { execute = false }
  local f <const>, limit <const> = k.f, targets.trn2.sbuf_bytes
  local out <const> = k.new({ 128, 16 }, "float32", "shared_hbm")
  -- Ten tensors of 40 % each, one after the other: two live at a time fit.
  local before = k.new({ 128, limit // 10 })
  f.memset(before, 0.0)
  for _ = 1, 10 do
    local now <const> = k.new({ 128, limit // 10 })
    f.tensor_copy(now, before)
    before = now
  end
  f.dma_copy(out, k.at(before, { 0, 128 }, { 0, 16 }))
  k.m:finish { out }
  t.ok(k.m:stats().sbuf_peak > limit * 0.79 and k.m:stats().sbuf_peak <= limit, tostring(k.m:stats().sbuf_peak))
  -- Three at once do not.
  local a <const>, b <const>, c <const> = k.f.ndarray({ 128, limit // 10 }, "float32", nil, "weights"), k.new({ 128, limit // 10 }), k.new({ 128, limit // 10 })
  f.memset(a, 0.0)
  f.memset(b, 0.0)
  f.tensor_tensor(c, a, b, k.op.add)
  local err <const> = refused("sbuf-capacity", k.m.finish, k.m, { out })
  t.eq(err.limit, limit)
  t.eq(#err.operands, 3)
  t.eq(err.operands[1].shape, { 128, limit // 10 })
end)

t.test("PSUM capacity over live ranges", function()
  local k <const> = kit.machine { execute = false }
  local s <const>, v <const> = matmul_tiles(k, 128, 128, 512)
  local out <const> = k.new({ 128, 512 }, "float32", "shared_hbm")
  local sum <const> = k.new({ 128, 512 })
  k.f.memset(sum, 0.0)
  local function banks(count)
    local held <const> = {}
    for i = 1, count do
      held[i] = k.new({ 128, 512 }, "float32", "psum")
      k.f.nc_matmul(held[i], s, v)
    end
    for i = 1, count do k.f.tensor_tensor(sum, sum, held[i], k.op.add) end
  end
  banks(8)
  k.f.dma_copy(out, sum)
  k.m:finish { out }
  banks(9)
  t.eq(refused("psum-capacity", k.m.finish, k.m, { out }).limit, 16384)
end)

-- The record ----------------------------------------------------------------------------------------------------------------

t.test("the record tells what a scheduler and a verifier need", function()
  local k <const> = kit.machine { execute = false }
  local f <const> = k.f
  local h <const> = k.m:input("h", nil, "bfloat16", { 512, 128 })
  local out <const> = k.f.ndarray({ 128, 128 }, "float32", k.buffer.shared_hbm, "out")
  local d <const> = k.new({ 128, 128 }, "float32", "psum")
  for i = 0, 3 do
    local x <const> = k.new({ 128, 128 }, "bfloat16")
    f.dma_copy(x, k.at(h, { i * 128, (i + 1) * 128 }))
    f.nc_matmul(d, x, x)
  end
  local half <const> = k.new({ 128, 64 })
  f.activation(half, k.op.exp, k.at(d, { 0, 128 }, { 64, 128 }), nil, 0.5)
  f.dma_copy(k.at(out, { 0, 128 }, { 0, 64 }), half)
  f.dma_copy(k.at(out, { 0, 128 }, { 64, 128 }), half)
  k.m:finish { out }
  local record <const> = k.m:record()
  t.eq(record:len(), 11)
  local mm <const> = record:get(4)
  t.eq({ mm.op, mm.engine, mm.k, mm.m, mm.n, mm.accumulate }, { "nc_matmul", "tensor", 128, 128, 128, true })
  t.eq(record:get(2).accumulate, nil)
  local act <const> = record:get(9)
  t.eq({ act.op, act.engine, act.op0, act.elements }, { "activation", "scalar", "exp", 64 })
  t.eq({ act.operands[2].buffer, act.operands[2].offset, act.operands[2].extent, act.operands[2].parts }, { "psum", 256, 256, 128 })
  local store <const> = record:get(10)
  t.eq({ store.op, store.bytes, store.descriptor, store.dge }, { "dma_copy", 128 * 64 * 4, 256, "none" })
  t.eq(record:get(12), nil)
  local totals <const> = record:totals()
  t.eq({ totals.version, totals.instructions, totals.matmul_flops }, { 2, 11, 4 * 2 * 128 ^ 3 // 1 | 0 })
  t.eq(totals.ops, { dma_copy = 6, nc_matmul = 4, activation = 1 })
  t.eq(totals.engines, { dma = 6, tensor = 4, scalar = 1 })
  local by_name <const> = {}
  for _, tensor in ipairs(totals.tensors) do by_name[tensor.name] = tensor end
  t.eq({ by_name.h.role, by_name.h.bytes_read, by_name.h.shortest_read }, { "input", 512 * 128 * 2, 256 })
  t.eq({ by_name.out.role, by_name.out.bytes_written, by_name.out.shortest_write }, { "output", 128 * 128 * 4, 256 })
  t.eq({ by_name.out.contraction, by_name.out.depth }, { 512, 7 })
  t.eq(by_name.out.dtypes, { "float32", "bfloat16" })
  t.ok(by_name.out.roundings >= 512 and by_name.out.roundings < 530, tostring(by_name.out.roundings))
  t.eq(by_name.out.functions, { "multiply", "exp" })
end)

t.test("automatic engines follow the documents", function()
  local k <const> = kit.machine { execute = false }
  local function engine() return k.m:record():get(k.m:record():len()).engine end
  local a <const>, i <const> = k.full({ 8, 16 }), k.full({ 8, 16 }, "int32")
  k.f.tensor_tensor(a, a, a, k.op.add)
  t.eq(engine(), "vector")
  k.f.tensor_tensor(i, i, i, k.op.add)
  t.eq(engine(), "gpsimd")
  k.f.tensor_tensor(i, i, i, k.op.bitwise_and)
  t.eq(engine(), "vector")
  k.f.tensor_tensor(a, a, a, k.op.power)
  t.eq(engine(), "gpsimd")
  k.f.tensor_scalar(a, a, k.op.rsqrt, 0.0)
  t.eq(engine(), "gpsimd")
  k.f.nc_transpose(k.new({ 16, 8 }), a)
  t.eq(engine(), "vector")
  k.f.nc_transpose(k.new({ 64, 64 }, "float32", "psum"), k.full({ 64, 64 }))
  t.eq(engine(), "tensor")
  k.f.iota(i, { { 1, 16 } })
  t.eq(engine(), "gpsimd")
end)

t.test("shape-only and executing runs record the same", function()
  local lists <const> = {}
  for index, execute in ipairs { true, false } do
    local k <const> = kit.machine { execute = execute }
    local x <const>, r <const> = k.full({ 64, 4, 6 }), k.new({ 64, 4 })
    k.f.tensor_reduce(r, k.op.add, x, 2)
    k.f.activation(r, k.op.exp, r)
    k.f.tensor_scalar(r, r, k.op.multiply, 2.0)
    local text <const> = {}
    for i = 1, k.m:record():len() do text[i] = t.show(k.m:record():get(i)) end
    lists[index] = table.concat(text, "\n")
  end
  t.eq(lists[1], lists[2])
end)

t.test("bytes are charged to the run's account and given back", function()
  local array <const> = require "rt.array"
  collectgarbage()
  collectgarbage()
  local before <const> = array.memory()
  do
    local k <const> = kit.machine()
    local x <const> = k.full({ 128, 1024 })
    t.eq(k.m:read(k.at(x, 0, { 0, 2 })), { 1.0, 1.0 })
    t.ok(array.memory() >= before + 2 * 128 * 1024 * 4, "tiles are not charged")
    local out <const> = k.new({ 128, 1024 }, "float32", "shared_hbm")
    k.f.dma_copy(out, x)
    local a <const> = k.m:output_array(out)
    t.eq(a:get(127, 1023), 1.0)
    t.eq(k.m:read(k.at(out, 127, { 1022, 1024 })), { 1.0, 1.0 })
    k.f.dma_copy(out, x) -- the array keeps its values when the tensor is written again
    t.eq(a.shape, { 128, 1024 })
  end
  collectgarbage()
  collectgarbage()
  t.eq(array.memory(), before)
end)
