#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Progressive streams of the manifest through peltondec: videocodectestsink gives the listed MD5.

  manifest.py --device cpu [--part day/20]

Exit codes: 0 all equal, 1 not, 77 skipped (no streams, or no such sink).
"""
import concurrent.futures, csv, os, pathlib, subprocess, sys

from gsttest import Gst, SKIPPED, begin, check, finish, t


def arguments():
    p = t.parser(__doc__)
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS",
                                                       str(t.ROOT.parent / "shared/streams")))
    p.add_argument("--part", metavar="I/N", help="as of conformance.py of tests/conformance")
    return p.parse_args()


def md5(daemon, path):
    """What the sink says, or what went wrong."""
    run = subprocess.run(["gst-launch-1.0", "-m", "filesrc", f"location={path}", "!", "h264parse",
                          "!", "peltondec", f"socket={daemon.socket}", "!", "videocodectestsink"],
                         capture_output=True, text=True, timeout=t.LIMIT_S)
    for line in run.stdout.splitlines():
        if "conformance/checksum" in line:
            return line.split("checksum=(string)")[1].split(",")[0].rstrip(";")
    return f"exit {run.returncode}: " + " | ".join(run.stderr.split("\n")[:6])


def main():
    args = arguments()
    begin(args)
    manifest = pathlib.Path(args.streams, "MANIFEST.tsv")
    if not manifest.exists() or not Gst.ElementFactory.find("videocodectestsink"):
        print("skipped: no", manifest if not manifest.exists() else "videocodectestsink")
        sys.exit(SKIPPED)
    rows = [r for r in csv.DictReader(open(manifest), delimiter="\t")
            if "progressive-420-8" in r["tags"].split(",") and (args.only or "") in r["file"]]
    rows = t.part(args, rows)
    with t.Daemon(args) as daemon, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        paths = [pathlib.Path(args.streams, r["file"]) for r in rows]
        for row, got in zip(rows, pool.map(lambda p: md5(daemon, p), paths)):
            check(got == row["md5"], f"{row['file']}: {got}" +
                  ("" if got == row["md5"] else f", listed {row['md5']}"))
    print(len(rows), "streams")
    finish()


main()
