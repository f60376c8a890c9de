#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Load on the daemon: idle clients, stalled readers, reconnects, hellos that never come.

  load.py idle|stalled|reconnects|hellos --bin DIR [--device D] [--count N] [--seconds N]

idle: KiB of the daemon for each of --count clients (10,000). stalled: one good reader loses nothing
beside --count readers (300) that do not read. reconnects: descriptors and memory of the daemon stay
while clients come and go for --seconds. hellos: --count connections (2,000) that say nothing are
closed. Exit codes: 0, 1, 77 skipped (no ffmpeg, or too few descriptors).
"""
import argparse, pathlib, resource, select, shutil, socket, struct, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import peltontest as t
from kills import Reader, resources

HELLO, WELCOME = 1, 2
MOST_KIB = 16 # of a client
FAILURES = []


def check(good, what):
    print(("ok   " if good else "FAIL ") + what, flush=True)
    if not good:
        FAILURES.append(what)


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


def hello(daemon):
    """A client that has been welcomed: a header (length, type, descriptors, flags, request, object)
    and a Hello with proto_min and proto_max."""
    s = connect(daemon)
    body = b"\x08\x01\x10\x01"
    s.sendall(struct.pack("<IHBBII", len(body), HELLO, 0, 0, 1, 0) + body)
    length, kind = struct.unpack("<IH", take(s, 16)[:6])
    take(s, length)
    if kind != WELCOME:
        raise SystemExit("no welcome, but message %d" % kind)
    return s


def idle(args, daemon, folder):
    first = [hello(daemon) for _ in range(100)]
    _, before = resources(daemon)
    begun = time.monotonic()
    clients = [hello(daemon) for _ in range(args.count)]
    took = time.monotonic() - begun
    _, after = resources(daemon)
    each = (after - before) / args.count
    check(each <= MOST_KIB, "%d idle clients: %.1f KiB each, connected in %.1f s" % (
        args.count, each, took))
    begun = time.monotonic()
    hello(daemon).close()
    check(True, "one more is welcomed in %.1f ms" % (1000 * (time.monotonic() - begun)))
    for s in first + clients:
        s.close()


def clip(args, folder):
    path = folder + "/a.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                    "testsrc2=size=64x64:rate=25", "-frames:v", "400", "-c:v", "libx264", "-bf",
                    "2", "-pix_fmt", "yuv420p", path], check=True)
    truth = t.ffmpeg_framemd5(args, path)
    return path, [line for line in truth.splitlines(True) if line[0] != "#"]


def stalled(args, daemon, folder):
    """Readers whose output nobody takes: after a pipe's worth they hold their frames."""
    path, truth = clip(args, folder)
    t.warm_up(args, daemon, path)
    runs = [subprocess.Popen(
        [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error", "-i",
         path, "-f", "rawvideo", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for _ in range(args.count)]
    for run in runs: # each has begun
        run.stdout.read(1)
    good = Reader(args, daemon, path, truth)
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


def reconnects(args, daemon, folder):
    for _ in range(1000):
        hello(daemon).close()
    descriptors, before = resources(daemon)
    n, begun = 0, time.monotonic()
    while time.monotonic() - begun < args.seconds:
        hello(daemon).close()
        n += 1
    rate = n / (time.monotonic() - begun)
    t.wait_until(lambda: resources(daemon)[0] <= descriptors, 5)
    now, after = resources(daemon)
    check(now <= descriptors and after - before <= 1024,
          "%d reconnects, %.0f a second: descriptors %d, then %d; KiB %d, then %d" % (
              n, rate, descriptors, now, before, after))


def hellos(args, daemon, folder):
    """Half of them say a part of a hello."""
    begun = time.monotonic()
    clients = [connect(daemon) for _ in range(args.count)]
    for s in clients[::2]:
        s.sendall(b"\x04\0\0\0\x01")
    hello(daemon).close()
    last = time.monotonic()
    for s in clients:
        while s.recv(4096): # a goodbye, then the end
            pass
    end = time.monotonic()
    check(end - last <= t.patience(6), "%d half-open hellos: connected in %.2f s, the last one "
          "closed %.2f s later" % (args.count, last - begun, end - last))


def main():
    cases = {"idle": (idle, 10000), "stalled": (stalled, 300), "reconnects": (reconnects, 0),
             "hellos": (hellos, 2000)}
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    p.add_argument("case", choices=cases)
    p.add_argument("--count", type=int)
    p.add_argument("--seconds", type=float, default=600)
    args = p.parse_args()
    if not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    case, count = cases[args.case]
    args.count = args.count or count
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < 4 * args.count // 3 + 200:
        print("skipped: %d descriptors are too few" % most)
        return t.SKIPPED
    quota = ["clients=10000", "clients_per_uid=10000"]
    args.set += quota + (["streams=400"] if args.case == "stalled" else [])
    args.count = min(args.count, 9800) if args.case == "idle" else args.count
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        case(args, daemon, folder)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
