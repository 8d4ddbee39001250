-- SPDX-License-Identifier: MIT
-- The modelled profile as a user gets it: nkiln profile on kernels, and what must agree inside the database.
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local nkiln <const> = require "tests.e2e.nkiln"

local MATMUL <const> = nkiln.root:gsub("/%.$", "") .. "/tests/kernels/matmul_tiled.py"
local SOFTMAX <const> = nkiln.root:gsub("/%.$", "") .. "/tests/kernels/softmax.py"
local CASE <const> = "a_t=bf16[512,256], b=bf16[512,1024]"

local function profile(kernel, case, more)
  local folder <const> = nkiln.folder()
  local status <const>, _, err <const> = folder:run(("profile %s --case '%s' -o p.db %s"):format(kernel, case, more or ""))
  return status, err, folder:full "p.db", folder
end

local function opened(path)
  local d <const> = assert(db.open(path, { readonly = true }))
  return d, function(sql, ...) return d:value(sql, ...) end
end

t.test("one database that agrees with itself", function()
  local status <const>, err <const>, path <const> = profile(MATMUL, CASE)
  t.eq(status, 0, err)
  local d <const>, one <const> = opened(path)
  -- Bytes: instructions, transfers, packets and Summary say the same.
  local bytes <const> = one "select sum(transfer_bytes) from DmaPacketAggregated"
  -- Two column blocks, two row blocks, four steps each: both operands loaded every time, and the output once.
  t.eq(bytes, 2 * 2 * 4 * (128 * 128 + 128 * 512) * 2 + 256 * 1024 * 2)
  t.eq(one "select sum(transfer_bytes) from DmaPacket", bytes)
  t.eq(one "select dma_transfer_total_bytes from Summary", bytes)
  t.eq(one "select dma_queue_count from Summary", one "select count(distinct queue_name) from DmaPacket")
  t.eq(one "select sum(hbm_read_bytes + hbm_write_bytes) from Instruction", bytes)
  t.eq(one "select hbm_read_bytes + hbm_write_bytes from Summary", bytes)
  t.eq(one [[select count(*) from DmaPacketAggregated a
    where transfer_bytes <> (select sum(transfer_bytes) from DmaPacket where packet_aggregation_id = a.id)]], 0)
  -- Operations.
  t.eq(one "select sum(raw_flops) from Instruction", 2 * 512 * 256 * 1024)
  t.eq(one "select hardware_flops from Summary", 2 * 512 * 256 * 1024)
  t.eq(one "select count(*) from Instruction where opcode = 'MATMUL'", 16)
  t.eq(one "select count(*) from Instruction m join Instruction l on l.bir_id = m.bir_id and l.opcode = 'LDWEIGHTS' where m.opcode = 'MATMUL'", 16)
  -- Edges lead somewhere, and nothing starts before what it depends on.
  t.eq(one "select count(*) from Flow where in_table = 'Instruction' and in_id not in (select id from Instruction)", 0)
  t.eq(one "select count(*) from Flow where out_table = 'DmaPacketAggregated' and out_id not in (select id from DmaPacketAggregated)", 0)
  t.eq(one [[select count(*) from Flow f join DmaPacketAggregated a on a.id = f.in_id join Instruction i on i.id = f.out_id
    where f.in_table = 'DmaPacketAggregated' and f.dependency_type = 'FLOW_DEPENDENCE' and i.start_ts < a.end_ts]], 0)
  t.eq(one "select count(*) from Flow where dependency_type = 'DGE_TRIGGER'", one "select count(*) from DmaPacketAggregated")
  -- Engines: rows inside the total, active times no longer than the total and equal in both tables.
  t.eq(one "select count(*) from Instruction where start_ts < 0 or end_ts > (select last_hw_timestamp from Metadata) or end_ts < start_ts", 0)
  for _, engine in ipairs { "tensor", "vector", "sync" } do
    local sum <const> = one("select sum(duration_ns) from ActiveTime where engine = ?", engine) / 1e9
    local said <const> = one(("select %s_engine_active_time from Summary"):format(engine))
    t.ok(math.abs(sum - said) < 1e-7 and said <= one "select total_time from Summary", engine)
  end
  -- Provenance, lines, notes.
  t.eq(one "select is_simulation from Metadata", 1)
  for key, value in pairs { kind = "modelled", target = "trn2", entry = "matmul_tiled", case = CASE, lnc = "1" } do
    t.eq(one("select value from nkiln where key = ?", key), value)
  end
  t.ok(one "select value from nkiln where key = 'model_version'")
  t.eq(#one "select value from nkiln where key = 'kernel_sha256'", 64)
  t.eq(one "select count(*) from Instruction where nki_source_location is null", 0)
  local line <const> = d:row "select file, line, text from nkiln_source where text like '%nc_matmul%'"
  t.ok(line and line.text:find("nisa.nc_matmul", 1, true))
  t.eq(one("select count(*) from Instruction where nki_source_location = ? and opcode = 'MATMUL'", line.file .. ":" .. line.line), 16)
  t.ok(one "select count(*) from nkiln_notes where code = 'modelled'" == 1)
  t.eq(one "select count(distinct fully_qualified_function_name) from KernelStackFrames", 1)
  t.eq(one "select fully_qualified_function_name from KernelStackFrames limit 1", "matmul_tiled")
  t.eq(one "select count(*) from SchemaFields" > 300, true)
  d:close()
end)

t.test("the same kernel gives the same profile", function()
  local dumps <const> = {}
  for i = 1, 2 do
    local status <const>, err <const>, path <const> = profile(SOFTMAX, "x=f32[256,512]")
    t.eq(status, 0, err)
    local d <const> = assert(db.open(path, { readonly = true }))
    local rows <const> = {}
    for _, table_name in ipairs { "Instruction", "DmaPacket", "Flow", "ActiveTime", "Summary", "nkiln_notes" } do
      for _, row in ipairs(d:query("select * from " .. table_name)) do rows[#rows + 1] = t.show(row) end
    end
    dumps[i] = table.concat(rows, "\n")
    d:close()
  end
  t.ok(#dumps[1] > 1000)
  t.ok(dumps[1] == dumps[2], "two runs differ")
end)

t.test("every target, and kernels that the machine refuses leave nothing", function()
  for _, target in ipairs { "trn1", "trn2", "trn3" } do
    local status <const>, err <const>, path <const> = profile(MATMUL, "a_t=f32[128,128], b=f32[128,512]", "--target " .. target)
    t.eq(status, 0, err)
    local d <const>, one <const> = opened(path)
    t.eq(one "select value from nkiln where key = 'target'", target)
    t.eq(one "select adjusted_hardware_flops from Summary", 4 * 2 * 128 * 128 * 512)
    d:close()
  end
  local folder <const> = nkiln.folder()
  folder:write("bad.py", "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n@nki.jit\ndef k(x):\n"
    .. "    t = nl.ndarray((256, 8), dtype=x.dtype, buffer=nl.sbuf)\n    nisa.dma_copy(dst=t, src=x)\n    return x\n")
  local status <const> = folder:run("profile bad.py --case 'x=f32[256,8]' -o p.db")
  t.eq(status, 1)
  t.eq(io.open(folder:full "p.db"), nil)
end)

t.test("a database that cannot be written is one line, and the one that was there stays", function()
  local folder <const> = nkiln.folder()
  folder:write("p.db", "something else")
  local status, _, err = folder:run(("profile %s --case 'x=f32[256,512]' -o missing/folder/p.db"):format(SOFTMAX))
  t.ok(status ~= 0)
  t.ok(#err > 0 and not err:find("traceback", 1, true), err)
  local before <const> = folder:read "p.db"
  status, _, err = folder:sh(("ulimit -f 8; %s profile %s --case 'x=f32[4096,512]' -o p.db"):format(nkiln.quoted, SOFTMAX))
  t.ok(status ~= 0, "a file that may not grow")
  t.ok(#err > 0 and not err:find("traceback", 1, true), err)
  t.eq(folder:read "p.db", before)
end)

t.test("a profile larger than the worker's memory ends with one line, wherever the memory ends", function()
  local folder <const> = nkiln.folder()
  for megabytes = 16, 26, 5 do
    local status <const>, _, err <const> = folder:sh(
      ("NKILN_WORKER_MEMORY_MB=%d %s profile %s --case 'a_t=bf16[4096,2048], b=bf16[4096,4096]' -o p.db"):format(megabytes, nkiln.quoted, MATMUL))
    t.ok(status ~= 0, megabytes)
    t.match(err, "memory")
    t.ok(not err:find("traceback", 1, true) and not err:find("an error inside", 1, true), err)
    t.eq(io.open(folder:full "p.db"), nil)
  end
end)
