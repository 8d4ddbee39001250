# SPDX-License-Identifier: MIT
"""CPython's view of Python files, for tests/unit/parser_test.lua.

Reads file names (or, with --snippets, one file of snippets) and writes one record per input:

    @ NAME
    ok DUMP                 the file parses
    error LINE TYPE MESSAGE it does not

A dump is canonical text that the Lua side reproduces: one node per "(Kind field field ... @line:col-line:col)".
Inside f-strings CPython 3.11 has no exact positions, so there they are left out unless --fstring-positions is given.
"""
import argparse
import ast
import sys
import warnings

warnings.simplefilter("ignore")
sys.setrecursionlimit(20000)
sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")

SINGLETONS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
SKIPPED = {"type_comment", "kind"}


def quote(data):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else "\\%02x" % b for b in data) + '"'


def text(value):
    return quote(value.encode("utf-8", "surrogatepass"))


def number(value):
    return "%.17g" % value


def constant(value):
    if value is None:
        return "None"
    if value is Ellipsis:
        return "ellipsis"
    if isinstance(value, bool):
        return "bool:%d" % value
    if isinstance(value, int):
        return "int:%d" % value
    if isinstance(value, float):
        return "float:" + number(value)
    if isinstance(value, complex):
        return "complex:" + number(value.imag)
    if isinstance(value, bytes):
        return "bytes:" + quote(value)
    return "str:" + text(value)


class Dumper:
    def __init__(self, fstring_positions):
        self.fstring_positions = fstring_positions

    def dump(self, value, out, located=True):
        if isinstance(value, list):
            out.append("[")
            for item in value:
                self.dump(item, out, located)
            out.append("]")
        elif value is None:
            out.append("~")
        elif isinstance(value, SINGLETONS):
            out.append(type(value).__name__)
        elif isinstance(value, ast.AST):
            self.node(value, out, located)
        elif isinstance(value, int):
            out.append("%d" % value)
        else:
            out.append(text(value))
        out.append(" ")

    def node(self, node, out, located):
        name = type(node).__name__
        out.append("(" + name + " ")
        inner = located and (self.fstring_positions or name != "JoinedStr")
        for field in node._fields:
            value = getattr(node, field, None)
            if field in SKIPPED and not (name == "Constant" and field == "kind" and value):
                continue
            if field == "type_params" and name != "TypeAlias" and not value:
                continue
            if name in ("Constant", "MatchSingleton") and field == "value":
                out.append(constant(value) + " ")
            elif name in ("TypeVar", "ParamSpec", "TypeVarTuple") and value is None:
                continue
            else:
                self.dump(value, out, inner)
        if located and hasattr(node, "lineno"):
            out.append("@%d:%d-%d:%d" % (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
        out.append(")")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fstring-positions", action="store_true")
    parser.add_argument("--compile", action="store_true", help="also compile, for the errors of names and scopes")
    parser.add_argument("--snippets", help="a file of snippets, each followed by a line of one form feed and 'END'")
    parser.add_argument("files", nargs="*", help="with none, names are read from standard input, one a line")
    options = parser.parse_args()
    if options.snippets:
        with open(options.snippets, "rb") as file:
            pieces = file.read().split(b"\n\fEND\n")[:-1]
        inputs = (("%d" % i, piece) for i, piece in enumerate(pieces))
    else:
        names = options.files or [line.rstrip("\n") for line in sys.stdin]
        inputs = ((name, open(name, "rb").read()) for name in names)
    dumper = Dumper(options.fstring_positions)
    write = sys.stdout.write
    for name, source in inputs:
        write("@ %s\n" % name)
        try:
            tree = ast.parse(source, name)
            if options.compile:
                compile(source, name, "exec", dont_inherit=True)
        except SyntaxError as error:
            write("error %d %s %s\n" % (error.lineno or 0, type(error).__name__,
                                        error.msg))
            continue
        except (ValueError, RecursionError, MemoryError, OverflowError, UnicodeError) as error:
            write("error 0 %s %s\n" % (type(error).__name__, str(error).replace("\n", " ")))
            continue
        out = []
        dumper.dump(tree, out)
        write("ok %s\n" % "".join(out))


main()
