-- SPDX-License-Identifier: MIT
-- nkiln query as a user calls it: on databases good and bad.
local t <const> = require "tests.lib"
local generate <const> = require "tests.profile.generate"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"

local function folder()
  local f <const> = nkiln.folder()
  f:ready()
  generate.write(f:full("p.db"), generate.small())
  return f
end

t.test("query: SQL as a table, as CSV, as JSON", function()
  local f <const> = folder()
  local status, out, err = f:run [[query p.db "SELECT engine, count(*) AS n, sum(duration_ns) / 1e3 AS us, NULL AS x FROM Instruction GROUP BY 1 ORDER BY 1"]]
  t.eq(status, 0, err)
  t.eq(out, "engine  n   us     x\nSync    3  0.3  NULL\nTensor  3  1.2  NULL\nVector  1  1.0  NULL\n(3 rows)\n")
  status, out = f:run [[query p.db "SELECT variable, 'a,\"b' AS c, NULL AS d FROM DmaPacketAggregated WHERE id = 101" --format csv]]
  t.eq(status, 0)
  t.eq(out, 'variable,c,d\nx,"a,""b",\n')
  status, out = f:run [[query p.db "SELECT id, NULL AS d FROM DmaPacketAggregated LIMIT 1" --format json]]
  t.eq(status, 0)
  t.eq(json.decode(out), { { id = 101, d = json.null } })
  status, out = f:run [[query p.db "SELECT id, NULL AS d FROM DmaPacketAggregated" --limit 2 --json]]
  t.eq(status, 0)
  local value <const> = json.decode(out)
  t.eq(value.sql.columns, { "id", "d" })
  t.eq(value.sql.rows, { { 101, json.null }, { 102, json.null } })
  t.eq(value.sql.more, true)
  status, out, err = f:run [[query p.db "SELECT id FROM DmaPacketAggregated" --limit 1]]
  t.eq(status, 0)
  t.has(err, "stopped after 1 rows")
  t.has(out, "(1 row)")
end)

t.test("query: tables, schema, bounds and the SQL behind them", function()
  local f <const> = folder()
  local status, out = f:run "query p.db --tables"
  t.eq(status, 0)
  t.match(out, "DmaPacket +7 +17\n")
  status, out = f:run "query p.db --schema ActiveTime"
  t.eq(status, 0)
  t.match(out, "start_ts +INTEGER +ns +3 +6000 +12500\n")
  status, out = f:run "query p.db --bounds --explain"
  t.eq(status, 0)
  t.has(out, "DMA is active longest: 51.0 % of the kernel's time")
  t.has(out, "modelled")
  local _, only <const> = f:run "query p.db --investigate dma --explain"
  t.has(only, "-- dma\n")
  t.ok(not only:find("-- reloads", 1, true), "the SQL of what was asked")
  local sql <const> = out:match("%-%- memory_bound\n(.-);\n")
  status, out = f:run("query p.db " .. t.quote(sql) .. " --format csv")
  t.eq(status, 0)
  t.eq(out, "ns\n10200\n")
end)

t.test("query: lists stay lists in JSON, empty ones too", function()
  local f <const> = folder()
  local status <const>, out <const> = f:run "query p.db --investigate tensor --bounds --lines --json"
  t.eq(status, 0)
  t.has(out, '"lines": []')
  t.ok(not out:find('"[a-z]+": {}'), out:match('[^\n]*"[a-z]+": {}[^\n]*'))
end)

t.test("query: one clear line for what is no profile", function()
  local f <const> = folder()
  local whole <const> = f:read("p.db")
  f:write("text.db", "this is no database, it is a text that is long enough for a header of one hundred bytes, or so one would think")
  f:write("empty.db", "")
  f:write("cut.db", whole:sub(1, #whole // 2))
  f:write("noise.db", whole:sub(1, 100) .. ("\xff\x00\x7f"):rep(20000))
  f:sh [[python3 -c "
import sqlite3
c = sqlite3.connect('foreign.db'); c.execute('CREATE TABLE users (id)'); c.commit()
v = sqlite3.connect('views.db')
v.execute('CREATE TABLE x (a)')
v.execute('CREATE VIEW Instruction AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start_ts, i AS end_ts FROM n')
v.commit()
w = sqlite3.connect('words.db')
w.execute('CREATE TABLE Instruction (start_ts, end_ts, engine, opcode, pcore_idx)')
w.execute('INSERT INTO Instruction VALUES (?, ?, ?, ?, ?)', ('soon', 'later', 5, b'\\x00', 'core'))
w.commit()
"]]
  local function line(words, status, part)
    local got <const>, out <const>, err <const> = f:run("query " .. words)
    t.eq(got, status, words .. ": " .. err)
    t.eq(out, "", words)
    t.has(err, part, words)
    t.eq(select(2, err:gsub("\n", "")), 1, words .. " says more than one line: " .. err)
  end
  line("nothing.db", 2, "there is no such profile")
  line(".", 2, "this is a folder")
  line("text.db", 2, "this is not a SQLite database")
  line("empty.db", 2, "the file is empty")
  line("cut.db --bounds", 2, "damaged or cut off")
  line("noise.db --bounds", 2, "d")
  line("foreign.db --bounds", 2, "holds no profile (its tables: users)")
  line("views.db --bounds", 2, "holds no profile (its tables: x)")
  line([[views.db "SELECT count(*) FROM Instruction" --seconds 0.3]], 1, "did not end within 0.3 seconds")
  line([[p.db "SELECT * FROM Instructions"]], 2, "did you mean Instruction?")
  line([[p.db "SELECT * FROM CcOp"]], 2, "this profile has no table CcOp")
  line([[p.db "SELECT start FROM DmaPacket"]], 2, "did you mean start_ts?")
  line([[p.db "DELETE FROM DmaPacket"]], 2, "only SELECT")
  line([[p.db "ATTACH '/etc/passwd' AS x"]], 2, "only its own database")
  line([[p.db "SELECT 1 QUALIFY 1"]], 2, "QUALIFY")
  line([[p.db "SELEC 1"]], 2, "syntax error")
  line([[p.db "SELECT 1" --bounds]], 2, "one question at a time")
  line("p.db --window 5:1", 2, "two times are expected")
  line("p.db --compare p.db --window 0:5", 2, "whole kernels")
  line("p.db --core 7", 2, "the profile has core 0")
  -- Text where numbers belong: an answer, or one line that says what is wrong.
  local status <const>, _, err <const> = f:run "query words.db --bounds"
  t.eq(status, 2, err)
  t.has(err, "text, numbers are expected")
end)

t.test("query: a database that another process is writing", function()
  local f <const> = folder()
  local status <const>, out <const> = f:sh([[
python3 -c "
import sqlite3, subprocess, sys
c = sqlite3.connect('p.db', isolation_level=None)
c.execute('BEGIN EXCLUSIVE')
r = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(r.returncode, r.stderr.strip())
c.execute('ROLLBACK')
" ]] .. nkiln.quoted .. " query p.db --bounds")
  t.eq(status, 0)
  t.match(out, "^2 nkiln: another process is writing this database")
end)
