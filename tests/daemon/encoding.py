#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Access units of a camera that gives samples: the worker encodes its frames. Their numbers are
read back from the decoded pictures. Size, key pictures on request, a slow reader, readers of frames
beside a slow encoder, rectangles, a worker that is killed, and a device that encodes.

  encoding.py [--part NAME]
"""
import json, pathlib, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python")]
from pythontest import check, equal, finish, t
import numpy, numbered, os, pelton

WIDTH, HEIGHT, RATE = 128, 96, 10
LONG = 600000 # ms between key pictures: those that come were asked for


class Place:
    """A daemon with a camera "cam"."""

    def __init__(self, args, folder, *more, size=(WIDTH, HEIGHT), rate=RATE):
        self.args, self.rate = args, rate
        self.clip = f"{folder}/{size[0]}x{size[1]}.mp4"
        self.config = folder + "/config.yaml"
        if not pathlib.Path(self.clip).exists():
            numbered.make(args, self.clip, *size)
        self.write("")
        self.daemon = t.Daemon(args, "-c", self.config, *more)

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *_):
        self.daemon.__exit__()

    def write(self, keys):
        pathlib.Path(self.config).write_text(
            f'version: 1\nsources:\n  cam: {{uri: "sim://{self.clip}", fps: {self.rate}{keys}}}\n')

    def reload(self, keys):
        self.write(keys)
        subprocess.run([self.args.bin + "/pelton", "reload", "--socket", self.daemon.socket],
                       check=True, capture_output=True)

    def open(self, **options):
        return pelton.open("source:cam", socket=self.daemon.socket, **options)

    def units(self, **options):
        return self.open(encoded=True, **options)


class Unit:
    """A copy of an access unit, whose slot is given back."""

    def __init__(self, u):
        self.bytes, self.key, self.sequence = bytes(u), u.key, u.sequence
        self.width, self.height = u.width, u.height
        self.received_ns, self.dropped = u.received_ns, sum(u.dropped)
        self.lost = u.dropped[2]  # by the reader; the rest are pictures that were not encoded
        self.exposure, self.epoch, self.came = u.exposure, u.epoch, time.monotonic_ns()


def take(stream, count):
    return [Unit(stream.read(t.patience(60))) for _ in range(count)]


def decoded(args, units, folder):
    """The lumas, by FFmpeg, which has to find no error; refdec has to find the same."""
    path, raw = folder + "/units.264", folder + "/units.yuv"
    pathlib.Path(path).write_bytes(b"".join(u.bytes for u in units))
    subprocess.run([args.ffmpeg, "-v", "error", "-err_detect", "explode", "-y", "-i", path,
                    "-fps_mode", "passthrough", "-f", "rawvideo", raw], check=True)
    same = subprocess.run([args.bin + "/refdec", "--compare", raw, path], capture_output=True)
    check(same.returncode == 0, f"{len(units)} units: FFmpeg and refdec decode the same")
    width, height = units[0].width, units[0].height
    all_ = numpy.fromfile(raw, numpy.uint8).reshape(-1, height * 3 // 2, width)
    equal(len(all_), len(units), "a picture for each unit")
    return all_[:, :height]


def numbers(place, folder):
    """Each picture is that of the camera's frame with its time."""
    with place.open(policy="lossless") as frames, place.units(policy="lossless") as units:
        got, shown = [], {}
        while len(got) < 25 or max(shown) < got[-1].received_ns:
            if len(got) < 25:
                got += take(units, 1)
            f = frames.read(t.patience(20))
            shown[f.received_ns] = numbered.number_of(f.planes[0])
    lumas = decoded(place.args, got, folder)
    read = [numbered.number_of(luma) for luma in lumas]
    known = [(n, shown[u.received_ns]) for n, u in zip(read, got) if u.received_ns in shown]
    check(len(known) > 15 and all(n is not None and n == m for n, m in known),
          f"numbers: {len(known)} pictures show that of the camera's frame: {known[:6]}")
    check(got[0].key, "numbers: the first unit is a key picture")
    check(all(u.exposure and u.exposure.histogram.sum() > 0 for u in got),
          "numbers: the histogram of its frame comes with each unit")
    ages = sorted((u.came - u.received_ns) / 1e6 for u in got[5:])
    print(f"{WIDTH}x{HEIGHT}: from capture to the reader's unit p50 {ages[len(ages) // 2]:.1f} ms, "
          f"at most {ages[-1]:.1f} ms")


def fitted(args, folder):
    """A larger camera is scaled for its units, and for nobody else."""
    with Place(args, folder, "-c", "encoding.width=160", "-c", "encoding.height=160",
               size=(256, 192)) as place:
        with place.units() as units, place.open() as frames:
            u, f = take(units, 1)[0], frames.read(t.patience(30))
            equal((u.width, u.height), (160, 120), "fitted: units")
            equal((f.width, f.height), (256, 192), "fitted: frames")
            luma = decoded(args, [u], folder)[0]
            check(numbered.number_of(luma) is not None, "fitted: the number is read")


def slow(place):
    """A reader that falls behind goes on at a key picture, which comes as it asks for it."""
    with place.units(policy="latest", slots=4) as other, \
            place.units(policy="latest", slots=4) as units:
        got, gaps, held = [], [], []
        began = time.monotonic()
        while len(gaps) < 3 and time.monotonic() - began < t.patience(60):
            u = units.read(t.patience(20))
            held.append(u)
            got.append(Unit(u))
            if len(got) > 1 and got[-1].sequence != got[-2].sequence + 1:
                gaps.append(got[-1])
            if len(held) == 3:
                time.sleep(1)
                held.clear()
        missed = got[-1].sequence + 1 - len(got) - got[0].sequence
        check(len(gaps) == 3 and all(u.key for u in gaps),
              f"slow: {len(gaps)} gaps, each goes on at a key picture, none is due for "
              f"{LONG / 1000:.0f} s")
        equal(got[-1].lost - got[0].lost, missed, f"slow: {missed} lost units are counted")
        held.clear()


def stats(place):
    run = subprocess.run([place.args.bin + "/pelton", "stats", "--socket", place.daemon.socket,
                          "--json"], check=True, capture_output=True)
    return next((p["encoder"] for p in json.loads(run.stdout)["processes"] if "encoder" in p), {})


def told(place, missed):
    """The status has what the encoder did, at most a second later."""
    seen = []
    good = lambda: (seen.append(stats(place)) or seen[-1].get("missed", 0) >= missed
                    and seen[-1]["bit_rate"] > 1000)
    check(t.wait_until(good, 10) and seen[-1]["on"] == "cpu" and seen[-1]["pictures"] >= 2 and
          seen[-1]["bytes"] > 1000, f"stats: {missed} missed, {seen[-1]}")
    run = subprocess.run([place.args.bin + "/pelton", "stats", "--socket", place.daemon.socket],
                         check=True, capture_output=True)
    line = next((l for l in run.stdout.decode().splitlines() if l.startswith("encoder: ")), "")
    check(all(word in line for word in (", CPU, ", " pictures, ", " missed, ", " kbit/s")),
          f"stats in words: {line}")


def beside(args, folder):
    """The encoder is far too slow. A reader of frames has each of them."""
    with Place(args, folder, "-c", "encoding.width=1280", "-c", "encoding.height=720",
               "-c", "encoding.quality=0", size=(1280, 720), rate=8) as place:
        with place.open(policy="lossless", pix_fmt="gray") as frames, place.units() as units:
            first, stretch = take(units, 1)[0], t.Stretch()
            got = [(f.sequence, sum(f.dropped))
                   for f in (frames.read(t.patience(30)) for _ in range(16))]
            last = take(units, 2)[-1]
            t.check_time(check, [s for s, _ in got] == list(range(got[0][0], got[0][0] + 16)) and
                         got[0][1] == got[-1][1], stretch,
                         f"beside: a lossless reader of frames has each: {got[0]} to {got[-1]}")
            told(place, last.dropped - first.dropped)
            check(first.key and last.dropped > first.dropped,
                  f"beside: the encoder misses {last.dropped - first.dropped} frames, counted")


def blurred(place, folder):
    """The rectangle is in the picture. Rectangles that change move to another encoding."""
    row = HEIGHT // 4
    edge = lambda luma: int(abs(numpy.diff(luma[row].astype(int))).max())
    with place.units(policy="latest") as units:
        before = take(units, 5)
        plain = edge(decoded(place.args, before, folder)[-1])
        place.reload(f", blur: [[0, 0, {WIDTH}, {HEIGHT // 2}]]")
        end, u = time.monotonic() + t.patience(30), before[-1]
        while u.epoch == before[-1].epoch and time.monotonic() < end:
            u = take(units, 1)[0]
        rest = [u, *take(units, 3)]
        lumas = decoded(place.args, rest, folder)
        check(rest[0].key and all(edge(l) < 0.5 * plain for l in lumas),
              f"blurred: the reader goes on at a key picture, the steepest edge of {plain} becomes "
              f"{[edge(l) for l in lumas]}")
    with place.units() as again:
        luma = decoded(place.args, take(again, 1), folder)[0]
        check(edge(luma) < 0.5 * plain, "blurred: a new reader sees it blurred from the first")
    place.reload("")


def killed(place):
    """The units go on in another worker, with a key picture."""
    with place.units(policy="latest") as units:
        before = take(units, 3)[-1]
        began = time.monotonic()
        for worker in t.workers(place.daemon.process.pid):
            subprocess.run(["kill", "-9", str(worker)], check=True)
        end = time.monotonic() + t.patience(60)
        u = take(units, 1)[0]
        while u.epoch == before.epoch and time.monotonic() < end:
            u = take(units, 1)[0]
        took = time.monotonic() - began
        check(u.key and u.epoch > before.epoch and u.sequence > before.sequence,
              f"killed: units again after {took:.2f} s, numbers go on")


def device(args, folder):
    """The software device decides. A picture is slow, and right."""
    with Place(args, folder, "-c", "debug.encoder=2", size=(64, 48)) as place, \
            place.units() as units:
        lumas = decoded(args, take(units, 4), folder)
        check(all(numbered.number_of(l) is not None for l in lumas), "device: numbers are read")


def main():
    p = t.parser(__doc__)
    p.add_argument("--part")
    args = p.parse_args()
    os.environ["PATH"] = args.bin + ":" + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        wants = lambda name: args.part in (None, name)
        with Place(args, folder) as place:
            if wants("numbers"):
                numbers(place, folder)
            if wants("blurred"):
                blurred(place, folder)
            if wants("killed"):
                killed(place)
        if wants("slow"):
            with Place(args, folder, "-c", f"encoding.key_ms={LONG}") as place:
                slow(place)
        if wants("fitted"):
            fitted(args, folder)
        if wants("beside"):
            beside(args, folder)
        if wants("device"):
            device(args, folder)
    finish()


main()
