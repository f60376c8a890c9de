#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton encode where the daemon's device encodes: frames stay on the device, and files have the
bytes of the way through host memory. Sizes that change, settings, captions, rectangles, several
inputs, damage, formats that are not encoded there, a slow reader, and a worker that is killed.
"""
import os, pathlib, random, signal, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

args = t.arguments(__doc__, "ffprobe")
CAPTION = bytes([0xB5, 0x00, 0x31, 0x47, 0x41])  # registered user data, without emulated bytes


def pelton(d, *words, **more):
    return subprocess.run([args.bin + "/pelton", words[0], "--socket", d.socket, "--timeout", "0",
                           *words[1:]], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=t.patience(300), **more)


def clip(path, size, frames, *more):
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s={size}:r=25", "-frames:v", str(frames), "-pix_fmt", "yuv420p",
                    "-c:v", "libx264", *more, path], check=True)
    return path


def captioned(path):
    """A message before each slice, of which a picture has one"""
    parts = pathlib.Path(path).read_bytes().split(b"\0\0\1")
    sei = b"\x06\x04" + bytes([len(CAPTION)]) + CAPTION + b"\x80"
    out = [parts[0]]
    for nal in parts[1:]:
        out += [sei] * (nal[0] & 31 in (1, 5)) + [nal]
    pathlib.Path(path).write_bytes(b"\0\0\1".join(out))
    return path


def clips(folder):
    """One with all that travels beside samples; one that changes its size; one of 10 bits"""
    told = clip(f"{folder}/told.264", "90x50", 6, "-bf", "2", "-slices", "1", "-vf", "setsar=16/11",
                "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709",
                "-color_range", "pc", "-chroma_sample_location", "topleft", "-x264-params",
                "pic-struct=1:threads=1:sliced-threads=0")
    parts = [clip(f"{folder}/{size}.264", size, 4) for size in ("96x64", "66x98")]
    joined = pathlib.Path(folder, "joined.264")
    joined.write_bytes(b"".join(pathlib.Path(p).read_bytes() for p in parts))
    mp4 = clip(f"{folder}/plain.mp4", "64x48", 12, "-bf", "2")
    deep = f"{folder}/deep.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-i", mp4, "-c:v", "libx264", "-pix_fmt",
                    "yuv420p10le", deep], check=True)
    return captioned(told), str(joined), mp4, deep


def packets(path):
    """Matroska numbers each file at random, so its packets and their times stand for it."""
    if path.suffix != ".mkv":
        return path.read_bytes()
    return subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", str(path), "-c", "copy",
                           "-f", "framemd5", "-"], capture_output=True, check=True).stdout


def both(inside, outside, folder, what, source, *words, end="264", ours=True):
    """The file by both ways; which of them was taken, the log tells."""
    made = []
    for d, name in ((inside, "inside"), (outside, "outside")):
        out = pathlib.Path(folder, f"{name}.{end}")
        out.unlink(missing_ok=True)
        run = pelton(d, *source, "-v", "verbose", "-y", "-o", str(out), *words)
        files = sorted(out.parent.glob(f"{name}*.{end}"))
        made.append([packets(p) for p in files] if run.returncode == 0 else run.stderr)
        here = b"this program encodes" in run.stderr
        told = b"encodes what it decodes" in run.stderr
        check(told == (d is inside) and here == (d is inside and not ours),
              f"{what}: {name} of the device: {run.stderr.decode()[-300:]!r}"
              if told != (d is inside) else f"{what}: {name}")
        for p in files:
            p.unlink()
    good = isinstance(made[0], list) and made[0] and made[0] == made[1]
    check(good, f"{what}: the bytes of both ways {'' if good else made!r:.600}")
    return made[0] if good else [b""]


def same_bytes(inside, outside, folder, told, joined, mp4, deep):
    args_of = lambda path: ("encode", "-i", path)
    found = both(inside, outside, folder, "all that travels", args_of(told))
    check(found[0].count(CAPTION) == 6, f"captions: {found[0].count(CAPTION)} of 6")
    for end, words in (("mkv", ["-profile:v", "main", "-g", "4", "-refs", "3"]),
                       ("ts", ["-profile:v", "baseline", "-slices", "3", "-no-deblock", "-qp",
                               "24"]),
                       ("mp4", ["-b:v", "100k", "-bufsize", "50k", "-aq-mode", "0"]),
                       ("mp4", ["-pix-fmt", "gray", "-no-scenecut"]),
                       ("264", ["-s", "50x38", "-frames:v", "5"])):
        both(inside, outside, folder, f"{end} {' '.join(words)}", args_of(mp4), *words, end=end)
    both(inside, outside, folder, "a size that changes", args_of(joined))
    both(inside, outside, folder, "a file for each size", args_of(joined), end="mp4")
    both(inside, outside, folder, "10 bits", args_of(deep), ours=False)
    both(inside, outside, folder, "rectangles", ("record", "door", "-c:v", "h264"), "-frames:v",
         "4", end="mkv")


def damaged(inside, outside, folder, source):
    """Streams with bytes that are wrong: what is concealed is encoded, by both ways alike."""
    good = pathlib.Path(source).read_bytes()
    for seed in range(3):
        random.seed(seed)
        bad = bytearray(good)
        for _ in range(4):
            bad[random.randrange(600, len(bad))] ^= 1 << random.randrange(8)
        path = pathlib.Path(folder, "damaged.264")
        path.write_bytes(bad)
        both(inside, outside, folder, f"damage {seed}", ("encode", "-i", str(path)))


def several(d, folder, told, joined, mp4):
    """At the same time, they have the bytes of one at a time. One has a file for each size."""
    alone, once = pathlib.Path(folder, "alone"), pathlib.Path(folder, "once")
    paths = [told, joined, mp4]
    for out in (alone, once):
        out.mkdir()
    for path in paths:
        pelton(d, "encode", "-i", path, "-f", "h264", "-o", str(alone / "%s.264"))
    run = pelton(d, "encode", *[w for p in paths for w in ("-i", p)], "-f", "h264", "-o",
                 str(once / "%s.264"))
    same = [(once / p.name).exists() and p.read_bytes() == (once / p.name).read_bytes()
            for p in sorted(alone.iterdir())]
    check(same == [True] * 4 and run.returncode == 0, f"several: {same} {run.stderr[-200:]!r}")
    bad = pathlib.Path(folder, "refused.264")
    run = pelton(d, "encode", "-i", joined, "-i", mp4, "-level", "1", "-s", "400x400", "-f", "h264",
                 "-o", str(once / "%s.x"))
    check(run.returncode == 2 and b"level 1: the picture has too many" in run.stderr
          and b"choose a higher one" in run.stderr, f"refused: {run.stderr[-200:]!r} {bad.name}")



def killed(d, folder):
    """Each picture once, and a key picture where another worker goes on. The pipe is read slowly,
    so the encoder waits."""
    frames = 60
    source = clip(f"{folder}/long.mp4", "64x48", frames, "-bf", "2")
    out = pathlib.Path(folder, "killed.264")
    run = subprocess.Popen([args.bin + "/pelton", "pipe", "--socket", d.socket, "--timeout", "0",
                            source, "-c:v", "h264", "-f", "h264", "-qp", "4", "--policy",
                            "lossless", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = run.stdout.read(3000)
    workers = t.workers(d.process.pid)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    got += run.stdout.read()
    said = run.stderr.read().decode()
    out.write_bytes(got)
    check(run.wait() == 0 and workers, f"killed: the command goes on {said[-200:]!r}")
    idr = [nal[0] & 31 for nal in got.split(b"\0\0\1")[1:]].count(5)
    found = subprocess.run([args.ffmpeg, "-v", "error", "-err_detect", "explode", "-i", out, "-f",
                            "framemd5", "-"], capture_output=True, text=True)
    shown = [l for l in found.stdout.splitlines() if l[0] != "#"]
    check(len(shown) == frames and not found.stderr and idr >= 2,
          f"killed: {len(shown)} of {frames} pictures, {idr} IDR {found.stderr[-200:]!r}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        told, joined, mp4, deep = clips(folder)
        config = pathlib.Path(folder, "pelton.yaml")
        config.write_text(f"version: 1\nsources:\n  door:\n    uri: \"{mp4}\"\n"
                          "    blur: [[0, 0, 32, 24]]\n")
        more = ["-c", str(config), "-c", f"allow_paths={folder}"]
        with t.Daemon(args, *more, "-c", "debug.encoder=2") as inside, \
                t.Daemon(args, *more, "-c", "debug.encoder=1") as outside:
            t.warm_up(args, inside, mp4)
            began = time.monotonic()
            same_bytes(inside, outside, folder, told, joined, mp4, deep)
            damaged(inside, outside, folder, joined)
            several(inside, folder, told, joined, mp4)
            killed(inside, folder)
            counts = lambda: b"transcoder: " in pelton(inside, "stats").stdout
            check(t.wait_until(counts, 10), "pelton stats counts transcodings")
            print(f"{time.monotonic() - began:.0f} s")
    return t.finish()


sys.exit(main())
