#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Encodes small clips of random sizes with random settings: each stream is decoded by FFmpeg with
-err_detect explode and by refdec, and both give the encoder's reconstruction. A device, under
validation layers, gives the same bytes. Some settings cannot be: they are refused in a line.

  random_settings.py                    a sample by the day's seed
  random_settings.py --count 2000 --bin build-asan/bin --device-bin build/bin --share 20
  random_settings.py --case 17          that one alone

Exit codes: 0, 1, 77 skipped (no FFmpeg).
"""
import pathlib, random, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t

WIDTH, HEIGHT, LENGTH = 256, 192, 12 # of the clips that windows are cut from
SCENES = ("testsrc2=s={s}", "mandelbrot=s={s}:end_pts=40", "testsrc2=s={s},rotate=t*0.7",
          "life=s={s}:mold=10:r=25:ratio=0.1:death_color=#C83232:life_color=#00ff00",
          "testsrc2=s={s},noise=alls=60:allf=t", "smptebars=s={s},fade=in:0:6",
          "cellauto=s={s}:scroll=1,boxblur=2", "color=gray:s={s}")
RATES = ("25:1", "25:1", "30000:1001", "50:1", "1:1", "12:1", "120:1")
LEVELS = (9, 10, 11, 12, 13, 20, 21, 22, 30, 31, 32, 40, 41, 42, 50, 51, 52, 60, 61, 62)


def make_scenes():
    """Planes of 4:2:0 by scene and picture"""
    scenes, sizes = [], (WIDTH * HEIGHT, WIDTH * HEIGHT // 4, WIDTH * HEIGHT // 4)
    for scene in SCENES:
        run = subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                              scene.format(s=f"{WIDTH}x{HEIGHT}") + ",format=yuv420p",
                              "-frames:v", str(LENGTH), "-f", "rawvideo", "-"],
                             capture_output=True, check=True)
        at, pictures = 0, []
        for _ in range(LENGTH):
            planes = []
            for size in sizes:
                planes.append(run.stdout[at:at + size])
                at += size
            pictures.append(planes)
        scenes.append(pictures)
    return scenes


def window(plane, stride, x, y, width, height):
    return b"".join(plane[(y + row) * stride + x:(y + row) * stride + x + width]
                    for row in range(height))


def write_clip(rng, scenes, path, width, height, gray, frames):
    """A window that moves over one scene, or over two, one after the other"""
    scene, cut = rng.choice(scenes), rng.randrange(1, frames + 1) if rng.random() < 0.3 else frames
    x, y = rng.randrange(WIDTH - width + 1), rng.randrange(HEIGHT - height + 1)
    step = [rng.choice((0, 0, 1, 2, 7, 30)) * rng.choice((-1, 1)) for _ in range(2)]
    rate = rng.choice(RATES)
    with open(path, "wb") as out:
        out.write(f"YUV4MPEG2 W{width} H{height} F{rate} {'Cmono' if gray else 'C420'}\n".encode())
        for i in range(frames):
            scene = rng.choice(scenes) if i == cut else scene
            planes = scene[i % LENGTH]
            x, y = ((at + by) % (most + 1) for at, by, most in
                    ((x, step[0], WIDTH - width), (y, step[1], HEIGHT - height)))
            out.write(b"FRAME\n" + window(planes[0], WIDTH, x, y, width, height))
            for plane in planes[1:] if not gray else ():
                out.write(window(plane, WIDTH // 2, x // 2, y // 2, (width + 1) // 2,
                                 (height + 1) // 2))
    return rate


def rate_options(rng, macroblocks, rate):
    """A rate that is about what the pictures need, or far from it"""
    num, den = map(int, rate.split(":"))
    second = int(macroblocks * 384 * 8 * num / den)
    bits = max(64, int(second * rng.choice((0.001, 0.01, 0.05, 0.05, 0.2, 0.5))))
    kind = rng.choice(("--bit-rate", "--max-rate"))
    options = [kind, str(bits)]
    if rng.random() < 0.6:
        options += ["--buffer", str(int(bits * rng.choice((0.2, 0.5, 1, 3))))]
    return options


def settings(rng, gray, rows):
    """Settings that no one may refuse"""
    profile = "high" if gray else rng.choice(("baseline", "main", "high", "high", "high"))
    options = ["--profile", profile, "--references", str(rng.randint(1, 4)), "--slices",
               str(rng.randint(1, min(4, rows)))]
    options += rng.choice((["--qp", str(rng.choice((0, 51, rng.randint(1, 50), 26)))],
                           ["--crf", str(rng.randint(0, 51))]))
    for chance, more in ((0.4, ["--cavlc"]), (0.3, ["--no-8x8"]), (0.3, ["--qp-offsets"]),
                         (0.4, ["--adaptive"]), (0.4, ["--scene-cuts"]),
                         (0.3, ["--idr", str(rng.randint(1, 6))]),
                         (0.5, ["--deblocking", str(rng.randint(0, 2))]),
                         (0.4, ["--filter-offsets", f"{rng.randint(-6, 6)},{rng.randint(-6, 6)}"]),
                         (0.2, ["--threads", str(rng.randint(2, 5))])):
        if rng.random() < chance:
            options += more
    if rng.random() < 0.3 and not gray:
        options += ["--chroma-qp-offset", str(rng.randint(-12, 12))]
    return options


def wild(rng, options):
    """Something that may not be"""
    return options + rng.choice((
        ["--level", str(rng.choice(LEVELS + (0, 5, 63, 255)))],
        ["--references", str(rng.choice((0, 5, 16, 255)))],
        ["--slices", str(rng.choice((0, 5, 200)))],
        ["--qp", str(rng.choice((-1, 52, 1000)))], ["--deblocking", "3"],
        ["--filter-offsets", f"{rng.randint(-20, 20)},{rng.randint(-20, 20)}"],
        ["--chroma-qp-offset", str(rng.choice((-13, 13, 500)))],
        ["--bit-rate", str(rng.choice((1, 63, 64, 2 ** 31, 2 ** 40, 2 ** 63)))],
        ["--max-rate", str(rng.choice((1, 128, 2 ** 33)))],
        ["--bit-rate", "1000000", "--buffer", str(rng.choice((1, 1000, 2 ** 30, 2 ** 50)))]))


def case_of(rng, scenes, path, frames):
    """(options, whether they may be refused)"""
    gray, may_fail = rng.random() < 0.15, rng.random() < 0.2
    step = 1 if gray or (may_fail and rng.random() < 0.3) else 2
    small = rng.random() < 0.2
    width, height = (rng.randrange(step, (34 if small else most) + 1, step) for most in (200, 120))
    rate = write_clip(rng, scenes, path, width, height, gray, frames)
    rows, columns = (height + 15) // 16, (width + 15) // 16
    options = settings(rng, gray, rows)
    if rng.random() < 0.3:
        options += rate_options(rng, rows * columns, rate)
        may_fail = True # such a rate may be too low, or the buffer too small
    return (wild(rng, options) if may_fail and rng.random() < 0.6 else options), may_fail


def run_encoder(folder, clip, options, out, *more):
    return subprocess.run([folder + "/refenc", clip, "-o", out, *more, *options],
                          capture_output=True, text=True, timeout=t.patience(120))


def is_refused(run):
    """A line, and no report of a sanitizer"""
    lines = run.stderr.strip().splitlines()
    return run.returncode == 1 and len(lines) == 1 and ":" in lines[0] and "runtime" not in lines[0]


def by_ffmpeg(out, gray):
    return subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-err_detect", "explode", "-flags",
                           "unaligned", "-i", out, "-fps_mode", "passthrough",
                           *(("-vf", "extractplanes=y") if gray else ()), "-f", "rawvideo", "-"],
                          capture_output=True)


def wrong_in(args, folder, clip, options, may_fail, on_device):
    """(None or what is wrong, whether it was refused)"""
    out, recon, again = (f"{folder}/{n}" for n in ("out.264", "recon.yuv", "device.264"))
    run = run_encoder(args.bin, clip, options, out, "--recon", recon)
    if run.returncode:
        good = may_fail and is_refused(run)
        return (None if good else f"refenc exits with {run.returncode}: {run.stderr[-400:]}"), True
    made = pathlib.Path(recon).read_bytes()
    found = by_ffmpeg(out, b"Cmono" in open(clip, "rb").readline())
    if found.returncode or found.stderr:
        return f"FFmpeg: {found.stderr.decode(errors='replace')[:300]}", False
    if found.stdout != made:
        return "FFmpeg's frames differ from the encoder's reconstruction", False
    run = subprocess.run([args.bin + "/refdec", "--compare", recon, out], capture_output=True,
                         text=True)
    if run.returncode:
        return f"refdec: {run.stdout[:200]} {run.stderr[-300:]}", False
    if not on_device:
        return None, False
    run = run_encoder(args.device_bin, clip, options, again, "--device", args.device)
    if run.returncode or run.stderr:
        return f"{args.device}: {run.returncode}: {run.stderr[-400:]}", False
    same = pathlib.Path(again).read_bytes() == pathlib.Path(out).read_bytes()
    return (None if same else f"{args.device} makes other bytes"), False


def main():
    p = t.parser(__doc__)
    p.add_argument("--count", type=int, default=24)
    p.add_argument("--frames", type=int, default=6)
    p.add_argument("--share", type=int, default=12, help="each so many-th on the device, too")
    p.add_argument("--device-bin", help="its refenc runs on the device; --bin")
    p.add_argument("--case", type=int)
    args = t.parsed(p)
    args.device = "llvmpipe" if args.device in ("cpu", "auto", None) else args.device
    args.device_bin = args.device_bin or args.bin
    begun, failed, refused, devices = time.monotonic(), 0, 0, 0
    scenes = make_scenes()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.count) if args.case is None else [args.case]:
            rng, clip = random.Random(f"{t.SEED}-{i}"), f"{folder}/clip.y4m"
            options, may_fail = case_of(rng, scenes, clip, args.frames)
            on_device = args.share > 0 and i % args.share == 0
            wrong, was_refused = wrong_in(args, folder, clip, options, may_fail, on_device)
            refused += was_refused
            devices += on_device and not was_refused
            if wrong:
                failed += 1
                head = open(clip, "rb").readline().decode().strip()
                print(f"FAILED {i} of seed {t.SEED}: {head}: {' '.join(options)}: {wrong}",
                      flush=True)
    print(f"{args.count} encodings of seed {t.SEED}: {refused} refused, {devices} on {args.device} "
          f"under validation layers, {failed} failed, {time.monotonic() - begun:.0f} s")
    return failed > 0


sys.exit(main())
