-- SPDX-License-Identifier: MIT
-- ctx: the only door of a skill, agent or script to the outside.
--
-- ctx.fs, ctx.proc, ctx.db, ctx.nki, ctx.json, ctx.docs, ctx.skill, ctx.agent, ctx.progress, ctx.log, ctx.print, ctx.ledger,
-- ctx.budget. Each use is checked against rights (rights.lua) and counted against the budget. A refusal and any failure
-- of the world are returned as nil, err; wrong use, cancellation and a spent budget raise. A ctx belongs to one call and
-- is closed after it. Nothing here touches Lua of the caller: functions take and give plain values.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"
local permit <const> = require "permit"

local ctx <const> = {}

ctx.MAX_DEPTH = 8 -- skills calling skills

local function check_text(value, what, name)
  if type(value) ~= "string" then error(("%s: %s expected, got %s"):format(name, what, type(value)), 3) end
  return value
end

-- File functions beneath the granted roots. The root folder is held open and the kernel resolves names beneath it.
local function make_files(self)
  local files <const>, open <const> = {}, {}

  local function root_for(kind, path)
    local absolute <const> = permit.absolute(path, self.cwd, self.home)
    local ok <const>, err <const> = self.rights:check(kind, absolute)
    if not ok then return nil, err end
    local base = self.rights:root(kind, absolute)
    local st <const> = base and fs.stat(base)
    if base and st and st.type ~= "directory" then base = nil end
    if base and not st and kind == "write" then
      if base == self.workspace .. "/.nkiln" then
        local made <const>, why <const> = self.host.make_state_folder()
        if not made then return nil, why end
      elseif base ~= absolute then
        local made <const>, why <const> = fs.mkdir(base, true)
        if not made then return nil, why end
      end
    end
    if not base or base == absolute and not fs.exists(base) then base = absolute:match("^(.*)/[^/]*$") end
    if base == "" then base = "/" end
    local key <const> = kind .. base
    if not open[key] then
      local root <const>, why <const> = fs.root(base, { read = true, write = kind == "write" })
      if not root then return nil, why end
      open[key] = root
    end
    local inside <const> = absolute == base and "." or absolute:sub(base == "/" and 2 or #base + 2)
    return open[key], inside, absolute
  end

  local function one(kind, method, name)
    files[name or method] = function(path, ...)
      check_text(path, "a path", "ctx.fs." .. (name or method))
      self.spend()
      local root <const>, inside <const> = root_for(kind, path)
      if not root then return nil, inside end
      return root[method](root, inside, ...)
    end
  end
  one("read", "read")
  one("read", "list")
  one("read", "entries")
  one("read", "stat")
  one("write", "write")
  one("write", "create")
  one("write", "append")
  one("write", "mkdir")
  one("write", "remove")

  function files.exists(path)
    local st <const> = files.stat(path)
    return st ~= nil
  end

  function files.absolute(path) return permit.absolute(check_text(path, "a path", "ctx.fs.absolute"), self.cwd, self.home) end

  function files.glob(pattern)
    check_text(pattern, "a pattern", "ctx.fs.glob")
    self.spend()
    local absolute <const> = permit.absolute(pattern, self.cwd, self.home)
    local fixed <const> = (absolute:match("^([^*?%[]*)/") or "")
    local root <const>, inside <const> = root_for("read", fixed == "" and "/" or fixed)
    if not root then return nil, inside end
    local prefix <const> = inside == "." and "" or inside .. "/"
    local found <const>, err <const> = root:glob(prefix .. absolute:sub(#fixed + 2))
    if not found then return nil, err end
    local base <const> = root:path()
    for i, path in ipairs(found) do found[i] = (base == "/" and "" or base) .. "/" .. path end
    return found
  end

  function files.copy(from, to)
    local bytes <const>, err <const> = files.read(from)
    if not bytes then return nil, err end
    return files.write(to, bytes)
  end

  function files.rename(from, to)
    check_text(from, "a path", "ctx.fs.rename")
    check_text(to, "a path", "ctx.fs.rename")
    self.spend()
    local root <const>, inside <const>, source <const> = root_for("write", from)
    if not root then return nil, inside end
    local target <const>, other <const>, absolute <const> = root_for("write", to)
    if not target then return nil, other end
    if target == root then return root:rename(inside, other) end
    local done <const>, why <const> = files.copy(source, absolute)
    if not done then return nil, why end
    return root:remove(inside)
  end

  -- Which path lfs may touch: the absolute path, or nil, err.
  function self.check_path(path, kind)
    self.spend()
    local absolute <const> = permit.absolute(path, self.cwd, self.home)
    local ok <const>, err <const> = self.rights:check(kind, absolute)
    if not ok then return nil, err end
    if not self.rights:contains(kind, absolute) then
      return nil, fault.new("escape", ("%s leads out of the granted folder"):format(path))
    end
    return absolute
  end

  self.closers[#self.closers + 1] = function()
    for key, root in pairs(open) do
      root:close()
      open[key] = nil
    end
  end
  return files
end

local function make_programs(self)
  local programs <const> = {}
  -- Run a program to its end. options: {cwd, env, input, seconds, limit}. What is built in may say unconfined = true: the
  -- vendor's compiler and runtime need devices and system calls that a confined program has not; the right to run it is
  -- checked all the same, and who called (a workspace's skill, an agent) must have it too. Returns {status, stdout,
  -- stderr, seconds, truncated}; a status other than 0 is no failure of the call. A program that was ended by its time
  -- limit: nil, and the same table with code = "timeout".
  function programs.run(argv, options)
    if type(argv) ~= "table" or type(argv[1]) ~= "string" then error("ctx.proc.run: a list of words expected", 2) end
    self.spend()
    local path <const> = self.host.which(argv[1])
    if not path then return nil, fault.new("missing", ("the program %s is not here"):format(argv[1]), { hint = "nkiln doctor lists what is missing" }) end
    local ok <const>, err <const> = self.rights:check("run", argv[1]:find("/", 1, true) and path or argv[1])
    if not ok then return nil, err end
    options = options or {}
    local given <const> = {}
    for _, key in ipairs { "env", "input", "seconds", "limit" } do given[key] = options[key] end
    given.cwd = permit.absolute(options.cwd or ".", self.cwd, self.home)
    local may <const>, why <const> = self.rights:check("read", given.cwd)
    if not may then return nil, why end
    if options.unconfined then
      if not self.builtin then error("ctx.proc.run: unconfined is for what is built in", 2) end
      if self.caller then
        local may_caller <const>, refused <const> = self.caller:check("run", argv[1]:find("/", 1, true) and path or argv[1])
        if not may_caller then return nil, refused end
      end
    end
    given.jail = not options.unconfined and { read = self.rights.roots.read, write = self.rights.roots.write, net = #self.rights.words.net > 0 } or nil
    given.pass = self.rights.words.env
    local command <const> = table.move(argv, 1, #argv, 1, {})
    command[1] = path
    return self.host.capture(command, given)
  end
  function programs.which(name)
    check_text(name, "a name", "ctx.proc.which")
    return self.host.which(name)
  end
  return programs
end

local function make_databases(self)
  local databases <const> = {}
  -- A database beneath a folder that may be written (or, with readonly, read). ":memory:" needs no right.
  function databases.open(path, options)
    check_text(path, "a path", "ctx.db.open")
    self.spend()
    local db <const> = require "rt.db"
    local target = path
    if path ~= ":memory:" then
      target = permit.absolute(path, self.cwd, self.home)
      local ok <const>, err <const> = self.rights:check(options and options.readonly and "read" or "write", target)
      if not ok then return nil, err end
    end
    local handle <const>, err <const> = db.open(target, options)
    if not handle then return nil, err end
    self.closers[#self.closers + 1] = function() handle:close() end
    return handle
  end
  return databases
end

-- The NKI machine: jobs in a worker process.
local function make_machine(self)
  local machine <const> = {}
  local function job(module)
    return function(request)
      if type(request) ~= "table" then error("ctx.nki: a table expected", 2) end
      self.spend()
      return self.host.job(module, request, { progress = self.progress_sink, budget = self.budget, rights = self.rights, cwd = self.cwd })
    end
  end
  machine.check = job("work.check")
  machine.sim = job("work.sim")
  return machine
end

-- What was run in this workspace, for reading: runs, one run, its story as text.
local function make_ledger(self)
  local door <const> = {}
  local function open()
    self.spend()
    local ok <const>, refused <const> = self.rights:check("read", self.workspace .. "/.nkiln")
    if not ok then return nil, refused end
    return require("ledger").open(self.workspace, { readonly = true })
  end
  for _, name in ipairs { "runs", "run", "explain" } do
    door[name] = function(what)
      local ledger <const>, err <const> = open()
      if not ledger then return nil, err end
      local closing <close> = ledger
      return closing[name](closing, what)
    end
  end
  return door
end

-- What nkiln itself knows of NKI: error codes, and the signatures of its functions.
local function make_docs(self)
  local door <const> = {}
  function door.explain(code)
    self.spend()
    local row <const> = require("nki.catalogue")[code]
    if not row then return nil, fault.new("not-found", ("there is no error code %s"):format(tostring(code))) end
    return { code = code, severity = row.severity or "error", title = row.title, reason = row.reason, document = row.doc }
  end
  function door.codes()
    self.spend()
    local out <const> = {}
    for code in pairs(require "nki.catalogue") do out[#out + 1] = code end
    table.sort(out)
    return out
  end
  return door
end

-- options: {host, entry, rights, budget, cwd, depth, args, task, caller = rights of who calls, holder (loader.lua),
-- script = true for nkiln run}.
-- Returns the ctx, a function that closes it, and one that sets the budget it counts against.
function ctx.new(options)
  local host <const> = options.host
  local self <const> = {
    host = host, rights = options.rights, budget = options.budget, cwd = options.cwd or host.cwd, workspace = host.workspace(), home = host.home,
    closers = {}, depth = options.depth or 0, closed = false, builtin = options.entry ~= nil and options.entry.scope == "builtin",
    caller = options.caller,
  }
  local public <const> = {}

  function self.spend()
    if self.closed then error("this ctx belongs to a call that has ended", 3) end
    host.check()
    if self.budget then self.budget:check() end
  end

  function self.progress_sink(what) host.progress(what) end

  public.workspace, public.cwd, public.name = self.workspace, self.cwd, options.rights and options.rights.name or nil
  public.json_output, public.trusted = host.json, options.entry == nil or options.entry.scope ~= "workspace"
  public.skill_dir = options.entry and (options.entry.kind == "executable" and options.entry.path or options.entry.script:match("^(.*)/[^/]*$")) or nil
  public.args = options.args
  public.fs, public.proc, public.db, public.nki = make_files(self), make_programs(self), make_databases(self), make_machine(self)
  public.json = { decode = json.decode, encode = json.encode, null = json.null, array = json.array, object = json.object, is_array = json.is_array }

  -- One line on stderr.
  function public.log(text) host.log(tostring(text)) end
  -- Text on stdout (on stderr when stdout is for JSON).
  function public.print(...)
    local parts <const> = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    local line <const> = table.concat(parts, "\t", 1, parts.n) .. "\n"
    if host.json then host.err(line) else host.out(line) end
  end
  -- Progress on a terminal: a text, and how much is done (0 to 1, or nil).
  function public.progress(text, fraction)
    self.spend()
    host.progress({ text = tostring(text), fraction = fraction })
  end
  function public.now() return host.now() end
  function public.sleep(seconds) return host.sleep(seconds) end
  -- A failure to return: return ctx.fail("bad-input", "what", { where = "file:1", hint = "what to do" }).
  function public.fail(code, message, fields) return nil, fault.new(code, message, fields) end

  local function call(kind)
    return function(name, args)
      check_text(name, "a name", "ctx." .. kind)
      self.spend()
      if self.depth >= ctx.MAX_DEPTH then return nil, fault.new("failed", ("skills call each other more than %d deep"):format(ctx.MAX_DEPTH)) end
      local ok <const>, err <const> = self.rights:check("skill", name)
      if not ok then return nil, err end
      return host.call(kind, name, args or {}, { budget = self.budget, cwd = self.cwd, depth = self.depth + 1, caller = self.rights })
    end
  end
  public.skill, public.agent = call("skill"), call("agent")

  -- What is built in may start any job of prelude/work in a worker, and use the prelude.
  if options.entry and options.entry.scope == "builtin" or options.script then
    function public.job(module, request, job_options)
      check_text(module, "a module", "ctx.job")
      self.spend()
      if not module:find("^work%.[%w_]+$") then error("ctx.job: a module of prelude/work expected, as in \"work.check\"", 2) end
      local o <const> = { progress = self.progress_sink, budget = self.budget, rights = self.rights, cwd = self.cwd }
      for k, v in pairs(job_options or {}) do o[k] = v end
      -- net = { hosts }: the worker may use sockets when each of them may be reached.
      for _, name in ipairs(o.net or {}) do
        local ok <const>, refused <const> = self.rights:check("net", name)
        if not ok then return nil, refused end
      end
      o.net = o.net and #o.net > 0 or nil
      -- A worker at work on a kernel may need a Python of this machine (kernelcalls.lua).
      o.calls = o.calls or require("kernelcalls").answer(host, request or {}, o.read or { self.workspace })
      return host.job(module, request or {}, o)
    end
  end
  if self.builtin then
    -- The first Python here that holds these modules, or the one named (pythons.lua): {path=, prefix=, version=, packages=, source=}.
    function public.find_python(modules, explicit)
      self.spend()
      return require("pythons").find(host, modules, explicit)
    end
  end
  public.budget = self.budget
  local function bind_budget(budget)
    self.budget = budget
    public.budget = budget
  end
  public.ledger, public.docs, public.style = make_ledger(self), make_docs(self), host.style

  -- For the driver of an agent (agent.lua): may its snapshots reach this file?
  function self.may(kind, path) return self.rights:check(kind, permit.absolute(path, self.cwd, self.home)) end

  if options.holder then options.holder.check = self.check_path end
  public.task = options.task
  local function close()
    if self.closed then return end
    if options.holder then options.holder.check = nil end
    self.closed = true
    for i = #self.closers, 1, -1 do pcall(self.closers[i]) end
  end
  return public, close, bind_budget, self.may
end

return ctx
