-- SPDX-License-Identifier: MIT
-- Arrays against NumPy: tests/oracle/array_cases.py draws arrays, views and operations from a seed and says what NumPy
-- makes of them; here the same is done with rt.array and compared, bit for bit unless a case states a bound.

local t <const> = require "tests.lib"
local array <const> = require "rt.array"

local PYTHON <const> = "/usr/bin/python3"
local SEED <const> = tonumber(os.getenv("NKILN_ARRAY_SEED") or "20240607")

local function have_numpy() return os.execute(PYTHON .. " -c 'import numpy' 2>/dev/null") == true end

local function load_array(spec, data)
  local a = array.from_bytes(spec.dtype, spec.shape, data:sub(spec.offset + 1, spec.offset + spec.bytes))
  for _, view in ipairs(spec.views or {}) do
    local args <const> = {}
    for i = 2, 5 do args[i - 1] = view[i] or nil end
    a = a[view[1]](a, table.unpack(args, 1, 4))
  end
  return a
end

local function load_args(args, data)
  local out <const> = { n = #args }
  for i, arg in ipairs(args) do
    if type(arg) == "table" and arg.dtype then out[i] = load_array(arg, data) else out[i] = arg or nil end
  end
  return out
end

local run <const> = {
  unary = function(op, a) return array.unary(op, a[1]) end,
  binary = function(op, a) return array.binary(op, a[1], a[2]) end,
  compare = function(op, a) return array.compare_op(op, a[1], a[2]) end,
  cast = function(op, a) return a[1]:cast(op) end,
  chip = function(op, a) return a[1]:chip_cast(op) end,
  reduce = function(op, a) return array.reduce(op, a[1], a[2], a[3]) end,
  cumulative = function(op, a) return array.cumulative(op, a[1], a[2]) end,
  matmul = function(_, a) return array.matmul(a[1], a[2]) end,
  where = function(_, a) return array.where(a[1], a[2], a[3]) end,
  concat = function(_, a)
    local list <const> = {}
    for i = 2, a.n do list[i - 1] = a[i] end
    return array.concat(list, a[1])
  end,
  reshape = function(_, a) return a[1]:reshape(a[2]) end,
  arange = function(_, a) return array.arange(a[1], a[2], a[3], a[4]) end,
}

-- NaN has many bit patterns and no meaning in them; zeros may be told not to matter either.
local function without_nan(a, any_zero)
  local b = array.where(array.unary("isnan", a), a:copy():fill(1), a)
  if any_zero then b = array.where(array.compare_op("equal", b, 0), b:copy():fill(0), b) end
  return b
end

local function same(got, want, any_zero)
  if got.dtype ~= want.dtype then return false, "dtype " .. got.dtype .. ", want " .. want.dtype end
  if array.bits_equal(got, want) then return true end
  if t.show(got.shape) ~= t.show(want.shape) then return false, "shape" .. t.show(got.shape) .. ", want " .. t.show(want.shape) end
  local info <const> = array.dtype(got.dtype)
  if info.is_float then
    local a <const>, b <const> = array.unary("isnan", got), array.unary("isnan", want)
    if array.bits_equal(a, b) and array.bits_equal(without_nan(got, any_zero), without_nan(want, any_zero)) then return true end
  end
  for i = 0, got.size - 1 do
    local x <const>, y <const> = got:at(i), want:at(i)
    if x ~= y and not (x ~= x and y ~= y) then return false, ("element %d is %s, want %s"):format(i, x, y) end
  end
  return false, "zeros of different sign"
end

local function close(got, want, case, data)
  if t.show(got.shape) ~= t.show(want.shape) then return false, "shape " .. t.show(got.shape) end
  local e <const> = array.errors(got, want, { ulp = case.ulp, bound = case.bound and load_array(case.bound, data) })
  if e.mismatches > 0 then
    local i <const> = e.first_mismatch
    return false, ("element %d is %s, want %s"):format(i, got:at(i), want:at(i))
  end
  if case.bound and e.over_bound > 0 then
    local i <const> = e.worst_ratio_index
    return false, ("element %d is %s, want %s: %g times the bound"):format(i, got:at(i), want:at(i), e.worst_ratio)
  end
  if case.most and e.max_ulp > case.most then
    local i <const> = e.max_ulp_index
    return false, ("element %d is %s, want %s: %g ulp"):format(i, got:at(i), want:at(i), e.max_ulp)
  end
  if case.relative and e.max_rel > case.relative then
    -- denormal results have few digits
    local i <const> = e.max_rel_index
    local x <const>, y <const> = got:at(i), want:at(i)
    if math.abs(x - y) > 1e-300 then return false, ("element %d is %s, want %s: %g relative"):format(i, x, y, e.max_rel) end
  end
  return true
end

local function check(case, data, problems)
  local args <const> = load_args(case.args, data)
  local ok <const>, got <const> = pcall(run[case.kind], case.op, args)
  local fine, why = ok, got
  if ok then
    local want <const> = load_array(case.want, data)
    if case.bound or case.most or case.relative then fine, why = close(got, want, case, data)
    else fine, why = same(got, want, case.any_zero) end
  end
  if not fine then
    local shown <const> = {}
    for i = 1, args.n do shown[i] = tostring(args[i]) end
    problems[#problems + 1] = ("%s %s(%s): %s"):format(case.kind, case.op, table.concat(shown, ", "), why)
  end
end

if have_numpy() then
  local folder <const> = os.tmpname()
  os.remove(folder)
  local code <const>, _, err <const> = t.sh(("mkdir -p %s && %s tests/oracle/array_cases.py %s %d"):format(folder, PYTHON, folder, SEED))
  local kinds <const>, by_kind <const> = {}, {}
  local data
  if code == 0 then
    data = t.read(folder .. "/data.bin")
    for _, case in ipairs(dofile(folder .. "/cases.lua")) do
      if not by_kind[case.kind] then
        by_kind[case.kind] = {}
        kinds[#kinds + 1] = case.kind
      end
      table.insert(by_kind[case.kind], case)
    end
  end
  os.execute("rm -rf " .. folder)
  t.test("cases were made", function() t.eq(code, 0, err) end)
  for _, kind in ipairs(kinds) do
    t.test(("%s as NumPy"):format(kind), function()
      local problems <const> = {}
      for _, case in ipairs(by_kind[kind]) do check(case, data, problems) end
      if #problems > 0 then
        error({ test_failure = true, message = ("%d of %d: %s"):format(#problems, #by_kind[kind],
          table.concat(problems, "\n      ", 1, math.min(#problems, 12))) })
      end
    end)
  end
else
  t.test("arrays as NumPy", function() t.skip("no " .. PYTHON .. " with NumPy") end)
end
