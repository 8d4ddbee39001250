-- SPDX-License-Identifier: MIT
-- catalogue: the skills and agents of one run of nkiln: found once, trusted or not, loaded when they are needed.
--
-- Whether a workspace may run its own Lua is asked here and nowhere else. Declarations come from reload.lua, so a long
-- running command sees an edited skill at its next call. Functions return nil, err for reasons of the world.

local fault <const> = require "fault"
local loader <const> = require "loader"
local registry <const> = require "registry"
local reload <const> = require "reload"

local catalogue <const> = {}

-- host: see host.lua. Uses host.disk, host.builtin_disk, host.registry_places(), host.policy(), host.trusts_workspace().
function catalogue.new(host)
  local self <const> = {}
  local found <const> = {}
  local entries <const> = {} -- script path -> entry, for the generations
  local generations <const> = reload.new {
    load = function(path)
      local entry <const> = entries[path]
      -- A workspace's script is not run in this process, not even to read its declaration.
      if entry.scope == "workspace" then return host.declare_away(entry) end
      local declaration <const>, files_or_err <const>, made <const> = loader.load(entry, host.loader_options(entry))
      if not declaration then return nil, files_or_err, made end
      return { declaration = declaration, sources = made.sources }, files_or_err
    end,
    signature = function(path)
      return reload.file_signature(entries[path] and entries[path].disk or host.disk)(path)
    end,
    on_event = function(event)
      if event.kind ~= "loaded" and self.on_event then self.on_event(event, entries[event.key]) end
    end,
  }

  -- Every name and alias of a built-in skill or agent: a workspace takes none of them, whatever kind it is.
  local function builtin_names()
    local out <const>, places <const> = {}, host.registry_places()
    for _, kind in ipairs { "skills", "agents" } do
      for _, entry in ipairs(registry.scan({ builtin = places.builtin, disk = places.disk, builtin_disk = places.builtin_disk }, kind).entries) do
        out[entry.name] = true
        if entry.script then
          entries[entry.script] = entries[entry.script] or entry
          local generation <const> = generations:get(entry.script)
          if generation and generation.declaration.alias then out[generation.declaration.alias] = true end
        end
      end
    end
    return out
  end

  function self.scan(kind)
    if not found[kind] then
      local override <const> = {}
      local policy <const> = host.policy()
      for name, rights in pairs(policy and policy.skills or {}) do override[name] = rights.override end
      found[kind] = registry.scan(host.registry_places(), kind, {
        reserved = host.reserved_names(), override = override, builtin_names = builtin_names,
      })
      for _, entry in ipairs(found[kind].entries) do
        if entry.script then entries[entry.script] = entry end
      end
    end
    return found[kind]
  end

  -- Forget what was found, so that new and removed folders are seen. Loaded generations stay.
  function self.rescan() found.skills, found.agents = nil, nil end

  function self.generations() return generations end

  -- May the entry's Lua run? true, or false and the error that says why.
  function self.trusted(entry)
    if entry.scope ~= "workspace" then return true end
    return host.trusts_workspace()
  end

  local function untrusted(entry)
    return fault.new("untrusted", ("%s is a script of this workspace, which you have not trusted"):format(entry.name), {
      where = host.short(entry.script or entry.path), hint = "read it, then `nkiln trust` once, or --trust for this run", workspace = host.workspace(),
    })
  end

  -- The declaration of an entry: declaration, generation id; or nil, err.
  function self.declaration(entry)
    if entry.refused then return nil, fault.new("not-permitted", entry.refused, { where = host.short(entry.path) }) end
    if not entry.script then
      return nil, fault.new("usage", ("%s holds documents only, nothing that runs"):format(entry.name), { where = host.short(entry.path) })
    end
    if not self.trusted(entry) and not host.ask_trust(entry) then return nil, untrusted(entry) end
    entries[entry.script] = entry
    local generation <const>, id <const>, newer <const> = generations:get(entry.script)
    if not generation then
      entry.load_error = id
      return nil, id
    end
    entry.load_error = newer
    local declaration <const> = generation.declaration
    registry.learn(self.scan(entry.kind == "agent" and "agents" or "skills"), entry, declaration)
    return declaration, id
  end

  -- A declaration made anew from the sources of the newest good generation, for one call: calls share no globals.
  -- Returns declaration, holder (see loader.lua); or nil, err.
  function self.instance(entry)
    local known <const>, why <const> = self.declaration(entry)
    if not known then return nil, why end
    local options <const> = host.loader_options(entry)
    options.sources = generations:get(entry.script).sources
    local declaration <const>, err <const>, made <const> = loader.load(entry, options)
    if not declaration then return nil, err end
    return declaration, made.holder
  end

  -- The texts of the newest good generation of an entry, by path; nil before its declaration was asked for.
  function self.sources(entry)
    local generation <const> = generations:get(entry.script)
    return generation and generation.sources
  end

  -- Load everything that may be loaded without asking, for aliases and descriptions.
  function self.load_trusted(kind)
    for _, entry in ipairs(self.scan(kind).entries) do
      if entry.script and not entry.refused and not entry.shadowed_by and not entry.declaration and self.trusted(entry) then
        local declaration <const>, err <const> = self.declaration(entry)
        if not declaration and not entry.load_told then
          entry.load_told = true
          table.insert(entry.problems, { severity = "error", message = err.message, file = err.where or entry.script })
        end
      end
    end
  end

  -- The entry of a name or alias: entry; nil when nobody has it; nil, err when an untrusted or broken one may.
  function self.find(name)
    for _, kind in ipairs { "skills", "agents" } do
      local entry <const> = registry.find(self.scan(kind), name)
      if entry then return entry end
    end
    for _, kind in ipairs { "skills", "agents" } do
      self.load_trusted(kind)
      local entry <const> = registry.find(self.scan(kind), name)
      if entry then return entry end
    end
    for _, kind in ipairs { "skills", "agents" } do
      for _, entry in ipairs(self.scan(kind).entries) do
        if entry.name == name and entry.refused then return nil, fault.new("not-permitted", entry.refused, { where = host.short(entry.path) }) end
        if entry.name == name and entry.unusable then
          return nil, fault.new("bad-skill", ("%s cannot be used: %s"):format(name, entry.unusable), { where = host.short(entry.path) })
        end
      end
    end
  end

  -- Entries that answer to their name, by name.
  function self.usable(kind)
    self.load_trusted(kind)
    local out <const> = {}
    for _, entry in pairs(self.scan(kind).by_name) do
      if entry.script and not entry.load_error and self.trusted(entry) then out[#out + 1] = entry end
    end
    table.sort(out, function(a, b) return a.name < b.name end)
    return out
  end

  function self.names(kind)
    self.load_trusted(kind)
    return registry.names(self.scan(kind))
  end

  function self.all_names()
    local out <const> = {}
    for name in pairs(host.reserved_names()) do out[#out + 1] = name end
    for _, kind in ipairs { "skills", "agents" } do
      for _, name in ipairs(self.names(kind)) do out[#out + 1] = name end
    end
    table.sort(out)
    return out
  end

  return self
end

return catalogue
