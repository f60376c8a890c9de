#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Entropy decoding on the GPU (checkgpu --entropy). Inputs are streams of streamgen with the CABAC
tools of the shaders, other ones every day, and some conformance streams if present. All of it is
damaged too."""
import argparse, csv, pathlib, random, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
import peltontest as t

# What is not decoded on the GPU; several slices of a picture come by themselves.
WITHOUT = "cavlc,mbaff,fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,"\
          "redundant,partitions,sp,si,separate-planes,422,444,depth,differing-depths,lossless,cavlc444-intra,mvc,size-changes"
WITH = ["", "pcm", "b,sub-macroblocks", "transform8x8,b", "paff", "400", "constrained-intra,p",
        "mixed-slices", "big-levels", "qp-jumps"]


def generated(args, folder, rng):
    paths = []
    for i, features in enumerate(WITH):
        path = f"{folder}/{i}.264"
        command = [args.bin + "/streamgen", "--seed", str(rng.randrange(1 << 30)), "--without",
                   WITHOUT, "--frames", "6", "-o", path]
        made = subprocess.run(command + ["--with",
                                         ",".join(["cabac"] +
                                                  features.split(",") * (features != ""))],
                                                  capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"streamgen {features}: {made.stderr}")
        print(made.stdout.strip()[:150])
        paths.append(path)
    return paths


def conformance(args, rng):
    manifest = pathlib.Path(args.streams, "MANIFEST.tsv")
    if not manifest.exists():
        print("without conformance streams: they are not there")
        return []
    with open(manifest, newline="") as f:
        rows = [r for r in csv.DictReader(f, delimiter="\t") if "cabac" in r["tags"].split(",")]
    def fits(r):
        tags, (w, h) = set(r["tags"].split(",")), map(int, r["size"].split("x"))
        return tags & {"progressive-420-8", "field-pictures",
                       "400"} and not tags & {"mbaff", "fmo", "container", "422",
                                              "444"} and w * h <= 176 * 144
    return [str(manifest.parent / r["file"]) for r in rng.sample([r for r in rows if fits(r)], 12)]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    t.add_arguments(p)
    p.add_argument("--streams", default=str(t.ROOT.parent / "shared/streams"))
    p.add_argument("--pictures", default="6")
    p.add_argument("--damage", default="3", help="rounds of damage")
    args = p.parse_args()
    rng = random.Random(f"entropy {t.SEED}")
    print("PELTON_SEED", t.SEED, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [args.bin + "/checkgpu", "--device", args.device, "--seed",
                   str(rng.randrange(1 << 30)), "--pictures", args.pictures,
                   "--damage", args.damage]
        for path in generated(args, folder, rng) + conformance(args, rng):
            command += ["--entropy", path]
        sys.stdout.flush()
        return subprocess.run(command, timeout=args.timeout).returncode


sys.exit(main())
