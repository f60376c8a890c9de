#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Entropy decoding on the GPU (checkgpu --entropy). Inputs are streams of streamgen with the CABAC
tools of the shaders, other ones every day, and some conformance streams if present. All of it is
damaged too."""
import sys

import checkgpu_streams as streams

# Several slices of a picture come by themselves.
WITH = ["", "pcm", "b,sub-macroblocks", "transform8x8,b", "paff", "400", "constrained-intra,p",
        "mixed-slices", "big-levels", "qp-jumps"]


def paths(args, folder, rng):
    return streams.generated(args, folder, rng, WITH, more=lambda: ("--frames", "6")) + \
        streams.conformance(args, rng, 12, 176 * 144)


sys.exit(streams.run("entropy", __doc__, "6", "3", paths))
