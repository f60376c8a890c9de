#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Time stamps end to end: framemd5 of awkward streams and containers, whole and in part, equals
ffmpeg's line by line. Byte streams that tell no frame rate are among them: of frames, of fields,
and longer than what libavformat analyses.

Exit codes: 0, 1, 77 skipped (no ffmpeg with libx264).
"""
import pathlib, subprocess, sys, tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parent)]
import peltontest as t
import record_sync

PARTS = {"": [()], "mp4": [("-ss", "0.5", "-t", "0.3"), ("-ss", "1"), ("-t", "0.5")],
         "mkv": [("-ss", "0.77", "-t", "0.4")]}


def streams(args, d):
    """Name, extension and path of each."""
    for name, ext, options in record_sync.CASES + record_sync.MORE:
        yield name, ext, record_sync.make(d, name, ext, options)
    for name, features in (("untimed", "p,cavlc"), ("untimed-fields", "p,cavlc,paff")):
        path = "%s/%s.264" % (d, name)
        subprocess.run([args.bin + "/streamgen", "--seed", t.SEED, "--frames", "70", "--mbs",
                        "2x4", "--only", features, "-o", path], check=True, capture_output=True)
        yield name, "264", path


def compare(args, daemon, path, part):
    ours = t.decode(args, daemon, path, "framemd5", *part)
    if ours.returncode:
        return t.failure(ours)
    command = [args.ffmpeg, "-v", "error", "-nostdin", *part, "-i", path, "-map", "0:v", "-f",
               "framemd5", "-"]
    return t.first_difference(ours.stdout.decode(),
                              subprocess.run(command, capture_output=True).stdout.decode())


def main():
    args = t.arguments(__doc__, "x264")
    bad = count = 0
    with tempfile.TemporaryDirectory() as d, t.Daemon(args) as daemon:
        for name, ext, path in streams(args, d):
            for part in PARTS[""] + (PARTS.get(ext, []) if name.startswith(("cfr", "ntsc"))
                                     else []):
                why = compare(args, daemon, path, part)
                count += 1
                if why:
                    bad += 1
                    print("DIFFERS %s %s: %s" % (name, " ".join(part), why))
    print("%d of %d equal" % (count - bad, count))
    return 1 if bad else 0


sys.exit(main())
