-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"

t.test("comparison distinguishes 1 from 1.0 and sees nested differences", function()
  t.raises(function() t.eq(1, 1.0) end, "got 1, want 1.0")
  t.raises(function() t.eq({ a = { 1, 2 } }, { a = { 1, 3 } }) end, "want")
  t.eq({ a = { 1, { b = 2 } } }, { a = { 1, { b = 2 } } })
end)

t.test("sh reports the exit status and both streams", function()
  local code <const>, out <const>, err <const> = t.sh("cat; echo warn >&2; exit 3", "hello")
  t.eq({ code, out, err }, { 3, "hello", "warn\n" })
end)
