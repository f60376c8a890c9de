#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tensors of the Python package: sizes, types, layouts, mean and std. Values are those of RGB
frames of 8 bits, up to their rounding. Wrong wishes are exceptions."""
import tempfile

from pythontest import arguments, check, clip, equal, finish, raises, t
import numpy as np
import pelton

SIZE = (48, 40)


def values(daemon, path):
    """Floats beside the levels of the same size."""
    open_ = lambda **wish: pelton.open(path, socket=daemon.socket, frames=3, size=SIZE, **wish)
    with open_(pix_fmt="rgb24") as s:
        levels = np.stack([f.planes[0] for f in s])
    equal(levels.shape, (3, 40, 48, 3), "rgb24 of a size")
    with open_(format="rgb", dtype="float32") as s:
        tensor = np.stack([f.tensor for f in s])
    equal((tensor.shape, tensor.dtype), ((3, 3, 40, 48), np.float32), "NCHW is the default")
    exact = tensor.transpose(0, 2, 3, 1) * 255
    check(np.abs(exact - levels).max() <= 0.501, "floats round to the levels")
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    with open_(format="rgb", dtype=np.float16, layout="NHWC", mean=mean, std=std) as s:
        half = np.stack([np.asarray(f) for f in s])
    equal((half.shape, half.dtype), ((3, 40, 48, 3), np.float16), "NHWC of half floats")
    want = (exact / 255 - np.float32(mean)) / np.float32(std)
    check(np.abs(half - want).max() < 0.002, "mean and std")
    with open_(format="bgr", dtype="uint8", layout="NCHW") as s:
        planes = np.stack([f.tensor for f in s])
        check(np.array_equal(planes, levels[..., ::-1].transpose(0, 3, 1, 2)),
              "bgr in planes has the same levels")
    with open_(format="gray", dtype="float32") as s:
        equal(s.read().tensor.shape, (1, 40, 48), "grey has one channel")


def views(daemon, path):
    """A tensor is a view of the slot, for DLPack, too."""
    with pelton.open(path, socket=daemon.socket, size=SIZE, dtype="float32") as s:
        frame = s.read()
        tensor = frame.tensor
        check(not tensor.flags.owndata and not tensor.flags.writeable, "a read-only view")
        check(tensor.flags.c_contiguous, "without gaps")
        check(np.array_equal(np.from_dlpack(frame), tensor), "DLPack gives the tensor")
        equal((frame.width, frame.height, frame.pix_fmt), (48, 40, "rgb24"), repr(frame))
        raises(TypeError, frame.to_rgb, "tensor")
        want = tensor.copy()
        frame.close()
        rest = sum(1 for _ in s)
        check(np.array_equal(tensor, want), f"it keeps its slot while {rest} frames pass")
    with pelton.open(path, socket=daemon.socket, size=SIZE, crop=(8, 4, 64, 48)) as s:
        frame = s.read()
        equal([p.shape for p in frame.planes], [(40, 48), (20, 24), (20, 24)], "planes, cropped")
        raises(TypeError, lambda: frame.tensor, "dtype=")
    with pelton.open(path, socket=daemon.socket, size=SIZE, dtype="uint8") as s:
        picked = s.frames_at([2, 0])
        equal([f.tensor.shape for f in picked], [(3, 40, 48)] * 2, "frames_at keeps the wish")
        picked.close()


def refused(daemon, path):
    open_ = lambda **wish: pelton.open(path, socket=daemon.socket, **wish)
    read = lambda **wish: open_(**wish).read()
    raises(pelton.UsageError, lambda: open_(dtype="int8"), "dtype")
    raises(pelton.UsageError, lambda: open_(dtype="float32", layout="CHW"), "layout")
    raises(pelton.UsageError, lambda: open_(mean=0.5), "floats")
    raises(pelton.UsageError, lambda: open_(dtype="float32", mean=(1, 2)), "3 channels")
    raises(pelton.UsageError, lambda: open_(dtype="float32", std=0), "0")
    raises(pelton.UsageError, lambda: open_(size=(0, 5)), "size")
    raises(pelton.UsageError, lambda: open_(size=100), "size=(width, height)")
    raises(pelton.UsageError, lambda: open_(format="rgb", pix_fmt="rgb24"), "one of them")
    raises(pelton.UsageError, lambda: read(size=(1, 1)), "64 times")
    raises(pelton.UsageError, lambda: read(crop=(90, 0, 20, 20)), "outside")
    raises(pelton.UsageError, lambda: read(pix_fmt="yuv420p", dtype="float32"), "yuv420p")


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        path = clip(folder, "clip.mp4")
        values(daemon, path)
        views(daemon, path)
        refused(daemon, path)
        equal(daemon.validation_messages(), [], "no validation messages")
    finish()


main()
