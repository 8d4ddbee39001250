-- SPDX-License-Identifier: MIT
-- What the documents of nki.isa allow and what they forbid, instruction by instruction (tests/kernels/limits.lua).
local t <const> = require "tests.lib"
local check <const> = require "nki.check"
local isa <const> = require "nki.isa"
local limits <const> = require "tests.kernels.limits"

local function lines_of(text) return text:gsub("; ", "\n"):gsub("([^\n]+)", "    %1") end

-- The first error of a kernel with these statements, or nil.
local function judge(name, statements, target)
  local given <const> = limits.given[name] or ""
  local report <const> = assert(check.run {
    path = "k.py", source = limits.head .. lines_of(given) .. lines_of(statements) .. "\n" .. limits.tail, cases = { "a=float32[128,512]" }, target = target,
    fixes = false,
  })
  for _, d in ipairs(report.diagnostics) do
    if d.severity == "error" then return d end
  end
end

for name, rows in pairs(limits.rows) do
  t.test(name, function()
    t.ok(isa.functions[name], name)
    for sign, target, statements in rows:gmatch("([+-])@?(%S*) ([^\n]+)\n") do
      local d <const> = judge(name, statements, target ~= "" and target or nil)
      local shown <const> = d and ("[%s] %s"):format(d.code, d.message) or "accepted"
      t.eq(d == nil, sign == "+", ("%s %s\n      %s"):format(target, statements, shown))
      if d then
        t.ok(d.code ~= "internal" and d.code ~= "python-error", statements .. "\n" .. shown)
        t.ok(d.source and d.source.doc and d.source.doc ~= "", statements .. "\n" .. shown .. " cites nothing")
      end
    end
  end)
end
