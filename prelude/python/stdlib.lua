-- SPDX-License-Identifier: MIT
-- Modules of Python's standard library that kernels and references use: math, functools, operator, copy, warnings here;
-- itertools in stdlib_iter.lua; typing, dataclasses, enum, collections, abc in stdlib_types.lua. Each is made when it is first imported.

local R <const> = require "python.support"

local ops <const>, None <const> = R.ops, R.None
local list <const>, tuple <const>, kind <const>, integer <const> = R.list, R.tuple, R.kind, R.integer
local S <const> = R.stdlib

-- A module from {name = {params, function, defaults}} and plain values.
local function module(name, rows, values)
  local attrs <const> = {}
  for key, row in pairs(rows) do attrs[key] = R.define(name .. "." .. key, row[1], row[2], row[3]) end
  for key, value in pairs(values or {}) do attrs[key] = value end
  return R.module { name = name, attrs = attrs }
end
R.stdlib_module = module

-- math ------------------------------------------------------------------------------------------------------------------------

local function number(x)
  if type(x) == "number" then return x * 1.0 end
  if type(x) == "boolean" then return x and 1.0 or 0.0 end
  local mt <const> = type(x) ~= "string" and getmetatable(x)
  if type(mt) == "table" and mt.__pyfloat then return mt.__pyfloat(x) end
  if type(mt) == "table" and mt.__pyindex then return mt.__pyindex(x) * 1.0 end
  R.raise("TypeError", "must be real number, not %s", R.type_name(x))
end

local function domain() R.raise("ValueError", "math domain error") end
local function range_error() R.raise("OverflowError", "math range error") end

local function finite(x) return x - x == 0 end

local function one(fn, check)
  return { "x /", function(x)
    x = number(x)
    if check and x == x and not check(x) then domain() end
    local y <const> = fn(x)
    if y ~= y and x == x then domain() end
    if (y == math.huge or y == -math.huge) and finite(x) then range_error() end
    return y
  end }
end

local function whole(fn)
  return { "x /", function(x)
    if type(x) == "boolean" then return x and 1 or 0 end
    if math.type(x) == "integer" then return x end
    local v <const> = number(x)
    if v ~= v then R.raise("ValueError", "cannot convert float NaN to integer") end
    if not finite(v) then R.raise("OverflowError", "cannot convert float infinity to integer") end
    local out <const> = math.tointeger(fn(v))
    if not out then R.stop("integer-overflow", "%s does not fit in 64 bits, the size of nkiln's integers", R.repr(v)) end
    return out
  end }
end

local function gcd(a, b)
  a, b = math.abs(integer(a)), math.abs(integer(b))
  while b ~= 0 do a, b = b, a % b end
  return a
end

local function logarithm(x, what)
  x = number(x)
  if x <= 0 then domain() end
  return what and math.log(x, what) or math.log(x)
end

function S.math()
  return module("math", {
    sqrt = one(function(x) return x ^ 0.5 end, function(x) return x >= 0 end),
    exp = one(math.exp), sin = one(math.sin), cos = one(math.cos), tan = one(math.tan), asin = one(math.asin), acos = one(math.acos),
    sinh = one(function(x) return ops.c_math("sinh", x) end), cosh = one(function(x) return ops.c_math("cosh", x) end),
    tanh = one(function(x) return ops.c_math("tanh", x) end), erf = one(function(x) return ops.c_math("erf", x) end),
    erfc = one(function(x) return ops.c_math("erfc", x) end), expm1 = one(function(x) return ops.c_math("expm1", x) end),
    log1p = one(function(x) return ops.c_math("log1p", x) end, function(x) return x > -1 end),
    asinh = one(function(x) return ops.c_math("asinh", x) end), acosh = one(function(x) return ops.c_math("acosh", x) end),
    atanh = one(function(x) return ops.c_math("atanh", x) end), gamma = one(function(x) return ops.c_math("tgamma", x) end),
    lgamma = one(function(x) return ops.c_math("lgamma", x) end), cbrt = one(function(x) return ops.c_math("cbrt", x) end),
    exp2 = one(function(x) return 2.0 ^ x end),
    atan = one(math.atan), fabs = one(math.abs), degrees = one(function(x) return x * (180.0 / math.pi) end),
    radians = one(function(x) return x * (math.pi / 180.0) end),
    atan2 = { "y x /", function(y, x) return math.atan(number(y), number(x)) end },
    log = { "x base= /", function(x, base)
      if base == None then return logarithm(x) end
      return logarithm(x) / logarithm(base)
    end },
    log2 = { "x /", function(x) return ops.c_math("log2", number(x) > 0 and number(x) or domain()) end },
    log10 = { "x /", function(x) return ops.c_math("log10", number(x) > 0 and number(x) or domain()) end },
    pow = { "x y /", function(x, y)
      x, y = number(x), number(y)
      if x == 0 and y < 0 then domain() end
      local z <const> = x ^ y
      if z ~= z and x == x and y == y then domain() end
      if not finite(z) and finite(x) and finite(y) then range_error() end
      return z
    end },
    floor = whole(math.floor), ceil = whole(math.ceil), trunc = whole(function(x) return x < 0 and math.ceil(x) or math.floor(x) end),
    isnan = { "x /", function(x) return number(x) ~= number(x) end },
    isinf = { "x /", function(x) return math.abs(number(x)) == math.huge end },
    isfinite = { "x /", function(x) return finite(number(x)) end },
    copysign = { "x y /", function(x, y)
      local sign <const> = number(y) < 0 or (number(y) == 0 and 1 / number(y) < 0)
      return sign and -math.abs(number(x)) or math.abs(number(x))
    end },
    fmod = { "x y /", function(x, y)
      if number(y) == 0 then domain() end
      return math.fmod(number(x), number(y))
    end },
    modf = { "x /", function(x)
      local a <const>, b <const> = math.modf(number(x))
      return tuple { b, a * 1.0 }
    end },
    frexp = { "x /", function(x)
      local m <const>, e <const> = ops.c_frexp(number(x))
      return tuple { m, e }
    end },
    ldexp = { "x i /", function(x, i) return number(x) * 2.0 ^ integer(i) end },
    hypot = { "*parts", function(...)
      local total = 0.0
      for i = 1, select("#", ...) do total = total + number((select(i, ...))) ^ 2 end
      return total ^ 0.5
    end },
    gcd = { "*numbers", function(...)
      local g = 0
      for i = 1, select("#", ...) do g = gcd(g, (select(i, ...))) end
      return g
    end },
    lcm = { "*numbers", function(...)
      local l = 1
      for i = 1, select("#", ...) do
        local n <const> = integer((select(i, ...)))
        if n == 0 then return 0 end
        l = ops.arith("Mult", l // gcd(l, n), math.abs(n))
      end
      return l
    end },
    factorial = { "n /", function(n)
      if integer(n) < 0 then R.raise("ValueError", "factorial() not defined for negative values") end
      local f = 1
      for i = 2, n do f = ops.arith("Mult", f, i) end
      return f
    end },
    comb = { "n k /", function(n, k)
      if k < 0 or k > n then return 0 end
      local c = 1
      for i = 1, math.min(k, n - k) do c = ops.arith("Mult", c, n - i + 1) // i end
      return c
    end },
    perm = { "n k= /", function(n, k)
      local p = 1
      for i = 0, (k == None and n or k) - 1 do p = ops.arith("Mult", p, n - i) end
      return p
    end },
    isqrt = { "n /", function(n)
      if integer(n) < 0 then R.raise("ValueError", "isqrt() argument must be nonnegative") end
      local r = math.tointeger(math.floor(n ^ 0.5))
      while r * r > n do r = r - 1 end
      while (r + 1) * (r + 1) <= n do r = r + 1 end
      return r
    end },
    prod = { "iterable / * start=", function(items, start)
      local site <const> = ops.site()
      local total = start
      for _, item in ops.ITER(site, items) do total = ops.Mult(site, total, item) end
      return total
    end, { start = 1 } },
    fsum = { "iterable /", function(items)
      local sum, lost = 0.0, 0.0
      for _, item in ops.ITER(ops.site(), items) do
        local x <const> = number(item)
        local t <const> = sum + x
        lost = lost + (math.abs(sum) >= math.abs(x) and (sum - t) + x or (x - t) + sum)
        sum = t
      end
      return sum + lost
    end },
    isclose = { "a b * rel_tol= abs_tol=", function(a, b, rel, abs)
      a, b = number(a), number(b)
      if a == b then return true end
      if not finite(a) or not finite(b) then return false end
      return math.abs(a - b) <= math.max(rel * math.max(math.abs(a), math.abs(b)), abs)
    end, { rel_tol = 1e-9, abs_tol = 0.0 } },
  }, { pi = math.pi, e = 2.718281828459045, tau = 2 * math.pi, inf = math.huge, nan = R.NAN })
end

-- functools -------------------------------------------------------------------------------------------------------------------

local function same(fn) return fn end
local identity_decorator

-- lru_cache and cache do not remember: a cached function is called again, which gives the same value.
local function cache_decorator(fn)
  if type(fn) == "function" or kind(fn) == "callable" then return fn end
  return identity_decorator
end

function S.functools()
  identity_decorator = identity_decorator or R.define("decorator", "fn", same)
  return module("functools", {
    partial = { "fn / **kwargs *args", function(fn, kwargs, ...)
      local bound <const>, keywords <const> = { ... }, kwargs
      return R.define("partial", "**kwargs *args", function(more_keywords, ...)
        local args <const> = table.move(bound, 1, #bound, 1, {})
        for i = 1, select("#", ...) do args[#args + 1] = (select(i, ...)) end
        return R.call_spread(fn, args, R.dict_update(R.dict_update(ops.DICT {}, keywords), more_keywords))
      end)
    end },
    reduce = { "fn iterable *initial", function(fn, items, initial)
      local next_item <const> = R.iterate(items)
      local value = initial
      if value == nil then value = next_item() end
      if value == nil then R.raise("TypeError", "reduce() of empty iterable with no initial value") end
      for item in next_item do value = R.call(fn, value, item) end
      return value
    end },
    lru_cache = { "maxsize= typed=", cache_decorator },
    cache = { "fn", cache_decorator },
    wraps = { "wrapped **kwargs *rest", function() return identity_decorator end },
    cmp_to_key = { "compare", function(compare)
      local class
      class = R.define_class { name = "K", attrs = {
        __init__ = R.define("__init__", "self value", function(self, value) rawset(self, "value", value) end),
        __lt__ = R.define("__lt__", "self other", function(a, b) return R.call(compare, rawget(a, "value"), rawget(b, "value")) < 0 end),
      } }
      return class
    end },
    total_ordering = { "cls", function(class)
      local less <const> = R.class_lookup(class, "__lt__")
      local set <const> = function(name, fn) if not R.class_lookup(class, name) then R.class_setattr(class, name, R.define(name, "self other", fn)) end end
      if less then
        set("__gt__", function(a, b) return not R.truth(R.call(less, a, b)) and not R.equal(a, b) end)
        set("__le__", function(a, b) return R.truth(R.call(less, a, b)) or R.equal(a, b) end)
        set("__ge__", function(a, b) return not R.truth(R.call(less, a, b)) end)
      end
      return class
    end },
    cached_property = { "fn", function(fn) return setmetatable({ getter = fn, setter = None }, R.Property) end },
  })
end

-- operator, copy, warnings ------------------------------------------------------------------------------------------------------

function S.operator()
  local rows <const> = {}
  for name, op in pairs { add = "Add", sub = "Sub", mul = "Mult", truediv = "Div", floordiv = "FloorDiv", mod = "Mod", pow = "Pow",
    matmul = "MatMult", lshift = "LShift", rshift = "RShift", and_ = "BitAnd", or_ = "BitOr", xor = "BitXor", lt = "Lt", le = "LtE",
    gt = "Gt", ge = "GtE", eq = "Eq", ne = "NotEq" } do
    rows[name] = { "a b /", function(a, b) return ops[op](ops.site(), a, b) end }
  end
  for name, op in pairs { neg = "USub", pos = "UAdd", invert = "Invert" } do
    rows[name] = { "a /", function(a) return ops[op](ops.site(), a) end }
  end
  rows.not_ = { "a /", function(a) return not R.truth(a) end }
  rows.truth = { "a /", function(a) return R.truth(a) end }
  rows.getitem = { "a b /", function(a, b) return ops.GETITEM(ops.site(), a, b) end }
  rows.setitem = { "a b c /", function(a, b, c) ops.SETITEM(ops.site(), a, b, c) end }
  rows.contains = { "a b /", function(a, b) return ops.In(ops.site(), b, a) end }
  rows.itemgetter = { "*items", function(...)
    local wanted <const> = { ... }
    return R.define("itemgetter", "object", function(object)
      if #wanted == 1 then return ops.GETITEM(ops.site(), object, wanted[1]) end
      local out <const> = {}
      for i, item in ipairs(wanted) do out[i] = ops.GETITEM(ops.site(), object, item) end
      return tuple(out)
    end)
  end }
  rows.attrgetter = { "name", function(name)
    return R.define("attrgetter", "object", function(object)
      local value = object
      for part in name:gmatch "[^.]+" do
        if R.internals[part] then R.refuse_internal(part) end
        value = ops.ATTR(ops.site(), value, part)
      end
      return value
    end)
  end }
  return module("operator", rows)
end

local function copied(value, deep, seen)
  local k <const> = kind(value)
  if seen[value] then return seen[value] end
  local function inner(x) return deep and copied(x, true, seen) or x end
  if k == "list" then
    local out <const> = list {}
    seen[value] = out
    for i = 1, #value do out[i] = deep and inner(value[i]) or value[i] end
    return out
  elseif k == "tuple" and deep then
    local out <const> = {}
    for i = 1, #value do out[i] = copied(value[i], true, seen) end
    return tuple(out)
  elseif k == "dict" then
    local out <const> = ops.DICT {}
    seen[value] = out
    for _, key, item in ops.dict_entries(value) do
      if deep then item = copied(item, true, seen) end
      ops.dict_set(out, key, item)
    end
    return out
  elseif k == "set" then
    return ops.SET(R.collect(value))
  end
  local class <const> = R.instance_class(value)
  if class and type(value) == "table" then
    local method <const> = R.class_lookup(class, deep and "__deepcopy__" or "__copy__")
    if method then return deep and R.call(method, value, ops.DICT {}) or R.call(method, value) end
    if class.immutable then return value end
    local out <const> = setmetatable({}, getmetatable(value))
    seen[value] = out
    for name, item in next, value do
      if deep then item = copied(item, true, seen) end
      rawset(out, name, item)
    end
    return out
  end
  local mt <const> = type(value) ~= "string" and getmetatable(value)
  if type(mt) == "table" and mt.__pycopy then return mt.__pycopy(value) end
  return value
end

local no_seen <const> = setmetatable({}, { __index = function() end, __newindex = function() end })

function S.copy()
  return module("copy", {
    copy = { "x", function(x) return copied(x, false, no_seen) end },
    deepcopy = { "x memo=", function(x)
      local seen <const> = {}
      return copied(x, true, setmetatable({}, { __index = function(_, key) if key ~= nil then return rawget(seen, key) end end,
        __newindex = function(_, key, value) if key ~= nil then rawset(seen, key, value) end end }))
    end },
  })
end

function S.warnings()
  return module("warnings", {
    warn = { "**kwargs *args", function() end }, filterwarnings = { "**kwargs *args", function() end },
    simplefilter = { "**kwargs *args", function() end },
  })
end

require "python.stdlib_iter"
require "python.stdlib_types"

return S
