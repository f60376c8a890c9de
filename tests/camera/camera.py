#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cameras through the daemon: exposure control in a closed loop, readers that stop and die,
controls, loss, bad addresses.

  camera.py [--seconds N] NAME...    of tests; or delays: those that measure time; or daemon: others
"""
import json, os, pathlib, re, signal, socket, struct, subprocess, sys, tempfile, time, urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

CLIP = t.ROOT.parent / "shared/streams/clips/street-1080p-crf23.mp4"


def make_clip(args, folder):
    """A few frames of a real scene where the clips are, else of FFmpeg's test scene, as dark and as
    pale as a real one: exposure control has room on both sides."""
    path = folder + "/scene.mp4"
    built = "testsrc2=size=640x360,gblur=4,hue=s=0.2,lutyuv=y=val*0.6"
    source = ["-i", str(CLIP)] if CLIP.exists() else ["-f", "lavfi", "-i", built]
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", *source, "-vf", "scale=640:360",
                    "-frames:v", "8", "-c:v", "libx264", "-pix_fmt",
                    "yuv420p", path], check=True)
    return path


def address(path, **keys):
    keys = {"size": "320x240", "seed": t.SEED, **{k.replace("__", "."): v for k, v in keys.items()}}
    return "sim://" + urllib.parse.quote(path) + "?" + urllib.parse.urlencode(keys)


class Frame:
    def __init__(self, line):
        w = line.split()
        self.sequence = int(w[1])
        self.time, self.analogue, self.digital, self.mean, self.clipped = map(float, w[2:7])
        self.state, self.age = w[7], float(w[8])
        self.by = list(map(int, w[9:12])) # source, worker, client
        self.dropped = sum(self.by)
        self.crop = w[13]
        self.target, self.histogram = float(w[15]), list(map(int, w[16].split(",")))
        self.epoch, self.size, self.flags, self.samples = int(w[12]), w[14], int(w[17]), w[18]
        self.total = self.time * self.analogue * self.digital


def watch(args, uri, *more, env=None):
    p = subprocess.run([args.bin + "/camera_watch", *more, uri], capture_output=True, text=True,
                       timeout=args.timeout, env=env)
    lines = p.stdout.splitlines()
    return [Frame(l) for l in lines if l.startswith("frame")], [l for l in lines
                                                                if not l.startswith("frame")]


def settled(frames, jump, target, brighter):
    """Frames from the jump until the mean stays within 5 % of the target; the largest overshoot on
    the way."""
    last, over = 0, 0
    for f in frames:
        error = f.mean / target - 1
        if abs(error) > 0.05:
            last = f.sequence - jump + 1
        if f.sequence > jump:
            over = max(over, -error if brighter else error)
    return last, over


def loop(args, clip):
    target, up, down, end = 0.18, 60, 420, 760
    for flicker in ("off", "50Hz"):
        uri = address(clip, scene_frames=1, realtime="no", frames=end,
                      light=f"0.4@0,6.4@{up},0.4@{down}", ae__target=target, ae__flicker=flicker)
        frames, rest = watch(args, uri)
        check(len(frames) == end and not rest,
              f"loop {flicker}: {len(frames)} frames of {end} {rest}")
        if len(frames) != end:
            continue
        for name, a, b, brighter in (("up", up, down, True), ("down", down, end, False)):
            n, over = settled(frames[a:b], a, target, brighter)
            check(n <= 12 and over < 0.1,
                  f"loop {flicker}: light x16 {name}: within 5 % after {n} frames, overshoot "
                  f"{100 * over:.1f} %")
            steady = frames[a + 15:a + 315]
            totals = {round(f.total, 3) for f in steady}
            check(len(totals) == 1 and all(f.state == "converged" for f in steady),
                  f"loop {flicker}: {name}: {len(totals)} exposure over 300 frames, all converged")
        if flicker == "50Hz":
            wrong = [f.time for f in frames[up - 30:up] + frames[down + 40:]
                     if abs(f.time / 10000 - round(f.time / 10000)) > 1e-6]
            check(not wrong and frames[down + 40].time >= 10000,
                  f"loop 50Hz: exposure {frames[down + 40].time / 1000:g} ms, multiples of 10 ms")


def lamps(args, clip):
    """Lamps at 50 Hz: brightness swings from frame to frame with any exposure time, and hardly with
    multiples of 10 ms."""
    swing = {}
    for flicker in ("off", "50Hz"):
        frames, _ = watch(args, address(clip, scene_frames=1, realtime="no", fps=29, frames=80,
                                        light=0.4, mains_hz=50, mains_depth=0.4,
                                        ae__flicker=flicker,
                                        ae__exposure_max="33ms" if flicker == "50Hz" else "7ms"))
        means = [f.mean for f in frames[40:]] or [0]
        swing[flicker] = (max(means) - min(means)) / 0.18
    check(swing["off"] > 3 * swing["50Hz"] and swing["50Hz"] < 0.02,
          f"lamps: the mean swings by {100 * swing['off']:.1f} % at 7 ms, by "
          f"{100 * swing['50Hz']:.2f} % at multiples of 10 ms")


def start_reader(args, daemon, uri, out, *more):
    return subprocess.Popen([args.bin + "/camera_watch", "--socket", daemon.socket, *more, uri],
                            stdout=out)


LENS = "brown:0.8,0.8,0.5,0.5,-0.27,0.09,0.001,-0.0005,-0.01,0,0,0"


def served(args, clip):
    """The camera of serve: with --lens it is bent and straightened again."""
    keys = dict(fps=args.fps, size=args.size)
    if args.lens:
        width, height = map(int, args.size.split("x"))
        words = LENS.split(":")[1].split(",")
        scaled = [float(w) * (width if i in (0, 1, 2) else height if i == 3 else 1) for i,
                  w in enumerate(words)]
        keys.update(lens="brown:" + ",".join("%g" % v for v in scaled), rectify="yes")
    return address(clip, **keys)


def serve(args, clip):
    """Three readers; one is stopped half way, one killed: the third misses nothing."""
    fps = args.fps
    with open(args.folder + "/Config", "w") as f:
        f.write("version: 1\nsources:\n  cam: {uri: \"%s\"}\n" % served(args, clip))
    args.set = [f"dead_ms={1000 * args.seconds * 2}"]
    with t.Daemon(args, "-c", args.folder + "/Config") as daemon:
        outs = [open(args.folder + f"/reader{i}", "w+") for i in range(3)]
        readers = [start_reader(args, daemon, "source:cam", o) for o in outs]
        t.wait_until(lambda: all(os.path.getsize(o.name) for o in outs), 20)
        stretch = t.Stretch()
        time.sleep(args.seconds / 2)
        readers[0].send_signal(signal.SIGSTOP)
        readers[1].kill()
        time.sleep(args.seconds / 2)
        readers[2].terminate()
        readers[2].wait(t.LIMIT_S)
        for r in readers[:2]:
            r.kill()
            r.wait(t.LIMIT_S)
        outs[2].flush()
        lines = open(outs[2].name).read().split("\n")[:-1]
    # from the first one on, while the others are still joining
    frames = [Frame(l) for l in lines if l.startswith("frame")]
    missing = sum(b.sequence - a.sequence - 1 for a, b in zip(frames, frames[1:]))
    lost = frames[-1].dropped - frames[0].dropped if frames else -1
    ages = sorted(f.age for f in frames) or [1e9]
    t.check_time(check, len(frames) > args.seconds * fps * 0.8, stretch,
                 f"serve: {len(frames)} frames in {args.seconds} s at {fps}")
    check(missing == lost, f"serve: the third reader misses {missing}, {lost} are counted")
    t.check_time(check, missing == 0, stretch, "serve: it misses none")
    at = {share: ages[int(len(ages) * share / 100)] for share in (50, 95, 99)}
    t.check_time(check, ages[-1] < 2000 / fps, stretch, # every frame: ctest runs this test alone
                 "serve: age " + ", ".join(f"p{k} {v:.2f} ms" for k, v in at.items()) +
                 f", largest {ages[-1]:.2f} ms" +
                 ", late frames: %s" % [(i, f.sequence) for i, f in enumerate(frames)
                                        if f.age >= 2000 / fps])
    if args.max_ms:
        t.check_time(check, at[99] < args.max_ms, stretch,
              f"serve: 99 of 100 frames are with the reader {at[99]:.2f} ms after capture, "
              f"{args.max_ms:g} allowed")


POLICIES = {"latest": (["--latest"], 1), "fifo:3": (["--fifo", "3"], 3),
            "fifo:8": (["--fifo", "8"], 8),
            "fifo:8, 9 frames held": (["--fifo", "8", "--hold", "9"], 8),
            "latest, 9 frames held": (["--latest", "--hold", "9"], 1), "lossless": ([], 12)}


def policies(args, clip):
    """Readers slower than their camera, one of each policy: what they miss is a gap, counted, and
    what they get is as new as promised."""
    fps = 50
    config = args.folder + "/policies.yaml"
    with open(config, "w") as f:
        f.write("version: 1\nsources:\n  cam: {uri: \"%s\"}\n" %
                address(clip, fps=fps, scene_frames=1, size="160x120", frames=200))
    args.set = []
    stretch = t.Stretch()
    with t.Daemon(args, "-c", config) as daemon:
        seldom = subprocess.Popen([args.bin + "/camera_watch", "--socket", daemon.socket,
                                   "--max-fps", "15", "source:cam"], stdout=subprocess.PIPE,
                                   text=True)
        readers = {name: subprocess.Popen([args.bin + "/camera_watch", "--socket", daemon.socket,
                                           "--slow", "100", *words, "source:cam"],
                                           stdout=subprocess.PIPE, text=True)
                   for name, (words, _) in POLICIES.items()}
        lines = {name: p.communicate(timeout=args.timeout)[0].splitlines() for name,
                 p in readers.items()}
        seldom = [Frame(l).sequence
                  for l in seldom.communicate(timeout=args.timeout)[0].splitlines()]
    steps = [b - a for a, b in zip(seldom, seldom[1:])]
    mean = (seldom[-1] - seldom[0]) / max(1, len(steps)) if seldom else 0
    check(len(steps) > 5 and min(steps) >= 2, f"policies: {len(steps)} frames of --max-fps")
    t.check_time(check, len(steps) > 30 and abs(mean - fps / 15) < 0.6, stretch,
          f"policies: 15 of {fps} frames a second: every {mean:.2f}th")
    for name, (_, waiting) in POLICIES.items():
        frames, rest = [Frame(l) for l in lines[name]
                        if l.startswith("frame")], [l for l in lines[name]
                                                    if not l.startswith("frame")]
        gaps = [b.sequence - a.sequence - 1 for a, b in zip(frames, frames[1:])]
        counted = [b.dropped - a.dropped for a, b in zip(frames, frames[1:])]
        check(gaps == counted and sum(gaps) > 50 and not rest,
              f"policies: {name}: {len(frames)} frames, {sum(gaps)} missed, {sum(counted)} counted "
              f"{rest}")
        if name == "lossless": # of a camera: until the pool is full, then new frames are dropped
            continue
        # after a stall of the machine several frames come at once, faster than slots come back
        t.check_time(check, frames and frames[-1].by[1] <= 10, stretch,
              f"policies: {name}: {frames[-1].by if frames else None} dropped by source, worker, "
              f"client")
        settled = sorted(f.age for f in frames[4:-waiting])
        # every tenth may be late where the machine is busy
        oldest = settled[len(settled) * 9 // 10] * fps / 1000 if settled else 1e9
        t.check_time(check, oldest < waiting + 2.5, stretch,
              f"policies: {name}: frames wait for at most {oldest:.1f} frame times")


def controls(args, clip):
    base = dict(scene_frames=1, realtime="no", frames=60)
    frames, rest = watch(args, address(clip, **base), "--set", "ExposureTime=5000", "--set",
                         "AnalogueGain=2")
    check(rest == ["control ExposureTime 5000", "control AnalogueGain 2"], f"controls: {rest}")
    last = [(f.time, f.analogue, f.state) for f in frames[-1:]]
    check(last == [(5000, 2, "locked")], f"controls: the last frame's are {last}")
    _, rest = watch(args, address(clip, **base), "--set", "ExposureTime=1e9")
    check(len(rest) == 1 and rest[0].startswith("error -2 ExposureTime=1e+09: 1 value from"),
          f"controls: {rest}")
    frames, rest = watch(args, address(clip, **base), "--set", "ScalerCrop=16,8,160,120")
    crops = [f.crop for f in frames]
    cut = crops.index("16,8,160,120") if "16,8,160,120" in crops else 0
    check(cut > 0 and crops == cut * ["0,0,320,240"] + (60 - cut) * ["16,8,160,120"],
          f"controls: each frame tells its crop, the new one from frame {cut} on")
    _, rest = watch(args, address(clip, **base), "--set", "Zoom=2")
    check(len(rest) == 1 and "Zoom: this camera has no such control" in rest[0],
          f"controls: {rest}")


def centre(histogram):
    """The mean of the bins' middles; off by half a bin at most."""
    return sum(n * (i + 0.5) for i, n in enumerate(histogram)) / 64 / max(sum(histogram), 1)


def histogram(args, clip):
    """Each frame tells its light: all cells, with the mean that exposure control sees."""
    base = dict(scene_frames=1, realtime="no", frames=60, ae__metering="matrix")
    for keys in ({}, {"format": "Y12", "ae__target": 0.1}):
        frames, rest = watch(args, address(clip, **base, **keys))
        check(len(frames) == 60 and {sum(f.histogram) for f in frames} == {320 * 240 // 4},
              f"histogram {keys}: {len(frames)} frames with {320 * 240 // 4} cells {rest}")
        off = max((abs(centre(f.histogram) - f.mean) for f in frames), default=9)
        check(off < 0.009, f"histogram {keys}: its mean is {off:.4f} from the frame's")
        check({f.target for f in frames} == {keys.get("ae__target", 0.18)},
              f"histogram {keys}: the target")
    for wish, factor in (("ExposureValue=1", 2), ("ExposureValue=-2", 0.25)):
        frames, _ = watch(args, address(clip, **base), "--set", wish)
        f = frames[-1]
        check(abs(f.target - 0.18 * factor) < 1e-4 and abs(f.mean / f.target - 1) < 0.05,
              f"histogram: {wish}: target {f.target}, mean {f.mean}")
        check(abs(centre(f.histogram) - f.mean) < 0.009, f"histogram: {wish} moves it")


CALIBRATION = """image_width: 640
image_height: 480
camera_name: test
camera_matrix: {rows: 3, cols: 3, data: [500, 0, 320, 0, 500, 240, 0, 0, 1]}
distortion_model: plumb_bob
distortion_coefficients: {rows: 1, cols: 5, data: [-0.3, 0.1, 0, 0, 0]}
rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
projection_matrix: {rows: 3, cols: 4, data: [500, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0]}
"""


def pelton(args, daemon, *words, text=True):
    return subprocess.run([args.bin + "/pelton", words[0], "--socket", daemon.socket, "-loglevel",
                           "error", *words[1:]], capture_output=True, text=text,
                          stdin=subprocess.DEVNULL, timeout=args.timeout)


def cli(args, clip):
    """The commands, against a daemon with a configuration file."""
    calibration, config = args.folder + "/lens.yaml", args.folder + "/config.yaml"
    open(calibration, "w").write(CALIBRATION)
    with open(config, "w") as f:
        f.write("version: 1\nsources:\n")
        f.write(f"  cam: {{uri: \"sim://{clip}\", size: 320x240, fps: 30, "
                f"ae: {{flicker: 50Hz}}}}\n")
        f.write(f"  bent: {{uri: \"sim://{clip}\", size: 320x240, calibration: {calibration}, "
                f"rectify: {{alpha: 0}}, realtime: no}}\n")
        f.write(f"  wide: {{uri: \"sim://{clip}\", size: 320x160, calibration: {calibration}, "
                f"rectify: {{alpha: 0}}}}\n")
        f.write(f"  door: {{uri: \"{clip}\"}}\n")
    with t.Daemon(args, "-c", config) as daemon:
        out = pelton(args, daemon, "sources").stdout.splitlines()
        check([l.split()[0] for l in out] == ["NAME", "cam", "bent", "wide", "door"],
              f"cli: sources: {out}")
        out = pelton(args, daemon, "info", "cam").stdout
        check("SRGGB12P, 320x240, 30 fps, leaves as yuv420p" in out
              and "AeFlickerPeriod=10000" in out, "cli: info")
        out = pelton(args, daemon, "info", "cam", "--exposure", "--json")
        light = json.loads(out.stdout or "{}").get("exposure", {})
        check(len(light.get("histogram", [])) == 64 and light["target"] == 0.18
              and sum(light["histogram"]) == 320 * 240 // 4, f"cli: info --exposure: {light}")
        out = pelton(args, daemon, "info", "cam", "--exposure").stdout.splitlines()
        check(re.fullmatch("black[|].{64}[|]white", out[-2] if len(out) > 2 else ""),
              f"cli: the histogram as text: {out[-3:]}")
        out = pelton(args, daemon, "info", "door", "--exposure")
        check(out.returncode == 2 and "door: no exposure is known" in out.stderr,
              f"cli: info --exposure of no camera: {out.returncode} {out.stderr!r}")
        p = subprocess.Popen([args.bin + "/pelton", "pipe", "--socket", daemon.socket, "-loglevel",
                              "error", "cam"], stdout=subprocess.PIPE)
        head = p.stdout.read(100000)
        out = pelton(args, daemon, "set", "cam", "ExposureTime=4000", "AnalogueGain=1.5")
        check(out.stdout.split("  ")[0] == "ExposureTime=4000" and out.returncode == 0,
              f"cli: set: {out.stdout!r} {out.stderr!r}")
        out = pelton(args, daemon, "get", "cam", "ExposureTime").stdout
        check(out.startswith("ExposureTime=4000 "), f"cli: get while another reads: {out!r}")
        out = pelton(args, daemon, "set", "cam", "Zoom=1")
        check(out.returncode == 2 and "Zoom" in out.stderr,
              f"cli: set of what is not there: exit code {out.returncode}")
        p.kill()
        p.wait()
        check(head.startswith(b"YUV4MPEG2 W320 H240 F30:1"), f"cli: pipe: {head[:40]}")
        for name in ("cam", "bent"):
            png = args.folder + f"/{name}.png"
            out = pelton(args, daemon, "snapshot", name, "-y", "-o", png, "--after-now")
            check(out.returncode == 0 and open(png, "rb").read(4) == b"\x89PNG",
                  f"cli: snapshot {name} {out.stderr}")
        out = pelton(args, daemon, "pipe", "wide")
        check(out.returncode == 4 and "640" in out.stderr and "320" in out.stderr,
              f"cli: another aspect ratio: {out.stderr!r}")
        out = pelton(args, daemon, "pipe", "nobody")
        check(out.returncode == 4 and "no source of this name" in out.stderr,
              f"cli: {out.stderr!r}")
        out = pelton(args, daemon, "pipe", "sim://" + clip)
        check(out.returncode == 9,
              f"cli: a shared daemon opens no addresses of clients: exit code {out.returncode}")


def lost(args, clip):
    """Unplugged for two seconds: frames before and after it; what the machine was too slow for is
    counted."""
    stretch = t.Stretch()
    frames, rest = watch(args, address(clip, frames=180, lost_at=80, fps=60))
    gaps = sum(b.sequence - a.sequence - 1 for a, b in zip(frames, frames[1:]))
    check(frames and not rest and frames[-1].sequence >= 80
          and gaps == frames[-1].dropped - frames[0].dropped,
          f"lost: two seconds of unplugged camera, {gaps} frames missed and counted {rest}")
    t.check_time(check, len(frames) > 60 and frames[0].sequence < 80
                 and frames[-1].sequence >= 170, stretch,
                 f"lost: {len(frames)} frames before and after it")


def listener(args, clip, port):
    return subprocess.Popen([args.ffmpeg, "-v", "error", "-nostdin", "-re", "-stream_loop", "-1",
                             "-i", clip, "-c", "copy",
                             "-f", "mpegts", f"tcp://127.0.0.1:{port}?listen=1"],
                             stderr=subprocess.DEVNULL)


def network(args, clip):
    """A network source that is reset and comes back: FFmpeg's own listener on loopback."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = args.folder + "/network.yaml"
    with open(config, "w") as f:
        f.write(f"version: 1\nsources:\n  door: {{uri: \"tcp://127.0.0.1:{port}\"}}\n")
    args.set = []
    with t.Daemon(args, "-c", config) as daemon:
        out = pelton(args, daemon, "pipe", "door", "--timeout", "1")
        check(out.returncode == 11 and "refused" in out.stderr,
              f"network: nobody listens: {out.stderr!r}")
        stretch = t.Stretch()
        server = listener(args, clip, port)
        time.sleep(1)
        out = open(args.folder + "/network", "w+")
        reader = start_reader(args, daemon, "source:door", out)
        so_far = lambda: sum(l.startswith("frame") for l in open(out.name))
        t.wait_until(lambda: so_far() > 10, 30)
        server.kill()
        server.wait()
        time.sleep(1.5)
        first = so_far()
        server = listener(args, clip, port)
        t.wait_until(lambda: so_far() > first + 10, 30)
        reader.terminate()
        reader.wait(t.LIMIT_S)
        server.kill()
        server.wait()
        lines = open(out.name).read().split("\n")[:-1]
        tries = sum("again in" in l for l in daemon.lines())
    numbers = [int(l.split()[1]) for l in lines if l.startswith("frame")]
    check(first > 10 and len(numbers) > first + 10 and numbers == sorted(set(numbers)),
          f"network: {first} frames, reset, {len(numbers) - first} after it")
    check(tries and not any(l.startswith("error") for l in lines), "network: opened again")
    t.check_time(check, tries <= 8, stretch, f"network: after {tries} waits")


def write_raw(path, width, height, colours, frames=400):
    """12-bit RGGB words, one value for each place of the 2x2 cell."""
    red, green1, green2, blue = (struct.pack("<H", c) for c in colours)
    with open(path, "wb") as f:
        f.write((((red + green1) * (width // 2) +
                  (green2 + blue) * (width // 2)) * (height // 2)) * frames)


def pixel(args, daemon, name, pix_fmt, *more):
    """The first frame of a source, raw."""
    out = pelton(args, daemon, "pipe", name, "-frames:v", "1", "--pix-fmt", pix_fmt, "-f",
                 "rawvideo", "-o", "-", *more, text=False)
    return out.stdout


def words(data, n=3):
    return struct.unpack("<%dH" % n, data[:2 * n]) if len(data) >= 2 * n else ()


def near(a, b, by):
    return len(a) == len(b) and all(abs(x - y) <= by for x, y in zip(a, b))


def settings(args, clip):
    """Each setting of the development pipeline through the configuration file, against what it has
    to make of samples of one colour."""
    raw, config, curve = (args.folder + "/flat.raw", args.folder + "/settings.yaml",
                          args.folder + "/curve.txt")
    width, height, black, white, samples = 64, 48, (100, 200, 210,
                                                    300), 4000, (1000, 2000, 2010, 3000)
    write_raw(raw, width, height, samples)
    open(curve, "w").write("# halves\n" + "\n".join(str(i // 2) for i in range(0, 65536, 257)))
    linear = [65535 * (s - b) / (white - b) for s, b in zip(samples, black)]
    r, g, b = linear[0], (linear[1] + linear[2]) / 2, linear[3]
    base = (f"uri: \"bayer://{raw}\", size: {width}x{height}, format: SRGGB12, loop: yes, "
            f"realtime: no, ae: {{enable: no}}, white: {white}")
    sources = {"flat": "", "ccm": "ccm: [[0.5, 0.25, 0], [0, 1, 0], [0.5, 0, -0.5]]",
               "linear": "tone: linear", "list": "tone: table, tone_table: [0, 65535, 65535]",
               "file": f"tone_table: {curve}",
               "part": "region: [8, 8, 32, 24], output: 16x12, range: full, matrix: bt601, tone: "
                       "linear",
               "limited": "matrix: bt601, tone: linear", "other": "tone: linear",
               "gains": "red_gain: 2, blue_gain: 0.5",
               "plain": "tone: linear, black: 0"}
    with open(config, "w") as f:
        f.write("version: 1\nsources:\n")
        for name, more in sources.items():
            more += "" if "black:" in more else f", black: {list(black)}"
            f.write(f"  {name}: {{{base}, {more.lstrip(', ')}}}\n")
    with t.Daemon(args, "-c", config) as daemon:
        get = lambda name, pix_fmt: pixel(args, daemon, name, pix_fmt)
        have = words(get("flat", "rgb48le"))
        check(near(have, (r, g, b), 40),
              f"settings: black, white: {have}, expected {r:.0f} {g:.0f} {b:.0f}")
        have, want = words(get("ccm", "rgb48le")), (r / 2 + g / 4, g, max(0, r / 2 - b / 2))
        check(near(have, want, 40), f"settings: ccm: {have}, expected {want}")
        have = words(get("gains", "rgb48le"))
        check(near(have, (2 * r, g, b / 2), 40), f"settings: red_gain, blue_gain: {have}")
        for name, curve_of in (("linear", lambda v: v), ("list", lambda v: min(1, 2 * v)),
                               ("file", lambda v: v / 2)):
            have, want = tuple(get(name, "rgb24")[:3]), [255 * curve_of(v / 65535)
                                                         for v in (r, g, b)]
            check(near(have, want, 1.5),
                  f"settings: tone {name}: {have}, expected {[round(w) for w in want]}")
        for name, kr, kb, low, span in (("part", .299, .114, 0, 255),
                                        ("limited", .299, .114, 16, 219),
                                        ("other", .2126, .0722, 16, 219)):
            have, luma = get(name, "yuv420p")[:1], (kr * r + kb * b + (1 - kr - kb) * g) / 65535
            check(near(have, [low + span * luma], 1.5),
                  f"settings: matrix and range of {name}: Y {have[:1]!r}, expected "
                  f"{low + span * luma:.1f}")
        sizes = {"yuv420p": 1.5, "nv12": 1.5, "p010le": 3, "gray": 1, "rgb24": 3, "rgba": 4,
                 "bgr24": 3, "bgra": 4, "rgb48le": 6}
        have = {f: len(get("part", f)) for f in sizes}
        check(have == {f: int(16 * 12 * n) for f, n in sizes.items()},
              f"settings: formats by --pix-fmt, region and output size: {have}")
    bad_settings(args, raw)


def becomes(pipe, size, level, within=60):
    """Frames until the mean of one is that, to within 2; None: it is not."""
    for n in range(within):
        frame = pipe.read(size)
        if len(frame) < size:
            return None
        if abs(sum(frame) / size - level) <= 2:
            return n
    return None


def live(args, clip):
    """Controls that change the picture while a reader takes it: crop, matrix, gains, modes."""
    raw, config, width, height = args.folder + "/halves.raw", args.folder + "/live.yaml", 64, 48
    half = width // 2 * struct.pack("<H", 0) + width // 2 * struct.pack("<H", 2048)
    with open(raw, "wb") as f:
        f.write(half * height * 4)
    with open(config, "w") as f:
        base = (f"uri: \"bayer://{raw}\", size: {width}x{height}, format: SRGGB12, loop: yes, fps: "
                f"30, tone: linear, ae: {{enable: no}}")
        f.write(f"version: 1\nsources:\n  cam: {{{base}}}\n  masked: "
                f"{{{base}, seed: 2, blur: [[0, 0, 16, 16]]}}\n")
    with t.Daemon(args, "-c", config) as daemon:
        p = subprocess.Popen([args.bin + "/pelton", "pipe", "--socket", daemon.socket, "-loglevel",
                              "error", "cam", "--pix-fmt", "gray", "-f", "rawvideo", "-o", "-"],
                             stdout=subprocess.PIPE)
        steps = [("", 63.8), ("ScalerCrop=32,0,32,48", 127.5),
                 ("ColourCorrectionMatrix=0.5,0,0,0,0.5,0,0,0,0.5", 63.8),
                 ("ScalerCrop=0,0,32,48", 0),
                 ("ScalerCrop=40,8,20,20", 63.8), ("ColourCorrectionMatrix=1,0,0,0,1,0,0,0,1",
                                                   127.5), ("ColourGains=0.125,0.125",
                                                            127.5 * (0.7152 + 0.2848 / 8))]
        for change, level in steps:
            out = pelton(args, daemon, "set", "cam", change) if change else None
            n = becomes(p.stdout, width * height, level)
            check(n is not None and (not out or out.stdout.startswith(change + "  (")),
                  f"live: {change or 'as configured'}: grey {level:.0f} after {n} frames "
                  f"{out.stderr if out else ''}")
        out = pelton(args, daemon, "set", "cam", "ExposureTimeMode=1", "AnalogueGainMode=0",
                     "AeMeteringMode=1")
        have = dict(l.split("  ")[0].split("=") for l in pelton(args, daemon, "get",
                                                                "cam").stdout.splitlines())
        want = {"ExposureTimeMode": "1", "AnalogueGainMode": "0", "AeEnable": "1",
                "AeMeteringMode": "1", "ScalerCrop": "40,8,20,20", "AwbEnable": "0"}
        check(all(have.get(k) == v for k, v in want.items()), f"live: get: {have}")
        cases = {"ScalerCrop=40,0,30,48": "within the sensor's picture (sensor: 64 x 48)",
                 "ScalerCrop=0,0,8.5,8": "whole numbers",
                 "ColourCorrectionMatrix=1,2": "9 values from -64 to 64",
                 "AeMeteringMode=3": "needs AeRegion",
                 "ColourGains=0,1": "2 values from 0.125 to 64"}
        for change, expected in cases.items():
            out = pelton(args, daemon, "set", "cam", change)
            check(out.returncode == 2 and change in out.stderr and expected in out.stderr,
                  f"live: {out.stderr.splitlines()[:1]}")
        p.kill()
        p.wait()
        out = pelton(args, daemon, "set", "masked", "ScalerCrop=32,0,32,48")
        check(out.returncode == 9 and "parts of this picture are blurred" in out.stderr,
              f"live: nobody moves a picture under what is blurred: {out.stderr.splitlines()[:1]}")


def bad_settings(args, raw):
    """Every refusal names setting, value and range, with its place in the file."""
    config = args.folder + "/bad.yaml"
    cases = {"ccm: [1, 2, 3]": ("ccm=1,2,3", "nine numbers from -64 to 64"),
             "ccm: [1, 0, 0, 0, 1, 0, 0, 0, 65]": ("ccm=1,0,0", "from -64 to 64"),
             "white: 70000": ("white=70000", "from 1 to 65535"),
             "black: [1, 2]": ("black=1,2", "from 0 to 65534"),
             "black: 4095": ("black is not less than white",),
             "defect: -1": ("defect=-1", "from 0 to 65535"),
             "region: [0, 0, 65, 10]": ("region lies outside",),
             "output: 0x10": ("output=0x10", "from 1 to 8192"),
             "range: wide": ("range=wide", "limited or full"),
             "matrix: bt2020": ("matrix=bt2020", "bt709 or bt601"),
             "tone: table": ("without tone_table",),
             "tone_table: [0, 70000]": ("tone_table=0,70000", "from 0 to 65535"),
             "ae: {metering: region}": ("without ae.region",),
             "ae: {ev: 9}": ("ae.ev=9", "from -8 to 8"),
             "ae: {region: [0, 0, 65, 1]}": ("ae.region lies outside",),
             "zoom: 2": ("zoom: no key of a source",), "ccm: [[[1]]]": ("no list",)}
    wrong = []
    for setting, expected in cases.items():
        with open(config, "w") as f:
            f.write(f"version: 1\nsources:\n  cam:\n    uri: \"bayer://{raw}\"\n    size: 64x48\n  "
                    f"  format: SRGGB12\n    {setting}\n")
        out = subprocess.run([args.bin + "/peltond", "--check", "-c", config], capture_output=True,
                             text=True, timeout=args.timeout)
        if out.returncode != 2 or not out.stderr.startswith("peltond: " + config +
                                                            ":") or not all(w in out.stderr
                                                                            for w in expected):
            wrong.append((setting, out.stderr))
    check(not wrong,
          f"settings: {len(cases)} refusals name setting, value, range and place {wrong}")


SHIM = {"fourcc": "pRAA", "depth": 10, "packed": 1, "width": 320, "height": 240, "stride": 512,
        "fps": 60, "light": 0.02}


def write_shim(path, **changes):
    with open(path + ".new", "w") as f:
        f.writelines(f"{k}={v}\n" for k, v in {**SHIM, **changes}.items())
    os.replace(path + ".new", path)


def v4l2(args, clip):
    """Capture and controls against a device made of ioctls (v4l2_shim.c)."""
    path = args.folder + "/video-shim"
    env = {**os.environ, "V4L2_SHIM": path, "LD_PRELOAD": args.bin + "/v4l2_shim.so"}
    uri = "v4l2://" + path + "?fps=60"
    for name, changes, keys in (("SRGGB10P, padded rows", {}, ""),
                                ("SGRBG8", {"fourcc": "GRBG", "depth": 8, "packed": 0,
                                            "stride": 320}, "&format=SGRBG8"),
                                ("SBGGR12", {"fourcc": "BG12", "depth": 12, "packed": 0,
                                             "stride": 640}, "&size=320x240"),
                                ("GREY", {"fourcc": "GREY", "depth": 8, "packed": 0,
                                          "stride": 320}, "")):
        write_shim(path, **changes)
        frames, rest = watch(args, uri + keys, "--frames", "60", env=env)
        good = (len(frames) == 60 and not rest and abs(frames[-1].mean / 0.18 - 1) < 0.05
                and frames[-1].state == "converged")
        check(good, f"v4l2: {name}: {len(frames)} frames, mean "
                    f"{frames[-1].mean if frames else 0:.4f}, "
                    f"{frames[-1].time if frames else 0:.0f} us {rest}")
    write_shim(path, damaged=10, skip=7)
    frames, rest = watch(args, uri, "--frames", "60", env=env)
    gaps = sum(b.sequence - a.sequence - 1 for a, b in zip(frames, frames[1:]))
    check(len(frames) == 60 and gaps > 8
          and abs(gaps - (frames[-1].dropped - frames[0].dropped)) <= 2,
          f"v4l2: damaged and skipped frames: {gaps} gaps, counted")
    cases = [({"busy": 1}, "", "the device is busy, held by"), ({"gone": 1}, "", "no such device"),
             ({}, "&format=SGRBG12P", "no SGRBG12P; the device has SRGGB10P"),
             ({}, "&format=SGRBG10P",
              "order of SGRBG10P contradicts the device, which has SRGGB10P"),
              ({}, "&size=640x480", "asked for 640x480, the device gives 320x240 in SRGGB10P"),
             ({"fourcc": "PWC1"}, "", "no format that can be read; the device has PWC1"),
             ({"width": 321}, "", "cannot be developed")]
    for changes, keys, words in cases:
        write_shim(path, **changes)
        with open(path):
            frames, rest = watch(args, uri + keys, env=env)
        check(not frames and len(rest) == 1 and words in rest[0], f"v4l2: {rest}")
    write_shim(path)
    p = subprocess.Popen([args.bin + "/camera_watch", "--frames", "90", uri],
                         stdout=subprocess.PIPE, text=True, env=env)
    for _ in range(30):
        p.stdout.readline()
    write_shim(path, gone=1)
    time.sleep(1.5)
    write_shim(path)
    rest = p.stdout.read().splitlines()
    check(p.wait(t.LIMIT_S) == 0 and sum(l.startswith("frame") for l in rest) == 60,
          f"v4l2: unplugged for 1.5 s while streaming: {len(rest)} frames after it")


def bad(args, clip):
    cases = [(address(clip, size="321x240"), "odd"), (address(clip, format="SRGGB11"),
                                                      "format=SRGGB11"),
                                                      (address(clip, zoom="2"),
                                                       "zoom: no such camera setting"),
             (address(clip, ae__target="9"), "ae.target=9"),
             ("sim:///nowhere.mp4", "No such file"), ("bayer://" + clip, "size is missing"),
             ("bayer://" + clip + "?size=4096x4096", "less than one frame"),
             (address(clip, rectify="yes"), "rectify without lens"),
             ("v4l2:///dev/null", "not a video capture device")]
    for uri, words in cases:
        frames, rest = watch(args, uri)
        check(not frames and len(rest) == 1 and rest[0].startswith("error -") and words in rest[0],
              f"bad: {rest}")


TESTS = {f.__name__: f for f in (loop, lamps, serve, policies, controls, histogram, settings, live,
                                 cli, lost, v4l2, network, bad)}
GROUPS = {"delays": ["serve", "policies", "lost", "network"]}
GROUPS["daemon"] = [name for name in TESTS if name not in GROUPS["delays"]]


def main():
    p = t.parser(__doc__)
    p.add_argument("--seconds", type=int, default=10)
    p.add_argument("--clip", help="scene, instead of one made by ffmpeg")
    p.add_argument("--size", default="320x240", help="serve: of the camera")
    p.add_argument("--fps", type=int, default=30, help="serve")
    p.add_argument("--lens", action="store_true", help="serve: with a lens to straighten")
    p.add_argument("--max-ms", type=float,
                   help="serve: the 99th percentile of the time from capture to the reader")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    print("seed", t.SEED)
    # where the library of false devices may write inside the worker's sandbox
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        args.folder = folder
        clip = args.clip or make_clip(args, folder)
        for name in sum([GROUPS.get(n, [n]) for n in args.names or GROUPS], []):
            TESTS[name](args, clip)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
