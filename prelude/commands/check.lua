-- SPDX-License-Identifier: MIT
-- nkiln check KERNEL.py --case ...: legality, shapes, dtypes and capacity, without running it on data.

local kernelargs <const> = require "kernelargs"
local kernelreport <const> = require "kernelreport"

local list <const> = { kernelargs.kernel() }
table.move(kernelargs.common(), 1, 4, #list + 1, list)

return {
  params = list,
  examples = { 'nkiln check softmax.py --case "x=bf16[256,1024], scale=0.125"', "nkiln check softmax.py --task task.lua --json" },
  run = function(host, args, common)
    local request <const>, folders <const> = kernelargs.request(host, args)
    if not request then return nil, folders end
    local budget <const> = host.budget_for({ name = "check" }, { common = common })
    local result <const>, err <const> = host.within(budget, function()
      return host.job("work.check", request, { read = folders, progress = host.progress })
    end)
    if not result then return nil, err end
    return kernelreport.show(host, result)
  end,
}
