-- SPDX-License-Identifier: MIT
-- What every fix builder works with: the structured error, the call it points at, and the text around it. A builder
-- is function(c) -> list of candidates {title=, edits={...}}, best first; an empty list or nil means that no single
-- repair is known. Builders only read; nothing here fails. Candidates are tried by check.lua, which keeps the first
-- that makes the error go away, so a builder may offer more than one reading of what was meant.
--
--   common.new(err, where) -> c     where: {source=, tree=, parents=, imports=, node=, minor=, target=, site_node=fn, params=fn}

local ast <const> = require "nki.ast"
local names <const> = require "nki.names"

local common <const> = {}
local context <const> = {}
context.__index = context

function common.new(err, where)
  local self <const> = setmetatable({
    err = err, source = where.source, tree = where.tree, parents = where.parents, imports = where.imports, node = where.node,
    minor = where.minor, target = where.target, site_node = where.site_node, signature = where.signature, imports_needed = {},
  }, context)
  local node <const> = where.node
  if node then
    self.call = node.type == "Call" and node or ast.enclosing(node, self.parents, { Call = true })
    self.statement = ast.statement(node, self.parents)
    self.fn = ast.enclosing(node, self.parents, { FunctionDef = true })
  end
  return self
end

-- Text ---------------------------------------------------------------------------------------------------------------

function context:text(node) return self.source:expression(node) end

-- `nl.name` and `nisa.name` as this file spells them; a missing import becomes part of the fix.
local function module_name(self, module, name)
  local prefix <const>, import <const> = names.prefix(self, module)
  if import then self.imports_needed[module] = import end
  return prefix .. "." .. name
end
function context:nl(name) return module_name(self, "nki.language", name) end
function context:nisa(name) return module_name(self, "nki.isa", name) end

-- A name no part of this function uses yet.
function context:fresh(base)
  if not self.taken then
    self.taken = {}
    ast.walk(self.fn or self.tree, function(node)
      if node.type == "Name" then self.taken[node.id] = true end
      if node.type == "arg" then self.taken[node.arg] = true end
    end)
  end
  local name, n = base, 1
  while self.taken[name] do
    n = n + 1
    name = base .. n
  end
  self.taken[name] = true
  return name
end

-- A short name for the value of an expression: x_tile[0:p, :] -> x_tile.
function context:base_name(node)
  local root <const> = node and ast.root(node)
  return root or "tile"
end

-- Operands ------------------------------------------------------------------------------------------------------------

-- The error's operand of that parameter name: {name=, shape=, dtype=, buffer=, site=, ...} or nil.
function context:operand(name)
  for _, operand in ipairs(self.err.operands or {}) do
    if operand.name == name then return operand end
  end
  return nil
end

-- The node given for a parameter of the call: value, keyword node or nil, position or nil.
function context:arg(name, call)
  call = call or self.call
  if not call then return nil end
  local position
  local params <const> = self.signature and self.signature(self:op_of(call))
  for i, param in ipairs(params or {}) do
    if param == name then position = i end
  end
  return ast.argument(call, name, position)
end

function context:has_keyword(name, call)
  for _, keyword in ipairs((call or self.call).keywords or {}) do
    if keyword.arg == name then return true end
  end
  return false
end

-- The full name of what a call calls: nki.isa.tensor_tensor.
function context:op_of(call) return ast.resolve(call.func, self.imports) or ast.dotted(call.func) end

local ALLOCATORS <const> = {
  ["nki.language.ndarray"] = true, ["nki.language.zeros"] = true, ["nki.language.ones"] = true, ["nki.language.full"] = true,
  ["nki.language.zeros_like"] = true, ["nki.language.empty_like"] = true,
}

-- Where a tensor was made: by the error's allocation site, else the nearest earlier `name = nl.ndarray(...)` in the
-- function. Returns the allocating call and its statement, or nil.
function context:allocation(node, operand)
  if operand and operand.site and self.site_node then
    local made <const> = self.site_node(operand.site)
    if made and made.type == "Call" and ALLOCATORS[self:op_of(made) or ""] then
      return made, ast.statement(made, self.parents)
    end
    if made then return nil end
  end
  local root <const> = node and ast.root(node)
  if not root then return nil end
  local call, statement
  ast.walk(self.fn or self.tree, function(child)
    if child.type == "Assign" and child.value.type == "Call" and ast.targets(child.targets[1])[root]
      and child.lineno <= node.lineno and ALLOCATORS[self:op_of(child.value) or ""] then
      call, statement = child.value, child
    end
  end)
  return call, statement
end

-- A named argument of an allocation: shape, dtype, buffer (also by position).
local ALLOCATION_ORDER <const> = { shape = 1, dtype = 2, buffer = 3 }
function context:allocation_arg(call, name) return ast.argument(call, name, ALLOCATION_ORDER[name]) end

-- Edits ---------------------------------------------------------------------------------------------------------------

-- Is a statement alone on its line, so that lines can be put before it?
function context:alone(statement)
  local line <const> = self.source:line(statement.lineno)
  return line:sub(1, statement.col_offset):match("^%s*$") ~= nil
end

function context:before(statement, lines)
  local indent <const> = self.source:indent(statement.lineno)
  local parts <const> = {}
  for i, line in ipairs(lines) do parts[i] = indent .. line .. "\n" end
  return self.source.insert(statement.lineno, 1, table.concat(parts))
end

function context:after(statement, lines)
  local indent <const> = self.source:indent(statement.lineno)
  local parts <const> = {}
  for i, line in ipairs(lines) do parts[i] = indent .. line .. "\n" end
  local last <const> = statement.end_lineno or statement.lineno
  if last >= #self.source.starts then
    -- The file's last line may lack a line end.
    local text <const> = self.source:line(last)
    return self.source.insert(last, #text + 1, "\n" .. table.concat(parts):gsub("\n$", ""))
  end
  return self.source.insert(last + 1, 1, table.concat(parts))
end

function context:replace(node, text) return self.source:replace(node, text) end

-- Give a keyword of a call a value: replace it or append it.
function context:set_argument(call, name, text)
  local value <const>, keyword <const>, position <const> = self:arg(name, call)
  if value and (keyword or position) then return self:replace(value, text) end
  local source <const> = self.source
  local span <const> = source:span(call)
  local close <const> = source:offset(span.end_line, span.end_column) - 1
  local head <const> = source.text:sub(1, close - 1)
  local empty <const> = #call.args == 0 and #(call.keywords or {}) == 0
  local comma <const> = head:match(",%s*$") ~= nil
  return {
    line = span.end_line, column = span.end_column - 1, end_line = span.end_line, end_column = span.end_column - 1,
    text = (empty and "" or comma and " " or ", ") .. name .. "=" .. text,
  }
end

-- Set an argument of an allocation (positional or keyword).
function context:set_allocation(call, name, text)
  local value <const> = self:allocation_arg(call, name)
  if value then return self:replace(value, text) end
  return self:set_argument(call, name, text)
end

function context:drop_keyword(call, name)
  for i, keyword in ipairs(call.keywords or {}) do
    if keyword.arg == name then return names.without_argument(self, call, i) end
  end
  return nil
end

function context:fix(title, edits)
  for _, edit in ipairs(edits) do
    if not edit then return nil end
  end
  for _, import in pairs(self.imports_needed) do table.insert(edits, 1, import) end
  self.imports_needed = {}
  return { title = title, edits = edits }
end

-- Shapes --------------------------------------------------------------------------------------------------------------

function common.shape_text(shape)
  local parts <const> = {}
  for i, extent in ipairs(shape) do parts[i] = tostring(extent) end
  return "(" .. table.concat(parts, ", ") .. (#shape == 1 and "," or "") .. ")"
end

-- Make an allocation have another shape with the least change: only the sizes that differ, else the whole tuple.
-- `texts[i]` may give the expression for size i.
function context:reshape(call, have, want, texts)
  texts = texts or {}
  local shape <const> = self:allocation_arg(call, "shape")
  if not shape then return nil end
  local function text_of(i) return texts[i] or tostring(want[i]) end
  if (shape.type == "Tuple" or shape.type == "List") and #shape.elts == #want and have and #have == #want then
    local edits <const> = {}
    for i, element in ipairs(shape.elts) do
      if have[i] ~= want[i] then edits[#edits + 1] = self:replace(element, text_of(i)) end
    end
    return edits
  end
  local parts <const> = {}
  for i = 1, #want do
    local kept = have and #have == #want and have[i] == want[i] and shape.type == "Attribute"
    parts[i] = kept and ("%s[%d]"):format(self:text(shape), i - 1) or text_of(i)
  end
  return { self:replace(shape, "(" .. table.concat(parts, ", ") .. (#want == 1 and "," or "") .. ")") }
end

-- Are all names of an expression bound before a line of this function?
function context:bound_before(node, line)
  if not self.first_bound then
    self.first_bound = {}
    for _, arg in ipairs(self.fn and self.fn.args.args or {}) do self.first_bound[arg.arg] = 0 end
    ast.walk(self.tree, function(child)
      if child.type == "Name" and child.ctx == "Store" then
        local at <const> = self.first_bound[child.id]
        if not at or child.lineno < at then self.first_bound[child.id] = child.lineno end
      elseif child.type == "Import" or child.type == "ImportFrom" then
        for _, alias in ipairs(child.names) do self.first_bound[alias.asname or alias.name] = 0 end
      end
    end)
  end
  for name in pairs(ast.loads(node)) do
    local at <const> = self.first_bound[name]
    if not at or at >= line then return false end
  end
  return true
end

-- The name that `a, b = x.shape` gave to dimension d (from 1) of the tensor called `name`, or nil.
function context:shape_name(name, d)
  local found
  ast.walk(self.fn or self.tree, function(child)
    if child.type == "Assign" and child.targets[1].type == "Tuple" and child.value.type == "Attribute" and child.value.attr == "shape"
      and child.value.value.type == "Name" and child.value.value.id == name then
      local element <const> = child.targets[1].elts[d]
      if element and element.type == "Name" and element.id ~= "_" then found = element end
    end
  end)
  return found
end

-- The expression for the size of dimension d (from 1) of an operand, usable before the given line; nil when there is
-- none. x[r:r + p, :] -> p, cols (or x.shape[1]).
function context:size_text(node, d, line)
  if not node then return nil end
  if node.type == "Name" then
    local named <const> = self:shape_name(node.id, d)
    if named and self:bound_before(named, line) then return named.id end
    local made <const> = self:allocation(node)
    local shape <const> = made and self:allocation_arg(made, "shape")
    if shape and shape.type == "Tuple" and shape.elts[d] and self:bound_before(shape.elts[d], line) then return self:text(shape.elts[d]) end
    return self:bound_before(node, line) and ("%s.shape[%d]"):format(node.id, d - 1) or nil
  end
  if node.type ~= "Subscript" or node.value.type ~= "Name" then return nil end
  local keys <const> = node.slice.type == "Tuple" and node.slice.elts or { node.slice }
  local key <const> = keys[d]
  if not key then return self:size_text(node.value, d, line) end
  if key.type ~= "Slice" or key.step then return nil end
  if not key.lower and not key.upper then return self:size_text(node.value, d, line) end
  if not key.upper then return nil end
  if not self:bound_before(key.upper, line) or key.lower and not self:bound_before(key.lower, line) then return nil end
  local low <const>, high <const> = key.lower and self:text(key.lower) or "0", self:text(key.upper)
  if low == "0" then return high end
  if high:sub(1, #low + 3) == low .. " + " then
    local rest <const> = high:sub(#low + 4)
    return rest:find("[-+]") and nil or rest
  end
  return ("%s - %s"):format(high, low:find("[-+ ]") and "(" .. low .. ")" or low)
end

-- The constant behind a size: the node to edit when `node` is an integer literal, or a name bound once to one.
-- Returns node, value.
function context:constant(node, depth)
  depth = depth or 0
  if not node or depth > 4 then return nil end
  if node.type == "Constant" and node.kind_of == "int" then return node, node.value end
  if node.type ~= "Name" then return nil end
  local found, count = nil, 0
  local function look(scope)
    ast.walk(scope, function(child)
      if child.type == "Assign" and child.targets[1].type == "Name" and child.targets[1].id == node.id then
        count = count + 1
        found = child.value
      end
    end)
  end
  if self.fn then look(self.fn) end
  if count == 0 then look(self.tree) end
  if count ~= 1 then return nil end
  if found.type == "Constant" or found.type == "Name" then return self:constant(found, depth + 1) end
  return found, nil
end

function common.count(shape, from)
  local n = 1
  for i = from or 1, #shape do n = n * shape[i] end
  return n
end

function common.same(a, b)
  if not a or not b or #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- Lines that make a new tile like another one and copy into it.
function context:copy_lines(name, expression, dtype, buffer)
  return {
    ("%s = %s(%s.shape, dtype=%s, buffer=%s)"):format(name, self:nl("ndarray"), expression, dtype, self:nl(buffer or "sbuf")),
    ("%s(dst=%s, src=%s)"):format(self:nisa("tensor_copy"), name, expression),
  }
end

return common
