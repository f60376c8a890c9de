#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random clips of many files: clips and frames a second, and pictures decoded for each frame.

  clips_speed.py [--clips N] [--files N] [--frames N] [--stride N] [--readers N] CLIP...

Copies of the clips stand for many files. Readers are threads; each has one clip at a time. Every
clip is compared with a decode of the whole file, by the hashes of its frames. A first round makes
the indexes. Exit code 1: a frame differs.
"""
import argparse, concurrent.futures, random, shutil, sys, tempfile, time

from pythontest import md5
import pelton


def hashes(stream):
    with stream:
        out = []
        for frame in stream:
            out.append((frame.number, md5(frame)))
            frame.close()
        return out, stream.stats()


def round_of(readers, jobs):
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        done = list(pool.map(lambda job: hashes(pelton.open(job[0], at=job[2])), jobs))
    return done, time.monotonic() - start


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("clips", 1000), ("files", 200), ("frames", 16), ("stride", 2),
                        ("readers", 16)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("clip", nargs="+")
    a = p.parse_args()
    rng = random.Random(1)
    whole = {clip: hashes(pelton.open(clip))[0] for clip in a.clip}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i in range(a.files):
            files.append((f"{folder}/{i}.mp4", a.clip[i % len(a.clip)]))
            shutil.copy(files[-1][1], files[-1][0])
        _, seconds = round_of(a.readers, [(f, c, [0]) for f, c in files])
        print(f"indexes of {a.files} files: {seconds:.2f} s", flush=True)
        jobs = []
        for _ in range(a.clips):
            file, clip = rng.choice(files)
            first = rng.randrange(len(whole[clip]) - (a.frames - 1) * a.stride)
            jobs.append((file, clip, range(first, first + a.frames * a.stride, a.stride)))
        done, seconds = round_of(a.readers, jobs)
    bad = sum(got != [whole[job[1]][n] for n in job[2]] for (got, _), job in zip(done, jobs))
    frames = a.clips * a.frames
    pictures = sum(stats.pictures for _, stats in done)
    print(f"{a.clips} clips of {a.frames} frames: {a.clips / seconds:.1f} clips/s, "
          f"{frames / seconds:.0f} frames/s, {pictures / frames:.2f} pictures a frame, "
          f"{bad} differ")
    sys.exit(bool(bad))


main()
