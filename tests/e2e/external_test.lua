-- SPDX-License-Identifier: MIT
-- A reference that needs more than the built-in library is run by a Python of this machine, confined; without one it is an
-- error that names the function and the line.

local t <const> = require "tests.lib"

local KERNEL <const> = [[
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    a_t = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.sbuf)
    b_t = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a_t, src=a)
    nisa.dma_copy(dst=b_t, src=b)
    nisa.tensor_tensor(dst=a_t, data1=a_t, data2=b_t, op=nl.add)
    nisa.dma_copy(dst=out, src=a_t)
    return out
]]

local REFERENCE <const> = "import numpy as np\n\n\ndef add(a, b):\n    return np.fft.ifft(np.fft.fft(a)).real + b\n"

local function setup(reference)
  local folder <const> = t.tmpdir()
  t.write(folder .. "/add.py", KERNEL)
  t.write(folder .. "/ref.py", reference)
  return folder
end

local function sim(folder, environment)
  return t.sh(("cd %s && %s %s/build/nkiln sim add.py --case 'a=f32[128,64], b=f32[128,64]' --reference ref.py"):format(folder, environment
    or "", os.getenv("PWD")))
end

local has_numpy <const> = t.sh("/usr/bin/python3 -c 'import numpy'") == 0

t.test("a function that the library lacks runs in the Python that has it", function()
  if not has_numpy then t.skip("no /usr/bin/python3 with NumPy") end
  local code <const>, out <const>, err <const> = sim(setup(REFERENCE), "NKILN_PYTHON=/usr/bin/python3")
  t.eq(code, 0, err)
  t.has(out, "of its allowance")
end)

t.test("and a wrong kernel is still found out", function()
  if not has_numpy then t.skip("no /usr/bin/python3 with NumPy") end
  local code <const>, out <const> = sim(setup((REFERENCE:gsub("%+ b", "- b"))), "NKILN_PYTHON=/usr/bin/python3")
  t.eq(code, 1)
  t.has(out, "FAIL")
end)

t.test("without such a Python the error names function and line", function()
  local code <const>, _, err <const> = sim(setup((REFERENCE:gsub("numpy", "numpy"))), "env -i PATH=/nonexistent HOME=/nonexistent")
  t.eq(code, 2)
  t.has(err, "fft")
  t.has(err, "ref.py:5")
end)

t.test("what the reference prints or raises there is one line here", function()
  if not has_numpy then t.skip("no /usr/bin/python3 with NumPy") end
  local code <const>, _, err <const> = sim(setup("import numpy as np\n\n\ndef add(a, b):\n    np.fft.fft(a)\n    raise ValueError('no such thing')\n"),
    "NKILN_PYTHON=/usr/bin/python3")
  t.ok(code ~= 0)
  t.has(err, "no such thing")
  t.ok(not err:find("Traceback"), err)
end)
