-- SPDX-License-Identifier: MIT
-- NumPy-style subscripts on tensors: ints, slices, Ellipsis, None, boolean masks and integer arrays, for reading and
-- for assignment. Keys arrive as the runtime's format string (i s e n, see prelude/python) and its values.

local core <const> = require "reference.core"
local array <const> = require "rt.array"
local objects <const> = require "reference.objects"
local writes <const> = require "reference.writes"

local raise <const> = core.raise

local M <const> = {}

-- Python's slice.indices for one axis: first index, number of elements, step.
local function span(start, stop, step, extent)
  local by = step == nil and 1 or core.number(step, "a slice step")
  if by == 0 then raise("ValueError", "slice step cannot be zero") end
  local function clamp(v, default, low, high)
    if v == nil then return default end
    v = core.number(v, nil)
    if math.type(v) ~= "integer" then raise("TypeError", "slice indices must be integers or None") end
    if v < 0 then v = v + extent end
    return math.max(low, math.min(v, high))
  end
  local first <const>, last <const> = clamp(start, by > 0 and 0 or extent - 1, by > 0 and 0 or -1, by > 0 and extent or extent - 1),
    clamp(stop, by > 0 and extent or -1, by > 0 and 0 or -1, by > 0 and extent or extent - 1)
  local n <const> = by > 0 and (last - first + by - 1) // by or (first - last - by - 1) // -by
  return first, math.max(0, n), by
end

-- The key as a list of {kind, ...}: int, slice, new, array, mask; Ellipsis expanded to full slices.
local function normalise(shape, fmt, values)
  local parts <const> = {}
  local at = 1
  local function push_object(v)
    if objects.is_none(v) then
      parts[#parts + 1] = { kind = "new" }
    elseif objects.is_ellipsis(v) then
      parts[#parts + 1] = { kind = "ellipsis" }
    elseif objects.is_slice(v) then
      local a <const>, b <const>, c <const> = objects.slice_parts(v)
      parts[#parts + 1] = { kind = "slice", a, b, c }
    elseif core.is_tensor(v) then
      if v.dtype == "bool" then
        parts[#parts + 1] = { kind = "mask", tensor = v }
      elseif #v.shape == 0 and v.value then
        parts[#parts + 1] = { kind = "int", v.value:item() }
      else
        parts[#parts + 1] = { kind = "array", tensor = v }
      end
    elseif type(v) == "boolean" then
      raise("IndexError", "a boolean scalar is not an index here")
    elseif core.is_scalar(v) then
      local index <const> = core.number(v, "an index")
      if math.type(index) ~= "integer" then raise("IndexError", "only integers, slices (`:`), ellipsis (`...`), None and arrays are valid indices") end
      parts[#parts + 1] = { kind = "int", index }
    else
      local items <const> = objects.sequence(v)
      if not items then raise("IndexError", "only integers, slices (`:`), ellipsis (`...`), None and arrays are valid indices") end
      parts[#parts + 1] = { kind = "array", tensor = core.from_nested(objects.nested(v), nil, objects.plain_family) }
    end
  end
  for i = 1, #fmt do
    local c <const> = fmt:sub(i, i)
    if c == "s" then
      local function part(k) local v <const> = values[k] if objects.is_none(v) then return nil end return v end
      parts[#parts + 1] = { kind = "slice", part(at), part(at + 1), part(at + 2) }
      at = at + 3
    elseif c == "e" then
      parts[#parts + 1] = { kind = "ellipsis" }
    elseif c == "n" then
      parts[#parts + 1] = { kind = "new" }
    else
      local v <const> = values[at]
      at = at + 1
      if #fmt == 1 and objects.is_tuple(v) then
        for _, entry in ipairs(objects.sequence(v)) do push_object(entry) end
      else
        push_object(v)
      end
    end
  end
  local used, hole = 0, nil
  for i, part in ipairs(parts) do
    if part.kind == "ellipsis" then
      if hole then raise("IndexError", "an index can only have a single ellipsis ('...')") end
      hole = i
    elseif part.kind == "mask" then
      used = used + #part.tensor.shape
    elseif part.kind ~= "new" then
      used = used + 1
    end
  end
  if used > #shape then
    raise("IndexError", "too many indices for array: array is %d-dimensional, but %d were indexed", #shape, used)
  end
  local full <const> = {}
  for i = 1, #parts do
    if i == hole then
      for _ = 1, #shape - used do full[#full + 1] = { kind = "slice" } end
    else
      full[#full + 1] = parts[i]
    end
  end
  if not hole then
    for _ = 1, #shape - used do full[#full + 1] = { kind = "slice" } end
  end
  return full
end

local function take(t, axis, indices)
  if core.is_symbolic(t) or core.is_symbolic(indices) then
    raise("NotImplementedError", "indexing with an array of indices cannot be traced; use slices, or where() with a comparison")
  end
  local extent <const> = t.shape[axis + 1]
  local picks <const> = {}
  local flat <const> = indices.value:totable()
  for i, index in ipairs(flat) do
    if index < -extent or index >= extent then raise("IndexError", "index %d is out of bounds for axis %d with size %d", index, axis, extent) end
    if index < 0 then index = index + extent end
    picks[i] = t.value:slice(axis, index, index + 1, 1)
  end
  local joined <const> = #picks > 0 and array.concat(picks, axis) or t.value:slice(axis, 0, 0, 1)
  local shape <const> = {}
  for i = 1, axis do shape[i] = t.shape[i] end
  for _, e in ipairs(indices.shape) do shape[#shape + 1] = e end
  for i = axis + 2, #t.shape do shape[#shape + 1] = t.shape[i] end
  return core.wrap(joined:reshape(shape), t.family, t.declared)
end

local function read(t, parts)
  local axis, out = 0, t
  for _, part in ipairs(parts) do
    if part.kind == "new" then
      out = core.expand(out, axis)
      axis = axis + 1
    elseif part.kind == "slice" then
      local first <const>, extent <const>, step <const> = span(part[1], part[2], part[3], out.shape[axis + 1])
      out = core.slice(out, axis, first, extent, step)
      axis = axis + 1
    elseif part.kind == "int" then
      local extent <const> = out.shape[axis + 1]
      local index = part[1]
      if index < -extent or index >= extent then
        raise("IndexError", "index %d is out of bounds for axis %d with size %d", index, axis, extent)
      end
      if index < 0 then index = index + extent end
      out = core.select(out, axis, index)
    elseif part.kind == "array" then
      out = take(out, axis, part.tensor)
      axis = axis + #part.tensor.shape
    else
      local mask <const> = part.tensor
      if core.is_symbolic(mask) or core.is_symbolic(out) then
        raise("NotImplementedError", "selecting with a boolean mask has a shape that depends on data; use where(mask, x, y)")
      end
      local picks <const> = {}
      for i, v in ipairs(mask.value:totable()) do if v == true or v == 1 then picks[#picks + 1] = i - 1 end end
      local rank <const> = #mask.shape
      local shape <const> = {}
      for i = 1, axis do shape[i] = out.shape[i] end
      shape[#shape + 1] = -1
      for i = axis + rank + 1, #out.shape do shape[#shape + 1] = out.shape[i] end
      local index <const> = core.wrap(array.from("int64", { #picks }, picks), out.family, "int64")
      out = take(core.reshape(out, shape), axis, index)
      axis = axis + 1
    end
  end
  return out
end

-- The box of an array that a basic key names: {first, n, step} per axis, and which axes an integer takes away.
local function box_of(shape, parts)
  local box <const>, gone <const>, axis = {}, {}, 0
  for _, part in ipairs(parts) do
    if part.kind == "new" then return nil end
    local extent <const> = shape[axis + 1]
    if part.kind == "int" then
      local first <const> = part[1] < 0 and part[1] + extent or part[1]
      if first < 0 or first >= extent then raise("IndexError", "index %d is out of bounds for axis %d with size %d", part[1], axis, extent) end
      box[axis + 1], gone[axis + 1] = { first = first, n = 1, step = 1 }, true
    elseif part.kind == "slice" then
      local first <const>, n <const>, step <const> = span(part[1], part[2], part[3], extent)
      box[axis + 1] = { first = first, n = n, step = step }
    else
      return nil
    end
    axis = axis + 1
  end
  return box, gone
end

local function basic(parts)
  for _, part in ipairs(parts) do if part.kind == "array" or part.kind == "mask" then return false end end
  return true
end

-- t[key]. A basic key gives a view, which shares the array's memory.
function M.get(t, fmt, ...)
  local parts <const> = normalise(t.shape, fmt, { ... })
  if not core.trace or not basic(parts) or not rawget(t, "pending") and not core.is_symbolic(t) then return read(t, parts) end
  local function again()
    local box, gone = nil, nil
    if rawget(t, "pending") then box, gone = box_of(t.shape, parts) end
    local whole_steps = box ~= nil
    for _, b in ipairs(box or {}) do whole_steps = whole_steps and b.step == 1 end
    local piece = whole_steps and writes.peek(t, box) or nil
    if not piece then return read(t, parts) end
    for axis = #box, 1, -1 do if gone[axis] then piece = core.squeeze(piece, axis - 1) end end
    return piece
  end
  local view = again()
  if view == t then return t end
  view = core.symbolic(view.node, t.family, t.declared)
  local args <const> = table.pack(...)
  writes.share(t, view, again, function(value) M.set(t, value, fmt, table.unpack(args, 1, args.n)) end)
  return view
end

-- t[key] = value. A concrete tensor is written in place, through the view; a symbolic one becomes a new expression.
function M.set(t, value, fmt, ...)
  local parts <const> = normalise(t.shape, fmt, { ... })
  for _, part in ipairs(parts) do
    if part.kind == "mask" then
      if #parts ~= 1 + #t.shape - #part.tensor.shape then raise("NotImplementedError", "assignment through a mixed mask") end
      local merged <const> = core.cast(core.where(part.tensor, value, t), t.declared)
      if t.value and merged.value then t.value:assign(merged.value:broadcast_to(t.shape)) else M.set(t, merged, "e") end
      return
    elseif part.kind == "array" then
      raise("NotImplementedError", "assignment through an array of indices")
    end
  end
  if not core.is_tensor(value) and not core.is_scalar(value) then
    value = core.from_nested(objects.nested(value), nil, t.family)
  end
  if t.value and not core.is_symbolic(value) then
    local view <const> = M.get(t, fmt, ...)
    local source = core.is_tensor(value) and value.value or value
    if core.is_tensor(value) and source.dtype ~= view.value.dtype then source = source:cast(view.value.dtype) end
    if core.is_tensor(value) then source = core.broadcast_to(core.wrap(source), view.shape).value end
    if core.is_tensor(value) then view.value:assign(source) else view.value:fill(core.number(source)) end
    return
  end
  -- Symbolic: noted, and worked out when the array is next read.
  local box <const>, gone <const> = box_of(t.shape, parts)
  if not box then raise("NotImplementedError", "assignment through None") end
  local shape <const>, full <const> = {}, {}
  for axis, b in ipairs(box) do
    if b.step < 1 then raise("NotImplementedError", "assignment with a negative slice step cannot be traced") end
    if not gone[axis] then shape[#shape + 1] = b.n end
    full[axis] = b.n
  end
  local piece = core.is_tensor(value) and value or core.full({}, value, t.declared, t.family)
  -- Leading axes of size 1 fall away, as NumPy lets them.
  while #piece.shape > #shape and piece.shape[1] == 1 do piece = core.squeeze(piece, 0) end
  piece = core.reshape(core.cast(core.broadcast_to(piece, shape), t.declared), full)
  writes.note(t, box, piece)
  local parent <const> = rawget(t, "parent")
  if parent then
    parent.back(core.symbolic(core.node_of(t), t.family, t.declared))
  end
end

return M
