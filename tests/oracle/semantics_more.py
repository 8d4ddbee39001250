# SPDX-License-Identifier: MIT
# More small programs for semantics.py: combinations of statements, scopes and protocols.

MORE = r'''
### shadowed builtins
len = 3
print(len)
def f(list, sum=5, range=7, enumerate=2):
    max = list + sum
    return max, range, enumerate
print(f(1))
def g():
    range = lambda n: ["x"] * n
    return [i for i in range(2)], [j for j in range(1)]
print(g())
def h():
    for range in [1, 2]:
        pass
    return range
print(h())
class K:
    id = 5
    def type(self): return self.id
print(K().type(), id is not None)
print(sum([1, 2]))
def sum(v):
    return "mine"
print(sum([1, 2]))
del sum
print(sum([1, 2]))
### class bodies
class A:
    N = 3
    SQ = [i * i for i in range(3)]
    if N > 2:
        BIG = True
    else:
        BIG = False
    for k in range(2):
        N += k
    def f(self, n=N): return n
    g = lambda self: self.N
    class Inner:
        V = 1
        def m(self): return A.N + self.V
    try:
        bad = undefined_name
    except NameError:
        bad = None
    x, y = 1, 2
    alias = f
    def __len__(self): return 4
print(A.N, A.SQ, A.BIG, A().f(), A().g(), A.Inner().m(), A.bad, A.x + A.y, A().alias(9), A.k, len(A()))
def make(n):
    class L:
        v = n
        def get(self): return n + self.v
    return L
print(make(3)().get(), make(4).v)
N = "module"
class B:
    N = N + "!"
    def show(self): return N
print(B.N, B().show())
### class decorators, getattr, slots
def register(cls):
    cls.tag = cls.__name__.lower()
    return cls
@register
class Thing:
    __slots__ = ("a",)
    def __init__(self): self.a = 1
    def __getattr__(self, name):
        if name.startswith("dyn_"):
            return name[4:]
        raise AttributeError(f"no {name}")
t = Thing()
print(Thing.tag, t.tag, t.a, t.dyn_x, hasattr(t, "zz"), getattr(t, "q", "d"))
try:
    t.zz
except AttributeError as e:
    print(e)
class S:
    def __setattr__(self, n, v):
        super().__setattr__(n, v) if False else self.__dict__ if False else None
        object.__setattr__(self, n, v * 2) if False else None
class Guard:
    def __init__(self): self.ok = 1
    @property
    def ro(self): return 7
try:
    Guard().ro = 3
except AttributeError as e:
    print(type(e).__name__)
### protocols
class V:
    def __init__(self, *c): self.c = list(c)
    def __getitem__(self, i): return self.c[i]
    def __setitem__(self, i, v): self.c[i] = v
    def __delitem__(self, i): del self.c[i]
    def __iter__(self): return iter(self.c)
    def __contains__(self, x): return x in self.c
    def __len__(self): return len(self.c)
    def __bool__(self): return any(self.c)
    def __neg__(self): return V(*[-x for x in self.c])
    def __mul__(self, k): return V(*[x * k for x in self.c])
    __rmul__ = __mul__
    def __sub__(self, o): return V(*[a - b for a, b in zip(self, o)])
    def __matmul__(self, o): return sum(a * b for a, b in zip(self, o))
    def __iadd__(self, o):
        self.c.extend(o)
        return self
    def __eq__(self, o): return isinstance(o, V) and self.c == o.c
    def __ne__(self, o): return not self == o
    def __le__(self, o): return self.c <= o.c
    def __str__(self): return "V" + str(self.c)
    def __repr__(self): return f"V({', '.join(map(repr, self.c))})"
    def __format__(self, spec): return f"<{spec}>"
    def __call__(self, *a, **k): return (a, k)
    def __abs__(self): return 99
    def __int__(self): return 5
    def __float__(self): return 2.5
    def __index__(self): return 1
    def __hash__(self): return 3
    def __enter__(self): return self
    def __exit__(self, *a): return True
    def __reversed__(self): return iter(self.c[::-1])
v = V(1, 2, 3)
v[0] = 10
del v[1]
w = v
w += [4]
print(v, repr(v), v is w, v[-1], v[0:2], 4 in v, len(v), bool(V(0)), -v, v * 2, 2 * v, v - V(1, 1, 1), v @ v, v == V(10, 3, 4), v != v, v <= v)
print(f"{v:abc}", format(v, "z"), v(1, k=2), abs(v), int(v), float(v), [7, 8, 9][v], {v: 1}[V(10, 3, 4)], list(reversed(v)), max(v), sorted(v), *v)
with v as q:
    raise ValueError("swallowed")
a, *b = v
print(a, b, q is v, [x for x in v], dict(zip("ab", v)), tuple(v), sum(v), "after")
for bad in (lambda: v + 1, lambda: 1 - v, lambda: v < v, lambda: v / 2, lambda: ~v):
    try:
        bad()
    except TypeError as e:
        print(e)
### multiple inheritance and super
class Root:
    def __init__(self, **kw): self.log = ["Root"]
    def go(self): return ["root"]
class Left(Root):
    def __init__(self, a=1, **kw):
        super().__init__(**kw)
        self.a = a
        self.log.append("Left")
    def go(self): return ["left"] + super().go()
class Right(Root):
    def __init__(self, b=2, **kw):
        super().__init__(**kw)
        self.b = b
        self.log.append("Right")
    def go(self): return ["right"] + super().go()
class Both(Left, Right):
    def __init__(self, **kw):
        super().__init__(**kw)
    def go(self): return ["both"] + super().go()
    @classmethod
    def build(cls): return cls(a=5)
    @staticmethod
    def two(): return 2
b = Both(a=3, b=4)
print(b.log, b.a, b.b, b.go(), Both.build().a, Both.two(), b.two(), isinstance(b, Root), issubclass(Both, Right))
class Sub(Both):
    @property
    def prop(self): return super().go()
    @classmethod
    def build(cls): return super().build()
print(Sub().prop, type(Sub.build()).__name__)
### generators
def tracked(n):
    try:
        for i in range(n):
            x = yield i
            if x is None:
                pass
    finally:
        print("closed")
print(list(tracked(2)))
def nested():
    yield from (x * 2 for x in range(3))
    for a in [1, 2]:
        for b in (yield a) or "xy":
            yield b
print(list(nested()))
def early():
    yield 1
    return 5
    yield 2
print([x for x in early()], next(early()), tuple(early()))
def squares():
    n = 0
    while True:
        yield n * n
        n += 1
from itertools import islice, takewhile
print(list(islice(squares(), 4)), list(takewhile(lambda v: v < 20, squares())))
def countdown(n):
    while n:
        yield n
        n -= 1
print([(a, b) for a, b in zip(countdown(3), squares())], dict(enumerate(countdown(2))), sorted(countdown(3)))
g = countdown(2)
for v in g:
    print(v)
print(list(g), next(g, "none"))
def walk(tree):
    if tree:
        l, v, r = tree
        yield from walk(l)
        yield v
        yield from walk(r)
print(list(walk(((None, 1, None), 2, (None, 3, None)))))
print(sum(i for i in range(4) if i), [*(c for c in "ab")], {*(1, 2)}, max((len(s), s) for s in ["a", "bbb"]), any(i == 2 for i in range(5)), all(i < 2 for i in range(5)))
### try in loops
def f(items):
    out = []
    for x in items:
        try:
            if x == 0:
                continue
            if x == 9:
                break
            out.append(10 // (x - 3))
        except ZeroDivisionError:
            out.append("z")
            continue
        else:
            out.append("e")
        finally:
            out.append("f")
        out.append("end")
    else:
        out.append("noexit")
    return out
print(f([1, 0, 3, 9, 5]), f([2]))
def g():
    while True:
        try:
            try:
                return "inner"
            finally:
                print("f1")
        finally:
            print("f2")
print(g())
def h():
    for i in range(3):
        try:
            raise KeyError(i)
        except KeyError as e:
            if e.args[0] == 1:
                return ("got", e.args)
    return None
print(h())
def k():
    try:
        raise ValueError("a")
    except ValueError:
        try:
            raise TypeError("b")
        except TypeError as e:
            return str(e)
    finally:
        print("k")
print(k())
def m():
    r = []
    for i in range(2):
        while True:
            try:
                break
            finally:
                r.append(i)
    return r
print(m())
def lost():
    try:
        1 / 0
    finally:
        return "swallowed"
print(lost())
class E1(Exception): pass
class E2(E1):
    def __str__(self): return "custom"
for exc in (E1("x"), E2("y"), E1(), ValueError(1, 2), KeyError("k")):
    try:
        raise exc
    except E2 as e:
        print("E2", e, repr(e))
    except (E1, ValueError) as e:
        print("E1/V", e, e.args)
    except Exception as e:
        print("other", e)
try:
    try:
        raise E1("first")
    except E1 as e:
        raise E2("second") from e
except E2 as e:
    print(e, e.__cause__)
def cleanup():
    try:
        yield 1
        yield 2
    finally:
        print("gen done")
for x in cleanup():
    print(x)
try:
    [x for x in [1, 0] if 1 / x]
except ZeroDivisionError as e:
    print("comp", e)
try:
    raise NotImplementedError
except NotImplementedError as e:
    print(repr(e))
### scopes
x = "global"
def outer():
    x = "outer"
    def mid():
        def inner():
            nonlocal x
            x += "+inner"
            return x
        return inner()
    r = mid()
    class C:
        y = x
        def m(self): return x
    return r, x, C.y, C().m()
print(outer(), x)
def uses_global():
    global newg
    newg = [1]
    def add(): newg.append(2)
    add()
uses_global()
print(newg)
def comp():
    x = 1
    fs = [lambda: x + i for i in range(3)]
    x = 10
    return [f() for f in fs], [x for x in range(2)], x
print(comp())
def cond(flag):
    if flag:
        def z(): return "yes"
    else:
        def z(): return "no"
    return z()
print(cond(1), cond(0))
def rec_lambda():
    fact = lambda n: 1 if n < 2 else n * fact(n - 1)
    return fact(6)
print(rec_lambda())
def loops():
    for i in range(2):
        def f(): return i
        yield_f = f
    i = 50
    return yield_f()
print(loops())
def default_late():
    out = []
    for i in range(3):
        out.append(lambda i=i, *, k=i * 2: (i, k))
    return [f() for f in out]
print(default_late())
def deleted():
    a = 1
    def f(): return a
    del a
    try:
        return f()
    except NameError as e:
        return str(e)
print(deleted())
def param_cell(n):
    def up(): 
        nonlocal n
        n += 1
    up()
    up()
    return n
print(param_cell(1))
def partly(c):
    try:
        if c: raise ValueError
        v = 1
    except ValueError:
        pass
    return v
print(partly(0))
try:
    partly(1)
except UnboundLocalError as e:
    print(e)
while True:
    w = 1
    break
print(w)
if True:
    if False:
        never = 1
try:
    never
except NameError as e:
    print(e)
print([[(i, j) for j in range(i)] for i in range(3)], {i: [k for k in range(i)] for i in range(3)}, [i for i in [j for j in range(2)]])
### assignment targets
class O: pass
o = O()
d = {}
l = [0, 0, 0]
o.a = d["k"] = l[1] = y = 5
print(o.a, d, l, y)
(o.a, d["z"]), [l[0], *rest] = (1, 2), (3, 4, 5)
print(o.a, d, l, rest)
for o.i, l[2] in [(1, 2), (3, 4)]:
    pass
print(o.i, l)
[a, b] = "xy"
(c), = [7]
print(a, b, c)
i, l[i] = 1, "at one"
print(l)
d = {"n": {"m": [1, 2]}}
d["n"]["m"][0] += 5
d["n"]["m"][-1] *= 3
o.d = d
o.d["n"]["m"] += [9]
print(d)
z = [1, 2, 3, 4, 5]
z[1:3], z[0] = ["a", "b", "c"], 0
print(z)
del z[1:3], d["n"]["m"][0]
print(z, d)
p = q = []
p.append(1)
print(q)
with_index = [10, 20]
with_index[0], with_index[1] = with_index[1], with_index[0]
print(with_index)
def order():
    log = []
    def t(n):
        log.append(n)
        return {}
    t("obj")[t("key") and "k"] = t("val")
    return log
print(order())
### conditions
def t(x, log=[]):
    log.append(x)
    return x, log
a, b, c = 0, "", [1]
print(a or b or c, a and b and c, c and b, not (a or c), (a or c) and b, a if c else b, (1 if a else 2) if b else (3 if c else 4))
n = 0
def side(v):
    global n
    n += 1
    return v
if side(0) and side(1) or side(2) and not side(0): print("taken", n)
while side(0) or n < 12: pass
print(n)
print([x for x in range(6) if x % 2 if x > 1], [x if x > 2 else -x for x in range(4) if x != 3 or x == 3])
print(1 < 3 in [3, 4], 1 in [1] == True, 3 > 2 is not None, not 1 == 2, not None is None, 1 == 1 in [True])
assert 1 < 2 < 3, "fine"
assert (x := 5) == 5
print(x, (y := [1, 2])[0], y)
r = [last := i for i in range(3)]
print(r, last)
if (m := len("abcd")) > 3 and (k := m * 2) > 7: print(m, k)
print(all((v := x) < 4 for x in [1, 2, 5, 3]), v)
print(f"{(q := 7)} {q + 1}", [0, 1][True], {True: "t"}[1], "ab"[False])
### numbers
print(1e3, 1E-3, 0.1e1, 1., .5, 1_0.0_1, 0xFf, 0b11, 0o7, 1e22, 1e21, 123456789012345678, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308)
print(10 / 4, 10 // 4, 10 % 4, -10 // 4, -10 % 4, 10 // -4.0, 10 % -4.0, 2 ** 0.5, 2 ** -1, (-8) ** 2, 4 ** 0.5, 0.0 ** 0)
print(3 == 3.0, 3 != 3.5, 1 < 1.5, 2 ** 53 == 2.0 ** 53, 2 ** 53 + 1 == 2.0 ** 53, 9007199254740993 > 9007199254740992.0, 0.1 + 0.2 == 0.3, -0.0 == 0.0)
print(round(0.5), round(1.5), round(-1.5), round(2.5), round(123.456, 1), round(-123.456, -1), round(5, -1), round(15, -1), round(25, -1), round(0.125, 2), round(1.005, 2))
print(int("-0x1f", 16), int("0b101", 0), int("1_000"), int(1e15), int(-1.5), float("-inf"), float("nan") != float("nan"), float(" 2.5 "), float("1_0.5"), int(True), float(False))
print(abs(-0.0), min(1, 1.0), max(1.0, 1), min(0.0, -0.0), sum([0.1] * 10), sum([], 5), divmod(-7.5, 2), divmod(7, -2), pow(2, -1), pow(2.0, 3), pow(7, 2, 10))
print(str(1e16), str(1e15), str(123456.789), str(1.0), repr(0.1 + 0.2), str(1e-4), str(1e-5), str(100000000000000000000.0), str(-1.5e-10), 1.0e-7, 1e7)
print(f"{1e6:g} {1e5:g} {123456.7:g} {0.0001:g} {0.00001:g} {1.0:g} {1e300:g} {1.5:.0f} {2.5:.0f} {0.05:.1f} {1e10:.3e} {12345.678:,.1f} {-5:05d} {5:+d} {-0.0:.1f} {1:.3f}")
print(f"{5:>4}|{5:<4}|{5:^4}|{5:=+4}|{5:*>4}|{'a':>3}|{'a':^4}|{True!s:>6}|{3.0}|{3.0:.3}|{1234.5:.2}|{0.1:.1%}|{10:#o}|{10:#b}|{255:#06x}|{255:X}|{1e3:,}|{10**9:,}|{10**9:_}")
print((5).bit_length(), (2.0).is_integer(), (2.5).is_integer(), 5 .real, (7).__class__ if False else "-", True.bit_length() if False else 1)
print(7 & -2, -8 >> 1, -1 << 3, ~-1, 6 ^ -3, 1 | 0, True & 1, True ^ True, 5 and 0.0, 3 % -0.7)
### containers
d = {}
d[1] = "int"
d["1"] = "str"
d[(1,)] = "tuple"
d[None] = "none"
d[2.5] = "float"
d[frozenset({1})] = "fs"
print(d, d[1.0], d[True], 1 in d, "1" in d, (1,) in d, (1.0,) in d, len(d))
print({k: v for k, v in sorted({"b": 1, "a": 2}.items())}, sorted({"b": 1, "a": 2}.items(), key=lambda kv: kv[1]), list({"a": 1}.keys()), {"a": 1}.keys() == {"a"}, "a" in {"a": 1}.keys(), {"a": 1}.keys() | {"b"} == {"a", "b"})
dd = {"x": {"y": 1}}
c = dict(dd)
c["x"]["y"] = 2
print(dd, c is dd, dict(a=1, **{"b": 2}), {}.get("q"), {"a": None}.get("a", 5), list({1: 2}.items())[0], dict.fromkeys("ab", 0), {**{}})
l = [5, 3, 8]
l2 = sorted(l)
l.sort(reverse=True)
print(l, l2, l.index(3), [1, 2, 3][-2:], [0] * 3, [[]] * 2, list("ab") + [1], [1, [2, [3]]][1][1][0], [1, 2] == [1, 2.0], [3, 1] > [2, 9])
print([*range(3)], [*"ab", *[1]], (*[1], 2), {*[1, 1]}, {**{"a": 1}}, [1, 2, 3][::-1], list(reversed("abc")), list(zip(*[(1, 2), (3, 4)])), [a + b for a, b in zip([1, 2], [3, 4])])
t = (1, [2])
t[1].append(3)
print(t, t + (4,), t * 2, t.index(1), t.count(1), (1, 2) < (1, 2, 3), hash((1, 2)) == hash((1, 2)), (), (1,), tuple("ab"))
try:
    t[0] = 5
except TypeError as e:
    print(e)
try:
    "abc"[0] = "x"
except TypeError as e:
    print(e)
try:
    del t[0]
except TypeError as e:
    print(e)
s = set()
s.update([1, 2], (3,))
print(s, s.pop() in (1, 2, 3), {1, 2} | {3}, {1, 2} - {2}, {1, 2}.issubset({1, 2, 3}), {1}.union([2], [3]), {1, 2}.isdisjoint({3}), {1, 2} == {2, 1}, {1} != {2}, bool(set()), set("aab") == {"a", "b"})
from collections import Counter, deque, OrderedDict, defaultdict, namedtuple
print(Counter("abca")["a"], Counter([1, 1, 2]).most_common(1), OrderedDict([(1, 2)])[1], sorted(Counter("aab").items()))
q = deque([1, 2])
q.append(3)
q.appendleft(0)
print(q.popleft(), q.pop(), list(q), len(q))
dl = defaultdict(int)
for ch in "aab":
    dl[ch] += 1
print(dict(dl), dl["zz"], len(dl))
P = namedtuple("P", ["x", "y"])
p = P(1, y=2)
print(p, p.x, p[1], p._replace(x=5), p == (1, 2), [*p], P._fields)
e = enumerate("ab", start=5)
print(next(e), list(e), list(enumerate([])), list(map(str, [1, 2])), list(filter(lambda v: v > 1, [1, 2, 3])), list(map(lambda a, b: a * b, [1, 2], [3, 4, 5])))
n = [[1, 2], [3, 4]]
print([row[:] for row in n], [x for row in n for x in row], [[r[i] for r in n] for i in range(2)], sum(map(sum, n)), max(n), max(n, key=lambda r: -r[0]), min([3, 1, 2], key=lambda v: (v - 2) ** 2))
### functions are values
def f(x, *, scale=2): return x * scale
def g(fn, *a, **k): return fn(*a, **k)
print(g(f, 3), g(f, 3, scale=5), list(map(f, [1, 2])), sorted([3, 1], key=lambda v: f(v, scale=-1)), g(lambda: "l"), f.__name__, (lambda: 0).__name__)
f.counter = 1
f.counter += 1
print(f.counter, hasattr(f, "nope"), callable(f), {f: "fn"}[f], f == f, f is g)
def compose(*fns):
    def inner(v):
        for fn in reversed(fns):
            v = fn(v)
        return v
    return inner
print(compose(str, abs, int)("-7"), compose()(1))
def kwonly(*, a, b=2): return a, b
def varkw(**kw): return sorted(kw.items())
def mixed(a, /, b, *c, d=4, **e): return a, b, c, d, e
print(kwonly(a=1), varkw(z=1, y=2), mixed(1, 2, 3, d=5, a=9), mixed(*[1, 2], **{"q": 3}), mixed(1, *(2, 3), *[4], d=0, **{}, **{"w": 1}))
for bad in (lambda: kwonly(1), lambda: kwonly(), lambda: mixed(1), lambda: mixed(), lambda: varkw(1), lambda: f(1, 2), lambda: f(y=1), lambda: kwonly(a=1, c=2), lambda: f(), lambda: g(), lambda: f(1, x=2)):
    try:
        bad()
    except TypeError as e:
        print(e)
def doc():
    """The doc."""
print(doc.__doc__, doc())
def annotated(x: "int", y: int = 3) -> int if True else nowhere:
    z: int = 4
    w: list[int]
    return x + y + z
print(annotated(1))
from typing import List, Optional, Dict, Callable, Union
def typed(a: Optional[List[int]] = None, b: Dict[str, int] | None = None) -> Union[int, None]:
    return a
print(typed(), typed([1]))
Alias = Dict[str, List[int]]
### strings again
s = "The quick brown fox"
print(s.split(), s[4:9], s[-3:], s.swapcase(), s.title(), s.index("quick"), s.replace("o", "0", 1), s.startswith("The"), s.endswith(("x", "y")), "q" in s, s.count("o"), s.find("z"), s[::3])
print("a,b;c".replace(";", ",").split(","), "  pad ".lstrip() + "|", "x".zfill(3), "%s and %s" % ("a", 1), "%-5s|%5s" % ("ab", "cd"), "%05.1f" % 3.14159, "%+d" % 5, "%c" % "x", "%c" % 65, "%%", "%5.2f%%" % 12.345)
print("{:.2f} {:>8} {:<4}| {:^5} {!r} {}".format(3.14159, "hi", 7, "m", "q", [1]), "{0}{1}{0}".format("a", "b"), "{a}{b[0]}".format(a=1, b=[2]), "{:{w}.{p}f}".format(2.5, w=8, p=2))
print("\\n \n tab\t|", 'single "double"', "it's", """triple
line""", r"raw\n", "\x41\u00e9\N{BULLET}" if True else "", b"bytes", "con" "cat", "a" + 'b' * 2)
print("abc" < "abd", "B" < "a", "" < "a", "a" * 3, "abc"[1:], "-".join("abc"), "".join([]), "a-b-c".rsplit("-", 1), "aXbX".rstrip("X"), "ab" in "cab", "x=1;y=2".split(";"), "tEST".capitalize())
print("1 2 3".split(" "), "a  b".split(" "), "".split(), "".split(","), ",".split(","), "abc".partition("b"), "abc".rpartition("z"), "line1\nline2\r\nline3".splitlines(), "\ttab".expandtabs(4))
print(repr("a'b"), repr('a"b'), repr("a'b\"c"), repr("\t\n\\"), repr("é"), repr(""), str("x"), ascii("é"), len("日本"), "日本"[0], "日本語"[::-1], "ß".upper(), "É".lower(), "éa".capitalize())
print("abc".isalpha(), "ab1".isalnum(), "12".isdecimal(), " ".isspace(), "Ab".istitle(), "a_b".isidentifier(), "".isdigit(), "ABC".isupper(), "abc".islower(), "-1".isdigit())
print(chr(0x1F600) == "😀", ord("é"), "a".encode().decode(), "x" "y" f"{1}" "z", f"{'a':-^5}", f"{'%'}", f"{{{1}}}", f"{1!r:>3}", f"{[1, 2][0]}", f"{ {'k': 1}['k'] }", f"{(lambda v: v * 2)(3)}")
width, prec, val = 10, 3, 2.718281828
print(f"{val:{width}.{prec}f}|{val:<{width}}|{val!r:.5}|{val=:.2f}|{val = }|{width*2=}|{'nested ' + f'{val:.1f}'}")
### sorting
data = [("b", 2), ("a", 2), ("c", 1)]
print(sorted(data), sorted(data, key=lambda t: t[1]), sorted(data, key=lambda t: (-t[1], t[0])), sorted(data, reverse=True), sorted(data, key=lambda t: t[1], reverse=True))
print(sorted("hello"), sorted([3, 1.5, True]), sorted([[2], [1, 5], [1]]), sorted({"z": 1, "y": 2}), sorted([], key=len), sorted(["bb", "a", "ccc"], key=len, reverse=True))
l = list(range(20))
l.sort(key=lambda v: v % 3)
print(l)
try:
    sorted([1, "a"])
except TypeError as e:
    print(e)
try:
    sorted([1, 2], key=5)
except TypeError as e:
    print(e)
import functools
print(sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)))
### module level
"""docstring"""
import math as m, itertools
from math import *
print(sqrt(4), m.floor(2.5), pi)
if __name__ == "__main__":
    print("main")
else:
    print("imported")
def late():
    return defined_later
defined_later = 5
print(late())
try:
    missing()
except NameError as e:
    print(e)
for name in ("a", "b"):
    value = name * 2
print(name, value)
class Config:
    debug = False
    levels = {"x": 1}
Config.debug = True
Config.levels["y"] = 2
print(Config.debug, Config().levels)
_, *tail = range(3)
print(_, tail, ...  is Ellipsis, NotImplemented is NotImplemented)
pass; ...; 5; "str"
print(type(...).__name__, type(NotImplemented).__name__, type(print).__name__, type(late).__name__, type(Config).__name__, type(Config()).__name__, type(m).__name__, type(range(2)).__name__, type({}.keys()).__name__)
'''


def more():
    out = []
    for block in MORE.split("\n### ")[1:]:
        name, _, source = block.partition("\n")
        out.append((name, source))
    return out
