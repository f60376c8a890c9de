#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Load by HTTP, beside readers of shared memory that must not notice.

  load.py kills|slow|crowd|previews --bin DIR [--device D] [--seconds N] [--count N]

kills: pelton-web is killed every 2 s. slow: --count readers (64) that take a few bytes a second;
each that is cut is opened again. crowd: 200 readers on 20 cameras, half of HTTP's with all frames
as y4m, half with the newest as JPEG. previews: --count cameras (64) at 5 frames a second as JPEG,
and the cores that they cost; --encoded: network sources with H.264. A lossless and a latest reader
of each camera in shared memory count what they miss (watchers.c).
"""
import argparse, collections, contextlib, hashlib, os, pathlib, re, selectors, socket, subprocess
import time
import webtest as w
from live_source import LiveSource, make_clip

t = w.t
AGE_MS = 250 # of a frame of shared memory, 99 of 100, where nobody else disturbs


def cpu_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


class Watchers:
    """Readers of shared memory beside the load."""

    def __init__(self, args, daemon, names, seconds):
        self.folder = w.tempfile.TemporaryDirectory()
        self.stretch = t.Stretch()
        self.process = subprocess.Popen([args.bin + "/watchers", daemon.socket, str(seconds),
                                         self.folder.name, *names], stdout=subprocess.PIPE,
                                        text=True)
        w.check(self.process.stdout.readline() == "all read\n", f"{2 * len(names)} readers read")

    def running(self):
        return self.process.poll() is None

    def finish(self):
        """They have lost nothing, and their ages are bounded. A camera waits for nobody: where
        others take the cores for as long as its slots last, a frame is lost to that."""
        told = {}
        for line in self.process.stdout.read().splitlines():
            words = line.split()
            told[words[0]] = dict(zip(words[1::2], map(float, words[2::2])))
        w.check(self.process.wait() == 0, "the readers of shared memory end by themselves")
        for policy, got in told.items():
            w.check(got["doubled"] == 0 and got["frames"] > 0, f"{policy} in shared memory: {got}")
            if policy == "lossless":
                t.check_time(w.check, got["lost"] == 0, self.stretch, f"{got['lost']} are lost")
            t.check_time(w.check, got["age_p99"] < AGE_MS, self.stretch,
                         f"{policy}: 99 of 100 frames younger than {got['age_p99']} ms")

    def sums(self, name):
        """{MD5: sequence} of the lossless reader's frames."""
        lines = pathlib.Path(self.folder.name, name).read_text().splitlines()
        return {l.split()[1]: int(l.split()[0]) for l in lines}


class Reader:
    """One HTTP reader of chunks; it keeps a frame's sum and when it came, no more."""

    def __init__(self, web, path, mark):
        self.path, self.mark, self.buffer, self.body = path, mark, b"", b""
        self.frames, self.ages, self.ended, self.left = [], [], False, 0
        self.socket = socket.create_connection(("127.0.0.1", web.port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.head = None

    def take(self):
        part = self.socket.recv(262144)
        if not part:
            self.ended = True
            return
        self.buffer += part
        if self.head is None and b"\r\n\r\n" in self.buffer:
            self.head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if self.head is not None:
            self.chunks()
            (self.y4m if self.mark == "y4m" else self.mjpeg)()

    def chunks(self):
        while True:
            line = self.buffer.find(b"\r\n")
            size = int(self.buffer[:line], 16) if line > 0 else -1
            if size <= 0 or len(self.buffer) < line + 4 + size:
                return
            self.body += self.buffer[line + 2:line + 2 + size]
            self.buffer = self.buffer[line + 4 + size:]

    def y4m(self):
        if not self.left and b"\n" in self.body:
            head, self.body = self.body.split(b"\n", 1)
            width, height = (int(re.search(rb" %c(\d+)" % c, head)[1]) for c in b"WH")
            self.left = width * height * 3 // 2
        while self.left and len(self.body) >= 6 + self.left:
            self.frames.append(hashlib.md5(self.body[6:6 + self.left]).hexdigest())
            self.body = self.body[6 + self.left:]

    def mjpeg(self):
        while (at := self.body.find(b"\r\n\r\n")) > 0:
            head = dict(l.split(b": ") for l in self.body[:at].split(b"\r\n")[1:])
            size = int(head[b"Content-Length"])
            if len(self.body) < at + 6 + size:
                return
            self.frames.append(int(head[b"X-Sequence"]))
            self.ages.append((time.monotonic_ns() - int(head[b"X-Captured-Ns"])) / 1e6)
            self.body = self.body[at + 6 + size:]


def read_all(readers, going):
    """Reads while going() is true."""
    chosen = selectors.DefaultSelector()
    for r in readers:
        r.socket.setblocking(False)
        chosen.register(r.socket, selectors.EVENT_READ, r)
    while going():
        for key, _ in chosen.select(0.2):
            try:
                key.data.take()
            except ConnectionError:
                key.data.ended = True
            if key.data.ended:
                chosen.unregister(key.fileobj)


def kills(args):
    names = ["cam0", "cam1"]
    with t.Daemon(args, *w.cameras(args, 2)) as daemon, w.Web(args, daemon.socket) as web:
        watch, killed, began = Watchers(args, daemon, names, args.seconds), 0, 0
        while watch.running():
            if time.monotonic() - began > 2:
                if began:
                    web.process.kill()
                    web.process.wait()
                    killed += 1
                    web.start()
                began = time.monotonic()
                readers = [Reader(web, f"/streams/{n}.mjpeg", "mjpeg") for n in names]
            read_all(readers, lambda: watch.running() and time.monotonic() - began < 2)
        w.check(killed >= args.seconds / 5, f"pelton-web was killed {killed} times")
        watch.finish()


def slow_reader(web, number):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.connect(("127.0.0.1", web.port))
    kind = ("mjpeg", "y4m", "y4m?policy=lossless")[number % 3]
    s.sendall(f"GET /streams/cam{number % 2}.{kind} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    s.setblocking(False)
    return s


def cuts(web):
    return int(re.search(r'cut_total\{reason="stall"\} (\d+)', web.ask("/metrics")[2].decode())[1])


def slow(args):
    """A reader cannot see its cut, as the end lies behind bytes that it does not take. So the
    gateway is asked: for each cut the oldest reader goes, and a new one comes."""
    count, long = args.count or 64, args.seconds >= 30
    cameras = w.cameras(args, 2, "320x240")
    with t.Daemon(args, *cameras) as daemon, w.Web(
            args, daemon.socket, "--stall-ms", "10000" if long else "1000") as web:
        watch = Watchers(args, daemon, ["cam0", "cam1"], args.seconds)
        before, crowd, opened, cut = None, collections.deque(), 0, 0
        while watch.running():
            while len(crowd) < count:
                crowd.append(slow_reader(web, opened))
                opened += 1
            time.sleep(1)
            for s in crowd:
                try:
                    s.recv(64)
                except (BlockingIOError, ConnectionError):
                    pass
            had, cut = cut, cuts(web)
            for _ in range(min(cut - had, len(crowd))):
                crowd.popleft().close()
            before = before or memory_kib(web.process.pid)
        after = memory_kib(web.process.pid)
        w.check(cut >= count and opened > count, f"{count} slow readers at once, {opened} in all, "
                f"{cut} cut; memory {before} KiB, then {after} KiB")
        watch.finish()


def in_order(frames, sums):
    """(lost, doubled, unknown) of sums of frames, by the sequence that the sums had elsewhere."""
    numbers = [sums[f] for f in frames if f in sums]
    lost = sum(max(0, b - a - 1) for a, b in zip(numbers, numbers[1:]))
    doubled = sum(b <= a for a, b in zip(numbers, numbers[1:]))
    return lost, doubled, len(frames) - len(numbers)


def crowd(args):
    n, each = (20, 4) if args.seconds >= 60 else (4, 2)
    names = [f"cam{i}" for i in range(n)]
    with t.Daemon(args, "-c", "streams=400", *w.cameras(args, n, "64x48", 5)) as daemon, w.Web(
            args, daemon.socket) as web:
        watch = Watchers(args, daemon, names, args.seconds)
        lossless = [Reader(web, f"/streams/{name}.y4m?policy=lossless", "y4m")
                    for name in names for _ in range(each)]
        latest = [Reader(web, f"/streams/{name}.mjpeg", "mjpeg")
                  for name in names for _ in range(each)]
        warm = time.monotonic() + min(20, args.seconds / 3)
        read_all(lossless + latest, lambda: time.monotonic() < warm)
        pid, began = web.process.pid, time.monotonic()
        cpu, memory = cpu_seconds(pid), memory_kib(pid)
        # the last frames of HTTP must still be in the watchers' lists
        end = time.monotonic() + args.seconds - (time.monotonic() - warm + min(
            20, args.seconds / 3)) - 2
        read_all(lossless + latest, lambda: time.monotonic() < end and watch.running())
        spent, took = cpu_seconds(pid) - cpu, time.monotonic() - began
        grown = memory_kib(pid) - memory
        watch.process.wait()
        lost, doubled, unknown = map(sum, zip(*(
            in_order(r.frames, watch.sums(r.path.split("/")[2].split(".")[0])) for r in lossless)))
        frames = sum(len(r.frames) for r in lossless)
        w.check(frames and not doubled and unknown <= len(lossless) * 15,
                f"{len(lossless)} lossless HTTP readers: {frames} frames, {doubled} doubled, "
                f"{unknown} from before the watchers' lists")
        t.check_time(w.check, lost == 0, watch.stretch, f"{lost} of their frames are lost")
        ages = sorted(a for r in latest for a in r.ages)
        twice = sum(b <= a for r in latest for a, b in zip(r.frames, r.frames[1:]))
        w.check(ages and not twice, f"{len(latest)} latest HTTP readers: {len(ages)} frames, "
                f"{twice} doubled")
        t.check_time(w.check, ages[len(ages) * 99 // 100] < 2 * AGE_MS, watch.stretch,
                     f"latest by HTTP: ages {ages[len(ages) // 2]:.0f} ms, of 99 of 100 below "
                     f"{ages[len(ages) * 99 // 100]:.0f} ms")
        w.check(not any(r.ended for r in lossless + latest), "no reader was cut")
        w.check(grown < 8192, f"memory: {memory} KiB, {grown} KiB more after {took:.0f} s")
        print(f"pelton-web: {100 * spent / took:.1f} % of a core, "
              f"{1000 * spent / took / len(lossless + latest):.2f} ms a second and HTTP reader")
        watch.finish()


def preview_sources(args, count, folder):
    """Arguments of a daemon with so many sources of 5 frames a second: simulated cameras, which the
    worker develops, or live H.264."""
    if not args.encoded:
        return contextlib.nullcontext(), w.cameras(args, count, args.size, 5)
    source = LiveSource(args, make_clip(args, folder + "/clip.mp4", args.size, 5, 10))
    config = pathlib.Path(folder, "config.yaml")
    config.write_text("version: 1\nsources:\n" + "".join(
        f"  cam{i}: {{uri: \"{source.uri()}\"}}\n" for i in range(count)))
    return source, ["-c", str(config)]


def previews(args):
    count = args.count or 64
    more = ["-c", "streams=200"]
    with w.tempfile.TemporaryDirectory() as folder:
        source, cameras = preview_sources(args, count, folder)
        with source, t.Daemon(args, *more, *cameras) as daemon, w.Web(args, daemon.socket) as web:
            previews_run(args, count, daemon, web)


def previews_run(args, count, daemon, web):
    readers = [Reader(web, f"/streams/cam{i}.mjpeg?size=320x180&fps=5", "mjpeg")
               for i in range(count)]
    began = time.monotonic()
    read_all(readers, lambda: not all(r.frames for r in readers) and
             time.monotonic() - began < t.patience(60))
    w.check(all(r.frames for r in readers), f"{count} previews run")
    pids = {"pelton-web": web.process.pid, "peltond": daemon.process.pid}
    pids.update({"worker": t.workers(daemon.process.pid)[0]})
    before = {k: cpu_seconds(p) for k, p in pids.items()}
    had, began = sum(len(r.frames) for r in readers), time.monotonic()
    read_all(readers, lambda: time.monotonic() - began < args.seconds)
    took = time.monotonic() - began
    cores = {k: (cpu_seconds(p) - before[k]) / took for k, p in pids.items()}
    fps = (sum(len(r.frames) for r in readers) - had) / took
    spent = float(sum(map(float, re.findall(r"encode_seconds_total\S+ (\S+)",
                                            web.ask("/metrics")[2].decode()))))
    frames = sum(map(float, re.findall(r"source_frames_total\S+ (\S+)",
                                       web.ask("/metrics")[2].decode())))
    told = ", ".join(f"{k} {v:.2f}" for k, v in cores.items())
    print(f"{count} cameras of {args.size}: {fps:.0f} JPEG a second; cores: {told}; scaling "
          f"and encoding {1e3 * spent / max(1, frames):.2f} ms a frame")
    w.check(cores["pelton-web"] * 5 * count / max(1, fps) <= 1,
            f"at 5 frames a second of each camera pelton-web takes "
            f"{cores['pelton-web'] * 5 * count / max(1, fps):.2f} of a core")


def main():
    cases = {f.__name__: f for f in (kills, slow, crowd, previews)}
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("case", choices=cases)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--count", type=int)
    p.add_argument("--size", default="640x360", help="of the cameras of previews")
    p.add_argument("--encoded", action="store_true", help="previews of live H.264 sources")
    args = p.parse_args()
    cases[args.case](args)
    w.finish()


main()
