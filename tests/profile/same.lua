-- SPDX-License-Identifier: MIT
-- The analysis against the SQL that is printed for it: two computations that share nothing but the database.
local t <const> = require "tests.lib"
local bounds <const> = require "profile.bounds"
local explain <const> = require "profile.explain"
local explain_lines <const> = require "profile.explain_lines"
local investigate <const> = require "profile.investigate"
local lines <const> = require "profile.lines"

local same <const> = {}

local function close(got, want, what)
  t.ok(type(got) == "number" and type(want) == "number" and math.abs(got - want) <= 1e-9 * math.max(1, math.abs(want)),
    ("%s: analysis %s, SQL %s"):format(what, tostring(got), tostring(want)))
end

-- Every bound of a core. Returns how many were compared.
function same.bounds(p, core)
  local result <const> = bounds.compute(p, core)
  local by_name <const> = {}
  for _, b in ipairs(result.bounds) do by_name[b.name] = b.ns end
  for _, e in ipairs(result.engines) do by_name[e.name .. " active"] = e.ns end
  local n = 0
  for _, q in ipairs(explain.bounds(p, core)) do
    local value <const>, err <const> = p.db:value(q.sql)
    t.ok(value, q.name .. ": " .. tostring(err and err.message) .. "\n" .. q.sql)
    close(by_name[q.name], value, q.name)
    n = n + 1
  end
  return n
end

-- Lines and investigations of a core. Returns the names of the queries that were compared.
function same.lines(p, core)
  local found <const> = {}
  for _, f in ipairs(investigate.run(p, "all")) do
    if not f.core or f.core == core then found[f.name] = f end
  end
  local function rows(name, sql)
    local list <const>, err <const> = p.db:query(sql)
    t.ok(list, name .. ": " .. tostring(err and err.message) .. "\n" .. sql)
    return list
  end
  local compared <const> = {}
  local table_of_lines <const> = {}
  for _, row in ipairs(lines.compute(p, core) or {}) do table_of_lines[row.location] = row end
  local function line(location) return table_of_lines[location or "(no source line)"] or {} end
  for _, q in ipairs(explain_lines.all(p, core, found.pipeline and found.pipeline.engine)) do
    local list <const> = rows(q.name, q.sql)
    compared[q.name] = true
    if q.name == "lines" then
      local instructions <const> = {}
      for _, row in ipairs(list) do
        if row.ns > 0 then close(line(row.location)[row.engine], row.ns, ("lines, %s on %s"):format(row.location, row.engine)) end
        instructions[row.location or ""] = (instructions[row.location or ""] or 0) + row.n
      end
      for location, n in pairs(instructions) do close(line(location ~= "" and location or nil).instructions, n, "instructions of " .. location) end
    elseif q.name == "transfers" then
      for _, row in ipairs(list) do
        local mine <const> = line(row.location)
        close(mine.bytes, row.bytes, "bytes of " .. tostring(row.location))
        close(mine.DMA or 0, row.ns, "DMA time of " .. tostring(row.location))
        close(mine.transfers, row.n, "transfers of " .. tostring(row.location))
      end
    elseif q.name == "reloads" then
      local times <const> = {}
      for _, row in ipairs(list) do times[row.variable] = row.moved / row.size end
      for _, tensor in ipairs(found.reloads.tensors) do close(tensor.times, times[tensor.name], "times " .. tensor.name .. " is moved") end
    else
      local by_location <const> = {}
      for _, row in ipairs(list) do
        by_location[(row.location or row.kind or "") .. "\0" .. (row.variable or "")] = row
      end
      for _, l in ipairs(found[q.name] and found[q.name].lines or {}) do
        local row <const> = by_location[(l.location == "(no source line)" and "" or l.location) .. "\0" .. (q.name == "dma" and l.variable or "")]
        if q.name == "dma" then
          close(l.bytes, row.bytes, "bytes of " .. l.location)
          close(l.descriptor, row.descriptor, "descriptor of " .. l.location)
        elseif q.name == "transposes" then
          close(l.ns, row.ns, "transposes of " .. l.location)
        elseif q.name == "tensor" and l.k then
          close(l.k, row.k, "K of " .. l.location)
          close(l.n, row.n, "N of " .. l.location)
        end
      end
      if q.name == "pipeline" and found.pipeline.waits then
        local waits <const> = {}
        local n = 0
        for kind, ns in pairs(found.pipeline.waits) do
          waits[kind:lower()] = ns
          n = n + 1
        end
        for _, row in ipairs(list) do close(waits[row.kind], row.ns, "waiting for " .. tostring(row.kind)) end
        t.eq(n, #list, "kinds that are waited for")
      end
    end
  end
  return compared
end

return same
