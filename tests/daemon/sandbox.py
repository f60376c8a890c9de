#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The sandbox of peltond's processes, seen from inside: broker and worker make every system call
that they may not make, and try files, sockets, signals and programs (sandbox_probe.c). So does the
worker of a camera while its frames come. The same probe without the sandbox shows that it can tell
the difference. A daemon whose spawner is gone ends. Without libseccomp, or in a build with
sanitizers, the exit code is 77.

  sandbox.py --bin DIR --probe LIBRARY
"""
import errno, os, pathlib, re, signal, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the lists of the sources leave to rules about arguments.
ALLOWED = ("ioctl", "socket", "socketpair", "prlimit64")
EPERM, EACCES, ENOSYS = errno.EPERM, errno.EACCES, errno.ENOSYS
ENOENT, EAFNOSUPPORT = errno.ENOENT, errno.EAFNOSUPPORT
# Name of the trial: errors that are right.
BROKER = {"write-etc": (EACCES,), "write-null": (EACCES,), "write-own-name": (EACCES,),
          "read": (0,), "make-tmp": (EACCES,), "make-shm": (EACCES,), "make-cache": (EACCES,),
          "remove-other": (EACCES,), "clone-user": (EPERM,), "run": (EPERM,),
          "ioctl-type": (EPERM,), "signal-parent": (0,), "socket-unix": (0,),
          "socket-inet": (EPERM,), "socket-packet": (EPERM,), "socket-alg": (EPERM,),
          "bind-tcp": (EPERM,)}
WORKER = {**BROKER, "write-null": (0,), "write-own-name": (0,), "make-shm": (0,),
          "make-cache": (0,), "signal-parent": (EPERM,), "socket-inet": (0,),
          "bind-tcp": (EACCES,)}
FREE = {"write-null": (0,), "write-own-name": (0,), "make-tmp": (0,), "make-cache": (0,),
        "remove-other": (0,), "run": (ENOENT,), "signal-parent": (0,), "socket-inet": (0,),
        "bind-tcp": (0,)}
# Filters that hold in a worker: the broker's first one, the spawner's, its own. With libcamera the
# spawner has none, because the worker runs programs.
WORKER_FILTERS, WITH_LIBCAMERA = 3, 2
# Landlock's: the first version that has it.
SINCE = {"write-etc": 1, "write-null": 1, "write-own-name": 1, "make-tmp": 1, "make-shm": 1,
         "make-cache": 1, "remove-other": 1, "bind-tcp": 4, "signal-parent": 6}


def names(path, table):
    text = re.search(rf"{table}\[\] = {{(.*?)}};", (ROOT / path).read_text(), re.S)[1]
    return re.findall(r'"(\w+)"', text)


class Daemon:
    """With the probe inside of its processes."""

    def __init__(self, args, folder, *values, libraries=(), **more):
        self.folder = pathlib.Path(folder)
        (self.folder / "cache").mkdir()
        (self.folder / "other").touch()
        broker = names("daemon/broker/broker_sandbox.c", "broker_calls")
        (self.folder / "allowed").write_text(" ".join([*broker, *ALLOWED]))
        self.refused = [*names("daemon/worker/worker_sandbox.c", "refused_calls"),
                        *names("daemon/worker/worker_sandbox.c", "run_calls")]
        (self.folder / "refused").write_text(" ".join([*self.refused, "clone3"]))
        self.log = open(self.folder / "log", "w+")
        self.socket = f"{folder}/run/sock"
        (self.folder / "run").mkdir()
        env = {**os.environ, **more, "PELTON_PROBE": folder, "XDG_CACHE_HOME": folder + "/cache",
               "LD_PRELOAD": ":".join([args.probe, *map(str, libraries)]),
               **({"PELTON_PROBE_FREE": "1"} if "sandbox=false" in values else {})}
        self.process = subprocess.Popen([f"{args.bin}/peltond", "--socket", self.socket,
                                         "--log-level", "info", "-c", "device=cpu",
                                         *(w for v in values for w in ("-c", v))],
                                        env=env, stderr=self.log)
        t.wait_until(lambda: "device " in self.said(), 60)
        self.worker = t.workers(self.process.pid)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Also where a check went wrong it does not outlive the test."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def said(self):
        return (self.folder / "log").read_text()

    def look(self, pid):
        """{name: errno} of the probe in that process."""
        os.kill(pid, signal.SIGUSR2)
        report = self.folder / str(pid)
        t.wait_until(lambda: "\nend 0\n" in report.read_text(), 30)
        return {l.split()[0]: int(l.split()[1]) for l in report.read_text().splitlines()}

    def filters(self, pid):
        return int(re.search(r"Seccomp_filters:\s*(\d+)",
                             pathlib.Path(f"/proc/{pid}/status").read_text())[1])

    def end(self):
        self.process.terminate()
        code = self.process.wait(t.patience(10))
        check(code == 0, f"it ends with exit code {code}")
        check(not os.path.exists(self.socket), "its socket is removed")


def compare(who, found, expected, version):
    wrong = {}
    for name, errors in expected.items():
        if SINCE.get(name, 0) <= version and found.get(name) not in errors:
            wrong[name] = found.get(name)
    check(not wrong, f"{who}: {len(expected)} trials {wrong}")


def processes(args):
    with tempfile.TemporaryDirectory() as folder, Daemon(args, folder) as d:
        said = re.search(r"peltond: sandbox: (.*)", d.said())
        check(said is not None, "the log tells of the sandbox")
        if "no seccomp" in said[1]:
            print(f"skipped: {said[1]}")
            d.end()
            return False
        landlock = re.search(r"Landlock (\d+)", said[1])
        version = int(landlock[1]) if landlock else 0
        if version < 6:
            print(f"skipped in part: Landlock {version}")
        told = subprocess.run([f"{args.bin}/peltond", "--version"], capture_output=True, text=True)
        libcamera = "not in this build" not in told.stdout # it may run programs
        t.wait_until(lambda: d.filters(d.worker) == (WITH_LIBCAMERA if libcamera else
                                                   WORKER_FILTERS), 60)
        found = d.look(d.process.pid)
        calls = {n: e for n, e in found.items() if n not in BROKER and n != "end"}
        free = {n: e for n, e in calls.items() if e != EPERM}
        check(len(calls) > 200 and not free, f"broker: {len(calls)} calls are refused {free}")
        compare("broker", found, BROKER, version)
        found = d.look(d.worker)
        free = {n: found[n] for n in d.refused
                if n in found and found[n] != EPERM and not (n[:4] == "exec" and libcamera)}
        n = sum(name in found for name in d.refused)
        check(n > 50 and not free, f"worker: {n} calls are refused {free}")
        check(found.get("clone3") == ENOSYS, f"worker: clone3 {found.get('clone3')}")
        compare("worker", found, {n: e for n, e in WORKER.items()
                                  if n != "run" or not libcamera}, version)
        check(d.process.poll() is None and t.workers(d.process.pid) == [d.worker],
              "both go on after all this")
        d.end()
    return True


def without(args):
    with tempfile.TemporaryDirectory() as folder, Daemon(args, folder, "sandbox=false") as d:
        check("sandbox" not in d.said() and d.filters(d.process.pid) == 0,
              "sandbox=false: there is none")
        check(d.filters(d.worker) == 0, "sandbox=false: none in the worker")
        compare("broker without", d.look(d.process.pid), FREE, 99)
        doctor_told(args, d, "sandbox off", "none")
        (d.folder / "other").touch() # the broker could remove it
        compare("worker without", d.look(d.worker), FREE, 99)
        d.end()


def doctor_told(args, d, words, who):
    """The worker tells of its own once a second."""
    said = lambda: subprocess.run([f"{args.bin}/pelton", "doctor", "--socket", d.socket],
                                  capture_output=True, text=True).stdout
    lines = lambda: [l for l in said().splitlines() if " sandbox " in l]
    good = t.wait_until(lambda: [words in l for l in lines()] == [True, True], 10)
    check(good, f"doctor: {who}: {lines()}")


def camera(args, folder, uri, **more):
    """The probe in the worker while it captures, develops and delivers frames of a camera."""
    config = pathlib.Path(folder, "cameras.yaml")
    config.write_text("version: 1\nsources:\n  cam:\n    {uri: \"%s\", size: 160x120, fps: 25}\n"
                      % uri)
    kind = uri.split(":")[0]
    with Daemon(args, folder, str(config), **more) as d:
        words = [f"{args.bin}/pelton", "pipe", "--socket", d.socket, "-loglevel", "error", "cam"]
        reader = subprocess.Popen(words, stdout=subprocess.PIPE)
        size = 160 * 120 * 3 // 2
        check(len(reader.stdout.read(size)) == size, f"{kind}: frames come")
        libcamera = d.filters(d.worker) == WITH_LIBCAMERA
        found = d.look(d.worker)
        free = {n: found[n] for n in d.refused
                if n in found and found[n] != EPERM and not (n[:4] == "exec" and libcamera)}
        n = sum(name in found for name in d.refused)
        check(n > 50 and not free, f"{kind}: {n} calls are refused {free}")
        landlock = re.search(r"Landlock (\d+)", d.said())
        compare(kind, found, {n: e for n, e in WORKER.items() if n != "run" or not libcamera},
                int(landlock[1]) if landlock else 0)
        check(len(reader.stdout.read(20 * size)) == 20 * size, f"{kind}: 20 frames more come")
        reader.kill()
        reader.wait()
        check(t.workers(d.process.pid) == [d.worker], f"{kind}: its worker goes on")
        if landlock:
            doctor_told(args, d, "seccomp and Landlock", "both processes")
        d.end()


def cameras(args):
    """A simulated one, and a V4L2 device that a library stands in for (v4l2_shim.c)."""
    with tempfile.TemporaryDirectory() as folder:
        camera(args, folder, "sim://%s" % (ROOT / "tests/faults/clip.mp4"))
    shim = pathlib.Path(args.bin, "v4l2_shim.so")
    if not shim.exists():
        print("without a V4L2 device: its stand-in is not built")
        return
    with tempfile.TemporaryDirectory() as folder:
        device = folder + "/device"
        pathlib.Path(device).write_text("fourcc=NV12\nwidth=160\nheight=120\nfps=25\n")
        camera(args, folder, "v4l2://" + device, libraries=[shim], V4L2_SHIM=device)


def spawner_lost(args):
    with tempfile.TemporaryDirectory() as folder, Daemon(args, folder) as d:
        pid = d.process.pid
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        spawner, = {int(c) for c in children} - {d.worker}
        os.kill(spawner, signal.SIGKILL)
        os.kill(d.worker, signal.SIGKILL)
        t.wait_until(lambda: " ended: signal 9" in d.said(), 20) # else nobody is started again
        subprocess.run([f"{args.bin}/pelton", "doctor", "--socket", d.socket], capture_output=True)
        code = d.process.wait(t.patience(20))
        check(code == 1 and "spawner" in d.said(),
              f"the spawner is lost: exit code {code}: {d.said().splitlines()[-1]}")


def main():
    p = t.argparse.ArgumentParser()
    p.add_argument("--bin", type=t.binaries, required=True)
    p.add_argument("--probe", required=True)
    args = p.parse_args()
    if not processes(args):
        return 77
    without(args)
    cameras(args)
    spawner_lost(args)
    return t.finish()


sys.exit(main())
