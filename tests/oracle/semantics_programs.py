# SPDX-License-Identifier: MIT
# Generated Python programs: deterministic from a seed, ending by themselves, printing as they go. Expressions are mostly
# well typed, with a mistake now and then; statements that may fail stand in a try.
import random


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.depth = 0
        self.scopes = [{"int": [], "float": [], "str": [], "list": [], "dict": [], "tuple": [], "set": [], "fn": []}]
        self.count = 0
        self.loop = 0
        self.in_function = 0

    # helpers
    def pick(self, *choices):
        return self.rng.choice(choices)

    def chance(self, p):
        return self.rng.random() < p

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def names(self, kind):
        return [n for scope in self.scopes for n in scope[kind]]

    def declare(self, kind, name):
        self.scopes[-1][kind].append(name)

    def variable(self, kind):
        names = self.names(kind)
        return self.rng.choice(names) if names else None

    # expressions
    def expr(self, kind, d=3):
        if self.chance(0.004):
            kind = self.pick("int", "str", "list", "float")
        if d > 0 and self.chance(0.08):
            return f"({self.expr(kind, d - 1)} if {self.cond(d - 1)} else {self.expr(kind, d - 1)})"
        if d > 0 and self.chance(0.04):
            return f"({self.expr(kind, d - 1)} {self.pick('and', 'or')} {self.expr(kind, d - 1)})"
        name = self.variable(kind)
        if name and self.chance(0.35 if d > 0 else 0.7):
            return name
        return getattr(self, "expr_" + kind)(d)

    def expr_int(self, d):
        e = self.expr
        if d <= 0:
            return str(self.pick(0, 1, 2, 3, -1, -2, 7, 10, 100, -17, 255, "True", "False"))
        k = self.rng.randrange(17)
        if k < 4:
            return f"({e('int', d - 1)} {self.pick('+', '-')} {e('int', d - 1)})"
        if k == 4:
            return f"({e('int', d - 1)} * {e('int', d - 1)} % 1009)"
        if k == 5:
            return f"({e('int', d - 1)} {self.pick('//', '%')} {self.pick(e('int', d - 1) if self.chance(0.2) else 5, 3, -4, 7)})"
        if k == 6:
            return f"({e('int', d - 1)} {self.pick('&', '|', '^')} {e('int', d - 1)})"
        if k == 7:
            return f"len({e(self.pick('list', 'str', 'dict', 'tuple', 'set'), d - 1)})"
        if k == 8:
            return f"{self.pick('min', 'max')}({e('int', d - 1)}, {e('int', d - 1)})"
        if k == 9:
            return f"abs({e('int', d - 1)})"
        if k == 10:
            if self.chance(0.1):
                return f"{e('list', d - 1)}[{e('int', 0)}]"
            return f"({e('list', d - 1)} + [5, 6])[{self.pick(0, -1, 1, -2)}]"
        if k == 11:
            return f"sum({e('list', d - 1)})"
        if k == 12:
            return f"{e('dict', d - 1)}.get({e('str', 0)}, {e('int', 0)})"
        if k == 13:
            return f"int({self.pick(e('float', d - 1), repr(str(self.rng.randrange(99))))})"
        if k == 14:
            return f"{self.pick('-', '~', '+')}{e('int', d - 1)}"
        if k == 15:
            fn = self.variable("fn")
            if fn and not self.in_function:
                return f"{fn}({e('int', d - 1)}, {self.pick('', 'b=')}{e('int', d - 1)})"
            return f"{e('list', d - 1)}.count({e('int', 0)})"
        return f"{e('str', d - 1)}.find({e('str', 0)})"

    def expr_float(self, d):
        e = self.expr
        if d <= 0:
            return self.pick("0.0", "1.5", "-2.25", "0.1", "3.0", "1e3", "-0.5")
        k = self.rng.randrange(7)
        if k < 3:
            return f"({e('float', d - 1)} {self.pick('+', '-', '*')} {e(self.pick('float', 'int'), d - 1)})"
        if k == 3:
            return f"({e('int', d - 1)} / {self.pick(e('int', d - 1) if self.chance(0.2) else 7, 4, 3, -8)})"
        if k == 4:
            return f"({e('float', d - 1)} {self.pick('//', '%')} {self.pick(e('float', d - 1), 2.5, -3)})"
        if k == 5:
            return f"round({e('float', d - 1)}, {self.rng.randrange(4)})"
        return f"float({e('int', d - 1)})"

    def expr_str(self, d):
        e = self.expr
        if d <= 0:
            return repr(self.pick("", "a", "ab", "xyz", "Hello", "a b c", "1", "-", "é", "it's", 'q"'))
        k = self.rng.randrange(13)
        if k == 0:
            return f"({e('str', d - 1)} + {e('str', d - 1)})"
        if k == 1:
            return f"({e('str', d - 1)} * {self.pick(0, 1, 2, 3)})"
        if k == 2:
            return f"{e('str', d - 1)}.{self.pick('upper', 'lower', 'title', 'strip', 'capitalize', 'swapcase')}()"
        if k == 3:
            return f"{e('str', d - 1)}.replace({e('str', 0)}, {e('str', 0)})"
        if k == 4:
            return f"{e('str', d - 1)}[{self.slice(d - 1)}]"
        if k == 5:
            return f"str({e(self.pick('int', 'float', 'list', 'dict', 'tuple'), d - 1)})"
        if k == 6:
            return f"repr({e(self.pick('str', 'float', 'list', 'tuple'), d - 1)})"
        if k == 7:
            spec = self.pick("", ":5", ":<6", ":>6", ":^7", ":05", ":+", ":,", ":x", "!r")
            return 'f"<{' + self.name_or_group("int", d) + spec + '}>"'
        if k == 8:
            spec = self.pick(":.2f", ":8.3f", ":e", ":g", ":+.1f", ":<9.2f", ":.0f", "", ":,.2f", ":%")
            return 'f"{' + self.name_or_group("float", d) + spec + '}"'
        if k == 9:
            return f"{e('str', 0)}.join([str(v) for v in {e('list', d - 1)}])"
        if k == 10:
            form, kind = self.pick(("%d", "int"), ("%5d|", "int"), ("%.2f", "float"), ("%s", "list"), ("%r", "str"), ("%g", "float"), ("%x", "int"))
            return f"('{form}' % ({e(kind, d - 1)},))"
        if k == 11:
            return f"'{self.pick('{}-{}', '{1}{0}', '{:>4}{:<4}', '{0!r:>8}')}'.format({e('int', d - 1)}, {e('str', 0)})"
        return f"{e('str', d - 1)}.center({self.rng.randrange(12)}, '*')"

    def name_or_group(self, kind, d):
        name = self.variable(kind)
        if name and self.chance(0.6):
            return name
        text = self.expr(kind, 1)
        return "(" + text + ")" if '"' not in text and "'" not in text and "\\" not in text else "7"

    def slice(self, d):
        parts = [self.pick("", str(self.rng.randrange(-4, 6))) for _ in range(2)]
        step = self.pick("", "", ":2", ":-1", ":1")
        return parts[0] + ":" + parts[1] + step

    def expr_list(self, d):
        e = self.expr
        if d <= 0:
            return "[" + ", ".join(str(self.rng.randrange(-5, 20)) for _ in range(self.rng.randrange(4))) + "]"
        k = self.rng.randrange(10)
        if k == 0:
            return "[" + ", ".join(e("int", d - 1) for _ in range(self.rng.randrange(4))) + "]"
        if k == 1:
            return f"({e('list', d - 1)} + {e('list', d - 1)})"
        if k == 2:
            return f"{e('list', d - 1)}[{self.slice(d)}]"
        if k == 3:
            v = self.fresh("v")
            cond = self.pick("", f" if {v} % 2", f" if {v} > 3", f" if {v}")
            return f"[{v} {self.pick('+', '-', '*')} {self.rng.randrange(1, 5)} for {v} in {self.iterable(d - 1)}{cond}]"
        if k == 4:
            return f"sorted({e('list', d - 1)}{self.pick('', ', reverse=True', ', key=lambda z: -z', ', key=abs')})"
        if k == 5:
            return f"list({self.iterable(d - 1)})"
        if k == 6:
            return f"list(map(lambda z: z + {self.rng.randrange(5)}, {e('list', d - 1)}))"
        if k == 7:
            return f"[*{e('list', d - 1)}, {e('int', d - 1)}]"
        if k == 8:
            return f"list({e('dict', d - 1)}.values())"
        return f"[x + y for x, y in zip({e('list', d - 1)}, {e('list', d - 1)})]"

    def iterable(self, d):
        return self.pick(f"range({self.rng.randrange(7)})", f"range({self.rng.randrange(-3, 3)}, {self.rng.randrange(9)}, {self.pick(1, 2, 3)})",
                         f"range(5, -1, {self.pick(-1, -2)})", f"{self.expr('list', d)}[:7]", f"sorted({self.expr('set', d)})")

    def expr_tuple(self, d):
        e = self.expr
        if d <= 0:
            return self.pick("()", "(1,)", "(1, 2)", "('a', 3)")
        k = self.rng.randrange(4)
        if k == 0:
            return f"({e('int', d - 1)}, {e(self.pick('str', 'float', 'int'), d - 1)})"
        if k == 1:
            return f"tuple({e('list', d - 1)})"
        if k == 2:
            return f"({e('tuple', d - 1)} + {e('tuple', d - 1)})"
        return f"divmod({e('int', d - 1)}, {self.pick(3, -4, 7)})"

    def expr_dict(self, d):
        e = self.expr
        if d <= 0:
            return self.pick("{}", "{'a': 1}", "{'a': 2, 'b': 3}", "{'': 0, 'xyz': -1}")
        k = self.rng.randrange(4)
        if k == 0:
            return "{" + ", ".join(f"{e('str', d - 1)}: {e('int', d - 1)}" for _ in range(self.rng.randrange(4))) + "}"
        if k == 1:
            v = self.fresh("v")
            return f"{{str({v}): {v} * 2 for {v} in {self.iterable(d - 1)}}}"
        if k == 2:
            return f"{{**{e('dict', d - 1)}, {e('str', 0)}: {e('int', 0)}}}"
        return f"dict(zip({e('str', d - 1)}, {e('list', d - 1)}))"

    def expr_set(self, d):
        e = self.expr
        if d <= 0:
            return self.pick("set()", "{1, 2}", "{0, 3, 5}")
        k = self.rng.randrange(3)
        if k == 0:
            return f"set({e('list', d - 1)})"
        if k == 1:
            return f"({e('set', d - 1)} {self.pick('|', '&', '-', '^')} {e('set', d - 1)})"
        return f"{{v % 5 for v in {e('list', d - 1)}}}"

    def expr_fn(self, d):
        return "abs"

    def cond(self, d=2):
        e = self.expr
        k = self.rng.randrange(9)
        if k < 3 or d <= 0:
            return f"{e('int', d - 1)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {e(self.pick('int', 'int', 'float'), d - 1)}"
        if k == 3:
            return f"{e('int', d - 1)} < {e('int', d - 1)} <= {e('int', d - 1)}"
        if k == 4:
            return f"{e('int', d - 1)} {self.pick('in', 'not in')} {e(self.pick('list', 'set', 'tuple'), d - 1)}"
        if k == 5:
            return f"(not {self.cond(d - 1)})"
        if k == 6:
            return f"({self.cond(d - 1)} {self.pick('and', 'or')} {self.cond(d - 1)})"
        if k == 7:
            kind = self.pick("str", "list", "tuple")
            return f"{e(kind, d - 1)} {self.pick('<', '==', '!=', '>=')} {e(kind, d - 1)}"
        return e(self.pick("int", "list", "str", "dict"), d - 1)

    # statements
    def block(self, size, fn=None):
        self.depth += 1
        self.scopes.append({k: [] for k in self.scopes[0]})
        before = len(self.lines)
        if fn:
            fn()
        for _ in range(size):
            self.statement()
        if len(self.lines) == before:
            self.emit("pass")
        self.scopes.pop()
        self.depth -= 1

    def statement(self):
        kinds = ["assign"] * 6 + ["print"] * 4 + ["aug"] * 3 + ["if"] * 2 + ["mutate"] * 3 + ["unpack", "item"]
        if self.depth < 3:
            kinds += ["for"] * 3 + ["while", "try", "try"]
            if not self.in_function:
                kinds += ["function"] * 2 + ["class", "closure", "generator"]
        if self.loop:
            kinds += ["break"]
        getattr(self, "do_" + self.rng.choice(kinds))()

    def new_name(self, kind):
        if self.chance(0.4):
            names = self.scopes[-1][kind] if self.in_function else self.names(kind)
            if names:
                return self.rng.choice(names)
        name = self.fresh(kind[0])
        return name

    def do_assign(self):
        kind = self.pick("int", "int", "float", "str", "list", "dict", "tuple", "set")
        name = self.new_name(kind)
        text = self.expr(kind)
        # Values stay small whatever loops do with them.
        bound = {"int": "({}) % 100003", "str": "({})[:40]", "list": "({})[:12]", "tuple": "({})[:8]"}.get(kind, "{}")
        self.emit(f"{name} = {bound.format(text)}")
        if name not in self.names(kind):
            self.declare(kind, name)

    def do_print(self):
        kind = self.pick("int", "float", "str", "list", "dict", "tuple", "int")
        if self.chance(0.2):
            self.emit(f"print({self.cond()})")
        else:
            self.emit(f"print({self.expr(kind)}, {self.expr(self.pick('int', 'str'), 1)})")

    def do_aug(self):
        kind = self.pick("int", "float", "str", "list")
        names = self.scopes[-1][kind] if self.in_function else self.names(kind)
        if not names:
            return self.do_assign()
        name = self.rng.choice(names)
        if kind == "int":
            op = self.pick("+=", "-=", "|=", "^=", "%=", "//=")
            value = str(self.rng.randrange(1, 9)) if op in ("%=", "//=") else self.expr("int", 2)
            self.emit(f"{name} {op} {value}")
            self.emit(f"{name} %= 100003")
        elif kind == "float":
            self.emit(f"{name} {self.pick('+=', '-=', '/=')} {self.rng.randrange(1, 7)}")
            self.emit(f"{name} %= 4096.0")
        elif kind == "str":
            self.emit(f"{name} = ({name} + {self.expr('str', 1)})[:40]")
        else:
            self.emit(f"if len({name}) < 20: {name} += {self.expr('list', 1)}[:5]")

    def do_if(self):
        self.emit(f"if {self.cond()}:")
        self.block(self.rng.randrange(1, 3))
        if self.chance(0.3):
            self.emit(f"elif {self.cond()}:")
            self.block(1)
        if self.chance(0.5):
            self.emit("else:")
            self.block(self.rng.randrange(1, 3))

    def do_for(self):
        name = self.fresh("i")
        form = self.rng.randrange(4)
        if form == 0:
            self.emit(f"for {name} in {self.iterable(2)}:")
        elif form == 1:
            other = self.fresh("i")
            self.emit(f"for {name}, {other} in enumerate({self.expr('list', 2)}[:5]):")
            self.body([name, other])
            return
        elif form == 2:
            other = self.fresh("i")
            key = self.fresh("s")
            self.emit(f"for {key}, {other} in list({self.expr('dict', 2)}.items())[:5]:")
            self.body([other])
            return
        else:
            self.emit(f"for {name} in {self.expr('list', 2)}[:6]:")
        self.body([name])

    def body(self, names):
        self.loop += 1
        self.block(self.rng.randrange(1, 3), lambda: [self.declare("int", n) for n in names])
        self.loop -= 1
        if self.chance(0.25):
            self.emit("else:")
            self.block(1)

    def do_while(self):
        name = self.fresh("w")
        self.emit(f"{name} = {self.rng.randrange(1, 6)}")
        self.emit(f"while {name} > 0:")
        self.loop += 1
        self.block(self.rng.randrange(1, 3), lambda: self.emit(f"{name} -= 1"))
        self.loop -= 1

    def do_break(self):
        self.emit(f"if {self.cond(1)}:")
        self.depth += 1
        self.emit(self.pick("break", "continue"))
        self.depth -= 1

    def do_mutate(self):
        name = self.variable("list")
        if name and self.chance(0.7):
            method = self.pick(f"append({self.expr('int', 1)})", f"insert({self.rng.randrange(-2, 4)}, {self.expr('int', 1)})", "reverse()", "sort()",
                               f"extend({self.expr('list', 1)}[:4])")
            self.emit(f"if len({name}) < 30: {name}.{method}")
            return
        name = self.variable("dict")
        if name:
            self.emit(f"if len({name}) < 12: " + self.pick(f"{name}[{self.expr('str', 1)}] = {self.expr('int', 1)}", f"{name}.update({self.expr('dict', 1)})",
                                f"{name}.setdefault({self.expr('str', 0)}, {self.expr('int', 0)})", f"{name}.pop({self.expr('str', 0)}, None)"))
            return
        self.do_assign()

    def do_unpack(self):
        a, b = self.fresh("i"), self.fresh("i")
        if self.chance(0.5):
            self.emit(f"{a}, {b} = {self.expr('int')}, {self.expr('int')}")
        else:
            rest = self.fresh("l")
            self.emit(f"{a}, *{rest}, {b} = [{self.expr('int', 1)}, {self.expr('int', 1)}] + {self.expr('list', 1)} + [4]")
            self.emit(f"print({rest})")
        self.declare("int", a)
        self.declare("int", b)

    def do_item(self):
        name = self.variable("list")
        if not name:
            return self.do_assign()
        self.emit("try:")
        self.depth += 1
        self.emit(self.pick(f"{name}[{self.rng.randrange(-3, 5)}] = {self.expr('int', 2)}", f"{name}[{self.rng.randrange(-3, 4)}:{self.rng.randrange(0, 5)}{self.pick('', '', ':2')}] = {self.expr('list', 1)}[:2]",
                            f"del {name}[{self.pick(self.slice(1), '0', '-1')}]", f"{name}[0] += {self.expr('int', 1)}"))
        self.depth -= 1
        self.emit("except Exception as e:")
        self.emit("    print(type(e).__name__, e)")

    def do_try(self):
        self.emit("try:")
        self.block(self.rng.randrange(1, 4))
        if self.chance(0.7):
            self.emit(f"except ({self.pick('ValueError', 'ZeroDivisionError', 'IndexError')}, {self.pick('TypeError', 'KeyError')}) as e:")
            self.emit("    print('E1', type(e).__name__, e)")
        self.emit("except Exception as e:")
        self.emit("    print('E2', type(e).__name__, e)")
        if self.chance(0.3):
            self.emit("else:")
            self.emit("    print('else')")
        if self.chance(0.4):
            self.emit("finally:")
            self.emit("    print('finally')")

    def do_function(self):
        name = self.fresh("f")
        self.emit(f"def {name}(a, b={self.rng.randrange(9)}{self.pick('', ', *rest', ', *, k=2', ', **kw')}):")
        self.in_function += 1
        saved, self.loop = self.loop, 0
        self.block(self.rng.randrange(1, 4), lambda: [self.declare("int", n) for n in ("a", "b")])
        self.depth += 1
        self.scopes.append({k: [] for k in self.scopes[0]})
        self.declare("int", "a")
        self.declare("int", "b")
        if self.chance(0.3):
            self.emit(f"if {self.cond(1)}: return {self.expr('int', 1)}")
        self.emit(f"return ({self.expr('int')}) % 1013")
        self.scopes.pop()
        self.depth -= 1
        self.loop = saved
        self.in_function -= 1
        self.emit("try:")
        self.emit(f"    print({name}({self.rng.randrange(9)}), {name}({self.rng.randrange(9)}, {self.rng.randrange(9)}), {name}(b=1, a=2))")
        self.emit("except Exception as e:")
        self.emit("    print(type(e).__name__, e)")
        if self.depth == 0:
            self.declare("fn", name)

    def do_closure(self):
        name, inner, cell = self.fresh("g"), self.fresh("h"), self.fresh("c")
        self.emit(f"def {name}({cell}):")
        self.emit(f"    def {inner}(d=1):")
        if self.chance(0.6):
            self.emit(f"        nonlocal {cell}")
            self.emit(f"        {cell} += d")
        self.emit(f"        return {cell} * {self.rng.randrange(1, 5)} + d")
        self.emit(f"    return {inner}")
        call = self.fresh("k")
        self.emit(f"{call} = {name}({self.rng.randrange(9)})")
        self.emit(f"print({call}(), {call}(5), [fn(i) for i, fn in enumerate([{call}, {name}(2)])])")

    def do_generator(self):
        name = self.fresh("gen")
        self.emit(f"def {name}(n):")
        self.emit(f"    for i in range(n):")
        self.emit(f"        if i % {self.rng.randrange(2, 4)} == 1: continue")
        self.emit(f"        yield i * {self.rng.randrange(1, 4)}")
        self.emit(f"    yield -1")
        self.emit(f"print(list({name}({self.rng.randrange(6)})), sum({name}(4)), [v for v in {name}(3) if v], max({name}(2)))")

    def do_class(self):
        name = self.fresh("C")
        self.emit(f"class {name}:")
        self.emit(f"    shared = {self.rng.randrange(9)}")
        self.emit("    def __init__(self, x, y=3):")
        self.emit("        self.x, self.y = x, y")
        self.emit("    def get(self, k=2):")
        self.emit(f"        return self.x * k + self.y - self.shared")
        if self.chance(0.6):
            self.emit("    def __repr__(self):")
            self.emit(f"        return f'{name}({{self.x}}, {{self.y}})'")
        else:
            self.emit("    __repr__ = lambda self: 'obj'")
        if self.chance(0.5):
            self.emit("    def __eq__(self, other):")
            self.emit("        return self.x == other.x")
        if self.chance(0.5):
            self.emit("    def __add__(self, other):")
            self.emit(f"        return {name}(self.x + other.x, self.y)")
        else:
            self.emit("    def __lt__(self, other): return self.x < other.x")
        sub = self.fresh("C")
        self.emit(f"class {sub}({name}):")
        self.emit("    def get(self, k=1):")
        self.emit("        return super().get(k) + 1000")
        a, b = self.fresh("o"), self.fresh("o")
        self.emit(f"{a}, {b} = {name}({self.rng.randrange(9)}), {sub}({self.rng.randrange(9)}, y={self.rng.randrange(9)})")
        self.emit(f"print({a}, {b}, {a}.get(), {b}.get(), {b}.get(k=3), isinstance({b}, {name}), {a} == {b}, {a} != {a})")
        self.emit("try:")
        self.emit(f"    {a}.x += 5; print({a} {self.pick('+', '<')} {b}, {a}.{self.pick('x', 'shared', 'nothing')})")
        self.emit("except Exception as e:")
        self.emit("    print(type(e).__name__)")


def programs(seed, count):
    out = []
    for i in range(count):
        p = Program(seed * 100003 + i)
        for _ in range(p.rng.randrange(8, 26)):
            p.statement()
        out.append((f"random {seed}/{i}", "\n".join(p.lines) + "\n"))
    return out
