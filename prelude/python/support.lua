-- SPDX-License-Identifier: MIT
-- What lowered code calls besides rt.pyops: functions and generators, imports, and the table R as the chunks see it.

local R <const> = require "python.runtime"
require "python.builtins"

local ops <const>, None <const> = R.ops, R.None

for _, part in ipairs { "python.classes", "python.errors", "python.containers", "python.format" } do
  for name, value in pairs(require(part)) do
    if name:find "^%u" then R[name] = value end
  end
end
local containers <const> = require "python.containers"
R.binop, R.compare, R.getitem, R.setitem = containers.binop, containers.compare, containers.getitem, containers.setitem

for name, value in pairs(ops) do
  if name:find "^%u" then R[name] = value end
end

R.NAN, R.INF = 0.0 / 0.0, math.huge

function R.BYTES(text) return setmetatable({ text }, R.Bytes) end

-- functions -------------------------------------------------------------------------------------------------------------------

local info <const>, prototypes <const> = R.info, R.prototypes
local proto_of <const> = setmetatable({}, { __mode = "k" }) -- signature -> description

-- Signatures of a chunk's prototypes.
function R.make_prototypes(list)
  local out <const> = {}
  for i, proto in ipairs(list) do
    out[i] = ops.signature(proto)
    proto_of[out[i]] = proto
    proto.signature = out[i]
  end
  return out
end

setmetatable(prototypes, { __index = function(_, fn)
  local signature <const> = info[fn]
  return signature and proto_of[signature]
end })

function R.FUNC(signature, fn)
  info[fn] = signature
  return fn
end

function R.FUNCX(signature, fn)
  info[fn] = signature
  return ops.callable(signature, fn, nil, proto_of[signature])
end

R.generator_names = setmetatable({}, { __mode = "k" })

-- An iterator over what the body yields. Its frames are added to the traceback of the frames that drive it.
function R.GENERATOR(signature, body)
  R.generator_names[body] = signature and proto_of[signature].name or "<genexpr>"
  local iterator
  local thread <const> = coroutine.create(function()
    local ok <const>, e <const> = xpcall(body, R.handler)
    if not ok then error(e, 0) end
    iterator.returned = e
  end)
  local done = false
  iterator = R.iterator(function()
    if done then return nil end
    local ok <const>, value <const> = coroutine.resume(thread)
    if not ok then
      done = true
      if type(value) == "table" and value.trace then
        for _, frame in ipairs(ops.trace(1)) do value.trace[#value.trace + 1] = frame end
      end
      error(value, 0)
    end
    if coroutine.status(thread) == "dead" then
      done = true
      return nil
    end
    return value
  end)
  return iterator
end

-- What the body of a generator returned when it ended: the value of `yield from`.
function R.RETURNED(iterator)
  local value
  if R.kind(iterator) == "iterator" then value = iterator.returned end
  if value == nil then return R.None end
  return value
end

R.YIELD = coroutine.yield
R.Iterator.__methods = R.methods("generator", { close = { "", function() end } })

-- Where rt.pyops looks for the methods of built-in types.
for _, mt in ipairs { R.List, R.Tuple, R.Dict, R.Set, R.FrozenSet, R.Range, R.Bytes, R.Iterator } do mt[2] = mt.__methods end

-- imports ---------------------------------------------------------------------------------------------------------------------

R.stdlib = {} -- name -> module or function that makes it

-- Modules that a kernel may not import even without using them.
local forbidden <const> = {}
for name in ([[os sys subprocess socket shutil pathlib importlib ctypes builtins inspect pickle multiprocessing threading signal io
  tempfile glob urllib http requests asyncio concurrent marshal code gc resource mmap fcntl pty platform webbrowser]]):gmatch "%a+" do
  forbidden[name] = true
end

local Missing <const> = { __pytype = "module", __missing = true }

local function missing_used(missing)
  error({ kind = "nki", code = "import-not-allowed", site = ops.site(), name = missing.name,
    message = ("`%s` is not available here: nkiln runs kernels and references itself, without Python's packages"):format(missing.name) }, 0)
end
for _, hook in ipairs { "__pygetattr", "__pycall", "__subscript", "__setsubscript", "__pyiter", "__pylen", "__pyenter", "__pysetattr",
  "__pytruth" } do
  Missing[hook] = missing_used
end
Missing.__pybinop = function(_, a, b) missing_used(getmetatable(a) == Missing and a or b) end
Missing.__pyrepr = function(missing) return ("<module '%s'>"):format(missing.name) end

local function missing(name) return setmetatable({ name = name }, Missing) end

local function resolve(globals, name, level)
  local home <const> = globals[4]
  local found, err
  if home.modules then found, err = home.modules(name, level, home) end
  if found == nil and err == nil and level == 0 then
    found = R.stdlib[name]
    if type(found) == "function" then
      found = found()
      R.stdlib[name] = found
    end
  end
  if found == nil and err == nil and home.siblings then found, err = home.siblings(name, level, home) end
  return found, err
end

-- The module object of a dotted name.
function R.IMPORT(site, globals, name, level, in_try)
  ops.site(site)
  local found <const>, err <const> = resolve(globals, name, level)
  if found ~= nil then return found end
  if err then error(err, 0) end
  local home <const> = globals[4]
  local top <const> = name:match "^[^.]*"
  if level > 0 then
    R.raise("ImportError", "cannot import '%s%s': no such file beneath the folders it may read", ("."):rep(level), name)
  end
  if in_try then R.raise("ModuleNotFoundError", "No module named '%s'", name) end
  if home.imports == "kernel" and forbidden[top] then
    error({ kind = "nki", code = "import-not-allowed", site = site, name = name,
      message = ("a kernel may not import `%s`: it reaches outside the kernel"):format(name) }, 0)
  end
  return missing(name)
end

-- `import a.b.c`: binds a, in which b.c can be found.
function R.IMPORTTOP(site, globals, name, in_try)
  if not name:find(".", 1, true) then return R.IMPORT(site, globals, name, 0, in_try) end
  local top <const> = R.IMPORT(site, globals, name:match "^[^.]+", 0, in_try)
  if getmetatable(top) == Missing then return top end
  local path, holder = name:match "^[^.]+", top
  for part in name:gmatch "%.([^.]+)" do
    path = path .. "." .. part
    local inner = R.getattr(holder, part)
    if inner == nil then
      inner = R.IMPORT(site, globals, path, 0, in_try)
      if R.kind(holder) == "module" then rawset(holder, part, inner) end
    end
    holder = inner
  end
  return top
end

function R.IMPORTNAME(site, globals, module, name, in_try)
  ops.site(site)
  if getmetatable(module) == Missing then return missing(module.name .. "." .. name) end
  if R.internals[name] then R.refuse_internal(name) end
  if R.kind(module) ~= "module" then
    local value <const> = R.getattr(module, name)
    if value ~= nil then return value end
    R.raise("ImportError", "cannot import name '%s'", name)
  end
  if rawget(module, name) ~= nil then return rawget(module, name) end
  local home <const> = rawget(module, 4)
  if not rawget(module, 2) then
    local inner <const>, err <const> = resolve(module, name, 1)
    if inner ~= nil then return inner end
    if err then error(err, 0) end
  else
    local inner <const> = resolve(globals, module[1] .. "." .. name, 0)
    if inner ~= nil then return inner end
    local value <const> = R.getattr(module, name)
    if value ~= nil then return value end
  end
  error({ kind = "python", etype = "ImportError", code = "unknown-name", site = site, name = name, module = module[1], in_try = in_try,
    message = ("cannot import name '%s' from '%s'"):format(name, home and home.filename or module[1]) }, 0)
end

function R.IMPORTALL(site, globals, module)
  ops.site(site)
  if getmetatable(module) == Missing then return end
  local names = rawget(module, "__all__")
  if names then
    names = R.collect(names)
  else
    names = {}
    for name in pairs(module) do
      if type(name) == "string" and name:sub(1, 1) ~= "_" then names[#names + 1] = name end
    end
  end
  for _, name in ipairs(names) do globals[name] = R.getattr(module, name) end
end

-- An empty Python module to run a chunk in. home: { name, filename, modules, siblings, imports }
function R.python_module(home)
  local module <const> = setmetatable({ home.name, false, false, home }, R.Module)
  module.__name__, module.__file__, module.__doc__ = home.name, home.filename, None
  return module
end

return R
