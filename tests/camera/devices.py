#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Capture devices made of ioctls (v4l2_shim.c), through the daemon: cameras that develop by
themselves, JPEG, H.264, memory, plugging in and out. vivid.py tests the kernel's own devices.

  devices.py NAME...
"""
import concurrent.futures, json, os, pathlib, random, signal, subprocess, sys, tempfile
import threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

WIDTH, HEIGHT = 64, 48


def describe(path, **keys):
    keys = {"width": WIDTH, "height": HEIGHT, "fps": 60, **keys}
    with open(path + ".new", "w") as f:
        f.writelines(f"{k}={v}\n" for k, v in keys.items())
    os.replace(path + ".new", path)


def log(path):
    return open(path + ".log").read().splitlines() if os.path.exists(path + ".log") else []


def forget(path):
    if os.path.exists(path + ".log"):
        os.remove(path + ".log")


def environment(args, prefix):
    """--preload is AddressSanitizer's library, which has to come first; what it says is looked for
    in the end, as a worker that dies is started again."""
    env = {**os.environ, "V4L2_SHIM": prefix,
           "LD_PRELOAD": ":".join(filter(None, [args.preload, args.bin + "/v4l2_shim.so"]))}
    return ({**env, "ASAN_OPTIONS": f"detect_leaks=0:log_path={args.folder}/asan"} if args.preload
            else env)


def pipe(args, uri, fmt, frames, env):
    command = [args.bin + "/pelton", "pipe", "--device", "cpu", "-loglevel", "error", uri, "-f",
               "rawvideo", "--pix-fmt", fmt, "-frames:v", str(frames)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=env,
                          timeout=args.timeout)


def drawn(fourcc, sequence, fmt):
    """What the shim draws, as a reader gets it: chroma of two rows is averaged, halves up."""
    w, h = WIDTH, HEIGHT
    luma = bytearray(16 + (x + 2 * y + sequence) % 220 for y in range(h) for x in range(w))
    cb = bytearray(64 + x % 128 for y in range(h // 2) for x in range(w // 2))
    cr = bytearray(240 - (h // 2 - 1 - y) % 200 for y in range(h // 2) for x in range(w // 2))
    if fmt == "yuv420p":
        return bytes(luma + cb + cr)
    if fmt == "gray": # always of full range
        return bytes(min(255, max(0, round((v - 16) * 255 / 219))) for v in luma)
    return bytes(luma + bytearray(b for pair in zip(cb, cr) for b in pair))


def as_drawn(frame, fourcc, fmt):
    """Whether a frame is one that the shim draws."""
    most = 1 if fmt == "gray" else 0
    for n in range(220):
        luma = 16 + n if fmt != "gray" else round(n * 255 / 219)
        if abs(frame[0] - luma) <= most:
            wanted = drawn(fourcc, n, fmt)
            if len(frame) == len(wanted) and max(abs(x - y) for x, y in zip(frame, wanted)) <= most:
                return True
    return False


def wrong_pixels(rgb, sequence):
    """BT.601, limited range."""
    wrong = 0
    for y in range(0, HEIGHT, 5):
        for x in range(0, WIDTH, 7):
            luma = (x + 2 * y + sequence) % 220 / 219 * 255
            cb, cr = (64 + x // 2 % 128 - 128) / 224 * 255, (240 - (HEIGHT // 2 - 1 - y // 2) %
                                                             200 - 128) / 224 * 255
            wanted = (luma + 1.402 * cr, luma - 0.344136 * cb - 0.714136 * cr, luma + 1.772 * cb)
            wrong += any(abs(min(255, max(0, v)) - got) > 0.51 for v,
                         got in zip(wanted, rgb[3 * (y * WIDTH + x):][:3]))
    return wrong


def pictures(args, folder):
    """Y, Cb, Cr in every layout arrives as the device has drawn it."""
    path = folder + "/video0"
    env = environment(args, path)
    for fourcc in ("YUYV", "UYVY", "NV12", "NV21", "YU12"):
        for fmt, padding in (("yuv420p", 0), ("nv12", 32), ("gray", 0)):
            describe(path, formats=fourcc, stride=WIDTH * (2 if fourcc in ("YUYV", "UYVY")
                                                           else 1) + padding)
            p = pipe(args, "v4l2://" + path, fmt, 3, env)
            size = len(drawn(fourcc, 0, fmt))
            got = [p.stdout[i:i + size] for i in range(0, len(p.stdout), size)]
            good = len(got) == 3 and all(as_drawn(g, fourcc, fmt) for g in got)
            check(good, f"pictures: {fourcc} to {fmt}: {len(got)} frames, as drawn "
                        f"{p.stderr.decode().strip()}")
    describe(path, formats="YUYV")
    p = pipe(args, "v4l2://" + path, "rgb24", 1, env)
    check(len(p.stdout) == 3 * WIDTH * HEIGHT,
          f"pictures: YUYV to rgb24: {len(p.stdout)} bytes {p.stderr.decode().strip()}")
    wrong = min(wrong_pixels(p.stdout, n)
                for n in range(220)) if len(p.stdout) == 3 * WIDTH * HEIGHT else -1
    check(wrong == 0, f"pictures: YUYV to rgb24: {wrong} pixels are not what BT.601 says")


def planes(args, folder):
    """Multi-planar devices, whose frames come in one piece of memory or several, mapped or written
    to our memory."""
    path = folder + "/video6"
    env = environment(args, path)
    for fourcc, offset, can, wanted in (("YUYV", 0, 1, "memory 2"), ("NV12", 64, 1, "memory 2"),
                                        ("YU12", 64, 1, "memory 1"), ("NM12", 0, 1, "memory 1"),
                                        ("NM21", 128, 0, "memory 1"), ("YM12", 64, 0, "memory 1"),
                                        ("RGGB", 64, 1, "memory 2")):
        fmt = "yuv420p" if fourcc != "RGGB" else "gray"
        describe(path, formats=fourcc, multi=1, offset=offset, userptr=can,
                 stride=WIDTH * (2 if fourcc == "YUYV" else 1) + 32)
        forget(path)
        p = pipe(args, "v4l2://" + path, fmt, 3, env)
        size = WIDTH * HEIGHT * 3 // 2 if fmt == "yuv420p" else WIDTH * HEIGHT
        got = [p.stdout[i:i + size] for i in range(0, len(p.stdout), size)]
        drawn_so = fmt == "gray" or all(as_drawn(g, fourcc, fmt) for g in got)
        rising = fmt != "gray" or all(g[WIDTH * 20 + 8] < g[WIDTH * 20 + 40] for g in got)
        check(len(got) == 3 and drawn_so and rising and wanted in log(path),
              f"planes: {fourcc}, {offset} bytes before: {len(got)} frames, as drawn, "
              f"{log(path)[-1:]} {p.stderr.decode().strip()}")


def lies(args, folder):
    """A driver that says what cannot be: its frames are dropped and counted, its formats
    refused."""
    path = folder + "/video7"
    env = environment(args, path)
    for fourcc, lie, wanted in (("NM12", "offset", b""), ("NM12", "used", b""),
                                ("YUYV", "used", b""), ("NM12", "stride", b"cannot be developed"),
                                ("YM12", "pieces", b"cannot be developed"),
                                ("NV12", "index", b"a buffer that is not there")):
        describe(path, formats=fourcc, multi=1, lie=lie)
        command = [args.bin + "/camera_watch", "--patience", "6", "v4l2://" + path]
        p = subprocess.run(command, capture_output=True, env=env, timeout=args.timeout)
        lines = p.stdout.splitlines()
        good = not any(l.startswith(b"frame")
                       for l in lines) and p.returncode == 1 and wanted in p.stdout + p.stderr
        check(good, f"lies: {fourcc}, {lie}: exit code {p.returncode}, {lines[:1]} "
                    f"{p.stderr.decode().splitlines()[:1]}")


def shared(args, folder):
    """Several readers of one camera, some of the same format: each gets whole frames, one for each
    sequence number. (The shim stands for being opened once at a time: with a format nobody opens
    the device to ask for it.)"""
    path, config = folder + "/video9", folder + "/shared.yaml"
    describe(path, formats="YUYV", fps=30)
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  cam: {{uri: \"v4l2://{path}\", format: YUYV}}\n")
    with t.Daemon(args, "-c", config, env=environment(args, path)) as daemon:
        # so that the device stays open, whoever comes late
        holder = Reader(args, daemon.socket, "source:cam")
        holder.wait_frame(time.monotonic(), 20)
        wanted = [("nv12", 20), ("yuv420p", 50), ("nv12", 60), ("gray", 40), ("nv12", 40),
                  ("yuv420p", 20)]
        readers = [(fmt, n, subprocess.Popen([args.bin + "/pelton", "pipe", "--socket",
                                              daemon.socket, "-loglevel", "error", "cam", "-f",
                                              "rawvideo", "--pix-fmt", fmt,
                                              "-frames:v", str(n)], stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE)) for fmt, n in wanted]
        def read(reader):
            """One stands still for a while, in which the newest frames replace those before."""
            if reader is not readers[2]:
                return reader[2].communicate(timeout=args.timeout)[0]
            # past the buffer, which communicate() does not look into
            begin = os.read(reader[2].stdout.fileno(), 1)
            reader[2].send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            reader[2].send_signal(signal.SIGCONT)
            return begin + reader[2].communicate(timeout=args.timeout)[0]

        with concurrent.futures.ThreadPoolExecutor(len(readers)) as pool:
            for (fmt, n, _), out in zip(readers, pool.map(read, readers)):
                size = len(drawn("YUYV", 0, fmt))
                got = [out[i:i + size] for i in range(0, len(out), size)]
                good = len(got) == n and all(as_drawn(g, "YUYV", fmt)
                                             for g in got) and all(a[0] != b[0] for a,
                                                                   b in zip(got, got[1:]))
                check(good, f"shared: {fmt}: {len(got)} frames of {n}, as drawn")
        holder.end()


def two_names(args, folder):
    """Two sources of one device: with the same settings they share the camera. With others the
    second waits, names the cause, and sets nothing until the device is free."""
    path, config = folder + "/video10", folder + "/names.yaml"
    describe(path, formats="YUYV", auto=0)
    cam = f'{{uri: "v4l2://{path}", format: YUYV'
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  one: {cam}}}\n  same: {cam}}}\n"
                f"  other: {cam}, controls: exposure_time_absolute=77}}\n")
    with t.Daemon(args, "-c", config, env=environment(args, path)) as daemon:
        readers = {}
        for name in ("one", "same", "other"):
            readers[name] = Reader(args, daemon.socket, "source:" + name)
            came = name == "other" or readers[name].wait_frame(time.monotonic(), 20)
            check(came, f"two names: {name}: a frame")
        command = [args.bin + "/pelton", "sources", "--json", "--socket", daemon.socket]
        listed = lambda: json.loads(subprocess.check_output(command, timeout=args.timeout))
        busy = t.wait_until(lambda: [s for s in listed()
                                     if s["name"] == "other" and "busy" in s["cause"]], 20)
        check(busy and not readers["other"].frames_since(0) and "time 77" not in log(path),
              f"two names: other: {busy and busy[0]['cause']!r}, the device heard {log(path)}")
        check(readers["one"].wait_frame(time.monotonic(), 20), "two names: the first goes on")
        readers["one"].end()
        check(readers["same"].wait_frame(time.monotonic(), 20), "two names: so does its equal")
        readers["same"].end()
        check(readers["other"].wait_frame(time.monotonic(), 40) and "time 77" in log(path),
              f"two names: other, when the device is free: {log(path)[-2:]}")
        readers["other"].end()


def choice(args, folder):
    """Without a format: the preferred one that is fast enough."""
    path = folder + "/video1"
    env = environment(args, path)
    cases = [("YUYV,NV12", "30", 30, "NV12"), ("MJPG,YUYV", "60,10", 30, "MJPG"),
             ("MJPG,YUYV", "60,10", 10, "YUYV"), ("YUYV,RGGB", "60,60", 60, "SRGGB8"),
             ("GREY,UYVY", "30", 30, "UYVY"), (",".join(f"X{n:03}" for n in range(80)) + ",RGGB",
                                               "30", 30, "SRGGB8")]
    for formats, fps, wish, wanted in cases:
        describe(path, formats=formats, fps=fps)
        p = subprocess.run([args.bin + "/pelton", "info", "--device", "cpu",
                            f"v4l2://{path}?fps={wish}"], capture_output=True, text=True, env=env,
                            timeout=args.timeout)
        check(wanted + "," in p.stdout,
              f"choice: of {formats[:20]} at {fps} fps for {wish} fps: {wanted} {p.stderr.strip()}")


def control(args, folder):
    """Its exposure is the camera's own business until somebody sets it, or asks for exposure
    control."""
    path = folder + "/video2"
    env = environment(args, path)
    describe(path, formats="YUYV", auto=1)
    for more, uri, wanted in ((["--frames", "20"], "", None),
                              (["--frames", "20", "--set", "ExposureTime=5000"], "",
                               ["auto 1", "time 50"]),
                              (["--frames", "5"], "?ae.enable=yes", ["auto 1"])):
        forget(path)
        p = subprocess.run([args.bin + "/camera_watch", *more, "v4l2://" + path + uri],
                           capture_output=True, text=True, env=env, timeout=args.timeout)
        said = [l for l in log(path) if not l.startswith("memory")]
        frames = [l.split() for l in p.stdout.splitlines() if l.startswith("frame")]
        good = (said == [] and all(float(f[2]) == 0 for f in frames) if wanted is None
                else said[:len(wanted)] == wanted)
        check(good and len(frames) == int(more[1]),
              f"control: {' '.join(more)} {uri}: {len(frames)} frames, the device heard {said[:3]}")
        cells = list(map(int, frames[-1][16].split(",")))
        light = sum(n * (i + 0.5) for i, n in enumerate(cells)) / 64 / sum(cells)
        # linear levels: their mean is at least that of the toned ones, made linear
        check(float(frames[-1][5]) - 0.009 < light < float(frames[-1][5]) ** 0.45,
              f"control: linear light {light:.3f} of a toned picture, mean {frames[-1][5]}")
        if wanted == ["auto 1", "time 50"]:
            check(float(frames[-1][2]) == 5000, f"control: exposure in effect {frames[-1][2]}")


def jpeg_frames(args, folder, sampling, count):
    """Frames of FFmpeg's encoder, and what FFmpeg decodes them to, as yuv420p of full range."""
    path = f"{folder}/{sampling}.mjpeg"
    source = ["-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}"]
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", *source, "-frames:v", str(count),
                    "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", sampling, path], check=True)
    data = open(path, "rb").read()
    cuts = [i for i in range(len(data)) if data[i:i + 3] == b"\xff\xd8\xff"] + [len(data)]
    frames = [data[a:b] for a, b in zip(cuts, cuts[1:])]
    planes = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", path, "-f", "rawvideo",
                             "-pix_fmt", sampling, "-"], capture_output=True, check=True).stdout
    return frames, planes


def write_stream(path, frames):
    with open(path, "wb") as f:
        for frame in frames:
            f.write(len(frame).to_bytes(4, "little") + frame)


def jpeg(args, folder):
    """JPEG of every sampling, exactly as FFmpeg decodes it; damaged frames are dropped and
    counted."""
    path, stream = folder + "/video3", folder + "/stream3"
    env = environment(args, path)
    luma, quarter = WIDTH * HEIGHT, WIDTH * HEIGHT // 4
    for sampling in ("yuvj420p", "yuvj422p", "yuvj444p"):
        frames, planes = jpeg_frames(args, folder, sampling, 4)
        write_stream(stream, frames)
        describe(path, formats="MJPG", stream=stream)
        p = pipe(args, "v4l2://" + path, "yuv420p", 4, env)
        size, one = luma + 2 * quarter, len(planes) // 4
        got = [p.stdout[i:i + size] for i in range(0, len(p.stdout), size)]
        theirs = [planes[i:i + one] for i in range(0, len(planes), one)]
        same = lambda a, b: a[:luma] == b[:luma] and (sampling != "yuvj420p" or a == b)
        check(len(got) == 4 and all(any(same(g, f) for f in theirs) for g in got),
              f"jpeg: {sampling}: {len(got)} frames as FFmpeg's {p.stderr.decode().strip()}")
    frames, _ = jpeg_frames(args, folder, "yuvj420p", 4)
    write_stream(stream, [frames[0], frames[1][:300], b"\0" * 900, frames[2], b"\xff\xd8"])
    describe(path, formats="MJPG", stream=stream)
    p = subprocess.run([args.bin + "/camera_watch", "--frames", "20", "v4l2://" + path],
                       capture_output=True, text=True, env=env, timeout=args.timeout)
    lines = [l.split() for l in p.stdout.splitlines() if l.startswith("frame")]
    dropped = int(lines[-1][9]) - int(lines[0][9]) if lines else 0
    check(len(lines) == 20 and dropped >= 19,
          f"jpeg: {len(lines)} frames, {dropped} damaged ones dropped "
          f"{p.stdout.splitlines()[-1:] if not lines else ''}")


class Reader:
    """camera_watch in the background, its lines with the time they came."""

    def __init__(self, args, socket, uri, patience=60, command=None, env=None):
        command = command or [args.bin + "/camera_watch", "--socket", socket, "--patience",
                              str(patience), uri]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        self.lines = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.split()))

    def frames_since(self, moment, size=None):
        return [at for at, words in list(self.lines) if words[0] == "frame" and at >= moment
                and size in (None, words[14])]

    def wait_frame(self, since, seconds):
        """Seconds from then until a frame; or None. Where others run it waits for longer than
        these seconds."""
        frames = t.wait_until(lambda: self.frames_since(since), seconds)
        return frames[0] - since if frames else None

    def wait_size(self, since, size, seconds):
        """The same of a frame of that size."""
        frames = t.wait_until(lambda: self.frames_since(since, size), seconds)
        return frames[0] - since if frames else None

    def wait_quiet(self, seconds):
        """Until no frame has come for so long; whether that was ever so."""
        began = time.monotonic()
        last = lambda: max([began] + self.frames_since(began))
        return t.wait_until(lambda: time.monotonic() - last() > seconds, 2 * seconds)

    def end(self):
        self.process.terminate()
        self.process.wait(t.patience(10))


def worker_seconds(daemon):
    """CPU time of the daemon and its workers."""
    pids = [daemon.process.pid] + t.workers(daemon.process.pid)
    return sum(sum(map(int, open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[11:13]))
               for p in pids) / os.sysconf("SC_CLK_TCK")


def idle_seconds(daemon, seconds):
    """CPU time of the daemon and its workers in that time where it is below a twentieth, as a
    text."""
    spent = worker_seconds(daemon)
    time.sleep(seconds)
    spent = worker_seconds(daemon) - spent
    return f"{spent:.2f}" if spent < seconds / 20 else None


def plug(folder, number, link):
    describe(f"{folder}/video{number}", formats="YUYV")
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink(f"../../video{number}", link)


def unplug(folder, number, link):
    os.remove(link)
    os.removedirs(os.path.dirname(link))
    os.remove(f"{folder}/video{number}")


def plugging(args, folder):
    """A named camera that is absent at the start, comes, goes, and comes back under another number;
    its reader stays. A raw address fails at once."""
    home = folder + "/plugs"
    os.makedirs(home)
    link, config = home + "/v4l/by-id/camera", folder + "/plugging.yaml"
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  cam: {{uri: \"v4l2://{link}\"}}\n")
    started, stretch = time.monotonic(), t.Stretch()
    p = pipe(args, "v4l2://" + link, "gray", 1, environment(args, home))
    took = time.monotonic() - started
    check(p.returncode == 4 and b"no such device" in p.stderr,
          f"plugging: a raw address: exit code {p.returncode}, "
          f"{p.stderr.decode().splitlines()[:1]}")
    t.check_time(check, took < 10, stretch, f"plugging: refused after {took:.1f} s")
    with t.Daemon(args, "-c", config, env=environment(args, home)) as daemon:
        reader = Reader(args, daemon.socket, "source:cam")
        time.sleep(3) # the first waits are over, the next is of seconds
        spent = t.wait_until(lambda: idle_seconds(daemon, 2), 2)
        check(spent and not reader.lines,
              f"plugging: absent: {spent or 'too many'} s of CPU in 2 s {reader.lines[:1]}")
        out = subprocess.run([args.bin + "/pelton", "info", "--socket", daemon.socket, "--timeout",
                              "1", "cam"], capture_output=True, text=True, timeout=args.timeout)
        check(out.returncode == 11 and "no such device" in out.stderr,
              f"plugging: info: exit code {out.returncode}, {out.stderr.splitlines()[:1]}")
        for number in (3, 8):
            now, stretch = time.monotonic(), t.Stretch()
            plug(home, number, link)
            after = reader.wait_frame(now, 10)
            check(after is not None, f"plugging: video{number} is there: a frame")
            t.check_time(check, after is not None and after < 2, stretch,
                         f"plugging: it came after {after and round(after, 2)} s")
            time.sleep(0.5)
            unplug(home, number, link)
            quiet = reader.wait_quiet(1.5)
        check(quiet and reader.process.poll() is None, "plugging: the reader stays without frames")
        reader.end()


def changes(args, folder):
    """A camera whose picture changes size, or its format, while it streams or while it is away:
    readers stay, with a new epoch, and sequence numbers go on. Where a size was asked for, the
    cause says what there is, until it is back."""
    home, config = folder + "/changes", folder + "/changes.yaml"
    small, large = dict(width=64, height=48), dict(width=96, height=64)
    os.makedirs(home)
    path = home + "/video0"
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  any: {{uri: \"v4l2://{path}\"}}\n  yuyv: "
                f"{{uri: \"v4l2://{path}\", format: YUYV}}\n"
                f"  fixed: {{uri: \"v4l2://{path}\", format: YUYV, size: 64x48}}\n")

    def cause(daemon, name, words):
        """What the source says, once these words are in it."""
        def said():
            out = subprocess.run([args.bin + "/pelton", "sources", "--json", "--socket",
                                  daemon.socket], capture_output=True, text=True,
                                  timeout=args.timeout)
            return {s["name"]: s for s in json.loads(out.stdout)}[name]["cause"]

        if t.wait_until(lambda: words in said(), 10):
            return said()
        return "never; " + said()

    def go_on(what, readers, size, change, within=6):
        now = time.monotonic()
        change()
        waits = [r.wait_size(now, size, within) for r in readers]
        numbers = [[int(w[1]) for _, w in list(r.lines) if w[0] == "frame"] for r in readers]
        good = (all(w is not None for w in waits) and all(n == sorted(set(n)) for n in numbers) and
                all(r.process.poll() is None for r in readers))
        check(good, f"changes: {what}: frames of {size} after {[w and round(w, 2) for w in waits]} "
                    f"s")

    describe(path, formats="YUYV", **small)
    with t.Daemon(args, "-c", config, env=environment(args, home)) as daemon:
        # with a format: see shared()
        readers = [Reader(args, daemon.socket, "source:yuyv") for _ in range(2)]
        def control(*words):
            return subprocess.run([args.bin + "/pelton", *words, "--socket", daemon.socket],
                                  capture_output=True, text=True, timeout=args.timeout).stdout

        go_on("first", readers, "64x48", lambda: None, 20)
        control("set", "yuyv", "ExposureValue=-1.5", "ScalerCrop=0,0,64,48")
        go_on("larger", readers, "96x64", lambda: describe(path, formats="YUYV", **large))
        said = control("get", "yuyv", "ExposureValue")
        check(said.startswith("ExposureValue=-1.5 "), f"changes: a control lasts: {said!r}")
        go_on("smaller, and nothing says so", readers, "64x48",
              lambda: describe(path, formats="YUYV", silent=1, **small), 12)
        epochs = [len({w[12] for _, w in r.lines if w[0] == "frame"}) for r in readers]
        check(epochs == [3, 3], f"changes: epochs of both readers: {epochs}")
        for r in readers:
            r.end()
        readers = [Reader(args, daemon.socket, "source:any")]
        go_on("one reader", readers, "64x48", lambda: None, 20)
        describe(path, formats="YUYV", gone=1, **small)
        time.sleep(0.5)
        go_on("unplugged, back with another format and size", readers, "96x64",
              lambda: describe(path, formats="NV12", **large), 10)
        describe(path, formats="NV12", signal="64x48", **large)
        go_on("a receiver's signal", readers, "64x48", lambda: None)
        describe(path, formats="NV12", signal="none", **large)
        said = cause(daemon, "any", "no signal")
        check("no signal at its input" in said, f"changes: no signal: {said}")
        go_on("a signal again", readers, "128x96", lambda: describe(path, formats="NV12",
                                                                    signal="128x96", **large), 10)
        describe(path, formats="YUYV", gone=1, **small)
        readers[0].end()
        describe(path, formats="YUYV", **small)
        fixed = Reader(args, daemon.socket, "source:fixed")
        go_on("one that has to be 64x48", [fixed], "64x48", lambda: None, 20)
        describe(path, formats="YUYV", **large)
        said = cause(daemon, "fixed", "asked for")
        check("asked for 64x48, the device gives 96x64 in YUYV" in said, f"changes: fixed: {said}")
        go_on("as asked for again", [fixed], "64x48",
              lambda: describe(path, formats="YUYV", **small), 10)
        fixed.end()


def changed_and_gone(args, folder):
    """Without a name, too: a camera that changes and is then away for a while is waited for by who
    has had frames of it."""
    home = folder + "/away"
    os.makedirs(home)
    path = home + "/video0"
    for pause in (0.3, 0.6, 0.9):
        describe(path, formats="YUYV", width=64, height=48)
        command = [args.bin + "/camera_watch", "--patience", "60", f"v4l2://{path}?format=YUYV"]
        reader = Reader(args, None, None, command=command, env=environment(args, home))
        started = reader.wait_size(time.monotonic(), "64x48", 20)
        describe(path, formats="YUYV", width=96, height=64)
        time.sleep(pause)
        describe(path, formats="YUYV", width=96, height=64, gone=1)
        time.sleep(1.5)
        now = time.monotonic()
        describe(path, formats="YUYV", width=96, height=64)
        after = reader.wait_size(now, "96x64", 10)
        check(started is not None and after is not None,
              f"changed and gone {pause} s later: frames after {after and round(after, 2)} s "
              f"{reader.lines[-1:]}")
        reader.end()


def changed_streams(args, folder):
    """The same of JPEG, and of H.264, whose decoder learns the size from the stream."""
    home, config, stream = folder + "/changed", folder + "/changed.yaml", folder + "/changed.stream"
    os.makedirs(home)
    path = home + "/video0"
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  jpeg: {{uri: \"v4l2://{path}\", format: MJPG}}\n  h264: "
                f"{{uri: \"v4l2://{path}\", format: H264}}\n")
    with t.Daemon(args, "-c", config, env=environment(args, home)) as daemon:
        frames = jpeg_frames(args, folder, "yuvj420p", 4)[0]
        write_stream(stream, frames)
        describe(path, formats="MJPG", stream=stream)
        reader = Reader(args, daemon.socket, "source:jpeg")
        check(reader.wait_size(time.monotonic(), "64x48", 20) is not None, "changed streams: JPEG")
        now = time.monotonic()
        describe(path, formats="MJPG", stream=stream, width=96)
        time.sleep(3)
        check(not reader.frames_since(now + 0.2, "96x48") and reader.process.poll() is None,
              "changed streams: JPEG of 64x48 where the device says 96x48 gives no frames")
        def said():
            out = subprocess.run([args.bin + "/pelton", "sources", "--socket", daemon.socket],
                                 capture_output=True, text=True, timeout=args.timeout).stdout
            return [l for l in out.splitlines() if l.startswith("jpeg")]

        check(t.wait_until(lambda: "its JPEG is of another size than it says" in said()[0],
                           10), f"changed streams: {said()}")
        now = time.monotonic()
        describe(path, formats="MJPG", stream=stream)
        check(reader.wait_size(now, "64x48", 15) is not None,
              "changed streams: JPEG as the device says")
        reader.end()
        write_stream(stream, h264_units(args, folder, False)[0])
        describe(path, formats="H264", stream=stream, width=128, height=96, fps=30)
        reader = Reader(args, daemon.socket, "source:h264")
        check(reader.wait_size(time.monotonic(), "128x96", 20) is not None,
              "changed streams: H.264")
        write_stream(stream + "2", h264_units(args, folder, False, "160x112")[0])
        now = time.monotonic()
        describe(path, formats="H264", stream=stream + "2", width=160, height=112, fps=30)
        after = reader.wait_size(now, "160x112", 10)
        check(after is not None and reader.process.poll() is None,
              f"changed streams: H.264 of 160x112 after {after and round(after, 2)} s")
        reader.end()


def h264_units(args, folder, sets_once, size="128x96", gop=20):
    """Access units of x264 and FFmpeg's hashes of their pictures. Other tests make theirs now."""
    path = tempfile.mkdtemp(dir=folder) + "/camera.264"
    source = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate=30"]
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", *source, "-frames:v",
                    str(3 * gop), "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency",
                    "-g", str(gop), "-pix_fmt", "yuv420p", "-bsf:v", "h264_metadata=aud=insert",
                    path], check=True)
    data, aud = open(path, "rb").read(), b"\0\0\0\1\x09"
    cuts = [i for i in range(len(data)) if data.startswith(aud, i)] + [len(data)]
    units = [data[a:b] for a, b in zip(cuts, cuts[1:])]
    nals = lambda unit: [n for n in unit.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1") if n]
    if sets_once:
        units = units[:1] + [b"".join(b"\0\0\0\1" + n for n in nals(u) if n[0] & 31 not in (7, 8))
                             for u in units[1:]]
    return units, [l.split(",")[-1].strip() for l in t.ffmpeg_framemd5(args, path).splitlines()
                   if l and l[0] != "#"]


def h264_ages(args, reader):
    """The first frames wait while the decoder is set up. What has gathered then is made up for:
    the median age of the last frames falls, and does so within seconds where nobody disturbs."""
    ages = lambda: [float(w[8]) for _, w in list(reader.lines) if w[0] == "frame"]
    late = lambda: sorted(ages()[-15:])[7] if len(ages()) > 30 else 1e9
    began, stretch = time.monotonic(), t.Stretch()
    t.wait_until(lambda: late() < 200 and time.monotonic() > began + 1, 2)
    t.check_time(check, 0 < late() < 200, stretch,
                 f"h264: {len(ages())} frames, the median age of the last ones {late():.1f} ms")


def h264(args, folder):
    """Access units go to the decoder as they are: bit by bit FFmpeg's pictures, for two readers,
    also where parameter sets come once."""
    home, stream, config = folder + "/h264", folder + "/stream4", folder + "/h264.yaml"
    os.makedirs(home)
    path = home + "/video0"
    units, wanted = h264_units(args, folder, True)
    write_stream(stream, units)
    random_bytes = random.Random(t.SEED)
    write_stream(folder + "/garbage",
                 [b"\0\0\1" + random_bytes.randbytes(random_bytes.randrange(1, 400))
                  for _ in range(20)] +
                 [bytes(b ^ (random_bytes.random() < 0.01) for b in u) for u in units[:20]] +
                 [b"\0\0\1\x67", b"\0" * 50, b"\0\0\1\x65" + b"\0\0\1\x67" * 2000])
    keys = dict(formats="H264", stream=stream, width=128, height=96, fps=30)
    describe(path, **keys)
    command = [args.bin + "/pelton", "decode", "--device", "cpu", "-loglevel", "info", "-i",
               "v4l2://" + path, "-frames:v", "50", "-f", "framemd5", "-"]
    p = subprocess.run(command, capture_output=True, text=True, env=environment(args, home),
                       timeout=args.timeout)
    got = [l.split(",")[-1].strip() for l in p.stdout.splitlines() if l and l[0] != "#"]
    other = [n for n, md5 in enumerate(got) if md5 not in wanted]
    check(len(got) == 50 and len(wanted) == 60 and not other,
          f"h264: {len(got)} frames, each bit by bit FFmpeg's, but {other}; {p.stderr.strip()}")
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  cam: {{uri: \"v4l2://{path}\", format: H264}}\n")
    with t.Daemon(args, "-c", config, env=environment(args, home)) as daemon:
        forget(path)
        readers = [Reader(args, daemon.socket, "source:cam")]
        time.sleep(1.5)
        joined, stretch = time.monotonic(), t.Stretch()
        readers.append(Reader(args, daemon.socket, "source:cam"))
        after = readers[1].wait_frame(joined, 10)
        check(after is not None and "key 1" in log(path), "h264: a second reader has a frame")
        t.check_time(check, after is not None and after < 5, stretch,
                     f"h264: it came after {after and round(after, 2)} s")
        h264_ages(args, readers[0])
        opened = sum(l.startswith("memory") for l in log(path))
        check(opened == 1, f"h264: both from one device, opened {opened} times")
        describe(path, gone=1, **keys)
        time.sleep(1.5)
        back, stretch = time.monotonic(), t.Stretch()
        describe(path, **keys)
        waits = [r.wait_frame(back, 10) for r in readers]
        check(all(w is not None for w in waits), "h264: unplugged and back: frames for both")
        t.check_time(check, all(w is not None and w < 5 for w in waits), stretch,
                     f"h264: they came after {waits} s")
        describe(path, **{**keys, "stream": folder + "/garbage"})
        time.sleep(1)
        workers = t.workers(daemon.process.pid)
        for child in workers:
            os.kill(child, signal.SIGKILL)
        killed = time.monotonic()
        describe(path, **keys)
        waits = [r.wait_frame(killed, 20) for r in readers]
        check(workers and all(waits),
              f"h264: garbage, then a killed worker: frames after {waits} s")
        numbers = [int(w[1]) for _, w in readers[0].lines if w[0] == "frame"]
        check(numbers == sorted(set(numbers)), f"h264: {len(numbers)} sequence numbers go on")
        check(all(r.process.poll() is None and all(w[0] == "frame" for _, w in r.lines)
                  for r in readers), "h264: the readers stay")
        for r in readers:
            r.end()


def copied(args, daemon, size):
    """So many bytes of the source "cam" as they came, and the seconds until they were there."""
    began = time.monotonic()
    p = subprocess.Popen([args.bin + "/pelton", "pipe", "--socket", daemon.socket, "-loglevel",
                          "error", "-c", "copy", "-f", "h264", "cam"], stdout=subprocess.PIPE)
    got = p.stdout.read(size)
    took = time.monotonic() - began
    p.kill()
    p.wait()
    return got, took


def encoded(args, folder):
    """The device's bytes, also where parameter sets come once and key pictures are far apart; with
    the pictures of another reader from the same opening of the device."""
    home, stream, config = folder + "/encoded", folder + "/stream5", folder + "/encoded.yaml"
    os.makedirs(home)
    path, gop = home + "/video0", 600 # 20 s: a busy machine takes that for what follows
    units = h264_units(args, folder, True, gop=gop)[0]
    write_stream(stream, units)
    describe(path, formats="H264", stream=stream, width=128, height=96, fps=30)
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  cam: {{uri: \"v4l2://{path}\", format: H264}}\n")
    with t.Daemon(args, "-c", config, env=environment(args, home)) as daemon:
        forget(path)
        wanted = b"".join(units[:30])
        check(copied(args, daemon, len(wanted))[0] == wanted,
              "encoded: the first 30 units, byte by byte")
        reader = Reader(args, daemon.socket, "source:cam")
        check(reader.wait_frame(time.monotonic(), 20) is not None, "encoded: a reader of frames")
        t.wait_until(lambda: len(reader.lines) > 60, 5)
        openings = lambda: sum(l.startswith("memory") for l in log(path))
        wanted, stretch, before = b"".join(units[:60]), t.Stretch(), openings()
        got, took = copied(args, daemon, len(wanted))
        check(got == wanted, "encoded: a later reader has the units since the key picture")
        t.check_time(check, took < 1, stretch,
                     f"encoded: 60 units, two seconds of them, came within {took:.2f} s")
        check(openings() == before, f"encoded: one opening for both, {openings()} in all")
        reader.end()


def memory(args, folder):
    """The device writes into our memory where it can (2 in the shim's log is USERPTR, 1 mapped),
    with the same result; else its frames are copied."""
    path = folder + "/video5"
    env = environment(args, path)
    cases = [("", 0, ["memory 1"]), ("", 1, ["memory 2"]),
             ("", 2, ["memory 2", "memory 2", "memory 1"]), ("?buffers=mmap", 1, ["memory 1"]),
             ("?buffers=userptr", 1, ["memory 2"])]
    for keys, can, wanted in cases:
        for fourcc in ("YUYV", "NV12"):
            describe(path, formats=fourcc, userptr=can,
                     stride=WIDTH * (2 if fourcc == "YUYV" else 1) + 64)
            forget(path)
            p = pipe(args, "v4l2://" + path + keys, "nv12", 6, env)
            size = len(drawn(fourcc, 0, "nv12"))
            got = [p.stdout[i:i + size] for i in range(0, len(p.stdout), size)]
            heard = [l for l in log(path) if l.startswith("memory")]
            good = len(got) == 6 and all(as_drawn(g, fourcc, "nv12") for g in got)
            check(good and heard == wanted,
                  f"memory: {fourcc}, userptr={can} {keys}: {len(got)} frames, as drawn; {heard} "
                  f"{p.stderr.decode().strip()}")
    describe(path, formats="YUYV", userptr=0)
    p = pipe(args, "v4l2://" + path + "?buffers=userptr", "nv12", 1, env)
    check(p.returncode == 5 and b"takes no memory of ours" in p.stderr,
          f"memory: refused: exit code {p.returncode}, {p.stderr.decode().splitlines()[:1]}")
    describe(path, formats="RGGB", userptr=1, damaged=10, skip=7, fps=100)
    p = subprocess.run([args.bin + "/camera_watch", "--frames", "120",
                        "v4l2://" + path + "?fps=100"], capture_output=True, text=True, env=env,
                        timeout=args.timeout)
    frames = [l.split() for l in p.stdout.splitlines() if l.startswith("frame")]
    gaps = sum(int(b[1]) - int(a[1]) - 1 for a, b in zip(frames, frames[1:]))
    # by the device; where others run, by the worker and the client, too
    lost = sum(map(int, frames[-1][9:12])) - sum(map(int, frames[0][9:12])) if frames else 0
    check(len(frames) == 120 and gaps > 10 and gaps >= lost >= gaps - 3,
          f"memory: damaged and skipped frames: {len(frames)} frames, {gaps} gaps, {lost} counted")


TESTS = {f.__name__: f for f in (pictures, planes, lies, shared, two_names, choice, control, jpeg,
                                 memory, h264, encoded, plugging, changes, changed_and_gone,
                                 changed_streams)}


def main():
    p = t.parser(__doc__)
    p.add_argument("--preload", default="")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    print("seed", t.SEED)
    # they wait most of the time
    # where the library may write inside the worker's sandbox
    with (tempfile.TemporaryDirectory(dir="/dev/shm") as folder,
          concurrent.futures.ThreadPoolExecutor(3) as pool):
        args.folder = os.path.realpath(folder)
        running = [pool.submit(TESTS[name], args, args.folder) for name in args.names or TESTS]
        for one in running:
            one.result()
        for report in pathlib.Path(args.folder).glob("asan.*"):
            check(False, "AddressSanitizer: " + report.read_text())
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
