-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local import <const> = require "profile.import"
local json <const> = require "rt.json"
local trace <const> = require "rt.trace"

local function note_of(notes, code)
  for _, note in ipairs(notes) do
    if note.code == code then return note.message end
  end
end

local function opened(path) return assert(db.open(path, { readonly = true })) end

-- summary-json -------------------------------------------------------------------------------------------------------

t.test("summary-json: one line among log lines, older metrics, numbers of either kind", function()
  local dir <const> = t.tmpdir()
  local hash <const> = ("0123456789abcdef"):rep(3):sub(1, 40)
  t.write(dir .. "/s.json", ('INFO[0000] Processing {model}\nWARN[0001] x key={}\n{"n_%s": {"total_time": 0.000149710075, "hardware_flops": 268435456, '
    .. '"hfu_estimated_percent": 0.009928714238, "dma_active_time": 0, "transpose_flops": null, "nc_idx": 3, "instance_type": "trn1.2xlarge", '
    .. '"throttle_active_nc0_time_ns": 12, "profiler_version": "2.28.23.0", "mfu_estimated_percent": "0.25"}}\nINFO done\n'):format(hash))
  local made <const> = assert(import.summary(dir .. "/s.json", dir .. "/p.db", { provenance = { kind = "captured" } }))
  t.eq(made.tables, { Summary = 1, Metadata = 1 })
  local d <close> = opened(dir .. "/p.db")
  t.eq(d:row("select * from Summary"), { total_time = 0.000149710075, hardware_flops = 268435456, hfu_estimated_percent = 0.009928714238,
    dma_active_time = 0.0, throttle_active_nc0_time_ns = 12, mfu_estimated_percent = 0.25 })
  t.eq(d:row("select * from Metadata"), { neuroncore_idx = 3, instance_type = "trn1.2xlarge", explorer_version = "2.28.23.0" })
  t.eq(d:value("select value from nkiln where key = 'kind'"), "captured")
  t.match(note_of(made.notes, "columns-unknown"), "throttle_active_nc0_time_ns")
  t.match(note_of(made.notes, "summary%-only") or note_of(made.notes, "summary-only"), "no timeline")
end)

t.test("summary-json: several profiles, printed over many lines, NaN of old tools", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/s.json", 'log line\n{\n "n_b": {"total_time": 2.5, "x": NaN, "mfu_estimated_percent": -Infinity},\n "n_a": {"total_time": 1}\n}\n')
  local made <const> = assert(import.summary(dir .. "/s.json", dir .. "/p.db", {}))
  t.match(note_of(made.notes, "several-profiles"), "2 profiles")
  local d <close> = opened(dir .. "/p.db")
  t.eq(d:row("select * from Summary"), { total_time = 2.5 }, "the first in the text")
  t.write(dir .. "/s.json", '{"summary": [{"total_time": 4}], "other": []}')
  assert(import.summary(dir .. "/s.json", dir .. "/q.db", {}))
  local e <close> = opened(dir .. "/q.db")
  t.eq(e:value("select total_time from Summary"), 4.0)
end)

t.test("summary-json: what is none is said in one line, and the database stays", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/p.db", "old")
  local function fails(text, words, code)
    t.write(dir .. "/s.json", text)
    local made <const>, err <const> = import.summary(dir .. "/s.json", dir .. "/p.db", {})
    t.eq({ made, err and err.code }, { nil, code or "bad-input" }, text)
    t.has(err.message, words)
    t.ok(not err.message:find("\n"))
    t.eq(t.read(dir .. "/p.db"), "old")
  end
  fails("", "no JSON object")
  fails("ERRO[0000] something failed\n", "no JSON object")
  fails('{"n_a": {"total_time": 1', "damaged")
  fails('{"n_a": {"total_time": 1,}}', "damaged")
  fails("{}", "no metrics")
  fails('{"n_a": 5}', "no metrics")
  local made <const>, err <const> = import.summary(dir .. "/none.json", dir .. "/p.db", {})
  t.eq({ made, err.code }, { nil, "not_found" })
end)

-- The full JSON ------------------------------------------------------------------------------------------------------

local function profile(scale, more)
  local instruction <const>, dma <const> = {}, {}
  for i = 0, 9999 do
    instruction[#instruction + 1] = { timestamp = i * 15 * scale, duration = 10 * scale, evt_wait_time = "5", label = i % 2 == 0 and "TensorMatrix" or "Vector",
      opcode = "MATMUL", operands = "src é", nki_source_location = "k.py:3", stack_frame_ids = json.array { 1, 2 }, made_up = i }
  end
  for i = 0, 99 do
    dma[#dma + 1] = { timestamp = i * scale, duration = 3 * scale, id = i, transfer_size = "64", read_size = 64, write_size = 64, transfer_rate = 1.5,
      dma_queue = "q0", dma_engine = 4, queue_type = "data", packet_aggregation_id = i, packet_idx = 0, crc = 0, variable = "x" }
  end
  return json.encode { instruction = instruction, dma = dma, active_time = json.array {}, model_info = json.array { { a = 1 } }, terminology = { x = 1 },
    summary = more or json.array { { total_time = 0.00015, model_flops = 5 } }, warnings = json.array { { message = "careful", category = "x" } },
    metadata = json.array { { ntff_version = 6, instance_type = "trn1" } } }
end

t.test("full JSON: old names become the schema's, texts numbers, what has no place is noted", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/ntff.json", profile(1))
  local made <const> = assert(import.json(dir .. "/ntff.json", dir .. "/p.db", {}))
  t.eq(made.tables, { Instruction = 10000, DmaPacket = 100, Summary = 1, Warning = 1, Metadata = 1 })
  local d <close> = opened(dir .. "/p.db")
  t.eq(d:row("select * from Instruction where id = 3"), { id = 3, start_ts = 45, end_ts = 55, duration_ns = 10, evt_wait_time_ns = 5, engine = "Vector",
    timeline_track = "Vector", opcode = "MATMUL", operands = "src é", nki_source_location = "k.py:3", stack_frame_ids = "[1,2]" })
  t.eq(d:value("select engine from Instruction where id = 4"), "Tensor")
  t.eq(d:row("select * from DmaPacket where id = 7"), { id = 7, start_ts = 7, end_ts = 10, duration_ns = 3, transfer_bytes = 64, read_bytes = 64,
    write_bytes = 64, throughput = 1.5, queue_name = "q0", engine_idx = 4, queue_type = "data", packet_aggregation_id = 7, packet_idx = 0, crc = 0,
    variable = "x" })
  t.eq(d:value("select typeof(transfer_bytes) from DmaPacket"), "integer")
  t.match(note_of(made.notes, "columns-unknown"), "Instruction: .*made_up")
  t.match(note_of(made.notes, "tables-unknown"), "model_info %(1%), terminology %(1%)")
  t.eq(note_of(made.notes, "unit"), nil)
end)

t.test("full JSON: times in ps are told by the total time", function()
  local dir <const> = t.tmpdir()
  t.write(dir .. "/ntff.json", profile(1000))
  local made <const> = assert(import.json(dir .. "/ntff.json", dir .. "/p.db", {}))
  t.has(note_of(made.notes, "unit"), "ps")
  local d <close> = opened(dir .. "/p.db")
  t.eq(d:row("select start_ts, end_ts, duration_ns from Instruction where id = 3"), { start_ts = 45, end_ts = 55, duration_ns = 10 })
  t.eq(d:row("select start_ts, end_ts from DmaPacket where id = 7"), { start_ts = 7, end_ts = 10 })
  t.write(dir .. "/ntff.json", profile(1000, json.array {}))
  made.notes = assert(import.json(dir .. "/ntff.json", dir .. "/p.db", {})).notes
  t.has(note_of(made.notes, "unit-unknown"), "taken as ns")
end)

t.test("full JSON: damaged or cut off anywhere is one line with the offset, and the database stays", function()
  local dir <const> = t.tmpdir()
  local whole <const> = profile(1)
  t.write(dir .. "/p.db", "old")
  local function fails(text, words)
    t.write(dir .. "/ntff.json", text)
    local made <const>, err <const> = import.json(dir .. "/ntff.json", dir .. "/p.db", {})
    t.eq({ made, err and err.code }, { nil, "bad-input" }, text:sub(1, 60))
    t.has(err.message, words)
    t.ok(not err.message:find("\n"))
    t.eq(t.read(dir .. "/p.db"), "old")
  end
  for _, size in ipairs { 1, 10, 1000, #whole // 2, #whole - 1 } do fails(whole:sub(1, size), "offset") end
  fails("", "at offset 0")
  fails("[1, 2]", "no JSON object")
  fails("{}", "nothing of a profile")
  fails('{"instruction": [{"timestamp": 1}] "x": 1}', "',' or '}' is expected")
  fails('{"instruction": [{"timestamp": 1}, {"timestamp": tru}]}', "the record of instruction at offset 35 is damaged")
  fails('{"instruction": [{"timestamp": 1},]}', "a value is expected")
  fails('{"instruction": []} trailing', "something follows")
  fails('{5: 1}', "the name of a section")
  fails('{"a" 1}', "':' is expected")
end)

t.test("full JSON: records larger than the window, a byte order mark, empty sections", function()
  local path <const> = t.tmpdir() .. "/a.json"
  local long <const> = json.encode { text = ("\\\"]}"):rep(300000) }
  t.write(path, "\xEF\xBB\xBF { \"a\" : [ ] , \"b\":[" .. long .. "," .. long .. " ],\"c\":7 , \"d\":{ \"x\":[1,{}] },\"e\":\"}\" } \n")
  local file <close> = assert(trace.json_open(path))
  local first <const> = t.read(path):find(long, 1, true) - 1
  for k = 0, 1 do
    local section <const>, text <const>, element <const>, offset <const> = file:next()
    t.ok(text == long, "the record")
    t.eq({ section, element, offset }, { "b", true, first + k * (#long + 1) })
  end
  t.eq((select(2, file:next())), "7")
  t.eq((select(2, file:next())), '{ "x":[1,{}] }')
  t.eq((select(2, file:next())), '"}"')
  t.eq(select("#", file:next()), 0)
end)

-- NEFF ---------------------------------------------------------------------------------------------------------------

local function header(size, fields)
  fields = fields or {}
  local text <const> = string.pack("<I8I8I8I8I8c128I4c32c16c256I4c64I8I4", fields.package or 2, fields.header or 1024, size, 2, 0, "2.28.1+abc", 1,
    ("\xAB"):rep(16), "\1\2\3\4\5\6\7\8\9\10\11\12\13\14\15\16", "/tmp/work/kernel", 1, "", 0x100, 2)
  return text .. ("\0"):rep(1024 - #text)
end

t.test("neff: header and list of the archive, gzipped or not, with long names", function()
  local dir <const> = t.tmpdir()
  local deep <const> = "sg00/" .. ("x"):rep(120) .. "/" .. ("y"):rep(60)
  t.eq((t.sh(("cd %s && mkdir -p sg00/%s && echo '{}' > info.json && echo def > sg00/def.json && head -c 70000 /dev/zero > %s "
    .. "&& tar --format=gnu -cf a.tar info.json sg00 && tar --format=pax -czf a.tgz info.json sg00 && tar --format=ustar -cf u.tar info.json"):format(
    dir, ("x"):rep(120), deep))), 0)
  for _, one in ipairs { { "a.tar", false, 3 }, { "a.tgz", true, 3 }, { "u.tar", false, 1 } } do
    local archive <const> = t.read(dir .. "/" .. one[1])
    t.write(dir .. "/k.neff", header(#archive) .. archive)
    local neff <const> = assert(trace.neff(dir .. "/k.neff"))
    t.eq({ neff.pkg_version, neff.major, neff.minor, neff.build, neff.tpb, neff.name, neff.features, neff.lnc, neff.gzipped, neff.size },
      { 2, 2, 0, "2.28.1+abc", 1, "/tmp/work/kernel", 0x100, 2, one[2], 1024 + #archive })
    t.eq({ neff.uuid, neff.hash }, { "0102030405060708090a0b0c0d0e0f10", ("ab"):rep(16) })
    local sizes <const> = {}
    for _, member in ipairs(neff.members) do sizes[member.name] = member.size end
    t.eq(#neff.members, one[3])
    t.eq(sizes["info.json"], 3)
    if one[3] == 3 then t.eq({ sizes["sg00/def.json"], sizes[deep] }, { 4, 70000 }) end
    t.eq(assert(trace.neff(dir .. "/k.neff", { members = false })).members, nil)
  end
end)

t.test("neff: what is none, cut off or damaged", function()
  local dir <const> = t.tmpdir()
  t.eq((t.sh(("cd %s && seq 1 50000 > info.json && tar -czf a.tgz info.json"):format(dir))), 0)
  local archive <const> = t.read(dir .. "/a.tgz")
  local function fails(bytes, words, code)
    t.write(dir .. "/k.neff", bytes)
    local neff <const>, err <const> = trace.neff(dir .. "/k.neff")
    t.eq({ neff, err and err.code }, { nil, code or "bad_data" }, words)
    t.has(err.message, words)
    t.ok(not err.message:find("\n"))
  end
  fails("", "the file is empty")
  fails(("x"):rep(500), "shorter than its header")
  fails(("x"):rep(5000), "does not say that it has 1024 bytes")
  fails(header(#archive, { package = 3 }) .. archive, "package version")
  fails(header(#archive) .. archive:sub(1, -10), "is it cut off")
  fails(header(2000) .. ("z"):rep(2000), "no archive follows")
  local short <const> = archive:sub(1, #archive // 2)
  fails(header(#short) .. short, "gzip data ends early")
  local wrong <const> = archive:sub(1, 3000) .. ("\255"):rep(200) .. archive:sub(3201)
  fails(header(#wrong) .. wrong, "damaged")
  t.eq(select(2, trace.neff(dir .. "/none")).code, "not_found")
  t.eq(select(2, trace.neff(dir)).code, "io")
end)
