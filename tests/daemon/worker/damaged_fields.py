#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damaged streams of fields give the same frames and flags each time, under any schedule and with
any earlier contents of frame slots. The test runs on the reference reconstruction, whose slots
begin with noise that differs from run to run, and on a device.

  damaged_fields.py SESSION_REFERENCE SESSION_DECODE STREAMGEN
"""
import os, pathlib, random, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import peltontest as t

REFERENCE, DEVICE, STREAMGEN = sys.argv[1:]
STREAMS, ON_DEVICE, PER_STREAM = 8, 4, 2
WITHOUT = "fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,separate-planes,mvc,size-changes"
WITH = ["paff,b", "paff,slices,list-modification", "paff,mbaff", "paff,unpaired-field"]
# A frame that predicts from one whose other field is lost; a field of several slices, one of which
# names a reference that is not there.
FIXED = {"frame after a single field":
         "000001676e0029ac521ca6449403c22112046000000168e9161508e03100000125b82807123300000101e210f9164035603a00de25856217",
         "field without its reference":
         "00000167f4001e1fc5642b403c22112046000001688fe980a0ac800000016863ed00665cb000000145b60e000d22c6ff"
         "000001414f0810f9857f0000010158717767f615e8ca1a00000101a8613519e317a3"}
SCHEDULES = [["--threads", 1], ["--threads", 4], ["--threads", 3, "--lookahead", 1],
             ["--threads", 2, "--shuffle", 5, "--lookahead", 16],
             ["--threads", 4, "--batch", 1], ["--threads", 2, "--entropy", "gpu"]]
failures = []


def frames(program, path, args, slots=0):
    out = subprocess.run([program, "--frames", *map(str, args), path], capture_output=True,
                         text=True, timeout=t.LIMIT_S,
                         env={**os.environ, "PELTON_TEST_SLOTS": str(slots),
                              "PELTON_TEST_ENTROPY_SEED": str(slots)})
    return out.returncode, t.session_frames(out.stdout)[:-1]


def differ(got, want, args):
    return got[0] != want[0] or t.session_difference(got[1], want[1], "gpu" in args)


def units(data):
    """NAL units with their start codes."""
    at = [i for i in range(len(data) - 3) if data[i:i + 3] == b"\0\0\1"] + [len(data)]
    return [data[a:b] for a, b in zip(at, at[1:])]


def damaged(data, rng):
    """Without some slices, or with wrong bits, half of them in headers of slices."""
    nals = units(data)
    slices = [i for i, nal in enumerate(nals) if nal[3] & 31 in (1, 5)][1:]
    lost = set(rng.sample(slices, min(len(slices), rng.randrange(3))))
    nals = [bytearray(nal) for i, nal in enumerate(nals) if i not in lost]
    for _ in range(rng.randrange(3)):
        nal = rng.choice(nals[2:])
        nal[rng.randrange(4, len(nal) if rng.randrange(2) else min(len(nal),
                                                                   10))] ^= 1 << rng.randrange(8)
    return b"".join(nals)


def check(path, what, on_device):
    want = frames(REFERENCE, path, SCHEDULES[0])
    for slots, args in enumerate(SCHEDULES):
        if differ(frames(REFERENCE, path, args, 1 + slots), want, args):
            failures.append(f"{what}: other frames with {args}")
    for args in (SCHEDULES[1], SCHEDULES[5]) if on_device else ():
        if differ(frames(DEVICE, path, ["--device", "cpu", *args]), want, args):
            failures.append(f"{what}: other frames on the device with {args}")
    return want[1]


def main():
    rng, total = random.Random(f"damaged fields {t.SEED}"), []
    print("PELTON_SEED", t.SEED, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/fields.264"
        for name, text in FIXED.items():
            pathlib.Path(path).write_bytes(bytes.fromhex(text))
            total += check(path, name, True)
        for i in range(STREAMS):
            seed = str(rng.randrange(1 << 30))
            subprocess.run([STREAMGEN, "--seed", seed, "--without", WITHOUT, "--with",
                            WITH[i % len(WITH)], "--frames", "8", "--mbs", "3x4", "-o", path],
                           check=True, capture_output=True)
            data = pathlib.Path(path).read_bytes()
            for k in range(PER_STREAM):
                pathlib.Path(path).write_bytes(damaged(data, rng))
                total += check(path, f"stream {i} (streamgen --seed {seed}, "
                                     f"{WITH[i % len(WITH)]}), damage {k}", i < ON_DEVICE
                                     and k == 0)
    marked = sum(line[3] & 2 != 0 for line in total)
    print(len(total), "frames,", marked, "of them marked")
    if not marked:
        failures.append("no frame was marked")
    print(*failures, sep="\n")
    return 1 if failures else 0


sys.exit(main())
