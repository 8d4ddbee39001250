-- SPDX-License-Identifier: MIT
-- Kernels and cases that are none, through the command line: one clear line, the right exit status, files as they were.
local t <const> = require "tests.lib"
local broken <const> = require "tests.kernels.broken"

local NKILN <const> = "build/nkiln"
local HEAD <const> = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n\n\n@nki.jit\ndef k(x):\n"
local GOOD <const> = HEAD .. [[
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]]
local CASE <const> = "x=float32[128,64]"

local function have() return t.read(NKILN) ~= nil end

local function check(bytes, case, more)
  if not have() then t.skip("build/nkiln is not built") end
  local dir <const> = t.tmpdir()
  local path <const> = dir .. "/k.py"
  if bytes then t.write(path, bytes) end
  local status <const>, out <const>, err <const> = t.sh(("%s check %s --case %s %s"):format(NKILN, path, t.quote(case or CASE), more or ""))
  if bytes then t.eq(t.read(path), bytes, "the kernel file was changed") end
  return status, out .. err, path
end

-- text: what the output must hold; exit status; the most lines of output
local function refuses(bytes, case, status, text, lines)
  local got <const>, said <const> = check(bytes, case)
  t.has(said, text)
  t.eq(got, status, said)
  local _, count <const> = said:gsub("\n", "")
  t.ok(count <= (lines or 8), ("%d lines of output:\n%s"):format(count, said))
  t.ok(not said:find("stack traceback", 1, true), said)
  t.ok(not said:find("%.lua:%d"), said)
end

t.test("a good kernel is accepted", function()
  local status <const>, said <const> = check(GOOD)
  t.eq(status, 0, said)
end)

t.test("files that are no kernel", function()
  refuses(nil, nil, 2, "no such file")
  refuses("", nil, 2, "the file is empty")
  refuses("\n \n", nil, 2, "the file is empty")
  refuses("\x7fELF\0\0", nil, 2, "not a text file")
  refuses("x = 'caf\xe9'\n", nil, 2, "not UTF-8")
end)

t.test("a file of 100 MB", function()
  if not have() then t.skip("build/nkiln is not built") end
  local dir <const> = t.tmpdir()
  os.execute("truncate -s 100M " .. dir .. "/k.py")
  local status <const>, out <const>, err <const> = t.sh(("%s check %s/k.py --case '%s'"):format(NKILN, dir, CASE))
  t.eq(status, 2)
  t.has(out .. err, "larger than")
end)

t.test("a folder instead of a file", function()
  if not have() then t.skip("build/nkiln is not built") end
  local status <const>, out <const>, err <const> = t.sh(("%s check /tmp --case '%s'"):format(NKILN, CASE))
  t.eq(status, 2)
  t.has(out .. err, "folder")
end)

t.test("syntax: nesting, unterminated text, half a file", function()
  refuses(HEAD .. "    y = " .. ("("):rep(10000) .. (")"):rep(10000) .. "\n    return x\n", nil, 1, "[syntax]")
  refuses(HEAD .. "    y = " .. ("["):rep(10000) .. "\n", nil, 1, "[syntax]")
  refuses(HEAD .. "    y = 'abc\n    return x\n", nil, 1, "unterminated string literal")
  refuses(HEAD .. '    y = """abc\n    return x\n', nil, 1, "unterminated triple-quoted string literal")
  refuses(HEAD .. "    y = nl.load(x\n", nil, 1, "[syntax]")
  refuses(HEAD .. "return x\n", nil, 1, "[syntax]")
end)

t.test("cases that do not match", function()
  refuses(GOOD, "x=floot32[128,64]", 2, "did you mean `float32`")
  refuses(GOOD, "x=float32[128,64", 2, "`,` or `]` is expected")
  refuses(GOOD, "y=float32[128,64]", 2, "no parameter `y`")
  refuses(GOOD, "", 2, "x")
  refuses(GOOD, "x=@missing.npy", 2, "missing.npy")
  refuses(GOOD, "x=float32[128,64], x=1", 2, "given twice")
end)

t.test("a kernel that never ends", function()
  refuses(HEAD .. "    while True:\n        pass\n    return x\n", nil, 1, "[step-limit]", 12)
  refuses(HEAD .. "    def f(n):\n        return f(n + 1)\n    f(0)\n    return x\n", nil, 1, "error", 160)
end)

t.test("a kernel that allocates without end", function()
  for _, row in ipairs(broken) do
    if row.worker then refuses(broken.text(row), row.case, 1, "[" .. row.code .. "]", 10) end
  end
end)

t.test("a kernel that reaches outside", function()
  refuses(HEAD .. "    import os\n    return x\n", nil, 1, "k.py:8", 12)
  refuses("import os\n" .. HEAD .. "    os.system('touch /tmp/nkiln-was-here')\n    return x\n", nil, 1, "k.py:9", 12)
  refuses(HEAD .. "    open('/etc/passwd')\n    return x\n", nil, 1, "k.py:8", 12)
  refuses(HEAD .. "    ().__class__.__bases__[0].__subclasses__()\n    return x\n", nil, 1, "k.py:8", 40)
  refuses(HEAD .. "    y = getattr(x, '__cla' + 'ss__')\n    return x\n", nil, 1, "k.py:8", 40)
  refuses(HEAD .. "    f = eval\n    f('1')\n    return x\n", nil, 1, "k.py:8", 40)
  refuses(HEAD .. "    f = __builtins__\n    return x\n", nil, 1, "k.py:8", 40)
  t.eq(t.read("/tmp/nkiln-was-here"), nil)
end)
