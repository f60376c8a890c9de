#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton-v4l2 before a device that is made of ioctls (v4l2_sink_shim.c): pixels of each format, by
write() and by buffers; sizes that change or are kept; a daemon and a device that go; devices that
are none.

  v4l2.py NAME...
"""
import os, pathlib, signal, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check
import pictures

W, H, FRAMES = 96, 64, 12


def describe(path, **keys):
    pathlib.Path(path + ".new").write_text("".join(f"{k}={v}\n" for k, v in keys.items()))
    os.replace(path + ".new", path)


def kept(path):
    """The pictures that the device got: (width, height, fourcc, stride, bytes)."""
    data, out = pathlib.Path(path + ".frames"), []
    data = data.read_bytes() if data.exists() else b""
    while data:
        line, data = data.split(b"\n", 1)
        width, height, fourcc, stride, size = line.split()
        if len(data) < int(size):
            break # being written
        out.append((int(width), int(height), fourcc.decode(), int(stride), data[:int(size)]))
        data = data[int(size):]
    return out


class Relay:
    """A pelton-v4l2 on a device of its own."""

    def __init__(self, args, socket, source, *words, **keys):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name + "/video10"
        describe(self.path, **keys)
        env = {**os.environ, "V4L2_SINK": self.path, "LD_PRELOAD": args.bin + "/v4l2_sink_shim.so"}
        self.log = open(self.folder.name + "/log", "w")
        self.process = subprocess.Popen([args.bin + "/pelton-v4l2", source, self.path, "--socket",
                                         socket, *words], env=env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)

    def said(self):
        return open(self.log.name).read()

    def until(self, what):
        t.wait_until(lambda: what() or self.process.poll() is not None, 10)

    def got(self, n=1):
        self.until(lambda: len(kept(self.path)) >= n)
        return kept(self.path)

    def ended(self):
        return self.process.wait(t.patience(10)), self.said()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def formats(args, d, wanted):
    for fourcc, keys in (("YU12", {}), ("YU12", {"stream": 1}), ("NV12", {"align": 64}),
                         ("NV12", {"stream": 2}),
                         ("YUYV", {}), ("YUYV", {"stream": 1, "align": 256}), ("RGB3", {}),
                         ("GREY", {"align": 128})):
        with Relay(args, d.socket, "clip", "--frames", str(FRAMES), formats=fourcc, **keys) as r:
            code, said = r.ended()
            got = [pictures.tight(p) for p in kept(r.path)]
            places = pictures.places(got, [pictures.packed(fourcc, *w) for w in wanted])
            check(code == 0 and len(got) == FRAMES and pictures.in_order(places),
                  f"{fourcc} {keys}: frames {places} of the clip {said.strip()[-150:]!r}")


def choice(args, d, wanted):
    """By preference of those that it lists; as asked for; what it lists not."""
    for words, listed, fourcc in (((), "RGB3,YUYV,NV12", "NV12"), ((), "GREY,YUYV", "YUYV"),
                                  (("--format", "grey"), "YU12,GREY", "GREY"),
                                  (("--format", "rgb3"), "YUYV", "YUYV")):
        with Relay(args, d.socket, "clip", *words, formats=listed) as r:
            got = r.got()
            check(got and got[0][2] == fourcc, f"{listed} {words}: {got[:1] and got[0][2]}")
    with Relay(args, d.socket, "clip", formats="MJPG") as r:
        code, said = r.ended()
        check(code == 5 and "none of yu12" in said and "hint:" in said, f"MJPG alone: {said!r}")


def kept_format(args, d, wanted):
    """A device that others read keeps its format: the daemon scales; a camera cannot."""
    with Relay(args, d.socket, "clip", "--frames", "3", formats="YU12,NV12",
               kept="48x32 NV12") as r:
        code, said = r.ended()
        small = pictures.decoded(args, d, args.clip, "-s", "48x32", "--pix-fmt", "nv12")
        got = [p[4] for p in kept(r.path)]
        places = pictures.places(got, pictures.cut(small, 48 * 32 * 3 // 2))
        check(code == 0 and len(got) == 3 and pictures.in_order(places)
              and "stays at 48x32 NV12" in said, f"kept: frames {places} {said!r}")
    with Relay(args, d.socket, "cam", formats="YU12", kept="48x32 YU12") as r:
        code, said = r.ended()
        check(code in (2, 5) and "hint:" in said and not kept(r.path),
              f"kept, of a camera: exit code {code} {said!r}")


def changes(args, d, wanted):
    """A source that becomes larger."""
    with Relay(args, d.socket, "cam", formats="YU12") as r:
        r.got(3)
        args.configure(cam="80x48")
        d.process.send_signal(signal.SIGHUP)
        sizes = lambda: {p[:2] for p in kept(r.path)}
        r.until(lambda: len(sizes()) == 2)
        check(sizes() == {(64, 48), (80, 48)}, f"changes: sizes {sizes()} {r.said()!r}")
    args.configure(cam="64x48")
    d.process.send_signal(signal.SIGHUP)


def restarts(args, d, wanted):
    """Without a daemon it waits; it outlives one that is killed."""
    with tempfile.TemporaryDirectory() as folder:
        socket = folder + "/sock"
        command = [args.bin + "/peltond", "--socket", socket, "--device", "libavcodec", "-c",
                   args.configuration]
        daemon = lambda: subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL)
        with Relay(args, socket, "cam", formats="YU12") as r:
            r.until(lambda: "waiting" in r.said())
            p = daemon()
            first = len(r.got())
            p.kill()
            p.wait()
            r.until(lambda: r.said().count("waiting") == 2)
            before = len(kept(r.path))
            p = daemon()
            after = len(r.got(before + 3))
            check(first and after >= before + 3 and r.process.poll() is None,
                  f"restarts: {before} frames, then {after} {r.said()!r}")
            p.terminate()
            p.wait()


def ends(args, d, wanted):
    with Relay(args, d.socket, "cam", formats="YU12") as r:
        r.got(2)
        r.process.send_signal(signal.SIGTERM)
        code, said = r.ended()
        check(code == 143 and "frames to" in said, f"SIGTERM: {code} {said!r}")
    with Relay(args, d.socket, "cam", formats="YU12") as r:
        r.got(2)
        describe(r.path, formats="YU12", gone=1)
        code, said = r.ended()
        check(code == 4 and "no more pictures: No such device" in said, f"gone: {said!r}")
    with Relay(args, d.socket, "clip", "--frames", "2", formats="YU12", slow=1) as r:
        r.until(lambda: "YU12" in r.said())
        t.time.sleep(1)
        describe(r.path, formats="YU12")
        code, said = r.ended()
        check(code == 0 and ", 0 left out" not in said, f"slow: {said!r}")


def refused(args, d, wanted):
    for source, keys, code, cause in (
            ("cam", {"formats": "YU12", "busy": 1}, 4, "is busy"),
            ("cam", {"camera": 1}, 4, "it is a camera"),
            ("cam", {"gone": 1}, 4, "no such device"),
            ("nobody", {"formats": "YU12"}, 4, "no source of this name")):
        with Relay(args, d.socket, source, **keys) as r:
            got, said = r.ended()
            check(got == code and cause in said and "\nhint: " in said,
                  f"refused: {source} {keys}: {got} {said!r}")
    out = subprocess.run([args.bin + "/pelton-v4l2", "cam", "/dev/null"], capture_output=True,
                         text=True, timeout=t.LIMIT_S)
    check(out.returncode == 4 and "no V4L2 device" in out.stderr, f"/dev/null: {out.stderr!r}")


TESTS = {f.__name__: f for f in (formats, choice, kept_format, changes, restarts, ends, refused)}


def main():
    p = t.parser(__doc__)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures.sources(args, folder, W, H)
        with t.Daemon(args, "-c", args.configuration) as d:
            wanted = pictures.planes(args, W, H)
            for name in args.names or TESTS:
                TESTS[name](args, d, wanted)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
