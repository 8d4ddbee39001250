-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local cli <const> = require "cli"
local fault <const> = require "fault"
local skill <const> = require "skill"
local h <const> = require("params").helpers

-- A host that keeps what is written, with one skill called "greet" (alias "hi").
local function host_of(options)
  options = options or {}
  local self <const> = { printed = "", told = "", json = false, style = require("report").plain, data = nil, home = "/h", cwd = "/w" }
  local decl <const> = skill {
    name = "greet", alias = "hi", description = "Say hello. Use it to test.",
    params = { h.text("name", "who"), h.integer("times", "how often", { default = 1 }) },
    run = function() end,
  }
  function self.out(text) self.printed = self.printed .. text end
  function self.err(text) self.told = self.told .. text end
  function self.out_json(value) self.data = value end
  function self.log(text) self.err(text .. "\n") end
  function self.set_json(on) self.json = on or self.json end
  function self.env() return nil end
  function self.array(list) return list end
  function self.traceback(e) return e end
  function self.error_of(e) return fault.of(e) end
  function self.finish(status) return status end
  function self.task(path)
    if path == "bad.lua" then return nil, fault.new("bad-task", "must return a table", { where = path }) end
    return { name = "from task", file = path }
  end
  function self.catalogue()
    return {
      find = function(name) return (name == "greet" or name == "hi") and { name = "greet", kind = "bare", scope = options.scope or "builtin" } or nil end,
      names = function(kind) return kind == "skills" and { "greet", "hi" } or {} end,
      all_names = function() return { "greet", "hi", "help", "skills" } end,
      declaration = function()
        if options.untrusted then return nil, fault.new("untrusted", "greet is a script of this workspace, which you have not trusted") end
        return decl
      end,
      usable = function(kind) return kind == "skills" and { { name = "greet", alias = "hi", description = decl.description } } or {} end,
    }
  end
  return self
end

local function run(words, options)
  local host <const> = host_of(options)
  local status <const> = cli.main(words, host)
  return status, host
end

t.test("nothing at all prints a short overview", function()
  local status <const>, host <const> = run {}
  t.eq(status, 0)
  for _, part in ipairs { "usage: nkiln COMMAND", "check", "doctor", "hi", "Exit status" } do t.has(host.printed, part) end
  local _, lines <const> = host.printed:gsub("\n", "")
  t.ok(lines < 45, lines)
  t.eq(host.told, "")
end)

t.test("an unknown command suggests the nearest and exits 2", function()
  local status <const>, host <const> = run { "skilss" }
  t.eq(status, 2)
  t.eq(host.told, "nkiln: unknown command skilss: did you mean skills?\n")
  t.has(select(2, run { "gret" }).told, "did you mean greet?")
  t.has(select(2, run { "xyzzy" }).told, "nkiln help lists the commands")
end)

t.test("with --json an error is JSON on stdout and nothing on stderr", function()
  local status <const>, host <const> = run { "skilss", "--json" }
  t.eq(status, 2)
  t.eq(host.told, "")
  t.eq(host.data.ok, false)
  t.eq(host.data.error.code, "usage")
  t.eq(host.data.error.hint, "did you mean skills?")
end)

t.test("help of commands and skills", function()
  for _, words in ipairs { { "help", "greet" }, { "greet", "--help" }, { "hi", "-h" }, { "--help", "hi" } } do
    local status <const>, host <const> = run(words)
    t.eq(status, 0, t.show(words))
    t.has(host.printed, "usage: nkiln hi NAME [--times N]")
  end
  for name in pairs(cli.summary) do
    local status <const>, host <const> = run { "help", name }
    t.eq(status, 0, name)
    t.has(host.printed, "usage: nkiln " .. name)
    t.has(host.printed, "Every command")
  end
end)

t.test("every command has a module, a summary and a place in the overview", function()
  local listed <const> = {}
  for _, group in ipairs(cli.groups) do
    for _, name in ipairs(group.names) do listed[name] = true end
  end
  for name in pairs(cli.summary) do
    t.ok(listed[name], name)
    local decl <const> = cli.command(name)
    t.eq(require("params").problems(decl.params), {}, name)
    t.eq(type(decl.run), "function", name)
  end
end)

t.test("usage errors of a command line", function()
  local status, host = run { "greet" }
  t.eq(status, 2)
  t.has(host.told, "name is missing")
  t.has(host.told, "see nkiln help hi")
  status, host = run { "greet", "x", "--tmes", "2" }
  t.eq(status, 2)
  t.has(host.told, "did you mean --times?")
  status, host = run { "version", "--frobnicate" }
  t.eq(status, 2)
  t.has(host.told, "unknown flag --frobnicate")
end)

t.test("a task file that is wrong exits 2 with its name", function()
  local status <const>, host <const> = run { "greet", "--task", "bad.lua" }
  t.eq(status, 2)
  t.has(host.told, "must return a table: bad.lua")
end)

t.test("an untrusted skill exits 5 with one line", function()
  local status <const>, host <const> = run({ "greet", "x" }, { untrusted = true })
  t.eq(status, 5)
  t.match(host.told, "^nkiln: greet is a script of this workspace[^\n]*\n$")
end)

t.test("exit statuses follow from codes", function()
  local expected <const> = {
    usage = 2, ["bad-input"] = 2, not_found = 2, read_only = 2, ["file-missing"] = 2, syntax = 2, missing = 3, unavailable = 3, budget = 4,
    ["not-permitted"] = 5, untrusted = 5, interrupted = 130, cancelled = 130, failed = 1, crashed = 1, ["no-such-code"] = 1,
  }
  for code, status in pairs(expected) do t.eq(fault.status(fault.new(code, "x")), status, code) end
end)

t.test("one line: what, where, what to do", function()
  t.eq(fault.text(fault.new("bad-input", "cannot be read", { where = "k.py:3", hint = "save it" })), "cannot be read: k.py:3: save it")
  t.eq(fault.text(fault.new("x", "k.py:3 is\nbroken", { where = "k.py:3" })), "k.py:3 is broken")
end)
