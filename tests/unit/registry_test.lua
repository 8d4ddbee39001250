-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local frontmatter <const> = require "frontmatter"
local registry <const> = require "registry"

-- A disk in memory: files = {path = text}; links = {path = path}.
local function disk_of(files, links)
  local disk <const> = {}
  links = links or {}
  local function follow(path)
    for _ = 1, 8 do
      local changed = false
      for from, to in pairs(links) do
        if path == from or path:sub(1, #from + 1) == from .. "/" then
          path, changed = to .. path:sub(#from + 1), true
          break
        end
      end
      if not changed then return path end
    end
    return path
  end
  local function kind(path)
    path = follow(path)
    if files[path] then return "file" end
    for name in pairs(files) do
      if name:sub(1, #path + 1) == path .. "/" then return "dir" end
    end
  end
  function disk.list(path)
    if kind(path) ~= "dir" then return nil, { code = "not_found", message = "no such folder" } end
    local real <const>, seen <const>, out <const> = follow(path), {}, {}
    local function add(full, base)
      local name <const> = full:sub(1, #base + 1) == base .. "/" and full:sub(#base + 2):match("^[^/]+") or nil
      if name and not seen[name] then
        seen[name] = true
        out[#out + 1] = name
      end
    end
    for name in pairs(files) do add(name, real) end
    for name in pairs(links) do add(name, real) end
    return out
  end
  function disk.stat(path)
    local k <const> = kind(path)
    if not k then return nil, { code = "not_found", message = "nothing there" } end
    return { kind = k }
  end
  function disk.read(path) return files[follow(path)], { code = "not_found", message = "no such file" } end
  function disk.realpath(path) return follow(path) end
  return disk
end

local function md(name, description, more) return ("---\nname: %s\ndescription: %s\n%s---\nbody\n"):format(name, description, more or "") end

local function scan(files, options, links)
  return registry.scan({ workspace = "/w", home = "/h", builtin = "/b", disk = disk_of(files, links) }, "skills", options)
end

local function problems(entry)
  local out <const> = {}
  for i, p in ipairs(entry.problems) do out[i] = p.severity .. ": " .. p.message end
  return table.concat(out, "\n")
end

local function fields(text) return frontmatter.parse(text).fields end

t.test("front matter: scalars", function()
  local f <const> = fields [[
---
name: foo-bar
plain: a # comment
hash: a#b
multi: one
  two

  three
single: 'it''s'
double: "a\tb\u00e9\"c"
long: "one
  two"
literal: |
  one
    two

  three
keep: |+
  x

strip: |-
  x
folded: >
  a
  b

  c
version: 1.0
yes: yes
empty:
url: http://x/y:8
---
]]
  t.eq(f, {
    name = "foo-bar", plain = "a", hash = "a#b", multi = "one two\nthree", single = "it's", double = "a\tbé\"c", long = "one two",
    literal = "one\n  two\n\nthree\n", keep = "x\n\n", strip = "x", folded = "a b\nc\n", version = "1.0", yes = "yes", empty = "", url = "http://x/y:8",
  })
end)

t.test("front matter: lists and maps", function()
  local f <const> = fields [==[
---
flow: [a, "b, c", [d]]
map: {a: b, "c": 'd'}
block:
  - Read
  - "x: y"
same:
- one
- two
metadata:
  author: me
  deep:
    er: x
---
]==]
  t.eq(f, {
    flow = { "a", "b, c", { "d" } }, map = { a = "b", c = "d" }, block = { "Read", "x: y" }, same = { "one", "two" },
    metadata = { author = "me", deep = { er = "x" } },
  })
end)

t.test("front matter: what other readers drop is kept and told", function()
  local r = frontmatter.parse("---\nname: a\ndescription: Use when: x\nother: ok\n---\nB")
  t.eq(r.fields, { name = "a", description = "Use when: x", other = "ok" })
  t.eq(#r.problems, 1)
  t.eq(r.problems[1].line, 3)
  r = frontmatter.parse("---\nname: a\njunk line\nbad: \"open\n---\n")
  t.eq(r.fields.name, "a")
  t.eq(r.problems[1].line, 3)
  t.eq(r.problems[2].line, 4)
  r = frontmatter.parse("---\nm:\n\tb: 3\na: 1\na: 2\nc: [x\nd: @y\n---\n")
  t.eq(r.fields.a, "2")
  t.eq(r.fields.m, { b = "3" })
  t.eq(r.fields.c, "[x")
  t.eq(r.fields.d, "@y")
  local all <const> = t.show(r.problems)
  for _, part in ipairs { "given twice", "a tab", "missing", "may not start with @" } do t.has(all, part) end
end)

t.test("front matter: markers, line ends, encodings", function()
  t.eq(fields("\u{FEFF}---\r\nname: a\r\n---  \r\nx").name, "a")
  t.eq(frontmatter.parse("---\na: b\n---").body, "")
  t.eq(frontmatter.parse("---\na: b\n---\nx\n---\ny").body, "x\n---\ny")
  t.eq(frontmatter.parse("").found, false)
  t.eq(frontmatter.parse("# title\n").found, false)
  t.has(frontmatter.parse("---\na: b\n").problems[1].message, "closing")
  local r <const> = frontmatter.parse("---\na: b\nc: \xff\n---\n")
  t.eq(r.fields, {})
  t.eq(r.problems[1].line, 3)
  t.has(frontmatter.parse("---\n" .. ("a: b\n"):rep(300000)).problems[1].message, "bytes")
end)

t.test("front matter never raises, whatever comes", function()
  local pieces <const> = { "a: ", "- ", "|", ">", "'", "\"", "[", "{", "]", "}", ",", ":", "\n", "\n  ", "\n    ", "\t", "#", "x", "\\", "---\n" }
  local seed = 7
  local function random(n)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return (seed >> 8) % n + 1
  end
  for _ = 1, 3000 do
    local text = "---\n"
    for _ = 1, random(14) do text = text .. pieces[random(#pieces)] end
    local r <const> = frontmatter.parse(text .. "\n---\n")
    t.eq(type(r.fields), "table")
  end
end)

t.test("deep nesting is bounded", function()
  local text = "---\n"
  for i = 0, 60 do text = text .. (" "):rep(i) .. "k:\n" end
  t.has(t.show(frontmatter.parse(text .. "---\n").problems), "too deeply")
  local flow <const> = frontmatter.parse("---\na: " .. ("["):rep(5000) .. "\n---\n")
  t.eq(#flow.problems, 1)
  t.has(flow.problems[1].message, "too deeply")
end)

t.test("search order, kinds and shadowing", function()
  local found <const> = scan {
    ["/w/.kiro/skills/one/SKILL.md"] = md("one", "ws"),
    ["/w/.kiro/skills/one/skill.lua"] = "error('must not run')",
    ["/w/.agents/skills/two.lua"] = "x",
    ["/h/.claude/skills/one/SKILL.md"] = md("one", "home"),
    ["/h/.kiro/skills/prose/SKILL.md"] = md("prose", "only words"),
    ["/b/skills/built/SKILL.md"] = md("built", "b", "metadata:\n  alias: bi\n"),
    ["/b/skills/built/skill.lua"] = "x",
  }
  local kinds <const> = {}
  for i, e in ipairs(found.entries) do kinds[i] = e.name .. " " .. e.kind .. " " .. e.scope end
  t.eq(kinds, { "one executable workspace", "two bare workspace", "prose prompt home", "one prompt home", "built executable builtin" })
  t.eq(registry.find(found, "one").path, "/w/.kiro/skills/one")
  t.eq(found.entries[4].shadowed_by, "/w/.kiro/skills/one")
  t.eq(registry.find(found, "one").shadows, { "/h/.claude/skills/one" })
  t.eq(registry.find(found, "bi").name, "built")
  t.eq(registry.find(found, "two").script, "/w/.agents/skills/two.lua")
  t.eq(registry.names(found), { "bi", "built", "one", "prose", "two" })
end)

t.test("a workspace takes no built-in name or alias, nor a command's", function()
  local files <const> = {
    ["/w/.kiro/skills/built/SKILL.md"] = md("built", "mine"),
    ["/w/.kiro/skills/other/SKILL.md"] = md("other", "mine", "metadata:\n  alias: bi\n"),
    ["/w/.kiro/skills/check/SKILL.md"] = md("check", "mine"),
    ["/b/skills/built/SKILL.md"] = md("built", "b", "metadata:\n  alias: bi\n"),
  }
  local found = scan(files, { reserved = { check = true } })
  t.eq(registry.find(found, "built").scope, "builtin")
  t.eq(registry.find(found, "bi").scope, "builtin")
  t.eq(registry.find(found, "check"), nil)
  t.has(problems(found.entries[1]), "may not replace the built-in")
  t.has(problems(found.entries[2]), "is a command of nkiln")
  t.has(problems(found.entries[3]), "may not take the built-in alias")
  found = scan(files, { override = { built = true } })
  t.eq(registry.find(found, "built").scope, "workspace")
end)

t.test("broken skills stay visible with their problem", function()
  local found <const> = scan {
    ["/w/.kiro/skills/a/SKILL.md"] = "no front matter",
    ["/w/.kiro/skills/b/SKILL.md"] = md("other-name", "x"),
    ["/w/.kiro/skills/c/SKILL.md"] = "---\nname: c\n---\n",
    ["/w/.kiro/skills/d/skill.md"] = md("d", "x"),
    ["/w/.kiro/skills/e/skill.lua"] = "x",
    ["/w/.kiro/skills/nested/more/f/SKILL.md"] = md("f", "x"),
    ["/w/.kiro/skills/node_modules/g/SKILL.md"] = md("g", "x"),
  }
  local by <const> = {}
  for _, e in ipairs(found.entries) do by[e.path:match("[^/]*$")] = e end
  t.has(problems(by.a), "no front matter")
  t.eq(by.a.unusable, "no description")
  t.has(problems(by.b), "differs from the folder's name")
  t.has(problems(by.c), "description is missing")
  t.has(problems(by.d), "must be called SKILL.md")
  t.has(problems(by.e), "no SKILL.md")
  t.ok(by.f)
  t.eq(by.g, nil)
end)

t.test("links: one entry per real folder, cycles end", function()
  local found <const> = scan({
    ["/x/real/SKILL.md"] = md("real", "x"),
    ["/w/.kiro/skills/keep/SKILL.md"] = md("keep", "x"),
  }, nil, { ["/w/.kiro/skills/real"] = "/x/real", ["/w/.claude/skills/real"] = "/x/real", ["/w/.kiro/skills/loop"] = "/w/.kiro" })
  local names <const> = {}
  for i, e in ipairs(found.entries) do names[i] = e.name end
  table.sort(names)
  t.eq(names, { "keep", "real" })
end)

t.test("agents are Lua files of their folder", function()
  local found <const> = registry.scan({ workspace = "/w", builtin = "/b", disk = disk_of {
    ["/w/.kiro/agents/mine.lua"] = "x", ["/w/.kiro/agents/note.md"] = "x", ["/b/agents/mine.lua"] = "x", ["/b/agents/fix.lua"] = "x",
  } }, "agents")
  t.eq(registry.names(found), { "fix", "mine" })
  t.eq(found.by_name.mine.scope, "builtin")
end)

t.test("an alias learnt from a trusted script", function()
  local found <const> = scan { ["/h/.kiro/skills/long-name/skill.lua"] = "x", ["/b/skills/b/SKILL.md"] = md("b", "x", "metadata:\n  alias: ba\n") }
  local entry <const> = found.by_name["long-name"]
  registry.learn(found, entry, { name = "long-name", alias = "ln", description = "d" })
  t.eq(registry.find(found, "ln"), entry)
  t.eq(entry.description, "d")
  registry.learn(found, entry, { name = "else", alias = "ba" })
  t.eq(registry.find(found, "ba").name, "b")
  t.has(problems(entry), "calls itself")
end)
