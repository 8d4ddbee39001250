-- SPDX-License-Identifier: MIT
-- What holds for the schedule of any program, tried on random ones: dependences found element by element by the test itself,
-- no engine at two things at once, bytes conserved, the total no less than any engine's work, the same schedule twice.
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local kit <const> = require "tests.unit.nki_kit"
local targets <const> = require "nki.targets"

local SEED <const> = tonumber(os.getenv("NKILN_SEED") or "") or 20240601

-- A small generator of our own: the same programs everywhere.
local function generator(seed)
  local state = seed
  return function(low, high)
    state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
    return low + (state >> 33) % (high - low + 1)
  end
end

-- Elements of a slice of a tile or tensor as a set of "tensor:row:column".
local function elements(name, rows, columns)
  local list <const> = {}
  for r = rows[1], rows[2] - 1 do
    for c = columns[1], columns[2] - 1, columns[3] or 1 do list[#list + 1] = name * 1000000 + r * 1000 + c end
  end
  return list
end

-- A program of `count` instructions over a few tiles and HBM tensors; accesses[i] = { reads = {...}, writes = {...} }.
local function program(seed, count)
  local pick <const> = generator(seed)
  local k <const> = kit.machine { execute = false }
  local P <const>, F <const> = 8, 32 -- small, so that slices meet often
  local tiles <const>, accesses <const> = {}, {}
  local names = 0
  local function fresh(buffer, dtype)
    names = names + 1
    local tensor <const> = buffer == "input" and k.m:input("t" .. names, nil, dtype or "float32", { P, F })
      or k.new({ P, F }, dtype or "float32", buffer, "t" .. names)
    return { tensor = tensor, name = names, buffer = buffer }
  end
  local function note(reads, writes) accesses[#accesses + 1] = { reads = reads, writes = writes } end
  local function slice(tile, same)
    local s <const> = same and { same[1], same[2], same[3] } or nil
    local r0 <const> = s and s[1] or 0
    local rows <const> = s and { r0, r0 + s[2] } or { 0, pick(1, P) }
    local step <const> = pick(1, 3)
    local width <const> = s and s[3] or pick(1, F // 3)
    local first <const> = pick(0, F - (width - 1) * step - 1)
    local columns <const> = { first, first + (width - 1) * step + 1, step }
    return k.at(tile.tensor, rows, columns), elements(tile.name, rows, columns), { rows[1], rows[2] - rows[1], width }
  end
  local hbm <const> = { fresh("shared_hbm"), fresh("shared_hbm") }
  local function initialise(tile)
    k.f.memset(tile.tensor, 0, k.enum.engine.vector)
    note({}, elements(tile.name, { 0, P }, { 0, F }))
  end
  for i = 1, 5 do
    tiles[i] = fresh("sbuf")
    initialise(tiles[i])
  end
  for i = 1, 2 do -- HBM holds something before it is read
    k.f.dma_copy(hbm[i].tensor, tiles[i].tensor)
    note(elements(tiles[i].name, { 0, P }, { 0, F }), elements(hbm[i].name, { 0, P }, { 0, F }))
  end
  while #accesses < count do
    local a, b, c <const> = tiles[pick(1, #tiles)], tiles[pick(1, #tiles)], tiles[pick(1, #tiles)]
    local what <const> = pick(1, 8)
    local dst <const>, writes <const>, size <const> = slice(a)
    if what == 1 then
      k.f.memset(dst, 0, pick(0, 1) == 0 and k.enum.engine.vector or k.enum.engine.gpsimd)
      note({}, writes)
    elseif what == 2 then
      local src <const>, reads <const> = slice(b, size)
      k.f.activation(dst, k.op.exp, src)
      note(reads, writes)
    elseif what == 3 then
      local x <const>, rx <const> = slice(b, size)
      local y <const>, ry <const> = slice(c, size)
      k.f.tensor_tensor(dst, x, y, k.op.add, k.enum.engine.vector)
      for _, e in ipairs(ry) do rx[#rx + 1] = e end
      note(rx, writes)
    elseif what == 4 then
      local src <const>, reads <const> = slice(hbm[pick(1, 2)], size)
      k.f.dma_copy(dst, src)
      note(reads, writes)
    elseif what == 5 then
      local h <const>, hw <const>, hsize <const> = slice(hbm[pick(1, 2)])
      local src <const>, reads <const> = slice(b, hsize)
      k.f.dma_copy(h, src)
      note(reads, hw)
    elseif what == 6 then
      local src <const>, reads <const> = slice(b, size)
      k.f.tensor_copy(dst, src, k.enum.engine.scalar)
      note(reads, writes)
    elseif what == 7 then -- a tile of its own, as loops allocate
      local one <const> = fresh("sbuf")
      tiles[pick(1, #tiles)] = one
      initialise(one)
    else
      local y <const>, reads <const> = slice(b, size)
      k.f.tensor_tensor(dst, dst, y, k.op.add, k.enum.engine.vector) -- in place
      for _, e in ipairs(writes) do reads[#reads + 1] = e end
      note(reads, writes)
    end
  end
  return k, accesses
end

local function table_of(timeline)
  local c <const> = timeline:instructions()
  local list <const> = {}
  for i = 0, timeline.rows - 1 do
    list[#list + 1] = {
      start = c.start:at(i), busy = c.busy:at(i), done = c.done:at(i), finish = c.finish:at(i), bytes = c.bytes:at(i),
      engine = c.engine.values[c.engine.codes:at(i) + 1], moved_end = c.moved_end:at(i),
    }
  end
  return list
end

-- Earliest start that order allows, from the test's own view of who touched an element last.
local function check_order(rows, accesses, what)
  local writer <const>, readers <const> = {}, {}
  for i, access in ipairs(accesses) do
    local row <const> = rows[i]
    local function after(j, kind)
      local other <const> = rows[j]
      local same <const> = other.engine == row.engine and other.bytes == 0 and row.bytes == 0
      local bound <const> = (kind == "flow" or other.bytes > 0 or (kind == "output" and not same)) and other.done or other.busy
      if row.start < bound - 1e-6 then
        t.ok(false, ("%s: %d (%s) starts at %.3f, %s of %d (%s) until %.3f"):format(what, i, row.engine, row.start, kind, j, other.engine, bound))
      end
    end
    for _, e in ipairs(access.reads) do
      if writer[e] then after(writer[e], "flow") end
    end
    for _, e in ipairs(access.writes) do
      if writer[e] then after(writer[e], "output") end
      for j in pairs(readers[e] or {}) do after(j, "anti") end
    end
    for _, e in ipairs(access.reads) do
      readers[e] = readers[e] or {}
      readers[e][i] = true
    end
    for _, e in ipairs(access.writes) do writer[e], readers[e] = i, nil end
  end
end

local function check_engines(rows, what)
  local by <const> = {}
  for _, row in ipairs(rows) do
    by[row.engine] = by[row.engine] or {}
    table.insert(by[row.engine], row)
  end
  for engine, list in pairs(by) do
    table.sort(list, function(a, b) return a.start < b.start end)
    for i = 2, #list do
      t.ok(list[i].start >= list[i - 1].busy - 1e-6, ("%s: %s does two things at %.3f"):format(what, engine, list[i].start))
      t.ok(list[i].start >= list[i - 1].finish - 1e-6, ("%s: rows of %s overlap"):format(what, engine))
    end
  end
end

local function check_packets(timeline, rows, what)
  local p <const> = timeline:packets()
  local sums <const>, engines <const> = {}, {}
  for i = 0, p.start.size - 1 do
    local row <const> = p.row:at(i)
    sums[row] = (sums[row] or 0) + p.bytes:at(i)
    local e <const> = p.engine:at(i)
    engines[e] = engines[e] or {}
    table.insert(engines[e], { p.start:at(i), p.finish:at(i) })
  end
  for i, row in ipairs(rows) do
    t.eq(sums[i - 1] or 0, row.bytes, what .. ": bytes of a transfer")
    if row.bytes > 0 then t.ok(row.done >= row.moved_end and row.moved_end > row.start) end
  end
  for _, list in pairs(engines) do
    table.sort(list, function(a, b) return a[1] < b[1] end)
    for i = 2, #list do t.ok(list[i][1] >= list[i - 1][2] - 1e-6, what .. ": a DMA engine does two things") end
  end
end

for round = 1, 12 do
  local target <const> = ({ "trn2", "trn1", "trn3" })[round % 3 + 1]
  local window <const> = ({ 1, 4, 48 })[round % 3 + 1]
  t.test(("random program %d on %s, window %d"):format(round, target, window), function()
    local what <const> = ("seed %d"):format(SEED + round)
    local k <const>, accesses <const> = program(SEED + round, 220)
    local figures <const> = {}
    for key, value in pairs(targets.get(target).schedule) do figures[key] = value end
    figures.window = window
    local timeline <const> = assert(k.m:schedule(figures))
    t.eq(timeline.count, #accesses, what)
    local rows <const> = table_of(timeline)
    check_order(rows, accesses, what)
    check_engines(rows, what)
    check_packets(timeline, rows, what)
    for _, one in ipairs(timeline:active()) do t.ok(one.ns <= timeline.total_ns, what .. ": an engine is busy longer than the whole") end
    local again <const> = assert(k.m:schedule(figures))
    for _, name in ipairs { "start", "busy", "done", "predecessor" } do
      t.eq(again:instructions()[name]:hash(), timeline:instructions()[name]:hash(), what .. ": the same schedule twice")
    end
    t.eq(array.reduce("sum", again:packets().finish):item(), array.reduce("sum", timeline:packets().finish):item())
    t.eq(timeline.overcommits, 0)
  end)
end
