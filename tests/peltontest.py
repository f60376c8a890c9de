# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the Python tests: a peltond of their own, decoding through it, comparing with FFmpeg.
"""
import os, pathlib, socket, subprocess, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = 77
FLAG_CORRUPT, FLAG_LAST = 2, 8 # of pelton_frame
SEED = os.environ.get("PELTON_SEED", time.strftime("%Y%m%d", time.gmtime()))


def add_arguments(p):
    p.add_argument("--bin", default=os.environ.get("PELTON_BINARY_DIR", str(ROOT / "build")) +
                   "/bin")
    p.add_argument("--device", default="auto")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                   help="configuration of the daemon; the value \"day\" is the day's seed")
    p.add_argument("--ffmpeg", default="ffmpeg")
    p.add_argument("--only", help="part of a name")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--timeout", type=float, default=240, help="seconds for one decode")


def listens(path):
    """Whether somebody accepts there; the name comes a moment before."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


class Daemon:
    """A peltond on a socket of its own, ended with the block; its log must stay free of validation
    messages."""

    def __init__(self, args, *more, env=None):
        self.dir = tempfile.TemporaryDirectory()
        self.socket = self.dir.name + "/pelton.sock"
        self.log = open(self.dir.name + "/log", "w+")
        command = [args.bin + "/peltond", "--socket", self.socket, "--device", args.device]
        for kv in args.set:
            command += ["-c", kv.replace("=day", "=" + SEED)]
        self.process = subprocess.Popen(command + list(more), stdout=self.log, stderr=self.log,
                                        env=env)

    def __enter__(self):
        for _ in range(200):
            if listens(self.socket):
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("peltond did not start:\n" + self.tail())

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def lines(self):
        return open(self.log.name, errors="replace").readlines()

    def tail(self):
        return "".join(self.lines()[-10:])

    def validation_messages(self):
        return [l for l in self.lines() if "VUID" in l or "SYNC-HAZARD" in l or "UNASSIGNED" in l]


def decode(args, daemon, path, fmt, *more):
    command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
               *more, "-i", path, "-f", fmt, "-"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=args.timeout)


def decode_pipe(args, daemon, path, fmt, *more):
    """The same from a pipe, which is a live stream."""
    command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
               *more, "-i", "-", "-f", fmt, "-"]
    with open(path, "rb") as stream:
        return subprocess.run(command, input=stream.read(), capture_output=True,
                              timeout=args.timeout)


def ffmpeg_framemd5(args, path):
    """FFmpeg's own decoder: the oracle."""
    # -cpuflags 0: FFmpeg's assembly departs from its own C code in weighted prediction above 8 bits
    command = [args.ffmpeg, "-v", "error", "-nostdin", "-cpuflags", "0", "-flags", "unaligned",
               "-i", path, "-autoscale", "0",
               "-f", "framemd5", "-"]
    return subprocess.run(command, capture_output=True, timeout=args.timeout).stdout.decode()


def x264_source(options):
    """The pixel format that x264 gets for these options, so that it converts nothing but to RGB."""
    words = options.split()
    option = lambda name, default: words[words.index(name) + 1] if name in words else default
    family = {"i420": "yuv420p", "i422": "yuv422p", "i444": "yuv444p", "rgb": "yuv444p",
              "i400": "gray"}[option("--output-csp", "i420")]
    return family + ("10le" if option("--output-depth", "8") == "10" else "")


def first_difference(ours, theirs):
    """None, or one line on the first line that differs; the version of libavformat may."""
    ours, theirs = ours.splitlines(), theirs.splitlines()
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b and not a.startswith("#software"):
            return "framemd5 line %d: %r, FFmpeg %r" % (i + 1, a, b)
    if len(ours) != len(theirs):
        return "framemd5: %d lines, FFmpeg %d" % (len(ours), len(theirs))
    return None


def failure(run):
    """None, or how a decode failed."""
    if run.returncode == 0:
        return None
    return "exit %d: %s" % (run.returncode,
                            run.stderr.decode(errors="replace").strip().replace("\n", " | "))


def compare_framemd5(args, daemon, path, *more):
    run = decode(args, daemon, path, "framemd5", *more)
    return failure(run) or first_difference(run.stdout.decode(), ffmpeg_framemd5(args, path))


def session_frames(text):
    """What session_decode --frames says, without the flag of the last frame, which is known in time
    or not."""
    lines = [line.split() for line in text.splitlines()]
    return [line if len(line) < 4 else line[:3] + [int(line[3]) & ~FLAG_LAST] + line[4:]
            for line in lines]


def session_difference(got, want, gpu_motion=False):
    """None, or how the session_frames differ. gpu_motion: of the first ones motion may have been
    derived on the GPU. Which references macroblocks use is not known of pictures whose records are
    there alone, so these may be marked as damaged where want is not, and never the other way
    round."""
    if len(got) != len(want):
        return "%d lines, not %d" % (len(got), len(want))
    for a, b in zip(got, want):
        marked = len(a) > 3 and len(b) > 3 and gpu_motion and a[3] == b[3] | FLAG_CORRUPT
        if a != b and not (marked and a[:3] + a[4:] == b[:3] + b[4:]):
            return "%s, not %s" % (a, b)
    return None
