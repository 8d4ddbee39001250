-- SPDX-License-Identifier: MIT
-- work.report: the worker job behind `nkiln report`: a profile database as a page and as a trace file.
--
-- request: { path = database, shown = its name for messages, html = file or nil, perfetto = file or nil }
-- result:  { ok = true, html = {path, bytes}, perfetto = {path, bytes}, kind, title, total_ns, instructions, findings }
-- Files are written whole or not at all: into a temporary file beside the target, renamed when complete.

local collect <const> = require "profile.report.collect"
local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local work <const> = {}

-- What a report that was killed left of this file goes away; one that is being written is locked, and stays.
local function tidy(folder, name)
  local head <const> = "." .. name:sub(1, 80) .. "."
  for _, other in ipairs(fs.list(folder ~= "" and folder or "/") or {}) do
    if other:sub(1, #head) == head and other:sub(#head + 1):find("^%x+%.tmp$") and #other == #head + 16 then
      local lock <const> = fs.lock(folder .. "/" .. other)
      if lock then
        fs.remove(folder .. "/" .. other)
        lock:release()
      end
    end
  end
end

-- Write the texts of an iterator to `path`; their bytes, or nil, err.
local function write(path, pieces)
  local folder <const>, name <const> = path:match("^(.*)/([^/]*)$")
  tidy(folder, name)
  local temp <const> = ("%s/.%s.%s.tmp"):format(folder, name:sub(1, 80), fs.sha256(path .. os.time() .. tostring({})):sub(1, 12))
  local lock <const> = fs.lock(temp)
  local size = 0
  local ok, err = true, nil
  for text in pieces do
    ok, err = fs.append(temp, text)
    if not ok then break end
    size = size + #text
  end
  if ok then ok, err = fs.rename(temp, path) end
  if lock then lock:release() end
  if not ok then
    fs.remove(temp)
    return nil, fault.new(err.code, "cannot be written: " .. fault.why(err), { where = path })
  end
  return size
end

local function each(list)
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

function work.run(request, job)
  if job and job.progress then job.progress { message = "reading the profile" } end
  local page <const>, err <const> = collect.page(request.path, request.shown)
  if not page then return nil, err end
  local result <const> = { ok = true, kind = page.kind, title = page.title, total_ns = page.total_ns }
  if request.html then
    local bytes <const>, why <const> = write(request.html, each(require("profile.report.page").build(page)))
    if not bytes then return nil, why end
    result.html = { path = request.html, bytes = bytes }
  end
  if request.perfetto then
    local bytes <const>, why <const> = write(request.perfetto, require("profile.perfetto").pieces(page))
    if not bytes then return nil, why end
    result.perfetto = { path = request.perfetto, bytes = bytes }
  end
  return result
end

return work
