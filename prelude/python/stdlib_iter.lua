-- SPDX-License-Identifier: MIT
-- itertools.

local R <const> = require "python.support"

local ops <const>, None <const> = R.ops, R.None
local list <const>, tuple <const>, integer <const> = R.list, R.tuple, R.integer
local S <const>, module <const> = R.stdlib, R.stdlib_module

local function sources_of(...)
  local out <const> = {}
  for i = 1, select("#", ...) do out[i] = R.iterate((select(i, ...))) end
  return out
end

local function product(repeats, ...)
  local pools <const> = {}
  for _ = 1, integer(repeats) do
    for i = 1, select("#", ...) do pools[#pools + 1] = R.collect((select(i, ...))) end
  end
  local n <const> = #pools
  local place <const> = {}
  for i = 1, n do
    place[i] = 1
    if #pools[i] == 0 then return R.iterator(function() end) end
  end
  local done = false
  return R.iterator(function()
    if done then return nil end
    local row <const> = {}
    for i = 1, n do row[i] = pools[i][place[i]] end
    local i = n
    while i > 0 do
      place[i] = place[i] + 1
      if place[i] <= #pools[i] then break end
      place[i] = 1
      i = i - 1
    end
    done = i == 0
    return tuple(row)
  end)
end

-- All choices of r places out of n: next place lists by `advance(places, n, r)`, which returns false at the end.
local function choices(items, r, start, advance)
  local pool <const> = R.collect(items)
  local places = start(#pool, r)
  return R.iterator(function()
    if not places then return nil end
    local row <const> = {}
    for i = 1, r do row[i] = pool[places[i]] end
    if not advance(places, #pool, r) then places = nil end
    return tuple(row)
  end)
end

local function ascending(n, r)
  if r > n then return nil end
  local places <const> = {}
  for i = 1, r do places[i] = i end
  return places
end

local function next_combination(places, n, r)
  for i = r, 1, -1 do
    if places[i] < n - r + i then
      places[i] = places[i] + 1
      for j = i + 1, r do places[j] = places[j - 1] + 1 end
      return true
    end
  end
  return false
end

local function next_permutation(places, n, r)
  local used <const> = {}
  for i = 1, r do used[places[i]] = true end
  for i = r, 1, -1 do
    used[places[i]] = nil
    for candidate = places[i] + 1, n do
      if not used[candidate] then
        places[i] = candidate
        used[candidate] = true
        for j = i + 1, r do
          local free = 1
          while used[free] do free = free + 1 end
          places[j] = free
          used[free] = true
        end
        return true
      end
    end
  end
  return false
end

local function chain(iterables)
  local next_iterable <const> = R.iterate(iterables)
  local current
  return R.iterator(function()
    while true do
      if not current then
        local iterable <const> = next_iterable()
        if iterable == nil then return nil end
        current = R.iterate(iterable)
      end
      local item <const> = current()
      if item ~= nil then return item end
      current = nil
    end
  end)
end

function S.itertools()
  local chain_function <const> = R.define("chain", "*iterables", function(...) return chain(list { ... }) end)
  R.function_attrs[chain_function] = { from_iterable = R.define("chain.from_iterable", "iterables", chain) }
  return module("itertools", {
    product = { "* repeat= *iterables", product, { ["repeat"] = 1 } },
    combinations = { "iterable r", function(items, r) return choices(items, r, ascending, next_combination) end },
    permutations = { "iterable r=", function(items, r)
      local pool <const> = R.collect(items)
      return choices(list(pool), r == None and #pool or r, ascending, next_permutation)
    end },
    count = { "start= step=", function(start, step)
      local value = start
      return R.iterator(function()
        local out <const> = value
        value = ops.arith("Add", value, step)
        return out
      end)
    end, { start = 0, step = 1 } },
    ["repeat"] = { "object times=", function(object, times)
      local left = times == None and -1 or math.max(0, integer(times))
      return R.iterator(function()
        if left == 0 then return nil end
        left = left - 1
        return object
      end)
    end },
    cycle = { "iterable", function(items)
      local all <const> = R.collect(items)
      local i = 0
      return R.iterator(function()
        if #all == 0 then return nil end
        i = i % #all + 1
        return all[i]
      end)
    end },
    islice = { "iterable start *rest", function(items, start, stop, step)
      if stop == nil then start, stop = 0, start end
      if start == None then start = 0 end
      if step == nil or step == None then step = 1 end
      local next_item <const> = R.iterate(items)
      local at, wanted = 0, start
      return R.iterator(function()
        while stop == None or wanted < stop do
          local item <const> = next_item()
          if item == nil then return nil end
          at = at + 1
          if at - 1 == wanted then
            wanted = wanted + step
            return item
          end
        end
      end)
    end },
    accumulate = { "iterable fn= * initial=", function(items, fn, initial)
      local next_item <const> = R.iterate(items)
      local total, started = initial, initial == None
      return R.iterator(function()
        if not started then
          started = true
          return total
        end
        local item <const> = next_item()
        if item == nil then return nil end
        if total == None then
          total = item
        elseif fn == None then
          total = ops.Add(ops.site(), total, item)
        else
          total = R.call(fn, total, item)
        end
        return total
      end)
    end },
    zip_longest = { "* fillvalue= *iterables", function(fill, ...)
      local sources <const> = sources_of(...)
      return R.iterator(function()
        local row <const> = {}
        local any = false
        for i = 1, #sources do
          local item <const> = sources[i] and sources[i]()
          if item == nil or sources[i] == false then
            sources[i] = function() end
            row[i] = fill
          else
            row[i], any = item, true
          end
        end
        return any and tuple(row) or nil
      end)
    end },
    starmap = { "fn iterable", function(fn, items)
      local next_item <const> = R.iterate(items)
      return R.iterator(function()
        local item <const> = next_item()
        if item ~= nil then return R.call_spread(fn, R.collect(item), nil) end
      end)
    end },
    takewhile = { "fn iterable", function(fn, items)
      local next_item <const> = R.iterate(items)
      local done = false
      return R.iterator(function()
        if done then return nil end
        local item <const> = next_item()
        if item ~= nil and R.truth(R.call(fn, item)) then return item end
        done = true
      end)
    end },
    dropwhile = { "fn iterable", function(fn, items)
      local next_item <const> = R.iterate(items)
      local dropping = true
      return R.iterator(function()
        for item in next_item do
          if not dropping or not R.truth(R.call(fn, item)) then
            dropping = false
            return item
          end
        end
      end)
    end },
    groupby = { "iterable key=", function(items, key)
      local groups <const> = {}
      local last, held
      for item in R.iterate(items) do
        local k
        if key == None then k = item else k = R.call(key, item) end
        if held and R.equal(k, last) then
          held[#held + 1] = item
        else
          held, last = { item }, k
          groups[#groups + 1] = tuple { k, list(held) }
        end
      end
      local i = 0
      return R.iterator(function()
        i = i + 1
        return groups[i]
      end)
    end },
    pairwise = { "iterable", function(items)
      local next_item <const> = R.iterate(items)
      local last = next_item()
      return R.iterator(function()
        local item <const> = next_item()
        if item == nil then return nil end
        local pair <const> = tuple { last, item }
        last = item
        return pair
      end)
    end },
    tee = { "iterable n=", function(items, n)
      local all <const> = R.collect(items)
      local out <const> = {}
      for i = 1, n do out[i] = R.iterator(R.iterate(list(all))) end
      return tuple(out)
    end, { n = 2 } },
  }, { chain = chain_function })
end

return S
