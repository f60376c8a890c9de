#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""JPEG files where the daemon's device makes them: the bytes of the slow C of jpeg/, through daemon
and command. Pixel formats, odd sizes, colours, scaled frames, rectangles, a raw camera, the CPU's
way beside it, mistakes, a slow reader, and a worker that is killed.
"""
import argparse, fractions, os, pathlib, re, signal, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

args = t.arguments(__doc__, "ffprobe")
MADE = b"makes the JPEG files"
HERE = b"this program makes the JPEG files"


def command(d, *words):
    return [args.bin + "/pelton", words[0], "--socket", d.socket, "--timeout", "0", *words[1:]]


def pelton(d, *words, **more):
    return subprocess.run(command(d, *words), capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=t.patience(300), **more)


def clip(path, size, frames, pix_fmt, *more):
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s={size}:r=25,noise=alls=6", "-frames:v", str(frames), "-pix_fmt",
                    pix_fmt, "-c:v", "libx264", *more, str(path)], check=True)
    return str(path)


def files_of(stream):
    """The bytes of each JPEG file: every one begins with SOI and ends with EOI."""
    if not stream.startswith(b"\xff\xd8\xff\xe0") or not stream.endswith(b"\xff\xd9"):
        return []
    return [f + b"\xff\xd9" for f in stream[:-2].split(b"\xff\xd9")]


def reference(raw, size, pix_fmt, quality, matrix, full, aspect):
    return subprocess.run([args.bin + "/jpegof", *size.split("x"), pix_fmt, str(quality),
                           str(matrix), str(full), *aspect], input=raw, capture_output=True,
                          check=True).stdout


def same(d, source, what, size, pix_fmt, *words, q=3, quality=85, matrix=6, full=0,
         aspect=()):
    """Files of the device, and those of the C from the frames that the daemon delivers."""
    raw = pelton(d, *source, "-f", "rawvideo", *words, "-")
    run = pelton(d, *source, "-v", "verbose", "-f", "mjpeg", "-q:v", str(q), *words, "-")
    want = raw.stdout and reference(raw.stdout, size, pix_fmt, quality, matrix, full, aspect)
    t.check(run.returncode == 0 and MADE in run.stderr and HERE not in run.stderr,
            f"{what}: the device makes the files {run.stderr[-200:] if run.returncode else ''}")
    t.check(want and run.stdout == want, f"{what}: {len(run.stdout)} bytes of {len(want)}")
    return run.stdout


def told(matrix, full):
    names = {1: "bt709", 6: "smpte170m"}
    return ["-colorspace", names[matrix], "-color_primaries", names[matrix], "-color_trc",
            names[matrix], "-color_range", "pc" if full else "tv"]


def kinds(d, folder):
    read = lambda path: ("decode", "-i", path)
    path = clip(f"{folder}/a.mp4", "98x66", 4, "yuv420p", "-bf", "2", *told(1, 0))
    whole = same(d, read(path), "BT.709, limited", "98x66", "yuv420p", matrix=1)
    same(d, read(path), "-q:v 20", "98x66", "yuv420p", q=20, quality=25, matrix=1)
    same(d, read(path), "-q:v 1", "98x66", "yuv420p", q=1, quality=95, matrix=1)
    same(d, read(path), "gray of it", "98x66", "gray", "--pix-fmt", "gray", matrix=1)
    same(d, read(path), "scaled", "50x38", "yuv420p", "-s", "50x38", matrix=1,
         aspect=("931", "825"))
    for pix_fmt, size in (("yuv422p", "64x50"), ("yuv444p", "33x17"), ("gray", "35x19")):
        width, height = (int(v) for v in size.split("x"))
        shape = fractions.Fraction(98 * height, 66 * width)
        same(d, read(path), f"{pix_fmt} of {size}", size, pix_fmt, "-s", size, "--pix-fmt", pix_fmt,
             matrix=1, aspect=(str(shape.numerator), str(shape.denominator)))
    path = clip(f"{folder}/b.mp4", "40x30", 1, "yuv420p", *told(6, 1))
    same(d, read(path), "BT.601, full range", "40x30", "yuv420p", full=1)
    path = clip(f"{folder}/c.mp4", "40x1000", 1, "yuv420p")
    same(d, read(path), "a tall picture without a matrix", "40x1000", "yuv420p", matrix=1)
    return whole


def readable(folder, whole):
    """FFmpeg's decoder finds them whole, and near the source."""
    path = pathlib.Path(folder, "whole.mjpeg")
    path.write_bytes(whole)
    run = subprocess.run([args.ffmpeg, "-nostdin", "-err_detect", "explode", "-i",
                          f"{folder}/a.mp4", "-f", "mjpeg", "-i", str(path), "-lavfi",
                          "[0]scale=out_color_matrix=bt601:out_range=pc,format=yuvj420p[a];"
                          "[a][1]psnr", "-f", "null", "-"], capture_output=True, text=True)
    found = re.search(r"PSNR y:([\d.]+) u:([\d.]+) v:([\d.]+)", run.stderr)
    psnr = [float(v) for v in found.groups()] if found else run.stderr[-300:]
    t.check(found and psnr[0] > 33 and min(psnr) > 28 and "rror" not in run.stderr,
            f"PSNR by FFmpeg: {psnr}")
    probe = subprocess.run(["ffprobe", "-v", "error", "-of", "csv=p=0", "-show_entries",
                            "stream=codec_name,profile,width,height,pix_fmt,color_range", path],
                           capture_output=True, text=True).stdout.strip()
    t.check(probe == "mjpeg,Baseline,98,66,yuvj420p,pc", f"ffprobe says {probe}")


def ways(inside, outside, folder, whole):
    """The same command where the device makes none; frames that it does not take; a pipe."""
    path = f"{folder}/a.mp4"
    for d, made in ((inside, True), (outside, False)):
        for p in pathlib.Path(folder).glob("f*.jpg"):
            p.unlink()
        run = pelton(d, "decode", "-i", path, "-v", "verbose", "-o", f"{folder}/f%02d.jpg")
        files = [p.read_bytes() for p in sorted(pathlib.Path(folder).glob("f*.jpg"))]
        t.check(run.returncode == 0 and len(files) == 4 and (MADE in run.stderr) == made
                and (b"".join(files) == whole) == made, f"a file for each frame, device {made}")
    turned = f"{folder}/turned.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-i", path, "-c", "copy", "-metadata:s:v",
                    "rotate=90", turned], check=True)
    run = pelton(inside, "decode", "-i", turned, "-v", "verbose", "-f", "mjpeg", "-")
    t.check(run.returncode == 0 and HERE in run.stderr and len(files_of(run.stdout)) == 4,
            f"a turned picture: {run.stderr[-100:]!r}")
    with open(path, "rb") as f:
        run = subprocess.run(command(inside, "decode", "-i", "-", "-v", "verbose", "-f", "mjpeg",
                                     "-"), stdin=f, capture_output=True)
    t.check(run.returncode == 0 and len(files_of(run.stdout)) == 4, "a file by standard input")
    run = pelton(inside, "snapshot", path, "-o", f"{folder}/now.jpeg", "-v", "verbose")
    t.check(run.returncode == 0 and MADE in run.stderr and
            pathlib.Path(folder, "now.jpeg").read_bytes() == files_of(whole)[0], "a snapshot")
    run = pelton(inside, "pipe", path, "-c:v", "mjpeg", "-")
    t.check(run.stdout == whole, f"pipe -c:v mjpeg - {run.stderr[-200:]!r}")
    same(inside, ("pipe", "door"), "rectangles", "98x66", "yuv420p", "--policy", "lossless",
         matrix=1)
    for words, code, said in (
            (["pipe", path, "-c:v", "mjpeg", "-crf", "20", "-"], 2, b"-q:v chooses the quality"),
            (["pipe", path, "-c:v", "mjpeg", "-f", "mpegts", "-"], 2, b"mpegts holds no JPEG"),
            (["pipe", path, "-c:v", "mjpeg", "-f", "y4m", "-"], 2, b"y4m holds no JPEG files"),
            (["pipe", path, "-c:v", "mjpeg", "-q:v", "32", "-"], 2, b"32"),
            (["record", path, "-c:v", "mjpeg", "-o", "x.mp4"], 2, b"pelton pipe NAME -c:v mjpeg"),
            (["encode", "-i", path, "-c:v", "mjpeg", "-o", "x.mp4"], 2, b"writes H.264")):
        run = pelton(inside, *words)
        t.check(run.returncode == code and said in run.stderr and not run.stdout,
                f"refused: {' '.join(words[2:])}: {run.stderr.decode().strip()[-160:]!r}")


def camera(d):
    """A simulated camera gives the same frames each time that it is opened. The first reader may
    miss some at the begin."""
    size = 64 * 48 * 3 // 2
    run = pelton(d, "pipe", "cam", "-frames:v", "3", "-c:v", "mjpeg", "-v", "verbose", "-")
    files = files_of(run.stdout)
    raw = pelton(d, "pipe", "cam", "--policy", "lossless", "-frames:v", "40", "-f", "rawvideo",
                 "-").stdout
    wanted = {reference(raw[i:i + size], "64x48", "yuv420p", 85, 1, 0, ())
              for i in range(0, len(raw), size)}
    t.check(len(files) == 3 and MADE in run.stderr and wanted.issuperset(files),
            f"a raw camera: {len(files)} files, {len(wanted)} frames {run.stderr[-200:]!r}")
    run = pelton(d, "pipe", "cam", "-s", "32x24", "-frames:v", "1", "-v", "verbose", "-f", "mjpeg",
                 "-")
    t.check(MADE in run.stderr and len(files_of(run.stdout)) == 1,
            f"scaled: {run.stderr[-200:]!r}")


def slow_reader(d, folder):
    """A reader that takes the newest frame and waits gets whole files, and fewer of them."""
    frames = 150
    path = clip(f"{folder}/long.mp4", "160x120", frames, "yuv420p", "-preset", "ultrafast")
    run = subprocess.Popen(command(d, "pipe", path, "--policy", "latest", "-c:v", "mjpeg", "-q:v",
                                   "1", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = run.stdout.read(100)
    stream, said = run.stdout.read(), run.stderr.read()
    run.wait()
    files = files_of(got + stream)
    sound = subprocess.run([args.ffmpeg, "-v", "error", "-err_detect", "explode", "-f", "mjpeg",
                            "-i", "-", "-f", "framemd5", "-"], input=b"".join(files),
                           capture_output=True)
    shown = [l for l in sound.stdout.splitlines() if l[:1] != b"#"]
    t.check(run.returncode == 0 and 0 < len(files) < frames and len(shown) == len(files)
            and not sound.stderr, f"a slow reader: {len(files)} of {frames} files, whole "
            f"{sound.stderr[-200:]!r} {said[-100:]!r}")


def killed(d, folder):
    """Each picture once, as nothing is lost for a reader that waits."""
    frames = 60
    path = clip(f"{folder}/kill.mp4", "64x48", frames, "yuv420p", "-bf", "2")
    run = subprocess.Popen(command(d, "pipe", path, "--policy", "lossless", "-c:v", "mjpeg", "-q:v",
                                   "1", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = run.stdout.read(3000)
    workers = t.workers(d.process.pid)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    stream, said = run.stdout.read(), run.stderr.read()
    want = pelton(d, "decode", "-i", path, "-q:v", "1", "-f", "mjpeg", "-").stdout
    t.check(run.wait() == 0 and workers and got + stream == want and len(files_of(want)) == frames,
            f"a worker is killed: {len(files_of(got + stream))} of {frames} {said[-200:]!r}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        clip(f"{folder}/a.mp4", "98x66", 4, "yuv420p", "-bf", "2", *told(1, 0))
        clip(f"{folder}/cam.mp4", "96x64", 2, "yuv420p")
        config = pathlib.Path(folder, "pelton.yaml")
        config.write_text(f"version: 1\nsources:\n  door:\n    uri: \"{folder}/a.mp4\"\n"
                          "    blur: [[0, 0, 32, 24]]\n"
                          f"  cam: {{uri: \"sim://{folder}/cam.mp4\", size: 64x48, fps: 20, "
                          "awb: no, ae: {enable: no}}\n")
        without = argparse.Namespace(**{**vars(args), "device": "libavcodec"})
        more = ["-c", str(config), "-c", f"allow_paths={folder}"]
        with t.Daemon(args, *more, "-c", "debug.encoder=2") as inside, \
                t.Daemon(without, *more) as outside:
            t.warm_up(args, inside, f"{folder}/a.mp4")
            began = time.monotonic()
            whole = kinds(inside, folder)
            readable(folder, whole)
            ways(inside, outside, folder, whole)
            camera(inside)
            slow_reader(inside, folder)
            killed(inside, folder)
            stats = lambda: pelton(inside, "stats").stdout
            counts = lambda: re.search(rb"^JPEG: .*GPU, \d+ pictures", stats(), re.M)
            t.check(t.wait_until(counts, 10),
                    f"pelton stats: {stats()[-200:]}")
            print(f"{time.monotonic() - began:.0f} s")
            t.check(not inside.validation_messages(), "no validation messages")
    return t.finish()


sys.exit(main())
