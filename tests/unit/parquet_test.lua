-- SPDX-License-Identifier: MIT
-- The Parquet reader against files of three independent writers and what two independent readers say is in them
-- (tests/oracle/parquet). Needs node and npm's registry once; without them these tests are skipped.
local t <const> = require "tests.lib"
local json <const> = require "rt.json"
local trace <const> = require "rt.trace"
local fixtures <const> = require "tests.oracle.parquet.fixtures"

local folder <const>, why <const> = fixtures.make()

local function test(name, fn)
  t.test(name, folder and fn or function() t.skip(why) end)
end

local function hex(text) return (text:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

-- As in make.mjs.
local function spell(value)
  if value == nil or value == json.null then return json.null end
  if type(value) == "table" then
    local list <const> = {}
    for i, v in ipairs(value) do list[i] = spell(v) end
    return list
  end
  if type(value) == "boolean" then return value and "i1" or "i0" end
  if math.type(value) == "integer" then return "i" .. value end
  if type(value) == "number" then return value ~= value and "dnan" or "d" .. hex(string.pack(">d", value)) end
  return "t" .. hex(value)
end

-- All rows of a file as lists of spelt values by column.
local function read(path, batch, memory)
  local file <close> = assert(trace.parquet_open(path, "/tmp", memory))
  local info <const> = file:info()
  local out <const>, total = {}, 0
  for _, field in ipairs(info.fields) do out[field.name] = {} end
  while true do
    local columns <const>, rows <const> = file:read(batch)
    if not columns then
      if rows then error(rows.message, 0) end
      break
    end
    for i, field in ipairs(info.fields) do
      local column <const>, list <const> = columns[field.name], out[field.name]
      local codes <const> = type(column) == "table" and column.codes and column.codes:totable()
      local valid <const> = type(column) == "table" and column.valid and column.valid:totable()
      local numbers <const> = not codes and (valid and column[1] or column):totable()
      for r = 1, rows do
        local value
        if codes then value = column.values[codes[r] + 1]
        elseif not valid or valid[r] then value = numbers[r] end
        if field.list and value then value = json.decode(value) end
        if value and numbers and info.fields[i].type:find("^f") then value = value * 1.0 end
        list[total + r] = spell(value)
      end
    end
    total = total + rows
  end
  return out, total, info
end

-- A double that a reader gave as an integer (and the other way round) is the same number.
local function same(a, b)
  if a == b then return true end
  if type(a) == "table" and type(b) == "table" then
    if #a ~= #b then return false end
    for i = 1, #a do if not same(a[i], b[i]) then return false end end
    return true
  end
  if type(a) ~= "string" or type(b) ~= "string" then return false end
  if a:sub(1, 1) == "i" and b:sub(1, 1) == "d" then a, b = b, a end
  if a:sub(1, 1) == "d" and b:sub(1, 1) == "i" and a ~= "dnan" then
    return string.unpack(">d", (a:sub(2):gsub("%x%x", function(x) return string.char(tonumber(x, 16)) end))) == math.tointeger(b:sub(2))
  end
  return false
end

test("parquet: every value of every file, as DuckDB and hyparquet read it", function()
  local expected <const> = assert(json.decode(t.read(folder .. "/expected.json")))
  local names <const> = {}
  for name in pairs(expected) do names[#names + 1] = name end
  table.sort(names)
  t.ok(#names > 90, "readings")
  local cache_name, cache
  local count = 0
  for _, name in ipairs(names) do
    local want <const> = expected[name]
    if want.file ~= cache_name then -- in batches of different sizes, and every third file with its pages outside of memory
      count = count + 1
      cache_name, cache = want.file, { read(folder .. "/" .. want.file, count % 2 == 0 and 1000 or nil, count % 3 == 0 and 1 or nil) }
    end
    local got <const>, rows <const> = cache[1], cache[2]
    t.eq(rows, want.rows, name)
    for column, values in pairs(want.columns) do
      if not got[column] then error(("%s: column %s is missing"):format(name, column)) end
      for r = 1, rows do
        if not same(got[column][r], values[r]) then
          t.eq({ got[column][r] }, { values[r] }, ("%s (%s), column %s, row %d"):format(name, want.reader, column, r))
        end
      end
    end
  end
end)

test("parquet: metadata, and the columns that were asked for", function()
  local file <close> = assert(trace.parquet_open(folder .. "/hyp_groups.parquet"))
  local info <const> = file:info()
  t.eq({ info.rows, info.groups, info.metadata }, { 5000, 7, { tool = "neuron-explorer", empty = "" } })
  t.eq(info.fields, { { name = "id", type = "i64", required = false, list = false }, { name = "s", type = "str", required = false, list = false } })
  file:select { true, false }
  local columns <const>, rows <const> = file:read(10)
  t.eq(rows, 10)
  t.eq(columns.id:totable(), { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 })
  t.eq(columns.s.valid:totable()[1], false)
end)

-- Damaged files ------------------------------------------------------------------------------------------------------

-- Read all of a file; returns nil, err at the first failure.
local function walk(path)
  local file <close>, err <const> = trace.parquet_open(path)
  if not file then return nil, err end
  while true do
    local columns <const>, failure <const> = file:read()
    if not columns then return failure == nil, failure end
  end
end

local function one_line(err, path)
  t.ok(not err.message:find("\n"), err.message)
  t.has(err.message, path)
end

test("parquet: a file that is cut off anywhere ends with one line, never with rows", function()
  local bytes <const>, path <const> = t.read(folder .. "/wasm_zstd_v2_dict.parquet"), t.tmpdir() .. "/cut.parquet"
  for _, size in ipairs { 0, 3, 4, 11, 12, 100, #bytes // 2, #bytes - 9, #bytes - 8, #bytes - 5, #bytes - 1 } do
    t.write(path, bytes:sub(1, size))
    local ok <const>, err <const> = walk(path)
    t.eq({ ok, err and err.code }, { nil, "bad_data" }, "cut to " .. size)
    one_line(err, path)
  end
  -- Whole at both ends, but bytes are missing in the middle: the offsets of the footer no longer fit.
  t.write(path, bytes:sub(1, 1000) .. bytes:sub(3001))
  local err <const> = select(2, walk(path))
  t.eq(err.code, "bad_data")
  one_line(err, path)
end)

test("parquet: any byte may be wrong; a message names file, column, page and offset", function()
  local path <const> = t.tmpdir() .. "/wrong.parquet"
  local found = 0
  for _, name in ipairs { "duck_zstd_v2", "hyp_text_DELTA_BYTE_ARRAY", "hyp_list", "wasm_none_v1_dict", "wasm_snappy_v2_plain" } do
    local bytes <const> = t.read(("%s/%s.parquet"):format(folder, name))
    for k = 1, 60 do
      local at <const> = k < 40 and 4 + (#bytes - 4) * k // 41 or 4 + k
      t.write(path, bytes:sub(1, at) .. string.char(bytes:byte(at + 1) ~ (k % 3 == 0 and 255 or 1 << k % 8)) .. bytes:sub(at + 2))
      local ok <const>, err <const> = walk(path)
      if not ok then
        one_line(err, path)
        t.ok(err.code == "bad_data" or err.code == "unsupported" or err.code == "missing", err.code)
        if err.message:find("column [%w_.]+, page %d+ at offset %d+: %w") then found = found + 1 end
      end
    end
  end
  t.ok(found > 80, found .. " failures inside pages")
end)

test("parquet: what is no Parquet file, or not readable", function()
  local dir <const> = t.tmpdir()
  local function fails(path, code, words)
    local ok <const>, err <const> = walk(path)
    t.eq({ ok, err and err.code }, { nil, code }, path)
    t.has(err.message, words)
    one_line(err, path)
  end
  t.write(dir .. "/text", ("hello "):rep(100))
  t.write(dir .. "/ends", "PAR1" .. ("x"):rep(50) .. "\255\255\255\127PAR1")
  t.write(dir .. "/secret", "PAR1" .. ("x"):rep(50) .. "\5\0\0\0PARE")
  t.write(dir .. "/zeros", "PAR1" .. ("\0"):rep(50) .. "\20\0\0\0PAR1")
  fails(dir .. "/text", "bad_data", "it does not begin with PAR1")
  fails(dir .. "/ends", "bad_data", "2147483647 bytes are more than the file has")
  fails(dir .. "/secret", "unsupported", "encrypted")
  fails(dir .. "/zeros", "bad_data", "it has no schema")
  fails(dir .. "/none", "not_found", "No such file")
  fails(dir, "io", "this is a folder")
  fails("/dev/null", "io", "no regular file")
end)

test("parquet: a library that is not here is named, with the package that has it", function()
  local host <const> = arg[-1] or "build/nkiln-lua"
  local script <const> = t.tmpdir() .. "/try.lua"
  t.write(script, ([[
    local trace = require "rt.trace"
    for _, codec in ipairs { "zstd", "snappy", "gzip", "brotli", "lz4_raw", "uncompressed" } do
      local ok, err = trace.parquet_open(%q .. "/duck_" .. codec .. "_v1.parquet"):read()
      print(codec, ok and "read" or err.code .. " " .. err.message)
    end]]):format(folder))
  local code <const>, out <const> = t.sh("NKILN_WITHOUT=zstd,snappy,gzip,brotli,lz4_raw " .. t.quote(host) .. " " .. t.quote(script))
  t.eq(code, 0)
  for codec, package in pairs { zstd = "libzstd1", snappy = "libsnappy1v5", gzip = "zlib1g", brotli = "libbrotli1", lz4_raw = "liblz4%-1" } do
    t.match(out, codec .. "\tmissing [^\n]+duck_" .. codec .. "_v1.parquet: column id is compressed by " .. codec .. "[^\n]+apt%-get install " .. package)
  end
  t.has(out, "uncompressed\tread")
end)
