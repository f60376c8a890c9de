# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of pelton-web: a daemon with simulated cameras, the gateway before it, and
requests with exact bytes.
"""
import http.client, json, pathlib, re, socket, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t # noqa: E402
from peltontest import check

CLIP = str(t.ROOT / "packaging/demo.mp4")


def finish():
    sys.exit(t.finish())


class Web:
    """A pelton-web before a daemon's socket, on a port of its own, ended with the block."""

    def __init__(self, args, daemon_socket, *more):
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(self.folder.name + "/log", "w+")
        self.command = [args.bin + "/pelton-web", "--socket", daemon_socket, "--listen",
                        "127.0.0.1:0", "--log-level", "info", *more]
        self.start()

    def start(self):
        self.log.truncate(0)
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        t.wait_until(lambda: self.place() or self.process.poll() is not None, 5)
        if not self.place() or self.process.poll() is not None:
            raise SystemExit("pelton-web did not start:\n" + self.said())
        self.host, port = self.place()
        self.port = int(port)

    def restart(self):
        """Again at the same port."""
        self.command[self.command.index("--listen") + 1] = f"127.0.0.1:{self.port}"
        self.start()

    def said(self):
        return open(self.log.name, errors="replace").read()

    def place(self):
        """Its log tells the port that it got."""
        found = re.search(r"listening at (\S+):(\d+)", self.said())
        return found.groups() if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(t.patience(5))
        except subprocess.TimeoutExpired:
            self.process.kill()
            check(False, "pelton-web ends when it is told to")

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def ask(self, path, method="GET", body=None, **headers):
        """(status, headers, body) of one request; _ in a header's name stands for -. Where no
        frame came within the gateway's time, it asks again."""
        end = time.monotonic() + t.patience(15)
        while True:
            answer = self.ask_once(path, method, body, **headers)
            if answer[0] != 504 or time.monotonic() > end:
                return answer

    def ask_once(self, path, method, body, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=t.patience(10))
        c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = c.getresponse()
        got = answer.status, answer.headers, answer.read()
        c.close()
        return got

    def json(self, path):
        return json.loads(self.ask(path)[2])

    def raw(self, text, seconds=5):
        """What a connection answers to these bytes, until it is closed or is silent."""
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.settimeout(t.patience(seconds))
            s.sendall(text if isinstance(text, bytes) else text.encode())
            got = b""
            try:
                while part := s.recv(65536):
                    got += part
            except (TimeoutError, ConnectionResetError):
                pass
            return got


def cameras(args, n, size="160x120", fps=10, **more):
    """n simulated cameras, cam0 and on, as arguments of a Daemon. Each has a clip of its own name:
    sources with the same address and settings are one camera."""
    folder = tempfile.TemporaryDirectory()
    cameras.folders.append(folder)
    path = pathlib.Path(folder.name, "cameras.yaml")
    lines = ["version: 1", "sources:"]
    for i in range(n):
        clip = pathlib.Path(folder.name, f"cam{i}.mp4")
        clip.symlink_to(CLIP)
        rest = "".join(f", {key}: {value}" for key, value in more.items())
        lines.append(f'  cam{i}: {{uri: "sim://{clip}", size: {size}, fps: {fps}{rest}}}')
    path.write_text("\n".join(lines) + "\n")
    return ["-c", str(path)]


cameras.folders = [] # they last as long as the test
