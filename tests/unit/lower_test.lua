-- SPDX-License-Identifier: MIT
-- The lowering and the runtime as the rest of nkiln uses them: loading, calling, native functions and objects, imports,
-- what is refused, limits, and where errors are reported.

local t <const> = require "tests.lib"
local python <const> = require "python"
local pyops <const> = require "rt.pyops"

local function load(source, options)
  local o <const> = { source = source, filename = "k.py", name = "k" }
  for k, v in pairs(options or {}) do o[k] = v end
  return python.load(o)
end

local function must(source, options)
  local module <const>, err <const> = load(source, options)
  if not module then t.ok(false, python.format_error(err)) end
  return module
end

local function fails(source, options)
  local module <const>, err <const> = load(source, options)
  t.ok(module == nil, "expected an error")
  return err
end

local function call(module, name, args, kwargs)
  local value <const>, err <const> = python.call(python.get(module, name), args, kwargs)
  if err then t.ok(false, python.format_error(err)) end
  return value
end

-- functions and calls ---------------------------------------------------------------------------------------------------------

t.test("functions are listed with their parameters", function()
  local m <const> = must [[
import nothing_here as nh
def b(x, y=2, *, z=3, **kw):
    "doc"
    return x
def a(p, /, q): return q
alias = 5
]]
  local list <const> = python.functions(m)
  t.eq(#list, 2)
  t.eq({ list[1].name, list[2].name }, { "b", "a" })
  t.eq(list[1].params.names, { "x", "y", "z" })
  t.eq(list[1].params.required, { true, false, false })
  t.eq(list[1].params.positional, 2)
  t.eq(list[1].params.kwargs, "kw")
  t.eq(list[1].params.defaults.y.value, 2)
  t.eq(list[1].doc, "doc")
  t.eq(list[1].node.type, "FunctionDef")
  t.eq(list[1].jit, false)
end)

t.test("calling from Lua", function()
  local m <const> = must "def f(a, b=2, *c, k=1): return (a, b, c, k)\ndef n(): pass\n"
  t.eq(python.repr(call(m, "f", { 1 }, { k = 7 })), "(1, 2, (), 7)")
  t.eq(python.repr(call(m, "f", { 1, 3, 4 })), "(1, 3, (4,), 1)")
  t.eq(call(m, "n"), python.None)
  local value <const>, err <const> = python.call(m.f, {})
  t.eq(value, nil)
  t.eq(err.code, "missing-argument")
  t.eq(err.param, "a")
  t.eq(err.etype, "TypeError")
  t.eq(python.call(python.functions(m)[1], { 5 })[1], 5)
end)

t.test("a decorator of native code marks a function", function()
  local nki <const> = python.module { name = "nki", attrs = {
    jit = python.native { name = "jit", params = { "fn" }, required = 1, fn = function(fn)
      python.attrs(fn).jit = true
      return fn
    end },
  } }
  local m <const> = must("import nki\n@nki.jit\ndef k(x): return x + 1\ndef h(): pass\n", { modules = function(name) return name == "nki" and nki or nil end })
  local list <const> = python.functions(m)
  t.eq({ list[1].jit, list[2].jit }, { true, false })
  t.eq(#list[1].decorators, 1)
  t.eq(call(m, "k", { 1 }), 2)
end)

-- native functions and objects --------------------------------------------------------------------------------------------------

local function recorder()
  local seen <const> = {}
  local isa <const> = python.module { name = "nki.isa", attrs = {
    op = python.native { name = "nisa.op", params = { "dst", "src", "engine", "scale" }, required = 2, defaults = { engine = "auto", scale = 1.0 },
      fn = function(...)
        seen[#seen + 1] = { args = table.pack(...), site = pyops.site() }
        return nil
      end },
    few = python.native { name = "nisa.few", params = { "a", "b" }, required = 1, kwonly = 1, fn = function(a, b) return a, b end },
    rest = python.native { name = "nisa.rest", params = { "a" }, required = 0, varargs = true, kwargs = true,
      fn = function(a, kwargs, ...) return python.tuple { a, kwargs, ... } end },
  } }
  return seen, function(name) return name == "nki.isa" and isa or nil end
end

t.test("native functions get every parameter in order", function()
  local seen <const>, modules <const> = recorder()
  must([[
import nki.isa as nisa
for i in range(3):
    nisa.op(src=2, dst=1)
    nisa.op(1, 2, scale=3)
    nisa.op(1, 2, "vector", 4)
nisa.op(*[1, 2], **{"engine": None})
]], { modules = modules })
  t.eq(#seen, 10)
  t.eq(seen[1].args, { 1, 2, "auto", 1.0, n = 4 })
  t.eq(seen[8].args, { 1, 2, "auto", 3, n = 4 })
  t.eq(seen[9].args, { 1, 2, "vector", 4, n = 4 })
  t.ok(seen[10].args[3] == python.None)
  t.eq(python.location(seen[4].site).line, 3)
  t.eq(python.location(seen[5].site).line, 4)
  t.eq(python.site_node(seen[5].site).type, "Call")
  t.eq(python.sites[seen[5].site].keywords[1].arg, "scale")
end)

t.test("binding errors are structured and placed at the call", function()
  local _, modules <const> = recorder()
  local function err(call_text)
    return fails("import nki.isa as nisa\nx = 1\n" .. call_text .. "\n", { modules = modules })
  end
  local e = err "nisa.op(src=2)"
  t.eq({ e.code, e.param, e.func, e.line, e.column, e.end_column }, { "missing-argument", "dst", "nisa.op", 3, 1, 15 })
  e = err "y = nisa.op(1, 2, speed=3)"
  t.eq({ e.code, e.param, e.column }, { "unexpected-keyword", "speed", 5 })
  t.eq(e.params, { "dst", "src", "engine", "scale" })
  t.eq(err("nisa.op(1, 2, dst=3)").code, "duplicate-argument")
  t.eq(err("nisa.op(1, 2, 3, 4, 5)").code, "too-many-arguments")
  t.eq(err("nisa.few(1, 2)").code, "too-many-arguments")
  t.eq(err("nisa.few(b=1)").param, "a")
  t.eq(err("nisa.nope(1)").code, "unknown-name")
  t.eq(err("nisa.nope(1)").name, "nope")
  t.eq(err("undefined_thing(1)").code, "unknown-name")
  t.eq(err("undefined_thing(1)").column, 1)
end)

t.test("one call site, several callees", function()
  local _, modules <const> = recorder()
  local m <const> = must([[
import nki.isa as nisa
def one(b, a): return ("one", a, b)
def two(a, b=5): return ("two", a, b)
class Three:
    def __init__(self, b, a): self.v = ("three", a, b)
out = []
for f in (one, two, Three, one, nisa.rest, lambda a, **k: k):
    got = f(a=1, b=2)
    out.append(got.v if isinstance(got, Three) else got)
]], { modules = modules })
  t.eq(python.repr(m.out), "[('one', 1, 2), ('two', 1, 2), ('three', 1, 2), ('one', 1, 2), (1, {'b': 2}), {'b': 2}]")
end)

t.test("objects of native code take part through their metatable", function()
  local log <const> = {}
  local Tile <const> = { __pytype = "Tile" }
  local function tile(name) return setmetatable({ name = name }, Tile) end
  Tile.__subscript = function(o, format, ...)
    log[#log + 1] = { "get", format, ... }
    return tile(o.name .. "[]")
  end
  Tile.__setsubscript = function(_, value, format, ...) log[#log + 1] = { "set", value, format, ... } end
  Tile.__pygetattr = function(o, name)
    if name == "shape" then return python.tuple { 128, 512 } end
    if name == "name" then return o.name end
  end
  Tile.__pysetattr = function(o, name, value) rawset(o, name, value) end
  Tile.__pybinop = function(op, a, b)
    if op == "Mod" then return nil end
    return (type(a) == "table" and a.name or tostring(a)) .. op .. (type(b) == "table" and b.name or tostring(b))
  end
  Tile.__pyunop = function(op, a) return op .. a.name end
  Tile.__pycompare = function(op, a) return op .. a.name end
  Tile.__pylen = function() return 7 end
  Tile.__pytruth = function() python.raise("ValueError", "truth of a tile") end
  Tile.__pyiter = function()
    local i = 0
    return function()
      i = i + 1
      return i <= 2 and i or nil
    end
  end
  Tile.__pyrepr = function(o) return "<" .. o.name .. ">" end
  Tile.__pyformat = function(o, spec) return o.name .. ":" .. spec end
  Tile.__pycall = function(o, args, kwargs) return python.list { o.name, #args, kwargs } end
  Tile.__methods = python.methods("Tile", { reshape = { "shape", function(self, shape) return tile(self.name .. python.repr(shape)) end } })
  local m <const> = must([[
import host
t = host.tile
a = t[0:128, 3, None, ...]
b = t[5]
c = t[::2]
idx = (slice(1, 2), 4, None, ...)
d = t[idx]
t[0:4, 1] = "v"
t[idx] = 9
K, M = t.shape
texts = [t + 1, 2 * t, -t, t < 3, 3 < t, t == 4, len(t), list(t), repr(t), f"{t:x}", t(1, 2, k=3), t.reshape((2, 3)).name]
t.extra = 5
x, y = t
try:
    if t: pass
except ValueError as e:
    said = str(e)
try:
    t % 2
except TypeError as e:
    mod = str(e)
t += 1
]], { modules = function() return python.module { name = "host", attrs = { tile = tile "T" } } end })
  local none <const> = python.None
  t.eq(log[1], { "get", "sine", 0, 128, none, 3 })
  t.eq(log[2], { "get", "i", 5 })
  t.eq(log[3], { "get", "s", none, none, 2 })
  t.eq(log[4], { "get", "sine", 1, 2, none, 4 })
  t.eq(log[5], { "set", "v", "si", 0, 4, none, 1 })
  t.eq(log[6], { "set", 9, "sine", 1, 2, none, 4 })
  t.eq({ m.K, m.M, m.x, m.y }, { 128, 512, 1, 2 })
  t.eq(python.repr(m.texts), "['TAdd1', '2MultT', 'USubT', 'LtT', 'GtT', 'EqT', 7, [1, 2], '<T>', 'T:x', ['T', 2, {'k': 3}], 'T(2, 3)']")
  t.eq(m.said, "truth of a tile")
  t.eq(m.mod, "unsupported operand type(s) for %: 'Tile' and 'int'")
  t.eq(m.t, "TAdd1")
end)

t.test("errors of the machine cannot be caught by a program and keep their fields", function()
  local host <const> = python.module { name = "host", attrs = {
    bad = python.define("bad", "x", function() error({ kind = "nki", code = "psum-bank-overflow", message = "too wide", operands = { { name = "dst" } } }) end),
  } }
  local err <const> = fails([[
import host
def f(v):
    try:
        return host.bad(
            v)
    except Exception:
        return "caught"
    finally:
        print("not run")
f(1)
]], { modules = function() return host end })
  t.eq({ err.code, err.message, err.line, err.column, err.end_line }, { "psum-bank-overflow", "too wide", 4, 16, 5 })
  t.eq(err.operands[1].name, "dst")
  t.eq(err.traceback, { { file = "k.py", line = 10, ["function"] = "<module>" }, { file = "k.py", line = 4, ["function"] = "f" } })
end)

t.test("context managers of native code", function()
  local log <const> = {}
  local Block <const> = { __pytype = "block" }
  Block.__pyenter = function() log[#log + 1] = "enter" return "as" end
  Block.__pyexit = function(_, err) log[#log + 1] = err and err.etype or "exit" return false end
  local m <const> = must([[
import host
with host.block as b:
    x = b
try:
    with host.block:
        raise KeyError("k")
except KeyError:
    x += "!"
]], { modules = function() return python.module { name = "host", attrs = { block = setmetatable({}, Block) } } end })
  t.eq(log, { "enter", "exit", "enter", "KeyError" })
  t.eq(m.x, "as!")
end)

-- places ------------------------------------------------------------------------------------------------------------------------

t.test("tracebacks have Python's lines and functions", function()
  local err <const> = fails [[
def inner(a):
    for i in range(2):
        with_list = [j for j in range(3)]
        try:
            if i == 1:
                x = {
                    "k": a +
                         None,
                }
        finally:
            pass

class K:
    def method(self, v):
        return inner(
            v)

def gen():
    yield 1
    K().method(3)

list(gen())
]]
  local lines <const> = {}
  for i, f in ipairs(err.traceback) do lines[i] = f["function"] .. ":" .. f.line end
  t.eq(lines, { "<module>:22", "gen:20", "method:15", "inner:7" })
  t.eq({ err.line, err.column, err.end_line, err.etype }, { 7, 26, 8, "TypeError" })
  t.match(python.format_error(err), 'File "k.py", line 20, in gen\n.*TypeError: unsupported')
end)

t.test("syntax errors have a line and a column", function()
  local err <const> = fails "x = 1\ny = (2,\nz = 3\n"
  t.eq(err.code, "syntax")
  t.eq({ err.file, err.line, err.column }, { "k.py", 2, 5 })
end)

-- refusals ------------------------------------------------------------------------------------------------------------------------

t.test("what reaches outside is refused at its line", function()
  local function refused(text, code, line, options)
    local err <const> = fails(text, options)
    t.eq({ err.code, err.line }, { code, line }, text)
    return err
  end
  refused("x = 1\nimport os\n", "import-not-allowed", 2)
  refused("def f():\n    from subprocess import run\nf()\n", "import-not-allowed", 2)
  refused("\nopen('/etc/passwd')\n", "not-allowed", 2)
  refused("eval('1')", "not-allowed", 1)
  refused("x = (\n  __import__('os'))", "not-allowed", 2)
  refused("().__class__", "not-allowed", 1)
  refused("x = 1\nx.__class__.__bases__", "not-allowed", 2)
  refused("def f(): pass\nf.__globals__", "not-allowed", 2)
  refused("def f(): pass\nf.__code__", "not-allowed", 2)
  refused("getattr(1, '__cl' + 'ass__')", "not-allowed", 1)
  refused("hasattr([], '__subclasses__')", "not-allowed", 1)
  refused("'{0.__class__}'.format(1)", "not-allowed", 1)
  refused("from operator import attrgetter\nattrgetter('__class__')(1)", "not-allowed", 2)
  refused("globals()", "not-allowed", 1)
  refused("vars(1)", "not-allowed", 1)
  refused("type('X', (), {})", "python-unsupported", 1)
  refused("class X: pass\nsetattr(X(), '__class__', 1)", "not-allowed", 2)
  refused("import math\nmath.pi = 3\n", "python-unsupported", 2)
end)

t.test("a module that is not here fails only when it is used", function()
  must "import torch_xla\nfrom jax import numpy as jnp\nimport argparse\n"
  local err = fails "import torch_xla\nx = 1\ntorch_xla.device()\n"
  t.eq({ err.code, err.line }, { "import-not-allowed", 3 })
  err = fails "from jax import jit\njit(1)\n"
  t.eq({ err.code, err.line }, { "import-not-allowed", 2 })
  must("import os\nimport sys\nx = 1\n", { imports = "reference" })
  err = fails("import os\n\nos.environ['x']\n", { imports = "reference" })
  t.eq({ err.code, err.line }, { "import-not-allowed", 3 })
  local m <const> = must "try:\n    import jax\n    have = True\nexcept ImportError:\n    have = False\n"
  t.eq(m.have, false)
end)

t.test("what is not supported stops at its line when it is reached", function()
  local refused <const> = fails "x = 1\nasync def f():\n    pass\n"
  t.eq({ refused.code, refused.line }, { "python-unsupported", 2 })
  local module <const>, err <const> = load "def g(x):\n    y = 1\n    match x:\n        case 1:\n            return 2\n    return y\n"
  t.ok(module, err and err.message)
  local _, e <const> = python.call(module.g, { 1 })
  t.eq({ e.code, e.line, e.column }, { "python-unsupported", 3, 5 })
  t.eq(#python.record(module).refusals, 1)
  t.eq(fails("x = 1j\n").code, "python-unsupported")
end)

t.test("nothing of Lua shows", function()
  for _, text in ipairs { "'a'.rep", "'a'.len()", "'a'.byte", "[].__index", "print.fn", "{}.map", "(1).x", "abs.__call", "str.gsub", "(lambda: 0).upvalue",
    "[].n", "None.x", "range(3).step_", "Exception().thrown" } do
    t.eq(fails(text).etype, "AttributeError", text)
  end
  for _, name in ipairs { "string", "table", "io", "os", "require", "load", "setmetatable", "debug", "_G", "_ENV", "R", "G", "A", "P", "None_", "coroutine" } do
    t.eq(fails("x = " .. name).code, "unknown-name", name)
  end
end)

-- limits ------------------------------------------------------------------------------------------------------------------------

local function limited(source, limit)
  local err <const> = fails(source, { step_limit = limit or 100000 })
  python.limit(0)
  return err
end

t.test("endless programs end at the step limit, at their line", function()
  local cases <const> = {
    { "x = 1\nwhile True:\n    pass\n", 2 },
    { "x = 1\nwhile x:\n    x += 1\n    continue\n", 2 },
    { "import itertools\nfor i in itertools.count():\n    pass\n", 2 },
    { "def f(n):\n    return f(n - 1) + f(n - 1) if n else 0\nf(60)\n", 2 },
    { "def g():\n    while 1:\n        yield 1\nfor v in g():\n    v\n", 2 },
    { "for i in range(10 ** 12):\n    pass\n", 1 },
    { "x = [0 for i in range(10 ** 12)]\n", 1 },
    { "l = [1]\nfor v in l:\n    l.append(v)\n", 2 },
    { "class A:\n    def m(self): return self.m() + self.m()\nA().m()\n", 2 },
    { "for i in range(3):\n    for j in range(10 ** 9):\n        if j < 0: break\n", 2 },
    { "x = sum(i for i in iter(range(10 ** 12)))\n", 1 },
    { "while True:\n    try:\n        1 / 0\n    except Exception:\n        continue\n", 1 },
    { "def f():\n    try:\n        while True: pass\n    finally:\n        while True: pass\nf()\n", 3 },
  }
  for _, case in ipairs(cases) do
    local err <const> = limited(case[1])
    if case[1]:find "self.m()" or case[1]:find "f%(n" then
      t.ok(err.code == "step-limit" or err.etype == "RecursionError", case[1] .. tostring(err.code))
    else
      t.eq({ err.code, err.line }, { "step-limit", case[2] }, case[1])
    end
  end
end)

t.test("deep recursion ends in RecursionError", function()
  for _, text in ipairs {
    "def f(n): return f(n + 1)\nf(0)",
    "def f(n): return f(n=n + 1)\nf(0)",
    "def f(*a): return f(*a)\nf(0)",
    "class A:\n    def m(self): return self.m()\nA().m()",
    "class A:\n    def __init__(self): A()\nA()",
    "class A:\n    def __add__(self, o): return self + o\nA() + 1",
    "class A:\n    def __getattr__(self, n): return self.zz\nA().b",
    "def f(): return sorted([2, 1], key=lambda v: f())\nf()",
    "def f():\n    try:\n        return f()\n    finally:\n        pass\nf()",
    "def f():\n    return [f() for _ in range(1)]\nf()",
    "def g():\n    yield from g()\nlist(g())",
    "x = []\nfor i in range(100000): x = [x]\nx == [[x]]\nrepr(x)",
    "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "x = ()\nfor i in range(1000): x = (x,)\n{x: 1}",
  } do
    t.eq(fails(text).etype, "RecursionError", text)
  end
  must "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nassert f(5000) == 5000\n"
end)

t.test("integers beyond 64 bits are reported, not wrapped", function()
  for _, text in ipairs { "x = 2 ** 63", "x = 9223372036854775807 + 1", "x = 1 << 63", "x = -(-9223372036854775808)", "x = 3037000500 * 3037000500",
    "x = 0xFFFFFFFFFFFFFFFF", "x = int(1e30)", "x = -9223372036854775808 - 1", "x = sum([2 ** 62, 2 ** 62])", "x = abs(-9223372036854775808)",
    "x = int('99999999999999999999')", "x = -9223372036854775808 // -1", "import math\nx = math.factorial(30)" } do
    t.eq(fails(text).code, "integer-overflow", text)
  end
  t.eq(must("x = -9223372036854775808\ny = 2 ** 62 + (2 ** 62 - 1)\n").x, math.mininteger)
  local err <const> = fails "try:\n    x = 2 ** 100\nexcept Exception:\n    x = 0\n"
  t.eq({ err.code, err.line, err.column }, { "integer-overflow", 2, 9 })
end)

t.test("too large a sequence is refused before memory is", function()
  for _, text in ipairs { "x = [0] * 10 ** 12", "x = 'a' * 10 ** 12", "x = (1, 2) * 10 ** 11", "x = 'a'.ljust(10 ** 12)" } do
    t.eq(fails(text).code, "memory-limit", text)
  end
end)

t.test("the end of memory is reported at a line", function()
  local host <const> = python.module { name = "host", attrs = { full = python.define("full", "", function() error("not enough memory", 0) end) } }
  local err <const> = fails("import host\ntry:\n    host.full()\nexcept Exception:\n    pass\n", { modules = function() return host end })
  t.eq({ err.code, err.line }, { "memory-limit", 3 })
  t.eq(fails("def f(n):\n    return (1 +\n      f(n))\nf(1)\n").line, 3)
end)

t.test("large functions, displays, calls and expressions", function()
  local lines <const> = { "def f():" }
  for i = 1, 300 do lines[#lines + 1] = ("    a%d = %d"):format(i, i) end
  lines[#lines + 1] = "    def g():\n        return a1 + a150 + a300"
  lines[#lines + 1] = "    return g() + a300"
  t.eq(call(must(table.concat(lines, "\n")), "f"), 1 + 150 + 300 + 300)

  local function many(item, n, glue)
    local out <const> = {}
    for i = 1, n do out[i] = item:gsub("#", tostring(i)) end
    return table.concat(out, glue)
  end
  local m <const> = must("l = [" .. many("#", 5000, ", ") .. "]\nd = {" .. many("'k#': [#]", 2000, ", ") .. "}\ns = " .. many("l[#]", 3000, " + ") ..
    "\nb = " .. many("l[#] > 0", 500, " and ") .. "\no = " .. many("not l[#]", 400, " or ") .. "\nv = " .. many("(l[#] and 0)", 300, " or ") ..
    "\ndef c(*a): return len(a)\nn = c(" .. many("#", 240, ", ") .. ")\nt = " .. many("'x#'", 300, " + ") .. "\nf = f'" .. many("{l[#]}", 200, "") ..
    "'\nx = " .. many("1 if l[#] < 0 else ", 60, "") .. "7\n" .. "ch = " .. many("l[#] <", 100, " ") .. " 10 ** 9\n" ..
    "nest = " .. ("["):rep(90) .. ("]"):rep(90) .. "\nel = 0\nif el == 1: pass\n" .. many("elif el == #: pass", 150, "\n") .. "\nelse: el = 5\n")
  t.eq(#m.l, 5000)
  t.eq(m.s, 3001 * 3002 // 2 - 1)
  t.eq({ m.b, m.o, m.v, m.n, m.x, m.ch, m.el }, { true, false, 0, 240, 7, true, 5 })
  t.eq(python.getattr(m, "d")[4], 2000)
end)

t.test("an interrupt stops a program", function()
  local host <const> = python.module { name = "host", attrs = { stop = python.define("stop", "", function() pyops.interrupt(true) end) } }
  local err <const> = fails("import host\nhost.stop()\nwhile True:\n    pass\n", { modules = function() return host end })
  pyops.interrupt(false)
  t.eq({ err.code, err.line }, { "interrupted", 3 })
end)

-- imports ------------------------------------------------------------------------------------------------------------------------

t.test("sibling modules beneath the roots", function()
  local files <const> = {
    ["/r/a/main.py"] = "from .util import helper, SIZE\nfrom . import util as u\nfrom .sub import leaf\nfrom .sub.leaf import deep\nimport flat\n" ..
      "from ..top import T\nx = helper(2) + SIZE + u.SIZE + leaf.L + deep() + flat.F + T\n",
    ["/r/a/util.py"] = "SIZE = 10\ndef helper(v):\n    return v * SIZE\n",
    ["/r/a/sub/__init__.py"] = "",
    ["/r/a/sub/leaf.py"] = "from ..util import SIZE\nL = 1\ndef deep(): return SIZE\n",
    ["/r/flat.py"] = "F = 1000\n",
    ["/r/top.py"] = "T = 5\n",
    ["/r/loop1.py"] = "import loop2\na = 1\nb = loop2.c\n",
    ["/r/loop2.py"] = "import loop1\nc = 3\n",
    ["/r/broken.py"] = "x = 1\ny = [0][5]\n",
    ["/r/wrong.py"] = "x = (\n",
    ["/outside.py"] = "x = 1\n",
  }
  local siblings <const> = python.siblings { roots = { "/r" }, read = function(path) return files[path] end, imports = "reference" }
  local function at(path, text) return load(text or files[path], { filename = path, siblings = siblings, imports = "reference" }) end
  local m, err = at "/r/a/main.py"
  t.ok(m, err and python.format_error(err))
  t.eq(m.x, 20 + 10 + 10 + 1 + 10 + 1000 + 5)
  m, err = at("/r/x.py", "import loop1\ny = loop1.b\n")
  t.ok(m, err and python.format_error(err))
  t.eq(m.y, 3)
  m, err = at("/r/x.py", "z = 1\nimport broken\n")
  t.eq(m, nil)
  t.eq({ err.etype, err.file, err.line }, { "IndexError", "/r/broken.py", 2 })
  t.eq(#err.traceback, 2)
  m, err = at("/r/x.py", "import wrong\n")
  t.eq({ m == nil, err.code, err.file, err.line }, { true, "syntax", "/r/wrong.py", 1 })
  m, err = at("/r/x.py", "from ..outside import x\n")
  t.eq({ m == nil, err.etype, err.line }, { true, "ImportError", 1 })
  m, err = at("/r/x.py", "from a.util import nope\n")
  t.eq({ m == nil, err.etype }, { true, "ImportError" })
end)

t.test("print goes where it is sent", function()
  local out <const> = {}
  must("print('a', 1, sep='-')\nprint(end='')\n", { print = function(text) out[#out + 1] = text end })
  t.eq(table.concat(out), "a-1\n")
end)
