-- SPDX-License-Identifier: MIT
-- The test library: named tests, a few comparisons, a temporary folder per test, and a check that a test leaves no
-- open descriptor and no child behind.

local lib <const> = { passed = 0, failed = 0, skipped = 0, failures = {} }

local function show(value, depth)
  depth = depth or 0
  if type(value) == "string" then return string.format("%q", value) end
  if type(value) ~= "table" or depth > 4 then return tostring(value) end
  local parts <const> = {}
  for i, v in ipairs(value) do parts[i] = show(v, depth + 1) end
  local keys <const> = {}
  for k in pairs(value) do
    if not (math.type(k) == "integer" and k >= 1 and k <= #parts) then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, k in ipairs(keys) do parts[#parts + 1] = tostring(k) .. "=" .. show(value[k], depth + 1) end
  return "{" .. table.concat(parts, ", ") .. "}"
end
lib.show = show

local function same(a, b)
  if a == b then return math.type(a) == math.type(b) end
  if a ~= a and b ~= b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  for k, v in pairs(a) do
    if not same(v, b[k]) then return false end
  end
  for k in pairs(b) do
    if a[k] == nil then return false end
  end
  return true
end

local function fail(message, level) error({ test_failure = true, message = message }, (level or 1) + 1) end

function lib.ok(value, message)
  if not value then fail(message or "expected a true value, got " .. show(value), 2) end
  return value
end

function lib.eq(got, want, message)
  if not same(got, want) then
    fail((message and message .. ": " or "") .. "got " .. show(got) .. ", want " .. show(want), 2)
  end
end

function lib.match(text, pattern, message)
  if type(text) ~= "string" or not text:find(pattern) then
    fail((message and message .. ": " or "") .. show(text) .. " does not match " .. show(pattern), 2)
  end
end

function lib.has(text, part, message)
  if type(text) ~= "string" or not text:find(part, 1, true) then
    fail((message and message .. ": " or "") .. show(text) .. " does not contain " .. show(part), 2)
  end
end

function lib.raises(fn, pattern)
  local ok <const>, err <const> = pcall(fn)
  if ok then fail("expected an error, none was raised", 2) end
  local text <const> = type(err) == "table" and (err.message or show(err)) or tostring(err)
  if pattern and not text:find(pattern) then fail("error " .. show(text) .. " does not match " .. show(pattern), 2) end
  return err
end

-- Counted from inside: a child that counts may run before its parent has closed its half of their pipe.
local function open_descriptors()
  local ok <const>, fs <const> = pcall(require, "rt.fs")
  local names <const> = ok and fs.list("/proc/self/fd")
  return names and #names
end

-- Run a command line through sh; returns exit status, stdout, stderr. Input, if given, is fed on stdin.
function lib.sh(command, input)
  local base <const> = os.tmpname()
  local in_path <const>, err_path <const> = base .. ".in", base .. ".err"
  local file <const> = assert(io.open(in_path, "wb"))
  file:write(input or "")
  file:close()
  local pipe <const> = assert(io.popen("{ " .. command .. "\n} <" .. in_path .. " 2>" .. err_path, "r"))
  local out <const> = pipe:read("a")
  local _, how <const>, code <const> = pipe:close()
  local err_file <const> = io.open(err_path, "rb")
  local err <const> = err_file and err_file:read("a") or ""
  if err_file then err_file:close() end
  os.remove(base)
  os.remove(in_path)
  os.remove(err_path)
  return how == "signal" and 128 + code or code, out, err
end

function lib.quote(text) return "'" .. tostring(text):gsub("'", "'\\''") .. "'" end

-- A fresh folder, removed after the test.
function lib.tmpdir()
  local pipe <const> = assert(io.popen("mktemp -d"))
  local dir <const> = pipe:read("l")
  pipe:close()
  lib.cleanup[#lib.cleanup + 1] = dir
  return dir
end

function lib.write(path, text)
  local file <const> = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

function lib.read(path)
  local file <const> = io.open(path, "rb")
  if not file then return nil end
  local text <const> = file:read("a")
  file:close()
  return text
end

lib.cleanup = {}
lib.filter = nil -- plain substring a test's full name must contain

function lib.skip(reason) error({ test_skip = true, message = reason }, 2) end

function lib.test(name, fn)
  local full <const> = (lib.file and lib.file .. ": " or "") .. name
  if lib.filter and not full:find(lib.filter, 1, true) then return end
  collectgarbage()
  local before <const> = open_descriptors()
  local ok, err = xpcall(fn, function(e)
    if type(e) == "table" and (e.test_failure or e.test_skip) then
      e.trace = debug.traceback("", 2):match("tests/[^\n]*_test%.lua:%d+") or ""
      return e
    end
    return { message = debug.traceback(type(e) == "table" and show(e) or tostring(e), 2), trace = "" }
  end)
  for i = #lib.cleanup, 1, -1 do os.execute("rm -rf -- " .. lib.quote(table.remove(lib.cleanup, i))) end
  if not ok and err.test_skip then
    lib.skipped = lib.skipped + 1
    print("skip  " .. full .. ": " .. tostring(err.message))
    return
  end
  if ok then
    collectgarbage()
    collectgarbage()
    local after <const> = open_descriptors()
    if before and after and after > before then
      ok, err = false, { message = ("%d descriptors left open"):format(after - before), trace = "" }
    end
  end
  if ok then
    lib.passed = lib.passed + 1
    if lib.verbose then print("ok    " .. full) end
  else
    lib.failed = lib.failed + 1
    lib.failures[#lib.failures + 1] = full
    print("FAIL  " .. full .. "\n      " .. tostring(err.message) .. " " .. (err.trace or ""))
  end
end

return lib
