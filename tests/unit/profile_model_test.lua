-- SPDX-License-Identifier: MIT
-- What a modelled profile says beside its figures: notes where the program shows a doubt, and the union of intervals.
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local case <const> = require "nki.case"
local model <const> = require "profile.model"
local notes <const> = require "profile.notes"
local session <const> = require "nki.session"
local summary <const> = require "profile.summary"

local HEAD <const> = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n\n\n@nki.jit\n"

local function intervals(list)
  local start <const>, finish <const> = {}, {}
  for i, one in ipairs(list) do start[i], finish[i] = one[1], one[2] end
  return { start = array.from("float64", { #list }, start), finish = array.from("float64", { #list }, finish) }
end

t.test("the union of lists of intervals", function()
  t.eq(summary.union_of {}, 0)
  t.eq(summary.union_of { intervals { { 0.0, 10.0 }, { 20.0, 25.0 } } }, 15.0)
  t.eq(summary.union_of { intervals { { 0.0, 10.0 }, { 20.0, 25.0 } }, intervals { { 5.0, 21.0 }, { 30.0, 31.0 } } }, 26.0)
  t.eq(summary.union_of { intervals { { 0.0, 100.0 } }, intervals { { 1.0, 2.0 }, { 3.0, 4.0 }, { 99.0, 101.0 } } }, 101.0)
end)

-- Codes of the notes for a kernel's text.
local function codes_of(text, case_text, target)
  local result <const> = session.run { path = "k.py", source = HEAD .. text, case = assert(case.parse(case_text)), execute = false, target = target }
  t.ok(result.ok, result.diagnostics[1] and result.diagnostics[1].message)
  local timeline <const> = assert(model.make { machine = result.machine, outputs = result.outputs, target = target or "trn2" })
  local totals <const> = timeline:totals()
  totals.dma_count = timeline:transfers().start.size
  local facts <const> = { target = target or "trn2", hwdge_ns = 600, kept_ns = model.kept_ns(result.machine, target or "trn2", timeline) }
  local codes <const> = {}
  for _, note in ipairs(notes.of(timeline, totals, timeline:active(), facts)) do
    codes[note.code] = note
    t.ok(#note.message > 20 and not note.message:find("%%%%"), note.message)
  end
  return codes, timeline, facts
end

local LOADS <const> = [[
def k(x):
    rows, cols = x.shape
    out = nl.ndarray((128, cols), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((128, cols), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    for again in range(%d):
        for r in range(0, rows, 128):
            tile = nl.ndarray((128, cols), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[r:r + 128, :])
            nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out
]]

t.test("always: that it is modelled, how accurate it is, what a compiler may do", function()
  local codes <const> = codes_of(LOADS:format(1), "x=f32[256,512]")
  for _, code in ipairs { "modelled", "accuracy", "order", "rewriting" } do t.ok(codes[code] and codes[code].level == "info", code) end
  t.eq(codes.reuse, nil)
  t.eq(codes.throttle, nil)
  t.eq(codes.generation, nil)
  t.ok(codes_of(LOADS:format(1), "x=f32[256,512]", "trn1").generation)
end)

t.test("loads that repeat: how much, and the total if they were kept", function()
  local codes <const>, timeline <const>, facts <const> = codes_of(LOADS:format(8), "x=f32[1024,4096]")
  t.eq(codes.reuse.level, "warning")
  t.match(codes.reuse.message, "^56 loads")
  t.ok(facts.kept_ns == nil or facts.kept_ns <= timeline.total_ns)
  -- 8 tiles of 16 KiB a partition do not fit half of SBUF; 4 do.
  t.eq(codes.reuse.message:find("half of SBUF", 1, true), nil)
  t.match(codes_of(LOADS:format(8), "x=f32[512,4096]").reuse.message, "half of SBUF kept what fits")
end)

t.test("a total of latencies, an engine left open, a throttled Tensor engine, many DMA instructions", function()
  t.eq(codes_of([[
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, value=tile)
    return out
]], "x=f32[128,8]")["latency-bound"].level, "warning")
  local open <const> = [[
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    for i in range(40):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0%s)
    nl.store(out, value=tile)
    return out
]]
  t.ok(codes_of(open:format(""), "x=f32[128,2048]").engine)
  t.eq(codes_of(open:format(", engine=nisa.engine.vector"), "x=f32[128,2048]").engine, nil)
  local slow <const> = codes_of([[
def k(a_t, b):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    left = nl.load(a_t)
    for i in range(200):
        right = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[i * 128:i * 128 + 128, :])
        nisa.nc_matmul(dst=acc, stationary=left, moving=right, accumulate=(i > 0))
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=acc)
    nisa.dma_copy(dst=out, src=result)
    return out
]], "a_t=bf16[128,128], b=bf16[25600,512]")
  t.eq(slow.throttle.level, "warning")
  t.eq(slow.dge.level, "warning")
  t.eq(slow.reuse, nil)
end)
