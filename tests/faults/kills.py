#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Processes are killed at random moments, and a lossless reader gets each frame of its file exactly
once and in order.

  kills.py --bin DIR [--device D] [--workers N] [--clients N] [--daemons N]

A killed worker: the reader's frames go on, and no client is dropped. A killed client: the others do
not notice. A killed daemon: the next one listens at the same path, and serves. The hash of every
frame is compared with FFmpeg's. Prints the longest pause.
Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import argparse, os, pathlib, random, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

FRAMES = 400
BETWEEN = 60 # frames: a stream that dies twice within 32 is set aside
FAILURES = []


def check(good, what):
    print(("ok   " if good else "FAIL ") + what, flush=True)
    if not good:
        FAILURES.append(what)


class Reader:
    """A lossless reader of the file, again and again until it is stopped: lines of frames as they
    come, each compared with FFmpeg's."""

    def __init__(self, args, daemon, path, truth):
        self.args, self.daemon, self.path, self.truth = args, daemon, path, truth
        self.frames, self.wrong, self.pause = 0, None, 0
        self.start()

    def start(self):
        self.run = subprocess.Popen(
            [self.args.bin + "/pelton", "decode", "--socket", self.daemon.socket, "-loglevel",
             "error", "-i", self.path, "-f", "framemd5", "-"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.at = 0

    def end(self):
        said = self.run.stderr.read().strip()
        if self.run.wait() or self.at != len(self.truth):
            self.wrong = self.wrong or "exit %d after %d frames: %s" % (self.run.returncode,
                                                                        self.at, said)

    def read(self, count):
        """So many frames more. False: something is wrong."""
        while count and not self.wrong:
            begun = time.monotonic()
            line = self.run.stdout.readline()
            if not line:
                self.end()
                self.start()
            elif line[0] != "#":
                self.pause = max(self.pause, time.monotonic() - begun)
                want = self.truth[self.at] if self.at < len(self.truth) else None
                if line != want:
                    self.wrong = "frame %d is %r, FFmpeg's is %r" % (self.at, line, want)
                self.at += 1
                self.frames += 1
                count -= 1
        return not self.wrong

    def stop(self):
        self.run.kill()
        self.run.communicate()


def kill_workers(args, path, truth, rng):
    with t.Daemon(args, "-c", "restarts=16", "-c", "restart_window_ms=1") as daemon:
        t.warm_up(args, daemon, path)
        reader, killed = Reader(args, daemon, path, truth), 0
        reader.read(BETWEEN)
        reader.pause = 0
        while killed < args.workers:
            if not reader.read(BETWEEN + rng.randrange(BETWEEN)):
                break
            time.sleep(rng.random() * 0.005)
            for pid in t.workers(daemon.process.pid):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        reader.read(2 * FRAMES)
        reader.stop()
        check(not reader.wrong and killed >= args.workers,
              "%d workers killed, %d frames, longest pause %.2f s: %s" % (
                  killed, reader.frames, reader.pause, reader.wrong or "every frame is right"))


def kill_clients(args, path, truth, rng):
    """Clients are killed while they connect, wait or read."""
    with t.Daemon(args) as daemon:
        t.warm_up(args, daemon, path)
        reader, before = Reader(args, daemon, path, truth), None
        for i in range(args.clients):
            other = Reader(args, daemon, path, truth)
            time.sleep(rng.random() * 0.05)
            other.stop()
            if not reader.read(3):
                break
            if i == args.clients // 10:
                before = resources(daemon)
        reader.read(FRAMES)
        reader.stop()
        settled = t.wait_until(lambda: not before or resources(daemon)[0] <= before[0] + 8, 10)
        after = resources(daemon)
        check(not reader.wrong and settled,
              "%d clients killed, %d frames of another: %s; descriptors and KiB of the daemon %s, "
              "then %s" % (args.clients, reader.frames, reader.wrong or "every one is right",
                           before, after))


def resources(daemon):
    """Descriptors, and resident KiB."""
    pid = daemon.process.pid
    pages = int(open("/proc/%d/statm" % pid).read().split()[1])
    return len(os.listdir("/proc/%d/fd" % pid)), pages * 4


class DaemonAt(t.Daemon):
    def __init__(self, args, path):
        super().__init__(args, "--socket", path)
        self.socket = path


def kill_daemons(args, path, truth, rng, folder):
    """The path stays, and so does a socket that nobody listens at."""
    slowest = 0
    for i in range(args.daemons):
        begun = time.monotonic()
        with DaemonAt(args, folder + "/pelton.sock") as daemon:
            slowest = max(slowest, time.monotonic() - begun)
            reader = Reader(args, daemon, path, truth)
            reader.read(rng.randrange(1, FRAMES // 4))
            daemon.process.kill()
            daemon.process.wait()
            out = reader.run.stdout.read() # not communicate: lines are buffered already
            reader.run.stderr.read()
            reader.run.wait(args.timeout)
            rest = [line for line in out.splitlines(True) if line[0] != "#"]
            right = rest == truth[reader.at:reader.at + len(rest)]
            if reader.wrong or not right or (reader.run.returncode == 0
                                             and reader.at + len(rest) < len(truth)):
                check(False, "daemon %d killed: %s, exit %d" % (i, reader.wrong or "a wrong frame",
                                                                reader.run.returncode))
    check(True, "%d daemons killed; the next one listened after at most %.2f s"
          % (args.daemons, slowest))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("--workers", type=int, default=5)
    p.add_argument("--clients", type=int, default=40)
    p.add_argument("--daemons", type=int, default=5)
    p.add_argument("--seed", default=t.SEED)
    args = p.parse_args()
    if not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    print("seed", args.seed)
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/a.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=size=64x64:rate=25", "-frames:v", str(FRAMES), "-c:v", "libx264",
                        "-g", "20", "-bf", "2", "-pix_fmt", "yuv420p", path], check=True)
        truth = [line for line in t.ffmpeg_framemd5(args, path).splitlines(True) if line[0] != "#"]
        if args.workers:
            kill_workers(args, path, truth, rng)
        if args.clients:
            kill_clients(args, path, truth, rng)
        if args.daemons:
            kill_daemons(args, path, truth, rng, folder)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
