-- SPDX-License-Identifier: MIT
-- work.write: the worker job behind the writing skill: trace the reference for every case, derive a kernel, check it, prove it.
--
-- request: { reference=file, reference_function=, cases={text...}, target=, nki_version=, name=, out_dtype=, plan=, roots=, cwd=,
--   seeds=, private_seed=, distributions= }
-- result:  { ok=, text=kernel source, name=, plan=, limit=, verdict=, verification=, reads={...}, diagnostics=, function_name= }
-- A reference that the writer cannot turn into a kernel is { ok=false, refused={message, file, line, text} }. nil, err for bad input.

local check <const> = require "nki.check"
local python <const> = require "python"
local reference_module <const> = require "reference"
local session <const> = require "nki.session"
local targets <const> = require "nki.targets"
local verify <const> = require "verify"
local writer <const> = require "writer"
local case_module <const> = require "nki.case"
local ast <const> = require "nki.ast"

local work <const> = {}

local SBUF_SHARE <const> = 0.9 -- of the usable bytes of a partition: the rest is left to the compiler

-- Cases may name the reference's parameters or only give their values in order.
local function arguments(reference, case)
  local args <const> = {}
  local known <const> = {}
  for _, name in ipairs(reference.params.names) do known[name] = true end
  for i, arg in ipairs(case.args) do
    local name = arg.name
    if not known[name] and reference.params.names[i] and not reference.params.varargs then
      return nil, { code = "bad-case", message = ("case %q: the reference %s has no parameter %s; its parameters are %s"):format(case.text,
        reference.name, name, table.concat(reference.params.names, ", ")) }
    end
    args[i] = { name = name, kind = arg.kind == "tensor" and "tensor" or "value", dtype = arg.dtype, shape = arg.shape, value = arg.value }
    if arg.kind == "file" then
      if not arg.array then return nil, { code = "bad-case",
        message = ("case %q: give shapes and types to write a kernel for, not files"):format(case.text) } end
      args[i].kind, args[i].dtype, args[i].shape = "tensor", arg.array.dtype, arg.array.shape
    end
  end
  return args
end

-- Names the reference gives its values: assignment target by the span of the assigned expression.
local function value_names(reference)
  local names <const> = {}
  local record <const> = python.record(reference.module)
  ast.walk(record.tree, function(node)
    if node.type == "Assign" and #node.targets == 1 and node.targets[1].type == "Name" and node.value.lineno then
      local v <const> = node.value
      names[("%d:%d:%d:%d"):format(v.lineno, v.col_offset, v.end_lineno, v.end_col_offset)] = node.targets[1].id
    end
  end)
  return function(node)
    local place <const> = node.site and node.site ~= 0 and python.location(node.site)
    if not place or place.file ~= record.filename then return nil end
    return names[("%d:%d:%d:%d"):format(place.line, place.column - 1, place.end_line, place.end_column - 1)]
  end
end

local function refused(err, reference)
  local out <const> = { message = err.message, file = reference.path }
  local place <const> = err.node and err.node.site and err.node.site ~= 0 and python.location(err.node.site)
  if place then
    out.file, out.line, out.column = place.file, place.line, place.column
    local source <const> = python.record(reference.module).source
    local n = 0
    for line in (source .. "\n"):gmatch("([^\n]*)\n") do
      n = n + 1
      if n == place.line then
        out.text = line
        if place.end_line == place.line then out.expression = line:sub(place.column, place.end_column - 1) end
      end
    end
  end
  return { ok = false, refused = out }
end

local function number_literal(value)
  if value == case_module.None then return "None" end
  if type(value) == "boolean" then return value and "True" or "False" end
  if type(value) == "number" then return require("writer.terms").number_text(value) end
  return nil
end

-- The reference's own default of a parameter as text, where it is a plain literal.
local function default_text(reference, name)
  local node <const> = reference.params.defaults[name]
  if not node then return nil end
  if node.type == "Constant" and (node.kind_of == "int" or node.kind_of == "float" or node.kind_of == "bool") then return number_literal(node.value) end
  if node.type == "UnaryOp" and node.op == "USub" and node.operand.type == "Constant" then return "-" .. (number_literal(node.operand.value) or "0") end
  return nil
end

local function docstring(reference, cases, job)
  return function(facts)
    local lines <const> = {}
    local doc <const> = reference.doc
    lines[#lines + 1] = ("%s, row by row."):format(doc and doc:match("^%s*([^\n]-)%.?%s*\n") or doc and doc:match("^%s*([^\n]-)%.?%s*$")
      or ("Computes what the reference %s computes"):format(reference.name))
    lines[#lines + 1] = ""
    lines[#lines + 1] = "Args:"
    for _, argument in ipairs(job.arguments) do
      if argument.kind == "tensor" then
        lines[#lines + 1] = ("    %s: %s tensor in HBM, [%s] in the first case."):format(argument.name, argument.dtype, table.concat(argument.shape, ", "))
      else
        lines[#lines + 1] = ("    %s: a number, fixed when the kernel is built."):format(argument.name)
      end
    end
    lines[#lines + 1] = "Returns:"
    for _, output in ipairs(facts.outputs) do
      lines[#lines + 1] = ("    %s: %s tensor, [%s] in the first case."):format(output.name, output.dtype, table.concat(output.tensor.shape, ", "))
    end
    lines[#lines + 1] = "Notes:"
    if facts.plan == "rows" then
      lines[#lines + 1] = "    Whole rows stay in SBUF: each input is read once, each output written once."
      lines[#lines + 1] = ("    Rows of up to %d columns fit."):format(facts.limit)
    elseif facts.plan == "resident" then
      lines[#lines + 1] = "    Input rows stay in SBUF and are read once; temporaries are made in column chunks."
      lines[#lines + 1] = ("    Rows of up to %d columns fit."):format(facts.limit)
    else
      lines[#lines + 1] = "    Rows are longer than SBUF: columns are streamed, once per pass."
    end
    lines[#lines + 1] = "    All arithmetic between load and store is float32."
    lines[#lines + 1] = "    Derived from the reference and verified on the NKI machine (simulated) for"
    for _, case in ipairs(cases) do lines[#lines + 1] = "    " .. case.text end
    return lines
  end
end

-- HBM traffic of each tensor, from the record of one run: {name, role, bytes, read, written}.
local function traffic(record)
  local rows <const> = {}
  for _, tensor in ipairs(record:totals().tensors or {}) do
    rows[#rows + 1] = { name = tensor.name, role = tensor.role, bytes = tensor.bytes, read = tensor.bytes_read, written = tensor.bytes_written }
  end
  return rows
end

function work.run(request, job)
  local function progress(text, fraction) if job and job.progress then job.progress({ text = text, fraction = fraction }) end end
  local cases <const>, bad <const> = check.cases(request.cases, request.cwd)
  if not cases then return nil, bad end
  if #cases == 0 then return nil, { code = "bad-case", message = "no case given",
    hint = 'say what to write for, as in --case "x=bfloat16[256,1024], scale=0.125"' } end
  local reference <const>, err <const> = reference_module.load({ path = request.reference, source = request.source,
    fn = request.reference_function, roots = request.roots })
  if not reference then
    err.status = err.status or 2
    return nil, err
  end
  progress("tracing the reference", 0)
  local traces <const> = {}
  local listed = nil
  for i, case in ipairs(cases) do
    local args <const>, wrong <const> = arguments(reference, case)
    if not args then return nil, wrong end
    local traced <const>, failed <const> = reference:trace(args)
    if not traced then
      failed.status = failed.status or 2
      return nil, failed
    end
    traces[i] = traced
    listed = listed or args
    for j, arg in ipairs(args) do
      local first <const> = listed[j]
      if not first or first.name ~= arg.name or first.kind ~= arg.kind or first.dtype ~= arg.dtype then
        return nil, { code = "bad-case",
          message = ("case %q and case %q give different arguments; one kernel takes the same arguments and types"):format(cases[1].text, case.text) }
      end
    end
  end
  -- The kernel's signature follows the reference's; arguments a case leaves to their defaults stay out of it.
  local given <const> = {}
  for _, arg in ipairs(listed) do given[arg.name] = arg end
  local ordered <const> = {}
  for _, name in ipairs(reference.params.names) do
    local arg <const> = given[name]
    if arg then
      ordered[#ordered + 1] = { name = name, kind = arg.kind, dtype = arg.dtype, shape = arg.shape, default = arg.kind == "value"
        and default_text(reference, name) or nil }
      given[name] = nil
    end
  end
  for _, arg in ipairs(listed) do
    if given[arg.name] then ordered[#ordered + 1] = { name = arg.name, kind = arg.kind, dtype = arg.dtype, shape = arg.shape } end
  end
  local target <const> = targets[request.target or "trn2"]
  if not target then return nil, { code = "bad-target", message = "there is no target " .. tostring(request.target) } end
  local name <const> = request.name or (reference.name:gsub("^_+", "") .. "_kernel")
  local job_spec <const> = { traces = traces, arguments = ordered, name = name, budget = math.floor((target.sbuf_bytes) * SBUF_SHARE),
    out_dtype = request.out_dtype, name_of = value_names(reference), plan = request.plan }
  reference.doc = python.describe(reference.fn) and python.describe(reference.fn).doc
  job_spec.docstring = docstring(reference, cases, job_spec)
  local ok <const>, derived <const> = xpcall(writer.derive, function(e)
    if type(e) == "table" then return e end
    return { kind = "fault", message = debug and debug.traceback and debug.traceback(e) or tostring(e) }
  end, job_spec)
  if not ok then
    if derived.kind == "refused" then return refused(derived, reference) end
    error(derived.message or derived, 0)
  end
  local result <const> = { ok = true, text = derived.text, name = name, plan = derived.plan, limit = derived.limit,
    function_name = reference.name, reference = reference.path }
  -- Will it build, and does it move what it says?
  progress("checking the kernel", 0.2)
  result.traffic = {}
  for i, case in ipairs(cases) do
    local run <const> = session.run({ path = name .. ".py", source = derived.text, case = case, target = request.target,
      version = request.nki_version, mode = "chip", execute = false })
    if not run.ok then
      result.ok, result.verdict = false, "does not build"
      result.diagnostics = {}
      for j, d in ipairs(run.diagnostics) do result.diagnostics[j] = require("nki.diagnostics").json(d) end
      return result
    end
    result.traffic[i] = traffic(run.record)
    result.instructions = result.instructions or run.stats.instructions
  end
  progress("proving the kernel", 0.4)
  local verdict <const>, why <const> = verify.run({
    path = name .. ".py", source = derived.text, cases = cases, reference = reference, target = request.target,
      version = request.nki_version, seeds = request.seeds,
    private_seed = request.private_seed, distributions = request.distributions, progress = function(p) progress(p.text) end,
  })
  if not verdict then
    why.status = why.status or 2
    return nil, why
  end
  result.ok, result.verdict, result.verification, result.summary = verdict.ok, verdict.verdict, verdict, verdict.text
  return result
end

return work
