#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton encode, and -c:v h264 of pipe and record, with the real daemon: pelton's decoder and
FFmpeg's (-err_detect explode) give the same frames; time stamps, colours and the shape of samples
are the source's; settings that cannot be are refused in words.
"""
import argparse, fcntl, json, os, pathlib, shutil, signal, stat, subprocess, sys, \
    tempfile, termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

args = t.arguments(__doc__, "ffprobe")
DEMO = str(t.ROOT / "packaging/demo.mp4")
SMALL = ["-s", "160x90", "-frames:v", "10"]


def probe(path):
    """The stream, and its packets."""
    run = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams",
                          "-show_packets", path], capture_output=True, check=True)
    told = json.loads(run.stdout)
    return told["streams"][0], told["packets"]


def hashes(path):
    """Of each frame, by FFmpeg, which must find no fault."""
    run = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-err_detect", "explode",
                          "-flags", "unaligned", "-i", path, "-noautoscale", "-fps_mode",
                          "passthrough", "-f", "framemd5", "-"], capture_output=True, text=True)
    lines = [l.rsplit(",", 1)[1].strip() for l in run.stdout.splitlines() if l[0] != "#"]
    return lines if run.returncode == 0 and not run.stderr else [run.stderr]


def same_frames(judge, path, count, what):
    """By both decoders."""
    run = t.decode(args, judge, path, "framemd5")
    ours = [l.rsplit(",", 1)[1].strip() for l in run.stdout.decode().splitlines() if l[0] != "#"]
    theirs = hashes(path)
    check(run.returncode == 0 and len(ours) == count and ours == theirs,
          f"{what}: {len(ours)} frames of pelton's, FFmpeg's {len(theirs)} {theirs[:1]}")


def settings(d, judge, folder):
    for end, words, want in (
            ("mp4", [], {"profile": "High"}),
            ("mp4", ["-qp", "24", "-aq-mode", "0"], {"profile": "High"}),
            ("mkv", ["-profile:v", "main", "-g", "4", "-refs", "3"], {"profile": "Main"}),
            ("ts", ["-profile:v", "baseline", "-slices", "3", "-no-deblock"],
             {"profile": "Constrained Baseline"}),
            ("264", ["-coder", "cavlc", "-level", "3.1"], {"level": 31}),
            ("mp4", ["-b:v", "300k", "-bufsize", "150k"], {}),
            ("mp4", ["-qp", "18", "-maxrate", "200k", "-bufsize", "100k"], {})):
        out = f"{folder}/out.{end}"
        run = d.pelton("encode", "-i", DEMO, "-y", out, *SMALL, *words)
        what = f"{end} {' '.join(words)}"
        if run.returncode:
            check(False, f"{what}: {run.stderr.decode()}")
            continue
        stream, packets = probe(out)
        keys = sum("K" in p["flags"] for p in packets)
        good = all(stream[k] == v for k, v in want.items()) and len(packets) == 10
        check(good and keys == (3 if "-g" in words else 1),
              f"{what}: {len(packets)} packets, {keys} key")
        same_frames(judge, out, 10, what)
    out = f"{folder}/gray.264"
    run = d.pelton("encode", "-i", DEMO, "-o", out, *SMALL, "-pix-fmt", "gray")
    told = d.pelton("probe", "--json", out)
    check(run.returncode == 0 and b'"gray"' in told.stdout and len(hashes(out)) == 10,
          f"luma alone {run.stderr.decode()[-60:]!r}")
    check(not list(pathlib.Path(folder).glob("*.part")), "no part is left")


def limits(d, folder):
    """No second above the rate, no picture above the buffer."""
    out = f"{folder}/rate.264"
    run = d.pelton("encode", "-i", DEMO, "-y", out, "-s", "160x90", "-b:v", "200k", "-bufsize",
                 "60k")
    sizes = [8 * int(p["size"]) for p in probe(out)[1]]
    seconds = [sum(sizes[i:i + 25]) for i in (0, 25)]
    check(run.returncode == 0 and len(sizes) == 50 and max(sizes) <= 60000
          and all(abs(s - 200000) <= 6000 for s in seconds),
          f"200 kbit/s: seconds of {seconds} bits, the largest picture has {max(sizes)}")


def stamps(d, judge, folder):
    """A variable rate, B pictures, colours and unequal sides of samples"""
    source = f"{folder}/source.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    "testsrc2=s=128x96:r=50:d=2,select='not(mod(n\\,3))+not(mod(n\\,7))',"
                    "setsar=16/11", "-fps_mode", "vfr", "-frames:v", "24", "-c:v", "libx264",
                    "-bf", "2", "-pix_fmt", "yuv420p", "-color_primaries", "bt709", "-color_trc",
                    "bt709", "-colorspace", "bt709", "-color_range", "pc",
                    "-chroma_sample_location", "topleft", source], check=True)
    of, packets = probe(source)
    times = sorted(float(p["pts_time"]) for p in packets)
    for end, off in (("mp4", 1e-6), ("mkv", 1.1e-3), ("ts", 2e-5)):
        out = f"{folder}/vfr.{end}"
        run = d.pelton("encode", "-i", source, "-o", out)
        stream, packets = probe(out)
        found = [float(p["pts_time"]) for p in packets]
        worst = max(abs(a - found[0] - b + times[0]) for a, b in zip(found, times))
        check(run.returncode == 0 and len(found) == len(times) and worst <= off,
              f"{end}: {len(found)} time stamps, at most {worst:.6f} s off")
        other = [k for k in ("color_primaries", "color_transfer", "color_space", "color_range",
                             "chroma_location", "sample_aspect_ratio", "width", "height")
                 if stream[k] != of[k]]
        check(not other and of["chroma_location"] == "topleft", f"{end}: as the source: {other}")
    same_frames(judge, f"{folder}/vfr.mp4", 24, "the source")
    out = f"{folder}/part.mp4"
    run = d.pelton("encode", "-i", source, "-ss", "0.5", "-to", "1.0", "-o", out)
    wanted = sum(0.5 <= at - times[0] < 1.0 for at in times)
    found = len(probe(out)[1])
    check(run.returncode == 0 and abs(found - wanted) <= 1, f"-ss -to: {found} of {wanted}")


def idr_ids(path):
    """idr_pic_id of the IDR pictures, where pictures have a slice"""
    run = subprocess.run([args.ffmpeg, "-nostdin", "-i", path, "-c", "copy", "-bsf:v",
                          "trace_headers", "-f", "null", "-"], capture_output=True, text=True)
    return [int(line.split("=")[1]) for line in run.stderr.splitlines() if "idr_pic_id" in line]


def wider(folder):
    """A source whose second size has more than the 99 macroblocks of level 1"""
    both = b""
    for size in ("96x64", "256x144"):
        part = pathlib.Path(folder, f"{size}.264")
        subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                        f"testsrc2=s={size}:r=10", "-frames:v", "4", "-pix_fmt", "yuv420p",
                        "-c:v", "libx264", part], check=True)
        both += part.read_bytes()
    path = pathlib.Path(folder, "wider.264")
    path.write_bytes(both)
    return path


def sources(d, judge, folder):
    """Other formats, sound, and a source that changes its size"""
    deep = f"{folder}/deep.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25",
                    "-f", "lavfi", "-i", "sine=d=0.2", "-frames:v", "5", "-c:v", "libx264",
                    "-pix_fmt", "yuv422p10le", deep], check=True)
    run = d.pelton("encode", "-i", deep, "-o", f"{folder}/flat.mp4")
    check(b"deep.mp4: its sound is left out\n" in run.stderr
          and b'"sounds": 1' in d.pelton("probe", "--json", deep).stdout, "sound is left out")
    check(run.returncode == 0 and probe(f"{folder}/flat.mp4")[0]["pix_fmt"] == "yuv420p",
          f"10 bits become 8 {run.stderr.decode()[-80:]!r}")
    parts = []
    for size in ("96x64", "64x96"):
        part = f"{folder}/{size}.264"
        subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                        f"testsrc2=s={size}:r=25", "-frames:v", "6", "-pix_fmt", "yuv420p",
                        "-c:v", "libx264", part], check=True)
        parts.append(pathlib.Path(part).read_bytes())
    joined = pathlib.Path(folder, "joined.264")
    joined.write_bytes(b"".join(parts))
    run = d.pelton("encode", "-i", str(joined), "-f", "h264", "-")
    out = pathlib.Path(folder, "changed.264")
    out.write_bytes(run.stdout)
    check(run.returncode == 0, "a source that changes its size")
    same_frames(judge, str(out), 12, "a source that changes its size")
    check(idr_ids(str(out)) == [1, 0], f"idr_pic_id of its sequences: {idr_ids(str(out))}")
    run = d.pelton("encode", "-i", str(joined), "-o", f"{folder}/sizes.mp4", "-refs", "2")
    sizes = [[probe(path)[0][k] for k in ("width", "height")] if pathlib.Path(path).exists()
             else None for path in (f"{folder}/sizes.mp4", f"{folder}/sizes-2.mp4")]
    check(run.returncode == 0 and sizes == [[96, 64], [64, 96]],
          f"a file of mp4 for each size: {sizes} {run.stderr.decode()[-80:]!r}")
    for i in (1, 2):
        same_frames(judge, f"{folder}/sizes{'-2' if i == 2 else ''}.mp4", 6, f"size {i} in mp4")
    run = d.pelton("encode", "-i", str(wider(folder)), "-level", "1", "-f", "mpegts", "-")
    said = run.stderr.decode()
    check(run.returncode == 2 and "level 1: the picture has too many macroblocks" in said
          and len(run.stdout) > 188, f"a size that its level does not allow: {said!r}")
    run = d.pelton("pipe", DEMO, "-c:v", "h264", "-qp", "30", *SMALL, "-f", "mpegts", "-")
    out = pathlib.Path(folder, "pipe.ts")
    out.write_bytes(run.stdout)
    check(run.returncode == 0 and len(hashes(str(out))) == 10, "pipe -c:v h264")


def blurred(d, folder):
    """A source whose access units are refused: it is encoded from its blurred frames."""
    out = f"{folder}/door.mkv"
    run = d.pelton("record", "door", "-o", out)
    check(run.returncode == 9 and b"are blurred" in run.stderr, "a blurred source is not copied")
    run = d.pelton("record", "door", "-c:v", "h264", "-qp", "6", *SMALL, "-o", out)
    raw = d.pelton("pipe", "door", "-f", "rawvideo", "--policy", "lossless", *SMALL, "-").stdout
    plain = d.pelton("pipe", DEMO, "-f", "rawvideo", *SMALL, "-").stdout
    found = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", out, "-f", "rawvideo",
                            "-"], capture_output=True).stdout
    off = [sum(abs(a - b) for a, b in zip(found, want)) / max(1, len(want))
           for want in (raw, plain)]
    check(run.returncode == 0 and len(found) == len(raw) and off[0] < 1 < off[1] / 4,
          f"record -c:v h264: {off[0]:.2f} off blurred samples, {off[1]:.2f} off plain ones "
          f"{run.stderr.decode()[-80:]!r}")


def clips(folder):
    """Of two sizes, with another length and other content each"""
    paths = []
    for i, size in enumerate(("96x64", "96x64", "128x96", "96x64")):
        path = f"{folder}/clip{i}.mp4"
        subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                        f"testsrc2=s={size}:r=25,hue=h={90 * i}", "-frames:v", str(9 + 7 * i),
                        "-c:v", "libx264", "-bf", "2", "-pix_fmt", "yuv420p", path], check=True)
        paths.append(path)
    return paths


def inputs(paths):
    return [word for path in paths for word in ("-i", path)]


def several(d, folder):
    """Inputs at once have the bytes of one at a time, on the CPU and on a device."""
    paths = clips(folder)
    name = "llvmpipe" if args.device in ("cpu", "auto", None) else args.device
    alone, once = pathlib.Path(folder, "alone"), pathlib.Path(folder, "once")
    alone.mkdir()
    for path in paths:
        d.pelton("encode", "-i", path, "-f", "h264", "-o", str(alone / "%s.264"))
    for where in (["--socket", d.socket], ["--device", name]):
        once.mkdir()
        run = subprocess.run([args.bin + "/pelton", "encode", *where, *inputs(paths), "-f", "h264",
                              "-o", str(once / "%s.264")], capture_output=True,
                             timeout=t.patience(300))
        same = [(alone / f"clip{i}.264").read_bytes() == (once / f"clip{i}.264").read_bytes()
                for i in range(len(paths))] if run.returncode == 0 else run.stderr
        check(same == [True] * len(paths), f"{where[0]}: bytes of one at a time: {same}")
        check(all(text in run.stderr for text in (b"78 access units", b"4 files",
                                                  b"clip2.264: 23 pictures")),
              f"the summary: {run.stderr.decode()!r}")
        shutil.rmtree(once)


def several_fail(d, folder):
    """One of several inputs fails: the others are complete."""
    paths, out = clips(folder), pathlib.Path(folder, "some")
    out.mkdir()
    wide = str(wider(folder)) # it has 2 sizes, and the second one does not fit
    run = d.pelton("encode", *inputs([paths[0], wide, paths[1]]), "-level", "1", "-o",
                 str(out / "%s.mp4"))
    said = run.stderr.decode()
    made = sorted(path.name for path in out.iterdir())
    check(run.returncode == 2 and "pelton: " + wide + ": level 1: the picture has too" in said
          and made == ["clip0.mp4", "clip1.mp4", "wider.mp4.part"] and ", 2 files, " in said,
          f"one of three fails: {made} {said!r}")
    check([len(probe(str(out / f"clip{i}.mp4"))[1]) for i in (0, 1)] == [9, 16],
          "the others have all their pictures")
    for words, cause in (
            ([*inputs(paths[:2]), "-o", f"{folder}/x.mp4"], "x.mp4: one output for 2 inputs"),
            ([*inputs(paths[:2]), "-f", "h264", "-"], "-: one output for 2 inputs"),
            ([*inputs([paths[0], paths[0]]), "-o", f"{folder}/%s.ts"], "clip0.ts: two outputs"),
            ([*inputs(paths[:2]), "-y", "-o", f"{folder}/%s.mp4"], "clip0.mp4: is the input"),
            ([*inputs([paths[0], f"{folder}/none"]), "-o", f"{folder}/%s.ts"], "none: No such")):
        run = d.pelton("encode", *words)
        check(run.returncode in (2, 4) and cause in run.stderr.decode()
              and not list(pathlib.Path(folder).glob("*.ts.part")), f"refused: {cause}: "
              f"{run.stderr.decode()[-120:]!r}")


def interrupted(folder):
    """An interrupt ends files of a source without end, and a pipe that nobody reads."""
    out, other = pathlib.Path(folder, "door%s.264"), pathlib.Path(folder, "other.mp4")
    other.write_bytes(pathlib.Path(DEMO).read_bytes())
    command = [args.bin + "/pelton", "encode", "--device", "libavcodec", "-i", "sim://" + DEMO]
    run = subprocess.Popen([*command, "-o", str(out), "-i", f"sim://{other}"],
                           stderr=subprocess.PIPE)
    begun = lambda: all(pathlib.Path(folder, f"door{n}.264.part").exists()
                        for n in ("demo", "other"))
    t.wait_until(lambda: run.poll() is not None or begun(), 20)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=t.patience(20))[1].decode()
    check(run.returncode == 130 and all(pathlib.Path(folder, f"door{n}.264").exists()
                                        for n in ("demo", "other")),
          f"an interrupt ends both files: {run.returncode} {said!r}")
    full, end = os.pipe()
    run = subprocess.Popen([*command, "-qp", "4", "-f", "h264", "-"], stdout=end)
    os.close(end)
    held = lambda: int.from_bytes(fcntl.ioctl(full, termios.FIONREAD, bytes(4)), "little")
    check(t.wait_until(lambda: run.poll() is not None or held() > 60000, 20) and held() > 60000,
          "the pipe is full")
    run.send_signal(signal.SIGINT)
    check(run.wait(timeout=t.patience(20)) == 130, "an interrupt ends a pipe that nobody reads")
    os.close(full)


def in_place(folder):
    """A named pipe takes the bytes and stays; so does a link, whose file is replaced."""
    pipe, got = str(pathlib.Path(folder, "fifo")), pathlib.Path(folder, "fifo.ts")
    os.mkfifo(pipe)
    for words in (["encode", "-i", DEMO, "-s", "96x54"], ["record", DEMO]):
        with open(got, "wb") as out:
            reader = subprocess.Popen(["cat", pipe], stdout=out)
        run = subprocess.run([args.bin + "/pelton", *words, "--device", "libavcodec", "-frames:v",
                              "2", "-f", "mpegts", "-o", pipe], capture_output=True)
        stays = stat.S_ISFIFO(os.stat(pipe).st_mode)
        if not stays:
            reader.kill()
        check(run.returncode == 0 and stays and reader.wait(timeout=t.patience(20)) == 0
              and len(probe(str(got))[1]) == 2, f"{words[0]} into a named pipe {run.stderr!r}")
    link, target = pathlib.Path(folder, "link.264"), pathlib.Path(folder, "target.264")
    target.write_text("old")
    link.symlink_to(target.name)
    run = subprocess.run([args.bin + "/pelton", "record", DEMO, "--device", "libavcodec",
                          "-frames:v", "2", "-y", "-o", str(link)], capture_output=True)
    check(run.returncode == 0 and link.is_symlink() and len(probe(str(target))[1]) == 2,
          f"a link stays {run.stderr!r}")


REFUSALS = ( # words, exit code, cause, hint
    (["-level", "1.0"], 2, "level 1: the picture has too many macroblocks", "choose a higher one"),
    (["-level", "7"], 2, "--level 7: not understood", "from 1.0 to 6.2"),
    (["-level", "1.5"], 2, "level_idc 15: there is no such level", "41 is level 4.1"),
    (["-b:v", "2k"], 2, "bit rate 2000: ", "raise the rate or -bufsize"),
    (["-b:v", "2G"], 2, "no level allows this: the bit rate is too high", "pelton help encode"),
    (["-b:v", "1M", "-bufsize", "20k"], 2, "buffer 20000 bits: less than two pictures", "80000"),
    (["-b:v", "4M", "-level", "2"], 2, "level 2: ", "choose a higher one"),
    (["-b:v", "1M", "-qp", "20"], 2, "-qp and -b:v: both choose QP", "choose one"),
    (["-crf", "20", "-qp", "20"], 2, "-crf and -qp: both choose QP", "choose one"),
    (["-crf", "23.5"], 2, "--crf 23.5: not understood", "from 0 to 51"),
    (["-b:v", "2M", "-maxrate", "1M"], 2, "-maxrate 1000000: less than -b:v 2000000", "left out"),
    (["-bufsize", "1M"], 2, "-bufsize: there is no rate", "-maxrate 4M"),
    (["-qp", "52"], 2, "-qp 52: not understood", "from 0 to 51"),
    (["-refs", "5"], 2, "--refs 5: not understood", "from 1 to 4"),
    (["-profile:v", "baseline", "-coder", "cabac"], 2, "-coder cabac", "leave -coder out"),
    (["-profile:v", "main", "-pix-fmt", "gray"], 2, "luma alone: is of the profile high", ""),
    (["-s", "161x90"], 2, "size 161x90: is odd", "162x90"),
    (["-c:v", "hevc"], 2, "-c:v hevc: pelton does not encode this", "-c:v h264"),
    (["-preset", "fast"], 2, "-preset fast: pelton does not do this", "no presets"),
    (["-f", "webm"], 2, "webm: no container for encoded video", "-f is one of"),
    (["-to", "1", "-ss", "2"], 2, "-to 1: not after -ss 2", "-t is a length"),
)


def refusals(d, folder):
    out = f"{folder}/refused.mp4"
    for words, code, cause, hint in REFUSALS:
        run = d.pelton("encode", "-i", DEMO, "-o", out, "-frames:v", "2", *words)
        said = run.stderr.decode()
        check(run.returncode == code and f"pelton: {cause}" in said and hint in said
              and not pathlib.Path(out).exists(), f"refused: {words} {said!r}")
    same = f"{folder}/same.mp4"
    pathlib.Path(same).write_bytes(pathlib.Path(DEMO).read_bytes())
    run = d.pelton("encode", "-i", same, "-y", "-o", same)
    check(run.returncode == 2 and b"is the input" in run.stderr
          and pathlib.Path(same).read_bytes() == pathlib.Path(DEMO).read_bytes(),
          "the input is not overwritten")
    for words, hint in ((["-i", DEMO], b"-o FILE is missing"), (["-o", out], b"-i is missing"),
                        (["-i", DEMO, "-"], b"-f mpegts -")):
        run = d.pelton("encode", *words)
        check(run.returncode == 2 and hint in run.stderr, f"refused: {words[-1]}")
    run = d.pelton("record", DEMO, "-o", out, "-qp", "20")
    check(run.returncode == 2 and b"-qp: nothing is encoded" in run.stderr, "-qp without -c:v")
    check(not list(pathlib.Path(folder).glob("*.part")), "no part is left by a refusal")


def device(folder):
    """A device that --device names encodes, too, and gives the same bytes."""
    name = "llvmpipe" if args.device in ("cpu", "auto", None) else args.device
    units = []
    for which in (name, "libavcodec"):
        path = str(pathlib.Path(folder, f"on-{len(units)}.h264"))
        run = subprocess.run([args.bin + "/pelton", "encode", "--device", which, "-i", DEMO, "-o",
                              path, "-s", "96x54", "-frames:v", "4", "-refs", "2", "-v", "info"],
                             capture_output=True, stdin=subprocess.DEVNULL, timeout=t.patience(300))
        if run.returncode:
            print(run.stderr.decode())
        made = pathlib.Path(path).read_bytes() if run.returncode == 0 else b""
        units.append((run.returncode, made, b" encodes" in run.stderr))
    check(units[0][0] == 0 and units[0][1] == units[1][1] and len(units[0][1]) > 500,
          f"{name} and the CPU encode the same {len(units[0][1])} bytes")
    check(units[0][2] and not units[1][2], "the log tells which device encodes")


def configuration(folder):
    path = pathlib.Path(folder, "pelton.yaml")
    path.write_text(f"version: 1\nsources:\n  door:\n    uri: \"{DEMO}\"\n"
                    "    blur: [[0, 0, 640, 200]]\n")
    return str(path)


def main():
    plain = argparse.Namespace(**{**vars(args), "device": "libavcodec"})
    with t.Daemon(args) as judge, tempfile.TemporaryDirectory() as folder, \
            t.Daemon(plain, "-c", configuration(folder), "-c", f"allow_paths={t.ROOT}") as d:
        t.warm_up(args, judge, DEMO)
        settings(d, judge, folder)
        limits(d, folder)
        stamps(d, judge, folder)
        sources(d, judge, folder)
        blurred(d, folder)
        refusals(d, folder)
        device(folder)
        several(d, folder)
        several_fail(d, folder)
        interrupted(folder)
        in_place(folder)
    return t.finish()


sys.exit(main())
