#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Processes are killed at random moments, and a lossless reader gets each frame of its file exactly
once and in order.

  kills.py --bin DIR [--device D] [--workers N] [--clients N] [--daemons N] [--reads N] [--jobs N]

A killed worker: the reader's frames go on within a second, and no client is dropped. A killed
client: the others do not notice. A killed daemon: the next one listens at the same path within a
second, and serves. Lapped readers hold frames, read each of them again and again while newer ones
are written, and lose their worker meanwhile: no frame is torn. Each of --jobs daemons has a part of
all. Exit codes: 0, 1.
"""
import argparse, concurrent.futures, json, os, pathlib, random, re, signal, subprocess, sys
import tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import peltontest as t
from exact import CLIP, Reader, check, clip_truth, readers, resources

# Frames between two kills. A stream that dies twice within 32 is set aside. The reader may be
# behind by those that wait in its pipe, in its program and for it, 150 in all.
BETWEEN = 200
LAPPED = 4 # readers of one daemon
SOON_S = 1 # frames or a daemon are there again


def kill_workers(args, truth, rng, count):
    """Frames, and the longest pause."""
    with t.Daemon(args, "-c", "restarts=16", "-c", "restart_window_ms=1") as daemon:
        t.warm_up(args, daemon, CLIP)
        reader, killed = Reader(args, daemon, truth), 0
        reader.read(BETWEEN)
        reader.pause = 0
        while killed < count and reader.read(BETWEEN + rng.randrange(BETWEEN // 2)):
            time.sleep(rng.random() * 0.005)
            for pid in t.workers(daemon.process.pid):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        reader.read(2 * len(truth))
        reader.stop()
        return reader.wrong, reader.frames, reader.pause


def kill_clients(args, truth, rng, count):
    """Clients are killed while they connect, wait or read. Frames of another client."""
    with t.Daemon(args) as daemon:
        t.warm_up(args, daemon, CLIP)
        reader, before = Reader(args, daemon, truth), None
        for i in range(count):
            other = Reader(args, daemon, truth)
            time.sleep(rng.random() * 0.05)
            other.stop()
            if not reader.read(3):
                break
            if i == count // 10:
                before = resources(daemon)
        reader.read(len(truth))
        reader.stop()
        settled = t.wait_until(lambda: not before or resources(daemon)[0] <= before[0] + 8, 10)
        kept = None if settled else "descriptors and KiB of the daemon %s, then %s" % (
            before, resources(daemon))
        return reader.wrong or kept, reader.frames, 0


class DaemonAt(t.Daemon):
    def __init__(self, args, path):
        super().__init__(args, "--socket", path)
        self.socket = path


def kill_one_daemon(args, truth, rng, path):
    """What is wrong, frames, and the seconds until it listened."""
    begun = time.monotonic()
    with DaemonAt(args, path) as daemon:
        listens = time.monotonic() - begun
        reader = Reader(args, daemon, truth)
        reader.read(rng.randrange(1, len(truth) // 4))
        daemon.process.kill()
        daemon.process.wait()
        while reader.frame():
            pass
        reader.run.stderr.read()
        code = reader.run.wait(args.timeout)
        early = "exit 0 after %d frames" % reader.at
        return (reader.wrong or (early if code == 0 and reader.at < len(truth) else None),
                reader.frames, listens)


def kill_daemons(args, truth, rng, count):
    """The path stays, and so does a socket that nobody listens at."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [kill_one_daemon(args, truth, rng, folder + "/pelton.sock") for _ in range(count)]
    return (next((wrong for wrong, _, _ in runs if wrong), None),
            sum(frames for _, frames, _ in runs), max(pause for _, _, pause in runs))


def ended(run, seconds):
    try:
        run.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def blameless(args, daemon):
    """No stream has lost a worker, so that none is set aside for the next one. A reader opens its
    file again after 400 frames."""
    run = subprocess.run([args.bin + "/pelton", "stats", "--json", "--socket", daemon.socket],
                         check=True, capture_output=True, timeout=args.timeout)
    return not any(s["restarts"] for s in json.loads(run.stdout)["streams"])


def lap_readers(args, truth, rng, count):
    """What is wrong, and frames that were held and read."""
    with t.Daemon(args, "-c", "restarts=16", "-c", "restart_window_ms=1") as daemon:
        t.warm_up(args, daemon, CLIP)
        run = readers(args, daemon, "-n", LAPPED, "-r", count)
        said = run.stdout.readline() # all have begun
        while said == "all read\n" and not ended(run, rng.random()):
            if blameless(args, daemon):
                for pid in t.workers(daemon.process.pid):
                    os.kill(pid, signal.SIGKILL)
        said += run.stdout.read()
        frames = re.search(r"(\d+) frames", said)
        return said if run.wait() else None, int(frames[1]) if frames else 0, 0


def kill(args, truth, name, what, count):
    """By several at once."""
    stretch, begun = t.Stretch(), time.monotonic()
    jobs = min(args.jobs, count)
    done = "made" if name == "reads" else "killed"
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = [pool.submit(what, args, truth, random.Random("%s %d" % (args.seed, job)),
                            count // jobs + (job < count % jobs)) for job in range(jobs)]
        wrong, frames, pauses = zip(*(run.result() for run in runs))
    wrong = [w for w in wrong if w]
    check(not wrong, "%d %s %s by %d jobs in %.0f s, %d frames: %s" % (
        count, name, done, jobs, time.monotonic() - begun, sum(frames),
        wrong or "every one is right"))
    if max(pauses):
        t.check_time(check, max(pauses) <= SOON_S, stretch,
                     "%s: there again after at most %.2f s" % (name, max(pauses)))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("--workers", type=int, default=5)
    p.add_argument("--clients", type=int, default=40)
    p.add_argument("--daemons", type=int, default=5)
    p.add_argument("--reads", type=int, default=20000)
    p.add_argument("--seed", default=t.SEED)
    args = p.parse_args()
    print("seed", args.seed)
    truth = clip_truth(args)
    for name, what in ("workers", kill_workers), ("clients", kill_clients), (
            "daemons", kill_daemons), ("reads", lap_readers):
        if getattr(args, name):
            kill(args, truth, name, what, getattr(args, name))
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
