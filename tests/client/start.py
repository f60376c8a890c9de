#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The way to the first frame, as `-loglevel debug` tells it: client, broker and worker on one
clock, in the order that they need each other.

The first picture waits for the pipelines of an I picture alone. A daemon opens the device while
nobody asks for a stream.

Exit codes: 0, 1.
"""
import os, pathlib, re, signal, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

CLIP = str(t.ROOT / "packaging/demo.mp4")
LINE = re.compile(r"^start +([0-9.]+) ms +(client|broker|worker) +(.*)$", re.M)
# Each of them follows the one before, whichever process tells it.
ORDER = ["client main", "client a private daemon is started", "broker main",
         "broker a worker is started", "client the daemon has answered",
         "worker first stream is asked for",
         "worker first picture waits for its coder", "worker first batch is submitted",
         "worker first batch is done", "worker first frame is told", "client first frame",
         "client last frame", "client end"]
STEPS = ["client options are read", "worker main",
         "worker instance is made", "worker device is made", "worker the engine runs",
         "worker first source is open", "worker first frame store is made",
         "worker first pool of frames is made",
         "worker (leaves|the device is closed)", "worker [0-9]+ pipelines are there"]


LITTLE = "worker little video: the GPU decodes no entropy"


def decode(args, *more, source=CLIP):
    """The lines of one new process: (milliseconds, process, text), by time."""
    with open(CLIP, "rb") as clip:
        run = subprocess.run([args.bin + "/pelton", "decode", "--device", args.device, "-i", source,
                              "-loglevel", "debug", "-frames:v", "1", *more, "-f", "null", "-"],
                             text=True, capture_output=True, timeout=t.LIMIT_S, stdin=clip)
    if run.returncode:
        sys.exit("decode failed: " + run.stderr)
    return sorted((float(ms), role, text) for ms, role, text in LINE.findall(run.stderr))


def leaves(args):
    """Whether the worker leaves at once, in the midst of a long decode with the GPU's entropy
    decoding: else its broker kills it."""
    run = subprocess.Popen([args.bin + "/pelton", "decode", "--device", args.device, "-i", CLIP,
                            "-loglevel", "debug", "-c", "entropy=gpu", "-f", "null", "-"],
                           stderr=subprocess.PIPE, text=True)
    for line in run.stderr:
        if "first access unit is read" in line:
            break
    run.send_signal(signal.SIGINT)
    text = run.stderr.read()
    run.wait(t.LIMIT_S)
    return any(text == "leaves" for _, _, text in LINE.findall(text))


def warms_up(args):
    """Whether a daemon without clients starts its worker and opens the device."""
    with tempfile.TemporaryDirectory() as d, open(d + "/log", "w") as log:
        daemon = subprocess.Popen([args.bin + "/peltond", "--socket", d + "/s", "--device",
                                   args.device], stderr=log,
                                  env={**os.environ, "PELTON_TRACE_START": "1"})
        read = lambda: LINE.findall(pathlib.Path(d + "/log").read_text())
        warm = t.wait_until(lambda: any(text == "the engine runs" for _, _, text in read()), 60)
        daemon.terminate()
        daemon.wait(t.LIMIT_S)
    return warm


def place(lines, step):
    """Where a step stands; -1: nowhere."""
    return next((i for i, (_, role, text) in enumerate(lines)
                 if re.match(step, role + " " + text)), -1)


def main():
    args = t.parser(__doc__).parse_args()
    bad = []
    for value in ("", "1"):
        told = subprocess.run([args.bin + "/pelton", "version"], capture_output=True, text=True,
                              env={**os.environ, "PELTON_TRACE_START": value}).stderr
        if bool(LINE.search(told)) != bool(value):
            bad.append("PELTON_TRACE_START=%s: %s" % (value, told))
    lines = decode(args)
    bad += ["no line: " + step for step in ORDER + STEPS if place(lines, step) < 0]
    # Times, not lines: two processes can write within the tenth of a millisecond that a line tells.
    times = [lines[place(lines, step)][0] for step in ORDER if place(lines, step) >= 0]
    bad += ["%s comes before %s" % (b, a)
            for a, b, i, k in zip(ORDER, ORDER[1:], times, times[1:])
            if len(times) == len(ORDER) and k < i]
    if place(lines, LITTLE) < 0:
        bad.append("a short file is not known to be one")
    if place(decode(args, source="-"), LITTLE) < 0:
        bad.append("one frame is not known to be little")
    if place(decode(args, "-stream_loop", "1", "-frames:v", "100000"), LITTLE) < 0:
        bad.append("a short file that is read twice is not known to be one")
    unknown = {"typed": decode(args, "-c", "expected=0"), "long": decode(args, "-c",
               "expected=1000000"),
               "again and again": decode(args, "-stream_loop", "1000000", "-frames:v", "100000",
                                         "-t", "0.1"),
               "without end": decode(args, "-stream_loop", "-1", "-frames:v", "100000", "-t",
                                     "0.1"),
               "from a pipe": decode(args, "-frames:v", "100000", source="-"),
               "told who decodes": decode(args, "-c", "entropy=both")}
    bad += ["known to be short: " + what for what, told in unknown.items()
            if place(told, LITTLE) >= 0]
    first = place(lines, "worker [0-9]+ pipelines are there")
    if first >= 0 and int(lines[first][2].split()[0]) > 14:
        bad.append("an I picture waits for " + lines[first][2])
    if "worker leaves" in [" ".join(line[1:]) for line in lines] and not leaves(args):
        bad.append("the worker does not leave in the midst of a decode")
    if not warms_up(args):
        bad.append("a daemon that nobody asks opens no device")
    print("\n".join(bad) or "%d lines" % len(lines))
    if bad:
        print("\n".join("%8.1f %s %s" % line for line in lines))
    return 1 if bad else 0


sys.exit(main())
