-- SPDX-License-Identifier: MIT
-- Steps of a capture: programs of the vendor run one after the other, everything they say kept in one log.
--
--   steps.open(ctx, name) -> state | nil, err        a fresh work folder .nkiln/profiles/work/NAME-MARK, kept afterwards
--   state:folder(name) -> path | nil, err            a folder inside it
--   state:run(title, argv, {env=, seconds=, cwd=, device=bool}) -> result | nil, fault
--       result: {status=0, stdout=, stderr=, seconds=}. Any other end is a fault that explains itself (failures.lua), with
--       `name` (which failure); what the program said is in state.last. With `device` its time counts as device seconds of
--       the budget. A spent budget and an interrupt raise, as everywhere.
--   state.facts fills the explanations; state.notes gathers warnings that belong into the profile.

local failures <const> = require "profile.device.failures"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local steps <const> = {}
local methods <const> = {}
local mt <const> = { __index = methods }

steps.FOLDER = ".nkiln/profiles/work"
local OUTPUT <const> = 16 << 20 -- bytes kept of what a tool prints

function steps.open(ctx, name)
  local base <const> = ctx.workspace .. "/" .. steps.FOLDER
  local mark <const> = fs.sha256(table.concat({ tostring {}, os.clock(), os.time() }, " ")):sub(1, 6)
  local work <const> = ("%s/%s-%s-%s"):format(base, name:gsub("[^%w_.-]", "_"), os.date("!%Y%m%d-%H%M%S"), mark)
  local made <const>, err <const> = ctx.fs.mkdir(work, true)
  if not made then return nil, fault.new(err.code, "the work folder cannot be made: " .. fault.why(err), { where = work }) end
  return setmetatable({ ctx = ctx, work = work, log = work .. "/log.txt", facts = {}, notes = {}, noted = {} }, mt)
end

function methods:folder(name)
  local path <const> = self.work .. "/" .. name
  local made <const>, err <const> = self.ctx.fs.mkdir(path, true)
  if not made and err.code ~= "exists" then return nil, fault.new(err.code, "the work folder cannot be made: " .. fault.why(err), { where = path }) end
  return path
end

function methods:note(row)
  if self.noted[row.code] then return end
  self.noted[row.code] = true
  self.notes[#self.notes + 1] = row
end

function methods:write_log(text)
  fs.append(self.log, text) -- a full disk is reported by the step itself
end

local function quoted(word)
  if word:find("^[%w_./=:,@+-]+$") then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The command as a person could repeat it.
local function command_text(argv, env)
  local names <const>, parts <const> = {}, {}
  for name in pairs(env or {}) do names[#names + 1] = name end
  table.sort(names)
  if names[1] then parts[1] = "env" end
  for _, name in ipairs(names) do
    if env[name] == false then parts[#parts + 1] = "-u " .. name end
  end
  for _, name in ipairs(names) do
    if env[name] ~= false then parts[#parts + 1] = name .. "=" .. quoted(tostring(env[name])) end
  end
  for _, word in ipairs(argv) do parts[#parts + 1] = quoted(word) end
  return table.concat(parts, " ")
end

-- Why a program ended badly, as a fault.
function methods:explain(title, result, timed_out, seconds)
  local text <const> = (result.stderr or "") .. "\n" .. (result.stdout or "")
  local fields <const> = { where = self.log }
  local known = failures.find(text, self.facts)
  if timed_out and not (known and known.name == "dge-overflow") then
    known = { name = "deadline", code = "failed", message = ("%s did not end within %d seconds"):format(title, seconds), hint = "the log has what it said" }
  end
  if not known and result.signal == 9 then
    known = { name = "killed", code = "failed", message = title .. " was killed: most likely this machine ran out of memory",
      hint = "profile a smaller case, or use a machine with more memory" }
  end
  if known then
    fields.name, fields.hint = known.name, known.hint
    return fault.new(known.code, known.message, fields)
  end
  local how <const> = result.signal and ("was ended by signal %d"):format(result.signal) or ("failed with exit status %d"):format(result.status or -1)
  fields.name, fields.hint = "unknown", "the log has everything it said"
  return fault.new("failed", ("%s %s: %s"):format(title, how, failures.last_line(text) or "it said nothing"), fields)
end

function methods:run(title, argv, options)
  options = options or {}
  self.last = nil
  self.ctx.progress(title)
  local seconds = options.seconds
  for _, kind in ipairs { "seconds", options.device and "device_seconds" or nil } do
    local left <const> = self.ctx.budget:left(kind)
    if left then seconds = math.min(seconds or left, math.max(1, math.ceil(left))) end
  end
  if options.device then self.ctx.budget:require { device_seconds = 1 } end
  self:write_log(("## %s\n$ cd %s && %s\n"):format(title, quoted(options.cwd or self.work), command_text(argv, options.env)))
  local result, err = self.ctx.proc.run(argv, { cwd = options.cwd or self.work, env = options.env, seconds = seconds, limit = OUTPUT, unconfined = true })
  local timed_out = false
  if not result then
    if err.code ~= "timeout" then
      self:write_log(("does not start: %s\n\n"):format(tostring(err.message)))
      return nil, fault.of(err)
    end
    result, timed_out = err, true
  end
  self.last = result
  if options.device then self.ctx.budget:record { device_seconds = result.seconds or 0 } end
  self:write_log(("%s%s%s-> %s, %.1f s\n\n"):format(result.stdout or "", result.stderr or "", (result.stderr or ""):find("[^\n]$") and "\n" or "",
    timed_out and "ended by the time limit" or result.signal and "signal " .. result.signal or "status " .. tostring(result.status), result.seconds or 0))
  for _, row in ipairs(failures.warnings((result.stderr or "") .. (result.stdout or ""))) do self:note(row) end
  if timed_out or result.status ~= 0 then
    self.ctx.budget:check() -- was it the budget's time that ended it?
    return nil, self:explain(title, result, timed_out, seconds or 0)
  end
  return result
end

return steps
