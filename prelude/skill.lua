-- SPDX-License-Identifier: MIT
-- skill: the declaration of a skill, and what follows from it.
--
-- A skill file returns skill { name, alias, description, params, permits, budget, run }. `params` is a list made with the
-- helpers below, so order is meaning: parameters that must be given are positional on the command line, in order. The
-- command line (params.lua), help text, the tool schema for MCP and models, and the checks of a call from another skill
-- all read the same list. A wrong declaration raises, with every problem in the message; the caller turns that into a
-- report and keeps the generation it had.

local params <const> = require "params"

local skill <const> = {}
local mt <const> = { __name = "skill" }

skill.helpers = params.helpers
skill.MAX_NAME, skill.MAX_DESCRIPTION = 64, 1024

local known <const> = {
  name = "string", alias = "string", description = "string", version = "string", params = "table", permits = "table",
  budget = "table", run = "function", examples = "table", text = "function",
}
local permit_keys <const> = { read = true, write = true, run = true, net = true, env = true }
local budget_keys <const> = { seconds = true, iterations = true, tokens = true, dollars = true, device_seconds = true, steps = true, memory_mb = true }

-- Problems of a name by the Agent Skills rules; nil when there is none.
function skill.name_problem(name)
  if type(name) ~= "string" or name == "" then return "name is missing" end
  if #name > skill.MAX_NAME then return ("name has %d characters, at most %d are allowed"):format(#name, skill.MAX_NAME) end
  if not name:find("^[a-z0-9-]+$") then return ("name %q: only lower-case letters, digits and hyphens are allowed"):format(name) end
  if name:find("^%-") or name:find("%-$") or name:find("--", 1, true) then
    return ("name %q: a hyphen may not stand first, last or twice in a row"):format(name)
  end
end

local function string_list(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for _ in pairs(value) do n = n + 1 end
  for i = 1, n do
    if type(value[i]) ~= "string" then return false end
  end
  return true
end

-- Every problem of a declaration, as a list of sentences. `kind` is "skill" or "agent" (for the wording).
function skill.problems(decl, kind)
  kind = kind or "skill"
  local out <const> = {}
  local function bad(...) out[#out + 1] = (...):format(select(2, ...)) end
  if type(decl) ~= "table" then return { kind .. " { ... } expects a table" } end
  local name_problem <const> = skill.name_problem(decl.name)
  if name_problem then out[1] = name_problem end
  if decl.alias ~= nil and (type(decl.alias) ~= "string" or not decl.alias:find("^[a-z][a-z0-9-]*$")) then
    bad("alias must be lower-case letters, digits and hyphens")
  end
  if type(decl.description) ~= "string" or not decl.description:find("%S") then
    bad("description is missing: say what the %s does and when to use it", kind)
  elseif #decl.description > skill.MAX_DESCRIPTION then
    bad("description has %d characters, at most %d are allowed", #decl.description, skill.MAX_DESCRIPTION)
  end
  if kind == "skill" then
    if type(decl.run) ~= "function" then bad("run must be a function (ctx, args)") end
    for key, value in pairs(decl) do
      local want <const> = known[key]
      if not want then
        bad("unknown field %s", tostring(key))
      elseif type(value) ~= want and key ~= "run" and key ~= "alias" and key ~= "name" and key ~= "description" then
        bad("%s must be a %s", key, want)
      end
    end
  end
  if type(decl.params) == "table" then
    for _, problem in ipairs(params.problems(decl.params)) do out[#out + 1] = problem end
  end
  if type(decl.permits) == "table" then
    for key, value in pairs(decl.permits) do
      if not permit_keys[key] then
        bad("permits.%s is unknown (read, write, run, net, env)", tostring(key))
      elseif not string_list(value) then
        bad("permits.%s must be a list of strings", key)
      end
    end
  end
  if type(decl.budget) == "table" then
    for key, value in pairs(decl.budget) do
      if not budget_keys[key] then
        bad("budget.%s is unknown (seconds, iterations, tokens, dollars, device_seconds, steps, memory_mb)", tostring(key))
      elseif type(value) ~= "number" or value < 0 or value ~= value then
        bad("budget.%s must be a number, 0 or more", key)
      end
    end
  end
  table.sort(out)
  return out
end

-- Declare. Raises a table {code="bad-skill", message=, problems={...}} when the declaration is wrong.
function skill.declare(decl)
  local problems <const> = skill.problems(decl)
  if #problems > 0 then
    error({ code = "bad-skill", message = table.concat(problems, "; "), problems = problems }, 0)
  end
  local made <const> = {}
  for k, v in pairs(decl) do made[k] = v end
  made.params, made.permits, made.budget = decl.params or {}, decl.permits or {}, decl.budget or {}
  made.kind = "skill"
  return setmetatable(made, mt)
end

function skill.is(value) return getmetatable(value) == mt end

-- JSON schema of the arguments, for MCP and model tools.
function skill.schema(decl) return params.schema(decl.params or {}) end

-- A tool as MCP and models know it.
function skill.tool(decl)
  return { name = decl.name, description = decl.description, inputSchema = skill.schema(decl) }
end

-- One line: nkiln profile KERNEL [--target trn2|trn3] ...
function skill.usage(decl, command) return params.usage(decl.params or {}, command or ("nkiln " .. (decl.alias or decl.name))) end

-- The help text of a skill or command.
function skill.help(decl, command)
  local lines <const> = { skill.usage(decl, command), "" }
  for _, line in ipairs(params.wrap(decl.description, 96)) do lines[#lines + 1] = line end
  local rows <const> = params.help_lines(decl.params or {})
  if #rows > 0 then
    lines[#lines + 1] = ""
    for _, row in ipairs(rows) do lines[#lines + 1] = row end
  end
  lines[#lines + 1] = ""
  for _, row in ipairs(params.common_lines()) do lines[#lines + 1] = row end
  if decl.examples and #decl.examples > 0 then
    lines[#lines + 1] = ""
    lines[#lines + 1] = "Examples"
    for _, example in ipairs(decl.examples) do lines[#lines + 1] = "  " .. example end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The names a skill file sees beside the safe libraries: skill, agent's twin is added by the loader.
function skill.environment(env)
  env = env or {}
  for name, helper in pairs(params.helpers) do env[name] = helper end
  env.skill = skill.declare
  return env
end

return setmetatable(skill, { __call = function(_, decl) return skill.declare(decl) end })
