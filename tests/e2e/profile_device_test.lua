-- SPDX-License-Identifier: MIT
-- `nkiln profile --device` against the stand-ins of tests/standins: the whole road from a kernel to a database, and every
-- failure on it: what is said, the exit status, and that no database is left behind.

local t <const> = require "tests.lib"
local nkiln <const> = require "tests.e2e.nkiln"
local json <const> = require "rt.json"

local KERNEL <const> = [[
import nki
import nki.language as nl


@nki.jit
def add(a, b, scale=1.0):
    x = nl.load(a)
    y = nl.load(b)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.add(x, y), scale))
    return out
]]
local CASE <const> = "--case 'a=f32[64,8], b=f32[64,8]'"
local BIN <const> = nkiln.root .. "/tests/standins/bin"

-- One environment for the whole file: a Python that finds the stand-in package nki.
local env_folder <const> = io.popen("mktemp -d"):read("l")
local have_env <const> = os.execute(("%s/tests/standins/make_env.sh %s/env 2>/dev/null"):format(nkiln.root, env_folder))

local function ready()
  if not have_env then t.skip("no venv module") end
  local folder <const> = nkiln.folder()
  folder:write("add.py", KERNEL)
  folder:sh("mkdir -p run")
  return folder
end

-- Run nkiln with the stand-ins in PATH; `vars` is shell text such as "STANDIN_RUN=oob".
local function profile(folder, words, vars)
  return folder:sh(("export PATH=%s:$PATH XDG_RUNTIME_DIR=$PWD/run STANDIN_LOG=$PWD/calls; unset NEURON_CC_FLAGS NEURON_RT_VISIBLE_CORES\n"
    .. "%s timeout -s KILL 60 %s profile %s"):format(BIN, vars or "", nkiln.quoted, words))
end

local function device(folder, vars, more)
  return profile(folder, ("add.py %s --device --python %s/env -o p.db %s"):format(CASE, env_folder, more or ""), vars)
end

local function calls(folder)
  local list <const> = {}
  for line in (folder:read("calls") or ""):gmatch("[^\n]+") do list[#list + 1] = json.decode(line) end
  return list
end

local function call_of(folder, program, first)
  for _, call in ipairs(calls(folder)) do
    if call.program == program and (not first or call.argv[1] == first) then return call end
  end
end

local function sql(folder, db, query)
  local handle <const> = assert(require("rt.db").open(folder:full(db), { readonly = true }))
  local rows <const> = assert(handle:query(query))
  handle:close()
  return rows
end

local function provenance(folder, db)
  local out <const> = {}
  for _, row in ipairs(sql(folder, db, "select key, value from nkiln")) do out[row.key] = row.value end
  return out
end

local function notes(folder, db)
  local out <const> = {}
  for _, row in ipairs(sql(folder, db, "select code from nkiln_notes")) do out[row.code] = true end
  return out
end

t.test("a kernel is run, captured warm, ingested and imported", function()
  local folder <const> = ready()
  local status <const>, out <const>, err <const> = device(folder, "NEURON_CC_FLAGS='--target trn1 -O1 --lnc=2' NKI_SIMULATOR=1")
  t.eq(status, 0, out .. err)
  t.has(out, "captured on a Neuron device")
  t.has(out, "DMA, active 80.0 % of the time")
  t.has(out, "100.00 us")
  local p <const> = provenance(folder, "p.db")
  t.eq({ p.kind, p.target, p.lnc, p.entry, p.instance }, { "captured", "trn2", "1", "add", "trn2.48xlarge" })
  t.match(p.neff_uuid, "^%x+$")
  t.has(p.tool_versions, "2.32.0.498")
  t.eq(sql(folder, "p.db", "select count(*) as n from Instruction")[1].n, 3)
  -- What the runtime was started with.
  local run <const> = call_of(folder, "python").env
  t.eq({ run.NEURON_RT_VISIBLE_CORES, run.NEURON_LOGICAL_NC_CONFIG, run.NEURON_CC_FLAGS, run.NEURON_PLATFORM_TARGET_OVERRIDE },
    { "0", "1", "-O1 --target trn2 --lnc 1", "trn2" })
  t.eq({ run.NKI_DEBUG_INFO, run.NEURON_FRAMEWORK_DEBUG, run.NEURON_RT_INSPECT_ENABLE, run.NEURON_RT_INSPECT_DEVICE_PROFILE,
    run.NEURON_RT_INSPECT_SYSTEM_PROFILE },
    { "True", "1", "1", "1", "0" })
  t.eq(run.NKI_SIMULATOR, nil, "the kernel must not run on the CPU")
  t.has(run.NEURON_COMPILE_CACHE_URL, ".nkiln/profiles/work/")
  t.eq(table.concat(call_of(folder, "neuronx-cc").argv, " ", 7), "-O1 --target trn2 --lnc 1")
  local capture <const> = call_of(folder, "neuron-explorer", "capture")
  t.eq({ capture.env.NEURON_RT_VISIBLE_CORES, capture.env.NEURON_LOGICAL_NC_CONFIG, capture.env.NEURON_RT_ENABLE_DGE_NOTIFICATIONS }, { "0", "1", "1" })
  local words <const> = table.concat(capture.argv, " ")
  t.has(words, "--num-exec=2 --profile-nth-exec=2 --enable-dge-notifs ")
  t.match(words, " a %S+/inputs/a%.npy b %S+/inputs/b%.npy$")
  -- Source lines of the kernel, with their text.
  local source <const> = sql(folder, "p.db", "select file, text from nkiln_source where line = 7")
  t.match(source[1] and source[1].file, "add%.py$")
  t.has(source[1] and source[1].text or "", "nl.load(a)")
  -- The lock is given back.
  t.eq(folder:sh("ls run/nkiln-cores"), 0)
  t.eq(select(2, folder:sh("ls run/nkiln-cores")), "")
end)

t.test("the result as JSON: metrics, files, the work folder with its log", function()
  local folder <const> = ready()
  local status <const>, out <const>, err <const> = device(folder, "", "--json")
  t.eq(status, 0, out .. err)
  local result <const> = json.decode(out)
  local one <const> = result.cases[1]
  t.eq({ result.ok, result.kind, result.target, one.core, one.neff.lnc }, { true, "captured", "trn2", 0, 1 })
  t.eq(one.metrics.dma_transfer_total_bytes, 1572864)
  t.match(one.ntff, "profile_exec_2%.ntff$")
  t.match(one.neff.path, "/artifacts/kernel%.neff$")
  t.has(t.read(one.log), "$ cd ")
  t.eq(one.outputs[1].shape, { 64, 8 })
end)

t.test("bfloat16 inputs are given as raw bytes; two cases give two databases; LNC 2 reaches kernel and runtime", function()
  local folder <const> = ready()
  if t.sh(env_folder .. "/env/bin/python3 -c 'import ml_dtypes'") == 0 then
    local status <const>, out <const>, err <const> = profile(folder,
      ("add.py --case 'a=bf16[64,8], b=bf16[64,8]' --device --python %s/env -o b.db"):format(env_folder))
    t.eq(status, 0, out .. err)
    t.match(table.concat(call_of(folder, "neuron-explorer", "capture").argv, " "), " a %S+/a%.bin b %S+/b%.bin$")
  end
  local status <const>, out <const>, err <const> = profile(folder,
    ("add.py --case 'a=f16[4,8], b=f16[4,8]' --case 'a=f32[4,8], b=f32[4,8], scale=2.0' --lnc 2 --device --python %s/env -o p.db"):format(env_folder))
  t.eq(status, 0, out .. err)
  t.eq(provenance(folder, "p.case1.db").lnc, "2")
  t.has(provenance(folder, "p.case2.db").case, "scale=2.0")
end)

t.test("the kernel's NEFF is told from others that are newer", function()
  local folder <const> = ready()
  local status, out, err = device(folder, "STANDIN_NEFFS=extra")
  t.eq(status, 0, out .. err)
  t.match(table.concat(call_of(folder, "neuron-explorer", "capture").argv, " "), "/artifacts/kernel%.neff")
  -- An NKI that does not keep its artifacts: the header's name tells.
  status, out, err = device(folder, "STANDIN_NEFFS=extra,no-artifacts")
  t.eq(status, 0, out .. err)
  t.eq(provenance(folder, "p.db").neff_name, "add")
  -- Nor a name: the kernel's has its source lines.
  status, out, err = device(folder, "STANDIN_NEFFS=unnamed,no-artifacts")
  t.eq(status, 0, out .. err)
  t.ok(#sql(folder, "p.db", "select 1 from nkiln_source limit 1") > 0, "the other graph was taken")
end)

t.test("when nothing tells the NEFFs apart, they are listed and none is taken", function()
  local folder <const> = ready()
  local status <const>, _, err <const> = device(folder, "STANDIN_NEFFS=ambiguous,no-artifacts")
  t.eq(status, 1, err)
  t.match(err, "2 compilations are left .-neff_%d+_vnc_0%.neff.-neff_%d+_vnc_0%.neff")
  t.has(err, "--neff FILE")
  t.eq(folder:read("p.db"), nil)
end)

-- { variables, exit status, part of the one line, more words }
local failures <const> = {
  { "STANDIN_INSTANCE=", 3, "no Neuron device is here" },
  { "STANDIN_INSTANCE=inf1.xlarge", 3, "does not support Inf1" },
  { "STANDIN_LS=mute", 1, "gave no JSON" },
  { "STANDIN_LS=bare", 2, "give --target" },
  { "STANDIN_VIEW=broken", 1, "neuron-explorer does not work here" },
  { "STANDIN_INSTANCE=trn1.2xlarge", 2, "this machine is a trn1.2xlarge", "--target trn2" },
  { "STANDIN_INSTANCE=trn1.2xlarge", 2, "trn1 has no LNC 2", "--lnc 2" },
  { "NEURON_RT_VISIBLE_CORES=one", 2, "is no core, list or range" },
  { "STANDIN_BUSY=0,1,2,3,4,5,6,7", 3, "is in use by another process" },
  { "STANDIN_BUSY=0 NEURON_RT_VISIBLE_CORES=0", 3, "NeuronCore 0 is in use by another process (4711 python3 serve.py)" },
  { "STANDIN_RUN=driver", 3, "the Neuron driver is not loaded" },
  { "STANDIN_RUN=driver-old", 3, "do not fit together" },
  { "STANDIN_RUN=stuck", 3, "left the device in a running state" },
  { "STANDIN_RUN=oob", 1, "reads or writes outside a tensor" },
  { "STANDIN_RUN=neff-version", 3, "a NEFF that this runtime does not know" },
  { "STANDIN_RUN=memory", 1, "short of memory" },
  { "STANDIN_RUN=compile", 1, "NCC_INKI016" },
  { "STANDIN_RUN=other-chip", 2, "compiled for another chip" },
  { "STANDIN_RUN=hardware", 1, "hardware error" },
  { "STANDIN_RUN=libnrt", 3, "LD_LIBRARY_PATH" },
  { "STANDIN_RUN=exception", 1, "AssertionError: K must be a multiple of 128" },
  { "STANDIN_RUN=killed", 1, "ran out of memory" },
  { "STANDIN_RUN=silent", 1, "reported nothing" },
  { "STANDIN_CAPTURE=hang STANDIN_RUN=no-trace", 1, "did not end within 1 seconds", "--capture-seconds 1" },
  { "STANDIN_CAPTURE=empty", 2, "the trace is empty" },
  { "STANDIN_CAPTURE=tiny", 2, "it holds no execution" },
  { "STANDIN_CAPTURE=nothing", 1, "wrote no profile*.ntff" },
  { "STANDIN_CAPTURE=disk", 2, "the disk is full" },
  { "STANDIN_CAPTURE=other-uuid", 1, "gave up" },
  { "STANDIN_CAPTURE=huge STANDIN_VIEW=incomplete", 1, "may not process more than 5 GB" },
  { "STANDIN_VIEW=incomplete", 1, "a trace over 5 GB, a damaged file, a mismatched pair or a full disk" },
  { "STANDIN_VIEW=version", 3, "upgrade aws-neuronx-tools" },
  { "STANDIN_VIEW=no-files", 1, "wrote no Parquet files" },
  { "STANDIN_VIEW=unknown", 1, "something that no page names" },
  { "STANDIN_VIEW=garbage", 2, "Instruction.parquet" },
}

t.test("every failure ends in one line that explains it, the right status, and no database", function()
  local folder <const> = ready()
  for _, row in ipairs(failures) do
    local vars <const>, status <const>, part <const>, more <const> = table.unpack(row)
    local got <const>, out <const>, err <const> = device(folder, vars, more)
    local lines <const> = select(2, err:gsub("\n", ""))
    if got ~= status or not err:find(part, 1, true) or lines ~= 1 or out ~= "" then
      t.ok(false, ("%s %s: status %d (want %d), stdout %q, stderr %q (want %q)"):format(vars, more or "", got, status, out, err, part))
    end
    t.eq(folder:read("p.db"), nil, vars)
  end
  t.eq(select(2, folder:sh("ls -A | grep -v -e '^run$' -e '^calls$' -e add.py -e '^.nkiln$'")), "", "files left over")
end)

-- { variables, code of the note that must be in the profile, more words }
local repaired <const> = {
  { "STANDIN_CAPTURE=dge-overflow", "no-dge" },
  { "STANDIN_CAPTURE=dge-hang", "no-dge", "--capture-seconds 1" },
  { "STANDIN_CAPTURE=oom", "single-io" },
  { "STANDIN_CAPTURE=old-flags", nil },
  { "STANDIN_CAPTURE=no-inputs", "zero-inputs" },
  { "STANDIN_CAPTURE=hang", "cold", "--capture-seconds 1" },
  { "STANDIN_CAPTURE=dropped", "dropped" },
  { "STANDIN_CAPTURE=inaccurate", "dma-inaccurate" },
  { "STANDIN_CAPTURE=ranks", "ranks" },
  { "STANDIN_VIEW=no-summary", "no-metrics" },
  { "STANDIN_VIEW=port", nil },
  { "STANDIN_VIEW=link", nil },
  { "STANDIN_BUSY=0", nil },
  { "STANDIN_LS=bare", nil, "--target trn2" },
  { "HOME=", nil },
  { "NEURON_RT_ENABLE_INSPECT=1", "misspelt" },
}

t.test("what can be repaired is repaired, and the profile says so", function()
  local folder <const> = ready()
  for _, row in ipairs(repaired) do
    local status <const>, out <const>, err <const> = device(folder, row[1], row[3])
    t.eq(status, 0, row[1] .. ": " .. out .. err)
    local found <const> = notes(folder, "p.db")
    if row[2] then t.ok(found[row[2]], row[1] .. ": no note " .. row[2]) end
    if row[1] == "STANDIN_BUSY=0" then t.eq(provenance(folder, "p.db").core, nil) end
    folder:sh("rm -f p.db")
  end
end)

t.test("another core is taken when the first is held by another run; the lock of a killed run is no lock", function()
  local folder <const> = ready()
  folder:sh("mkdir -p run/nkiln-cores; echo 'process 99999999, killed' > run/nkiln-cores/core-0.lock")
  local status, out, err = device(folder, "", "--json")
  t.eq(status, 0, out .. err)
  t.eq(json.decode(out).cases[1].core, 0)
  t.has(t.read(json.decode(out).cases[1].log), "an earlier nkiln profile was killed while it held this core: process 99999999, killed")
  if t.sh("command -v flock") ~= 0 then t.skip("no flock program") end
  local held <const> = "exec 9>run/nkiln-cores/core-%s.lock; echo 'process 1, somewhere' >&9; flock 9;"
  status, out, err = device(folder, held:format("4"), "--json")
  t.eq(status, 0, out .. err)
  status, out, err = device(folder, held:format("0") .. "exec 9>&9; ", "--json")
  t.eq(status, 0, out .. err)
  t.eq(json.decode(out).cases[1].core, 1)
  status, out, err = device(folder, held:format("0") .. "NEURON_RT_VISIBLE_CORES=0")
  t.eq(status, 2, out .. err)
  t.has(err, "NeuronCore 0 is held by another run of nkiln (process 1, somewhere)")
end)

t.test("two runs at once take two cores", function()
  local folder <const> = ready()
  -- The stand-in's captures wait for each other: both are at work at the same moment, or neither ends.
  local status <const>, out <const>, err <const> = folder:sh(([[
export PATH=%s:$PATH XDG_RUNTIME_DIR=$PWD/run STANDIN_MEET=$PWD/meet; mkdir meet
for i in 1 2; do
  timeout -s KILL 60 %s profile add.py %s --device --python %s/env -o p$i.db --json >o$i 2>&1 &
done; wait]]):format(BIN, nkiln.quoted, CASE, env_folder))
  t.eq(status, 0, out .. err)
  local cores <const> = { json.decode(folder:read("o1")).cases[1].core, json.decode(folder:read("o2")).cases[1].core }
  table.sort(cores)
  t.eq(cores, { 0, 1 })
end)

t.test("device seconds are a budget", function()
  local folder <const> = ready()
  local status, _, err = device(folder, "", "--budget device_seconds=0")
  t.eq(status, 4, err)
  t.has(err, "device seconds")
  t.eq(call_of(folder, "neuron-explorer", "capture"), nil)
  status, _, err = device(folder, "STANDIN_CAPTURE=hang", "--budget device_seconds=2")
  t.eq(status, 4, err)
  t.eq(folder:read("p.db"), nil)
end)

t.test("interrupted: status 130, no database, no child, the core free", function()
  local folder <const> = ready()
  local status <const>, out <const>, err <const> = folder:sh(([[
export PATH=%s:$PATH XDG_RUNTIME_DIR=$PWD/run STANDIN_CAPTURE=hang
%s profile add.py %s --device --python %s/env -o p.db >out 2>err & pid=$!
for i in $(seq 100); do pgrep -f "neuron-explorer capture -n $PWD" >/dev/null && break; sleep 0.1; done
pgrep -f "neuron-explorer capture -n $PWD" >/dev/null || echo never started
kill -INT $pid; wait $pid; echo status $?
pgrep -f "neuron-explorer capture -n $PWD" >/dev/null && echo a child is left
ls p.db 2>/dev/null; ls run/nkiln-cores; cat err]]):format(BIN, nkiln.quoted, CASE, env_folder))
  t.eq(status, 0, err)
  t.eq(out, "status 130\nnkiln: interrupted\n")
end)

t.test("without the tools: status 3 and how to get them", function()
  local folder <const> = ready()
  local status, _, err = folder:run(("profile add.py %s --device -o p.db"):format(CASE))
  t.eq(status, 3, err)
  t.has(err, "aws-neuronx-tools")
  folder:sh("mkdir old && printf '#!/bin/sh\\necho 2.28\\n' > old/neuron-profile && chmod +x old/neuron-profile")
  status, _, err = folder:sh(("PATH=$PWD/old:$PATH %s profile add.py %s --device"):format(nkiln.quoted, CASE))
  t.eq(status, 3, err)
  t.has(err, "only the old neuron-profile is here")
  status, _, err = profile(folder, ("add.py %s --device --python /usr/bin/python3"):format(CASE))
  t.eq(status, 3, err)
  t.has(err, "no Python with nki and numpy")
end)

t.test("a compiled kernel alone is captured, on zeros or on a case", function()
  local folder <const> = ready()
  t.eq(device(folder, ""), 0)
  folder:sh("cp .nkiln/profiles/work/*/artifacts/kernel.neff k.neff")
  local status, out, err = profile(folder, "--device --neff k.neff -o n.db")
  t.eq(status, 0, out .. err)
  t.ok(notes(folder, "n.db")["zero-inputs"])
  status, out, err = profile(folder, ("add.py %s --device --neff k.neff -o n.db"):format(CASE))
  t.eq(status, 0, out .. err)
  t.ok(not notes(folder, "n.db")["zero-inputs"])
  t.eq(provenance(folder, "n.db").entry, "add")
end)

t.test("files of an earlier capture, and what does not belong together", function()
  local folder <const> = ready()
  t.eq(device(folder, "STANDIN_NEFFS=extra"), 0)
  folder:sh("cp .nkiln/profiles/work/*/artifacts/kernel.neff k.neff; cp .nkiln/profiles/work/*/capture1/*.ntff k.ntff; "
    .. "cp .nkiln/profiles/work/*/inspect/*/*.neff .; : > empty.ntff; cp k.ntff ntrace.pb; cp k.ntff 7_vnc_0.ntff; cp k.neff neff_8_vnc_0.neff; "
    .. "head -c 1100 k.neff > cut.neff")
  local status, out, err = profile(folder, "--neff k.neff --ntff k.ntff -o f.db")
  t.eq(status, 0, out .. err)
  t.eq(provenance(folder, "f.db").kind, "captured")
  folder:write("mul.py", (KERNEL:gsub("def add", "def mul")))
  status, out, err = profile(folder, "mul.py --neff k.neff --ntff k.ntff -o g.db")
  t.eq(status, 0, out .. err)
  t.has(out, "no instruction is of mul.py")
  local other <const> = select(2, folder:sh("grep -l copy_buffers neff_*.neff | head -1")):gsub("%s", "")
  for _, row in ipairs {
    { other, "k.ntff", 2, "come from different compilations" }, { "k.neff", "empty.ntff", 2, "the trace is empty" },
    { "k.neff", "ntrace.pb", 2, "system profile" }, { "neff_8_vnc_0.neff", "7_vnc_0.ntff", 2, "do not belong together" },
    { "add.py", "k.ntff", 2, "this is no NEFF" }, { "cut.neff", "k.ntff", 2, "cut off" },
    { "none.neff", "k.ntff", 2, "no such file" }, { "k.neff", "none.ntff", 2, "no such file" }, { "k.neff", "run", 2, "no file" },
  } do
    status, out, err = profile(folder, ("--neff %s --ntff %s -o x.db"):format(row[1], row[2]))
    t.eq(status, row[3], row[1] .. " " .. row[2] .. ": " .. out .. err)
    t.has(err, row[4])
    t.eq(folder:read("x.db"), nil)
  end
  -- A tool without show-session leaves the question to the processing.
  status, out, err = profile(folder, ("--neff %s --ntff k.ntff -o x.db"):format(other), "STANDIN_VIEW=no-session")
  t.eq(status, 1, out .. err)
  t.has(err, "gave up")
end)

t.test("the user's rules hold, and a workspace's skill cannot run Python by this way", function()
  local folder <const> = ready()
  folder:write("config/nkiln/policy.lua", 'return { deny = { "run:neuron-explorer" } }')
  local status, out, err = device(folder, "")
  t.eq(status, 5, out .. err)
  t.has(err, "neuron-explorer")
  folder:write("config/nkiln/policy.lua", 'return { deny = { "read:*.ntff" } }')
  folder:sh("touch k.neff k.ntff")
  status, out, err = profile(folder, "--neff k.neff --ntff k.ntff -o x.db")
  t.eq(status, 5, out .. err)
  folder:write("config/nkiln/policy.lua", "return {}")
  folder:write(".kiro/skills/sly/skill.lua", ([[
return skill { name = "sly", description = "Ask for a device run.", run = function(ctx)
  local result, err = ctx.skill("neuron-nki-profiling", {
    kernel = "add.py", case = { "a=f32[4,8], b=f32[4,8]" }, device = true, python = %q, out = ".nkiln/p.db" })
  return { ok = result ~= nil, text = err and err.code or "ran" }
end }
]]):format(env_folder .. "/env"))
  status, out, err = folder:sh(("export PATH=%s:$PATH XDG_RUNTIME_DIR=$PWD/run; %s sly --trust"):format(BIN, nkiln.quoted))
  t.has(out, "not-permitted", err)
  t.eq(status, 1)
end)

t.test("a folder of Parquet files and a summary come in without any tool", function()
  local folder <const> = ready()
  t.eq(device(folder, ""), 0)
  folder:sh("cp -r .nkiln/profiles/work/*/data/profiles/global/nkiln@latest tables; cp .nkiln/profiles/work/*/metrics.json .")
  local status, out, err = folder:run("profile --import tables -o i.db")
  t.eq(status, 0, out .. err)
  t.has(out, "imported from neuron-explorer's files")
  t.has(out, "Tensor")
  t.eq(provenance(folder, "i.db").kind, "imported")
  -- The --data-path above it will do while it holds one profile.
  folder:sh("mkdir -p data/profiles/global; cp -r tables data/profiles/global/one@latest")
  status, out, err = folder:run("profile --import data -o d.db")
  t.eq(status, 0, out .. err)
  folder:sh("cp -r tables data/profiles/global/two@latest")
  status, out, err = folder:run("profile --import data -o d.db")
  t.eq(status, 2, out .. err)
  t.has(err, "2 profiles lie in this folder: profiles/global/one@latest, profiles/global/two@latest")
  status, out, err = folder:run("profile --summary metrics.json -o s.db --json")
  t.eq(status, 0, out .. err)
  local one <const> = json.decode(out).cases[1]
  t.eq({ one.total_s, one.bottleneck.engine, one.dma.bytes }, { 1e-4, "DMA", 1572864 })
  -- Damaged files leave the earlier database as it was.
  local before <const> = folder:read("i.db")
  folder:sh("truncate -s 60 tables/Instruction.parquet; printf '{\"n_1\": ' > cut.json; head -c 300 /dev/urandom > bin.json; mkdir none")
  for _, words in ipairs { "--import tables", "--summary cut.json", "--summary bin.json", "--summary add.py", "--import none" } do
    status, out, err = folder:run("profile " .. words .. " -o i.db")
    t.eq({ status, out }, { 2, "" }, words .. ": " .. err)
    t.eq(select(2, err:gsub("\n", "")), 1, err)
    t.ok(folder:read("i.db") == before, words)
  end
end)

os.execute("rm -rf " .. t.quote(env_folder))
