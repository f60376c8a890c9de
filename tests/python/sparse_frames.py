#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Frames by number and by time are those of a whole decode: in MP4, Matroska, MPEG-TS and raw
H.264, with IDR pictures every 25 and every 250 frames, open GOPs, B pyramids, MBAFF, an edit list.
Numbers may come in any order and again. What lies past the end is refused. Few packets are read and
few pictures decoded. A damaged index is replaced, and one of a changed file is not used.
"""
import os, pathlib, random, subprocess, tempfile, time

from pythontest import arguments, check, clip, equal, finish, framemd5, md5, raises, t
import pelton

FRAMES = 60
STREAMS = {"idr25": ("keyint=25:bframes=3:b-pyramid=normal", "264"),
           "idr250": ("keyint=250:bframes=3:b-pyramid=normal", "mp4"),
           "open": ("keyint=12:open-gop=1:bframes=3:scenecut=0", "mp4"),
           "mbaff": ("keyint=10:tff=1:bframes=2:slices=2", "264")}
COPIES = {"ts": ("open", "ts", ()), "mkv": ("idr250", "mkv", ()),
          "edit": ("open", "mp4", ("-ss", "0.5"))}


def frames_of(stream):
    """Number, time and hash of each frame; packets and pictures of the daemon."""
    with stream as s:
        out = []
        for frame in s:
            out.append((frame.number, frame.pts, md5(frame)))
            frame.close()
        stats = s.stats()
        return out, stats.access_units, stats.pictures


def lists(n, rng):
    yield "last", [n - 1]
    yield "a clip", range(n // 2, n // 2 + 16, 2)
    yield "any order", [rng.randrange(n) for _ in range(6)]
    yield "repeated", [9, 9, 5, n - 1, 0, 9]


def one_file(name, path, rng):
    whole, _, pictures = frames_of(pelton.open(path))
    n = len(whole)
    for what, numbers in lists(n, rng):
        got, units, decoded = frames_of(pelton.open(path, at=numbers))
        equal(got, [whole[i] for i in numbers], f"{name}: {what}")
        check(decoded <= len(numbers) * pictures, f"{name}: {decoded} pictures, {units} packets")
        if what == "last" and "idr25 " in name:
            check(units <= 25 and decoded <= 25, f"{name}: from the last IDR picture alone")
    with pelton.open(path) as s:
        numbers = [7, 3, n - 2]
        with s.frames_at(numbers) as chosen:
            times = [f.time for f in chosen]
        got, _, _ = frames_of(s.frames_at(times=times))
        equal([f[0] for f in got], numbers, f"{name}: by time")
    raises(pelton.InputError, lambda: frames_of(pelton.open(path, at=[0, n])),
           f"ends before frame {n}: it has {n}")
    raises(pelton.InputError, lambda: frames_of(pelton.open(path).frames_at(times=[0.5, 99])),
           "no frame is shown at 99.000 s: the file ends at")


def refusals(path):
    raises(pelton.UsageError, lambda: pelton.open(path, at=[3, -1]), "frame -1 is wanted")
    raises(pelton.UsageError, lambda: pelton.open(path, at=range(70000)), "wanted at once")
    raises(pelton.UsageError, lambda: pelton.open(path).frames_at([1], times=[0.1]),
           "numbers or times")
    raises(pelton.Error, lambda: frames_of(pelton.open(path, at=[1], loop=True)), "")
    read, write = os.pipe()
    os.close(write)
    raises(pelton.InputError, lambda: frames_of(pelton.open(read, at=[1])), "")
    os.close(read)


def ends(args, daemon, path):
    """-frames:v and -frames-at of the command line."""
    whole = framemd5(args, daemon, path)
    equal(framemd5(args, daemon, path, "-frames:v", "7"), whole[:7], "the first seven frames")
    equal(framemd5(args, daemon, path, "-frames-at", "30,2,10-20:5"),
          [whole[i] for i in (30, 2, 10, 15, 20)], "frames of a list")


def caches(args, folder, path):
    """A new daemon finds the index in the folder; a damaged one is made again."""
    kept = lambda: sorted(pathlib.Path(folder, "pelton").glob("index-*"))
    want = None
    for what in ("made", "kept", "damaged", "foreign"):
        for file in kept() if what in ("damaged", "foreign") else []:
            data = file.read_bytes()
            file.write_bytes({"damaged": data[:60] + b"x" + data[61:],
                              "foreign": b"no index"}[what])
        before = {f: f.stat().st_mtime_ns for f in kept()}
        with t.Daemon(args) as daemon:
            os.environ["PELTON_SOCKET"] = daemon.socket
            got, _, _ = frames_of(pelton.open(path, at=[40, 3]))
            pelton.close()
        want = want or got
        equal(got, want, f"the index is {what}: frames")
        changed = sum(f.stat().st_mtime_ns != before.get(f) for f in kept())
        equal(changed, 0 if what == "kept" else 1, f"the index is {what}: files written")


def main():
    args = arguments(__doc__)
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: clip(folder, f"{name}.{ending}", "-x264-params", parameters, frames=FRAMES,
                            rate=30) for name, (parameters, ending) in STREAMS.items()}
        for name, (of, ending, options) in COPIES.items():
            paths[name] = f"{folder}/{name}.{ending}"
            subprocess.run(["ffmpeg", "-v", "error", "-y", *options, "-i",
                            paths[of], "-c", "copy", paths[name]], check=True)
        for args.device in (args.device, "libavcodec"):
            with t.Daemon(args) as daemon:
                os.environ["PELTON_SOCKET"] = daemon.socket
                for name, path in paths.items():
                    if args.device == "libavcodec" or name == "mbaff":
                        one_file(f"{name} {args.device}", path, rng)
                refusals(paths["idr25"])
                pelton.close()
        with t.Daemon(args) as daemon:
            ends(args, daemon, paths["idr25"])
        os.environ["XDG_CACHE_HOME"] = folder
        caches(args, folder, paths["idr25"])
        start = time.monotonic()
        with t.Daemon(args) as daemon:
            os.environ["PELTON_SOCKET"] = daemon.socket
            for _ in range(20):
                frames_of(pelton.open(paths["idr25"], at=[50]))
            pelton.close()
        print(f"an open and a frame: {(time.monotonic() - start) / 20 * 1e3:.1f} ms")
    finish()


main()
