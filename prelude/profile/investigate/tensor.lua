-- SPDX-License-Identifier: MIT
-- investigate.tensor: matmuls below the array's peak rate, by source line, with what the tiles leave unused.
--
-- A line's loss is the union of its Tensor instructions' intervals (weight loads included) less its FLOPs at the peak rate.
-- Tiles are read from the operands: K rows and M columns of the array, N columns that move; a full tile is 128 x 128 x 512. fp32
-- runs at a quarter of the bf16 rate: adjusted_flops counts it four times, so its loss is counted here apart. Less than 5 % of
-- the engine's active time is no finding.

local bounds <const> = require "profile.bounds"
local common <const> = require "profile.investigate.common"

local tensor <const> = { name = "tensor", needs = { "Instruction", "Metadata" } }

local function throttled(p)
  if not p.tables.Throttle then return nil end
  local row <const> = p.db:row("SELECT sum(duration) AS ns, count(*) AS n FROM Throttle")
  return row and row.n and row.n > 0 and row.ns or nil
end

-- Why a line's tiles are slow, and the change that helps, worst first.
local function judge(g, peaks)
  local rows <const>, columns <const> = peaks.rows, peaks.columns
  local k <const>, m <const>, n <const> = g.k or rows, g.m or columns, g.n or 512
  local reasons <const> = {}
  local function add(loss, words, change) reasons[#reasons + 1] = { loss = loss, words = words, change = change } end
  if g.raw and g.raw > 0 and g.flops / g.raw > 3 then
    add(0.75, "fp32 operands: a quarter of the bf16 rate", "cast both operands to bfloat16 before the matmul (PSUM accumulates in fp32)")
  end
  if k < rows then
    add(1 - k / rows, ("K = %d of %d rows"):format(k, rows),
      ("contract over %d rows at a time: put %d steps of the contraction side by side on the partitions"):format(rows, math.floor(rows / k)))
  end
  if m < columns then
    add(1 - m / columns, ("M = %d of %d columns"):format(m, columns), m < 32 and n >= 128
      and "swap the operands: let the long one be stationary and the short one move" or ("fill the stationary tile: %d columns at a time"):format(columns))
  end
  if n < 256 then
    add(1 - n / (n + 64), ("N = %d of 512 columns move"):format(n),
      "let 512 columns move for each stationary tile: the fixed cost of a matmul and of its weight load stays the same")
  end
  table.sort(reasons, function(x, y) return x.loss > y.loss end)
  return reasons
end

function tensor.run(p, b)
  local q <const> = b.quantities
  local out <const> = { name = "tensor", core = #p.cores > 1 and b.core or nil, lines = {}, notes = {} }
  local frame <const>, rows <const> = bounds.matmuls(p, b.core)
  if not frame or not q.peak_flops or not q.tensor_active_ns then
    out.title, out.unknown = "Tensor engine: not known", true
    out.text = not frame and rows or not q.peak_flops and "Metadata has no Tensor engine rows, columns and clock" or "its active time is not known"
    return out
  end
  if rows:count() == 0 then
    out.title, out.text = "Tensor engine: found nothing", "the kernel has no matmuls"
    return out
  end
  local w <const> = p.window
  local ideal <const>, active <const> = q.flops / q.peak_flops * 1e9, q.tensor_active_ns
  local regular <close> = frame:pick(rows, "tensor_instruction_type", function(kind) return kind ~= "TRANSPOSE" end, true)
  local matmuls <const> = frame:group(regular, { "location" }, {
    { "n_matmuls", "count" }, { "flops", "total", "adjusted_flops" }, { "raw", "sum", "raw_flops" }, { "k", "quantile", "k", 0.5 }, { "m",
      "quantile", "m", 0.5 },
    { "n", "quantile", "n", 0.5 }, { "busy", "union", "start_ts", "end_ts", w.t0, w.t1 },
  })
  local in_fp32 = 0
  for _, g in ipairs(matmuls) do
    g.flops = g.flops or 0 -- a profile may leave the column empty
    if g.raw and g.raw > 0 and g.flops / g.raw > 3 then in_fp32 = in_fp32 + (g.flops - g.raw) / q.peak_flops * 1e9 end
  end
  local loss <const> = math.max(0, active - ideal) + in_fp32
  local reached <const> = active > 0 and q.flops / active * 1e9 or 0
  local throttle <const> = throttled(p)
  if throttle then out.notes[1] = ("the clock was throttled for %s us"):format(common.us(throttle)) end
  out.achieved_flops, out.peak_flops = reached, q.peak_flops
  local summary <const> = ("%d matmuls at %.1f of %.1f TFLOP/s while the engine is active (%s)"):format(rows:count(), reached / 1e12, q.peak_flops / 1e12,
    common.percent(reached / q.peak_flops))
  if loss < 0.05 * active then
    out.title, out.text = "Tensor engine: found nothing", summary .. ": near its peak"
    return out
  end
  -- Weight loads belong to their matmul's line.
  local loads <const> = {}
  do
    local mine <close> = frame:where(nil, "core", "=", b.core)
    local on_tensor <close> = frame:pick(mine, "engine", function(name) return name:lower() == "tensor" end)
    local weights <close> = frame:pick(on_tensor, "opcode", function(code) return code:upper():find("LDWEIGHTS", 1, true) ~= nil end)
    local inside <const> = bounds.starting(frame, weights, w)
    for _, g in ipairs(frame:group(inside, { "location" }, { { "ns", "union", "start_ts", "end_ts", w.t0, w.t1 } })) do loads[g.location or ""] = g.ns end
  end
  local list <const>, undersized = {}, 0
  for _, g in ipairs(matmuls) do
    g.fp32 = g.raw and g.raw > 0 and g.flops / g.raw > 3 and (g.flops - g.raw) / q.peak_flops * 1e9 or 0
    g.loads = loads[g.location or ""] or 0
    g.loss = math.max(0, g.busy - g.flops / q.peak_flops * 1e9) + g.fp32
    g.reasons = judge(g, b.peaks)
    if #g.reasons > 0 then undersized = undersized + g.loss end
    if g.loss > 0.01 * active then list[#list + 1] = g end
  end
  out.gap_ns, out.share = loss, loss / b.window.total_ns
  out.gain_ns = common.gain(b, { Tensor = true }, undersized)
  out.found = undersized >= 0.03 * active
  out.title = out.found and "Tensor engine: matmuls below the peak rate" or "Tensor engine: below its peak, but the tiles are full"
  out.text = summary .. (out.found and "" or "; full tiles that take longer wait for operands or are throttled: see pipeline")
  for _, g in ipairs(common.top(list, "loss")) do
    local size <const> = g.k and g.m and g.n and ("K=%d/%d M=%d/%d N=%d/512"):format(g.k, b.peaks.rows, g.m, b.peaks.columns, g.n) or "tile sizes are not known"
    local words <const> = {}
    for i, r in ipairs(g.reasons) do words[i] = r.words end
    out.lines[#out.lines + 1] = common.line(p, g.location, {
      amount = common.us(g.loss) .. " us", share = loss > 0 and g.loss / loss or nil, ns = g.loss, k = g.k, m = g.m, n = g.n,
      detail = ("%d matmuls, %s of the FLOPs, %s%s%s"):format(g.n_matmuls, common.percent(g.flops / math.max(1, q.flops)), size,
        #words > 0 and ": " .. table.concat(words, "; ") or "", g.loads > 0.3 * g.busy and ("; weight loads take %s us"):format(common.us(g.loads)) or ""),
    })
    if not out.change and #g.reasons > 0 then out.change = ("%s: %s"):format(common.short(g.location), g.reasons[1].change) end
  end
  if not out.found then out.lines = {} end
  return out
end

return tensor
