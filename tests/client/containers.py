#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What containers say beside the samples, against ffmpeg: display matrices, sizes, the choice among
streams, clocks that jump, files that are cut off, SPS with a broken VUI, encryption. No decoded
frame is left out.

Exit codes: 0, 1, 77 skipped (no ffmpeg with libx264).
"""
import array, pathlib, shutil, struct, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

PICTURE = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=0.6"]
X264 = ["-c:v", "libx264", "-g", "9", "-bf", "2"]
# a, b, c, d of the matrix: every way to turn and mirror by quarters
MATRICES = {"upright": (1, 0, 0, 1), "mirrored": (-1, 0, 0, 1), "180": (-1, 0, 0, -1),
            "upside down": (1, 0, 0, -1), "transposed": (0, 1, 1, 0), "90": (0, 1, -1, 0),
            "antitransposed": (0, -1, -1, 0), "270": (0, -1, 1, 0)}
ORIENTATION = {name: n for n, name in enumerate(MATRICES, 1)}


class Case:
    def __init__(self, args, daemon, folder):
        self.args, self.daemon, self.d, self.bad, self.count = args, daemon, folder, 0, 0

    def ffmpeg(self, *words):
        subprocess.run([self.args.ffmpeg, "-v", "error", "-nostdin", "-y", *words], check=True)

    def check(self, name, good, why=""):
        self.count += 1
        if not good:
            self.bad += 1
            print("DIFFERS %s: %s" % (name, why))

    def ours(self, path, *options):
        return t.decode(self.args, self.daemon, path, "framemd5", *options)

    def theirs(self, path, *options, sync="passthrough", stream="0:v:0"):
        command = [self.args.ffmpeg, "-v", "quiet", "-nostdin", "-i", path, "-map", stream,
                   "-fps_mode", sync, *options, "-f", "framemd5", "-"]
        return subprocess.run(command, capture_output=True).stdout.decode()

    def equal(self, name, path, *options, whole=True, **kw):
        """The same frames, and with `whole` at the same times."""
        ours = self.ours(path, *options)
        theirs = self.theirs(path, **kw)
        if ours.returncode:
            return self.check(name, False, t.failure(ours))
        if whole:
            why = t.first_difference(ours.stdout.decode(), theirs)
            return self.check(name, not why, why)
        a, b = md5s(ours.stdout.decode()), md5s(theirs)
        self.check(name, a == b and a, "%d frames, ffmpeg %d" % (len(a), len(b)))


def md5s(text):
    return [line.split()[-1] for line in text.splitlines() if line and line[0] != "#"]


def matrix_patched(data, abcd):
    """The track's header with another matrix (ISO/IEC 14496-12, 8.3.2)."""
    at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = (v * 65536 for v in abcd)
    return data[:at] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + data[at + 36:]


def turned_422(case, path):
    """Rows become columns after the conversion to 4:4:4."""
    raw = []
    for options in (["-noautorotate", "-pix_fmt", "yuv444p10le"], []):
        run = t.decode(case.args, case.daemon, path, "rawvideo", "-frames:v", "1", *options)
        raw.append(array.array("H", run.stdout))
    plain, turned = raw
    w, h = 160, 96
    right = all(turned[p * w * h + y * h + x] == plain[p * w * h + (h - 1 - x) * w + y]
                for p in range(3) for y in range(w) for x in range(h))
    case.check("4:2:2 turned by 90 degrees", len(turned) == 3 * w * h and right, "other samples")


def matrices(case):
    for fmt in ("yuv420p", "yuv422p10le", "yuv444p"):
        base = "%s/plain-%s.mp4" % (case.d, fmt)
        case.ffmpeg(*PICTURE, *X264, "-pix_fmt", fmt, "-frames:v", "4", base)
        data = pathlib.Path(base).read_bytes()
        for name, abcd in MATRICES.items():
            if fmt != "yuv420p" and name not in ("90", "mirrored"):
                continue
            path = "%s/turned.mp4" % case.d
            pathlib.Path(path).write_bytes(matrix_patched(data, abcd))
            if fmt == "yuv422p10le" and name == "90":
                turned_422(case, path)
            else:
                case.equal("%s %s" % (fmt, name), path)
            probe = subprocess.run([case.args.bin + "/pelton", "probe", "--socket",
                                    case.daemon.socket, "--json", path], capture_output=True,
                                   text=True)
            case.check("probe %s" % name,
                       '"orientation": %d' % ORIENTATION[name] in probe.stdout, probe.stdout)
            left = md5s(case.ours(path, "-noautorotate").stdout.decode())
            case.check("-noautorotate %s" % name, left == md5s(case.ours(base).stdout.decode()))


def messages(case):
    """An orientation message of the stream turns all pictures of its sequence as matrices do, and
    wins over the matrix. One IDR picture: h264_metadata places the second message wrongly."""
    base, turned = case.d + "/base.mp4", case.d + "/turned.mp4"
    case.ffmpeg(*PICTURE, *X264, "-frames:v", "8", base)
    data = pathlib.Path(base).read_bytes()
    for name, words in (("270", "rotate=90"), ("180", "rotate=180"), ("90", "rotate=270"),
                        ("mirrored", "flip=horizontal"), ("upside down", "flip=vertical")):
        pathlib.Path(turned).write_bytes(matrix_patched(data, MATRICES[name]))
        want = md5s(case.ours(turned).stdout.decode())
        for path, ext in ((base, "264"), (base, "mp4"), (turned, "mp4")):
            told = "%s/told.%s" % (case.d, ext)
            bytes_too = "h264_mp4toannexb," if ext == "264" else ""
            case.ffmpeg("-i", path, "-c", "copy", "-bsf:v",
                        bytes_too + "h264_metadata=display_orientation=insert:" + words, told)
            got = md5s(case.ours(told).stdout.decode())
            case.check("message %s in %s" % (words, ext), got == want != [], "other frames")
            left = md5s(case.ours(told, "-noautorotate").stdout.decode())
            case.check("-noautorotate, message " + words,
                       left == md5s(case.ours(base).stdout.decode()) != [], "other frames")


def sizes(case):
    """The container's size wins where it leaves out less than a macroblock."""
    for w, h in ((160, 90), (154, 96), (152, 88)):
        path, out = "%s/full.mp4" % case.d, "%s/%dx%d.mp4" % (case.d, w, h)
        case.ffmpeg(*PICTURE, *X264, "-frames:v", "4", path)
        data = bytearray(pathlib.Path(path).read_bytes())
        at = data.index(b"avc1", data.index(b"stsd")) + 4 + 24
        data[at:at + 4] = struct.pack(">HH", w, h)
        pathlib.Path(out).write_bytes(data)
        case.equal("%dx%d of 160x96" % (w, h), out)


def choice(case):
    small = ["-f", "lavfi", "-i", "testsrc=s=80x48:r=25:d=0.2"]
    large = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=0.2"]
    for name, default in (("largest", None), ("default first", 0), ("default second", 1)):
        path = "%s/two.mkv" % case.d
        flags = []
        for i in range(2):
            flags += ["-disposition:v:%d" % i, "default" if i == default else "0"]
        case.ffmpeg(*small, *large, "-map", "0:v", "-map", "1:v", *X264, *flags, path)
        theirs = subprocess.run([case.args.ffmpeg, "-v", "quiet", "-nostdin", "-i", path, "-f",
                                 "framemd5", "-"], capture_output=True).stdout.decode()
        case.check("choice: " + name,
                   md5s(case.ours(path).stdout.decode()) == md5s(theirs) != [], "another stream")
    for i in range(2):
        case.equal("-map 0:v:%d" % i, path, "-map", "0:v:%d" % i, stream="0:v:%d" % i)


def clocks(case):
    ts, joined = case.d + "/a.ts", case.d + "/joined.ts"
    case.ffmpeg(*PICTURE, *X264, ts)
    data = pathlib.Path(ts).read_bytes()
    pathlib.Path(joined).write_bytes(data * 3)
    case.equal("joined MPEG-TS", joined, whole=False)
    out = case.ours(joined).stdout.decode()
    times = [int(line.split(",")[2]) for line in out.splitlines() if line and line[0] != "#"]
    case.check("times of joined MPEG-TS", times == list(range(45)), times)
    late = case.d + "/late.ts"
    for offset in ("0.5", "10", str((1 << 33) / 90000 - 0.3)):
        case.ffmpeg("-i", ts, "-c", "copy", "-output_ts_offset", offset, late)
        case.equal("first time stamp " + offset, late)
    burst = case.d + "/burst.mkv"
    case.ffmpeg(*PICTURE, "-vf", "settb=1/1000,setpts='floor(N/5)*200+mod(N,5)*3'", "-fps_mode",
                "passthrough", "-c:v", "libx264", "-bf", "0", burst)
    case.equal("bursts of frames in Matroska", burst, whole=False)


def changes(case):
    """Another size at each IDR picture: stores of equal size serve again."""
    parts = []
    for w in (64, 96, 128, 160, 192):
        part = "%s/part.264" % case.d
        case.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=%dx64:r=25" % w, "-frames:v", "1", "-c:v",
                    "libx264", part)
        parts.append(pathlib.Path(part).read_bytes())
    path = "%s/changes.264" % case.d
    pathlib.Path(path).write_bytes(b"".join(parts) * 20)
    ours, theirs = md5s(case.ours(path).stdout.decode()), md5s(t.ffmpeg_framemd5(case.args, path))
    case.check("a size of its own for each IDR picture", ours == theirs and len(ours) == 100,
               "%d frames, ffmpeg %d" % (len(ours), len(theirs)))


def cut(case):
    for name, ext, options in (("MP4", "mp4", ["-movflags", "faststart"]),
                               ("fragmented MP4", "mp4", ["-movflags", "frag_keyframe+empty_moov"]),
                               ("FLV", "flv", [])):
        path = "%s/cut.%s" % (case.d, ext)
        case.ffmpeg(*PICTURE, *X264, *options, path)
        data = pathlib.Path(path).read_bytes()
        whole = md5s(case.ours(path).stdout.decode())
        pathlib.Path(path).write_bytes(data[:len(data) * 8 // 10])
        ours = subprocess.run([case.args.bin + "/pelton", "decode", "--socket",
                               case.daemon.socket, "-i", path, "-f", "framemd5", "-"],
                              stdin=subprocess.DEVNULL, capture_output=True)
        some = md5s(ours.stdout.decode())
        sound = sum(a == b for a, b in zip(whole, some))
        case.check("cut %s" % name, ours.returncode == 0 and sound >= 6 and
                   b"cut off: the file ends before its container says so" in ours.stderr,
                   "exit %d, %d frames, %d sound: %s" % (ours.returncode, len(some), sound,
                                                         ours.stderr))
        strict = case.ours(path, "--on-error", "fail")
        case.check("cut %s, --on-error fail" % name, strict.returncode in (4, 6),
                   "exit %d" % strict.returncode)


def vui(case):
    """The last bytes of the SPS are its VUI's."""
    path = "%s/vui.264" % case.d
    case.ffmpeg(*PICTURE, *X264, path)
    nals = pathlib.Path(path).read_bytes().split(b"\0\0\0\1")
    whole = md5s(case.ours(path).stdout.decode())
    broken = [nal[:-3] if nal[:1] and nal[0] & 31 == 7 else nal for nal in nals]
    pathlib.Path(path).write_bytes(b"\0\0\0\1".join(broken))
    ours = subprocess.run([case.args.bin + "/pelton", "decode", "--socket", case.daemon.socket,
                           "-i", path, "-f", "framemd5", "-"],
                          stdin=subprocess.DEVNULL, capture_output=True)
    case.check("a broken VUI", broken != nals and ours.returncode == 0 and
               md5s(ours.stdout.decode()) == whole and
               ours.stderr.count(b"its VUI is broken, and left out") == 1,
               "exit %d: %s" % (ours.returncode, ours.stderr))


def crc32_mpeg(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04c11db7 if crc >> 31 else 0)) & 0xffffffff
    return crc


def sample_aes(data):
    """MPEG-TS whose program maps call H.264 (0x1b) encrypted by SAMPLE-AES (0xdb)."""
    data = bytearray(data)
    for at in range(0, len(data), 188):
        start = at + 5 + data[at + 4]  # behind the pointer
        if not data[at + 1] & 0x40 or data[at + 3] & 0x20 or data[start] != 2:
            continue
        end = start + 3 + ((data[start + 1] & 15) << 8 | data[start + 2])
        first = start + 12 + ((data[start + 10] & 15) << 8 | data[start + 11])
        data[first] = 0xdb
        data[end - 4:end] = struct.pack(">I", crc32_mpeg(data[start:end - 4]))
    return bytes(data)


def element(name, content):
    """Of EBML, with a size of eight bytes."""
    return bytes.fromhex(name) + struct.pack(">Q", len(content) | 1 << 56) + content


def inside(data, at):
    """Begin and end of the content of the element whose size, of one to eight bytes, is there."""
    length = 9 - data[at].bit_length()
    size = int.from_bytes(data[at:at + length], "big") & (1 << 7 * length) - 1
    return at + length, at + length + size


def locked_matroska(data):
    """The first track with a key's name: WebM encryption. The first mention of the tracks is that
    of the index."""
    at = data.rindex(bytes.fromhex("1654ae6b"))
    begin, end = inside(data, at + 4)
    first, last = inside(data, begin + 1)
    lock = element("6d80", element("6240", element("5033", b"\1") + element(
        "5035", element("47e1", b"\5") + element("47e2", b"0123456789abcdef"))))
    return data[:at] + element("1654ae6b", element("ae", data[first:last] + lock)) + data[end:]


def encrypted(case):
    for scheme, ext, lock in (("SAMPLE-AES", "ts", sample_aes),
                              ("WebM", "mkv", locked_matroska)):
        path = "%s/open.%s" % (case.d, ext)
        options = ["-live", "1", "-write_crc32", "0"] if ext == "mkv" else []
        case.ffmpeg(*PICTURE, *X264, *options, path)
        case.equal("%s, not encrypted" % ext, path, whole=False)
        locked = "%s/locked.%s" % (case.d, ext)
        pathlib.Path(locked).write_bytes(lock(pathlib.Path(path).read_bytes()))
        run = case.ours(locked)
        case.check("encrypted by " + scheme, run.returncode == 5 and not md5s(run.stdout.decode())
                   and b"encrypted (%s)" % scheme.encode() in run.stderr,
                   "exit %d: %s" % (run.returncode, run.stderr))


def main():
    args = t.parser(__doc__).parse_args()
    if not shutil.which(args.ffmpeg):
        print("skipped: no", args.ffmpeg)
        return t.SKIPPED
    with tempfile.TemporaryDirectory() as d, t.Daemon(args) as daemon:
        case = Case(args, daemon, d)
        for group in (matrices, messages, sizes, choice, clocks, changes, cut, vui, encrypted):
            if not args.only or args.only in group.__name__:
                group(case)
    print("%d of %d as ffmpeg has it" % (case.count - case.bad, case.count))
    return 1 if case.bad else 0


sys.exit(main())
