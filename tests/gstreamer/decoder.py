#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""peltondec in pipelines: time stamps, memory, seeking, changes, damage, errors, ends.

Which program decodes is of no matter here, so that libavcodec may.
"""
import pathlib, subprocess, tempfile

from gsttest import Gst, Pipeline, arguments, begin, check, clip, descriptors, equal, finish, \
    fraction, mapping, planes, shown, t, text


def chain(daemon, path, *more):
    return " ! ".join((f"filesrc location={path}", "qtdemux", "h264parse",
                       f"peltondec socket={daemon.socket}", *more))


def oracle(path, pix_fmt):
    """FFmpeg's frames, and their times in ns."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt",
                          pix_fmt, "-"], capture_output=True, check=True).stdout
    times = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                            "frame=pts_time", "-of", "csv=p=0", path], capture_output=True,
                           text=True, check=True).stdout.split()
    return raw, [float(time.strip(",")) for time in times]


def check_frames(daemon, folder):
    path = clip(folder, "b.mp4", "-bf", "3", "-vf", "setsar=4/3", frames=50, size="100x60")
    raw, times = oracle(path, "yuv420p")
    with Pipeline(chain(daemon, path)) as p:
        samples = list(p.samples())
        got = b"".join(planes(s) for s in samples)
        equal(got == raw, True, f"{len(samples)} frames with B pictures equal FFmpeg's")
        stamps = [s.get_buffer().pts / Gst.SECOND for s in samples]
        start = samples[0].get_segment().start / Gst.SECOND
        off = max(abs(a - start - (b - times[0])) for a, b in zip(stamps, times))
        check(len(stamps) == len(times) and off < 1e-3,
              f"time stamps are the container's, at most {1000 * off:.3f} ms off")
        equal([text(samples[0], f) for f in ("format", "width", "height")], ["I420", 100, 60],
              "caps: format and size")
        equal([fraction(samples[0], f) for f in ("pixel-aspect-ratio", "framerate")],
              ["4/3", "25/1"], "caps: aspect ratio and rate")


def check_memory(daemon, folder):
    """The buffers are the daemon's memory, read-only; who keeps many gets copies."""
    path = clip(folder, "memory.mp4", frames=60, size="100x60")
    pipeline, buffers = shown(chain(daemon, path))
    first = mapping(buffers[0])
    check("memfd:" in first and "r--s" in first,
          "the buffer is the daemon's memory, read-only: " + first)
    theirs = sum("memfd:" in mapping(b) for b in buffers)
    equal((len(buffers), theirs), (60, 12), "all held: frames, and those that are not copies")
    ok, view = buffers[0].copy_deep().map(Gst.MapFlags.WRITE)
    check(ok, "a copy can be written")
    pipeline.set_state(Gst.State.NULL)
    del pipeline
    ok, view = buffers[0].map(Gst.MapFlags.READ)
    check(ok and len(set(view.data)) > 50, "a buffer can be read when its pipeline is gone")
    buffers[0].unmap(view)
    buffers.clear()
    check("memfd:pelton" not in open("/proc/self/maps").read(),
          "with the last buffer the mapping goes")


def check_plain(daemon, folder):
    """An element without the video meta gets rows without padding."""
    path = clip(folder, "plain.mp4", frames=6, size="104x60")
    raw, _ = oracle(path, "yuv420p")
    out = folder + "/plain.yuv"
    subprocess.run(["gst-launch-1.0", "-q", *chain(daemon, path).split(), "!", "filesink",
                    "location=" + out], check=True, timeout=t.LIMIT_S)
    check(pathlib.Path(out).read_bytes() == raw, "filesink writes FFmpeg's raw video")


def check_formats(daemon, folder):
    for pix_fmt, caps, profile in (("yuv420p10le", "I420_10LE", "high10"),
                                   ("yuv422p", "Y42B", "high422"), ("yuv444p", "Y444", "high444"),
                                   ("gray", "GRAY8", "high")):
        path = clip(folder, pix_fmt + ".mp4", "-profile:v", profile, frames=3, pix_fmt=pix_fmt)
        raw, _ = oracle(path, pix_fmt)
        with Pipeline(chain(daemon, path)) as p:
            samples = list(p.samples())
            good = samples and text(samples[0], "format") == caps
            check(good and b"".join(planes(s) for s in samples) == raw, f"{pix_fmt} is {caps}")


def check_seek(daemon, folder):
    path = clip(folder, "seek.mp4", "-g", "10", "-bf", "2", frames=100)
    with Pipeline(chain(daemon, path)) as p:
        p.sample()
        for seconds in (3, 1, 2):
            check(p.seek(seconds), f"seek to {seconds} s")
            sample = p.sample()
            segment = sample.get_segment()
            at = segment.to_stream_time(Gst.Format.TIME, sample.get_buffer().pts) / Gst.SECOND
            check(abs(at - seconds) < 0.041, f"the first frame then is that of {at:.3f} s")
        check(sum(1 for _ in p.samples()) >= 48, "and the rest follows")


def check_change(daemon, folder):
    """Two sequences of different sizes in one byte stream."""
    names = [clip(folder, f"change{i}.h264", "-bf", "2", frames=8, size=size)
             for i, size in enumerate(("96x64", "128x96"))]
    both = folder + "/change.h264"
    with open(both, "wb") as f:
        for name in names:
            f.write(open(name, "rb").read())
    with Pipeline(f"filesrc location={both} ! h264parse ! peltondec socket={daemon.socket}") as p:
        sizes = [text(s, "width") for s in p.samples()]
        equal(sizes, [96] * 8 + [128] * 8, "widths of frames across a new sequence")


def check_again(daemon, folder):
    """Up and down, also in the middle: no descriptor and no frame stays."""
    path = clip(folder, "again.h264", frames=50)
    p = Pipeline(f"filesrc location={path} ! h264parse ! peltondec socket={daemon.socket}")
    before = came = 0
    for i in range(12):
        p.pipeline.set_state(Gst.State.PLAYING)
        came += p.sample() is not None
        p.pipeline.set_state(Gst.State.NULL)
        before = before or descriptors()
    equal(came, 12, "starts that gave a frame")
    equal(descriptors(), before, "descriptors after 12 ends in the middle of a file")


def check_damage(daemon, folder):
    path = clip(folder, "damage.h264", "-x264opts", "keyint=50:slices=4", frames=20)
    data = bytearray(open(path, "rb").read())
    del data[len(data) // 2:len(data) // 2 + 400]
    open(path, "wb").write(data)
    with Pipeline(f"filesrc location={path} ! h264parse ! peltondec socket={daemon.socket}") as p:
        flags = [bool(s.get_buffer().get_flags() & Gst.BufferFlags.CORRUPTED)
                 for s in p.samples()]
        check(any(flags) and not all(flags),
              f"{sum(flags)} of {len(flags)} frames are marked as corrupted")


def check_errors(args, folder):
    path = clip(folder, "errors.mp4", frames=5)
    with Pipeline(f"filesrc location={path} ! qtdemux ! h264parse ! "
                  f"peltondec socket={folder}/nobody.sock") as p:
        error = p.error()
        check(error and "nobody.sock" in error[0], f"no daemon: {error}")
    with t.Daemon(args) as daemon:
        long = clip(folder, "long.mp4", frames=400, size="320x240")
        with Pipeline(chain(daemon, long)) as p:
            p.sample()
            daemon.process.kill()
            daemon.process.wait()
            list(p.samples())
            error = p.error()
            check(error is not None, f"daemon killed: {error}")


def main():
    args = arguments(__doc__)
    begin(args)
    with tempfile.TemporaryDirectory() as folder:
        with t.Daemon(args) as daemon:
            for step in (check_frames, check_memory, check_plain, check_formats, check_seek,
                         check_change, check_again, check_damage):
                step(daemon, folder)
        check_errors(args, folder)
    finish()


main()
