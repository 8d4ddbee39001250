-- SPDX-License-Identifier: MIT
-- nkiln skill NAME [ARGS]: run a skill (or agent) by its full name or alias, even where a command has that name.

local fault <const> = require "fault"
local params <const> = require "params"
local h <const> = params.helpers

return {
  params = {
    h.text("name", "the skill", { positional = true }),
    h.list(h.text("args", "its arguments; nkiln skill NAME --help lists them"), { positional = true }),
  },
  pass = "args",
  examples = { 'nkiln skill neuron-nki-writing ref.py --case "x=bf16[256,1024], scale=0.125"' },
  run = function(host, args)
    local catalogue <const> = host.catalogue()
    local entry <const>, err <const> = catalogue.find(args.name)
    if err then return nil, err end
    if not entry then
      local near <const> = fault.nearest(args.name, catalogue.names("skills"))
      return nil, fault.new("usage", ("no skill called %s"):format(args.name), { hint = near and "did you mean " .. near .. "?" or "nkiln skills lists them" })
    end
    return require("invoke").from_command_line(host, entry, args.args)
  end,
}
