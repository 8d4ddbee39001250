-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local policy <const> = require "policy"
local datafile <const> = require "datafile"
local rights <const> = require "rights"

local function disk(files)
  return { read = function(path)
    if files[path] then return files[path] end
    return nil, { code = "not_found", message = "read " .. path .. ": no such file or folder", op = "read", path = path }
  end }
end

local function load(files) return policy.load { disk = disk(files), config = "/c", workspace = "/w", home = "/h" } end

t.test("data files are data: no names, no loops without end, no memory without end", function()
  t.eq(datafile.run("local n = 4 return { a = 'x' .. n, b = { 1, 2, n * 2 } }", "f.lua", "bad"), { a = "x4", b = { 1, 2, 8 } })
  for text, part in pairs {
    ["return os.exit()"] = "sees no functions", ["return print"] = "must return", ["while true do end"] = "runs too long", ["return {"] = "expected",
    ["local t = {} for i = 1, 1e9 do t[i] = i end"] = "", ["return ('x'):rep(1e9)"] = "", ["return function() end"] = "", ["\27Lua"] = "",
    ["local function f() return f() end return f()"] = "runs too long",
  } do
    local value <const>, err <const> = datafile.run(text, "f.lua", "bad-policy")
    t.eq(value, nil, text)
    t.eq(err.code, "bad-policy", text)
    t.has(err.message, part)
    t.has(err.where, "f.lua")
  end
  t.eq(select(2, datafile.run("return {\n a = 1,\n b = = 2 }", "f.lua", "x")).where, "f.lua:3")
end)

t.test("no policy at all is an empty one", function()
  local rules <const> = load {}
  t.eq(rules.user_rules, nil)
  t.eq(rules.skills, {})
end)

t.test("both files are read; a workspace's allow does not count and is told", function()
  local rules <const> = load {
    ["/c/policy.lua"] = 'return { allow = { "run:make" }, skills = { mine = { override = true, run = { "ls" } } } }',
    ["/w/.kiro/nkiln-policy.lua"] = 'return { deny = { "write:secret" }, allow = { "run:*" } }',
  }
  t.eq(#rules.user_rules.allow, 1)
  t.eq(rules.skills.mine.override, true)
  t.eq(#rules.workspace_rules.allow, 0)
  t.eq(#rules.workspace_rules.deny, 1)
  t.eq(#rules.notes, 1)
end)

t.test("a wrong policy is an error, never an empty policy", function()
  for _, text in ipairs {
    "return 1", "return { deny = 1 }", "return { allow = { 'x' } }", "return { skills = 1 }", "return { skills = { a = 1 } }",
    "return { skills = { a = { run = 'ls' } } }", "return { skills = { a = { fly = {} } } }", "return { skills = { a = { override = 1 } } }",
    "return { nope = 1 }",
  } do
    local rules <const>, err <const> = load { ["/c/policy.lua"] = text }
    t.eq(rules, nil, text)
    t.eq(err.code, "bad-policy", text)
  end
  t.eq(select(2, load { ["/w/.kiro/nkiln-policy.lua"] = "return { skills = {} }" }).code, "bad-policy", "a workspace grants nothing")
end)

t.test("a task file", function()
  local function task(text) return policy.task(disk { ["/t/task.lua"] = text }, "/t/task.lua") end
  local got <const> = task 'return { kernel = "k.py", reference = "/r/ref.py:f", cases = { "x=f32[1]" }, budget = { iterations = 3 } }'
  t.eq({ got.kernel, got.reference, got.cases, got.file }, { "/t/k.py", "/r/ref.py:f", { "x=f32[1]" }, "/t/task.lua" })
  for _, text in ipairs {
    "return { kernel = 1 }", "return { cases = 'x' }", "return { cases = {} }", "return { cases = { 1 } }", "return { budget = { a = 'x' } }",
    "return { kernl = 'x' }",
  } do
    local value <const>, err <const> = task(text)
    t.eq(value, nil, text)
    t.eq({ err.code, err.where }, { "bad-task", "/t/task.lua" }, text)
  end
  t.eq(select(2, policy.task(disk {}, "/t/none.lua")).code, "bad-task")
end)

local function grant(options)
  local o <const> = { name = "s", workspace = "/w", cwd = "/w/sub", home = "/h", permits = {} }
  for k, v in pairs(options) do o[k] = v end
  return rights.new(o)
end

local function code(r, kind, value)
  local ok <const>, err <const> = r:check(kind, value)
  return ok and "yes" or err.code
end

t.test("rights: a workspace's skill reads the workspace, writes .nkiln, and nothing it merely asks for", function()
  local asks <const> = { read = { "/etc" }, write = { "." }, run = { "make" }, net = { "*" } }
  local r = grant { scope = "workspace", permits = asks }
  t.eq(code(r, "read", "/w/a"), "yes")
  t.eq(code(r, "read", "/w2/a"), "not-permitted")
  t.eq(code(r, "write", "/w/.nkiln/x"), "yes")
  t.eq(code(r, "write", "/w/x"), "not-permitted")
  t.eq(code(r, "read", "/etc/passwd"), "not-permitted")
  t.eq(code(r, "run", "make"), "not-permitted")
  t.eq(code(r, "net", "example.com"), "not-permitted")
  r = grant { scope = "workspace", permits = asks, skill_rights = { write = { "." }, run = { "make" } } }
  t.eq(code(r, "write", "/w/x"), "yes")
  t.eq(code(r, "run", "/usr/bin/make"), "yes")
  t.eq(code(r, "net", "example.com"), "not-permitted")
  t.eq(code(grant { scope = "workspace", skill_rights = { run = { "make" } } }, "run", "make"), "not-permitted", "granted but not asked for")
end)

t.test("rights: what is built in gets what it asks for; deny and ask stand above", function()
  local permit <const> = require "permit"
  local context <const> = { workspace = "/w", home = "/h" }
  local r = grant { scope = "builtin", permits = { write = { "out" }, run = { "python3" } } }
  t.eq(code(r, "write", "/w/out/x"), "yes")
  t.eq(code(r, "run", "python3"), "yes")
  t.eq(code(r, "run", "bash"), "not-permitted")
  local rules <const> = assert(permit.rules({ deny = { "run:python3" }, ask = { "write:out" }, allow = { "read:/data" } }, context, "p"))
  r = grant { scope = "builtin", permits = { write = { "out" }, run = { "python3" } }, user_rules = rules }
  t.eq(code(r, "run", "/usr/bin/python3"), "not-permitted")
  t.eq(code(r, "write", "/w/out/x"), "not-permitted", "without a terminal, ask is deny")
  t.eq(code(r, "read", "/data/x"), "yes")
  local asked = 0
  r = grant { scope = "builtin", permits = { write = { "out" } }, user_rules = rules, ask = function()
    asked = asked + 1
    return true
  end }
  t.eq(code(r, "write", "/w/out/x"), "yes")
  t.eq(code(r, "write", "/w/out/x"), "yes")
  t.eq(asked, 1, "one question per thing")
end)

t.test("rights: named files may be read, named outputs written, links do not dodge a rule", function()
  local permit <const> = require "permit"
  local h <const> = require("params").helpers
  local list <const> = { h.path("kernel"), h.path("out", "", { optional = true, output = true }), h.list(h.path("data")) }
  local paths <const>, outputs <const> = rights.named_paths(list, { kernel = "../k.py:f", out = "/o", data = { "d1", "d2" } })
  t.eq(paths, { "../k.py:f", "../k.py", "d1", "d2" })
  t.eq(outputs, { "/o" })
  local r <const> = grant { scope = "workspace", paths = paths, outputs = outputs }
  t.eq(code(r, "read", "/w/k.py"), "yes")
  t.eq(code(r, "write", "/o/x"), "yes")
  local rules <const> = assert(permit.rules({ deny = { "read:secret/**" } }, { workspace = "/w", home = "/h" }, "p"))
  local linked <const> = grant { scope = "builtin", user_rules = rules, realpath = function(path) return (path:gsub("^/w/link", "/w/secret")) end }
  t.eq(code(linked, "read", "/w/link/x"), "not-permitted")
  t.eq(code(linked, "read", "/w/other"), "yes")
end)
