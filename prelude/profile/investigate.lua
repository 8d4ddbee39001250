-- SPDX-License-Identifier: MIT
-- profile.investigate: one cause at a time, or all of them, most important first.
--
-- run(p, name) -> list of findings; name is dma, reloads, transposes, tensor, pipeline, vector, scalar, gpsimd or all. A finding:
--   { name=, found=bool, unknown=bool, title=, text=, lines = { {location=, file=, line=, text=, amount=, share=, detail=, ns=, bytes=} },
--     change=, gap_ns=, share=, gain_ns=, core=, notes = {...} }
-- `share` of a finding is its gap over the total; of a line its part of the finding. `gain_ns` is how much the whole could win at
-- most: the gap, but never below the longest engine that it leaves as it is; findings are ordered by it. A cause that is not
-- there says "found nothing" in its title; one that cannot be judged is `unknown` and says what is missing.

local bounds <const> = require "profile.bounds"

local investigate <const> = {}

investigate.names = { "dma", "reloads", "transposes", "tensor", "pipeline", "vector", "scalar", "gpsimd" }

local function module_of(name)
  if name == "vector" or name == "scalar" or name == "gpsimd" then return require("profile.investigate.engine")[name] end
  return require("profile.investigate." .. name)
end

function investigate.run(p, what)
  local names <const> = what == "all" and investigate.names or { what }
  local out <const> = {}
  for _, core in ipairs(p.cores) do
    local b <const> = bounds.compute(p, core)
    if b.window.total_ns > 0 and b.bottleneck then
      for _, name in ipairs(names) do out[#out + 1] = module_of(name).run(p, b) end
    else
      out[#out + 1] = { name = what, unknown = true, lines = {}, title = "Nothing to investigate", text = "the profile has no events with a length" }
    end
  end
  local order <const> = {}
  for i, f in ipairs(out) do
    order[f] = i
    f.found = f.found or false
  end
  table.sort(out, function(x, y)
    if x.found ~= y.found then return x.found end
    local a <const>, b <const> = x.gain_ns or 0, y.gain_ns or 0
    if x.found and a ~= b then return a > b end
    if x.found and (x.gap_ns or 0) ~= (y.gap_ns or 0) then return (x.gap_ns or 0) > (y.gap_ns or 0) end
    return order[x] < order[y]
  end)
  return out
end

return investigate
