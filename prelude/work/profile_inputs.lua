-- SPDX-License-Identifier: MIT
-- work.profile_inputs: the worker job that gives a device run its real inputs: the case bound to the kernel's parameters,
-- every tensor written as a file, the same data that `nkiln sim` runs with.
--
-- request: { path=, shown_path=, case=text, entry=, target=, nki_version=, seed=, cwd=, roots=, out=folder that exists }
-- result:  { entry=, arguments={ {name=, kind="tensor", file=absolute .npy, raw=absolute .bin or nil, dtype=, shape=, bytes=},
--            {name=, kind="value", value=}, {name=, kind="dtype", dtype=} } }
-- `raw` is there for types that NumPy's files cannot name (bfloat16, float8). nil, err (status 2) when the case does not fit
-- the kernel. Whether the kernel builds is not judged here: on a device the vendor's compiler says so.

local array <const> = require "rt.array"
local case_module <const> = require "nki.case"
local check <const> = require "nki.check"
local fs <const> = require "rt.fs"
local json <const> = require "rt.json"
local session <const> = require "nki.session"

local work <const> = {}

local PLAIN <const> = {
  float32 = true, tfloat32 = true, float16 = true, int8 = true, int16 = true, int32 = true, uint8 = true, uint16 = true, uint32 = true, bool = true,
}

local function bad(code, message, fields)
  local err <const> = { code = code, message = message, status = 2 }
  for k, v in pairs(fields or {}) do err[k] = v end
  return nil, err
end

local function plain(value)
  if value == case_module.None then return json.null end
  if type(value) == "table" then
    local items <const> = {}
    for i = 1, value.n do items[i] = plain(value[i]) end
    return json.array(items)
  end
  return value
end

local function write(path, bytes)
  local ok <const>, err <const> = fs.write(path, bytes)
  if not ok then return nil, { code = err.code, message = "an input cannot be written: " .. err.message, where = path, status = 2 } end
  return true
end

function work.run(request)
  local cases <const>, wrong <const> = check.cases({ request.case }, request.cwd)
  if not cases then return nil, wrong end
  local opened <const> = session.open { path = request.path, entry = request.entry, target = request.target, version = request.nki_version,
    roots = request.roots }
  if not opened.params then
    local d <const> = opened.diagnostics[1] or { code = "failed", message = "the kernel cannot be read" }
    local place <const> = d.line and ("%s:%d"):format(request.shown_path or request.path, d.line) or request.shown_path
    return bad(d.code, d.message, { where = place, hint = opened.functions and "choose one with --entry" or nil })
  end
  local bound <const>, unbound <const> = case_module.bind(cases[1], opened.params, opened.entry)
  if not bound then return bad("bad-case", case_module.line(unbound), { hint = unbound.accepted and "accepted: " .. unbound.accepted or nil }) end
  local result <const> = { entry = opened.entry, arguments = {} }
  for _, param in ipairs(opened.params) do
    local arg <const> = bound[param.name]
    if arg and (arg.kind == "tensor" or arg.kind == "file") then
      local data <const>, why <const> = session.data(arg, { seed = request.seed, cwd = request.cwd })
      if not data then return bad("case-file", why) end
      local a <const> = data:contiguous()
      local row <const> = { name = param.name, kind = "tensor", dtype = a.dtype, shape = a.shape, file = ("%s/%s.npy"):format(request.out, param.name) }
      local ok, err = write(row.file, array.write_npy(a))
      if ok and not PLAIN[a.dtype] then
        row.raw = ("%s/%s.bin"):format(request.out, param.name)
        ok, err = write(row.raw, a:bytes())
      end
      if not ok then return nil, err end
      result.arguments[#result.arguments + 1] = row
    elseif arg then
      result.arguments[#result.arguments + 1] = { name = param.name, kind = arg.kind == "dtype" and "dtype" or "value", dtype = arg.dtype,
        value = arg.kind ~= "dtype" and plain(arg.value) or nil }
    end
  end
  return result
end

return work
