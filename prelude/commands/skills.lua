-- SPDX-License-Identifier: MIT
-- nkiln skills: every skill found, with path, trust, what it shadows and every problem.

local listing <const> = require "listing"

return {
  params = {},
  run = function(host) return listing.show(host, "skills") end,
}
