-- SPDX-License-Identifier: MIT
-- The Python parser against CPython's ast and compiler, and on input nobody should write.

local t <const> = require "tests.lib"
local python <const> = require "rt.python"
local oracle <const> = require "tests.oracle.python"
local dumper <const> = require "tests.oracle.dump_ast"
local mutate <const> = require "tests.oracle.mutate"
local snippets <const> = require "tests.oracle.snippets"

local py311 <const> = oracle.find({ os.getenv("NKILN_TEST_PYTHON") or "/usr/bin/python3", "python3.11" }, 11)
local py313 <const> = oracle.find({ os.getenv("NKILN_TEST_PYTHON_313") or "python3.13" }, 13)

local function need(interpreter, version)
  if not interpreter then t.skip("no Python " .. version .. " to compare with") end
  return interpreter
end

-- Compare every record; at most ten differences are shown.
local function compare(records, source_of, options)
  local count, differences <const> = 0, {}
  for name, record in records do
    count = count + 1
    local source <const> = source_of(name)
    local tree <const>, err <const> = python.parse(source, name)
    local difference <const> = oracle.difference(tree, err, record, options.fstring_positions, options.messages)
    if difference and #differences < 10 then
      differences[#differences + 1] = options.files and name .. ": " .. difference or ("%q: %s"):format(source, difference)
    end
  end
  t.eq(table.concat(differences, "\n"), "")
  return count
end

local function compare_files(interpreter, folder)
  local names <const> = oracle.files(folder)
  local count <const> = compare(oracle.over_files(interpreter, names, t.tmpdir()), t.read, { files = true })
  t.eq(count, #names)
  return count
end

local function compare_snippets(interpreter, list, options)
  local flags <const> = options.fstring_positions and "--fstring-positions" or ""
  local records <const> = oracle.over_snippets(interpreter, list, t.tmpdir(), flags)
  t.eq(compare(records, function(name) return list[tonumber(name) + 1] end, options), #list)
end

t.test("the standard library parses to CPython's trees", function()
  need(py311, "3.11")
  t.ok(compare_files(py311, py311.library) > 400)
end)

t.test("public kernels parse to CPython's trees", function()
  need(py311, "3.11")
  local corpus <const> = os.getenv("NKILN_CORPUS") or t.skip("NKILN_CORPUS is not set")
  t.ok(compare_files(py311, corpus) > 0)
end)

t.test("valid snippets parse to CPython's trees", function()
  compare_snippets(need(py311, "3.11"), snippets.valid, { messages = true })
end)

t.test("malformed snippets are refused at CPython's line with its words", function()
  compare_snippets(need(py311, "3.11"), snippets.malformed, { messages = true })
end)

-- Without f-strings, where 3.11 accepts less.
local function mutants(list, count, seed, keep)
  local random <const>, made <const> = mutate.generator(seed), {}
  while #made < count do
    local text <const> = mutate.mutate(list[random(#list)], random)
    if keep(text) then made[#made + 1] = text end
  end
  return made
end

t.test("mutated snippets are accepted and refused as CPython does, at its line", function()
  local list <const> = mutants(snippets.valid, 4000, 20, function(text) return not text:find("[fF][rR]?[\"']") end)
  compare_snippets(need(py311, "3.11"), list, {})
end)

t.test("syntax of 3.12 and 3.13 parses to CPython 3.13's trees, positions in f-strings included", function()
  compare_snippets(need(py313, "3.13"), snippets.modern, { fstring_positions = true })
  local list <const> = mutants(snippets.modern, 1500, 7, function(text)
    -- Where 3.13 reports another line than 3.11, ours follows 3.11.
    return not text:find("def [%w_]*%[") and not text:find("class [%w_]*%[") and not text:find("^type ")
  end)
  compare_snippets(py313, list, { fstring_positions = true })
end)

-- Expected trees, written out; positions are those of CPython 3.13.
local written <const> = {
  { "type X[T: int, *Ts, **P] = T\n",
    '(Module [(TypeAlias (Name "X" Store @1:5-1:6) [(TypeVar "T" (Name "int" Load @1:10-1:13) @1:7-1:13) '
    .. '(TypeVarTuple "Ts" @1:15-1:18) (ParamSpec "P" @1:20-1:23) ] (Name "T" Load @1:27-1:28) @1:0-1:28) ] [] ) ' },
  { "def f[T = int](): pass\n",
    '(Module [(FunctionDef "f" (arguments [] [] ~ [] [] ~ [] ) [(Pass @1:18-1:22) ] [] ~ '
    .. '[(TypeVar "T" (Name "int" Load @1:10-1:13) @1:6-1:13) ] @1:0-1:22) ] [] ) ' },
  { "class A[T]: x\n",
    '(Module [(ClassDef "A" [] [] [(Expr (Name "x" Load @1:12-1:13) @1:12-1:13) ] [] [(TypeVar "T" @1:8-1:9) ] '
    .. '@1:0-1:13) ] [] ) ' },
  { "f'{a['b']}'\n", -- the same quote inside
    '(Module [(Expr (JoinedStr [(FormattedValue (Subscript (Name "a" Load @1:3-1:4) (Constant str:"b" @1:5-1:8) Load '
    .. '@1:3-1:9) -1 ~ @1:2-1:10) ] @1:0-1:11) @1:0-1:11) ] [] ) ' },
  { "f'{x!r:>{w}}{{'\n",
    '(Module [(Expr (JoinedStr [(FormattedValue (Name "x" Load @1:3-1:4) 114 (JoinedStr [(Constant str:">" @1:7-1:8) '
    .. '(FormattedValue (Name "w" Load @1:9-1:10) -1 ~ @1:8-1:11) ] @1:6-1:11) @1:2-1:12) '
    .. '(Constant str:"{" @1:12-1:14) ] @1:0-1:15) @1:0-1:15) ] [] ) ' },
  { "f'{x:{{}}}'\n", -- in a specification braces are not doubled
    '(Module [(Expr (JoinedStr [(FormattedValue (Name "x" Load @1:3-1:4) -1 (JoinedStr [(FormattedValue '
    .. '(Dict [] [] @1:6-1:8) -1 ~ @1:5-1:9) ] @1:4-1:9) @1:2-1:10) ] @1:0-1:11) @1:0-1:11) ] [] ) ' },
  { "f'{x = }'\n",
    '(Module [(Expr (JoinedStr [(Constant str:"x = " @1:3-1:7) (FormattedValue (Name "x" Load @1:3-1:4) 114 ~ '
    .. '@1:2-1:8) ] @1:0-1:9) @1:0-1:9) ] [] ) ' },
  { "f'{f\"{f'{1}'}\"}'\n",
    '(Module [(Expr (JoinedStr [(FormattedValue (JoinedStr [(FormattedValue (JoinedStr [(FormattedValue '
    .. '(Constant int:1 @1:9-1:10) -1 ~ @1:8-1:11) ] @1:6-1:12) -1 ~ @1:5-1:13) ] @1:3-1:14) -1 ~ @1:2-1:15) ] '
    .. '@1:0-1:16) @1:0-1:16) ] [] ) ' },
  { "f'{\n'\\n' # why\n}'\n", -- newline, backslash and comment within a field
    '(Module [(Expr (JoinedStr [(FormattedValue (Constant str:"\\0a" @2:0-2:4) -1 ~ @1:2-3:1) ] @1:0-3:2) @1:0-3:2) ] [] ) ' },
}

t.test("syntax of 3.12 and 3.13 parses to the trees written here", function()
  for _, case in ipairs(written) do
    local tree <const>, err <const> = python.parse(case[1])
    t.ok(tree, err and err.message)
    -- A bound and a default of a type parameter print alike; which one it is shows in the table.
    t.eq(dumper.dump(tree, true), case[2], case[1])
  end
  local generic <const> = python.parse("def f[T = int](): pass\n").body[1].type_params[1]
  t.eq({ generic.bound, generic.default_value.id }, { nil, "int" })
end)

t.test("the shape of a tree", function()
  local tree <const> = python.parse("x = f(a, *b, c=-1, **d)\n")
  local call <const> = tree.body[1].value
  t.eq({ tree.type, #tree.body, #tree.type_ignores }, { "Module", 1, 0 })
  t.eq({ call.type, call.lineno, call.col_offset, call.end_lineno, call.end_col_offset }, { "Call", 1, 4, 1, 23 })
  t.eq({ call.args[2].type, call.args[2].ctx, call.keywords[1].arg, call.keywords[2].arg }, { "Starred", "Load", "c", nil })
  local dict <const> = python.parse("{**a, 1: 2}\n").body[1].value
  t.eq({ dict.keys[1], dict.keys[2].value, #dict.values }, { false, 1, 2 })
  local def <const> = python.parse("def f(*, a, b=1): pass\n").body[1]
  t.eq({ def.args.kw_defaults[1], def.args.kw_defaults[2].value, def.returns }, { false, 1, nil })
  t.eq(python.parse("try: a\nexcept B as c: d\n").body[1].handlers[1].exception.id, "B")
  t.eq(python.parse("a < b is not c\n").body[1].value.ops, { "Lt", "IsNot" })
end)

t.test("the values of constants", function()
  local function value(text)
    local node <const> = python.parse(text .. "\n").body[1].value
    return { node.kind_of, node.value, node.kind }
  end
  t.eq(value("9223372036854775807"), { "int", math.maxinteger })
  t.eq(value("9223372036854775808"), { "bigint", "9223372036854775808" })
  t.eq(value("0x1_0000_0000_0000_0000"), { "bigint", "18446744073709551616" })
  t.eq(value("0o7" .. ("7"):rep(30)), { "bigint", "9903520314283042199192993791" })
  t.eq(value("0b1" .. ("0"):rep(64)), { "bigint", "18446744073709551616" })
  t.eq(value("1_0.5e-1"), { "float", 1.05 })
  t.eq(value("1e999"), { "float", math.huge })
  t.eq(value("2.2250738585072011e-308"), { "float", 2.2250738585072011e-308 })
  t.eq(value("1e3j"), { "complex", 1000.0 })
  t.eq(value("True"), { "bool", true })
  t.eq(value("None"), { "None" })
  t.eq(value("..."), { "ellipsis" })
  t.eq(value("u'a'"), { "str", "a", "u" })
  t.eq(value("b'\\xff\\0'"), { "bytes", "\xff\0" })
  t.eq(value("'\\u20ac\\ud800'"), { "str", "\u{20ac}\xed\xa0\x80" })
  t.eq(value("'\\N{GREEK SMALL LETTER ALPHA}\\N{hangul syllable han}\\N{CJK UNIFIED IDEOGRAPH-4E2D}'"), { "str", "α한中" })
end)

t.test("names are compared in their NFKC form", function()
  local body <const> = python.parse("ﬁ = 𝐱 = e\u{301} = 1\n").body[1].targets
  t.eq({ body[1].id, body[2].id, body[3].id }, { "fi", "x", "é" })
  local function name(text) return python.parse(text .. "\n").body[1].value.id end
  t.eq(name("q\u{307}\u{323}"), "q\u{323}\u{307}", "marks in the order of their classes")
  t.eq(name("a\u{305}\u{301}"), "a\u{305}\u{301}", "a mark of the same class between them blocks")
  t.eq(name("\u{995}\u{9c7}\u{9be}"), "\u{995}\u{9cb}", "two letters that make one")
  t.eq(name("\u{1112}\u{1161}\u{11ab}"), "한")
end)

local function refused(source)
  local tree <const>, err <const> = python.parse(source)
  t.eq(tree, nil, source:sub(1, 40))
  return err
end

t.test("an error says where and shows the line", function()
  t.eq(refused("x = 1\né = $ + 2\n"), {
    code = "syntax", etype = "SyntaxError", message = "invalid syntax", line = 2, column = 5, end_line = 2, end_column = 6,
    text = "é = $ + 2",
  })
  t.eq(refused("if x:\n  y\n z\n").etype, "IndentationError")
  t.eq(refused("if x:\n\ty\n        z\n").etype, "TabError")
end)

t.test("encodings", function()
  t.eq(python.parse("\xEF\xBB\xBFx = 'é'\n").body[1].col_offset, 0)
  t.eq(python.parse("# -*- coding: latin-1 -*-\nx = '\xe9'\n").body[1].value.value, "é")
  t.eq(python.parse("x = 1\r\ny = '''a\r\nb\rc'''\r").body[2].value.value, "a\nb\nc")
  local err = refused("x = 1\n# caf\xe9\n")
  t.eq(err.line, 2)
  t.has(err.message, "'\\xe9' on line 2")
  t.has(err.message, "save the file as UTF-8")
  err = refused("# coding: ebcdic-at-de\n")
  t.has(err.message, "unknown encoding: ebcdic-at-de")
  err = refused("x = 1\ny = \0\n")
  t.eq({ err.line, err.message }, { 2, "source code cannot contain null bytes" })
  for _, bad in ipairs { "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff" } do refused("x = '" .. bad .. "'\n") end
end)

t.test("deep nesting ends in an error, not in a crash", function()
  local deep <const> = 10000
  for _, opening in ipairs { "(", "[", "{", "f(", "a[", "-", "not ", "lambda: ", "x if y else ", "x**", "f'{", "[x for x in ", "{1:", "(lambda: ",
    "with (", "del (", "for (", "match (", "a=", "a." } do
    local err <const> = refused(opening:rep(deep))
    t.ok(err.line == 1 and #err.message > 0, opening)
  end
  t.eq(refused(("("):rep(deep)).message, "too many nested parentheses")
  t.has(refused(("-"):rep(deep) .. "1").message, "recursion depth")
  t.has(refused(("a+"):rep(deep) .. "a").message, "recursion depth")
  local indents <const> = {}
  for i = 1, 150 do indents[i] = (" "):rep(i - 1) .. "if x:" end
  t.eq(refused(table.concat(indents, "\n") .. "\n").message, "too many levels of indentation")
  t.ok(python.parse(("("):rep(200) .. "1" .. (")"):rep(200)))
  t.ok(python.parse("if a: b\n" .. ("elif c: d\n"):rep(2000)))
  t.ok(python.parse(("a+"):rep(3000) .. "a"))
end)

t.test("unterminated strings and brackets name the line where they began", function()
  t.eq(refused("x = 1\ny = '''abc\n\n\n").line, 2)
  t.eq(refused("x = 1\ny = (1,\n2,\n\n").message, "'(' was never closed")
  t.eq(refused("x = 1\ny = (1,\n2,\n\n").line, 2)
  t.eq(refused("x = 'abc\n").message, "unterminated string literal (detected at line 1)")
end)

t.test("a malformed file does not take long to be understood", function()
  -- Each of these makes a parser that tries alternatives again and again take exponential time.
  for _, source in ipairs {
    ("[*"):rep(190) .. "!" .. ("]"):rep(190), ("f(x,"):rep(190) .. " y z" .. (")"):rep(190), ("(*[f("):rep(60) .. "$" .. (")])"):rep(60),
    ("[x for x in ["):rep(90) .. "!" .. ("]]"):rep(90), ("{1:2,"):rep(190) .. "!" .. ("}"):rep(190), ("a "):rep(50000),
    ("(a "):rep(190), ("f'{"):rep(140) .. "!" .. ("}'"):rep(140),
  } do refused(source) end
end)

t.test("memory limits end in a status", function()
  local source <const> = ("def f(a, b=[1, 2, {'k': 'v\\n'}]):\n    return [x for x in f'{a}{b!r:>{c}}']\n"):rep(20)
  local limit, attempts = 500, 0
  while true do
    local tree <const>, err <const> = python.parse(source, "x.py", limit)
    if tree then break end
    t.eq(err.code, "memory")
    limit, attempts = limit + 331, attempts + 1
  end
  t.ok(attempts > 50, "limits below the need")
  for small = 1, 60000, 509 do
    local _, err <const> = python.check("x = [1, 2 3]\n", small)
    t.ok(err.code == "memory" or err.message:find("comma"), "limit " .. small)
  end
end)

t.test("wrong use raises", function()
  t.raises(function() python.parse() end, "string expected")
  t.raises(function() python.parse({}) end, "string expected")
  t.raises(function() python.parse("x", "f", -1) end, "not negative")
  t.eq(python.check("x = 1\n"), true)
  t.eq(python.parse_only("return\n"), true)
  t.eq(select(2, python.check("return\n")).message, "'return' outside function")
end)
