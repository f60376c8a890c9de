#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How the daemon keeps sources: always on, close_after, placeholders while they are down, quotas,
and all of it by a reload.

  upkeep.py NAME...
"""
import json, os, pathlib, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peltontest as t
from camera import check, make_clip, pelton
from config import Reader, Watch, wait_for, write_config

PLACEHOLDER, DISCONT = 16, 4
SIM = 'uri: "sim://{}", size: 160x120, fps: 25, scene_frames: 1'


def listed(args, daemon, name):
    have = json.loads(pelton(args, daemon, "sources", "--json").stdout)
    return next(s for s in have if s["name"] == name)


def streams(args, daemon):
    return json.loads(pelton(args, daemon, "stats", "--json").stdout)["streams"]


def reload(args, daemon, config, sources):
    write_config(config, sources)
    return pelton(args, daemon, "reload").stdout


def always_on(args, clip):
    """A source runs without readers, its loss is an event, and readers join a running camera."""
    config, sim = args.folder + "/always.yaml", SIM.format(clip)
    sources = {"on": sim + ", always_on: yes, lost_at: 60", "off": sim,
               "bad": 'uri: "sim:///nowhere.mp4", always_on: yes'}
    write_config(config, sources)
    args.set = ["streams=4"]
    with t.Daemon(args, "-c", config) as daemon:
        w = Watch(args, daemon)
        check(wait_for(lambda: w.states("on")[-1] == "running"), "always on: runs without readers")
        have = listed(args, daemon, "on")
        check((have["readers"], have["width"], have["height"]) == (0, 160, 120),
              f"always on: {have}")
        check(wait_for(lambda: "lost" in w.states("on")), "always on: its loss is told")
        lost = next(e for e in w.events() if e["name"] == "on" and e["state"] == "lost")
        check(lost["cause"] and lost["readers"] == 0, f"always on: why: {lost['cause']!r}")
        check(wait_for(lambda: w.states("on")[-1] == "running"), "always on: it comes back")
        check(wait_for(lambda: w.states("bad").count("ended") >= 2),
              f"always on: what time may mend is tried again: {w.states('bad')}")
        check(w.states("off") == ["closed"], "always on: another source stays closed")
        reader = Reader(args, daemon, "on")
        check(reader.more(5) and reader.frames()[0].sequence > 60,
              "always on: a reader joins the camera that runs")
        keepers = [s for s in streams(args, daemon) if s["client"] != "libpelton"]
        check([s["source"] for s in streams(args, daemon)].count("on") == 2,
              f"always on: the daemon's own stream is listed: {keepers}")
        reader.end()
        check(wait_for(lambda: listed(args, daemon, "on")["readers"] == 0)
              and w.states("on")[-1] == "running", "always on: it runs on when the reader has gone")
        said = reload(args, daemon, config, {"on": sim + ", lost_at: 60", "off": sim})
        check(said == "sources: 0 added, 1 removed, 1 changed, 1 as before\n"
              and wait_for(lambda: w.states("on")[-1] == "closed"),
              f"always on: a reload switches it off: {said!r}")
        said = reload(args, daemon, config, {"on": sim + ", lost_at: 60",
                                             "off": sim + ", always_on: yes"})
        check(wait_for(lambda: w.states("off")[-1] == "running"),
              f"always on: a reload switches another on: {said!r}")
        worker = t.workers(daemon.process.pid)[0]
        subprocess.run(["kill", "-9", str(worker)])
        check(wait_for(lambda: "lost" in w.states("off") or "ended" in w.states("off"))
              and wait_for(lambda: w.states("off")[-1] == "running"),
              f"always on: opened again after the worker's death: {w.states('off')}")
        check(w.end() == 130, "always on: the watch ends")
        check(pelton(args, daemon, "stop").returncode == 0
              and daemon.process.wait(t.LIMIT_S) == 0, "always on: the daemon ends")


def close_after(args, clip):
    """A camera stays open for a time after its last reader."""
    config, sim = args.folder + "/after.yaml", SIM.format(clip)
    write_config(config, {"soon": sim, "later": sim + ", close_after: 2s, seed: 2",
                          "long": sim + ", close_after: 600s, seed: 3"})
    args.set = []
    with t.Daemon(args, "-c", config) as daemon:
        w = Watch(args, daemon)
        readers = {n: Reader(args, daemon, n) for n in ("soon", "later", "long")}
        check(all(r.more(3) for r in readers.values()), "close after: three cameras run")
        for r in readers.values():
            r.end()
        check(wait_for(lambda: w.states("soon")[-1] == "closed"),
              "close after: without the key it closes")
        check(w.states("long") == ["closed", "opening", "running"],
              f"close after: with it the camera stays open: {w.states('long')}")
        again = Reader(args, daemon, "long", "--latest")
        check(again.more(1) and again.frames()[0].sequence > readers["long"].frames()[-1].sequence,
              "close after: the next reader joins it")
        check(wait_for(lambda: w.states("later")[-1] == "closed"),
              f"close after: after its time it closes: {w.states('later')}")
        events = [e for e in w.events() if e["name"] == "later"]
        check([e["readers"] for e in events][-2:] == [0, 0], f"close after: {events[-2:]}")
        again.end()
        check(wait_for(lambda: listed(args, daemon, "long")["readers"] == 0)
              and w.states("long") == ["closed", "opening", "running"],
              "close after: and still stays open")
        w.end()


def placeholder(args, clip):
    """Readers that need not be lossless get marked grey frames while their source is down."""
    config, sim = args.folder + "/placeholder.yaml", SIM.format(clip)
    write_config(config, {"cam": sim + ", lost_at: 100, placeholder: gray",
                          "bare": sim + ", lost_at: 100, seed: 3"})
    args.set = []
    with t.Daemon(args, "-c", config) as daemon:
        latest, fifo = (Reader(args, daemon, "cam", *p) for p in (("--latest",), ("--fifo", "8")))
        held = Reader(args, daemon, "cam", "--latest", "--hold", "2")
        lossless, bare = Reader(args, daemon, "cam"), Reader(args, daemon, "bare", "--latest")
        readers = {"latest": latest, "fifo": fifo, "held": held, "lossless": lossless, "bare": bare}
        marked = {n: lambda r=r: [f for f in r.frames() if f.flags & PLACEHOLDER]
                  for n, r in readers.items()}
        check(all(wait_for(marked[n]) for n in ("latest", "fifo", "held")),
              "placeholder: three readers have one")
        back = lambda r: r.frames()[-1].sequence > 103 and not r.frames()[-1].flags & PLACEHOLDER
        check(all(wait_for(lambda r=r: r.frames() and back(r)) for r in readers.values()),
              f"placeholder: it comes back {[(n, len(r.frames())) for n, r in readers.items()]}")
        for name in ("latest", "fifo", "held"):
            frames = readers[name].frames()
            grey = [f for f in frames if f.flags & PLACEHOLDER]
            at = frames.index(grey[0])
            after = next(f for f in frames[at:] if not f.flags & PLACEHOLDER)
            check(all(f.samples == "128" and f.size == "160x120" and f.state == "absent"
                      for f in grey) and all(f.samples == "picture" for f in frames
                                             if not f.flags & PLACEHOLDER),
                  f"placeholder: {name}: {len(grey)} grey frames are marked, and no others")
            check(1 <= len(grey) <= 12 and grey[0].flags & DISCONT and after.flags & DISCONT
                  and frames[at - 1].epoch < grey[0].epoch < after.epoch,
                  f"placeholder: {name}: an epoch of their own, and a break before and after")
            check(sum(b.sequence - a.sequence - 1 for a, b in zip(frames[at - 1:], grey + [after]))
                  == after.dropped - frames[at - 1].dropped,
                  f"placeholder: {name}: no gap in the numbers that is not counted")
        check(not marked["lossless"]() and not marked["bare"](),
              "placeholder: none for a lossless reader, none without the key")
        for r in readers.values():
            r.end()


def keys(args, clip):
    """What is refused, and what is printed."""
    config = args.folder + "/keys.yaml"
    run = lambda *words: subprocess.run([args.bin + "/peltond", "-c", config, *words],
                                        capture_output=True, text=True, timeout=args.timeout)
    cases = {f'uri: "sim://{clip}", always_on: often': "always_on=often: expected yes or no",
             f'uri: "sim://{clip}", close_after: -1s': "close_after=-1s: expected a time",
             f'uri: "sim://{clip}", close_after: 2d': "close_after=2d: expected a time",
             f'uri: "sim://{clip}", close_after: 30': "close_after=30: expected a time up to a day "
                                                      "with its unit",
             f'uri: "sim://{clip}", placeholder: red': "placeholder=red: expected none, gray, "
             "last or the name of a PNG file",
             f'uri: "sim://{clip}", placeholder: away.png': "placeholder=away.png: No such file",
             f'uri: "sim://{clip}", placeholder: {clip}': "no PNG file: ",
             f'uri: "sim://{clip}", placeholder: cut.png': "cut.png: a damaged PNG file: ",
             f'uri: "sim://{clip}", placeholder: wide.png': "5000x2 pixels, 4096 a side",
             f'uri: "sim://{clip}", placeholder: pipe.png': "pipe.png: no plain file",
             f'uri: "sim://{clip}", alway_on: yes': "did you mean always_on?",
             f'uri: "{clip}", always_on: yes': "always_on: no key of this kind of source",
             f'uri: "{clip}", placeholder: gray': "placeholder: no key of this kind of source",
             'uri: "rtsp://localhost/a", close_after: 1s':
             "close_after: no key of this kind of source"}
    for name, size in (("good", "64x48"), ("wide", "5000x2")):
        subprocess.run([args.ffmpeg, "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s={size}",
                        "-frames:v", "1", f"{args.folder}/{name}.png"], check=True)
    whole = pathlib.Path(args.folder + "/good.png").read_bytes()
    pathlib.Path(args.folder + "/cut.png").write_bytes(whole[:len(whole) // 2])
    os.mkfifo(args.folder + "/pipe.png")
    for text, words in cases.items():
        write_config(config, {"cam": text})
        out = run("--check")
        check(out.returncode == 2 and words in out.stderr, f"keys: {out.stderr.strip()!r}")
    write_config(config, {"cam": f'uri: "sim://{clip}", always_on: yes, close_after: 1500ms, '
                                 f'placeholder: gray'})
    said = run("--print-config").stdout
    check('always_on: yes, close_after: "1500ms", placeholder: gray' in said,
          f"keys: printed: {said.splitlines()[-1:]}")
    write_config(config, {"cam": f'uri: "sim://{clip}", placeholder: good.png'})
    said = run("--print-config").stdout
    check(", placeholder: good.png" in said or ', placeholder: "good.png"' in said,
          f"keys: printed: {said.splitlines()[-1:]}")
    listed = run("--list-keys").stdout
    check(all(f"\nsources.NAME.{k}\t" in listed for k in ("always_on", "close_after",
                                                          "placeholder")), "keys: all are listed")


TESTS = {f.__name__: f for f in (keys, always_on, close_after, placeholder)}


def main():
    p = t.parser(__doc__)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    print("seed", t.SEED)
    with tempfile.TemporaryDirectory() as folder:
        args.folder = folder
        clip = make_clip(args, folder)
        for name in args.names or TESTS:
            TESTS[name](args, clip)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
