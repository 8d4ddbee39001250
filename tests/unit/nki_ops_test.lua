-- SPDX-License-Identifier: MIT
-- The machine's instructions against NumPy: tests/oracle/nki_ops.py draws operands and says what NumPy makes of them, in
-- both arithmetic modes. Tolerance 0 means equal; chip mode allows what a case states for sums and table functions.

local t <const> = require "tests.lib"
local kit <const> = require "tests.unit.nki_kit"
local array <const> = require "rt.array"
local json <const> = require "rt.json"

local PYTHON <const> = "/usr/bin/python3"

local function have_numpy() return os.execute(PYTHON .. " -c 'import numpy' 2>/dev/null") == true end

local function numbers(data, ref)
  local out <const> = {}
  for at = 1, ref.count, 256 do
    local n <const> = math.min(256, ref.count - at + 1)
    local values <const> = { string.unpack("<" .. ("d"):rep(n), data, ref.offset + (at - 1) * 8 + 1) }
    for i = 1, n do out[at + i - 1] = values[i] end
  end
  return out
end

local function resolve(k, tiles, arg)
  if type(arg) ~= "table" then return arg == json.null and k.None or arg end
  if arg.op then return k.op[arg.op] end
  if arg.enum then return k.enum[arg.enum[1]][arg.enum[2]] end
  if arg.list then
    local out <const> = {}
    for i, item in ipairs(arg.list) do out[i] = resolve(k, tiles, item) end
    return out
  end
  if not arg.tile then return arg end
  local x = assert(tiles[arg.tile], arg.tile)
  if arg.index then x = k.at(x, table.unpack(arg.index)) end
  for _, call in ipairs(arg.methods or {}) do x = k.v[call[1]](x, table.unpack(call, 2)) end
  if arg.ap then x = k.v.ap(x, arg.ap[1], k.None, k.None, tiles[arg.ap[4]], arg.ap[5], k.None) end
  if arg.select then x = k.v.select(x, arg.select[2], tiles[arg.select[1]]) end
  return x
end

local function run(case, data, mode)
  local k <const> = kit.machine { target = case.target, mode = mode }
  local tiles <const> = {}
  for _, tile in ipairs(case.tiles) do
    local values <const> = array.from_bytes("float64", tile.shape, data:sub(tile.data.offset + 1, tile.data.offset + tile.data.count * 8))
    local input <const> = k.m:input(tile.name, values, tile.dtype, tile.shape)
    local x = input
    if tile.buffer ~= "hbm" then
      x = k.new(tile.shape, tile.dtype, "sbuf", tile.name)
      k.f.dma_copy(x, input)
    end
    if tile.buffer == "psum" then
      local psum <const> = k.new(tile.shape, tile.dtype, "psum", tile.name)
      k.f.tensor_copy(psum, x)
      x = psum
    end
    tiles[tile.name] = x
  end
  for _, dst in ipairs(case.dst) do tiles[dst.name] = k.new(dst.shape, dst.dtype, dst.buffer, dst.name) end
  for _, call in ipairs(case.calls) do
    local args <const> = {}
    for i = 2, #call do args[i - 1] = resolve(k, tiles, call[i]) end
    k.f[call[1]](table.unpack(args, 1, #call - 1))
  end
  for _, want in ipairs(case.expect) do
    local got <const> = k.m:read(tiles[want.name])
    local expected <const> = numbers(data, want[mode])
    local rtol <const> = mode == "exact" and want.exact_rtol or want.rtol
    local atol <const> = mode == "exact" and want.exact_atol or want.atol
    for i, w in ipairs(expected) do
      local g <const> = got[i]
      local same <const> = g == w or (g ~= g and w ~= w) or math.abs(g - w) <= atol + rtol * math.abs(w)
      if not same then
        return ("%s (%s), %s[%d]: got %.17g, want %.17g"):format(case.name, mode, want.name, i - 1, g, w)
      end
    end
  end
end

t.test("instructions against NumPy, both modes", function()
  if not have_numpy() then t.skip("no NumPy here") end
  local folder <const> = t.tmpdir()
  local status <const>, _, err <const> = t.sh(PYTHON .. " tests/oracle/nki_ops.py " .. t.quote(folder))
  t.eq(status, 0, err)
  local cases <const> = assert(json.decode(t.read(folder .. "/cases.json")))
  local data <const> = t.read(folder .. "/data.bin")
  t.ok(#cases > 600, "too few cases: " .. #cases)
  local failures <const>, groups = {}, {}
  for _, case in ipairs(cases) do
    groups[case.group] = (groups[case.group] or 0) + 1
    for _, mode in ipairs { "chip", "exact" } do
      local ok <const>, message <const> = pcall(run, case, data, mode)
      if not ok then
        local why <const> = type(message) == "table" and (message.code or "") .. " " .. (message.message or "") or message
        failures[#failures + 1] = ("%s (%s): %s"):format(case.name, mode, why)
      elseif message then
        failures[#failures + 1] = message
      end
    end
  end
  for _, group in ipairs { "tensor_tensor", "tensor_scalar", "activation", "reduce", "moves", "positions", "matmul" } do
    t.ok((groups[group] or 0) > 5, group)
  end
  t.eq(#failures, 0, ("%d of %d differ\n      %s"):format(#failures, #cases, table.concat(failures, "\n      ", 1, math.min(40, #failures))))
end)
