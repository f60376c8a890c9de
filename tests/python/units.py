#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Parts of the Python package that need no daemon: colours beside the exact formula, messages,
layouts and numbers that a hostile daemon may send, policies, names of sources.
"""
import fcntl, os, pathlib, socket, subprocess, sys, types

from pythontest import ROOT, check, equal, finish, raises
import numpy as np
import pelton
from pelton import _arguments, _colour, _connection, _frame, _proto

random = np.random.default_rng(7)


def exact(y, cb, cr, depth, matrix, full):
    """8-bit RGB in float64, rounded: E.2.1 of H.264."""
    kr, kb = {1: (0.2126, 0.0722), 6: (0.299, 0.114), 9: (0.2627, 0.0593)}[matrix]
    unit, most = 1 << (depth - 8), (1 << depth) - 1
    luma = y / most if full else (y - 16.0 * unit) / (219 * unit)
    span = most if full else 224 * unit
    pb, pr = (cb - 128.0 * unit) / span, (cr - 128.0 * unit) / span
    r, b = luma + 2 * (1 - kr) * pr, luma + 2 * (1 - kb) * pb
    g = (luma - kr * r - kb * b) / (1 - kr - kb)
    return np.clip(np.rint(np.stack([r, g, b], -1) * 255), 0, 255).astype(int)


def fake(pix_fmt, planes, matrix=6, full=False, depth=8):
    colour = pelton.Colour(2, 2, matrix, 2 if full else 1, 0, 1)
    return types.SimpleNamespace(pix_fmt=pix_fmt, planes=planes, colour=colour, depth=depth)


def colours():
    for depth in (8, 10):
        most = (1 << depth) - 1
        kind = np.uint8 if depth == 8 else np.uint16
        for matrix in (1, 6, 9):
            for full in (False, True):
                y = random.integers(0, most + 1, (37, 51)).astype(kind)
                cb, cr = (random.integers(0, most + 1, (19, 26)).astype(kind) for _ in range(2))
                frame = fake("yuv420p", (y, cb, cr), matrix, full, depth)
                got = _colour.convert(frame, np.dtype(np.uint8), (0, 1, 2))
                up = lambda c: c.repeat(2, 0).repeat(2, 1)[:37, :51]
                want = exact(y, up(cb), up(cr), depth, matrix, full)
                worst = np.abs(got.astype(int) - want).max()
                check(worst <= 1, f"{depth} bits, matrix {matrix}, full {full}: within {worst}")
                bgr = _colour.convert(frame, np.dtype(np.uint8), (2, 1, 0))
                check(np.array_equal(bgr[..., ::-1], got), "BGR is RGB in reverse")
    y = np.full((2, 4), 235, np.uint8)
    middle = np.full((1, 2), 128, np.uint8)
    white = _colour.convert(fake("yuv420p", (y, middle, middle)), np.dtype(np.uint16), (0, 1, 2))
    equal(set(white.ravel()), {65535}, "white of 16 bits")
    nv12 = fake("nv12", (y, np.dstack([middle, middle])))
    equal(set(_colour.convert(nv12, np.dtype(np.uint8), (0, 1, 2)).ravel()), {255}, "nv12")
    gbr = fake("gbrp", (y, y + 1, y + 2), 0)
    equal(_colour.convert(gbr, np.dtype(np.uint8), (0, 1, 2))[0, 0].tolist(), [237, 235, 236],
          "planes of G, B, R")
    raises(ValueError, lambda: _colour.convert(nv12, np.dtype(float), (0, 1, 2)), "uint8 and")


def sealed(size, seals=0x1 | 0x2 | 0x4 | 0x10):
    fd = os.memfd_create("pool", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, 1033, seals)
    return fd


def layout(**more):
    plane = dict(offset=0, stride=64, width=48, height=32)
    plane.update(more.pop("plane", {}))
    good = dict(epoch=1, slots=4, pix_fmt="gray", width=48, height=32, slot_size=2048,
                memfd_size=8192, planes=[plane])
    good.update(more)
    return _proto.FormatChanged(**good)


def pools():
    """What libpelton refuses is refused here."""
    fd = sealed(8192)
    _frame.Pool(layout(), [fd])
    wrong = [dict(slots=0), dict(slots=5), dict(slots=65537), dict(width=65537), dict(planes=[]),
             dict(slot_size=0), dict(slot_size=1 << 41), dict(memfd_size=16384), dict(height=0),
             dict(memfd_size=1 << 63),
             dict(planes=[dict(offset=0, stride=8, width=8, height=1)] * 5)]
    wrong += [dict(plane=p) for p in (dict(offset=2048), dict(stride=32), dict(height=33),
                                      dict(width=0), dict(height=0), dict(offset=1 << 63),
                                      dict(stride=1 << 30))]
    for more in wrong:
        raises(pelton.ProtocolError, lambda: _frame.Pool(layout(**more), [fd]), "seals are wrong")
    loose = sealed(8192, 0x2)
    raises(pelton.ProtocolError, lambda: _frame.Pool(layout(), [loose]), "seals are wrong")
    raises(pelton.ProtocolError, lambda: _frame.Pool(layout(), []), "seals are wrong")
    for name, depth in (("yuv420p", 8), ("yuv422p10le", 10), ("gray14le", 14), ("gray", 8),
                        ("p010le", 10), ("rgb48le", 16), ("nv12", 8), ("yuv444p", 8)):
        equal(_frame.depth_of(name), depth, name)


def daemon_says(data, fds=()):
    """A connection whose daemon sends these bytes and goes."""
    ours, theirs = socket.socketpair()
    if fds:
        socket.send_fds(theirs, [data], list(fds))
    elif data:
        theirs.sendall(data)
    theirs.shutdown(socket.SHUT_WR)
    return _connection.Connection(ours), theirs


def words():
    """Bytes of a daemon that breaks the protocol end the connection and leak nothing."""
    head = _connection.HEADER.pack
    before = len(os.listdir("/proc/self/fd"))
    fd = os.open("/dev/null", os.O_RDONLY)
    cases = [(b"", (), "closed the connection"), (head(65537, 2, 0, 0, 0, 0), (), "broke"),
             (head(0, 2, 1, 0, 0, 0), (), "broke"), (head(0, 2, 9, 0, 0, 0), (fd,), "broke"),
             (head(2, 2, 0, 0, 0, 0) + b"\xff\xff", (), "cannot be parsed"),
             (head(4, 6, 0, 0, 0, 0) + b"\n\x02no", (), "goodbye: no"),
             (head(0, 999, 1, 0, 0, 0), (fd,), "closed the connection")]
    for data, fds, text in cases:
        conn, theirs = daemon_says(data, fds)
        raises(pelton.Error, lambda: conn.hello("test", 5), text)
        conn.close()
        theirs.close()
    os.close(fd)
    equal(len(os.listdir("/proc/self/fd")), before, "descriptors")


def names():
    place = _arguments.place_of
    equal(place("door").uri, "source:door", "a bare name is a source")
    equal(place("source:a.b").uri, "source:a.b", "a source by its address")
    equal(place("rtsp://x/y").uri, "rtsp://x/y", "an address")
    equal(place("clip.mp4").path, "clip.mp4", "a file")
    equal(place(pathlib.Path("door")).path, "door", "a Path is a file")
    equal(_arguments.policy_of("fifo:7", place("door")), (2, 7), "fifo:7")
    equal(_arguments.policy_of(None, place("door")), (1, 0), "the newest of a source")
    equal(_arguments.policy_of(None, place("a.mp4")), (0, 0), "all of a file")
    version = subprocess.run(["grep", "-oP", r"project\(pelton VERSION \K[\d.]+",
                              ROOT / "CMakeLists.txt"], capture_output=True, text=True)
    equal(pelton.__version__, version.stdout.strip(), "the version is that of the programs")


MISTAKES = [
    (dict(at=[1.5]), "frame 1.5 is wanted (frames have whole numbers)"),
    (dict(at=["3"]), "frame '3' is wanted"),
    (dict(at=[3, -1]), "frame -1 is wanted (the first frame has number 0)"),
    (dict(at=[]), "at names no frame (None is for all frames)"),
    (dict(at=5), "at is 5 (at is a list)"),
    (dict(at=range(10**12)), "more than 65536 frames are wanted at once"),
    (dict(at=range(4097, 0, -1)), "4097 frames in 4097 runs are wanted at once (4096 runs"),
    (dict(start="1:30"), "start is '1:30' (start is a number, 0 or more)"),
    (dict(start=-1), "start is -1 (start"),
    (dict(duration=float("nan")), "duration is nan"),
    (dict(duration=float("inf")), "duration is inf"),
    (dict(frames=2.5), "frames is 2.5 (frames is a whole number)"),
    (dict(frames=-1), "frames is -1"),
    (dict(slots=1 << 40), "slots is 1099511627776 (slots is 0 to 2147483647)"),
    (dict(fps="25"), "fps is '25'"),
    (dict(side_data=None), "side_data is None"),
    (dict(batch=2.0), "batch is 2.0"),
    (dict(pix_fmt=3), "pix_fmt is 3 (pix_fmt is a string)"),
    (dict(format=b"rgb"), "format is b'rgb'"),
    (dict(policy=1), "policy 1 is none (lossless, latest, or fifo:N)"),
    (dict(size=100), "size is 100 (size=(width, height))"),
    (dict(size=(64.5, 48)), "a number of size is 64.5"),
    (dict(crop=(0, 0, 8)), "crop is (0, 0, 8) (crop=(x, y, width, height))"),
    (dict(crop=(0, -1, 8, 8)), "a number of crop is -1"),
    (dict(dtype="float32", mean="grey"), "mean is 'grey' (mean is a number)"),
]


def mistakes():
    """Each argument is named, before a daemon is asked."""
    for options, text in MISTAKES:
        raises(pelton.UsageError, lambda: pelton.open("no-such-file.mp4", **options), text)
    for options, text in ((dict(start=1.5), "start is 1.5"), (dict(frames=0), "frames is 0"),
                          (dict(stride="2"), "stride is '2'"), (dict(ahead=0), "ahead is 0")):
        raises(pelton.UsageError, lambda: pelton.Clips("a.mp4", **options), text)
    equal(pelton.Clips("a.mp4", start=np.int64(7)).starts, [7], "numpy's number")
    equal(_arguments.ranges_of(np.arange(3, 30, 9)), [3, 3, 9], "numpy's numbers")
    equal(_arguments.times_of([-0.5, np.float32(0.25)]), [-500000, 250000], "times")


def pure():
    """protobuf's own Python code serves as well."""
    if os.environ.get("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"):
        return
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True,
                         env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"})
    check(run.returncode == 0, f"without protobuf's C: {run.stdout.splitlines()[-1:]} {run.stderr}")


colours()
pools()
words()
names()
mistakes()
pure()
finish()
