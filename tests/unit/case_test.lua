-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local case <const> = require "nki.case"

local function fails(text, column, message, accepted)
  local parsed <const>, err <const> = case.parse(text)
  t.eq(parsed, nil, text)
  t.eq(err.code, "bad-case")
  t.eq(err.column, column, text .. ": column")
  t.has(err.message, message)
  if accepted then t.has(err.accepted, accepted) end
  t.has(case.render(err), "^")
  return err
end

t.test("every kind of value", function()
  local parsed <const> = case.parse('x=bfloat16[256,1024], scale=0.125, y=@y.npy, flag=true, name="s", t=(1,2), n=None, d=nl.int8, e=f16')
  local kinds <const> = {}
  for i, arg in ipairs(parsed.args) do kinds[i] = arg.name .. ":" .. arg.kind end
  t.eq(kinds, { "x:tensor", "scale:value", "y:file", "flag:value", "name:value", "t:value", "n:value", "d:dtype", "e:dtype" })
  t.eq(parsed.args[1].dtype, "bfloat16")
  t.eq(parsed.args[1].shape, { 256, 1024 })
  t.eq(parsed.args[2].value, 0.125)
  t.eq(parsed.args[3].path, "y.npy")
  t.eq(parsed.args[4].value, true)
  t.eq(parsed.args[5].value, "s")
  t.eq(parsed.args[6].value, { tuple = true, n = 2, 1, 2 })
  t.eq(parsed.args[7].value, case.None)
  t.eq(parsed.args[8].dtype, "int8")
  t.eq(parsed.args[9].dtype, "float16")
end)

t.test("numbers keep their kind", function()
  local parsed <const> = case.parse("a=1,b=-2,c=1.0,d=1e-5,e=inf,f=-inf,g=0x10,h=1_000,i=nan,j=.5,k=1E+3")
  local values <const> = {}
  for i, arg in ipairs(parsed.args) do values[i] = arg.value end
  t.eq(values[1], 1)
  t.eq(values[2], -2)
  t.eq(values[3], 1.0)
  t.eq(values[4], 1e-5)
  t.eq(values[5], math.huge)
  t.eq(values[6], -math.huge)
  t.eq(values[7], 16)
  t.eq(values[8], 1000)
  t.ok(values[9] ~= values[9])
  t.eq(values[10], 0.5)
  t.eq(values[11], 1000.0)
end)

t.test("format gives a text that parses to the same", function()
  local texts <const> = {
    'x=bfloat16[256,1024], scale=0.125, y=@y.npy, flag=True, name="a\\"b", t=(1,(2.5,"c"),)', "", "n=None,  d=float32", 'f=@"a, b.npy"',
  }
  for _, text in ipairs(texts) do
    local once <const> = case.format(assert(case.parse(text)))
    t.eq(case.format(assert(case.parse(once))), once)
  end
end)

t.test("errors point at the character and say what is accepted", function()
  fails("x=bfloat[2]", 3, "did you mean `bfloat16`", "float32")
  fails("x=float64[2]", 3, "NKI has no 64-bit floats")
  fails("x=float32[2", 12, "`,` or `]`", ", or ]")
  fails("x=float32[2x3]", 12, "`,` or `]`")
  fails("x=float32[0]", 11, "at least 1")
  fails("x=float32[]", 11, "a size is expected")
  fails("x=float32[-1]", 11, "a size is expected")
  fails("x=float32[1,2,3,4,5,6,7,8,9]", 10, "at most 8")
  fails("x=float32[9999999999,9999999999]", 10, "larger than any")
  fails("bf16[2]", 5, "needs the parameter's name")
  fails("x", 2, "`=` is expected")
  fails("x=", 3, "a value is expected")
  fails("=1", 1, "a parameter name is expected")
  fails("x=1 y=2", 5, "`,` is expected")
  fails("x=1,x=2", 5, "given twice")
  fails("x=[1,2]", 3, "write a tuple", "(1,2)")
  fails("x={}", 3, "no dictionaries")
  fails("x=foo", 3, "needs quotes")
  fails('x="abc', 3, "no closing")
  fails("x=(1,2", 7, "`,` or `)`")
  fails("x=(1,", 3, "no closing )")
  fails("x=(1 2)", 6, "`,` or `)`")
  fails("x=@", 4, "a file name is expected")
  fails("x=1.2.3", 3, "is not a number")
  fails("x=99999999999999999999", 3, "does not fit 64 bits")
  fails("x=1\0", 4, "no NUL")
  fails(("("):rep(100), 1, "a parameter name")
  fails("x=" .. ("("):rep(100), 19, "nest too deeply")
  fails("x=" .. ("1"):rep(70000), 1, "longer than 64 KiB")
end)

t.test("the caret stands under the fault", function()
  local _, err <const> = case.parse("x=float32[2,b]")
  local lines <const> = {}
  for line in (case.render(err) .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  t.eq(lines[2]:sub(5), "x=float32[2,b]")
  t.eq(lines[3]:find("^", 1, true) - 4, 13)
end)

t.test("bind names what is missing or unknown and shows the signature", function()
  local params <const> = { { name = "x" }, { name = "y" }, { name = "scale", default = true } }
  local bound <const> = case.bind(assert(case.parse("y=f32[1,2],x=f32[1,2]")), params, "kernel")
  t.eq(bound.x.shape, { 1, 2 })
  local none <const>, err <const> = case.bind(assert(case.parse("x=f32[2,2]")), params, "kernel")
  t.eq(none, nil)
  t.eq(err.code, "case-missing-parameter")
  t.has(err.message, "`y`")
  t.has(err.message, "kernel(x, y, scale=...)")
  local _, unknown <const> = case.bind(assert(case.parse("x=f32[2,2],y=f32[2,2],scal=1")), params, "kernel")
  t.eq(unknown.code, "case-unknown-parameter")
  t.eq(unknown.column, 23)
  t.has(unknown.message, "did you mean `scale`")
end)

t.test("bytes of a case", function()
  t.eq(case.bytes(assert(case.parse("x=bfloat16[256,1024],y=float32[2],s=1"))), 256 * 1024 * 2 + 8)
end)
