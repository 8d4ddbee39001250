-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local fs <const> = require "rt.fs"
local ledger <const> = require "ledger"
local snapshots <const> = require "snapshots"

local function fixture()
  local dir <const> = fs.realpath(t.tmpdir())
  local l <const> = assert(ledger.open(dir))
  local run <const> = assert(l:begin { name = "a" })
  return dir, l, run, snapshots.of(run)
end

local function actions(l, run)
  local out <const> = {}
  for i, file in ipairs(l:run(run.id).files) do out[i] = file.action end
  return out
end

t.test("a file is kept, replaced and restored", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  local path <const> = dir .. "/k.py"
  t.write(path, "original\n")
  os.execute("chmod 640 " .. path)
  local kept <const> = assert(s:keep(path))
  t.eq({ kept.path, kept.bytes, kept.sha256 }, { path, "original\n", fs.sha256("original\n") })
  s:keep(path)
  t.eq(assert(s:write(path, "one\n")).changed_outside, false)
  t.eq(assert(s:write(path, "two\n")).changed_outside, false)
  t.eq(t.read(path), "two\n")
  t.eq(actions(l, run), { "original", "written", "written" })
  for _, text in ipairs { "original\n", "one\n", "two\n" } do t.eq(s:fetch(fs.sha256(text)), text) end
  t.eq(s:restore(), { { path = path, action = "restored" } })
  t.eq(t.read(path), "original\n")
  t.eq(fs.stat(path).mode, tonumber("640", 8))
  t.eq(s:restore()[1].action, "unchanged")
  t.eq(s:fetch(fs.sha256("two\n")), "two\n")
end)

t.test("what the user saved meanwhile is kept, at every point", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  local path <const> = dir .. "/k.py"
  t.write(path, "original")
  assert(s:write(path, "ours 1"))
  t.write(path, "user 1")
  t.eq(assert(s:write(path, "ours 2")).changed_outside, true)
  t.eq(t.read(path), "ours 2")
  t.write(path, "user 2")
  local back <const> = s:restore()[1]
  t.eq({ back.action, back.kept }, { "restored", fs.sha256("user 2") })
  t.eq(t.read(path), "original")
  for _, text in ipairs { "original", "ours 1", "user 1", "ours 2", "user 2" } do t.eq(s:fetch(fs.sha256(text)), text) end
  t.eq(actions(l, run), { "original", "written", "changed-outside", "written", "before-restore", "restored" })
end)

t.test("a save between the last look and the rename is kept as well", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  local path <const> = dir .. "/k.py"
  t.write(path, "original")
  local record <const> = run.file
  run.file = function(self, action, ...) -- the user saves just before the file is replaced
    if action == "written" and t.read(path) == "original" then t.write(path, "user") end
    return record(self, action, ...)
  end
  local done <const> = assert(s:write(path, "ours"))
  run.file = nil
  t.eq(done.changed_outside, true)
  t.eq(t.read(path), "ours")
  t.eq(s:fetch(fs.sha256("user")), "user")
  t.eq(actions(l, run), { "original", "written", "changed-outside", "written" })
end)

t.test("a new file is removed by restore, unless only the user's content is lost: that is kept", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  local path <const> = dir .. "/new.py"
  t.eq(assert(s:keep(path)).absent, true)
  assert(s:write(path, "ours"))
  t.write(path, "user")
  t.eq(s:restore(), { { path = path, action = "removed", kept = fs.sha256("user") } })
  t.eq(fs.exists(path), false)
  t.eq(s:fetch(fs.sha256("user")), "user")
  t.eq(l:run(run.id).files[1].sha256, nil)
end)

t.test("a file that the user deleted comes back", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  local path <const> = dir .. "/k.py"
  t.write(path, "original")
  assert(s:write(path, "ours"))
  fs.remove(path)
  t.eq(s:restore()[1].action, "restored")
  t.eq({ t.read(path), l:run(run.id).status }, { "original", "running" })
end)

t.test("a symbolic link stays a link; restore of the whole run by one call", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  fs.mkdir(dir .. "/real")
  t.write(dir .. "/real/a.py", "a")
  t.write(dir .. "/b.py", "b")
  os.execute("ln -s real/a.py " .. dir .. "/a.py")
  assert(s:write(dir .. "/a.py", "A"))
  assert(s:write(dir .. "/b.py", "B"))
  t.eq(fs.stat(dir .. "/a.py", true).type, "link")
  t.eq(t.read(dir .. "/real/a.py"), "A")
  t.eq(select(2, snapshots.restore(l, run.id)).code, "locked", "not while the run is at work")
  run:finish { status = "failed" }
  local out <const> = assert(snapshots.restore(l, run.id))
  t.eq({ out[1].path, out[1].action, out[2].path, out[2].action }, { dir .. "/b.py", "restored", dir .. "/real/a.py", "restored" })
  t.eq({ t.read(dir .. "/real/a.py"), t.read(dir .. "/b.py") }, { "a", "b" })
  t.eq(select(2, snapshots.restore(l, "nope")).code, "not_found")
  t.eq(l:run(run.id).status, "failed")
end)

t.test("a failure changes nothing and is one clear error", function()
  local dir <const>, l <close>, run <const>, s <const> = fixture()
  fs.mkdir(dir .. "/folder")
  t.eq(select(2, s:write(dir .. "/folder", "x")).code, "is_directory")
  t.eq(select(2, s:write(dir .. "/none/x", "x")).code, "not_found")
  t.eq(select(2, s:keep("/dev/zero")).code, "not_a_file")
  os.execute("ln -s nowhere " .. dir .. "/dangling")
  t.eq(select(2, s:write(dir .. "/dangling", "x")).code, "not_found")
  t.write(dir .. "/k.py", "original")
  assert(s:write(dir .. "/k.py", "ours"))
  local object <const> = fs.glob(dir .. "/.nkiln/objects/*/*")
  t.eq(#object, 2)
  for _, path in ipairs(object) do t.write(path, "damaged") end
  local out <const> = s:restore()[1]
  t.eq({ out.action, out.err.code }, { "failed", "damaged" })
  t.eq({ t.read(dir .. "/k.py"), #actions(l, run) }, { "ours", 2 })
end)
