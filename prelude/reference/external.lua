-- SPDX-License-Identifier: MIT
-- A reference that needs more than this library has, run by a Python of this machine that holds its package: a confined
-- child of the host, which gets the arguments on its standard input and gives the results back on its standard output.
-- Floats travel and are computed in float64 (or float32, see core.real). Nothing is written anywhere.

local array <const> = require "rt.array"
local core <const> = require "reference.core"
local json <const> = require "rt.json"

local M <const> = {}

local SECONDS <const> = 300

local SCRIPT <const> = [==[
import importlib.util, json, os, sys
sys.path[:] = [p for p in sys.path if p and p != "."]
import numpy as np
stream = sys.stdin.buffer
head = json.loads(stream.readline())
sys.path.insert(0, os.path.dirname(head["path"]))
stdout, sys.stdout = sys.stdout, sys.stderr
torch = None
if head["family"] == "torch":
    import torch

def read(row):
    kind = np.dtype(row["dtype"])
    count = int(np.prod(row["shape"])) if row["shape"] else 1
    value = np.frombuffer(stream.read(count * kind.itemsize), dtype=kind).reshape(row["shape"]).copy()
    return torch.from_numpy(value) if torch else value

spec = importlib.util.spec_from_file_location("reference", head["path"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
fn = getattr(module, head["function"])
values = {row["name"]: read(row) if "dtype" in row else row["value"] for row in head["args"]}
result = fn(**values) if head["by_name"] else fn(*values.values())
outputs = list(result) if isinstance(result, (tuple, list)) else [result]
rows, blobs = [], []
for value in outputs:
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    value = np.asarray(value)
    declared = str(value.dtype)
    value = np.ascontiguousarray(value.astype(np.bool_ if value.dtype == np.bool_ else np.int64 if value.dtype.kind in "iu" else np.float64))
    rows.append({"dtype": str(value.dtype), "shape": list(value.shape), "declared": declared})
    blobs.append(value.tobytes())
stdout.buffer.write((json.dumps(rows) + "\n").encode())
for blob in blobs:
    stdout.buffer.write(blob)
stdout.buffer.flush()
]==]

-- Run reference.name of the file reference.path on args (as Reference:run takes them). `ask` is the job's door to the host;
-- `because` is the error that made the built-in library give up, returned when no Python can help.
function M.run(reference, args, ask, because)
  local family <const> = reference:family().name
  local modules <const> = family == "torch" and { "numpy", "torch" } or { "numpy" }
  local head <const> = { path = reference.path, ["function"] = reference.name, family = family, by_name = true, args = json.array({}) }
  local known <const> = {}
  for _, name in ipairs(reference.params.names) do known[name] = true end
  local blobs <const> = {}
  for i, arg in ipairs(args) do
    if not known[arg.name] then head.by_name = false end
    local row <const> = { name = arg.name }
    if type(arg.value) == "userdata" then
      local kind <const> = core.storage_dtype(arg.dtype or arg.value.dtype)
      local value <const> = arg.value:cast(kind == "float64" and core.real or kind):contiguous()
      row.dtype, row.shape = value.dtype, json.array(value.shape)
      blobs[#blobs + 1] = value:bytes()
    else
      row.value = arg.value
    end
    head.args[i] = row
  end
  local answer <const>, refused <const> = ask("run_python", {
    modules = modules, arguments = { "-c", SCRIPT }, input = json.encode(head) .. "\n" .. table.concat(blobs), seconds = SECONDS,
  })
  if not answer then
    because.hint = ("no Python that holds %s can run it here: %s"):format(table.concat(modules, " and "), tostring(refused and refused.message))
    return nil, because
  end
  local text <const> = answer.stdout or ""
  local line <const>, rest <const> = text:match("^([^\n]*)\n()")
  local rows <const> = line and answer.status == 0 and json.decode(line)
  if not rows then
    local last <const> = (answer.stderr or ""):match("([^\n]+)%s*$") or "no output"
    return nil, { code = "reference-failed", file = reference.path, message = ("%s in %s: %s"):format(reference.name, family == "torch"
      and "PyTorch" or "NumPy", last) }
  end
  local outputs <const>, at = {}, rest
  for i, row in ipairs(rows) do
    local count = 1
    for _, e in ipairs(row.shape) do count = count * e end
    local size <const> = count * (row.dtype == "bool" and 1 or 8)
    local shape <const> = {}
    for j, e in ipairs(row.shape) do shape[j] = e end
    outputs[i] = { array = array.from_bytes(row.dtype, shape, text:sub(at, at + size - 1)), declared = row.declared }
    at = at + size
  end
  return outputs
end

return M
