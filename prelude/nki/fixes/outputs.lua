-- SPDX-License-Identifier: MIT
-- Repairs of what a kernel returns, from its tree alone: the tensors in shared HBM that it makes and writes are its outputs.
--
--   outputs.written(fn, source)  -> names of tensors made in HBM and written, in the order they are made
--   outputs.returned(fn, source) -> list of {title=, edits=}: return them

local ast <const> = require "nki.ast"

local outputs <const> = {}

function outputs.written(fn, source)
  local made <const>, order <const>, written <const> = {}, {}, {}
  ast.walk(fn, function(node)
    if node.type == "Assign" and #node.targets == 1 and node.targets[1].type == "Name" and node.value.type == "Call" then
      local buffer <const> = ast.argument(node.value, "buffer", 3)
      local name <const> = node.targets[1].id
      if buffer and source:slice(buffer):find("hbm", 1, true) and not made[name] then
        made[name] = true
        order[#order + 1] = name
      end
    elseif node.type == "Call" then
      local dst <const> = ast.argument(node, "dst", 1)
      local root <const> = dst and ast.root(dst)
      if root then written[root] = true end
    end
  end)
  local list <const> = {}
  for _, name in ipairs(order) do if written[name] then list[#list + 1] = name end end
  return list
end

function outputs.returned(fn, source)
  local names <const> = outputs.written(fn, source)
  if #names == 0 then return {} end
  local text <const> = "return " .. table.concat(names, ", ")
  local last <const>, first <const> = fn.body[#fn.body], fn.body[1]
  if last.type == "Return" then return { { title = text, edits = { source:replace(last, text) } } } end
  local line <const> = last.end_lineno or last.lineno
  return { { title = text, edits = { source.insert(line, #(source:line(line) or "") + 1, "\n" .. source:indent(first.lineno) .. text) } } }
end

return outputs
