-- SPDX-License-Identifier: MIT
-- Mutation operators: each breaks a kernel's text the way people do. They know how kernels are spelt and nothing of how bugs
-- are repaired. A site is one match of an operator's pattern; which one is broken is drawn by seed.
--
--   operators.list                           {{class=, kind="build"|"numbers", pattern=, break_=function(match, captures..., random)}}
--   operators.sites(operator, text)          how many places it can break
--   operators.apply(operator, text, random)  the broken text, the line, or nil where it has no site
--   operators.random(seed)                   random(n) -> 1..n, the same on every machine

local M <const> = {}

local ALLOCATE <const> = "([%w_]+) = nl%.ndarray(%b())"

local function swapped(table_of)
  return function(_, head, name) return table_of[name] and head .. table_of[name] or nil end
end

-- A letter of a name lost, or two exchanged.
local function misspell(name, random)
  local at <const> = 2 + random(#name - 3)
  if random(2) == 1 then return name:sub(1, at - 1) .. name:sub(at + 1) end
  return name:sub(1, at - 1) .. name:sub(at + 1, at + 1) .. name:sub(at, at) .. name:sub(at + 2)
end

M.list = {
  { class = "missing dst", kind = "build", pattern = "(nisa%.[%w_]+%()dst=[%w_]+, ", break_ = function(_, head) return head end },
  { class = "partition over 128", kind = "build", pattern = "nl%.tile_size%.pmax", break_ = function(_, random) return random(2) == 1 and "256" or "192" end },
  { class = "psum bank", kind = "build", pattern = "nl%.tile_size%.gemm_moving_fmax", break_ = function(_, random) return random(2) == 1
    and "1024" or "600" end },
  { class = "matmul buffer", kind = "build", pattern = ALLOCATE, break_ = function(match, name)
    if name == "acc" then return (match:gsub("nl%.psum", "nl.sbuf")) end
    if name == "a_tile" or name == "b_tile" then return (match:gsub("nl%.sbuf", "nl.psum")) end
  end, only = "nc_matmul" },
  { class = "operand broadcast", kind = "build", pattern = "nisa%.tensor_scalar%(dst=([%w_]+), data=([%w_]+), op0=(nl%.[%w_]+), operand0=([%a_]+)%)",
    break_ = function(_, dst, data, op, operand)
      if operand == "scale" then return nil end
      return ("nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=%s)"):format(dst, data, operand, op)
    end },
  { class = "psum dma", kind = "build", pattern = "nisa%.tensor_copy%(dst=([%w_]+), src=([%w_]+)%)(%s+nisa%.dma_copy%(dst=[^\n]-src=)([%w_]+)%)",
    break_ = function(_, dst, src, copy, last) return dst == last and copy:match("nisa.*") .. src .. ")" or nil end },
  { class = "matmul dtype", kind = "build", pattern = ALLOCATE, break_ = function(match, name)
    return (name == "a_tile" or name == "b_tile") and (match:gsub("dtype=[%w_.]+", "dtype=nl.float32")) or nil
  end, only = "nc_matmul" },
  { class = "uninitialised accumulator", kind = "build", pattern = "\n *nisa%.memset%b()", break_ = function() return "" end },
  { class = "accumulate onto nothing", kind = "build", pattern = "accumulate=%b()", break_ = function() return "accumulate=True" end },
  { class = "copy shape", kind = "build", pattern = ALLOCATE, break_ = function(match, _, _, random)
    local n
    match, n = match:gsub("%(([%w_]+), ([%w_]+)%), dtype", function(p, f)
      return random(2) == 1 and ("(%s, %s + 1), dtype"):format(p, f) or ("(%s, %s // 2), dtype"):format(p, f)
    end)
    return n > 0 and match or nil
  end },
  { class = "misspelt name", kind = "build", pattern = "(nisa%.)([%w_]+)", break_ = function(_, head, name, random) return head .. misspell(name, random) end },
  { class = "invented name", kind = "build", pattern = "nisa%.tensor_tensor%((.-), op=nl%.([%w_]+)%)", break_ = function(_, args,
    op) return ("nisa.%s(%s)"):format(op, args) end },
  { class = "wrong keyword", kind = "build", pattern = "(%W)([%w_]+)=", break_ = function(_, head, name, random)
    local other <const> = ({ data = { "input", "in_" }, src = { "source", "data" }, operand0 = { "operand", "scalar" }, moving = { "rhs", "mov" },
      stationary = { "lhs", "stat" }, data1 = { "a", "lhs" }, axis = { "axes", "dim" }, reduce_op = { "reduction", "op1" } })[name]
    return other and head .. other[random(2)] .. "=" or nil
  end },
  { class = "numpy call", kind = "build", pattern = "(%Wop%d?=)nl%.([%w_]+)", break_ = function(_, head, name) return head .. "np." .. name end },
  { class = "tile not clamped", kind = "build", pattern = "min%(([%w_.]+), rows %- [%w_]+%)", break_ = function(_, size) return size end },
  { class = "reshape", kind = "build", pattern = "%.reshape%(%((%w+), (%w+)%)%)", break_ = function(_, a, b, random)
    return random(2) == 1 and (".reshape((%s, %s + 1))"):format(a, b) or (".reshape((%s + 1, %s))"):format(a, b)
  end },
  { class = "old mask", kind = "build", pattern = "(nisa%.dma_copy%(dst=[%w_]+, src=%w+%b[])%)", break_ = function(_, head)
    return head .. ", mask=(rows > 0))"
  end },
  { class = "wrong tile", kind = "numbers", pattern = "(dma_copy%(dst=out%b[], src=)result", break_ = function(_, head) return head .. "tile" end,
    only = " tile = nl.ndarray" },
  { class = "operands exchanged", kind = "numbers", pattern = "stationary=([%w_]+), moving=([%w_]+)", break_ = function(_, a, b)
    return ("stationary=%s, moving=%s"):format(b, a)
  end },
  { class = "scale dropped", kind = "numbers", pattern = "operand0=scale", break_ = function() return "operand0=1.0" end },
  { class = "wrong operator", kind = "numbers", pattern = "(%Wop%d?=nl%.)([%w_]+)", break_ = swapped {
    add = "subtract", multiply = "add", maximum = "minimum", subtract = "add", exp = "tanh", rsqrt = "sqrt", square = "abs",
  } },
  { class = "slice start", kind = "numbers", pattern = "%[r:r %+ p", break_ = function() return "[0:p" end },
  { class = "eps dropped", kind = "numbers", pattern = ", op1=nl%.add, operand1=eps", break_ = function() return "" end },
  { class = "stale buffer", kind = "numbers", pattern = "(%Wdata=)scaled", break_ = function(_, head) return head .. "tile" end },
  { class = "last tile missing", kind = "numbers", pattern = "(range%(0, rows)(, )", break_ = function(_, head, rest) return head .. " - 127" .. rest end },
  { class = "sign dropped", kind = "numbers", pattern = ", negate=True", break_ = function() return "" end },
}

-- Every match with what it becomes; `random` settles an operator's own choices.
local function matches(operator, text, random)
  local found <const> = {}
  if operator.only and not text:find(operator.only, 1, true) then return found end
  local from <const> = text:find("@nki.jit", 1, true) or 1
  local at = from
  while true do
    local parts <const> = table.pack(text:find(operator.pattern, at))
    if not parts[1] then return found end
    local whole <const> = text:sub(parts[1], parts[2])
    local captures <const> = table.pack(table.unpack(parts, 3, parts.n))
    captures[captures.n + 1] = random
    local broken <const> = operator.break_(whole, table.unpack(captures, 1, captures.n + 1))
    if broken and broken ~= whole then found[#found + 1] = { from = parts[1], to = parts[2], text = broken } end
    at = parts[2] + 1
  end
end

function M.random(seed)
  local state = (seed * 2654435761 + 12345) & 0xffffffff
  return function(n)
    state = (state * 1664525 + 1013904223) & 0xffffffff
    return (state >> 8) % n + 1
  end
end

function M.sites(operator, text) return #matches(operator, text, M.random(1)) end

function M.apply(operator, text, random)
  local found <const> = matches(operator, text, random)
  if #found == 0 then return nil end
  local site <const> = found[random(#found)]
  return text:sub(1, site.from - 1) .. site.text .. text:sub(site.to + 1), select(2, text:sub(1, site.from):gsub("\n", "")) + 1
end

return M
