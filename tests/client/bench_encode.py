#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton bench --encode with the real daemon: counts, figures that fit each other, the model, x264
beside it, and settings that are refused in words.
"""
import json, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

args = t.arguments(__doc__)


def bench(*words):
    return subprocess.run([args.bin + "/pelton", "bench", "--encode", "--device", args.device,
                           *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def clip(path, size, frames, pix_fmt="yuv420p"):
    subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=size={size}:rate=25", "-frames:v", str(frames), "-pix_fmt", pix_fmt,
                    "-c:v", "libx264", "-preset", "ultrafast", path], check=True)


def figures(small):
    run = bench("-i", small, "--streams", "2", "--loop", "2", "--stages", "--json", "-",
                "-qp", "30", "--against", "ffmpeg", "--ffmpeg", args.ffmpeg)
    check(run.returncode == 0, "it runs " + run.stderr)
    j = json.loads(run.stdout or "{}")
    ms = j["latency_ms"]
    check(j["streams"] == 2 and j["pictures"] == 2 * 2 * 5, "pictures of both streams")
    check(abs(j["fps"] * j["seconds"] - j["pictures"]) < 0.01, "the rate is that of the time")
    check(0 < ms["p50"] <= ms["p95"] <= ms["p99"] <= ms["most"] <= 1e3 * j["seconds"],
          f"latencies {ms}")
    check(j["bits"] > 100 and j["cpu_ms"] > 0 and 1 <= j["batch"] <= 2, "bits, CPU, batches")
    passes = {p["pass"]: p for p in j["model"]}
    check(passes["encode_inter"]["seconds"] > 0 and passes["encode_inter"]["floor_seconds"] > 0,
          "a pass has its time and its floor")
    check(passes["copies up"]["floor_seconds"] is None, "copies have no floor")
    check("encode_analyse" not in passes, "passes that do not run have no row")
    check(j["device_bandwidth"] > 0 and j["device_operations"] > 0, "the device was measured")
    by = passes["encode_refine"]
    check(abs(by["floor_seconds"] - max(by["bytes"] / j["device_bandwidth"],
                                        by["operations"] / j["device_operations"])) <
          1e-3 * by["floor_seconds"], "a floor is the greater of both")
    peer = j["peers"][0]
    check(peer["not_measured"] is None and peer["fps"] > 0 and "libx264" in peer["command"],
          f"x264 {peer}")


def text(small):
    run = bench("-i", small, "-crf", "30", "-refs", "2")
    check(run.returncode == 0 and "pictures/s" in run.stdout and "-crf 30" in run.stdout
          and "model" not in run.stdout, "as text " + run.stderr)
    run = bench("-i", small, "-t", "0.5", "--stages", "-profile:v", "baseline")
    check(run.returncode == 0 and "encode_inter" in run.stdout and "encoded" in run.stdout,
          "for a time, with the model " + run.stderr)
    run = bench("-i", small, "--against", "ffmpeg", "--ffmpeg", "/nowhere/ffmpeg")
    check(run.returncode == 0 and "not measured" in run.stdout, "without the peer")


def refused(small, other):
    for words, code, part in ((["-i", small, "--live"], 2, "--live"),
                              (["-i", small, "-qp", "20", "-crf", "20"], 2, "constant"),
                              (["-i", small, "--streams", "200", "-i", small], 2, "256"),
                              (["-i", small, "--min-fps", "999999"], 3, "wanted"),
                              (["-i", other], 2, "pixel format"),
                              ([], 2, "no input")):
        run = bench(*words)
        check(run.returncode == code and part in run.stderr and "hint: " in run.stderr,
              f"{words}: {run.returncode} {run.stderr}")
    for words in (["-qp", "20"], ["-refs", "2"], ["-coder", "cavlc"]):
        run = subprocess.run([args.bin + "/pelton", "bench", "-i", small, *words],
                             capture_output=True, text=True)
        check(run.returncode == 2 and "--encode" in run.stderr, f"{words[0]} without --encode")


with tempfile.TemporaryDirectory() as d:
    small, other = d + "/small.264", d + "/other.264"
    clip(small, "48x32", 5)
    clip(other, "48x32", 5, "yuv444p")
    figures(small)
    text(small)
    refused(small, other)
sys.exit(t.finish())
