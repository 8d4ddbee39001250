# SPDX-License-Identifier: MIT
"""Every table of a SQLite profile as Parquet files, as neuron-explorer lays them out: to_parquet.py P.db FOLDER [SPLIT_TABLE]."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "standins", "python"))
import parquet_plain  # noqa: E402

con = sqlite3.connect(sys.argv[1])
con.row_factory = sqlite3.Row
os.makedirs(sys.argv[2], exist_ok=True)
kinds = {"INTEGER": "i64", "REAL": "f64", "TEXT": "str"}
for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'nkiln%'").fetchall():
    columns = [(row[1], kinds[row[2]]) for row in con.execute("SELECT * FROM pragma_table_info(?)", (name,))]
    rows = [dict(row) for row in con.execute('SELECT * FROM "%s"' % name)]
    if not rows:
        continue
    parts = [rows[:len(rows) // 2], rows[len(rows) // 2:]] if sys.argv[3:] == [name] else [rows]
    for i, part in enumerate(parts):
        parquet_plain.write("%s/%s%s.parquet" % (sys.argv[2], name, "_%d" % i if len(parts) > 1 else ""), columns, part)
