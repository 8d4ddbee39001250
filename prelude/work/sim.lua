-- SPDX-License-Identifier: MIT
-- work.sim: the worker job behind `nkiln sim`: check, then execute in chip mode, keep the outputs, judge them.
--
-- request: work.check's fields and { reference=file, reference_function=, out=folder, seed=, verify=bool, arrays=bool,
--   seeds={public}, private_seed= }
-- result:  { ok=, entry=, diagnostics=, functions=, cases={ {case=, ok=, diagnostics=, outputs={{name, dtype, shape,
--   path, min, max, mean, head, hash}}, printed=, stats=, verdict=} }, verdict=, text= }
-- A folder `out` gets NAME.npy per output and in_NAME.npy per input; with several cases, one folder case1, case2 ... each.
-- Files are written whole or not at all. nil, err as in work.check.

local array <const> = require "rt.array"
local check <const> = require "nki.check"
local diagnostics <const> = require "nki.diagnostics"
local fs <const> = require "rt.fs"
local session <const> = require "nki.session"

local work <const> = {}

local HEAD <const> = 8
local PIECE <const> = 1 << 18 -- elements

-- NaN wins, as it does within an array.
local function smaller(a, b) return (a == nil or b < a or b ~= b) and b or a end
local function larger(a, b) return (a == nil or b > a or b ~= b) and b or a end

-- What a person wants to see of an array: extremes, mean, the first elements. Piece by piece: a wide copy of the whole
-- would be the largest array of the run.
local function summary(output)
  local a <const> = output.array
  local row <const> = { name = output.name, dtype = a.dtype, shape = a.shape, hash = ("%016x"):format(a:hash() & 0x7fffffffffffffff) }
  if a.size == 0 then return row end
  local flat <const> = a:contiguous():reshape { a.size }
  local sum, finite = 0.0, 0
  for start = 0, a.size - 1, PIECE do
    local piece <close> = flat:slice(0, start, math.min(start + PIECE, a.size))
    local wide <close> = piece:cast("float64")
    local good <close> = array.unary("isfinite", wide)
    finite = finite + array.reduce("sum", good):item()
    sum = sum + array.reduce("sum", wide):item()
    row.min = smaller(row.min, array.reduce("min", wide):item())
    row.max = larger(row.max, array.reduce("max", wide):item())
  end
  row.mean, row.nonfinite, row.head = sum / a.size, a.size - finite, {}
  for i = 1, math.min(HEAD, a.size) do
    local value <const> = flat:at(i - 1)
    row.head[i] = value == true and 1.0 or value == false and 0.0 or value + 0.0
  end
  return row
end

local function write_array(folder, name, a)
  local path <const> = folder .. "/" .. name:gsub("[^%w_.-]", "_") .. ".npy"
  local ok <const>, err <const> = fs.write(path, array.npy_pieces(a))
  if not ok then return nil, err end
  return path
end

local function write_case(folder, result, rows)
  local ok <const>, err <const> = fs.mkdir(folder, true)
  if not ok and err.code ~= "EEXIST" then return nil, err end
  for name, a in pairs(result.inputs) do
    local path <const>, why <const> = write_array(folder, "in_" .. name, a)
    if not path then return nil, why end
  end
  for i, output in ipairs(result.outputs) do
    local path <const>, why <const> = write_array(folder, output.name, output.array)
    if not path then return nil, why end
    rows[i].path = path
  end
  return true
end

-- A reference that does not load or run is bad input: what, where, and nothing that cannot be sent.
local function reference_error(request, err)
  local file <const> = err.file or request.reference
  return {
    code = err.code or "reference-failed", status = err.status or 2, message = err.message, hint = err.hint, line = err.line, column = err.column,
    where = err.where or (err.line and ("%s:%d"):format(file, err.line)) or file,
  }
end

local function verify(request, report, parsed, job)
  local verify_module <const> = require "verify"
  local reference_module <const> = require "reference"
  local reference <const>, why <const> = reference_module.load {
    path = request.reference, fn = request.reference_function, roots = request.roots, step_limit = request.step_limit,
    ask = job and job.call or nil,
  }
  if not reference then return nil, reference_error(request, why) end
  local verdict <const>, failed <const> = verify_module.run {
    path = request.path, source = request.source, entry = report.entry, cases = parsed, reference = reference, target = request.target,
    version = request.nki_version or request.version, seeds = request.seeds, private_seed = request.private_seed, roots = request.roots,
    cwd = request.cwd, step_limit = request.step_limit, progress = job and job.progress or nil,
  }
  if not verdict then return nil, reference_error(request, failed) end
  return verdict
end

-- A kernel that fails for one case is judged for none: said, so that nobody takes the other cases for right.
local function not_judged(request, report)
  if not request.reference or request.verify == false or #report.cases < 2 then return end
  report.text = (report.text and report.text .. "\n" or "") .. "no case was judged against the reference: the kernel has to run for all of them first"
end

function work.run(request, job)
  local checked <const>, err <const> = require("work.check").run(request, job)
  if not checked then return nil, err end
  if not checked.ok then
    not_judged(request, checked)
    return checked
  end
  local parsed <const> = assert(check.cases(request.cases, request.cwd))
  local report <const> = checked
  for i, one in ipairs(parsed) do
    if job and job.progress then job.progress { text = ("running case %d of %d"):format(i, #parsed), fraction = (i - 1) / #parsed } end
    local result <const> = session.run {
      path = request.path, source = request.source, entry = request.entry, case = one, target = request.target,
      version = request.nki_version or request.version, mode = request.mode or "chip", execute = true, roots = request.roots, cwd = request.cwd,
      seed = request.seed, step_limit = request.step_limit,
    }
    local item <const> = report.cases[i]
    item.ok, item.stats, item.printed, item.outputs = result.ok, result.stats, result.printed, {}
    if not result.ok then
      report.ok = false
      item.diagnostics = {}
      for k, d in ipairs(result.diagnostics) do
        item.diagnostics[k] = diagnostics.json(d)
        if d.severity == "error" then report.diagnostics[#report.diagnostics + 1] = item.diagnostics[k] end
      end
    else
      for k, output in ipairs(result.outputs) do
        item.outputs[k] = summary(output)
        if request.arrays then item.outputs[k].array = output.array end
      end
      if request.against == "nki" and job and job.call then
        local beside <const>, why <const> = require("nki.against").run(request, job, one, result, report.entry)
        if not beside then return nil, why end
        item.against = beside
        report.text = (report.text and report.text .. "\n" or "") .. beside.text
      end
      if request.out then
        local folder <const> = #parsed > 1 and ("%s/case%d"):format(request.out, i) or request.out
        local ok <const>, why <const> = write_case(folder, result, item.outputs)
        if not ok then
          why.status = 2
          return nil, why
        end
      end
    end
  end
  if not report.ok then not_judged(request, report) end
  if report.ok and request.reference and request.verify ~= false then
    local verdict <const>, why <const> = verify(request, report, parsed, job)
    if not verdict then return nil, why end
    report.verdict, report.text = verdict.verdict, (report.text and report.text .. "\n" or "") .. (verdict.text or "")
    report.verification = verdict
    if verdict.ok == false then report.ok = false end
    for i, item in ipairs(verdict.cases or {}) do
      if report.cases[i] then report.cases[i].verdict = item end
    end
  end
  return report
end

return work
