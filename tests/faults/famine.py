#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Famine: full disks, few descriptors, little memory. Refusals come in words, no worker ends, no
sound stream is set aside, and the daemon goes on.

  famine.py disks|descriptors|memory --bin DIR [--device D]

Exit codes: 0, 1, 77 skipped (no ffmpeg; disks: no mount namespace).
"""
import argparse, collections, os, pathlib, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

DESCRIPTORS, MEMORY = 64, 256 << 20


def clip(args, path, *more, size="64x48", frames=40):
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    "testsrc2=size=%s:rate=25" % size, "-frames:v", str(frames), "-c:v", "libx264",
                    *more, path], check=True)
    return path


def check_frames(args, daemon, path, what):
    wrong = t.compare_framemd5(args, daemon, path)
    check(not wrong, "%s: %s" % (what, wrong or "every frame is right"))


def check_workers(lines, what):
    deaths = [line.strip() for line in lines if "ended:" in line or "set aside" in line]
    check(not deaths, "%s: %s" % (what, deaths or "no worker ended"))


class Limited(t.Daemon):
    """A daemon whose processes all have a limit."""

    def __init__(self, args, limit, *more):
        binaries, self.folder = args.bin, tempfile.TemporaryDirectory()
        program = self.folder.name + "/peltond"
        with open(program, "w") as f:
            f.write("#!/bin/sh\nexec prlimit %s %s/peltond \"$@\"\n"
                    % (limit, os.path.realpath(binaries)))
        os.chmod(program, 0o755)
        limited = argparse.Namespace(**{**vars(args), "bin": self.folder.name})
        super().__init__(limited, *more)


# ---- disks ----


def in_namespace():
    """Runs this script again with mounts of its own. Returns only in there."""
    if "PELTON_NAMESPACE" in os.environ:
        return
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    probe = subprocess.run([*unshare, "mount", "-t", "tmpfs", "t", "/mnt"], capture_output=True,
                           text=True)
    if probe.returncode:
        print("skipped: no mount namespace:", probe.stderr.strip())
        sys.exit(t.SKIPPED)
    os.execvpe("unshare", [*unshare, sys.executable, *sys.argv],
               {**os.environ, "PELTON_NAMESPACE": "1"})


class Disk:
    """A small file system of its own."""

    def __init__(self, size, *options):
        self.dir = tempfile.TemporaryDirectory()
        self.path = self.dir.name
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(["size=%d" % size, *options]), "t",
                        self.path], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)
        self.dir.cleanup()

    def fill(self):
        with open(self.path + "/fill", "ab", buffering=0) as f:
            for step in (1 << 16, 1 << 12, 1):
                try:
                    while f.write(b"\0" * step) == step:
                        pass
                except OSError:
                    pass


class DaemonOnDisk(t.Daemon):
    """Its socket, its log, its cache and its temporary files lie on that disk."""

    def __init__(self, args, disk):
        self.disk = disk
        super().__init__(args, "--socket", disk.path + "/sock", env={
            **os.environ, "XDG_CACHE_HOME": disk.path, "TMPDIR": disk.path, "HOME": disk.path})
        self.socket = disk.path + "/sock"


def full_from_the_start(args, folder):
    path = clip(args, folder + "/a.mp4", "-bf", "2")
    with Disk(400 << 10) as disk:
        disk.fill()
        with DaemonOnDisk(args, disk) as daemon:
            check_frames(args, daemon, path, "cache, run and temporary folder are full")
            check_workers(daemon.lines(), "cache, run and temporary folder are full")
            run = subprocess.run([args.bin + "/pelton", "decode", "--socket", daemon.socket, "-i",
                                  path, "-f", "rawvideo", disk.path + "/out.yuv"],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=args.timeout)
            check(run.returncode > 0 and "No space left" in run.stderr,
                  "output on a full disk: exit %d, %s" % (run.returncode,
                                                          run.stderr.splitlines()[-1:]))
            check_workers(daemon.lines(), "output on a full disk")


def full_while_it_runs(args, disk, first, later):
    with DaemonOnDisk(args, disk) as daemon:
        check_frames(args, daemon, first, "a cache with room")
        disk.fill()
        check_frames(args, daemon, later, "a cache that fills up")
        check_workers(daemon.lines(), "a cache that fills up")


def full_later(args, folder):
    """The driver has its cache when the disk fills; the next stream needs other pipelines."""
    first = clip(args, folder + "/first.mp4")
    later = clip(args, folder + "/later.mp4", "-pix_fmt", "yuv444p")
    kept = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    with Disk(200 << 20) as disk:
        if (kept / "mesa_shader_cache").is_dir(): # its copy saves the first stream's compilation
            shutil.copytree(kept / "mesa_shader_cache", disk.path + "/mesa_shader_cache")
        full_while_it_runs(args, disk, first, later)


def full_log(args, folder):
    path = clip(args, folder + "/log.mp4")
    with Disk(64 << 10) as disk:
        disk.fill()
        with open(disk.path + "/log", "w") as log:
            run = subprocess.run([args.bin + "/pelton", "decode", "--device", "libavcodec",
                                  "-loglevel", "debug", "-i", path, "-f", "framemd5", "-"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                 timeout=args.timeout)
            wrong = t.first_difference(run.stdout.decode(), t.ffmpeg_framemd5(args, path))
            check(run.returncode == 0 and not wrong, "a full log: exit %d, %s"
                  % (run.returncode, wrong or "every frame is right"))


def no_room_for_a_socket(args, folder):
    with Disk(64 << 10, "nr_inodes=1") as disk:
        run = subprocess.run([args.bin + "/peltond", "--socket", disk.path + "/s"],
                             capture_output=True, text=True, timeout=args.timeout)
        check(run.returncode > 0 and "No space left" in run.stderr,
              "no room for the socket: exit %d, %s" % (run.returncode, run.stderr.strip()))


def disks(args, folder):
    in_namespace()
    full_from_the_start(args, folder)
    full_later(args, folder)
    full_log(args, folder)
    no_room_for_a_socket(args, folder)


# ---- descriptors and memory ----


def decode_many(args, daemon, path, n):
    """Decodes at once: (exit code, first line of standard error, right frames) of each."""
    command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
               "-i", path, "-f", "framemd5", "-"]
    truth = t.ffmpeg_framemd5(args, path)
    runs = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(n)]
    out = []
    for run in runs:
        frames, said = run.communicate(timeout=args.timeout)
        out.append((run.returncode, (said.splitlines() or [""])[0],
                    not t.first_difference(frames, truth)))
    return out


def check_many(runs, words, what):
    """Each has all frames, or says why not."""
    good = [right for code, _, right in runs if code == 0]
    refused = [said for code, said, _ in runs if code]
    check(all(good), "%s: %d of %d decoded" % (what, len(good), len(runs)))
    kinds = collections.Counter(said.split(": ")[-1] for said in refused)
    check(all(any(w in said for w in words) for said in refused),
          "%s: %d refused: %s" % (what, len(refused), dict(kinds)))


def descriptors(args, folder):
    path = clip(args, folder + "/a.mp4", "-bf", "2")
    with Limited(args, "--nofile=%d" % DESCRIPTORS) as daemon:
        t.warm_up(args, daemon, path)
        what = "%d descriptors" % DESCRIPTORS
        runs = decode_many(args, daemon, path, 40)
        check_many(runs, ["open files"], what)
        check(any(code == 0 for code, _, _ in runs), what + ": the first ones are served")
        check_workers(daemon.lines(), what)
        check_frames(args, daemon, path, what + ": later")


def memory(args, folder):
    small = clip(args, folder + "/a.mp4", "-bf", "2")
    large = clip(args, folder + "/b.mp4", size="1920x1080", frames=20)
    words = ["memory", "no thread", "no Vulkan device", "cannot be set up", "OUT_OF",
             "INITIALIZATION_FAILED"]
    with Limited(args, "--as=%d" % MEMORY, "--device", "libavcodec") as daemon:
        daemon.device = "libavcodec"
        what = "%d MB, libavcodec" % (MEMORY >> 20)
        check_many(decode_many(args, daemon, large, 6), words, what)
        check_frames(args, daemon, small, what + ": later")
    with Limited(args, "--as=%d" % MEMORY) as daemon:
        what = "%d MB, %s" % (MEMORY >> 20, args.device)
        check_many(decode_many(args, daemon, small, 2), words, what)
        check(daemon.process.poll() is None and t.listens(daemon.socket), what + ": it goes on")


def main():
    cases = {f.__name__: f for f in (disks, descriptors, memory)}
    p = t.parser(__doc__)
    p.add_argument("case", choices=cases)
    args = t.parsed(p)
    with tempfile.TemporaryDirectory() as folder:
        cases[args.case](args, folder)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
