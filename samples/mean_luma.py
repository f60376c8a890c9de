#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mean_luma.py SOURCE: prints each frame's sequence, time, size and mean luma.

SOURCE is a file, an address as rtsp://..., or the name of a source. Uses the daemon that runs, else
a private one.
"""
import sys

import pelton

if len(sys.argv) != 2:
    sys.exit("usage: mean_luma.py SOURCE")
try:
    with pelton.open(sys.argv[1]) as stream:
        for frame in stream:
            mean = frame.y.mean()  # a view of the daemon's memory: nothing is copied
            print(f"{frame.sequence} {frame.time or 0:.6f} s {frame.width}x{frame.height} "
                  f"{frame.pix_fmt} luma {mean:.3f}{' corrupt' if frame.damaged else ''}")
except pelton.Error as failure:
    sys.exit(f"mean_luma: {failure}")
