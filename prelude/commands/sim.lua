-- SPDX-License-Identifier: MIT
-- nkiln sim KERNEL.py --case ... [--reference REF.py[:FUNCTION]]: run a kernel on the NKI machine and judge its outputs.

local fault <const> = require "fault"
local kernelargs <const> = require "kernelargs"
local kernelreport <const> = require "kernelreport"

local list <const> = { kernelargs.kernel() }
table.move(kernelargs.common(), 1, 4, #list + 1, list)
table.move(kernelargs.running(), 1, 5, #list + 1, list)

return {
  params = list,
  examples = {
    'nkiln sim softmax.py --case "x=bf16[256,1024], scale=0.125" --reference ref.py:scaled_softmax',
    'nkiln sim add.py --case "a=f32[128,512], b=f32[128,512]" --out results',
  },
  run = function(host, args, common)
    local request <const>, folders <const> = kernelargs.request(host, args)
    if not request then return nil, folders end
    local write <const> = {}
    if request.out then
      local made <const>, err <const> = host.disk.make_dirs(request.out)
      if not made then return nil, fault.new(err.code, "the output folder cannot be made: " .. fault.why(err), { where = args.out }) end
      write[1] = request.out
    end
    local calls <const> = require("kernelcalls").answer(host, request, folders)
    local budget <const> = host.budget_for({ name = "sim" }, { common = common })
    local result <const>, err <const> = host.within(budget, function()
      return host.job("work.sim", request, { read = folders, write = write, progress = host.progress, calls = calls })
    end)
    if not result then return nil, err end
    return kernelreport.show(host, result)
  end,
}
