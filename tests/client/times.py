#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Time stamps end to end: framemd5 of awkward streams and containers, whole and in part, equals
ffmpeg's line by line. Frames that ffmpeg leaves out are there besides. Byte streams that tell no
frame rate are among them: of frames, of fields, and longer than what libavformat analyses.

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
    # of the last one the third frame begins with its later field
    for name, features, seed in (("untimed", "p,cavlc", t.SEED),
                                 ("untimed-fields", "p,cavlc,paff", t.SEED),
                                 ("untimed-later-field-first", "p,cavlc,paff", "20261201")):
        path = "%s/%s.264" % (d, name)
        subprocess.run([args.bin + "/streamgen", "--seed", seed, "--frames", "70", "--mbs",
                        "2x4", "--only", features, "-o", path], check=True, capture_output=True)
        yield name, "264", path


def frames(text):
    return [line for line in text.splitlines() if line and line[0] != "#"]


def mended(ours, theirs, all_of_them):
    """None, or one line. FFmpeg has left frames out, as their time had passed: here they are, and
    the others have FFmpeg's times."""
    left = iter(frames(ours))
    if not all(line in left for line in frames(theirs)):
        return "frames that FFmpeg keeps have other times"
    md5s = [[line.split()[-1] for line in frames(text)] for text in (ours, all_of_them)]
    return None if md5s[0] == md5s[1] else "%d frames, FFmpeg has %d of them all" % (
        len(md5s[0]), len(md5s[1]))


def compare(args, daemon, path, part):
    ours = t.decode(args, daemon, path, "framemd5", *part)
    if ours.returncode:
        return t.failure(ours)
    command = [args.ffmpeg, "-v", "error", "-nostdin", *part, "-i", path, "-map", "0:v"]
    theirs, all_of_them = (
        subprocess.run([*command, *sync, "-f", "framemd5", "-"],
                       capture_output=True).stdout.decode()
        for sync in ((), ("-fps_mode", "passthrough")))
    why = t.first_difference(ours.stdout.decode(), theirs)
    return why and mended(ours.stdout.decode(), theirs, all_of_them) and why


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
