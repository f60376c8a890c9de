# SPDX-License-Identifier: BSD-2-Clause
"""A clip whose pictures show their numbers, for simulated cameras, and how they are read back from
any picture of it: eight columns of blocks, white, black, five bits and their parity.
"""
import subprocess
import numpy

PICTURES = 32 # as many as a simulated sensor keeps; it plays them to and fro
BLOCKS = 8


def bits_of(number):
    bits = [number >> i & 1 for i in reversed(range(5))]
    return [1, 0, *bits, sum(bits) % 2]


def make(args, path, width, height, rate=10):
    """A grey ramp below, the number above."""
    pictures = numpy.empty((PICTURES, height, width), numpy.uint8)
    pictures[:] = numpy.linspace(60, 180, width).astype(numpy.uint8)
    for n in range(PICTURES):
        for i, bit in enumerate(bits_of(n)):
            pictures[n, :height // 2, i * width // BLOCKS:(i + 1) * width // BLOCKS] = \
                200 if bit else 30
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s",
                    f"{width}x{height}", "-r", str(rate), "-i", "-", "-vf",
                    "format=gray,format=yuv420p", "-c:v", "libx264", "-crf", "10", path],
                   input=pictures.tobytes(), check=True)
    return path


def number_of(luma):
    """None: the picture shows none."""
    height, width = luma.shape[:2]
    means = [float(luma[height // 8:height * 3 // 8, int((i + 0.25) * width / BLOCKS):
                        int((i + 0.75) * width / BLOCKS)].mean()) for i in range(BLOCKS)]
    if means[0] - means[1] < 30:
        return None
    bits = [int(m > (means[0] + means[1]) / 2) for m in means[2:]]
    return sum(b << (4 - i) for i, b in enumerate(bits[:5])) if sum(bits) % 2 == 0 else None
