-- SPDX-License-Identifier: MIT
-- The deterministic kernel writer: from traced references (one trace per case) to NKI kernel text. Chooses the loop order
-- that reads each input least often, and the plan: whole rows in SBUF, rows resident with temporaries in column chunks,
-- or columns streamed in passes. It proves nothing; the caller checks, simulates and verifies what it returns.

local emit <const> = require "writer.emit"
local extents <const> = require "writer.extents"
local layout_module <const> = require "writer.layout"
local lower <const> = require "writer.lower"
local program_module <const> = require "writer.program"

local M <const> = {}

local refuse <const> = layout_module.refuse

local reserved_words <const> = {
  "and", "as", "assert", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
  "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "None", "True", "False", "min", "max", "range", "abs", "float",
  "nki", "nl", "nisa", "P", "CHUNK", "p", "q", "r", "c", "w",
}

-- The shape-free structure of a graph, to tell whether two cases mean the same kernel.
local function structure(nodes)
  local list <const>, number <const> = {}, {}
  for i, node in ipairs(nodes) do
    number[node.id] = i
    -- Whole numbers may change with the shape (settled below), other constants may not.
    local value <const> = node.op == "const" and math.type(node.value) == "integer" and "int" or node.value_key or ""
    local parts <const> = { node.op, node.name or "", tostring(node.keepdims), value }
    if node.op == "reduce" then parts[#parts + 1] = #node.axes end
    if node.op == "transpose" then parts[#parts + 1] = table.concat(node.axes, ",") end
    for _, input in ipairs(node.inputs) do parts[#parts + 1] = number[input.id] end
    list[i] = table.concat(parts, "|")
  end
  return list
end

local function extents_score(trace)
  local distinct <const>, n = {}, 0
  for _, input in ipairs(trace.inputs) do
    for _, e in ipairs(input.shape) do
      if e ~= 1 then n = n + 100 end
      if not distinct[e] then
        distinct[e] = true
        n = n + 1
      end
    end
  end
  return n
end

local function permutations(n)
  local out <const> = {}
  local function go(prefix, left)
    if #left == 0 then out[#out + 1] = prefix return end
    for i = 1, #left do
      local rest <const> = { table.unpack(left) }
      local item <const> = table.remove(rest, i)
      local grown <const> = { table.unpack(prefix) }
      grown[#grown + 1] = item
      go(grown, rest)
    end
  end
  local all <const> = {}
  for i = 1, n do all[i] = i end
  if n > 4 then return { all } end
  go({}, all)
  return out
end

-- The loop order that moves the fewest bytes, the natural one where it makes no difference. An operand is read again in each turn
-- of an outer loop that it does not depend on.
local function choose_order(merged, leaves)
  local best, best_cost = nil, nil
  for _, order in ipairs(permutations(#merged)) do
    local position <const> = {}
    for i, axis in ipairs(order) do position[axis] = i end
    local cost = 0
    for _, leaf in ipairs(leaves) do
      if leaf.source.op == "input" then
        local level, size = 0, leaf.info.n
        for axis in pairs(leaf.deps) do level = math.max(level, position[axis]) end
        for i = 1, level do
          local extent <const> = merged[order[i]].extent
          local turns <const> = order[i] == #merged and (extent + 127) // 128 or extent
          size = size * (leaf.deps[order[i]] and extent or turns)
        end
        cost = cost + size
      end
    end
    if best == nil or cost < best_cost then best, best_cost = order, cost end
  end
  return best
end

local function product(list)
  local n = 1
  for _, e in ipairs(list) do n = n * e end
  return n
end

-- Derive a kernel.
--   job.traces: {{trace, outputs = {tensors}}} one per case; job.arguments: list of {name, kind = "tensor"|"value", dtype, default = text};
--   job.name: kernel name; job.about: {lines for the docstring}; job.budget: SBUF bytes per partition; job.out_dtype: optional;
--   job.name_of(node) -> the reference's own name for a value; job.plan: force a plan.
-- Returns {text, plan, limit = largest n or nil, reads = {inputs read once}, names}.
function M.derive(job)
  -- The same graph for every case, or no single kernel.
  local chosen, score = nil, nil
  local shapes <const> = {}
  for i, entry in ipairs(job.traces) do
    local nodes <const> = {}
    for j, tensor in ipairs(entry.outputs) do
      nodes[j] = tensor.node
      if #tensor.shape == 0 then
        refuse(tensor.node, "this result is a single number; a tensor of a kernel has at least one axis: keep it (keepdims) or add one")
      end
      -- A new shape at the very end is another view of the same memory.
      while nodes[j].op == "reshape" and not ({ input = true, arange = true, full = true, const = true })[nodes[j].inputs[1].op] do
        nodes[j] = nodes[j].inputs[1]
      end
    end
    entry.nodes = nodes
    entry.layout = layout_module.analyse(nodes)
    shapes[i] = structure(entry.layout.nodes)
    local s <const> = extents_score(entry.trace)
    if score == nil or s > score then chosen, score = entry, s end
  end
  for i = 2, #shapes do
    for j = 1, math.max(#shapes[1], #shapes[i]) do
      if shapes[1][j] ~= shapes[i][j] then
        local node <const> = job.traces[i].layout.nodes[j] or job.traces[1].layout.nodes[j]
        refuse(node, "the reference computes something else for case %d than for case 1 from here on; write one kernel per kind of case", i)
      end
    end
  end

  -- Whole numbers of the reference that are not the same in each case: what they are in terms of n.
  local samples <const> = extents.samples(job, chosen)
  local const_text <const> = {}
  local function settle_constants(n_name)
    for j, node in ipairs(chosen.layout.nodes) do
      if node.op == "const" and math.type(node.value) == "integer" then
        local differs, list <const> = false, {}
        for i, entry in ipairs(job.traces) do
          local value <const> = entry.layout.nodes[j].value
          differs = differs or value ~= node.value
          list[i] = { value, extents.main_columns(entry.layout) }
        end
        if differs then
          const_text[node.id] = extents.relation({ [node.value] = list }, extents.main_columns(chosen.layout), node.value, n_name)
          if not const_text[node.id] then
            local user = node
            for _, other in ipairs(chosen.layout.nodes) do
              for _, input in ipairs(other.inputs) do if input == node and user == node then user = other end end
            end
            refuse(user, "a number here is %d in one case and not in another, in a way that the kernel cannot tell from the shapes", node.value)
          end
        end
      end
    end
  end

  local hides <const> = {}
  for _, argument in ipairs(job.arguments) do
    hides[argument.name] = true
    if ({ nki = true, nl = true, nisa = true, math = true, range = true })[argument.name] then
      refuse(chosen.nodes[1], "an argument called %s hides a name that the kernel needs; call it something else", argument.name)
    end
  end
  local taken <const> = { table.unpack(reserved_words) }
  for _, argument in ipairs(job.arguments) do taken[#taken + 1] = argument.name end
  local is_taken <const> = {}
  for _, name in ipairs(taken) do is_taken[name] = true end
  local function fresh(base)
    local name, i = base, 2
    while is_taken[name] do
      name = base .. i
      i = i + 1
    end
    is_taken[name] = true
    taken[#taken + 1] = name
    return name
  end
  is_taken[job.name] = true
  taken[#taken + 1] = job.name
  local n_name <const> = fresh("n")
  -- The names of loops and extents, out of the way of the kernel's arguments.
  local vars <const> = {}
  for key, base in pairs({ r = "r", p = "p", c = "c", w = "w", q = "q", P = "P", C = "CHUNK" }) do
    local argued = job.name == base
    for _, argument in ipairs(job.arguments) do argued = argued or argument.name == base end
    vars[key] = argued and fresh(base .. "_") or base
  end

  -- Inputs whose rank changes with the case: their axes count from the end, and their rows are what is left of their size.
  local ranks <const>, varied <const> = {}, {}
  local any_varied = false
  for _, input in ipairs(chosen.trace.inputs) do ranks[input.name] = #input.shape end
  for _, entry in ipairs(job.traces) do
    for _, input in ipairs(entry.trace.inputs) do
      if ranks[input.name] ~= #input.shape then varied[input.name], any_varied = true, true end
    end
  end
  local function extent_text(name, axis)
    return ("%s.shape[%d]"):format(name, varied[name] and axis - ranks[name] or axis)
  end
  local main_source, main_axis
  local function dim_text(name, axis)
    if main_source == name and main_axis == axis then return n_name end
    return extent_text(name, axis)
  end
  -- The input that gives the number of columns.
  for _, node in ipairs(chosen.layout.nodes) do
    local info <const> = chosen.layout.of[node.id]
    if info.source and info.source.op == "input" and info.tail == "n" and info.n == extents.main_columns(chosen.layout) and not main_source
      and chosen.layout.used[node.id] then
      main_source = info.source.name
      if chosen.layout.k == 1 and info.view == nil then main_axis = #info.source.shape - 1 end
    end
  end
  settle_constants(n_name)
  local lowered <const> = lower.lower(chosen.nodes, dim_text, job.name_of or function() end, const_text)
  local merged <const> = lowered.merged
  if #merged == 0 then merged[1] = { extent = 1, first = 1, last = 0 } end
  local row_axis <const> = #merged
  local order <const> = choose_order(merged, lowered.leaves)
  local main <const> = extents.main_columns(chosen.layout)

  -- Texts of extents.
  local rank <const> = #lowered.layout.space
  local texts_of <const> = {}
  for _, leaf in ipairs(lowered.leaves) do
    local others <const> = {}
    for j, node in ipairs(chosen.layout.nodes) do
      if node == leaf.node then
        for i, entry in ipairs(job.traces) do
          local info <const> = entry.layout.of[entry.layout.nodes[j].id]
          others[i] = { view = info.view or info.source.shape, shape = info.source.shape }
        end
      end
    end
    texts_of[leaf] = extents.dim_texts(leaf, extent_text, others)
  end
  local prologue <const> = {}
  local rows_names <const> = {}
  for j, axis in ipairs(merged) do
    local text = nil
    if any_varied and #merged > 1 then
      refuse(chosen.nodes[1], "cases of different rank, with operands that repeat over some of the leading axes; write one kernel per rank")
    end
    if lowered.single_row then
      text = "1"
    elseif any_varied then
      for _, leaf in ipairs(lowered.leaves) do
        if not text and leaf.deps[j] and leaf.source.op == "input" and (leaf.info.tail ~= "n" or leaf.info.n == main) then
          text = leaf.source.name .. ".size" .. (leaf.info.tail == "n" and " // " .. n_name or "")
        end
      end
    else
      for _, leaf in ipairs(lowered.leaves) do
        if not text and leaf.deps[j] and leaf.source.op == "input" then
          local lead <const> = leaf.info.lead
          local parts <const> = {}
          if lowered.layout.flat then
            for i = 1, #texts_of[leaf] - (leaf.info.tail == "none" and 0 or lowered.layout.k) do
              if texts_of[leaf][i] ~= "1" then parts[#parts + 1] = texts_of[leaf][i] end
            end
          else
            for a = axis.first, axis.last do
              local at <const> = a - rank + #lead
              if lead[at] and texts_of[leaf][at] ~= "1" then parts[#parts + 1] = texts_of[leaf][at] end
            end
          end
          if #parts > 0 then text = table.concat(parts, " * ") end
          -- Axes of a view that no axis of the argument is: what is left of its size.
          if leaf.assumed and #merged == 1 and (leaf.info.tail ~= "n" or leaf.info.n == main) then
            text = leaf.source.name .. ".size" .. (leaf.info.tail == "n" and " // " .. n_name or "")
          end
        end
      end
    end
    axis.text = text or tostring(axis.extent)
    if axis.text:find("[%.%*/]") then
      rows_names[j] = fresh(j == row_axis and "rows" or ("d" .. j - 1))
      axis.value = axis.text
      axis.text = rows_names[j]
    end
  end

  -- The number of columns, and of each other width that an input has.
  local domains <const> = {}
  local tail_lines <const> = {}
  local k <const> = lowered.layout.k
  for _, leaf in ipairs(lowered.leaves) do
    if leaf.source.op == "input" and leaf.info.tail == "n" then
      local texts <const> = texts_of[leaf]
      local parts <const> = { table.unpack(texts, #texts - k + 1) }
      local text <const> = table.concat(parts, " * ")
      if leaf.info.n == main and leaf.source.name == main_source and #tail_lines == 0 then
        tail_lines[1] = { name = n_name, text = text, n = main }
      end
    end
  end
  for _, leaf in ipairs(lowered.leaves) do
    if leaf.source.op == "input" and leaf.info.tail == "n" and leaf.info.n ~= main and not domains[leaf.info.n] then
      local name <const> = fresh("n_" .. leaf.source.name)
      domains[leaf.info.n] = name
      local texts <const> = texts_of[leaf]
      tail_lines[#tail_lines + 1] = { name = name, text = table.concat({ table.unpack(texts, #texts - k + 1) }, " * "), n = leaf.info.n }
    end
  end

  -- Dtypes: a tile loaded from x has x.dtype, so that the kernel does not name what its caller chose.
  local inputs <const>, dtype_names <const> = {}, { float32 = "nl.float32" }
  for _, argument in ipairs(job.arguments) do
    if argument.kind == "tensor" then
      inputs[argument.name] = { dtype = argument.dtypes and "any:" .. argument.name or argument.dtype }
      if argument.dtypes then dtype_names["any:" .. argument.name] = argument.name .. ".dtype" end
      if not argument.dtypes and argument.dtype ~= "float32" and not dtype_names[argument.dtype] then
        dtype_names[argument.dtype] = argument.name .. ".dtype"
      end
      if argument.dtype == "bool" then dtype_names.bool = "nl.uint8" end
    end
  end

  local outputs <const> = {}
  for i, tensor in ipairs(chosen.outputs) do
    local declared = job.out_dtype or tensor.declared
    -- Cases of several types: the result has the type of an argument in each of them, or one type in all.
    local fixed, like = true, nil
    for _, entry in ipairs(job.traces) do fixed = fixed and (job.out_dtype or entry.outputs[i].declared) == declared end
    for _, argument in ipairs(job.arguments) do
      local same = argument.dtypes ~= nil and not fixed
      for _, entry in ipairs(job.traces) do
        for _, input in ipairs(entry.trace.inputs) do
          same = same and (input.name ~= argument.name or input.declared == entry.outputs[i].declared)
        end
      end
      if same then like = like or argument.name end
    end
    if not fixed and not like then
      refuse(tensor.node, "the type of this output changes with the case and is that of no argument; write one kernel per type, or fix it")
    end
    if like then declared = "any:" .. like end
    local dtype = declared
    if declared == "float64" then dtype = "float32" end
    if declared == "int64" then dtype = "int32" end
    if declared == "bool" then dtype = "uint8" end
    local info <const> = lowered.layout.of[chosen.nodes[i].id]
    local term <const> = lowered.outputs[i]
    local name <const> = fresh(#chosen.outputs == 1 and "out" or "out" .. i - 1)
    local tail, n = info.tail, info.n
    if info.scalar then tail, n = "n", tensor.shape[#tensor.shape] or 1 end
    local deps <const> = {}
    for j = 1, #merged do deps[j] = true end
    if info.scalar and product(tensor.shape) ~= product(lowered.layout.space) * n then
      refuse(tensor.node, "this output is the same constant everywhere and depends on no input")
    end
    if info.lead and not lowered.single_row then
      for _, axis in ipairs(merged) do
        local here = 1
        for a = axis.first, axis.last do here = here * (info.lead[a - rank + #info.lead] or 1) end
        if lowered.layout.flat then here = product(info.lead) end
        if here ~= axis.extent then refuse(tensor.node, "this output has fewer rows than other values of the kernel") end
      end
    end
    outputs[i] = { name = name, dtype = dtype, tail = tail == "n" and "n" or "one", n = n, term = term, deps = deps, tensor = tensor, index = i }
  end

  -- Plan: whole rows if every case's rows fit.
  local longest = 0
  for _, entry in ipairs(job.traces) do
    local n <const> = extents.main_columns(entry.layout)
    longest = math.max(longest, lowered.folded and (n % 128 == 0 and n // 128 or n) or n)
  end
  local budget <const> = job.budget
  local program, plan, limit, chunk
  for _, candidate in ipairs(job.plan and { job.plan } or { "rows", "resident", "stream" }) do
    local ok <const>, built <const> = pcall(program_module.build, lowered, inputs, outputs, order, row_axis, candidate, taken)
    if not ok then
      if type(built) ~= "table" or built.kind ~= "refused" then error(built, 0) end
      refuse(built.node or chosen.nodes[1], "rows of %d columns do not fit on chip and %s", longest, built.message)
    end
    local need <const> = built:footprint(main)
    plan, program = candidate, built
    if candidate == "rows" then
      limit = math.floor((budget - need.fixed) / math.max(need.row, 1e-9))
      if longest <= limit then break end
    elseif candidate == "resident" then
      local width = math.floor((budget - need.fixed - need.row * longest) / math.max(need.chunk, 1e-9))
      width = math.min(4096, width // 128 * 128)
      if width >= 512 then
        chunk = width
        limit = math.floor((budget - need.fixed - need.chunk * chunk) / math.max(need.row, 1e-9))
        break
      end
    else
      local width <const> = math.floor((budget - need.fixed) / math.max(need.chunk + need.row, 1e-9))
      chunk = math.min(4096, math.max(128, width // 128 * 128))
      limit = nil
    end
  end
  if plan == "rows" and limit and limit > 65536 then limit = 65536 end

  -- Prologue: extents, checks, results, views.
  local function view_shape(deps, tail, width_text)
    local parts <const> = {}
    for j, axis in ipairs(merged) do parts[j] = deps[j] and axis.text or "1" end
    parts[#parts + 1] = tail == "n" and width_text or "1"
    return "(" .. table.concat(parts, ", ") .. ")"
  end
  local function width_of(n) if n == main then return n_name end return domains[n] end
  -- A width of a result: one of the kernel's, or a part or multiple of n.
  local function width_text(n) return width_of(n) or extents.relation(samples, main, n, n_name) end
  if lowered.folded then
    local total <const> = fresh("size")
    rows_names[1] = fresh("rows")
    prologue[#prologue + 1] = ("%s = %s"):format(total, tail_lines[1].text)
    prologue[#prologue + 1] = ("%s = %s if %s %% %s == 0 else 1  # one long row, folded over the partitions"):format(
      rows_names[1], vars.P, total, vars.P)
    prologue[#prologue + 1] = ("%s = %s // %s"):format(n_name, total, rows_names[1])
    merged[1].text = rows_names[1]
  else
    for _, line in ipairs(tail_lines) do
      prologue[#prologue + 1] = ("%s = %s"):format(line.name, line.text)
    end
    if #tail_lines == 0 then prologue[#prologue + 1] = ("%s = %d"):format(n_name, main) end
    for _, axis in ipairs(merged) do
      if axis.value then prologue[#prologue + 1] = ("%s = %s"):format(axis.text, axis.value) end
    end
  end
  if limit then prologue[#prologue + 1] = ('assert %s <= %d, "rows longer than this do not fit in SBUF"'):format(n_name, limit) end
  local asserted <const> = {}
  for _, fixed in ipairs(lowered.fixed) do
    if not asserted[fixed.text] then
      asserted[fixed.text] = true
      prologue[#prologue + 1] = ("assert %s == %s"):format(fixed.text, emit.number_text(fixed.value))
    end
  end
  for _, guard in ipairs(chosen.trace.guards) do
    if guard.node.op == "param" and not asserted[guard.node.name] then
      asserted[guard.node.name] = true
      local v <const> = guard.value
      prologue[#prologue + 1] = ("assert %s == %s"):format(guard.node.name, type(v) == "boolean" and (v and "True" or "False") or emit.number_text(v))
    end
  end
  for _, output in ipairs(outputs) do
    local dtype = dtype_names[output.dtype] or "nl." .. output.dtype
    for _, argument in ipairs(job.arguments) do
      if argument.kind == "tensor" and not argument.dtypes and argument.dtype == output.dtype and dtype:find("^nl%.") and argument == job.arguments[1]
        and output.tensor.declared == argument.dtype then dtype = argument.name .. ".dtype" end
    end
    output.dtype_text = dtype
    prologue[#prologue + 1] = ("%s = nl.ndarray(%s, dtype=%s, buffer=nl.shared_hbm)"):format(output.name,
      extents.output_shape_text(job, chosen, output.index, extent_text, width_text, output.tensor.node), dtype)
  end
  local views <const>, view_names <const> = {}, {}
  for _, t in ipairs(lowered.terms.list) do
    if t.op == "input" and program.uses[t.id] and not views[t.key] then
      local shape <const> = view_shape(t.deps, t.tail, width_of(t.n) or tostring(t.n))
      local label <const> = t.name .. shape
      if not view_names[label] then
        local plain <const> = #t.leaf.source.shape == #merged + 1 and t.leaf.info.view == nil and not lowered.folded and #merged == 1
          and (t.deps[1] or t.leaf.source.shape[1] == 1) and (t.tail == "n" or t.leaf.source.shape[2] == 1) and not varied[t.name]
        if plain then
          view_names[label] = t.name
        else
          view_names[label] = fresh(t.name .. "_rows")
          prologue[#prologue + 1] = ("%s = %s.reshape(%s)"):format(view_names[label], t.name, shape)
        end
      end
      views[t.key] = view_names[label]
    end
  end
  for _, output in ipairs(outputs) do
    local shape <const> = output.tensor.shape
    local fixed_rank = not any_varied
    for _, entry in ipairs(job.traces) do fixed_rank = fixed_rank or #entry.outputs[output.index].shape == #shape end
    if #merged == 1 and #shape == 2 and output.tail == "n" and not lowered.folded and fixed_rank and product(shape) // output.n == merged[1].extent
      and shape[2] == output.n then
      output.view = output.name
    else
      output.view = fresh(output.name .. "_rows")
      local width <const> = output.tail == "n" and (width_text(output.n) or tostring(output.n)) or "1"
      prologue[#prologue + 1] = ("%s = %s.reshape(%s)"):format(output.view, output.name, view_shape(output.deps, output.tail, width))
    end
  end

  local signature, returns, loop_names <const> = {}, {}, {}
  for i, argument in ipairs(job.arguments) do
    signature[i] = argument.name .. (argument.default and "=" .. argument.default or "")
  end
  for i, output in ipairs(outputs) do returns[i] = output.name end
  for j = 1, #merged do loop_names[j] = j == row_axis and vars.r or fresh("i" .. j - 1) end

  -- Shapes in words, for the docstring.
  local function lead_words(lead, varies)
    if varies then return "..., " end
    local ones = true
    for _, e in ipairs(lead) do ones = ones and e == 1 end
    if #lead == 0 then return "" end
    if ones then return ("1, "):rep(#lead) end
    return #lead == 1 and "rows, " or "..., "
  end
  local function tail_words(shape, n)
    if k == 1 then return shape[#shape] == 1 and "1" or width_text(n) or tostring(n) end
    return table.concat(shape, ", ", math.max(1, #shape - k + 1))
  end
  local function argument_shape(name)
    for _, input in ipairs(chosen.trace.inputs) do
      if input.name == name then
        local lead <const> = { table.unpack(input.shape, 1, math.max(0, #input.shape - k)) }
        local known = nil
        for _, leaf in ipairs(lowered.leaves) do if leaf.source == input and leaf.info.view == nil then known = leaf.info.n end end
        if not known and k == 1 then return "[" .. table.concat(input.shape, ", ") .. "] in the first case" end
        return "[" .. lead_words(lead, varied[name]) .. tail_words(input.shape, known) .. "]"
      end
    end
  end
  local function result_shape(output)
    local shape <const> = output.tensor.shape
    local whole <const> = output.tail == "n" and product({ table.unpack(shape, math.max(1, #shape - k + 1)) }) == output.n
    if not whole then
      if shape[#shape] == 1 or #shape == 1 or output.tail == "one" then
        return shape[#shape] == 1 and "[..., 1]" or #shape == 1 and "[rows]" or "[...]"
      end
      return "[" .. table.concat(shape, ", ") .. "] in the first case"
    end
    return "[" .. lead_words({ table.unpack(shape, 1, #shape - k) }, any_varied) .. tail_words(shape, output.n) .. "]"
  end

  local text <const>, assumed <const> = emit.kernel({
    program = program, vars = vars, hides = hides, math = lowered.math, name = job.name, signature = table.concat(signature, ", "), docstring = job.docstring({
      argument_shape = argument_shape, result_shape = result_shape, passes = program.passes and #program.passes + 1,
      plan = plan, limit = limit, n_name = n_name, outputs = outputs, chunk = chunk, folded = lowered.folded,
    }),
    relation = function(value) return extents.relation(samples, main, value, n_name) end,
    prologue = prologue, views = views, outputs = outputs, axes = merged, order = order, row_axis = row_axis, main = main, n_name = n_name, domains = domains,
    dtype_names = dtype_names, chunk = chunk, loop_names = loop_names, returns = table.concat(returns, ", "),
  })
  return { text = text, plan = plan, limit = limit, assumed = assumed, outputs = outputs, name = job.name, once = plan ~= "stream" }
end

return M
