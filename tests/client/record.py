#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton record, and pelton pipe of access units: packets are the source's in every container.
Files come whole or stay ".part", and each is one recorder's. Segments begin with key pictures and
go with time. A cut recording and a full disk leave a file that plays. RTSP is published at a
server.
"""
import datetime, json, os, pathlib, re, signal, socket, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

args = t.arguments(__doc__)


def packets(path, *filters):
    """Sizes and hashes."""
    run = subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-i", path, "-map", "0:v", "-c",
                          "copy", *filters, "-f", "framemd5", "-"], capture_output=True, text=True)
    return [l.replace(" ", "").split(",")[4:6] for l in run.stdout.splitlines() if l[0] != "#"]


def clip(folder, name, bframes):
    path = f"{folder}/{name}.mp4"
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s=96x64:r=25:d=6,noise=alls=12", "-c:v", "libx264", "-g",
                    "25", "-sc_threshold", "0", "-bf", bframes, path], check=True)
    return path


def containers(d, folder, path):
    for end in ("mp4", "mkv", "ts", "264"):
        want, out = f"{folder}/want.{end}", f"{folder}/out.{end}"
        subprocess.run([args.ffmpeg, "-v", "error", "-y", "-i", path, "-c", "copy", want],
                       check=True)
        run = d.pelton("record", path, "-o", out)
        got = packets(out)
        check(run.returncode == 0 and got == packets(want) and len(got) == 150,
              f"{end}: {len(got)} packets are the source's {run.stderr.decode()[-100:]!r}")
        check(not list(pathlib.Path(folder).glob("*.part")), f"{end}: no part is left")
    for words in (["-f", "mpegts"], ["-f", "mp4"], ["-c", "copy", "-f", "matroska"],
                  ["-c:v", "copy", "-f", "h264"]):
        run = d.pelton("pipe", path, *words, "-")
        pipe = f"{folder}/pipe"
        pathlib.Path(pipe).write_bytes(run.stdout)
        check(run.returncode == 0 and len(packets(pipe)) == 150, f"pipe {' '.join(words)}")
    run = d.pelton("record", path, "-o", f"{folder}/out.mp4", "-n")
    check(run.returncode == 1 and b"exists" in run.stderr, "a file that exists stays")
    run = d.pelton("record", path, "-o", f"{folder}/short.mkv", "-t", "2")
    n = len(packets(f"{folder}/short.mkv"))
    check(run.returncode == 0 and 48 <= n <= 53, f"-t 2: {n} packets")
    for words, hint in ((["-o", f"{folder}/x.webm"], b"-f is one of"), ([], b"-o FILE"),
                        (["-o", f"{folder}/x.mp4", "--keep", "3"], b"--segment")):
        run = d.pelton("record", path, *words)
        check(run.returncode == 2 and hint in run.stderr, f"refused: {words} {run.stderr[-80:]}")


def segments(d, folder, path):
    run = d.pelton("record", path, "-o", f"{folder}/part.mkv", "--segment", "2")
    files = sorted(pathlib.Path(folder).glob("part-*.mkv"))
    lengths = [len(packets(str(f))) for f in files]
    check(run.returncode == 0 and lengths == [50, 50, 50], f"segments: {lengths}")
    whole = [p for f in files for p in packets(str(f))]
    check(whole == packets(path), "segments: together they are the source")
    check(all(re.fullmatch(r"part-\d{8}T\d{6}\.\d{3}Z\.mkv", f.name) for f in files),
          f"segments: {files[0].name}")
    other = pathlib.Path(folder, "part-note.mkv")
    other.write_text("mine")
    run = d.pelton("record", path, "-o", f"{folder}/part.mkv", "--segment", "1", "--keep", "2")
    left = sorted(f.name for f in pathlib.Path(folder).glob("part-2*.mkv"))
    check(run.returncode == 0 and len(left) == 2 and other.exists(), f"--keep 2: {len(left)}")
    run = d.pelton("record", path, "-o", f"{folder}/part.mkv", "--segment", "1", "--max-size",
                 "1k")
    left = list(pathlib.Path(folder).glob("part-2*.mkv"))
    check(run.returncode == 0 and len(left) == 1, f"--max-size: {len(left)} segment")


def cut(d, folder):
    """A recorder that is killed leaves what can be played; an interrupt ends a file regularly."""
    stream = pathlib.Path(folder, "want.ts").read_bytes()
    for end in ("mp4", "mkv", "ts"):
        out = f"{folder}/cut.{end}"
        run = subprocess.Popen([args.bin + "/pelton", "record", "--socket", d.socket, "-", "-o",
                                out], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        run.stdin.write(stream)
        run.stdin.flush() # and it stays open, so the recording goes on
        part = pathlib.Path(out + ".part")
        t.wait_until(lambda: part.exists() and len(packets(str(part))) >= 100, 10)
        run.send_signal(signal.SIGINT if end == "ts" else signal.SIGKILL)
        run.wait()
        run.stdin.close()
        left = out if end == "ts" else str(part)
        check(len(packets(left)) >= 100 and part.exists() == (end != "ts"),
              f"{end}: {left.rsplit('/')[-1]} plays, {len(packets(left))} packets")


def stamped(name, hours):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
    return f"{name}-{at:%Y%m%dT%H%M%S}.{at.microsecond // 1000:03d}Z.mkv"


def left_over(d, folder):
    """The next recorder takes in the part of one that was killed, and leaves that of one that
    lives."""
    folder = folder + "/left"
    pathlib.Path(folder).mkdir()
    stream = pathlib.Path(folder, "../want.ts").read_bytes()
    command = [args.bin + "/pelton", "record", "--socket", d.socket, "-", "-o",
               folder + "/a.mkv", "--segment", "60"]
    parts = lambda: list(pathlib.Path(folder).glob("*.part"))
    recorders = []
    for n in (1, 2):
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        run.stdin.write(stream)
        run.stdin.flush()
        t.wait_until(lambda: len(parts()) == n and all(len(packets(str(p))) >= 100
                                                       for p in parts()), 10)
        recorders.append(run)
    recorders[0].kill()
    recorders[0].wait()
    pathlib.Path(folder, stamped("a", -2) + ".part").touch()
    run = d.pelton("record", folder + "/../want.ts", "-o", folder + "/a.mkv", "--segment", "60")
    whole = [len(packets(str(f))) for f in sorted(pathlib.Path(folder).glob("*.mkv"))]
    check(run.returncode == 0 and len(parts()) == 1 and len(whole) == 2 and whole[0] >= 100
          and b"in the midst" in run.stderr, f"left over: {whole} packets, {len(parts())} part of "
          f"the recorder that lives {run.stderr.decode()!r}")
    recorders[1].kill()
    recorders[1].wait()


def recorder(d, stream, *words):
    """A recorder that has begun, and waits at standard input for what follows."""
    run = subprocess.Popen([args.bin + "/pelton", "record", "--socket", d.socket, "-", *words],
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdin.write(stream)
    run.stdin.flush()
    return run


def clients(d):
    return json.loads(d.pelton("stats", "--json").stdout)["clients"]


def same_name(d, folder):
    """Two recorders whose names are the same moment's have each its own file. The clock is behind
    a segment, so both would go on with the next millisecond."""
    folder = folder + "/same"
    pathlib.Path(folder).mkdir()
    stream = pathlib.Path(folder, "../want.ts").read_bytes()
    pathlib.Path(folder, stamped("a", 1)).write_bytes(b"x")
    before = clients(d)
    words = ["-o", folder + "/a.mkv", "--segment", "60"]
    runs = [recorder(d, b"", *words) for _ in range(2)]
    t.wait_until(lambda: clients(d) == before + 2, 10)
    for run in runs:
        run.stdin.write(stream)
        run.stdin.flush()
    t.wait_until(lambda: len(list(pathlib.Path(folder).glob("*.part"))) == 2, 10)
    said = [run.communicate(timeout=t.patience(20))[1] for run in runs]
    runs.append(recorder(d, stream, *words)) # and it goes on behind them
    said += [runs[-1].communicate(timeout=t.patience(20))[1]]
    whole = [len(packets(str(f))) for f in sorted(pathlib.Path(folder).glob("*.mkv"))[1:]]
    check([r.returncode for r in runs] == [0, 0, 0] and whole == [150, 150, 150],
          f"one moment's name: {whole} packets {said!r}")


def one_file(d, folder, path):
    """The file of a recorder that lives is no other's, and a part that was left is asked for."""
    out = folder + "/one.mkv"
    stream = pathlib.Path(folder, "want.ts").read_bytes()
    run = recorder(d, stream, "-o", out)
    t.wait_until(lambda: os.path.exists(out + ".part") and len(packets(out + ".part")) >= 100, 10)
    other = d.pelton("record", path, "-o", out, "-y")
    check(other.returncode == 1 and b"another program" in other.stderr
          and not os.path.exists(out), f"a part that is written: {other.stderr.decode()!r}")
    run.stdin.close()
    run.wait(t.patience(20))
    check(run.returncode == 0 and len(packets(out)) == 150, "and its recorder ends with a file")
    pathlib.Path(out).rename(folder + "/left.mkv.part")
    run = d.pelton("record", path, "-o", folder + "/left.mkv")
    kept = len(packets(folder + "/left.mkv.part"))
    check(run.returncode == 1 and b"left.mkv.part: the file exists" in run.stderr and kept == 150,
          f"a part that was left stays: {run.stderr.decode()!r}, {kept} packets")
    run = d.pelton("record", path, "-o", folder + "/left.mkv", "-y")
    check(run.returncode == 0 and not os.path.exists(folder + "/left.mkv.part"), "-y overwrites it")


def clock(d, folder, path):
    """After the clock has gone back, new segments are the newest all the same. Names of a year
    ahead are no obstacle."""
    folder = folder + "/clock"
    pathlib.Path(folder).mkdir()
    for hours in (-5, 1, 9000):
        pathlib.Path(folder, stamped("c", hours)).write_bytes(b"x" * 100)
    run = d.pelton("record", path, "-o", folder + "/c.mkv", "--segment", "2", "--keep", "4")
    names = sorted(f.name for f in pathlib.Path(folder).iterdir())
    sizes = [pathlib.Path(folder, n).stat().st_size for n in names]
    check(run.returncode == 0 and len(names) == 4 and sizes[0] == 100 and min(sizes[1:]) > 100
          and names[-1] < stamped("c", 2) and b"clock is" in run.stderr,
          f"clock: {names} {sizes} {run.stderr.decode()!r}")


def refused(d, folder, path):
    run = d.pelton("record", path, "-o", folder + "/none/a.mp4", "--segment", "1")
    check(run.returncode == 1 and b"No such file" in run.stderr and b"hint:" in run.stderr,
          f"no folder: {run.stderr.decode()!r}")
    shut = pathlib.Path(folder, "shut")
    shut.mkdir(mode=0o555)
    command = [args.bin + "/pelton", "record", "--socket", d.socket, path, "-o",
               str(shut / "a.mp4"), "--segment", "1"]
    if os.getuid() == 0: # without the right to write everywhere
        command = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override",
                   *command]
    run = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if b"setpriv" in run.stderr:
        print("skipped: a folder that is not ours:", run.stderr.decode())
        return
    check(run.returncode == 9 and b"Permission denied" in run.stderr and not list(shut.iterdir()),
          f"a folder that is not ours: {run.stderr.decode()!r}")


def full(d, folder, path):
    """A full disk, in words."""
    disk = folder + "/disk"
    pathlib.Path(disk).mkdir()
    run = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=48k none \"$0\" && "
                          "\"$@\"; code=$?; ls \"$0\"; exit $code", disk, args.bin + "/pelton",
                          "record", "--socket", d.socket, path, "-o", disk + "/out.mkv"],
                         capture_output=True)
    if b"unshare" in run.stderr or b"mount:" in run.stderr:
        print("skipped: full disk: no mount namespace")
        return
    check(run.returncode == 1 and b"No space left" in run.stderr and b"out.mkv.part" in run.stdout,
          f"a full disk: {run.stderr.decode()!r}")
    pathlib.Path(folder, "kept").mkdir()
    run = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=48k none \"$0\" && "
                          "\"$@\"; code=$?; cp \"$0\"/* \"$0/../kept\"; exit $code", disk,
                          args.bin + "/pelton", "record", "--socket", d.socket, path, "-o",
                          disk + "/s.mkv", "--segment", "1"], capture_output=True)
    lengths = [len(packets(str(f))) for f in sorted(pathlib.Path(folder, "kept").iterdir())]
    check(run.returncode == 1 and len(lengths) > 1 and set(lengths[:-1]) == {25},
          f"a full disk: segments of {lengths} packets {run.stderr.decode()!r}")


def rtsp(d, folder, path):
    """FFmpeg listens as a server that streams are published at."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    url, out = f"rtsp://127.0.0.1:{port}/live", f"{folder}/pushed.mkv"
    server = subprocess.Popen([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-rtsp_flags",
                               "listen", "-i", url, "-c", "copy", out], stderr=subprocess.PIPE)
    sockets = lambda: [l.split() for l in open("/proc/net/tcp")]
    t.wait_until(lambda: any(s[1].endswith(f":{port:04X}") and s[3] == "0A" for s in sockets()), 5)
    run = d.pelton("pipe", path, "-f", "rtsp", url, "-t", "3")
    server.wait(t.patience(10))
    got = packets(out)
    check(run.returncode == 0 and len(got) >= 60, f"rtsp: {len(got)} packets arrive "
          f"{run.stderr[-100:]} {server.stderr.read()[-200:]}")
    run = d.pelton("pipe", path, "-f", "rtsp", f"rtsp://127.0.0.1:{port}/live")
    check(run.returncode == 1 and b"hint: check that the server runs" in run.stderr,
          f"rtsp: nobody listens: {run.stderr.decode()!r}")


def network(folder, path):
    """A named source that is an RTSP server (GStreamer's) plays at its own pace."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    script = str(pathlib.Path(__file__).resolve().parents[1] / "camera/rtsp_server.py")
    server = subprocess.Popen(["/usr/bin/python3", script, str(port), path],
                              stdout=subprocess.PIPE, text=True)
    try:
        if server.stdout.readline() != "ready\n":
            print("skipped: network: no GStreamer")
            return
        with t.Daemon(args, "-c", f"sources.front.uri=rtsp://127.0.0.1:{port}/clip") as d:
            out = f"{folder}/front.mkv"
            run = d.pelton("record", "front", "-o", out, "-t", "2")
        slices = ["-bsf:v", "h264_mp4toannexb,filter_units=pass_types=1-5"]
        got, want = packets(out, *slices), packets(path, *slices)
        check(run.returncode == 0 and len(got) >= 48 and got == want[:len(got)],
              f"network: slices of {len(got)} packets are the server's {run.stderr[-100:]}")
    finally:
        server.kill()
        server.wait()


with tempfile.TemporaryDirectory() as folder:
    path, camera = clip(folder, "clip", "2"), clip(folder, "camera", "0")
    with t.Daemon(args) as d:
        containers(d, folder, path)
        segments(d, folder, path)
        cut(d, folder)
        left_over(d, folder)
        same_name(d, folder)
        one_file(d, folder, path)
        clock(d, folder, path)
        refused(d, folder, path)
        full(d, folder, path)
        rtsp(d, folder, camera)
    network(folder, camera)
sys.exit(t.finish())
