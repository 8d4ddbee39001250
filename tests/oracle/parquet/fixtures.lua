-- SPDX-License-Identifier: MIT
-- Parquet fixtures, made once per build folder by packages of npm: fixtures.make() -> folder, or nil and why not.

local HERE <const> = "tests/oracle/parquet"
local HOME <const> = "build/npm" -- node looks for packages beside the script
local fixtures <const> = { HOME = HOME }

local function run(command)
  local ok <const>, _, code <const> = os.execute(command)
  return ok == true, code
end

local function same_file(a, b) return run(("cmp -s %s %s"):format(a, b)) end

-- node with the packages of package.json, ready to run scripts of HERE: true, or nil and why not.
function fixtures.node()
  if os.getenv("NKILN_NODE") == "none" or not run("command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1") then
    return nil, "node and npm are not here"
  end
  if not run(("mkdir -p %s"):format(HOME)) then return nil, HOME .. " cannot be made" end
  if not (same_file(HERE .. "/package.json", HOME .. "/package.json") and run(("test -e %s/complete"):format(HOME))) then
    local log <const> = HOME .. "/install.log"
    local npm <const> = "timeout 240 npm install --no-audit --no-fund --no-package-lock --fetch-retries=2 --fetch-timeout=60000 >install.log 2>&1"
    local ok <const> = run(("cp %s/package.json %s/ && cd %s && rm -f complete && %s && touch complete"):format(HERE, HOME, HOME, npm))
    if not ok then return nil, "npm could not install the packages (see " .. log .. ")" end
  end
  return true
end

local made, missing -- found out once per run

local function make()
  local ready <const>, why <const> = fixtures.node()
  if not ready then return nil, why end
  local folder <const> = HOME .. "/parquet"
  if not (same_file(HERE .. "/make.mjs", HOME .. "/make.mjs") and run(("test -e %s/expected.json"):format(folder))) then
    local ok <const> = run(("rm -rf %s && cp %s/make.mjs %s/ && timeout 300 node %s/make.mjs %s >%s/make.log 2>&1")
      :format(folder, HERE, HOME, HOME, folder, HOME))
    if not ok then return nil, "node could not make the files (see " .. HOME .. "/make.log)" end
  end
  return folder
end

function fixtures.make()
  if not made and not missing then made, missing = make() end
  return made, missing
end

return fixtures
