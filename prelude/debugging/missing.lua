-- SPDX-License-Identifier: MIT
-- An instruction that is not there: a weight or bias is given to the kernel, perhaps loaded and spread over the partitions, and then
-- nothing reads it. Hypotheses: what goes out is multiplied by it, or it is added, just before a copy of the result.
--
--   missing.apply(self, call, statement)   add them for one copy to a Finder of edits.lua; nothing fails

local ast <const> = require "nki.ast"

local missing <const> = {}

local COPIES <const> = { dma_copy = "src", tensor_copy = "src", store = "value" }

-- A tile that nothing reads, cut to the height of the tile it is combined with: t -> t, t[0:n, :].
local function parts(tile, node, text)
  local region <const> = node.type == "Subscript" and text:match("(%b[])$")
  return region and { tile .. region, tile } or { tile, ("%s[0:%s.shape[0], :]"):format(tile, text) }
end

function missing.apply(self, call, statement)
  local keyword <const> = call.func.type == "Attribute" and COPIES[call.func.attr]
  local source <const> = keyword and ast.argument(call, keyword, 2)
  local root <const> = source and (source.type == "Name" or source.type == "Subscript") and ast.root(source)
  if not root or not self.tiles[root] or statement.type ~= "Expr" or statement.value ~= call then return end
  local indent <const> = self.source:indent(statement.lineno)
  if #indent ~= statement.col_offset then return end -- not alone on its line
  local text <const> = self.source:slice(source)
  local function propose(name, before, operand)
    for _, op in ipairs { "multiply", "add" } do
      self.list[#self.list + 1] = {
        kind = "missing", order = #self.list, title = ("%s `%s`, which nothing reads"):format(op == "multiply" and "multiply by" or "add", name),
        edits = { self.source.insert(statement.lineno, 1, ("%s%s%s.tensor_tensor(dst=%s, data1=%s, data2=%s, op=%s.%s)\n"):format(before, indent, self.nisa,
          text, text, operand, self.nl, op)) },
      }
    end
  end
  for _, tile in ipairs(self.tile_names) do
    if self.unread[tile] and tile ~= root and self.tile_line[tile] < statement.lineno then
      for _, part in ipairs(parts(tile, source, text)) do propose(tile, "", part) end
    end
  end
  for _, param in ipairs(self.unused) do
    local fresh <const> = param .. "_all"
    if not self.tiles[fresh] and not self.params[fresh] then
      propose(param, ("%s%s = %s.broadcast_to(%s.load(%s), %s.shape)\n"):format(indent, fresh, self.nl, self.nl, param, text), fresh)
    end
  end
end

return missing
