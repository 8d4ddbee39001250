#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stands in for DuckDB's command `duckdb -json :memory:` (duckdb.org/docs/stable/clients/cli): SQL on stdin, the rows of each
SELECT as a JSON list of objects, errors on stderr. It is DuckDB itself that answers: NKILN_LIBDUCKDB beside this file's
link names the library."""
import ctypes
import json
import os
import sys

assert sys.argv[1:] == ["-json", ":memory:"], sys.argv
with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "library")) as file:
    lib = ctypes.CDLL(file.read().strip())


class Result(ctypes.Structure):
    _fields_ = [("columns", ctypes.c_uint64), ("rows", ctypes.c_uint64), ("changed", ctypes.c_uint64), ("old", ctypes.c_void_p),
                ("message", ctypes.c_char_p), ("internal", ctypes.c_void_p)]


for name, kind in (("result_error", ctypes.c_char_p), ("column_name", ctypes.c_char_p), ("column_count", ctypes.c_uint64),
                   ("row_count", ctypes.c_uint64), ("value_varchar", ctypes.c_char_p), ("value_is_null", ctypes.c_bool)):
    getattr(lib, "duckdb_" + name).restype = kind
database, connection = ctypes.c_void_p(), ctypes.c_void_p()
assert lib.duckdb_open(None, ctypes.byref(database)) == 0 and lib.duckdb_connect(database, ctypes.byref(connection)) == 0
for statement in sys.stdin.read().split(";\n"):
    if not statement.strip():
        continue
    result = Result()
    if lib.duckdb_query(connection, statement.encode(), ctypes.byref(result)) != 0:
        sys.stdout.flush()
        os.write(2, lib.duckdb_result_error(ctypes.byref(result)))
        os._exit(1)
    at = ctypes.byref(result)
    if not statement.lstrip().upper().startswith("SELECT"):
        continue
    names = [lib.duckdb_column_name(at, ctypes.c_uint64(c)).decode() for c in range(lib.duckdb_column_count(at))]
    rows = []
    for r in range(lib.duckdb_row_count(at)):
        row = {}
        for c, name in enumerate(names):
            where = (ctypes.c_uint64(c), ctypes.c_uint64(r))
            text = None if lib.duckdb_value_is_null(at, *where) else lib.duckdb_value_varchar(at, *where).decode()
            try:
                row[name] = json.loads(text) if text is not None else None
            except ValueError:
                row[name] = text
        rows.append(row)
    print(json.dumps(rows))
sys.stdout.flush()
os._exit(0)
