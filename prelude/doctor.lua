-- SPDX-License-Identifier: MIT
-- doctor: what is on this machine, what each missing thing would enable, and the command that installs it.
--
-- doctor.examine(host, options) returns {ok=, sections={ {title=, items={ {name=, found=, version=, path=, note=,
-- enables=, install=, required=} } } }}. It asks by trying: a program is run, a file is opened. A program that does not
-- answer within its deadline counts as missing, with the reason. Nothing raises for reasons of the world.

local pythons <const> = require "pythons"
local report <const> = require "report"

local doctor <const> = {}

doctor.DEADLINE = 5 -- seconds a program may take to say its version

-- The distribution's package command, from /etc/os-release.
function doctor.package_manager(host)
  local text <const> = host.disk.read("/etc/os-release", 65536) or ""
  local id <const> = (text:match('\nID="?([%w_.-]+)') or text:match('^ID="?([%w_.-]+)') or ""):lower()
  local like <const> = (text:match('\nID_LIKE="?([^"\n]+)') or ""):lower()
  local name <const> = text:match('PRETTY_NAME="?([^"\n]+)') or id
  local all <const> = " " .. id .. " " .. like .. " "
  if all:find(" debian ", 1, true) or all:find(" ubuntu ", 1, true) then return { kind = "apt", install = "sudo apt-get install ", system = name } end
  if all:find(" fedora ", 1, true) or all:find(" rhel ", 1, true) or id == "amzn" then return { kind = "dnf", install = "sudo dnf install ", system = name } end
  return { kind = "other", system = name ~= "" and name or "unknown system" }
end

local function install(manager, names)
  local name <const> = names[manager.kind]
  if name and manager.install then return manager.install .. name end
  return names.other
end

local function first_line(text) return text and text:match("([^\r\n]*%d[^\r\n]*)") or nil end

-- A program: where it is and what it says about its version.
local function program(host, item, args, folders)
  local path = host.which(item.name)
  for _, folder in ipairs(folders or {}) do
    local st <const> = not path and host.disk.stat(folder .. "/" .. item.name)
    if st and st.kind == "file" then path = folder .. "/" .. item.name end
  end
  item.found = path ~= nil
  item.path = path
  if path and args then
    local result <const>, err <const> = host.capture({ path, table.unpack(args) }, { seconds = doctor.DEADLINE, limit = 65536 })
    if not result then
      item.found, item.note = false, "does not answer: " .. tostring(err and err.message)
    else
      local line <const> = first_line(result.stdout) or first_line(result.stderr)
      item.version = line and line:match("%d[%w.+-]*") or nil
    end
  end
  return item
end

local library_folders <const> = {
  "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/usr/local/lib", "/usr/local/lib64",
  "/usr/lib/x86_64-linux-gnu/openblas-pthread", "/usr/lib/aarch64-linux-gnu/openblas-pthread",
}

local function library(host, item, names)
  for _, folder in ipairs(library_folders) do
    for _, name in ipairs(names) do
      if not item.path and host.disk.stat(folder .. "/" .. name) then item.path = folder .. "/" .. name end
    end
  end
  item.found = item.path ~= nil
  return item
end

local function host_section(host, manager)
  local items <const> = {
    { name = "nkiln", found = true, required = true, version = host.version, path = host.program_path },
    { name = "prelude", found = true, required = true, path = host.prelude_home or nil, note = not host.prelude_home and "the copy inside the binary" or nil },
    { name = "Lua", found = true, required = true, version = host.lua_version },
    { name = "system", found = true, required = true, version = manager.system, note = host.machine },
  }
  if host.sqlite_version then items[#items + 1] = { name = "SQLite", found = true, required = true, version = host.sqlite_version } end
  return { title = "nkiln", items = items }
end

local function sandbox_section(host, manager)
  local items <const> = {}
  local bwrap <const> = { name = "bubblewrap", enables = "the strongest sandbox for children (own mounts, processes, network)",
    install = install(manager, { apt = "bubblewrap", dnf = "bubblewrap" }) }
  bwrap.path = host.which("bwrap")
  if bwrap.path then
    local result <const>, err <const> = host.capture({ bwrap.path, "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true" },
      { seconds = doctor.DEADLINE, limit = 4096 })
    bwrap.found = result ~= nil and result.status == 0
    if not bwrap.found then
      bwrap.note = "is there, but this system does not let it work: " .. (result and result.stderr:match("[^\n]+") or err and err.message or "no reason given")
      bwrap.install = nil
    end
  else
    bwrap.found = false
  end
  items[#items + 1] = bwrap
  for _, layer in ipairs(host.sandbox_layers()) do items[#items + 1] = layer end
  return { title = "Sandbox", items = items }
end

local function library_section(host, manager)
  return { title = "Libraries", items = {
    library(host, { name = "OpenBLAS", enables = "fast contraction (matmul); without it a plain one of ours is used",
      install = install(manager, { apt = "libopenblas0-pthread", dnf = "openblas-threads" }) }, { "libopenblas.so.0", "libopenblasp.so.0" }),
    library(host, { name = "libcurl", enables = "language models over HTTP",
      install = install(manager, { apt = "libcurl4", dnf = "libcurl" }) }, { "libcurl.so.4", "libcurl-gnutls.so.4" }),
    library(host, { name = "libzstd", enables = "profiles in Parquet with zstd pages",
      install = install(manager, { apt = "libzstd1", dnf = "libzstd" }) }, { "libzstd.so.1" }),
    library(host, { name = "libsnappy", enables = "profiles in Parquet with snappy pages",
      install = install(manager, { apt = "libsnappy1v5", dnf = "snappy" }) }, { "libsnappy.so.1" }),
    library(host, { name = "zlib", enables = "profiles in Parquet with gzip pages",
      install = install(manager, { apt = "zlib1g", dnf = "zlib" }) }, { "libz.so.1" }),
    library(host, { name = "liblz4", enables = "profiles in Parquet with lz4 pages",
      install = install(manager, { apt = "liblz4-1", dnf = "lz4-libs" }) }, { "liblz4.so.1" }),
    library(host, { name = "libbrotli", enables = "profiles in Parquet with brotli pages",
      install = install(manager, { apt = "libbrotli1", dnf = "libbrotli" }) }, { "libbrotlidec.so.1" }),
  } }
end

local function duckdb_section(host)
  local item <const> = library(host, { name = "DuckDB", enables = "SQL over profiles larger than memory; SQLite serves the rest",
    install = "see duckdb.org/docs/installation (no distribution package)" }, { "libduckdb.so" })
  if not item.found then program(host, setmetatable({ name = "duckdb" }, { __newindex = function(_, k, v) rawset(item, k, v) end }), { "--version" }) end
  item.name = "DuckDB"
  return { title = "DuckDB", items = { item } }
end

-- python: the section of Python environments.
local function neuron_section(host, python)
  local folders <const> = { "/opt/aws/neuron/bin" }
  local beside <const> = { folders[1] } -- the compiler lies beside its Python
  for _, item in ipairs(python.items) do
    if item.packages and (item.packages.nki or item.packages.neuronxcc) and item.path then beside[#beside + 1] = item.path:match("^(.+)/[^/]*$") end
  end
  local items <const> = {
    program(host, { name = "neuron-ls", enables = "seeing the Neuron devices of this machine" }, nil, folders),
    program(host, { name = "neuron-explorer", enables = "capturing and converting profiles from a Trainium" }, { "--version" }, folders),
    program(host, { name = "neuronx-cc", enables = "compiling a kernel for the chip" }, { "--version" }, beside),
  }
  local devices = 0
  for _, name in ipairs(host.disk.list("/dev") or {}) do
    if name:find("^neuron%d+$") then devices = devices + 1 end
  end
  items[#items + 1] = {
    name = "Neuron devices", found = devices > 0, note = devices > 0 and report.count(devices, "device") or nil, enables = "running on the chip",
  }
  local lacks <const>, with <const> = {}, {}
  for _, item in ipairs(python.items) do
    if item.packages and item.packages.nki and item.packages.numpy then with[#with + 1] = item.path end
  end
  if not items[2].found then lacks[1] = "neuron-explorer" end
  if devices == 0 then lacks[#lacks + 1] = "a Neuron device" end
  if #with == 0 then lacks[#lacks + 1] = "a Python with nki and numpy" end
  items[#items + 1] = {
    name = "nkiln profile --device", found = #lacks == 0, note = #lacks == 0 and "with " .. with[1] or "lacks " .. table.concat(lacks, ", "),
    enables = "profiles captured on the chip; without it they are modelled", install = "what it lacks, as said beside each",
  }
  for _, item in ipairs(items) do
    if not item.found and not item.install then item.install = "an AWS Neuron image or the Neuron package repository (a Trainium or Inferentia instance)" end
  end
  return { title = "AWS Neuron", items = items }
end

local python_note <const> = "references that need more than nkiln's own NumPy and PyTorch subset"

local function python_section(host, manager, explicit)
  local items <const> = {}
  for _, found in ipairs(pythons.all(host, explicit)) do
    local holds <const> = {}
    for _, package in ipairs(pythons.packages) do
      local version <const> = found.packages and found.packages[package.module]
      if version then holds[#holds + 1] = package.module .. (version ~= "" and " " .. version or "") end
    end
    items[#items + 1] = {
      name = found.source, found = found.error == nil, path = found.path, version = found.version, packages = found.packages,
      note = found.error or (#holds > 0 and table.concat(holds, ", ") or "none of the packages nkiln can use"), enables = found.error and python_note or nil,
    }
  end
  if #items == 0 then
    items[1] = { name = "Python", found = false, enables = python_note, install = install(manager, { apt = "python3-numpy", dnf = "python3-numpy" }) }
  else
    -- What no environment holds.
    local wanted <const> = {
      { name = "numpy", enables = python_note,
        install = install(manager, { apt = "python3-numpy", dnf = "python3-numpy", other = "python3 -m pip install numpy" }) },
      { name = "torch", enables = "PyTorch references that need more than nkiln's own subset", install = "python3 -m pip install torch" },
      { name = "nki", enables = "nkiln sim --against nki: the vendor's simulator beside ours",
        install = "python3 -m pip install nki, from the Neuron package repository" },
    }
    local there <const> = #items
    for _, package in ipairs(wanted) do
      package.found = false
      for i = 1, there do package.found = package.found or (items[i].packages and items[i].packages[package.name] ~= nil) or false end
      if not package.found then items[#items + 1] = package end
    end
  end
  return { title = "Python environments", items = items }
end

-- options: {python = value of --python}.
function doctor.examine(host, options)
  local manager <const> = doctor.package_manager(host)
  local python <const> = python_section(host, manager, options and options.python)
  local sections <const> = {
    host_section(host, manager), sandbox_section(host, manager), library_section(host, manager), python, neuron_section(host, python),
    duckdb_section(host),
  }
  local ok = true
  for _, section in ipairs(sections) do
    for _, item in ipairs(section.items) do
      if item.required and not item.found then ok = false end
    end
  end
  return { ok = ok, sections = sections }
end

function doctor.text(data, style, short)
  style = style or report.plain
  short = short or function(path) return path end
  local out <const> = {}
  for _, section in ipairs(data.sections) do
    out[#out + 1] = style.bold(section.title)
    local rows <const> = {}
    for _, item in ipairs(section.items) do
      local facts <const> = {}
      if item.version then facts[#facts + 1] = item.version end
      if item.note then facts[#facts + 1] = item.note end
      if item.path then facts[#facts + 1] = short(item.path) end
      local mark <const> = item.found and style.green("yes") or (item.required and style.red("NO") or style.yellow("no"))
      rows[#rows + 1] = { mark, report.clean(item.name), report.clean(table.concat(facts, "  ")) }
      if not item.found and item.enables then rows[#rows + 1] = { "", "", style.dim("for: " .. item.enables) } end
      if not item.found and item.install then rows[#rows + 1] = { "", "", style.dim("get: " .. item.install) } end
    end
    out[#out + 1] = (report.table({ {}, {}, {} }, rows, style, "  "):gsub("\n$", ""))
    out[#out + 1] = ""
  end
  return table.concat(out, "\n")
end

return doctor
