-- SPDX-License-Identifier: MIT
-- What the end-to-end tests share: the binary, and a folder of one's own with a home and a configuration inside, so that
-- nothing of the person who runs the tests is read or written.
local t <const> = require "tests.lib"

local nkiln <const> = {}

local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  local pipe <const> = assert(io.popen("pwd"))
  local here <const> = pipe:read("l")
  pipe:close()
  return here .. "/" .. path
end

nkiln.binary = absolute(os.getenv("NKILN_BINARY") or "build/nkiln")
nkiln.quoted = t.quote(nkiln.binary)
nkiln.root = absolute(".")

local methods <const> = {}
methods.__index = methods

-- A fresh folder, removed after the test.
function nkiln.folder() return setmetatable({ path = t.tmpdir() .. "/work", made = false }, methods) end

function methods:ready()
  if self.made then return end
  self.made = true
  os.execute("mkdir -p " .. t.quote(self.path) .. " " .. t.quote(self.path .. "/../home"))
end

function methods:full(name) return self.path .. "/" .. name end

function methods:write(name, text)
  self:ready()
  local path <const> = self:full(name)
  os.execute("mkdir -p " .. t.quote(path:match("^(.*)/")))
  t.write(path, text)
end

function methods:read(name) return t.read(self:full(name)) end

-- Run a line of shell in the folder: status, stdout, stderr.
function methods:sh(line, input)
  self:ready()
  local setup <const> = ("cd %s && export HOME=%s XDG_CONFIG_HOME=%s; unset NKILN_TRUST NKILN_PYTHON VIRTUAL_ENV NKI_VENV_PATH\n"):format(
    t.quote(self.path), t.quote(self.path .. "/../home"), t.quote(self.path .. "/config"))
  return t.sh(setup .. line, input)
end

-- Run nkiln with these words (shell syntax). A run that hangs is ended after two minutes: status 137.
function methods:run(words, input) return self:sh("timeout -s KILL 120 " .. nkiln.quoted .. " " .. words, input) end

return nkiln
