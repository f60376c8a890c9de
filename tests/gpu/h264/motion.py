#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Motion derivation on the GPU (checkgpu --motion). Some conformance streams have its special
cases: spatial direct prediction with and without direct_8x8_inference_flag, fields, several slices,
dozens of references. FFmpeg encodes pictures of unusual sizes. streamgen makes another selection
every day. Each picture is also built anew and damaged."""
import argparse, csv, pathlib, random, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
import peltontest as t

ALWAYS = ["made/p_main_cabac_b_spatial.264", "made/p_main_cabac_b_spatial_noinf.264",
          "made/fld_cabac_b_spatial.264", "made/fld_bref_all_slices.264",
          "jvt/CAPA1_TOSHIBA_B.264", "jvt/HCAFR3_HHI_A.264"]
# Wider than a band of rows, taller, narrow, with slices that begin anywhere: width x height, x264's
# parameter of slices
SIZES = [("2080x1120", "slices=5"), ("8192x64", "slices=2"), ("48x2304", "slice-max-mbs=37"),
         ("4800x96", "slice-max-mbs=211")]
WITHOUT = "cavlc,mbaff,fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,"\
          "redundant,partitions,sp,si,separate-planes,422,444,depth,differing-depths,lossless,cavlc444-intra,mvc,size-changes,temporal-direct"
WITH = ["p,sub-macroblocks", "b,sub-macroblocks,spatial-direct", "transform8x8,b,spatial-direct",
        "paff,b,spatial-direct", "400,b",
        "constrained-intra,p,mixed-slices", "slices,b,spatial-direct,pcm",
        "far-mv,b,spatial-direct", "long-term,b,spatial-direct"]


def generated(args, folder, rng):
    paths = []
    for i, features in enumerate(WITH):
        path = f"{folder}/{i}.264"
        made = subprocess.run([args.bin + "/streamgen", "--seed", str(rng.randrange(1 << 30)),
                               "--without", WITHOUT, "--frames", "8", "--mbs",
                               f"{rng.randrange(3, 13)}x{rng.randrange(2, 13)}", "-o", path,
                               "--with", ",".join(["cabac"] + features.split(","))],
                               capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"streamgen {features}: {made.stderr}")
        print(made.stdout.strip()[:150])
        paths.append(path)
    return paths


def encoded(args, folder):
    paths = []
    for size, slices in SIZES:
        path = f"{folder}/{size}.264"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                        f"testsrc2=size={size}:rate=25,noise=alls=20:allf=t",
                        "-frames:v", "5", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params",
                        f"bframes=3:b-adapt=0:direct=spatial:partitions=all:me=dia:"
                        f"subme=3:ref=3:level=6.2:crf=32:{slices}", path], check=True)
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
                                              "444"} and w * h <= 352 * 288
    return [str(manifest.parent / name) for name in ALWAYS + [r["file"]
                                                              for r in rng.sample([r for r in rows
                                                                                   if fits(r)],
                                                                                   10)]]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    t.add_arguments(p)
    p.add_argument("--streams", default=str(t.ROOT.parent / "shared/streams"))
    p.add_argument("--pictures", default="24", help="of each stream")
    p.add_argument("--damage", default="8", help="rounds of built pictures and of damage")
    args = p.parse_args()
    rng = random.Random(f"motion {t.SEED}")
    print("PELTON_SEED", t.SEED, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [args.bin + "/checkgpu", "--device", args.device, "--seed",
                   str(rng.randrange(1 << 30)), "--pictures", args.pictures,
                   "--damage", args.damage]
        for path in generated(args, folder, rng) + encoded(args, folder) + conformance(args, rng):
            command += ["--motion", path]
        sys.stdout.flush()
        return subprocess.run(command, timeout=args.timeout).returncode


sys.exit(main())
