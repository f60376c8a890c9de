#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes the conformance streams with refdec and compares the MD5 of all frames with the manifest.

    refdec_conformance.py REFDEC [--streams DIR] [--tag TAG] [--match TEXT] [--part I/N] [--jobs N]
        [-v]

All rows of the manifest run, or those with the tag, or a part of them. The output ends with a table
by tag. Rows with a contested result (tag `disputed`) are printed with their oracle, passed or not.
A stereo row that names the MD5 of the second view is decoded once more for that view. ffmpeg
unpacks containers. Exit 77 (skipped) without the streams.
"""
import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import peltontest as t

RAW = (".264", ".h264", ".avc", ".26l", ".jsv", ".jvt", ".bit", ".bits")
SECOND_VIEW = re.compile(r"second view ([0-9a-f]{32})")


def default_streams():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get("PELTON_STREAMS") or os.path.join(here, "..", "..", "..", "shared",
                                                            "streams")


def raw_stream(path, folder):
    if path.lower().endswith(RAW):
        return path
    raw = os.path.join(folder, os.path.basename(path) + ".264")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", path, "-map", "0:v:0", "-c", "copy",
                    "-bsf:v", "h264_mp4toannexb",
                    "-f", "h264", raw], check=True)
    return raw


def decode(refdec, streams, row, view, folder):
    begin = time.monotonic()
    path = raw_stream(os.path.join(streams, row["file"]), folder)
    command = [refdec, "--md5", "--pix-fmt", row["pix_fmt"]] + (["--view", "1"]
                                                                if view else []) + [path]
    done = subprocess.run(command, capture_output=True, text=True)
    words = done.stdout.split()
    md5, frames = (words[0], words[1]) if len(words) >= 2 else ("-", "0")
    want = SECOND_VIEW.search(row["features"]).group(1) if view else row["md5"]
    note = done.stderr.strip().split("\n")[0]
    name = row["file"] + (" view 1" if view else "")
    seconds = time.monotonic() - begin
    return (done.returncode == 0 and md5 == want,
            f"{name} [{row['tags']}] exit {done.returncode} frames {frames}/{row['frames']} "
            f"{seconds:.1f} s {note}")


def jobs_of(rows):
    for row in rows:
        yield row, 0
        if SECOND_VIEW.search(row["features"]):
            yield row, 1


def print_table(passed, total):
    print(f"{'tag':20} passed  of")
    for tag in sorted(total):
        print(f"{tag:20} {passed[tag]:6} {total[tag]:3}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("refdec")
    parser.add_argument("--streams", default=default_streams())
    parser.add_argument("--tag", default="")
    parser.add_argument("--match", default="")
    t.part_option(parser)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-v", action="store_true")
    arguments = parser.parse_args()
    manifest = os.path.join(arguments.streams, "MANIFEST.tsv")
    if not os.path.exists(manifest):
        print(f"{manifest} is not there: skipped")
        return 77
    with open(manifest, newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                if (not arguments.tag or arguments.tag in r["tags"].split(","))
                and arguments.match in r["file"]]
    work = list(jobs_of(t.part(arguments, rows)))
    passed, total = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda w: decode(arguments.refdec, arguments.streams, w[0], w[1],
                                            folder), work)
        for (row, view), (good, line) in zip(work, results):
            tags = row["tags"].split(",") + ["all"] + (["second-view"] if view else [])
            total.update(tags)
            passed.update(tags if good else [])
            disputed = "disputed" in tags
            if arguments.v or not good or disputed:
                print("ok  " if good else "FAIL", line, f"oracle: {row['oracle']}" if disputed
                      else "", flush=True)
    print_table(passed, total)
    print(f"{passed['all']} of {total['all']} streams bit-exact")
    return 0 if work and passed["all"] == total["all"] else 1


if __name__ == "__main__":
    sys.exit(main())
