-- SPDX-License-Identifier: MIT
-- rights: what one call of a skill, agent or script may touch.
--
-- A declaration's `permits` is a request. What is built in, in the home folder, or named by the user (nkiln run) gets what
-- it asks for; a workspace's skill gets: read the workspace, write .nkiln, and of the rest only what the user's policy
-- allows. On top of that every single use passes the rules (permit.lua): deny before ask before allow; ask without a
-- terminal is deny. Files that the user named on the command line may be read, folders named for output written.
-- check() returns true, or nil and a failure of code "not-permitted".

local case <const> = require "nki.case"
local fault <const> = require "fault"
local params <const> = require "params"
local permit <const> = require "permit"

local rights <const> = {}
local methods <const> = {}
methods.__index = methods

local verbs <const> = { read = "read", write = "write", run = "start", net = "reach", env = "see the variable", skill = "run the skill", llm = "use the model" }

-- options: {name, scope, permits, args = {paths = {...}, outputs = {...}}, workspace, cwd, home, user_rules, workspace_rules,
-- skill_rights = the policy's entry for this skill, ask = function(question) -> boolean, caller = rights of who calls}.
-- What a workspace's skill calls, at whatever depth, gets no further than that skill itself: its rights are the ceiling.
function rights.new(options)
  local self <const> = setmetatable({
    name = options.name, base = options.workspace, cwd = options.cwd, home = options.home, user = options.user_rules, narrow = options.workspace_rules,
    ask = options.ask, roots = { read = {}, write = {} }, words = { run = {}, net = {}, env = {} }, answers = {}, realpath = options.realpath,
  }, methods)
  local asked <const> = options.permits or {}
  local granted <const> = options.skill_rights or {}
  local guest <const> = options.scope == "workspace"
  self.guest = guest
  if options.caller then self.ceiling = options.caller.guest and options.caller or options.caller.ceiling end
  local function grant_path(kind, path, base)
    local absolute <const> = permit.absolute(path, base or self.base, self.home)
    table.insert(self.roots[kind], absolute)
    if kind == "write" then table.insert(self.roots.read, absolute) end
  end
  local function allowed(kind, value)
    if not guest then return true end
    for _, item in ipairs(granted[kind] or {}) do
      if item == value or permit.glob(item, value) then return true end
    end
    return self.user ~= nil and permit.decide(self.user, kind, value) == "allow"
  end
  for _, kind in ipairs { "read", "write" } do
    local default <const> = kind == "read" and "." or ".nkiln"
    if guest or asked[kind] == nil then grant_path(kind, default) end
    for _, path in ipairs(asked[kind] or {}) do
      if allowed(kind, path) then grant_path(kind, path) end
    end
  end
  for _, kind in ipairs { "run", "net", "env" } do
    for _, word in ipairs(asked[kind] or {}) do
      if allowed(kind, word) then table.insert(self.words[kind], word) end
    end
  end
  for _, path in ipairs(options.paths or {}) do grant_path("read", path, self.cwd) end
  for _, path in ipairs(options.outputs or {}) do grant_path("write", path, self.cwd) end
  return self
end

-- Paths among the arguments: those to read and those to write (parameters with output = true; with output = "beside" also
-- the folder of the file, where it is made under another name and then renamed). With `siblings` the folder of a named file
-- may be read (a Python file imports its neighbours); a text with `files` names files as cases do (x=@x.npy).
function rights.named_paths(list, args)
  local paths <const>, outputs <const> = {}, {}
  for _, p in ipairs(list or {}) do
    local item <const> = p.kind == "list" and p.item or p
    local values = args[p.name]
    if type(values) ~= "table" then values = { values } end
    for _, value in ipairs(values) do
      if item.kind == "path" then
        local target <const> = item.output and outputs or paths
        if item.output == "beside" then target[#target + 1] = value:match("^(.+)/[^/]*$") or (value:sub(1, 1) == "/" and "/" or ".") end
        -- "reference.py:softmax" names a function in a file.
        local file <const> = value:match("^(.+%.py):[%w_.]+$") or value
        target[#target + 1] = value
        if file ~= value then target[#target + 1] = file end
        if item.siblings then paths[#paths + 1] = file:match("^(.*/)[^/]*$") or "." end
      elseif item.files then
        for _, file in ipairs(case.files(value)) do paths[#paths + 1] = file end
      end
    end
  end
  return paths, outputs
end
rights.is_positional = params.is_positional

-- The granted root that holds an absolute path (the deepest), or nil.
function methods:root(kind, path)
  local best
  for _, root in ipairs(self.roots[kind]) do
    if permit.beneath(path, root) and (not best or #root > #best) then best = root end
  end
  return best
end

-- Where a path leads once links are followed (the parts that exist), or nil.
local function resolved(self, path)
  local rest = ""
  while true do
    local real <const> = self.realpath(path)
    if real then return (real == "/" and rest ~= "" and "" or real) .. rest end
    local parent <const>, name <const> = path:match("^(.*)/([^/]+)$")
    if not parent then return nil end
    path, rest = parent == "" and "/" or parent, "/" .. name .. rest
  end
end

-- Does the path still lie in a granted folder when its links are followed? A granted file that is a link is what was granted.
function methods:contains(kind, path)
  local root <const> = self:root(kind, path)
  if not root or not self.realpath then return root ~= nil end
  local real <const>, base <const> = resolved(self, path), resolved(self, root)
  return real ~= nil and base ~= nil and permit.beneath(real, base)
end

local function refusal(self, kind, value, rule)
  local hint <const> = rule and ("the rule %q says so"):format(rule)
    or ("allow it in your policy.lua: allow = { %q }"):format(kind .. ":" .. value)
  return nil, fault.new("not-permitted", ("%s may not %s %s"):format(self.name, verbs[kind] or kind, value), { hint = hint, capability = kind, value = value })
end

-- May this call do it? For read and write, `value` is an absolute path.
function methods:check(kind, value)
  if self.ceiling then
    local within <const>, err <const> = self.ceiling:check(kind, value)
    if not within then return nil, err end
  end
  local key <const> = kind .. "\0" .. value
  local effect, rule = permit.combine(self.user, self.narrow, kind, value, "none")
  if effect == "deny" then return refusal(self, kind, value, rule) end
  if kind == "read" or kind == "write" then
    -- A link inside a granted folder must not dodge a rule about the folder it leads to.
    local real <const> = self.realpath and self.realpath(value)
    if real and real ~= value then
      local real_effect <const>, real_rule <const> = permit.combine(self.user, self.narrow, kind, real, "none")
      if real_effect == "deny" then return refusal(self, kind, value, real_rule) end
      if real_effect == "ask" then effect, rule = "ask", real_rule end
    end
  end
  local within = false
  if kind == "read" or kind == "write" then
    within = self:root(kind, value) ~= nil
  elseif self.words[kind] then
    for _, word in ipairs(self.words[kind]) do
      local subject <const> = kind == "run" and not word:find("/", 1, true) and value:match("[^/]*$") or value
      within = within or permit.glob(word, subject)
    end
  else
    within = true
  end
  if effect == "allow" then return true end
  if effect == "none" and within then return true end
  if self.answers[key] ~= nil then
    if self.answers[key] then return true end
    return refusal(self, kind, value, rule)
  end
  if self.ask and (effect == "ask" or effect == "none") then
    local yes <const> = self.ask(("%s wants to %s %s. Allow it for this run?"):format(self.name, verbs[kind] or kind, value))
    self.answers[key] = yes and true or false
    if yes then return true end
  end
  return refusal(self, kind, value, rule)
end

return rights
