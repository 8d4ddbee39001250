# SPDX-License-Identifier: MIT
"""Writes unicode_data.c from Python's own Unicode tables: python3 unicode_tables.py [NAME.PL] > unicode_data.c

Run by hand when a newer Unicode is wanted (Python 3.13 holds version 15.1). NAME.PL is Perl's unicore/Name.pl: Python knows
the aliases of characters but cannot list them, so candidates come from there and Python confirms each.
"""
import sys
import unicodedata

LAST = 0x110000


def ranges(test):
    found, start = [], None
    for code in range(LAST + 1):
        inside = code < LAST and test(code)
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            found.append((start, code - 1))
            start = None
    return found


def put(name, kind, values, form="%d"):
    print("const %s %s[] = {" % (kind, name))
    line = "   "
    for value in values:
        text = " " + form % value + ","
        if len(line) + len(text) > 118:
            print(line)
            line = "   "
        line += text
    print(line)
    print("};")
    print("const uint32_t %s_count = sizeof %s / sizeof *%s;" % (name, name, name))


def put_ranges(name, test):
    put(name, "struct py_code_range", ranges(test), "{0x%x, 0x%x}")


def decompositions():
    """Full compatibility decompositions of the characters that names may hold."""
    for code in range(0x80, LAST):
        if 0xAC00 <= code <= 0xD7A3 or 0xD800 <= code <= 0xDFFF or not ("a" + chr(code)).isidentifier():
            continue
        full = unicodedata.normalize("NFKD", chr(code))
        if full != chr(code):
            yield code, full


def compositions():
    for code in range(0x80, LAST):
        parts = unicodedata.decomposition(chr(code))
        if not parts or parts[0] == "<" or len(parts.split()) != 2:
            continue
        first, second = (int(part, 16) for part in parts.split())
        if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(code):
            yield first, second, code


def fingerprint(name):
    value = 2166136261
    for byte in name.upper().encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    value ^= value >> 16
    value = (value * 0x85EBCA6B) & 0xFFFFFFFF
    return value ^ value >> 13


def named():
    for code in range(LAST):
        name = unicodedata.name(chr(code), "")
        if name and not name.startswith(("CJK UNIFIED IDEOGRAPH-", "HANGUL SYLLABLE ")):
            yield code, name


def aliases(path):
    seen = set()
    for line in open(path, encoding="utf-8"):
        name = line.rstrip("\n").split("\t")[-1]
        try:
            found = unicodedata.lookup(name)
        except KeyError:
            continue
        if len(found) == 1 and unicodedata.name(found, "") != name and name not in seen:
            seen.add(name)
            if not name.startswith(("CJK UNIFIED IDEOGRAPH-", "HANGUL SYLLABLE ")):
                yield ord(found), name


def main():
    print("// SPDX-License-Identifier: MIT")
    print("// Written by unicode_tables.py from Unicode %s; do not edit.\n// clang-format off" % unicodedata.unidata_version)
    print('#include "python/unicode_data.h"\n')
    put_ranges("py_name_start", lambda code: code >= 128 and chr(code).isidentifier())
    put_ranges("py_name_part", lambda code: code >= 128 and ("a" + chr(code)).isidentifier())
    put_ranges("py_not_printable", lambda code: not chr(code).isprintable())
    pool, rows = [], []
    for code, full in decompositions():
        rows.append((code, len(pool), len(full)))
        pool += [ord(c) for c in full]
    put("py_decompositions", "struct py_decomposition", rows, "{0x%x,%d,%d}")
    put("py_decomposed", "uint32_t", pool, "0x%x")
    put("py_compositions", "struct py_composition", sorted(compositions()), "{0x%x,0x%x,0x%x}")
    classes = [(c, c, unicodedata.combining(chr(c))) for c in range(LAST) if unicodedata.combining(chr(c))]
    merged = []
    for first, last, rank in classes:
        if merged and merged[-1][2] == rank and merged[-1][1] == first - 1:
            merged[-1] = (merged[-1][0], last, rank)
        else:
            merged.append((first, last, rank))
    put("py_combining", "struct py_combining_range", merged, "{0x%x,0x%x,%d}")
    names = list(named())
    runs, prints = [], []
    for code, name in names + (sorted(aliases(sys.argv[1])) if len(sys.argv) > 1 else []):
        if runs and runs[-1][0] + runs[-1][1] == code:
            runs[-1][1] += 1
        else:
            runs.append([code, 1])
        prints.append(fingerprint(name))
    if len(set(prints)) != len(prints):
        sys.exit("two names share a fingerprint: change the hash")
    put("py_named_runs", "struct py_named_run", [tuple(run) for run in runs], "{0x%x,%d}")
    put("py_name_fingerprints", "uint32_t", prints, "0x%08x")


main()
