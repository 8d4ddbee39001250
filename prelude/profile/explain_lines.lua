-- SPDX-License-Identifier: MIT
-- profile.explain_lines: the SQL behind the investigations and the table of lines: the same groups and sums, by other means.
--
-- all(p, core, engine) -> { {name=, sql=}, ... }. Each query's columns are named as the analysis names them. `engine` is the one that
-- the pipelining investigation looks at. A query whose tables are missing is left out.

local explain <const> = require "profile.explain"

local lines <const> = {}

-- Union of intervals for each combination of keys: rows is a SELECT of the keys, start_ts and end_ts.
local function grouped_union(p, keys, rows, more)
  return ([[
WITH rows_of AS (
  %s
), clipped AS (
  SELECT *, greatest(start_ts, %d) AS s, least(end_ts, %d) AS e FROM rows_of
), reach AS (
  SELECT *, max(CASE WHEN e > s THEN e END) OVER (PARTITION BY %s ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM clipped
)
SELECT %s, sum(CASE WHEN e <= s THEN 0 WHEN before IS NULL OR s >= before THEN e - s WHEN e > before THEN e - before ELSE 0 END) AS ns%s
FROM reach GROUP BY %s ORDER BY ns DESC]]):format(rows, p.window.t0, p.window.t1, keys, keys, more or "", keys)
end

-- Transfers of a core that start in the window, each with the line of the instruction that started it.
function lines.transfers(p, core)
  return ([[
SELECT d.*, %s AS location, i.id AS issuer_id
  FROM DmaPacketAggregated d
  LEFT JOIN Flow f ON lower(f.in_table) = 'instruction' AND lower(f.out_table) IN ('dmapacketaggregated', 'dma_block') AND f.out_id = d.id
  LEFT JOIN Instruction i ON i.id = f.in_id
  WHERE %s%s]]):format(
    explain.place(p, "i."), explain.core_of(p, "DmaPacketAggregated", core):gsub("pcore_idx", "d.pcore_idx"), explain.starting(p, "d."))
end

local descriptor <const> = [[
transfer_bytes * 1.0 / greatest(read_num_sbuf_partitions, write_num_sbuf_partitions, coalesce((
    SELECT count(*) FROM (SELECT DISTINCT packet_idx, engine_idx, start_ts, end_ts, transfer_bytes, queue_type
      FROM DmaPacket k WHERE k.packet_aggregation_id = t.id) WHERE coalesce(queue_type, '') <> 'instruction' AND transfer_bytes > 4), 0), 1)]]

function lines.all(p, core, engine)
  local out <const> = {}
  local function add(name, sql) out[#out + 1] = { name = name, sql = sql } end
  local has <const> = p.tables
  local place <const> = explain.place(p)
  if has.Instruction and p:instructions() then
    local mine <const> = explain.core_of(p, "Instruction", core) .. explain.starting(p)
    add("lines", grouped_union(p, "location, engine", ("SELECT %s AS location, engine, start_ts, end_ts FROM Instruction WHERE %s"):format(place, mine),
      ", count(*) AS n"))
    add("transposes", grouped_union(p, "location",
      ("SELECT %s AS location, start_ts, end_ts, adjusted_flops FROM Instruction\n  WHERE lower(engine) = 'tensor' AND opcode = 'MATMUL' "
        .. "AND tensor_instruction_type = 'TRANSPOSE' AND %s"):format(place, mine), ", count(*) AS n, sum(adjusted_flops) AS flops"))
    add("tensor", grouped_union(p, "location",
      ("SELECT %s AS location, start_ts, end_ts, adjusted_flops, matmul_k(operands) AS k, matmul_m(operands) AS m, matmul_n(operands) AS n\n  FROM Instruction "
        .. "WHERE lower(engine) = 'tensor' AND opcode = 'MATMUL' AND coalesce(tensor_instruction_type, '') <> 'TRANSPOSE' AND %s"):format(place, mine),
      ", count(*) AS n_matmuls, sum(adjusted_flops) AS flops, median(k) AS k, median(m) AS m, median(n) AS n"))
    if has.Flow and has.DmaPacketAggregated and engine then add("pipeline", lines.pipeline(p, core, engine)) end
  end
  if has.DmaPacketAggregated and has.Flow and has.Instruction and p:transfers() and p:flow() then
    add("transfers", grouped_union(p, "location", lines.transfers(p, core), ", count(*) AS n, sum(transfer_bytes) AS bytes"))
    if has.DmaPacket then
      add("dma", ("WITH t AS (\n%s\n)\nSELECT location, variable, source, dest, count(*) AS n, sum(transfer_bytes) AS bytes, median(%s) AS descriptor\n"
        .. "FROM t GROUP BY 1, 2, 3, 4 ORDER BY bytes DESC"):format(lines.transfers(p, core), descriptor))
    end
    if has.TensorInfo then
      add("reloads", ([[
WITH t AS (
%s
), sizes AS (
  SELECT variable_name, upper(any_value(type)) AS type, max(size) AS size FROM TensorInfo GROUP BY variable_name
)
SELECT variable, any_value(type) AS type, any_value(size) AS size, sum(transfer_bytes) AS moved, sum(transfer_bytes) / any_value(size) AS times
FROM t JOIN sizes ON variable_name = variable
WHERE size > 0 AND CASE WHEN type = 'OUT' THEN upper(dest) LIKE '%%OUTPUT%%' ELSE upper(source) LIKE '%%INPUT%%' END
GROUP BY variable ORDER BY moved DESC]]):format(lines.transfers(p, core)))
    end
  end
  return out
end

-- What an engine waits for, by the kind of what it waited for.
function lines.pipeline(p, core, engine)
  local setup <const> = {}
  for name in pairs(require("profile.investigate.pipeline").setup) do setup[#setup + 1] = "'" .. name .. "'" end
  table.sort(setup)
  return ([[
WITH mine AS (
  SELECT id, opcode, start_ts, end_ts, id AS place,
    coalesce(max(end_ts) OVER (ORDER BY start_ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), %d) AS reach
  FROM Instruction WHERE lower(engine) = '%s' AND upper(opcode) NOT IN (%s) AND %s
), unit AS (
  SELECT *, upper(lag(opcode, 1, '') OVER (ORDER BY start_ts, place)) LIKE '%%LDWEIGHTS%%' AS paired,
    lag(start_ts) OVER (ORDER BY start_ts, place) AS load_start, lag(greatest(reach, %d)) OVER (ORDER BY start_ts, place) AS load_reach FROM mine
), waiting AS (
  SELECT id, start_ts, CASE WHEN paired THEN load_start ELSE start_ts END AS s, CASE WHEN paired THEN load_reach ELSE greatest(reach, %d) END AS r
  FROM unit WHERE upper(opcode) NOT LIKE '%%LDWEIGHTS%%'
), before AS (
  SELECT f.out_id, CASE WHEN lower(f.in_table) = 'instruction' THEN lower(i.engine) ELSE 'dma' END AS kind,
    CASE WHEN lower(f.in_table) = 'instruction' THEN i.end_ts ELSE d.end_ts END AS e
  FROM Flow f LEFT JOIN Instruction i ON lower(f.in_table) = 'instruction' AND i.id = f.in_id
    LEFT JOIN DmaPacketAggregated d ON lower(f.in_table) IN ('dmapacketaggregated', 'dma_block') AND d.id = f.in_id
  WHERE lower(f.out_table) = 'instruction'
), last AS (
  SELECT out_id, max(e) AS e, max(CASE WHEN kind = 'dma' THEN e END) AS dma, max(CASE WHEN kind <> 'dma' THEN e END) AS other,
    arg_max(kind, CASE WHEN kind <> 'dma' THEN e END) AS engine
  FROM before GROUP BY out_id
)
SELECT CASE WHEN other IS NULL OR dma > other THEN 'dma' ELSE engine END AS kind, sum(least(s, e) - r) AS ns, count(*) AS n
FROM waiting JOIN last ON out_id = id WHERE s > r AND e > r%s GROUP BY 1 ORDER BY ns DESC]]):format(
    p.window.t0, engine:lower(), table.concat(setup, ", "), explain.core_of(p, "Instruction", core), p.window.t0, p.window.t0, explain.starting(p))
end

return lines
