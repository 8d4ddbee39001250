-- SPDX-License-Identifier: MIT
-- The SwiGLU walkthrough, make demo-profile: the first look says Tensor, the investigations say why it waits and which lines do it,
-- the changed kernel is faster, and the comparison says by what. Nothing of the analysis knows these kernels.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local function line_of(text) -- where the naive kernel has this text
  local n = 0
  for line in t.read("tests/kernels/profile/swiglu_naive.py"):gmatch "([^\n]*)\n" do
    n = n + 1
    if line:find(text, 1, true) then return n end
  end
end

local function finding(answer, name)
  for _, one in ipairs(answer.findings) do
    if one.name == name then return one end
  end
end

t.test("profile walkthrough: SwiGLU, from the first look to the changed kernel", function()
  local w <const> = nkiln.folder()
  w:sh(("mkdir -p build tests/kernels && cp -r %s/tests/demo tests/ && cp -r %s/tests/kernels/profile tests/kernels/"):format(nkiln.root, nkiln.root))
  local status <const>, out <const>, err <const> = w:run "--json run tests/demo/profile.lua"
  t.eq(status, 0, err)
  local answer <const> = json.decode(out)
  local result <const> = answer.result or answer
  local before <const>, after <const> = result.before, result.after
  local bounds <const> = before.bounds[1]
  t.eq(bounds.bottleneck.name, "Tensor")
  local idle
  for _, gap in ipairs(bounds.gaps) do
    if gap.name == "TE idle" then idle = gap.share end
  end
  t.ok(idle > 0.1, "the Tensor engine hardly idles: " .. tostring(idle))
  local tensor <const> = finding(before, "tensor")
  t.ok(tensor.achieved_flops > 0.9 * tensor.peak_flops, "its matmuls are not near the peak rate")
  local dma <const> = finding(before, "dma")
  t.ok(dma.found, "small descriptors are not found")
  local lines <const> = {}
  for i, line in ipairs(dma.lines) do
    lines[i] = line.line
    t.ok(line.descriptor < 4096, "a large descriptor is reported")
    t.ok(line.text:find "dma_copy", "the line's text is missing")
  end
  table.sort(lines)
  t.eq(lines, { line_of "dst=x_tile", line_of "dst=gate_tile", line_of "dst=up_tile" })
  local reloads <const> = finding(before, "reloads")
  t.eq({ reloads.found, #reloads.lines, reloads.lines[1].line, reloads.lines[1].times }, { true, 1, line_of "dst=x_tile", 8.0 })
  t.ok(after.bounds[1].window.total_ns < 0.97 * bounds.window.total_ns, "the changed kernel is not faster")
  t.ok(not finding(after, "reloads").found, "the changed kernel still loads twice")
  t.has(result.comparison.sentence, "times as fast")
  t.eq(finding(after, "dma").achieved_bandwidth > dma.achieved_bandwidth, true)
end)
