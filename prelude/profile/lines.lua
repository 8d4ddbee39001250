-- SPDX-License-Identifier: MIT
-- profile.lines: what each source line costs: time of each engine, DMA time, bytes, descriptors, instructions.
--
-- compute(p[, core]) -> list of { location=, file=, line=, text=, Tensor=, Vector=, Scalar=, GpSimd=, Sync=, DMA= (ns, absent
-- where 0), bytes=, descriptors=, transfers=, instructions=, busy= (ns, the largest of its engines) }, most expensive first.
-- A time is the union of the line's intervals on that engine, so overlapping instructions count once. Without Flow the bytes are
-- those that the instructions themselves report and there is no DMA time. Instructions without a line are one row.

local bounds <const> = require "profile.bounds"
local common <const> = require "profile.investigate.common"

local lines <const> = {}

local spelled <const> = { tensor = "Tensor", vector = "Vector", scalar = "Scalar", gpsimd = "GpSimd", sync = "Sync" }

function lines.compute(p, core)
  core = core or p.cores[1]
  local frame <const>, why <const> = p:instructions()
  if not frame then return nil, why end
  p:more { "hbm_read_bytes", "hbm_write_bytes" }
  local w <const> = p.window
  local rows <const>, list <const> = {}, {}
  local function row_of(location)
    local key <const> = location or ""
    if not rows[key] then
      rows[key] = p:place(location)
      rows[key].instructions = 0
      list[#list + 1] = rows[key]
    end
    return rows[key]
  end
  local mine <close> = frame:where(nil, "core", "=", core)
  local inside <const> = bounds.starting(frame, mine, w)
  for _, g in ipairs(frame:group(inside, { "location", "engine" }, {
    { "ns", "union", "start_ts", "end_ts", w.t0, w.t1 }, { "n", "count" }, { "read", "total", "hbm_read_bytes" }, { "written", "total", "hbm_write_bytes" },
  })) do
    local row <const> = row_of(g.location)
    local name <const> = spelled[(g.engine or ""):lower()]
    if name and g.ns > 0 then row[name] = (row[name] or 0) + g.ns end
    row.instructions = row.instructions + g.n
    local bytes <const> = (g.read or 0) + (g.written or 0)
    if bytes > 0 then row.bytes = (row.bytes or 0) + bytes end
  end
  local transfers <const>, moved <const>, unknown <const> = common.transfers(p, core)
  if transfers and not unknown then
    for _, row in ipairs(list) do row.bytes = nil end
    for _, g in ipairs(transfers:group(moved, { "location" }, {
      { "ns", "union", "start_ts", "end_ts", w.t0, w.t1 }, { "n", "count" }, { "bytes", "total", "transfer_bytes" }, { "descriptors", "total", "parts_or_one" },
    })) do
      local row <const> = row_of(g.location)
      row.DMA, row.bytes, row.descriptors, row.transfers = g.ns > 0 and g.ns or nil, g.bytes, math.tointeger(g.descriptors) or g.descriptors, g.n
    end
  end
  for _, row in ipairs(list) do
    row.busy = 0
    for _, name in ipairs { "Tensor", "Vector", "Scalar", "GpSimd", "DMA" } do row.busy = math.max(row.busy, row[name] or 0) end
  end
  table.sort(list, function(a, b)
    if a.busy ~= b.busy then return a.busy > b.busy end
    return a.location < b.location
  end)
  return list
end

return lines
