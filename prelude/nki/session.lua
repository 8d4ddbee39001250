-- SPDX-License-Identifier: MIT
-- One run of one kernel for one case: read, parse, judge by the version's rules, lower, bind the case to the entry's
-- parameters, run on the machine, collect what happened. check, sim, verifier, writer, debugger and bench all go
-- through here.
--
--   session.run{ path=, source=(text), entry=, case=<parsed>, target="trn2", version="0.6", mode="chip"|"exact",
--     execute=bool, inputs={name=array}, poison=1|2, step_limit=, roots={}, cwd=, seed=,
--     uninitialized="error"|"warning", read=function(path) }
--   -> { ok=, diagnostics={...}, outputs={{name=, array=, tensor=}}, inputs={name=array}, record=, stats=, printed={},
--        entry=, params=, location=function(site) -> {file, line, column, ...}, file }
--   session.open{...}   the same without running: {ok, diagnostics, entry, params, functions, tree, file, reach}
--
-- A run never raises for what a kernel or a case does; it reports. diagnostics are those of diagnostics.lua, with
-- `fixes` (all candidates) and `from_lint` for findings of the rules. Nothing outlives the result.

local array <const> = require "rt.array"
local ast <const> = require "nki.ast"
local case_module <const> = require "nki.case"
local diagnostics <const> = require "nki.diagnostics"
local entry_module <const> = require "nki.entry"
local fs <const> = require "rt.fs"
local isa <const> = require "nki.isa"
local language <const> = require "nki.language"
local nki <const> = require "rt.nki"
local parser <const> = require "rt.python"
local python <const> = require "python"
local runtime <const> = require "python.runtime"
local returned <const> = require("nki.fixes.outputs").returned
local rules <const> = require "nki.rules"
local siblings <const> = require "nki.siblings"
local signatures <const> = require "nki.signatures"
local source_module <const> = require "nki.source"
local syntax_repairs <const> = require("nki.fixes.syntax").repairs
local targets <const> = require "nki.targets"

local session <const> = {}

session.step_limit = 50000000 -- lowered Python operations of one run
session.printed_limit = 1000 -- lines a kernel may print

local function read_sibling(path) return fs.read(path, source_module.limits.bytes) end

local function failed(self, d)
  self.ok = false
  self.diagnostics[#self.diagnostics + 1] = d
  return self
end

-- A syntax error's column counts characters; ours count bytes.
local function byte_column(line, column)
  if not line or not column then return column end
  local ok <const>, at <const> = pcall(utf8.offset, line, column)
  return ok and at or column
end

local function syntax_diagnostic(err, file)
  local text <const> = err.line and file:line(err.line)
  local column <const> = byte_column(text, err.column)
  local stop <const> = err.end_line == err.line and byte_column(text, err.end_column) or nil
  local d <const> = diagnostics.plain(err.code == "memory" and "memory-limit" or "syntax", err.message, {
    file = file.path, line = err.line, column = column, end_line = err.line,
    end_column = stop and stop > column and stop or column and column + 1,
  })
  if d.code == "syntax" then
    local fixes <const> = syntax_repairs({ message = err.message, line = err.line, column = column }, file)
    if #fixes > 0 then d.fix, d.fixes = fixes[1], fixes end
  end
  return d
end

-- Parse and judge. Returns the opened kernel; `ok` is false when it must not run.
function session.open(options)
  local self <const> = { ok = true, diagnostics = {}, outputs = {}, printed = {} }
  local minor <const> = rules.minor(options.version)
  if not minor then
    return failed(self, diagnostics.plain("bad-version",
      ("there is no NKI version %s; the rules know %s"):format(tostring(options.version), table.concat(rules.versions, ", "))))
  end
  local target <const> = targets[options.target or "trn2"]
  if not target or type(target) ~= "table" then
    return failed(self, diagnostics.plain("bad-target", ("there is no target %s; targets are trn2, trn3, trn1, inf2"):format(tostring(options.target))))
  end
  self.minor, self.target = minor, target
  local file, why
  if options.source then
    file, why = source_module.new(options.path or "kernel.py", options.source)
  else
    file, why = source_module.read(options.path)
  end
  if not file then
    return failed(self, diagnostics.plain(why.code, why.message, { file = why.path, line = why.line, column = why.column }))
  end
  self.file = file
  local tree <const>, err <const> = parser.parse(file.text, file.path)
  if not tree then return failed(self, syntax_diagnostic(err, file)) end
  self.tree = tree
  local old <const> = rules.old_dialect(tree)
  if old then return failed(self, diagnostics.of_finding(old, file)) end
  local entry <const>, none <const> = entry_module.find(tree, file, options.entry)
  if not entry then
    self.functions = none.candidates
    none.source = nil
    none.from_lint = true
    if none.fix then none.fixes = { none.fix } end
    return failed(self, none)
  end
  self.entry, self.node, self.imports = entry.name, entry.node, entry.imports
  if #entry.candidates > 1 then self.functions = entry.candidates end
  self.params, self.more_params = entry_module.params(entry.node)
  self.reach = entry_module.reach(tree, entry.node)
  self.parents = ast.parents(tree)
  local findings <const> = rules.lint {
    tree = tree, source = file, entry = entry.node, reach = self.reach, version = options.version, target = target.name, parents = self.parents,
  }
  for _, finding in ipairs(findings) do
    local d <const> = diagnostics.of_finding(finding, file)
    d.from_lint = true
    d.text = file:line(d.line)
    self.diagnostics[#self.diagnostics + 1] = d
    if d.severity == "error" then self.ok = false end
  end
  for _, pair in ipairs(siblings.lint {
    tree = tree, file = file, reach = self.reach, roots = options.roots, read = options.read or read_sibling, version = options.version,
    target = target.name,
  }) do
    local d <const> = diagnostics.of_finding(pair[1], pair[2])
    -- Its repair would edit another file than the kernel's.
    d.from_lint, d.fix, d.fixes = true, nil, nil
    self.diagnostics[#self.diagnostics + 1] = d
    if d.severity == "error" then self.ok = false end
  end
  if target.supported == false and minor >= 2 then
    self.diagnostics[#self.diagnostics + 1] = diagnostics.plain("deprecated-api",
      ("current NKI no longer supports %s; its limits are checked all the same"):format(target.name), { severity = "warning", file = file.path })
  end
  return self
end

-- Arguments ---------------------------------------------------------------------------------------------------------

local function hash(text)
  local h = 2166136261
  for i = 1, #text do h = ((h ~ text:byte(i)) * 16777619) & 0x7fffffff end
  return h
end

-- A value of a case as a Python value.
local function python_value(value)
  if value == case_module.None then return runtime.None end
  if type(value) == "table" then
    local items <const> = {}
    for i = 1, value.n do items[i] = python_value(value[i]) end
    return runtime.tuple(items)
  end
  return value
end

local function load_array(self, options, arg)
  local path = arg.file or arg.path
  if path:sub(1, 1) ~= "/" and options.cwd then path = options.cwd .. "/" .. path end
  local bytes <const>, err <const> = fs.read(path, 1 << 32)
  if not bytes then return nil, ("@%s: %s"):format(arg.path, err.message) end
  local ok <const>, loaded, why <const> = pcall(array.read_npy, bytes)
  if not ok then return nil, ("@%s: not a .npy file: %s"):format(arg.path, type(loaded) == "table" and loaded.message or tostring(loaded)) end
  if not loaded then return nil, ("@%s: %s"):format(arg.path, type(why) == "table" and why.message or tostring(why)) end
  if loaded.size == 0 then return nil, ("@%s: holds no elements"):format(arg.path) end
  if loaded.ndim == 0 then return nil, ("@%s: holds a single number; write the number itself"):format(arg.path) end
  local dtype = loaded.dtype
  if dtype == "float64" then loaded, dtype = loaded:cast("float32"), "float32" end
  if dtype == "int64" then loaded, dtype = loaded:cast("int32"), "int32" end
  if not case_module.dtype_bytes(dtype) then return nil, ("@%s: NKI has no type %s"):format(arg.path, dtype) end
  return loaded
end

-- The data of a tensor argument: from its file, or generated from the seed. An array, or nil and what is wrong.
function session.data(arg, options)
  if arg.kind == "file" then return load_array(nil, options, arg) end
  return array.random { dtype = arg.dtype, shape = arg.shape, seed = (options.seed or 0) ~ hash(arg.name), dist = "normal" }
end

-- The machine's tensor for a tensor argument; data when it executes.
local function make_input(self, options, machine, arg)
  local data, dtype, shape = options.inputs and options.inputs[arg.name], arg.dtype, arg.shape
  if arg.kind == "file" and not data then
    local why
    data, why = load_array(self, options, arg)
    if not data then return nil, why end
  end
  if data then
    dtype, shape = arg.kind == "tensor" and arg.dtype or data.dtype, data.shape
    if arg.kind == "tensor" then
      for i = 1, math.max(#shape, #arg.shape) do
        if shape[i] ~= arg.shape[i] then
          return nil, ("the data for `%s` has shape [%s], the case says [%s]"):format(arg.name, table.concat(shape, ","), table.concat(arg.shape, ","))
        end
      end
      if data.dtype ~= dtype then data = data:cast(dtype) end
    end
  elseif options.execute then
    data = session.data(arg, options)
  end
  self.inputs[arg.name] = data
  -- The machine spells bool as NKI does.
  return machine:input(arg.name, options.execute and data or nil, dtype == "bool" and "bool_" or dtype, shape)
end

local function arguments(self, options, machine, bound)
  local kwargs <const> = {}
  for _, param in ipairs(self.params) do
    local arg <const> = bound[param.name]
    if arg then
      if arg.kind == "tensor" or arg.kind == "file" then
        local ok <const>, tensor, why = pcall(make_input, self, options, machine, arg)
        if not ok then
          local err <const> = tensor
          if type(err) == "table" and err.code then error(err, 0) end
          return nil, tostring(err)
        end
        if not tensor then return nil, why end
        kwargs[param.name] = tensor
      elseif arg.kind == "dtype" then
        kwargs[param.name] = arg.dtype == "bool" and "bool_" or arg.dtype
      else
        kwargs[param.name] = python_value(arg.value)
      end
    end
  end
  return kwargs
end

-- Errors --------------------------------------------------------------------------------------------------------------

-- What a fix and a diagnostic need to know about the place of an error.
local function where_of(self, err)
  local place <const> = err.site and err.site ~= 0 and python.location(err.site) or nil
  local node = place and place.node or err.node
  local name <const> = place and place.file or err.file or self.file.path
  local here <const> = name == self.file.path
  local file = self.file
  if not here then
    -- An error in an imported file is shown there; its repair would be another file's.
    local record <const> = place and place.module
    file = record and source_module.new(record.filename, record.source) or { path = name }
  end
  local tree <const> = here and self.tree or place and place.module and place.module.tree or nil
  local function signature(full)
    local params <const> = signatures.params(full)
    if params then return params end
    if err.params then return err.params end
    return nil
  end
  return {
    node = file.text and tree and node or nil, source = file.text and file or nil, file = file.path, tree = tree,
    parents = here and self.parents or tree and ast.parents(tree), imports = here and self.imports or tree and ast.imports(tree),
    minor = self.minor, target = self.target.name, no_fix = not here,
    signature = signature, catalogue = signatures.catalogue(), here = here,
    site_node = function(site) return here and python.sites[site] or nil end,
  }
end

-- The fields the C side names otherwise.
local function normalise(err)
  local raw <const> = err.cause
  if type(raw) == "string" and raw:find("not enough memory", 1, true) then
    err.code, err.message, err.cause = "memory-limit", "not enough memory within the limit", nil
  elseif type(raw) ~= "table" then
    err.cause = nil
  else
    -- A report of python.call: the machine's own fields are in the raw error.
    for key, value in pairs(raw) do
      if err[key] == nil and key ~= "trace" then err[key] = value end
    end
    err.cause = nil
  end
  if err.code == "unexpected-keyword" or err.code == "duplicate-argument" then err.keyword = err.keyword or err.param end
  for _, operand in ipairs(err.operands or {}) do
    operand.site = operand.site or operand.alloc_site
  end
  return err
end

local add_error
function add_error(self, err)
  if type(err) ~= "table" then
    local text <const> = tostring(err)
    if text:find("not enough memory", 1, true) then
      return failed(self, diagnostics.plain("memory-limit", "the kernel needs more memory than this run may use",
        { file = self.file.path, line = self.node.lineno }))
    end
    return failed(self, diagnostics.plain("internal", "a fault inside nkiln: " .. text, { file = self.file.path }))
  end
  if err.kind == "cancelled" or err.cancelled then error(err, 0) end
  normalise(err)
  if err.code == "internal-error" and tostring(err.message):find("not enough memory", 1, true) then
    return add_error(self, "not enough memory")
  end
  local d <const> = diagnostics.of_error(err, where_of(self, err))
  if not d.line and err.line then d.line, d.column = err.line, err.column end
  if not d.line then d.line, d.column = self.node.lineno, self.node.col_offset + 1 end
  d.text = self.file:line(d.line)
  return failed(self, d)
end
session.add_error = add_error

-- Outputs -------------------------------------------------------------------------------------------------------------

local function is_tensor(value) return type(value) == "userdata" and (getmetatable(value) or {}).__pytype == "NkiTensor" end

-- Names of what the kernel's return statement lists.
local function output_names(self, count)
  local names <const> = {}
  ast.walk(self.node, function(node)
    if node ~= self.node and node.type == "FunctionDef" then return false end
    if node.type == "Return" and node.value then
      local items <const> = (node.value.type == "Tuple" or node.value.type == "List") and node.value.elts or { node.value }
      if #items == count then
        for i, item in ipairs(items) do names[i] = item.type == "Name" and item.id or nil end
      end
    end
  end)
  local seen <const> = {}
  for i = 1, count do
    local name = names[i] or count == 1 and "output" or "output" .. (i - 1)
    while seen[name] do name = name .. "_" .. i end
    seen[name] = true
    names[i] = name
  end
  return names
end

local function collect(value, list)
  if is_tensor(value) then
    list[#list + 1] = value
    return true
  end
  if type(value) == "table" and (getmetatable(value) == runtime.Tuple or getmetatable(value) == runtime.List) then
    for i = 1, #value do
      if not collect(value[i], list) then return false end
    end
    return true
  end
  return false
end

-- The statement that returns: where errors about outputs point.
local function return_node(self)
  local found
  ast.walk(self.node, function(node)
    if node ~= self.node and node.type == "FunctionDef" then return false end
    if node.type == "Return" then found = node end
  end)
  return found
end

local function finish(self, options, machine, value)
  local tensors <const> = {}
  if value == nil or value == runtime.None then
    local fixes <const> = returned(self.node, self.file)
    return failed(self, diagnostics.plain("nothing-returned", ("the kernel `%s` returns nothing"):format(self.entry),
      { file = self.file.path, line = self.node.lineno, column = self.node.col_offset + 1, fix = fixes[1], fixes = fixes }))
  end
  if not collect(value, tensors) or #tensors == 0 then
    local at <const> = return_node(self) or self.node
    local d <const> = diagnostics.plain("not-a-tensor", ("the kernel `%s` must return tensors"):format(self.entry), self.file:span(at))
    d.file = self.file.path
    return failed(self, d)
  end
  local ok <const>, err <const> = pcall(machine.finish, machine, tensors, options.inputs_may_change)
  if not ok then
    if type(err) == "table" then
      local at <const> = return_node(self)
      normalise(err)
      local where <const> = where_of(self, err)
      if not where.node or err.code:match("^output") then where.node = at end
      local d <const> = diagnostics.of_error(err, where)
      d.text = d.line and self.file:line(d.line)
      return failed(self, d)
    end
    return add_error(self, err)
  end
  local names <const> = output_names(self, #tensors)
  for i, tensor in ipairs(tensors) do
    local output <const> = { name = names[i], tensor = tensor }
    if options.execute then output.array = machine:output_array(tensor) end
    self.outputs[i] = output
  end
  return self
end

-- Running -------------------------------------------------------------------------------------------------------------

-- nki.jit in all its spellings returns the function it is given; other attributes of the module are for host code.
local function decorator()
  return runtime.native {
    name = "nki.jit", params = { "func" }, required = 0, defaults = { func = runtime.None }, kwargs = true,
    fn = function(func)
      if func ~= nil and func ~= runtime.None then return func end
      return runtime.define("jit", "func", function(inner) return inner end)
    end,
  }
end

local function host_only(name)
  return runtime.native {
    name = "nki." .. name, params = {}, varargs = true, kwargs = true,
    fn = function() runtime.stop("value-type", "nki.%s belongs to host code; a kernel cannot call it", name) end,
  }
end

-- nki.typing: annotations only.
local function typing_module()
  local meta <const> = { __pytype = "nki.typing.tensor" }
  meta.__subscript = function(object) return object end
  local tensor <const> = setmetatable({}, meta)
  return runtime.module { name = "nki.typing", attrs = { tensor = tensor, mutable_tensor = tensor } }
end

-- The Python runtime as the NKI modules use it.
local values <const> = setmetatable({ range = python.range }, { __index = runtime })

local object

-- nl.NKIObject, the base of kernels' classes. One per Lua state: classes compare by identity.
local function object_class()
  object = object or python.define_class { name = "NKIObject", module = "nki.language" }
  return object
end

local function modules_of(self, machine)
  local attrs <const> = { jit = decorator() }
  for _, name in ipairs { "simulate", "benchmark", "baremetal", "profile" } do attrs[name] = host_only(name) end
  attrs.typing = typing_module()
  local built <const> = language.build(machine, values, {
    target = self.target, attrs = attrs, object_class = object_class(),
    print = function(line) self.printed[#self.printed + 1] = line end,
  })
  built["nki.typing"] = attrs.typing
  return function(name, level)
    if level and level > 0 then return nil end
    -- Constants of the file may be computed with NumPy; inside kernel code the rules have refused it already.
    if name == "numpy" and built.numpy == nil then
      local ok <const>, library <const> = pcall(function() return require("reference").library("numpy") end)
      built.numpy = ok and library or nil
    end
    return built[name]
  end
end

-- Load the module, call the entry, collect. Everything that the kernel does wrong becomes a diagnostic.
local function execute(self, options, bound)
  local machine <const> = nki.machine {
    target = self.target, isa = isa, language = language, mode = options.mode or "chip", execute = options.execute and true or false,
    round_operands = options.round_operands,
    poison = options.poison or 1, uninitialized = options.uninitialized or "error", none = runtime.None, tuple = runtime.Tuple,
  }
  local modules <const> = modules_of(self, machine)
  local roots <const> = options.roots or { self.file.path:match("^(.*)/[^/]*$") or "." }
  python.limit(options.step_limit or session.step_limit)
  local module <const>, problem <const> = python.load {
    path = self.file.path, filename = self.file.path, source = self.file.text, tree = entry_module.prune(self.tree, self.reach), imports = "kernel",
    modules = modules, siblings = python.siblings { roots = roots, modules = modules, imports = "kernel", read = options.read or read_sibling },
  }
  if not module then return add_error(self, problem) end
  -- Sites of the record can be located as long as the result lives: the module is what keeps them.
  self.location = function(site) return module and python.location(site) or nil end
  local ok <const>, kwargs, why = pcall(arguments, self, options, machine, bound)
  if not ok then return add_error(self, kwargs) end
  if not kwargs then return failed(self, diagnostics.plain("case-file", why)) end
  local value <const>, err <const> = python.call(rawget(module, self.entry), {}, kwargs)
  local stats_ok <const>, stats <const> = pcall(machine.stats, machine)
  if stats_ok then self.stats = stats end
  for _, warning in ipairs(machine:warnings()) do
    normalise(warning)
    warning.severity = "warning"
    local d <const> = diagnostics.of_error(warning, where_of(self, warning))
    d.severity = "warning"
    self.diagnostics[#self.diagnostics + 1] = d
  end
  if err then return add_error(self, err) end
  finish(self, options, machine, value)
  self.machine = machine
  if self.ok then self.record = machine:record() end
  return self
end

function session.run(options)
  local self <const> = session.open(options)
  self.inputs, self.stats = {}, { instructions = 0 }
  if not self.ok then return self end
  local case <const> = options.case or { text = "", args = {} }
  local bound <const>, bad <const> = case_module.bind(case, self.params, self.entry)
  if not bound then
    return failed(self, diagnostics.plain(bad.code, case_module.line(bad), {
      pointer = case_module.render(bad), hint = bad.accepted and "accepted: " .. bad.accepted,
    }))
  end
  local before <const> = runtime.print_to
  python.set_print(function(text)
    for line in text:gsub("\n$", ""):gmatch("[^\n]*") do
      if #self.printed < session.printed_limit then self.printed[#self.printed + 1] = line end
    end
  end)
  local ok <const>, err <const> = pcall(execute, self, options, bound)
  python.set_print(before)
  if not ok then
    -- Lack of memory and the machine's own refusals are the kernel's; anything else is a fault of ours and is raised.
    if type(err) == "table" and err.code or tostring(err):find("not enough memory", 1, true) then return add_error(self, err) end
    error(err, 0)
  end
  return self
end

return session
