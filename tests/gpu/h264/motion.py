#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Motion derivation on the GPU (checkgpu --motion). Some conformance streams have its special
cases: spatial direct prediction with and without direct_8x8_inference_flag, fields, several slices,
dozens of references. FFmpeg encodes pictures of unusual sizes. streamgen makes another selection
every day. Each picture is also built anew, damaged, and made of random bytes."""
import subprocess, sys

import checkgpu_streams as streams

ALWAYS = ["made/p_main_cabac_b_spatial.264", "made/p_main_cabac_b_spatial_noinf.264",
          "made/fld_cabac_b_spatial.264", "made/fld_bref_all_slices.264",
          "jvt/CAPA1_TOSHIBA_B.264", "jvt/HCAFR3_HHI_A.264"]
# Wider than a band of rows, taller, narrow, with slices that begin anywhere: width x height, x264's
# parameter of slices
SIZES = [("2080x1120", "slices=5"), ("8192x64", "slices=2"), ("48x2304", "slice-max-mbs=37"),
         ("4800x96", "slice-max-mbs=211")]
WITH = ["p,sub-macroblocks", "b,sub-macroblocks,spatial-direct", "transform8x8,b,spatial-direct",
        "paff,b,spatial-direct", "400,b",
        "constrained-intra,p,mixed-slices", "slices,b,spatial-direct,pcm",
        "far-mv,b,spatial-direct", "long-term,b,spatial-direct"]
CAVLC = ["p,sub-macroblocks", "b,sub-macroblocks,spatial-direct", "paff,b,spatial-direct"]


def encoded(args, folder):
    paths = []
    for size, slices in SIZES:
        path = f"{folder}/{size}.264"
        subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                        f"testsrc2=size={size}:rate=25,noise=alls=20:allf=t",
                        "-frames:v", "5", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params",
                        f"bframes=3:b-adapt=0:direct=spatial:partitions=all:me=dia:"
                        f"subme=3:ref=3:level=6.2:crf=32:{slices}", path], check=True)
        paths.append(path)
    return paths


def paths(args, folder, rng):
    sizes = lambda: ("--frames", "8", "--mbs", f"{rng.randrange(3, 13)}x{rng.randrange(2, 13)}")
    never = streams.NEVER + ",temporal-direct"
    return streams.generated(args, folder, rng, WITH, never, sizes) + \
        streams.generated(args, folder, rng, CAVLC, never, sizes, "cavlc") + \
        encoded(args, folder) + streams.conformance(args, rng, 10, 352 * 288, ALWAYS) + \
        streams.conformance(args, rng, 3, 352 * 288, coding="cavlc")


sys.exit(streams.run("motion", __doc__, "24", "8", paths))
