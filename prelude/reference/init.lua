-- SPDX-License-Identifier: MIT
-- References: a Python function over NumPy or PyTorch arrays that says what a kernel computes. `load` finds it, `run` calls
-- it on numbers in float64, `trace` calls it on symbolic arrays and returns its expression graph.
--
-- Failures come back as nil, err with err = {code, message, file, line, ...}: the reference's own mistakes, functions this
-- library does not have (code "reference-unsupported", which an external Python may still run), files that are not there.

local array <const> = require "rt.array"
local ast <const> = require "nki.ast"
local core <const> = require "reference.core"
local external <const> = require "reference.external"
local objects <const> = require "reference.objects"
local fs <const> = require "rt.fs"
local python <const> = require "python"
local rolled <const> = require "reference.rolled"
local runtime <const> = require "python.runtime"
local source_module <const> = require "nki.source"
local trace_module <const> = require "reference.trace"

local M <const> = {}

local SOURCE_LIMIT <const> = 8 << 20 -- bytes of a Python file
local STEP_LIMIT <const> = 200000000 -- lowered operations of one call

local Reference <const> = {}
Reference.__index = Reference

local cached_modules = nil

-- The library modules a reference may import.
local function library(name)
  if not cached_modules then
    local numpy <const> = require "reference.numpy"
    cached_modules = require("reference.torch").modules()
    cached_modules.numpy = numpy.module()
    cached_modules["scipy.special"] = numpy.special_module()
    cached_modules.scipy = runtime.module({ name = "scipy", attrs = { __name__ = "scipy", special = cached_modules["scipy.special"] } })
  end
  return cached_modules[name]
end
M.library = library

-- "ref.py:fn" -> "ref.py", "fn".
function M.split(text)
  local path <const>, fn <const> = text:match("^(.*%.py):([%a_][%w_]*)$")
  if path then return path, fn end
  return text, nil
end

local function failure(err)
  local code = err.code
  if code == "internal-error" then -- a value that the library here does not expect: NumPy itself may know what to do with it
    err.detail, err.message, code = err.message, "nkiln's own NumPy and PyTorch do not run this line", "reference-unsupported"
  end
  if err.etype == "NotImplementedError" or err.etype == "ModuleNotFoundError" or err.etype == "ImportError" or code == "import-not-allowed"
    or code == "python-unsupported" then
    code = "reference-unsupported"
  elseif err.etype == "AttributeError" and (err.message or ""):find("^module '[%a%.]+'") then
    code = "reference-unsupported"
  end
  err.code = code or "reference-failed"
  return nil, err
end

-- The text of a function that makes a module of a class and calls its forward: the parameters of forward, then those of __init__.
-- nil where no class of the module is named `wanted`; without a name, the only class that has a forward.
local function class_wrapper(module, wanted)
  local record <const> = python.record(module)
  local lines <const> = {}
  for line in ((record.source or "") .. "\n"):gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  local found, several
  for _, node in ipairs(record.tree.body) do
    if node.type == "ClassDef" and (wanted == nil or node.name == wanted) then
      local parts <const> = { name = node.name }
      for _, item in ipairs(node.body) do
        if item.type == "FunctionDef" and (item.name == "forward" or item.name == "__init__") then parts[item.name] = item.args end
      end
      if parts.forward then found, several = parts, found ~= nil end
    end
  end
  if not found or several then return nil end
  local signature <const>, calls <const> = {}, {}
  for _, part in ipairs({ "forward", "__init__" }) do
    local args <const>, passed <const> = found[part], {}
    if args then
      if args.vararg or args.kwarg then return nil end
      local function add(arg, default)
        local text = arg.arg
        if default then
          if default.lineno ~= default.end_lineno then return end
          text = text .. "=" .. lines[default.lineno]:sub(default.col_offset + 1, default.end_col_offset)
        end
        signature[#signature + 1] = text
        passed[#passed + 1] = arg.arg .. "=" .. arg.arg
      end
      local list <const> = args.args
      for i = 2, #list do add(list[i], args.defaults[i - #list + #args.defaults]) end
      for i, arg in ipairs(args.kwonlyargs or {}) do
        local default <const> = args.kw_defaults[i]
        add(arg, type(default) == "table" and default.type and default or nil)
      end
      if part == "forward" and args.defaults[1] then return nil end
    end
    calls[part] = table.concat(passed, ", ")
  end
  local name <const> = found.name:gsub("(%l)(%u)", "%1_%2"):lower()
  return ("\n\n\ndef %s_of_module(%s):\n    return %s(%s)(%s)\n"):format(name, table.concat(signature, ", "), found.name, calls.__init__ or "",
    calls.forward), name .. "_of_module"
end

-- Load a reference. opts: path, fn (nil: the only public function), source (text instead of the file), roots, read, step_limit,
-- ask = the worker job's `call`: then a reference that needs more than the library here is run by a Python of this machine.
function M.load(opts)
  local source = opts.source
  if not source then
    local file <const>, why <const> = source_module.read(opts.path)
    if not file then return nil, { code = why.code, file = why.path or opts.path, line = why.line, column = why.column, message = why.message } end
    source = file.text
  end
  local roots <const> = opts.roots or { opts.path:match("^(.*)/[^/]*$") or "." }
  local function read(path) return fs.read(path, SOURCE_LIMIT) end
  python.limit(opts.step_limit or STEP_LIMIT)
  local module <const>, err <const> = python.load({
    path = opts.path, source = source, filename = opts.path, imports = "reference", modules = library,
    siblings = python.siblings({ roots = roots, read = read, modules = library, imports = "reference" }),
  })
  if not module then return failure(err) end
  local functions <const> = python.functions(module)
  local defined = false
  for _, fn in ipairs(functions) do defined = defined or fn.name == opts.fn end
  if not opts.in_class and (opts.fn and not defined or not opts.fn and #functions == 0) then
    local wrapper <const>, name <const> = class_wrapper(module, opts.fn)
    if wrapper then
      local again <const> = {}
      for k, v in pairs(opts) do again[k] = v end
      again.source, again.fn, again.in_class = source .. wrapper, name, opts.fn or name
      local made <const>, why <const> = M.load(again)
      if made then made.name = name:gsub("_of_module$", "") end
      return made, why
    end
  end
  local names <const> = {}
  local chosen = nil
  for _, fn in ipairs(functions) do
    names[#names + 1] = fn.name
    if fn.name == opts.fn then chosen = fn end
  end
  if opts.fn then
    if not chosen then
      return nil, { code = "no-such-function", file = opts.path, message = ("%s has no function '%s'%s"):format(opts.path, opts.fn,
        #names > 0 and "; it has " .. table.concat(names, ", ") or "") }
    end
  else
    local public <const> = {}
    for _, fn in ipairs(functions) do
      if not fn.name:find("^_") then public[#public + 1] = fn end
    end
    if #public == 0 then public[1] = functions[1] end
    if #public == 0 then return nil, { code = "no-such-function", file = opts.path,
      message = ("%s defines no function to use as a reference"):format(opts.path) } end
    if #public > 1 then
      for _, fn in ipairs(public) do
        if fn.name == "reference" or fn.name == "ref" then chosen = fn end
      end
      if not chosen then
        -- Helpers are called by what they help; the reference is the one that nothing else calls.
        local called <const> = {}
        for _, fn in ipairs(functions) do
          ast.walk(fn.node, function(node)
            if node.type == "Name" and node.id ~= fn.name then called[node.id] = true end
          end)
        end
        local roots_only <const> = {}
        for _, fn in ipairs(public) do
          if not called[fn.name] then roots_only[#roots_only + 1] = fn end
        end
        if #roots_only == 1 then chosen = roots_only[1] end
      end
      if not chosen then
        return nil, { code = "ambiguous-function", file = opts.path,
          message = ("%s defines %s; say which one with %s:NAME"):format(opts.path, table.concat(names, ", "), opts.path) }
      end
    else
      chosen = public[1]
    end
  end
  return setmetatable({ path = opts.path, name = chosen.name, fn = chosen.value or chosen, params = chosen.params, node = chosen.node,
    module = module, ask = opts.ask }, Reference)
end

-- The framework whose arrays the reference expects: torch if the module imports it, else numpy.
function Reference:family()
  if self.family_cache then return self.family_cache end
  local source <const> = python.record(self.module).source or ""
  local torch <const> = ("\n" .. source):find("\n%s*import%s+torch") or ("\n" .. source):find("\n%s*from%s+torch")
  local numpy <const> = ("\n" .. source):find("\n%s*import%s+numpy") or ("\n" .. source):find("\n%s*from%s+numpy")
  local name = torch and "torch" or "numpy"
  if torch and numpy then
    -- Both: numpy only if the function's own text mentions it and not torch.
    local from <const>, to <const> = self.node and self.node.lineno or 1, self.node and self.node.end_lineno or math.huge
    local line, uses_torch, uses_numpy = 0, false, false
    for text in (source .. "\n"):gmatch("([^\n]*)\n") do
      line = line + 1
      if line >= from and line <= to and (text:find("torch") or text:find("%f[%w]F%.") or text:find("%f[%w]nn%.")) then uses_torch = true end
      if line >= from and line <= to and (text:find("%f[%w]np%.") or text:find("numpy")) then uses_numpy = true end
      -- Methods tell by the names of their arguments.
      if line >= from and line <= to and text:find("%f[%w]keepdim=") then uses_torch = true end
      if line >= from and line <= to and (text:find("%f[%w]axis=") or text:find("%f[%w]keepdims=")) then uses_numpy = true end
    end
    name = uses_numpy and not uses_torch and "numpy" or "torch"
  end
  self.family_cache = require("reference." .. name).family
  return self.family_cache
end

-- Pair a case's arguments with the reference's parameters: by name where all names are known, else by position.
local function pair(self, args)
  local known <const> = {}
  for _, name in ipairs(self.params.names) do known[name] = true end
  local by_name = true
  for _, arg in ipairs(args) do by_name = by_name and (known[arg.name] or self.params.kwargs) end
  local positional <const>, keywords <const> = {}, {}
  if by_name then
    for _, arg in ipairs(args) do keywords[arg.name] = arg.python end
  else
    for i, arg in ipairs(args) do positional[i] = arg.python end
  end
  return positional, keywords
end

local function outputs_of(self, value)
  if core.is_tensor(value) then return { value } end
  if core.is_scalar(value) then
    if type(value) == "table" then return { core.full({}, value, "float64", self:family()) } end
    return { core.wrap(array.new(math.type(value) == "integer" and "int64" or type(value) == "boolean" and "bool" or "float64", {}, value), self:family()) }
  end
  local items <const> = objects.sequence(value)
  if not items then return nil end
  local out <const> = {}
  for i, item in ipairs(items) do
    local one <const> = outputs_of(self, item)
    if not one or #one ~= 1 then return nil end
    out[i] = one[1]
  end
  return #out > 0 and out or nil
end

local function call(self, args)
  python.limit(STEP_LIMIT)
  local positional <const>, keywords <const> = pair(self, args)
  local value <const>, err <const> = python.call(self.fn, positional, keywords)
  if value == nil then
    -- The call itself failed (its arguments): the place is where the function stands.
    if (err.message or ""):sub(1, #self.name + 2) == self.name .. "()" then err.file, err.line, err.column = self.path, self.node and self.node.lineno, nil end
    return failure(err)
  end
  local outputs <const> = outputs_of(self, value)
  if not outputs then
    return nil, { code = "reference-result", file = self.path, line = self.node and self.node.lineno,
      message = ("%s returned %s; a reference returns an array or a tuple of arrays"):format(self.name, runtime.type_name(value)) }
  end
  return outputs
end

-- Run on numbers. args: list of {name, value = rt.array | number | string | boolean, dtype = declared dtype}.
-- Returns a list of {array, declared}.
function Reference:run(args)
  local family <const> = self:family()
  for _, arg in ipairs(args) do
    if type(arg.value) == "userdata" then
      local wide <const> = arg.value:cast(core.storage_dtype(arg.dtype or arg.value.dtype))
      arg.python = core.wrap(wide:copy(), family, arg.dtype or arg.value.dtype)
    else
      arg.python = arg.value
    end
  end
  if self.elsewhere then return external.run(self, args, self.ask, self.elsewhere) end
  local outputs <const>, err <const> = call(self, args)
  if not outputs then
    if err.code ~= "reference-unsupported" or not self.ask then return nil, err end
    self.elsewhere = err
    return external.run(self, args, self.ask, err)
  end
  local list <const> = {}
  for i, t in ipairs(outputs) do list[i] = { array = t.value:contiguous(), declared = t.declared } end
  return list
end

-- Run on symbols. args: list of {name, kind = "tensor", shape, dtype} or {name, kind = "value", value}.
-- Returns {trace, outputs = {tensors with nodes}}.
function Reference:trace(args)
  local family <const> = self:family()
  local trace <const> = trace_module.new(function() return runtime.ops.site() end)
  for _, arg in ipairs(args) do
    if arg.kind == "tensor" then
      arg.python = trace:input(arg.name, arg.shape, arg.dtype, family)
    elseif type(arg.value) == "number" or type(arg.value) == "boolean" then
      arg.python = trace:param(arg.name, arg.value)
    else
      arg.python = arg.value
    end
  end
  core.trace = trace
  local ok <const>, outputs <const>, err <const> = pcall(call, self, args)
  -- What was assigned last is worked out here; it can fail as the reference itself can.
  local settled <const>, why <const> = pcall(function()
    for i, t in ipairs(ok and outputs or {}) do outputs[i] = core.symbolic(core.node_of(t), family, t.declared) end
  end)
  core.trace = nil
  if not ok then error(outputs, 0) end
  if not outputs then return nil, err end
  if not settled then
    if type(why) ~= "table" or why.kind ~= "python" then error(why, 0) end
    return failure({ etype = why.etype, message = why.message, file = self.path, line = self.node and self.node.lineno, column = 1 })
  end
  local nodes <const> = {}
  for i, t in ipairs(outputs) do nodes[i] = t.node end
  for i, node in ipairs(rolled.roll(trace, nodes)) do
    if node ~= outputs[i].node then outputs[i] = core.symbolic(node, family, outputs[i].declared) end
  end
  return { trace = trace, outputs = outputs }
end

return M
