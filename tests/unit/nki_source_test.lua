-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local source <const> = require "nki.source"
local nearest <const> = require "nki.nearest"

local function edit(line, column, end_line, end_column, text)
  return { line = line, column = column, end_line = end_line, end_column = end_column, text = text }
end

t.test("lines, offsets and spans", function()
  local s <const> = source.new("k.py", "ab\r\ncde\nf")
  t.eq(s:lines(), 3)
  t.eq(s:line(1), "ab")
  t.eq(s:line(2), "cde")
  t.eq(s:line(3), "f")
  t.eq(s:offset(2, 2), 6)
  t.eq(s:offset(9, 1), #s.text + 1)
  t.eq(s:slice { lineno = 2, col_offset = 1, end_lineno = 2, end_col_offset = 3 }, "de")
end)

t.test("edits apply in any order and keep the order of insertions at one place", function()
  t.eq(source.apply("ab\ncd\n", { edit(2, 1, 2, 3, "X"), edit(1, 1, 1, 1, "1"), edit(1, 1, 1, 1, "2") }), "12ab\nX\n")
  t.eq(source.apply("abc", { edit(1, 1, 1, 1, "x"), edit(1, 1, 1, 2, "y") }), "xybc")
  local none <const>, err <const> = source.apply("abc", { edit(1, 1, 1, 3, "x"), edit(1, 2, 1, 3, "y") })
  t.eq(none, nil)
  t.eq(err.code, "bad-edit")
  t.eq(source.apply("ab\n", { edit(2, 1, 2, 1, "c\n") }), "ab\nc\n")
end)

t.test("what is no kernel file is refused with one clear reason each", function()
  local dir <const> = t.tmpdir()
  local function code(name, bytes)
    t.write(dir .. "/" .. name, bytes)
    local _, err <const> = source.read(dir .. "/" .. name)
    return err and err.code, err
  end
  t.eq(code("empty.py", ""), "file-empty")
  t.eq(code("blank.py", " \n\t\n"), "file-empty")
  t.eq(code("binary.py", "\x7fELF\0\1"), "file-binary")
  local got <const>, err <const> = code("latin.py", "x = 1\ny = '\xe9'\n")
  t.eq(got, "file-not-utf8")
  t.eq(err.line, 2)
  t.eq(err.column, 6)
  t.eq(code("bom.py", "\xEF\xBB\xBFx = 1\n"), nil)
  local _, missing <const> = source.read(dir .. "/missing.py")
  t.eq(missing.code, "file-missing")
  local _, folder <const> = source.read(dir)
  t.eq(folder.code, "file-unreadable")
  os.execute("truncate -s 100M " .. dir .. "/large.py")
  local _, large <const> = source.read(dir .. "/large.py")
  t.eq(large.code, "file-too-large")
end)

t.test("the nearest name", function()
  t.eq(nearest.find("tensor_tenser", { "tensor_copy", "tensor_tensor", "tensor_reduce" }), "tensor_tensor")
  t.eq(nearest.find("operand", { "data", "operand0", "op0" }), "operand0")
  t.eq(nearest.find("TensorCopy", { "tensor_copy", "iota" }), "tensor_copy")
  t.eq(nearest.find("copy", { "tensor_copy", "iota" }), "tensor_copy")
  t.eq(nearest.find("teh", { "the", "toe" }), "the")
  t.eq(nearest.find("zzzz", { "tensor_copy", "iota" }), nil)
  t.eq(nearest.find("x", {}), nil)
end)
