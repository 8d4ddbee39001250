-- SPDX-License-Identifier: MIT
-- nkiln ledger: the runs recorded in this workspace, newest first.

local params <const> = require "params"
local report <const> = require "report"
local h <const> = params.helpers

return {
  params = {
    h.integer("limit", "how many runs", { default = 20, min = 1, max = 100000 }),
    h.text("name", "runs of this agent or skill only", { optional = true }),
  },
  examples = { "nkiln ledger --limit 5", "nkiln ledger --name neuron-nki-debugging-agent" },
  run = function(host, args)
    local ledger <const>, err <const> = require("ledger").open(host.workspace(), { readonly = true })
    if not ledger then
      if err.code ~= "not_found" then return nil, err end
      if host.json then host.out_json { ok = true, runs = host.array {} } else host.out(err.message .. "\n") end
      return 0
    end
    local closing <close> = ledger
    local runs <const>, why <const> = closing:runs { limit = args.limit, name = args.name }
    if not runs then return nil, why end
    if host.json then
      host.out_json { ok = true, runs = host.array(runs) }
      return 0
    end
    local rows <const> = {}
    for i, run in ipairs(runs) do
      rows[i] = { run.id, report.clean(run.name), run.status, tostring(run.steps or ""), report.clean(run.message or "") }
    end
    local columns <const> = { { title = "run" }, { title = "name" }, { title = "status" }, { title = "steps", align = "right" }, {} }
    host.out(#rows == 0 and "no runs\n" or report.table(columns, rows, host.style))
    return 0
  end,
}
