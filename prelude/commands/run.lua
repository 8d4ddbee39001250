-- SPDX-License-Identifier: MIT
-- nkiln run SCRIPT.lua [ARGS]: a Lua script without a terminal. It gets `ctx` and its words as `arg` and `...`; what it
-- returns is the exit status (a whole number), or a result table as a skill returns one.

local params <const> = require "params"
local h <const> = params.helpers

return {
  description = "Run a Lua script without a terminal. It has the words after its name as `...` and in `arg`, and ctx, as skills have it: "
    .. "ctx.nki.check and ctx.nki.sim { path = ..., cases = { ... } }, ctx.skill(NAME, { ... }) and ctx.agent(NAME, { ... }) with the "
    .. "flags of their commands, ctx.fs, ctx.proc, ctx.print. It returns a table (ok = false is exit status 1), an exit status, or nil and a message.",
  params = {
    h.path("script", "the Lua file", { positional = true }),
    h.list(h.text("args", "words for the script"), { positional = true }),
  },
  pass = "args",
  examples = { "nkiln run nightly.lua trn2", "nkiln --json run nightly.lua" },
  run = function(host, args, common) return require("script").run(host, args.script, args.args, common) end,
}
