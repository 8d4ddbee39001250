-- SPDX-License-Identifier: MIT
-- registry: which skills and agents there are, found from names and SKILL.md alone.
--
-- Search order: .kiro, .claude, .agents of the workspace, the same three in the home folder, the built-in folder. The
-- first of a name wins, except that nothing of a workspace takes the name or alias of something built in (unless the
-- user's policy lets it). Listing never runs Lua of a workspace. Everything found is kept, with its problems; nothing is
-- dropped without a word. Files are read through the `disk` given ({list, stat, read, realpath}), so that the built-in
-- folder may lie in the binary. Nothing here raises.

local fault <const> = require "fault"
local frontmatter <const> = require "frontmatter"
local skill <const> = require "skill"

local registry <const> = {}

registry.MAX_DEPTH, registry.MAX_FOLDERS, registry.MAX_FILE = 4, 2000, 1 << 20
registry.places = { ".kiro", ".claude", ".agents" }

local skip_folder <const> = { [".git"] = true, node_modules = true, ["__pycache__"] = true }

-- Folders to search, in order: { {path=, scope="workspace"|"home"|"builtin", disk=}, ... }.
-- where: {workspace=, home=, builtin=, disk=, builtin_disk=}; any of the folders may be nil.
function registry.roots(where, kind)
  local out <const> = {}
  local function add(base, scope)
    for _, place in ipairs(registry.places) do
      out[#out + 1] = { path = base .. "/" .. place .. "/" .. kind, scope = scope, disk = where.disk }
    end
  end
  if where.workspace and where.workspace ~= where.home then add(where.workspace, "workspace") end
  if where.home then add(where.home, "home") end
  if where.builtin then
    out[#out + 1] = { path = where.builtin .. "/" .. kind, scope = "builtin", disk = where.builtin_disk or where.disk }
  end
  return out
end

local function problem(entry, severity, message, line, column, file)
  entry.problems[#entry.problems + 1] = { severity = severity, message = message, line = line, column = column, file = file or entry.path }
end

local spec_fields <const> = { name = true, description = true, license = true, compatibility = true, metadata = true, ["allowed-tools"] = true }

-- Read the front matter of a SKILL.md (or agent .md) into the entry.
function registry.read_document(entry, disk, path, folder_name)
  local text <const>, err <const> = disk.read(path, registry.MAX_FILE)
  if not text then
    problem(entry, "error", "cannot be read: " .. fault.why(err), nil, nil, path)
    return
  end
  local parsed <const> = frontmatter.parse(text)
  for _, p in ipairs(parsed.problems) do problem(entry, p.severity, p.message, p.line, p.column, path) end
  entry.fields, entry.document, entry.body_line = parsed.fields, path, parsed.body_line
  local name <const> = parsed.fields.name
  if parsed.found and name == nil then problem(entry, "error", "the field name is missing; the folder's name is used", 1, 1, path) end
  if type(name) == "string" and name ~= "" then
    local wrong <const> = skill.name_problem(name)
    if wrong then problem(entry, "warning", wrong, nil, nil, path) end
    if folder_name and name ~= folder_name then
      problem(entry, "warning", ("name %q differs from the folder's name %q"):format(name, folder_name), nil, nil, path)
    end
    entry.name = name
  end
  local description <const> = parsed.fields.description
  if type(description) == "string" and description:find("%S") then
    entry.description = description
    if #description > skill.MAX_DESCRIPTION then
      problem(entry, "warning", ("the description has %d characters, at most %d are allowed"):format(#description, skill.MAX_DESCRIPTION), nil, nil, path)
    end
    if description:find("[<>]") then problem(entry, "warning", "the description contains < or >, which some hosts refuse", nil, nil, path) end
  elseif parsed.found then
    problem(entry, "error", "the description is missing: say what it does and when to use it", nil, nil, path)
  end
  local extra <const> = {}
  for key in pairs(parsed.fields) do
    if not spec_fields[key] then extra[#extra + 1] = key end
  end
  table.sort(extra)
  if #extra > 0 then problem(entry, "note", "fields outside the Agent Skills specification: " .. table.concat(extra, ", "), nil, nil, path) end
  local metadata <const> = parsed.fields.metadata
  if type(metadata) == "table" and type(metadata.alias) == "string" then entry.alias = metadata.alias end
end

-- A folder that is not there is no problem; any other failure is told.
local function unreadable(found, path, err)
  if err and (err.code == "not_found" or err.code == "not_directory") then return end
  found.problems[#found.problems + 1] = { severity = "error", file = path, message = "cannot be read: " .. fault.why(err) }
end

local function new_entry(root, path, name, kind)
  return { name = name, path = path, scope = root.scope, root = root.path, disk = root.disk, kind = kind, problems = {} }
end

-- A folder that holds SKILL.md, skill.lua or both; nil when neither.
local function folder_skill(root, path, name, names)
  local has_document, has_lua, odd
  for _, file in ipairs(names) do
    if file == "SKILL.md" then has_document = file end
    if file == "skill.lua" then has_lua = file end
    if file:lower() == "skill.md" and file ~= "SKILL.md" then odd = file end
  end
  if not has_document and odd then has_document = odd end
  if not has_document and not has_lua then return nil end
  local entry <const> = new_entry(root, path, name, has_lua and "executable" or "prompt")
  if has_lua then entry.script = path .. "/" .. has_lua end
  if has_document then
    if has_document ~= "SKILL.md" then problem(entry, "warning", "the file must be called SKILL.md; other hosts do not see " .. has_document) end
    registry.read_document(entry, root.disk, path .. "/" .. has_document, name)
  else
    problem(entry, "note", "no SKILL.md: coding agents that read only documents do not see it")
  end
  if not entry.description and not entry.script then entry.unusable = "no description" end
  return entry
end

-- A lone Lua file as an entry, once.
local function add_script(root, found, seen, child, name, kind)
  local real <const> = root.disk.realpath(child) or child
  if seen[real] then return end
  seen[real] = true
  local entry <const> = new_entry(root, child, name:sub(1, -5), kind)
  entry.script, entry.real = child, real
  local wrong <const> = skill.name_problem(entry.name)
  if wrong then problem(entry, "warning", wrong) end
  found.entries[#found.entries + 1] = entry
end

local function scan(root, found, seen)
  local folders = 0
  local function walk(path, depth)
    folders = folders + 1
    if folders > registry.MAX_FOLDERS then
      if folders == registry.MAX_FOLDERS + 1 then
        found.problems[#found.problems + 1] = {
          severity = "warning", file = root.path, message = ("more than %d folders; the rest was not searched"):format(registry.MAX_FOLDERS),
        }
      end
      return
    end
    local names <const>, err <const> = root.disk.list(path)
    if not names then
      unreadable(found, path, err)
      return
    end
    table.sort(names)
    for _, name in ipairs(names) do
      local child <const> = path .. "/" .. name
      local stat <const> = root.disk.stat(child)
      if not stat then
        found.problems[#found.problems + 1] = { severity = "warning", file = child, message = "a link that leads nowhere" }
      elseif stat.kind == "dir" and not skip_folder[name] then
        local real <const> = root.disk.realpath(child) or child
        if not seen[real] then
          seen[real] = true
          local inner <const>, why <const> = root.disk.list(child)
          if not inner then
            unreadable(found, child, why)
          else
            local entry <const> = folder_skill(root, child, name, inner)
            if entry then
              entry.real = real
              found.entries[#found.entries + 1] = entry
            elseif depth < registry.MAX_DEPTH then
              walk(child, depth + 1)
            end
          end
        end
      elseif stat.kind == "file" and name:find("%.lua$") and depth == 1 then
        add_script(root, found, seen, child, name, "bare")
      end
    end
  end
  walk(root.path, 1)
end

local function scan_agents(root, found, seen)
  local names <const>, err <const> = root.disk.list(root.path)
  if not names then
    unreadable(found, root.path, err)
    return
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local child <const> = root.path .. "/" .. name
    local stat <const> = name:find("%.lua$") and root.disk.stat(child)
    if stat and stat.kind == "file" then add_script(root, found, seen, child, name, "agent") end
  end
end

-- Names and aliases of what is built in; options.builtin_names() adds those of the other kind, and those that only the
-- scripts declare (asked for once, and only where a workspace brings something).
local function builtin_names(found)
  local out <const> = {}
  local foreign <const> = found.options.builtin_names
  if foreign and not found.foreign then
    for _, entry in ipairs(found.entries) do
      if entry.scope == "workspace" then
        found.foreign = foreign()
        break
      end
    end
  end
  for name in pairs(found.foreign or {}) do out[name] = true end
  for _, entry in ipairs(found.entries) do
    if entry.scope == "builtin" then
      out[entry.name] = entry
      if entry.alias then out[entry.alias] = entry end
    end
  end
  return out
end

-- Decide who answers to each name. options: {reserved = {names of commands}, override = {name = true} by the user's policy,
-- builtin_names}.
local function settle(found, options)
  local reserved <const>, override <const> = options.reserved or {}, options.override or {}
  local builtin <const> = builtin_names(found)
  found.by_name, found.by_alias = {}, {}
  for _, entry in ipairs(found.entries) do
    local other <const> = found.by_name[entry.name]
    if reserved[entry.name] then
      entry.refused = ("%s is a command of nkiln"):format(entry.name)
      problem(entry, "error", entry.refused .. "; give the skill another name")
    elseif entry.scope == "workspace" and builtin[entry.name] and not override[entry.name] then
      entry.refused = ("a workspace may not replace the built-in %s"):format(entry.name)
      problem(entry, "error", entry.refused .. "; rename it, or allow it with skills[\"" .. entry.name .. "\"].override in your policy.lua")
    elseif other then
      entry.shadowed_by = other.path
      other.shadows = other.shadows or {}
      table.insert(other.shadows, entry.path)
    elseif not entry.unusable then
      found.by_name[entry.name] = entry
    end
  end
  for _, entry in ipairs(found.entries) do registry.settle_alias(found, entry, builtin, options) end
end

-- Give an entry its alias, unless something built in, a command or an earlier entry has it.
function registry.settle_alias(found, entry, builtin, options)
  local alias <const> = entry.alias
  if not alias or entry.refused or entry.shadowed_by or entry.alias_refused then return end
  local holder <const> = found.by_alias[alias] or (found.by_name[alias] ~= entry and found.by_name[alias]) or nil
  local reserved <const>, override <const> = options.reserved or {}, options.override or {}
  if holder == entry then return end
  if reserved[alias] then
    entry.alias_refused = ("%s is a command of nkiln"):format(alias)
  elseif entry.scope == "workspace" and builtin[alias] and builtin[alias] ~= entry and not override[entry.name] then
    entry.alias_refused = ("a workspace may not take the built-in alias %s"):format(alias)
  elseif holder then
    entry.alias_refused = ("the alias %s is taken by %s"):format(alias, holder.path)
  else
    found.by_alias[alias] = entry
    return
  end
  problem(entry, "warning", entry.alias_refused)
end

-- All skills ("skills") or agents ("agents"): { entries = in search order, by_name=, by_alias=, problems= }.
function registry.scan(where, kind, options)
  options = options or {}
  local found <const> = { entries = {}, problems = {}, kind = kind, options = options }
  local seen <const> = {}
  for _, root in ipairs(registry.roots(where, kind)) do
    if kind == "agents" then scan_agents(root, found, seen) else scan(root, found, seen) end
  end
  settle(found, options)
  return found
end

-- A scan tells aliases from SKILL.md (metadata.alias). Once a trusted script was loaded its declaration may add one.
function registry.learn(found, entry, declaration)
  entry.declaration = declaration
  entry.description = entry.description or declaration.description
  if declaration.name ~= entry.name and not entry.name_checked then
    entry.name_checked = true
    problem(entry, "warning", ("the script calls itself %q, the folder %q"):format(declaration.name, entry.name), nil, nil, entry.script)
  end
  if declaration.alias and declaration.alias ~= entry.alias then
    entry.alias = declaration.alias
    registry.settle_alias(found, entry, builtin_names(found), found.options)
  end
end

-- The entry for a name or alias.
function registry.find(found, name) return found.by_name[name] or found.by_alias[name] end

-- Every name and alias that can be said.
function registry.names(found)
  local out <const> = {}
  for name in pairs(found.by_name) do out[#out + 1] = name end
  for alias in pairs(found.by_alias) do out[#out + 1] = alias end
  table.sort(out)
  return out
end

return registry
