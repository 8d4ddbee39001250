-- SPDX-License-Identifier: MIT
-- Extents of a kernel as Python text: the size of an axis in terms of its arguments' shapes, the width of a tile and the place
-- of a column in terms of the number of columns n. Every text is right in all traced cases, not only in the chosen one.

local layout_module <const> = require "writer.layout"

local M <const> = {}

local refuse <const> = layout_module.refuse

-- The number of columns of a case: the widest input's.
function M.main_columns(layout)
  local n = 1
  for _, node in ipairs(layout.nodes) do
    local info <const> = layout.of[node.id]
    if info.source and info.tail == "n" and layout.used[node.id] then n = math.max(n, info.n) end
  end
  return n
end

-- An extent of a view that no axes of the argument make up: the same number in every case, or a part of some of the axes.
local function part_of_axes(leaf, axis, extent_text, others)
  local e <const> = (leaf.info.view or leaf.source.shape)[axis]
  local same = true
  for _, other in ipairs(others) do same = same and other.view[axis] == e end
  if same then return tostring(e) end
  for first = 1, #leaf.source.shape do
    for last = first, #leaf.source.shape do
      local ratio, fits = nil, true
      local names <const> = {}
      for a = first, last do names[#names + 1] = extent_text(leaf.source.name, a - 1) end
      for _, other in ipairs(others) do
        local n = 1
        for a = first, last do n = n * (other.shape[a] or 0) end
        ratio = ratio or n // other.view[axis]
        fits = fits and #other.shape == #leaf.source.shape and n == ratio * other.view[axis]
      end
      if fits and ratio >= 2 then return ("%s // %d"):format(table.concat(names, " * "), ratio) end
    end
  end
  refuse(leaf.node, "axis %d of this view changes with the case in a way that the kernel cannot tell from the shapes", axis - 1)
end

-- Text of each extent of a leaf's view, in terms of its argument's shape. `extent_text` names an argument's axis.
-- `others` has the view's and the argument's shape in every case.
function M.dim_texts(leaf, extent_text, others)
  local source <const>, shape <const> = leaf.source, leaf.info.view or leaf.source.shape
  local texts <const> = {}
  if source.op == "arange" then
    for i, e in ipairs(shape) do texts[i] = tostring(e) end
    return texts
  end
  local at = 1
  for i, e in ipairs(shape) do
    local product, parts = 1, {}
    if e ~= 1 or (source.shape[at] == 1 and #shape - i == #source.shape - at) then
      local from <const> = at
      while at <= #source.shape and product < e do
        product = product * source.shape[at]
        parts[#parts + 1] = extent_text(source.name, at - 1)
        at = at + 1
      end
      if product ~= e then
        at = from
        parts = nil
      end
      if e == 1 and parts then
        at = at + 1
        parts = { extent_text(source.name, at - 2) }
      end
    else
      parts = { "1" }
      if source.shape[at] == 1 and leaf.info.view == nil then at = at + 1 end
    end
    if parts == nil or #parts == 0 then
      texts[i] = part_of_axes(leaf, i, extent_text, others)
      leaf.assumed = true
    else
      texts[i] = table.concat(parts, " * ")
    end
  end
  return texts
end

local function equal(a, b) return table.concat(a, ",") == table.concat(b, ",") end

-- Text of the shape of output `index`, true in every case: that of an input, or extents of inputs, or n_text's of the columns.
function M.output_shape_text(job, chosen, index, extent_text, n_text, node)
  local shapes <const>, inputs <const> = {}, {}
  local one_rank = true
  for i, entry in ipairs(job.traces) do
    shapes[i], inputs[i] = entry.outputs[index].shape, {}
    for _, input in ipairs(entry.trace.inputs) do inputs[i][input.name] = input.shape end
    one_rank = one_rank and #shapes[i] == #shapes[1]
  end
  local function always(test)
    for i, shape in ipairs(shapes) do if not test(shape, inputs[i]) then return false end end
    return true
  end
  local names <const> = {}
  for i, input in ipairs(chosen.trace.inputs) do names[i] = input.name end
  for _, name in ipairs(names) do
    if always(function(shape, given) return equal(shape, given[name]) end) then return name .. ".shape" end
  end
  local function lead(shape) return { table.unpack(shape, 1, #shape - 1) } end
  if not one_rank then
    for _, name in ipairs(names) do
      if always(function(shape, given) return equal(shape, lead(given[name])) end) then return name .. ".shape[:-1]" end
      if always(function(shape, given) return equal(lead(shape), lead(given[name])) end) then
        local last <const> = shapes[1][#shapes[1]]
        local fixed <const> = always(function(shape) return shape[#shape] == last end)
        local text <const> = fixed and tostring(last) or n_text(chosen.outputs[index].shape[#chosen.outputs[index].shape])
        if text then return ("%s.shape[:-1] + (%s,)"):format(name, text) end
      end
    end
    refuse(node, "the rank of this output changes with the case in a way that no input's does; write one kernel per rank")
  end
  local parts <const>, chosen_inputs <const> = {}, {}
  for _, input in ipairs(chosen.trace.inputs) do chosen_inputs[input.name] = input.shape end
  local chosen_shape <const> = chosen.outputs[index].shape
  for axis = 1, #chosen_shape do
    local text = nil
    if always(function(shape) return shape[axis] == 1 end) then text = "1" end
    -- The same axis of an input, then any axis that always has that extent.
    for pass = 1, 2 do
      for _, name in ipairs(names) do
        local rank <const> = #inputs[1][name]
        for a = pass == 1 and axis or 1, pass == 1 and axis or rank do
          if not text and always(function(shape, given) return #given[name] == rank and shape[axis] == given[name][a] end) then
            text = extent_text(name, a - 1)
          end
        end
      end
    end
    if not text and axis == #chosen_shape then text = n_text(chosen_shape[axis]) end
    -- A part or a multiple of an input's axis.
    for _, name in ipairs(names) do
      for a, extent in ipairs(chosen_inputs[name]) do
        local e <const> = chosen_shape[axis]
        local over <const>, times <const> = extent % e == 0 and extent // e, e % extent == 0 and e // extent
        local function fits(rule)
          return always(function(shape, given) return #given[name] == #chosen_inputs[name] and shape[axis] == rule(given[name][a]) end)
        end
        if not text and #job.traces > 1 and over and over > 1 and fits(function(x) return x % over == 0 and x // over or nil end) then
          text = ("%s // %d"):format(extent_text(name, a - 1), over)
        elseif not text and #job.traces > 1 and times and times > 1 and extent > 1 and fits(function(x) return x * times end) then
          text = ("%d * %s"):format(times, extent_text(name, a - 1))
        end
      end
    end
    if not text and always(function(shape) return shape[axis] == chosen_shape[axis] end) then text = tostring(chosen_shape[axis]) end
    if not text then refuse(node, "axis %d of this output changes with the case in a way that no input's does", axis - 1) end
    parts[axis] = text
  end
  return "(" .. table.concat(parts, ", ") .. (#parts == 1 and ",)" or ")")
end

-- What each width and column position of the chosen case is in the other cases: {[value] = {{value, n} per case}, ...}.
function M.samples(job, chosen)
  local samples <const>, mains <const> = {}, {}
  for i, entry in ipairs(job.traces) do mains[i] = M.main_columns(entry.layout) end
  local function note(value, read)
    samples[value] = samples[value] or {}
    for i, entry in ipairs(job.traces) do
      local other <const> = read(entry)
      if other then table.insert(samples[value], { other, mains[i] }) end
    end
  end
  for j, node in ipairs(chosen.layout.nodes) do
    local info <const> = chosen.layout.of[node.id]
    local function value_of(field)
      return function(entry)
        local other <const> = entry.layout.nodes[j]
        if field == "width" then return entry.layout.of[other.id].n end
        if field == "stop" then return other.start + (other.extent - 1) * other.step + 1 end
        return other[field]
      end
    end
    if info.tail == "n" then note(info.n, value_of("width")) end
    if node.op == "slice" and info.tail == "n" then
      note(node.start, value_of("start"))
      note(value_of("stop")(chosen), value_of("stop"))
    elseif node.op == "select" then
      note(node.index, value_of("index"))
    elseif node.op == "concat" then
      local at = 0
      for i = 1, #node.inputs do
        at = at + (node.inputs[i].shape[#node.inputs[i].shape] or 0)
        note(at, function(entry)
          local sum = 0
          for q = 1, i do sum = sum + (entry.layout.nodes[j].inputs[q].shape[#entry.layout.nodes[j].inputs[q].shape] or 0) end
          return sum
        end)
      end
    end
  end
  return samples
end

-- Text of a width or position in terms of n: the first of 0, n, its parts, its multiples, n and a few more or less, the number
-- itself, that is right in every case.
function M.relation(samples, main, value, n_name)
  if value ~= main and not samples[value] then return nil end
  local function always(rule)
    if rule(main) ~= value then return false end
    for _, pair in ipairs(samples[value] or {}) do if rule(pair[2]) ~= pair[1] then return false end end
    return true
  end
  if value == 0 and always(function() return 0 end) then return "0" end
  if always(function(n) return n end) then return n_name end
  for parts = 2, 16 do
    for k = 1, parts - 1 do
      if main % parts == 0 and k * (main // parts) == value and value > 1
        and always(function(n) return n % parts == 0 and k * (n // parts) or nil end) then
        return (k == 1 and "" or k .. " * (") .. n_name .. " // " .. parts .. (k == 1 and "" or ")"), k == 1 and parts or nil
      end
    end
  end
  for times = 2, 16 do
    if always(function(n) return times * n end) and main > 1 then return times .. " * " .. n_name end
  end
  local off <const> = value - main
  if math.abs(off) <= 64 and math.abs(off) < math.min(value, main) and always(function(n) return n + off end) then
    return n_name .. (off < 0 and " - " or " + ") .. math.abs(off)
  end
  return nil
end

return M
