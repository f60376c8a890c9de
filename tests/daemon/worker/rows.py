#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Live pictures of one slice, whose rows are reconstructed before they are decoded. Streams come
from pipes, whole and damaged. The frames must be those without such rows, with both wavefronts of
intra prediction.

  rows.py --bin build/bin --device cpu
"""
import os, pathlib, random, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import peltontest as t

STREAMS = pathlib.Path(os.environ.get("PELTON_STREAMS", t.ROOT.parent / "shared/streams"))
# CABAC and CAVLC, I, P and B pictures, 8x8 transform, weights; about 50 pictures each
FILES = ["jvt/CABA3_TOSHIBA_E.264", "jvt/CI_MW_D.264", "jvt/NL1_Sony_D.jsv",
         "x264/main_weightp2.264", "x264/high_cavlc_8x8dct_cqmjvt.264"]
BYTES = 60000  # of each
DAMAGED = 1    # versions of each
STEP = "first rows of a picture are submitted"


def damaged(data, seed):
    """Some bytes are others. The parameter sets at the start stay."""
    chance, out = random.Random(seed), bytearray(data)
    for _ in range(1 + len(out) // 8000):
        at = chance.randrange(200, len(out))
        out[at] ^= 1 << chance.randrange(8)
    return bytes(out)


def frames(args, data, rows, wavefront):
    """The frames' checksums, and whether rows went ahead of their picture."""
    command = [args.bin + "/pelton", "decode", "--device", args.device, "-loglevel", "debug",
               "-c", "lookahead=1", "-c", "debug.split=rows=%d" % rows,
               "-c", "debug.wavefront=%d" % wavefront, "-i", "-", "-f", "framemd5", "-"]
    run = subprocess.run(command, input=data, capture_output=True, timeout=args.timeout)
    if run.returncode < 0:
        raise SystemExit("killed by signal %d" % -run.returncode)
    return run.stdout.decode(), STEP in run.stderr.decode(errors="replace")


def check(args, name, data, wavefront):
    want, begun = frames(args, data, 1, wavefront)
    if begun or want.count("\n") < 5:
        return "%s: no frames, or rows that nobody asked for" % name
    got, begun = frames(args, data, 3, wavefront)
    if not begun:
        return "%s: no rows went ahead of their picture" % name
    why = t.first_difference(got, want)
    return "%s, wavefront %d: %s" % (name, wavefront, why) if why else None


def main():
    args = t.arguments(__doc__)
    if not STREAMS.exists():
        print("skipped: no streams at", STREAMS)
        return t.SKIPPED
    bad, runs = [], 0
    for i, name in enumerate(FILES):
        data = (STREAMS / name).read_bytes()[:BYTES]
        versions = [(name, data)] + [("%s, damage %s.%d" % (name, t.SEED, k),
                                      damaged(data, "%s.%s.%d" % (t.SEED, name, k)))
                                     for k in range(DAMAGED)]
        for k, (label, version) in enumerate(versions):
            bad.append(check(args, label, version, 1 + (i + k) % 2))
            runs += 1
    bad = [why for why in bad if why]
    print("\n".join(bad + ["rows ahead of their pictures: %d of %d streams equal" %
                           (runs - len(bad), runs)]))
    return 1 if bad else 0


sys.exit(main())
