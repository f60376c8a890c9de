#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Entropy decoding on the GPU (checkgpu --entropy). Inputs are streams of streamgen with the tools
of the shaders in CABAC and in CAVLC, other ones every day, and some conformance streams if
present. All of it is damaged too. Slices of more than a piece (ENT_PIECE_SOFTWARE) are noise that
x264 encodes."""
import subprocess, sys

import checkgpu_streams as streams

# Several slices of a picture come by themselves.
WITH = ["", "pcm", "b,sub-macroblocks", "transform8x8,b", "paff", "400", "constrained-intra,p",
        "mixed-slices", "big-levels", "qp-jumps"]


def paths(args, folder, rng):
    found = []
    sizes = lambda: ("--frames", "6", "--mbs", f"{rng.randrange(3, 13)}x{rng.randrange(1, 9)}")
    for coding in "cabac", "cavlc":
        found += streams.generated(args, folder, rng, WITH, more=sizes, coding=coding)
        found += streams.conformance(args, rng, 12, 176 * 144, coding=coding)
    return found


def long_slices(args, folder, rng):
    """In both codings an intra and an inter picture of 128 rows, each one slice of more than 256
    KiB."""
    paths, noise = [], rng.randbytes(2 * 64 * 2048 * 3 // 2)
    for coding in "--cabac", "--no-cabac":
        paths.append(f"{folder}/long{coding}.264")
        subprocess.run(["x264", "--quiet", "--no-progress", "--demuxer", "raw", "--input-res",
                        "64x2048", "--qp", "3", "--keyint", "2", "--preset", "ultrafast", coding,
                        "-o", paths[-1], "-"], input=noise, check=True)
    return paths


failed = streams.run("entropy", __doc__, "6", "3", paths)
if failed:
    sys.exit(failed)
# Not refused, either: on a software device in pieces of ENT_PIECE_SOFTWARE.
sys.exit(streams.run("entropy", __doc__, "2", "3", long_slices, r" 4 equal; damaged: "))
