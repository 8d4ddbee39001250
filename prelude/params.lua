-- SPDX-License-Identifier: MIT
-- params: one list of parameters, and its four uses: command line, help text, JSON schema, check of a table of arguments.
--
-- A parameter is {name=, kind=, doc=, required=, default=, ...}; the helpers make one. Kinds: path, text, number, integer,
-- flag, choice, list (of a scalar kind), data (any JSON value). A required parameter is positional; any other is a flag.
-- On the command line a name's underscores are hyphens. Functions that read user input return nil, err (code "usage").

local fault <const> = require "fault"

local params <const> = {}
local helpers <const> = {}
params.helpers = helpers

local option_keys <const> = {
  default = true, optional = true, positional = true, short = true, metavar = true, min = true, max = true, task = true, hidden = true,
  doc = true, output = true, siblings = true, files = true,
}

local function make(kind, name, doc, options, extra)
  if type(doc) == "table" then doc, options = doc.doc, doc end
  local p <const> = { kind = kind, name = name, doc = doc }
  for k, v in pairs(options or {}) do
    if not option_keys[k] then error({ code = "bad-skill", message = ("parameter %s: unknown option %s"):format(tostring(name), tostring(k)) }, 0) end
    p[k] = v
  end
  for k, v in pairs(extra or {}) do p[k] = v end
  p.required = p.default == nil and not p.optional
  return p
end

-- A file or folder. Relative names are taken from the folder the command was given in. Options: output (it is written;
-- "beside": by making it under another name in its folder and renaming it), siblings (its folder may be read as well).
function helpers.path(name, doc, options) return make("path", name, doc, options) end
-- Options: files (it may name files to read, as a case does: x=@x.npy).
function helpers.text(name, doc, options) return make("text", name, doc, options) end
-- Options: min, max.
function helpers.number(name, doc, options) return make("number", name, doc, options) end
function helpers.integer(name, doc, options) return make("integer", name, doc, options) end
-- A switch; false unless given.
function helpers.flag(name, doc, options)
  local p <const> = make("flag", name, doc, options)
  if p.default == nil then p.default = false end
  p.required = false
  return p
end
-- choice("target", { "trn2", "trn3" }, "trn2", "the chip"): the third is the default (nil: must be given).
function helpers.choice(name, choices, default, doc, options)
  local extra <const> = { choices = choices }
  local p <const> = make("choice", name, doc, options, extra)
  if default ~= nil then p.default, p.required = default, false end
  return p
end
-- Any JSON value; on the command line its JSON text.
function helpers.data(name, doc, options) return make("data", name, doc, options) end
-- list(text("case", "one call of the kernel"), { min = 1 }): may be given again and again. Optional unless min >= 1.
function helpers.list(item, options)
  if type(item) ~= "table" or not item.kind then
    error({ code = "bad-skill", message = "list(...) expects a parameter, as in list(text(\"case\", \"...\"))" }, 0)
  end
  options = options or {}
  local p <const> = make("list", item.name, item.doc, options, { item = item })
  for _, key in ipairs { "short", "metavar", "task", "positional" } do
    if p[key] == nil then p[key] = item[key] end
  end
  p.min = options.min or 0
  p.required = p.min > 0
  if p.positional == nil then p.positional = false end
  return p
end

local function is_sequence(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for _ in pairs(value) do n = n + 1 end
  return n == #value
end

local function positional(p)
  if p.positional ~= nil then return p.positional end
  return p.required and p.kind ~= "flag" and p.kind ~= "list"
end
params.is_positional = positional

local function option_name(p) return "--" .. p.name:gsub("_", "-") end

-- Every problem of a list of parameters.
function params.problems(list)
  local out <const>, seen <const> = {}, {}
  local optional_positional, rest
  for i, p in ipairs(list) do
    if type(p) ~= "table" or not p.kind then
      out[#out + 1] = ("params[%d] is not a parameter (use path, text, number, integer, choice, flag, list, data)"):format(i)
    elseif type(p.name) ~= "string" or not p.name:find("^[a-z][a-z0-9_]*$") then
      out[#out + 1] = ("params[%d]: the name must be lower-case letters, digits and underscores"):format(i)
    else
      if seen[p.name] then out[#out + 1] = ("params[%d]: the name %s is used twice"):format(i, p.name) end
      seen[p.name] = true
      if params.common[p.name] then out[#out + 1] = ("params[%d]: the name %s is taken by a flag of every command"):format(i, p.name) end
      if p.doc ~= nil and type(p.doc) ~= "string" then out[#out + 1] = ("%s: the description must be a string"):format(p.name) end
      if p.kind == "choice" and (not is_sequence(p.choices) or #p.choices == 0) then
        out[#out + 1] = ("%s: choices must be a list of strings"):format(p.name)
      elseif p.default ~= nil then
        local ok <const>, err <const> = params.check_value(p, p.default)
        if ok == nil then out[#out + 1] = "default of " .. err.message end
      end
      if positional(p) then
        if rest then out[#out + 1] = ("%s: no positional parameter may follow the list %s"):format(p.name, rest) end
        if p.kind == "list" then rest = p.name end
        if p.required and optional_positional then
          out[#out + 1] = ("%s: a required positional parameter follows the optional %s"):format(p.name, optional_positional)
        end
        if not p.required then optional_positional = p.name end
      end
    end
  end
  if #list == 0 and next(list) ~= nil then out[#out + 1] = "params must be a list" end
  return out
end

-- Flags that every command has.
params.common = {
  json = { kind = "flag", name = "json", doc = "put one JSON value on stdout" },
  task = { kind = "path", name = "task", metavar = "TASK.lua", doc = "take the arguments from a task file: return { kernel = \"k.py\", cases = { ... } }" },
  trust = { kind = "flag", name = "trust", doc = "trust this workspace's skills for this run" },
  budget = { kind = "text", name = "budget", metavar = "KEY=N,...", doc = "limits: seconds, iterations, tokens, dollars, ..." },
  quiet = { kind = "flag", name = "quiet", short = "q", doc = "no progress on stderr" },
  help = { kind = "flag", name = "help", short = "h", doc = "this text" },
}
local common_order <const> = { "json", "task", "budget", "trust", "quiet", "help" }

local function usage_error(message, fields) return nil, fault.new("usage", message, fields) end

-- Check one value of the right Lua type; returns it (numbers made integers where asked) or nil, err.
function params.check_value(p, value)
  local kind <const> = p.kind
  local function wrong(what)
    local shown <const> = type(value) == "string" and ("%q"):format(value) or tostring(value)
    return usage_error(("%s: expected %s, got %s"):format(p.name, what, shown))
  end
  if kind == "path" or kind == "text" then
    if type(value) ~= "string" then return wrong(kind == "path" and "a file name" or "a text") end
    if kind == "path" and (value == "" or value:find("\0", 1, true)) then return wrong("a file name") end
    return value
  elseif kind == "number" or kind == "integer" then
    if type(value) ~= "number" or value ~= value then return wrong(kind == "integer" and "a whole number" or "a number") end
    if kind == "integer" then
      local whole <const> = math.tointeger(value)
      if not whole then return wrong("a whole number") end
      value = whole
    end
    if p.min and value < p.min then return usage_error(("%s: %s is below %s"):format(p.name, value, p.min)) end
    if p.max and value > p.max then return usage_error(("%s: %s is above %s"):format(p.name, value, p.max)) end
    return value
  elseif kind == "flag" then
    if type(value) ~= "boolean" then return wrong("true or false") end
    return value
  elseif kind == "choice" then
    for _, choice in ipairs(p.choices) do
      if choice == value then return value end
    end
    local near <const> = type(value) == "string" and fault.nearest(value, p.choices)
    return usage_error(("%s: %s is not one of %s"):format(p.name, tostring(value), table.concat(p.choices, ", ")),
      { hint = near and "did you mean " .. near .. "?" or nil })
  elseif kind == "list" then
    if not is_sequence(value) then value = { value } end
    local out <const> = {}
    for i, item in ipairs(value) do
      local ok <const>, err <const> = params.check_value(p.item, item)
      if ok == nil then return nil, err end
      out[i] = ok
    end
    if #out < (p.min or 0) then return usage_error(("%s: at least %d needed, %d given"):format(p.name, p.min, #out)) end
    return out
  elseif kind == "data" then
    return value
  end
  return usage_error(("%s: unknown kind %s"):format(p.name, tostring(kind)))
end

-- Check a table of arguments (a call by another skill, an agent, MCP or a model): defaults filled in, unknown names and
-- wrong types refused. Returns a new table or nil, err.
function params.check(list, args)
  local out <const>, by_name <const>, names <const> = {}, {}, {}
  for i, p in ipairs(list) do by_name[p.name], names[i] = p, p.name end
  for key, value in pairs(args or {}) do
    local p <const> = by_name[key]
    if not p then
      local near <const> = fault.nearest(tostring(key), names)
      return usage_error(("unknown argument %s"):format(tostring(key)),
        { hint = near and "did you mean " .. near .. "?" or (#names > 0 and "known: " .. table.concat(names, ", ") or "it takes none") })
    end
    local checked <const>, err <const> = params.check_value(p, value)
    if checked == nil then return nil, err end
    out[key] = checked
  end
  for _, p in ipairs(list) do
    if out[p.name] == nil then
      if p.required then return usage_error(("%s is missing"):format(p.name), { hint = p.doc, parameter = p.name }) end
      if p.default ~= nil then
        out[p.name] = p.default
      elseif p.kind == "list" then
        out[p.name] = {}
      end
    end
  end
  return out
end

-- Text of the command line -> value.
local function convert(p, word, given_as)
  local kind <const> = p.kind
  if kind == "number" or kind == "integer" then
    local value <const> = word:find("^[+-]?[%d.]") and not word:find("^[+-]?0[xX]") and tonumber(word) or nil
    if not value then return usage_error(("%s: expected a %snumber, got %q"):format(given_as, kind == "integer" and "whole " or "", word)) end
    return params.check_value(p, value)
  elseif kind == "data" then
    local json <const> = require "rt.json"
    local value <const>, err <const> = json.decode(word)
    if value == nil and err then return usage_error(("%s: not JSON: %s"):format(given_as, type(err) == "table" and err.message or tostring(err))) end
    return value
  elseif kind == "list" then
    return convert(p.item, word, given_as)
  end
  return params.check_value(p, word)
end

local function parse_budget(text)
  local out <const> = {}
  for part in text:gmatch("[^,]+") do
    local key <const>, number <const> = part:match("^%s*([%a_]+)%s*=%s*([%d.]+)%s*$")
    if not key or not tonumber(number) then
      return usage_error(("--budget: expected KEY=N, got %q"):format(part), { hint = "as in --budget seconds=60,iterations=5" })
    end
    local kinds <const> = require("budget").kinds
    local known = false
    for _, kind in ipairs(kinds) do known = known or kind == key end
    if not known then
      local near <const> = fault.nearest(key, kinds)
      return usage_error(("--budget: there is no budget of %s"):format(key),
        { hint = near and "did you mean " .. near .. "?" or "there are " .. table.concat(kinds, ", ") })
    end
    out[key] = tonumber(number)
  end
  return out
end

-- Parse words. Returns args (only what was given), common (json, trust, task, budget, quiet, help), or nil, err.
-- `options.pass` names a positional list that takes every word from its place on, flags included (nkiln run SCRIPT ...).
function params.parse(list, words, options)
  options = options or {}
  local args <const>, common <const> = {}, {}
  local flags <const>, shorts <const>, places <const>, names <const> = {}, {}, {}, {}
  for _, p in ipairs(list) do
    flags[option_name(p)] = p
    names[#names + 1] = option_name(p)
    if p.short then shorts[p.short] = p end
    if positional(p) then places[#places + 1] = p end
  end
  for _, name in ipairs(common_order) do
    local p <const> = params.common[name]
    flags["--" .. name] = flags["--" .. name] or p
    names[#names + 1] = "--" .. name
    if p.short and not shorts[p.short] then shorts[p.short] = p end
  end
  local function store(p, value, given_as)
    local target <const> = params.common[p.name] == p and common or args
    if p.kind == "list" then
      target[p.name] = target[p.name] or {}
      table.insert(target[p.name], value)
    else
      if target[p.name] ~= nil and p.kind ~= "flag" then return usage_error(("%s is given twice"):format(given_as)) end
      target[p.name] = value
    end
    return true
  end
  local place, i, only_words = 1, 1, false
  while i <= #words do
    local word <const> = words[i]
    i = i + 1
    if not only_words and word == "--" then
      only_words = true
    elseif not only_words and word:find("^%-") and word ~= "-" and not word:find("^%-[%d.]") then
      local name, value = word:match("^(%-%-[^=]+)=(.*)$")
      name = name or word
      local p = flags[name]
      local negated = false
      if not p and name:find("^%-%-no%-") and flags["--" .. name:sub(6)] and flags["--" .. name:sub(6)].kind == "flag" then
        p, negated = flags["--" .. name:sub(6)], true
      end
      if not p and #word == 2 then p = shorts[word:sub(2)] end
      if not p then
        local near <const> = fault.nearest(name, names)
        return usage_error(("unknown flag %s"):format(name), { hint = near and "did you mean " .. near .. "?" or nil })
      end
      if p.kind == "flag" then
        if value and value ~= "true" and value ~= "false" then return usage_error(("%s takes no value"):format(name)) end
        local on = not negated
        if value == "false" then on = not on end
        local ok <const>, err <const> = store(p, on, name)
        if not ok then return nil, err end
      else
        if not value then
          value = words[i]
          if value == nil then return usage_error(("%s needs a value"):format(name), { hint = p.doc }) end
          i = i + 1
        end
        local converted <const>, err <const> = convert(p, value, name)
        if converted == nil and err then return nil, err end
        local ok <const>, twice <const> = store(p, converted, name)
        if not ok then return nil, twice end
      end
    else
      local p <const> = places[place]
      if not p then
        return usage_error(("one argument too many: %q"):format(word), { hint = #places > 0 and "it takes " .. #places or "it takes none" })
      end
      local converted <const>, err <const> = convert(p, word, p.name)
      if converted == nil and err then return nil, err end
      local ok <const>, twice <const> = store(p, converted, p.name)
      if not ok then return nil, twice end
      if p.kind == "list" then
        if options.pass == p.name then
          for k = i, #words do table.insert(args[p.name], words[k]) end
          break
        end
      else
        place = place + 1
        if places[place] and options.pass == places[place].name then only_words = true end
      end
    end
  end
  if common.budget then
    local budget <const>, err <const> = parse_budget(common.budget)
    if not budget then return nil, err end
    common.budget = budget
  end
  return args, common
end

-- Fill what was not given from a task: the parameter's own name, its `task` name, or the plural.
function params.from_task(list, args, task)
  if not task then return args end
  for _, p in ipairs(list) do
    if args[p.name] == nil then
      local value = task[p.task or p.name]
      if value == nil then value = task[p.name .. "s"] end
      if value ~= nil and p.kind == "list" and not is_sequence(value) then value = { value } end
      if value ~= nil then args[p.name] = value end
    end
  end
  return args
end

local scalar_schema <const> = {
  path = { type = "string" }, text = { type = "string" }, number = { type = "number" }, integer = { type = "integer" },
  flag = { type = "boolean" }, choice = { type = "string" },
}

local function schema_of(p)
  local out <const> = {}
  for k, v in pairs(scalar_schema[p.kind] or {}) do out[k] = v end
  if p.kind == "choice" then out.enum = p.choices end
  if p.kind == "list" then
    out.type, out.items = "array", schema_of(p.item)
    out.items.description = nil
    if p.min and p.min > 0 then out.minItems = p.min end
  elseif p.kind == "number" or p.kind == "integer" then
    out.minimum, out.maximum = p.min, p.max
  end
  out.description = p.doc
  if p.default ~= nil then out.default = p.default end
  return out
end

-- JSON schema of the arguments. `required` is left out when nothing is required, so that it is never an empty object.
function params.schema(list)
  local properties <const>, required <const> = {}, {}
  for _, p in ipairs(list) do
    properties[p.name] = schema_of(p)
    if p.required then required[#required + 1] = p.name end
  end
  return { type = "object", properties = properties, required = #required > 0 and required or nil, additionalProperties = false }
end

local function metavar(p)
  if p.metavar then return p.metavar end
  if p.kind == "choice" then return table.concat(p.choices, "|") end
  if p.kind == "list" then return metavar(p.item) end
  if p.kind == "number" or p.kind == "integer" then return "N" end
  if p.kind == "data" then return "JSON" end
  return (p.name:upper():gsub("_", "-"))
end

function params.usage(list, command)
  local parts <const> = { "usage: " .. command }
  for _, p in ipairs(list) do
    if not p.hidden and positional(p) then
      local name <const> = p.name:upper():gsub("_", "-") .. (p.kind == "list" and "..." or "")
      parts[#parts + 1] = p.required and name or "[" .. name .. "]"
    end
  end
  for _, p in ipairs(list) do
    if not p.hidden and not positional(p) then
      local text = option_name(p)
      if p.kind ~= "flag" then text = text .. " " .. metavar(p) end
      if not p.required then text = "[" .. text .. "]" end
      if p.kind == "list" then text = text .. "..." end
      parts[#parts + 1] = text
    end
  end
  -- A part with its value stays on one line.
  local lines <const>, line = {}, ""
  for _, part in ipairs(parts) do
    if line ~= "" and #line + 1 + #part > 110 then
      lines[#lines + 1] = line
      line = "         " .. part
    else
      line = line == "" and part or line .. " " .. part
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- Fold words into lines of at most `width` characters; line ends of the text are kept.
function params.wrap(text, width)
  local lines <const> = {}
  for paragraph in (text .. "\n"):gmatch("(.-)\n") do
    local line = ""
    for word in paragraph:gmatch("%S+") do
      if line ~= "" and #line + 1 + #word > width then
        lines[#lines + 1] = line
        line = word
      else
        line = line == "" and word or line .. " " .. word
      end
    end
    lines[#lines + 1] = line
  end
  while lines[#lines] == "" do lines[#lines] = nil end
  return lines
end

local function rows(list, title)
  local out <const> = {}
  local width = 0
  for _, row in ipairs(list) do
    if #row[1] > width and #row[1] <= 28 then width = #row[1] end
  end
  if #list > 0 then out[1] = title end
  for _, row in ipairs(list) do
    local wrapped <const> = params.wrap(row[2], 96 - width)
    if #row[1] > width then
      out[#out + 1] = "  " .. row[1]
      for _, line in ipairs(wrapped) do out[#out + 1] = (" "):rep(width + 4) .. line end
    else
      out[#out + 1] = (("  %-" .. width .. "s  %s"):format(row[1], wrapped[1] or ""):gsub("%s+$", ""))
      for k = 2, #wrapped do out[#out + 1] = (" "):rep(width + 4) .. wrapped[k] end
    end
  end
  return out
end

local function doc_of(p)
  local text = p.doc or ""
  local notes <const> = {}
  if p.kind == "list" then notes[#notes + 1] = "may be repeated" end
  if p.default ~= nil and p.kind ~= "flag" then notes[#notes + 1] = "default " .. tostring(p.default) end
  if #notes > 0 then text = text .. (text ~= "" and " " or "") .. "(" .. table.concat(notes, ", ") .. ")" end
  return text
end

-- The argument tables of a help text.
function params.help_lines(list)
  local places <const>, flags <const> = {}, {}
  for _, p in ipairs(list) do
    if not p.hidden then
      if positional(p) then
        places[#places + 1] = { p.name:upper():gsub("_", "-") .. (p.kind == "list" and "..." or ""), doc_of(p) }
      else
        local name <const> = option_name(p) .. (p.kind ~= "flag" and " " .. metavar(p) or "")
        flags[#flags + 1] = { (p.short and "-" .. p.short .. ", " or "") .. name, doc_of(p) }
      end
    end
  end
  local out <const> = rows(places, "Arguments")
  if #places > 0 and #flags > 0 then out[#out + 1] = "" end
  for _, line in ipairs(rows(flags, "Flags")) do out[#out + 1] = line end
  return out
end

function params.common_lines()
  local list <const> = {}
  for _, name in ipairs(common_order) do
    local p <const> = params.common[name]
    list[#list + 1] = { (p.short and "-" .. p.short .. ", " or "") .. "--" .. name .. (p.metavar and " " .. p.metavar or ""), p.doc }
  end
  return rows(list, "Every command")
end

return params
