-- SPDX-License-Identifier: MIT
-- work.check: the worker job behind `nkiln check`. Request and result are plain data.
--
-- request: { path=, source=(text), cases={texts}, entry=, target=, nki_version=, roots={folders}, cwd=, step_limit=, fixes=bool }
-- result:  { ok=, entry=, cases={{case=, ok=, diagnostics=, stats=, printed=}}, diagnostics={each once}, functions=,
--            nki_version=, target= }
-- nil, {code, message, where, hint, status=2} when what was given is no kernel and case.

local array <const> = require "rt.array"
local check <const> = require "nki.check"
local diagnostics <const> = require "nki.diagnostics"
local vm <const> = require "rt.vm"

local work <const> = {}

local function plain(list)
  local out <const> = {}
  for i, d in ipairs(list) do out[i] = diagnostics.json(d) end
  return out
end

-- What grows with the length of a kernel's run: its lists and numbers, the record, the descriptions of tensors (not their
-- contents). A sixteenth of the worker's memory, at least this: some two million instructions.
work.BOOKS = 512 << 20

-- A kernel that allocates without end stops here, long before the machine is short of memory.
function work.limit_memory(request)
  local _, _, limit <const> = array.memory()
  pcall(vm.limit, { memory = request.lua_memory or math.max(work.BOOKS, limit // 16) })
end

function work.run(request, job)
  work.limit_memory(request)
  local report <const>, err <const> = check.run {
    path = request.path, source = request.source, cases = request.cases, entry = request.entry, target = request.target,
    version = request.nki_version or request.version, roots = request.roots, cwd = request.cwd, step_limit = request.step_limit,
    fixes = request.fixes, progress = job and job.progress or nil,
  }
  if not report then
    if not err.where and err.line then err.where = ("%s:%d"):format(request.shown_path or request.path, err.line) end
    return nil, err
  end
  report.diagnostics = plain(report.diagnostics)
  for _, item in ipairs(report.cases) do item.diagnostics = plain(item.diagnostics) end
  report.target, report.nki_version = request.target or "trn2", request.nki_version or request.version or "0.6"
  return report
end

return work
