#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damages streams in thirteen kinds by seed, and decodes them with codec and slow reference.

    mutate.py [--seed S] [--count N] [--from N] [--macroblocks N] [--generated] [--write FILE]

Streams are one of streamgen for each of its features, by the seed, and all conformance streams that
are there. The program mutate cuts, damages, decodes and checks them. The same seed and --from give
the same mutation again. Exit codes: 0, 1.
"""
import argparse, csv, os, pathlib, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t


def generated(args, folder):
    program, paths = args.bin + "/streamgen", []
    features = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
    for feature in features.stdout.split():
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
    return [str(manifest.parent / r["file"]) for r in rows]


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
    args = p.parse_args()
    begin = time.time()
    with tempfile.TemporaryDirectory() as folder:
        command = [args.bin + "/mutate", "--seed", args.seed, "--count", args.count, "--from",
                   args.first, "--jobs", args.jobs, "--macroblocks", args.macroblocks]
        command += ["--write", args.write] if args.write else []
        code = subprocess.run(command + generated(args, folder) + conformance(args)).returncode
    print("%.0f s" % (time.time() - begin))
    return 1 if code else 0


sys.exit(main())
