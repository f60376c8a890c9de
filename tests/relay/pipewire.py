#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton-pipewire before a real PipeWire with its session manager, read by GStreamer: pixels of
each format, readers that go, a PipeWire that starts anew, a source that is lost or changes its
size. Skipped where the build has no PipeWire, or a program is missing.

  pipewire.py NAME...
"""
import json, os, pathlib, shutil, signal, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check
import pictures

W, H, FRAMES = 96, 64, 8
PROGRAMS = {"pipewire": "pipewire", "wireplumber": "wireplumber",
            "dbus-run-session": "dbus-daemon", "gst-launch-1.0": "gstreamer1.0-tools",
            "pw-dump": "pipewire-bin"}
NAMES = {"YU12": "I420", "YUYV": "YUY2", "RGB3": "RGB", "GREY": "GRAY8", "NV12": "NV12"}


class PipeWire:
    """A PipeWire of this test alone: its socket, its session bus and its settings lie in a folder.
    """

    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "XDG_RUNTIME_DIR": folder, "HOME": folder,
                    "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        for name in ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "PIPEWIRE_REMOTE"):
            self.env.pop(name, None)
        self.processes = []

    def run(self, *command):
        log = open(self.folder + "/" + command[-1] + ".log", "w")
        self.processes.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL,
                                               stdout=log, stderr=log, start_new_session=True))

    def start(self):
        """The session manager ends where PipeWire does not answer yet. One that was killed leaves
        its socket, so that tells nothing."""
        self.run("pipewire")
        check(t.wait_until(lambda: self.names("Core", "core.name"), 10), "PipeWire answers")
        self.run("dbus-run-session", "wireplumber")
        check(t.wait_until(lambda: "WirePlumber" in self.names("Client", "application.name"), 10),
              "its session manager is there")

    def names(self, kind, key):
        """A property of each object of that kind."""
        said = subprocess.run(["pw-dump"], env=self.env, capture_output=True, text=True,
                              timeout=t.LIMIT_S).stdout
        try:
            return [o["info"]["props"].get(key) for o in json.loads(said or "[]")
                    if o["type"] == "PipeWire:Interface:" + kind]
        except ValueError:
            return [] # it is going

    def nodes(self):
        return self.names("Node", "node.name")

    def stop(self, how=signal.SIGTERM):
        for p in reversed(self.processes):
            os.killpg(p.pid, how)
            p.wait()
        self.processes = []


class Node:
    """A pelton-pipewire."""

    def __init__(self, args, wire, socket, source, *words):
        self.name = "pelton-" + source
        self.log = open(wire.folder + "/node.log", "w")
        self.process = subprocess.Popen([args.bin + "/pelton-pipewire", source, "--socket", socket,
                                         *words], env=wire.env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        self.wire = wire

    def said(self):
        return open(self.log.name).read()

    def until(self, what):
        return t.wait_until(lambda: what() or self.process.poll() is not None, 10)

    def __enter__(self):
        self.until(lambda: self.name in self.wire.nodes())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(t.patience(10))
        check(code == 143, f"{self.name} ends by SIGTERM: {code}")

    def read(self, frames, form=""):
        """Bytes that GStreamer's pipewiresrc gets, and its words."""
        out = self.wire.folder + "/out.raw"
        caps = ["!", "video/x-raw" + (",format=" + form if form else "")]
        run = subprocess.run(["gst-launch-1.0", "-q", "pipewiresrc", "target-object=" + self.name,
                              f"num-buffers={frames}", *caps, "!", "filesink", "location=" + out],
                             env=self.wire.env, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=t.patience(20))
        data = pathlib.Path(out).read_bytes()
        os.remove(out)
        return data, run.stderr.strip()[-200:]


def readers(args, d, name):
    """(state, readers) of a source."""
    said = subprocess.run([args.bin + "/pelton", "sources", "--json", "--socket", d.socket],
                          capture_output=True, text=True, timeout=t.LIMIT_S).stdout
    return next((s["state"], s["readers"]) for s in json.loads(said) if s["name"] == name)


def formats(args, wire, d):
    """The source is read from its start by each reader, and closed between them."""
    wanted = pictures.planes(args, W, H)
    with Node(args, wire, d.socket, "clip") as node:
        for fourcc, form in NAMES.items():
            frames = [pictures.packed(fourcc, *w) for w in wanted]
            data, said = node.read(FRAMES, form)
            places = pictures.places(pictures.cut(data, len(frames[0])), frames)
            check(len(places) == FRAMES and pictures.in_order(places),
                  f"{form}: frames {places} of the clip {said}")
            closed = node.until(lambda: readers(args, d, "clip")[1] == 0)
            check(closed and node.process.poll() is None, "nobody reads: the source rests")
        told = lambda: (node.said().count("is read"), node.said().count("nobody reads"))
        check(t.wait_until(lambda: told() == (len(NAMES), len(NAMES)), 5),
              f"its words: {node.said().splitlines()[-2:]}")


def restarts(args, wire, d):
    """It waits for a PipeWire that is not there yet, and comes back with it."""
    wire.stop()
    node = Node(args, wire, d.socket, "cam")
    node.until(lambda: "no PipeWire answers" in node.said())
    wire.start()
    with node:
        first, said = node.read(4, "I420")
        wire.stop(signal.SIGKILL)
        node.until(lambda: "PipeWire has gone; waiting" in node.said())
        wire.start()
        t.wait_until(lambda: node.name in wire.nodes(), 10)
        second, more = node.read(4, "I420")
        size = 64 * 48 * 3 // 2
        check(len(first) == len(second) == 4 * size and node.process.poll() is None,
              f"restarts: {len(first) // size} and {len(second) // size} frames {said} {more} "
              f"{node.said()!r}")


def lost(args, wire, d):
    """A camera that is unplugged while it is read, and a daemon that is killed."""
    with Node(args, wire, d.socket, "shy") as node:
        data, said = node.read(40, "I420")
        check(len(data) == 40 * 64 * 48 * 3 // 2 and "waiting" in node.said()
              and "frames come" in node.said(), f"lost: {len(data)} bytes {said} {node.said()!r}")


def changes(args, wire, d):
    """A camera that becomes larger: the next reader gets that."""
    with Node(args, wire, d.socket, "cam") as node:
        args.configure(cam="80x48")
        d.process.send_signal(signal.SIGHUP)
        t.wait_until(lambda: node.read(10) and "80x48" in node.said(), 10)
        data, said = node.read(4, "NV12")
        check(len(data) == 4 * 80 * 48 * 3 // 2, f"changes: {len(data)} bytes {said} "
              f"{node.said()!r}")


def refused(args, wire, d):
    for words, code, cause in (((), 2, "no source is named"), (("cam", "more"), 2, "unexpected"),
                               (("nobody", "--socket", d.socket), 4, "no source of this name")):
        out = subprocess.run([args.bin + "/pelton-pipewire", *words], env=wire.env,
                             capture_output=True, text=True, timeout=t.LIMIT_S)
        check(out.returncode == code and cause in out.stderr and "hint:" in out.stderr,
              f"refused: {words} {out.stderr!r}")


TESTS = {f.__name__: f for f in (formats, restarts, lost, changes, refused)}


def skip(why):
    print("skipped:", why)
    sys.exit(t.SKIPPED)


def main():
    p = t.parser(__doc__)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    if not os.path.exists(args.bin + "/pelton-pipewire"):
        skip("the build has no PipeWire (libpipewire-0.3-dev)")
    for program, package in PROGRAMS.items():
        if not shutil.which(program):
            skip(f"no {program} here ({package})")
    if subprocess.run(["gst-inspect-1.0", "pipewiresrc"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        skip("no pipewiresrc here (gstreamer1.0-pipewire)")
    with tempfile.TemporaryDirectory() as folder:
        pictures.sources(args, folder, W, H)
        wire = PipeWire(folder)
        wire.start()
        try:
            with t.Daemon(args, "-c", args.configuration) as d:
                for name in args.names or TESTS:
                    TESTS[name](args, wire, d)
        finally:
            wire.stop()
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
