#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decode every row of a stream manifest through peltond and compare with the listed MD5.

Where the manifest says that FFmpeg is equal, `pelton decode -f framemd5 -` is compared with FFmpeg's lines as well.
One daemon serves all rows, so that pipelines are compiled once. Exit codes: 0 all equal, 1 not, 77 skipped (no streams).
"""
import argparse, concurrent.futures, csv, os, pathlib, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", default=os.environ.get("PELTON_BINARY_DIR", str(ROOT / "build")) + "/bin")
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS", str(ROOT.parent / "shared/streams")))
    p.add_argument("--tag", default="progressive-420-8")
    p.add_argument("--only", help="part of a file name")
    p.add_argument("--device", default="auto")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="configuration of the daemon")
    p.add_argument("--ffmpeg", default="ffmpeg")
    p.add_argument("--no-framemd5", action="store_true", help="only the manifest's MD5")
    p.add_argument("--every", type=int, default=1, help="take every n-th row")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--timeout", type=float, default=240)
    return p.parse_args()


class Daemon:
    """A peltond on a socket of its own, ended with the block."""

    def __init__(self, args):
        self.dir = tempfile.TemporaryDirectory()
        self.socket = self.dir.name + "/pelton.sock"
        self.log = open(self.dir.name + "/log", "w+")
        command = [args.bin + "/peltond", "--socket", self.socket, "--device", args.device]
        for kv in args.set:
            command += ["-c", kv]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def __enter__(self):
        for _ in range(200):
            if os.path.exists(self.socket):
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.log.seek(0)
        raise SystemExit("peltond did not start:\n" + self.log.read())

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def tail(self):
        self.log.flush()
        return "".join(open(self.log.name).readlines()[-10:])


def decode(args, daemon, path, fmt):
    return subprocess.run([args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error", "-i", path, "-f", fmt, "-"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=args.timeout)


def check(args, daemon, row):
    """None when equal, else what differs."""
    path = os.path.join(args.streams, row["file"])
    try:
        run = decode(args, daemon, path, "md5")
        if run.returncode:
            return "exit %d: %s" % (run.returncode, run.stderr.decode(errors="replace").strip().replace("\n", " | "))
        got = run.stdout.decode().strip().replace("MD5=", "")
        if got != row["md5"]:
            return "md5 %s, listed %s" % (got, row["md5"])
        if args.no_framemd5 or row["ffmpeg"] != "equal":
            return None
        ours = decode(args, daemon, path, "framemd5").stdout.decode().splitlines()
        theirs = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-flags", "unaligned", "-i", path, "-f", "framemd5", "-"],
                                capture_output=True, timeout=args.timeout).stdout.decode().splitlines()
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if a != b and not a.startswith("#software"):
                return "framemd5 line %d: %r, FFmpeg %r" % (i + 1, a, b)
        if len(ours) != len(theirs):
            return "framemd5: %d lines, FFmpeg %d" % (len(ours), len(theirs))
        return None
    except subprocess.TimeoutExpired:
        return "no end after %g s" % args.timeout


def main():
    args = arguments()
    manifest = os.path.join(args.streams, "MANIFEST.tsv")
    if not os.path.exists(manifest):
        print("skipped: no streams at", args.streams)
        return 77
    with open(manifest) as f:
        rows = [r for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE) if args.tag in r["tags"].split(",")]
    rows = [r for r in rows if not args.only or args.only in r["file"]][:: args.every]
    start, bad = time.time(), 0
    with Daemon(args) as daemon, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, why in zip(rows, pool.map(lambda r: check(args, daemon, r), rows)):
            if why:
                bad += 1
                print("DIFFERS %s: %s" % (row["file"], why), flush=True)
        if bad:
            print("daemon's log ends:\n" + daemon.tail())
    print("%d of %d streams equal, %d frames, %.0f s, device %s" %
          (len(rows) - bad, len(rows), sum(int(r["frames"] or 0) for r in rows), time.time() - start, args.device))
    return 1 if bad or not rows else 0


sys.exit(main())
