-- SPDX-License-Identifier: MIT
-- profile.report.tables: reading a profile database that may lack any table or column and hold any value.
--
--   local t <const> = tables.open(path)        -- nil, err: not there, not a database, not a profile
--   t:has("Instruction", "engine")             -- is the column there?
--   for a, b in t:each("SELECT ...", ...) do   -- values by position; a failure raises a fault
--   t:first("SELECT ...")                      -- the first row as a table by column name, {} when there is none
-- Read-only; one statement may take SECONDS.

local db <const> = require "rt.db"
local fault <const> = require "fault"

local tables <const> = {}

local SECONDS <const> = 120

local methods <const> = {}
methods.__index = methods

function methods:has(name, column)
  local known = self.known[name]
  if known == nil then
    known = false
    for _, row in ipairs(self:all("SELECT name FROM pragma_table_info(?)", name)) do
      known = known or {}
      known[row.name] = true
    end
    self.known[name] = known
  end
  return known and (column == nil or known[column] == true) or false
end

function methods:all(sql, ...)
  local rows <const>, err <const> = self.db:query(sql, ...)
  if not rows then error(fault.new("bad-profile", "cannot be read: " .. fault.why(err), { where = self.shown, status = 2 }), 0) end
  return rows
end

function methods:first(sql, ...) return self:all(sql, ...)[1] or {} end

-- Rows one by one, for the large tables.
function methods:each(sql, ...)
  local ok <const>, next_row <const>, state <const>, control <const>, closing <const> = pcall(self.db.rows, self.db, sql, ...)
  if not ok then error(fault.new("bad-profile", "cannot be read: " .. fault.why(next_row), { where = self.shown, status = 2 }), 0) end
  return next_row, state, control, closing
end

function methods:close() self.db:close() end
methods.__close = methods.close

-- `shown` is the name for messages.
function tables.open(path, shown)
  shown = shown or path
  local handle <const>, err <const> = db.open(path, { readonly = true, timeout = SECONDS })
  if not handle then
    local reason <const> = tostring(err.message):match(": ([^:]*)$") or fault.why(err)
    return nil, fault.new("bad-profile", "is not a profile database: " .. reason, { where = shown, status = 2 })
  end
  local self <const> = setmetatable({ db = handle, known = {}, shown = shown }, methods)
  local names <const>, why <const> = handle:query("SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('Instruction', 'DmaPacket', 'Summary')")
  if not names or #names == 0 then
    handle:close()
    return nil, fault.new("bad-profile", names and "is a database, but holds no profile (no table Instruction, DmaPacket or Summary)"
      or "is not a profile database: " .. fault.why(why), { where = shown, status = 2, hint = "nkiln profile KERNEL.py --case ... -o p.db makes one" })
  end
  return self
end

return tables
