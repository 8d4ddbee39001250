-- SPDX-License-Identifier: MIT
-- `nkiln sim --against nki`: the vendor's simulator beside ours. The package itself is not here; an environment with a
-- module of the same name stands in for it, so that the road to it and back is tested: kernel file, arguments of every
-- kind, outputs, comparison, and what is said when there is none.

local t <const> = require "tests.lib"

local NKILN <const> = "build/nkiln"
local KERNEL <const> = [[
import nki
import nki.language as nl


@nki.jit
def add(a, b, scale=1.0, pair=(1, 2)):
    x = nl.load(a)
    y = nl.load(b)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.add(x, y), scale))
    return out
]]

-- A stand-in whose simulate() adds with NumPy; `wrong` moves one element.
local function environment(wrong)
  local folder <const> = t.tmpdir()
  local status <const> = t.sh("/usr/bin/python3 -m venv --without-pip --system-site-packages " .. folder .. "/env")
  if status ~= 0 then t.skip("no venv module") end
  local _, site <const> = t.sh(folder .. "/env/bin/python3 -c 'import sysconfig; print(sysconfig.get_paths()[\"purelib\"])'")
  local package <const> = site:gsub("%s+$", "") .. "/nki"
  os.execute("mkdir -p " .. package)
  t.write(package .. "/__init__.py", [[
__version__ = "0.6.0"
def jit(fn=None, **_):
    return fn
def simulate(fn):
    def run(a, b, scale=1.0, pair=None):
        assert pair == (3, (4, 0.5)), pair
        out = (a + b) * a.dtype.type(scale)
]] .. (wrong and "        out[5, 2] += 1\n" or "") .. "        return out\n    return run\n")
  t.write(package .. "/language.py", "")
  t.write(folder .. "/add.py", KERNEL)
  return folder
end

local function sim(folder, python)
  return t.sh(("%s sim %s/add.py --case 'a=f32[64,8], b=f32[64,8], scale=0.5, pair=(3,(4,0.5))' --against nki --python %s"):format(NKILN, folder, python))
end

t.test("equal outputs", function()
  if not t.read(NKILN) then t.skip("build/nkiln is not built") end
  local folder <const> = environment(false)
  local status <const>, out <const>, err <const> = sim(folder, folder .. "/env")
  t.eq(status, 0, out .. err)
  t.has(out, "nki 0.6.0")
  t.has(out, "out: equal")
end)

t.test("a difference is shown with its size", function()
  if not t.read(NKILN) then t.skip("build/nkiln is not built") end
  local folder <const> = environment(true)
  local _, out <const>, err <const> = sim(folder, folder .. "/env")
  t.has(out .. err, "largest difference 1")
end)

t.test("without the package: status 3 and what is missing", function()
  if not t.read(NKILN) then t.skip("build/nkiln is not built") end
  local folder <const> = t.tmpdir()
  t.write(folder .. "/add.py", KERNEL)
  local status <const>, out <const>, err <const> = sim(folder, "/usr/bin/python3")
  t.eq(status, 3, out .. err)
  t.has(err, "nki")
end)
