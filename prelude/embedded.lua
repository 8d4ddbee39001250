-- SPDX-License-Identifier: MIT
-- embedded: the files inside the program as a disk, for a lone binary without its folder of Lua files. Paths begin with
-- "nkiln:/". Reading only; a name that is not there gives nil, err as the real disk does.

local vm <const> = require "rt.vm"

local embedded <const> = { BASE = "nkiln:" }

local function inner(path) return path:match("^nkiln:/(.*)$") or path end

local function gone(path) return nil, { code = "not_found", message = path .. ": no such file or folder" } end

local function names() -- of everything, once
  if not embedded.all then
    local all <const> = {}
    for _, kind in ipairs { "skills", "agents" } do
      for _, name in ipairs(vm.resources(kind)) do all[#all + 1] = name end
    end
    embedded.all = all
  end
  return embedded.all
end

local disk <const> = {}
embedded.disk = disk

function disk.list(path)
  local prefix <const> = inner(path) .. "/"
  local out <const>, seen <const> = {}, {}
  for _, name in ipairs(names()) do
    local child <const> = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1):match("^[^/]+")
    if child and not seen[child] then
      seen[child] = true
      out[#out + 1] = child
    end
  end
  if #out == 0 then return gone(path) end
  return out
end

function disk.stat(path)
  local wanted <const> = inner(path)
  for _, name in ipairs(names()) do
    if name == wanted then return { kind = "file" } end
    if name:sub(1, #wanted + 1) == wanted .. "/" then return { kind = "dir" } end
  end
  return gone(path)
end

function disk.read(path)
  local text <const> = vm.resource(inner(path))
  if not text then return gone(path) end
  return text
end

function disk.realpath(path) return path end

return embedded
