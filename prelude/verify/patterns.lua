-- SPDX-License-Identifier: MIT
-- What kind of wrong an output is: transposed, shifted, scaled, a tile or partition missing, a stale buffer. Each pattern is
-- tried as a hypothesis against the expected values; the first that explains the whole difference is named.

local array <const> = require "rt.array"

local M <const> = {}

local TILE <const> = 128

local function as_rows(a)
  local shape <const> = a.shape
  local columns <const> = shape[#shape] or 1
  return a:reshape({ columns > 0 and a.size // columns or 0, columns }), columns
end

local function indices_over(errors, limit)
  local bad <const> = {}
  for i, e in ipairs(errors:totable()) do
    if e ~= e or e > limit then bad[#bad + 1] = i - 1 end
  end
  return bad
end

local function close(a, b) return array.errors(a, b).rel_l2 <= 1e-6 and array.errors(a, b).mismatches == 0 end

-- Which rows (or columns) are wrong, in words.
local function where_wrong(bad, total, what)
  if #bad == 0 or #bad == total then return nil end
  local first <const>, last <const> = bad[1], bad[#bad]
  local contiguous <const> = last - first + 1 == #bad
  if contiguous and last == total - 1 and first % TILE == 0 and what == "row" then
    return ("the last row tile is wrong: rows %d to %d (%d of %d); its edge is not computed or not stored"):format(first, last, #bad, total)
  end
  if contiguous and last == total - 1 then
    return ("%ss from %d on are wrong (%d of %d): the last tile or chunk is missing"):format(what, first, #bad, total)
  end
  if contiguous and first == 0 then return ("the first %d %ss are wrong"):format(#bad, what) end
  if what == "row" then
    local partition <const> = first % TILE
    local same = #bad > 1 or total > TILE
    for _, row in ipairs(bad) do same = same and row % TILE == partition end
    if same then return ("only partition %d is wrong: row %d of each tile"):format(partition, partition) end
  end
  if contiguous then return ("%ss %d to %d are wrong, the others right"):format(what, first, last) end
  return ("%d of %d %ss are wrong, the first is %d"):format(#bad, total, what, first)
end

-- actual, expected: float64 arrays of one shape. blocks: optional function(i) -> expected output with the i-th block of 128 of
-- the contraction left out, or nil when there are no more. Returns a sentence or nil.
function M.explain(actual, expected, blocks)
  if actual.size == 0 or actual.size ~= expected.size then return nil end
  local a <const>, columns <const> = as_rows(actual)
  local e <const> = as_rows(expected)
  local rows <const> = a.shape[1]
  local stats <const> = array.errors(a, e)
  if stats.nonfinite_actual == actual.size then return "every element is NaN or infinite: the output was never written, or everything overflowed" end
  local zero <const> = array.errors(a, array.new("float64", a.shape, 0.0))
  if zero.max_abs == 0 and stats.max_expected > 0 then return "the output is zero everywhere: the kernel's result was not stored" end
  if rows > 1 and columns > 1 then
    if rows == columns and close(a, e:transpose({ 1, 0 })) then return "the output is the expected one transposed" end
    if rows ~= columns and close(a, e:transpose({ 1, 0 }):contiguous():reshape({ rows,
      columns })) then return "the output holds the expected values in transposed order" end
  end
  if blocks then
    for i = 0, 63 do
      local partial <const> = blocks(i)
      if not partial then break end
      if close(a, as_rows(partial)) then return ("block %d of the contraction (elements %d to %d) is missing from the sum"):format(i,
        i * TILE, i * TILE + TILE - 1) end
    end
  end
  if actual.size > 1 then
    local fit <const> = array.fit(a, e)
    if fit.scale_residual and fit.scale_residual < 1e-8 and math.abs(fit.scale - 1) > 1e-9 then
      return ("every element is %.6g times the expected one: a scale is missing, doubled or wrong"):format(fit.scale)
    end
    if fit.offset_residual and fit.offset_residual < 1e-8 and fit.offset ~= 0 then
      return ("every element is off by %.6g: a constant term is missing or added twice"):format(fit.offset)
    end
    for axis = 0, 1 do
      if a.shape[axis + 1] > 2 then
        local k <const>, left <const> = array.shift(a, e, axis)
        if k ~= 0 and left < 1e-8 then return ("the output is the expected one shifted by %d along the %s"):format(k, axis == 0 and "rows" or "columns") end
      end
    end
  end
  local bad_rows <const> = indices_over(array.row_errors(a, e), 1e-7)
  local row_text <const> = where_wrong(bad_rows, rows, "row")
  if row_text then
    -- Stale: a tile holds what the tile before should.
    local first <const> = bad_rows[1] // TILE
    if first > 0 and (first + 1) * TILE <= rows then
      local mine <const> = a:slice(0, first * TILE, (first + 1) * TILE, 1)
      local before <const> = e:slice(0, (first - 1) * TILE, first * TILE, 1)
      if close(mine, before) then return ("row tile %d holds the values of tile %d: a buffer is reused before it is rewritten"):format(first, first - 1) end
    end
    return row_text
  end
  if columns > 1 then
    local bad_columns <const> = indices_over(array.axis_errors(a, e, 1), 1e-7)
    local text <const> = where_wrong(bad_columns, columns, "column")
    if text then return text end
  end
  return nil
end

return M
