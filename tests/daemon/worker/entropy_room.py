#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Coefficients that the device entropy-decoded stay in its memory as far as there is room.
streamgen makes other streams every day; they run whole and damaged. There is room for all pictures,
for some, or for none, on one queue and on several. The frames must be those of entropy decoding by
the CPU.

  entropy_room.py SESSION_DECODE STREAMGEN
"""
import os, pathlib, random, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import peltontest as t

# What is not decoded on the GPU.
WITHOUT = "cavlc,mbaff,fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,"\
          "redundant,partitions,sp,si,separate-planes,422,444,depth,differing-depths,lossless,cavlc444-intra,mvc,size-changes,400"
WITH = ["pcm,p", "b,sub-macroblocks", "paff", "transform8x8,big-levels"]
# PELTON_QUEUES, KiB. With SOME a fifth to two thirds of the pictures stay.
ALL, SOME, NONE = ("split", 0), ("one", 32), ("", 1)
failures = []


def decode(program, path, *args, queues=""):
    env = {**os.environ, "PELTON_QUEUES": queues}
    out = subprocess.run([program, "--device", "cpu", "--frames", "--stats", *map(str, args),
                          path], capture_output=True, text=True, timeout=t.LIMIT_S, env=env)
    stayed = re.search(r"(\d+) pictures, .* coefficients of (\d+) stayed", out.stderr)
    numbers = tuple(map(int, stayed.groups())) if stayed else (0, 0)
    return (out.returncode, t.session_frames(out.stdout)), numbers, out.stderr


def differ(got, want):
    return got[0] != want[0] or t.session_difference(got[1], want[1], True)


def told(got, text):
    """Of a failure: the exit code, validation's messages, and the end of what was said."""
    messages = [line for line in text.splitlines() if "validation: " in line]
    return "\n".join([f"exit code {got[0]}", *messages[:8], text.strip()[-3000:]])


def damaged(path, rng):
    data = bytearray(pathlib.Path(path).read_bytes())
    for _ in range(4):
        data[rng.randrange(len(data) // 8, len(data))] ^= 1 << rng.randrange(8)
    pathlib.Path(path + ".damaged").write_bytes(data)
    return path + ".damaged"


def check_slabs(program, path):
    """Arrays large enough for slabs, which a thread of their own makes while nothing else
    happens."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360",
                    "-frames:v", "8", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-crf", "51", path],
                   check=True)
    want, _, _ = decode(program, path, "--entropy", "cpu")
    got, found, text = decode(program, path, "--entropy", "gpu", "--arena", 2, "--lookahead", 4)
    print(f"in slabs: {found[0]} pictures by the device")
    if differ(got, want) or not found[0]:
        failures.append(f"{path}: other frames in slabs, or none by the device: "
                        f"{told(got, text)}")


def check_low_rate(program, path, size, most):
    """Intra pictures of few bits: most 8x8 blocks have one level, so a byte is two blocks of 4x4
    and more. The device has room for all of small pictures. Of large ones it gives back so many at
    most: those of the first batches."""
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=size={size},noise=alls=24", "-frames:v", "24", "-pix_fmt",
                    "yuv420p", "-c:v", "libx264", "-crf", "48", "-g", "1", path], check=True)
    want, _, _ = decode(program, path, "--entropy", "cpu")
    got, _, text = decode(program, path, "--entropy", "gpu", "--lookahead", 8)
    found = re.search(r"(\d+) pictures, (\d+) given back", text)
    counts = tuple(map(int, found.groups())) if found else (0, 0)
    print(f"of a low rate, {size}: {counts[0]} pictures by the device, {counts[1]} given back")
    if differ(got, want) or counts[1] > most or not counts[0]:
        failures.append(f"{path}: other frames of a low rate, or too many given back: "
                        f"{told(got, text)}")


def check(program, path, rooms, total):
    want, _, _ = decode(program, path, "--entropy", "cpu")
    for queues, room in rooms:
        got, found, text = decode(program, path, "--entropy", "gpu", "--entropy-memory", room,
                                  "--validate", queues=queues)
        total[queues, room] = [a + b for a, b in zip(total[queues, room], found)]
        if differ(got, want) or "validation: " in text:
            failures.append(f"{path}: other frames, or validation messages, with "
                            f"PELTON_QUEUES={queues}, room of {room} KiB: {told(got, text)}")


def main():
    program, streamgen = sys.argv[1:]
    rng = random.Random(f"entropy room {t.SEED}")
    print("PELTON_SEED", t.SEED, flush=True)
    total = {room: [0, 0] for room in (ALL, SOME, NONE)}
    with tempfile.TemporaryDirectory() as folder:
        for i, features in enumerate(WITH):
            path = f"{folder}/{i}.264"
            subprocess.run([streamgen, "--seed", str(rng.randrange(1 << 30)), "--without", WITHOUT,
                            "--with", "cabac," + features, "--frames", "8", "--mbs", "4x4",
                            "-o", path], check=True, capture_output=True)
            check(program, path, (ALL, SOME) + (NONE,) * (i == 0), total)
            check(program, damaged(path, rng), (ALL, SOME), total)
        check_slabs(program, f"{folder}/large.264")
        check_low_rate(program, f"{folder}/low.264", "320x192", 0)
        check_low_rate(program, f"{folder}/low.264", "1280x720", 16)
    for (queues, room), (pictures, stayed) in total.items():
        print(f"PELTON_QUEUES={queues}, room {f'of {room} KiB' if room else 'for all'}: {pictures} "
              f"pictures by the device, coefficients of {stayed} stayed there")
    if not total[ALL][0] or total[ALL][1] < total[ALL][0]:
        failures.append("with room for all some did not stay")
    if not 0 < total[SOME][1] < total[SOME][0]:
        failures.append("with room for some none stayed, or all")
    if total[NONE][1]:
        failures.append("without room some stayed")
    print(*failures, sep="\n")
    return 1 if failures else 0


sys.exit(main())
