-- SPDX-License-Identifier: MIT
-- The built binary as a user runs it: commands, exit statuses, JSON, scripts, the doctor.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

t.test("alone it prints a short overview", function()
  local w <const> = nkiln.folder()
  local status <const>, out <const>, err <const> = w:run ""
  t.eq(status, 0)
  t.has(out, "usage: nkiln COMMAND")
  t.eq(err, "")
  t.ok(select(2, out:gsub("\n", "")) < 50)
  t.ok(not out:find("\27", 1, true), "colours without a terminal")
end)

t.test("version, as text and as JSON", function()
  local w <const> = nkiln.folder()
  local status, out = w:run "version"
  t.eq(status, 0)
  t.match(out, "^nkiln %d+%.%d+%.%d+ %(Lua 5%.4")
  status, out = w:run "version --json"
  t.eq(status, 0)
  t.match(json.decode(out).version, "^%d+%.%d+%.%d+$")
  t.eq(select(2, w:run "--version"), select(2, w:run "version"))
end)

t.test("unknown commands, flags and missing arguments exit 2 with one line on stderr", function()
  local w <const> = nkiln.folder()
  for command, part in pairs {
    doctr = "did you mean doctor?", ["skills --jsn"] = "did you mean --json?", skill = "name is missing", ["run"] = "script is missing",
  } do
    local status <const>, out <const>, err <const> = w:run(command)
    t.eq(status, 2, command)
    t.eq(out, "", command)
    t.match(err, "^nkiln: [^\n]*\n$", command)
    t.has(err, part)
  end
end)

t.test("with --json errors are JSON on stdout too", function()
  local w <const> = nkiln.folder()
  local status <const>, out <const>, err <const> = w:run "run nope.lua --json"
  t.eq(status, 2)
  t.has(err, "nope.lua", "--json after the script belongs to the script")
  local status2 <const>, out2 <const>, err2 <const> = w:run "--json run nope.lua"
  t.eq(status2, 2)
  t.eq(err2, "")
  t.eq(json.decode(out2).ok, false)
  t.eq(json.decode(out2).error.where, "nope.lua")
  t.eq(out, "")
end)

t.test("help of every command", function()
  local w <const> = nkiln.folder()
  for name in pairs(require("cli").summary) do
    local status <const>, out <const> = w:run("help " .. name)
    t.eq(status, 0, name)
    t.has(out, "usage: nkiln " .. name)
  end
  t.has(select(2, w:run "check --help"), "KERNEL")
  -- The overview begins with the work in its order, each line whole.
  local order <const> = {}
  local overview <const> = select(2, w:run "help")
  for line in overview:match("Work on a kernel\n(.-)\n\n"):gmatch "[^\n]+" do order[#order + 1] = line:match "^  (%S+)" end
  t.eq(table.concat(order, " "), "write check sim debug debug-step watch profile query analyse report explain")
  t.ok(not overview:find("...", 1, true), "a line of the overview is cut")
end)

t.test("a script gets ctx, its words, and gives the exit status", function()
  local w <const> = nkiln.folder()
  w:write("s.lua", [[
    ctx.print("words", ...)
    print("arg", #arg)
    ctx.log("to stderr")
    assert(ctx.fs.mkdir("out"))
    assert(ctx.fs.write("out/made.txt", "made by a script"))
    assert(ctx.fs.read("out/made.txt") == "made by a script")
    for _, name in ipairs { "io", "debug", "package", "dofile", "loadfile" } do assert(_G[name] == nil, name) end
    assert(os.execute == nil and os.getenv == nil and string.dump == nil)
    assert(require("cjson").encode({ 1 }) == "[1]")
    assert(require("lfs").attributes("out", "mode") == "directory")
    assert(require("lfs").attributes("/etc", "mode") == nil)
    return 7
  ]])
  local status <const>, out <const>, err <const> = w:run "run s.lua a --json 'b c'"
  t.eq(status, 7, err)
  t.eq(out, "words\ta\t--json\tb c\narg\t3\n")
  t.eq(err, "to stderr\n")
  t.eq(w:read "out/made.txt", "made by a script")
end)

t.test("a script's result table, and its failures", function()
  local w <const> = nkiln.folder()
  local function script(text, flags)
    w:write("s.lua", text)
    return w:run((flags or "") .. " run s.lua")
  end
  t.eq(select(2, script "return { ok = true, text = 'fine' }"), "fine\n")
  local status, out = script("return { ok = false, n = 1, list = ctx.json.array {} }", "--json")
  t.eq(status, 1)
  t.eq(json.decode(out).n, 1)
  t.has(out, '"list": []')
  local err, _
  status, out, err = script "return nil, { code = 'missing', message = 'no tool', hint = 'get it' }"
  t.eq({ status, out, err }, { 3, "", "nkiln: no tool: get it\n" })
  status, _, err = script "return ctx.fail('not-permitted', 'no')"
  t.eq({ status, err }, { 5, "nkiln: no\n" })
  status, _, err = script "local t = nil\nreturn t.x"
  t.eq(status, 1)
  t.match(err, "^nkiln: s%.lua stopped: attempt to index a nil value[^\n]*: s%.lua:2\n$")
  status, out, err = script "local x = = 1"
  t.eq({ status, err }, { 2, "nkiln: unexpected symbol near '=': s.lua:1\n" })
  t.eq(select(2, script("ctx.print('x') return { ok = true }", "--json")):sub(1, 1), "{", "stdout is JSON alone")
  t.eq(out, "")
end)

t.test("a script may not leave its folder or start programs", function()
  local w <const> = nkiln.folder()
  w:write("s.lua", [[
    local _, a = ctx.fs.read("/etc/hostname")
    local _, b = ctx.fs.write("../evil.txt", "x")
    local _, c = ctx.proc.run { "ls" }
    local _, d = ctx.fs.read("link/hostname")
    return { a = a.code, b = b.code, c = c.code, d = d.code }
  ]])
  w:sh "ln -s /etc link"
  local status <const>, out <const> = w:run "--json run s.lua"
  t.eq(status, 0)
  local got <const> = json.decode(out)
  t.eq({ got.a, got.b, got.c }, { "not-permitted", "not-permitted", "not-permitted" })
  t.eq(got.d, "escape")
  t.eq(w:read "../evil.txt", nil)
end)

t.test("the user's policy grants, a workspace's narrows", function()
  local w <const> = nkiln.folder()
  w:write("s.lua", "local r, e = ctx.proc.run { 'echo', 'hi' }\nreturn { out = r and r.stdout, code = e and e.code, m = e and e.message }")
  w:write("config/nkiln/policy.lua", 'return { allow = { "run:echo" } }')
  local _, out = w:run "--json run s.lua"
  t.eq(json.decode(out).out, "hi\n", out)
  w:write(".kiro/nkiln-policy.lua", 'return { deny = { "run:echo" } }')
  _, out = w:run "--json run s.lua"
  t.eq(json.decode(out).code, "not-permitted")
  w:write(".kiro/nkiln-policy.lua", 'return { allow = { "run:ls" } }')
  local _, _, err = w:run "run s.lua"
  t.has(err, "a workspace can only narrow rights")
  for text, part in pairs { ["return { alow = {} }"] = "did you mean allow?", ["return os.time()"] = "sees no functions",
    ["while true do end"] = "runs too long",
    ["return {"] = "policy.lua:1", ["return 3"] = "must return a table", ["return { deny = { 'fly:x' } }"] = "deny[1]" } do
    w:write("config/nkiln/policy.lua", text)
    local status <const>, _, why <const> = w:run "run s.lua"
    t.eq(status, 2, text)
    t.has(why, part)
  end
end)

t.test("Ctrl-C ends a script at once with 130", function()
  local w <const> = nkiln.folder()
  w:write("loop.lua", "while true do end")
  w:write("sleep.lua", "ctx.sleep(60)")
  for _, name in ipairs { "loop.lua", "sleep.lua" } do
    local status <const>, _, err <const> = w:sh(("%s run %s & sleep 0.4; kill -INT $!; wait $!"):format(nkiln.quoted, name))
    t.eq(status, 130, name)
    t.eq(err, "nkiln: interrupted\n", name)
  end
end)

t.test("a budget of seconds holds for a script that never waits, catches everything, or hides in coroutines", function()
  local w <const> = nkiln.folder()
  for _, body in ipairs {
    "while true do end", "while true do pcall(function() while true do end end) end",
    "local c = coroutine.wrap(function() while true do coroutine.yield() end end)\nwhile true do c() end", "ctx.sleep(100)",
    "local t <close> = setmetatable({}, { __close = function() while true do end end })",
  } do
    w:write("s.lua", body)
    local status <const>, _, err <const> = w:run "--budget seconds=0.3 run s.lua"
    t.eq(status, 4, body .. "\n" .. err)
    t.match(err, "nkiln: budget of 0%.3 seconds of s%.lua is spent: raise it with %-%-budget seconds=N\n$")
  end
  w:write("s.lua", "local n = 0\nfor i = 1, 3e7 do n = n + i end\nreturn { n = n > 0 }")
  t.eq((w:run "--budget seconds=100 run s.lua"), 0, "time that is there may be used")
end)

t.test("a reader that goes away is no error message", function()
  local w <const> = nkiln.folder()
  w:write("much.lua", "for i = 1, 200000 do ctx.print(i, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') end")
  local _, out <const>, err <const> = w:sh(nkiln.quoted .. " run much.lua | head -n 2")
  t.eq(select(2, out:gsub("\n", "")), 2)
  t.eq(err, "")
end)

t.test("doctor says what is here and how to get what is not", function()
  local w <const> = nkiln.folder()
  local status, out = w:run "doctor"
  t.eq(status, 0)
  for _, part in ipairs { "Sandbox", "Python environments", "AWS Neuron", "DuckDB", "get:" } do t.has(out, part) end
  status, out = w:run "doctor --json"
  t.eq(status, 0)
  local items <const> = {}
  for _, section in ipairs(json.decode(out).sections) do
    for _, item in ipairs(section.items) do items[item.name] = item end
  end
  t.eq(items.nkiln.found, true)
  for name, item in pairs(items) do
    if not item.found then t.ok(item.enables and item.install or item.note, name) end
  end
end)

t.test("doctor finds the environment a variable names, and says when it is none", function()
  local w <const> = nkiln.folder()
  w:write("env/bin/python3", "#!/bin/sh\nprintf '{\"version\": \"3.12.1\", \"prefix\": \"/x\", \"packages\": {\"numpy\": \"9.9\"}}'\n")
  w:sh "chmod +x env/bin/python3"
  local _, out = w:sh("NKILN_PYTHON=$PWD/env " .. nkiln.quoted .. " doctor --json")
  local first = nil
  for _, section in ipairs(json.decode(out).sections) do
    if section.title == "Python environments" then first = section.items[1] end
  end
  t.eq(first.name, "NKILN_PYTHON")
  t.eq(first.packages.numpy, "9.9")
  _, out = w:sh("NKILN_PYTHON=$PWD/nothing " .. nkiln.quoted .. " doctor")
  t.has(out, "no Python there")
end)

t.test("explain knows every code", function()
  local w <const> = nkiln.folder()
  local status, out = w:run "explain partition-exceeds-limit"
  t.eq(status, 0)
  t.has(out, "128")
  status, out = w:run "explain --json"
  t.eq(status, 0)
  t.ok(#json.decode(out).codes > 40)
  local _, _, err = w:run "explain partition-exceds-limit"
  t.has(err, "did you mean partition-exceeds-limit?")
end)

t.test("no runs yet: ledger says so, resume and restore fail with one line", function()
  local w <const> = nkiln.folder()
  local status <const>, out <const> = w:run "ledger"
  t.eq(status, 0)
  t.has(out, "nothing has been recorded")
  t.eq(json.decode((select(2, w:run "ledger --json"))).runs, {})
  for _, command in ipairs { "resume", "restore" } do
    local failed <const>, _, err <const> = w:run(command)
    t.eq(failed, 2, command)
    t.match(err, "^nkiln: nothing has been recorded[^\n]*\n$")
  end
end)

t.test("a lone binary works, without its folder of Lua files", function()
  local w <const> = nkiln.folder()
  w:write("k.py", t.read(nkiln.root .. "/tests/kernels/softmax.py"))
  w:sh("cp " .. nkiln.quoted .. " lone")
  local status, out, err = w:sh "./lone --json skills"
  t.eq(status, 0, err)
  t.has(out, "nkiln:/skills/")
  status, out, err = w:sh "./lone check k.py --case 'x=bf16[256,64]'"
  t.eq(status, 0, err)
  t.has(out, "ok")
  status, out = w:sh "./lone help write"
  t.eq(status, 0)
  t.has(out, "usage: nkiln write")
end)
