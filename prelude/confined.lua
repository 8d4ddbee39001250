-- SPDX-License-Identifier: MIT
-- confined: the modules that scripts may require beside their own files: cjson, and lfs inside the granted folders.
--
-- lfs acts through the ctx of the call at work, so it sees what ctx.fs sees. Its functions return nil, message as the
-- original's do; what would change the whole process (chdir, setmode, lock) is refused. cjson is lua-cjson where the
-- program was built with it, else the same calls over rt.json.

local json <const> = require "rt.json"

local confined <const> = {}

local function as_cjson()
  local cjson <const> = { _NAME = "cjson", _VERSION = "2.1.0", null = json.null, array_mt = getmetatable(json.array {}) }
  function cjson.decode(text)
    local value <const>, err <const> = json.decode(text)
    if value == nil and err then error(("%s at line %d column %d"):format(err.message, err.line or 0, err.column or 0), 2) end
    return value
  end
  function cjson.encode(value) return json.encode(value) end
  cjson.new = as_cjson
  return cjson
end

local mode_of <const> = { file = "file", directory = "directory", link = "link", other = "other" }

local function as_lfs(holder)
  local lfs <const> = { _VERSION = "LuaFileSystem 1.8.0 (confined)" }
  local function files()
    if not holder.ctx then error("lfs works only while the skill runs", 3) end
    return holder.ctx.fs
  end
  local function failure(err) return nil, type(err) == "table" and err.message or tostring(err) end
  local function attributes(path, what, nofollow)
    local st <const>, err <const> = files().stat(path, nofollow)
    if not st then return failure(err) end
    local seconds <const> = st.mtime_ns // 1000000000
    local digits <const> = { [0] = "---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx" }
    local permissions = ""
    for shift = 6, 0, -3 do permissions = permissions .. digits[st.mode >> shift & 7] end
    local all <const> = {
      mode = mode_of[st.type] or "other", size = st.size, modification = seconds, access = seconds, change = seconds, ino = st.inode, dev = st.device,
      nlink = st.links, uid = st.uid, permissions = permissions,
    }
    if type(what) == "string" then return all[what] end
    if type(what) == "table" then
      for k, v in pairs(all) do what[k] = v end
      return what
    end
    return all
  end
  function lfs.attributes(path, what) return attributes(path, what, false) end
  function lfs.symlinkattributes(path, what) return attributes(path, what, true) end
  function lfs.dir(path)
    local names <const>, err <const> = files().list(path)
    if not names then error(("cannot open %s: %s"):format(path, type(err) == "table" and err.message or tostring(err)), 2) end
    table.insert(names, 1, "..")
    table.insert(names, 1, ".")
    local i = 0
    local object <const> = {}
    function object.next()
      i = i + 1
      return names[i]
    end
    function object.close() i = #names end
    return function() return object.next() end, object
  end
  function lfs.mkdir(path)
    local ok <const>, err <const> = files().mkdir(path)
    if not ok then return failure(err) end
    return true
  end
  function lfs.rmdir(path)
    local ok <const>, err <const> = files().remove(path)
    if not ok then return failure(err) end
    return true
  end
  function lfs.currentdir()
    files()
    return holder.ctx.cwd
  end
  for _, name in ipairs { "chdir", "setmode", "lock", "unlock", "lock_dir", "link", "touch" } do
    lfs[name] = function() return nil, ("lfs.%s is not available to scripts"):format(name) end
  end
  return lfs
end

-- What loader.lua gets: name -> value or function.
function confined.modules()
  return function(holder)
    return {
      lfs = function() return as_lfs(holder) end,
      cjson = function()
        local ok <const>, native <const> = pcall(require, "rt.cjson")
        return ok and native or as_cjson()
      end,
      ["cjson.safe"] = function()
        local cjson <const> = as_cjson()
        local decode <const>, encode <const> = cjson.decode, cjson.encode
        local function safe(fn)
          return function(value)
            local ok <const>, result <const> = pcall(fn, value)
            if ok then return result end
            return nil, type(result) == "table" and result.message or tostring(result)
          end
        end
        cjson.decode, cjson.encode = safe(decode), safe(encode)
        return cjson
      end,
    }
  end
end

return confined
