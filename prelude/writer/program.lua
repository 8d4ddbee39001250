-- SPDX-License-Identifier: MIT
-- From terms to instructions. Decides what becomes a tile, which operations share an instruction (scale and bias inside an
-- activation, a row sum beside it, two tensor_scalar operations, a scalar_tensor_tensor), where each instruction stands
-- (outside the row loop, per row block, per column chunk and pass), and how many bytes a partition holds at once.
--
-- An instruction is {text parts, dst tile, uses = tiles}. Blocks hold instructions in order; emit.lua prints them.

local columns_module <const> = require "writer.columns"
local terms_module <const> = require "writer.terms"

local M <const> = {}

local is_scalar <const> = terms_module.is_scalar

local Program <const> = {}
Program.__index = Program

local item_size <const> = { float32 = 4, int32 = 4, uint32 = 4, bfloat16 = 2, float16 = 2, uint16 = 2, int16 = 2, uint8 = 1, int8 = 1, bool = 1,
  float8_e4m3 = 1, float8_e5m2 = 1, float8_e4m3fn = 1, tfloat32 = 4 }
M.item_size = item_size

local nl_names <const> = {
  mul = "nl.multiply", add = "nl.add", sub = "nl.subtract", max = "nl.maximum", min = "nl.minimum", power = "nl.power", equal = "nl.equal",
  not_equal = "nl.not_equal", less = "nl.less", less_equal = "nl.less_equal", greater = "nl.greater", greater_equal = "nl.greater_equal",
  logical_and = "nl.logical_and", logical_or = "nl.logical_or", logical_xor = "nl.logical_xor",
}
local commutes <const> = { mul = true, add = true, max = true, min = true, equal = true, not_equal = true, logical_and = true,
  logical_or = true, logical_xor = true }

-- Naming ------------------------------------------------------------------------------------------------------------------

function Program:name(base)
  base = base:gsub("[^%w_]", "_")
  if base:find("^%d") then base = "v" .. base end
  local name, i = base, 2
  while self.taken[name] do
    name = base .. i
    i = i + 1
  end
  self.taken[name] = true
  return name
end

local reduce_bases <const> = { add = "row_sum", max = "row_max", min = "row_min", mul = "row_prod" }
local op_bases <const> = {
  scale = "scaled", shift = "shifted", mul = "prod", add = "total", sub = "diff", max = "larger", min = "smaller", recip = "inv",
    select = "picked", power = "powered",
  round = "rounded", scan = "running", concat = "joined", iota = "index", logical_and = "both", logical_or = "either", logical_xor = "differ",
}

local function base_name(t)
  if t.op == "input" then return t.name .. "_t" end
  if t.hint then return t.tail == "n" and t.hint .. "_t" or t.hint end
  if t.op == "reduce" then return reduce_bases[t.f] end
  if t.op == "act" then return t.tail == "n" and t.f .. "_t" or "row_" .. t.f end
  if t.compare then return "is_" .. t.op end
  return op_bases[t.op] or t.op
end

-- Levels and depths -------------------------------------------------------------------------------------------------------

-- The loop level of a term: the innermost loop it depends on (0 = none, #order = the row loop).
function Program:level(t)
  local level = 0
  for axis in pairs(t.deps) do level = math.max(level, self.position[axis]) end
  return level
end

local function depth(self, t)
  if is_scalar(t) then return 0 end
  local known <const> = self.depths[t.id]
  if known then return known end
  local d = 0
  for _, arg in ipairs(t.args) do d = math.max(d, depth(self, arg)) end
  if t.op == "reduce" then d = d + 1 end
  self.depths[t.id] = d
  return d
end

local function count_uses(self, t)
  self.uses[t.id] = (self.uses[t.id] or 0) + 1
  if self.uses[t.id] > 1 then return end
  for _, arg in ipairs(t.args or {}) do
    count_uses(self, arg)
    if t.op == "reduce" and t.f == "add" and arg.op == "act" then self.summed[arg.id] = t end
    if t.op == "select" and arg == t.args[1] then self.predicate[arg.id] = (self.predicate[arg.id] or 0) + 1 end
  end
end

-- Tiles and instructions -----------------------------------------------------------------------------------------------------

-- A tile of `columns` ("n" a row of domain n, "one") with the rows of its block.
function Program:tile(name, dtype, t, block)
  local tile <const> = { name = self:name(name), dtype = dtype, tail = t.tail, n = t.n, block = block,
    whole = block.level < self.row_position, chunked = block.chunk and t.tail == "n" }
  return tile
end

function Program:emit(block, instruction)
  instruction.index = #block.list + 1
  block.list[instruction.index] = instruction
  return instruction
end

local function declare(self, block, tile) self:emit(block, { kind = "declare", tile = tile, dst = tile, uses = {} }) end

-- The block where a term's instructions go.
function Program:block_of(t)
  local level <const> = self:level(t)
  -- Streaming keeps no whole row, so nothing made of rows can stand outside the passes.
  if level < self.row_level and not (self.stream and (t.tail == "n" or depth(self, t) > 0)) then return self.outer[level] end
  if not self.chunked then return self.rows end
  if t.tail == "n" then return self:chunks_of(self.pass, t.n) end
  local d <const> = depth(self, t)
  return d == 0 and self.pre or self.posts[d - 1]
end

function Program:new_block(level, fields)
  local block <const> = fields or {}
  block.level, block.list, block.memo = level, {}, {}
  if block.chunk then block.before = {} end
  return block
end

-- The block of a pass over rows of n columns: chunks of other widths have a loop of their own.
function Program:chunks_of(pass, n)
  local widths <const> = self.passes[pass]
  if not widths.of[n] then
    widths.of[n] = self:new_block(self.row_level, { chunk = true, n = n })
    widths[#widths + 1] = widths.of[n]
  end
  return widths.of[n]
end

-- A reference to a tile as an operand: {tile, text of the slice}.
local function ref(tile, start, n, step) return { tile = tile, start = start, n = n, step = step } end

function Program:memo(t)
  local block <const> = self:block_of(t)
  return block.memo[t.id], block
end

-- Can t be computed inside the instruction of its only user?
function Program:inlines(t, user)
  if is_scalar(t) or t.op == "input" or t.op == "iota" or t.op == "view" or t.op == "concat" then return false end
  if self.uses[t.id] ~= 1 or t.tail ~= user.tail or (t.tail == "n" and t.n ~= user.n) then return false end
  if self:memo(t) then return false end
  return self:level(t) == self:level(user)
end

-- An operand that varies per row at most: a Python expression or a float32 (p, 1) tile.
function Program:row_operand(t)
  if is_scalar(t) then return { text = t.text } end
  local r <const> = self:value(t)
  if r.tile.dtype == "float32" then return r end
  local block <const> = self:block_of(t)
  local key <const> = "f32:" .. t.id
  if block.memo[key] then return block.memo[key] end
  local tile <const> = self:tile(r.tile.name .. "_f32", "float32", t, block)
  declare(self, block, tile)
  self:emit(block, { kind = "copy", dst = tile, out = ref(tile), src = r, uses = { r.tile } })
  block.memo[key] = ref(tile)
  return block.memo[key]
end

-- The negated value of a per-row term.
function Program:negated(t)
  if is_scalar(t) then return { text = "-" .. (t.atom and t.text or "(" .. t.text .. ")") } end
  local block <const> = self:block_of(t)
  local key <const> = "neg:" .. t.id
  if block.memo[key] then return block.memo[key] end
  local tile
  if t.op == "reduce" and self.uses[t.id] == 1 and not self.chunked and not block.memo[t.id] then
    local data <const> = self:value(t.args[1])
    tile = self:tile("neg_" .. base_name(t), "float32", t, block)
    declare(self, block, tile)
    self:emit(block, { kind = "reduce", f = t.f, negate = true, dst = tile, out = ref(tile), data = data, uses = { data.tile } })
  else
    local r <const> = self:value(t)
    tile = self:tile("neg_" .. r.tile.name, "float32", t, block)
    declare(self, block, tile)
    self:emit(block, { kind = "ts", dst = tile, out = ref(tile), data = r, op0 = "mul", operand0 = { text = "-1.0" }, uses = { r.tile } })
  end
  block.memo[key] = ref(tile)
  return block.memo[key]
end

local function varies_by_row(t) return is_scalar(t) or t.tail == "one" end

-- If t is one tensor_scalar operation on a whole-row term: {data term, op, operand term, reverse}.
local function single(t)
  if t.op == "scale" then return t.args[1], "mul", t.args[2], false end
  if t.op == "shift" then return t.args[1], "add", t.args[2], false end
  if nl_names[t.op] and #t.args == 2 then
    local a <const>, b <const> = t.args[1], t.args[2]
    if not is_scalar(a) and varies_by_row(b) and a.tail == t.tail and (t.tail == "n" or is_scalar(b)) then return a, t.op, b, false end
    if t.tail == "n" and varies_by_row(a) and b.tail == "n" then return b, t.op, a, not commutes[t.op] end
    if is_scalar(a) then return b, t.op, a, not commutes[t.op] end
  end
  return nil
end

-- x as data * scale + bias for an activation; scale and bias are scalars or per-row terms.
function Program:affine(x, user)
  local scale, bias, negate = nil, nil, false
  local data = x
  if self:inlines(data, user) then
    local y <const>, op <const>, operand <const>, reverse <const> = single(data)
    if y and op == "add" then
      data, bias = y, operand
    elseif y and op == "sub" and not reverse then
      data, bias, negate = y, operand, true
    elseif y and op == "sub" then
      return y, { text = "-1.0" }, self:row_operand(operand)
    end
  end
  if self:inlines(data, user) then
    local y <const>, op <const>, operand <const> = single(data)
    if y and op == "mul" then data, scale = y, operand end
  end
  local bias_ref = nil
  if bias then bias_ref = negate and self:negated(bias) or self:row_operand(bias) end
  return data, scale and self:row_operand(scale), bias_ref
end

local function uses_of(...)
  local list <const> = {}
  for i = 1, select("#", ...) do
    local r <const> = select(i, ...)
    if r and r.tile then list[#list + 1] = r.tile end
  end
  return list
end

-- Emit the instructions that leave t in `out` (a ref whose tile is declared). `reduce` is a ref for a row sum beside it.
function Program:compute(t, out, block, sum)
  local dst <const> = out.tile
  local op <const> = t.op
  if op == "act" then
    local data <const>, scale <const>, bias <const> = self:affine(t.args[1], t)
    local d <const> = self:value(data)
    self:emit(block, { kind = "act", f = t.f, dst = dst, out = out, data = d, scale = scale, bias = bias, sum = sum, uses = uses_of(d,
      scale, bias), also = sum and sum.tile })
    return
  end
  local a <const>, op1 <const>, operand <const>, reverse1 <const> = single(t)
  if a then
    -- Two operations in one tensor_scalar, or a whole-row product with a factor.
    if self:inlines(a, t) then
      local y <const>, op0 <const>, inner <const>, reverse0 <const> = single(a)
      if y then
        local first <const>, second <const> = self:row_operand(inner), self:row_operand(operand)
        local d <const> = self:value(y)
        self:emit(block, { kind = "ts", dst = dst, out = out, data = d, op0 = op0, operand0 = first, reverse0 = reverse0, op1 = op1,
          operand1 = second, reverse1 = reverse1, uses = uses_of(d, first, second) })
        return
      end
      if op1 == "mul" and a.op == "mul" then
        local factor <const> = self:row_operand(operand)
        local x <const>, z <const> = self:value(a.args[1]), self:value(a.args[2])
        self:emit(block, { kind = "stt", dst = dst, out = out, data = x, op0 = "mul", operand0 = factor, op1 = "mul", operand1 = z,
          uses = uses_of(x, factor, z) })
        return
      end
    end
    local factor <const> = self:row_operand(operand)
    local d <const> = self:value(a)
    self:emit(block, { kind = "ts", dst = dst, out = out, data = d, op0 = op1, operand0 = factor, reverse0 = reverse1, uses = uses_of(d, factor) })
    return
  end
  if nl_names[op] then
    local x <const>, y <const> = t.args[1], t.args[2]
    if t.tail == "n" then
      for i = 1, 2 do
        local p <const>, q <const> = t.args[i], t.args[3 - i]
        if p ~= q and self:inlines(p, t) then
          local z <const>, op0 <const>, inner <const>, reverse0 <const> = single(p)
          if z and z.tail == "n" then
            local factor <const> = self:row_operand(inner)
            local other <const> = self:value(q)
            local d <const> = self:value(z)
            self:emit(block, { kind = "stt", dst = dst, out = out, data = d, op0 = op0, operand0 = factor, reverse0 = reverse0, op1 = op,
              operand1 = other, reverse1 = i == 2 and not commutes[op], uses = uses_of(d, factor, other) })
            return
          end
        end
      end
    end
    local dx <const>, dy <const> = self:value(x), self:value(y)
    self:emit(block, { kind = "tt", dst = dst, out = out, op = op, data1 = dx, data2 = dy, uses = uses_of(dx, dy) })
    return
  end
  if op == "recip" then
    local d <const> = self:value(t.args[1])
    self:emit(block, { kind = "recip", dst = dst, out = out, data = d, uses = uses_of(d) })
  elseif op == "reduce" then
    local d <const> = self:value(t.args[1])
    self:emit(block, { kind = "reduce", f = t.f, dst = dst, out = out, data = d, uses = uses_of(d) })
  elseif op == "round" then
    local d <const> = self:value(t.args[1])
    local whole <const> = self:tile(dst.name .. "_int", "int32", t, block)
    declare(self, block, whole)
    self:emit(block, { kind = "copy", dst = whole, out = ref(whole), src = d, uses = uses_of(d) })
    self:emit(block, { kind = "copy", dst = dst, out = out, src = ref(whole), uses = { whole } })
  elseif op == "select" then
    local c <const>, yes <const>, no <const> = t.args[1], t.args[2], t.args[3]
    local mask <const> = self:truth(c, t)
    if dst.dtype ~= "float32" then
      local temp <const> = self:tile("picked", "float32", t, block)
      declare(self, block, temp)
      self:select_into(ref(temp), mask, yes, no, t, block)
      self:emit(block, { kind = "copy", dst = dst, out = out, src = ref(temp), uses = { temp } })
    else
      self:select_into(out, mask, yes, no, t, block)
    end
  elseif op == "scan" then
    self:scan(t, out, block)
  elseif op == "concat" then
    local at = 0
    for i, part in ipairs(t.args) do
      local step <const>, n <const> = t.step or 1, t.step and t.n // t.step or t.sizes[i]
      local outer <const> = out.step or 1
      local piece <const> = { tile = dst, start = (out.start or 0) + (t.step and i - 1 or at) * outer, n = n, step = step * outer }
      self:fill(part, piece, { tail = "n", n = n }, block)
      at = at + n
    end
  elseif op == "iota" then
    self:emit(block, { kind = "iota", dst = dst, out = out, row = t.row, start = t.start, step = t.step, leaf = t.leaf, uses = {} })
  elseif op == "input" then
    self:emit(block, { kind = "copy", dst = dst, out = out, src = self:value(t), uses = uses_of(self:value(t)) })
  elseif op == "view" then
    local r <const> = self:value(t)
    self:emit(block, { kind = "copy", dst = dst, out = out, src = r, uses = uses_of(r) })
  else
    error("no instruction for term " .. op)
  end
end

-- Leave t, spread to the shape of `like` if it is narrower, in the declared ref `out`.
function Program:fill(t, out, like, block)
  if is_scalar(t) then
    self:emit(block, { kind = "memset", dst = out.tile, out = out, value = t, uses = {} })
  elseif t.tail == "one" and like.tail == "n" then
    local r <const> = self:row_operand(t)
    self:emit(block, { kind = "copy", dst = out.tile, out = out, src = { tile = r.tile, start = r.start, n = r.n, spread = like.n }, uses = { r.tile } })
  elseif self:memo(t) or t.op == "input" or t.op == "view" or self.uses[t.id] > 1 then
    local r <const> = self:value(t)
    self:emit(block, { kind = "copy", dst = out.tile, out = out, src = r, uses = { r.tile } })
  else
    self:compute(t, out, block)
  end
end

-- A term as a predicate: a uint8 tile of 0 and 1.
function Program:truth(c, user)
  -- A bool of the caller's is one already.
  if c.op == "input" and self.inputs[c.name].dtype == "bool" and (c.tail == "n" or user.tail ~= "n") then return self:value(c) end
  local block = self:block_of(c)
  local wide <const> = c.tail == "one" and user.tail == "n"
  local key <const> = "mask:" .. c.id .. (wide and ":wide" or "")
  if wide then block = self:block_of(user) end
  if block.memo[key] then return block.memo[key] end
  local like <const> = wide and user or c
  local tile <const> = self:tile("mask", "uint8", like, block)
  declare(self, block, tile)
  if wide then
    self:fill(c, ref(tile), user, block)
  elseif (c.compare or c.truth) and self.uses[c.id] == 1 and not block.memo[c.id] then
    self:compute(c, ref(tile), block)
  else
    local r <const> = self:value(c)
    self:emit(block, { kind = "ts", dst = tile, out = ref(tile), data = r, op0 = "not_equal", operand0 = { text = "0.0" }, uses = { r.tile } })
  end
  block.memo[key] = ref(tile)
  return block.memo[key]
end

function Program:select_into(out, mask, yes, no, t, block)
  local source
  if is_scalar(yes) then
    source = { text = yes.text }
  elseif yes.tail == "one" and t.tail == "n" then
    local r <const> = self:row_operand(yes)
    source = { tile = r.tile, spread = t.n }
  else
    source = self:value(yes)
    if source.tile.dtype ~= "float32" then
      local temp <const> = self:tile(source.tile.name .. "_f32", "float32", t, block)
      declare(self, block, temp)
      self:emit(block, { kind = "copy", dst = temp, out = ref(temp), src = source, uses = { source.tile } })
      source = ref(temp)
    end
  end
  self:fill(no, out, t, block)
  self:emit(block, { kind = "predicated", dst = out.tile, out = out, src = source, mask = mask, uses = uses_of(source, mask, out) })
end

-- A (128, 1) tile of one value, made once outside all loops.
function Program:constant(value, name)
  local block <const> = self.outer[0]
  local key <const> = "const:" .. value
  if block.memo[key] then return block.memo[key] end
  local tile <const> = { name = self:name(name), dtype = "float32", tail = "one", n = 1, block = block, whole = true }
  declare(self, block, tile)
  self:emit(block, { kind = "memset", dst = tile, out = ref(tile), value = { text = value }, uses = {} })
  block.memo[key] = ref(tile)
  return block.memo[key]
end

function Program:scan(t, out, block)
  local data <const> = self:value(t.args[1])
  local carry = nil
  local start <const> = t.f == "add" and "0.0" or "1.0"
  if block.chunk then
    local tile <const> = { name = self:name("carry"), dtype = "float32", tail = "one", n = 1, block = block, before = true }
    block.before[#block.before + 1] = { kind = "declare", tile = tile, dst = tile, uses = {} }
    block.before[#block.before + 1] = { kind = "memset", dst = tile, out = ref(tile), value = { text = start }, uses = {} }
    carry = ref(tile)
  end
  local flat <const> = t.f == "add" and self:constant("1.0", "ones") or self:constant("0.0", "zeros")
  self:emit(block, { kind = "scan", f = t.f, dst = out.tile, out = out, data = data, flat = { tile = flat.tile, spread = t.n },
    initial = carry or { text = start }, uses = uses_of(data, flat, carry) })
  if carry then self:emit(block, { kind = "carry", dst = carry.tile, out = carry, src = out, uses = { out.tile } }) end
end

-- Make t available as a tile; returns its ref.
function Program:value(t)
  if t.op == "view" then
    if self.stream then return self:load(t, select(2, self:memo(t))) end
    local r <const> = self:value(t.args[1])
    local step <const> = r.step or 1
    return { tile = r.tile, start = (r.start or 0) + t.start * step, n = t.n, step = t.step * step, view = true }
  end
  local found <const>, block <const> = self:memo(t)
  if found then return found end
  if t.op == "input" then return self:load(t, block) end
  -- A row sum of this activation comes for free: make both at once.
  local sum <const> = self.summed[t.id]
  if sum and self.uses[sum.id] and not self:memo(sum) and not (self.chunked and depth(self, t) ~= self.pass) then
    self:value(sum)
    local now <const> = self:memo(t)
    if now then return now end
  end
  if t.op == "reduce" then return self:reduced(t, block) end
  local tile <const> = self:tile(base_name(t), "float32", t, block)
  -- Operands first: the declaration stands next to the instruction.
  local mark <const> = { kind = "declare", tile = tile, dst = tile, uses = {} }
  local out <const> = ref(tile)
  local before <const> = #block.list
  if t.op == "concat" or t.op == "select" then
    self:emit(block, mark)
    self:compute(t, out, block)
  else
    self:compute(t, out, block)
    table.insert(block.list, math.max(before + 1, #block.list - (t.op == "round" and 2 or (t.op == "scan" and block.chunk and 1 or 0))), mark)
  end
  block.memo[t.id] = out
  return out
end

-- A reduction: in one go, or accumulated over chunks.
function Program:reduced(t, block)
  local tile <const> = self:tile(base_name(t), "float32", t, block)
  local out <const> = ref(tile)
  if not self.chunked or self:level(t.args[1]) < self.row_level and not self.stream then
    local arg <const> = t.args[1]
    if t.f == "add" and arg.op == "act" and not self:memo(arg) then
      local host <const> = self:block_of(arg)
      local full <const> = self:tile(base_name(arg), "float32", arg, host)
      local data <const>, scale <const>, bias <const> = self:affine(arg.args[1], arg)
      local d <const> = self:value(data)
      declare(self, host, full)
      declare(self, host, tile)
      self:emit(host, { kind = "act", f = arg.f, dst = full, out = ref(full), data = d, scale = scale, bias = bias, sum = out,
        uses = uses_of(d, scale, bias), also = tile })
      host.memo[arg.id] = ref(full)
    else
      local d <const> = self:value(arg)
      declare(self, block, tile)
      self:emit(block, { kind = "reduce", f = t.f, dst = tile, out = out, data = d, uses = uses_of(d) })
    end
    block.memo[t.id] = out
    return out
  end
  error("reduction requested outside its pass")
end

-- One pass's share of a chunked reduction.
function Program:accumulate(t)
  local pass <const> = self:chunks_of(self.pass, t.args[1].n)
  local post <const> = self.posts[self.pass]
  local tile <const> = { name = self:name(base_name(t)), dtype = "float32", tail = "one", n = 1, block = post, before = true }
  pass.before[#pass.before + 1] = { kind = "declare", tile = tile, dst = tile, uses = {} }
  local part <const> = { name = self:name("part"), dtype = "float32", tail = "one", n = 1, block = pass }
  local arg <const> = t.args[1]
  if t.f == "add" and arg.op == "act" and not pass.memo[arg.id] then
    local full <const> = self:tile(base_name(arg), "float32", arg, pass)
    local data <const>, scale <const>, bias <const> = self:affine(arg.args[1], arg)
    local d <const> = self:value(data)
    declare(self, pass, full)
    declare(self, pass, part)
    self:emit(pass, { kind = "act", f = arg.f, dst = full, out = ref(full), data = d, scale = scale, bias = bias, sum = ref(part),
      uses = uses_of(d, scale, bias), also = part })
    pass.memo[arg.id] = ref(full)
  else
    local d <const> = self:value(arg)
    declare(self, pass, part)
    self:emit(pass, { kind = "reduce", f = t.f, dst = part, out = ref(part), data = d, uses = uses_of(d) })
  end
  self:emit(pass, { kind = "combine", f = t.f, dst = tile, out = ref(tile), src = ref(part), uses = { part, tile } })
  post.memo[t.id] = ref(tile)
end

-- A declared tile with an input in it. What has no rows of its own is read once, into one partition, and spread on chip.
function Program:bring(t, tile, block)
  if t.deps[self.row_axis] then
    declare(self, block, tile)
    self:emit(block, { kind = "load", dst = tile, out = ref(tile), term = t, uses = {} })
    return
  end
  tile.whole = true
  local row <const> = { name = self:name((t.name or t.args[1].name) .. "_row"), dtype = tile.dtype, tail = t.tail, n = t.n, block = block,
    single = true, chunked = tile.chunked }
  declare(self, block, row)
  self:emit(block, { kind = "load", dst = row, out = ref(row), term = t, uses = {} })
  declare(self, block, tile)
  self:emit(block, { kind = "spread", dst = tile, src = ref(row), uses = { row } })
end

function Program:load(t, block)
  local known <const> = self:memo(t)
  if known then return known end
  local source <const> = t.op == "view" and t.args[1] or t
  local input <const> = self.inputs[source.name]
  local resident <const> = self.chunked and not self.stream and t.tail == "n"
  if resident and block.chunk then
    -- Whole rows stay in SBUF; chunks read slices of them.
    local whole <const> = self.pre
    if whole.memo[t.id] then return whole.memo[t.id] end
    local tile <const> = { name = self:name(base_name(t)), dtype = input.dtype, tail = "n", n = t.n, block = whole, resident = true }
    self:bring(t, tile, whole)
    whole.memo[t.id] = ref(tile)
    return whole.memo[t.id]
  end
  local tile <const> = self:tile(base_name(source), input.dtype, t, block)
  self:bring(t, tile, block)
  block.memo[t.id] = ref(tile)
  return block.memo[t.id]
end

function Program:store(t, output, block, rows_only)
  if is_scalar(t) then
    local like <const> = { tail = rows_only and "one" or "n", n = output.n, deps = {} }
    local tile <const> = self:tile(output.name .. "_t", output.dtype, like, block)
    declare(self, block, tile)
    self:emit(block, { kind = "memset", dst = tile, out = ref(tile), value = t, uses = {} })
    self:emit(block, { kind = "store", output = output, src = ref(tile), uses = { tile } })
    return
  end
  local like <const> = { tail = output.tail, n = output.n, deps = t.deps }
  local known <const> = self:memo(t)
  if t.tail == output.tail and t.op ~= "view" and (known or t.op == "input" or self.uses[t.id] > 1) then
    local r <const> = self:value(t)
    if r.tile.dtype == output.dtype and not r.tile.resident then
      self:emit(block, { kind = "store", output = output, src = r, uses = { r.tile } })
      return
    end
  end
  local tile <const> = self:tile(output.name .. "_t", output.dtype, like, block)
  local before <const> = #block.list
  self:fill(t, ref(tile), like, block)
  -- The declaration goes before the first instruction that writes the tile.
  local at = #block.list
  for i = before + 1, #block.list do
    if block.list[i].dst == tile then
      at = i
      break
    end
  end
  table.insert(block.list, at, { kind = "declare", tile = tile, dst = tile, uses = {} })
  self:emit(block, { kind = "store", output = output, src = ref(tile), uses = { tile } })
end

-- Build the program.
--   lowered: from lower.lua; inputs: {[name] = {dtype}}; outputs: list of {name, dtype, tail, n, term};
--   order: merged axes from the outermost loop to the innermost; row_axis: the one tiled over partitions;
--   plan: "rows" | "resident" | "stream"; reserved: names taken.
function M.build(lowered, inputs, outputs, order, row_axis, plan, reserved)
  local self <const> = setmetatable({
    inputs = inputs, uses = {}, summed = {}, predicate = {}, depths = {}, taken = {}, position = {}, chunked = plan ~= "rows", stream = plan == "stream",
    outer = {}, passes = {}, posts = {}, plan = plan, row_axis = row_axis,
  }, Program)
  for _, name in ipairs(reserved) do self.taken[name] = true end
  for i, axis in ipairs(order) do self.position[axis] = i end
  self.row_level = #order
  -- Blocks outside the loop over row tiles work on all 128 partitions.
  self.row_position = self.position[row_axis]
  if self.chunked then outputs = columns_module.sink(lowered.terms, outputs) end
  local depth_max = 0
  for _, output in ipairs(outputs) do
    count_uses(self, output.term)
    depth_max = math.max(depth_max, depth(self, output.term))
  end
  for level = 0, self.row_level - 1 do self.outer[level] = self:new_block(level) end
  if not self.chunked then
    self.rows = self:new_block(self.row_level)
    self.pre = self.rows
    for _, output in ipairs(outputs) do self:store(output.term, output, self.rows, output.tail == "one") end
  else
    self.pre = self:new_block(self.row_level)
    for pass = 0, depth_max do
      self.passes[pass] = { of = {} }
      self.posts[pass] = self:new_block(self.row_level)
    end
    local reductions <const> = {}
    for _, t in ipairs(lowered.terms.list) do
      if t.op == "reduce" and self.uses[t.id] and self:level(t) == self.row_level or (t.op == "reduce" and self.uses[t.id]
        and self.stream) then reductions[#reductions + 1] = t end
    end
    for pass = 0, depth_max do
      self.pass = pass
      for _, t in ipairs(reductions) do
        if depth(self, t.args[1]) == pass then self:accumulate(t) end
      end
      for _, output in ipairs(outputs) do
        if depth(self, output.term) == pass then
          local rows_only <const> = output.tail == "one"
          local block = not rows_only and self:chunks_of(pass, output.n) or nil
          if rows_only then block = pass == 0 and self.pre or self.posts[pass - 1] end
          self:store(output.term, output, block, rows_only)
        end
      end
    end
  end
  return self
end

-- Peak bytes per partition while the row loop runs, as {columns = bytes per column of the main domain, fixed = bytes}.
-- `main` is the main domain's n; tiles of other widths count in proportion.
function Program:footprint(main)
  local columns_chunk, columns_row, fixed = 0.0, 0.0, 0
  local function size(tile)
    local bytes <const> = item_size[tile.dtype] or 4
    if tile.tail == "one" then return 0.0, bytes end
    if tile.chunked then return bytes + 0.0, 0 end
    return bytes * tile.n / main, 0
  end
  -- Tiles outside the row loop and resident rows live throughout, a row that is spread only until it is.
  local transient = 0.0
  local function add_all(block)
    for _, i in ipairs(block.list) do
      if i.kind == "declare" and i.tile.single then
        transient = math.max(transient, (size(i.tile)))
      elseif i.kind == "declare" then
        local c <const>, f <const> = size(i.tile)
        columns_row, fixed = columns_row + c, fixed + f
      end
    end
  end
  for level = 0, self.row_level - 1 do add_all(self.outer[level]) end
  local function peak(list)
    local last <const> = {}
    for at, i in ipairs(list) do
      for _, tile in ipairs(i.uses) do last[tile] = at end
      if i.dst then last[i.dst] = at end
      if i.also then last[i.also] = at end
    end
    local live, most = 0.0, 0.0
    local ends <const> = {}
    for tile, at in pairs(last) do
      ends[at] = ends[at] or {}
      ends[at][#ends[at] + 1] = tile
    end
    local started <const> = {}
    for at, i in ipairs(list) do
      if i.kind ~= "declare" then
        for _, tile in ipairs({ i.dst, i.also }) do
          if tile and not started[tile] and not tile.resident then
            started[tile] = true
            local c <const>, f <const> = size(tile)
            live, fixed = live + c, fixed + f
          end
        end
        most = math.max(most, live)
        for _, tile in ipairs(ends[at] or {}) do
          if started[tile] then live = live - (size(tile)) end
        end
      end
    end
    return most
  end
  if not self.chunked then
    columns_row = columns_row + math.max(transient, peak(self.rows.list))
    return { row = columns_row, chunk = 0.0, fixed = fixed }
  end
  add_all(self.pre)
  columns_row = columns_row + transient
  for pass = 0, #self.passes do
    for _, block in ipairs(self.passes[pass]) do columns_chunk = math.max(columns_chunk, peak(block.list)) end
  end
  return { row = columns_row, chunk = columns_chunk, fixed = fixed + 64 }
end

M.nl_names = nl_names
return M
