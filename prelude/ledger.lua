-- SPDX-License-Identifier: MIT
-- ledger: what was run here, in .nkiln/ledger.db of a workspace.
--
-- Append-only: a run, its steps, its budget after each step, the files it changed and its results are rows that are added and
-- never altered (the database itself refuses to). A run that lives holds a lock on .nkiln/runs/ID.lock, so that two
-- processes never carry on the same run, and a run that was killed is told from one at work. .nkiln carries its own
-- .gitignore. Everything here returns nil, {code=, message=} when the disk or another process is in the way; a state that
-- cannot be stored (a function, a cycle) raises.

local budget <const> = require "budget"
local db <const> = require "rt.db"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"

local ledger <const> = {}
local methods <const>, run_methods <const> = {}, {}
local mt <const> = { __name = "ledger", __index = methods }
local run_mt <const> = { __name = "ledger.run", __index = run_methods }

ledger.FOLDER, ledger.VERSION = ".nkiln", 1

-- A run that ended like this is over; any other may be taken up again.
ledger.final = { done = true, failed = true, blocked = true, oscillation = true }

local schema <const> = [[
create table runs (id text primary key, kind text not null, name text not null, parent text, started text not null,
  args text, budget text, version text, source text, folder text);
create table steps (run text not null references runs(id), number integer not null, name text not null, outcome text, note text,
  started text not null, seconds real, state text, next text, primary key (run, number));
create table budgets (run text not null references runs(id), number integer not null, state text not null, at text not null);
create table files (run text not null references runs(id), number integer not null, path text not null, action text not null,
  sha256 text, mode integer, at text not null, primary key (run, number));
create table results (run text not null references runs(id), number integer not null, status text not null, exit_status integer,
  message text, result text, after_step integer not null, finished text not null, primary key (run, number));
create index budgets_run on budgets (run, number);
create index runs_started on runs (started);
]]

local tables <const> = { "runs", "steps", "budgets", "files", "results" }

local function now() return os.date("!%Y-%m-%dT%H:%M:%SZ") end

-- Plain data as JSON text. What JSON lacks is tagged: {"$float":"nan"}, {"$bytes":"c3"} for text that is not UTF-8.
local function pack(value, depth)
  if depth > 200 then error("tables nested too deeply, or one that contains itself", 0) end
  local kind <const> = type(value)
  if math.type(value) == "float" and (value ~= value or value == math.huge or value == -math.huge) then
    return { ["$float"] = value ~= value and "nan" or value > 0 and "inf" or "-inf" }
  elseif kind == "string" and not utf8.len(value) then
    return { ["$bytes"] = value:gsub(".", function(c) return ("%02x"):format(c:byte()) end) }
  elseif kind ~= "table" or (getmetatable(value) and not json.is_array(value)) then
    return value
  end
  local copy <const> = json.is_array(value) and json.array {} or {}
  for k, v in pairs(value) do copy[k] = pack(v, depth + 1) end
  return copy
end

local function unpack_value(value)
  if type(value) ~= "table" then
    if value == json.null then return nil end
    return value
  end
  local float <const>, bytes <const> = value["$float"], value["$bytes"]
  if float then return float == "nan" and 0 / 0 or float == "inf" and math.huge or -math.huge end
  if bytes then return (bytes:gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end)) end
  for k, v in pairs(value) do value[k] = unpack_value(v) end
  return value
end

function ledger.encode(value)
  if value == nil then return nil end
  local ok, packed = pcall(pack, value, 0)
  if ok then ok, packed = pcall(json.encode, packed) end
  if not ok then error("this cannot be stored: " .. tostring(packed), 2) end
  return packed
end

function ledger.decode(text)
  if text == nil then return nil end
  local value <const>, err <const> = json.decode(text)
  if err then return nil, err end
  return unpack_value(value)
end

-- Make the folder, with the .gitignore that keeps it out of the user's commits. Returns its path or nil, err.
function ledger.folder(workspace)
  local folder <const> = workspace .. "/" .. ledger.FOLDER
  -- A cloned repository could bring a link and have a run, or a skill that may write here, write elsewhere.
  local there <const> = fs.stat(folder, true)
  if there and there.type == "link" then
    return nil, { code = "escape", message = ("%s is a link; nkiln writes to a folder of its own there"):format(folder), hint = "remove the link" }
  end
  local ok, err = fs.mkdir(folder .. "/runs", true)
  if not ok then return nil, err end
  if not fs.exists(folder .. "/.gitignore") then
    ok, err = fs.write(folder .. "/.gitignore", "*\n")
    if not ok then return nil, err end
  end
  return folder
end

local function migrate(d, path)
  local version <const>, why <const> = d:value("pragma user_version")
  if not version then return nil, why end
  if version == ledger.VERSION then return true end
  if version > ledger.VERSION then
    return nil, { code = "newer", message = ("%s was written by a newer nkiln (format %d)"):format(path, version) }
  end
  return d:transaction(function()
    if d:value("pragma user_version") == ledger.VERSION then return true end -- another process was first
    local ok, err = d:exec(schema)
    if not ok then return nil, err end
    for _, name in ipairs(tables) do
      for _, action in ipairs { "update", "delete" } do
        ok, err = d:exec(("create trigger %s_%s before %s on %s begin select raise(abort, 'the ledger is append-only'); end")
          :format(name, action, action, name))
        if not ok then return nil, err end
      end
    end
    return d:exec("pragma user_version = " .. ledger.VERSION)
  end)
end

local function damaged(path, why)
  return nil, {
    code = "not_a_database", message = ("%s cannot be read: %s"):format(path, tostring(why.message):match("([^:]*)$"):gsub("^%s+", "")),
    hint = "move it away; what runs kept stays in .nkiln/objects",
  }
end

-- Open the ledger of a workspace folder, making it when it is not there. options: readonly.
function ledger.open(workspace, options)
  options = options or {}
  local folder, err
  if options.readonly then
    folder = workspace .. "/" .. ledger.FOLDER
    if not fs.exists(folder .. "/ledger.db") then
      return nil, { code = "not_found", message = "nothing has been recorded in " .. workspace }
    end
  else
    folder, err = ledger.folder(workspace)
    if not folder then return nil, err end
  end
  local path <const> = folder .. "/ledger.db"
  local d <const>, why <const> = db.open(path, { busy = 30, readonly = options.readonly })
  if not d then
    if why.code == "not_a_database" then return damaged(path, why) end
    return nil, why
  end
  local ok, problem
  if options.readonly then
    local version
    version, problem = d:value("pragma user_version")
    ok = version and version > 0
    if version == 0 then problem = { code = "not_found", message = "nothing has been recorded in " .. workspace } end
  else
    ok, problem = migrate(d, path)
  end
  if not ok then
    d:close()
    if problem.code == "not_a_database" then return damaged(path, problem) end
    return nil, problem
  end
  return setmetatable({ db = d, workspace = workspace, path_of_folder = folder }, mt)
end

function methods:close() self.db:close() end
mt.__close = function(self) self.db:close() end

local function lock_path(self, id) return self.path_of_folder .. "/runs/" .. id .. ".lock" end

local function new_run(self, id, lock, number)
  return setmetatable({ ledger = self, id = id, lock = lock, number = number }, run_mt)
end

local function new_id(attempt)
  local mark <const> = fs.sha256(table.concat({ tostring {}, os.clock(), os.time(), attempt }, " ")):sub(1, 5)
  return os.date("!%Y%m%d-%H%M%S-") .. mark
end

-- Begin a run: { kind="agent"|"skill"|"command"|"script", name=, args=, budget=state, parent=id, version=, source=sha256, folder= }.
function methods:begin(info)
  local row <const> = {
    info.kind or "command", info.name or error("a run has a name", 2), info.parent, now(), ledger.encode(info.args), ledger.encode(info.budget),
    info.version, info.source, info.folder or self.workspace,
  }
  for attempt = 1, 20 do
    local id <const> = info.id or new_id(attempt)
    local lock <const>, err <const> = fs.lock(lock_path(self, id))
    if lock then
      local ok <const>, why <const> = self.db:exec(
        "insert into runs (id, kind, name, parent, started, args, budget, version, source, folder) values (?,?,?,?,?,?,?,?,?,?)",
        id, table.unpack(row, 1, 9))
      if ok then return new_run(self, id, lock, 0) end
      lock:release()
      if why.code ~= "constraint" then
        fs.remove(lock_path(self, id))
        return nil, why
      end
    elseif err.code ~= "locked" then
      return nil, err
    end
    if info.id then return nil, { code = "exists", message = "there is a run " .. id .. " already" } end
  end
  return nil, { code = "exists", message = "no free name for a run" }
end

-- Add a step: { name=, outcome=, note=, seconds=, state=, next=, budget=state }. Step and budget are one transaction.
function run_methods:step(info)
  local d <const> = self.ledger.db
  local state <const>, spent <const> = ledger.encode(info.state), ledger.encode(info.budget)
  local ok <const>, err <const> = d:transaction(function()
    local number <const> = self.number + 1
    local done, why = d:exec("insert into steps (run, number, name, outcome, note, started, seconds, state, next) values (?,?,?,?,?,?,?,?,?)",
      self.id, number, info.name, info.outcome, info.note, info.started or now(), info.seconds, state, info.next)
    if not done then return nil, why end
    if spent then
      done, why = d:exec("insert into budgets (run, number, state, at) values (?,?,?,?)", self.id, number, spent, now())
      if not done then return nil, why end
    end
    return number
  end)
  if not ok then return nil, err end
  self.number = ok
  return ok
end

-- Record the budget in the middle of a step.
function run_methods:account(state)
  return self.ledger.db:exec("insert into budgets (run, number, state, at) values (?,?,?,?)", self.id, self.number, ledger.encode(state), now())
end

-- Note that a file was looked at or changed (snapshots.lua): action, path, sha256 (nil: the file is absent), mode.
function run_methods:file(action, path, sha256, mode)
  return self.ledger.db:exec([[insert into files (run, number, path, action, sha256, mode, at)
    values (?1, (select coalesce(max(number), 0) + 1 from files where run = ?1), ?2, ?3, ?4, ?5, ?6)]],
    self.id, path, action, sha256, mode, now())
end

-- End the run: { status=, exit_status=, message=, result=, budget=state }. The lock is given back.
function run_methods:finish(info)
  local d <const> = self.ledger.db
  local result <const>, spent <const> = ledger.encode(info.result), ledger.encode(info.budget)
  local ok <const>, err <const> = d:transaction(function()
    local done, why = d:exec([[insert into results (run, number, status, exit_status, message, result, after_step, finished)
      values (?1, (select coalesce(max(number), 0) + 1 from results where run = ?1), ?2, ?3, ?4, ?5, ?6, ?7)]],
      self.id, info.status or "done", info.exit_status, info.message, result, self.number, now())
    if done and spent then
      done, why = d:exec("insert into budgets (run, number, state, at) values (?,?,?,?)", self.id, self.number, spent, now())
    end
    return done, why
  end)
  self:release()
  return ok, err
end

-- Let go of a run without a result, as a killed process would.
function run_methods:release()
  if not self.lock then return end
  fs.remove(lock_path(self.ledger, self.id)) -- while it is still held: nobody can be inside
  self.lock:release()
  self.lock = nil
end
run_mt.__close = run_methods.release

-- A run of another process is alive when its lock cannot be taken.
local function alive(self, id)
  if not fs.exists(lock_path(self, id)) then return false end
  local lock <const>, err <const> = fs.lock(lock_path(self, id), { shared = true })
  if lock then lock:release() end
  return not lock and err.code == "locked"
end

-- The full id of "last", an id, or the beginning of exactly one.
function methods:find(id)
  if id == "last" then
    local found <const> = self.db:value("select id from runs order by started desc, rowid desc limit 1")
    if found then return found end
    return nil, { code = "not_found", message = "nothing has been recorded in " .. self.workspace }
  end
  local rows <const>, err <const> = self.db:query("select id from runs where substr(id, 1, length(?1)) = ?1 order by id = ?1 desc, id limit 3", id)
  if not rows then return nil, err end
  if #rows == 0 or id == "" then return nil, { code = "not_found", message = ("there is no run %s (nkiln ledger lists them)"):format(id) } end
  if #rows > 1 and rows[1].id ~= id then
    return nil, { code = "ambiguous", message = ("%s begins more than one run: %s, %s"):format(id, rows[1].id, rows[2].id) }
  end
  return rows[1].id
end

-- Whether a run ended, and how: by its last result, unless it was carried on after that.
local function conclude(self, row)
  local last <const> = self.db:row("select * from results where run = ? order by number desc limit 1", row.id)
  row.steps = self.db:value("select count(*) from steps where run = ?", row.id)
  if alive(self, row.id) then
    row.status = "running"
  elseif last and last.after_step == row.steps then
    row.status, row.exit_status, row.message, row.finished = last.status, last.exit_status, last.message, last.finished
    row.result = ledger.decode(last.result)
  else
    row.status = "killed"
  end
  row.args, row.budget = ledger.decode(row.args), ledger.decode(row.budget)
  return row
end

-- Runs, newest first. filter: name, parent, limit (50).
function methods:runs(filter)
  filter = filter or {}
  local rows <const>, err <const> = self.db:query([[select * from runs where (?1 is null or name = ?1) and (?2 is null or parent = ?2)
    order by started desc, rowid desc limit ?3]], filter.name, filter.parent, filter.limit or 50)
  if not rows then return nil, err end
  for _, row in ipairs(rows) do conclude(self, row) end
  return rows
end

-- All that is known of one run: its row, steps (without states), budget as last stored, files, results.
function methods:run(id)
  local full <const>, err <const> = self:find(id)
  if not full then return nil, err end
  local row <const> = conclude(self, self.db:row("select * from runs where id = ?", full))
  row.steps = self.db:query("select number, name, outcome, note, started, seconds, next from steps where run = ? order by number", full)
  row.files = self.db:query("select number, path, action, sha256, mode, at from files where run = ? order by number", full)
  row.budget = ledger.decode(self.db:value("select state from budgets where run = ? order by number desc, rowid desc limit 1", full)) or row.budget
  row.children = self.db:query("select id, name from runs where parent = ? order by started, rowid", full)
  return row
end

-- The state stored after a step (the last one by default).
function methods:state(id, number)
  local row <const> = self.db:row([[select number, name, state, next from steps where run = ?1 and (?2 is null or number = ?2)
    order by number desc limit 1]], id, number)
  if not row then return nil, { code = "not_found", message = "no state is stored for " .. id } end
  row.state = ledger.decode(row.state) or {}
  return row
end

-- Hold a run that exists, whatever its status, so that nobody else works on it. Returns the run handle.
function methods:hold(id)
  local full <const>, err <const> = self:find(id)
  if not full then return nil, err end
  local lock <const>, why <const> = fs.lock(lock_path(self, full), { wait = 0.2 }) -- someone may be looking
  if not lock then
    if why.code == "locked" then why.message = ("run %s is at work in another process"):format(full) end
    return nil, why
  end
  return new_run(self, full, lock, self.db:value("select coalesce(max(number), 0) from steps where run = ?", full))
end

-- Take up a run that ended early. Returns the run handle and what run() returns.
function methods:resume(id)
  local handle <const>, err <const> = self:hold(id)
  if not handle then return nil, err end
  local last <const> = self.db:row("select status from results where run = ? order by number desc limit 1", handle.id)
  if last and ledger.final[last.status] then
    handle:release()
    return nil, { code = "finished", message = ("run %s has ended: %s"):format(handle.id, last.status) }
  end
  return handle, self:run(handle.id)
end

-- A run as lines for a person: what it was, each step and why, the budget, the files, how to go on.
function methods:explain(id)
  local run <const>, err <const> = self:run(id)
  if not run then return nil, err end
  local out <const> = {}
  local function line(...) out[#out + 1] = (...):format(select(2, ...)) end
  line("run %s: %s %s, %s", run.id, run.kind, run.name, run.status)
  line("  started %s%s", run.started, run.finished and ", ended " .. run.finished or "")
  if run.message then line("  %s", run.message) end
  for _, step in ipairs(run.steps) do
    line("  step %d %s%s%s%s", step.number, step.name, step.outcome and ": " .. step.outcome or "",
      step.seconds and (" (%.2f s)"):format(step.seconds) or "", step.note and "\n    " .. step.note or "")
  end
  if run.budget and run.budget.spent then
    line("  budget: %s", budget.restore(run.budget):text())
  end
  for _, file in ipairs(run.files) do line("  file %s: %s%s", file.path, file.action, file.sha256 and " " .. file.sha256:sub(1, 12) or "") end
  if run.status == "killed" or run.status == "interrupted" or run.status:find("^budget") then line("  go on with: nkiln resume %s", run.id) end
  if #run.files > 0 then line("  undo with: nkiln restore %s", run.id) end
  return table.concat(out, "\n") .. "\n"
end

return ledger
