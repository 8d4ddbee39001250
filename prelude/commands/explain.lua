-- SPDX-License-Identifier: MIT
-- nkiln explain CODE | RUN: what an error code means, or what a recorded run did and why.

local fault <const> = require "fault"
local params <const> = require "params"
local report <const> = require "report"
local h <const> = params.helpers

local function codes()
  local out <const> = {}
  for code in pairs(require "nki.catalogue") do out[#out + 1] = code end
  table.sort(out)
  return out
end

local function explain_code(host, code)
  local row <const> = require("nki.catalogue")[code]
  if host.json then
    host.out_json {
      ok = true, code = code, severity = row.severity or "error", title = row.title, reason = row.reason, document = row.doc, has_fix = row.fix ~= nil,
    }
    return 0
  end
  local lines <const> = { host.style.bold(code) .. ": " .. (row.title or "") }
  if row.reason then lines[#lines + 1] = "  why: " .. row.reason end
  if row.doc then lines[#lines + 1] = "  see: " .. row.doc end
  lines[#lines + 1] = row.fix and "  fix: nkiln check shows it as code for your kernel, nkiln debug applies it"
    or "  fix: depends on what the kernel means to do"
  host.out(table.concat(lines, "\n") .. "\n")
  return 0
end

return {
  params = { h.text("what", "an error code (all of them when left out), a run's id, or last", { optional = true, positional = true }) },
  examples = { "nkiln explain partition-exceeds-limit", "nkiln explain last" },
  run = function(host, args)
    local catalogue <const> = require "nki.catalogue"
    if not args.what then
      local rows <const>, data <const> = {}, {}
      for i, code in ipairs(codes()) do
        rows[i] = { code, catalogue[code].title or "" }
        data[i] = { code = code, title = catalogue[code].title, severity = catalogue[code].severity or "error" }
      end
      if host.json then
        host.out_json { ok = true, codes = host.array(data) }
      else
        host.out(report.table({ { title = "code" }, { title = "means" } }, rows, host.style))
      end
      return 0
    end
    if catalogue[args.what] then return explain_code(host, args.what) end
    local ledger <const>, unreadable <const> = require("ledger").open(host.workspace(), { readonly = true })
    if not ledger and (args.what == "last" or args.what:find "^%d") then return nil, fault.of(unreadable) end
    if ledger then
      local closing <close> = ledger
      local run <const> = closing:run(args.what)
      if run then
        if host.json then
          host.out_json { ok = true, run = run }
        else
          host.out((closing:explain(args.what)))
        end
        return 0
      end
    end
    local near <const> = fault.nearest(args.what, codes())
    return nil, fault.new("usage", ("%s is neither an error code nor a run recorded here"):format(args.what), {
      hint = near and "did you mean " .. near .. "?" or "nkiln explain lists the codes, nkiln ledger the runs",
    })
  end,
}
