-- SPDX-License-Identifier: MIT
-- The kernel's text from a program: views of the arguments, loops, and one line per instruction.

local terms_module <const> = require "writer.terms"
local program_module <const> = require "writer.program"

local M <const> = {}

local nl <const> = program_module.nl_names
local Emit <const> = {}
Emit.__index = Emit

function Emit:line(text, ...)
  if select("#", ...) > 0 then text = text:format(...) end
  self.out[#self.out + 1] = text == "" and "" or (" "):rep(4 * self.indent) .. text
end

-- A call, broken after a comma where it would be wider than 100 columns.
function Emit:call(name, args)
  local head <const> = name .. "("
  local pad <const> = (" "):rep(4 * self.indent)
  local line = pad .. head
  local hang <const> = (" "):rep(4 * self.indent + #head)
  for i, arg in ipairs(args) do
    local piece <const> = arg .. (i < #args and "," or ")")
    if #line + #piece + 1 > 100 and line ~= pad .. head and line ~= hang then
      self.out[#self.out + 1] = line
      line = hang .. piece
    else
      line = line .. ((line == pad .. head or line == hang) and "" or " ") .. piece
    end
  end
  self.out[#self.out + 1] = line
end

local function parens(text) if text:find("^[%w_%.]+$") or text:find("^[%w_%.]+%b[]$") then return text end return "(" .. text .. ")" end

-- Columns of a domain as Python text.
function Emit:columns(n)
  if n == 1 and n ~= self.main then return "1" end
  local text <const> = n == self.main and self.n_name or self.domains[n] or self.relation(n)
  if text then return text end
  self.assumed = true
  return tostring(n)
end

-- A column position within a domain.
function Emit:position(at) return self.relation(at) or tostring(at) end

-- An operand as text inside `block`.
function Emit:operand(r, block)
  if r.text then return r.text end
  local tile <const> = r.tile
  local inside <const> = block.level >= self.program.row_position
  local rows <const> = tile.whole and inside and "0:\1p" or nil
  local columns = nil
  if r.view and block.chunk and r.n > 1 and not tile.chunked then
    columns = self:columns_of("n", r.n, block, r.start, r.step)
  elseif r.start and not (r.start == 0 and r.n == tile.n and (r.step or 1) == 1) then
    local from <const> = self:position(r.start)
    local span <const> = r.n * (r.step or 1)
    if tile.tail == "n" and r.n == 1 then
      columns = from .. ":" .. self:position(r.start) .. " + 1"
    else
      local to <const> = r.start + span >= tile.n and self:columns(tile.n) or self:position(r.start + span)
      columns = from .. ":" .. to .. ((r.step or 1) ~= 1 and ":" .. r.step or "")
    end
  elseif block.chunk and tile.tail == "n" and not tile.chunked then
    columns = "\1c:\1c + \1w"
  end
  local text = tile.name
  if rows or columns then
    local all <const> = tile.tail ~= "n" and "1" or block.chunk and tile.chunked and "\1w" or self:columns(tile.n)
    text = ("%s[%s, %s]"):format(text, rows or tile.whole and "0:\1P" or "0:\1p", columns or "0:" .. all)
  end
  if r.spread then text = text .. ".broadcast(1, " .. (block.chunk and "\1w" or self:columns(r.spread)) .. ")" end
  return text
end

local function dtype_text(self, tile)
  if tile.dtype == nil then return "nl.float32" end
  return self.dtype_names[tile.dtype] or "nl." .. tile.dtype
end

function Emit:shape_of(tile, block)
  local rows <const> = tile.single and "1" or tile.whole and "\1P" or "\1p"
  local columns = "1"
  if tile.tail == "n" then
    columns = (tile.chunked and block.chunk) and "\1w" or self:columns(tile.n)
  end
  return "(" .. rows .. ", " .. columns .. ")"
end

-- Columns start, start + step, ... of a row: those of the chunk at hand inside a loop over chunks.
function Emit:columns_of(tail, n, block, start, step)
  local from <const> = start ~= 0 and self:position(start) or nil
  if tail ~= "n" then return from and ("%s:%s + 1"):format(from, from) or "0:1" end
  if block.chunk then
    local function at(c) return (from and from .. " + " or "") .. (step == 1 and c or ("%d * %s"):format(step, c)) end
    if step == 1 then return at("\1c") .. ":" .. at("\1c") .. " + \1w" end
    return at("\1c") .. ":" .. at("(\1c + \1w - 1)") .. " + 1:" .. step
  end
  if not from and step == 1 then return "0:" .. self:columns(n) end
  return ("%s:%s%s"):format(from or "0", self:position(start + (n - 1) * step + 1), step ~= 1 and ":" .. step or "")
end

-- The part of an HBM argument that a tile loads or stores. `deps` tells along which merged axes it varies.
function Emit:region(view, deps, tail, n, block, start, step)
  local index <const> = {}
  local axes <const> = self.axes
  for j = 1, #axes do
    if j == self.row_axis then
      index[#index + 1] = deps[j] and "\1r:\1r + \1p" or "0:1"
    else
      index[#index + 1] = deps[j] and self.loop_names[j] or "0"
    end
  end
  index[#index + 1] = self:columns_of(tail, n, block, start or 0, step or 1)
  return view .. "[" .. table.concat(index, ", ") .. "]"
end

local handlers <const> = {}

function handlers.declare(self, i, block)
  if i.tile.undeclared then return end
  self:line("%s = nl.ndarray(%s, dtype=%s, buffer=nl.sbuf)", i.tile.name, self:shape_of(i.tile, block), dtype_text(self, i.tile))
end
function handlers.load(self, i, block)
  local t <const> = i.term
  local source <const> = t.op == "view" and t.args[1] or t
  self:call("nisa.dma_copy", { "dst=" .. self:operand(i.out, block), "src=" .. self:region(self.views[source.key], t.deps, t.tail, t.n, block,
    t.start, t.step) })
end
-- One partition to all of them: a shuffle reaches 32.
function handlers.spread(self, i, block)
  local tile <const> = i.dst
  local columns <const> = tile.tail ~= "n" and "1" or (tile.chunked and block.chunk) and "\1w" or self:columns(tile.n)
  self:line("for \1q in range(0, \1P, 32):  # the row to every partition, 32 at a time")
  self.indent = self.indent + 1
  self:call("nisa.nc_stream_shuffle", { ("dst=%s[\1q:\1q + 32, 0:%s]"):format(tile.name, columns), "src=" .. i.src.tile.name, "shuffle_mask=[0] * 32" })
  self.indent = self.indent - 1
end
function handlers.store(self, i, block)
  local output <const> = i.output
  local view <const> = (output.of or output).view
  self:call("nisa.dma_copy", { "dst=" .. self:region(view, output.deps, output.tail, output.n, block, output.start, output.step),
    "src=" .. self:operand(i.src, block) })
end
function handlers.copy(self, i, block) self:call("nisa.tensor_copy", { "dst=" .. self:operand(i.out, block), "src=" .. self:operand(i.src, block) }) end
function handlers.memset(self, i, block) self:call("nisa.memset", { "dst=" .. self:operand(i.out, block), "value=" .. i.value.text }) end
local activation_names <const> = { exp = "nl.exp" }
function handlers.act(self, i, block)
  local args <const> = { "dst=" .. self:operand(i.out, block), "op=" .. (activation_names[i.f] or "nl." .. i.f), "data=" .. self:operand(i.data, block) }
  if i.scale then args[#args + 1] = "scale=" .. self:operand(i.scale, block) end
  if i.bias then args[#args + 1] = "bias=" .. self:operand(i.bias, block) end
  if i.sum then
    args[#args + 1] = "reduce_op=nl.add"
    args[#args + 1] = "reduce_res=" .. self:operand(i.sum, block)
    self:call("nisa.activation_reduce", args)
  else
    self:call("nisa.activation", args)
  end
end
local function alu(name) return nl[name] or "nl." .. name end
function handlers.ts(self, i, block)
  local args <const> = { "dst=" .. self:operand(i.out, block), "data=" .. self:operand(i.data, block), "op0=" .. alu(i.op0), "operand0="
    .. self:operand(i.operand0, block) }
  if i.reverse0 then args[#args + 1] = "reverse0=True" end
  if i.op1 then
    args[#args + 1] = "op1=" .. alu(i.op1)
    args[#args + 1] = "operand1=" .. self:operand(i.operand1, block)
    if i.reverse1 then args[#args + 1] = "reverse1=True" end
  end
  self:call("nisa.tensor_scalar", args)
end
function handlers.stt(self, i, block)
  local args <const> = {
    "dst=" .. self:operand(i.out, block), "data=" .. self:operand(i.data, block), "op0=" .. alu(i.op0), "operand0=" .. self:operand(i.operand0, block),
    "op1=" .. alu(i.op1), "operand1=" .. self:operand(i.operand1, block),
  }
  if i.reverse0 then args[#args + 1] = "reverse0=True" end
  if i.reverse1 then args[#args + 1] = "reverse1=True" end
  self:call("nisa.scalar_tensor_tensor", args)
end
function handlers.tt(self, i, block)
  self:call("nisa.tensor_tensor", { "dst=" .. self:operand(i.out, block), "data1=" .. self:operand(i.data1, block), "data2="
    .. self:operand(i.data2, block), "op=" .. alu(i.op) })
end
function handlers.recip(self, i, block) self:call("nisa.reciprocal", { "dst=" .. self:operand(i.out, block), "data=" .. self:operand(i.data, block) }) end
function handlers.reduce(self, i, block)
  local args <const> = { "dst=" .. self:operand(i.out, block), "op=" .. alu(i.f), "data=" .. self:operand(i.data, block), "axis=1" }
  if i.negate then args[#args + 1] = "negate=True" end
  self:call("nisa.tensor_reduce", args)
end
function handlers.combine(self, i, block)
  self:line("if \1c == 0:")
  self.indent = self.indent + 1
  handlers.copy(self, i, block)
  self.indent = self.indent - 1
  self:line("else:")
  self.indent = self.indent + 1
  local out <const> = self:operand(i.out, block)
  self:call("nisa.tensor_tensor", { "dst=" .. out, "data1=" .. out, "data2=" .. self:operand(i.src, block), "op=" .. alu(i.f) })
  self.indent = self.indent - 1
end
function handlers.carry(self, i, block)
  self:call("nisa.tensor_copy", { "dst=" .. self:operand(i.out, block), "src=" .. i.src.tile.name .. "[0:\1p, \1w - 1:\1w]" })
end
function handlers.predicated(self, i, block)
  self:call("nisa.tensor_copy_predicated", { "dst=" .. self:operand(i.out, block), "src=" .. self:operand(i.src, block), "predicate="
    .. self:operand(i.mask, block) })
end
function handlers.scan(self, i, block)
  local args <const> = { "dst=" .. self:operand(i.out, block) }
  local data <const>, flat <const> = self:operand(i.data, block), self:operand(i.flat, block)
  args[2], args[3] = "data0=" .. (i.f == "add" and flat or data), "data1=" .. (i.f == "add" and data or flat)
  args[4], args[5], args[6] = "initial=" .. self:operand(i.initial, block), "op0=nl.multiply", "op1=nl.add"
  self:call("nisa.tensor_tensor_scan", args)
end
function handlers.iota(self, i, block)
  local dst <const> = self:operand(i.out, block)
  if i.row then
    local base = i.leaf.deps[self.row_axis] and block.level >= self.program.row_position and "\1r" or "0"
    if i.step ~= 1 and base == "\1r" then base = i.step .. " * \1r" end
    if i.start ~= 0 then base = base == "0" and tostring(i.start) or base .. " + " .. i.start end
    self:call("nisa.iota", { "dst=" .. dst, "pattern=[[1, 1]]", "offset=" .. base, "channel_multiplier=" .. i.step })
  else
    local base = block.chunk and (i.step == 1 and "\1c" or i.step .. " * \1c") or "0"
    if i.start ~= 0 then base = base == "0" and tostring(i.start) or base .. " + " .. i.start end
    self:call("nisa.iota", { "dst=" .. dst, ("pattern=[[%d, %s]]"):format(i.step, block.chunk and "\1w" or self:columns(i.dst.n)), "offset="
      .. base, "channel_multiplier=0" })
  end
end

function Emit:block(block)
  for _, i in ipairs(block.list) do handlers[i.kind](self, i, block) end
end

-- name = the smaller of two, also where an argument is called min.
function Emit:smaller(name, a, b)
  if self.hides.min then return ("%s = %s if %s > %s else %s"):format(name, a, b, a, b) end
  return ("%s = min(%s, %s)"):format(name, a, b)
end

function Emit:chunks(block)
  for _, i in ipairs(block.before) do handlers[i.kind](self, i, self.program.pre) end
  if #block.list == 0 then return end
  local columns <const> = self:columns(block.n)
  self:line("for \1c in range(0, %s, \1C):", columns)
  self.indent = self.indent + 1
  self:line(self:smaller("\1w", "\1C", parens(columns) .. " - \1c"))
  self:block(block)
  self.indent = self.indent - 1
end

-- job: {program, name, signature, docstring lines, prologue lines, views, outputs, axes (merged axes with .text), order,
-- row_axis, main, n_name, domains, dtype_names, chunk, loop_names, constants}
function M.kernel(job)
  local self <const> = setmetatable({ out = {}, indent = 0 }, Emit)
  for k, v in pairs(job) do self[k] = v end
  local program <const> = job.program
  if job.math then
    self:line("import math")
    self:line("")
  end
  self:line("import nki")
  self:line("import nki.isa as nisa")
  self:line("import nki.language as nl")
  self:line("")
  self:line("\1P = 128  # partitions of SBUF: rows in flight at once")
  if program.chunked then self:line("\1C = %d  # columns in flight at once", job.chunk) end
  self:line("")
  self:line("")
  self:line("@nki.jit")
  self:line("def %s(%s):", job.name, job.signature)
  self.indent = 1
  for i, text in ipairs(job.docstring) do
    self:line("%s", (i == 1 and '"""' or "") .. text)
  end
  self:line('"""')
  for _, text in ipairs(job.prologue) do self:line("%s", text) end
  self:line("")
  self:block(program.outer[0])
  for level, axis in ipairs(job.order) do
    if axis == job.row_axis then
      self:line("for \1r in range(0, %s, \1P):", job.axes[axis].text)
      self.indent = self.indent + 1
      self:line(self:smaller("\1p", "\1P", parens(job.axes[axis].text) .. " - \1r"))
    else
      self:line("for %s in range(%s):", job.loop_names[axis], job.axes[axis].text)
      self.indent = self.indent + 1
    end
    if level < #job.order then self:block(program.outer[level]) end
  end
  if not program.chunked then
    self:block(program.rows)
  else
    self:block(program.pre)
    for pass = 0, #program.passes do
      for _, block in ipairs(program.passes[pass]) do self:chunks(block) end
      self:block(program.posts[pass])
    end
  end
  self.indent = 1
  self:line("return %s", job.returns)
  -- Names of loops and extents are settled last: an argument may be called r or w.
  local text <const> = (table.concat(self.out, "\n") .. "\n"):gsub("\1(%a)", job.vars)
  return text, self.assumed
end

M.number_text = terms_module.number_text
return M
