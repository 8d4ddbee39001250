-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local bounds <const> = require "profile.bounds"
local explain <const> = require "profile.explain"
local generate <const> = require "tests.profile.generate"
local open <const> = require "profile.open"

local function near(got, want, what)
  t.ok(type(got) == "number" and math.abs(got - want) <= 1e-9 * math.abs(want), ("%s: got %s, want %s"):format(what, tostring(got), tostring(want)))
end

local function named(list, name)
  for _, row in ipairs(list) do
    if row.name == name then return row end
  end
end

local function profile(content, options)
  local path <const> = t.tmpdir() .. "/p.db"
  generate.write(path, content or generate.small())
  return assert(open.open(path, options))
end

-- Every query that is printed gives the figure that was computed.
local function same_as_sql(p, result)
  local by_name <const> = {}
  for _, b in ipairs(result.bounds) do by_name[b.name] = b.ns end
  for _, e in ipairs(result.engines) do by_name[e.name .. " active"] = e.ns end
  local n = 0
  for _, q in ipairs(explain.bounds(p, result.core)) do
    local value <const>, err <const> = p.db:value(q.sql)
    t.ok(value, q.name .. ": " .. tostring(err and err.message) .. "\n" .. q.sql)
    near(by_name[q.name], value, q.name .. " against its SQL")
    n = n + 1
  end
  return n
end

t.test("the bounds of a small profile, worked out by hand", function()
  local p <close> = profile()
  local b <const> = bounds.compute(p)
  t.eq(p.window.total_ns, 20000)
  t.eq(p.window.from, "Summary.total_time")
  -- Packets: [500,600) [2000,5000) [7000,11100) [15000,18000), the second of two equal rows left out.
  near(named(b.bounds, "memory_bound").ns, 100 + 3000 + 4100 + 3000, "memory_bound")
  -- Bytes: 131072 + 131072 + 262144 + 131072; not the semaphore's 4, not the instruction fetch.
  t.eq(b.quantities.bytes, 655360)
  near(named(b.bounds, "memory_bound_ideal").ns, 655360 / 435, "ideal")
  near(named(b.bounds, "memory_bound_practical").ns, 655360 / 368, "practical")
  near(named(b.bounds, "memory_bound_ideal_no_reloads").ns, (262144 + 131072) / 435, "no reloads")
  near(named(b.bounds, "compute_bound").ns, 1200, "compute_bound")
  local peak <const> = 128 * 128 * 2 * 2.4
  near(named(b.bounds, "compute_bound_ideal_flops").ns, (2 * 16777216 + 8388608) / peak, "flops")
  near(named(b.bounds, "compute_bound_ideal_useful_flops").ns, 2 * 16777216 / peak, "useful flops")
  near(named(b.bounds, "perfect_pipeline").ns, 10200, "pipeline")
  t.eq(b.bottleneck.name, "DMA")
  near(named(b.engines, "Vector").ns, 1000, "Vector")
  t.eq(named(b.engines, "Scalar").ns, 0)
  -- Speedups: a memory bound leaves the Tensor engine's 1200 ns, a compute bound DMA's 10200 ns.
  near(named(b.bounds, "memory_bound_ideal").speedup, 20000 / (655360 / 435), "speedup of a memory bound")
  near(named(b.bounds, "memory_bound_ideal_no_reloads").speedup, 20000 / 1200, "not below the other engines")
  near(named(b.bounds, "compute_bound_ideal_flops").speedup, 20000 / 10200, "speedup of a compute bound")
  near(named(b.gaps, "DMA idle").ns, 9800, "DMA idle")
  near(named(b.gaps, "TE idle").ns, 18800, "TE idle")
  near(named(b.gaps, "serialisation").share, 0.49, "serialisation")
  t.has(table.concat(b.notes, "\n"), "1 duplicate DMA packet rows")
  t.eq(same_as_sql(p, b), 10)
end)

t.test("a window cuts intervals and takes what starts in it", function()
  local p <close> = profile(nil, { window = "5500:11500" }) -- from the first event, which is at 500: [6000, 12000)
  local b <const> = bounds.compute(p)
  t.eq({ p.window.t0, p.window.t1, p.window.total_ns }, { 6000, 12000, 6000 })
  near(named(b.bounds, "memory_bound").ns, 4100, "memory_bound")
  t.eq(b.quantities.bytes, 262144)
  near(named(b.bounds, "compute_bound").ns, 800, "the second matmul starts at the window's end")
  near(b.quantities.flops, 16777216 + 8388608, "flops")
  t.eq(same_as_sql(p, b), 10)
  local cut <close> = profile(nil, { window = "2us:4us" }) -- [2500, 4500)
  near(named(bounds.compute(cut).bounds, "memory_bound").ns, 2000, "both ends cut")
  t.eq(bounds.compute(cut).quantities.bytes, 131072)
end)

t.test("windows: what is understood and what is not", function()
  t.eq({ open.parse_window("0:5000us") }, { 0, 5000000 })
  t.eq({ open.parse_window("1:2ms") }, { 1000000, 2000000 })
  t.eq({ open.parse_window(":1.5us") }, { nil, 1500 })
  t.eq({ open.parse_window("100:") }, { 100 })
  for _, wrong in ipairs { "", ":", "5", "2:1", "a:b", "1:1", "1:2x", "1e99:2e99", "-1:5" } do
    t.eq({ open.parse_window(wrong) }, {}, wrong)
  end
  local path <const> = t.tmpdir() .. "/p.db"
  generate.write(path, generate.small())
  local p <const>, err <const> = open.open(path, { window = "1s:2s" })
  t.eq(p, nil)
  t.has(err.message, "lies outside the profile")
end)

t.test("two cores are told apart", function()
  local content <const> = generate.small()
  for _, name in ipairs { "Instruction", "ActiveTime", "DmaPacket", "DmaPacketAggregated" } do
    local rows <const> = content[name]
    for i = 1, #rows do
      local copy <const> = {}
      for k, v in pairs(rows[i]) do copy[k] = v end
      copy.pcore_idx = 1
      if name == "ActiveTime" then copy.end_ts = copy.start_ts + (copy.end_ts - copy.start_ts) // 2 end
      rows[#rows + 1] = copy
    end
  end
  local p <close> = profile(content)
  t.eq(p.cores, { 0, 1 })
  local all <const> = bounds.all(p)
  t.eq(all[1].core, 0)
  near(named(all[1].bounds, "compute_bound").ns, 1200, "core 0")
  near(named(all[2].bounds, "compute_bound").ns, 600, "core 1")
  t.eq(all[1].quantities.bytes, 655360)
  near(all[1].quantities.necessary_bytes, (262144 + 131072) / 2, "an equal part each")
  same_as_sql(p, all[1])
  same_as_sql(p, all[2])
end)

t.test("what a profile lacks is named, and the rest is still answered", function()
  local content <const> = generate.small()
  content.DmaPacket, content.Metadata, content.ActiveTime = nil, nil, nil
  local p <close> = profile(content)
  local b <const> = bounds.compute(p)
  near(named(b.bounds, "memory_bound").ns, 3000 + 4000 + 3000, "from the transfers")
  t.has(named(b.bounds, "memory_bound").from, "no DmaPacket rows")
  t.eq(named(b.bounds, "memory_bound_ideal").ns, nil)
  t.has(named(b.bounds, "memory_bound_ideal").from, "Metadata has no dma_ddr_bandwidth")
  near(named(b.bounds, "compute_bound").ns, 1200, "from the instructions")
  t.has(named(b.bounds, "compute_bound").from, "no ActiveTime")
  same_as_sql(p, b)
  local only <close> = profile { Summary = { { total_time = 1e-3, tensor_engine_active_time = 4e-4, dma_active_time = 7e-4 } } }
  local s <const> = bounds.compute(only)
  near(named(s.bounds, "compute_bound").ns, 4e5, "from Summary")
  t.eq(s.bottleneck.name, "DMA")
  t.has(named(s.bounds, "compute_bound_ideal_flops").from, "Metadata")
end)

t.test("timestamps of a hostile profile neither crash nor wrap", function()
  local content <const> = generate.small()
  local rows <const> = content.DmaPacket
  rows[1].start_ts, rows[1].end_ts = math.mininteger, math.maxinteger
  local path <const> = t.tmpdir() .. "/q.db"
  generate.write(path, content)
  local none <const>, err <const> = open.open(path) -- its span does not fit 64 bits
  t.eq(none, nil)
  t.has(err.message, "DmaPacket.")
  rows[1].start_ts, rows[1].end_ts = -(1 << 61), 1 << 61
  rows[3].transfer_bytes, rows[4].transfer_bytes = math.maxinteger, math.maxinteger
  local p <close> = profile(content)
  local b <const> = bounds.compute(p)
  t.ok(p.window.t1 - p.window.t0 > 0)
  t.ok(named(b.bounds, "memory_bound").ns > 0)
  t.ok(named(b.bounds, "memory_bound_ideal").ns > 0, "a sum beyond 64 bits")
end)
