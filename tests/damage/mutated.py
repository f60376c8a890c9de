#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes mutated streams by the day's seed. Each ends in time, and the worker survives all of
them.

Exit codes: 0, 1, 77 skipped (no ffmpeg or x264).
"""
import os, pathlib, random, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

MOST = 4 << 20 # bytes that an encoding may have: 16 pictures or a few more, at 2 Mbit/s

STREAMS = [
    "--profile baseline --slices 2 --ref 3",
    "--profile main --bframes 3 --b-adapt 0 --direct temporal --weightb",
    "--profile main --no-cabac --bframes 2 --b-adapt 0 --direct spatial --weightp 2",
    "--profile high --cqm jvt --bframes 2",
    "--profile high --tff --bframes 2 --direct temporal",
    "--profile main --no-cabac --bff --slices 2 --bframes 1 --constrained-intra",
    "--profile high422 --output-csp i422 --tff --bframes 2",
    "--profile high444 --output-csp i444 --no-cabac --bframes 2 --weightp 2",
    "--profile high10 --output-depth 10 --bframes 2",
    "--profile high444 --output-csp i444 --output-depth 10 --qp 0",
    "--profile high --output-csp i400 --bframes 2 --ref 4",
    "--profile high --slice-max-mbs 5 --constrained-intra",
    "--profile high --ref 8 --b-pyramid normal --bframes 5 --keyint 12",
    "--pic-struct --nal-hrd vbr --vbv-maxrate 500 --vbv-bufsize 500 --frame-packing 3 --cll 10,4 "
    "--intra-refresh --keyint 4",
]


def make(args, d):
    sources = []
    for i, options in enumerate(STREAMS):
        y4m, out = d + "/s.y4m", "%s/s%d.264" % (d, i)
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                        "mandelbrot=size=128x96:rate=25", "-frames:v", "16",
                        "-pix_fmt", t.x264_source(options), "-strict", "-1", y4m], check=True)
        subprocess.run(["x264", "--quiet", "--no-progress", "--threads", "1", "--crf", "28",
                        *options.split(), "-o", out, y4m], check=True, capture_output=True)
        sources.append(pathlib.Path(out).read_bytes())
    return sources


def mutate(r, data):
    """One of the ways streams break; sizes stay bounded."""
    data = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 5, 20))):
        kind, at = r.randrange(7), r.randrange(max(1, len(data)))
        if kind == 0:
            # none left: none flipped
            data[at:at + 1] = bytes(b ^ 1 << r.randrange(8) for b in data[at:at + 1])
        elif kind == 1:
            data[at:at + r.randrange(1, 16)] = bytes(r.randrange(256)
                                                     for _ in range(r.randrange(1, 16)))
        elif kind == 2:
            del data[at:at + r.randrange(1, 200)]
        elif kind == 3:
            data = data[: max(40, at)]
        elif kind == 4:
            data[at:at] = data[at // 2: at // 2 + r.randrange(1, 500)]
        else:
            parts = re.split(b"(?=\0\0\1)", bytes(data))
            if len(parts) > 4:
                i, j = r.randrange(len(parts)), r.randrange(len(parts))
                if kind == 5:
                    parts[i], parts[j] = parts[j], parts[i]
                else:
                    del parts[i]
            data = bytearray(b"".join(parts))
    return bytes(data)


def encode(args, daemon, path, i):
    """At the source's own sizes, which must not be odd, or at one"""
    size = ["-s", "96x64"] if i % 3 else []
    command = [args.bin + "/pelton", "encode", "--socket", daemon.socket, "-i", path, *size,
               "-maxrate", "2M", "-f", "h264", "-"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=args.timeout)


def main():
    p = t.parser(__doc__)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--encode", action="store_true", help="pelton encode takes them")
    p.add_argument("--seed", type=int, default=int(os.environ.get("PELTON_SEED",
                                                                  time.strftime("%Y%m%d"))))
    args = p.parse_args()
    args.timeout = t.patience(30)
    if not shutil.which("x264") or not shutil.which(args.ffmpeg):
        print("skipped: no x264 or ffmpeg")
        return t.SKIPPED
    bad, ends, start = [], {}, time.time()
    with tempfile.TemporaryDirectory() as d, t.Daemon(args) as daemon:
        sources = make(args, d)
        for i in range(args.count):
            r = random.Random(args.seed * 1000 + i)
            path = d + "/m.264"
            pathlib.Path(path).write_bytes(mutate(r, sources[i % len(sources)]))
            try:
                run = (encode(args, daemon, path, i) if args.encode else
                       t.decode(args, daemon, path, "md5", "--side-data", "/dev/null"))
            except subprocess.TimeoutExpired:
                bad.append("stream %d of seed %d: no end" % (i, args.seed))
                continue
            ends[run.returncode] = ends.get(run.returncode, 0) + 1
            if args.encode and len(run.stdout) > MOST:
                bad.append("stream %d of seed %d: %d bytes" % (i, args.seed, len(run.stdout)))
            if run.returncode not in ((0, 2, 4, 5, 6) if args.encode else (0, 4, 5, 6)):
                bad.append("stream %d of seed %d: %s" % (i, args.seed, t.failure(run)))
            if daemon.process.poll() is not None:
                bad.append("stream %d of seed %d ended the daemon" % (i, args.seed))
                break
        lost = [l for l in daemon.lines() if "worker" in l and ("died" in l or "restart" in l
                                                                or "signal" in l)]
        messages = daemon.validation_messages()
        bad += ["daemon: " + l.strip() for l in (lost + messages)[:10]]
    for b in bad:
        print("FAILED", b)
    print("%d mutated streams, seed %d, exit codes %s, %d failed, %.0f s" %
          (args.count, args.seed, ends, len(bad), time.time() - start))
    return 1 if bad else 0


sys.exit(main())
