#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sizes, crops and formats that the daemon makes: the same bytes on the GPU and by the CPU of a
daemon without one, and beside ffmpeg's swscale. A crop alone loses nothing. Wishes that cannot be
met are errors with a hint.

Exit codes: 0, 1, 77 skipped (no ffmpeg with libx264).
"""
import argparse, pathlib, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

WIDTH, HEIGHT, FRAMES = 160, 96, 4
# name, pix_fmt, matrix of x264, matrix and range of swscale
CLIPS = (("709", "yuv420p", "bt709", "bt709", "limited"),
         ("2020", "yuv422p10le", "bt2020nc", "bt2020", "limited"),
         ("full", "yuvj444p", "smpte170m", "bt601", "full"))
WISHES = (("rgb24", 72, 72, ()), ("rgb24", WIDTH, HEIGHT, ()), ("bgra", 96, 48, ()),
          ("rgb24", 64, 64, (20, 10, 120, 80)))
EDGE, EDGE_LEVELS = 12, 8  # where swscale folds the weights of its filters in another way


def run(args, *words):
    return subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", *words], check=True,
                          capture_output=True).stdout


def make(args, folder):
    for name, pix_fmt, matrix, _, scope in CLIPS:
        path = f"{folder}/{name}.mp4"
        run(args, "-f", "lavfi", "-i", f"testsrc2=s={WIDTH}x{HEIGHT}:r=25", "-frames:v",
            str(FRAMES), "-c:v", "libx264", "-pix_fmt", pix_fmt, "-x264-params",
            f"colormatrix={matrix}:range={'pc' if scope == 'full' else 'tv'}", path)
        yield name, path


def options_of(wish):
    pix_fmt, width, height, crop = wish
    crop = ("--crop", ",".join(map(str, crop))) if crop else ()
    return ("--pix-fmt", pix_fmt, "-s", f"{width}x{height}", *crop)


def theirs(args, path, wish, clip):
    """swscale with the places of chroma and the colours that the stream has."""
    pix_fmt, width, height, crop = wish
    x, y, w, h = crop or (0, 0, WIDTH, HEIGHT)
    places = {"yuv420p": "in_h_chr_pos=0:in_v_chr_pos=128:", "yuv422p10le": "in_h_chr_pos=0:"}
    scale = (f"scale={width}:{height}:flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:"
             + places.get(clip[1], "") + f"in_color_matrix={clip[3]}:in_range={clip[4]}")
    return run(args, "-i", path, "-vf", f"crop={w}:{h}:{x}:{y},{scale}", "-pix_fmt", pix_fmt, "-f",
               "rawvideo", "-")


def differences(ours, peer, wish):
    """The largest one inside, and at the edges."""
    pix_fmt, width, height, _ = wish
    step, inside, outside = 4 if pix_fmt == "bgra" else 3, 0, 0
    for i, (a, b) in enumerate(zip(ours, peer)):
        if a != b:
            x, y = i // step % width, i // step // width % height
            at_edge = min(x, y, width - 1 - x, height - 1 - y) < EDGE
            inside, outside = ((inside, max(outside, abs(a - b))) if at_edge
                               else (max(inside, abs(a - b)), outside))
    return inside, outside


def pictures(args, daemons, folder, check):
    for clip, (name, path) in zip(CLIPS, make(args, folder)):
        for wish in WISHES:
            what = "%s to %s" % (name, " ".join(options_of(wish)))
            got = [t.decode(args, d, path, "rawvideo", *options_of(wish)) for d in daemons]
            check(what, not any(g.returncode for g in got), t.failure(got[0]))
            check(what + ": GPU and CPU", got[0].stdout == got[1].stdout, "other bytes")
            peer = theirs(args, path, wish, clip)
            check(what + ": size", len(peer) == len(got[0].stdout), len(got[0].stdout))
            inside, outside = differences(got[0].stdout, peer, wish)
            check(what + ": swscale", inside <= 1 and outside <= EDGE_LEVELS, (inside, outside))


def planes(args, daemons, folder, check):
    """Planar formats: smaller, cropped, blurred before both."""
    path = f"{folder}/709.mp4"
    for options in (("-s", "80x48"), ("-s", "81x47", "--filter", "area"),
                    ("-s", "200x100", "--filter", "bilinear", "--pix-fmt", "yuv444p"),
                    ("--crop", "3,5,33,21", "--pix-fmt", "nv12"),
                    ("-s", "64x64", "--pix-fmt", "gray")):
        got = [t.decode(args, d, path, "rawvideo", *options).stdout for d in daemons]
        check(" ".join(options), got[0] and got[0] == got[1], "other bytes")
    ours = t.decode(args, daemons[0], path, "rawvideo", "--crop", "20,10,120,80").stdout
    peer = run(args, "-i", path, "-vf", "crop=120:80:20:10", "-f", "rawvideo", "-")
    check("a crop alone", ours == peer, "not ffmpeg's samples")
    plain, blurred = (t.decode(args, daemons[0], path, "rawvideo", "--pix-fmt", "rgb24", "-s",
                               "80x48", *more).stdout for more in ((), ("--blur", "0,0,80,96")))
    row = 80 * 3
    check("blurred before it is scaled", plain[:40] != blurred[:40]
          and plain[row - 90:row] == blurred[row - 90:row], "another part")


def refused(args, daemons, folder, check):
    path = f"{folder}/709.mp4"
    for options, code, text in (
            (("--crop", "150,0,20,20"), 2, "the crop 20x20 at 150,0 lies outside"),
            (("-s", "2x2"), 2, "a side changes by at most 64 times"),
            (("-s", "0x2"), 2, "a side has 1 to 16384 pixels"),
            (("--crop", "1,2,3"), 2, "left, top, width and height")):
        for daemon in daemons:
            run_ = t.decode(args, daemon, path, "null", *options)
            words = run_.stderr.decode()
            check("refused " + " ".join(options),
                  run_.returncode == code and text in words and "hint:" in words, words)


def main():
    args = t.parser(__doc__).parse_args()
    if not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    bad = []

    def check(name, good, why=""):
        if not good:
            bad.append(name)
            print("FAILED %s: %s" % (name, why))

    without = argparse.Namespace(**{**vars(args), "device": "libavcodec", "set": []})
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as gpu, t.Daemon(without) as cpu:
        for group in (pictures, planes, refused):
            group(args, (gpu, cpu), folder, check)
    print("%d failures" % len(bad))
    return 1 if bad else 0


sys.exit(main())
