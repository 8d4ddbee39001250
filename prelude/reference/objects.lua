-- SPDX-License-Identifier: MIT
-- Between Python values (prelude/python) and the plain Lua values that the reference library computes with.

local R <const> = require "python.runtime"

local M <const> = {}

M.none = R.None

function M.is_none(x) return x == nil or x == R.None end
function M.is_ellipsis(x) return x == R.Ellipsis end
function M.is_slice(x) return type(x) == "table" and getmetatable(x) == R.Slice end
function M.is_tuple(x) return type(x) == "table" and getmetatable(x) == R.Tuple end

local function part(x) if M.is_none(x) then return nil end return x end
function M.slice_parts(s) return part(s[1]), part(s[2]), part(s[3]) end

-- The items of a list or tuple as a plain list, or nil.
function M.sequence(x)
  if type(x) ~= "table" then return nil end
  local mt <const> = getmetatable(x)
  if mt == R.List or mt == R.Tuple then return { table.unpack(x) } end
  if mt == R.Range then return R.collect(x) end
  return nil
end

-- Nested lists and tuples as nested plain lists; everything else as it is.
function M.nested(x)
  local items <const> = M.sequence(x)
  if not items then return x end
  for i, entry in ipairs(items) do items[i] = M.nested(entry) end
  return items
end

-- One value or a sequence of values, as a list.
function M.list(x)
  local items <const> = M.sequence(x)
  if items then return items end
  return { x }
end

-- An axis argument: nil for None, else an int or a list of ints.
function M.axis(x)
  if M.is_none(x) then return nil end
  return M.sequence(x) or x
end

-- A shape argument: an int or a sequence.
function M.shape(x) return M.list(x) end

-- *args that may also be one sequence: f(2, 3) and f((2, 3)).
function M.spread(args)
  if #args == 1 then
    local items <const> = M.sequence(args[1])
    if items then return items end
  end
  return args
end

function M.py_tuple(list) return R.tuple(list) end
function M.py_list(list) return R.list(list) end

local core = nil -- required late: core does not know Python

-- x.shape: ints, or symbolic scalars while a reference is traced.
function M.shape_tuple(t)
  core = core or require "reference.core"
  local out <const> = {}
  for i, extent in ipairs(t.shape) do
    if core.trace and t.node then
      local node <const> = core.trace:dim(t.node, i - 1)
      out[i] = node.op == "const" and extent or core.scalar(extent, node)
    else
      out[i] = extent
    end
  end
  return R.tuple(out)
end

function M.to_list(t)
  local flat <const> = t.value:totable()
  local at = 0
  local function build(axis)
    if axis > #t.shape then
      at = at + 1
      return flat[at]
    end
    local out <const> = {}
    for i = 1, t.shape[axis] do out[i] = build(axis + 1) end
    return R.list(out)
  end
  return build(1)
end

-- (values, indices) as torch.max returns it; the indices are computed when asked for.
local Pair <const> = { __pytype = "torch.return_types" }
function Pair.__pygetattr(self, name)
  if name == self.first_name then return self.first end
  if name == self.second_name then return self.second() end
  return nil
end
function Pair.__subscript(self, fmt, i)
  if fmt ~= "i" then return nil end
  if i == 0 or i == -2 then return self.first end
  if i == 1 or i == -1 then return self.second() end
  R.raise("IndexError", "tuple index out of range")
end
function Pair.__pylen() return 2 end
function Pair.__pyiter(self)
  local n = 0
  return function()
    n = n + 1
    if n == 1 then return self.first end
    if n == 2 then return self.second() end
    return nil
  end
end
function M.named_pair(first_name, first, second_name, second)
  return setmetatable({ first_name = first_name, first = first, second_name = second_name, second = second }, Pair)
end

-- torch.no_grad(): a decorator that returns the function, and a context that does nothing.
local Context <const> = { __pytype = "torch.no_grad" }
function Context.__pycall(_, args) return args[1] end
function Context.__pygetattr(self, name)
  if name == "__enter__" then return R.define("__enter__", "", function() return self end) end
  if name == "__exit__" then return R.define("__exit__", "*args", function() return false end) end
  return nil
end
Context.__pyenter = function(self) return self end
Context.__pyexit = function() return false end
function M.decorator_context() return setmetatable({}, Context) end

return M
