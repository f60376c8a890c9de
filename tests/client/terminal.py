#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The command on a terminal: columns at 80 and 160, colours, questions, and completion in shells.

Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import contextlib, fcntl, os, pathlib, pty, re, select, shutil, struct, subprocess, sys
import tempfile, termios, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

LONG = "a-source-with-a-name-much-longer-than-any-column-should-be"
SOURCES = """version: 1
sources:
  demo: {uri: "sim://clip.mp4", size: 160x96, fps: 25}
  door: {uri: "rtsp://127.0.0.1:9/a/long/path/of/a/camera/in/the/garden?with=many&settings=here"}
  %s: {uri: "clip.mp4"}
""" % LONG
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PATIENCE_S = 120
bad = []


def check(name, condition, text=""):
    if not condition:
        bad.append("%s: %s" % (name, text))


class Terminal:
    """A program on a terminal of so many columns."""

    def __init__(self, columns, words, env, folder, stderr=None):
        self.fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=stderr or theirs,
                                        cwd=folder, env=env, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.text = ""

    def read(self, until=None):
        """Everything up to the end, or until a pattern is seen."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not (until and re.search(until, self.text)):
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode(errors="replace")
        return self.text

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self.fd)


class Session:
    def __init__(self, args, folder, socket):
        self.folder, self.pelton = folder, os.path.abspath(args.bin) + "/pelton"
        self.env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
        self.env.update(PELTON_SOCKET=socket, TERM="xterm", LC_ALL="C.UTF-8",
                        PATH=os.path.abspath(args.bin) + ":" + os.environ["PATH"])

    def show(self, columns, *words, **env):
        """What a terminal shows, and the exit code."""
        terminal = Terminal(columns, [self.pelton, *words], {**self.env, **env}, self.folder)
        text = terminal.read()
        code = terminal.process.wait(PATIENCE_S)
        terminal.close()
        return text.replace("\r\n", "\n"), code


def check_columns(s):
    with subprocess.Popen([s.pelton, "pipe", "demo", "-f", "null", "-", "-v", "quiet"],
                          env=s.env, cwd=s.folder) as reader:
        deadline = time.monotonic() + PATIENCE_S
        while "running" not in s.show(80, "stats")[0] and time.monotonic() < deadline:
            time.sleep(0.2)
        for columns in (80, 160):
            for words in (["stats"], ["sources"]):
                name = "%s at %d" % (words[0], columns)
                text, code = s.show(columns, *words)
                lines = ESCAPE.sub("", text).splitlines()
                check(name, code == 0 and lines, text)
                check(name + ": fits", max(map(len, lines)) <= columns, "\n".join(lines))
                check(name + ": header", any(l.startswith(("STREAM", "NAME")) for l in lines), text)
                if words == ["sources"]:
                    check(name + ": what is too long ends with ~", "~" in text, text)
                check(name + ": a colour", "\x1b[32mrunning" in text, repr(text))
        wide, narrow = (ESCAPE.sub("", s.show(c, "stats")[0]) for c in (160, 80))
        check("more columns on a wide terminal", "POLICY" in wide and "POLICY" not in narrow
              and "MISSED" in narrow, wide + narrow)
        piped = subprocess.run([s.pelton, "sources"], env=s.env, capture_output=True, text=True)
        check("all columns in a pipe", "\x1b" not in piped.stdout and LONG + " " in piped.stdout
              and "settings=here" in piped.stdout, piped.stdout)
        top = Terminal(80, [s.pelton, "top"], s.env, s.folder)
        screen = top.read(until=r"(?s)FPS.*\x1b\[H.*running").split("\x1b[H\x1b[J")
        top.type("\x03")
        check("top ends with Ctrl-C", top.process.wait(PATIENCE_S) == 130)
        top.close()
        lines = [l for l in ESCAPE.sub("", screen[1]).replace("\r", "").splitlines()]
        check("top at 80", max(map(len, lines)) <= 80 and "FPS" in screen[1], screen[1])
        reader.terminate()


def check_colours(s):
    text, code = s.show(80, "decod")
    check("colours", code == 2 and "\x1b[31mpelton:" in text and "\x1b[36mhint:" in text,
          repr(text))
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text, _ = s.show(80, "decod", **env)
        check("no colours with %s" % env, "\x1b" not in text and "hint:" in text, repr(text))
    text, _ = s.show(80, "decod", NO_COLOR="")
    check("an empty NO_COLOR", "\x1b[31m" in text, repr(text))


def check_output(s):
    """Pixels never go to a terminal; text does. A file is asked for before anything is decoded."""
    for words in (["pipe", "demo"], ["decode", "-i", "clip.mp4", "-f", "raw", "-"],
                  ["decode", "-i", "clip.mp4", "-f", "png", "-"],
                  ["pipe", "demo", "-f", "mkv", "-"]):
        text, code = s.show(80, *words)
        check(" ".join(words), code == 2 and "is a terminal" in text and len(text) < 300,
              repr(text[:300]))
    text, code = s.show(80, "decode", "-i", "clip.mp4", "-f", "md5", "-")
    check("text on a terminal", code == 0 and "MD5=" in text, text)
    path = pathlib.Path(s.folder, "mine.y4m")
    for answer, code in (("n", 1), ("y", 0)):
        path.write_text("mine")
        terminal = Terminal(80, [s.pelton, "decode", "-i", "clip.mp4", "-o", "mine.y4m"], s.env,
                            s.folder)
        text = terminal.read(until="Overwrite")
        check("asked first", "software device" not in text and "Overwrite" in text, text)
        terminal.type(answer + "\n")
        terminal.read()
        check("answer " + answer, terminal.process.wait(PATIENCE_S) == code
              and (path.read_bytes() == b"mine") == (answer == "n"), terminal.text)
        terminal.close()


def check_window(s, folder):
    """A viewer whose window is closed, and a reader that has enough, are no errors."""
    player = pathlib.Path(folder, "player")
    player.mkdir()
    (player / "ffplay").write_text("#!/bin/sh\nexec head -c 100000 >/dev/null\n")
    (player / "ffplay").chmod(0o755)
    env = {**s.env, "DISPLAY": ":99", "PATH": str(player) + ":" + s.env["PATH"]}
    run = subprocess.run([s.pelton, "view", "demo"], env=env, cwd=folder, capture_output=True,
                         text=True, timeout=PATIENCE_S)
    check("closed window", run.returncode == 0 and "hint:" not in run.stderr, run.stderr)
    run = subprocess.run(["bash", "-c", '"$0" pipe demo | head -c 1000 >/dev/null; '
                          'exit "${PIPESTATUS[0]}"', s.pelton], env=s.env, cwd=folder,
                         capture_output=True, text=True, timeout=PATIENCE_S)
    check("closed pipe", run.returncode == 141 and "hint:" not in run.stderr, run.stderr)


# ---- completion, typed in the shells themselves

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "PS1='> '; eval \"$(pelton completion bash)\"; echo rea''dy\n"),
    "zsh": (["zsh", "-f", "-i"],
            "bindkey -e; autoload -U compinit; compinit -D -u; "
            "eval \"$(pelton completion zsh)\"; echo rea''dy\n"),
}
# what is typed before the tab, and the words of the line after it
TYPED = [("pelton pro", "pelton|probe"),
         ("pelton decode --pix", "pelton|decode|--pix-fmt"),
         ("pelton decode --device g", "pelton|decode|--device|gpu"),
         ("pelton decode --device=g", "pelton|decode|--device=gpu"),
         ("pelton pipe dem", "pelton|pipe|demo"),
         ("pelton get demo ExposureTimeM", "pelton|get|demo|ExposureTimeMode"),
         ("pelton set demo ExposureV", "pelton|set|demo|ExposureValue="),
         ("pelton decode -frames", "pelton|decode|-frames:v"),
         ("pelton probe my", "pelton|probe|my clip.mp4")]


def completed(terminal, typed):
    """The words after the tab. The line is printed instead of run, so that words with blanks are
    seen as such."""
    terminal.text = ""
    terminal.type(typed + "\t\x01printf '%s|' [ \x05 ]\n")
    found = re.search(r"\[\|(.*)\|\]\|", terminal.read(until=r"\[\|.*\|\]\|"))
    return found and found[1]


def check_shell(s, name):
    """A busy daemon gives no words in time, and a person presses the key again."""
    words, start = SHELLS[name]
    terminal = Terminal(200, words, s.env, s.folder)
    terminal.read(until="[$#%] ") # a shell throws away whatever is typed before its prompt
    terminal.type(start)
    terminal.read(until="[\r\n]ready\r?\n")
    for typed, expected in TYPED:
        good = t.wait_until(lambda: completed(terminal, typed) == expected, 2)
        check("%s: %s" % (name, typed), good, repr(terminal.text[-200:]))
    terminal.close()


def check_fish(s):
    for typed, expected in TYPED[:-1]:
        words = lambda: [l.split("\t")[0] for l in subprocess.run(
            ["fish", "--no-config", "-c",
             "pelton completion fish | source; complete -C %r" % typed],
            env=s.env, cwd=s.folder, capture_output=True, text=True,
            timeout=PATIENCE_S).stdout.splitlines()]
        check("fish: " + typed, t.wait_until(lambda: expected.split("|")[-1] in words(), 2),
              repr(words()))


def check_completion(s):
    missing = [n for n in (*SHELLS, "fish") if not shutil.which(n)]
    for name in SHELLS:
        if name not in missing:
            check_shell(s, name)
    if "fish" not in missing:
        check_fish(s)
    # without a daemon nothing is said, and soon
    start = time.monotonic()
    run = subprocess.run([s.pelton, "completion", "words", "pipe", ""], capture_output=True,
                         env={**s.env, "PELTON_SOCKET": s.folder + "/none.sock"})
    check("no daemon", (run.returncode, run.stdout, run.stderr) == (0, b":files\n", b""),
          str(run))
    check("no daemon: soon", time.monotonic() - start < t.patience(3))
    return missing


def main():
    args = t.parser(__doc__).parse_args()
    if not shutil.which("ffmpeg"):
        print("skipped: no ffmpeg")
        return t.SKIPPED
    here = os.getcwd()
    args.bin = t.binaries(os.path.abspath(args.bin))
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=s=160x96:r=25:d=1", "-c:v", "libx264", "-pix_fmt", "yuv420p",
                        d + "/clip.mp4"], check=True)
        shutil.copy(d + "/clip.mp4", d + "/my clip.mp4")
        pathlib.Path(d + "/sources.yaml").write_text(SOURCES)
        os.chdir(d)
        with t.Daemon(args, "-c", "sources.yaml") as daemon:
            os.chdir(here)
            t.warm_up(args, daemon, d + "/clip.mp4")
            s = Session(args, d, daemon.socket)
            check_columns(s)
            check_colours(s)
            check_output(s)
            check_window(s, d)
            missing = check_completion(s)
    for line in bad:
        print("FAILED", line)
    print("%d failures%s" % (len(bad), "; skipped, not installed: " + ", ".join(missing)
                             if missing else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
