-- SPDX-License-Identifier: MIT
-- nkiln version

return {
  params = {},
  run = function(host)
    if host.json then
      host.out_json { ok = true, version = host.version, lua = host.lua_version, machine = host.machine, home = host.prelude_home }
    else
      host.out(("nkiln %s (%s, %s)\n"):format(host.version, host.lua_version, host.machine))
    end
    return 0
  end,
}
