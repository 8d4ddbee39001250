-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"
local ledger <const> = require "ledger"

local function host() return arg[-1] or "build/nkiln-lua" end

t.test("opening makes the folder with its own .gitignore and leaves the user's alone", function()
  local dir <const> = t.tmpdir()
  do
    local l <close> = assert(ledger.open(dir))
    t.eq(fs.read(dir .. "/.nkiln/.gitignore"), "*\n")
    t.ok(l)
  end
  fs.write(dir .. "/.nkiln/.gitignore", "mine\n")
  local l <close> = assert(ledger.open(dir))
  t.eq(fs.read(dir .. "/.nkiln/.gitignore"), "mine\n")
  t.eq(l:runs(), {})
  local read_only <close> = assert(ledger.open(dir, { readonly = true }))
  t.eq(read_only:runs(), {})
end)

t.test("a run, its steps, its budget and its end", function()
  local l <close> = assert(ledger.open(t.tmpdir()))
  local run <const> = assert(l:begin { kind = "agent", name = "a", args = { kernel = "k.py" }, budget = { limits = { iterations = 3 } }, version = "1" })
  t.match(run.id, "^%d+%-%d+%-%x+$")
  t.eq(l:run(run.id).status, "running")
  local spent <const> = { limits = { iterations = 3 }, spent = { iterations = 1 } }
  t.eq(run:step { name = "look", outcome = "try", state = { n = 1 }, next = "try", seconds = 0.5, budget = spent }, 1)
  t.eq(run:step { name = "try", outcome = "done", note = "it fits", state = { n = 2 }, next = "done" }, 2)
  t.eq(l:state(run.id).state, { n = 2 })
  t.eq(l:state(run.id, 1).next, "try")
  t.eq(run:finish { status = "done", exit_status = 0, result = { answer = 42 } }, 1)
  local seen <const> = assert(l:run("last"))
  t.eq({ seen.status, seen.exit_status, seen.result, seen.args, #seen.steps, seen.steps[2].note },
    { "done", 0, { answer = 42 }, { kernel = "k.py" }, 2, "it fits" })
  t.eq(seen.budget.spent.iterations, 1)
  local text <const> = l:explain(run.id)
  for _, part in ipairs { "run " .. run.id .. ": agent a, done", "step 1 look: try (0.50 s)", "it fits", "1 of 3 iterations" } do t.has(text, part) end
  t.eq(fs.list(l.path_of_folder .. "/runs"), {}, "no lock is left")
  t.eq(select(2, l:resume(run.id)).code, "finished")
end)

t.test("nothing recorded can be altered", function()
  local l <close> = assert(ledger.open(t.tmpdir()))
  local run <const> = l:begin { name = "a" }
  run:step { name = "s" }
  run:file("original", "/x", "abc")
  run:finish { status = "done", budget = { spent = {} } }
  for _, sql in ipairs {
    "update runs set name = 'b'", "delete from steps", "delete from results", "update budgets set state = ''", "update files set path = ''",
  } do
    local ok <const>, err <const> = l.db:exec(sql)
    t.eq(ok, nil, sql)
    t.has(err.message, "append-only", sql)
  end
end)

t.test("state keeps numbers, empty lists, bytes and what JSON lacks", function()
  local state <const> = {
    i = math.maxinteger, f = 1.0, tiny = 5e-324, list = json.array {}, nested = { { a = { "x" } } }, no = false, bytes = "\xff\0\x01", text = "é",
    inf = math.huge, ninf = -math.huge,
  }
  local back <const> = ledger.decode(ledger.encode(state))
  t.eq(back, state)
  t.eq(json.is_array(back.list), true)
  local nan <const> = ledger.decode(ledger.encode { x = 0 / 0 }).x
  t.ok(nan ~= nan)
  t.raises(function() ledger.encode { f = print } end, "value%.f")
  t.raises(function() ledger.encode { [3] = 1 } end, "cannot be stored")
  local loop <const> = {}
  loop.loop = loop
  t.raises(function() ledger.encode(loop) end, "contains itself")
end)

t.test("a failed step leaves no half of it", function()
  local l <close> = assert(ledger.open(t.tmpdir()))
  local run <const> = l:begin { name = "a" }
  t.raises(function() run:step { name = "s", state = { f = print } } end, "cannot be stored")
  l.db:exec("create trigger broken before insert on budgets begin select raise(abort, 'no budgets today'); end")
  local ok <const>, err <const> = run:step { name = "s", state = {}, budget = {} }
  t.eq({ ok, err.code }, { nil, "constraint" })
  t.eq(l.db:value("select count(*) from steps"), 0)
  t.eq(run:step { name = "s" }, 1)
  run:release()
end)

t.test("ids are found by their beginning", function()
  local l <close> = assert(ledger.open(t.tmpdir()))
  for _, id in ipairs { "run-1", "run-11", "run-2" } do assert(l:begin { id = id, name = "a" }):finish {} end
  t.eq(l:find("run-2"), "run-2")
  t.eq(l:find("run-1"), "run-1", "an exact id wins")
  t.eq(l:find("run-11"), "run-11")
  t.eq(select(2, l:find("run")).code, "ambiguous")
  t.eq(select(2, l:find("x")).code, "not_found")
  t.eq(select(2, l:find("")).code, "not_found")
  t.eq(l:find("last"), "run-2")
  t.eq(select(2, l:begin { id = "run-1", name = "a" }).code, "exists")
  t.eq(#l:runs { limit = 2 }, 2)
  t.eq(l:runs({ name = "b" }), {})
end)

t.test("a killed run is told from one at work, and can be taken up once", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/child.lua", ([[
    local ledger <const> = require "ledger"
    local l <const> = assert(ledger.open(%q))
    local run <const> = assert(l:begin { id = "victim", name = "a" })
    run:step { name = "one", state = { n = 7 }, next = "two" }
    io.stdout:write("ready\n")
    io.stdout:flush()
    for _ = 1, 400 do os.execute("sleep 0.05") end -- killed long before]]):format(dir))
  local pipe <const> = assert(io.popen("exec 2>/dev/null; sh -c 'echo $$; exec " .. host() .. " " .. dir .. "/child.lua'"))
  local pid <const> = pipe:read("l")
  t.eq(pipe:read("l"), "ready")
  local l <close> = assert(ledger.open(dir))
  t.eq(l:run("victim").status, "running")
  t.eq(select(2, l:resume("victim")).code, "locked")
  os.execute("kill -KILL " .. pid)
  pipe:close()
  t.eq(l:run("victim").status, "killed")
  t.has(l:explain("victim"), "nkiln resume victim")
  local run <const>, info <const> = assert(l:resume("victim"))
  t.eq({ info.id, run.number, l:state("victim").state.n }, { "victim", 1, 7 })
  t.eq(select(2, l:resume("victim")).code, "locked")
  t.eq(run:step { name = "two" }, 2)
  run:finish { status = "budget-iterations", exit_status = 4 }
  t.eq(l:run("victim").status, "budget-iterations")
  local once_more <const> = assert(l:resume("victim"))
  once_more:step { name = "three" }
  once_more:release()
  t.eq(l:run("victim").status, "killed", "an old result does not speak for a later death")
end)

t.test("many processes at once: every run is there, none twice", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/child.lua", ([[
    local ledger <const> = require "ledger"
    local l <const> = assert(ledger.open(%q))
    for _ = 1, 5 do
      local run <const> = assert(l:begin { name = arg[1] })
      for i = 1, 3 do assert(run:step { name = "s" .. i, state = { i = i } }) end
      assert(run:finish { status = "done" })
    end]]):format(dir))
  local parts <const> = {}
  for i = 1, 6 do parts[i] = ("%s %s/child.lua p%d & "):format(host(), dir, i) end
  t.eq({ t.sh(table.concat(parts) .. "wait") }, { 0, "", "" })
  local l <close> = assert(ledger.open(dir))
  t.eq(l.db:value("select count(*) from runs"), 30)
  t.eq(l.db:value("select count(*) from steps"), 90)
  t.eq(l.db:value("select count(*) from results where status = 'done'"), 30)
  t.eq(fs.list(dir .. "/.nkiln/runs"), {})
end)

t.test("a folder or database that cannot be used is one clear error", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/file", "")
  t.eq(select(2, ledger.open(dir .. "/file")).code, "not_directory")
  t.eq(select(2, ledger.open(dir, { readonly = true })).code, "not_found")
  t.eq(fs.exists(dir .. "/.nkiln"), false)
  fs.mkdir(dir .. "/.nkiln")
  t.write(dir .. "/.nkiln/ledger.db", ("garbage "):rep(1000))
  local _, err <const> = ledger.open(dir)
  t.eq(err.code, "not_a_database")
  t.has(err.message, "ledger.db")
  fs.remove(dir .. "/.nkiln/ledger.db")
  do
    local d <close> = db.open(dir .. "/.nkiln/ledger.db")
    d:exec("pragma user_version = 99")
  end
  t.has(select(2, ledger.open(dir)).message, "newer nkiln")
end)
