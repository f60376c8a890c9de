#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The sandbox of pelton-web, seen from inside (../daemon/sandbox_probe.c): it makes every system
call that it may not make, and tries files, sockets and programs.
"""
import errno, os, pathlib, re, signal
import webtest as w

p = w.t.parser(__doc__)
p.add_argument("--probe", required=True)
args = p.parse_args()
# What the list of the source leaves to rules about arguments; the probe itself makes fcntl.
ALLOWED = ("ioctl", "socket", "prlimit64", "prctl", "clone")
EPERM, EACCES = errno.EPERM, errno.EACCES
# Name of the trial: errors that are right.
TRIALS = {"write-etc": (EACCES,), "write-null": (EACCES,), "read": (0,), "make-tmp": (EACCES,),
          "make-shm": (EACCES,), "remove-other": (EACCES, EPERM), "clone-user": (EPERM,),
          "run": (EPERM,), "ioctl-type": (EPERM,), "socket-unix": (0,), "socket-inet": (EPERM,),
          "socket-packet": (EPERM,), "socket-alg": (EPERM,), "bind-tcp": (EPERM,),
          "signal-parent": (EPERM,)}


def names():
    text = (w.t.ROOT / "web/web_sandbox.c").read_text()
    return re.findall(r'"(\w+)"', re.search(r"web_calls\[\] = {(.*?)};", text, re.S)[1])


with w.tempfile.TemporaryDirectory() as folder, w.t.Daemon(args, *w.cameras(args, 1)) as daemon:
    pathlib.Path(folder, "allowed").write_text(" ".join([*names(), *ALLOWED]))
    pathlib.Path(folder, "refused").touch()
    pathlib.Path(folder, "other").touch()
    os.environ.update(LD_PRELOAD=args.probe, PELTON_PROBE=folder)
    with w.Web(args, daemon.socket) as web:
        said = re.search(r"sandbox: (.*)", web.said())
        if "no seccomp" in said[1] or "no Landlock" in said[1]:
            print("skipped:", said[1])
            raise SystemExit(w.t.SKIPPED)
        report = pathlib.Path(folder, str(web.process.pid))
        web.process.send_signal(signal.SIGUSR2)
        w.t.wait_until(lambda: "\nend 0\n" in report.read_text(), 30)
        found = {l.split()[0]: int(l.split()[1]) for l in report.read_text().splitlines()}
        calls = {n: e for n, e in found.items() if n not in TRIALS and n not in (
            "end", "write-own-name", "make-cache", "clone3")}
        free = {n: e for n, e in calls.items() if e != EPERM}
        w.check(found.get("clone3") == errno.ENOSYS, f"clone3 is unknown: {found.get('clone3')}")
        w.check(len(calls) > 200 and not free, f"{len(calls)} calls are refused {free}")
        wrong = {n: found.get(n) for n, right in TRIALS.items() if found.get(n) not in right}
        w.check(not wrong, f"{len(TRIALS)} trials {wrong}")
        w.check(web.ask("/streams/cam0/snapshot.jpg")[0] == 200, "it serves after all this")
w.finish()
