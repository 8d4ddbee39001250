-- SPDX-License-Identifier: MIT
-- watching: check, run and judge a kernel again at every save, and take up edited skills, agents and prelude files.
--
-- A save of the kernel, its reference, a module beside them, a data or task file starts a run at once and cancels the one
-- under way. A changed prelude is loaded aside as a new generation and checked; if it is sound, the next run uses it (the
-- worker loads it from the files, this process through its own new modules); if it is not, runs go on with the texts of
-- the last sound one, and the reason is told. Skills and agents go through their own generations (catalogue.lua). This
-- loop itself is the one thing that a changed prelude does not replace. Ends by Ctrl-C only.

local case <const> = require "nki.case"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local report <const> = require "report"
local task <const> = require "rt.task"
local vm <const> = require "rt.vm"
local watch <const> = require "rt.watch"

local watching <const> = {}

-- The prelude as generations -------------------------------------------------------------------------------------------

local prelude <const> = {}
prelude.__index = prelude

-- Modules that must load for a generation to be sound; they pull in the rest.
local probes <const> = { "cli", "jobs", "kernelargs", "kernelreport", "catalogue", "invoke", "work.check", "work.sim", "work.skill" }

local function texts_of(home)
  local out <const> = {}
  for _, kind in ipairs { "prelude", "skills", "agents" } do
    for _, name in ipairs(vm.resources(kind)) do
      if name:find("%.lua$") then out[name] = fs.read(home .. "/" .. name, 16 << 20) end
    end
  end
  return out
end

-- options: {home = folder of the Lua files or nil for the copy inside the program}.
function watching.prelude(options)
  local self <const> = setmetatable({ home = options.home, id = 1, require = require, probes = options.probes or probes }, prelude)
  if self.home then self.good = texts_of(self.home) end
  return self
end

-- Load what is on the disk now aside. Returns true when it was sound and is in use now; nil, err otherwise.
function prelude:reload()
  local texts <const> = texts_of(self.home)
  local changed = false
  for name, text in pairs(texts) do changed = changed or self.good[name] ~= text end
  for name in pairs(self.good) do changed = changed or texts[name] == nil end
  if not changed then
    self.broken = nil -- put back as it was
    self:drop_copy()
    return true, "same"
  end
  local function broken(err)
    self.broken = err
    return nil, err
  end
  for name, text in pairs(texts) do
    if text ~= self.good[name] and name:find("^prelude/") then
      local chunk <const>, why <const> = vm.load(text, "@" .. name, {})
      if not chunk then
        local message <const> = tostring(why.message):gsub("^[^\n]-:%d+: ", "")
        return broken(fault.new("bad-prelude", message, { where = self.home .. "/" .. name .. (why.line and ":" .. why.line or "") }))
      end
    end
  end
  local loader <const> = vm.generation()
  for _, name in ipairs(self.probes) do
    local ok <const>, why <const> = pcall(loader, name)
    if not ok then
      local message <const> = tostring(type(why) == "table" and why.message or why):match("^[^\n]*")
      local where <const> = message:match("(prelude/[%w_/]+%.lua:%d+)")
      return broken(fault.new("bad-prelude", message, { where = where and self.home .. "/" .. where or nil }))
    end
  end
  self.good, self.require, self.id, self.broken = texts, loader, self.id + 1, nil
  self:drop_copy()
  return true
end

-- The folder workers are to load from: nil for the usual one; a copy of the last sound texts while the files are broken.
function prelude:worker_home()
  if not self.broken then return nil end
  if not self.copy then
    local folder <const>, err <const> = fs.mkdtemp("nkiln-prelude")
    if not folder then return nil, err end
    self.copy = folder
    for name, text in pairs(self.good) do
      fs.mkdir(folder .. "/" .. name:match("^(.*)/"), true)
      local ok <const>, why <const> = fs.append(folder .. "/" .. name, text)
      if not ok then return nil, why end
    end
  end
  return self.copy
end

function prelude:drop_copy()
  if self.copy then fs.remove(self.copy, true) end
  self.copy = nil
end

-- What a change means ----------------------------------------------------------------------------------------------------

local function beneath(path, folder) return path:sub(1, #folder + 1) == folder .. "/" end

-- Sort changed paths: {inputs = {...}, prelude = bool, catalogue = bool}. places: {inputs = set of paths, folders = folders whose
-- .py files count, prelude = folder or nil, catalogue = list of folders}.
function watching.classify(paths, places)
  local out <const> = { inputs = {}, prelude = false, catalogue = false }
  for _, path in ipairs(paths) do
    local python = false
    for _, folder in ipairs(places.folders or {}) do python = python or (path:find("%.py$") and path:match("^(.*)/[^/]*$") == folder) end
    if places.inputs[path] or python then out.inputs[#out.inputs + 1] = path end
    if places.prelude and beneath(path, places.prelude) and path:find("%.lua$") then out.prelude = true end
    for _, folder in ipairs(places.catalogue or {}) do
      if path == folder or beneath(path, folder) then out.catalogue = true end
    end
  end
  return out
end

-- The loop ---------------------------------------------------------------------------------------------------------------

local function now_text() return os.date("%H:%M:%S") end

-- Files and folders whose change matters for these arguments.
local function places_of(host, args, common)
  local kernelargs <const> = require "kernelargs"
  local places <const> = { inputs = {}, folders = {}, catalogue = {} }
  local function input(path)
    local absolute <const> = host.absolute(path)
    places.inputs[absolute] = true
    local real <const> = fs.realpath(absolute)
    if real then places.inputs[real] = true end
    return absolute
  end
  local kernel <const> = input(args.kernel)
  places.folders[1] = kernel:match("^(.*)/[^/]*$")
  if args.reference then
    local reference <const> = input((kernelargs.split_reference(args.reference)))
    places.folders[2] = reference:match("^(.*)/[^/]*$")
  end
  for _, text in ipairs(args.case or {}) do
    for _, file in ipairs(case.files(text)) do input(file) end
  end
  if common.task then input(common.task.file) end
  if host.prelude_home then places.prelude = host.prelude_home .. "/prelude" end
  for _, kind in ipairs { "skills", "agents" } do
    for _, root in ipairs(require("registry").roots(host.registry_places(), kind)) do
      if root.path:sub(1, 1) == "/" then places.catalogue[#places.catalogue + 1] = root.path end
    end
  end
  return places
end

-- The Python files of a folder, and those that these files would import from it, whether they are there yet or not.
local function python_files(folder, files)
  local out <const> = {}
  for _, name in ipairs(fs.list(folder) or {}) do
    if name:find("%.py$") and #out < 200 then out[#out + 1] = folder .. "/" .. name end
  end
  for path in pairs(files) do
    local text <const> = path:find("%.py$") and fs.read(path, 4 << 20) or ""
    for line in text:gmatch("[^\n]+") do
      local name <const> = line:match("^%s*import%s+([%w_]+)") or line:match("^%s*from%s+%.*([%w_]+)")
      if name and #out < 400 then out[#out + 1] = folder .. "/" .. name .. ".py" end
    end
  end
  return out
end

-- Run once with the newest sound prelude. Prints a report; a failure of the input is one line and no end.
local function run_once(host, generation, args, changed)
  local began <const> = task.now()
  local need <const> = generation.require
  local kernelargs <const>, kernelreport <const>, jobs <const> = need "kernelargs", need "kernelreport", need "jobs"
  local module <const> = (args.reference or args.out or args.against or args.run) and "work.sim" or "work.check"
  local outcome
  local request <const>, folders <const> = kernelargs.request(host, args)
  local result, err
  if request then
    local home <const>, no_home <const> = generation:worker_home()
    if no_home then
      err = no_home
    else
      result, err = jobs.run(host, module, request, {
        read = folders, write = { request.out }, home = home, progress = host.progress, calls = need("kernelcalls").answer(host, request, folders),
      })
    end
  else
    err = folders
  end
  local seconds <const> = task.now() - began
  if host.json then
    outcome = result and kernelreport.data(host, result) or { ok = false, error = fault.data(err) }
    outcome.seconds, outcome.changed, outcome.generation = seconds, host.array(changed), generation.id
    host.out_json_line(outcome)
    return
  end
  local title <const> = #changed > 0 and table.concat(changed, ", ") or args.kernel
  host.out(host.style.dim(("-- %s  %s  %s"):format(now_text(), report.clean(title), report.seconds(seconds))) .. "\n")
  if result then
    host.out(kernelreport.text(host, result))
  else
    host.out("nkiln: " .. fault.text(err, host.short) .. "\n")
  end
end

local function reload_catalogue(host)
  local catalogue <const> = host.catalogue()
  catalogue.rescan()
  for _, kind in ipairs { "skills", "agents" } do catalogue.load_trusted(kind) end
  catalogue.generations():poll()
end

local function tell(host, data, text)
  if host.json then host.out_json_line(data) else host.out(text .. "\n") end
end

-- The whole command; returns nil, err when it cannot begin.
function watching.run(host, args, common)
  local first <const>, wrong <const> = require("kernelargs").request(host, args)
  if not first then return nil, wrong end
  for _, text in ipairs(args.case or {}) do
    local parsed <const>, bad <const> = require("nki.case").parse(text)
    if not parsed then return nil, fault.new("bad-case", require("nki.case").render(bad), { where = text }) end
  end
  local places <const> = places_of(host, args, common)
  local generation <const> = watching.prelude { home = host.prelude_home }
  local watcher <const>, err <const> = watch.new {}
  if not watcher then return nil, fault.of(err) end
  local closing <close> = watcher
  local _ <close> = setmetatable({}, { __close = function() generation:drop_copy() end })
  local added <const> = {}
  local function follow(path)
    if added[path] then return end
    added[path] = closing:add(path) and true or nil
  end
  for path in pairs(places.inputs) do follow(path) end
  if places.prelude then follow(places.prelude) end
  for _, folder in ipairs(places.catalogue) do follow(folder) end
  local function follow_modules()
    for _, folder in ipairs(places.folders) do
      for _, path in ipairs(python_files(folder, places.inputs)) do follow(path) end
    end
  end
  follow_modules()

  local catalogue <const> = host.catalogue()
  catalogue.on_event = function(event, entry)
    local name <const> = entry and entry.name or event.key
    if event.kind == "broken" then
      local kept <const> = event.id > 0 and "; the old one stays in use" or ""
      tell(host, { event = "broken", name = name, error = fault.data(event.error), generation = event.id },
        ("nkiln: %s does not load: %s%s"):format(name, fault.text(event.error, host.short), kept))
    else
      tell(host, { event = "reloaded", name = name, generation = event.id }, ("nkiln: %s reloaded (generation %d)"):format(name, event.id))
    end
  end
  for _, kind in ipairs { "skills", "agents" } do catalogue.load_trusted(kind) end

  task.scope(function(scope)
    local under_way
    local function start(changed)
      if under_way then under_way:cancel() end
      under_way = scope:spawn(function()
        local ok <const>, why <const> = pcall(run_once, host, generation, args, changed)
        if not ok then
          if host.must_raise(why) then error(why, 0) end
          local e <const> = host.error_of(type(why) == "table" and why or { plain = tostring(why), traceback = "" })
          tell(host, { ok = false, error = fault.data(e) }, "nkiln: " .. fault.text(e, host.short))
        end
      end)
    end
    start {}
    while true do
      local paths <const>, failed <const> = closing:next()
      if not paths then error(failed, 0) end
      local what <const> = watching.classify(paths, places)
      local changed <const> = {}
      for i, path in ipairs(what.inputs) do changed[i] = host.short(path) end
      if what.prelude then
        local before <const> = generation.id
        local ok <const>, why <const> = generation:reload()
        if not ok then
          tell(host, { event = "broken", name = "prelude", error = fault.data(why), generation = generation.id },
            "nkiln: the prelude does not load: " .. fault.text(why, host.short) .. "; the old one stays in use")
        elseif generation.id ~= before then
          tell(host, { event = "reloaded", name = "prelude", generation = generation.id }, ("nkiln: prelude reloaded (generation %d)"):format(generation.id))
          changed[#changed + 1] = "prelude"
        end
      end
      if what.catalogue then reload_catalogue(host) end
      if #changed > 0 then
        start(changed)
        follow_modules()
      end
    end
  end)
  return 0
end

return watching
