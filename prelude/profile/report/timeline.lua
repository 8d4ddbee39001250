-- SPDX-License-Identifier: MIT
-- profile.report.timeline: what ran when on every engine, small enough for a page.
--
-- A track is { name, engine, start = {ns...}, finish = {...}, label = {index...}, line = {index, 0 for none...} }, items in
-- the order of their start. The core's engines keep every item up to LIMIT, the DMA engines up to DMA_LIMIT; above, the short
-- items of one small part of the time become one item with the label of the longest of them, and timeline.shrink says how
-- long that part is, so that the page can say it too.

local timeline <const> = {}

timeline.LIMIT, timeline.DMA_LIMIT = 160000, 120000 -- items of a page: 7 to 9 bytes each

local function merged(track, t0, part)
  local out <const> = { name = track.name, engine = track.engine, start = {}, finish = {}, label = {}, line = {} }
  local n, longest, last = 0, 0, nil
  for i = 1, #track.start do
    local start <const>, finish <const> = track.start[i], track.finish[i]
    local length <const> = finish - start
    local where <const> = length < part and (start - t0) // part or nil
    if where and where == last then
      if length > longest then
        longest = length
        out.label[n], out.line[n] = track.label[i], track.line[i]
      end
      if finish > out.finish[n] then out.finish[n] = finish end
    else
      n, longest, last = n + 1, length, where
      out.start[n], out.finish[n], out.label[n], out.line[n] = start, finish, track.label[i], track.line[i]
    end
  end
  return out
end

-- The tracks with about `limit` and `dma_limit` items at most, and the longest part in ns that became one item (nil: none).
function timeline.shrink(tracks, limit, dma_limit)
  local groups <const> = { core = { n = 0, tracks = 0, most = limit or timeline.LIMIT }, dma = { n = 0, tracks = 0, most = dma_limit or timeline.DMA_LIMIT } }
  local first, last = math.huge, -math.huge
  local function group_of(track) return track.engine == "dma" and groups.dma or groups.core end
  for _, track in ipairs(tracks) do
    local group <const> = group_of(track)
    group.n, group.tracks = group.n + #track.start, group.tracks + 1
    first, last = math.min(first, track.start[1] or first), math.max(last, track.finish[#track.finish] or last)
  end
  local out <const>, longest = {}, nil
  for i, track in ipairs(tracks) do
    local group <const> = group_of(track)
    out[i] = track
    if group.n > group.most then
      local part <const> = math.max(1, (last - first) * group.tracks // group.most)
      out[i] = merged(track, first, part)
      longest = math.max(longest or 0, part)
    end
  end
  return out, longest
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
