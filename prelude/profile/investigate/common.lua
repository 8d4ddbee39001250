-- SPDX-License-Identifier: MIT
-- profile.investigate.common: what the investigations share: transfers tied to the lines that start them, the stake of a cost,
-- and how a source line is shown.
--
-- transfers(p, core) -> frame, rows | nil, why. The frame is DmaPacketAggregated with these columns more:
--   flow, issuer (rows of Flow and Instruction), location, packets (DMA packets of the transfer), partitions (SBUF side),
--   descriptor (bytes of one descriptor: the transfer over its partitions, or over its packets where those are more),
--   kind ("load", "store", "spill", "copy")
-- `rows` are those of this core that start in the window. A finding is a plain table; see investigate.lua.

local bounds <const> = require "profile.bounds"
local show <const> = require "profile.show"

local common <const> = {}

common.DESCRIPTOR = 4096 -- bytes a descriptor should have; beyond it little is gained [Neuron Explorer glossary; NKI performance guide]

local function contains(part) return function(text) return text:upper():find(part, 1, true) ~= nil end end

-- Rows of Flow from one kind of table to another, whatever the spelling: DmaPacketAggregated is dma_block in the schema's examples.
local function is_transfer(name)
  name = name:lower()
  return name == "dmapacketaggregated" or name == "dma_block"
end
local function is_instruction(name) return name:lower() == "instruction" end
common.is_transfer, common.is_instruction = is_transfer, is_instruction

function common.flow_rows(flow, from, to)
  local first <close> = flow:pick(nil, "in_table", from)
  return flow:pick(first, "out_table", to)
end

-- Give the transfers their lines, once.
local function join(p)
  if p.joined ~= nil then return p.joined end
  local frame <const> = p:transfers()
  local instructions <const>, flow <const> = p:instructions(), p:flow()
  p.joined = false
  if flow and instructions then
    local edges <close> = common.flow_rows(flow, is_instruction, is_transfer)
    if edges:count() > 0 then
      frame:lookup("flow", "id", flow, "out_id", edges)
      frame:fetch("issuer_id", "flow", flow, "in_id")
      frame:lookup("issuer", "issuer_id", instructions, "id")
      frame:fetch("location", "issuer", instructions, "location")
      p.joined = true
    end
  end
  if not p.joined then frame:derive("location", "variable", function() return nil end) end
  -- The SBUF side of a transfer has partitions, the HBM side none.
  frame:compute("partitions", "read_parts", "max", "write_parts")
  local packets <const> = p:packets()
  if packets then
    if #p.cores == 1 then
      local _, kernel <const> = bounds.kernel_packets(p, p.cores[1])
      frame:tally("packets", "id", packets, kernel, "packet_aggregation_id")
    else
      local once <close> = packets:distinct(nil, bounds.packet_keys)
      local big <close> = packets:where(once, "transfer_bytes", ">", 4)
      local kernel <close> = packets:pick(big, "queue_type", function(kind) return kind ~= "instruction" end, true)
      frame:tally("packets", "id", packets, kernel, "packet_aggregation_id")
    end
  else
    frame:compute("packets", "partitions", "*", 0)
  end
  frame:compute("parts", "partitions", "max", "packets")
  frame:compute("parts_or_one", "parts", "max", 1)
  frame:compute("descriptor", "transfer_bytes", "/", "parts_or_one")
  return p.joined
end

function common.transfers(p, core)
  local frame <const>, why <const> = p:transfers()
  if not frame then
    return nil, why .. ": no transfer can be tied to a line"
  end
  local tied <const> = join(p)
  p.transfer_rows = p.transfer_rows or {}
  if not p.transfer_rows[core] then
    local mine <const> = frame:where(nil, "core", "=", core)
    p.transfer_rows[core] = bounds.starting(frame, mine, p.window)
  end
  return frame, p.transfer_rows[core], not tied and "the profile has no Flow from instructions to transfers: lines are not known" or nil
end

-- Rows by where they come from and go to: load, store, spill (to or from [VIRTUAL]).
function common.of_kind(frame, rows, kind)
  if kind == "spill" then
    local from <const> = frame:pick(rows, "source", contains "VIRTUAL")
    return from
  end
  local column <const> = kind == "load" and "source" or "dest"
  return frame:pick(rows, column, contains(kind == "load" and "INPUT" or "OUTPUT"))
end

-- How much the whole could win if `engines` were faster by `ns`: never below the longest engine that stays as it is.
function common.gain(b, engines, ns)
  local others = 0
  for _, e in ipairs(b.engines) do
    if e.ns and not engines[e.name] and e.ns > others then others = e.ns end
  end
  return math.max(0, math.min(ns, b.window.total_ns - others))
end

-- A line of a finding. fields: amount (text), share (fraction of what the finding names), detail, ns, bytes.
function common.line(p, location, fields)
  local place <const> = p:place(location)
  for k, v in pairs(fields) do place[k] = v end
  return place
end

-- The biggest of a list by a field, in order.
function common.top(list, field, most)
  table.sort(list, function(a, b)
    if a[field] ~= b[field] then return a[field] > b[field] end
    return tostring(a.location) < tostring(b.location)
  end)
  local out <const> = {}
  for i = 1, math.min(most or 8, #list) do out[i] = list[i] end
  return out
end

function common.short(location) return location and location:match("[^/]*$") or "a line that is not known" end
common.us, common.bytes, common.percent, common.count = show.us, show.bytes, show.percent, show.count

return common
