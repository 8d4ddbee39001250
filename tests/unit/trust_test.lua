-- SPDX-License-Identifier: MIT
local t <const> = require "tests.lib"
local trust <const> = require "trust"

local function store(text)
  local files <const> = { ["/c/nkiln/trust.json"] = text }
  local disk <const> = {}
  function disk.read(path) return files[path], { code = "not_found", message = "no such file" } end
  function disk.write_atomic(path, bytes)
    files[path] = bytes
    return true
  end
  function disk.make_dirs() return true end
  return trust.open { path = "/c/nkiln/trust.json", disk = disk, today = function() return "2026-01-31" end }, files
end

t.test("a folder is trusted once added, exactly that folder", function()
  local s <const>, files <const> = store(nil)
  t.eq(s:has("/w"), false)
  t.eq(s:list(), {})
  t.ok(s:add("/w"))
  t.eq(s:has("/w"), true)
  t.eq(s:has("/w/sub"), false)
  t.eq(s:has("/"), false)
  t.eq(select(2, s:add("/w")), "already")
  t.has(files["/c/nkiln/trust.json"], "2026-01-31")
  t.ok(s:remove("/w"))
  t.eq(s:has("/w"), false)
  t.eq(select(2, s:remove("/w")), "absent")
  t.has(files["/c/nkiln/trust.json"], "[]")
end)

t.test("a damaged list trusts nobody and is not overwritten", function()
  local damaged <const> = {
    "", "{", "[]", '{"version":1}', '{"version":2,"workspaces":[]}', '{"version":1,"workspaces":["/w"]}', '{"version":1,"workspaces":[{"path":1}]}',
  }
  for _, text in ipairs(damaged) do
    local s <const>, files <const> = store(text)
    local yes <const>, err <const> = s:has("/w")
    t.eq(yes, false, text)
    t.eq(err.code, "bad-trust", text)
    t.eq(s:add("/w"), nil)
    t.eq(files["/c/nkiln/trust.json"], text)
  end
end)
