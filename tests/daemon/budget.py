#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Memory as a budget: many streams in little memory, idleness, two daemons on one device.

  budget.py --bin build/bin

Every decode must give the frames of FFmpeg, whatever the budget is.
"""
import hashlib, json, pathlib, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import peltontest as t
from peltontest import check

STREAMS = 16
MIB = 1 << 20


class Clip:
    def __init__(self, args, folder, size, frames):
        self.path = f"{folder}/{size}.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        f"testsrc2=size={size}:rate=25", "-frames:v", str(frames), "-pix_fmt",
                        "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "2", self.path],
                        check=True)
        raw = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", self.path, "-f",
                              "rawvideo", "-"], check=True, stdout=subprocess.PIPE).stdout
        self.md5 = hashlib.md5(raw).hexdigest()


def begin(args, daemon, clip):
    return subprocess.Popen([args.bin + "/pelton", "decode", "--socket", daemon.socket, "-v",
                             "error", "-i", clip.path, "-f", "md5", "-"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ends_well(args, child, clip):
    out = child.communicate(timeout=args.timeout)[0]
    return child.returncode == 0 and clip.md5 in out or out.strip() or child.returncode


def stats(args, daemon):
    out = subprocess.run([args.bin + "/pelton", "stats", "--socket", daemon.socket, "--json"],
                         check=True, capture_output=True, text=True, timeout=args.timeout).stdout
    return json.loads(out)["memory_bytes"]


def decode_all(args, daemons, clips, what):
    children = [(begin(args, d, c), c) for d in daemons for c in clips]
    results = [ends_well(args, *child) for child in children]
    check(all(r is True for r in results), f"{what}: {[r for r in results if r is not True][:1]}")


def many_streams(args, folder):
    """More streams than a budget holds slots for, and one size more."""
    small, large = Clip(args, folder, "320x176", 15), Clip(args, folder, "640x368", 6)
    with t.Daemon(args, "-c", "memory=1024") as d:
        decode_all(args, [d], [small] * STREAMS, f"{STREAMS} streams with memory=1024")
        t.wait_until(lambda: stats(args, d)["device"]["slots"], 10)
        held = stats(args, d)
        check(0 < held["device"]["total"] < 1024 * MIB, f"within the budget: {held['device']}")
    with t.Daemon(args, "-c", "memory.device=4", "-c", "memory.host=4") as d:
        decode_all(args, [d], [small] * 4 + [large] * 2, "streams that need more than the budget")


def most_while(args, daemon, children):
    """The most that was held of the device while the children ran."""
    most = {"total": 0}
    while any(c.poll() is None for c, _ in children):
        held = stats(args, daemon)["device"]
        most = held if held["total"] > most["total"] else most
        time.sleep(0.02)
    return most


def small_budgets(args, folder):
    """Streams of several sizes share a store, take turns and use narrow batches, but hold no more
    than the budget."""
    clips = [Clip(args, folder, size, 12) for size in ("320x176", "400x224", "512x288")]
    for mib, more in ((24, ()), (32, ("-c", "entropy=gpu", "-c", "debug.idle_ms=500"))):
        with t.Daemon(args, "-c", f"memory.device={mib}", *more) as d:
            children = [(begin(args, d, c), c) for c in clips * 4]
            most = most_while(args, d, children)
            results = [ends_well(args, *child) for child in children]
            check(all(r is True for r in results),
                  f"12 streams in {mib} MiB: {[r for r in results if r is not True][:1]}")
            told = [line.strip() for line in d.lines() if "the budget" in line]
            check(0 < most["total"] <= mib * MIB, f"never more than that: {most}; log: {told}")


def idleness(args, folder):
    """After a while without streams one small store is left."""
    clip = Clip(args, folder, "640x368", 25)
    with t.Daemon(args, "-c", "debug.idle_ms=1", "-c", "entropy=gpu") as d:
        decode_all(args, [d], [clip], "a daemon that gives back at once")
        decode_all(args, [d], [clip], "and its second stream")
    with t.Daemon(args, "-c", "debug.idle_ms=3000", "-c", "entropy=gpu") as d:
        child = begin(args, d, clip)
        most = {}
        while child.poll() is None:
            held = stats(args, d)["device"]
            most = held if held["total"] > most.get("total", 0) else most
            time.sleep(0.05)
        check(ends_well(args, child, clip) is True, "a stream beside questions")
        check(most.get("total", 0) > 0, f"while it decodes: {most}")
        frame = 640 * 368 * 3 // 2
        left = t.wait_until(lambda: (h := stats(args, d))["device"]["slots"] <= 17 * frame and
                            h["device"]["entropy"] < MIB and h["host"]["total"] < MIB and h, 10)
        check(bool(left), f"after a while: {left or stats(args, d)}")
        decode_all(args, [d], [clip] * 2, "the next streams")


def two_daemons(args, folder):
    clip = Clip(args, folder, "320x176", 30)
    with t.Daemon(args) as one, t.Daemon(args, "-c", "memory=64") as two:
        decode_all(args, [one, two], [clip] * 2, "two daemons on one device")


def main():
    args = t.arguments(__doc__)
    for case in (many_streams, small_budgets, idleness, two_daemons):
        if args.only and args.only not in case.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case(args, folder)
    return t.finish()


sys.exit(main())
