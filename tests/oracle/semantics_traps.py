# SPDX-License-Identifier: MIT
# Small programs at the edges of Python's semantics. CPython runs each; so does nkiln; what they print must be the same.
# An uncaught exception counts as its type, message and line.

TRAPS = r'''
### no string coercion
for f in (lambda: "10" + 1, lambda: 1 + "10", lambda: "3" * "4", lambda: "10" - 1, lambda: -"3"):
    try:
        print(f())
    except TypeError as e:
        print("TypeError:", e)
### bool is a number
print(True + 1, True == 1, False == 0, True * 3, 2 - True, True / 2, True // 1, -True, ~True, True < 2)
print(isinstance(True, int), isinstance(1, bool), type(True).__name__, True & False, True | 1, True ^ True)
print(sum([True, False, True]), [10, 20][True], "ab" * True)
d = {1: "a", 1.0: "b", True: "c"}
print(d, len(d), d[True], d[1.0])
### integers and floats
print(7 // 2, -7 // 2, 7 // -2, -7 // -2, 7 % 3, -7 % 3, 7 % -3, -7 % -3)
print(7.5 // 2, -7.5 // 2, 7.5 % -2, -7.5 % 2, 1 // 0.1, 1 % 0.1, 0.0 // 5, -0.0 // 5)
print(2 ** 10, 2 ** -2, 2.0 ** 3, (-2) ** 3, -2 ** 2, 0 ** 0, 2 ** 0.5, 10 ** 18)
print(7 / 2, 6 / 3, 1 / 3, 10 ** 17 / 3, 9007199254740993 / 2)
print(1 == 1.0, 1 is not None, 0.1 + 0.2, 3.0, 3e20, 1e16, 123456789012345680.0, 1.5e-7)
print(divmod(-7, 2), divmod(7.5, -2), round(2.5), round(3.5), round(-2.5), round(2.675, 2), round(1234, -2), round(1250, -2))
print(1 << 10, -1 >> 3, 5 & 3, 5 | 3, 5 ^ 3, ~5, 0x1F, 0b101, 0o17, 1_000)
### division by zero
for f in (lambda: 1 / 0, lambda: 1 // 0, lambda: 1 % 0, lambda: 1.0 / 0, lambda: 1.0 // 0, lambda: 1.0 % 0, lambda: 0 ** -1, lambda: 0.0 ** -1):
    try:
        print(f())
    except ZeroDivisionError as e:
        print(e)
### truth
for x in (0, 1, 0.0, -0.0, "", "0", [], [0], (), (None,), {}, {0: 0}, set(), None, True, False, range(0), range(3)):
    print(bool(x), not x, "yes" if x else "no")
print(0 or "" or [] or None, 1 and "a" and [2], 0 and 1 / 0, 1 or 1 / 0, not not [])
### None and unbound
def f(x=None):
    if x is None:
        x = 5
    return x
print(f(), f(None), f(0), f(False), None == 0, None == False, None is None)
def g(c):
    if c:
        v = 1
    return v
print(g(True))
try:
    g(False)
except UnboundLocalError as e:
    print(type(e).__name__, e)
try:
    print(undefined)
except NameError as e:
    print(e)
### unbound free variable
def outer():
    def inner():
        return late
    try:
        inner()
    except NameError as e:
        print(type(e).__name__, e)
    late = 3
    print(inner())
outer()
### late binding
fs = [lambda: i for i in range(3)]
print([f() for f in fs])
gs = []
for i in range(3):
    def g(k=i):
        return (i, k)
    gs.append(g)
print([g() for g in gs])
### mutable defaults and aliasing
def add(x, acc=[]):
    acc.append(x)
    return acc
print(add(1), add(2), add(3, []))
a = [1, 2]
b = a
b += [3]
print(a, a is b)
c = a
c = c + [4]
print(a, c)
t = (1, 2)
u = t
u += (3,)
print(t, u)
m = [[0] * 2] * 2
m[0][0] = 1
print(m)
s = {1}
r = s
r |= {2}
print(s == r, len(s))
### continue, break, else
for i in range(5):
    if i == 1:
        continue
    if i == 3:
        break
    print(i)
else:
    print("never")
for i in range(2):
    pass
else:
    print("done", i)
n = 0
while n < 3:
    n += 1
    if n == 2:
        continue
    print("w", n)
else:
    print("end")
while True:
    n += 1
    if n > 5:
        break
print(n)
for i in []:
    pass
else:
    print("empty")
### loop variable after the loop
for i in range(3):
    i = i * 10
print(i)
for a, (b, *c) in [(1, (2, 3, 4)), (5, (6,))]:
    print(a, b, c)
### chained comparison evaluates once
calls = []
def v(x):
    calls.append(x)
    return x
print(v(1) < v(2) < v(3), calls)
calls.clear()
print(v(3) < v(2) < v(1), calls)
print(1 < 2 > 1 == 1 != 2, 1 == 1.0 == True, "a" < "b" < "c")
### order of evaluation
log = []
def e(x):
    log.append(x)
    return x
d = {e("k1"): e("v1"), e("k2"): e("v2")}
l = [e(1), e(2) if e(True) else e(3), e(4) and e(5)]
print(e(1) + e(2) * e(3), log)
log.clear()
x = [0, 0]
x[e(0)], x[e(1)] = e(5), e(6)
print(x, log)
log.clear()
def fn(*a, **k):
    return a, k
print(fn(e(1), *[e(2)], k=e(3), **{"z": e(4)}), log)
### swap and unpacking
a, b = 1, 2
a, b = b, a
print(a, b)
x = [1, 2, 3]
i = 0
i, x[i] = 2, 9
print(i, x)
a, *b, c = range(6)
print(a, b, c)
(a, b), [c, d] = (1, 2), "xy"
print(a, b, c, d)
*a, = "hi"
print(a)
for bad in (lambda: [1, 2, 3], lambda: [1], lambda: 5, lambda: None):
    try:
        p, q = bad()
    except (ValueError, TypeError) as err:
        print(type(err).__name__, err)
try:
    p, q, *r = [1]
except ValueError as err:
    print(err)
### slices
l = list(range(10))
print(l[2:5], l[:3], l[-3:], l[::2], l[::-1], l[5:1:-2], l[20:], l[-100:2], l[3:3], l[:])
l[2:5] = [20, 30]
print(l)
l[::3] = [0] * len(l[::3])
print(l)
del l[1:3]
del l[0], l[-1]
print(l)
l[1:1] = "ab"
print(l)
t = (1, 2, 3, 4)
print(t[1:], t[-2:], t[::-1], "hello"[1:4], "hello"[::-1], "hello"[-1])
try:
    l[::2] = [1]
except ValueError as e:
    print(e)
print([1, 2, 3][slice(1, None)], slice(1, 5, 2), range(10)[2:8:3], range(5)[-1])
### index errors
for f in (lambda: [1][1], lambda: (1,)[-2], lambda: "a"[3], lambda: {}["k"], lambda: {1: 2}[(1, 2)], lambda: [1]["a"], lambda: 5[0], lambda: range(3)[7]):
    try:
        print(f())
    except (IndexError, KeyError, TypeError) as e:
        print(type(e).__name__, e)
### dict order and methods
d = {"b": 1, "a": 2}
d["c"] = 3
d["b"] = 9
del d["a"]
d["a"] = 4
print(d, list(d), list(d.values()), list(d.items()))
print(d.get("x"), d.get("x", 0), d.pop("c"), d.pop("zz", None), d.setdefault("n", []), d)
d.update({"q": 1}, r=2)
print(d, "q" in d, "zz" in d, len(d))
print({**{"a": 1}, "b": 2, **{"a": 3}}, dict(x=1), dict([(1, 2)]), {k: v for k, v in zip("ab", [1, 2])})
print({"a": 1} | {"b": 2}, d == dict(d), {1: 2} == {1.0: 2.0})
for k in d:
    if k == "q":
        break
print(k, sorted(d, key=str))
d = {(1, 2): "t", (1.0, "x"): "m", None: "n", True: "b", "1": "s"}
print(d[(1, 2)], d[1, 2], d[(1, "x")], d[None], d[1], d["1"])
try:
    {[1]: 2}
except TypeError as e:
    print(e)
try:
    for k in d:
        d["new"] = 1
except RuntimeError as e:
    print(e)
### many deletions
d = {}
for i in range(100):
    d[i] = i
for i in range(99):
    del d[i]
d["x"] = 1
print(d, len(d), list(d))
while d:
    print(d.popitem())
### sets
s = {3, 1, 2}
print(sorted(s), len(s), 1 in s, s - {1}, s & {1, 7}, sorted(s | {9}), sorted(s ^ {1, 9}))
s.add(5)
s.discard(77)
s.remove(5)
print(sorted(s), {1, 2} <= {1, 2, 3}, {1} < {1}, s == {1, 2, 3}, frozenset([1]) == {1}, set())
try:
    s.remove(99)
except KeyError as e:
    print("KeyError", e)
print(sorted({x % 3 for x in range(10)}), {frozenset([1, 2]): 5}[frozenset([2, 1])])
### comparison of sequences
print([1, 2] < [1, 3], [1] < [1, 0], (1, 2) == (1, 2.0), [1] == (1,), (1, "a") < (1, "b"), [] < [0], "a" < "ab", "Z" < "a")
print((1, 2) != (1, 3), [[1], [2]] == [[1], [2]], max((1, 5), (1, 3)), min("b", "a"), sorted([(2, "b"), (1, "z"), (2, "a")]))
for f in (lambda: 1 < "a", lambda: [1] < (1,), lambda: None < 1, lambda: {} < {}, lambda: [1, "a"] < [1, 2]):
    try:
        print(f())
    except TypeError as e:
        print(e)
### arguments
def f(a, b=2, *args, c, d=4, **kw):
    return (a, b, args, c, d, kw)
print(f(1, c=3), f(1, 2, 3, 4, c=5, d=6, e=7), f(*[1, 2], **{"c": 3, "z": 1}))
def p(a, /, b, *, c):
    return a, b, c
print(p(1, 2, c=3), p(1, b=2, c=3))
def q(x, y=1):
    return x, y
calls = [lambda: f(), lambda: f(1), lambda: q(), lambda: q(1, 2, 3), lambda: q(1, x=2), lambda: q(1, z=2), lambda: p(a=1, b=2, c=3),
         lambda: p(1, 2, 3), lambda: q(y=3), lambda: (lambda: 0)(1), lambda: q(1, **{"y": 2, "q": 3}), lambda: len(), lambda: len(1, 2)]
for g in calls[:-2]:
    try:
        print(g())
    except TypeError as e:
        print(e)
for g in calls[-2:]:
    try:
        print(g())
    except TypeError as e:
        print("TypeError")
### defaults are evaluated once, where the def is
x = 1
def f(a=x, b=[x], c=-1, d="s", e=None, g=1.5, h=False):
    return a, b, c, d, e, g, h
x = 2
print(f(), f(h=True), f(0, c=3))
### closures and nonlocal
def counter():
    n = 0
    def inc(by=1):
        nonlocal n
        n += by
        return n
    def get():
        return n
    return inc, get
inc, get = counter()
inc(), inc(5)
print(get())
inc2, get2 = counter()
inc2()
print(get(), get2())
### global
count = 0
def bump():
    global count, fresh
    count += 1
    fresh = count * 2
bump(), bump()
print(count, fresh)
### recursion
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)
print(fact(15))
def depth(n):
    return 0 if n == 0 else 1 + depth(n=n - 1)
print(depth(n=500))
def even(n): return True if n == 0 else odd(n - 1)
def odd(n): return False if n == 0 else even(n - 1)
print(even(400))
def forever(n):
    return forever(n + 1)
try:
    forever(0)
except RecursionError as e:
    print("RecursionError")
class Node:
    def walk(self, n):
        return 0 if n == 0 else 1 + self.walk(n - 1)
print(Node().walk(600))
### strings
s = "Hello, World"
print(s.lower(), s.upper(), s.split(", "), s.replace("l", "L"), s.find("o"), s.find("zz"), s.rfind("o"), s.index("W"), s.count("l"))
print(" a b  c ".split(), "a,b,,c".split(","), "a b c".split(" ", 1), "x".join(["1", "2"]), "  x ".strip(), "xxaxx".strip("x"), "abc".startswith(("z", "a")))
print("abc".endswith("bc"), "a-b".partition("-"), "ab".center(6, "*"), "7".zfill(3), "-7".zfill(4), "ab".ljust(4) + "|", "ab".rjust(4))
print("a\tb\n'q\"", repr("a\tb\n'q\""), repr('it\'s'), repr("\x00\x7f\\"), str(1.0), str(None), str([1, "a"]), "é".upper() if False else "")
print("abc"[1], "abc"[-1], len("héllo"), "héllo"[1], "héllo"[::-1], "a" in "abc", "" in "abc", "abc" * 0, "title case".title(), "abc".isdigit(), "12".isdigit())
print("%d%%" % 5, "%s" % (1,), "%s %r" % ("a", "b"), "%(x)s" % {"x": 1}, "%.3f" % 2.0, "%5d|%-5d|%05d" % (1, 2, 3), "%e" % 12345.678, "%g" % 1e-5, "%x" % 255)
try:
    "%d %d" % (1,)
except TypeError as e:
    print(e)
try:
    "%d" % "x"
except TypeError as e:
    print(e)
print("{} {}".format(1, 2), "{1} {0}".format("a", "b"), "{x[0]} {y.real}".format(x=[7], y=3), "{:>5}|{:<5}|{:^5}|{:*^7}".format(1, 2, 3, 4), "{{}}".format())
print("ab\ncd\n".splitlines(), "a".isalpha(), "A".isupper(), "abcabc".removeprefix("abc"), "x=1".split("=", 1), "1,2".rsplit(",", 1))
try:
    "a".nope
except AttributeError as e:
    print(e)
try:
    "a".len
except AttributeError as e:
    print(e)
try:
    "a".rep(3)
except AttributeError as e:
    print(e)
try:
    ", ".join([1])
except TypeError as e:
    print(e)
### f-strings
x, y, s, w = 3.14159, 42, "hi", 8
print(f"{x:.2f} {y:5d}|{y:<5}|{y:^5}|{y:05d}|{y:+d} {s!r} {s:>{w}} {y:x} {y:#x} {y:b} {y:,} {1234567.891:,.2f} {x:e} {x:g} {0.5:%}")
print(f"{{}} {y=} {y = } {s!s:>4} {'a' 'b'} {y if y > 1 else 0} {[i for i in range(3)]} {x:10.3f}|{-x:<10.1f}|")
print(f"{None} {True} {[1, 'a']} {(1,)} {{'k': 1}} {1e20} {float('nan')} {10**6:_}")
print(f"{True:d} {1:.1f} {255:08b} {255:X} {'abc':.2} {1.0} {100.0:g} {1e-10:g} {12345678.9:g} {0.1:.20f}")
print(f"{x!r:.4}" f"{y}" "{no}", f'{"nested " + f"{y}"}')
for spec in ("d", "s", ".2f", "q"):
    for v in ("a", 1, 1.5):
        try:
            print(format(v, spec))
        except ValueError as e:
            print(type(e).__name__)
### repr of containers
print([1, 2.0, "a", None, True, (1,), {"k": [1]}, {1}, (), [], {}], (1, 2), [[]], {"a": {"b": 1}})
l = [1]
l.append(l)
print(l)
print(range(3), range(1, 10, 2), slice(None), type(1), type("a"), type([]), type(None), int, Ellipsis)
### list methods
l = [3, 1, 2]
l.append(4)
l.extend([5, 6])
l.extend(x for x in (7,))
l.insert(0, 0)
l.insert(-1, 99)
print(l, l.pop(), l.pop(0), l.index(99), l.count(1), l)
l.remove(99)
l.sort()
print(l)
l.sort(key=lambda v: -v)
print(l)
l.reverse()
print(l, l.copy() == l, l.copy() is l)
l.clear()
print(l)
for f in (lambda: [].pop(), lambda: [1].remove(2), lambda: [1].index(5), lambda: [1].pop(3)):
    try:
        f()
    except (IndexError, ValueError) as e:
        print(type(e).__name__, e)
print(sorted(["b", "A", "c"], key=str.lower), sorted([3, 1, 2], reverse=True), sorted([(1, "b"), (1, "a")], key=lambda t: t[0], reverse=True))
print([1] + [2], [1, 2] * 2, 2 * [0], [1, 2, 3] == [1, 2, 3], [None] * 2)
try:
    [1] + (2,)
except TypeError as e:
    print(e)
try:
    [1] * "a"
except TypeError as e:
    print(e)
### builtins
print(abs(-3), abs(-2.5), min(3, 1, 2), max([1, 5, 2]), min("hello"), max([], default=0), sum([1, 2.5]), sum([[1], [2]], []), pow(2, 5), pow(3, 4, 5))
print(list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1, "", "a"])), list(zip([1, 2, 3], "ab")), list(enumerate("ab", 1)), list(reversed([1, 2])))
print(any([0, 1]), all([]), all([1, 0]), int("12"), int(" -7 "), int(3.9), int(-3.9), int("ff", 16), float("1.5"), float("1e3"), str(12), bool("0"), list("abc"), tuple([1]))
print(chr(65), ord("a"), hex(255), bin(5), oct(8), round(3.14159, 3), round(7), isinstance([], (list, tuple)), isinstance(1.0, int), callable(print), callable(3))
print(type(1) == int, type(1) is int, type("a") == str, isinstance(None, type(None)), hasattr([], "append"), hasattr([], "zip"), getattr("a", "upper")(), getattr(1, "zz", "dflt"))
for f in (lambda: int("x"), lambda: float("x"), lambda: int([]), lambda: min([]), lambda: max(1), lambda: sum(["a"]), lambda: len(5), lambda: list(5), lambda: ord("ab"), lambda: int(None)):
    try:
        print(f())
    except (TypeError, ValueError) as e:
        print(type(e).__name__)
it = iter([1, 2])
print(next(it), next(it), next(it, "end"))
try:
    next(it)
except StopIteration:
    print("stop")
### generators
def gen(n):
    for i in range(n):
        got = i * i
        yield got
    return
g = gen(3)
print(next(g), list(g), list(g))
print(sum(x * 2 for x in range(4)), [x for x in gen(4) if x], max(len(w) for w in ["a", "bcd"]), "".join(c for c in "abc" if c != "b"))
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
out = []
for f in fib():
    if f > 30:
        break
    out.append(f)
print(out)
def chain(*its):
    for i in its:
        yield from i
print(list(chain([1], "ab", range(2))))
def failing():
    yield 1
    raise ValueError("inside")
try:
    for v in failing():
        print(v)
except ValueError as e:
    print(e)
print(any(x > 2 for x in iter([1, 5, 2])), list(x for x in [] ), dict((k, v) for k, v in [(1, 2)]))
### comprehensions
print([i * j for i in range(3) for j in range(i)], [[i + j for j in range(2)] for i in range(2)], {i: i * i for i in range(3) if i != 1}, [x for x in "ab"])
i = "outer"
print([i for i in range(2)], i)
print([(lambda y: y + k)(1) for k in range(3)], [a or b for a, b in [(0, 1), (2, 3)]], [v if v > 1 else -v for v in range(4)])
print([y for x in range(4) if (y := x * x) > 1], y)
def local():
    z = 10
    return [z + q for q in range(3)], {z: q for q in range(2)}
print(local())
### walrus, conditional, lambda
if (n := 10) > 5:
    print(n)
print((lambda *a, k=1, **kw: (a, k, kw))(1, 2, k=3, z=4), (lambda: None)(), (lambda x: x if x else "e")(0))
while (n := n - 3) > 0:
    print(n, end=" ")
print()
### augmented assignment
class O:
    pass
o = O()
o.x = 1
o.x += 2
d = {"k": [1]}
d["k"] += [2]
l = [1, 2, 3]
l[1] *= 10
l[-1] -= 1
l[0:2] += [7]
print(o.x, d, l)
def idx():
    print("idx")
    return 0
l[idx()] += 5
print(l)
x = 7
x //= 2
x **= 2
x %= 5
x <<= 3
x |= 1
x ^= 2
x >>= 1
x &= 0xF
x /= 2
print(x)
s = "a"
s += "b"
s *= 2
print(s)
### exceptions
def f(n):
    try:
        if n == 0:
            raise ValueError("zero")
        if n == 1:
            return "one"
        if n == 2:
            {}["k"]
        if n == 3:
            [][1]
    except ValueError as e:
        return f"V:{e}"
    except (KeyError, IndexError) as e:
        return type(e).__name__
    else:
        return "else"
    finally:
        print("finally", n)
print([f(i) for i in range(5)])
class MyError(Exception):
    def __init__(self, code, msg="m"):
        super().__init__(msg)
        self.code = code
try:
    raise MyError(3)
except MyError as e:
    print(e, e.code, e.args, isinstance(e, Exception), repr(e))
try:
    try:
        raise KeyError("a")
    except KeyError:
        raise RuntimeError("b") from None
except RuntimeError as e:
    print(e)
try:
    try:
        1 / 0
    finally:
        print("cleanup")
except ZeroDivisionError:
    print("zde")
def loops():
    for i in range(5):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            print(i)
        finally:
            print("f", i)
    return i
print(loops())
def ret():
    try:
        return 1
    finally:
        return 2
print(ret())
try:
    assert 1 == 2, "math"
except AssertionError as e:
    print("AE", e)
try:
    assert []
except AssertionError as e:
    print("AE", repr(str(e)), e.args)
try:
    raise ValueError
except ValueError as e:
    print(repr(e), e.args)
try:
    raise Exception("a", 1)
except Exception as e:
    print(e, e.args)
try:
    raise 5
except TypeError as e:
    print(e)
def reraise():
    try:
        [].pop()
    except IndexError:
        print("once")
        raise
try:
    reraise()
except IndexError as e:
    print("again", e)
e = 1
try:
    raise ValueError()
except ValueError as e:
    pass
try:
    print(e)
except NameError as n:
    print("gone", n)
### with
class CM:
    def __init__(self, n, swallow=False):
        self.n, self.swallow = n, swallow
    def __enter__(self):
        print("enter", self.n)
        return self
    def __exit__(self, t, v, tb):
        print("exit", self.n, t.__name__ if t else None, v)
        return self.swallow
with CM(1) as a, CM(2):
    print("body", a.n)
with CM(3, True):
    raise ValueError("x")
try:
    with CM(4):
        raise KeyError("k")
except KeyError as k:
    print("out", k)
def early():
    for i in range(3):
        with CM(i):
            if i == 1:
                return "ret"
print(early())
try:
    with 5:
        pass
except TypeError as e:
    print("TypeError")
### classes
class A:
    total = 0
    items = []
    def __init__(self, x, y=2):
        self.x = x
        self.y = y
        A.total += 1
    def m(self):
        return self.x + self.y
    @property
    def p(self):
        return self.x * 10
    @p.setter
    def p(self, v):
        self.x = v
    @staticmethod
    def s(v):
        return v + 1
    @classmethod
    def make(cls, v):
        return cls(v, v)
    def __repr__(self):
        return f"A({self.x})"
    def __eq__(self, o):
        return isinstance(o, A) and self.x == o.x
    def __hash__(self):
        return hash(self.x)
    def __lt__(self, o):
        return self.x < o.x
    def __add__(self, o):
        return A(self.x + (o.x if isinstance(o, A) else o))
    def __radd__(self, o):
        return A(o + self.x)
    def __len__(self):
        return self.x
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return i * self.x
    def __call__(self, z):
        return self.x + z
    def __contains__(self, v):
        return v == self.x
class B(A):
    kind = "b"
    def __init__(self, x):
        super().__init__(x, 5)
    def m(self):
        return super().m() + 100
a, b = A(1), B(2)
print(a.m(), b.m(), a.p, A.s(1), a.s(2), B.make, B.kind, b.y, A.total, a, b) if False else print(a.m(), b.m(), a.p, A.s(1), a.s(2), B.kind, b.y, A.total, a, b)
a.p = 7
print(a.x, a == A(7), a != A(7), a in [A(7)], a + b, 1 + b, a + 3, sum([A(1), A(2)]), len(a), a[2], list(A(2)), a(1), 7 in a, {A(7): "v"}[a], sorted([A(3), A(1)]), max(A(1), A(4)))
print(isinstance(b, A), issubclass(B, A), type(b).__name__, hasattr(b, "m"), bool(A(0)), bool(a), A.make(4), callable(a))
a.items.append(1)
print(B.items, A.items is b.items)
a.items = 5
print(a.items, A.items)
f = a.m
print(f(), A.m(a), list(map(A.m, [a, b])))
try:
    a.nope
except AttributeError as e:
    print(e)
try:
    A()
except TypeError as e:
    print(e)
class Empty:
    pass
e = Empty()
e.z = 1
print(e.z, getattr(e, "q", None))
del e.z
print(hasattr(e, "z"))
class It:
    def __init__(self):
        self.i = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.i += 1
        if self.i > 3:
            raise StopIteration
        return self.i
print(list(It()), sum(It()), 2 in It())
class Base:
    def hello(self):
        return "hi " + self.name()
    def name(self):
        return "base"
class Mid(Base):
    pass
class Leaf(Mid):
    def name(self):
        return "leaf+" + super().name()
print(Leaf().hello())
class P:
    def __init__(self):
        self.__hidden = 5
    def get(self):
        return self.__hidden
print(P().get(), hasattr(P(), "__hidden"))
class M1:
    def who(self): return "M1"
class M2:
    def who(self): return "M2"
class D(M1, M2):
    pass
print(D().who())
### decorators
def deco(tag):
    def wrap(fn):
        def inner(*a, **k):
            return tag, fn(*a, **k)
        return inner
    return wrap
@deco("x")
@deco("y")
def target(v, w=1):
    return v + w
print(target(1), target(1, w=5))
### dataclass and enum
from dataclasses import dataclass, field
from enum import Enum, IntEnum
@dataclass
class Pt:
    x: int
    y: int = 0
    tags: list = field(default_factory=list)
    def norm(self):
        return abs(self.x) + abs(self.y)
@dataclass(frozen=True, order=True)
class Fr:
    a: int
    b: str = "z"
p = Pt(1)
print(p, p == Pt(1), p != Pt(2), p.norm(), Pt(x=3, y=-4).norm(), Pt(1, 2, [3]), Fr(1) < Fr(2), {Fr(1): 5}[Fr(1)])
p.tags.append(1)
print(p, Pt(0).tags)
try:
    Fr(1).a = 2
except AttributeError as e:
    print(type(e).__name__, e)
try:
    Pt()
except TypeError as e:
    print(e)
class Color(Enum):
    RED = 1
    BLUE = "b"
class Num(IntEnum):
    ONE = 1
    TWO = 2
print(Color.RED, Color.RED.name, Color.BLUE.value, Color(1), Color["BLUE"], list(Color), len(Color), Color.RED == 1, Color.RED is Color.RED, Color.RED in Color)
print(Num.ONE + 1, Num.TWO == 2, Num.ONE < Num.TWO, [10, 20, 30][Num.ONE], {Color.RED: 1}[Color.RED], isinstance(Color.RED, Color))
try:
    Color(9)
except ValueError as e:
    print(e)
### nested functions see arguments
def outer(a, *rest, **kw):
    def inner(b):
        return a, b, rest, kw
    return inner
print(outer(1, 2, k=3)(4))
def shadow(x):
    def x2():
        x = 5
        return x
    return x, x2()
print(shadow(1))
### del
x = [1, 2, 3]
del x[0]
y = x
del x
try:
    print(x)
except NameError as e:
    print(e)
print(y)
def f():
    v = 1
    del v
    try:
        return v
    except UnboundLocalError as e:
        return str(e)
print(f())
d = {"a": 1}
del d["a"]
try:
    del d["a"]
except KeyError as e:
    print("KeyError", e)
### is
a = [1]
print(a is a, a is not [1], None is None, a == [1], 1 is 1.0 if False else "-", True is True, () == ())
### keywords of Lua as names
end, local, nil, then, function, repeat, until, elseif, goto, do = range(10)
print(end + local + nil + then + function + repeat + until + elseif + goto + do)
class K:
    end = 3
    def then(self, local=1):
        return local + self.end
k = K()
k.nil = 4
print(k.then(local=5), k.nil, k.end, dict(end=1, nil=2))
def f(end, nil=2, *local, function=3):
    return end, nil, local, function
print(f(1, function=4))
### names of the helpers
A, K, P, N, G, B, R, W, T, S, X, TRUE, LIST, Add, t1, v_x, c1_x = range(17)
print(A, K, P, N, G, B, R, W, T, S, X, TRUE, LIST, Add, t1, v_x, c1_x, 1 + 1, [1, 2])
def f(A, K, N, TRUE):
    return [A + K for A in range(2)], N and TRUE
print(f(1, 2, 3, 4))
### math and friends
import math
from functools import reduce, partial
import itertools as it
from math import ceil, log2
print(math.sqrt(2), math.pi, math.exp(1), math.log(10), log2(8), ceil(2.1), math.floor(-2.1), math.gcd(12, 18), math.inf > 1, math.isnan(math.nan), math.prod([1, 2, 3]), math.factorial(10), math.hypot(3, 4), math.ceil(7 / 2))
print(reduce(lambda a, b: a * b, [1, 2, 3, 4], 1), partial(pow, 2)(5), list(it.product([1, 2], "a")), list(it.chain([1], [2])), list(it.islice(it.count(5), 3)), list(it.combinations("abc", 2)), list(it.permutations([1, 2, 3], 2)), list(it.accumulate([1, 2, 3])))
for f in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.exp(1000), lambda: math.floor(float("inf"))):
    try:
        f()
    except (ValueError, OverflowError) as e:
        print(type(e).__name__, e)
### uncaught error keeps its line
def a(x):
    return b(x)
def b(x):
    y = [1,
         2]
    return y[
        x
    ]
print(a(1))
a(7)
### uncaught assertion
def check(shape):
    K, M = shape
    assert K == 128, f"Expected {128}, got {K}"
check((64, 2))
### uncaught in a method
class Q:
    def go(self, v):
        for i in range(3):
            if i == 2:
                return v + None
Q().go(1)
### multi-line expressions
x = (1 +
     2 *
     3)
y = [
    1,
    2,
]
z = {"a":
     1}
print(x, y, z,
      "end",
      sep="|")
w = ("a"
     "b"
     f"{x}")
print(w)
### semicolons and one-liners
a = 1; b = 2; print(a + b)
if a: print("t")
for i in range(2): print(i); print("x")
class C: x = 1; y = 2
print(C.x + C.y)
def f(): return 3
print(f())
### print options
print(1, 2, sep="-", end="!\n")
print()
print("a", end="")
print("b", "c", sep="")
print(*[1, 2, 3], sep=", ")
print(None, True, 1.0, [1.5], "s")
### ranges
print(list(range(5)), list(range(2, 5)), list(range(10, 0, -3)), list(range(0)), list(range(5, 2)), len(range(0, 10, 3)), 4 in range(0, 10, 2), range(3) == range(0, 3))
for i in range(3, -1, -1):
    print(i, end=" ")
print()
for f in (lambda: range(1, 2, 0), lambda: range("a"), lambda: range(1.5)):
    try:
        f()
    except (TypeError, ValueError) as e:
        print(type(e).__name__, e)
def early(n):
    for i in range(n):
        for j in range(i):
            if j == 2:
                return i, j
    return None
print(early(5), early(1))
try:
    for i in range("x"):
        pass
except TypeError as e:
    print(e)
### calling what is not callable
for f in (lambda: 5(), lambda: "a"(), lambda: None(), lambda: [1](0)):
    try:
        f()
    except TypeError as e:
        print(e)
### copying
import copy
a = [[1], {"k": [2]}]
b, c = copy.copy(a), copy.deepcopy(a)
a[0].append(9)
a[1]["k"].append(8)
print(a, b, c)
### unicode
s = "naïve café ☕"
print(s, len(s), s[2], s[-1], s.upper()[0], s.split(), s.find("☕"), s[::-1][:3], repr("é\u200b☕") == repr("é\u200b☕"), "ß" in "straße", f"{s:>15}|")
größe = 3
print(größe * 2)
def f(π=3):
    return π
print(f(), f(π=4))
'''


def traps():
    out = []
    for block in TRAPS.split("\n### ")[1:]:
        name, _, source = block.partition("\n")
        out.append((name, source))
    return out
