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
  local place <const> = err.place or err.node and err.node.site and err.node.site ~= 0 and python.location(err.node.site)
  if place and place.line then
    out.file, out.line, out.column = place.file, place.line, place.column
    local source <const> = python.record(reference.module).source
    local n = 0
    for line in (source .. "\n"):gmatch("([^\n]*)\n") do
      n = n + 1
      if n == place.line then
        out.text = line
        if place.end_line == place.line and place.end_column then out.expression = line:sub(place.column, place.end_column - 1) end
      end
    end
  end
  return { ok = false, refused = out }
end

-- What a caller of the job gets for a reference that cannot be run or traced: nothing that cannot be sent, and a function that
-- this library does not have is a refusal with its expression, as any other that the writer cannot turn into a kernel.
local function failure(err, reference)
  if err.code == "reference-unsupported" and reference then
    local module <const>, name <const> = (err.message or ""):match("^module '([%w_%.]+)' has no attribute '([%w_]+)'")
    return refused({ message = module and ("%s.%s is not among the functions that a reference may use here"):format(module, name) or err.message,
      place = err }, reference)
  end
  if reference and (err.message or ""):find("not known while the reference is traced", 1, true) then -- it decides by the data
    return refused({ message = err.message, place = err }, reference)
  end
  return nil, { code = err.code or "reference-failed", status = err.status or 2, message = err.message, hint = err.hint, file = err.file,
    line = err.line, column = err.column, text = err.text, pointer = err.pointer,
    where = err.where or err.file and (err.line and ("%s:%d"):format(err.file, err.line) or err.file) or nil }
end

local function number_literal(value)
  if value == case_module.None then return "None" end
  if type(value) == "boolean" then return value and "True" or "False" end
  if type(value) == "number" then return require("writer.terms").number_text(value) end
  return nil
end

-- The reference's own default of a parameter where it is a number that can be told without running it, a bool, or a string:
-- a literal, arithmetic on literals, or a constant of the module that is assigned once.
local function default_value(reference, node, depth)
  depth = depth or 0
  if node.type == "Constant" and (node.kind_of == "int" or node.kind_of == "float" or node.kind_of == "bool") then return node.value end
  if node.type == "Constant" and type(node.value) == "string" then return node.value end
  if depth > 8 then return nil end
  if node.type == "Name" then
    local found, times = nil, 0
    for _, statement in ipairs(python.record(reference.module).tree.body) do
      if statement.type == "Assign" and #statement.targets == 1 and statement.targets[1].type == "Name" and statement.targets[1].id == node.id then
        found, times = statement.value, times + 1
      end
    end
    return times == 1 and default_value(reference, found, depth + 1) or nil
  elseif node.type == "UnaryOp" and node.op == "USub" then
    local value <const> = default_value(reference, node.operand, depth + 1)
    return type(value) == "number" and -value or nil
  elseif node.type == "BinOp" then
    local a <const>, b <const> = default_value(reference, node.left, depth + 1), default_value(reference, node.right, depth + 1)
    if type(a) ~= "number" or type(b) ~= "number" then return nil end
    if node.op == "Div" and b ~= 0 then return a / b end
    if node.op == "Mult" then return a * b end
    if node.op == "Add" then return a + b end
    if node.op == "Sub" then return a - b end
    if node.op == "Pow" and (math.type(a) == "float" or math.type(b) == "float" or b < 0) then return a ^ b end
  end
  return nil
end

-- The same as text.
local function default_text(reference, name)
  local node <const> = reference.params.defaults[name]
  local value <const> = node and default_value(reference, node)
  if value == nil then return nil end
  return type(value) == "string" and ("%q"):format(value) or number_literal(value)
end

local integral <const> = { int8 = true, int16 = true, int32 = true, uint8 = true, uint16 = true, uint32 = true, bool = true }

-- Bring the cases' arguments together: each case gets every scalar of the reference, its default where it names none, so that
-- the kernel's signature is the reference's. Fills `ordered` with the kernel's arguments; returns an error or nil.
local function settle(reference, cases, listed, ordered)
  local function differ(i)
    return { code = "bad-case", status = 2,
      message = ("case %q and case %q give different arguments; one kernel takes the same arguments"):format(cases[1].text, cases[i].text) }
  end
  local names <const>, known <const>, given <const> = {}, {}, {}
  for _, name in ipairs(reference.params.names) do
    names[#names + 1] = name
    known[name] = true
  end
  for i, args in ipairs(listed) do
    given[i] = {}
    for _, arg in ipairs(args) do
      given[i][arg.name] = arg
      if not known[arg.name] then
        names[#names + 1] = arg.name
        known[arg.name] = true
      end
    end
  end
  for _, name in ipairs(names) do
    local first, anywhere = nil, false
    for i in ipairs(listed) do anywhere = anywhere or given[i][name] ~= nil end
    local default <const> = reference.params.defaults[name] and default_value(reference, reference.params.defaults[name])
    -- A number of the reference is one of the kernel; a flag or a mode only where a case names it.
    if anywhere or type(default) == "number" then
      for i, args in ipairs(listed) do
        local arg = given[i][name]
        if not arg then
          if default == nil then return differ(i) end
          arg = { name = name, kind = "value", value = default }
          args[#args + 1] = arg
        end
        first = first or { name = name, kind = arg.kind, dtype = arg.dtype, shape = arg.shape, default = default_text(reference, name) }
        if first.kind ~= arg.kind then return differ(i) end
        -- One kernel may serve several types: its tiles take the type of the argument.
        if first.dtype ~= arg.dtype then
          if integral[first.dtype] or integral[arg.dtype] then return differ(i) end
          first.dtypes = first.dtypes or { first.dtype }
          first.dtypes[#first.dtypes + 1] = arg.dtype
        end
      end
      if first.dtypes then first.dtype = "any" end
      ordered[#ordered + 1] = first
    end
  end
  return nil
end

local function docstring(reference, cases, job)
  return function(facts)
    local lines <const> = {}
    local doc <const> = reference.doc
    local function say(...) lines[#lines + 1] = select("#", ...) > 1 and (...):format(select(2, ...)) or (...) end
    local function type_of(dtype) return dtype:gsub("^any:.*", "the same type"):gsub("^any$", "a float type") end
    say("%s, row by row.", doc and doc:match("^%s*([^\n]-)%.?%s*\n") or doc and doc:match("^%s*([^\n]-)%.?%s*$")
      or ("Computes what the reference %s computes"):format(reference.name))
    say("")
    say("Args:")
    for _, argument in ipairs(job.arguments) do
      if argument.kind == "tensor" then
        say("    %s: %s, %s.", argument.name, type_of(argument.dtype), facts.argument_shape(argument.name))
      else
        say("    %s: a number, fixed when the kernel is built.", argument.name)
      end
    end
    say("Returns:")
    for _, output in ipairs(facts.outputs) do
      say("    %s: %s, %s.", output.name, type_of(output.dtype), facts.result_shape(output))
    end
    say("")
    if facts.folded then
      say("Tiling: one long row, folded over the 128 partitions where its length allows.")
    elseif facts.plan == "rows" then
      say("Tiling: 128 rows at a time, one a partition, whole rows of up to %d columns in SBUF.", facts.limit)
    elseif facts.plan == "resident" then
      say("Tiling: 128 rows at a time, one a partition; input rows of up to %d columns stay in SBUF,", facts.limit)
      say("temporaries are made %d columns at a time.", facts.chunk)
    else
      say("Tiling: 128 rows at a time, one a partition, %d columns at a time, in %d %s over the row.", facts.chunk, facts.passes,
        facts.passes == 1 and "pass" or "passes")
    end
    if facts.plan ~= "stream" or facts.passes == 1 then -- taken back where the record says otherwise
      say("Each input is read once and each output written once.")
    end
    say("Arithmetic: float32 between load and store.")
    say("Proved on the NKI machine (simulated, no device) against the reference, for")
    for _, case in ipairs(cases) do say("    " .. case.text) end
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
  if not reference then return failure(err) end
  progress("tracing the reference", 0)
  local listed <const>, ordered <const> = {}, {}
  for i, case in ipairs(cases) do
    local args <const>, wrong <const> = arguments(reference, case)
    if not args then return nil, wrong end
    listed[i] = args
  end
  local wrong <const> = settle(reference, cases, listed, ordered)
  if wrong then return nil, wrong end
  local traces <const> = {}
  for i in ipairs(cases) do
    local traced <const>, failed <const> = reference:trace(listed[i])
    if not traced then return failure(failed, reference) end
    traces[i] = traced
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
    -- The contract claims only what the record shows.
    for _, tensor in ipairs(result.traffic[i]) do
      if tensor.role == "input" and tensor.read > tensor.bytes then result.text = result.text:gsub("    Each input is read once[^\n]*\n", "", 1) end
    end
    result.instructions = result.instructions or run.stats.instructions
  end
  progress("proving the kernel", 0.4)
  local verdict <const>, why <const> = verify.run({
    path = name .. ".py", source = result.text, cases = cases, reference = reference, target = request.target,
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
