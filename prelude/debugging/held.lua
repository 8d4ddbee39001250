-- SPDX-License-Identifier: MIT
-- Shapes that nobody named: a repair that is proved for the given cases may still fit only them (a tile made as wide as the
-- one row length that was tried). Each is the smallest case with other extents: all changed, or one at a time; equal extents
-- stay equal, 1 stays 1.
--
--   held.new(request, reference, case) -> h, or nil where the reference takes no other shapes or the case is large
--   h:judge(text, entry) -> "confirmed" (right on every shape it runs on), "unknown" (it runs on none), "refuted", shape text

local measure <const> = require "debugging.measure"
local verify <const> = require "verify"

local held <const> = {}
local methods <const> = {}
methods.__index = methods

held.ELEMENTS = 1000000 -- of the case; above, other shapes cost too much

local function other(extent)
  if extent == 1 then return 1 end
  return extent >= 32 and extent + 129 or 2 * extent + 1
end

-- The case with the extents that `changes` lists replaced; nil for one whose arguments come from files.
local function variant(case, changes)
  local args <const>, parts <const> = {}, {}
  for i, arg in ipairs(case.args) do
    local copy <const> = {}
    for key, value in pairs(arg) do copy[key] = value end
    if arg.kind == "file" then return nil end
    if arg.shape then
      copy.shape = {}
      for d, extent in ipairs(arg.shape) do copy.shape[d] = changes[extent] or extent end
      parts[#parts + 1] = ("%s=%s[%s]"):format(arg.name, arg.dtype, table.concat(copy.shape, ","))
    end
    args[i] = copy
  end
  return { text = table.concat(parts, ", "), args = args }
end

function held.new(request, reference, case)
  local arguments <const>, elements <const> = verify.arguments_of(case)
  if elements > held.ELEMENTS then return nil end
  local extents <const>, known <const> = {}, {}
  for _, arg in ipairs(arguments) do
    for _, extent in ipairs(arg.shape or {}) do
      if extent > 1 and not known[extent] then
        known[extent] = true
        extents[#extents + 1] = extent
      end
    end
  end
  local self <const> = setmetatable({ meters = {} }, methods)
  local every <const> = {}
  for _, extent in ipairs(extents) do every[extent] = other(extent) end
  local list <const> = { every }
  for _, extent in ipairs(#extents > 1 and extents or {}) do list[#list + 1] = { [extent] = other(extent) } end
  for _, changes in ipairs(list) do
    local changed <const> = variant(case, changes)
    local meter <const> = changed and measure.new({ request = request, reference = reference, sets = { { case = changed } } })
    if meter then self.meters[#self.meters + 1] = { meter = meter, text = changed.text } end
  end
  return #self.meters > 0 and self or nil
end

function methods:judge(text, entry)
  local ran = false
  for i, one in ipairs(self.meters) do
    local m <const> = one.meter:of(text, entry)
    if m.score < measure.NOT_RUN then
      if not m.ok then return "refuted", one.text end
      if i == 1 then return "confirmed", one.text end -- all extents at once
      ran = true
    end
  end
  return ran and "confirmed" or "unknown"
end

return held
