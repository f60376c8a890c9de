#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Pictures that nobody needs are not decoded. The frames that are left have the numbers, times and
samples of a whole decode, in streams with and without B pyramids, open GOPs, fields and MBAFF.
`pictures` of the totals counts the work. -skip_frame of ffmpeg leaves out the same frames.
"""
import os, subprocess, tempfile

from pythontest import arguments, check, clip, equal, finish, md5, raises, t
import pelton

FRAMES = 60
PYRAMID = "keyint=60:bframes=7:b-adapt=0:b-pyramid=normal"
STREAMS = {"pyramid": (PYRAMID, "mp4"), "short": ("keyint=25:bframes=2", "264"),
           "open": ("keyint=12:open-gop=1:bframes=3", "mp4"),
           "mbaff": ("keyint=20:tff=1:bframes=2", "264")}


def frames_of(path, **options):
    """Number, time and hash of each frame; pictures that were decoded."""
    with pelton.open(path, **options) as s:
        frames = []
        for frame in s:
            frames.append((frame.sequence, frame.pts, md5(frame)))
            frame.close()
        return frames, s.stats().pictures


def ffmpeg_hashes(path, word):
    run = subprocess.run(["ffmpeg", "-v", "error", "-skip_frame", word, "-i", path, "-vsync",
                          "passthrough", "-f", "framemd5", "-"], check=True, capture_output=True)
    lines = run.stdout.decode().splitlines()
    return [line.split(",")[-1].strip() for line in lines if not line.startswith("#")]


def skipping(name, path):
    whole, pictures = frames_of(path)
    equal((len(whole), pictures), (FRAMES, FRAMES), f"{name}: frames and pictures of all")
    for skip, word in (("nonref", "noref"), ("nonkey", "nokey")):
        left, decoded = frames_of(path, skip=skip)
        check(set(left) <= set(whole) and left == sorted(left),
              f"{name}: {len(left)} frames with {skip} are frames of the whole")
        # without references ffmpeg knows IDR pictures alone
        if "open" not in name or skip == "nonref":
            equal([f[2] for f in left], ffmpeg_hashes(path, word), f"{name}: as ffmpeg's {word}")
        if skip == "nonref":
            equal(decoded, len(left), f"{name}: no picture but those is decoded")
    return whole


def spacing(name, path, whole, most):
    for fps in (2, 7.5):
        left, decoded = frames_of(path, fps=fps)
        check(set(left) <= set(whole) and left == sorted(left),
              f"{name}: {len(left)} frames at {fps} fps are frames of the whole")
        check(abs(len(left) - FRAMES / 30 * fps) <= 1, f"{name}: as many as that time has")
        if fps == 2:
            check(decoded <= most, f"{name}: {decoded} of {len(whole)} pictures are decoded")


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: clip(folder, f"{name}.{ending}", "-x264-params", parameters, frames=FRAMES,
                            rate=30) for name, (parameters, ending) in STREAMS.items()}
        for args.device in (args.device, "libavcodec"):
            with t.Daemon(args) as daemon:
                os.environ["PELTON_SOCKET"] = daemon.socket
                for name, path in paths.items():
                    whole = skipping(f"{name}, {args.device}", path)
                    spacing(f"{name}, {args.device}", path, whole,
                            FRAMES / 2 if name == "pyramid" else FRAMES)
                raises(pelton.UsageError, lambda: pelton.open(path, skip="some"),
                       "skip 'some' is none")
                pelton.close()
    finish()


main()
