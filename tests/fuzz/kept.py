# SPDX-License-Identifier: BSD-2-Clause
"""Files of kept inputs, kept/NAME.inputs: one input after the other, each behind its length (32
bits, little-endian)."""
import pathlib, struct

HERE = pathlib.Path(__file__).resolve().parent


def path(name):
    return HERE / "kept" / (name + ".inputs")


def read(file):
    """A list of inputs; empty where there is no such file."""
    data, found, at = file.read_bytes() if file.exists() else b"", [], 0
    while at < len(data):
        n, = struct.unpack_from("<I", data, at)
        found.append(data[at + 4:at + 4 + n])
        if len(found[-1]) != n:
            raise ValueError("%s is cut off" % file)
        at += 4 + n
    return found


def write(file, inputs):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(struct.pack("<I", len(i)) + i for i in inputs))


def unpack(file, folder):
    for i, data in enumerate(read(file)):
        (folder / ("%s%04d" % (file.stem, i))).write_bytes(data)
