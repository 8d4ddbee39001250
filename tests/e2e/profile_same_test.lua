-- SPDX-License-Identifier: MIT
-- One kind of profile database, two producers: a modelled profile is written as Parquet by a program of its own, comes back
-- through the whole device chain, and must have the same cells and give the same answers to every question.

local t <const> = require "tests.lib"
local nkiln <const> = require "tests.e2e.nkiln"
local json <const> = require "rt.json"

local KERNEL <const> = nkiln.root .. "/tests/kernels/profile/swiglu_naive.py"
local CASE <const> = "--case 'x_t=bf16[512,128], w_gate=bf16[512,1024], w_up=bf16[512,1024], w_down=bf16[1024,512]'"

local function open(folder, name) return assert(require("rt.db").open(folder:full(name), { readonly = true })) end

-- What differs by right: how it was made, and the notes of each way.
local OWN <const> = { nkiln = true, nkiln_notes = true, nkiln_source = true }

t.test("a capture that saw exactly what the model says has the same tables and gives the same answers", function()
  local folder <const> = nkiln.folder()
  folder:sh("mkdir run; cp " .. KERNEL .. " swiglu.py")
  local status, out, err = folder:run(("profile swiglu.py %s -o model.db"):format(CASE))
  t.eq(status, 0, out .. err)
  status = folder:sh(nkiln.root .. "/tests/standins/make_env.sh env 2>/dev/null")
  if status ~= 0 then t.skip("no venv module") end
  folder:write("add.py", "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef add(a):\n    return nl.load(a)\n")
  status, out, err = folder:sh(("export PATH=%s/tests/standins/bin:$PATH XDG_RUNTIME_DIR=$PWD/run STANDIN_PROFILE=$PWD/model.db\n"
    .. "%s profile add.py --case 'a=f32[4,4]' --device --python $PWD/env -o device.db"):format(nkiln.root, nkiln.quoted))
  t.eq(status, 0, out .. err)

  local a <const>, b <const> = open(folder, "model.db"), open(folder, "device.db")
  local cells = 0
  for _, row in ipairs(a:query("select name from sqlite_master where type = 'table' order by name")) do
    if not OWN[row.name] then
      local mine <const>, names <const> = a:query(('select * from "%s" order by rowid'):format(row.name))
      local theirs <const>, why <const> = b:query(('select * from "%s" order by rowid'):format(row.name))
      t.ok(theirs, row.name .. ": " .. tostring(why and why.message))
      t.eq(#theirs, #mine, row.name)
      for i, one in ipairs(mine) do
        for _, name in ipairs(names) do
          cells = cells + 1
          if one[name] ~= theirs[i][name] then
            t.eq(theirs[i][name], one[name], ("%s row %d, %s"):format(row.name, i, name))
          end
        end
      end
    end
  end
  a:close()
  b:close()
  t.ok(cells > 10000, cells .. " cells compared")

  for _, question in ipairs { "--bounds", "--investigate all", "--lines" } do
    local answers <const> = {}
    for i, name in ipairs { "model.db", "device.db" } do
      status, out, err = folder:run(("query %s %s --json"):format(name, question))
      t.eq(status, 0, question .. ": " .. out .. err)
      local answer <const> = json.decode(out)
      answers[i] = answer
      -- Which profile it was, and what each way cannot know, differ by right.
      for _, key in ipairs { "profile", "path", "identity", "kind", "notes", "provenance", "text", "sure" } do answer[key] = nil end
    end
    t.ok(json.encode(answers[2], { sort = true }) == json.encode(answers[1], { sort = true }), question .. ": other answers")
  end
end)
