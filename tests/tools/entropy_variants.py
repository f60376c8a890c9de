#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Step 2 as compiled for this processor and for any processor, each with coefficient blocks and
with packed levels. All must give the same records from streams of the day's seed, whole and with
flipped bits.

    entropy_variants.py H264_ENTROPY STREAMGEN [COUNT]

Exit 77 (skipped) if there is only one.
"""
import os
import subprocess
import sys
import tempfile
import time


def records(entropy, path, flips, generic, packed):
    command = [entropy, "-g", str(generic), "-p", str(packed)]
    command += (["-m", str(flips)] if flips else []) + [path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if run.returncode not in (0, 1):  # 1: not all was decoded
        raise SystemExit("%s: exit status %d\n%s" % (" ".join(command), run.returncode, run.stderr))
    text = run.stdout.split(" seconds ")[0]
    return (text if flips
            else text + run.stdout[run.stdout.index(" motion-checksum"):].split(" ns/mb")[0])


def main():
    entropy, streamgen = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    seed = int(os.environ.get("PELTON_SEED", time.strftime("%Y%m%d", time.gmtime()))) * 1000
    if "bmi2" not in open("/proc/cpuinfo").read().split():
        print("this processor has no BMI2")
        return 77
    print("seed", seed)
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stream.264")
        for i in range(seed, seed + count):
            subprocess.run([streamgen, "--seed", str(i), "-o", path], check=True,
                           stdout=subprocess.DEVNULL)
            for flips in (0, i):
                all_ways = [records(entropy, path, flips, g, p) for g in (0, 1) for p in (0, 1)]
                if len(set(all_ways)) > 1:
                    different += 1
                    print("streamgen --seed %d, -m %d:" % (i, flips), *all_ways, sep="\n  ")
    print("%d streams, %d differ" % (count, different))
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
