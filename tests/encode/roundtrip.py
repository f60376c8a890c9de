#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes streams again from the records of their pictures, in CAVLC and in CABAC (recode). It
compares the records and the frames of both. FFmpeg decodes what was written whole, and must find
no error and the same frames.

  roundtrip.py                 short streams of the manifest, and generated ones of the day's seed
  roundtrip.py --all           every stream of the manifest in 4:2:0 or 4:0:0, 8 bits: records, and
                               frames by FFmpeg alone
  roundtrip.py --count 500     so many generated streams

Exit codes: 0 all equal, 1 not, 77 skipped (no FFmpeg).
"""
import csv, hashlib, os, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t

STREAMS = pathlib.Path(os.environ.get("PELTON_STREAMS") or t.ROOT.parent / "shared" / "streams")
RAW = (".264", ".h264", ".avc", ".jsv")
SHORT = ("jvt/BA1_Sony_D.jsv", "jvt/CABA1_SVA_B.264", "jvt/NLMQ1_JVC_C.264", "jvt/SVA_BA1_B.264",
         "jvt/CVPCMNL1_SVA_C.264", "x264/main_cabac_ponly.264", "x264/high_cip.264",
         "x264/high_cqm_custom.264", "x264/high_slices4.264", "made/rw_mix_ib_frm_high.264")
# What generated streams do without: slices that have them are copied
WITHOUT = ("b,spatial-direct,temporal-direct,implicit-weights,paff,mbaff,unpaired-field,fmo0,fmo1,"
           "fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,redundant,partitions,sp,si,422,444,"
           "depth,lossless,separate-planes,mvc")
# Empty 8x8 blocks have a syntax in CAVLC alone: coded_block_flag is inferred in CABAC.
ONLY_CAVLC = ("8x8 transform without levels", "QP changes in 8x8 blocks without levels")


def ffmpeg_md5(path):
    run = subprocess.run(["ffmpeg", "-threads", "1", "-cpuflags", "0", "-v", "error", "-nostdin",
                          "-err_detect", "explode", "-flags", "unaligned", "-i", path, "-vf",
                          "setpts=N", "-fps_mode", "passthrough", "-f", "rawvideo", "-"],
                         capture_output=True)
    said = run.stderr.decode(errors="replace").strip()
    return said[:200] if run.returncode or said else hashlib.md5(run.stdout).hexdigest()


def recode(args, path, out, expected, *options):
    """None, or what is wrong; slices that were written; whether FFmpeg was asked. expected: the
    MD5 that it must find, "ask" for that of refdec; None: it is not asked. Nor is it where slices
    were copied, or where it finds fault with the original."""
    run = subprocess.run([args.bin + "/recode", *options, str(path), out], capture_output=True,
                         text=True)
    found = re.search(r"(\d+) pictures, slices: (\d+) written, (\d+) copied, (\d+) refused; "
                      r"bytes .* md5 (\w+)", run.stdout)
    if run.returncode or not found or run.stderr:
        return f"exit {run.returncode}: {(run.stdout + run.stderr)[:400]}", 0, 0
    causes = set(re.findall(r"refused: macroblock \d+: (.*)", run.stdout)) - set(ONLY_CAVLC)
    if causes or int(found[4]) and "--cabac" not in options:
        return f"{found[4]} slices refused: {causes}", 0, 0
    expected = found[5] if expected == "ask" else expected
    if not expected or found[3] != "0" or ffmpeg_md5(path) != expected:
        return None, int(found[2]), 0
    if ffmpeg_md5(out) != expected:
        return f"FFmpeg: {ffmpeg_md5(out)}, expected: {expected}", 0, 1
    return None, int(found[2]), 1


def manifest():
    rows = list(csv.DictReader(open(STREAMS / "MANIFEST.tsv"), delimiter="\t"))
    return [r for r in rows if r["file"].endswith(RAW) and "lossless" not in r["tags"] and
            r["pix_fmt"] in ("yuv420p", "gray")]


def generated(args, folder):
    """(path, name, whether FFmpeg is asked, more options)"""
    for i in range(args.count):
        path, seed = f"{folder}/{i}.264", f"{t.SEED}{i:03}"
        run = subprocess.run([args.bin + "/streamgen", "--seed", seed, "--without", WITHOUT, "-o",
                              path],
                             capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"streamgen --seed {seed}: {run.stderr}")
        yield (path, f"streamgen --seed {seed} --without {WITHOUT}",
               "ask" if "\tffmpeg\t" in run.stdout else None, [])


def sources(args, folder):
    rows = manifest() if STREAMS.is_dir() else []
    for row in rows:
        path, equal = STREAMS / row["file"], row["ffmpeg"] == "equal"
        if args.all:
            yield path, row["file"], row["md5"] if equal else None, ["--parse"]
        elif row["file"] in SHORT:
            yield path, row["file"], "ask" if equal else None, []
    if not rows:
        print("SKIPPED: the streams of the manifest are not there")
    yield from generated(args, folder)


def main():
    p = t.parser(__doc__)
    p.add_argument("--all", action="store_true")
    p.add_argument("--count", type=int, default=12)
    args = t.parsed(p)
    faults = slices = runs = judged = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, name, expected, options in sources(args, folder):
            for coding in ("--cavlc", "--cabac"):
                fault, written, asked = recode(args, path, folder + "/out.264", expected, coding,
                                               *options)
                slices, runs, judged = slices + written, runs + 1, judged + asked
                faults += bool(fault)
                if fault:
                    print(f"{name} {coding}: {fault}")
    print(f"{runs} streams written, {slices} slices, FFmpeg decoded {judged}, {faults} faults")
    return bool(faults or not slices)


sys.exit(main())
