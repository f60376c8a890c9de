#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Leaves out each barrier in turn, and tells which of them a test notices: by a wrong sample, by a
message of the validation layer, or by the audit of barriers (gpu/engine/barrier.h).

  tests/gpu/barriers.py --bin build/bin [--device cpu] [--without-layer] [--only PART OF A NAME]

Scenes are runs of the tests. Each says which barriers it records (PELTON_DROP_BARRIER=list). Then
each barrier is left out in those scenes that record it, the shortest first, until one fails. Exit
code 1 where fewer than --least percent are noticed. Runs of all take ten minutes on lavapipe.
"""
import argparse, os, pathlib, random, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "h264")]
import checkgpu_streams as streams
import peltontest as t


def scenes(args, folder):
    """Name and command. Programs that are not there are told and left out."""
    def program(name, *options):
        path = pathlib.Path(args.bin, name)
        if not path.exists():
            print("no", path, flush=True)
            return []
        return [(" ".join([name, *options]), [str(path), *options])]

    every = []
    for group, kinds in (("random", "12"), ("formats", "1"), ("mbaff", "12"), ("switching", "12"),
                         ("growth", "0")):
        for kind in kinds:
            every += program("checkgpu", "--only", group, "--wavefront", kind)
    for group in "batch", "denoise", "blur", "statistics":
        every += program("checkisp", "--only", group)
    for name in "delivery", "blur", "engine", "canaries", "motion":
        every += program("test_gpu_" + name)
    rng = random.Random(f"barriers {t.SEED}")
    paths = streams.generated(args, folder, rng, ["", "b,sub-macroblocks", "paff"],
                              more=lambda: ("--frames", "6"))
    for option in "entropy", "motion":
        named = [word for path in paths for word in ("--" + option, path)]
        command = program("checkgpu", "--pictures", "6", *named)
        every += [(f"checkgpu --{option}", c) for _, c in command]
    return every


def run(args, command, barrier):
    environment = {**os.environ, "PELTON_DROP_BARRIER": barrier, "PELTON_DEVICE": args.device}
    if not args.without_layer:
        environment["PELTON_VALIDATION"] = "1"
    begun = time.monotonic()
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=args.timeout, errors="replace")
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as e:
        text, code = "", 124
    return code, text, time.monotonic() - begun


def list_barriers(args, every):
    """Scenes with their barriers, the shortest first."""
    found = []
    for name, command in every:
        code, text, seconds = run(args, command, "list")
        if code == 77:
            sys.exit(77)
        barriers = [line.split()[1] for line in text.splitlines() if line.startswith("barrier ")]
        print(f"{name}: exit {code}, {len(barriers)} barriers, {seconds:.1f} s", flush=True)
        if code:
            print(text[-2000:])
            sys.exit("this fails with all barriers")
        found.append((seconds, name, command, barriers))
    return sorted(found)


def notice(args, barrier, found):
    """The first scene that notices, and how; else None."""
    for _, name, command, barriers in found:
        if barrier not in barriers:
            continue
        for _ in range(args.repeat):
            code, text, _ = run(args, command, barrier)
            if f"barrier {barrier} was left out 0 times" in text:
                break
            if code:
                how = "a message" if "validation:" in text else \
                    "no end" if code == 124 else "a wrong result"
                return f"{how} of {name}"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    t.add_arguments(p)
    p.add_argument("--without-layer", action="store_true", help="wrong results alone count")
    p.add_argument("--scenes", default="", help="scenes with this in their names")
    p.add_argument("--repeat", type=int, default=1, help="tries in each scene")
    p.add_argument("--least", type=float, default=90, help="percent")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list_barriers(args, [s for s in scenes(args, folder) if args.scenes in s[0]])
        every = sorted({b for f in found for b in f[3] if (args.only or "") in b})
        unseen = []
        for barrier in every:
            by = notice(args, barrier, found)
            print(f"{barrier}: {by or 'NOT NOTICED'}", flush=True)
            if not by:
                unseen.append(barrier)
    seen = len(every) - len(unseen)
    print(f"{seen} of {len(every)} barriers are noticed when they are left out")
    return int(seen < args.least / 100 * len(every))


sys.exit(main())
