#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A camera behind a media controller made of ioctls (v4l2_shim_media.c), through the daemon: links,
formats of pads, exposure in lines, gain and rate on the sensor's sub-device; what can be wrong.
vimc.py tests the kernel's own.

  media.py NAME...
"""
import os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import devices, peltontest as t
from devices import check, log

WIDTH, HEIGHT = 64, 48
SRGGB10, SRGGB8, RGB = 0x300f, 0x3014, 0x100a
PIXEL_RATE, HBLANK, LINES = 20000000, 360, 240 # the shim's sensor
LINE_US = (WIDTH + HBLANK) * 1e6 / PIXEL_RATE
# sensor > receiver > video node; the first link is off
ENTITIES = ("1 sensor subdev 1 > imx219 10-0010", "2 other subdev 2 <> csi2",
            "3 other video 0 < cam")
LINKS = ("1 0 2 0 0", "2 1 3 0 3")


def write(path, lines):
    with open(path + ".new", "w") as f:
        f.writelines(line + "\n" for line in lines)
    os.replace(path + ".new", path)


class Camera:
    """A folder with its nodes."""

    def __init__(self, args, folder, name):
        self.args, self.home = args, f"{folder}/{name}"
        os.mkdir(self.home)
        self.path = self.home + "/video0"
        self.build()

    def build(self, entities=ENTITIES, links=LINKS, media=(), sensor=(), bridge=(), **keys):
        devices.describe(self.path, **{"media": 1, "number": 0, "formats": "RGGB", "depth": 8,
                                       "width": WIDTH, "height": HEIGHT, "fps": 30, "light": 0.05,
                                       **keys})
        write(self.home + "/media0", [f"entity={e}" for e in entities] +
              [f"link={l}" for l in links] + list(media))
        write(self.home + "/v4l-subdev0", ["number=2", f"codes={SRGGB8:#x}", *bridge])
        write(self.home + "/v4l-subdev1", ["number=1", f"codes={SRGGB8:#x}", "sensor=1", *sensor])

    def heard(self, node):
        return log(f"{self.home}/{node}")

    def watch(self, keys, *more):
        """Frames that a reader sees, and what it prints of a failure."""
        command = [self.args.bin + "/camera_watch", *more, f"v4l2://{self.path}?{keys}"]
        p = subprocess.run(command, capture_output=True, text=True,
                           env=devices.environment(self.args, self.home), timeout=self.args.timeout)
        return ([l.split() for l in p.stdout.splitlines() if l.startswith("frame")],
                p.stdout + p.stderr)

    def refused(self, keys=""):
        """Exit code and first line."""
        command = [self.args.bin + "/pelton", "pipe", "--device", "cpu", "-loglevel", "error",
                   f"v4l2://{self.path}?{keys}", "-f", "rawvideo", "--pix-fmt", "gray",
                   "-frames:v", "1"]
        p = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                           env=devices.environment(self.args, self.home), timeout=self.args.timeout)
        return p.returncode, (p.stderr.decode().splitlines() or [f"{len(p.stdout)} bytes"])[0]


SIZE = f"size={WIDTH}x{HEIGHT}"


def exposure(args, folder):
    """Set on the sub-device, in its units, with its effect on the frames."""
    camera = Camera(args, folder, "exposure")
    frames, said = camera.watch(SIZE, "--frames", "20", "--set", "ExposureTime=3000",
                                "--set", "AnalogueGain=2")
    lines = round(3000 / LINE_US)
    sensor = camera.heard("v4l-subdev1")
    check(set(camera.heard("media0")) == {"enable 0"}, f"exposure: links: {camera.heard('media0')}")
    check(sensor[:2] == [f"code {SRGGB8}", f"width {WIDTH}"] and
          camera.heard("v4l-subdev0")[:4] == sensor[:2] * 2,
          f"exposure: formats of the sensor {sensor[:2]}, of the receiver "
          f"{camera.heard('v4l-subdev0')[:4]}")
    check(f"exposure {lines}" in sensor and "gain 128" in sensor,
          f"exposure: 3 ms are {lines} lines and gain 2 is 128: {sensor[-2:]}")
    last = frames[-1] if frames else []
    check(len(frames) == 20 and abs(float(last[2]) - lines * LINE_US) < 0.01
          and abs(float(last[3]) - 2) < 1e-3,
          f"exposure: {len(frames)} frames, the last with {last[2:4]} {'' if frames else said}")
    # light 0.05: 1 ms at gain 1 gives 5 % in the middle
    wanted = 0.05 * lines * LINE_US / 1000 * 2
    check(bool(frames) and abs(float(last[5]) / wanted - 1) < 0.2,
          f"exposure: mean of the frames {last[5:6]}, of the light {wanted:.3f}")


def control(args, folder):
    """Exposure control through the sub-device converges; the rate comes of blank lines."""
    camera = Camera(args, folder, "control")
    frames, said = camera.watch(SIZE + "&fps=50&ae.target=0.3", "--frames", "40")
    blank = round(1e6 / (50 * LINE_US) - HEIGHT)
    check(f"vblank {blank}" in camera.heard("v4l-subdev1"),
          f"control: 50 fps are {blank} blank lines: "
          f"{[l for l in camera.heard('v4l-subdev1') if 'vblank' in l]}")
    states = [f[7] for f in frames]
    check(len(frames) == 40 and states[-1] == "converged"
          and abs(float(frames[-1][5]) / 0.3 - 1) < 0.15,
          f"control: {len(frames)} frames, {states[-1:]}, mean {frames[-1][5] if frames else said}")


def choices(args, folder):
    """Two sensors, links that are taken away, a receiver that makes 8 bits of 10."""
    camera = Camera(args, folder, "choices")
    both = (*ENTITIES, "4 sensor subdev 3 > ov5647 10-0036")
    links = (LINKS[0], LINKS[1], "4 0 2 0 1")
    camera.build(entities=both, links=links)
    code, line = camera.refused(SIZE + "&sensor=imx219%2010-0010")
    check(code == 0 and camera.heard("media0") == ["disable 2", "enable 0"],
          f"choices: the other sensor: {camera.heard('media0')} {line}")
    camera.build(entities=both, links=(LINKS[0], LINKS[1], "4 0 2 0 0"))
    for keys, wanted in (("", "several sensors could be connected: imx219 10-0010, ov5647 10-0036"),
                         ("sensor=imx290", 'no way from a sensor "imx290"; there is imx219')):
        code, line = camera.refused(keys)
        check(code == 5 and wanted in line, f"choices: {keys}: exit code {code}, {line}")
    devices.forget(camera.home + "/media0")
    camera.build()
    code, line = camera.refused(SIZE + "&media=off")
    check(code == 4 and "its pipe is not connected" in line and not camera.heard("media0"),
          f"choices: media=off: exit code {code}, {line}")
    camera.build(sensor=[f"codes={SRGGB10:#x}"])
    code, line = camera.refused(SIZE)
    check(code == 0, f"choices: the sensor gives 10 bits, the receiver 8 of them: {code} {line}")


def refusals(args, folder):
    camera = Camera(args, folder, "refusals")
    cases = (
        (dict(entities=("1 other subdev 1 <> csi2", ENTITIES[2]), links=("1 1 3 0 1",)), 5,
         "no sensor behind cam"),
        (dict(links=("1 0 2 0 2", LINKS[1])), 5, "no sensor behind cam"),
        (dict(entities=(*ENTITIES, "4 sensor subdev 3 > other"), links=(*LINKS, "4 0 2 0 3"),
              keys="sensor=imx219%2010-0010"), 5, "the link from other to csi2 is immutable"),
        (dict(media=["busy=1"]), 4,
         "the link from imx219 10-0010 to csi2 cannot be enabled: a pipe that uses it is running"),
        (dict(bridge=[f"takes={RGB:#x}"]), 5,
         f"csi2 (pad 0) refuses SRGGB8 at {WIDTH}x{HEIGHT}, it takes code 0x100a at "),
        (dict(sensor=["size=96x64"]), 5,
         "asked for 64x48, the pipe from imx219 10-0010 gives 96x64"),
        (dict(media=["lie=counts"]), 4, "its graph is larger than any known one"),
        (dict(media=["lie=pads"]), 4, "its graph has a pad of no entity or no direction"),
        (dict(media=["lie=links"]), 4, "its graph has a link to nothing"),
        (dict(media=["refused=1"]), 9, "the media device behind it belongs to another user"),
        (dict(sensor=["refused=1"]), 9, "the sub-device of imx219 10-0010 (81:1) cannot be opened"),
        (dict(sensor=["number=9"]), 4, "the sub-device of imx219 10-0010 (81:1) cannot be opened"),
        (dict(number=7), 4, "no media device with this video node"),
        (dict(formats="AB24"), 5, "no format that can be read; the device has AB24"))
    for case, wanted_code, wanted in cases:
        keys = case.pop("keys", "")
        camera.build(**case)
        code, line = camera.refused(SIZE + "&" * bool(keys) + keys)
        check(code == wanted_code and wanted in line, f"refusals: exit code {code}, {line}")


def libcamera(args, folder):
    """A camera that libcamera does not know; a build without libcamera says so."""
    version = subprocess.run([args.bin + "/peltond", "--version"], capture_output=True, text=True,
                             timeout=args.timeout).stdout.splitlines()[1]
    p = subprocess.run([args.bin + "/pelton", "pipe", "--device", "cpu", "-loglevel", "error",
                        "libcamera:///base/nosuch?size=64x48", "-f", "rawvideo"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=args.timeout)
    absent = version == "libcamera: not in this build"
    wanted = (5, "/base/nosuch: this build has no libcamera") if absent else (
        4, "/base/nosuch: libcamera knows no camera of this name")
    check(p.returncode == wanted[0] and wanted[1] in p.stderr,
          f"libcamera: {version}: exit code {p.returncode}, {p.stderr.splitlines()[:1]}")


TESTS = {f.__name__: f for f in (exposure, control, choices, refusals, libcamera)}


def main():
    p = t.parser(__doc__)
    p.add_argument("--preload", default="")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    print("seed", t.SEED)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        args.folder = os.path.realpath(folder)
        for name in args.names or TESTS:
            TESTS[name](args, args.folder)
        for report in pathlib.Path(args.folder).glob("asan.*"):
            check(False, "AddressSanitizer: " + report.read_text())
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
