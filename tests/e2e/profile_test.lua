-- SPDX-License-Identifier: MIT
-- `nkiln profile` on any machine: what it prints and writes, where it refuses to write, and what it leaves behind when it is
-- stopped. What the model says of a kernel is tested elsewhere.

local t <const> = require "tests.lib"
local nkiln <const> = require "tests.e2e.nkiln"
local json <const> = require "rt.json"

local KERNEL <const> = [[
import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def add(a, b, scale=1.0):
    rows, columns = a.shape
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(rows // 128):
        x = nl.ndarray((128, columns), dtype=a.dtype, buffer=nl.sbuf)
        y = nl.ndarray((128, columns), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=a[i * 128:(i + 1) * 128, 0:columns])
        nisa.dma_copy(dst=y, src=b[i * 128:(i + 1) * 128, 0:columns])
        z = nl.ndarray((128, columns), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=z, data1=x, data2=y, op=nl.add)
        nisa.dma_copy(dst=out[i * 128:(i + 1) * 128, 0:columns], src=z)
    return out
]]
local CASE <const> = "--case 'a=f32[256,512], b=f32[256,512]'"

local function ready()
  local folder <const> = nkiln.folder()
  folder:write("add.py", KERNEL)
  return folder
end

local function rows(path, query)
  local handle <const> = assert(require("rt.db").open(path, { readonly = true }))
  local list <const> = assert(handle:query(query))
  handle:close()
  return list
end

local function listing(folder) return select(2, folder:sh("ls -A | tr '\\n' ' '")) end

t.test("one database, a summary that says it is modelled, and the next command", function()
  local folder <const> = ready()
  local status <const>, out <const>, err <const> = folder:run("profile add.py " .. CASE .. " -o p.db")
  t.eq({ status, err }, { 0, "" }, out)
  t.match(out, "kernel +add +a=f32%[256,512%], b=f32%[256,512%]")
  t.match(out, "total +%d+%.%d+ us  modelled; no device was used; trn2")
  t.match(out, "bottleneck %w+, active %d+%.%d %% of the time")
  t.match(out, "DMA +1%.6 MB")
  t.has(out, "next       nkiln query p.db --bounds")
  t.eq(listing(folder), "add.py p.db ")
  local facts <const> = {}
  for _, row in ipairs(rows(folder:full("p.db"), "select key, value from nkiln")) do facts[row.key] = row.value end
  t.eq({ facts.kind, facts.target, facts.entry }, { "modelled", "trn2", "add" })
  t.eq(select(2, folder:sh("stat -c %a p.db")), select(2, folder:sh(": > x; stat -c %a x")), "the user's mode for new files")
end)

t.test("JSON: figures with their units, absent where not known", function()
  local folder <const> = ready()
  local status <const>, out <const>, err <const> = folder:run("profile add.py " .. CASE .. " -o p.db --json --target trn3")
  t.eq(status, 0, err)
  local result <const> = json.decode(out)
  local one <const> = result.cases[1]
  t.eq({ result.ok, result.kind, result.target, one.kind, one.db }, { true, "modelled", "trn3", "modelled", folder:full("p.db") })
  t.ok(one.total_s > 0 and one.total_s < 1)
  t.eq(one.dma.bytes, 3 * 256 * 512 * 4)
  for _, row in ipairs(one.engines) do t.ok(row.active_fraction == nil or row.active_fraction >= 0 and row.active_fraction <= 1, row.engine) end
  t.ok(#one.notes > 0)
end)

t.test("several cases: one database each; without -o they lie in .nkiln", function()
  local folder <const> = ready()
  local both <const> = CASE .. " --case 'a=bf16[128,64], b=bf16[128,64]'"
  local status, out, err = folder:run("profile add.py " .. both .. " -o out.db")
  t.eq(status, 0, out .. err)
  t.eq(listing(folder), "add.py out.case1.db out.case2.db ")
  t.has(rows(folder:full("out.case2.db"), "select value from nkiln where key = 'case'")[1].value, "bf16")
  status, out, err = folder:run("profile add.py " .. CASE)
  t.eq(status, 0, out .. err)
  t.has(out, "profile    .nkiln/profiles/add.db")
  t.ok(folder:read(".nkiln/profiles/add.db"))
  t.eq(folder:read(".nkiln/.gitignore"), "*\n")
  t.has(select(2, folder:run("profile add.py " .. CASE .. " --entry add")), ".nkiln/profiles/add.add.db")
end)

t.test("names that a shell would take apart", function()
  local folder <const> = ready()
  folder:sh([[mkdir "a 'b" && cp add.py "a 'b/k 1.py"]])
  local status <const>, out <const>, err <const> = folder:run(([[profile "a 'b/k 1.py" %s -o "a 'b/p.db"]]):format(CASE))
  t.eq(status, 0, out .. err)
  t.ok(folder:read("a 'b/p.db"))
  t.has(out, [[nkiln query 'a '\''b/p.db' --bounds]])
end)

t.test("a task file names kernel and cases", function()
  local folder <const> = ready()
  folder:write("task.lua", 'return { kernel = "add.py", entry = "add", cases = { "a=f32[256,512], b=f32[256,512]" } }')
  local status <const>, out <const>, err <const> = folder:run("profile --task task.lua -o p.db")
  t.eq(status, 0, out .. err)
  t.ok(folder:read("p.db"))
end)

t.test("an earlier profile is replaced; anything else is kept", function()
  local folder <const> = ready()
  t.eq(folder:run("profile add.py " .. CASE .. " -o p.db"), 0)
  local first <const> = folder:read("p.db")
  t.eq(folder:run("profile add.py --case 'a=f32[128,64], b=f32[128,64]' -o p.db"), 0)
  t.ok(folder:read("p.db") ~= first)
  folder:write("notes.txt", "mine")
  local other <const> = assert(require("rt.db").open(folder:full("other.db")))
  assert(other:exec("create table nkiln (key text, value text); create table t (x)"))
  other:close()
  folder:sh("mkdir d; ln -s add.py link.db; mkfifo pipe; printf 'PAR1' > bin")
  local before <const> = folder:read("other.db")
  for _, row in ipairs {
    { "notes.txt", "is no profile of nkiln" }, { "other.db", "is no profile of nkiln" }, { "d", "this is a folder" }, { "add.py", "over the kernel" },
    { "./x/../add.py", "over the kernel" }, { "link.db", "over the kernel" }, { "pipe", "no regular file" }, { "/dev/null", "no regular file" },
    { "bin", "is no profile of nkiln" }, { "new/", "the name of a folder" },
    { "none/p.db", "does not exist" }, { "notes.txt/p.db", "" }, { "/proc/p.db", "cannot be written" },
  } do
    local status <const>, out <const>, err <const> = folder:run(("profile add.py %s -o %s"):format(CASE, row[1]))
    t.eq({ status, out }, { 2, "" }, row[1] .. ": " .. err)
    t.has(err, row[2], row[1])
    t.eq(select(2, err:gsub("\n", "")), 1, row[1])
  end
  t.eq({ folder:read("notes.txt"), folder:read("other.db"), folder:read("add.py") }, { "mine", before, KERNEL })
  folder:sh(": > empty")
  t.eq(folder:run("profile add.py " .. CASE .. " -o empty"), 0, "an empty file, as mktemp makes it, may be filled")
end)

t.test("a folder that may not be written", function()
  local folder <const> = ready()
  folder:sh("mkdir ro && chmod 555 ro")
  if folder:sh("touch ro/x 2>/dev/null") == 0 then
    folder:sh("rm -f ro/x")
    t.skip("this user may write everywhere")
  end
  local status <const>, _, err <const> = folder:run("profile add.py " .. CASE .. " -o ro/p.db")
  t.eq(status, 2, err)
  t.has(err, "ro/p.db")
end)

t.test("a full disk ends in one line and leaves nothing", function()
  local folder <const> = ready()
  folder:ready()
  local line <const> = ([[
unshare -rm sh -c 'mkdir small && mount -t tmpfs -o size=64k none small && cp add.py small/ && cd small && head -c 60k /dev/zero > fill &&
%s profile add.py %s -o p.db; echo status $?; ls']])
    :format(nkiln.quoted, CASE:gsub("'", '"'))
  local status <const>, out <const>, err <const> = folder:sh(line)
  if status ~= 0 then t.skip("no mounts of one's own here") end
  t.eq(out, "status 2\nadd.py\nfill\n", err)
  t.match(err, "^nkiln: [^\n]*[Nn]o space[^\n]*\n$")
end)

t.test("a kernel that does not build: its errors, status 1, no database", function()
  local folder <const> = ready()
  folder:write("bad.py", (KERNEL:gsub("data2=y", "data2=nope")))
  local status, out, err = folder:run("profile bad.py " .. CASE .. " -o p.db")
  t.eq(status, 1, out .. err)
  t.has(out, "nope")
  t.has(out, "no profile was written")
  t.eq(folder:read("p.db"), nil)
  status, out = folder:run("profile bad.py " .. CASE .. " -o p.db --json")
  t.eq(status, 1)
  t.eq(json.decode(out).ok, false)
end)

t.test("wrong use is one line and status 2", function()
  local folder <const> = ready()
  for _, row in ipairs {
    { "", "KERNEL.py is missing" }, { "add.py", "a case is needed" }, { "none.py " .. CASE, "no such file" }, { ". " .. CASE, "is a folder" },
    { "add.py --case 'a=f32[256'", "case" }, { "add.py --case 'a=f32[256,512]'", "`b`" }, { "add.py " .. CASE .. " --target trn9", "trn9" },
    { "add.py " .. CASE .. " --entry other", "other" }, { "add.py " .. CASE .. " --lnc 2", "--lnc has no meaning without --device" },
    { "add.py " .. CASE .. " --neff x.neff", "--ntff is missing" }, { "--import d --device", "--device has no meaning with --import" },
    { "--import none", "no such file" }, { "--import add.py", "takes the folder" },
    { "--import none.json", "no such file" }, { "--summary .", "takes a file" }, { "--summary none", "no such file" },
    { "--device --neff a --ntff b", "--ntff has no meaning with --device" }, { "--device", "KERNEL.py is missing" }, { "add.py --device", "a case is needed" },
    { "add.py " .. CASE .. " --capture-seconds 0 --device", "below 1" }, { "--import . --case 'a=1' --case 'a=2'", "one profile has one case" },
  } do
    local status <const>, out <const>, err <const> = folder:run("profile " .. row[1])
    t.eq({ status, out }, { 2, "" }, row[1] .. ": " .. err)
    t.has(err, row[2], row[1])
    t.eq(select(2, err:gsub("\n", "")), 1, row[1] .. ": " .. err)
  end
end)

t.test("the older full JSON comes in by --import", function()
  local folder <const> = ready()
  folder:write("ntff.json", [[{"instruction": [{"timestamp": 1000, "duration": 500, "label": "TensorMatrix", "opcode": "MATMUL", "operands": "",
 "nki_source_location": "add.py:12"}], "dma": [], "summary": [{"total_time": 2.0e-6, "tensor_engine_active_time_percent": 0.25}]}]])
  local status <const>, out <const>, err <const> = folder:run("profile --import ntff.json -o j.db --json")
  t.eq(status, 0, out .. err)
  local one <const> = json.decode(out).cases[1]
  t.eq({ one.kind, one.total_s, one.engines[1].engine, one.engines[1].active_fraction }, { "imported", 2e-6, "Tensor", 0.25 })
  t.eq(rows(folder:full("j.db"), "select duration_ns from Instruction")[1].duration_ns, 500)
end)

t.test("two at once write one database whole", function()
  local folder <const> = ready()
  local status <const>, out <const>, err <const> = folder:sh(("for i in 1 2 3; do %s profile add.py %s -o p.db >o$i 2>&1 & done; wait; "
    .. "cat o1 o2 o3 | grep -c '^total'"):format(nkiln.quoted, CASE))
  t.eq({ status, out }, { 0, "3\n" }, err)
  t.eq(#rows(folder:full("p.db"), "select * from Summary"), 1)
  t.eq(listing(folder), "add.py o1 o2 o3 p.db ")
end)

t.test("interrupted while the database is written: nothing is left of it", function()
  local folder <const> = ready()
  local out <const> = select(2, folder:sh(("%s profile add.py --case 'a=f32[1280000,64], b=f32[1280000,64]' -o p.db >o 2>e & pid=$!; "
    .. "for i in $(seq 2000); do ls p.db.part-* >/dev/null 2>&1 && break; sleep 0.01; done; kill -INT $pid; wait $pid; echo status $?"):format(nkiln.quoted)))
  t.eq(out, "status 130\n")
  t.eq(listing(folder), "add.py e o ")
end)

t.test("interrupted: status 130, the earlier profile as it was, nothing beside it", function()
  local folder <const> = ready()
  t.eq(folder:run("profile add.py --case 'a=f32[128,64], b=f32[128,64]' -o p.db"), 0)
  local before <const> = folder:read("p.db")
  -- Enough tiles for the run to take a while on any machine; it is stopped as soon as its worker is there.
  local out <const> = select(2, folder:sh(("%s profile add.py --case 'a=f32[64000000,64], b=f32[64000000,64]' -o p.db >o 2>e & pid=$!; "
    .. "for i in $(seq 200); do pgrep -P $pid >/dev/null && break; sleep 0.05; done; kill -INT $pid; wait $pid; echo status $?; cat e"):format(nkiln.quoted)))
  t.eq(out, "status 130\nnkiln: interrupted\n")
  t.eq(folder:read("p.db"), before)
  t.eq(listing(folder), "add.py e o p.db ")
end)
