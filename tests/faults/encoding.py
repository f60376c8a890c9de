#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The device is lost while pelton encode runs on it: the user reads so, the device is opened again
or the CPU goes on, and the picture that waited becomes an IDR picture. No picture is missing, and
FFmpeg and pelton decode the same.

  encoding.py --bin DIR --library FILE [--device D] [--losses N]

Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import argparse, os, pathlib, random, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import peltontest as t
from peltontest import check
from faults import FILE

DEMO = str(t.ROOT / "packaging/demo.mp4")
PICTURES = 12


def encode(args, d, out, of, number):
    """(run, submissions); the submission of that number fails, 0: none"""
    pathlib.Path(out).unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile() as file:
        file.write(FILE.pack(0, number, b""))
        file.flush()
        env = {**os.environ, "LD_PRELOAD": args.library, "PELTON_FAULT_FILE": file.name,
               "PELTON_FAULT_OF": of}
        run = subprocess.run([args.bin + "/pelton", "encode", "--socket", d.socket, "--device",
                              args.device, "-i", DEMO, "-y", "-o", out, "-s", "64x48",
                              "-frames:v", str(PICTURES), "-g", "999", "-no-scenecut", "-refs", "2",
                              "-qp", "30"], env=env, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=t.patience(300))
        return run, FILE.unpack(open(file.name, "rb").read(FILE.size))[0]


def keys(path):
    run = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "packet=flags", "-of",
                          "csv=p=0", path], capture_output=True, text=True)
    lines = run.stdout.split()
    return len(lines), [i for i, flags in enumerate(lines) if "K" in flags]


def hashes(args, d, path):
    """(pelton's, FFmpeg's)"""
    ours = t.decode(args, d, path, "framemd5").stdout.decode()
    run = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-err_detect", "explode", "-i",
                          path, "-fps_mode", "passthrough", "-f", "framemd5", "-"],
                         capture_output=True, text=True)
    both = [[l.rsplit(",", 1)[1].strip() for l in text.splitlines() if l[0] != "#"]
            for text in (ours, run.stdout)]
    return both[0], both[1] + run.stderr.splitlines()


def one_loss(args, d, out, of, number, again):
    stretch = t.Stretch()
    run, _ = encode(args, d, out, of, number)
    what = f"{of} at submission {number}"
    said = re.search(r"(is open again|the CPU encodes) after ([\d.]+) s", run.stderr)
    check(run.returncode == 0 and "the device was lost while it encoded" in run.stderr
          and said and said[1].startswith("is" if again else "the"),
          f"{what}: {run.returncode}, {run.stderr[-300:]!r}")
    count, at = keys(out)
    check(count == PICTURES and at[:1] == [0] and len(at) <= 2,
          f"{what}: {count} pictures, key pictures at {at}")
    ours, theirs = hashes(args, d, out)
    check(len(ours) == PICTURES and ours == theirs, f"{what}: {len(ours)} frames by both decoders")
    if said:
        t.check_time(check, float(said[2]) < t.patience(1), stretch, f"{what}: after {said[2]} s")


def main():
    p = t.parser(__doc__)
    p.add_argument("--library", required=True)
    p.add_argument("--losses", type=int, default=2)
    args = t.parsed(p, "ffprobe")
    rng = random.Random(t.SEED)
    plain = argparse.Namespace(**{**vars(args), "device": "libavcodec"})
    if args.device in ("cpu", "auto", None):
        args.device = "llvmpipe"
    with t.Daemon(plain) as d, tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out.mp4"
        run, most = encode(args, d, out, "lost_device", 0)
        check(run.returncode == 0 and most > PICTURES and "lost" not in run.stderr,
              f"no loss: {most} submissions {run.stderr[-200:]!r}")
        for of, again in (("lost_device", True), ("lost", False)):
            for _ in range(args.losses):
                one_loss(args, d, out, of, rng.randrange(1, most + 1), again)
    return t.finish()


sys.exit(main())
