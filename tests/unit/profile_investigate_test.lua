-- SPDX-License-Identifier: MIT
-- Investigations and lines: a small profile worked out by hand, and the figures against the SQL that is printed for them.
local t <const> = require "tests.lib"
local bounds <const> = require "profile.bounds"
local generate <const> = require "tests.profile.generate"
local investigate <const> = require "profile.investigate"
local lines <const> = require "profile.lines"
local open <const> = require "profile.open"
local same <const> = require "tests.profile.same"

local function profile(content, options)
  local path <const> = t.tmpdir() .. "/p.db"
  generate.write(path, content or generate.small())
  return assert(open.open(path, options))
end

local function near(got, want, what) t.ok(type(got) == "number" and math.abs(got - want) < 1e-6 * math.max(1, math.abs(want)),
  what .. ": " .. tostring(got)) end

local function finding(p, name) return investigate.run(p, name)[1] end

t.test("a small profile: each investigation names the lines that were planted", function()
  local p <close> = profile()
  local dma <const> = finding(p, "dma")
  t.eq(dma.found, true)
  t.eq({ dma.lines[1].line, dma.lines[1].text, dma.lines[1].bytes, dma.lines[1].descriptor }, { 10, "  nisa.dma_copy(dst=t, src=x)", 524288, 2048.0 })
  t.eq(dma.lines[2].line, 15)
  near(dma.gap_ns, 10200 - 655360 / 368, "gap")
  t.has(dma.change, "k.py:10")
  local reloads <const> = finding(p, "reloads")
  t.eq({ reloads.found, reloads.excess_bytes, reloads.spill_bytes, #reloads.lines }, { true, 262144, 0, 1 })
  t.eq({ reloads.lines[1].line, reloads.lines[1].variable, reloads.lines[1].times }, { 10, "x", 2.0 })
  near(reloads.gap_ns, 10200 * 262144 / 655360, "stake")
  local transposes <const> = finding(p, "transposes")
  t.eq({ transposes.found, transposes.gap_ns, transposes.lines[1].line }, { true, 400, 13 })
  local pipeline <const> = finding(p, "pipeline")
  -- The first matmul waits for transfer 101 from the start (500) to 5000, the third for transfer 102 from 6800 to 11000.
  t.eq({ pipeline.engine, pipeline.waits.DMA, pipeline.lines[1].line }, { "Tensor", 4500 + 4200, 10 })
  -- Before its first instruction, after its last (12400; the events begin at 500, the total is 20000), and what is left.
  t.eq({ pipeline.start_ns, pipeline.tail_ns, pipeline.latency_ns }, { 4500, 20000 - 11900, 18800 - 8700 - 8100 })
  t.eq({ pipeline.lines[1].reason, pipeline.lines[2].reason }, { "start", "flow" })
  t.eq(finding(p, "tensor").found, false)
  t.eq(finding(p, "vector").found, false)
  t.eq(same.lines(p, p.cores[1]), { lines = true, transposes = true, tensor = true, pipeline = true, transfers = true, dma = true, reloads = true })
end)

t.test("a gain is never more than what the other engines leave", function()
  local p <close> = profile()
  t.eq(finding(p, "transposes").gain_ns, 400)
  local content <const> = generate.small()
  table.insert(content.ActiveTime, { start_ts = 1000, end_ts = 16000, engine = "scalar", pcore_idx = 0, duration_ns = 15000 })
  local q <close> = profile(content)
  local f <const> = finding(q, "dma")
  t.ok(f.gap_ns > 8000, f.gap_ns)
  t.eq(f.gain_ns, 5000, "the Scalar engine stays at 15000 of 20000 ns")
end)

t.test("lines: time of each engine, bytes, descriptors, instructions", function()
  local p <close> = profile()
  local rows <const> = {}
  for _, row in ipairs(lines.compute(p)) do rows[row.line] = row end
  t.eq({ rows[10].DMA, rows[10].bytes, rows[10].transfers, rows[10].instructions, rows[10].Sync, rows[10].descriptors }, { 7000, 524288, 2, 2, 200, 256 })
  t.eq({ rows[12].Tensor, rows[12].instructions, rows[12].bytes }, { 800, 2 })
  t.eq({ rows[14].Vector, rows[15].bytes }, { 1000, 131072 })
  local cut <close> = profile(nil, { window = "5500:11500" })
  local inside <const> = {}
  for _, row in ipairs(lines.compute(cut)) do inside[row.line] = row end
  t.eq({ inside[12].Tensor, inside[12].instructions }, { 400, 1 })
  same.lines(cut, 0)
end)

t.test("a kernel whose only wait is the first is not told to overlap; a load to many partitions is no reload", function()
  local content <const> = generate.small()
  -- The second matmul's operand is there in time.
  for _, row in ipairs(content.DmaPacketAggregated) do
    if row.id == 102 then row.start_ts, row.end_ts = 2000, 5000 end
  end
  for _, row in ipairs(content.Instruction) do
    if row.id == 3 then row.start_ts = 5000 end
    if row.id == 5 then row.start_ts, row.end_ts = 6800, 7200 end
  end
  content.ActiveTime[1].start_ts, content.ActiveTime[2].start_ts, content.ActiveTime[2].end_ts = 5000, 6800, 7200
  content.TensorInfo[1].size = 1024
  local p <close> = profile(content)
  local f <const> = finding(p, "pipeline")
  t.eq({ f.found, f.start_ns }, { false, 4500 })
  t.has(f.title, "nothing but the start")
  local reloads <const> = finding(p, "reloads")
  t.eq({ reloads.lines[1].kind, reloads.lines[1].variable }, { "broadcast", "x" })
  t.has(reloads.change, "to one partition")
end)

t.test("spills, stores in pieces, and what the profile cannot tell", function()
  local content <const> = generate.small()
  local rows <const> = content.DmaPacketAggregated
  rows[2].source, rows[2].variable = "[VIRTUAL]", "spill_7"
  rows[3].transfer_bytes = 4 * 131072
  local p <close> = profile(content)
  local f <const> = finding(p, "reloads")
  t.eq({ f.found, f.spill_bytes, f.excess_bytes }, { true, 524288, 3 * 131072 })
  local kinds <const> = {}
  for _, line in ipairs(f.lines) do kinds[line.kind] = line end
  t.eq({ kinds.spill.line, kinds.store.line, kinds.load }, { 10, 15 })
  t.has(f.title, "spills")
  same.lines(p, 0)

  local bare <const> = generate.small()
  bare.Flow, bare.TensorInfo = nil, nil
  local q <close> = profile(bare)
  local all <const> = investigate.run(q, "all")
  local text = ""
  for _, item in ipairs(all) do text = text .. item.title .. "\n" .. (item.text or "") .. "\n" .. table.concat(item.notes or {}, "\n") .. "\n" end
  t.has(text, "no Flow from instructions to transfers")
  t.has(text, "no table TensorInfo")
  t.has(text, "told by overlap only")
  t.eq(#investigate.run(profile { Summary = { { total_time = 1e-3 } } }, "all"), 1)
  for _, name in ipairs { "DmaPacketAggregated", "Instruction", "Metadata", "DmaPacket", "ActiveTime", "Summary" } do
    local less <const> = generate.small()
    less[name] = nil
    local r <close> = profile(less)
    for _, item in ipairs(investigate.run(r, "all")) do t.ok(item.title, name) end
    same.lines(r, 0)
  end
end)

t.test("tiles: the smallest dimension is named, fp32 is seen by its FLOPs", function()
  local content <const> = generate.small()
  local function matmul(i, k, m, n, flops, raw)
    local start <const> = 20000 + i * 1000
    table.insert(content.Instruction, {
      id = 100 + i, pc = 100 + i, bir_id = "x", engine = "Tensor", opcode = "MATMUL", start_ts = start, end_ts = start + 900, duration_ns = 900, pcore_idx = 0,
      operands = ("src=bf16@0[1][%d] dst=fp32@0[1][%d] %d*%d acc_flags=1"):format(n, n, k, m), tensor_instruction_type = "REGULAR", adjusted_flops = flops,
      raw_flops = raw, bir_debug_info_source_location = "/src/k.py:" .. 30 + i % 3,
    })
    table.insert(content.ActiveTime, { start_ts = start, end_ts = start + 900, engine = "tensor", pcore_idx = 0, duration_ns = 900 })
  end
  for i = 0, 29 do
    if i % 3 == 0 then matmul(i, 32, 128, 512, 2 * 32 * 128 * 512, 2 * 32 * 128 * 512)
    elseif i % 3 == 1 then matmul(i, 128, 128, 64, 2 * 128 * 128 * 64, 2 * 128 * 128 * 64)
    else matmul(i, 128, 128, 512, 8 * 128 * 128 * 512, 2 * 128 * 128 * 512) end
  end
  content.Summary[1].total_time = 60e-6
  local p <close> = profile(content)
  local f <const> = finding(p, "tensor")
  local by_line <const> = {}
  for _, line in ipairs(f.lines) do by_line[line.line] = line end
  t.has(by_line[30].detail, "K = 32 of 128")
  t.has(by_line[31].detail, "N = 64 of 512")
  t.has(by_line[32].detail, "fp32")
  near(by_line[30].ns, 10 * 900 - 10 * 2 * 32 * 128 * 512 / (128 * 128 * 2 * 2.4), "loss of the narrow contraction")
  local peak <const> = 128 * 128 * 2 * 2.4
  near(by_line[32].ns, 10 * 900 - 10 * 8 * 128 * 128 * 512 / peak + 10 * (8 - 2) * 128 * 128 * 512 / peak, "loss of fp32")
  same.lines(p, 0)
end)

t.test("Vector- and Scalar-bound kernels: small instructions, alternating tables, one engine alone", function()
  local function busy(engine, n, elements, fn, opcode)
    local content <const> = generate.small()
    content.ActiveTime, content.DmaPacket = {}, { content.DmaPacket[1] }
    for i = 1, n do
      local start <const> = 20000 + i * 1000
      table.insert(content.Instruction, {
        id = 1000 + i, pc = i, bir_id = "x", engine = engine, opcode = opcode, start_ts = start, end_ts = start + 1000, duration_ns = 1000, pcore_idx = 0,
        operands = ("dst=fp32@0[1][%d] src=fp32@0[1][%d] channels=128"):format(elements, elements), scalar_activation_fn = fn and fn(i) or nil,
        bir_debug_info_source_location = "/src/k.py:77",
      })
    end
    table.insert(content.ActiveTime, { start_ts = 21000, end_ts = 21000 + n * 1000, engine = engine:lower(), pcore_idx = 0, duration_ns = n * 1000 })
    content.Summary[1].total_time = (n + 5) * 1e-6
    return content
  end
  local small <close> = profile(busy("Vector", 100, 16, nil, "TENSOR_TENSOR"))
  local f = investigate.run(small, "all")[1]
  t.eq({ f.name, f.cause, f.lines[1].line, f.lines[1].opcode }, { "vector", "small", 77, "TENSOR_TENSOR" })
  near(f.gap_ns, 100 * (1000 - 16 / 0.96), "fixed cost")
  local tables <close> = profile(busy("Scalar", 100, 1100, function(i) return i % 2 == 0 and "exp" or "sigmoid" end, "ACTIVATE"))
  f = investigate.run(tables, "all")[1]
  t.eq({ f.name, f.cause }, { "scalar", "tables" })
  t.has(f.title, "changes 99 times")
  local alone <close> = profile(busy("Vector", 100, 900, nil, "TENSOR_SCALAR"))
  f = investigate.run(alone, "all")[1]
  t.eq({ f.name, f.cause }, { "vector", "move" })
  t.has(f.change, "Scalar engine")
  -- Work goes only where the API has it: tensor_tensor not to Scalar, exp nowhere.
  local pairs_of <close> = profile(busy("Vector", 100, 900, nil, "TENSOR_TENSOR"))
  f = investigate.run(pairs_of, "vector")[1]
  t.ok(not (f.change or ""):find "Scalar", f.change)
  local exp <close> = profile(busy("Scalar", 100, 1100, function() return "exp" end, "ACTIVATE"))
  f = investigate.run(exp, "scalar")[1]
  t.eq({ f.found or false, f.change }, { false, nil })
  t.has(f.text, "no other engine can do them")
end)

t.test("the longest of two cores is the first, and each has its findings", function()
  local content <const> = generate.small()
  for _, name in ipairs { "Instruction", "ActiveTime", "DmaPacket", "DmaPacketAggregated" } do
    local rows <const> = content[name]
    for i = 1, #rows do
      local copy <const> = {}
      for k, v in pairs(rows[i]) do copy[k] = v end
      copy.pcore_idx = 1
      if copy.id then copy.id = copy.id + 1000 end
      if copy.packet_aggregation_id then copy.packet_aggregation_id = copy.packet_aggregation_id + 1000 end
      rows[#rows + 1] = copy
    end
  end
  for i = 1, #content.Flow do
    local copy <const> = {}
    for k, v in pairs(content.Flow[i]) do copy[k] = v end
    copy.in_id, copy.out_id = copy.in_id + 1000, copy.out_id + 1000
    content.Flow[#content.Flow + 1] = copy
  end
  local p <close> = profile(content)
  local cores <const> = {}
  for _, f in ipairs(investigate.run(p, "dma")) do cores[f.core] = f.lines[1].bytes end
  t.eq(cores, { [0] = 524288, [1] = 524288 })
  same.lines(p, 0)
  same.lines(p, 1)
  t.eq(bounds.compute(p, 1).quantities.bytes, 655360)
end)
