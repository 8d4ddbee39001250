-- SPDX-License-Identifier: MIT
-- fault: what a failure is, which exit status it means and how it reads on one line.
--
-- A failure of the world is a table {code=, message=, where=, hint=, ...}: what, where, what to do. Codes are words
-- in kebab case; the exit status follows from the code. Nothing here fails.

local nearest <const> = require "nki.nearest"

local fault <const> = {}

local mt <const> = { __name = "fault" }

-- Exit statuses of the command line.
fault.DONE, fault.FAILED, fault.USAGE, fault.MISSING, fault.BUDGET, fault.DENIED, fault.INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

-- Codes of the file primitives are written with underscores, those of diagnostics with hyphens; both are found here.
local status_of <const> = {
  failed = 1,
  usage = 2, ["bad-input"] = 2, syntax = 2, ["bad-case"] = 2, ["bad-task"] = 2, ["bad-policy"] = 2, ["bad-skill"] = 2, ["bad-trust"] = 2,
  ["not-found"] = 2, denied = 2, ["is-directory"] = 2, ["not-directory"] = 2, ["not-a-file"] = 2, ["too-large"] = 2, ["no-space"] = 2,
  ["read-only"] = 2, exists = 2, loop = 2, io = 2, ["name-too-long"] = 2, ["not-empty"] = 2, locked = 2, ["bad-path"] = 2, json = 2,
  damaged = 2, ["not-a-database"] = 2,
  missing = 3, unavailable = 3, ["too-many-open"] = 3,
  budget = 4,
  ["not-permitted"] = 5, untrusted = 5, escape = 5,
  cancelled = 130, interrupted = 130,
}

function mt:__tostring() return fault.text(self) end

-- A failure: code, what happened, and optional fields (where, hint, anything else a program may want).
function fault.new(code, message, fields)
  local err <const> = {}
  for k, v in pairs(fields or {}) do err[k] = v end
  err.code, err.message = code, message
  return setmetatable(err, mt)
end

function fault.is(value) return type(value) == "table" and type(value.code) == "string" and type(value.message) == "string" end

-- Make a failure of whatever an error value is: a fault stays, a string becomes one.
function fault.of(value, code)
  if fault.is(value) then return value end
  if type(value) == "table" and type(value.message) == "string" then
    return fault.new(code or value.kind or "failed", value.message, value)
  end
  local kind <const> = type(value)
  if kind == "string" or kind == "number" then return fault.new(code or "failed", tostring(value)) end
  return fault.new(code or "failed", kind == "nil" and "an error without a message" or ("an error that is a %s, not a text"):format(kind))
end

function fault.status(err)
  if type(err) ~= "table" then return fault.FAILED end
  if math.type(err.status) == "integer" then return err.status end
  local code <const> = tostring(err.code):gsub("_", "-")
  return status_of[code] or (code:find("^file%-") and fault.USAGE) or fault.FAILED
end

-- Why a file primitive failed, without the name of the call and the path: "no such file or folder".
function fault.why(err)
  if type(err) ~= "table" then return tostring(err) end
  local message <const> = tostring(err.message)
  return err.op and message:match(": ([^:]*)$") or message
end

local function one_line(text)
  return (text:gsub("%s*\n%s*", " "):gsub("[%z\1-\31\127]", function(c) return c == "\t" and " " or ("\\x%02x"):format(c:byte()) end))
end

-- One line: what, where, what to do. Line ends inside the parts become spaces, other control characters (a terminal would
-- obey them) escapes. `short` makes a path shorter.
function fault.text(err, short)
  if not fault.is(err) then return one_line(tostring(err)) end
  local parts <const> = { tostring(err.message) }
  local where <const> = err.where and short and short(err.where) or err.where
  if where and not parts[1]:find(where, 1, true) then parts[#parts + 1] = where end
  if err.hint then parts[#parts + 1] = err.hint end
  return one_line((table.concat(parts, ": "):gsub("%?: ", "? ")))
end

-- The plain table that goes into JSON output.
function fault.data(err)
  local out <const> = {}
  for k, v in pairs(fault.of(err)) do
    local kind <const> = type(v)
    if type(k) == "string" and (kind == "string" or kind == "number" or kind == "boolean" or kind == "table") and k ~= "traceback" then
      out[k] = v
    end
  end
  return out
end

-- The name in the list nearest to the one given (a prefix counts as near), or nil when none is near enough.
function fault.nearest(name, names)
  if #name >= 3 then
    local only
    for _, other in ipairs(names) do
      if other:sub(1, #name) == name then only = only == nil and other or false end
    end
    if only then return only end
  end
  return (nearest.find(name, names))
end

return fault
