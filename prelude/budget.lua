-- SPDX-License-Identifier: MIT
-- budget: what a run may spend, checked before each spend.
--
-- A budget counts iterations, seconds, tokens, dollars and device seconds against limits (a kind without a limit is counted
-- only). budget:require{...} asks whether an amount may be spent and raises when not; budget:spend{...} asks and counts;
-- budget:record{...} counts what turned out to be spent (a model's real tokens) and never raises, so the next check does.
-- Seconds run by themselves between start() and stop(). A sub-budget counts towards all budgets above it and can never
-- allow more than they do. state() is plain data and budget.restore() goes on from it, so a resumed run keeps its account.
-- An exhausted budget raises again at every later check: a pcall around one spend does not buy another.
-- What raises: {kind="budget", code="budget", status=4, name="budget-iterations", what=, limit=, spent=, message=, hint=}.

local budget <const> = {}
local methods <const> = {}
local mt <const> = { __name = "budget", __index = methods }

budget.kinds = { "iterations", "seconds", "tokens", "dollars", "device_seconds" }
budget.warn_at = { 0.5, 0.8 }

local known <const> = {}
for _, kind in ipairs(budget.kinds) do known[kind] = true end

local words <const> = {
  iterations = "iterations", seconds = "seconds", tokens = "model tokens", dollars = "dollars", device_seconds = "device seconds",
}

local function default_clock()
  local ok <const>, task <const> = pcall(require, "rt.task")
  return ok and task.now or os.time
end

local function check_amounts(amounts, what)
  if type(amounts) ~= "table" then error(what .. " expects a table such as { iterations = 1 }", 3) end
  for kind, value in pairs(amounts) do
    if not known[kind] then error(("%s: unknown kind %s"):format(what, tostring(kind)), 3) end
    if type(value) ~= "number" or value ~= value or value < 0 then error(("%s: %s must be a number, 0 or more"):format(what, kind), 3) end
  end
end

-- 10, 0.25: enough digits for a person, no exponent for usual sizes.
local function show(value)
  if math.type(value) == "integer" then return tostring(value) end
  return (("%.2f"):format(value):gsub("0+$", ""):gsub("%.$", ""))
end

-- limits: { iterations=10, ... }. options: name, parent, clock (seconds), on_warn(budget, what, share, spent, limit).
function budget.new(limits, options)
  check_amounts(limits or {}, "budget.new")
  options = options or {}
  local self <const> = setmetatable({
    name = options.name, parent = options.parent, clock = options.clock or (options.parent and options.parent.clock) or default_clock(),
    on_warn = options.on_warn, limits = {}, spent = {}, warned = {},
  }, mt)
  for kind, value in pairs(limits or {}) do self.limits[kind] = value end
  for _, kind in ipairs(budget.kinds) do self.spent[kind] = 0 end
  return self
end

-- A budget inside this one; what it spends counts here too.
function methods:sub(limits, options)
  local given <const> = {}
  for key, value in pairs(options or {}) do given[key] = value end
  given.parent = self
  return budget.new(limits, given)
end

function methods:start()
  if not self.since then self.since = self.clock() end
  return self
end

function methods:stop()
  if self.since then
    self.spent.seconds = self.spent.seconds + math.max(0, self.clock() - self.since)
    self.since = nil
  end
  return self
end

-- Spent so far of one kind; running seconds included.
function methods:used(kind)
  local value = self.spent[kind] or 0
  if kind == "seconds" and self.since then value = value + math.max(0, self.clock() - self.since) end
  return value
end

-- What is left of one kind, here and in every budget above; nil where nothing limits it.
function methods:left(kind)
  local least
  local at = self
  while at do
    local limit <const> = at.limits[kind]
    if limit then
      local left <const> = math.max(0, limit - at:used(kind))
      if not least or left < least then least = left end
    end
    at = at.parent
  end
  return least
end

local function exhausted(self, kind, limit, spent)
  return setmetatable({
    kind = "budget", code = "budget", status = 4, name = "budget-" .. kind:gsub("_", "-"), what = kind, limit = limit, spent = spent,
    budget = self.name,
    message = ("budget of %s %s%s is spent"):format(show(limit), words[kind], self.name and (" of " .. self.name) or ""),
    hint = ("raise it with --budget %s=N and go on with nkiln resume"):format(kind),
  }, { __tostring = function(e) return e.message end })
end

-- Would spending these amounts go over a limit, here or above? Returns nil, or the error that require() raises. Seconds are
-- over when their limit is reached, other kinds when the amount asked for does not fit.
function methods:refusal(amounts)
  if self.over then return self.over end
  local at = self
  while at do
    for _, kind in ipairs(budget.kinds) do
      local limit <const> = at.limits[kind]
      if limit then
        local used <const>, wanted <const> = at:used(kind), amounts[kind] or 0
        local over = used + wanted > limit
        if wanted == 0 then over = kind == "seconds" and used >= limit or used > limit end
        if over then return exhausted(at, kind, limit, used) end
      end
    end
    at = at.parent
  end
end

function methods:require(amounts)
  amounts = amounts or {}
  check_amounts(amounts, "budget:require")
  local err <const> = self:refusal(amounts)
  if err then
    self.over = err
    error(err, 0)
  end
end

local function warn(self)
  for _, kind in ipairs(budget.kinds) do
    local limit <const> = self.limits[kind]
    if limit and limit > 0 then
      local share <const> = self:used(kind) / limit
      local passed
      for _, threshold in ipairs(budget.warn_at) do
        if share >= threshold and threshold > (self.warned[kind] or 0) then passed = threshold end
      end
      if passed then
        self.warned[kind] = passed
        local at = self
        while at and not at.on_warn do at = at.parent end
        if at then at.on_warn(self, kind, passed, self:used(kind), limit) end
      end
    end
  end
end

-- Count what was spent, here and above. A field on_spend of a budget is called with it after each change.
function methods:record(amounts)
  check_amounts(amounts, "budget:record")
  if next(amounts) == nil then return end
  local at = self
  while at do
    for kind, value in pairs(amounts) do at.spent[kind] = at.spent[kind] + value end
    warn(at)
    if at.on_spend then at.on_spend(at) end
    at = at.parent
  end
end

function methods:spend(amounts)
  self:require(amounts)
  self:record(amounts)
end

-- Look at the clock: warn about seconds, raise when they are over.
function methods:check()
  local at = self
  while at do
    warn(at)
    at = at.parent
  end
  self:require {}
end

-- One line: "3 of 10 iterations, 12 of 300 seconds".
function methods:text()
  local parts <const> = {}
  for _, kind in ipairs(budget.kinds) do
    local limit <const>, used <const> = self.limits[kind], self:used(kind)
    if limit then
      parts[#parts + 1] = ("%s of %s %s"):format(show(used), show(limit), words[kind])
    elseif used > 0 and kind ~= "seconds" then
      parts[#parts + 1] = ("%s %s"):format(show(used), words[kind])
    end
  end
  return table.concat(parts, ", ")
end

-- Plain data, for the ledger. Parents are stored by themselves.
function methods:state()
  local out <const> = { name = self.name, limits = {}, spent = {}, warned = {} }
  for _, kind in ipairs(budget.kinds) do
    out.limits[kind], out.spent[kind], out.warned[kind] = self.limits[kind], self:used(kind), self.warned[kind]
  end
  return out
end

-- A budget that goes on from state(). options as for new, and limits = { ... } for those that changed meanwhile. A raised
-- limit warns again at its own half.
function budget.restore(state, options)
  options = options or {}
  local limits <const> = {}
  for kind, value in pairs(state.limits or {}) do limits[kind] = value end
  for kind, value in pairs(options.limits or {}) do limits[kind] = value end
  local self <const> = budget.new(limits, { name = state.name, parent = options.parent, clock = options.clock, on_warn = options.on_warn })
  for kind, value in pairs(state.spent or {}) do
    if known[kind] then self.spent[kind] = value end
  end
  for kind, value in pairs(state.warned or {}) do
    if (state.limits or {})[kind] == limits[kind] then self.warned[kind] = value end
  end
  return self
end

-- Is this error value an exhausted budget?
function budget.is_exhausted(err) return type(err) == "table" and err.kind == "budget" end

return budget
