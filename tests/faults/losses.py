#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The device is lost at a submission: the worker starts again, clients stay, and a lossless reader
of a file gets each frame once and in order.

  losses.py --bin DIR --library FILE [--device D] [--losses N]

Each loss is followed by a new daemon, up to three by the same one. A device that was asked for by
name and is lost more often than restarts allow is refused in words. Exit codes: 0, 1.
"""
import argparse, os, pathlib, random, re, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import peltontest as t
from exact import Reader, check, clip_truth
from faults import FILE

FRAMES = 160


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


def one_loss(args, truth, rng):
    with LossyDaemon(args, "-c", "debug.batch=1") as daemon:
        wrong = Reader(args, daemon, truth).rest()
        check(not wrong, "no loss: %s" % (wrong or "every frame is right"))
        most = daemon.submissions()
        for _ in range(args.losses):
            at = daemon.submissions() + rng.randrange(1, most)
            before = daemon.losses()
            daemon.lose(at)
            both = [Reader(args, daemon, truth), Reader(args, daemon, truth)]
            wrong = [w for reader in both if (w := reader.rest())]
            check(not wrong and daemon.losses() == before + 1,
                  "lost at submission %d of two readers: %s" % (
                      at, wrong or "every frame is right, %d lost" % (daemon.losses() - before)))
            daemon.lose(0)


def often(args, truth):
    """With no restart left the readers are told, and the daemon goes on."""
    with LossyDaemon(args, "-c", "restarts=0") as daemon:
        daemon.lose(1)
        wrong = Reader(args, daemon, truth).rest() or ""
        check("died more than 0 times" in wrong, "no restart is allowed: %s" % wrong)
        check(t.listens(daemon.socket), "no restart is allowed: the daemon goes on")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("--library", required=True)
    p.add_argument("--losses", type=int, default=3)
    p.add_argument("--seed", default=t.SEED)
    args = p.parse_args()
    print("seed", args.seed)
    args.set += ["restarts=16", "restart_window_ms=1"]
    truth = clip_truth(args)[:FRAMES]
    one_loss(args, truth, random.Random(args.seed))
    often(args, truth)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
