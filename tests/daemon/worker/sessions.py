#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sessions: containers and time stamps against ffmpeg, schedules, options, failures, and an end at
every point.

  sessions.py whole|entropy SESSION_REFERENCE

whole: all but entropy decoding on the GPU, which is the other part. Two tests, for time.
Exit code 77 without ffmpeg with libx264.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import peltontest as t

PART, PROGRAM = sys.argv[1:]
failures = []


def run(*args, env=None, stdin=None):
    env = dict(os.environ, **(env or {}))
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True,
                          timeout=t.LIMIT_S, env=env, stdin=stdin)


def ffmpeg(*args):
    return subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, args)], capture_output=True,
                          text=True, check=True).stdout


def expect(what, got, want):
    if got != want:
        failures.append(what)
        print(f"FAILED {what}\n  got  {str(got)[:300]}\n  want {str(want)[:300]}")


def session_frames(*args):
    lines = run("--frames", *args).stdout.splitlines()[:-1]
    return [(int(line.split()[1]), line.split()[4]) for line in lines]


def ffmpeg_frames(path, *options):
    out = ffmpeg(*options, "-i", path, "-map", "0:v:0", "-f", "framemd5", "-fps_mode",
                 "passthrough", "-copyts", "-enc_time_base", -1, "-")
    rows = [line.split(",") for line in out.splitlines() if not line.startswith("#")]
    return [(int(row[2]), row[5].strip()) for row in rows]


def md5s(frames):
    return [md5 for _, md5 in frames]


def containers(clip, base):
    for ext in ("mkv", "ts", "flv", "mov", "264"):
        ffmpeg("-i", clip, "-c", "copy", f"{base}.{ext}")
    ffmpeg("-ss", 1.3, "-i", clip, "-c", "copy", f"{base}-cut.mp4")
    for path in (clip, *(f"{base}.{ext}" for ext in ("mkv", "ts", "flv", "mov")),
                 f"{base}-cut.mp4"):
        expect(f"time stamps of {path}", session_frames(path), ffmpeg_frames(path))
    raw, want = session_frames(f"{base}.264"), ffmpeg_frames(f"{base}.264")
    expect("frames of raw H.264", md5s(raw), md5s(want))
    expect("time stamps of raw H.264", max(abs(a[0] - b[0]) for a, b in zip(raw, want)) <= 1, True)


def seeks(clip, base):
    for ss in (0.01, 1.3, 2.0, 3.5):
        want = md5s(ffmpeg_frames(clip, "-ss", ss, "-t", 0.7))
        for path in (clip, f"{base}.mkv", f"{base}.ts", f"{base}.264"):
            expect(f"{path} from {ss}", md5s(session_frames("--ss", int(ss * 1e6), "--t", 700000,
                                                            path)), want)


def schedules(clip, whole):
    for args in (["--lookahead", 1, "--threads", 1], ["--lookahead", 2, "--batch", 1],
                 ["--lookahead", 60, "--batch", 16, "--threads", 4],
                 ["--shuffle", 1, "--lookahead", 30, "--threads", 4],
                 ["--shuffle", 2, "--threads", 3], ["--depth", 1], ["--hold", "--depth", 200],
                 ["--engines", 5, "--threads", 4], ["--engines", 3, "--threads", 3, "--shuffle", 3],
                 ["--sessions", 4], ["--sessions", 3, "--depth", 1, "--shuffle", 5], ["--fd"]):
        got = set(run(*args, clip).stdout.splitlines())
        expect(f"schedule {args}", got, {whole})


def options(clip, frames):
    expect("loops", md5s(session_frames("--loops", 3, clip)), md5s(frames) * 3)
    looped = [pts for pts, _ in session_frames("--loops", 2, clip)]
    expect("time stamps grow over loops", looped, sorted(set(looped)))
    expect("max_frames", md5s(session_frames("--max", 7, clip)), md5s(frames)[:7])
    expect("max_frames over loops", len(session_frames("--loops", 0, "--max", 150, clip)), 150)
    expect("resume", md5s(session_frames("--resume", 50, clip)), md5s(frames)[50:])
    expect("latest drops", len(session_frames("--policy", "latest", "--hold", "--depth", 4, clip)),
           4)
    for transport in ("none", "readback"):
        expect(f"transport {transport}", run("--transport", transport, clip).stdout.split()[1],
               str(len(frames)))
    for fmt in ("nv12", "gray"):
        raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-vf", "extractplanes=y"
                              if fmt == "gray" else "null", "-pix_fmt", fmt, "-f", "md5", "-"],
                             capture_output=True, text=True, check=True).stdout.strip()
        expect(fmt, "MD5=" + run("--pix-fmt", fmt, clip).stdout.split()[0], raw)
    flags = [int(line.split()[3]) for line in run("--frames", clip).stdout.splitlines()[:-1]]
    expect("LAST once, at the end", [bool(f & 8) for f in flags],
           [False] * (len(flags) - 1) + [True])
    expect("KEY first", flags[0] & 1, 1)
    with open(clip.replace(".mp4", ".264"), "rb") as pipe:
        cat = subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.PIPE)
        expect("a pipe", run("--fd", "-", stdin=cat.stdout).stdout.split()[1:], [str(len(frames))])
        cat.wait()


def error_of(*args, env=None):
    out = run(*args, env=env)
    return out.returncode, out.stderr.splitlines()[:1]


def bad_inputs(clip, folder):
    def write(name, data):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        return os.path.join(folder, name)

    with open(clip, "rb") as f:
        whole = f.read()
    ffmpeg("-i", clip, "-c", "copy", "-movflags", "faststart", os.path.join(folder, "fast.mp4"))
    with open(os.path.join(folder, "fast.mp4"), "rb") as f:
        fast = f.read()
    ffmpeg("-i", clip, "-t", 1, "-c:v", "mpeg4", os.path.join(folder, "mpeg4.mkv"))
    cases = [("missing.mp4", 4, "No such file"), ("", 4, "Is a directory"),
             ("mpeg4.mkv", 5, "video is mpeg4")]
    write("empty.mp4", b"")
    write("text.txt", b"hello world\n" * 500)
    write("moov.mp4", whole[:3000])
    write("cut.mp4", fast[: len(fast) * 2 // 3])
    cases += [("empty.mp4", 4, "empty"), ("text.txt", 4, "not a video"), ("moov.mp4", 4, "moov")]
    for name, code, text in cases:
        got, line = error_of(os.path.join(folder, name))
        expect(f"bad input {name}", (got, bool(line) and text in line[0]), (code, True))
    cut = run(os.path.join(folder, "cut.mp4")) # client.containers has the warning and on_error
    expect("a cut file", (cut.returncode, int(cut.stdout.split()[1]) > 50), (0, True))
    expect("pixel format", error_of("--pix-fmt", "rgb48le", clip)[0], 2)
    ffmpeg("-i", clip, "-t", 1, "-c:v", "libx264", "-flags", "+ildct+ilme",
           os.path.join(folder, "mbaff.264"))
    expect("probe of an unsupported stream",
           run("--probe", os.path.join(folder, "mpeg4.mkv")).returncode, 0)
    expect("probe", "supported 1" in run("--probe", clip).stdout, True)


def interlaced(base):
    """MBAFF: frames woven and flagged as ffmpeg flags them; fields apart as its filter
    separatefields gives them."""
    clip = f"{base}-mbaff.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-c:v", "libx264", "-bf", 2, "-flags",
           "+ildct+ilme", "-x264-params", "bff=1",
           "-pix_fmt", "yuv420p", clip)
    frames = ffmpeg_frames(clip)
    mine = [line.split() for line in run("--frames", clip).stdout.splitlines()[:-1]]
    expect("woven frames", [line[4] for line in mine], [f[-1] for f in frames])
    expect("bottom field first", {line[5] for line in mine}, {"2"})
    out = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-vf", "separatefields", "-f",
                          "framemd5", "-"], capture_output=True, text=True).stdout
    fields = [line.split(",")[-1].strip() for line in out.splitlines() if not line.startswith("#")]
    mine = [line.split() for line in run("--frames", "--fields", "--shuffle", 5,
                                         clip).stdout.splitlines()[:-1]]
    expect("fields", [line[4] for line in mine], fields)
    expect("parities", [line[5] for line in mine[:4]], ["4", "3", "4", "3"])
    expect("times of fields", len({int(b[1]) - int(a[1]) for a, b in zip(mine, mine[1:])}), 1)
    expect("fields without memory", run("--fields", "--transport", "none", clip).stdout.split()[1],
           str(len(fields)))
    expect("luma of fields", run("--fields", "--pix-fmt", "gray", clip).returncode, 0)


def ends(clip, frames):
    for n in (1, 2, 3, 10, len(frames) - 1, len(frames)):
        for args in ([], ["--sessions", 2, "--shuffle", 3], ["--loops", 0]):
            expect(f"close after {n} {args}", run("--close-after", n, *args, clip).returncode, 0)
    for n in (1, 2, 5, 20):
        out = run("--sessions", 2, clip, env={"PELTON_TEST_LOSE_GPU": str(n)})
        expect(f"device lost at batch {n}", "device lost" in out.stderr, True)


def damaged_stream(clip, base):
    ffmpeg("-i", clip, "-c", "copy", f"{base}.264")
    data = bytearray(Path(f"{base}.264").read_bytes())
    for at in range(5000, len(data), 997):
        data[at] ^= 1 << at % 8
    path = f"{base}-damaged.264"
    Path(path).write_bytes(data)
    return path


def damage(clip, base):
    path = damaged_stream(clip, base)
    out = run("--sessions", 3, path)
    expect("damage gives the same frames each time",
           (out.returncode, len(set(out.stdout.splitlines()))), (0, 1))
    expect("damage is flagged", any(int(line.split()[3]) & 2
                                    for line in run("--frames", path).stdout.splitlines()[:-1]),
                                    True)
    kept = session_frames("--on-error", 1, path)
    expect("drop leaves damaged frames out", 0 < len(kept) < len(session_frames(path)), True)
    expect("fail", run("--on-error", 2, path).returncode, 6)


def no_memory(base):
    """A stream goes on with pictures that are too large for memory, and then it is damaged: the
    frames before come all, and the first failure in the order of the stream is told."""
    small, large, both = (f"{base}-{name}.264" for name in ("small", "large", "both"))
    for path, size in ((small, "96x64"), (large, "640x480")):
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r=25:d=0.6", "-c:v", "libx264", "-bf", 2,
               "-pix_fmt", "yuv420p", path)
    data = b"".join(Path(path).read_bytes() for path in (small, large))
    Path(both).write_bytes(data + b"\0\0\1\x65" + b"\xaa" * 40)
    want = session_frames(small)
    for args in (["--threads", 1], ["--threads", 4], ["--depth", 1, "--lookahead", 60],
                 ["--shuffle", 3, "--lookahead", 60]):
        out = run("--frames", "--on-error", 2, *args, both, env={"PELTON_TEST_MACROBLOCKS": "100"})
        got = [line.split()[4] for line in out.stdout.splitlines() if len(line.split()) > 4]
        expect(f"frames before there is no memory {args}", got, md5s(want))
        expect(f"the failure is told {args}", "no GPU memory" in out.stderr, True)


def no_pictures(base):
    """Its parameter sets alone, which describe pictures that are too large for memory: no picture
    needs that memory, however the threads take turns."""
    data = Path(f"{base}-large.264").read_bytes()
    path = f"{base}-sets.264"
    Path(path).write_bytes(data[:data.index(b"\0\0\1\6")])
    for seed in range(1, 41):
        got, line = error_of("--delay", seed, path, env={"PELTON_TEST_MACROBLOCKS": "100"})
        expect(f"no picture, seed {seed}", (got, "no picture" in "".join(line)), (4, True))


def on_gpu(text):
    """Pictures that the statistics say were entropy-decoded on the GPU."""
    return int(text.split(" pictures")[0].split()[-1])


def log_of_batches(clip, frames):
    """What the log says of reconstruction adds up to the frames of the clip."""
    found = re.search(r"reconstruction: (\d+) batches, ([\d.]+) pictures and ([\d.]+) frames each",
                      run("--stats", clip).stderr)
    n, pictures, delivered = map(float, found.groups()) if found else (0, 0, 0)
    for what, each in (("pictures", pictures), ("frames", delivered)):
        expect(f"{what} of batches", abs(n * each - len(frames)) <= 0.005 * n + 1e-6, True)


def many_small(clip, whole, env):
    """More streams of small pictures than coders: the GPU's stand-in takes what waits, in time or
    not, and few coders work beside it. It fails, gives up pictures, is lost, and has no memory."""
    args = ["--stats", "--entropy", "both", "--sessions", 6, "--lookahead", 30]
    for threads in (1, 2, 5):
        out = run(*args, "--threads", threads, clip, env=env)
        expect(f"small, {threads} coders", set(out.stdout.splitlines()), {whole})
        expect(f"small, {threads} coders: some on the GPU", on_gpu(out.stderr) > 0, True)
        expect(f"small, {threads} coders: none late", ", 0 late" in out.stderr, True)
    for trouble in ("ENTROPY_FAILS=1", "ENTROPY_FAILS=3", "ENTROPY_SPOILS=2", "ENTROPY_BATCHES=0",
                    "ENTROPY_BATCHES=1", "LOSE_ENTROPY=1", "LOSE_ENTROPY=4"):
        name, value = trouble.split("=")
        out = run(*args, "--threads", 2, clip, env={**env, f"PELTON_TEST_{name}": value})
        expect(f"small, {trouble}", set(out.stdout.splitlines()), {whole})
    out = run(*args, "--threads", 1, "--close-after", 5, clip, env=env)
    expect("small, closed early", out.returncode, 0)


def entropy(clip, base, whole, frames):
    """Entropy decoding by the GPU's stand-in: beside the CPU and alone, with pictures it gives up,
    with its loss, with ends at any point."""
    seed = os.environ.get("PELTON_SEED") or str(date.today().toordinal())
    print(f"entropy: PELTON_TEST_ENTROPY_SEED={seed}")
    env = {"PELTON_TEST_ENTROPY_SEED": seed}
    for args in (["gpu"], ["gpu", "--lookahead", 1, "--threads", 1],
                 ["gpu", "--sessions", 3, "--shuffle", 4, "--lookahead", 30], ["gpu", "--fd"],
                 ["gpu", "--entropy-memory", 256], ["both", "--lookahead", 600, "--threads", 1,
                                                    "--loops", 1],
                 ["both", "--sessions", 3, "--lookahead", 600, "--depth", 1], ["auto"]):
        out = run("--stats", "--entropy", *args, clip, env=env)
        expect(f"entropy {args}", set(out.stdout.splitlines()), {whole})
        if args == ["gpu"]:
            expect("all pictures on the GPU", on_gpu(out.stderr), len(frames))
    for trouble, of in (("FAILS", 3), ("FAILS", 1), ("SPOILS", 2)):
        out = run("--stats", "--entropy", "gpu", "--sessions", 2, clip,
                  env={**env, f"PELTON_TEST_ENTROPY_{trouble}": str(of)})
        expect(f"entropy, {trouble}={of}", set(out.stdout.splitlines()), {whole})
        expect(f"entropy, {trouble}={of}: not all on the GPU", on_gpu(out.stderr) < len(frames),
               True)
    out = run("--entropy", "gpu", "--sessions", 2, clip,
              env={**env, "PELTON_TEST_NO_DEVICE_ARENA": "1", "PELTON_TEST_ENTROPY_SPOILS": "2"})
    expect("entropy, no room on the device", set(out.stdout.splitlines()), {whole})
    for n in (0, 1):
        out = run("--entropy", "gpu", "--sessions", 2, clip,
                  env={**env, "PELTON_TEST_ENTROPY_BATCHES": str(n)})
        expect(f"entropy, memory for {n} batches", set(out.stdout.splitlines()), {whole})
    for n in (1, 2, 7):
        out = run("--entropy", "gpu", "--sessions", 2, clip,
                  env={**env, "PELTON_TEST_LOSE_ENTROPY": str(n)})
        expect(f"entropy, lost at batch {n}", set(out.stdout.splitlines()), {whole})
        out = run("--entropy", "gpu", "--sessions", 2, clip,
                  env={**env, "PELTON_TEST_LOSE_GPU": str(n)})
        expect(f"entropy, device lost at batch {n}", "device lost" in out.stderr, True)
    for n in (1, 3, 10, len(frames)):
        for args in ([], ["--sessions", 3], ["--loops", 0]):
            expect(f"entropy, close after {n} {args}", run("--entropy", "gpu", "--close-after", n,
                                                           *args, clip, env=env).returncode, 0)
    expect("entropy, loops", run("--entropy", "gpu", "--loops", 3, clip, env=env).stdout,
           run("--loops", 3, clip).stdout)
    expect("entropy, from 1.3 s", run("--entropy", "gpu", "--ss", 1300000, clip, env=env).stdout,
           run("--ss", 1300000, clip).stdout)
    many_small(clip, whole, env)
    damaged = damaged_stream(clip, base)
    got, want = (t.session_frames(run("--frames", *args, damaged, env=env).stdout)
                 for args in (["--entropy", "gpu"], []))
    expect("entropy, damage", t.session_difference(got, want, True), None)


def sessions(clip, base, whole, frames):
    containers(clip, base)
    seeks(clip, base)
    schedules(clip, whole)
    options(clip, frames)
    bad_inputs(clip, os.path.dirname(base))
    interlaced(base)
    log_of_batches(clip, frames)
    ends(clip, frames)
    damage(clip, base)
    no_memory(base)
    no_pictures(base)


def main():
    encoders = subprocess.run(["ffmpeg", "-hide_banner", "-encoders"], capture_output=True,
                              text=True).stdout if shutil.which("ffmpeg") else ""
    if "libx264" not in encoders:
        print("skipped: no ffmpeg with libx264")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "clip")
        clip = base + ".mp4"
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=192x108:r=30000/1001:d=4", "-c:v", "libx264",
               "-preset", "fast", "-bf", 3, "-g", 30,
               "-x264-params", "slices=3", "-pix_fmt", "yuv420p", clip)
        frames = ffmpeg_frames(clip)
        whole = run(clip).stdout.strip()
        expect("number of frames", whole.split()[1:], [str(len(frames))])
        if PART == "entropy":
            entropy(clip, base, whole, frames)
        else:
            sessions(clip, base, whole, frames)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
