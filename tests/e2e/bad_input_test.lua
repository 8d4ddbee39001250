-- SPDX-License-Identifier: MIT
-- Bad input: each ends with one clear line (or a diagnostic with its place), the right exit status, and files as they were.
local t <const> = require "tests.lib"
local broken <const> = require "tests.kernels.broken"
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

-- The good kernel with these lines before its last one.
local function with(lines) return (add:gsub("    return out", function() return "    " .. lines .. "\n    return out" end)) end

local function kernel(text)
  local w <const> = nkiln.folder()
  w:write("k.py", text or add)
  return w
end

-- Ends with `status` and one line on stderr that holds `part`; nothing on stdout.
local function one_line(w, words, status, part)
  local got <const>, out <const>, err <const> = w:run(words)
  t.eq(got, status, words .. "\n" .. out .. err)
  t.ok(not err:find("stack traceback", 1, true) and not err:find "prelude/" and not err:find "table: 0x", err)
  t.match(err, "^nkiln: [^\n]*\n$", words)
  t.has(err, part, words)
  t.eq(out, "", words)
  t.ok(#err < 400, "the line is longer than a line: " .. #err)
  local again <const>, value <const> = w:run("--json " .. words)
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
  w:sh [[mkdir folder; : > empty.py; printf '\n \n' > blank.py; printf 'x = "\000\001"' > binary.py; printf 'x = "\377"\n' > latin.py
    truncate -s 100M huge.py; mkfifo pipe.py; ln -s loop.py loop2.py; ln -s loop2.py loop.py]]
  local as_kernel <const>, as_reference <const> = "%s%s" .. case, "%sk.py" .. case .. " --reference %s"
  for command, line in pairs {
    ["check "] = as_kernel, ["sim "] = as_kernel, ["debug "] = as_kernel, ["write "] = as_kernel, [" sim "] = as_reference, [" debug "] = as_reference,
  } do
    for file, part in pairs {
      ["missing.py"] = "missing.py", folder = "folder", ["empty.py"] = "empty", ["blank.py"] = "empty", ["binary.py"] = "binary.py", ["latin.py"] = "UTF-8",
      ["huge.py"] = "huge.py", ["pipe.py"] = "pipe.py", ["loop.py"] = "symbolic links", ["/dev/zero"] = "regular file",
      ["/proc/self/mem"] = "/mem", ["''"] = "file name",
    } do
      if not (file == "''" and line:find("--reference", 1, true)) then one_line(w, line:format(command, file), 2, part) end
    end
  end
  one_line(w, "run missing.lua", 2, "missing.lua")
  one_line(w, "run folder", 2, "folder")
  w:sh "printf '\\177ELF\\002' > elf.lua"
  one_line(w, "run elf.lua", 2, "elf.lua:1")
  one_line(w, "check k.py --task missing.lua", 2, "missing.lua")
  one_line(w, "check k.py --task huge.py", 2, "huge.py")
  one_line(w, "watch missing.py" .. case, 2, "missing.py")
  one_line(w, "watch pipe.py" .. case, 2, "pipe.py")
  t.eq(w:read "k.py", add)
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
  t.ok(not out:find("stack traceback", 1, true) and not out:find "%.lua:%d", out)
  t.eq(w:read "k.py", text, "the kernel file was changed")
  return w
end

t.test("text that is no Python: unterminated, nested ten thousand deep", function()
  diagnosed("def f(:\n", 1)
  diagnosed("x = 1\ny = 'abc\n", 2, "unterminated string literal")
  diagnosed("x = (1,\n", 1)
  diagnosed("def f(x):\nreturn x\n", 2, "[syntax]")
  diagnosed(with "    y = nl.load(a", 15, "[syntax]")
  diagnosed("x = " .. ("("):rep(10000) .. "\n", 1)
  diagnosed("x = " .. ("["):rep(10000) .. ("]"):rep(10000) .. "\n", 1)
  diagnosed('x = """abc\n', 1, "unterminated triple-quoted string literal")
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
  for _, row in ipairs(broken) do
    if row.worker then
      w:write("row.py", broken.text(row))
      status, out, err = w:run("check row.py --case " .. t.quote(row.case))
      t.eq(status, 1, out .. err)
      t.has(out, "[" .. row.code .. "]")
    end
  end
end)

t.test("a kernel's values that no machine holds: one diagnostic at their line", function()
  for lines, code in pairs {
    ["n = 10 ** 100000"] = "integer-overflow", ["s = 'a' * 10 ** 9"] = "memory-limit", ["s = [0] * 10 ** 12"] = "memory-limit",
    ["s = 'x\\t'.expandtabs(10 ** 10)"] = "memory-limit", ["s = 'a'.replace('', 'b' * 10 ** 8)"] = "memory-limit",
    ["s = ('a' * 10 ** 6).replace('a', 'b' * 10 ** 5)"] = "memory-limit", ["s = f'{5:1000000000d}'"] = "python-error",
    ["s = '%d' % 1e300"] = "integer-overflow", ["s = '%c' % -1"] = "python-error", ["s = pow(2, 3, 0)"] = "python-error",
    ["s = 1 << 100000000"] = "integer-overflow", ["x = nl.ndarray((10 ** 9, 10 ** 9), nl.float32, buffer=nl.sbuf)"] = "partition-exceeds-limit",
    ["x = nl.ndarray((100, 2 ** 62), nl.float32, buffer=nl.sbuf)"] = "sbuf-capacity",
    ["x = nl.ndarray((8, 2 ** 62), nl.float32, buffer=nl.hbm)"] = "memory-limit",
    ["x = nl.ndarray((128, -5), nl.float32, buffer=nl.sbuf)"] = "value-type", ["x = nl.ndarray((128, 0), nl.float32, buffer=nl.sbuf)"] = "value-type",
    ["x = nl.ndarray((128, 1.5), nl.float32, buffer=nl.sbuf)"] = "value-type", ["l = []; l.append(l); m = [l]; m[0] = m; z = l == m"] = "python-error",
    ["f = lambda g: g(g); f(f)"] = "python-error", ["class A:\n        def __repr__(self): return repr(self)\n    print(A())"] = "python-error",
  } do
    local w <const> = kernel(with(lines))
    local status <const>, out <const>, err <const> = w:run("check k.py" .. case)
    t.eq(status, 1, lines .. "\n" .. out .. err)
    t.has(out, "[" .. code .. "]", lines)
    t.match(out, "^k%.py:1[56]:", lines)
    t.ok(not out:find("[internal]", 1, true), out)
  end
end)

t.test("a kernel may not reach the outside", function()
  -- Harness code may import what it likes; the kernel may not use it.
  diagnosed("import os\n" .. add:gsub("    return out", "    os.system('true')\n    return out"), 16)
  diagnosed((add:gsub("    return out", "    from subprocess import run\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    open('/etc/passwd')\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    __import__('os')\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    eval('1')\n    return out")), 15)
  diagnosed((add:gsub("    return out", "    x = (1).__class__.__mro__\n    return out")), 15)
  diagnosed(with "().__class__.__bases__[0].__subclasses__()", 15)
  diagnosed(with "y = getattr(a, '__cla' + 'ss__')", 15)
  diagnosed(with "f = eval\n    f('1')", 15)
  diagnosed(with "f = __builtins__", 15)
  diagnosed(with "f = '{0.__class__}'.format(a)", 15)
  diagnosed(with "f = f'{a.__class__}'", 15)
end)

t.test("a case that does not fit the signature, or is no case", function()
  local w <const> = kernel()
  for text, part in pairs {
    ["a=f32[64,32]"] = "b", ["a=f32[64,32], b=f32[64,32], c=f32[1]"] = "c", ["a=float31[2]"] = "float31", ["a=f32[64"] = "64", ["a=f32[-1,2], b=f32[1]"] = "-1",
    ["=f32[1]"] = "", [""] = "b", ["a=f32[64,32], a=f32[1]"] = "given twice", ["y=f32[1]"] = "no parameter `y`", ["a=floot32[2]"] = "did you mean `float32`",
    ["a=f32[0x40,2]"] = "`0x40`", ["a=f32[99999999999999999999,2]"] = "larger than", ["a=f32[0]"] = "at least 1", ["a=int64[2]"] = "no 64-bit integers",
    ["a=@k.py, b=f32[64,32]"] = "npy", ["a=@., b=f32[64,32]"] = "folder", ["a=@/dev/zero, b=f32[64,32]"] = "regular file", ["a=\27[31m"] = "\\x1b",
    ["a=@nope.npy, b=f32[64,32]"] = "nope.npy", ["a=f32[99999999,99999999], b=f32[64,32]"] = "a",
  } do
    local status <const>, out <const>, err <const> = w:run("sim k.py --case '" .. text .. "'")
    t.eq(status, 2, text .. "\n" .. out .. err)
    t.match(err, "^nkiln: [^\n]*\n$", text)
    t.has(err, part)
  end
  one_line(w, "check k.py --case 'a=f32[64,32], b=f32[64,32]' --entry nope", 2, "nope")
  one_line(w, "check k.py --nki-version 9.9", 2, "9.9")
  one_line(w, "check k.py" .. case .. " --budget second=5", 2, "did you mean seconds?")
  one_line(w, "check k.py" .. case .. " --budget seconds=0", 4, "seconds of check is spent")
  one_line(w, "sim k.py" .. case .. " --budget seconds=0", 4, "seconds of sim is spent")
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
  for body, part in pairs {
    ["return np.zeros((10 ** 6, 10 ** 6))"] = "8000000000000 bytes", ["return np.full((2 ** 40, 2 ** 40), 1.0)"] = "more than it may use",
    ["return np.broadcast_to(a, (10 ** 9, 64, 32)).sum(0)"] = "more elements", ["return np.concatenate([a] * 10 ** 6)"] = "memory",
    ["return f(a, b)"] = "recursion", ["return 'x'"] = "returned str", ["return {'x': a}"] = "returned dict", ["yield a"] = "returned iterator",
    ["return a @ b"] = "inner dimensions", ["return a[100]"] = "out of bounds", ["return eval('a')"] = "eval", ["open('x')"] = "open",
    ["return a.__class__"] = "__class__", ["raise ValueError('\\x1b[2J')"] = "\\x1b[2J",
  } do
    status, out, err = reference("import numpy as np\ndef f(a, b):\n    " .. body .. "\n")
    t.eq({ status, out }, { 2, "" }, body .. "\n" .. err)
    t.match(err, "^nkiln: [^\n]*ref%.py:[23][^\n]*\n$", body)
    t.has(err, part)
    t.ok(not err:find "prelude/", err)
  end
  status, out, err = reference "def f(a):\n    return a\n"
  t.eq(status, 2, out .. err)
  t.has(err, "takes 1 positional argument but 2 were given: ref.py:1")
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

-- With a small limit, so that the end comes soon. The place is the line that asks for more, not the kernel's head.
t.test("what grows without end is named where it grows: tensors, instructions, lists, contents", function()
  local tile <const> = "nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf)"
  for command, loops in pairs {
    check = { "while True: kept.append(" .. tile .. ")", "while True: nisa.memset(dst=tile, value=1.0)", "while True: kept.append([1, 2, 3])" },
    sim = { "for i in range(64): nisa.memset(dst=kept.append(" .. tile .. ") or kept[-1], value=0.0)" },
  } do
    for _, loop in ipairs(loops) do
      local w <const> = kernel(with("kept, tile = [], " .. tile .. "\n    " .. loop))
      local status <const>, out <const>, err <const> = w:sh(("NKILN_WORKER_MEMORY_MB=96 timeout -s KILL 120 %s %s k.py%s"):format(nkiln.quoted, command, case))
      t.eq(status, 1, out .. err)
      t.has(out .. err, "[memory-limit]", loop)
      t.has(out .. err, "k.py:16:", loop)
    end
  end
end)

t.test("a ledger that is damaged, empty or a link: one line, the right status, nothing written elsewhere", function()
  local w <const> = kernel((add:gsub("dst=x, data1", "data1")))
  t.eq((w:run("debug k.py" .. case)), 0)
  w:sh "cp -r .nkiln kept; mkdir outside"
  local commands <const> = { "ledger", "explain last", "restore", "resume", "debug k.py" .. case }
  w:sh "head -c 5000 /dev/urandom > .nkiln/ledger.db"
  for _, words in ipairs(commands) do one_line(w, words, 2, "ledger.db cannot be read: ") end
  w:sh "truncate -s 1000 kept/ledger.db; cp kept/ledger.db .nkiln/ledger.db"
  for _, words in ipairs(commands) do one_line(w, words, 2, "move it away") end
  w:sh ": > .nkiln/ledger.db"
  for _, words in ipairs { "explain last", "restore", "resume" } do one_line(w, words, 2, "nothing has been recorded") end
  w:sh "rm -r .nkiln; ln -s outside .nkiln"
  for _, words in ipairs { "restore", "resume", "debug k.py" .. case } do one_line(w, words, 5, "is a link") end
  t.eq(select(2, w:sh "ls -A outside"), "")
end)

t.test("restore writes through no link that was not there before", function()
  local w <const> = kernel((add:gsub("dst=x, data1", "data1")))
  t.eq((w:run("debug k.py" .. case)), 0)
  w:write("victim", "private")
  w:sh "rm k.py; ln -s victim k.py"
  local status <const>, out <const> = w:run "restore"
  t.eq(status, 1)
  t.has(out, "nothing was written")
  t.eq(w:read "victim", "private")
end)

t.test("write: what fails in a reference is told with its line; a decision by the data is a refusal with its expression", function()
  local w <const> = nkiln.folder()
  w:write("ref.py", table.concat({ "import numpy as np", "def shapes(x, w):", "    return x * 2 + w", "def name(x):", "    return np.exp(y)",
    "def raises(x):", "    raise ValueError('no')", "def branch(x):", "    if x[0, 0] > 0:", "        return x", "    return -x",
    "def item(x):", "    return x * float(x.max())", "" }, "\n"))
  w:write("syntax.py", "def f(x):\n    return (x\n")
  one_line(w, "write ref.py:shapes --case 'x=f32[6,5], w=f32[4]' -o k.py", 2, "ref.py:3")
  one_line(w, "write ref.py:name --case 'x=f32[6,5]' -o k.py", 2, "ref.py:5")
  one_line(w, "write ref.py:raises --case 'x=f32[6,5]' -o k.py", 2, "ref.py:7")
  one_line(w, "write syntax.py --case 'x=f32[6,5]' -o k.py", 2, "syntax.py:2")
  for fn, expression in pairs { branch = "x[0, 0] > 0", item = "float(x.max())" } do
    local status <const>, out <const>, err <const> = w:run(("write ref.py:%s --case 'x=f32[6,5]' -o k.py"):format(fn))
    t.eq({ status, err }, { 1, "" })
    t.has(out, "REFUSED")
    t.match(out, "ref%.py:%d+\n")
    t.has(out, "the expression is: " .. expression .. "\n")
  end
  t.eq(select(2, w:sh "ls"), "ref.py\nsyntax.py\n")
end)

t.test("sim: where one case does not run, it is said that none was judged; a case that is missing is suggested with its numbers", function()
  local w <const> = kernel(add:gsub("def add%(a, b%)", "def add(a, b, scale)"):gsub("    return out", "    assert a.shape[0] != 32\n    return out"))
  w:write("ref.py", "def add(a, b, scale):\n    return a + b\n")
  local good <const>, bad <const> = " --case 'a=f32[64,32], b=f32[64,32], scale=1.0'", " --case 'a=f32[32,32], b=f32[32,32], scale=1.0'"
  local status <const>, out <const> = w:run("sim k.py -r ref.py" .. good .. bad)
  t.eq(status, 1)
  t.has(out, "no case was judged against the reference")
  local right <const>, text <const> = w:run("sim k.py -r ref.py" .. good)
  t.eq(right, 0, text)
  t.ok(not text:find("no case was judged", 1, true))
  one_line(w, "check k.py", 2, '--case "a=float32[128,512], b=float32[128,512], scale=0.5"')
end)
