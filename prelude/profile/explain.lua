-- SPDX-License-Identifier: MIT
-- profile.explain: the SQL that gives the same figures as the analysis, computed another way: for a person who wants to check or
-- to go on from there. It runs with `nkiln query p.db SQL` and, because its functions are DuckDB's, with --via duckdb.
--
-- bounds(p, core) -> { {name=, sql=}, ... }: each query gives one row with one column, the bound in ns. Building blocks for
-- investigations: packets(p, core), union(rows), place(p).

local open <const> = require "profile.open"

local explain <const> = {}

local function have(p, name) return p.tables[name] or {} end

-- A column, or NULL where the profile has none.
local function column(p, name, c, as) return have(p, name)[c] and (c == (as or c) and c or c .. " AS " .. as) or "NULL AS " .. (as or c) end

local function core_of(p, name, core) return have(p, name).pcore_idx and ("coalesce(pcore_idx, 0) = %d"):format(core) or "1 = 1" end

-- "AND start_ts >= ... AND start_ts < ..." of the window; empty for the whole profile.
function explain.starting(p, prefix)
  if p.window.whole then return "" end
  prefix = prefix or ""
  return (" AND %sstart_ts >= %d AND %sstart_ts < %d"):format(prefix, p.window.t0, prefix, p.window.t1)
end

-- The packets of a core, each once.
function explain.packets(p, core)
  local list <const> = {}
  for _, c in ipairs { "engine_idx", "packet_aggregation_id", "packet_idx", "start_ts", "end_ts", "transfer_bytes", "queue_type" } do
    list[#list + 1] = column(p, "DmaPacket", c)
  end
  return ("SELECT DISTINCT %s\n  FROM DmaPacket WHERE %s"):format(table.concat(list, ", "), core_of(p, "DmaPacket", core))
end

explain.kernel = "coalesce(queue_type, '') <> 'instruction' AND transfer_bytes > 4"

-- The length of the union of intervals: `rows` is a SELECT with start_ts and end_ts.
function explain.union(p, rows, ctes)
  return ([[
WITH %src AS (
  %s
), clipped AS (
  SELECT greatest(start_ts, %d) AS s, least(end_ts, %d) AS e FROM src WHERE start_ts IS NOT NULL AND end_ts IS NOT NULL
), reach AS (
  SELECT s, e, max(e) OVER (ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM clipped WHERE e > s
)
SELECT coalesce(sum(CASE WHEN before IS NULL OR s >= before THEN e - s WHEN e > before THEN e - before ELSE 0 END), 0) AS ns FROM reach]]):format(
    ctes and ctes .. ",\ns" or "s", rows, p.window.t0, p.window.t1)
end

local intervals <const> = "SELECT start_ts, end_ts FROM %s WHERE lower(engine) = '%s' AND %s"

local function engine(p, core, name)
  if p.tables.ActiveTime and p:active() then
    return explain.union(p, intervals:format("ActiveTime", name:lower(), core_of(p, "ActiveTime", core)))
  elseif p.tables.Instruction then
    return explain.union(p, intervals:format("Instruction", name:lower(), core_of(p, "Instruction", core)))
  end
end

-- What each bound is, in SQL; a bound whose tables are missing has no query.
function explain.bounds(p, core)
  core = core or p.cores[1]
  local out <const> = {}
  local function add(name, sql) if sql then out[#out + 1] = { name = name, sql = sql } end end
  local has_packets <const> = p.tables.DmaPacket and p:packets() ~= nil
  local has_tensors <const>, has_rate <const> = p.tables.TensorInfo, p.tables.Metadata
  local whole <const> = p.window.whole and #p.cores == 1
  local practical <const> = require("profile.bounds").peaks(p).practical
  local traffic <const> = has_packets and ("WITH packets AS (\n  %s\n)\nSELECT %%s FROM packets WHERE %s%s"):format(
    explain.packets(p, core), explain.kernel, explain.starting(p))
  if has_packets then
    add("memory_bound", explain.union(p, explain.packets(p, core)))
    if practical then add("memory_bound_practical", traffic:format(("sum(transfer_bytes) / %.1f * 1e9 AS ns"):format(practical))) end
    if has_rate then add("memory_bound_ideal", traffic:format("sum(transfer_bytes) / (SELECT dma_ddr_bandwidth FROM Metadata LIMIT 1) * 1e9 AS ns")) end
  elseif whole and p.summary.dma_active_time then
    add("memory_bound", "SELECT dma_active_time * 1e9 AS ns FROM Summary")
  end
  if has_tensors and p:tensors() and has_rate then
    add("memory_bound_ideal_no_reloads", ([[
WITH once AS (
  SELECT variable_name, max(size) AS size FROM TensorInfo WHERE upper(type) IN ('IN', 'OUT', 'WEIGHT') GROUP BY variable_name
)
SELECT sum(size) / %d.0 / (SELECT dma_ddr_bandwidth FROM Metadata LIMIT 1) * 1e9 AS ns FROM once]]):format(#p.cores))
  end
  add("compute_bound", engine(p, core, "Tensor"))
  if p.tables.Instruction and p:instructions() and has_rate then
    local useful <const> = have(p, "Instruction").tensor_instruction_type and " AND coalesce(tensor_instruction_type, '') <> 'TRANSPOSE'" or ""
    local flops <const> = [[
SELECT coalesce(sum(adjusted_flops), 0)
  / (SELECT tensor_engine_num_rows * tensor_engine_num_cols * 2 * tensor_engine_clock_freq * 1e9 FROM Metadata LIMIT 1) * 1e9 AS ns
FROM Instruction WHERE lower(engine) = 'tensor' AND opcode = 'MATMUL' AND %s%s%s]]
    add("compute_bound_ideal_flops", flops:format(core_of(p, "Instruction", core), explain.starting(p), ""))
    add("compute_bound_ideal_useful_flops", flops:format(core_of(p, "Instruction", core), explain.starting(p), useful))
  end
  for _, name in ipairs { "Vector", "Scalar", "GpSimd" } do add(name .. " active", engine(p, core, name)) end
  return out
end

-- The source line of an Instruction row, as SQL.
function explain.place(p, prefix)
  local text <const> = open.location(have(p, "Instruction"))
  return prefix and text:gsub("bir_debug_info_source_location", prefix .. "%0"):gsub("nki_source_location", function(name) return prefix .. name end) or text
end
explain.core_of = core_of

return explain
