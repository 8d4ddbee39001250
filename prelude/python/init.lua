-- SPDX-License-Identifier: MIT
-- Python programs in this Lua state: load a file, list and call its functions, and turn what goes wrong into data.
--
--   python.load{ path=, source=, tree=, filename=, name=, modules=, siblings= or roots= and read=, imports="kernel"|"reference",
--     step_limit=, print= } -> module | nil, error
--   python.call(fn, args, kwargs) -> value | nil, error
--   python.functions(module) -> { {name, params, node, decorators, jit, value} ... } in the order of the file
--   python.native, python.define, python.module, python.define_class ...: see runtime.lua and classes.lua
--   python.sites[id] -> node of a call site; python.location(id) -> {file, line, column, end_line, end_column, text...}
--
-- An error is { code, etype, message, file, line, column, end_line, end_column, traceback = {{file, line, function} ...},
-- cause = the raw error }. Lines and columns count from 1, columns in bytes; the traceback's last entry is the innermost.

local R <const> = require "python.support"
local lower <const> = require "python.lower"
require "python.stdlib"

local ops <const> = R.ops
local load_chunk <const> = load

local python <const> = {
  None = R.None, Ellipsis = R.Ellipsis, NotImplemented = R.NotImplemented, runtime = R,
  native = R.native, define = R.define, module = R.module, methods = R.methods, define_class = R.define_class,
  define_exception = R.define_exception, list = R.list, tuple = R.tuple, dict = R.dict, iterator = R.iterator,
  raise = R.raise, stop = R.stop, repr = R.repr, str = R.str, truth = R.truth, equal = R.equal, type_name = R.type_name,
  kind = R.kind, getattr = R.getattr, collect = R.collect, dict_get = R.dict_get, dict_set = R.dict_set, dict_entries = R.dict_entries,
  range = ops.range, builtins = R.builtins,
}

-- Records of loaded modules in the order of their sites. A module that nobody holds any longer is forgotten.
local modules <const> = setmetatable({}, { __mode = "v" })
local module_count = 0
local next_site = 1
local last_record = setmetatable({}, { __mode = "v" })

function python.set_print(fn) R.print_to = fn end
python.limit = ops.limit

-- A module's attribute, or nil.
function python.get(module, name) return rawget(module, name) end

function python.site_node(site) return python.sites[site] end

-- A base class for natively provided object types (nl.NKIObject): a plain class.
function python.object_class(name) return R.new_class(name or "NKIObject", {}, "nki.language") end

-- Markers on a function (`jit` and the like).
function python.attrs(fn)
  local attrs <const> = R.function_attrs[fn] or {}
  R.function_attrs[fn] = attrs
  return attrs
end

local chunk_names <const> = setmetatable({}, { __mode = "k" })

-- places ----------------------------------------------------------------------------------------------------------------------

local function record_of(site)
  local record = last_record[1]
  if record and site >= record.first_site and site <= record.last_site then return record end
  for i = module_count, 1, -1 do
    record = modules[i]
    if record and site >= record.first_site and site <= record.last_site then
      last_record[1] = record
      return record
    end
  end
  return nil
end

python.sites = setmetatable({}, { __index = function(_, site)
  local record <const> = math.type(site) == "integer" and record_of(site)
  return record and record.sites[site] or nil
end })

local function span(node, file)
  return { file = file, line = node.lineno, column = (node.col_offset or 0) + 1, end_line = node.end_lineno,
    end_column = node.end_col_offset and node.end_col_offset + 1, node = node }
end

function python.location(site)
  local node <const> = python.sites[site]
  local record <const> = node and record_of(site)
  if not record then return nil end
  local place <const> = span(node, record.filename)
  place.module = record
  return place
end

local function find_name(tree, name, line)
  local found
  local function walk(node)
    if found then return end
    if node.type == "Name" and node.id == name and node.lineno == line then
      found = node
      return
    end
    for key, child in pairs(node) do
      if type(child) == "table" and key ~= "as_list" then walk(child) end
    end
  end
  walk(tree)
  return found
end

-- Frames of the traceback, outermost first. Frames of helper functions (bodies of try, with, classes) belong to the
-- Python function around them.
local function traceback_of(e)
  local frames <const> = {}
  local pending
  for _, frame in ipairs(e.trace or {}) do
    local file <const>, line <const>, fn <const> = frame[1], frame[2], frame[3]
    local proto <const> = R.prototypes[fn]
    local name <const> = proto and proto.name or chunk_names[fn] or R.generator_names[fn]
    if not pending or pending.file ~= file then pending = { file = file, line = line } end
    if name then
      table.insert(frames, 1, { file = file, line = pending.line, ["function"] = name })
      pending = nil
    end
  end
  if pending then table.insert(frames, 1, { file = pending.file, line = pending.line, ["function"] = "<module>" }) end
  return frames
end

local copied <const> = { "code", "etype", "message", "func", "param", "params", "name", "module", "operands", "reason", "source", "fix", "notes" }

local function report(e)
  local out <const> = { kind = e.kind, cause = e, traceback = traceback_of(e) }
  for _, key in ipairs(copied) do out[key] = e[key] end
  if not out.code then out.code = e.kind == "python" and "python-error" or "internal-error" end
  if out.etype == "AssertionError" and not e.code then out.code = "assertion-failed" end
  local top <const> = out.traceback[#out.traceback]
  local place
  if e.place then
    place = e.place
  elseif e.site and e.site ~= 0 then
    place = python.location(e.site)
  end
  if not place and top then
    place = { file = top.file, line = e.line or top.line }
    if e.name then
      for i = 1, module_count do
        local record <const> = modules[i]
        if record and record.filename == top.file then
          local node <const> = find_name(record.tree, e.name, place.line)
          if node then place = span(node, record.filename) end
        end
      end
    end
  end
  if place then
    for _, key in ipairs { "file", "line", "column", "end_line", "end_column", "node" } do out[key] = place[key] end
    out.site = e.site or nil
    if top and top.file == place.file and place.line then top.line = place.line end
  end
  if not out.column and out.line then out.column = 1 end
  return out
end
python.report = report

-- A traceback as Python prints it.
function python.format_error(err)
  local out <const> = {}
  if #(err.traceback or {}) > 0 then
    out[1] = "Traceback (most recent call last):"
    for _, frame in ipairs(err.traceback) do
      out[#out + 1] = ('  File "%s", line %d, in %s'):format(frame.file, frame.line, frame["function"])
    end
  end
  out[#out + 1] = (err.etype or err.code) .. (err.message ~= "" and ": " .. err.message or "")
  return table.concat(out, "\n")
end

-- Run fn(...) and give its value, or nil and a report.
function python.protect(fn, ...)
  local ok <const>, value <const> = xpcall(fn, R.handler, ...)
  if ok then return value == nil and R.None or value end
  return nil, report(R.as_error(value))
end

-- loading ---------------------------------------------------------------------------------------------------------------------

local function failure(code, message, filename, at)
  at = at or {}
  return { kind = "load", code = code, message = message, file = filename, line = at.line, column = at.column, end_line = at.end_line,
    end_column = at.end_column, text = at.text, traceback = {} }
end

local function read_file(path)
  local file <const>, message <const> = io.open(path, "rb")
  if not file then return nil, message end
  local text <const> = file:read "a"
  file:close()
  return text
end

-- Parse and lower; nothing runs. Gives a module whose body `python.execute` runs.
function python.prepare(options)
  local filename <const> = options.filename or options.path or "<string>"
  local source, message = options.source, nil
  if not source then source, message = (options.read or read_file)(options.path) end
  if not source then return nil, failure("file-unreadable", message or "cannot be read", filename) end
  local tree, err = options.tree, nil
  if not tree then tree, err = require("rt.python").parse(source, filename) end
  if not tree then return nil, failure(err.code or "syntax", err.message, filename, err) end
  local runnable, lowering_error = lower.lower(tree, { builtin = function(name) return R.builtins[name] ~= nil end, first_site = next_site })
  if not runnable then return nil, failure(lowering_error.code, lowering_error.message, filename, lowering_error) end
  local chunk <const>, complaint <const> = load_chunk(runnable.source, "@=" .. filename, "t", {})
  if not chunk then
    local line <const> = tonumber(tostring(complaint):match ":(%d+):") or 1
    local what <const> = tostring(complaint)
    if what:find "too many" or what:find "overflow" or what:find "limit" or what:find "registers" then
      return nil, failure("python-unsupported", "this part of the program is too large or nested too deeply", filename, { line = line, column = 1 })
    end
    return nil, failure("internal-error", "internal error in lowering: " .. what, filename, { line = line, column = 1 })
  end
  next_site = runnable.last_site + 1
  local home <const> = {
    name = options.name or (filename:match "([^/]+)%.py$") or "module",
    filename = filename,
    source = source,
    tree = tree,
    modules = options.modules,
    siblings = options.siblings,
    imports = options.imports or "kernel",
    package = options.package,
    refusals = runnable.refusals,
    first_site = runnable.first_site,
    last_site = runnable.last_site,
    sites = runnable.sites,
    lua_source = runnable.source,
    runnable = runnable,
  }
  module_count = module_count + 1
  modules[module_count] = home
  local module <const> = R.python_module(home)
  home.module = module
  for _, proto in ipairs(runnable.prototypes) do proto.home = home end
  home.run = function()
    chunk_names[chunk] = "<module>"
    local keywords <const> = {}
    for i, names in ipairs(runnable.keywords) do keywords[i] = ops.keywords(names) end
    chunk(R, module, R.builtins, {}, R.make_prototypes(runnable.prototypes), keywords)
    return module
  end
  return module
end

function python.execute(module)
  local _, err <const> = python.protect(module[4].run)
  if err then return nil, err end
  return module
end

function python.load(options)
  if options.step_limit then python.limit(options.step_limit) end
  if options.print then python.set_print(options.print) end
  if options.roots and not options.siblings then
    local copy <const> = {}
    for k, v in pairs(options) do copy[k] = v end
    copy.imports = options.imports or options.kind
    copy.siblings = python.siblings { roots = options.roots, read = options.read, modules = options.modules, imports = copy.imports }
    options = copy
  end
  local module <const>, err <const> = python.prepare(options)
  if not module then return nil, err end
  return python.execute(module)
end

-- What a module was made from: filename, source, tree, refusals ...
function python.record(module) return rawget(module, 4) end

-- functions -------------------------------------------------------------------------------------------------------------------

-- Description of a Python function, or nil for any other value.
function python.describe(fn)
  local proto <const> = R.prototype(fn)
  if not proto then return nil end
  local defaults <const> = {}
  for i, name in ipairs(proto.params) do
    if proto.default_nodes[i] then defaults[name] = proto.default_nodes[i] end
  end
  local attrs <const> = R.function_attrs[fn] or {}
  return {
    name = proto.name, node = proto.node, decorators = proto.node.decorator_list or {}, doc = proto.doc, value = fn, jit = attrs.jit or false,
    attrs = attrs, home = proto.home,
    params = { names = proto.params, required = proto.required, positional = proto.positional, defaults = defaults, varargs = proto.varargs,
      kwargs = proto.kwargs },
  }
end

function python.functions(module)
  local out <const> = {}
  for name, value in pairs(module) do
    if type(name) == "string" and (type(value) == "function" or R.kind(value) == "callable") then
      local described <const> = python.describe(value)
      if described and described.home == module[4] then
        described.name = name
        out[#out + 1] = described
      end
    end
  end
  table.sort(out, function(a, b)
    if a.node.lineno ~= b.node.lineno then return a.node.lineno < b.node.lineno end
    return a.name < b.name
  end)
  return out
end

-- Call a Python value. args: list of values; kwargs: table of names to values, or a Python dict.
function python.call(fn, args, kwargs)
  if type(fn) == "table" and getmetatable(fn) == nil and fn.value ~= nil then fn = fn.value end
  local dict
  if kwargs and R.kind(kwargs) == "dict" then
    dict = kwargs
  elseif kwargs and next(kwargs) ~= nil then
    dict = ops.DICT {}
    local names <const> = {}
    for name in pairs(kwargs) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do ops.dict_set(dict, name, kwargs[name]) end
  end
  return python.protect(R.call_spread, fn, args or {}, dict)
end

-- sibling modules -------------------------------------------------------------------------------------------------------------

local function normal_path(path)
  local parts <const> = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then
      if #parts == 0 or parts[#parts] == ".." then parts[#parts + 1] = ".." else parts[#parts] = nil end
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return (path:sub(1, 1) == "/" and "/" or "") .. table.concat(parts, "/")
end

local function beneath(path, roots)
  for _, root in ipairs(roots) do
    local base <const> = normal_path(root)
    if base == "" or path == base or path:sub(1, #base + 1) == base .. "/" then
      if base ~= "" or (path:sub(1, 2) ~= ".." and path:sub(1, 1) ~= "/") then return true end
    end
  end
  return false
end

-- A resolver of modules beneath the roots: options { roots = {folders}, read = function(path) -> text or nil,
-- modules = resolver of native modules, imports = }. Give it to `load` as `siblings`.
function python.siblings(options)
  local loaded <const> = {} -- path -> module
  local read <const> = options.read or read_file
  local resolver

  local function from_path(path, name, package)
    if loaded[path] then return loaded[path] end
    if not beneath(path, options.roots) then return nil end
    local source <const> = read(path)
    if not source then return nil end
    local module <const>, err <const> = python.prepare {
      source = source, filename = path, name = name, modules = options.modules, siblings = resolver, imports = options.imports, package = package,
    }
    if not module then
      return nil, { kind = "nki", code = err.code, message = err.message, place = err }
    end
    loaded[path] = module
    local ok <const>, e <const> = xpcall(module[4].run, R.handler)
    if not ok then
      loaded[path] = nil
      return nil, e
    end
    return module
  end

  local function under(folder, name)
    local base <const> = normal_path(folder .. "/" .. name:gsub("%.", "/"))
    local module, err = from_path(base .. ".py", name, nil)
    if module == nil and err == nil then module, err = from_path(base .. "/__init__.py", name, base) end
    return module, err
  end

  function resolver(name, level, from)
    local own <const> = from.package or from.filename:match "^(.*)/[^/]*$" or "."
    if level > 0 then
      local folder = own
      for _ = 2, level do folder = folder .. "/.." end
      folder = normal_path(folder)
      if name == "" then
        local package <const>, err <const> = from_path(normal_path(folder .. "/__init__.py"), from.name, folder)
        if package ~= nil or err then return package, err end
        if not beneath(folder == "" and "." or folder, options.roots) and folder ~= "" then return nil end
        return R.python_module { name = name, filename = folder .. "/__init__.py", modules = options.modules, siblings = resolver, package = folder,
          imports = options.imports }
      end
      return under(folder, name)
    end
    local module, err = under(own, name)
    if module ~= nil or err then return module, err end
    for _, root in ipairs(options.roots) do
      module, err = under(root, name)
      if module ~= nil or err then return module, err end
    end
    return nil
  end
  return resolver
end

return python
