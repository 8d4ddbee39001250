-- SPDX-License-Identifier: MIT
-- Where a profile database goes, and whether it may go there.
--
--   place.stem(kernel, entry)        the name of a profile for which none was given, without its ending
--   place.names(out, n)              the n names that `out` stands for: p.db, or p.case1.db, p.case2.db ... when n > 1
--   place.plan(ctx, args, n, stem)   absolute paths, each judged and its folder found writable; nil, err
--
--   place.tidy(paths)                a value to be closed: unfinished databases of these names that nobody is writing any more go away
--
-- A profile may replace a profile of nkiln; nothing else is ever written over. The folder is tried before the work begins,
-- so that minutes on a device are not spent for a file that cannot be written.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local place <const> = {}

place.FOLDER = ".nkiln/profiles"

-- The name of a profile without -o: the kernel's, with the entry where it was named.
function place.stem(kernel, entry)
  local stem <const> = kernel:match("([^/]*)$"):gsub("%.py$", "")
  return entry and ("%s.%s"):format(stem, (entry:gsub("[^%w_]", "_"))) or stem
end

function place.names(out, n)
  if n <= 1 then return { out } end
  local head, tail = out:match("^(.*[^/])(%.[%w]+)$")
  if not head then head, tail = out, "" end
  local list <const> = {}
  for i = 1, n do list[i] = ("%s.case%d%s"):format(head, i, tail) end
  return list
end

-- The value of format_version of a profile database of ours; nil for any other file.
function place.format_of(ctx, path)
  local d <const> = ctx.db.open(path, { readonly = true, create = false, busy = 2 })
  if not d then return nil end
  local version <const> = d:value("select value from nkiln where key = 'format_version'")
  d:close()
  return version
end

-- May a profile be written at this absolute path? `shown` is the name the user gave.
local function judge(ctx, path, shown, inputs)
  for _, input in ipairs(inputs) do
    if path == input.path or fs.realpath(path) == (fs.realpath(input.path) or input.path) then
      return nil, fault.new("usage", ("the profile would be written over the %s; nothing was changed"):format(input.what),
        { where = shown, hint = "give another name with -o" })
    end
  end
  local st <const>, err <const> = ctx.fs.stat(path)
  if not st then
    if err.code == "not_found" or err.code == "not-found" then return true end
    return nil, fault.new(err.code, "the profile cannot be written: " .. fault.why(err), { where = shown })
  end
  if st.type == "directory" then
    return nil, fault.new("is-directory", "this is a folder; the profile is one file", { where = shown, hint = "as in -o p.db" })
  end
  if st.type ~= "file" then
    return nil, fault.new("exists", "this is no regular file; nothing was changed", { where = shown, hint = "as in -o p.db" })
  end
  if st.size == 0 or place.format_of(ctx, path) then return true end
  return nil, fault.new("exists", "this file exists and is no profile of nkiln; nothing was changed", { where = shown, hint = "give another name with -o" })
end

-- Can a file be made in this folder? The database is written beside its name and renamed.
local function try_folder(ctx, path, shown)
  local folder <const> = path:match("^(.+)/[^/]*$") or "/"
  local st <const>, err <const> = ctx.fs.stat(folder)
  if not st then
    if err.code == "not_found" or err.code == "not-found" then
      return nil, fault.new("not-found", "the folder of the profile does not exist", { where = shown, hint = "mkdir -p " .. folder })
    end
    return nil, fault.new(err.code, "the profile cannot be written: " .. fault.why(err), { where = shown })
  end
  if st.type ~= "directory" then return nil, fault.new("not-directory", "the profile's folder is a file", { where = shown }) end
  local mark <const> = ("%s/.nkiln-try-%s"):format(folder, fs.sha256(table.concat({ tostring {}, os.clock(), os.time() }, " ")):sub(1, 12))
  local made <const>, why <const> = ctx.fs.write(mark, "")
  if not made then
    if why.code == "not-permitted" then return nil, why end
    return nil, fault.new(why.code, "the profile cannot be written there: " .. fault.why(why), { where = shown })
  end
  ctx.fs.remove(mark)
  return true
end

-- A worker that was stopped cannot remove what it was writing (runtime/trace/store.c: NAME.part- and six letters, locked while
-- it is written). With `local _ <close> = place.tidy(paths)` it is gone when the call ends, however it ends.
function place.tidy(paths)
  return setmetatable({}, { __close = function()
    for _, path in ipairs(paths) do
      local folder <const>, base <const> = path:match("^(.*/)([^/]*)$")
      for _, name in ipairs(fs.list(folder) or {}) do
        if name:sub(1, #base + 6) == base .. ".part-" and #name == #base + 12 then
          local lock <const> = fs.lock(folder .. name)
          if lock then
            fs.remove(folder .. name)
            lock:release()
          end
        end
      end
    end
  end })
end

-- inputs: { {path=absolute, what="kernel"}, ... } that must not be written over.
function place.plan(ctx, args, n, stem, inputs)
  local out = args.out
  if not out then
    local made <const>, err <const> = ctx.fs.mkdir(ctx.workspace .. "/" .. place.FOLDER, true)
    if not made and err.code ~= "exists" then
      return nil, fault.new(err.code, "the folder for profiles cannot be made: " .. fault.why(err),
        { where = ctx.workspace .. "/" .. place.FOLDER, hint = "name a file with -o" })
    end
    out = ("%s/%s/%s.db"):format(ctx.workspace, place.FOLDER, stem)
  end
  local paths <const> = {}
  for i, name in ipairs(place.names(out, n)) do
    local path <const> = ctx.fs.absolute(name)
    local ok, err
    if name:sub(-1) == "/" then
      err = fault.new("is-directory", "this is the name of a folder; the profile is one file", { where = name, hint = "as in -o p.db" })
    else
      ok, err = judge(ctx, path, name, inputs or {})
    end
    if ok and i == 1 then ok, err = try_folder(ctx, path, name) end
    if not ok then return nil, err end
    paths[i] = path
  end
  return paths
end

return place
