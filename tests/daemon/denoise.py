#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Luminance denoise on the simulated sensor: PSNR against the same scene without noise, in linear
light and after the tone curve."""
import math, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

CLIP = t.ROOT.parent / "shared/streams/clips/street-1080p-crf23.mp4"
SIZE, FRAMES = (320, 180), 2


def frames(args, scene, fmt, **keys):
    w, h = SIZE
    keys = {"size": f"{w}x{h}", "frames": FRAMES, "scene_frames": 1, "realtime": "no", "awb": "no",
            "ae.enable": "no", "seed": t.SEED, "tone": "srgb", **keys}
    uri = f"sim://{scene}?" + "&".join(f"{k}={v}" for k, v in keys.items())
    run = subprocess.run([args.bin + "/pelton", "pipe", "--device", args.device, "-loglevel",
                          "error", uri, "-f", "rawvideo", "--policy", "lossless", "--pix-fmt", fmt,
                          "--frames", str(FRAMES), "-o", "-"], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=args.timeout)
    if run.returncode == 7:
        sys.exit(t.SKIPPED)
    bytes_ = {"gray": 1, "rgb24": 3}[fmt] * w * h * FRAMES
    assert run.returncode == 0 and len(run.stdout) == bytes_, (uri, run.returncode,
                                                               len(run.stdout), run.stderr)
    return run.stdout


def psnr(a, b):
    return 10 * math.log10(255 ** 2 * len(a) / sum((x - y) ** 2 for x, y in zip(a, b)))


def main():
    p = t.parser(__doc__)
    p.add_argument("--electrons", type=int, default=1000)
    p.add_argument("--strength", type=float, default=1)
    args = p.parse_args()
    print("PELTON_SEED=" + t.SEED)
    with tempfile.TemporaryDirectory() as folder:
        scene = folder + "/scene.mp4"
        source = ["-i", str(CLIP)] if CLIP.exists() else ["-f", "lavfi", "-i",
                                                          "testsrc2=size=640x360", "-vf", "gblur=2"]
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", *source,
                        *(["-vf", "scale=640:360"] if CLIP.exists() else []), "-frames:v", "1",
                        "-c:v", "libx264",
                        "-pix_fmt", "yuv420p", scene], check=True)
        for fmt in ("gray", "rgb24"):
            clean = frames(args, scene, fmt, electrons=0, noise=0)
            noisy = psnr(clean, frames(args, scene, fmt, electrons=args.electrons))
            better = psnr(clean, frames(args, scene, fmt, electrons=args.electrons,
                                        denoise=args.strength))
            print(f"{args.electrons} electrons, {fmt}: {noisy:.2f} dB, denoise {args.strength}: "
                  f"{better:.2f} dB")
            assert better > noisy + (0.5 if CLIP.exists() else 0.1), (fmt, noisy, better)
        wrong = subprocess.run([args.bin + "/pelton", "pipe", "--device", args.device,
                                f"sim://{scene}?denoise=2", "-f", "null", "-o", "-"],
                                capture_output=True, text=True)
        assert wrong.returncode != 0 and "denoise=2" in wrong.stderr, wrong.stderr


main()
