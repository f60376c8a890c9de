#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Controls that were set last: without a reader, over the death of a worker, over a reload.

  controls.py --bin build/bin
"""
import os, pathlib, signal, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import peltontest as t
from peltontest import check



class World:
    def __init__(self, args, folder):
        self.args, self.config = args, folder + "/p.yaml"
        clip = folder + "/clip.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "testsrc2=size=160x120", "-frames:v", "2", "-c:v", "libx264", "-pix_fmt",
                        "yuv420p", clip], check=True)
        self.uri = f"sim://{clip}"
        self.configure()

    def configure(self, more=""):
        with open(self.config, "w") as f:
            camera = f'{{uri: "{self.uri}", size: 160x120, fps: 25, scene_frames: 1'
            f.write(f"version: 1\nsources:\n  demo: {camera}{more}}}\n  same: {camera}{more}, "
                    f"blur: [[0, 0, 16, 16]]}}\n  other: {camera}, tone: linear}}\n")

    def pelton(self, *words):
        return subprocess.run([self.args.bin + "/pelton", *words], capture_output=True, text=True,
                              timeout=self.args.timeout)

    def get(self, name, source="demo"):
        """The values of a control; each question opens the camera and closes it."""
        out = self.pelton("get", source, name, "--socket", self.socket)
        return out.stdout.partition("=")[2].partition(" ")[0] or out.stderr

    def has_first_time(self, source="demo"):
        """The exposure of the configuration; on a busy machine it may be controlled before it is
        asked for."""
        return t.wait_until(lambda: self.get("ExposureTime", source) == "10000", 20)

    def set(self, *words):
        return self.pelton("set", "demo", *words, "--socket", self.socket)


def lasting(w, daemon):
    check(w.has_first_time(), "at first the value of the source")
    out = w.set("ExposureTime=5000", "ColourGains=1.5,2.5", "AwbEnable=false")
    check(out.returncode == 0 and out.stdout.startswith("ExposureTime=5000 ")
          and not out.stderr.count("warning: demo"), f"set: {out.stdout!r} {out.stderr!r}")
    want = {"ExposureTime": "5000", "ColourGains": "1.5,2.5", "AwbEnable": "0",
            "ExposureTimeMode": "1", "AnalogueGainMode": "0"}
    holds = lambda what: check((have := {name: w.get(name) for name in want}) == want,
                               f"{what}: {have}")
    holds("without a reader")
    killed = t.workers(daemon.process.pid)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    t.wait_until(lambda: not set(killed) & set(t.workers(daemon.process.pid)), 20)
    holds("after the death of the worker")
    out = w.pelton("reload", "--socket", w.socket)
    check("3 as before" in out.stdout, f"reload: {out.stdout!r}")
    holds("after a reload")


def names(w):
    """One camera under two names has one set of controls; one with other settings has its own."""
    out = w.pelton("set", "same", "ExposureTime=4000", "--socket", w.socket)
    have = [w.get("ExposureTime", source) for source in ("demo", "same")]
    check(out.returncode == 0 and have == ["4000", "4000"] and w.has_first_time("other"),
          f"set under another name: {have}")


def order(w):
    """The last word counts, and a mode holds the exposure that was there."""
    w.set("AeEnable=true")
    check((w.get("ExposureTimeMode"), w.get("AeEnable")) == ("0", "1"), "exposure control again")
    w.set("ExposureTime=3000", "AnalogueGain=2")
    w.set("DigitalGain=1.5")
    have = [w.get(n) for n in ("ExposureTime", "AnalogueGain", "DigitalGain", "AeEnable")]
    check(have == ["3000", "2", "1.5", "0"], f"digital gain holds time and gain: {have}")
    out = w.set("ExposureTime=1e9")
    check(out.returncode == 2 and w.get("ExposureTime") == "3000",
          "a refused value changes nothing")
    out = w.set("AeEnable=true", "AeLocked=1")
    # the camera of the last question may still be about to close
    check("AeLocked lasts while somebody reads" in out.stderr and
          t.wait_until(lambda: w.get("AeLocked") == "0", 20),
          f"a lock does not last, and set says so: {out.stderr!r}")


def ends(w):
    w.configure(", tone: linear")
    out = w.pelton("reload", "--socket", w.socket)
    check("2 changed" in out.stdout and w.has_first_time(),
          f"a changed source has its own values: {w.get('ExposureTime')}")
    out = w.pelton("set", w.uri + "?size=160x120", "ExposureTime=5000", "--device", "cpu")
    check(out.returncode == 0 and "private" in out.stderr,
          f"a private daemon says that it ends: {out.stderr!r}")


def main():
    args = t.parser(__doc__).parse_args()
    args.bin = os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory() as folder:
        w = World(args, folder)
        with t.Daemon(args, "-c", w.config) as daemon:
            w.socket = daemon.socket
            lasting(w, daemon)
            names(w)
            order(w)
            ends(w)
    sys.exit(t.finish())


main()
