#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input: each case gets its documented exit code, one cause, one hint, the frames decoded
before it, and an end in time.

Exit codes: 0, 1, 77 skipped (no ffmpeg or x264).
"""
import os, pathlib, socket, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

# frames at the end of a cut stream: the last is damaged, B pictures before it may be lost
REORDERED = 4
OK, OTHER, USAGE, INPUT, UNSUPPORTED, DECODE, NO_DEVICE, NO_DAEMON = 0, 1, 2, 4, 5, 6, 7, 8


def sh(*command):
    subprocess.run(command, check=True, capture_output=True)


class Media:
    """Small files that are wrong in one way each."""

    def __init__(self, d, ffmpeg):
        self.d = pathlib.Path(d)
        f = [ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
             "testsrc2=size=96x80:rate=25", "-frames:v", "30", "-pix_fmt", "yuv420p"]
        x264 = ["-c:v", "libx264", "-g", "10", "-bf", "2"]
        sh(*f, *x264, self.path("good.264"))
        sh(*f, *x264, self.path("tail_moov.mp4"))
        sh(*f, *x264, "-movflags", "+faststart", self.path("front_moov.mp4"))
        sh(*f, "-c:v", "libx265", "-x265-params", "log-level=none", self.path("hevc.mkv"))
        sh(*f, "-c:v", "libx264", "-x264-params", "interlaced=1", self.path("interlaced.264"))
        # more than what is read to probe it
        sh(*f, "-c:v", "libx264", "-qp", "1", "-vf", "noise=alls=40", self.path("large.mp4"))
        sh(*f, "-c:v", "libx264", "-pix_fmt", "yuv444p", self.path("yuv444.264"))
        sh(*f, "-c:v", "libx264", "-pix_fmt", "yuv420p10le", self.path("ten.264"))
        sh(ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "sine=duration=1",
           self.path("sound.wav"))
        (self.d / "empty").write_bytes(b"")
        (self.d / "text.txt").write_text("The quick brown fox jumps over the lazy dog.\n" * 40)
        self.cut("tail_moov.mp4", "no_moov.mp4", 0.6)
        self.cut("front_moov.mp4", "cut.mp4", 0.7)
        stream = (self.d / "good.264").read_bytes()
        second_idr = stream.index(b"\0\0\1\x65", stream.index(b"\0\0\1\x65") + 4)
        sps_end = stream.index(b"\0\0\1\x65")
        first_p = stream.index(b"\0\0\1\x41", sps_end)
        (self.d / "no_idr.264").write_bytes(stream[:sps_end] + stream[first_p - 1:])
        after_p = stream.index(b"\0\0\1", first_p + 4)
        (self.d / "half_slice.264").write_bytes(stream[: (first_p + after_p) // 2] +
                                                stream[after_p:])
        (self.d / "random").write_bytes(os.urandom(20000))
        self.second_idr = second_idr

    def path(self, name):
        return str(self.d / name)

    def cut(self, name, to, share):
        data = (self.d / name).read_bytes()
        (self.d / to).write_bytes(data[: int(len(data) * share)])


    def stereo(self, streamgen):
        """Two views, half a slice of the base view missing and half a slice of the second one."""
        sh(streamgen, "--seed", "2", "--only", "cabac,p,mvc", "--mbs", "6x5", "--frames", "8",
           "-o", self.path("stereo.264"))
        units = (self.d / "stereo.264").read_bytes().split(b"\0\0\1")
        for kind, which in ((1, 2), (20, 5)):
            at = [i for i, u in enumerate(units) if u and u[0] & 31 == kind][which]
            units[at] = units[at][:len(units[at]) // 2]
        (self.d / "stereo.264").write_bytes(b"\0\0\1".join(units))


def frames(text):
    return [l.split(",")[-1].strip() for l in text.splitlines() if l and not l.startswith("#")]


def main():
    args = t.arguments(__doc__)
    bad = []

    with tempfile.TemporaryDirectory() as d:
        media = Media(d, args.ffmpeg)
        pelton = [args.bin + "/pelton", "decode", "--device", args.device, "-loglevel", "error"]

        def case(name, command, code, words=(), least=None, whole=None, env=None):
            """One run: exit code, one cause, one hint; `least` frames at least, a prefix of
            `whole`'s."""
            try:
                run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                     timeout=t.LIMIT_S, env={**os.environ, **(env or {})})
            except subprocess.TimeoutExpired:
                bad.append("%s: no end" % name)
                return
            err = run.stderr.decode(errors="replace").splitlines()
            causes, hints = [l for l in err
                             if l.startswith("pelton: ")], [l for l in err
                                                            if l.startswith("hint: ")]
            codes = code if isinstance(code, tuple) else (code,)
            if run.returncode not in codes:
                bad.append("%s: exit %d, expected %s: %s" % (name, run.returncode, codes,
                                                             " | ".join(err[-3:])))
            elif run.returncode != 0 and (len(causes), len(hints)) != (1, 1):
                bad.append("%s: %d causes, %d hints: %s" % (name, len(causes), len(hints),
                                                            " | ".join(err)))
            elif run.returncode != 0 and not all(w.lower() in causes[0].lower() for w in words):
                bad.append("%s: the cause does not say %s: %s" % (name, words, causes[0]))
            elif least is not None:
                got = frames(run.stdout.decode())
                expected = frames(t.ffmpeg_framemd5(args, whole))
                sound = len(got) - (REORDERED if run.returncode else 0)
                if sound < least or got[:sound] != expected[:sound]:
                    bad.append("%s: %d frames, at least %d of FFmpeg's first expected" %
                               (name, sound, least))
            if not bad or not bad[-1].startswith(name):
                print("ok %s: exit %d%s" % (name, run.returncode, ": " + causes[0][8:]
                                            if causes else ""))

        def decode(name, *more):
            return [*pelton, "-i", media.path(name), *more]

        null = ("-f", "null", "-")
        md5 = ("-f", "framemd5", "-")
        case("good", decode("good.264", *md5), OK, least=30, whole=media.path("good.264"))
        case("missing file", decode("nowhere.mp4", *null), INPUT, ["nowhere.mp4", "No such file"])
        case("directory", [*pelton, "-i", d, *null], INPUT, ["directory"])
        case("empty file", decode("empty", *null), INPUT, ["empty"])
        case("text", decode("text.txt", *null), INPUT, ["text.txt"])
        case("random bytes", decode("random", *null), (INPUT, UNSUPPORTED))
        case("sound only", decode("sound.wav", *null), INPUT, ["video"])
        case("MP4 without its index", decode("no_moov.mp4", *null), INPUT, ["no_moov.mp4"])
        case("MP4 cut short", decode("cut.mp4", *null), OK)
        case("MP4 cut short, damage fatal", decode("cut.mp4", "--on-error", "fail", *md5),
             (INPUT, DECODE), ["cut.mp4"], least=10, whole=media.path("front_moov.mp4"))
        case("MP4 with its index at the end, in a pipe", ["sh", "-c", 'cat "$0" | "$@"',
                                                          media.path("large.mp4"), *pelton, "-i",
                                                          "-", *null], INPUT, ["moov", "pipe"])
        case("HEVC", decode("hevc.mkv", *null), UNSUPPORTED, ["hevc"])
        for name in ("interlaced", "yuv444", "ten"):
            case(name, decode(name + ".264", *md5), OK, least=30, whole=media.path(name + ".264"))
            media.cut(name + ".264", name + "_cut.264", 0.6)
            case(name + " cut short", decode(name + "_cut.264", *null), OK)
            case(name + " cut short, damage fatal", decode(name + "_cut.264", "--on-error", "fail",
                                                           *null), (OK, DECODE))
        case("pixel format of another depth", decode("ten.264", "-pix_fmt", "nv12", *null), OK)
        run = subprocess.run(decode("no_idr.264", *md5), stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=t.LIMIT_S)
        if run.returncode not in (OK,) or len(frames(run.stdout.decode())) < 20:
            bad.append("no IDR at the start: exit %d, %d frames: %s" %
                       (run.returncode, len(frames(run.stdout.decode())), run.stderr.decode()))
        kept, first = (frames(subprocess.run(decode("half_slice.264", "--on-error", "drop", *more,
                                                    *md5), stdin=subprocess.DEVNULL,
                                                    capture_output=True,
                                             timeout=t.LIMIT_S).stdout.decode())
                                             for more in ([], ["-frames:v", "15"]))
        if not 15 < len(kept) < 30 or first != kept[:15]:
            bad.append("half a slice, dropped: %d frames of 30, %d of 15 asked for" %
                       (len(kept), len(first)))
        both = []
        media.stereo(args.bin + "/streamgen")
        for more in ([], ["-frames:v", "3"]):
            sh(*decode("stereo.264", "--on-error", "drop", *more, "-y", "-o", d + "/left.yuv",
                       "--second-view", d + "/right.yuv"))
            both.append([(media.d / name).read_bytes() for name in ("left.yuv", "right.yuv")])
        size = 96 * 80 * 3 // 2
        if not all(3 * size < len(kept) < 8 * size
                   for kept in both[0]) or both[1] != [kept[:3 * size] for kept in both[0]]:
            bad.append("two views, damage dropped: %s frames of 8, %s of 3 asked for" %
                       tuple([len(x) / size for x in b] for b in both))
        case("no such device", [args.bin + "/pelton", "decode", "--device", "no-such-device", "-i",
                                media.path("good.264"), *null], NO_DEVICE)
        case("refused socket", decode("good.264", "--socket", d + "/none.sock", *null), NO_DAEMON,
             ["none.sock"])
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(d + "/dead.sock")
        dead.close()
        case("dead socket", decode("good.264", "--socket", d + "/dead.sock", *null), NO_DAEMON,
             ["dead.sock"])
        case("full disk", decode("good.264", "-f", "rawvideo", "-y", "-o", "/dev/full"), OTHER,
             ["space"])
        os.symlink("good.264", d + "/link.yuv")
        before = (media.d / "good.264").read_bytes()
        case("output is the input", decode("good.264", "-y", "-o", media.path("link.yuv")), USAGE,
             ["link.yuv", "input"])
        case("side data into the input", decode("good.264", "-y", "--side-data",
                                                media.path("good.264")), USAGE, ["input"])
        case("output twice", decode("good.264", "-y", "-o", d + "/x.y4m", "--side-data",
                                    d + "/x.y4m"), USAGE, ["two outputs"])
        if (media.d / "good.264").read_bytes() != before:
            bad.append("the input has been written to")
        case("no such folder", decode("good.264", "-y", "-o", d + "/none/x.y4m"), USAGE, ["x.y4m"])
        case("bad option", [*pelton, "--no-such-option"], USAGE, ["no-such-option"])
        case("bad format", decode("good.264", "-f", "nonsense", "-"), USAGE, ["nonsense"])
        case("no input", [*pelton, *null], USAGE)

    for b in bad:
        print("FAILED", b)
    print("%d failed" % len(bad))
    return 1 if bad else 0


sys.exit(main())
