-- SPDX-License-Identifier: MIT
-- nkiln restore [RUN] [FILE...]: put files back as they were before a run. What is replaced is kept as well.

local fault <const> = require "fault"
local params <const> = require "params"
local report <const> = require "report"
local h <const> = params.helpers

return {
  params = {
    h.text("run", "the run's id, or its beginning", { default = "last", positional = true }),
    h.list(h.path("file", "only these files"), { positional = true }),
  },
  examples = { "nkiln restore", "nkiln restore 20260131-101500-ab12c softmax.py" },
  run = function(host, args)
    local ledger <const>, err <const> = require("ledger").open(host.workspace())
    if not ledger then return nil, err end
    local closing <close> = ledger
    local id <const>, unknown <const> = closing:find(args.run)
    if not id then return nil, unknown end
    local run <const>, busy <const> = closing:hold(id)
    if not run then return nil, busy end
    local paths
    for i, file in ipairs(args.file) do
      paths = paths or {}
      paths[i] = host.disk.realpath(host.absolute(file)) or host.absolute(file)
    end
    local kept <const> = require("snapshots").of(run)
    local list <const>, why <const> = kept:restore(paths)
    run:release()
    if not list then return nil, why end
    local ok, rows = true, {}
    for i, item in ipairs(list) do
      if item.action == "failed" then ok = false end
      local note <const> = item.err and item.err.message or item.kept
        and ("what was there is kept: %s/%s/%s"):format(host.short(kept.folder), item.kept:sub(1, 2), item.kept:sub(3)) or ""
      rows[i] = { item.action, report.clean(host.short(item.path)), report.clean(note) }
    end
    if paths and #list < #paths then
      return nil, fault.new("not-found", ("run %s did not change that file"):format(id), { hint = "nkiln explain " .. id .. " lists its files" })
    end
    if host.json then
      for _, item in ipairs(list) do item.err = item.err and fault.data(item.err) or nil end
      host.out_json { ok = ok, run = id, files = host.array(list) }
    else
      host.out(#rows == 0 and ("run %s changed no files\n"):format(id) or report.table({ {}, {}, {} }, rows, host.style))
    end
    return ok and 0 or 1
  end,
}
