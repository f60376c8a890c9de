#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A constant bit rate from the whole encoder, over cuts between scenes of different kinds: each
second is within 3 percent, no access unit is longer than its cap, the hypothetical decoder's buffer
neither lacks a picture nor runs over, and FFmpeg decodes what the encoder reconstructed.

  constant_rate.py [--rates 150000,400000] [--seconds 4]

Exit codes: 0, 1, 77 skipped (no FFmpeg).
"""
import hashlib, pathlib, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import peltontest as t

SCENES = ("testsrc2=size=176x144:rate=25", "mandelbrot=size=176x144:rate=25",
          "smptehdbars=size=176x144:rate=25,noise=alls=40:allf=t:all_seed=3",
          "color=gray:size=176x144:rate=25")


def make_clip(path, seconds):
    """Scenes of a second and two fifths, so that cuts stand anywhere in a second"""
    parts = [word for scene in SCENES for word in ("-f", "lavfi", "-t", "1.4", "-i", scene)]
    joined = "".join(f"[{i}:v]" for i in range(len(SCENES)))
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *parts, "-filter_complex",
                    f"{joined}concat=n={len(SCENES)},loop=loop=-1:size=140,format=yuv420p",
                    "-frames:v", str(25 * seconds), path], check=True)


def headers(path):
    """Syntax elements of each access unit by FFmpeg, and its bytes"""
    run = subprocess.run(["ffmpeg", "-v", "info", "-nostdin", "-i", path, "-c", "copy", "-bsf:v",
                          "trace_headers", "-f", "null", "-"], capture_output=True, text=True)
    for part in re.split(r"Packet: ", run.stderr)[1:]:
        found = {}
        for name, value in re.findall(r"\d+ +(\w+)(?:\[\d+\])* +[01]+ = (-?\d+)", part):
            found.setdefault(name, int(value))
        yield int(part.split()[0]), found


def buffer_fault(path):
    """None, or how the stream breaks its HRD (C.1.1, C.1.2): bits come in at the rate that the VUI
    tells, and pictures leave when their SEI messages say so."""
    came = due = period = 0
    most = 0.0
    for i, (size, h) in enumerate(headers(path)):
        if i == 0:
            rate = (h["bit_rate_value_minus1"] + 1) << 6 + h["bit_rate_scale"]
            room = (h["cpb_size_value_minus1"] + 1) << 4 + h["cpb_size_scale"]
            tick = h["num_units_in_tick"] / h["time_scale"]
            due = h["initial_cpb_removal_delay"] / 90000
        else:
            due = period + tick * h["cpb_removal_delay"]
        if "initial_cpb_removal_delay" in h:
            period = due
            off = h["initial_cpb_removal_delay"] / 90000 - (due - came / rate)
            if not -2 / 90000 <= off <= 2 / rate:
                return f"picture {i}: the buffering period is {off * 1e6:.1f} us off"
        if rate * due - came > room + 16:
            return f"picture {i}: the buffer holds {rate * due - came - room:.0f} bits too many"
        came += 8 * size
        most = max(most, came / rate - due)
        if most > 2 / 90000:
            return f"picture {i}: comes {most * 1e6:.0f} us late"
    return None if i > 50 else f"{i + 1} pictures"


def encode(args, clip, rate, folder):
    """None, or what is wrong"""
    out, recon = folder + "/out.264", folder + "/out.yuv"
    run = subprocess.run([args.bin + "/refenc", clip, "-o", out, "--recon", recon, "--idr", "50",
                          "--bit-rate", str(rate)], capture_output=True, text=True)
    found = re.search(r"tries \d+ over (\d+) skipped \d+ filler \d+ worst second ([\d.]+)",
                      run.stdout)
    if run.returncode or not found:
        return run.stdout + run.stderr
    print(f"{rate} bit/s: {found[0]} percent")
    decoded = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-err_detect", "explode", "-i",
                              out, "-fps_mode", "passthrough", "-f", "rawvideo", "-"],
                             capture_output=True)
    if decoded.returncode or decoded.stderr:
        return "FFmpeg: " + decoded.stderr.decode(errors="replace")[:300]
    if hashlib.md5(decoded.stdout).digest() != hashlib.md5(
            pathlib.Path(recon).read_bytes()).digest():
        return "FFmpeg decodes other frames than the encoder reconstructed"
    if fault := buffer_fault(out):
        return fault
    if int(found[1]):
        return f"{found[1]} access units are longer than their cap"
    return "a second is not within 3 percent" if float(found[2]) > 3 else None


def main():
    p = t.parser(__doc__)
    p.add_argument("--rates", default="150000,400000")
    p.add_argument("--seconds", type=int, default=4)
    args = t.parsed(p)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        make_clip(folder + "/clip.y4m", args.seconds)
        for rate in args.rates.split(","):
            fault = encode(args, folder + "/clip.y4m", int(rate), folder)
            faults += bool(fault)
            if fault:
                print(f"{rate} bit/s: {fault}")
    return int(bool(faults))


sys.exit(main())
