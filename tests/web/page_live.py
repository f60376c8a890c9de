#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A live H.264 source in the page, in Chromium: its MP4 plays by MediaSource, its picture is that
of the decoded frame, and it stays so over another size, a lost source, and a new pelton-web. What
Chromium does not play is shown as pictures. Skipped without Chromium, Node or npm's registry.

  page_live.py [--pictures FOLDER] [--seconds N]
    --seconds: plays on for so long, and looks at the lag and at what the browser keeps
"""
import os, pathlib, subprocess, tempfile, time
import cv2, numpy
import webtest as w
from browser import Browser, apart, looked, packages, parser, shown
from live_source import LiveSource, make_clip

LAG_S = 1.6 # the page jumps where it is later than 1.5 s


def decoded(args, clip):
    """The first frame of a clip, as FFmpeg shows it."""
    size = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                           "stream=width,height", "-of", "csv=p=0", clip], capture_output=True,
                          text=True, check=True).stdout.strip().split(",")
    raw = subprocess.run([args.ffmpeg, "-v", "error", "-i", clip, "-frames:v", "1", "-vf",
                          "scale=in_color_matrix=bt601",
                          "-f", "rawvideo", "-pix_fmt", "bgr24", "-"], capture_output=True,
                         check=True).stdout
    return numpy.frombuffer(raw, numpy.uint8).reshape(int(size[1]), int(size[0]), 3)


def plays(b, more=8):
    """New frames are shown."""
    had = b.video()["frames"]
    return w.t.wait_until(lambda: not 0 <= b.video()["frames"] - had < more, 20)


def pictured(b, frame, what, file):
    """The compositor's picture of the video is the frame."""
    size = frame.shape[1], frame.shape[0]
    w.t.wait_until(lambda: (b.video()["width"], b.video()["height"]) == size, 20)
    going, errors = plays(b) and shown(b), []

    def near():
        b.natural("#video", file=file)
        errors.append(apart(cv2.imread(file), frame))
        return errors[-1] < 3

    w.check(w.t.wait_until(near, 5) and going, f"{what}: the screenshot of {size[0]}x{size[1]} is "
            f"{errors[-1]:.2f} of 255 from the frame (root of the mean square)")


def figures(b, web):
    """While H.264 is shown: age, drops, readers and stages."""
    b.wait_for("#fps", r"^1[3-7]\.\d$", 20)
    told = {name: b.text("#" + name) for name in ("fps", "age", "drop-source", "drop-client")}
    rows, stages = b.text("#readers"), b.text("#stages")
    w.check("–" not in told.values() and "pelton-web" in rows and "deliver" in stages,
            f"figures beside H.264: {told}, stages {stages.split()}, readers {rows.split()}")
    mime = web.json("/api/v1/sources/live")["mime"]
    w.check(mime and mime.startswith('video/mp4; codecs="avc1.'), f"mime: {mime}")


def at_the_edge(b):
    """A page that was held up for 3 s is near the newest frame again, by a jump."""
    b.stall(ms=3000)
    lags = [b.video()["lag"]]
    w.t.wait_until(lambda: lags.append(b.video()["lag"]) or 0 <= lags[-1] < LAG_S, 10)
    w.check(0 <= lags[-1] < LAG_S and plays(b), f"held up for 3 s, then {lags[-1]:.2f} s behind")


def first_rate(b, web):
    """Nothing is shown as the rate until it is known."""
    b.open(url=web.url("/#live"), seen="#fps")
    b.wait_for("#fps", r"\d", 20)
    texts = b.seen()
    w.check(texts and not any(t.startswith("0.0") for t in texts), f"frames a second: {texts}")


def lost(b, source, clip, frame, folder):
    source.end()
    b.wait_for("#state", "^(lost|retrying)$", 20)
    said = b.wait_for("#over", "tries", 20)
    looked(b, "live-lost", folder)
    source.begin()
    b.wait_for("#state", "^running$", 40)
    pictured(b, frame, f"lost ({said.split(chr(10))[0]}) and back", folder + "/live-back.png")


def restarted(b, web, frame, folder):
    web.process.kill()
    web.process.wait()
    b.wait_for("#notice", "Connection lost", 30)
    web.restart()
    b.wait_for("#link", "^connected$", 30)
    pictured(b, frame, "pelton-web killed and back", folder + "/live-restarted.png")


def intra_clip(args, path):
    """CAVLC 4:4:4 Intra, which no browser plays."""
    subprocess.run([args.bin + "/streamgen", "--seed", "1", "--with", "cavlc444-intra",
                    "--frames", "30", "-o", path + ".264"], check=True, capture_output=True)
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-framerate", "15", "-i", path + ".264",
                    "-c", "copy", path], check=True)
    return path


def refused(b, web):
    """Chromium's MediaSource refuses the codec string, and the page shows pictures."""
    b.open(url=web.url("/#intra"))
    note = b.wait_for("#preview-note", "does not play.*avc1.2c.*shows pictures", 20)
    w.check(shown(b) and b.attribute("#picture", name="src").count(".mjpeg"), f"refused: {note}")


def long(b, seconds):
    """Minutes: the lag stays small, and old frames are given back."""
    end, lags, kept = time.monotonic() + seconds, [], []
    while time.monotonic() < end:
        time.sleep(1)
        v = b.video()
        lags.append(v["lag"])
        kept.append(v["kept"])
    frames = b.video()["frames"]
    w.check(max(lags) < LAG_S + 0.5 and max(kept) < 40 and frames > 13 * seconds,
            f"{seconds:.0f} s: lag {sorted(lags)[len(lags) // 2]:.2f} s, at most {max(lags):.2f}; "
            f"at most {max(kept):.0f} s kept; {frames} frames")


def tour(args, b, web, source, clips, folder):
    frames = [decoded(args, c) for c in clips]
    b.open(url=web.url("/#live"))
    pictured(b, frames[0], "live H.264", folder + "/live.png")
    figures(b, web)
    looked(b, "live-page", folder)
    at_the_edge(b)
    if args.seconds:
        long(b, args.seconds)
    source.switch(clips[1])
    pictured(b, frames[1], "another size in the same stream", folder + "/live-size.png")
    lost(b, source, clips[1], frames[1], folder)
    restarted(b, web, frames[1], folder)
    first_rate(b, web)
    refused(b, web)
    w.check(b.faults() == [], f"the page's script and policy: {b.faults()}")


def main():
    p = parser(__doc__)
    p.add_argument("--seconds", type=float, default=0)
    args = p.parse_args()
    there = packages(args.packages)
    os.makedirs(args.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        clips = [make_clip(args, f"{folder}/{size}.mp4", size) for size in ("320x180", "480x272")]
        intra = intra_clip(args, folder + "/intra.mp4")
        with LiveSource(args, clips[0]) as source, LiveSource(args, intra) as other:
            config = pathlib.Path(folder + "/config.yaml")
            config.write_text(f"version: 1\nsources:\n  live: {{uri: \"{source.uri()}\"}}\n"
                              f"  intra: {{uri: \"{other.uri()}\"}}\n")
            with w.t.Daemon(args, "-c", str(config)) as daemon, w.Web(
                    args, daemon.socket) as web, Browser(there, args.all) as b:
                tour(args, b, web, source, clips, args.pictures)
    w.finish()


main()
