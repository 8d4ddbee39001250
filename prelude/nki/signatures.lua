-- SPDX-License-Identifier: MIT
-- The signature tables as the fixes read them: which parameters a function has, which names a module holds. The tables
-- themselves are isa.lua and language.lua.
--
--   signatures.params("nki.isa.tensor_copy")  -> {"dst", "src", "engine", "name"} or nil
--   signatures.row(full)                      -> the table's row or nil
--   signatures.catalogue()                    -> {["nki.isa"]={names}, ["nki.language"]={names}}
--   signatures.text(full)                     -> "nisa.tensor_copy(dst, src, engine=engine.unknown, name=None)"

local isa <const> = require "nki.isa"
local language <const> = require "nki.language"

local signatures <const> = {}

local TABLES <const> = { ["nki.isa"] = isa, ["nki.language"] = language }
local SHORT <const> = { ["nki.isa"] = "nisa", ["nki.language"] = "nl" }

function signatures.row(full)
  local module <const>, name <const> = (full or ""):match("^(nki%.%a+)%.([%w_]+)$")
  local from <const> = module and TABLES[module]
  return from and from.functions[name] or nil, module, name
end

function signatures.params(full)
  local row <const> = signatures.row(full)
  if not row or not row.params then return nil end
  local list <const> = {}
  for i, param in ipairs(row.params) do list[i] = param.name end
  return list
end

local known
function signatures.catalogue()
  if known then return known end
  known = {}
  for module, from in pairs(TABLES) do
    local list <const>, seen <const> = {}, {}
    local function add(name)
      if type(name) == "string" and not seen[name] then
        seen[name] = true
        list[#list + 1] = name
      end
    end
    for key, part in pairs(from) do
      if type(part) == "table" and key ~= "aliases" and key ~= "constants" then
        for name, value in pairs(part) do
          if type(name) == "string" then add(name) elseif type(value) == "table" and value.name then add(value.name) end
          if math.type(name) == "integer" and type(value) == "string" then add(value) end
        end
      end
    end
    table.sort(list)
    known[module] = list
  end
  return known
end

function signatures.text(full)
  local row <const>, module <const>, name <const> = signatures.row(full)
  if not row or not row.params then return nil end
  local parts <const> = {}
  for i, param in ipairs(row.params) do
    parts[i] = param.required and param.name or ("%s=%s"):format(param.name, tostring(param.default))
  end
  return ("%s.%s(%s)"):format(SHORT[module], name, table.concat(parts, ", "))
end

return signatures
