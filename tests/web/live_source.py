# SPDX-License-Identifier: BSD-2-Clause
"""A network camera for the tests of pelton-web: MPEG-TS on a port of loopback, each clip again and
again at its own speed, for every client.
"""
import socket, subprocess, threading

COLOUR = ["-color_range", "tv", "-colorspace", "smpte170m", "-color_primaries", "smpte170m",
          "-color_trc", "smpte170m"]


def make_clip(args, path, size, fps=15, seconds=4):
    """A scene that stands still, a key picture a second: each frame is like the first. Its edges
    are soft, as browsers interpolate chroma in ways of their own."""
    scene = (f"testsrc2=size={size}:rate={fps},loop=loop=-1:size=1:start=0,gblur=sigma=3,"
             "scale=out_color_matrix=bt601:out_range=tv")
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", scene,
                    *COLOUR, "-t", str(seconds), "-c:v", "libx264", "-preset", "veryfast", "-crf",
                    "16", "-bf", "0", "-g", str(fps), "-pix_fmt", "yuv420p", path], check=True)
    return path


class LiveSource:
    """It plays `clip` until switch() names another one: the connections stay."""

    def __init__(self, args, clip):
        self.ffmpeg, self.clip, self.clients = args.ffmpeg, clip, {}
        self.lock, self.listener, self.port = threading.RLock(), None, 0
        self.begin()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def uri(self):
        return f"tcp://127.0.0.1:{self.port}"

    def begin(self):
        """At the same port as before, if there was one."""
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.clients[peer] = self.feed(peer)

    def feed(self, peer):
        return subprocess.Popen([self.ffmpeg, "-v", "quiet", "-nostdin", "-re", "-stream_loop",
                                 "-1", "-i", self.clip, "-c", "copy", "-flush_packets", "1",
                                 "-muxdelay", "0", "-f", "mpegts", "-"], stdout=peer.fileno())

    def switch(self, clip):
        """The next bytes of each connection are of another clip."""
        with self.lock:
            self.clip = clip
            for peer, feeder in self.clients.items():
                feeder.kill()
                feeder.wait()
                self.clients[peer] = self.feed(peer)

    def end(self):
        """As a camera that is unplugged."""
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        with self.lock:
            for peer, feeder in self.clients.items():
                feeder.kill()
                feeder.wait()
                peer.close()
            self.clients = {}
