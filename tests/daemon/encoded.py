#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Access units as they came: those of FFmpeg's demuxers, nothing is decoded, drops go on at a key
picture, new parameter sets and larger units begin an epoch. Blurred sources give none, also after a
reload; raw cameras give none.
"""
import hashlib, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from pythontest import arguments, check, clip, equal, finish, raises, t
import pelton
from pelton import _proto, _stream

GOP = 10


def packets(path):
    """Size and hash of each packet, and its times, as FFmpeg reads them."""
    run = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-copyts", "-i", path, "-map", "0:v",
                          "-c", "copy", "-f", "framemd5", "-"], capture_output=True, text=True)
    lines = [l.replace(" ", "").split(",") for l in run.stdout.splitlines() if l[0] != "#"]
    return [(int(l[4]), l[5]) for l in lines]


def units(stream):
    return [(len(u.data), hashlib.md5(u.data).hexdigest()) for u in stream]


def containers(daemon, folder, base):
    for name, how in (("clip.mp4", []), ("clip.mkv", []), ("clip.ts", []),
                      ("clip.264", ["-f", "h264"])):
        path = f"{folder}/{name}"
        if path != base:
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", base, "-c", "copy", *how, path],
                           check=True)
        with pelton.open(path, socket=daemon.socket, encoded=True) as s:
            got, info = units(s), s.info
            stats = s.stats()
        equal(got, packets(path), f"{name}: {len(got)} access units are the file's")
        equal((stats.frames, stats.pictures, stats.libavcodec, stats.cpu_entropy),
              (len(got), 0, False, 0.0), f"{name}: nothing is decoded")
        check(info.supported and info.codec == "h264", f"{name}: information")
    with open(base, "rb") as file, pelton.open(file, socket=daemon.socket, encoded=True) as s:
        keys = [u.sequence for u in s if u.key]
    equal(keys, list(range(0, 60, GOP)), "a descriptor; key pictures are marked")


def parts(daemon, base):
    with pelton.open(base, socket=daemon.socket, encoded=True, start=0.9) as s:
        first = s.read()
        check(first.key and first.time <= 0.9, f"start: a key picture before it, {first.time} s")
    with pelton.open(base, socket=daemon.socket, encoded=True, frames=7) as s:
        equal(len(units(s)), 7, "seven access units")
    with pelton.open(base, socket=daemon.socket, encoded=True, loop=True, frames=90) as s:
        times = [u.dts for u in s]
    check(times == sorted(set(times)) and len(times) == 90, "a loop: decoding times grow")
    raises(pelton.UsageError, lambda: pelton.open(base, socket=daemon.socket, encoded=True,
                                                  pix_fmt="gray"), "out of range")
    raises(pelton.UsageError, lambda: pelton.open(base, socket=daemon.socket, encoded=True,
                                                  fps=5), "out of range")


def drops(daemon, base):
    """A reader that holds units, then reads on: what follows a gap is a key picture."""
    for policy in ("latest", "fifo:4"):
        with pelton.open(base, socket=daemon.socket, encoded=True, policy=policy, realtime=True,
                         loop=True, frames=240, slots=0 if ":" in policy else 8) as s:
            got, gaps, dropped, late = 0, [], 0, 0
            held = []
            for u in s:
                if got and u.sequence != late + 1:
                    gaps.append(u.key)
                got, late, dropped = got + 1, u.sequence, sum(u.dropped)
                held.append(u)
                if len(held) == 3:
                    t.time.sleep(0.5) # falls behind
                    held.clear()
                if len(gaps) == 3:
                    break
            missed = late + 1 - got
        check(gaps and all(gaps), f"{policy}: {len(gaps)} gaps, each goes on at a key picture")
        equal(dropped, missed, f"{policy}: {missed} units that were left out are counted")


def epochs(daemon, folder, base):
    """Larger pictures in the middle: other parameter sets and larger units."""
    large = clip(folder, "large.mp4", "-g", str(GOP), "-qp", "4", size="320x240", frames=12)
    both, parts = f"{folder}/both.264", []
    for path in (base, large, base):
        parts.append(subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-c", "copy", "-f",
                                     "h264", "-"], capture_output=True, check=True).stdout)
    pathlib.Path(both).write_bytes(b"".join(parts))
    with pelton.open(both, socket=daemon.socket, encoded=True) as s:
        seen = [(u.epoch, u.width, u.parameter_sets, bytes(u)) for u in s]
    equal(b"".join(b for *_, b in seen), b"".join(parts), "epochs: all bytes come")
    widths = [w for i, (_, w, *_) in enumerate(seen) if not i or w != seen[i - 1][1]]
    equal(widths, [96, 320, 96], "epochs: the size follows")
    check(all(seen[i][0] != seen[i - 1][0] for i in range(1, len(seen))
              if seen[i][2] != seen[i - 1][2]), "epochs: new parameter sets are a new epoch")
    by_width = {w: {sets for _, x, sets, _ in seen if x == w} for w in (96, 320)}
    check(len(by_width[320]) == 1 and not by_width[320] & by_width[96],
          "epochs: each size has parameter sets of its own")


def write(config, *sources):
    pathlib.Path(config).write_text("version: 1\nsources:\n" +
                                    "".join(f"  {line}\n" for line in sources))


def blurred(args, folder, base):
    """Refused by its name and by its address, and while it is read."""
    config, words = folder + "/config.yaml", "are blurred"
    door, plain = f"door: {{uri: \"{base}\", blur: [[8, 8, 16, 16]]}}", f"door: {{uri: \"{base}\"}}"
    write(config, door)
    with t.Daemon(args, "-c", config, "-c", "allow_paths=" + folder) as d:
        reload = lambda: subprocess.run([args.bin + "/pelton", "reload", "--socket", d.socket],
                                        check=True, capture_output=True)
        options = dict(socket=d.socket, encoded=True)
        e = raises(pelton.Forbidden, lambda: pelton.open("source:door", **options), words)
        check(e and "read its frames" in str(e.hint), "blur: the hint")
        place = _stream.Place("door", base, None, -1) # by its address
        raises(pelton.Forbidden, lambda: _stream.Stream(
            place, _proto.Open(uri=base, encoded=True), d.socket), words)
        write(config, plain)
        reload()
        for policy, uri in (("lossless", "source:door"), ("latest", "source:door")):
            with pelton.open(uri, policy=policy, loop=True, realtime=True, **options) as s:
                check(s.read().key, f"blur: without it {policy} reads")
                write(config, door)
                reload()
                def rest():
                    while s.read(t.patience(5)):
                        pass
                raises(pelton.Forbidden, rest, words)
            write(config, plain)
            reload()


def refused(daemon, folder, base):
    other = f"{folder}/other.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=64x48",
                    "-frames:v", "3", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", other], check=True)
    raises(pelton.Unsupported, lambda: pelton.open(other, socket=daemon.socket, encoded=True),
           "pelton decodes H.264")


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        base = clip(folder, "clip.mp4", "-g", str(GOP), "-keyint_min", str(GOP), "-sc_threshold",
                    "0", "-bf", "2", frames=60)
        containers(daemon, folder, base)
        parts(daemon, base)
        drops(daemon, base)
        epochs(daemon, folder, base)
        blurred(args, folder, base)
        refused(daemon, folder, base)
    finish()


main()
