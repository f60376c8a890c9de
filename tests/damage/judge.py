#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The judge of streams: it finds no breach in clean streams, and each breach that is made.

    judge.py [--bin DIR] [--streams DIR] [--all] [--seed S]

Clean streams are one of streamgen for each of its features, by the seed, and conformance streams:
40 by the seed, or --all. CLEAN lists the breaches that conformance streams have, by the encoder
that made them; none of their frames is marked. MADE are changes of NAL units, each with the clause
that it breaks. The decoder marks a frame of those in TOLD.

Exit codes: 0, 1.
"""
import argparse, csv, os, pathlib, random, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

SAMPLE = 40
SLICES, SEI, SPS, PPS, AUD = (1, 2, 5), 6, 7, 8, 9

# x264 writes bits of its own behind the last bin, and long vectors of field macroblocks. The made
# streams take sub-macroblocks as no level limits them.
CLEAN = {"x264/": ("9.3.1.2: slice data do not end at the stop bit",
                   "A.3.1: a vector is too long vertically"),
         "made/": ("A.3.3: prediction from both lists below 8x8",
                   "8.4.2.3: the sum of two weights"),
         "streamgen": ("8.4.2.3: the sum of two weights", "A.2.3: direct_8x8_inference_flag is 0",
                       "A.3.3: prediction from both lists below 8x8",
                       "7.4.3: slice headers of a picture differ"), # sp_for_switch_flag
         "made/rw_nalzoo": ("7.4.1.2.3: a delimiter within an access unit",
                            "7.4.1: nal_unit_type is reserved")}


def judged(args, path):
    """Its breaches, the frames that are marked, and all that it says."""
    run = subprocess.run([args.bin + "/judge", "--frames", path], capture_output=True, text=True,
                         timeout=t.LIMIT_S)
    lines = [line.strip() for line in run.stdout.splitlines()[1:]]
    frames = [line for line in lines if line.startswith("frame ")]
    return ([line for line in lines if line not in frames],
            [line for line in frames if " marked:" in line], run.stdout)


def units_of(data):
    return [u.rstrip(b"\0") for u in data.split(b"\0\0\1")[1:]]


def kind(unit):
    return unit[0] & 31


def first(units, kinds, skip=0, such=lambda u: True):
    at = [i for i, u in enumerate(units) if kind(u) in kinds and such(u)]
    return at[skip] if len(at) > skip else None


def is_first_slice(unit):
    """first_mb_in_slice is 0."""
    return kind(unit) in SLICES and unit[1] & 0x80


# ---- changes: each takes the units and returns them changed, or None where they do not suit ----

def byte(kinds, at, change, skip=0):
    def edit(units):
        i = first(units, kinds, skip)
        if i is None:
            return None
        u = bytearray(units[i])
        u[at] = change(u[at])
        return units[:i] + [bytes(u)] + units[i + 1:]
    return edit


def insert(unit, kinds, skip=0):
    def edit(units):
        i = first(units, kinds, skip)
        return None if i is None else units[:i] + [unit] + units[i:]
    return edit


def append(kinds, junk, skip=0):
    def edit(units):
        i = first(units, kinds, skip)
        return None if i is None else units[:i] + [units[i] + junk] + units[i + 1:]
    return edit


def within(kinds, junk):
    def edit(units):
        i = first(units, kinds)
        middle = len(units[i]) - 2
        return units[:i] + [units[i][:middle] + junk + units[i][middle:]] + units[i + 1:]
    return edit


def forbidden_bit(units):
    """Of a reference before another picture that is no IDR picture: that one needs it. What needs a
    lost IDR picture may not come at all."""
    at = [i for i, u in enumerate(units) if kind(u) in SLICES]
    such = [i for i, after in zip(at[1:], at[2:])
            if units[i][0] & 0x60 and kind(units[i]) != 5 and kind(units[after]) != 5]
    if not such:
        return None
    damaged = bytes([units[such[0]][0] | 0x80]) + units[such[0]][1:]
    return units[:such[0]] + [damaged] + units[such[0] + 1:]


def between_slices(units):
    at = [i for i in range(1, len(units)) if kind(units[i]) in SLICES
          and not is_first_slice(units[i]) and kind(units[i - 1]) in SLICES]
    return units[:at[0]] + [b"\x06\x05\x01\x00\x80"] + units[at[0]:] if at else None


def without_slice(units):
    at = [i for i in range(1, len(units)) if kind(units[i]) in SLICES
          and not is_first_slice(units[i])]
    return units[:at[0]] + units[at[0] + 1:] if at else None


def single(units):
    """Each picture is one slice."""
    return all(is_first_slice(u) for u in units if kind(u) in SLICES)


def without_reference(units):
    i = first(units, (1,), such=lambda u: u[0] & 0x60)
    later = i is not None and first(units[i + 1:], (1,)) is not None
    return units[:i] + units[i + 1:] if later and single(units) else None


def repeated(kinds):
    def edit(units):
        i = first(units, kinds)
        if i is None or not single(units):
            return None
        return units[:i + 1] + [b"\x09\xf0"] + units[i:]
    return edit


def other_sps(units):
    sps, i = first(units, (SPS,)), first(units, (1,))
    if sps is None or i is None or len([u for u in units if kind(u) == SPS]) > 1:
        return None
    u = bytearray(units[sps])
    u[3] = 52 if u[3] != 52 else 51
    return units[:i] + [bytes(u)] + units[i:]


PLAIN = ["--without",
         "other-nal-units,redundant,aso,gaps,mvc,separate-planes"]
DATA_END = ("9.3.1.2: slice data end bytes", "7.3.4") # parameter sets may change the coding
# name, the clause's beginning, options of streamgen, change
MADE = [
    ("forbidden bit", "7.4.1: forbidden", ["p"], forbidden_bit),
    ("IDR picture that is no reference", "7.4.1: nal_ref_idc", [],
     byte((5,), 0, lambda b: b & 0x9f)),
    ("SPS with nal_ref_idc 0", "7.4.1: nal_ref_idc", [], byte((SPS,), 0, lambda b: b & 0x9f)),
    ("00 00 02", "7.4.1: bytes", [], within(SLICES, b"\0\0\2")),
    ("03 without need", "7.4.1: ", [], within(SLICES, b"\0\0\3\x77")),
    ("reserved unit", "7.4.1: nal_unit_type", [], insert(b"\x30\x80", SLICES, 1)),
    ("two delimiters", "7.4.1.2.3: a delimiter", [], lambda u: [b"\x09\xf0", b"\x09\xf0"] + u),
    ("delimiter for I slices alone", "7.4.2.4", ["p"], insert(b"\x09\x10", (1,))),
    ("message between slices", "7.4.1.2.3: a unit", ["slices"], between_slices),
    ("a slice is missing", "7.4.1.2: macroblocks", ["slices"], without_slice),
    ("a reference is missing", "7.4.3: a gap", ["p"], without_reference),
    ("the IDR picture twice", "7.4.3: idr_pic_id", [], repeated((5,))),
    ("a picture twice", "8.2.1: POC", ["p"], repeated((1,))),
    ("no IDR picture behind the end", "7.4.1.2.1: no IDR", ["p"], insert(b"\x0a", (1,))),
    ("another SPS", "7.4.1.2.1: another SPS", ["p"], other_sps),
    ("junk behind the SPS", "7.3.2.1", [], append((SPS,), b"\x55" * 40)),
    ("junk behind the PPS", "7.3", [], append((PPS,), b"\x55" * 400)),
    ("reserved flags of the SPS", "7.4.2.1.1", [], byte((SPS,), 2, lambda b: b | 3)),
    ("reserved level", "A.3: level", [], byte((SPS,), 3, lambda b: 99)),
    ("frame too large", "A.3.1: the frame", ["--mbs", "12x12"], byte((SPS,), 3, lambda b: 10)),
    ("vectors too long", "A.3.1: a vector", ["far-mv"], byte((SPS,), 3, lambda b: 10)),
    ("CABAC in Baseline", "A.2", ["cabac"], byte((SPS,), 1, lambda b: 66)),
    ("junk behind CABAC data", DATA_END, ["cabac"], append((5,), b"\x55" * 40)),
    ("two bytes before the stop bit", DATA_END, ["cabac"], append((5,), b"\x55" * 2)),
    ("junk behind CAVLC data", DATA_END, ["cavlc"], append((5,), b"\x55" * 40)),
]
TRIES, WANTED = 60, 3

# A decoder tells these without other frames of the stream.
TOLD = ("forbidden bit", "junk behind the SPS", "junk behind CABAC data",
        "two bytes before the stop bit")


def make(args, name, clause, features, change, folder):
    """Streams by seeds until the change suits WANTED of them; each must show the clause."""
    found, path = 0, f"{folder}/made.264"
    for k in range(TRIES):
        features_of = features if "--mbs" in features else ["--with", *features] if features else []
        if subprocess.run([args.bin + "/streamgen", "--seed", str(args.seed * 100 + k),
                           *features_of, *PLAIN, "--frames", "6", "-o", path],
                          capture_output=True).returncode:
            continue
        units = change(units_of(pathlib.Path(path).read_bytes()))
        if not units:
            continue
        pathlib.Path(path).write_bytes(b"".join(b"\0\0\1" + u for u in units))
        seen, marked, text = judged(args, path)
        if name in TOLD and not marked:
            print(f"FAILED {name}, seed {args.seed * 100 + k}: no frame is marked in\n{text}")
            return False
        if not any(s.startswith(clause) for s in seen):
            if name in OFTEN:
                continue
            print(f"FAILED {name}, seed {args.seed * 100 + k}: no {clause} in\n{text}")
            return False
        found += 1
        if found == WANTED:
            return True
    print(f"{name}: {found} streams")
    return found > 0


# Whether these show depends on the stream: of TRIES one must.
OFTEN = ("frame too large", "vectors too long", "CABAC in Baseline", "a reference is missing",
         "the IDR picture twice", "a picture twice", "delimiter for I slices alone",
         "no IDR picture behind the end", "another SPS", "a slice is missing",
         "junk behind the PPS")


def conformance(args):
    manifest = pathlib.Path(args.streams, "MANIFEST.tsv")
    if not manifest.exists():
        print("without conformance streams")
        return []
    with open(manifest, newline="") as f:
        files = [r["file"] for r in csv.DictReader(f, delimiter="\t")
                 if "container" not in r["tags"].split(",")]
    return files if args.all else random.Random(args.seed).sample(files, SAMPLE)


def clean(args, folder):
    good, count, known = True, 0, 0
    listed = subprocess.run([args.bin + "/streamgen", "--list"], check=True, capture_output=True,
                            text=True).stdout.split()
    for feature in listed:
        path = f"{folder}/{feature}.264"
        subprocess.run([args.bin + "/streamgen", "--seed", str(args.seed), "--with", feature,
                        "--frames", "6", "-o", path], check=True, capture_output=True)
        seen, marked, text = judged(args, path)
        bad, count = [s for s in seen if s not in CLEAN["streamgen"]], count + 1
        if bad or marked or "cannot be" in text:
            print("FAILED clean:", text)
            good = False
    for name in conformance(args):
        allowed = [b for prefix, bs in CLEAN.items() if name.startswith(prefix) for b in bs]
        seen, marked, text = judged(args, str(pathlib.Path(args.streams, name)))
        bad = [s for s in seen if s not in allowed]
        count, known = count + 1, known + bool(seen and not bad)
        if bad or marked or "cannot be" in text:
            print("FAILED clean:", text)
            good = False
    print(f"{count} clean streams, {known} of them with known breaches")
    return good


def lost_plane(args, folder):
    """A slice of one colour plane is lost: all frames that rest on it are marked."""
    path = folder + "/planes.264"
    subprocess.run([args.bin + "/streamgen", "--seed", "20261129", "--with", "intra8x8", "--frames",
                    "6", "-o", path], check=True, capture_output=True)
    units = units_of(pathlib.Path(path).read_bytes())
    slices = [i for i, u in enumerate(units) if u[0] & 31 == 1]
    del units[slices[5]] # of the third plane of a reference picture
    pathlib.Path(path).write_bytes(b"".join(b"\0\0\1" + u for u in units))
    _, marked, text = judged(args, path)
    resting = [line for line in text.splitlines() if "frame" in line and "are missing" in line]
    good = len(resting) == len(marked) == 4
    print("a plane is lost: " + ("told" if good else f"FAILED {resting}"))
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", type=t.binaries, default=t.BINARIES)
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS")
                   or str(t.ROOT.parent / "shared" / "streams"))
    p.add_argument("--all", action="store_true", help="all conformance streams")
    p.add_argument("--seed", type=int, default=int(t.SEED))
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = [make(args, *m, folder) for m in MADE]
        print(f"{sum(results)} of {len(results)} breaches are found")
        good = lost_plane(args, folder) and clean(args, folder) and all(results)
    return 0 if good else 1


sys.exit(main())
