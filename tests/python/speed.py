#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the Python package costs for each frame: frames a second, and the reader's CPU time.

  speed.py [--frames N]                       a fake daemon that announces frames at once
  speed.py --clip CLIP [--streams N] [...]    a real one, that decodes the clip again and again

The first one shows the package's own limit on this machine: messages, slots and views, no decoding.
The second one needs peltond in PATH. --touch plane sums the luma of each frame; the default makes
the views and reads one sample of each. Streams are read in turn by one thread.
"""
import argparse, fcntl, os, socket, time

from pythontest import check, finish
import pelton
from pelton import _connection, _daemon, _proto

SLOTS = 32


def layout(width, height):
    """yuv420p, as the daemon announces it."""
    luma, chroma = width * height, width * height // 4
    size = -(-(luma + 2 * chroma) // 4096) * 4096
    planes = [dict(offset=0, stride=width, width=width, height=height)]
    planes += [dict(offset=o, stride=width // 2, width=width // 2, height=height // 2)
               for o in (luma, luma + chroma)]
    return _proto.FormatChanged(epoch=1, slots=SLOTS, pix_fmt="yuv420p", width=width, height=height,
                                planes=planes, slot_size=size, memfd_size=SLOTS * size,
                                time_base=dict(num=1, den=25))


def fake_daemon(sock, frames, width, height):
    """Says what a daemon says. One slot is lent until its Release comes."""
    head = _connection.HEADER
    m = layout(width, height)
    fd = os.memfd_create("pool", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, m.memfd_size)
    fcntl.fcntl(fd, 1033, 0x1 | 0x2 | 0x4 | 0x10)

    def say(kind, body, request=0, about=0, fds=()):
        data = body.SerializeToString()
        socket.send_fds(sock, [head.pack(len(data), kind, len(fds), 0, request, about) + data], fds)

    free, sent, data, about, generation = list(range(SLOTS)), 0, b"", 0, [0] * SLOTS
    while sent < frames or len(free) < SLOTS:
        more, fds, _, _ = socket.recv_fds(sock, 1 << 16, 4)
        for f in fds:
            os.close(f)
        if not more:
            return
        data += more
        while len(data) >= head.size:
            length, kind, _, _, request, object_id = head.unpack_from(data)
            if len(data) < head.size + length:
                break
            body, data = data[head.size:head.size + length], data[head.size + length:]
            if kind == _proto.HELLO:
                say(_proto.WELCOME, _proto.Welcome(proto=1, private_daemon=True), request)
            elif kind == _proto.OPEN:
                about = object_id
                say(_proto.OPEN_REPLY, _proto.OpenReply(info=dict(supported=True)), request, about)
                say(_proto.FORMAT_CHANGED, m, 0, about, [fd])
            elif kind == _proto.RELEASE:
                free.append(_proto.Release.FromString(body).slot)
        out = b""
        while about and free and sent < frames:
            slot = free.pop(0)
            generation[slot] += 1
            now = time.monotonic_ns()
            body = _proto.FrameReady(sequence=sent, epoch=1, slot=slot, pts=sent, dts=sent,
                                     generation=generation[slot], duration=1, received_ns=now,
                                     decoded_ns=now, trace_ns=[now] * 9).SerializeToString()
            out += head.pack(len(body), _proto.FRAME_READY, 0, 0, 0, about) + body
            sent += 1
        if out:
            sock.sendall(out)
    say(_proto.EOS, _proto.Eos(), 0, about)


def fake_streams(args):
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        fake_daemon(theirs, args.frames, *args.size)
        os._exit(0)
    theirs.close()
    connection = _connection.Connection(ours)
    connection.hello("speed", 10)
    _daemon._connections[_daemon.PRIVATE] = connection
    return [pelton.open("fake://clip", policy="lossless")]


def touch(frame, whole):
    planes = frame.planes
    return int(planes[0].sum()) if whole else sum(int(p[0, 0]) for p in planes)


def measure(streams, frames, whole):
    """Frames, seconds, and CPU seconds of this process, after the first frames."""
    live, n, begin, cpu = list(streams), 0, 0.0, 0.0
    warm = min(50, frames // 10) * len(live)
    while live:
        for s in list(live):
            frame = s.read()
            if frame is None:
                live.remove(s)
                continue
            touch(frame, whole)
            frame.close()
            n += 1
            if n == warm:
                begin, cpu = time.monotonic(), time.process_time()
    return n - warm, time.monotonic() - begin, time.process_time() - cpu


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--clip")
    p.add_argument("--streams", type=int, default=1)
    p.add_argument("--frames", type=int, default=20000, help="of each stream")
    p.add_argument("--touch", choices=("sample", "plane"), default="sample")
    p.add_argument("--size", default="1920x1080", help="of the fake daemon's frames")
    p.add_argument("--most", type=float, help="fails above so many ms of CPU time for a frame")
    p.add_argument("--least", type=float, help="fails below so many frames a second")
    args = p.parse_args()
    args.size = tuple(map(int, args.size.split("x")))
    if args.clip:
        streams = [pelton.open(args.clip, loop=True, frames=args.frames)
                   for _ in range(args.streams)]
    else:
        streams = fake_streams(args)
    n, wall, cpu = measure(streams, args.frames, args.touch == "plane")
    print(f"{n} frames of {len(streams)} streams: {n / wall:.0f} a second, {1000 * cpu / n:.4f} ms "
          f"of CPU time a frame")
    if args.most is not None:
        check(1000 * cpu / n < args.most, f"at most {args.most} ms a frame")
    if args.least is not None:
        check(n / wall >= args.least, f"at least {args.least} frames a second")
    finish()


main()
