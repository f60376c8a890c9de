#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""peltonsrc in pipelines: cameras and files, what the next element wants, clock, loss, errors.

Which program decodes is of no matter here, so that libavcodec may.
"""
import os, subprocess, tempfile, time

from gsttest import Gst, Pipeline, arguments, begin, check, clip, descriptors, equal, finish, \
    fraction, mapping, planes, t, text


def configuration(folder):
    """A camera."""
    name = folder + "/pelton.yaml"
    scene = clip(folder, "scene.mp4", frames=25, size="160x120")
    with open(name, "w") as f:
        f.write("version: 1\nsources:\n"
                f"  cam: {{uri: \"sim://{scene}\", size: 160x120, fps: 25}}\n")
    return name


def source(daemon, name, *more):
    return " ! ".join((f"peltonsrc socket={daemon.socket} source={name}", *more))


def file(daemon, path, *more):
    return " ! ".join((f"peltonsrc socket={daemon.socket} location={path}", *more))


def check_file(daemon, folder):
    path = clip(folder, "file.mp4", "-bf", "2", frames=50, size="100x60")
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-"],
                         capture_output=True, check=True).stdout
    with Pipeline(file(daemon, path)) as p:
        samples = list(p.samples())
        check(b"".join(planes(s) for s in samples) == raw, f"{len(samples)} frames are FFmpeg's")
        equal([s.get_buffer().pts for s in samples], [i * Gst.SECOND // 25 for i in range(50)],
              "time stamps of a file")
        equal(fraction(samples[0], "framerate"), "25/1", "frame rate of a file")
        ok, duration = p.pipeline.query_duration(Gst.Format.TIME)
        check(ok and duration == 2 * Gst.SECOND, f"duration {duration} ns")
    with Pipeline(file(daemon, path)) as p:
        p.sample()
        for seconds in (1.2, 0.4):
            p.seek(seconds)
            pts = p.sample().get_buffer().pts / Gst.SECOND
            check(abs(pts - seconds) < 0.041, f"seek to {seconds} s: frame of {pts:.3f} s")
        equal(sum(1 for _ in p.samples()), 39, "frames after the second one")


def check_wishes(daemon, folder):
    """Format, size and rate that a caps filter wants."""
    path = clip(folder, "wish.mp4", frames=50, size="160x120")
    for wish, want in (("format=RGB", ["RGB", 160, 120, "25/1"]),
                       ("format=BGRx", ["BGRx", 160, 120, "25/1"]),
                       ("width=80", ["I420", 80, 60, "25/1"]),
                       ("format=BGRA,width=64,height=64", ["BGRA", 64, 64, "25/1"]),
                       ("framerate=5/1", ["I420", 160, 120, "5/1"])):
        with Pipeline(file(daemon, path, "video/x-raw," + wish)) as p:
            samples = list(p.samples())
            got = samples and [text(samples[0], f) for f in ("format", "width", "height")] + \
                [fraction(samples[0], "framerate")]
            check(got == want and len(samples) in ((10, 11) if "5/1" in wish else (50,)),
                  f"{wish}: {len(samples)} frames, {got}")
    with Pipeline(file(daemon, path, "video/x-raw,interlace-mode=interleaved")) as p:
        error = p.error()
        check(error and "takes no frames" in error[0] and "videoconvert" in error[1],
              f"an impossible wish: {error}")


def check_live(daemon):
    """Time stamps are those of the capture by the pipeline's clock; the frames are not copied."""
    for name, more in (("src", "source=cam"), ("cam", "")):
        stretch = t.Stretch()
        with Pipeline(f"peltonsrc socket={daemon.socket} name={name} {more}") as p:
            first = p.sample()
            got = [p.sample() for _ in range(30)]
            stamps = [s.get_buffer().pts / Gst.SECOND for s in got]
            clock, base = p.pipeline.get_clock(), p.pipeline.get_base_time()
            age = (clock.get_time() - base) / Gst.SECOND - stamps[-1]
            steps = [b - a for a, b in zip(stamps, stamps[1:])]
            equal(text(first, "width"), 160, "a camera's width")
            check(min(steps) > 0, f"time stamps rise, by {min(steps):.4f} to {max(steps):.4f} s")
            check(age >= 0, f"the newest frame is {1000 * age:.0f} ms old")
            t.check_time(check, age < t.patience(0.5), stretch, "which is soon")
            query = Gst.Query.new_latency()
            check(p.pipeline.get_by_name(name).query(query) and query.parse_latency()[0],
                  f"live, latency {query.parse_latency()[1] / Gst.MSECOND:.0f} ms")


def check_memory(daemon):
    pipeline = Gst.parse_launch(f"peltonsrc socket={daemon.socket} source=cam ! "
                                "fakevideosink name=out sync=false")
    seen = []

    def look(_, probe):
        seen.append(mapping(probe.get_buffer()))
        return Gst.PadProbeReturn.OK

    pad = pipeline.get_by_name("out").get_static_pad("sink")
    pad.add_probe(Gst.PadProbeType.BUFFER, look)
    pipeline.set_state(Gst.State.PLAYING)
    t.wait_until(lambda: len(seen) >= 40, 5)
    pipeline.set_state(Gst.State.NULL)
    check(len(seen) >= 40 and all("memfd:" in m and "r--s" in m for m in seen),
          f"{len(seen)} buffers of a camera are the daemon's memory, read-only")


def check_worker_lost(daemon):
    """The worker dies: the source comes back in the same pipeline."""
    with Pipeline(source(daemon, "cam")) as p:
        p.sample()
        for pid in t.workers(daemon.process.pid):
            os.kill(pid, 9)
        began = time.monotonic()
        for _ in range(30):
            check_alive = p.sample()
            if check_alive is None:
                break
        check(check_alive is not None and p.bus.pop_filtered(Gst.MessageType.ERROR) is None,
              f"worker killed: 30 more frames within {time.monotonic() - began:.1f} s")


def check_ends(daemon):
    """Pipelines that end while they wait, or in the middle, leave nothing."""
    before = None
    p = Pipeline(source(daemon, "cam"))
    for i in range(12):
        p.pipeline.set_state(Gst.State.PLAYING)
        if i % 2:
            p.sample()
        p.pipeline.set_state(Gst.State.NULL)
        before = before or descriptors()
    equal(descriptors(), before, "descriptors after 12 ends")


def check_errors(daemon, folder):
    cases = ((source(daemon, "nosuch"), "nosuch"),
             (f"peltonsrc socket={daemon.socket}", "no source"),
             (file(daemon, folder + "/absent.mp4"), "No such file"),
             (f"peltonsrc socket={folder}/nobody.sock source=cam", "no daemon listens"))
    for pipeline, words in cases:
        with Pipeline(pipeline) as p:
            error = p.error()
            check(error and words in error[0], f"{words}: {error and (error[0], error[1][-90:])}")


def main():
    args = arguments(__doc__)
    begin(args)
    with tempfile.TemporaryDirectory() as folder:
        with t.Daemon(args, "--config", configuration(folder)) as daemon:
            check_file(daemon, folder)
            check_wishes(daemon, folder)
            check_live(daemon)
            check_memory(daemon)
            check_worker_lost(daemon)
            check_ends(daemon)
            check_errors(daemon, folder)
    finish()


main()
