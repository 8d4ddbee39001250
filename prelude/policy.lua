-- SPDX-License-Identifier: MIT
-- policy: the user's policy.lua, a workspace's rules, and task.lua. All three are data.
--
-- A data file is Lua text that returns a table. It runs without any name in reach and under a step limit (datafile.lua);
-- what it returns is checked here, key by key. A workspace's file is .kiro/nkiln-policy.lua; it can narrow rights, never
-- widen. Functions return nil, err (codes bad-policy, bad-task).

local datafile <const> = require "datafile"
local fault <const> = require "fault"
local permit <const> = require "permit"

local policy <const> = {}

policy.WORKSPACE_FILE = ".kiro/nkiln-policy.lua"
policy.MAX_FILE = 1 << 20

local policy_keys <const> = { "deny", "ask", "allow", "skills", "budget" }
local skill_keys <const> = { "override", "read", "write", "run", "net", "env" }

local function unknown_key(data, keys)
  local known <const> = {}
  for _, key in ipairs(keys) do known[key] = true end
  for key in pairs(data) do
    if not known[key] then
      local near <const> = fault.nearest(tostring(key), keys)
      return ("unknown key %s"):format(tostring(key)), near and ("did you mean %s?"):format(near) or "known keys: " .. table.concat(keys, ", ")
    end
  end
end

local function read(disk, path, code)
  local text <const>, err <const> = disk.read(path, policy.MAX_FILE)
  if not text then
    if err and err.code == "not_found" then return nil, nil, true end
    return nil, fault.new(code, "cannot be read: " .. fault.why(err), { where = path })
  end
  local data <const>, why <const> = datafile.run(text, path, code)
  if data == nil then return nil, why end
  if type(data) ~= "table" then return nil, fault.new(code, "must return a table", { where = path, hint = "return { ... }" }) end
  return data
end

local function compile(data, context, path, keys)
  local what <const>, hint <const> = unknown_key(data, keys)
  if what then return nil, fault.new("bad-policy", what, { where = path, hint = hint }) end
  local rules <const>, err <const> = permit.rules(data, context, path)
  if not rules then return nil, err end
  local skills <const> = {}
  if data.skills ~= nil and type(data.skills) ~= "table" then return nil, fault.new("bad-policy", "skills must be a table", { where = path }) end
  for name, grant in pairs(data.skills or {}) do
    if type(name) ~= "string" or type(grant) ~= "table" then
      return nil, fault.new("bad-policy", ("skills[%s] must be a table"):format(tostring(name)), { where = path })
    end
    local wrong <const>, why <const> = unknown_key(grant, skill_keys)
    if wrong then return nil, fault.new("bad-policy", ("skills[%q]: %s"):format(name, wrong), { where = path, hint = why }) end
    for _, key in ipairs(skill_keys) do
      local value <const> = grant[key]
      if key == "override" then
        if value ~= nil and type(value) ~= "boolean" then
          return nil, fault.new("bad-policy", ("skills[%q].override must be true or false"):format(name), { where = path })
        end
      elseif value ~= nil then
        if type(value) ~= "table" then return nil, fault.new("bad-policy", ("skills[%q].%s must be a list"):format(name, key), { where = path }) end
        for _, item in ipairs(value) do
          if type(item) ~= "string" then return nil, fault.new("bad-policy", ("skills[%q].%s must hold strings"):format(name, key), { where = path }) end
        end
      end
    end
    skills[name] = grant
  end
  return { rules = rules, skills = skills, budget = data.budget }
end

-- The rules in force: {user_rules, workspace_rules, skills, budget, notes}; nil, err when a file is there and wrong: then
-- nothing that needs rights may run. options: {disk, config, workspace, home}.
function policy.load(options)
  local context <const> = { workspace = options.workspace, home = options.home }
  local out <const> = { skills = {}, notes = {} }
  local path <const> = options.config and options.config .. "/policy.lua"
  if path then
    local data <const>, err <const> = read(options.disk, path, "bad-policy")
    if err then return nil, err end
    if data then
      local compiled <const>, why <const> = compile(data, context, path, policy_keys)
      if not compiled then return nil, why end
      out.user_rules, out.skills, out.budget = compiled.rules, compiled.skills, compiled.budget
    end
  end
  if options.workspace and options.workspace ~= options.home then
    local file <const> = options.workspace .. "/" .. policy.WORKSPACE_FILE
    local data <const>, err <const> = read(options.disk, file, "bad-policy")
    if err then return nil, err end
    if data then
      local compiled <const>, why <const> = compile(data, context, file, { "deny", "ask", "allow" })
      if not compiled then return nil, why end
      if #compiled.rules.allow > 0 then out.notes[#out.notes + 1] = file .. ": a workspace can only narrow rights; its allow rules do not count" end
      compiled.rules.allow = {}
      out.workspace_rules = compiled.rules
    end
  end
  return out
end

local task_keys <const> = {
  "kernel", "entry", "reference", "cases", "case", "tolerance", "target", "nki_version", "latency_us", "budget", "out", "python", "name",
  "seed", "inputs",
}
local text_keys <const> = {
  kernel = true, entry = true, reference = true, case = true, target = true, nki_version = true, out = true, python = true, name = true,
}

-- A task file: what it says, with paths made absolute from its own folder.
function policy.task(disk, path)
  local data <const>, err <const>, absent <const> = read(disk, path, "bad-task")
  if absent then
    return nil, fault.new("bad-task", "no such file", { where = path,
      hint = 'a task file is as in: return { kernel = "k.py", cases = { "x=f32[64,32]" }, reference = "ref.py" }' })
  end
  if not data then return nil, err end
  local what <const>, hint <const> = unknown_key(data, task_keys)
  if what then return nil, fault.new("bad-task", what, { where = path, hint = hint }) end
  for key in pairs(text_keys) do
    if data[key] ~= nil and type(data[key]) ~= "string" then return nil, fault.new("bad-task", key .. " must be a text", { where = path }) end
  end
  local cases <const> = data.cases
  if cases ~= nil then
    local good = type(cases) == "table"
    for i = 1, good and #cases or 0 do good = good and type(cases[i]) == "string" end
    if not good or #cases == 0 then
      return nil, fault.new("bad-task", "cases must be a list of texts", { where = path, hint = 'cases = { "x=bfloat16[256,1024]" }' })
    end
  end
  if data.budget ~= nil then
    local good = type(data.budget) == "table"
    for key, value in pairs(good and data.budget or {}) do good = good and type(key) == "string" and type(value) == "number" and value >= 0 end
    if not good then
      return nil, fault.new("bad-task", "budget must be a table of numbers", { where = path, hint = "budget = { seconds = 60, iterations = 10 }" })
    end
  end
  local folder <const> = path:match("^(.*)/[^/]*$") or "."
  for _, key in ipairs { "kernel", "reference", "out" } do
    if data[key] then data[key] = permit.absolute(data[key], folder) end
  end
  data.file = path
  return data
end

return policy
