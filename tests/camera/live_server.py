# SPDX-License-Identifier: BSD-2-Clause
"""A camera on loopback: MPEG-TS by HTTP or plain TCP at the clip's own rate, the same moment for
all clients. It counts its connections."""
import socket, subprocess, threading, time

TS, VIDEO = 188, 0x100


def make_units(path, seconds, gop, *more, size="96x64", rate=25):
    """Transport packets of each access unit of a clip, one key picture every gop pictures."""
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s={size}:r={rate}", "-frames:v", str(seconds * rate), "-c:v",
                    "libx264", "-preset", "veryfast", "-g", str(gop), "-keyint_min", str(gop),
                    "-sc_threshold", "0", "-pix_fmt", "yuv420p", *more, "-muxdelay", "0",
                    "-muxpreload", "0", "-f", "mpegts", path],
                   check=True, capture_output=True)
    data, units = open(path, "rb").read(), [b""]
    for i in range(0, len(data), TS):
        packet = data[i:i + TS]
        pid, begins = int.from_bytes(packet[1:3], "big") & 0x1fff, packet[1] & 0x40
        if begins and pid == VIDEO and any(int.from_bytes(units[-1][j + 1:j + 3], "big") & 0x1fff
                                           == VIDEO for j in range(0, len(units[-1]), TS)):
            units.append(b"")
        units[-1] += packet
    return units


class LiveServer:
    """Its time begins with its first client."""

    def __init__(self, units, rate=25, port=0, scheme="http"):
        self.units, self.rate, self.connections, self.began = units, rate, 0, None
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.uri = f"{scheme}://127.0.0.1:{self.port}/live.ts"
        self.peers, self.ended = [], False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.began = self.began or time.monotonic()
            self.connections += 1
            self.peers.append(peer)
            threading.Thread(target=self.serve, args=[peer], daemon=True).start()

    def now(self):
        """The number of the unit that is sent at this moment."""
        return int((time.monotonic() - self.began) * self.rate)

    def serve(self, peer):
        try:
            if self.uri.startswith("http"):
                peer.recv(4096)
                peer.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n")
            for i in range(self.now(), len(self.units)):
                time.sleep(max(0, self.began + i / self.rate - time.monotonic()))
                if self.ended:
                    break
                peer.sendall(self.units[i])
        except OSError:
            pass # the client has gone
        peer.close()

    def end(self):
        self.ended = True
        for s in [self.listener, *self.peers]:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass # it has ended by itself
        self.listener.close()
