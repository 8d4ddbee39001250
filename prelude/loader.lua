-- SPDX-License-Identifier: MIT
-- loader: from a skill or agent file to its declaration.
--
-- A script runs in an environment of its own: the safe libraries, the declaration helpers (skill, agent, path, choice,
-- ...), and a `require` that knows sibling files of the skill's folder and the modules granted (cjson, lfs; for what is
-- built in also the prelude). Files it pulled in are returned, so that a change of any of them makes a new generation.
-- Failures are returned: {code = "bad-skill", message, where = "file:line"}.

local fault <const> = require "fault"
local skill <const> = require "skill"

local loader <const> = {}

loader.MAX_SCRIPT = 4 << 20

-- "prelude/x.lua:12: message" -> "x.lua:12", "message". Chunk names are "@path".
local function place_of(text, fallback)
  text = tostring(text)
  local where <const>, rest <const> = text:match("^(.-:%d+): (.*)$")
  if not where then return fallback, text:match("^[^\n]*") end
  return where, rest:match("^[^\n]*")
end
loader.place_of = place_of

local function bad(message, where, problems)
  return nil, fault.new("bad-skill", message, { where = where, problems = problems })
end

-- options: {disk =, vm = rt.vm, prelude = require or nil, agent =, is_agent =, sources = {path = text}: texts to use before
-- the disk's}. Returns an object: run_file(path), files, sources, env, holder. `holder.check` is set for the time of a
-- call (ctx.lua): it says which paths lfs may touch.
local function prepare(entry, options)
  local self <const> = { files = { entry.script }, sources = {}, holder = {} }
  local holder <const> = self.holder
  local disk <const> = entry.disk or options.disk
  local folder <const> = entry.kind == "executable" and entry.path or nil
  local loaded <const>, loading <const> = {}, {}
  local env <const> = options.vm.environment {
    lfs = function(path, kind)
      if not holder.check then return nil, "lfs works only while the skill runs" end
      return holder.check(path, kind)
    end,
  }
  local given <const> = env.require -- cjson and lfs

  function self.run_file(path, ...)
    local text, err = options.sources and options.sources[path], nil
    if not text then text, err = disk.read(path, loader.MAX_SCRIPT) end
    if not text then
      local message <const> = fault.why(err)
      error(fault.new("bad-skill", "cannot be read: " .. message, { where = path }), 0)
    end
    self.sources[path] = text
    if text:sub(1, 1) == "\27" then error(fault.new("bad-skill", "is compiled Lua; only text is loaded", { where = path }), 0) end
    local chunk <const>, why <const> = options.vm.load(text, "@" .. path, env)
    if not chunk then
      local where <const>, message <const> = place_of(why.message, path)
      error(fault.new("bad-skill", message, { where = where }), 0)
    end
    return chunk(...)
  end

  local function find_module(name)
    if type(name) ~= "string" then error("require expects a name", 2) end
    if loaded[name] ~= nil then return loaded[name] end
    if folder and name:find("^[%w_]+[%w_.-]*$") then
      local path <const> = folder .. "/" .. name:gsub("%.", "/") .. ".lua"
      local known <const> = options.sources and options.sources[path] ~= nil
      local st <const> = not known and disk.stat(path)
      if (known or st and st.kind == "file") and path ~= entry.script then
        if loading[name] then error(("module %q requires itself"):format(name), 0) end
        loading[name] = true
        self.files[#self.files + 1] = path
        local value <const> = self.run_file(path, name, path)
        loading[name] = nil
        loaded[name] = value == nil and true or value
        return loaded[name]
      end
    end
    if options.prelude and name ~= "cjson" and name ~= "lfs" then return options.prelude(name) end
    local ok <const>, value <const> = pcall(given, name)
    if not ok then error(type(value) == "string" and value:gsub("^.-:%d+: ", "", 1) or value, 2) end
    return value
  end

  env.require = find_module
  self.env = env
  return self
end

-- The declaration a skill or agent file returns: declaration, {files}, prepared; or nil, err, {files}.
function loader.load(entry, options)
  local prepared <const> = prepare(entry, options)
  local files <const> = prepared.files
  skill.environment(prepared.env)
  if options.agent then prepared.env.agent = options.agent end
  local run_file <const> = prepared.run_file

  local ok <const>, value <const> = xpcall(run_file, function(e)
    if fault.is(e) then return e end
    local where <const>, message <const> = place_of(type(e) == "table" and e.message or e, entry.script)
    return fault.new("bad-skill", message, { where = where })
  end, entry.script)
  if not ok then
    if not value.where then value.where = entry.script end
    return nil, value, files
  end
  local want_agent <const> = entry.kind == "agent"
  if want_agent and options.is_agent then
    if not options.is_agent(value) then
      local _, err <const> = bad("must return agent { ... }", entry.script)
      return nil, err, files
    end
  elseif not skill.is(value) then
    local _, err <const> = bad("must return skill { ... }", entry.script)
    return nil, err, files
  end
  return value, files, prepared
end

-- Run a script the user named, with `ctx` and `arg` in reach. Returns what it returns; raises what it raises.
function loader.run_script(entry, text, options, public, words, holder)
  options.sources = { [entry.script] = text }
  local prepared <const> = prepare(entry, options)
  prepared.holder.check = function(...) return holder.check(...) end
  prepared.env.ctx = public
  prepared.env.arg = table.move(words, 1, #words, 1, { [0] = entry.script })
  prepared.env.print = public.print
  return prepared.run_file(entry.script, table.unpack(words))
end

return loader
