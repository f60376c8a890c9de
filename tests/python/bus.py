#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bytes_over_bus counts what crosses between host and device memory, wherever a step runs: records
of the coders, slices and records of the GPU, frames in host memory. The sizes are those of
codec/abi/. Of motion that coders leave to the GPU, what crosses follows the shapes."""
import tempfile

from pythontest import arguments, check, clip, equal, finish, t
import pelton

WIDTH, HEIGHT, FRAMES = 96, 64, 12
# B pictures are no references, and each picture is one slice
X264 = "keyint=99:bframes=2:b-pyramid=none:direct=%s:b-adapt=0:scenecut=0:slices=1"
REFERENCES = 5
MB, SYNTAX, MAP = 32, 8, 2  # bytes of a macroblock's records and of its map
RECORDS, SLICE = MB + 136, 76
SECTOR = 32
# Pictures whose motion lies in an arena of the worker, and those that call the GPU
LARGE, LARGE_MBS = "640x352", 40 * 22
BUSY, BUSY_FRAMES, TRIES = "176x144", 300, 5


def play(path, daemon, frames, text):
    """What it is beside uploads of reconstruction and delivered frames; and the GPU's slices."""
    with pelton.open(path, socket=daemon.socket) as s:
        equal(len([f.close() for f in s]), frames, f"{text}: frames")
        got = s.stats()
    return (got.bytes_over_bus - got.bytes_uploaded - got.bytes_delivered,
            got.gpu_entropy_bytes + SLICE * got.gpu_entropy_pictures, got.gpu_entropy_pictures)


def over_bus(a, path, *settings):
    with t.Daemon(a, *(word for s in settings for word in ("-c", s))) as d:
        return play(path, d, FRAMES, settings)


def coders_motion(a, folder, fetch, paths):
    """Bytes of streams whose pictures coders decode and whose motion the GPU derives. It begins to
    once a busy stream has called it, and a stream's first pictures are never its own to decode."""
    busy = clip(folder, "busy.mp4", "-vf", "noise=alls=30:allf=t", "-preset", "fast", "-crf", "4",
                "-x264-params", "bframes=3:direct=spatial:slices=1", frames=BUSY_FRAMES, size=BUSY)
    with t.Daemon(a, "-c", "entropy=both", "-c",
                  f"debug.split=worth=1,early=64,fetch={fetch}") as d:
        for _ in range(TRIES):
            play(busy, d, BUSY_FRAMES, "a busy stream")
            got = [play(path, d, FRAMES, f"fetch={fetch}") for path in paths]
            if got[0][0]:
                break
    check(got[0][0] > 0 or a.device != "cpu", "the busy stream has called the GPU")
    equal([pictures for _, _, pictures in got], [0] * len(paths), "the GPU's own pictures")
    return [more for more, _, _ in got]


def check_coders_motion(a, folder):
    moving = clip(folder, "large.mp4", "-x264-params", X264 % "spatial", frames=FRAMES, size=LARGE)
    still = clip(folder, "still.mp4", "-vf", "drawbox=t=fill:c=gray", "-x264-params",
                 X264 % "spatial", frames=FRAMES, size=LARGE)
    back = REFERENCES * LARGE_MBS * MAP  # of references, to the host
    whole = FRAMES * LARGE_MBS * (RECORDS + SYNTAX)
    least = FRAMES * LARGE_MBS * (MB + SYNTAX)
    copied, = coders_motion(a, folder, 1, [moving])
    if not copied:
        print("without motion of coders: the coders were too fast for the busy stream")
        return
    equal(copied, back + whole, "records of coders are copied")
    some, none = coders_motion(a, folder, 2, [moving, still])
    check(back + least < some < back + whole and (some - back - least) % SECTOR == 0,
          f"motion of coders by sectors: {some - back} bytes of {whole}, at least {least}")
    equal(none, back + least, "no motion of skipped macroblocks")


def main():
    a = arguments(__doc__.splitlines()[0])
    mbs = WIDTH // 16 * (HEIGHT // 16)
    with tempfile.TemporaryDirectory() as folder:
        path, temporal = (clip(folder, f"{direct}.mp4", "-x264-params", X264 % direct,
                               frames=FRAMES, size=f"{WIDTH}x{HEIGHT}")
                          for direct in ("spatial", "temporal"))
        equal(over_bus(a, path, "entropy=cpu"), (0, 0, 0), "coders alone")
        more, slices, pictures = over_bus(a, path, "entropy=gpu", "gpu_motion=false")
        equal((more - slices, pictures), (FRAMES * mbs * (RECORDS + SYNTAX), FRAMES),
              "all records come to the host")
        more, slices, pictures = over_bus(a, path, "entropy=gpu")
        equal((more - slices, pictures), (REFERENCES * mbs * MAP, FRAMES),
              "maps of references come to the host, and no records")
        more, slices, pictures = over_bus(a, temporal, "entropy=gpu")
        others = (FRAMES - REFERENCES) * mbs * (RECORDS + SYNTAX) + REFERENCES * mbs * MAP
        copied = range(1, REFERENCES + 1)  # of the first ones nobody knows that they are read
        check(more - slices in [others + n * mbs * RECORDS for n in copied],
              f"temporal direct prediction: records of references come to the host: "
              f"{more - slices} bytes beside slices")
        check_coders_motion(a, folder)
    finish()


if __name__ == "__main__":
    main()
