#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damages one slice of each stream, and holds our concealment against FFmpeg's, source by source.

    concealment.py --bin DIR [--count 120] [--seed 7] [--kind cut|bits|slices] [--only TEXT] [-v]

--count streams of each kind: slices that are cut, with flipped bits, or left out. All damage begins
behind the slice header. refdec decodes them, and FFmpeg with its default concealment. Means are
over the frames that differ from the undamaged ones in either, at 60 dB at most. -v tells each
stream, and its frames: the number in output order, our PSNR and FFmpeg's.

It measures and fails for no figure. Exit codes: 0, 77 skipped (no ffmpeg or x264).
"""
import concurrent.futures, os, pathlib, random, shutil, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
import damage

KINDS = ("cut", "bits", "slices")


def damaged_unit(r, unit, kind):
    """The unit with its damage; None where it is too short, or would have a start code."""
    if kind == "slices":
        return b""
    if len(unit) < damage.CLEAR_OF_HEADER + 16:
        return None
    if kind == "cut":
        return unit[:r.randrange(damage.CLEAR_OF_HEADER, len(unit))]
    new = bytes(damage.flip(r, bytearray(unit), damage.CLEAR_OF_HEADER, r.choice((1, 1, 2, 4))))
    return None if damage.emulates(new[3:].rstrip(b"\0")) else new


def measured(args, folder, number, kind, s):
    """(kind, source, number, frames of both, [(frame, our PSNR, FFmpeg's)]), or None."""
    r = random.Random("%s %s %d" % (args.seed, kind, number))
    at = r.choice(s.slices)
    unit = damaged_unit(r, s.unit(at), kind)
    if unit is None:
        return None
    base = "%s/%s%d" % (folder, kind, number)
    data = s.data[:s.units[0]] + b"".join(unit if i == at else s.unit(i)
                                          for i in range(len(s.units)))
    pathlib.Path(base + ".264").write_bytes(data)
    damage.decode_ours(args, None, base + ".264", base + ".yuv")
    damage.decode_theirs(args, s, base + ".264", base + ".ff")
    (count, ours), (theirs_count, theirs) = [damage.score(args, s, base + x)
                                             for x in (".yuv", ".ff")]
    for suffix in () if args.keep else (".264", ".yuv", ".ff"):
        os.unlink(base + suffix)
    pairs = [(k, min(a, damage.CAP), min(b, damage.CAP))
             for k, ((_, a), (_, b)) in enumerate(zip(ours, theirs))
             if min(a, b) < damage.IDENTICAL]
    return kind, os.path.basename(s.path), number, (count, theirs_count), pairs


def means(pairs):
    return damage.mean([a for _, a, _ in pairs]), damage.mean([b for _, _, b in pairs])


def kind_print(kind, results):
    """One line for all, and the sources that are below FFmpeg."""
    pairs = [p for r in results for p in r[4]]
    print("%-7s %4d streams, %5d frames compared: %.2f dB, FFmpeg's %.2f dB; frames %d, FFmpeg's %d"
          % (kind, len(results), len(pairs), *means(pairs), *[sum(r[3][i] for r in results)
                                                              for i in (0, 1)]))
    sources = {}
    for r in results:
        sources.setdefault(r[1], []).extend(r[4])
    below = [(n, *means(p)) for n, p in sources.items() if p and means(p)[0] < means(p)[1] - 0.05]
    print("        below FFmpeg in %d of %d sources: %s" %
          (len(below), len(sources), ", ".join("%s by %.1f" % (n, b - a) for n, a, b in below)))


def main():
    p = t.parser(__doc__)
    p.set_defaults(only="", seed="7")
    p.add_argument("--ffprobe", default="ffprobe")
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS")
                   or str(t.ROOT.parent / "shared" / "streams"))
    p.add_argument("--count", type=int, default=120)
    p.add_argument("--seed")
    p.add_argument("--kind", choices=KINDS)
    p.add_argument("--keep", help="folder in which the damaged streams and their frames stay")
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    if not shutil.which("x264") or not shutil.which(args.ffmpeg):
        print("skipped: no x264 or ffmpeg")
        return t.SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        sources = {s.path: s for s in damage.collect(args, folder)["plain"]}
        sources = list(sources.values())
        for kind in [args.kind] if args.kind else KINDS:
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                results = [r for r in pool.map(
                    lambda i: measured(args, args.keep or folder, i, kind,
                                       sources[i % len(sources)]), range(args.count)) if r]
            for r in results if args.v else ():
                print(r[0], r[2], r[1], " ".join("%d:%.1f/%.1f" % f for f in r[4]))
            kind_print(kind, results)
    return 0


sys.exit(main())
