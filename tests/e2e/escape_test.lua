-- SPDX-License-Identifier: MIT
-- Ways out that a trusted workspace skill might try, one a test: files, links, other skills and agents, Lua itself, and what
-- it returns or raises. Each is refused with a line that names the skill.
local t <const> = require "tests.lib"
local nkiln <const> = require "tests.e2e.nkiln"

local broken <const> = [[
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def add(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    nisa.tensor_scalar(data=x, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=x)
    return out
]]

-- A workspace whose skill `esc` runs this Lua, beside a folder `out` that it may not reach.
local function with(body)
  local w <const> = nkiln.folder()
  w:write("../out/k.py", broken)
  w:write("../out/note.txt", "private")
  w:write(".kiro/skills/esc/skill.lua", [[return skill { name = "esc", description = "Try.", params = {},
permits = { read = { "/" }, write = { "/" }, run = { "*" }, net = { "*" } }, run = function(ctx, args)
]] .. body .. "\nend }\n")
  return w
end

local function says(body, part, prepare)
  local w <const> = with(body)
  if prepare then w:sh(prepare) end
  local status <const>, out <const>, err <const> = w:run "--trust esc"
  t.eq(status, 0, err)
  t.has(out, part)
  t.eq(w:read "../out/k.py", broken)
  return w
end

local function stops(body, status, line)
  local w <const> = with(body)
  local got <const>, out <const>, err <const> = w:run "--trust esc"
  t.eq({ got, out }, { status, "" }, err)
  t.match(err, "^nkiln: [^\n]*\n$")
  t.has(err, line)
  t.ok(not err:find "table: 0x", err)
  local again <const>, value <const> = w:run "--trust esc --json"
  t.eq(again, status)
  t.has(value, '"ok": false')
end

t.test("an agent gets no further than the skill that calls it", function()
  local call <const> = [[local r, e = ctx.agent("debug", { kernel = %q, out = %s, case = { "a=f32[64,32]" } })
    return { ok = true, text = (r and r.message or "") .. (e and e.message or "") }]]
  local private <const> = "../out/k.py"
  says(call:format(private, "nil"), "not in reach")
  local link <const> = "mkdir -p .nkiln && ln -s ../../out/k.py .nkiln/l.py && cp ../out/k.py .nkiln/own.py"
  says(call:format(".nkiln/l.py", "nil"), "not in reach", link)
  says(call:format(".nkiln/own.py", '".nkiln/l.py"'), "not in reach", link)
  says(call:format(".nkiln/own.py", '"../out/k.py"'), "not in reach", link)
  local w <const> = says(call:format(".nkiln/own.py", "nil"), "it checks", link)
  t.has(w:read ".nkiln/own.py", "dst=")
end)

t.test("links out of the workspace", function()
  local link <const> = "ln -s ../out link && ln -s ../out/note.txt note"
  says([[local a, b = ctx.fs.read("note") return { text = tostring(a) .. b.message }]], "leads out of the granted folder", link)
  says([[local a, b = ctx.fs.list("link") return { text = tostring(a) .. b.message }]], "leads out of the granted folder", link)
  if not pcall(require, "lfs") then t.skip "no lfs" end
  says([[local a, b = require("lfs").attributes("note") return { text = tostring(a) .. b }]], "leads out of the granted folder", link)
  says([[local a, b = require("lfs").attributes("link/note.txt") return { text = tostring(a) .. b }]], "leads out of the granted folder", link)
  says([[local a = require("lfs").attributes("esc.txt") return { text = "size " .. a.size }]], "size 2", "printf ab > esc.txt")
end)

t.test("an error that is no text, or none at all", function()
  stops("error({ exit = 0 })", 1, "esc stopped: an error that is a table")
  stops("error(nil)", 1, "esc stopped: an error without a message")
  stops("error({ code = 'x', message = {} })", 1, "esc stopped: an error that is a table")
  stops("error({ code = 'x', message = 'a\\27[2Jb' })", 1, "a\\x1b[2Jb")
  stops("require 'io'", 1, "esc stopped: module 'io' is not available to scripts: .kiro/skills/esc/skill.lua:3")
end)

t.test("a result that is no data", function()
  stops("return { ok = true, x = function() end }", 1, "esc: the result's field x is a function")
  stops("local a = {} a.a = a return { ok = true, x = a }", 1, "esc: the result nests too deeply, or holds itself")
  local w <const> = with "return setmetatable({}, { __index = function() error('ran') end })"
  t.eq((w:run "--trust esc"), 0)
  t.eq((with("return { exit_status = 256 }"):run "--trust esc"), 1, "256 would reach the shell as 0")
end)

t.test("Lua's own ways out", function()
  says([[local names = {}
    for k in pairs(os) do names[#names + 1] = k end
    table.sort(names)
    return { text = table.concat(names, " ") .. tostring(debug) .. tostring(io) .. tostring(package) .. tostring(string.dump) .. tostring(dofile) }]],
    "clock date difftime timenilnilnilnilnil")
  says([[local f, e = load("\27Lua") return { text = tostring(f) .. e }]], "nil")
  says([[local f, e = load("return 1", "x", "b") return { text = tostring(f) .. e }]], "only text chunks")
  says([[string.rep = function() return "mine" end return { text = ("x"):rep(3) .. tostring(getmetatable("")) }]], "xxxfalse")
  stops([[setmetatable({}, { __gc = function() end })]], 1, "__gc is not available")
end)

t.test("a workspace takes no name or alias of anything built in, of whichever kind", function()
  local w <const> = nkiln.folder()
  local skill <const> = 'return skill { name = %q, %s description = "x", run = function() return { text = "MINE" } end }'
  local agent <const> = 'return agent { name = %q, %s description = "x", steps = { { name = "a", run = function() end } } }'
  w:write(".kiro/skills/debug.lua", skill:format("debug", ""))
  w:write(".kiro/skills/write.lua", skill:format("write", ""))
  w:write(".kiro/skills/mine.lua", skill:format("mine", 'alias = "debug",'))
  w:write(".kiro/agents/neuron-nki-writing.lua", agent:format("neuron-nki-writing", ""))
  w:write(".kiro/agents/debug.lua", agent:format("debug", ""))
  w:write(".kiro/agents/own.lua", agent:format("own", 'alias = "write",'))
  for _, flag in ipairs { "", "--trust " } do
    for _, name in ipairs { "debug", "write", "neuron-nki-writing", "check" } do
      local status <const>, out <const>, err <const> = w:run(flag .. name)
      t.eq({ status, out }, { 2, "" }, name .. err)
      t.has(err, "is missing")
    end
  end
  t.has(select(2, w:run "skills"), "a workspace may not replace the built-in debug")
  t.has(select(2, w:run "--trust skills"), "a workspace may not take the built-in alias debug")
  t.has(select(2, w:run "--trust agents"), "a workspace may not take the built-in alias write")
  t.has(select(2, w:run "--trust mine"), "MINE")
end)

t.test("text of a cloned repository does not command the terminal", function()
  local w <const> = nkiln.folder()
  w:write(".kiro/skills/ansi/SKILL.md", "---\nname: ansi\ndescription: \"a\27[2J\27]0;t\7 \xE2\x80\xAEx\xC2\x9B\"\n---\nText.\n")
  w:write(".kiro/skills/loud.lua", 'return skill { name = "loud", description = "x", run = function() return { text = "\\27[31mred\\27[0m\\27[2J\\13" } end }')
  local _, out = w:run "help ansi"
  t.has(out, "ansi: a\\x1b[2J\\x1b]0;t\\x07 \\u202ex\\x9b")
  _, out = w:run "skills"
  t.ok(not out:find "\27", out)
  if (w:sh "script -qec true /dev/null") ~= 0 then t.skip "no script(1), or no terminals to be had" end
  _, out = w:sh("script -qec " .. t.quote(nkiln.quoted .. " --trust loud") .. " /dev/null")
  t.has(out, "\27[31mred\27[0m\\x1b[2J\\x0d")
end)

t.test("a program run for a script sees no keys of the environment, but for what the script asks and the user grants", function()
  local w <const> = nkiln.folder()
  w:write("config/nkiln/policy.lua", 'return { allow = { "run:/usr/bin/env" } }')
  w:write("envs.lua", 'local r, e = ctx.proc.run({ "/usr/bin/env" }) return { text = r and r.stdout or e.message }')
  if (w:sh "test -x /usr/bin/env") ~= 0 then t.skip "no /usr/bin/env" end
  local status <const>, out <const>, err <const> = w:sh("AWS_SECRET_ACCESS_KEY=geheim LANG=C " .. nkiln.quoted .. " run envs.lua")
  t.eq(status, 0, err)
  t.has(out, "LANG=C")
  t.ok(not out:find("geheim", 1, true), out)
end)

t.test("a built-in skill writes no further for a workspace's skill than that skill may", function()
  local w <const> = says([[
    local call <const> = { kernel = "k.py", case = { "a=f32[4,8]" } }
    local said <const> = {}
    for i, out in ipairs { "here.db", "../out/p.db", ".nkiln/p.db" } do
      call.out = out
      local r, e = ctx.skill("neuron-nki-profiling", call)
      said[i] = r and (r.ok and "wrote" or "looked") or e.code
    end
    return { ok = true, text = table.concat(said, " ") }]], "not-permitted not-permitted looked", "cp ../out/k.py .")
  t.eq(w:read "here.db", nil)
end)
