#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""capture.py SOURCE: a program for OpenCV's VideoCapture, which reads by pelton.

It prints how much each picture differs from the one before it.
"""
import sys

import numpy as np
from pelton import CAP_PROP_FPS, CAP_PROP_FRAME_HEIGHT, CAP_PROP_FRAME_WIDTH, VideoCapture

if len(sys.argv) != 2:
    sys.exit("usage: capture.py SOURCE")
capture = VideoCapture(sys.argv[1])
if not capture.isOpened():
    sys.exit(f"capture: {capture.error}")
width, height, fps = map(capture.get, (CAP_PROP_FRAME_WIDTH, CAP_PROP_FRAME_HEIGHT, CAP_PROP_FPS))
print(f"{width:.0f}x{height:.0f}, {fps:.2f} frames a second")
before = None
while True:
    good, picture = capture.read()
    if not good:
        break
    now = picture.astype(np.int16)
    if before is not None:
        print(f"{abs(now - before).mean():.3f}")
    before = now
capture.release()
