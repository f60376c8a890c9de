#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Readers of the Python package in several processes and threads: data sets in workers by fork and
by spawn, a killed worker of the daemon, a daemon that is killed and started again, many opens
without growth, and a live reader that sleeps longer than the daemon is patient.
"""
import ctypes, gc, itertools, multiprocessing, os, signal, subprocess, tempfile
import threading, time

from pythontest import arguments, check, clip, equal, finish, framemd5, md5, raises, t
import numpy as np
import pelton

SLEEP_S = 16 # a daemon cuts off those that are silent for 15
FPS = 20


class Files:
    """A data set as PyTorch's loader takes it."""

    def __init__(self, paths):
        self.paths = paths
        self.clips = pelton.Clips(paths, 2, 3, 2)

    def __getitem__(self, i):
        with pelton.open(self.paths[i]) as s:
            return os.getpid(), [md5(f) for f in s], self.clips[i].sum(dtype=np.int64)


def of_worker(data, indices, out):
    out.put([data[i] for i in indices])


def workers(args, daemon, paths):
    """As DataLoader does it: some processes, each with its share of the indices."""
    data = Files(paths)
    want = [framemd5(args, daemon, p) for p in paths]
    sums = [data[i][2] for i in range(len(paths))]
    stream = pelton.open(paths[0])
    first = stream.read()
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        out = context.Queue()
        shares = [range(n, len(paths), 3) for n in range(3)]
        started = [context.Process(target=of_worker, args=(data, s, out)) for s in shares]
        for process in started:
            process.start()
        got = sorted((r for _ in started for r in out.get(timeout=t.LIMIT_S)), key=lambda r: r[1])
        for process in started:
            process.join()
        equal([r[1] for r in got], sorted(want), f"{method}: frames in three processes")
        equal(sorted(r[2] for r in got), sorted(sums), f"{method}: clips")
        check(len({r[0] for r in got} - {os.getpid()}) == 3, f"{method}: each is a process")
    equal([md5(first)] + [md5(f) for f in stream], want[0], "the stream of before goes on")


def forked(path):
    """A stream in the child says whose it is, and takes nothing from the parent."""
    stream = pelton.open(path, policy="lossless")
    frame = stream.read()
    pid = os.fork()
    if pid == 0:
        try:
            stream.read()
        except pelton.Gone as e:
            del frame
            stream.close()
            gc.collect()
            os._exit(0 if "before a fork" in str(e) else 1)
        os._exit(2)
    equal(os.waitpid(pid, 0)[1], 0, "the child's copy raises Gone")
    equal(stream.held, 1, "and the parent's frame is held")
    equal(sum(1 for _ in stream), 11, "and its stream goes on")
    del frame


def private_after_fork(path):
    """The child's private daemon is its own, and the parent's ends though a child lives."""
    socket_of = os.environ.pop("PELTON_SOCKET")
    pelton._connection.GRACE_S = t.patience(2)
    stream = pelton.open(path, frames=2)
    child = stream._conn.child
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        good = len(list(pelton.open(path, frames=2))) == 2
        os.write(writing, b"1" if good else b"0")
        time.sleep(t.LIMIT_S)
        os._exit(0)
    equal(os.read(reading, 1), b"1", "a child of a fork opens for itself")
    equal(len(list(stream)), 2, "beside the parent's stream")
    pelton.close()
    check(child.poll() == 0, f"the parent's daemon ends at once, with {child.poll()}")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.environ["PELTON_SOCKET"] = socket_of


def threads(paths, args, daemon):
    want = {p: framemd5(args, daemon, p) for p in paths}
    got = {}

    def one(path):
        with pelton.open(path) as s:
            got[path] = [md5(f) for f in s]

    several = [threading.Thread(target=one, args=(p,)) for p in paths]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    equal(got, want, f"{len(paths)} threads on one connection")


def killed_worker(args, daemon, folder):
    path = clip(folder, "long.mp4", "-x264-params", "keyint=10", frames=120)
    want = framemd5(args, daemon, path)
    events = []
    with pelton.open(path, on_event=events.append, slots=4) as s:
        facts = lambda frames: [(f.sequence, md5(f), f.epoch, f.discontinuity) for f in frames]
        got = facts(itertools.islice(s, 9))
        held = s.read()
        before = md5(held)
        for pid in t.workers(daemon.process.pid):
            os.kill(pid, signal.SIGKILL)
        got += facts(s)
        equal(md5(held), before, "a frame of before is as it was")
        sequences = [g[0] for g in got]
        check([g[1] for g in got] == [want[n] for n in sequences], "no frame is wrong")
        equal(sequences, [n for n in range(120) if n != held.sequence], "and none is missing")
    first = next(g for g in got if g[2] != got[0][2])
    check(first[3], f"a new epoch begins with frame {first[0]}, marked as a discontinuity")
    kinds = [e.kind for e in events]
    check(kinds.count("format") == 2 and "restarting" in kinds, f"events: {kinds}")
    check(any(e.text for e in events if e.kind == "restarting"), f"with a text: {events}")


def killed_daemon(args, folder, path, want):
    """A stream that reconnects goes on where it was; another one says why it ended."""
    place = folder + "/again.sock"
    command = [args.bin + "/peltond", "--socket", place, "--device", args.device]
    start = lambda: subprocess.Popen(command, stderr=subprocess.DEVNULL)
    daemon = start()
    t.wait_until(lambda: t.listens(place), 5)
    with pelton.open(path, socket=place, reconnect=True, slots=4) as s, \
            pelton.open(path, socket=place, slots=4) as other:
        got = [md5(f) for f in itertools.islice(s, 3)]
        other.read()
        daemon.kill()
        daemon.wait()
        daemon = start()
        got += [md5(f) for f in s]
        equal(got, want, "a daemon that is killed and started again: every frame once")
        check("reconnected" in [e.kind for e in s.events], f"{list(s.events)}")
        equal(sorted({e.epoch for e in s.events}), [1, 2], "a new epoch begins with it")
        raises(pelton.Gone, lambda: list(other), "the daemon")
    daemon.terminate()
    daemon.wait()


def resident():
    ctypes.CDLL(None).malloc_trim(0)
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(path):
    def opens(n):
        for i in range(n):
            with pelton.open(path, frames=1) as s:
                s.read().y.sum()
            if i % 3 == 0:
                try:
                    pelton.open(path + "x")
                except pelton.Error:
                    pass
        gc.collect()
        return len(os.listdir("/proc/self/fd")), resident()

    fds, memory = opens(30)
    more_fds, more_memory = opens(120)
    equal(more_fds, fds, "descriptors after 120 opens")
    grown = (more_memory - memory) / 1024
    check(grown < 2048, f"memory after 120 opens: {grown:.0f} KiB more")
    equal(gc.garbage, [], "nothing is left over")


def slept(stream, first, since):
    """Sleeps until the daemon would have cut off a silent reader."""
    time.sleep(max(0, since + SLEEP_S - time.monotonic()))
    stretch = t.Stretch()
    frame = stream.read(timeout=t.patience(5))
    age = (time.monotonic_ns() - frame.received_ns) / 1e9
    check(frame.sequence - first > FPS, f"frames {first} and {frame.sequence}")
    t.check_time(check, age < 2 / FPS, stretch, f"after {SLEEP_S} s the frame is {1000 * age:.1f} "
                                                f"ms old, a period is {1000 // FPS}")


def light(frame):
    """A camera's frame tells its exposure. Gives its number."""
    e = frame.exposure
    check(e.state in ("searching", "converged") and e.time_us > 0 and e.target == 0.18
          and e.histogram.shape == (64,) and e.histogram.sum() == 64 * 48 // 4, f"exposure: {e}")
    return frame.sequence


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        paths = [clip(folder, f"{n}.mp4", "-vf", f"hue=h={40 * n}") for n in range(6)]
        source = f"sources.live.uri=sim://{paths[0]}?size=64x48&fps={FPS}"
        with t.Daemon(args, "-c", source) as daemon:
            t.warm_up(args, daemon, paths[0])
            os.environ["PELTON_SOCKET"] = daemon.socket
            private_after_fork(paths[0])
            live = pelton.open("live", timeout=t.LIMIT_S)
            first = light(live.read())
            since = time.monotonic()
            workers(args, daemon, paths)
            forked(paths[0])
            threads(paths, args, daemon)
            growth(paths[0])
            killed_daemon(args, folder, paths[0], framemd5(args, daemon, paths[0]))
            slept(live, first, since)
            live.close()
            killed_worker(args, daemon, folder)
    finish()


if __name__ == "__main__":
    main()
