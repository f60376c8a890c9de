#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bytes_over_bus counts what crosses between host and device memory, wherever a step runs: records
of the coders, slices and records of the GPU, frames in host memory. The sizes are those of
codec/abi/."""
import tempfile

from pythontest import arguments, clip, equal, finish, t
import pelton

WIDTH, HEIGHT, FRAMES = 96, 64, 12
# B pictures are no references and have spatial direct prediction, and each picture is one slice
X264 = "keyint=99:bframes=2:b-pyramid=none:direct=spatial:b-adapt=0:scenecut=0:slices=1"
REFERENCES = 5
RECORDS, MAP, SLICE = 32 + 136, 2, 64  # bytes of a macroblock's records, of its map, of a slice
SYNTAX = 8


def over_bus(a, path, *settings):
    """What it is beside uploads of reconstruction and delivered frames; and the GPU's slices."""
    with t.Daemon(a, *(word for s in settings for word in ("-c", s))) as d:
        with pelton.open(path, socket=d.socket) as s:
            equal(len([f.close() for f in s]), FRAMES, f"{settings}: frames")
            got = s.stats()
    return (got.bytes_over_bus - got.bytes_uploaded - got.bytes_delivered,
            got.gpu_entropy_bytes + SLICE * got.gpu_entropy_pictures, got.gpu_entropy_pictures)


def main():
    a = arguments(__doc__.splitlines()[0])
    mbs = WIDTH // 16 * (HEIGHT // 16)
    with tempfile.TemporaryDirectory() as folder:
        path = clip(folder, "clip.mp4", "-x264-params", X264, frames=FRAMES,
                    size=f"{WIDTH}x{HEIGHT}")
        equal(over_bus(a, path, "entropy=cpu"), (0, 0, 0), "coders alone")
        more, slices, pictures = over_bus(a, path, "entropy=gpu", "gpu_motion=false")
        equal((more - slices, pictures), (FRAMES * mbs * (RECORDS + SYNTAX), FRAMES),
              "all records come to the host")
        more, slices, pictures = over_bus(a, path, "entropy=gpu")
        equal((more - slices, pictures), (REFERENCES * mbs * (RECORDS + MAP), FRAMES),
              "records and maps of references come to the host")
    finish()


if __name__ == "__main__":
    main()
