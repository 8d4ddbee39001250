-- SPDX-License-Identifier: MIT
-- The Parquet reader on files put together by hand: rare ones that are right, and wrong ones.
local t <const> = require "tests.lib"
local kit <const> = require "tests.unit.parquet_kit"
local trace <const> = require "rt.trace"

local BOOLEAN <const>, INT32 <const>, INT64 <const>, INT96 <const>, DOUBLE <const>, BYTES <const>, FIXED <const> = 0, 1, 2, 3, 5, 6, 7
local OPTIONAL <const>, REPEATED <const> = 1, 2
local page <const>, hybrid <const>, sized <const> = kit.page, kit.hybrid, kit.sized

-- All values of all columns by name, or nil, err.
local function read(bytes, batch)
  local path <const> = t.tmpdir() .. "/made.parquet"
  t.write(path, bytes)
  local file <close>, err <const> = trace.parquet_open(path)
  if not file then return nil, err end
  local out <const> = {}
  for _, field in ipairs(file:info().fields) do out[field.name] = {} end
  while true do
    local columns <const>, rows <const> = file:read(batch)
    if not columns then
      if rows then return nil, rows end
      return out
    end
    for name, column in pairs(columns) do
      local to <const> = out[name]
      for r = 0, rows - 1 do
        local value
        if type(column) == "userdata" then value = column:at(r)
        elseif column.codes then value = column.values[column.codes:at(r) + 1]
        elseif column.valid:at(r) then value = column[1]:at(r) end
        to[#to + 1] = value == nil and "NULL" or value
      end
    end
  end
end

local function ints(format, values)
  local parts <const> = {}
  for i, v in ipairs(values) do parts[i] = string.pack(format, v) end
  return table.concat(parts)
end

local function fails(bytes, words, code)
  local out <const>, err <const> = read(bytes)
  t.eq({ out, err and err.code }, { nil, code or "bad_data" }, words)
  t.has(err.message, words)
  t.ok(not err.message:find("\n"))
  return err.message
end

t.test("made parquet: checksums are looked at where there are some", function()
  local body <const> = ints("<i4", { 5, 6, 7 })
  t.eq(read(kit.one({ "x", type = INT32 }, 3, { page { values = 3, body = body, crc = kit.crc32(body) } })), { x = { 5, 6, 7 } })
  local err <const> = fails(kit.one({ "x", type = INT32 }, 3, { page { values = 3, body = body, crc = 12345 } }), "its checksum differs")
  t.match(err, "made.parquet: column x, page 0 at offset 4: ")
end)

t.test("made parquet: times, dates, decimals, unsigned integers, as old writers mark them", function()
  local function value(schema, bytes, n) return read(kit.one(schema, n or 2, { page { values = n or 2, body = bytes } })).x end
  t.eq(value({ "x", type = INT96 }, string.pack("<i8i4i8i4i8i4", 1, 2440588, 0, 2461042, 86399999999999, 2440587), 3), { 1, 20454 * 86400000000000, -1 })
  t.eq(value({ "x", type = INT96 }, string.pack("<i8i4", 0, 2147483647), 1), { math.maxinteger })
  t.eq(value({ "x", type = INT32, converted = 7 }, ints("<i4", { 1, 86399999 })), { 1000000, 86399999000000 })
  t.eq(value({ "x", type = INT64, converted = 10 }, ints("<i8", { -1, 7 })), { -1000, 7000 })
  t.eq(value({ "x", type = INT64, converted = 9 }, ints("<i8", { math.maxinteger, math.mininteger })), { math.maxinteger, math.mininteger })
  t.eq(value({ "x", type = INT32, converted = 6 }, ints("<i4", { -719468, 20454, 59, -1 }), 4), { "0000-03-01", "2026-01-01", "1970-03-01", "1969-12-31" })
  t.eq(value({ "x", type = INT64, converted = 14 }, ints("<i8", { -1, 5 })), { 2.0 ^ 64, 5.0 })
  t.eq(value({ "x", type = INT32, converted = 13 }, ints("<i4", { -1, 5 })), { 4294967295, 5 })
  t.eq(value({ "x", type = INT32, converted = 11 }, ints("<i4", { 255, 5 })), { 255, 5 })
  t.eq(value({ "x", type = INT32, converted = 5, scale = 2, precision = 9 }, ints("<i4", { -150, 5 })), { -1.5, 0.05 })
  t.eq(value({ "x", type = INT64, converted = 5, scale = 0, precision = 18 }, ints("<i8", { -150, 1 << 60 })), { -150, 1 << 60 })
  t.eq(value({ "x", type = FIXED, length = 3, converted = 5, scale = 1, precision = 6 }, "\255\255\246\0\1\0"), { -1.0, 25.6 })
  t.eq(value({ "x", type = FIXED, length = 20, converted = 5, scale = 0, precision = 40 }, ("\255"):rep(20) .. "\1" .. ("\0"):rep(19)), { -1.0, 2.0 ^ 152 })
  t.eq(value({ "x", type = FIXED, length = 12, converted = 5, scale = 0, precision = 12 }, ("\0"):rep(11) .. "\7" .. ("\255"):rep(12)), { 7, -1 })
  t.eq(value({ "x", type = BYTES, converted = 5, scale = 2, precision = 30 }, sized("\1\0") .. sized("")), { 2.56, 0.0 })
  t.eq(value({ "x", type = FIXED, length = 2 }, "\1\171\0\0"), { "01ab", "0000" })
  t.eq(value({ "x", type = BOOLEAN }, "\5", 3), { 1, 0, 1 })
end)

t.test("made parquet: dictionary pages give way to plain ones, empty and foreign pages are passed over", function()
  local pages <const> = {
    page { kind = "dictionary", values = 2, body = sized("one") .. sized("two") }, page { kind = "index", body = "whatever" }, page { values = 0, body = "" },
    page { values = 3, encoding = 2, body = sized(hybrid(1, { { 3, 1 } })) .. "\1" .. hybrid(1, { { 2, 1 }, { 1, 0 } }) },
    page { values = 2, encoding = 0, body = sized(hybrid(1, { { 1, 0 }, { 1, 1 } })) .. sized("three") },
    page { kind = "data2", values = 3, nulls = 1, encoding = 8, definition_size = 4,
      body = hybrid(1, { { 1, 0 }, { 2, 1 } }) .. "\1" .. hybrid(1, { { 2, 0 } }) },
  }
  t.eq(read(kit.one({ "x", type = BYTES, repetition = OPTIONAL }, 8, pages), 3), { x = { "two", "two", "one", "NULL", "three", "NULL", "one", "one" } })
end)

t.test("made parquet: rows of lists go on over pages; lists without a wrapper", function()
  local function levels(...) return sized(hybrid(1, { ... })) end
  local pages <const> = {
    page { values = 2, body = levels({ 1, 0 }, { 1, 1 }) .. levels({ 2, 1 }) .. ints("<i4", { 1, 2 }) },
    page { values = 3, body = levels({ 2, 1 }, { 1, 0 }) .. levels({ 2, 1 }, { 1, 0 }) .. ints("<i4", { 3, 4 }) },
    page { values = 1, body = levels({ 1, 0 }) .. levels({ 1, 1 }) .. ints("<i4", { 5 }) },
  }
  local bytes <const> = kit.one({ "x", type = INT32, repetition = REPEATED }, 3, pages, { values = 6 })
  t.eq(read(bytes), { x = { "[1,2,3,4]", "[]", "[5]" } })
  t.eq(read(bytes, 1), { x = { "[1,2,3,4]", "[]", "[5]" } })
  fails(kit.one({ "x", type = INT32, repetition = REPEATED }, 4, pages, { values = 6 }), "fewer rows than its row group")
  fails(kit.one({ "x", type = INT32, repetition = REPEATED }, 2, pages, { values = 6 }), "more rows than its row group")
  local first <const> = page { values = 1, body = levels({ 1, 1 }) .. levels({ 1, 1 }) .. ints("<i4", { 1 }) }
  fails(kit.one({ "x", type = INT32, repetition = REPEATED }, 1, { first }), "goes on with a row that has not begun")
end)

t.test("made parquet: wrong pages", function()
  local x <const> = { "x", type = INT32 }
  local maybe <const> = { "x", type = INT32, repetition = OPTIONAL }
  local text <const> = { "x", type = BYTES }
  local three <const> = ints("<i4", { 1, 2, 3 })
  local function wrong(schema, rows, pages, words, code, more) return fails(kit.one(schema, rows, pages, more), words, code) end
  wrong(x, 3, { page { values = 4, body = three } }, "more values than its column")
  wrong(x, 3, { page { values = 3, body = three:sub(1, 11) } }, "the values end early")
  wrong(x, 3, { page { values = 2, body = three } }, "ends before all values came")
  wrong(x, 3, { page { values = 3, body = three, size = 99 } }, "its two sizes differ")
  wrong(x, 3, { page { values = 3, body = three, stored = 99 } }, "longer than its column")
  wrong(x, 3, { page { values = 3, body = three, stored = -1 } }, "its header is incomplete")
  wrong(x, 3, { page { values = -3, body = three } }, "its header is incomplete")
  wrong(x, 3, { page { values = 3, body = three, encoding = 2 } }, "it uses a dictionary, but there is none")
  wrong(x, 3, { page { values = 3, body = three, encoding = 77 } }, "encoding that is not supported", "unsupported")
  wrong(x, 3, { page { values = 3, body = three, encoding = 6 } }, "not one for its type")
  wrong(maybe, 3, { page { values = 3, body = three, level_encoding = 4 } }, "its levels have an encoding that is not supported")
  wrong(maybe, 3, { page { values = 3, body = string.pack("<I4", 5000) .. three } }, "its levels are longer than the page")
  wrong(maybe, 3, { page { kind = "data2", values = 3, body = three, definition_size = 13 } }, "its levels are longer than the page")
  wrong(maybe, 3, { page { values = 3, body = sized("") .. three } }, "the values end early")
  local dictionary <const> = page { kind = "dictionary", values = 2, body = ints("<i4", { 7, 8 }) }
  wrong(x, 3, { dictionary, page { values = 3, encoding = 8, body = "\2" .. hybrid(2, { { 3, 2 } }) } }, "a code is not in its dictionary")
  wrong(x, 3, { dictionary, page { values = 3, encoding = 8, body = "\2" .. hybrid(2, { { 3, 77 } }) } }, "larger than its width allows")
  wrong(x, 3, { dictionary, page { values = 3, encoding = 8, body = "\33" .. hybrid(32, { { 3, 1 } }) } }, "the width of its codes")
  wrong(x, 3, { dictionary, dictionary }, "a second dictionary")
  wrong(x, 3, { page { kind = "dictionary", values = 2000000000, body = ints("<i4", { 7, 8 }) } }, "the values end early")
  wrong(text, 1, { page { values = 1, body = string.pack("<I4", 4000000000) .. "abc" } }, "a text is longer than its page")
  wrong(x, 3, { page { values = 3, body = three } }, "lies outside of the file", nil, { start = 1 << 40 })
  wrong(x, 3, { page { values = 3, body = three } }, "lies outside of the file", nil, { size = 1 << 62 })
  wrong(x, 3, { page { values = 3, body = three } }, "has 4 values for 3 rows", nil, { values = 4 })
  wrong(x, 3, { page { values = 3, body = three } }, "has type 2 in row group 0, 1 in the schema", nil, { type = INT64 })
  wrong(x, 3, { page { values = 3, body = three } }, "in other files", "unsupported", { path = "other.parquet" })
  wrong(x, 3, { page { values = 3, body = three } }, "encrypted", "unsupported", { secret = true })
  wrong(x, 3, { page { values = 3, body = three } }, "compressed by lzo", "unsupported", { codec = 3 })
  wrong(x, 3, { page { values = 3, body = three } }, "an unknown codec (number 127)", "unsupported", { codec = 900 })
  for codec, name in pairs { [1] = "snappy", [2] = "gzip", [4] = "brotli", [5] = "lz4", [6] = "zstd", [7] = "lz4" } do
    wrong(x, 3, { page { values = 3, body = ("\255garbage"):rep(9), size = 12 } }, "its " .. name .. " data is damaged", nil, { codec = codec })
  end
end)

t.test("made parquet: wrong delta blocks", function()
  local v <const>, z <const> = kit.varint, kit.zigzag
  local function wrong(body, words, encoding, schema)
    return fails(kit.one(schema or { "x", type = INT64 }, 3, { page { values = 3, body = body, encoding = encoding or 5 } }), words)
  end
  t.eq(read(kit.one({ "x", type = INT64 }, 3, {
    page { values = 3, encoding = 5, body = v(128) .. v(4) .. v(3) .. z(10) .. z(-2) .. "\0\0\0\0" } })), { x = { 10, 8, 6 } })
  local wide <const> = v(128) .. v(4) .. v(3) .. z(math.mininteger) .. z(0) .. "\64\0\0\0" .. ints("<i8", { -1, math.mininteger }) .. ("\0"):rep(30 * 8)
  t.eq(read(kit.one({ "x", type = INT64 }, 3, { page { values = 3, encoding = 5, body = wide } })), { x = { math.mininteger, math.maxinteger, -1 } })
  local short <const> = v(128) .. v(4) .. v(3) .. z(10) .. z(0) .. "\8\0\0\0"
  t.eq(read(kit.one({ "x", type = INT64 }, 3, { page { values = 3, encoding = 5, body = short .. "\1\2" } })), { x = { 10, 11, 13 } })
  wrong(short .. "\1", "the values end early")
  wrong(v(128) .. v(4) .. v(3) .. z(10), "the values end early")
  wrong(v(128) .. v(4) .. v(4) .. z(10) .. z(-2) .. "\0\0\0\0", "more values than rows")
  wrong(v(128) .. v(4) .. v(2) .. z(10) .. z(-2) .. "\0\0\0\0", "fewer values than rows")
  wrong(v(128) .. v(4) .. v(3) .. z(10) .. z(-2) .. "\65\0\0\0" .. ("\0"):rep(300), "a width of its delta blocks")
  wrong(v(0) .. v(4) .. v(3) .. z(10), "the sizes of its delta blocks")
  wrong(v(128) .. v(0) .. v(3) .. z(10), "the sizes of its delta blocks")
  wrong(v(1 << 40) .. v(4) .. v(3) .. z(10), "the sizes of its delta blocks")
  wrong(("\255"):rep(30), "the values end early")
  local three <const> = v(128) .. v(4) .. v(3)
  local function numbers(a, step) return three .. z(a) .. z(step) .. "\0\0\0\0" end
  local text <const> = { "x", type = BYTES }
  t.eq(read(kit.one(text, 3, { page { values = 3, encoding = 7, body = numbers(0, 1) .. numbers(2, 0) .. "abcdef" } })), { x = { "ab", "acd", "acef" } })
  wrong(numbers(1, 1) .. numbers(2, 0) .. "abcdef", "begins with more than the text before it", 7, text)
  wrong(numbers(0, 0) .. numbers(2, 0) .. "abcde", "longer than its page", 7, text)
  wrong(numbers(0, -1) .. numbers(2, 0) .. "abcdef", "begins with more than the text before it", 7, text)
  wrong(numbers(5, -3) .. "abcdefghij", "longer than its page", 6, text)
end)

t.test("made parquet: texts too large for one batch, with NULLs between and in lists", function()
  local values <const> = 3000 -- of 3000 bytes each: the same beginning, then five digits
  local head <const>, tails <const>, prefixes <const>, lengths <const> = ("h"):rep(2995), {}, { 0 }, { 3000 }
  for i = 1, values do
    tails[i] = ("%05d"):format(i)
    if i > 1 then prefixes[i], lengths[i] = 2995, 5 end
  end
  local body <const> = kit.delta(prefixes) .. kit.delta(lengths) .. head .. table.concat(tails)
  local levels <const> = {}
  for i = 1, values do
    levels[#levels + 1] = { 1, 1 }
    if i < 50 or i * i % 11 == 3 then levels[#levels + 1] = { 1, 0 } end
  end
  local rows <const> = #levels
  local schema <const> = { "x", type = BYTES, repetition = OPTIONAL }
  local got <const> = assert(read(kit.one(schema, rows, { page { values = rows, encoding = 7, body = sized(hybrid(1, levels)) .. body } }), 500)).x
  local at = 0
  for r, level in ipairs(levels) do
    if level[2] == 1 then at = at + 1 end
    t.ok(got[r] == (level[2] == 1 and head .. tails[at] or "NULL"), "row " .. r)
  end
  -- The same as lists of two.
  local repetition <const>, definition <const> = {}, { { values, 1 } }
  for i = 1, values do repetition[i] = { 1, (i - 1) % 2 } end
  schema.repetition = REPEATED
  local lists <const> = assert(read(kit.one(schema, values // 2, {
    page { values = values, encoding = 7, body = sized(hybrid(1, repetition)) .. sized(hybrid(1, definition)) .. body },
  }, { values = values }), 400)).x
  for r = 1, values // 2 do t.ok(lists[r] == ('["%s%s","%s%s"]'):format(head, tails[2 * r - 1], head, tails[2 * r]), "list " .. r) end
end)

t.test("made parquet: more rows of lists in a page than are decoded at a time", function()
  local rows <const>, numbers <const> = 9000, {}
  for r = 1, rows do numbers[r] = 5 + 3 * (r - 1) end
  local body <const> = sized(hybrid(1, { { rows, 0 } })) .. sized(hybrid(1, { { rows, 1 } })) .. kit.delta(numbers)
  local got <const> = read(kit.one({ "x", type = INT32, repetition = REPEATED }, rows, { page { values = rows, encoding = 5, body = body } })).x
  t.eq(#got, rows)
  for r = 1, rows do t.ok(got[r] == ("[%d]"):format(numbers[r]), "row " .. r) end
end)

t.test("made parquet: a page larger than the memory it is given lies outside of it", function()
  if os.getenv("NKILN_SANITIZED") then t.skip("memory is not the program's own here") end
  local host <const>, dir <const> = arg[-1] or "build/nkiln-lua", t.tmpdir()
  local rows <const> = 2 << 20
  t.write(dir .. "/large.parquet", kit.one({ "x", type = INT64 }, rows, { page { values = rows, body = ("\5\0\0\0\0\0\0\0"):rep(rows) } }))
  t.write(dir .. "/peak.lua", ([[
    local file = assert(require("rt.trace").parquet_open(%q, "/tmp", tonumber(arg[1])))
    local columns = assert(file:read(5000))
    assert(columns.x:at(4999) == 5)
    for line in io.lines("/proc/self/status") do
      local kb = line:match("RssAnon:%%s*(%%d+)")
      if kb then print(kb) end
    end
    assert(file:skim() == %d - 5000)]]):format(dir .. "/large.parquet", rows))
  local function kilobytes(memory)
    local code <const>, out <const> = t.sh(("%s %s %d"):format(t.quote(host), t.quote(dir .. "/peak.lua"), memory))
    t.eq(code, 0)
    return tonumber(out)
  end
  local inside <const>, outside <const> = kilobytes(64 << 20), kilobytes(1 << 20)
  t.ok(inside - outside > 12000, ("%d kB inside, %d kB outside"):format(inside, outside))
end)

t.test("made parquet: wrong footers", function()
  local column <const> = { type = INT32, pages = { page { values = 1, body = "\1\0\0\0" } } }
  local function file(more)
    local f <const> = { schema = { { "x", type = INT32 } }, groups = { { rows = 1, columns = { column } } } }
    for k, v in pairs(more) do f[k] = v end
    return kit.file(f)
  end
  t.eq(read(file {}), { x = { 1 } })
  fails(file { rows = 2 }, "speaks of 2 rows, its row groups of 1")
  local endless <const> = { type = INT32, values = 1 << 33, pages = { page { values = 1, body = "\1\0\0\0" } } }
  fails(file { groups = { { rows = 1 << 33, columns = { endless } } } }, "8589934592 rows are more than are read", "unsupported")
  fails(file { children = 5 }, "its schema ends early")
  fails(file { children = -1, schema = {} }, "another number of columns")
  fails(file { schema = { { "x", type = INT32, repetition = 9 } } }, "a repetition that is unknown")
  fails(file { schema = { { "x", type = 12 } } }, "a type that is unknown")
  fails(file { schema = { { "x\0y", type = INT32 } } }, "a NUL byte")
  fails(file { schema = { { ("x"):rep(5000), type = INT32 } } }, "too long")
  fails(file { schema = { { "x", type = INT32 }, { "y", type = INT32 } } }, "another number of columns")
  fails(file { schema = { { "x", type = FIXED, length = -5 } } }, "the size of a fixed column")
  local negative <const> = { { rows = -1, columns = { { type = INT32, values = 1, pages = column.pages } } } }
  fails(file { groups = negative, rows = -1 }, "a number of rows is negative")
  fails(file { more = { [8] = kit.struct {} } }, "encrypted", "unsupported")
  fails(file { more = { [4] = kit.list(12, {}), [2] = kit.text("no list") } }, "another type than expected")
  local deep <const> = {}
  for i = 1, 40 do deep[i] = { "g" .. i, children = 1, repetition = OPTIONAL } end
  deep[41] = { "x", type = INT32 }
  fails(file { schema = deep, children = 1 }, "nested more than 32 deep", "unsupported")
  t.eq(read(file { schema = { { "a\nb", type = INT32 } } }), { ["a\nb"] = { 1 } })
  local wrong <const> = kit.one({ "a\nb", type = DOUBLE }, 1, { page { values = 1, body = "1234567" } })
  t.has(fails(wrong, "the values end early"), "column a?b, page 0")
end)
