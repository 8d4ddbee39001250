-- SPDX-License-Identifier: MIT
-- The kernel's one run in the Neuron environment: the program text, its request, and the environment it starts in.
--
--   runner.environment(o) -> { NAME = text | false (removed) }   o: { target=, lnc=, core=, work=folder, flags=NEURON_CC_FLAGS of the user,
--     python = what find.python gave }
--   runner.write(o, arguments) -> argv | nil, err                 o: { python=, work=, kernel=absolute, entry=, lnc= }
--   runner.answer(work) -> what the run reported | nil
-- All variables are set before the process starts: after `import nki` they are read no more. Which page says what stands
-- beside each variable (AWS Neuron SDK documentation).

local fs <const> = require "rt.fs"
local json <const> = require "rt.json"

local runner <const> = {}

runner.FILE = "nkiln_runner.py"
runner.LIBRARIES = "/opt/aws/neuron/lib"

-- The kernel is called as any NKI kernel: NumPy arrays in, compiled and run standalone (nki/api/nki, nki.jit).
local SCRIPT <const> = [==[
# Runs one NKI kernel once on a NeuronCore. Generated; the request is the JSON file named on the command line.
import importlib.util
import json
import os
import sys

with open(sys.argv[1]) as f:
    request = json.load(f)


def report(answer):
    with open(request["answer"] + ".part", "w") as f:
        json.dump(answer, f)
    os.replace(request["answer"] + ".part", request["answer"])


import numpy as np
import nki


def dtype_of(name):
    if name == "bool":
        return np.dtype(np.bool_)
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))


def value_of(row):
    if row["kind"] == "tensor":
        name = "float32" if row["dtype"] == "tfloat32" else row["dtype"]
        if row.get("raw"):
            return np.fromfile(row["raw"], dtype=dtype_of(name)).reshape(row["shape"])
        return np.load(row["file"])
    if row["kind"] == "dtype":
        import nki.language as nl
        return getattr(nl, row["dtype"])

    def convert(v):
        return tuple(convert(i) for i in v) if isinstance(v, list) else v

    return convert(row.get("value"))


arguments = {row["name"]: value_of(row) for row in request["arguments"]}
# Kernels import files beside them.
sys.path.insert(0, os.path.dirname(request["kernel"]))
spec = importlib.util.spec_from_file_location("kernel_under_profile", request["kernel"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = getattr(module, request["entry"])
if request["lnc"] != 1:
    kernel = kernel[request["lnc"]]
result = kernel(**arguments)
outputs = list(result) if isinstance(result, (tuple, list)) else [result]
rows = []
for i, output in enumerate(outputs):
    array = np.asarray(output)
    path = os.path.join(request["outputs"], "output%d.npy" % i)
    np.save(path, array)
    rows.append({"file": path, "dtype": str(array.dtype), "shape": list(array.shape)})
report({"ok": True, "nki": getattr(nki, "__version__", ""), "outputs": rows})
]==]

-- The user's compiler flags with our target and LNC in place of theirs.
function runner.compiler_flags(flags, target, lnc)
  local words <const>, skip = {}, false
  for word in (flags or ""):gmatch("%S+") do
    if skip then
      skip = false
    elseif word == "--target" or word == "--lnc" or word == "-lnc" or word == "--logical-nc-config" then
      skip = true
    elseif not (word:find("^%-%-target=") or word:find("^%-%-?lnc=") or word:find("^%-%-logical%-nc%-config=")) then
      words[#words + 1] = word
    end
  end
  words[#words + 1] = "--target"
  words[#words + 1] = target
  words[#words + 1] = "--lnc"
  words[#words + 1] = tostring(lnc)
  return table.concat(words, " ")
end

-- A HOME for every child: neuron-explorer does not start without one.
function runner.home(work)
  local home <const> = os.getenv("HOME")
  return home ~= "" and home or work
end

-- What every child of a capture gets: the core and the LNC.
function runner.core_environment(o)
  return {
    NEURON_RT_VISIBLE_CORES = tostring(o.core), NEURON_RT_NUM_CORES = false, -- neuron-runtime/guides/configuration-guide
    NEURON_LOGICAL_NC_CONFIG = tostring(o.lnc), -- about-neuron/arch/neuron-features/logical-neuroncore-config
    NEURON_RT_VIRTUAL_CORE_SIZE = tostring(o.lnc), -- the same setting by its older name (libraries/nxd-inference/tutorials)
    HOME = runner.home(o.work),
  }
end

function runner.environment(o)
  local env <const> = runner.core_environment(o)
  -- tools/neuron-explorer/environment-variables. The system part is switched off: it costs time and is not asked for.
  env.NEURON_RT_INSPECT_ENABLE, env.NEURON_RT_INSPECT_DEVICE_PROFILE, env.NEURON_RT_INSPECT_SYSTEM_PROFILE = "1", "1", "0"
  env.NEURON_RT_INSPECT_OUTPUT_DIR = o.work .. "/inspect"
  env.NEURON_RT_INSPECT_EVENT_FILTER_NC, env.NEURON_RT_INSPECT_EVENT_FILTER_TYPE, env.NEURON_RT_INSPECT_ON_FAIL = false, false, false
  -- Source locations; they must be set before the compilation, and a NEFF from a cache would not have them.
  env.NKI_DEBUG_INFO, env.NEURON_FRAMEWORK_DEBUG, env.XLA_IR_DEBUG, env.XLA_HLO_DEBUG = "True", "1", "1", "1"
  env.NEURON_COMPILE_CACHE_URL = o.work .. "/cache" -- about-neuron/arch/neuron-features/neuron-caching
  env.TORCH_NEURONX_NEFF_CACHE_DIR = o.work .. "/neffs"
  env.NKI_ARTIFACTS_DIR = o.work .. "/artifacts" -- neuron-runtime/nrtpy/nrtpy-troubleshooting: kernel.neff stays there
  env.NEURON_CC_FLAGS = runner.compiler_flags(o.flags, o.target, o.lnc)
  env.NEURON_PLATFORM_TARGET_OVERRIDE = o.target -- nki/api/nki
  env.NKI_SIMULATOR = false -- nki/guides/nki_simulator: the kernel would run on the CPU
  -- As an activated environment has it: the compiler is a program beside its Python, and the runtime a library.
  local bin <const> = o.python.path:match("^(.+)/[^/]*$") or "/usr/bin"
  env.PATH = table.concat({ bin, os.getenv("PATH") or "/usr/local/bin:/usr/bin:/bin", "/opt/aws/neuron/bin" }, ":")
  if o.python.prefix ~= "/usr" then env.VIRTUAL_ENV = o.python.prefix end
  local libraries <const> = os.getenv("LD_LIBRARY_PATH") or ""
  if fs.exists(runner.LIBRARIES) and not (":" .. libraries .. ":"):find(":" .. runner.LIBRARIES .. ":", 1, true) then
    env.LD_LIBRARY_PATH = runner.LIBRARIES .. (libraries ~= "" and ":" .. libraries or "") -- neuron-runtime/nrtpy/nrtpy-troubleshooting
  end
  env.PYTHONDONTWRITEBYTECODE, env.PYTHONUNBUFFERED = "1", "1"
  return env
end

function runner.write(o, arguments)
  local request <const> = {
    kernel = o.kernel, entry = o.entry, lnc = o.lnc, answer = o.work .. "/answer.json", outputs = o.work .. "/outputs", arguments = json.array(arguments),
  }
  for _, row in ipairs(arguments) do
    if row.shape then row.shape = json.array(row.shape) end
  end
  for name, text in pairs { [runner.FILE] = SCRIPT, ["request.json"] = json.encode(request) } do
    local ok <const>, err <const> = fs.write(o.work .. "/" .. name, text)
    if not ok then return nil, err end
  end
  return { o.python, "-B", o.work .. "/" .. runner.FILE, o.work .. "/request.json" }
end

function runner.answer(work)
  local text <const> = fs.read(work .. "/answer.json", 1 << 20)
  local value <const> = text and json.decode(text)
  return type(value) == "table" and value or nil
end

return runner
