#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damages streams, decodes them, and compares with the undamaged ones and with FFmpeg's
concealment.

    damage.py --bin DIR [--count 60] [--seed N] [--through worker|refdec] [--only TEXT]
        [--kind KIND] [-v]

Stream i of a seed is always damaged in the same way. Damage drops slices, flips bits, cuts NAL
units, loses runs of bytes, loses data partitions, or loses primary slices with redundant ones. Each
decoder run must end in time without a crash. It must give as many frames as FFmpeg, within one
group of pictures. Every frame that no damaged picture feeds must be bit-exact. Our and FFmpeg's
frames with damage are compared with the undamaged ones. Over 300 streams or more, chance evens out,
and our mean PSNR must not be below FFmpeg's.

Sources: conformance streams, and encodes of a small form of the street clip, or of a synthetic one
if the streams are absent. Exit codes: 0, 1, 77 skipped (no ffmpeg or x264).
"""
import concurrent.futures, os, pathlib, random, re, shutil, statistics, subprocess
import sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

STREAMS = [
    "jvt/BA_MW_D.264", "jvt/SL1_SVA_B.264", "jvt/BA1_Sony_D.jsv", "jvt/CABA3_SVA_B.264",
    "jvt/CANL4_SVA_B.264", "jvt/MIDR_MW_D.264",
    "jvt/NRF_MW_E.264", "jvt/SVA_BA1_B.264", "jvt/FRExt3_Panasonic_E.avc", "jvt/HCAFR1_HHI_C.264",
    "x264/high_slices4.264",
    "x264/main_cavlc_b.264", "x264/base_cavlc.264", "x264/high_slicemaxsize.264",
    "x264/main_bpyramid.264", "made/p_main_slices_mb.264",
    "made/p_base_slices_bytes.264", "made/p_main_hier.264", "made/p_main_longterm.264",
    "made/rw_refshuffle_frm_cavlc.264",
    "made/paff_cabac_b_spatial.264", "made/mbaff_cavlc_slices.264", "made/fld_slices.264",
    "made/paffmbaff_cif_high.264",
    "made/h422_10_cabac.264", "x264/hi10_cavlc.264",
]
# FFmpeg decodes none of these; redundant slices it leaves out.
PARTITIONED = ["made/dp_ext_p.264", "made/dp_ext_b.264", "made/dp_ext_cip_slices.264"]
GROUPED = ["made/fmo_base_t0_slices.264", "made/fmo_base_t3_slices.264", "made/rw_aso_base.264"]
REDUNDANT = ["made/rw_redundant_base.264"]
CLIPS = [
    "--profile main --slices 4 --keyint 12 --bframes 2",
    "--profile baseline --slices 6 --keyint 20", "--profile baseline --keyint 15",
    "--profile high --slice-max-size 600 --keyint 25 --bframes 3",
    "--profile high --keyint 12 --bframes 2",
    "--profile high --intra-refresh --slices 3 --keyint 16 --bframes 0",
]
KINDS = {"slices": 5, "bits": 5, "cut": 3, "burst": 2, "anywhere": 2, "partitions": 1,
         "redundant": 1, "groups": 1}
CLEAR_OF_HEADER = 64
IDENTICAL, CAP = 100.0, 60.0
ENOUGH = 300


class Source:
    """A stream, its NAL units, and what a clean decode tells of its pictures and frames."""

    def __init__(self, args, path, folder, compare):
        self.path, self.compare = path, compare
        self.data = pathlib.Path(path).read_bytes()
        self.units = [m.start() for m in re.finditer(b"\0\0\1", self.data)]
        self.truth = "%s/%s.yuv" % (folder, re.sub(r"\W", "_", path))
        if "weight" in path or "wp_" in path or "explicit" in path:
            raise ValueError("its slice headers are long")
        run = subprocess.run([args.bin + "/refdec", "--frames", "-o", self.truth, path],
                             capture_output=True, text=True, timeout=t.LIMIT_S)
        if run.returncode:
            raise ValueError("%s: refdec: exit %d: %s" % (path, run.returncode, run.stderr))
        self.read_pictures(run.stdout)
        self.read_format(args)
        self.slices = [i for i, at in enumerate(self.units) if self.kind(i) in (1, 2, 5)]
        self.picture_of = {}
        owners = [p for p in self.order for _ in range(self.pictures[p]["slices"])]
        if len(owners) != len(self.slices):
            raise ValueError("%s: %d slices, pictures have %d" % (path, len(self.slices),
                                                                  len(owners)))
        last = None
        for i in range(len(self.units)):
            last = owners[len(self.picture_of_slices(i))] if self.kind(i) in (1, 2, 5) else last
            self.picture_of[i] = last

    def picture_of_slices(self, i):
        return [s for s in self.slices if s < i]

    def kind(self, i):
        at = self.units[i] + 3
        return self.data[at] & 31 if at < len(self.data) else 0

    def unit(self, i):
        end = self.units[i + 1] if i + 1 < len(self.units) else len(self.data)
        return self.data[self.units[i]:end]

    def read_pictures(self, text):
        self.pictures, self.order, frames = {}, [], []
        for line in text.splitlines():
            w = line.split()
            if w[0] == "picture":
                at = w.index("refs")
                self.pictures[int(w[1])] = {"slices": int(w[w.index("slices") + 1]),
                                            "idr": "idr" in w,
                                            "owner": int(w[w.index("owner") + 1]),
                                            "refs": [int(r) for r in w[at + 1:]]}
                self.order.append(int(w[1]))
            elif w[0] == "frame":
                frames.append(int(w[3]))
        self.frame_of = {p: frames.index(d["owner"]) for p, d in self.pictures.items()
                         if d["owner"] in frames}
        self.frames = len(frames)
        starts = [i for i, p in enumerate(self.order)
                  if self.pictures[p]["idr"]] + [len(self.order)]
        self.gop = max(b - a for a, b in zip([0] + starts, starts))

    def read_format(self, args):
        text = subprocess.run([args.ffprobe, "-v", "error", "-show_entries",
                               "stream=width,height,pix_fmt", "-of", "csv=p=0", self.path],
                              capture_output=True, text=True).stdout.strip().split(",")
        self.pix_fmt = text[2]
        size = os.path.getsize(self.truth)
        self.frame_bytes = size // self.frames
        if size % self.frames:
            raise ValueError("%s: the size of frames changes" % self.path)
        depth = re.search(r"p(\d\d)le", self.pix_fmt)
        self.sample_bytes, self.peak = (2, (1 << int(depth.group(1))) - 1) if depth else (1, 255)

    def suspects(self, soft, hard):
        """Frames that damage may reach. soft: pictures that lost slice data; hard: pictures whose
        headers, or all of whom, are lost, after which numbering and marking are unknown up to the
        next IDR picture."""
        bad, unknown = set(), False
        for p in self.order:
            d = self.pictures[p]
            unknown = (unknown and not d["idr"]) or p in hard
            if unknown or p in soft or any(r in bad for r in d["refs"]):
                bad.add(p)
        # A field lost or unknown: the frame is.
        return {self.frame_of[p] for p in bad if p in self.frame_of}


def flip(r, data, start, count):
    for _ in range(count):
        if len(data) > start:
            data[r.randrange(start, len(data))] ^= 1 << r.randrange(8)
    return data


def emulates(data):
    return re.search(b"\0\0[\0\1\2]", bytes(data)) is not None


def damage(r, s, kind):
    """The damaged stream, and the pictures that it hits softly and hard."""
    lost, changed, soft, hard = set(), {}, set(), set()
    slices = s.slices
    if kind == "slices" or kind == "groups":
        for _ in range(r.choice((1, 1, 2, 3))):
            lost.add(r.choice(slices))
    elif kind == "redundant":
        # The first slice of a picture of two is the primary one, the other its copy.
        primary = [i for i, after in zip(slices, slices[1:])
                   if s.picture_of[i] == s.picture_of[after]]
        lost.update(r.sample(primary, min(3, len(primary))))
    elif kind == "partitions":
        parts = [i for i in range(len(s.units)) if s.kind(i) in (3, 4)]
        for i in r.sample(parts, min(len(parts), r.choice((1, 2, 4)))):
            lost.add(i)
    elif kind == "burst":
        at = r.randrange(s.units[slices[0]], len(s.data))
        end = min(len(s.data), at + r.choice((188, 376, 1316)))
        for i in range(len(s.units)):
            stop = s.units[i + 1] if i + 1 < len(s.units) else len(s.data)
            if s.units[i] < end and stop > at and s.picture_of[i] is not None:
                hard.add(s.picture_of[i])
        return s.data[:at] + s.data[end:], soft, hard
    else:
        for _ in range(r.choice((1, 1, 2, 4))):
            i = r.choice(slices)
            unit = bytearray(s.unit(i))
            if kind == "cut":
                keep = r.randrange(5, max(6, len(unit)))
                unit = unit[:keep]
                header = keep < CLEAR_OF_HEADER
            else:
                start = 4 if kind == "anywhere" else CLEAR_OF_HEADER
                unit = flip(r, unit, start, r.choice((1, 1, 2, 8)))
                header = kind == "anywhere" or emulates(unit[3:].rstrip(b"\0"))
            (hard if header else soft).add(s.picture_of[i])
            changed[i] = bytes(unit)
    for i in lost:
        p = s.picture_of[i]
        left = [j for j in slices if s.picture_of[j] == p and j not in lost]
        (soft if left or kind == "partitions" else hard).add(p)
    out = s.data[:s.units[0]] + b"".join(changed.get(i, s.unit(i)) for i in range(len(s.units))
                                         if i not in lost)
    return out, soft, hard


def encode_clips(args, folder):
    clip = os.path.join(args.streams, "clips", "street-1080p-original.264")
    source = ["-i", clip, "-vf", "scale=480:272"] if os.path.exists(clip) else ["-f", "lavfi",
                                                                                "-i", "mandelbrot=size=480x272:rate=25"]
    y4m = folder + "/clip.y4m"
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", *source, "-frames:v", "36",
                    "-pix_fmt", "yuv420p", y4m], check=True)
    for i, options in enumerate(CLIPS):
        out = "%s/clip%d.264" % (folder, i)
        subprocess.run(["x264", "--quiet", "--no-progress", "--threads", "1", "--crf", "26",
                        "--no-scenecut", *options.split(), "-o", out, y4m],
                       check=True, capture_output=True)
        yield out


def collect(args, folder):
    """Sources by what may be done to them: {"plain": [...], "partitions": ...}."""
    wanted = {"plain": [(p, True) for p in STREAMS], "partitions": [(p, False)
                                                                    for p in PARTITIONED],
                                                                    "groups": [(p, False)
                                                                               for p in GROUPED],
              "redundant": [(p, True) for p in REDUNDANT]}
    out = {k: [] for k in wanted}
    paths = [("plain", p, True) for p in encode_clips(args, folder)] * 2
    for group, files in wanted.items():
        paths += [(group, os.path.join(args.streams, f), compare) for f, compare in files]
    made = {}
    for group, path, compare in paths:
        if args.only in path and os.path.exists(path):
            made.setdefault(path, None)
            made[path] = made[path] or Source(args, path, folder, compare)
            out[group].append(made[path])
    return out


def plan(args, sources):
    """(number, source, kind) of every damaged stream."""
    out = []
    for i in range(args.count):
        r = random.Random("%s plan %d" % (args.seed, i))
        kind = args.kind or r.choices(list(KINDS), list(KINDS.values()))[0]
        group = kind if kind in sources else "plain"
        if sources[group] and args.number in (None, i):
            out.append((i, r.choice(sources[group]), kind))
    return out


def decode_ours(args, daemon, path, out):
    if daemon:
        command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
                   "-y", "-i", path, "-f", "rawvideo", out]
    else:
        command = [args.bin + "/refdec", "-o", out, path]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=args.timeout).returncode


def decode_theirs(args, s, path, out):
    """FFmpeg's frames; an empty file where there are none."""
    subprocess.run([args.ffmpeg, "-v", "quiet", "-nostdin", "-y", "-threads", "1", "-flags",
                    "unaligned", "-i", path, "-fps_mode", "passthrough", "-noautoscale", "-f",
                    "rawvideo", "-pix_fmt", s.pix_fmt, out], timeout=t.LIMIT_S)
    if not os.path.exists(out):
        pathlib.Path(out).write_bytes(b"")


def score(args, s, out):
    run = subprocess.run([args.bin + "/score", str(s.frame_bytes), str(s.sample_bytes),
                          str(s.peak), s.truth, out], capture_output=True,
                         text=True, check=True)
    lines = [l.split() for l in run.stdout.splitlines()]
    return int(lines[0][1]), [(int(a), float(b)) for a, b in lines[1:]]


def run_one(args, daemon, folder, i, s, kind):
    data, soft, hard = damage(random.Random("%s damage %d" % (args.seed, i)), s, kind)
    suspects = s.suspects(soft, hard)
    base = "%s/d%d" % (folder, i)
    pathlib.Path(base + ".264").write_bytes(data)
    result = {"number": i, "kind": kind, "source": os.path.basename(s.path), "bad": [],
              "pairs": [], "refused": False,
              "suspects": len(suspects)}
    try:
        code = decode_ours(args, daemon, base + ".264", base + ".yuv")
    except subprocess.TimeoutExpired:
        result["bad"].append("no end after %d s" % args.timeout)
        return result
    if daemon and code == 5:
        result["refused"] = True
        return result
    if code not in (0, 4) and not (not daemon and code == 1):
        result["bad"].append("exit %d" % code)
    if not os.path.exists(base + ".yuv"):
        pathlib.Path(base + ".yuv").write_bytes(b"")
    count, ours = score(args, s, base + ".yuv")
    result["frames"] = count
    wrong = [k for k, (at, p) in enumerate(ours) if k not in suspects and (at < 0 or p < IDENTICAL)]
    if wrong:
        result["bad"].append("frames %s: no damage reaches them, but they differ" % wrong[:8])
    if s.compare:
        decode_theirs(args, s, base + ".264", base + ".ff")
        theirs_count, theirs = score(args, s, base + ".ff")
        result["theirs"] = theirs_count
        if abs(count - theirs_count) > s.gop:
            result["bad"].append("%d frames, FFmpeg %d, group of pictures %d" %
                                 (count, theirs_count, s.gop))
        result["pairs"] = [(ours[k][1], theirs[k][1]) for k in sorted(suspects)
                           if min(ours[k][1], theirs[k][1]) < IDENTICAL]
    if not args.keep:
        for suffix in (".264", ".yuv", ".ff"):
            if os.path.exists(base + suffix):
                os.unlink(base + suffix)
    return result


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def table(results):
    print("%-11s %7s %7s %9s %7s %8s %8s %8s" % ("damage", "streams", "refused", "compared",
                                                 "frames", "FFmpeg's", "concealed", "exact"))
    rows = [(k, [r for r in results if r["kind"] == k]) for k in KINDS] + [("all", results)]
    for name, of in rows:
        if not of:
            continue
        pairs = [p for r in of for p in r["pairs"]]
        cap = [(min(a, CAP), min(b, CAP)) for a, b in pairs]
        print("%-11s %7d %7d %9d %7d %8d %8d   PSNR %.2f dB, FFmpeg's %.2f dB; exact %d, FFmpeg's "
              "%d" %
              (name, len(of), sum(r["refused"] for r in of), sum("theirs" in r for r in of),
               sum(r.get("frames", 0) for r in of if "theirs" in r),
               sum(r.get("theirs", 0) for r in of), len(pairs), mean([a for a, _ in cap]),
               mean([b for _, b in cap]),
               sum(a == IDENTICAL for a, _ in pairs), sum(b == IDENTICAL for _, b in pairs)))


def main():
    p = t.parser(__doc__)
    p.set_defaults(only="")
    p.add_argument("--ffprobe", default="ffprobe")
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS")
                   or str(t.ROOT.parent / "shared" / "streams"))
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seed", default=t.SEED)
    p.add_argument("--number", type=int, help="only this stream of the seed")
    p.add_argument("--kind", choices=list(KINDS))
    p.add_argument("--through", choices=("worker", "refdec"), default="worker",
                   help="refdec: the slow C reference, without a daemon")
    p.add_argument("--keep", help="folder in which the damaged streams and their frames stay")
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    args.timeout = min(args.timeout, t.patience(20))
    if not shutil.which("x264") or not shutil.which(args.ffmpeg):
        print("skipped: no x264 or ffmpeg")
        return t.SKIPPED
    print("seed %s" % args.seed, flush=True)
    begin, results = time.time(), []
    with tempfile.TemporaryDirectory() as folder:
        work = plan(args, collect(args, folder))
        daemon = t.Daemon(args).__enter__() if args.through == "worker" else None
        try:
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                for r in pool.map(lambda w: run_one(args, daemon, args.keep or folder, *w), work):
                    results.append(r)
                    if r["bad"] or args.v:
                        print("%s stream %d, %s of %s: suspects %d, PSNR %.2f, FFmpeg's %.2f %s" %
                              ("FAIL" if r["bad"] else "ok  ", r["number"], r["kind"], r["source"],
                               r["suspects"],
                               mean([min(a, CAP) for a, _ in r["pairs"]]),
                               mean([min(b, CAP) for _, b in r["pairs"]]),
                               "; ".join(r["bad"])), flush=True)
            messages = daemon.validation_messages() if daemon else []
            alive = not daemon or daemon.process.poll() is None
        finally:
            if daemon:
                daemon.__exit__()
    table(results)
    pairs = [p for r in results for p in r["pairs"]]
    ours, theirs = mean([min(a, CAP) for a, _ in pairs]), mean([min(b, CAP) for _, b in pairs])
    failed = sum(bool(r["bad"]) for r in results)
    print("seed %s: %d streams, %d failed, PSNR %.2f dB, FFmpeg's %.2f dB, %.0f s" %
          (args.seed, len(results), failed, ours, theirs, time.time() - begin))
    if messages or not alive:
        print("the daemon: %s" % ("".join(messages) or "it ended"))
    if len(results) >= ENOUGH and ours < theirs:
        print("the PSNR of concealed pictures is below FFmpeg's")
        failed += 1
    return 1 if failed or messages or not alive or not results else 0


if __name__ == "__main__":
    sys.exit(main())
