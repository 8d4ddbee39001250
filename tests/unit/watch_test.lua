-- SPDX-License-Identifier: MIT
-- Watching files: every way in which editors and tools save. A change that is missed shows as the long time limit.
local t <const> = require "tests.lib"
local task <const> = require "rt.task"
local watch <const> = require "rt.watch"

local LONG <const>, SHORT <const> = 10, 0.25

local function sh(...)
  local ok <const> = os.execute(string.format(...))
  if not ok then error("shell command failed: " .. string.format(...)) end
end

-- Watch, then do; the next change must name exactly these paths (below dir).
local function expect(w, dir, names, action)
  action()
  local got <const>, err <const> = w:next(LONG)
  if not got then error("nothing seen: " .. err.message, 2) end
  local short <const> = {}
  for i, path in ipairs(got) do short[i] = path:sub(#dir + 2) end
  table.sort(short)
  t.eq(short, names)
end

local function with(files, fn)
  local dir <const> = t.tmpdir()
  for name, text in pairs(files) do
    if name:find("/", 1, true) then sh("mkdir -p %s/%s", dir, name:match("^(.*)/")) end
    t.write(dir .. "/" .. name, text)
  end
  task.run(function() fn(dir) end)
end

t.test("truncate and write, append, touch without a change of size", function()
  with({ ["k.py"] = "one\n" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/k.py" })
    expect(w, dir, { "k.py" }, function() t.write(dir .. "/k.py", "two\n") end)
    expect(w, dir, { "k.py" }, function() sh("echo more >> %s/k.py", dir) end)
    expect(w, dir, { "k.py" }, function() sh("sleep 0.02; touch %s/k.py", dir) end)
    t.eq(select(2, w:next(SHORT)).code, "timeout") -- once each
  end)
end)

t.test("a file truncated first and written a moment later is seen with its content", function()
  with({ ["k.py"] = "one\n" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/k.py" })
    expect(w, dir, { "k.py" }, function() sh(": > %s/k.py; (sleep 0.03; echo three >> %s/k.py) &", dir, dir) end)
    t.eq(t.read(dir .. "/k.py"), "three\n")
    expect(w, dir, { "k.py" }, function() sh(": > %s/k.py", dir) end) -- one that stays empty is a change too
  end)
end)

t.test("atomic rename over the file, again and again", function()
  with({ ["k.py"] = "one\n" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/k.py" })
    for i = 1, 3 do
      expect(w, dir, { "k.py" }, function()
        t.write(dir .. "/k.py.new" .. i, "same\n")
        os.rename(dir .. "/k.py.new" .. i, dir .. "/k.py")
      end)
    end
  end)
end)

t.test("vim's way: the old file becomes a backup, a new one is written", function()
  with({ ["k.py"] = "one\n" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/k.py" })
    for i = 1, 2 do
      expect(w, dir, { "k.py" }, function()
        t.write(dir .. "/4913", "")
        os.remove(dir .. "/4913")
        t.write(dir .. "/.k.py.swp", "x")
        os.rename(dir .. "/k.py", dir .. "/k.py~")
        t.write(dir .. "/k.py", "round " .. i)
        os.remove(dir .. "/k.py~")
      end)
    end
  end)
end)

t.test("a file that goes away and comes back; one that does not exist yet", function()
  with({ ["k.py"] = "one\n" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/k.py", dir .. "/later/deep/new.py" })
    expect(w, dir, { "k.py" }, function() os.remove(dir .. "/k.py") end)
    expect(w, dir, { "k.py" }, function() t.write(dir .. "/k.py", "back") end)
    expect(w, dir, { "later/deep/new.py" }, function()
      sh("mkdir -p %s/later/deep", dir)
      t.write(dir .. "/later/deep/new.py", "x")
    end)
    expect(w, dir, { "later/deep/new.py" }, function() t.write(dir .. "/later/deep/new.py", "xy") end)
  end)
end)

t.test("the folder is replaced as a whole", function()
  with({ ["src/k.py"] = "one\n" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/src/k.py" })
    expect(w, dir, { "src/k.py" }, function()
      sh("cd %s && mv src old && mkdir src.new && echo two! > src.new/k.py && mv src.new src", dir)
    end)
    expect(w, dir, { "src/k.py" }, function() t.write(dir .. "/src/k.py", "three!!\n") end)
    t.write(dir .. "/old/k.py", "not this one any more\n")
    t.eq(select(2, w:next(SHORT)).code, "timeout")
  end)
end)

t.test("symbolic links: to a file, to its folder, and swapped", function()
  with({ ["real/k.py"] = "one\n", ["v2/k.py"] = "version two\n", ["other.py"] = "other file\n" }, function(dir)
    sh("ln -s real/k.py %s/link.py && ln -s real %s/folder && ln -s folder %s/again", dir, dir, dir)
    local w <close> = assert(watch.new { dir .. "/link.py", dir .. "/again/k.py" })
    expect(w, dir, { "again/k.py", "link.py" }, function() t.write(dir .. "/real/k.py", "changed\n") end)
    expect(w, dir, { "again/k.py", "link.py" }, function() sh("cd %s/real && echo renamed > t && mv t k.py", dir) end)
    expect(w, dir, { "link.py" }, function() sh("cd %s && ln -s other.py l2 && mv -T l2 link.py", dir) end)
    expect(w, dir, { "link.py" }, function() t.write(dir .. "/other.py", "other, changed\n") end)
    expect(w, dir, { "again/k.py" }, function() sh("cd %s && ln -s v2 f2 && mv -T f2 folder", dir) end)
    expect(w, dir, { "again/k.py" }, function() t.write(dir .. "/v2/k.py", "v2 edited\n") end)
    t.write(dir .. "/real/k.py", "nobody looks here now\n")
    t.eq(select(2, w:next(SHORT)).code, "timeout")
    expect(w, dir, { "link.py" }, function() sh("cd %s && ln -sfn link.py x && ln -sfn x link.py", dir) end) -- a circle ends
  end)
end)

t.test("folders with what is below them; temporary files do not count", function()
  with({ ["skills/a/skill.lua"] = "return 1" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/skills" })
    expect(w, dir, { "skills/a/skill.lua" }, function() t.write(dir .. "/skills/a/skill.lua", "return 12") end)
    expect(w, dir, { "skills/b", "skills/b/SKILL.md" }, function() sh("mkdir %s/n && echo x > %s/n/SKILL.md && mv %s/n %s/skills/b", dir, dir, dir, dir) end)
    expect(w, dir, { "skills/b/SKILL.md" }, function() t.write(dir .. "/skills/b/SKILL.md", "longer\n") end)
    for _, name in ipairs { ".skill.lua.swp", "skill.lua~", ".#skill.lua", "#skill.lua#", "4913", "skill.lua.tmp", ".goutputstream-X" } do
      t.write(dir .. "/skills/a/" .. name, "x")
    end
    t.eq(select(2, w:next(SHORT)).code, "timeout")
    expect(w, dir, { "skills/b", "skills/b/SKILL.md" }, function() sh("rm -r %s/skills/b", dir) end)
  end)
end)

t.test("a linked folder below a watched one", function()
  with({ ["skills/a/skill.lua"] = "1", ["elsewhere/skill.lua"] = "1" }, function(dir)
    sh("ln -s ../elsewhere %s/skills/linked", dir)
    local w <close> = assert(watch.new { dir .. "/skills" })
    expect(w, dir, { "skills/linked/skill.lua" }, function() t.write(dir .. "/elsewhere/skill.lua", "12") end)
  end)
end)

t.test("many saves at once are one change; other names in the folder are none", function()
  with({ ["a.py"] = "1", ["b.py"] = "1" }, function(dir)
    local w <close> = assert(watch.new { dir .. "/a.py", dir .. "/b.py" })
    expect(w, dir, { "a.py", "b.py" }, function()
      for i = 1, 50 do
        t.write(dir .. "/a.py", ("x"):rep(i + 1))
        t.write(dir .. "/b.py", ("y"):rep(i + 1))
      end
    end)
    for i = 1, 50 do t.write(dir .. "/noise" .. i, "x") end
    t.eq(select(2, w:next(SHORT)).code, "timeout")
  end)
end)

t.test("a change while nobody waits is kept; closing ends a wait", function()
  with({ ["a.py"] = "1" }, function(dir)
    local w <const> = assert(watch.new { dir .. "/a.py" })
    t.write(dir .. "/a.py", "12")
    task.sleep(0.2)
    t.eq(#assert(w:next(0)), 1)
    task.scope(function(s)
      local waiting <const> = s:spawn(function() return select(2, w:next()).code end)
      task.sleep(0)
      w:close()
      t.eq(waiting:wait(), "closed")
    end)
  end)
end)
