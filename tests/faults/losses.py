#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The device is lost at a submission: the worker starts again, clients stay, and a lossless reader
of a file gets each frame once and in order.

  losses.py --bin DIR --library FILE [--device D] [--losses N]

Each loss is followed by a new daemon, up to three by the same one. A device that was asked for by
name and is lost more often than restarts allow is refused in words.
Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import argparse, os, pathlib, random, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import peltontest as t
from faults import FILE

FRAMES = 160
FAILURES = []


def check(good, what):
    print(("ok   " if good else "FAIL ") + what)
    if not good:
        FAILURES.append(what)


class LossyDaemon(t.Daemon):
    """Its device is lost at the submission that lose() names."""

    def __init__(self, args, *more):
        self.file = tempfile.NamedTemporaryFile()
        self.lose(0)
        super().__init__(args, *more, env={
            **os.environ, "LD_PRELOAD": args.library, "PELTON_FAULT_FILE": self.file.name,
            "PELTON_FAULT_OF": "lost"})

    def submissions(self):
        return FILE.unpack(open(self.file.name, "rb").read(FILE.size))[0]

    def lose(self, submission):
        with open(self.file.name, "r+b") as f:
            calls = FILE.unpack(f.read(FILE.size))[0] if os.path.getsize(f.name) else 0
            f.seek(0)
            f.write(FILE.pack(calls, submission, b""))

    def losses(self):
        return sum(bool(re.search(r"worker \d+ ended", line)) for line in self.lines())


def reader(args, daemon, path):
    """A lossless reader, and its end: what is wrong, or None."""
    command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
               "-i", path, "-f", "framemd5", "-"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def ended(args, run, truth):
    out, said = run.communicate(timeout=args.timeout)
    if run.returncode:
        return "exit %d: %s" % (run.returncode, said.decode().strip())
    return t.first_difference(out.decode(), truth)


def one_loss(args, path, truth, rng):
    with LossyDaemon(args, "-c", "debug.batch=1") as daemon:
        wrong = ended(args, reader(args, daemon, path), truth)
        check(not wrong, "no loss: %s" % (wrong or "every frame is right"))
        most = daemon.submissions()
        for _ in range(args.losses):
            at = daemon.submissions() + rng.randrange(1, most)
            before = daemon.losses()
            daemon.lose(at)
            both = [reader(args, daemon, path), reader(args, daemon, path)]
            wrong = [w for run in both if (w := ended(args, run, truth))]
            check(not wrong and daemon.losses() == before + 1,
                  "lost at submission %d of two readers: %s" % (
                      at, wrong or "every frame is right, %d lost" % (daemon.losses() - before)))
            daemon.lose(0)


def often(args, path, truth):
    """With no restart left the readers are told, and the daemon goes on."""
    with LossyDaemon(args, "-c", "restarts=0") as daemon:
        daemon.lose(1)
        wrong = ended(args, reader(args, daemon, path), truth) or ""
        check("died more than 0 times" in wrong, "no restart is allowed: %s" % wrong)
        check(t.listens(daemon.socket), "no restart is allowed: the daemon goes on")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("--library", required=True)
    p.add_argument("--losses", type=int, default=3)
    p.add_argument("--seed", default=t.SEED)
    args = p.parse_args()
    if not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    print("seed", args.seed)
    args.set += ["restarts=16", "restart_window_ms=1"]
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/a.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=size=64x64:rate=25", "-frames:v", str(FRAMES), "-c:v", "libx264",
                        "-g", "20", "-bf", "2", "-pix_fmt", "yuv420p", path], check=True)
        truth = t.ffmpeg_framemd5(args, path)
        one_loss(args, path, truth, random.Random(args.seed))
        often(args, path, truth)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
