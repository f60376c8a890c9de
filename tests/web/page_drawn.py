#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A simulated Bayer camera in the page, in Chromium: the daemon encodes it, WebCodecs decodes it,
and the page draws it. The number in each drawn picture is read back, and tells how old it is. The
worker is killed, and pictures come again. Skipped without Chromium, Node or npm's registry.

  page_drawn.py [--size WxH] [--seconds N]
"""
import pathlib, sys, tempfile, threading, time
import webtest as w
from browser import Browser, packages, parser, shown

sys.path[:0] = [str(w.t.ROOT / "tests/daemon"), str(w.t.ROOT / "python")]
import numbered, pelton

RATE = 10
CLEAR = range(8, 24) # pictures that do not come twice within 16
P50_MS, AGAIN_S = 60, 1


class Camera(threading.Thread):
    """When pictures were captured: [(ms since 1970, number, epoch)], from the daemon's frames."""

    def __init__(self, socket):
        super().__init__(daemon=True)
        self.stream = pelton.open("source:cam", socket=socket, policy="latest", pix_fmt="gray")
        self.seen, self.over = [], False
        self.start()

    def run(self):
        since = time.time_ns() - time.monotonic_ns()
        while not self.over and (f := self.stream.read(w.t.patience(30))):
            self.seen.append(((f.received_ns + since) / 1e6, numbered.number_of(f.planes[0]),
                              f.epoch))
            f.close()

    def end(self):
        self.over = True
        self.join(w.t.patience(30))
        self.stream.close()


def ages(drawn, captured):
    """Of each number that was drawn, since its last capture before."""
    found = []
    for at, number in drawn:
        before = [c for c, n, _ in captured if n == number and c <= at]
        if number in CLEAR and before:
            found.append(at - before[-1])
    return sorted(found)


def young(b, daemon, args):
    stretch, camera = w.t.Stretch(), Camera(daemon.socket)
    w.t.wait_until(lambda: len(camera.seen) > 10, 30)
    b.watched()
    time.sleep(args.seconds)
    drawn = b.watched()
    camera.end()
    found = ages(drawn, camera.seen)
    p50, p99 = (found[len(found) // 2], found[len(found) * 99 // 100]) if found else (1e9, 1e9)
    w.check(bool(found), f"{len(drawn)} pictures are drawn in {args.seconds:.0f} s")
    w.t.check_time(w.check, len(drawn) > 2 * args.seconds and len(found) > 5, stretch,
                   f"their ages are known of {len(found)}")
    w.t.check_time(w.check, p50 <= P50_MS, stretch, f"{args.size}, {RATE} a second: drawn "
                   f"{p50:.1f} ms after the capture, 99 of 100 at most {p99:.1f} ms")


def killed(b, daemon):
    stretch, camera = w.t.Stretch(), Camera(daemon.socket)
    w.t.wait_until(lambda: camera.seen, 30)
    for worker in w.t.workers(daemon.process.pid):
        w.subprocess.run(["kill", "-9", str(worker)], check=True)
    began = 1000 * time.time()
    drawn, new = [], []

    def goes_on():
        """Pictures that were captured by the next worker."""
        drawn.extend(b.watched())
        seen = [s for s in camera.seen if s[2] > camera.seen[0][2]]
        new[:] = [at for at, number in drawn
                  if any(number == n and c <= at for c, n, _ in seen)]
        return len(new) > 3

    w.check(w.t.wait_until(goes_on, 60) and shown(b), "worker killed: pictures again")
    camera.end()
    again = (new[0] - began) / 1000 if new else 1e9
    w.t.check_time(w.check, again <= AGAIN_S, stretch, f"worker killed: after {again:.2f} s")


def tour(b, web, daemon, args):
    b.open(url=web.url("/#cam"))
    b.wait_for("#kinds")
    w.check(w.t.wait_until(lambda: not b.hidden("#picture"), 20),
            "without a GPU the page begins with pictures")
    b.click("#kinds label:first-of-type")
    w.check(w.t.wait_until(lambda: not b.hidden("#drawn"), 20) and shown(b),
            "H.264 of the camera is drawn")
    b.watch("#drawn")
    time.sleep(1)
    young(b, daemon, args)
    light = b.wait_for("#mean", r"\d", 20)
    w.check(bool(light), f"exposure beside H.264: mean {light}")
    killed(b, daemon)
    w.check(b.faults() == [], f"the page's script and policy: {b.faults()}")


def main():
    p = parser(__doc__)
    p.add_argument("--size", default="160x96")
    p.add_argument("--seconds", type=float, default=12)
    args = p.parse_args()
    there = packages(args.packages)
    width, height = map(int, args.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        clip = numbered.make(args, folder + "/numbered.mp4", width, height)
        config = pathlib.Path(folder + "/config.yaml")
        config.write_text("version: 1\nsources:\n"
                          f'  cam: {{uri: "sim://{clip}", fps: {RATE}, scene_frames: 32}}\n')
        with w.t.Daemon(args, "-c", str(config)) as daemon, w.Web(
                args, daemon.socket) as web, Browser(there, args.all) as b:
            tour(b, web, daemon, args)
    w.finish()


main()
