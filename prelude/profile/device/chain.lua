-- SPDX-License-Identifier: MIT
-- The capture on a machine with a Neuron device, from a kernel and a case to a folder of Parquet files, step by step:
-- tools, devices, Python → inputs → run (compile and execute once) → which NEFF → capture (again, warm) → which NTFF →
-- ingest → metrics. Each step's failure is one fault with an explanation and the log beside it.
--
--   chain.prepare(ctx, o) -> o with tools, devices, target, python found | nil, err
--   chain.kernel(ctx, o)  -> taken | nil, err     o: { kernel=absolute, shown=, case=, entry=, target=, lnc=, python=, seconds=, roots= }
--   chain.neff(ctx, o)    -> taken | nil, err     an existing NEFF captured: o.neff; kernel and case optional (inputs)
--   chain.pair(ctx, o)    -> taken | nil, err     existing NEFF and NTFF: o.neff, o.ntff; no device needed
-- taken: { work=, log=, neff=header table, ntff=path, parquet=folder, metrics={...}|nil, notes={...}, provenance={...}, entry=, core= }

local core <const> = require "profile.device.core"
local fault <const> = require "fault"
local find <const> = require "profile.device.find"
local fs <const> = require "rt.fs"
local identify <const> = require "profile.device.identify"
local json <const> = require "rt.json"
local runner <const> = require "profile.device.runner"
local steps <const> = require "profile.device.steps"

local chain <const> = {}

chain.RUN_SECONDS = 3600     -- compiling and running once
chain.INGEST_SECONDS = 3600  -- neuron-explorer's processing; over 30 minutes are expected for 2 GB
chain.EMPTY = 1024           -- bytes; a trace that is smaller is hardly one of an execution
chain.LARGE = 5000000000     -- bytes; more may exceed neuron-explorer's limits (tools/neuron-explorer/troubleshooting)

-- Environment of the user that would spoil a capture, said once.
local function odd_environment(state)
  if os.getenv("NEURON_RT_ENABLE_INSPECT") then
    state:note { level = "info", code = "misspelt", message = "NEURON_RT_ENABLE_INSPECT is set and means nothing; the name is NEURON_RT_INSPECT_ENABLE" }
  end
end

function chain.prepare(ctx, o)
  local tools <const>, no_tools <const> = find.tools(ctx)
  if not tools then return nil, no_tools end
  local devices <const>, no_devices <const> = find.devices(ctx, tools)
  if not devices then return nil, no_devices end
  if devices.target and o.target and o.target ~= devices.target then
    return nil, fault.new("usage", ("this machine is a %s: what is compiled for %s does not load here"):format(devices.instance, o.target),
      { where = "--target", hint = ("leave --target out, or give --target %s"):format(devices.target) })
  end
  o.tools, o.devices, o.target = tools, devices, o.target or devices.target
  if not o.target then
    return nil, fault.new("usage", ("which chip this machine has is not known (%s)"):format(devices.instance or "neuron-ls names no instance type"),
      { hint = "give --target" })
  end
  if o.lnc == 2 and (o.target == "trn1" or o.target == "inf2") then
    return nil, fault.new("usage", ("%s has no LNC 2: its NeuronCores are not grouped"):format(o.target), { where = "--lnc", hint = "leave --lnc out" })
  end
  if o.kernel and not o.neff then
    local python <const>, no_python <const> = find.python(ctx, o.python_named)
    if not python then return nil, no_python end
    o.python = python
  end
  return o
end

-- The case's inputs as files. A worker makes them, confined as always.
local function make_inputs(ctx, state, o)
  local out <const>, err <const> = state:folder("inputs")
  if not out then return nil, err end
  ctx.progress("making the inputs")
  return ctx.job("work.profile_inputs", {
    path = o.kernel, shown_path = o.shown, case = o.case, entry = o.entry, target = o.target, nki_version = o.nki_version, cwd = ctx.cwd,
    roots = o.roots, out = out,
  }, { read = o.roots, write = { out } })
end

-- Hold one core after the other until `body` finds one that is not in use elsewhere. body(id) -> value | nil, fault.
local function on_a_core(state, o, body)
  local ids <const>, wrong <const> = core.candidates(o.devices, os.getenv("NEURON_RT_VISIBLE_CORES"))
  if not ids then return nil, wrong end
  local refused
  for i, id in ipairs(ids) do
    if i > 8 then break end
    local held <const>, err <const> = core.hold(id)
    if held then
      local holding <close> = held
      core.note(held, ("process %d, %s"):format(require("rt.proc").pid(), state.work))
      state.facts.core, state.facts.holders = id, ""
      local names <const> = {}
      if held.previous then
        -- The lock was free and its file was there: who wrote it ended without giving it back.
        names[1] = ("an earlier nkiln profile was killed while it held this core: %s"):format(held.previous)
        state:write_log("## " .. names[1] .. "\n\n")
      end
      for _, row in ipairs(o.devices.cores) do
        for _, process in ipairs(row.id == id and row.busy or {}) do
          local ours <const> = process.command:find(runner.FILE, 1, true) and ", left over from an earlier nkiln profile" or ""
          names[#names + 1] = ("%s %s%s"):format(tostring(process.pid), process.command:sub(1, 40), ours)
        end
      end
      if #names > 0 then state.facts.holders = " (" .. table.concat(names, "; ") .. ")" end
      local value <const>, why <const> = body(holding.id)
      if value then return value end
      refused = why
      if why.name ~= "core-busy" then return nil, why end
    elseif err.code == "locked" then
      refused = refused or err
    else
      return nil, err
    end
  end
  return nil, refused
end

-- What `capture` gets as inputs: NAME FILE pairs (tools/neuron-explorer/how-to-profile-workload). bfloat16 and float8 are
-- given as raw bytes, because NumPy's files cannot name them.
local function input_words(arguments)
  local words <const> = {}
  for _, row in ipairs(arguments or {}) do
    if row.kind == "tensor" then
      words[#words + 1] = row.name
      words[#words + 1] = row.raw or row.file
    end
  end
  return words
end

-- Run the NEFF twice and keep the trace of the second, warm run. Tries again with less when the first way fails.
local function capture(state, o, header, arguments)
  local inputs <const> = input_words(arguments)
  local way <const> = { dge = true, flag = true, inputs = #inputs > 0, single = false }
  if not way.inputs then
    state:note { level = "warning", code = "zero-inputs", message = "the kernel was captured on inputs of zeros: what depends on data may run otherwise" }
  end
  local waited = false
  for attempt = 1, 5 do
    local folder <const>, err <const> = state:folder("capture" .. attempt)
    if not folder then return nil, err end
    local argv <const> = { o.tools.explorer, "capture", "-n", header.path, "-s", folder .. "/profile.ntff", "--num-exec=2", "--profile-nth-exec=2" }
    if way.dge and way.flag then argv[#argv + 1] = "--enable-dge-notifs" end
    if way.single then argv[#argv + 1] = "--single-io" end
    if way.inputs then table.move(inputs, 1, #inputs, #argv + 1, argv) end
    local env <const> = runner.core_environment { core = state.facts.core, lnc = o.lnc, work = state.work }
    -- Flag and variable mean the same (nki/guides/use-neuron-profile; tools/neuron-explorer/environment-variables); users
    -- report versions in which only one of them works.
    env.NEURON_RT_ENABLE_DGE_NOTIFICATIONS = way.dge and "1" or "0"
    env.NEURON_RT_INSPECT_ENABLE = false
    local result <const>, why <const> = state:run("neuron-explorer capture", argv, { env = env, seconds = o.seconds, cwd = folder, device = true })
    if result then return identify.traces(folder, "profile"), folder end
    if not why.name then return nil, why end
    if way.dge and (why.name == "dge-overflow" or why.name == "deadline" or why.name == "timeout") then
      way.dge = false
      state:note { level = "warning", code = "no-dge", message = "captured without DGE notifications (with them it did not end): DMA names are unknown, "
        .. "and DMA figures of transfers made on the device may lack rows" }
    elseif why.name == "old-tool" and way.dge and way.flag then
      way.flag = false -- the variable alone
    elseif why.name == "core-busy" and not waited then
      waited = true -- the process that ran the kernel may still be giving the core back
      state.ctx.sleep(2)
    elseif why.name == "device-memory" and not way.single then
      way.single = true
      state:note { level = "warning", code = "single-io", message = "all inputs and outputs shared one buffer for want of device memory: times are "
        .. "representative, data is not" }
    elseif why.name == "unknown" and way.inputs then
      way.inputs = false
      state:note { level = "warning", code = "zero-inputs", message = "the capture did not take the case's inputs, and ran on zeros: what depends on data "
        .. "may run otherwise" }
    else
      return nil, why
    end
  end
  return nil, fault.new("failed", "neuron-explorer capture failed in every way that was tried", { where = state.log })
end

local function the_trace(state, list, folder)
  if #list == 0 then
    return nil, fault.new("failed", "neuron-explorer capture ended well but wrote no profile*.ntff", { where = folder, hint = "see " .. state.log })
  end
  if #list > 1 and list[#list].rank ~= list[1].rank then
    state:note { level = "info", code = "ranks", message = ("traces of several workers were written; this is rank %d"):format(list[1].rank) }
  end
  return list[1]
end

local judge_trace

-- The trace that the runtime itself took of the kernel's one run: cold, but of this kernel. For captures that do not succeed.
local function cold_trace(state, header, why)
  local known <const> = { deadline = true, timeout = true, unknown = true, ["device-memory"] = true, ["old-tool"] = true }
  local trace <const> = known[why.name] and identify.paired(header)
  if not trace or not judge_trace(trace) then return nil, why end
  state:note { level = "warning", code = "cold", message = "neuron-explorer capture did not succeed; this is the trace of the kernel's first run, without a "
    .. "warm-up and without DGE notifications: " .. why.message }
  return trace
end

function judge_trace(trace)
  if trace.size == 0 then
    return nil, fault.new("bad-input", "the trace is empty: nothing was executed on the profiled core while it was captured",
      { where = trace.path, hint = "run the kernel warm, on the core that is profiled (NEURON_RT_VISIBLE_CORES)" })
  end
  return true
end

-- The folder with the Parquet files of one profile beneath a --data-path.
local function parquet_folder(data, name)
  local wanted <const> = ("%s/profiles/global/%s@latest"):format(data, name)
  return identify.holds_tables(wanted) and wanted or identify.tables(data)[1]
end

-- {"n_...": {metric: value}} in the first line that starts with "{"; lines before it may be logs.
function chain.metrics(text)
  for line in text:gmatch("[^\n]+") do
    if line:find("^%s*{") then
      local value <const> = json.decode((line:gsub("([:,%[]%s*)NaN", "%1null")))
      if type(value) ~= "table" then return nil end
      local _, first <const> = next(value)
      return type(first) == "table" and first or nil
    end
  end
end

-- Process a pair into Parquet, and ask for the summary.
local function ingest(state, o, neff_path, trace)
  local data <const>, err <const> = state:folder("data")
  if not data then return nil, err end
  local env <const> = { HOME = runner.home(state.work) }
  local name <const> = "nkiln"
  local argv <const> = { o.tools.explorer, "view", "-n", neff_path, "-s", trace.path, "--data-path", data, "--display-name", name, "--output-format", "parquet",
    "--ingest-only" }
  if o.kernel then
    argv[#argv + 1] = "--nki-source-root"
    argv[#argv + 1] = o.kernel:match("^(.+)/[^/]*$") or "/"
  end
  local result <const>, why <const> = state:run("neuron-explorer view", argv, { env = env, seconds = chain.INGEST_SECONDS })
  local folder <const> = parquet_folder(data, name)
  if not result then
    -- With its port taken the tool fails after everything has been written.
    local text <const> = state.last and (state.last.stderr or "") .. (state.last.stdout or "") or ""
    if not (folder and text:find("address already in use")) then
      if trace.size < chain.EMPTY then
        return nil, fault.new("bad-input", ("the trace has %d bytes: it holds no execution"):format(trace.size),
          { where = trace.path, hint = "the core was idle, or the run had no warm-up" })
      end
      if trace.size > chain.LARGE then
        why.hint = ("the trace has %.1f GB; neuron-explorer may not process more than 5 GB: profile a smaller case"):format(trace.size / 1e9)
      end
      return nil, why
    end
  end
  if not folder then
    return nil, fault.new("failed", "neuron-explorer view ended well but wrote no Parquet files", { where = data, hint = "see " .. state.log })
  end
  local metrics
  local summary <const> = state:run("neuron-explorer view (summary)", { o.tools.explorer, "view", "-n", neff_path, "-s", trace.path, "--data-path", data,
    "--output-format", "summary-json" }, { env = env, seconds = chain.INGEST_SECONDS })
  if summary then
    metrics = chain.metrics(summary.stdout)
    if metrics then fs.write(state.work .. "/metrics.json", json.encode(metrics, { sort = true }) .. "\n") end
  end
  if not metrics then
    state:note { level = "info", code = "no-metrics", message = "neuron-explorer gave no summary-json; the figures come from its tables alone" }
  end
  return { parquet = folder, metrics = metrics }
end

local function finish(state, o, header, trace, more)
  local made <const>, err <const> = ingest(state, o, header.path, trace)
  if not made then return nil, err end
  local taken <const> = { work = state.work, log = state.log, neff = header, ntff = trace.path, parquet = made.parquet, metrics = made.metrics,
    notes = state.notes }
  taken.provenance = { kind = "captured", target = o.target, lnc = tostring(header.lnc ~= 0 and header.lnc or o.lnc or 1), neff_uuid = header.uuid,
    neff_name = header.name, tool_versions = "neuron-explorer " .. (o.tools.version or "?"), work_folder = state.work }
  for k, v in pairs(more or {}) do
    taken[k] = v
    if type(v) == "string" then taken.provenance[k] = v end
  end
  return taken
end

function chain.kernel(ctx, o)
  local state <const>, err <const> = steps.open(ctx, (o.kernel:match("([^/]*)$"):gsub("%.py$", "")))
  if not state then return nil, err end
  state.facts.target, state.facts.lnc, state.facts.log = o.target, o.lnc, state.log
  odd_environment(state)
  local inputs <const>, no_inputs <const> = make_inputs(ctx, state, o)
  if not inputs then return nil, no_inputs end
  for _, name in ipairs { "inspect", "artifacts", "neffs", "cache", "outputs" } do
    local made <const>, why <const> = state:folder(name)
    if not made then return nil, why end
  end
  local argv <const>, unwritten <const> = runner.write({ python = o.python.path, work = state.work, kernel = o.kernel, entry = inputs.entry, lnc = o.lnc },
    inputs.arguments)
  if not argv then return nil, fault.of(unwritten) end
  return on_a_core(state, o, function(id)
    local env <const> = runner.environment { target = o.target, lnc = o.lnc, core = id, work = state.work, python = o.python,
      flags = os.getenv("NEURON_CC_FLAGS") }
    local ran <const>, why <const> = state:run("the kernel's run in " .. o.python.path, argv, { env = env, seconds = chain.RUN_SECONDS, device = true })
    if not ran then return nil, why end
    local answer <const> = runner.answer(state.work)
    if not answer then
      return nil, fault.new("failed", "the kernel's run ended well but reported nothing", { where = state.log })
    end
    local list <const> = identify.neffs(state.work)
    local header <const>, unclear <const> = identify.choose(list, { artifacts = state.work .. "/artifacts", entry = inputs.entry, lnc = o.lnc,
      log = state.log })
    if not header then return nil, unclear end
    local traces <const>, folder <const> = capture(state, o, header, inputs.arguments)
    local trace, bad
    if traces then
      trace, bad = the_trace(state, traces, folder)
    else
      trace, bad = cold_trace(state, header, folder)
    end
    if not trace then return nil, bad end
    local fine <const>, empty <const> = judge_trace(trace)
    if not fine then return nil, empty end
    return finish(state, o, header, trace, { entry = inputs.entry, nki_version = answer.nki ~= "" and answer.nki or nil, instance = o.devices.instance,
      core = id, python = o.python.path, outputs = answer.outputs })
  end)
end

function chain.neff(ctx, o)
  local header <const>, no_neff <const> = identify.read(o.neff)
  if not header then return nil, no_neff end
  if header.lnc ~= 0 then o.lnc = header.lnc end
  local state <const>, err <const> = steps.open(ctx, (o.neff:match("([^/]*)$"):gsub("%.neff$", "")))
  if not state then return nil, err end
  state.facts.target, state.facts.lnc, state.facts.log = o.target, o.lnc, state.log
  local inputs
  if o.kernel then
    local why
    inputs, why = make_inputs(ctx, state, o)
    if not inputs then return nil, why end
  end
  return on_a_core(state, o, function(id)
    local traces <const>, folder <const> = capture(state, o, header, inputs and inputs.arguments)
    if not traces then return nil, folder end
    local trace <const>, none <const> = the_trace(state, traces, folder)
    if not trace then return nil, none end
    local _, bad <const> = judge_trace(trace)
    if bad then return nil, bad end
    return finish(state, o, header, trace, { entry = inputs and inputs.entry, instance = o.devices.instance, core = id })
  end)
end

-- Do the two belong together? show-session names the UUID; a tool without it leaves the question to the processing.
local function same_uuid(state, o, header, ntff)
  local said <const> = state:run("neuron-explorer show-session", { o.tools.explorer, "show-session", "-s", ntff },
    { env = { HOME = runner.home(state.work) }, seconds = 120 })
  local uuid <const> = said and said.stdout:match("UUID[^%x\n]*([%x-]+)")
  if not uuid then return true end
  local plain <const> = uuid:gsub("-", ""):lower()
  if #plain == 32 and plain ~= header.uuid then
    return nil, fault.new("bad-input", ("NEFF and NTFF come from different compilations: the NEFF's UUID is %s, the trace's %s"):format(header.uuid, plain),
      { where = ntff, hint = "recompile and capture again in one session, or give the pair with equal numbers in their names" })
  end
  return true
end

function chain.pair(ctx, o)
  local header <const>, no_neff <const> = identify.read(o.neff)
  if not header then return nil, no_neff end
  local st <const>, missing <const> = fs.stat(o.ntff)
  if not st then return nil, fault.new(missing.code, "the NTFF cannot be read: " .. fault.why(missing), { where = o.ntff }) end
  if st.type ~= "file" then return nil, fault.new("not-a-file", "the NTFF is no file", { where = o.ntff }) end
  if o.ntff:find("%.pb$") then
    return nil, fault.new("bad-input", "this is a system profile; a device trace ends in .ntff", { where = o.ntff })
  end
  local trace <const> = { path = o.ntff, size = st.size }
  local _, bad <const> = judge_trace(trace)
  if bad then return nil, bad end
  local left <const>, right <const> = o.neff:match("neff_(%d+)[^/]*%.neff$"), o.ntff:match("([^/]*)$"):match("^(%d+)[_%w]*%.ntff$")
  if left and right and left ~= right then
    return nil, fault.new("bad-input", ("the names say that these do not belong together: neff_%s, %s"):format(left, right), { where = o.ntff,
      hint = "a pair has equal numbers in its names" })
  end
  local tools <const>, no_tools <const> = find.tools(ctx)
  if not tools then return nil, no_tools end
  o.tools = tools
  local state <const>, err <const> = steps.open(ctx, (o.ntff:match("([^/]*)$"):gsub("%.ntff$", "")))
  if not state then return nil, err end
  local same <const>, differ <const> = same_uuid(state, o, header, o.ntff)
  if not same then return nil, differ end
  return finish(state, o, header, trace)
end

return chain
