-- SPDX-License-Identifier: MIT
-- datafile: Lua text that is data (policy.lua, task.lua). It runs in a state of its own with no name in reach, under a
-- limit of steps and memory, and gives back one plain value. nil, err (the code given by the caller) when it does not.

local fault <const> = require "fault"
local vm <const> = require "rt.vm"

local datafile <const> = { STEPS = 1000000, MEMORY = 16 << 20 }

local words <const> = {
  steps = "runs too long; a data file only returns a table", cpu = "runs too long; a data file only returns a table",
  memory = "needs too much memory",
}

function datafile.run(text, path, code)
  local value <const>, err <const> = vm.isolated {
    source = text, name = "@" .. path, globals = "none", steps = datafile.STEPS, memory = datafile.MEMORY, cpu = 2,
  }
  if value ~= nil then return value end
  if not err then return nil, fault.new(code, "must return a table", { where = path, hint = "return { ... }" }) end
  local message = words[err.code] or tostring(err.message):match("^[^\n]*")
  local where = path
  local at <const>, rest <const> = message:match(":(%d+): (.*)$")
  if at then
    where, message = path .. ":" .. at, rest
  elseif err.line then
    where = path .. ":" .. err.line
  end
  if message:find("attempt to call a nil value (global", 1, true) or message:find("attempt to index a nil value (global", 1, true) then
    message = message .. "; a data file sees no functions"
  end
  return nil, fault.new(code, message, { where = where })
end

return datafile
