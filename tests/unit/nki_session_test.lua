-- SPDX-License-Identifier: MIT
-- One run of one kernel: arguments of every kind, outputs, files, imports, modes, and what is refused before it runs.
local t <const> = require "tests.lib"
local array <const> = require "rt.array"
local case <const> = require "nki.case"
local check <const> = require "nki.check"
local session <const> = require "nki.session"

local HEAD <const> = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"

local function run(text, case_text, options)
  local request <const> = { path = "k.py", source = HEAD .. text, case = assert(case.parse(case_text or "x=float32[128,8]")), execute = true }
  for key, value in pairs(options or {}) do request[key] = value end
  return session.run(request)
end

local function at(path, roots)
  return session.run { path = path, case = assert(case.parse("x=float32[128,8]")), execute = true, roots = roots }
end

local function why(result)
  local lines <const> = {}
  for _, d in ipairs(result.diagnostics) do lines[#lines + 1] = d.code .. ": " .. d.message end
  return table.concat(lines, "\n")
end

local COPY <const> = [[
@nki.jit
def k(x):
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]]

t.test("data goes in and comes out", function()
  local x <const> = array.random { dtype = "float32", shape = { 128, 8 }, seed = 3, dist = "normal" }
  local result <const> = run(COPY, nil, { inputs = { x = x } })
  t.ok(result.ok, why(result))
  t.eq(#result.outputs, 1)
  t.eq(result.outputs[1].name, "out")
  t.eq(result.outputs[1].array:totable(), x:totable())
  t.eq(result.inputs.x:totable(), x:totable())
  t.ok(result.stats.instructions >= 2)
  t.ok(result.record)
end)

t.test("the same seed draws the same inputs, another seed others", function()
  local a <const>, b <const>, c <const> = run(COPY, nil, { seed = 5 }), run(COPY, nil, { seed = 5 }), run(COPY, nil, { seed = 6 })
  t.eq(a.outputs[1].array:hash(), b.outputs[1].array:hash())
  t.ok(a.outputs[1].array:hash() ~= c.outputs[1].array:hash())
end)

t.test("shape-only runs make no arrays", function()
  local result <const> = run(COPY, "x=float32[128,4096]", { execute = false })
  t.ok(result.ok, why(result))
  t.eq(result.outputs[1].array, nil)
end)

t.test("a tile lives as long as anything leads to it, and its memory is used again after that", function()
  local text <const> = [==[
W = 4096

def make(value):
    t = nl.ndarray((128, W), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=t, value=value)
    return t

class Holder(nl.NKIObject):
    def __init__(self, tile):
        self.tile = tile

@nki.jit
def k(x):
    t = make(1.0)
    view = t[:, 5:6].reshape((128, 1, 1))
    t = make(2.0)
    def closed():
        return t
    pair = (make(3.0)[:, 0:1], 0)
    table = {"a": [make(4.0)[0:128, 7:8]]}
    holder = Holder(make(5.0))
    several = [make(6.0)[:, c:c + 1] for c in range(1, 2)]
    part = nl.ndarray((128, W), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=part[:, 0:8], value=7.0)
    for i in range(60):
        junk = nl.ndarray((128, W), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=junk, value=-1.0)
    found = [view, closed()[:, 0:1], pair[0], table["a"][0], holder.tile[:, 9:10], several[0], part[:, 3:4]]
    r = nl.ndarray((128, 7), dtype=nl.float32, buffer=nl.sbuf)
    for i in range(7):
        nisa.tensor_copy(dst=r[:, i:i + 1], src=found[i])
    out = nl.ndarray((128, 7), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=r)
    return out
]==]
  for _, mode in ipairs { "chip", "exact" } do
    collectgarbage()
    local before <const> = array.memory()
    local result <const> = run(text, nil, { mode = mode })
    t.ok(result.ok, why(result))
    local got <const> = result.outputs[1].array
    for column = 0, 6 do
      t.eq({ got:get(0, column), got:get(127, column) }, { column + 1.0, column + 1.0 }, mode .. " column " .. column)
    end
    local tile <const> = 128 * 4096 * (mode == "chip" and 4 or 8)
    t.ok(array.memory() - before < 50 * tile, "tiles that nothing leads to are still held")
  end
end)

t.test("what a used block held before is never read: poison is the same in every block", function()
  -- In every round the tile's second half is never written; rows of it show what the machine put there.
  local text <const> = [[
@nki.jit
def k(x):
    out = nl.ndarray((40, 128, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(40):
        junk = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=junk, value=3.0)
        t = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=t[:, 0:1], value=1.0)
        nisa.dma_copy(dst=out[i], src=t[:, 0:2])
    return out
]]
  local clean <const> = run(text)
  t.eq({ clean.ok, clean.diagnostics[1].code }, { false, "uninitialized-read" })
  for poison, want in ipairs { 0 / 0, -11000.0 } do
    local result <const> = run(text, nil, { uninitialized = "warning", poison = poison })
    t.ok(result.ok, why(result))
    local a <const> = result.outputs[1].array
    for i = 0, 39 do
      local value <const> = a:get(i, 127, 1)
      t.ok(value == want or value ~= value and want ~= want, ("round %d holds %s"):format(i, value))
      t.eq(a:get(i, 127, 0), 1.0)
    end
  end
end)

t.test("matmuls gathered for one product: whatever happens to operands and tile between them, sums are right", function()
  local text <const> = [[
@nki.jit
def k(x):
    out = nl.ndarray((9, 128, 256), dtype=nl.float32, buffer=nl.shared_hbm)

    def load(i):
        tile = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, i % 8 * 128:i % 8 * 128 + 128])
        return tile

    def fresh():
        return nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.psum)

    def keep(i, acc):
        s = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=s, src=acc)
        nisa.dma_copy(dst=out[i], src=s)

    def both(acc, i, j, **options):
        nisa.nc_matmul(dst=acc[:, 0:128], stationary=load(i), moving=load(j), **options)
        nisa.nc_matmul(dst=acc[:, 128:256], stationary=load(j), moving=load(i), **options)

    # longer than a panel, one half after the other
    acc = fresh()
    for i in range(7):
        nisa.nc_matmul(dst=acc[:, 0:128], stationary=load(i), moving=load(i + 1))
    for i in range(7):
        nisa.nc_matmul(dst=acc[:, 128:256], stationary=load(i + 1), moving=load(i))
    keep(0, acc)
    # halves in turn
    acc = fresh()
    for i in range(5):
        both(acc, i, i + 2)
    keep(1, acc)
    # operands written again as soon as they were used
    acc, a, b = fresh(), load(0), load(1)
    for i in range(5):
        nisa.nc_matmul(dst=acc[:, 0:128], stationary=a, moving=b)
        nisa.dma_copy(dst=a, src=x[:, i * 128:i * 128 + 128])
        nisa.memset(dst=b[:, 0:64], value=1.0)
    nisa.nc_matmul(dst=acc[:, 128:256], stationary=a, moving=b)
    keep(2, acc)
    # looked at between two steps, as a whole and in part
    acc = fresh()
    for i in range(3):
        both(acc, i, i)
        if i == 1:
            keep(3, acc)
    half = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=half, src=acc[:, 64:192])
    both(acc, 4, 5)
    keep(4, acc)
    nisa.dma_copy(dst=out[5, :, 0:128], src=half)
    nisa.dma_copy(dst=out[5, :, 128:256], src=half)
    # started afresh in the middle; the same tile for both operands; rows of different depth
    acc = fresh()
    both(acc, 1, 2)
    both(acc, 3, 4, accumulate=False)
    nisa.nc_matmul(dst=acc[:, 128:256], stationary=load(2), moving=load(3))
    nisa.nc_matmul(dst=acc[:, 128:256], stationary=load(0), moving=load(3), accumulate=False)
    one = load(5)
    nisa.nc_matmul(dst=acc[:, 0:128], stationary=one, moving=one)
    short = load(6)
    nisa.nc_matmul(dst=acc[:, 128:256], stationary=short[0:32, :], moving=load(7)[0:32, :])
    keep(6, acc)
    # tiles that nobody looks at, and one in their place
    for i in range(40):
        acc = fresh()
        both(acc, i, i + 3)
    keep(7, acc)
    # overwritten by another engine, then read
    nisa.memset(dst=acc, value=2.0)
    keep(8, acc)
    return out
]]
  local x <const> = array.random { dtype = "bfloat16", shape = { 128, 1024 }, seed = 11, dist = "integers", low = -3, high = 3 }
  local options <const> = { inputs = { x = x }, mode = "chip" }
  local chip <const> = run(text, "x=bf16[128,1024]", options)
  t.ok(chip.ok, why(chip))
  options.mode = "exact"
  local exact <const> = run(text, "x=bf16[128,1024]", options)
  t.ok(exact.ok, why(exact))
  local got <const>, want <const> = chip.outputs[1].array:cast("float64"), exact.outputs[1].array
  for i = 0, 8 do -- products and sums of small integers are exact in float32 too
    t.ok(array.bits_equal(got:select(0, i):copy(), want:select(0, i):copy()), "part " .. i)
    t.ok(array.reduce("abs_max", want:select(0, i)):item() > 1, "part " .. i .. " shows nothing")
  end
end)

t.test("arguments of every kind reach the kernel", function()
  local result <const> = run([[
@nki.jit
def k(x, n, scale=1.0, flag=False, name="a", pair=(1, 2), nothing=None, kind=nl.float32):
    assert n == 3 and flag and name == "it's" and pair == (4, (5, 0.5)) and nothing == None
    assert kind == nl.bfloat16, f"{kind}"
    t = nl.load(x)
    y = nl.ndarray(x.shape, dtype=kind, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=y, data=t, op0=nl.multiply, operand0=scale)
    out = nl.ndarray(x.shape, dtype=kind, buffer=nl.shared_hbm)
    nl.store(out, value=y)
    return out
]], 'x=float32[128,8], n=3, scale=0.5, flag=true, name="it\'s", pair=(4,(5,0.5)), nothing=None, kind=bfloat16')
  t.ok(result.ok, why(result))
  t.eq(result.outputs[1].array.dtype, "bfloat16")
end)

t.test("several outputs keep their names and order", function()
  local result <const> = run([[
@nki.jit
def k(x):
    t = nl.load(x)
    first = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(first, value=t)
    nl.store(second, value=t[:, 0:1])
    return first, second
]])
  t.ok(result.ok, why(result))
  t.eq({ result.outputs[1].name, result.outputs[2].name }, { "first", "second" })
  t.eq(result.outputs[2].array.shape, { 128, 1 })
end)

t.test("an input from a file brings its own shape and dtype", function()
  local dir <const> = t.tmpdir()
  local x <const> = array.random { dtype = "float16", shape = { 64, 5 }, seed = 1, dist = "normal" }
  t.write(dir .. "/x.npy", array.write_npy(x))
  local result <const> = run(COPY, "x=@x.npy", { cwd = dir })
  t.ok(result.ok, why(result))
  t.eq(result.outputs[1].array.dtype, "float16")
  t.eq(result.outputs[1].array:totable(), x:totable())
  t.write(dir .. "/bad.npy", "not an array")
  t.eq(run(COPY, "x=@bad.npy", { cwd = dir }).diagnostics[1].code, "case-file")
  t.eq(run(COPY, "x=@none.npy", { cwd = dir }).diagnostics[1].code, "case-file")
end)

t.test("data of another shape than the case says is refused", function()
  local x <const> = array.random { dtype = "float32", shape = { 64, 8 }, seed = 3, dist = "normal" }
  local result <const> = run(COPY, nil, { inputs = { x = x } })
  t.eq(result.ok, false)
  t.eq(result.diagnostics[1].code, "case-file")
end)

t.test("what a kernel prints is kept", function()
  local result <const> = run("@nki.jit\ndef k(x):\n    print(f\"shape {x.shape}\", 1)\n    print('a\\nb')\n" .. COPY:gsub("^.-def k%(x%):\n", ""))
  t.ok(result.ok, why(result))
  t.eq(result.printed, { "shape (128, 8) 1", "a", "b" })
end)

t.test("exact mode does not round, chip mode does", function()
  local text <const> = [[
@nki.jit
def k(x):
    t = nl.load(x)
    y = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=y, data=t, op0=nl.multiply, operand0=1.001)
    out = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
    nl.store(out, value=y)
    return out
]]
  local chip <const>, exact <const> = run(text, nil, { mode = "chip", seed = 1 }), run(text, nil, { mode = "exact", seed = 1 })
  t.ok(chip.ok and exact.ok, why(chip) .. why(exact))
  t.ok(chip.outputs[1].array:cast("float64"):at(0) ~= exact.outputs[1].array:cast("float64"):at(0))
end)

t.test("sibling files are imported, judged, and blamed by their own line", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/helpers.py", "import nki.language as nl\n\ndef double(t):\n    return nl.multiply(t, 2.0)\n\ndef bad(t):\n    return t is None\n")
  t.write(dir .. "/k.py", HEAD .. "from helpers import double\n" .. COPY:gsub("value=t", "value=double(t)"))
  local good <const> = at(dir .. "/k.py", { dir })
  t.ok(good.ok, why(good))
  t.write(dir .. "/k.py", HEAD .. "from helpers import bad\n" .. COPY:gsub("value=t", "value=bad(t)"))
  local judged <const> = at(dir .. "/k.py", { dir })
  t.eq(judged.ok, false)
  t.eq(judged.diagnostics[1].code, "python-not-allowed")
  t.eq(judged.diagnostics[1].file, dir .. "/helpers.py")
  t.eq(judged.diagnostics[1].line, 7)
  t.write(dir .. "/helpers.py",
    "import nki.isa as nisa\nimport nki.language as nl\n\ndef double(t):\n    nisa.tensor_copy(dst=t, src=t[:, 0:1])\n    return t\n")
  t.write(dir .. "/k.py", HEAD .. "from helpers import double\n" .. COPY:gsub("value=t", "value=double(t)"))
  local blamed <const> = at(dir .. "/k.py", { dir })
  t.eq(blamed.ok, false)
  t.eq(blamed.diagnostics[1].code, "free-size-mismatch")
  t.eq(blamed.diagnostics[1].file, dir .. "/helpers.py")
  t.eq(blamed.diagnostics[1].line, 5)
  t.eq(blamed.diagnostics[1].fix, nil)
end)

t.test("an import outside the granted folders finds nothing", function()
  local dir <const> = t.tmpdir()
  os.execute("mkdir " .. dir .. "/inside")
  t.write(dir .. "/secret.py", "value = 1\n")
  t.write(dir .. "/inside/k.py", HEAD .. "from ..secret import value\n" .. COPY:gsub("return out", "return value"))
  local result <const> = at(dir .. "/inside/k.py", { dir .. "/inside" })
  t.eq(result.ok, false)
  t.eq(result.diagnostics[1].line, 4, why(result))
end)

t.test("classes of a kernel: NKIObject, dataclass, Enum", function()
  local result <const> = run([[
from enum import Enum
from dataclasses import dataclass

class Kind(Enum):
    ADD = 1
    MUL = 2

@dataclass
class Config(nl.NKIObject):
    width: int
    kind: Kind = Kind.ADD

    def doubled(self):
        return self.width * 2

class State(nl.NKIObject):
    def __init__(self, n):
        self.n = n

@nki.jit
def k(x):
    c = Config(4)
    s = State(c.doubled())
    assert s.n == 8 and c.kind == Kind.ADD and c.kind != Kind.MUL
    t = nl.load(x)
    out = nl.ndarray((128, s.n), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]])
  t.ok(result.ok, why(result))
end)

t.test("constants of the file may come from math and NumPy", function()
  local result <const> = run("import math\nimport numpy as np\nSCALE = 1.0 / np.sqrt(64)\nWIDTH = math.ceil(7.5)\n" .. [[
@nki.jit
def k(x):
    assert SCALE == 0.125 and WIDTH == 8
    return double(x)

def double(x):
    t = nl.load(x)
    y = nl.ndarray((128, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=y, data=t, op0=nl.multiply, operand0=SCALE)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=y)
    return out
]])
  t.ok(result.ok, why(result))
end)

t.test("warnings of the machine are warnings", function()
  local result <const> = run([[
@nki.jit
def k(x):
    t = nl.load(x)
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation(dst=y, op=nl.sin, data=t, scale=100.0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=y)
    return out
]])
  t.ok(result.ok, why(result))
  t.eq(result.diagnostics[1].code, "activation-range")
  t.eq(result.diagnostics[1].severity, "warning")
  t.eq(result.diagnostics[1].line, 8)
end)

t.test("versions, targets and entries that are none", function()
  t.eq(run(COPY, nil, { version = "0.9" }).diagnostics[1].code, "bad-version")
  t.eq(run(COPY, nil, { target = "trn9" }).diagnostics[1].code, "bad-target")
  t.eq(run(COPY, nil, { entry = "kk" }).diagnostics[1].code, "entry-missing")
  t.eq(session.run({ path = "/nowhere/k.py", case = case.parse("") }).diagnostics[1].code, "file-missing")
end)

t.test("an old target warns once and is checked by its limits", function()
  local report <const> = check.run { path = "k.py", source = HEAD .. COPY, cases = { "x=float32[128,8]", "x=float32[64,8]" }, target = "trn1" }
  t.ok(report.ok)
  t.eq(#report.diagnostics, 1)
  t.eq(report.diagnostics[1].severity, "warning")
end)

t.test("check without a case says which one it needs", function()
  local report <const>, err <const> = check.run { path = "k.py", source = HEAD .. COPY }
  t.eq(report, nil)
  t.eq(err.code, "bad-case")
  t.has(err.hint, "x=float32[128,512]")
  local judged <const> = check.run { path = "k.py", source = HEAD .. COPY:gsub("t = nl", "t = x is None\n    t = nl") }
  t.eq(judged.ok, false)
  t.eq(judged.diagnostics[1].code, "python-not-allowed")
end)

t.test("several cases: each is reported, a diagnostic that all share once", function()
  local text <const> = HEAD .. "@nki.jit\ndef k(x):\n    t = nl.ndarray((x.shape[0], 8), dtype=x.dtype, buffer=nl.sbuf)\n    nisa.dma_copy(dst=t, src=x)\n"
    .. "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n    nisa.dma_copy(dst=out, src=t)\n    return out\n"
  local report <const> = check.run { path = "k.py", source = text, cases = { "x=float32[64,8]", "x=float32[64,9]", "x=float32[64,9]" } }
  t.eq(report.ok, false)
  t.eq({ report.cases[1].ok, report.cases[2].ok, report.cases[3].ok }, { true, false, false })
  t.eq(#report.diagnostics, 1)
end)

t.test("a run leaves no array behind", function()
  collectgarbage()
  collectgarbage()
  local before <const> = array.memory()
  do
    local result <const> = run(COPY, "x=float32[128,4096]")
    t.ok(result.ok)
  end
  collectgarbage()
  collectgarbage()
  t.eq(array.memory(), before)
end)
