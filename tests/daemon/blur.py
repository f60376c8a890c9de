#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Privacy blur from the command and from a daemon's configuration. Samples inside the rectangles
equal the model; all others stay as without blur. No request gets round the rectangles of the
configuration."""
import pathlib, random, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

W, H = 112, 80


def clip(args, name, pix_fmt, *x264, size=f"{W}x{H}", frames=5):
    path = f"{args.folder}/{name}.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=size={size}:rate=25,format={pix_fmt}", "-frames:v",
                    str(frames), "-c:v", "libx264", "-pix_fmt", pix_fmt, *x264, path], check=True)
    return path


def planes_of(data, shapes, wide):
    """Frames of planes of rows of samples."""
    frames, at, size = [], 0, 2 if wide else 1
    while at < len(data):
        frame = []
        for w, h in shapes:
            raw = data[at:at + size * w * h]
            samples = list(raw) if not wide else [raw[i] | raw[i + 1] << 8
                                                  for i in range(0, len(raw), 2)]
            frame.append([samples[y * w:(y + 1) * w] for y in range(h)])
            at += size * w * h
        frames.append(frame)
    return frames


def cells(luma):
    return max(1, min(8, luma // 16))


def mean(plane, x0, x1, y0, y1):
    values = [v for row in plane[y0:y1] for v in row[x0:x1]]
    return (sum(values) + len(values) // 2) // len(values)


def between(at, size, n):
    u = (2 * at + 1) * n * 32 // size - 32
    return max(u // 64, 0), min(u // 64 + 1, n - 1), u % 64


def model(plane, rects, sx, sy, luma, woven):
    """gpu/shaders/lib/blur.glsl for pictures whose cells have at most 256 samples a side."""
    out = [row[:] for row in plane]
    for x, y, w, h in reversed(rects):
        right, bottom = min(x + w, luma[0]), min(y + h, luma[1])
        nx, ny = cells(right - x), cells(bottom - y)
        left, top, end_x, end_y = x >> sx, y >> sy, (right + sx) >> sx, (bottom + sy) >> sy
        if woven and sy:
            top, end_y = y // 4 * 2, min((bottom + 3) // 4 * 2, len(plane))
        pw, ph = end_x - left, end_y - top
        means = [[mean(plane, left + i * pw // nx, left + (i + 1) * pw // nx, top + j * ph // ny,
                       top + (j + 1) * ph // ny) for i in range(nx)]
                 for j in range(ny)]
        for py in range(ph):
            a, b, fy = between(py, ph, ny)
            for px in range(pw):
                c, d, fx = between(px, pw, nx)
                upper = (64 - fx) * means[a][c] + fx * means[a][d]
                lower = (64 - fx) * means[b][c] + fx * means[b][d]
                out[top + py][left + px] = ((64 - fy) * upper + fy * lower + 2048) >> 12
    return out


def raw(args, daemon, path, *more):
    run = t.decode(args, daemon, path, "rawvideo", *more)
    return run.stdout if run.returncode == 0 else None


def words(rects):
    return [w for r in rects for w in ("--blur", ",".join(map(str, r)))]


def formats(args, daemon):
    rnd = random.Random(int(t.SEED))
    half = ((W, H), (W // 2, H // 2), (W // 2, H // 2))
    cases = [("yuv420p", (), (), half, (1, 1), False, False),
             ("yuv420p", (), ("--pix-fmt", "nv12"), half, (1, 1), False, False),
             ("yuv420p", (), ("--pix-fmt", "gray"), half[:1], (0, 0), False, False),
             ("yuv420p10le", (), (), half, (1, 1), True, False),
             ("yuv422p", (), (), ((W, H), (W // 2, H), (W // 2, H)), (1, 0), False, False),
             ("yuv444p10le", (), (), ((W, H),) * 3, (0, 0), True, False),
             ("yuv420p", ("-flags", "+ildct+ilme"), (), half, (1, 1), False, True)]
    for i, (pix_fmt, x264, more, shapes, shift, wide, woven) in enumerate(cases):
        path = clip(args, f"format{i}", pix_fmt, *x264)
        rects = [(rnd.randrange(W), rnd.randrange(H), rnd.randrange(1, W), rnd.randrange(1, H))
                 for _ in range(1 + i % 3)]
        plain, blurred = raw(args, daemon, path, *more), raw(args, daemon, path, *more,
                                                             *words(rects))
        good = plain and blurred and len(plain) == len(blurred)
        if good and "nv12" in more:  # as three planes
            plain, blurred = map(split_nv12, (plain, blurred))
        for a, b in zip(planes_of(plain, shapes, wide), planes_of(blurred, shapes,
                                                                  wide)) if good else ():
            for p in range(len(shapes)):
                sx, sy = shift if p else (0, 0)
                good &= b[p] == model(a[p], rects, sx, sy, (W, H), woven)
        check(bool(good), f"formats: {pix_fmt} {' '.join(x264 + more)} {rects}")


def split_nv12(data):
    out, size = b"", W * H * 3 // 2
    for at in range(0, len(data), size):
        chroma = data[at + W * H:at + size]
        out += data[at:at + W * H] + chroma[0::2] + chroma[1::2]
    return out


def fields(args, daemon):
    """Fields that leave apart: rows 2r and 2r + 1 of the rectangle."""
    path = clip(args, "fields", "yuv420p", "-flags", "+ildct+ilme")
    plain, blurred = raw(args, daemon, path, "--fields"), raw(args, daemon, path, "--fields",
                                                              "--blur", "16,13,64,31")
    shapes = ((W, H // 2), (W // 2, H // 4), (W // 2, H // 4))
    good = plain and blurred and len(plain) == len(blurred)
    for a, b in zip(planes_of(plain, shapes, False), planes_of(blurred, shapes,
                                                               False)) if good else ():
        for p in range(3):
            good &= b[p] == model(a[p], [(16, 6, 64, 16)], int(p > 0), int(p > 0), (W, H // 2),
                                  False)
    check(bool(good), "fields: each field blurred by itself")


def refused(args, daemon):
    path = clip(args, "refused", "yuv420p")
    for text in ("-1,0,5,5", "1,2,3", "1,2,3,4,5", "0,0,0,5", "0,0,5,0", "a,b,c,d", "", "1,2,3,4x",
                 "70000,0,1,1", "1, 2,3,4", "1,2,3,4;"):
        run = t.decode(args, daemon, path, "rawvideo", "--blur", text)
        check(run.returncode == 2 and not run.stdout and b"--blur" in run.stderr,
              f"refused: {text!r}: exit code {run.returncode}")
    for rect in (f"{W},0,5,5", f"0,{H},5,5"):
        run = t.decode(args, daemon, path, "rawvideo", "--blur", rect)
        check(run.returncode == 2 and not run.stdout and b"outside" in run.stderr,
              f"refused: {rect} of {W}x{H}: {run.stderr[-120:]}")
    run = t.decode(args, daemon, path, "rawvideo", *words([(i, 0, 5, 5) for i in range(17)]))
    check(run.returncode == 2 and not run.stdout, "refused: 17 rectangles")


def sizes(args, daemon):
    """A stream whose pictures become smaller: the rectangle goes with them."""
    paths = [clip(args, "large", "yuv420p", "-bsf:v", "h264_mp4toannexb", size="128x96"),
             clip(args, "small", "yuv420p", size="64x48")]
    both = args.folder + "/sizes.264"
    with open(both, "wb") as f:
        for p in paths:
            f.write(subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", p, "-c", "copy",
                                    "-f", "h264", "-"], capture_output=True, check=True).stdout)
    plain, blurred = raw(args, daemon, both), raw(args, daemon, both, "--blur", "32,24,64,48")
    at = 5 * 128 * 96 * 3 // 2
    half = lambda w, h: ((w, h), (w // 2, h // 2), (w // 2, h // 2))
    good = plain and blurred and len(plain) == len(blurred)
    for begin, end, (w, h), rect in ((0, at, (128, 96), (32, 24, 64, 48)),
                                     (at, None, (64, 48), (16, 12, 32, 24))) if good else ():
        for a, b in zip(planes_of(plain[begin:end], half(w, h), False),
                        planes_of(blurred[begin:end], half(w, h), False)):
            good &= all(b[p] == model(a[p], [rect], int(p > 0), int(p > 0), (w, h), False)
                        for p in range(3))
    check(bool(good), "sizes: the rectangle is scaled where the picture is")


def configured(args, daemon):
    path, config = clip(args, "configured", "yuv420p"), args.folder + "/config.yaml"
    want = raw(args, daemon, path, "--blur", "8,8,64,48", "--blur", "80,40,20,20")
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  door: "
                f"{{uri: \"{path}\", blur: [[8, 8, 64, 48], [80, 40, 20, 20]]}}\n")
    with t.Daemon(args, "-c", config, "-c", "allow_paths=" + args.folder) as other:
        get = lambda *w: subprocess.run([args.bin + "/pelton", w[0], "--socket", other.socket,
                                         "-loglevel", "error", *w[1:]], capture_output=True,
                                        stdin=subprocess.DEVNULL, timeout=args.timeout)
        check(raw(args, other, "source:door") == want, "configured: decode")
        run = get("pipe", "door", "-f", "rawvideo", "--policy", "lossless", "-o", "-")
        check(run.stdout == want, f"configured: pipe {run.stderr}")
        size = W * H * 3 // 2
        shot = get("snapshot", "door", "-f", "rawvideo", "-o", "-").stdout
        check(len(shot) == size and shot in [want[i:i + size] for i in range(0, len(want), size)],
              "configured: snapshot")
        more = raw(args, other, "source:door", "--blur", "0,0,8,8")
        check(more and more != want and len(more) == len(want),
              "configured: a reader may blur more")
        direct = get("pipe", "file:" + path, "-f", "rawvideo", "--policy", "lossless", "-o", "-")
        check(direct.returncode != 0 or direct.stdout == want,
              "configured: the same file by its address")
    for text, what in (("[[1, 2, 3]]", "expected"), ("[1, 2, 3, 4]", "expected"),
                       ("[[]]", "without numbers"), ("[[1, -2, 3, 4]]", "expected"),
                       ("{a: 1}", "blur.a"), ("[[1, 2, 3, 4], {a: 1}]", "mapping"),
                       ("", "expected"), ("[[[1, 2, 3, 4]]]", "list")):
        with open(config, "w") as f:
            f.write(f"version: 1\nsources:\n  door: {{uri: \"{path}\", blur: {text}}}\n")
        run = subprocess.run([args.bin + "/peltond", "--check", "-c", config], capture_output=True,
                             text=True)
        check(run.returncode != 0 and what in run.stdout + run.stderr,
              f"configured: {text}: {(run.stdout + run.stderr).strip()[-90:]}")


def camera(args, daemon):
    """A simulated sensor: the same frames with and without, what a configuration blurs,
    refusals."""
    path, config = clip(args, "scene", "yuv420p", size="128x96",
                        frames=2), args.folder + "/camera.yaml"
    uri = f"sim://{path}?size=128x96&frames=4&seed=1&realtime=no&awb=no&ae.enable=no&fps=1000"
    rects, size = [(33, 21, 70, 40), (0, 90, 500, 500)], 128 * 96 * 3 // 2
    half = ((128, 96), (64, 48), (64, 48))
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  cam: "
                f"{{uri: \"{uri}\", blur: {[list(r) for r in rects]}}}\n  bare: "
                f"{{uri: \"{uri}\"}}\n"
                f"  off: {{uri: \"{uri}\", blur: [[128, 0, 1, 1]]}}\n")
    with t.Daemon(args, "-c", config) as other:
        def get(name, fmt, *more):
            return subprocess.run([args.bin + "/pelton", "pipe", "--socket", other.socket,
                                   "-loglevel", "error", name, "-f", "rawvideo", "--policy",
                                   "lossless",
                                   "--pix-fmt", fmt, "--frames", "4", "-o", "-", *more],
                                   capture_output=True, stdin=subprocess.DEVNULL,
                                   timeout=args.timeout)
        plain, blurred = get("bare", "yuv420p").stdout, get("cam", "yuv420p")
        good = len(plain) == 4 * size and len(blurred.stdout) == 4 * size
        for a, b in zip(planes_of(plain, half, False), planes_of(blurred.stdout, half,
                                                                 False)) if good else ():
            good &= all(b[p] == model(a[p], rects, int(p > 0), int(p > 0), (128, 96), False)
                        for p in range(3))
        check(good, f"camera: configured: {len(plain)} {len(blurred.stdout)} bytes "
                    f"{blurred.stderr[-100:]}")
        same = get("bare", "nv12", *words(rects)).stdout
        check(same == get("cam", "nv12").stdout and len(same) == 4 * size,
              "camera: a reader's own rectangles are the same ones")
        shot = subprocess.run([args.bin + "/pelton", "snapshot", "--socket", other.socket,
                               "-loglevel", "error", "cam", "-f", "rawvideo", "-o", "-"],
                              capture_output=True, timeout=args.timeout).stdout
        check(len(shot) == size and shot in [blurred.stdout[i:i + size]
                                             for i in range(0, 4 * size, size)], "camera: snapshot")
        out = get("off", "yuv420p")
        check(out.returncode == 2 and not out.stdout and b"outside" in out.stderr,
              f"camera: a rectangle outside: {out.returncode} {out.stderr[-120:]}")


TESTS = [camera, formats, fields, refused, sizes, configured]


def main():
    args = t.parser(__doc__).parse_args()
    print(f"PELTON_SEED={t.SEED}")
    with tempfile.TemporaryDirectory() as args.folder, t.Daemon(args) as daemon:
        for test in TESTS:
            if not args.only or args.only in test.__name__:
                test(args, daemon)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
