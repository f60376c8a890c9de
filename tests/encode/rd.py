#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bits at equal quality: pelton's encoder against x264 (FFmpeg's libx264) at constant QP, as
BD-rate of luma (Bjontegaard: the mean distance of two curves of rate over PSNR; piecewise cubic
curves).

  rd.py                          all clips, 12 frames; tables
  rd.py --clips street,noise --frames 30
  rd.py --most 10                fails where High is more than 10 percent above the goal's encoder
  rd.py --svg docs/encoder-rate.svg   draws the curves, too
  rd.py --adaptive               the adaptive quantiser against none, by PSNR and by SSIM
  rd.py --tools                  High without one tool, or with more, against High as it is

Clips are made by FFmpeg, or come from the manifest's streams. A clip that is not there is named as
skipped. Exit codes: 0, 1 above --most or a failure, 77 skipped (no FFmpeg with libx264).
"""
import argparse, concurrent.futures, math, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t

STREAMS = pathlib.Path(os.environ.get("PELTON_STREAMS") or t.ROOT.parent / "shared" / "streams")
QPS = (20, 25, 30, 35)
# name: (what it is, input of FFmpeg, filter); {s} is the folder of the streams
CLIPS = {
    "street": ("a street, moving camera, 640x360", "{s}/clips/street-1080p-original.264",
               "scale=640:360:flags=bicubic"),
    "detail": ("the same, 640x368 of 1080p", "{s}/clips/street-1080p-original.264",
               "crop=640:368:600:300"),
    "people": ("a talking head, 352x288", "{s}/jvt/CI1_FT_B.264", "null"),
    "sport": ("fast motion, 352x288", "{s}/jvt/HCBP2_HHI_A.264", "null"),
    "screen": ("graphics with text, 352x288", "testsrc2=size=352x288:rate=25", "null"),
    "noise": ("a still scene by night with noise, 352x288", "smptehdbars=size=352x288:rate=25",
              "gblur=20,noise=alls=12:allf=t:all_seed=7"),
    "zoom": ("a zoom into fine detail, 352x288", "mandelbrot=size=352x288:rate=25",
             "hue=s=0.5"),
}
OURS = {
    "High, CABAC": [],
    "Constrained Baseline": ["--profile", "baseline"],
}
TOOLS = {
    "CAVLC": ["--cavlc"],
    "no 8x8 transform": ["--no-8x8"],
    "no deblocking": ["--deblocking", "1"],
    "two references": ["--references", "2"],
    "four references": ["--references", "4"],
    "four slices": ["--slices", "4"],
    "an I picture in four": ["--idr", "4"],
}
X264 = {
    "superfast": ["-preset", "superfast", "-bf", "0"],
    "veryfast": ["-preset", "veryfast", "-bf", "0"],
    "superfast, baseline": ["-preset", "superfast", "-profile:v", "baseline"],
}
GOALS = [("High, CABAC", "superfast"), ("High, CABAC", "veryfast"),
         ("Constrained Baseline", "superfast, baseline")]


def ffmpeg(*words):
    run = subprocess.run(["ffmpeg", "-nostdin", "-hide_banner", "-y", *map(str, words)],
                         capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"ffmpeg {' '.join(map(str, words))}: {run.stderr[-400:]}")
    return run.stderr


def make_clip(name, frames, path):
    """False: its source is not there"""
    _, source, look = CLIPS[name]
    source = source.format(s=STREAMS)
    if "=" in source:
        given = ["-f", "lavfi", "-i", source]
    elif not pathlib.Path(source).exists():
        return False
    else:
        given = ["-i", source]
    ffmpeg(*given, "-vf", look, "-frames:v", frames, "-pix_fmt", "yuv420p", "-r", 25, path)
    return True


def quality(path, clip, measure="psnr"):
    """PSNR of luma, of the mean square error of all frames; or its mean SSIM, in dB, too"""
    said = ffmpeg("-r", 25, "-i", path, "-r", 25, "-i", clip, "-lavfi",
                  f"[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]{measure}", "-f",
                  "null", "-")
    if measure == "ssim":
        return -10 * math.log10(1 - float(re.search(r"SSIM Y:([\d.]+)", said)[1]))
    return float(re.search(r"PSNR y:([\d.]+|inf)", said)[1])


def encode_ours(args, options, clip, qp, out):
    run = subprocess.run([args.encoder, clip, "-o", out, "--qp", str(qp), *options],
                         capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{args.encoder}: {run.stderr[-400:]}")


def encode_x264(options, clip, qp, out):
    """As x264's own program does it, but for the SEI message with its options"""
    ffmpeg("-i", clip, "-c:v", "libx264", *options, "-qp", qp, "-threads", 1, "-bsf:v",
           "filter_units=remove_types=6", "-f", "h264", out)


def point(args, folder, clip, kind, name, qp):
    """(bytes, PSNR)"""
    out = f"{folder}/{pathlib.Path(clip).stem}-{kind}-{re.sub('[^a-z]', '', name.lower())}-{qp}.264"
    if kind == "ours":
        encode_ours(args, OURS[name], clip, qp, out)
    else:
        encode_x264(X264[name], clip, qp, out)
    return os.path.getsize(out), quality(out, clip)


# ---- BD-rate ----

def slopes(x, y):
    """Of a piecewise cubic that is as monotone as its points (Fritsch and Butland 1984)"""
    h = [b - a for a, b in zip(x, x[1:])]
    d = [(b - a) / w for a, b, w in zip(y, y[1:], h)]
    inner = []
    for i in range(1, len(x) - 1):
        w0, w1 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
        inner.append((w0 + w1) / (w0 / d[i - 1] + w1 / d[i]) if d[i - 1] * d[i] > 0 else 0.0)
    return [d[0]] + inner + [d[-1]]


def integral(points, low, high):
    """Of the piecewise cubic through points (x, y)"""
    x, y = zip(*points)
    m, total = slopes(x, y), 0.0
    for i in range(len(x) - 1):
        a, b, h = max(low, x[i]), min(high, x[i + 1]), x[i + 1] - x[i]
        if a >= b:
            continue
        c = ((2 * y[i] - 2 * y[i + 1] + h * (m[i] + m[i + 1])) / h ** 3,
             (3 * y[i + 1] - 3 * y[i] - h * (2 * m[i] + m[i + 1])) / h ** 2, m[i], y[i])
        for end, sign in ((b - x[i], 1), (a - x[i], -1)):
            total += sign * (c[0] * end ** 4 / 4 + c[1] * end ** 3 / 3 + c[2] * end ** 2 / 2 +
                             c[3] * end)
    return total


def bd_rate(ours, theirs):
    """Percent more bits than theirs at equal PSNR; points are (bytes, PSNR)."""
    curves = [sorted((q, math.log(b)) for b, q in curve) for curve in (ours, theirs)]
    low = max(curve[0][0] for curve in curves)
    high = min(curve[-1][0] for curve in curves)
    if high <= low:
        return math.nan
    a, b = (integral(curve, low, high) for curve in curves)
    return (math.exp((a - b) / (high - low)) - 1) * 100


def check_bd_rate():
    """Curves whose distance is known"""
    curve = [(1000 * 2 ** (i / 2), 30 + 3 * i + 0.1 * i * i) for i in range(4)]
    for factor in (0.5, 1, 1.37):
        moved = [(b * factor, q) for b, q in curve]
        assert abs(bd_rate(moved, curve) - (factor - 1) * 100) < 1e-6


# ---- tables ----

def measure(args, folder, clip):
    """{(kind, name): [(bytes, PSNR)]}"""
    jobs = [(kind, name, qp) for kind, names in (("ours", OURS), ("x264", X264)) for name in names
            for qp in QPS]
    curves = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (kind, name, _), got in zip(jobs, pool.map(
                lambda j: point(args, folder, clip, *j), jobs)):
            curves.setdefault((kind, name), []).append(got)
    return curves


def print_curves(name, frames, curves):
    print(f"\n### {name}: {CLIPS[name][0]}\n")
    print("| encoder | " + " | ".join(f"QP {qp}" for qp in QPS) + " |")
    print("|---" * (len(QPS) + 1) + "|")
    for (kind, encoder), curve in curves.items():
        cells = [f"{size * 8 * 25 / frames / 1000:.0f} kbit/s, {psnr:.2f} dB"
                 for size, psnr in curve]
        print(f"| {kind} {encoder} | " + " | ".join(cells) + " |")


def print_goals(rates):
    print("\n| BD-rate, percent | " + " | ".join(rates) + " | mean |")
    print("|---" * (len(rates) + 2) + "|")
    for goal in GOALS:
        row = [of[goal] for of in rates.values()]
        print(f"| {goal[0]} against {goal[1]} | " + " | ".join(f"{v:+.1f}" for v in row) +
              f" | {sum(row) / len(row):+.1f} |")


# ---- the picture ----

COLOURS = {("ours", "High, CABAC"): "#0b62a4", ("ours", "Constrained Baseline"): "#7fb2d9",
           ("x264", "superfast"): "#c44e00", ("x264", "veryfast"): "#7a2f00",
           ("x264", "superfast, baseline"): "#f0a060"}
PANEL_W, PANEL_H, EDGE = 300, 210, 46


def panel(name, curves, frames, left, top):
    """PSNR over the logarithm of the rate"""
    lines = {k: [(math.log10(b * 8 * 25 / frames / 1000), q) for b, q in v]
             for k, v in curves.items()}
    xs, ys = zip(*(p for line in lines.values() for p in line))
    x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
    at = lambda p: (left + EDGE + (p[0] - x0) / (x1 - x0) * (PANEL_W - EDGE - 10),
                    top + PANEL_H - EDGE - (p[1] - y0) / (y1 - y0) * (PANEL_H - EDGE - 24))
    out = [f'<text x="{left + EDGE}" y="{top + 14}" font-weight="bold">{name}</text>',
           f'<text x="{left + EDGE}" y="{top + PANEL_H - 12}">kbit/s, logarithmic</text>',
           f'<text x="{left + 4}" y="{top + 14}">dB</text>']
    for x in (x0, x1):
        out.append(f'<text x="{at((x, y0))[0]:.0f}" y="{top + PANEL_H - EDGE + 16}" '
                   f'text-anchor="{"start" if x == x0 else "end"}">{10 ** x:.0f}</text>')
    for y in (y0, y1):
        out.append(f'<text x="{left + EDGE - 6}" y="{at((x0, y))[1] + 4:.0f}" '
                   f'text-anchor="end">{y:.1f}</text>')
    for key, line in lines.items():
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in map(at, sorted(line)))
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[key]}" '
                   'stroke-width="1.6"/>')
    return out


def write_svg(path, frames, found):
    """A panel for each clip, and who has which colour"""
    rows = len(found) // 3 + 1
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{3 * PANEL_W}" '
           f'height="{rows * PANEL_H}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, (name, curves) in enumerate(found.items()):
        out += panel(name, curves, frames, i % 3 * PANEL_W, i // 3 * PANEL_H)
    left, top = len(found) % 3 * PANEL_W + EDGE, len(found) // 3 * PANEL_H + 30
    for i, ((kind, name), colour) in enumerate(COLOURS.items()):
        who = "pelton" if kind == "ours" else "x264"
        out.append(f'<text x="{left}" y="{top + 18 * i}" fill="{colour}">{who}: {name}</text>')
    pathlib.Path(path).write_text("\n".join(out + ["</svg>\n"]))


def adaptive(args, folder, clip):
    """BD-rate of the adaptive quantiser: (PSNR, SSIM)"""
    curves = {}
    for options in ([], ["--adaptive"]):
        for qp in QPS:
            out = f"{folder}/adaptive.264"
            encode_ours(args, options, clip, qp, out)
            for measure in ("psnr", "ssim"):
                curves.setdefault((measure, len(options)), []).append(
                    (os.path.getsize(out), quality(out, clip, measure)))
    return [bd_rate(curves[m, 1], curves[m, 0]) for m in ("psnr", "ssim")]


def compare_adaptive(args):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.clips.split(","):
            clip = f"{folder}/{name}.y4m"
            if make_clip(name, args.frames, clip):
                found[name] = adaptive(args, folder, clip)
    print_rows(("PSNR", "SSIM"), found)


def print_rows(names, found):
    """found: {clip: [BD-rate of each name]}"""
    print("| BD-rate, percent | " + " | ".join(found) + " | mean |")
    for i, name in enumerate(names):
        row = [v[i] for v in found.values()]
        print(f"| {name} | " + " | ".join(f"{v:+.1f}" for v in row) +
              f" | {sum(row) / len(row):+.1f} |")


def curve_of(args, clip, options, out):
    """[(bytes, PSNR)] of High"""
    points = []
    for qp in QPS:
        encode_ours(args, options, clip, qp, out)
        points.append((os.path.getsize(out), quality(out, clip)))
    return points


def compare_tools(args):
    found = {}
    with tempfile.TemporaryDirectory() as folder, \
         concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name in args.clips.split(","):
            clip = f"{folder}/{name}.y4m"
            if make_clip(name, args.frames, clip):
                base, *curves = pool.map(
                    lambda i: curve_of(args, clip, [[], *TOOLS.values()][i], f"{folder}/{i}.264"),
                    range(len(TOOLS) + 1))
                found[name] = [bd_rate(curve, base) for curve in curves]
    print_rows(TOOLS, found)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", type=t.binaries, default=t.BINARIES)
    p.add_argument("--clips", default=",".join(CLIPS))
    p.add_argument("--frames", type=int, default=12)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--adaptive", action="store_true")
    p.add_argument("--tools", action="store_true")
    p.add_argument("--svg", help="the curves go there")
    p.add_argument("--most", type=float, help="percent above superfast that fails, by clip")
    args = p.parse_args()
    args.encoder = args.bin + "/refenc"
    check_bd_rate()
    if not shutil.which("ffmpeg") or "libx264" not in subprocess.run(
            ["ffmpeg", "-hide_banner", "-encoders"], capture_output=True, text=True).stdout:
        print("SKIPPED: no ffmpeg with libx264")
        return t.SKIPPED
    if args.adaptive or args.tools:
        (compare_adaptive if args.adaptive else compare_tools)(args)
        return 0
    rates, drawn = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.clips.split(","):
            clip = f"{folder}/{name}.y4m"
            if not make_clip(name, args.frames, clip):
                print(f"SKIPPED: clip {name}: its stream is not there")
                continue
            curves = measure(args, folder, clip)
            print_curves(name, args.frames, curves)
            drawn[name] = curves
            rates[name] = {goal: bd_rate(curves["ours", goal[0]], curves["x264", goal[1]])
                           for goal in GOALS}
            sys.stdout.flush()
    print_goals(rates)
    if args.svg:
        write_svg(args.svg, args.frames, drawn)
    return int(args.most is not None and
               any(not of[GOALS[0]] <= args.most for of in rates.values()))


if __name__ == "__main__":
    sys.exit(main())
