-- SPDX-License-Identifier: MIT
-- Fixes for tensors in the wrong memory: each engine reaches some memories and not others, so either the allocation
-- names the wrong one, or a copy is missing.

local ast <const> = require "nki.ast"
local outputs <const> = require "nki.fixes.outputs"

local buffers <const> = {}

local function add(list, fix)
  if fix then list[#list + 1] = fix end
end

local function other_buffer(c, name, buffer, why)
  local operand <const>, node <const> = c:operand(name), c:arg(name)
  local made <const> = c:allocation(node, operand)
  if not made then return nil end
  local prefix <const> = c:nl(buffer)
  return c:fix(("allocate `%s` in %s%s"):format(c:base_name(node), buffer:upper():gsub("SHARED_HBM", "shared HBM"), why or ""),
    { c:set_allocation(made, "buffer", prefix) })
end

-- Put the operand into SBUF with tensor_copy just before the call. `dtype`: text of the copy's dtype.
local function copy_to_sbuf(c, name, dtype)
  local node <const> = c:arg(name)
  if not node or not c.statement or not c:alone(c.statement) then return nil end
  local fresh <const> = c:fresh(c:base_name(node):gsub("_psum$", "") .. "_sb")
  local text <const> = c:text(node)
  return c:fix(("copy `%s` to SBUF first"):format(text), {
    c:before(c.statement, c:copy_lines(fresh, text, dtype or text .. ".dtype")),
    c:replace(node, fresh),
  })
end

-- Load an HBM operand into SBUF just before the call.
local function load_to_sbuf(c, name)
  local node <const> = c:arg(name)
  if not node or not c.statement or not c:alone(c.statement) then return nil end
  local fresh <const> = c:fresh(c:base_name(node) .. "_sb")
  local text <const> = c:text(node)
  return c:fix(("load `%s` into SBUF first"):format(text), {
    c:before(c.statement, {
      ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(fresh, c:nl("ndarray"), text, text, c:nl("sbuf")),
      ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), fresh, text),
    }),
    c:replace(node, fresh),
  })
end

-- The result goes to HBM: compute into SBUF, store afterwards.
local function store_after(c, name)
  local node <const> = c:arg(name)
  if not node or not c.statement or not c:alone(c.statement) then return nil end
  local fresh <const> = c:fresh(c:base_name(node) .. "_sb")
  local text <const> = c:text(node)
  return c:fix(("compute in SBUF, then store to `%s`"):format(text), {
    c:before(c.statement, { ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(fresh, c:nl("ndarray"), text, text, c:nl("sbuf")) }),
    c:replace(node, fresh),
    c:after(c.statement, { ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), text, fresh) }),
  })
end

local function wrong_operands(c, accept)
  local list <const> = {}
  for _, operand in ipairs(c.err.operands or {}) do
    if operand.buffer and not accept[operand.buffer] then list[#list + 1] = operand end
  end
  return list
end

local HBM <const> = { hbm = true, shared_hbm = true, private_hbm = true }

function buffers.matmul_operand(c)
  local fixes <const> = {}
  for _, operand in ipairs(wrong_operands(c, { sbuf = true })) do
    if operand.name ~= "dst" then
      if HBM[operand.buffer] then
        add(fixes, load_to_sbuf(c, operand.name))
      else
        -- A tile filled by DMA never belonged in PSUM; one written by a matmul did.
        add(fixes, other_buffer(c, operand.name, "sbuf"))
        add(fixes, copy_to_sbuf(c, operand.name))
      end
    end
  end
  return fixes
end

function buffers.matmul_dst(c)
  local fixes <const> = {}
  local operand <const> = c:operand("dst")
  local node <const> = c:arg("dst")
  local made <const> = c:allocation(node, operand)
  if made and not (operand and HBM[operand.buffer]) then
    local edits <const> = { c:set_allocation(made, "buffer", c:nl("psum")) }
    local dtype <const> = c:allocation_arg(made, "dtype")
    if dtype and ast.resolve(dtype, c.imports) ~= "nki.language.float32" then
      edits[#edits + 1] = c:set_allocation(made, "dtype", c:nl("float32"))
    end
    add(fixes, c:fix(("allocate `%s` in PSUM"):format(c:base_name(node)), edits))
  end
  if node and c.statement and c:alone(c.statement) then
    local fresh <const> = c:fresh(c:base_name(node) .. "_psum")
    local text <const> = c:text(node)
    local copy <const> = operand and HBM[operand.buffer]
    local after <const> = {}
    if copy then
      local staged <const> = c:fresh(c:base_name(node) .. "_sb")
      after[1] = ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(staged, c:nl("ndarray"), text, text, c:nl("sbuf"))
      after[2] = ("%s(dst=%s, src=%s)"):format(c:nisa("tensor_copy"), staged, fresh)
      after[3] = ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), text, staged)
    else
      after[1] = ("%s(dst=%s, src=%s)"):format(c:nisa("tensor_copy"), text, fresh)
    end
    add(fixes, c:fix(("multiply into PSUM, then copy to `%s`"):format(text), {
      c:before(c.statement, {
        ("%s = %s(%s.shape, dtype=%s, buffer=%s)"):format(fresh, c:nl("ndarray"), text, c:nl("float32"), c:nl("psum")),
      }),
      c:replace(node, fresh),
      c:after(c.statement, after),
    }))
  end
  return fixes
end

-- DMA cannot read or write PSUM: the copy through SBUF takes the dtype of the other side, which is what leaves the chip.
function buffers.psum_dma(c)
  local fixes <const> = {}
  local op <const> = c.call and c:op_of(c.call) or ""
  for _, name in ipairs { "src", "value", "dst" } do
    local operand <const> = c:operand(name)
    if operand and operand.buffer == "psum" then
      if name == "dst" then
        add(fixes, other_buffer(c, name, "sbuf"))
      else
        local other <const> = c:arg("dst")
        local dtype
        if other then
          local root <const> = ast.root(other)
          dtype = root and root .. ".dtype" or c:text(other) .. ".dtype"
        end
        if op:match("store$") and c.call.args[1] then dtype = (ast.root(c.call.args[1]) or "") .. ".dtype" end
        add(fixes, copy_to_sbuf(c, name, dtype))
      end
    end
  end
  return fixes
end

-- A compute instruction on HBM: load first, or store afterwards.
function buffers.hbm_operand(c)
  local fixes <const> = {}
  for _, operand in ipairs(c.err.operands or {}) do
    if operand.buffer and HBM[operand.buffer] then
      if operand.name == "dst" then
        add(fixes, store_after(c, "dst"))
      else
        add(fixes, load_to_sbuf(c, operand.name))
      end
    end
  end
  return fixes
end

function buffers.two_psum(c)
  local fixes <const> = {}
  for _, name in ipairs { "data2", "operand1", "data1", "predicate" } do
    local operand <const> = c:operand(name)
    if operand and operand.buffer == "psum" then
      add(fixes, copy_to_sbuf(c, name))
      break
    end
  end
  return fixes
end

-- GpSimd reaches SBUF only: leave the engine to the compiler, or move the operand.
function buffers.not_allowed(c)
  local fixes <const> = {}
  if c.call then
    local engine <const> = c:arg("engine")
    if engine and (c:text(engine)):match("gpsimd") then
      add(fixes, c:fix("let the Vector Engine do it: it reads PSUM", { c:set_argument(c.call, "engine", c:nisa("engine.vector")) }))
    end
  end
  for _, operand in ipairs(c.err.operands or {}) do
    if operand.buffer and HBM[operand.buffer] then
      add(fixes, operand.name == "dst" and store_after(c, "dst") or load_to_sbuf(c, operand.name))
    elseif operand.buffer == "psum" then
      if operand.name == "dst" then
        add(fixes, other_buffer(c, "dst", "sbuf"))
      else
        add(fixes, copy_to_sbuf(c, operand.name))
      end
    elseif operand.buffer == "sbuf" and operand.name == "dst" and c.err.want and c.err.want:match("psum") then
      add(fixes, other_buffer(c, "dst", "psum"))
    end
  end
  return fixes
end

-- What is returned must live in shared HBM.
function buffers.output(c)
  local fixes <const> = {}
  local operand <const> = c.err.operands and c.err.operands[1]
  local node = c.node
  if node and node.type == "Return" then node = node.value end
  if node and (node.type == "Tuple" or node.type == "List") and operand then
    for _, item in ipairs(node.elts) do
      local made <const> = c:allocation(item, nil)
      local by_site <const> = operand.site and c.site_node and c.site_node(operand.site)
      if made and made == by_site then node = item end
    end
  end
  -- A tile is returned while a tensor in shared HBM was made and written for it.
  if node and node.type == "Name" and operand and not HBM[operand.buffer or ""] and c.fn then
    local written <const> = outputs.written(c.fn, c.source)
    if #written == 1 then add(fixes, c:fix(("return `%s`, where the result is stored"):format(written[1]), { c:replace(node, written[1]) })) end
  end
  local made <const>, statement <const> = c:allocation(node, operand)
  if made and operand and HBM[operand.buffer or ""] then
    add(fixes, c:fix("allocate the output in shared HBM", { c:set_allocation(made, "buffer", c:nl("shared_hbm")) }))
    return fixes
  end
  -- An on-chip tile is returned: give the result a tensor in HBM and store into it. A PSUM tile passes through SBUF.
  local back = c.statement
  if not back or back.type ~= "Return" then
    back = nil
    ast.walk(c.fn or c.tree, function(child)
      if child.type == "Return" and child.value then back = child end
    end)
  end
  if back and node and node.type == "Name" and c:alone(back) then
    local fresh <const>, text <const> = c:fresh(node.id .. "_hbm"), node.id
    local lines <const> = { ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(fresh, c:nl("ndarray"), text, text, c:nl("shared_hbm")) }
    local from = text
    if operand and operand.buffer == "psum" then
      from = c:fresh(node.id .. "_sb")
      for _, line in ipairs(c:copy_lines(from, text, text .. ".dtype")) do lines[#lines + 1] = line end
    end
    lines[#lines + 1] = ("%s(dst=%s, src=%s)"):format(c:nisa("dma_copy"), fresh, from)
    add(fixes, c:fix("store the result into shared HBM and return that", { c:before(back, lines), c:replace(node, fresh) }))
  end
  -- The old way of a copy-out tile: allocate the returned name itself in shared HBM when it is only a DMA destination.
  if made and statement then
    add(fixes, c:fix("allocate the output in shared HBM", { c:set_allocation(made, "buffer", c:nl("shared_hbm")) }))
  end
  return fixes
end

-- A kernel's input is written: give the result its own tensor, and return it.
function buffers.immutable(c)
  local node <const> = c:arg("dst") or c.call and c.call.args[1]
  local root <const> = node and ast.root(node)
  if not root or not c.fn then return nil end
  local fresh <const> = c:fresh(root .. "_out")
  local first
  for _, statement in ipairs(c.fn.body) do
    local doc <const> = statement.type == "Expr" and statement.value.type == "Constant"
    if not doc then
      first = statement
      break
    end
  end
  if not first or not c:alone(first) then return nil end
  local edits <const> = {
    c:before(first, { ("%s = %s(%s.shape, dtype=%s.dtype, buffer=%s)"):format(fresh, c:nl("ndarray"), root, root, c:nl("shared_hbm")) }),
  }
  local returned = false
  ast.walk(c.fn, function(child, above, field)
    if child.type == "Call" then
      local dst <const> = c:arg("dst", child)
      local name, name_node = nil, nil
      if dst then name, name_node = ast.root(dst) end
      if name == root then edits[#edits + 1] = c:replace(name_node, fresh) end
    elseif child.type == "Return" then
      if child.value and child.value.type == "Name" and child.value.id == root then
        edits[#edits + 1] = c:replace(child.value, fresh)
      end
      returned = returned or (child.value ~= nil and above == c.fn and field == "body")
    end
  end)
  if not returned then
    local last <const> = c.fn.body[#c.fn.body]
    edits[#edits + 1] = c:after(last, { "return " .. fresh })
    -- The statement may be nested deeper than the function's body: indent as the body does.
    edits[#edits].text = c.source:indent(first.lineno) .. "return " .. fresh .. "\n"
  end
  return { c:fix(("write to a new output instead of `%s`"):format(root), edits) }
end

return buffers
