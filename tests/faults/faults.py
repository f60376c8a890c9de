#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One call of a session fails: an allocation, a system call, a call of Vulkan. The outcome is a
line that says why and an exit code, or the right frames. It is never a crash, a hang, or a wrong
frame.

  faults.py --bin DIR --library FILE [--session NAME] [--of KIND] [--all | --sample N]

--all takes each call in turn; else a sample by the day's seed. --call N takes one call.
Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import collections, concurrent.futures, os, pathlib, random, re, shutil, signal
import struct, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

FRAMES = 10
FILE = struct.Struct("=QQ112s") # struct fault_file
VULKAN = ("host_memory", "device_memory", "lost", "timeout")
KINDS = ("memory", "system", *VULKAN)


def decode(args, device, path):
    return [args.bin + "/pelton", "decode", "--device", device, "-loglevel", "verbose", "-i", path,
            "-frames:v", str(FRAMES), "-f", "framemd5", "-"]


# Each makes a command: the worker's sessions alone, the service without a GPU, with a device, and
# with a camera.
SESSIONS = {
    "worker": lambda args, clip: [args.bin + "/session_reference", "--frames", clip],
    "libavcodec": lambda args, clip: decode(args, "libavcodec", clip),
    "device": lambda args, clip: decode(args, args.device, clip),
    "camera": lambda args, clip: decode(args, args.device, "sim:///" + clip.lstrip("/")),
}


def place(args, what):
    """The call with its function and line."""
    found = re.search(r"from (\S+)\+(0x[0-9a-f]+)", what)
    program = found and pathlib.Path(args.bin, found[1])
    if not program or not program.exists():
        return what
    run = subprocess.run(["addr2line", "-f", "-s", "-e", program, hex(int(found[2], 16) - 1)],
                         capture_output=True, text=True)
    return what.split(" from ")[0] + " in " + ", ".join(run.stdout.split("\n")[:2])


class Run:
    """One run in which the call of that number fails; 0: none."""

    def __init__(self, args, command, of, number):
        with tempfile.NamedTemporaryFile() as file:
            file.write(FILE.pack(0, number, b""))
            file.flush()
            env = {**os.environ, "LD_PRELOAD": args.library, "PELTON_FAULT_FILE": file.name,
                   "PELTON_FAULT_OF": of}
            try:
                run = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                                     capture_output=True, timeout=t.patience(15))
                self.code, self.out = run.returncode, run.stdout.decode(errors="replace")
                self.said = run.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired as e:
                self.code, self.out, self.said = None, "", (e.stderr or b"").decode()
            self.calls, _, what = FILE.unpack(open(file.name, "rb").read(FILE.size))
        self.what = what.split(b"\0")[0].decode()

    def frames(self):
        """Lines of frames. Whether a frame is the last one is known in time or not."""
        lines = [l.replace(",", " ").split() for l in self.out.splitlines() if l[:1].isdigit()]
        own = [l for l in lines if len(l) == 6]
        return [l[:3] + [int(l[3]) & ~t.FLAG_LAST] + l[4:] for l in own if len(l[4]) == 32] or own

    @staticmethod
    def marked(frame):
        """Said to be damaged, by a program that tells."""
        return isinstance(frame[3], int) and bool(frame[3] & t.FLAG_CORRUPT)

    def fault(self, truth):
        """None, or what is wrong with the outcome."""
        if self.code is None:
            return "hang"
        if self.code < 0 or self.code > 128:
            return "crash, signal %d" % (self.code if self.code > 0 else -self.code)
        death = re.search(r"worker \d+ ended: signal (\d+)", self.said)
        if death and int(death[1]) != signal.SIGKILL: # the broker kills one that it cannot talk to
            return "the worker crashed, signal " + death[1]
        report = re.search(r"(Sanitizer: [^\n]*|runtime error: [^\n]*)", self.said)
        if report:
            return report[1]
        frames = self.frames()
        for frame in frames:
            if frame[1:] not in [f[1:] for f in truth] and not self.marked(frame):
                return "wrong frame %s" % frame
        if self.code == 0 and len(frames) != len(truth):
            return "%d frames of %d, and exit code 0" % (len(frames), len(truth))
        if self.code and not self.said.strip():
            return "exit code %d without a word" % self.code
        return None


def check_all(args, name, of, numbers, command, truth):
    """The number of faults. Outcomes are counted."""
    outcomes, faults = collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda n: (n, Run(args, command, of, n)), numbers)
        for number, run in runs:
            fault = run.fault(truth)
            outcomes["fault" if fault else "not reached" if not run.what else
                     "right frames" if run.code == 0 else "said why"] += 1
            if fault:
                faults += 1
                print("FAIL --session %s --of %s --call %d: %s: %s" % (name, of, number,
                                                                   place(args, run.what), fault))
                if args.verbose:
                    print(run.said)
            elif args.verbose:
                print(number, run.what, run.code, run.said.strip().splitlines()[-2:])
    print("%s, %s: %d of %s calls failed: %s" % (name, of, len(numbers), args.calls,
                                                 dict(outcomes)))
    return faults


def check(args, name, of, clip):
    command = SESSIONS[name](args, clip)
    clean = Run(args, command, of, 0)
    truth = clean.frames()
    if clean.code or len(truth) < FRAMES or not clean.calls:
        print("FAIL %s: without a fault: exit %s, %d frames, %d calls: %s" % (
            name, clean.code, len(truth), clean.calls, clean.said))
        return 1
    args.calls = clean.calls
    numbers = list(range(1, clean.calls + 1))
    if args.call:
        numbers = [args.call]
    elif not args.all:
        random.Random("%s %s %s" % (args.seed, name, of)).shuffle(numbers)
        numbers = sorted(numbers[:args.sample])
    return check_all(args, name, of, numbers, command, truth)


def main():
    p = t.parser(__doc__)
    p.add_argument("--library", required=True)
    p.add_argument("--session", choices=SESSIONS, action="append")
    p.add_argument("--of", choices=KINDS, action="append")
    p.add_argument("--all", action="store_true")
    p.add_argument("--sample", type=int, default=20)
    p.add_argument("--call", type=int)
    p.add_argument("--seed", default=t.SEED)
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    if not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    print("seed", args.seed)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        clip = folder + "/a.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=size=64x64:rate=25", "-frames:v", str(FRAMES), "-c:v", "libx264",
                        "-bf", "2", "-pix_fmt", "yuv420p", clip], check=True)
        for name in args.session or ("worker", "libavcodec"):
            for of in args.of or KINDS[:2] + (VULKAN if name in ("device", "camera") else ()):
                faults += check(args, name, of, clip)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
