-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local permit <const> = require "permit"

local context <const> = { workspace = "/w/p", home = "/home/u" }
local function rules(data) return assert(permit.rules(data, context, "policy.lua")) end

t.test("globs", function()
  local function yes(p, s) t.ok(permit.glob(p, s), p .. " ~ " .. s) end
  local function no(p, s) t.ok(not permit.glob(p, s), p .. " !~ " .. s) end
  yes("a*c", "abc") yes("a*c", "ac") no("a*c", "a/c") yes("a**c", "a/b/c") yes("**/x", "x") yes("**/x", "a/b/x") no("**/x", "ax")
  yes("?x", "ax") no("?x", "/x") no("", "a") yes("", "") yes("*", "abc") no("*", "a/b") yes("*.amazonaws.com", "bedrock.amazonaws.com")
  no("a.c", "abc") yes("src/**", "src/a/b.lua") no("src/**", "srcx")
end)

t.test("a hostile pattern is not slow", function()
  local steps = 0
  debug.sethook(function() steps = steps + 1 end, "", 1000)
  t.eq(permit.glob(("*a"):rep(40) .. "b", ("a"):rep(2000)), false)
  debug.sethook()
  t.ok(steps < 20000, steps)
end)

t.test("paths", function()
  t.eq(permit.normal("/a/./b/../c//d"), "/a/c/d")
  t.eq(permit.normal("/../.."), "/")
  t.eq(permit.normal("a/../.."), "..")
  t.eq(permit.absolute("~/x", "/b", "/home/u"), "/home/u/x")
  t.ok(permit.beneath("/a/b", "/a"))
  t.ok(not permit.beneath("/ab", "/a"))
end)

t.test("deny before ask before allow", function()
  local r <const> = rules { allow = { "write:src", "run:python*", "net:*" }, ask = { "write:src/big" }, deny = { "write:src/big/secret", "net:evil.example" } }
  t.eq(permit.decide(r, "write", "src/a.py"), "allow")
  t.eq(permit.decide(r, "write", "/w/p/src/a.py"), "allow")
  t.eq(permit.decide(r, "write", "src/big/x"), "ask")
  t.eq(permit.decide(r, "write", "src/big/secret/x"), "deny")
  t.eq(permit.decide(r, "write", "src/../other"), nil)
  t.eq(permit.decide(r, "run", "/usr/bin/python3"), "allow")
  t.eq(permit.decide(r, "run", "bash"), nil)
  t.eq(permit.decide(r, "net", "EVIL.example:443"), "deny")
  t.eq(permit.decide(r, "net", "api.example"), "allow")
end)

t.test("a workspace narrows and never widens", function()
  local user <const> = rules { allow = { "run:make" } }
  local ws <const> = rules { allow = { "run:curl", "net:*" }, deny = { "run:make" } }
  t.eq(permit.combine(user, nil, "run", "make", "ask"), "allow")
  t.eq(permit.combine(user, ws, "run", "make", "ask"), "deny")
  t.eq(permit.combine(user, ws, "run", "curl", "ask"), "ask")
  t.eq(permit.combine(user, ws, "net", "x", "deny"), "deny")
  t.eq(permit.combine(rules { deny = { "run:make" } }, rules { ask = { "run:make" } }, "run", "make", "allow"), "deny")
  t.eq(permit.combine(user, rules { ask = { "run:make" } }, "run", "make"), "ask")
end)

t.test("wrong rules are told", function()
  local _, err = permit.rules({ deny = { "wrte:x" } }, context, "p.lua")
  t.has(err.message, "deny[1]")
  t.eq(err.code, "bad-policy")
  _, err = permit.rules({ deny = "x" }, context, "p.lua")
  t.has(err.message, "must be a list")
end)
