-- SPDX-License-Identifier: MIT
-- The profile walkthrough as a headless script: nkiln run tests/demo/profile.lua. A SwiGLU layer written the natural way is
-- proved and profiled; the analysis says what bounds it and names the lines; the kernel with the suggested changes is proved and
-- profiled by the same method, and both are compared. Times are modelled; the analysis knows nothing of these kernels.

local CASE <const> = "x_t=bf16[2048,512], w_gate=bf16[2048,4096], w_up=bf16[2048,4096], w_down=bf16[4096,2048]"
local SMALL <const> = "x_t=bf16[512,128], w_gate=bf16[512,512], w_up=bf16[512,512], w_down=bf16[512,512]" -- to prove the numbers
local HERE <const> = "tests/kernels/profile/"
local OUT <const> = "build/demo-profile/"

local style <const> = ctx.style
local function us(ns) return ns and ("%.1f us"):format(ns / 1000) or "-" end
local function percent(share) return ("%.1f %%"):format(100 * share) end
local function say(...) ctx.print((...):format(select(2, ...))) end
local function title(text) ctx.print("\n" .. style.bold(text)) end
local function must(value, err)
  if not value then error(err, 0) end
  return value
end

ctx.fs.mkdir(OUT)
local began <const> = ctx.now()
local found <const> = {}

for number, name in ipairs { "swiglu_naive", "swiglu_tuned" } do
  local file <const>, profile <const> = HERE .. name .. ".py", OUT .. name .. ".db"
  title(("%d  %s"):format(number, file))
  local proved <const> = must(ctx.nki.sim { path = ctx.fs.absolute(file), cases = { SMALL }, reference = ctx.fs.absolute(HERE .. "swiglu_mlp_ref.py") })
  say("   %s against its NumPy reference (simulated, %s)", proved.ok and proved.verdict or "NOT RIGHT: " .. tostring(proved.verdict), SMALL)
  local made <const> = must(ctx.skill("neuron-nki-profiling", { kernel = file, case = { CASE }, out = profile }))
  if not made.ok then return { ok = false, text = "no profile could be made" } end
  local asked <const> = must(ctx.skill("neuron-nki-profile-querying", { profile = profile, bounds = true, investigate = "all" }))
  found[number] = asked
  local bounds <const> = asked.bounds[1]
  say("   modelled for %s:", CASE)
  say("   modelled time %s; %s", us(bounds.window.total_ns), bounds.sentence)
  for _, gap in ipairs(bounds.gaps) do
    if gap.name == "TE idle" then say("   but it does nothing for %s (%s)", us(gap.ns), percent(gap.share)) end
  end
  for _, finding in ipairs(asked.findings) do
    if finding.found then
      ctx.print("")
      say("   %s", style.yellow(finding.title))
      say("     %s", finding.text)
      for _, line in ipairs(finding.lines) do
        say("     %s  %s  %s  %s", style.bold(line.file and ("%s:%d"):format(line.file:match "[^/]*$", line.line) or line.location), line.amount,
          percent(line.share), line.detail or "")
        if line.text then say("         %s", (line.text:gsub("^%s+", ""))) end
      end
      if finding.change then say("     change: %s", finding.change) end
    elseif finding.name == "tensor" then
      say("   %s: %s", finding.title, finding.text or "")
    end
  end
end

title("3  What the changes did")
local compared <const> = must(ctx.skill("neuron-nki-profile-querying", { profile = OUT .. "swiglu_naive.db", compare = OUT .. "swiglu_tuned.db" }))
for _, row in ipairs(compared.comparison.bounds) do
  if row.moved then
    say("   %-32s %10s -> %10s%s", row.name, us(row.before), us(row.after), row.ratio and ("  %.2fx"):format(row.ratio) or "")
  end
end
say("   %s", compared.comparison.sentence)
say("\n   a page of pictures: build/nkiln report %sswiglu_naive.db -o report.html", OUT)
say("   %.1f seconds; every time above is modelled, no device was used", ctx.now() - began)
local before <const>, after <const> = found[1].bounds[1].window.total_ns, found[2].bounds[1].window.total_ns
if not ctx.json_output then return { ok = after < before, text = "" } end
return { ok = after < before, before = found[1], after = found[2], comparison = compared.comparison }
