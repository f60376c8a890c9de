#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SEI and VUI of streams in the output of `pelton decode --side-data`, against the written values
and against ffprobe.

x264 makes the streams. The test adds time codes, captions, user data, orientation and unknown
messages, at random by PELTON_SEED. Then it compares the headers of written files with FFmpeg's, and
the conformance streams, if present, with ffprobe.

Exit codes: 0 all equal, 1 not, 77 skipped (no x264, ffmpeg or ffprobe).
"""
import json, os, pathlib, random, shutil, subprocess, sys, tempfile, time, uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

FRAMES = 20
bad = []


def expect(what, got, want):
    if got != want:
        bad.append("%s: %s instead of %s" % (what, str(got)[:300], str(want)[:300]))


# ---- writing SEI ----

class Bits:
    def __init__(self):
        self.text = ""

    def u(self, n, v):
        self.text += format(v, "0%db" % n) if n else ""

    def ue(self, v):
        code = format(v + 1, "b")
        self.text += "0" * (len(code) - 1) + code

    def bytes(self):  # sei_payload is whole bytes: a one and zeros after it (D.1.1)
        text = self.text
        if len(text) % 8:
            text += "1"
            text += "0" * (-len(text) % 8)
        return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))


def escape(rbsp):
    out, zeros = bytearray(), 0
    for b in rbsp:
        if zeros == 2 and b <= 3:
            out.append(3)
            zeros = 0
        out.append(b)
        zeros = zeros + 1 if b == 0 else 0
    return bytes(out)


def sei_nal(messages):
    rbsp = bytearray([6])
    for kind, payload in messages:
        for n in (kind, len(payload)):
            rbsp += b"\xff" * (n // 255) + bytes([n % 255])
        rbsp += payload
    return b"\0\0\0\1" + escape(rbsp + b"\x80")


def timecode(rng, i):
    """pic_timing of a frame with a full clock timestamp, without HRD delays."""
    c = {"hours": rng.randrange(24), "minutes": rng.randrange(60), "seconds": rng.randrange(60),
         "n_frames": i % 25}
    b = Bits()
    b.u(4, 0)
    b.u(1, 1)
    b.u(2, 0)
    b.u(1, 0)
    b.u(5, 0)
    b.u(3, 4)
    b.u(8, c["n_frames"])
    b.u(6, c["seconds"])
    b.u(6, c["minutes"])
    b.u(5, c["hours"])
    b.u(24, 0)  # time_offset: 24 bits without HRD parameters (D.2.3)
    return b.bytes(), "%02d:%02d:%02d:%02d" % (c["hours"], c["minutes"], c["seconds"],
                                               c["n_frames"])


def orientation(rng):
    turn = rng.choice((0x4000, 0x8000, 0xc000))
    b = Bits()
    b.u(1, 0)
    b.u(2, 0)
    b.u(16, turn)
    b.ue(1)
    b.u(1, 0)
    return b.bytes(), turn * 360 / 65536


def make_messages(rng, i):
    """Messages of access unit i, and what is to be told of its frame."""
    clock, told = timecode(rng, i)
    messages, want = [(1, clock)], {"timecode": told, "user": [], "captions": "", "other": []}
    marker = (uuid.UUID(int=rng.getrandbits(128)), b"%d," % i +
              bytes(rng.choice((0, 0, 0, 1, 2, 3, 255)) for _ in range(rng.randrange(300))))
    messages.append((5, marker[0].bytes + marker[1]))
    want["user"].append((str(marker[0]), marker[1].hex()))
    for _ in range(rng.randrange(3)):
        triplets = bytes(v for _ in range(rng.randrange(1, 32))
                         for v in (0xfc, rng.randrange(256), rng.randrange(256)))
        messages.append((4, b"\xb5\0\x31GA94\x03" + bytes([0xc0 | len(triplets) // 3, 255]) +
                         triplets + b"\xff"))
        want["captions"] += triplets.hex()
        want["other"].append((4, messages[-1][1].hex()))
    if rng.randrange(3) == 0:
        format = rng.randrange(1, 16)
        messages.append((4, b"\xb5\0\x31DTG1" + bytes([0x41, 0xf0 | format])))
        want["active_format"] = format
        want["other"].append((4, messages[-1][1].hex()))
    if rng.randrange(3) == 0:
        payload, want["degrees"] = orientation(rng)
        messages.append((47, payload))
    if rng.randrange(3) == 0:
        messages.append((rng.choice((200, 300, 19)), rng.randbytes(rng.randrange(40))))
        want["other"].append((messages[-1][0], messages[-1][1].hex()))
    return messages, want


def nal_units(data):
    at = [i for i in range(len(data) - 3) if data[i:i + 3] == b"\0\0\1"]
    for begin, end in zip(at, at[1:] + [len(data)]):
        yield data[begin + 3:end].rstrip(b"\0") if end < len(data) else data[begin + 3:end]


def insert_messages(data, rng):
    """The stream with its SEI replaced; x264 writes one slice a picture here."""
    out, wants = bytearray(), []
    for nal in nal_units(data):
        kind = nal[0] & 31
        if kind == 6:
            continue
        if kind in (1, 5):
            messages, want = make_messages(rng, len(wants))
            wants.append(want)
            cut = rng.randrange(len(messages) + 1)
            for part in (messages[:cut], messages[cut:]):
                if part:
                    out += sei_nal(part)
        out += b"\0\0\0\1" + nal
    return bytes(out), wants


# ---- running ----

def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=t.LIMIT_S)
    if done.returncode:
        raise SystemExit("%s\n%s" % (" ".join(map(str, command)),
                                     done.stderr.decode(errors="replace")))
    return done.stdout


def x264(folder, name, *options):
    path = folder / (name + ".264")
    run(["x264", "--quiet", "--no-progress", "--threads", "1", "--slices", "1", *options, "-o",
         path, folder / "source.y4m"])
    return path


def side_data(args, daemon, path):
    command = [args.bin + "/pelton", "decode", "--socket", daemon.socket, "-loglevel", "error",
               "-i", path, "-f", "null", "-o", "-", "--side-data", "-"]
    return [json.loads(line) for line in run(command).splitlines()]


def ffprobe(args, path):
    return json.loads(run([args.ffprobe, "-v", "error", "-show_frames", "-select_streams", "v:0",
                           "-of", "json", path]))["frames"]


KINDS = {"ATSC A53 Part 4 Closed Captions": "captions",
         "Active format description": "active_format",
         "3x3 displaymatrix": "display_orientation", "Stereo 3D": "frame_packing_arrangement",
         "H.26[45] User Data Unregistered SEI message": "unregistered",
         "SMPTE 12-1 timecode": "timecodes"}


def kinds_of_ours(frame):
    told = {k for k in ("captions", "active_format", "display_orientation",
                        "frame_packing_arrangement") if k in frame}
    if any(m["type"] == 5 for m in frame.get("messages", [])):
        told.add("unregistered")
    return told | ({"timecodes"} if "clock_timestamps" in frame else set())


def compare_frames(name, ours, theirs):
    """Colours, aspect ratio, which side data there is, and time codes, frame by frame."""
    expect(name + " frames", len(ours), len(theirs))
    for i, (a, b) in enumerate(zip(ours, theirs)):
        for key in ("color_range", "color_space", "color_primaries", "color_transfer",
                    "chroma_location"):
            said = a["colour"]["source"] == "bitstream" or (key == "chroma_location" and key in b)
            mine = a["colour"][key] if said else None
            expect("%s frame %d %s" % (name, i, key), None if mine == "unknown" else mine,
                   b.get(key))
        expect("%s frame %d key" % (name, i), a["key"], b["key_frame"] == 1)
        expect("%s frame %d aspect" % (name, i), a["sample_aspect_ratio"],
               b.get("sample_aspect_ratio"))
        listed = b.get("side_data_list", [])
        expect("%s frame %d side data" % (name, i), kinds_of_ours(a),
               {KINDS[d["side_data_type"]] for d in listed if d["side_data_type"] in KINDS})
        codes = [c["value"] for d in listed for c in d.get("timecodes", [])]
        if codes:
            expect("%s frame %d time codes" % (name, i),
                   [c["timecode"] for c in a["clock_timestamps"]], codes)


# ---- parts ----

def check_inserted(args, daemon, folder, rng):
    path = folder / "inserted.264"
    data, wants = insert_messages(x264(folder, "plain", "--pic-struct", "--bframes", "2",
                                       "--keyint", "8").read_bytes(), rng)
    path.write_bytes(data)
    ours = side_data(args, daemon, path)
    compare_frames("inserted", ours, ffprobe(args, path))
    seen = []
    for frame in ours:
        user = [(m["uuid"], m["data"]) for m in frame["messages"] if m["type"] == 5]
        seen.append(int(bytes.fromhex(user[0][1]).split(b",")[0]))
        want, name = wants[seen[-1]], "access unit %d" % seen[-1]
        expect(name + " user data", user, want["user"])
        expect(name + " time code", [c["timecode"] for c in frame["clock_timestamps"]],
               [want["timecode"]])
        expect(name + " captions", frame.get("captions", ""), want["captions"])
        expect(name + " active format", frame.get("active_format"), want.get("active_format"))
        expect(name + " orientation", frame.get("display_orientation",
                                                {}).get("anticlockwise_degrees"),
                                                want.get("degrees"))
        expect(name + " other", [(m["type"], m["payload"]) for m in frame["messages"]
                                 if m["type"] != 5], want["other"])
        expect(name + " left out", frame.get("left_out"), None)
    expect("access units", sorted(seen), list(range(FRAMES)))
    check_encoded(args, daemon, path, "-qp", "30")
    check_encoded(args, daemon, path, "-b:v", "2M")
    probe = json.loads(run([args.bin + "/pelton", "probe", "--socket", daemon.socket, "-loglevel",
                            "error", "--json", path]))["sei"]
    expect("probe", (probe["pictures"], {c["name"]: c["count"]
                                         for c in probe["counts"]}["pic_timing"]), (FRAMES, FRAMES))


CARRIED = ("clock_timestamps", "captions", "active_format", "display_orientation",
           "frame_packing_arrangement", "mastering_display", "content_light_level")


def check_encoded(args, daemon, path, *options):
    """`pelton encode` carries messages on, but for unregistered user data and unknown types."""
    again = path.with_suffix(".again.264")
    run([args.bin + "/pelton", "encode", "--socket", daemon.socket, "-y", "-loglevel", "error",
         "-i", path, "-o", again, *options])
    before, after = side_data(args, daemon, path), side_data(args, daemon, again)
    compare_frames(again.name, after, ffprobe(args, again))
    expect(again.name + " frames", len(after), len(before))
    carried = 0
    for i, (a, b) in enumerate(zip(before, after)):
        for key in CARRIED:
            expect(f"{again.name} frame {i} {key}", b.get(key), a.get(key))
            carried += key in b
        expect(f"{again.name} frame {i} user data",
               [m for m in b.get("messages", []) if m["type"] != 0],  # a buffering period
               [m for m in a.get("messages", []) if m["type"] == 4])
    expect(again.name + " has messages", carried > 0, True)


def check_x264(args, daemon, folder):
    """What x264 writes itself."""
    first = ours = None
    for name, options in {
        "hdr": ["--pic-struct", "--nal-hrd", "vbr", "--vbv-maxrate", "500", "--vbv-bufsize", "500",
                "--colorprim", "bt2020", "--transfer", "smpte2084",
                "--colormatrix", "bt2020nc", "--chromaloc", "2", "--sar", "4:3", "--range", "tv",
                "--overscan", "show", "--cll", "1000,400",
                "--mastering-display",
                "G(8500,39850)B(6550,2300)R(35400,14600)WP(15635,16450)L(10000000,1)",
                "--frame-packing", "3"],
        "rows": ["--frame-packing", "2", "--range", "pc", "--videoformat", "pal"],
        "columns": ["--frame-packing", "1"],
        "top-bottom": ["--frame-packing", "4", "--colormatrix", "bt709"],
        "frames": ["--frame-packing", "5"],
        "refresh": ["--intra-refresh", "--keyint", "8", "--sar", "12:11", "--overscan", "crop"],
        "plain": [],
    }.items():
        path = x264(folder, name, *options)
        ours = side_data(args, daemon, path)
        compare_frames(name, ours, ffprobe(args, path))
        first = ours[0]
        if name in ("hdr", "rows"):
            check_encoded(args, daemon, path, "-qp", "30")
        if name == "hdr":
            m = first["mastering_display"]
            expect("mastering", (m["green_x"], m["blue_y"], m["white_y"], m["max_luminance"],
                                 m["min_luminance"]), (0.17, 0.046, 0.329, 1000, 0.0001))
            expect("light", first["content_light_level"], {"max_content_light_level": 1000,
                                                           "max_pic_average_light_level": 400})
            expect("overscan", (first["vui"]["overscan"], first["vui"]["hrd_parameters_present"]),
                   ("not appropriate", True))
            expect("delay", [f["cpb_removal_delay"] for f in ours[:1]], [0])
        elif name == "rows":
            expect("video format", first["vui"]["video_format"], 1)
        elif name == "refresh":
            points = [f["recovery_point"] for f in ours if "recovery_point" in f]
            expect("recovery points", len(points) >= 2 and all(p["exact_match_flag"]
                                                               and not p["broken_link_flag"]
                                                               and p["recovery_frame_cnt"] < 8
                                                               for p in points), True)
        elif name == "plain":
            expect("colour source", first["colour"]["source"], "assumed")


def entries(args, path, section, keys):
    """Of the only stream, or of the first frame. Without side data: FFmpeg gives the frame packing
    to PNG files too."""
    told = json.loads(run([args.ffprobe, "-v", "error", "-show_entries", section + "=" + keys,
                           "-of", "json", path]))[section + "s"][0]
    return {key: told[key] for key in told if key in keys.split(",")}


def check_files(args, daemon, folder):
    """Colour and aspect of written files are those that FFmpeg writes."""
    keys = ("sample_aspect_ratio,color_range,color_space,color_transfer,color_primaries,"
            "chroma_location")
    for name in ("plain", "refresh", "top-bottom", "hdr"):
        path = folder / (name + ".264")
        told = {}
        for who, command in (("pelton", [args.bin + "/pelton", "decode", "--socket", daemon.socket,
                                         "-y", "-loglevel", "error", "-i", path]),
                             ("ffmpeg", [args.ffmpeg, "-y", "-v", "error", "-nostdin", "-i",
                                         path])):
            y4m, mkv, png = (folder / ("%s.%s" % (who, e)) for e in ("y4m", "mkv", "png"))
            run([*command, y4m])
            run([*command, *(["-c:v", "rawvideo"] if who == "ffmpeg" else []), mkv])
            run([*command, "-frames:v", "1", png])
            stream = entries(args, mkv, "stream", keys)
            image = entries(args, png, "frame", "pix_fmt," + keys)
            told[who] = y4m.read_bytes().split(b"\n")[0], stream, image
        for what, mine, theirs in zip(("y4m", "matroska", "png"), told["pelton"], told["ffmpeg"]):
            expect("%s as %s" % (name, what), mine, theirs)


def check_conformance(args, daemon):
    count = 0
    for name in CONFORMANCE:
        path = pathlib.Path(args.streams) / name
        if path.exists():
            compare_frames(name, side_data(args, daemon, path), ffprobe(args, path))
            count += 1
    return count


CONFORMANCE = ("x264/mbaff_bff.264", "x264/fakeinterlaced.264", "x264/bluray.264",
               "x264/pulldown_sei.264", "x264/high_opengop.264", "made/rw_nalzoo.264")


def main():
    p = t.parser(__doc__)
    p.add_argument("--ffprobe", default="ffprobe")
    p.add_argument("--streams", default=os.environ.get("PELTON_STREAMS",
                                                       str(t.ROOT.parent / "shared/streams")))
    args = p.parse_args()
    if not all(shutil.which(x) for x in ("x264", args.ffmpeg, args.ffprobe)):
        print("skipped: x264, ffmpeg or ffprobe is not there")
        return t.SKIPPED
    start, rng = time.time(), random.Random(int(t.SEED))
    with tempfile.TemporaryDirectory() as name, t.Daemon(args) as daemon:
        folder = pathlib.Path(name)
        run([args.ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=s=96x64:r=25",
             "-frames:v", str(FRAMES), "-pix_fmt", "yuv420p", folder / "source.y4m"])
        check_inserted(args, daemon, folder, rng)
        check_x264(args, daemon, folder)
        check_files(args, daemon, folder)
        streams = check_conformance(args, daemon)
    for line in bad[:20]:
        print("DIFFERS", line)
    print("%d differences, %d conformance streams, seed %s, %.0f s" %
          (len(bad), streams, t.SEED, time.time() - start))
    return 1 if bad else 0


sys.exit(main())
