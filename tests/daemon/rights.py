#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who may read and who may control a source. Several users are needed: the test runs as root and is
skipped elsewhere.

  rights.py --bin build/bin
"""
import json, os, pathlib, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peltontest as t
from sockets import Programs, USER, check, failed

CONFIG = """version: 1
rights: {{control: {{users: [daemon]}}}}
sources:
  demo: {{{sim}, read: {{groups: [{readers}]}},
         control: {{groups: [audio], users: [games, 12345]}}}}
  open: {{{sim}}}
  shut: {{{sim}, read: {{users: []}}}}
"""
READING = 'reading of "demo" is allowed to group video (sources.demo.read)'
CONTROL = ('control of "demo" is allowed to users games, 12345 and group audio '
           '(sources.demo.control)')
SET = "ExposureTime=4000"


class World(Programs):
    def __init__(self, args):
        super().__init__(args, "")
        clip = self.path + "/clip.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=size=160x120", "-frames:v", "2", "-c:v", "libx264", "-pix_fmt",
                        "yuv420p", clip], check=True)
        self.sim = f'uri: "sim://{clip}", size: 160x120, fps: 25, scene_frames: 1'
        self.configure(CONFIG.format(sim=self.sim, readers="video"))
        self.socket = self.path + "/pelton.sock"

    def pelton(self, *words, **who):
        return self.run("pelton", *words, "--socket", self.socket, **who)

    def names(self, **who):
        return [s["name"] for s in json.loads(self.pelton("sources", "--json", **who).stdout)]


def reading(w):
    nobody, viewer = {"user": USER}, {"user": USER, "groups": ["video"]}
    check(w.names() == ["demo", "open", "shut"], "root sees all sources")
    check(w.names(**nobody) == ["open"], f"a list hides what may not be read: {w.names(**nobody)}")
    check(w.names(**viewer) == ["demo", "open"], "a group's member sees its sources")
    for words in (("info", "demo"), ("get", "demo"), ("pipe", "demo", "-f", "null", "-o", "-")):
        out = w.pelton(*words, **nobody)
        check(failed(out, 9, READING), f"{words[0]}: {out.returncode} {out.stderr!r}")
    out = w.pelton("info", "shut", **viewer)
    check(failed(out, 9, 'reading of "shut" is allowed to nobody (sources.shut.read)'),
          f"an empty list: {out.stderr!r}")
    for who in ({}, viewer, {"user": "games"}):
        out = w.pelton("info", "demo", **who)
        check(out.returncode == 0, f"info demo as {who}: {out.stderr!r}")


def control(w):
    for who in ({"user": USER, "groups": ["video"]}, ):
        out = w.pelton("set", "demo", SET, **who)
        check(failed(out, 9, CONTROL), f"set demo as {who}: {out.returncode} {out.stderr!r}")
        out = w.pelton("get", "demo", "ExposureTime", **who)
        check(out.returncode == 0 and not out.stdout.startswith(SET), f"and get: {out.stdout!r}")
    out = w.pelton("set", "open", SET, user=USER)
    check(failed(out, 9, 'control of "open" is allowed to user daemon (rights.control)'),
          f"the rule for all: {out.stderr!r}")
    out = w.pelton("set", "open", SET, user="daemon")
    check(out.returncode == 0, f"set open as its user: {out.stderr!r}")
    for who in ({"user": USER, "groups": ["audio"]}, {"user": "games"}, {"user": "12345"}, {}):
        out = w.pelton("set", "demo", SET, **who)
        check(out.returncode == 0 and out.stdout.startswith(SET),
              f"set demo as {who}: {out.returncode} {out.stderr!r}")


def reload(w):
    """A reader whose right is taken away ends, with the rule."""
    reader = subprocess.Popen(w.command("pelton", "pipe", "demo", "-f", "framemd5", "-o", "-",
                                        "--socket", w.socket, user=USER, groups=["video"]),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    other = subprocess.Popen(w.command("pelton", "pipe", "demo", "-f", "framemd5", "-o", "-",
                                       "--socket", w.socket, user="games"),
                             stdout=subprocess.PIPE, text=True)
    for r in (reader, other):
        while not r.stdout.readline().startswith("0,"):
            check(r.poll() is None, "reload: a frame") if r.poll() is not None else None
            if r.poll() is not None:
                return
    w.configure(CONFIG.format(sim=w.sim, readers="audio"))
    out = w.pelton("reload")
    check(out.stdout == "sources: 0 added, 0 removed, 1 changed, 2 as before\n",
          f"reload: {out.stdout!r} {out.stderr!r}")
    _, said = reader.communicate(timeout=t.LIMIT_S)
    check(reader.returncode == 9 and 'is allowed to group audio (sources.demo.read)' in said,
          f"reload: the reader: {reader.returncode} {said!r}")
    check(all(other.stdout.readline() for _ in range(10)), "reload: another one reads on")
    other.kill()
    other.communicate()


def configuration(w):
    for text, words in (("read: {groups: [no-such-group-here]}",
                         "read.groups: no-such-group-here: there is no such group"),
                        ("control: {users: \"0,,0\"}", "control.users: expected"),
                        ("raed: {users: [root]}", "did you mean read.users?"),
                        ("read: {}", "nothing is in it")):
        w.configure(f"version: 1\nsources:\n  demo: {{{w.sim}, {text}}}\n")
        out = w.run("peltond", "-c", w.path + "/p.yaml", "--check")
        check(failed(out, 2, words, "p.yaml:3:"), f"--check: {out.stderr!r}")
    w.configure(CONFIG.format(sim=w.sim, readers="video"))
    said = w.run("peltond", "-c", w.path + "/p.yaml", "--print-config").stdout
    w.configure(said)
    again = w.run("peltond", "-c", w.path + "/p.yaml", "--print-config").stdout
    check('control.groups: "audio"' in said and said == again, f"--print-config: {said[-500:]!r}")


def main():
    args = t.parser(__doc__).parse_args()
    args.bin = os.path.abspath(args.bin)
    if os.geteuid() != 0:
        print("skipped: several users are needed, run it as root")
        sys.exit(t.SKIPPED)
    w = World(args)
    daemon = subprocess.Popen([w.path + "/peltond", "-c", w.path + "/p.yaml", "--device",
                               args.device, "--socket", w.socket, "-c", "listen.unix.mode=0666"],
                              stderr=subprocess.PIPE, text=True)
    check("listening" in daemon.stderr.readline(), "the daemon listens")
    try:
        for part in (reading, control, reload, configuration):
            part(w)
    finally:
        daemon.terminate()
        daemon.communicate()
    sys.exit(t.finish())


main()
