-- SPDX-License-Identifier: MIT
-- The other ways to ask a profile: DuckDB over Parquet files, neuron-explorer's API, a script with pandas.
local t <const> = require "tests.lib"
local explain <const> = require "profile.explain"
local explain_lines <const> = require "profile.explain_lines"
local generate <const> = require "tests.profile.generate"
local json <const> = require "rt.json"
local nkiln <const> = require "tests.e2e.nkiln"
local open <const> = require "profile.open"

local function library()
  local pipe <const> = assert(io.popen("ls -d build/npm/node_modules/@duckdb/node-bindings-linux-*/libduckdb.so 2>/dev/null"))
  local path <const> = pipe:read("l")
  pipe:close()
  return path and nkiln.root .. "/" .. path
end

local function folder()
  local f <const> = nkiln.folder()
  f:ready()
  generate.write(f:full("p.db"), generate.small())
  return f
end

local function with_duckdb(name, fn)
  t.test(name, function()
    local path <const> = library()
    if not path then t.skip("no libduckdb here; the Parquet tests fetch it") end
    fn(path)
  end)
end

with_duckdb("via duckdb: the printed SQL gives the same figures there as here", function(lib)
  local f <const> = nkiln.folder()
  f:write("k.py", t.read("tests/kernels/slow/transposed_again.py"))
  t.eq(f:run [[profile k.py --case "a=bf16[256,512], b=bf16[512,512]" -o p.db]], 0)
  t.eq(f:sh(("python3 %s/tests/oracle/to_parquet.py p.db pq DmaPacket"):format(t.quote(nkiln.root))), 0)
  local p <close> = assert(open.open(f:full("p.db")))
  local queries <const> = table.move(explain.bounds(p, 0), 1, 99, 1, {})
  for _, q in ipairs(explain_lines.all(p, 0, "Tensor")) do queries[#queries + 1] = q end
  local here <const>, names, parts = {}, {}, {}
  for _, q in ipairs(queries) do
    if not q.sql:find("matmul_", 1, true) then -- those functions are ours
      local rows <const> = assert(p.db:query(q.sql))
      names[#names + 1], here[#here + 1] = q.name, rows
      parts[#parts + 1] = q.sql
    end
  end
  t.ok(#parts >= 14, #parts)
  for i, sql in ipairs(parts) do
    local status <const>, out <const>, err <const> = f:run(("query pq %s --via duckdb --library %s --json"):format(t.quote(sql), t.quote(lib)))
    t.eq(status, 0, names[i] .. ": " .. err)
    local answer <const> = json.decode(out).sql
    t.eq(#answer.rows, #here[i], names[i])
    local at <const> = {}
    for k, name in ipairs(answer.columns) do at[name] = k end
    -- Rows of equal order may come in another one: compare them as sets of texts.
    local function spell(get)
      local list <const> = {}
      for k = 1, #here[i] do
        local cells <const> = {}
        for name in pairs(at) do
          local v = get(k, name)
          if v == json.null then v = nil end
          cells[#cells + 1] = name .. "=" .. (type(v) == "number" and ("%.9g"):format(v) or tostring(v))
        end
        table.sort(cells)
        list[k] = table.concat(cells, " ")
      end
      table.sort(list)
      return list
    end
    t.eq(spell(function(k, name) return answer.rows[k][at[name]] end), spell(function(k, name) return here[i][k][name] end), names[i])
  end
end)

with_duckdb("via duckdb: tables, schema, lists, errors, and nothing outside the folder", function(lib)
  local f <const> = folder()
  t.eq(f:sh(("python3 %s/tests/oracle/to_parquet.py p.db pq"):format(t.quote(nkiln.root))), 0)
  local function ask(words) return f:run(("query pq %s --via duckdb --library %s"):format(words, t.quote(lib))) end
  local status, out, err = ask "--tables"
  t.eq(status, 0, err)
  t.match(out, "DmaPacket +7 +17\n")
  status, out = ask "--schema ActiveTime"
  t.eq(status, 0)
  t.match(out, "start_ts +BIGINT\n")
  status, out = ask [["SELECT list(id) AS ids, sum(transfer_bytes) AS b, NULL AS n, 1.5 AS r FROM DmaPacketAggregated" --format csv]]
  t.eq(status, 0)
  t.eq(out, 'ids,b,n,r\n"[101, 102, 105]",655360,,1.5\n')
  status, out, err = ask [["SELECT id FROM DmaPacket" --limit 2 --format csv]]
  t.eq({ status, out }, { 0, "id\n1\n2\n" })
  t.has(err, "stopped after 2 rows")
  local function refused(sql, part)
    local got <const>, _, words <const> = ask(t.quote(sql))
    t.eq(got, 2, sql .. words)
    t.has(words, part)
    t.eq(select(2, words:gsub("\n", "")), 1, words)
  end
  refused("SELECT * FROM read_text('/etc/passwd')", "disabled")
  refused("COPY DmaPacket TO 'x.csv'", "disabled")
  refused("ATTACH '/tmp/other.db'", "disabled")
  refused("SET enable_external_access = true", "locked")
  refused("SELECT nope FROM DmaPacket", "nope")
  f:write("pq/Flow.parquet", "PAR1 this is none PAR1")
  refused("SELECT * FROM Flow", "Flow.parquet")
  status, out = ask [["SELECT count(*) AS n FROM DmaPacket" --format csv]]
  t.eq({ status, out }, { 0, "n\n7\n" }, "one damaged file does not spoil the others")
  f:write("empty/readme.txt", "")
  t.eq(f:run("query empty 'SELECT 1' --via duckdb --library " .. t.quote(lib)), 2)
end)

with_duckdb("via duckdb's command, where the library is not here", function(lib)
  local f <const> = folder()
  t.eq(f:sh(("python3 %s/tests/oracle/to_parquet.py p.db pq"):format(t.quote(nkiln.root))), 0)
  -- The command may read the profile's folder and the system; so the stand-in and the library lie in the folder.
  f:write("pq/duckdb", t.read("tests/standins/duckdb_command.py"))
  f:write("pq/library", f:full("pq/lib.so"))
  f:sh(("chmod +x pq/duckdb && cp %s pq/lib.so"):format(t.quote(lib)))
  local function ask(words) return f:sh("PATH=$PWD/pq:/usr/bin:/bin timeout -s KILL 60 " .. nkiln.quoted .. " query pq " .. words .. " --via duckdb") end
  local status, out, err = ask [["SELECT engine, count(*) AS n, NULL AS x FROM Instruction GROUP BY 1 ORDER BY 1" --format csv]]
  t.eq(status, 0, err)
  t.eq(out, "engine,n,x\nSync,3,\nTensor,3,\nVector,1,\n")
  status, out, err = ask [["SELECT id FROM DmaPacket" --limit 2 --format csv]]
  t.eq({ status, out }, { 0, "id\n1\n2\n" })
  t.has(err, "stopped after 2 rows")
  status, out = ask "--tables --format csv"
  t.eq(status, 0)
  t.has(out, "\nDmaPacket,7,17\n")
  status, out, err = ask [["SELECT nope FROM DmaPacket"]]
  t.eq({ status, out }, { 2, "" })
  t.has(err, "nope")
  status, out, err = ask [["SELECT * FROM read_text('/etc/passwd')"]]
  t.eq({ status, out }, { 2, "" })
  t.has(err, "disabled")
end)

t.test("via duckdb without DuckDB: status 3 and what to do", function()
  local f <const> = folder()
  f:write("pq/Summary.parquet", "x")
  f:write("none.so", "no library")
  local status <const>, _, err <const> = f:run "query pq 'SELECT 1' --via duckdb --library none.so"
  t.eq(status, 3, err)
  t.has(err, "DuckDB is not on this machine")
  t.eq(f:run "query p.db 'SELECT 1' --via duckdb", 2)
end)

-- A server in the background, ended by its process number.
local function serve(f, shape, fn)
  local status <const>, pid <const> = f:sh(("python3 %s/tests/standins/explorer_api.py p.db my-kernel port %s >/dev/null 2>&1 & echo $!"):format(
    t.quote(nkiln.root), shape))
  t.eq(status, 0)
  f:sh "for i in $(seq 200); do [ -s port ] && break; sleep 0.05; done"
  local ok <const>, err <const> = pcall(fn, "http://localhost:" .. (f:read("port") or "0"))
  f:sh(("kill %s; rm -f port"):format(pid:match("%d+")))
  if not ok then error(err, 0) end
end

t.test("via server: every shape of answer, tables, schema, errors", function()
  local f <const> = folder()
  for _, shape in ipairs { "objects", "data", "columns", "typed" } do
    serve(f, shape, function(url)
      local status, out, err = f:run(("query my-kernel %s --via server --url %s --format csv"):format(
        t.quote "SELECT engine, count(*) AS n, NULL AS x FROM Instruction GROUP BY 1 ORDER BY 1", url))
      t.eq(status, 0, shape .. err)
      t.eq(out, "engine,n,x\nSync,3,\nTensor,3,\nVector,1,\n", shape)
      if shape ~= "objects" then return end
      status, out = f:run(("query my-kernel --tables --via server --url %s --format csv"):format(url))
      t.eq(status, 0)
      t.has(out, "\nDmaPacket\n")
      status, out = f:run(("query my-kernel --schema Flow --via server --url %s --format csv"):format(url))
      t.eq(status, 0)
      t.has(out, "in_id,INTEGER")
      status, out, err = f:run(("query other 'SELECT 1' --via server --url %s"):format(url))
      t.eq({ status, out }, { 2, "" })
      t.has(err, "display name")
      status, out, err = f:run(("query my-kernel 'SELECT nope' --via server --url %s"):format(url))
      t.eq({ status, out }, { 2, "" })
      t.has(err, "no such column: nope")
    end)
  end
  serve(f, "unknown", function(url)
    local status <const>, out <const> = f:run(("query my-kernel 'SELECT 1' --via server --url %s"):format(url))
    t.eq(status, 0)
    t.has(out, "everything")
  end)
end)

t.test("via server: nobody there, not healthy, slow, garbage, broken off", function()
  local f <const> = folder()
  local function says(words, url, part)
    local status <const>, out <const>, err <const> = f:run(("query my-kernel 'SELECT 1' --via server --url %s %s"):format(url, words or ""))
    t.ok(status == 3 or status == 1 or status == 2 or status == 5, err)
    t.eq(out, "")
    t.has(err, part)
    t.eq(select(2, err:gsub("\n", "")), 1, err)
    return status
  end
  t.eq(says(nil, "http://localhost:1", "no answer from http://localhost:1"), 3)
  says(nil, "ftp://localhost", "begins with http")
  says(nil, "http://example.com", "may not reach example.com")
  serve(f, "unhealthy", function(url) says(nil, url, "no neuron-explorer that is healthy") end)
  serve(f, "slow", function(url) says("--seconds 0.5", url, "within 0.5 seconds") end)
  serve(f, "garbage", function(url) says(nil, url, "no JSON") end)
  serve(f, "broken", function(url) says(nil, url, "no answer") end)
end)

t.test("via pandas: a script sees the profile and leaves a table", function()
  local f <const> = folder()
  f:write("lib/pandas/__init__.py", t.read("tests/standins/pandas/__init__.py"))
  local function script(text, words)
    f:write("s.py", text)
    return f:sh("PYTHONPATH=$PWD/lib timeout -s KILL 60 " .. nkiln.quoted .. " query p.db s.py --via pandas " .. (words or ""))
  end
  local status, out, err = script("print('looking')\nresult = query('SELECT engine, count(*) AS n FROM Instruction GROUP BY 1 ORDER BY 1')\n", "--format csv")
  t.eq(status, 0, err)
  t.eq(out, "engine,n\nSync,3\nTensor,3\nVector,1\n")
  t.has(err, "looking")
  status, out = script("d = table('DmaPacket')\nresult = {'bytes': d['transfer_bytes'].sum(), 'rows': len(d), 'none': None}\n", "--format csv")
  t.eq({ status, out }, { 0, "bytes,rows,none\n790532,7,\n" })
  status, out = script("result = len(tables)\n", "--format csv")
  t.eq({ status, out }, { 0, "result\n10\n" })
  status, out = script("result = [1, 2, 3]\n", "--limit 2 --json")
  t.eq(status, 0)
  t.eq(json.decode(out).sql.rows, { { 1 }, { 2 } })
  local function wrong(text, part, words)
    local got <const>, printed <const>, said <const> = script(text, words)
    t.eq(got, 2, said)
    t.eq(printed, "")
    t.has(said, part)
  end
  wrong("x = 1\nresult = 1 / 0\n", "ZeroDivisionError: division by zero: s.py:2")
  wrong("def (:\n", "SyntaxError")
  wrong("y = 1\n", "left nothing in `result`")
  wrong("table('Nope')\n", "no table Nope")
  wrong("profile.execute('DELETE FROM Flow')\n", "readonly")
  wrong("open(__file__ + '.out', 'w')\n", "Error: [Errno")
  t.eq(f:read("s.py.out"), nil)
  wrong("import socket\nsocket.create_connection(('127.0.0.1', 9))\n", "Error")
  status, out, err = script("while True: pass\n", "--seconds 1")
  t.eq({ status, out }, { 1, "" })
  t.has(err, "did not end within 1 seconds")
  status, out, err = f:run "query p.db none.py --via pandas --python /usr/bin/python3"
  t.ok(status == 2 or status == 3, err)
  t.eq(out, "")
end)

t.test("via: what does not go together is said", function()
  local f <const> = folder()
  local function says(words, part)
    local status <const>, _, err <const> = f:run("query " .. words)
    t.eq(status, 2, err)
    t.has(err, part)
  end
  says("p.db --via duckdb --bounds", "--bounds needs a profile database")
  says("p.db --via pandas", "needs a script")
  says("p.db --via server", "SQL, --tables or --schema is needed")
  says("p.db 'SELECT 1' --via duck", "not one of")
end)
