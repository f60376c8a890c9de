#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A camera serves a number of readers. Each of them gets frames; one more is refused in words, and
comes in when another one has gone.
"""
import tempfile, time

from pythontest import arguments, check, clip, equal, finish, t
import pelton

MOST = 48


def opened(daemon):
    """A reader with its first frame, or the words of its refusal."""
    try:
        reader = pelton.open("cam", socket=daemon.socket, timeout=t.patience(20))
        reader.read().close()
        return reader, ""
    except pelton.Error as e:
        return None, str(e)


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = clip(folder, "clip.mp4")
        source = f"sources.cam.uri=sim://{path}?size=64x48&fps=10"
        with t.Daemon(args, "-c", source) as daemon:
            readers = [opened(daemon) for _ in range(MOST)]
            equal([why for _, why in readers if why], [], f"{MOST} readers have a frame each")
            _, why = opened(daemon)
            check(f"{MOST} readers already" in why, f"one more is refused: {why}")
            numbers = [r.read().sequence for r, _ in readers if r]
            equal(len(numbers), MOST, f"the others go on, {min(numbers)} to {max(numbers)}")
            readers.pop()[0].close()
            end, again = time.monotonic() + t.patience(20), None
            while not again and time.monotonic() < end:
                again, why = opened(daemon)
            check(again, f"one comes in when another one has gone {why}")
            for r, _ in [*readers, (again, "")]:
                r.close()
    finish()


main()
