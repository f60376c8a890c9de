#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damages streams in thirteen kinds by seed, and decodes them with codec and slow reference.

    mutate.py [--seed S] [--count N] [--from N] [--macroblocks N] [--generated] [--kind NAME]
              [--write FILE] [--verbose]
    mutate.py --device D [--set KEY=VALUE] [--jobs N] [--seconds N] ...

Streams are one of streamgen for each of its features, by the seed, and all conformance streams that
are there. The program mutate cuts, damages, decodes and checks them. The same seed and --from give
the same mutation again, of the same streams. With --device a daemon on that device decodes them,
many at once, and its frames and marks are held against the slow reference's.

Exit codes: 0, 1.
"""
import argparse, csv, os, pathlib, re, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t


def generated(args, folder):
    program, paths = args.bin + "/streamgen", []
    features = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
    for feature in features.stdout.split():
        if args.only not in feature:
            continue
        paths.append(f"{folder}/{feature}.264")
        subprocess.run([program, "--seed", args.seed, "--with", feature, "--frames", "6",
                        "-o", paths[-1]], check=True, capture_output=True)
    return paths


def conformance(args):
    manifest = pathlib.Path(args.streams, "MANIFEST.tsv")
    if args.generated or not manifest.exists():
        print("without conformance streams")
        return []
    with open(manifest, newline="") as f:
        rows = [r for r in csv.DictReader(f, delimiter="\t")
                if "container" not in r["tags"].split(",")]
    return [str(manifest.parent / r["file"]) for r in rows if args.only in r["file"]]


def served(args, words):
    """All of them through one daemon, which must live on with its worker."""
    words += ["--seconds", args.seconds] if args.seconds else []
    with t.Daemon(args) as daemon:
        code = subprocess.run([args.bin + "/mutate_service", "--socket", daemon.socket,
                               "--reference", args.bin + "/session_reference",
                               *words]).returncode
        bad = daemon.validation_messages()
        bad += [l for l in daemon.lines() if re.search(r"worker \d+ (ended|is killed)", l)]
        alive = daemon.process.poll() is None
    for line in bad[:10]:
        print("FAILED daemon:", line.strip())
    if not alive:
        print("FAILED: the daemon ended")
    return code or bad or not alive


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", type=t.binaries, default=t.BINARIES)
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS")
                   or str(t.ROOT.parent / "shared" / "streams"))
    p.add_argument("--seed", default=t.SEED)
    p.add_argument("--count", default="2000")
    p.add_argument("--from", dest="first", default="0")
    p.add_argument("--jobs", default="2")
    p.add_argument("--macroblocks", default="1200", help="of each stream, at the most")
    p.add_argument("--generated", action="store_true", help="without conformance streams")
    p.add_argument("--write", help="the damaged stream of --from goes there")
    p.add_argument("--kind", help="of damage: this one alone")
    p.add_argument("--verbose", action="store_true", help="each frame after the damage")
    p.add_argument("--only", default="", help="part of the names of streams")
    p.add_argument("--seconds", help="with --device: no stream begins later")
    p.add_argument("--device", help="through a daemon: gpu, cpu, part of a device's name")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                   help="configuration of the daemon")
    args = p.parse_args()
    begin = time.time()
    options = ["--seed", args.seed, "--count", args.count, "--from", args.first, "--jobs",
               args.jobs, "--macroblocks", args.macroblocks]
    options += ["--kind", args.kind] if args.kind else []
    with tempfile.TemporaryDirectory() as folder:
        streams = generated(args, folder) + conformance(args)
        if args.device:
            code = served(args, options + streams)
        else:
            options += ["--write", args.write] if args.write else []
            options += ["--verbose"] if args.verbose else []
            code = subprocess.run([args.bin + "/mutate", *options, *streams]).returncode
    print("%.0f s" % (time.time() - begin))
    return 1 if code else 0


sys.exit(main())
