-- SPDX-License-Identifier: MIT
-- Parts of the device capture that need no tool: names, headers, flags, cores, what messages mean.

local t <const> = require "tests.lib"
local chain <const> = require "profile.device.chain"
local core <const> = require "profile.device.core"
local failures <const> = require "profile.device.failures"
local find <const> = require "profile.device.find"
local identify <const> = require "profile.device.identify"
local place <const> = require "profile.place"
local runner <const> = require "profile.device.runner"

t.test("names of several databases", function()
  t.eq(place.names("p.db", 1), { "p.db" })
  t.eq(place.names("a.b/p.db", 2), { "a.b/p.case1.db", "a.b/p.case2.db" })
  t.eq(place.names("a.b/p", 2), { "a.b/p.case1", "a.b/p.case2" })
  t.eq(place.names(".db", 2), { ".db.case1", ".db.case2" })
end)

t.test("the user's compiler flags stay, but for target and LNC", function()
  t.eq(runner.compiler_flags(nil, "trn2", 1), "--target trn2 --lnc 1")
  t.eq(runner.compiler_flags("--target trn1 -O1 --lnc=2 --logical-nc-config 2 --verbose=info", "trn3", 2), "-O1 --verbose=info --target trn3 --lnc 2")
  t.eq(runner.compiler_flags("--target=inf2 --cache_dir x", "trn2", 1), "--cache_dir x --target trn2 --lnc 1")
end)

t.test("cores: lists, ranges, nonsense, free devices first", function()
  t.eq(core.parse("0"), { 0 })
  t.eq(core.parse("4-6"), { 4, 5, 6 })
  t.eq(core.parse("0, 2-3"), { 0, 2, 3 })
  for _, text in ipairs { "", "x", "3-1", "1-", "-1", "0,,1", "0-99999999" } do t.eq(core.parse(text), nil, text) end
  local devices <const> = { cores = { { id = 0, busy = { {} } }, { id = 1, busy = { {} } }, { id = 4, busy = {} } } }
  t.eq(core.candidates(devices), { 4, 0, 1 })
  t.eq(core.candidates(devices, "1"), { 1 })
  local none <const>, err <const> = core.candidates(devices, "all")
  t.eq({ none, err.code }, { nil, "usage" })
end)

t.test("instance types", function()
  for instance, want in pairs {
    ["trn2n.48xlarge"] = "trn2", ["trn2.3xlarge"] = "trn2", ["trn1n.32xlarge"] = "trn1", ["inf2.xlarge"] = "inf2", ["trn3pd98.3xlarge"] = "trn3",
  } do
    t.eq(find.target_of(instance), want, instance)
  end
  t.eq(find.target_of("m7i.large"), nil)
  t.eq(find.target_of(nil), nil)
end)

t.test("names of traces: executions and ranks, the last execution of the first rank first", function()
  local folder <const> = t.tmpdir()
  for _, name in ipairs { "profile.ntff", "profile_exec_2.ntff", "profile_exec_10.ntff", "profile_rank_1_exec_20.ntff", "profile_rank_0_exec_2.ntff",
    "profile_x.ntff", "other.ntff", "profile.ntff.bak" } do t.write(folder .. "/" .. name, "x") end
  local names <const> = {}
  for i, one in ipairs(identify.traces(folder, "profile")) do names[i] = one.path:match("[^/]*$") end
  t.eq(names[#names], "profile_rank_1_exec_20.ntff")
  t.eq({ #names, names[1] }, { 5, "profile_exec_10.ntff" })
  t.eq(identify.traces(folder .. "/none", "profile"), {})
end)

t.test("metrics: the first line that starts with a brace; NaN is not known", function()
  t.eq(chain.metrics('INFO[0000] x\n{"n_ab": {"total_time": 1, "mfu": NaN, "x": 2.5}}\n').total_time, 1)
  t.eq(chain.metrics("INFO[0000] nothing\n"), nil)
  t.eq(chain.metrics("{broken"), nil)
  t.eq(chain.metrics('{"n": 3}'), nil)
end)

-- Messages as the documents print them, and the failure each must be taken for.
local messages <const> = {
  { "ERROR  TDRV:exec_request_process_errors [ND 1][NC 0] execution timeout (30000 ms) on model x.neff, potentially caused by DGE notifications enabled. "
    .. "Please disable it", "dge-overflow" },
  { "ERROR   NRT:nrt_infodump  Failure: NRT_EXEC_SW_NQ_OVERFLOW in nrt_execute()", "dge-overflow" },
  { "ERROR   NRT:nrt_allocate_neuron_cores               NeuronCore(s) not available - Requested:nc1-nc1 Available:0", "core-busy" },
  { "This runtime requires Neuron Driver version 2.0 or greater. Please upgrade aws-neuron-dkms package.", "driver-old" },
  { "Could not open the nd1", "too-many-cores" },
  { "NRT:  26638:26638 ERROR  TDRV:db_vtpb_get_mla_and_tpb                 Could not find VNC id n", "too-many-cores" },
  { "NEFF version mismatch supported: 1.1 received: 2.0", "neff-version" },
  { "ERROR  TDRV:translate_one_pseudo_instr_v2           Unsupported hardware operator code 214 found in neff.", "operator" },
  { "Error notifications found on NC .... INFER_ERROR_SUBTYPE_NUMERICAL", "numerical" },
  { "NRT Error NRT_EXEC_OOB(1006): Failed to execute model", "out-of-bounds" },
  { "NTFF version 4 is not supported in this version of the tool (supported: 1 - 3). Please upgrade aws-neuronx-tools.", "ntff-version" },
  { "panic: $HOME is not defined", "home" },
  { "RuntimeError: module compiled against API version 0xf but this version of numpy is 0xe", "numpy" },
  { "open /dev/neuron0: permission denied", "device-permission" },
  { "NEFF/NTFF UUID mismatch", "uuid" },
  { "NRT Error NRT_TIMEOUT(5)", "timeout" },
  { "unknown flag `ingest-only'", "old-tool" },
  { "ModuleNotFoundError: No module named 'nki'", "module" },
}

t.test("documented messages are recognised", function()
  for _, row in ipairs(messages) do
    local known <const> = failures.find("noise\n" .. row[1] .. "\nmore", { core = 0 })
    t.eq(known and known.name, row[2], row[1])
    t.ok(known.hint, row[1])
  end
  t.eq(failures.find("all is well"), nil)
end)

t.test("every failure says what to do and where it is documented", function()
  local codes <const> = { failed = 1, missing = 3, unavailable = 3, usage = 2, ["bad-input"] = 2, ["no-space"] = 2, denied = 2 }
  for _, row in ipairs(failures.rows) do
    t.ok(codes[row[2]], row[1])
    t.ok(#row == 6 and row[5] ~= "" and row[6] ~= "", row[1])
    for _, pattern in ipairs(row[3]) do t.ok(pcall(string.find, "x", pattern), pattern) end
  end
end)

t.test("harmless log lines are not taken for the reason", function()
  local said <const> = "ERRO[0001] real reason\nERRO[0012] Unable to process node with uid 7 for exec 6\n"
    .. "ERRO[0110] invalid DMA duration - transfer rate is invalid\n\n"
  t.eq(failures.last_line(said), "ERRO[0001] real reason")
  t.eq(failures.last_line(""), nil)
end)
