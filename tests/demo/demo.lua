-- SPDX-License-Identifier: MIT
-- The main job in front of the user, as a headless script: nkiln run tests/demo/demo.lua [BUG]. From a Python function that
-- computes softmax(x * scale), once with NumPy and once with PyTorch, write an NKI kernel for bfloat16, check it, run it on
-- the NKI machine on four shapes, prove it, then break a copy and debug it within ten iterations.

local bugs <const> = require "bugs"

local CASES <const> = {
  "x=bfloat16[128,512], scale=0.125", "x=bfloat16[256,1024], scale=0.125", "x=bfloat16[512,2048], scale=0.0625",
  "x=bfloat16[130,1001], scale=0.125", -- ragged: rows no multiple of 128, an odd row length
}
local HERE <const> = "tests/demo/"
local ALL <const> = "build/demo"

local number <const> = math.tointeger(tonumber(arg and arg[1] or 1) or -1)
if not number or not bugs[number] then
  for i, bug in ipairs(bugs) do ctx.log(("BUG=%d  %s"):format(i, bug.name)) end
  return ctx.fail("usage", ("BUG must be a number from 1 to %d"):format(#bugs))
end

local style <const> = ctx.style
local began <const> = ctx.now()
local function say(...) ctx.print((...):format(select(2, ...))) end
local function title(text) ctx.print("\n" .. style.bold(text)) end
local function stop(err) return nil, err end
local function figure(x) return x and ("%.2g"):format(x) or "-" end

-- A folder of its own for every run, so that two at once do not meet: build/demo/1, 2, ...
local function own_folder()
  ctx.fs.mkdir(ALL, true)
  for i = 1, 9999 do
    local folder <const> = ("%s/%d"):format(ALL, i)
    if not ctx.fs.exists(folder) then
      local made <const>, err <const> = ctx.fs.mkdir(folder) -- fails when another run was faster
      if made then return folder .. "/" end
      if not ctx.fs.exists(folder) then return nil, err end
    end
  end
  return ctx.fail("failed", ALL .. " is full of runs; remove them", { where = ALL })
end

local OUT <const>, no_folder <const> = own_folder()
if not OUT then return stop(no_folder) end

title("1  Write: a kernel from the reference")
local kernels <const> = {}
for _, framework in ipairs({ "numpy", "torch" }) do
  local file <const> = OUT .. "softmax_" .. framework .. ".py"
  local result <const>, err <const> = ctx.skill("neuron-nki-writing", {
    reference = HERE .. "softmax_" .. framework .. ".py", case = CASES, out = file, name = "scaled_softmax_kernel", force = true,
  })
  if not result then return stop(err) end
  if not result.ok then return { ok = false, text = "the kernel could not be written: " .. tostring(result.verdict) } end
  kernels[framework] = { file = file, text = ctx.fs.read(file), result = result }
  say("   %s reference -> %s  (%s)", framework == "numpy" and "NumPy  " or "PyTorch", file, result.verdict)
end
local function instructions(text)
  local list <const> = {}
  for name in text:gmatch("nisa%.([%w_]+)%(") do list[#list + 1] = name end
  return table.concat(list, " ")
end
say("   both spellings give the same instructions: %s", instructions(kernels.numpy.text) == instructions(kernels.torch.text) and "yes" or "no")
local body <const> = kernels.numpy.text:match("(@nki%.jit.*)")
ctx.print("")
for line in body:gsub('"""(.-)"""', function(doc) return '"""' .. doc:match("^[^\n]*") .. ' ..."""' end, 1):gmatch("[^\n]+") do say("   | %s", line) end

title("2  Check, run and prove: four shapes on the NKI machine (simulated)")
local checked <const>, check_err <const> = ctx.nki.check({ path = ctx.fs.absolute(kernels.numpy.file), cases = CASES, target = "trn2", nki_version = "0.6" })
if not checked then return stop(check_err) end
say("   check: %s", checked.ok and "legal for trn2, every limit kept" or "not legal")
say("   %-38s %-8s %-22s %-22s %s", "shape", "verdict", "algorithm (fp64)", "rounding (bf16)", "HBM traffic")
for _, case in ipairs(kernels.torch.result.cases) do
  say("   %-38s %-8s max rel error %-8s %s of the bound%s  %s", case.case, case.ok and "proved" or case.verdict,
    figure(case.max_relative_error), figure(case.rounding_ratio),
    case.ulp and (", %s ulp"):format(figure(case.ulp)) or "", case.traffic or "")
end

title(("3  Debug: a broken copy (BUG=%d: %s)"):format(number, bugs[number].name))
local broken <const> = OUT .. "softmax_broken.py"
local mutated <const> = bugs[number].plant(kernels.numpy.text)
if not mutated then return ctx.fail("failed", "this bug cannot be planted in the kernel that was written", { where = broken }) end
local written <const>, write_err <const> = ctx.fs.write(broken, mutated)
if not written then return stop(write_err) end
local debugged <const>, debug_err <const> = ctx.agent("neuron-nki-debugging-agent", { kernel = broken, case = CASES, reference = HERE .. "softmax_numpy.py" })
if not debugged then return stop(debug_err) end
if debugged.text then for line in debugged.text:gmatch("[^\n]+") do say("   %s", line) end end

title("Summary")
local proved = 0
for _, case in ipairs(kernels.numpy.result.cases) do if case.ok then proved = proved + 1 end end
say("   written   %s from NumPy and %s from PyTorch", kernels.numpy.file, kernels.torch.file)
say("   proved    %d of %d shapes, against the reference in fp64 and against the bound of bfloat16", proved, #CASES)
say("   debugged  %s: %s in %s", broken, debugged.ok and "repaired and proved" or debugged.status, debugged.result
  and debugged.result.iterations_text or (#debugged.steps .. " steps"))
say("   took      %.1f seconds; everything ran on this machine, simulated: no device, no model, no Python", ctx.now() - began)
return { ok = debugged.ok and proved == #CASES, exit_status = debugged.ok and 0 or debugged.exit_status }
