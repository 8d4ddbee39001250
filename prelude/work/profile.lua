-- SPDX-License-Identifier: MIT
-- work.profile: the worker job behind `nkiln profile` without a device: check, run, schedule, write one database per case.
--
-- request: work.check's fields and { outputs={absolute path per case}, lnc=, nkiln_version=, created=ISO text, seed= }
-- result:  { ok=, entry=, path=, target=, nki_version=, diagnostics=, functions=, cases={ {case=, ok=, diagnostics=, db=, total_ns=,
--   model_version=, instructions=, packets=, summary={Summary's row}, engines={ {name=, active_ns=, instructions= or transfers=} },
--   notes={ {level=, code=, message=} }} } }
-- A kernel that does not build writes nothing (ok=false, diagnostics as of work.check). Cases are done in order; a failure at
-- one leaves the earlier databases. nil, err as in work.check, or when a database cannot be written.
-- Shapes suffice to schedule a kernel; where values steer it (registers, indices) it is run again with data.

local check <const> = require "nki.check"
local diagnostics <const> = require "nki.diagnostics"
local fs <const> = require "rt.fs"
local model <const> = require "profile.model"
local session <const> = require "nki.session"

local work <const> = {}

-- Text of a source line, files read once.
local function reader(request)
  local files <const> = {}
  return function(file, line)
    if not files[file] then
      local lines <const> = {}
      local text <const> = request.source and file == request.path and request.source or fs.read(file, 16 << 20)
      for one in ((text or "") .. "\n"):gmatch("([^\n]*)\r?\n") do lines[#lines + 1] = one end
      files[file] = lines
    end
    return files[file][line]
  end
end

local function run(request, entry, case, execute)
  return session.run {
    path = request.path, source = request.source, entry = entry, case = case, target = request.target,
    version = request.nki_version or request.version, execute = execute, roots = request.roots, cwd = request.cwd, seed = request.seed,
    step_limit = request.step_limit,
  }
end

-- A call that may run out of the worker's memory: that ends with a line of its own, everything else is raised on.
local function within_memory(fn, ...)
  local answer <const> = table.pack(pcall(fn, ...))
  if answer[1] then return table.unpack(answer, 2, answer.n) end
  local err <const> = answer[2]
  local text <const> = type(err) == "string" and err or ""
  if text:find("over the limit", 1, true) or text:find("not enough memory", 1, true) then
    return nil, { code = "memory", message = "the profile needs more memory than its limit", hint = "use smaller shapes, or NKILN_WORKER_MEMORY_MB" }
  end
  error(err, 0)
end

local function failed(report, item, result)
  report.ok, item.ok, item.diagnostics = false, false, {}
  for k, d in ipairs(result.diagnostics) do
    item.diagnostics[k] = diagnostics.json(d)
    if d.severity == "error" then report.diagnostics[#report.diagnostics + 1] = item.diagnostics[k] end
  end
end

function work.run(request, job)
  request.target = request.target or "trn2"
  local report <const>, err <const> = require("work.check").run(request, job)
  if not report then return nil, err end
  report.path = request.path
  if not report.ok then return report end
  local parsed <const> = assert(check.cases(request.cases, request.cwd))
  local kernel <const> = request.source or fs.read(request.path, 16 << 20)
  local text_of <const> = reader(request)
  for i, one in ipairs(parsed) do
    local where <const> = #parsed > 1 and (" case %d of %d"):format(i, #parsed) or ""
    local function progress(what, part)
      if job and job.progress then job.progress { text = what .. where, fraction = (i - 1 + part) / #parsed } end
    end
    local item <const> = report.cases[i]
    progress("running", 0)
    local result, with_data = run(request, report.entry, one, false), false
    if not result.ok then
      result, with_data = run(request, report.entry, one, true), true
    end
    if not result.ok then
      failed(report, item, result)
      return report
    end
    progress("scheduling", 0.4)
    local timeline <const>, why <const> = within_memory(model.make, {
      machine = result.machine, outputs = result.outputs, target = request.target,
      progress = function(done, total) progress("scheduling", 0.4 + 0.2 * done / total) end,
    })
    if not timeline then return nil, why end
    progress("writing", 0.6)
    local notes <const> = {}
    if with_data then
      notes[1] = { level = "info", code = "data", message = "Values steer this kernel: the schedule is that of the data drawn for it." }
    end
    local kept <const>, unkept <const> = within_memory(model.kept_ns, result.machine, request.target, timeline)
    if unkept then return nil, unkept end
    local stored <const>, cause <const> = within_memory(model.store, timeline, request.outputs[i], {
      target = request.target, kept_ns = kept, location = result.location, source = text_of, notes = notes,
      progress = function(done, total) progress("writing", 0.6 + 0.4 * done / total) end,
      provenance = {
        kernel_file = request.shown_path or request.path, kernel_sha256 = kernel and fs.sha256(kernel) or "", entry = report.entry,
        case = request.cases[i], lnc = request.lnc or 1, nkiln_version = request.nkiln_version or "", created = request.created or "",
        nki_version = request.nki_version or request.version or "0.6",
      },
    })
    if not stored then
      cause.where = cause.where or request.outputs[i]
      return nil, cause
    end
    item.ok, item.db, item.total_ns, item.model_version = true, request.outputs[i], timeline.total_ns, timeline.model_version
    item.instructions, item.packets = timeline.rows, timeline.packet_count
    item.summary, item.engines, item.notes = stored.summary, stored.engines, stored.notes
  end
  return report
end

return work
