-- SPDX-License-Identifier: MIT
-- The rule set per NKI version, entry discovery and what of a file is run.
local t <const> = require "tests.lib"
local entry <const> = require "nki.entry"
local parser <const> = require "rt.python"
local rules <const> = require "nki.rules"
local source <const> = require "nki.source"

local HEAD <const> = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\nimport numpy as np\nimport os\n"

local function open(text, wanted)
  local file <const> = assert(source.new("k.py", text))
  local tree <const> = assert(parser.parse(text, "k.py"))
  local found <const>, d <const> = entry.find(tree, file, wanted)
  return file, tree, found, d
end

local function lint_all(text, version, wanted)
  local file <const>, tree <const>, found <const>, d <const> = open(text, wanted)
  assert(found, d and d.message)
  return rules.lint { tree = tree, source = file, entry = found.node, reach = entry.reach(tree, found.node), version = version }, file
end

-- Without the warning that the `import os` above gets.
local function lint(...)
  local findings <const>, file <const> = lint_all(...)
  for i = #findings, 1, -1 do
    if findings[i].code == "import-ignored" then table.remove(findings, i) end
  end
  return findings, file
end

local function kernel(body, version, head)
  return lint((head or HEAD) .. "@nki.jit\ndef k(x):\n    " .. body:gsub("\n", "\n    ") .. "\n    return x\n", version)
end

local function codes(findings)
  local list <const> = {}
  for i, f in ipairs(findings) do list[i] = f.code .. (f.severity == "warning" and " (warning)" or "") end
  return list
end

t.test("each construct has its versions", function()
  local rows <const> = {
    -- body, code, first version that refuses it
    { "y = x is None", "python-not-allowed", 3 }, { "try:\n    y = 1\nexcept E:\n    pass", "python-not-allowed", 2 },
    { "raise ValueError()", "python-not-allowed", 2 }, { "y = sum(i for i in (1, 2))", "python-not-allowed", 2 },
    { "y = {1, 2}", "python-not-allowed", 2 }, { "y = {1: 2}", "python-not-allowed", 2 }, { "global z", "python-not-allowed", 2 },
    { "if (n := 3): pass", "python-not-allowed", 2 }, { "y = np.exp(x)", "numpy-in-kernel", 2 }, { "y = open('f')", "python-not-allowed", 2 },
    { "y = eval('1')", "python-not-allowed", 2 }, { "y = x.__dict__", "python-not-allowed", 2 }, { "import os", "import-not-allowed", 2 },
    { "y = os.listdir()", "import-not-allowed", 2 }, { "y = nl.arange(3)", "removed-api", 2 }, { "y = nl.load(x, mask=1)", "removed-api", 2 },
    { "t = nl.ndarray((1, 1), nl.int8, buffer='sbuf')", "removed-api", 3 }, { "nisa.dma_copy(x, x, dge_mode=1)", "removed-api", 3 },
    { "nisa.tensor_copy_dynamic_src(x, x)", "removed-api", 4 },
  }
  for _, row in ipairs(rows) do
    for minor = 2, 6 do
      local found <const> = codes(kernel(row[1], "0." .. minor))
      local refused = false
      for _, code in ipairs(found) do refused = refused or code == row[2] end
      t.eq(refused, minor >= row[3], ("%s in 0.%d (%s)"):format(row[1], minor, t.show(found)))
    end
  end
end)

t.test("what kernels use is accepted", function()
  local findings <const> = kernel([[
a, b = x.shape
tiles = [nl.ndarray((128, 512), dtype=nl.float32) for i in range(3)]
f = lambda i: i * 2
d = {"a": 1}
assert a == b, f"{a} is not {b}"
print(f"shape {x.shape}")
for i in range(2):
    if i == 0 and not (a != b):
        continue
while a > 3:
    a -= 1
with nl.no_reorder():
    nisa.memset(dst=tiles[0], value=0.0)
def inner(q):
    return q
inner(x)]])
  t.eq(codes(findings), {})
end)

t.test("deprecated spellings warn and carry the new one", function()
  local findings <const>, file <const> = kernel(
    "nisa.tensor_copy(x, x, engine=nisa.vector_engine)\ny = nl.tile_size.psum_fmax\nz = nisa.constants.oob_mode.skip")
  t.eq(codes(findings), { "deprecated-api (warning)", "deprecated-api (warning)", "deprecated-api (warning)" })
  local edits <const> = {}
  for _, f in ipairs(findings) do table.move(f.fix.edits, 1, #f.fix.edits, #edits + 1, edits) end
  local repaired <const> = source.apply(file.text, edits)
  t.has(repaired, "engine=nisa.engine.vector")
  t.has(repaired, "nl.tile_size.psum_bank_fmax")
  t.has(repaired, "nisa.oob_mode.skip")
end)

t.test("host code is not judged, and host code that acts is refused", function()
  t.eq(codes(lint(HEAD .. [[
os.environ["A"] = "b"
data = np.random.rand(3)
result = np.exp(data) if data is not None else None

def helper():
    try:
        return open("x")
    except Exception:
        raise

@nki.jit
def k(x):
    return x

if __name__ == "__main__":
    os.system("true")
]])), {})
  local findings <const> = lint(HEAD .. "@nki.jit\ndef k(x):\n    return x\n\nopen('x')\n")
  t.eq(codes(findings), { "import-not-allowed" })
  t.eq(findings[1].node.lineno, 10)
end)

t.test("an import that reaches outside is named where the kernel does not use it, refused where it does", function()
  local good <const> = "import nki\n@nki.jit\ndef k(x):\n    return x\n"
  for head, line in pairs {
    ["import os\n"] = 1, ["import json\nimport json, subprocess as sp\n"] = 2, ["from os import *\n"] = 1, ["from os.path import join\n"] = 1,
  } do
    local findings <const> = lint_all(head .. good)
    t.eq({ codes(findings), findings[1].node.lineno }, { { "import-ignored (warning)" }, line }, head)
  end
  t.eq(codes(lint_all("import json\nimport math\nimport numpy\nimport torch\n" .. good)), {})
  t.eq(codes(lint_all("import os\n" .. good:gsub("return x", "return os.name"))), { "import-not-allowed" })
  t.eq(codes(lint_all(good .. 'if __name__ == "__main__":\n    import os\n')), {})
end)

t.test("helpers a kernel reaches are judged, others are not", function()
  local text <const> = HEAD .. "def a(x):\n    return x is None\n\ndef b(x):\n    return x is None\n\n@nki.jit\ndef k(x):\n    return b(x)\n"
  local findings <const> = lint(text)
  t.eq(#findings, 1)
  t.eq(findings[1].node.lineno, 10)
end)

t.test("the old dialect is one finding, whatever else is in the file", function()
  for _, head in ipairs { "import neuronxcc.nki as nki\n", "from neuronxcc import nki\n", "from neuronxcc.nki.language import par_dim\nimport nki\n" } do
    local findings <const> = kernel("y = np.exp(x) is None", "0.6", head)
    t.eq(codes(findings), { "old-dialect" })
  end
end)

t.test("only what the entry reaches is kept", function()
  local _, tree <const>, found <const> = open(HEAD .. [[
TILE = 128
OTHER = np.zeros(3)
a = np.random.rand(3)
SIZES = []
SIZES.append(TILE)

def helper(x):
    return x * TILE

def unused():
    return OTHER

@nki.jit
def k(x):
    a = helper(SIZES[0])
    return a
]])
  local reach <const> = entry.reach(tree, found.node)
  local lines <const> = {}
  for i, statement in ipairs(reach.statements) do lines[i] = statement.lineno end
  t.eq(lines, { 1, 6, 9, 10, 12, 19 }) -- import nki, TILE, SIZES, append, helper, k (the line of its def)
end)

t.test("the entry: the only kernel, the outermost one, or a question", function()
  local _, _, only <const> = open(HEAD .. "def a(): pass\n@nki.jit\ndef k(x):\n    return x\n")
  t.eq(only.name, "k")
  local _, _, outer <const> = open(HEAD .. "@nki.jit\ndef a(x):\n    return x\n@nki.jit\ndef k(x):\n    return a(x)\n")
  t.eq(outer.name, "k")
  local _, _, none <const>, d <const> = open(HEAD .. "@nki.jit\ndef a(x):\n    return x\n@nki.jit\ndef b(x):\n    return x\n")
  t.eq(none, nil)
  t.eq(d.code, "entry-ambiguous")
  t.has(d.message, "a, b")
  local _, _, named <const> = open(HEAD .. "@nki.jit\ndef a(x):\n    return x\n@nki.jit\ndef b(x):\n    return x\n", "b")
  t.eq(named.name, "b")
  local _, _, missing <const>, why <const> = open(HEAD .. "@nki.jit\ndef kernel(x):\n    return x\n", "kernl")
  t.eq(missing, nil)
  t.has(why.message, "did you mean `kernel`")
  local _, _, wrapped <const> = open(HEAD .. "def f(x):\n    return x\ng = nki.jit(f)\n")
  t.eq(wrapped.name, "f")
  local file <const>, _, bare <const>, fixable <const> = open("import nki.language as nl\n\ndef f(x):\n    return x\n")
  t.eq(bare, nil)
  t.eq(fixable.code, "entry-none")
  t.eq(source.apply(file.text, fixable.fix.edits), "import nki\nimport nki.language as nl\n\n@nki.jit\ndef f(x):\n    return x\n")
end)

t.test("numbers known while the kernel is built stay numbers", function()
  local findings <const>, file <const> = kernel("p, f = x.shape\ns = 1.0 / np.sqrt(f)\nm = np.max(f, 3)\nc = np.pi\no = nisa.tensor_tensor(x, x, x, op=np.max)")
  local edits <const> = {}
  for _, finding in ipairs(findings) do table.move(finding.fix.edits, 1, #finding.fix.edits, #edits + 1, edits) end
  local repaired <const> = source.apply(file.text, edits)
  t.has(repaired, "s = 1.0 / (f ** 0.5)")
  t.has(repaired, "m = max(f, 3)")
  t.has(repaired, "c = 3.141592653589793")
  t.has(repaired, "op=nl.maximum")
end)
