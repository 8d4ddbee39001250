-- SPDX-License-Identifier: MIT
-- Skills and agents of a workspace and of the home folder: listing, trust, confinement, shadowing, calls, reload.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local function md(name, description) return ("---\nname: %s\ndescription: %s\n---\nText.\n"):format(name, description or "Say hello. Use it to test.") end

local hello <const> = [[
return skill {
  name = "hello", alias = "hey", description = "Say hello.",
  params = { text("who", "whom", { default = "world", positional = true }), integer("times", "how often", { default = 1, min = 1 }) },
  run = function(ctx, args) return { ok = true, text = ("hello %s"):format(args.who):rep(args.times, " "), who = args.who } end,
}
]]

local function workspace()
  local w <const> = nkiln.folder()
  w:write(".kiro/skills/hello/SKILL.md", md "hello")
  w:write(".kiro/skills/hello/skill.lua", hello)
  return w
end

local function by_name(out)
  local found <const> = {}
  for _, item in ipairs(json.decode(out).skills) do found[item.name .. "@" .. item.scope] = item end
  return found
end

t.test("listing runs nothing of a workspace", function()
  local w <const> = workspace()
  w:write(".kiro/skills/hello/skill.lua", "error('it ran')")
  local status, out, err = w:run "skills"
  t.eq({ status, err }, { 0, "" })
  t.match(out, "hello%s+hello%s+not trusted%s+%.kiro/skills/hello") -- its name is its command
  t.has(out, "nkiln trust lets . run its own skills")
  status, out = w:run "skills --json"
  t.eq(status, 0)
  local item <const> = by_name(out)["hello@workspace"]
  t.eq({ item.trusted, item.state, item.kind, item.alias }, { false, "not trusted", "executable", nil })
  t.has(item.path, "/.kiro/skills/hello")
end)

t.test("an untrusted skill exits 5 with the line that explains", function()
  local w <const> = workspace()
  local status <const>, out <const>, err <const> = w:run "hello"
  t.eq(status, 5)
  t.eq(out, "")
  t.match(err, "^nkiln: hello is a script of this workspace, which you have not trusted: %.kiro/skills/hello/skill%.lua: [^\n]*nkiln trust[^\n]*\n$")
end)

t.test("trust for one run, by flag and by variable", function()
  local w <const> = workspace()
  t.eq(select(2, w:run "hello you --trust"), "hello you\n")
  t.eq(select(2, w:run "--trust hello"), "hello world\n")
  t.eq(select(2, w:sh("NKILN_TRUST=1 " .. nkiln.quoted .. " hello --times 2")), "hello world hello world\n")
  t.eq((w:run "hello"), 5)
end)

t.test("trust once, listed, taken back; kept outside the workspace", function()
  local w <const> = workspace()
  local status, out = w:run "trust"
  t.eq(status, 0)
  t.has(out, "trusted")
  t.eq(select(2, w:run "hello"), "hello world\n")
  t.eq(select(2, w:run "hey"), "hello world\n", "the alias is known once the script may be read")
  t.eq(#json.decode((select(2, w:run "trust --list --json"))).workspaces, 1)
  t.ok(w:read "config/nkiln/trust.json")
  local _, listed <const> = w:run "skills --json"
  t.eq(by_name(listed)["hello@workspace"].state, "trusted")
  w:sh "mkdir sub"
  t.eq(select(2, w:sh("cd sub && " .. nkiln.quoted .. " hello")), "hello world\n", "a folder below belongs to the workspace")
  t.eq((w:run "trust --revoke"), 0)
  t.eq((w:run "hello"), 5)
end)

t.test("the trust in a folder that is gone can be taken back", function()
  local w <const> = workspace()
  w:sh "mkdir -p gone/.kiro"
  t.eq((w:run "trust gone"), 0)
  w:sh "rm -r gone"
  t.eq((w:run "trust gone"), 2)
  local status <const>, out <const> = w:run "trust --revoke gone"
  t.eq(status, 0, out)
  t.has(out, "no longer trusted")
  t.has(select(2, w:run "trust --list"), "no trusted workspace")
  t.eq((w:run "trust --revoke gone"), 2)
end)

t.test("a copy of a trusted folder is not trusted, nor is one inside it", function()
  local w <const> = workspace()
  w:run "trust"
  w:sh "mkdir ../other; cp -r .kiro ../other/; mkdir -p inner; cp -r .kiro inner/"
  t.eq((w:sh("cd ../other && " .. nkiln.quoted .. " hello")), 5)
  t.eq((w:sh("cd inner && " .. nkiln.quoted .. " hello")), 5)
end)

t.test("a damaged list of trust trusts nobody and says so", function()
  local w <const> = workspace()
  w:run "trust"
  w:write("config/nkiln/trust.json", "{ not json")
  local status, _, err = w:run "hello"
  t.eq(status, 5)
  t.has(err, "damaged")
  status, _, err = w:run "trust"
  t.eq(status, 2)
  t.has(err, "damaged")
end)

t.test("a trusted workspace skill is confined", function()
  local w <const> = workspace()
  w:write("data.txt", "of the workspace")
  w:write(".kiro/skills/hello/skill.lua", [[
    return skill {
      name = "hello", description = "Try what is not allowed.", permits = { read = { "/etc" }, write = { "." }, run = { "ls" }, net = { "*" } },
      run = function(ctx)
        local function code(value, err) return value and "yes" or (err.code or err.message) end
        local escape = { }
        for _, name in ipairs { "io", "debug", "package", "dofile", "loadfile", "agent_secret" } do escape[#escape + 1] = _G[name] and name or nil end
        return {
          read = code(ctx.fs.read("data.txt")), state = code(ctx.fs.write(".nkiln/x", "1")), workspace = code(ctx.fs.write("x", "1")),
          etc = code(ctx.fs.read("/etc/passwd")), up = code(ctx.fs.read("../home/secret")), link = code(ctx.fs.read("link/secret")),
          program = code(ctx.proc.run { "ls" }), escape = #escape, job = ctx.job == nil, lfs = require("lfs").attributes("/etc", "mode") == nil,
          prelude = not pcall(require, "rt.fs"), bytes = load("\27Lua") == nil,
        }
      end,
    }
  ]])
  w:sh "mkdir -p ../home; echo secret > ../home/secret; ln -s ../home link"
  local status <const>, out <const> = w:run "--trust --json hello"
  t.eq(status, 0, out)
  local got <const> = json.decode(out)
  t.eq(got.read, "yes")
  t.eq(got.state, "yes")
  for _, key in ipairs { "workspace", "etc", "up", "program" } do t.eq(got[key], "not-permitted", key) end
  t.ok(got.link ~= "yes")
  t.eq({ got.escape, got.job, got.lfs, got.prelude, got.bytes }, { 0, true, true, true, true })
  t.eq(w:read ".nkiln/.gitignore", "*\n")
  w:write("config/nkiln/policy.lua", 'return { skills = { hello = { write = { "." }, run = { "ls" } } } }')
  local granted <const> = json.decode((select(2, w:run "--trust --json hello")))
  t.eq({ granted.workspace, granted.program, granted.etc }, { "yes", "yes", "not-permitted" })
end)

t.test("a workspace skill that never ends, or eats memory, or crashes in Lua", function()
  local w <const> = workspace()
  local function run(body, flags)
    w:write(".kiro/skills/hello/skill.lua", 'return skill { name = "hello", description = "d.", run = function(ctx) ' .. body .. " end }")
    return w:run("--trust " .. (flags or "") .. " hello")
  end
  local status, _, err = run("while true do end", "--budget seconds=0.3")
  t.eq(status, 4, err)
  t.match(err, "nkiln: budget of 0%.3 seconds of hello is spent[^\n]*\n$")
  status, _, err = run "local s = {} while true do s[#s + 1] = ('x'):rep(1e6) .. #s end"
  t.eq(status, 1)
  t.has(err, "memory")
  status, _, err = run "local x = nil; return x.y"
  t.eq(status, 1)
  t.match(err, "^nkiln: hello stopped: attempt to index a nil value[^\n]*: %.kiro/skills/hello/skill%.lua:1\n$")
  t.eq((run "return 3 .. {}"), 1)
  w:write(".kiro/skills/hello/skill.lua", "while true do end")
  local slow <const>, _, why <const> = w:sh("timeout 30 " .. nkiln.quoted .. " --trust hello")
  t.eq(slow, 2, why)
end)

t.test("a broken script: exit 2, the file and line; listed as broken", function()
  local w <const> = workspace()
  for text, part in pairs { ["return skill {"] = "skill.lua:1", ["return 3"] = "must return skill", ["error('no')"] = "no: .kiro/skills/hello/skill.lua:1",
    ["return skill { name = 'hello' }"] = "description is missing", ["\27Lua"] = "compiled Lua",
    ["return skill { name = 'hello', description = 'd', run = 3 }"] = "run must be" } do
    w:write(".kiro/skills/hello/skill.lua", text)
    local status <const>, _, err <const> = w:run "--trust hello"
    t.eq(status, 2, text)
    t.match(err, "^nkiln: [^\n]*\n$")
    t.has(err, part)
    local _, out <const> = w:run "--trust skills --json"
    t.eq(by_name(out)["hello@workspace"].state, "broken", text)
  end
end)

t.test("home skills are trusted; a workspace shadows them; commands are taken", function()
  local w <const> = workspace()
  w:write("../home/.kiro/skills/mine/skill.lua", (hello:gsub("hello", "mine"):gsub('alias = "hey", ', "")))
  t.eq(select(2, w:run "mine"), "mine world\n")
  w:write(".claude/skills/mine/SKILL.md", md "mine")
  w:write(".agents/skills/check/SKILL.md", md "check")
  local _, out <const> = w:run "skills --json"
  local found <const> = by_name(out)
  t.eq(found["mine@workspace"].state, "documents")
  t.eq(found["mine@home"].state, "shadowed")
  t.eq(#found["mine@workspace"].shadows, 1)
  t.eq(found["check@workspace"].state, "refused")
  local status <const>, _, err <const> = w:run "mine"
  t.eq(status, 2)
  t.has(err, "documents only")
  t.has(select(2, w:run "check --help"), "legality")
end)

t.test("a workspace never takes a built-in skill's name", function()
  local w <const> = nkiln.folder()
  local _, out <const> = w:run "skills --json"
  local builtin
  for _, item in ipairs(json.decode(out).skills) do
    if item.scope == "builtin" and item.state == "trusted" then builtin = item end
  end
  if not builtin then t.skip "no built-in skill" end
  w:write(".kiro/skills/" .. builtin.name .. "/SKILL.md", md(builtin.name))
  w:write(".kiro/skills/" .. builtin.name .. "/skill.lua", "error('taken over')")
  local _, listed <const> = w:run "--trust skills --json"
  local found <const> = by_name(listed)
  t.eq(found[builtin.name .. "@workspace"].state, "refused")
  t.eq(found[builtin.name .. "@builtin"].state, "trusted")
  local status <const>, help <const> = w:run("--trust help " .. builtin.name)
  t.eq(status, 0)
  t.ok(not help:find("taken over", 1, true))
end)

t.test("a bare file and a skill without documents are skills too", function()
  local w <const> = nkiln.folder()
  w:write(".agents/skills/short.lua", (hello:gsub('"hello"', '"short"'):gsub('alias = "hey", ', "")))
  w:write(".agents/skills/folder/skill.lua", "local words = require 'words'\n" .. hello:gsub('"hello"', '"folder"'):gsub('"hello %%s"', "words.greeting"))
  w:write(".agents/skills/folder/words.lua", "return { greeting = 'good day %s' }")
  t.eq(select(2, w:run "--trust short"), "hello world\n")
  local _, out <const>, err <const> = w:run "--trust folder"
  t.eq(out, "good day world\n", err)
end)

t.test("skills call skills, with the caller's rights", function()
  local w <const> = workspace()
  w:write("../home/.kiro/skills/outer/skill.lua", [[
    return skill { name = "outer", description = "d.", run = function(ctx)
      local r, err = ctx.skill("hello", { who = "inner" })
      local _, wrong = ctx.skill("hello", { whoo = 1 })
      local _, none = ctx.skill("helo")
      return { text = r and r.text or err.message, wrong = wrong.message .. wrong.hint, none = none.hint, ok = r ~= nil }
    end }
  ]])
  local got <const> = json.decode((select(2, w:run "--trust --json outer")))
  t.eq(got.text, "hello inner")
  t.has(got.wrong, "did you mean who?")
  t.eq(got.none, "did you mean hello?")
  t.eq((w:run "outer"), 1, "the inner one is not trusted")
  w:write("../home/.kiro/skills/outer/skill.lua", 'return skill { name = "outer", description = "d.", run = function(ctx) return ctx.skill("outer") end }')
  local status <const>, _, err <const> = w:run "outer"
  t.eq(status, 1)
  t.has(err, "deep")
end)

t.test("each call has its own globals", function()
  local w <const> = nkiln.folder()
  w:write("../home/.kiro/skills/count/skill.lua",
    'n = 0\nreturn skill { name = "count", description = "d.", run = function()\n'
      .. "n = n + 1; string.mine = (string.mine or 0) + 1; return { n = n, m = string.mine } end }")
  w:write("s.lua", 'local a, b = ctx.skill("count"), ctx.skill("count")\nreturn { a = a.n, b = b.n, m = b.m, here = string.mine == nil }')
  t.eq(json.decode((select(2, w:run "--json run s.lua"))), { a = 1, b = 1, m = 1, here = true, ok = true })
end)

t.test("an edited skill is used at the next call, a broken one keeps the old", function()
  local w <const> = nkiln.folder()
  w:write("../home/.kiro/skills/say/skill.lua", 'return skill { name = "say", description = "d.", run = function() return { v = 1 } end }')
  w:write("s.lua", [[
    local path = ctx.args[1]
    local out = { ctx.skill("say").v }
    local function save(text) assert(ctx.fs.write("new.lua", text)) end
    local function wait(v) for _ = 1, 200 do ctx.sleep(0.02) local r = ctx.skill("say") if r and r.v == v then return v end end return ctx.skill("say").v end
    save("two") ; out[2] = wait(2)
    save("broken") ; ctx.sleep(0.3) ; out[3] = ctx.skill("say").v
    save("three") ; out[4] = wait(3)
    return { out = out }
  ]])
  -- A second process does the saving, as an editor would.
  w:write("editor.sh", [[
    f=../home/.kiro/skills/say/skill.lua
    for step in two broken three; do
      n=0
      while [ "$(cat new.lua 2>/dev/null)" != $step ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n + 1)); done
      case $step in
        two) echo 'return skill { name = "say", description = "d.", run = function() return { v = 2 } end }' > $f ;;
        broken) echo 'return skill { name = "say", descr' > $f ;;
        three) echo 'return skill { name = "say", description = "d.", run = function() return { v = 3 } end }' > $f.tmp; mv $f.tmp $f ;;
      esac
    done
  ]])
  local _, out <const>, err <const> = w:sh("sh editor.sh & " .. nkiln.quoted .. " --json run s.lua; wait")
  t.eq(json.decode(out).out, { 1, 2, 2, 3 }, err)
end)

t.test("agents: listed, run in a worker when of a workspace, recorded", function()
  local w <const> = nkiln.folder()
  w:write("../home/.kiro/agents/walker.lua", [[
    return agent { name = "walker", alias = "walk", description = "Walk. Use it to test.", budget = { iterations = 3 },
      params = { integer("far", "steps", { default = 2 }) },
      steps = { { name = "step", spend = { iterations = 1 }, run = function(ctx, state, args)
        state.n = (state.n or 0) + 1
        return state.n >= args.far and "done" or "step", "at " .. state.n
      end } },
      finish = function(ctx, state, outcome) return { n = state.n } end }
  ]])
  local status, out, err = w:run "walk --json"
  t.eq(status, 0, err)
  local got <const> = json.decode(out)
  t.eq({ got.status, got.result.n, #got.steps }, { "done", 2, 2 })
  status, out = w:run "walk --far 9"
  t.eq(status, 4)
  t.has(out, "budget-iterations")
  status, out, err = w:run "resume --budget iterations=20"
  t.eq(status, 0, err)
  t.has(out, "done")
  t.has(select(2, w:run "ledger"), "walker")
  t.has(select(2, w:run "explain last"), "step 1 step")
  t.has(select(2, w:run "agents"), "walk")
  w:write(".kiro/agents/local.lua", (t.read(w:full "../home/.kiro/agents/walker.lua"):gsub('"walker", alias = "walk"', '"local"')))
  t.eq((w:run "local"), 5)
  status, out, err = w:run "--trust local --json"
  t.eq(status, 0, err)
  t.eq(json.decode(out).result.n, 2)
end)

t.test("the run of a workspace's agent is resumed in its worker, with what it spent, and only when trusted", function()
  local w <const> = workspace()
  w:write(".kiro/agents/counter.lua", [[
    return agent { name = "counter", description = "Count. Use it to test.", budget = { iterations = 2 },
      steps = { { name = "count", spend = { iterations = 1 }, run = function(ctx, state)
        state.n = (state.n or 0) + 1
        return state.n < 4 and "count" or "done", "at " .. state.n
      end } } }
  ]])
  local status, out = w:run "--trust counter --json"
  t.eq(status, 4, out)
  local first <const> = json.decode(out)
  status = w:run "resume --budget iterations=9"
  t.eq(status, 5, "not trusted")
  status, out = w:run "--trust resume --json"
  t.eq(status, 4, "the budget is the run's, not a fresh one: " .. out)
  status, out = w:run "--trust resume --budget iterations=9 --json"
  t.eq(status, 0, out)
  local result <const> = json.decode(out)
  t.eq({ result.run, result.status, result.budget.spent.iterations }, { first.run, "done", 4 })
  t.eq({ result.steps[1].number, result.steps[1].note, result.steps[#result.steps].note }, { 3, "at 3", "at 4" })
end)

t.test("an agent's files are put back by one command", function()
  local w <const> = nkiln.folder()
  w:write("../home/.kiro/agents/editor.lua", [[
    return agent { name = "editor", description = "Edit. Use it to test.", permits = { write = { "." } },
      params = { path("file", "the file", { output = true }) },
      steps = { { name = "edit", run = function(ctx, state, args)
        assert(ctx.snapshots:write(ctx.fs.absolute(args.file), "edited"))
        assert(ctx.snapshots:write(ctx.fs.absolute("new.txt"), "made"))
        return "blocked", "cannot go on"
      end } } }
  ]])
  w:write("mine.txt", "as it was")
  local status, out, err = w:run "editor mine.txt"
  t.eq(status, 1, err)
  t.has(out, "blocked: cannot go on")
  t.eq(w:read "mine.txt", "edited")
  w:sh "printf 'by hand' > mine.txt"
  status, out, err = w:run "restore"
  t.eq(status, 0, err)
  t.match(out, "restored%s+mine%.txt%s+what was there is kept")
  t.match(out, "removed%s+new%.txt")
  t.eq({ w:read "mine.txt", w:read "new.txt" }, { "as it was", nil })
  t.eq((w:run "restore last mine.txt"), 0)
  t.eq((w:run "restore last other.txt"), 2)
  t.eq((w:run "restore 1999"), 2)
end)

t.test("a terminal is asked at first use, and the answer kept", function()
  local w <const> = workspace()
  if (w:sh "script -qec true /dev/null") ~= 0 then t.skip "no script(1), or no terminals to be had" end
  local function asked(answer) return w:sh(("printf '%s\\n' | script -qec %s /dev/null"):format(answer, t.quote(nkiln.quoted .. " hello"))) end
  local status, out = asked "n"
  t.eq(status, 5, out)
  t.has(out, "Trust this workspace's skills from now on? [y/N]")
  t.eq((w:run "hello"), 5)
  status, out = asked "y"
  t.eq(status, 0, out)
  t.has(out, "hello world")
  t.eq((w:run "hello"), 0)
end)
