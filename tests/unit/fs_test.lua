-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local fs <const> = require "rt.fs"

local function refused(code, message, value, err)
  t.eq(value, nil)
  t.eq(err.code, code, err.message)
  if message then t.has(err.message, message) end
end

-- A folder `in` with a file, links that stay inside, links that lead out, a FIFO.
local function tree()
  local dir <const> = t.tmpdir()
  assert(os.execute("cd " .. dir .. [[ && mkdir -p in/sub out && printf hi >in/sub/f && printf secret >out/s && ln -s sub in/ok &&
    ln -s sub/f in/lf && ln -s ../out in/esc && ln -s ../out/s in/escf && ln -s /etc in/abs && ln -s ../in/sub in/round &&
    ln -s loop in/loop && ln -s none in/dangling && mkfifo in/fifo]]))
  return dir
end

-- Everything below a folder with its content, as one string; what a failed operation must leave alone.
local function state(dir)
  return (select(2, t.sh("cd " .. dir .. " && find . -printf '%p %y %m %l\\n' | sort && find . -type f | sort | xargs cat")))
end

for _, way in ipairs { { "openat2", false }, { "walk", true } } do
  local function name(text) return way[1] .. ": " .. text end
  local function root(dir, rights)
    rights = rights or { read = true, write = true }
    rights.walk = way[2]
    return assert(fs.root(dir .. "/in", rights))
  end

  t.test(name "paths stay beneath the root", function()
    local dir <const> = tree()
    local r <close> = root(dir)
    for _, path in ipairs { "sub/f", "ok/f", "lf", "./sub//f", "sub/../lf", "ok/../sub/f", dir .. "/in/sub/f" } do t.eq(r:read(path), "hi", path) end
    for _, path in ipairs { "esc/s", "escf", "abs/passwd", "../out/s", "/etc/passwd", "sub/../../out/s", "round/f", dir .. "/out/s", dir .. "/inx" } do
      refused("escape", "read " .. path .. ": leads out", r:read(path))
      t.eq(r:exists(path), false)
      local before <const> = state(dir)
      refused("escape", nil, r:write(path, "x"))
      refused("escape", nil, r:append(path, "x"))
      refused("escape", nil, r:copy("sub/f", path))
      t.eq(state(dir), before)
    end
    refused("escape", nil, r:mkdir("esc/new"))
    refused("escape", nil, r:remove("esc/s"))
    refused("escape", nil, r:rename("sub/f", "../out/f"))
    refused("escape", nil, r:list("esc"))
    refused("escape", nil, r:list(".."))
    refused("loop", nil, r:read("loop"))
    os.execute("ln -s " .. dir .. "/in/sub/f " .. dir .. "/in/inside")
    refused("escape", nil, r:read("inside")) -- an absolute link is refused even when it leads back inside
    refused("escape", nil, r:write("inside", "x"))
    t.eq(r:glob("esc/*"), {})
    t.eq(t.read(dir .. "/out/s"), "secret")
  end)

  t.test(name "every refusal has its code and one line", function()
    local dir <const> = tree()
    local r <close> = root(dir)
    refused("not_found", "read nope.py: no such file", r:read("nope.py"))
    refused("not_found", nil, r:read("dangling"))
    refused("not_found", nil, r:read(""))
    refused("is_directory", "read sub: is a folder", r:read("sub"))
    refused("is_directory", nil, r:write("sub", "x"))
    refused("is_directory", nil, r:write("new/", "x"))
    refused("not_directory", nil, r:read("sub/f/x"))
    refused("not_directory", nil, r:list("sub/f"))
    refused("not_a_file", "read fifo: is not a regular file", r:read("fifo"))
    refused("not_a_file", nil, r:write("fifo", "x"))
    refused("not_a_file", nil, r:append("fifo", "x"))
    refused("too_large", "the limit is 1 bytes", r:read("sub/f", 1))
    t.eq(r:read("sub/f", 2), "hi")
    refused("exists", nil, r:mkdir("sub"))
    refused("not_empty", nil, r:remove("sub"))
    refused("not_found", nil, r:remove("nope"))
    refused("bad_path", nil, r:remove("."))
    refused("bad_path", nil, r:remove("sub/.."))
    refused("name_too_long", nil, r:read(("x"):rep(300)))
    refused("name_too_long", nil, r:write(("a/"):rep(3000), "x"))
    refused("not_found", "\\x0a", r:read("a\nb"))
    t.raises(function() r:read("a\0b") end, "NUL")
  end)

  t.test(name "write, append, mkdir, list, glob, copy, rename, remove", function()
    local dir <const> = tree()
    local r <close> = root(dir)
    t.eq(r:mkdir("a/b/c", true), true)
    t.eq(r:mkdir("a/b/c", true), true, "already there")
    t.eq(r:mkdir(dir .. "/in/a/d/e", true), true)
    t.eq(r:write("a/b/x.lua", "1"), true)
    t.eq(r:write("a/b/x.lua", ""), true)
    t.eq(r:read("a/b/x.lua"), "")
    t.eq(r:append("a/b/log", "one\n"), true)
    t.eq(r:append("a/b/log", "two\n"), true)
    t.eq(r:read("a/b/log"), "one\ntwo\n")
    t.eq(r:list("a/b"), { "c", "log", "x.lua" })
    t.eq(r:entries("a/b"), { { name = "c", type = "directory" }, { name = "log", type = "file" }, { name = "x.lua", type = "file" } })
    t.eq(r:copy("a/b/log", "a/copy"), true)
    t.eq(r:rename("a/copy", "a/d/moved"), true)
    t.eq(r:read("a/d/moved"), "one\ntwo\n")
    r:write(".hidden", "")
    r:write("a/.h.lua", "")
    t.eq(r:glob("a/*/x.lua"), { "a/b/x.lua" })
    t.eq(r:glob("**/*.lua"), { "a/b/x.lua" })
    t.eq(r:glob("a/**"), { "a/b", "a/b/c", "a/b/log", "a/b/x.lua", "a/d", "a/d/e", "a/d/moved" })
    t.eq(r:glob("s?b/f"), { "sub/f" })
    t.eq(r:glob(".h*"), { ".hidden" })
    t.eq(r:glob("none/*"), {})
    t.eq(r:remove("a/d/moved"), true)
    t.eq(r:remove("a/d/e"), true, "an empty folder")
    t.eq(r:remove("a", true), true)
    t.eq(r:exists("a"), false)
    t.eq(r:remove("esc"), true, "a link is removed, not what it means")
    t.eq(t.read(dir .. "/out/s"), "secret")
    t.eq(r:realpath("ok/f"), dir .. "/in/sub/f")
    t.eq(r:path(), dir .. "/in")
  end)

  t.test(name "replacing keeps the mode, follows a link inside, leaves nothing behind", function()
    local dir <const> = tree()
    local r <close> = root(dir)
    os.execute("chmod 640 " .. dir .. "/in/sub/f")
    t.eq(r:write("lf", "new"), true)
    t.eq(r:stat("lf", true).type, "link")
    t.eq(r:read("sub/f"), "new")
    t.eq(r:stat("sub/f").mode, tonumber("640", 8))
    t.eq(r:write("dangling", "made"), true)
    t.eq(r:read("none"), "made")
    t.eq(select(2, t.sh("cd " .. dir .. "/in && ls -A | tr '\\n' ' ' && ls -A sub")),
      "abs dangling esc escf fifo lf loop none ok round sub f\n")
  end)
end

t.test("a file is written from a function's pieces, whole or not at all", function()
  local dir <const> = t.tmpdir()
  local function from(pieces, fault)
    local i = 0
    return function()
      i = i + 1
      if i == fault then error({ code = "mine" }) end
      return pieces[i]
    end
  end
  t.ok(fs.write(dir .. "/f", from { "one ", "two ", ("x"):rep(100000) }))
  t.eq(fs.read(dir .. "/f"), "one two " .. ("x"):rep(100000))
  t.ok(fs.write(dir .. "/empty", from {}))
  t.eq(fs.read(dir .. "/empty"), "")
  local before <const> = state(dir)
  local ok <const>, err <const> = pcall(fs.write, dir .. "/f", from({ "a", "b", "c" }, 3))
  t.eq({ ok, err.code }, { false, "mine" })
  t.eq(pcall(fs.write, dir .. "/new", from({}, 1)), false)
  t.eq(state(dir), before)
  refused("not_found", nil, fs.write(dir .. "/none/f", from { "a" }))
end)

t.test("rights: what is not granted is refused before anything happens", function()
  local dir <const> = tree()
  local before <const> = state(dir)
  local r <close> = assert(fs.root(dir .. "/in"))
  t.eq(r:read("sub/f"), "hi")
  refused("denied", "write sub/f: writing is not granted here", r:write("sub/f", "x"))
  refused("denied", nil, r:append("sub/f", "x"))
  refused("denied", nil, r:mkdir("new", true))
  refused("denied", nil, r:remove("sub", true))
  refused("denied", nil, r:copy("sub/f", "g"))
  refused("denied", nil, r:rename("sub/f", "g"))
  local w <close> = assert(fs.root(dir .. "/in", { write = true }))
  refused("denied", "reading is not granted here", w:read("sub/f"))
  refused("denied", nil, w:list("."))
  refused("denied", nil, w:copy("sub/f", "g"))
  t.eq(w:exists("sub/f"), false)
  t.eq(state(dir), before)
end)

t.test("a full disk changes nothing and leaves no temporary file", function()
  if select(2, t.sh("id -u")) ~= "0\n" then t.skip("needs root to mount a small file system") end
  local dir <const> = t.tmpdir()
  if not os.execute("mount -t tmpfs -o size=64k none " .. dir .. " 2>/dev/null") then t.skip("cannot mount a tmpfs here") end
  local r <close> = assert(fs.root(dir, { read = true, write = true }))
  local ok <const>, err <const> = pcall(function()
    t.eq(r:write("f", "old"), true)
    refused("no_space", "write f: no space left", r:write("f", ("x"):rep(1 << 20)))
    refused("no_space", nil, r:write("g", ("x"):rep(1 << 20)))
    refused("no_space", nil, r:append("f", ("x"):rep(1 << 20)))
    t.eq(r:read("f"), "old")
    t.eq(r:list("."), { "f" })
    os.execute("mount -o remount,ro " .. dir)
    refused("read_only", "the file system is read-only", r:write("f", "x"))
    refused("read_only", nil, r:mkdir("d"))
    t.eq(r:read("f"), "old")
  end)
  r:close()
  os.execute("umount " .. dir)
  if not ok then error(err, 0) end
end)

t.test("a file or folder without write permission is respected", function()
  local dir <const> = tree()
  t.sh("cd " .. dir .. " && chmod 755 . && chmod 444 in/sub/f && chmod 777 in/sub && chmod 555 in")
  local host <const> = arg[-1] or "build/nkiln-lua"
  if select(2, t.sh("id -u")) == "0\n" then
    -- Root may do anything, so a child without root's powers tries (with a copy of the host that it can reach).
    if t.sh("setpriv --version >/dev/null 2>&1") ~= 0 then t.skip("no setpriv") end
    assert(os.execute("cp " .. host .. " " .. dir .. "/host && chmod 755 " .. dir .. "/host"))
    t.write(dir .. "/try.lua", [[
      local fs <const> = require "rt.fs"
      for _, path in ipairs { "sub/f", "new" } do
        local r <close> = assert(fs.root("]] .. dir .. [[/in", { read = true, write = true }))
        print(select(2, r:write(path, "x")).code)
      end]])
    local code <const>, out <const> = t.sh("setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all " .. dir .. "/host " .. dir .. "/try.lua")
    t.eq({ code, out }, { 0, "denied\ndenied\n" })
  else
    local r <close> = assert(fs.root(dir .. "/in", { read = true, write = true }))
    refused("denied", nil, r:write("sub/f", "x"))
    refused("denied", nil, r:write("new", "x"))
  end
  t.sh("chmod 755 " .. dir .. "/in")
end)

t.test("trusted functions: whole paths, endless and missing inputs", function()
  local dir <const> = tree()
  refused("not_a_file", "read /dev/zero: is not a regular file", fs.read("/dev/zero"))
  refused("not_found", nil, fs.read(dir .. "/none"))
  refused("not_found", nil, fs.root(dir .. "/none"))
  refused("not_directory", nil, fs.root(dir .. "/in/sub/f"))
  assert(os.execute("truncate -s 100M " .. dir .. "/big"))
  refused("too_large", nil, fs.read(dir .. "/big"))
  t.match(fs.read("/proc/self/status"), "VmPeak", "a file that does not know its size")
  t.eq(fs.write(dir .. "/in/abs2", "x"), true)
  t.eq(fs.read(dir .. "/in/escf"), "secret", "no confinement here")
  t.eq(fs.exists(dir .. "/in"), true)
  t.eq(fs.realpath(dir .. "/in/ok/f"), dir .. "/in/sub/f")
  t.eq(fs.glob(dir .. "/i?/s*/f"), { dir .. "/in/sub/f" })
  t.match(fs.home(), "^/")
  t.eq(fs.cwd() .. "\n", select(2, t.sh("pwd -P")))
  t.eq(fs.stat(dir .. "/in/sub/f").size, 2)
  local made <const> = assert(fs.mkdtemp("try"))
  t.match(made, "/try%-%w+$")
  t.eq(fs.stat(made).mode, tonumber("700", 8))
  t.eq(fs.remove(made), true)
end)

t.test("a lock excludes a second holder until it is released or closed", function()
  local path <const> = t.tmpdir() .. "/lock"
  local first <const> = assert(fs.lock(path))
  refused("locked", "in use by another run", fs.lock(path))
  first:release()
  first:release()
  do
    local second <close> = assert(fs.lock(path, { shared = true }))
    local third <close> = assert(fs.lock(path, { shared = true }))
    refused("locked", nil, fs.lock(path))
    t.ok(second and third)
  end
  t.ok(fs.lock(path, { wait = 0.02 }))
end)

t.test("two writers at once: every reader sees one whole version", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/w.lua", [[
    local fs <const> = require "rt.fs"
    for i = 1, 200 do assert(fs.write("]] .. dir .. [[/f", (arg[1]):rep(5000))) end]])
  local host <const> = arg[-1] or "build/nkiln-lua"
  local run <const> = host .. " " .. dir .. "/w.lua "
  t.write(dir .. "/f", ("c"):rep(5000))
  local pipe <const> = io.popen("(" .. run .. "a & " .. run .. "b & wait) 2>&1; echo done")
  for _ = 1, 500 do
    local text <const> = fs.read(dir .. "/f")
    t.ok(#text == 5000 and text == text:sub(1, 1):rep(5000), "a torn file")
  end
  t.eq(pipe:read("a"), "done\n")
  pipe:close()
  os.remove(dir .. "/w.lua")
  t.eq(fs.list(dir), { "f" })
end)

t.test("SHA-256 agrees with sha256sum at every length around a block", function()
  t.eq(fs.sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  local dir <const> = t.tmpdir()
  local lengths <const> = { 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000, 100000 }
  for _, n in ipairs(lengths) do t.write(dir .. "/" .. n, ("\1x\255y"):rep(n // 4 + 1):sub(1, n)) end
  local _, out <const> = t.sh("cd " .. dir .. " && sha256sum " .. table.concat(lengths, " "))
  for digest, n in out:gmatch("(%x+)  (%d+)") do t.eq(fs.sha256(t.read(dir .. "/" .. n)), digest, n) end
end)

t.test("folders left to the collector release their descriptors", function()
  for _ = 1, 30 do assert(fs.root("/tmp")) end
end)

t.test("replace hands over exactly what it replaced", function()
  local dir <const> = t.tmpdir()
  local r <close> = assert(fs.root(dir, { read = true, write = true }))
  t.eq(r:replace("f", "one"), true)
  t.eq(r:replace("f", "two"), "one")
  t.eq(r:replace("f", ""), "two")
  t.eq(r:replace("f", "three"), "")
  t.eq(r:read("f"), "three")
  refused("not_found", nil, r:replace("none/f", "x"))
  t.eq(r:list("."), { "f" })
end)

t.test("create makes a new file only", function()
  local dir <const> = t.tmpdir()
  t.eq(fs.create(dir .. "/a", "one"), true)
  local made <const>, err <const> = fs.create(dir .. "/a", "two")
  t.eq({ made, err.code, t.read(dir .. "/a") }, { nil, "exists", "one" })
  os.execute("ln -s a " .. dir .. "/link")
  t.eq(select(2, fs.create(dir .. "/link", "two")).code, "exists")
  t.eq(fs.list(dir), { "a", "link" })
end)
