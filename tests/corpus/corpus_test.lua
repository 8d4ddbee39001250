-- SPDX-License-Identifier: MIT
-- Public kernels from a checkout named by NKILN_CORPUS (a folder that holds aws-neuron-sdk and nki-samples, or parts of
-- them under any names: files are found by the end of their path). Facts are in kernels.lua.

local t <const> = require "tests.lib"
local judge <const> = require "tests.kernels.judge"
local kernels <const> = require "tests.corpus.kernels"
local case <const> = require "nki.case"
local fs <const> = require "rt.fs"
local session <const> = require "nki.session"

local corpus <const> = os.getenv("NKILN_CORPUS")
local files <const> = {}
if corpus then
  local pipe <const> = assert(io.popen("find -L " .. t.quote(corpus) .. " -name '*.py' -type f 2>/dev/null"))
  for path in pipe:lines() do files[#files + 1] = path end
  pipe:close()
  table.sort(files)
end

local function find(row)
  for _, path in ipairs(files) do
    if path:sub(-#row.path - 1) == "/" .. row.path then return path end
  end
  return nil
end

for _, row in ipairs(kernels) do
  t.test(("%s %s %s"):format(row.repo, row.path:match("[^/]+$"), row.entry or row.code), function()
    if not corpus then t.skip("NKILN_CORPUS is not set") end
    local path <const> = find(row)
    if not path then t.skip(row.path .. " is not in NKILN_CORPUS") end
    if row.sha256 and fs.sha256(t.read(path)) ~= row.sha256 then print("note  " .. row.path .. " differs from the version these facts describe") end
    if row.code then
      local result <const> = session.run { path = path, entry = row.entry, case = assert(case.parse(row.case)), execute = false }
      t.eq(result.ok, false)
      t.eq(result.diagnostics[1].code, row.code)
      t.eq(#result.diagnostics, 1)
      return
    end
    if not judge.available() then t.skip("no /usr/bin/python3 with NumPy") end
    local answer <const> = judge.run { path = path, entry = row.entry, case = row.case, expression = row.reference, signs = row.signs }
    local narrow <const> = row.case:find("bfloat16") and 3e-2 or row.case:find("float16") and 4e-3 or 2e-5
    t.ok(answer.exact <= 1e-9, ("exact mode differs by %g"):format(answer.exact))
    t.ok(answer.chip <= narrow, ("chip mode differs by %g"):format(answer.chip))
  end)
end
