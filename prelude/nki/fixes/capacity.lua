-- SPDX-License-Identifier: MIT
-- Tiles that do not fit: a row that is longer than SBUF holds is worked on in chunks of its columns, where every operation
-- between load and store takes each element alone. What cannot be cut like that is told which tile to cut, and how small.
--
--   capacity.chunks(c)         fix builder for sbuf-capacity: a loop over column chunks
--   capacity.advice(err, c)    the concrete change in words, for the message
--   capacity.start(c)          fix builder for start-partition: through a tile that starts at partition 0

local ast <const> = require "nki.ast"

local capacity <const> = {}

local ELEMENTWISE <const> = {}
for word in ([[nki.isa.dma_copy nki.isa.tensor_copy nki.isa.memset nki.isa.tensor_tensor nki.isa.tensor_scalar nki.isa.activation nki.isa.reciprocal
  nki.isa.scalar_tensor_tensor nki.language.ndarray nki.language.zeros nki.language.load nki.language.store nki.language.add nki.language.subtract
  nki.language.multiply nki.language.divide nki.language.maximum nki.language.minimum nki.language.exp nki.language.tanh nki.language.sigmoid
  nki.language.gelu nki.language.silu nki.language.relu nki.language.sqrt nki.language.rsqrt nki.language.square nki.language.log nki.language.abs
  nki.language.copy nki.language.negative nki.language.reciprocal]]):gmatch("%S+") do
  ELEMENTWISE[word] = true
end

local function bytes_of(text) return math.tointeger(tonumber((tostring(text or "")):match("(%d+)"))) end

-- What does not fit: {made=allocating call, columns=, rows=, dtype=, chunk=columns that fit} or nil. Either everything alive is too
-- much (the operands are the largest tiles) or one tensor alone is (its sizes are values).
local function too_much(err, c)
  local needed <const>, limit <const> = bytes_of(err.got), bytes_of(err.want)
  local first <const> = err.operands and err.operands[1]
  if not needed or not limit or needed <= 0 or not first or not c then return nil end
  local facts <const> = { made = c.call, dtype = first.dtype }
  if first.shape then
    facts.made = first.site and c.site_node and c.site_node(first.site)
    facts.shape = first.shape
  else
    facts.shape = {}
    for extent in tostring(first.value):gmatch("%d+") do facts.shape[#facts.shape + 1] = math.tointeger(tonumber(extent)) end
    facts.dtype = err.operands[2] and tostring(err.operands[2].value)
  end
  if #facts.shape ~= 2 or not facts.made or facts.made.type ~= "Call" then return nil end
  facts.columns = facts.shape[2]
  facts.statement = ast.statement(facts.made, c.parents)
  -- Tiles of the same row length share the memory.
  local shape <const>, count = c:allocation_arg(facts.made, "shape"), 0
  local last <const> = shape and (shape.type == "Tuple" and shape.elts[#shape.elts] or shape)
  ast.walk(c.fn or c.tree, function(node)
    if node.type == "Call" and (c:op_of(node) or ""):find("%.ndarray$") then
      local sizes <const>, buffer <const> = c:allocation_arg(node, "shape"), c:allocation_arg(node, "buffer")
      local size <const> = sizes and (sizes.type == "Tuple" and sizes.elts[#sizes.elts] or sizes)
      if size and last and c:text(size) == c:text(last) and not (buffer and c:text(buffer):find("hbm", 1, true)) then count = count + 1 end
    end
  end)
  local alone <const> = first.shape == nil
  local fits <const> = facts.columns * limit // ((alone and math.max(2, count) or 2) * needed)
  local chunk = 1
  while chunk * 2 <= fits do chunk = chunk * 2 end
  facts.chunk = chunk >= 16 and chunk or nil
  return facts
end

function capacity.advice(err, c)
  local facts <const> = too_much(err, c)
  if not facts then return nil end
  local statement <const> = facts.statement
  local name <const> = statement and statement.type == "Assign" and statement.targets[1].type == "Name" and "`" .. statement.targets[1].id .. "`"
  local which <const> = ("%s %s[%s] of line %d"):format(name or "a tile", facts.dtype or "", table.concat(facts.shape, ","), facts.made.lineno)
  if err.code == "psum-capacity" then
    return ("the largest is %s: copy it to SBUF with tensor_copy before the next accumulator is written, so that its bank is free"):format(which)
  end
  return ("the largest is %s: work on at most %d of its %d columns at a time"):format(which, facts.chunk or math.max(1, facts.columns // 4), facts.columns)
end

-- Names of tensors in HBM: parameters and what is allocated there.
local function hbm_names(c)
  local set <const> = {}
  for _, arg in ipairs(c.fn.args.args) do set[arg.arg] = true end
  ast.walk(c.fn, function(node)
    if node.type == "Assign" and node.targets[1].type == "Name" and node.value.type == "Call" then
      local buffer <const> = ast.argument(node.value, "buffer", 3)
      if buffer and c:text(buffer):find("hbm", 1, true) then set[node.targets[1].id] = true end
    end
  end)
  return set
end

local function same_sizes(c, size)
  local same <const> = { [size] = true }
  ast.walk(c.fn, function(node)
    if node.type == "Assign" and node.value.type == "Attribute" and node.value.attr == "shape" and node.targets[1].type == "Tuple" then
      local last <const>, n <const> = node.targets[1].elts[#node.targets[1].elts], #node.targets[1].elts
      local text <const> = ("%s[%d]"):format(c:text(node.value), n - 1)
      if last.type == "Name" and (same[last.id] or same[text]) then same[last.id], same[text] = true, true end
    end
  end)
  return same
end

-- A cut of the last dimension of a subscript's or a whole tensor's columns.
local function cut(c, node, names, col, cols, same, edits)
  if node.type == "Name" then
    edits[#edits + 1] = c:replace(node, ("%s[:, %s:%s + %s]"):format(node.id, col, col, cols))
    return true
  end
  local keys <const> = node.slice.type == "Tuple" and node.slice.elts or { node.slice }
  local last <const> = keys[2]
  if not last then
    local first <const> = c:text(keys[1])
    edits[#edits + 1] = c:replace(node.slice, ("%s, %s:%s + %s"):format(first, col, col, cols))
    return true
  end
  if #keys ~= 2 or last.type ~= "Slice" or last.step then return false end
  local low <const>, high <const> = last.lower and c:text(last.lower) or "0", last.upper and c:text(last.upper)
  if low ~= "0" or high and not same[high] then return false end
  edits[#edits + 1] = c:replace(last, names.hbm and ("%s:%s + %s"):format(col, col, cols) or high and "0:" .. cols or ":")
  return true
end

function capacity.chunks(c)
  local facts <const> = too_much(c.err, c)
  if not facts or not facts.chunk then return nil end
  local made <const>, statement <const>, chunk <const> = facts.made, facts.statement, facts.chunk
  local fn <const> = statement and ast.enclosing(statement, c.parents, { FunctionDef = true })
  if not fn then return nil end
  c.fn = fn
  local block <const>, index <const> = ast.block(statement, c.parents)
  local shape <const> = c:allocation_arg(made, "shape")
  if not block or not shape then return nil end
  local size
  if shape.type == "Tuple" and #shape.elts == 2 then
    size = c:text(shape.elts[2])
  elseif shape.type == "Attribute" and shape.attr == "shape" then
    size = c:text(shape) .. "[1]"
  else
    return nil
  end
  local same <const>, hbm <const> = same_sizes(c, size), hbm_names(c)
  local last = #block
  if block[last].type == "Return" then last = last - 1 end
  local edits <const>, kept = {}, true
  local col, cols <const> = c:fresh("col"), c:fresh("cols")
  local indent <const> = c.source:indent(statement.lineno)
  local step <const> = indent:find("\t") and "\t" or "    "
  edits[1] = c.source.insert(statement.lineno, 1, ("%sfor %s in range(0, %s, %d):\n%s%s%s = min(%d, %s - %s)\n"):format(indent, col, size, chunk, indent,
    step, cols, chunk, size, col))
  for i = index, last do
    local item <const> = block[i]
    if item.type ~= "Assign" and item.type ~= "Expr" or not c:alone(item) then return nil end
    local into_hbm <const> = item.type == "Assign" and item.targets[1].type == "Name" and hbm[item.targets[1].id]
    if into_hbm then -- the output is made once, before the loop
      table.insert(edits, 1, c.source.insert(statement.lineno, 1, indent .. c.source:slice(item) .. "\n"))
      edits[#edits + 1] = { line = item.lineno, column = 1, end_line = item.end_lineno + 1, end_column = 1, text = "" }
    else
      for line = item.lineno, item.end_lineno do
        if c.source:line(line):find("%S") then edits[#edits + 1] = c.source.insert(line, 1, step) end
      end
      ast.walk(item, function(node, above, field)
        if node.type == "Call" and not ELEMENTWISE[c:op_of(node) or ""] and (c:op_of(node) or "nki."):find("^nki%.") then kept = false end
        if node.type == "Call" and (c:op_of(node) or ""):find("%.ndarray$") then
          local sizes <const> = c:allocation_arg(node, "shape")
          if sizes and sizes.type == "Tuple" and #sizes.elts == 2 and same[c:text(sizes.elts[2])] then
            edits[#edits + 1] = c:replace(sizes.elts[2], cols)
          elseif sizes and sizes.type == "Attribute" and same[c:text(sizes) .. "[1]"] then
            edits[#edits + 1] = c:replace(sizes, ("(%s[0], %s)"):format(c:text(sizes), cols))
          end
        elseif node.type == "Subscript" and node.value.type == "Name" and above.type ~= "Attribute" then
          if not cut(c, node, { hbm = hbm[node.value.id] }, col, cols, same, edits) then kept = false end
          return false
        elseif node.type == "Name" and hbm[node.id] and (above.type == "keyword" or above.type == "Call" and field == "args") then
          cut(c, node, { hbm = true }, col, cols, same, edits)
        elseif node.type == "Attribute" and node.attr == "shape" then
          return false
        end
      end)
    end
  end
  if not kept then return nil end
  return { c:fix(("work on %d columns at a time"):format(chunk), edits) }
end

-- An operand that starts at a partition engines cannot start at: DMA reaches any partition, so the operand goes through a tile
-- of its own that starts at 0. A copy is a DMA altogether.
function capacity.start(c)
  local call <const>, statement <const> = c.call, c.statement
  local operand <const> = c.err.operands and c.err.operands[1]
  if not call or not operand or not statement or not c:alone(statement) then return nil end
  local node <const> = c:arg(operand.name)
  if not node or node.type ~= "Subscript" then return nil end
  if (c:op_of(call) or ""):find("%.tensor_copy$") and operand.buffer == "sbuf" then
    local dst <const>, src <const> = c:arg("dst"), c:arg("src")
    if not dst or not src then return nil end
    return { c:fix("copy with DMA, which reaches every partition", {
      c:replace(call, ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), c:text(dst), c:text(src))),
    }) }
  end
  if operand.buffer ~= "sbuf" then return nil end
  local text <const>, fresh <const> = c:text(node), c:fresh(c:base_name(node) .. "_p0")
  local allocate <const> = ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(fresh, c:nl("ndarray"), text, text, c:nl("sbuf"))
  if operand.name == "dst" then
    if statement.type ~= "Expr" then return nil end
    return { c:fix(("compute at partition 0, then move to `%s` with DMA"):format(text), {
      c:before(statement, { allocate }), c:replace(node, fresh), c:after(statement, { ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), text, fresh) }),
    }) }
  end
  return { c:fix(("move `%s` to partition 0 with DMA first"):format(text), {
    c:before(statement, { allocate, ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), fresh, text) }), c:replace(node, fresh),
  }) }
end

return capacity
