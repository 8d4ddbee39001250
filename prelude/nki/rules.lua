-- SPDX-License-Identifier: MIT
-- What the NKI compiler of each version does not accept, found on the syntax tree before anything runs. Only kernel
-- code is judged: the entry, what it reaches, and the module statements those need (entry.reach); host code may be
-- any Python. One row per rule: since/till (minor version of 0.N), node types, a test that returns the finding.
--
--   rules.lint{ tree=, source=, entry=, reach=, version="0.6", target="trn2" } -> list of findings
--
-- A finding: {code=, severity=, node=, message=, reason=, doc=, fix={title, edits}?}. diagnostics.lua dresses it.

local ast <const> = require "nki.ast"
local entry <const> = require "nki.entry"
local names <const> = require "nki.names"

local rules <const> = {}

rules.versions = { "0.2", "0.3", "0.4", "0.5", "0.6" }
rules.newest = "0.6"

-- "0.6" or "0.6.0" -> 6; nil for a version there is none of.
function rules.minor(version)
  local minor <const> = tostring(version or rules.newest):match("^0%.(%d+)%.?%d*$")
  local number <const> = math.tointeger(tonumber(minor))
  if not number or number < 2 or number > 6 then return nil end
  return number
end

local GUIDE <const> = "NKI Language Guide"
local MIGRATION <const> = "NKI Migration Guides"

local function replace(ctx, node, text, title)
  return { title = title, edits = { ctx.source:replace(node, text) } }
end

-- The operator between two operands of a comparison, as an edit: the text between them is replaced.
local function between(ctx, left, right, text)
  local a <const>, b <const> = ctx.source:span(left), ctx.source:span(right)
  local gap <const> = ctx.source.text:sub(ctx.source:offset(a.end_line, a.end_column), ctx.source:offset(b.line, b.column) - 1)
  -- Brackets around an operand stay: replace the operator's own letters only.
  local from <const>, to <const> = gap:find("is%s+not")
  local start, stop = from, to
  if not start then start, stop = gap:find("is") end
  if not start or gap:sub(1, start):find("[\r\n]") then return nil end
  return { line = a.end_line, column = a.end_column + start - 1, end_line = a.end_line, end_column = a.end_column + stop, text = text }
end

local function unsupported(what, instead)
  return function(node)
    return { code = "python-not-allowed", node = node, message = what .. (instead and "; " .. instead or ""), doc = GUIDE }
  end
end

-- Names that reach outside the kernel's world, and what they would reach.
local INTERNALS <const> = {
  open = "files", eval = "the interpreter", exec = "the interpreter", compile = "the interpreter", __import__ = "the import system",
  globals = "the interpreter", locals = "the interpreter", vars = "the interpreter", input = "the terminal", breakpoint = "the debugger",
  __builtins__ = "the interpreter", memoryview = "raw memory", delattr = "the interpreter",
}
-- Modules a kernel may use; everything else belongs to host code.
local ALLOWED <const> = { nki = true, math = true, typing = true, dataclasses = true, enum = true, functools = true, __future__ = true }
local HOST <const> = {
  os = "the operating system", sys = "the interpreter", subprocess = "other programs", shutil = "files", pathlib = "files",
  socket = "the network", ctypes = "native code", importlib = "the import system", io = "files", builtins = "the interpreter",
  inspect = "the interpreter", gc = "the interpreter", pickle = "the interpreter", requests = "the network", urllib = "the network",
  tempfile = "files", glob = "files", threading = "threads", multiprocessing = "processes", asyncio = "the event loop",
  time = "the clock", random = "the host's random numbers", logging = "files", signal = "the operating system",
}

local function host_name(full)
  local head <const> = full and full:match("^[^.]+")
  return head and HOST[head] and head or nil
end

local function import_rule(node, ctx)
  if not ctx.in_function then return nil end
  local module <const> = node.type == "Import" and node.names[1].name or node.module or ""
  local head <const> = module:match("^[^.]+") or ""
  if head == "nki" or (node.level or 0) > 0 then return nil end
  local reach <const> = HOST[head]
  return {
    code = "import-not-allowed", node = node, doc = GUIDE,
    message = ("a kernel cannot import `%s`"):format(module),
    reason = reach and ("kernel code is compiled for the chip and never reaches " .. reach)
      or "kernel code is compiled for the chip; only nki modules exist there",
  }
end

local function compare_rule(node, ctx)
  local left = node.left
  for i, op in ipairs(node.ops) do
    local right <const> = node.comparators[i]
    if op == "Is" or op == "IsNot" then
      local edit <const> = between(ctx, left, right, op == "Is" and "==" or "!=")
      return {
        code = "python-not-allowed", node = node, doc = MIGRATION .. ", 0.2 to 0.3",
        message = ("`%s` is not part of the NKI language; compare with `%s`"):format(op == "Is" and "is" or "is not", op == "Is" and "==" or "!="),
        reason = "object identity has no meaning while a kernel is specialised",
        fix = edit and { title = op == "Is" and "write `==`" or "write `!=`", edits = { edit } } or nil,
      }
    end
    left = right
  end
  return nil
end

-- The kernel's own signature: no `*` separator, no list defaults, no *args/**kwargs.
local function signature_rule(node, ctx)
  if node ~= ctx.entry then return nil end
  local args <const> = node.args
  if args.kwonlyargs and #args.kwonlyargs > 0 and not args.vararg then
    local first <const> = args.kwonlyargs[1]
    local from <const> = ctx.source:offset(node.lineno, node.col_offset + 1)
    local to <const> = ctx.source:offset(first.lineno, first.col_offset + 1)
    local head <const> = ctx.source.text:sub(from, to - 1)
    local star <const> = head:match("()%*%s*,%s*$")
    local fix
    if star then
      local at <const> = from + star - 1
      local line, column = node.lineno, 1
      for i = 1, #ctx.source.starts do
        if ctx.source.starts[i] <= at then line, column = i, at - ctx.source.starts[i] + 1 end
      end
      fix = {
        title = "remove the `*` separator",
        edits = { { line = line, column = column, end_line = first.lineno, end_column = first.col_offset + 1, text = "" } },
      }
      -- Parameters without a default may not follow ones with: such a signature needs a person.
      local needs_order = #(args.defaults or {}) > 0
      local missing = false
      for i in ipairs(args.kwonlyargs) do
        if not (args.kw_defaults and args.kw_defaults[i]) then missing = true end
      end
      if needs_order and missing then fix = nil end
    end
    return {
      code = "python-not-allowed", node = first, doc = MIGRATION .. ", 0.2 to 0.3", fix = fix,
      message = "a kernel's signature has no `*` separator; let its parameters be ordinary ones",
      reason = "the compiler binds kernel arguments by position and by name alike",
    }
  end
  return nil
end

local function list_default_rule(node, ctx)
  if node ~= ctx.entry then return nil end
  local defaults <const> = {}
  for _, default in ipairs(node.args.defaults or {}) do defaults[#defaults + 1] = default end
  for _, default in ipairs(node.args.kw_defaults or {}) do
    if default then defaults[#defaults + 1] = default end
  end
  for _, default in ipairs(defaults) do
    if default.type == "List" then
      local inner <const> = ctx.source:slice(default):sub(2, -2):gsub("^%s+", ""):gsub("[%s,]+$", "")
      local text <const> = #default.elts == 1 and "(" .. inner .. ",)" or "(" .. inner .. ")"
      return {
        code = "python-not-allowed", node = default, doc = MIGRATION .. ", 0.2 to 0.3",
        message = "a kernel takes no list arguments; use a tuple",
        reason = "compiled kernels are cached by their arguments, and lists cannot be keys",
        fix = replace(ctx, default, text, "make the default a tuple"),
      }
    end
  end
  return nil
end

local function nested_rule(node, ctx)
  if node == ctx.entry then return nil end
  local decorator <const> = entry.decorator(node, ctx.imports)
  if not decorator then return nil end
  local last <const> = decorator.end_lineno or decorator.lineno
  return {
    code = "nested-kernel", node = decorator, doc = MIGRATION .. ", 0.1 to 0.2",
    message = ("`%s` is called by a kernel, so it must not be decorated with nki.jit"):format(node.name),
    reason = "only the outermost function is a kernel; what it calls is inlined",
    fix = {
      title = ("remove the decorator of `%s`"):format(node.name),
      edits = { { line = decorator.lineno, column = 1, end_line = last + 1, end_column = 1, text = "" } },
    },
  }
end

local function class_rule(node, ctx)
  for _, base in ipairs(node.bases or {}) do
    local full <const> = ast.resolve(base, ctx.imports) or ast.dotted(base) or ""
    local last <const> = full:match("[^.]+$") or ""
    if last ~= "NKIObject" and last ~= "Enum" and last ~= "IntEnum" and not ctx.class_names[last] then
      return {
        code = "python-not-allowed", node = base, doc = GUIDE,
        message = ("a class used in a kernel inherits from nl.NKIObject or Enum, not from `%s`"):format(ctx.source:expression(base, 40)),
      }
    end
  end
  return nil
end

local function dict_rule(node)
  for _, key in ipairs(node.keys or {}) do
    if key and key.type == "Constant" and key.kind_of ~= "str" then
      return {
        code = "python-not-allowed", node = key, doc = GUIDE,
        message = "a dictionary in a kernel has text keys only",
      }
    end
  end
  return nil
end

local function name_rule(node, ctx)
  local name <const> = node.id
  if node.ctx == "Store" then return nil end
  if INTERNALS[name] and not ctx.bound[name] then
    return {
      code = "python-not-allowed", node = node, doc = GUIDE,
      message = ("`%s` reaches %s; a kernel cannot"):format(name, INTERNALS[name]),
      reason = "kernel code is compiled for the chip and sees NKI names and a few Python builtins",
    }
  end
  local full <const> = ctx.imports[name]
  if not full then return nil end
  local host <const> = host_name(full)
  if host then
    return {
      code = "import-not-allowed", node = node, doc = GUIDE,
      message = ("the kernel uses `%s`, imported on line %d; a kernel cannot reach %s"):format(name, ctx.import_nodes[name].lineno, HOST[host]),
      reason = "kernel code is compiled for the chip; host modules exist only in host code",
    }
  end
  return nil
end

local function attribute_rule(node, ctx)
  if node.attr:match("^__.+__$") and node.attr ~= "__name__" then
    return {
      code = "python-not-allowed", node = node, doc = GUIDE,
      message = ("`.%s` reaches into Python's objects; a kernel cannot"):format(node.attr),
      reason = "kernel code is compiled for the chip and has no interpreter beneath it",
    }
  end
  local full <const> = ast.resolve(node, ctx.imports)
  if not full then return nil end
  local outer <const> = ctx.parents[node]
  if outer and outer.type == "Attribute" and ast.resolve(outer, ctx.imports) then return nil end -- judge the whole name
  if full:match("^numpy%.") or full:match("^torch%.") or full:match("^jax%.") or full:match("^scipy%.") then
    return names.foreign(full, node, ctx)
  end
  return names.removed(full, node, ctx) or names.too_new(full, node, ctx)
end

local function call_rule(node, ctx) return names.call(node, ctx) end

-- nki.jit's own keywords; judged on the entry only.
local function jit_rule(node, ctx)
  if node ~= ctx.entry then return nil end
  local decorator <const> = entry.decorator(node, ctx.imports)
  if not decorator or decorator.type ~= "Call" then return nil end
  for i, keyword in ipairs(decorator.keywords or {}) do
    if keyword.arg == "platform_target" or keyword.arg == "mode" then
      local bare <const> = #decorator.keywords == 1 and #decorator.args == 0
      return {
        code = "removed-api", node = keyword, severity = keyword.arg == "mode" and "warning" or "error",
        doc = MIGRATION .. ", 0.2 to 0.3",
        message = keyword.arg == "mode" and "nki.jit takes no `mode`: the arguments decide"
          or "nki.jit takes no `platform_target`: the environment variable NEURON_PLATFORM_TARGET_OVERRIDE decides",
        fix = bare and replace(ctx, decorator, ctx.source:slice(decorator.func), "use the plain decorator")
          or { title = ("remove `%s=`"):format(keyword.arg), edits = { names.without_argument(ctx, decorator, i) } },
      }
    end
  end
  return nil
end

local function while_rule(node, ctx)
  if node.test.type ~= "Name" or not ctx.registers[node.test.id] then return nil end
  return {
    code = "deprecated-api", severity = "warning", node = node.test, doc = MIGRATION .. ", 0.5 to 0.6",
    message = "`while register:` is deprecated; put the body into a function and call nl.while_loop(register, body)",
    reason = "the tracing front end does not know a register's value",
  }
end

-- The table. `at` names node types; `since`/`till` bound the versions of NKI the rule belongs to.
rules.table = {
  { name = "is", at = { "Compare" }, since = 3, test = compare_rule },
  { name = "keyword separator", at = { "FunctionDef" }, since = 3, test = signature_rule },
  { name = "list default", at = { "FunctionDef" }, since = 3, test = list_default_rule },
  { name = "nested kernel", at = { "FunctionDef" }, since = 2, test = nested_rule },
  { name = "jit keywords", at = { "FunctionDef" }, since = 3, test = jit_rule },
  { name = "async", at = { "AsyncFunctionDef", "AsyncFor", "AsyncWith", "Await" }, since = 2,
    test = unsupported("asynchronous code is not part of the NKI language") },
  { name = "try", at = { "Try", "TryStar" }, since = 2,
    test = unsupported("`try` is not part of the NKI language", "a kernel has no exceptions; use assert") },
  { name = "raise", at = { "Raise" }, since = 2,
    test = unsupported("`raise` is not part of the NKI language", "use assert with a message") },
  { name = "yield", at = { "Yield", "YieldFrom" }, since = 2,
    test = unsupported("generators are not part of the NKI language", "build a list") },
  { name = "generator", at = { "GeneratorExp" }, since = 2,
    test = unsupported("generator expressions are not part of the NKI language", "build a list") },
  { name = "set", at = { "Set", "SetComp" }, since = 2,
    test = unsupported("sets are not part of the NKI language", "use a list or a tuple") },
  { name = "global", at = { "Global", "Nonlocal" }, since = 2,
    test = unsupported("a kernel is a pure function of its arguments: no `global` or `nonlocal`", "pass the value in and return it") },
  { name = "match", at = { "Match" }, since = 2,
    test = unsupported("`match` is not part of the NKI language", "use if and elif") },
  { name = "walrus", at = { "NamedExpr" }, since = 2,
    test = unsupported("`:=` is not part of the NKI language", "assign on a line of its own") },
  { name = "class base", at = { "ClassDef" }, since = 2, test = class_rule },
  { name = "dict keys", at = { "Dict" }, since = 2, test = dict_rule },
  { name = "import", at = { "Import", "ImportFrom" }, since = 2, test = import_rule },
  { name = "internals", at = { "Name" }, since = 2, test = name_rule },
  { name = "attributes", at = { "Attribute" }, since = 2, test = attribute_rule },
  { name = "calls", at = { "Call" }, since = 2, test = call_rule },
  { name = "while register", at = { "While" }, since = 6, test = while_rule },
}

-- The old dialect is another language with the same nouns: one line, nothing else.
function rules.old_dialect(tree)
  local found
  ast.walk(tree, function(node)
    if found then return false end
    if node.type == "Import" then
      for _, alias in ipairs(node.names) do
        if alias.name:match("^neuronxcc") then found = node end
      end
    elseif node.type == "ImportFrom" and (node.module or ""):match("^neuronxcc") then
      found = node
    end
  end)
  if not found then return nil end
  return {
    code = "old-dialect", node = found, severity = "error", doc = MIGRATION .. ", 0.1 to 0.2",
    message = "this kernel is written in the old dialect (neuronxcc.nki, NKI 0.1), which current NKI no longer accepts",
    reason = "operations returned tiles there; now they write to dst=, and masks, index tensors and block dimensions are gone",
  }
end

-- Host code that would act on the machine if the file were run as Python. It is never run here, and it is refused so
-- that nobody runs it later by trusting a green check.
local function host_code(ctx, dropped, findings)
  for _, row in ipairs(dropped) do
    local statement <const> = row.statement
    local kind <const> = statement.type
    if not row.guard and kind ~= "FunctionDef" and kind ~= "ClassDef" and kind ~= "AsyncFunctionDef" then
      ast.walk(statement, function(node)
        if node.type == "FunctionDef" or node.type == "Lambda" then return false end
        if node.type ~= "Call" then return end
        local full <const> = ast.resolve(node.func, ctx.imports) or ast.dotted(node.func) or ""
        local head <const> = full:match("^[^.]+") or ""
        local harmless <const> = full:match("^os%.environ") or full:match("^os%.path") or full == "os.getenv" or full == "os.cpu_count"
          or full:match("^sys%.path") or full:match("^logging%.") or full:match("^random%.") or full:match("^time%.")
          or full:match("^pathlib%.") or full:match("^inspect%.")
        if (INTERNALS[full] and full ~= "vars" and full ~= "globals" and full ~= "locals")
          or (HOST[head] and ctx.imports[ast.root(node.func) or ""] and not harmless) then
          findings[#findings + 1] = {
            code = "import-not-allowed", node = node, doc = GUIDE, severity = "error",
            message = ("this file calls `%s` when it is loaded; a kernel file must not reach %s"):format(full, INTERNALS[full] or HOST[head]),
            reason = "loading a kernel must have no effect on the machine; move it below `if __name__ == \"__main__\":`",
          }
          return false
        end
      end)
    end
  end
end

-- Modules that reach outside, imported at the head of the kernel's file. Public kernels do that for the code around the kernel
-- (os.environ of the compiler), so it is no error while the kernel itself uses none of it; the line is named all the same.
local OUTSIDE <const> = {}
for name in ("os sys subprocess shutil socket ctypes importlib builtins pickle requests urllib multiprocessing signal asyncio"):gmatch "%S+" do
  OUTSIDE[name] = true
end
local function host_imports(ctx, findings)
  for _, finding in ipairs(findings) do
    if finding.code == "import-not-allowed" then return end -- that error already names the import
  end
  for _, statement in ipairs(ctx.tree.body) do
    local modules <const> = {}
    if statement.type == "Import" then
      for _, alias in ipairs(statement.names) do modules[#modules + 1] = alias.name end
    elseif statement.type == "ImportFrom" and (statement.level or 0) == 0 then
      modules[1] = statement.module
    end
    for _, name in ipairs(modules) do
      local head <const> = name:match("^[^.]+")
      if OUTSIDE[head] then
        findings[#findings + 1] = {
          code = "import-ignored", node = statement, doc = GUIDE, severity = "warning",
          message = ("`%s` is left out: the kernel does not use it, and could not"):format(name),
          reason = "kernel code is compiled for the chip and never reaches " .. HOST[head],
        }
      end
    end
  end
end

-- options.helper: the function is no kernel itself (a helper of another file): rules of a kernel's signature do not hold.
local function context(options)
  local imports <const>, import_nodes <const> = ast.imports(options.tree)
  local ctx <const> = {
    tree = options.tree, source = options.source, entry = not options.helper and options.entry or nil, imports = imports,
    import_nodes = import_nodes,
    parents = options.parents or ast.parents(options.tree), minor = rules.minor(options.version), target = options.target or "trn2",
    bound = {}, class_names = {}, registers = {},
  }
  for fn in pairs(options.reach.functions) do
    for _, statement in ipairs(fn.body) do
      ast.walk(statement, function(node)
        if node.type == "Assign" then
          for _, target in ipairs(node.targets) do ast.targets(target, ctx.bound) end
          if node.value.type == "Call" and (ast.resolve(node.value.func, imports) or "") == "nki.isa.register_alloc"
            and node.targets[1].type == "Name" then
            ctx.registers[node.targets[1].id] = true
          end
        elseif node.type == "FunctionDef" then
          ctx.bound[node.name] = true
        end
      end)
    end
    for _, param in ipairs(entry.params(fn)) do ctx.bound[param.name] = true end
    ctx.bound[fn.name] = true
  end
  for class in pairs(options.reach.classes) do ctx.class_names[class.name] = true end
  return ctx
end
rules.context = context

function rules.lint(options)
  local old <const> = rules.old_dialect(options.tree)
  if old then return { old } end
  local ctx <const> = context(options)
  local by_type <const> = {}
  for _, rule in ipairs(rules.table) do
    if ctx.minor >= rule.since and (not rule.till or ctx.minor <= rule.till) then
      for _, kind in ipairs(rule.at) do
        by_type[kind] = by_type[kind] or {}
        table.insert(by_type[kind], rule)
      end
    end
  end
  local findings <const> = {}
  local function visit(node, _, field)
    if field == "annotation" or field == "returns" then return false end
    for _, rule in ipairs(by_type[node.type] or {}) do
      local finding <const> = rule.test(node, ctx)
      if finding then
        finding.severity = finding.severity or "error"
        findings[#findings + 1] = finding
        if finding.whole then return false end -- the finding speaks for everything below
      end
    end
  end
  for _, statement in ipairs(options.reach.statements) do
    ctx.in_function = false
    if statement.type == "FunctionDef" then
      for _, rule in ipairs(by_type.FunctionDef or {}) do
        local finding <const> = rule.test(statement, ctx)
        if finding then
          finding.severity = finding.severity or "error"
          findings[#findings + 1] = finding
        end
      end
      ctx.in_function = true
      for _, default in ipairs(statement.args.defaults or {}) do ast.walk(default, visit) end
      for _, inner in ipairs(statement.body) do ast.walk(inner, visit, statement, "body") end
    elseif statement.type ~= "Import" and statement.type ~= "ImportFrom" then
      -- Module statements the kernel needs are host-evaluated constants: only what reaches outside is refused.
      ast.walk(statement, function(node, parent, field)
        if statement.type == "ClassDef" then return visit(node, parent, field) end
        if node.type == "Name" or node.type == "Call" then
          local finding <const> = node.type == "Name" and name_rule(node, ctx) or nil
          if finding then
            finding.severity = "error"
            findings[#findings + 1] = finding
          end
        end
      end)
    end
  end
  host_code(ctx, options.reach.dropped, findings)
  if not options.helper then host_imports(ctx, findings) end
  table.sort(findings, function(a, b)
    if a.node.lineno ~= b.node.lineno then return a.node.lineno < b.node.lineno end
    if a.node.col_offset ~= b.node.col_offset then return a.node.col_offset < b.node.col_offset end
    local a_end <const>, b_end <const> = a.node.end_lineno or 0, b.node.end_lineno or 0
    if a_end ~= b_end then return a_end < b_end end
    return (a.node.end_col_offset or 0) < (b.node.end_col_offset or 0)
  end)
  return findings
end

rules.allowed_modules = ALLOWED
rules.host_modules = HOST
return rules
