-- SPDX-License-Identifier: MIT
-- The verifier: two verdicts about a kernel, each by its own measure.
--
-- Algorithm: exact mode (fp64, no rounding) against the reference in fp64 on the kernel's actual, already rounded inputs. A
-- dropped term, a wrong scale or a missing block shows at 1e-10. The allowance per element is 1e-10 of the expected value
-- plus what fp64 itself can lose there: the reference is run again with its inputs and its inexact results moved by one part in
-- 2^52, and 256 times the largest change in the row is allowed, so that another order of summation passes and a small wrong tail does not.
--
-- Rounding: chip mode against exact mode. The bound per element comes from the declared dtypes: one rounding of the output,
-- fp32 arithmetic between (the reference run in fp32 and the movement above, scaled to fp32, show what that does to this
-- expression; the longest contraction in the record adds sqrt(K) roundings). The Tensor engine takes its operands in a type of
-- its own: a tile of a type that the case declares may carry an intermediate value into a matmul, and what that costs is seen
-- by running exact mode with just those operands rounded. Nothing is allowed for any other intermediate of lower precision,
-- which therefore shows as loss.
-- Worst ratio of error to bound: up to 2 passes, up to 8 is reported, above fails.
--
-- Non-finite policy: the output must be finite wherever the reference is, and infinite where it is infinite on finite inputs;
-- a row of NaN or infinity must not reach other rows; where the reference gives NaN the kernel must on ordinary (normal) inputs,
-- on the hostile ones, where NaN may come of a degenerate row, differences are noted.
--
-- A float argument of the case is moved by a quarter once: a kernel that holds its value as a constant does not follow.

local array <const> = require "rt.array"
local core <const> = require "reference.core"
local inputs_module <const> = require "verify.inputs"
local patterns <const> = require "verify.patterns"
local session <const> = require "nki.session"

local verify <const> = {}

verify.version = 1
verify.ALGORITHM_RELATIVE = 1e-10
verify.CONDITION_FACTOR = 256
verify.PASS_RATIO, verify.FAIL_RATIO = 2.0, 8.0

-- Half the spacing of numbers near 1: the relative error of one rounding.
local unit_roundoff <const> = {
  float32 = 2.0 ^ -24, tfloat32 = 2.0 ^ -11, float16 = 2.0 ^ -11, bfloat16 = 2.0 ^ -8, float8_e4m3 = 2.0 ^ -4, float8_e4m3fn = 2.0 ^ -4, float8_e5m2 = 2.0 ^ -3,
}
-- Below this a dtype has no relative precision left: half its smallest subnormal.
local floor_of <const> = { float32 = 2.0 ^ -150, float16 = 2.0 ^ -25, bfloat16 = 2.0 ^ -134, float8_e4m3 = 2.0 ^ -10,
  float8_e4m3fn = 2.0 ^ -10, float8_e5m2 = 2.0 ^ -17 }

local largest_of <const> = { float32 = 3.4028234663852886e38, tfloat32 = 3.4011621342146535e38, bfloat16 = 3.3895313892515355e38, float16 = 65504.0,
  float8_e4m3 = 240.0, float8_e4m3fn = 448.0, float8_e5m2 = 57344.0 }

local function tile_of(shape, index)
  local columns <const> = shape[#shape] or 1
  local row <const>, column <const> = index // math.max(columns, 1), index % math.max(columns, 1)
  local full <const> = {}
  local rest = index
  for i = #shape, 1, -1 do
    full[i] = rest % shape[i]
    rest = rest // shape[i]
  end
  return { index = full, row = row, column = column, tile = row // 128, partition = row % 128 }
end

-- The largest absolute entry of each row, spread over the row again.
local function row_max(a)
  if #a.shape == 0 then return array.unary("abs", a) end
  return array.reduce("max", array.unary("abs", a), { #a.shape - 1 }, true)
end

local function clean(a) return array.where(array.unary("isfinite", a), a, array.new("float64", {}, 0.0)) end

-- Inputs moved by a relative 2^-52, element by element.
local function nudged(inputs, seed, amount)
  local out <const> = {}
  for name, value in pairs(inputs) do
    if value.dtype:find("float") then
      local wide <const> = value:cast("float64")
      local noise <const> = array.random({ dtype = "float64", shape = value.shape, seed = seed * 7919 + #name, dist = "uniform", low = -1.0, high = 1.0 })
      out[name] = array.binary("add", wide, array.binary("multiply", wide, array.binary("multiply", noise, amount)))
    else
      out[name] = value
    end
  end
  return out
end

local function reference_args(arguments, inputs)
  local list <const> = {}
  for i, arg in ipairs(arguments) do
    if arg.kind == "tensor" or arg.kind == "file" then
      list[i] = { name = arg.name, value = inputs[arg.name], dtype = arg.dtype }
    else
      list[i] = { name = arg.name, value = arg.value }
    end
  end
  return list
end

-- The reference's outputs as float64 arrays, or nil, err.
local function expected_of(reference, arguments, inputs, real, noise)
  core.real, core.noise = real or "float64", noise
  local ok <const>, outputs <const>, err <const> = pcall(reference.run, reference, reference_args(arguments, inputs))
  core.real, core.noise = "float64", nil
  if not ok then error(outputs, 0) end
  if not outputs then return nil, err end
  for _, output in ipairs(outputs) do output.array = output.array:cast("float64") end
  return outputs
end

local function shape_text(shape) return "[" .. table.concat(shape, ",") .. "]" end

local function same_shape(a, b)
  if #a ~= #b then return false end
  for i, e in ipairs(a) do if b[i] ~= e then return false end end
  return true
end

-- Judge one output of one run of the exact mode. Returns {ok, ...}.
-- `special`: the inputs hold NaN or infinity; `plain`: they are ordinary numbers, on which NaN is an answer like any other.
local function judge_algorithm(actual, expected, spread, special, plain)
  local tolerance = array.binary("add", array.binary("multiply", array.unary("abs", clean(expected)), verify.ALGORITHM_RELATIVE), 1e-300)
  if spread then tolerance = array.binary("add", tolerance, array.binary("multiply", row_max(clean(spread)), verify.CONDITION_FACTOR)) end
  -- Where the reference itself has no answer (NaN), or in a poisoned run no finite one, there is nothing to judge.
  -- Nor where it makes an integer of a NaN.
  local judged <const> = special and array.binary("logical_and", array.unary("isfinite", expected),
    array.compare_op("less", array.unary("abs", expected), 9.0e18)) or array.unary("logical_not", array.unary("isnan", expected))
  local zero <const> = array.new("float64", {}, 0.0)
  local raw <const> = array.errors(actual, expected)
  local stats = array.errors(array.where(judged, actual, zero), array.where(judged, expected, zero), { bound = tolerance, tile = { 128, 512 } })
  local domain <const> = plain and stats.mismatches == 0 and raw.mismatches > 0
  if domain then stats = array.errors(actual, expected, { bound = tolerance, tile = { 128, 512 } }) end
  local out <const> = {
    max_abs = stats.max_abs, max_rel = stats.max_rel, rel_l2 = stats.rel_l2, ratio = stats.worst_ratio, over = stats.over_bound, count = stats.count,
    mismatches = stats.mismatches, noted = raw.mismatches > stats.mismatches and raw.mismatches - stats.mismatches or nil,
  }
  out.ok = out.mismatches == 0 and (out.over or 0) == 0
  out.domain = domain or nil
  if not out.ok then
    local index <const> = out.mismatches > 0 and stats.first_mismatch or stats.worst_ratio_index or stats.max_abs_index or 0
    out.worst = tile_of(actual.shape, index)
    out.worst.got, out.worst.want = actual:reshape({ actual.size }):at(index), expected:reshape({ expected.size }):at(index)
  end
  return out
end

-- Judge one output of the chip mode against the exact mode.
local function judge_rounding(chip, exact, dtype, low, expected, contraction, spread, operands)
  local u_out <const> = unit_roundoff[dtype] or 0
  local u32 <const> = unit_roundoff.float32
  local magnitude <const> = array.unary("abs", clean(exact))
  local bound = array.binary("multiply", magnitude, u_out + 4 * u32)
  bound = array.binary("add", bound, math.max(floor_of[dtype] or 0, 2.0 ^ -150))
  -- fp32 arithmetic between: what it does to the reference itself, with room for another order of summation.
  if low then
    local gap <const> = array.unary("abs", clean(array.binary("subtract", low, expected)))
    bound = array.binary("add", bound, array.binary("multiply", gap, 2.0))
    bound = array.binary("add", bound, array.binary("multiply", row_max(gap), 1.0))
  end
  -- Operands of matmuls kept in a declared type: what rounding them does to the exact run, which element it hits is chance.
  if operands then
    local gap <const> = array.unary("abs", clean(array.binary("subtract", operands, exact)))
    bound = array.binary("add", bound, array.binary("add", gap, array.binary("multiply", row_max(gap), 0.5)))
  end
  -- A sum that cancels is small beside its terms: what one fp32 rounding of the inputs would move, once per partial sum of the
  -- longest contraction (their roundings add up like its square root).
  if spread then
    local moved <const> = array.binary("multiply", row_max(clean(spread)), u32 / 2.0 ^ -52)
    bound = array.binary("add", bound, array.binary("multiply", moved, 2.0 + math.sqrt(contraction or 1) / 4))
  end
  if contraction and contraction > 1 then
    bound = array.binary("add", bound, array.binary("multiply", row_max(magnitude), u32 * math.sqrt(contraction) / 4))
  end
  local actual <const> = chip:cast("float64")
  -- Judged where the value fits the type and fp32 arithmetic reaches it: beyond, infinity is the right answer.
  local largest <const> = largest_of[dtype] or largest_of.float32
  local judged = array.compare_op("less_equal", array.unary("abs", exact), largest)
  if low then judged = array.binary("logical_and", judged, array.unary("isfinite", low)) end
  local zero <const> = array.new("float64", {}, 0.0)
  local stats <const> = array.errors(array.where(judged, actual, zero), array.where(judged, exact, zero), { bound = bound,
    ulp = unit_roundoff[dtype] and dtype or nil })
  local out <const> = { ratio = stats.worst_ratio or 0, rel_l2 = stats.rel_l2, max_abs = stats.max_abs, ulp = stats.max_ulp,
    ulp_histogram = stats.ulp_histogram, mismatches = stats.mismatches }
  if low and unit_roundoff[dtype] then
    local rounded <const> = array.errors(array.where(judged, low:cast(dtype):cast("float64"), zero), array.where(judged, expected, zero)).rel_l2
    if rounded and rounded > 0 then out.r = stats.rel_l2 / rounded end
  end
  -- NaN or infinity where fp32 arithmetic has an answer.
  if stats.mismatches > 0 then
    out.overflow = stats.mismatches
    out.ratio = math.huge
  end
  out.grade = out.ratio <= verify.PASS_RATIO and "pass" or out.ratio <= verify.FAIL_RATIO and "report" or "fail"
  if out.grade ~= "pass" then
    local index <const> = stats.mismatches > 0 and stats.first_mismatch or stats.worst_ratio_index or 0
    out.worst = tile_of(chip.shape, index)
    out.worst.got, out.worst.want = actual:reshape({ actual.size }):at(index), exact:reshape({ exact.size }):at(index)
  end
  return out
end

-- The longest contraction in the record, and the narrowest float a value passed through on the way.
local function record_facts(record, declared)
  local totals <const> = record:totals()
  local facts <const> = { contraction = 0, totals = totals }
  for _, tensor in ipairs(totals.tensors) do
    if tensor.role == "output" then facts.contraction = math.max(facts.contraction, tensor.contraction or 0) end
  end
  facts.declared_roundoff = 0.0 -- of the narrowest float among the inputs
  for _, dtype in ipairs(declared) do facts.declared_roundoff = math.max(facts.declared_roundoff, unit_roundoff[dtype] or 0.0) end
  -- Instructions that write an on-chip tile narrower than anything the case declares.
  local n <const> = math.min(record:len(), 20000)
  for i = 1, n do
    local instruction <const> = record:get(i)
    local dst <const> = instruction.operands and instruction.operands[1] or instruction.dst
    local u <const> = dst and unit_roundoff[dst.dtype]
    if u and dst.buffer ~= "hbm" and dst.buffer ~= "shared_hbm" then
      local allowed = false
      for _, dtype in ipairs(declared) do allowed = allowed or dtype == dst.dtype end
      if not allowed and u > unit_roundoff.float32 then
        facts.narrowed = { site = instruction.site, dtype = dst.dtype, op = instruction.op }
        break
      end
    end
  end
  return facts
end

-- How far the reference moves with its inputs, per output. An output with few columns has no neighbours to pool with, so
-- more trials. `elements` of all inputs.
local function spread_of(reference, arguments, inputs, expected, elements, more)
  local spread <const>, trials = {}, more or 2
  for _, output in ipairs(expected) do
    if not more and (output.array.shape[#output.array.shape] or 1) < 16 then trials = elements > 4000000 and 3 or 8 end
  end
  for trial = 1, trials do
    local moved <const> = expected_of(reference, arguments, nudged(inputs, trial, 2.0 ^ -52), nil, { seed = trial })
    for i, output in ipairs(moved or {}) do
      local gap <const> = array.unary("abs", array.binary("subtract", output.array, expected[i].array))
      spread[i] = spread[i] and array.binary("maximum", spread[i], gap) or gap
    end
  end
  return spread
end

local function run_kernel(job, case, mode, inputs, poison, round_operands)
  return session.run({
    round_operands = round_operands,
    path = job.path, source = job.source, entry = job.entry, case = case, target = job.target, version = job.version, mode = mode, execute = true,
    inputs = inputs, poison = poison, roots = job.roots, step_limit = job.step_limit,
  })
end

-- The arguments of a case with the declared dtype and shape of each (files are loaded by the caller into arg.array).
local function arguments_of(case)
  local list <const>, elements = {}, 0
  for i, arg in ipairs(case.args) do
    local entry <const> = { name = arg.name, kind = arg.kind, dtype = arg.dtype, shape = arg.shape, value = arg.value, array = arg.array }
    if arg.kind == "file" and arg.array then entry.dtype, entry.shape = arg.array.dtype, arg.array.shape end
    if entry.shape then
      local n = 1
      for _, e in ipairs(entry.shape) do n = n * e end
      elements = elements + n
    end
    list[i] = entry
  end
  return list, elements
end
verify.arguments_of = arguments_of
-- For searches that judge many texts on the same inputs (debugging/measure.lua).
verify.expected_of, verify.spread_of, verify.judge_algorithm, verify.same_shape = expected_of, spread_of, judge_algorithm, same_shape

local function contraction_blocks(job, arguments, inputs, which)
  local first = nil
  for _, arg in ipairs(arguments) do
    if (arg.kind == "tensor" or arg.kind == "file") and arg.shape and #arg.shape >= 2 then
      first = arg
      break
    end
  end
  if not first then return nil end
  local axis <const> = #first.shape - 1
  local extent <const> = first.shape[#first.shape]
  return function(i)
    if i * 128 >= extent or extent <= 128 then return nil end
    local cut <const> = inputs[first.name]:copy()
    cut:slice(axis, i * 128, math.min(extent, i * 128 + 128), 1):fill(0)
    local changed <const> = {}
    for name, value in pairs(inputs) do changed[name] = value end
    changed[first.name] = cut
    local outputs <const> = expected_of(job.reference, arguments, changed)
    return outputs and outputs[which] and outputs[which].array or nil
  end
end

-- A kernel that was given scale=0.125 must follow another scale too: float arguments are moved by a quarter and exact mode is
-- judged once more. Returns a text when it does not follow, nil when it does, or when kernel or reference takes no other value.
local function follows_scalars(job, case, arguments, inputs, elements)
  local moved <const>, listed <const>, names <const> = {}, {}, {}
  for i, arg in ipairs(case.args) do
    local copy <const>, entry <const> = {}, {}
    for k, v in pairs(arg) do copy[k] = v end
    for k, v in pairs(arguments[i]) do entry[k] = v end
    if arg.kind == "value" and math.type(arg.value) == "float" and arg.value ~= 0 and math.abs(arg.value) < math.huge then
      copy.value, entry.value = arg.value * 1.25, arg.value * 1.25
      names[#names + 1] = ("%s=%.9g"):format(arg.name, copy.value)
    end
    moved[i], listed[i] = copy, entry
  end
  if #names == 0 then return nil end
  local other <const> = {}
  for k, v in pairs(case) do other[k] = v end
  other.args = moved
  local exact <const> = run_kernel(job, other, "exact", inputs, 1)
  if not exact.ok then return nil end
  local ran <const>, expected <const> = pcall(expected_of, job.reference, listed, inputs)
  if not ran or not expected or #expected ~= #exact.outputs then return nil end
  local spread <const> = spread_of(job.reference, listed, inputs, expected, elements)
  for i, output in ipairs(exact.outputs) do
    local got <const>, want <const> = output.array:cast("float64"), expected[i].array
    if not same_shape(got.shape, want.shape) then return nil end
    local algorithm <const> = judge_algorithm(got, want, spread[i])
    if not algorithm.ok then
      local w <const> = algorithm.worst
      return ("with %s output %s is wrong: at [%s] got %.9g, want %.9g; the kernel does not follow this argument"):format(table.concat(names, ", "),
        output.name, table.concat(w.index, ","), w.got, w.want)
    end
  end
  return nil
end

-- Verify one case. Returns {ok, verdict, runs = {...}} or nil, err for a reference that fails.
local function verify_case(job, case, progress)
  local arguments <const>, elements <const> = arguments_of(case)
  local result <const> = { case = case.text, ok = true, runs = {}, elements = elements, algorithm = { ok = true, ratio = 0, max_rel = 0 },
    rounding = { grade = "pass", ratio = 0 } }
  local count <const> = job.distributions or inputs_module.count_for(elements)
  local declared <const> = {}
  for _, arg in ipairs(arguments) do if arg.dtype then declared[#declared + 1] = arg.dtype end end
  for d = 1, math.min(count, #inputs_module.distributions) do
    local distribution <const> = inputs_module.distributions[d]
    local seed <const> = distribution.private and job.private_seed or job.seeds[(d - 1) % #job.seeds + 1]
    if progress then progress({ text = ("case %s, %s"):format(case.text, distribution.name) }) end
    local inputs <const> = inputs_module.make(arguments, distribution, seed)
    local hashes <const> = {}
    for name, value in pairs(inputs) do hashes[name] = value:hash() end
    local run <const> = { distribution = distribution.name, scale = distribution.scale, mean = distribution.mean, private = distribution.private,
      seed = not distribution.private and seed or nil }
    result.runs[#result.runs + 1] = run
    local exact <const> = run_kernel(job, case, "exact", inputs, 1)
    if not exact.ok then
      result.ok, result.verdict, result.diagnostics = false, "does not run", exact.diagnostics
      return result
    end
    local expected <const>, err <const> = expected_of(job.reference, arguments, inputs)
    if not expected then return nil, err end
    if #expected ~= #exact.outputs then
      result.ok, result.verdict = false, "algorithm"
      result.text = ("the kernel returns %d outputs, the reference %d"):format(#exact.outputs, #expected)
      return result
    end
    local spread <const> = spread_of(job.reference, arguments, inputs, expected, elements)
    local low <const> = expected_of(job.reference, arguments, inputs, "float32")
    local chip <const> = run_kernel(job, case, "chip", inputs, 2)
    if not chip.ok then
      result.ok, result.verdict, result.diagnostics = false, "does not run", chip.diagnostics
      return result
    end
    local facts <const> = record_facts(chip.record, declared)
    result.contraction = facts.contraction
    local narrow <const> = {}
    for _, dtype in ipairs(declared) do
      if (unit_roundoff[dtype] or 0) > unit_roundoff.float32 then narrow[#narrow + 1] = dtype end
    end
    local rounded = facts.totals.ops.nc_matmul and #narrow > 0 and run_kernel(job, case, "exact", inputs, 1, narrow) or nil
    if rounded and not rounded.ok then rounded = nil end
    for name, value in pairs(inputs) do
      if value:hash() ~= hashes[name] then
        result.ok, result.verdict, result.text = false, "algorithm", ("the kernel changed its input %s"):format(name)
        return result
      end
    end
    for i, output in ipairs(exact.outputs) do
      local want <const> = expected[i].array
      local got <const> = output.array:cast("float64")
      if not same_shape(got.shape, want.shape) then
        result.ok, result.verdict = false, "algorithm"
        result.text = ("output %s has shape %s, the reference gives %s"):format(output.name, shape_text(got.shape), shape_text(want.shape))
        return result
      end
      local plain <const> = distribution.name == "normal" and not distribution.scale and not distribution.mean
      local algorithm = judge_algorithm(got, want, spread[i], distribution.special, plain)
      if not algorithm.ok and algorithm.mismatches == 0 and algorithm.over <= math.max(2, algorithm.count // 100) and elements <= 1000000 then
        -- A few elements only: it may be a step of the reference (round, floor, a comparison) that an input stands right on, where
        -- the last bit of the reference's own arithmetic decides. More trials show it.
        local wide <const> = spread_of(job.reference, arguments, inputs, expected, elements, 24)[i]
        if wide then
          spread[i] = array.binary("maximum", spread[i], wide)
          algorithm = judge_algorithm(got, want, spread[i], distribution.special, plain)
        end
      end
      run.algorithm = run.algorithm and run.algorithm.ok and algorithm or run.algorithm or algorithm
      local worst <const> = result.algorithm
      if (algorithm.ratio or 0) > (worst.ratio or 0) then worst.ratio = algorithm.ratio end
      if algorithm.max_rel and algorithm.max_rel < math.huge and algorithm.max_rel > worst.max_rel
        and distribution.name == "normal" then worst.max_rel = algorithm.max_rel end
      if algorithm.noted then result.noted = (result.noted or 0) + algorithm.noted end
      if not algorithm.ok and worst.ok then
        worst.ok, worst.worst, worst.output, worst.distribution = false, algorithm.worst, output.name, distribution.name
        worst.domain = algorithm.domain
        worst.over, worst.mismatches, worst.count, worst.rel_l2 = algorithm.over, algorithm.mismatches, algorithm.count, algorithm.rel_l2
        worst.pattern = patterns.explain(got, want, contraction_blocks(job, arguments, inputs, i))
        result.ok, result.verdict = false, "algorithm"
      end
      local chip_out <const> = chip.outputs[i].array
      local rounding <const> = judge_rounding(chip_out, got, chip_out.dtype, low and low[i] and low[i].array, want, facts.contraction, spread[i],
        rounded and rounded.outputs[i].array:cast("float64"))
      run.rounding = rounding
      if rounding.ratio > result.rounding.ratio or not result.rounding.distribution then
        result.rounding = rounding
        rounding.distribution, rounding.output, rounding.narrowed = distribution.name, output.name, facts.narrowed
      end
      if d == 1 then
        result.outputs = result.outputs or {}
        result.outputs[i] = { name = output.name, dtype = chip_out.dtype, shape = chip_out.shape,
          narrower = facts.declared_roundoff > 0 and (unit_roundoff[chip_out.dtype] or 0) > facts.declared_roundoff or nil }
      end
    end
    if not result.ok then break end
    if d == 1 then
      local again <const> = run_kernel(job, case, "chip", inputs, 1)
      result.deterministic = again.ok
      for i, output in ipairs(again.outputs or {}) do
        if not array.bits_equal(output.array, chip.outputs[i].array) then result.deterministic = false end
      end
      if not result.deterministic then
        result.ok, result.verdict = false, "algorithm"
        result.text = "two runs on the same inputs differ: something is read before it is written"
        break
      end
      result.stats = chip.stats
      local astray <const> = follows_scalars(job, case, arguments, inputs, elements)
      if astray then
        result.ok, result.verdict, result.text = false, "algorithm", astray
        break
      end
    end
  end
  if result.ok and result.rounding.grade == "fail" then result.ok, result.verdict = false, "rounding" end
  if result.ok then result.verdict = "proved" end
  return result
end

-- (verify.describe stands below.)
-- job: {path | source, entry, cases = {parsed}, reference, target, version, seeds, private_seed, roots, progress, distributions, step_limit}.
-- Returns {ok, verdict, cases, private_seed, seeds} or nil, err when the reference fails.
function verify.run(job)
  job.seeds = job.seeds or inputs_module.public_seeds
  job.private_seed = job.private_seed or math.random(1, 1 << 40)
  local out <const> = { ok = true, verdict = "proved", cases = {}, seeds = job.seeds, private_seed = job.private_seed }
  for i, case in ipairs(job.cases) do
    local result <const>, err <const> = verify_case(job, case, job.progress)
    if not result then return nil, err end
    out.cases[i] = result
    if not result.ok and out.ok then out.ok, out.verdict = false, result.verdict end
  end
  out.text = table.concat(verify.describe(out), "\n")
  return out
end

-- People's text -----------------------------------------------------------------------------------------------------------

local function figure(x)
  if x == nil then return "-" end
  if x ~= x or x == math.huge then return tostring(x) end
  return ("%.2g"):format(x)
end

-- A figure against its limit: "0.12 of", "3 times".
local function share(x) return figure(x) .. (x and x > 1 and " times" or " of") end

-- One line per case for people, and the story of the first failure.
function verify.describe(result)
  local lines <const> = {}
  local function say(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  for _, case in ipairs(result.cases) do
    local r <const> = case.rounding
    say("%s  %s: algorithm %s its allowance (max rel %s), rounding %s its bound%s, %d input set%s", case.ok and "ok  " or "FAIL", case.case,
      share(case.algorithm.ratio), figure(case.algorithm.max_rel), share(r.ratio), r.ulp and (", worst %s ulp"):format(figure(r.ulp)) or "", #case.runs,
      #case.runs == 1 and "" or "s")
    if case.text then say("      %s", case.text) end
    local a <const> = case.algorithm
    if not a.ok then
      local w <const> = a.worst
      say("      algorithm: output %s, %s of %d elements wrong on %s inputs; worst at [%s] (tile %d, partition %d): got %s, want %s", a.output,
        a.mismatches > 0 and a.mismatches or a.over, a.count, a.distribution, table.concat(w.index, ","), w.tile, w.partition,
          ("%.9g"):format(w.got), ("%.9g"):format(w.want))
      if a.domain then
        say("      the reference gives NaN on ordinary inputs and the kernel numbers; where such inputs cannot occur, give a case with a file (x=@x.npy)")
      elseif a.pattern then
        say("      %s", a.pattern)
      end
    end
    for _, output in ipairs(case.outputs or {}) do
      if output.narrower then say("      output %s is %s, narrower than the inputs: judged as rounded to it", output.name, output.dtype) end
    end
    if r.grade ~= "pass" and case.verdict ~= "algorithm" then
      say("      rounding: output %s loses %s times what its dtypes allow on %s inputs%s", r.output or "?", figure(r.ratio), r.distribution or "?",
        r.narrowed and (" (%s writes %s)"):format(r.narrowed.op or "an instruction", r.narrowed.dtype) or "")
    end
  end
  return lines
end

return verify
