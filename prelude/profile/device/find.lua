-- SPDX-License-Identifier: MIT
-- What this machine has for a device profile: devices and cores, the tools, a Python that holds NKI.
--
--   find.tools(ctx)              -> { explorer=path, ls=path|nil, version= } | nil, err (code "missing": exit status 3)
--   find.devices(ctx, tools)     -> { instance=, target="trn2"|..., lnc=, cores={ {id=, device=, busy={pids}} }, source= } | nil, err
--   find.python(ctx, explicit)   -> { path=, prefix=, packages=, source= } | nil, err
-- neuron-ls is believed where it is there (tools/neuron-sys-tools/neuron-ls of the AWS Neuron SDK documentation); else the
-- files /dev/neuron*.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"

local find <const> = {}

find.FOLDER = "/opt/aws/neuron/bin"
find.DEADLINE = 60 -- seconds a tool may take to say its version or list devices

local GET_TOOLS <const> = "sudo apt install aws-neuronx-tools (or dnf), or use an AWS Neuron image; without --device the profile is modelled"
local GET_DEVICE <const> = "run this on a Trainium or Inferentia2 instance with an AWS Neuron image; without --device the profile is modelled"

local function program(ctx, name)
  return ctx.proc.which(name) or ctx.proc.which(find.FOLDER .. "/" .. name)
end

local function missing(message, hint, fields)
  fields = fields or {}
  fields.hint = hint
  return nil, fault.new("missing", message, fields)
end

function find.run(ctx, argv, options)
  options = options or {}
  options.unconfined, options.seconds, options.limit = true, options.seconds or find.DEADLINE, options.limit or 4 << 20
  return ctx.proc.run(argv, options)
end

function find.tools(ctx)
  local explorer <const> = program(ctx, "neuron-explorer")
  if not explorer then
    if program(ctx, "neuron-profile") then
      return missing("only the old neuron-profile is here; it does not write the tables that are imported",
        "upgrade aws-neuronx-tools: it brings neuron-explorer (neuron-profile is at its end of support)")
    end
    return missing("neuron-explorer is not here, neither in PATH nor in " .. find.FOLDER, GET_TOOLS)
  end
  local said <const>, err <const> = find.run(ctx, { explorer, "--version" })
  if not said then
    if err.code == "timeout" then return nil, fault.new("failed", "neuron-explorer --version does not answer", { where = explorer }) end
    return nil, err
  end
  -- 126, 127 and signals: it cannot be executed. Anything else is only a version that is not known.
  if said.signal or said.status == 126 or said.status == 127 then
    return nil, fault.new("failed", "neuron-explorer does not work here: " .. ((said.stderr .. said.stdout):match("([^\n]+)%s*$") or "no message"),
      { where = explorer })
  end
  return { explorer = explorer, ls = program(ctx, "neuron-ls"), version = (said.stdout .. said.stderr):match("(%d+%.%d[%w.]*)") }
end

local FAMILIES <const> = { inf1 = "inf1", inf2 = "inf2", trn1 = "trn1", trn1n = "trn1", trn2 = "trn2", trn2n = "trn2", trn2u = "trn2" }

-- "trn2n.48xlarge" -> "trn2". trn3 types are taken by their first four letters.
function find.target_of(instance)
  local family <const> = instance and instance:match("^(%w+)%.")
  return family and (FAMILIES[family] or family:match("^trn3") or nil) or nil
end

-- EC2 instances name their type in the firmware's tables (docs.aws.amazon.com, identify EC2 Linux instances).
local function from_firmware()
  local text <const> = fs.read("/sys/devices/virtual/dmi/id/product_name", 256)
  return text and text:match("^(%w+%.%w+)%s*$") or nil
end

local function from_files()
  local cores <const> = {}
  for _, name in ipairs(fs.list("/dev") or {}) do
    local n <const> = name:match("^neuron(%d+)$")
    if n then cores[#cores + 1] = { device = math.tointeger(n), busy = {} } end
  end
  if #cores == 0 then return missing("no Neuron device is here: there is no /dev/neuron*", GET_DEVICE) end
  -- How many cores a device has is not known from its file: the first one of the first device is core 0.
  local instance <const> = from_firmware()
  return { cores = { { id = 0, device = cores[1].device, busy = {} } }, source = "/dev", instance = instance, target = find.target_of(instance) }
end

function find.devices(ctx, tools)
  if not tools.ls then return from_files() end
  local table_said <const>, slow <const> = find.run(ctx, { tools.ls })
  if not table_said then return nil, fault.of(slow) end
  local said, err = find.run(ctx, { tools.ls, "--json-output" })
  if said and said.status ~= 0 then said, err = find.run(ctx, { tools.ls, "-j" }) end
  if not said then return nil, fault.of(err) end
  if said.status ~= 0 then
    local last <const> = (said.stderr .. "\n" .. said.stdout):match("([^\n]+)%s*$") or "no message"
    local known <const> = require("profile.device.failures").find(said.stderr .. said.stdout)
    if known and known.name ~= "no-device" then return nil, fault.new(known.code, known.message, { hint = known.hint, reason = last }) end
    local seen <const> = from_files()
    if seen then return seen end
    return missing("no Neuron device is here: neuron-ls says: " .. last, GET_DEVICE)
  end
  local list = json.decode(said.stdout)
  if type(list) ~= "table" then return nil, fault.new("failed", "neuron-ls --json-output gave no JSON", { where = tools.ls }) end
  local instance = table_said.stdout:match("instance%-type:%s*(%S+)")
  if #list == 0 then
    -- The documented answer is a list; one wrapped in an object is read as well.
    instance = instance or list.instance_type
    for _, value in pairs(list) do
      if type(value) == "table" and #value > 0 then list = value end
    end
  end
  local out <const> = { cores = {}, source = "neuron-ls", instance = instance or from_firmware(),
    lnc = tonumber(table_said.stdout:match("logical%-neuroncore%-config:%s*(%d+)")) }
  for _, device in ipairs(list) do
    local busy <const> = {}
    for _, process in ipairs(type(device.neuron_processes) == "table" and device.neuron_processes or {}) do
      busy[#busy + 1] = { pid = math.tointeger(tonumber(process.pid)), command = tostring(process.command or "") }
    end
    local ids = type(device.neuroncore_ids) == "table" and device.neuroncore_ids or nil
    if not ids then
      -- Older versions give only the count.
      ids = {}
      for i = 1, tonumber(device.nc_count) or 0 do ids[i] = #out.cores + i - 1 end
    end
    out.lnc = out.lnc or tonumber(device.logical_neuroncore_config)
    for _, id in ipairs(ids) do out.cores[#out.cores + 1] = { id = math.tointeger(tonumber(id)), device = device.neuron_device, busy = busy } end
  end
  if #out.cores == 0 then return missing("neuron-ls lists no NeuronCore", GET_DEVICE) end
  out.target = find.target_of(out.instance)
  if out.target == "inf1" then return missing("neuron-explorer does not support Inf1", GET_DEVICE) end
  return out
end

function find.python(ctx, explicit)
  local found <const>, err <const> = ctx.find_python({ "nki", "numpy" }, explicit)
  if found then return found end
  if err.code ~= "missing" then return nil, err end
  local hint = "activate the Neuron environment, or name it with --python, VIRTUAL_ENV or NKI_VENV_PATH; nkiln doctor shows what is here"
  for _, line in ipairs(err.tried or {}) do
    if line:find("/opt/aws_neuron", 1, true) then
      hint = "the images' environments hold an older NKI without the package nki: update the Neuron SDK; " .. hint
      break
    end
  end
  return nil, fault.new("missing", "no Python with nki and numpy found", { hint = hint, tried = err.tried })
end

return find
