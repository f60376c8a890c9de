#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""H.264 as it came, by HTTP: the packets are the file's, MP4 is what MediaSource takes. A raw
camera has the daemon's own; a blurred file is refused. No transport shows what a rectangle hides.
"""
import pathlib, re, subprocess, tempfile
import webtest as w

args = w.t.arguments(__doc__)
GET = [".h264", ".mp4", ".ts"]


def packets(source):
    run = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", source, "-map", "0:v", "-c",
                          "copy", "-f", "framemd5", "-"], capture_output=True, text=True)
    return [l.replace(" ", "").split(",")[4:] for l in run.stdout.splitlines() if l[0] != "#"]


def converted(folder, end):
    """What FFmpeg's muxer makes of the file."""
    out = f"{folder}/want{end}"
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-i", w.CLIP, "-an", "-c", "copy",
                    out], check=True)
    return packets(out)


def bodies(web, folder):
    for end in GET:
        status, headers, body = web.ask(f"/streams/file{end}")
        path = pathlib.Path(f"{folder}/got{end}")
        path.write_bytes(body)
        got = packets(str(path))
        w.check(status == 200 and got and got == converted(folder, end),
                f"file{end}: {len(got)} packets are the file's; {status}, {body[:150]}")
    kind = web.ask("/streams/file.mp4?frames=1", "HEAD")[1]["Content-Type"]
    w.check(re.fullmatch(r'video/mp4; codecs="avc1\.[0-9a-f]{6}"', kind), f"type: {kind}")
    body = web.ask("/streams/file.mp4?frames=5")[2]
    boxes, at = [], 0
    while at < len(body):
        boxes.append(body[at + 4:at + 8].decode())
        at += int.from_bytes(body[at:at + 4], "big")
    w.check(boxes[:2] == ["ftyp", "moov"] and boxes.count("moof") == 5,
            f"mp4: an initialization segment, then a fragment for each unit: {boxes[:6]}")


def refused(web):
    for path, status, words in (("door.mp4", 403, "are blurred"),
                                ("door.h264", 403, "are blurred"), ("door.ts", 403, "are blurred"),
                                ("file.mp4?size=64x64", 400, "as it came")):
        got, _, body = web.ask("/streams/" + path)
        w.check(got == status and words in body.decode(), f"{path}: {got} {body[:120]}")


def made(web, folder):
    """A raw camera's H.264 is the daemon's own, in each container."""
    for end in GET:
        status, headers, body = web.ask(f"/streams/cam0{end}?frames=6")
        pathlib.Path(f"{folder}/cam{end}").write_bytes(body)
        got = packets(f"{folder}/cam{end}")
        w.check(status == 200 and len(got) == 6, f"cam0{end}: {len(got)} packets; {status}")
    kind = web.ask("/streams/cam0.mp4?frames=1", "HEAD")[1]["Content-Type"]
    w.check(re.fullmatch(r'video/mp4; codecs="avc1\.[0-9a-f]{6}"', kind), f"cam0's type: {kind}")


def hidden(web, daemon, folder):
    """The samples inside of the rectangle, by every transport, are those of the blurred frame."""
    x, y, width, height = RECT
    run = subprocess.run([args.bin + "/pelton", "decode", "--socket", daemon.socket, "-i",
                          "source:door", "-f", "rawvideo", "-frames:v", "1", "-"],
                         capture_output=True)
    plain = subprocess.run([args.ffmpeg, "-v", "error", "-i", w.CLIP, "-frames:v", "1", "-f",
                            "rawvideo", "-pix_fmt", "yuv420p", "-"], capture_output=True).stdout
    size = re.search(rb"W(\d+) H(\d+)", web.ask("/streams/door.y4m?frames=1")[2][:100])
    columns = int(size[1])
    inside = lambda luma: b"".join(luma[(y + i) * columns + x:(y + i) * columns + x + width]
                                   for i in range(height))
    blurred, secret = inside(run.stdout), inside(plain)
    w.check(len(blurred) == len(secret) == width * height and blurred != secret,
            "hidden: shared memory shows other samples")

    def luma(data, *how):
        out = subprocess.run([args.ffmpeg, "-v", "error", *how, "-i", "-", "-frames:v", "1", "-f",
                              "rawvideo", "-pix_fmt", "yuv420p", "-"], input=data,
                             capture_output=True).stdout
        return inside(out)

    pelton = lambda *words: subprocess.run([args.bin + "/pelton", words[0], "--socket",
                                            daemon.socket, *words[1:]], capture_output=True)
    for name, data in (("y4m", web.ask("/streams/door.y4m?frames=1")[2]),
                       ("mkv", web.ask("/streams/door.mkv?frames=1")[2]),
                       ("nut", web.ask("/streams/door.nut?frames=1")[2]),
                       ("pipe", pelton("pipe", "door", "-f", "y4m", "--policy", "lossless",
                                       "-frames:v", "1", "-").stdout)):
        w.check(luma(data) == blurred, f"hidden: {name} has the blurred samples")
    for name, data in (("mjpeg", web.ask("/streams/door.mjpeg?frames=1&quality=95")[2]),
                       ("snapshot.jpg", web.ask("/streams/door/snapshot.jpg?quality=95")[2]),
                       ("snapshot.png", web.ask("/streams/door/snapshot.png")[2])):
        got = luma(data, "-f", "mpjpeg") if name == "mjpeg" else luma(data)
        apart = lambda other: sum(abs(a - b) for a, b in zip(got, other)) / max(1, len(got))
        w.check(len(got) == len(blurred) and apart(blurred) < apart(secret) / 2,
                f"hidden: {name}: {apart(blurred):.1f} from the blurred, {apart(secret):.1f} from "
                "the hidden samples")
    for words in (["record", "door", "-o", folder + "/door.mp4"],
                  ["pipe", "door", "-f", "h264", "-"],
                  ["pipe", "door", "-c", "copy", "-f", "matroska", "-"],
                  ["pipe", "door", "-f", "rtsp", "rtsp://127.0.0.1:9/door"]):
        run = pelton(*words)
        w.check(run.returncode == 9 and not run.stdout and b"are blurred" in run.stderr,
                f"hidden: {words[0]} {words[2:]}: {run.stderr.decode()[-130:]!r}")
    w.check(not list(pathlib.Path(folder).glob("door*")), "hidden: no file is left")


RECT = (32, 32, 64, 48)
with tempfile.TemporaryDirectory() as folder:
    config = pathlib.Path(folder + "/config.yaml")
    config.write_text(f"version: 1\nsources:\n  file: {{uri: \"{w.CLIP}\"}}\n"
                      f"  door: {{uri: \"{w.CLIP}\", blur: [{list(RECT)}]}}\n")
    more = ["-c", str(config), *w.cameras(args, 1)]
    with w.t.Daemon(args, *more) as d, w.Web(args, d.socket) as web:
        bodies(web, folder)
        refused(web)
        made(web, folder)
        hidden(web, d, folder)
w.finish()
