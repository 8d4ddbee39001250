-- SPDX-License-Identifier: MIT
-- CPython as the parser's oracle: finds an interpreter, runs dump_ast.py once over many inputs, reads its records.

local dumper <const> = require "tests.oracle.dump_ast"

local oracle <const> = {}

local function run(command)
  local pipe <const> = io.popen(command .. " 2>/dev/null")
  if not pipe then return nil end
  local out <const> = pipe:read("a")
  return pipe:close() and out or nil
end

-- The first of `names` that runs as Python `minor_wanted` (11 = 3.11): { command=, version=, library= }, or nil.
function oracle.find(names, minor_wanted)
  local probe <const> = [[-c "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_paths()['stdlib'])"]]
  for _, name in ipairs(names) do
    local out <const> = run(name .. " " .. probe)
    local minor <const>, library <const> = (out or ""):match("^(%d+) ([^\n]+)")
    if tonumber(minor) == minor_wanted then return { command = name, minor = minor_wanted, library = library } end
  end
  return nil
end

function oracle.files(folder)
  local names <const> = {}
  for name in (run("find '" .. folder .. "' -name '*.py' -type f | LC_ALL=C sort") or ""):gmatch("[^\n]+") do
    names[#names + 1] = name
  end
  return names
end

local function write(path, text)
  local file <const> = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- Iterate over the records of one run: name, { ok=, dump=, line=, message= }.
local function records(command)
  local pipe <const> = assert(io.popen(command))
  return function()
    local name <const> = pipe:read("l")
    if not name then
      pipe:close()
      return nil
    end
    local result <const> = pipe:read("l")
    if result:sub(1, 3) == "ok " then return name:sub(3), { ok = true, dump = result:sub(4) } end
    local line <const>, message <const> = result:match("^error (%d+) (.*)$")
    return name:sub(3), { ok = false, line = tonumber(line), message = message }
  end
end

-- Records for files, whose names go through a file in `folder`.
function oracle.over_files(python, names, folder)
  write(folder .. "/names", table.concat(names, "\n") .. "\n")
  return records(("%s tests/oracle/dump_ast.py <%s/names"):format(python.command, folder))
end

-- Records for source texts; the record's name is their number from 0. `options` go to dump_ast.py.
function oracle.over_snippets(python, snippets, folder, options)
  write(folder .. "/snippets", table.concat(snippets, "\n\fEND\n") .. "\n\fEND\n")
  return records(("%s tests/oracle/dump_ast.py --compile %s --snippets %s/snippets"):format(python.command, options or "", folder))
end

-- How a parse differs from CPython's record, or nil when it does not. `messages`: compare these, too.
function oracle.difference(tree, err, record, fstring_positions, messages)
  if record.ok then
    if not tree then return ("rejected: line %d: %s"):format(err.line or 0, err.message) end
    local got <const>, want <const> = dumper.dump(tree, fstring_positions), record.dump
    if got == want then return nil end
    local at = 1
    while got:byte(at) == want:byte(at) do at = at + 1 end
    local from <const> = math.max(1, at - 100)
    return ("tree differs:\n  got  ...%s\n  want ...%s"):format(got:sub(from, at + 60), want:sub(from, at + 60))
  end
  if tree then return ("accepted; CPython says line %d: %s"):format(record.line, record.message) end
  if err.line ~= record.line then
    return ("line %d (%s), want %d (%s)"):format(err.line, err.message, record.line, record.message)
  end
  local message <const> = err.etype .. " " .. err.message
  if messages and message ~= record.message then return ("%s, want %s"):format(message, record.message) end
  return nil
end

return oracle
