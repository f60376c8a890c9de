#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""JPEG files by HTTP that the daemon's device makes: the bytes that pelton pipe gets. Scaled ones,
snapshots, a raw camera, a live H.264 source whose worker is killed. Of a turned file and of a
camera with a placeholder the gateway makes them. /api/v1/stats and /metrics tell who made them.
"""
import os, pathlib, re, signal, subprocess, sys, tempfile
import cv2, numpy
import webtest as w
from live_source import LiveSource, make_clip

args = w.t.arguments(__doc__)
FRAMES = 6


def pipe(d, *words):
    """Of quality 85, as the gateway's: -q:v 3"""
    return subprocess.run([args.bin + "/pelton", "pipe", "--socket", d.socket, "--timeout", "0",
                           "source:file", "--policy", "lossless", "-f", "mjpeg", *words, "-"],
                          capture_output=True, check=True).stdout


def parts(body):
    return [p.partition(b"\r\n\r\n")[2][:-2] for p in body.split(b"--pelton\r\n")[1:]]


def shape(jpeg):
    return cv2.imdecode(numpy.frombuffer(jpeg, numpy.uint8), cv2.IMREAD_COLOR).shape[:2]


def makers(web, name):
    found = [s for s in web.json("/api/v1/stats")["sources"] if s["name"] == name]
    return (found[0]["jpegs_daemon"], found[0]["jpegs_gateway"]) if found else (0, 0)


def of_file(web, d):
    got = parts(web.ask("/streams/file.mjpeg?quality=85")[2])
    w.check(b"".join(got) == pipe(d) and len(got) == FRAMES, f"file.mjpeg: {len(got)} files")
    got = parts(web.ask("/streams/file.mjpeg?quality=85&size=48x32")[2])
    w.check(b"".join(got) == pipe(d, "-s", "48x32") and len(got) == FRAMES, "size=48x32")
    got = web.ask("/streams/file/snapshot.jpg?quality=85")[2]
    w.check(got and pipe(d).startswith(got), "a snapshot")
    made, by_gateway = makers(web, "file") # a file is read ahead until the snapshot has its frame
    w.check(2 * FRAMES < made <= 3 * FRAMES and not by_gateway,
            f"the daemon: {made}, {by_gateway}")
    body = web.ask("/streams/file/snapshot.png")[2]
    w.check(shape(body) == (64, 96) and makers(web, "file")[1] == 0, "a PNG is no JPEG file")


def of_others(web):
    got = parts(web.ask("/streams/turned.mjpeg")[2])
    w.check(len(got) == FRAMES and makers(web, "turned") == (0, FRAMES),
            f"turned: {len(got)} files, {makers(web, 'turned')} by daemon and gateway")
    got = parts(web.ask("/streams/door.mjpeg?frames=2")[2])
    w.check(len(got) == 2 and makers(web, "door")[0] == 0,
            f"a camera with a placeholder: {makers(web, 'door')}")


def of_camera(web):
    """The device scales to even sides of the camera's shape."""
    got = parts(web.ask("/streams/cam.mjpeg?frames=3")[2])
    w.check([shape(j) for j in got] == [(48, 64)] * 3 and makers(web, "cam")[1] == 0,
            f"a raw camera: {makers(web, 'cam')}")
    made = makers(web, "cam")[0]
    got = parts(web.ask("/streams/cam.mjpeg?frames=3&size=32x24")[2])
    w.check([shape(j) for j in got] == [(24, 32)] * 3 and makers(web, "cam")[0] > made
            and makers(web, "cam")[1] == 0, f"scaled: {makers(web, 'cam')}")
    for size in ((40, 40), (30, 24), (128, 96)):
        got = parts(web.ask("/streams/cam.mjpeg?frames=2&size=%ux%u" % size)[2])
        w.check([shape(j) for j in got] == [size[::-1]] * 2 and makers(web, "cam")[1] > 0,
                f"{size}: {makers(web, 'cam')}")
    times = [int(re.search(rb"X-Captured-Ns: (\d+)", p)[1]) for p in
             web.ask("/streams/cam.mjpeg?frames=4&fps=4")[2].split(b"--pelton\r\n")[1:]]
    gaps = [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    w.check(gaps and min(gaps) > 120, f"fps=4: {gaps} ms apart")


def of_live(web, d):
    """Readers go on when a worker has died."""
    got = parts(web.ask("/streams/live.mjpeg?frames=3")[2])
    w.check([shape(j) for j in got] == [(48, 64)] * 3 and makers(web, "live")[1] == 0,
            f"a live source: {makers(web, 'live')}")
    made = makers(web, "live")[0]
    for worker in w.t.workers(d.process.pid):
        os.kill(worker, signal.SIGKILL)
    got = parts(web.ask("/streams/live.mjpeg?frames=3")[2])
    told = makers(web, "live")
    w.check([shape(j) for j in got] == [(48, 64)] * 3 and told[0] > made and told[1] == 0,
            f"its worker was killed: {told}")


def told(web, d):
    text = web.ask("/metrics")[2].decode()
    found = re.search(r'pelton_web_jpegs_by_daemon_total\{source="file"\} (\d+)', text)
    w.check(found and int(found[1]) == makers(web, "file")[0] > 0, "/metrics tells of JPEG files")
    stats = lambda: re.search(r"^JPEG: \S+, GPU, (\d+) pictures, \d+ missed", subprocess.run(
        [args.bin + "/pelton", "stats", "--socket", d.socket], capture_output=True,
        text=True).stdout, re.M)
    w.check(w.t.wait_until(stats, 10) and int(stats()[1]) >= 3, "pelton stats tells of JPEG files")


def main():
    with tempfile.TemporaryDirectory() as folder:
        ffmpeg = [args.ffmpeg, "-v", "error", "-nostdin", "-y"]
        subprocess.run([*ffmpeg, "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25", "-frames:v",
                        str(FRAMES), "-pix_fmt", "yuv420p", f"{folder}/file.mp4"], check=True)
        subprocess.run([*ffmpeg, "-i", f"{folder}/file.mp4", "-c", "copy", "-metadata:s:v",
                        "rotate=90", f"{folder}/turned.mp4"], check=True)
        clip = make_clip(args, f"{folder}/live.mp4", "64x48", seconds=2)
        config = pathlib.Path(folder, "pelton.yaml")
        with LiveSource(args, clip) as live:
            config.write_text("version: 1\nsources:\n" + "".join(
                f'  {name}: {{uri: "{uri}"{more}}}\n' for name, uri, more in (
                    ("file", f"{folder}/file.mp4", ""), ("turned", f"{folder}/turned.mp4", ""),
                    ("live", live.uri(), ""),
                    ("cam", f"sim://{folder}/file.mp4", ", size: 64x48, fps: 10"),
                    ("door", f"sim://{folder}/turned.mp4",
                     ", size: 64x48, fps: 10, placeholder: gray"))))
            with w.t.Daemon(args, "-c", str(config), "-c", "debug.encoder=2") as d, \
                    w.Web(args, d.socket) as web:
                w.t.warm_up(args, d, f"{folder}/file.mp4")
                of_file(web, d)
                of_others(web)
                of_camera(web)
                told(web, d)
                of_live(web, d)


main()
w.finish()
