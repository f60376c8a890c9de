#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A simulated camera's raw frames, encoded and published at an RTSP server (GStreamer's): ffmpeg,
ffplay, VLC and GStreamer read them there. The worker is killed: pictures come again within a
second. Exit code 77 without GStreamer's server.

  publish.py [--kills N]
"""
import glob, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t
from peltontest import check

NOBODY = 65534
WIDTH, HEIGHT, FPS = 128, 96, 10
BETWEEN = 50 # pictures between two kills: a stream that ends its worker twice in 32 is set aside


def scene(args, folder):
    """What the simulated sensor sees"""
    path = folder + "/scene.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s={WIDTH}x{HEIGHT}:r={FPS}:d=4", "-c:v", "libx264", "-pix_fmt",
                    "yuv420p", path], check=True)
    return path


class Server:
    def __init__(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(["/usr/bin/python3", str(HERE / "rtsp_relay.py"),
                                         str(self.port)], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.there = self.process.stdout.readline() == "ready\n"

    def address(self, name):
        return f"rtsp://127.0.0.1:{self.port}/{name}"

    def end(self):
        self.process.kill()
        self.process.wait()


def run(*words, **more):
    return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=t.LIMIT_S, **more)


def apart(picture, pictures):
    """The mean distance from the nearest picture"""
    return min(sum(abs(a - b) for a, b in zip(picture, p)) / len(p) for p in pictures)


def by_ffmpeg(args, url, raw):
    """Its pictures are near those that the camera gives."""
    each = WIDTH * HEIGHT * 3 // 2
    out = run(args.ffmpeg, "-v", "error", "-err_detect", "explode", "-rtsp_transport", "tcp", "-i",
              url, "-frames:v", "12", "-fps_mode", "drop", "-f", "rawvideo", "-")
    pictures = [out.stdout[i:i + each] for i in range(0, len(out.stdout), each)]
    wanted = [raw[i:i + each] for i in range(0, len(raw), each)]
    far = max(apart(p, wanted) for p in pictures[::4]) if pictures else 255
    check(len(pictures) == 12 and far < 3 and not out.stderr,
          f"ffmpeg: {len(pictures)} pictures, {far:.2f} of 255 from the camera's {out.stderr!r}")


def by_ffplay(args, url, folder):
    process = subprocess.Popen(["ffplay", "-hide_banner", "-rtsp_transport", "tcp", "-fflags",
                                "nobuffer", "-vf", "showinfo", url], stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, env={
                                   **os.environ, "SDL_VIDEODRIVER": "dummy",
                                   "SDL_AUDIODRIVER": "dummy"})
    found, end = 0, time.monotonic() + t.patience(10)
    while found < 8 and time.monotonic() < end and (line := process.stderr.readline()):
        found += f"s:{WIDTH}x{HEIGHT}" in line
    process.kill()
    process.wait()
    check(found == 8, f"ffplay: {found} pictures of {WIDTH}x{HEIGHT}")


def by_gstreamer(args, url, folder):
    out = folder + "/gst.yuv"
    said = run("gst-launch-1.0", "-q", "rtspsrc", "location=" + url, "protocols=tcp", "latency=0",
               "!", "rtph264depay", "!", "h264parse", "!", "openh264dec", "!",
               f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT}", "!", "identity",
               "eos-after=9", "!", "filesink", "location=" + out)
    size = os.path.getsize(out) if os.path.exists(out) else 0
    check(size >= 8 * WIDTH * HEIGHT * 3 // 2, f"GStreamer: {size} bytes {said.stderr[-200:]!r}")


def by_vlc(args, url, folder):
    """VLC does not run as root. It reads RTSP by live555, which its packages may lack."""
    if not glob.glob("/usr/lib/*/vlc/plugins/access/liblive555_plugin.so"):
        print("skipped: VLC without live555")
        return
    place = folder + "/vlc"
    os.mkdir(place)
    os.chmod(place, 0o777)
    process = subprocess.Popen(
        ["cvlc", "--no-audio", "--rtsp-tcp", "--vout=dummy", "--video-filter=scene",
         "--scene-format=png", "--scene-ratio=1", "--scene-path=" + place, url],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": place},
        **({"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}))
    t.wait_until(lambda: len(glob.glob(place + "/*.png")) >= 5, 10)
    process.kill()
    process.wait()
    found = len(glob.glob(place + "/*.png"))
    check(found >= 5, f"VLC: {found} pictures")


def killed(args, d, url, kills):
    """The longest pause of a reader of the server, of one kill after the other"""
    reader = subprocess.Popen([args.ffmpeg, "-v", "error", "-nostdin", "-fflags", "nobuffer",
                               "-rtsp_transport", "tcp", "-i", url, "-fps_mode", "passthrough",
                               "-flush_packets", "1", "-f", "framemd5", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    times, pauses = [], []

    def collect():
        for line in reader.stdout:
            if line[0] != "#":
                times.append(time.monotonic())

    threading.Thread(target=collect, daemon=True).start()
    t.wait_until(lambda: len(times) >= BETWEEN, 20)
    stretch = t.Stretch()
    for _ in range(kills):
        had = len(times)
        for pid in t.workers(d.process.pid):
            os.kill(pid, signal.SIGKILL)
        t.wait_until(lambda: len(times) >= had + BETWEEN, 20)
        last = times[had - 1:]
        pauses.append(max((b - a for a, b in zip(last, last[1:])), default=99)
                      if len(last) > BETWEEN else 99)
    reader.kill()
    said = reader.stderr.read()
    check(not said and max(pauses) < 99 and t.workers(d.process.pid),
          f"the worker is killed: pictures come again {said[-200:]!r}")
    t.check_time(check, max(pauses) < t.patience(1), stretch,
                 f"the worker is killed: pauses of {[round(p, 2) for p in pauses]} s")


def main():
    p = t.parser(__doc__)
    p.add_argument("--kills", type=int, default=2)
    args = t.parsed(p)
    server = Server()
    if not server.there:
        print("skipped: no RTSP server of GStreamer")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        config = pathlib.Path(folder, "pelton.yaml")
        config.write_text(f"version: 1\nsources:\n  cam: {{uri: \"sim://{scene(args, folder)}\", "
                          f"fps: {FPS}}}\n")
        with t.Daemon(args, "-c", str(config), "-c", "restarts=16", "-c",
                      "restart_window_ms=1") as d:
            raw = run(args.bin + "/pelton", "pipe", "--socket", d.socket, "cam", "-f", "rawvideo",
                      "-pix_fmt", "yuv420p", "-frames:v", str(4 * FPS), "-")
            pipe = subprocess.Popen([args.bin + "/pelton", "pipe", "--socket", d.socket, "cam",
                                     "-c:v", "h264", "-g", str(FPS), "-qp", "20", "-f", "rtsp",
                                     server.address("push")], stderr=subprocess.PIPE, text=True,
                                    stdin=subprocess.DEVNULL)
            came = server.process.stdout.readline()
            check(came == "published\n", f"the first picture is published: {came!r}")
            url = server.address("play")
            by_ffmpeg(args, url, raw.stdout)
            for name, read in (("ffplay", by_ffplay), ("gst-launch-1.0", by_gstreamer),
                               ("cvlc", by_vlc)):
                if shutil.which(name):
                    read(args, url, folder)
                else:
                    print("skipped: no", name)
            killed(args, d, url, args.kills)
            check(pipe.poll() is None, "pelton pipe goes on")
            pipe.send_signal(signal.SIGINT)
            said = pipe.communicate(timeout=t.LIMIT_S)[1]
            check(" 0 corrupt" in said, f"its summary: {said.strip()[-200:]!r}")
    server.end()
    return t.finish()


sys.exit(main())
