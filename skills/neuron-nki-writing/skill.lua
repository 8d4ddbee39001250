-- SPDX-License-Identifier: MIT
-- The writing skill: a kernel from a NumPy or PyTorch reference. The deterministic writer runs in a worker
-- (prelude/work/write.lua); this file names the parameters, writes the verified kernel, and says what came of it.

local case_files <const> = require("nki.case").files
local fault <const> = require "fault"
local kernelargs <const> = require "kernelargs"

local function folder_of(file) return file:match("^(.*)/[^/]*$") or "." end

-- Folders the worker may read: the reference's own and what cases name with @.
local function readable(ctx, file, cases)
  local folders <const> = { folder_of(file) }
  for _, case in ipairs(cases) do
    for _, named in ipairs(case_files(case)) do folders[#folders + 1] = ctx.fs.absolute(named) end
  end
  return folders
end

local function figure(value) return value and ("%.2g"):format(value) or "-" end

local function lines_of(result, style)
  local out <const> = {}
  local function say(...) out[#out + 1] = (...):format(select(2, ...)) end
  if result.refused then
    local r <const> = result.refused
    say("%s no kernel: %s", style.red("REFUSED"), r.message)
    if r.line then say("  %s:%d", r.file, r.line) end
    if r.text then say("  %4d | %s", r.line, r.text) end
    if r.expression and r.expression ~= "" then say("  the expression is: %s", r.expression) end
    say("  The writer derives elementwise chains and reductions over trailing axes, not matrix products, gathers or transposes; see nkiln help write.")
    return table.concat(out, "\n")
  end
  for _, d in ipairs(result.diagnostics or {}) do say("%s line %s: %s", style.red(d.severity or "error"), tostring(d.line or "?"), d.message) end
  for _, case in ipairs(result.cases or {}) do
    local verdict <const> = case.ok and style.green("proved") or style.red(case.verdict or "failed")
    say("%s  %s", verdict, case.case)
    say("    algorithm  %s of its allowance (fp64 against the reference, worst relative error %s)", figure(case.algorithm_ratio),
      figure(case.max_relative_error))
    say("    rounding   %s of the bound of its types%s", figure(case.rounding_ratio), case.ulp and (", worst %s ulp"):format(figure(case.ulp)) or "")
    say("    inputs     %d sets%s", case.input_sets, case.traffic and ("; HBM traffic " .. case.traffic) or "")
  end
  if result.file then
    say("kernel  %s  (function %s, %s plan%s)", result.file, result.name, result.plan, result.limit and (", rows up to %d columns"):format(result.limit) or "")
  elseif not result.ok then
    say("%s nothing was written: %s", style.red("FAILED"), result.verdict or "not verified")
    if result.summary then say("%s", result.summary) end
  end
  say("simulated on the NKI machine; no device was used")
  return table.concat(out, "\n")
end

-- What a caller wants of the worker's result: figures per case, without the tables behind them.
local function cases_of(result)
  local list <const> = {}
  for i, case in ipairs(result.verification and result.verification.cases or {}) do
    local parts <const> = {}
    for _, tensor in ipairs(result.traffic and result.traffic[i] or {}) do
      local moved <const> = (tensor.read or 0) + (tensor.written or 0)
      if moved > 0 and tensor.bytes > 0 then
        parts[#parts + 1] = ("%s %s x%.3g"):format(tensor.name or tensor.role, tensor.role == "output" and "written" or "read", moved / tensor.bytes)
      end
    end
    list[i] = {
      case = case.case, ok = case.ok, verdict = case.verdict, algorithm_ratio = case.algorithm.ratio, max_relative_error = case.algorithm.max_rel,
      rounding_ratio = case.rounding.ratio, rounding_grade = case.rounding.grade, ulp = case.rounding.ulp, input_sets = #case.runs,
      traffic = #parts > 0 and table.concat(parts, ", ") or nil,
    }
  end
  return list
end

return skill {
  name = "neuron-nki-writing",
  alias = "write",
  description = "Write an NKI kernel from a NumPy or PyTorch reference function, check it, run it on the NKI machine and prove it "
    .. "against the reference before anything is written. Use it to turn an elementwise chain or a row-wise reduction (softmax, RMS norm, "
    .. "layer norm, GELU, SiLU and their combinations) into a kernel for Trainium. Needs no model, no Trainium and no Python.",
  params = {
    path("reference", "the reference function", { siblings = true, metavar = "REF.py[:NAME]" }),
    list(text("case", "one call to write for, as in \"x=bfloat16[256,1024], scale=0.125\"", { files = true }), { short = "c", min = 1 }),
    path("out", "the kernel file to write (default: FUNCTION_kernel.py in this folder)", { optional = true, output = true, short = "o",
      metavar = "KERNEL.py" }),
    text("name", "the kernel's name (default: FUNCTION_kernel)", { optional = true }),
    choice("out_dtype", { "float32", "bfloat16", "float16" }, nil, "type of the results (default: what the reference's types promote to)", { optional = true }),
    choice("target", kernelargs.targets, "trn2", "the chip"),
    choice("nki_version", kernelargs.versions, "0.6", "the NKI version whose rules hold"),
    choice("plan", { "rows", "resident", "stream" }, nil, "force how rows are kept on chip (default: the first that fits)", { optional = true }),
    flag("force", "overwrite the kernel file"),
  },
  permits = { read = { "." }, write = { "." } },
  budget = { seconds = 600 },
  examples = {
    'nkiln write ref.py --case "x=bf16[256,1024], scale=0.125" -o softmax.py',
    'nkiln write norms.py:rms_norm -c "x=f32[4,300,2048], w=f32[2048]" -c "x=f32[1,1,96], w=f32[96]"',
  },
  run = function(ctx, args)
    local file <const>, fn <const> = kernelargs.split_reference(args.reference)
    local absolute <const> = ctx.fs.absolute(file)
    if args.name and not args.name:find("^[%a_][%w_]*$") then
      return nil, fault.new("usage", ("%q is no Python name"):format(args.name), { where = "--name" })
    end
    if args.out and not args.force and ctx.fs.exists(args.out) then
      return nil, fault.new("bad-input", "this file exists; nothing was changed", { where = args.out, hint = "give another --out, or --force to overwrite it" })
    end
    local result <const>, err <const> = ctx.job("work.write", {
      reference = absolute, reference_function = fn, cases = args.case, target = args.target, nki_version = args.nki_version,
        name = args.name, out_dtype = args.out_dtype,
      plan = args.plan, roots = { folder_of(absolute) }, cwd = ctx.cwd,
    }, { read = readable(ctx, absolute, args.case) })
    if not result then return nil, err end
    local out <const> = {
      ok = result.ok, verdict = result.verdict, name = result.name, plan = result.plan, limit = result.limit, refused = result.refused,
        diagnostics = result.diagnostics,
      cases = cases_of(result), instructions = result.instructions, estimate = "simulated", summary = not result.ok and result.summary or nil,
    }
    if not result.ok then return out end
    local target = args.out or (result.name .. ".py")
    if not args.out and not args.force then
      -- Never over a file of the user's: a free name beside it.
      local n = 2
      while ctx.fs.exists(target) do
        target = ("%s_%d.py"):format(result.name, n)
        n = n + 1
      end
    end
    -- Somebody may have made the file since we looked.
    local written <const>, why <const> = (args.force and ctx.fs.write or ctx.fs.create)(target, result.text)
    if not written then return nil, why end
    out.file = target
    return out
  end,
  text = lines_of,
}
