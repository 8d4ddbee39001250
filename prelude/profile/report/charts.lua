-- SPDX-License-Identifier: MIT
-- profile.report.charts: bars, the roofline, memory over time and the strip of utilisation, as HTML and SVG that need no
-- script. Each function returns a text; numbers stand beside every picture, so that nothing is told by colour alone.

local html <const> = require "profile.report.html"

local charts <const> = {}

local esc <const> = html.escape

-- rows: { name, ns, class =, note = } or { title = } for a heading; `whole` ns is a full bar.
function charts.bars(rows, whole)
  local out <const> = { '<div class="bars">' }
  for _, row in ipairs(rows) do
    if row.title then
      out[#out + 1] = ("<h3>%s</h3>"):format(esc(row.title))
    else
      local share <const> = whole > 0 and math.min(1, math.max(0, row.ns / whole)) or 0
      out[#out + 1] = ('<div class="name">%s%s</div><div class="bar %s" title="%s"><i style="width:%.2f%%"></i></div><div class="num">%s · %s</div>'):format(
        esc(row.name), row.note and (" <small>%s</small>"):format(esc(row.note)) or "", row.class or "", esc(row.name), share * 100,
        html.duration(row.ns), html.percent(whole > 0 and row.ns / whole or 0))
    end
  end
  out[#out + 1] = "</div>"
  return table.concat(out, "\n")
end

local W <const>, H <const>, L <const>, B <const> = 520, 300, 64, 40

local superscripts <const> = { ["-"] = "⁻", ["0"] = "⁰", ["1"] = "¹", ["2"] = "²", ["3"] = "³", ["4"] = "⁴", ["5"] = "⁵", ["6"] = "⁶", ["7"] = "⁷", ["8"] = "⁸",
  ["9"] = "⁹" }
local function power(exponent)
  local plain <const> = { [-2] = "0.01", [-1] = "0.1", [0] = "1", [1] = "10", [2] = "100", [3] = "1000" }
  return plain[exponent] or "10" .. ("%.0f"):format(exponent):gsub(".", superscripts)
end

-- roof: { peak = flop/s, bandwidth = byte/s (theoretical), practical = byte/s or nil, intensity = flop/byte, flops = flop/s }.
-- Both axes are logarithmic. The sloping line is what the DMA engines can feed, the flat one what the Tensor engine can do.
function charts.roofline(roof)
  local low <const> = math.floor(math.log(math.min(roof.intensity, roof.peak / roof.bandwidth), 10) - 1)
  local high <const> = math.ceil(math.log(math.max(roof.intensity, roof.peak / roof.bandwidth), 10) + 0.7)
  local top <const> = math.log(roof.peak, 10) + 0.35
  local floor <const> = math.min(math.log(roof.flops, 10) - 0.4, math.log(roof.bandwidth, 10) + low)
  local function x(v) return L + (math.log(v, 10) - low) / (high - low) * (W - L - 14) end
  local function y(v) return 10 + (top - math.log(v, 10)) / (top - floor) * (H - B - 10) end
  local out <const> = { ('<svg viewBox="0 0 %d %d" role="img" aria-label="roofline: %s flop per byte, %s Tflop/s of %s">'):format(W, H,
    html.digits(roof.intensity), html.digits(roof.flops / 1e12), html.digits(roof.peak / 1e12)) }
  local function add(...) out[#out + 1] = (...):format(select(2, ...)) end
  for e = low, high do
    add('<line class="grid" x1="%.1f" y1="10" x2="%.1f" y2="%d"/>', x(10.0 ^ e), x(10.0 ^ e), H - B)
    add('<text x="%.1f" y="%d" text-anchor="middle">%s</text>', x(10.0 ^ e), H - B + 16, power(e))
  end
  for e = math.ceil(floor), math.floor(top) do
    add('<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>', L, y(10.0 ^ e), W - 14, y(10.0 ^ e))
    add('<text x="%d" y="%.1f" text-anchor="end">%s</text>', L - 6, y(10.0 ^ e) + 4, power(e - 12))
  end
  add('<text x="%d" y="%d" text-anchor="middle">matmul flop per byte of HBM traffic</text>', (W + L) // 2, H - 6)
  add('<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">Tflop/s</text>', (H - B) // 2)
  local function roofed(bandwidth, class)
    local ridge <const> = roof.peak / bandwidth
    local from <const> = math.max(10.0 ^ low, 10 ^ floor / bandwidth)
    add('<path class="roof %s" d="M%.1f %.1fL%.1f %.1fL%d %.1f"/>', class, x(from), y(from * bandwidth), x(ridge), y(roof.peak), W - 14, y(roof.peak))
  end
  roofed(roof.bandwidth, "")
  if roof.practical then roofed(roof.practical, "practical") end
  add('<text x="%d" y="%.1f" text-anchor="end">peak %s Tflop/s</text>', W - 16, y(roof.peak) - 6, html.digits(roof.peak / 1e12))
  add('<line class="drop" x1="%.1f" y1="%.1f" x2="%.1f" y2="%d"/>', x(roof.intensity), y(roof.flops), x(roof.intensity), H - B)
  add('<circle class="point" cx="%.1f" cy="%.1f" r="6"/>', x(roof.intensity), y(roof.flops))
  local right <const> = x(roof.intensity) > W * 0.6
  add('<text class="strong" x="%.1f" y="%.1f" text-anchor="%s">this kernel: %s Tflop/s</text>', x(roof.intensity) + (right and -10 or 10),
    y(roof.flops) + 18, right and "end" or "start", html.digits(roof.flops / 1e12))
  out[#out + 1] = "</svg>"
  return table.concat(out)
end

-- samples: two lists, position (any growing unit) and share 0..1; a stepped area.
function charts.area(samples, class, label)
  local width <const>, height <const> = 520, 90
  local n <const> = #samples.at
  local first <const>, last <const> = samples.at[1] or 0, samples.at[n] or 0
  local span <const> = math.max(1e-9, last - first)
  local most = 0
  for _, share in ipairs(samples.share) do most = math.max(most, share) end
  local path <const> = { ("M0 %d"):format(height) }
  local drawn, peak
  local function flush()
    if drawn then path[#path + 1] = ("H%.1fV%.1f"):format(drawn, height - math.min(1, peak) * (height - 4)) end
  end
  for i = 1, n do -- at most one step per pixel, the highest of it
    local x <const> = (samples.at[i] - first) / span * width
    if drawn and x - drawn < 0.5 then
      peak = math.max(peak, samples.share[i])
    else
      flush()
      drawn, peak = x, samples.share[i]
    end
  end
  flush()
  path[#path + 1] = ("H%dV%dZ"):format(width, height)
  return ('<svg viewBox="0 0 %d %d" preserveAspectRatio="none" style="height:90px" role="img" aria-label="%s: at most %s">'
    .. '<rect width="%d" height="%d" fill="var(--track)"/>'
    .. '<path class="area %s" d="%s"/></svg>'):format(width, height, esc(label), html.percent(most), width, height, class, table.concat(path)), most
end

-- The timeline for a reader without scripts: one row per engine, height = share of the bucket in which it was busy.
-- rows: { title, class, share = list }.
function charts.strip(rows)
  local width <const>, high <const>, left <const> = 1000, 26, 70
  local out <const> = { ('<svg id="strip" class="strip" viewBox="0 0 %d %d" role="img" aria-label="utilisation of each engine over time">'):format(width,
    #rows * (high + 6)) }
  for i, row in ipairs(rows) do
    local y <const> = (i - 1) * (high + 6)
    local n <const> = #row.share
    local step <const> = (width - left) / n
    out[#out + 1] = ('<g class="%s"><text x="0" y="%d">%s</text><rect x="%d" y="%d" width="%d" height="%d" style="fill:var(--track)"/>'):format(row.class,
      y + high // 2 + 4, esc(row.title), left, y, width - left, high)
    local b = 1
    while b <= n do -- equal neighbours are one rectangle
      local share <const> = math.floor(row.share[b] * 20 + 0.5) / 20
      local stop = b
      while stop < n and math.floor(row.share[stop + 1] * 20 + 0.5) / 20 == share do stop = stop + 1 end
      if share > 0 then
        out[#out + 1] = ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>'):format(left + (b - 1) * step, y + high * (1 - share),
          (stop - b + 1) * step + 0.2, high * share)
      end
      b = stop + 1
    end
    out[#out + 1] = "</g>"
  end
  out[#out + 1] = "</svg>"
  return table.concat(out)
end

return charts
