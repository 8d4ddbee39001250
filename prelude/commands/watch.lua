-- SPDX-License-Identifier: MIT
-- nkiln watch KERNEL.py --case ... [--reference REF.py[:FUNCTION]]: check, run and judge again at every save.

local kernelargs <const> = require "kernelargs"
local h <const> = require("params").helpers

local list <const> = { kernelargs.kernel() }
table.move(kernelargs.common(), 1, 4, #list + 1, list)
table.move(kernelargs.running(), 1, 5, #list + 1, list)
list[#list + 1] = h.flag("run", "run it on data even without a reference to judge it by")

return {
  params = list,
  examples = { 'nkiln watch softmax.py --case "x=bf16[256,1024], scale=0.125" --reference ref.py:scaled_softmax' },
  run = function(host, args, common) return require("watching").run(host, args, common) end,
}
