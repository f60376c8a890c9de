#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes every row of a stream manifest through peltond and compares with the listed MD5.

If the manifest says that FFmpeg is equal, FFmpeg decodes the stream too: its MD5 is the listed one,
and the lines of `pelton decode -f framemd5 -` are FFmpeg's, so both decode once. If a row names the
MD5 of a second view, both views are decoded and compared. One daemon serves all rows, so that
pipelines are compiled once.

  conformance.py --device cpu      all rows; or gpu

Exit codes: 0 all equal, 1 not, 77 skipped (no streams).
"""
import concurrent.futures, csv, os, pathlib, re, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t


def arguments():
    p = t.parser(__doc__)
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS",
                                                       str(t.ROOT.parent / "shared/streams")))
    p.add_argument("--tag", help="rows with this tag only")
    p.add_argument("--without", default="", metavar="TAG,TAG",
                   help="leave rows with any of these tags out")
    p.add_argument("--no-framemd5", action="store_true", help="only the manifest's MD5")
    p.add_argument("--pipe", action="store_true",
                   help="read each from a pipe, as a live stream; only the manifest's MD5")
    p.add_argument("--as-ffmpeg", action="store_true",
                   help="rows that FFmpeg decodes to the listed MD5, for --device libavcodec")
    p.add_argument("--every", type=int, default=1, help="take every n-th row")
    t.part_option(p)
    return p.parse_args()


# FFmpeg decodes them alike only without its assembly: weighted prediction above 8 bits.
WEIGHTED = "rw_explicit_h422_10"


def chosen(args, row):
    tags = set(row["tags"].split(","))
    if args.as_ffmpeg and (row["ffmpeg"] != "equal" or WEIGHTED in row["file"]):
        return False
    return ((not args.tag or args.tag in tags) and not tags & set(args.without.split(",")) and
            (not args.only or args.only in row["file"]))


def check_views(args, daemon, path, row, second):
    """Both views of one decode."""
    with tempfile.TemporaryDirectory() as folder:
        run = t.decode(args, daemon, path, "md5", "--pix-fmt", row["pix_fmt"], "--second-view",
                       folder + "/second")
        if t.failure(run):
            return t.failure(run)
        for view, got, want in (("base", run.stdout.decode(), row["md5"]),
                                ("second", open(folder + "/second").read(), second)):
            if got.strip() != "MD5=" + want:
                return "%s view of both: %s, listed %s" % (view, got.strip(), want)
    return None


def by_lines(args, row):
    """Whether a row is compared with FFmpeg's lines; else with the listed MD5."""
    return row["ffmpeg"] == "equal" and not args.no_framemd5 and not args.pipe


def compare_lines(args, daemon, path, row):
    with tempfile.NamedTemporaryFile("r") as whole:
        lines = t.ffmpeg_framemd5(args, path, "-noautoscale", "-f", "md5", "-y", whole.name)
        theirs = whole.read().strip().replace("MD5=", "")
    if theirs != row["md5"]:
        return "FFmpeg's md5 %s, listed %s" % (theirs, row["md5"])
    run = t.decode(args, daemon, path, "framemd5", "--pix-fmt", row["pix_fmt"])
    return t.failure(run) or t.first_difference(run.stdout.decode(), lines)


def compare_md5(args, daemon, path, row):
    run = (t.decode_pipe if args.pipe else t.decode)(args, daemon, path, "md5", "--pix-fmt",
                                                     row["pix_fmt"])
    got = run.stdout.decode().strip().replace("MD5=", "")
    return t.failure(run) or (None if got == row["md5"] else
                              "md5 %s, listed %s" % (got, row["md5"]))


def check(args, daemon, row):
    """None when equal, else what differs."""
    path = os.path.join(args.streams, row["file"])
    try:
        why = (compare_lines if by_lines(args, row) else compare_md5)(args, daemon, path, row)
        if why or args.pipe:
            return why
        second = re.search("second view ([0-9a-f]{32})", row["features"])
        return check_views(args, daemon, path, row, second.group(1)) if second else None
    except subprocess.TimeoutExpired:
        return "no end after %g s" % args.timeout


def main():
    args = arguments()
    manifest = os.path.join(args.streams, "MANIFEST.tsv")
    if not os.path.exists(manifest):
        print("skipped: no streams at", args.streams)
        return t.SKIPPED
    with open(manifest) as f:
        rows = [r for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
                if chosen(args, r)][:: args.every]
    rows = t.part(args, rows)
    start, bad = time.time(), 0
    with t.Daemon(args) as daemon, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, why in zip(rows, pool.map(lambda r: check(args, daemon, r), rows)):
            if why:
                bad += 1
                print("DIFFERS %s: %s" % (row["file"], why), flush=True)
        messages = daemon.validation_messages()
        print("".join(messages[:10]), end="")
        if bad:
            print("daemon's log ends:\n" + daemon.tail())
    compared = sum(by_lines(args, r) for r in rows)
    print("%d of %d streams equal, %d line by line with FFmpeg's framemd5, %d frames, %d "
          "validation messages, %.0f s, device %s" %
          (len(rows) - bad, len(rows), compared if not bad else -1,
           sum(int(r["frames"] or 0) for r in rows), len(messages),
           time.time() - start, args.device))
    return 1 if bad or messages or not rows else 0


sys.exit(main())
