#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The hashes that scripts/demo compares with are FFmpeg's: packaging/demo.framemd5. Exit code 77:
no ffmpeg here.
"""
import pathlib, shutil, subprocess, sys

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"

if not shutil.which("ffmpeg"):
    print("SKIPPED: no ffmpeg")
    sys.exit(77)
run = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", PACKAGING / "demo.mp4",
                      "-f", "framemd5", "-"], capture_output=True, text=True, check=True,
                     timeout=600)
lines = [line for line in run.stdout.splitlines() if not line.startswith("#software")]
kept = (PACKAGING / "demo.framemd5").read_text().splitlines()
frames = sum(not line.startswith("#") for line in lines)
print(f"{frames} frames of FFmpeg, {sum(not line.startswith('#') for line in kept)} hashes kept")
if lines != kept or frames == 0:
    print("FAILED: packaging/demo.framemd5 is not what FFmpeg says; packaging/make-demo-clip")
    sys.exit(1)
print("passed")
