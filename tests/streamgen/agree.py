#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Generates streams and compares decoders on them: the slow reference with FFmpeg where FFmpeg
follows the standard, and pelton with the reference everywhere. SEI messages and VUI as the
reference reads them are compared with the generator's. Every second stream reaches the reference in
the form of a file format, with an avcC record.

  agree.py --count 200                        streams of the day's seed (PELTON_SEED)
  agree.py --seed 4711 --count 1              one stream; --gen "--only mbaff,cabac": for streamgen
  agree.py --file F                           no generation: the decoders on a file
  agree.py --count 2000 --each 50             more streams for features that fewer than 50 contain

Streams that differ stay in --dir. Exit codes: 0 all agree, 1 not, 77 skipped (no FFmpeg).
"""
import argparse, collections, concurrent.futures, hashlib, itertools, pathlib, shutil, subprocess
import sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t

# One thread: with several, field pictures of one stream (seed 1470) came out otherwise once in 30
# runs.
FFMPEG = ["-threads", "1", "-v", "error", "-nostdin", "-noautorotate", "-flags", "unaligned",
          "-cpuflags", "0"]


def md5_of(command, timeout):
    """MD5 of what a command writes to stdout, or how it failed."""
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=timeout)
    except subprocess.TimeoutExpired:
        return "timeout"
    if run.returncode:
        said = run.stderr.decode(errors="replace").strip().replace("\n", " | ")[:300]
        return "exit %d: %s" % (run.returncode, said)
    return hashlib.md5(run.stdout).hexdigest()


def reference(args, path, *more):
    run = subprocess.run([args.bin + "/refdec", *more, "--md5", path], capture_output=True,
                         text=True, timeout=args.timeout)
    text = run.stderr.strip().replace("\n", " | ")[:300]
    if run.returncode or text:
        return "exit %d: %s" % (run.returncode, text)
    return run.stdout.splitlines()[-1].split()[0]


def side_data(args, path, notes, *more):
    """None, or how what refdec reads beside the pictures differs from what streamgen wrote, or
    pictures from avcC from those without"""
    run = subprocess.run([args.bin + "/refdec", "--sei", "--parse", *more, path],
                         capture_output=True, text=True, timeout=args.timeout)
    expected = pathlib.Path(notes).read_text()
    if run.stdout == expected:
        return None
    pairs = itertools.zip_longest(expected.splitlines(), run.stdout.splitlines(),
                                  fillvalue="nothing")
    return "wrote %.300s; refdec read %.300s" % next(p for p in pairs if p[0] != p[1])


def ffmpeg(args, path, *more):
    return md5_of([args.ffmpeg, *FFMPEG, "-f", "h264", "-i", path, "-noautoscale", "-fps_mode",
                   "passthrough", *more, "-f", "rawvideo", "-"],
                  args.timeout)


# Streams have display orientation messages, which the reference leaves to its reader.
UNTURNED = ("-noautorotate",)


def pelton(args, daemon, path):
    try:
        run = t.decode(args, daemon, path, "rawvideo", *UNTURNED)
    except subprocess.TimeoutExpired:
        return "timeout"
    return t.failure(run) or hashlib.md5(run.stdout).hexdigest()


def second_view(args, daemon, path):
    """None, or how the second view of a stereo stream differs"""
    out, ours = path + ".view1", reference(args, path, "--view", "1")
    run = t.decode(args, daemon, path, "rawvideo", *UNTURNED, "--second-view", out)
    theirs = t.failure(run) or hashlib.md5(pathlib.Path(out).read_bytes()).hexdigest()
    pathlib.Path(out).unlink(missing_ok=True)
    return None if ours == theirs else "second view: refdec %s, pelton %s" % (ours, theirs)


def one(args, daemon, seed, options):
    """(options, fields of streamgen's line or None, what differs or None)"""
    path = str(args.dir / ("%s%s.264" % (seed, "".join(c if c.isalnum() else "_"
                                                       for c in options))))
    made = subprocess.run([args.bin + "/streamgen", "--seed", str(seed), *options.split(), "--sei",
                           path + ".sei", "-o", path],
                          capture_output=True, text=True)
    if made.returncode:
        return None, "streamgen: exit %d: %s" % (made.returncode, made.stderr.strip())
    fields = made.stdout.rstrip("\n").split("\t")
    if daemon and args.formats and fields[3] not in args.seen:
        if len(args.seen) == args.formats:
            daemon = None
            args.without_pelton += 1
        else:
            args.seen.add(fields[3])
    why = compare(args, daemon, path, not args.no_ffmpeg and fields[1] == "ffmpeg",
                  fields[3].startswith("gray"))
    more = ["--avcc"] if seed % 2 else []
    why = why or side_data(args, path, path + ".sei", *more)
    if more and not why and reference(args, path) != reference(args, path, *more):
        why = "refdec decodes it otherwise from avcC"
    if daemon and not why and "mvc" in fields[7].split(","):
        why = second_view(args, daemon, path)
    if not why and not args.keep:
        pathlib.Path(path).unlink()
        pathlib.Path(path + ".sei").unlink()
    return fields, why and "%s: %s" % (path, why)


def compare(args, daemon, path, with_ffmpeg, luma_alone):
    """None, or what differs"""
    ours = reference(args, path)
    if len(ours) != 32:
        return "refdec: " + ours
    if with_ffmpeg:
        # it adds chroma
        theirs = ffmpeg(args, path, *(["-vf", "extractplanes=y"] if luma_alone else []))
        if theirs != ours:
            return "refdec %s, FFmpeg %s" % (ours, theirs)
    theirs = pelton(args, daemon, path) if daemon else ours
    return None if theirs == ours else "refdec %s, pelton %s" % (ours, theirs)


def features(args):
    return subprocess.run([args.bin + "/streamgen", "--list"], capture_output=True, text=True,
                          check=True).stdout.split()


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    t.add_arguments(p)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--each", type=int, default=0, help="streams for each feature, at least")
    p.add_argument("--gen", default="", help="options of streamgen")
    p.add_argument("--dir", type=pathlib.Path, default=None)
    p.add_argument("--file", help="compare on this stream, FFmpeg too unless --no-ffmpeg")
    p.add_argument("--formats", type=int, default=0,
                   help="pelton decodes only this many pixel formats (the first that come up): a\n"
                   "software device compiles its shaders for each")
    p.add_argument("--keep", action="store_true", help="streams that agree stay too")
    p.add_argument("--no-ffmpeg", action="store_true")
    p.add_argument("--no-pelton", action="store_true", help="the reference and FFmpeg alone")
    args = p.parse_args()
    args.seen, args.without_pelton = set(), 0
    if not args.no_ffmpeg and not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    if args.file and args.no_pelton:
        return report_file(args, None)
    if args.file:
        with t.Daemon(args) as daemon:
            return report_file(args, daemon)
    seed = args.seed if args.seed is not None else int(t.SEED) * 100000
    print("seed %d" % seed)
    args.dir = args.dir or pathlib.Path(tempfile.mkdtemp(prefix="streamgen-"))
    args.dir.mkdir(parents=True, exist_ok=True)
    if args.no_pelton:
        return run(args, None, seed)
    with t.Daemon(args) as daemon:
        return run(args, daemon, seed)


def report_file(args, daemon):
    why = compare(args, daemon, args.file, not args.no_ffmpeg, False)
    print(why or "agree")
    return 1 if why else 0


def run(args, daemon, seed):
    start, bad, total, oracle = time.time(), 0, 0, 0
    counts = collections.Counter()

    def batch(jobs):
        nonlocal bad, total, oracle
        for fields, why in pool.map(lambda job: one(args, daemon, *job), jobs):
            total += 1
            if fields:
                counts.update(fields[7].split(","))
                oracle += fields[1] == "ffmpeg" and not args.no_ffmpeg
            if why:
                bad += 1
                print("DIFFERS %s" % why, flush=True)
                if fields:
                    print("        %s" % " ".join(fields), flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        batch((seed + i, args.gen) for i in range(args.count))
        for f in features(args) if args.each else ():
            batch((seed + total + i, args.gen + " --with " + f)
                  for i in range(args.each - counts[f]))
    print("streams with each feature: " + ", ".join("%s %d" % (f, counts[f])
                                                    for f in features(args)))
    asked = ("not asked" if args.no_ffmpeg else str(oracle), str(total - args.without_pelton)
             if daemon else "not asked")
    print("%d of %d streams agree with the reference (FFmpeg: %s, pelton: %s), %.0f s" %
          (total - bad, total, *asked, time.time() - start))
    short = [f for f in features(args) if counts[f] < args.each]
    if short:
        print("too few: " + ", ".join(short))
    return 1 if bad or short or not total else 0


sys.exit(main())
