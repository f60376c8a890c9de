#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Coders leave cores to the threads that feed the device: they are nicer than all others of a
worker, also where the daemon is nice already.

  gives_way.py --bin DIR
"""
import os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import peltontest as t
from peltontest import check

STEPS = 10  # CODER_NICE
MOST = 19   # of what there can be
CODERS = "pelton-codec"


def niceness(pid):
    """Name of each thread: the set of what threads of that name have."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            value = int((task / "stat").read_text().rpartition(")")[2].split()[16])
        except OSError:  # the thread has ended meanwhile
            continue
        found.setdefault(name, set()).add(value)
    return found


def told(pid):
    """That of the worker with coders; None: it has not begun yet."""
    for worker in t.workers(pid):
        found = niceness(worker)
        if CODERS in found:
            return found
    return None


def check_daemon(bins, folder, nice):
    path = os.path.join(folder, f"{nice}.sock")
    daemon = subprocess.Popen([str(bins / "peltond"), "--socket", path, "--device", "cpu"],
                              stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(nice))
    try:
        own = os.nice(0) + nice
        want = {min(own + STEPS, MOST)}
        # a thread is nice a moment after it has its name
        t.wait_until(lambda: (told(daemon.pid) or {}).get(CODERS) == want, 20)
        found = told(daemon.pid) or {}
        coders = found.pop(CODERS, set())
        check(coders == want, f"of a daemon with nice {own} coders have {coders}")
        # those of the driver have what it gives them
        others = [found[name] for name in found if name.startswith("pelton-")]
        check(others and set().union(*others) == {min(own, MOST)}, f"and other threads {found}")
    finally:
        daemon.terminate()
        daemon.wait()


def main():
    args = t.arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        for nice in (0, 5, 15):
            check_daemon(pathlib.Path(args.bin), folder, nice)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
