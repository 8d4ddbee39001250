-- SPDX-License-Identifier: MIT
local R <const> = require "python.support"
return R.stdlib
