-- SPDX-License-Identifier: MIT
-- workspace: which folder a command works in, where the user's configuration is, and the disks that registry, trust and
-- policy read through. Paths are absolute; nothing raises for reasons of the world.

local fs <const> = require "rt.fs"

local workspace <const> = {}

-- The real disk, as registry and trust want it.
workspace.disk = {
  list = function(path) return fs.list(path) end,
  stat = function(path)
    local st <const>, err <const> = fs.stat(path)
    if not st then return nil, err end
    return { kind = st.type == "directory" and "dir" or st.type, size = st.size, mtime_ns = st.mtime_ns, inode = st.inode }
  end,
  read = function(path, limit) return fs.read(path, limit) end,
  realpath = function(path) return fs.realpath(path) end,
  write_atomic = function(path, bytes) return fs.write(path, bytes) end,
  make_dirs = function(path) return fs.mkdir(path, true) end,
}

local markers <const> = { ".git", ".kiro", ".claude", ".agents", ".nkiln" }

-- The workspace of a folder: the nearest one above it (itself included) that holds .git, .kiro, .claude, .agents or
-- .nkiln, but never the home folder or one above it, whose .kiro is the user's own; else the folder itself.
function workspace.find(cwd, home)
  local folder = cwd
  while true do
    if folder == home or folder == "/" then return cwd end
    if home and home:sub(1, #folder + 1) == folder .. "/" then return cwd end
    for _, marker in ipairs(markers) do
      if fs.exists(folder .. "/" .. marker) then return folder end
    end
    folder = folder:match("^(.+)/[^/]+$") or "/"
  end
end

-- $XDG_CONFIG_HOME/nkiln, or ~/.config/nkiln; nil when there is neither.
function workspace.config(getenv, home)
  local xdg <const> = getenv("XDG_CONFIG_HOME")
  if xdg and xdg:sub(1, 1) == "/" then return xdg .. "/nkiln" end
  return home and home .. "/.config/nkiln" or nil
end

return workspace
