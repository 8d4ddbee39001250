-- SPDX-License-Identifier: MIT
-- Exceptions: the classes, raising and catching, and what a failed run reports. A thrown value is the Lua table that
-- runtime.lua describes; the exception object is made when a program looks at it.

local R <const> = require "python.runtime"
require "python.classes"

local ops <const>, None <const> = R.ops, R.None
local X <const> = {}

local Exceptions <const> = {}
R.exceptions = Exceptions

-- "a" for one argument, a tuple's text for more
local function text_of(object)
  local args <const> = rawget(object, "args")
  if not args or #args == 0 then return "" end
  if #args == 1 then return R.str(args[1]) end
  return R.repr(args)
end

local base <const> = R.define_class {
  name = "BaseException",
  attrs = {
    __init__ = R.define("__init__", "self *args", function(self, ...) rawset(self, "args", R.tuple { ... }) end),
    __str__ = R.define("__str__", "self", text_of),
    __repr__ = R.define("__repr__", "self", function(self)
      local args <const> = rawget(self, "args") or R.tuple {}
      local parts <const> = {}
      for i, a in ipairs(args) do parts[i] = R.repr(a) end
      return R.class_of(self)[3] .. "(" .. table.concat(parts, ", ") .. ")"
    end),
    with_traceback = R.define("with_traceback", "self tb", function(self) return self end),
  },
}
Exceptions.BaseException = base

for row in ([[
  Exception:BaseException KeyboardInterrupt:BaseException SystemExit:BaseException GeneratorExit:BaseException
  ArithmeticError:Exception OverflowError:ArithmeticError ZeroDivisionError:ArithmeticError FloatingPointError:ArithmeticError
  AssertionError:Exception AttributeError:Exception EOFError:Exception ImportError:Exception ModuleNotFoundError:ImportError
  LookupError:Exception IndexError:LookupError KeyError:LookupError MemoryError:Exception NameError:Exception
  UnboundLocalError:NameError OSError:Exception FileNotFoundError:OSError RuntimeError:Exception NotImplementedError:RuntimeError
  RecursionError:RuntimeError StopIteration:Exception SyntaxError:Exception TypeError:Exception ValueError:Exception
  UnicodeError:ValueError UnicodeDecodeError:UnicodeError UnicodeEncodeError:UnicodeError
  Warning:Exception UserWarning:Warning DeprecationWarning:Warning RuntimeWarning:Warning FutureWarning:Warning]]):gmatch "%S+" do
  local name <const>, parent <const> = row:match "(%w+):(%w+)"
  Exceptions[name] = R.define_class { name = name, bases = { Exceptions[parent] } }
end
Exceptions.IOError, Exceptions.EnvironmentError = Exceptions.OSError, Exceptions.OSError

-- str(KeyError("x")) shows the key's repr.
Exceptions.KeyError[1].__str__ = R.define("__str__", "self", function(self)
  local args <const> = rawget(self, "args")
  if args and #args == 1 then return R.repr(args[1]) end
  return text_of(self)
end)
Exceptions.StopIteration[1].value = None
R.refresh_class(Exceptions.KeyError)

-- A native exception class of another module (LinAlgError ...).
function R.define_exception(name, parent)
  local class <const> = R.define_class { name = name, bases = { Exceptions[parent or "Exception"] } }
  Exceptions[name] = class
  return class
end

-- What a Lua error is: a table of our kinds, made from Lua's own messages where needed.
local function normalise(err)
  if type(err) == "table" and err.kind then return err end
  if type(err) == "string" then
    if err:find("stack overflow", 1, true) or err:find("error in error handling", 1, true) then
      return { kind = "python", etype = "RecursionError", message = "maximum recursion depth exceeded", site = false }
    end
    local array = err:match "array of %d+ bytes: over the limit" or err:match "shape %[[%d,]+%] is too large"
    if array then
      array = array:gsub(":.*$", ""):gsub("^shape (.*) is too large$", "array of shape %1")
      return { kind = "nki", code = "memory-limit", message = ("an %s is more than it may use"):format(array) }
    end
    if err:find("not enough memory", 1, true) or err:find("too many results to unpack", 1, true) or err:find("string too large", 1, true) then
      return { kind = "nki", code = "memory-limit", message = "the program needs more memory than it is allowed" }
    end
  end
  if type(err) == "table" and err.code and err.message then
    return { kind = "nki", code = err.code, message = err.message, cause = err }
  end
  return { kind = "internal", code = "internal-error", message = "internal error: " .. tostring(type(err) == "table" and err.message or err) }
end

-- Message handler of every protected call: the place is recorded before the stack is unwound.
function X.HANDLER(err)
  local e <const> = normalise(err)
  if e.site == nil then e.site = ops.site() end
  if not e.trace then
    e.trace = ops.trace(1)
    if e.kind == "internal" and debug and debug.traceback then e.lua_trace = debug.traceback(tostring(err), 2) end
  end
  return e
end

X.PCALL = function(fn, handler) return xpcall(fn, handler) end
R.handler = X.HANDLER

-- The same for what no handler saw: Lua calls none when memory ends.
function R.as_error(err)
  local e <const> = normalise(err)
  if e.site == nil then e.site = ops.site() end
  return e
end

-- Errors no Python code may catch.
local function uncatchable(e) return e.kind ~= "python" end

function X.RETHROW(e) error(e, 0) end

-- The exception object of a caught error.
function X.CATCH(e)
  e = normalise(e)
  if uncatchable(e) then error(e, 0) end
  ops.reset()
  if not e.value then
    local class <const> = Exceptions[e.etype] or Exceptions.Exception
    local object <const> = setmetatable({}, class[4])
    rawset(object, "args", R.tuple { e.argument ~= nil and e.argument or e.message })
    rawset(object, "thrown", e)
    e.value = object
  end
  return e.value
end

function X.MATCH(site, object, class)
  ops.site(site)
  local kind <const> = R.kind(class)
  if kind == "tuple" then
    for _, c in ipairs(class) do
      if X.MATCH(site, object, c) then return true end
    end
    return false
  end
  if kind ~= "class" or not R.is_subclass(class, base) then
    local mt <const> = getmetatable(class)
    if type(mt) == "table" and mt.__missing then return false end
    R.raise("TypeError", "catching classes that do not inherit from BaseException is not allowed")
  end
  return R.is_subclass(R.class_of(object), class)
end

function X.FINALLY(ok, e)
  if not ok and uncatchable(normalise(e)) then error(e, 0) end
end

local function throw(object, site)
  local class <const> = R.class_of(object)
  error({ kind = "python", etype = class[3], message = R.str(object), site = site, value = object }, 0)
end
R.throw = throw

function X.RAISE(site, what, cause)
  ops.site(site)
  local object = what
  if R.kind(what) == "class" and R.is_subclass(what, base) then object = R.call(what) end
  local class <const> = R.class_of(object)
  if not class or not R.is_subclass(class, base) then R.raise("TypeError", "exceptions must derive from BaseException") end
  ops.site(site)
  if cause ~= nil then rawset(object, "__cause__", cause) end
  throw(object, site)
end

function X.RERAISE(site, e)
  ops.site(site)
  if e == nil then R.raise("RuntimeError", "No active exception to reraise") end
  error(e, 0)
end

function X.ASSERT(site, message)
  ops.site(site)
  local text <const> = message ~= nil and R.str(message) or ""
  error({ kind = "python", etype = "AssertionError", message = text, argument = message, site = site,
    value = message == nil and R.call(Exceptions.AssertionError) or nil }, 0)
end

function X.UNDEFINED(site, name)
  ops.site(site)
  error({ kind = "python", etype = "NameError", code = "unknown-name", message = ("name '%s' is not defined"):format(name), site = site, name = name }, 0)
end

function X.REFUSE(site, message)
  ops.site(site)
  R.stop("python-unsupported", "%s", message)
end

function X.BIGINT(site, digits)
  ops.site(site)
  R.stop("integer-overflow", "%s does not fit in 64 bits, the size of nkiln's integers", digits)
end

-- with ------------------------------------------------------------------------------------------------------------------------

function X.ENTER(site, manager)
  ops.site(site)
  local mt <const> = getmetatable(manager)
  local enter <const> = type(mt) == "table" and mt.__pyenter
  if not enter then
    R.raise("TypeError", "'%s' object does not support the context manager protocol", R.type_name(manager))
  end
  local value <const> = enter(manager)
  if value == nil then return None end
  return value
end

function X.EXIT(site, manager, ok, e)
  local e_plain <const> = not ok and normalise(e) or nil
  if e_plain and uncatchable(e_plain) then error(e, 0) end
  ops.site(site)
  local mt <const> = getmetatable(manager)
  local suppressed = false
  if mt.__pyexit then
    suppressed = mt.__pyexit(manager, e_plain)
  else
    local class <const> = R.instance_class(manager)
    local method <const> = class and R.class_lookup(class, "__exit__")
    if method == nil then R.raise("TypeError", "'%s' object does not support the context manager protocol (missed __exit__ method)", R.type_name(manager)) end
    if ok then
      R.call(method, manager, None, None, None)
    else
      local object <const> = X.CATCH(e)
      suppressed = R.call(method, manager, R.class_of(object), object, None)
    end
  end
  if not ok and not R.truth(suppressed) then error(e, 0) end
end

return X
