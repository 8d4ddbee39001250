-- SPDX-License-Identifier: MIT
-- Kernels that are slow for one reason each: modelled, then investigated. The first finding must be the planted one, at the
-- planted line; and on each of these profiles the analysis must agree with the SQL that is printed for it.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"
local open <const> = require "profile.open"
local same <const> = require "tests.profile.same"

local function marked(source)
  local out <const>, number = {}, 0
  for line in source:gmatch("([^\n]*)\n") do
    number = number + 1
    if line:find("# slow", 1, true) then out[number] = true end
  end
  return out
end

for _, kernel in ipairs(dofile "tests/kernels/slow.lua") do
  t.test("slow kernel: " .. kernel.name, function()
    local f <const> = nkiln.folder()
    local source <const> = t.read(("tests/kernels/slow/%s.py"):format(kernel.name))
    f:write("k.py", source)
    local made <const>, _, why <const> = f:run(("profile k.py --case %s -o p.db"):format(t.quote(kernel.case)))
    t.eq(made, 0, why)
    local status <const>, out <const>, err <const> = f:run "query p.db --investigate all --json"
    t.eq(status, 0, err)
    local first <const> = json.decode(out).findings[1]
    t.eq({ first.name, first.found }, { kernel.finding, true }, first.title)
    t.ok(marked(source)[first.lines[1].line], ("line %s is blamed: %s"):format(tostring(first.lines[1].line), tostring(first.lines[1].text)))
    t.ok(first.lines[1].text and first.lines[1].text:find("# slow", 1, true), "with its text")
    t.has(first.change, ("k.py:%d"):format(first.lines[1].line))
    local p <close> = assert(open.open(f:full("p.db")))
    t.ok(same.bounds(p, 0) >= 10)
    local compared <const> = same.lines(p, 0)
    for _, name in ipairs { "lines", "tensor", "pipeline", "transfers", "dma", "reloads" } do t.ok(compared[name], name .. " was not compared") end
  end)
end

t.test("comparison: what moved between two versions; unlike profiles are refused", function()
  local f <const> = nkiln.folder()
  local slow <const> = t.read("tests/kernels/slow/weight_reloaded.py")
  local case <const> = t.quote "x=bf16[1024,2048], weight=f32[128,2048]"
  f:write("k.py", slow)
  t.eq(f:run("profile k.py --case " .. case .. " -o before.db"), 0)
  -- The weights loaded once, before the loop.
  local load <const> = slow:match("(        scale = nl.ndarray.-\n        nisa.dma_copy%(dst=scale.-\n)")
  local fast <const> = slow:gsub("        scale = nl%.ndarray.-\n        nisa%.dma_copy%(dst=scale.-\n", ""):gsub("    for r in",
    function() return load:gsub("        ", "    ") .. "    for r in" end)
  f:write("k.py", fast)
  t.eq(f:run("profile k.py --case " .. case .. " -o after.db"), 0)
  local status, out, err = f:run "query before.db --compare after.db --json"
  t.eq(status, 0, err)
  local c <const> = json.decode(out).comparison
  t.ok(c.speedup > 1.2, c.sentence)
  t.eq(c.bytes.before - c.bytes.after, 7 * 128 * 2048 * 4)
  local line
  for _, row in ipairs(c.lines) do line = line or row.text and row.text:find("dst=scale", 1, true) and row end
  t.eq({ line.bytes_before, line.bytes_after }, { 8 * 1048576, 1048576 })
  for _, row in ipairs(c.bounds) do
    if row.name == "memory_bound_ideal_no_reloads" then t.eq(row.moved, false) end
  end
  status, out = f:run "query before.db --compare after.db"
  t.eq(status, 0)
  t.match(out, "times as fast")
  t.eq(f:run("profile k.py --case " .. case .. " --target trn3 -o other.db"), 0)
  status, out, err = f:run "query before.db --compare other.db"
  t.eq(out, "")
  t.eq(status, 2)
  t.has(err, "unlike: target: trn2 before, trn3 after")
  t.eq(f:run "query before.db --compare other.db --anyway", 0)
  status, out = f:run "query before.db --compare before.db"
  t.eq(status, 0)
  t.has(out, "the same time")
  t.has(out, "no line moved")
end)

-- Queries of the kinds that are published for neuron-explorer's tables (grouping by engine and line, pairing weight loads with
-- matmuls, joins through Flow with mode and median, repeat factors, tiles), as DuckDB would be asked them.
t.test("published kinds of queries run as they are written", function()
  local f <const> = nkiln.folder()
  f:write("k.py", t.read("tests/kernels/slow/transposed_again.py"))
  t.eq(f:run [[profile k.py --case "a=bf16[256,512], b=bf16[512,512]" -o p.db]], 0)
  local function ask(sql)
    local status <const>, out <const>, err <const> = f:run("query p.db " .. t.quote(sql) .. " --json")
    t.eq(status, 0, sql .. err)
    local answer <const> = json.decode(out).sql
    local rows <const> = {}
    for k, row in ipairs(answer.rows) do
      rows[k] = {}
      for i, name in ipairs(answer.columns) do rows[k][name] = row[i] end
    end
    return rows
  end
  local busy <const> = ask [[SELECT engine, opcode, COUNT(*) AS cnt, SUM(duration_ns) / 1e3 AS us, SUM(evt_wait_time_ns) AS waits
    FROM Instruction GROUP BY engine, opcode ORDER BY us DESC]]
  t.eq(busy[1].engine, "Tensor")
  t.ok(busy[1].us % 1 ~= 0 or busy[2].us % 1 ~= 0, "a division that is not cut off")
  local pairs_of <const> = ask [[SELECT CASE WHEN lw.end_ts <= mm.start_ts THEN 'before' WHEN lw.start_ts >= mm.end_ts THEN 'after' ELSE 'overlap' END AS rel,
    COUNT(*) AS cnt FROM Instruction mm JOIN Instruction lw ON mm.bir_id = lw.bir_id
    WHERE mm.opcode = 'MATMUL' AND lw.opcode = 'LDWEIGHTS' AND mm.tensor_instruction_type = 'REGULAR' GROUP BY rel]]
  t.eq({ #pairs_of, pairs_of[1].rel, pairs_of[1].cnt }, { 1, "before", 8 })
  local loads <const> = ask [==[SELECT split_part(i.bir_debug_info_source_location, '/', -1) AS src, mode(d.variable) AS tensor,
      CASE WHEN any_value(d.source) = '[[INPUT]]' THEN 'load' ELSE 'store' END AS dir, count(*) AS n, sum(d.transfer_bytes) AS bytes,
      median(d.transfer_bytes) AS xfer,
      median(CASE WHEN d.source = '[[INPUT]]' THEN d.write_num_sbuf_partitions ELSE d.read_num_sbuf_partitions END) AS parts
    FROM Instruction i JOIN Flow f ON f.in_table = 'Instruction' AND f.out_table = 'DmaPacketAggregated' AND f.in_id = i.id
    JOIN DmaPacketAggregated d ON d.id = f.out_id
    WHERE (i.hbm_read_bytes > 0 OR i.hbm_write_bytes > 0) AND i.bir_debug_info_source_location IS NOT NULL AND d.is_transpose_mode IS NOT TRUE
    GROUP BY src ORDER BY bytes DESC]==]
  t.eq({ #loads, loads[1].tensor, loads[1].dir, loads[1].n, loads[1].bytes, loads[1].parts }, { 3, "b", "load", 4, 524288, 128.0 })
  local repeats <const> = ask [[SELECT d.variable, t.type, t.size, sum(d.transfer_bytes) AS moved, sum(d.transfer_bytes) / t.size AS times
    FROM DmaPacketAggregated d JOIN TensorInfo t ON t.variable_name = d.variable GROUP BY 1, 2, 3 ORDER BY 1]]
  t.eq({ repeats[1].variable, repeats[1].times }, { "a", 1.0 })
  local tiles <const> = ask [[SELECT bir_debug_info_source_location, count(*) AS n, sum(adjusted_flops) / 1e9 AS gf,
      quantile_cont(duration_ns, 0.5) AS mid FROM Instruction WHERE lower(engine) = 'tensor' AND opcode = 'MATMUL'
    AND tensor_instruction_type = 'TRANSPOSE' GROUP BY 1]]
  t.eq({ #tiles, tiles[1].n }, { 1, 8 })
end)
