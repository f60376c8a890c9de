#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's test cameras (its driver vivid), through the daemon.

  vivid.py [--vm [--kernel FOLDER]] [--brief] NAME...

Two devices are single-planar and two are multi-planar (n_devs=4 node_types=0x1,0x1,0x1,0x1
multiplanar=1,2,1,2). Their input is a webcam that shows colour bars of known colours. --vm runs in
a virtual machine (vivid_vm.py). --brief takes the errors, and by the day's seed every third format
or the media controller. Skipped without driver and machine.
"""
import concurrent.futures, contextlib, fcntl, glob, os, pathlib, struct, subprocess, sys
import tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import devices, peltontest as t, vimc
from devices import check

WIDTH, HEIGHT = 320, 180
PATIENCE = 150 # seconds: emulation is slow where others work too
DRIVER = "/sys/bus/platform/drivers/vivid/"
ADDRESS = f"v4l2://%s?format=%s&size={WIDTH}x{HEIGHT}&fps=10"
# 75 %
BARS = [tuple(191 * c for c in rgb) for rgb in ((1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0),
                                                (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0))]
VIDIOC_QUERYCAP, VIDIOC_G_CTRL, VIDIOC_S_CTRL = 0x80685600, 0xc008561b, 0xc008561c
CAP_MPLANE = 0x1000
AUTOGAIN, GAIN, BRIGHTNESS = 0x980912, 0x980913, 0x980900
# the driver's own: drivers/media/test-drivers/vivid/vivid-ctrls.c
(TEXT, WRAP_TIME, DROPPED, DISCONNECT, FLAG_ERROR, REQBUFS_ERROR, QBUF_ERROR, STREAMON_ERROR,
 FATAL_ERROR) = (
    0xf0f000 + n for n in (0x01, 0x27, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46))


class Device:
    def __init__(self, path):
        self.path = path
        with open(path, "r+b", buffering=0) as f:
            self.multi = bool(struct.unpack_from("I", fcntl.ioctl(f, VIDIOC_QUERYCAP, bytes(104)),
                                                 88)[0] & CAP_MPLANE)

    def control(self, number, value=None):
        """Sets it; or asks for it."""
        with open(self.path, "r+b", buffering=0) as f:
            return struct.unpack("Ii", fcntl.ioctl(f, VIDIOC_G_CTRL if value is None
                                                   else VIDIOC_S_CTRL,
                                                   struct.pack("Ii", number, value or 0)))[1]


def find_devices():
    """Two pairs of a single-planar and a multi-planar one; or None."""
    names = [n for n in sorted(glob.glob("/sys/class/video4linux/*/name"))
             if open(n).read().startswith("vivid") and "vid-cap" in open(n).read()]
    found = [Device("/dev/" + n.split("/")[-2]) for n in names
             if os.access("/dev/" + n.split("/")[-2], os.R_OK | os.W_OK)]
    pairs = list(zip([d for d in found if not d.multi], [d for d in found if d.multi]))
    return pairs[:2] if len(pairs) >= 2 else None


@contextlib.contextmanager
def serve(args, **sources):
    """A daemon with these sources: addresses by their names."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write("version: 1\nsources:\n" + "".join(f"  {name}: {{uri: \"{uri}\"}}\n" for name,
                                                        uri in sources.items()))
        config.flush()
        with t.Daemon(args, "-c", config.name) as daemon:
            yield daemon


def pipe(args, daemon, name, fmt, frames):
    command = [args.bin + "/pelton", "pipe", "--socket", daemon.socket, "-loglevel", "error", name,
               "-f", "rawvideo", "--pix-fmt", fmt, "-frames:v", str(frames)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=args.timeout)


def bars_of(frame, planar):
    """The colours in the middle of the eight bars."""
    out = []
    for x in range(WIDTH // 16, WIDTH, WIDTH // 8):
        if planar:
            chroma = WIDTH * HEIGHT + HEIGHT // 4 * (WIDTH // 2) + x // 2
            y = (frame[HEIGHT // 2 * WIDTH + x] - 16) * 255 / 219
            cb, cr = ((frame[chroma + plane * WIDTH * HEIGHT // 4] - 128) * 255 / 224
                      for plane in range(2))
            # BT.601
            out.append((round(y + 1.402 * cr), round(y - 0.344136 * cb - 0.714136 * cr),
                        round(y + 1.772 * cb)))
        else:
            out.append(tuple(frame[3 * (HEIGHT // 2 * WIDTH + x):][:3]))
    return out


def formats(args, single, multi):
    """All kinds of formats, both kinds of memory, both forms of buffers: the same colours."""
    cases = [(single, f, m) for f, m in (("YUYV", "userptr"), ("UYVY", "mmap"),
                                         ("NV12", "userptr"), ("YU12", "mmap"),
                                         ("SRGGB8", "userptr"),
             ("SGRBG10", "mmap"), ("SGBRG12", "userptr"), ("SBGGR16", "mmap"), ("Y12", "userptr"))]
    cases += [(multi, f, m) for f, m in (("NV12", "userptr"), ("NM12", "auto"), ("NM21", "auto"),
                                         ("YM12", "auto"), ("SRGGB12", "userptr"))]
    cases = cases[::3] if args.brief else cases
    size = f"size={WIDTH}x{HEIGHT}"
    sources = {f"f{i}": f"v4l2://{d.path}?format={f}&{size}&buffers={m}&tone=linear&ae.enable=no"
               for i, (d, f, m) in enumerate(cases)}
    with serve(args, depth=f"v4l2://{single.path}?format=SRGGB14&{size}",
               odd=f"v4l2://{single.path}?size=322x180", **sources) as daemon:
        for name, (device, fmt, memory) in zip(sources, cases):
            device.control(TEXT, 2)
            grey, raw = fmt[0] == "Y" and fmt[1:].isdigit(), fmt[0] == "S"
            p = pipe(args, daemon, name, "rgb24" if raw or grey else "yuv420p", 2)
            size = WIDTH * HEIGHT * 3 // (1 if raw or grey else 2)
            got = bars_of(p.stdout, not raw and not grey) if len(p.stdout) >= size else []
            worst = max((abs(a - b) for have, want in zip(got, BARS) for a, b in zip(have, want)),
                        default=999)
            falls = bool(got) and all(a[0] == a[1] == a[2] and a[0] > b[0] for a,
                                      b in zip(got, got[1:]))
            good = len(p.stdout) == 2 * size and (falls if grey else worst <= 4)
            planar = "multi" if device.multi else "single"
            check(good, f"vivid: {planar}-planar, {fmt}, {memory}: " +
                  (f"grey levels {[a[0] for a in got]}"
                   if grey else f"colours differ by {worst}") + " " + p.stderr.decode().strip())
        for name, wanted in (("depth", b"no SRGGB14"), ("odd", b"asked for 322x180")):
            p = pipe(args, daemon, name, "nv12", 1)
            check(p.returncode == 5 and wanted in p.stderr,
                  f"vivid: what it has not: exit code {p.returncode}, "
                  f"{p.stderr.decode().splitlines()[:1]}")


def watch(args, daemon, name, *more):
    p = subprocess.run([args.bin + "/camera_watch", "--socket", daemon.socket, *more,
                        "source:" + name], capture_output=True, text=True, timeout=args.timeout)
    return [l.split() for l in p.stdout.splitlines() if l.startswith("frame")]


def controls(args, single, multi):
    """Gain, frame rate, and a device that another process holds."""
    uri = f"v4l2://{single.path}?format=YUYV&size={WIDTH}x{HEIGHT}"
    rates = {"slow": 5, "fast": 12.5}
    with serve(args, usual=uri, **{name: f"{uri}&fps={fps}" for name,
                                   fps in rates.items()}) as daemon:
        single.control(AUTOGAIN, 1)
        frames = watch(args, daemon, "usual", "--frames", "8")
        check(len(frames) == 8 and float(frames[-1][2]) == 0 and single.control(AUTOGAIN) == 1,
              f"vivid: left alone: {len(frames)} frames, automatic gain {single.control(AUTOGAIN)}")
        frames = watch(args, daemon, "usual", "--frames", "12", "--set", "AnalogueGain=4")
        check(frames and float(frames[-1][3]) == 4 and (single.control(AUTOGAIN),
                                                        single.control(GAIN)) == (0, 48),
              f"vivid: gain 4: frames say {frames[-1:]}, the device {single.control(AUTOGAIN)}, "
              f"{single.control(GAIN)}")
        for name, fps in rates.items():
            started = time.monotonic()
            frames = watch(args, daemon, name, "--frames", "12")
            out = subprocess.run([args.bin + "/pelton", "info", "--socket", daemon.socket, name],
                                 capture_output=True, text=True, timeout=args.timeout).stdout
            lost = int(frames[-1][1]) - int(frames[0][1]) - len(frames) + 1 if frames else -1
            check(len(frames) == 12 and f"{fps:g} fps" in out
                  and time.monotonic() - started > 11 / fps,
                  f"vivid: {fps} frames a second: {out.splitlines()[:1]}, {lost} lost")
        single.control(WRAP_TIME, 1) # time stamps that are no time of this clock
        frames = watch(args, daemon, "usual", "--frames", "8")
        single.control(WRAP_TIME, 0)
        ages = [float(f[8]) for f in frames]
        check(len(ages) == 8 and all(-1 < a < 5000 for a in ages),
              f"vivid: strange time stamps: ages {ages} ms")
        holder = devices.Reader(args, daemon.socket, "source:usual")
        holder.wait_frame(time.monotonic(), PATIENCE)
        p = subprocess.run([args.bin + "/pelton", "pipe", "--device", "cpu", "-loglevel", "error",
                            uri, "-f", "rawvideo", "-frames:v", "1"], stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=args.timeout)
        check(p.returncode == 4 and b"busy, held by pelton" in p.stderr,
              f"vivid: busy: exit code {p.returncode}, {p.stderr.decode().splitlines()[:1]}")
        holder.end()


def said(daemon, what):
    """How often the daemon's log does."""
    return sum(what in line for line in daemon.lines())


def wait_said(daemon, what, times):
    until = time.monotonic() + PATIENCE / 3
    while said(daemon, what) < times and time.monotonic() < until:
        time.sleep(0.1)
    return said(daemon, what) >= times


def rebind(what):
    with open(DRIVER + what, "w") as f:
        f.write("vivid.0")


def errors(args, single, multi):
    """Errors that the driver injects, while a reader stays."""
    with serve(args, one=ADDRESS % (single.path, "YUYV"),
               two=ADDRESS % (multi.path, "NM12")) as daemon:
        readers = [devices.Reader(args, daemon.socket, "source:" + n, PATIENCE)
                   for n in ("one", "two")]
        started = time.monotonic()
        waits = [r.wait_frame(started, PATIENCE) for r in readers]
        check(all(w is not None for w in waits), f"vivid: both cameras run: frames after {waits} s")
        if None in waits:
            return

        def survives(device, reader, what, *numbers):
            now, opened = time.monotonic(), said(daemon, "opened again")
            for number in numbers:
                device.control(number, 1)
            noticed = FLAG_ERROR in numbers or wait_said(daemon, "opened again", opened + 1)
            again = time.monotonic()
            after = reader.wait_frame(again, PATIENCE / 3)
            check(noticed and after is not None,
                  f"vivid: {'multi' if device.multi else 'single'}-planar, {what}: "
                  f"{'' if noticed else 'not '}noticed, frames again after "
                  f"{after and round(again + after - now, 1)} s")

        # each failure doubles the wait after the next: where frames are mapped a failing start is
        # one more; into our memory, mapped ones are tried then
        for device, reader, steps in ((single, readers[0], (("no buffers", REQBUFS_ERROR),
                                                            ("none queued", QBUF_ERROR),
                                                            ("no stream", STREAMON_ERROR))),
                                      (multi, readers[1], (("no stream", STREAMON_ERROR),))):
            before = int(reader.lines[-1][1][9])
            survives(device, reader, "a damaged frame", FLAG_ERROR)
            until, lost = time.monotonic() + PATIENCE / 3, 0
            while lost == 0 and time.monotonic() < until:
                time.sleep(0.1)
                lost = int(reader.lines[-1][1][9]) - before
            check(lost > 0, f"vivid: {lost} frames counted as lost")
            for what, number in steps:
                survives(device, reader, f"a fatal error, then {what} at the first try", number,
                         FATAL_ERROR)
        survives(multi, readers[1], "unplugged", DISCONNECT)
        single.control(DROPPED, 50)
        mark, until, frames = len(readers[0].lines), time.monotonic() + PATIENCE / 3, []
        while time.monotonic() < until and (len(frames) < 2
                                            or int(frames[-1][1]) - int(frames[0][1]) < 40):
            time.sleep(0.2)
            frames = [w for _, w in readers[0].lines[mark:] if w[0] == "frame"]
        single.control(DROPPED, 0)
        gaps, lost = (int(frames[-1][1]) - int(frames[0][1]) - len(frames) + 1,
                      int(frames[-1][9]) - int(frames[0][9]))
        check(gaps >= 5 and gaps >= lost >= gaps - 3,
              f"vivid: half of the frames left out: {len(frames)} frames, {gaps} gaps, {lost} "
              f"counted")
        for r in readers:
            check(r.process.poll() is None and all(w[0] == "frame" for _, w in r.lines),
                  "vivid: the reader stays")
            r.end()


def removal(args, single, multi):
    """The driver is taken off its devices, all of them, while readers stay."""
    with serve(args, one=ADDRESS % (single.path, "YUYV"),
               two=ADDRESS % (multi.path, "NM12")) as daemon:
        readers = [devices.Reader(args, daemon.socket, "source:" + n, PATIENCE)
                   for n in ("one", "two")]
        started = time.monotonic()
        check(all(r.wait_frame(started, PATIENCE) is not None for r in readers),
              "vivid: both cameras run")
        rebind("unbind")
        noticed = wait_said(daemon, "the device is gone", 2)
        time.sleep(1.5) # what was under way has come
        check(noticed and not os.path.exists(single.path),
              "vivid: its driver is unbound: no device, which is noticed")
        rebind("bind")
        back = time.monotonic()
        waits = [r.wait_frame(back, PATIENCE / 3) for r in readers]
        check(all(w is not None for w in waits), f"vivid: bound again: frames after {waits} s")
        check(all(r.process.poll() is None and all(w[0] == "frame" for _, w in r.lines)
                  for r in readers), "vivid: the readers stay")
        for r in readers:
            r.end()


TESTS = {f.__name__: f for f in (formats, errors, controls)}


def main():
    p = t.parser(__doc__)
    p.add_argument("--vm", action="store_true")
    p.add_argument("--brief", action="store_true")
    p.add_argument("--kernel", help="of the machine: a folder with boot/ and lib/modules/")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    if args.brief and not args.names:
        args.names = ["errors", ("formats", "vimc")[int(t.SEED) % 2]]
    pairs = find_devices()
    if not pairs and args.vm:
        here = pathlib.Path(__file__).resolve()
        machine = [sys.executable, str(here.with_name("vivid_vm.py"))] + (["--kernel", args.kernel]
                                                                          if args.kernel else [])
        return subprocess.run(machine + ["python3", str(here), "--bin", os.path.abspath(args.bin),
                                         "--device", "cpu"] + ["--brief"] * args.brief +
                                         args.names).returncode
    if not pairs:
        print("skipped: the vivid driver is not loaded, or its devices belong to others")
        return t.SKIPPED
    print("seed", t.SEED)

    def run(names, pair):
        for name in names:
            started = time.monotonic()
            TESTS[name](args, *pair)
            print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)

    wanted = [n for n in args.names if n != "vimc"]
    if not args.names:
        wanted = list(TESTS)
    with concurrent.futures.ThreadPoolExecutor(2) as pool: # as long as each other
        for one in [pool.submit(run, [n for n in wanted if (n == "formats") == first], pair)
                    for first, pair in zip((True, False), pairs)]:
            one.result()
    if not args.names or "vimc" in args.names:
        started = time.monotonic()
        print(f"vimc: {time.monotonic() - started:.0f} s" if vimc.run(args)
              else "vimc: skipped: the driver is not loaded", flush=True)
    if "errors" in wanted and os.access(DRIVER + "unbind", os.W_OK):
        removal(args, *pairs[1])
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
