#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the streams of streams.tsv with x264 and compares pelton's frames with FFmpeg's, line by
line of framemd5.

Streams are kept in --dir and made once. Exit codes: 0 all equal, 1 not, 77 skipped (no x264 or no
ffmpeg).
"""
import concurrent.futures, csv, pathlib, shutil, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t

SOURCES = {
    "testsrc2": "testsrc2=size={s}:rate=25",
    "mandelbrot": "mandelbrot=size={s}:rate=25:maxiter=200:end_scale=0.01:end_pts=40",
    "life": "life=size={s}:rate=25:seed=7:mold=9:life_color=#C83232:death_color=#32C832:mold_color=#3232C8,noise=alls=6:all_seed=5",
    "fade": "testsrc2=size={s}:rate=25,fade=in:0:10,fade=out:14:10",
    "noise": "nullsrc=size={s}:rate=25,noise=alls=100:allf=t:all_seed=3",
    "scroll": "mandelbrot=size={s}:rate=25:start_scale=0.5,scroll=h=0.21:v=0.13",
}


def wanted_format(row):
    """FFmpeg gives 4:0:0 out with grey chroma."""
    return ["--pix-fmt",
            t.x264_source(row["x264"]).replace("gray", "yuv420p")] if "i400" in row["x264"] else []


def available(rows):
    """The rows that this x264 can make; others are named."""
    if "8/10" in subprocess.run(["x264", "--help"], capture_output=True, text=True).stdout:
        return rows
    without = {r["name"] for r in rows if "--output-depth 10" in r["x264"]}
    without |= {r["name"] for r in rows if r["source"] == "join"
                and without & set(r["size"].split("+"))}
    print("skipped, as this x264 has no 10 bits:", " ".join(sorted(without)))
    return [r for r in rows if r["name"] not in without]


def make(args, row, made):
    """The path of a row's stream."""
    path = args.dir / (row["name"] + "." + row["container"])
    if path.exists():
        return path
    part = path.with_suffix(".part." + row["container"])
    if row["source"] == "join":
        part.write_bytes(b"".join(made[n].read_bytes() for n in row["size"].split("+")))
    else:
        y4m, coded = path.with_suffix(".y4m"), path.with_suffix(".x264.264" if row["container"] ==
                                                                "264" else ".x264.mkv")
        source = (SOURCES[row["source"]].format(s=row["size"]) + ",format=" +
                  t.x264_source(row["x264"]))
        run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source,
             "-frames:v", row["frames"], "-strict", "-1", "-f", "yuv4mpegpipe", str(y4m)])
        run(["x264", "--quiet", "--no-progress", "--threads", "1", *row["x264"].split(), "-o",
             str(coded), str(y4m)])
        if row["container"] in ("264", "mkv"):
            coded.rename(part)
        else:
            run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-i", str(coded), "-c", "copy",
                 "-f", {"mp4": "mp4", "ts": "mpegts"}[row["container"]], str(part)])
            coded.unlink()
        y4m.unlink()
    part.rename(path)
    return path


def run(command):
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise SystemExit("%s\n%s" % (" ".join(command), done.stderr.decode(errors="replace")))


def oracle(args, path):
    """FFmpeg's lines of a stream, kept beside it: several runs compare with the same."""
    kept = path.with_suffix(path.suffix + ".framemd5")
    if not kept.exists() or kept.stat().st_mtime_ns < path.stat().st_mtime_ns:
        part, lines = kept.with_suffix(".part"), t.ffmpeg_framemd5(args, str(path))
        if "\n0," not in lines: # it has failed: nothing to keep
            return lines
        part.write_text(lines)
        part.rename(kept)
    return kept.read_text()


def compare(args, daemon, path, more):
    run = t.decode(args, daemon, str(path), "framemd5", *more)
    return t.failure(run) or t.first_difference(run.stdout.decode(), oracle(args, path))


def main():
    p = t.parser(__doc__)
    p.add_argument("--dir", type=pathlib.Path, default=t.ROOT / "build/generated")
    p.add_argument("--make-only", action="store_true")
    t.part_option(p)
    args = p.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    with open(HERE / "streams.tsv") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    complete = all((args.dir / (r["name"] + "." + r["container"])).exists() for r in rows)
    for tool in (args.ffmpeg,) if complete else (args.ffmpeg, "x264"):
        if not shutil.which(tool):
            print("skipped: no", tool)
            return t.SKIPPED
    rows = rows if complete else available(rows)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        plain = [r for r in rows if r["source"] != "join"]
        made = dict(zip((r["name"] for r in plain), pool.map(lambda r: make(args, r, None), plain)))
    made |= {r["name"]: make(args, r, made) for r in rows if r["source"] == "join"}
    if args.make_only:
        return 0
    rows = t.part(args, [r for r in rows if not args.only or args.only in r["name"]])
    start, bad = time.time(), 0
    with t.Daemon(args) as daemon, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, why in zip(rows, pool.map(lambda r: compare(args, daemon, made[r["name"]],
                                                             wanted_format(r)), rows)):
            if why:
                bad += 1
                print("DIFFERS %s: %s" % (row["name"], why), flush=True)
        messages = daemon.validation_messages()
        print("".join(messages[:10]), end="")
        if bad:
            print("daemon's log ends:\n" + daemon.tail())
    print("%d of %d generated streams equal to FFmpeg's framemd5, %d validation messages, %.0f s" %
          (len(rows) - bad, len(rows), len(messages), time.time() - start))
    return 1 if bad or messages or not rows else 0


sys.exit(main())
