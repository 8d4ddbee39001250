-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local skill <const> = require "skill"
local params <const> = require "params"
local h <const> = params.helpers

local function sample(change)
  local decl <const> = {
    name = "neuron-nki-profiling", alias = "profile", description = "Capture a profile. Use it to see where time goes.",
    params = {
      h.path("kernel", "the kernel file"),
      h.path("reference", "the reference", { optional = true }),
      h.choice("target", { "trn2", "trn3" }, "trn2", "the chip"),
      h.list(h.text("case", "one call")),
      h.integer("runs", "how often", { default = 3, min = 1, max = 9 }),
      h.flag("verbose", "say more"),
      h.path("out_dir", "folder", { optional = true, short = "o" }),
    },
    run = function() end,
  }
  for k, v in pairs(change or {}) do decl[k] = v end
  return decl
end

t.test("a declaration is checked, every problem at once", function()
  t.eq(skill.problems(sample()), {})
  local problems <const> = skill.problems { name = "Bad--Name", description = " ", run = 3, extra = 1 }
  local text <const> = table.concat(problems, "\n")
  t.has(text, "lower-case")
  t.has(text, "description is missing")
  t.has(text, "run must be a function")
  t.has(text, "unknown field extra")
  local err <const> = t.raises(function() skill { name = "x" } end)
  t.eq(err.code, "bad-skill")
  t.ok(#err.problems >= 2)
end)

t.test("names follow the Agent Skills rules", function()
  for _, bad in ipairs { "", "A", "a_b", "-a", "a-", "a--b", ("a"):rep(65), "ä" } do t.ok(skill.name_problem(bad), bad) end
  for _, good in ipairs { "a", "a-b", "a1", ("a"):rep(64) } do t.eq(skill.name_problem(good), nil, good) end
end)

t.test("problems of parameters", function()
  local function has(list, part) t.has(table.concat(params.problems(list), "\n"), part) end
  has({ h.text("a"), h.text("a") }, "used twice")
  has({ h.text("json") }, "taken by a flag")
  has({ h.text("A") }, "lower-case")
  has({ h.integer("n", "", { default = 1.5 }) }, "whole number")
  has({ h.choice("c", { "a" }, "b") }, "not one of")
  has({ "x" }, "not a parameter")
  has({ h.text("a", "", { optional = true, positional = true }), h.text("b") }, "follows the optional")
  t.raises(function() h.text("a", "", { defualt = 1 }) end, "unknown option defualt")
end)

t.test("command line to arguments", function()
  local decl <const> = skill(sample())
  local function parse(...)
    local args <const>, common <const> = params.parse(decl.params, { ... })
    if not args then return nil, common end
    return params.check(decl.params, args), common
  end
  local args, common = parse("k.py", "--case", "x=f32[1]", "--case=y=f32[2]", "--target", "trn3", "--verbose", "-o", "out", "--json")
  t.eq(args, { kernel = "k.py", case = { "x=f32[1]", "y=f32[2]" }, target = "trn3", runs = 3, verbose = true, out_dir = "out" })
  t.eq(common, { json = true })
  args = parse("--kernel", "k.py", "--runs", "5", "--no-verbose")
  t.eq(args, { kernel = "k.py", case = {}, target = "trn2", runs = 5, verbose = false })
  args = parse("--", "-k.py")
  t.eq(args.kernel, "-k.py")
  args, common = parse("k.py", "--budget", "seconds=2.5,iterations=4")
  t.eq(common.budget, { seconds = 2.5, iterations = 4 })
  t.eq(args.kernel, "k.py")
end)

t.test("a wrong command line says what is wrong", function()
  local decl <const> = skill(sample())
  local function fails(part, ...)
    local args <const>, err <const> = params.parse(decl.params, { ... })
    local why = err
    if args then
      local checked
      checked, why = params.check(decl.params, args)
      t.eq(checked, nil)
    end
    t.eq(why.code, "usage")
    t.has(why.message .. " " .. (why.hint or ""), part)
  end
  fails("kernel is missing")
  fails("did you mean --target?", "k.py", "--taget", "trn2")
  fails("trn2, trn3", "k.py", "--target", "trn9")
  fails("--runs: expected a whole number", "k.py", "--runs", "many")
  fails("above 9", "k.py", "--runs", "10")
  fails("whole number", "k.py", "--runs", "1.5")
  fails("needs a value", "k.py", "--target")
  fails("one argument too many", "k.py", "more")
  fails("given twice", "k.py", "--runs", "1", "--runs", "2")
  fails("takes no value", "k.py", "--verbose=maybe")
  fails("expected KEY=N", "k.py", "--budget", "seconds")
end)

t.test("a call with a table is checked the same way", function()
  local decl <const> = skill(sample())
  t.eq(params.check(decl.params, { kernel = "k", case = "one" }).case, { "one" })
  local _, err = params.check(decl.params, { kernel = "k", kase = {} })
  t.has(err.hint, "did you mean case?")
  _, err = params.check(decl.params, { kernel = 3 })
  t.has(err.message, "expected a file name")
  _, err = params.check(decl.params, { kernel = "k", verbose = "yes" })
  t.has(err.message, "true or false")
end)

t.test("words after a script go to the script", function()
  local list <const> = { h.path("script"), h.list(h.text("args"), { positional = true }) }
  local args <const>, common <const> = params.parse(list, { "--json", "demo.lua", "--json", "-x", "--", "y" }, { pass = "args" })
  t.eq(args, { script = "demo.lua", args = { "--json", "-x", "--", "y" } })
  t.eq(common, { json = true })
end)

t.test("a task file stands in for flags, the command line wins", function()
  local decl <const> = skill(sample())
  local args <const> = params.from_task(decl.params, { kernel = "mine.py" }, { kernel = "task.py", cases = { "a", "b" }, target = "trn3" })
  t.eq(args, { kernel = "mine.py", case = { "a", "b" }, target = "trn3" })
end)

t.test("JSON schema of the arguments", function()
  local schema <const> = skill.schema(skill(sample()))
  t.eq(schema.required, { "kernel" })
  t.eq(schema.properties.target, { type = "string", enum = { "trn2", "trn3" }, default = "trn2", description = "the chip" })
  t.eq(schema.properties.case, { type = "array", items = { type = "string" }, description = "one call" })
  t.eq(schema.properties.runs.minimum, 1)
  t.eq(schema.additionalProperties, false)
  t.eq(skill.schema(skill(sample { params = { h.flag("x") } })).required, nil)
end)

t.test("help names every parameter", function()
  local text <const> = skill.help(skill(sample()))
  for _, part in ipairs { "usage: nkiln profile KERNEL", "[--target trn2|trn3]", "[--case CASE]...", "-o, --out-dir OUT-DIR", "(default 3)", "--json" } do
    t.has(text, part)
  end
  for line in text:gmatch("[^\n]*") do t.ok(line:find("^usage") or #line <= 110, line) end
end)
