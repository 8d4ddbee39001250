-- SPDX-License-Identifier: MIT
-- A machine for tests without any Python: symbols by name, tensors by short calls.

local isa <const> = require "nki.isa"
local language <const> = require "nki.language"
local nki <const> = require "rt.nki"
local targets <const> = require "nki.targets"

local kit <const> = {}

-- kit.machine{ target=, mode=, execute=, poison=, uninitialized= } -> k with
--   k.op.NAME k.enum.CLASS.MEMBER k.buffer.NAME, k.f (functions), k.v (view methods), k.m (machine)
function kit.machine(options)
  options = options or {}
  local k <const> = { op = {}, enum = {}, buffer = {}, None = setmetatable({}, { __pytype = "NoneType" }) }
  k.m = nki.machine {
    target = targets.get(options.target or "trn2"), isa = isa, language = language, mode = options.mode or "chip",
    execute = options.execute ~= false, poison = options.poison, uninitialized = options.uninitialized, none = k.None,
  }
  for name in pairs(language.ops) do
    k.op[name] = setmetatable({ name = name }, { __pytype = "operator" })
    k.m:define("op", name, k.op[name])
  end
  for class, members in pairs(isa.enums) do
    k.enum[class] = {}
    for _, pair in ipairs(members) do
      k.enum[class][pair[1]] = {}
      if class ~= "nc_version" and class ~= "dma_engine" then k.m:define(class, pair[1], k.enum[class][pair[1]]) end
    end
  end
  for _, name in ipairs { "sbuf", "psum", "private_hbm", "shared_hbm" } do
    k.buffer[name] = {}
    k.m:define("buffer", name, k.buffer[name])
  end
  k.buffer.hbm = k.buffer.private_hbm
  k.f = k.m:functions()
  local meta
  k.v, meta = k.m:methods()
  -- A new tensor: k.new({128, 512}, "float32", "sbuf")
  function k.new(shape, dtype, buffer, name) return k.f.ndarray(shape, dtype or "float32", k.buffer[buffer or "sbuf"], name) end
  -- The same with contents, all `value`.
  function k.full(shape, dtype, buffer, value)
    local x <const> = k.new(shape, dtype, buffer)
    local n = 1
    for _, d in ipairs(shape) do n = n * d end
    local flat <const> = {}
    for i = 1, n do flat[i] = value or 1 end
    local input <const> = k.m:input("data", options.execute ~= false and flat or nil, dtype or "float32", shape)
    if buffer == "psum" then
      local through <const> = k.new(shape, dtype)
      k.f.dma_copy(through, input)
      k.f.tensor_copy(x, through)
    elseif buffer ~= "input" then
      k.f.dma_copy(x, input)
    end
    return x
  end
  -- A view: k.at(x, {0, 64}, 3, {0, 10, 2}): pairs and triples are slices, numbers indices, "..." an ellipsis.
  function k.at(x, ...)
    local fmt <const>, values, n = {}, {}, 0
    for i = 1, select("#", ...) do
      local item <const> = (select(i, ...))
      if type(item) == "table" then
        fmt[i] = "s"
        for q = 1, 3 do values[n + q] = item[q] or k.None end
        n = n + 3
      elseif item == "..." then
        fmt[i] = "e"
      else
        fmt[i] = "i"
        n = n + 1
        values[n] = item
      end
    end
    return meta.__subscript(x, table.concat(fmt), table.unpack(values, 1, n))
  end
  function k.attr(x, name) return meta.__pygetattr(x, name) end
  k.meta = meta
  return k
end

-- The error a function raises, or nil.
function kit.error(fn, ...)
  local ok <const>, err <const> = pcall(fn, ...)
  if ok then return nil end
  if type(err) ~= "table" or err.kind ~= "nki" then error(err, 2) end
  return err
end

return kit
