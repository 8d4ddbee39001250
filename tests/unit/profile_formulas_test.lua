-- SPDX-License-Identifier: MIT
-- The derived metrics against figures of published captures (counters and metrics as their owners published them).
local t <const> = require "tests.lib"
local formulas <const> = require "profile.formulas"

local function near(got, want, digits, what)
  t.ok(type(got) == "number" and math.abs(got / want - 1) < 10 ^ -digits, ("%s: computed %s, published %s"):format(what, tostring(got), tostring(want)))
end

t.test("a trn1 capture of trnblas: clock, active share", function()
  local published <const> = {
    total_time = 0.213808050051, neuroncore_cycle_count = 299331264, tensor_engine_active_time = 4.83557e-07,
    tensor_engine_active_time_percent = 2.2616407562047187e-06, dma_transfer_total_bytes = 3288352768, dma_transfer_count = 18935,
  }
  local computed <const> = formulas.compute(published, formulas.hardware.trn1)
  near(computed.neuroncore_cycle_count, published.neuroncore_cycle_count, 6, "cycles at 1.4 GHz")
  near(computed.tensor_engine_active_time_percent, published.tensor_engine_active_time_percent, 6, "active share")
  near(computed.dma_transfer_average_bytes, 3288352768 / 18935, 12, "average transfer")
  t.eq(computed.hfu_estimated_percent, nil, "no FLOPs, no utilisation")
  near(formulas.compute({ total_time = 21.99e-6 }, formulas.hardware.trn2).neuroncore_cycle_count, 2.639e4, 3, "trn2 runs at 1.2 GHz")
end)

t.test("an inf2 capture of pantheonneuron: utilisations, intensity and ridge fit together", function()
  -- Published: HFU, MFU, MFU of instructions, MBU. Their counters in units of the peaks (t = 1 s) must give the published
  -- arithmetic intensity and the published best MFU, which come from other formulas.
  local h <const> = formulas.hardware.inf2
  local hfu <const>, mfu <const>, inst <const>, mbu <const> = 0.009928714238, 0.0048856335917, 0.0097712671833, 0.1382658138796
  local s <const> = {
    total_time = 1.0, hardware_flops = hfu * h.peak_flops, transpose_flops = (hfu - inst) * h.peak_flops, model_flops = mfu * h.peak_flops,
    hbm_read_bytes = 0.75 * mbu * h.hbm_bandwidth, hbm_write_bytes = 0.25 * mbu * h.hbm_bandwidth,
  }
  local computed <const> = formulas.compute(s, h)
  near(computed.mm_arithmetic_intensity, 15.814671814672, 7, "arithmetic intensity")
  near(computed.peak_flops_bandwidth_ratio, 223.7815, 6, "ridge")
  near(computed.mfu_max_achievable_estimated_percent, 0.0353350799779, 7, "best MFU at this intensity")
  near(computed.mfu_inst_estimated_percent, inst, 10, "MFU of instructions")
  near(computed.mbu_estimated_percent, mbu, 10, "MBU")
end)

t.test("checking a Summary against its own counters", function()
  local s <const> = { total_time = 1e-3, tensor_engine_active_time = 4e-4, tensor_engine_active_time_percent = 40, hbm_read_bytes = 4e8, hbm_write_bytes = 1e8,
    hardware_flops = 2e10, transpose_flops = 0, mm_arithmetic_intensity = 40.0 }
  local bad <const> = formulas.check(s, formulas.hardware.trn2)
  t.eq(#bad, 1)
  t.eq({ bad[1].metric, bad[1].computed, bad[1].ratio }, { "tensor_engine_active_time_percent", 0.4, 0.01 }) -- a percent where a fraction belongs
end)

t.test("the published matmul bounds follow from their counts", function()
  -- 4096^3 in bf16 on trn2: ideal compute 1,748 us; 100,663,296 necessary and 1,207,697,408 moved bytes at 435 GB/s are 231 and 2,776 us.
  local bounds <const> = require "profile.bounds"
  local h <const> = formulas.hardware.trn2
  near(2 * 4096 ^ 3 / h.peak_flops * 1e6, 1748, 3, "ideal compute")
  near(100663296 / 435e9 * 1e6, 231, 2, "necessary bytes")
  near(1207697408 / 435e9 * 1e6, 2776, 3, "bytes moved")
  t.eq(bounds.practical.trn2, 368e9)
end)
