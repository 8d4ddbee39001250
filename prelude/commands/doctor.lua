-- SPDX-License-Identifier: MIT
-- nkiln doctor: what is here, what each missing thing would enable, and the command that installs it.

local doctor <const> = require "doctor"
local params <const> = require "params"
local h <const> = params.helpers

return {
  params = { h.path("python", "a Python, or the folder of an environment, to look at first", { optional = true }) },
  run = function(host, args)
    local data <const> = doctor.examine(host, { python = args.python })
    if host.json then
      for _, section in ipairs(data.sections) do section.items = host.array(section.items) end
      host.out_json(data)
    else
      host.out(doctor.text(data, host.style, host.short))
    end
    return data.ok and 0 or 3
  end,
}
