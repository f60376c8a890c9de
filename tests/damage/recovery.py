#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The end of damage, and starts in mid-stream.

  recovery.py --bin DIR [--device D]

Streams have gradual intra refresh, open groups of pictures, or IDR pictures. The test damages one
slice, or begins in between. Frames that are not bit-exact carry the CORRUPT flag, and a recovery
point or an IDR picture ends it. A stream that begins in between shows nothing before its recovery
point unless asked to. drop leaves the damaged frames out; fail ends with exit code 6.

Exit codes: 0, 1, 77 skipped (no ffmpeg or x264).
"""
import pathlib, random, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

STREAMS = {
    "refresh": "--intra-refresh --keyint 8 --bframes 0 --ref 1",
    "open": "--open-gop --keyint 10 --bframes 3 --b-adapt 0 --no-weightb",
    "idr": "--keyint 9 --bframes 2 --slices 2",
}
CORRUPT = 2
SHOW, DROP, FAIL, ALL = 0, 1, 2, 3
errors = 0


def expect(what, got, want):
    global errors
    if got != want:
        errors += 1
        print("FAIL %s: %s instead of %s" % (what, got, want))


def encode(args, folder, name):
    y4m, out = folder + "/a.y4m", "%s/%s.264" % (folder, name)
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    "testsrc2=size=192x112:rate=25", "-frames:v", "40", "-pix_fmt",
                    "yuv420p", y4m], check=True)
    subprocess.run(["x264", "--quiet", "--no-progress", "--threads", "1", "--crf", "24",
                    "--no-scenecut", "--rc-lookahead", "10", *STREAMS[name].split(),
                    "-o", out, y4m], check=True, capture_output=True)
    return pathlib.Path(out).read_bytes()


def units_of(data):
    return [u for u in re.split(b"(?=\0\0\1)", data) if len(u) > 3]


def decode(args, folder, data, on_error=SHOW):
    """Exit code, and (MD5, flags) of each frame."""
    path = folder + "/d.264"
    pathlib.Path(path).write_bytes(data)
    run = subprocess.run([args.bin + "/session_decode", "--device", args.device, "--frames",
                          "--on-error", str(on_error), path],
                         capture_output=True, text=True, timeout=args.timeout)
    return run.returncode, [(l.split()[4], int(l.split()[3])) for l in run.stdout.splitlines()[:-1]]


def check_damage(args, folder, name, data, r):
    units = units_of(data)
    slices = [i for i, u in enumerate(units) if u[3] & 31 in (1, 5)]
    truth = [md5 for md5, _ in decode(args, folder, data)[1]]
    hit = r.choice(slices[3:14])
    cut = units[hit][:len(units[hit]) // 2]
    damaged = b"".join(units[:hit] + [cut] + units[hit + 1:])
    code, frames = decode(args, folder, damaged)
    inexact = [i for i, (md5, _) in enumerate(frames) if md5 != truth[i]]
    expect("%s: exit code and frames" % name, (code, len(frames)), (0, len(truth)))
    flagged = [i for i, (_, flags) in enumerate(frames) if flags & CORRUPT]
    expect("%s: not exact and not flagged" % name, [i for i in inexact if i not in flagged], [])
    expect("%s: damage is there, and the flag ends" % name, bool(inexact)
           and flagged[-1] < len(truth) - 5, True)
    code, kept = decode(args, folder, damaged, DROP)
    expect("%s: drop" % name, (code, [md5 for md5, _ in kept]),
           (0, [m for i, m in enumerate(truth) if i not in flagged]))
    expect("%s: fail" % name, decode(args, folder, damaged, FAIL)[0], 6)


def check_start(args, folder, name, data):
    units = units_of(data)
    slices = [i for i, u in enumerate(units) if u[3] & 31 in (1, 5)]
    truth = [md5 for md5, _ in decode(args, folder, data)[1]]
    late = b"".join([u for u in units if u[3] & 31 in (7, 8)][:2] + units[slices[5]:])
    code, frames = decode(args, folder, late)
    md5s = [md5 for md5, _ in frames]
    expect("%s: start in between: exit code" % name, code, 0)
    expect("%s: start in between: frames are the last of the stream" % name, bool(md5s)
           and truth[-len(md5s):] == md5s, True)
    expect("%s: start in between: flags" % name, [flags for _, flags in frames if flags & CORRUPT],
           [])
    code, every = decode(args, folder, late, ALL)
    expect("%s: start in between, all" % name, (code, len(every) > len(frames),
                                                every[0][1] & CORRUPT), (0, True, CORRUPT))
    expect("%s: start in between, all: the same end" % name,
           [md5 for md5, _ in every][-len(md5s):], md5s)


def main():
    p = t.parser(__doc__)
    p.add_argument("--seed", default=t.SEED)
    args = p.parse_args()
    if not shutil.which("x264") or not shutil.which(args.ffmpeg):
        print("skipped: no x264 or ffmpeg")
        return t.SKIPPED
    print("seed %s" % args.seed)
    with tempfile.TemporaryDirectory() as folder:
        for name in STREAMS:
            data = encode(args, folder, name)
            check_damage(args, folder, name, data, random.Random("%s %s" % (args.seed, name)))
            check_start(args, folder, name, data)
    print("%d streams, %d errors" % (len(STREAMS), errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
