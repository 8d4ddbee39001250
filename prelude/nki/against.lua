-- SPDX-License-Identifier: MIT
-- The vendor's simulator beside ours: the same kernel file, case and inputs run by `nki.simulate` in a Python that holds
-- the package, its outputs compared with ours there. The worker starts no programs; it asks the host, which runs a
-- confined child. Everything goes through the child's standard input, so no file is shared.
--
--   against.run(request, job, parsed case, result of session.run, entry) -> {ok=, version=, outputs={{name, max_abs, max_rel,
--     equal}}, text=} | nil, err    err.code "missing" when no Python here holds nki

local case_module <const> = require "nki.case"
local json <const> = require "rt.json"

local against <const> = {}

-- Numbers that NumPy cannot name come from ml_dtypes, which nki itself needs.
local SCRIPT <const> = [==[
import importlib.util, json, sys
sys.path[:] = [p for p in sys.path if p and p != "."]
import numpy as np
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
stream = sys.stdin.buffer
head = json.loads(stream.readline())

def dtype_of(name):
    if name == "bool":
        return np.dtype(np.bool_)
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, name))

def read(row):
    kind = dtype_of(row["dtype"])
    count = int(np.prod(row["shape"]))
    return np.frombuffer(stream.read(count * kind.itemsize), dtype=kind).reshape(row["shape"]).copy()

def value_of(row):
    if "dtype" in row:
        return read(row)
    value = row["value"]
    def convert(v):
        return tuple(convert(i) for i in v) if isinstance(v, list) else v
    return convert(value)

args = {row["name"]: value_of(row) for row in head["args"]}
ours = [read(row) for row in head["outputs"]]
import nki
spec = importlib.util.spec_from_file_location("kernel", head["path"])
module = importlib.util.module_from_spec(spec)
stdout, sys.stdout = sys.stdout, sys.stderr
spec.loader.exec_module(module)
result = nki.simulate(getattr(module, head["entry"]))(**args)
sys.stdout = stdout
theirs = list(result) if isinstance(result, (tuple, list)) else [result]
rows = []
for mine, other in zip(ours, theirs):
    a, b = mine.astype(np.float64), np.asarray(other).astype(np.float64)
    if a.shape != b.shape:
        rows.append({"shape": list(b.shape)})
        continue
    both = np.isnan(a) & np.isnan(b)
    gap = np.where(both | (a == b), 0.0, np.abs(a - b))
    scale = np.maximum(np.abs(b), 1e-30)
    rows.append({"max_abs": float(gap.max(initial=0.0)), "max_rel": float((gap / scale).max(initial=0.0)), "equal": bool((gap == 0).all())})
print(json.dumps({"version": getattr(nki, "__version__", ""), "count": len(theirs), "outputs": rows}))
]==]

local function plain(value)
  if value == case_module.None then return json.null end
  if type(value) == "table" then
    local items <const> = {}
    for i = 1, value.n do items[i] = plain(value[i]) end
    return json.array(items)
  end
  return value
end

function against.run(request, job, parsed, result, entry)
  local head <const> = { path = request.path, entry = entry, args = {}, outputs = {} }
  local parts <const> = { false }
  local function add(list, name, a)
    list[#list + 1] = { name = name, dtype = a.dtype, shape = json.array(a.shape) }
    parts[#parts + 1] = a:contiguous():bytes()
  end
  for _, arg in ipairs(parsed.args) do
    local a <const> = result.inputs[arg.name]
    if a then
      add(head.args, arg.name, a)
    else
      head.args[#head.args + 1] = { name = arg.name, value = plain(arg.value) }
    end
  end
  for _, output in ipairs(result.outputs) do add(head.outputs, output.name, output.array) end
  head.args, head.outputs = json.array(head.args), json.array(head.outputs)
  parts[1] = json.encode(head) .. "\n"
  local answer <const>, err <const> = job.call("run_python", {
    modules = { "nki", "numpy" }, arguments = { "-c", SCRIPT }, input = table.concat(parts), seconds = 600,
  })
  if not answer then return nil, err end
  if answer.status ~= 0 then
    local last <const> = (answer.stderr or ""):match("([^\n]+)%s*$") or "no message"
    return nil, { code = "failed", message = "the vendor's simulator did not run this kernel: " .. last }
  end
  local ok <const>, said <const> = pcall(json.decode, answer.stdout)
  if not ok then return nil, { code = "failed", message = "the vendor's simulator gave no readable answer" } end
  local outcome <const> = { ok = said.count == #result.outputs, version = said.version, outputs = said.outputs }
  local lines <const> = { ("vendor's simulator, nki %s:"):format(said.version ~= "" and said.version or "of unknown version") }
  for i, row in ipairs(said.outputs) do
    row.name = result.outputs[i].name
    if row.shape then
      outcome.ok = false
      lines[#lines + 1] = ("  %s: shape [%s] there, [%s] here"):format(row.name, table.concat(row.shape, ","), table.concat(result.outputs[i].array.shape, ","))
    elseif row.equal then
      lines[#lines + 1] = ("  %s: equal"):format(row.name)
    else
      lines[#lines + 1] = ("  %s: largest difference %.3g (relative %.3g)"):format(row.name, row.max_abs, row.max_rel)
    end
  end
  outcome.text = table.concat(lines, "\n")
  return outcome
end

return against
