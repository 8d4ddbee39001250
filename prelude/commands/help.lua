-- SPDX-License-Identifier: MIT
-- nkiln help [COMMAND]; also what `nkiln` alone prints.

local cli <const> = require "cli"
local fault <const> = require "fault"
local params <const> = require "params"
local report <const> = require "report"
local h <const> = params.helpers

local function overview(host)
  local style <const> = host.style
  local out <const> = { "nkiln: write, check, run and debug NKI kernels for AWS Trainium, on any Linux machine", "", "usage: nkiln COMMAND [ARGS]", "" }
  local width = 0
  for name in pairs(cli.summary) do width = math.max(width, #name) end
  local catalogue <const> = host.catalogue()
  -- What is built in and has a short name stands with the commands it works like, the rest with the skills.
  local beside <const>, named <const> = {}, {}
  for _, kind in ipairs { "skills", "agents" } do
    for _, entry in ipairs(catalogue.usable(kind)) do
      local alias <const> = not entry.alias_refused and entry.alias or nil
      local name <const> = alias or entry.name
      local first <const> = (entry.description or ""):match("^(.-%.)%s") or entry.description or ""
      local target <const> = entry.scope == "builtin" and alias and beside or named
      target[#target + 1] = { name, (first:gsub("%.$", ""):gsub("^%u%l", string.lower)) }
      width = math.max(width, math.min(#name, 28))
    end
  end
  local function row(name, text)
    local room <const> = 96 - width
    if #text > room then text = text:sub(1, room - 3):gsub("%s+%S*$", "") .. "..." end
    out[#out + 1] = "  " .. style.bold(name) .. (" "):rep(math.max(0, width - #name)) .. "  " .. text
  end
  for _, group in ipairs(cli.groups) do
    out[#out + 1] = group.title
    local work <const> = group.title:find "kernel" ~= nil
    if work then
      local there <const> = {}
      for _, pair in ipairs(beside) do there[pair[1]] = pair[2] end
      for _, pair in ipairs(cli.work) do
        local text <const> = cli.summary[pair[1]] or there[pair[1]] and pair[2]
        if text then row(pair[1], text) end
        there[pair[1]] = nil
      end
      for _, pair in ipairs(beside) do
        if there[pair[1]] then row(pair[1], pair[2]) end
      end
    else
      for _, name in ipairs(group.names) do row(name, cli.summary[name]) end
      for _, pair in ipairs(group.title:find "Skills" and named or {}) do row(pair[1], pair[2]) end
    end
    out[#out + 1] = ""
  end
  out[#out + 1] = "nkiln help COMMAND tells more. --json puts one JSON value on stdout. Exit status: 0 done, 1 failed, 2 usage or"
  out[#out + 1] = "bad input, 3 something is missing here, 4 budget spent, 5 not permitted, 130 interrupted."
  return table.concat(out, "\n") .. "\n"
end

local function data(host)
  local commands <const> = {}
  for _, group in ipairs(cli.groups) do
    for _, name in ipairs(group.names) do commands[#commands + 1] = { name = name, kind = "command", description = cli.summary[name] } end
  end
  for _, kind in ipairs { "skills", "agents" } do
    for _, entry in ipairs(host.catalogue().usable(kind)) do
      commands[#commands + 1] = { name = entry.name, alias = entry.alias, kind = kind:sub(1, -2), description = entry.description }
    end
  end
  return { ok = true, commands = commands }
end

return {
  params = { h.text("command", "the command", { optional = true, positional = true }) },
  run = function(host, args)
    local name <const> = args.command
    if not name then
      if host.json then return data(host) end
      host.out(report.tame(overview(host)))
      return 0
    end
    if cli.is_command(name) then return cli.help(host, cli.command(name)) end
    local catalogue <const> = host.catalogue()
    local entry <const>, err <const> = catalogue.find(name)
    if err then return nil, err end
    if not entry then
      local near <const> = fault.nearest(name, catalogue.all_names())
      return nil, fault.new("usage", ("unknown command %s"):format(name), { hint = near and "did you mean " .. near .. "?" or "nkiln help lists the commands" })
    end
    local decl <const>, why <const> = catalogue.declaration(entry)
    if decl then return cli.help(host, decl) end
    if entry.kind == "prompt" or (why and why.code == "untrusted") then
      local more <const> = why and fault.text(why) or "documents only, for agents to read: " .. entry.path
      host.out(report.tame(("%s: %s\n\n%s\n"):format(entry.name, entry.description or "", more)))
      return 0
    end
    return nil, why
  end,
}
