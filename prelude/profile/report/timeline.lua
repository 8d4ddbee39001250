-- SPDX-License-Identifier: MIT
-- profile.report.timeline: what ran when on every engine, small enough for a page.
--
-- A track is { name, engine, start = {ns...}, finish = {...}, label = {index...}, line = {index, 0 for none...} }, items in
-- the order of their start. Where there are more than LIMIT items in all, neighbours closer than a growing quantum become one
-- item, the label of the longest of them; timeline.shrink says what quantum that was, so that the page can say it too.

local timeline <const> = {}

timeline.LIMIT = 240000 -- items of a page: about 8 bytes each

local function items_of(tracks)
  local n = 0
  for _, track in ipairs(tracks) do n = n + #track.start end
  return n
end

local function merged(track, quantum)
  local out <const> = { name = track.name, engine = track.engine, start = {}, finish = {}, label = {}, line = {} }
  local n, longest = 0, 0
  for i = 1, #track.start do
    local start <const>, finish <const> = track.start[i], track.finish[i]
    if n > 0 and start - out.finish[n] <= quantum and (finish - start <= quantum or longest <= quantum) then
      if finish - start > longest then
        longest = finish - start
        out.label[n], out.line[n] = track.label[i], track.line[i]
      end
      if finish > out.finish[n] then out.finish[n] = finish end
    else
      n, longest = n + 1, finish - start
      out.start[n], out.finish[n], out.label[n], out.line[n] = start, finish, track.label[i], track.line[i]
    end
  end
  return out
end

-- The tracks with at most `limit` items, and the quantum in ns (nil: nothing was merged).
function timeline.shrink(tracks, limit)
  limit = limit or timeline.LIMIT
  if items_of(tracks) <= limit then return tracks, nil end
  local quantum = 8
  while true do
    local small <const> = {}
    for i, track in ipairs(tracks) do small[i] = merged(track, quantum) end
    if items_of(small) <= limit or quantum > 1e15 then return small, quantum end
    tracks, quantum = small, quantum * 2
  end
end

local char <const> = string.char

local function varint(value)
  if value < 128 then return char(value) end
  local out = ""
  while value > 127 do
    out = out .. char((value & 127) | 128)
    value = value >> 7
  end
  return out .. char(value)
end

local digits <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(bytes)
  local out <const> = {}
  local quads <const> = {}
  for i = 0, 4095 do quads[i] = digits:sub((i >> 6) + 1, (i >> 6) + 1) .. digits:sub((i & 63) + 1, (i & 63) + 1) end
  local whole <const> = #bytes - #bytes % 3
  for at = 1, whole, 3 do
    local a <const>, b <const>, c <const> = bytes:byte(at, at + 2)
    out[#out + 1] = quads[a << 4 | b >> 4]
    out[#out + 1] = quads[(b & 15) << 8 | c]
  end
  if #bytes - whole == 1 then
    out[#out + 1] = quads[bytes:byte(-1) << 4] .. "=="
  elseif #bytes - whole == 2 then
    local a <const>, b <const> = bytes:byte(-2, -1)
    local tail <const> = (b & 15) << 2
    out[#out + 1] = quads[a << 4 | b >> 4] .. digits:sub(tail + 1, tail + 1) .. "="
  end
  return table.concat(out)
end

-- A track's items as script.lua reads them, times relative to t0.
function timeline.pack(track, t0)
  local parts <const>, cache <const> = {}, {}
  for i = 0, 16383 do cache[i] = varint(i) end
  local before = t0
  for i = 1, #track.start do
    local start <const> = math.max(track.start[i], before)
    local gap <const>, span <const> = start - before, math.max(0, track.finish[i] - start)
    parts[#parts + 1] = cache[gap] or varint(gap)
    parts[#parts + 1] = cache[span] or varint(span)
    parts[#parts + 1] = cache[track.label[i]] or varint(track.label[i])
    parts[#parts + 1] = cache[track.line[i]] or varint(track.line[i])
    before = start
  end
  return base64(table.concat(parts))
end

-- Share of each of `buckets` equal parts of [t0, t1] in which the tracks of one engine were busy, 0 to 1 (several tracks:
-- their mean).
function timeline.utilisation(tracks, t0, t1, buckets)
  local share <const> = {}
  for b = 1, buckets do share[b] = 0 end
  local width <const> = (t1 - t0) / buckets
  if width <= 0 or #tracks == 0 then return share end
  for _, track in ipairs(tracks) do
    local till = t0
    for i = 1, #track.start do
      local a = math.max(track.start[i], till)
      local z <const> = math.min(track.finish[i], t1)
      if z > a then
        till = z
        local b = math.min(buckets, math.floor((a - t0) / width) + 1)
        while a < z and b <= buckets do
          local stop <const> = math.min(z, t0 + b * width)
          share[b] = share[b] + (stop - a) / width / #tracks
          a, b = stop, b + 1
        end
      end
    end
  end
  return share
end

return timeline
