-- SPDX-License-Identifier: MIT
-- profile.compare: two profiles side by side: every bound and every source line that moved.
--
-- run(before, after, { anyway = bool }) -> { before=, after= (identities), bounds = { {name=, before=, after= (ns), ratio=, moved=} },
-- lines = { {place=, text=, before=, after= (ns), engine=} }, differences = {...}, sentence= } | nil, err.
-- Profiles are alike when target, cores, case and the way they were made (modelled or captured, and the model's version) are the
-- same; the kernel itself may differ, that is what is compared. Unlike profiles are refused, unless `anyway`.
-- A line is matched by its text where the profile carries it (lines move when a kernel is edited), else by file and number.

local bounds <const> = require "profile.bounds"
local fault <const> = require "fault"
local lines <const> = require "profile.lines"
local show <const> = require "profile.show"

local compare <const> = {}

compare.SAME = 0.005 -- a change below half a percent is no movement

local must <const> = {
  { "kind", "how they were made" }, { "model_version", "the model's version" }, { "target", "target" }, { "lnc", "cores" }, { "case", "case" },
}

-- Why two profiles are unlike, as sentences.
function compare.differences(a, b)
  local out <const> = {}
  for _, item in ipairs(must) do
    local x <const>, y <const> = a[item[1]], b[item[1]]
    if x ~= nil and y ~= nil and tostring(x) ~= tostring(y) then out[#out + 1] = ("%s: %s before, %s after"):format(item[2], tostring(x), tostring(y)) end
  end
  return out
end

local function moved(x, y)
  if x == nil or y == nil then return x ~= y end
  return math.abs(x - y) > compare.SAME * math.max(math.abs(x), math.abs(y))
end

local function key_of(row)
  if row.text then return (row.text:gsub("%s+", " "):gsub("^ ", "")) end
  return row.file and ("%s:%d"):format(row.file:match("[^/]*$"), row.line) or row.location
end

-- Lines by key; equal texts at several places are numbered in the order of their lines.
local function keyed(list)
  local sorted <const> = table.move(list, 1, #list, 1, {})
  table.sort(sorted, function(a, b)
    if (a.file or "") ~= (b.file or "") then return (a.file or "") < (b.file or "") end
    return (a.line or 0) < (b.line or 0)
  end)
  local out <const>, seen <const> = {}, {}
  for _, row in ipairs(sorted) do
    local key <const> = key_of(row)
    seen[key] = (seen[key] or 0) + 1
    out[key .. "\0" .. seen[key]] = row
  end
  return out
end

function compare.run(before, after, options)
  local a <const>, b <const> = before:identity(), after:identity()
  local unlike <const> = compare.differences(a, b)
  if #unlike > 0 and not options.anyway then
    return nil, fault.new("usage", "these profiles are unlike: " .. table.concat(unlike, "; "), {
      hint = "compare profiles of one case, target and way of making, or say --anyway", differences = unlike,
    })
  end
  local out <const> = { before = a, after = b, bounds = {}, lines = {}, differences = unlike }
  if a.entry ~= b.entry then unlike[#unlike + 1] = ("kernel: %s before, %s after"):format(tostring(a.entry), tostring(b.entry)) end
  local x <const>, y <const> = bounds.all(before)[1], bounds.all(after)[1]
  local function add(name, old, new)
    if old == nil and new == nil then return end
    out.bounds[#out.bounds + 1] = { name = name, before = old, after = new, ratio = old and new and old > 0 and new / old or nil, moved = moved(old, new) }
  end
  add("total", x.window.total_ns + 0.0, y.window.total_ns + 0.0)
  for i, e in ipairs(x.engines) do add(e.name .. " active", e.ns, y.engines[i].ns) end
  for i, bound in ipairs(x.bounds) do add(bound.name, bound.ns, y.bounds[i].ns) end
  local gaps <const> = {}
  for _, g in ipairs(y.gaps) do gaps[g.name] = g.ns end
  for _, g in ipairs(x.gaps) do add("gap: " .. g.name, g.ns, gaps[g.name]) end
  out.bytes = { before = x.quantities.bytes, after = y.quantities.bytes }
  out.bottleneck = { before = x.bottleneck and x.bottleneck.name, after = y.bottleneck and y.bottleneck.name }

  local old_lines <const>, new_lines <const> = lines.compute(before, x.core), lines.compute(after, y.core)
  if old_lines and new_lines then
    local old <const>, new <const> = keyed(old_lines), keyed(new_lines)
    local function place(row) return row.file and ("%s:%d"):format(row.file:match("[^/]*$"), row.line) or row.location end
    local done <const> = {}
    local function both(key)
      if done[key] then return end
      done[key] = true
      local u <const>, v <const> = old[key], new[key]
      local best, was, is
      for _, engine in ipairs { "Tensor", "Vector", "Scalar", "GpSimd", "DMA" } do
        local p <const>, q <const> = u and u[engine], v and v[engine]
        if (p or q) and moved(p or 0, q or 0) and (not best or math.abs((q or 0) - (p or 0)) > math.abs((is or 0) - (was or 0))) then
          best, was, is = engine, p, q
        end
      end
      if not best then return end
      local where <const> = u and v and place(u) ~= place(v) and place(u) .. " -> " .. place(v) or place(u or v)
      out.lines[#out.lines + 1] = {
        place = ("%s (%s)"):format(where, best), text = (v or u).text, before = was, after = is, engine = best,
        bytes_before = u and u.bytes, bytes_after = v and v.bytes,
      }
    end
    for key in pairs(old) do both(key) end
    for key in pairs(new) do both(key) end
    table.sort(out.lines, function(p, q)
      local m <const>, n <const> = math.abs((p.after or 0) - (p.before or 0)), math.abs((q.after or 0) - (q.before or 0))
      if m ~= n then return m > n end
      return p.place < q.place
    end)
  end
  local old <const>, new <const> = x.window.total_ns, y.window.total_ns
  local change = "the same time"
  if moved(old, new) then
    change = new < old and ("%.2f times as fast"):format(old / math.max(new, 1)) or ("%.2f times as slow"):format(new / math.max(old, 1))
  end
  out.speedup = new > 0 and old / new or nil
  out.sentence = ("%s -> %s us: %s; longest: %s -> %s; moved: %s -> %s"):format(show.us(old), show.us(new), change, out.bottleneck.before or "?",
    out.bottleneck.after or "?", show.bytes(out.bytes.before), show.bytes(out.bytes.after))
  return out
end

return compare
