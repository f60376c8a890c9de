#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Live H.264 sources: one connection for all readers, whatever they ask for, and the first frame of
a new one at once, where key pictures are ten seconds apart.
"""
import concurrent.futures, json, pathlib, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parent / "camera")]
from pythontest import arguments, check, equal, finish, raises, t
from live_server import LiveServer, make_units
import numpy, pelton

RATE, GOP, SHORT = 25, 250, 75 # pictures between key pictures


def write(path, **sources):
    pathlib.Path(path).write_text("version: 1\nsources:\n" + "".join(
        f"  {name}: {{{text}}}\n" for name, text in sources.items()))


class Place:
    """A server with a daemon that has it as its source "door"."""

    def __init__(self, args, config, units, scheme, *more):
        self.args, self.config, self.units = args, config, units
        self.server = LiveServer(units, RATE, scheme=scheme)
        self.write("")
        self.daemon = t.Daemon(args, "-c", self.config, *more)

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *_):
        self.daemon.__exit__()
        self.server.end()

    def write(self, keys):
        write(self.config, door=f'uri: "{self.server.uri}"' + keys)

    def reload(self, keys):
        self.write(keys)
        subprocess.run([self.args.bin + "/pelton", "reload", "--socket", self.daemon.socket],
                       check=True, capture_output=True)

    def stats(self):
        run = subprocess.run([self.args.bin + "/pelton", "stats", "--json", "--socket",
                              self.daemon.socket], check=True, capture_output=True)
        return json.loads(run.stdout)

    def open(self, **options):
        return pelton.open("source:door", socket=self.daemon.socket, **options)


def first(stream, began=None):
    """Its first frame or unit, and the seconds until it came, from its opening on where that began
    then."""
    began = began or time.monotonic()
    f = stream.read(t.patience(30))
    return f, time.monotonic() - began


def number(f):
    """Of the picture in the clip; its time begins with the server's."""
    return round(f.time * RATE)


def begins(f):
    """It is of the first pictures since a key picture. A slow machine comes to the next of them."""
    return number(f) % GOP < 5


def until(stream, what, text):
    """The first frame that is so."""
    found, end = None, time.monotonic() + t.patience(20)
    while not found and time.monotonic() < end:
        f = stream.read(t.patience(20))
        found = f if f and what(f) else None
    check(found is not None, text)
    return found


def shared(place):
    """Readers of all kinds take their frames from one connection, the daemon itself among them."""
    kinds = {"latest": dict(policy="latest"), "gray": dict(policy="latest", pix_fmt="gray"),
             "small": dict(policy="fifo:4", size=(48, 32)), "lossless": dict(policy="lossless"),
             "encoded": dict(policy="latest", encoded=True),
             "encoded lossless": dict(policy="lossless", encoded=True)}
    readers = {name: place.open(**options) for name, options in kinds.items()}
    frames = {name: [number(r.read(t.patience(30))) for _ in range(20)]
              for name, r in readers.items()}
    check(all(len(set(n)) == 20 for n in frames.values()), f"shared: {len(frames)} readers")
    equal(sorted(frames["lossless"]), list(range(min(frames["lossless"]),
                                                 min(frames["lossless"]) + 20)),
          "shared: a lossless reader has each frame")
    with place.open(frames=30, policy="lossless") as short:
        equal(len([number(f) for f in short]), 30, "shared: frames of a reader that wants 30")
    with place.open(duration=1.0, policy="lossless") as short:
        have = len([number(f) for f in short])
        check(23 < have < 28, f"shared: {have} frames of a reader that wants a second")
    check(place.server.connections == 1,
          f"shared: {place.server.connections} connection for {len(readers) + 2} readers")
    place.reload(", always_on: yes")
    for r in readers.values():
        r.close()
    time.sleep(0.3)
    with place.open(policy="latest") as late:
        check(number(first(late)[0]) > 20 and place.server.connections == 1,
              "shared: always on: a later reader joins the connection that the daemon keeps")


def follow(old, wanted, units):
    """Reads on until these units have come; keeps all."""
    while not wanted <= units.keys():
        u = old.read(t.patience(20))
        units[number(u)] = bytes(u)


def decoded_at_once(place, figures):
    kinds = {"latest": dict(policy="latest"), "fifo": dict(policy="fifo:4", pix_fmt="gray"),
             "lossless": dict(policy="lossless")}
    for name, options in kinds.items():
        stretch, joined, began = t.Stretch(), place.server.now(), time.monotonic()
        with place.open(**options) as r:
            f, figures[name] = first(r, began)
        said = f"at once: {name} begins with picture {number(f)}, joined at {joined}"
        if name == "lossless":
            check(begins(f), said)
        else:
            t.check_time(check, number(f) >= joined - 25, stretch, said)
        t.check_time(check, number(f) < GOP, stretch,
                     f"at once: {name} has it before the next key picture")
        t.check_time(check, figures[name] < 1, stretch,
                     f"at once: {name}: first frame after {1000 * figures[name]:.0f} ms")


def units_at_once(place, old, units, figures):
    for policy in ("latest", "lossless"):
        stretch, began = t.Stretch(), time.monotonic()
        with place.open(policy=policy, encoded=True, slots=4) as r:
            f, figures["encoded " + policy] = first(r, began)
            same, got, last = f.key and begins(f), {number(f): bytes(f)}, f.sequence
            while last < 60:
                f = r.read(t.patience(5))
                same &= f.sequence == last + 1
                last = f.sequence
                got[number(f)] = bytes(f)
        follow(old, got.keys(), units)
        check(same and all(units[i] == got[i] for i in got),
              f"at once: encoded {policy}: {last} units since the key picture, none is missing")
        t.check_time(check, figures["encoded " + policy] < 1, stretch,
                     f"at once: encoded {policy}: first unit after "
                     f"{1000 * figures['encoded ' + policy]:.0f} ms")


def at_once(place):
    """A new reader need not wait for the next key picture, which comes seconds later."""
    old, units, figures = place.open(policy="lossless", encoded=True), {}, {}
    began, _ = first(old)
    check(began.key, "at once: the first unit is a key picture")
    units[number(began)] = bytes(began)
    follow(old, {75}, units)
    decoded_at_once(place, figures)
    units_at_once(place, old, units, figures)
    kept = next(q for q in place.stats()["limits"] if q["name"] == "kept_units")
    check(kept["refused"] == 0 and t.wait_until(
        lambda: next(q for q in place.stats()["limits"] if q["name"] == "kept_units")["used"] > 0,
        5), f"at once: the units are told: {kept}")
    equal(place.server.connections, 1, "at once: connections")
    old.close()


def lost(place):
    """The source goes and comes back, with other pictures: the units of before are forgotten."""
    readers = {"decoded": place.open(policy="latest"),
               "encoded": place.open(policy="latest", encoded=True),
               "lossless": place.open(policy="lossless")}
    epochs = {name: first(r)[0].epoch for name, r in readers.items()}
    time.sleep(1)
    port = place.server.port
    place.server.end()
    place.server = LiveServer(place.units, RATE, port, "tcp")
    for name, r in readers.items():
        f = until(r, lambda f: f.epoch > epochs[name], f"lost: {name} comes back in a new epoch")
        check(f.key or name == "decoded", f"lost: {name} begins at a key picture")
    with place.open(policy="latest", encoded=True) as r:
        f, _ = first(r)
        check(f.key and begins(f), f"lost: a new reader begins with picture {number(f)}")
    equal(place.server.connections, 1, "lost: connections to the one that came back")
    for r in readers.values():
        r.close()


def blurred(place):
    """Rectangles that come while units are kept hide from new readers, too."""
    box = (slice(8, 24), slice(8, 24)) # of the luma
    seen, units = place.open(policy="latest"), place.open(policy="latest", encoded=True)
    first(units)
    f = until(seen, lambda f: number(f) > 50, "blur: a reader, without rectangles")
    check(f.planes[0][box].std() > 1, "blur: the part has a pattern")
    place.reload(", blur: [[8, 8, 16, 16]]")
    flat = lambda f: f.planes[0][box].std() < 0.6 * plain
    plain = f.planes[0][box].std()

    def rest():
        while units.read(t.patience(20)):
            pass

    raises(pelton.Forbidden, rest, "are blurred")
    raises(pelton.Forbidden, lambda: place.open(encoded=True), "are blurred")
    until(seen, flat, "blur: the reader sees it blurred")
    for policy in ("latest", "lossless"):
        with place.open(policy=policy) as r:
            f, took = first(r)
            check(flat(f), f"blur: a new {policy} reader has a blurred first frame after "
                  f"{took:.2f} s")
    place.reload("")
    with place.open(encoded=True) as again:
        check(first(again)[0].key, "blur: without the rectangles units are given again")
    seen.close()
    units.close()


def killed(place):
    """The units go with the worker. The next one connects once for all readers."""
    readers = {"decoded": place.open(policy="latest"),
               "lossless": place.open(policy="lossless"),
               "encoded": place.open(policy="lossless", encoded=True)}
    epochs = {name: first(r)[0].epoch for name, r in readers.items()}
    before = place.server.connections
    place.server.began = time.monotonic() # its pictures begin anew
    for worker in t.workers(place.daemon.process.pid):
        subprocess.run(["kill", "-9", str(worker)], check=True)
    numbers = {name: until(r, lambda f: f.epoch > epochs[name],
                           f"killed: {name} goes on in a new epoch").sequence
               for name, r in readers.items()}
    equal(place.server.connections, before + 1, "killed: one connection for all")
    check(all(n > 0 for n in numbers.values()), f"killed: numbers go on: {numbers}")
    for r in readers.values():
        r.close()


def too_many(place):
    """More bytes than may be kept: new readers wait for the next key picture, and it is told."""
    with place.open(policy="lossless", encoded=True) as old:
        first(old)
        until(old, lambda u: number(u) > 40, "too many: a reader since the beginning")
        kept = lambda: next(q for q in place.stats()["limits"] if q["name"] == "kept_units")
        check(t.wait_until(lambda: kept()["refused"] > 0, 5), f"too many: it is told: {kept()}")
        with place.open(policy="latest", encoded=True) as r:
            f, _ = first(r)
            check(f.key and number(f) >= SHORT - 2,
                  f"too many: a new reader waits for the next key picture, {number(f)}")


def lose(place, reader):
    """Reads copies of frames; the source goes at some moment. The last one of it, and the first
    placeholder."""
    good, end = first(reader)[0], time.monotonic() + t.patience(20)
    gone = False
    while time.monotonic() < end:
        f = reader.read(t.patience(20))
        if f.placeholder:
            return good, f
        good = [p.copy() for p in f.planes]
        if number(f) > 20 and not gone:
            gone = True
            place.server.end()
    return good, None


def placeholder_last(place):
    """The reader's own last frame, also where it has given that back, and the worker has died."""
    place.reload(", placeholder: last")
    for held in (False, True):
        reader = place.open(policy="latest")
        keep = reader.read(t.patience(20)) if held else None
        good, f = lose(place, reader)
        check(f is not None and all((a == b).all() for a, b in zip(good, f.planes)),
              "placeholder last: it is the last frame, sample by sample")
        check(f is not None and f.epoch > 1 and f.width == 96, "placeholder last: an epoch")
        if held:
            for worker in t.workers(place.daemon.process.pid):
                subprocess.run(["kill", "-9", str(worker)], check=True)
        check(all((a == b).all() for a, b in zip(good, reader.read(t.patience(20)).planes)),
              "placeholder last: so is the next one")
        place.reload(", placeholder: last, blur: [[0, 0, 16, 16]]")
        f = until(reader, lambda f: f.placeholder and (f.planes[0] == 128).all(),
                  "placeholder last: with new rectangles it is grey, as the frame lacks them")
        place.reload(", placeholder: last")
        place.server = LiveServer(place.units, RATE, place.server.port, "tcp")
        until(reader, lambda f: not f.placeholder, "placeholder last: the source is back")
        reader.close()
        del keep


def placeholder_picture(place):
    """A PNG in the format of each reader, in its proportions."""
    png, folder = "sign.png", str(pathlib.Path(place.config).parent)
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc=s=192x64",
                    "-frames:v", "1", f"{folder}/{png}"], check=True)
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", f"{folder}/{png}", "-f", "rawvideo",
                          "-pix_fmt", "rgb24", "-"], check=True, capture_output=True).stdout
    rgb = numpy.frombuffer(raw, numpy.uint8).reshape(32, 2, 96, 2, 3).mean((1, 3))
    want = numpy.zeros((64, 96, 3)) # half the size, in the middle
    want[16:48] = rgb
    luma = 16 + want @ [0.299, 0.587, 0.114] * 219 / 255
    place.reload(f", placeholder: {png}")
    readers = {fmt: place.open(policy="latest", pix_fmt=fmt)
               for fmt in ("yuv420p", "gray", "nv12", "rgb24")}
    readers["again"] = place.open(policy="fifo:2", pix_fmt="yuv420p")
    for r in readers.values():
        first(r)
    place.server.end()
    frames = {name: until(r, lambda f: f.placeholder, f"placeholder picture: {name}")
              for name, r in readers.items()}
    for name in ("yuv420p", "gray", "nv12", "again"):
        off = abs(frames[name].planes[0].astype(float) - luma).max()
        check(off <= 1.01, f"placeholder picture: {name}: luma is off by {off:.2f} at most")
    chroma = want.reshape(32, 2, 48, 2, 3).mean((1, 3))
    blue = 128 + (chroma[..., 2] - chroma @ [0.299, 0.587, 0.114]) / 1.772 * 224 / 255
    pairs = frames["nv12"].planes[1].reshape(32, 48, 2)
    for name, plane in (("yuv420p", frames["yuv420p"].planes[1]), ("nv12", pairs[..., 0])):
        off = abs(plane.astype(float) - blue).max()
        check(off <= 1.51, f"placeholder picture: {name}: chroma is off by {off:.2f} at most")
    off = abs(frames["rgb24"].planes[0].reshape(64, 96, 3).astype(float) - want).max()
    check(off <= 0.51, f"placeholder picture: RGB is off by {off:.2f} at most")
    for r in readers.values():
        r.close()
    pathlib.Path(f"{folder}/{png}").write_bytes(b"no PNG")
    place.write(f", placeholder: {png}")
    run = subprocess.run([place.args.bin + "/pelton", "reload", "--socket", place.daemon.socket],
                         capture_output=True, text=True)
    check(run.returncode != 0 and "sign.png: no PNG file" in run.stderr,
          f"placeholder picture: a reload says: {run.stderr.strip()}")


TESTS = {f.__name__: f for f in (at_once, shared, blurred, lost, killed, placeholder_last,
                                 placeholder_picture, too_many)}


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        long = make_units(folder + "/long.ts", 200, GOP, "-bf", "2")
        short = make_units(folder + "/short.ts", 30, SHORT, "-bf", "2")

        def run(name, test):
            more = ["-c", "kept_units=20000"] if test == too_many else []
            units = short if test == too_many else long
            (pathlib.Path(folder) / name).mkdir()
            scheme = "http" if test == at_once else "tcp"
            with Place(args, f"{folder}/{name}/live.yaml", units, scheme, *more) as place:
                test(place)

        # they wait most of the time
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for one in [pool.submit(run, *item) for item in TESTS.items()]:
                one.result()
    finish()


main()
