-- SPDX-License-Identifier: MIT
-- Assignments to parts of symbolic arrays, and the views that share an array's memory, as NumPy and PyTorch have them.
--
-- t[key] = value on a symbolic tensor is noted (`pending`) and becomes one expression when the array is next read, so that a
-- loop that fills an array row by row costs a node per row. x[key] on a symbolic tensor is a view: writing to it writes to x,
-- and it is read afresh after x was written.

local core <const> = require "reference.core"

local M <const> = {}

local function raise(message) core.raise("NotImplementedError", message) end

-- A box is {first, n, step} per axis. Does the write cover the region on `axis`?
local function covers_axis(box, region, axis)
  local b <const>, r <const> = box[axis], region[axis]
  return b.step == 1 and b.first <= r.first and b.first + b.n >= r.first + r.n
end

local function covers(write, region)
  for axis = 1, #region do if not covers_axis(write.box, region, axis) then return false end end
  return true
end

local function piece_of(write, region)
  local t = write.value
  for axis, r in ipairs(region) do t = core.slice(t, axis - 1, r.first - write.box[axis].first, r.n, 1) end
  return t
end

-- Elements written with a step: every s-th, for each of the s beginnings.
local function interleaved(writes, from, region, axis)
  local step <const>, extent <const> = writes[from].box[axis].step, region[axis].n
  local parts <const> = {}
  for i = from, #writes do
    local b <const> = writes[i].box[axis]
    local fits = b.step == step and step > 1 and extent % step == 0 and b.first < step and b.n == extent // step and region[axis].first == 0
    for other = 1, #region do fits = fits and (other == axis or covers_axis(writes[i].box, region, other)) end
    if not fits then raise("assignments with a slice step that do not fill the axis between them cannot be traced") end
    local t = writes[i].value
    for other, r in ipairs(region) do
      if other ~= axis then t = core.slice(t, other - 1, r.first - writes[i].box[other].first, r.n, 1) end
    end
    parts[b.first + 1] = t
  end
  for k = 1, step do
    if not parts[k] then raise("an assignment with a slice step leaves elements as they were, which cannot be traced") end
  end
  return core.interleave(parts, axis - 1)
end

-- What a region holds after the writes, in order; the first of them covers everything.
local function paint(writes, region)
  local from = 1
  for i = #writes, 1, -1 do
    if covers(writes[i], region) then
      from = i
      break
    end
  end
  if from == #writes then return piece_of(writes[from], region) end
  local axis = nil
  for a = 1, #region do
    for i = from + 1, #writes do
      if not covers_axis(writes[i].box, region, a) then
        axis = a
        break
      end
    end
    if axis then break end
  end
  for i = from + 1, #writes do
    if writes[i].box[axis].step ~= 1 then return interleaved(writes, from + 1, region, axis) end
  end
  -- Cut the axis wherever a write begins or ends.
  local low <const>, high <const> = region[axis].first, region[axis].first + region[axis].n
  local function span(write)
    local b <const> = write.box[axis]
    return math.max(b.first, low), math.min(b.first + b.n, high)
  end
  local points <const>, number <const> = { low, high }, { [low] = true, [high] = true }
  for i = from + 1, #writes do
    for _, at in ipairs({ span(writes[i]) }) do
      if at > low and at < high and not number[at] then
        number[at] = true
        points[#points + 1] = at
      end
    end
  end
  table.sort(points)
  for k, at in ipairs(points) do number[at] = k end
  local parts <const> = {}
  for k = 1, #points - 1 do parts[k] = {} end
  for i = from, #writes do
    local first <const>, last <const> = span(writes[i])
    if first < last then
      for k = number[first], number[last] - 1 do parts[k][#parts[k] + 1] = writes[i] end
    end
  end
  for k, part in ipairs(parts) do
    local inner <const> = { table.unpack(region) }
    inner[axis] = { first = points[k], n = points[k + 1] - points[k] }
    parts[k] = paint(part, inner)
  end
  return core.concat(parts, axis - 1)
end

local function whole(shape)
  local region <const> = {}
  for axis, extent in ipairs(shape) do region[axis] = { first = 0, n = extent, step = 1 } end
  return region
end

local function plain(t) return core.symbolic(core.node_of(t), t.family, t.declared) end

-- Everything that shares the memory of t has to look again.
local function touch(t)
  local views <const> = rawget(t, "views")
  if not views then return end
  t.views = nil
  for view in pairs(views) do
    if rawget(view, "parent") and not rawget(view, "pending") then
      view.node, view.stale = nil, true
      touch(view)
    end
  end
end

-- Note that `value` (a symbolic or concrete tensor of the box's shape) now stands in the box of t.
function M.note(t, box, value)
  local region <const> = whole(t.shape)
  local write <const> = { box = box, value = plain(value) }
  if covers(write, region) then
    t.pending, t.stale, t.value = nil, nil, nil
    t.node = write.value.node
  else
    local pending = rawget(t, "pending")
    if not pending then
      pending = { { box = region, value = plain(t) } }
      t.pending, t.node, t.value = pending, nil, nil
    end
    pending[#pending + 1] = write
  end
  touch(t)
end

-- What a box of t holds, without working out the rest of t; nil where several writes meet in it.
function M.peek(t, box)
  local pending <const> = rawget(t, "pending")
  if not pending then return nil end
  for i = #pending, 1, -1 do
    if covers(pending[i], box) then return piece_of(pending[i], box) end
    local apart = false
    for axis, b in ipairs(box) do
      local w <const> = pending[i].box[axis]
      apart = apart or w.first >= b.first + b.n or w.first + (w.n - 1) * w.step < b.first
    end
    if not apart then return nil end
  end
  return nil
end

-- `view` is t[key]: `again` makes it afresh, `back` writes it to t.
function M.share(t, view, again, back)
  view.parent = { of = t, again = again, back = back }
  local views = rawget(t, "views")
  if not views then
    views = setmetatable({}, { __mode = "k" })
    t.views = views
  end
  views[view] = true
end

-- The node of a tensor that has none at hand (see core.new).
function core.settle(t)
  local pending <const> = rawget(t, "pending")
  if pending then
    t.pending = nil
    t.node = paint(pending, whole(t.shape)).node
    return rawget(t, "node")
  elseif rawget(t, "stale") then
    t.stale = nil
    local fresh <const> = t.parent.again()
    t.node = fresh.node
    M.share(t.parent.of, t, t.parent.again, t.parent.back)
    return rawget(t, "node")
  end
  return nil
end

return M
