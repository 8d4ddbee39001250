-- SPDX-License-Identifier: MIT
-- snapshots: nothing of the user's is ever lost. Contents of files are kept under .nkiln/objects, named by their SHA-256.
--
-- A run that changes a file goes through here: keep() stores the content as it was found, write() replaces it and, when
-- somebody changed the file since the run last saw it, stores that content too, restore() puts every file of a run back as
-- it was found (and keeps what it replaces). The ledger's `files` rows say which content belonged to which run and when, so
-- any kept content can be fetched again. Contents that are already there cost nothing. Paths are resolved first, so a
-- symbolic link stays one. Every function returns nil, {code=, message=} when the disk is in the way, having changed
-- nothing or having kept what it replaced.

local fs <const> = require "rt.fs"

local snapshots <const> = {}
local methods <const> = {}
local mt <const> = { __name = "snapshots", __index = methods }

snapshots.LIMIT = 64 << 20 -- bytes of one file

-- For one run of a ledger (ledger:begin or ledger:resume). may(kind, path) -> true, or nil, err: what the run may "read" and
-- "write"; without it everything, as for the user's own `nkiln restore`.
function snapshots.of(run, may)
  return setmetatable({ run = run, db = run.ledger.db, folder = run.ledger.path_of_folder .. "/objects", may = may }, mt)
end

local function object_path(folder, sha256) return ("%s/%s/%s"):format(folder, sha256:sub(1, 2), sha256:sub(3)) end

-- Store a content; returns its name.
function methods:store(bytes)
  local sha256 <const> = fs.sha256(bytes)
  local path <const> = object_path(self.folder, sha256)
  if fs.stat(path) and fs.stat(path).size == #bytes then return sha256 end
  local ok, err = fs.mkdir(path:match("^(.*)/"), true)
  if ok then ok, err = fs.write(path, bytes) end
  if not ok then return nil, err end
  return sha256
end

-- Fetch a content by its name; a damaged one is refused rather than handed out.
function methods:fetch(sha256)
  local bytes <const>, err <const> = fs.read(object_path(self.folder, sha256), snapshots.LIMIT)
  if not bytes then return nil, err end
  if fs.sha256(bytes) ~= sha256 then return nil, { code = "damaged", message = ("the kept content %s is damaged"):format(sha256:sub(1, 12)) } end
  return bytes
end

-- The real path of a file that may not exist yet.
local function resolve(path)
  local real <const>, err <const> = fs.realpath(path)
  if real then return real end
  if err.code ~= "not_found" then return nil, err end
  local stat <const> = fs.stat(path, true)
  if stat and stat.type == "link" then return nil, { code = "not_found", message = path .. ": a link that leads nowhere" } end
  local parent <const>, name <const> = path:match("^(.*)/([^/]+)$")
  local folder <const>, why <const> = fs.realpath(parent == "" and "/" or parent or ".")
  if not folder then return nil, why end
  return (folder == "/" and "" or folder) .. "/" .. (name or path)
end

-- Content and mode as they are now; bytes is nil, absent true where there is no file.
local function look(path)
  local bytes <const>, err <const> = fs.read(path, snapshots.LIMIT)
  if bytes then return { bytes = bytes, sha256 = fs.sha256(bytes), mode = (fs.stat(path) or {}).mode } end
  if err.code == "not_found" then return { absent = true } end
  return nil, err
end

-- What this run last knew of a file: the sha256 (nil for absent) of its newest row, and whether there is one.
local function last_seen(self, path)
  local row <const> = self.db:row("select sha256, action from files where run = ? and path = ? order by number desc limit 1", self.run.id, path)
  return row and row.sha256, row ~= nil
end

local function keep_content(self, action, path, now)
  if not now.absent then
    local ok <const>, err <const> = self:store(now.bytes)
    if not ok then return nil, err end
  end
  return self.run:file(action, path, now.sha256, now.mode)
end

-- Keep a file as it is found. The first time in a run this is the original that restore() returns to. Returns
-- { path=, sha256=, absent=, bytes= }.
function methods:keep(path)
  if self.may then
    local ok <const>, refused <const> = self.may("read", path)
    if not ok then return nil, refused end
  end
  local real <const>, err <const> = resolve(path)
  if not real then return nil, err end
  local now <const>, why <const> = look(real)
  if not now then return nil, why end
  local seen <const>, known <const> = last_seen(self, real)
  if not known or seen ~= now.sha256 then
    local ok <const>, problem <const> = keep_content(self, known and "changed-outside" or "original", real, now)
    if not ok then return nil, problem end
  end
  return { path = real, sha256 = now.sha256, absent = now.absent, bytes = now.bytes }
end

-- Replace a file. What it held is kept first, whoever wrote it. Returns { path=, sha256=, changed_outside=bool }.
function methods:write(path, bytes)
  if self.may then
    local ok <const>, refused <const> = self.may("write", path)
    if not ok then return nil, refused end
  end
  local before <const>, err <const> = self:keep(path)
  if not before then return nil, err end
  local sha256, problem = self:store(bytes)
  if not sha256 then return nil, problem end
  local changed <const> = self.db:value([[select action from files where run = ?1 and path = ?2 order by number desc limit 1]],
    self.run.id, before.path) == "changed-outside"
  local ok
  -- The row comes first: a process killed in between leaves a row for a content that is kept anyway.
  ok, problem = self.run:file("written", before.path, sha256)
  if not ok then return nil, problem end
  if before.sha256 ~= sha256 then
    local replaced <const>, failed <const> = fs.replace(before.path, bytes)
    if not replaced then
      self.run:file("not-written", before.path, before.sha256)
      return nil, failed
    end
    -- Somebody saved between our look and our rename: their content came out of the exchange and is kept as well.
    if type(replaced) == "string" and fs.sha256(replaced) ~= before.sha256 then
      local kept <const> = self:store(replaced)
      self.run:file("changed-outside", before.path, kept)
      self.run:file("written", before.path, sha256)
      return { path = before.path, sha256 = sha256, changed_outside = true }
    end
  end
  return { path = before.path, sha256 = sha256, changed_outside = changed }
end

-- Put the files of a run back as they were found. Returns a list of { path=, action="restored"|"removed"|"unchanged"|"failed",
-- kept=sha256 of what was replaced when only the user knew it, err= }. `paths`: only these, as the ledger has them.
function methods:restore(paths)
  local rows <const>, err <const> = self.db:query([[select path, sha256, mode from files f where run = ?1 and number =
    (select min(number) from files where run = ?1 and path = f.path) order by path]], self.run.id)
  if not rows then return nil, err end
  local wanted
  if paths then
    wanted = {}
    for _, path in ipairs(paths) do wanted[path] = true end
  end
  local out <const> = {}
  for _, row in ipairs(rows) do
    if not wanted or wanted[row.path] then out[#out + 1] = self:restore_one(row) end
  end
  return out
end

function methods:restore_one(row)
  local result <const> = { path = row.path, action = "failed" }
  -- The path was real when it was recorded: a link that stands there now leads to a file that is none of the run's.
  local real <const> = resolve(row.path)
  if real and real ~= row.path then
    result.err = { code = "escape", message = ("%s leads to %s now; nothing was written"):format(row.path, real) }
    return result
  end
  local now, err = look(row.path)
  if not now then
    result.err = err
    return result
  end
  if now.sha256 == row.sha256 then
    result.action = "unchanged"
    return result
  end
  local bytes
  if row.sha256 then
    bytes, err = self:fetch(row.sha256)
    if not bytes then
      result.err = err
      return result
    end
  end
  local seen <const> = last_seen(self, row.path)
  if now.sha256 ~= seen then result.kept = now.sha256 end
  local ok
  ok, err = keep_content(self, "before-restore", row.path, now)
  if ok and bytes then
    ok, err = fs.write(row.path, bytes)
  elseif ok then
    ok, err = fs.remove(row.path)
  end
  if ok then
    self.run:file("restored", row.path, row.sha256, row.mode)
    result.action = bytes and "restored" or "removed"
  else
    result.err = err
  end
  return result
end

-- Restore the files of a run by its id, "last" or the beginning of an id: the one command behind `nkiln restore`.
-- Returns the list of restore(), or nil, err.
function snapshots.restore(ledger, id)
  local full <const>, err <const> = ledger:find(id)
  if not full then return nil, err end
  local run <const>, why <const> = ledger:hold(full)
  if not run then return nil, why end
  local out <const>, problem <const> = snapshots.of(run):restore()
  run:release()
  return out, problem
end

return snapshots
