# SPDX-License-Identifier: MIT
"""The plainest Parquet that is Parquet: one row group, one uncompressed v1 page per column, PLAIN values, every column
optional. Written from the format's specification (apache/parquet-format: Thrift compact protocol, Data Pages, Encodings)."""
import struct

TYPES = {"bool": 0, "i32": 1, "i64": 2, "f32": 4, "f64": 5, "str": 6}


def varint(n):
    out = bytearray()
    while True:
        if n < 0x80:
            out.append(n)
            return bytes(out)
        out.append(n & 0x7F | 0x80)
        n >>= 7


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


class Struct:
    """A Thrift struct in compact protocol; fields must be added in ascending order of their ids."""

    def __init__(self):
        self.data, self.last = bytearray(), 0

    def head(self, field, kind):
        self.data.append((field - self.last) << 4 | kind)
        self.last = field
        return self

    def i32(self, field, value):
        self.head(field, 5).data += zigzag(value)
        return self

    def i64(self, field, value):
        self.head(field, 6).data += zigzag(value)
        return self

    def text(self, field, value):
        raw = value.encode()
        self.head(field, 8).data += varint(len(raw)) + raw
        return self

    def struct(self, field, value):
        self.head(field, 12).data += value.end()
        return self

    def list(self, field, kind, items):
        self.head(field, 9)
        self.data += bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + varint(len(items))
        for item in items:
            self.data += item
        return self

    def end(self):
        return bytes(self.data) + b"\0"


def plain(kind, values):
    if kind == "bool":
        out = bytearray((len(values) + 7) // 8)
        for i, value in enumerate(values):
            out[i // 8] |= bool(value) << i % 8
        return bytes(out)
    if kind == "str":
        return b"".join(struct.pack("<I", len(v.encode())) + v.encode() for v in values)
    code = {"i32": "<i", "i64": "<q", "f32": "<f", "f64": "<d"}[kind]
    return b"".join(struct.pack(code, v) for v in values)


def write(path, columns, rows):
    """columns: [(name, kind)]; rows: dicts, absent = NULL."""
    body, chunks, elements = bytearray(b"PAR1"), [], [Struct().text(4, "schema").i32(5, len(columns)).end()]
    for name, kind in columns:
        element = Struct().i32(1, TYPES[kind]).i32(3, 1).text(4, name)
        if kind == "str":
            element.i32(6, 0)
        elements.append(element.end())
        cells = [row.get(name) for row in rows]
        bits = bytearray((len(cells) + 7) // 8)
        for i, cell in enumerate(cells):
            bits[i // 8] |= (cell is not None) << i % 8
        levels = varint(len(bits) << 1 | 1) + bytes(bits)
        page = struct.pack("<I", len(levels)) + levels + plain(kind, [cell for cell in cells if cell is not None])
        data = Struct().i32(1, len(cells)).i32(2, 0).i32(3, 3).i32(4, 3)
        header = Struct().i32(1, 0).i32(2, len(page)).i32(3, len(page)).struct(5, data).end()
        offset, size = len(body), len(header) + len(page)
        body += header + page
        meta = Struct().i32(1, TYPES[kind]).list(2, 5, [zigzag(0), zigzag(3)])
        meta.list(3, 8, [varint(len(name.encode())) + name.encode()]).i32(4, 0).i64(5, len(cells)).i64(6, size).i64(7, size).i64(9, offset)
        chunks.append(Struct().i64(2, offset).struct(3, meta).end())
    group = Struct().list(1, 12, chunks).i64(2, len(body) - 4).i64(3, len(rows)).end()
    footer = Struct().i32(1, 1).list(2, 12, elements).i64(3, len(rows)).list(4, 12, [group]).text(6, "stand-in").end()
    body += footer + struct.pack("<I", len(footer)) + b"PAR1"
    with open(path, "wb") as f:
        f.write(body)
