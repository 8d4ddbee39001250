-- SPDX-License-Identifier: MIT
-- The ways into a profile database that start after the schedule model: a capture on a device, files of an earlier
-- capture, neuron-explorer's Parquet folder, its summary. All end in the same import.
--
--   doors.chosen(args) -> "model" | "device" | "pair" | "import" | "summary" | nil, err   which way the arguments name
--   doors.run(way, ctx, args, kernel) -> result of the skill | nil, err

local cases_module <const> = require "nki.case"
local chain <const> = require "profile.device.chain"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"
local identify <const> = require "profile.device.identify"
local overview <const> = require "profile.overview"
local place <const> = require "profile.place"

local doors <const> = {}

local function usage(message, hint) return nil, fault.new("usage", message, { hint = hint or "see nkiln help profile" }) end

-- What each way takes besides -o: true = it needs it, false = it must not have it, nil = it may.
local ways <const> = {
  model = { kernel = true, device = false, neff = false, ntff = false, import = false, summary = false, lnc = false, python = false, capture_seconds = false },
  device = { device = true, ntff = false, import = false, summary = false },
  pair = { neff = true, ntff = true, device = false, import = false, summary = false, python = false, capture_seconds = false },
  import = { import = true, device = false, neff = false, ntff = false, summary = false, python = false, lnc = false, capture_seconds = false },
  summary = { summary = true, device = false, neff = false, ntff = false, import = false, python = false, lnc = false, capture_seconds = false },
}

local function given(args, name)
  local value <const> = args[name]
  return value ~= nil and value ~= false
end

function doors.chosen(args)
  local way = "model"
  if given(args, "import") then
    way = "import"
  elseif given(args, "summary") then
    way = "summary"
  elseif given(args, "device") then
    way = "device"
  elseif given(args, "neff") or given(args, "ntff") then
    way = "pair"
  end
  local words <const> = {
    model = "without --device", device = "with --device", pair = "with --neff and --ntff", import = "with --import", summary = "with --summary",
  }
  local names <const> = {}
  for name in pairs(ways[way]) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local flag <const> = name == "kernel" and "KERNEL.py" or "--" .. name:gsub("_", "-")
    if ways[way][name] == true and not given(args, name) then return usage(("%s is missing"):format(flag)) end
    if ways[way][name] == false and given(args, name) then return usage(("%s has no meaning %s"):format(flag, words[way])) end
  end
  if way == "device" then
    if not given(args, "kernel") and not given(args, "neff") then
      return usage("KERNEL.py is missing", "--device profiles a kernel with its cases, or --neff FILE")
    end
    if given(args, "kernel") and #args.case == 0 then
      return usage("a case is needed: it gives the inputs the kernel is run with", 'as in --case "x=bf16[256,1024], scale=0.125"')
    end
  end
  if (way == "pair" or way == "import" or way == "summary" or way == "device" and given(args, "neff")) and #args.case > 1 then
    return usage("one profile has one case")
  end
  return way
end

local function file_hash(path)
  local bytes <const> = path and fs.read(path, 64 << 20)
  return bytes and fs.sha256(bytes) or nil
end

-- Import, read back, and say what there is.
local function import(ctx, source, db, provenance, notes, read)
  provenance.nkiln_version, provenance.created = require("host").VERSION, os.date("!%Y-%m-%dT%H:%M:%SZ")
  ctx.progress("importing")
  local _ <close> = place.tidy { db }
  local made <const>, err <const> = ctx.job("work.profile_import", {
    folder = source.folder, json = source.json, summary = source.summary, db = db, provenance = provenance, notes = ctx.json.array(notes), roots = read,
  }, { read = read, write = { db:match("^(.+)/[^/]*$") or "/" } })
  if not made then return nil, err end
  local facts <const>, unread <const> = overview.read(ctx, db)
  if not facts then return nil, unread end
  facts.tables = made.tables
  return facts
end

local function stem_of(path) return (path:match("([^/]*)/*$"):gsub("%.%w+$", "")) end

-- The answers of a capture that a caller may want, without what is in the database anyhow.
local function describe(facts, taken)
  facts.work, facts.log, facts.metrics = taken.work, taken.log, taken.metrics
  facts.neff = { path = taken.neff.path, uuid = taken.neff.uuid, name = taken.neff.name, lnc = taken.neff.lnc }
  facts.ntff, facts.parquet, facts.core, facts.outputs = taken.ntff, taken.parquet, taken.core, taken.outputs
  -- Two outputs of one tool about one trace: a difference means that one of the two was misread.
  local total <const> = taken.metrics and tonumber(taken.metrics.total_time)
  if total and facts.total_s and math.abs(total - facts.total_s) > 1e-3 * total then
    facts.notes[#facts.notes + 1] = { level = "warning", code = "metrics-differ", message = ("summary-json says %s in all, the imported tables %s"):format(
      overview.time_text(total), overview.time_text(facts.total_s)) }
  end
  return facts
end

local function folders_of(ctx, kernel, cases)
  local list <const> = { ctx.workspace }
  if kernel then list[#list + 1] = kernel:match("^(.+)/[^/]*$") or "/" end
  for _, case in ipairs(cases or {}) do
    for _, file in ipairs(cases_module.files(case)) do list[#list + 1] = ctx.fs.absolute(file) end
  end
  return list
end

local function common_provenance(args, kernel, entry, case)
  return { kernel_file = kernel, kernel_sha256 = file_hash(kernel), entry = entry or args.entry, case = case }
end

local function merge(into, from)
  for k, v in pairs(from) do
    if into[k] == nil then into[k] = v end
  end
  return into
end

-- The inputs that must not be written over, each an absolute path.
local function inputs_of(ctx, args, kernel)
  local list <const> = {}
  if kernel then list[1] = { path = kernel, what = "kernel" } end
  for _, name in ipairs { "neff", "ntff", "summary", "import" } do
    if args[name] then list[#list + 1] = { path = ctx.fs.absolute(args[name]), what = name == "import" and "folder" or name:upper() } end
  end
  return list
end

local function device(ctx, args, kernel)
  local count <const> = args.neff and 1 or #args.case
  local stem <const> = (args.neff and stem_of(args.neff) or place.stem(kernel, args.entry)) .. ".device"
  local outputs <const>, err <const> = place.plan(ctx, args, count, stem, inputs_of(ctx, args, kernel))
  if not outputs then return nil, err end
  local result <const> = { ok = true, kind = "captured", cases = {} }
  local prepared
  for i, path in ipairs(outputs) do
    local o <const> = {
      kernel = kernel, shown = args.kernel, case = args.case[i], entry = args.entry, target = args.target,
      lnc = math.tointeger(tonumber(args.lnc or 1)), python_named = args.python, seconds = args.capture_seconds or 300,
      nki_version = args.nki_version, roots = folders_of(ctx, kernel, args.case),
      neff = args.neff and ctx.fs.absolute(args.neff) or nil,
    }
    if prepared then
      o.tools, o.devices, o.target, o.python = prepared.tools, prepared.devices, prepared.target, prepared.python
    else
      local ready <const>, missing <const> = chain.prepare(ctx, o)
      if not ready then return nil, missing end
      prepared = o
    end
    local taken <const>, why <const> = (o.neff and chain.neff or chain.kernel)(ctx, o)
    if not taken then return nil, why end
    local facts <const>, failed <const> = import(ctx, { folder = taken.parquet }, path,
      merge(taken.provenance, common_provenance(args, kernel, taken.entry, args.case[i])), taken.notes, table.move(o.roots, 1, #o.roots, 2, { taken.parquet }))
    if not facts then return nil, failed end
    facts.case = args.case[i]
    result.cases[i] = describe(facts, taken)
  end
  result.target = prepared.target
  return result
end

local function pair(ctx, args, kernel)
  local outputs <const>, err <const> = place.plan(ctx, args, 1, stem_of(args.ntff), inputs_of(ctx, args, kernel))
  if not outputs then return nil, err end
  local taken <const>, why <const> = chain.pair(ctx, {
    neff = ctx.fs.absolute(args.neff), ntff = ctx.fs.absolute(args.ntff), kernel = kernel, target = args.target, lnc = args.lnc and tonumber(args.lnc),
  })
  if not taken then return nil, why end
  local roots <const> = folders_of(ctx, kernel)
  local facts <const>, failed <const> = import(ctx, { folder = taken.parquet }, outputs[1],
    merge(taken.provenance, common_provenance(args, kernel, nil, args.case[1])), taken.notes, table.move(roots, 1, #roots, 2, { taken.parquet }))
  if not facts then return nil, failed end
  return { ok = true, kind = "captured", cases = { describe(facts, taken) } }
end

local function from_files(way)
  return function(ctx, args, kernel)
    local source = ctx.fs.absolute(args[way])
    local st <const>, err <const> = ctx.fs.stat(source)
    local what <const> = way == "import" and "folder or file" or "summary"
    if not st then return nil, fault.new(err.code, ("the %s cannot be read: %s"):format(what, fault.why(err)), { where = args[way] }) end
    if way == "import" and st.type ~= "directory" and not source:find("%.json$") then
      return nil, fault.new("not-directory", "--import takes the folder of one profile's Parquet files, or a .json file that --output-format json wrote",
        { where = args.import, hint = "neuron-explorer keeps the folder as DATA-PATH/profiles/global/NAME@latest" })
    end
    if way == "summary" and st.type == "directory" then
      return nil, fault.new("is-directory", "this is a folder; --summary takes a file of summary-json", { where = args.summary,
        hint = "for a folder of Parquet files: --import" })
    end
    if st.type == "directory" then
      -- A --data-path, or the folder of a name, holds the tables further down.
      local below <const> = identify.tables(source)
      if #below > 1 then
        local names <const> = {}
        for i = 1, math.min(#below, 5) do names[i] = below[i]:sub(#source + 2) end
        return nil, fault.new("bad-input", ("%d profiles lie in this folder: %s%s"):format(#below, table.concat(names, ", "), #below > 5 and ", ..." or ""),
          { where = args[way], hint = "give the folder of one" })
      end
      source = below[1] or source
    end
    local outputs <const>, unwritable <const> = place.plan(ctx, args, 1, stem_of(source), inputs_of(ctx, args, kernel))
    if not outputs then return nil, unwritable end
    local provenance <const> = merge({ kind = "imported", target = args.target, imported_from = source }, common_provenance(args, kernel, nil, args.case[1]))
    local roots <const> = folders_of(ctx, kernel)
    local kind <const> = way == "summary" and "summary" or st.type == "directory" and "folder" or "json"
    local facts <const>, failed <const> = import(ctx, { [kind] = source }, outputs[1], provenance, {},
      table.move(roots, 1, #roots, 2, { source }))
    if not facts then return nil, failed end
    return { ok = true, kind = "imported", cases = { facts } }
  end
end

local runs <const> = { device = device, pair = pair, import = from_files("import"), summary = from_files("summary") }

function doors.run(way, ctx, args, kernel)
  for _, name in ipairs { "neff", "ntff" } do
    -- The vendor's tools read these outside any sandbox: the user's rules are asked here.
    if args[name] then
      local st <const>, err <const> = ctx.fs.stat(args[name])
      if not st and err.code == "not-permitted" then return nil, err end
    end
  end
  return runs[way](ctx, args, kernel)
end

return doors
