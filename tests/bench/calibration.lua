-- SPDX-License-Identifier: MIT
-- The schedule model beside public figures: published, modelled, ratio, source. Kernels are our own (tests/bench/kernels)
-- with the loops the source describes. Nothing passes or fails here, and what misses is shown with the rest.
--
--   nkiln-lua tests/bench/calibration.lua       (also part of `make bench`)
-- With NKILN_CORPUS set the public Mamba kernels run as well, as written.

local array <const> = require "rt.array"
local case <const> = require "nki.case"
local session <const> = require "nki.session"
local targets <const> = require "nki.targets"

local KERNELS <const> = "tests/bench/kernels/"
local AGENTIC <const> = "profile guide of neuron-agentic-development"
local DMA_GUIDE <const> = "DMA guide of the same; nki-dma-overview"
local MAMBA <const> = "fused_mamba tutorial"

local function sum(column) return array.reduce("sum", column):item() end

-- Timeline of one kernel, or nil and why there is none.
local function timeline_of(row)
  local parsed <const> = assert(case.parse(row.case))
  local result <const> = session.run { path = row.path, entry = row.entry, case = parsed, target = row.target or "trn2", execute = false }
  if not result.ok then
    for _, d in ipairs(result.diagnostics) do
      if d.severity ~= "warning" then return nil, d.code end
    end
    return nil, "does not run"
  end
  local figures <const> = {}
  for key, value in pairs(targets.get(row.target or "trn2").schedule) do figures[key] = value end
  figures.keep_share = row.keep_share or figures.keep_share
  return assert(result.machine:schedule(figures))
end

local engines <const> = { Tensor = 1, Vector = 2, Scalar = 3, GpSimd = 4, Sync = 5, DMA = 6 }
local function active(timeline, name) return timeline:active()[engines[name]].ns / 1000 end
local function busiest(timeline)
  local best
  for _, one in ipairs(timeline:active()) do
    if not best or one.ns > best.ns then best = one end
  end
  return best.engine
end

local function show(what, published, modelled, unit, source, remark)
  local ratio <const> = published and modelled and ("%5.2f"):format(modelled / published) or "    -"
  local function number(value) return value and ("%11.1f"):format(value) or ("%11s"):format("-") end
  print(("  %-58s %s %s %-5s %s  %s"):format(what, number(published), number(modelled), unit, ratio, remark or source))
end

print("\nThe schedule model beside public figures (all times modelled; ratio = modelled / published)")
print(("  %-58s %11s %11s %-5s %5s  %s"):format("", "published", "modelled", "", "ratio", "source"))

-- 4096^3 bf16 on trn2, three ways: totals, engines' active times, bytes.
local square <const> = "a_t=bf16[4096,4096], b=bf16[4096,4096]"
local matmuls <const> = {
  { name = "V0, as written", entry = "matmul_v0", total = 8602, dma = 7906, tensor = 4806, vector = 176, bytes = 1207697408, bottleneck = "DMA" },
  { name = "V0, stationary tiles loaded 3 times instead of 8", entry = "matmul_v0_reused", total = 8602, dma = 7906, tensor = 4806, vector = 176,
    bytes = 1207697408, bottleneck = "DMA" },
  { name = "V1", entry = "matmul_v1", total = 2451, dma = 1325, tensor = 2163, vector = 174, bytes = 201326592, bottleneck = "Tensor" },
  { name = "V2", entry = "matmul_v2", total = 1801, dma = 819, tensor = 1781, vector = 172, bytes = 201326592, bottleneck = "Tensor" },
}
for _, row in ipairs(matmuls) do
  row.path, row.case = KERNELS .. "matmul_4096.py", square
  local timeline <const> = timeline_of(row)
  local name <const> = "matmul 4096^3 " .. row.name
  show(name, row.total, timeline.total_ns / 1000, "us", AGENTIC)
  show("    DMA active", row.dma, active(timeline, "DMA"), "us", "")
  show("    Tensor active", row.tensor, active(timeline, "Tensor"), "us", "")
  show("    Vector active", row.vector, active(timeline, "Vector"), "us", "")
  show("    bytes moved", row.bytes / 1e6, sum(timeline:packets().bytes) / 1e6, "MB", "")
  local found <const> = busiest(timeline)
  print(("    bottleneck %s, published %s%s"):format(found, row.bottleneck, found == row.bottleneck and "" or "  <- differs"))
end
print("  V0's own loops move 1375.7 MB: both operands in each of 8,192 steps, and the output. The published 1207.7 MB are 32 loads of b,")
print("  3 of a_t instead of 8, and the output: the compiler kept stationary tiles across column blocks. nkiln counts the program's own bytes.")

-- Rates.
local function rate(name, row, published, unit, value, source)
  local timeline <const> = timeline_of(row)
  show(name, published, value(timeline), unit, source)
end
local one <const> = "a_t=bf16[128,128], b=bf16[128,512]"
local function tflops(timeline) return timeline:totals().flops / active(timeline, "Tensor") / 1e6 end
local function gbytes(timeline) return sum(timeline:packets().bytes) / active(timeline, "DMA") / 1e3 end
rate("2,048 full matmuls while Tensor is active", { path = KERNELS .. "micro.py", entry = "matmuls", case = one }, 77.2, "TF/s", tflops, AGENTIC)
rate("2,048 matmuls of four tile shapes", { path = KERNELS .. "micro.py", entry = "mixed_matmuls", case = one }, 30.8, "TF/s", tflops, AGENTIC)
rate("DMA, 128 rows of 1,024 B", { path = KERNELS .. "micro.py", entry = "rows", case = "x=bf16[4096,512]" }, 259, "GB/s", gbytes, DMA_GUIDE)
rate("DMA, 128 rows of 4,096 B", { path = KERNELS .. "micro.py", entry = "rows", case = "x=bf16[4096,2048]" }, 354, "GB/s", gbytes, DMA_GUIDE)
do
  local timeline <const> = timeline_of { path = KERNELS .. "micro.py", entry = "few_partitions", case = "x=bf16[4,4096]" }
  local p <const> = timeline:packets()
  show("DMA, 4 rows of 8 KiB on one engine", 1416, p.finish:at(0) - p.start:at(0), "ns", DMA_GUIDE)
end
local cube <const> = { path = KERNELS .. "matmul_4096.py", entry = "matmul_v2", case = "a_t=bf16[2048,2048], b=bf16[2048,2048]" }
rate("matmul 2048^3 bf16, hand kernel", cube, 240.3, "us", function(timeline) return timeline.total_ns / 1000 end, "nki-autotune, 90.9 % of peak")

-- 2048^3 on trn2, tiles loaded in the innermost loop: SBUF holds all of a and b there, and the compiler used that.
for _, row in ipairs { { "matmul_transposing", "a", 802, 503, "a transposed tile by tile" }, { "matmul_v0", "a_t", 608, 420, "a given transposed" } } do
  local options <const> = { path = KERNELS .. "matmul_4096.py", entry = row[1], case = ("%s=bf16[2048,2048], b=bf16[2048,2048]"):format(row[2]) }
  local written <const> = timeline_of(options)
  show("matmul 2048^3, " .. row[5] .. ", as written", row[3], written.total_ns / 1000, "us", AGENTIC)
  show("    Tensor active", row[4], active(written, "Tensor"), "us", "")
  options.keep_share = 0.5
  show("    if all that fits half of SBUF were kept", row[3], timeline_of(options).total_ns / 1000, "us", "")
end

-- A vendor's targets, not measurements: two cores, half of the rows each.
for _, row in ipairs { { 1024, 8192, 458.2 }, { 16384, 8192, 6287 }, { 1024, 16384, 866.81 } } do
  local timeline <const> = timeline_of { path = KERNELS .. "rmsnorm_quant.py", entry = "rmsnorm_quant",
    case = ("x=bf16[%d,%d], gamma=bf16[1,%d]"):format(row[1], row[2], row[2]) }
  show(("rmsnorm-quant, %d rows a core of %d"):format(row[1], row[2]), row[3], timeline.total_ns / 1000, "us",
    "design-rmsnorm-quant (a target, not a measurement)")
end

-- Mamba on trn1.
local function mamba(entry, channels, length)
  return { path = KERNELS .. "mamba.py", entry = entry, target = "trn1",
    case = ("delta=f32[%d,%d], u=f32[%d,%d], a=f32[%d,16], b=f32[16,%d], c=f32[16,%d]"):format(channels, length, channels, length, channels, length, length) }
end
local function total(row, name, published, source)
  local timeline <const>, why <const> = timeline_of(row)
  if not timeline then return show(name, published, nil, "us", source, "refused (" .. why .. "): it does not fit SBUF; on the device it spills") end
  show(name, published, timeline.total_ns / 1000, "us", source)
  return timeline
end
local first <const> = total(mamba("mamba_v1", 256, 512), "mamba v1, 256 channels, length 512, trn1", 172.93, MAMBA)
print(("    Vector active %.1f %% between first and last instruction, published 98.7 %%"):format(
  100 * first:active()[2].ns / (first.last_ns - first.first_ns)))
total(mamba("mamba_v1", 4096, 512), "mamba v1, 4096 channels, length 512", 2340, MAMBA)
local lengths <const> = { 512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192 }
local v2 <const>, v3 <const> = { 1.6, 4.4, 8.9, 13.1, 17.6, 23.7, 27.5, 41.3, 52.2 }, { 1.6, 3.3, 6.6, 10.1, 13.3, 17.3, 19.6, 24.2, 27.8 }
for i, length in ipairs(lengths) do
  total(mamba("mamba_v2", 4096, length), ("mamba v2, 4096 channels, length %d"):format(length), v2[i] * 1000, MAMBA)
  total(mamba("mamba_v3", 4096, length), ("mamba v3, 4096 channels, length %d"):format(length), v3[i] * 1000, MAMBA)
end

-- Public benchmark kernels on trn1: the compiler merges and moves operations there, which the model does not follow.
local NKIBENCH <const> = "NKIBench baselines (AccelOpt)"
local elementwise <const> = KERNELS .. "elementwise.py"
total({ path = elementwise, entry = "silu", case = "x=f32[4096,7168]", target = "trn1" }, "silu 4096 x 7168 fp32, trn1", 1333, NKIBENCH)
total({ path = elementwise, entry = "rope", case = "x=f32[128,262144], cos=f32[64,262144], sin=f32[64,262144]", target = "trn1" },
  "rope 64 heads x 4096 fp32, trn1", 4333, NKIBENCH)
total({ path = elementwise, entry = "matmul_fp32", case = "a_t=f32[2048,4096], b=f32[2048,10944]", target = "trn1" },
  "matmul 4096 x 2048 x 10944 fp32, trn1", 9610, NKIBENCH)

local corpus <const> = os.getenv("NKILN_CORPUS")
for _, tail in ipairs { "aws-neuron-sdk/nki/examples/fused_mamba/mamba_nki_kernels.py", "nki/examples/fused_mamba/mamba_nki_kernels.py" } do
  local path <const> = corpus and corpus .. "/" .. tail
  local file <const> = path and io.open(path)
  if file then
    file:close()
    local published <const> = { mamba_v1 = 2340, mamba_v2 = 1610, mamba_v3 = 1600 }
    for _, entry in ipairs { "mamba_v1", "mamba_v2", "mamba_v3" } do
      total({ path = path, entry = entry, target = "trn1",
        case = "delta=f32[1,4096,512], u=f32[1,4096,512], A=f32[4096,16], B=f32[1,16,512], C=f32[1,16,512]" },
        entry .. " as published today (rows repeated by DMA)", published[entry], MAMBA)
    end
    break
  end
end
