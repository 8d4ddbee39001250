-- SPDX-License-Identifier: MIT
-- .npy files: ours as NumPy reads them, NumPy's as we read them, and files that are no such thing.

local t <const> = require "tests.lib"
local array <const> = require "rt.array"

local PYTHON <const> = "/usr/bin/python3"
local numpy_code <const> = { float64 = "<f8", float32 = "<f4", float16 = "<f2", int8 = "|i1", int16 = "<i2", int32 = "<i4",
  int64 = "<i8", uint8 = "|u1", uint16 = "<u2", uint32 = "<u4", bool = "|b1", bfloat16 = "|V2", tfloat32 = "<f4",
  float8_e4m3 = "|V1", float8_e4m3fn = "|V1", float8_e5m2 = "|V1" }

t.test("files written here are NumPy's, and NumPy's are read", function()
  if not os.execute(PYTHON .. " -c 'import numpy' 2>/dev/null") then t.skip("no NumPy") end
  local folder <const> = t.tmpdir()
  local ours <const> = {}
  for dtype in pairs(numpy_code) do
    local base <const> = array.random{ dtype = dtype, shape = { 4, 6 }, seed = 3, scale = 10 }
    local views <const> = { c = base, t = base:transpose(), s = base:slice(1, nil, nil, -2), z = base:slice(0, 0, 0), one = base:select(0, 1):select(0, 2) }
    for name, a in pairs(views) do
      local file <const> = ("ours_%s_%s.npy"):format(dtype, name)
      t.write(folder .. "/" .. file, array.write_npy(a))
      ours[file] = a
    end
  end
  local code <const>, _, err <const> = t.sh(PYTHON .. " tests/oracle/array_npy.py " .. folder)
  t.eq(code, 0, err)
  local report <const> = dofile(folder .. "/report.lua")
  local count = 0
  for file, a in pairs(ours) do
    local seen <const> = report.ours[file]
    t.eq(seen.dtype, numpy_code[a.dtype], file)
    t.eq(seen.shape, a.shape, file)
    t.ok(t.read(seen.raw) == a:bytes(), file .. ": elements differ")
    local back <const> = array.read_npy(t.read(folder .. "/" .. file), a.dtype)
    t.ok(back, file)
    t.eq(back.shape, a.shape, file)
    t.ok(back:bytes() == a:bytes(), file .. ": read back differently")
    count = count + 1
  end
  t.eq(count, 80)
  for _, case in ipairs(report.theirs) do
    local a <const>, problem <const> = array.read_npy(t.read(case.file), case.hint)
    if case.message then
      t.eq(a, nil, case.file)
      t.eq(problem.code, "bad-file")
      t.has(problem.message, case.message, case.file)
    else
      t.ok(a, case.file .. ": " .. tostring(problem and problem.message))
      t.eq(a.dtype, case.dtype, case.file)
      t.eq(a.shape, case.shape, case.file)
      t.ok(a:bytes() == t.read(case.raw), case.file .. ": elements differ")
    end
  end
end)

t.test("a file comes in pieces too, the same bytes", function()
  local big <const> = array.random{ dtype = "float32", shape = { 3, 1 << 18 }, seed = 4 } -- three pieces of 1 MiB
  local cases <const> = {
    big, big:slice(1, 0, (1 << 18) - 1), big:transpose(), big:slice(0, 0, 0), array.from("int8", {}, { 5 }), array.new("bfloat16", { 7, 3 }),
  }
  for i, a in ipairs(cases) do
    local pieces <const> = {}
    for piece in array.npy_pieces(a) do pieces[#pieces + 1] = piece end
    t.ok(table.concat(pieces) == array.write_npy(a), "case " .. i)
    if i == 1 then t.eq(#pieces, 4) end
  end
  local gone <const> = array.new("float32", { 4 })
  local next_piece <const> = array.npy_pieces(gone)
  gone:close()
  t.eq(#next_piece() + #next_piece(), #array.write_npy(array.new("float32", { 4 })))
  t.eq(next_piece(), nil)
  t.eq(next_piece(), nil)
end)

local function file(header, data, version)
  version = version or 1
  local length <const> = version == 1 and string.pack("<I2", #header) or string.pack("<I4", #header)
  return "\x93NUMPY" .. string.char(version, 0) .. length .. header .. (data or "")
end

t.test("malformed files give one line each", function()
  local whole <const> = array.write_npy(array.random{ dtype = "float32", shape = { 3, 5 }, seed = 1 })
  for length = 0, #whole - 1 do
    local a <const>, err <const> = array.read_npy(whole:sub(1, length))
    t.eq(a, nil)
    t.eq(err.code, "bad-file")
    t.ok(not err.message:find("\n"))
  end
  local d <const> = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
  local bad <const> = {
    { file("") , "dictionary" }, { file("{"), "malformed" }, { file("{}"), "lacks" }, { file("[]"), "dictionary" },
    { file(d:format("2, 3")), "truncated" }, { file(d:format("-1,")), "malformed shape" }, { file(d:format("1 2")), "malformed shape" },
    { file(d:format("99999999999999999999,")), "malformed shape" }, { file(d:format("4611686018427387904, 4611686018427387904")), "too large" },
    { file(d:format("4611686018427387904,")), "truncated" }, { file(d:format("4611686018427387904, 0, 4611686018427387904")), "too large" },
    { file("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}"), "fortran_order" },
    { file("{'descr': '<f4', 'shape': (1,)}"), "lacks" }, { file("{'descr': '<f4', 'extra': 1}"), "unexpected" },
    { file("{'descr': '<f4\\n', 'fortran_order': False, 'shape': (1,)}"), "malformed descr" },
    { file("{'descr': '<f44', 'fortran_order': False, 'shape': (1,)}"), "not supported" },
    { file("{'descr': '', 'fortran_order': False, 'shape': (1,)}"), "not supported" },
    { file("{'descr': ('<f4'), 'fortran_order': False, 'shape': (1,)}"), "descr" },
    { file(d:format("1,"), "abcd", 9), "version" }, { "\x93NUMPY\1\0\255\255", "truncated header" }, { "PK\3\4 zip file", "not a" },
    { "", "not a" },
  }
  for i, case in ipairs(bad) do
    local a <const>, err <const> = array.read_npy(case[1])
    t.eq(a, nil, "case " .. i)
    t.has(err.message, case[2], "case " .. i)
  end
  t.eq(array.read_npy(file("{'shape':(2,),\"descr\":'<i2','fortran_order':True}", "\1\0\2\0")):totable(), { 1, 2 })
end)
