-- SPDX-License-Identifier: MIT
-- permit: may this be done? Rules of the user's policy and of a workspace, deny before ask before allow.
--
-- A rule is "capability:pattern" ("write:src/**", "run:python3", "net:*.amazonaws.com", "skill:neuron-*", "read:~/data").
-- Capabilities: read, write, run, net, env, skill, llm. A pattern without a slash matches a name or host; file patterns are
-- relative to the workspace unless they start with / or ~; "*" stays inside one path part, "**" does not. What no rule
-- names is "ask" for the user's policy; without a terminal to ask on, ask means deny. A workspace's rules narrow: its deny
-- and ask count, its allow is ignored (and told). Functions that decide never fail; reading rules returns nil, err.

local fault <const> = require "fault"

local permit <const> = {}

permit.capabilities = { read = true, write = true, run = true, net = true, env = true, skill = true, llm = true }

-- A path without "." and ".." parts and doubled slashes; names only, links are the file system's business.
function permit.normal(path)
  local absolute <const> = path:sub(1, 1) == "/"
  local parts <const> = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      if #parts > 0 and parts[#parts] ~= ".." then
        parts[#parts] = nil
      elseif not absolute then
        parts[#parts + 1] = part
      end
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  local joined <const> = table.concat(parts, "/")
  if absolute then return "/" .. joined end
  return joined == "" and "." or joined
end

-- path taken from base unless absolute; ~ is the home folder.
function permit.absolute(path, base, home)
  if path == "~" then return home or path end
  if home and path:sub(1, 2) == "~/" then return permit.normal(home .. path:sub(2)) end
  if path:sub(1, 1) == "/" then return permit.normal(path) end
  return permit.normal(base .. "/" .. path)
end

-- Is path the folder root itself or beneath it? Both normal and absolute.
function permit.beneath(path, root)
  if root == "/" then return true end
  return path == root or path:sub(1, #root + 1) == root .. "/"
end

-- Shell-like pattern over a whole text: "*" and "?" stay inside one path part, "**" does not, "**/" may be nothing.
-- A set of positions is carried along the text, so no pattern is slow.
function permit.glob(pattern, text)
  local tokens <const> = {}
  local i = 1
  while i <= #pattern do
    local c <const> = pattern:sub(i, i)
    if pattern:sub(i, i + 2) == "**/" then
      tokens[#tokens + 1] = { any = true, folder = true }
      i = i + 3
    elseif pattern:sub(i, i + 1) == "**" then
      tokens[#tokens + 1] = { any = true }
      i = i + 2
    else
      tokens[#tokens + 1] = c == "*" and { part = true } or c == "?" and { one = true } or { byte = c }
      i = i + 1
    end
  end
  local at = {}
  local function reach(set, k)
    while not set[k] do
      set[k] = true
      local token <const> = tokens[k]
      if not token or not (token.any or token.part) then return end
      k = k + 1
    end
  end
  reach(at, 1)
  for position = 1, #text do
    local c <const> = text:sub(position, position)
    local next_at <const> = {}
    for k in pairs(at) do
      local token <const> = tokens[k]
      if token then
        if token.folder then
          next_at[k] = true
          if c == "/" then reach(next_at, k + 1) end
        elseif token.any then
          reach(next_at, k)
        elseif token.part then
          if c ~= "/" then reach(next_at, k) end
        elseif token.one then
          if c ~= "/" then reach(next_at, k + 1) end
        elseif token.byte == c then
          reach(next_at, k + 1)
        end
      end
    end
    at = next_at
  end
  return at[#tokens + 1] == true
end

local file_capability <const> = { read = true, write = true }

-- Rules of one file: {deny={...}, ask={...}, allow={...}}. context: {workspace=, home=}. Returns compiled rules or nil, err.
function permit.rules(data, context, where)
  local out <const> = { deny = {}, ask = {}, allow = {} }
  for effect, list in pairs(out) do
    local given <const> = data[effect]
    if given ~= nil and type(given) ~= "table" then
      return nil, fault.new("bad-policy", ("%s must be a list of \"capability:pattern\""):format(effect), { where = where })
    end
    for i, rule in ipairs(given or {}) do
      local capability, pattern
      if type(rule) == "string" then capability, pattern = rule:match("^(%l+):(.+)$") end
      if not capability or not (permit.capabilities[capability] or capability == "all") then
        return nil, fault.new("bad-policy", ("%s[%d]: expected \"capability:pattern\", got %s"):format(effect, i, tostring(rule)),
          { where = where, hint = "capabilities: read, write, run, net, env, skill, llm" })
      end
      list[#list + 1] = { capability = capability, pattern = pattern, text = rule }
    end
  end
  out.context = context
  return out
end

local function rule_matches(rule, capability, value, context)
  if rule.capability ~= capability and rule.capability ~= "all" then return false end
  if rule.pattern == "*" or rule.pattern == "**" then return true end
  if file_capability[capability] then
    local pattern = permit.absolute(rule.pattern, context.workspace or "/", context.home)
    local path <const> = permit.absolute(value, context.workspace or "/", context.home)
    if not pattern:find("[*?]") then return permit.beneath(path, pattern) end
    return permit.glob(pattern, path) or permit.glob(pattern .. "/**", path)
  end
  if capability == "run" and not rule.pattern:find("/", 1, true) then value = value:match("[^/]*$") end
  if capability == "net" then value = value:lower():gsub(":%d+$", "") end
  return permit.glob(rule.pattern, value)
end

local function first(list, capability, value, context)
  for _, rule in ipairs(list) do
    if rule_matches(rule, capability, value, context) then return rule end
  end
end

-- "deny", "ask", "allow" or nil (no rule), and the rule that says so.
function permit.decide(rules, capability, value)
  for _, effect in ipairs { "deny", "ask", "allow" } do
    local rule <const> = first(rules[effect], capability, value, rules.context or {})
    if rule then return effect, rule.text end
  end
end

-- The user's and the workspace's rules together; what neither names gets `default`.
function permit.combine(user, workspace, capability, value, default)
  local effect, rule = "", nil
  if user then effect, rule = permit.decide(user, capability, value) end
  effect = effect or ""
  if workspace then
    local narrowed <const>, why <const> = permit.decide(workspace, capability, value)
    if narrowed == "deny" and effect ~= "deny" then return "deny", why end
    if narrowed == "ask" and effect ~= "deny" then return "ask", why end
  end
  if effect == "" then return default or "ask" end
  return effect, rule
end

return permit
