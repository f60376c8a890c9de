#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Frames of the Python package are those of `pelton decode -f framemd5`, in each pixel format, from
a running daemon and from a private one. Views are read-only and keep their slot. Failures are
exceptions with the daemon's text.
"""
import gc, os, pathlib, pickle, subprocess, sys, tempfile, threading, time

from pythontest import ROOT, arguments, check, clip, equal, finish, framemd5, md5, raises, t
import numpy as np
import pelton

FORMATS = {"yuv420p": (), "yuv422p": (), "yuv444p": (), "gray": (), "yuv420p10le": (),
           "yuv422p10le": ()}


def formats(args, daemon, folder):
    for name in FORMATS:
        path = clip(folder, name + ".mp4", pix_fmt=name, size="98x70")
        want = framemd5(args, daemon, path)
        with pelton.open(path, socket=daemon.socket) as s:
            frames = list(map(lambda f: (md5(f), f.pix_fmt, f.planes[0].shape), s))
        equal([f[0] for f in frames], want, f"{name}: {len(want)} frames as of pelton decode")
        equal({f[1:] for f in frames}, {(name, (70, 98))}, f"{name}: format and shape")
    path = folder + "/yuv420p.mp4"
    for fmt in ("nv12", "gray"):
        with pelton.open(path, socket=daemon.socket, pix_fmt=fmt) as s:
            got = [md5(f) for f in s]
        equal(got, framemd5(args, daemon, path, "-pix_fmt", fmt), f"{fmt} of yuv420p")


def beyond(daemon, path):
    """A start beyond the end is an error that names the length, and no loop without an end."""
    ts = path + ".ts"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", path, "-c", "copy", ts], check=True)
    for file in (path, ts):
        for options in ({}, {"duration": 1}, {"skip": "nonkey"}, {"loop": True}):
            with pelton.open(file, socket=daemon.socket, start=100, **options) as s:
                raises(pelton.InputError, lambda: s.read(timeout=20),
                       f"no frame at or after 100 s, where start= begins (the file lasts "
                       f"{s.duration:.3f} s")
                raises(pelton.InputError, s.read, "no frame at or after 100 s")
    with pelton.open(path, socket=daemon.socket, start=0.161, duration=0.001) as s:
        equal(s.read(), None, "a part between two frames is empty")
    data, broken = pathlib.Path(path).read_bytes(), pathlib.Path(path + ".broken.mp4")
    at = data.index(b"mdat") + 4
    size = int.from_bytes(data[at - 8:at - 4], "big") - 8
    broken.write_bytes(data[:at] + bytes(size) + data[at + size:])
    for options in ({}, {"start": 0.1}, {"start": 0.1, "duration": 0.2}):
        raises(pelton.InputError,
               lambda: list(pelton.open(str(broken), socket=daemon.socket, **options)),
               "no picture in it could be decoded")


def parts(args, daemon, path):
    with pelton.open(path, socket=daemon.socket, start=0.16, duration=0.2) as s:
        got = [md5(f) for f in s]
    equal(got, framemd5(args, daemon, path, "-ss", "0.16", "-t", "0.2"), "start and duration")
    beyond(daemon, path)
    with pelton.open(path, socket=daemon.socket, frames=3) as s:
        equal([f.sequence for f in s], [0, 1, 2], "three frames")
        equal(s.read(), None, "None after the end")
        check(s.ended and s.stats().frames >= 3, "the totals after the end")
    with open(path, "rb") as file, pelton.open(file, socket=daemon.socket, frames=1) as s:
        equal(len(list(s)), 1, "an open file")


def views(daemon, path):
    with pelton.open(path, socket=daemon.socket) as s:
        first = s.read()
        check(first.key and not first.damaged and first.time == 0, repr(first))
        points = [first.steps[n] for n in ("parsed", "entropy_begin", "entropy_end", "motion_begin",
                                           "motion_end", "submit_begin", "submit_end")
                  if n in first.steps]
        points = [first.received_ns, *points, first.decoded_ns]
        equal(points, sorted(points), "steps in the order of time")
        check(first.decoded_ns <= first.steps["sent"] <= time.monotonic_ns(), "then it is sent")
        check(not first.y.flags.writeable and not first.y.flags.owndata, "a read-only view")
        raises(ValueError, lambda: first.y.fill(0), "read-only")
        raises(TypeError, lambda: pickle.dumps(first), "shared memory")
        y, want = first.y[10:20], first.y[10:20].copy()
        first.close()
        raises(ValueError, lambda: first.planes, "closed")
        del first
        gc.collect()
        rest = sum(1 for _ in s)
        check(np.array_equal(y, want), f"a view keeps its slot while {rest} frames pass")
        equal(s.held, 1, "one slot is held by the view")
        del y
        equal(s.held, 0, "and is given back with it")
        check(repr(s).startswith("<Stream"), repr(s))


def arrays(daemon, path):
    """Protocols of other libraries."""
    with pelton.open(path, socket=daemon.socket, frames=1) as s, \
            pelton.open(path, socket=daemon.socket, frames=1, pix_fmt="gray") as g:
        frame, grey = s.read(), g.read()
        check(np.array_equal(np.asarray(frame), frame.to_rgb()), "numpy.asarray is RGB")
        check(np.array_equal(np.from_dlpack(frame), frame.to_rgb()), "and so is DLPack")
        equal(frame.__dlpack_device__(), (1, 0), "in host memory")
        view = np.asarray(grey)
        check(not view.flags.owndata and np.shares_memory(view, grey.y), "a grey frame is a view")
        check(np.array_equal(np.from_dlpack(grey), view), "DLPack gives its samples")
        equal(np.asarray(grey, np.float32).dtype, np.float32, "another type is a copy")
        equal(frame.to_rgb(np.uint16).max() > 255, True, "16 bits")


def exhaustion(daemon, path):
    with pelton.open(path, socket=daemon.socket, slots=4) as s:
        held = [s.read()]
        slots = s.slots
        held += [s.read() for _ in range(slots - 1)]
        hashes = [md5(f) for f in held]
        e = raises(pelton.SlotsExhausted, s.read, f"all {slots} slots")
        check(e is not None and "slots=N" in e.hint, "with a hint")
        equal([md5(f) for f in held], hashes, "and the frames are as before")
        cycle = [held.pop()]
        cycle.append(cycle)
        del cycle
        check(s.read() is not None, "frames in cycles are found")
        threading.Thread(target=held.clear).start()
        equal(sum(1 for _ in s), 12 - slots - 1, "then the rest comes")
    pelton._stream.END_S = t.patience(2)  # the end may come late here
    frames = [f for f in pelton.open(path, socket=daemon.socket, frames=slots, slots=slots)]
    equal(len(frames), slots, "as many frames as slots are no failure")


def failures(daemon, folder, path):
    raises(pelton.InputError, lambda: pelton.open(folder + "/none.mp4"), "No such file")
    raises(OSError, lambda: pelton.open(folder), "is a directory")
    raises(pelton.NoDaemon, lambda: pelton.open(path, socket=folder + "/none"), "no daemon")
    raises(pelton.NoDaemon, lambda: pelton.open("source:door"), "no daemon runs")
    raises(pelton.UsageError, lambda: pelton.open(path, device="gpu"), "cuda, or None")
    for more in ({"policy": "all"}, {"policy": "fifo:99"}, {"start": -1}, {"on_error": "hide"}):
        raises(pelton.UsageError, lambda: pelton.open(path, **more), "")
    text = folder + "/text.mp4"
    open(text, "w").write("no video\n" * 100)
    e = raises(pelton.InputError, lambda: list(pelton.open(text, socket=daemon.socket)), "text.mp4")
    equal(pickle.loads(pickle.dumps(e)).cause, e.cause, "a failure is pickled")
    raises(pelton.UsageError, lambda: list(pelton.open(path, pix_fmt="rgb48le",
                                                       socket=daemon.socket)), "rgb48le")
    s = pelton.open(path, socket=daemon.socket)
    s.close()
    raises(pelton.UsageError, s.read, "closed")
    raises(pelton.Timeout, lambda: pelton.open(os.pipe()[0], socket=daemon.socket, timeout=0.2), "")


def damage(args, daemon, folder):
    path = clip(folder, "whole.264", "-x264-params", "slices=4:keyint=6", frames=10)
    data = bytearray(open(path, "rb").read())
    for i in range(len(data) // 2, len(data) // 2 + 60):
        data[i] ^= 0x55
    broken = folder + "/broken.264"
    open(broken, "wb").write(data)
    with pelton.open(broken, socket=daemon.socket) as s:
        frames = [(f.damaged, md5(f)) for f in s]
    check(any(f[0] for f in frames), f"damage is flagged: {sum(f[0] for f in frames)} frames")
    equal([f[1] for f in frames], framemd5(args, daemon, broken), "and concealed as elsewhere")
    raises(pelton.DecodeError,
           lambda: list(pelton.open(broken, socket=daemon.socket, on_error="fail")), "")


def private(args, daemon, path):
    want = framemd5(args, daemon, path)
    with pelton.open(path) as s:
        equal([md5(f) for f in s], want, "a private daemon")
        child = s._conn.child
    pelton.close()
    check(child.poll() is not None, "which ends with pelton.close()")


def samples(path):
    for name, lines in (("mean_luma.py", 12), ("capture.py", 12)):
        run = subprocess.run([sys.executable, ROOT / "samples" / name, path], capture_output=True,
                             text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        said = run.stdout.splitlines()
        check(len(said) == lines and not run.stderr, f"{name}: {said[-1:]} {run.stderr}")


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        formats(args, daemon, folder)
        path = folder + "/yuv420p.mp4"
        parts(args, daemon, path)
        views(daemon, path)
        arrays(daemon, path)
        exhaustion(daemon, path)
        failures(daemon, folder, path)
        damage(args, daemon, folder)
        private(args, daemon, path)
        os.environ["PELTON_SOCKET"] = daemon.socket
        samples(path)
        equal(daemon.validation_messages(), [], "no validation messages")
    finish()


main()
