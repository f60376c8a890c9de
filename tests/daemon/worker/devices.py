#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Several devices in one daemon: streams are shared and frames are right. A device that does not
exist is an error. The software device, taken twice, stands for two GPUs. The test takes about 5
seconds.

  devices.py PELTON
"""
import json
import shutil
import subprocess
import sys
import tempfile

if not shutil.which("ffmpeg"):
    sys.exit(77)
pelton = sys.argv[1]
failures = 0


def check(name, ok, why=""):
    global failures
    if not ok:
        failures += 1
        print("FAILED", name, why)


with tempfile.TemporaryDirectory() as d:
    clip = d + "/clip.264"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x96:rate=25",
                    "-frames:v", "30", "-c:v", "libx264", "-y", clip],
                   check=True)
    run = subprocess.run([pelton, "bench", "-i", clip, "--device", "cpu,cpu", "--streams", "3",
                          "--verify", "--json", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    check("two devices", run.returncode == 0, run.stderr.decode())
    j = json.loads(run.stdout) if run.returncode == 0 else None
    check("both open", j and j["device"]["name"].endswith("and 1 more"), str(j))
    check("all frames", j and j["frames"] == 90 and j["corrupt"] == 0 and j["verified"], str(j))
    # one file, which the devices share: 24 stretches
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x96:rate=25",
                    "-frames:v", "120", "-c:v", "libx264", "-x264-params",
                    "keyint=5:min-keyint=5:scenecut=0:open-gop=0", "-y", clip],
                   check=True)
    told = []
    for device in ("cpu", "cpu,cpu,cpu"):
        run = subprocess.run([pelton, "decode", "-i", clip, "--device", device,
                              "-c", "debug.share_kib=0", "-f", "framemd5", "-"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        check(device, run.returncode == 0, run.stderr.decode())
        told.append([l for l in run.stdout.splitlines() if not l.startswith(b"#")])
    check("120 frames", len(told[0]) == 120, str(len(told[0])))
    check("shared frames are equal", told[0] == told[1])
    for wrong, code in (("cpu,no such device", 7), (",".join(["cpu"] * 17), 7)):
        run = subprocess.run([pelton, "bench", "-i", clip, "--device", wrong],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        check(wrong, run.returncode == code, "%d %s" % (run.returncode, run.stderr.decode()))
print(failures, "failures")
sys.exit(failures != 0)
