#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cameras behind a media controller, made by the kernel's driver vimc, through the daemon. vivid.py
runs this in its virtual machine.

The driver's sensors show colour bars. "Sensor A" feeds "Raw Capture 0", "Sensor B" feeds "Raw
Capture 1"; both feed debayers, one of which a scaler takes ("RGB/YUV Capture"). All their formats,
links and controls are those of sub-devices.
"""
import ctypes, fcntl, glob, os, struct

import vivid
from devices import check

BARS = vivid.BARS
MEDIA_IOC_G_TOPOLOGY, VIDIOC_G_CTRL = 0xc0487c04, 0xc008561b
ENTITY, PAD, LINK = "<I64sII5I", "<IIII4I", "<IIII6I" # struct media_v2_entity, _pad, _link
HFLIP = 0x980914


def node(kind, name):
    """The device node of an entity; or None."""
    for path in glob.glob(f"/sys/class/video4linux/{kind}*/name"):
        if open(path).read().strip() == name:
            return "/dev/" + path.split("/")[-2]
    return None


def topology(path):
    """{(source entity, sink entity): flags} of the data links."""
    sizes = [struct.calcsize(f) for f in (ENTITY, "<16I16I", PAD, LINK)]
    arrays = [ctypes.create_string_buffer(256 * size) for size in sizes]
    counts = b"".join(struct.pack("<IIQ", 256, 0, ctypes.addressof(a)) for a in arrays)
    # interfaces are not looked into
    with open(path, "r+b", buffering=0) as f:
        answer = fcntl.ioctl(f, MEDIA_IOC_G_TOPOLOGY, bytes(8) + counts[:16] + bytes(16) +
                             counts[32:])
    n_entities, n_pads, n_links = (struct.unpack_from("<I", answer, 8 + 16 * i)[0]
                                   for i in (0, 2, 3))
    names = {e[0]: e[1].split(b"\0")[0].decode() for e in struct.iter_unpack(
        ENTITY, arrays[0].raw[:n_entities * sizes[0]])}
    pads = {p[0]: names[p[1]] for p in struct.iter_unpack(PAD, arrays[2].raw[:n_pads * sizes[2]])}
    return {(pads[l[1]], pads[l[2]]): l[3] for l in struct.iter_unpack(
        LINK, arrays[3].raw[:n_links * sizes[3]]) if l[3] >> 28 == 0}


def subdev_control(name, number):
    with open(node("v4l-subdev", name), "r+b", buffering=0) as f:
        return struct.unpack("Ii", fcntl.ioctl(f, VIDIOC_G_CTRL, struct.pack("Ii", number, 0)))[1]


def frames(args, daemon):
    """Formats go from the sensor to the video node; controls to the sensor."""
    size = vivid.WIDTH * vivid.HEIGHT * 3
    for name, wanted in (("plain", BARS), ("deep", BARS), ("flipped", BARS[::-1])):
        p = vivid.pipe(args, daemon, name, "rgb24", 2)
        got = vivid.bars_of(p.stdout, False) if len(p.stdout) == 2 * size else []
        worst = max((abs(a - b) for have, want in zip(got, wanted) for a, b in zip(have, want)),
                    default=999)
        check(worst <= 4, f"vimc: {name}: {len(p.stdout) // size} frames, colours differ by "
                          f"{worst} {p.stderr.decode().strip()}")
    check((subdev_control("Sensor A", HFLIP), subdev_control("Sensor B", HFLIP)) == (0, 1),
          "vimc: the flip was set on the sub-device of its sensor, and of no other")


def refusals(args, daemon, media):
    for name, code, wanted in (
        ("foreign", 5, 'no way from a sensor "Sensor B"; there is Sensor A'),
        ("unknown", 2, "no control zoom; there are"),
        ("beyond", 2, "brightness=300: from 0 to 255"),
        ("coded", 5, "no MJPG; the device has"),
        ("colours", 5, "no format that can be read; the device has"),
        ("apart", 4, "its pipe is not connected, or two pads of it disagree")):
        p = vivid.pipe(args, daemon, name, "nv12", 1)
        said = p.stderr.decode().strip()
        check(p.returncode == code and wanted in said,
              f"vimc: {name}: exit code {p.returncode}, {said.splitlines()[:1]}")
    links = topology(media)
    check((links["Debayer A", "Scaler"] & 1, links["Debayer B", "Scaler"] & 1) == (0, 1),
          "vimc: the scaler's link was taken from debayer A to debayer B, as its sensor was named")


def run(args):
    """False: the driver is not there."""
    raw = [node("video", f"Raw Capture {n}") for n in (0, 1)]
    scaled = node("video", "RGB/YUV Capture")
    media = [m for m in sorted(glob.glob("/dev/media*"))
             if open(f"/sys/bus/media/devices/{os.path.basename(m)}/model").read().strip()
             .startswith("VIMC")]
    if None in raw or not scaled or not media:
        return False
    size = f"size={vivid.WIDTH}x{vivid.HEIGHT}&tone=linear&ae.enable=no"
    address = f"v4l2://%s?{size}%s"
    with vivid.serve(args, plain=address % (raw[0], "&format=SGRBG8"),
                     deep=address % (raw[0], ""),
                     flipped=address % (raw[1], "&controls=horizontal_flip=1"),
                     foreign=address % (raw[0], "&sensor=Sensor%20B"),
                     unknown=address % (raw[0], "&controls=zoom=3"),
                     beyond=address % (raw[0], "&controls=brightness=300"),
                     coded=address % (raw[0], "&format=MJPG"),
                     colours=address % (scaled, "&sensor=Sensor%20B"),
                     apart=f"v4l2://{raw[0]}?media=off&size=640x480&format=SRGGB8") as daemon:
        frames(args, daemon)
        refusals(args, daemon, media[0])
    return True
