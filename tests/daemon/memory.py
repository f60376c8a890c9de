#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A 10-minute clip decodes in the same memory as a 10-second one. The peaks of client, broker and
worker are compared.

Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

ALLOWED = 1.10  # of the short clip's peak: allocator noise


def peak(args, path, frames):
    """Largest resident set of any process of the decode, KiB. Each parent waits for its child, so
    wait4 knows them all."""
    command = [args.bin + "/pelton", "decode", "--device", args.device, "-loglevel", "info", "-i",
               path, "-f", "null", "-"]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status or str(frames) not in said:
        raise SystemExit("%s: status %d, %d frames expected:\n%s" % (path, status, frames,
                                                                     said[-2000:]))
    return usage.ru_maxrss


def main():
    args = t.arguments(__doc__)
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=size=64x48:rate=25", "-frames:v", "250", "-pix_fmt",
                        "yuv420p", "-c:v", "libx264", "-bf", "2", "-g", "50", d + "/short.mp4"],
                        check=True)
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-stream_loop", "59", "-i",
                        d + "/short.mp4", "-c", "copy", d + "/long.mp4"], check=True)
        short, long = peak(args, d + "/short.mp4", 250), peak(args, d + "/long.mp4", 15000)
    print("peak of 10 s: %d KiB, of 10 min: %d KiB, ratio %.3f (allowed %.2f)" %
          (short, long, long / short, ALLOWED))
    return 1 if long > short * ALLOWED else 0


sys.exit(main())
