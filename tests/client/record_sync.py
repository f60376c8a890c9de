#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Records how the ffmpeg program treats the time stamps of awkward streams: writes sync_cases.tsv.

Columns: name, time base, frame rate, average frame rate, start pts, frames as pts:duration, pts of
framemd5's lines.
"""
import json, os, subprocess, sys, tempfile

# name, extension, ffmpeg options before the output
CASES = [
    ("cfr-25", "mp4", "-r 25"),
    ("ntsc-mkv", "mkv", "-r 30000/1001"),
    ("film-mkv", "mkv", "-r 24000/1001"),
    ("ntsc60-ts", "ts", "-r 60000/1001"),
    ("ts-25", "ts", "-r 25"),
    ("jitter-mp4", "mp4",
     "-vf settb=1/90000,setpts=(N/25+0.012*sin(N*1.7))/TB -fps_mode vfr -enc_time_base 1/90000 "
     "-video_track_timescale 90000"),
    ("jitter-mkv", "mkv",
     "-vf settb=1/1000,setpts=trunc((N/25+0.019*sin(N*2.3))/TB) -fps_mode vfr "
     "-enc_time_base 1/1000"),
    ("halves-mkv", "mkv",
     "-vf settb=1/1000,setpts=trunc((N/25+mod(N\\,3)*0.02)/TB) -fps_mode vfr "
     "-enc_time_base 1/1000"),
    ("gap-mp4", "mp4",
     "-vf settb=1/90000,setpts=(N/25+gte(N\\,20)*0.5)/TB -fps_mode vfr "
     "-enc_time_base 1/90000"),
    ("speeding-mp4", "mp4",
     "-vf settb=1/90000,setpts=(N/20-N*N*0.0002)/TB -fps_mode vfr "
     "-enc_time_base 1/90000"),
    ("bursts-mkv", "mkv",
     "-vf settb=1/1000,setpts=trunc(N/5)*200+mod(N\\,5)*3 -fps_mode vfr "
     "-enc_time_base 1/1000"),
    ("slow-mkv", "mkv", "-vf settb=1/1000,setpts=N*1001 -fps_mode vfr "
     "-enc_time_base 1/1000"),
    ("pairs-ts", "ts",
     "-vf settb=1/90000,setpts=trunc(N/2)*7200+mod(N\\,2)*300 -fps_mode vfr "
     "-enc_time_base 1/90000"),
    ("random-mkv", "mkv",
     "-vf settb=1/1000,setpts=N*40+trunc(random(1)*39) -fps_mode vfr "
     "-enc_time_base 1/1000"),
    ("random-ts", "ts",
     "-vf settb=1/90000,setpts=N*3000+trunc(random(2)*2990) -fps_mode vfr "
     "-enc_time_base 1/90000"),
    ("offset-mkv", "mkv", "-r 25 -output_ts_offset 3.217"),
]


# Other containers and companions, for times.py.
MORE = [
    ("audio-mp4", "mp4", "-f lavfi -i sine=duration=2 -c:a aac -r 25"),
    ("audio-ts", "ts", "-f lavfi -i sine=duration=2 -c:a mp2 -r 25"),
    ("audio-late-mkv", "mkv", "-f lavfi -itsoffset 0.3 -i sine=duration=2 -c:a mp2 -r 25"),
    ("mov", "mov", "-r 24"),
    ("avi", "avi", "-r 25"),
    ("flv", "flv", "-r 25"),
    ("nut", "nut", "-r 30"),
    ("fragments-mp4", "mp4", "-r 25 -movflags +frag_keyframe+empty_moov"),
    ("raw", "264", "-r 50"),
    ("edit-mp4", "mp4", "-r 25 -output_ts_offset 1"),
]


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make(d, name, ext, options):
    path = os.path.join(d, name + "." + ext)
    run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
         "testsrc=size=32x32:rate=25", *options.split(),
         "-frames:v", "48", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "12", path])
    return path


def record(d, name, ext, options):
    path = make(d, name, ext, options)
    info = json.loads(run(["ffprobe", "-v", "error", "-of", "json", "-show_entries",
                           "stream=time_base,r_frame_rate,avg_frame_rate:format=start_time",
                           "-show_frames", "-show_entries",
                           "frame=best_effort_timestamp,pkt_duration", path]))
    stream = info["streams"][0]
    num, den = map(int, stream["time_base"].split("/"))
    start = info["format"].get("start_time")
    start_pts = "none" if start is None else str(round(float(start) * den / num))
    frames = " ".join("%s:%s" % (f["best_effort_timestamp"], f.get("pkt_duration", 0))
                      for f in info["frames"])
    lines = run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "framemd5",
                 "-"]).splitlines()
    tb = [l for l in lines if l.startswith("#tb")][0].split()[-1]
    pts = " ".join(l.split(",")[2].strip() for l in lines if not l.startswith("#"))
    return [name, stream["time_base"], stream["r_frame_rate"], stream["avg_frame_rate"], start_pts,
            tb, frames, pts]


def main():
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sync_cases.tsv")
    with tempfile.TemporaryDirectory() as d, open(target, "w") as out:
        print("# Recorded from ffmpeg 5.1 by record_sync.py: name, time base, rate, average rate, "
              "start pts, tb of framemd5, pts:duration, "
              "pts of framemd5", file=out)
        for case in CASES:
            row = record(d, *case)
            print("\t".join(row), file=out)
            print(row[0], row[1:6], len(row[6].split()), "->", len(row[7].split()), file=sys.stderr)


if __name__ == "__main__":
    main()
