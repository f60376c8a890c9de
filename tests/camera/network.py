#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Network sources: a real RTSP server (rtsp_server.py; skipped without GStreamer), and servers that
refuse, reset or stay silent.

  network.py NAME...
"""
import concurrent.futures, os, pathlib, socket, struct, subprocess, sys, tempfile
import threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

SKIPS = []
HERE = pathlib.Path(__file__).resolve().parent


class RtspServer:
    def __init__(self, port, path):
        self.process = subprocess.Popen(["/usr/bin/python3", str(HERE / "rtsp_server.py"),
                                         str(port), path], stdout=subprocess.PIPE, text=True)
        self.there = self.process.stdout.readline() == "ready\n"

    def end(self):
        self.process.kill()
        self.process.wait()


def make_clip(args, folder):
    os.makedirs(folder, exist_ok=True)
    path = folder + "/rtsp.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    "testsrc2=size=320x240:rate=25", "-t", "4", "-c:v", "libx264", "-bf", "2",
                    "-g", "25", "-pix_fmt", "yuv420p", path], check=True)
    return path


def hashes(text):
    return [l.split(",")[-1].strip() for l in text.splitlines() if l and l[0] != "#"]


def in_order(part, whole):
    rest = iter(whole)
    return all(h in rest for h in part)


def decode(args, uri):
    command = [args.bin + "/pelton", "decode", "--device", "cpu", "-loglevel", "error", "-i", uri,
               "-f", "framemd5", "-"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=args.timeout)


def watch(args, *words):
    p = subprocess.run([args.bin + "/camera_watch", *words], capture_output=True, text=True,
                       timeout=args.timeout)
    return p.stdout.splitlines()


def rtsp(args, folder):
    """Every frame is the file's; what the server says has an exit code; a server that is killed and
    comes back keeps its readers."""
    clip, port = make_clip(args, folder), t.free_port()
    base = f"rtsp://127.0.0.1:{port}/"
    server = RtspServer(port, clip)
    if not server.there:
        SKIPS.append("rtsp")
        print("skipped: rtsp: Debian's gir1.2-gst-rtsp-server-1.0, python3-gi and "
              "gstreamer1.0-plugins-good are not there")
        return
    reference, stretch = hashes(t.ffmpeg_framemd5(args, clip)), t.Stretch()
    p = decode(args, base + "clip") # frames whose RTP time comes twice are left out, as ffmpeg does
    got = hashes(p.stdout)
    t.check_time(check, len(got) >= 0.9 * len(reference), stretch, f"rtsp: {len(got)} frames")
    check(got and in_order(got, reference),
          f"rtsp: {len(got)} of {len(reference)} frames, each bit by bit the file's "
          f"{p.stderr.strip()}")
    for uri, code, words in ((base + "nothing", 4, "no such stream"),
                             (base + "locked", 9, "another user or password"),
                             (base.replace("//", "//me:wrong@") + "locked", 9,
                              "//me:***@127.0.0.1")):
        p = decode(args, uri)
        check(p.returncode == code and words in p.stderr and "wrong" not in p.stderr,
              f"rtsp: exit code {p.returncode}: {p.stderr.splitlines()[:1]}")
    p = decode(args, base.replace("//", "//me:secret@") + "locked")
    check(p.returncode == 0 and in_order(hashes(p.stdout), reference),
          f"rtsp: with the password: {len(hashes(p.stdout))} frames {p.stderr.strip()}")
    config = folder + "/rtsp.yaml"
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  door: {{uri: \"{base}clip\"}}\n")
    with t.Daemon(args, "-c", config) as daemon:
        out = open(folder + "/rtsp.out", "w+")
        reader = subprocess.Popen([args.bin + "/camera_watch", "--socket", daemon.socket,
                                   "source:door"], stdout=out)
        epochs = lambda: {l.split()[12] for l in open(out.name).read().splitlines()
                          if l.startswith("frame") and l.count(" ") >= 13}
        t.wait_until(lambda: len(epochs()) == 1, 10)
        server.end()
        time.sleep(1.5)
        server = RtspServer(port, clip)
        t.wait_until(lambda: len(epochs()) == 2, 10)
        time.sleep(0.5)
        stays = reader.poll() is None
        reader.terminate()
        reader.wait(t.LIMIT_S)
        lines = [l.split() for l in open(out.name).read().splitlines()]
    server.end()
    frames = [(int(w[1]), int(w[12])) for w in lines if w[0] == "frame" and len(w) >= 14]
    epochs = sorted({e for _, e in frames})
    check(stays and len(epochs) >= 2 and all(w[0] == "frame" for w in lines),
          f"rtsp: killed and started again: {len(frames)} frames in epochs {epochs}, the reader "
          f"stays")
    check([n for n, _ in frames] == sorted({n for n, _ in frames}), "rtsp: sequence numbers go on")


class Rude(threading.Thread):
    """Accepts and resets; counts."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.times = []

    def run(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.times.append(time.monotonic())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()


def resets(args, folder):
    """A camera that accepts and resets: a raw address fails at once, a named one is tried with
    longer and longer waits."""
    rude = Rude()
    rude.start()
    uri = f"rtsp://127.0.0.1:{rude.port}/stream"
    started, stretch = time.monotonic(), t.Stretch()
    p = decode(args, uri)
    took = time.monotonic() - started
    t.check_time(check, took < 5, stretch, f"resets: refused after {took:.1f} s")
    check(p.returncode == 4 and "closed the connection" in p.stderr,
          f"resets: exit code {p.returncode}: {p.stderr.splitlines()[:1]}")
    rude.times.clear()
    config = folder + "/rude.yaml"
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  door: {{uri: \"{uri}\"}}\n")
    with t.Daemon(args, "-c", config) as daemon:
        stretch = t.Stretch()
        lines = watch(args, "--socket", daemon.socket, "--patience", "6", "source:door")
    gaps = [b - a for a, b in zip(rude.times, rude.times[1:])]
    check(lines and lines[0].startswith("error -11") and "closed the connection" in lines[0],
          f"resets: {lines[:1]}")
    check(1 <= len(rude.times) <= 12, f"resets: {len(rude.times)} connections, not more than 12")
    t.check_time(check, gaps and max(gaps) > 0.9, stretch,
          f"resets: {len(rude.times)} connections in 6 s, the longest wait "
          f"{max(gaps or [0]):.1f} s")


def codes(args, folder):
    """Each failure by its number: of the address, of the network."""
    silent = socket.create_server(("127.0.0.1", 0))
    cases = [(f"rtsp://127.0.0.1:{t.free_port()}/x", -21, "refused"),
             ("rtsp://no-such-host.invalid/x", -22, "name is not known"),
             (f"tcp://127.0.0.1:{t.free_port()}", -21, "refused"), ("v4l2:///dev/no-such-device",
                                                                  -18, "no such device")]
    for uri, code, words in cases:
        lines = watch(args, uri)
        check(len(lines) == 1 and lines[0].startswith(f"error {code} ") and words in lines[0],
              f"codes: {lines}")
    started, stretch = time.monotonic(), t.Stretch()
    lines = watch(args, f"rtsp://127.0.0.1:{silent.getsockname()[1]}/x")
    took = time.monotonic() - started
    t.check_time(check, took < 25, stretch, f"codes: it ended after {took:.0f} s")
    check(len(lines) == 1 and lines[0].startswith("error -11 ") and took > 8,
          f"codes: a server that says nothing: {lines} after {took:.0f} s")


class Leading(threading.Thread):
    """Answers each request with the same words; keeps the requests."""

    def __init__(self, host, answer):
        super().__init__(daemon=True)
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.answer, self.requests = answer, []

    def run(self):
        while True:
            peer, _ = self.listener.accept()
            with peer:
                while request := peer.recv(4096).decode(errors="replace"):
                    self.requests.append(request)
                    number = request.partition("CSeq: ")[2].split("\r")[0]
                    peer.sendall(self.answer.replace("CSEQ", number).encode())
                    if request.startswith("GET"):
                        break


def leads(args, folder):
    """Servers that lead to a file here, or to a host that nobody has named: they get nothing."""
    inner = Leading("127.0.0.2", "HTTP/1.0 404 no\r\n\r\n")
    inner.start()
    secret = make_clip(args, folder + "/secret")
    at = f"127.0.0.2:{inner.port}/x.mp4"
    moved = "RTSP/1.0 302 Moved\r\nCSeq: CSEQ\r\nLocation: %s\r\n\r\n"
    page = "HTTP/1.0 302 Moved\r\nLocation: %s\r\n\r\n"
    playlist = ("HTTP/1.0 200 OK\r\nContent-Type: application/vnd.apple.mpegurl\r\n\r\n#EXTM3U\n"
                "#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n%s\n#EXT-X-ENDLIST\n")
    cases = [("rtsp", moved, f"rtsp://{at}"), ("rtsp", moved, f"file://{secret}"),
             ("http", page, f"http://{at}"), ("http", page, f"file://{secret}"),
             ("http", playlist, f"http://{at}"), ("http", playlist, f"file://{secret}"),
             ("http", playlist, f"concat:{secret}"), ("http", playlist, f"subfile,,:{secret}")]
    for scheme, answer, to in cases:
        server = Leading("127.0.0.1", answer % to)
        server.start()
        p = decode(args, f"{scheme}://127.0.0.1:{server.port}/a.m3u8")
        check(p.returncode != 0 and not hashes(p.stdout) and server.requests,
              f"leads: {answer[:8]} to {to}: {p.stderr.splitlines()[:1]}")
    check(not inner.requests, f"leads: the inner host was asked nothing {inner.requests[:1]}")
    for uri in (f"concat://{secret}", f"subfile://,,:{secret}", f"cache://{secret}",
                "data://text,x"):
        p = decode(args, uri)
        check(p.returncode != 0 and not hashes(p.stdout),
              f"leads: {uri.split(':')[0]}: {p.stderr.splitlines()[:1]}")
    p = decode(args, f"file://{secret}")
    check(len(hashes(p.stdout)) == 100, f"leads: a file's own address: {p.stderr.strip()}")


TESTS = {f.__name__: f for f in (codes, leads, resets, rtsp)}


def main():
    p = t.parser(__doc__)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    names = args.names or list(TESTS)
    # they wait most of the time
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(3) as pool:
        running = [pool.submit(TESTS[name], args, folder) for name in names]
        for one in running:
            one.result()
    return t.finish() or (t.SKIPPED if len(SKIPS) == len(names) else 0)


if __name__ == "__main__":
    sys.exit(main())
