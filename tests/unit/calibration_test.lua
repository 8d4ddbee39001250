-- SPDX-License-Identifier: MIT
-- The schedule model against public figures, as goals that later changes must keep: 15 % for the totals of the 4096^3 matmuls with
-- the right bottleneck, 10 % for rates, 25 % and the right order for the Mamba series. tests/bench/calibration.lua prints all of it.
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local case <const> = require "nki.case"
local session <const> = require "nki.session"
local targets <const> = require "nki.targets"

local function timeline_of(file, entry, case_text, target)
  local result <const> = session.run { path = "tests/bench/kernels/" .. file, entry = entry, case = assert(case.parse(case_text)), target = target,
    execute = false }
  t.ok(result.ok, result.diagnostics[1] and result.diagnostics[1].message)
  return assert(result.machine:schedule(targets.get(target or "trn2").schedule))
end

local function within(share, modelled, published, what)
  t.ok(math.abs(modelled / published - 1) <= share, ("%s: %.1f modelled, %.1f published"):format(what, modelled, published))
end

local function busiest(timeline)
  local best
  for _, one in ipairs(timeline:active()) do
    if not best or one.ns > best.ns then best = one end
  end
  return best.engine
end

local function bytes_of(timeline) return math.tointeger(array.reduce("sum", timeline:packets().bytes):item()) end

local SQUARE <const> = "a_t=bf16[4096,4096], b=bf16[4096,4096]"
-- Bytes are the loops' own: V0 loads both operands in each of its 8,192 steps.
for _, row in ipairs {
  { "matmul_v0", 8602, "DMA", 8192 * (128 * 128 + 128 * 512) * 2 + 4096 * 4096 * 2 },
  { "matmul_v1", 2451, "Tensor", 201326592 },
  { "matmul_v2", 1801, "Tensor", 201326592 },
} do
  t.test("4096^3 on trn2: " .. row[1], function()
    local timeline <const> = timeline_of("matmul_4096.py", row[1], SQUARE)
    within(0.15, timeline.total_ns / 1000, row[2], "total")
    t.eq(busiest(timeline), row[3])
    t.eq(bytes_of(timeline), row[4])
    t.eq(timeline:totals().flops, 2 * 4096 ^ 3 // 1 | 0)
  end)
end

t.test("rates: matmuls and DMA on trn2", function()
  local one <const> = "a_t=bf16[128,128], b=bf16[128,512]"
  for entry, published in pairs { matmuls = 77.2, mixed_matmuls = 30.8 } do
    local timeline <const> = timeline_of("micro.py", entry, one)
    within(0.1, timeline:totals().flops / timeline:active()[1].ns / 1000, published, entry)
  end
  for columns, published in pairs { [512] = 259, [2048] = 354 } do
    local timeline <const> = timeline_of("micro.py", "rows", ("x=bf16[4096,%d]"):format(columns))
    within(0.1, bytes_of(timeline) / timeline:active()[6].ns, published, columns .. " columns")
  end
  within(0.1, timeline_of("matmul_4096.py", "matmul_v2", "a_t=bf16[2048,2048], b=bf16[2048,2048]").total_ns / 1000, 240.3, "2048^3")
end)

t.test("the Mamba series on trn1: within 25 %, versions and lengths in order", function()
  local function total(entry, channels, length)
    return timeline_of("mamba.py", entry, ("delta=f32[%d,%d], u=f32[%d,%d], a=f32[%d,16], b=f32[16,%d], c=f32[16,%d]"):format(
      channels, length, channels, length, channels, length, length), "trn1").total_ns / 1000
  end
  within(0.25, total("mamba_v1", 256, 512), 172.93, "v1, 256 channels")
  local v1 <const>, v2 <const> = total("mamba_v1", 4096, 512), total("mamba_v2", 4096, 512)
  within(0.25, v1, 2340, "v1")
  within(0.25, v2, 1610, "v2")
  t.ok(v2 < v1)
  local last2, last3 = v2, total("mamba_v3", 4096, 512)
  for _, row in ipairs { { 1024, 4400, 3300 }, { 2048, 8900, 6600 } } do
    local a <const>, b <const> = total("mamba_v2", 4096, row[1]), total("mamba_v3", 4096, row[1])
    within(0.25, a, row[2], "v2, length " .. row[1])
    within(0.25, b, row[3], "v3, length " .. row[1])
    t.ok(b < a and a > last2 and b > last3)
    last2, last3 = a, b
  end
end)
