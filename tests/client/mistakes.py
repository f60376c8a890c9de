#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Mistakes at the keyboard: exit code, cause and hint of each line in mistakes.tsv.

A line has five columns: exit code, needs, command, cause, hint. Needs are words:
  daemon    PELTON_SOCKET names a daemon that serves the sources of `sources` below
  user      runs as nobody; skipped where we are not root, or where setpriv is missing
  tty       standard output is a terminal
  no-env    the environment names no display and no socket
The command is split as a shell splits it; it is pelton or peltond. Cause and hint are regular
expressions. They stand in the XX

Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import concurrent.futures, os, pathlib, pty, re, shlex, shutil, socket, subprocess
import sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

TABLE = pathlib.Path(__file__).with_name("mistakes.tsv")
SOURCES = """version: 1
sources:
  demo: {uri: "sim://clip.mp4", size: 160x96, fps: 25}
  file: {uri: "clip.mp4"}
  door: {uri: "rtsp://127.0.0.1:9/x"}
  gone: {uri: "v4l2:///dev/video97"}
"""


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *words], check=True)


def make_files(d):
    """Every file that a row of the table names."""
    picture = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=1"]
    ffmpeg(*picture, "-c:v", "libx264", "-pix_fmt", "yuv420p", d + "/clip.mp4")
    ffmpeg("-i", d + "/clip.mp4", "-c", "copy", d + "/clip.264")
    ffmpeg(*picture, "-c:v", "mpeg4", d + "/other.mp4")
    ffmpeg("-f", "lavfi", "-i", "sine=d=1", d + "/sound.wav")
    whole = pathlib.Path(d + "/clip.mp4").read_bytes()
    pathlib.Path(d + "/cut.mp4").write_bytes(whole[:whole.index(b"moov") - 4])
    pathlib.Path(d + "/my clip.mp4").write_bytes(whole)
    pathlib.Path(d + "/empty.mp4").touch()
    pathlib.Path(d + "/list.m3u8").write_text("#EXTM3U\n#EXT-X-VERSION:3\nclip.mp4\n")
    ffmpeg("-i", d + "/clip.mp4", "-c", "copy", "-encryption_scheme", "cenc-aes-ctr",
           "-encryption_key", "0f" * 16, "-encryption_kid", "f0" * 16, d + "/locked.mp4")
    ffmpeg("-i", d + "/clip.mp4", "-c", "copy", "-movflags", "empty_moov+frag_keyframe",
           d + "/parts.mp4")
    parts = pathlib.Path(d + "/parts.mp4").read_bytes()
    pathlib.Path(d + "/init.mp4").write_bytes(parts[:parts.index(b"moof") - 4])
    pathlib.Path(d + "/text.mp4").write_text("no video at all\n" * 100)
    pathlib.Path(d + "/exists.y4m").write_text("mine")
    pathlib.Path(d + "/out01.png").write_text("mine")
    pathlib.Path(d + "/secret.mp4").write_bytes(whole)
    os.chmod(d + "/secret.mp4", 0)
    os.mkdir(d + "/folder")
    os.mkdir(d + "/locked", 0o500)
    os.chmod(d, 0o777)
    with socket.socket(socket.AF_UNIX) as s: # nobody listens there
        s.bind(d + "/dead.sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(d + "/locked.sock")
    os.chmod(d + "/locked.sock", 0o600)
    pathlib.Path(d + "/sources.yaml").write_text(SOURCES)
    pathlib.Path(d + "/lens.yaml").write_text("no camera: at all\n")
    pathlib.Path(d + "/lens2.yaml").write_text("D: [1]\nD: [1]\n")
    pathlib.Path(d + "/typo.yaml").write_text("version: 1\nthraeds: 3\n")
    pathlib.Path(d + "/twice.yaml").write_text("version: 1\nthreads: 3\nthreads: 3\n")
    pathlib.Path(d + "/open.yaml").write_text("version: 1\nsources: {a: {uri: x\n")


class Row:
    def __init__(self, number, line):
        columns = line.rstrip("\n").split("\t")
        if len(columns) != 5:
            raise SystemExit("%s:%d: %d columns, not 5" % (TABLE.name, number, len(columns)))
        self.number, self.code, self.needs = number, int(columns[0]), columns[1].split()
        self.command, self.cause, self.hint = columns[2:]

    def differs(self, code, err):
        """None, or what is not as the table says."""
        if code != self.code:
            return "exit %d, not %d" % (code, self.code)
        lines = err.splitlines()
        if self.code == 0:
            return None if re.search(self.cause, err, re.M) else "no %r" % self.cause
        name = self.command.split()[0]
        if [l.split(":")[0] for l in lines[-2:]] != [name, "hint"]:
            return "not one cause and one hint at the end"
        if sum(l.startswith((name + ":", "hint:")) for l in lines) != 2:
            return "more than one cause or hint"
        if not re.search(self.cause, lines[-2][len(name) + 2:]):
            return "the cause has no %r" % self.cause
        return None if re.search(self.hint, lines[-1][6:]) else "the hint has no %r" % self.hint


def rows(only):
    for number, line in enumerate(open(TABLE), 1):
        if line.strip() and not line.startswith("#"):
            row = Row(number, line)
            if not only or only in row.command:
                yield row


def environment(row, daemon):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PELTON_", "XDG_"))}
    env["LC_ALL"] = "C"
    if "daemon" in row.needs:
        env["PELTON_SOCKET"] = daemon.socket
    if "no-env" in row.needs:
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
            env.pop(name, None)
    return env


def run_row(row, args, daemon, folder):
    """The exit code, and what was said."""
    words = shlex.split(row.command)
    words[0] = args.bin + "/" + words[0]
    if "user" in row.needs:
        words = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", *words]
    terminal = pty.openpty() if "tty" in row.needs else None
    out = terminal[1] if terminal else subprocess.PIPE
    try:
        run = subprocess.run(words, cwd=folder, env=environment(row, daemon), stdout=out,
                             stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             timeout=args.timeout)
    except subprocess.TimeoutExpired:
        return -1, "no end after %g s" % args.timeout
    finally:
        for fd in terminal or ():
            os.close(fd)
    printed = (run.stdout or b"").decode(errors="replace") if row.code == 0 else ""
    return run.returncode, printed + run.stderr.decode(errors="replace")


def user_possible(args):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return False
    return subprocess.run(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
                           args.bin + "/pelton", "version"],
                          capture_output=True).returncode == 0


def second_daemon(args, daemon):
    """Its refusal, or None where that is as it should be. The log has the daemon's name."""
    run = subprocess.run([args.bin + "/peltond", "--socket", daemon.socket], text=True,
                         capture_output=True, timeout=args.timeout)
    said = run.stderr.splitlines()
    good = run.returncode == 1 and len(said) == 2 and "another daemon listens there" in said[0]
    return None if good and "hint: pelton stop --socket " in said[1] else run.stderr


def main():
    args = t.parser(__doc__).parse_args()
    args.bin = t.binaries(os.path.abspath(args.bin))
    if not shutil.which("ffmpeg"):
        print("skipped: no ffmpeg")
        return t.SKIPPED
    may, bad, skipped, table = user_possible(args), 0, 0, list(rows(args.only))
    with tempfile.TemporaryDirectory() as d:
        make_files(d)
        here = os.getcwd()
        os.chdir(d)
        with t.Daemon(args, "-c", "sources.yaml") as daemon:
            os.chdir(here)
            t.warm_up(args, daemon, d + "/clip.mp4")
            run = [r for r in table if may or "user" not in r.needs]
            skipped = len(table) - len(run)
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                results = pool.map(lambda r: run_row(r, args, daemon, d), run)
                for row, (code, err) in zip(run, results):
                    why = row.differs(code, err)
                    bad += why is not None
                    if why:
                        print("%s:%d: %s\n  %s\n    %s" % (TABLE.name, row.number, row.command, why,
                                                           err.strip().replace("\n", "\n    ")))
            why = second_daemon(args, daemon)
            bad += why is not None
            if why:
                print("a second daemon on a socket: %s" % why)
        if pathlib.Path(d + "/exists.y4m").read_text() != "mine":
            bad += 1
            print("exists.y4m was overwritten")
        os.chmod(d + "/locked", 0o700)
    print("%d of %d mistakes answered as written%s" % (
        len(run) - bad, len(run), "; %d skipped: no other user here" % skipped if skipped else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
