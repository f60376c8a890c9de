#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decode the conformance streams with refdec and compare the MD5 of all frames with the manifest.

    refdec_conformance.py REFDEC [--streams DIR] [--tag progressive-420-8] [--jobs N] [--match TEXT] [-v]

Containers other than a raw byte stream are unpacked with ffmpeg. Exit 77 (skipped) where the streams are not there.
"""
import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

RAW = (".264", ".h264", ".avc", ".26l", ".jsv", ".jvt", ".bit", ".bits")


def default_streams():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get("PELTON_STREAMS") or os.path.join(here, "..", "..", "..", "shared", "streams")


def raw_stream(path, folder):
    if path.lower().endswith(RAW):
        return path
    raw = os.path.join(folder, os.path.basename(path) + ".264")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", path, "-map", "0:v:0", "-c", "copy", "-bsf:v", "h264_mp4toannexb",
                    "-f", "h264", raw], check=True)
    return raw


def decode(refdec, streams, row, folder):
    begin = time.monotonic()
    path = raw_stream(os.path.join(streams, row["file"]), folder)
    done = subprocess.run([refdec, "--md5", path], capture_output=True, text=True)
    words = done.stdout.split()
    md5, frames = (words[0], words[1]) if len(words) >= 2 else ("-", "0")
    good = done.returncode == 0 and md5 == row["md5"]
    note = done.stderr.strip().split("\n")[0]
    return good, f"{row['file']} exit {done.returncode} frames {frames}/{row['frames']} {time.monotonic() - begin:.1f} s {note}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("refdec")
    parser.add_argument("--streams", default=default_streams())
    parser.add_argument("--tag", default="progressive-420-8")
    parser.add_argument("--match", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-v", action="store_true")
    arguments = parser.parse_args()
    manifest = os.path.join(arguments.streams, "MANIFEST.tsv")
    if not os.path.exists(manifest):
        print(f"{manifest} is not there: skipped")
        return 77
    with open(manifest, newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                if arguments.tag in r["tags"].split(",") and arguments.match in r["file"]]
    passed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        for good, line in pool.map(lambda r: decode(arguments.refdec, arguments.streams, r, folder), rows):
            passed += good
            if arguments.v or not good:
                print("ok  " if good else "FAIL", line, flush=True)
    print(f"{passed} of {len(rows)} streams bit-exact")
    return 0 if rows and passed == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
