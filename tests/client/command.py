#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The pelton command on a fake libpelton: its output is compared with ffmpeg's output of the same
frames. Exit codes, causes and hints are checked too.

Exit codes: 0, 1, 77 skipped (no ffmpeg).
"""
import argparse, json, os, pathlib, random, select, shutil, signal, subprocess, sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import peltontest

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("--pelton", required=True, help="the command linked with fake_pelton.c")
args = p.parse_args()
peltontest.binaries(os.path.dirname(os.path.abspath(args.pelton)))
bad, count = [], 0


def check(name, condition, text=""):
    global count
    count += 1
    if not condition:
        bad.append("%s: %s" % (name, text))


def pelton(*words, env=None, stdin=subprocess.DEVNULL):
    return subprocess.run([args.pelton, *words], stdin=stdin, capture_output=True,
                          timeout=peltontest.LIMIT_S,
                          env={**os.environ, **(env or {})})


def ffmpeg(*words, data=None):
    return subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *words], input=data,
                          capture_output=True, check=True).stdout


def first_difference(a, b):
    for i, (x, y) in enumerate(zip(a.splitlines(), b.splitlines())):
        if x != y:
            return "line %d: %r, ffmpeg %r" % (i + 1, x, y)
    return "%d bytes, ffmpeg %d" % (len(a), len(b))


def same(name, run, expected):
    check(name, run.returncode == 0 and run.stdout == expected,
          "exit %d, %s; %s" % (run.returncode, first_difference(run.stdout, expected),
                               run.stderr.decode()))


def fails(name, run, code, *words):
    err = run.stderr.decode().splitlines()
    causes, hints = [l for l in err if l.startswith("pelton: ")], [l for l in err
                                                                   if l.startswith("hint: ")]
    ok = (run.returncode == code and len(causes) == 1 and len(hints) == 1 and len(hints[0]) > 8
          and all(w.lower() in causes[0].lower() for w in words))
    check(name, ok, "exit %d, expected %d; %s" % (run.returncode, code, " | ".join(err)))


def formats(d, clip):
    """Each output format of the same frames, ours against ffmpeg's."""
    for size, pix_fmt in (("64x48", "yuv420p"), ("33x17", "yuv420p"), ("64x48", "nv12"),
                          ("35x21", "gray")):
        env = {"FAKE_SIZE": size, "FAKE_PIX_FMT": pix_fmt, "FAKE_FRAMES": "7"}
        raw = pelton("decode", "-i", clip, "-f", "rawvideo", "-", env=env)
        name = "%s %s" % (size, pix_fmt)
        check(name + " raw", raw.returncode == 0 and len(raw.stdout) % 7 == 0
              and b"\xee" * 8 not in raw.stdout, raw.stderr.decode())
        source = ["-f", "rawvideo", "-s", size, "-pix_fmt", pix_fmt, "-r", "25", "-i", "-", "-vf",
                  "setsar=1"]
        for f in ("framemd5", "md5", "yuv4mpegpipe"):
            if f == "yuv4mpegpipe" and pix_fmt == "nv12":
                continue
            theirs = ffmpeg(*source, "-f", f, "-", data=raw.stdout)
            if f == "yuv4mpegpipe" and pix_fmt == "gray":
                # FFmpeg 7 calls gray pictures full-range where nobody said so
                theirs = theirs.replace(b" XCOLORRANGE=FULL\n", b"\n", 1)
            same("%s %s" % (name, f), pelton("decode", "-i", clip, "-f", f, "-", env=env), theirs)
        for to in ("rgb24", "yuv444p", "gray", "nv12", "yuv420p"):
            if to in ("gray", "nv12", "yuv420p"):
                continue  # the daemon's conversions are tested with the daemon
            same("%s to %s" % (name, to), pelton("decode", "-i", clip, "--pix-fmt", to, "-f",
                                                 "framemd5", "-", env=env),
                 ffmpeg(*source, "-pix_fmt", to, "-f", "framemd5", "-", data=raw.stdout))
    for pix_fmt in ("yuv420p", "gray"):
        for told, word in (("0", None), ("1", b"XCOLORRANGE=LIMITED"), ("2", b"XCOLORRANGE=FULL")):
            env = {"FAKE_PIX_FMT": pix_fmt, "FAKE_RANGE": told}
            head = pelton("decode", "-i", clip, "-f", "yuv4mpegpipe", "-", env=env).stdout
            words = [w for w in head.split(b"\n")[0].split() if w.startswith(b"XCOLORRANGE")]
            check("y4m %s range %s" % (pix_fmt, told), words == ([word] if word else []),
                  str(words))
    same("half rate", pelton("decode", "-i", clip, "-f", "framemd5", "-",
                             env={"FAKE_RATE": "30000/1001"}),
         ffmpeg("-f", "rawvideo", "-s", "64x48", "-pix_fmt", "yuv420p", "-r", "30000/1001", "-i",
                "-", "-vf", "setsar=1", "-f", "framemd5", "-",
                data=pelton("decode", "-i", clip, "-f", "rawvideo", "-").stdout))
    check("empty", pelton("decode", "-i", clip, "-f", "framemd5", "-",
                          env={"FAKE_FRAMES": "0"}).stdout.startswith(b"#format: frame checksums"))


def matroska_and_png(d, clip):
    env = {"FAKE_MATRIX": "1", "FAKE_RANGE": "1"}
    out = d + "/x.mkv"
    raw = pelton("decode", "-i", clip, "-f", "raw", "-", env=env).stdout
    run = pelton("decode", "-i", clip, "-o", out, env=env)
    check("mkv", run.returncode == 0, run.stderr.decode())
    check("mkv frames", ffmpeg("-i", out, "-f", "rawvideo", "-") == raw)
    probe = json.loads(subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams",
                                       "-show_entries", "packet=pts_time", out],
                                       capture_output=True).stdout)
    s = probe["streams"][0]
    check("mkv colours", s.get("color_space") == "bt709" and s.get("color_range") == "tv", str(s))
    check("mkv times", [float(q["pts_time"]) for q in probe["packets"]] ==
          [round(i * 0.04, 3) for i in range(10)], str(probe["packets"]))
    run = pelton("decode", "-i", clip, "-o", d + "/f%02d.png", env=env)
    check("png", run.returncode == 0 and sorted(pathlib.Path(d).glob("f*.png"))[-1].name ==
          "f10.png", run.stderr.decode())
    ours = ffmpeg("-i", d + "/f03.png", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    frame = raw[2 * 64 * 48 * 3 // 2:3 * 64 * 48 * 3 // 2]
    theirs = ffmpeg("-f", "rawvideo", "-s", "64x48", "-pix_fmt", "yuv420p", "-i", "-", "-vf",
                    "scale=in_color_matrix=bt709:in_range=tv:flags=bicubic", "-f", "rawvideo",
                    "-pix_fmt", "rgb24", "-", data=frame)
    check("png colours", len(ours) == len(theirs) and max(abs(a - b) for a,
                                                          b in zip(ours, theirs)) <= 1)
    fails("png again", pelton("decode", "-i", clip, "-o", d + "/f%02d.png"), 1, "f01.png", "exists")
    fails("png without number", pelton("decode", "-i", clip, "-o", d + "/one.png"), 2, "one.png")
    check("one png", pelton("decode", "-i", clip, "-frames:v", "1", "-o",
                            d + "/one.png").returncode == 0)
    check("png pipe", pelton("decode", "-i", clip, "-f", "png",
                             "-").stdout.count(b"\x89PNG\r\n") == 10)


def jpeg_and_sheet(d, clip):
    """JPEG is full-range BT.601, whatever the stream is; a sheet has its frames at even distances.
    """
    def error(a, b):
        return sum(abs(x - y) for x, y in zip(a, b)) / len(a)

    def rgb(path):
        return ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    for matrix, name in ((1, "bt709"), (6, "smpte170m"), (9, "bt2020")):
        for fullness, full in ((1, "tv"), (2, "pc")):
            env = {"FAKE_MATRIX": str(matrix), "FAKE_RANGE": str(fullness)}
            path = d + "/%s-%s" % (name, full)
            for ending in (".jpg", ".png"):
                run = pelton("decode", "-i", clip, "-frames:v", "1", "-q:v", "1", "-o",
                             path + ending, env=env)
                check("write " + path + ending, run.returncode == 0, run.stderr.decode())
            off = error(rgb(path + ".jpg"), rgb(path + ".png"))
            check("JPEG of %s %s" % (name, full), off < 3, "%.2f from the PNG" % off)
    seen = json.loads(subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams",
                                      d + "/bt709-tv.jpg"], capture_output=True).stdout)
    check("JPEG range", seen["streams"][0]["color_range"] == "pc", str(seen))
    best, worst = d + "/best.jpg", d + "/worst.jpeg"
    for path, quality in ((best, "1"), (worst, "31")):
        pelton("decode", "-i", clip, "-frames:v", "1", "-q:v", quality, "-o", path)
    check("quality", os.path.getsize(best) > os.path.getsize(worst) > 100)
    check("jpeg pipe", pelton("decode", "-i", clip, "-f", "mjpeg",
                              "-").stdout.count(b"\xff\xd8\xff") == 10)
    fails("many of one name", pelton("decode", "-i", clip, "-o", d + "/x.jpg"), 2, "x.jpg")
    fails("sheet in y4m", pelton("decode", "-i", clip, "--sheet", "2x2", "-o", d + "/x.y4m"), 2,
          "contact sheet")
    # 5 frames of 64x48 in tiles with 4 around: 4 columns, 2 rows
    for frames, height in ((5, 2 * 52 + 4), (4, 52 + 4), (1000, 3 * 52 + 4)):
        path = d + "/sheet%d.png" % frames
        run = pelton("decode", "-i", clip, "--sheet", "4x3", "-o", path,
                     env={"FAKE_FRAMES": str(frames)})
        seen = rgb(path) if run.returncode == 0 else b""
        check("sheet of %d" % frames, len(seen) == 3 * height * (4 * 68 + 4),
              "%d bytes; %s" % (len(seen), run.stderr.decode()))
    fails("sheet of nothing", pelton("decode", "-i", clip, "--sheet", "4x3", "-o", d + "/no.png",
                                     env={"FAKE_FRAMES": "0"}), 4, "no frame")


def verification(d, clip):
    md5, whole, y4m, raw = d + "/r.framemd5", d + "/r.md5", d + "/r.y4m", d + "/r.yuv"
    for path in (md5, whole, y4m, raw):
        run = pelton("decode", "-i", clip, "-o", path)
        check("write " + path, run.returncode == 0, run.stderr.decode())
        run = pelton("decode", "-i", clip, "--verify", path)
        check("verify " + path, run.returncode == 0 and b"10 verified" in run.stderr,
              run.stderr.decode())
        fails("one more " + path, pelton("decode", "-i", clip, "--verify", path,
                                         env={"FAKE_FRAMES": "11"}), 10)
        fails("one less " + path, pelton("decode", "-i", clip, "--verify", path,
                                         env={"FAKE_FRAMES": "9"}), 10)
    lines = pathlib.Path(md5).read_text().splitlines()
    lines[-3] = lines[-3][:-32] + "0" * 32
    pathlib.Path(md5).write_text("\n".join(lines) + "\n")
    fails("changed md5", pelton("decode", "-i", clip, "--verify", md5), 10, "frame 7", "0" * 32)
    data = bytearray(pathlib.Path(raw).read_bytes())
    data[4 * 4608 + 64 * 2 + 5] ^= 1
    pathlib.Path(raw).write_bytes(data)
    fails("changed sample", pelton("decode", "-i", clip, "--verify", raw), 10, "frame 4",
          "plane 0, row 2, byte 5")
    fails("no reference", pelton("decode", "-i", clip, "--verify", d + "/none"), 4, "none")


def failures(d, clip):
    null = ("-f", "null", "-")
    fails("missing", pelton("decode", "-i", d + "/none.mp4", *null), 4, "none.mp4", "No such file")
    fails("directory", pelton("decode", "-i", d, *null), 4, "directory")
    pathlib.Path(d + "/empty").write_bytes(b"")
    fails("empty", pelton("decode", "-i", d + "/empty", *null), 4, "empty")
    fails("no input", pelton("decode", *null), 2, "-i")
    fails("no output", pelton("decode", "-i", clip), 2, "no output")
    fails("format", pelton("decode", "-i", clip, "-f", "avi", "-"), 2, "avi")
    fails("extension", pelton("decode", "-i", clip, "-o", d + "/x.mp4"), 2, "x.mp4")
    fails("pixel format", pelton("decode", "-i", clip, "-pix_fmt", "yuv999", *null), 2, "yuv999")
    fails("option", pelton("decode", "--wrong"), 2, "--wrong")
    fails("no such folder", pelton("decode", "-i", clip, "-o", d + "/none/x.y4m"), 2, "x.y4m",
          d + "/none")
    check("other files stay", not os.path.exists(d + "/x.mp4"))
    for f in ("rawvideo", "framemd5", "matroska", "yuv4mpegpipe", "md5"):
        fails("full disk " + f, pelton("decode", "-i", clip, "-y", "-f", f, "-o", "/dev/full"), 1,
              "/dev/full", "space")
    with open("/dev/full", "wb") as full:
        run = subprocess.run([args.pelton, "decode", "-i", clip, "-f", "y4m", "-"], stdout=full,
                             stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        run.stdout = b""
        fails("full standard output", run, 1, "standard output", "space")
    existing = d + "/exists.y4m"
    pathlib.Path(existing).write_text("mine")
    fails("overwrite", pelton("decode", "-i", clip, "-o", existing), 1, "exists.y4m", "exists")
    check("kept", pathlib.Path(existing).read_text() == "mine")
    check("-y", pelton("decode", "-i", clip, "-y", "-o", existing).returncode == 0
          and os.path.getsize(existing) > 40000)
    fails("y4m of rgb", pelton("decode", "-i", clip, "-pix_fmt", "rgb24", "-f", "y4m", "-"), 1)
    for code, exit_code in ((-4, 4), (-5, 5), (-6, 6), (-7, 7), (-9, 9), (-11, 11), (-12, 1),
                            (-13, 1), (-14, 1), (-17, 1), (-1, 1)):
        fails("open %d" % code, pelton("decode", "-i", clip, *null, env={"FAKE_OPEN": str(code)}),
              exit_code)
        if code != -11:
            run = pelton("decode", "-i", clip, "-f", "framemd5", "-", env={"FAKE_FAIL": str(code)})
            fails("fail %d" % code, run, exit_code, "damaged")
            check("frames before the failure %d" % code, run.stdout.count(b"\n0,") == 10,
                  run.stdout.decode())
    fails("no daemon", pelton("decode", "--socket", d + "/none.sock", "-i", clip, *null), 8)
    fails("no device", pelton("decode", "-i", clip, *null, env={"FAKE_NO_DEVICE": "1"}), 7)
    fails("configuration", pelton("decode", "-i", clip, "-c", "bad=1", *null), 2, "bad")
    fails("time-out", pelton("decode", "-i", clip, "--timeout", "0.5", *null,
                             env={"FAKE_DELAY_MS": "100000"}), 11)
    fails("unsupported", pelton("decode", "-i", clip, *null,
                                env={"FAKE_UNSUPPORTED": "frame_mbs_only_flag"}), 5,
                                "frame_mbs_only_flag")
    if os.geteuid() != 0:
        os.chmod(clip, 0)
        fails("permission", pelton("decode", "-i", clip, *null), 9)
        os.chmod(clip, 0o644)


def wait_written(child, count):
    """Until its progress on standard error says that so many frames are written."""
    for line in child.stderr:
        if line.startswith(b"frame=") and int(line[6:]) >= count:
            return


def wait_full(child):
    """Until the child's standard output, a pipe that nobody reads, takes no more. How many bytes
    that are depends on the sizes of its writes."""
    end = os.open("/proc/%d/fd/1" % child.pid, os.O_WRONLY | os.O_NONBLOCK)
    peltontest.wait_until(lambda: not select.select([], [end], [], 0)[1], 5)
    os.close(end)


def interrupts(d, clip):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        out = d + "/stopped%d.mkv" % code
        child = subprocess.Popen([args.pelton, "decode", "-i", clip, "--progress", "kv", "-o", out],
                                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "FAKE_DELAY_MS": "20", "FAKE_FRAMES": "10000"})
        wait_written(child, 5)
        child.send_signal(number)
        err = child.communicate(timeout=peltontest.LIMIT_S)[1]
        check("interrupt %d" % code, child.returncode == code,
              "exit %d %s" % (child.returncode, err.decode()))
        seen = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries",
                               "stream=nb_read_frames", "-of", "csv=p=0", out], capture_output=True)
        check("finished file", seen.returncode == 0 and not seen.stderr and int(seen.stdout) > 3,
              (seen.stdout + seen.stderr).decode())
    child = subprocess.Popen([args.pelton, "decode", "-i", clip, "-f", "rawvideo", "-"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL,
                             env={**os.environ, "FAKE_FRAMES": "10000"})
    child.stdout.read(5000)
    child.stdout.close()
    err = child.stderr.read()
    check("reader gone", child.wait(peltontest.LIMIT_S) == 141 and err == b"",
          "exit %d, %r" % (child.returncode, err))
    # an interrupt while the reader does not read
    child = subprocess.Popen([args.pelton, "decode", "-i", clip, "-f", "rawvideo", "-"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             stdin=subprocess.DEVNULL,
                             env={**os.environ, "FAKE_FRAMES": "10000"})
    wait_full(child)
    child.send_signal(signal.SIGINT)
    try:
        child.wait(peltontest.LIMIT_S)
        check("interrupt in a full pipe", child.returncode == 130, "exit %d" % child.returncode)
    except subprocess.TimeoutExpired:
        child.kill()
        check("interrupt in a full pipe", False, "no end")


def talk(d, clip):
    run = pelton("decode", "-i", clip, "-f", "null", "-", env={"FAKE_CORRUPT": "3",
                                                               "FAKE_SOFTWARE": "1"})
    last = run.stderr.decode().splitlines()[-1]
    check("summary", all(w in last for w in ("10 frames", "64x48", "fps", "3 corrupt", "Fake 3000",
                                             "software")), last)
    check("software device", run.stderr.decode().count("warning: ") == 1
          and "software device" in run.stderr.decode(), run.stderr.decode())
    check("nothing on stdout", run.stdout == b"")
    run = pelton("decode", "-loglevel", "error", "-i", clip, "-f", "null", "-",
                 env={"FAKE_SOFTWARE": "1"})
    check("silence", run.stderr == b"", run.stderr.decode())
    run = pelton("decode", "--progress", "kv", "-loglevel", "error", "-i", clip, "-f", "null", "-")
    keys = [l.split("=")[0] for l in run.stderr.decode().splitlines()]
    check("kv", keys ==
          "frame fps bitrate total_size out_time_us out_time_ms out_time dup_frames drop_frames "
          "speed progress".split(), str(keys))
    check("kv end", b"progress=end" in run.stderr and b"frame=10\n" in run.stderr,
          run.stderr.decode())
    run = pelton("bench", "-i", "rtsp://usera:pw@127.0.0.1:1/first", "-i",
                 "rtsp://userb:pw@127.0.0.1:2/second", env={"FAKE_FAIL": "-4"})
    check("no password", b":pw@" not in run.stdout + run.stderr, run.stderr.decode())
    check("name of the input",
          run.stderr.startswith(b"pelton: rtsp://usera:***@127.0.0.1:1/first: "),
          run.stderr.decode())
    check("frames:v", pelton("decode", "-i", clip, "-frames:v", "4", "-f", "framemd5",
                             "-").stdout.count(b"\n0,") == 4)
    with open(clip, "rb") as f:
        check("stdin", pelton("decode", "-i", "-", "-f", "md5", "-",
                              stdin=f).stdout.startswith(b"MD5="))


def sizes(d, clip):
    """Pictures that change size: what cannot hold them says so, the rest goes on."""
    env = {"FAKE_SHRINK": "4"}
    for name in ("shrunk.y4m", "shrunk.mkv"):
        fails(name, pelton("decode", "-i", clip, "-o", d + "/" + name, env=env), 1,
              "yuv420p 64x48 to yuv420p 32x24")
    run = pelton("decode", "-i", clip, "-f", "rawvideo", "-", env=env)
    check("rawvideo of two sizes", run.returncode == 0 and len(run.stdout) == 4 * 4608 + 6 * 1152,
          "%d bytes" % len(run.stdout))
    run = pelton("decode", "-i", clip, "-f", "framemd5", "-", env=env)
    check("framemd5 of two sizes", run.returncode == 0 and [int(l.split(b",")[4])
                                                            for l in run.stdout.splitlines()
                                                            if l[:1] == b"0"] == 4 * [4608] +
                                                            6 * [1152], run.stderr)


def enough(d, clip):
    """-frames:v and -t: as many as were asked for, of both views, whatever is left out before, and
    however far the second view lags."""
    def both(env, *more):
        paths = [d + "/left.yuv", d + "/right.yuv"]
        run = pelton("decode", "-y", "-i", clip, "-o", paths[0], "--second-view", paths[1], *more,
                     env=env)
        data = [pathlib.Path(p).read_bytes() for p in paths]
        return (run.returncode, *([x[i:i + 4608] for i in range(0, len(x), 4608)] for x in data))
    for behind in (0, 3, 16):
        for corrupt in (0, 2, 7):
            env = {"FAKE_FRAMES": "30", "FAKE_BEHIND": str(behind), "FAKE_CORRUPT": str(corrupt)}
            for errors in ("show", "drop"):
                rc, left, right = both(env, "--on-error", errors)
                name = "%d behind, every %dth damaged, %s" % (behind, corrupt, errors)
                lost = (59 // corrupt if corrupt else 0) if errors == "drop" else 0
                check(name, rc == 0 and len(left) + len(right) == 60 - lost,
                      "exit %d, %d and %d frames, %d lost" % (rc, len(left), len(right), lost))
                for n in (1, 15):
                    got = both(env, "--on-error", errors, "-frames:v", str(n))
                    check("%s, -frames:v %d" % (name, n), got == (0, left[:n], right[:n]),
                          "exit %d, %d and %d frames" % (got[0], len(got[1]), len(got[2])))
        rc, left, right = both({"FAKE_BEHIND": str(behind)}, "-t", "0.2")
        check("%d behind, -t" % behind, (rc, len(left), len(right)) == (0, 5, 5),
              "exit %d, %d and %d frames" % (rc, len(left), len(right)))
    times = d + "/times"
    pathlib.Path(times).write_text("".join("%d 1\n" % (i - 3 * (i % 5 == 4)) for i in range(30)))
    for n in (4, 5, 20, 24):
        run = pelton("decode", "-i", clip, "-frames:v", str(n), "-f", "framemd5", "-",
                     env={"FAKE_PTS": times})
        check("-frames:v %d of framemd5, some left out" % n, run.stdout.count(b"\n0,") == n,
              "%d lines" % run.stdout.count(b"\n0,"))


def others(d, clip):
    for command in ("decode", "probe", "bench", "doctor", "version", "help", "completion"):
        run = pelton("help", command)
        check("help " + command, run.returncode == 0
              and b"Usage: pelton " + command.encode() in run.stdout and b"log-level" in run.stdout)
        check("--help " + command, pelton(command, "--help").stdout == run.stdout)
        check("width of help " + command, max(map(len, run.stdout.decode().splitlines())) <= 90)
    fails("help of nothing", pelton("help", "nothing"), 2, "nothing")
    man = pelton("help", "--man").stdout
    if shutil.which("man"):
        run = subprocess.run(["man", "--warnings", "-l", "-"], input=man, capture_output=True,
                             env={**os.environ, "MAN_KEEP_STDERR": "1"})
        check("manual page", run.returncode == 0 and b"warning" not in run.stderr
              and b"frames:v" in run.stdout, run.stderr.decode())
    for shell in ("bash", "zsh", "fish"):
        script = pelton("completion", shell).stdout.decode()
        check("completion " + shell, "_pelton" in script and "completion words" in script)
    fails("completion without a shell", pelton("completion"), 2, "no shell is named")
    words = pelton("completion", "words", "decode", "--device", "g").stdout.decode().split()
    check("values of an option", words == ["auto", "gpu", "cpu", "libavcodec", "all"], str(words))
    words = pelton("completion", "words", "decode", "--on").stdout.decode()
    check("options of a command", "\n--on-error\t" in words and "--streams" not in words, words)
    words = pelton("completion", "words", "decode", "-i", "").stdout
    check("files", words == b":files\n", words)
    words = pelton("completion", "words", "de").stdout.decode()
    check("commands", words.startswith("decode\t") and ":files" in words, words)
    fails("completion of nothing", pelton("completion", "tcsh"), 2, "tcsh")
    check("version", b"protocol     1" in pelton("version").stdout
          and pelton("--version").returncode == 0)
    check("probe", b"High" in pelton("probe", clip).stdout)
    probe = json.loads(pelton("probe", "--json", clip).stdout)
    check("probe --json", probe["width"] == 64 and probe["supported"] is True
          and probe["unsupported_element"] is None, str(probe))
    run = pelton("probe", "--json", clip, env={"FAKE_UNSUPPORTED": "frame_mbs_only_flag"})
    check("probe unsupported", json.loads(run.stdout)["unsupported_element"] ==
          "frame_mbs_only_flag")
    fails("probe unsupported", run, 5, "frame_mbs_only_flag")
    run = pelton("doctor")
    check("doctor", run.returncode == 0 and b"Fake 3000" in run.stdout and b"memfd" in run.stdout,
          run.stdout.decode())
    check("doctor --json",
          json.loads(pelton("doctor", "--json").stdout)["decoding_possible"] is True)
    fails("doctor without device", pelton("doctor", env={"FAKE_NO_DEVICE": "1"}), 7, "device")


def checked_streams(clip):
    """Of 12 streams, 4 loops of 50 frames, each 16th frame is checked, by threads; one wrong bit in
    any of them is found and named."""
    rng = random.Random(peltontest.SEED)
    words = ("bench", "-i", clip, "--streams", "12", "--loop", "4", "--json", "-")
    env = {"FAKE_FRAMES": "50", "FAKE_SIZE": "160x120"}
    for name, more, last in (("", {}, ()), (", one slot", {"FAKE_SLOTS": "1"}, ()),
                             (", live", {}, ("--live",))):
        j = json.loads(pelton(*words, *last, env={**env, **more}).stdout or "{}")
        check("bench checks one in 16" + name, j.get("frames") == 2400
              and j["checked_frames"] == 12 * 4 * 4 - 4, str(j))
    for last in ((), ("--live",)):
        stream, loop, frame = rng.randint(1, 12), rng.randint(1, 4), rng.randrange(0, 50, 16)
        flip = "%d:%d" % (stream, (loop - 1) * 50 + frame)
        fails("one wrong bit, FAKE_FLIP=%s seed %s" % (flip, peltontest.SEED),
              pelton(*words, *last, env={**env, "FAKE_FLIP": flip}), 10,
              "frame %d of loop %d is not" % (frame, loop))


def bench(d, clip):
    real = d + "/real.264"
    ffmpeg("-y", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25", "-frames:v", "20", real)
    out = d + "/bench.json"
    run = pelton("bench", "-i", clip, "--streams", "3", "--loop", "2", "--stages", "--json", out)
    check("bench", run.returncode == 0 and b"delivered to one reader" in run.stdout
          and b"$ pelton bench -i" in run.stdout, (run.stdout + run.stderr).decode())
    j = json.load(open(out))
    check("bench json", j["frames"] == 60 and j["checked_frames"] == 5
          and set(j["fps"]) == {"gpu", "readback", "delivered"} and j["verified"] is False
          and j["device"]["software"] is False
          and set(j["latency_ms"]) == {"p50", "p95", "p99"}
          and set(j["cpu_seconds"]) == {"demux", "entropy", "motion", "submit", "device", "wait"}
          and set(j["gpu_seconds"]) == {"upload", "classify", "residual", "inter", "intra",
                                        "deblock", "deliver", "entropy"}, str(j))
    check("bench: first stream, share, steady state", j["first_stream"]["frames"] == 10
          and 0 < j["first_stream"]["first_frame_seconds"] <= j["first_stream"]["seconds"]
          and j["first_stream"]["new_process"] and j["steady"]["fps"] is None
          and j["gpu_entropy_share"] == 0 and b"first stream of a process" in run.stdout
          and b"no steady state" in run.stdout, str(j))
    j = json.loads(pelton("bench", "-i", clip, "--loop", "20", "--repeat", "3", "--json",
                          "-").stdout)
    check("bench --repeat", all(len(v) == 3 for v in j["fps_rounds"].values())
          and all(sorted(j["fps_rounds"][m])[1] == j["fps"][m] for m in j["fps"]), str(j))
    check("bench -t", json.loads(pelton("bench", "-i", clip, "-t", "0.3", "--json",
                                        "-").stdout)["seconds"]["delivered"] >= 0.3)
    j = json.loads(pelton("bench", "-i", clip, "--live", "--json", "-").stdout)
    check("bench --live", j["live"]["reordering"] == 0 and set(j["live"]["latency_ms"]) ==
          {"p50", "p95", "p99"} and j["fps"]["gpu"] is None and j["frames"] == 10, str(j))
    fails("bench checks the run itself", pelton("bench", "-i", clip, "--streams", "3",
                                                env={"FAKE_FLICKER": "1"}), 10, "frame 0 of loop 1")
    checked_streams(clip)
    fails("bench --live alone", pelton("bench", "-i", clip, "--live", "--against", "ffmpeg"), 2)
    fails("threshold", pelton("bench", "-i", clip, "--min-fps", "999999"), 3)
    fails("bench verifies", pelton("bench", "-i", real, "--verify"), 10, "frame 0")
    fake = d + "/fake-ffmpeg"
    reference = pelton("decode", "-i", clip, "-f", "framemd5", "-").stdout.decode()
    pathlib.Path(d + "/reference").write_text(reference)
    pathlib.Path(fake).write_text("#!/bin/sh\ncase \"$*\" in *framemd5*) cat %s/reference;; "
                                  "*decoders*) echo ' V..... h264_cuvid';; *cuvid*) exit 1;; *) "
                                  "echo frame=20;; esac\n" % d)
    os.chmod(fake, 0o755)
    j = json.loads(pelton("bench", "-i", clip, "--loop", "2", "--against", "ffmpeg", "--ffmpeg",
                          fake, "--json", "-").stdout)
    check("bench verified", j["verified"] is True and j["verified_frames"] == 10
          and j["checked_frames"] == 1, str(j))
    check("peers", len(j["peers"]) == 3 and j["peers"][0]["frames"] == 20
          and j["peers"][0]["fps"] > 0 and j["peers"][2]["fps"] is None, str(j["peers"]))
    run = pelton("bench", "-i", clip, "--verify", "--ffmpeg", d + "/no-ffmpeg")
    check("bench without ffmpeg", run.returncode == 0 and b"not verified" in run.stdout,
          (run.stdout + run.stderr).decode())


def main():
    if not shutil.which("ffmpeg"):
        print("skipped: no ffmpeg")
        return 77
    with tempfile.TemporaryDirectory() as d:
        clip = d + "/clip.264"
        pathlib.Path(clip).write_bytes(b"fake")
        for part in (formats, matroska_and_png, jpeg_and_sheet, verification, failures, interrupts,
                     talk, sizes, enough, others, bench):
            part(d, clip)
    for b in bad:
        print("FAILED", b)
    print("%d checks, %d failed" % (count, len(bad)))
    return 1 if bad else 0


sys.exit(main())
