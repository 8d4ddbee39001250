# SPDX-License-Identifier: MIT
"""A very small pandas: what nkiln's harness for scripts asks of it, so that the harness is tested where pandas is not
installed. Names and meanings as in pandas' own reference (DataFrame, Series, read_sql_query, to_json orient="split")."""
import json


class Index:
    def __init__(self, names):
        self.names = names


class Series:
    def __init__(self, values, name):
        self.values, self.name = list(values), name

    def sum(self):
        return sum(v for v in self.values if v is not None)

    def max(self):
        return max(v for v in self.values if v is not None)

    def to_frame(self):
        return DataFrame([(v,) for v in self.values], [self.name])


class DataFrame:
    def __init__(self, data, columns=None, index_name=None):
        if data and isinstance(data[0], dict):
            columns = list(data[0])
            data = [tuple(row.get(c) for c in columns) for row in data]
        elif data and not isinstance(data[0], (tuple, list)):
            data = [(v,) for v in data]
        self.rows, self.columns, self.index = [tuple(row) for row in data], list(columns or range(len(data[0]) if data else 0)), Index([index_name])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, name):
        at = self.columns.index(name)
        return Series([row[at] for row in self.rows], name)

    def head(self, n):
        return DataFrame(self.rows[:n], self.columns)

    def reset_index(self):
        return DataFrame([(i, *row) for i, row in enumerate(self.rows)], ["index", *self.columns])

    def to_json(self, orient, double_precision=10, date_format=None):
        assert orient == "split"
        return json.dumps({"columns": self.columns, "index": list(range(len(self.rows))), "data": self.rows})


def read_sql_query(sql, con, params=None):
    cursor = con.execute(sql, params or ())
    return DataFrame(cursor.fetchall(), [c[0] for c in cursor.description])
