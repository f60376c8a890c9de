# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the Python tests: a peltond of their own, decoding through it, comparing with FFmpeg.
"""
import argparse, functools, os, pathlib, shutil, socket, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = 77
FLAG_CORRUPT, FLAG_LAST = 2, 8 # of pelton_frame
# Pelton decodes in every test. Tests of libavcodec name it as their device.
os.environ.setdefault("PELTON_CONFIG_LIBAVCODEC", "false")
FAILURES = [] # what check() has found
SEED = os.environ.get("PELTON_SEED", time.strftime("%Y%m%d", time.gmtime()))


# Seconds for one program, far more than it takes beside others: the end of what hangs.
LIMIT_S = 600


def binaries(path):
    """The value of --bin; slowness() looks there."""
    binaries.path = path
    return path


BINARIES = binaries(os.environ.get("PELTON_BINARY_DIR", str(ROOT / "build")) + "/bin")


def add_arguments(p):
    p.add_argument("--bin", type=binaries, default=BINARIES)
    p.add_argument("--device", default="auto")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                   help="configuration of the daemon; the value \"day\" is the day's seed")
    p.add_argument("--ffmpeg", default="ffmpeg")
    p.add_argument("--only", help="part of a name")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--timeout", type=float, default=LIMIT_S, help="seconds for one decode")


def parser(text):
    """Reads the arguments of a test whose description is text."""
    p = argparse.ArgumentParser(description=text.splitlines()[0])
    add_arguments(p)
    return p


def arguments(text, *programs):
    """The arguments of a test whose description is text. Without the programs it is skipped."""
    return parsed(parser(text), *programs)


def parsed(p, *programs):
    """The arguments that p, of parser(), reads. Without the programs the test is skipped."""
    args = p.parse_args()
    for program in (args.ffmpeg, *programs):
        if not shutil.which(program):
            print("skipped: no", program)
            sys.exit(SKIPPED)
    return args


# Sleeps in steps of 5 ms. Says when and how much too late it woke, and in which tenths of a second
# no core was idle. Ends when its input does.
SLEEPER = """
import select, sys, time
STEP = 0.005
then = began = time.monotonic()
idle = lambda: sum(map(int, open("/proc/stat").readline().split()[4:6]))
rested, ticks = idle(), {ticks}
while not select.select([0], [], [], STEP)[0]:
    now = time.monotonic()
    if now - then - STEP > 0.002:
        print(now, "late", now - then - STEP, flush=True)
    if now - began >= 0.1:
        was, rested = rested, idle()
        if rested - was < 0.1 * ticks * (now - began):
            print(now, "full", now - began, flush=True)
        began = now
    then = time.monotonic()
"""


@functools.cache
def sleeper():
    """The file that it writes, and what keeps it alive."""
    out = tempfile.NamedTemporaryFile()
    ticks = os.sysconf("SC_CLK_TCK") * len(os.sched_getaffinity(0))
    program = SLEEPER.replace("{ticks}", str(ticks))
    return out, subprocess.Popen([sys.executable, "-S", "-c", program], stdin=subprocess.PIPE,
                                 stdout=out)


def own_seconds():
    """CPU time of this process and all that it has started."""
    parents, ticks = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(path.name)] = int(words[1])
        ticks[int(path.name)] = sum(map(int, words[11:15])) # children that have ended are in it
    ours = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in ours} - ours
        if not more:
            return sum(ticks.get(pid, 0) for pid in ours) / os.sysconf("SC_CLK_TCK")
        ours |= more


def machine_seconds():
    """CPU time of all processes, and time that the host did not give."""
    words = open("/proc/stat").readline().split()
    user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


class Stretch:
    """How much others disturbed this test from here on. Others disturb where no core was idle for a
    while and a part of the CPU time was theirs: one that leaves us a core does not. The host
    disturbs by the time that it takes away. A process that sleeps and wakes too late tells of the
    rest, where our own processes leave a core free: else we are late by ourselves."""
    OTHERS, STOLEN, FULL = 0.1, 0.03, 0.05 # shares of all cores, and of the time
    LATE_MS = 20

    def __init__(self):
        sleeper()
        self.began = time.monotonic()
        self.ours, (self.all, self.stolen) = own_seconds(), machine_seconds()

    def said(self, word):
        """What the sleeper has said since then, in seconds."""
        lines = [l.split() for l in open(sleeper()[0].name).read().split("\n")[:-1]]
        return [float(seconds) for at, kind, seconds in lines
                if kind == word and float(at) > self.began]

    def disturbed(self):
        """Empty, or how. Where PELTON_TEST_STRICT is set, nobody disturbs."""
        if os.environ.get("PELTON_TEST_STRICT"):
            return ""
        full = sum(self.said("full")) / max(1e-3, time.monotonic() - self.began)
        cores = len(os.sched_getaffinity(0)) * max(1e-3, time.monotonic() - self.began)
        ours, (everything, stolen) = own_seconds() - self.ours, machine_seconds()
        others = max(0, everything - self.all - ours) / cores
        stolen, ours, late = (stolen - self.stolen) / cores, ours / cores, 1000 * max(
            self.said("late"), default=0)
        if (others <= self.OTHERS or full <= self.FULL) and stolen <= self.STOLEN and (
                late <= self.LATE_MS or ours > 0.5):
            return ""
        return (f"disturbed: others used {100 * others:.0f} % of the cores, this test "
                f"{100 * ours:.0f} %, the host took {100 * stolen:.0f} %, no core was idle for "
                f"{100 * full:.0f} % of the time, a sleeper woke up to {late:.0f} ms late")


def check_time(check, good, stretch, what):
    """A check of a time: where others disturbed the stretch, a miss is told and does not fail."""
    why = "" if good else stretch.disturbed()
    check(good or bool(why), what + (", " + why if why else ""))


@functools.cache
def slowness():
    """How many times slower than the developers' machine, in a release build, this one is."""
    def spin():
        before = time.thread_time()
        sum(i * i for i in range(50000))
        return time.thread_time() - before

    sanitized = b"__asan_init" in pathlib.Path(binaries.path, "peltond").read_bytes()
    return max(1, min(spin() for _ in range(5)) / 0.002) * (3 if sanitized else 1)


def patience(seconds):
    """The limit for something that takes that long where nothing else runs. Waiting costs nothing
    where things go well: it holds under a load of eight on each core."""
    return 8 * seconds * slowness()


def wait_until(what, seconds):
    """Waits until what() is true, and returns it: patience() with these seconds."""
    end = time.monotonic() + patience(seconds)
    while not (result := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return result


def workers(pid):
    """The processes of a daemon's workers. Its other child starts them."""
    def name(child):
        try:
            return pathlib.Path(f"/proc/{child}/comm").read_text()
        except (FileNotFoundError, ProcessLookupError): # it has just ended
            return ""

    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return [int(c) for c in children if name(c) not in ("", "pelton-spawner\n")]


def listens(path):
    """Whether somebody accepts there; the name comes a moment before."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    """A peltond on a socket of its own, ended with the block; its log must stay free of validation
    messages."""

    def __init__(self, args, *more, env=None):
        self.bin, self.device = args.bin, args.device
        self.dir = tempfile.TemporaryDirectory()
        self.socket = self.dir.name + "/pelton.sock"
        self.log = open(self.dir.name + "/log", "w+")
        command = [args.bin + "/peltond", "--socket", self.socket, "--device", args.device]
        for kv in args.set:
            command += ["-c", kv.replace("=day", "=" + SEED)]
        self.process = subprocess.Popen(command + list(more), stdout=self.log, stderr=self.log,
                                        env=env)

    def __enter__(self):
        wait_until(lambda: listens(self.socket) or self.process.poll() is not None, 5)
        if listens(self.socket) and self.process.poll() is None:
            return self
        raise SystemExit("peltond did not start:\n" + self.tail())

    def __exit__(self, *_):
        self.check_decoder()
        self.process.terminate()
        try:
            self.process.wait(patience(5))
        except subprocess.TimeoutExpired:
            self.process.kill()

    def check_decoder(self):
        """No test takes libavcodec's frames for pelton's."""
        if self.device != "libavcodec" and any("libavcodec decodes" in line
                                               for line in self.lines()):
            raise SystemExit("libavcodec decodes in place of " + self.device)

    def pelton(self, word, *words, **more):
        """What a command of this daemon's does."""
        return subprocess.run([self.bin + "/pelton", word, "--socket", self.socket, *words],
                              capture_output=True, stdin=subprocess.DEVNULL, **more)

    def lines(self):
        return open(self.log.name, errors="replace").readlines()

    def tail(self):
        return "".join(self.lines()[-10:])

    def validation_messages(self):
        return [l for l in self.lines() if "VUID" in l or "SYNC-HAZARD" in l or "UNASSIGNED" in l
                or " canary " in l]


def warm_up(args, daemon, path):
    """Waits for the device's pipelines: a software device compiles them for a minute or two."""
    run = subprocess.run([args.bin + "/pelton", "decode", "--socket", daemon.socket, "--timeout",
                          "0", "-i", path, "-f", "null", "-"], stdin=subprocess.DEVNULL,
                         capture_output=True, timeout=LIMIT_S)
    if run.returncode:
        raise SystemExit("no frame to warm up: " + failure(run))


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


def ffmpeg_framemd5(args, path, *more):
    """FFmpeg's own decoder: the oracle. more: another output of the same frames."""
    # -cpuflags 0: FFmpeg's assembly departs from its own C code in weighted prediction above 8 bits
    # -threads 1: with more, one of 400 runs gives other frames of rw_refshuffle_b_fld_long.264
    command = [args.ffmpeg, "-v", "error", "-nostdin", "-cpuflags", "0", "-threads", "1",
               "-flags", "unaligned", "-i", path, "-noautoscale",
               "-f", "framemd5", "-", *more]
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


def check(good, what):
    """Tells a fact, and whether it is so. finish() counts those that are not."""
    print("ok  " if good else "FAIL", what, flush=True)
    if not good:
        FAILURES.append(what)


def finish():
    """The exit code of a test of facts, which are told once more where they are not so."""
    print(f"{len(FAILURES)} failures", *FAILURES, sep="\n")
    return 1 if FAILURES else 0


def part_option(parser):
    parser.add_argument("--part", metavar="I/N",
                        help="the I-th of N parts of the rows; I may be \"day\", which changes "
                             "with the day's seed")


def part(args, rows):
    """Rows in turn, so that each part has some of every kind."""
    if not args.part:
        return rows
    which, n = args.part.split("/")
    which = int(SEED) if which == "day" else int(which)
    print("part %d of %s, seed %s" % (which % int(n), n, SEED))
    return rows[which % int(n) :: int(n)]


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
