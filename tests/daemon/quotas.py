#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Quotas of the daemon, each one below its limit, at it and one above it; and what `pelton stats`
says of each: limit, use, refusals. tests/codec/test_limits.c has the limits of a stream alone.

  quotas.py --bin DIR

Exit codes: 0, 1.
"""
import argparse, json, os, pathlib, signal, socket, struct, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "faults")]
import peltontest as t
from exact import CLIP, check

HELLO, WELCOME, ERROR, PING, PONG, GOODBYE, STATUS = 1, 2, 3, 4, 5, 6, 12
HEADER = struct.Struct("<IHBBII") # length, type, descriptors, flags, request, object


class Client:
    """A connection that speaks the protocol by hand."""

    def __init__(self, daemon, hello=True):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(daemon.socket)
        self.s.settimeout(t.patience(10))
        if hello:
            self.send(HELLO, b"\x08\x01\x10\x01")

    def send(self, kind, body, fds=()):
        head = HEADER.pack(len(body), kind, len(fds), 0, 1, 0)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("%di" % len(fds), *fds))]
        try:
            self.s.sendmsg([head], control if fds else [])
            self.s.sendall(body)
        except OSError: # it was closed; what it said can still be read
            pass

    def next(self):
        """The kind of the next message; None: the end."""
        data = b""
        try:
            while len(data) < HEADER.size:
                more = self.s.recv(HEADER.size - len(data))
                if not more:
                    return None
                data += more
            length, kind = HEADER.unpack(data)[:2]
            while length:
                length -= len(self.s.recv(min(length, 65536)))
            return kind
        except ConnectionError:
            return None

    def answer(self, *kinds):
        """The first message of one of these kinds; None: the end came first."""
        while (kind := self.next()) is not None and kind not in kinds:
            pass
        return kind


def welcomed(daemon):
    """A client. One that has just gone may count for a moment longer."""
    clients = []
    t.wait_until(lambda: clients.append(Client(daemon)) or
                 clients[-1].answer(WELCOME, ERROR) == WELCOME, 5)
    return clients[-1]


def stats_run(args, daemon):
    return subprocess.run([args.bin + "/pelton", "stats", "--json", "--socket", daemon.socket],
                          capture_output=True, text=True, timeout=args.timeout)


def limits(args, daemon):
    run = stats_run(args, daemon)
    if run.returncode:
        raise SystemExit("stats: " + run.stderr)
    return {limit["name"]: limit for limit in json.loads(run.stdout)["limits"]}


def three_points(args, daemon, name, outcomes, refused):
    """outcomes: whether it went well one below the limit, at it, and one above."""
    row = limits(args, daemon)[name]
    check(outcomes == [True, True, False] and row["refused"] == refused,
          "%s %d: below %s, at %s, above %s; %d refused" % (
              name, row["limit"], *("admitted" if o else "refused" for o in outcomes),
              row["refused"]))


def connections(args, name):
    """One place is for the command that asks."""
    with t.Daemon(args, "-c", name + "=4") as daemon:
        clients, outcomes = [welcomed(daemon), welcomed(daemon)], []
        for _ in range(3):
            clients.append(Client(daemon))
            outcomes.append(clients[-1].answer(WELCOME, ERROR) == WELCOME)
        for client in clients[3:]:
            client.s.close()
        welcomed(daemon).s.close()
        t.wait_until(lambda: stats_run(args, daemon).returncode == 0, 5)
        row = limits(args, daemon)[name]
        check(outcomes == [True, True, False] and row["used"] == 4 and row["refused"] >= 1,
              "%s 4: %s; %d used, %d refused" % (name, outcomes, row["used"], row["refused"]))


def open_streams(args):
    with t.Daemon(args, "-c", "streams=2", "-c", "resting=0") as daemon:
        t.warm_up(args, daemon, CLIP)
        command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
                   "-i", CLIP, "-f", "rawvideo", "-"]
        runs, outcomes = [], []
        for _ in range(3): # each has begun, and its pipe is full
            runs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL))
            outcomes.append(runs[-1].stdout.read(1) != b"")
        check(limits(args, daemon)["streams"]["used"] == 2, "streams: 2 are told as used")
        three_points(args, daemon, "streams", outcomes, 1)
        for run in runs:
            run.kill()
            run.communicate()


def unknown_field(size):
    """A body of that many bytes which every message skips: field 15, of bytes."""
    length, varint = size - 4, b""
    for _ in range(3):
        varint += bytes([length & 127 | (128 if len(varint) < 2 else 0)])
        length >>= 7
    return b"\x7a" + varint + bytes(size - 4)


def messages(args, daemon):
    outcomes = []
    for size in 65535, 65536, 65537:
        client = Client(daemon)
        client.send(PING, unknown_field(size))
        outcomes.append(client.answer(PONG, ERROR) == PONG)
    three_points(args, daemon, "message", outcomes, 1)
    outcomes = []
    with open(CLIP) as file:
        for count in 3, 4, 5:
            client = Client(daemon)
            client.send(PING, b"", [file.fileno()] * count)
            outcomes.append(client.answer(PONG, ERROR) == PONG)
    three_points(args, daemon, "message_fds", outcomes, 1)


def queue(args, daemon):
    """A client that asks and does not read; tests/daemon/broker/test_framing.c has the bytes."""
    client = Client(daemon)
    client.answer(WELCOME)
    asked = lambda: [client.send(STATUS, b"") for _ in range(500)] and False
    t.wait_until(lambda: asked() or limits(args, daemon)["queue"]["refused"] or
                 limits(args, daemon)["queue"]["used"] > 100000, 10)
    row = limits(args, daemon)["queue"]
    check(row["refused"] or 0 < row["used"] <= row["limit"], "queue: %d bytes wait" % row["used"])
    t.wait_until(lambda: asked() or limits(args, daemon)["queue"]["refused"], 60)
    check(limits(args, daemon)["queue"]["refused"] == 1, "queue: the client is cut, and counted")


def silence(args):
    with t.Daemon(args, "-c", "hello_ms=300") as daemon:
        client = Client(daemon, hello=False)
        check(client.answer(GOODBYE) == GOODBYE, "hello_ms: a silent connection is closed")
        check(limits(args, daemon)["hello_ms"]["refused"] == 1, "hello_ms: and counted")


def restarts(args):
    """Each with a new reader: nobody is guilty."""
    with t.Daemon(args, "-c", "restarts=2", "-c", "restart_window_ms=600000") as daemon:
        outcomes = []
        t.warm_up(args, daemon, CLIP)
        for _ in range(3):
            for pid in t.workers(daemon.process.pid):
                os.kill(pid, signal.SIGKILL)
            t.wait_until(lambda: not t.workers(daemon.process.pid), 5)
            run = t.decode(args, daemon, CLIP, "null")
            outcomes.append(run.returncode == 0)
        row = limits(args, daemon)["restarts"]
        check(outcomes == [True, True, False] and row["refused"] >= 1 and row["used"] == 2,
              "restarts %d: %s; %d used, %d refused" % (row["limit"], outcomes, row["used"],
                                                        row["refused"]))


def log_lines(args):
    with t.Daemon(args, "-c", "log_lines=5", "-c", "clients_per_uid=2") as daemon:
        held = [welcomed(daemon), welcomed(daemon)]
        for _ in range(400):
            Client(daemon).answer(ERROR)
        held.pop().s.close()
        welcomed(daemon).s.close()
        t.wait_until(lambda: stats_run(args, daemon).returncode == 0, 5)
        refused = limits(args, daemon)["log_lines"]["refused"]
        said = sum("as one user may have" in line for line in daemon.lines())
        check(refused and said >= 5 and said + refused >= 400,
              "log_lines 5: 400 refusals gave %d lines, %d left out" % (said, refused))


def pictures(args):
    """Of a stream: 16 macroblocks. Its worker counts."""
    outcomes, refused = [], 0
    for most in 17, 16, 15:
        with t.Daemon(args, "-c", "picture=%d" % most) as daemon:
            run = t.decode(args, daemon, CLIP, "null")
            outcomes.append(run.returncode == 0)
            if run.returncode:
                refused = t.wait_until(lambda: limits(args, daemon)["picture"]["refused"], 5)
    check(outcomes == [True, True, False] and refused and b"larger than" in run.stderr,
          "picture: %s; %d refused: %s" % (outcomes, refused, run.stderr.decode().split("\n")[0]))


def frames_memory(args):
    """Of frames that readers hold: one stream, and two of one connection (bench)."""
    decode = [args.bin + "/pelton", "decode", "-loglevel", "error", "-i", CLIP, "-f", "rawvideo"]
    bench = [args.bin + "/pelton", "bench", "--streams", "2", "-i", CLIP]
    with t.Daemon(args) as daemon:
        with subprocess.Popen([*decode, "--socket", daemon.socket, "-"], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL) as run:
            run.stdout.read(1) # its pipe is full then
            rows = limits(args, daemon)
            one = rows["stream_memory"]["used"]
            check(one > 0 and rows["client_memory"]["used"] == one and
                  rows["stream_device_memory"]["used"] == 0, "a stream holds %d KiB" % one)
            run.kill()
    memory_points(args, "stream_memory", one, [*decode, os.devnull, "-y"])
    memory_points(args, "client_memory", 2 * one, bench)


def memory_points(args, name, used, command):
    outcomes = []
    for most in used + 1, used, used - 1:
        with t.Daemon(args, "-c", "%s=%d" % (name, most)) as daemon:
            run = subprocess.run([*command, "--socket", daemon.socket], capture_output=True,
                                 stdin=subprocess.DEVNULL, text=True, timeout=args.timeout)
            refused = limits(args, daemon)[name]["refused"]
            outcomes.append(not refused) # bench measures more, and needs a GPU for that
            again = t.decode(args, daemon, CLIP, "null").returncode == 0
    check(outcomes == [True, True, False] and "raise " + name in run.stderr and
          again == (name == "client_memory"),
          "%s: %s; %d refused: %s" % (name, outcomes, refused, run.stderr.split("\n")[0]))


CASES = {"clients": lambda args: connections(args, "clients"),
         "clients_per_uid": lambda args: connections(args, "clients_per_uid"),
         "streams": open_streams, "silence": silence, "restarts": restarts,
         "log_lines": log_lines, "pictures": pictures, "frames_memory": frames_memory}
OF_ONE_DAEMON = {"messages": messages, "queue": queue}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    t.add_arguments(p)
    args = p.parse_args()
    for name, case in CASES.items():
        if not args.only or args.only in name:
            case(args)
    with t.Daemon(args) as daemon:
        for name, case in OF_ONE_DAEMON.items():
            if not args.only or args.only in name:
                case(args, daemon)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
