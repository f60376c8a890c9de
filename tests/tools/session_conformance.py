#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""MD5 of all frames of a session, against MANIFEST.tsv, smallest stream first.

  session_conformance.py [--tag TAG] [--pixels N] [--limit N] [--part I/N] [--jobs N]
    PROGRAM [arguments of session_decode]

--pixels: only streams with at most N luma samples in all their frames. Exit code 77 without the
streams.
"""
import argparse
import concurrent.futures
import csv
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import peltontest as t


def streams_dir():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.environ.get("PELTON_STREAMS", os.path.join(root, "..", "shared", "streams"))


def rows(folder, tag, most):
    with open(os.path.join(folder, "MANIFEST.tsv"), newline="") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            if tag not in row["tags"].split(",") + [""]:
                continue
            width, height = (int(v) for v in row["size"].split("x"))
            row["pixels"] = width * height * int(row["frames"] or 1)
            if row["pixels"] <= most:
                yield row


def check(command, folder, row):
    try:
        run = subprocess.run(command + ["--pix-fmt", row["pix_fmt"],
                                        os.path.join(folder, row["file"])], capture_output=True,
                                        text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "hangs"
    want = f"{row['md5']} {row['frames']}".strip()
    got = run.stdout.strip().splitlines() or [""]
    if run.returncode:
        return f"exit {run.returncode}: {run.stderr.strip()[-300:]}"
    if not row["frames"]:
        got = [line.split()[0] for line in got]
    if set(got) != {want}:
        return f"{got[-1]} instead of {want}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tag", default="")
    parser.add_argument("--pixels", type=int, default=1 << 62)
    parser.add_argument("--limit", type=int, default=1 << 30)
    t.part_option(parser)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    folder = streams_dir()
    if not os.path.exists(os.path.join(folder, "MANIFEST.tsv")):
        print("skipped: no streams at", folder)
        return 77
    chosen = t.part(args, sorted(rows(folder, args.tag, args.pixels),
                                 key=lambda row: row["pixels"])[: args.limit])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, problem in zip(chosen, pool.map(lambda row: check(args.command, folder, row),
                                                 chosen)):
            if problem:
                failed += 1
                print(f"{row['file']}: {problem}")
    print(f"{len(chosen) - failed} of {len(chosen)} streams equal")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
