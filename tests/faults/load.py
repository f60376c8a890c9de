#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Load on the daemon: idle clients, readers, stalled readers, reconnects, hellos that never come.

  load.py idle|readers|stalled|reconnects|hellos --bin DIR [--device D] [--count N] [--seconds N]

idle: KiB of the daemon for each of --count clients (10,000). readers: --count readers (1,000) in
shared memory, of --fps frames a second each, and the share of a core that the daemon takes for
them. stalled: one good reader loses nothing beside --count readers (300) that do not read.
reconnects: descriptors and memory of the daemon stay while clients come and go for --seconds,
--rate times a second (0: as fast as can be). hellos: --count connections (2,000) that say nothing
are closed. Exit codes: 0, 1, 77 skipped (too few descriptors).
"""
import argparse, os, pathlib, resource, socket, struct, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import peltontest as t
from exact import CLIP, Reader, check, clip_truth, readers, resources

HELLO, WELCOME = 1, 2
MOST_KIB = 16 # of a client
MOST_SHARE = 10 # % of a core


def connect(daemon):
    s = socket.socket(socket.AF_UNIX)
    while True: # the backlog may be full
        if s.connect_ex(daemon.socket) == 0:
            return s
        time.sleep(0.001)


def take(s, n):
    data = b""
    while len(data) < n and (more := s.recv(n - len(data))):
        data += more
    return data


def greet(daemon):
    """A client that has said hello, and the kind of the answer: a header (length, type,
    descriptors, flags, request, object) and a Hello with proto_min and proto_max."""
    s = connect(daemon)
    body = b"\x08\x01\x10\x01"
    s.sendall(struct.pack("<IHBBII", len(body), HELLO, 0, 0, 1, 0) + body)
    length, kind = struct.unpack("<IH", take(s, 16)[:6])
    take(s, length)
    return s, kind


def hello(daemon):
    """A client that has been welcomed."""
    s, kind = greet(daemon)
    if kind != WELCOME:
        raise SystemExit("no welcome, but message %d" % kind)
    return s


def welcomed(daemon):
    try:
        s, kind = greet(daemon)
    except OSError: # refused, and closed before it could say hello
        return False
    s.close()
    return kind == WELCOME


def idle(args, daemon):
    """As many as the daemon may have. One more is refused."""
    first = [hello(daemon) for _ in range(100)]
    _, before = resources(daemon)
    begun = time.monotonic()
    clients = [hello(daemon) for _ in range(args.count - len(first))]
    took = time.monotonic() - begun
    _, after = resources(daemon)
    each = (after - before) / len(clients)
    check(each <= MOST_KIB, "%d idle clients: %.1f KiB each, connected in %.1f s" % (
        args.count, each, took))
    with connect(daemon) as one_more:
        check(b"as many clients as it may have" in one_more.recv(4096), "one more is refused")
    clients.pop().close()
    begun = time.monotonic()
    t.wait_until(lambda: welcomed(daemon), 5)
    check(True, "in place of another it is welcomed within %.1f ms" % (
        1000 * (time.monotonic() - begun)))
    for s in first + clients:
        s.close()


def cpu_seconds(daemon):
    words = open("/proc/%d/stat" % daemon.process.pid).read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def slow_clip(path, fps):
    """The clip with so many frames a second: other time scales in the header of its media, in which
    each frame lasts 512, and in that of the movie, in which its edit list ends at 16 s."""
    data = bytearray(open(CLIP, "rb").read())
    struct.pack_into(">I", data, data.index(b"mdhd") + 16, round(512 * fps))
    struct.pack_into(">I", data, data.index(b"mvhd") + 16, round(1000 * fps / 25))
    open(path, "wb").write(data)
    return path


def many_readers(args, daemon):
    """Of the newest frame; the source goes at the pace of its times."""
    t.warm_up(args, daemon, CLIP)
    clip, stretch = slow_clip(daemon.dir.name + "/slow.mp4", args.fps), t.Stretch()
    run = readers(args, daemon, "-n", args.count, "-f", args.fps, "-d", args.seconds + 1, clip=clip)
    said = run.stdout.readline()
    begun, before = time.monotonic(), cpu_seconds(daemon)
    time.sleep(args.seconds)
    share = 100 * (cpu_seconds(daemon) - before) / (time.monotonic() - begun)
    said += run.stdout.read()
    check(run.wait() == 0, "%d readers: %s" % (args.count, said.replace("\n", " ")))
    t.check_time(check, share <= MOST_SHARE, stretch, "%d readers of %g frames a second: the "
                 "daemon takes %.1f %% of a core" % (args.count, args.fps, share))


def stalled(args, daemon):
    """Readers whose output nobody takes: after a pipe's worth they hold their frames."""
    truth = clip_truth(args)
    t.warm_up(args, daemon, CLIP)
    runs = [subprocess.Popen(
        [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error", "-i",
         CLIP, "-f", "rawvideo", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for _ in range(args.count)]
    for run in runs: # each has begun
        run.stdout.read(1)
    good = Reader(args, daemon, truth)
    begun = time.monotonic()
    good.read(5 * len(truth))
    took = time.monotonic() - begun
    check(not good.wrong and all(run.poll() is None for run in runs),
          "%d stalled readers, %d frames of another in %.1f s: %s" % (
              args.count, good.frames, took, good.wrong or "every one is right"))
    good.stop()
    for run in runs:
        run.kill()
    for run in runs:
        run.communicate()


def reconnects(args, daemon):
    for _ in range(1000):
        hello(daemon).close()
    descriptors, before = resources(daemon)
    n, begun = 0, time.monotonic()
    while (now := time.monotonic() - begun) < args.seconds:
        if args.rate and n > now * args.rate:
            time.sleep(n / args.rate - now)
        hello(daemon).close()
        n += 1
    rate = n / (time.monotonic() - begun)
    t.wait_until(lambda: resources(daemon)[0] <= descriptors, 5)
    now, after = resources(daemon)
    check(now <= descriptors and after - before <= 1024,
          "%d reconnects, %.0f a second: descriptors %d, then %d; KiB %d, then %d" % (
              n, rate, descriptors, now, before, after))


def hellos(args, daemon):
    """Half of them say a part of a hello."""
    stretch, begun = t.Stretch(), time.monotonic()
    clients = [connect(daemon) for _ in range(args.count)]
    for s in clients[::2]:
        s.sendall(b"\x04\0\0\0\x01")
    hello(daemon).close()
    last = time.monotonic()
    for s in clients:
        while s.recv(4096): # a goodbye, then the end
            pass
    end = time.monotonic()
    t.check_time(check, end - last <= 6, stretch, "%d half-open hellos: connected in %.2f s, the "
                 "last one closed %.2f s later" % (args.count, last - begun, end - last))


def main():
    cases = {"idle": (idle, 10000), "stalled": (stalled, 300),
             "readers": (many_readers, 1000), "reconnects": (reconnects, 0),
             "hellos": (hellos, 2000)}
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("case", choices=cases)
    p.add_argument("--count", type=int)
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--rate", type=float, default=0)
    p.add_argument("--fps", type=float, default=1)
    args = p.parse_args()
    case, count = cases[args.case]
    args.count = args.count or count
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < 4 * args.count // 3 + 200:
        print("skipped: %d descriptors are too few" % most)
        return t.SKIPPED
    quota = ["clients=%d" % (args.count if args.case == "idle" else 10000), "clients_per_uid=10000"]
    args.set += quota + ["streams=10000"]
    with t.Daemon(args) as daemon:
        case(args, daemon)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
