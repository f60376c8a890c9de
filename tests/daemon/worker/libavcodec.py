#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decoding with libavcodec where no GPU is: when it is chosen, who says so, and that readers get
the same frames, times and ends as from the software device.

  libavcodec.py --bin DIR

Exit code 77 without the ffmpeg command, or where its libavcodec has no x264.
"""
import glob, json, os, pathlib, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import peltontest as t
from peltontest import check

CLIP = str(t.ROOT / "packaging/demo.mp4")
GPU_NODES = [n for n in glob.glob("/dev/dri/*") + glob.glob("/dev/nvidia*")]


def pelton(args, *words, stdin=None, **env):
    return subprocess.run([args.bin + "/pelton", *words], capture_output=True, text=True,
                          stdin=stdin or subprocess.DEVNULL, timeout=t.patience(60),
                          env={**os.environ, **env})


def lines(args, daemon, path, *words, stdin=None):
    run = pelton(args, "decode", "-loglevel", "error", "--socket", daemon.socket, "-i", path,
                 *words, "-f", "framemd5", "-o", "-", stdin=stdin)
    check(run.returncode == 0, f"{daemon.device} {path} {words}: {run.stderr.strip()}")
    return [line for line in run.stdout.splitlines() if not line.startswith("#software")]


def check_same(args, daemons, what, path, *words):
    """Frames, their times and their number."""
    ours, theirs = (lines(args, daemon, path, *words) for daemon in daemons)
    check(len(ours) > 4, f"{what}: {len(ours)} lines")
    check(ours == theirs, f"{what}: {t.first_difference(chr(10).join(theirs), chr(10).join(ours))}")


def check_choice(args):
    """Which decoder each device gives, in the words of doctor."""
    def decoder(*words, **env):
        run = pelton(args, "doctor", "--json", *words, **env)
        return json.loads(run.stdout)["decoder"] if run.stdout else None

    on = {"PELTON_CONFIG_LIBAVCODEC": "true"}
    check(decoder("--device", "cpu", **on) == "pelton", "--device cpu is pelton")
    check(decoder("--device", "libavcodec") == "libavcodec", "--device libavcodec")
    if GPU_NODES:
        print("not tested, as there may be a GPU: what auto and gpu mean without one")
        return
    check(decoder(**on) == "libavcodec", "auto without a GPU is libavcodec")
    check(decoder("--device", "all", **on) == "libavcodec", "all without a GPU is libavcodec")
    check(decoder("-c", "libavcodec=false", **on) == "pelton", "libavcodec=false is pelton")
    check(decoder() == "pelton", "tests are pelton's own")
    run = pelton(args, "decode", "--device", "gpu", "-i", CLIP, "-f", "null", "-o", "-", **on)
    check(run.returncode == 7, f"--device gpu without one: exit code {run.returncode}")
    run = pelton(args, "decode", "-i", CLIP, "-f", "null", "-o", "-", **on)
    check(run.stderr.count("decodes, not pelton") == 1, "one warning: " + run.stderr)
    run = pelton(args, "decode", "--blur", "0,0,16,16", "-frames:v", "2", "-i", CLIP, "-f", "null",
                 "-o", "-", **on)
    check(run.returncode == 0 and "decodes, not pelton" not in run.stderr and
          run.stderr.count("Vulkan device") == 2, "blurred by pelton: " + run.stderr)


def check_readers(args, daemons):
    """A reader whose output nobody reads, and another one beside it."""
    daemon = daemons[1]
    slow = subprocess.Popen([args.bin + "/pelton", "decode", "-loglevel", "error", "--socket",
                             daemon.socket, "-i", CLIP, "-f", "rawvideo", "-o", "-"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    ask = lambda: json.loads(pelton(args, "stats", "--json", "--socket", daemon.socket).stdout)
    # what a worker counts is told once a second
    decoders = lambda: [s["decoder"] for s in ask()["streams"] if s["frames"] > 0]
    check(t.wait_until(lambda: decoders() == ["libavcodec"], 10), f"stats of a stream: {ask()}")
    check(ask()["decoder"] == "libavcodec", "stats of the daemon")
    check_same(args, daemons, "the second reader", CLIP)
    run = pelton(args, "bench", "--socket", daemon.socket, CLIP)
    check(run.returncode == 7 and "not pelton" in run.stderr, "bench refuses: " + run.stderr)
    slow.kill()
    slow.wait()
    for words, told in ((("--device", "gpu"), 1), ((), 0)):
        run = pelton(args, "decode", *words, "--socket", daemon.socket, "-i", CLIP, "-frames:v",
                     "1", "-f", "null", "-")
        check(run.returncode == 0 and run.stderr.count("has no effect") == told,
              f"{words} beside --socket: {run.stderr}")


def make(folder, name, size, *words):
    path = f"{folder}/{name}"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=size={size}:rate=25", "-frames:v", "20", "-c:v", "libx264",
                    "-threads", "1", *words, path], check=True)
    return path


def check_frames(args, daemons, folder):
    check_same(args, daemons, "a file", CLIP)
    check_same(args, daemons, "a part", CLIP, "-ss", "0.2", "-t", "0.2")
    check_same(args, daemons, "NV12", CLIP, "-pix_fmt", "nv12")
    check_same(args, daemons, "gray", CLIP, "-pix_fmt", "gray")
    pair = [make(folder, f"{i}.264", size, "-g", "10", "-bf", "2")
            for i, size in enumerate(("176x144", "208x120"))]
    with open(folder + "/both.264", "wb") as both:
        both.write(b"".join(pathlib.Path(p).read_bytes() for p in pair))
    check_same(args, daemons, "a change of size", folder + "/both.264")
    interlaced = make(folder, "i.mkv", "176x144", "-flags", "+ildct+ilme", "-bf", "2")
    check_same(args, daemons, "interlaced", interlaced)
    check_same(args, daemons, "fields", interlaced, "--fields")
    ten = make(folder, "ten.mp4", "176x144", "-pix_fmt", "yuv422p10le", "-x264-params", "weightp=0")
    check_same(args, daemons, "4:2:2 of 10 bits", ten)
    with open(CLIP, "rb") as clip:
        piped = lines(args, daemons[1], "-", stdin=clip)
    digest = lambda rows: [row.split(",")[-1] for row in rows if row[0] != "#"]
    check(digest(piped) == digest(lines(args, daemons[0], CLIP)), "a pipe")


def check_device(args, daemons, folder):
    """Wishes and streams that the software device meets."""
    gray = make(folder, "gray10.mkv", "176x144", "-pix_fmt", "gray10le")
    check_same(args, daemons, "luma alone of 10 bits", gray)
    check_same(args, daemons, "a blurred rectangle", CLIP, "--blur", "16,16,64,64")
    check(any("the software device decodes it" in line for line in daemons[1].lines()),
          "the log says who decodes")


def check_damage(args, daemons, folder):
    """A damaged stream: every frame comes, the damaged ones are marked. libavcodec gives a frame
    out while another thread may still find its damage: about 2 of 100 runs hear of none."""
    data = bytearray(pathlib.Path(make(folder, "whole.264", "352x288", "-g", "100")).read_bytes())
    starts = [m.start() for m in re.finditer(b"\0\0\1", data)] + [len(data)]
    at, end = [(s, e) for s, e in zip(starts, starts[1:]) if s + 3 < e and data[s + 3] & 31 == 1][3]
    for i in range(at + 40, min(end - 4, at + 140)):
        data[i] = data[i] ^ 0x5a or 0x11
    path = folder + "/damaged.264"
    pathlib.Path(path).write_bytes(data)
    decode = ("decode", "--socket", daemons[1].socket, "-i", path, "-f", "null", "-o", "-")
    runs = [pelton(args, *decode) for _ in range(4)]
    corrupt = [re.search(r"(\d+) frames.*, (\d+) corrupt", run.stderr) for run in runs]
    check(all(c and c.group(1) == "20" for c in corrupt) and
          any(c and c.group(2) != "0" for c in corrupt),
          "all frames come, and damage is told: " + runs[-1].stderr)
    runs = [pelton(args, *decode, "--on-error", "fail") for _ in range(4)]
    check(6 in [run.returncode for run in runs], f"--on-error fail: {runs[-1].stderr}")


def main():
    args = t.parser(__doc__).parse_args()
    encoders = shutil.which("ffmpeg") and subprocess.run(
        ["ffmpeg", "-v", "quiet", "-encoders"], capture_output=True, text=True).stdout
    if not encoders or "libx264" not in encoders:
        print("skipped: no ffmpeg with libx264")
        return t.SKIPPED
    check_choice(args)
    args.device = "cpu"
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as pelton_daemon:
        args.device = "libavcodec"
        with t.Daemon(args) as daemon:
            daemons = (pelton_daemon, daemon)
            check_readers(args, daemons)
            check_frames(args, daemons, folder)
            check_device(args, daemons, folder)
            check_damage(args, daemons, folder)
    return t.finish()


sys.exit(main())
