-- SPDX-License-Identifier: MIT
-- Bad input: each ends with one clear line (or a diagnostic with its place), the right exit status, and files as they were.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local add <const> = [[
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    nisa.dma_copy(dst=y, src=b)
    nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)
    nisa.dma_copy(dst=out, src=x)
    return out
]]
local case <const> = " --case 'a=f32[64,32], b=f32[64,32]'"

local function kernel(text)
  local w <const> = nkiln.folder()
  w:write("k.py", text or add)
  return w
end

-- Ends with `status` and one line on stderr that holds `part`; nothing on stdout.
local function one_line(w, words, status, part)
  local got <const>, out <const>, err <const> = w:run(words)
  t.eq(got, status, words .. "\n" .. out .. err)
  t.match(err, "^nkiln: [^\n]*\n$", words)
  t.has(err, part, words)
  t.eq(out, "", words)
  t.ok(#err < 400, "the line is longer than a line: " .. #err)
  local again <const>, value <const> = w:run(words .. " --json")
  t.eq(again, status, "--json")
  t.eq(json.decode(value).ok, false)
  t.ok(type(json.decode(value).error.message) == "string")
end

t.test("the kernel used here is a good one", function()
  local w <const> = kernel()
  local status <const>, out <const>, err <const> = w:run("sim k.py" .. case)
  t.eq(status, 0, out .. err)
end)

t.test("files that are no kernels: missing, a folder, empty, binary, not UTF-8, 100 MB", function()
  local w <const> = kernel()
  w:sh [[mkdir folder; : > empty.py; printf 'x = "\000\001"' > binary.py; printf 'x = "\377"\n' > latin.py; truncate -s 100M huge.py; mkfifo pipe.py
    printf 'a' > denied.py; chmod 000 denied.py]]
  for _, command in ipairs { "check ", "sim " } do
    one_line(w, command .. "missing.py" .. case, 2, "missing.py")
    one_line(w, command .. "folder" .. case, 2, "folder")
    one_line(w, command .. "empty.py" .. case, 2, "empty")
    one_line(w, command .. "binary.py" .. case, 2, "binary.py")
    one_line(w, command .. "latin.py" .. case, 2, "UTF-8")
    one_line(w, command .. "huge.py" .. case, 2, "huge.py")
    one_line(w, command .. "pipe.py" .. case, 2, "pipe.py")
  end
end)

-- The kernel is wrong: exit 1, a diagnostic with the line, and the same as data.
local function diagnosed(text, line, part, words)
  local w <const> = kernel(text)
  local status <const>, out <const>, err <const> = w:run((words or "check k.py") .. case)
  t.eq(status, 1, out .. err)
  t.has(out, "k.py:" .. line)
  if part then t.has(out, part) end
  local _, value <const> = w:run((words or "check k.py") .. case .. " --json")
  local data <const> = json.decode(value)
  t.eq(data.ok, false)
  t.eq(data.diagnostics[1].line, line)
  return w
end

t.test("text that is no Python: unterminated, nested ten thousand deep", function()
  diagnosed("def f(:\n", 1)
  diagnosed("x = 1\ny = 'abc\n", 2)
  diagnosed("x = (1,\n", 1)
  diagnosed("x = " .. ("("):rep(10000) .. "\n", 1)
  diagnosed("x = " .. ("["):rep(10000) .. ("]"):rep(10000) .. "\n", 1)
  diagnosed('x = """abc\n', 1)
end)

t.test("a kernel that never ends, or eats memory", function()
  local loop <const> = add:gsub("    nisa.dma_copy%(dst=out", "    n = 0\n    while True:\n        n = n + 1\n    nisa.dma_copy(dst=out")
  local w <const> = kernel(loop)
  local status, out, err = w:sh("timeout 100 " .. nkiln.quoted .. " check k.py" .. case .. " --budget seconds=60")
  t.eq(status, 1, out .. err)
  t.has(out .. err, "k.py:15")
  w:write("k.py", (add:gsub("    return out", "    s = [0]\n    while True:\n        s = s + s\n    return out")))
  status, out, err = w:sh("NKILN_WORKER_MEMORY_MB=200 timeout 100 " .. nkiln.quoted .. " check k.py" .. case)
  t.eq(status, 1, out .. err)
  t.match(out .. err, "memory")
end)

t.test("a kernel may not reach the outside", function()
  -- Harness code may import what it likes; the kernel may not use it.
  diagnosed("import os\n" .. add:gsub("    return out", "    os.system('true')\n    return out"), 16)
  diagnosed((add:gsub("    return out", "    from subprocess import run\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    open('/etc/passwd')\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    __import__('os')\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    eval('1')\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    x = (1).__class__.__mro__\n    return out")), 15)
end)

t.test("a case that does not fit the signature, or is no case", function()
  local w <const> = kernel()
  for text, part in pairs {
    ["a=f32[64,32]"] = "b", ["a=f32[64,32], b=f32[64,32], c=f32[1]"] = "c", ["a=float31[2]"] = "float31", ["a=f32[64"] = "64", ["a=f32[-1,2], b=f32[1]"] = "-1",
    ["=f32[1]"] = "", ["a=@nope.npy, b=f32[64,32]"] = "nope.npy", ["a=f32[99999999,99999999], b=f32[64,32]"] = "a",
  } do
    local status <const>, out <const>, err <const> = w:run("sim k.py --case '" .. text .. "'")
    t.eq(status, 2, text .. "\n" .. out .. err)
    t.match(err, "^nkiln: [^\n]*\n$", text)
    t.has(err, part)
  end
  one_line(w, "check k.py --case 'a=f32[64,32], b=f32[64,32]' --entry nope", 2, "nope")
  one_line(w, "check k.py --nki-version 9.9", 2, "9.9")
  one_line(w, "check k.py --target trn9", 2, "trn9")
end)

t.test("references: missing, broken, endless, wrong shape", function()
  local w <const> = kernel()
  one_line(w, "sim k.py" .. case .. " --reference nope.py", 2, "nope.py")
  local function reference(text)
    w:write("ref.py", text)
    return w:run("sim k.py" .. case .. " --reference ref.py")
  end
  local status, out, err = reference "def f(a, b:\n"
  t.eq(status, 2, out .. err)
  t.has(err, "ref.py:1")
  status, out, err = reference "def f(a, b):\n    while True:\n        pass\n"
  t.eq(status, 2, out .. err)
  t.has(out .. err, "ref.py:2")
  status, out, err = reference "def f(a, b):\n    return a\n\ndef g(a, b):\n    return b\n"
  t.eq(status, 2, out .. err)
  status, out, err = reference "def f(a, b):\n    return (a + b)[0]\n"
  t.ok(status == 1 or status == 2, out .. err)
end)

t.test("an output folder that cannot be written", function()
  local w <const> = kernel()
  w:write("file", "x")
  one_line(w, "sim k.py" .. case .. " --out file", 2, "file")
  one_line(w, "sim k.py" .. case .. " --out file/below", 2, "file/below")
  one_line(w, "sim k.py" .. case .. " --out /proc/nkiln", 2, "/proc/nkiln")
  t.eq(w:read "file", "x")
  if (w:sh "test -w /dev/full && test -d /dev/shm") ~= 0 then return end
  local full <const> = w:sh "mkdir full && mount -t tmpfs -o size=4k none full 2>/dev/null"
  if full == 0 then
    one_line(w, "sim k.py" .. case .. " --out full", 2, "space")
    local _, left <const> = w:sh "ls -A full; umount full"
    t.eq(left, "", "a piece of a file is left")
  end
end)

t.test("a killed run leaves whole files or none", function()
  local w <const> = kernel()
  w:sh(("for i in 0.02 0.05 0.08 0.1 0.12; do %s sim k.py%s --out out >/dev/null 2>&1 & p=$!; sleep $i; kill -9 $p; wait $p; done"):format(nkiln.quoted, case))
  local _, names <const> = w:sh "ls -A out 2>/dev/null"
  for name in names:gmatch("[^\n]+") do
    t.match(name, "%.npy$")
    t.eq(select(2, w:sh("head -c 6 out/" .. name .. " | od -An -c")):gsub("%s+", ""), "223NUMPY", name)
  end
  local status <const>, out <const>, err <const> = w:run("sim k.py" .. case .. " --out out")
  t.eq(status, 0, out .. err)
end)

t.test("two runs at once into one folder", function()
  local w <const> = kernel()
  local one <const> = nkiln.quoted .. " sim k.py" .. case .. " --out out"
  local status <const>, out <const>, err <const> = w:sh(("%s >a.log 2>&1 & p=$!; %s >b.log 2>&1 || exit 7; wait $p"):format(one, one))
  t.eq(status, 0, out .. err .. (w:read "a.log" or "") .. (w:read "b.log" or ""))
  local _, names <const> = w:sh "ls -A out"
  t.eq(names, "in_a.npy\nin_b.npy\nout.npy\n")
end)

t.test("Ctrl-C while a simulation runs: 130 within a moment, no worker left", function()
  local w <const> = kernel((add:gsub("    nisa.tensor_tensor", "    for i in range(4000):\n      for j in range(4000):\n        nisa.tensor_tensor")))
  local status, _, err = w:sh(("%s sim k.py%s & p=$!; sleep 0.6; kill -INT $p; wait $p; s=$?; pgrep -P $p; exit $s"):format(nkiln.quoted, case))
  t.eq(status, 130)
  t.eq(err, "nkiln: interrupted\n")
end)
