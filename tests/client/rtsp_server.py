#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton with a server of RTSP: a source is read from it and published at it, picture by picture.

  rtsp_server.py --server PATH     MediaMTX, or rtsp-simple-server, as it was called before

The server is not in Debian, so that no suite runs this. The server is killed and started anew in
between: the source comes back, and who publishes is told. Exit code 77: no such server.
"""
import contextlib, pathlib, shutil, socket, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

RATE, PICTURES = 25, 250


@contextlib.contextmanager
def running(*command, **more):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def configuration(folder, port):
    """RTSP over TCP alone, and any path."""
    name = folder + "/server.yml"
    with open(name, "w") as f:
        f.write(f"rtspAddress: 127.0.0.1:{port}\nprotocols: [tcp]\nrtmpDisable: yes\n"
                "hlsDisable: yes\npaths:\n  all:\n")
    return name


def frames(path, *more):
    """The MD5 of each frame, by FFmpeg."""
    run = subprocess.run(["ffmpeg", "-v", "error", *more, "-i", path, "-f", "framemd5", "-"],
                         capture_output=True, text=True, timeout=t.LIMIT_S)
    return [line.split(",")[-1].strip() for line in run.stdout.splitlines() if line[:1] != "#"]


def in_order(got, clip):
    """Whether got is a run of the clip, which begins again at its end."""
    return bool(got) and got[0] in clip and all(
        g == clip[(clip.index(got[0]) + i) % len(clip)] for i, g in enumerate(got))


class Server:
    def __init__(self, args, folder):
        self.port = t.free_port()
        self.command = [args.server, configuration(folder, self.port)]
        self.log = open(folder + "/server.log", "w")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        t.wait_until(lambda: answers(self.port), 5)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def address(self, path):
        return f"rtsp://127.0.0.1:{self.port}/{path}"

    def camera(self, clip):
        """FFmpeg publishes the clip again and again, at its own pace."""
        return running("ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", clip, "-c",
                       "copy", "-f", "rtsp", "-rtsp_transport", "tcp", self.address("camera"))


def read_back(server, path, n, folder):
    out = folder + "/back.mkv"
    end = time.monotonic() + t.patience(10)
    while time.monotonic() < end: # until it is published
        run = subprocess.run(["ffmpeg", "-v", "error", "-y", "-rtsp_transport", "tcp", "-i",
                              server.address(path), "-c", "copy", "-frames:v", str(n), out],
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=t.LIMIT_S)
        if run.returncode == 0:
            break
        time.sleep(0.2)
    return frames(out)


def pelton(args, daemon, *words, **more):
    return subprocess.Popen([args.bin + "/pelton", *words, "--socket", daemon.socket],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def check_way(args, server, folder):
    clip = folder + "/clip.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s=320x180:r={RATE}", "-frames:v", str(PICTURES), "-c:v", "libx264",
                    "-preset", "veryfast", "-g", str(RATE), "-bf", "0", clip], check=True)
    want = frames(clip)
    config = folder + "/pelton.yaml"
    pathlib.Path(config).write_text(
        f"version: 1\nsources:\n  door: {{uri: \"{server.address('camera')}\"}}\n")
    with server.camera(clip), t.Daemon(args, "--config", config) as daemon:
        publisher = pelton(args, daemon, "pipe", "door", "-f", "rtsp", server.address("door"))
        got = read_back(server, "door", 100, folder)
        check(len(got) == 100 and in_order(got, want),
              f"published and read back: {len(got)} pictures, each the camera's, in order")
        reader = pelton(args, daemon, "pipe", "door", "-frames:v", "50", "-f", "framemd5", "-")
        got = [l.split(",")[-1].strip() for l in reader.communicate()[0].splitlines()
               if l[:1] != "#"]
        check(len(got) == 50 and in_order(got, want),
              f"read as a source: {len(got)} frames, each the camera's, in order")
        server.kill()
        said = publisher.communicate(timeout=t.patience(10))[1]
        check(publisher.returncode != 0 and "check that the server runs" in said,
              f"server killed: who publishes is told: {said.splitlines()[:1]}")
        server.start()
        with server.camera(clip):
            began = time.monotonic()
            reader = pelton(args, daemon, "pipe", "door", "-frames:v", "25", "-f", "null", "-")
            reader.communicate(timeout=t.patience(30))
            check(reader.returncode == 0,
                  f"server again: the source gives frames within {time.monotonic() - began:.1f} s")


def main():
    p = t.parser(__doc__)
    p.add_argument("--server", required=True)
    args = p.parse_args()
    if not shutil.which(args.server):
        print("skipped: no", args.server)
        sys.exit(t.SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(args, folder)
        try:
            check_way(args, server, folder)
        finally:
            server.kill()
    sys.exit(t.finish())


main()
