# SPDX-License-Identifier: MIT
# Edges of values: formats, conversions, arithmetic, slices, methods, unpacking, calls, errors and their messages. CPython runs
# each program, so does nkiln; what they print must be the same.

EDGES = r'''
### ints at edges
for f in (lambda: pow(2, -1, 7), lambda: pow(3, -2, 11), lambda: pow(2, 5, -7), lambda: pow(2, 5, 1), lambda: pow(2, 5, 0), lambda: pow(-3, 3, 5), lambda: pow(4, -1, 8), lambda: pow(2, 0.5, 3),
          lambda: "%d" % 1e3, lambda: "%d" % -2.9, lambda: "%d" % True, lambda: "%d" % "a", lambda: "%x" % 255, lambda: "%x" % 1.5, lambda: "%i|%5d|%-5d|%05d|%+d" % (1, 2, 3, 4, 5), lambda: "%c%c" % (65, "b"), lambda: "%s" % (1, 2),
          lambda: "%s %s" % 1, lambda: "%%" % (), lambda: "%q" % 1, lambda: "%" % 1, lambda: "%.3s|%5.1s|" % ("abcdef", "xyz"), lambda: "%r %a" % ("é", "é"), lambda: "%e %g %G" % (12345.678, 1e-7, 1e20), lambda: "%#x %#o" % (255, 8),
          lambda: "%(x)s %(y)d" % {"x": 1, "y": 2}, lambda: "%(x)s" % {"y": 1}, lambda: "%d%%" % 5, lambda: "%5.2f|%-8.3f|%+.1f" % (3.14159, 2.5, 1.25), lambda: "% d" % 5, lambda: "%.0f %.0f %.0f" % (0.5, 1.5, 2.5)):
    try:
        print(repr(f()))
    except Exception as e:
        print(type(e).__name__, e)
### int and float parsing
for s in ("12", " 12 ", "1_0", "_1", "1__0", "+5", "-0", "0x10", "1.5", "", "1e3", "inf", "-Infinity", "nan", ".5", "5.", "1e", "1_0.5_0", "0b1", "true", "1 2", "--1"):
    for f in (int, float):
        try:
            print(s, f.__name__, f(s))
        except ValueError as e:
            print(s, e)
for a in (("ff", 16), ("0xff", 16), ("0xff", 0), ("0b11", 0), ("077", 8), ("z", 36), ("2", 2), ("10", 1), ("10", 37), ("0o17", 0), ("010", 0)):
    try:
        print(a, int(*a))
    except ValueError as e:
        print(a, e)
### float repr
for x in (0.1, 1e22, 1e21, 123456789.123456789, 1e-5, 0.0001, 5e-324, 1.7976931348623157e308, -0.0, 1e16, 9999999999999998.0, 1e15, 2/3, 100.0, 1.0e100, float("inf"), -float("inf"), float("nan"), 4.35, 0.3 - 0.1):
    print(x, repr(x), str(x), f"{x}", f"{x!r}", [x])
### float format
for spec in ("", ".2f", "8.3f", "<8.1f|", ">8.1f", "^9.2f", "+.1f", " .1f", "010.3f", ",.2f", "_.1f", "e", ".0e", "g", ".3g", "G", "%", ".1%", "n", "#.0f", "-.0f", "*^12.2e", "=+9.1f", "z.0f"):
    for x in (0.0, -0.0, 1234567.891, -0.4, 1e-10, float("inf"), float("nan")):
        try:
            print(spec, x, "[" + format(x, spec) + "]")
        except Exception as e:
            print(spec, type(e).__name__, e)
### int format
for spec in ("", "d", "5d", "<5d", "^5", "05", "+", "x", "#x", "#X", "o", "#b", "_b", ",", "_", "c", "e", ".2f", "%", "n", "=+8,", "*>8", "s", ".2d", "#010x", "_x"):
    for x in (0, 65, -1234567, True):
        try:
            print(spec, x, "[" + format(x, spec) + "]")
        except Exception as e:
            print(spec, x, type(e).__name__, e)
### str format
for spec in ("", "s", "5", "<5", ">5", "^5", "*^7", ".2", "5.1", "05", "d", "=5", "+", ",", "é^6", "x<3s"):
    for x in ("abc", "", "é☕"):
        try:
            print(spec, "[" + format(x, spec) + "]")
        except Exception as e:
            print(spec, type(e).__name__, e)
### f-strings
x, y, w = 3.14159, "hi", 10
d = {"a": 1}
print(f"{x:.2f} {x:{w}.3f} {y!r:>{w}} {y!s} {y!a} {x=} {x = } {x=:.2f} {y=!s} {d['a']} {{}} {{{x}}} {'nested ' + f'{y}'}")
print(f"{x:>10}|{y:<10}|{y:^10}|{w:#x}|{w:08b}|{-w:+d}|{1000000:,}|{None}|{True}|{[1, 'a']}|{(1,)}|{ {1: 2} }")
print(f"""a
{x
}b""", f'{"a" if x > 3 else "b"}', f"{(lambda v: v * 2)(4)}", f"{x!r:^{w + 2}}|", f"{y:{'>'}{8}}|", f'{w:{"0"}>{5}}')
for f in (lambda: f"{y:d}", lambda: f"{x:d}", lambda: f"{None:5}", lambda: f"{[1]:5}", lambda: f"{d['z']}", lambda: f"{w:q}", lambda: f"{y:.2f}", lambda: f"{(1,2):>5}"):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### str.format
for f in (lambda: "{} {}".format(1, 2), lambda: "{1} {0}".format(1, 2), lambda: "{a} {b!r}".format(a=1, b="x"), lambda: "{0[1]} {0[0]}".format([5, 6]), lambda: "{0[k]}".format({"k": 3}), lambda: "{:>{}}|".format("a", 5),
          lambda: "{} {}".format(1), lambda: "{0} {}".format(1), lambda: "{x}".format(), lambda: "{{}}".format(), lambda: "{".format(), lambda: "}".format(), lambda: "{:d}".format("a"), lambda: "{!z}".format(1), lambda: "{0.real}".format(5), lambda: "{:{w}.{p}f}".format(3.14159, w=8, p=2)):
    try:
        print(repr(f()))
    except Exception as e:
        print(type(e).__name__, e)
### slices
s = list(range(10))
for a in (None, 0, 3, -3, 10, 15, -15):
    for b in (None, 0, 5, -2, 12, -12):
        print(s[a:b], s[a:b:2], s[a:b:-1], s[a:b:-3], "abcdefghij"[a:b:-2], tuple(s)[a:b:3], list(range(10)[a:b:-1]))
for f in (lambda: s[::0], lambda: s[1.0:], lambda: s["a"], lambda: "abc"[None], lambda: (1,)[5], lambda: s[10], lambda: s[-11], lambda: range(5)[7], lambda: range(3)["a"], lambda: {}[0], lambda: {}["k"], lambda: {}[[]], lambda: {1}[0], lambda: s[True], lambda: s[None]):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### slice assignment and deletion
a = list(range(6)); a[1:3] = [9]; print(a)
a[::2] = [7, 7, 7]; print(a)
a[:0] = (1, 2); print(a)
a[5:1] = "xy"; print(a)
del a[1:4]; print(a)
del a[::2]; print(a)
del a[-1]; print(a)
for f in (lambda: a.extend(1),):
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e)
b = list(range(6))
try:
    b[::2] = [1]
except ValueError as e:
    print(e)
try:
    b[10] = 1
except IndexError as e:
    print(e)
try:
    del b[10]
except IndexError as e:
    print(e)
try:
    (1, 2)[0] = 1
except TypeError as e:
    print(e)
try:
    "ab"[0] = "c"
except TypeError as e:
    print(e)
### list methods at edges
a = [3, 1, 2]
for f in (lambda: a.pop(5), lambda: [].pop(), lambda: a.index(9), lambda: a.remove(9), lambda: a.insert(-10, 0), lambda: a.insert(99, 7), lambda: a.extend("xy"), lambda: a.extend(5), lambda: a.index(1, 2), lambda: a.index(1, -3), lambda: a.count(1),
          lambda: a.reverse(), lambda: a.sort(), lambda: sorted([3, "a"]), lambda: sorted([None, 1]), lambda: a.copy(), lambda: a.clear(), lambda: a + (1,), lambda: a + None, lambda: [1] * 2.0, lambda: [1] * -1, lambda: 2 * [1, 2], lambda: [1] == (1,), lambda: [1, 2] < [1, 3], lambda: [1] < (1,), lambda: [] < [0], lambda: [1, [2]] == [1, [2]]):
    try:
        print(f(), a)
    except Exception as e:
        print(type(e).__name__, e)
### sorting
print(sorted([3, 1, 2], reverse=True), sorted("banana"), sorted([(1, "b"), (0, "z"), (1, "a")]), sorted([True, 0, 2]), sorted({"b": 1, "a": 2}))
a = [("a", 3), ("b", 1), ("c", 3), ("d", 1), ("e", 2)]
print(sorted(a, key=lambda p: p[1]), sorted(a, key=lambda p: p[1], reverse=True), sorted(a, key=lambda p: -p[1]))
print(min(a, key=lambda p: p[1]), max(a, key=lambda p: p[1]), min(3, 1.0, 1), max(1, 1.0), max([1, 3, 2], key=lambda v: -v), min("b", "a"), max((1, 2), (1, 3)))
for f in (lambda: max([]), lambda: min(), lambda: max([], default=5), lambda: max(1, "a"), lambda: sorted(5), lambda: min([1, 2], key=5), lambda: max(1), lambda: sum(["a"]), lambda: sum([[1], [2]], []), lambda: sum([1.5, 2]), lambda: sum("ab"), lambda: sum([], "x"), lambda: sum([True, 2], start=10), lambda: sum((0.1,) * 10)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### dict methods at edges
d = {"a": 1, "b": 2}
for f in (lambda: d.get("z"), lambda: d.get("z", 5), lambda: d.pop("z", 0), lambda: d.pop("z"), lambda: d.setdefault("c", []), lambda: d.update({"d": 4}), lambda: d.update(e=5), lambda: d.update([("f", 6)]), lambda: d.popitem(), lambda: list(d), lambda: list(d.items())[:2], lambda: d.keys(), lambda: d.values(), lambda: d.items(), lambda: "a" in d, lambda: 1 in d.values(), lambda: ("a", 1) in d.items(), lambda: len(d), lambda: dict(a=1, b=2), lambda: dict([(1, 2)], x=3), lambda: dict(5), lambda: {**d, "a": 0}, lambda: d | {"q": 1}, lambda: d == {"a": 1}, lambda: dict.fromkeys("ab", 0), lambda: {[]: 1}, lambda: d.keys() & {"a"}, lambda: d.keys() - {"a"} if False else None, lambda: list(reversed(d)), lambda: d < d, lambda: {1: 2} == {1.0: 2.0}, lambda: {(1, 2): 3}[1, 2], lambda: d.copy(), lambda: d.clear()):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### dict changed while iterating
for mk in (lambda d: d.update(n=1), lambda d: d.pop("a")):
    d = {"a": 1, "b": 2}
    try:
        for k in d:
            mk(d)
        print("end", d)
    except RuntimeError as e:
        print(e)
d = {"a": 1, "b": 2}
for k in list(d):
    d[k + "x"] = 1
print(d)
for k, v in d.items():
    d[k] = v + 1
print(d)
### sets
a, b = {1, 2, 3}, {2, 3, 4}
print(sorted(a | b), sorted(a & b), sorted(a - b), sorted(a ^ b), a <= b, {2} < a, a.isdisjoint({9}), a == {3, 2, 1}, 2 in a, len(a), a.issubset({1, 2, 3, 4}), a >= {1})
for f in (lambda: a.add(5), lambda: a.remove(9), lambda: a.discard(9), lambda: {[]}, lambda: a + b, lambda: a | [1], lambda: sorted(a.union([7], (8,))), lambda: set("aab") == {"a", "b"}, lambda: set(), lambda: {1}, lambda: frozenset([1]), lambda: a[0], lambda: {1: 2}.keys() | {3}, lambda: sorted(a.symmetric_difference([1]))):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### tuples
t = (1, 2, 3)
for f in (lambda: t + (4,), lambda: t + [4], lambda: t * 2, lambda: t.index(2), lambda: t.index(9), lambda: t.count(1), lambda: (1,) < (1, 2), lambda: (1, "a") < (1, 2), lambda: (1, "a") < (2, 2), lambda: () == (), lambda: tuple("ab"), lambda: tuple(5), lambda: (1, 2) == [1, 2], lambda: hash((1, 2)) == hash((1, 2)), lambda: (1,), lambda: ((),), lambda: t.append(1), lambda: (1, [2]) + ()):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### unpacking errors
for f in ("a, b = 1, 2, 3", "a, b = (1,)", "a, *b = []", "a, *b, c = 1, 2", "a, *b, c = [1]", "a, b = 5", "a, b = 'xy'", "(a, (b, c)) = 1, (2, 3)", "[a, b] = {1: 2, 3: 4}", "*a, = range(3)", "a, b = {1}", "a = b = c = 4", "a, b = b, a = 1, 2", "a, b, *c = range(6)", "for a, b in [(1, 2), (3,)]: pass", "a, b = None", "a, (b, *c), d = 1, (2, 3, 4), 5"):
    env = {}
    try:
        if f == "a, b = 1, 2, 3":
            a, b = 1, 2, 3
        elif f == "a, b = (1,)":
            a, b = (1,)
        elif f == "a, *b = []":
            a, *b = []
        elif f == "a, *b, c = 1, 2":
            a, *b, c = 1, 2
            print(a, b, c)
        elif f == "a, *b, c = [1]":
            a, *b, c = [1]
        elif f == "a, b = 5":
            a, b = 5
        elif f == "a, b = 'xy'":
            a, b = 'xy'
            print(a, b)
        elif f == "(a, (b, c)) = 1, (2, 3)":
            (a, (b, c)) = 1, (2, 3)
            print(a, b, c)
        elif f == "[a, b] = {1: 2, 3: 4}":
            [a, b] = {1: 2, 3: 4}
            print(a, b)
        elif f == "*a, = range(3)":
            *a, = range(3)
            print(a)
        elif f == "a, b = {1}":
            a, b = {1}
        elif f == "a, b = None":
            a, b = None
        elif f.startswith("for"):
            for a, b in [(1, 2), (3,)]:
                print(a, b)
        else:
            a, (b, *c), d = 1, (2, 3, 4), 5
            print(a, b, c, d)
    except Exception as e:
        print(f, type(e).__name__, e)
### calls
def f(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, kw
def g(a, /, b, *, c=3):
    return a, b, c
for h in (lambda: f(1, c=3), lambda: f(1, 2, 3, 4, c=5, z=6), lambda: f(), lambda: f(1), lambda: f(1, c=2, a=3), lambda: f(*[1, 2, 3], **{"c": 1, "q": 2}), lambda: f(**{"a": 1, "c": 2}), lambda: g(1, 2), lambda: g(a=1, b=2), lambda: g(1, b=2, c=5), lambda: g(1, 2, 3), lambda: g(1), lambda: g(1, 2, d=4), lambda: g(*(1,), *(2,)), lambda: g(1, **{"b": 1}, **{"c": 2}), lambda: g(1, *5), lambda: f(1, *"ab", c=0), lambda: (lambda *a, **k: (a, k))(1, *[2], x=3, **{"y": 4}), lambda: (lambda x=[]: x)(), lambda: len(5), lambda: abs("a"), lambda: g(1, 2, c=3, **{"a": 1})):
    try:
        print(h())
    except TypeError as e:
        print("TypeError", e)
### late binding and defaults
fs = [lambda: i for i in range(3)]
print([h() for h in fs])
fs = [lambda i=i: i for i in range(3)]
print([h() for h in fs])
fs = []
for i in range(3):
    def h(j=i):
        return i, j
    fs.append(h)
print([h() for h in fs])
def acc(x, lst=[]):
    lst.append(x)
    return lst
print(acc(1), acc(2), acc(3, []), acc(4))
def outer():
    x = 1
    def inner():
        return x
    x = 2
    return inner()
print(outer())
def counter():
    n = 0
    def inc(by=1):
        nonlocal n
        n += by
        return n
    return inc
c1, c2 = counter(), counter()
print(c1(), c1(5), c2(), c1())
def shadow():
    try:
        print(zz)
        zz = 1
    except UnboundLocalError as e:
        print(e)
shadow()
### comprehension scopes
x = 10
print([x for x in range(3)], x, [y for y in range(x) if y % 4 == 0], {k: v for k, v in zip("ab", [1, 2])}, {n % 3 for n in range(9)} == {0, 1, 2})
print([[i * j for j in range(3)] for i in range(3)], [(i, j) for i in range(3) for j in range(i)], [a for a, *b in [(1, 2, 3), (4, 5)]], [i for i in range(5) if i if i % 2])
print([(lambda: i)() for i in range(3)], [h() for h in [lambda: k for k in range(3)]], list(z * 2 for z in [1, 2]), sum(v * v for v in range(4)), any(v > 2 for v in range(4)), all(v for v in [1, 0, 2]))
class A:
    n = 3
    vals = [i for i in range(n)]
    try:
        bad = [n for i in range(2)]
    except NameError as e:
        bad = str(e)
print(A.vals, A.bad)
if (m := 5) > 3:
    print(m, [last := q for q in range(3)], last)
print((lambda: (w := 3) + w)())
while (m := m - 1) > 2:
    print(m)
### try, finally, with
def f(n):
    try:
        if n == 0:
            return "a"
        if n == 1:
            raise ValueError("v")
        if n == 2:
            raise KeyError("k")
        return "b"
    except ValueError as e:
        return "caught " + str(e)
    else:
        return "else"
    finally:
        print("finally", n)
for n in range(4):
    try:
        print(f(n))
    except KeyError as e:
        print("KeyError", e, repr(e), e.args)
def g():
    for i in range(3):
        try:
            continue
        finally:
            print("f", i)
    for i in range(3):
        try:
            break
        finally:
            print("b", i)
    try:
        return 1
    finally:
        return 2
print(g())
class C:
    def __init__(self, swallow):
        self.swallow = swallow
    def __enter__(self):
        print("enter")
        return self
    def __exit__(self, t, v, tb):
        print("exit", t.__name__ if t else None, v)
        return self.swallow
with C(True) as c, C(False) as d:
    raise ValueError("x")
try:
    with C(False):
        1 / 0
except ZeroDivisionError as e:
    print("out", e)
with C(True):
    pass
try:
    try:
        raise ValueError("a")
    except ValueError as e:
        raise TypeError("b") from e
except TypeError as e:
    print(e, repr(e.__cause__))
try:
    raise ValueError
except ValueError as e:
    print(repr(e), str(e) == "", e.args)
try:
    raise ValueError(1, "a")
except (TypeError, ValueError) as e:
    print(e, e.args)
try:
    e
except NameError as err:
    print(err)
class MyErr(ValueError):
    pass
try:
    raise MyErr("m")
except ValueError as e:
    print(type(e).__name__, e, isinstance(e, Exception))
try:
    raise 5
except TypeError as e:
    print(e)
try:
    assert 1 == 2, ("a", 1)
except AssertionError as e:
    print(e, e.args)
try:
    assert False
except AssertionError as e:
    print(repr(e))
try:
    int("x")
except Exception as e:
    print(type(e).__name__, e)
### generators
def gen(n):
    for i in range(n):
        got = yield i
        if got:
            print("got", got)
    return "done"
it = gen(3)
print(next(it), next(it), next(it), next(it, "end"), list(it))
def chain(*its):
    for i in its:
        r = yield from i
        print("r", r)
print(list(chain(gen(2), "ab", gen(1))))
try:
    next(gen(0))
except StopIteration as e:
    print("stop", e.value)
def inf():
    n = 0
    while True:
        yield n
        n += 1
from itertools import islice, count, chain as ch, product, accumulate, zip_longest, takewhile, repeat
print(list(islice(inf(), 2, 10, 3)), list(islice(count(5, 2), 3)), list(ch([1], (2,), "c")), list(product("ab", [1, 2])), list(accumulate([1, 2, 3])), list(zip_longest([1], [2, 3], fillvalue=0)), list(takewhile(lambda v: v < 3, count())), list(repeat("x", 2)))
g2 = (i for i in range(3))
print(2 in g2, list(g2))
### enumerate zip map filter
for f in (lambda: list(enumerate("ab", 5)), lambda: list(enumerate("ab", start=-1)), lambda: list(zip([1, 2], "ab", (True, False))), lambda: list(zip()), lambda: list(zip([1], [1, 2], strict=True)), lambda: list(zip([1, 2], [1], strict=True)), lambda: list(zip([1, 2, 3], [1, 2], [1], strict=True)), lambda: list(map(lambda a, b: a + b, [1, 2], [3, 4, 5])), lambda: list(filter(None, [0, 1, "", "a"])), lambda: list(reversed([1, 2])), lambda: list(reversed(range(5))), lambda: list(reversed("ab")), lambda: list(reversed({1})), lambda: list(map(str, 5)), lambda: next(iter([])), lambda: next(5), lambda: iter(5), lambda: list(range(5, 0, -2)), lambda: range(0, 10, 0), lambda: range(1.0), lambda: list(range(-3)), lambda: range(3) == range(0, 3, 1), lambda: len(range(0, 10, 3)), lambda: 6 in range(0, 10, 3), lambda: range(10)[2:5], lambda: range(10).index(3), lambda: range(3), lambda: sum(range(101)), lambda: list(range(True)), lambda: all([]), lambda: any([]), lambda: list(zip(*[(1, 2), (3, 4)])), lambda: divmod(7, -3), lambda: divmod(-7.5, 2), lambda: divmod(1, 0)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### rounding
for x in (0.5, 1.5, 2.5, -0.5, -1.5, 2.675, 1.005, 1e15 + 0.5, 0.1, 1234.5678, 5e-324, 1e300, -2.5):
    print(x, x > 1e18 or round(x), round(x, 1), round(x, 2), round(x, -2), round(x, 0))
print(round(5), round(15, -1), round(25, -1), round(-15, -1), round(True), round(1234567, -3), round(5, 2))
for f in (lambda: round("a"), lambda: round(float("inf")), lambda: round(float("nan")), lambda: round(float("nan"), 1), lambda: round(1.5, None), lambda: round(2, 1.0), lambda: round(2.5, ndigits=0)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### division and modulo
for a in (7, -7, 7.5, -7.5, 0, 0.0, -0.0, 1e17, 3, float("inf"), float("nan"), True):
    for b in (2, -2, 2.5, -2.5, 3, 0.1, float("inf"), -float("inf"), False, 1):
        for f in (lambda: a // b, lambda: a % b, lambda: a / b, lambda: b and divmod(a, b)):
            try:
                print(a, b, f())
            except ZeroDivisionError as e:
                print(a, b, e)
### power
for a in (0, 2, -2, 0.0, -0.0, 2.5, -2.5, float("inf"), 1, -1, 10):
    for b in (0, 1, 3, -1, -2, 0.5, 2.0, float("inf"), float("-inf"), -3, float("nan")):
        try:
            r = a ** b
            if "j" not in str(r):
                print(a, b, r)
        except (ZeroDivisionError, OverflowError, ValueError) as e:
            if "complex" not in str(e):
                print(a, b, type(e).__name__, e)
### comparison
vals = [0, 0.0, False, "", None, [], (), {}, 1, True, 1.0, "1", [1], (1,), {1: 1}, float("nan"), "a"]
for i, a in enumerate(vals):
    row = []
    for b in vals:
        row.append("=" if a == b else "!")
        try:
            row.append("<" if a < b else ">")
        except TypeError as e:
            row.append("T")
    print(i, "".join(row))
nan = float("nan")
print(nan == nan, nan != nan, max(nan, 1), max(1, nan), min(nan, 1))
print(1 < 2 < 3, 1 < 3 < 2, 1 == 1.0 == True, 3 > 2 > 1 > 0, 1 < 2 > 0, not 1 == 2, 1 in [1] == True, (1 in [1]) == True, "a" < "b" < "c" != "d", "Z" < "a", "" < "a", "10" < "9", "é" > "z")
for f in (lambda: 1 < "a", lambda: None < 1, lambda: [] < {}, lambda: {} < {}, lambda: 1 in 5, lambda: 1 in "abc", lambda: "a" in ["a"], lambda: None in (None,), lambda: [1] in [[1]], lambda: "" in "abc", lambda: 1j < 2 if False else 0):
    try:
        print(f())
    except TypeError as e:
        print(e)
### bool and bit arithmetic
for a in (True, False, 3, -4):
    for b in (True, False, 2, 5):
        print(a + b, a - b, a * b, a & b, a | b, a ^ b, a << b, a >> b, a and b, a or b, a == b, a < b, type(a & b).__name__, type(a + b).__name__)
for f in (lambda: 1 & 1.0, lambda: 1 << 1.0, lambda: ~1.5, lambda: -"a", lambda: +[], lambda: not "a", lambda: -True, lambda: ~False, lambda: +True, lambda: 5 and None, lambda: None or 0, lambda: True + "a", lambda: [1] + "a", lambda: "a" + 1, lambda: 1 + "a", lambda: 1 + None, lambda: None + None, lambda: "a" * "b", lambda: "a" * 2.0, lambda: "ab" * -1, lambda: {} + {}, lambda: 5 - "3", lambda: "5" / 2, lambda: "a" // 2, lambda: 2 ** "a", lambda: [] - [], lambda: (lambda: 1) + 1, lambda: len + 1, lambda: print - 1, lambda: int + 1, lambda: range(3) + range(2), lambda: "a" % 1 if False else 0, lambda: 5 @ 3, lambda: [1] @ [1]):
    try:
        print(f())
    except TypeError as e:
        print(e)
### string methods
s = "Hello, World"
for f in (lambda: s.find("o"), lambda: s.find("o", 5), lambda: s.find("z"), lambda: s.index("z"), lambda: s.rfind("o"), lambda: s.count("l"), lambda: s.count(""), lambda: s.replace("l", "L", 2), lambda: s.replace("", "-"), lambda: s.split(), lambda: s.split(","), lambda: s.split("l"), lambda: s.split("l", 1), lambda: s.rsplit("l", 1), lambda: "a  b ".split(), lambda: "a  b ".split(" "), lambda: "".split(), lambda: "".split(","), lambda: s.split(""), lambda: "a,b,,c".split(",", 2), lambda: s.partition(", "), lambda: s.rpartition("o"), lambda: s.partition("z"), lambda: s.startswith("He"), lambda: s.startswith(("x", "He")), lambda: s.endswith("ld", 0, 5), lambda: s.startswith("lo", 3), lambda: s.upper(), lambda: s.swapcase(), lambda: s.title(), lambda: "hELLO wORLD".capitalize(), lambda: s.center(20, "*"), lambda: s.ljust(15) + "|", lambda: s.rjust(15, "."), lambda: "42".zfill(5), lambda: "-42".zfill(5), lambda: "+4".zfill(1), lambda: "  a ".strip(), lambda: "xxaxx".strip("x"), lambda: "abcba".lstrip("ab"), lambda: "abcba".rstrip("ab"), lambda: ",".join("abc"), lambda: ",".join([1]), lambda: ",".join([]), lambda: "abc".isalpha(), lambda: "".isalpha(), lambda: "12".isdigit(), lambda: "a1".isalnum(), lambda: " ".isspace(), lambda: "Ab".isupper(), lambda: "ABC1".isupper(), lambda: "a b".istitle(), lambda: "a\nb\r\nc\n".splitlines(), lambda: "a\nb".splitlines(True), lambda: "a\tb".expandtabs(4), lambda: "abc".removeprefix("a"), lambda: "abc".removesuffix("bc"), lambda: "a".encode(), lambda: s[::-1], lambda: "abc" "def", lambda: "a" in "abc", lambda: "abc".foo(), lambda: "abc".find(1), lambda: "a-b".split("-", maxsplit=1), lambda: "x".join(("a", "b")), lambda: "%s" % "a", lambda: s.lower().index("w"), lambda: "aaa".count("aa"), lambda: "abc".casefold(), lambda: "a.b.c".rsplit(".", maxsplit=1), lambda: "abc".center(2), lambda: "abc".startswith(5), lambda: "ab".ljust(4, "xy"), lambda: "1,2".split(sep=","), lambda: "tEst".title(), lambda: "it's ok".title(), lambda: "a1b".title(), lambda: "ab".isidentifier(), lambda: "1a".isidentifier(), lambda: "abc".index("c", -1), lambda: "abc".rindex("a")):
    try:
        print(repr(f()))
    except Exception as e:
        print(type(e).__name__, e)
### string escapes
print(repr("a'b"), repr('a"b'), repr("a'b\"c"), repr("\n\t\r\\\x00\x7f\x1b"), repr("é\U0001f600"), "\x41\u0042\103\N{BULLET}", r"\n", b"a\x00\xff", repr(b"it's"), "a\
b", "\a\b\f\v" == "\x07\x08\x0c\x0b", ascii("é☕"), len("☕"), ord("☕"), chr(9749), "\0" == chr(0))
### conversions
for f in (lambda: int(3.9), lambda: int(-3.9), lambda: int(True), lambda: int("0"), lambda: int(), lambda: float(), lambda: float("1e400"), lambda: float(True), lambda: str(), lambda: str(None), lambda: str(1.0), lambda: str([1, "a", None, 1.5]), lambda: bool("False"), lambda: bool(), lambda: list("ab"), lambda: list({1: 2}), lambda: list(5), lambda: dict(), lambda: tuple(), lambda: int([]), lambda: int(None), lambda: float("x"), lambda: float(None), lambda: str(b"a"), lambda: int("5", base=10), lambda: int(5, 10), lambda: ord("ab"), lambda: ord(5), lambda: chr("a"), lambda: hex(-255), lambda: bin(0), lambda: oct(-8), lambda: hex(1.5), lambda: abs(-5), lambda: abs(-0.0), lambda: abs(True), lambda: repr("a"), lambda: isinstance(1, (str, int)), lambda: isinstance(True, int), lambda: issubclass(bool, int), lambda: isinstance(1, "int"), lambda: type(1) is int, lambda: type(1).__name__, lambda: type(None).__name__, lambda: type(len).__name__, lambda: callable(len), lambda: callable(5), lambda: id(None) == id(None), lambda: list(map(int, "123")), lambda: float("1_000.5"), lambda: (5).bit_length(), lambda: (1.5).is_integer(), lambda: (2.0).is_integer(), lambda: (0.5).as_integer_ratio(), lambda: 5 .real):
    try:
        print(repr(f()))
    except Exception as e:
        print(type(e).__name__, e)
### attributes
class A:
    x = 1
    def __init__(self):
        self.y = 2
    def m(self, k=3):
        return self.y + k
    @property
    def p(self):
        return "p"
    @staticmethod
    def s(a):
        return a
    @classmethod
    def c(cls):
        return cls.__name__
    def __len__(self):
        return 3
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return i * 10
    def __contains__(self, v):
        return v == 7
    def __call__(self, *a):
        return a
    def __bool__(self):
        return False
    def __str__(self):
        return "A!"
    def __iter__(self):
        return iter([1, 2])
    def __add__(self, o):
        return ("add", o)
    def __radd__(self, o):
        return ("radd", o)
    def __eq__(self, o):
        return isinstance(o, A)
    def __lt__(self, o):
        return True
    def __neg__(self):
        return "neg"
    def __hash__(self):
        return 5
a = A()
for f in (lambda: a.x, lambda: a.y, lambda: a.z, lambda: a.m(), lambda: a.m(k=1), lambda: a.p, lambda: A.s(4), lambda: a.c(), lambda: len(a), lambda: a[1], lambda: a[5], lambda: 7 in a, lambda: a(1, 2), lambda: bool(a), lambda: str(a), lambda: f"{a}", lambda: list(a), lambda: a + 1, lambda: 1 + a, lambda: a == A(), lambda: a != A(), lambda: a == 1, lambda: a < 5, lambda: -a, lambda: {a: 1}[A()], lambda: getattr(a, "q", "def"), lambda: getattr(a, "q"), lambda: hasattr(a, "m"), lambda: setattr(a, "new", 5) or a.new, lambda: A.m(a, 5), lambda: a - 1, lambda: a > 1, lambda: sorted([a, a]) == [a, a], lambda: isinstance(a, A), lambda: A.__name__, lambda: a.m.__name__, lambda: a[0:2] if False else 1):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
try:
    a.p = 5
except AttributeError as e:
    print("AttributeError", str(e)[:20])
try:
    (5).x = 1
except AttributeError as e:
    print(e)
try:
    None.x
except AttributeError as e:
    print(e)
try:
    len.x
except AttributeError as e:
    print(e)
### dataclasses and enums
from dataclasses import dataclass, field
from collections import namedtuple, defaultdict, OrderedDict, Counter, deque
from enum import Enum
from functools import partial, reduce, lru_cache
import math
@dataclass
class P:
    x: int
    y: int = 2
    z: list = field(default_factory=list)
print(P(1), P(1) == P(1, 2), P(1, y=5), P(1).z)
try:
    P()
except TypeError as e:
    print(e)
@dataclass(frozen=True)
class F:
    a: int
try:
    F(1).a = 2
except Exception as e:
    print(type(e).__name__)
N = namedtuple("N", "a b")
n = N(1, b=2)
print(n, n.a, n[1], n._replace(a=5), n == (1, 2), list(n), N._fields)
dd = defaultdict(list); dd["a"].append(1); print(dict(dd), dd["b"], len(dd))
class E(Enum):
    A = 1
    B = 2
print(E.A, E.A.name, E.A.value, E(2), E["A"], list(E), E.A == E.A, E.A is E.A, repr(E.B))
print(partial(lambda a, b, c=0: (a, b, c), 1, c=5)(2), reduce(lambda a, b: a * b, [1, 2, 3, 4]), reduce(lambda a, b: a + b, [], 7))
print(Counter("banana").most_common(2), math.ceil(1.2), math.floor(-1.2), math.sqrt(16), math.prod([1, 2, 3]), math.gcd(12, 18), math.log2(8), math.inf, math.isnan(math.nan), math.pi, math.e, math.trunc(-1.7), math.isclose(0.1 + 0.2, 0.3), math.hypot(3, 4), math.copysign(1, -0.0), math.fabs(-2), math.exp(1), math.log(8, 2), math.log10(1000), math.factorial(10), math.comb(5, 2), math.lcm(4, 6), math.fsum([0.1] * 10), math.tanh(0.5), math.erf(0.5), math.fmod(-7, 3), math.modf(2.5), math.frexp(8), math.ldexp(1, 3), math.isqrt(17))
for f in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.ceil(float("inf")), lambda: math.exp(1000), lambda: math.factorial(-1), lambda: math.sqrt("a"), lambda: math.gcd(1.5, 2), lambda: math.floor("a"), lambda: math.pow(0, -1), lambda: math.fmod(1, 0), lambda: math.acos(2), lambda: math.nope):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
### global and del
g = 1
def f():
    global g, h
    g += 1
    h = 5
f(); f()
print(g, h)
def k():
    x = 1
    del x
    try:
        return x
    except UnboundLocalError as e:
        return str(e)
print(k())
del h
try:
    h
except NameError as e:
    print(e)
a = [1, 2, 3]; b = a
a += [4]; print(b, a is b)
a = a + [5]; print(b, a)
t = (1,); t2 = t; t += (2,); print(t, t2)
s = "a"; s *= 3; print(s)
n = 7; n //= 2; n **= 3; n %= 5; n <<= 2; n |= 1; n ^= 3; n >>= 1; n &= 6; n -= 1; n /= 2; print(n)
d = {"k": [1]}; d["k"] += [2]; d["k"][0] -= 5; print(d)
t = ([],)
try:
    t[0] += [1]
except TypeError as e:
    print(e, t)
x = y = []
x.append(1); print(y)
i = 0
a = [0, 0, 0]
i, a[i] = 1, 9
print(i, a)
### loops
for i in range(3):
    if i == 5:
        break
else:
    print("else", i)
while True:
    break
else:
    print("no")
for i in []:
    pass
else:
    print("empty else")
n = 5
while n:
    n -= 1
    if n == 2:
        continue
    if n == 0:
        break
else:
    print("never")
print(n)
for i in range(3):
    i += 10
print(i)
l = [1, 2, 3, 4]
for v in l:
    if v == 2:
        l.remove(v)
print(l)
for i, (a, b) in enumerate([(1, 2), (3, 4)]):
    print(i, a, b)
for i in (1, "a", None, [2]):
    print(i, end=" ")
print()
print(1, 2, sep="-", end="!\n")
print(*[1, 2], sep="")
print("a", None, True, 1.0, [], sep="|")
for x[0] in [1] if False else []:
    pass
### conditional and starred expressions
print(*range(3), *"ab", [*range(2), 9], (*[1], 2), {*[1, 1]}, {**{"a": 1}, "b": 2})
print(1 if [] else 2 if 0 else 3, (1, 2)[True], [1, 2, 3][-1:], "x" if "" else "y", (lambda x: x if x else -1)(0))
def f(*args, **kw):
    return len(args), sorted(kw)
print(f(*[], **{}), f(*(1, 2), 3, *[4], x=1, **{"y": 2}))
def ret():
    return 1, *[2, 3]
print(ret())
print([1, 2, 3][1:][0], {"a": {"b": [5]}}["a"]["b"][0], (lambda: [lambda: 7])()[0]())
x = 5
print(x if x > 3 and x < 10 or x == 0 else None, not x == 5, not (x, ), -x ** 2, (-x) ** 2, 2 ** -1 ** 2, ~x & 3, 1 | 2 ^ 3 & 2, 10 - 2 - 3, 2 ** 3 ** 0, 7 // 2 * 2, -7 // 2, 5 % -3 * 2, 1 < 2 == True)
### recursion and printing
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(15))
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
print(depth(900))
def bad(n):
    return bad(n + 1)
try:
    bad(0)
except RecursionError as e:
    print("RecursionError", str(e)[:31])
a = [1]; a.append(a); print(a)
d = {}; d["d"] = d; print(d)
print([[], (), {}, set(), "", None, True, 1.0, -0.0, 1e100, (1,), [(1, [2])]])
print({"a": [1, {"b": (2,)}], 1: None, (1, 2): "t", None: 0, True: 1})
### bytes
b = b"abc\x00\xff"
for f in (lambda: len(b), lambda: b == b"abc\x00\xff", lambda: b"abc".decode(), lambda: bytes(), lambda: bytes(b"a")):
    print(repr(f()))
'''


def edges():
    out = []
    for block in EDGES.split("\n### ")[1:]:
        name, _, source = block.partition("\n")
        out.append((name, source))
    return out
