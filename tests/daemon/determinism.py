#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes streams again and again, each time by a daemon with 1 to 16 coders whose threads sleep at
random (debug.delay_seed), in half of the runs with slices in a random order. All runs must give the
same MD5 of each stream.

  determinism.py --device gpu --runs 200

Streams are of streamgen by the day's seed, and those that --stream names. Exit codes: 0, 1.
"""
import pathlib, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

FEATURES = ["", "b,sub-macroblocks", "mbaff", "paff", "slices"]
MOST_CODERS = 16


def generated(args, folder):
    paths = []
    for i, wanted in enumerate(FEATURES):
        paths.append(f"{folder}/{i}.264")
        with_them = ["--with", wanted] if wanted else []
        subprocess.run([args.bin + "/streamgen", "--seed", t.SEED, "--frames", "12", *with_them,
                        "-o", paths[-1]], check=True, capture_output=True)
    return paths


def settings(args, run):
    """Of a run: whoever reads its number can repeat it."""
    return [*args.set, f"threads={1 + run % MOST_CODERS}", f"debug.delay_seed={run + 1}",
            f"debug.shuffle_seed={run // 2 * (run % 2)}"]


def md5s(args, daemon, paths):
    runs = [t.decode(args, daemon, path, "md5") for path in paths]
    for path, run in zip(paths, runs):
        if t.failure(run):
            raise SystemExit(f"{path}: {t.failure(run)}")
    return tuple(run.stdout.decode().strip() for run in runs)


def main():
    p = t.parser(__doc__)
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--stream", action="append", default=[])
    args = p.parse_args()
    preset, results, begin = args.set, {}, time.time()
    with tempfile.TemporaryDirectory() as folder:
        paths = generated(args, folder) + args.stream
        for run in range(args.runs):
            args.set = preset
            args.set = settings(args, run)
            with t.Daemon(args) as daemon:
                result = md5s(args, daemon, paths)
            if result not in results:
                print(f"run {run}: {args.set}: {result}", flush=True)
            results.setdefault(result, []).append(run)
    print("%d streams, %d runs with 1 to %d coders, %d different results, %.0f s" %
          (len(paths), args.runs, min(args.runs, MOST_CODERS), len(results), time.time() - begin))
    return int(len(results) != 1)


sys.exit(main())
