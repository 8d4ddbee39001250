-- SPDX-License-Identifier: MIT
-- Lua states: what scripts see, limits that hold, files of the program. One test per way to get around a limit.
local t <const> = require "tests.lib"
local vm <const> = require "rt.vm"
local pack <const> = require "rt.pack"

-- Run a script in a state of its own, with the script's globals.
local function script(source, options)
  local o <const> = { source = source, name = "=script", globals = "script" }
  for k, v in pairs(options or {}) do o[k] = v end
  return vm.isolated(o)
end

local CPU <const> = { cpu = 0.1, steps = 0 }

-- Exactly these names, so that a new version of Lua brings nothing new in by itself.
local expected <const> = {
  _G = { "_G", "_VERSION", "assert", "collectgarbage", "coroutine", "error", "getmetatable", "ipairs", "load", "math", "next", "os", "pairs",
    "pcall", "rawequal", "rawget", "rawlen", "rawset", "require", "select", "setmetatable", "string", "table", "tonumber", "tostring", "type",
    "utf8", "xpcall" },
  string = { "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize", "rep", "reverse", "sub", "unpack", "upper" },
  table = { "concat", "insert", "move", "pack", "remove", "sort", "unpack" },
  os = { "clock", "date", "difftime", "time" },
  coroutine = { "close", "create", "isyieldable", "resume", "running", "status", "wrap", "yield" },
  utf8 = { "char", "charpattern", "codepoint", "codes", "len", "offset" },
}

t.test("a script sees exactly the allowed names", function()
  local got <const> = script [[
    local out = {}
    for _, name in ipairs { "_G", "string", "table", "os", "coroutine", "utf8" } do
      out[name] = {}
      for k in pairs(name == "_G" and _G or _G[name]) do out[name][#out[name] + 1] = k end
      table.sort(out[name])
    end
    return out]]
  t.eq(got, expected)
end)

t.test("arguments and results are copied, nothing is shared", function()
  t.eq(vm.isolated { source = "local x = ... x.a[1] = 2 return { x, x.b }", arg = { a = { 1 }, b = "s" } }, { { a = { 2 }, b = "s" }, "s" })
  t.eq(script("return ...", { arg = 1.5 }), 1.5)
  local value <const>, err <const> = script "return print"
  t.eq({ value, err }, { nil, nil })
  t.has(select(2, script "return function() end").message, "cannot send a function")
end)

t.test("errors say what and where", function()
  local _, syntax <const> = script("x = = 1")
  t.eq({ syntax.code, syntax.line }, { "syntax", 1 })
  local _, raised <const> = script("\n\nerror 'boom'")
  t.eq(raised, { code = "error", message = "script:3: boom" })
  local _, own <const> = script("error { code = 'mine', message = 'own' }")
  t.eq(own, { code = "mine", message = "own" })
end)

t.test("bytecode is refused in every form", function()
  local code <const> = string.dump(function() return 1 end)
  t.eq(select(2, vm.isolated { source = code }).code, "syntax")
  t.eq(vm.load(code, "=x", {}), nil)
  t.eq(script("return load(..., '=x', 'b') == nil", { arg = code }), true)
  t.eq(script("return load(..., '=x') == nil", { arg = code }), true)
  t.eq(script("local s = ... return load(function() local p = s s = nil return p end, '=x') == nil", { arg = code }), true)
  t.eq(script "return string.dump == nil and ('x').dump == nil", true)
end)

t.test("load gives the script's own globals, never the host's", function()
  t.eq(script "x = 5 return load('return x, require, io, debug, package')()", 5)
  t.eq(script "return load('return _G == ...')(_G)", true)
  t.eq(script "return load('y = 1', '=c', 't', {}) ~= nil and y == nil", true)
  t.eq(script "local f = load('return function() return _ENV end')() return f() == _G", true)
  t.eq(script "local n = 0 return load(function() n = n + 1 return ({ 'return ', '4', '2' })[n] end)()", 42)
end)

t.test("metatables: strings are protected, finalizers are refused", function()
  t.eq(script "return getmetatable('')", false)
  t.eq(script "return pcall(function() getmetatable('').__index.rep = nil end)", false)
  t.eq(script "return (pcall(setmetatable, {}, { __gc = function() end }))", false)
  t.eq(script "return (pcall(setmetatable, setmetatable({}, { __metatable = 1 }), {}))", false)
  t.eq(script [[
    local m = {}
    local x = setmetatable({}, m)
    m.__gc = function() leaked = true end
    x = nil
    for _ = 1, 20 do local _ = ('x'):rep(1e6) end
    return leaked]], nil)
  t.eq(script "string.format = nil return ('%d'):format(3)", "3") -- own copy, not the shared one
end)

t.test("collectgarbage only counts, require knows no module", function()
  t.eq(script "return (pcall(collectgarbage, 'stop'))", false)
  t.eq(script "return collectgarbage('count') > 1 and collectgarbage() > 1", true)
  for _, name in ipairs { "rt.proc", "rt.vm", "io", "os", "debug", "cli", "lfs" } do
    t.eq(script("return (pcall(require, ...))", { arg = name }), false, name)
  end
end)

t.test("memory is limited, also when the failure is caught", function()
  local limit <const> = { memory = 4 << 20 }
  t.eq(select(2, script("local t = {} for i = 1, 1e9 do t[i] = i end", limit)).code, "memory")
  t.eq(select(2, script("local s = 'x' while true do s = s .. s end", limit)).code, "memory")
  t.eq(script("return (pcall(string.rep, 'x', 1 << 24))", limit), false)
  local again <const> = "local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = {} end end) end"
  local _, err <const> = script(again, { memory = 4 << 20, cpu = 0.2, steps = 0 })
  t.ok(err.code == "cpu" or err.code == "memory")
  t.eq(script("return 1", { memory = 4 << 20 }), 1)
end)

t.test("sizes and ranges of one call are bounded", function()
  t.has(select(2, script "return ('x'):rep(1 << 40)").message, "too large")
  t.has(select(2, script "return ('x'):rep(1, ('y'):rep(1 << 20)):rep(1 << 40)").message, "too large")
  t.has(select(2, script "return string.rep('', 1 << 40, 'xy')").message, "too large")
  t.eq(script "return #('ab'):rep(3, ',')", 8)
  t.eq(script "return ('x'):rep(-1) .. ('x'):rep(0)", "")
  for _, call in ipairs {
    "table.move({}, 1, 1 << 50, 1)", "table.concat({}, '', 1, 1 << 50)", "table.insert(long, 1, 1)", "table.remove(long, 1)", "table.unpack(long)",
    "table.sort(long)", "table.concat(long)",
  } do
    local _, err <const> = script("local long = setmetatable({}, { __len = function() return 1 << 50 end }) " .. call)
    t.match(err.message, "too large", call)
  end
end)

-- The ways to go on after a limit. Each must end with the code of the limit.
local stubborn <const> = {
  ["a tight loop"] = "while true do end",
  ["a loop that catches"] = "while true do pcall(function() while true do end end) end",
  ["a loop with a handler that loops"] = "while true do xpcall(function() while true do end end, function() while true do end end) end",
  ["a handler that loops after the limit"] = "xpcall(function() while true do end end, function() while true do end end)",
  ["a handler that raises"] = "while true do xpcall(function() while true do end end, error) end",
  ["a loop in a coroutine"] = "coroutine.wrap(function() while true do end end)()",
  ["a fresh coroutine each time"] = "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
  ["a coroutine that catches"] = "while true do coroutine.wrap(function() pcall(function() while true do end end) coroutine.yield() end)() end",
  ["nested coroutines"] = "local function f(n) if n == 0 then while true do end end return coroutine.wrap(f)(n - 1) end while true do pcall(f, 20) end",
  ["a loop in __close"] = "local x <close> = setmetatable({}, { __close = function() while true do end end })",
  ["a loop in __close after the limit"] = "local x <close> = setmetatable({}, { __close = function() while true do end end }) while true do end",
  ["__close of a dead coroutine"] = [[
    local co = coroutine.create(function()
      local x <close> = setmetatable({}, { __close = function() while true do end end })
      while true do end
    end)
    while true do coroutine.resume(co) coroutine.close(co) end]],
  ["__close in a wrapped coroutine"] = [[
    coroutine.wrap(function()
      local x <close> = setmetatable({}, { __close = function() while true do end end })
      while true do end
    end)()]],
  ["a sort comparator"] = "while true do pcall(table.sort, { 3, 2, 1 }, function() while true do end end) end",
  ["a gsub callback"] = "('x'):gsub('x', function() while true do end end)",
  ["a metamethod"] = "local x = setmetatable({}, { __index = function() while true do end end }) while true do pcall(function() return x.a end) end",
  ["an iterator"] = "for _ in function() while true do end end do end",
  ["recursion that catches"] = "local function f() pcall(f) while true do end end f()",
  ["a tail-called pcall"] = "local function f() return pcall(f) end while true do f() end",
  ["load in a loop"] = "while true do load('while true do end')() end",
}
for name, source in pairs(stubborn) do
  t.test("the CPU limit holds: " .. name, function()
    local value <const>, err <const> = script(source, CPU)
    t.eq({ value, err and err.code }, { nil, "cpu" })
  end)
end

t.test("the instruction limit holds and is exact enough to be a budget", function()
  t.eq(select(2, script("while true do pcall(function() while true do end end) end", { steps = 100000 })).code, "steps")
  t.eq(script("local n = 0 for i = 1, 10000 do n = n + i end return n", { steps = 1000000 }), 50005000)
end)

t.test("no globals at all", function()
  t.eq(vm.isolated { source = "return { name = 'x', n = 1 + 1 }" }, { name = "x", n = 2 })
  t.has(select(2, vm.isolated { source = "return tostring(1)" }).message, "nil value")
  t.has(select(2, vm.isolated { source = "return ('x'):rep(3)" }).message, "index a string value")
end)

t.test("coroutines behave as Lua's", function()
  t.eq(script [[
    local log = {}
    local co = coroutine.create(function(a, b)
      log[#log + 1] = a + b
      local c = coroutine.yield(a, b)
      log[#log + 1] = c
      error({ code = 1 })
    end)
    log[#log + 1] = coroutine.status(co)
    local ok, x, y = coroutine.resume(co, 1, 2)
    log[#log + 1] = { ok, x, y, coroutine.status(co) }
    local ok2, e = coroutine.resume(co, "c")
    log[#log + 1] = { ok2, e.code, coroutine.status(co) }
    log[#log + 1] = { coroutine.resume(co) }
    local gen = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end return "end" end)
    log[#log + 1] = { gen(), gen(), gen(), gen(), (pcall(gen)) }
    local inner = coroutine.wrap(function() coroutine.yield(coroutine.isyieldable()) end)
    log[#log + 1] = inner()
    local closed
    local c2 = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() closed = true end }) coroutine.yield() end)
    coroutine.resume(c2)
    log[#log + 1] = { coroutine.close(c2), closed, coroutine.status(c2) }
    log[#log + 1] = { pcall(coroutine.wrap(function() error("e", 0) end)) }
    log[#log + 1] = (coroutine.resume(coroutine.running()))
    return log]], {
    "suspended", 3, { true, 1, 2, "suspended" }, "c", { false, 1, "dead" }, { false, "cannot resume dead coroutine" }, { 1, 2, 3, "end", false },
    true, { true, true, "dead" }, { false, "e" }, false,
  })
end)

t.test("coroutines nest deeply enough for generators of generators", function()
  t.eq(script [[
    local function nest(n) if n == 0 then return 1 end return coroutine.wrap(function() return nest(n - 1) + 1 end)() end
    return nest(40)]], 41)
end)

t.test("xpcall behaves as Lua's", function()
  t.eq(script "return { xpcall(function(...) return select('#', ...), ... end, error, 1, nil, 3) }", { true, 3, 1, nil, 3 })
  t.eq(script "return { xpcall(error, function(e) return e .. '!' end, 'x', 0) }", { false, "x!" })
  t.eq(script "return { coroutine.wrap(function() return xpcall(function() return coroutine.yield(1) end, error) end)() }", { 1 })
end)

t.test("an environment is fresh each time and carries what is given", function()
  local a <const> = vm.environment { globals = { ctx = { x = 1 }, print = tostring }, modules = { mine = { y = 2 } } }
  local b <const> = vm.environment {}
  a.string.format = nil
  a.new = 1
  t.ok(b.string.format and b.new == nil and string.format)
  t.eq(assert(vm.load("return ctx.x, require('mine').y, print(3)", "=c", a))(), 1)
  t.eq((pcall(assert(vm.load("return require('mine')", "=c", b)))), false)
  t.eq(a._G, a)
end)

t.test("cjson and the confined lfs", function()
  local dir <const> = t.tmpdir()
  local asked <const> = {}
  local env <const> = vm.environment {
    lfs = function(path, how)
      asked[#asked + 1] = how .. " " .. path
      if path:find("secret", 1, true) then return nil, { code = "denied", message = path .. ": not permitted" } end
      return dir .. "/" .. path
    end,
  }
  local run <const> = function(source) return assert(vm.load(source, "=c", env))() end
  t.eq(run "return require('cjson').encode({ 1, 2 })", "[1,2]")
  t.eq(run "return require('lfs').mkdir('a')", true)
  t.eq(run "return require('lfs').attributes('a', 'mode')", "directory")
  t.eq(run "local n = {} for name in require('lfs').dir('.') do n[#n + 1] = name end return #n", 3)
  t.eq(table.pack(run "return require('lfs').attributes('secret')"), { nil, "secret: not permitted", n = 2 })
  t.eq(run "local l = require('lfs') return l.chdir == nil and l.lock == nil and l.link == nil and l.currentdir == nil", true)
  t.eq(asked[1], "write a")
  t.eq((pcall(run, "require('lfs').attributes(setmetatable({}, { __tostring = function() return '/etc' end }))")), false)
end)

t.test("resources: names are checked, files of the home win, all are listed", function()
  t.has(assert(vm.resource "prelude/work/echo.lua"), "smallest job")
  for _, name in ipairs { "../etc/passwd", "/etc/passwd", "prelude/../../x", "", "prelude/", "a//b", "./prelude/cli.lua", "prelude/work/echo.lua\0" } do
    local value <const>, err <const> = vm.resource(name)
    t.eq(value, nil, name)
    t.ok(err.code == "usage" or err.code == "not_found")
  end
  local names <const> = vm.resources "prelude/work"
  local found = false
  for i, name in ipairs(names) do
    found = found or name == "prelude/work/echo.lua"
    t.ok(i == 1 or names[i - 1] < name)
  end
  t.ok(found)
end)

t.test("pack keeps values exact and refuses what is malformed", function()
  local function round(v) return pack.decode(pack.encode(v)) end
  for _, v in ipairs { 0, -1, math.maxinteger, math.mininteger, 0.0, -0.0, 1 / 0, 2 ^ 53, "", "\0\255", true, false, {}, { {}, { {} } }, { 1, nil, 3 } } do
    t.eq(round(v), v)
  end
  t.eq(1 / round(-0.0), -math.huge)
  t.eq(round(nil), nil)
  t.eq(round { [1.5] = 1, [true] = 2, [-1] = 3, x = { y = "z" } }, { [1.5] = 1, [true] = 2, [-1] = 3, x = { y = "z" } })
  local loop <const> = {}
  loop.loop = loop
  t.raises(function() pack.encode(loop) end, "nested too deeply")
  t.raises(function() pack.encode(print) end, "cannot send")
  t.raises(function() pack.encode { [function() end] = 1 } end, "cannot send")
  local good <const> = pack.encode { a = { 1, "text", 2.5, true }, b = "x" }
  for i = 0, #good - 1 do t.raises(function() pack.decode(good:sub(1, i)) end, "malformed") end
  for i = 1, #good do -- a flipped byte gives a value or an error, never a crash
    for _, mask in ipairs { 0x01, 0x80, 0xff } do pcall(pack.decode, good:sub(1, i - 1) .. string.char(good:byte(i) ~ mask) .. good:sub(i + 1)) end
  end
  t.raises(function() pack.decode(("{\1\0\0\0"):rep(100000)) end, "malformed")
  t.raises(function() pack.decode(good .. "n") end, "malformed")
  t.raises(function() pack.decode(("{\1\0\0\0"):rep(200) .. "n" .. ("}"):rep(200)) end, "nested too deeply")
end)

t.test("running out of memory at any point is an error and nothing else", function()
  local source <const> = [[
    local t = {}
    for i = 1, 50 do t[i] = { ("x"):rep(i), tostring(i), function() return i end } end
    local co = coroutine.wrap(function() for i = 1, 10 do coroutine.yield(("y"):rep(i * 10)) end end)
    local s = ""
    for _ = 1, 10 do s = s .. co() end
    local ok, err = xpcall(function() error({ s = s:gsub("y", "z") }) end, function(e) return e.s end)
    return { #t, #s, #err, load("return 1")() }]]
  local good, bad = 0, 0
  for limit = 20000, 80000, 250 do
    local value <const>, err <const> = script(source, { memory = limit })
    if value then
      t.ok(value[3] == 550 or value[3] == #"not enough memory") -- the script's own xpcall may catch it
      t.eq({ value[1], value[2], value[4] }, { 50, 550, 1 })
      good = good + 1
    else
      t.ok(err.code == "memory" or err.message:find("not enough memory", 1, true), err.message)
      bad = bad + 1
    end
  end
  t.ok(good > 0 and bad > 0)
end)
