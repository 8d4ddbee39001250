-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local doctor <const> = require "doctor"
local pythons <const> = require "pythons"

-- A machine made of a table: files = {path = text}, answers = {program path = {status, stdout, stderr} or {err = message}}.
local function machine(options)
  local files <const> = options.files or {}
  local self <const> = { version = "1.2.3", lua_version = "Lua 5.4", machine = "x86_64", home = "/h", asked = {} }
  local function kind(path)
    if files[path] then return "file" end
    for name in pairs(files) do
      if name:sub(1, #path + 1) == path .. "/" then return "dir" end
    end
  end
  self.disk = {
    stat = function(path) return kind(path) and { kind = kind(path) } or nil end,
    read = function(path) return files[path], { code = "not_found", message = "none" } end,
    realpath = function(path) return (options.links or {})[path] or (kind(path) and path) end,
    list = function(path)
      local out <const>, seen <const> = {}, {}
      for name in pairs(files) do
        local child <const> = name:sub(1, #path + 1) == path .. "/" and name:sub(#path + 2):match("^[^/]+")
        if child and not seen[child] then
          seen[child] = true
          out[#out + 1] = child
        end
      end
      return out
    end,
  }
  function self.env(name) return (options.env or {})[name] end
  function self.absolute(path) return path:sub(1, 1) == "/" and path or "/cwd/" .. path end
  function self.which(name) return files["/bin/" .. name] and "/bin/" .. name or nil end
  function self.workspace() return "/w" end
  function self.each(list, fn) for _, item in ipairs(list) do fn(item) end end
  function self.sandbox_layers() return { { name = "Landlock", found = true, version = "ABI 7" }, { name = "seccomp", found = true } } end
  function self.capture(argv)
    self.asked[#self.asked + 1] = argv[1]
    local answer <const> = (options.answers or {})[argv[1]] or { status = 0, stdout = "", stderr = "" }
    if answer.err then return nil, { code = "timeout", message = answer.err } end
    return { status = answer.status or 0, stdout = answer.stdout or "", stderr = answer.stderr or "" }
  end
  return self
end

local function says(version, packages, prefix)
  local parts <const> = {}
  for name, v in pairs(packages) do parts[#parts + 1] = ("%q: %q"):format(name, v) end
  return { stdout = ('{"version": "%s", "prefix": "%s", "packages": {%s}}'):format(version, prefix or "/p" .. version, table.concat(parts, ",")) }
end

local function items(data)
  local out <const> = {}
  for _, section in ipairs(data.sections) do
    for _, item in ipairs(section.items) do out[section.title .. "/" .. item.name] = item end
  end
  return out
end

t.test("places of Python in their order, each environment once", function()
  local host <const> = machine {
    files = { ["/a/bin/python3"] = "", ["/a/pyvenv.cfg"] = "", ["/n/bin/python"] = "", ["/opt/aws_neuronx_venv_pytorch_2_7/bin/python3"] = "",
      ["/opt/other/bin/python3"] = "", ["/bin/python3"] = "", ["/bin/python"] = "", ["/usr/bin/python3"] = "",
      ["/w/.claude/nki-dev-suite.local.md"] = "---\nnki_venv_path: /n\n---\n" },
    links = { ["/bin/python"] = "/usr/bin/python3", ["/bin/python3"] = "/usr/bin/python3" },
    env = { VIRTUAL_ENV = "/a", NKI_VENV_PATH = "/gone", PATH = "/bin:/usr/bin:relative" },
  }
  local got <const> = {}
  for i, item in ipairs(pythons.candidates(host, nil)) do got[i] = item.source .. " " .. item.path .. (item.error and " !" or "") end
  t.eq(got, { "VIRTUAL_ENV /a/bin/python3", "NKI_VENV_PATH /gone !", ".claude/nki-dev-suite.local.md /n/bin/python",
    "/opt/aws_neuronx_venv_pytorch_2_7 /opt/aws_neuronx_venv_pytorch_2_7/bin/python3", "PATH /bin/python3" })
  t.eq(pythons.candidates(host, "/a/bin/python3")[1].source, "--python")
end)

t.test("the first Python that holds all is found; why others were not is kept", function()
  local host <const> = machine {
    files = { ["/one/bin/python3"] = "", ["/two/bin/python3"] = "", ["/three/bin/python3"] = "" }, env = { PATH = "/one/bin:/two/bin:/three/bin" },
    answers = { ["/one/bin/python3"] = says("3.11.0", { numpy = "1.24" }), ["/two/bin/python3"] = { err = "too slow" },
      ["/three/bin/python3"] = says("3.12.0", { numpy = "2", torch = "2.7" }) },
  }
  t.eq(pythons.find(host, { "numpy" }).path, "/one/bin/python3")
  t.eq(pythons.find(host, { "numpy", "torch" }).path, "/three/bin/python3")
  local none <const>, err <const> = pythons.find(host, { "nki" })
  t.eq(none, nil)
  t.eq(err.code, "missing")
  t.eq(err.tried, { "/one/bin/python3 has no nki", "/two/bin/python3: too slow", "/three/bin/python3 has no nki" })
  t.eq(pythons.find(host, { "torch" }, "/one/bin/python3"), nil, "a named one is the only candidate")
end)

t.test("a Python that answers nonsense, fails or hangs is told, not trusted", function()
  for answer, part in pairs { ["not json"] = "nonsense", ["[1]"] = "nonsense", ['{"version": 3}'] = "nonsense" } do
    local host <const> = machine {
      files = { ["/one/bin/python3"] = "" }, env = { PATH = "/one/bin" }, answers = { ["/one/bin/python3"] = { stdout = answer } },
    }
    t.has(pythons.all(host)[1].error, part)
  end
  local host <const> = machine {
    files = { ["/one/bin/python3"] = "" }, env = { PATH = "/one/bin" },
    answers = { ["/one/bin/python3"] = { status = 1, stderr = "a\nno module encodings\n" } },
  }
  t.has(pythons.all(host)[1].error, "no module encodings")
end)

t.test("package manager of the distribution", function()
  local function kind(text) return doctor.package_manager(machine { files = { ["/etc/os-release"] = text } }).kind end
  t.eq(kind 'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\n', "apt")
  t.eq(kind 'ID=ubuntu\nID_LIKE=debian\n', "apt")
  t.eq(kind 'NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt")
  t.eq(kind 'NAME="Amazon Linux"\nVERSION="2023"\nID="amzn"\nID_LIKE="fedora"\n', "dnf")
  t.eq(kind "ID=arch\n", "other")
  t.eq(doctor.package_manager(machine {}).kind, "other")
end)

t.test("everything missing: what it would enable and how to get it, for this distribution", function()
  for id, command in pairs { debian = "sudo apt-get install bubblewrap", amzn = "sudo dnf install bubblewrap" } do
    local host <const> = machine { files = { ["/etc/os-release"] = "ID=" .. id .. "\n" } }
    local data <const> = doctor.examine(host)
    t.eq(data.ok, true, "optional things missing are no failure")
    local found <const> = items(data)
    t.eq(found["Sandbox/bubblewrap"].install, command)
    for name, item in pairs(found) do
      if not item.found then
        t.ok(item.enables, name)
        t.ok(item.install, name)
      end
    end
    local text <const> = doctor.text(data)
    t.has(text, "get: " .. command)
    t.has(text, "for: ")
  end
end)

t.test("what no Python holds is told with its use and command; what one holds is not", function()
  local host <const> = machine { files = { ["/one/bin/python3"] = "" }, env = { PATH = "/one/bin" },
    answers = { ["/one/bin/python3"] = says("3.11.0", { numpy = "1.24" }) } }
  local found <const> = items(doctor.examine(host))
  t.eq(found["Python environments/numpy"], nil)
  for _, name in ipairs { "torch", "nki" } do
    local item <const> = found["Python environments/" .. name]
    t.eq(item.found, false, name)
    t.has(item.install, "pip install " .. name)
    t.ok(item.enables)
  end
end)

t.test("bubblewrap that is there and does not work is told as such", function()
  local host <const> = machine {
    files = { ["/bin/bwrap"] = "" }, answers = { ["/bin/bwrap"] = { status = 1, stderr = "bwrap: No permissions to create new namespace" } },
  }
  local item <const> = items(doctor.examine(host))["Sandbox/bubblewrap"]
  t.eq(item.found, false)
  t.has(item.note, "No permissions")
  t.eq(item.install, nil)
end)

t.test("tools and their versions", function()
  local host <const> = machine {
    files = {
      ["/opt/aws/neuron/bin/neuron-explorer"] = "", ["/bin/duckdb"] = "", ["/dev/neuron0"] = "", ["/dev/neuron1"] = "",
      ["/usr/lib64/libopenblas.so.0"] = "",
    },
    answers = { ["/opt/aws/neuron/bin/neuron-explorer"] = { stdout = "neuron-explorer 2.32.1\n" }, ["/bin/duckdb"] = { stdout = "v1.1.3 19864453f7\n" } },
  }
  local found <const> = items(doctor.examine(host))
  t.eq(found["AWS Neuron/neuron-explorer"].version, "2.32.1")
  t.eq(found["AWS Neuron/Neuron devices"].note, "2 devices")
  t.eq({ found["DuckDB/DuckDB"].found, found["DuckDB/DuckDB"].version, found["DuckDB/DuckDB"].path }, { true, "1.1.3", "/bin/duckdb" })
  t.eq(found["Libraries/OpenBLAS"].found, true)
  t.eq(found["AWS Neuron/neuronx-cc"].found, false)
  local device <const> = found["AWS Neuron/nkiln profile --device"]
  t.eq({ device.found, device.note }, { false, "lacks a Python with nki and numpy" })
  t.eq(items(doctor.examine(machine {}))["AWS Neuron/nkiln profile --device"].note, "lacks neuron-explorer, a Neuron device, a Python with nki and numpy")
end)
