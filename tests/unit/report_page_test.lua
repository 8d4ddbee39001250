-- SPDX-License-Identifier: MIT
-- The report page: what is packed comes back, small pictures of many items keep their time, a stranger's names stay text.
local t <const> = require "tests.lib"
local charts <const> = require "profile.report.charts"
local html <const> = require "profile.report.html"
local timeline <const> = require "profile.report.timeline"

-- The reader of script.lua, written again: bytes of base64, then four variable-length integers an item.
local function unpack_items(text)
  local alphabet <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  local bits, count = 0, 0
  local bytes <const> = {}
  for c in text:gmatch "[^=]" do
    bits, count = bits << 6 | (alphabet:find(c, 1, true) - 1), count + 6
    if count >= 8 then
      count = count - 8
      bytes[#bytes + 1] = bits >> count & 255
    end
  end
  local at = 1
  local function value()
    local v, shift = 0, 0
    repeat
      local b <const> = bytes[at]
      v, shift, at = v | (b & 127) << shift, shift + 7, at + 1
    until b < 128
    return v
  end
  local out <const>, before = {}, 0
  while at <= #bytes do
    before = before + value()
    out[#out + 1] = { before, value(), value(), value() }
  end
  return out
end

local function track(items)
  local self <const> = { name = "Tensor", engine = "tensor", start = {}, finish = {}, label = {}, line = {} }
  for i, item in ipairs(items) do self.start[i], self.finish[i], self.label[i], self.line[i] = table.unpack(item) end
  return self
end

t.test("report: packed items come back", function()
  for n = 0, 7 do -- every remainder of base64
    local items <const>, want <const> = {}, {}
    local at = 1000
    for i = 1, n do
      at = at + 3 ^ (2 * i) // 1 | 0
      items[i] = { at, at + 20000 * i, i % 300, i * 90 }
      want[i] = { at - 1000, 20000 * i, i % 300, i * 90 }
    end
    t.eq(unpack_items(timeline.pack(track(items), 1000)), want)
  end
end)

t.test("report: shrinking keeps the ends and the order, long items, and says its part", function()
  local items <const> = {}
  for i = 1, 5000 do items[i] = { i * 10, i * 10 + (i % 50 == 0 and 9 or 4), i % 3, i % 7 } end
  items[2500][2] = 28000 -- a long one, then nothing for a while
  for i = 2501, 2800 do items[i][1], items[i][2] = 28000, 28000 end
  local small <const>, part <const> = timeline.shrink({ track(items) }, 100)
  t.ok(#small[1].start <= 103 and part > 0, "still too many: " .. #small[1].start)
  t.eq({ small[1].start[1], small[1].finish[#small[1].finish] }, { 10, 50009 })
  local long = false
  for i = 1, #small[1].start do
    long = long or small[1].start[i] == 25000 and small[1].finish[i] == 28000
    t.ok(i == 1 or small[1].start[i] >= small[1].finish[i - 1] - 9, "items overlap")
  end
  t.ok(long, "the long item is gone")
  local same <const>, none <const> = timeline.shrink({ track(items) }, 5000)
  t.eq({ #same[1].start, none }, { 5000, nil })
end)

t.test("report: utilisation of overlapping and neighbouring items", function()
  t.eq(timeline.utilisation({ track { { 0, 50, 0, 0 }, { 25, 75, 0, 0 } } }, 0, 100, 4), { 1.0, 1.0, 1.0, 0 })
  t.eq(timeline.utilisation({ track { { 0, 25, 0, 0 } }, track { { 0, 100, 0, 0 } } }, 0, 100, 2), { 0.75, 0.5 })
  t.eq(timeline.utilisation({ track { { 5, 5, 0, 0 } } }, 5, 5, 2), { 0, 0 })
end)

t.test("report: names of a stranger stay text", function()
  t.eq(html.escape [[<script>alert("x")</script>&'\n]], "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;\\n")
  t.eq(html.escape "a\0b\27[31m\xff", "a?b?[31m?")
  t.has(charts.bars({ { name = "<b>", ns = 5 } }, 10), "&lt;b&gt;")
end)

t.test("report: figures for people", function()
  t.eq({ html.duration(0), html.duration(999), html.duration(1234.5), html.duration(8602e3), html.duration(2.5e9) },
    { "0 ns", "999 ns", "1.23 µs", "8.60 ms", "2.50 s" })
  t.eq({ html.bytes(0), html.bytes(999), html.bytes(1207697408), html.bytes(12e15) }, { "0 B", "999 B", "1.21 GB", "12000 TB" })
  t.eq({ html.percent(0.919), html.percent(0.015), html.count(1234567) }, { "92 %", "1.5 %", "1 234 567" })
end)
