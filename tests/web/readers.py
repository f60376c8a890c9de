#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Debian read the streams of pelton-web: ffplay, ffmpeg, mpv, VLC, OpenCV, GStreamer,
curl, wget. Where a program can give its pixels they are compared with those of the file. Exit code
77: no OpenCV.

  readers.py [--need]     a program that is absent is skipped, or fails with --need
"""
import glob, os, re, shutil, subprocess, sys, tempfile

import webtest as w

try:
    import cv2
    import numpy
except ImportError as missing:
    print(f"skipped: {missing} (Debian's package python3-opencv)")
    sys.exit(77)

NOBODY = 65534
AHEAD = 8 # frames that a player may leave out in a row


def reference(args):
    """The file's frames as planes of Y, Cb, Cr, and in B, G, R."""
    run = lambda *words: subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", w.CLIP,
                                         *words, "-"], capture_output=True, check=True).stdout
    size = re.search(r" ([1-9]\d+)x([1-9]\d+)", subprocess.run(
        [args.ffmpeg, "-i", w.CLIP], capture_output=True, text=True).stderr.split("Video:")[1])
    width, height = int(size[1]), int(size[2])
    planes, each = run("-f", "rawvideo"), width * height * 3 // 2
    return {"size": (width, height),
            "yuv": [planes[i:i + each] for i in range(0, len(planes), each)],
            "bgr": numpy.frombuffer(run("-f", "rawvideo", "-pix_fmt", "bgr24"),
                                    numpy.uint8).reshape(-1, height, width, 3)}


def run(*words, **more):
    return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=w.t.LIMIT_S, **more)


def same_planes(what, data, wanted):
    each = len(wanted["yuv"][0])
    frames = [data[i:i + each] for i in range(0, len(data), each)]
    w.check(frames == wanted["yuv"], f"{what}: {len(frames)} frames equal the file's")


def apart(picture, wanted):
    return abs(picture.astype(int) - wanted.astype(int)).mean()


def nearest(what, pictures, wanted, least, most=4, ahead=AHEAD):
    """Each picture is one of the file's, in order, but for the conversion to R, G, B or JPEG."""
    last, worst = 0, 0
    for p in pictures:
        next_ones = wanted["bgr"][last:last + 1 + ahead]
        far = [apart(p, b) for b in next_ones] if p.shape == next_ones[0].shape else [255]
        last, worst = last + int(numpy.argmin(far)), max(worst, min(far))
    w.check(len(pictures) >= least and worst < most,
            f"{what}: {len(pictures)} pictures, {worst:.2f} of 255 from the file's at most")


def y4m_frames(data):
    head, _, rest = data.partition(b"\n")
    frames = rest.split(b"FRAME\n")[1:] if head.startswith(b"YUV4MPEG2") else []
    return b"".join(frames)


def curl(args, web, wanted, folder):
    same_planes("curl: y4m", y4m_frames(run("curl", "-sSf", web.url("/streams/file.y4m")).stdout),
                wanted)
    body = run("curl", "-sSf", web.url("/streams/file.mjpeg?frames=3")).stdout
    jpegs = [p.partition(b"\r\n\r\n")[2] for p in body.split(b"--pelton\r\n")[1:]]
    nearest("curl: mjpeg", [cv2.imdecode(numpy.frombuffer(j, numpy.uint8), cv2.IMREAD_COLOR)
                            for j in jpegs], wanted, 3)


def wget(args, web, wanted, folder):
    out = folder + "/wget.y4m"
    run("wget", "-q", "-O", out, web.url("/streams/file.y4m"))
    same_planes("wget: y4m", y4m_frames(open(out, "rb").read()), wanted)
    run("wget", "-q", "-O", folder + "/wget.png", web.url("/streams/file/snapshot.png"))
    nearest("wget: snapshot", [cv2.imread(folder + "/wget.png")], wanted, 1)


def ffmpeg(args, web, wanted, folder):
    for kind in ("y4m", "mkv"):
        out = run(args.ffmpeg, "-v", "error", "-i", web.url(f"/streams/file.{kind}"), "-f",
                  "rawvideo", "-")
        same_planes(f"ffmpeg: {kind} {out.stderr.decode()}", out.stdout, wanted)


def ffplay(args, web, wanted, folder):
    """Its filter showinfo prints a checksum of each plane."""
    sums = lambda text: re.findall(r"plane_checksum:\[([0-9A-F ]*)\]", text)
    ours = run(args.ffmpeg, "-i", w.CLIP, "-vf", "showinfo", "-f", "null", "-")
    for kind in ("y4m", "mkv"):
        out = run("ffplay", "-hide_banner", "-autoexit", "-noframedrop", "-sync", "video", "-vf",
                  "showinfo", web.url(f"/streams/file.{kind}"),
                  env={**os.environ, "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"})
        got, file = sums(out.stderr.decode()), sums(ours.stderr.decode())
        w.check(got and set(got) <= set(file) and len(got) >= len(file) - 2,
                f"ffplay: {kind}: {len(got)} frames of {len(file)} have the file's checksums")


def opencv(args, web, wanted, folder):
    for kind in ("y4m", "mkv", "mjpeg"):
        capture, pictures = cv2.VideoCapture(web.url(f"/streams/file.{kind}")), []
        while (read := capture.read())[0]:
            pictures.append(read[1])
        nearest(f"OpenCV: {kind}", pictures, wanted, len(wanted["yuv"]))


def gstreamer(args, web, wanted, folder):
    out = folder + "/gst.yuv"
    said = run("gst-launch-1.0", "-q", "souphttpsrc", "location=" + web.url("/streams/file.mkv"),
               "!", "matroskademux", "!", "video/x-raw,format=I420", "!", "filesink",
               "location=" + out).stderr.decode()
    same_planes(f"GStreamer: mkv {said}", open(out, "rb").read(), wanted)
    said = run("gst-launch-1.0", "-q", "souphttpsrc",
               "location=" + web.url("/streams/file.mjpeg?frames=5"), "!", "multipartdemux", "!",
               "multifilesink", f"location={folder}/gst%02d.jpg").stderr.decode()
    nearest(f"GStreamer: mjpeg {said}", [cv2.imread(p) for p in sorted(
        glob.glob(folder + "/gst*.jpg"))], wanted, 5)


def mpv(args, web, wanted, folder):
    """It encodes to raw video, so its pixels are those that it decoded."""
    for kind in ("y4m", "mkv"):
        out = folder + f"/mpv-{kind}.yuv"
        said = run("mpv", "--no-config", "--no-audio", "--o=" + out, "--of=rawvideo",
                   "--ovc=rawvideo", web.url(f"/streams/file.{kind}"))
        data = open(out, "rb").read() if os.path.exists(out) else b""
        same_planes(f"mpv: {kind}", data, wanted)
    run("mpv", "--no-config", "--no-audio", "--vo=image", "--vo-image-format=png",
        "--vo-image-outdir=" + folder + "/mpv", web.url("/streams/file.mjpeg?frames=5"))
    nearest("mpv: mjpeg", [cv2.imread(p) for p in sorted(glob.glob(folder + "/mpv/*.png"))],
            wanted, 4)


def vlc(args, web, wanted, folder):
    """Its filter scene writes pictures; those of JPEG are stretched to whole macroblocks. VLC does
    not run as root."""
    for kind in ("mjpeg", "y4m", "mkv"):
        place = folder + "/vlc-" + kind
        os.mkdir(place)
        os.chmod(place, 0o777)
        run("cvlc", "--play-and-exit", "--no-audio", "--vout=dummy", "--video-filter=scene",
            "--scene-format=png", "--scene-ratio=1", "--scene-path=" + place,
            "--no-drop-late-frames", "--no-skip-frames", web.url(f"/streams/file.{kind}"),
            env={**os.environ, "HOME": place},
            **({"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}))
        pictures = [cv2.imread(p) for p in sorted(glob.glob(place + "/*.png"))]
        pictures = [p if p.shape[1::-1] == wanted["size"] else cv2.resize(
            p, wanted["size"], interpolation=cv2.INTER_AREA) for p in pictures if p is not None]
        # its reader of JPEG does not wait for its pictures to be written
        nearest(f"VLC: {kind}", pictures, wanted, 5, ahead=50)


PROGRAMS = {"curl": curl, "wget": wget, "ffmpeg": ffmpeg, "ffplay": ffplay, "gst-launch-1.0":
            gstreamer, "mpv": mpv, "cvlc": vlc}


def main():
    p = w.t.parser(__doc__)
    p.add_argument("--need", action="store_true")
    p.add_argument("--program")
    args = p.parse_args()
    args.set = []
    wanted = reference(args)
    with tempfile.TemporaryDirectory() as folder, \
            w.t.Daemon(args, "-c", f"sources.file.uri={w.CLIP}") as daemon, \
            w.Web(args, daemon.socket) as web:
        os.chmod(folder, 0o755)
        opencv(args, web, wanted, folder)
        for name, test in PROGRAMS.items():
            if args.program and args.program != name:
                continue
            if shutil.which(name):
                test(args, web, wanted, folder)
            else:
                w.check(not args.need, f"{name}: skipped, it is not installed")
    w.finish()


if __name__ == "__main__":
    main()
