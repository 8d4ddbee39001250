-- SPDX-License-Identifier: MIT
-- `lower.lower(tree, options) -> runnable`: a Python module's tree as Lua source with the same line numbers. The runnable
-- holds all that is needed to run it, so that another way of running trees can take this one's place:
--   source      Lua text of a chunk (R, G, B, K, P, W): helpers, globals, builtins, attribute cache, prototypes, keyword lists
--   sites       site id -> node, for ids first_site .. last_site
--   prototypes  one description per def and lambda: name, params, required, node, doc ...
--   keywords    one list of names per call with keywords
--   refusals    { code, message, node } for what is parsed but not supported; reaching one at run time stops there
-- Lowering fails only for a tree nested too deeply: nil, { code, message, line, column }.

local scopes <const> = require "python.lower_scope"
local E <const> = require "python.lower_control"

local lower <const> = {}

local reserved <const> = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until while]])
  :gmatch "%a+" do reserved[word] = true end

local Module <const> = {}
Module.__index = Module

function Module.lua_name(name) return name:find "^[%a_][%w_]*$" ~= nil and not reserved[name] end

function Module:next_id()
  self.ids = self.ids + 1
  return self.ids
end

function Module:number_scope(scope)
  if not scope.id then scope.id = self:next_id() end
end

function Module:prototype(proto)
  self.prototypes[#self.prototypes + 1] = proto
  return #self.prototypes
end

local State <const> = setmetatable({}, { __index = E })
State.__index = State

-- The local name of a runtime helper; marks it as used.
function State:h(name)
  local used <const> = self.module.helpers
  if not used[name] then
    used[name] = true
    used[#used + 1] = name
  end
  return name
end

function State:site(node)
  local m <const> = self.module
  m.last_site = m.last_site + 1
  m.sites[m.last_site] = node
  return m.last_site
end

function State:cache_place()
  local m <const> = self.module
  m.cached = m.cached + 1
  return m.cached
end

function State:keywords(names)
  local m <const> = self.module
  m.keywords[#m.keywords + 1] = names
  return ("W[%d]"):format(#m.keywords)
end

-- The name a private attribute (__x) has inside its class.
function State:private(name)
  if name:sub(1, 2) ~= "__" or name:sub(-2) == "__" then return name end
  local scope = self.scope
  while scope and scope.kind ~= "class" do scope = scope.parent end
  return scope and "_" .. scope.node.name:gsub("^_+", "") .. name or name
end

local phrases <const> = {
  Match = "a match statement", AsyncFunctionDef = "an async function", AsyncFor = "async for", AsyncWith = "async with",
  Await = "await", TypeAlias = "a type alias", TryStar = "except*",
}

-- Code that stops with a diagnostic when it is reached.
function State:refuse(node, what)
  local message <const> = (phrases[what] or what) .. " is not supported"
  local m <const> = self.module
  m.refusals[#m.refusals + 1] = { code = "python-unsupported", message = message, node = node }
  return self:h "REFUSE" .. ("(%s, %s)"):format(self:site(node), E.quote(message)), 1
end

function State:too_deep(node)
  error({ lowering = true, code = "python-unsupported", message = "nested too deeply", line = node.lineno, column = (node.col_offset or 0) + 1 })
end

-- Replace line marks by the newlines that put what follows on its line.
local function place_lines(text)
  local out <const> = {}
  local line, at = 1, 1
  while true do
    local from <const>, to <const>, wanted <const> = text:find("\1(%d+)\2", at)
    if not from then break end
    out[#out + 1] = text:sub(at, from - 1)
    local target <const> = tonumber(wanted)
    if target > line then
      out[#out + 1] = ("\n"):rep(target - line)
      line = target
    end
    at = to + 1
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

-- options: builtin(name) -> whether it is a builtin's name; first_site.
function lower.lower(tree, options)
  local root <const>, all_scopes <const>, star_import <const> = scopes.analyse(tree)
  local module <const> = setmetatable({
    scopes = all_scopes,
    star_import = star_import,
    builtin = options.builtin,
    ids = 0,
    prototypes = {},
    helpers = {},
    sites = {},
    first_site = options.first_site or 1,
    last_site = (options.first_site or 1) - 1,
    cached = 0,
    keywords = {},
    refusals = {},
  }, Module)
  module:number_scope(root)
  local state <const> = setmetatable({
    module = module,
    scope = root,
    owner = root,
    id = module:next_id(),
    out = {},
    pre = {},
    temps = 0,
    live_temps = 0,
    nesting = 0,
    line = 1,
    control = {},
    assigned = {},
    unstable = {},
  }, State)
  local ok <const>, err <const> = pcall(state.block, state, tree.body)
  if not ok then
    if type(err) == "table" and err.lowering then return nil, err end
    if type(err) == "string" and err:find "stack overflow" then
      return nil, { code = "python-unsupported", message = "nested too deeply", line = state.line, column = 1 }
    end
    error(err, 0)
  end
  local head <const> = { "local R, G, B, K, P, W = ...; local N, A, None = 0, R.apply, R.None;" }
  if #module.helpers > 0 then
    head[#head + 1] = ("local %s = R.%s;"):format(table.concat(module.helpers, ", "), table.concat(module.helpers, ", R."))
  end
  return {
    source = place_lines(table.concat(head, " ") .. " " .. table.concat(state.out, " ")),
    sites = module.sites,
    first_site = module.first_site,
    last_site = module.last_site,
    prototypes = module.prototypes,
    keywords = module.keywords,
    refusals = module.refusals,
  }
end

return lower
