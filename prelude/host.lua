-- SPDX-License-Identifier: MIT
-- host: the outside of one run of nkiln, gathered in one object, so that commands and tests share it.
--
-- Output (stdout for results, stderr for words), the terminal, folders, trust, policy, tasks, children and worker jobs.
-- One object per run; commands get it as their first argument. What waits must be called inside a task (main.c runs the
-- whole program as one). Functions return nil, err for reasons of the world; cancellation passes through.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"
local permit <const> = require "permit"
local proc <const> = require "rt.proc"
local report <const> = require "report"
local task <const> = require "rt.task"
local term <const> = require "rt.term"
local vm <const> = require "rt.vm"
local workspace <const> = require "workspace"

local host <const> = {}

-- What a confined child gets of the environment; keys and tokens are not among it. More by name: capture's `pass`.
local child_environment <const> = {}
for name in ([[PATH HOME USER LOGNAME SHELL TERM LANG LANGUAGE LC_ALL LC_CTYPE LC_NUMERIC LC_MESSAGES TZ TMPDIR LD_LIBRARY_PATH PYTHONPATH
  PYTHONHOME VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT PYENV_VERSION OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS OPENBLAS_CORETYPE
  NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES NEURON_LOGICAL_NC_CONFIG NEURON_PLATFORM_TARGET_OVERRIDE NEURON_CC_FLAGS]]):gmatch "%S+" do
  child_environment[#child_environment + 1] = name
end
local net_environment <const> = {}
for name in ("http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE"):gmatch "%S+" do
  net_environment[#net_environment + 1] = name
end

host.VERSION = "0.1.0"

-- JSON for stdout: sorted keys, no NaN (null), text that is not UTF-8 replaced, so that it always is one valid value.
local function encode(value) return json.encode(value, { sort = true, indent = 2, nonfinite = "null", utf8 = "replace" }) end

function host.new()
  local self <const> = {}
  local home <const> = fs.home()
  local cwd <const> = fs.cwd()
  local state <const> = { json = false, quiet = false, trust_all = os.getenv("NKILN_TRUST") == "1", status_line = false }

  self.cwd, self.home, self.disk = cwd or "/", home, workspace.disk
  self.version, self.lua_version, self.program_path = host.VERSION, _VERSION, vm.executable()
  self.env = os.getenv
  self.machine = ((fs.read("/proc/sys/kernel/arch", 256) or "Linux"):gsub("%s+$", "")) -- since Linux 6.1

  -- Output -----------------------------------------------------------------------------------------------------------

  local out_terminal <const>, err_terminal <const> = term.isatty("stdout"), term.isatty("stderr")
  local no_colour <const> = os.getenv("NO_COLOR") ~= nil or os.getenv("TERM") == "dumb"
  self.style = report.style(out_terminal and not no_colour)
  self.err_style = report.style(err_terminal and not no_colour)
  self.out_terminal = out_terminal

  local function clear_status()
    if state.status_line then
      term.error("\r\27[K")
      state.status_line = false
    end
  end

  -- When nobody reads stdout any more, the C side ends the run quietly at the next wait.
  -- What a kernel, a script or a cloned repository brings must not command the terminal.
  function self.out(text)
    clear_status()
    return term.write(out_terminal and report.tame(text) or text)
  end
  function self.err(text)
    clear_status()
    return term.error(err_terminal and report.tame(text) or text)
  end
  -- One value on one line, for commands that print again and again; what ends such a command is a line as well.
  function self.out_json_line(value)
    state.lines = true
    return self.out(json.encode(value, { sort = true, nonfinite = "null", utf8 = "replace" }) .. "\n")
  end
  function self.out_json(value)
    if state.lines then return self.out_json_line(value) end
    return self.out(encode(value) .. "\n")
  end
  function self.log(text) self.err(text .. "\n") end
  function self.array(list) return json.array(list) end
  function self.set_json(on) state.json = on or state.json; self.json = state.json end
  self.json = false

  local last_shown = 0
  -- what: a text or {text=, fraction=, seconds=}. On a terminal only, at most twenty times a second.
  function self.progress(what)
    if not err_terminal or self.quiet then return end
    local now <const> = task.now()
    if now - last_shown < 0.05 then return end
    last_shown = now
    local text = type(what) == "table" and what.text or what
    if type(what) == "table" and what.fraction then text = ("%3.0f%% %s"):format(100 * math.max(0, math.min(1, what.fraction)), text or "") end
    local columns <const> = term.columns("stderr") or 80
    text = report.clean(text or ""):gsub("\n", " ")
    if #text > columns - 1 then text = text:sub(1, columns - 1) end
    term.error("\r\27[K" .. text)
    state.status_line = true
  end

  -- A path as a person would say it: relative to the folder they are in, or with ~.
  function self.short(path)
    if path == self.cwd then return "." end
    local inside <const> = report.relative(path, self.cwd)
    if inside ~= path then return inside end
    if home and path:sub(1, #home + 1) == home .. "/" then return "~" .. path:sub(#home + 1) end
    return path
  end
  function self.absolute(path) return permit.absolute(path, self.cwd, home) end

  -- Print a skill's result. Returns the exit status it means.
  function self.print_result(result, decl)
    local status = math.type(result.exit_status) == "integer" and result.exit_status or (result.ok == false and 1 or 0)
    if status < 0 or status > 255 then status = fault.FAILED end -- the shell would see it modulo 256
    if state.json then
      local copy <const> = {}
      for k, v in pairs(result) do
        if type(v) ~= "function" and type(v) ~= "userdata" then copy[k] = v end
      end
      self.out_json(copy)
    else
      local text
      if decl and decl.text then text = decl.text(result, self.style) end
      text = text or result.text
      if text == nil then text = host.plain_text(result) end
      text = tostring(text)
      if text ~= "" then self.out(text:sub(-1) == "\n" and text or text .. "\n") end
    end
    return status
  end

  -- Errors -----------------------------------------------------------------------------------------------------------

  function self.traceback_text() return vm.traceback("") or "" end
  function self.traceback(e)
    if type(e) == "table" then return e end
    return { plain = tostring(e), traceback = self.traceback_text() }
  end
  -- Errors that no one may turn into a result.
  function self.must_raise(e)
    return task.is_cancelled(e) or (type(e) == "table" and (e.exit ~= nil or e.kind == "budget")) or false
  end
  function self.error_of(e)
    if task.is_cancelled(e) or task.interrupted() then return fault.new("interrupted", "interrupted") end
    if type(e) == "table" and e.plain then
      return fault.new("failed", "an error inside nkiln: " .. (e.plain:match("^[^\n]*")), { traceback = e.traceback, hint = "NKILN_DEBUG=1 shows where" })
    end
    local err <const> = fault.of(e)
    -- Only agents are resumed, and an agent's spent budget is a result, not an error.
    if err.code == "budget" and err.hint then err.hint = err.hint:gsub(" and go on with nkiln resume", "") end
    return err
  end
  function self.finish(status)
    clear_status()
    if task.interrupted() then return fault.INTERRUPTED end
    return status
  end
  function self.check() task.check() end
  function self.now() return task.now() end
  function self.sleep(seconds) return task.sleep(seconds) end

  -- Run fn(item) for every item, each in its own task.
  function self.each(list, fn)
    task.scope(function(scope)
      for _, item in ipairs(list) do scope:spawn(fn, item) end
      scope:wait()
    end)
  end

  -- Run body within the seconds of a budget; the time limit ends as a spent budget.
  function self.within(budget, body)
    local left <const> = budget and budget:left("seconds")
    if not left then return body() end
    budget:start()
    local results <const> = table.pack(task.deadline(left, body))
    budget:stop()
    if results[1] == nil and type(results[2]) == "table" and results[2].code == "timeout" then budget:check() end
    return table.unpack(results, 1, results.n)
  end

  function self.budget_for(decl, options)
    local budget <const> = require "budget"
    local limits <const> = {}
    local given <const> = options.budget_flags or (options.common and options.common.budget) or {}
    for _, kind in ipairs(budget.kinds) do limits[kind] = given[kind] or (decl.budget and decl.budget[kind]) end
    if options.budget then return options.budget:sub(limits, { name = decl.alias or decl.name }) end
    return budget.new(limits, {
      name = decl.alias or decl.name,
      on_warn = function(_, what, share)
        if not self.quiet then self.log(("nkiln: %d%% of the budget's %s are spent"):format(100 * share, what)) end
      end,
    })
  end

  -- Folders, trust, policy -------------------------------------------------------------------------------------------

  local found_workspace
  function self.workspace_of(folder) return workspace.find(folder, home) end
  function self.workspace()
    if not found_workspace then
      local real <const> = fs.realpath(self.cwd) or self.cwd
      found_workspace = workspace.find(real, home and fs.realpath(home) or home)
    end
    return found_workspace
  end
  function self.config() return workspace.config(os.getenv, home) end
  function self.trust_store()
    local folder <const> = self.config()
    return require("trust").open {
      path = (folder or "/nonexistent") .. "/trust.json", disk = self.disk, today = function() return os.date("%Y-%m-%d") end,
    }
  end

  local trusted
  function self.trusts_workspace()
    if state.trust_all or self.trust_all then return true end
    if trusted == nil then
      local why
      trusted, why = self.trust_store():has(self.workspace())
      if why then self.log("nkiln: " .. fault.text(why)) end
    end
    return trusted
  end

  function self.can_ask() return term.isatty("stdin") and err_terminal and not state.json end
  -- A yes-or-no question on the terminal; anything but yes is no.
  function self.ask(question)
    if not self.can_ask() then return false end
    self.err(report.clean(question) .. " [y/N] ")
    local answer <const> = term.read_line(4096)
    return type(answer) == "string" and answer:lower():find("^%s*y") ~= nil
  end
  function self.ask_trust(entry)
    if not self.can_ask() then return false end
    local yes <const> = self.ask(("%s is a script of the workspace %s. Trust this workspace's skills from now on?"):format(entry.name, self.workspace()))
    if not yes then return false end
    local ok <const>, err <const> = self.trust_store():add(self.workspace())
    if not ok then self.log("nkiln: " .. fault.text(err)) end
    trusted = true
    return true
  end

  local loaded_policy
  -- The rules in force. A policy that cannot be read stops everything that needs rights.
  function self.policy()
    if loaded_policy == nil then
      local rules <const>, err <const> = require("policy").load { disk = self.disk, config = self.config(), workspace = self.workspace(), home = home }
      if not rules then error(err, 0) end
      for _, note in ipairs(rules.notes) do self.log("nkiln: " .. note) end
      loaded_policy = rules
    end
    return loaded_policy
  end
  function self.task(path) return require("policy").task(self.disk, self.absolute(path)) end

  -- Make .nkiln with its .gitignore.
  function self.make_state_folder() return require("ledger").folder(self.workspace()) end

  -- Skills and agents ------------------------------------------------------------------------------------------------

  local catalogue
  function self.catalogue()
    if not catalogue then catalogue = require("catalogue").new(self) end
    return catalogue
  end
  function self.reserved_names() return require("cli").reserved() end
  self.prelude_home = vm.home()
  self.builtin_disk = self.prelude_home and self.disk or require("embedded").disk
  function self.registry_places()
    local builtin <const> = self.prelude_home or require("embedded").BASE
    return { workspace = self.workspace(), home = home, builtin = builtin, disk = self.disk, builtin_disk = self.builtin_disk }
  end

  -- How a script is loaded: what is built in may also require the prelude.
  function self.loader_options(entry)
    local agent <const> = require "agent"
    return {
      disk = self.disk, vm = vm, agent = agent.declare, is_agent = agent.is, prelude = entry.scope == "builtin" and require or nil,
    }
  end

  -- The declaration of a workspace's script, read in a worker: {declaration = plain data, sources}, {files}; nil, err, {files}.
  function self.declare_away(entry)
    local folder <const> = entry.kind == "executable" and entry.path or entry.script:match("^(.*)/[^/]*$")
    local made <const>, err <const> = self.job("work.skill", {
      declare = true, entry = { name = entry.name, path = entry.path, script = entry.script, kind = entry.kind, scope = entry.scope },
    }, { read = { folder, fs.realpath(folder) }, progress = false, seconds = 10, memory = 256 << 20, steps = 0 })
    if not made then
      local fields <const> = { where = err.where or entry.script, problems = err.problems }
      return nil, fault.new("bad-skill", err.message, fields), { entry.script }
    end
    if made.error then return nil, fault.new("bad-skill", made.error.message, { where = made.error.where }), made.files end
    return { declaration = made.declaration, sources = made.sources }, made.files
  end

  function self.call(kind, name, args, options) return require("invoke").by_name(self, kind, name, args, options) end

  -- Children ---------------------------------------------------------------------------------------------------------

  function self.which(name)
    if name:find("/", 1, true) then
      local path <const> = self.absolute(name)
      local st <const> = fs.stat(path)
      return st and st.type == "file" and path or nil
    end
    return proc.find(name)
  end

  local function environment(options)
    local out <const> = {}
    for _, names in ipairs { child_environment, options.jail.net and net_environment or {}, options.pass or {} } do
      for _, name in ipairs(names) do out[name] = os.getenv(name) end
    end
    for name, value in pairs(options.env or {}) do out[name] = value end
    return out
  end

  -- Run a program to its end and keep its output. options: {cwd, env, input, seconds, limit, jail, pass = names of variables
  -- that a confined child gets besides the usual ones}.
  function self.capture(argv, options)
    options = options or {}
    return proc.run {
      argv = argv, cwd = options.cwd, env = options.jail and environment(options) or nil, setenv = not options.jail and options.env or nil,
      input = options.input, deadline = options.seconds, jail = options.jail,
      stdout_limit = options.limit, stderr_limit = options.limit, grace = 0.5,
    }
  end

  function self.sandbox_layers()
    local layers <const> = proc.jail_layers()
    return {
      { name = "Landlock", found = layers.landlock > 0, version = layers.landlock > 0 and "ABI " .. layers.landlock or nil,
        enables = "confining children and workers to granted folders", install = "a kernel from 5.13 on that has it switched on" },
      { name = "seccomp", found = layers.seccomp, enables = "refusing system calls to children and workers", install = "a kernel with CONFIG_SECCOMP_FILTER" },
    }
  end

  -- Start a module of the prelude in a worker and wait for its result (jobs.lua).
  function self.job(module, request, options) return require("jobs").run(self, module, request, options or {}) end

  return self
end

-- A result table without a text of its own, as lines.
function host.plain_text(result)
  local keys <const> = {}
  for k in pairs(result) do
    if k ~= "ok" and k ~= "exit_status" then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  local lines <const> = {}
  for _, k in ipairs(keys) do
    local v <const> = result[k]
    lines[#lines + 1] = ("%s: %s"):format(tostring(k), type(v) == "table" and encode(v) or report.clean(tostring(v), true))
  end
  return table.concat(lines, "\n")
end

return host
