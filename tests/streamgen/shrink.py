#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds the smallest stream that still fails.

  shrink.py --seed 4711 [--gen "--with mbaff"] -- COMMAND...

COMMAND gets the stream's path in place of {} and fails (exit code not 0) on a bad stream, for
example:

  shrink.py --seed 4711 -- python3 tests/streamgen/agree.py --file {}

The program adds options of streamgen one at a time: fewer frames, macroblocks and slices, no
residual, features forbidden. It keeps an option if the command still fails, until no more can be
added. It prints the command that makes the smallest stream, and leaves the stream in --out.
"""
import argparse, os, pathlib, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t


class Shrinker:
    def __init__(self, args):
        self.args, self.tries = args, 0
        self.path = tempfile.mkdtemp(prefix="shrink-") + "/stream.264"

    def generate(self, options):
        """streamgen's line, or None where it cannot make such a stream"""
        command = [self.args.bin + "/streamgen", "--seed", str(self.args.seed), *options, "-o",
                   self.path]
        made = subprocess.run(command, capture_output=True, text=True)
        return made.stdout.rstrip("\n").split("\t") if made.returncode == 0 else None

    def fails(self, options):
        fields = self.generate(options)
        self.tries += 1
        if not fields:
            return None
        command = [w.replace("{}", self.path) for w in self.args.command]
        try:
            good = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=self.args.timeout).returncode == 0
        except subprocess.TimeoutExpired:
            good = False
        return None if good else fields


def weight(fields):
    width, height = map(int, fields[4].split("x"))
    return int(fields[5]) * width * height, int(fields[6])


def smaller(fields, options):
    """Options that may make the stream smaller, the boldest first."""
    has = {options[i]: options[i + 1] for i in range(len(options) - 1)
           if options[i] in ("--frames", "--mbs", "--without")}
    frames, (width, height) = int(fields[5]), map(int, fields[4].split("x"))
    for n in sorted({1, 2, frames // 2, frames - 1}):
        if 0 < n < frames:
            yield "--frames", str(n)
    for w, h in ((1, 1), (1, 2), (2, 2), (width // 2, height), (width, height // 2),
                 (width - 1, height), (width, height - 1)):
        if 0 < w <= width and 0 < h <= height and w * h < width * height:
            yield "--mbs", "%dx%d" % (w, h)
    if "--slices" not in options:
        yield "--slices", "1"
    if "--no-residual" not in options:
        yield ("--no-residual",)
    banned = has["--without"].split(",") if "--without" in has else []
    for f in fields[7].split(","):
        if f not in banned:
            yield "--without", ",".join(banned + [f])


def replaced(options, change):
    kept, i = [], 0
    while i < len(options):
        width = 1 if options[i] in ("--no-residual",) else 2
        if options[i] != change[0]:
            kept += options[i:i + width]
        i += width
    return kept + list(change)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default=os.environ.get("PELTON_BINARY_DIR", str(t.ROOT / "build")) +
                   "/bin")
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--gen", default="", help="options of streamgen to begin with")
    p.add_argument("--out", default="smallest.264")
    p.add_argument("--timeout", type=float, default=60)
    p.add_argument("command", nargs="+")
    args = p.parse_args()
    shrinker = Shrinker(args)
    options = args.gen.split()
    fields = shrinker.fails(options)
    if not fields:
        print("the command does not fail on this stream")
        return 1
    again = True
    while again:
        again = False
        for change in smaller(fields, options):
            found = shrinker.fails(replaced(options, change))
            # without a feature the rest is chosen anew: it may grow
            if found and weight(found) < weight(fields):
                options, fields, again = replaced(options, change), found, True
                print("%s bytes, %s frames, %s: %s" % (fields[6], fields[5], fields[4],
                                                       " ".join(change)), flush=True)
                break
    shrinker.generate(options)
    os.replace(shrinker.path, args.out)
    print("%d tries; streamgen --seed %d %s -o %s: %s" % (shrinker.tries, args.seed,
                                                          " ".join(options), args.out,
                                                          " ".join(fields)))
    return 0


sys.exit(main())
