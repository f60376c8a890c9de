#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Frames by HTTP: equal to the file's, at the rate and size that was asked for, and to the end.
"""
import concurrent.futures, io, json, signal, subprocess, threading
import cv2, numpy
import webtest as w

args = w.t.arguments(__doc__)

def framemd5(source):
    run = subprocess.run([args.ffmpeg, "-v", "warning", "-nostdin", "-i", source, "-f", "framemd5",
                          "-"], capture_output=True, text=True, timeout=w.t.LIMIT_S)
    return [l.split()[-1] for l in run.stdout.splitlines() if l[0] != "#"], run.stderr


def whole_file(web):
    wanted, _ = framemd5(w.CLIP)
    for kind in ("y4m", "mkv", "nut"):
        got, said = framemd5(web.url(f"/streams/file.{kind}"))
        w.check(got == wanted and not said,
                f"file.{kind}: {len(got)} frames equal the file's {said}")
    got, said = framemd5(web.url("/streams/file.mjpeg"))
    w.check(len(got) == len(wanted) and not said, f"file.mjpeg: {len(got)} frames {said}")


def parts(body):
    """(headers, JPEG) of each part."""
    for part in body.split(b"--pelton\r\n")[1:]:
        head, _, jpeg = part.partition(b"\r\n\r\n")
        yield dict(l.split(": ") for l in head.decode().split("\r\n")), jpeg[:-2]


def picture(jpeg):
    return cv2.imdecode(numpy.frombuffer(jpeg, numpy.uint8), cv2.IMREAD_COLOR)


def wishes(web):
    got = list(parts(web.ask("/streams/cam0.mjpeg?frames=5&size=80x60&quality=60")[2]))
    w.check(len(got) == 5 and all(picture(j).shape == (60, 80, 3) for _, j in got),
            "frames=5&size=80x60")
    times = [int(h["X-Captured-Ns"]) for h, _ in
             parts(web.ask("/streams/cam0.mjpeg?frames=5&fps=5")[2])]
    gaps = [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    w.check(min(gaps) > 90, f"fps=5: frames are {min(gaps):.0f} ms apart or more")
    body = web.ask("/streams/file.y4m?frames=2&size=160x90")[2]
    w.check(b"W160 H90" in body[:60] and len(body) > 2 * 160 * 90 * 1.5, "size=160x90 of a file")
    body = web.ask("/streams/cam0.y4m?frames=3&policy=lossless")[2]
    head = body[:body.index(b"\n")].decode()
    w.check(body.count(b"FRAME\n") == 3 and "W160 H120" in head, f"y4m: {head}")


def colours(web):
    """A snapshot shows the colours of the frame: JPEG and PNG against FFmpeg's conversion."""
    run = subprocess.run([args.ffmpeg, "-v", "error", "-i", w.CLIP, "-f", "rawvideo", "-pix_fmt",
                          "bgr24", "-frames:v", "1", "-"], capture_output=True)
    for kind in ("jpg?quality=95", "png"):
        got = picture(web.ask(f"/streams/file/snapshot.{kind}")[2]).astype(int)
        wanted = numpy.frombuffer(run.stdout, numpy.uint8).reshape(got.shape).astype(int)
        apart = abs(got - wanted).mean()
        w.check(apart < 3, f"snapshot.{kind}: colours are {apart:.2f} of 255 apart on the mean")


def now(web):
    first = int(web.ask("/streams/cam0/snapshot.jpg")[1]["X-Sequence"])
    later = [int(web.ask("/streams/cam0/snapshot.jpg?after=now")[1]["X-Sequence"])
             for _ in range(3)]
    w.check(sorted(set([first] + later)) == [first] + later, f"after=now: {first}, then {later}")


def shared(web):
    """Readers of one tap get the same bytes: a frame is encoded once."""
    ask = lambda _: dict((h["X-Sequence"], j) for h, j in
                         parts(web.ask("/streams/cam1.mjpeg?frames=20&policy=lossless")[2]))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(ask, range(8)))
    common = set.intersection(*(set(g) for g in got))
    w.check(len(common) > 5 and all(len({g[s] for g in got}) == 1 for s in common),
            f"8 readers of one tap: {len(common)} frames in common, with the same bytes")
    for g in got:
        numbers = sorted(map(int, g))
        w.check(numbers == list(range(numbers[0], numbers[0] + 20)), "none is lost or doubled")


def refusals(web):
    for wish, word in [("x=1", "no such parameter"), ("size=9", "expected WxH"),
                       ("fps=-1", "expected a number"), ("fps=1&fps=2", "stands twice"),
                       ("pix_fmt=nothing", "no such pixel format"), ("size=%zz", "expected WxH"),
                       ("quality=0", "expected 1 to 100"), ("frames=1e3", "expected a number")]:
        status, _, body = web.ask("/streams/cam0.mjpeg?" + wish)
        w.check(status == 400 and word in json.loads(body)["error"],
                f"?{wish}: {body.decode()[:70]}")
    status, _, body = web.ask("/streams/cam0.y4m?pix_fmt=rgb24")
    w.check(status == 415, f"y4m of rgb24: {body.decode()[:70]}")
    status, _, body = web.ask("/streams/none.mjpeg")
    w.check(status == 404, f"no source: {body.decode()[:70]}")


def daemon_lost(daemon, web):
    """A reader of a camera goes on when the daemon is there again."""
    got = io.BytesIO()

    def read():
        c = w.http.client.HTTPConnection("127.0.0.1", web.port, timeout=w.t.patience(20))
        c.request("GET", "/streams/cam0.mjpeg")
        answer = c.getresponse()
        try:
            while part := answer.read1():
                got.write(part)
        except w.http.client.IncompleteRead:
            pass # the gateway ends

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    count = lambda: got.getvalue().count(b"--pelton\r\n")
    w.check(w.t.wait_until(lambda: count() > 3, 10), "a reader has frames")
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    w.check(w.t.wait_until(lambda: web.ask("/readyz")[0] == 503, 5), "/readyz: no daemon")
    had = count()
    daemon.process = subprocess.Popen(daemon.process.args, stdout=daemon.log, stderr=daemon.log)
    w.check(w.t.wait_until(lambda: count() > had + 3, 10), "the same reader has frames again")
    w.check(web.ask("/readyz")[0] == 200, "/readyz: it is there again")


CAMERAS = w.cameras(args, 2) + ["-c", "sources.file.uri=" + w.CLIP]
with w.t.Daemon(args, *CAMERAS) as started, w.Web(args, started.socket) as gateway:
    w.t.wait_until(lambda: gateway.ask("/readyz")[0] == 200, 5)
    whole_file(gateway)
    wishes(gateway)
    colours(gateway)
    now(gateway)
    shared(gateway)
    refusals(gateway)
    daemon_lost(started, gateway)
w.finish()
