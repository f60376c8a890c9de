#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many more files open than the daemon decodes at once. A reader that holds all frames of a file
gives its place up for another file, and goes on with the next frame later. So it does where the
device has no memory for the other file.

  resting.py [--files N] [--places N] [--device-memory MIB] [--size WxH] [--clip CLIP]
             [--compare N]
"""
import os, tempfile, time

from pythontest import check, clip, equal, finish, md5, raises, t
import pelton

STILL_S = 0.1  # the daemon's


def open_one(path):
    """A slow machine takes longer to fill the pools of the others."""
    end = time.monotonic() + t.LIMIT_S
    while True:
        try:
            return pelton.open(path)
        except pelton.Error as e:
            if "as many streams" not in e.cause or time.monotonic() > end:
                raise
            time.sleep(STILL_S)


def open_all(path, a):
    """One frame of each is read. Also the most that the worker held of the device."""
    streams, first, most = [], [], 0
    for i in range(a.files):
        streams.append(open_one(path))
        with streams[-1].read() as frame:
            first.append(md5(frame))
        if i % a.places == a.places - 1:
            time.sleep(2 * STILL_S)
            most = max(most, sum(streams[-1].stats().worker_gpu))
    return streams, first, most


def main():
    p = t.parser(__doc__)
    p.add_argument("--files", type=int, default=24)
    p.add_argument("--places", type=int, default=4)
    p.add_argument("--device-memory", type=int, help="MiB that the worker may hold")
    p.add_argument("--size", default="96x64", help="of the small clip")
    p.add_argument("--clip", help="else a small one is made")
    p.add_argument("--compare", type=int, default=24, help="files that are read to their end")
    a = p.parse_args()
    os.environ["PATH"] = a.bin + ":" + os.environ["PATH"]
    more = ["-c", f"streams={a.places}"]
    more += ["-c", f"memory.device={a.device_memory}"] if a.device_memory else []
    with tempfile.TemporaryDirectory() as folder:
        path = a.clip or clip(folder, "a.mp4", "-g", "12", frames=60, size=a.size)
        with t.Daemon(a, *more) as daemon:
            os.environ["PELTON_SOCKET"] = daemon.socket
            with pelton.open(path) as s:
                want = [md5(f) for f in s]
            started = time.monotonic()
            streams, first, held = open_all(path, a)
            seconds = time.monotonic() - started
            check(first == want[:1] * a.files, f"{a.files} files are open with {a.places} places")
            print(f"opened in {seconds:.1f} s; the worker held {held / 1e9:.2f} GB of the device "
                  "at most")
            for n, s in list(enumerate(streams))[::max(1, a.files // a.compare)]:
                got = [md5(f) for f in s]
                equal(got, want[1:], f"file {n}: the rest, each frame once")
                s.close()
            for s in streams:
                s.close()
            beyond = sum("exceeds the budget" in line for line in daemon.lines())
            check(beyond == 0, f"{beyond} streams waited in vain for memory of others")
        with t.Daemon(a, "-c", "streams=2", "-c", "resting=0") as daemon:
            os.environ["PELTON_SOCKET"] = daemon.socket
            still = [pelton.open(path) for _ in range(2)]
            time.sleep(2 * STILL_S)
            e = raises(pelton.LimitReached, lambda: pelton.open(path), "as many streams open")
            equal(e.hint, "close others, or raise streams, now 2", "what helps")
            for s in still:
                s.close()
    finish()


main()
