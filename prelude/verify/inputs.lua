-- SPDX-License-Identifier: MIT
-- Inputs that a kernel is judged on: fixed public seeds, one private seed per verification, and hostile distributions.
-- U[0,1) alone makes averages look right, so it is not used; what each distribution is for stands beside it.

local array <const> = require "rt.array"

local M <const> = {}

M.public_seeds = { 0, 21, 42 }

-- Most telling first: a large case runs only the head of the list.
M.distributions = {
  { name = "normal" },
  { name = "normal", private = true },
  { name = "outlier", why = "one element of 1e4" },
  { name = "integers", why = "small integers: products and short sums are exact, so any difference is a bug" },
  { name = "wide", why = "magnitudes from 1e-6 to 1e6: a clip, a threshold or a flush to zero shows" },
  { name = "large", why = "values near 1e4: a missing maximum subtraction overflows" },
  { name = "tiny", why = "subnormal range: a term such as eps dominates" },
  { name = "all_equal", why = "one value everywhere: a missing or doubled element shows in every sum" },
  { name = "cancellation", why = "sums that nearly cancel" },
  { name = "normal", mean = 100.0, why = "a mean far above the deviation: a variance as a difference of squares cancels" },
  { name = "hot_row", why = "one row times 1e4: rows must not mix" },
  { name = "signed_zeros", why = "+0 and -0" },
  { name = "normal", scale = 30.0, why = "wide range: tails of exponentials" },
  { name = "normal", scale = 0.001, why = "narrow range: constants dominate" },
  { name = "nan_row", special = "nan", why = "one row of NaN must stay in its row" },
  { name = "inf_row", special = "inf", why = "one row of infinity must stay in its row" },
}

local float <const> = { float32 = true, float16 = true, bfloat16 = true, float64 = true, tfloat32 = true, float8_e4m3 = true,
  float8_e5m2 = true, float8_e4m3fn = true }

-- Powers of two that "wide" spans on either side of 1.
local span <const> = { float16 = 8, float8_e4m3 = 4, float8_e4m3fn = 4, float8_e5m2 = 8 }

local function wide(dtype, shape, seed)
  local reach <const> = span[dtype] or 20
  local deviate <const> = array.random({ dtype = "float64", shape = shape, seed = seed, dist = "normal" })
  local power <const> = array.random({ dtype = "float64", shape = shape, seed = seed + 1, dist = "uniform", low = -reach * 0.6931, high = reach * 0.6931 })
  return array.binary("multiply", deviate, array.unary("exp", power)):cast(dtype)
end

-- How many distributions a case of `elements` input elements gets.
function M.count_for(elements)
  if elements > 16000000 then return 2 end
  if elements > 4000000 then return 3 end
  if elements > 1000000 then return 7 end
  return #M.distributions
end

local function mixed(seed, name)
  local h = seed * 0x9E3779B97F4A7C15 + 0x51ED2701
  for i = 1, #name do h = (h ~ name:byte(i)) * 0x100000001B3 end
  return h & 0x7FFFFFFFFFFF
end

-- Inputs of one case: {[name] = rt.array}. arguments: list of {name, kind, dtype, shape, value = array from a file}.
function M.make(arguments, distribution, seed)
  local out <const> = {}
  local first = true
  for _, arg in ipairs(arguments) do
    if arg.kind == "tensor" then
      local name = distribution.name
      if not float[arg.dtype] then
        name = "integers"
      elseif not first and (name == "nan_row" or name == "inf_row" or name == "hot_row" or name == "outlier") then
        -- One poisoned operand is enough; the others stay normal.
        name = "normal"
      end
      local request <const> = { dtype = arg.dtype == "bool" and "uint8" or arg.dtype, shape = arg.shape, seed = mixed(seed, arg.name), dist = name }
      if name == "normal" then request.scale, request.mean = distribution.scale, distribution.mean end
      if arg.dtype == "bool" then
        request.low, request.high = 0, 1
      elseif arg.dtype:find("^u") then
        request.low, request.high = 0, 16
      end
      local value = name == "wide" and wide(arg.dtype, arg.shape, request.seed) or array.random(request)
      if arg.dtype == "bool" then value = value:cast("bool") end
      out[arg.name] = value
      first = false
    elseif arg.kind == "file" then
      out[arg.name] = arg.array
    end
  end
  return out
end

return M
