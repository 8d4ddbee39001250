-- SPDX-License-Identifier: MIT
-- The profile-analysis agent: from a kernel or a profile to one report. It profiles where no profile is given, looks whether
-- the profile can be believed, computes the bounds, makes the investigations that the bottleneck and the gaps ask for, and
-- reports all of them, also those that found nothing. With --before it sets an earlier profile beside the new one, by the
-- same method. It claims what a metric shows and names the metric; it changes no kernel.

local analysis <const> = require "profile.analysis"
local fault <const> = require "fault"
local kernelargs <const> = require "kernelargs"

local PROFILING <const>, QUERYING <const> = "neuron-nki-profiling", "neuron-nki-profile-querying"

local function is_profile(name) return name:find "%.db$" ~= nil or name:find "%.sqlite3?$" ~= nil end

-- How a report of ours begins: any other file that --out names is kept.
local BEGINS <const> = "# Where the time goes"

local function check_out(ctx, args)
  local file <const> = ctx.fs.absolute(args.out)
  for _, given in ipairs { args.subject, args.before } do
    if file == ctx.fs.absolute(given) then
      error(fault.new("usage", "--out names a file that is read", { where = args.out, hint = "give the report another name" }), 0)
    end
  end
  local folder <const> = file:match "^(.+)/[^/]*$"
  if folder and not ctx.fs.exists(folder) then
    error(fault.new("not-found", "the report's folder is not there", { where = args.out, hint = "make the folder first" }), 0)
  end
  if not ctx.fs.exists(args.out) then return end
  local text <const> = ctx.fs.read(args.out)
  if not text or (text ~= "" and text:sub(1, #BEGINS) ~= BEGINS) then
    error(fault.new("exists", "this file exists and is no report of nkiln analyse; nothing was changed", { where = args.out,
      hint = "give another name with --out, or remove it" }), 0)
  end
end

local function query(ctx, question)
  local result <const>, err <const> = ctx.skill(QUERYING, question)
  if not result then error(err, 0) end
  return result
end

return agent {
  name = "neuron-nki-profile-analysis-agent",
  alias = "analyse",
  description = "Explain where the time of an NKI kernel goes: profile it if needed, check the profile's quality, compute performance bounds, investigate "
    .. "what the bottleneck and the gaps ask for, and write one report that names source lines, amounts and one change each. Use it when a kernel is "
    .. "slower than it should be, and again after a change, with --before, to see what moved.",
  params = {
    path("subject", "a kernel file, or a profile database (.db) that nkiln profile wrote", { metavar = "KERNEL.py|PROFILE.db" }),
    list(text("case", "one call of the kernel, as in \"x=bfloat16[256,1024], scale=0.125\""), { short = "c" }),
    path("before", "an earlier profile to compare with", { optional = true, metavar = "BEFORE.db" }),
    path("out", "also write the report to this file (Markdown)", { optional = true, short = "o", output = true, metavar = "REPORT.md" }),
    text("entry", "the kernel's function, where the file has more than one", { optional = true }),
    choice("target", kernelargs.targets, nil, "the chip (default: trn2)", { optional = true }),
    choice("nki_version", kernelargs.versions, "0.6", "the NKI version whose rules hold"),
    flag("device", "capture on a NeuronCore instead of modelling"),
  },
  permits = { read = { "." }, write = { ".", ".nkiln" }, run = { "neuron-explorer", "neuron-profile", "neuron-ls", "python*" } },
  skills = { PROFILING, QUERYING },
  budget = { seconds = 7200 },
  examples = {
    'nkiln analyse matmul.py --case "a=bf16[1024,1024], b=bf16[1024,1024]"', "nkiln analyse p.db -o report.md",
    'nkiln analyse matmul_v2.py --case "a=bf16[1024,1024], b=bf16[1024,1024]" --before .nkiln/profiles/matmul.db',
  },
  steps = {
    {
      name = "profile",
      run = function(ctx, state, args)
        state.shown = args.subject
        if args.out then check_out(ctx, args) end
        if is_profile(args.subject) then
          if #args.case > 0 or args.device then
            error(fault.new("usage", "a profile is given; --case and --device belong to a kernel", { where = args.subject }), 0)
          end
          state.profile = ctx.fs.absolute(args.subject)
          return "gate", "a profile is given"
        end
        if #args.case > 1 then
          error(fault.new("usage", "one case at a time", { hint = "nkiln profile makes several profiles; analyse each of them" }), 0)
        end
        local made <const>, err <const> = ctx.skill(PROFILING, {
          kernel = args.subject, case = args.case, entry = args.entry, target = args.target, nki_version = args.nki_version, device = args.device,
        })
        if not made then error(err, 0) end
        if not made.ok then
          state.diagnostics = made.diagnostics
          local first <const> = made.diagnostics and made.diagnostics[1]
          return "failed", first and ("the kernel does not build: line %s: %s"):format(tostring(first.line), first.message) or "no profile could be made"
        end
        state.profile = made.cases[1].db
        return "gate", "profiled"
      end,
    },
    {
      name = "gate",
      run = function(ctx, state)
        local found <const> = query(ctx, { profile = state.profile, bounds = true })
        state.identity, state.bounds = found.identity, found.bounds
        state.quality = analysis.quality(function(sql)
          local answer <const> = query(ctx, { profile = state.profile, sql = sql, dialect = "sqlite" })
          return answer.sql.rows
        end, state.bounds)
        for _, item in ipairs(state.quality) do
          if item.level == "fatal" then return "failed", item.message end
        end
        return "choose"
      end,
    },
    {
      name = "choose",
      run = function(_, state)
        state.chosen = analysis.choose(state.bounds[1])
        state.findings = {}
        local names <const> = {}
        for i, item in ipairs(state.chosen) do names[i] = item.name end
        return "investigate", table.concat(names, ", ")
      end,
    },
    {
      name = "investigate",
      run = function(ctx, state)
        local item <const> = state.chosen[#state.findings + 1]
        if not item then return "compare" end
        local found <const> = query(ctx, { profile = state.profile, investigate = item.name })
        state.findings[#state.findings + 1] = { name = item.name, why = item.why, list = found.findings }
        return "investigate", item.name
      end,
    },
    {
      name = "compare",
      run = function(ctx, state, args)
        if args.before then
          state.comparison = query(ctx, { profile = ctx.fs.absolute(args.before), compare = state.profile }).comparison
        end
        return "report"
      end,
    },
    {
      name = "report",
      run = function(ctx, state, args)
        state.report = analysis.report(state)
        if args.out then
          local ok <const>, err <const> = ctx.fs.write(args.out, state.report .. "\n")
          if not ok then error(err, 0) end
          state.out = args.out
        end
        return "done"
      end,
    },
  },
  finish = function(_, state, outcome)
    local text = state.report
    if not text and outcome.message then text = ("FAILED  %s: %s"):format(state.shown or "the analysis", outcome.message) end
    if text and state.out then text = ("%s\n\nreport  %s"):format(text, state.out) end
    return {
      text = text, file = state.out, profile = state.profile, bounds = state.bounds, findings = state.findings, comparison = state.comparison,
      quality = state.quality,
      diagnostics = state.diagnostics,
    }
  end,
}
