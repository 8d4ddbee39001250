-- SPDX-License-Identifier: MIT
-- The schedule model: costs and dependences of small programs computed by hand, and what must hold for any program.
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local kit <const> = require "tests.unit.nki_kit"
local targets <const> = require "nki.targets"

local function figures(target, changes)
  local row <const> = {}
  for key, value in pairs(targets.get(target or "trn2").schedule) do row[key] = value end
  row.launch_ns, row.finish_ns = 0, 0
  for key, value in pairs(changes or {}) do row[key] = value end
  return row
end

local function near(actual, expected, what)
  t.ok(math.abs(actual - expected) < 1e-6 * math.max(1, math.abs(expected)), ("%s: %s, expected %s"):format(what or "value", actual, expected))
end

local function machine(target) return kit.machine { target = target, execute = false } end

-- Rows as tables, without LoadStationary ones.
local function rows(timeline)
  local c <const> = timeline:instructions()
  local list <const> = {}
  for i = 0, timeline.rows - 1 do
    if not c.load:at(i) then
      local row <const> = { id = i }
      for _, name in ipairs { "start", "finish", "done", "busy", "wait_ns", "moved", "moved_end", "bytes", "descriptors", "descriptor_bytes", "flops",
        "adjusted_flops", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "hbm_read", "hbm_write", "throttled", "ready" } do
        row[name] = c[name]:at(i)
      end
      for _, name in ipairs { "engine", "opcode", "operands", "mode", "type", "kind" } do
        local code <const> = c[name].codes:at(i)
        row[name] = code >= 0 and c[name].values[code + 1] or nil
      end
      list[#list + 1] = row
    end
  end
  return list
end

-- The schedule of what `fn` records, on a machine with tiles ready in SBUF.
local function schedule(fn, target, changes)
  local k <const> = machine(target)
  fn(k)
  local timeline <const> = assert(k.m:schedule(figures(target, changes)))
  return rows(timeline), timeline, k
end

local function memset(k, shape, dtype, engine)
  local tile <const> = k.new(shape, dtype)
  k.f.memset(tile, 0, engine and k.enum.engine[engine] or k.enum.engine.vector)
  return tile
end

-- Edges of a timeline as "from>to kind".
local function edges(timeline)
  local c <const> = timeline:flows()
  local set <const> = {}
  for i = 0, c.in_id.size - 1 do
    local kind <const> = c.kind.values[c.kind.codes:at(i) + 1]
    if kind ~= "DGE_TRIGGER" then
      set[("%s%d>%d"):format(c.in_transfer:at(i) and "d" or "", c.in_id:at(i), c.out_id:at(i))] = kind:match("^%u+")
    end
  end
  return set
end

t.test("independent Vector instructions follow each other: N + 64 cycles", function()
  local list <const>, timeline <const> = schedule(function(k)
    for _ = 1, 3 do memset(k, { 128, 512 }) end
  end)
  for i = 1, 3 do
    near(list[i].start, (i - 1) * 600, "start")
    near(list[i].busy, i * 600, "busy")
  end
  near(timeline.total_ns, 1800 + 64 / 0.96, "total")
  near(list[1].finish, 600, "a row ends where the next begins")
  near(list[3].finish, 1800 + 64 / 0.96, "the last row shows its latency")
end)

t.test("a dependent instruction waits for the latency, on another engine for the semaphore too", function()
  local list <const> = schedule(function(k)
    local a <const> = memset(k, { 128, 512 })
    local b <const>, c <const> = k.new({ 128, 512 }), k.new({ 128, 512 })
    k.f.tensor_copy(b, a, k.enum.engine.vector)
    k.f.activation(c, k.op.exp, b)
  end)
  near(list[2].start, 600 + 64 / 0.96, "same engine")
  near(list[3].start, 2 * (600 + 64 / 0.96) + 60, "other engine")
  near(list[3].busy - list[3].start, (512 + 73) / 1.2, "activation")
  t.eq(list[3].engine, "Scalar")
  t.eq(list[3].opcode, "ACTIVATE")
end)

t.test("a write waits for the reads before it", function()
  local list <const>, timeline <const> = schedule(function(k)
    local a <const> = memset(k, { 128, 512 })
    local b <const> = k.new({ 128, 512 })
    k.f.activation(b, k.op.exp, a)
    k.f.memset(a, 1, k.enum.engine.vector)
  end)
  t.eq(edges(timeline)["0>1"], "FLOW")
  t.eq(edges(timeline)["1>2"], "ANTI")
  t.eq(edges(timeline)["0>2"], "OUTPUT")
  near(list[3].start, list[2].busy + 60, "after the read")
end)

t.test("regions that do not meet do not wait: halves of a tile, even and odd columns, neighbours in HBM", function()
  local _, timeline <const> = schedule(function(k)
    local a <const> = k.new({ 128, 512 })
    k.f.memset(k.at(a, {}, { 0, 256 }), 0, k.enum.engine.vector) -- 0
    k.f.memset(k.at(a, {}, { 256, 512 }), 0, k.enum.engine.vector) -- 1
    k.f.memset(k.at(a, {}, { 0, 512, 2 }), 0, k.enum.engine.vector) -- 2: both halves
    k.f.memset(k.at(a, {}, { 1, 512, 2 }), 0, k.enum.engine.vector) -- 3: not 2
    k.f.memset(k.at(a, { 64, 128 }, {}), 0, k.enum.engine.vector) -- 4
    k.f.memset(k.at(a, { 0, 64 }, {}), 0, k.enum.engine.vector) -- 5: not 4
    local h <const> = k.new({ 256, 1024 }, "float32", "shared_hbm")
    k.f.dma_copy(k.at(h, { 0, 128 }, { 0, 512 }), a) -- 6
    k.f.dma_copy(k.at(h, { 0, 128 }, { 512, 1024 }), a) -- 7: beside 6
    k.f.dma_copy(k.at(h, { 128, 256 }, { 0, 512 }), a) -- 8: below 6
    k.f.dma_copy(k.at(h, { 64, 192 }, { 0, 512 }), a) -- 9: over 6 and 8
  end)
  local set <const> = edges(timeline)
  t.eq(set["0>1"], nil)
  t.eq(set["0>2"], "OUTPUT")
  t.eq(set["1>2"], "OUTPUT")
  t.eq(set["2>3"], nil)
  t.eq(set["0>3"], "OUTPUT")
  t.eq(set["2>4"], "OUTPUT")
  t.eq(set["4>5"], nil)
  t.eq(set["4>6"], "FLOW")
  t.eq(set["5>6"], "FLOW")
  t.eq(set["d0>7"], nil)
  t.eq(set["d0>8"], nil)
  t.eq(set["d0>9"], "OUTPUT")
  t.eq(set["d2>9"], "OUTPUT")
  t.eq(set["d1>9"], nil)
end)

t.test("tensors that the kernel places over each other wait for each other", function()
  local _, timeline <const> = schedule(function(k)
    local function placed(byte) return k.f.ndarray({ 128, 128 }, "float32", k.buffer.sbuf, nil, { 0, byte }) end
    local a <const>, b <const>, c <const> = placed(0), placed(256), placed(1024)
    local vector <const> = k.enum.engine.vector
    k.f.memset(a, 0, vector) -- 0: bytes 0 to 511
    k.f.activation(k.new({ 128, 128 }), k.op.exp, a) -- 1
    k.f.memset(b, 0, vector) -- 2: bytes 256 to 767, over a
    k.f.memset(c, 0, vector) -- 3: elsewhere
  end)
  local set <const> = edges(timeline)
  t.eq({ set["0>1"], set["1>2"], set["0>2"] }, { "FLOW", "ANTI", "OUTPUT" })
  t.eq({ set["0>3"], set["1>3"], set["2>3"] }, {})
end)

t.test("a gather waits for its indices", function()
  local result <const> = require("nki.session").run {
    path = "k.py", execute = false, case = assert(require("nki.case").parse "x=float32[1000,64], idx=uint32[128,1]"), source = [==[
import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def k(x, idx):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray((128, 1), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=idx)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x.ap(pattern=[[64, 128], [1, 64]], vector_offset=index, indirect_dim=0))
    nisa.dma_copy(dst=out, src=tile)
    return out
]==] }
  t.ok(result.ok, result.diagnostics[1] and result.diagnostics[1].message)
  local timeline <const> = assert(result.machine:schedule(figures()))
  local list <const> = rows(timeline)
  t.eq(edges(timeline)["d0>1"], "FLOW")
  t.ok(list[2].start >= list[1].done)
  t.eq({ list[2].engine, list[2].descriptors, list[2].bytes }, { "GpSimd", 128, 128 * 64 * 4 })
end)

t.test("a DMA: partitions choose the engines, rows the descriptors", function()
  local list <const>, timeline <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 4, 4096 })
    k.f.dma_copy(k.new({ 4, 4096 }, "bfloat16"), x)
    local y <const> = k.m:input("y", nil, "bfloat16", { 128, 512 })
    k.f.dma_copy(k.new({ 128, 512 }, "bfloat16"), y)
  end)
  t.eq(list[1].descriptors, 4)
  t.eq(list[1].descriptor_bytes, 8192)
  t.eq(list[2].descriptors, 128)
  t.eq(list[2].descriptor_bytes, 1024)
  local p <const> = timeline:packets()
  t.eq(p.start.size, 1 + 16)
  t.eq(p.engine:at(0), 0)
  t.eq(math.tointeger(array.reduce("sum", p.bytes):item()), 4 * 8192 + 128 * 1024)
  -- Trigger 50, start 1300; four descriptors and the semaphore's.
  near(p.start:at(0), 1350)
  near(p.finish:at(0), 1350 + 5 * 20 + 4 * 8192 / 25.2, "one engine, 4 x 8 KiB: published 1,416 ns")
  near(list[1].done, p.finish:at(0) + 700, "the semaphore")
  -- The second finds engine 0 taken and the others idle.
  near(p.finish:at(1), p.finish:at(0) + 9 * 20 + 8 * 1024 / 25.2)
  near(p.finish:at(2), 1400 + 9 * 20 + 8 * 1024 / 25.2)
end)

t.test("short rows cost as much as 512 B, rows apart more, HBM to HBM uses all engines, hardware and software descriptors cost", function()
  local list <const>, timeline <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 128, 128 })
    k.f.dma_copy(k.new({ 128, 128 }, "bfloat16"), x)
    local big <const> = k.m:input("big", nil, "float32", { 1024, 1024 })
    k.f.dma_copy(k.new({ 1024, 1024 }, "float32", "shared_hbm"), big)
  end)
  t.eq(list[1].descriptor_bytes, 256)
  local p <const> = timeline:packets()
  near(p.finish:at(0) - p.start:at(0), 9 * 20 + 8 * 512 / 25.2, "256-byte rows")
  local wide <const>, far <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 128, 4096 })
    k.f.dma_copy(k.new({ 128, 512 }, "bfloat16"), k.at(x, {}, { 0, 512 }))
  end)
  t.eq(wide[1].descriptors, 128)
  near(far:packets().finish:at(0) - far:packets().start:at(0), 9 * 20 + 8 * 1024 / 25.2 + 8 * 18, "rows 8 KiB apart")
  local _, nearer <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 128, 2048 })
    k.f.dma_copy(k.new({ 128, 512 }, "bfloat16"), k.at(x, {}, { 0, 512 }))
  end)
  near(nearer:packets().finish:at(0) - nearer:packets().start:at(0), 9 * 20 + 8 * 1024 / 25.2, "rows 4 KiB apart")
  local engines <const> = {}
  for i = 16, p.start.size - 1 do engines[p.engine:at(i)] = true end
  t.eq(#engines + 1, 16)
  local hw <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 128, 512 })
    k.f.dma_copy(k.new({ 128, 512 }, "bfloat16"), x, k.None, k.enum.oob_mode.error, k.enum.dge_mode.hwdge, k.enum.engine.scalar)
    k.f.dma_copy(k.new({ 128, 512 }, "bfloat16"), x, k.None, k.enum.oob_mode.error, k.enum.dge_mode.swdge)
  end)
  t.eq(hw[1].engine, "Scalar")
  near(hw[1].moved, 50 + 600 + 1300, "hwdge")
  t.eq(hw[2].engine, "GpSimd")
  near(hw[2].busy, 1000 + 128 * 0.83, "swdge")
end)

t.test("performance modes of the Vector engine", function()
  local function cycles(shape, dtype, copy, source, target)
    local list <const> = schedule(function(k)
      local a
      if source == "psum" then
        a = k.new(shape, dtype, "psum")
        k.f.memset(a, 0, k.enum.engine.vector)
      else
        a = memset(k, shape, dtype)
      end
      copy(k, a)
    end, target)
    local last <const> = list[#list]
    return (last.busy - last.start) * targets.get(target or "trn2").schedule.vector_ghz - 64, last.mode
  end
  local function plain(k, a) k.f.tensor_copy(k.new({ 128, 512 }, "bfloat16"), a, k.enum.engine.vector) end
  local function check(expected, mode, ...)
    local n <const>, got <const> = cycles(...)
    near(n, expected)
    t.eq(got, mode)
  end
  check(128, "4x", { 128, 512 }, "bfloat16", plain)
  check(512, nil, { 128, 512 }, "float32", plain)
  check(256, "2x", { 128, 512 }, "bfloat16", plain, "psum")
  check(512, nil, { 128, 512 }, "bfloat16", plain, nil, "trn1")
  check(256, "2x", { 128, 1024 }, "bfloat16", function(k, a)
    k.f.tensor_copy(k.new({ 128, 512 }, "bfloat16"), k.at(a, {}, { 0, 1024, 2 }), k.enum.engine.vector)
  end)
  check(1024, nil, { 128, 512 * 5 }, "float32", function(k, a) -- elements 20 bytes apart
    k.f.tensor_copy(k.new({ 128, 512 }, "float32"), k.at(a, {}, { 0, 512 * 5, 5 }), k.enum.engine.vector)
  end)
  local function both(k, a) k.f.tensor_tensor(k.new({ 128, 512 }, k.attr(a, "dtype")), a, a, k.op.add, k.enum.engine.vector) end
  check(512, nil, { 128, 512 }, "float32", both)
  check(256, "2x", { 128, 512 }, "bfloat16", both)
  check(1024, nil, { 128, 512 }, "float32", both, nil, "trn1")
end)

-- A machine with `n` matmuls in one chain, operands in place.
local function chain(k, n, k_rows, m, cols, dtype)
  local a <const>, b <const> = memset(k, { k_rows, m }, dtype or "bfloat16"), memset(k, { k_rows, cols }, dtype or "bfloat16")
  local acc <const> = k.new({ m, cols }, "float32", "psum")
  for i = 1, n do k.f.nc_matmul(acc, a, b, false, false, false, i > 1) end
  return acc
end

local function matmuls(list)
  local out <const> = {}
  for _, row in ipairs(list) do
    if row.opcode == "MATMUL" then out[#out + 1] = row end
  end
  return out
end

t.test("matmuls: N + 8 cycles at full clock, half the clock for the first 3 us, four passes in float32", function()
  local list <const>, timeline <const> = schedule(function(k) chain(k, 64, 128, 128, 512) end)
  local mm <const> = matmuls(list)
  t.eq(#mm, 64)
  local busy <const> = (512 + 8) / 2.4
  near(mm[2].busy - mm[2].start, 2 * busy, "limited")
  t.eq(mm[2].throttled, true)
  near(mm[40].busy - mm[40].start, busy, "full clock")
  t.eq(mm[40].throttled, false)
  near(mm[41].start, mm[40].busy, "back to back: LoadStationary is hidden")
  local c <const> = timeline:throttle()
  t.eq(c.start.size, 1)
  t.ok(c.finish:at(0) - c.start:at(0) >= 3000 and c.finish:at(0) - c.start:at(0) < 3600)
  t.eq(mm[1].flops, 2 * 128 * 128 * 512)
  t.eq(mm[1].type, "REGULAR")
  t.ok(mm[1].operands:find("128%*128 acc_flags=1$"), mm[1].operands)
  local slow <const> = matmuls((schedule(function(k) chain(k, 8, 128, 128, 512, "float32") end, "trn2", { throttle_window_ns = 0 })))
  near(slow[8].busy - slow[8].start, (4 * 512 + 8) / 2.4, "float32")
  t.eq(slow[8].adjusted_flops, 4 * slow[8].flops)
  local short <const> = matmuls((schedule(function(k) chain(k, 8, 128, 128, 1) end, "trn2", { throttle_window_ns = 0 })))
  near(short[8].busy - short[8].start, (64 + 8) / 2.4, "at least 64 cycles")
  local trn1 <const> = matmuls((schedule(function(k) chain(k, 8, 128, 128, 512) end, "trn1")))
  near(trn1[2].busy - trn1[2].start, (512 + 8) / 2.8, "trn1 has no such limit")
end)

t.test("matmuls on different groups of the array run side by side, on the same one after the other", function()
  local function run(positions)
    return matmuls((schedule(function(k)
      local a <const>, b <const> = memset(k, { 128, 32 }, "bfloat16"), memset(k, { 128, 512 }, "bfloat16")
      for _, row in ipairs(positions) do
        local acc <const> = k.new({ 32, 512 }, "float32", "psum")
        k.f.nc_matmul(acc, k.at(a, { row, row + 32 }, {}), k.at(b, { row, row + 32 }, {}), false, false, false, nil, { row, 0 }, { 32, 32 })
      end
    end, "trn2", { throttle_window_ns = 0 })))
  end
  local beside <const>, after <const> = run { 0, 32, 64 }, run { 0, 0, 0 }
  near(beside[3].start, beside[1].start, "three groups at once")
  t.ok(after[3].start >= after[2].busy and after[2].start >= after[1].busy)
end)

t.test("DMA transposes run at a share of the rate on all engines", function()
  local _, timeline <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 512, 128 })
    k.f.dma_transpose(k.new({ 128, 512 }, "bfloat16"), x)
  end)
  local p <const> = timeline:packets()
  t.eq(p.start.size, 16)
  near(p.finish:at(5) - p.start:at(5), 20 + 512 * 128 * 2 / 16 / (25.2 * 0.9))
end)

t.test("a Tensor engine fed at less than half its rate stays at half its clock", function()
  local function run(gap) -- a matmul every `gap` Scalar elements
    return matmuls((schedule(function(k)
      local a <const> = memset(k, { 128, 128 }, "bfloat16")
      local acc <const> = k.new({ 128, 512 }, "float32", "psum")
      local source <const> = memset(k, { 128, gap }, "float32")
      for i = 1, 60 do
        local b <const> = k.new({ 128, gap }, "bfloat16")
        k.f.activation(b, k.op.copy, source)
        k.f.nc_matmul(acc, a, k.at(b, {}, { 0, 512 }), false, false, false, i > 1)
      end
    end)))
  end
  t.eq(run(1024)[60].throttled, true)
  local fast <const> = run(512)
  t.eq(fast[1].throttled, true)
end)

t.test("memory: no more than the PSUM banks are in flight, and a tile is free after its last reader", function()
  local list <const>, timeline <const> = schedule(function(k)
    local a <const> = memset(k, { 128, 128 }, "bfloat16")
    local b <const> = memset(k, { 128, 512 }, "bfloat16")
    for _ = 1, 12 do
      local acc <const> = k.new({ 128, 512 }, "float32", "psum")
      k.f.nc_matmul(acc, a, b)
      k.f.activation(k.new({ 128, 512 }, "float32"), k.op.copy, acc)
    end
  end, "trn2", { throttle_window_ns = 0 })
  local mm <const>, copies <const> = matmuls(list), {}
  for _, row in ipairs(list) do
    if row.opcode == "ACTIVATE" then copies[#copies + 1] = row end
  end
  near(mm[8].start, mm[7].busy, "eight banks")
  near(mm[9].ready, copies[1].done, "the ninth bank is the first, once it is read")
  near(mm[12].ready, copies[4].done, "the twelfth stands still for the fourth")
  t.eq(mm[12].kind, "memory")
  t.eq(edges(timeline)[("%d>%d"):format(copies[4].id, mm[12].id)], "PSUM", "what gave the room is an edge")
  t.eq(edges(timeline)[("%d>%d"):format(copies[1].id, mm[9].id)], nil, "the ninth did not stand still for it")
end)

t.test("a window of one keeps program order on an engine, a wider one takes what is ready", function()
  local function program(k)
    local x <const> = k.m:input("x", nil, "float32", { 128, 512 })
    local a <const>, b <const> = k.new({ 128, 512 }), k.new({ 128, 512 })
    k.f.dma_copy(a, x)
    k.f.tensor_copy(b, a, k.enum.engine.vector) -- waits for the load
    memset(k, { 128, 512 })
  end
  local ordered <const> = schedule(program, "trn2", { window = 1 })
  t.ok(ordered[3].start >= ordered[2].busy)
  local ready <const> = schedule(program)
  near(ready[3].start, 0)
end)

t.test("nl.no_reorder keeps program order on an engine, whatever the window", function()
  local list <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "float32", { 128, 512 })
    local a <const>, b <const> = k.new({ 128, 512 }), k.new({ 128, 512 })
    k.f.dma_copy(a, x)
    k.m:keep_order(true)
    k.f.tensor_copy(b, a, k.enum.engine.vector) -- waits for the load
    memset(k, { 128, 512 })
    k.m:keep_order(false)
    memset(k, { 128, 512 })
  end)
  t.ok(list[3].start >= list[2].busy, "inside the block")
  near(list[4].start, 0, "outside it")
end)

t.test("an engine that the kernel leaves open: Vector, or Scalar when that ends sooner", function()
  local function program(engine, op)
    return schedule(function(k)
      local a <const> = memset(k, { 128, 512 })
      for _ = 1, 4 do k.f.tensor_scalar(k.new({ 128, 512 }), a, k.op[op or "multiply"], 2.0, false, nil, nil, false, engine and k.enum.engine[engine]) end
    end)
  end
  local function engines(list)
    local names <const> = {}
    for i = 2, #list do names[#names + 1] = list[i].engine end
    return table.concat(names, " ")
  end
  t.eq(engines(program()), "Vector Scalar Vector Scalar")
  t.eq(engines(program("vector")), "Vector Vector Vector Vector")
  t.eq(engines(program(nil, "maximum")), "Vector Vector Vector Vector") -- not on trn2's Scalar engine
  local open <const>, given <const> = program(), program("vector")
  t.ok(open[5].done < given[5].done)
  t.ok(open[3].start >= open[1].done + 60, "a moved instruction waits for the semaphore")
end)

t.test("reduction registers keep their order", function()
  local _, timeline <const> = schedule(function(k)
    local a <const>, b <const> = memset(k, { 128, 64 }), memset(k, { 128, 64 })
    for _, x in ipairs { a, b } do
      k.f.activation_reduce(k.new({ 128, 64 }), k.op.exp, x, k.op.add, k.new({ 128, 1 }))
    end
  end)
  local c <const> = timeline:instructions()
  local set <const> = edges(timeline)
  local order <const> = {}
  for i = 0, timeline.rows - 1 do
    if c.engine.values[c.engine.codes:at(i) + 1] == "Scalar" then order[#order + 1] = i end
  end
  t.ok(#order >= 4, "activation and read of the accumulator")
  for i = 2, #order do t.ok(set[("%d>%d"):format(order[i - 1], order[i])], ("%d after %d"):format(order[i], order[i - 1])) end
end)

t.test("progress is reported, and what it raises ends the schedule", function()
  local k <const> = machine()
  local tile <const> = k.new({ 128, 8 })
  for _ = 1, 70000 do k.f.memset(tile, 0, k.enum.engine.vector) end
  local calls <const> = {}
  assert(k.m:schedule(figures(), { progress = function(done, total) calls[#calls + 1] = { done, total } end }))
  t.eq(calls, { { 65536, 70000 } })
  local ok <const>, err <const> = pcall(function() return k.m:schedule(figures(), { progress = function() error({ code = "enough" }) end }) end)
  t.eq({ ok, type(err) == "table" and err.code }, { false, "enough" })
  t.ok(k.m:schedule(figures()), "and the machine can be scheduled again")
end)

t.test("counts: bytes by memory, transposes once, an empty record, bad models", function()
  local list <const>, timeline <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 128, 128 })
    local a <const> = k.new({ 128, 128 }, "bfloat16")
    k.f.dma_copy(a, x)
    local p <const> = k.new({ 128, 128 }, "bfloat16", "psum")
    k.f.nc_transpose(p, a, k.enum.engine.tensor)
  end)
  t.eq(list[1].hbm_read, 32768)
  t.eq(list[1].sbuf_write, 32768)
  t.eq(list[2].type, "TRANSPOSE")
  t.eq(list[2].psum_write, 32768)
  t.eq(list[2].flops, 128 * 128 * 128)
  local totals <const> = timeline:totals()
  t.eq(totals.transposes, 1)
  t.eq(totals.hbm_read, 32768)
  t.eq({ totals.repeated_loads, totals.movable }, { 0, 0 })
  local _, twice <const> = schedule(function(k)
    local x <const> = k.m:input("x", nil, "bfloat16", { 128, 128 })
    for _ = 1, 3 do
      local a <const> = k.new({ 128, 128 }, "bfloat16")
      k.f.dma_copy(a, x)
      k.f.tensor_copy(k.new({ 128, 128 }, "bfloat16"), a)
    end
    k.f.dma_copy(k.new({ 64, 128 }, "bfloat16"), k.at(x, { 0, 64 }, {}))
  end)
  t.eq({ twice:totals().repeated_loads, twice:totals().repeated_load_bytes, twice:totals().movable }, { 2, 65536, 3 })
  local empty <const> = assert(machine().m:schedule(figures("trn2", { launch_ns = 5, finish_ns = 7 })))
  t.eq(empty.count, 0)
  near(empty.total_ns, 12)
  t.eq(empty:packets().start.size, 0)
  local lacking <const> = figures()
  lacking.tensor_ghz = nil
  local ok, err = pcall(function() return machine().m:schedule(lacking) end)
  t.ok(not ok and err:find("lacks the figure tensor_ghz", 1, true), err)
  ok, err = pcall(function() return machine().m:schedule(figures("trn2", { vector_ghz = 0 })) end)
  t.ok(not ok and err:find("must be positive", 1, true), err)
end)
