-- SPDX-License-Identifier: MIT
-- Broken kernels: the language, files, limits of a run. See broken.lua for the fields.

local rows <const> = {}
local function row(r) rows[#rows + 1] = r end

row { code = "syntax", name = "an open bracket", case = "x=float32[128,64]", body = "t = nl.load(x\nreturn t\n" }
row { code = "assert-failed", name = "the kernel's own contract", case = "x=float32[128,64]", has = "64 columns", body = [[
assert x.shape[1] == 128, f"expected 128 columns, got {x.shape[1]} columns"
return x
]] }
row { code = "python-error", name = "division by zero", case = "x=float32[128,64]", has = "ZeroDivisionError", body = "n = x.shape[0] // 0\nreturn x\n" }
row { code = "python-unsupported", name = "complex numbers", case = "x=float32[128,64]", body = "z = 3j\nreturn x\n" }
row { code = "python-not-allowed", name = "is None", case = "x=float32[128,64]", repairs = 1, body = [[
scale = None
t = nl.load(x)
if scale is None:
    scale = 1.0
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "scale == None" }
row { code = "python-not-allowed", name = "try", case = "x=float32[128,64]", body = "try:\n    y = x\nexcept ValueError:\n    y = x\nreturn y\n" }
row { code = "python-not-allowed", name = "reads a file", case = "x=float32[128,64]", has = "files", body = "open('/etc/passwd')\nreturn x\n" }
row { code = "python-not-allowed", name = "reaches Python's objects", case = "x=float32[128,64]", has = "__class__",
  body = "y = x.__class__.__mro__\nreturn x\n" }
row { code = "import-not-allowed", name = "imports os", case = "x=float32[128,64]", has = "`os`", body = "import os\nos.system('true')\nreturn x\n" }
row { code = "numpy-in-kernel", name = "numpy call", case = "x=float32[128,64]", repairs = 1, reference = "numpy.exp(x)", body = [[
t = nl.load(x)
y = np.exp(t)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nl.exp(t)" }
row { code = "numpy-in-kernel", name = "numpy operator and number", case = "x=float32[128,64]", repairs = 2, reference = "x * x / 8.0", body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_tensor(dst=y, data1=t, data2=t, op=np.multiply)
nisa.tensor_scalar(dst=y, data=y, op0=nl.multiply, operand0=1.0 / np.sqrt(x.shape[1]))
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "** 0.5" }
row { code = "removed-api", name = "buffer as text", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer="sbuf")
nisa.dma_copy(dst=t, src=x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "buffer=nl.sbuf" }
row { code = "removed-api", name = "mask", case = "x=float32[128,64]", body = "t = nl.load(x, mask=(x.shape[0] < 3))\nreturn t\n" }
row { code = "removed-api", name = "par_dim", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "nl.ndarray((128, 64)" }
row { code = "removed-api", name = "an enum as a number", case = "x=float32[128,64]", repairs = 1, body = [[
t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x, oob_mode=1)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=t)
return out
]], fixed = "nisa.oob_mode.skip" }
row { code = "deprecated-api", name = "old engine spelling", case = "x=float32[128,64]", warning = true, repairs = 1, body = [[
t = nl.load(x)
y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
nisa.tensor_copy(dst=y, src=t, engine=nisa.vector_engine)
out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
nl.store(out, value=y)
return out
]], fixed = "nisa.engine.vector" }

local HEAD <const> = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\nimport numpy as np\n\n\n"

row { code = "version-api", name = "nl.load in NKI 0.2", case = "x=float32[128,64]", version = "0.2", has = "0.3", body = "t = nl.load(x)\nreturn t\n" }
row { code = "old-dialect", name = "neuronxcc", case = "x=float32[128,64]", text = [[
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    return x
]] }
row { code = "python-not-allowed", name = "keyword separator", case = "x=float32[128,64]", repairs = 1, fixed = "def k(x, n=1)", text = HEAD .. [[
@nki.jit
def k(x, *, n=1):
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]] }
row { code = "python-not-allowed", name = "list default", case = "x=float32[128,64]", repairs = 1, fixed = "n=(1, 2)", text = HEAD .. [[
@nki.jit
def k(x, n=[1, 2]):
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]] }
row { code = "nested-kernel", name = "jit on a helper", case = "x=float32[128,64]", repairs = 1, text = HEAD .. [[
@nki.jit
def helper(t):
    return nl.exp(t)


@nki.jit
def k(x):
    t = helper(nl.load(x))
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]] }
row { code = "import-not-allowed", name = "os used from the module", case = "x=float32[128,64]", has = "operating system", text = "import os\n" .. HEAD .. [[
@nki.jit
def k(x):
    os.system("true")
    return x
]] }
row { code = "import-not-allowed", name = "a file that acts when it is loaded", case = "x=float32[128,64]",
  has = "os.system", text = "import os\n" .. HEAD .. [[
os.system("true")


@nki.jit
def k(x):
    return x
]] }
row { code = "entry-none", name = "no decorator", case = "x=float32[128,64]", repairs = 1, fixed = "@nki.jit", text = HEAD .. [[
def k(x):
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=t)
    return out
]] }
row { code = "entry-ambiguous", name = "two kernels", case = "x=float32[128,64]", has = "--entry", text = HEAD .. [[
@nki.jit
def k(x):
    return x


@nki.jit
def l(x):
    return x
]] }
row { code = "case-missing-parameter", name = "case without y", case = "x=float32[128,64]",
  has = "`y`", text = HEAD .. "@nki.jit\ndef k(x, y):\n    return x\n" }
row { code = "case-unknown-parameter", name = "case with z", case = "x=float32[128,64], z=1",
  has = "`z`", text = HEAD .. "@nki.jit\ndef k(x):\n    return x\n" }
row { code = "nothing-returned", name = "no return", case = "x=float32[128,64]", body = "t = nl.load(x)\n" }


row { code = "step-limit", name = "endless loop", case = "x=float32[128,64]", steps = 200000, body = "while True:\n    pass\nreturn x\n" }
row { code = "memory-limit", name = "endless allocation", worker = true, case = "x=float32[128,64]", body = [[
tiles = []
while True:
    tiles.append([0] * 100000)
return x
]] }

return rows
