-- SPDX-License-Identifier: MIT
-- Profile databases of strangers: numbers that are no quantities, times that are no times, names full of control characters,
-- cells of megabytes, lines beyond 64 bits, missing columns. Each command answers, or says in one line that the profile is damaged.

local t <const> = require "tests.lib"
local nkiln <const> = require "tests.e2e.nkiln"
local generate <const> = require "tests.profile.generate"
local json <const> = require "rt.json"

local EVIL <const> = "a'b\"</script><!-- \27[31m\r\n\0 x"

-- A folder with h.db: the small profile, changed by change(content).
local function with(change)
  local folder <const> = nkiln.folder()
  folder:ready()
  local content <const> = generate.small()
  change(content)
  generate.write(folder:full("h.db"), content)
  return folder
end

local commands <const> = {
  "query h.db --bounds --investigate all --lines", "query h.db --compare h.db --anyway", "report h.db -o h.html --perfetto h.json", "analyse h.db",
}

-- Every command ends with 0 and no inner error; every text of control characters is escaped.
local function answers(folder)
  for _, command in ipairs(commands) do
    local status <const>, out <const>, err <const> = folder:run(command)
    t.eq(status, 0, command .. ": " .. err)
    for _, text in ipairs { out, err } do
      t.ok(not text:find("[%z\27\r]"), command .. " prints control characters")
      t.ok(not text:find "%.lua:%d" and not text:find "inf %%", command .. ": " .. text)
    end
  end
  t.ok(json.decode(folder:read "h.json"), "the trace is JSON")
end

t.test("hostile profile: numbers beyond any unit are as if they were not there", function()
  for _, value in ipairs { 1e308, -1e308, math.huge, -math.huge, 1.5, -5 } do
    answers(with(function(content)
      for _, name in ipairs { "Summary", "Metadata" } do
        for _, column in ipairs { "total_time", "dma_transfer_total_bytes", "spill_save_bytes", "hardware_flops", "hbm_read_bytes",
          "inputs_outputs_weights_size_bytes", "tensor_engine_clock_freq", "dma_ddr_bandwidth", "tensor_engine_num_rows" } do
          if require("profile.schema").tables[name][column] then content[name][1][column] = value end
        end
      end
    end))
  end
end)

t.test("hostile profile: counts beyond 64 bits", function()
  answers(with(function(content)
    content.Summary[1].dma_transfer_total_bytes = math.maxinteger
    for _, row in ipairs(content.DmaPacket) do row.transfer_bytes = math.maxinteger end
  end))
end)

t.test("hostile profile: a time that is no time is damage, said in one line", function()
  for _, value in ipairs { 1e308, math.huge, math.maxinteger } do
    local folder <const> = with(function(content) content.Instruction[2].end_ts = value end)
    for _, command in ipairs(commands) do
      local status <const>, out <const>, err <const> = folder:run(command)
      t.eq(status, 2, command)
      t.match(out .. err, "Instruction%.end_ts holds .*: the profile is damaged")
    end
  end
end)

t.test("hostile profile: names are shown with their control characters escaped", function()
  answers(with(function(content)
    for _, row in ipairs(content.nkiln) do row.value = EVIL end
    for _, row in ipairs(content.Instruction) do row.opcode, row.bir_debug_info_source_location = EVIL, "/x/" .. EVIL .. ".py:3" end
    content.nkiln_notes = { { level = "warning", code = EVIL, message = EVIL } }
  end))
end)

t.test("hostile profile: a line number beyond 64 bits is no line", function()
  answers(with(function(content)
    for _, row in ipairs(content.Instruction) do row.bir_debug_info_source_location = "/x/k.py:99999999999999999999999999" end
  end))
end)

t.test("hostile profile: a cell of a megabyte is cut in a table, not in CSV", function()
  local long <const> = "src=" .. ("x"):rep(1 << 20)
  local folder <const> = with(function(content) content.Instruction[1].operands = long end)
  local status <const>, out <const> = folder:run "query h.db 'SELECT id, operands FROM Instruction ORDER BY id LIMIT 2'"
  t.eq(status, 0)
  t.ok(#out < 20000, #out)
  t.has(out, "(1048580 bytes; --format csv has all)")
  t.has(select(2, folder:run "query h.db --format csv 'SELECT operands FROM Instruction ORDER BY id LIMIT 1'"), long)
end)

t.test("report: a link stays a link, what it names is written; the profile behind a link is kept", function()
  local folder <const> = with(function() end)
  folder:sh ": > page.html; ln -s page.html link.html; ln -s h.db same.db"
  local status <const>, _, err <const> = folder:run "report h.db -o link.html"
  t.eq(status, 0, err)
  t.eq(select(2, folder:sh "readlink link.html"), "page.html\n")
  t.has(folder:read "page.html", "<!doctype html>")
  t.eq((folder:run "report h.db -o same.db"), 2)
end)

t.test("report: a page without any event has no error in Chromium", function()
  local folder <const> = with(function(content)
    for _, name in ipairs { "Instruction", "DmaPacket", "ActiveTime" } do
      for _, row in ipairs(content[name]) do row.start_ts, row.end_ts = row.end_ts, row.start_ts end
    end
  end)
  t.eq((folder:run "report h.db -o r.html"), 0)
  t.ok(not folder:read "r.html":find('id="data"', 1, true), "there is a timeline after all")
  local status <const>, browser <const> = folder:sh "command -v chromium || command -v chromium-browser || command -v google-chrome"
  if status ~= 0 then t.skip "Chromium is not here" end
  local _, _, log <const> = folder:sh(browser:match "%S+"
    .. " --headless=new --no-sandbox --disable-gpu --enable-logging=stderr --virtual-time-budget=1000 --dump-dom file://$PWD/r.html")
  t.ok(not log:find "CONSOLE", "the console says something: " .. tostring(log:match "[^\n]*CONSOLE[^\n]*"))
end)

t.test("report: what a killed report left goes away with the next; another's unfinished file stays", function()
  local folder <const> = with(function() end)
  folder:sh ": > .r.html.0123456789ab.tmp; : > .other.html.0123456789ab.tmp; : > .r.html.notes.tmp"
  t.eq((folder:run "report h.db -o r.html"), 0)
  t.eq(select(2, folder:sh "ls -A | tr '\\n' ' '"), ".other.html.0123456789ab.tmp .r.html.notes.tmp h.db r.html ")
  local lock <const> = assert(require("rt.fs").lock(folder:full ".r.html.ba9876543210.tmp"))
  t.eq((folder:run "report h.db -o r.html"), 0)
  lock:release()
  t.eq((folder:sh "ls .r.html.ba9876543210.tmp"), 0, "a file that is being written was taken away")
end)

t.test("a write-ahead log left beside a database is named", function()
  local folder <const> = with(function() end)
  local d <const> = assert(require("rt.db").open(folder:full "h.db", {}))
  assert(d:query "PRAGMA journal_mode = wal")
  assert(d:exec "UPDATE nkiln SET value = 'x' WHERE key = 'entry'")
  folder:sh "cp h.db left.db; cp h.db-wal left.db-wal"
  d:close()
  local status <const>, _, err <const> = folder:run "query left.db --bounds"
  t.eq(status, 2)
  t.has(err, "left.db-wal")
end)

t.test("rows of a modelled profile say so in JSON", function()
  local folder <const> = with(function() end)
  for _, question in ipairs { "--tables", "--schema Instruction", "'SELECT 1'" } do
    local _, out <const> = folder:run("query h.db --json " .. question)
    t.eq(json.decode(out).kind, "modelled", question)
  end
end)
