-- SPDX-License-Identifier: MIT
-- pythons: Python environments on this machine and what each holds.
--
-- Places, in order: --python, NKILN_PYTHON, VIRTUAL_ENV, NKI_VENV_PATH (or nki_venv_path in .claude/nki-dev-suite.local.md),
-- the Neuron images' environments beneath /opt, PATH. An environment is asked once, by a child with a deadline that imports
-- nothing but the standard library; what it cannot say is left out. Functions return lists; nothing raises for reasons of
-- the world. `host` gives env, disk, absolute and capture (see host.lua).

local fault <const> = require "fault"
local frontmatter <const> = require "frontmatter"
local json <const> = require "rt.json"

local pythons <const> = {}

pythons.DEADLINE = 10 -- seconds a Python may take to answer

-- Packages asked for: module to find, distribution that names its version.
pythons.packages = {
  { module = "numpy", dist = "numpy" }, { module = "pandas", dist = "pandas" }, { module = "torch", dist = "torch" }, { module = "nki", dist = "nki" },
  { module = "neuronxcc", dist = "neuronx-cc" }, { module = "torch_neuronx", dist = "torch-neuronx" }, { module = "torch_xla", dist = "torch-xla" },
  { module = "jax", dist = "jax" }, { module = "ml_dtypes", dist = "ml_dtypes" },
}

-- The folder that -c puts in front of the path goes before anything is imported, so that no file lying about is run.
local probe <const> = [[
import sys
sys.path[:] = [p for p in sys.path if p and p != "."]
import json, importlib.util, importlib.metadata
out = {"version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.prefix, "packages": {}}
for pair in sys.argv[1:]:
    module, dist = pair.split("=")
    try:
        if importlib.util.find_spec(module) is None:
            continue
    except Exception:
        continue
    try:
        out["packages"][module] = importlib.metadata.version(dist)
    except Exception:
        out["packages"][module] = ""
sys.stdout.write(json.dumps(out))
]]

local function executable(host, path)
  local st <const> = host.disk.stat(path)
  return st and st.kind == "file" and path or nil
end

-- A name given by a person or a variable: a Python itself, or the folder of an environment.
local function of_place(host, place)
  local path <const> = host.absolute(place)
  local st <const> = host.disk.stat(path)
  if st and st.kind == "dir" then
    return executable(host, path .. "/bin/python3") or executable(host, path .. "/bin/python")
  end
  if st then return path end
  if not place:find("/", 1, true) then return host.which(place) end
end

local function neuron_folders(host)
  local out <const> = {}
  for _, base in ipairs { "/opt" } do
    local names <const> = host.disk.list(base)
    for _, name in ipairs(names or {}) do
      if name:find("^aws_neuron.*venv") then out[#out + 1] = base .. "/" .. name end
    end
  end
  table.sort(out, function(a, b) return a > b end)
  return out
end

local function from_plugin_settings(host)
  local text <const> = host.disk.read(host.workspace() .. "/.claude/nki-dev-suite.local.md", 65536)
  if not text then return nil end
  local value <const> = frontmatter.parse(text).fields.nki_venv_path
  return type(value) == "string" and value ~= "" and value or nil
end

-- Where a Python may be, in the order in which it is preferred: { {path=, source=}, ... }. `explicit` is --python's value.
function pythons.candidates(host, explicit)
  local out <const>, seen <const> = {}, {}
  local function add(path, source)
    if not path then return end
    local prefix <const> = path:match("^(.*)/bin/[^/]*$")
    -- An environment's python is a link to the one it was made from; the folder tells environments apart.
    local own <const> = prefix and host.disk.stat(prefix .. "/pyvenv.cfg")
    local key <const> = own and prefix or host.disk.realpath(path) or path
    if seen[key] then return end
    seen[key] = true
    out[#out + 1] = { path = path, source = source }
  end
  local function named(place, source)
    if not place or place == "" then return end
    local path <const> = of_place(host, place)
    if path then
      add(path, source)
    else
      out[#out + 1] = { path = host.absolute(place), source = source, error = "no Python there" }
    end
  end
  named(explicit, "--python")
  named(host.env("NKILN_PYTHON"), "NKILN_PYTHON")
  named(host.env("VIRTUAL_ENV"), "VIRTUAL_ENV")
  named(host.env("NKI_VENV_PATH"), "NKI_VENV_PATH")
  named(from_plugin_settings(host), ".claude/nki-dev-suite.local.md")
  for _, folder in ipairs(neuron_folders(host)) do named(folder, folder) end
  for folder in (host.env("PATH") or "/usr/bin:/bin"):gmatch("[^:]+") do
    for _, name in ipairs { "python3", "python" } do
      if folder:sub(1, 1) == "/" then add(executable(host, folder .. "/" .. name), "PATH") end
    end
  end
  return out
end

-- Ask one Python. Returns {version=, prefix=, packages={numpy="1.24.2", ...}} or nil, err.
function pythons.ask(host, path)
  local argv <const> = { path, "-B", "-c", probe }
  for _, package in ipairs(pythons.packages) do argv[#argv + 1] = package.module .. "=" .. package.dist end
  local result <const>, err <const> = host.capture(argv, { seconds = pythons.DEADLINE, limit = 65536, cwd = "/" })
  if not result then return nil, fault.of(err) end
  if result.status ~= 0 then
    local last <const> = result.stderr:match("([^\n]+)%s*$") or ("exit status " .. tostring(result.status))
    return nil, fault.new("failed", "does not answer", { where = path, reason = last })
  end
  local data <const> = json.decode(result.stdout)
  if type(data) ~= "table" or type(data.version) ~= "string" or type(data.packages) ~= "table" then
    return nil, fault.new("failed", "answers nonsense", { where = path })
  end
  return { version = data.version, prefix = data.prefix, packages = data.packages }
end

-- Every candidate with what it holds. An environment that does not answer has `error`.
function pythons.all(host, explicit)
  local list <const> = pythons.candidates(host, explicit)
  host.each(list, function(item)
    if item.error then return end
    local answer <const>, err <const> = pythons.ask(host, item.path)
    if answer then
      item.version, item.prefix, item.packages = answer.version, answer.prefix, answer.packages
    else
      item.error = err.message .. (err.reason and ": " .. err.reason or "")
    end
  end)
  -- Wrappers (pyenv's, for one) lead to an environment that may be in the list already.
  local out <const>, seen <const> = {}, {}
  for _, item in ipairs(list) do
    local key <const> = item.prefix and item.prefix .. (item.version or "")
    if not key or not seen[key] then out[#out + 1] = item end
    if key then seen[key] = true end
  end
  return out
end

-- The first that holds every module named ({"numpy"}), or nil, err (code "missing"). An explicit one is the only candidate.
function pythons.find(host, modules, explicit)
  local tried <const> = {}
  for _, item in ipairs(pythons.candidates(host, explicit)) do
    local answer, err
    if not item.error then answer, err = pythons.ask(host, item.path) end
    if answer then
      local missing <const> = {}
      for _, module in ipairs(modules) do
        if answer.packages[module] == nil then missing[#missing + 1] = module end
      end
      if #missing == 0 then
        answer.path, answer.source = item.path, item.source
        return answer
      end
      tried[#tried + 1] = item.path .. " has no " .. table.concat(missing, ", ")
    else
      tried[#tried + 1] = item.path .. ": " .. (item.error or err.message)
    end
    if item.source == "--python" then break end
  end
  return nil, fault.new("missing", ("no Python with %s found"):format(table.concat(modules, " and ")), {
    tried = tried, hint = "name one with --python or NKILN_PYTHON; nkiln doctor shows what is here",
  })
end

return pythons
