-- SPDX-License-Identifier: MIT
-- The nearest of a list of names: edit distance with transpositions (Damerau, optimal string alignment), case and
-- underscores counting half, because a model that remembers an API wrongly usually gets those two wrong.
-- Nothing here fails; a name that is not near anything gives nil.

local nearest <const> = {}

local function cost(a, b)
  if a == b then return 0 end
  if a:lower() == b:lower() then return 0.5 end
  return 1
end

-- Distance between two short strings (bytes). Names longer than 64 bytes are compared by their first 64.
function nearest.distance(a, b)
  a, b = a:sub(1, 64), b:sub(1, 64)
  local before, previous = nil, {}
  for j = 0, #b do previous[j] = j end
  for i = 1, #a do
    local ca <const> = a:sub(i, i)
    local current <const> = { [0] = i }
    for j = 1, #b do
      local cb <const> = b:sub(j, j)
      local best = previous[j - 1] + cost(ca, cb)
      local delete <const> = previous[j] + (ca == "_" and 0.5 or 1)
      local insert <const> = current[j - 1] + (cb == "_" and 0.5 or 1)
      if delete < best then best = delete end
      if insert < best then best = insert end
      if before and i > 1 and j > 1 and ca == b:sub(j - 1, j - 1) and cb == a:sub(i - 1, i - 1) then
        local swap <const> = before[j - 2] + 1
        if swap < best then best = swap end
      end
      current[j] = best
    end
    before, previous = previous, current
  end
  return previous[#b]
end

-- The nearest of `names` (a list), or nil when none is within a third of the longer length (at least 1, at most 4).
-- Ties go to the name that shares the longer prefix, then to the alphabetically first. Returns name, distance.
function nearest.find(name, names)
  local best, best_distance, best_prefix = nil, math.huge, -1
  local sorted <const> = table.move(names, 1, #names, 1, {})
  table.sort(sorted)
  for _, candidate in ipairs(sorted) do
    local length <const> = math.max(#name, #candidate)
    local allowed <const> = math.max(1, math.min(4, length / 3))
    local distance = nearest.distance(name, candidate)
    -- A name that is a whole part of the other (tensor_add / tensor, copy / tensor_copy) is a likelier slip.
    if distance > allowed and #name >= 4 and #candidate >= 4 then
      local inside <const> = ("_" .. candidate .. "_"):find("_" .. name .. "_", 1, true)
        or ("_" .. name .. "_"):find("_" .. candidate .. "_", 1, true)
      if inside then distance = allowed end
    end
    if distance <= allowed then
      local prefix = 0
      while prefix < #name and name:byte(prefix + 1) == candidate:byte(prefix + 1) do prefix = prefix + 1 end
      if distance < best_distance or (distance == best_distance and prefix > best_prefix) then
        best, best_distance, best_prefix = candidate, distance, prefix
      end
    end
  end
  return best, best and best_distance or nil
end

return nearest
