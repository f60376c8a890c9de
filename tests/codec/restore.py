#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Records that only a device had are restored as they were: streams of the day's seed, and
conformance streams with fields, temporal and spatial direct prediction, whole and with wrong bits.

    restore.py RESTORE_CHECK STREAMGEN [COUNT]
"""
import os, pathlib, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

CHECK, STREAMGEN = sys.argv[1:3]
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 12
STREAMS = pathlib.Path(os.environ.get("PELTON_STREAMS", t.ROOT.parent / "shared/streams"))
WITHOUT = "mbaff,fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,redundant,partitions,"\
          "sp,si,separate-planes,422,444,depth,differing-depths,lossless,cavlc444-intra,"\
          "size-changes,mvc"
FEATURES = ["p", "b,spatial-direct", "b,spatial-direct,slices", "b,paff,spatial-direct",
            "b,temporal-direct", "b,spatial-direct,temporal-direct,mixed-slices", "b,paff"]
CONFORMANCE = ["made/p_main_cabac_b_spatial_noinf.264", "made/fld_cabac_b_spatial.264"]
KINDS = ("for readers", "I", "P", "B", "fields", "short of memory")
failures = []


def restored(path, what, seed):
    run = subprocess.run([CHECK, *(["--mutate", str(seed)] if seed else []), path],
                         capture_output=True, text=True, timeout=t.LIMIT_S)
    found = re.search(r"(\d+) restored for readers, later I (\d+) P (\d+) B (\d+), fields (\d+), "
                      r"short (\d+)", run.stdout)
    if run.returncode or not found:
        failures.append(f"{what}, mutate {seed}: exit {run.returncode}, {run.stdout[-300:]} "
                        f"{run.stderr[-300:]}")
    return [int(n) for n in found.groups()] if found else [0] * len(KINDS)


def streams(folder):
    for i in range(COUNT):
        for k, features in enumerate(FEATURES):
            path, seed = f"{folder}/{i}.{k}.264", str(int(t.SEED) * 100 + i)
            subprocess.run([STREAMGEN, "--seed", seed, "--without", WITHOUT, "--with", features,
                            "--frames", "16", "--mbs", "6x6", "-o", path], check=True,
                           stdout=subprocess.DEVNULL)
            yield path, f"streamgen --seed {seed}, {features}"
    for name in CONFORMANCE:
        if (STREAMS / name).exists():
            yield str(STREAMS / name), name
        else:
            print(f"without {name}: it is not there")


def main():
    print("PELTON_SEED", t.SEED, flush=True)
    sums = {False: [0] * len(KINDS), True: [0] * len(KINDS)}
    with tempfile.TemporaryDirectory() as folder:
        for path, what in streams(folder):
            for seed in (0, 1 + int(t.SEED)):
                got = restored(path, what, seed)
                sums[seed != 0] = [a + b for a, b in zip(sums[seed != 0], got)]
    for mutated, counts in sums.items():
        print("damaged:" if mutated else "whole:", dict(zip(KINDS, counts)))
        failures.extend(f"none restored: {kind}, {'damaged' if mutated else 'whole'}"
                        for kind, n in zip(KINDS, counts) if not n)
    print(*failures, sep="\n")
    return 1 if failures else 0


sys.exit(main())
