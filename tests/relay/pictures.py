# SPDX-License-Identifier: BSD-2-Clause
"""Pictures that relays are to give, made of the clip's planes by hand; and the daemon's sources."""
import subprocess

import numpy
import peltontest as t


def sources(args, folder, width, height):
    """A clip and a simulated camera, in args.clip and args.configuration; args.configure changes
    the camera's size."""
    args.clip, args.configuration = folder + "/clip.mp4", folder + "/config.yaml"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s={width}x{height}:r=50:d=4", "-pix_fmt", "yuv420p", "-c:v",
                    "libx264", "-g", "25", args.clip], check=True)

    def configure(cam):
        with open(args.configuration, "w") as f:
            sim = f"uri: \"sim://{args.clip}\", fps: 50"
            f.write(f"version: 1\nsources:\n  clip: {{uri: \"{args.clip}\"}}\n"
                    f"  cam: {{{sim}, size: {cam}}}\n"
                    f"  shy: {{{sim}, size: 64x48, lost_at: 15}}\n")

    args.configure = configure
    configure("64x48")


def cut(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def decoded(args, d, path, *words):
    """Raw frames of the daemon."""
    return subprocess.run([args.bin + "/pelton", "decode", "--socket", d.socket, "-loglevel",
                           "error", "-i", path, *words, "-f", "rawvideo", "-"], check=True,
                          capture_output=True, timeout=t.LIMIT_S).stdout


def raw(args, pix_fmt):
    return subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", args.clip, "-pix_fmt",
                           pix_fmt, "-f", "rawvideo", "-"], check=True, capture_output=True).stdout


def planes(args, width, height):
    """Y, Cb, Cr of each frame, as FFmpeg decodes it, and its R, G, B as the daemon gives them."""
    array = lambda b, w: numpy.frombuffer(b, numpy.uint8).reshape(-1, w)
    luma, chroma = width * height, width * height // 4
    with t.Daemon(args) as d:
        rgb = cut(decoded(args, d, args.clip, "--pix-fmt", "rgb24"), 3 * luma)
    return [(array(f[:luma], width), array(f[luma:luma + chroma], width // 2),
             array(f[luma + chroma:], width // 2), array(r, 3 * width))
            for f, r in zip(cut(raw(args, "yuv420p"), luma + 2 * chroma), rgb)]


def packed(fourcc, y, cb, cr, rgb):
    """The bytes of a picture without padding."""
    if fourcc == "YU12":
        return y.tobytes() + cb.tobytes() + cr.tobytes()
    if fourcc == "NV12":
        return y.tobytes() + numpy.dstack((cb, cr)).tobytes()
    if fourcc == "YUYV":
        twice = lambda c: c.repeat(2, 0)
        return numpy.dstack((y[:, ::2], twice(cb), y[:, 1::2], twice(cr))).tobytes()
    return y.tobytes() if fourcc == "GREY" else rgb.tobytes()


def tight(picture):
    """The same of a picture that a device got."""
    width, height, fourcc, stride, data = picture
    rows = lambda at, n, used, step: b"".join(data[at + i * step:][:used] for i in range(n))
    used = {"YUYV": 2, "RGB3": 3}.get(fourcc, 1) * width
    out, end = rows(0, height, used, stride), height * stride
    if fourcc == "NV12":
        out += rows(end, height // 2, used, stride)
    if fourcc == "YU12":
        out += rows(end, height, used // 2, stride // 2) # Cb, then Cr
    return out


def places(got, wanted):
    """The number of each picture among those wanted; -1: it is none of them."""
    number = {bytes(w): i for i, w in enumerate(wanted)}
    return [number.get(bytes(g), -1) for g in got]


def in_order(numbers):
    return all(n >= 0 for n in numbers) and numbers == sorted(set(numbers))
