-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local json <const> = require "rt.json"

local function refused(text, line, column, words)
  local value <const>, err <const> = json.decode(text)
  t.eq(value, nil, text)
  t.eq({ err.code, err.line, err.column }, { "json", line, column }, text)
  t.has(err.message, words, text)
end

t.test("numbers keep their kind and their value", function()
  for text, value in pairs {
    ["0"] = 0, ["-1"] = -1, ["9223372036854775807"] = math.maxinteger, ["-9223372036854775808"] = math.mininteger,
    ["9007199254740993"] = 9007199254740993, ["1.0"] = 1.0, ["1e2"] = 100.0, ["0.1"] = 0.1, ["5e-324"] = 5e-324,
    ["1.7976931348623157e308"] = 1.7976931348623157e308, ["0.000001"] = 1e-6, ["1E+2"] = 100.0,
    [("1"):rep(400) .. ".0e-399"] = 1.1111111111111112,
  } do
    t.eq(json.decode(text), value, text)
    t.eq(json.decode(json.encode(value)), value, text)
  end
  t.eq(1 / json.decode("-0"), -math.huge, "minus zero keeps its sign")
  t.eq(json.encode(-0.0), "-0.0")
  t.eq(json.encode(3), "3")
  t.eq(json.encode(3.0), "3.0")
  t.eq(json.encode(0.1), "0.1")
  t.eq(json.encode(1 / 3), "0.3333333333333333")
  t.eq(json.encode(1e21), "1e+21")
  t.eq(json.encode(math.mininteger), "-9223372036854775808")
end)

t.test("every float reads back the same", function()
  local seed = 12345
  for _ = 1, 20000 do
    seed = seed * 6364136223846793005 + 1442695040888963407
    local value <const> = string.unpack("d", string.pack("i8", seed ~ (seed >> 29)))
    if value == value and value - value == 0 then
      if json.decode(json.encode(value)) ~= value then t.eq(json.decode(json.encode(value)), value) end
    end
  end
end)

t.test("an integer outside 64 bits keeps its digits", function()
  local big <const> = json.decode('{"id":18446744073709551616,"n":-9223372036854775809}')
  t.eq(tostring(big.id), "18446744073709551616")
  t.eq(big.id == json.number("18446744073709551616"), true)
  t.eq(json.encode(big), '{"id":18446744073709551616,"n":-9223372036854775809}')
  t.raises(function() json.number("0x10") end, "not a JSON number")
  t.raises(function() json.number("1 2") end, "not a JSON number")
end)

t.test("strings: escapes, surrogate pairs, NUL, control characters", function()
  t.eq(json.decode [["\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00\u0000x"]], "\"\\/\b\f\n\r\tAé€😀\0x")
  t.eq(json.decode '"\127é€😀"', "\127é€😀")
  t.eq(json.encode("\"\\/\b\f\n\r\t\0\1\127é😀"), [["\"\\/\b\f\n\r\t\u0000\u0001\u007fé😀"]])
  local all <const> = {}
  for code = 0, 0x10FFFF, 37 do
    if code < 0xD800 or code > 0xDFFF then all[#all + 1] = utf8.char(code) end
  end
  local text <const> = table.concat(all)
  t.ok(json.decode(json.encode(text)) == text)
end)

t.test("empty arrays and objects stay what they were", function()
  local value <const> = json.decode '{"a":[],"b":{},"c":[[],{}],"d":null}'
  t.eq(json.is_array(value.a), true)
  t.eq(json.is_array(value.b), false)
  t.eq(value.d == json.null, true)
  t.eq(json.encode(value), '{"a":[],"b":{},"c":[[],{}],"d":null}')
  t.eq(json.encode {}, "{}")
  t.eq(json.encode(json.array {}), "[]")
  t.eq(json.encode(json.array()), "[]")
  t.eq(json.encode(json.object {}), "{}")
  t.eq(json.encode { required = json.array {}, list = { 1, 2 } }, '{"list":[1,2],"required":[]}')
end)

t.test("keys are sorted, or stay in the order they were read", function()
  t.eq(json.encode { b = 1, a = 2, ["a b"] = 3, B = 4, ab = 5 }, '{"B":4,"a":2,"a b":3,"ab":5,"b":1}')
  local text <const> = '{"z":1,"a":{"y":1,"b":2},"m":[{"q":1,"c":2}]}'
  local value <const> = json.decode(text, { ordered = true })
  t.eq(json.encode(value), text)
  value.new, value.z = true, nil
  value.added = 1
  t.eq(json.encode(value), '{"a":{"y":1,"b":2},"m":[{"q":1,"c":2}],"added":1,"new":true}')
  t.eq(json.encode(json.object({ b = 1, a = 2, c = 3 }, { "c", "b" })), '{"c":3,"b":1,"a":2}')
end)

t.test("indentation", function()
  t.eq(json.encode({ a = { 1, { b = json.array {} } }, c = {} }, { indent = 2 }),
    '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}')
  t.eq(json.encode({ 1 }, { indent = 4 }), "[\n    1\n]")
  t.eq(json.encode({ 1 }, { indent = 0 }), "[1]")
end)

t.test("malformed text is refused with its position", function()
  refused("", 1, 1, "no value")
  refused("  \n ", 2, 2, "no value")
  refused("[1,2", 1, 5, "array is never closed")
  refused('{"a":1', 1, 7, "object is never closed")
  refused('{"a":1,}', 1, 8, "comma before the end")
  refused("[1,]", 1, 4, "comma before the end")
  refused('{"a" 1}', 1, 6, "expected ':'")
  refused("{a:1}", 1, 2, "key in double quotes")
  refused("['a']", 1, 2, "double quotes")
  refused("[1 2]", 1, 4, "expected ','")
  refused("[1] x", 1, 5, "follows the end")
  refused("[1]\0", 1, 4, "follows the end")
  refused("[\n  1,\n  é]", 3, 3, "expected a value")
  refused('["é", x]', 1, 7, "expected a value")
  refused("tru", 1, 1, "expected a value")
  refused("[NaN]", 1, 2, "no NaN")
  refused("-Infinity", 1, 1, "digit after its sign")
  for _, number in ipairs { "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x10", "-01", "1.e5" } do t.eq(json.decode(number), nil, number) end
  refused("1e999", 1, 1, "too large for a float")
  refused('"abc', 1, 1, "never closed")
  refused('"abc\\', 1, 1, "never closed")
  refused('["a\nb"]', 1, 4, "line ends inside a string")
  refused('"a\tb"', 1, 3, "must be escaped")
  refused('"\\x41"', 1, 2, "unknown escape")
  refused('"\\u12g4"', 1, 2, "four hexadecimal")
  refused('"\\ud800"', 1, 2, "high surrogate")
  refused('"\\udc00"', 1, 2, "low surrogate")
  refused('"\\ud800\\u0041"', 1, 2, "high surrogate")
  refused('{"a":1,\n "a":2}', 2, 2, "twice")
  refused("\xEF\xBB\xBFx", 1, 1, "expected a value")
  t.eq(json.decode("\xEF\xBB\xBF[1]"), { 1 })
end)

t.test("text that is not UTF-8 is refused both ways", function()
  for _, bytes in ipairs {
    "\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xFF",
  } do
    refused('["' .. bytes .. '"]', 1, 3, "UTF-8")
    t.raises(function() json.encode { a = { bytes } } end, "not UTF%-8 %(at value%.a%[1%]%)")
    t.raises(function() json.encode { [bytes] = 1 } end, "key that is not UTF%-8")
    local replaced <const>, count <const> = json.encode(bytes .. "x", { utf8 = "replace" }):gsub("\u{FFFD}", "")
    t.eq({ replaced, count > 0 }, { '"x"', true })
  end
end)

t.test("duplicate keys follow the policy asked for", function()
  t.eq(json.decode('{"a":1,"b":2,"a":[3]}', { duplicates = "last" }), { a = { 3 }, b = 2 })
  t.eq(json.decode('{"a":1,"b":2,"a":[3]}', { duplicates = "first" }), { a = 1, b = 2 })
  t.raises(function() json.decode("1", { duplicates = "some" }) end, "invalid option")
end)

t.test("depth is limited, and 10,000 brackets are one clear error", function()
  local function nested(n) return ("["):rep(n) .. ("]"):rep(n) end
  t.ok(json.decode(nested(512)))
  refused(nested(513), 1, 513, "nested too deeply")
  refused(("["):rep(10000), 1, 513, "nested too deeply")
  refused(('{"a":'):rep(10000), 1, 512 * 5 + 1, "nested too deeply")
  t.eq(select(2, json.decode("[[1]]", { depth = 1 })).column, 2)
end)

t.test("what JSON cannot hold raises and names the place", function()
  local loop <const> = {}
  loop.x = { loop }
  t.raises(function() json.encode(loop) end, "contains itself %(at value%.x%[1%]%)")
  t.raises(function() json.encode { a = { 1, 0 / 0 } } end, "NaN %(at value%.a%[2%]%)")
  t.raises(function() json.encode { a = -math.huge } end, "%-Infinity %(at value%.a%)")
  t.raises(function() json.encode { 1, nil, 3 } end, "holes %(at value%)")
  t.raises(function() json.encode { 1, x = 2 } end, "both a list and named keys")
  t.raises(function() json.encode { [1.5] = 2 } end, "number as a key")
  t.raises(function() json.encode { ["a b"] = { print } } end, 'function %(at value%["a b"%]%[1%]%)')
  t.raises(function() json.encode(nil) end, "json.null")
  t.raises(function() json.encode() end, "bad argument")
  t.raises(function() json.encode(json.array { x = 1 }) end, "both a list")
  local deep = {}
  for _ = 1, 600 do deep = { deep } end
  t.raises(function() json.encode(deep) end, "nested more than")
  t.eq(json.encode({ 0 / 0, math.huge }, { nonfinite = "null" }), "[null,null]")
  t.eq(json.encode({ 0 / 0, -math.huge }, { nonfinite = "string" }), '["NaN","-Infinity"]')
  local shared <const> = { 1 }
  t.eq(json.encode { shared, shared }, "[[1],[1]]", "the same table twice is not a cycle")
end)

t.test("agrees with cjson where both are exact", function()
  local ok <const>, cjson <const> = pcall(require, "cjson")
  if not ok then t.skip("lua-cjson is not installed") end
  local seed = 7
  local function random(n)
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return (seed >> 8) % n
  end
  local function make(depth)
    local kind <const> = random(depth > 3 and 5 or 7)
    if kind == 0 then return random(2) == 1 end
    if kind == 1 then return random(1000000) / 64 end
    if kind == 2 then return random(100000) - 50000 end
    if kind == 3 then return ("k%dé\n\"\\"):format(random(100)) end
    if kind == 4 then return json.null end
    local value <const> = {}
    if kind == 5 then
      for i = 1, 1 + random(4) do value[i] = make(depth + 1) end
    else
      for _ = 1, 1 + random(4) do value["k" .. random(50)] = make(depth + 1) end
    end
    return value
  end
  local function plain(value) -- cjson knows floats only
    if math.type(value) == "integer" then return value + 0.0 end
    if type(value) ~= "table" then return value end
    local copy <const> = {}
    for k, v in pairs(value) do copy[k] = plain(v) end
    return copy
  end
  for _ = 1, 500 do
    local value <const> = make(0)
    local wrapped <const> = { value }
    t.eq(cjson.decode(json.encode(wrapped)), plain(wrapped))
    t.eq(plain(json.decode(cjson.encode(wrapped))), plain(wrapped))
  end
  t.eq(cjson.null == json.null, true)
end)
