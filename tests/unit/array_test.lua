-- SPDX-License-Identifier: MIT
-- The array module itself: lifetime, memory account, elements, views, messages, random data, the same bits on every
-- kernel variant. Values of operations are tested in array_oracle_test.lua.

local t <const> = require "tests.lib"
local array <const> = require "rt.array"

local function range(n, dtype, shape) return array.arange(0, n, 1, dtype or "float32"):reshape(shape or { n }) end
local function list(a) return table.concat(a:totable(), " ") end

t.test("making and reading", function()
  local a <const> = array.new("bf16", { 2, 3 })
  t.eq({ a.dtype, a.ndim, a.size, a.nbytes, a.shape }, { "bfloat16", 2, 6, 12, { 2, 3 } })
  t.eq(list(a), "0.0 0.0 0.0 0.0 0.0 0.0")
  t.eq(tostring(a), "array bfloat16[2,3]")
  t.eq(list(array.new("int8", 3, 300)), "44 44 44")
  t.eq(list(array.from("f16", { 2 }, { 65519, 65520 })), "65504.0 inf")
  t.eq(array.from("bool", { 2 }, { true, 0 }):totable(), { true, false })
  t.eq(array.new("float64", {}, 2.5):item(), 2.5)
  local b <const> = array.from("int64", { 2, 2 }, { 1, 2, math.mininteger, math.maxinteger })
  t.eq({ b:get(1, 0), b:get(-1, -1), b:at(1) }, { math.mininteger, math.maxinteger, 2 })
  b:set(7, 0, -1)
  t.eq(b:get(0, 1), 7)
  t.eq(b:bytes(), string.pack("<i8i8i8i8", 1, 7, math.mininteger, math.maxinteger))
  t.eq(a.unknown, nil)
  t.eq(array.new("float32", { 0, 5 }).size, 0)
end)

t.test("views share, copies do not", function()
  local a <const> = range(24, "int32", { 2, 3, 4 })
  t.eq(list(a:select(0, 1):select(1, -1)), "15 19 23")
  t.eq(list(a:slice(2, nil, nil, -3):select(0, 0)), "3 0 7 4 11 8")
  t.eq(list(a:slice(1, -2, 100):slice(0, 1, nil):select(2, 0)), "16 20")
  t.eq(a:slice(1, 2, 1).shape, { 2, 0, 4 })
  t.eq(a:transpose({ 2, 0, 1 }).shape, { 4, 2, 3 })
  t.eq(a:expand(-1):expand(0).shape, { 1, 2, 3, 4, 1 })
  t.eq(a:expand(0):squeeze(0).shape, { 2, 3, 4 })
  t.eq(array.new("float32", { 1, 4, 1 }):squeeze().shape, { 4 })
  t.eq(a:reshape({ -1, 2 }).shape, { 12, 2 })
  local view <const> = a:select(0, 0):transpose():slice(0, 1, 3)
  view:fill(-1)
  t.eq(list(a:select(0, 0)), "0 -1 -1 3 4 -1 -1 7 8 -1 -1 11")
  view:assign(array.from("float64", { 3 }, { 5.9, 6, -7.9 }))
  t.eq(list(a:select(0, 0)), "0 5 5 3 4 6 6 7 8 -7 -7 11")
  a:copy():fill(0)
  t.eq(a:at(0), 0)
  t.eq(a:at(23), 23)
  -- overlapping assignment reads before it writes
  local line <const> = range(6)
  line:slice(0, 1, nil):assign(line:slice(0, 0, -1))
  t.eq(list(line), "0.0 0.0 1.0 2.0 3.0 4.0")
  line:assign(line:slice(0, nil, nil, -1))
  t.eq(list(line), "4.0 3.0 2.0 1.0 0.0 0.0")
  t.eq(list(range(2):view("int32")), "0 1065353216")
  t.ok(not a:transpose().contiguous_view)
  t.ok(a:transpose():contiguous().contiguous_view)
  t.eq(list(range(3):broadcast_to({ 2, 3 })), "0.0 1.0 2.0 0.0 1.0 2.0")
end)

t.test("wrong use names the operation and the shapes", function()
  local a <const>, b <const> = array.new("float32", { 2, 3 }), array.new("float32", { 4, 3 })
  local cases <const> = {
    { function() array.binary("add", a, b) end, "add: shapes %[2,3%] and %[4,3%] do not broadcast" },
    { function() array.where(array.new("bool", { 5 }), a, b) end, "where: shapes %[5%], %[2,3%] and %[4,3%]" },
    { function() array.matmul(a, b) end, "matmul: shapes %[2,3%] and %[4,3%]: contraction lengths 3 and 4 differ" },
    { function() array.concat({ a, b }, 1) end, "concat: shapes %[2,3%] and %[4,3%] differ off axis 1" },
    { function() a:reshape({ 4, 2 }) end, "reshape: shape %[2,3%] cannot become %[4,2%]" },
    { function() a:reshape({ -1, -1 }) end, "cannot become" },
    { function() a:transpose({ 0, 0 }) end, "axis 0 is given twice" },
    { function() a:transpose({ 0, 2 }) end, "axis 2 is out of range for shape %[2,3%]" },
    { function() a:select(1, 3) end, "select: index 3 is out of range for axis 1 of shape %[2,3%]" },
    { function() a:slice(2, 0, 1) end, "slice: axis 2 is out of range" },
    { function() a:slice(0, 0, 1, 0) end, "step is zero" },
    { function() a:squeeze(0) end, "axis 0 of shape %[2,3%] is not of length 1" },
    { function() a:broadcast_to({ 3, 3 }) end, "shape %[2,3%] does not broadcast to %[3,3%]" },
    { function() a:assign(b) end, "assign: shape %[4,3%] does not broadcast to %[2,3%]" },
    { function() a:view("float16") end, "view: float32 and float16 differ in size" },
    { function() a:get(0) end, "get: 1 indices for 2 dimensions" },
    { function() a:get(2, 0) end, "index 2 is out of range for axis 0 of length 2" },
    { function() a:at(6) end, "index 6 is out of range" },
    { function() a:item() end, "6 elements" },
    { function() array.new("float31", { 1 }) end, "unknown dtype 'float31'" },
    { function() array.new("float32", { -1 }) end, "negative" },
    { function() array.new("float32", { 1, 1, 1, 1, 1, 1, 1, 1, 1 }) end, "0 to 8 dimensions" },
    { function() array.new("float32", { 1 << 40, 1 << 40 }) end, "too large" },
    { function() array.from("float32", { 3 }, { 1, 2 }) end, "2 values for 3" },
    { function() array.from("float32", { 1 }, { "1" }) end, "number or boolean expected" },
    { function() array.reduce("sum", a, { 0, 0 }) end, "axis 0 is given twice" },
    { function() array.reduce("sum", a, 2) end, "sum: axis 2 is out of range" },
    { function() array.reduce("max", array.new("float32", { 2, 0 }), 1) end, "max: no elements" },
    { function() array.reduce("total", a) end, "no operation 'total'" },
    { function() array.unary("exq", a) end, "no operation 'exq'" },
    { function() array.unary("invert", a) end, "invert: needs an integer array, not float32" },
    { function() array.binary("bitwise_and", a, a) end, "needs integer operands, not float32" },
    { function() array.binary("add", 1, 2) end, "neither operand is an array" },
    { function() array.binary("add", array.new("int8", { 1 }), 300) end, "300 does not fit int8" },
    { function() array.binary("power", array.new("int8", { 1 }), -1) end, "negative integer powers" },
    { function() array.binary("subtract", array.new("bool", { 1 }), true) end, "not defined for bool" },
    { function() array.binary("add", a, "1") end, "rt.array expected" },
    { function() array.arange(0, 5, 0) end, "arange" },
    { function() array.random{ shape = { 1 }, dist = "fair" } end, "no distribution 'fair'" },
    { function() array.errors(a, b) end, "errors: shapes %[2,3%] and %[4,3%] differ" },
  }
  for i, case in ipairs(cases) do
    local ok <const>, message <const> = pcall(case[1])
    t.ok(not ok, "case " .. i .. " did not raise")
    t.match(message, case[2], "case " .. i)
  end
end)

t.test("closing is final and may be repeated", function()
  local a <const> = array.new("float32", { 1000 })
  local used <const> = array.memory()
  local b <const> = a:slice(0, 0, 10)
  a:close()
  a:close()
  t.eq(array.memory(), used)
  t.raises(function() a:copy() end, "closed")
  t.raises(function() array.binary("add", b, a) end, "closed")
  t.eq(tostring(a), "array (closed)")
  t.eq(b:at(9), 0.0)
  b:close()
  t.eq(array.memory(), used - 4000)
  do
    local c <close> = array.new("float32", { 1000 })
    t.eq(c.size, 1000)
  end
  t.eq(array.memory(), used - 4000)
end)

t.test("garbage does not pile up behind Lua's back", function()
  collectgarbage()
  local before <const> = array.memory()
  local a <const> = array.new("float32", { 1 << 20 })
  local most = 0
  for _ = 1, 100 do
    array.unary("negative", a)
    most = math.max(most, (array.memory()))
  end
  t.ok(most - before < 200 << 20, "grew to " .. most)
  a:close()
  collectgarbage()
  t.eq(array.memory(), before)
end)

local function host()
  local pipe <const> = assert(io.popen("readlink /proc/$PPID/exe"))
  local path <const> = pipe:read("l")
  pipe:close()
  return t.quote(path)
end

t.test("the memory account has a limit", function()
  local path <const> = t.tmpdir() .. "/limit.lua"
  t.write(path, [[
    local array = require "rt.array"
    local keep = array.new("float32", { 1 << 20 })
    -- dropped arrays do not count: within 10 MB, 4 MB at a time, in a coroutine too
    for i = 1, 20 do array.unary("negative", keep) end
    coroutine.wrap(function() for i = 1, 20 do array.unary("negative", keep) end end)()
    local two = array.unary("negative", keep)
    local ok, message = pcall(array.unary, "negative", keep)
    print(ok, message)
    print(pcall(array.new, "float64", { 1 << 40 }))
    two:close()
    print(pcall(array.unary, "negative", keep))
    local used, peak, limit = array.memory()
    print(peak <= limit, limit)
  ]])
  local code <const>, out <const>, err <const> = t.sh("NKILN_TEST_ARRAY_LIMIT=10000000 " .. host() .. " " .. path)
  t.eq(code, 0, err)
  t.match(out, "^false\tarray of 4194304 bytes: over the limit of 10000000 bytes %(8388608 in use%)\n")
  t.match(out, "\nfalse\tarray of 8796093022208 bytes: over the limit")
  t.match(out, "\ntrue\tarray float32%[1048576%]\ntrue\t10000000\n$")
end)

t.test("freed blocks are kept for the next array of their size, within bounds", function()
  local path <const> = t.tmpdir() .. "/blocks.lua" -- in a process that has kept nothing yet
  t.write(path, [[
    local array = require "rt.array"
    local function kept() return (select(4, array.memory())) end
    local a = array.new("float32", { 3 << 18 })
    a:close()
    print(kept())
    local b = array.new("float32", { 3 << 18 })
    print(kept(), array.reduce("abs_max", b):item())
    b:close()
    array.new("float32", { 100 }):close()
    print(kept())
    local many = {}
    for i = 1, 40 do many[i] = array.new("int8", { (4 << 20) + 4096 * i }) end
    for i = 1, 40 do many[i]:close() end
    print(kept() <= 128 << 20 and kept() > 120 << 20)
    for i = 1, 300 do many[i] = array.new("int8", { 1 << 16 }) end
    for i = 1, 300 do many[i]:close() end
    print(kept())
    array.new("int8", { 129 << 20 }):close()
    print(kept())
  ]])
  local code <const>, out <const>, err <const> = t.sh(host() .. " " .. path)
  t.eq(code, 0, err)
  t.eq(out, "3145728\n0\t0.0\n3145728\ntrue\n8388608\n8388608\n")
end)

t.test("kept blocks make room before anything is refused", function()
  local path <const> = t.tmpdir() .. "/kept.lua"
  t.write(path, [[
    local array = require "rt.array"
    for i = 1, 20 do array.new("int8", { (4 << 20) + i * 8192 }):close() end
    local _, _, limit, kept = array.memory()
    print(kept > 4 << 20 and kept < limit)
    local a, b = array.new("int8", { 5 << 20 }), array.new("int8", { 4 << 20 })
    print(select(4, array.memory()))
  ]])
  local code <const>, out <const>, err <const> = t.sh("NKILN_TEST_ARRAY_LIMIT=10000000 " .. host() .. " " .. path)
  t.eq(code, 0, err)
  t.eq(out, "true\n0\n")
end)

t.test("distance measured: errors, rows, fit, shift", function()
  local want <const> = array.random{ dtype = "float64", shape = { 6, 40 }, seed = 9 }
  local got <const> = want:copy()
  got:set(want:get(2, 7) + 0.5, 2, 7)
  got:set(want:get(4, 39) * 1.001, 4, 39)
  local e <const> = array.errors(got, want, { bound = 0.1, tile = { 4, 16 }, ulp = "float32" })
  t.eq({ e.count, e.compared, e.differing, e.mismatches, e.over_bound }, { 240, 240, 2, 0, 1 })
  t.eq({ e.max_abs_index, e.worst_ratio_index, e.worst_row, e.worst_tile }, { 87, 87, 2, { 0, 0, 0 } })
  t.ok(math.abs(e.max_abs - 0.5) < 1e-15 and math.abs(e.worst_ratio - 5) < 1e-14)
  local sum, rows <const> = 0, {}
  for i = 0, 5 do
    local row = 0
    for j = 0, 39 do row = row + want:get(i, j) ^ 2 end
    sum, rows[i] = sum + row, row
  end
  local off <const> = (want:get(4, 39) * 1.001 - want:get(4, 39)) ^ 2
  t.ok(math.abs(e.rel_l2 - math.sqrt((0.25 + off) / sum)) < 1e-14)
  t.ok(math.abs(e.worst_row_l2 - math.sqrt(0.25 / rows[2])) < 1e-14)
  t.eq(e.ulp_histogram["0"], 238)
  t.eq(e.ulp_histogram.more, 2)
  local by_row <const> = array.row_errors(got, want)
  t.eq(by_row.shape, { 6 })
  t.ok(by_row:at(0) == 0 and math.abs(by_row:at(2) - e.worst_row_l2) < 1e-15 and by_row:at(4) > 0)
  local by_column <const> = array.axis_errors(got, want, 1)
  t.ok(by_column:at(7) > 0.05 and by_column:at(39) > 0 and by_column:at(8) == 0)

  local fit <const> = array.fit(array.binary("multiply", want, 1.25), want)
  t.ok(math.abs(fit.scale - 1.25) < 1e-12 and fit.scale_residual < 1e-14 and math.abs(fit.rel_l2 - 0.25) < 1e-12)
  fit.off = array.fit(array.binary("add", want, 3), want)
  t.ok(math.abs(fit.off.offset - 3) < 1e-12 and fit.off.offset_residual < 1e-14)

  local moved <const> = array.new("float64", { 6, 40 })
  moved:slice(1, 2, nil):assign(want:slice(1, 0, -2))
  local k <const>, left <const> = array.shift(moved, want, 1)
  t.eq({ k, left }, { 2, 0.0 })
  local back <const> = array.shift(want, moved, 1)
  t.eq(back, -2)
  t.eq((array.shift(want, moved, 0)) ~= 0, true)
end)

t.test("what is not finite is counted apart", function()
  local inf <const>, nan <const> = math.huge, 0 / 0
  local want <const> = array.from("float32", { 6 }, { 1, nan, inf, inf, 2, 0 })
  local got <const> = array.from("float32", { 6 }, { 1, nan, inf, -inf, nan, 0 })
  local e <const> = array.errors(got, want, { bound = 0 })
  t.eq({ e.compared, e.mismatches, e.first_mismatch, e.nonfinite_actual, e.nonfinite_expected }, { 2, 2, 3, 4, 3 })
  t.eq({ e.over_bound, e.worst_ratio, e.max_abs }, { 0, 0.0, 0.0 })
  e.off = array.errors(array.from("float32", { 1 }, { 1e-30 }), array.new("float32", { 1 }), { bound = 0 })
  t.eq({ e.off.max_rel, e.off.worst_ratio, e.off.over_bound, e.off.rel_l2 }, { inf, inf, 1, inf })
  t.eq(array.row_errors(got, want):item(), inf)
end)

t.test("random data depends on the seed alone", function()
  -- Philox 4x32-10 of counter 0 and key 0, from the published test vectors: 6627e8d5 e169c58d ...
  local u <const> = array.random{ dtype = "float64", shape = { 1 }, seed = 0, dist = "uniform" }:item()
  t.eq(u, ((0x6627e8d5 << 32 | 0xe169c58d) >> 11) * 2.0 ^ -53)
  local function make(o)
    o.dtype, o.shape = o.dtype or "float32", o.shape or { 64, 128 }
    return array.random(o)
  end
  local golden <const> = {}
  for _, dist in ipairs{ "normal", "uniform", "all_equal", "large", "tiny", "signed_zeros", "outlier", "integers", "cancellation",
    "nan_row", "inf_row", "hot_row", "hot_column", "extremes" } do
    local a <const> = make{ seed = 42, dist = dist }
    t.eq(make{ seed = 42, dist = dist }:hash(), a:hash(), dist)
    if dist ~= "signed_zeros" then t.ok(make{ seed = 43, dist = dist }:hash() ~= a:hash(), dist .. " ignores its seed") end
    golden[dist] = a
  end
  local n <const> = golden.normal
  t.ok(math.abs(array.reduce("mean", n):item()) < 0.05 and math.abs(array.reduce("std", n):item() - 1) < 0.03)
  -- a part of the data is the data of a part
  t.ok(array.bits_equal(make{ seed = 42, shape = { 3, 128 } }, n:slice(0, 0, 3)))
  t.ok(array.bits_equal(array.reduce("max", golden.all_equal), array.reduce("min", golden.all_equal)))
  t.eq(array.reduce("count_nonzero", golden.signed_zeros):item(), 0)
  local negative <const> = array.reduce("sum", array.unary("signbit", golden.signed_zeros)):item()
  t.ok(negative > 3500 and negative < 4700)
  t.ok(array.bits_equal(array.unary("round", golden.integers), golden.integers))
  t.eq({ array.reduce("min", golden.integers):item(), array.reduce("max", golden.integers):item() }, { -8.0, 8.0 })
  t.ok(array.reduce("abs_max", golden.tiny):item() < 2.0 ^ -124 and array.reduce("count_nonzero", golden.tiny):item() == 8192)
  local _, at <const> = make{ seed = 42, dist = "outlier" }
  t.eq(golden.outlier:at(at), 1e4)
  local _, row <const> = make{ seed = 42, dist = "nan_row" }
  t.eq(array.reduce("sum", array.unary("isnan", golden.nan_row)):item(), 128)
  t.ok(array.reduce("all", array.unary("isnan", golden.nan_row:select(0, row))):item())
  local sums <const> = array.reduce("abs_max", array.reduce("sum", golden.cancellation, 1)):item()
  t.ok(sums < 0.5 and sums > 0, "sums of cancelling rows reach " .. sums)
  t.ok(array.reduce("all", array.unary("isfinite", make{ seed = 1, dist = "outlier", dtype = "float8_e4m3" })):item())
  t.eq(list(make{ seed = 5, dtype = "uint8", shape = { 4 }, dist = "uniform" }), list(make{ seed = 5, dtype = "uint8", shape = { 4 }, dist = "uniform" }))
end)

t.test("every kernel variant gives the same bits", function()
  local script <const> = [[
    local array = require "rt.array"
    local out = {}
    local function say(name, a) out[#out + 1] = ("%s %x"):format(name, a:hash()) end
    for _, dtype in ipairs{ "float32", "float64", "bfloat16", "float16", "int32", "int64", "int8" } do
      local x = array.random{ dtype = dtype, shape = { 37, 97 }, seed = 1, scale = 3 }
      local y = array.random{ dtype = dtype, shape = { 37, 97 }, seed = 2, scale = 3 }
      local p = array.binary("add", array.unary("abs", x), 1)
      say("random " .. dtype, x)
      for _, op in ipairs{ "sqrt", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tanh", "sigmoid", "erf", "gelu", "gelu_tanh",
        "silu", "softplus", "mish", "arctan", "square", "floor", "round", "rsqrt", "reciprocal", "sign", "negative" } do
        say(dtype .. " " .. op, array.unary(op, op:match("log") and p or op:match("sqrt") and p or x))
      end
      for _, op in ipairs{ "add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide", "remainder" } do
        say(dtype .. " " .. op, array.binary(op, x, p))
      end
      for _, op in ipairs{ "sum", "max", "min", "mean", "var", "sum_square", "abs_max" } do
        for axis = 0, 1 do say(("%s %s %d"):format(dtype, op, axis), array.reduce(op, x, axis)) end
        say(dtype .. " " .. op, array.reduce(op, x))
      end
      for _, to in ipairs{ "float64", "float32", "float16", "bfloat16", "tfloat32", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "int8", "int32", "bool" } do
        say(dtype .. " to " .. to, x:cast(to))
      end
      say(dtype .. " matmul", array.matmul(x, y:transpose()))
      say(dtype .. " scan", array.cumulative("sum", x, 1))
    end
    print(array.memory())
    print(table.concat(out, "\n"))
  ]]
  local path <const> = t.tmpdir() .. "/variants.lua"
  t.write(path, script)
  local results <const> = {}
  for _, variant in ipairs{ "base", "avx2", "avx512" } do
    local code <const>, out <const>, err <const> = t.sh(("NKILN_BLAS=none NKILN_SIMD=%s %s %s"):format(variant, host(), path))
    t.eq(code, 0, err)
    results[variant] = {}
    for line in out:gmatch("[^\n]+") do table.insert(results[variant], line) end
  end
  t.ok(#results.base > 300)
  for i, line in ipairs(results.base) do
    t.eq(results.avx2[i], line)
    t.eq(results.avx512[i], line)
  end
end)

t.test("hash and equality see type, shape and every bit", function()
  local a <const> = array.random{ shape = { 33, 65 }, seed = 8 }
  t.eq(a:hash(), a:copy():hash())
  t.eq(a:transpose():hash(), a:transpose():contiguous():hash())
  t.ok(a:hash() ~= a:reshape({ 65, 33 }):hash())
  t.ok(a:hash() ~= a:view("int32"):hash())
  local seen <const> = {}
  for i = 0, a.size - 1, 37 do
    local b <const> = a:view("int32"):copy()
    b:reshape({ a.size }):set(b:at(i) ~ 1, i)
    t.ok(not array.bits_equal(b, a:view("int32")))
    t.ok(not seen[b:hash()])
    seen[b:hash()] = true
  end
  t.ok(array.bits_equal(array.new("float32", { 1 }, 0.0), array.new("float32", { 1 })))
  t.ok(not array.bits_equal(array.new("float32", { 1 }, -0.0), array.new("float32", { 1 })))
end)

t.test("long sums stay within a pairwise bound", function()
  local n <const> = 1 << 22
  local a <const> = array.new("float32", { n }, 0.1)
  local exact <const> = array.round("float32", 0.1) * n
  t.ok(math.abs(array.reduce("sum", a):item() - exact) < exact * 2.0 ^ -24 * 30)
  local column <const> = array.reduce("sum", a:reshape({ n // 16, 16 }), 0):at(3)
  t.ok(math.abs(column - exact / 16) < exact / 16 * 2.0 ^ -24 * 400, "down the rows: " .. column)
end)

t.test("contraction: library and own product agree", function()
  local path <const> = t.tmpdir() .. "/gemm.lua"
  t.write(path, [[
    local array = require "rt.array"
    for _, dtype in ipairs{ "float32", "float64" } do
      for _, s in ipairs{ { 1, 1, 1 }, { 3, 5, 7 }, { 130, 70, 257 }, { 12, 600, 33 }, { 200, 129, 515 }, { 1, 300, 64 }, { 121, 1, 513 } } do
        local a = array.random{ dtype = dtype, shape = { s[1], s[2] }, seed = 1, dist = "integers" }
        local b = array.random{ dtype = dtype, shape = { s[2], s[3] }, seed = 2, dist = "integers" }
        local at = array.random{ dtype = dtype, shape = { s[2], s[1] }, seed = 1, dist = "integers" }:transpose()
        local bt = array.random{ dtype = dtype, shape = { s[3], s[2] }, seed = 2, dist = "integers" }:transpose()
        print(dtype, array.matmul(a, b):hash(), array.matmul(at, b):hash(), array.matmul(a, bt):hash(), array.matmul(at, bt):hash())
      end
    end
    io.stderr:write(array.backend())
  ]])
  local code, out, backend <const> = t.sh(("%s %s"):format(host(), path))
  t.eq(code, 0)
  local own <const> = out
  for _, variant in ipairs{ "base", "avx2", "avx512" } do
    code, out = t.sh(("NKILN_BLAS=none NKILN_SIMD=%s %s %s"):format(variant, host(), path))
    t.eq(code, 0)
    t.eq(out, own, backend .. " against own, " .. variant)
  end
end)
