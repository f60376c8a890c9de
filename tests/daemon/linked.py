#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The broker loads a dozen libraries at most, none of them a demuxer, a codec or a driver. The
worker, which is a program of its own, loads those, and a peltond without it says so."""
import argparse, os, re, shutil, subprocess, sys, tempfile

FOREIGN = ("libav", "libsw", "libvulkan", "libdrm", "libGL", "libcamera", "libstdc++")
MOST = 12


def libraries(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(lib[\w+.-]*\.so[\w.]*)", out)))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", required=True)
    args = p.parse_args()
    broker, worker = (libraries(f"{args.bin}/{name}") for name in ("peltond", "peltond-worker"))
    faults = [l for l in broker if l.startswith(FOREIGN)]
    faults += [f"{len(broker)} libraries"] if len(broker) > MOST else []
    if not any(l.startswith("libavformat") for l in worker):
        faults.append("the worker has no libavformat")
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(args.bin + "/peltond", d)
        run = subprocess.run([d + "/peltond", "--worker-fd", "3", "--parent", str(os.getpid())],
                             capture_output=True, text=True)
        if run.returncode != 1 or "peltond-worker: No such file" not in run.stderr:
            faults.append(f"alone: {run.returncode} {run.stderr!r}")
    print(f"peltond: {len(broker)} libraries, peltond-worker: {len(worker)}")
    print("\n".join(f"FAILED: {f}" for f in faults) or " ".join(broker))
    return bool(faults)


sys.exit(main())
