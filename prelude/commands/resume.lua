-- SPDX-License-Identifier: MIT
-- nkiln resume [RUN]: go on with an agent's run that was stopped, killed or ran out of budget.

local params <const> = require "params"
local h <const> = params.helpers

return {
  params = { h.text("run", "the run's id, or its beginning", { default = "last", positional = true }) },
  examples = { "nkiln resume", "nkiln resume 20260131-101500-ab12c --budget iterations=20" },
  run = function(host, args, common) return require("agentrun").resume(host, args.run, common) end,
}
