#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Encodes clips with random settings (refenc): the encoder's reconstruction, FFmpeg's decode and
pelton's (refdec: codec/ and the slow reference) are equal, every frame. FFmpeg must find no error.

  drift.py                  clips of the day's seed
  drift.py --count 300      so many pairs of clip and settings
  drift.py --clip a.y4m     that clip instead of built ones
  drift.py --frames 10000   so many pictures of each

Exit codes: 0 all equal, 1 not, 77 skipped (no FFmpeg).
"""
import pathlib, random, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t

# Sources of FFmpeg's: still and moving, flat and detailed, noise, a cut, a fade
SCENES = ("testsrc2=s={s},format=yuv420p", "mandelbrot=s={s}:end_pts=40,format=yuv420p",
          "life=s={s}:mold=10:r=25:ratio=0.1:death_color=#C83232:life_color=#00ff00,format=yuv420p",
          "testsrc2=s={s},format=yuv420p,noise=alls=12:allf=t",
          "testsrc2=s={s},format=yuv420p,rotate=t*0.7", "smptebars=s={s},format=yuv420p,fade=in:0:6",
          "cellauto=s={s}:scroll=1,format=yuv420p,boxblur=2")


def clip(folder, rng, frames):
    """A built clip: path, description, settings that suit it."""
    gray = rng.random() < 0.15
    step = 1 if gray else 2 # 4:2:0 crops by two
    width, height = (rng.randrange(16, end, step) for end in (130, 110))
    scene = rng.choice(SCENES).format(s=f"{width}x{height}") + (",format=gray" if gray else "")
    path = f"{folder}/clip.y4m"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", scene, "-frames:v",
                    str(frames), path], check=True)
    head = dict((word[:1], word[1:]) for word in open(path, "rb").readline().decode().split())
    rows = (int(head["H"]) + 15) // 16 # FFmpeg's sources may round the height
    return path, scene, settings(rng, gray, min(4, rows))


def settings(rng, gray=False, slices=4):
    profile = "high" if gray else rng.choice(("baseline", "main", "high", "high", "high"))
    found = ["--profile", profile, "--qp", str(rng.choice((0, rng.randint(0, 51), 24, 30))),
             "--references", str(rng.randint(1, 4)), "--slices", str(rng.randint(1, slices))]
    if rng.random() < 0.4:
        found.append("--cavlc")
    if rng.random() < 0.3:
        found.append("--no-8x8")
    if rng.random() < 0.4:
        found.append("--qp-offsets")
    if rng.random() < 0.3:
        found += ["--idr", str(rng.randint(2, 6))]
    if rng.random() < 0.4:
        found += ["--deblocking", str(rng.randint(0, 2))]
    if rng.random() < 0.4:
        found += ["--threads", str(rng.randint(2, 5))]
    if rng.random() < 0.3 and not gray:
        found += ["--chroma-qp-offset", str(rng.randint(-12, 12))]
    return found


def difference(args, path, options, folder):
    """None, or what is wrong. FFmpeg adds chroma to luma alone, which is not compared."""
    luma = b"Cmono" in open(path, "rb").readline()
    out, recon = f"{folder}/out.264", f"{folder}/recon.yuv"
    run = subprocess.run([args.bin + "/refenc", path, "-o", out, "--recon", recon, "--frames",
                          str(args.frames), *options], capture_output=True, text=True)
    if run.returncode:
        return f"refenc exits with {run.returncode}: {run.stderr}"
    run = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-err_detect", "explode", "-flags",
                          "unaligned", "-i", out, "-fps_mode", "passthrough",
                          *(("-vf", "extractplanes=y") if luma else ()), "-f", "rawvideo", "-"],
                         capture_output=True)
    if run.returncode or run.stderr:
        return f"FFmpeg: {run.stderr.decode(errors='replace')[:300]}"
    if run.stdout != pathlib.Path(recon).read_bytes():
        return "FFmpeg's frames differ from the encoder's reconstruction"
    run = subprocess.run([args.bin + "/refdec", "--compare", recon, out], capture_output=True,
                         text=True)
    return f"refdec: {run.stdout[:200]} {run.stderr[:200]}" if run.returncode else None


def main():
    p = t.parser(__doc__)
    p.add_argument("--count", type=int, default=12)
    p.add_argument("--frames", type=int, default=8)
    p.add_argument("--clip")
    args = t.parsed(p)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.count):
            seed = f"{t.SEED}{i:03}"
            rng = random.Random(seed)
            path, name, options = ((args.clip, args.clip, settings(rng)) if args.clip else
                                   clip(folder, rng, args.frames))
            wrong = difference(args, path, options, folder)
            if wrong:
                failed += 1
                print(f"seed {seed}: {name}: refenc {' '.join(options)}: {wrong}")
    print(f"{args.count} pairs of clip and settings, {args.frames} pictures at most each, "
          f"{failed} differ")
    return failed > 0


sys.exit(main())
