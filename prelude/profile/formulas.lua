-- SPDX-License-Identifier: MIT
-- profile.formulas: the derived metrics of Summary from its counters, as neuron-explorer defines them, so that a profile that
-- has the counters can be checked, and one that lacks a metric can be given it.
--
-- compute(s, hardware) -> { metric = value }. `s` has Summary's counters by name (times in s, sizes in B, FLOPs), `hardware` has
-- peak_flops (FLOP/s of the Tensor engine), hbm_bandwidth (B/s of one HBM stack), clock (Hz of the base clock); what cannot be
-- computed is absent. _percent are fractions 0..1. check(s, hardware) -> list of { metric, stored, computed, ratio } that differ by
-- more than 0.1 %.
-- Sources: the metrics' wording in the profile schema reference; checked against published captures in the tests.

local formulas <const> = {}

-- Peaks by generation: rows x columns x 2 x clock; one HBM stack. [Neuron architecture guides]
formulas.hardware = {
  trn1 = { peak_flops = 128 * 128 * 2 * 2.8e9, hbm_bandwidth = 410e9, clock = 1.4e9 },
  inf2 = { peak_flops = 128 * 128 * 2 * 2.8e9, hbm_bandwidth = 410e9, clock = 1.4e9 },
  trn2 = { peak_flops = 128 * 128 * 2 * 2.4e9, hbm_bandwidth = 725e9, clock = 1.2e9 },
  trn3 = { peak_flops = 128 * 128 * 2 * 2.4e9, hbm_bandwidth = 1225e9, clock = 1.2e9 },
}

local function number(value) return type(value) == "number" and value == value and value or nil end

function formulas.compute(s, hardware)
  local out <const> = {}
  local t <const>, peak <const>, stack <const> = number(s.total_time), number(hardware.peak_flops), number(hardware.hbm_bandwidth)
  local function put(name, ok, fn) if ok then out[name] = fn() end end
  local flops <const>, turned <const>, model <const> = number(s.hardware_flops), number(s.transpose_flops) or 0, number(s.model_flops)
  local traffic <const> = number(s.hbm_read_bytes) and number(s.hbm_write_bytes) and s.hbm_read_bytes + s.hbm_write_bytes
  local timed <const> = t and t > 0
  put("neuroncore_cycle_count", timed and hardware.clock, function() return t * hardware.clock end)
  put("hfu_estimated_percent", timed and peak and flops, function() return flops / (peak * t) end)
  put("mfu_estimated_percent", timed and peak and model, function() return model / (peak * t) end)
  put("mfu_inst_estimated_percent", timed and peak and flops, function() return (flops - turned) / (peak * t) end)
  put("mbu_estimated_percent", timed and traffic and stack, function() return traffic / t / stack end)
  local intensity <const> = flops and traffic and traffic > 0 and (flops - turned) / traffic
  put("mm_arithmetic_intensity", intensity, function() return intensity end)
  local ridge <const> = number(s.peak_flops_bandwidth_ratio) or peak and stack and peak / stack
  put("peak_flops_bandwidth_ratio", peak and stack, function() return peak / stack end)
  put("mfu_max_achievable_estimated_percent", model and traffic and traffic > 0 and ridge, function() return math.min(1, model / traffic / ridge) end)
  put("mfu_inst_max_achievable_estimated_percent", intensity and ridge, function() return math.min(1, intensity / ridge) end)
  for _, engine in ipairs { "tensor", "vector", "scalar", "gpsimd", "sync" } do
    local active <const> = number(s[engine .. "_engine_active_time"])
    put(engine .. "_engine_active_time_percent", timed and active, function() return active / t end)
  end
  put("dma_active_time_percent", timed and number(s.dma_active_time), function() return s.dma_active_time / t end)
  put("dma_transfer_average_bytes", number(s.dma_transfer_total_bytes) and (number(s.dma_transfer_count) or 0) > 0,
    function() return s.dma_transfer_total_bytes / s.dma_transfer_count end)
  return out
end

function formulas.check(s, hardware)
  local out <const> = {}
  for name, value in pairs(formulas.compute(s, hardware)) do
    local stored <const> = number(s[name])
    if stored and math.abs(stored - value) > 1e-3 * math.max(math.abs(stored), math.abs(value)) then
      out[#out + 1] = { metric = name, stored = stored, computed = value, ratio = stored ~= 0 and value / stored or nil }
    end
  end
  table.sort(out, function(a, b) return a.metric < b.metric end)
  return out
end

return formulas
