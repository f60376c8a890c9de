#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The memory of a stream that has ended serves the next one of the same reader, and of no other."""
import os, subprocess, sys, tempfile

from pythontest import arguments, check, clip, equal, finish, md5, t
import pelton
from pelton import _frame

FRAMES = 6
OTHER = """
import os, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import pools
print(pools.read(sys.argv[3])[1])
"""


class Seen:
    """Numbers of the files behind the pools that this process was told of."""
    last = None

    @classmethod
    def watch(cls):
        check_memory = _frame.Pool.check_memory

        def look(m, fds):
            cls.last = os.fstat(fds[0]).st_ino
            return check_memory(m, fds)

        _frame.Pool.check_memory = staticmethod(look)


Seen.watch()


def read(path, first=0, keep=None, **options):
    """The hashes of some frames, and which memory they came in. keep: gets the last frame's luma,
    which holds its slot."""
    hashes = []
    with pelton.open(path, at=range(first, first + FRAMES), **options) as s:
        for frame in s:
            hashes.append(md5(frame))
            if keep is not None and len(hashes) == FRAMES:
                keep.append(frame.y)
            frame.close()
    return hashes, Seen.last


def of_other(path):
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([sys.executable, "-c", OTHER, here, f"{here}/../../python", path],
                         stdout=subprocess.PIPE, check=True, timeout=t.LIMIT_S)
    return int(run.stdout)


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = clip(folder, "a.mp4", "-g", "2", "-bf", "0", frames=24)
        other_size = clip(folder, "b.mp4", frames=12, size="128x96")
        # a busy machine is idle for long between two streams
        with t.Daemon(args, "-c", "debug.idle_ms=600000") as daemon:
            os.environ["PELTON_SOCKET"] = daemon.socket
            with pelton.open(path) as s:
                whole = [md5(f) for f in s]
            first = read(path, 0)[1]
            for n in (3, 8, 16):
                hashes, memory = read(path, n)
                equal(hashes, whole[n:n + FRAMES], f"frames from {n} on are right")
                equal(memory, first, "they come in the same memory")
            check(of_other(path) != first, "another reader has other memory")
            kept = []
            memory = read(path, 5, kept)[1]
            equal(memory, first, "so do frames of which one is kept")
            before = kept[0].copy()
            hashes, memory = read(path, 9)
            check(memory != first, "memory with a frame that is held serves no other stream")
            equal(hashes, whole[9:9 + FRAMES], "and the next frames are right")
            check((kept[0] == before).all(), "the frame is as it was")
            check(read(other_size)[1] != memory, "frames of another size have other memory")
            equal(read(path, 1)[1], memory, "which comes back for frames of the former size")
            check(read(path, 1, pix_fmt="nv12")[1] != memory, "another format has other memory")
            with pelton.open(path) as s:  # it is closed while frames are on their way
                s.read().close()
            hashes, _ = read(path, 2)
            equal(hashes, whole[2:2 + FRAMES], "frames are right after a stream that was left")
    finish()


if __name__ == "__main__":
    main()
