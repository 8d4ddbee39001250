-- SPDX-License-Identifier: MIT
-- Kernels that are slow for one reason each: modelled, then investigated. The first finding must be the planted one, at the
-- planted line; and on each of these profiles the analysis must agree with the SQL that is printed for it.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"
local open <const> = require "profile.open"
local same <const> = require "tests.profile.same"

local function marked(source)
  local out <const>, number = {}, 0
  for line in source:gmatch("([^\n]*)\n") do
    number = number + 1
    if line:find("# slow", 1, true) then out[number] = true end
  end
  return out
end

for _, kernel in ipairs(dofile "tests/kernels/slow.lua") do
  t.test("slow kernel: " .. kernel.name, function()
    local f <const> = nkiln.folder()
    local source <const> = t.read(("tests/kernels/slow/%s.py"):format(kernel.name))
    f:write("k.py", source)
    local made <const>, _, why <const> = f:run(("profile k.py --case %s -o p.db"):format(t.quote(kernel.case)))
    t.eq(made, 0, why)
    local status <const>, out <const>, err <const> = f:run "query p.db --investigate all --json"
    t.eq(status, 0, err)
    local first <const> = json.decode(out).findings[1]
    t.eq({ first.name, first.found }, { kernel.finding, true }, first.title)
    t.ok(marked(source)[first.lines[1].line], ("line %s is blamed: %s"):format(tostring(first.lines[1].line), tostring(first.lines[1].text)))
    t.ok(first.lines[1].text and first.lines[1].text:find("# slow", 1, true), "with its text")
    t.has(first.change, ("k.py:%d"):format(first.lines[1].line))
    local p <close> = assert(open.open(f:full("p.db")))
    t.ok(same.bounds(p, 0) >= 10)
    local compared <const> = same.lines(p, 0)
    for _, name in ipairs { "lines", "tensor", "pipeline", "transfers", "dma", "reloads" } do t.ok(compared[name], name .. " was not compared") end
  end)
end

t.test("comparison: what moved between two versions; unlike profiles are refused", function()
  local f <const> = nkiln.folder()
  local slow <const> = t.read("tests/kernels/slow/weight_reloaded.py")
  local case <const> = t.quote "x=bf16[1024,2048], weight=f32[128,2048]"
  f:write("k.py", slow)
  t.eq(f:run("profile k.py --case " .. case .. " -o before.db"), 0)
  -- The weights loaded once, before the loop.
  local load <const> = slow:match("(        scale = nl.ndarray.-\n        nisa.dma_copy%(dst=scale.-\n)")
  local fast <const> = slow:gsub("        scale = nl%.ndarray.-\n        nisa%.dma_copy%(dst=scale.-\n", ""):gsub("    for r in",
    function() return load:gsub("        ", "    ") .. "    for r in" end)
  f:write("k.py", fast)
  t.eq(f:run("profile k.py --case " .. case .. " -o after.db"), 0)
  local status, out, err = f:run "query before.db --compare after.db --json"
  t.eq(status, 0, err)
  local c <const> = json.decode(out).comparison
  t.ok(c.speedup > 1.2, c.sentence)
  t.eq(c.bytes.before - c.bytes.after, 7 * 128 * 2048 * 4)
  local line
  for _, row in ipairs(c.lines) do line = line or row.text and row.text:find("dst=scale", 1, true) and row end
  t.eq({ line.bytes_before, line.bytes_after }, { 8 * 1048576, 1048576 })
  for _, row in ipairs(c.bounds) do
    if row.name == "memory_bound_ideal_no_reloads" then t.eq(row.moved, false) end
  end
  status, out = f:run "query before.db --compare after.db"
  t.eq(status, 0)
  t.match(out, "times as fast")
  t.eq(f:run("profile k.py --case " .. case .. " --target trn3 -o other.db"), 0)
  status, out, err = f:run "query before.db --compare other.db"
  t.eq(out, "")
  t.eq(status, 2)
  t.has(err, "unlike: target: trn2 before, trn3 after")
  t.eq(f:run "query before.db --compare other.db --anyway", 0)
  status, out = f:run "query before.db --compare before.db"
  t.eq(status, 0)
  t.has(out, "the same time")
  t.has(out, "no line moved")
end)
