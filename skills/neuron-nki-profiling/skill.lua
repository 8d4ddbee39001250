-- SPDX-License-Identifier: MIT
-- The profiling skill: one profile database per case. On any machine the schedule model makes it in a worker
-- (prelude/work/profile.lua); with a device the vendor's tools do, and files of earlier captures come in by later doors
-- (prelude/profile/doors.lua). This file names the parameters, judges them, and says what a profile holds.

local cases_module <const> = require "nki.case"
local doors <const> = require "profile.doors"
local fault <const> = require "fault"
local kernelargs <const> = require "kernelargs"
local kernelreport <const> = require "kernelreport"
local overview <const> = require "profile.overview"
local place <const> = require "profile.place"
local workspace <const> = require "workspace"

local function folder_of(file) return file:match("^(.+)/[^/]*$") or "/" end

-- The kernel as an absolute path that can be read; nil where none was given.
local function kernel_of(ctx, args)
  if not args.kernel then return nil end
  local path <const> = ctx.fs.absolute(args.kernel)
  local st <const>, err <const> = ctx.fs.stat(path)
  if not st then return nil, fault.new(err.code, "the kernel cannot be read: " .. fault.why(err), { where = args.kernel }) end
  if st.type == "directory" then return nil, fault.new("is-directory", "the kernel is a folder; a Python file is expected", { where = args.kernel }) end
  return path
end

-- Folders the worker may read: the kernel's own, the workspace, and files that cases name with @.
local function readable(ctx, kernel, cases)
  local folders <const> = { folder_of(kernel), ctx.workspace }
  for _, case in ipairs(cases) do
    for _, file in ipairs(cases_module.files(case)) do folders[#folders + 1] = ctx.fs.absolute(file) end
  end
  return folders
end

local function modelled(ctx, args, kernel)
  if #args.case == 0 then
    -- Says which case the kernel's signature asks for.
    local _, none <const> = ctx.nki.check { path = kernel, shown_path = args.kernel, cases = {}, entry = args.entry, cwd = ctx.cwd,
      roots = { folder_of(kernel) } }
    return nil, none or fault.new("usage", "a case is needed", { hint = 'as in --case "x=bf16[256,1024], scale=0.125"' })
  end
  local outputs <const>, err <const> = place.plan(ctx, args, #args.case, place.stem(kernel, args.entry), { { path = kernel, what = "kernel" } })
  if not outputs then return nil, err end
  local folders <const> = readable(ctx, kernel, args.case)
  local target <const> = args.target or "trn2"
  local _ <close> = place.tidy(outputs)
  local result <const>, why <const> = ctx.job("work.profile", {
    path = kernel, shown_path = args.kernel, cases = args.case, entry = args.entry, target = target, nki_version = args.nki_version,
    roots = folders, cwd = ctx.cwd, workspace = ctx.workspace, outputs = outputs, lnc = 1, nkiln_version = require("host").VERSION,
    created = os.date("!%Y-%m-%dT%H:%M:%SZ"),
  }, { read = folders, write = { folder_of(outputs[1]) } })
  if not result then return nil, why end
  if not result.ok then
    -- A kernel whose data steers it can fail at a later case; databases of the cases before are whole.
    local written <const> = {}
    for _, item in ipairs(result.cases or {}) do written[#written + 1] = item.db end
    return { ok = false, written = ctx.json.array(written), diagnostics = result.diagnostics, functions = result.functions,
      entry = result.entry, exit_status = result.exit_status }
  end
  local out <const> = { ok = true, kind = "modelled", target = target, entry = result.entry, cases = {},
    diagnostics = result.diagnostics and #result.diagnostics > 0 and result.diagnostics or nil }
  for i, path in ipairs(outputs) do
    local facts <const>, unread <const> = overview.read(ctx, path)
    if not facts then return nil, unread end
    facts.case = args.case[i]
    out.cases[i] = facts
  end
  return out
end

local function lines_of(result, style)
  local cwd <const> = require("rt.fs").cwd()
  local function short(path) return path:sub(1, #cwd + 1) == cwd .. "/" and path:sub(#cwd + 2) or path end
  local out <const> = {}
  if result.diagnostics then
    -- The kernel was judged first: its errors, or its warnings before the figures.
    local text <const> = kernelreport.text({ disk = workspace.disk, style = style, cwd = cwd }, { ok = result.ok, diagnostics = result.diagnostics })
    out[1] = (text:gsub("\n$", ""))
  end
  if not result.ok then
    local words <const> = #result.written == 0 and "no profile was written" or "written before that: " .. table.concat(result.written, ", ")
    out[#out + 1] = style.red("FAILED") .. "  " .. words
    return table.concat(out, "\n")
  end
  for i, facts in ipairs(result.cases) do
    if i > 1 then out[#out + 1] = "" end
    for _, line in ipairs(overview.lines(facts, style, short)) do out[#out + 1] = line end
    if facts.log then out[#out + 1] = ("%-10s %s"):format("log", short(facts.log)) end
  end
  local name = short(result.cases[1].db)
  if name:find("[^%w_./@+-]") then name = "'" .. name:gsub("'", "'\\''") .. "'" end
  out[#out + 1] = ("%-10s nkiln query %s --bounds"):format("next", name)
  return table.concat(out, "\n")
end

return skill {
  name = "neuron-nki-profiling",
  alias = "profile",
  description = "Make an execution profile of an NKI kernel: which engine limits it, how much time each engine and the DMA queues are active, bytes "
    .. "moved, source lines. Use it to find out why a kernel is slow or to compare two versions. The profile is modelled on any machine, or captured "
    .. "with --device where a Neuron device and neuron-explorer are; files of earlier captures are imported. The result is one SQLite database per "
    .. "case, with neuron-explorer's tables, for nkiln query.",
  params = {
    path("kernel", "the kernel file", { metavar = "KERNEL.py", optional = true, positional = true, siblings = true }),
    list(text("case", "one call of the kernel, as in \"x=bfloat16[256,1024], scale=0.125\"; several give p.case1.db, p.case2.db, ...",
      { files = true }), { short = "c" }),
    path("out", "the database to write (default: .nkiln/profiles/KERNEL[.ENTRY].db); an earlier profile of that name is replaced, any other file is kept",
      { optional = true, output = "beside", short = "o", metavar = "PROFILE.db" }),
    text("entry", "the kernel's function, where the file has more than one", { optional = true }),
    choice("target", kernelargs.targets, nil, "the chip (default: trn2; with --device the one that is here)", { optional = true }),
    choice("nki_version", kernelargs.versions, "0.6", "the NKI version whose rules hold"),
    flag("device", "capture on a NeuronCore: the kernel runs as Python in the Neuron environment, with your rights"),
    choice("lnc", { "1", "2" }, nil, "physical cores per logical core, with --device (default: 1)", { optional = true }),
    path("python", "the Python, or environment, that holds nki, with --device", { optional = true }),
    integer("capture_seconds", "time limit of one neuron-explorer capture, with --device (default: 300)", { optional = true, min = 1, max = 86400 }),
    path("neff", "a compiled kernel: with --ntff a finished capture, with --device one to be captured", { optional = true, metavar = "FILE.neff" }),
    path("ntff", "the device trace that belongs to --neff; needs neuron-explorer, no device", { optional = true, metavar = "FILE.ntff" }),
    path("import", "the folder of one profile's Parquet files, as neuron-explorer view writes it, or its older full JSON; needs nothing of the vendor",
      { optional = true, metavar = "DIR|FILE.json" }),
    path("summary", "a file of neuron-explorer's summary-json: metrics without a timeline", { optional = true, metavar = "FILE.json" }),
  },
  permits = { read = { "." }, write = { ".", ".nkiln" }, run = { "neuron-explorer", "neuron-profile", "neuron-ls", "python*" } },
  budget = { seconds = 7200 },
  examples = {
    'nkiln profile softmax.py --case "x=bf16[256,1024], scale=0.125" -o p.db',
    'nkiln profile matmul.py -c "lhsT=bf16[4096,4096], rhs=bf16[4096,4096]" --device -o device.db',
    "nkiln profile --neff graph.neff --ntff profile_exec_2.ntff -o p.db",
    "nkiln profile --import ~/.local/share/neuron-profile/profiles/global/run1@latest -o p.db",
  },
  run = function(ctx, args)
    local way <const>, wrong <const> = doors.chosen(args)
    if not way then return nil, wrong end
    local kernel <const>, unreadable <const> = kernel_of(ctx, args)
    if unreadable then return nil, unreadable end
    if way == "model" then return modelled(ctx, args, kernel) end
    return doors.run(way, ctx, args, kernel)
  end,
  text = lines_of,
}
