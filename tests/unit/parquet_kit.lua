-- SPDX-License-Identifier: MIT
-- Parquet files put together by hand, for what no writer at hand writes: wrong ones, and old or rare ones that are right.
--
--   kit.file{ schema = { {name, ...}, ... }, groups = { { rows = n, columns = { { type, codec, values, pages = { kit.page{...} } } } } }, rows =, more = }
--   kit.page{ kind = "data"|"data2"|"dictionary"|"index", values =, encoding =, body =, size =, crc =, definition_size =, repetition_size =, compressed = }
--   kit.hybrid(width, { {count, value}, ... })   runs of levels or codes;  kit.sized(bytes) puts a four-byte length before

local kit <const> = {}

local function varint(v)
  local out <const> = {}
  repeat
    local byte <const> = v & 127
    v = v >> 7
    out[#out + 1] = string.char(v ~= 0 and byte | 128 or byte)
  until v == 0
  return table.concat(out)
end
kit.varint = varint

local function zigzag(v) return varint((v << 1) ~ (v >> 63 ~= 0 and -1 or 0)) end
kit.zigzag = zigzag

-- Values of the compact protocol: { type, bytes }.
local function i32(v) return { 5, zigzag(v) } end
local function i64(v) return { 6, zigzag(v) } end
local function text(v) return { 8, varint(#v) .. v } end
local function bool(v) return { v and 1 or 2, "" } end
local function struct(fields)
  local ids <const>, parts <const>, last = {}, {}, 0
  for id in pairs(fields) do ids[#ids + 1] = id end
  table.sort(ids)
  for _, id in ipairs(ids) do
    local kind <const>, bytes <const> = fields[id][1], fields[id][2]
    parts[#parts + 1] = id - last <= 15 and string.char((id - last) << 4 | kind) .. bytes or string.char(kind) .. zigzag(id) .. bytes
    last = id
  end
  return { 12, table.concat(parts) .. "\0" }
end
local function list(kind, values)
  local parts <const> = {}
  for i, v in ipairs(values) do parts[i] = v[2] end
  return { 9, (#values < 15 and string.char(#values << 4 | kind) or string.char(0xF0 | kind) .. varint(#values)) .. table.concat(parts) }
end
kit.i32, kit.i64, kit.text, kit.bool, kit.struct, kit.list = i32, i64, text, bool, struct, list

local crc_table <const> = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = c & 1 == 1 and c >> 1 ~ 0xEDB88320 or c >> 1 end
  crc_table[i] = c
end
function kit.crc32(bytes)
  local c = 0xFFFFFFFF
  for i = 1, #bytes do c = crc_table[(c ~ bytes:byte(i)) & 255] ~ c >> 8 end
  return c ~ 0xFFFFFFFF
end

function kit.hybrid(width, runs)
  local parts <const>, bytes <const> = {}, (width + 7) // 8
  for i, run in ipairs(runs) do parts[i] = varint(run[1] << 1) .. (bytes > 0 and string.pack("<I" .. bytes, run[2]) or "") end
  return table.concat(parts)
end

-- DELTA_BINARY_PACKED of small numbers.
function kit.delta(values)
  local parts <const> = { varint(128), varint(4), varint(#values), zigzag(values[1]) }
  for at = 2, #values, 128 do
    local least = math.huge
    for i = at, math.min(at + 127, #values) do least = math.min(least, values[i] - values[i - 1]) end
    parts[#parts + 1] = zigzag(least)
    for k = 0, 3 do parts[#parts + 1] = at + 32 * k <= #values and "\24" or "\0" end -- 24 bits each; parts without values have no bytes
    for i = at, at + 127 do
      if at + (i - at) // 32 * 32 <= #values then parts[#parts + 1] = string.pack("<I3", values[i] and values[i] - values[i - 1] - least or 0) end
    end
  end
  return table.concat(parts)
end

function kit.sized(bytes) return string.pack("<s4", bytes) end

local kinds <const> = { data = 0, index = 1, dictionary = 2, data2 = 3 }

function kit.page(p)
  local kind <const> = kinds[p.kind or "data"]
  local fields <const> = { [1] = i32(kind), [2] = i32(p.size or #p.body), [3] = i32(p.stored or #p.body) }
  if p.crc then fields[4] = i32(p.crc >= 1 << 31 and p.crc - (1 << 32) or p.crc) end
  if kind == 0 then
    fields[5] = struct { [1] = i32(p.values), [2] = i32(p.encoding or 0), [3] = i32(p.level_encoding or 3), [4] = i32(3) }
  elseif kind == 2 then
    fields[7] = struct { [1] = i32(p.values), [2] = i32(p.encoding or 0) }
  elseif kind == 3 then
    fields[8] = struct { [1] = i32(p.values), [2] = i32(p.nulls or 0), [3] = i32(p.rows or p.values), [4] = i32(p.encoding or 0),
      [5] = i32(p.definition_size or 0), [6] = i32(p.repetition_size or 0), [7] = bool(p.compressed ~= false) }
  end
  return struct(fields)[2] .. p.body
end

-- A schema element: name, type, repetition (0 required, 1 optional, 2 repeated), children, converted, length, scale, precision, logical.
local function element(e)
  return struct { [1] = e.type and i32(e.type), [2] = e.length and i32(e.length), [3] = i32(e.repetition or 0), [4] = text(e.name or e[1] or "x"),
    [5] = e.children and i32(e.children), [6] = e.converted and i32(e.converted), [7] = e.scale and i32(e.scale), [8] = e.precision and i32(e.precision),
    [10] = e.logical }
end

function kit.file(f)
  local body = "PAR1"
  local groups <const>, rows = {}, 0
  for g, group in ipairs(f.groups) do
    local chunks <const> = {}
    for i, column in ipairs(group.columns) do
      local start <const> = #body
      for _, page in ipairs(column.pages) do body = body .. page end
      local meta <const> = struct { [1] = i32(column.type), [4] = i32(column.codec or 0), [5] = i64(column.values or group.rows), [6] = i64(#body - start),
        [7] = i64(column.size or #body - start), [9] = i64(column.start or start) }
      chunks[i] = struct { [1] = column.path and text(column.path), [2] = i64(start), [3] = meta, [8] = column.secret and struct {} }
    end
    groups[g] = struct { [1] = list(12, chunks), [2] = i64(0), [3] = i64(group.rows) }
    rows = rows + group.rows
  end
  local elements <const> = { element { name = "root", children = f.children or #f.schema } }
  for i, e in ipairs(f.schema) do elements[i + 1] = element(e) end
  local fields <const> = { [1] = i32(1), [2] = list(12, elements), [3] = i64(f.rows or rows), [4] = list(12, groups) }
  for id, value in pairs(f.more or {}) do fields[id] = value end
  local footer <const> = struct(fields)[2]
  return body .. footer .. string.pack("<I4", #footer) .. "PAR1"
end

-- One column, one row group: the usual case.
function kit.one(schema, rows, pages, more)
  local column <const> = { type = schema.type, pages = pages }
  for k, v in pairs(more or {}) do column[k] = v end
  return kit.file { schema = { schema }, groups = { { rows = rows, columns = { column } } } }
end

return kit
