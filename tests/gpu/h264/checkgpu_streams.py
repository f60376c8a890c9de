# SPDX-License-Identifier: BSD-2-Clause
"""Streams for checkgpu --entropy and --motion, and the run of it."""
import argparse, csv, pathlib, random, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
import peltontest as t

# Never decoded on the GPU.
NEVER = "mbaff,fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,"\
        "redundant,partitions,sp,si,separate-planes,422,444,depth,differing-depths,lossless,"\
        "cavlc444-intra,mvc,size-changes"


def generated(args, folder, rng, features, without=NEVER, more=lambda: (), coding="cabac"):
    """A stream of streamgen in one entropy coding for each list of features."""
    paths = []
    without += ",cavlc" if coding == "cabac" else ",cabac"
    for i, wanted in enumerate(features):
        path = f"{folder}/{coding}{i}.264"
        made = subprocess.run([args.bin + "/streamgen", "--seed", str(rng.randrange(1 << 30)),
                               "--without", without, *more(), "-o", path, "--with",
                               ",".join([coding] + wanted.split(",") * (wanted != ""))],
                              capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"streamgen {wanted}: {made.stderr}")
        print(made.stdout.strip()[:150])
        paths.append(path)
    return paths


def conformance(args, rng, count, samples, always=(), coding="cabac"):
    """Always these, and so many others of the coding of at most so many samples."""
    manifest = pathlib.Path(args.streams, "MANIFEST.tsv")
    if not manifest.exists():
        print("without conformance streams: they are not there")
        return []
    with open(manifest, newline="") as f:
        rows = [r for r in csv.DictReader(f, delimiter="\t") if coding in r["tags"].split(",")]
    def fits(r):
        tags, (w, h) = set(r["tags"].split(",")), map(int, r["size"].split("x"))
        return tags & {"progressive-420-8", "field-pictures",
                       "400"} and not tags & {"mbaff", "fmo", "aso", "container", "422",
                                              "444"} and w * h <= samples
    others = rng.sample([r for r in rows if fits(r)], count)
    return [str(manifest.parent / name) for name in [*always, *(r["file"] for r in others)]]


def run(option, text, pictures, damage, paths, wanted=""):
    """checkgpu with the option for each of paths(args, folder, rng). wanted: has to be printed."""
    p = argparse.ArgumentParser(description=text)
    t.add_arguments(p)
    p.add_argument("--streams", default=str(t.ROOT.parent / "shared/streams"))
    p.add_argument("--pictures", default=pictures, help="of each stream")
    p.add_argument("--damage", default=damage, help="rounds of damage")
    p.add_argument("--bare", action="store_true", help="no robust buffer access, and canaries")
    args = p.parse_args()
    rng = random.Random(f"{option} {t.SEED}")
    print("PELTON_SEED", t.SEED, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [args.bin + "/checkgpu", "--device", args.device, "--seed",
                   str(rng.randrange(1 << 30)), "--pictures", args.pictures,
                   "--damage", args.damage, *["--bare"] * args.bare]
        for path in paths(args, folder, rng):
            command += ["--" + option, path]
        sys.stdout.flush()
        made = subprocess.run(command, timeout=args.timeout, stdout=subprocess.PIPE, text=True)
    print(made.stdout, end="")
    if not made.returncode and not re.search(wanted, made.stdout):
        sys.exit(f"checkgpu has not printed {wanted!r}")
    return made.returncode
