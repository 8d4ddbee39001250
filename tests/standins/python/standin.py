# SPDX-License-Identifier: MIT
"""What the stand-ins share: the call log, NEFF files, and a few checks."""
import gzip
import hashlib
import io
import json
import os
import struct
import sys
import tarfile
import time

HEADER = struct.Struct("<QQQQQ128sI32s16s256sI64sQI468s")  # neuron-runtime/explore/work-with-neff-files, neff_header_t


def log_call(program, names):
    path = os.environ.get("STANDIN_LOG")
    if path:
        with open(path, "a") as f:
            seen = {name: os.environ[name] for name in names if name in os.environ}
            f.write(json.dumps({"program": program, "argv": sys.argv[1:], "env": seen}) + "\n")


def choice(name):
    return [word for word in os.environ.get(name, "").split(",") if word]


def neff_bytes(name, uuid_text, members, lnc):
    """A NEFF: 1024 bytes of header, then a gzipped tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    data = gzip.compress(buffer.getvalue(), mtime=0)
    uuid = hashlib.md5(uuid_text.encode()).digest()
    header = HEADER.pack(2, 1024, len(data), 2, 0, b"2.22.0+stand-in", 1, hashlib.md5(data).digest(), uuid, name.encode()[:255], 1,
                         b"\1", 0x100, lnc, b"")
    assert len(header) == 1024
    return header + data


def read_neff(path):
    with open(path, "rb") as f:
        raw = f.read()
    if len(raw) < 1024:
        raise ValueError("failed to read NEFF header")
    fields = HEADER.unpack(raw[:1024])
    if fields[1] != 1024 or fields[2] != len(raw) - 1024:
        raise ValueError("invalid NEFF header")
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(raw[1024:]))) as tar:
        members = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    return {"uuid": fields[8].hex(), "name": fields[9].split(b"\0")[0].decode(), "lnc": fields[13], "members": members}


MAGIC = b"stand-in trace\n"


def trace_bytes(neff, dge, padding=4096):
    """A trace: an opaque file here, that holds the UUID of its NEFF. The real layout is not public."""
    return MAGIC + HEADER.unpack(neff[:1024])[8].hex().encode() + (b"dge\n" if dge else b"---\n") + b"\0" * padding


def visible_cores():
    """NEURON_RT_VISIBLE_CORES: "a single NeuronCore index or an inclusive range value" (guides/configuration-guide)."""
    text = os.environ.get("NEURON_RT_VISIBLE_CORES", "0")
    if "-" in text:
        a, b = text.split("-")
        return list(range(int(a), int(b) + 1))
    return [int(part) for part in text.split(",")]


def stamp():
    return time.strftime("%Y-%b-%d %H:%M:%S") + ".000000 %d:%d" % (os.getpid(), os.getpid())


def refuse_busy_core():
    """nrt-troubleshoot, Neuron Core is in use: the message of a runtime that starts on a core another one holds."""
    busy = [int(part) for part in choice("STANDIN_BUSY")]
    cores = visible_cores()
    if any(core in busy for core in cores):
        sys.stderr.write("%s ERROR   NRT:nrt_allocate_neuron_cores               NeuronCore(s) not available - Requested:nc%d-nc%d Available:0\n"
                         % (stamp(), cores[0], cores[-1]))
        return True
    return False


def machine():
    """The family of the stand-in's instance type, or None without a device."""
    instance = os.environ.get("STANDIN_INSTANCE", "trn2.48xlarge")
    return instance.split(".")[0].rstrip("nu") if instance else None
