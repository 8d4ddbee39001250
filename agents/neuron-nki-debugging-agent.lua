-- SPDX-License-Identifier: MIT
-- The debugging agent: look, repair, look again, within ten iterations. Every step of the skill sees one text and gives at
-- most one edit; this file owns the loop: the budget, the file on disk, what was tried, and the report. A repair that was not
-- proved may lead nowhere; then the run goes back to the text before it (debugging/way.lua) and tries another. The file holds
-- the best text so far at every moment, so however a run ends, no worse one is left.

local edits <const> = require "debugging.edits"
local kernelargs <const> = require "kernelargs"
local way <const> = require "debugging.way"

local function lines_of(text)
  local out <const> = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do out[#out + 1] = line end
  return out
end

-- Lines that differ between two texts: of every place the old lines, then the new ones.
local LONGEST <const> = 400 -- lines; where more differ, one place holds them all
local function changes(before, after)
  local a <const>, b <const> = lines_of(before), lines_of(after)
  local head = 0
  while head < #a and head < #b and a[head + 1] == b[head + 1] do head = head + 1 end
  local tail = 0
  while tail < #a - head and tail < #b - head and a[#a - tail] == b[#b - tail] do tail = tail + 1 end
  local n <const>, m <const> = #a - head - tail, #b - head - tail
  -- common[i][j]: how many lines a[head + i + 1 ..] and b[head + j + 1 ..] have in common, in order
  local common <const> = {}
  local fits <const> = n <= LONGEST and m <= LONGEST
  for i = fits and n or -1, 0, -1 do
    common[i] = {}
    for j = m, 0, -1 do
      local longest = 0
      if i < n and j < m then
        longest = a[head + i + 1] == b[head + j + 1] and common[i + 1][j + 1] + 1 or math.max(common[i + 1][j], common[i][j + 1])
      end
      common[i][j] = longest
    end
  end
  local out <const>, added = {}, {}
  local function flush()
    table.move(added, 1, #added, #out + 1, out)
    added = {}
  end
  local i, j = 0, 0
  while i < n or j < m do
    if fits and i < n and j < m and a[head + i + 1] == b[head + j + 1] then
      flush()
      i, j = i + 1, j + 1
    elseif i < n and (j == m or not fits or common[i + 1][j] >= common[i][j + 1]) then
      out[#out + 1] = "- " .. a[head + i + 1]
      i = i + 1
    else
      added[#added + 1] = "+ " .. b[head + j + 1]
      j = j + 1
    end
  end
  flush()
  return out
end

local function describe(item)
  local d <const> = item.diagnostic
  if d then return ("line %s: %s [%s]"):format(tostring(d.line), d.message, d.code) end
  return item.pattern or item.message or "the output is wrong"
end

-- What a stuck step tried, kind by kind, and what a person should look at.
local function stuck_lines(item)
  local kinds <const>, parts <const> = {}, {}
  for kind in pairs(item.kinds or {}) do kinds[#kinds + 1] = kind end
  table.sort(kinds, function(a, b) return item.kinds[a] > item.kinds[b] or item.kinds[a] == item.kinds[b] and a < b end)
  for i, kind in ipairs(kinds) do parts[i] = ("%d %s"):format(item.kinds[kind], edits.words[kind] or kind) end
  local lines <const> = {}
  if #parts > 0 then lines[1] = "tried and rejected: " .. table.concat(parts, ", ") end
  if item.limit == "seconds" then
    lines[#lines + 1] = ("the search ended at its bound of %s seconds a step; --step-seconds N gives it more"):format(tostring(item.limit_value))
  elseif item.limit == "candidates" then
    lines[#lines + 1] = ("the search ended at its bound of %d changes a step"):format(item.limit_value)
  end
  local d <const> = item.diagnostic
  if d then
    lines[#lines + 1] = ("look at: line %s%s"):format(tostring(d.line), d.reason and ", because " .. d.reason or "; nkiln explain " .. tostring(d.code))
  else
    lines[#lines + 1] = "look at: what the verdict above says about the worst element; two things may be wrong at once, of which one edit mends neither"
  end
  return lines
end

-- What an applied repair led to, in words.
local function result_of(step)
  local after <const> = step.after or {}
  local wrong <const> = after.wrong and ("%d of %d elements wrong in a quick look"):format(after.wrong, after.count)
  if after.rank == "proved" then
    return "it is proved" .. (after.refuted and (" for the cases given, but fits only them: it is wrong for %s"):format(after.refuted) or "")
  end
  if after.rank == "checks" then return "it builds; without a reference its numbers are not judged" end
  if after.rank == "builds" then
    return after.wrong == 0 and "it builds, but the proof does not hold yet" or "it builds, numbers wrong" .. (wrong and ": " .. wrong or "")
  end
  if after.rank == "better" and after.wrong == 0 then return ("right on the quick inputs (%s wrong before), not proved yet"):format(tostring(after.was)) end
  if after.rank == "better" and after.wrong == after.was then return ("nearer to the right numbers, not right yet: still %s"):format(wrong) end
  if after.rank == "better" then return ("fewer numbers wrong, not right yet: %s, %s before"):format(wrong or "?", tostring(after.was)) end
  if after.error then return ("it gets further: now %s at line %s"):format(after.error.code, tostring(after.error.line)) end
  return "applied"
end

-- Put a text into the file, unless somebody else saved there meanwhile: then theirs stays, and why is returned.
local function put(ctx, state, text, hash)
  local disk <const>, unreadable <const> = ctx.snapshots:keep(state.file)
  if not disk then error(unreadable, 0) end
  if disk.sha256 == hash then -- this step was killed after it wrote, and runs again
    state.disk, state.changed = hash, true
    return nil
  end
  if disk.sha256 ~= state.disk then
    return "the file was changed by somebody else meanwhile; it is left as they saved it"
  end
  local written <const>, err <const> = ctx.snapshots:write(state.file, text)
  if not written then error(err, 0) end
  state.disk, state.changed = hash, true
  if written.changed_outside then return "the file was changed by somebody else meanwhile; their text is kept" end
  return nil
end

-- An iteration is a repair that was applied: what the budget counts.
local function counted(n) return n == 1 and "1 iteration" or n .. " iterations" end

-- What became of a repair in the end: the file holds the best text so far, which need not be the last.
local function fate_of(state, item, turn, done)
  local kept <const> = way.kept(state.way, turn)
  if item.undone and (done or not kept) then return "; it led nowhere and was taken back" end
  if item.undone then return "; nothing was found to go on with, and the file keeps it: no other text was better" end
  return kept and "" or "; it made nothing better so far, and the file has the text before it"
end

local function report(state, outcome)
  local lines <const> = {}
  local function say(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local words <const> = { done = "RESOLVED", failed = "FAILED", blocked = "BLOCKED", oscillation = "BLOCKED" }
  local spent <const> = outcome.status:find "^budget" ~= nil
  local word = words[outcome.status] or spent and "OUT OF BUDGET" or outcome.status:upper()
  if outcome.status == "done" and not state.proved then word = "BUILDS" end
  local why <const> = (outcome.status ~= "done" or not state.proved) and outcome.message or nil
  local written <const> = outcome.status == "done" and state.proved or state.changed or state.copied -- else --out holds nothing, and the kernel is spoken of
  say("%s  %s%s", word, written and state.shown or state.kernel or state.shown, why and ": " .. why or "")
  for i, item in ipairs(state.iterations) do
    say("iteration %d  %s", i, describe(item))
    if item.fix then say("  fix: %s", item.fix) end
    for j, line in ipairs(item.diff or {}) do
      if j > 24 then
        say("    ...")
        break
      end
      say("    %s", line)
    end
    say("  result: %s%s", item.result, fate_of(state, item, i, outcome.status == "done"))
  end
  local stuck <const> = words[outcome.status] == "BLOCKED" and state.stuck
  if stuck then
    local what <const> = describe(stuck)
    say("stopped after %s (an iteration is one applied repair)%s", counted(#state.iterations), what ~= outcome.message and "  " .. what or "")
    say("  result: %s", stuck.result)
    for _, line in ipairs(stuck.stuck) do say("  %s", line) end
  end
  for _, case in ipairs(state.proved or {}) do
    say("%s  %s: algorithm max rel error %.2g, rounding %.2g of its bound, %d input sets", case.ok and "proved" or case.verdict, case.case,
      case.algorithm.max_rel,
      case.rounding.ratio, #case.runs)
  end
  if spent then say("not finished; go on with: nkiln resume %s --budget %s", state.run, outcome.status:find "seconds" and "seconds=3600" or "iterations=20") end
  if state.copied then say("nothing had to be repaired: %s is a copy", state.shown) end
  if state.changed then say("the original is kept: nkiln restore %s", state.run) end
  say("simulated on the NKI machine; no device was used")
  return table.concat(lines, "\n")
end

return agent {
  name = "neuron-nki-debugging-agent",
  alias = "debug",
  description = "Debug an NKI kernel: check it for every case, apply one tried repair at a time, and prove the result against a reference, within ten "
    .. "iterations. Use it when a kernel does not build or gives wrong numbers. The file is edited in place; its original is kept and one command restores it.",
  params = {
    path("kernel", "the kernel file; it is edited in place", { siblings = true, metavar = "KERNEL.py", output = true }),
    list(text("case", "one call of the kernel, as in \"x=bfloat16[256,1024], scale=0.125\"", { files = true }), { short = "c", min = 1 }),
    path("reference", "judge the outputs against this function", { siblings = true, optional = true, metavar = "REF.py[:FUNCTION]", short = "r" }),
    path("out", "write the repaired kernel here instead", { optional = true, output = true, metavar = "FILE.py" }),
    text("entry", "the kernel's function, where the file has more than one", { optional = true }),
    choice("target", kernelargs.targets, "trn2", "the chip"),
    choice("nki_version", kernelargs.versions, "0.6", "the NKI version whose rules hold"),
    number("step_seconds", "how long one step may search for a repair", { default = 120 }),
  },
  permits = { read = { "." }, write = { ".nkiln" } },
  skills = { "neuron-nki-debugging" },
  budget = { iterations = 10, seconds = 1800 },
  examples = {
    'nkiln debug softmax.py --case "x=bf16[256,1024], scale=0.125" --reference ref.py:scaled_softmax',
    'nkiln debug softmax.py --case "x=bf16[130,1001], scale=0.125" -r ref.py --out fixed.py --budget iterations=20',
  },
  steps = {
    {
      name = "begin",
      run = function(ctx, state, args)
        local kept <const>, err <const> = ctx.snapshots:keep(ctx.fs.absolute(args.kernel))
        if not kept then error(err, 0) end
        if kept.absent then error({ code = "not-found", message = "the kernel cannot be read: no such file", where = args.kernel }, 0) end
        state.shown, state.file, state.text = args.out or args.kernel, ctx.fs.absolute(args.out or args.kernel), kept.bytes
        state.iterations, state.run, state.kernel = {}, ctx.run_id, args.kernel
        state.way, state.given = way.begin(kept.bytes, kept.sha256), kept.sha256
        local disk <const>, unreadable <const> = ctx.snapshots:keep(state.file)
        if not disk then error(unreadable, 0) end
        state.disk = disk.sha256
        return "examine"
      end,
    },
    {
      name = "examine",
      run = function(ctx, state, args)
        local step <const>, err <const> = ctx.skill("neuron-nki-debugging", {
          kernel = args.kernel, case = args.case, reference = args.reference, entry = args.entry, target = args.target, nki_version = args.nki_version,
          source = state.way.text, seen = way.seen(state.way), step_seconds = args.step_seconds,
        })
        if not step then error(err, 0) end
        if step.status == "clean" then
          if args.out and not state.changed and state.file ~= ctx.fs.absolute(args.kernel) then -- nothing to repair: --out still gets the kernel
            local there <const> = state.disk
            local refused <const> = put(ctx, state, state.way.text, state.given)
            if refused then return "blocked", refused end
            state.copied, state.changed = true, there ~= nil and there ~= state.given or nil
          end
          state.proved = step.verification and step.verification.cases or nil
          return "done", step.verification and "it checks and is proved" or "it checks; no reference was given, so its numbers are not judged"
        end
        state.step = step
        if step.status == "stuck" then
          if step.limit == "seconds" then ctx.budget:check() end -- the run's own seconds may be what ended the search
          return "retreat"
        end
        return "repair"
      end,
    },
    {
      name = "repair",
      spend = { iterations = 1 },
      run = function(ctx, state)
        local step <const> = state.step
        local diff <const> = changes(state.way.text, step.text)
        local best <const> = way.take(state.way, step)
        local refused <const> = best and put(ctx, state, step.text, step.hash)
        if refused then return "blocked", refused end
        state.iterations[#state.iterations + 1] = {
          diagnostic = step.diagnostic, pattern = step.pattern, message = step.message, fix = step.fix and step.fix.title, diff = diff,
          result = result_of(step), rank = step.after and step.after.rank,
        }
        state.step = nil
        if step.after and step.after.rank == "proved" then
          state.proved = step.verification.cases
          return "done", "it checks and is proved"
        end
        return "examine", step.fix and step.fix.title
      end,
    },
    {
      -- Nothing repairs this text: go back to the one before the last repair, or end.
      name = "retreat",
      run = function(_, state)
        local step <const> = state.step
        if not state.stuck or #state.way.trail > 0 then -- the first that was stuck is the furthest: it is what the report tells
          state.stuck = state.stuck or {
            diagnostic = step.diagnostic, pattern = step.pattern, message = step.message, stuck = stuck_lines(step),
            result = "no repair found" .. (step.tried and step.tried > 0 and (" among %d tried"):format(step.tried) or ""),
          }
        end
        local text <const>, _, turn <const> = way.back(state.way, step)
        if text then
          state.iterations[turn].undone, state.step = true, nil
          return "examine", "back to the text before iteration " .. turn
        end
        local circle <const> = way.circle(state.way)
        if circle then return "oscillation", "it goes in circles: " .. circle end
        return "blocked", describe(state.stuck)
      end,
    },
  },
  finish = function(_, state, outcome)
    if not state.iterations then return nil end
    return {
      text = report(state, outcome), iterations = state.iterations, iterations_text = counted(#state.iterations), cases = state.proved,
      stuck = outcome.status ~= "done" and state.stuck or nil, file = state.shown, restore = "nkiln restore " .. state.run,
    }
  end,
}
