-- SPDX-License-Identifier: MIT
-- nkiln report: a profile database as a page and as a trace; what is wrong with the file is said in one line; nothing that
-- nkiln did not write is overwritten. Where Chromium is installed the page is opened in it.
local t <const> = require "tests.lib"
local db <const> = require "rt.db"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"
local schema <const> = require "profile.schema"

-- Two engines, two DMA engines, two lines; Tensor is busy 300 of 400 ns.
local function profile(w, name, change)
  w:ready()
  local d <close> = assert(db.open(w:full(name), { create = true }))
  d:exec "PRAGMA journal_mode = delete"
  for _, table_name in ipairs { "Instruction", "DmaPacket", "Flow", "Summary", "Metadata", "SbufUsage", "nkiln", "nkiln_source", "nkiln_notes" } do
    d:exec(schema.sql(table_name))
  end
  local function instruction(id, engine, opcode, a, z, line)
    d:exec([[INSERT INTO Instruction (id, engine, opcode, operands, start_ts, end_ts, duration_ns, bir_debug_info_source_location)
      VALUES (?, ?, ?, '', ?, ?, ?, ?)]],
      id, engine, opcode, a, z, z - a, line and "/src/k.py:" .. line or nil)
  end
  instruction(1, "Tensor", "MATMUL", 1000, 1100, 2)
  instruction(2, "Tensor", "MATMUL", 1200, 1400, 2)
  instruction(3, "Vector", "<img src=x onerror=alert(1)>", 1100, 1150, 3)
  instruction(4, "Sync", "DMA_TRIGGER", 1000, 1010, 3)
  for engine = 0, 1 do
    d:exec("INSERT INTO DmaPacket (id, engine_idx, start_ts, end_ts, duration_ns, packet_aggregation_id, variable) VALUES (?, ?, 1010, 1060, 50, 9, 'x')",
      engine, engine)
  end
  d:exec "INSERT INTO Flow (in_id, out_id, in_table, out_table) VALUES (4, 9, 'Instruction', 'DmaPacketAggregated')"
  d:exec "INSERT INTO Summary (total_time, hardware_flops, hbm_read_bytes, hbm_write_bytes) VALUES (4e-7, 16777216, 4096, 4096)"
  d:exec "INSERT INTO Metadata (tensor_engine_num_rows, tensor_engine_num_cols, tensor_engine_clock_freq, dma_ddr_bandwidth) VALUES (128, 128, 2.4, 435e9)"
  d:exec "INSERT INTO SbufUsage (timestamp, avg_util_percent) VALUES (1000, 0.25), (1200, 0.5)"
  d:exec "INSERT INTO nkiln VALUES ('kind', 'modelled'), ('entry', 'k'), ('case', 'x=bf16[128,128]')"
  d:exec "INSERT INTO nkiln_source VALUES ('/src/k.py', 1, 'def k(x):'), ('/src/k.py', 2, '  a < b </script>'), ('/src/k.py', 3, '  c')"
  d:exec "INSERT INTO nkiln_notes VALUES ('info', 'order', 'program order is kept')"
  if change then change(d) end
end

t.test("report: a page with everything on it, safe against what the profile says", function()
  local w <const> = nkiln.folder()
  profile(w, "p.db")
  local status <const>, out <const>, err <const> = w:run "report p.db -o r.html --perfetto p.json"
  t.eq({ status, err }, { 0, "" })
  t.has(out, "modelled")
  local page <const> = w:read "r.html"
  for _, part in ipairs { "modelled", "x=bf16[128,128]", "Tensor", "400 ns", "75 %", "program order is kept", "a &lt; b &lt;/script&gt;", "k.py",
    "SBUF" } do t.has(page, part) end
  t.ok(not page:find("<img src=x", 1, true), "markup from the profile is in the page")
  t.ok(not page:find("https?://"), "the page names something on the network")
  local data <const> = json.decode(page:match '<script type="application/json" id="data">(.-)</script>')
  t.eq({ data.t0, data.t1, #data.tracks, #data.lines }, { 1000, 1400, 5, 2 })
  local trace <const> = json.decode(w:read "p.json")
  local seen <const> = {}
  for _, event in ipairs(trace.traceEvents) do
    seen[event.ph] = (seen[event.ph] or 0) + 1
    if event.ph == "X" and event.ts == 0.2 then t.eq({ event.dur, event.name, event.args.source }, { 0.2, "MATMUL", "k.py:2" }) end
  end
  t.eq(seen, { M = 12, X = 6, C = 2 })
end)

t.test("report: a warning that stands in two tables is shown once, microseconds are written one way", function()
  local w <const> = nkiln.folder()
  profile(w, "p.db", function(d)
    d:exec(schema.sql "Warning")
    d:exec "INSERT INTO Warning (message) VALUES ('4 loads (4.3 us) come again'), ('the profiler alone says this')"
    d:exec "INSERT INTO nkiln_notes VALUES ('warning', 'reloads', '4 loads (4.3 us) come again')"
  end)
  t.eq((w:run "report p.db"), 0)
  local page <const> = w:read "report.html"
  t.eq(select(2, page:gsub("4 loads %(4%.3 µs%) come again", "")), 1)
  t.has(page, "the profiler alone says this")
  t.ok(not page:find "%d us%f[%W]", "us beside µs")
end)

t.test("report: tables and columns may be missing, values of any type", function()
  local w <const> = nkiln.folder()
  profile(w, "p.db", function(d)
    d:exec "DROP TABLE Summary"
    d:exec "DROP TABLE Metadata"
    d:exec "DROP TABLE nkiln"
    d:exec "DROP TABLE Flow"
    d:exec "ALTER TABLE Instruction DROP COLUMN bir_debug_info_source_location"
    d:exec "INSERT INTO Instruction (id, engine, opcode, start_ts, end_ts) VALUES (77, 5, x'00ff', 1, 2), (NULL, NULL, NULL, NULL, NULL)"
    d:exec "INSERT INTO SbufUsage (timestamp, avg_util_percent) VALUES ('then', 'much')"
  end)
  local status <const>, _, err <const> = w:run "report p.db -o r.html"
  t.eq({ status, err }, { 0, "" })
  t.has(w:read "r.html", "This profile names no source lines")
  profile(w, "none.db", function(d) d:exec "DELETE FROM Instruction; DELETE FROM DmaPacket" end)
  t.eq(w:run "report none.db -o n.html", 0)
  t.has(w:read "n.html", "no timeline")
end)

t.test("report: bad input is one line and changes nothing", function()
  local w <const> = nkiln.folder()
  profile(w, "p.db")
  w:write("text.db", "this is not a database, and longer than a header of one would be .....................................")
  w:write("empty.db", "")
  w:write("notes.html", "my own notes")
  w:sh "head -c 5000 p.db >short.db"
  local other <close> = assert(db.open(w:full "other.db", { create = true }))
  other:exec "CREATE TABLE recipes (name)"
  local before <const> = w:read "p.db"
  for _, row in ipairs {
    { "report", 2, "profile" }, { "report none.db", 2, "no such file" }, { "report .", 2, "not a file" }, { "report text.db", 2, "not a SQLite database" },
    { "report empty.db", 2, "empty" }, { "report short.db", 2, "short.db" }, { "report other.db", 2, "holds no profile" },
    { "report p.db -o p.db", 2, "the profile itself" }, { "report p.db -o notes.html", 2, "not written by nkiln report" }, { "report p.db -o no/r.html", 2,
      "folder is not there" },
    { "report p.db -o r.html --perfetto r.html", 2, "same file" }, { "report p.db -o .", 2, "is there already" },
  } do
    local status <const>, out <const>, err <const> = w:run(row[1])
    t.eq({ status, out }, { row[2], "" }, row[1])
    t.has(err, row[3], row[1])
    t.match(err, "^nkiln: [^\n]+\n", row[1])
    local _, lines <const> = err:gsub("\n", "")
    t.ok(lines <= 2, row[1] .. ": more than a line and a hint: " .. err)
  end
  t.eq(w:read "notes.html", "my own notes")
  t.ok(w:read "p.db" == before, "the profile was changed")
  local _, files <const> = w:sh "ls -A | grep -c tmp"
  t.eq(files, "0\n", "a temporary file is left")
end)

t.test("report: Chromium draws the page without an error", function()
  local w <const> = nkiln.folder()
  w:ready()
  local status <const>, browser <const> = w:sh "command -v chromium || command -v chromium-browser || command -v google-chrome"
  if status ~= 0 then t.skip "Chromium is not here" end
  profile(w, "p.db")
  t.eq(w:run "report p.db -o r.html", 0)
  local flags <const> = "--headless=new --no-sandbox --disable-gpu --enable-logging=stderr --virtual-time-budget=3000"
  local _, dom <const>, log <const> = w:sh(("%s %s --dump-dom file://$PWD/r.html"):format(
    browser:match "%S+", flags))
  t.match(dom, '<html[^>]*data%-ready="%d+"', "the script did not reach its end")
  t.ok(not log:find "CONSOLE", "the console says something: " .. tostring(log:match "[^\n]*CONSOLE[^\n]*"))
end)
